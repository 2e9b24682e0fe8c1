# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri lst` and `colibri node --selftest`: sessions, tests, what is printed."""
import json
import os
import signal
import subprocess
import time

import cli
import lnet
import page


class Lst(cli.Case):
    def setUp(self):
        super().setUp()
        self.port = lnet.free_port()
        self.env = {**os.environ, 'RUNTIME_DIRECTORY': self.dir,
                    'LST_SESSION': 'test'}
        self.addCleanup(self.lst, 'end_session')

    def options(self, i):
        return ('--net', f'tcp({lnet.address(i)})', '--port', str(self.port),
                '--accept', 'all', '--source-ports', 'any')

    def node(self, i, *more):
        return lnet.Node(self, *self.options(i), *(more or ('--selftest',)))

    def nid(self, i):
        return f'{lnet.address(i)}@tcp'

    def lst(self, *args):
        return cli.run('lst', *args, env=self.env)

    def done(self, *args):
        result = self.lst(*args)
        self.assert_done(result)
        return result.stdout.decode()

    def begin(self, *more):
        """A session with a client and a server."""
        self.node(1)
        self.node(2)
        self.done('new_session', 'lab', *self.options(3), *more)
        self.assertEqual(self.done('add_group', 'cli', self.nid(1)),
                         f'{self.nid(1)} are added to session\n')
        self.done('add_group', 'srv', self.nid(2))

    def idle(self, batch):
        deadline = time.monotonic() + cli.PATIENCE
        while time.monotonic() < deadline:
            if 'is idle' in self.done('query', batch):
                return
            time.sleep(0.05)
        self.fail('the batch does not end')


class Sessions(Lst):
    def test_words_are_those_of_lst(self):
        """As in a session of the real console, with the names of groups."""
        self.node(1)
        self.node(2)
        self.assertEqual(
            self.done('new_session', '--timeout', '60', 'lab',
                      *self.options(3)),
            'SESSION: lab FEATURES: 1 TIMEOUT: 60 FORCE: No\n')
        cli_id, srv_id = (f'12345-{self.nid(i)}' for i in (1, 2))
        self.done('add_group', 'cli', self.nid(1))
        self.done('add_group', 'srv', self.nid(2))
        self.assertEqual(self.done('list_group'),
                         '1) cli\n2) srv\nTotal 2 groups\n')
        head = '\tACTIVE\tBUSY\tDOWN\tUNKNOWN\tTOTAL\n'
        self.assertEqual(self.done('list_group', 'cli'),
                         head + '\t1\t0\t0\t0\t1\tcli\n')
        self.assertEqual(
            self.done('list_group', '--active', 'cli'),
            f'{head}Group [ cli ]\n\t{cli_id}: Active\nTotal 1 nodes [ cli ]\n')
        self.assertEqual(
            self.done('list_group', '--down', 'srv'),
            f'{head}Group [ srv ]\nNo nodes found [ srv ]\n')
        self.done('add_batch', 'b')
        added = 'Test was added successfully\n'
        for loop, test in (('3', ('ping',)),
                           ('2', ('brw', 'write', 'check=simple', 'size=4K')),
                           ('1', ('brw', 'read', 'check=full', 'size=64K'))):
            self.assertEqual(
                self.done('add_test', '--batch', 'b', '--loop', loop,
                          '--concurrency', '1', '--from', 'cli', '--to', 'srv',
                          *test), added)
        counts = head + 'client\t1\t0\t0\t0\t1\nserver\t1\t0\t0\t0\t1\n'
        text = self.done('list_batch', 'b')
        self.assertTrue(text.startswith('Batch: b Tests: 3 State: 176\n' +
                                        counts))
        self.assertIn('\tTest 2(brw) (loop: 2, concurrency: 1)\n' + counts,
                      text)
        self.assertEqual(self.done('list_batch', '--test', '1', 'b'),
                         '\tTest 1(ping) (loop: 3, concurrency: 1)\n' + counts)
        self.assertEqual(self.done('list_batch'),
                         '1) batch\n2) b\nTotal 2 batches\n')
        self.assertEqual(self.done('run', 'b'), 'b is running now\n')
        self.idle('b')
        self.assertEqual(self.done('query', '--all', 'b'),
                         f'{cli_id} [Active]: Idle\n')
        self.assertEqual(self.done('show_error', 'cli', 'srv'),
                         'cli:\nTotal 0 error nodes in cli\n'
                         'srv:\nTotal 0 error nodes in srv\n')
        self.assertEqual(self.done('stop', 'b'), 'Batch is stopped\n')
        self.assertRegex(self.done('show_session'),
                         r'^lab ID: \d+@\S+@tcp, KEY: test FEATURES: 1 '
                         r'NODES: 2\n$')
        self.assertIn(f'\t{srv_id}: Active [session: lab id: {self.nid(3)}]\n',
                      self.done('ping'))
        self.assert_refused(self.lst('del_group', 'cli'), 1,
                            'Failed to delete group: Device or resource busy')
        self.assertEqual(self.done('end_session'), '')
        self.assert_refused(self.lst('show_session'), 1, 'No session exists')

    def test_stat_has_the_forms_of_lst(self):
        self.begin()
        self.done('add_batch', 'b')
        self.done('add_test', '--batch', 'b', '--concurrency', '4', '--from',
                  'cli', '--to', 'srv', 'brw', 'write', 'size=1M')
        self.done('run', 'b')
        self.assertEqual(self.done('query', 'b'), 'b [0] is running\n')
        rate = r'Avg: \d+ *RPC/s Min: \d+ *RPC/s Max: \d+ *RPC/s\n'
        bw = r'Avg: [\d.]+ *MiB/s Min: [\d.]+ *MiB/s Max: [\d.]+ *MiB/s \n'
        text = self.done('stat', '--delay', '1', '--count', '1', 'cli', 'srv')
        self.assertRegex(text, ''.join(
            rf'\[LNet Rates of {g}\]\n\[R\] {rate}\[W\] {rate}'
            rf'\[LNet Bandwidth of {g}\]\n\[R\] {bw}\[W\] {bw}'
            for g in ('cli', 'srv')) + '$')
        for line in text.splitlines():
            if 'RPC/s' in line:
                # Columns of the recorded output.
                self.assertEqual(line.index('RPC/s'), 18)
        self.assertRegex(
            self.done('stat', '--delay', '1', '--count', '1', '--bw', '--avg',
                      '--read', '--mbs', 'srv'),
            r'^\[LNet Bandwidth of srv\]\n\[R\] Avg: [\d.]+ *MB/s  \n$')
        tree = json.loads(self.done('stat', '--delay', '1', '--count', '1',
                                    '--json', 'srv'))
        self.assertGreater(tree['received_bytes_per_s']['avg'], 1e6)
        self.assertIn('Batch is stopped', self.done('stop', 'b'))

    def json(self, *args):
        return json.loads(self.done(*args, '--json'))

    def test_json_of_all_verbs(self):
        self.node(1)
        self.node(2)
        self.assertEqual(self.json('new_session', 'lab', *self.options(3)),
                         {'session': 'lab', 'timeout_s': 300, 'force': False})
        ids = [f'12345-{self.nid(i)}' for i in (1, 2)]
        one, two = ({'id': i, 'state': 'Active'} for i in ids)
        self.assertEqual(self.json('add_group', 'cli', self.nid(1)),
                         {'name': 'cli', 'nodes': [one]})
        self.json('add_group', 'srv', self.nid(2))
        self.json('add_group', 'both', 'cli', 'srv')
        self.assertEqual(self.json('update_group', 'both', '--remove',
                                   self.nid(1)),
                         {'name': 'both', 'nodes': [two]})
        self.assertEqual(self.json('update_group', 'both', '--refresh'),
                         {'name': 'both', 'nodes': [two]})
        self.assertEqual(self.json('list_group', 'cli'),
                         {'groups': [{'name': 'cli', 'nodes': [one]}]})
        self.assertEqual(self.json('del_group', 'both'),
                         {'name': 'both', 'deleted': True})
        self.assertEqual(
            self.json('ping', '--group', 'srv')['nodes'],
            [{**two, 'session': 'lab', 'console': self.nid(3)}])
        self.assertEqual(self.json('show_session')['nodes'], 2)
        batch = {'name': 'b', 'tests': 0, 'running': False}
        self.assertEqual(self.json('add_batch', 'b'), batch)
        batch['tests'] = 1
        self.assertEqual(self.json('add_test', '--batch', 'b', '--from', 'cli',
                                   '--to', 'srv', 'brw', 'read', 'size=64K'),
                         batch)
        self.assertEqual(self.json('run', 'b'), {**batch, 'running': True})
        self.assertEqual(self.json('query', 'b'), {'batch': 'b', 'active': 1})
        self.assertEqual(self.json('query', '--all', 'b'),
                         {'batch': 'b', 'nodes': [{**one, 'active': 1}]})
        counts = {'active': 1, 'busy': 0, 'down': 0, 'unknown': 0, 'total': 1}
        ends = {'clients': counts, 'servers': counts}
        self.assertEqual(
            self.json('list_batch', 'b'),
            {'name': 'b', 'running': True, **ends,
             'tests': [{'test': 1, 'type': 'brw', 'loop': -1, 'concurrency': 1,
                        'way': 'read', 'size': 65536, **ends}]})
        self.assertEqual(len(self.json('list_batch')['batches']), 2)
        self.assertEqual(self.json('stop', 'b'), batch)
        self.assertEqual(self.json('stat', '--delay', '1', '--count', '1',
                                   'cli')['nodes'], 1)
        self.assertEqual(self.json('show_error', 'cli'),
                         {'groups': [{'name': 'cli', 'nodes': []}]})
        self.assertEqual(self.json('end_session'),
                         {'session': 'lab', 'ended_everywhere': True})

    def test_all_checks_and_distributions(self):
        self.begin()
        self.done('add_group', 'both', 'cli', 'srv')
        for check in ('none', 'simple', 'full', 'discard'):
            for way in ('read', 'write'):
                self.done('add_test', '--loop', '5', '--concurrency', '3',
                          '--distribute', '1:2', '--from', 'both', '--to',
                          'both', 'brw', way, f'check={check}', 'size=70000')
        self.done('run')
        self.idle('batch')
        self.done('show_error', 'both')

    def test_nids_are_expanded(self):
        for i in (1, 2, 4):
            self.node(i)
        self.done('new_session', 'lab', *self.options(3))
        prefix = lnet.PREFIX
        self.done('add_group', 'all', f'{prefix}.[1-2,4]@tcp')
        groups = json.loads(self.done('list_group', '--json'))['groups']
        self.assertEqual([n['id'] for n in groups[0]['nodes']],
                         [f'12345-{self.nid(i)}' for i in (1, 2, 4)])
        self.done('update_group', 'all', '--remove', self.nid(2))
        groups = json.loads(self.done('list_group', '--json'))['groups']
        self.assertEqual(len(groups[0]['nodes']), 2)
        self.assert_refused(self.lst('add_group', 'x', 'nonsense'), 1,
                            "'nonsense' is not accepted")

    def test_ranges_say_who_may_use_a_node(self):
        self.node(1, f'--selftest={self.nid(3)}')
        self.node(2, f'--selftest={self.nid(9)}')
        self.done('new_session', 'lab', *self.options(3))
        self.done('add_group', 'one', self.nid(1))
        self.assert_refused(self.lst('add_group', 'two', self.nid(2)), 1,
                            'does not admit us')

    def test_silent_node_is_explained(self):
        """As a kernel node that takes the console for another is silent."""
        lnet.Node(self, *self.options(1))
        self.done('new_session', 'lab', *self.options(3))
        self.assert_refused(
            self.lst('add_group', 'one', self.nid(1), '--timeout', '1'), 1,
            'Connection timed out', 'from a port above 1023',
            '--source-ports any')
        self.assertIn('\t0\t0\t1\t0\t1\tone', self.done('list_group', 'one'))
        if os.geteuid() != 0:
            return
        self.env['LST_SESSION'] = 'secure'
        self.addCleanup(self.lst, 'end_session')
        self.done('new_session', 'lab', *self.options(4)[:-2])
        self.assert_refused(
            self.lst('add_group', 'one', self.nid(1), '--timeout', '1'), 1,
            'lnet_selftest', 'the first of the node')
        self.done('end_session')
        self.env['LST_SESSION'] = 'test'

    def test_sessions_exclude_each_other(self):
        self.begin()
        self.env['LST_SESSION'] = 'second'
        self.done('new_session', 'other', *self.options(4))
        self.assert_refused(self.lst('add_group', 'cli', self.nid(1)), 1,
                            "has session `lab'")
        self.done('end_session')
        self.done('new_session', '--force', 'other', *self.options(4))
        self.done('add_group', 'cli', self.nid(1))
        self.done('end_session')
        self.env['LST_SESSION'] = 'test'
        self.lst('ping')
        # The node has no session any more.
        self.assertIn('\t0\t0\t0\t1\t1\tcli', self.done('list_group', 'cli'))

    def test_node_that_dies_is_down(self):
        self.begin()
        victim = self.node(4)
        self.done('add_group', 'dead', self.nid(4))
        self.done('add_test', '--from', 'cli', '--to', 'dead', 'ping')
        victim.child.send_signal(signal.SIGKILL)
        victim.child.wait(cli.PATIENCE)
        # Clients alone are told to run, as by the real console.
        self.done('run')
        self.idle('batch')
        result = self.lst('show_error', 'cli')
        self.assertEqual(result.returncode, 1)
        self.assertIn(b' 1 ping errors', result.stdout)
        result = self.lst('ping', '--group', 'dead', '--timeout', '3')
        self.assertEqual(result.returncode, 1)
        self.assertIn(b': Down', result.stdout)
        self.assertIn('\t0\t0\t1\t0\t1\tdead', self.done('list_group', 'dead'))

    def test_session_that_nobody_uses_ends(self):
        self.begin('--timeout', '1')
        deadline = time.monotonic() + cli.PATIENCE
        path = os.path.join(self.dir, 'colibri-lst-test.sock')
        while os.path.exists(path):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        self.assert_refused(self.lst('show_session'), 1, 'No session exists')
        # The nodes are free.
        self.done('new_session', 'lab', *self.options(3))
        self.done('add_group', 'cli', self.nid(1))


PLAN = """name: lab
groups:
  clients: {client}
  servers:
  - {server}
duration: 2
tests:
- name: small <&>
  test: brw write size=64K check=simple
  from: clients
  to: servers
  concurrency: 4
- test: brw read size=1M
  from: clients
  to: servers
  min_mib_s: {least}
- test: ping
  from: clients
  to: servers
"""


class Plans(Lst):
    def plan(self, least=1, **names):
        path = self.path('plan.yaml')
        with open(path, 'w', encoding='utf-8') as file:
            file.write(PLAN.format(client=self.nid(1), server=self.nid(2),
                                   least=least, **names))
        return path

    def test_plan_ends_with_verdict_and_page(self):
        self.node(1)
        self.node(2)
        path = self.path('page.html')
        result = self.lst('run', self.plan(), '--report', path,
                          *self.options(3))
        self.assert_done(result)
        lines = result.stdout.decode().splitlines()
        self.assertEqual(lines[-1], 'PASS')
        self.assertEqual(len(lines), 4)
        for line in lines[:-1]:
            self.assertRegex(line, r'MiB/s, \d+ messages/s, 0 errors: PASS$')
        with open(path, encoding='utf-8') as file:
            text = file.read()
        page.check(self, text, plots=6)
        self.assertIn('small &lt;&amp;&gt;', text)
        for title in ('Rate over time', 'Latency over time',
                      'Rate against size', 'Requests by their latency',
                      'Answers to the console by their latency'):
            self.assertIn(title, text)

    def test_plan_too_slow_fails(self):
        self.node(1)
        self.node(2)
        result = self.lst('run', self.plan(100000000), '--json',
                          *self.options(3))
        self.assertEqual(result.returncode, 1)
        tree = json.loads(result.stdout)
        self.assertEqual(tree['verdict'], 'FAIL')
        self.assertEqual([t['passed'] for t in tree['tests']],
                         [True, False, True])
        self.assertGreater(len(tree['tests'][0]['samples']), 0)

    def baseline(self, factor):
        """A file as of a run that was so many times as fast."""
        with open(self.path('base.json'), encoding='utf-8') as file:
            tree = json.load(file)
        for result in tree['results']:
            result['value'] *= factor
        tree['results'].append({'name': 'other', 'unit': 'MiB/s', 'value': 1})
        path = self.path('changed.json')
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(tree, file)
        return path

    def test_plan_worse_than_last_time_fails(self):
        self.node(1)
        self.node(2)
        base = self.path('base.json')
        plan = self.make('short.yaml', (
            f'groups: {{c: {self.nid(1)}, s: {self.nid(2)}}}\n'
            'duration: 1\n'
            'tests: [{test: ping, from: c, to: s}]\n').encode())
        run = ('run', plan, *self.options(3))
        self.assert_done(self.lst(*run, '--save-baseline', base))
        with open(base, encoding='utf-8') as file:
            results = json.load(file)['results']
        self.assertEqual([(r['name'], r['unit']) for r in results],
                         [('ping', 'messages/s')])
        result = self.lst(*run, '--baseline', self.baseline(0.001))
        self.assert_done(result)
        self.assertRegex(result.stdout, rb'ping: [\d.]+ messages/s, last time '
                         rb'[\d.]+: [\d.]+ % better \(tolerance 10 %\)\n')
        # A worse result is not saved.
        result = self.lst(*run, '--json', '--baseline', self.baseline(1000),
                          '--tolerance', '50', '--save-baseline', base)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b'worse than last time: 1 of 1 results by more than 50 % '
                      b'of ', result.stderr)
        tree = json.loads(result.stdout)
        self.assertEqual(tree['verdict'], 'FAIL')
        self.assertEqual([(b['name'], b['worse']) for b in tree['baseline']],
                         [(r['name'], True) for r in results])
        with open(base, encoding='utf-8') as file:
            self.assertEqual(json.load(file)['results'], results)

    def test_baseline_that_is_wrong_is_refused(self):
        plan = self.plan()
        missing = self.path('missing.json')
        self.assert_refused(self.lst('run', plan, '--baseline', missing), 1,
                            '--baseline', 'No such file')
        path = self.make('base.json', b'{"tool": "perf", "results": []}')
        self.assert_refused(self.lst('run', plan, '--baseline', path), 2,
                            'not one that colibri lst')
        path = self.make('base.json', b'{"tool": \n nonsense')
        self.assert_refused(self.lst('run', plan, '--baseline', path), 2,
                            'line 2')
        self.assert_refused(self.lst('stat', 'x', '--baseline', path), 2,
                            'run FILE.yaml')
        with open(plan, 'a', encoding='utf-8') as file:
            file.write('- {test: ping, from: clients, to: servers}\n')
        self.assert_refused(self.lst('run', plan, '--save-baseline', path), 2,
                            "two tests are named 'ping'")

    def test_plan_that_is_wrong_is_refused(self):
        path = self.path('plan.yaml')
        for text, words in (('a: [', 'line'), ('nonsense: 1', 'accepted keys'),
                            ('- 1', 'a map'), ('groups: {a: 1.1.1.1@tcp}',
                                               'are necessary'),
                            ('tests: [{test: ping}]', 'from and to'),
                            ('tests: [{concurrency: 0}]', 'a number from 1')):
            with open(path, 'w', encoding='utf-8') as file:
                file.write(text)
            self.assert_refused(self.lst('run', path), 2, words)
        self.assert_refused(self.lst('run', '/nonsense.yaml'), 1, 'No such')


class Words(Lst):
    def test_wrong_words_are_refused(self):
        self.assert_refused(self.lst(), 2, 'a verb is missing')
        self.assert_refused(self.lst('nonsense'), 2, "'nonsense' is no verb")
        self.assert_refused(self.lst('stat', '--delay', '0', 'x'), 2,
                            '--delay')
        self.assert_refused(self.lst('add_test', '--distribute', '1'), 2,
                            '--distribute')
        self.assert_refused(self.lst('show_session'), 1, 'No session exists')
        self.env['LST_SESSION'] = '../x'
        self.assert_refused(self.lst('show_session'), 2, 'LST_SESSION')
        self.env['LST_SESSION'] = 'test'

    def test_a_link_is_the_command(self):
        """`colibri` called as `lst`: the same verbs, and its name in messages."""
        link = self.path('lst')
        os.symlink(cli.COLIBRI, link)
        self.begin()

        def lst(*args):
            return subprocess.run([link, *args], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=self.env,
                                  stdin=subprocess.DEVNULL, check=False,
                                  timeout=cli.PATIENCE)

        listed = lst('list_group')
        self.assert_done(listed)
        self.assertEqual(listed.stdout, b'1) cli\n2) srv\nTotal 2 groups\n')
        self.assert_refused(lst('nonsense'), 2, "lst: 'nonsense' is no verb")
        self.assertIn(b'Usage: lst', lst('--help').stdout)

    def test_wrong_words_of_a_session_are_refused(self):
        self.begin()
        self.assert_refused(self.lst('new_session', 'x', *self.options(3)), 1,
                            'a session with key test exists')
        self.assert_refused(self.lst('add_group', 'cli', self.nid(1)), 1,
                            'File exists')
        self.assert_refused(self.lst('add_group', 'x'), 2, 'Usage')
        self.assert_refused(self.lst('run', 'nobatch'), 1,
                            'Failed to run batch')
        for words in (('brw', 'size=2M'), ('brw', 'check=x'), ('nonsense',),
                      ()):
            self.assertEqual(
                self.lst('add_test', '--from', 'cli', '--to', 'srv',
                         *words).returncode, 2)
        self.assert_refused(self.lst('add_test', '--from', 'cli', '--to', 'x',
                                     'ping'), 1, 'Failed to add test')
        self.assert_refused(self.lst('stat', 'x'), 2)


if __name__ == '__main__':
    cli.main()
