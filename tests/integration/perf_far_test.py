# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri perf --listen` and `colibri perf EP`, on addresses of the loopback.

How large the numbers are, and which verdict they lead to, is nobody's business
here; that they are there, and that everything ends, is.
"""
import json
import os
import select
import shlex
import signal
import subprocess
import time

import cli
import lnet

BOUNDS = ('wire', 'cpu', 'window', 'unknown', 'host')
QUICK = ('--time', '0.05')


class Server:
    """A running server, told of by its lines of JSON."""

    def __init__(self, case, *options, net=None, prefix=(), timeout='20',
                 stdout=None):
        if net is None:
            net = ('--net', f'tcp({lnet.address(2)})', '--port',
                   str(case.port), '--accept', 'all')
        self.buffer = b''
        self.errors = open(case.path('server.err'), 'ab')
        self.child = subprocess.Popen(
            [*prefix, cli.COLIBRI, 'perf', '--listen', '--json', '--timeout',
             timeout, *net, *options],
            stdout=stdout or subprocess.PIPE, stderr=self.errors,
            stdin=subprocess.DEVNULL)
        case.addCleanup(self.discard)
        first = self.event() if stdout is None else self.first(stdout.name)
        if first is None:
            raise AssertionError(f'no server: {self.error_text()}')
        case.assertEqual(first['event'], 'listening')
        self.ep = first['ep']
        self.command = first['command']

    @staticmethod
    def first(name):
        """The first line, of a file that the rest goes to as well."""
        deadline = time.monotonic() + cli.PATIENCE
        while time.monotonic() < deadline:
            with open(name, encoding='utf-8') as file:
                line = file.readline()
            if line.endswith('\n'):
                return json.loads(line)
            time.sleep(0.01)
        raise AssertionError('the server says nothing')

    def event(self):
        """The next line; None at the end."""
        deadline = time.monotonic() + cli.PATIENCE
        while b'\n' not in self.buffer:
            left = deadline - time.monotonic()
            if not select.select([self.child.stdout], [], [],
                                 max(left, 0))[0]:
                raise AssertionError('the server says nothing')
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
            self.child.send_signal(signal.SIGCONT)
            self.child.kill()
        self.child.wait()
        if self.child.stdout is not None:
            self.child.stdout.close()
        self.errors.close()

    def stop(self, number=signal.SIGTERM):
        self.child.send_signal(number)
        return self.child.wait(cli.PATIENCE)


class Case(cli.Case):
    def setUp(self):
        super().setUp()
        self.port = lnet.free_port()

    def words(self, *options, i=1, timeout='20'):
        return ('perf', '--net', f'tcp({lnet.address(i)})', '--port',
                str(self.port), '--source-ports', 'any', '--timeout', timeout,
                *options)

    def client(self, server, *options, **kwargs):
        return cli.run(*self.words(*options, **kwargs), server.ep)

    def start(self, server, *options, **kwargs):
        child = subprocess.Popen(
            [cli.COLIBRI, *self.words(*options, **kwargs), server.ep],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def start_long(self, server, *options, **kwargs):
        """A row that does not end by itself; returns when it runs."""
        child = self.start(server, '--time', '3600', '--test', 'put', '--size',
                           '4K', '--depth', '1', *options, **kwargs)
        deadline = time.monotonic() + cli.PATIENCE
        while child.poll() is None and self.ticks(child) < 5:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.assertIsNone(child.poll())
        return child

    @staticmethod
    def ticks(child):
        """Of processor time: who moves data has some."""
        with open(f'/proc/{child.pid}/stat', encoding='ascii') as file:
            fields = file.read().rsplit(')', 1)[1].split()
        return int(fields[11]) + int(fields[12])

    def end(self, child):
        out, text = child.communicate(timeout=cli.PATIENCE)
        return child.returncode, out, text.decode()

    def check_served(self, server, *options, **kwargs):
        """A client measures, and the server says so."""
        result = self.client(server, *QUICK, '--test', 'latency', *options,
                             **kwargs)
        self.assert_done(result)
        told = server.event()
        self.assertEqual(told['event'], 'served', told)
        self.assertEqual(told['rows'], 1)


class Measures(Case):
    def rows(self, server, *options):
        result = self.client(server, *QUICK, '--json', *options)
        self.assert_done(result)
        tree = json.loads(result.stdout)
        self.assertEqual(tree['transport'], 'lnet')
        self.assertEqual(tree['server'], server.ep)
        for row in tree['rows']:
            ns = row['ns']
            self.assertGreater(row['ops'], 0)
            self.assertGreater(row['ops_per_second'], 0)
            # An event has the time of its callback, not that of a node's step.
            self.assertGreater(ns['p50'], 0)
            self.assertLessEqual(ns['p50'], ns['p99.9'])
            self.assertLessEqual(ns['p99.9'], ns['max'])
            self.assertGreaterEqual(row['client_busy'], 0)
            self.assertGreaterEqual(row['server_busy'], 0)
            self.assertGreater(row['client_busy'] + row['server_busy'], 0)
            self.assertIn(row['bound'], BOUNDS)
            self.assertEqual(row['bound'] == 'host', row['host_busy'])
            self.assertGreater(len(row['why']), 20)
            if row['depth'] == 1:
                self.assertIsNone(row['gain'])
            else:
                self.assertGreater(row['ops_per_second_of_one'], 0)
                self.assertGreater(row['gain'], 0)
        return tree['rows']

    def test_all_rows_one_client_after_the_other(self):
        server = Server(self)
        for _ in range(2):
            rows = self.rows(server)
            self.assertEqual([(r['test'], r['size'], r['depth'])
                              for r in rows],
                             [('latency', 64, 1), ('rate', 64, 64),
                              ('put', 4096, 8), ('put', 65536, 8),
                              ('put', 1 << 20, 8), ('get', 4096, 8),
                              ('get', 65536, 8), ('get', 1 << 20, 8)])
            for row in rows:
                self.assertNotEqual(row['bound'], 'unknown')
            told = server.event()
            self.assertEqual(told['event'], 'served')
            self.assertTrue(told['from'].startswith(lnet.address(1)))
            self.assertEqual(told['rows'], 8 + 7)
        self.assertEqual(server.stop(signal.SIGINT), 0)
        last = server.event()
        self.assertEqual((last['event'], last['served'], last['failed']),
                         ('ended', 2, 0))
        self.assertEqual(server.error_text(), '')

    def test_row_that_is_longer_than_the_timeout(self):
        server = Server(self, timeout='3')
        rows = self.rows(server, '--time', '7', '--test', 'put', '--size', '4096',
                         '--depth', '1', '--timeout', '3')
        self.assertEqual(len(rows), 1)
        self.assertEqual(server.event()['event'], 'served')

    def test_sizes_and_depths_of_all_kinds(self):
        server = Server(self)
        for depth in ('1', '2', '64'):
            rows = self.rows(server, '--size', '1,4097', '--depth', depth)
            self.assertEqual(len(rows), 8)
        rows = self.rows(server, '--size', '16M', '--depth', '2', '--test',
                         'put,get')
        self.assertEqual(len(rows), 2)

    def test_spinning_is_not_taken_for_work(self):
        for mine, yours in ((('--spin', '50us'), ()),
                            ((), ('--spin', '50us'))):
            server = Server(self, *yours)
            for row in self.rows(server, *mine, '--test', 'rate,put',
                                 '--size', '64'):
                self.assertIn(row['bound'], ('window', 'unknown', 'host'))
            self.assertEqual(server.stop(), 0)

    def test_one_processor_for_each(self):
        cpus = sorted(os.sched_getaffinity(0))
        server = Server(self, '--cpus', str(cpus[-1]))
        self.rows(server, '--cpus', str(cpus[0]), '--test', 'latency')

    def test_own_addresses(self):
        ep = f'{lnet.address(2)}@tcp:12345:41:17'
        server = Server(self, '--ep', ep)
        self.assertEqual(server.ep, ep)
        self.check_served(server, '--ep',
                          f'{lnet.address(1)}@tcp:12345:42:*')

    def test_table_and_sentences(self):
        server = Server(self)
        result = self.client(server, *QUICK, '--test', 'rate,put')
        self.assert_done(result)
        lines = result.stdout.decode().splitlines()
        self.assertIn(server.ep, lines[1])
        self.assertIn('bound', lines[4])
        table = lines[5:9]
        for line in table:
            self.assertIn(line.split()[-1], BOUNDS)
        said = lines[lines.index('The bound of each row:') + 1:]
        self.assertEqual([line.split(':')[0] for line in said],
                         ['rate 64 x 64', 'put 4K x 8', 'put 64K x 8',
                          'put 1M x 8'])

    def test_printed_command_works_as_it_is(self):
        server = Server(self, '--once')
        words = shlex.split(server.command)
        self.assertEqual(words[:2], ['colibri', 'perf'])
        # Tests run beside each other: an address of our own.
        words[words.index('--net') + 1] = f'tcp({lnet.address(1)})'
        self.assert_done(cli.run(*words[1:], *QUICK, '--test', 'latency'))
        self.assertEqual(server.child.wait(cli.PATIENCE), 0)
        self.assertEqual(server.event()['event'], 'served')
        self.assertEqual(server.event()['event'], 'ended')

    def test_server_without_json(self):
        child = subprocess.Popen(
            [cli.COLIBRI, 'perf', '--listen', '--once', '--net',
             f'tcp({lnet.address(2)})', '--port', str(self.port), '--accept',
             'all'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        lines = [child.stdout.readline().decode() for _ in range(4)]
        command = shlex.split(lines[2])
        command[command.index('--net') + 1] = f'tcp({lnet.address(1)})'
        self.assert_done(cli.run(*command[1:], *QUICK, '--test', 'latency'))
        code, out, text = self.end(child)
        self.assertEqual((code, text), (0, ''))
        self.assertIn(b': 1 row in ', out)
        self.assertIn(b'served 1 client, failed 0', out)


class Ends(Case):
    def test_second_client_is_refused(self):
        server = Server(self)
        first = self.start_long(server)
        result = self.client(server, *QUICK, i=3)
        self.assert_refused(result, 1, server.ep, 'is busy', lnet.address(1))
        first.send_signal(signal.SIGINT)
        code, _, text = self.end(first)
        self.assertEqual(code, 1, text)
        self.assertIn('interrupted', text)
        told = server.event()
        self.assertEqual(told['event'], 'failed')
        self.check_served(server, i=3)

    def test_client_that_is_killed(self):
        server = Server(self, timeout='5')
        for i in (1, 3):
            child = self.start_long(server, i=i)
            child.kill()
            child.wait()
            self.assertEqual(server.event()['event'], 'failed')
        self.check_served(server, i=4)
        self.assertEqual(server.stop(), 0)
        last = server.event()
        self.assertEqual((last['served'], last['failed']), (1, 2))

    def test_client_that_is_killed_and_comes_again_at_once(self):
        server = Server(self, timeout='60')
        child = self.start_long(server)
        child.kill()
        child.wait()
        # At the same address: the server need not wait to know.
        result = self.client(server, *QUICK, '--test', 'latency')
        self.assertEqual(server.event()['event'], 'failed')
        self.assert_done(result)
        self.assertEqual(server.event()['event'], 'served')

    def test_client_that_is_stopped(self):
        server = Server(self, timeout='4')
        child = self.start_long(server)
        child.send_signal(signal.SIGSTOP)
        told = server.event()
        self.assertEqual(told['event'], 'failed')
        self.assertIn('for 4 s', told['reason'])
        child.kill()
        self.check_served(server, i=3)

    def test_server_that_is_killed(self):
        server = Server(self)
        child = self.start_long(server, timeout='5')
        server.child.kill()
        code, out, text = self.end(child)
        self.assertEqual(code, 1, text)
        self.assertIn(server.ep, text)
        self.assertNotIn(b'put 4K', out)

    def test_server_that_is_stopped(self):
        server = Server(self)
        child = self.start_long(server, timeout='4')
        server.child.send_signal(signal.SIGSTOP)
        code, _, text = self.end(child)
        self.assertEqual(code, 1, text)
        self.assertIn(server.ep, text)

    def test_server_that_is_terminated_tells_the_client(self):
        server = Server(self)
        child = self.start_long(server)
        self.assertEqual(server.stop(), 0)
        code, _, text = self.end(child)
        self.assertEqual(code, 1, text)
        self.assertIn('the server was stopped', text)
        self.assertEqual(server.event()['event'], 'failed')
        self.assertEqual(server.event()['event'], 'ended')

    def test_once_fails_with_its_client(self):
        server = Server(self, '--once')
        child = self.start_long(server)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(self.end(child)[0], 1)
        self.assertEqual(server.child.wait(cli.PATIENCE), 1)

    def test_server_whose_output_is_full_ends_with_one_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            server = Server(self)
            self.fill_output(server.child)
            self.assert_done(self.client(server, *QUICK, '--test', 'latency'))
            self.assertEqual(server.stop(number), 1)
            self.assertIn('not all was said', server.error_text())

    def test_client_whose_output_is_full_ends_with_one_signal(self):
        server = Server(self)
        out = self.full_pipe()
        for options in ((), ('--json',)):
            child = subprocess.Popen(
                [cli.COLIBRI, *self.words(*QUICK, '--test', 'latency',
                                          *options), server.ep],
                stdout=out, stderr=out, stdin=subprocess.DEVNULL)
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
            self.wait_catching(child, signal.SIGINT)
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(cli.PATIENCE), 1)

    def test_server_without_clients_ends(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            server = Server(self)
            self.assertEqual(server.stop(number), 0)
            self.assertEqual(server.event(), {'event': 'ended', 'served': 0,
                                              'failed': 0, 'strays': 0})


class Refuses(Case):
    def check(self, args, code, *words):
        self.assert_refused(cli.run('perf', *args), code, 'colibri perf: ',
                            *words)

    def test_nobody_is_there(self):
        ep = f'{lnet.address(2)}@tcp:12345:40:4095'
        result = cli.run(*self.words(*QUICK), ep)
        self.assert_refused(result, 1, ep, 'cannot be reached',
                            'Connection refused')

    def test_node_is_there_but_no_server(self):
        server = Server(self)
        ep = server.ep.rsplit(':', 1)[0] + ':17'
        result = cli.run(*self.words(*QUICK, timeout='0.5'), ep)
        self.assert_refused(result, 1, ep, 'no answer', '0.5 s')

    def test_another_program_is_there(self):
        listener = subprocess.Popen(
            [cli.COLIBRI, 'copy', '--listen', '--json', '--net',
             f'tcp({lnet.address(2)})', '--port', str(self.port), '--accept',
             'all', self.dir], stdout=subprocess.PIPE)
        self.addCleanup(listener.stdout.close)
        self.addCleanup(listener.wait)
        self.addCleanup(listener.kill)
        ep = json.loads(listener.stdout.readline())['ep']
        result = cli.run(*self.words(*QUICK, timeout='0.5'), ep)
        self.assert_refused(result, 1, ep, 'no answer')

    def test_addresses_that_are_none(self):
        for ep in ('1.2.3.4@tcp:12345:0:1', '1.2.3.4@tcp:12345:40:4096',
                   '1.2.3.4@tcp:1:40:1', '1.2.3.4@tcp', 'x',
                   '1.2.3.4@tcp:12345:40:*'):
            with self.subTest(ep=ep):
                self.check((ep,), 2, f"EP '{ep}'", 'NID:12345:portal:machine')
                if ep.endswith('*'):
                    continue
                self.check(('--listen', f'--ep={ep}'), 2, f"--ep '{ep}'",
                           'NID:12345:portal:machine')

    def test_own_address_as_server(self):
        ep = f'{lnet.address(1)}@tcp:12345:40:4095'
        self.assert_refused(cli.run(*self.words(), ep), 2, 'own NID')

    def test_options_that_do_not_fit(self):
        ep = '1.2.3.4@tcp:12345:40:1'
        self.check(('--transport=mem', ep), 2, "'mem'", 'lnet', 'EP')
        self.check(('--transport=mem', '--listen'), 2, "'mem'", 'lnet',
                   '--listen')
        self.check(('--listen', ep), 2, ep, 'no operand')
        self.check((ep, 'y'), 2, "'y'", 'one operand')
        for option in ('--test=put', '--size=64', '--depth=1', '--time=1',
                       '--mode=sync', '--workers=1', '--threads=1',
                       '--peer-net=tcp'):
            self.check((option, '--listen'), 2, option.split('=')[0])
        for option in ('--mode=inline', '--workers=1', '--threads=1',
                       '--peer-net=tcp', '--once'):
            self.check((option, ep), 2, option.split('=')[0])
        for option in ('--once', '--ep=x', '--timeout=1'):
            self.check((option,), 2, option.split('=')[0], '--listen')
        for value in ('0', 'x', ''):
            self.check((f'--timeout={value}', ep), 2, '--timeout',
                       f"'{value}'")
        cpu = min(os.sched_getaffinity(0))
        self.check((f'--cpus={cpu},{cpu}', ep), 2, '--cpus')
        self.check(('--size=17M', '--net', f'tcp({lnet.address(1)})', ep), 2,
                   '--size', '1 to 16777216')

    def test_end_points_that_are_not_ours(self):
        ep = f'{lnet.address(2)}@tcp1:12345:40:1'
        self.assert_refused(cli.run(*self.words(), ep), 2, f"EP '{ep}'",
                            '--net')
        self.assert_refused(cli.run(*self.words('--ep', ep), ep), 2,
                            f"--ep '{ep}'", '--net')

    def test_address_that_is_taken(self):
        Server(self)
        self.check(('--listen', '--net', f'tcp({lnet.address(2)})', '--port',
                    str(self.port), '--accept', 'all'), 1, lnet.address(2),
                   str(self.port))


if __name__ == '__main__':
    cli.main()
