# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri` called as `lnetctl` and `lctl`: words and answers; docs/lnet.md's table."""
import os
import re
import subprocess

import cli
import lnet

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, '..', '..')
GOLDEN = os.path.join(TOP, 'tests', 'golden', 'lnetctl')
ME = f'{lnet.address(1)}@tcp'
NID = f'{lnet.address(2)}@tcp'

# Options without which a verb is refused.
BASE = {
    'route add': ('--net', 'tcp1', '--gateway', NID),
    'route del': ('--net', 'tcp1', '--gateway', NID),
    'net add': ('--net', 'tcp1'),
    'net del': ('--net', 'tcp1'),
    'net set': ('--health', '1', '--all'),
    'peer add': ('--prim_nid', NID),
    'peer del': ('--prim_nid', NID),
    'peer set': ('--health', '1', '--all'),
    'debug recovery': ('--local',),
    'debug nidlist': (NID,),
    'cpt-of-nid': (NID,),
    'ping': (NID,),
    'discover': (NID,),
    'udsp add': ('--dst', 'tcp'),
    'udsp del': ('--idx', '0'),
    'fault drop': ('del',),
    'fault delay': ('del',),
}
DROP = ('add', '--all')
DELAY = ('add', '--all', '--latency', '1')
# Values of options; and whole lines in place of BASE.
VALUES = {
    '--net': 'tcp1', '--gateway': NID, '--hop': '2', '--hop-count': '2',
    '--priority': '1', '--health_sensitivity': '1', '--if': 'eth0',
    '--nid': NID, '--ip2net': 'tcp 10.*.*.*', '--peer-timeout': '180',
    '--peer-credits': '8', '--peer-buffer-credits': '8', '--credits': '8',
    '--cpt': '[0,1]', '--conns-per-peer': '1', '--auth-key': '1',
    '--traffic-class': 'low', '--tos': '1', '--lnd-timeout': '5',
    '--health': '1', '--prim_nid': NID, '--ip2nets': '10.*.*.*@tcp',
    '--state': '1', '--source': ME, '-s': NID, '--dest': NID, '-d': NID,
    '--rate': '1', '-r': '1', '--interval': '1', '-i': '1', '--portal': '1',
    '--message': 'PUT', '--health_error': 'random', '--latency': '1',
    '--timeout': '1', '--src': 'tcp', '--rte': NID, '--idx': '0',
}
LINES = {
    ('udsp add', '--dst'): ('--dst', NID),
    ('udsp del', '--all'): ('--all',),
    ('udsp del', '--idx'): ('--idx', '0'),
    ('net add', '--net'): ('--net', 'tcp1'),
    ('net add', '--nid'): ('--nid', NID),
    ('net del', '--net'): ('--net', 'tcp1'),
    ('net del', '--nid'): ('--nid', NID),
    ('net set', '--nid'): ('--nid', NID, '--health', '1'),
    ('net set', '--net'): ('--net', 'tcp1', '--health', '1'),
    ('peer set', '--nid'): ('--nid', NID, '--health', '1'),
    **{(verb, option): BASE[verb] for verb, options in (
        ('route add', ('--net', '--gateway')),
        ('route del', ('--net', '--gateway')),
        ('net set', ('--health', '--all')),
        ('peer set', ('--health', '--all')),
        ('peer add', ('--prim_nid',)), ('peer del', ('--prim_nid',)))
       for option in options},
    ('debug recovery', '--local'): ('--local',),
    ('debug recovery', '--peer'): ('--peer',),
    ('fault drop', '--rate'): ('add', '--rate', '1'),
    ('fault drop', '-r'): ('add', '-r', '1'),
    ('fault drop', '--interval'): ('add', '--interval', '1'),
    ('fault drop', '-i'): ('add', '-i', '1'),
    ('fault delay', '--rate'): ('add', '--rate', '1', '--latency', '1'),
    ('fault delay', '-r'): ('add', '-r', '1', '--latency', '1'),
    ('fault delay', '--interval'): ('add', '--interval', '1', '--latency', '1'),
    ('fault delay', '-i'): ('add', '-i', '1', '--latency', '1'),
    ('fault delay', '--latency'): DELAY,
}


def table():
    """Rows of the table: (verb, option or '', verdict)."""
    with open(os.path.join(TOP, 'docs', 'lnet.md'), encoding='utf-8') as file:
        text = file.read().split('| verb | options | here |\n')[1]
    for row in text.split('\n\n')[0].splitlines()[1:]:
        verbs, options, verdict = (cell.strip() for cell in row.split('|')[1:4])
        for verb in verbs.split(', '):
            for option in options.split() or ['']:
                yield verb, option, verdict


def wanted():
    """The verbs and options of the real one."""
    with open(os.path.join(GOLDEN, 'options.txt'), encoding='utf-8') as file:
        for line in file.read().splitlines():
            words = line.split()
            verb = [w for i, w in enumerate(words)
                    if i == 0 or not w.startswith('-')]
            yield ' '.join(verb), ''
            for option in words[len(verb):]:
                yield ' '.join(verb), option


def golden(name):
    """Commands of a recording, and what the real one printed."""
    with open(os.path.join(GOLDEN, name + '.txt'), encoding='utf-8') as file:
        parts = re.split(r'(?m)^\$ lnetctl (.*)\n', file.read())[1:]
    return [(parts[i], parts[i + 1].rstrip('\n'))
            for i in range(0, len(parts), 2)]


def shape(text):
    """Lines without their values, and without marks of a document."""
    lines = [line for line in text.splitlines() if line not in ('---', '...')]
    return [re.sub(r'(?<=:) .*', '', line) for line in lines]


def without_ours(lines):
    """Without what stands under `colibri`."""
    ret = []
    column = None
    for line in lines:
        here = len(line) - len(line.lstrip())
        if column is not None and here > column:
            continue
        column = here if line.strip() == 'colibri:' else None
        if column is None:
            ret.append(line)
    return ret


def items(lines, column=0):
    """What each item of a list has, each once, in the order of their coming."""
    head, *rest = lines
    ret = []
    for line in rest:
        if line.startswith(' ' * column + '- '):
            ret.append([])
        ret[-1].append(line)
    return head, [item for i, item in enumerate(ret) if item not in ret[:i]]


class Case(cli.Case):
    def setUp(self):
        super().setUp()
        self.link = self.path('lnetctl')
        os.symlink(cli.COLIBRI, self.link)
        self.env = dict(os.environ, RUNTIME_DIRECTORY=self.dir)

    def lnetctl(self, *args):
        return subprocess.run([self.link, *args], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.env,
                              stdin=subprocess.DEVNULL, check=False,
                              timeout=cli.PATIENCE)

    def text(self, *args):
        done = self.lnetctl(*args)
        self.assert_done(done)
        return done.stdout.decode().rstrip('\n')

    def node(self, *more, net=1, ctl='node.sock', port=None):
        self.port = port or str(lnet.free_port())
        return lnet.Node(self, '--net', f'tcp({lnet.address(net)})', '--port',
                         self.port, '--accept', 'all', '--source-ports', 'any',
                         *more, ctl=self.path(ctl))


class Table(Case):
    def test_table_has_each_verb_and_option_once(self):
        rows = [(verb, option) for verb, option, _ in table()]
        self.assertEqual(sorted(rows), sorted(wanted()))
        for *_, verdict in table():
            self.assertRegex(verdict, '^(same$|differs: |not here: )')

    def line(self, verb, option):
        """A command that has the option, and is whole."""
        if (verb, option) in LINES:
            return (*verb.split(), *LINES[verb, option])
        base = BASE.get(verb, ())
        if verb.startswith('fault') and \
                option not in ('', '-s', '-d', '--source', '--dest'):
            base = DELAY if verb.endswith('delay') else DROP
        if verb.startswith('set ') and not option:
            base = ('1',)
        if not option:
            return (*verb.split(), *base)
        value = (VALUES[option],) if option in VALUES else ()
        return (*verb.split(), *base, option, *value)

    def test_options_are_accepted_as_the_table_says(self):
        self.node()
        for verb, option, verdict in table():
            with self.subTest(verb=verb, option=option):
                done = self.lnetctl(*self.line(verb, option))
                error = done.stderr.decode()
                if verdict.startswith('not here'):
                    self.assertNotEqual(done.returncode, 0, done)
                    self.assertNotEqual(error, '')
                    if option and 'as ' not in verdict:
                        self.assertIn(f'descr: "{option} is not', error)
                elif verb.startswith('help') or verb == '--help':
                    self.assert_done(done)
                else:
                    # The node may refuse it, but understands it.
                    self.assertNotEqual(done.returncode, 2, done)

    def test_options_without_effect_are_checked(self):
        node = self.node()
        for value in ('x', ''):
            self.assert_refused(
                self.lnetctl('net', 'add', '--net', 'tcp1', f'--cpt={value}'),
                2, 'add:', '--cpt', '[0,1]')
        for args in (('--cpt',), ('--skip-mr-route-setup=1',)):
            self.assert_refused(self.lnetctl('net', 'add', *args), 2,
                                'add:', args[0][:5])
        self.assert_done(self.lnetctl(
            'net', 'add', '--cpt=[0]', '--net', 'tcp1', '--if',
            lnet.address(3), '--skip-mr-route-setup'))
        self.assertEqual(node.json('net', 'show', '--net=tcp1')['net'][0]
                         ['local NI(s)'][0]['nid'], f'{lnet.address(3)}@tcp1')

    def test_the_type_of_service_is_that_of_fabrics(self):
        self.node()
        self.assert_refused(
            self.lnetctl('net', 'add', '--net', 'tcp1', '--if',
                         lnet.address(3), '--tos', '16'),
            1, 'network tcp1: there is no option "tos"')
        # Here is no device, or no network of one; the option is none of the reasons.
        done = self.lnetctl('net', 'add', '--net', 'o2ib', '--if',
                            lnet.address(3), '--tos', '0')
        self.assertEqual(done.returncode, 1, done)
        self.assertNotIn(b'tos', done.stderr)
        self.assert_refused(self.lnetctl('net', 'add', '--net', 'o2ib',
                                         '--tos', '256'), 2, '0 to 255')


class Words(Case):
    def test_words_that_are_none(self):
        for words in (('bogus',), ('net', 'bogus')):
            done = self.lnetctl(*words)
            want = dict(golden('errors'))[' '.join(words)]
            self.assertEqual(done.stderr.decode().rstrip('\n'), want)
            self.assertEqual(done.returncode, 2)
        for words in (('net',), ('net', '--net', 'tcp')):
            self.assert_refused(self.lnetctl(*words), 2, 'manage:',
                                '-     net:', 'errno: -22',
                                'there is: add, del, show, set')
        self.assert_refused(self.lnetctl('lnet'), 2, 'configure, unconfigure')

    def test_version_and_list_have_the_form_of_the_real_one(self):
        for word in ('version', '--version'):
            self.assertRegex(self.text(word), r'^lnetctl \d+\.\d+\.\d+')
        for word in ('list-commands', '--list-commands'):
            text = self.text(word)
            for name in ('lnet', 'net', 'cpt-of-nid'):
                self.assertRegex(text, rf'(?m)(^|\s){name} ')
            self.assertRegex(text, r'(?m)(^|\s)udsp ')
            self.assertNotIn('service-id', text)

    def test_help_of_each_verb(self):
        text = self.text('help')
        for verb in re.findall(r'(?m)^  lnetctl (.*)', text):
            self.assertIn(f'Usage: lnetctl {verb.split()[0]}',
                          self.text(*verb.split(), '--help'))
        for verb in ('net', 'debug', 'fault'):
            self.assertIn(f'Usage: lnetctl {verb}', self.text(verb, '--help'))
        self.assertIn('lnet configure', self.text('lnet', '--help'))
        self.assertEqual(self.lnetctl().returncode, 2)

    def test_configure_is_whether_a_node_runs(self):
        self.assert_done(self.lnetctl('lnet', 'unconfigure'))
        self.assert_refused(self.lnetctl('lnet', 'configure', '--all'), 1,
                            'configure:\n-     lnet:\n      errno: -61',
                            'colibri node')
        self.assert_refused(self.lnetctl('net', 'show'), 1,
                            'show:\n-     net:\n      errno: -61')
        self.node()
        for words in (('--all',), ('--large',), ()):
            self.assertEqual(self.text('lnet', 'configure', *words), '')
        self.assert_refused(self.lnetctl('lnet', 'unconfigure'), 1,
                            'unconfigure:', 'node.sock')
        self.assert_refused(self.lnetctl('lnet', 'configure', 'x'), 2, "'x'")

    def test_lists_of_nids(self):
        nids = '10.0.0.1@tcp', '10.0.0.2@tcp1'
        self.assertEqual(
            self.text('cpt-of-nid', ','.join(nids)), 'cpt-of-nid:\n' +
            '\n'.join(f'-     nid: {nid}\n      cpt: 0' for nid in nids))
        self.assertEqual(
            self.text('debug', 'nidlist', *nids), 'nidlist:\n' +
            '\n'.join(f'-     nid: {nid}' for nid in nids))
        for verb in (('cpt-of-nid',), ('debug', 'nidlist')):
            self.assert_refused(self.lnetctl(*verb, 'x'), 2, 'errno: -22', "'x'")
            self.assert_refused(self.lnetctl(*verb), 2, 'NID is missing')


class Golden(Case):
    """The keys, their order and their columns are those of the real one."""

    def same(self, name, *words, swap=()):
        for command, want in golden(name):
            for old, new in swap:
                command = command.replace(old, new)
            got = self.text(*(words or command.split()))
            self.assertEqual(items(without_ours(shape(got))),
                             items(shape(want)), command)

    def test_answers_of_a_node(self):
        self.node()
        self.node(net=2, ctl='other.sock', port=self.port)
        for name in ('net_show', 'net_show_v', 'net_show_v4'):
            self.same(name)
        self.assertEqual(shape(self.text('stats', 'show')),
                         shape(golden('stats_show')[0][1]))
        self.assertEqual(shape(self.text('global', 'show')),
                         shape(golden('global_show')[0][1]))
        for name in ('ping', 'discover'):
            for option in ((), ('--force',)) if name == 'discover' else ((),):
                self.assertEqual(shape(self.text(name, *option, NID)),
                                 shape(golden(name)[0][1]))
        self.same('peer_list')
        for name in ('peer_show', 'peer_show_v'):
            self.same(name)
        self.assertEqual(self.text('debug', 'peer', '--nid', NID),
                         self.text('peer', 'show', '-v', '4', '--nid', NID))
        for verbose in ('-v4', '--verbose=4', '--verbose 4', '-v 4'):
            self.assertIn('udsp info', self.text('net', 'show',
                                                 *verbose.split()))
        self.assertEqual(self.text('stats', 'reset'), '')

    def test_routes(self):
        node = self.node()
        (add, nothing), (_, plain), (_, verbose), (delete, _) = golden('route')
        nid = f'{lnet.address(4)}@tcp'
        words = [nid if '@' in word else word for word in add.split()]
        self.assertEqual(self.text(*words), nothing)
        self.assertEqual(shape(self.text('route', 'show')), shape(plain))
        got = [line for line in shape(self.text('route', 'show', '-v'))
               if 'why down' not in line]
        self.assertEqual(got, shape(verbose))
        # Only those that are asked for.
        self.assertEqual(self.text('route', 'add', '--net', 'tcp3', '--gateway',
                                   nid, '--hop', '2', '--priority', '7'), '')
        for option, other in (('--hop=2', '--hop=1'),
                              ('--hop-count=2', '--hop-count=3'),
                              ('--priority=7', '--priority=8')):
            found = node.json('route', 'show', option)['route']
            self.assertEqual([one['net'] for one in found], ['tcp3'])
            self.assert_refused(self.lnetctl('route', 'show', other), 1,
                                'show:\n-     route:', 'no such route')
        self.assertEqual(len(node.json('route', 'show', '--hop=-1')['route']), 1)
        self.assertEqual(len(node.json('route', 'show', '--priority=0')
                             ['route']), 1)
        words = [nid if '@' in word else word for word in delete.split()]
        self.assertEqual(self.text(*words), '')

    def test_configuration(self):
        self.node()
        path = self.path('backup')
        self.assertEqual(self.text('export', '--backup', path), '')
        with open(path, encoding='utf-8') as file:
            self.assertEqual(file.read().rstrip('\n'),
                             self.text('export', '--backup'))
        self.assertEqual(self.text('import', path), '')
        done = subprocess.run([self.link, 'import'], env=self.env, check=True,
                              input=b'global: {retry_count: 1}\n',
                              stdout=subprocess.PIPE, timeout=cli.PATIENCE)
        self.assertEqual(done.stdout, b'~ global retry_count 2 -> 1\n')
        self.assert_refused(self.lnetctl('import', '--exec', path), 2,
                            'manage:\n-     import:\n      errno: -22',
                            '--exec')
        self.assertIn('net type: tcp', self.text('import', '--show', path))
        self.assert_refused(self.lnetctl('net', 'add', '--ip2net',
                                         'tcp 10.*.*.*'), 2,
                            "ip2nets in a file that you give to `lnetctl "
                            "import'")
        with open(path, 'w', encoding='utf-8') as file:
            file.write('udsp: [{src: tcp}]\n')
        self.assert_refused(self.lnetctl('import', '--show', path), 1,
                            'import:', 'errno: -',
                            'does not have this rule')

    def test_failures(self):
        self.node()
        for command, want in golden('errors'):
            if want.startswith('lnetctl') or want == '':
                continue
            done = self.lnetctl(*command.split())
            self.assertEqual(done.returncode, 1, done)
            self.assertEqual(shape(done.stderr.decode()), shape(want))
            self.assertEqual(done.stdout, b'')
        for command, want in golden('ping') + golden('discover'):
            if not want.startswith('manage'):
                continue
            words = [word.replace('@tcp', '@tcp7') for word in command.split()]
            done = self.lnetctl(*words)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.decode().rstrip('\n'),
                             want.replace('@tcp', '@tcp7'))

    def test_the_same_users_may_do_the_same(self):
        if os.geteuid() != 0:
            self.skipTest('not root')
        self.node('--ctl-mode', '666')
        other = ['setpriv', '--reuid=65534', '--clear-groups', self.link]
        ctl = ('--ctl', self.path('node.sock'))
        for words, done in (
                (('net', 'show', *ctl), True), (('peer', 'list', *ctl), True),
                (('debug', 'recovery', '--local', *ctl), True),
                (('lnet', 'configure', *ctl), True), (('cpt-of-nid', ME), True),
                (('route', 'show', '--hop=-1', *ctl), None),
                (('stats', 'reset', *ctl), False),
                (('set', 'discovery', '0', *ctl), False),
                (('peer', 'del', '--force', '--prim_nid', NID, *ctl), False)):
            got = subprocess.run([*other, *words], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, check=False)
            refused = b'only its user' in got.stderr
            self.assertEqual(refused, done is False, got)
            if done is not None:
                self.assertEqual(got.returncode, 0 if done else 1, got)


class Lctl(Case):
    """What start-up scripts and exporters read."""

    def setUp(self):
        super().setUp()
        self.link = self.path('lctl')
        os.symlink(cli.COLIBRI, self.link)

    def lctl(self, *args):
        return self.lnetctl(*args)

    def test_without_a_node(self):
        self.assertEqual(self.text('network', 'down'), 'LNET ready to unload')
        for words in (('network', 'up'), ('list_nids',), ('ping', NID),
                      ('which_nid', NID), ('get_param', 'nis')):
            self.assert_refused(self.lctl(*words), 1, 'lctl: no node answers')

    def test_device(self):
        # A device of no module: what is there is not unloaded, and no node answers.
        ctl = ('--ctl', '/dev/null')
        for word in ('down', 'unconfigure'):
            self.assert_refused(self.lctl(*ctl, 'network', word), 1,
                                'lctl: LNET busy', 'rmmod')
        self.assert_refused(self.lctl(*ctl, 'network', 'up'), 1, 'lctl: ')
        self.assert_refused(self.lctl(*ctl, 'ping', NID), 2,
                            "accepted by `colibri ping' and `discover'")

    def test_nids_and_pings(self):
        self.node(net=2, ctl='other.sock')
        self.node('--routes', f'tcp7 {NID}', port=self.port)
        self.assertEqual(self.text('network', 'up'), 'LNET configured')
        self.assertEqual(self.text('net', 'configure'), 'LNET configured')
        self.assert_refused(self.lctl('network', 'unconfigure'), 1,
                            'LNET busy', 'node.sock')
        self.assertEqual(self.text('list_nids'), ME)
        self.assertEqual(self.text('--ctl', self.path('other.sock'),
                                   'list_nids'), NID)
        self.assertEqual(self.text('list_nids', 'all'), f'0@lo\n{ME}')
        for words in ((NID,), (f'12345-{NID}', '5')):
            self.assertEqual(self.text('ping', *words),
                             f'12345-0@lo\n12345-{NID}')
        nobody = f'{lnet.address(5)}@tcp'
        self.assert_refused(self.lctl('ping', nobody, '1'), 1,
                            f'lctl: failed to ping {nobody}: ')
        far = '10.0.0.1@tcp7'
        for words, want in (((far, NID), NID), ((NID, ME), ME),
                            (('10.0.0.1@tcp8', far), far)):
            self.assertEqual(self.text('which_nid', *words), want)
        self.assert_refused(self.lctl('which_nid', '10.0.0.1@tcp8'), 1,
                            'no path')

    def rows(self, *words):
        head, *rows = self.text('get_param', '-n', *words).splitlines()
        return head.split(), [row.split() for row in rows]

    def test_parameters(self):
        self.node()
        self.node(net=2, ctl='other.sock', port=self.port)
        self.text('ping', NID)
        head, rows = self.rows('nis')
        self.assertEqual(head, ['nid', 'status', 'alive', 'refs', 'peer',
                                'rtr', 'max', 'tx', 'min'])
        self.assertEqual(rows[0][:3], ['0@lo', 'up', '0'])
        self.assertEqual([rows[1][i] for i in (0, 1, 4, 6, 7)],
                         [ME, 'up', '8', '256', '256'])
        self.assertLess(int(rows[1][8]), 256)
        head, rows = self.rows('peers')
        self.assertEqual(head, ['nid', 'refs', 'state', 'last', 'max', 'rtr',
                                'min', 'tx', 'min', 'queue'])
        row = next(row for row in rows if row[0] == NID)
        self.assertEqual([row[i] for i in (2, 4, 7, 9)], ['NA', '8', '8', '0'])
        self.assertEqual(len(row), len(head))
        text = self.text('get_param', 'stats')
        self.assertRegex(text, r'^stats=\d+( \d+){10}$')
        self.assertGreater(int(text.split()[3]), 0)
        self.assertRegex(self.text('get_param', 'nis', 'stats'),
                         r'(?s)^nis=\nnid .*\nstats=\d')

    def test_all_else_is_refused(self):
        self.node()
        for words in (('--help',), ('help',)):
            self.assertIn('lctl get_param', self.text(*words))
        self.assertRegex(self.text('--version'), r'^lctl \d')
        for words, wants in (
                ((), ('a command is missing',)),
                (('bogus',), ("'bogus' is not here", 'list_nids, network')),
                (('dl',), ("'dl' is not here",)),
                (('set_param', 'x=1'), ("'set_param'", 'colibri set')),
                (('get_param',), ('nis, peers, stats',)),
                (('get_param', 'memused'), ("'memused'", 'nis, peers')),
                (('network',), ('up, configure',)),
                (('list_nids', 'x'), ('all',)),
                (('ping',), ('NID',)), (('ping', 'x'), ("'x'",)),
                (('ping', NID, '0'), ('1 to 3600',)),
                (('ping', NID, '1', '2'), ('seconds',)),
                (('which_nid',), ('NID is missing',)),
                (('which_nid', ME, 'x'), ("'x'",))):
            self.assert_refused(self.lctl(*words), 2, 'lctl: ', *wants)


if __name__ == '__main__':
    cli.main()
