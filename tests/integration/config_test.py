# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri config`, and `colibri node --config`: one file for all of a node.

Everything is on addresses of the loopback and a port above 1023.
"""
import json
import os
import resource
import signal
import socket
import subprocess
import time
import unittest

import cli
import lnet

FILE = '''net:
  - net type: tcp
    local NI(s):
      - nid: {one}@tcp
        tunables:
          peer_credits: 16
  - net type: tcp1
    local NI(s):
      - nid: {two}@tcp1
route:
  - net: tcp5
    gateway: {nine}@tcp1
    priority: 3
peer:
  - primary nid: {seven}@tcp
    Multi-Rail: true
    peer ni:
      - nid: {seven}@tcp
      - nid: {eight}@tcp
  - primary nid: {six}@tcp
    Multi-Rail: false
routing:
  enable: 0
buffers:
  tiny: 100
global:
  retry_count: 3
  transaction_timeout: 40
'''

NAMES = {'one': 1, 'two': 2, 'six': 6, 'seven': 7, 'eight': 8, 'nine': 9}


class Case(cli.Case):
    def setUp(self):
        super().setUp()
        self.port = lnet.free_port()

    def text(self, template=FILE):
        names = {name: lnet.address(i) for name, i in NAMES.items()}
        return template.format(**names)

    def file(self, text=None, name='lnet.conf'):
        return self.make(name, (text or self.text()).encode())

    def options(self, *more):
        return ('--port', str(self.port), '--accept', 'all',
                '--source-ports', 'any', *more)

    def node(self, text=None):
        """A node of a file."""
        self.conf = self.file(text)
        return lnet.Node(self, *self.options('--config', self.conf))

    def plain(self):
        """A node without a file, at the first address."""
        return lnet.Node(self, *self.options('--net',
                                             f'tcp({lnet.address(1)})'))

    def config(self, node, *args):
        done = node.run('config', *args)
        self.assert_done(done)
        return done.stdout.decode()

    def refused(self, done, code, *words):
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr.decode())

    def wait_until(self, true):
        end = time.monotonic() + cli.PATIENCE
        while not true():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def diff(self, node, path=None):
        return self.config(node, 'diff', path or self.conf)


class Reads(Case):
    def test_node_is_what_its_file_says(self):
        node = self.node()
        self.assertEqual(sorted(node.nids()),
                         [f'{lnet.address(1)}@tcp', f'{lnet.address(2)}@tcp1'])
        nets = node.json('net', 'show', '-v')['net']
        self.assertEqual([net['net type'] for net in nets],
                         ['lo', 'tcp', 'tcp1'])
        self.assertEqual(nets[1]['local NI(s)'][0]['tunables']['peer_credits'],
                         16)
        route = node.json('route', 'show', '-v')['route'][0]
        self.assertEqual((route['net'], route['priority']), ('tcp5', 3))
        peers = {peer['primary nid']: peer
                 for peer in node.json('peer', 'show', '-v3')['peer']}
        self.assertEqual(len(peers[f'{lnet.address(7)}@tcp']['peer ni']), 2)
        self.assertFalse(peers[f'{lnet.address(6)}@tcp']['Multi-Rail'])
        shown = node.json('global', 'show')['global']
        self.assertEqual((shown['retry_count'], shown['transaction_timeout']),
                         (3, 40))
        self.assertEqual(node.json('routing', 'show')['buffers']['tiny'], 100)
        self.assertEqual(self.diff(node), '')
        self.assertEqual(node.stop()[0], 0)

    def test_node_of_options_of_modprobe(self):
        node = self.node(self.text(
            'options lnet networks="tcp({one}),tcp1({two})" \\\n'
            '  routes="tcp5 {nine}@tcp1" lnet_retry_count=1\n'
            'options ksocklnd credits=33 sock_timeout=21\n'))
        shown = node.json('net', 'show', '-v')['net'][2]['local NI(s)'][0]
        self.assertEqual(shown['tunables']['credits'], 33)
        self.assertEqual(shown['lnd tunables']['timeout'], 21)
        self.assertEqual(node.json('route', 'show')['route'][0]['net'], 'tcp5')
        self.assertEqual(self.diff(node), '')

    def test_tunables_of_the_driver(self):
        text = self.text('net:\n- net type: tcp\n  local NI(s):\n'
                         '  - nid: {one}@tcp\n    lnd tunables:\n'
                         '      keepalive: -1\n      min_reconnectms: 70\n'
                         '      max_reconnectms: 7000\n')
        node = self.node(text)
        self.assertEqual(self.diff(node), '')
        kept = self.config(node, 'export', '--backup')
        for line in ('keepalive: -1', 'min_reconnectms: 70',
                     'max_reconnectms: 7000'):
            self.assertIn(f' {line}\n', kept)
        path = self.file(text.replace('keepalive: -1', 'keepalive: 12'), 'new')
        said = self.config(node, 'import', path)
        self.assertIn(' keepalive=12 min_reconnectms=70 max_reconnectms=7000',
                      said)
        self.assertEqual(self.config(node, 'import', path), '')
        self.refused(
            node.run('config', 'check', self.file(text.replace(
                'max_reconnectms: 7000', 'max_reconnectms: 69'), 'bad')), 2,
            'min_reconnectms is 70; accepted: up to max_reconnectms')
        node.stop()
        # The defaults, which lnetctl does not know, are not there.
        self.assertNotIn('reconnectms', self.config(self.plain(), 'export',
                                                    '--backup'))

    def test_values_of_a_start(self):
        """Those of the file, unless an option says another."""
        def node(text, *options):
            self.conf = self.file(self.text(
                'net:\n- net type: tcp\n  local NI(s):\n  - nid: {one}@tcp\n')
                + text)
            return lnet.Node(self, *options, '--config', self.conf)

        def listens(port):
            with socket.socket() as probe:
                return probe.connect_ex((lnet.address(1), port)) == 0
        other = lnet.free_port()
        text = (f'node:\n  accept_port: {self.port}\n  accept: all\n'
                '  source_ports: any\n  peer_credits: 5\n'
                '  router_memory: 64M\nrouting:\n  cut_through: 1\n'
                '  splice: 1\n')
        first = node(text)
        self.assertTrue(listens(self.port))
        shown = first.json('net', 'show', '-v')['net'][1]['local NI(s)'][0]
        self.assertEqual(shown['tunables']['peer_credits'], 5)

        def cuts():
            return 'cut_through: 1\n' in self.config(first, 'export',
                                                     '--backup')
        self.assertTrue(cuts())
        self.assertIn('splice: 1\n', self.config(first, 'export', '--backup'))
        # A running node keeps what it started with.
        self.file(self.read(self.conf).decode()
                  .replace(f'accept_port: {self.port}', 'accept_port: 7988')
                  .replace('  source_ports: any\n', '')
                  .replace('cut_through: 1', 'cut_through: 0'))
        done = first.run('config', 'import', self.conf)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout, b'~ routing cut_through 1 -> 0\n')
        self.assertIn(f'{self.conf}:6:16: note: accept_port takes effect when a '
                      'node starts', done.stderr.decode())
        self.assertFalse(cuts())
        first.child.send_signal(signal.SIGHUP)
        for change in (f'accept_port {self.port} -> 7988',
                       'source_ports any -> default'):
            first.wait_for('config', what='takes effect at the next start',
                           text=f'~ node {change}')
        self.assertEqual(first.stop()[0], 0)
        second = node(text, '--port', str(other), '--peer-credits', '6')
        self.assertEqual((listens(other), listens(self.port)), (True, False))
        shown = second.json('net', 'show', '-v')['net'][1]['local NI(s)'][0]
        self.assertEqual(shown['tunables']['peer_credits'], 6)
        self.assertEqual(second.stop()[0], 0)

    def test_node_with_a_bad_file_does_not_start(self):
        path = self.file('global:\n  discovery: no\n')
        done = cli.run('node', *self.options('--config', path, '--ctl',
                                             self.path('ctl')))
        self.refused(done, 2, f"{path}:2:14: discovery: 'no' is not accepted; "
                              'accepted: 0 to 1')
        path = self.file(self.text())
        done = cli.run('node', *self.options(
            '--config', path, '--ctl', self.path('ctl'), '--net', 'tcp'))
        self.refused(done, 2, '--net is not accepted', 'in line 4')
        path = self.file(self.text(
            'net:\n- net type: tcp\n  local NI(s):\n  - nid: {one}@tcp\n'
            'route:\n- net: tcp1\n  gateway: 1.2.3.4@tcp2\n'))
        done = cli.run('node', *self.options('--config', path, '--ctl',
                                             self.path('ctl')))
        self.refused(done, 2, f'{path}:6:3: gateway')
        done = cli.run('node', *self.options('--config', self.path('none')))
        self.refused(done, 1, 'No such file')


class Checks(Case):
    def test_check_needs_no_node_and_says_the_place(self):
        for text, place in (
                ('net:\n\t- net type: tcp\n', ':2:1: a tab'),
                ('glob: 1\n', ":1:1: key 'glob' is not accepted; accepted: "
                              'net, ip2nets, route, peer'),
                ('route:\n- {net: tcp1}\n', ":2:3: key 'gateway' is missing"),
                ('a: &b 1\n', ':1:4: anchor'),
                ('a: "\\0"\n', ':1:4: text with a NUL')):
            path = self.file(text)
            done = cli.run('config', 'check', path)
            self.refused(done, 2, path + place)
        self.make('bad', b'global:\n  x\xff: 1\n')
        self.refused(cli.run('config', 'check', self.path('bad')), 2,
                     self.path('bad') + ':2:4: ', 'UTF-8')
        done = cli.run('config', 'check', self.file())
        self.assert_done(done)
        self.assertIn(b'accepted: 2 interfaces, 1 routes, 2 peers', done.stdout)

    def test_words_and_options(self):
        self.refused(cli.run('config'), 2, 'a word is missing')
        self.refused(cli.run('config', 'chek'), 2, "'chek' is not accepted")
        self.refused(cli.run('config', 'check', '--confirm=3', 'x'), 2,
                     '--confirm is not accepted here; it is of import')
        self.refused(cli.run('config', 'diff', '--backup', 'x'), 2, '--backup')
        for word in 'check', 'export', 'confirm', 'undo':
            self.refused(cli.run('config', word, '--json'), 2,
                         '--json is not accepted here; it is of import and diff')
        self.refused(cli.run('config', 'import', '--del', '--replace', 'x'), 2,
                     '--replace is not accepted with --del')
        self.refused(cli.run('config', 'import', '--confirm=0', 'x'), 2,
                     'accepted: 1 to 86400')
        self.refused(cli.run('config', 'check', 'a', 'b'), 2, "'b'")

    def test_ten_thousand_lines_take_at_most_a_second(self):
        lines = ['peer:']
        for i in range(2500):
            nid = f'10.{i // 250}.{i % 250}.1@tcp'
            lines += [f'- primary nid: {nid}', '  Multi-Rail: true',
                      '  peer ni:', f'  - nid: {nid}']
        path = self.file('\n'.join(lines) + '\n')
        begin = time.monotonic()
        self.assert_done(cli.run('config', 'check', path))
        # Ten times what is stated: sanitizers, and busy machines.
        self.assertLess(time.monotonic() - begin, 10)


class Changes(Case):
    def test_import_is_all_or_nothing(self):
        node = self.node()
        before = self.config(node, 'export', '--backup')
        for text, place in (
                # The file is wrong; it does not fit; the node refuses.
                (self.text() + 'numa:\n  range: x\n', ':30:10: range'),
                (self.text('global:\n  retry_count: 1\nroute:\n'
                           '- net: tcp6\n  gateway: {nine}@tcp3\n'),
                 ':4:3: gateway')):
            self.refused(node.run('config', 'import', self.file(text, 'bad')),
                         2, self.path('bad') + place)
            self.assertEqual(self.config(node, 'export', '--backup'), before)
        bad = self.file(self.text(
            'global:\n  retry_count: 1\npeer:\n- primary nid: {eight}@tcp9\n'
            '  peer ni:\n  - nid: {six}@tcp\n'), 'bad')
        self.refused(node.run('config', 'import', bad), 1, bad + ':4:3: ',
                     'failed', 'before it are undone')
        self.assertEqual(self.config(node, 'export', '--backup'), before)

    def test_export_is_what_import_takes(self):
        node = self.node()
        path = self.path('export')
        for args in ((), ('--backup',)):
            self.config(node, 'export', *args, path)
            self.assert_done(cli.run('config', 'check', path))
            self.assertEqual(self.diff(node, path), '')
            self.assertEqual(self.config(node, 'import', '--replace', path), '')
        text = self.config(node, 'export', '--backup')
        node.stop()
        again = self.node(text)
        self.assertEqual(self.config(again, 'export', '--backup'), text)

    def test_export_replaces_a_file_when_it_is_whole(self):
        node = self.node()
        old = b'x' * 900
        path = self.make('kept', old, mode=0o640)
        os.symlink('kept', self.path('link'))
        names = sorted(os.listdir(self.dir))

        def little_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        for name in ('kept', 'link'):
            # The limit ends the command, as kill -9 would, or a write fails.
            for restore in (True, False):
                done = node.run('config', 'export', self.path(name),
                                preexec_fn=little_room,
                                restore_signals=restore)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(self.read(path), old)
        for name in set(os.listdir(self.dir)) - set(names):
            os.unlink(self.path(name))
        self.refused(node.run('config', 'export', path, preexec_fn=little_room,
                              restore_signals=False), 1, path,
                     'File too large')
        self.assertEqual(sorted(os.listdir(self.dir)), names)
        self.config(node, 'export', '--backup', self.path('link'))
        self.assertEqual(os.readlink(self.path('link')), 'kept')
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o640)
        self.assertEqual(self.diff(node, path), '')
        self.assertEqual(sorted(os.listdir(self.dir)), names)
        # A file that is not regular is written in place.
        self.assertIn('retry_count',
                      self.config(node, 'export', '/dev/stdout'))

    @unittest.skipUnless('SERVICE_SHIM' in os.environ, 'no shim')
    def test_export_that_is_killed_leaves_nothing(self):
        node = self.node()
        os.mkdir(self.path('shim'))
        self.make('shim/hang')
        kept = self.make('kept', b'old')
        names = sorted(os.listdir(self.dir))
        for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
            child = subprocess.Popen(
                [cli.COLIBRI, 'config', 'export', '--ctl', node.ctl, kept],
                env=dict(os.environ, LD_PRELOAD=os.environ['SERVICE_SHIM'],
                         SERVICE_SHIM_DIR=self.path('shim')))
            # The command has written, and waits in fsync().
            self.wait_until(lambda: os.path.exists(self.path('shim/hangs')))
            os.unlink(self.path('shim/hangs'))
            child.send_signal(number)
            self.assertEqual(child.wait(cli.PATIENCE), -number)
            self.assertEqual(self.read(kept), b'old')
            self.assertEqual(sorted(os.listdir(self.dir)), names)

    def test_export_is_imported_after_networks_have_changed(self):
        node = self.node()
        # A route by a network that the node leaves, and one to its own.
        self.assert_done(node.run('net', 'del', '--net', 'tcp1'))
        for net in ('tcp6', 'tcp7'):
            self.assert_done(node.run('route', 'add', '--net', net,
                                      '--gateway', f'{lnet.address(9)}@tcp'))
        self.assert_done(node.run('net', 'add', '--net', 'tcp6', '--if',
                                  lnet.address(3)))
        routes = node.json('route', 'show')
        self.assertEqual(len(routes['route']), 3)
        path = self.path('export')
        for args in ((), ('--backup',)):
            self.config(node, 'export', *args, path)
            self.assertEqual(self.config(node, 'import', path), '')
        # The backup leaves out what no node accepts.
        self.assertEqual([line.split()[:3] for line in
                          self.diff(node, path).splitlines()],
                         [['-', 'route', 'tcp6'], ['-', 'route', 'tcp5']])
        self.assertEqual(node.json('route', 'show'), routes)
        node.stop()
        again = lnet.Node(self, *self.options('--config', path))
        self.assertEqual(self.diff(again, path), '')
        self.assertEqual([route['net'] for route in
                          again.json('route', 'show')['route']], ['tcp7'])

    def test_export_of_lnetctl_is_imported(self):
        """But for its interface, which is not there."""
        golden = os.path.join(os.path.dirname(__file__), '..', 'golden',
                              'conf', 'export-backup.yaml')
        with open(golden, encoding='utf-8') as file:
            text = file.read()
        node = self.plain()
        text = text.replace('0: eth1', f'0: {lnet.address(1)}')
        path = self.file(text)
        self.config(node, 'import', path)
        self.assertEqual(self.diff(node, path), '')
        self.assertEqual(len(node.json('peer', 'list')['peer list']), 4)
        rules = text[text.index('udsp:'):].rstrip('\n') + '\n'
        shown = node.run('udsp', 'show').stdout.decode()
        self.assertEqual(shown, rules)
        self.assertTrue(self.config(node, 'export').endswith(shown))
        self.config(node, 'export', '--backup', path)
        self.assertEqual(self.diff(node, path), '')
        with open(path, encoding='utf-8') as file:
            self.assertTrue(file.read().endswith(rules))
        self.assert_done(node.run('udsp', 'del', '--all'))
        self.assertEqual(len(self.config(node, 'import', path).splitlines()), 3)
        self.assertEqual(node.run('udsp', 'show').stdout.decode(), shown)

    def test_show_prints_what_the_file_names(self):
        node = self.node()
        near = f'{lnet.address(9)}@tcp'
        for args in (('route', 'add', '--net', 'tcp7', '--gateway', near),
                     ('route', 'add', '--net', 'tcp8', '--gateway', near,
                      '--priority', '3'),
                     ('peer', 'add', '--prim_nid', '1.2.3.4@tcp9'),
                     ('peer', 'add', '--prim_nid', '1.2.3.5@tcp9'),
                     ('udsp', 'add', '--src', 'tcp', '--priority', '7'),
                     ('udsp', 'add', '--dst', 'tcp9')):
            self.assert_done(node.run(*args))
        before = self.config(node, 'export', '--backup')
        # Values do not matter, and neither does the order.
        path = self.file(
            'udsp:\n- src: tcp\nglobal:\n  retry_count: 0\npeer:\n'
            '- primary nid: 1.2.3.5@tcp9\nroute:\n- net: tcp8\n'
            f'  gateway: {near}\n  priority: 9\nnet:\n- net type: tcp\n')
        shown = self.config(node, 'import', '--show', path)
        nid = f'{lnet.address(1)}@tcp'
        self.assertIn(f'nid: {nid}\n', shown)
        self.assertRegex(shown, r'(?s)^net:.*\nroute:.*\npeer:.*\nglobal:\n'
                         r'    retry_count: 3\nudsp:\n    - idx: 0\n'
                         r'      src: tcp\n      action:\n'
                         r'          priority: 7\n$')
        self.assertRegex(shown, r'net: tcp8\n +gateway: .*\n +hop: -1\n'
                         r' +priority: 3\n')
        self.assertIn('primary nid: 1.2.3.5@tcp9', shown)
        for word in ('tcp7', '1.2.3.4@tcp9', 'dst', 'enable'):
            self.assertNotIn(word, shown)
        # The output names the same.
        again = self.file(shown, 'again')
        self.assertEqual(self.config(node, 'import', '--show', again), shown)
        # A missing part is a failure, and the rest is printed.
        path = self.file('route:\n- net: tcp7\n'
                         f'  gateway: {near}\n- net: tcp6\n  gateway: {near}\n'
                         'peer:\n- primary nid: 1.2.3.6@tcp9\n')
        done = node.run('config', 'import', '--show', path)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f'{path}:4:3: the node does not have this route'.encode(),
                      done.stderr)
        self.assertIn(b'net: tcp7', done.stdout)
        self.assertNotIn(b'peer:', done.stdout)
        for option, name in (('--del', 'show'), ('--confirm=9', 'confirm'),
                             ('--json', 'json')):
            self.refused(node.run('config', 'import', '--show', option, path),
                         2, f'--{name}', '--show')
        self.assertEqual(self.config(node, 'export', '--backup'), before)

    def test_rules(self):
        def idx():
            return [(rule.get('src'), rule.get('dst'))
                    for rule in node.json('udsp', 'show')['udsp']]
        rules = 'udsp:\n- src: tcp\n- dst: tcp1\n- src: tcp2\n'
        node = self.node(self.text() + rules)
        first = [('tcp', None), (None, 'tcp1'), ('tcp2', None)]
        self.assertEqual(idx(), first)
        self.assertEqual(self.diff(node), '')
        other = self.file('udsp:\n- src: tcp2\n- dst: "*@tcp3"\n- src: tcp\n'
                          '  action:\n    priority: 4\n', 'other')
        self.config(node, 'import', '--replace', '--confirm', '60', other)
        self.assertEqual(idx(), [('tcp2', None), (None, '*@tcp3'),
                                 ('tcp', None)])
        path = self.path('export')
        self.config(node, 'export', '--backup', path)
        self.assertEqual(self.diff(node, path), '')
        # The index of what came is another one since.
        self.assert_done(node.run('udsp', 'add', '--dst', 'tcp7', '--idx', '0'))
        self.config(node, 'undo')
        self.assertEqual(sorted(map(str, idx())),
                         sorted(map(str, [(None, 'tcp7'), *first])))
        self.config(node, 'import', '--del', other)
        self.assertNotIn(('tcp2', None), idx())

    def test_additions_and_removals(self):
        node = self.plain()
        path = self.file(self.text('''net:
- net type: tcp1
  local NI(s):
  - nid: {two}@tcp1
route:
- net: tcp5
  gateway: {nine}@tcp1
peer:
- primary nid: {six}@tcp
'''))
        added = self.config(node, 'import', path)
        self.assertEqual([line.split()[:2] for line in added.splitlines()],
                         [['+', 'net'], ['+', 'peer'], ['+', 'route']])
        self.assertEqual(self.config(node, 'import', path), '')
        tree = json.loads(self.config(node, 'diff', '--json', path))
        self.assertEqual(len(tree['changes']), 1)
        self.assertEqual(tree['changes'][0]['section'], 'net')
        gone = self.config(node, 'import', '--del', path)
        self.assertEqual([line.split()[:2] for line in gone.splitlines()],
                         [['-', 'route'], ['-', 'peer'], ['-', 'net']])
        self.assertEqual(len(node.json('net', 'show')['net']), 2)

    def test_replacement(self):
        node = self.node()
        path = self.file('route:\npeer:\n', 'less')
        self.config(node, 'import', path)
        self.assertEqual(len(node.json('route', 'show')['route']), 1)
        gone = self.config(node, 'import', '--replace', path)
        self.assertEqual(len(gone.splitlines()), 3)
        self.assertEqual(node.json('route', 'show')['route'], [])
        self.assertEqual(len(node.json('net', 'show')['net']), 3)

    def test_from_standard_input(self):
        node = self.plain()
        done = subprocess.run(
            [cli.COLIBRI, 'config', 'import', '--ctl', node.ctl],
            input=b'global: {retry_count: 1}\n', stdout=subprocess.PIPE,
            check=True, timeout=cli.PATIENCE)
        self.assertEqual(done.stdout, b'~ global retry_count 2 -> 1\n')

    def test_change_that_nobody_confirms_is_undone(self):
        node = self.node()
        before = self.config(node, 'export', '--backup')
        path = self.file('global: {retry_count: 1}\nroute:\n', 'new')
        for settle in ('nobody', 'undo', 'confirm'):
            wait = '1' if settle == 'nobody' else '60'
            self.config(node, 'import', '--replace', '--confirm', wait, path)
            if settle == 'nobody':
                node.wait_for('config', what='undone')
            else:
                # One at a time.
                self.refused(node.run('config', 'import', path), 1,
                             'waits for')
                self.config(node, settle)
            after = self.config(node, 'export', '--backup')
            self.assertEqual(after == before, settle != 'confirm')
            for word in ('undo', 'confirm'):
                self.refused(node.run('config', word), 1, 'no change waits')

    def test_node_that_is_killed_during_an_import(self):
        node = self.plain()
        path = self.file('global:\n  retry_count: 1\n', 'file')
        node.child.send_signal(signal.SIGSTOP)
        child = subprocess.Popen(
            [cli.COLIBRI, 'config', 'import', '--ctl', node.ctl, path],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # The request waits in the socket, or is about to.
        time.sleep(0.1)
        node.child.kill()
        out, err = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual((child.returncode, out), (1, b''))
        self.assertRegex(err, b'the node has hung up before it answered|'
                              b'no node answers')
        node.child.wait()

    def test_undo_says_what_it_cannot_undo(self):
        node = self.node()
        more = self.file(self.text('route:\n- net: tcp6\n'
                                   '  gateway: {eight}@tcp\n'), 'more')
        # Another user removes what undo would remove.
        self.config(node, 'import', '--confirm', '60', more)
        self.assert_done(node.run('route', 'del', '--net', 'tcp6', '--gateway',
                                  self.text('{eight}@tcp')))
        self.config(node, 'undo')
        # The network of the gateway has gone.
        self.config(node, 'import', '--replace', '--confirm', '60', more)
        self.assert_done(node.run('net', 'del', '--net', 'tcp1'))
        self.refused(node.run('config', 'undo'), 1,
                     self.text('not all could be undone: "+ route tcp5 by '
                               '{nine}@tcp1 priority 3": '), 'tcp1')

    def test_peer_that_is_a_gateway_stays(self):
        node = self.node()
        self.config(node, 'import', self.file(self.text(
            'peer:\n- primary nid: {nine}@tcp1\n'), 'gateway'))

        def parts():
            return sorted(self.config(node, 'export',
                                      '--backup').splitlines())
        before = parts()
        self.refused(
            node.run('config', 'import', '--replace', self.file(self.text(
                'peer:\n- primary nid: {six}@tcp\n'
                '  Multi-Rail: false\n'), 'less')), 1,
            self.text('the route to tcp5 goes by this peer; keep it, '
                      'or remove the route first: colibri route del --net '
                      'tcp5 --gateway {nine}@tcp1'))
        self.assertEqual(parts(), before)

    def test_name_of_a_file_with_a_newline(self):
        node = self.node()
        path = self.file('global:\n  retry_count: 1\n', 'two\nlines')
        self.config(node, 'import', path)
        self.file('peer:\n- primary nid: 10.0.0.1@tcp9\n  peer ni:\n'
                  '  - nid: 10.0.0.2@tcp8\nroute:\n- net: tcp7\n'
                  '  gateway: 10.0.0.9@tcp9\n', 'two\nlines')
        self.refused(node.run('config', 'import', path), 2, 'two?lines:6:3: ')

    def test_hangup_reads_the_file_again(self):
        node = self.node()
        node.child.send_signal(signal.SIGHUP)
        node.wait_for('config', what='changed', text='nothing changes')
        self.file(self.text().replace('retry_count: 3', 'retry_count: 4')
                  .replace('peer_credits: 16', 'peer_credits: 12')
                  .replace(self.text('  - net: tcp5\n'
                                     '    gateway: {nine}@tcp1\n'
                                     '    priority: 3\n'), ''))
        node.child.send_signal(signal.SIGHUP)
        node.wait_for('config', text='~ global retry_count 3 -> 4')
        node.wait_for('config', text=self.text(
            '- route tcp5 by {nine}@tcp1 priority 3'))
        self.assertEqual(self.diff(node), '')
        before = self.config(node, 'export', '--backup')
        self.file(self.text() + 'bad: 1\n')
        node.child.send_signal(signal.SIGHUP)
        event = node.wait_for('config', what='refused')
        self.assertIn(f"{self.conf}:29:1: key 'bad'", event['text'])
        self.assertEqual(self.config(node, 'export', '--backup'), before)
        self.assertEqual(node.stop()[0], 0)

    def test_hangup_reads_no_more_than_a_regular_file(self):
        node = self.node()
        before = self.config(node, 'export', '--backup')
        os.unlink(self.conf)
        for make in (os.mkfifo, os.mkdir,
                     lambda path: os.symlink('/dev/tty', path)):
            make(self.conf)
            node.events.clear()
            node.child.send_signal(signal.SIGHUP)
            event = node.wait_for('config', what='refused')
            self.assertIn(self.conf, event['text'])
            # The node still answers.
            self.assertEqual(self.config(node, 'export', '--backup'), before)
            if os.path.isdir(self.conf):
                os.rmdir(self.conf)
            else:
                os.unlink(self.conf)
        self.assertEqual(node.stop()[0], 0)

    def test_hangup_does_not_read_standard_input(self):
        conf = self.file('global: {retry_count: 1}\n')
        with open(conf, 'rb') as file:
            node = lnet.Node(self, *self.options(
                '--net', f'tcp({lnet.address(1)})', '--config', '-'),
                stdin=file)
        node.child.send_signal(signal.SIGHUP)
        event = node.wait_for('config', what='refused')
        self.assertIn('- is not read again; accepted: a regular file',
                      event['text'])


@unittest.skipUnless(os.geteuid() == 0, 'only root becomes another user')
class Rights(Case):
    def test_others_look_and_change_nothing(self):
        path = self.file('global: {retry_count: 1}\n')
        node = lnet.Node(self, *self.options(
            '--net', f'tcp({lnet.address(1)})', '--ctl-mode', '666'))
        os.chmod(node.ctl, 0o666)

        def other(*args):
            return node.run('config', *args, user=65534, group=65534,
                            extra_groups=[])
        self.assert_done(other('export'))
        done = other('diff', path)
        self.assert_done(done)
        self.assertEqual(done.stdout, b'~ global retry_count 2 -> 1\n')
        for args in (('import', path), ('confirm',), ('undo',)):
            self.refused(other(*args), 1, 'which only its user')
        self.assertEqual(node.json('global', 'show')['global']['retry_count'],
                         2)


if __name__ == '__main__':
    unittest.main()
