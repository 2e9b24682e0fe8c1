# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri doctor`: each check, what it says of faults, tables, the bundle."""
import json
import os
import socket
import tarfile
import threading
import time
import unittest

import cli
import lnet

SILENT_NR = 40
# How long the command waits for one connection: TCP_MS of tools/node/doctor_net.c.
PATIENCE_S = 2


class Doctor(cli.Case):
    def setUp(self):
        super().setUp()
        self.port = lnet.free_port()

    def node(self, i, *options):
        return lnet.Node(self, '--net', f'tcp({lnet.address(i)})', '--accept',
                         'all', '--port', str(self.port), *options)

    def own(self, *args):
        """The command with a node of its own."""
        return cli.run('doctor', '--net', f'tcp({lnet.address(1)})', '--port',
                       str(self.port), '--source-ports', 'any', *args)

    def checks(self, result):
        tree = json.loads(result.stdout)
        self.assertEqual(len(tree['checks']), 11)
        return tree, {c['check']: c for c in tree['checks']}

    def nid(self, i):
        return f'{lnet.address(i)}@tcp'

    def test_a_peer_that_is_well(self):
        self.node(2, '--selftest')
        began = time.monotonic()
        result = self.own('--json', self.nid(2))
        self.assertEqual(result.returncode, 0, result.stderr)
        print(f'{time.monotonic() - began:.2f} s')
        tree, checks = self.checks(result)
        self.assertEqual(tree['nid'], self.nid(2))
        self.assertIn(tree['verdict'], ('ok', 'warn'))
        for name in ('name', 'route', 'port', 'tcp', 'mtu', 'hello', 'ping',
                     'discovery', 'rate', 'health'):
            self.assertEqual(checks[name]['verdict'], 'ok', checks[name])
        self.assertIn('MB/s', checks['rate']['text'])
        self.assertIn('median', checks['latency']['text'])
        text = self.own(self.nid(2)).stdout.decode()
        self.assertIn('\nverdict: ', text)

    def test_the_running_node_asks(self):
        node = self.node(1)
        self.node(2)
        result = node.run('doctor', '--json', self.nid(2))
        self.assertEqual(result.returncode, 0, result.stderr)
        _, checks = self.checks(result)
        self.assertIn('running node', checks['port']['text'])
        self.assertIn(str(self.port), checks['tcp']['text'])
        self.assertEqual(checks['ping']['verdict'], 'ok')
        self.assertIn('median', checks['latency']['text'])
        self.assertEqual(checks['rate']['verdict'], 'skipped')
        self.assertIn('--net', checks['rate']['remedy'])
        self.assertEqual(checks['health']['verdict'], 'ok')

    def test_attached(self):
        self.node(1, '--attach=' + self.path('attach'))
        self.node(2)
        result = cli.run('doctor', '--attach=' + self.path('attach'), '--json',
                         self.nid(2))
        self.assertEqual(result.returncode, 0, result.stderr)
        _, checks = self.checks(result)
        for name in ('tcp', 'ping', 'discovery', 'health'):
            self.assertEqual(checks[name]['verdict'], 'ok', checks[name])

    def test_nobody_listens_for_processes(self):
        result = cli.run('doctor', '--attach=' + self.path('none'), '--json',
                         self.nid(2))
        self.assertEqual(result.returncode, 1, result.stderr)
        tree, checks = self.checks(result)
        self.assertEqual(tree['verdict'], 'fail')
        self.assertEqual(checks['port']['verdict'], 'fail')
        self.assertIn('--attach', checks['port']['remedy'])
        self.assertEqual(checks['ping']['verdict'], 'skipped')

    @unittest.skipUnless(os.geteuid() == 0, 'only root becomes another user')
    def test_others_may_not_discover_which_is_no_fault(self):
        node = self.node(1, '--ctl-mode', '666')
        self.node(2)
        result = node.run('doctor', '--json', self.nid(2), user=65534,
                          group=65534, extra_groups=[])
        self.assertEqual(result.returncode, 0, result.stdout)
        _, checks = self.checks(result)
        self.assertEqual(checks['ping']['verdict'], 'ok')
        self.assertEqual(checks['discovery']['verdict'], 'skipped')
        self.assertIn('only its user', checks['discovery']['text'])
        self.assertIn('root', checks['discovery']['remedy'])

    def test_a_nid_behind_a_router_needs_no_route_of_this_host(self):
        result = self.node(1).run('doctor', '--json', '10.9.9.9@tcp7')
        self.assertEqual(result.returncode, 1)
        _, checks = self.checks(result)
        for name in ('route', 'tcp'):
            self.assertEqual(checks[name]['verdict'], 'skipped')
            self.assertIn('router', checks[name]['text'])
        self.assertEqual(checks['ping']['verdict'], 'fail')

    def test_a_peer_that_is_no_test_node_has_no_rate(self):
        self.node(2)
        _, checks = self.checks(self.own('--json', self.nid(2)))
        self.assertEqual(checks['rate']['verdict'], 'skipped')
        self.assertIn('--selftest', checks['rate']['remedy'])

    def test_nobody_listens(self):
        result = self.own('--json', self.nid(3))
        self.assertEqual(result.returncode, 1)
        tree, checks = self.checks(result)
        self.assertEqual(tree['verdict'], 'fail')
        self.assertEqual(checks['tcp']['verdict'], 'fail')
        self.assertIn('refused', checks['tcp']['text'])
        self.assertIn('start LNet', checks['tcp']['remedy'])
        for name in ('ping', 'discovery', 'latency', 'rate', 'health'):
            self.assertEqual(checks[name]['verdict'], 'skipped')

    def test_a_listener_that_is_no_lnet_node(self):
        """It closes each connection, or takes it and says nothing."""
        for says in (True, False):
            with socket.socket() as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind((lnet.address(4), self.port))
                sock.listen()
                taken = []

                def serve(sock=sock, taken=taken, says=says):
                    try:
                        while True:
                            conn = sock.accept()[0]
                            taken.append(conn)
                            if says:
                                conn.sendall(b'SSH-2.0\r\n')
                                conn.close()
                    except OSError:
                        pass
                thread = threading.Thread(target=serve, daemon=True)
                thread.start()
                began = time.monotonic()
                result = self.own('--json', self.nid(4))
                print(f'{time.monotonic() - began:.2f} s')
                self.assertEqual(result.returncode, 1)
                _, checks = self.checks(result)
                self.assertEqual(checks['tcp']['verdict'], 'ok')
                self.assertEqual(checks['hello']['verdict'], 'fail')
                self.assertIn('LNet node', checks['hello']['remedy'])
                self.assertEqual(checks['ping']['verdict'], 'fail')
                sock.shutdown(socket.SHUT_RDWR)
                for conn in taken:
                    conn.close()
                thread.join(cli.PATIENCE)

    def test_names(self):
        self.node(2)
        with open('/etc/hosts', encoding='utf-8') as file:
            local = any(line.split()[1:2] == ['localhost'] for line in file
                        if line.startswith('127.0.0.1'))
        if local:
            result = self.own('localhost@tcp', '--json')
            _, checks = self.checks(result)
            self.assertEqual(checks['name']['verdict'], 'ok')
            self.assertIn('localhost is', checks['name']['text'])
        result = self.own('no.such.host.invalid@tcp', '--json')
        self.assertEqual(result.returncode, 1)
        _, checks = self.checks(result)
        self.assertEqual(checks['name']['verdict'], 'fail')
        self.assertIn('DNS', checks['name']['remedy'])
        self.assertEqual(checks['tcp']['verdict'], 'skipped')
        for bad in ('x', '@tcp', 'a' * 5000, 'a@' + 'b' * 5000, '10.0.0.1@x y'):
            result = self.own(bad, '--json')
            self.assertEqual(result.returncode, 1, bad[:20])
            _, checks = self.checks(result)
            self.assertEqual(checks['name']['verdict'], 'fail')

    def test_a_range_is_a_table(self):
        self.node(2)
        self.node(3)
        prefix = lnet.address(0)[:-2]
        result = self.own(f'{prefix}.[2-5]@tcp')
        self.assertEqual(result.returncode, 1)
        lines = result.stdout.decode().splitlines()
        self.assertEqual(len(lines), 6)
        for i in (2, 3):
            self.assertTrue(lines[i - 1].startswith(self.nid(i)))
            self.assertNotIn('fail', lines[i - 1])
        for i in (4, 5):
            self.assertIn('Connection refused', lines[i - 1])
        self.assertEqual(lines[-1], '2 of 4 NIDs without a failure')
        self.assertEqual(self.own(self.nid(2), self.nid(3)).returncode, 0)

    def test_report_is_a_page(self):
        self.node(2)
        page = self.path('page.html')
        self.own('--report', page, self.nid(2))
        text = self.read(page).decode()
        for word in ('<td>ping</td><td class="good">ok</td>', '</html>',
                     'prefers-color-scheme:dark', self.nid(2)):
            self.assertIn(word, text)
        self.own('--report', page, f'{lnet.address(0)[:-2]}.[2-3]@tcp')
        text = self.read(page).decode()
        self.assertEqual(text.count('class="bad"'), 1)
        self.assertIn('1 of 2 NIDs without a failure', text)
        done = self.own('--report', self.path('no', 'x'), self.nid(2))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'--report', done.stderr)

    def test_a_range_of_one_nid_is_that_nid(self):
        self.node(2)
        prefix = lnet.address(0)[:-2]
        result = self.own('--json', f'{prefix}.[2]@tcp')
        self.assertEqual(result.returncode, 0, result.stderr)
        tree, checks = self.checks(result)
        self.assertEqual(tree['nid'], self.nid(2))
        self.assertEqual(checks['name']['verdict'], 'ok')

    def test_a_table_costs_one_snapshot_of_the_node(self):
        """And the health of a peer is known that the metrics leave out."""
        node = self.node(1, '--metrics-peers', '1')
        self.node(2)
        self.node(3)
        result = node.run('doctor', self.nid(2), self.nid(3))
        self.assertEqual(result.returncode, 0, result.stdout)
        text = node.run('metrics').stdout.decode()
        self.assertIn('\ncolibri_metrics_omitted_peer_nis 1\n', text)
        self.assertIn('\ncolibri_metrics_scrapes_total 2\n', text)
        for i in (2, 3):
            _, checks = self.checks(node.run('doctor', '--json', self.nid(i)))
            self.assertEqual(checks['health']['verdict'], 'ok')

    def test_a_long_table_has_a_row_for_each_nid(self):
        began = time.monotonic()
        result = self.own('127.90.[0-3].[1-255]@tcp')
        self.assertEqual(result.returncode, 1)
        lines = result.stdout.decode().splitlines()
        self.assertEqual(len(lines), 1022)
        self.assertEqual(sum('Connection refused' in line for line in lines),
                         1020)
        print(f'1020 NIDs in {time.monotonic() - began:.1f} s')

    def test_silent_peers_are_tried_at_the_same_time(self):
        """One after the other, they would take SILENT_NR times PATIENCE_S."""
        for i in range(10, 10 + SILENT_NR):
            sock = socket.socket()
            self.addCleanup(sock.close)
            sock.bind((lnet.address(i), self.port))
            sock.listen(0)
            # Fills the backlog: the kernel drops each SYN that comes later.
            only = socket.create_connection((lnet.address(i), self.port))
            self.addCleanup(only.close)
        began = time.monotonic()
        result = self.own(f'{lnet.address(0)[:-2]}.[10-{9 + SILENT_NR}]@tcp')
        batches = (time.monotonic() - began) / PATIENCE_S
        self.assertEqual(result.returncode, 1)
        lines = result.stdout.decode().splitlines()
        self.assertEqual(sum('timed out' in line for line in lines), SILENT_NR)
        print(f'{SILENT_NR} silent peers in {batches:.1f} batches')
        self.assertGreaterEqual(batches, 1)
        self.assertLess(batches, SILENT_NR / 4)

    def test_what_is_not_accepted(self):
        for args, *words in (
                ((), 'NID is missing'),
                (('10.[0-255].[0-255].[0-255]@tcp',), '1024 NIDs'),
                (('10.0.0.[1-2]@tcp', '--json'), '--json', 'one NID'),
                (('10.0.0.[1-2]@tcp', '--bundle', 'x'), '--bundle'),
                (('10.0.0.1@tcp', 'x'), "'x'", 'range'),
                (('10.0.0.1@tcp', '--ctl', '/x', '--attach'), 'one of'),
                (('10.0.0.1@tcp', '--timeout', '0'), '--timeout'),
                (('10.0.0.1@tcp', '--attach=x'), 'absolute')):
            self.assert_refused(cli.run('doctor', *args), 2, *words)
        self.assert_refused(cli.run('doctor', '--ctl', self.path('none'),
                                    self.nid(2)), 1, 'none')

    def test_bundle(self):
        node = self.node(1)
        self.node(2)
        path = self.path('ticket.tar')
        result = node.run('doctor', '--bundle', path, self.nid(2))
        self.assertEqual(result.returncode, 0, result.stderr)
        with tarfile.open(path) as tar:
            names = tar.getnames()
            for name in ('version.txt', 'doctor.txt', 'config.yaml',
                         'net.yaml', 'peer.yaml', 'stats.yaml', 'metrics.txt'):
                self.assertIn('colibri/' + name, names)
            report = tar.extractfile('colibri/doctor.txt').read()
            self.assertEqual(report, result.stdout)
            metrics = tar.extractfile('colibri/metrics.txt').read()
            self.assertTrue(metrics.endswith(b'# EOF\n'))
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertEqual([n for n in os.listdir(self.dir) if 'ticket' in n],
                         ['ticket.tar'])
        # A link stays one, and its target becomes private.
        os.symlink('ticket.tar', self.path('link'))
        os.chmod(path, 0o644)
        os.truncate(path, 0)
        result = node.run('doctor', '--bundle', self.path('link'), self.nid(2))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.readlink(self.path('link')), 'ticket.tar')
        self.assertTrue(tarfile.is_tarfile(path))
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        result = node.run('doctor', '--bundle', self.path('no', 'x'),
                          self.nid(2))
        self.assertEqual(result.returncode, 1)
        self.assertIn(b'--bundle', result.stderr)


if __name__ == '__main__':
    cli.main()
