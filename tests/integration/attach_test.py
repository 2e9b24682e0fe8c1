# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri node --attach`: processes that use one node, and `colibri process show`.

[r.M0.net.xprt.lnet.user.multi-process] [r.M0.net.xprt.lnet.min-buffer-vm-setup]
[r.M0.net.xprt.lnet.cleanup-on-process-termination]"""
import json
import os
import random
import signal
import subprocess
import time

import attached
import cli
import lnet

KILLS_NR = 500
# Listeners at a time; as many clients talk to them.
PAIRS_NR = 2
# Daemons that a listener loses one after the other.
HASTY_NR = 10


class Attach(attached.Case):
    def test_two_processes_share_a_node(self):
        """Both have the node's NID, and numbers that the daemon gives them."""
        node = self.node()
        server = self.listen(5)
        proc = self.attached(node, 1)['process'][0]
        self.assertEqual((proc['pid'], proc['uid'], proc['state']),
                         (server.pid, os.geteuid(), 'attached'))
        # The server prints the command for the other side when its machine runs.
        while 'perf' not in server.stdout.readline():
            pass
        done = subprocess.run(
            [cli.COLIBRI, 'perf', '--time', '0.05', '--ep',
             f'{self.nid}:12345:40:*', f'{self.nid}:12345:40:5'],
            env=self.env(), capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        for test in ('latency', 'rate', 'put', 'get'):
            self.assertRegex(done.stdout, rf'(?m)^{test} ')
        self.assertEqual(server.wait(), 0)
        counts = self.attached(node, 0)['processes']
        self.assertEqual((counts['since start'], counts['refused']), (2, 0))
        self.assertEqual(node.stop()[0], 0)
        self.assertFalse(os.path.exists(self.sock))

    def test_pings_go_through_the_daemon(self):
        """By --attach and by $M0_LNET; more of them than a process has records for."""
        port = str(lnet.free_port())
        self.node('--port', port)
        far = lnet.Node(self, '--net', f'tcp({lnet.address(1)})', '--port',
                        port, '--accept', 'all', '--source-ports', 'any')
        for verb in 'ping', 'discover':
            for env, options in ((None, [f'--attach={self.sock}']),
                                 (self.env(), [])):
                got = cli.run(verb, *options, f'{lnet.address(1)}@tcp',
                              env=env)
                self.assertEqual(got.returncode, 0, got.stderr)
                self.assertEqual(got.stdout, lnet.ping_text(
                    [f'{lnet.address(1)}@tcp'], verb=verb))
        got = cli.run('ping', f'--attach={self.sock}', '--json',
                      *[self.nid] * 50)
        self.assertEqual(got.returncode, 0, got.stderr)
        self.assertEqual(len(json.loads(got.stdout)['ping']), 50)
        far.stop()
        got = cli.run('ping', f'--attach={self.sock}', '--timeout=1',
                      f'{lnet.address(1)}@tcp')
        self.assertNotEqual(got.returncode, 0)
        for options, words in ((['--attach=x'], 'absolute path'),
                               (['--attach', '--accept', 'all'],
                                'not accepted together')):
            got = cli.run('ping', *options, self.nid)
            self.assertEqual(got.returncode, 2)
            self.assertIn(words, got.stderr.decode())

    def test_number_of_another_process_is_refused(self):
        node = self.node()
        first = self.listen(7)
        while 'perf' not in first.stdout.readline():
            pass
        second = self.listen(7)
        self.assertNotEqual(second.wait(cli.PATIENCE), 0)
        self.assertEqual(self.attached(node, 1)['process'][0]['pid'],
                         first.pid)

    def test_rules_are_for_portals_and_numbers(self):
        """The first rule that is about the user applies."""
        node = self.node(
            '--attach-rule=user=65533', '--attach-rule',
            f'user={os.geteuid()}:portals=30-34,40:tms=0-63,4000-4090',
            '--attach-rule=portals=none:tms=none')
        first = self.listen(7)
        while 'perf' not in first.stdout.readline():
            pass
        for place in ('41:7', '40:64', '40:4095'):
            done = subprocess.run(
                [cli.COLIBRI, 'perf', '--listen', '--once', '--ep',
                 f'{self.nid}:12345:{place}'], env=self.env(),
                capture_output=True, text=True, check=False,
                timeout=cli.PATIENCE)
            self.assertNotEqual(done.returncode, 0)
            portal, number = place.split(':')
            self.assertIn(f'on portal {portal} with number {number} ',
                          done.stderr)
        # A free number is one of those that are admitted.
        done = subprocess.run(
            [cli.COLIBRI, 'perf', '--time', '0.05', '--ep',
             f'{self.nid}:12345:40:*', f'{self.nid}:12345:40:7'],
            env=self.env(), capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(self.attached(node, 0)['processes']['attached'], 0)

    def test_rules_that_are_about_nobody_admit_nothing(self):
        node = self.node('--attach-rule=user=65533')
        child = self.listen(7)
        self.assertNotEqual(child.wait(cli.PATIENCE), 0)
        self.attached(node, 0)

    def kill_round(self, node, draw):
        """Pairs of processes, which attach, talk and are killed at random moments.
        @return kills of processes that had not ended"""
        killed = 0
        eps = [f'{self.nid}:12345:40:{i}' for i in range(PAIRS_NR)]
        children = [self.spawn('--listen', '--ep', ep) for ep in eps]
        # In half of the rounds all attach at once.
        if draw.random() < 0.5:
            self.attached(node, PAIRS_NR)
            time.sleep(draw.random() * 0.02)
        children += [self.spawn('--time', '5', '--ep',
                                f'{self.nid}:12345:40:*', ep) for ep in eps]
        draw.shuffle(children)
        try:
            time.sleep(draw.random() * 0.06)
            for child in children:
                killed += child.poll() is None
                child.send_signal(signal.SIGKILL)
                time.sleep(draw.random() * 0.004)
        finally:
            for child in children:
                child.kill()
                child.wait()
        self.nothing_left(node)
        return killed

    def test_killed_processes_leave_nothing(self):
        """The policy refuses a process if one that was killed still counts."""
        node = self.node('--attach-processes', str(2 * PAIRS_NR))
        seed = int(os.environ.get('M0_SEED', '1'))
        draw = random.Random(seed)
        killed = 0
        rounds = 0
        while killed < KILLS_NR:
            killed += self.kill_round(node, draw)
            rounds += 1
            self.assertLess(rounds, KILLS_NR, f'seed {seed}')
        stats = node.json('stats', 'show')['statistics']
        # Half of the processes had talked.
        self.assertGreater(stats['send_count'], 10 * KILLS_NR)
        # The numbers are free again.
        self.listen(1)
        shown = self.attached(node, 1)
        self.assertEqual(len(shown['process']), 1)
        self.assertEqual(shown['processes']['refused'], 0)
        self.assertGreater(shown['processes']['since start'], KILLS_NR / 2)

    def test_daemon_that_dies_is_noticed(self):
        """A listener ends, whether it has a client or waits for one."""
        node = self.node()
        ones = [self.listen(5), self.listen(6, '--json')]
        self.attached(node, 2)
        for child in ones:
            while 'perf' not in child.stdout.readline():
                pass
        node.child.kill()
        node.child.wait()
        for child in ones:
            self.assertEqual(child.wait(cli.PATIENCE), 1)
        self.assertEqual(json.loads(ones[1].stdout.read()),
                         {'event': 'ended', 'served': 0, 'failed': 0,
                          'strays': 0})
        # Its socket does not keep the next one away.
        self.attached(self.node(), 0)

    def test_listener_survives_restarts(self):
        """With --reattach, whether the daemon is killed or stopped."""
        node = self.node()
        server = self.listen(5, '--reattach', '60', '--json')
        for kill in (True, False, True):
            self.assertEqual(json.loads(server.stdout.readline())['event'],
                             'listening')
            if kill:
                node.child.kill()
                node.child.wait()
            else:
                self.assertEqual(node.stop()[0], 0)
            time.sleep(0.1)
            node = self.node()
        self.assertEqual(json.loads(server.stdout.readline())['event'],
                         'listening')
        self.assertEqual(self.shown(node)['process'][0]['pid'], server.pid)
        done = subprocess.run(
            [cli.COLIBRI, 'perf', '--time', '0.05', '--ep',
             f'{self.nid}:12345:40:*', f'{self.nid}:12345:40:5'],
            env=self.env(), capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(server.wait(cli.PATIENCE), 0)

    def test_listener_survives_restarts_in_haste(self):
        """Each daemon is killed at a moment of its first 60 ms with the listener."""
        draw = random.Random(1)
        node = self.node()
        server = self.listen(5, '--reattach', '60')
        self.attached(node, 1)
        for _ in range(HASTY_NR):
            time.sleep(draw.random() * 0.06)
            node.child.kill()
            node.child.wait()
            node = self.node()
        self.attached(node, 1)
        deadline = time.monotonic() + cli.PATIENCE
        while True:
            done = subprocess.run(
                [cli.COLIBRI, 'perf', '--time', '0.05', '--ep',
                 f'{self.nid}:12345:40:*', f'{self.nid}:12345:40:5'],
                env=self.env(), capture_output=True, text=True, check=False)
            if done.returncode == 0 or time.monotonic() > deadline:
                break
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertEqual(server.wait(cli.PATIENCE), 0)

    def test_listener_looks_for_a_time(self):
        node = self.node()
        server = self.listen(5, '--reattach', '200ms')
        self.attached(node, 1)
        while 'perf' not in server.stdout.readline():
            pass
        node.child.kill()
        node.child.wait()
        self.assertEqual(server.wait(cli.PATIENCE), 1)

    def test_drain_ends_with_the_last_process(self):
        node = self.node()
        first = self.listen(5)
        self.attached(node, 1)
        drained = node.json('process', 'drain')
        self.assertEqual(drained, {'drain': {'attached': 1}})
        node.wait_for('drain', attached=1)
        # A further one learns why; the first one is served.
        late = subprocess.run([cli.COLIBRI, 'perf', '-t', 'lnet'],
                              env=self.env(), capture_output=True, text=True,
                              check=False)
        self.assertNotEqual(late.returncode, 0)
        self.assertIn('the daemon is draining', late.stderr)
        shown = self.attached(node, 1)['processes']
        self.assertEqual(shown['refused'], 1)
        self.assertIsNone(first.poll())
        first.kill()
        while node.read():
            pass
        self.assertEqual(node.child.wait(cli.PATIENCE), 0)
        stopping = node.wait_for('stopping')
        self.assertNotIn('signal', stopping)
        self.assertEqual(node.events[-1]['event'], 'stopped')
        self.assertFalse(os.path.exists(self.sock))

    def test_drain_of_a_node_without_processes(self):
        node = self.node()
        self.assert_done(node.run('process', 'drain'))
        self.assertEqual(node.child.wait(cli.PATIENCE), 0)

    def test_drain_that_has_a_time(self):
        """Processes that are left are detached, also if the time comes later."""
        node = self.node()
        child = self.listen(5)
        self.attached(node, 1)
        self.assert_done(node.run('process', 'drain'))
        self.assert_done(node.run('process', 'drain', '--within', '60'))
        self.assertIsNone(node.child.poll())
        self.assert_done(node.run('process', 'drain', '--within', '100ms'))
        self.assertEqual(node.child.wait(cli.PATIENCE), 0)
        child.kill()

    def test_drain_may_be_cut_short(self):
        node = self.node()
        self.listen(5)
        self.attached(node, 1)
        self.assert_done(node.run('process', 'drain'))
        self.assertEqual(node.stop()[0], 0)
        self.assertEqual(node.wait_for('stopping')['signal'], 'TERM')

    def test_drain_is_for_its_user(self):
        if os.geteuid() != 0:
            self.skipTest('needs another user')
        node = self.node('--ctl-mode', '666')
        done = node.run('process', 'drain', user=1234)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'only its user', done.stderr)
        self.assertEqual(self.shown(node)['processes']['attached'], 0)

    def test_bad_input(self):
        for words, text in ((('show', '--within', '1'), '--within'),
                            (('drain', '--within', '0'), '--within'),
                            (('drain', '--within', 'soon'), 'soon'),
                            (('drain', 'now'), "'now'"),
                            (('stop',), 'show, drain')):
            self.assert_refused(cli.run('process', *words), 2, text)
        self.assert_refused(cli.run('node', '--attach-users', 'root'), 2,
                            '--attach-users', '--attach only')
        for option, value in (('--attach-users', 'nobody-has-this-name'),
                              ('--attach-groups', ''),
                              ('--attach-mode', '777'),
                              ('--attach-processes', '0'),
                              ('--attach-memory', '1'),
                              ('--attach-memory-total', '4095'),
                              ('--attach-memory-total', '257T'),
                              ('--attach-rule', ''),
                              ('--attach-rule', 'portals'),
                              ('--attach-rule', 'ports=1'),
                              ('--attach-rule', 'portals='),
                              ('--attach-rule', 'portals=1,'),
                              ('--attach-rule', 'portals=34-30'),
                              ('--attach-rule', 'portals=1-65536'),
                              ('--attach-rule', 'portals=1,2,3,4,5,6,7,8,9'),
                              ('--attach-rule', 'tms=4096'),
                              ('--attach-rule', 'tms=-1'),
                              ('--attach-rule', 'user=nobody-has-this-name'),
                              ('--attach-rule', 'user=0:group=0'),
                              ('--attach-rule', 'copies=maybe'),
                              ('--attach-rule', 'portals=' + '1' * 600)):
            self.assert_refused(cli.run('node', '--attach=/tmp/x', option,
                                        value), 2, option)
        long = '/tmp/' + 'x' * 200
        self.assert_refused(cli.run('node', f'--attach={long}'), 2, '--attach')

    def test_nobody_listens(self):
        done = subprocess.run(
            [cli.COLIBRI, 'perf', '-t', 'lnet'],
            env=self.env(self.path('none')), capture_output=True, text=True,
            check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('no daemon listens', done.stderr)
        self.assertIn('colibri node --attach=', done.stderr)

    def test_node_without_processes(self):
        node = lnet.Node(self, '--net', f'tcp({lnet.address(0)})', '--port',
                         str(lnet.free_port()), '--accept', 'none')
        done = node.run('process', 'show')
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'without --attach', done.stderr)

    def test_second_daemon_is_refused(self):
        self.node()
        other = cli.run('node', '--net', f'tcp({lnet.address(1)})', '--port',
                        str(lnet.free_port()), '--accept', 'none',
                        '--ctl', self.path('other.ctl'),
                        f'--attach={self.sock}')
        self.assert_refused(other, 1, '--attach')


if __name__ == '__main__':
    cli.main()
