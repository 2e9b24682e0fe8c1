# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Strangers who send noise to `colibri copy --listen`: others are served.

$M0_SEED repeats what is sent.
"""
import os
import random
import signal
import subprocess

import cli
import far
import lnet

HOSTILE = os.environ.get('COPY_HOSTILE', '')
SEED = int(os.environ.get('M0_SEED', random.SystemRandom().randrange(1 << 32)))


class Hostile(far.Case):
    def stranger(self, listener, i, count):
        child = subprocess.Popen(
            [HOSTILE, f'tcp({lnet.address(i)})', str(self.port), listener.ep,
             str(SEED + i), str(count)], stderr=subprocess.PIPE)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def test_noise_keeps_nobody_else_out(self):
        listener = far.Listener(self, '--timeout', '1', '--quiet')
        content = random.Random(SEED).randbytes(3 << 20)
        src = self.make('src', content)
        for turn in range(3):
            strangers = [self.stranger(listener, 3 + i, 3000)
                         for i in range(2)]
            with self.subTest(seed=SEED, turn=turn):
                self.assert_done(self.send(src, f'{listener.ep}:good',
                                           '--quiet', timeout='60'))
                self.assertEqual(self.read(self.path('in', 'good')), content)
                os.unlink(self.path('in', 'good'))
                for child in strangers:
                    _, text = child.communicate(timeout=cli.PATIENCE)
                    self.assertEqual(child.returncode, 0, text)
        self.assertEqual(listener.stop(signal.SIGINT), 0,
                         listener.error_text())
        # Nothing of theirs has come to be a file: no block was ever whole.
        for name in listener.files():
            self.assertEqual(os.stat(self.path('in', name)).st_size, 0)
        print(f'M0_SEED={SEED}')


if __name__ == '__main__':
    if not HOSTILE:
        raise SystemExit('set COPY_HOSTILE')
    cli.main()
