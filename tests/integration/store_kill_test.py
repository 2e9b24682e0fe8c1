# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Servers with a durable store that are killed, and clients that go on.

Clients append numbered records through update streams while servers are killed
at any moment, streams are cut, processes are stopped, clients are killed and
the disk is full. Then what the store has is compared with what the clients were
told: what was acknowledged is there, once, in order; what was refused is not;
nothing is there twice. $M0_SEED repeats the moments, $M0_KILLS_NR is how many
servers are killed.
"""
import collections
import os
import random
import select
import signal
import subprocess
import time

import cli
import lnet

STORE_KILL = os.environ['STORE_KILL']
SEED = int(os.environ.get('M0_SEED', random.SystemRandom().randrange(1 << 32)))
TURNS = int(os.environ.get('M0_KILLS_NR', 50))
CLIENTS = (1, 2)
# Time-out of a transaction, so that a dead peer is given up soon.
TIMEOUT_MS = '1000'


class Process:
    """A server or a client; ready when it says so."""

    def __init__(self, case, address, *args, prefix=()):
        env = dict(os.environ, M0_LNET=f'tcp({lnet.address(address)})',
                   M0_LNET_PORT=str(case.port), M0_LNET_ACCEPT='all',
                   M0_LNET_TIMEOUT_MS=TIMEOUT_MS)
        self.case = case
        self.errors = case.path(f'errors.{address}')
        with open(self.errors, 'ab') as errors:
            self.child = subprocess.Popen([*prefix, STORE_KILL, *args], env=env,
                                          stdin=subprocess.DEVNULL,
                                          stdout=subprocess.PIPE, stderr=errors)
        case.addCleanup(self.discard)

    def wait_ready(self):
        ready = select.select([self.child.stdout], [], [], cli.PATIENCE)[0]
        line = self.child.stdout.readline() if ready else b'nothing'
        if line != b'ready\n':
            with open(self.errors, encoding='utf-8') as file:
                self.case.fail(f'seed {SEED}: said {line!r}: {file.read()}')
        return self

    def send(self, signo):
        self.child.send_signal(signo)

    def kill(self):
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()

    def discard(self):
        if self.child.poll() is None:
            self.kill()

    def end(self):
        """In good order. @return what it said."""
        self.send(signal.SIGTERM)
        out = self.child.communicate(timeout=cli.PATIENCE)[0].decode()
        if self.child.returncode != 0:
            with open(self.errors, encoding='utf-8') as file:
                self.case.fail(f'seed {SEED}: status {self.child.returncode}: '
                               f'{file.read()}')
        return out


class StoreKill(cli.Case):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)
        self.port = lnet.free_port()
        self.store = self.path('store')
        self.server_address = f'{lnet.address(1)}@tcp:12345:40:1'
        self.lives = collections.Counter()
        self.clients = {}
        self.server = None

    def start_server(self, *options, prefix=()):
        self.server = Process(self, 1, 'server', self.store,
                              self.server_address, *options, prefix=prefix)
        return self.server

    def log(self, nr):
        return self.path(f'log.{nr}')

    def start_client(self, nr):
        self.lives[nr] += 1
        self.clients[nr] = Process(self, 1 + nr, 'client', str(nr),
                                   str(self.lives[nr]), self.server_address,
                                   self.log(nr))
        return self.clients[nr]

    def start(self, *options, prefix=()):
        self.start_server(*options, prefix=prefix).wait_ready()
        for nr in CLIENTS:
            self.start_client(nr)
        for nr in CLIENTS:
            self.clients[nr].wait_ready()

    def restart_server(self, *options, prefix=()):
        self.server.kill()
        return self.start_server(*options, prefix=prefix).wait_ready()

    def end(self):
        for client in self.clients.values():
            client.end()
        return self.server.end()

    def any_process(self):
        return self.rng.choice([self.server, *self.clients.values()])

    def pause(self, least, most):
        time.sleep(self.rng.uniform(least, most))

    def told(self):
        """(client, stream, life, number): (error, rc)"""
        lines = {}
        for nr in CLIENTS:
            with open(self.log(nr), encoding='ascii') as file:
                for line in file:
                    life, stream, number, error, rc = map(int, line.split())
                    key = (nr, stream, life, number)
                    self.assertNotIn(key, lines, 'was told twice')
                    lines[key] = (error, rc)
        return lines

    def kept(self):
        result = subprocess.run([STORE_KILL, 'list', self.store],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                timeout=cli.PATIENCE, check=False, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [tuple(map(int, line.split()))
                for line in result.stdout.splitlines()]

    def check(self):
        """@return how many were acknowledged and how many refused."""
        told, kept = self.told(), self.kept()
        last = {}
        for record in kept:
            stream, order = record[:2], record[2:]
            self.assertLess(last.get(stream, (0, -1)), order,
                            f'seed {SEED}: once and in order: {record}')
            last[stream] = order
        there = set(kept)
        acknowledged = {k for k, v in told.items() if v == (0, 0)}
        refused = {k for k, v in told.items() if v[0] == 0 and v[1] != 0}
        self.assertEqual(sorted(acknowledged - there)[:5], [],
                         f'seed {SEED}: acknowledged and lost')
        self.assertEqual(sorted(refused & there)[:5], [],
                         f'seed {SEED}: refused and there')
        if 'STORE_KILL_TELL' in os.environ:
            print(f'# {len(kept)} there, {len(told)} told, '
                  f'{len(acknowledged)} acknowledged, {len(refused)} refused')
        return len(acknowledged), len(refused)

    def test_servers_are_killed(self):
        self.start()
        for _ in range(TURNS):
            self.pause(0.02, 0.3)
            trouble = self.rng.randrange(10)
            if trouble == 0:
                self.any_process().send(signal.SIGUSR1)
                self.pause(0, 0.1)
            elif trouble == 1:
                process = self.any_process()
                process.send(signal.SIGSTOP)
                self.pause(0, 0.15)
                process.send(signal.SIGCONT)
            elif trouble == 2:
                nr = self.rng.choice(CLIENTS)
                self.clients[nr].kill()
                self.start_client(nr).wait_ready()
            self.restart_server()
        self.pause(0.2, 0.3)
        self.end()
        acknowledged, refused = self.check()
        self.assertGreater(acknowledged, TURNS)
        self.assertEqual(refused, 0)

    def refusals(self):
        nr = 0
        for client in CLIENTS:
            with open(self.log(client), encoding='ascii') as file:
                nr += sum(line.split()[3:] != ['0', '0'] for line in file)
        return nr

    def wait_refused(self, nr):
        deadline = time.monotonic() + cli.PATIENCE
        while self.refusals() < nr:
            self.assertLess(time.monotonic(), deadline, 'nothing is refused')
            time.sleep(0.02)

    def full(self, *options, prefix=()):
        """A disk with room for some; the server is killed when it is full."""
        self.start(*options, prefix=prefix)
        self.wait_refused(10)
        self.restart_server(*options, prefix=prefix)
        self.wait_refused(self.refusals() + 10)
        self.restart_server()
        self.pause(0.3, 0.5)
        self.end()
        acknowledged, refused = self.check()
        self.assertGreater(acknowledged, 100)
        self.assertGreaterEqual(refused, 10)

    def test_store_is_full(self):
        self.full('2097152')

    def test_disk_is_full(self):
        # Writes of a commit fail as on a full disk, as far as a test can
        # arrange that.
        self.full(prefix=('sh', '-c', 'ulimit -f 3000; exec "$@"', 'sh'))


if __name__ == '__main__':
    cli.main()
