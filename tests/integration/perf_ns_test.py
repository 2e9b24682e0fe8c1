# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri perf` between two hosts: network namespaces with a wire between.

The command that the server prints is run as it is, on the default port.
"""
import json
import shlex
import signal
import subprocess
import time

import cli
import node_ns_test
import perf_far_test
from node_ns_test import IP, V4, V6
from perf_far_test import BOUNDS, QUICK


class Hosts(node_ns_test.Case):
    def listen(self, *options, **kwargs):
        return perf_far_test.Server(self, *options, net=(),
                                    prefix=self.enter(1), **kwargs)

    def command(self, server, *options):
        """What to type on the other host."""
        return [*self.enter(0), cli.COLIBRI, *shlex.split(server.command)[1:],
                *options]

    def measure(self, server, *options):
        result = node_ns_test.run(*self.command(server, *QUICK, '--json',
                                                *options))
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = json.loads(result.stdout)['rows']
        for row in rows:
            self.assertIn(row['bound'], BOUNDS)
        told = server.event()
        self.assertEqual(told['event'], 'served', told)
        return rows

    def test_printed_command_without_any_option(self):
        server = self.listen()
        self.assertEqual(shlex.split(server.command),
                         ['colibri', 'perf', f'{V4[1]}@tcp:12345:40:4095'])
        self.assertEqual(len(self.measure(server)), 8)
        self.assertEqual(server.stop(signal.SIGINT), 0)

    def test_over_ipv6(self):
        self.need_ipv6()
        server = self.listen('--net', f'tcp({V6[1]})')
        self.assertIn("--net 'tcp(ADDRESS)'", server.command)
        server.command = server.command.replace('ADDRESS', V6[0])
        self.assertEqual(len(self.measure(server, '--test', 'put,get')), 6)

    def test_wire_that_is_cut(self):
        server = self.listen(timeout='4')
        child = subprocess.Popen(
            self.command(server, '--timeout', '4', '--time', '3600', '--test',
                         'put'),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        while child.poll() is None and self.bytes_sent() < 1 << 20:
            pass
        self.within(1, IP, 'link', 'set', 'veth0', 'down')
        _, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 1, text)
        self.assertEqual(server.event()['event'], 'failed')
        self.within(1, IP, 'link', 'set', 'veth0', 'up')
        for i in (0, 1):
            self.wait_for_wire(i)
        # The kernel remembers for a moment that nobody answered.
        command = self.command(server, *QUICK, '--test', 'latency')
        deadline = time.monotonic() + cli.PATIENCE
        while (result := node_ns_test.run(*command)).returncode != 0:
            self.assertIn(b'No route', result.stderr)
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual(server.event()['event'], 'served')

    def bytes_sent(self):
        return int(self.within(0, 'sh', '-c', "awk '/veth0/ { print $10 }' "
                               '/proc/net/dev').stdout)


if __name__ == '__main__':
    if Hosts.WHY is not None:
        print(f'skipped: {Hosts.WHY}')
    cli.main()
