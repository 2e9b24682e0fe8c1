# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri copy --listen` and who sends to it, for the tests of these."""
import json
import os
import select
import subprocess
import time

import cli
import lnet


class Listener:
    """A running receiver, told of by its lines of JSON."""

    def __init__(self, case, *options, prefix=(), directory=None, net=None,
                 quick=True):
        self.case = case
        self.directory = directory or case.path('in')
        os.makedirs(self.directory, exist_ok=True)
        if net is None:
            net = ('--net', f'tcp({lnet.address(2)})', '--port',
                   str(case.port), '--accept', 'all')
        if quick:
            options = ('--timeout', '5', *options)
        self.buffer = b''
        self.errors = open(case.path('listen.err'), 'ab')
        self.child = subprocess.Popen(
            [*prefix, cli.COLIBRI, 'copy', '--listen', '--json', *net,
             *options, self.directory],
            stdout=subprocess.PIPE, stderr=self.errors,
            stdin=subprocess.DEVNULL)
        case.addCleanup(self.discard)
        first = self.event()
        if first is None:
            raise AssertionError(f'no receiver: {self.error_text()}')
        self.ep = first['ep']
        self.command = first['command']

    def event(self):
        """The next line; None at the end."""
        deadline = time.monotonic() + cli.PATIENCE
        while b'\n' not in self.buffer:
            left = deadline - time.monotonic()
            if not select.select([self.child.stdout], [], [],
                                 max(left, 0))[0]:
                raise AssertionError('the receiver says nothing')
            part = os.read(self.child.stdout.fileno(), 65536)
            if not part:
                return None
            self.buffer += part
        line, self.buffer = self.buffer.split(b'\n', 1)
        return json.loads(line)

    def error_text(self):
        with open(self.errors.name, encoding='utf-8') as file:
            return file.read()

    def discard(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        self.child.stdout.close()
        self.errors.close()

    def kill(self):
        self.child.kill()
        self.discard()

    def stop(self, number):
        self.child.send_signal(number)
        return self.child.wait(cli.PATIENCE)

    def files(self):
        """Names below the directory."""
        return sorted(os.path.relpath(os.path.join(where, name),
                                      self.directory)
                      for where, _, names in os.walk(self.directory)
                      for name in names)


class Case(cli.Case):
    def setUp(self):
        super().setUp()
        self.port = lnet.free_port()

    def sender_options(self, i=1):
        return ('--net', f'tcp({lnet.address(i)})', '--port', str(self.port),
                '--source-ports', 'any')

    def send(self, src, dst, *options, i=1, timeout='5'):
        return cli.run('copy', '--timeout', timeout,
                       *self.sender_options(i), *options, src, dst)

    def start_sending(self, src, dst, *options, i=1, timeout='5'):
        child = subprocess.Popen(
            [cli.COLIBRI, 'copy', '--timeout', timeout,
             *self.sender_options(i), *options, src, dst],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def slow(self, listener, name='x', timeout='5'):
        """A copy that takes long and has begun."""
        src = self.make_sparse('slow', 4 << 30)
        child = self.start_sending(src, f'{listener.ep}:{name}', '--block',
                                   '16K', '--inflight', '2', timeout=timeout)
        deadline = time.monotonic() + cli.PATIENCE
        while time.monotonic() < deadline and child.poll() is None:
            with open(f'/proc/{child.pid}/io', encoding='ascii') as file:
                if int(file.readline().split()[1]) > 4 << 20:
                    break
            time.sleep(0.001)
        return child
