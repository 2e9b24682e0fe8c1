# SPDX-License-Identifier: Apache-2.0 OR MIT
"""An object service as its users meet it: round trips, and what is refused."""
import json
import os
import pty
import random
import select
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import time

import cli
import lnet
import service


class Works(service.Case):
    def tree(self, seed=1):
        """Files of all sizes that matter."""
        rng = random.Random(seed)
        os.makedirs(self.path('src', 'deep', 'er'))
        for i, size in enumerate((0, 1, 32768, 32769, 1 << 20, (1 << 20) + 1,
                                  3 << 20, 5000, 5000)):
            self.make(f'src/f{i}', rng.randbytes(size))
        for i in range(100):
            self.make(f'src/deep/er/{i}', rng.randbytes(rng.randrange(9000)))
        self.make('src/deep/é ü', b'odd', 0o751)

    def test_tree_comes_back_as_it_was(self):
        self.tree()
        server = service.Server(self)
        put = self.json('put', '-r', self.path('src'), f'{server.ep}:t')
        self.assertEqual(put['objects'], 110)
        self.assertEqual(put['failed'], 0)
        self.assertGreater(put['requests'], put['packets'])
        got = self.json('get', '-r', f'{server.ep}:t', self.path('out'))
        self.assertEqual(got['objects'], 110)
        self.same_trees(self.path('src'), self.path('out'))
        mode = os.stat(self.path('out', 'deep', 'é ü')).st_mode & 0o7777
        self.assertEqual(mode, 0o751)
        names = self.names(server)
        self.assertEqual(len(names), 110)
        self.assertEqual(names, sorted(names, key=str.encode))
        self.assertEqual(self.names(server, 't/f3'), ['t/f3'])
        # Again: what is large is there, and counted so.
        again = self.json('put', '-r', self.path('src'), f'{server.ep}:t')
        self.assertEqual(again['same_objects'], 4)
        self.assertEqual(self.data_count(server), 4)
        # Objects that were there already count as done, too.
        os.rename(self.path('src'), self.path('t'))
        done = self.run_client('put', '-r', self.path('t'),
                               self.path('none'), f'{server.ep}:')
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'1 failed; 110 are done', done.stderr)
        self.json('rm', '-r', f'{server.ep}:t')
        self.assertEqual(self.names(server), [])
        self.wait_until(lambda: not self.data_files(server), 'garbage stays')
        info = self.json('stat', f'{server.ep}:')
        self.assertEqual((info['objects'], info['bytes'], info['uploads']),
                         (0, 0, 0))
        code, last = server.stop()
        self.assertEqual((code, last['event']), (0, 'ended'))

    def test_requests_are_no_more_than_asked_for(self):
        server = service.Server(self)
        os.mkdir(self.path('src'))
        for i in range(50):
            self.make(f'src/{i}', b'small')
        # With one on its way none can share a packet, though blocks might.
        put = self.json('put', '-r', '--inflight', '1', '--blocks', '8',
                        self.path('src'), f'{server.ep}:')
        self.assertEqual(put['objects'], 50)
        self.assertLessEqual(put['requests'], put['packets'])

    def data_count(self, server):
        return len([n for n in self.data_files(server)
                    if not n.endswith('.sums')])

    def test_long_names_are_listed_by_any_beginning(self):
        server = service.Server(self)
        # Keys do not hold names of this length whole, so these mix with
        # similar ones.
        parts = [200 * 'd' + '/' + 100 * c for c in 'xyz']
        os.mkdir(self.path('src'))
        for i in range(20):
            self.make(f'src/{i}', b'abc')
        names = sorted(str(i) for i in range(20))
        for part in parts:
            self.json('put', '-r', self.path('src'), f'{server.ep}:{part}')
        for nr in (150, 220, 245, 300):
            for part in parts:
                told = self.names(server, part[:nr])
                self.assertEqual(
                    sorted(told), [f'{p}/{n}' for p in parts for n in names
                                   if p.startswith(part[:nr])], nr)
        self.json('rm', '-r', f'{server.ep}:{parts[1]}')
        self.assertEqual(len(self.names(server)), 40)

    def test_checksum_is_that_of_the_file(self):
        server = service.Server(self)
        src = self.make('src', b'abc')
        self.assert_done(self.run_client('put', src, f'{server.ep}:'))
        told = self.json('stat', f'{server.ep}:src')
        self.assertEqual(told['checksum'],
                         '06b05ab6733a618578af5f94892f3950')

    def test_objects_outlive_the_service(self):
        server = service.Server(self)
        small = self.make('small', b'abc')
        large = self.make('large', random.Random(1).randbytes(100000))
        self.json('put', small, large, f'{server.ep}:')
        self.assertEqual(server.stop(signal.SIGINT)[0], 0)
        server.start()
        for src in (small, large):
            dst = self.path('back')
            self.json('get', f'{server.ep}:{os.path.basename(src)}', dst)
            self.assertEqual(self.read(dst), self.read(src))

    def test_volatile_ones_do_not(self):
        server = service.Server(self, '--store', 'volatile')
        large = self.make('large', random.Random(1).randbytes(100000))
        self.json('put', large, f'{server.ep}:')
        self.assertEqual(server.stop()[0], 0)
        # A service leaves alone what lies outside of its directory.
        away = self.make('away', b'abc')
        data = os.path.join(server.directory, '.colibri', 'volatile')
        used, = os.listdir(data)
        free = 'ab' if used != 'ab' else 'cd'
        os.symlink(self.dir, os.path.join(data, free))
        server.start()
        self.assertEqual(self.names(server), [])
        self.assertEqual(os.listdir(os.path.join(data, used)), [])
        self.assertEqual(self.read(away), b'abc')

    def test_printed_command_works_as_it_is(self):
        server = service.Server(self)
        src = self.make('src', b'abc')
        words = shlex.split(server.command)
        self.assertEqual(words[:2], ['colibri', 'put'])
        words = [src if word == 'FILE' else word for word in words[1:]]
        words[words.index('--net') + 1] = f'tcp({lnet.address(1)})'
        self.assertEqual(cli.run(*words).returncode, 0)
        self.assertEqual(self.names(server), ['src'])

    def test_two_links_and_one_that_is_cut(self):
        eps = [f'{lnet.address(2)}@tcp:12345:40:1',
               f'{lnet.address(3)}@tcp:12345:40:2']
        net = ('--net', f'tcp({lnet.address(2)},{lnet.address(3)})', '--port',
               str(self.port), '--accept', 'all')
        server = service.Server(self, '--ep', eps[0], '--ep', eps[1], net=net)
        self.assertEqual(server.ep, ','.join(eps))
        src = self.make('src', random.Random(1).randbytes(30 << 20))
        child = self.start_client('put', src, f'{server.ep}:')
        server.child.send_signal(signal.SIGUSR1)
        _, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 0, text)
        self.json('get', f'{server.ep}:src', self.path('back'))
        self.assertEqual(self.read(self.path('back')), self.read(src))

    def test_streams_and_ways_to_sync(self):
        self.tree()
        for sync in ('none', 'write'):
            server = service.Server(self, '--sync', sync,
                                    directory=self.path(sync))
            for nr in (1, 2, 256):
                self.json('put', '-r', '--stream', str(nr), self.path('src'),
                          f'{server.ep}:{nr}')
                out = self.path(f'{sync}.{nr}')
                self.json('get', '-r', f'{server.ep}:{nr}', out)
                self.same_trees(self.path('src'), out)
            self.assertEqual(self.json('stat', f'{server.ep}:')['puts'], 330)
            self.assertEqual(server.stop()[0], 0)

    def on_terminal(self, server, *args):
        """What a client tells it. Of what takes less than a tenth of a second
        nothing is shown: the server pauses, until something is."""
        ours, theirs = pty.openpty()
        child = subprocess.Popen([cli.COLIBRI, *args, *self.client_net()],
                                 stdout=subprocess.DEVNULL, stderr=theirs,
                                 stdin=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        for _ in range(10):
            server.child.send_signal(signal.SIGSTOP)
            time.sleep(0.15)
            server.child.send_signal(signal.SIGCONT)
            if (child.poll() is not None or
                    select.select([ours], [], [], 0.005)[0]):
                break
        self.assertEqual(child.wait(cli.PATIENCE), 0)
        # Before the last of the other side goes, and all with it.
        ready = select.select([ours], [], [], 0)[0]
        told = os.read(ours, 65536) if ready else b''
        os.close(theirs)
        os.close(ours)
        return told

    def test_progress_is_for_terminals(self):
        server = service.Server(self)
        src = self.make_sparse('src', 128 << 20)
        for verb, args in (('put', (src, f'{server.ep}:x')),
                           ('get', (f'{server.ep}:x', self.path('back')))):
            for quiet in ((), ('-q',)):
                told = self.on_terminal(server, verb, '--blocks=1', *quiet,
                                        *args)
                self.assertEqual(b'%' in told, not quiet, told)

    def test_replacing_is_one_step(self):
        server = service.Server(self)
        one, two = (random.Random(i).randbytes(3 << 20) for i in (1, 2))
        src = self.make('src', one)
        self.json('put', src, f'{server.ep}:x')
        with open(src, 'wb') as file:
            file.write(two)
        child = self.start_client('put', src, f'{server.ep}:x', i=3)
        while child.poll() is None:
            self.json('get', f'{server.ep}:x', self.path('back'))
            self.assertIn(self.read(self.path('back')), (one, two))
        self.assertEqual(child.wait(), 0)
        self.json('get', f'{server.ep}:x', self.path('back'))
        self.assertEqual(self.read(self.path('back')), two)

    def test_trees_are_removed_by_several(self):
        server = service.Server(self, '--sync', 'none')
        os.mkdir(self.path('src'))
        for i in range(400):
            self.make(f'src/{i}', b'abc')
        self.json('put', '-r', self.path('src'), f'{server.ep}:')
        rms = [self.start_client('rm', '-r', '--json', f'{server.ep}:src',
                                 i=4 + i) for i in range(3)]
        removed = 0
        for child in rms:
            out, text = child.communicate(timeout=cli.PATIENCE)
            self.assertEqual(child.returncode, 0, text)
            removed += json.loads(out)['removed']
        self.assertEqual(removed, 400)
        self.assertEqual(self.names(server), [])

    def test_gets_of_one_file_at_a_time(self):
        server = service.Server(self)
        src = self.make('src', random.Random(1).randbytes(40 << 20))
        self.json('put', src, f'{server.ep}:')
        gets = [self.start_client('get', f'{server.ep}:src', self.path('back'),
                                  i=4 + i) for i in range(4)]
        for child in gets:
            _, text = child.communicate(timeout=cli.PATIENCE)
            self.assertEqual(child.returncode, 0, text)
        self.assertEqual(self.read(self.path('back')), self.read(src))
        self.assertFalse([name for name in os.listdir(self.dir)
                          if name.endswith('.part')])


class Refuses(service.Case):
    def test_files_of_before_1970_keep_their_time(self):
        server = service.Server(self)
        src = self.make('src', b'abc')
        for seconds, text in ((-315619200, '1960-01-01T00:00:00Z'),
                              (-1, '1969-12-31T23:59:58Z'),
                              (1, '1970-01-01T00:00:00Z')):
            mtime = seconds * 10 ** 9 - (abs(seconds) == 1)
            os.utime(src, ns=(mtime, mtime))
            self.json('put', src, f'{server.ep}:x')
            told, = self.json('ls', f'{server.ep}:x')['objects']
            self.assertEqual(told['mtime_ns'], mtime)
            result = self.run_client('ls', '-l', f'{server.ep}:x')
            self.assertIn(text.encode(), result.stdout)

    def test_names_that_are_none(self):
        server = service.Server(self)
        src = self.make('src', b'abc')
        for name, word in (('../x', "'..'"), ('/x', 'empty'), ('a//b', 'empty'),
                           ('a/./b', "'.'"), ('..', "'..'"),
                           ('new\nline', 'control'), ('x' * 256, 'too long'),
                           ('y/' * 600 + 'y', 'too long'),
                           (b'\xff', 'not UTF-8'), (b'\xc0\xaf', 'not UTF-8'),
                           (b'\xed\xa0\x80', 'not UTF-8'),
                           (b'\xc2\x9b', 'control')):
            raw = name.encode() if isinstance(name, str) else name
            with self.subTest(name=raw):
                for verb, args in (('put', (src,)), ('rm', ()), ('stat', ())):
                    result = self.run_client(
                        verb, *args, server.ep.encode() + b':' + raw)
                    self.assert_refused(result, 1, word)
                    self.assertNotIn(b'\x9b', result.stderr)
        self.assertEqual(self.names(server), [])
        self.assertEqual(sorted(os.listdir(server.directory)), ['.colibri'])

    def test_object_that_is_missing(self):
        server = service.Server(self)
        for verb, args in (('stat', ()), ('rm', ()), ('get', ('.',)),
                           ('get', ('-r', self.path('out')))):
            result = self.run_client(verb, f'{server.ep}:nosuch', *args)
            self.assert_refused(result, 1, 'nosuch', 'no such object')

    def test_object_that_is_too_large(self):
        server = service.Server(self, '--object-max', '64K')
        for size in (65537, 1 << 20):
            src = self.make('src', bytes(size))
            result = self.run_client('put', src, f'{server.ep}:x')
            self.assert_refused(result, 1, '--object-max')
        self.json('put', self.make('src', bytes(65536)), f'{server.ep}:x')

    def test_store_that_is_full(self):
        server = service.Server(self, '--store-max', '2M')
        src = self.make('src', bytes(30000))
        for i in range(100):
            result = self.run_client('put', src, f'{server.ep}:{i}')
            if result.returncode != 0:
                break
        self.assert_refused(result, 1, 'No space left', '--store-max')
        self.assertGreater(i, 5)
        self.assertEqual(len(self.names(server)), i)
        self.json('get', f'{server.ep}:0', self.path('back'))

    def test_disk_that_is_full(self):
        os.mkdir(self.path('small'))
        if os.geteuid() != 0 or subprocess.run(
                ['mount', '-t', 'tmpfs', '-o', 'size=8m', 'tmpfs',
                 self.path('small')], check=False,
                stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest('no file system can be mounted')
        self.addCleanup(subprocess.run, ['umount', '-l', self.path('small')],
                        check=False)
        server = service.Server(self, directory=self.path('small'))
        big = self.make_sparse('big', 20 << 20)
        some = self.make('some', b'abc' * 100000)
        self.json('put', some, f'{server.ep}:')
        result = self.run_client('put', big, f'{server.ep}:')
        self.assert_refused(result, 1, 'No space left')
        # The failed upload has returned its space, and the old object is
        # there.
        self.wait_until(lambda: len(self.data_files(server)) == 2, 'upload')
        self.json('put', some, f'{server.ep}:more')
        self.json('get', f'{server.ep}:some', self.path('back'))
        self.assertEqual(self.read(self.path('back')), self.read(some))

    def serve(self, *args, i=3):
        return cli.run('serve', *self.server_net(i), *args)

    def test_directories_that_cannot_be(self):
        src = self.make('src', b'abc')
        self.assert_refused(self.serve(self.path('none')), 2, 'none',
                            'No such file')
        self.assert_refused(self.serve(src), 2, 'src', 'Not a directory')
        done = cli.in_namespace(
            'mount -t tmpfs -o ro tmpfs "$1" && exec "$2" serve --net '
            '"tcp(127.0.0.1)" --port 7 --accept all "$1"', self.dir,
            cli.COLIBRI)
        if done is not None:
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(b'cannot be written to', done.stderr)

    def test_two_services_of_one_directory(self):
        server = service.Server(self)
        self.assert_refused(self.serve(server.directory), 1,
                            'served already', str(server.child.pid))
        self.assertEqual(self.names(server), [])

    def test_store_that_is_foreign_or_damaged(self):
        server = service.Server(self)
        self.json('put', self.make('src', b'abc'), f'{server.ep}:')
        server.stop()
        home = os.path.join(server.directory, '.colibri')
        form = os.path.join(home, 'format')
        old = self.read(form)
        for text, word in ((b'', 'no file'), (b'something else\n', 'version')):
            with open(form, 'wb') as file:
                file.write(text)
            self.assert_refused(self.serve(server.directory), 1, word,
                                'begin anew')
        with open(form, 'wb') as file:
            file.write(old)
        data = os.path.join(home, 'store', 'store.mdb')
        with open(data, 'r+b') as file:
            file.write(b'x' * 65536)
        result = self.serve(server.directory)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b'begin anew', result.stderr)

    def test_store_that_is_gone(self):
        server = service.Server(self)
        server.stop()
        store = os.path.join(server.directory, '.colibri', 'store')
        os.rename(store, self.path('away'))
        # Nothing is lost by that.
        server.start()
        src = self.make('src', random.Random(1).randbytes(100000))
        self.json('put', src, f'{server.ep}:')
        server.stop()
        shutil.rmtree(self.path('away'))
        os.rename(store, self.path('away'))
        self.assert_refused(self.serve(server.directory), 1, 'no store',
                            'begin anew')
        os.rename(self.path('away'), store)
        server.start()
        self.assertEqual(self.names(server), ['src'])

    def test_data_that_is_lost_or_damaged(self):
        server = service.Server(self)
        src = self.make('src', random.Random(1).randbytes(100000))
        for damage, words in (
                (os.unlink, 'its data is not there'),
                (lambda path: os.truncate(path, 1), 'its data is not there'),
                (lambda path: self.make(path, bytes(100000)), 'checksum')):
            self.json('put', src, f'{server.ep}:')
            for name in self.data_files(server):
                if not name.endswith('.sums'):
                    damage(os.path.join(server.directory, '.colibri', 'data',
                                        name[:2], name))
            result = self.run_client('get', f'{server.ep}:src',
                                     self.path('back'))
            self.assert_refused(result, 1, words)
            # As the table in service.md says.
            self.json('rm', f'{server.ep}:src')
            self.json('put', src, f'{server.ep}:')
            self.json('get', f'{server.ep}:src', self.path('back'))
            self.assertEqual(self.read(self.path('back')), self.read(src))
            os.unlink(self.path('back'))
            self.json('rm', f'{server.ep}:src')

    def test_waiting_for_a_service_is_interrupted(self):
        server = service.Server(self)
        src = self.make('src', b'abc')
        ep = f'{server.ep}:x'
        server.child.send_signal(signal.SIGSTOP)
        for verb, args in (('put', (src, ep)), ('get', (ep, self.path('to')))):
            child = self.start_client(verb, *args, timeout='600')
            # Its node speaks: it is past its beginning.
            self.wait_until(lambda: len(os.listdir(
                f'/proc/{child.pid}/task')) > 1, 'no thread')
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=cli.PATIENCE)
            self.assertNotEqual(child.returncode, 0)
        server.child.send_signal(signal.SIGCONT)
        self.assertEqual(self.names(server), [])

    def test_service_whose_output_is_full_ends_with_one_signal(self):
        server = service.Server(self)
        src = self.make('src', b'abc')
        self.json('put', src, f'{server.ep}:')
        self.fill_output(server.child)
        server.child.send_signal(signal.SIGTERM)
        self.assertEqual(server.child.wait(cli.PATIENCE), 1)
        self.assertIn('not all was said', server.error_text())
        server.start()
        self.assertEqual(self.names(server), ['src'])
        server.stop()
        # In words, and with no place for an error.
        out = self.full_pipe()
        for options in ((), ('-q',)):
            child = subprocess.Popen(
                [cli.COLIBRI, 'serve', *options, *self.server_net(),
                 server.directory], stdout=out, stderr=out,
                stdin=subprocess.DEVNULL)
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
            self.wait_catching(child, signal.SIGUSR1)
            child.send_signal(signal.SIGTERM)
            self.assertEqual(child.wait(cli.PATIENCE), 0 if options else 1)

    def test_data_that_is_gone(self):
        server = service.Server(self)
        small = self.make('small', b'abc')
        self.json('put', small, f'{server.ep}:')
        server.stop()
        data = os.path.join(server.directory, '.colibri', 'data')
        # Nothing is lost by that.
        os.rmdir(data)
        server.start()
        src = self.make('src', random.Random(1).randbytes(100000))
        self.json('put', src, f'{server.ep}:')
        server.stop()
        os.rename(data, self.path('away'))
        for _ in range(2): # the directory that it makes is no data
            self.assert_refused(self.serve(server.directory), 1,
                                'there are none', 'begin anew')
        os.rmdir(data)
        os.rename(self.path('away'), data)
        server.start()
        self.assertEqual(self.names(server), ['small', 'src'])
        # Without the removed object the service needs no data directory.
        self.json('rm', f'{server.ep}:src')
        server.stop()
        shutil.rmtree(data)
        server.start()

    def test_client_whose_output_is_full_ends_with_one_signal(self):
        server = service.Server(self)
        src = self.make('src', b'abc')
        out = self.full_pipe()
        for options in ((), ('--json',)):
            for verb, args in (('put', (src, f'{server.ep}:')),
                               ('get', (f'{server.ep}:src',
                                        self.path('back')))):
                child = subprocess.Popen(
                    [cli.COLIBRI, verb, *options, *self.client_net(3), *args],
                    stdout=out, stderr=out, stdin=subprocess.DEVNULL)
                self.addCleanup(child.wait)
                self.addCleanup(child.kill)
                self.wait_catching(child, signal.SIGINT)
                self.wait_until(lambda: self.names(server) == ['src'], 'put')
                child.send_signal(signal.SIGINT)
                self.assertEqual(child.wait(cli.PATIENCE), 1)

    def test_names_of_nothing(self):
        server = service.Server(self)
        src = self.make('src', b'abc')
        self.json('put', src, f'{server.ep}:')
        for verb, *args in (('get', self.path('out')), ('rm',)):
            self.assert_refused(self.run_client(verb, f'{server.ep}:', *args),
                                2, 'NAME is empty', '-r')
        long = 5 * (250 * 'y' + '/')
        for verb, *args in (('get', '-r', self.path('out')), ('ls',),
                            ('rm', '-r')):
            self.assert_refused(self.run_client(
                verb, f'{server.ep}:{long}', *args), 1, 'too long')
        # The name is an object, and nothing is below it.
        self.assertEqual(self.json('rm', '-r', f'{server.ep}:src'),
                         {'removed': 0})
        self.assertEqual(self.names(server), ['src'])

    def test_quiet_clients_say_nothing(self):
        server = service.Server(self)
        src = self.make('src', b'abc')
        for verb, *args in (('put', src, f'{server.ep}:'),
                            ('ls', f'{server.ep}:'), ('stat', f'{server.ep}:'),
                            ('stat', f'{server.ep}:src'),
                            ('get', f'{server.ep}:src', self.path('back')),
                            ('rm', f'{server.ep}:src')):
            done = self.run_client(verb, '-q', *args)
            self.assert_done(done)
            self.assertEqual(done.stdout, b'')

    def test_end_points_that_are_not_ours(self):
        ep = f'{lnet.address(2)}@tcp1:12345:40:1'
        mine = f'{lnet.address(1)}@tcp'
        self.assert_refused(self.run_client('ls', f'{ep}:'), 2, ep, '--net',
                            mine)
        self.assert_refused(self.run_client('ls', '--ep', ep, f'{mine}2:12345'
                                            f':40:1,{mine}:12345:40:1:'), 2,
                            "--ep '", '--net')
        for name, other, words in (('sunrpc', ep, 'HOST:port'),
                                   ('lnet', '127.0.0.1:80:1', 'NID:')):
            self.assert_refused(cli.run('ls', '-t', name, f'{other}:'), 2,
                                f"end point '{other}'", words)
        server = service.Server(self)
        # One of a list that is not ours is not used; and tcp is tcp0.
        self.assert_done(self.run_client('ls', f'{ep},{server.ep}:'))
        self.assert_done(self.run_client(
            'ls', server.ep.replace('@tcp', '@tcp0') + ':'))
        server.stop()
        self.assert_refused(self.serve('--ep', ep, server.directory), 2,
                            f"--ep '{ep}'", '--net')

    def test_warnings_name_options(self):
        with socket.socket(socket.AF_INET6) as sock:
            try:
                sock.bind(('::1', 0))
            except OSError:
                self.skipTest('no IPv6')
        result = cli.run('ls', '--timeout', '1', '--net', 'tcp(::1)', '--port',
                         str(self.port), '--source-ports', 'any',
                         'fd00::9@tcp:12345:40:1:')
        self.assert_refused(result, 1, 'warning', '--peers-colibri')

    def test_service_that_is_not_there(self):
        ep = f'{lnet.address(2)}@tcp:12345:40:1'
        result = self.run_client('ls', f'{ep}:', timeout='0.5')
        self.assert_refused(result, 1, ep, 'colibri serve')

    def test_full_store_keeps_uploads_and_leaves_no_garbage(self):
        server = service.Server(self, '--store-max', '2M', '--sync', 'none')
        self.ask(server, 'full')
        self.assertEqual(self.names(server), ['upload'])
        self.wait_until(lambda: len(self.data_files(server)) == 2, 'garbage')
        info = self.json('stat', f'{server.ep}:')
        self.assertEqual((info['objects'], info['bytes'], info['uploads']),
                         (1, 100, 0))

    def test_questions_that_no_client_asks(self):
        server = service.Server(self, '--object-max', '64M')
        src = self.make('src', random.Random(1).randbytes(100000))
        self.json('put', src, f'{server.ep}:good')
        self.ask(server)
        self.assertEqual(self.names(server), ['good'])
        self.json('get', f'{server.ep}:good', self.path('back'))
        self.assertEqual(self.read(self.path('back')), self.read(src))
        self.assertEqual(sorted(os.listdir(server.directory)), ['.colibri'])
        self.assertEqual(self.json('stat', f'{server.ep}:')['uploads'], 0)
        self.assertEqual(server.stop()[0], 0)

    def test_fetch_that_its_client_cancels(self):
        server = service.Server(self, '--transport', 'sunrpc', '--ep',
                                f'127.0.0.1:{self.port}:1', net=('--quiet',))
        self.ask(server, 'cancelled')
        self.assertEqual(server.stop()[0], 0)

    def test_upload_that_is_still_written(self):
        ep, liar = self.start_liar()
        src = self.make('src', bytes(100000))
        self.assert_done(cli.run('put', src, f'{ep}:soon'))
        # Never: it is asked for more and more seldom, and not for ever.
        result = cli.run('put', '--timeout', '4', src, f'{ep}:late')
        self.assert_refused(result, 1, 'src', 'busy')
        liar.stdin.close()
        said = liar.stdout.read().split()
        self.assertEqual(set(said), {b'busy'})
        self.assertGreaterEqual(len(said), 2 + 1)
        self.assertLess(len(said), 2 + 20)

    def test_lists_that_lie(self):
        ep, _ = self.start_liar()
        result = cli.run('ls', f'{ep}:good/')
        self.assert_done(result)
        self.assertEqual(result.stdout, b'good/x\ngood/xx\n')
        # A name that was not asked for, shorter than what was; the same one
        # without end.
        for below in ('far/' + 200 * 'x', 'again/'):
            for verb, args in (('get', (self.path('out'),)), ('rm', ())):
                result = cli.run(verb, '-r', f'{ep}:{below}', *args)
                self.assert_refused(result, 1, below, 'no object service')
            # The liar repeats its answer.
            result = cli.run('ls', f'{ep}:{below}')
            self.assertEqual(result.returncode, 1)
            self.assertIn(b'no object service', result.stderr)
        self.assertFalse(os.path.exists(self.path('out')))

    def test_listing_is_interrupted(self):
        ep, liar = self.start_liar()
        for below in ('never', 'ever'):
            child = subprocess.Popen(
                [cli.COLIBRI, 'get', '-r', f'{ep}:{below}', self.path('out')],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                stdin=subprocess.DEVNULL)
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
            self.assertEqual(liar.stdout.readline(), b'asked\n')
            child.send_signal(signal.SIGINT)
            out, text = child.communicate(timeout=cli.PATIENCE)
            self.assertEqual(child.returncode, 1, text)
            self.assertIn(b'interrupted; the same command goes on', text)
            self.assertEqual(out, b'')
            self.assertFalse(os.path.exists(self.path('out')))

    def test_comparing_is_interrupted(self):
        ep, _ = self.start_liar()
        src = self.make_sparse('src', 2 << 40)
        child = subprocess.Popen(
            [cli.COLIBRI, 'put', src, f'{ep}:same'], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)

        def read_bytes():
            with open(f'/proc/{child.pid}/io', encoding='ascii') as file:
                return int(file.readline().split()[1])
        self.wait_until(lambda: read_bytes() > 64 << 20, 'nothing is read')
        child.send_signal(signal.SIGINT)
        _, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 1, text)
        self.assertIn(b'interrupted; the same command goes on', text)

    def test_directory_is_made_for_something(self):
        server = service.Server(self)
        out = self.path('out')
        refused = self.run_client('get', '-r', f'{server.ep}:none', out)
        self.assert_refused(refused, 1, 'none', 'no such object')
        self.assertFalse(os.path.exists(out))
        os.symlink('nowhere', self.path('link'))
        for dst in (self.path('not', 'there'), self.path('link'), ''):
            refused = self.run_client('get', '-r', f'{server.ep}:', dst)
            self.assert_refused(refused, 2, f"DST '{dst}'", 'No such file')
        # There are none, and all of them are there.
        self.json('get', '-r', f'{server.ep}:', out + '/')
        self.assertEqual(os.listdir(out), [])

    def test_maps_that_are_stale(self):
        one = service.Server(self)
        other = service.Server(self, directory=self.path('other'),
                               net=self.server_net(3))
        src = self.make('src', random.Random(1).randbytes(3 << 20))
        gone = (f'{lnet.address(4)}@tcp:12345:40:1',
                f'{lnet.address(2)}@tcp:12345:40:9')
        # Where nobody is any more, or no end point: what is good is used.
        for ep in gone:
            self.json('put', src, f'{one.ep},{ep}:x')
            self.json('get', f'{ep},{one.ep}:x', self.path('back'))
            self.assertEqual(self.read(self.path('back')), self.read(src))
            self.json('rm', f'{one.ep}:x')
        # All of it: said, and by which address.
        for ep in gone:
            result = self.run_client('put', src, f'{ep}:x', timeout='1')
            self.assert_refused(result, 1, ep, 'colibri serve')
        # An address that has become another service's: one of them has all.
        self.json('put', src, f'{one.ep},{other.ep}:x')
        self.assertEqual(
            sorted((self.names(one), self.names(other))), [[], ['x']])
        for server in (one, other):
            self.assertEqual(server.stop()[0], 0)

    def check(self, verb, *args):
        words = args[:-1]
        result = cli.run(verb, *words)
        self.assert_refused(result, 2, f'colibri {verb}: ', args[-1])

    def test_put_names_what_is_missing_before_it_dials(self):
        # Nobody is at the end point, and nobody is waited for.
        ep = f'{lnet.address(2)}@tcp:12345:40:1'
        none = self.path('none')
        result = self.run_client('put', none, f'{ep}:x', timeout='3600')
        self.assert_refused(result, 2, f"SRC '{none}'", 'No such file')
        result = self.run_client('put', none, none, f'{ep}:', timeout='3600')
        self.assert_refused(result, 2, f"'{none}'", 'none of the 2 SRC')

    def test_operands_that_do_not_fit(self):
        ep = f'{lnet.address(2)}@tcp:12345:40:1'
        src = self.make('src', b'abc')
        self.check('put', src, 'operands are missing')
        self.check('put', src, 'x', 'EP[,EP...]:NAME')
        self.check('put', src, src, f'{ep}:x', "let it end with '/'")
        self.check('put', src, '1.2.3.4@tcp:12345:99:1:', '12345')
        self.check('get', f'{ep}:x', 'operands are missing')
        self.check('get', f'{ep}:x', self.path('no', 'such'), 'No such file')
        self.check('ls', 'EP:NAME is missing')
        self.check('rm', f'{ep}:x', '127.0.0.9@tcp:12345:40:1:y',
                   'one service')
        self.check('serve', 'DIR is missing')
        self.check('serve', '--sync=often', self.dir, 'none, commit, write')
        self.check('serve', '--store=disk', self.dir, 'lmdb, volatile')
        self.check('serve', '--transport=mem', self.dir, 'lnet')
        for value in ('4096', '4194304T', 'x'):
            self.check('serve', f'--store-max={value}', self.dir,
                       '1M to 4194303T')
        self.check('serve', '--object-max=0', self.dir, '1 to 4194303T')
        for option in ('--client-memory', '--clients-memory'):
            for size in ('', 'x', '63K', '4194304T'):
                self.check('serve', f'{option}={size}', self.dir,
                           f"{option} '{size}'")
        self.check('serve', '--clients-memory=1M', self.dir,
                   'at least --client-memory, which is 16777216')
        self.check('ls', '--inflight=0', f'{ep}:', '1 to 256')
        self.check('put', '--stream=0', src, f'{ep}:', '1 to 256')
        self.check('put', '--stream=many', src, f'{ep}:', '1 to 256')

    def test_source_that_is_none(self):
        server = service.Server(self)
        os.mkdir(self.path('d'))
        os.mkfifo(self.path('d', 'pipe'))
        os.symlink('nowhere', self.path('d', 'link'))
        self.make('d/file', b'abc')
        result = self.run_client('put', self.path('d'), f'{server.ep}:')
        self.assert_refused(result, 1, 'use -r')
        result = self.run_client('put', self.path('d', 'pipe'), f'{server.ep}:')
        self.assert_refused(result, 1, 'no regular file')
        told = self.json('put', '-r', self.path('d'), f'{server.ep}:')
        self.assertEqual((told['objects'], told['ignored']), (1, 2))
        self.assertEqual(self.names(server), ['d/file'])

    def test_source_without_a_name(self):
        server = service.Server(self)
        os.makedirs(self.path('d', 'sub'))
        self.make('d/file', b'abc')
        self.make('d/sub/file', b'abc')
        here = self.path('d')
        for i, src in enumerate(('.', './', here + '/.', here + '/sub/..',
                                 here + '/sub/../')):
            self.assert_done(cli.run(
                'put', '-r', *self.client_net(), src, f'{server.ep}:{i}/',
                cwd=here))
            self.assertEqual(self.names(server, f'{i}/'),
                             [f'{i}/file', f'{i}/sub/file'])

    def test_get_replaces_files_and_nothing_else(self):
        server = service.Server(self)
        src = self.make('src', b'abc')
        self.json('put', src, f'{server.ep}:t/pipe')
        os.mkdir(self.path('out'))
        pipe = self.path('out', 'pipe')
        os.mkfifo(pipe)
        os.symlink(pipe, self.path('link'))
        os.makedirs(self.path('dir', 'pipe'))
        get = ('get', f'{server.ep}:t/pipe')
        # As root: /dev/null, and /dev/stdout, which is a link, whatever to.
        with open(self.make('open'), 'rb') as file:
            os.symlink(f'/proc/{os.getpid()}/fd/{file.fileno()}',
                       self.path('proc'))
            self.assert_refused(self.run_client(*get, self.path('proc')), 2,
                                'not a regular file', 'accepted: ')
        self.assertTrue(os.path.islink(self.path('proc')))
        for dst in (pipe, self.path('out'), self.path('link')):
            self.assert_refused(self.run_client(*get, dst), 2, dst,
                                'not a regular file', 'accepted: ')
        self.assert_refused(self.run_client(*get, self.path('dir')), 2,
                            'Is a directory', 'accepted: ')
        result = self.run_client('get', '-r', f'{server.ep}:t',
                                 self.path('out'))
        self.assert_refused(result, 1, "'pipe'", 'not a regular file')
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
        self.assertTrue(os.path.islink(self.path('link')))
        self.assert_holds('pipe', directory=self.path('out'))
        # A file, and a link to one, are replaced.
        for dst in (src, self.path('soft')):
            self.make('old', b'old')
            if dst != src:
                os.symlink('old', dst)
            self.json(*get, dst)
            self.assertEqual(self.read(dst), b'abc')
            self.assertEqual(self.read(self.path('old')), b'old')

    def test_get_stays_below_its_directory(self):
        server = service.Server(self)
        src = self.make('src', b'abc')
        self.json('put', src, f'{server.ep}:t/link/x')
        os.makedirs(self.path('out'))
        os.makedirs(self.path('elsewhere'))
        os.symlink(self.path('elsewhere'), self.path('out', 'link'))
        result = self.run_client('get', '-r', f'{server.ep}:t',
                                 self.path('out'))
        self.assert_refused(result, 1, 'cannot be written')
        self.assertEqual(os.listdir(self.path('elsewhere')), [])


if __name__ == '__main__':
    cli.main()
