# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Routers between network namespaces: hosts with wires of their own, default ports.

A wire is a network: wire n is 10.98.n.0/24 and fd00:98:n::/64, tcp<n> unless a test
says otherwise, and the i-th host that is named for it has address .<i> there.
"""
import json
import os
import shutil
import signal
import subprocess
import threading
import time

import cli
import far
import lnet
import node_ns_test
import perf_far_test
from node_ns_test import IP, run

MIB = 1 << 20


class Hosts(node_ns_test.Case):
    def setUp(self):
        cli.Case.setUp(self)
        if self.WHY is not None:
            self.skipTest(self.WHY)
        self.hosts = []
        self.wires = 0

    def make_hosts(self, count):
        self.hosts = [self.host() for _ in range(count)]
        for i in range(count):
            self.within(i, IP, 'link', 'set', 'lo', 'up')

    def wire(self, a, b):
        """Joins two hosts; returns the number of the network."""
        n = self.wires
        self.wires += 1
        self.within(a, IP, 'link', 'add', f'w{n}', 'type', 'veth', 'peer',
                    'name', f'w{n}', 'netns', str(self.hosts[b].pid))
        for i, host in enumerate((a, b), 1):
            self.within(host, IP, 'addr', 'add', f'10.98.{n}.{i}/24', 'dev',
                        f'w{n}')
            if os.path.exists('/proc/sys/net/ipv6'):
                self.within(host, IP, 'addr', 'add', f'fd00:98:{n}::{i}/64',
                            'dev', f'w{n}', 'nodad')
            self.within(host, IP, 'link', 'set', f'w{n}', 'up')
        for host in (a, b):
            self.wait_up(host, f'w{n}')
        return n

    def bridge(self, *hosts):
        """Joins several hosts by the first; returns the network."""
        n = self.wires
        self.wires += 1
        first = hosts[0]
        self.within(first, IP, 'link', 'add', f'b{n}', 'type', 'bridge')
        self.within(first, IP, 'addr', 'add', f'10.98.{n}.1/24', 'dev', f'b{n}')
        self.within(first, IP, 'link', 'set', f'b{n}', 'up')
        for i, host in enumerate(hosts[1:], 2):
            self.within(first, IP, 'link', 'add', f'b{n}p{i}', 'type', 'veth',
                        'peer', 'name', f'w{n}', 'netns',
                        str(self.hosts[host].pid))
            self.within(first, IP, 'link', 'set', f'b{n}p{i}', 'master',
                        f'b{n}', 'up')
            self.within(host, IP, 'addr', 'add', f'10.98.{n}.{i}/24', 'dev',
                        f'w{n}')
            self.within(host, IP, 'link', 'set', f'w{n}', 'up')
            self.wait_up(host, f'w{n}')
        return n

    def wait_up(self, host, device):
        deadline = time.monotonic() + cli.PATIENCE
        while b'state UP' not in self.within(host, IP, '-o', 'link', 'show',
                                             device).stdout:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    @staticmethod
    def nid(n, i, v6=False):
        where = f'fd00:98:{n}::{i}' if v6 else f'10.98.{n}.{i}'
        return f'{where}@tcp{n or ""}'

    def start(self, host, nids, *options):
        return lnet.Node(self, '--net', self.nets(nids), *options,
                         prefix=self.enter(host))

    @staticmethod
    def nets(nids):
        parts = (nid.rsplit('@', 1) for nid in nids)
        return ','.join(f'{net}({where})' for where, net in parts)

    def wait_state(self, node, want, i=0):
        deadline = time.monotonic() + cli.PATIENCE
        while (found := node.json('route', 'show', '-v')['route'][i])['state'] \
                != want:
            self.assertLess(time.monotonic(), deadline, found)
            time.sleep(0.05)
        return found

    def ping(self, node, nid):
        done = node.run('ping', '--timeout=20', nid)
        self.assert_done(done)

    # An object service and a client.

    def serve(self, host, nids, *options):
        """Each NID is an address of it."""
        eps = []
        for i, nid in enumerate(nids, 1):
            eps += ['--ep', f'{nid}:12345:40:{i}']
        os.makedirs(self.path('objects'), exist_ok=True)
        child = subprocess.Popen(
            [*self.enter(host), cli.COLIBRI, 'serve', '--net', self.nets(nids),
             *eps, *options, self.path('objects')], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.served = child
        while b'objects of' not in (line := child.stdout.readline()):
            self.assertNotEqual(line, b'', 'no service')
        return [f'{nid}:12345:40:{i}' for i, nid in enumerate(nids, 1)]

    def put_start(self, host, nids, src, eps, *options):
        child = subprocess.Popen(
            [*self.enter(host), cli.COLIBRI, 'put', '--net', self.nets(nids),
             *options, '--timeout', '60', src, ','.join(eps) + ':big'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def put_end(self, child):
        out, text = child.communicate(timeout=4 * cli.PATIENCE)
        self.assertEqual(child.returncode, 0, (out, text))

    def objects_bytes(self):
        total = 0
        for base, _, names in os.walk(self.path('objects')):
            for name in names:
                try:
                    total += os.stat(os.path.join(base, name)).st_blocks * 512
                except OSError:
                    pass
        return total

    def reach(self, child, count):
        while self.objects_bytes() < count:
            self.assertIsNone(child.poll(), 'the put ended too soon')
            time.sleep(0.01)

    def check_object(self, host, nids, eps, content, *options):
        done = run(*self.enter(host), cli.COLIBRI, 'get', '--net',
                   self.nets(nids), *options, ','.join(eps) + ':big',
                   self.path('back'))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path('back'), 'rb') as file:
            self.assertEqual(file.read(), content)

    def measure_and_copy(self, hosts, nids, routes):
        """`colibri perf` and `copy`, of the first host with the second one."""
        (here, there), (near, away) = hosts, nids
        net = [('--net', self.nets([nid]), '--routes', route)
               for nid, route in zip(nids, routes)]
        server = perf_far_test.Server(self, net=net[1],
                                      prefix=self.enter(there))
        self.assertTrue(server.ep.startswith(away + ':'))
        done = run(*self.enter(here), cli.COLIBRI, 'perf', *net[0],
                   *perf_far_test.QUICK, '--json', server.ep)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)['rows']
        self.assertEqual({row['test'] for row in rows},
                         {'latency', 'rate', 'put', 'get'})
        self.assertEqual(server.stop(), 0)
        receiver = far.Listener(self, net=net[1], prefix=self.enter(there))
        content = os.urandom(5 * MIB)
        done = run(*self.enter(here), cli.COLIBRI, 'copy', *net[0],
                   self.make('copied', content), receiver.ep + ':')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read(self.path('in', 'copied')), content)
        self.assertEqual(receiver.stop(signal.SIGINT), 0)


class Load:
    """Pings of a node by another thread, one after the other."""

    def __init__(self, node, nid):
        self.node, self.nid = node, nid
        self.done = self.failed = 0
        self.is_over = False
        self.thread = threading.Thread(target=self.ping)
        self.thread.start()

    def ping(self):
        while not self.is_over:
            done = self.node.run('ping', '--timeout=2', self.nid)
            self.done += done.returncode == 0
            self.failed += done.returncode != 0

    def more(self, count):
        """Waits until so many more have been answered."""
        goal = self.done + count
        deadline = time.monotonic() + cli.PATIENCE
        while self.done < goal:
            assert time.monotonic() < deadline, 'pings are not answered'
            time.sleep(0.01)

    def end(self):
        self.is_over = True
        self.thread.join()


class Topologies(Hosts):
    def client_router_server(self, *options):
        """@return what the router counts."""
        self.make_hosts(3)
        a, b = self.wire(0, 1), self.wire(1, 2)
        # On a busy machine a large message would often be there as a whole.
        self.within(1, 'sh', '-c',
                    'echo 4096 65536 131072 >/proc/sys/net/ipv4/tcp_rmem')
        router = self.start(1, [self.nid(a, 2), self.nid(b, 1)], '--routing',
                            *options)
        there = ('--routes', f'tcp{b} {self.nid(a, 2)}')
        back = ('--routes', f'tcp {self.nid(b, 1)}')
        client = self.start(0, [self.nid(a, 1)], *there)
        server = self.start(2, [self.nid(b, 2)], *back)
        self.wait_state(server, 'up')
        for verb in ('ping', 'discover'):
            done = client.run(verb, self.nid(b, 2))
            self.assert_done(done)
        self.assertEqual((client.stop()[0], server.stop()[0]), (0, 0))
        # Files, by nodes that the commands open.
        content = os.urandom(9 * MIB)
        eps = self.serve(2, [self.nid(b, 2)], *back)
        self.put_end(self.put_start(0, [self.nid(a, 1)],
                                    self.make('src', content), eps, *there))
        self.check_object(0, [self.nid(a, 1)], eps, content, *there)
        stats = router.json('stats', 'show')['statistics']
        self.assertGreater(stats['route_length'], 18 * MIB)
        info = router.json('routing', 'show', '-v4')['colibri']
        self.assertEqual([info[pool]['used'] for pool in
                          ('tiny', 'small', 'large')], [0, 0, 0])
        return info

    def test_client_router_server(self):
        info = self.client_router_server()
        self.assertEqual(info['cut_through'], 0)
        self.assertEqual(info['cut_through_messages'], 0)
        self.served.kill()
        self.served.wait()
        self.measure_and_copy((0, 2), (self.nid(0, 1), self.nid(1, 2)),
                              (f'tcp1 {self.nid(0, 2)}',
                               f'tcp {self.nid(1, 1)}'))

    def test_client_router_server_with_cut_through(self):
        info = self.client_router_server('--cut-through')
        self.assertEqual(info['cut_through'], 1)
        self.assertGreater(info['cut_through_messages'], 0)
        self.assertEqual(info['cut_through_broken'], 0)

    def test_client_router_server_with_splice(self):
        info = self.client_router_server('--splice')
        self.assertEqual(info['splice'], 1)
        self.assertEqual(info['cut_through_messages'], 0)
        self.assertGreater(info['splice_messages'], 0)
        self.assertGreater(info['splice_bytes'], 9 * MIB)
        self.assertIn(info['splice_pipes'], range(1, 65))

    def test_client_router_server_with_splice_and_cut_through(self):
        info = self.client_router_server('--splice', '--cut-through')
        self.assertGreater(info['cut_through_messages'], 0)
        self.assertEqual(info['cut_through_broken'], 0)
        self.assertGreater(info['splice_bytes'], 9 * MIB)

    def next_hop_is_killed(self, *options):
        """The server dies in a transfer, and another one takes its place."""
        self.make_hosts(3)
        a, b = self.wire(0, 1), self.wire(1, 2)
        router = self.start(1, [self.nid(a, 2), self.nid(b, 1)], '--routing',
                            *options)
        there = ('--routes', f'tcp{b} {self.nid(a, 2)}')
        back = ('--routes', f'tcp {self.nid(b, 1)}')
        content = os.urandom(96 * MIB)
        src = self.make('src', content)
        for _ in range(3):
            eps = self.serve(2, [self.nid(b, 2)], *back)
            child = self.put_start(0, [self.nid(a, 1)], src, eps, *there)
            self.reach(child, 16 * MIB)
            self.served.kill()
            self.served.wait()
            child.kill()
            child.wait()
            shutil.rmtree(self.path('objects'))
        eps = self.serve(2, [self.nid(b, 2)], *back)
        self.put_end(self.put_start(0, [self.nid(a, 1)], src, eps, *there))
        self.check_object(0, [self.nid(a, 1)], eps, content, *there)
        deadline = time.monotonic() + cli.PATIENCE
        while router.json('routing', 'show', '-v4')['colibri']['large']['used']:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        info = router.json('routing', 'show', '-v4')['colibri']
        self.assertGreater(info['splice_bytes'], 96 * MIB)
        files = self.within(1, 'ls', f'/proc/{router.child.pid}/fd').stdout
        self.assertLess(len(files.split()), 2 * info['splice_pipes'] + 60)

    def test_next_hop_is_killed_with_splice(self):
        self.next_hop_is_killed('--splice')

    def test_next_hop_is_killed_with_splice_and_cut_through(self):
        self.next_hop_is_killed('--splice', '--cut-through')

    def test_router_is_killed_and_revived_under_load(self):
        self.make_hosts(4)
        a, b = self.bridge(0, 1, 2), self.bridge(3, 1, 2)

        def start_router(i):
            return self.start(i, [self.nid(a, i + 1), self.nid(b, i + 1)],
                              '--routing')
        routers = [None, start_router(1), start_router(2)]
        there = ('--routes', f'tcp{b} {self.nid(a, 2)}:0 {self.nid(a, 3)}:1')
        back = ('--routes', f'tcp {self.nid(b, 2)}:0 {self.nid(b, 3)}:1')
        content = os.urandom(96 * MIB)
        eps = self.serve(3, [self.nid(b, 1)], *back)
        child = self.put_start(0, [self.nid(a, 1)], self.make('src', content),
                               eps, *there)
        self.reach(child, 16 * MIB)
        routers[1].child.kill()
        self.reach(child, 40 * MIB)
        routers[1].child.wait()
        routers[1] = start_router(1)
        self.put_end(child)
        self.check_object(0, [self.nid(a, 1)], eps, content, *there)
        stats = routers[2].json('stats', 'show')['statistics']
        self.assertGreater(stats['route_length'], 20 * MIB)
        self.revived_router_carries_traffic_again(
            routers[1], start_router, there, self.nid(b, 1))

    def revived_router_carries_traffic_again(self, router, start_router, there,
                                             target):
        client = self.start(0, [self.nid(0, 1)], *there, '--lnd-timeout=2',
                            '--router-check-interval=300ms',
                            '--router-ping-timeout=1')
        self.wait_state(client, 'up')
        load = Load(client, target)
        self.addCleanup(load.end)
        load.more(5)
        router.child.kill()
        router.child.wait()
        self.wait_state(client, 'down')
        # The ping that was under way may fail, and the server's first answers, which
        # show it that the router is gone.
        failed = load.failed
        load.more(1)
        self.assertLessEqual(load.failed - failed, 3)
        failed = load.failed
        load.more(5)
        self.assertEqual(load.failed, failed)
        router = start_router(1)
        self.wait_state(client, 'up')
        before = router.json('stats', 'show')['statistics']['route_count']
        load.more(10)
        after = router.json('stats', 'show')['statistics']['route_count']
        load.end()
        # Requests go by the better route again, and answers return by it.
        self.assertGreater(after - before, 10)

    def test_one_of_two_rails_is_cut_in_a_transfer(self):
        self.make_hosts(2)
        a, b = self.wire(0, 1), self.wire(0, 1)
        here = [self.nid(a, 1), self.nid(b, 1)]
        content = os.urandom(96 * MIB)
        eps = self.serve(1, [self.nid(a, 2), self.nid(b, 2)])
        child = self.put_start(0, here, self.make('src', content), eps)
        self.reach(child, 16 * MIB)
        self.within(1, IP, 'link', 'set', f'w{b}', 'down')
        self.put_end(child)
        self.within(1, IP, 'link', 'set', f'w{b}', 'up')
        self.wait_up(1, f'w{b}')
        self.check_object(0, here, eps, content)

    def test_three_hops(self):
        self.make_hosts(5)
        nets = [self.wire(i, i + 1) for i in range(4)]
        for i in (1, 2, 3):
            routes = [f'tcp{n or ""} {self.nid(i - 1, 1)}'
                      for n in nets[:i - 1]]
            routes += [f'tcp{n} {self.nid(i, 2)}' for n in nets[i + 1:]]
            self.start(i, [self.nid(i - 1, 2), self.nid(i, 1)], '--routing',
                       '--routes', '; '.join(routes))
        there, back = f'tcp3 3 {self.nid(0, 2)}', f'tcp 3 {self.nid(3, 1)}'
        client = self.start(0, [self.nid(0, 1)], '--routes', there)
        server = self.start(4, [self.nid(3, 2)], '--routes', back)
        self.wait_state(client, 'up')
        self.ping(client, self.nid(3, 2))
        self.assertEqual((client.stop()[0], server.stop()[0]), (0, 0))
        self.measure_and_copy((0, 4), (self.nid(0, 1), self.nid(3, 2)),
                              (there, back))

    def test_asymmetric_route_is_dropped_if_asked(self):
        self.make_hosts(4)
        a, b = self.bridge(0, 1, 2), self.bridge(3, 1, 2)
        for i in (1, 2):
            self.start(i, [self.nid(a, i + 1), self.nid(b, i + 1)],
                       '--routing')
        client = self.start(0, [self.nid(a, 1)], '--routes',
                            f'tcp{b} {self.nid(a, 2)}')
        server = self.start(3, [self.nid(b, 1)], '--routes',
                            f'tcp {self.nid(b, 3)}')
        self.wait_state(client, 'up')
        self.wait_state(server, 'up')
        self.ping(client, self.nid(b, 1))
        self.assert_done(server.run('set', 'drop_asym_route', '1'))
        done = client.run('ping', '--timeout=1', self.nid(b, 1))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'-110', done.stderr)
        self.assert_done(server.run('route', 'add', '--net', 'tcp',
                                    '--gateway', self.nid(b, 2)))
        self.ping(client, self.nid(b, 1))

    def test_client_behind_nat(self):
        """Nobody can connect to it: all goes over the connections it makes."""
        nft = shutil.which('nft') or '/usr/sbin/nft'
        if not os.access(nft, os.X_OK):
            self.skipTest('nft is not installed')
        self.make_hosts(4)
        a, b, c = self.wire(0, 1), self.wire(1, 2), self.wire(2, 3)
        self.within(0, IP, 'route', 'add', 'default', 'via', '10.98.0.2')
        self.within(1, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward')
        for words in ('add table ip nat',
                      'add chain ip nat out { type nat hook postrouting '
                      'priority 100; }',
                      f'add rule ip nat out oifname w{b} masquerade'):
            self.within(1, nft, words)
        # The router and the client are on tcp, as they take themselves for.
        gateway = f'10.98.{b}.2@tcp'
        router = self.start(2, [gateway, self.nid(c, 1)], '--routing',
                            '--accept=all')
        there = ('--routes', f'tcp{c} {gateway}')
        back = ('--routes', f'tcp {self.nid(c, 1)}')
        client = self.start(0, [self.nid(a, 1)], *there)
        server = self.start(3, [self.nid(c, 2)], *back)
        self.wait_state(client, 'up')
        self.wait_state(server, 'up')
        self.ping(client, self.nid(c, 2))
        self.ping(server, self.nid(a, 1))
        self.assertEqual((client.stop()[0], server.stop()[0]), (0, 0))
        content = os.urandom(9 * MIB)
        eps = self.serve(3, [self.nid(c, 2)], *back)
        self.put_end(self.put_start(0, [self.nid(a, 1)],
                                    self.make('src', content), eps, *there))
        self.check_object(0, [self.nid(a, 1)], eps, content, *there)
        self.assertEqual(router.stop()[0], 0)

    def test_ipv6_on_both_sides(self):
        self.need_ipv6()
        self.make_hosts(3)
        a, b = self.wire(0, 1), self.wire(1, 2)
        router = self.start(1, [self.nid(a, 2, True), self.nid(b, 1, True)],
                            '--routing')
        client = self.start(0, [self.nid(a, 1, True)], '--routes',
                            f'tcp{b} {self.nid(a, 2, True)}')
        server = self.start(2, [self.nid(b, 2, True)], '--routes',
                            f'tcp {self.nid(b, 1, True)}')
        self.wait_state(client, 'up')
        self.wait_state(server, 'up')
        self.ping(client, self.nid(b, 2, True))
        self.ping(server, self.nid(a, 1, True))
        self.assertEqual((client.stop()[0], server.stop()[0]), (0, 0))
        self.measure_and_copy((0, 2),
                              (self.nid(a, 1, True), self.nid(b, 2, True)),
                              (f'tcp{b} {self.nid(a, 2, True)}',
                               f'tcp {self.nid(b, 1, True)}'))
        self.assertEqual(router.stop()[0], 0)

    def test_router_with_both_kinds_of_addresses(self):
        """IPv4 nodes behind a router that has IPv6 networks, too."""
        self.need_ipv6()
        self.make_hosts(4)
        a, b, c = self.wire(0, 1), self.wire(1, 2), self.wire(1, 3)
        self.start(1, [self.nid(a, 2), self.nid(b, 1), self.nid(c, 1, True)],
                   '--routing')
        client = self.start(0, [self.nid(a, 1)], '--routes',
                            f'tcp{b} {self.nid(a, 2)}')
        server = self.start(2, [self.nid(b, 2)], '--routes',
                            f'tcp {self.nid(b, 1)}')
        other = self.start(3, [self.nid(c, 2, True)])
        self.wait_state(client, 'up')
        self.wait_state(server, 'up')
        self.ping(client, self.nid(b, 2))
        self.ping(server, self.nid(a, 1))
        self.ping(other, self.nid(c, 1, True))

    def test_nodes_with_both_kinds_of_addresses(self):
        """Client, router and server are Multi-Rail; each message keeps its kind."""
        self.need_ipv6()
        self.make_hosts(3)
        a, b = self.wire(0, 1), self.wire(1, 2)

        def nids(n, i):
            return [f'10.98.{n}.{i}@tcp{2 * n}', f'fd00:98:{n}::{i}@tcp{2 * n + 1}']

        router = self.start(1, nids(a, 2) + nids(b, 1), '--routing')
        # To each network by each NID of the router, as a script would write it.
        client = self.start(0, nids(a, 1), '--routes', '; '.join(
            f'tcp{net} {nid}' for net in (2, 3) for nid in nids(a, 2)))
        server = self.start(2, nids(b, 2), '--routes', '; '.join(
            f'tcp{net} {nid}' for net in (0, 1) for nid in nids(b, 1)))
        for i in range(4):
            self.wait_state(client, 'up', i)
            self.wait_state(server, 'up', i)
        self.assert_done(client.run('discover', nids(b, 2)[0]))
        for nid in nids(b, 2):
            told = client.json('explain', nid)['explain'][0]
            self.assertGreater(len(told['candidates']), 1)
            for path in told['candidates']:
                self.assertEqual(':' in path['next hop'],
                                 ':' in path['destination'], path)
            for _ in range(4):
                self.ping(client, nid)
        stats = router.json('stats', 'show')['statistics']
        self.assertEqual(stats['drop_count'], 0)

    def test_wire_that_is_cut_takes_the_route_down(self):
        self.make_hosts(2)
        a = self.wire(0, 1)
        self.start(1, [self.nid(a, 2)], '--routing')
        client = self.start(0, [self.nid(a, 1)], '--routes',
                            f'tcp9 {self.nid(a, 2)}', '--lnd-timeout=1',
                            '--router-check-interval=500ms',
                            '--router-ping-timeout=1')
        self.wait_state(client, 'up')
        self.within(1, IP, 'link', 'set', f'w{a}', 'down')
        found = self.wait_state(client, 'down')
        self.assertIn('the gateway last answered a check', found['why down'])
        self.within(1, IP, 'link', 'set', f'w{a}', 'up')
        self.wait_state(client, 'up')
        self.assertEqual(client.stop(signal.SIGINT)[0], 0)

    def test_link_that_goes_down_is_reported(self):
        self.make_hosts(3)
        a, b = self.wire(0, 1), self.wire(1, 2)
        router = self.start(1, [self.nid(a, 2), self.nid(b, 1)], '--routing')
        client = self.start(0, [self.nid(a, 1)], '--routes',
                            f'tcp{b} {self.nid(a, 2)}')
        self.wait_state(client, 'up')
        far, device = self.nid(b, 1), f'w{b}'
        # No carrier; administratively down; no address.
        for host, down, up in (
                (2, [('link', 'set', device, 'down')],
                 [('link', 'set', device, 'up')]),
                (1, [('link', 'set', device, 'down')],
                 [('link', 'set', device, 'up')]),
                (1, [('addr', 'del', f'10.98.{b}.1/24', 'dev', device)],
                 [('addr', 'add', f'10.98.{b}.1/24', 'dev', device)])):
            for words in down:
                self.within(host, IP, *words)
            self.wait_ni(router, far, 'down')
            # A push tells the client, long before the next check.
            found = self.wait_state(client, 'down')
            self.assertIn('no interface on the remote network',
                          found['why down'])
            for words in up:
                self.within(host, IP, *words)
            self.wait_ni(router, far, 'up')
            self.wait_state(client, 'up')
        self.assertEqual(router.stop()[0], 0)

    def wait_ni(self, node, nid, want):
        """The status of an interface, and whether its link has failed."""
        deadline = time.monotonic() + cli.PATIENCE
        while True:
            nis = {ni['nid']: ni for net in
                   node.json('net', 'show', '-v2')['net']
                   for ni in net['local NI(s)']}
            found = (nis[nid]['status'],
                     nis[nid]['health stats']['fatal_error'])
            if found == (want, int(want == 'down')):
                return
            self.assertLess(time.monotonic(), deadline, found)
            time.sleep(0.02)


if __name__ == '__main__':
    if Hosts.WHY is not None:
        print(f'skipped: {Hosts.WHY}')
    cli.main()
