# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri node`, and ping, discover, net, peer, stats, global that ask it.

Everything is on addresses of the loopback and a port above 1023.
"""
import errno
import json
import os
import re
import resource
import signal
import socket
import stat
import subprocess
import threading
import time

import cli
import lnet
from lnet import failure_text, ping_text

try:
    import yaml
except ImportError:
    yaml = None

SHOWS = (('net', 'show'), ('peer', 'show'), ('peer', 'list'),
         ('stats', 'show'), ('global', 'show'))


def as_text(tree):
    """Keys are strings in JSON."""
    if isinstance(tree, dict):
        return {str(key): as_text(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [as_text(value) for value in tree]
    return tree


class Case(cli.Case):
    def setUp(self):
        super().setUp()
        self.port = lnet.free_port()

    def options(self, i, *more):
        """Of a node at the i-th address that needs no privilege."""
        return ('--net', f'tcp({lnet.address(i)})', '--port', str(self.port),
                '--accept', 'all', '--source-ports', 'any', *more)

    def node(self, i, *more):
        return lnet.Node(self, *self.options(i, *more))

    def nid(self, i):
        return f'{lnet.address(i)}@tcp'

    def ping(self, i, *args, verb='ping'):
        """By a node of its own at the i-th address."""
        return cli.run(verb, *self.options(i), *args)


class Speaks(Case):
    def test_start_and_end_are_told(self):
        node = self.node(1)
        self.assertEqual([e['event'] for e in node.events],
                         ['start', 'nid', 'ready'])
        self.assertEqual(node.events[0]['pid'], node.pid)
        self.assertEqual(node.events[1]['nid'], self.nid(1))
        self.assertEqual(node.events[1]['device'], 'lo')
        self.assertEqual(node.events[1]['port'], self.port)
        self.assertEqual(node.events[2]['ctl'], node.ctl)
        self.assertTrue(os.path.exists(node.ctl))
        code, last = node.stop()
        self.assertEqual(code, 0, node.error_text())
        self.assertEqual(last['event'], 'stopped')
        self.assertEqual((last['peers'], last['sent'], last['received']),
                         (0, 0, 0))
        self.assertFalse(os.path.exists(node.ctl))

    def test_start_and_end_in_words(self):
        ctl = self.path('ctl')
        for number in (signal.SIGINT, signal.SIGTERM):
            child = subprocess.Popen(
                [cli.COLIBRI, 'node', '--ctl', ctl, *self.options(1)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(child.kill)
            lines = [child.stdout.readline().decode() for _ in range(3)]
            if number == signal.SIGTERM:
                self.assert_done(self.ping(2, self.nid(1)))
            # Not an end: it answers as before.
            child.send_signal(signal.SIGHUP)
            self.assert_done(cli.run('net', 'show', '--ctl', ctl))
            child.send_signal(number)
            rest, errors = child.communicate(timeout=cli.PATIENCE)
            self.assertEqual(child.returncode, 0, errors)
            self.assertIn(f'process {child.pid}', lines[0])
            self.assertIn(f'NID {self.nid(1)} on lo, listening on port {self.port}',
                          lines[1])
            self.assertIn(f'ready; control socket {ctl}', lines[2])
            self.assertIn(f'stopping: {number.name}', rest.decode())
            self.assertRegex(rest.decode(), 'stopped after .*: ' +
                             ('1 peer, ' if number == signal.SIGTERM else
                              '0 peers, 0 messages sent'))
            self.assertFalse(os.path.exists(ctl))

    def test_peers_are_told_of_to_who_watches(self):
        node = self.node(1, '-v')
        self.assert_done(self.ping(2, self.nid(1)))
        node.wait_for('peer', nid=self.nid(2), **{'is': 'new'})
        node.wait_for('peer', nid=self.nid(2), **{'is': 'down'})
        with socket.create_connection((lnet.address(1), self.port)) as sock:
            sock.sendall(b'GET / HTTP/1.0\r\n\r\n')
            node.wait_for('refused', connections=1)
        self.assertEqual(node.stop()[0], 0)

    def test_peer_that_is_down_for_a_moment_is_told_of(self):
        """However soon it is back, between two looks."""
        node = self.node(1, '-v')
        for i in range(3):
            two = self.node(2)
            self.assert_done(two.run('ping', '--timeout=20', self.nid(1)))
            two.child.kill()
            two.child.wait()
        self.assert_done(self.ping(2, '--timeout=20', self.nid(1)))
        # The node looks once a second: its last line may still come.
        while node.events[-1].get('is') != 'down':
            node.read()
        self.assertEqual(node.stop()[0], 0)
        told = [event['is'] for event in node.events
                if event['event'] == 'peer']
        self.assertEqual(told[0], 'new')
        self.assertIn('down', told)
        # Never twice the same, and in an order that can be.
        for before, after in zip(told, told[1:]):
            self.assertIn((before, after), (('new', 'down'), ('down', 'up'),
                                            ('up', 'down')))
        self.assertEqual(told[-1], 'down')

    def test_node_takes_all_files_it_may_have(self):
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
        node = self.node(1)
        with open(f'/proc/{node.child.pid}/limits', encoding='utf-8') as file:
            words = re.search('Max open files +([0-9]+) +([0-9]+)',
                              file.read())
        self.assertEqual(words[1], words[2])

    def test_idle_node_sleeps(self):
        node = self.node(1)
        self.assert_done(node.run('net', 'show'))

        def wakes():
            total = 0
            for task in os.listdir(f'/proc/{node.pid}/task'):
                with open(f'/proc/{node.pid}/task/{task}/status',
                          encoding='ascii') as file:
                    for line in file:
                        if 'voluntary_ctxt_switches' in line:
                            total += int(line.split()[1])
            return total

        time.sleep(1)
        before = wakes()
        time.sleep(2)
        # Not a matter of speed: one that polls wakes up again and again.
        self.assertLess(wakes() - before, 20)


    def test_processors_of_the_environment(self):
        cpu = max(os.sched_getaffinity(0))
        node = lnet.Node(self, *self.options(1),
                         env={**os.environ, 'M0_LNET_CPUS': str(cpu)})
        found = []
        for tid in os.listdir(f'/proc/{node.pid}/task'):
            with open(f'/proc/{node.pid}/task/{tid}/comm',
                      encoding='ascii') as file:
                if file.read().strip() == 'm0-lnet':
                    found.append(os.sched_getaffinity(int(tid)))
        self.assertEqual(found, [{cpu}])


class Asks(Case):
    def test_node_pings_several_in_their_order(self):
        one, two, three = (self.node(i) for i in (1, 2, 3))
        result = one.run('ping', self.nid(3), f'{self.nid(2)},{self.nid(1)}')
        self.assert_done(result)
        self.assertEqual(result.stdout, ping_text(
            three.nids(), two.nids(), one.nids()))
        for node in (one, two, three):
            self.assertEqual(node.stop()[0], 0)

    def test_ping_without_a_node_opens_one(self):
        node = self.node(1)
        result = self.ping(2, self.nid(1))
        self.assert_done(result)
        self.assertEqual(result.stdout, ping_text([self.nid(1)]))
        # Its --accept opened a listener; without one it works as well.
        result = cli.run('ping', '--net', f'tcp({lnet.address(3)})', '--port',
                         str(self.port), '--source-ports=any', self.nid(1))
        self.assert_done(result)
        self.assertEqual(result.stdout, ping_text([self.nid(1)]))
        self.assertEqual(node.stop()[0], 0)

    def test_several_nids_of_one_node(self):
        node = lnet.Node(self, '--net', f'tcp({lnet.address(1)},'
                         f'{lnet.address(2)}),tcp5({lnet.address(3)})',
                         *self.options(1)[2:])
        nids = [self.nid(1), self.nid(2), f'{lnet.address(3)}@tcp5']
        self.assertEqual(node.nids(), nids)
        result = self.ping(4, self.nid(2))
        self.assert_done(result)
        self.assertEqual(result.stdout, ping_text(nids))
        nets = node.json('net', 'show')['net']
        self.assertEqual([net['net type'] for net in nets],
                         ['lo', 'tcp', 'tcp5'])
        self.assertEqual([len(net['local NI(s)']) for net in nets], [1, 2, 1])
        result = node.run('ping', '--source', self.nid(2), self.nid(1))
        self.assert_done(result)

    def test_failure_is_told_as_by_lnetctl(self):
        node = self.node(1)
        result = node.run('ping', self.nid(1), self.nid(7))
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, ping_text([self.nid(1)]))
        self.assertEqual(result.stderr,
                         failure_text(self.nid(7), errno.ECONNREFUSED))
        # The second try is in a pause, and has the reason of the first.
        result = node.run('ping', self.nid(7))
        self.assertEqual(result.stderr,
                         failure_text(self.nid(7), errno.ECONNREFUSED))
        for verb in ('ping', 'discover'):
            result = node.run(verb, '10.1.2.3@tcp5')
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout, b'')
            self.assertEqual(result.stderr, failure_text(
                '10.1.2.3@tcp5', errno.EHOSTUNREACH, verb))
        result = self.ping(2, self.nid(7))
        self.assertEqual(result.returncode, 1)
        self.assertIn(failure_text(self.nid(7), errno.ECONNREFUSED),
                      result.stderr)

    def test_peer_that_wants_another_port_is_told_of(self):
        """By a ping through a node, as by one of its own."""
        self.node(1, '--accept=secure')
        two = self.node(2)
        for result in (two.run('ping', self.nid(1)),
                       two.run('ping', self.nid(1)), self.ping(3, self.nid(1))):
            self.assertEqual(result.returncode, 1)
            self.assertIn('accepts other source ports only', result.stderr.decode())
            self.assertIn(f'errno: -{errno.ECONNRESET}', result.stderr.decode())

    def test_source_that_is_not_ours(self):
        node = self.node(0)
        for where in (self.options(1), ('--ctl', node.ctl)):
            for verb in ('ping', 'discover'):
                result = cli.run(verb, *where, '--source=10.9.8.7@tcp',
                                 self.nid(0))
                self.assertEqual(result.returncode, 2)
                self.assertIn(b'--source 10.9.8.7@tcp is no NID of the node',
                              result.stderr)
                self.assertIn(b'colibri net show', result.stderr)

    def test_json_has_answers_and_failures(self):
        node = self.node(1)
        self.node(2)
        result = node.run('ping', '--json', self.nid(2), self.nid(7))
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, b'')
        tree = json.loads(result.stdout)
        self.assertEqual(tree['ping'][0]['primary nid'], self.nid(2))
        self.assertEqual(tree['ping'][0]['peer_ni'], [{'nid': self.nid(2)}])
        self.assertGreater(tree['ping'][0]['ns'], 0)
        self.assertEqual(tree['manage'][0]['errno'], -errno.ECONNREFUSED)
        self.assertEqual(tree['manage'][0]['nid'], self.nid(7))

    def test_discovery_is_remembered_on_both_sides(self):
        one, two = self.node(1), self.node(2)
        result = one.run('discover', self.nid(2))
        self.assert_done(result)
        self.assertEqual(result.stdout,
                         ping_text(two.nids(), verb='discover'))
        self.assert_done(one.run('discover', '--force', self.nid(2)))
        self.assertEqual(one.run('ping', self.nid(2)).stdout,
                         ping_text(two.nids(), rail='true'))
        for node, other in ((one, two), (two, one)):
            peers = node.json('peer', 'show', '-v4')['peer']
            self.assertEqual([p['primary nid'] for p in peers], other.nids())
            self.assertTrue(peers[0]['Multi-Rail'])
            self.assertEqual(peers[0]['peer state'] & 0x11, 0x11)
            text = node.run('peer', 'list').stdout.decode()
            self.assertEqual(text, f'peer list:\n-     nid: {other.nids()[0]}\n')
        # The first has pushed, and been acknowledged.
        stats = one.json('peer', 'show', '-v', '2')['peer'][0]['peer ni'][0]
        self.assertGreaterEqual(stats['sent_stats']['put'], 1)
        self.assertGreaterEqual(stats['received_stats']['ack'], 1)

    def test_discovery_without_a_node(self):
        node = self.node(1)
        result = self.ping(2, '--force', self.nid(1), verb='discover')
        self.assert_done(result)
        self.assertEqual(result.stdout, ping_text([self.nid(1)],
                                                  verb='discover'))
        # The node still knows what the peer told it, though the peer is gone.
        self.assertIn(self.nid(2),
                      node.run('peer', 'list').stdout.decode())

    def test_discovery_turned_off(self):
        node = self.node(1, '--no-discovery')
        result = self.ping(2, self.nid(1))
        self.assertEqual(result.stdout, ping_text([self.nid(1)]))
        self.assertEqual(node.json('global', 'show')['global']['discovery'], 0)
        # As lnetctl has it, that is a failure, also if the peer is known.
        two = self.node(3)
        for i in range(2):
            result = two.run('discover', self.nid(1))
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout, b'')
            self.assertIn(f'errno: -{errno.EOPNOTSUPP}\n',
                          result.stderr.decode())
            self.assertIn(f"'failed to discover {self.nid(1)}: Operation not "
                          "supported (the node answers, but takes no part in "
                          "discovery)'", result.stderr.decode())
        self.assertEqual(two.json('peer', 'show', '-v3')['peer'][0]
                         ['peer state'] & 2, 2)


class Shows(Case):
    def test_every_show_is_the_same_tree_in_both_forms(self):
        node = self.node(1)
        self.node(2)
        self.assert_done(node.run('discover', self.nid(2)))
        for words in SHOWS:
            for verbose in range(5):
                with self.subTest(words=words, verbose=verbose):
                    text = node.run(*words, '-v', str(verbose))
                    self.assert_done(text)
                    tree = node.json(*words, f'-v{verbose}')
                    if yaml is not None:
                        self.assertEqual(
                            as_text(yaml.safe_load(text.stdout)), tree)
                    mentioned = b'colibri:' in text.stdout
                    self.assertEqual(mentioned, verbose == 4 and words not in
                                     (('peer', 'list'), ('global', 'show')))

    def test_verbosity_in_lnetctls_spellings(self):
        node = self.node(1)
        one = node.run('net', 'show', '-v').stdout
        self.assertEqual(node.run('net', 'show', '--verbose').stdout, one)
        self.assertEqual(node.run('net', 'show', '-v', '1').stdout, one)
        self.assertEqual(node.run('net', '-v', '1', 'show').stdout, one)
        four = node.run('net', 'show', '--verbose=4').stdout
        self.assertIn(b'udsp info', four)
        self.assertIn(b'health value: 1000', four)
        self.assertNotIn(b'udsp info', one)

    def test_filters(self):
        node = self.node(1)
        self.node(2)
        self.assert_done(node.run('ping', self.nid(2)))
        result = node.run('net', 'show', '--net', 'tcp')
        self.assert_done(result)
        self.assertNotIn(b'0@lo', result.stdout)
        result = node.run('peer', 'show', '--nid', self.nid(2))
        self.assert_done(result)
        self.assertIn(self.nid(2).encode(), result.stdout)
        self.assert_refused(node.run('net', 'show', '--net', 'tcp9'), 1,
                            'tcp9')
        self.assert_refused(node.run('peer', 'show', '--nid', '9.9.9.9@tcp'),
                            1, '9.9.9.9@tcp')

    def test_counters_count_and_are_reset(self):
        node = self.node(1)
        self.assert_done(self.ping(2, self.nid(1)))
        stats = node.json('stats', 'show')['statistics']
        self.assertEqual((stats['recv_count'], stats['send_count']), (1, 1))
        ours = node.json('net', 'show', '-v4')['net'][1]['local NI(s)'][0]
        self.assertGreater(ours['colibri']['accepted'], 0)
        self.assert_done(node.run('stats', 'reset'))
        stats = node.json('stats', 'show')['statistics']
        self.assertEqual((stats['recv_count'], stats['send_count']), (0, 0))

    def test_parameters_follow_the_options(self):
        node = self.node(1, '--transaction-timeout=20', '--lnd-timeout=9',
                         '--peer-credits=5', '--credits=77',
                         '--conns-per-peer=2')
        tree = node.json('global', 'show')['global']
        self.assertEqual(tree['transaction_timeout'], 20)
        # Derived, as by lnetctl: what a try may take.
        self.assertEqual(tree['lnd_timeout'], 6)
        ni = node.json('net', 'show', '-v')['net'][1]['local NI(s)'][0]
        self.assertEqual(ni['tunables']['peer_credits'], 5)
        self.assertEqual(ni['tunables']['credits'], 77)
        self.assertEqual(ni['lnd tunables']['conns_per_peer'], 2)
        self.assertEqual(ni['lnd tunables']['timeout'], 9)

    def test_networks_have_their_own_parameters(self):
        where = lnet.address(1)
        node = lnet.Node(self, '--net', f'tcp({where}) peer_credits=3 timeout=9,'
                         f'tcp5({where}) conns_per_peer=2 peer_timeout=60 '
                         'peer_buffer_credits=1', *self.options(1)[2:],
                         '--peer-credits=5', '--credits=77')
        nets = node.json('net', 'show', '-v')['net'][1:]
        ours = [net['local NI(s)'][0] for net in nets]
        self.assertEqual([ni['tunables'] for ni in ours], [
            {'peer_timeout': 180, 'peer_credits': 3, 'peer_buffer_credits': 0,
             'credits': 77},
            {'peer_timeout': 60, 'peer_credits': 5, 'peer_buffer_credits': 1,
             'credits': 77}])
        self.assertEqual([ni['lnd tunables'] for ni in ours], [
            {'conns_per_peer': 1, 'timeout': 9, 'tos': -1},
            {'conns_per_peer': 2, 'timeout': 50, 'tos': -1}])

    def test_parameter_of_a_network_that_is_wrong_is_named(self):
        result = cli.run('node', '--net', 'tcp,tcp5 peer_credits=0')
        self.assertEqual(result.returncode, 2)
        self.assertIn(b'network tcp5: peer_credits is "0"; accepted: 1 to 65535',
                      result.stderr)
        self.assertEqual(result.stdout, b'')


class Faults(Case):
    def rules(self, node, kind='all', *more):
        return node.json('fault', kind, 'show', *more)['fault']

    def test_dropped_ping_times_out_and_is_counted(self):
        node = self.node(1)
        self.assert_done(self.ping(2, self.nid(1)))
        self.assert_done(node.run('fault', 'drop', 'add', '-s', '*@tcp', '-d',
                                  self.nid(1), '-m', 'GET', '--all', '--max=1'))
        result = self.ping(2, '--timeout=0.5', self.nid(1))
        self.assertEqual(result.returncode, 1)
        self.assertIn(failure_text(self.nid(1), errno.ETIMEDOUT),
                      result.stderr)
        # The rule drops one message only.
        self.assert_done(self.ping(2, self.nid(1)))
        rule, = self.rules(node)
        self.assertEqual(rule, {
            'rule_type': 'drop', 'fa_src': '*@tcp',
            'fa_dst': self.nid(1), 'fa_ptl_mask': 0, 'fa_msg_mask': 4,
            'da_rate': 0, 'da_interval': 0, 'ds_dropped': 1,
            'fs_count': 2, 'fs_put': 0, 'fs_ack': 0, 'fs_get': 2,
            'fs_reply': 0})
        tree = node.json('stats', 'show', '-v4')
        self.assertEqual(tree['colibri']['drop_fault'], 1)
        self.assertEqual(tree['statistics']['drop_count'], 1)
        self.assertEqual(json.loads(node.run(
            'fault', 'drop', 'reset', '--json').stdout), {'reset': 1})
        self.assertEqual(self.rules(node)[0]['fs_count'], 0)
        self.assertEqual(node.stop()[0], 0)

    def test_numbers_of_any_size_are_told_as_given(self):
        node = self.node(1)
        big = 2 ** 64 - 1
        self.assert_done(node.run('fault', 'drop', 'add', '--all',
                                  f'--seed={big}', f'--max={big - 1}'))
        more = self.rules(node, 'drop', '-v4')[0]['colibri']
        # Where JSON has no such number, a string.
        self.assertEqual((more['seed'], more['max']), (str(big), str(big - 1)))

    def test_delays_hold_in_both_directions(self):
        one, two = self.node(1), self.node(2)
        self.assert_done(one.run('ping', self.nid(2)))
        for node, mine in ((one, 1), (two, 2)):
            self.assert_done(node.run('fault', 'delay', 'add', '--all',
                                      '--latency', '150ms', '-m', 'GET'))
            begin = time.monotonic()
            self.assert_done(one.run('ping', self.nid(2)))
            self.assertGreater(time.monotonic() - begin, 0.15 * mine)
        rule, = self.rules(two, 'delay', '-v4')
        self.assertEqual((rule['la_latency'], rule['ls_delayed']), (0.15, 1))
        self.assertTrue(rule['colibri']['all'])
        # In good order, with one held up for longer than that may take.
        self.assert_done(one.run('fault', 'delay', 'add', '--all',
                                 '--latency=1000'))
        self.assertEqual(one.run('ping', '--timeout=0.2',
                                 self.nid(2)).returncode, 1)
        for node in (one, two):
            self.assertEqual(node.stop()[0], 0, node.error_text())

    def test_doubled_damaged_and_cut(self):
        one, two = self.node(1), self.node(2)
        self.assert_done(one.run('fault', 'duplicate', 'add', '--all'))
        self.assert_done(one.run('ping', self.nid(2)))
        self.assertEqual(self.rules(one)[0]['hits'], 1)
        stats = two.json('stats', 'show')['statistics']
        self.assertEqual(stats['recv_count'], 2)
        self.assert_done(one.run('fault', 'all', 'del'))
        # Some of the answers make no sense, and none does harm.
        self.assert_done(one.run('fault', 'corrupt', 'add', '--all',
                                 '--seed=5'))
        self.assert_done(two.run('fault', 'corrupt', 'add', '--rate=2',
                                 '--header', '--seed=5'))
        for _ in range(20):
            one.run('ping', '--timeout=0.1', self.nid(2))
        self.assertGreater(self.rules(two)[0]['hits'], 0)
        for node in (one, two):
            self.assert_done(node.run('fault', 'all', 'del'))
        self.assert_done(one.run('fault', 'cut', 'add', '--all', '--max=1'))
        before = self.lost(one)
        one.run('ping', '--timeout=1', self.nid(2))
        self.assertEqual(self.rules(one)[0]['hits'], 1)
        self.assertGreater(self.lost(one), before)
        # A peer just lost is left alone for a second.
        deadline = time.monotonic() + cli.PATIENCE
        while one.run('ping', '--timeout=1', self.nid(2)).returncode != 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        for node in (one, two):
            self.assertEqual(node.stop()[0], 0, node.error_text())

    def lost(self, node):
        nets = node.json('net', 'show', '-v4')['net']
        return nets[1]['local NI(s)'][0]['colibri']['lost']

    def test_failed_sends_have_the_class_asked_for(self):
        node = self.node(1)
        self.node(2)
        self.assert_done(node.run('fault', 'drop', 'add', '--rate=1', '-e',
                                  'remote_dropped', '--message=GET'))
        result = node.run('ping', self.nid(2))
        self.assertEqual(result.returncode, 1)
        self.assertIn(failure_text(self.nid(2), errno.ECONNRESET),
                      result.stderr)
        # A ping whose connection is reset is sent once more.
        stats = node.json('stats', 'show')['statistics']
        self.assertEqual(stats['remote_dropped_count'], 2)

    def test_rules_are_shown_in_both_forms_and_removed_by_name(self):
        node = self.node(1)
        self.assertEqual(node.run('fault', 'all', 'show').stdout, b'')
        self.assertEqual(self.rules(node), [])
        for i, kind in enumerate(('drop', 'delay', 'duplicate', 'corrupt',
                                  'cut')):
            more = ('--latency=2',) if kind == 'delay' else ()
            self.assert_done(node.run('fault', kind, 'add', '-s', self.nid(i),
                                      '-r', '3', '-p', '4,63', *more))
        for verbose in ('-v0', '-v4'):
            text = node.run('fault', 'all', 'show', verbose)
            self.assert_done(text)
            tree = node.json('fault', 'all', 'show', verbose)
            if yaml is not None:
                self.assertEqual(as_text(yaml.safe_load(text.stdout)), tree)
        self.assertEqual([r['rule_type'] for r in self.rules(node)],
                         ['cut', 'corrupt', 'duplicate', 'delay', 'drop'])
        self.assertEqual(int(self.rules(node)[0]['fa_ptl_mask']),
                         1 << 4 | 1 << 63)
        self.assertEqual(len(self.rules(node, 'delay')), 1)
        self.assert_refused(node.run('fault', 'drop', 'del', '-s',
                                     self.nid(4)), 1, 'no such rule')
        self.assert_done(node.run('fault', 'all', 'del', '-s', self.nid(4)))
        self.assert_done(node.run('fault', 'drop', 'del'))
        self.assertEqual(json.loads(node.run('fault', 'all', 'del',
                                             '-j').stdout), {'removed': 3})
        self.assert_refused(node.run('fault', 'all', 'reset'), 1,
                            'no such rule')

    def test_what_is_wrong_is_told(self):
        for args, words in (
                ((), ('a word is missing', 'corrupt')),
                (('drop',), ('a word is missing', 'reset')),
                (('lose', 'add'), ("'lose'", 'duplicate')),
                (('drop', 'list'), ("'list'", 'show')),
                (('drop', 'show', 'x'), ("'x'",)),
                (('drop', 'add'), ('--rate', '--interval', '--all')),
                (('drop', 'add', '-r1', '-i1'), ('--rate', '--interval')),
                (('drop', 'add', '-r0'), ('--rate', "'0'", '1 to')),
                (('drop', 'add', '-i', 'x'), ('--interval', "'x'", '500ms')),
                (('drop', 'add', '-a', '-s', 'x'), ('--source', "'x'", '*@')),
                (('drop', 'add', '-a', '-p', '64'), ('--portal', '0 to 63')),
                (('drop', 'add', '-a', '-m', 'PUT,'), ('--message', 'REPLY')),
                (('drop', 'add', '-a', '-e', 'x'), ('--health_error',
                                                    'network_timeout')),
                (('drop', 'add', '-a', '-l1'), ('--latency', 'delay')),
                (('cut', 'add', '-a', '-e', 'random'), ('--health_error',)),
                (('cut', 'add', '-a', '--header'), ('--header', 'corrupt')),
                (('delay', 'add', '-a'), ('--latency',)),
                (('all', 'add', '-a'), ("'all'",)),
                (('drop', 'del', '-r1'), ('--rate', 'add')),
                (('drop', 'show', '-s', '*'), ('--source', 'del'))):
            with self.subTest(args=args):
                self.assert_refused(cli.run('fault', *args), 2, *words)
        self.assert_refused(cli.run('fault', 'all', 'show', '--ctl',
                                    self.path('none')), 1, self.path('none'))


class Ends(Case):
    def test_signal_in_a_flood_of_pings(self):
        node = self.node(1)
        codes, errors = [], []
        halt = threading.Event()

        def flood(i):
            while not halt.is_set():
                result = self.ping(i, '--timeout=5', self.nid(1))
                codes.append(result.returncode)
                if result.returncode != 0:
                    errors.append(result.stderr.decode())

        threads = [threading.Thread(target=flood, args=(i,))
                   for i in (2, 3, 4)]
        for thread in threads:
            thread.start()
        try:
            # Until they are well under way.
            deadline = time.monotonic() + cli.PATIENCE
            while len(codes) < 20 and time.monotonic() < deadline:
                time.sleep(0.01)
            before = list(codes)
            code, last = node.stop()
        finally:
            halt.set()
            for thread in threads:
                thread.join()
        self.assertEqual(before, [0] * len(before), errors)
        self.assertEqual(code, 0, node.error_text())
        self.assertGreaterEqual(last['received'], len(before))
        self.assertFalse(os.path.exists(node.ctl))
        # Commands that came later see that the node has gone.
        for text in errors:
            self.assertRegex(text, 'Connection (refused|reset by peer)')

    def test_second_signal_ends_at_once(self):
        node = self.node(1)
        # Both are there before it does anything about the first.
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT,
                       signal.SIGCONT):
            node.child.send_signal(number)
        self.assertEqual(node.child.wait(cli.PATIENCE), 1)
        self.assertTrue(os.path.exists(node.ctl))

    def test_node_whose_output_is_full_ends_with_one_signal(self):
        node = self.node(1)
        self.fill_output(node.child)
        node.child.send_signal(signal.SIGTERM)
        self.assertEqual(node.child.wait(cli.PATIENCE), 1)
        self.assertIn('not all was said', node.error_text())
        self.assertFalse(os.path.exists(node.ctl))
        # In words, from its first line on, and with no place for an error.
        out = self.full_pipe()
        child = subprocess.Popen(
            [cli.COLIBRI, 'node', '--ctl', node.ctl, *self.options(1)],
            stdout=out, stderr=out)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.wait_for_path(node.ctl)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(cli.PATIENCE), 1)
        self.assertFalse(os.path.exists(node.ctl))

    def wait_for_path(self, path):
        deadline = time.monotonic() + cli.PATIENCE
        while not os.path.exists(path):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_hangup_that_is_ignored_stays_so(self):
        for args in (('node', '--ctl', self.path('ctl'), *self.options(1)),
                     ('copy', '--listen', *self.options(2), self.dir)):
            child = subprocess.Popen(
                ['sh', '-c', 'trap "" HUP; exec "$@"', 'sh', cli.COLIBRI,
                 *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(child.kill)
            self.assertNotEqual(child.stdout.readline(), b'')
            child.send_signal(signal.SIGHUP)
            with self.assertRaises(subprocess.TimeoutExpired):
                child.wait(0.5)
            child.terminate()
            child.communicate(timeout=cli.PATIENCE)

    def test_hangup_ends_no_service(self):
        for args in (('node', '--ctl', self.path('ctl'), *self.options(1)),
                     ('serve', *self.options(2), self.path('objects'))):
            os.makedirs(self.path('objects'), exist_ok=True)
            child = subprocess.Popen([cli.COLIBRI, *args],
                                     stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE)
            self.addCleanup(child.kill)
            self.assertNotEqual(child.stdout.readline(), b'')
            child.send_signal(signal.SIGHUP)
            with self.assertRaises(subprocess.TimeoutExpired):
                child.wait(0.3)
            child.terminate()
            _, errors = child.communicate(timeout=cli.PATIENCE)
            self.assertEqual(child.returncode, 0, errors)

    def test_closed_output_is_a_failure(self):
        ctl = self.path('ctl')
        with open('/dev/full', 'wb') as full:
            child = subprocess.Popen(
                [cli.COLIBRI, 'node', '--ctl', ctl, *self.options(1)],
                stdout=full, stderr=subprocess.PIPE)
        self.addCleanup(child.kill)
        deadline = time.monotonic() + cli.PATIENCE
        while cli.run('net', 'show', '--ctl', ctl).returncode != 0:
            self.assertLess(time.monotonic(), deadline)
        child.terminate()
        _, errors = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 1)
        self.assertIn(b'standard output', errors)
        self.assertFalse(os.path.exists(ctl))

    def test_output_that_was_closed_before_is_no_descriptor_of_ours(self):
        ctl = self.path('ctl')
        child = subprocess.Popen(
            ['sh', '-c', 'exec "$@" >&-', 'sh', cli.COLIBRI, 'node',
             '--ctl', ctl, *self.options(1)], stderr=subprocess.PIPE)
        self.addCleanup(child.kill)
        self.wait_for_path(ctl)
        child.terminate()
        _, errors = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 1)
        self.assertIn(os.strerror(errno.EBADF).encode(), errors)

    def test_node_killed_is_refused_by_its_machine(self):
        one, two = self.node(1), self.node(2)
        self.assert_done(one.run('ping', self.nid(2)))
        two.child.kill()
        two.child.wait()
        result = one.run('ping', self.nid(2))
        self.assertEqual(result.returncode, 1)
        # Unreachable: so soon after the loss it is not tried.
        self.assertRegex(result.stderr.decode(), r'errno: -(111|104|113)\n')
        self.assertEqual(one.stop()[0], 0)

    def test_mute_node_times_out(self):
        one, two = self.node(1), self.node(2)
        self.assert_done(one.run('ping', self.nid(2)))
        two.child.send_signal(signal.SIGSTOP)
        for result in (one.run('ping', '--timeout=0.3', self.nid(2)),
                       one.run('ping', '--timeout=300ms', self.nid(2)),
                       self.ping(3, '--timeout=0.3', self.nid(2))):
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout, b'')
            self.assertIn(failure_text(self.nid(2), errno.ETIMEDOUT),
                          result.stderr)
        for words in SHOWS:
            self.assert_refused(two.run(*words, '--timeout=0.1'), 1,
                                'does not answer')
        two.child.send_signal(signal.SIGCONT)
        self.assert_done(one.run('ping', '--timeout=20', self.nid(2)))

    def test_interrupted_ping_ends_cleanly(self):
        node = self.node(1)
        node.child.send_signal(signal.SIGSTOP)
        other = self.node(2)
        for args in (('ping', '--timeout=60', *self.options(3), self.nid(1)),
                     ('discover', *self.options(3), self.nid(1)),
                     ('ping', '--timeout=60', '--ctl', other.ctl,
                      self.nid(1))):
            child = subprocess.Popen([cli.COLIBRI, *args],
                                     stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE)
            self.addCleanup(child.kill)
            self.wait_catching(child, signal.SIGINT)
            child.send_signal(signal.SIGINT)
            out, errors = child.communicate(timeout=cli.PATIENCE)
            self.assertEqual(child.returncode, 1, errors)
            self.assertEqual(out, b'')
            self.assertIn(b'interrupted', errors)
        # The one whose client went is not troubled.
        self.assert_done(other.run('ping', self.nid(2)))
        self.assertEqual(other.stop()[0], 0)


# A /tmp of its own, for a user of its own.
IN_TMP = '''
unset XDG_RUNTIME_DIR
# The command may lie below the directory that is about to be hidden.
exec 3<"$1"
mount -t tmpfs -o mode=1777 tmpfs /tmp || exit 90
cat <&3 >/tmp/colibri && chmod 755 /tmp/colibri || exit 90
exec 3<&-
shift
user="setpriv --reuid=65534 --regid=65534 --clear-groups"
$user /tmp/colibri node "$@" >/tmp/words &
for i in $(seq 1000); do
    grep -q ready /tmp/words && break
    sleep 0.1
done
stat -c %a /tmp/colibri-65534
$user /tmp/colibri net show || exit 91
kill $!
wait $! || exit 92
rmdir /tmp/colibri-65534 || exit 93
mkdir -m 777 /tmp/colibri-65534
$user /tmp/colibri net show
[ $? = 1 ] || exit 94
$user /tmp/colibri node "$@"
[ $? = 1 ] || exit 95
'''

# A /run of its own, with the node of a system that lets others read.
IN_RUN = '''
unset RUNTIME_DIRECTORY
export XDG_RUNTIME_DIR=/tmp/none
exec 3<"$1"
mount -t tmpfs -o mode=755 tmpfs /run || exit 90
mount -t tmpfs -o mode=1777 tmpfs /tmp || exit 90
cat <&3 >/tmp/colibri && chmod 755 /tmp/colibri || exit 90
exec 3<&-
shift
user="setpriv --reuid=65534 --regid=65534 --clear-groups"
$user /tmp/colibri net show
[ $? = 1 ] || exit 91
/tmp/colibri node --ctl-mode 666 "$@" >/tmp/words &
for i in $(seq 1000); do
    grep -q ready /tmp/words && break
    sleep 0.1
done
$user /tmp/colibri net show || exit 92
$user /tmp/colibri peer show || exit 93
$user /tmp/colibri stats reset
[ $? = 1 ] || exit 94
# Another user cannot keep it from that node.
mkdir -m 777 /tmp/colibri-65534
env -u XDG_RUNTIME_DIR $user /tmp/colibri net show || exit 97
chown 65534 /run/colibri && /tmp/colibri stats reset || exit 95
chmod 777 /run/colibri
/tmp/colibri stats reset
[ $? = 1 ] || exit 96
kill $!
wait $!
'''


class Control(Case):
    def test_without_a_node_there_is_a_remedy(self):
        nobody = self.path('nobody')
        for words in (*SHOWS, ('ping', '1.2.3.4@tcp')):
            self.assert_refused(cli.run(*words, '--ctl', nobody), 1, nobody,
                                'colibri node', '--ctl')

    def test_second_node_is_refused_with_a_remedy(self):
        node = self.node(1)
        result = cli.run('node', '--ctl', node.ctl, *self.options(2))
        self.assert_refused(result, 1, node.ctl, str(node.pid), '--ctl')
        self.assert_done(node.run('net', 'show'))

    def test_socket_of_a_dead_node_is_replaced(self):
        node = self.node(1)
        node.child.kill()
        node.child.wait()
        self.assertTrue(os.path.exists(node.ctl))
        self.assert_refused(cli.run('net', 'show', '--ctl', node.ctl), 1,
                            'no node answers')
        again = lnet.Node(self, *self.options(1), ctl=node.ctl)
        self.assert_done(again.run('net', 'show'))
        self.assertEqual(again.stop()[0], 0)
        self.assertFalse(os.path.exists(node.ctl))

    def test_file_in_its_place_is_left_alone(self):
        path = self.make('file', b'precious')
        self.assert_refused(cli.run('node', '--ctl', path, *self.options(1)),
                            1, path, 'no socket')
        self.assertEqual(self.read(path), b'precious')

    def test_mode_of_the_socket(self):
        node = self.node(1)
        self.assertEqual(stat.S_IMODE(os.stat(node.ctl).st_mode), 0o600)
        node = self.node(2, '--ctl-mode=660')
        self.assertEqual(stat.S_IMODE(os.stat(node.ctl).st_mode), 0o660)

    def test_others_are_kept_out_and_let_in(self):
        if os.geteuid() != 0:
            self.skipTest('only root can be another user')

        def nobody():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        colibri = self.path('colibri')
        cli.shutil.copy(cli.COLIBRI, colibri)

        def as_nobody(node, *args):
            return subprocess.run(
                [colibri, *args, '--ctl', node.ctl],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                timeout=cli.PATIENCE, preexec_fn=nobody, check=False)

        for option, code in (('--ctl-mode=600', 1), ('--ctl-group=0', 1),
                             ('--ctl-mode=666', 0), ('--ctl-group=65534', 0)):
            node = self.node(1, option)
            result = as_nobody(node, 'net', 'show')
            self.assertEqual(result.returncode, code, result.stderr)
            if code:
                self.assertIn(b'--ctl-mode', result.stderr)
                self.assertIn(b'--ctl-group', result.stderr)
                self.assertEqual(node.stop()[0], 0)
                continue
            # To read is not to change.
            self.assert_done(as_nobody(node, 'ping', self.nid(1)))
            for args in (('stats', 'reset'), ('discover', self.nid(1)),
                         ('fault', 'drop', 'add', '--all'),
                         ('fault', 'all', 'del'), ('fault', 'all', 'reset')):
                self.assert_refused(as_nobody(node, *args), 1,
                                    'changes the node', 'uid 0')
            self.assertEqual(node.json('fault', 'all', 'show')['fault'], [])
            self.assertEqual(node.stop()[0], 0)

    def test_group_of_the_socket(self):
        gid = os.getegid()
        node = self.node(1, f'--ctl-group={gid}')
        found = os.stat(node.ctl)
        self.assertEqual((stat.S_IMODE(found.st_mode), found.st_gid),
                         (0o660, gid))
        node = self.node(2, f'--ctl-group={gid}', '--ctl-mode=666')
        self.assertEqual(stat.S_IMODE(os.stat(node.ctl).st_mode), 0o666)

    def test_default_path_of_a_user(self):
        env = dict(os.environ, XDG_RUNTIME_DIR=self.dir)
        user = []
        if os.geteuid() == 0:
            if not cli.shutil.which('setpriv'):
                self.skipTest('no setpriv to be another user with')
            user = ['setpriv', '--reuid=65534', '--regid=65534',
                    '--clear-groups']
            os.chmod(self.dir, 0o777)
        colibri = self.path('colibri')
        cli.shutil.copy(cli.COLIBRI, colibri)
        child = subprocess.Popen([*user, colibri, 'node', *self.options(1)],
                                 env=env, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.addCleanup(child.kill)
        lines = [child.stdout.readline().decode() for _ in range(3)]
        self.assertIn(self.path('colibri-node.sock'), lines[2])
        result = subprocess.run([*user, colibri, 'ping', self.nid(1)],
                                env=env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, check=False,
                                timeout=cli.PATIENCE)
        self.assert_done(result)
        child.terminate()
        self.assertEqual(child.wait(cli.PATIENCE), 0)
        child.communicate()

    def test_default_path_in_tmp(self):
        """Its directory is this user's alone, or is not used."""
        if os.geteuid() != 0 or not cli.shutil.which('setpriv'):
            self.skipTest('only root can be another user')
        result = cli.in_namespace(IN_TMP, cli.COLIBRI, *self.options(1))
        if result is None:
            self.skipTest('no mount namespace')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.split(b'\n')[0], b'700')
        self.assertIn(self.nid(1).encode(), result.stdout)
        self.assertIn(b'/tmp/colibri-65534 is not ours alone', result.stderr)

    def test_default_path_of_the_system(self):
        """A user who has no node finds that of the system, and may read."""
        if os.geteuid() != 0 or not cli.shutil.which('setpriv'):
            self.skipTest('only root can be another user')
        result = cli.in_namespace(IN_RUN, cli.COLIBRI, *self.options(1))
        if result is None:
            self.skipTest('no mount namespace')
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(self.nid(1).encode(), result.stdout)
        self.assertIn(b'changes the node', result.stderr)
        self.assertIn(b'no node answers at /tmp/none/colibri-node.sock or '
                      b'/run/colibri/node.sock', result.stderr)

    def test_default_path_of_a_service(self):
        env = dict(os.environ, RUNTIME_DIRECTORY=f'{self.dir}:/nonexistent')
        child = subprocess.Popen([cli.COLIBRI, 'node', *self.options(1)],
                                 env=env, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.addCleanup(child.kill)
        lines = [child.stdout.readline().decode() for _ in range(3)]
        self.assertIn(self.path('node.sock'), lines[2])
        self.assert_done(cli.run('net', 'show', env=env))
        child.terminate()
        self.assertEqual(child.wait(cli.PATIENCE), 0)
        child.communicate()
        # One that others write to is not trusted.
        os.chmod(self.dir, 0o777)
        result = cli.run('node', *self.options(1), env=env)
        self.assert_refused(result, 1, f'{self.dir} is not ours alone')

    def test_verbose_ping_says_who_has_asked(self):
        node = self.node(1)
        result = node.run('ping', '-v', self.nid(1))
        self.assertEqual(result.stderr.decode(),
                         f'colibri ping: {self.nid(1)}: the node of process '
                         f'{node.pid} asked\n')
        result = self.ping(2, '--verbose', self.nid(1))
        self.assertRegex(result.stderr.decode(),
                         'a node opened in process [0-9]+ asked from '
                         f'{self.nid(2)}\n')
        self.assertEqual(result.stdout, ping_text([self.nid(1)]))

    def test_stranger_at_the_socket(self):
        """Something listens there, and is no node."""
        path = self.path('stranger')
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()

            def answer():
                client, _ = server.accept()
                with client:
                    client.recv(65536)
                    client.sendall(b'status 0 99999999999 0\n')

            thread = threading.Thread(target=answer)
            thread.start()
            result = cli.run('net', 'show', '--ctl', path)
            thread.join()
            self.assert_refused(result, 1, 'not that of a node')

    def test_strangers_at_the_node(self):
        """Neither rubbish nor silence keeps others from being served."""
        node = self.node(1)
        silent = []
        for text in (b'', b'x', b'\n', b'\0' * 100, b'x' * 10000,
                     b'ping 1.2.3.4@tcp verbose=7\n', b'nosuch\n'):
            sock = socket.socket(socket.AF_UNIX)
            self.addCleanup(sock.close)
            sock.connect(node.ctl)
            try:
                sock.sendall(text)
            except BrokenPipeError:
                pass
            silent.append(sock)
        self.assert_done(node.run('net', 'show'))
        self.assertIn(b'status 1 ', silent[-1].recv(4096))
        self.assertEqual(node.stop()[0], 0)


class Refuses(Case):
    def check(self, args, *words, code=2):
        with self.subTest(args=args):
            self.assert_refused(cli.run(*args), code, *words)

    def test_options_of_a_node(self):
        table = (
            ('--net=x', "--net 'x'", 'tcp(eth0)'),
            ('--net=tcp(', "--net 'tcp('", 'tcp(eth0)'),
            ('--net=gni', "--net 'gni'", 'tcp'),
            ('--port=0', "--port '0'", '1 to 65535'),
            ('--port=65536', "--port '65536'", '1 to 65535'),
            ('--accept=some', "--accept 'some'", 'secure, all, none'),
            ('--source-ports=1', "--source-ports '1'", 'any'),
            ('--source-ports=9-1', "--source-ports '9-1'", 'any'),
            ('--peer-credits=0', "--peer-credits '0'", '1 to 65535'),
            ('--credits=x', "--credits 'x'", '1 to 65535'),
            ('--conns-per-peer=128', "--conns-per-peer '128'", '1 to 127'),
            ('--transaction-timeout=0', "--transaction-timeout '0'",
             'seconds'),
            ('--lnd-timeout=x', "--lnd-timeout 'x'", 'seconds'),
            ('--keepalive=-1', "--keepalive '-1'", 'seconds'),
            ('--routes=tcp1', "--routes 'tcp1'", 'NET [HOPS] GATEWAY'),
            ('--routes=tcp1 256 1.2.3.4@tcp', '256', '1 to 255'),
            ('--routes=tcp1 10.0.0.[9-1]@tcp', '[9-1]'),
        )
        for option, *words in table:
            self.check(('node', option), *words)
            self.check(('ping', option, '1.2.3.4@tcp'), *words)
        for mode in ('', 'x', '0', '777', '0o600', '1600', '400'):
            self.check(('node', f'--ctl-mode={mode}'), '--ctl-mode', '600')
        for group in ('', 'no such group', '-1', '4294967295', '1x'):
            self.check(('node', f'--ctl-group={group}'), '--ctl-group', group)
        self.check(('node', '--ctl-group=0', '--ctl-mode=606'), '--ctl-mode',
                   '606', '660')
        for path in ('', 'x' * 108):
            for words in (('node',), ('ping', '1.2.3.4@tcp'), ('discover', '1.2.3.4@tcp'),
                          ('net', 'show'), ('peer', 'show'), ('stats', 'show'),
                          ('global', 'show'), ('fault', 'all', 'show')):
                self.check((*words, f'--ctl={path}'), '--ctl', f"'{path}'", '107')
        self.check(('node', 'x'), "'x'", 'no operand')
        self.check(('node', '--nosuch'), '--nosuch')

    def test_processors_of_the_environment(self):
        for cpus in ('0-', 'x', '1024', '0' * 64):
            done = cli.run('node', env={**os.environ, 'M0_LNET_CPUS': cpus})
            self.assert_refused(done, 2, '$M0_LNET_CPUS')

    def test_addresses_that_are_not_here(self):
        ep = '1.2.3.4@tcp:12345:40:1'
        src = self.make('src')
        for args in (('node', '--ctl', self.path('ctl')),
                     ('ping', '1.2.3.4@tcp'), ('serve', self.dir),
                     ('copy', '--listen', self.dir), ('copy', src, f'{ep}:x'),
                     ('perf', ep), ('put', src, f'{ep}:x')):
            for net in ('192.0.2.1', 'nosuch0'):
                # The loopback is what there is everywhere. The other may come,
                # so it is no option that is wrong.
                self.check((*args, '--net', f'tcp({net})', '--port',
                            str(self.port)), '--net: ', net, ': lo', '--wait',
                           code=1)
        self.check(('perf', '--transport=lnet', '--net=tcp(lo)',
                    '--peer-net=tcp(nosuch0)', '--port', str(self.port)),
                   '--peer-net: ', 'nosuch0', code=1)
        self.assert_holds('src')
        for args in (('node', '--ctl', self.path('ctl')), ('serve', self.dir)):
            result = cli.run(*args, '--net=tcp(nosuch0)', '--wait=500ms',
                             '--port', str(self.port))
            self.assert_refused(result, 1, 'nosuch0', '; waiting for it')

    def test_waiting_for_a_device_is_interrupted(self):
        for args in (('node', '--ctl', self.path('ctl')), ('serve', self.dir),
                     ('copy', '--listen', self.dir), ('ping', '1.2.3.4@tcp')):
            child = subprocess.Popen(
                [cli.COLIBRI, *args, '--net=tcp(nosuch0)', '--wait', '--port',
                 str(self.port)], stderr=subprocess.PIPE)
            self.addCleanup(child.kill)
            self.assertIn(b'waiting for it', child.stderr.readline())
            self.assertIsNone(child.poll())
            child.terminate()
            _, errors = child.communicate(timeout=cli.PATIENCE)
            self.assertEqual(child.returncode, 1, errors)
            self.assertIn(b'interrupted', errors)

    def test_operands_of_ping_and_discover(self):
        for verb in ('ping', 'discover'):
            self.check((verb,), 'NID')
            for nid in ('x', '1.2.3.4@', '1.2.3.4@tcp70000', '1.2.3@tcp',
                        '@tcp', '1.2.3.4@nosuch'):
                self.check((verb, nid), f"'{nid}'", '10.0.0.1@tcp')
            self.check((verb, '1.2.3.4@tcp,'), "''")
            self.check((verb, '--source=x', '1.2.3.4@tcp'), "--source 'x'")
            self.check((verb, *['1.2.3.4@tcp'] * 65), '64')
            for value in ('0', '-1', 'x', '1h', '99999999'):
                self.check((verb, f'--timeout={value}', '1.2.3.4@tcp'),
                           '--timeout', value, 'seconds')
            self.check((verb, '--ctl=/x', '--port=1', '1.2.3.4@tcp'), '--ctl')

    def test_words_of_the_shows(self):
        for command, words in (('net', 'show, set'), ('peer', 'show, list, add, del, set'),
                               ('stats', 'show, reset'), ('global', 'show')):
            self.check((command,), 'missing', words)
            self.check((command, 'nosuch'), "'nosuch'", words)
            self.check((command, 'show', 'x'), "'x'")
            for value in ('5', 'x', '-1'):
                self.check((command, 'show', f'-v{value}'), '--verbose',
                           value, '0 to 4')
            self.check((command, 'show', '-v', '5'), '0 to 4')
            self.check((command, 'show', '--timeout=0'), '--timeout',
                       'seconds')
        self.check(('net', 'show', '--net=x'), "--net 'x'")
        self.check(('net', 'add', '--if', 'eth1'), '--net is missing')
        self.check(('net', 'del'), '--net is missing')
        # Subcommands of lnetctl, and their equivalents here.
        for word in ('lnet', 'import', 'export'):
            self.check((word, 'show'), f"'{word}' is not a command",
                       'Instead of')
        self.check(('peer', 'show', '--nid=x'), "--nid 'x'")


if __name__ == '__main__':
    cli.main()
