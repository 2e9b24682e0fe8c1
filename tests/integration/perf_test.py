# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri perf`: every test in every mode gives sane numbers, soon.

How large the numbers are is nobody's business here.
"""
import json
import os
import stat

import cli
import lnet
import page

TESTS = ('latency', 'rate', 'put', 'get')
QUICK = ('--time', '0.05')


class Measures(cli.Case):
    def rows(self, *options):
        result = cli.run('perf', *QUICK, '--json', *options)
        self.assert_done(result)
        tree = json.loads(result.stdout)
        for row in tree['rows']:
            ns = row['ns']
            self.assertGreater(row['ops'], 0)
            self.assertGreater(row['ops_per_second'], 0)
            self.assertGreaterEqual(row['cpu_seconds_per_op'], 0)
            self.assertLessEqual(ns['p50'], ns['p90'])
            self.assertLessEqual(ns['p90'], ns['p99'])
            self.assertLessEqual(ns['p99'], ns['p99.9'])
            self.assertLessEqual(ns['p99.9'], ns['max'])
            self.assertLessEqual(ns['mean'], ns['max'])
        return tree

    def check(self, *options):
        """All tests with these options."""
        rows = self.rows(*options)['rows']
        self.assertEqual([(r['test'], r['size']) for r in rows],
                         [('latency', 64), ('rate', 64),
                          ('put', 4096), ('put', 65536), ('put', 1 << 20),
                          ('get', 4096), ('get', 65536), ('get', 1 << 20)])

    def test_report_is_a_page(self):
        path = self.path('page.html')
        self.assert_done(cli.run('perf', *QUICK, '--report', path))
        with open(path, encoding='utf-8') as file:
            text = file.read()
        page.check(self, text, plots=5)
        for title in ('Rate of bulk over time', 'Rate of messages over time',
                      'Latency over time', 'Rate of bulk against size'):
            self.assertIn(title, text)
        self.assertIn('Distribution of latencies', text)
        self.assert_refused(cli.run('perf', '--listen', '--report', path), 2,
                            '--report')
        result = cli.run('perf', *QUICK, '-T', 'latency', '--report',
                         '/nonsense/x')
        self.assertEqual(result.returncode, 1)
        self.assertIn(b'/nonsense/x', result.stderr)

    def test_worse_than_last_time_fails(self):
        path = self.path('base.json')
        run = ('perf', *QUICK, '-T', 'latency,put', '-s', '4K')
        self.assert_done(cli.run(*run, '--save-baseline', path))
        with open(path, encoding='utf-8') as file:
            tree = json.load(file)
        self.assertEqual([(r['name'], r['unit']) for r in tree['results']],
                         [('mem async, latency 4K x 1', 'us'),
                          ('mem async, put 4K x 8', 'ops/s')])
        for factor, code in ((1000, 0), (0.001, 1)):
            # Less is better of a time.
            values = [tree['results'][0]['value'] * factor,
                      tree['results'][1]['value'] / factor]
            with open(path, 'w', encoding='utf-8') as file:
                json.dump({**tree, 'results': [
                    {**r, 'value': v}
                    for r, v in zip(tree['results'], values)]}, file)
            result = cli.run(*run, '--baseline', path)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertEqual(b'worse than last time: 2 of 2' in result.stderr,
                             code == 1)
            self.assertIn(b'WORSE THAN LAST TIME' if code == 1 else b'better',
                          result.stdout)
        self.assert_refused(cli.run('perf', '--listen', '--baseline', path), 2,
                            '--baseline')

    def test_saved_baseline_replaces_neither_link_nor_device(self):
        run = ('perf', *QUICK, '-T', 'latency', '-s', '4K', '--save-baseline')
        path = self.make('kept', b'old', mode=0o640)
        link = self.path('link')
        os.symlink('kept', link)
        self.assert_done(cli.run(*run, link))
        self.assertEqual(os.readlink(link), 'kept')
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
        with open(path, encoding='utf-8') as file:
            self.assertEqual(json.load(file)['tool'], 'perf')
        null = self.path('null')
        try:
            os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
            os.close(os.open(null, os.O_WRONLY))
        except PermissionError:
            self.skipTest('no device can be made')
        self.assert_done(cli.run(*run, null))
        self.assertTrue(stat.S_ISCHR(os.lstat(null).st_mode))
        self.assertEqual(sorted(os.listdir(self.dir)), ['kept', 'link', 'null'])

    def test_async(self):
        self.check('--mode', 'async')

    def test_async_without_spinning(self):
        self.check('--mode', 'async', '--spin', '0')

    def test_sync(self):
        self.check('--mode', 'sync', '--spin', '0')

    def test_sync_spinning(self):
        self.check('--mode', 'sync', '--spin', '20us')

    def test_inline_on_one_thread(self):
        self.check('--mode', 'inline')

    def test_inline_on_two_threads(self):
        self.check('--mode', 'inline', '--threads', '2')

    def test_several_workers(self):
        self.check('--workers', '3')

    def test_busy_host_is_told(self):
        """A thread that polls shares its processor with others that compute."""
        if not os.path.exists('/proc/self/schedstat'):
            self.skipTest('the kernel does not count waiting')
        cpu = {min(os.sched_getaffinity(0))}

        def bind():
            os.sched_setaffinity(0, cpu)

        for _ in range(3):
            child = cli.subprocess.Popen(['sh', '-c', 'while :; do :; done'],
                                         preexec_fn=bind)
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)
        options = ('--mode', 'inline', '--test', 'latency', '--time', '0.5')
        result = cli.run('perf', '--json', *options, preexec_fn=bind)
        self.assert_done(result)
        self.assertTrue(json.loads(result.stdout)['rows'][0]['host_busy'])
        result = cli.run('perf', *options, preexec_fn=bind)
        self.assert_done(result)
        self.assertIn(b'latency 64 x 1: host busy: ', result.stdout)

    def test_processors(self):
        cpus = sorted(os.sched_getaffinity(0))
        for mode in ('async', 'sync', 'inline'):
            tree = self.rows('--mode', mode, '--test', 'latency', '--cpus',
                             f'{cpus[0]},{cpus[-1]}')
            self.assertEqual(tree['processors'], [cpus[0], cpus[-1]])

    def test_lnet_on_one_node(self):
        net = ('--transport', 'lnet', '--net', f'tcp({lnet.address(1)})')
        for mode in ('async', 'sync', 'inline'):
            self.check('--mode', mode, *net)

    def test_lnet_between_two_nodes(self):
        net = ('--transport', 'lnet', '--net', f'tcp({lnet.address(1)})',
               '--peer-net', f'tcp({lnet.address(2)})', '--port',
               str(lnet.free_port()), '--accept', 'all', '--source-ports',
               'any')
        # Polled, nobody reads between two rows: what one has left on its way
        # would come to the next.
        for mode in ('async', 'inline'):
            self.check('--mode', mode, *net)

    def test_sizes_and_depths_of_all_kinds(self):
        # Longer: few of the large ones fit a sanitizer's 50 ms.
        tree = self.rows('--size', '1,4097,2M,16M', '--depth', '3',
                         '--time', '0.25')
        self.assertEqual(len(tree['rows']), 16)
        for row in tree['rows']:
            depth = 1 if row['test'] == 'latency' else 3
            self.assertEqual(row['depth'], depth)

    def test_chosen_tests_come_in_one_order(self):
        tree = self.rows('--test', 'get,latency', '--size', '64')
        self.assertEqual([r['test'] for r in tree['rows']],
                         ['latency', 'get'])

    def test_table_has_a_line_for_each_row(self):
        result = cli.run('perf', *QUICK, '--test', 'rate,put')
        self.assert_done(result)
        lines = result.stdout.decode().splitlines()
        self.assertIn('p99.9', lines[3])
        self.assertIn('cpu/op', lines[3])
        # On a busy host lines that say so follow.
        self.assertEqual([line.split()[0] for line in lines[4:8]],
                         ['rate', 'put', 'put', 'put'])
        self.assertEqual(lines[8:9], [''] if len(lines) > 8 else [])


class Refuses(cli.Case):
    def check(self, option, values, *words):
        *more, option = option.split()
        for value in values:
            with self.subTest(option=option, value=value):
                result = cli.run('perf', *more, f'{option}={value}')
                self.assert_refused(result, 2, option, value, *words)

    def test_values_outside_what_is_accepted(self):
        self.check('--test', ('x', '', 'rate,', 'rates'), 'latency, rate')
        self.check('--mode', ('x', '', 'Async'), 'async, sync, inline')
        self.check('--depth', ('0', 'x', '', '1025', '-1'), '1 to 1024')
        self.check('--time', ('0', 'x', '', '-1', 'inf', '3601'), 'seconds')
        self.check('--spin', ('x', '', '-1', '11s', '1h'), 'nanoseconds')
        self.check('--cpus', ('x', '', '0,0,0', '-1'), 'processors')
        self.check('--cpus', ('99999', '1023,99999'), 'may run on')
        self.check('--workers', ('0', 'x', '', '65', '4294967297'), "'mem'",
                   '1 to 64')
        self.check('--transport=lnet --net=tcp(lo) --workers', ('2',),
                   "'lnet'", '1 to 1')
        self.check('--threads', ('0', '3', 'x'), '1 to 2')
        self.check('--threads', ('1', '2'), '--mode inline')
        self.check('--mode=sync --threads', ('2',), '--mode inline')
        self.check('--size', ('x', '', '64,', '1.5K', ','.join('1' * 17)),
                   'a list')
        self.check('--size', ('0', '16777217'), '1 to 16777216')
        self.check('--transport', ('smoke',), 'mem')
        self.check('--net', ('x(1)',), 'networks')

    def test_more_memory_than_is_reasonable(self):
        result = cli.run('perf', '--size=16M', '--depth=1024')
        self.assert_refused(result, 2, '--depth 1024', '16777216', 'memory')

    def test_operand(self):
        self.assert_refused(cli.run('perf', 'x'), 2, "EP 'x'",
                            'NID:12345:portal:machine')


if __name__ == '__main__':
    cli.main()
