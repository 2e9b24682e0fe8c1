# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Bulk over two rails between network namespaces: hosts with two wires between.

Messages go by the first wire, the one of the end points. The blocks go by both, and
by the first alone when the second is cut.
"""
import json
import os
import shlex
import subprocess

import cli
import far
import perf_far_test
from node_ns_test import IP, run
from routers_ns_test import Hosts

MIB = 1 << 20


class Rails(Hosts):
    def setUp(self):
        super().setUp()
        self.make_hosts(2)
        self.rails = [self.wire(0, 1), self.wire(0, 1)]

    def net(self, host):
        """Options of a node on both wires."""
        return ('--net', self.nets([self.nid(n, host + 1)
                                    for n in self.rails]),
                '--lnd-timeout=1')

    def bytes_sent(self):
        """Bytes that host 0 has sent by each wire, and received."""
        text = self.within(0, 'cat', '/proc/net/dev').stdout.decode()
        words = {line.split(':')[0].strip(): line.split(':')[1].split()
                 for line in text.splitlines() if ':' in line}
        return [int(words[f'w{n}'][0]) + int(words[f'w{n}'][8])
                for n in self.rails]

    def cut_in_the_middle(self, child):
        while child.poll() is None and min(self.bytes_sent()) < 16 * MIB:
            pass
        self.assertIsNone(child.poll(), self.bytes_sent())
        self.within(1, IP, 'link', 'set', f'w{self.rails[1]}', 'down')

    def begin(self, *command):
        child = subprocess.Popen([*self.enter(0), cli.COLIBRI, *command],
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def test_copy(self):
        listener = far.Listener(self, '--timeout', '60', net=self.net(1),
                                prefix=self.enter(1), quick=False)
        content = os.urandom(4 * MIB) * 128
        src = self.make('src', content)
        # The receiver connects to the sender, too.
        child = self.begin('copy', '--block=1M', '--timeout', '60',
                           '--accept=secure', *self.net(0), src,
                           f'{listener.ep}:dst')
        self.cut_in_the_middle(child)
        _, text = child.communicate(timeout=2 * cli.PATIENCE)
        self.assertEqual(child.returncode, 0, text)
        self.assertTrue(listener.event()['verified'])
        self.assertEqual(self.read(self.path('in', 'dst')), content)

    def perf(self, test, size):
        server = perf_far_test.Server(self, net=self.net(1), timeout='60',
                                      prefix=self.enter(1))
        child = self.begin(*shlex.split(server.command)[1:2], '--json',
                           '--timeout', '60', '--time', '3', '--test', test,
                           '--size', size, *self.net(0), server.ep)
        self.cut_in_the_middle(child)
        out, text = child.communicate(timeout=2 * cli.PATIENCE)
        self.assertEqual(child.returncode, 0, text)
        self.assertEqual(server.event()['event'], 'served')
        self.assertGreater(json.loads(out)['rows'][0]['ops'], 0)

    def test_put_of_one_piece(self):
        self.perf('put', '1M')

    def test_get_of_one_piece(self):
        self.perf('get', '1M')

    def test_put_of_several_pieces(self):
        self.perf('put', '16M')

    def test_get_of_several_pieces(self):
        self.perf('get', '16M')


if __name__ == '__main__':
    if Rails.WHY is not None:
        print(f'skipped: {Rails.WHY}')
    cli.main()
