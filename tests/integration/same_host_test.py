# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Two processes of one host with --same-host=on: what takes which way, and ends of peers."""
import json
import os
import signal
import socket
import time

import cli
import lnet


class SameHost(cli.Case):
    def setUp(self):
        super().setUp()
        self.port = lnet.free_port()

    def options(self, i, same_host='on'):
        return ('--net', f'tcp({lnet.address(i)})', '--port', str(self.port),
                '--accept', 'all', '--source-ports', 'any', '--same-host',
                same_host)

    def node(self, i, *more, same_host='on'):
        return lnet.Node(self, *self.options(i, same_host), *more)

    @staticmethod
    def nid(i):
        return f'{lnet.address(i)}@tcp'

    def counters(self, node):
        """Of its interface of network tcp."""
        nets = node.json('net', 'show', '--verbose=4')['net']
        for net in nets:
            if net['net type'] == 'tcp':
                return self.find(net, 'same_host')
        raise AssertionError('no network tcp')

    def find(self, tree, name):
        """The object that has a member of this name."""
        if isinstance(tree, dict):
            if name in tree:
                return tree
            tree = list(tree.values())
        if isinstance(tree, list):
            for item in tree:
                found = self.find(item, name)
                if found is not None:
                    return found
        return None

    def wait_for(self, node, what, number):
        deadline = time.monotonic() + cli.PATIENCE
        while self.counters(node)[what] != number:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def ping(self, one, i):
        result = one.run('ping', self.nid(i))
        self.assert_done(result)

    def test_two_nodes_use_no_tcp(self):
        one = self.node(1)
        two = self.node(2)
        self.ping(one, 2)
        for node in (one, two):
            counters = self.counters(node)
            self.assertGreaterEqual(counters['same_host'], 1)
            self.assertEqual(counters['same_host'], counters['connections'])
            self.assertEqual(counters['fell_back'], 0)
            self.assertGreater(counters['ring_bytes'], 0)

    def test_peer_without_it_is_reached_by_tcp(self):
        one = self.node(1)
        two = self.node(2, same_host='off')
        self.ping(one, 2)
        counters = self.counters(one)
        self.assertEqual(counters['same_host'], 0)
        self.assertGreaterEqual(counters['fell_back'], 1)
        self.assertEqual(self.counters(two)['ring_bytes'], 0)
        self.ping(two, 1)

    def test_default_is_off(self):
        options = self.options(1)[:-2]
        one = lnet.Node(self, *options)
        two = self.node(2)
        self.ping(two, 1)
        self.assertEqual(self.counters(one)['same_host'], 0)
        self.assertGreaterEqual(self.counters(two)['fell_back'], 1)

    def other_network(self):
        """Prefix of a command in namespaces of its own for network and processes."""
        prefix = ('unshare', '--net', '--pid', '--fork', '--kill-child', 'sh',
                  '-c', 'ip link set lo up && exec "$@"', 'sh')
        if cli.subprocess.call([*prefix, 'true'],
                               stderr=cli.subprocess.DEVNULL) != 0:
            self.skipTest('no namespaces')
        return prefix

    def test_containers_share_a_directory(self):
        """No way by TCP leads from one network to the other."""
        other = self.other_network()
        os.mkdir(self.path('d'))
        one = self.node(1, same_host=self.path('d'))
        two = lnet.Node(self, *self.options(2, self.path('d')), prefix=other)
        self.ping(one, 2)
        counters = self.counters(one)
        self.assertGreaterEqual(counters['same_host'], 1)
        self.assertEqual(counters['same_host'], counters['connections'])
        self.assertGreaterEqual(self.counters(two)['same_host'], 1)
        self.assertEqual(len(os.listdir(self.path('d'))), 2)

    def test_directory_is_absolute_and_short(self):
        for text in ('maybe', 'tmp/x', '/' + 'x' * 43):
            result = cli.run('ping', '--same-host', text, self.nid(1))
            self.assertEqual(result.returncode, 2)
            self.assertIn(b'--same-host', result.stderr)

    def test_death_is_noticed_at_once(self):
        one = self.node(1, '--lnd-timeout', '60', '--keepalive', '0')
        for number in (signal.SIGKILL, signal.SIGTERM):
            two = self.node(2)
            self.ping(one, 2)
            self.assertGreaterEqual(self.counters(one)['same_host'], 1)
            two.child.send_signal(number)
            two.child.wait()
            self.wait_for(one, 'connections', 0)
            self.assertEqual(self.counters(one)['same_host'], 0)

    def test_stopped_peer_is_given_up(self):
        one = self.node(1, '--lnd-timeout', '0.5',
                        '--transaction-timeout', '1')
        two = self.node(2)
        self.ping(one, 2)
        two.child.send_signal(signal.SIGSTOP)
        result = one.run('ping', '--timeout', '2', self.nid(2))
        self.assertNotEqual(result.returncode, 0)
        two.child.send_signal(signal.SIGCONT)
        deadline = time.monotonic() + cli.PATIENCE
        while one.run('ping', self.nid(2)).returncode != 0:
            self.assertLess(time.monotonic(), deadline)

    def test_silent_neighbour_is_dropped(self):
        """After lc_accept_timeout_ms, which is 5 s by default."""
        self.node(1)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(f'\0colibri/{os.geteuid()}/{lnet.address(1)}/{self.port}')
            sock.settimeout(cli.PATIENCE)
            began = time.monotonic()
            self.assertEqual(sock.recv(1), b'')
            self.assertGreater(time.monotonic() - began, 4)

    def test_bulk_arrives_whole(self):
        """perf checks what arrives."""
        server = cli.subprocess.Popen(
            [cli.COLIBRI, 'perf', '--listen', '--once', '--json', '--ep',
             f'{self.nid(2)}:12345:40:1', *self.options(2)],
            stdout=cli.subprocess.PIPE, stdin=cli.subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.assertEqual(json.loads(server.stdout.readline())['event'],
                         'listening')
        result = cli.run('perf', '--json', '--time', '0.1',
                         f'{self.nid(2)}:12345:40:1', *self.options(1))
        self.assert_done(result)
        self.assertEqual(len(json.loads(result.stdout)['rows']), 8)
        server.stdout.close()


if __name__ == '__main__':
    cli.main()
