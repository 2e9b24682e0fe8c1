# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri copy`, `perf` and `serve` over sunrpc, between two processes."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys

import cli
import lnet

# The transport is taken from the form of the address, or named.
NAMED = ('--transport', 'sunrpc')


class Sunrpc(cli.Case):
    def setUp(self):
        super().setUp()
        self.ep = f'127.0.0.1:{lnet.free_port()}:1'
        self.src = self.make('src', random.Random(1).randbytes(3 << 20 | 5))

    def start(self, *args):
        """A listener; its first line of JSON."""
        self.child = subprocess.Popen(
            [cli.COLIBRI, *args], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.addCleanup(self.child.stdout.close)
        self.addCleanup(self.child.stderr.close)
        self.addCleanup(self.child.wait)
        self.addCleanup(self.child.kill)
        return json.loads(self.child.stdout.readline())

    def stop(self):
        self.child.send_signal(signal.SIGINT)
        self.assertEqual(self.child.wait(cli.PATIENCE), 0,
                         self.child.stderr.read())

    def test_copy_arrives(self):
        os.mkdir(self.path('in'))
        told = self.start('copy', '--listen', '--json', '--ep', self.ep,
                          self.path('in'))
        self.assertEqual(told['ep'], self.ep)
        for options in ((), NAMED, (*NAMED, '--block', '16M'),
                        ('--block', '4096', '--inflight', '64')):
            self.assert_done(cli.run('copy', '-q', *options, self.src,
                                     f'{self.ep}:dst'))
            self.assertEqual(self.read(self.path('in', 'dst')),
                             self.read(self.src))
        self.stop()

    def test_perf_counts(self):
        told = self.start('perf', '--listen', '--json', *NAMED, '--ep',
                          '127.0.0.1:0:*')
        result = cli.run('perf', '--json', '--time', '0.1', '--size', '64',
                         told['ep'])
        self.assert_done(result)
        self.assertIn('sunrpc', result.stdout.decode())
        self.stop()

    def test_objects_come_back(self):
        os.mkdir(self.path('objects'))
        self.start('serve', '--json', '--ep', self.ep, self.path('objects'))
        self.assert_done(cli.run('put', '-q', self.src, f'{self.ep}:it'))
        self.assert_done(cli.run('get', '-q', *NAMED, f'{self.ep}:it',
                                 self.path('back')))
        self.assertEqual(self.read(self.path('back')), self.read(self.src))
        self.stop()

    def test_is_registered_when_asked(self):
        """With the host's rpcbind from start to end: one that we play."""
        fake = os.path.join(os.path.dirname(__file__), 'fake_rpcbind.py')
        result = cli.in_namespace(
            'mount -t tmpfs tmpfs /run || exit 77\n'
            '"$1" "$2" /run/rpcbind.sock "$3" & fake=$!\n'
            'trap "kill $fake" EXIT\n'
            'while [ ! -S /run/rpcbind.sock ]; do sleep 0.01; done\n'
            'for asked in 0 1; do\n'
            '    M0_SUNRPC_RPCBIND=$asked "$4" perf --listen --json'
            ' --transport sunrpc --ep "$5" >"$3.$asked" & perf=$!\n'
            '    while [ ! -s "$3.$asked" ]; do sleep 0.01; done\n'
            '    kill -INT $perf\n'
            '    wait $perf || exit 1\n'
            'done\n',
            sys.executable, fake, self.path('log'), cli.COLIBRI, self.ep)
        if result is None or result.returncode == 77:
            self.skipTest('no mount namespace')
        self.assertEqual(result.returncode, 0, result.stderr)
        host, port, _ = self.ep.split(':')
        where = f'{host}.{int(port) >> 8}.{int(port) & 255}'
        said = [line.split() for line in
                self.read(self.path('log')).decode().splitlines()]
        self.assertEqual([line[0] for line in said], ['UNSET', 'SET', 'UNSET'])
        self.assertEqual(said[1], ['SET', str(0x204d3001), '1', 'tcp', where])

    def test_is_listed_by_rpcinfo(self):
        """By the host's own: rpcbind and rpcinfo, if they are installed."""
        path = os.environ.get('PATH', '') + ':/sbin:/usr/sbin'
        rpcbind = shutil.which('rpcbind', path=path)
        rpcinfo = shutil.which('rpcinfo', path=path)
        if rpcbind is None or rpcinfo is None or os.geteuid() != 0:
            self.skipTest('no rpcbind, or not root')
        # rpcbind gives up root for a user that its package makes.
        with open('/etc/passwd', encoding='utf-8') as users, \
                open(self.path('passwd'), 'w', encoding='utf-8') as out:
            text = users.read()
            out.write(text)
            if '\n_rpc:' not in text:
                out.write('_rpc:x:998:65534::/run/rpcbind:/bin/false\n')
        result = cli.in_namespace(
            'mount -t tmpfs tmpfs /run && mkdir /run/rpcbind &&'
            ' mount --bind "$3" /etc/passwd || exit 77\n'
            'exec unshare -n sh -c \'\n'
            'ip link set lo up || exit 77\n'
            '"$1" -f & rpcbind=$!\n'
            'trap "kill $rpcbind" EXIT\n'
            'n=0\n'
            'until "$2" -p 127.0.0.1 >/dev/null 2>&1; do\n'
            '    kill -0 $rpcbind && [ $n -lt 500 ] || exit 77\n'
            '    n=$((n + 1)); sleep 0.02\n'
            'done\n'
            'M0_SUNRPC_RPCBIND=1 "$4" perf --listen --json'
            ' --transport sunrpc --ep "$5" >/run/perf & perf=$!\n'
            'while [ ! -s /run/perf ]; do sleep 0.01; done\n'
            '"$2" -p 127.0.0.1\n'
            '"$2" -T tcp 127.0.0.1 541929473 1 || exit 1\n'
            'kill -INT $perf; wait $perf || exit 1\n'
            'echo over\n'
            '"$2" -p 127.0.0.1\n'
            '\' sh "$@"\n', rpcbind, rpcinfo, self.path('passwd'),
            cli.COLIBRI, self.ep)
        if result is None or result.returncode == 77:
            self.skipTest('no namespaces, or rpcbind does not start')
        self.assertEqual(result.returncode, 0, result.stderr)
        before, after = result.stdout.decode().split('over\n')
        port = self.ep.split(':')[1]
        self.assertRegex(before, rf'541929473 +1 +tcp +{port}\b')
        self.assertIn('ready and waiting', before)
        self.assertNotIn('541929473', after)

    def test_nobody_is_there(self):
        result = cli.run('copy', '--timeout', '2', self.src, f'{self.ep}:x')
        self.assert_refused(result, 1, 'refused')

    def test_address_of_another_transport_is_refused(self):
        for name, ep in (('lnet', self.ep),
                         ('sunrpc', '10.0.0.1@tcp:12345:40:1')):
            result = cli.run('copy', '--transport', name, self.src,
                             f'{ep}:x')
            self.assert_refused(result, 2, ep, 'accepted')


if __name__ == '__main__':
    cli.main()
