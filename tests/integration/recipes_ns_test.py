# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The recipes of docs/lnet.md, between network namespaces, as they are written."""
import os
import re
import subprocess
import time

import cli
import node_ns_test
from node_ns_test import IP

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..',
                        'docs', 'lnet.md')
# Host numbers on all networks, and the networks of each host of a recipe.
NUMBERS = {'client': 1, 'r1': 2, 'r2': 3, 'r3': 4, 'server': 9}
ROUTERS = {'client': [0], 'r1': [0, 1], 'server': [1]}
PLACES = {
    'two routers': {**ROUTERS, 'r2': [0, 1]},
    'three hops': {'client': [0], 'r1': [0, 1], 'r2': [1, 2], 'r3': [2, 3],
                   'server': [3]},
    'rails': {'client': [0, 1], 'server': [0, 1]},
    'firewall': ROUTERS,
    'asymmetric': {**ROUTERS, 'r2': [0, 1]},
    'IPv6': ROUTERS,
}


def recipes():
    """Lists of (host, command), by name."""
    with open(DOCUMENT, encoding='utf-8') as file:
        found = re.findall(r'^```console (.+)\n((?:.+\n)+?)```$', file.read(),
                           re.M)
    return {name: re.findall(r'^(\w+)\$ (.*)$', text, re.M)
            for name, text in found}


class Recipes(node_ns_test.Case):
    def setUp(self):
        cli.Case.setUp(self)
        if self.WHY is not None:
            self.skipTest(self.WHY)
        self.hosts = []
        self.names = []
        # `colibri` is a command there.
        os.symlink(cli.COLIBRI, self.path('colibri'))

    def wires(self, places):
        """A network is a bridge in a namespace that is a switch."""
        self.names = ['switch', *places]
        self.hosts = [self.host() for _ in self.names]
        for n in sorted({n for nets in places.values() for n in nets}):
            self.within(0, IP, 'link', 'add', f'br{n}', 'type', 'bridge')
            self.within(0, IP, 'link', 'set', f'br{n}', 'up')
        for host, (name, nets) in enumerate(places.items(), 1):
            self.within(host, IP, 'link', 'set', 'lo', 'up')
            for i, n in enumerate(nets):
                port = f'{name}-{n}'
                self.within(0, IP, 'link', 'add', port, 'type', 'veth', 'peer',
                            'name', f'eth{i}', 'netns',
                            str(self.hosts[host].pid))
                self.within(0, IP, 'link', 'set', port, 'master', f'br{n}',
                            'up')
                self.within(host, IP, 'addr', 'add',
                            f'10.98.{n}.{NUMBERS[name]}/24', 'dev', f'eth{i}')
                self.within(host, IP, 'addr', 'add',
                            f'fd00:98:{n}::{NUMBERS[name]}/64', 'dev',
                            f'eth{i}', 'nodad')
                self.within(host, IP, 'link', 'set', f'eth{i}', 'up')

    def environment(self, name):
        os.makedirs(self.path(name), exist_ok=True)
        return {**os.environ, 'PATH': self.dir + ':' + os.environ['PATH'],
                'XDG_RUNTIME_DIR': self.path(name),
                'RUNTIME_DIRECTORY': self.path(name)}

    def start(self, name, command):
        """Starts a node, and waits until it can be asked."""
        child = subprocess.Popen(
            [*self.enter(self.names.index(name)), 'sh', '-c',
             'exec ' + command],
            env=self.environment(name), stdout=subprocess.DEVNULL)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        deadline = time.monotonic() + cli.PATIENCE
        while self.shell(name, 'colibri net show').returncode != 0:
            self.assertIsNone(child.poll(), command)
            self.assertLess(time.monotonic(), deadline, command)
            time.sleep(0.02)

    def shell(self, name, command):
        return subprocess.run(
            [*self.enter(self.names.index(name)), 'sh', '-c', command],
            env=self.environment(name), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, timeout=cli.PATIENCE, check=False)

    def wait_routes(self, name, text, want):
        """Waits until the text is, or is not, in what a node says of its routes."""
        deadline = time.monotonic() + cli.PATIENCE
        while (text in (told := self.shell(name, 'colibri route show -v')
                        .stdout.decode())) != want:
            self.assertLess(time.monotonic(), deadline, told)
            time.sleep(0.02)
        return told

    def follow(self, recipe):
        """Returns what the commands that are no nodes printed, in order."""
        self.wires(PLACES[recipe])
        told = []
        for name, command in recipes()[recipe]:
            if command.endswith('&'):
                self.start(name, command[:-1])
                continue
            if not told:
                # Routes are up once their gateways have been checked.
                self.wait_routes('client', 'down', False)
                self.wait_routes('server', 'down', False)
            done = self.shell(name, command)
            self.assertEqual((done.returncode, done.stderr), (0, b''), command)
            told.append(done.stdout.decode())
        return told

    def test_two_routers(self):
        _, before, paths, *_ = self.follow('two routers')
        self.assertEqual(before.count('state: up'), 2)
        self.assertIn('the priority of the route is worse', paths)
        after = self.wait_routes('client', 'why down', True)
        self.assertIn('why down: routing is off on the gateway', after)
        self.assertEqual(after.count('state: up'), 1)

    def test_three_hops(self):
        _, routes = self.follow('three hops')
        self.assertIn('type: multi-hop', routes)

    def test_rails(self):
        *_, peer, paths = self.follow('rails')
        for nid in ('10.98.0.9@tcp', '10.98.1.9@tcp1'):
            self.assertIn(nid, peer)
            self.assertIn(nid, paths)

    def test_firewall(self):
        self.assertEqual(len(self.follow('firewall')), 2)

    def test_asymmetric(self):
        *_, told, _ = self.follow('asymmetric')
        self.assertIn('drop_asym_route: 1', told)

    def test_ipv6(self):
        self.assertEqual(len(self.follow('IPv6')), 2)

    def test_no_recipe_is_left_out(self):
        self.assertEqual(sorted(recipes()), sorted(PLACES))


if __name__ == '__main__':
    if Recipes.WHY is not None:
        print(f'skipped: {Recipes.WHY}')
    cli.main()
