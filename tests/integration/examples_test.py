# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Examples of rules of selection: each file is accepted, and has the effect that
docs/lnet.md says."""
import glob
import os
import re
import subprocess

import cli
import lnet

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')
EXAMPLES = os.path.join(TOP, 'examples', 'udsp')


class Files(cli.Case):
    def path_of(self, name, *nids):
        """A node with this file knows a peer. @return the path to its first NID."""
        node = lnet.Node(self, '--config', os.path.join(EXAMPLES, name),
                         '--use-down-routes', '--port', str(lnet.free_port()),
                         '--source-ports', 'any', '--accept', 'all')
        args = ['--prim_nid', nids[0]]
        if nids[1:]:
            args += ['--nid', ','.join(nids[1:])]
        self.assert_done(node.run('peer', 'add', *args))
        path, = (path for path in node.json('explain', nids[0])
                 ['explain'][0]['candidates'] if path['result'] == 'taken')
        node.stop()
        return path['interface'], path['next hop']

    def test_files_are_accepted(self):
        names = sorted(glob.glob(os.path.join(EXAMPLES, '*.yaml')))
        self.assertEqual(len(names), 4)
        for name in names:
            done = cli.run('config', 'check', name)
            self.assert_done(done)
            self.assertRegex(done.stdout, rb'accepted: .*, [1-3] rules')

    def test_fine_grained_routing(self):
        for server, routers in ((1, '1[12]'), (4, '1[12]'), (5, '2[12]'),
                                (8, '2[12]')):
            _, hop = self.path_of('fine_grained.yaml',
                                  f'127.0.3.{server}@tcp1')
            self.assertRegex(hop, rf'^127\.0\.2\.{routers}@tcp$')

    def test_node_types(self):
        for nids, want in (
                (['127.0.17.5@tcp'], ('127.0.4.1@tcp', '127.0.17.5@tcp')),
                (['127.0.5.8@tcp'], ('127.0.4.2@tcp', '127.0.5.8@tcp')),
                (['127.0.5.202@tcp'], ('127.0.4.2@tcp', '127.0.5.202@tcp')),
                (['127.0.4.9@tcp', '127.0.7.9@tcp1'],
                 ('127.0.7.1@tcp1', '127.0.7.9@tcp1'))):
            self.assertEqual(self.path_of('node_types.yaml', *nids), want)

    def test_client_sets(self):
        done = subprocess.run(
            [os.path.join(EXAMPLES, 'client_sets')], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, check=False, timeout=cli.PATIENCE,
            env=dict(os.environ, COLIBRI=cli.COLIBRI))
        text = done.stdout.decode()
        self.assertEqual(done.returncode, 0, (text, done.stderr))
        taken = re.findall(r'set (.):|(die)|by 127\.0\.2\.(.).@tcp: taken', text)
        self.assertEqual([''.join(found) for found in taken],
                         ['A', '1', 'B', '2', 'die', 'A', '2'])
        self.assertEqual(text.count(': not usable'), 2, text)


if __name__ == '__main__':
    cli.main()
