# SPDX-License-Identifier: Apache-2.0 OR MIT
"""An object service whose clients stop reading: the others do not notice."""
import json
import os
import random
import subprocess
import time

import cli
import node_ns_test
import service
from node_ns_test import IP, V4


class Stalls(service.Case):
    """Clients that ask for much, with an hour for it, and stop themselves."""

    def start_stopped(self, server, count):
        children = []
        for i in range(count):
            what = ('some big', f'put upload{i}', 'get big')[i % 3]
            children.append(self.start_asking(server, what, i=10 + i))
        for child in children:
            state = os.waitid(os.P_PID, child.pid,
                              os.WSTOPPED | os.WEXITED | os.WNOWAIT)
            if state.si_code != os.CLD_STOPPED:
                self.fail(child.stderr.read())
        return children

    def start_server(self, *options):
        server = service.Server(self, *options)
        src = self.make('src', random.Random(1).randbytes(8 << 20))
        self.json('put', src, f'{server.ep}:big')
        return server, src

    def assert_served(self, server, src):
        for i in range(2):
            self.json('put', src, f'{server.ep}:new{i}')
            self.json('get', f'{server.ep}:new{i}', self.path('back'))
            self.assertEqual(self.read(self.path('back')), self.read(src))

    def test_stopped_clients_cost_others_nothing(self):
        # None of them loses anything by a time-out before the test is over.
        server, src = self.start_server('--timeout', '3600')
        for count in (1, 12):
            children = self.start_stopped(server, count)
            self.assert_served(server, src)
            for child in children:
                child.kill()
                child.wait()

    def test_stopped_clients_lose_their_buffers(self):
        # More of them than there are buffers.
        server, src = self.start_server('--timeout', '2', '--buffers', '4')
        self.start_stopped(server, 8)
        self.assert_served(server, src)

    def test_full_service_says_so(self):
        server = service.Server(self, '--clients-max', '1')
        src = self.make('src', b'abc')
        child = self.start_asking(server, 'list')
        self.assertEqual(child.stdout.readline(), b'ready\n')
        result = self.run_client('put', src, f'{server.ep}:small', i=4)
        self.assert_refused(result, 1, 'accepts no more clients now')
        child.stdin.write(b'\n\n')
        child.stdin.flush()
        self.assertEqual(child.wait(), 0)
        self.json('put', src, f'{server.ep}:small', i=4)

    def test_memory_for_a_few_clients(self):
        server = service.Server(self, '--client-memory', '64K', '--clients-memory', '64K')
        src = self.make('src', b'abc')
        children = []
        # A client that does nothing costs 12.8 kB.
        while len(children) < 100:
            result = self.run_client('put', src, f'{server.ep}:small', i=4)
            if result.returncode != 0:
                break
            children.append(self.start_asking(server, 'list', i=10 + len(children)))
            self.assertEqual(children[-1].stdout.readline(), b'ready\n')
        self.assert_refused(result, 1, 'no memory left for more clients')
        for child in children:
            child.stdin.write(b'\n\n')
            child.stdin.flush()
            self.assertEqual(child.wait(), 0)
        self.json('put', src, f'{server.ep}:small', i=4)

    def test_end_does_not_wait_for_stopped_clients(self):
        server, _ = self.start_server('--timeout', '3600')
        self.start_stopped(server, 8)
        begin = time.monotonic()
        code, last = server.stop()
        self.assertEqual((code, last['event']), (0, 'ended'))
        # The manual says 10 s; a busy host may add to it.
        self.assertLess(time.monotonic() - begin, 60)
        server.start()
        self.assertEqual(self.names(server), ['big'])


class Vanishes(node_ns_test.Case):
    """A client on a host of its own, whose wire is cut while it gets."""

    def start(self, i, *words):
        child = subprocess.Popen([*self.enter(i), *words],
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE,
                                 stdin=subprocess.DEVNULL)
        for stop in (child.stdout.close, child.stderr.close, child.wait,
                     child.kill):
            self.addCleanup(stop)
        return child

    def run_client(self, *words):
        """A client on the service's host, with an address of its own."""
        self.within(1, cli.COLIBRI, words[0], '--net', 'tcp(10.99.1.1)',
                    '--port', '7988', '--source-ports', 'any', *words[1:])

    def test_host_that_vanishes_costs_others_nothing(self):
        src = self.make('src', random.Random(1).randbytes(8 << 20))
        os.mkdir(self.path('objects'))
        server = self.start(1, cli.COLIBRI, 'serve', '--json', '--timeout',
                            '3600', '--net', f'tcp({V4[1]})', '--port', '7988',
                            '--accept', 'all', self.path('objects'))
        ep = json.loads(server.stdout.readline())['ep']
        self.within(1, IP, 'addr', 'add', '10.99.1.1/32', 'dev', 'lo')
        self.run_client('put', src, f'{ep}:big')
        client = self.start(0, os.environ['SERVICE_HOSTILE'], f'tcp({V4[0]})',
                            '7988', ep, 'some big')
        os.waitid(os.P_PID, client.pid, os.WSTOPPED | os.WNOWAIT)
        self.within(1, IP, 'link', 'set', 'veth0', 'down')
        # The address goes with the wire.
        self.within(1, IP, 'addr', 'replace', f'{V4[1]}/32', 'dev', 'lo')
        for name in ('one', 'two'):
            self.run_client('put', src, f'{ep}:{name}')
            self.run_client('get', f'{ep}:{name}', self.path('back'))
            self.assertEqual(self.read(self.path('back')), self.read(src))


if __name__ == '__main__':
    cli.main()
