# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri copy`: files arrive whole; bad input is refused and explained."""
import json
import os
import pty
import random
import select
import subprocess

import cli

# XXH3 of 128 bits over no bytes: a constant of the algorithm.
EMPTY_SUM = '99aa06d3014798d86001c324468d497f'


class Copies(cli.Case):
    def check(self, size, *options):
        content = random.Random(size).randbytes(size)
        src = self.make('src', content)
        self.assert_done(cli.run('copy', *options, src, self.path('dst')))
        self.assertEqual(self.read(self.path('dst')), content)
        self.assert_holds('src', 'dst')

    def test_sizes_around_blocks_arrive_equal(self):
        for size in (0, 1, 4095, 4096, 4097, 65537, 1 << 20, 3145745):
            with self.subTest(size=size):
                self.check(size)

    def test_blocks_and_windows_of_all_shapes_arrive_equal(self):
        for size, block, inflight in ((300, '1', '1'), (300, '7', '256'),
                                      (100001, '4096', '3'),
                                      (1 << 20, '64K', '1'),
                                      (5 << 20, '1536K', '2'),
                                      (33 << 20, '16MiB', '4'),
                                      (9999999, '3333333', '8')):
            with self.subTest(size=size, block=block, inflight=inflight):
                self.check(size, '--block', block, '--inflight', inflight)

    def test_sizes_are_read_with_suffixes(self):
        for block in ('4096', '64K', '64KiB', '64k', '1M', '1MiB'):
            with self.subTest(block=block):
                self.check(100000, f'--block={block}')

    def test_mode_bits_are_kept_whatever_the_umask(self):
        for mode in (0o600, 0o640, 0o755, 0o444):
            src = self.make('src', b'x', mode)
            old = os.umask(0o077)
            try:
                self.assert_done(cli.run('copy', src, self.path('dst')))
            finally:
                os.umask(old)
            found = os.stat(self.path('dst')).st_mode & 0o7777
            self.assertEqual(found, mode)
            os.unlink(src)

    def test_directory_takes_the_name_of_the_source(self):
        src = self.make('src', b'abc')
        os.mkdir(self.path('d'))
        for name in ('d', 'd/'):
            self.assert_done(cli.run('copy', src, self.path(name)))
            self.assertEqual(self.read(self.path('d', 'src')), b'abc')

    def test_name_without_directory_is_in_the_current_one(self):
        self.make('src', b'abc')
        self.assert_done(cli.run('copy', 'src', 'dst', cwd=self.dir))
        self.assertEqual(self.read(self.path('dst')), b'abc')

    def test_old_destination_is_replaced_and_its_other_names_keep_it(self):
        src = self.make('src', b'new')
        dst = self.make('dst', b'old one')
        os.link(dst, self.path('other'))
        self.assert_done(cli.run('copy', src, dst))
        self.assertEqual(self.read(dst), b'new')
        self.assertEqual(self.read(self.path('other')), b'old one')
        self.assert_holds('src', 'dst', 'other')

    def test_symbolic_link_is_followed(self):
        src = self.make('src', b'new')
        os.mkdir(self.path('d'))
        self.make('d/real', b'old')
        os.symlink('d/real', self.path('link'))
        self.assert_done(cli.run('copy', src, self.path('link')))
        self.assertTrue(os.path.islink(self.path('link')))
        self.assertEqual(self.read(self.path('d', 'real')), b'new')

    def test_awkward_names_are_names(self):
        for name in (b'with space', b'-dash', b'\xff\xfe', 'ü'.encode()):
            src = self.make('src', b'abc')
            dst = os.path.join(self.dir.encode(), name)
            result = cli.run('copy', '--json', src, dst)
            self.assert_done(result)
            json.loads(result.stdout)
            self.assertEqual(self.read(dst), b'abc')

    def test_temporary_file_is_not_seen_where_none_is_nameless(self):
        # Without /proc there is no way to name a nameless file.
        src = self.make('src', b'abc' * 1000)
        result = cli.in_namespace(
            'mount -t tmpfs tmpfs /proc || exit 99; '
            '"$1" version >/dev/null || exit 77; '
            '"$1" copy --quiet "$2" "$3" && ls -A "$4"',
            cli.COLIBRI, src, self.path('dst'), self.dir)
        if result is None:
            self.skipTest('no mount namespace')
        if result.returncode == 77:
            self.skipTest('a sanitizer that needs /proc')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.split(), [b'dst', b'src'])
        self.assertEqual(self.read(self.path('dst')), b'abc' * 1000)


class Prints(cli.Case):
    def test_result_has_all_that_was_promised(self):
        src = self.make('src', bytes(3 << 20))
        result = cli.run('copy', src, self.path('dst'))
        self.assert_done(result)
        text = result.stdout.decode()
        for word in ('3145728', 'seconds', 'MB/s', 'xxh3-128', 'verified',
                     'read back', 'passive-bulk-send', 'active-bulk-recv',
                     'mean in queue'):
            self.assertIn(word, text)

    def test_json_counts_every_block_once(self):
        src = self.make('src', bytes((3 << 20) + 5))
        result = cli.run('copy', '--json', src, self.path('dst'))
        self.assert_done(result)
        tree = json.loads(result.stdout)
        self.assertEqual(tree['bytes'], (3 << 20) + 5)
        self.assertEqual(tree['blocks'], 4)
        self.assertTrue(tree['verified'])
        sums = tree['checksum']
        self.assertEqual(sums['source'], sums['received'])
        self.assertEqual(sums['source'], sums['destination'])
        bulk = [q for q in tree['queues'] if 'bulk' in q['queue']]
        self.assertEqual([(q['machine'], q['queue']) for q in bulk],
                         [('sender', 'passive-bulk-send'),
                          ('receiver', 'active-bulk-recv')])
        for queue in bulk:
            self.assertEqual(queue['adds'], 4)
            self.assertEqual(queue['done'], 4)
            self.assertEqual(queue['failed'], 0)
            self.assertEqual(queue['bytes'], tree['bytes'])

    def test_empty_file_has_the_known_checksum(self):
        src = self.make('src')
        result = cli.run('copy', '--json', src, self.path('dst'))
        self.assert_done(result)
        tree = json.loads(result.stdout)
        self.assertEqual(tree['checksum']['destination'], EMPTY_SUM)
        self.assertEqual(os.stat(self.path('dst')).st_size, 0)

    def test_no_verify_says_so(self):
        src = self.make('src', b'abc')
        result = cli.run('copy', '--no-verify', '--json', src,
                         self.path('dst'))
        self.assert_done(result)
        tree = json.loads(result.stdout)
        self.assertFalse(tree['verified'])
        self.assertIsNone(tree['checksum']['destination'])
        result = cli.run('copy', '--no-verify', src, self.path('dst'))
        self.assertIn(b'not read back', result.stdout)

    def test_quiet_prints_nothing(self):
        src = self.make('src', b'abc')
        result = cli.run('copy', '--quiet', src, self.path('dst'))
        self.assert_done(result)
        self.assertEqual(result.stdout, b'')

    def test_result_that_cannot_be_written_is_a_failure(self):
        src = self.make('src', b'abc')
        with open('/dev/full', 'wb') as full:
            done = subprocess.run([cli.COLIBRI, 'copy', src,
                                   self.path('dst')], stdout=full,
                                  stderr=subprocess.PIPE, check=False,
                                  timeout=cli.PATIENCE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'standard output', done.stderr)

    def progress(self, *options):
        """Copies with a terminal as standard error; what that showed."""
        # 32768 round trips: far more than the tenth of a second it takes
        # for a first line.
        src = self.make_sparse('src', 128 << 20)
        ours, theirs = pty.openpty()
        shown = b''
        child = subprocess.Popen(
            [cli.COLIBRI, 'copy', '--block', '4K', '--inflight', '1',
             *options, src, self.path('dst')],
            stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        while True:
            if not select.select([ours], [], [], cli.PATIENCE)[0]:
                break
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        os.close(ours)
        self.assertEqual(child.wait(cli.PATIENCE), 0)
        return shown

    def test_terminal_shows_progress_and_is_left_clean(self):
        shown = self.progress()
        self.assertIn(b'ETA', shown)
        self.assertIn(b'of 128.0 MiB', shown)
        self.assertTrue(shown.endswith(b'\r\x1b[K'))

    def test_quiet_terminal_shows_none(self):
        self.assertEqual(self.progress('--quiet'), b'')


class Refuses(cli.Case):
    def setUp(self):
        super().setUp()
        self.src = self.make('src', b'abc')
        self.dst = self.path('dst')

    def check(self, args, code, *words):
        result = cli.run('copy', *args)
        self.assert_refused(result, code, 'colibri copy: ', *words)
        self.assert_holds('src')
        self.assertEqual(self.read(self.src), b'abc')

    def test_block_that_is_no_size(self):
        for text in ('x', '', '-1', '1.5M', '4KB', '1 M', '0x10', '4096x',
                     '99999999999999999999', '20000000T'):
            with self.subTest(text=text):
                self.check((f'--block={text}', self.src, self.dst), 2,
                           '--block', f"'{text}'", '64K')

    def test_block_outside_the_limits_of_the_transport(self):
        for text, number in (('0', '0'), ('16777217', '16777217'),
                             ('1G', '1073741824')):
            with self.subTest(text=text):
                self.check((f'--block={text}', self.src, self.dst), 2,
                           '--block', number, '1 to 16777216')

    def test_inflight_that_is_no_number_or_too_many(self):
        for text in ('x', '', '-1', '1.5', '0', '257', '4294967297'):
            with self.subTest(text=text):
                self.check((f'--inflight={text}', self.src, self.dst), 2,
                           '--inflight', text, '1 to 256')

    def test_window_that_would_take_too_much_memory(self):
        self.check(('--block=16M', '--inflight=256', self.src, self.dst), 2,
                   '--inflight 256', '16777216', '1.0 GiB')

    def test_unknown_transport(self):
        self.check(('--transport=smoke', self.src, self.dst), 2,
                   "'smoke'", 'mem')

    def test_options_of_other_forms(self):
        for option in ('--ep=1.2.3.4@tcp:12345:40:1', '--timeout=1'):
            self.check((option, self.src, self.dst), 2, option.split('=')[0],
                       'EP:PATH or --listen')
        for option in ('--block=4K', '-n1'):
            self.check((option, '--listen', self.path()), 2, '--block',
                       '--inflight', 'they are not accepted')
        self.check(('--once', self.src, self.dst), 2, '--once', '--listen')

    def test_operands_too_few_and_too_many(self):
        self.check((), 2, 'SRC and DST are missing')
        self.check((self.src,), 2, 'DST is missing')
        self.check((self.src, self.dst, 'third'), 2, "'third'")

    def test_unknown_option(self):
        result = cli.run('copy', '--nosuch', self.src, self.dst)
        self.assert_refused(result, 2, '--nosuch')

    def test_source_that_is_not_there(self):
        self.check((self.path('none'), self.dst), 2, self.path('none'),
                   'No such file')

    def test_source_that_is_no_file(self):
        for path, what in ((self.dir, 'a directory'),
                           ('/dev/null', 'a device')):
            self.check((path, self.dst), 2, path, what, 'regular file')

    def test_source_that_is_a_pipe_is_not_waited_for(self):
        os.mkfifo(self.path('pipe'))
        result = cli.run('copy', self.path('pipe'), self.dst)
        self.assert_refused(result, 2, 'a pipe')
        os.unlink(self.path('pipe'))

    def test_source_that_may_not_be_read(self):
        os.chmod(self.src, 0)
        if os.geteuid() == 0:
            nobody = {'user': 65534, 'group': 65534, 'extra_groups': []}
            try:
                subprocess.run([cli.COLIBRI, 'version'], check=True,
                               stdout=subprocess.DEVNULL, **nobody)
            except (OSError, subprocess.CalledProcessError):
                self.skipTest('others may not run the command')
        else:
            nobody = {}
        result = cli.run('copy', self.src, self.dst, **nobody)
        self.assert_refused(result, 2, self.src, 'Permission denied')
        self.assert_holds('src')

    def test_destination_that_is_the_source_by_any_name(self):
        os.link(self.src, self.path('hard'))
        os.symlink('src', self.path('soft'))
        os.mkdir(self.path('d'))
        os.link(self.src, self.path('d', 'src'))
        for dst in ('src', 'hard', 'soft', './src', 'd', '.'):
            with self.subTest(dst=dst):
                result = cli.run('copy', 'src', dst, cwd=self.dir)
                self.assert_refused(result, 2, 'same file', 'src')
        self.assertEqual(self.read(self.src), b'abc')

    def test_destination_directory_that_is_not_there(self):
        self.check((self.src, self.path('none', 'dst')), 2,
                   self.path('none'), 'No such file', 'make it first')
        self.check((self.src, self.path('none') + '/'), 2,
                   self.path('none'))

    def test_destination_that_cannot_be_replaced(self):
        self.check((self.src, '/dev/null'), 2, '/dev/null', 'a device')
        self.check((self.src, ''), 2, 'empty')
        self.check((self.src, self.path('x' * 256)), 2, 'too long')
        self.check((self.src, self.src + '/x'), 2, 'Not a directory')

    def test_destination_link_that_leads_nowhere(self):
        os.symlink('none', self.path('link'))
        result = cli.run('copy', self.src, self.path('link'))
        self.assert_refused(result, 2, 'link', 'leads nowhere')
        self.assert_holds('src', 'link')

    def test_destination_directory_that_may_not_be_written(self):
        os.mkdir(self.path('ro'))
        result = cli.in_namespace(
            'mount -t tmpfs -o ro tmpfs "$1" && exec "$2" copy "$3" "$1/dst"',
            self.path('ro'), cli.COLIBRI, self.src)
        if result is None:
            self.skipTest('no mount namespace')
        self.assert_refused(result, 2, self.path('ro', 'dst'), 'Read-only')

    def test_copy_without_memory_for_its_result_says_so(self):
        if 'SERVICE_SHIM' not in os.environ:
            self.skipTest('a sanitizer is preloaded')
        src = self.make('src', b'abc')
        env = dict(os.environ, LD_PRELOAD=os.environ['SERVICE_SHIM'],
                   SERVICE_SHIM_DIR=self.dir)
        for what in 'page', 'nopage':
            file = self.make(what)
            for options in (), ('--json',):
                dst = self.path('-'.join((what, *options, 'dst')))
                result = cli.run('copy', *options, src, dst, env=env)
                self.assert_refused(result, 1, dst, 'is there; no memory')
                self.assertEqual(self.read(dst), b'abc')
            os.unlink(file)


if __name__ == '__main__':
    cli.main()
