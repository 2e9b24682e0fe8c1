# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri copy` between two processes, on two addresses of the loopback."""
import json
import os
import random
import shlex
import signal
import socket
import subprocess
import time

import cli
import far
import lnet


class Copies(far.Case):
    def test_sizes_and_blocks_arrive_equal_on_both_sides(self):
        listener = far.Listener(self)
        for size, options in ((0, ()), (1, ()), (4097, ()),
                              (3 << 20 | 5, ()),
                              (100001, ('--block', '4096',
                                        '--inflight', '3')),
                              (20 << 20, ('--block', '16M',
                                          '--inflight', '8')),
                              (300000, ('--block', '1K',
                                        '--inflight', '256'))):
            with self.subTest(size=size, options=options):
                content = random.Random(size).randbytes(size)
                src = self.make('src', content)
                result = self.send(src, f'{listener.ep}:dst', '--json',
                                   *options)
                self.assert_done(result)
                tree = json.loads(result.stdout)
                self.assertEqual(self.read(self.path('in', 'dst')), content)
                told = listener.event()
                self.assertEqual(told['event'], 'received')
                self.assertEqual(told['bytes'], size)
                self.assertTrue(told['verified'])
                self.assertEqual(told['checksum'],
                                 tree['checksum']['source'])
                self.assertEqual(tree['checksum']['source'],
                                 tree['checksum']['destination'])
        self.assertEqual(listener.files(), ['dst'])
        self.assertEqual(listener.stop(signal.SIGINT), 0)
        self.assertEqual(listener.error_text(), '')

    def test_printed_command_works_as_it_is(self):
        listener = far.Listener(self, '--once')
        src = self.make('src', b'abc')
        words = shlex.split(listener.command)
        self.assertEqual(words[:2], ['colibri', 'copy'])
        words = [src if word == 'FILE' else word for word in words[1:]]
        # Tests run beside each other: an address of our own.
        at = words.index('--net') + 1
        words[at] = f'tcp({lnet.address(1)})'
        self.assert_done(cli.run(*words))
        self.assertEqual(self.read(self.path('in', 'src')), b'abc')
        self.assertEqual(listener.child.wait(cli.PATIENCE), 0)

    def test_names_of_all_kinds(self):
        listener = far.Listener(self)
        os.mkdir(self.path('in', 'd'))
        src = self.make('src', b'abc', 0o640)
        for name, found in (('', 'src'), ('d', 'd/src'), ('d/', 'd/src'),
                            ('x:y', 'x:y'), ('d/-z', 'd/-z'),
                            ('a b', 'a b')):
            with self.subTest(name=name):
                self.assert_done(self.send(src, f'{listener.ep}:{name}'))
                path = self.path('in', found)
                self.assertEqual(self.read(path), b'abc')
                self.assertEqual(os.stat(path).st_mode & 0o7777, 0o640)
                os.unlink(path)

    def test_old_file_is_replaced_and_its_other_names_keep_it(self):
        listener = far.Listener(self)
        self.make('in/dst', b'old')
        os.link(self.path('in', 'dst'), self.path('in', 'other'))
        src = self.make('src', b'new')
        self.assert_done(self.send(src, f'{listener.ep}:dst'))
        self.assertEqual(self.read(self.path('in', 'dst')), b'new')
        self.assertEqual(self.read(self.path('in', 'other')), b'old')
        self.assertEqual(listener.files(), ['dst', 'other'])

    def test_several_senders_at_a_time_and_more_in_turn(self):
        listener = far.Listener(self)
        src = self.make('src', random.Random(1).randbytes(4 << 20))
        children = [self.start_sending(src, f'{listener.ep}:f{i % 4}-{i}',
                                       '--quiet', i=3 + i % 4, timeout='60',
                                       ) for i in range(4)]
        for child in children:
            _, text = child.communicate(timeout=cli.PATIENCE)
            self.assertEqual(child.returncode, 0, text)
        content = self.read(src)
        for name in listener.files():
            self.assertEqual(self.read(self.path('in', name)), content)
        self.assertEqual(len(listener.files()), 4)

    def test_once_makes_the_second_wait_and_give_up(self):
        listener = far.Listener(self, '--once')
        one = self.slow(listener)
        result = self.send(self.make('src', b'x'), f'{listener.ep}:two', i=3,
                           timeout='0.3')
        self.assertEqual(result.returncode, 1)
        one.send_signal(signal.SIGINT)
        _, text = one.communicate(timeout=cli.PATIENCE)
        self.assertEqual(one.returncode, 1, text)
        self.assertIn(b'interrupted', text)
        self.assertEqual(listener.child.wait(cli.PATIENCE), 1)
        self.assertEqual(listener.files(), [])

    def test_over_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as sock:
                sock.bind(('::1', 0))
        except OSError:
            self.skipTest('no IPv6')
        net = ('--net', 'tcp(::1)', '--port', str(self.port), '--accept',
               'all', '--peers-colibri')
        listener = far.Listener(self, net=net)
        self.assertTrue(listener.ep.startswith('::1@tcp:12345:40:'))
        src = self.make('src', b'abc' * 100000)
        result = cli.run('copy', '--net', f'tcp({lnet.address(1)})', '--port',
                         str(self.port), '--source-ports', 'any',
                         '--timeout', '2', src, f'{listener.ep}:x')
        # An address of one family does not reach the other: said at once.
        self.assertEqual(result.returncode, 1)
        self.assertIn(b'cannot be reached', result.stderr)

    def test_within_one_process(self):
        src = self.make('src', random.Random(2).randbytes(3000000))
        result = cli.run('copy', '--transport', 'lnet', '--net',
                         f'tcp({lnet.address(1)})', '--port', str(self.port),
                         '--accept', 'all', src, self.path('dst'))
        self.assert_done(result)
        self.assertEqual(self.read(self.path('dst')), self.read(src))


class Refuses(far.Case):
    def setUp(self):
        super().setUp()
        self.src = self.make('src', b'abc')

    def test_names_that_lead_elsewhere(self):
        listener = far.Listener(self)
        os.mkdir(self.path('out'))
        os.mkdir(self.path('in', 'd'))
        os.symlink(self.path('out'), self.path('in', 'link'))
        os.symlink('../../out', self.path('in', 'd', 'link'))
        self.make('out/file', b'old')
        os.symlink(self.path('out', 'file'), self.path('in', 'soft'))
        os.mkfifo(self.path('in', 'pipe'))
        for name in (self.path('out', 'x'), '/x', '../x', '..', '.', './x',
                     'd/../../out/x', 'd/..', 'link/x', 'link', 'd/link/x',
                     'd/link', 'soft', 'pipe', 'none/x', 'a//b', 'x' * 256,
                     'new\nline', 'd/\x1b[2J', 'y/' * 500):
            with self.subTest(name=name):
                result = self.send(self.src, f'{listener.ep}:{name}')
                self.assert_refused(result, 1, 'the receiver refuses')
                self.assertNotIn(b'\x1b', result.stderr)
                self.assertEqual(listener.event()['event'], 'failed')
        self.assertEqual(self.read(self.path('out', 'file')), b'old')
        self.assert_holds('file', directory=self.path('out'))
        self.assertEqual(listener.files(), ['pipe', 'soft'])
        # The receiver goes on.
        self.assert_done(self.send(self.src, f'{listener.ep}:fine'))

    def test_nobody_is_there(self):
        ep = f'{lnet.address(2)}@tcp:12345:40:4095'
        start = time.monotonic()
        result = self.send(self.src, f'{ep}:x')
        self.assert_refused(result, 1, ep, 'cannot be reached',
                            'Connection refused')
        self.assertLess(time.monotonic() - start, 5)

    def test_node_is_there_but_no_receiver(self):
        listener = far.Listener(self)
        ep = listener.ep.rsplit(':', 1)[0] + ':17'
        result = self.send(self.src, f'{ep}:x', timeout='0.5')
        self.assert_refused(result, 1, ep, 'no answer', '0.5 s')

    def test_addresses_that_are_none(self):
        for ep in ('1.2.3.4@tcp:12345:0:1', '1.2.3.4@tcp:12345:64:1',
                   '1.2.3.4@tcp:12345:40:4096', '1.2.3.4@tcp:1:40:1',
                   '1.2.3@tcp:12345:40:1', 'x@tcp:12345:40:1'):
            with self.subTest(ep=ep):
                result = self.send(self.src, f'{ep}:x')
                self.assert_refused(result, 2, ep, 'NID:12345:portal:machine')

    def test_own_address_as_destination(self):
        ep = f'{lnet.address(1)}@tcp:12345:40:4095'
        self.assert_refused(self.send(self.src, f'{ep}:x'), 2, 'own NID')

    def check(self, args, code, *words):
        result = cli.run('copy', *args)
        self.assert_refused(result, code, 'colibri copy: ', *words)

    def test_options_that_do_not_fit(self):
        ep = f'{lnet.address(2)}@tcp:12345:40:1'
        self.check(('--transport=mem', self.src, f'{ep}:x'), 2, 'mem', 'lnet')
        self.check(('--transport=mem', '--listen'), 2, 'mem', 'lnet')
        self.check(('--port=77', self.src, self.path('x')), 2,
                   '--transport lnet')
        self.check(('--once', self.src, self.path('x')), 2, '--listen')
        self.check(('--listen', self.src, 'x'), 2, "'x'", 'DIR')
        self.check(('--timeout=0', self.src, f'{ep}:x'), 2, '--timeout', "'0'")
        self.check(('--timeout=x', '--listen'), 2, '--timeout', "'x'")
        for value in ('--port=0', '--accept=some', '--net=xyz(1)',
                      '--source-ports=9-1'):
            self.check((value, '--listen'), 2, value.split('=')[0])

    def listen(self, *args):
        return ('--listen', '--net', f'tcp({lnet.address(2)})', '--port',
                str(self.port), *args)

    def test_directories_that_cannot_be(self):
        self.check(self.listen(self.path('none')), 2, self.path('none'),
                   'No such file')
        self.check(self.listen(self.src), 2, self.src, 'Not a directory')

    def test_own_addresses_that_cannot_be(self):
        self.check(self.listen('--ep=x', self.dir), 2, "'x'",
                   'NID:12345:portal:machine')
        self.check(self.listen(f'--ep={lnet.address(3)}@tcp:12345:40:1',
                               self.dir), 2, '--ep', lnet.address(2))
        listener = far.Listener(self)
        self.check(self.listen('--accept=all', self.dir), 1, lnet.address(2),
                   str(self.port))
        self.assertEqual(listener.stop(signal.SIGTERM), 0)

    def test_end_point_on_a_network_that_is_not_ours(self):
        ep = f'{lnet.address(2)}@tcp1:12345:40:1'
        self.assert_refused(self.send(self.src, f'{ep}:x'), 2, ep, '--net',
                            f'{lnet.address(1)}@tcp')

    def test_block_is_bounded_by_the_transport(self):
        ep = f'{lnet.address(2)}@tcp:12345:40:1'
        result = self.send(self.src, f'{ep}:x', '--block=17M')
        self.assert_refused(result, 2, '--block', '1 to 16777216')

    def test_full_disk_is_told_to_the_sender(self):
        src = self.make_sparse('big', 64 << 20)
        os.mkdir(self.path('small'))
        if os.geteuid() != 0 or subprocess.run(
                ['mount', '-t', 'tmpfs', '-o', 'size=8m', 'tmpfs',
                 self.path('small')], check=False,
                stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest('no file system can be mounted')
        self.addCleanup(subprocess.run, ['umount', '-l', self.path('small')],
                        check=False)
        listener = far.Listener(self, directory=self.path('small'))
        result = self.send(src, f'{listener.ep}:x')
        self.assert_refused(result, 1, 'the receiver gave up',
                            'No space left', 'free some space')
        told = listener.event()
        self.assertEqual(told['event'], 'failed')
        self.assertIn('No space left', told['reason'])
        self.assertEqual(listener.files(), [])
        self.assert_done(self.send(self.src, f'{listener.ep}:y'))


class Ends(far.Case):
    def test_sender_that_is_interrupted_leaves_nothing(self):
        listener = far.Listener(self)
        child = self.slow(listener)
        child.send_signal(signal.SIGINT)
        _, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 1)
        self.assertIn(b'interrupted; nothing was written', text)
        told = listener.event()
        self.assertEqual(told['event'], 'failed')
        self.assertIn('the sender gave up', told['reason'])
        self.assertEqual(listener.files(), [])

    def test_receiver_that_is_interrupted_tells_the_sender(self):
        listener = far.Listener(self)
        child = self.slow(listener)
        listener.child.send_signal(signal.SIGTERM)
        _, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 1)
        self.assertIn(b'the receiver gave up: called off', text)
        self.assertEqual(listener.event()['event'], 'failed')
        self.assertEqual(listener.child.wait(cli.PATIENCE), 0)
        self.assertEqual(listener.files(), [])

    def test_receiver_whose_output_is_full_is_interrupted(self):
        listener = far.Listener(self)
        self.fill_output(listener.child)
        src = self.make('src', b'abc')
        self.assert_done(self.send(src, f'{listener.ep}:dst'))
        self.assertEqual(listener.stop(signal.SIGINT), 1)
        self.assertIn('not all was said', listener.error_text())
        self.assertEqual(listener.files(), ['dst'])

    def interrupted_output(self, room, src, prefix):
        """Of a copy whose output takes no more than `room` bytes."""
        for options in ((), ('--json',)):
            out = self.full_pipe(room)
            dst = self.path(prefix + '-'.join(('dst', *options)))
            child = subprocess.Popen(
                [cli.COLIBRI, 'copy', *options, src, dst], stdout=out,
                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
            self.addCleanup(child.kill)
            deadline = time.monotonic() + cli.PATIENCE
            while not os.path.exists(dst):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            child.send_signal(signal.SIGINT)
            _, text = child.communicate(timeout=cli.PATIENCE)
            self.assertEqual(child.returncode, 1, text)
            self.assertIn(os.path.basename(dst).encode(), text)
            self.assertIn(b'took no result', text)

    def test_copy_whose_output_is_full_is_interrupted(self):
        self.interrupted_output(0, self.make('src', b'abc'), '')

    def test_copy_whose_output_is_full_in_the_midst_is_interrupted(self):
        self.make('src', b'abc')
        long = './' * 1900
        for room in 1, 2:
            self.interrupted_output(room * 4096, self.path(long + 'src'),
                                    long + str(room))

    def test_sender_that_is_stopped_is_given_up_in_time(self):
        listener = far.Listener(self, '--timeout', '1')
        child = self.slow(listener, timeout='60')
        child.send_signal(signal.SIGSTOP)
        start = time.monotonic()
        told = listener.event()
        self.assertEqual(told['event'], 'failed')
        self.assertLess(time.monotonic() - start, 1 + 10)
        child.kill()
        self.assertEqual(listener.files(), [])

    def test_receiver_that_is_stopped_is_given_up_in_time(self):
        listener = far.Listener(self)
        child = self.slow(listener, timeout='2')
        self.assertIsNone(child.poll())
        listener.child.send_signal(signal.SIGSTOP)
        _, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 1, text)
        listener.child.send_signal(signal.SIGCONT)
        self.assertEqual(listener.event()['event'], 'failed')
        self.assertEqual(listener.files(), [])


if __name__ == '__main__':
    cli.main()
