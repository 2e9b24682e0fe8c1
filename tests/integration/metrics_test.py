# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Metrics: their names, their format, by HTTP and by the control socket."""
import collections
import errno
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse

import cli
import lnet
import service

ROOT = os.path.join(os.path.dirname(__file__), '..', '..')
GOLDEN = os.path.join(ROOT, 'tests', 'golden', 'metrics.txt')
GOLDEN_SERVICE = os.path.join(ROOT, 'tests', 'golden', 'metrics_service.txt')
LABEL = r'[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf'([a-z_]+)(?:\{{({LABEL}(?:,{LABEL})*)\}})? '
                    r'(NaN|-?[0-9][0-9.e+-]*)')
SUFFIXES = {'gauge': {''}, 'counter': {'_total'}, 'info': {'_info'},
            'histogram': {'_bucket', '_count', '_sum'}}
# Errors of a socket whose peer has closed it.
CLOSED = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN)


def parse(text):
    """Returns {family: type} and {sample: value}; what is no OpenMetrics raises."""
    lines = text.split('\n')
    assert lines[-2:] == ['# EOF', ''], lines[-2:]
    families, samples, family = {}, {}, None
    for line in lines[:-2]:
        word = line.split(' ', 3)
        if line.startswith('# TYPE '):
            assert word[2] not in families, line
            family = word[2]
            families[family] = word[3]
        elif line.startswith('# UNIT '):
            assert word[2] == family and family.endswith('_' + word[3]), line
        elif line.startswith('# HELP '):
            assert word[2] == family and word[3].endswith('.'), line
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            name, labels, value = match.groups()
            assert name.startswith(family), line
            assert name[len(family):] in SUFFIXES[families[family]], line
            key = (name, labels or '')
            assert key not in samples, line
            samples[key] = float(value)
    return families, samples


def names(families):
    return ''.join(f'{name} {families[name]}\n' for name in sorted(families))


class Web:
    """HTTP as of a scraper."""

    @staticmethod
    def get(where, path, method='GET'):
        conn = http.client.HTTPConnection(*where, timeout=cli.PATIENCE)
        conn.request(method, path)
        answer = conn.getresponse()
        body = answer.read().decode()
        conn.close()
        return answer.status, body, answer


class Metrics(Web, cli.Case):
    def node(self, *options, **kwargs):
        self.port = lnet.free_port()
        return lnet.Node(self, '--net', f'tcp({lnet.address(1)})', '--accept',
                         'all', '--port', str(self.port), *options, **kwargs)

    def served(self, *options, **kwargs):
        """A node with HTTP, and its address."""
        node = self.node('--metrics', '0', *options, **kwargs)
        url = urllib.parse.urlsplit(node.wait_for('metrics')['url'])
        return node, (url.hostname, url.port)

    def value(self, node, name, labels=''):
        return parse(node.run('metrics').stdout.decode())[1][name, labels]

    def test_names_are_frozen(self):
        text = self.node().run('metrics').stdout.decode()
        families, samples = parse(text)
        self.assertIn(('colibri_node_peer_nis', ''), samples)
        with open(GOLDEN, encoding='utf-8') as file:
            self.assertEqual(names(families), file.read())

    def test_boards_and_alerts_use_these_names(self):
        known = set()
        for path in (GOLDEN, GOLDEN_SERVICE):
            with open(path, encoding='utf-8') as file:
                for line in file:
                    name, kind = line.split()
                    known |= {name + end for end in SUFFIXES[kind]}
        for path in ('grafana/colibri.json', 'prometheus/colibri.yml'):
            with open(os.path.join(ROOT, 'contrib', path),
                      encoding='utf-8') as file:
                used = set(re.findall(r'\bcolibri_[a-z_]+', file.read()))
            self.assertTrue(used, path)
            self.assertEqual(used - known, set(), path)
        promtool = shutil.which('promtool')
        if promtool:
            subprocess.run([promtool, 'check', 'rules', os.path.join(
                ROOT, 'contrib', 'prometheus', 'colibri.yml')], check=True,
                stdout=subprocess.DEVNULL)

    def test_both_ways_give_the_same(self):
        node, where = self.served()
        status, body, answer = self.get(where, '/metrics')
        self.assertEqual(status, 200)
        self.assertEqual(answer.headers['Content-Type'],
                         'application/openmetrics-text; version=1.0.0; '
                         'charset=utf-8')
        by_http, by_ctl = parse(body), parse(
            node.run('metrics').stdout.decode())
        self.assertEqual(by_http[0], by_ctl[0])
        self.assertEqual(by_http[1].keys(), by_ctl[1].keys())
        self.assertEqual(self.get(where, '/metrics', 'HEAD')[:2], (200, ''))

    def test_values_are_those_of_the_node(self):
        node, _ = self.served('--attach=' + self.path('attach'))
        nid = f'{lnet.address(1)}@tcp'
        other = lnet.Node(self, '--net', f'tcp({lnet.address(2)})', '--accept',
                          'all', '--port', str(self.port))
        peer = f'{lnet.address(2)}@tcp'
        self.assert_done(node.run('ping', peer))
        cli.run('ping', '--ctl', node.ctl, '--timeout', '0.2',
                f'{lnet.address(3)}@tcp')
        samples = parse(node.run('metrics').stdout.decode())[1]
        ni = f'nid="{nid}",device="lo"'
        self.assertEqual(samples['colibri_ni_up', ni], 1)
        self.assertEqual(samples['colibri_ni_sent_messages_total',
                                 f'{ni},type="get"'], 1)
        self.assertEqual(samples['colibri_ni_received_messages_total',
                                 f'{ni},type="reply"'], 1)
        response = 'colibri_ni_response_seconds'
        self.assertEqual(samples[f'{response}_count', ni], 1)
        buckets = [(float(re.search('le="(.*?)"', labels).group(1)), value)
                   for (name, labels), value in samples.items()
                   if name == f'{response}_bucket' and labels.startswith(ni)]
        took = samples[f'{response}_sum', ni]
        self.assertEqual(len(buckets), 12)
        self.assertEqual([value for bound, value in buckets],
                         [took <= bound for bound, value in buckets])
        at = f'nid="{peer}",peer="{peer}"'
        self.assertEqual(samples['colibri_peer_sent_messages_total', at], 1)
        self.assertEqual(samples['colibri_peer_health_ratio', at], 1)
        self.assertEqual(samples['colibri_probe_duration_seconds_count',
                                 'kind="ping"'], 1)
        self.assertEqual(samples['colibri_probe_failures_total',
                                 'kind="ping"'], 1)
        self.assertEqual(samples['colibri_processes', ''], 0)
        self.assert_done(other.run('ping', nid))

    def add_peers(self, node, first, last):
        for i in range(first, last):
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(node.ctl)
                sock.sendall(f'peer.add json=0 10.{i >> 16}.{i >> 8 & 255}.'
                             f'{i & 255}@tcp\n'.encode())
                assert sock.recv(64).startswith(b'status 0')

    def test_a_thousand_peers(self):
        """The time is printed, and judged by nobody: the goal is 20 ms."""
        node, where = self.served()
        self.add_peers(node, 1, 1001)
        times = []
        slices = []
        for _ in range(5):
            began = time.monotonic()
            status, body, _ = self.get(where, '/metrics')
            times.append(time.monotonic() - began)
            families, samples = parse(body)
            slices.append(samples['colibri_metrics_slice_seconds', ''])
            time.sleep(0.5)
        # The first snapshot has none before it.
        slices = slices[1:]
        self.assertGreater(min(slices), 0)
        self.assertEqual(status, 200)
        self.assertEqual(samples['colibri_node_peer_nis', ''], 1000)
        self.assertEqual(samples['colibri_metrics_omitted_peer_nis', ''], 0)
        self.assertEqual(sum(name == 'colibri_peer_up' for name, _ in samples),
                         1000)
        print(f'1000 peers, {len(body)} bytes: '
              f'{1000 * min(times):.1f} ms at best, of which the node took '
              f'{1000 * samples["colibri_metrics_collect_seconds", ""]:.1f}, and '
              f'{1e6 * min(slices):.0f} us at a time')
        self.assertIn('colibri_peer_up', families)

    def test_peers_are_bounded_and_what_is_left_out_is_counted(self):
        node, _ = self.served('--metrics-peers', '10')
        self.add_peers(node, 1, 26)
        samples = parse(node.run('metrics').stdout.decode())[1]
        self.assertEqual(sum(name == 'colibri_peer_up' for name, _ in samples),
                         10)
        self.assertEqual(samples['colibri_node_peer_nis', ''], 25)
        self.assertEqual(samples['colibri_metrics_omitted_peer_nis', ''], 15)

    def test_health_and_readiness(self):
        node, where = self.served('--attach=' + self.path('attach'))
        self.assertEqual(self.get(where, '/healthz')[:2], (200, 'ok\n'))
        self.assertEqual(self.get(where, '/readyz')[:2], (200, 'ready\n'))
        child = subprocess.Popen(
            [cli.COLIBRI, 'perf', '--listen', '--transport', 'lnet'],
            env={**os.environ, 'M0_LNET': 'attach:' + self.path('attach')},
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.assertTrue(child.stdout.readline())
        samples = parse(node.run('metrics').stdout.decode())[1]
        self.assertEqual(samples['colibri_processes', ''], 1)
        labels = [labels for name, labels in samples
                  if name == 'colibri_process_memory_bytes']
        self.assertEqual(len(labels), 1)
        self.assertRegex(labels[0], f'^pid="{child.pid}",'
                         f'uid="{os.geteuid()}",attachment="[1-9][0-9]*"$')
        self.assert_done(node.run('process', 'drain'))
        self.assertEqual(self.get(where, '/readyz')[:2],
                         (503, 'the node is draining\n'))
        self.assertEqual(self.get(where, '/healthz')[0], 200)

    def test_what_is_not_accepted(self):
        for addr in ('', 'x', '70000', '127.0.0.1', 'localhost:80', '[::1]',
                     '::1:80', '1.2.3.4:', '[]:1', '1.2.3.4:-1'):
            self.assert_refused(cli.run('node', '--metrics', addr), 2,
                                f"--metrics '{addr}'", 'ADDRESS:PORT')
        self.assert_refused(cli.run('node', '--metrics-peers', '65537'), 2,
                            '--metrics-peers')
        self.assert_refused(cli.run('metrics', 'x'), 2, "'x'")
        self.assert_refused(cli.run('metrics', '--ctl', self.path('none')), 1)
        _, where = self.served()
        self.assert_refused(
            cli.run('node', '--net', f'tcp({lnet.address(2)})', '--port',
                    str(self.port), '--ctl', self.path('second'), '--metrics',
                    f'{where[0]}:{where[1]}'), 1, 'Address already in use')

    def test_ipv6(self):
        node = self.node('--metrics', '[::1]:0')
        url = node.wait_for('metrics')['url']
        self.assertTrue(url.startswith('http://[::1]:'), url)
        port = urllib.parse.urlsplit(url).port
        self.assertEqual(self.get(('::1', port), '/readyz')[0], 200)

    def raw(self, where, data):
        """What comes back for these bytes, until the node closes."""
        got = []
        with socket.create_connection(where, cli.PATIENCE) as sock:
            # The node may close it before it has read all of that.
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
            except OSError as why:
                self.assertIn(why.errno, CLOSED)
            try:
                while not got or got[-1]:
                    got.append(sock.recv(65536))
            except OSError as why:
                self.assertIn(why.errno, CLOSED)
        return b''.join(got)

    def test_hostile_requests_are_refused(self):
        node, where = self.served()
        for data, codes in (
                (b'\0' * 100000, (b'', b'400', b'414')),
                (b'GET /' + b'a' * 100000 + b' HTTP/1.1\r\n\r\n',
                 (b'', b'414', b'431', b'400')),
                (b'GET / HTTP/1.1\r\nHost: x\r\n' + b'A: b\r\n' * 10000 +
                 b'\r\n', (b'', b'431', b'413')),
                (b'POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: '
                 b'100000000\r\n\r\nx', (b'405',)),
                (b'DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n', (b'405',)),
                (b'GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n',
                 (b'404',)),
                (b'GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n'
                 b'\r\n', (b'', b'400', b'413'))):
            got = self.raw(where, data)
            code = got[9:12] if got.startswith(b'HTTP/1.') else got
            self.assertIn(code, codes, (data[:50], got[:200]))
        self.assertEqual(self.get(where, '/healthz')[0], 200)
        self.assertEqual(node.stop()[0], 0)

    def established(self, where):
        """How many connections each address has to the node at this one."""
        with open('/proc/net/tcp', encoding='ascii') as file:
            rows = [line.split() for line in file][1:]
        return collections.Counter(
            row[2].split(':')[0] for row in rows
            if row[1].endswith(f':{where[1]:04X}') and row[3] == '01')

    def connect(self, where, i, nr):
        """So many clients of the i-th address that ask, and do not read."""
        for k in range(nr):
            sock = socket.socket()
            self.addCleanup(sock.close)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.bind((lnet.address(i), 0))
            sock.connect(where)
            sock.sendall(b'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'
                         if k % 2 else b'GET /met')

    def test_clients_that_do_not_read_are_cut_off(self):
        """Connections end by time."""
        node, where = self.served()
        self.add_peers(node, 1, 300)
        for i in (5, 6):
            self.connect(where, i, 6)
        self.assertEqual(self.get(where, '/healthz')[0], 200)
        # Nobody reads; the node hangs up on all of them, though they do not see it.
        end = time.monotonic() + cli.PATIENCE
        while self.established(where) and time.monotonic() < end:
            time.sleep(0.5)
        self.assertEqual(self.established(where), {})
        self.assertEqual(self.get(where, '/readyz')[0], 200)
        self.assertEqual(node.stop()[0], 0)

    def test_clients_are_few(self):
        """METRICS_CONNECTIONS_OF_ONE_MAX and METRICS_CONNECTIONS_MAX of metrics.h."""
        node, where = self.served()
        # The node ends idle connections after 5 s: the limits must show before.
        for i, counts in ((5, [8]), (6, [8, 8]), (7, [8, 8])):
            self.connect(where, i, 10)
            end = time.monotonic() + 3
            while (sorted(self.established(where).values()) != counts and
                   time.monotonic() < end):
                time.sleep(0.1)
            self.assertEqual(sorted(self.established(where).values()), counts)
        self.assertEqual(node.stop()[0], 0)


class Service(Web, service.Case):
    """The metrics of `colibri serve`."""

    def served(self, *options, **kwargs):
        """A service, and where its metrics are."""
        server = service.Server(self, '--metrics', '0', *options, **kwargs)
        url = urllib.parse.urlsplit(server.metrics)
        return server, (url.hostname, url.port)

    def families(self, where):
        status, body, _ = self.get(where, '/metrics')
        self.assertEqual(status, 200)
        return parse(body)

    def test_names_are_frozen(self):
        for options in ((), ('--store', 'volatile')):
            server, where = self.served(*options)
            with open(GOLDEN_SERVICE, encoding='utf-8') as file:
                self.assertEqual(names(self.families(where)[0]), file.read())
            self.assertEqual(server.stop()[0], 0)

    def test_values_are_those_of_the_service(self):
        server, where = self.served()
        self.assert_done(self.run_client(
            'put', self.make('large', os.urandom(3 << 20)),
            self.make('small', b'x'), server.ep + ':'))
        op = 'colibri_service_operation_seconds'
        # The answer may be there before its time is noted.
        self.wait_until(lambda: self.families(where)[1][
            op + '_count', 'operation="commit"'] == 1, 'no commit')
        samples = self.families(where)[1]
        self.assertEqual(samples[op + '_count', 'operation="write"'], 3)
        self.assertEqual(samples[op + '_count', 'operation="read"'], 0)
        commits = samples['colibri_store_commits_total', '']
        self.assertGreaterEqual(commits, 2)
        commit = 'colibri_store_commit_seconds'
        buckets = [value for (name, _), value in samples.items()
                   if name == commit + '_bucket']
        self.assertEqual(len(buckets), 12)
        self.assertEqual(buckets, sorted(buckets))
        self.assertGreaterEqual(buckets[-1], commits)
        self.assertGreater(samples['colibri_rpc_received_items_total', ''], 5)
        self.assertEqual(samples['colibri_service_buffers', ''], 32)
        self.assertEqual(self.get(where, '/healthz')[:2], (200, 'ok\n'))
        self.assertEqual(self.get(where, '/readyz')[:2], (200, 'ready\n'))

    def test_operations_last_until_they_are_answered(self):
        """A COMMIT waits for its transaction, which takes a third of a second."""
        server, where = self.served(shim=self.shim())
        self.make('shim/late', b'')
        self.assert_done(self.run_client(
            'put', self.make('large', os.urandom(1 << 20)), server.ep + ':'))
        os.unlink(self.path('shim', 'late'))
        sums = 'colibri_service_operation_seconds_sum'
        self.wait_until(lambda: self.families(where)[1][
            sums, 'operation="commit"'] >= 0.3, 'the commit was fast')

    def test_connections_and_sessions(self):
        """A client that puts much is there, and gone when it has ended."""
        server, where = self.served('--sync', 'none')
        data = self.make('much', b'')
        os.truncate(data, 8 << 30)
        child = self.start_client('put', data, server.ep + ':')
        end, rows = time.monotonic() + cli.PATIENCE, []
        while not rows and child.poll() is None and time.monotonic() < end:
            samples = self.families(where)[1]
            rows = [labels for name, labels in samples
                    if name == 'colibri_rpc_connection_requests_total'
                    if samples[name, labels] > 0]
        child.send_signal(signal.SIGTERM)
        self.assertEqual(len(rows), 1)
        self.assertRegex(rows[0], '^client="[0-9a-f]{32}",incarnation="[0-9]+",'
                         f'address="{lnet.address(1)}@tcp:')
        sessions = [labels for name, labels in samples
                    if name == 'colibri_rpc_session_streams']
        self.assertEqual(len(sessions),
                         samples['colibri_rpc_connection_sessions', rows[0]])
        self.assertEqual(len(sessions), samples['colibri_rpc_sessions', ''])
        child.wait(cli.PATIENCE)
        while samples['colibri_rpc_sessions', ''] and time.monotonic() < end:
            time.sleep(0.1)
            samples = self.families(where)[1]
        self.assertEqual([name for name, _ in samples if '_connection_' in name],
                         [])

    def test_probers_are_answered_while_it_drains(self):
        server, where = self.served(shim=self.shim())
        self.make('shim/hang', b'')
        child = self.start_client(
            'put', self.make('large', os.urandom(1 << 20)), server.ep + ':')
        self.wait_until(lambda: os.path.exists(self.path('shim', 'hangs')),
                        'nothing is synced')
        server.child.send_signal(signal.SIGTERM)
        self.wait_until(lambda: self.get(where, '/readyz')[:2] ==
                        (503, 'the service is ending\n'), 'it is ready')
        self.assertEqual(self.get(where, '/healthz')[:2], (200, 'ok\n'))
        self.assertIsNone(server.child.poll())
        os.unlink(self.path('shim', 'hang'))
        self.assertEqual(server.child.wait(cli.PATIENCE), 0)
        self.assertEqual(child.wait(cli.PATIENCE), 0, child.stderr.read())

    def test_what_is_not_accepted(self):
        self.assert_refused(cli.run('serve', '--metrics', 'x', self.dir), 2,
                            "--metrics 'x'", 'ADDRESS:PORT')
        _, where = self.served()
        self.assert_refused(cli.run(
            'serve', *self.server_net(3), '--metrics', '%s:%d' % where,
            self.path()), 1, 'Address already in use')


if __name__ == '__main__':
    cli.main()
