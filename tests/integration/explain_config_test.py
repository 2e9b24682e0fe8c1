# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri explain --config`: paths of a node that does not run."""
import json
import shutil
import subprocess

import cli

CONFIG = """\
net:
    - net type: tcp
      local NI(s):
        - interfaces:
              0: eth0
        - interfaces:
              0: eth1
    - net type: tcp1
      local NI(s):
        - interfaces:
              0: 10.1.0.1
route:
    - net: tcp7
      gateway: 10.1.0.11@tcp1
    - net: tcp7
      gateway: 10.1.0.12@tcp1
peer:
    - primary nid: 10.0.0.7@tcp
      Multi-Rail: true
      peer ni:
        - nid: 10.1.0.7@tcp1
udsp:
    - src: tcp1
      action:
          priority: 2
    - dst: '10.7.*.*@tcp7'
      rte: 10.1.0.12@tcp1
    - src: 10.0.0.2@tcp
      dst: 10.0.0.99@tcp
"""


class Explain(cli.Case):
    def file(self, text=CONFIG):
        name = self.path('node.yaml')
        with open(name, 'w', encoding='utf-8') as file:
            file.write(text)
        return name

    def run_(self, *args, text=CONFIG):
        return cli.run('explain', '--config', self.file(text), *args)

    def explain(self, *args, code=0, text=CONFIG):
        done = self.run_('--json', *args, text=text)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)['explain'][0]

    def ends(self, *args, text=CONFIG):
        """Interface and next hop of the path that is taken."""
        found = [path for path in self.explain(*args, text=text)['candidates']
                 if path['result'] == 'taken']
        self.assertEqual(len(found), 1)
        return found[0]['interface'], found[0]['next hop']

    def test_peers_routes_and_rules_of_the_file_count(self):
        found = self.explain('10.0.0.7@tcp')
        self.assertEqual((found['known'], found['Multi-Rail']), (True, True))
        self.assertEqual(len(found['candidates']), 3)
        self.assertEqual(found['candidates'][0]['rule'], {
            'idx': 0, 'src': 'tcp1', 'action': {'priority': 2}})
        self.assertEqual(self.ends('10.0.0.7@tcp'),
                         ('10.1.0.1@tcp1', '10.1.0.7@tcp1'))
        self.assertEqual(self.ends('10.7.0.1@tcp7'),
                         ('10.1.0.1@tcp1', '10.1.0.12@tcp1'))
        self.assertEqual(self.ends('10.8.0.1@tcp7')[1], '10.1.0.11@tcp1')

    def test_nothing_is_invented_for_a_nid_that_is_not_known(self):
        keys = {'next hop health', 'next hop credits', 'next hop queued bytes'}
        for nid, known in ('10.0.0.7@tcp', True), ('10.0.0.99@tcp', False):
            found = self.explain(nid)
            self.assertEqual(found['known'], known)
            for path in found['candidates']:
                self.assertEqual(keys & set(path), keys if known else set())
            self.assertEqual(b'next hop health' in self.run_(nid).stdout, known)

    def test_text_says_what_is_assumed(self):
        done = self.run_('10.0.0.99@tcp')
        self.assert_done(done)
        for words in ('      assumed:\n',
                      'the node is as the file says, and no other node was '
                      'asked\n',
                      'only the first checks of gateways are in flight\n',
                      'the file has no peer with it\n',
                      'eth0 has the address 192.0.2.1, because its own is not '
                      'in the file; --address eth0=ADDRESS gives it\n',
                      'eth1 has the address 192.0.2.2,'):
            self.assertIn(words, done.stdout.decode())

    def test_address_of_a_device_is_given(self):
        args = ('10.0.0.99@tcp', '--address', 'eth0=10.0.0.1', '--address',
                'eth1=10.0.0.2')
        self.assertEqual(self.ends(*args),
                         ('10.0.0.2@tcp', '10.0.0.99@tcp'))
        self.assertNotIn('192.0.2', str(self.explain(*args)))
        self.assertEqual(
            self.ends('10.0.0.99@tcp', '--address', 'eth0=10.0.0.1')[0],
            '10.0.0.1@tcp')
        self.assertEqual(
            self.ends(*args, '--from', '10.0.0.1@tcp')[0], '10.0.0.1@tcp')

    def test_modprobe_options_and_no_network(self):
        text = ('options lnet ip2nets="tcp(eth0) 10.0.0.*; tcp1(eth0) *.*.*.*" '
                'routes="tcp7 10.0.0.9@tcp"\n')
        self.assertEqual(
            self.ends('10.7.0.1@tcp7', '--address', 'eth0=10.0.0.1',
                      text=text), ('10.0.0.1@tcp', '10.0.0.9@tcp'))
        found = self.explain('10.0.0.1@tcp', text='udsp:\n')
        self.assertIn('the file has no network; the node has tcp',
                      found['assumed'])

    def test_no_path(self):
        done = self.run_('10.9.0.1@tcp9')
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'there is no route to it', done.stderr)
        self.assertIn(b'result: not usable', done.stdout)

    def test_refusals(self):
        nid = '10.0.0.99@tcp'
        for code, words, args in (
                (2, 'a NID is missing', ()),
                (2, "--address 'eth9=10.0.0.1' is not accepted",
                 (nid, '--address', 'eth9=10.0.0.1')),
                (2, "'x' is no IP address", (nid, '--address', 'eth0=x')),
                (2, '--ctl is not accepted with --config',
                 (nid, '--ctl', '/x')),
                (1, '--from is not a NID', (nid, '--from', '10.9.9.9@tcp'))):
            self.assert_refused(self.run_(*args), code, words)
        self.assert_refused(
            cli.run('explain', nid, '--address', 'eth0=10.0.0.1'), 2,
            '--address is accepted with --config only')
        self.assert_refused(
            cli.run('explain', nid, '--config', '/nowhere'), 1, '/nowhere')
        self.assert_refused(self.run_(nid, text='net:\n  - nett: tcp\n'), 2,
                            'node.yaml:2:5')
        self.assert_refused(
            self.run_(nid, text=CONFIG.replace('10.1.0.11@tcp1',
                                               '10.5.0.1@tcp5')), 2,
            'node.yaml:13:7')

    def test_no_socket_is_made(self):
        strace = shutil.which('strace')
        if strace is None:
            self.skipTest('no strace')
        name = self.path('trace')
        done = subprocess.run(
            [strace, '-f', '-qq', '-o', name, '-e',
             'trace=socket,socketpair', cli.COLIBRI, 'explain', '--config',
             self.file(), '10.7.0.1@tcp7'], check=False, timeout=cli.PATIENCE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            self.skipTest('strace does not work here')
        with open(name, encoding='utf-8') as file:
            self.assertEqual(file.read(), '')


if __name__ == '__main__':
    cli.main()
