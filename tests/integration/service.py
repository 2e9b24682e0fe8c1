# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri serve` and its clients, for the tests of these."""
import json
import os
import select
import signal
import subprocess
import time

import cli
import lnet


class Server:
    """A running service, told of by its lines of JSON."""

    def __init__(self, case, *options, directory=None, net=None, shim=None):
        self.case = case
        self.directory = directory or case.path('objects')
        os.makedirs(self.directory, exist_ok=True)
        self.options = (*(net or case.server_net()), *options)
        self.errors = case.path('serve.err')
        self.env = dict(os.environ)
        if shim is not None:
            self.env.update(LD_PRELOAD=os.environ['SERVICE_SHIM'],
                            SERVICE_SHIM_DIR=shim)
        self.child = None
        case.addCleanup(self.discard)
        self.start()

    def start(self):
        """Starts it, again."""
        if self.child is not None:
            self.child.stdout.close()
        with open(self.errors, 'ab') as errors:
            self.child = subprocess.Popen(
                [cli.COLIBRI, 'serve', '--json', *self.options,
                 self.directory],
                stdout=subprocess.PIPE, stderr=errors,
                stdin=subprocess.DEVNULL, env=self.env)
        line = self.line()
        if not line:
            raise AssertionError(f'no service: {self.error_text()}')
        first = json.loads(line)
        self.case.assertEqual(first['event'], 'serving')
        self.ep = first['ep']
        self.command = first['command']
        self.metrics = first.get('metrics')

    def line(self):
        """The next line; empty at the end."""
        ready = select.select([self.child.stdout], [], [], cli.PATIENCE)[0]
        if not ready:
            raise AssertionError('the service says nothing')
        return self.child.stdout.readline()

    def error_text(self):
        with open(self.errors, encoding='utf-8') as file:
            return file.read()

    def discard(self):
        if self.child is not None and self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.child.stdout.close()

    def kill(self):
        """As a power button."""
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()

    def stop(self, number=signal.SIGTERM):
        """Its exit code, and what it said last."""
        self.child.send_signal(number)
        last = json.loads(self.line())
        return self.child.wait(cli.PATIENCE), last


class Case(cli.Case):
    """A port, and who uses it."""

    def setUp(self):
        super().setUp()
        self.port = lnet.free_port()

    def server_net(self, i=2):
        return ('--net', f'tcp({lnet.address(i)})', '--port', str(self.port),
                '--accept', 'all')

    def client_net(self, i=1):
        return ('--net', f'tcp({lnet.address(i)})', '--port', str(self.port),
                '--source-ports', 'any')

    def run_client(self, verb, *args, i=1, timeout='30'):
        return cli.run(verb, '--timeout', timeout, *self.client_net(i), *args)

    def start_client(self, verb, *args, i=1, timeout='60'):
        child = subprocess.Popen(
            [cli.COLIBRI, verb, '--timeout', timeout, *self.client_net(i),
             *args],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def json(self, verb, *args, **kwargs):
        result = self.run_client(verb, '--json', *args, **kwargs)
        self.assert_done(result)
        return json.loads(result.stdout)

    def names(self, server, prefix=''):
        tree = self.json('ls', f'{server.ep}:{prefix}')
        return [entry['name'] for entry in tree['objects']]

    def ask(self, server, *what):
        """As no client does."""
        child = self.start_asking(server, *what)
        _, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 0, text)

    def start_asking(self, server, *what, i=3):
        child = subprocess.Popen(
            [os.environ['SERVICE_HOSTILE'], f'tcp({lnet.address(i)})',
             str(self.port), server.ep, *what], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(child.stdin.close)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def start_liar(self):
        ep = f'127.0.0.1:{self.port}:1'
        liar = subprocess.Popen([os.environ['SERVICE_LIAR'], ep], bufsize=0,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(liar.stdout.close)
        self.addCleanup(liar.wait)
        self.addCleanup(liar.stdin.close)
        self.assertEqual(liar.stdout.readline(), b'there\n')
        return ep, liar

    def shim(self):
        """Makes the directory that says what is to fail."""
        if 'SERVICE_SHIM' not in os.environ:
            self.skipTest('a sanitizer is preloaded')
        os.mkdir(self.path('shim'))
        return self.path('shim')

    def data_files(self, server):
        """Names of files with data."""
        return sorted(name for where, _, names in os.walk(
            os.path.join(server.directory, '.colibri', 'data'))
            for name in names)

    def wait_until(self, done, what):
        deadline = time.monotonic() + cli.PATIENCE
        while not done():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.05)

    def same_trees(self, one, other):
        result = subprocess.run(['diff', '-r', one, other], check=False,
                                stdout=subprocess.PIPE)
        self.assertEqual(result.returncode, 0, result.stdout)
