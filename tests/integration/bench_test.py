#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What bench/run makes of figures; no program is measured here."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import stat
import sys
import subprocess
import tempfile
import time
import unittest
from unittest import mock

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../bench')
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(BENCH, d) for d in ('lib', 'net', 'rpc', 'object')]
import benchnet  # noqa: E402
import benchpage  # noqa: E402
import benchpairs  # noqa: E402
import benchtable  # noqa: E402
from benchrow import Missing, Row  # noqa: E402


def load(name):
    """bench/NAME as a module: its name has no ending."""
    path = os.path.join(BENCH, name)
    loader = importlib.machinery.SourceFileLoader('bench_' + name, path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


run = load('run')
against = load('against')


class Figures:
    """Stands for the programs: figures by name."""
    peers = {'p': 'peer P', 'q': 'peer Q'}

    def __init__(self, **values):
        self.values = {k.replace('_', ':', 1): v for k, v in values.items()}

    def get(self, name):
        if name not in self.values:
            raise Missing('%s was not measured' % name)
        return self.values[name]


class RowTest(unittest.TestCase):
    def test_ratio_of_the_repeat_in_the_middle(self):
        """Both sides come from one repeat, not from medians of each."""
        row = Row('r', 'ns', 'a:x', ['a:y'], goal=0.9, stretch=2.0)
        got = row.result(Figures(a_x=[10, 20, 40], a_y=[30, 20, 20]))
        self.assertEqual((got['ours'], got['ref'], got['ratio']), (20, 20, 1))
        self.assertIs(got['met'], True)
        self.assertIs(got['stretch_met'], False)

    def test_goal_that_is_missed_is_said(self):
        got = Row('r', 'GB/s', 'a:x', ['a:y'], goal=0.85, better='higher',
                  size=1000).result(Figures(a_x=[20.0], a_y=[10.0]))
        self.assertEqual((got['ours'], got['ref']), (50, 100))
        self.assertEqual(got['ratio'], 0.5)
        self.assertIs(got['met'], False)

    def test_best_reference_counts(self):
        row = Row('r', 'ns', 'a:x', ['p:y', 'q:y', 'z:y'])
        got = row.result(Figures(a_x=[10], p_y=[30], q_y=[20]))
        self.assertEqual((got['ref_name'], got['ratio']), ('peer Q', 2))

    def test_sum_is_the_goal(self):
        """memcpy + 500 ns, and the stretch's sum beside it."""
        row = Row('r', 'ns', 'a:x', ['a:y'], plus=[(500, None)],
                  stretch_plus=[(300, None)])
        got = row.result(Figures(a_x=[400], a_y=[100]))
        self.assertEqual((got['ref'], got['ratio']), (600, 1.5))
        self.assertEqual(got['stretch'], 1.5)
        self.assertIs(got['stretch_met'], True)

    def test_what_is_told_beside_has_its_scale(self):
        got = Row('r', 'ns', 'a:x', ['a:y'],
                  told=[('ms a commit', 'a:commit', 1e6)]).result(
                      Figures(a_x=[1], a_y=[2], a_commit=[2.5e6]))
        self.assertEqual(got['note'], '2.5 ms a commit')

    def test_void_has_no_verdict(self):
        row = Row('r', 'ns', 'a:x', ['a:y'], goal=10.0,
                  void=('a:commit', 1e6, 'quick disk'))
        got = row.result(Figures(a_x=[1], a_y=[20], a_commit=[5e5]))
        self.assertIsNone(got['met'])
        self.assertIn('quick disk', got['note'])
        got = row.result(Figures(a_x=[1], a_y=[20], a_commit=[2e6]))
        self.assertIs(got['met'], True)

    def test_missing_reference_leaves_ours(self):
        got = Row('r', 'ns', 'a:x', ['p:y']).result(Figures(a_x=[5]))
        self.assertEqual(got['ours'], 5)
        self.assertIsNone(got['met'])
        self.assertIn('no reference', got['note'])

    def test_nothing_measured_says_why(self):
        got = Row('r', 'ns', 'a:x', ['a:y']).result(Figures())
        self.assertIsNone(got['ours'])
        self.assertIn('not measured', got['note'])

    def test_zero_loses_no_more_than_the_verdict(self):
        got = Row('r', 'ns', 'a:x', ['a:y']).result(Figures(a_x=[0], a_y=[1]))
        self.assertIsNone(got['met'])
        self.assertTrue(got['note'])


class ProgramTest(unittest.TestCase):
    """Programs that fail: shell scripts in place of the real ones."""

    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        os.mkdir(os.path.join(self.dir.name, 'bench'))
        self.bench = run.Bench(self.dir.name, (0, 1))

    def tearDown(self):
        self.dir.cleanup()

    def program(self, text):
        path = os.path.join(self.dir.name, 'bench', 'm0bench')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\n' + text)
        os.chmod(path, stat.S_IRWXU)
        self.bench.run('msg')

    def test_figures_are_kept_by_repeat(self):
        self.program('echo msg.one 12.5 ns\n')
        self.program('echo msg.one 13.5 ns\n')
        self.assertEqual(self.bench.get('msg:msg.one'), [12.5, 13.5])

    def test_failure_has_its_reason(self):
        self.program('echo no memory >&2; exit 2\n')
        with self.assertRaisesRegex(Missing, 'no memory'):
            self.bench.get('msg:msg.one')

    def test_words_are_no_figures(self):
        self.program('echo something else entirely here\n')
        with self.assertRaisesRegex(Missing, 'no figure'):
            self.bench.get('msg:msg.one')

    def test_not_built_says_so(self):
        self.bench.run('two')
        with self.assertRaisesRegex(Missing, 'not built'):
            self.bench.get('two:msg.two')


# A connection whose near end asks for reno. Prints what both ends have, at once
# and again when a line has come.
CONNECTION = '''
import socket, sys
door = socket.create_server(("127.0.0.2", 0))
near = socket.socket()
near.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
near.connect(door.getsockname())
ends = near, door.accept()[0]
while True:
    print(*[end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
            .split(bytes(1))[0].decode() for end in ends], flush=True)
    if not sys.stdin.readline():
        break
'''


class NetworkTest(unittest.TestCase):
    """All sides of a row have one congestion control."""

    def setUp(self):
        self.network = benchnet.Network()
        self.system = benchnet.system('tcp_congestion_control')

    def ends(self, probe):
        words = self.network.wrap(probe, [sys.executable, '-c', CONNECTION])
        return subprocess.run(words, input='', capture_output=True, text=True,
                              check=True).stdout.split()

    def test_socket_that_asks_for_another_has_the_rows(self):
        if self.network.unshare is None:
            self.skipTest(self.network.why)
        self.assertEqual(self.ends('net-poll'), [benchnet.CONTROL] * 2)
        self.assertIn('network namespace of its own', self.network.told()[0])

    def test_by_default_each_side_keeps_its_own(self):
        self.assertEqual(self.ends('default-poll'), ['reno', self.system])
        self.assertIsNone(self.network.control('default-poll'))
        self.assertEqual(self.network.env('default-poll'), {})

    def test_without_a_namespace_it_is_set_on_sockets_and_said(self):
        """Also on those of a child of the program."""
        self.network.unshare, self.network.why = None, 'none here'
        self.network.fallback = self.system
        with subprocess.Popen(
                ['sh', '-c', '"$@"; exit $?', 'sh', sys.executable, '-c',
                 CONNECTION], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                text=True) as child:
            before = child.stdout.readline().split()
            self.network.look('net-poll', child.pid)
            child.stdin.write('\n')
            child.stdin.flush()
            after = child.stdout.readline().split()
            child.stdin.close()
        self.assertEqual(before, ['reno', self.system])
        self.assertEqual(after, [self.system] * 2)
        self.assertEqual(self.network.seen['net-poll'], {self.system})
        self.assertRegex(self.network.told()[0],
                         'no network namespace .none here.; %s is set' %
                         self.system)

    def test_socket_with_another_is_said(self):
        self.network.seen = {'rpc-1': {self.network.control('rpc-1'), 'vegas'}}
        self.assertIn('congestion control: rpc-1: some sockets had vegas',
                      self.network.told())


class RepeatTest(unittest.TestCase):
    class Counts(Figures):
        """Ratios of row `a` stay above 1, those of `msg` go up and down."""

        def __init__(self):
            super().__init__()
            self.ran = []

        def run(self, probe):
            self.ran.append(probe)
            nr = self.ran.count(probe)
            for name, value in (('x', 10 + 5 * (probe != 'store' and nr % 2)),
                                ('y', 12)):
                self.values.setdefault('%s:%s' % (probe, name),
                                       []).append(value)

    ROWS = [Row('goes up and down', 'ns', 'msg:x', ['msg:y']),
            Row('stays', 'ns', 'store:x', ['store:y'], stretch=2.0)]

    def test_no_repeat_after_the_end_but_the_least(self):
        bench = self.Counts()
        got = run.repeat_all(bench, self.ROWS[:1], 11, time.monotonic() - 1)
        self.assertEqual(got, run.REPEATS_MIN)
        self.assertEqual(len(bench.ran), run.REPEATS_MIN)

    def test_repeats_until_a_row_is_settled(self):
        """A row whose ratios lie around its goal has all of them."""
        bench = self.Counts()
        got = run.repeat_all(bench, self.ROWS, 11, time.monotonic() + 1e6)
        self.assertEqual(got, 11)
        self.assertEqual(bench.ran.count('msg'), 11)
        self.assertEqual(bench.ran.count('store'), 5)

    def test_ends_when_all_rows_are_settled(self):
        bench = self.Counts()
        self.assertEqual(run.repeat_all(bench, self.ROWS[1:], 11,
                                        time.monotonic() + 1e6), 5)

    def test_row_without_a_goal_has_the_least(self):
        bench = self.Counts()
        row = Row('info', 'ns', 'msg:x', ['msg:y'], goal=None)
        self.assertEqual(run.repeat_all(bench, [row], 11,
                                        time.monotonic() + 1e6), 3)


class RowsTest(unittest.TestCase):
    def test_every_figure_has_a_program(self):
        """And every program a place that says what it needs."""
        for row in run.rows():
            for probe in row.probes():
                self.assertIn(probe, run.PROBES, row.name)
                self.assertIn(run.PROBES[probe].split()[0], run.NEEDS)

    def test_names_are_apart(self):
        names = [row.name for row in run.rows()] + [
            counter[0] for counter in run.COUNTERS]
        self.assertEqual(len(names), len(set(names)))

    def test_references_that_compete_have_names(self):
        for row in run.rows():
            for figure in row.refs if len(row.refs) > 1 else []:
                self.assertIn(figure.split(':')[0], run.PEERS, row.name)

    def test_one_in_flight_has_the_goals_of_many(self):
        """Batching takes nothing from what a single transfer is to reach."""
        rows = {row.name: (row.goal, row.stretch) for row in run.rows()}
        for way in ('put', 'get'):
            for name, many, want in (
                    ('64 KiB hot', 8, (0.75, 0.90)),
                    ('64 KiB cold', 8, (0.90, 0.95)),
                    ('1 MiB', 4, (0.95, None))):
                for flight in (1, many):
                    self.assertEqual(
                        rows['bulk %s, %d in flight, %s' % (name, flight,
                                                            way)], want)

    def test_counter_that_breaks_loses_no_other(self):
        def broken(_bench, _tool, what):
            if what == 'msg':
                raise run.subprocess.TimeoutExpired('valgrind', 1)
            return 7

        kept, run.counter = run.counter, broken
        try:
            table = run.count(None, '^instructions, (64 B|bulk)')
        finally:
            run.counter = kept
        self.assertEqual([r['ours'] for r in table], [None, 7, 7])
        self.assertTrue(table[0]['note'])


class TableTest(unittest.TestCase):
    TABLE = [
        Row('good', 'ns', 'a:x', ['a:y'], goal=0.9, stretch=0.95).result(
            Figures(a_x=[10], a_y=[10])),
        Row('bad', 'ns', 'a:x', ['a:y']).result(Figures(a_x=[20], a_y=[10])),
        Row('gone', 'ns', 'a:x', ['a:y']).result(Figures()),
        Row('info', 'ns', 'a:x', ['a:y'], goal=None).result(
            Figures(a_x=[20], a_y=[10])),
    ]

    def test_summary_says_what_is_not_met(self):
        words = benchtable.summary(self.TABLE)
        self.assertIn('4 rows, 3 with a goal: 1 met (1 with stretch), '
                      '1 not met, 1 without a verdict', words)
        self.assertIn('NOT MET: bad: 0.5 of the goal 1', words)
        self.assertTrue(words[-1].startswith('no verdict: gone: '))

    def test_summary_says_which_congestion_control(self):
        table = [dict(row, congestion=names) for row, names in zip(
            self.TABLE, (['cubic'], ['bbr', 'reno'], ['cubic'], []))]
        self.assertEqual(benchtable.summary(table)[-1],
                         'congestion control of TCP: cubic in 2 rows, '
                         'bbr and reno in 1 rows')

    def test_readme_keeps_what_is_around(self):
        text = 'before\n%sold numbers\n%safter\n' % (benchtable.BEGIN,
                                                      benchtable.END)
        got = benchtable.readme(text, self.TABLE, 'A machine.')
        self.assertNotIn('old numbers', got)
        self.assertTrue(got.startswith('before\n' + benchtable.BEGIN))
        self.assertTrue(got.endswith(benchtable.END + 'after\n'))
        self.assertRegex(got, r'(?m)^    bad .* NO$')
        self.assertEqual(benchtable.readme(got, self.TABLE, 'A machine.'), got)

    def test_readme_of_the_tree_has_its_marks(self):
        with open(os.path.join(BENCH, 'results.md'), encoding='utf-8') as file:
            text = file.read()
        self.assertEqual(text.count(benchtable.BEGIN), 1)
        self.assertGreater(text.index(benchtable.END),
                           text.index(benchtable.BEGIN))

    def test_page_has_each_row_and_draws_those_with_a_verdict(self):
        table = [dict(self.TABLE[1], row='<b> & bad'), *self.TABLE]
        got = benchpage.page(table, ['A & machine.'])
        self.assertIn('<p>A &amp; machine.</p>', got)
        self.assertIn('<td class="bad">NO</td>', got)
        self.assertNotIn('<b>', got)
        for row in self.TABLE:
            self.assertIn('<td>%s</td>' % row['row'], got)
        self.assertEqual(got.count('<circle class="bad"'), 2)
        self.assertEqual(got.count('<circle class="good"'), 1)
        self.assertNotIn('<svg', benchpage.page([self.TABLE[3]], []))

    def test_table_of_an_earlier_run_is_shown_again(self):
        with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
            json.dump(self.TABLE, file)
            file.flush()
            out, argv = io.StringIO(), sys.argv
            page = file.name + '.html'
            self.addCleanup(os.unlink, page)
            sys.argv = ['run', '--from', file.name, '--report', page]
            try:
                with contextlib.redirect_stdout(out):
                    self.assertEqual(run.main(), 0)
            finally:
                sys.argv = argv
        self.assertTrue(re.search(r'(?m)^NOT MET: bad', out.getvalue()))
        with open(page, encoding='utf-8') as file:
            self.assertIn('NOT MET: bad', file.read())


class PairsTest(unittest.TestCase):
    """Two builds: intervals, ratios and the verdict."""

    def test_interval_is_that_of_the_sign_test(self):
        """Ranks of the usual tables for a median, at 95 %."""
        for nr, rank in ((6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (20, 6)):
            self.assertEqual(benchpairs.interval(range(nr, 0, -1)),
                             (rank, nr + 1 - rank), nr)

    def test_too_few_pairs_have_no_interval(self):
        with self.assertRaisesRegex(ValueError, '5 pairs; at least 6'):
            benchpairs.interval([1.0] * 5)

    def test_geometric_mean(self):
        self.assertAlmostEqual(benchpairs.geomean([0.5, 2.0]), 1)
        self.assertAlmostEqual(benchpairs.geomean([0.98]), 0.98)

    def test_above_one_the_head_is_better(self):
        """Whether the figure is a time or a rate, and pair by pair."""
        base = [10, 20, 30, 10, 20, 30]
        head = [5, 10, 15, 5, 10, 15]
        for better, want in (('lower', 2), ('higher', 0.5)):
            row = benchpairs.compare('r', 'ns', better, base, head)
            self.assertEqual((row['ratio'], row['low'], row['high']),
                             (want, want, want))

    @staticmethod
    def row(*pairs):
        """A row of a rate with these ratios."""
        return benchpairs.compare('r', 'M/s', 'higher', [1] * len(pairs), pairs)

    def test_row_that_is_surely_worse_is_not_met(self):
        self.assertFalse(self.row(*[0.96] * 6)['met'])
        self.assertTrue(self.row(*[0.975] * 6)['met'])
        self.assertTrue(self.row(0.9, 0.9, 0.9, 0.9, 0.9, 1.01)['met'],
                        'the interval includes 1')

    def test_verdict(self):
        good, bad = self.row(*[1.0] * 6), self.row(*[0.9] * 6)
        counts = {'instructions': (1000, 1030)}
        self.assertEqual(benchpairs.failures([good], counts), [])
        self.assertEqual(benchpairs.failures([], {}), [])
        self.assertRegex(benchpairs.failures([good] * 9 + [bad], {})[0],
                         r'^r: 0.900 .0.900 to 0.900. is below 0.97')
        # No row is below its bound, but all together are.
        self.assertEqual(
            benchpairs.failures([self.row(*[0.975] * 6)] * 3, {}),
            ['geometric mean: 0.975 is below 0.98'])
        self.assertEqual(
            benchpairs.failures([good], {'instructions': (1000, 1031)}),
            ['instructions: 1031 is 1.031 times 1000, above 1.03'])

    def test_table_says_what_is_worse_and_what_is_noise(self):
        words = benchpairs.table([self.row(*[0.9] * 6)], {'n': (1000, 500)})
        self.assertRegex(words[1], r'0\.900 +\[0\.900-0\.900\] +WORSE$')
        self.assertRegex(words[2], r'^n .* 2\.000$')
        self.assertRegex(words[-1], '^geometric mean of 1 ratios: 0.9000')
        noisy = self.row(0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
        self.assertIn('quiet machine', benchpairs.table([noisy], {})[-1])

    def test_every_probe_has_rows(self):
        rows = against.chosen_rows(run, '.')
        self.assertEqual({row.ours.split(':')[0] for _, row in rows},
                         set(against.CHOSEN))
        self.assertEqual(len({name for name, _ in rows}), len(rows))
        for _, row in rows:
            program = run.PROBES[row.ours.split(':')[0]].split()[0]
            self.assertIn(program, against.PROGRAMS + against.ROOMS)

    def test_counts_the_put_with_the_arguments_that_the_counter_takes(self):
        with mock.patch.object(run, 'received', autospec=True,
                               return_value={'lnet': 2.0, 'lnd': 1.0}):
            self.assertEqual(against.count(run, ['ours', 'theirs']),
                             {against.COUNTED: (3.0, 3.0)})

    def test_bad_words_end_with_2_and_say_what_is_accepted(self):
        for words, want in (
                (['no-such-ref'], 'REF: "no-such-ref" is not a commit'),
                ([''], 'REF: "" is not a commit'),
                (['HEAD', '--pairs', '5'], '--pairs: 5 .* at least 6'),
                (['HEAD', '--rows', '('], r'--rows: "\(" is no regular'),
                (['HEAD', '--rows', 'no such row'],
                 '--rows: "no such row" matches no row')):
            done = subprocess.run([os.path.join(BENCH, 'against'), *words],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, words)
            self.assertRegex(done.stderr, want)


if __name__ == '__main__':
    unittest.main()
