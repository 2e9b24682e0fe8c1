# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri copy` between two processes of which one is killed.

100 times, at any moment: the other ends within its bound, no part of a file is
left, and the copy, repeated, succeeds. $M0_SEED repeats the moments.
"""
import os
import random
import time

import cli
import far

SEED = int(os.environ.get('M0_SEED', random.SystemRandom().randrange(1 << 32)))
TURNS = int(os.environ.get('M0_KILLS_NR', 100))
SIZE = 1 << 20
TIMEOUT = 1
# Its time-out, and what a busy machine adds to it.
BOUND = TIMEOUT + 10
# Small blocks: many moments.
SLOW = ('--block', '4K', '--inflight', '2')


class Kills(far.Case):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)
        self.content = self.rng.randbytes(SIZE)
        self.src = self.make('src', self.content)
        self.listener = self.listen()
        start = time.monotonic()
        self.copy('first')
        self.span = time.monotonic() - start

    def listen(self):
        return far.Listener(self, '--timeout', str(TIMEOUT), quick=False)

    def copy(self, name):
        result = self.send(self.src, f'{self.listener.ep}:{name}', *SLOW,
                           '--quiet')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.listener.event()['event'], 'received')
        self.check(name)

    def check(self, name):
        path = os.path.join(self.listener.directory, name)
        self.assertEqual(self.read(path), self.content)
        os.unlink(path)
        self.assertEqual(self.listener.files(), [])

    def start(self):
        child = self.start_sending(self.src, f'{self.listener.ep}:x', *SLOW,
                                   '--quiet', timeout=str(TIMEOUT))
        time.sleep(self.rng.uniform(0, self.span))
        return child

    def all_or_nothing(self):
        """@return was it all?"""
        path = os.path.join(self.listener.directory, 'x')
        if os.path.exists(path):
            self.check('x')
            return True
        self.assertEqual(self.listener.files(), [])
        return False

    def test_sender_is_killed(self):
        whole = 0
        for turn in range(TURNS // 2):
            with self.subTest(seed=SEED, turn=turn):
                child = self.start()
                child.kill()
                child.wait()
                start = time.monotonic()
                # The next one comes in at once, whatever is still going on;
                # it is told of after the one that was killed, or before.
                result = self.send(self.src, f'{self.listener.ep}:next',
                                   *SLOW, '--quiet')
                self.assertEqual(result.returncode, 0, result.stderr)
                while self.listener.event().get('name') != 'next':
                    pass
                self.assertLess(time.monotonic() - start, BOUND)
                os.unlink(self.path('in', 'next'))
        # Nothing is going on once it is stopped.
        self.assertEqual(self.listener.stop(2), 0)
        for name in self.listener.files():
            self.assertEqual(name, 'x')
            self.assertEqual(self.read(self.path('in', 'x')), self.content)
            whole += 1
        print(f'{whole} whole, M0_SEED={SEED}')

    def test_receiver_is_killed(self):
        codes = []
        for turn in range(TURNS // 2):
            with self.subTest(seed=SEED, turn=turn):
                child = self.start()
                self.listener.kill()
                start = time.monotonic()
                _, text = child.communicate(timeout=cli.PATIENCE)
                self.assertLess(time.monotonic() - start, BOUND)
                self.assertIn(child.returncode, (0, 1), text)
                codes.append(child.returncode)
                whole = self.all_or_nothing()
                # A sender that reported success told the truth.
                if child.returncode == 0:
                    self.assertTrue(whole)
                else:
                    self.assertNotEqual(text, b'')
                self.listener = self.listen()
                self.copy('again')
        print(f'exit codes {codes}, M0_SEED={SEED}')

    def test_receiver_is_killed_before_it_says_that_it_is_done(self):
        if 'SERVICE_SHIM' not in os.environ:
            self.skipTest('a sanitizer is preloaded')
        shim = self.path('shim')
        os.mkdir(shim)
        self.make('shim/named', b'')
        self.listener.kill()
        self.listener = far.Listener(
            self, '--timeout', str(TIMEOUT), quick=False,
            prefix=('env', 'LD_PRELOAD=' + os.environ['SERVICE_SHIM'],
                    f'SERVICE_SHIM_DIR={shim}'))
        result = self.send(self.src, f'{self.listener.ep}:x', '--quiet',
                           timeout=str(TIMEOUT))
        self.assert_refused(result, 1, '; look whether DST is there')
        self.assertTrue(self.all_or_nothing())


if __name__ == '__main__':
    cli.main()
