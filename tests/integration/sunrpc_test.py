# SPDX-License-Identifier: Apache-2.0
"""`colibri copy`, `perf` and `serve` over sunrpc, between two processes."""
import json
import os
import random
import signal
import subprocess

import cli
import lnet

# The transport is taken from the form of the address, or named.
NAMED = ('--transport', 'sunrpc')


class Sunrpc(cli.Case):
    def setUp(self):
        super().setUp()
        self.ep = f'127.0.0.1:{lnet.free_port()}:1'
        self.src = self.make('src', random.Random(1).randbytes(3 << 20 | 5))

    def start(self, *args):
        """A listener; its first line of JSON."""
        self.child = subprocess.Popen(
            [cli.COLIBRI, *args], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.addCleanup(self.child.stdout.close)
        self.addCleanup(self.child.stderr.close)
        self.addCleanup(self.child.wait)
        self.addCleanup(self.child.kill)
        return json.loads(self.child.stdout.readline())

    def stop(self):
        self.child.send_signal(signal.SIGINT)
        self.assertEqual(self.child.wait(cli.PATIENCE), 0,
                         self.child.stderr.read())

    def test_copy_arrives(self):
        os.mkdir(self.path('in'))
        told = self.start('copy', '--listen', '--json', '--ep', self.ep,
                          self.path('in'))
        self.assertEqual(told['ep'], self.ep)
        for options in ((), NAMED, (*NAMED, '--block', '16M'),
                        ('--block', '4096', '--inflight', '64')):
            self.assert_done(cli.run('copy', '-q', *options, self.src,
                                     f'{self.ep}:dst'))
            self.assertEqual(self.read(self.path('in', 'dst')),
                             self.read(self.src))
        self.stop()

    def test_perf_counts(self):
        told = self.start('perf', '--listen', '--json', *NAMED, '--ep',
                          '127.0.0.1:0:*')
        result = cli.run('perf', '--json', '--time', '0.1', '--size', '64',
                         told['ep'])
        self.assert_done(result)
        self.assertIn('sunrpc', result.stdout.decode())
        self.stop()

    def test_objects_come_back(self):
        os.mkdir(self.path('objects'))
        self.start('serve', '--json', '--ep', self.ep, self.path('objects'))
        self.assert_done(cli.run('put', '-q', self.src, f'{self.ep}:it'))
        self.assert_done(cli.run('get', '-q', *NAMED, f'{self.ep}:it',
                                 self.path('back')))
        self.assertEqual(self.read(self.path('back')), self.read(self.src))
        self.stop()

    def test_nobody_is_there(self):
        result = cli.run('copy', '--timeout', '2', self.src, f'{self.ep}:x')
        self.assert_refused(result, 1, 'refused')

    def test_address_of_another_transport_is_refused(self):
        for name, ep in (('lnet', self.ep),
                         ('sunrpc', '10.0.0.1@tcp:12345:40:1')):
            result = cli.run('copy', '--transport', name, self.src,
                             f'{ep}:x')
            self.assert_refused(result, 2, ep, 'accepted')


if __name__ == '__main__':
    cli.main()
