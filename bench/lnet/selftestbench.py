#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""LNet's selftest beside `colibri perf`, between the same two addresses, in turns.

  bench/lnet/selftestbench.py [-c A,B] [--passes N] [--time SECONDS] COLIBRI

Prints "name value unit", nanoseconds for each transfer of 1 MiB or each message.
Servers are a node with --selftest and a `perf --listen`; a pass runs perf put, brw
write, brw read, perf get, ping and perf rate, so that what disturbs one disturbs all.
Eight transfers are in flight, without a check. The figure of each is the median of
the passes.
"""
import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile

MIB = 1 << 20
DEPTH = 8
LIMIT_S = 60
PLAN = '''groups: {{client: 127.0.0.1@tcp, server: 127.0.0.2@tcp}}
duration: {seconds}
tests: [{{name: it, test: {test}, from: client, to: server, concurrency: {depth}}}]
'''


class Pair:
    """The two servers, and what clients measure with them."""

    def __init__(self, colibri, where, seconds):
        self.colibri, self.where, self.seconds = colibri, where, seconds
        self.ports = []
        for _ in range(2):
            with socket.socket() as sock:
                sock.bind(('127.0.0.2', 0))
                self.ports.append(str(sock.getsockname()[1]))
        self.children = []
        first = self.serve('node', self.ports[0], '--selftest', '--ctl',
                           os.path.join(where, 'node.sock'))
        while first['event'] != 'ready':
            first = json.loads(self.children[-1].stdout.readline())
        self.ep = self.serve('perf', self.ports[1], '--listen')['ep']

    def serve(self, verb, port, *options):
        """Starts a server; returns its first line."""
        child = subprocess.Popen(
            [self.colibri, verb, '--json', *self.node('127.0.0.2', port),
             *options], stdout=subprocess.PIPE)
        self.children.append(child)
        line = child.stdout.readline()
        if not line:
            sys.exit('selftestbench.py: no server')
        return json.loads(line)

    @staticmethod
    def node(addr, port):
        return ['--net', 'tcp(%s)' % addr, '--port', port, '--accept', 'all',
                '--source-ports', 'any']

    def ask(self, verb, port, *words):
        """What a client says."""
        done = subprocess.run(
            [self.colibri, verb, *words, '--json',
             *self.node('127.0.0.1', port)], check=True, timeout=LIMIT_S,
            stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def perf(self, test, size):
        """ns an operation."""
        rows = self.ask('perf', self.ports[1], '-T', test, '-s', str(size),
                        '-d', str(DEPTH), '--time', str(self.seconds),
                        self.ep)['rows']
        return 1e9 / rows[0]['ops_per_second']

    def selftest(self, test, message):
        """ns for each message sent, or for each MiB moved."""
        plan = os.path.join(self.where, 'plan.yaml')
        with open(plan, 'w', encoding='utf-8') as file:
            file.write(PLAN.format(seconds=self.seconds, test=test,
                                   depth=DEPTH))
        got = self.ask('lst', self.ports[0], 'run', plan)['tests'][0]
        return 1e9 / (got['messages_s'] if message else got['mib_s'])

    def stop(self):
        for child in self.children:
            child.terminate()
            child.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('-c', dest='cpus')
    parser.add_argument('--passes', type=int, default=4)
    parser.add_argument('--time', type=int, default=1)
    parser.add_argument('colibri')
    args = parser.parse_args()
    if args.cpus:
        os.sched_setaffinity(0, {int(c) for c in args.cpus.split(',')})
    figures = {}
    with tempfile.TemporaryDirectory() as where:
        pair = Pair(args.colibri, where, args.time)
        try:
            for _ in range(args.passes):
                for name, value in (
                        ('put', lambda: pair.perf('put', MIB)),
                        ('write', lambda: pair.selftest(
                            'brw write size=1M check=none', False)),
                        ('read', lambda: pair.selftest(
                            'brw read size=1M check=none', False)),
                        ('get', lambda: pair.perf('get', MIB)),
                        ('ping', lambda: pair.selftest('ping', True)),
                        ('rate', lambda: pair.perf('rate', 160))):
                    figures.setdefault(name, []).append(value())
        finally:
            pair.stop()
    for name, values in figures.items():
        print('%s %.1f ns' % (name, statistics.median(values)))


if __name__ == '__main__':
    main()
