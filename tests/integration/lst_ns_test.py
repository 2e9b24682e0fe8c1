# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri lst` between network namespaces: IPv6, and default ports."""
import json

import cli
import node_ns_test
from node_ns_test import V4, V6

PLAN = """name: pair
groups: {{client: '{client}@tcp', server: '{server}@tcp'}}
duration: 1
tests:
- {{test: brw write size=1M check=full, from: client, to: server, concurrency: 4}}
- {{test: brw read size=10000 check=simple, from: client, to: server}}
- {{test: ping, from: server, to: client, concurrency: 2}}
"""


class Pair(node_ns_test.Case):
    def plan(self, addrs):
        """Runs a plan; the console's node is the client."""
        self.node(1, '--net', f'tcp({addrs[1]})', '--selftest')
        path = self.make('plan.yaml', PLAN.format(
            client=addrs[0], server=addrs[1]).encode())
        result = self.colibri_in(0, 'lst', 'run', path, '--json', '--net',
                                 f'tcp({addrs[0]})')
        self.assertEqual((result.returncode, result.stderr), (0, b''))
        tree = json.loads(result.stdout)
        self.assertEqual(tree['verdict'], 'PASS')
        for test in tree['tests']:
            self.assertEqual(test['errors'], 0)
            self.assertGreater(test['messages_s'], 0)

    def test_ipv4(self):
        self.plan(V4)

    def test_ipv6(self):
        """Lists of destinations with large NIDs, by our feature bit."""
        self.need_ipv6()
        self.plan(V6)

    def test_ipv4_console_does_not_name_ipv6(self):
        self.need_ipv6()
        path = self.make('plan.yaml', PLAN.format(
            client=V4[0], server=V6[1]).encode())
        result = self.colibri_in(0, 'lst', 'run', path, '--net',
                                 f'tcp({V4[0]})')
        self.assertEqual(result.returncode, 1)
        self.assertIn(b'cannot be told of IPv6 addresses', result.stderr)


if __name__ == '__main__':
    cli.main()
