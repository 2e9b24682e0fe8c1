# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Strangers who send noise to `colibri perf --listen`: it goes on.

$M0_SEED repeats what is sent.
"""
import os
import random
import signal
import subprocess
import time

import cli
import lnet
import perf_far_test
from perf_far_test import QUICK

HOSTILE = os.environ.get('PERF_HOSTILE', '')
SEED = int(os.environ.get('M0_SEED', random.SystemRandom().randrange(1 << 32)))


class Hostile(perf_far_test.Case):
    def stranger(self, server, i, count):
        child = subprocess.Popen(
            [HOSTILE, f'tcp({lnet.address(i)})', str(self.port), server.ep,
             str(SEED + i), str(count)], stderr=subprocess.PIPE)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def measure(self, server):
        """Strangers may have the server for themselves until it gives up."""
        deadline = time.monotonic() + cli.PATIENCE
        while True:
            result = self.client(server, *QUICK, '--test', 'put', '--size',
                                 '4K')
            if result.returncode == 0:
                return
            self.assertIn(b'busy', result.stderr)
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def test_noise_does_not_end_the_server(self):
        with open(self.path('said'), 'wb') as said:
            # Clients come and go by the hundred: nobody reads of them here.
            server = perf_far_test.Server(self, timeout='2', stdout=said)
            for turn in range(3):
                with self.subTest(seed=SEED, turn=turn):
                    strangers = [self.stranger(server, 3 + i, 2000)
                                 for i in range(2)]
                    for child in strangers:
                        _, text = child.communicate(timeout=cli.PATIENCE)
                        self.assertEqual(child.returncode, 0, text)
                    self.measure(server)
            self.assertEqual(server.stop(signal.SIGINT), 0)
        self.assertEqual(server.error_text(), '')
        with open(self.path('said'), encoding='utf-8') as said:
            lines = said.read().splitlines()
        self.assertIn('"event":"served"', ''.join(lines).replace(' ', ''))
        self.assertIn('"ended"', lines[-1])
        print(f'M0_SEED={SEED}')


if __name__ == '__main__':
    if not HOSTILE:
        raise SystemExit('set PERF_HOSTILE')
    cli.main()
