# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Processes on two hosts (network namespaces) while the wire between them is
cut, cut in one direction, slow or lossy, and while they are stopped or killed.

Each ends within its bound, whole or with nothing left behind; once all is well
again, the same works again. $M0_SEED repeats the moments; $CHAOS_SECONDS is how
long each test goes on (each kind of fault comes up once all the same).
"""
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time

import cli
import far
import lnet
import node_ns_test
from node_ns_test import IP, V4, run

SEED = int(os.environ.get('M0_SEED', random.SystemRandom().randrange(1 << 32)))
SECONDS = float(os.environ.get('CHAOS_SECONDS', 12))
SIZE = 4 << 20
TIMEOUT = 1
# Their time-outs, the back-off after a loss, and what a busy machine adds.
BOUND = TIMEOUT + 20
# Longer and shorter than the time-out.
SPANS = (0.05, 2.5 * TIMEOUT)
# Small blocks: many moments.
SLOW = ('--block', '4K', '--inflight', '2', '--quiet')
TC = shutil.which('tc') or '/usr/sbin/tc'
NFT = shutil.which('nft') or '/usr/sbin/nft'


class Wire:
    """What may become of the wire: pairs of commands that begin and end it."""

    def __init__(self, case):
        self.case = case
        self.ways = {
            'link down': (
                (0, (IP, 'link', 'set', 'veth0', 'down')),
                (0, (IP, 'link', 'set', 'veth0', 'up'))),
            'one way only': (
                (0, (IP, 'route', 'add', 'blackhole', f'{V4[1]}/32')),
                (0, (IP, 'route', 'del', 'blackhole', f'{V4[1]}/32'))),
            'the other way only': (
                (1, (IP, 'route', 'add', 'blackhole', f'{V4[0]}/32')),
                (1, (IP, 'route', 'del', 'blackhole', f'{V4[0]}/32')))}
        self.skipped = {}
        end = (0, (TC, 'qdisc', 'del', 'dev', 'veth0', 'root'))
        self.offer('slow', (0, (TC, 'qdisc', 'add', 'dev', 'veth0', 'root',
                                'tbf', 'rate', '2mbit', 'burst', '16k',
                                'latency', '200ms')), end)
        self.offer('lossy', (0, (TC, 'qdisc', 'add', 'dev', 'veth0', 'root',
                                 'netem', 'loss', '20%', 'delay', '5ms',
                                 '3ms', 'duplicate', '5%')), end)
        self.offer('a filter', (1, (NFT, 'add table inet m0; add chain inet '
                                    'm0 in { type filter hook input priority '
                                    '0; policy drop; }')),
                   (1, (NFT, 'delete', 'table', 'inet', 'm0')))

    def offer(self, name, begin, end):
        """Of what not every kernel or machine has."""
        why = self.run(begin)
        if why is None:
            why = self.run(end)
        if why is None:
            self.ways[name] = (begin, end)
        else:
            self.skipped[name] = why

    def run(self, step):
        host, command = step
        if not os.access(command[0], os.X_OK):
            return f'{os.path.basename(command[0])} is not installed'
        result = run(*self.case.enter(host), *command)
        return result.stderr.decode().strip() if result.returncode else None

    @contextlib.contextmanager
    def bad(self, name):
        begin, end = self.ways[name]
        self.case.assertIsNone(self.run(begin))
        try:
            yield
        finally:
            self.case.assertIsNone(self.run(end))
            self.case.wait_for_wire(0)


class Case(node_ns_test.Case):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)
        self.now = f'M0_SEED={SEED}'
        self.wire = Wire(self)
        for name, why in self.wire.skipped.items():
            print(f'skipped: {name}: {why}')

    def turns(self, *more):
        """Each kind once, then any until time is over."""
        kinds = [*self.wire.ways, *more]
        self.rng.shuffle(kinds)
        end = time.monotonic() + SECONDS
        turn = 0
        while kinds or time.monotonic() < end:
            kind = kinds.pop() if kinds else self.rng.choice(
                [*self.wire.ways, *more])
            turn += 1
            self.now = f'M0_SEED={SEED}, turn {turn}: {kind}'
            yield kind

    def _formatMessage(self, msg, standard):
        return f'{self.now}: {super()._formatMessage(msg, standard)}'

    def span(self):
        # Most are short.
        return SPANS[0] + (SPANS[1] - SPANS[0]) * self.rng.random() ** 3

    @contextlib.contextmanager
    def stopped(self, child):
        child.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            child.send_signal(signal.SIGCONT)


class Copies(Case):
    def setUp(self):
        super().setUp()
        self.takes = 0
        self.content = self.rng.randbytes(SIZE)
        self.src = self.make('src', self.content)
        self.listener = self.listen()

    def listen(self):
        return far.Listener(self, '--timeout', str(TIMEOUT), net=(),
                            prefix=self.enter(1), quick=False)

    def command(self, name, *options):
        return [*self.enter(0), cli.COLIBRI, 'copy', *options, *SLOW, self.src,
                f'{self.listener.ep}:{name}']

    def check(self, name):
        path = os.path.join(self.listener.directory, name)
        self.assertEqual(self.read(path), self.content)
        os.unlink(path)

    def copy_again(self):
        """All is well: the copy is, and nothing of the one before is left."""
        result = run(*self.command('again', '--timeout', '30'))
        self.assertEqual(result.returncode, 0, result.stderr)
        while self.listener.event().get('name') != 'again':
            pass
        self.check('again')
        # The one before may still be on its way out.
        deadline = time.monotonic() + BOUND
        while self.listener.files() not in ([], ['x']):
            self.assertLess(time.monotonic(), deadline, self.listener.files())
            time.sleep(0.05)
        if self.listener.files():
            self.check('x')

    def harm(self, kind, child):
        """One fault, from beginning to end."""
        time.sleep(self.rng.uniform(0, 0.8 * self.takes))
        if kind == 'sender killed':
            child.kill()
        elif kind == 'receiver killed':
            self.listener.kill()
        else:
            if kind in self.wire.ways:
                fault = self.wire.bad(kind)
            else:
                fault = self.stopped(child if kind == 'sender stopped'
                                     else self.listener.child)
            with fault:
                time.sleep(self.span())

    def test_copies(self):
        start = time.monotonic()
        self.copy_again()
        self.takes = time.monotonic() - start
        ended = 0
        for kind in self.turns('sender killed', 'receiver killed',
                               'sender stopped', 'receiver stopped'):
            child = subprocess.Popen(
                self.command('x', '--timeout', str(TIMEOUT)),
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                self.harm(kind, child)
                start = time.monotonic()
                _, text = child.communicate(timeout=cli.PATIENCE)
                self.assertLess(time.monotonic() - start, BOUND, kind)
            finally:
                child.kill()
                child.wait()
                child.stderr.close()
            self.assertIn(child.returncode, (0, 1, -signal.SIGKILL), text)
            ended += child.returncode != 0
            if child.returncode == 1:
                self.assertNotEqual(text, b'')
            if kind == 'receiver killed':
                self.listener = self.listen()
            self.copy_again()
        print(f'{ended} copies ended early')
        self.assertEqual(self.listener.stop(signal.SIGINT), 0)
        self.assertEqual(self.listener.files(), [])


class Nodes(Case):
    OPTIONS = ('--lnd-timeout', str(TIMEOUT), '--transaction-timeout',
               str(TIMEOUT))

    def setUp(self):
        super().setUp()
        self.nodes = [self.node(i, *self.OPTIONS) for i in (0, 1)]

    def start_pings(self):
        """By the first node, many at a time and each to the second."""
        return [subprocess.Popen(
            [cli.COLIBRI, 'ping', '--ctl', self.nodes[0].ctl, '--timeout',
             str(TIMEOUT), *[f'{V4[1]}@tcp'] * 16],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(4)]

    def end_pings(self, children):
        start = time.monotonic()
        for child in children:
            child.communicate(timeout=cli.PATIENCE)
            self.assertIn(child.returncode, (0, 1))
        self.assertLess(time.monotonic() - start, BOUND)

    def assert_well(self):
        """Both reach each other; nothing of what has failed is kept."""
        deadline = time.monotonic() + BOUND
        for i in (0, 1):
            while True:
                result = self.ask(self.nodes[i], 'ping', '--timeout', '1',
                                  f'{V4[1 - i]}@tcp')
                if result.returncode == 0:
                    break
                self.assertLess(time.monotonic(), deadline, result.stderr)
                time.sleep(0.1)
        while not all(self.is_at_rest(node) for node in self.nodes):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def show(self, node, *words):
        result = self.ask(node, *words, '--json')
        self.assert_done(result)
        return json.loads(result.stdout)

    def is_at_rest(self, node):
        if self.show(node, 'stats', 'show')['statistics']['msgs_alloc'] > 0:
            return False
        return all(ni['available_tx_credits'] == ni['max_ni_tx_credits']
                   for peer in self.show(node, 'peer', 'show', '-v')['peer']
                   for ni in peer['peer ni'])

    def test_nodes(self):
        self.assert_well()
        for kind in self.turns('node killed', 'node stopped'):
            children = self.start_pings()
            time.sleep(self.rng.uniform(0, 0.05))
            if kind == 'node killed':
                self.nodes[1].child.kill()
                self.nodes[1].discard()
                self.nodes[1] = self.node(1, *self.OPTIONS)
            elif kind == 'node stopped':
                with self.stopped(self.nodes[1].child):
                    time.sleep(self.span())
            else:
                with self.wire.bad(kind):
                    time.sleep(self.span())
            self.end_pings(children)
            self.assert_well()
        for node in self.nodes:
            code, _ = node.stop()
            self.assertEqual(code, 0, node.error_text())
            self.assertFalse(os.path.exists(node.ctl))


if __name__ == '__main__':
    if Case.WHY is not None:
        print(f'skipped: {Case.WHY}')
    cli.main()
