# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rules of selection between network namespaces: hosts with wires of their own.

Seed 004: "Client sets A and B are all configured on the same LNet network [...]. The
servers are on a different LNet network [...] it is more efficient to route traffic
from Client set A over Router set A and Client set B over Router set B."
"""
import time

import cli
from node_ns_test import IP
from routers_ns_test import Hosts

# Hosts of the sets; the first one of each network has the bridge.
A, B, RA1, RA2, RB1, RB2, SERVER = range(7)
PINGS = 6


class Case(Hosts):
    def rule(self, node, *args):
        self.assert_done(node.run('udsp', 'add', *args))

    def taken(self, node, nid):
        """The path that the next message takes: interface and next hop."""
        path, = (path for path in
                 node.json('explain', nid)['explain'][0]['candidates']
                 if path['result'] == 'taken')
        return path['interface'], path['next hop']

    def sent(self, node):
        """Messages that each interface of the node has sent."""
        return {ni['nid']: ni['statistics']['send_count']
                for net in node.json('net', 'show', '-v')['net']
                for ni in net['local NI(s)']}

    def sources(self, node, nid):
        """Pings a NID. @return the interfaces by which all pings went."""
        before = self.sent(node)
        for _ in range(PINGS):
            self.ping(node, nid)
        return {ni for ni, sent in self.sent(node).items()
                if sent - before[ni] >= PINGS}


class Sets(Case):
    def setUp(self):
        super().setUp()
        self.make_hosts(7)
        self.near = self.bridge(*range(6))
        self.far = self.bridge(SERVER, RA1, RA2, RB1, RB2)
        self.gateways = {i: self.nid(self.near, i + 1)
                         for i in (RA1, RA2, RB1, RB2)}
        self.routers = {i: self.router(i) for i in self.gateways}
        back = ' '.join(self.nid(self.far, i) for i in range(2, 6))
        self.server = self.start(SERVER, [self.nid(self.far, 1)], '--routes',
                                 f'tcp {back}', *self.checks())
        there = ' '.join(self.gateways.values())
        self.clients = [self.start(i, [self.nid(self.near, i + 1)], '--routes',
                                   f'tcp{self.far} {there}', *self.checks())
                        for i in (A, B)]
        for node in (self.server, *self.clients):
            for i in range(4):
                self.wait_state(node, 'up', i)

    def checks(self):
        return ('--router-check-interval=500ms', '--router-ping-timeout=1',
                '--lnd-timeout=1')

    def router(self, i):
        return self.start(i, [self.nid(self.near, i + 1),
                              self.nid(self.far, i)], '--routing')

    def by(self, client):
        """@return the gateways by which messages of a client go."""
        node = self.clients[client]
        before = self.routed(node)
        for _ in range(PINGS):
            self.ping(node, self.nid(self.far, 1))
        after = self.routed(node)
        return {i for i, nid in self.gateways.items()
                if after[nid] > before[nid]}

    def routed(self, node):
        return {route['gateway']: route['colibri']['sent_count']
                for route in node.json('route', 'show', '-v4')['route']}

    def wait_by(self, client, want):
        deadline = time.monotonic() + cli.PATIENCE
        while (found := self.by(client)) != want:
            self.assertLess(time.monotonic(), deadline, found)

    def wait_route(self, node, i, want):
        self.wait_state(node, want, list(self.gateways).index(i))

    def test_each_set_prefers_its_routers(self):
        a, b = self.clients
        self.assertEqual(self.by(A), {RA1, RA2, RB1, RB2})
        servers = f'10.98.{self.far}.*@tcp{self.far}'
        sets = {A: f'10.98.{self.near}.[3-4]@tcp',
                B: f'10.98.{self.near}.[5-6]@tcp'}
        for client, node in ((A, a), (B, b)):
            self.rule(node, '--dst', servers, '--rte', sets[client])
        self.assertEqual(self.by(A), {RA1, RA2})
        self.assertEqual(self.by(B), {RB1, RB2})
        # One router of the set is enough; without any, the others do it.
        self.routers[RA1].child.kill()
        self.wait_route(a, RA1, 'down')
        self.assertEqual(self.by(A), {RA2})
        self.routers[RA2].child.kill()
        self.wait_route(a, RA2, 'down')
        self.assertEqual(self.by(A), {RB1, RB2})
        self.assertEqual(self.by(B), {RB1, RB2})
        self.assertIn(self.taken(a, self.nid(self.far, 1))[1],
                      (self.gateways[RB1], self.gateways[RB2]))
        # The set returns.
        for i in (RA1, RA2):
            self.routers[i].child.wait()
            self.routers[i] = self.router(i)
            self.wait_route(a, i, 'up')
            self.wait_by(A, {RA1, RA2} if i == RA2 else {RA1})
        self.assertEqual(self.by(B), {RB1, RB2})
        # The rule with the lower index has no advantage: preferences add up.
        self.rule(a, '--dst', servers, '--rte', self.gateways[RB1], '--idx', '0')
        self.assertEqual(self.by(A), {RA1, RA2, RB1})
        self.assert_done(a.run('udsp', 'del', '--all'))
        self.assertEqual(self.by(A), {RA1, RA2, RB1, RB2})


class Rails(Case):
    """Two hosts with several wires between them."""

    def rails(self, *nets):
        """Two nodes, and a wire for each network. @return their NIDs."""
        self.make_hosts(2)
        wires = [self.wire(0, 1) for _ in nets]
        nids = [[self.nid(n, i).split('@')[0] + f'@{net}'
                 for n, net in zip(wires, nets)] for i in (1, 2)]
        self.nodes = [self.start(i, nids[i][:1]) for i in (0, 1)]
        for node, (_, nid) in zip(self.nodes, nids):
            where, net = nid.split('@')
            self.assert_done(node.run('net', 'add', '--net', net, '--if',
                                      where))
        for nid in nids[1]:
            self.ping(self.nodes[0], nid)
        self.assert_done(self.nodes[0].run('discover', nids[1][0]))
        return nids

    def test_source_is_preferred(self):
        ours, theirs = self.rails('tcp', 'tcp')
        node = self.nodes[0]
        for source in ours:
            self.rule(node, '--src', source, '--dst', '*@tcp')
            self.assertEqual(self.taken(node, theirs[0])[0], source)
            self.assertEqual(self.sources(node, theirs[0]), {source})
            self.assert_done(node.run('udsp', 'del', '--all'))
        # A preferred interface that is down is not used.
        self.rule(node, '--src', ours[1], '--dst', '*@tcp')
        self.within(0, IP, 'link', 'set', 'w1', 'down')
        self.wait_link(node, ours[1], 'down')
        self.assertEqual(self.sources(node, theirs[0]), {ours[0]})
        self.within(0, IP, 'link', 'set', 'w1', 'up')
        self.wait_link(node, ours[1], 'up')
        self.assertEqual(self.taken(node, theirs[1])[0], ours[1])

    def wait_link(self, node, nid, want):
        deadline = time.monotonic() + cli.PATIENCE
        while {ni['nid']: ni['status'] for net in
               node.json('net', 'show')['net']
               for ni in net['local NI(s)']}[nid] != want:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def test_network_has_priority(self):
        ours, theirs = self.rails('tcp', 'tcp1')
        node = self.nodes[0]
        # For the peer, which is known by its NIDs of both networks.
        for i, net in enumerate(('tcp', 'tcp1')):
            self.rule(node, '--src', net)
            self.assertEqual(self.taken(node, theirs[1 - i]),
                             (ours[i], theirs[i]))
            self.assert_done(node.run('udsp', 'del', '--all'))
            self.rule(node, '--dst', net)
            self.assertEqual(self.taken(node, theirs[1 - i]),
                             (ours[i], theirs[i]))
            self.assert_done(node.run('udsp', 'del', '--all'))

    def test_lower_index_decides(self):
        ours, theirs = self.rails('tcp', 'tcp')
        node = self.nodes[0]
        self.rule(node, '--src', ours[0], '--priority', '5')
        self.rule(node, '--src', '*@tcp', '--priority', '1')
        self.assertEqual(self.taken(node, theirs[0])[0], ours[1])
        # In front, the same rules say the contrary.
        self.assert_done(node.run('udsp', 'del', '--idx', '0'))
        self.rule(node, '--src', ours[0], '--priority', '0', '--idx', '0')
        self.assertEqual(self.taken(node, theirs[0])[0], ours[0])
        # Behind the rule about all, a rule about one says nothing.
        self.assert_done(node.run('udsp', 'del', '--all'))
        self.rule(node, '--dst', '*@tcp', '--priority', '1')
        self.rule(node, '--dst', theirs[0], '--priority', '0')
        found = node.json('peer', 'show', '-v4', '--nid', theirs[0])['peer'][0]
        self.assertEqual([ni['udsp info']['nid priority']
                          for ni in found['peer ni']], [1, 1])
        self.assert_done(node.run('udsp', 'del', '--idx', '1'))
        self.rule(node, '--dst', theirs[0], '--priority', '0', '--idx', '0')
        self.assertEqual(self.taken(node, theirs[1])[1], theirs[0])


if __name__ == '__main__':
    if Hosts.WHY is not None:
        print(f'skipped: {Hosts.WHY}')
    cli.main()
