# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri route`, `routing`, and nodes that are routers, on the loopback.

Node i of network n has address n.i of lnet.py's.
"""
import contextlib
import json
import signal
import socket
import subprocess
import time

import cli
import lnet

try:
    import yaml
except ImportError:
    yaml = None


class Case(cli.Case):
    def setUp(self):
        super().setUp()
        self.port = lnet.free_port()

    def options(self, *nets):
        """Networks as (number, address)."""
        text = ','.join(f'tcp{n or ""}({lnet.address(i)})' for n, i in nets)
        return ('--net', text, '--port', str(self.port), '--accept', 'all',
                '--source-ports', 'any')

    def node(self, nets, *more):
        return lnet.Node(self, *self.options(*nets), *more)

    def nid(self, net, i):
        return f'{lnet.address(i)}@tcp{net or ""}'

    def line(self, *more):
        """A client, a router and a server."""
        router = self.node([(0, 2), (1, 2)], '--routing', *more)
        client = self.node([(0, 1)], '--routes', f'tcp1 {self.nid(0, 2)}')
        server = self.node([(1, 3)], '--routes', f'tcp {self.nid(1, 2)}')
        return client, router, server

    def routes(self, node, *more):
        return node.json('route', 'show', '-v4', *more)['route']

    def wait_state(self, node, want, i=0):
        deadline = time.monotonic() + cli.PATIENCE
        while (found := self.routes(node)[i])['state'] != want:
            self.assertLess(time.monotonic(), deadline, found)
            time.sleep(0.05)
        return found


class Routes(Case):
    def test_ping_and_discovery_cross_a_router(self):
        client, router, server = self.line()
        self.wait_state(server, 'up')
        for verb in ('ping', 'discover'):
            done = client.run(verb, self.nid(1, 3))
            self.assert_done(done)
            self.assertEqual(done.stdout, lnet.ping_text([self.nid(1, 3)],
                                                         verb=verb))
        stats = router.json('stats', 'show')['statistics']
        self.assertGreaterEqual(stats['route_count'], 4)
        more = router.json('routing', 'show', '-v4')
        self.assertEqual(more['routing'][-1], {'enable': 1})
        self.assertEqual(more['colibri']['state'], 'on')
        self.assertEqual(more['colibri']['forwarded'], stats['route_count'])
        # A node opened by the command takes routes, too.
        done = cli.run('ping', *self.options((0, 5)), '--routes',
                       f'tcp1 {self.nid(0, 2)}', self.nid(1, 3))
        self.assert_done(done)

    def test_routes_are_added_shown_and_removed(self):
        client, router, _ = self.line()
        gateway = self.nid(0, 2)
        args = ('--net', 'tcp7', '--gateway', gateway)
        self.assert_done(client.run('route', 'add', *args, '--hop-count', '3',
                                    '--priority', '5'))
        self.assertEqual(client.run('route', 'show', *args).stdout.decode(),
                         f'route:\n-     net: tcp7\n      gateway: {gateway}\n')
        for verbose in ('-v0', '-v1', '-v4'):
            text = client.run('route', 'show', verbose)
            tree = client.json('route', 'show', verbose)
            self.assert_done(text)
            if yaml is not None and verbose != '-v4':
                self.assertEqual(yaml.safe_load(text.stdout), tree)
        found = self.routes(client, '--net', 'tcp7')[0]
        self.assertEqual((found['hop'], found['priority'], found['type']),
                         (3, 5, 'multi-hop'))
        self.assertEqual(self.routes(client)[0]['hop'], -1)
        for option, nets in (('--hop=3', ['tcp7']), ('--hop=-1', ['tcp1']),
                             ('--priority=5', ['tcp7']),
                             ('--priority=0', ['tcp1'])):
            self.assertEqual([one['net'] for one in
                              self.routes(client, option)], nets)
        for option in ('--hop-count=2', '--priority=6'):
            self.assert_refused(client.run('route', 'show', option), 1,
                                'errno: -2', 'no such route')
        self.assertEqual(json.loads(client.run('route', 'del', *args,
                                               '-j').stdout), {'removed': 1})
        for words in (('del', *args), ('show', *args)):
            self.assert_refused(client.run('route', *words), 1, 'errno: -2',
                                'no such route')
        self.assertEqual(router.run('route', 'show').stdout, b'')
        self.assertEqual(router.json('route', 'show'), {'route': []})

    def test_start_waits_for_the_checks_of_gateways(self):
        # A gateway that accepts connections, and says nothing.
        silent = socket.create_server((lnet.address(2), self.port))
        self.addCleanup(silent.close)
        routes = ('--check-routers-before-use', '--routes',
                  f'tcp1 {self.nid(0, 2)}')
        begin = time.monotonic()
        client = self.node([(0, 1)], *routes, '--router-ping-timeout', '2')
        self.assertGreater(time.monotonic() - begin, 1.5)
        self.assertEqual(self.routes(client)[0]['state'], 'down')
        self.assertEqual(client.stop()[0], 0)
        silent.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                silent.accept()[0].close()
        # A signal ends the wait.
        waiting = subprocess.Popen(
            [cli.COLIBRI, 'node', '--ctl', self.path('waits.sock'),
             *self.options((0, 1)), *routes],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(waiting.kill)
        silent.settimeout(cli.PATIENCE)
        conn = silent.accept()[0]
        self.addCleanup(conn.close)
        waiting.send_signal(signal.SIGTERM)
        self.assertIn(b'interrupted while gateways were checked',
                      waiting.communicate(timeout=cli.PATIENCE)[1])
        self.assertEqual(waiting.returncode, 1)
        silent.close()
        self.node([(0, 2), (1, 2)], '--routing')
        client = self.node([(0, 1)], *routes)
        self.assertEqual(self.routes(client)[0]['state'], 'up')

    def test_refusals_are_those_of_lnetctl(self):
        client, *_ = self.line()
        for net, gateway, number in (
                ('tcp3', '1.2.3.4@tcp7', 113), ('tcp3', self.nid(0, 1), 113),
                ('tcp1', self.nid(0, 2), 17), ('tcp', self.nid(0, 2), 22),
                ('lo', self.nid(0, 2), 22)):
            done = client.run('route', 'add', '--net', net, '--gateway', gateway)
            self.assert_refused(done, 1, f'errno: -{number}', 'descr: ')
            self.assertTrue(done.stderr.startswith(b'add:\n-     route:\n'))
        self.assertEqual(len(self.routes(client)), 1)

    def test_route_that_is_down_says_why(self):
        client, router, _ = self.line()
        self.wait_state(client, 'up')
        self.assertNotIn('why down', self.routes(client)[0])
        self.assertEqual(router.stop()[0], 0)
        found = self.wait_state(client, 'down')
        self.assertRegex(found['why down'],
                         r'lost .*for \d+ s; the gateway last answered a check \d+ s ago')
        # Each NID has the reason, as it is now, at any pace of the log.
        nids = (self.nid(1, 3), self.nid(1, 4))
        done = client.run('ping', ','.join(nids))
        self.assertEqual(done.returncode, 1)
        for nid in nids:
            self.assertRegex(done.stderr.decode(),
                             rf'the node says: {nid} is not reachable: the '
                             rf'route by {self.nid(0, 2)} is down for \d+ s: ')
        self.assert_done(client.run('route', 'add', '--net', 'tcp9',
                                    '--gateway', self.nid(0, 7)))
        found = self.wait_state(client, 'down', 1)
        self.assertIn('the gateway has never answered a check', found['why down'])

    def test_explain_lists_paths_and_reasons(self):
        client, router, server = self.line()
        other = self.nid(0, 9)
        self.assertEqual(client.run('route', 'add', '--net', 'tcp1', '--gateway', other,
                                    '--priority', '3').returncode, 0)
        self.wait_state(client, 'up')
        self.wait_state(client, 'down', 1)
        told = client.json('explain', self.nid(1, 3), '--size', '3000000')['explain'][0]
        self.assertEqual([(path['next hop'], path['result']) for path in told['candidates']],
                         [(self.nid(0, 2), 'taken'), (other, 'not usable')])
        self.assertEqual((told['messages'], told['router buffers']), (3, 'large'))
        self.assertEqual(told['candidates'][1]['route']['priority'], 3)
        self.assertEqual(told['candidates'][0]['interface'], self.nid(0, 1))
        done = client.run('explain', self.nid(0, 2), '--from', self.nid(0, 1))
        self.assertEqual(done.returncode, 0)
        self.assertIn('the sender names the interface', done.stdout.decode())
        done = client.run('explain', self.nid(7, 3))
        self.assertEqual(done.returncode, 1)
        self.assertIn('there is no route to it', done.stderr.decode())
        done = client.run('explain', self.nid(0, 2), '--from', self.nid(0, 77))
        self.assertEqual(done.returncode, 1)
        self.assertIn('--from is not a NID of this node', done.stderr.decode())
        for words, want in ((('10.0.0',), "NID '10.0.0' is not accepted"),
                            ((), 'a NID is missing'),
                            ((self.nid(0, 2), '--size', 'x'), "--size 'x' is not accepted"),
                            ((self.nid(0, 2), self.nid(0, 3)), 'no further operand')):
            done = client.run('explain', *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(want, done.stderr.decode())

    def test_router_comes_back(self):
        client, router, server = self.line()
        self.wait_state(client, 'up')
        router.child.kill()
        self.wait_state(client, 'down')
        self.node([(0, 2), (1, 2)], '--routing')
        # The checker asks a gateway that has failed every 10 s.
        self.wait_state(client, 'up')
        self.wait_state(server, 'up')
        self.assert_done(client.run('ping', '--timeout=20', self.nid(1, 3)))

    def test_second_router_takes_over(self):
        one = self.node([(0, 2), (1, 2)], '--routing')
        self.node([(0, 3), (1, 3)], '--routing')
        text = f'{self.nid(0, 2)}:0 {self.nid(0, 3)}:1'
        back = f'{self.nid(1, 2)}:0 {self.nid(1, 3)}:1'
        client = self.node([(0, 1)], '--routes', f'tcp1 {text}')
        self.node([(1, 4)], '--routes', f'tcp {back}')
        for i in range(2):
            self.wait_state(client, 'up', i)
        self.assert_done(client.run('ping', self.nid(1, 4)))
        self.assertEqual([r['sent_count'] > 0 for r in
                          (r['colibri'] for r in self.routes(client))],
                         [True, False])
        self.assertEqual(one.stop()[0], 0)
        self.assert_done(client.run('ping', '--timeout=20', self.nid(1, 4)))
        self.assertGreater(self.routes(client)[1]['colibri']['sent_count'], 0)

    def test_router_that_is_stopped_loses_nothing(self):
        """Peers are told, and what is on its way leaves."""
        one = self.node([(0, 2), (1, 2)], '--routing')
        self.node([(0, 3), (1, 3)], '--routing')
        client = self.node([(0, 1)], '--routes', 'tcp1 '
                           f'{self.nid(0, 2)}:0 {self.nid(0, 3)}:1')
        self.node([(1, 4)], '--routes',
                  f'tcp {self.nid(1, 2)}:0 {self.nid(1, 3)}:1')
        for i in range(2):
            self.wait_state(client, 'up', i)
        one.child.send_signal(signal.SIGTERM)
        while one.child.poll() is None:
            self.assert_done(client.run('ping', '--timeout=20',
                                        self.nid(1, 4)))
        while one.read():
            pass
        self.assertEqual(one.child.returncode, 0)
        self.assertEqual([e['event'] for e in one.events[-3:]],
                         ['stopping', 'draining', 'stopped'])
        self.assertGreater(one.events[-1]['seconds'], 2)
        self.assert_done(client.run('ping', '--timeout=20', self.nid(1, 4)))

    def test_router_that_stops_takes_no_changes(self):
        """Routing that is switched on again would keep the node for ever."""
        router = self.node([(0, 2), (1, 2)], '--routing')
        router.child.send_signal(signal.SIGTERM)
        router.wait_for('draining')
        self.assert_refused(router.run('set', 'routing', '1'), 1, 'stopping')
        self.assert_done(router.run('routing', 'show'))
        while router.read():
            pass
        self.assertEqual(router.child.wait(cli.PATIENCE), 0)

    def test_three_hops(self):
        for i in range(1, 4):
            routes = [f'tcp{n or ""} {self.nid(i - 1, 9 + i - 1)}'
                      for n in range(0, i - 1)]
            routes += [f'tcp{n} {self.nid(i, 10 + i)}'
                       for n in range(i + 1, 4)]
            self.node([(i - 1, 9 + i), (i, 9 + i)], '--routing',
                      *(['--routes', '; '.join(routes)] if routes else []))
        client = self.node([(0, 1)], '--routes', f'tcp3 3 {self.nid(0, 10)}')
        self.node([(3, 4)], '--routes', f'tcp 3 {self.nid(3, 12)}')
        self.wait_state(client, 'up')
        self.assert_done(client.run('ping', '--timeout=20', self.nid(3, 4)))
        self.assertEqual(self.routes(client)[0]['type'], 'multi-hop')


class Routers(Case):
    def test_buffers_are_as_asked_for(self):
        node = self.node([(0, 1)], '--routing', '--tiny-buffers=7',
                         '--small-buffers=9', '--large-buffers=3')
        tree = node.json('routing', 'show')
        self.assertEqual(tree['buffers'], {'tiny': 7, 'small': 9, 'large': 3})
        pools = tree['routing'][0]['cpt[0]']
        self.assertEqual(pools['small'], {'npages': 1, 'nbuffers': 9,
                                          'credits': 9, 'mincredits': 9})
        self.assertEqual([pools[p]['npages'] for p in ('tiny', 'large')],
                         [0, 256])

    def test_nothing_is_allocated_while_routing_is_off(self):
        tree = self.node([(0, 1)]).json('routing', 'show', '-v4')
        self.assertEqual(tree['routing'], [{'enable': 0}])
        self.assertEqual(tree['colibri']['buffer_bytes'], 0)


    def test_routing_and_buffers_change_while_the_node_runs(self):
        client, router, _ = self.line()
        self.wait_state(client, 'up')
        self.assert_done(router.run('set', 'routing', '0'))
        # Peers are told before it stops.
        found = self.wait_state(client, 'down')
        self.assertIn('routing is off on the gateway', found['why down'])
        deadline = time.monotonic() + cli.PATIENCE
        while True:
            tree = router.json('routing', 'show', '-v4')
            if tree['colibri']['state'] == 'off':
                break
            self.assertEqual(tree['colibri']['state'], 'stopping')
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        self.assertEqual(tree['colibri']['buffer_bytes'], 0)
        for name, nr in (('tiny', 3), ('small', 4), ('large', 5)):
            self.assert_done(router.run('set', f'{name}_buffers', str(nr)))
        self.assertEqual(router.json('routing', 'show')['buffers'],
                         {'tiny': 3, 'small': 4, 'large': 5})
        self.assert_done(router.run('set', 'routing', '1'))
        self.wait_state(client, 'up')
        self.assert_done(client.run('ping', self.nid(1, 3)))


class Sets(Case):
    @staticmethod
    def router_switch(node, name):
        return node.json('routing', 'show', '-v4')['colibri'][name]

    def test_parameters_change_while_the_node_runs(self):
        node = self.node([(0, 1)])
        for name, value in (('discovery', 0), ('drop_asym_route', 1),
                            ('transaction_timeout', 20), ('retry_count', 3),
                            ('health_sensitivity', 7), ('recovery_limit', 9),
                            ('max_recovery_ping_interval', 60)):
            self.assert_done(node.run('set', name, str(value)))
            self.assertEqual(node.json('global', 'show')['global'][name], value)
        self.assertEqual(node.json('global', 'show')['global']['lnd_timeout'], 4)
        # Not in LNet's list, so it is shown with the counters of this node.
        for name in ('cut_through', 'splice'):
            self.assertEqual(self.router_switch(node, name), 0)
            self.assert_done(node.run('set', name, '1'))
            self.assertEqual(self.router_switch(node, name), 1)
        # LNet ignores it, too.
        self.assert_done(node.run('set', 'recovery_interval', '5'))
        for name, value, *words in (
                ('retry_count', '20', '-22', 'below transaction_timeout'),
                ('health_sensitivity', '1001', '-22', '0 to 1000'),
                ('routing', '2', '-22', 'routing 2', '0 or 1'),
                ('cut_through', '2', '-22', 'cut_through is 2', '0 to 1'),
                ('splice', '2', '-22', 'splice is 2', '0 to 1'),
                ('tiny_buffers', '0', '-22', 'tiny_buffers 0', '1 to 1048576'),
                ('large_buffers', '1048577', '-22', 'large_buffers 1048577'),
                ('numa_range', '1', '-95', 'cannot be set'),
                ('nosuch', '1', '-22', 'nosuch is no parameter')):
            self.assert_refused(node.run('set', name, value), 1, 'set:\n',
                                'errno: ', *words)
        # A client that does not check the value.
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(node.ctl)
            sock.sendall(b'net.set value=1001\n')
            with sock.makefile() as answer:
                self.assertIn('health 1001 is not accepted; accepted: 0 to '
                              '1000', answer.read())
        for args, words in (((), ('a name is missing', 'retry_count')),
                            (('routing',), ('the value of routing', 'number')),
                            (('routing', 'on'), ("routing 'on'", 'a number')),
                            (('routing', '1', '2'), ("'2'",)),
                            (('a b', '1'), ("'a b'", 'discovery'))):
            self.assert_refused(cli.run('set', *args), 2, *words)

    def test_health_is_set_and_comes_back(self):
        node = self.node([(0, 1), (1, 1)])
        two = self.node([(0, 2), (1, 2)])
        self.assert_done(node.run('discover', self.nid(0, 2)))

        def healths():
            tree = node.json('net', 'show', '-v2')['net'][1:]
            return [n['local NI(s)'][0]['health stats']['health value']
                    for n in tree]
        self.assert_done(node.run('net', 'set', '--nid', self.nid(1, 1),
                                  '--health', '0'))
        self.assertEqual(healths()[0], 1000)
        self.assertLess(healths()[1], 1000)
        self.assertEqual(node.json('debug', 'recovery', '--local'),
                         {'Local NI recovery': {'nid-0': self.nid(1, 1)}})
        self.assert_done(node.run('net', 'set', '--net=tcp1', '--health=1000'))
        self.assertEqual(healths(), [1000, 1000])
        self.assertEqual(node.run('debug', 'recovery', '--local').stdout, b'')
        self.assert_done(node.run('peer', 'set', '--all', '--health=900'))
        deadline = time.monotonic() + cli.PATIENCE
        while node.json('debug', 'recovery', '--peer')['Peer NI recovery'] \
                .get('nid-0') == self.nid(0, 2):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        self.assert_refused(node.run('peer', 'set', '--nid=9.9.9.9@tcp',
                                     '--health=1'), 1, '-2', 'no such NID')
        self.assert_refused(node.run('net', 'set', '--net=tcp9',
                                     '--health=1'), 1, '-2', 'no such interf')
        self.assertEqual(two.stop()[0], 0)

    def test_peers_are_added_and_removed(self):
        node = self.node([(0, 1)])
        nids = ['9.9.9.1@tcp', '9.9.9.2@tcp', '9.9.9.3@tcp']
        self.assert_done(node.run('peer', 'add', '--prim_nid', nids[0],
                                  '--nid', ','.join(nids[1:])))
        peer, = node.json('peer', 'show', '-v3')['peer']
        self.assertEqual([ni['nid'] for ni in peer['peer ni']], nids)
        self.assertEqual((peer['primary nid'], peer['Multi-Rail'],
                          peer['peer state']), (nids[0], True, 9))
        self.assert_done(node.run('peer', 'del', '--prim_nid', nids[0],
                                  '--nid', nids[1]))
        self.assertEqual(len(node.json('peer', 'show')['peer'][0]['peer ni']),
                         2)
        self.assert_refused(node.run('peer', 'add', '--prim_nid', '9.9.9.9@tcp',
                                     '--nid', nids[2]), 1, '-17', 'another')
        self.assert_done(node.run('peer', 'del', '--prim_nid', nids[0]))
        self.assert_refused(node.run('peer', 'del', '--prim_nid', nids[0]), 1,
                            'del:\n-     peer:\n', 'errno: -2', 'no such peer')
        self.assert_done(node.run('peer', 'add', '--prim_nid', nids[0],
                                  '--non_mr'))
        self.assertFalse(node.json('peer', 'show')['peer'][0]['Multi-Rail'])

    def test_options_that_do_not_belong_are_named(self):
        nid = '9.9.9.9@tcp'
        for args, words in (
                (('peer', 'add'), ('--prim_nid is missing',)),
                (('peer', 'add', '--prim_nid=x'), ("--prim_nid 'x'",)),
                (('peer', 'add', '--prim_nid', nid, '--all'), ('--all', 'set')),
                (('peer', 'del', '--prim_nid', nid, '--nid=x'), ("--nid 'x'",)),
                (('peer', 'set', '--all'), ('--health is missing', '1000')),
                (('peer', 'set', '--health=1'), ('--nid', '--all')),
                (('peer', 'set', '--health=1001'), ("--health '1001'", '1000')),
                (('peer', 'set', '--all', '--nid', nid, '--health=1'),
                 ('--all', '--nid')),
                (('net', 'set', '--net=tcp', '--nid', nid, '--health=1'),
                 ('--nid', '--net')),
                (('net', 'show', '--nid', nid), ('--nid', 'show', 'set')),
                (('peer', 'list', '--nid', nid), ('--nid', 'list', 'show')),
                (('peer', 'set', '--prim_nid', nid), ('--prim_nid', 'add')),
                (('peer', 'show', '--health=1'), ('--health',)),
                (('peer', 'show', '--nid', f'{nid},{nid}'), ('only one NID',)),
                (('net', 'show', '--all'), ('--all',)),
                (('debug',), ('missing', 'recovery')),
                (('debug', 'x'), ("'x'", 'recovery')),
                (('debug', 'recovery'), ('--local', '--peer'))):
            with self.subTest(args=args):
                self.assert_refused(cli.run(*args), 2, *words)


class Refuses(Case):
    def test_what_is_wrong_is_told(self):
        add = ('add', '--net=tcp1', '--gateway=1.2.3.4@tcp')
        for args, words in (
                ((), ('a word is missing', 'add, del, show')),
                (('list',), ("'list'", 'add, del, show')),
                (('show', 'x'), ("'x'",)),
                (('add',), ('--net is missing',)),
                (('del', '--net=tcp1'), ('--gateway is missing',)),
                (('add', '--net=x'), ("--net 'x'", 'tcp1')),
                (('add', '--gateway=x'), ("--gateway 'x'", '10.0.0.1@tcp')),
                ((*add, '--hop=0'), ("--hop '0'", '1 to 255')),
                ((*add, '--hop=256'), ("--hop '256'", '1 to 255')),
                ((*add, '--priority=x'), ("--priority 'x'",)),
                (('del', *add[1:], '--hop=1'), ('--hop', 'add and show')),
                (('show', '-v5'), ('--verbose', '0 to 4'))):
            with self.subTest(args=args):
                self.assert_refused(cli.run('route', *args), 2, *words)
        self.assert_refused(cli.run('routing'), 2, 'missing', 'show')
        self.assert_refused(cli.run('routing', 'add'), 2, "'add'", 'show')
        for option, *words in (
                ('--router-memory=x', "--router-memory 'x'", '64K'),
                ('--router-memory=1M', '--router-memory'),
                ('--tiny-buffers=0', "--tiny-buffers '0'", '1 to'),
                ('--small-buffers=x', "--small-buffers 'x'"),
                ('--large-buffers=-1', "--large-buffers '-1'"),
                ('--router-check-interval=x', 'seconds'),
                ('--router-ping-timeout=0', '--router-ping-timeout')):
            with self.subTest(option=option):
                self.assert_refused(cli.run('node', option), 2, *words)



class Nets(Case):
    def nids(self, node):
        return [ni['nid'] for net in node.json('net', 'show')['net']
                for ni in net['local NI(s)']]

    def test_networks_come_and_go(self):
        """A node becomes a router between networks that it was not started
        with; a removed interface takes the route down, and returns."""
        router = self.node([(0, 2)], '--routing')
        client = self.node([(0, 1)], '--routes', f'tcp1 1 {self.nid(0, 2)}')
        server = self.node([(0, 3)])
        self.assert_done(router.run('net', 'add', '--net', 'tcp1', '--if',
                                    lnet.address(2), '--peer-credits', '16'))
        self.assert_done(server.run('net', 'add', '--nid', self.nid(1, 3)))
        self.assert_done(server.run('net', 'del', '--net', 'tcp'))
        self.assert_done(server.run('route', 'add', '--net', 'tcp',
                                    '--gateway', self.nid(1, 2)))
        self.assertEqual(self.nids(router), ['0@lo', self.nid(0, 2),
                                             self.nid(1, 2)])
        self.assertEqual(self.nids(server), ['0@lo', self.nid(1, 3)])
        net = router.json('net', 'show', '-v', '--net', 'tcp1')['net'][0]
        self.assertEqual(
            net['local NI(s)'][0]['tunables']['peer_credits'], 16)
        self.wait_state(client, 'up')
        self.wait_state(server, 'up')
        self.assert_done(client.run('ping', self.nid(1, 3)))
        self.assert_done(router.run('net', 'del', '--net', 'tcp1', '--if',
                                    lnet.address(2)))
        self.wait_state(client, 'down')
        self.assert_done(router.run('net', 'add', '--net', 'tcp1', '--if',
                                    lnet.address(2)))
        self.wait_state(client, 'up')
        self.assert_done(client.run('ping', '--timeout', '20',
                                    self.nid(1, 3)))

    def test_bad_changes_are_refused(self):
        node = self.node([(0, 1)])
        for args, errno, words in (
                (('add', '--net', 'tcp1', '--if', 'nosuch0'), -19, 'nosuch0'),
                (('add', '--net', 'tcp', '--if', lnet.address(1)), -17,
                 self.nid(0, 1)),
                (('add', '--net', 'tcp', '--if', lnet.address(2),
                  '--credits', '9'), -17, 'options of the network'),
                (('add', '--net', 'lo'), -22, 'lo'),
                (('del', '--net', 'lo'), -22, 'every node is on'),
                (('del', '--net', 'tcp', '--if', f'{lnet.address(1)},eth9'),
                 -2, 'eth9'),
                (('del', '--net', 'tcp4'), -2, 'tcp4'),
                (('del', '--net', 'tcp', '--if', 'eth9'), -2, 'eth9')):
            done = node.run('net', *args)
            self.assertEqual(done.returncode, 1, args)
            err = done.stderr.decode()
            self.assertIn(f'errno: {errno}', err)
            self.assertIn(words, err)
        for args, words in (
                (('add',), '--net is missing'),
                (('del', '--credits', '3', '--net', 'tcp'), '--credits'),
                (('add', '--net', 'tcp1', '--if', 'a b'), '--if'),
                (('add', '--net', 'tcp1', '--credits', '0'), '1 to 65535'),
                (('add', '--net', 'tcp1', '--health', '3'), '--health'),
                (('add', '--net', 'tcp1', '--nid', self.nid(1, 1)), '--nid'),
                (('show', '--if', 'eth0'), '--if'),
                (('set', '--credits', '3', '--all', '--health', '1'),
                 '--credits')):
            done = node.run('net', *args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(words, done.stderr.decode())
        self.assertEqual(self.nids(node), ['0@lo', self.nid(0, 1)])


if __name__ == '__main__':
    cli.main()
