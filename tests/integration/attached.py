# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Processes that are attached to a running `colibri node`."""
import os
import subprocess
import time

import cli
import lnet


class Case(cli.Case):
    def setUp(self):
        super().setUp()
        self.sock = self.path('attach.sock')
        self.nid = f'{lnet.address(0)}@tcp'

    def node(self, *options):
        return lnet.Node(self, '--net', f'tcp({lnet.address(0)})', '--port',
                         str(lnet.free_port()), '--accept', 'all',
                         '--source-ports', 'any', f'--attach={self.sock}',
                         *options)

    def env(self, path=None):
        return dict(os.environ, M0_LNET=f'attach:{path or self.sock}')

    def listen(self, number, *options):
        """A process that waits for another one."""
        child = subprocess.Popen(
            [cli.COLIBRI, 'perf', '--listen', '--once', *options, '--ep',
             f'{self.nid}:12345:40:{number}'], env=self.env(),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def shown(self, node):
        return node.json('process', 'show')

    def attached(self, node, nr):
        """Waits for so many processes. @return what is shown then."""
        deadline = time.monotonic() + cli.PATIENCE
        while True:
            shown = self.shown(node)
            if shown['processes']['attached'] == nr or \
                    time.monotonic() > deadline:
                self.assertEqual(shown['processes']['attached'], nr)
                return shown
            time.sleep(0.02)

    def spawn(self, *options):
        return subprocess.Popen(
            [cli.COLIBRI, 'perf', *options], env=self.env(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def nothing_left(self, node):
        """The daemon holds nothing for processes, and its node no message."""
        deadline = time.monotonic() + cli.PATIENCE
        while True:
            left = dict(self.shown(node)['processes'])
            stats = node.json('stats', 'show')['statistics']
            left = {'attached': left['attached'],
                    'memory': left['memory'],
                    'messages': stats['msgs_alloc'],
                    'transactions': stats['rst_alloc']}
            if not any(left.values()):
                return
            self.assertLess(time.monotonic(), deadline, left)
            time.sleep(0.005)
