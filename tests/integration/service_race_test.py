# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Others who replace files while `colibri put` and `get` work with them."""
import os
import random
import subprocess
import sys

import cli
import service

# Exchanges pairs of names until its input ends.
RACER = '''
import ctypes, os, sys
libc = ctypes.CDLL(None)
pairs = [tuple(map(os.fsencode, pair.split(':'))) for pair in sys.argv[1:]]
os.set_blocking(0, False)
print('races', flush=True)
while True:
    for one, other in pairs * 100:
        if libc.renameat2(-100, one, -100, other, 2) != 0:
            sys.exit('renameat2')
    try:
        if os.read(0, 1) == b'':
            break
    except BlockingIOError:
        pass
'''


class Races(service.Case):
    def start_racer(self, *pairs):
        racer = subprocess.Popen(
            [sys.executable, '-c', RACER, *(':'.join(pair) for pair in pairs)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(racer.stdout.close)
        self.addCleanup(racer.wait)
        self.addCleanup(racer.stdin.close)
        if racer.stdout.readline() != b'races\n':
            self.skipTest('names cannot be exchanged here')

    def test_put_follows_no_link_that_takes_a_place(self):
        server = service.Server(self, '--store', 'volatile')
        for name in ('src', 'src/dir', 'out'):
            os.mkdir(self.path(name))
        self.make('out/file', b'secret')
        self.make('src/dir/file', b'public')
        pairs = [(self.path('src', 'dir'), self.path('src', 'dirlink'))]
        os.symlink(self.path('out'), pairs[0][1])
        for i in range(8):
            pairs.append((self.make(f'src/{i}', b'public'),
                          self.path('src', f'{i}link')))
            os.symlink(self.path('out', 'file'), pairs[-1][1])
        self.start_racer(*pairs)
        for _ in range(25):
            # Names that are there once and then not are no matter here.
            result = self.run_client('put', '-q', '-r', self.path('src'),
                                     f'{server.ep}:')
            self.assertIn(result.returncode, (0, 1), result.stderr)
            self.json('get', '-r', f'{server.ep}:', self.path('back'))
            for where, _, names in os.walk(self.path('back')):
                for name in names:
                    path = os.path.join(where, name)
                    self.assertEqual(self.read(path), b'public', path)

    def start_get(self, server, shim, i=3):
        """A get of `big` to `dst` that has made its part file and waits."""
        env = dict(os.environ, LD_PRELOAD=os.environ['SERVICE_SHIM'],
                   SERVICE_SHIM_DIR=shim)
        with open(os.path.join(shim, 'lock'), 'wb'):
            pass
        child = subprocess.Popen(
            [cli.COLIBRI, 'get', *self.client_net(i), f'{server.ep}:big',
             self.path('shared', 'dst')], env=env, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        for stop in (child.stdout.close, child.stderr.close, child.wait,
                     child.kill):
            self.addCleanup(stop)
        self.wait_until(lambda: os.path.exists(os.path.join(shim, 'locks')),
                        'nothing is locked')
        name, = (name for name in os.listdir(self.path('shared'))
                 if name.endswith('.part'))
        return child, self.path('shared', name)

    def get(self, server, src):
        dst = self.path('shared', 'dst')
        self.json('get', f'{server.ep}:big', dst)
        self.assertEqual(self.read(dst), self.read(src))
        os.unlink(dst)

    def start_server(self):
        shim = self.shim()
        server = service.Server(self, '--store', 'volatile')
        # Part files have this mode, too.
        src = self.make('big', random.Random(1).randbytes(3 << 20), 0o600)
        self.json('put', src, f'{server.ep}:')
        os.mkdir(self.path('shared'))
        os.chmod(self.path('shared'), 0o1777)
        return server, src, shim

    def test_get_takes_no_part_file_of_others(self):
        server, src, shim = self.start_server()
        child, part = self.start_get(server, shim)
        child.kill()
        child.wait()
        # A part file of a get that was cut is used up.
        self.get(server, src)
        self.assert_holds(directory=self.path('shared'))
        kept = self.make('kept', b'kept')
        os.chmod(kept, 0o600)
        for plant in (lambda: os.link(kept, part),
                      lambda: os.symlink(kept, part),
                      lambda: os.mkfifo(part, 0o600),
                      lambda: os.mkdir(part),
                      lambda: self.make(part, b'kept', mode=0o666)):
            plant()
            self.get(server, src)
            self.assertEqual(self.read(kept), b'kept')
            self.assertTrue(os.path.lexists(part))
            (os.rmdir if os.path.isdir(part) else os.unlink)(part)
        if os.geteuid() == 0:
            self.make(part, b'kept', mode=0o600)
            os.chown(part, 65534, 65534)
            self.get(server, src)
            self.assertEqual(self.read(part), b'kept')

    def test_get_names_part_files_that_are_in_its_way(self):
        server, _, shim = self.start_server()
        child, part = self.start_get(server, shim)
        child.kill()
        child.wait()
        os.unlink(part)
        for i in range(16):
            os.mkdir(part if i == 0 else part.replace('.part', f'.{i}.part'))
        result = self.run_client('get', f'{server.ep}:big',
                                 self.path('shared', 'dst'))
        self.assert_refused(result, 1, 'cannot be written', '.colibri-*.part')

    def test_get_leaves_a_part_file_that_has_got_its_name(self):
        server, src, shim = self.start_server()
        child, part = self.start_get(server, shim)
        # Another one locks it first, fills it, and gives it its name.
        dst = self.path('shared', 'dst')
        self.json('get', f'{server.ep}:big', dst)
        self.assertFalse(os.path.exists(part))
        # A third one makes a part file of the same name.
        os.mkdir(self.path('shim', 'third'))
        third, same = self.start_get(server, self.path('shim', 'third'), i=4)
        self.assertEqual(same, part)
        for waiting, lock in ((child, ('shim', 'lock')),
                              (third, ('shim', 'third', 'lock'))):
            inode = os.stat(dst).st_ino
            os.unlink(self.path(*lock))
            _, text = waiting.communicate(timeout=cli.PATIENCE)
            self.assertEqual(waiting.returncode, 0, text)
            self.assertEqual(self.read(dst), self.read(src))
            self.assertNotEqual(os.stat(dst).st_ino, inode)
        self.assert_holds('dst', directory=self.path('shared'))


if __name__ == '__main__':
    cli.main()
