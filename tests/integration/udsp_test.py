# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri udsp` on the loopback: the texts of lnetctl, and every refusal."""
import os

import cli
import lnet

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..',
                      'golden', 'udsp_show.txt')


class Rules(cli.Case):
    def setUp(self):
        super().setUp()
        self.node = lnet.Node(self, '--net', f'tcp({lnet.address(1)})',
                              '--port', str(lnet.free_port()))

    def udsp(self, *args):
        return self.node.run('udsp', *args)

    def add(self, *args):
        self.assert_done(self.udsp('add', *args))

    def rules(self):
        return self.node.json('udsp', 'show')['udsp']

    def recorded(self):
        """The rules of the record of lnetctl."""
        self.add('--src', 'tcp', '--priority', '1')
        self.add('-d', '192.168.77.[3-4]@tcp', '-p', '0')
        self.add('-s', '192.168.77.2@tcp', '-d', '192.168.77.3@tcp')

    def test_show_prints_what_lnetctl_prints(self):
        shown = self.udsp('show')
        self.assert_done(shown)
        self.assertEqual(shown.stdout, b'')
        self.recorded()
        with open(GOLDEN, 'rb') as file:
            self.assertEqual(self.udsp('show').stdout, file.read())

    def test_rules_are_inserted_updated_and_deleted(self):
        self.recorded()
        self.add('--dst', '*@tcp1', '--rte', '10.1.1.*@tcp', '--idx', '1')
        self.assertEqual(self.rules()[1], {
            'idx': 1, 'dst': '*@tcp1', 'rte': '10.1.1.[0-255]@tcp'})
        self.add('--src', 'tcp', '--priority', '7')
        self.assertEqual(self.rules()[0]['action'], {'priority': 7})
        self.assert_done(self.udsp('del', '--idx', '2'))
        self.assertEqual([r['idx'] for r in self.rules()], [0, 1, 2])
        shown = self.node.json('udsp', 'show', '--idx', '1')['udsp']
        self.assertEqual([r['idx'] for r in shown], [1])
        self.assert_done(self.udsp('del', '--all'))
        self.assertEqual(self.rules(), [])

    def info(self, verb, name, *args):
        """The `udsp info` of each NID."""
        shown = self.node.json(verb, 'show', '-v4', *args)
        return {ni['nid']: ni['udsp info']
                for part in shown[verb] for ni in part[name]}

    def test_show_tells_what_the_rules_say(self):
        ours, near, far = (f'{lnet.address(i)}@tcp' for i in (1, 2, 3))
        for args in (('peer', 'add', '--prim_nid', near),
                     ('peer', 'add', '--prim_nid', '1.2.3.4@tcp1'),
                     ('route', 'add', '--net', 'tcp1', '--gateway', far)):
            self.assert_done(self.node.run(*args))
        none = {'net priority': -1, 'nid priority': -1}
        self.assertEqual(self.info('net', 'local NI(s)'),
                         {'0@lo': none, ours: none})
        self.assertEqual(self.info('peer', 'peer ni', '--nid', near),
                         {near: none})
        self.add('--src', 'tcp', '--priority', '1')
        self.add('--src', ours, '--priority', '2')
        self.add('--dst', 'tcp', '--priority', '4294967294')
        self.add('--dst', near)
        self.add('--dst', near, '--src', ours)
        self.add('--dst', '*@tcp1', '--rte', far)
        self.assertEqual(
            self.info('net', 'local NI(s)'),
            {'0@lo': none, ours: {'net priority': 1, 'nid priority': 2}})
        self.assertEqual(
            self.info('peer', 'peer ni'),
            {near: {'net priority': 4294967294, 'nid priority': 0,
                    'preferred sources': [{'nid': ours}]},
             far: {'net priority': 4294967294, 'nid priority': -1},
             '1.2.3.4@tcp1': none | {'preferred gateways': [{'nid': far}]}})
        self.assert_done(self.udsp('del', '--all'))
        self.assertEqual(self.info('peer', 'peer ni', '--nid', near),
                         {near: none})

    def test_refusals_of_the_node(self):
        self.recorded()
        self.assert_refused(self.udsp('add', '--src', 'tcp', '-p1'), 1,
                            'there is a rule with these ranges')
        self.assert_refused(self.udsp('del', '--idx', '3'), 1,
                            'no rule of this index')
        self.assert_refused(self.udsp('show', '--idx', '3'), 1,
                            'no rule of this index')
        self.assertEqual(len(self.rules()), 3)

    def test_wrong_options(self):
        for words, args in (
                ('the rule has no range', ('add',)),
                ('rte is given without dst', ('add', '--rte', '1.1.1.1@tcp')),
                ('src and rte are given without dst',
                 ('add', '--src', 'tcp', '--rte', '1.1.1.1@tcp')),
                ('priority is 3', ('add', '-s', 'tcp', '-d', 'tcp', '-p3')),
                ('src is `1.2.3.[5-4]@tcp`, character 8',
                 ('add', '--src', '1.2.3.[5-4]@tcp')),
                ('priority is `-1`', ('add', '--src=tcp', '--priority=-1')),
                ('idx is `x`', ('add', '--src', 'tcp', '--idx', 'x')),
                ('--idx', ('show', '--idx', 'x')),
                ('del takes --idx N', ('del',)),
                ('del takes --idx N', ('del', '--all', '--idx', '1')),
                ('--src is not accepted', ('show', '--src', 'tcp')),
                ('--all is not accepted', ('show', '--all')),
                ('a word is missing', ()),
                ("'list' is not accepted", ('list',)),
                ('no further operand', ('show', 'show'))):
            self.assert_refused(self.udsp(*args), 2, words)
        self.assertEqual(self.rules(), [])


class Explained(cli.Case):
    """A node with two interfaces of one network, and NIDs that nobody has."""

    def setUp(self):
        super().setUp()
        first, second = lnet.address(1), lnet.address(2)
        self.first, self.second = f'{first}@tcp', f'{second}@tcp'
        self.dest = f'{lnet.address(9)}@tcp'
        self.node = lnet.Node(self, '--net', f'tcp({first},{second})',
                              '--port', str(lnet.free_port()))

    def add(self, *args):
        self.assert_done(self.node.run('udsp', 'add', *args))

    def path_by(self, ni):
        found = self.node.json('explain', self.dest)['explain'][0]
        return next(path for path in found['candidates']
                    if path['interface'] == ni)

    def test_explain_names_the_rule_that_decides(self):
        self.assertNotIn('rule', self.path_by(self.second))
        self.add('--src', 'tcp7')
        self.add('--src', self.second, '--priority', '3')
        lost = self.path_by(self.first)
        self.assertEqual(
            lost['because'],
            'a rule gives another interface or its network a better priority')
        self.assertEqual(lost['rule'], self.node.json(
            'udsp', 'show', '--idx', '1')['udsp'][0])
        self.assertNotIn('own rule', lost)
        self.add('--src', self.first, '--priority', '4')
        self.assertEqual(self.path_by(self.first)['own rule'], {
            'idx': 2, 'src': self.first, 'action': {'priority': 4}})
        self.assertNotIn('rule', self.path_by(self.second))
        text = self.node.run('explain', self.dest)
        self.assert_done(text)
        self.assertIn(f"""            rule:
                  idx: 1
                  src: {self.second}
                  action:
                        priority: 3
            own rule:
                  idx: 2
""", text.stdout.decode())

    def dry(self, *args):
        found = self.node.json('udsp', *args, '--dry-run')['dry run']
        self.assertEqual(len(found), 1)
        return found[0]

    def peers(self, *last):
        for i in last:
            self.assert_done(self.node.run(
                'peer', 'add', '--prim_nid', f'{lnet.address(i)}@tcp'))

    def test_dry_run_tells_which_peers_would_change(self):
        self.peers(9, 10, 11)
        rule = ('--src', self.second, '--dst',
                f'{lnet.PREFIX}.[10-11]@tcp')
        found = self.dry('add', *rule)
        self.assertEqual((found['effect'], found['peers'], found['changed']),
                         ('2 of 3 peers would change their paths', 3, 2))
        self.assertEqual(
            found['changes'][0],
            {'primary nid': f'{lnet.address(10)}@tcp',
             'nid': f'{lnet.address(10)}@tcp',
             'now': {'paths': 2, 'first': [
                 {'interface': ni, 'next hop': f'{lnet.address(10)}@tcp',
                  'destination': f'{lnet.address(10)}@tcp'}
                 for ni in (self.first, self.second)]},
             'then': {'paths': 1, 'first': [
                 {'interface': self.second,
                  'next hop': f'{lnet.address(10)}@tcp',
                  'destination': f'{lnet.address(10)}@tcp'}]}})
        self.assertEqual(self.node.json('udsp', 'show'), {'udsp': []})
        self.add(*rule)
        text = self.node.run('udsp', 'del', '--idx', '0', '--dry-run')
        self.assert_done(text)
        far = f'{lnet.address(11)}@tcp'
        self.assertIn(f"""      nid: {far}
            now: {self.second} to {far}
            then: {self.first} to {far}, {self.second} to {far}
""", text.stdout.decode())
        self.assertEqual(self.dry('del', '--all')['changed'], 2)
        self.assertEqual(self.dry('add', '--src', 'tcp7')['changes'], [])
        self.assertEqual(len(self.node.json('udsp', 'show')['udsp']), 1)

    def test_dry_run_lists_some_peers_and_as_json_all(self):
        self.peers(*range(20, 45))
        self.assertEqual(
            len(self.dry('add', '--src', self.second)['changes']), 25)
        text = self.node.run('udsp', 'add', '--src', self.second, '--dry-run')
        self.assertEqual(text.stdout.count(b'primary nid'), 20)
        self.assertIn(b'further changes: 5, listed with --json', text.stdout)

    def test_dry_run_is_refused_as_the_change_is(self):
        self.add('--src', self.second)
        for code, words, args in (
                (1, 'there is a rule with these ranges',
                 ('add', '--src', self.second)),
                (1, 'no rule of this index', ('del', '--idx', '1')),
                (2, 'the rule has no range', ('add',)),
                (2, 'del takes --idx N', ('del',)),
                (2, '--dry-run is not accepted here', ('show',))):
            self.assert_refused(self.node.run('udsp', *args, '--dry-run'),
                                code, words)


if __name__ == '__main__':
    cli.main()
