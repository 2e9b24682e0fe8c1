# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Nodes with --lanes: processes attached to them move bulk, and the lanes do it."""
import os
import subprocess

import cli
import lnet


class Lanes(cli.Case):
    def setUp(self):
        super().setUp()
        self.port = lnet.free_port()

    def sock(self, i):
        return self.path(f'attach{i}.sock')

    def node(self, i, *more):
        return lnet.Node(
            self, '--net', f'tcp({lnet.address(i)})', '--port', str(self.port),
            '--accept', 'all', '--source-ports', 'any',
            f'--attach={self.sock(i)}', *more)

    def env(self, i):
        return dict(os.environ, M0_LNET=f'attach:{self.sock(i)}')

    def end_point(self, i, number):
        return f'{lnet.address(i)}@tcp:12345:40:{number}'

    def lane_bytes(self, node):
        nets = node.json('net', 'show', '--verbose=4')['net']
        return sum(self.find(net) for net in nets)

    def find(self, tree):
        if isinstance(tree, dict):
            return tree.get('lane_bytes', 0) + self.find(list(tree.values()))
        if isinstance(tree, list):
            return sum(self.find(item) for item in tree)
        return 0

    def perf(self):
        """Bulk from a process of node 1 to one of node 2, and back."""
        server = subprocess.Popen(
            [cli.COLIBRI, 'perf', '--listen', '--once', '--ep',
             self.end_point(2, 5)], env=self.env(2),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        while 'perf' not in server.stdout.readline():
            pass
        done = subprocess.run(
            [cli.COLIBRI, 'perf', '--time', '0.05', '--ep',
             self.end_point(1, '*'), self.end_point(2, 5)],
            env=self.env(1), capture_output=True, text=True, check=False,
            timeout=cli.PATIENCE)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(server.wait(cli.PATIENCE), 0)

    def test_lanes_move_bulk(self):
        one = self.node(1, '--lanes=2:0')
        two = self.node(2, '--lanes', '2')
        self.perf()
        for node in (one, two):
            self.assertGreater(self.lane_bytes(node), 1 << 20)

    def test_default_is_none(self):
        one = self.node(1)
        two = self.node(2, '--lanes=1')
        self.perf()
        for node in (one, two):
            self.assertEqual(self.lane_bytes(node), 0)

    def confined(self, pid, name):
        """Processors of the threads of a process that have this name, as sets."""
        ret = []
        for thread in os.listdir(f'/proc/{pid}/task'):
            where = f'/proc/{pid}/task/{thread}'
            try:
                with open(f'{where}/comm', encoding='ascii') as file:
                    if file.read().strip() == name:
                        ret.append(os.sched_getaffinity(int(thread)))
            except (FileNotFoundError, ProcessLookupError):
                continue
        return ret

    def test_threads_are_confined(self):
        """Lanes, the node's thread, and the thread of a process, which makes its copies."""
        here = sorted(os.sched_getaffinity(0))
        env = dict(os.environ, M0_LNET_CPUS=str(here[0]))
        node = lnet.Node(
            self, '--net', f'tcp({lnet.address(1)})', '--port', str(self.port),
            '--accept', 'all', '--source-ports', 'any',
            f'--attach={self.sock(1)}', f'--lanes=2:{here[-1]}', env=env)
        self.assertEqual(self.confined(node.pid, 'm0-lane'), [{here[-1]}] * 2)
        self.assertEqual(self.confined(node.pid, 'm0-lnet'), [{here[0]}])
        server = subprocess.Popen(
            [cli.COLIBRI, 'perf', '--listen', '--same-host=on', '--ep',
             self.end_point(1, 5)],
            env=dict(self.env(1), M0_LNET_CPUS=str(here[-1])),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        while 'perf' not in server.stdout.readline():
            pass
        self.assertEqual(self.confined(server.pid, 'm0-lnet'), [{here[-1]}])

    def test_processor_that_is_not_there_is_named(self):
        result = cli.run('node', '--net', f'tcp({lnet.address(1)})', '--port',
                         str(self.port), '--lanes=2:1023')
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(b'--lanes', result.stderr)
        self.assertIn(b'"1023"', result.stderr)


if __name__ == '__main__':
    cli.main()
