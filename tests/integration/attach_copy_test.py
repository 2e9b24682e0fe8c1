# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Attached processes that copy payloads from each other (`--same-host=on`): who has copied,
and processes and daemons that are killed while copies are under way.

$M0_SEED repeats the moments, $M0_KILLS_NR is how many kills there are.

[r.M0.net.xprt.lnet.cleanup-on-process-termination]"""
import os
import random
import subprocess
import time

import attached
import cli

SEED = int(os.environ.get('M0_SEED', random.SystemRandom().randrange(1 << 32)))
KILLS_NR = int(os.environ.get('M0_KILLS_NR', 24))
PAIRS_NR = 2
COPIES = '--same-host=on'


class Copies(attached.Case):
    def eps(self):
        return [f'{self.nid}:12345:40:{i}' for i in range(PAIRS_NR)]


    def perf_run(self, *options):
        """One PUT test of 1 MiB. @return what is shown of both processes."""
        node = self.node(*options)
        server = self.listen(5, COPIES, '--timeout', '60')
        while 'perf' not in server.stdout.readline():
            pass
        client = subprocess.Popen(
            [cli.COLIBRI, 'perf', COPIES, '--time', '600', '-T', 'put', '-s',
             '1M', '--ep', f'{self.nid}:12345:40:*', f'{self.nid}:12345:40:5'],
            env=self.env(), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        deadline = time.monotonic() + cli.PATIENCE
        while True:
            shown = [proc for proc in self.shown(node)['process']
                     if proc['pid'] == server.pid][0]
            moved = shown['copied'] + shown['copied by the node']
            if moved > 20 << 20 or time.monotonic() > deadline:
                return shown
            time.sleep(0.01)

    def test_process_of_the_target_copies(self):
        shown = self.perf_run()
        self.assertGreater(shown['copied by the node'], 0)
        if shown['fell back'] > 0 and shown['copied'] == 0:
            self.skipTest('the system does not let a process read another')
        self.assertGreater(shown['copied'], 19 << 20)
        self.assertEqual(shown['by shadows'], 0)

    def test_rule_forbids_it(self):
        shown = self.perf_run('--attach-rule=copies=off')
        self.assertEqual((shown['copied'], shown['fell back']), (0, 0))
        self.assertGreater(shown['copied by the node'], 20 << 20)

    def pairs_start(self, node, draw):
        """Pairs that put or get, of which all move bytes."""
        listeners = [self.spawn('--listen', COPIES, '--timeout', '2', '--ep',
                                ep) for ep in self.eps()]
        self.attached(node, PAIRS_NR)
        clients = [self.spawn('--time', '60', COPIES, '--timeout', '2', '-T',
                              draw.choice(('put', 'get')), '-s',
                              draw.choice(('64K', '300K', '1M')), '--ep',
                              f'{self.nid}:12345:40:*', ep)
                   for ep in self.eps()]
        deadline = time.monotonic() + cli.PATIENCE
        while time.monotonic() < deadline:
            shown = self.shown(node)['process']
            if sum(proc['copied'] > 0 for proc in shown) >= PAIRS_NR:
                break
            time.sleep(0.005)
        time.sleep(draw.random() * 0.01)
        return listeners, clients

    def end(self, children):
        for child in children:
            child.kill()
            child.wait()

    def kill_round(self, node, draw):
        """@return (node, kills, bytes that the processes had copied before)"""
        listeners, clients = self.pairs_start(node, draw)
        children = listeners + clients
        copied = sum(proc['copied'] for proc in self.shown(node)['process'])
        try:
            if draw.randrange(5) == 0:
                node.child.kill()
                node.child.wait()
                for child in children:
                    # A client ends with an error, a listener, too.
                    self.assertNotEqual(child.wait(cli.PATIENCE), 0)
                return self.node(), 1, copied
            killed = draw.choice((listeners, clients, children))
            for child in draw.sample(killed, len(killed)):
                self.assertIsNone(child.poll())
                child.kill()
                time.sleep(draw.random() * 0.004)
            # The other side may notice it, and the node goes on meanwhile.
            time.sleep(draw.random() * 0.02)
            self.assertIsNone(node.child.poll())
        finally:
            self.end(children)
        self.nothing_left(node)
        return node, len(killed), copied

    def test_kills_amid_copies_leave_nothing(self):
        """Targets, initiators, both, and the daemon."""
        node = self.node('--attach-processes', str(2 * PAIRS_NR))
        draw = random.Random(SEED)
        killed = 0
        copied = 0
        with self.subTest(seed=SEED):
            while killed < KILLS_NR:
                node, nr, some = self.kill_round(node, draw)
                killed += nr
                copied += some
            if copied == 0:
                self.skipTest('the system does not let a process read another')
            # The node serves on.
            listeners, clients = self.pairs_start(node, draw)
            self.end(listeners + clients)
            self.nothing_left(node)
        print(f'{killed} kills, {copied >> 20} MiB copied, M0_SEED={SEED}')


if __name__ == '__main__':
    cli.main()
