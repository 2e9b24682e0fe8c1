# SPDX-License-Identifier: Apache-2.0 OR MIT
"""An object service that is killed, and clients that are: work goes on."""
import os
import random
import signal
import time

import cli
import service

KILLS = 10


class Survives(service.Case):
    def test_service_killed_in_the_middle_of_a_put(self):
        rng = random.Random(7)
        os.mkdir(self.path('src'))
        for i in range(300):
            self.make(f'src/{i}', rng.randbytes(rng.randrange(12000)))
        for i in range(4):
            self.make(f'src/large{i}', rng.randbytes((6 << 20) + i))
        server = service.Server(self)
        puts = 0
        runs = 0
        kills = 0
        while kills < KILLS:
            child = self.start_client('put', '-r', self.path('src'),
                                      f'{server.ep}:{runs}')
            while child.poll() is None and kills < KILLS:
                time.sleep(rng.random() * 0.12)
                server.kill()
                server.start()
                kills += 1
            _, text = child.communicate(timeout=cli.PATIENCE)
            self.assertEqual(child.returncode, 0, text)
            puts += 304
            runs += 1
        info = self.json('stat', f'{server.ep}:')
        # Nothing lost, nothing done twice.
        self.assertEqual(info['puts'], puts)
        self.assertEqual(info['objects'], puts)
        self.assertEqual(info['uploads'], 0)
        for run in range(runs):
            out = self.path(f'out{run}')
            self.json('get', '-r', f'{server.ep}:{run}', out)
            self.same_trees(self.path('src'), out)
        self.assertEqual(server.stop()[0], 0)

    def test_service_killed_in_the_middle_of_a_get(self):
        src = self.make('src', random.Random(1).randbytes(60 << 20))
        server = service.Server(self)
        self.json('put', src, f'{server.ep}:')
        child = self.start_client('get', f'{server.ep}:src',
                                  self.path('back'))
        self.wait_until(lambda: child.poll() is not None or any(
            name.endswith('.part') for name in os.listdir(self.dir)), 'part')
        server.kill()
        server.start()
        _, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 0, text)
        self.assertEqual(self.read(self.path('back')), self.read(src))

    def test_service_ended_in_the_middle_of_a_put(self):
        src = self.make('src', random.Random(1).randbytes(60 << 20))
        server = service.Server(self)
        child = self.start_client('put', src, f'{server.ep}:')
        self.wait_until(lambda: child.poll() is not None or
                        self.data_files(server), 'data')
        # The server takes leave, and a client that waits goes on with the
        # next.
        code, last = server.stop()
        self.assertEqual((code, last['event']), (0, 'ended'))
        server.start()
        _, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 0, text)
        self.json('get', f'{server.ep}:src', self.path('back'))
        self.assertEqual(self.read(self.path('back')), self.read(src))
        self.assertEqual(self.json('stat', f'{server.ep}:')['puts'], 1)

    def test_put_that_was_cut_goes_on(self):
        src = self.make('src', random.Random(1).randbytes(80 << 20))
        server = service.Server(self)
        child = self.start_client('put', src, f'{server.ep}:')
        self.wait_until(lambda: child.poll() is not None or any(
            os.path.getsize(os.path.join(where, name)) > 8 << 20
            for where, _, names in os.walk(server.directory)
            for name in names if not name.endswith(('.mdb', '.sums'))),
            'data')
        child.kill()
        child.wait()
        # The service, too.
        server.kill()
        server.start()
        told = self.json('put', src, f'{server.ep}:')
        self.assertGreater(told['same_bytes'], 4 << 20)
        self.assertEqual(told['same_bytes'] + told['bytes'], 80 << 20)
        self.json('get', f'{server.ep}:src', self.path('back'))
        self.assertEqual(self.read(self.path('back')), self.read(src))

    def test_get_that_was_interrupted_goes_on(self):
        src = self.make('src', random.Random(1).randbytes(80 << 20))
        server = service.Server(self)
        self.json('put', src, f'{server.ep}:')
        child = self.start_client('get', f'{server.ep}:src', self.path('back'))
        self.wait_until(lambda: child.poll() is not None or any(
            os.stat(self.path(name)).st_blocks > 16384
            for name in os.listdir(self.dir) if name.endswith('.part')),
            'part')
        if child.poll() is not None:
            self.skipTest('it was too quick')
        child.send_signal(signal.SIGINT)
        _, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 1)
        self.assertIn(b'the same command goes on from here', text)
        told = self.json('get', f'{server.ep}:src', self.path('back'))
        self.assertGreater(told['same_bytes'], 4 << 20)
        self.assertEqual(self.read(self.path('back')), self.read(src))
        self.assertFalse([name for name in os.listdir(self.dir)
                          if name.endswith('.part')])

    def test_uploads_that_nobody_finishes_are_given_up(self):
        src = self.make('src', random.Random(1).randbytes(40 << 20))
        server = service.Server(self, '--keep', '1')
        child = self.start_client('put', src, f'{server.ep}:')
        self.wait_until(lambda: child.poll() is not None or
                        self.data_files(server), 'data')
        child.kill()
        child.wait()
        server.kill()
        time.sleep(1)
        server.start()
        if self.names(server):
            self.skipTest('it was too quick')
        self.wait_until(lambda: not self.data_files(server), 'upload stays')
        self.assertEqual(self.json('stat', f'{server.ep}:')['uploads'], 0)


if __name__ == '__main__':
    cli.main()
