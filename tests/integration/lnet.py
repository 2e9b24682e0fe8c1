# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Nodes for the tests of `colibri node` and those who speak to it."""
import json
import os
import select
import signal
import socket
import subprocess
import time

import cli

# Addresses of the loopback that no other test of this machine has.
PREFIX = f'127.{os.getpid() >> 8 & 127 | 64}.{os.getpid() & 255}'


def address(i):
    return f'{PREFIX}.{i}'


def free_port(count=8):
    """A port that nobody has at the first addresses, above those privileged."""
    while True:
        with socket.socket() as first:
            first.bind((address(1), 0))
            port = first.getsockname()[1]
        try:
            for i in range(1, count + 1):
                with socket.socket() as sock:
                    sock.bind((address(i), port))
            return port
        except OSError:
            continue


class Node:
    """A running `colibri node`, told of by its lines of JSON."""

    def __init__(self, case, *options, ctl=None, prefix=(), env=None,
                 stdin=subprocess.DEVNULL):
        self.ctl = ctl or case.path(f'node{len(os.listdir(case.dir))}.sock')
        command = [*prefix, cli.COLIBRI, 'node', '--json', '--ctl', self.ctl,
                   *options]
        # A file: nobody has to read it lest the node waits.
        self.errors = case.path(f'errors{len(os.listdir(case.dir))}')
        with open(self.errors, 'wb') as errors:
            self.child = subprocess.Popen(command, stdout=subprocess.PIPE,
                                          stderr=errors, env=env,
                                          stdin=stdin)
        self.buffer = b''
        self.events = []
        case.addCleanup(self.discard)
        while not self.events or self.events[-1]['event'] != 'ready':
            if not self.read():
                raise AssertionError(f'no node: {self.error_text()}')
        self.pid = self.child.pid

    def discard(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGCONT)
            self.child.kill()
        self.child.wait()
        self.child.stdout.close()

    def error_text(self):
        with open(self.errors, encoding='utf-8') as file:
            return file.read()

    def read(self):
        """Reads another line; False at the end."""
        deadline = time.monotonic() + cli.PATIENCE
        while b'\n' not in self.buffer:
            left = deadline - time.monotonic()
            ready = select.select([self.child.stdout], [], [], max(left, 0))[0]
            if not ready:
                raise AssertionError('the node says nothing')
            part = os.read(self.child.stdout.fileno(), 65536)
            if not part:
                return False
            self.buffer += part
        line, self.buffer = self.buffer.split(b'\n', 1)
        self.events.append(json.loads(line))
        return True

    def wait_for(self, event, **members):
        """Reads until an event with these members."""
        seen = 0
        while True:
            while seen < len(self.events):
                found = self.events[seen]
                if found['event'] == event and \
                        all(found.get(k) == v for k, v in members.items()):
                    return found
                seen += 1
            if not self.read():
                raise AssertionError(f'{event} never came: {self.events}')

    def nids(self):
        return [e['nid'] for e in self.events if e['event'] == 'nid']

    def run(self, *args, **kwargs):
        """Runs a command that asks this node."""
        return cli.run(*args, '--ctl', self.ctl, **kwargs)

    def json(self, *args):
        return json.loads(self.run(*args, '--json').stdout)

    def stop(self, number=signal.SIGTERM):
        """Returns the exit code and the last event."""
        self.child.send_signal(number)
        while self.read():
            pass
        self.child.wait(cli.PATIENCE)
        return self.child.returncode, self.events[-1]


def ping_text(*nodes, verb='ping', rail=None):
    """What is printed when nodes, lists of NIDs, have answered.

    Only those that have been discovered are Multi-Rail.
    """
    rail = rail or ('true' if verb == 'discover' else 'false')
    text = f'{verb}:\n'
    for nids in nodes:
        text += f'- primary nid: {nids[0]}\n  Multi-Rail: {rail}\n  peer_ni:\n'
        text += ''.join(f'  - nid: {nid}\n' for nid in nids)
    return text.encode()


def failure_text(nid, number, verb='ping'):
    """What is printed when a NID has not."""
    return (f'manage:\n- {verb}:\n  errno: -{number}\n  descr: ! '
            f"'failed to {verb} {nid}: {os.strerror(number)}'\n").encode()
