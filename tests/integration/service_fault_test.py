# SPDX-License-Identifier: Apache-2.0 OR MIT
"""An object service on a disk, a clock and a scheduler that do their worst."""
import fcntl
import json
import os
import random
import resource
import signal
import time

import cli
import service


class Faults(service.Case):
    def set(self, name, text=''):
        """Makes something fail, in the shim."""
        with open(self.path('shim', name), 'w', encoding='utf-8') as file:
            file.write(text)

    def unset(self, name):
        os.unlink(self.path('shim', name))

    def test_end_waits_for_who_was_answered(self):
        server = service.Server(self, shim=self.shim())
        child = self.start_asking(server, 'list')
        self.assertEqual(child.stdout.readline(), b'ready\n')
        self.set('slow')
        child.stdin.write(b'\n')
        child.stdin.flush()
        self.assertEqual(child.stdout.readline(), b'answered\n')
        # The request is still held by the store's thread.
        server.child.send_signal(signal.SIGTERM)
        self.assertIn(b'ended', server.line())
        self.assertEqual(server.child.wait(cli.PATIENCE), 0,
                         server.error_text())
        self.unset('slow')

    def test_blocks_that_were_not_synced_are_sent_again(self):
        server = service.Server(self, shim=self.shim())
        src = self.make('src', random.Random(1).randbytes(3 << 20))
        self.set('fsync')
        result = self.run_client('put', src, f'{server.ep}:')
        self.assert_refused(result, 1, 'Input/output error')
        self.unset('fsync')
        told = self.json('put', src, f'{server.ep}:')
        self.assertEqual((told['same_bytes'], told['bytes']), (0, 3 << 20))
        self.json('get', f'{server.ep}:src', self.path('back'))
        self.assertEqual(self.read(self.path('back')), self.read(src))

    def interrupt_put(self, server, src):
        """A put whose client leaves while its end is synced, which goes on."""
        self.set('hang')
        child = self.start_client('put', src, f'{server.ep}:')
        self.wait_until(lambda: os.path.exists(self.path('shim', 'hangs')),
                        'nothing is synced')
        child.send_signal(signal.SIGINT)
        _, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 1, text)

    def test_put_interrupted_while_it_is_synced(self):
        server = service.Server(self, shim=self.shim())
        src = self.make('src', random.Random(2).randbytes(3 << 20))
        self.interrupt_put(server, src)
        self.unset('hang')
        # Nobody is left to take the end: it may be asked for again.
        told = self.json('put', src, f'{server.ep}:')
        self.assertEqual((told['same_bytes'], told['bytes']), (3 << 20, 0))
        self.json('get', f'{server.ep}:src', self.path('back'))
        self.assertEqual(self.read(self.path('back')), self.read(src))

    def test_put_goes_on_when_who_was_before_has_left(self):
        server = service.Server(self, shim=self.shim())
        src = self.make('src', random.Random(2).randbytes(3 << 20))
        self.interrupt_put(server, src)
        second = self.start_client('put', '--json', src, f'{server.ep}:', i=3)
        # As long as this one waits, in vain, so that the second has begun.
        result = self.run_client('put', src, f'{server.ep}:', i=4,
                                 timeout='2')
        self.assert_refused(result, 1)
        self.unset('hang')
        told, text = second.communicate(timeout=cli.PATIENCE)
        self.assertEqual(second.returncode, 0, text)
        self.assertEqual(json.loads(told)['same_bytes'], 3 << 20)

    def test_garbage_is_known_until_the_disk_has_unlinked_it(self):
        server = service.Server(self, shim=self.shim())
        src = self.make('src', random.Random(3).randbytes(100000))
        self.json('put', src, f'{server.ep}:')
        data, _ = (os.path.join(server.directory, '.colibri', 'data', name[:2],
                                name) for name in self.data_files(server))
        os.link(data, self.path('kept'))
        self.set('hang')
        self.json('rm', f'{server.ep}:src')
        self.wait_until(lambda: os.path.exists(self.path('shim', 'hangs')),
                        'nothing is synced')
        self.assertFalse(os.path.exists(data))
        # The power fails, and the directory is as it was.
        server.kill()
        os.rename(self.path('kept'), data)
        self.unset('hang')
        server.start()
        self.wait_until(lambda: not self.data_files(server), 'garbage stays')

    def test_walk_that_breaks_off_is_a_failure(self):
        shim = self.shim()
        server = service.Server(self)
        os.mkdir(self.path('src'))
        self.make('src/file', b'abc')
        env = dict(os.environ, LD_PRELOAD=os.environ['SERVICE_SHIM'],
                   SERVICE_SHIM_DIR=shim)
        put = ('put', '-r', *self.client_net(), self.path('src'),
               f'{server.ep}:')
        self.set('walk')
        self.assert_refused(cli.run(*put, env=env), 1, 'not all was found',
                            'Cannot allocate memory')
        self.assertEqual(self.names(server), [])
        self.unset('walk')
        self.assert_done(cli.run(*put, env=env))
        self.assertEqual(self.names(server), ['src/file'])

    def test_file_that_is_longer_than_it_says_is_refused(self):
        server = service.Server(self)
        result = self.run_client('put', '/proc/self/status', f'{server.ep}:')
        self.assert_refused(result, 1, 'changed while it was read')
        self.assertEqual(self.names(server), [])

    def test_upload_that_goes_on_is_kept(self):
        server = service.Server(self, '--keep', '3600', shim=self.shim())
        self.ask(server, 'begin goes on')
        self.ask(server, 'begin was cut')
        for minutes, name in ((50, 'begin goes on'), (100, '')):
            server.kill()
            self.set('clock', str(minutes * 60))
            server.start()
            if name:
                self.ask(server, name)
        # The blocks of both uploads are old by now.
        self.wait_until(lambda: len(self.data_files(server)) == 2,
                        'upload stays')
        self.assertEqual(self.json('stat', f'{server.ep}:')['uploads'], 1)
        self.ask(server, 'end goes on')

    def test_uploads_are_bounded(self):
        server = service.Server(self, '--uploads-max', '8', '--keep', '3600',
                                shim=self.shim())
        self.ask(server, 'crowd')
        src = self.make('src', random.Random(5).randbytes(100000))
        result = self.run_client('put', src, f'{server.ep}:', timeout='2')
        self.assert_refused(result, 1, 'busy')
        self.assertEqual(self.json('stat', f'{server.ep}:')['uploads'], 8)
        # Uploads that nobody works on are dropped before their time.
        server.kill()
        self.set('clock', '700')
        server.start()
        self.json('put', src, f'{server.ep}:')
        self.assertEqual(self.names(server), ['src'])

    def test_block_that_is_late_leaves_no_file(self):
        server = service.Server(self, shim=self.shim())
        self.set('create')
        late = self.start_asking(server, 'begin late', i=4)
        self.wait_until(lambda: os.path.exists(self.path('shim', 'creates')),
                        'nothing is made')
        self.ask(server, 'end late')
        # Its garbage is long collected when the block comes to be written.
        time.sleep(2)
        self.unset('create')
        late.communicate(timeout=cli.PATIENCE)
        self.assertEqual(late.returncode, 0)
        self.wait_until(lambda: not self.data_files(server), 'file stays')

    def test_limit_of_files_ends_no_service(self):
        server = service.Server(self)
        src = self.make('src', random.Random(4).randbytes(4 << 20))
        small = self.make('small', bytes(100000))
        self.json('put', src, f'{server.ep}:')
        limit = resource.prlimit(server.child.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.child.pid, resource.RLIMIT_FSIZE,
                         (2 << 20, limit[1]))
        result = self.run_client('put', src, f'{server.ep}:again')
        self.assert_refused(result, 1, 'ulimit -f')
        self.json('put', small, f'{server.ep}:')
        self.assertEqual(self.json('stat', f'{server.ep}:')['uploads'], 0)
        self.wait_until(lambda: len(self.data_files(server)) == 4,
                        'garbage stays')
        # Nor does one of its own end a client without a word.
        result = cli.run('get', *self.client_net(), f'{server.ep}:src',
                         self.path('back'), preexec_fn=lambda:
                         resource.setrlimit(resource.RLIMIT_FSIZE,
                                            (2 << 20, limit[1])))
        self.assert_refused(result, 1, 'cannot be written', 'too large')

    def sums(self, server):
        """Bytes of the sums of the one file there is."""
        name, = (name for name in self.data_files(server)
                 if name.endswith('.sums'))
        return os.path.getsize(os.path.join(
            server.directory, '.colibri', 'data', name[:2], name))

    def test_what_a_reboot_broke_is_seen_to_by_the_next(self):
        server = service.Server(self)
        store = os.path.join(server.directory, '.colibri', 'store')
        self.ask(server, 'begin cut')
        self.assertGreater(self.sums(server), 0)
        server.kill()
        with open(os.path.join(server.directory, '.colibri', 'boot'), 'w',
                  encoding='utf-8') as file:
            file.write('another start of the machine\n')
        # One that ends before it has, and one that has other files.
        with open(os.path.join(store, 'store.lock'), 'rb') as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with self.assertRaisesRegex(AssertionError, 'another process'):
                server.start()
            server.child.wait()
        options = server.options
        server.options += ('--store', 'volatile')
        server.start()
        self.assertEqual(server.stop()[0], 0)
        server.options = options
        self.assertGreater(self.sums(server), 0)
        server.start()
        self.assertEqual(self.sums(server), 0)
        self.ask(server, 'begin cut')
        server.kill()
        server.start()
        self.assertGreater(self.sums(server), 0)


if __name__ == '__main__':
    cli.main()
