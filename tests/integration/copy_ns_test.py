# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri copy` between two hosts: network namespaces with a wire between.

The command that the receiver prints is run as it is, on the default port.
"""
import random
import shlex
import signal
import subprocess

import cli
import far
import node_ns_test
from node_ns_test import IP, V4, V6


class Hosts(node_ns_test.Case):
    def listen(self, *options):
        return far.Listener(self, *options, net=(), prefix=self.enter(1))

    def command(self, listener, src, *options):
        """What to type on the other host."""
        words = [src if word == 'FILE' else word
                 for word in shlex.split(listener.command)]
        return [*self.enter(0), cli.COLIBRI, 'copy', *options, *words[2:]]

    def copy(self, listener, *options):
        content = random.Random(1).randbytes(5 << 20)
        src = self.make('src', content)
        result = node_ns_test.run(*self.command(listener, src, *options))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.read(self.path('in', 'src')), content)
        self.assertTrue(listener.event()['verified'])

    def test_printed_command_without_any_option(self):
        listener = self.listen()
        self.assertEqual(shlex.split(listener.command),
                         ['colibri', 'copy', 'FILE',
                          f'{V4[1]}@tcp:12345:40:4095:'])
        self.copy(listener)
        self.assertEqual(listener.stop(signal.SIGINT), 0)

    def test_over_ipv6(self):
        self.need_ipv6()
        listener = self.listen('--net', f'tcp({V6[1]})')
        self.assertIn("--net 'tcp(ADDRESS)'", listener.command)
        listener.command = listener.command.replace('ADDRESS', V6[0])
        self.copy(listener)

    def test_wire_that_is_cut(self):
        listener = self.listen('--timeout', '1')
        src = self.make_sparse('big', 4 << 30)
        child = subprocess.Popen(
            self.command(listener, src, '--timeout', '1', '--block', '16K'),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        # Some of it has gone over the wire.
        while child.poll() is None and self.bytes_sent() < 1 << 20:
            pass
        self.within(1, IP, 'link', 'set', 'veth0', 'down')
        _, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 1, text)
        self.assertEqual(listener.event()['event'], 'failed')
        self.assertEqual(listener.files(), [])
        self.within(1, IP, 'link', 'set', 'veth0', 'up')
        self.wait_for_wire(1)
        self.copy(listener, '--timeout', '30')

    def bytes_sent(self):
        return int(self.within(0, 'sh', '-c', "awk '/veth0/ { print $10 }' "
                               '/proc/net/dev').stdout)


if __name__ == '__main__':
    if Hosts.WHY is not None:
        print(f'skipped: {Hosts.WHY}')
    cli.main()
