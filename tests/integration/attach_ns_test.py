# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri node --attach` and processes of other namespaces, as containers have them."""
import os
import subprocess
import time

import cli
import lnet

USER = 1234
AS_USER = ('setpriv', f'--reuid={USER}', f'--regid={USER}', '--clear-groups')
# A user namespace that maps the caller to root, and nobody else.
MAPPED = ('unshare', '-U', '-r')


def works(*command):
    try:
        return subprocess.run([*command, 'true'], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        return False


class Namespaces(cli.Case):
    def setUp(self):
        super().setUp()
        self.shared = self.path('shared')
        os.mkdir(self.shared)
        self.sock = os.path.join(self.shared, 'attach.sock')
        self.nid = f'{lnet.address(0)}@tcp'

    def need(self, *command):
        if os.geteuid() != 0 or not works(*command):
            self.skipTest(f'needs root, and {" ".join(command)}')

    def node(self, *options, prefix=()):
        node = lnet.Node(self, '--net', f'tcp({lnet.address(0)})', '--port',
                         str(lnet.free_port()), '--accept', 'none',
                         '--source-ports', 'any', f'--attach={self.sock}',
                         '--attach-mode=666', *options, prefix=prefix)
        return node

    def perf(self, *words, prefix=(), sock=None):
        """A process that uses the node."""
        child = subprocess.Popen(
            [*prefix, cli.COLIBRI, 'perf', *words], text=True,
            env=dict(os.environ, M0_LNET=f'attach:{sock or self.sock}'),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def listen(self, **kwargs):
        return self.perf('--listen', '--once', '--ep',
                         f'{self.nid}:12345:40:5', **kwargs)

    def attached(self, node, nr):
        deadline = time.monotonic() + cli.PATIENCE
        while True:
            shown = node.json('process', 'show')
            if shown['processes']['attached'] == nr:
                return shown['process']
            self.assertLess(time.monotonic(), deadline, shown)
            time.sleep(0.02)

    def refusal(self, child):
        """What a process says that may not attach."""
        errors = child.communicate(timeout=cli.PATIENCE)[1]
        self.assertNotEqual(child.returncode, 0)
        return errors

    # -- users ---------------------------------------------------------------- #

    def test_unmapped_user_is_not_nobody(self):
        """A daemon in a user namespace sees all that it does not map as 65534."""
        self.need(*MAPPED)
        self.need(*AS_USER)
        node = self.node('--attach-users=root,nobody,65534',
                         '--ctl-mode=666', prefix=MAPPED)
        errors = self.refusal(self.listen(prefix=AS_USER))
        self.assertIn('user namespace', errors)
        self.assertIn('65534', errors)
        # The user that is mapped is the one that the policy names.
        self.listen()
        self.assertEqual(self.attached(node, 1)[0]['uid'], 0)

    def test_nobody_may_attach_where_all_are_mapped(self):
        self.need('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')
        node = self.node('--attach-users=65534')
        self.listen(prefix=('setpriv', '--reuid=65534', '--regid=65534',
                            '--clear-groups'))
        self.assertEqual(self.attached(node, 1)[0]['uid'], 65534)

    def test_root_of_a_namespace_is_the_user_outside(self):
        self.need(*AS_USER, *MAPPED)
        node = self.node()
        errors = self.refusal(self.listen(prefix=(*AS_USER, *MAPPED)))
        self.assertIn(f'user {USER} may not attach', errors)
        self.assertEqual(node.stop()[0], 0)
        node = self.node(f'--attach-users={USER}')
        self.listen(prefix=(*AS_USER, *MAPPED))
        self.assertEqual(self.attached(node, 1)[0]['uid'], USER)

    # -- containers ------------------------------------------------------------- #

    def pod(self, name):
        """Prefix of a command in namespaces of its own that share a directory."""
        place = self.path(name)
        os.mkdir(place)
        return ('unshare', '-m', '-p', '-f', '-n', '-i', '--kill-child', 'sh',
                '-c', f'mount --bind {self.shared} {place} && exec "$@"', 'sh'
                ), os.path.join(place, 'attach.sock')

    def test_containers_that_share_the_directory(self):
        """Neither network, processes nor mounts are shared, and bytes move."""
        self.need('unshare', '-m', '-p', '-f', '-n', '-i', '--kill-child')
        node = self.node()
        prefix, sock = self.pod('one')
        server = self.listen(prefix=prefix, sock=sock)
        self.assertNotEqual(self.attached(node, 1)[0]['pid'], 1)
        while 'perf' not in server.stdout.readline():
            pass
        prefix, sock = self.pod('two')
        client = self.perf('--time', '0.05', '--ep', f'{self.nid}:12345:40:*',
                           f'{self.nid}:12345:40:5', prefix=prefix, sock=sock)
        out, errors = client.communicate(timeout=cli.PATIENCE)
        self.assertEqual((client.returncode, errors), (0, ''))
        for test in ('latency', 'rate', 'put', 'get'):
            self.assertRegex(out, rf'(?m)^{test} ')
        self.assertEqual(server.wait(cli.PATIENCE), 0)
        # The death of a container is noticed like that of a process.
        prefix, sock = self.pod('three')
        other = self.listen(prefix=prefix, sock=sock)
        self.attached(node, 1)
        other.kill()
        self.attached(node, 0)


if __name__ == '__main__':
    cli.main()
