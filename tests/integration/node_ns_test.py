# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri node` as it is meant to be: default ports, networks of its own.

Two network namespaces with a wire between them, made for each test; skipped
where they cannot be had.
"""
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import cli
import lnet
from lnet import failure_text, ping_text

IP = shutil.which('ip') or '/usr/sbin/ip'
NOBODY = 65534
V4 = ('10.99.0.1', '10.99.0.2')
V6 = ('fd00:99::1', 'fd00:99::2')


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False,
                          timeout=cli.PATIENCE)


def missing():
    """Why there are no namespaces here; None if there are."""
    for tool in ('unshare', 'nsenter', 'setpriv'):
        if not shutil.which(tool):
            return f'{tool} is not installed'
    if not os.access(IP, os.X_OK):
        return 'ip is not installed'
    if os.geteuid() != 0:
        return 'not root'
    probe = run('unshare', '-n', IP, 'link', 'add', 'va', 'type', 'veth',
                'peer', 'name', 'vb')
    if probe.returncode != 0:
        return f'no namespaces with a wire: {probe.stderr.decode().strip()}'
    return None


class Case(cli.Case):
    WHY = missing()

    def setUp(self):
        super().setUp()
        if self.WHY is not None:
            self.skipTest(self.WHY)
        # Where other users find it.
        self.colibri = self.path('colibri')
        shutil.copy(cli.COLIBRI, self.colibri)
        self.hosts = [self.host(), self.host()]
        self.within(0, IP, 'link', 'add', 'veth0', 'type', 'veth', 'peer',
                    'name', 'veth0', 'netns', str(self.hosts[1].pid))
        for i in (0, 1):
            for words in (('link', 'set', 'lo', 'up'),
                          ('addr', 'add', f'{V4[i]}/24', 'dev', 'veth0'),
                          ('link', 'set', 'veth0', 'up')):
                self.within(i, IP, *words)
            if os.path.exists('/proc/sys/net/ipv6'):
                self.within(i, IP, 'addr', 'add', f'{V6[i]}/64', 'dev',
                            'veth0', 'nodad')
        for i in (0, 1):
            self.wait_for_wire(i)

    def wait_for_wire(self, i):
        """The kernel takes a moment to notice that both ends are up."""
        deadline = time.monotonic() + cli.PATIENCE
        while b'state UP' not in self.within(i, IP, '-o', 'link', 'show',
                                             'veth0').stdout:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def host(self):
        """A namespace lives as long as this process in it."""
        child = subprocess.Popen(['unshare', '-n', 'sh', '-c',
                                  'echo; exec sleep 600'],
                                 stdout=subprocess.PIPE)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        child.stdout.readline()
        child.stdout.close()
        return child

    def enter(self, i, user=None):
        """What comes before a command, to run it in a namespace."""
        words = ['nsenter', '-t', str(self.hosts[i].pid), '-n']
        if user is not None:
            words += ['setpriv', f'--reuid={user}', f'--regid={user}',
                      '--clear-groups']
        return words

    def within(self, i, *command, user=None):
        result = run(*self.enter(i, user), *command)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result

    def need_ipv6(self):
        if not os.path.exists('/proc/sys/net/ipv6'):
            self.skipTest('no IPv6')

    def node(self, i, *options, user=None):
        if user is not None:
            os.chmod(self.dir, 0o777)
        return lnet.Node(self, *options, prefix=self.enter(i, user))

    def colibri_in(self, i, *args, user=None):
        return run(*self.enter(i, user), self.colibri, *args)

    def ask(self, node, *args):
        """A control socket is no matter of networks."""
        return cli.run(*args, '--ctl', node.ctl)

    def colibri_by_default(self, i, *args):
        """Without --ctl: all namespaces have one default path."""
        return subprocess.run(
            [*self.enter(i), self.colibri, *args], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, check=False, timeout=cli.PATIENCE,
            env=dict(os.environ, RUNTIME_DIRECTORY=f'{self.dir}:/nonexistent'))

    def unprivileged_from(self, i, port):
        self.within(i, 'sh', '-c', f'echo {port} >'
                    '/proc/sys/net/ipv4/ip_unprivileged_port_start')


class Later(Case):
    def test_device_that_comes_later_is_waited_for(self):
        errors = self.path('errors')
        options = ('--net=tcp(late0)', '--wait')
        with open(errors, 'wb') as file:
            child = subprocess.Popen(
                [*self.enter(0), self.colibri, 'node', '--ctl',
                 self.path('ctl'), *options], stdout=subprocess.PIPE,
                stderr=file)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        deadline = time.monotonic() + cli.PATIENCE
        while b'late0' not in self.read(errors):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        # A device, then an address, then it is up.
        for words in (('link', 'add', 'late0', 'type', 'veth', 'peer', 'name',
                       'late1'), ('addr', 'add', '10.98.0.1/24', 'dev', 'late0'),
                      ('link', 'set', 'late1', 'up'),
                      ('link', 'set', 'late0', 'up')):
            self.within(0, IP, *words)
            time.sleep(0.4)
        words = [child.stdout.readline().decode() for _ in range(3)]
        self.assertIn('10.98.0.1@tcp on late0', words[1])
        self.assertEqual(self.read(errors).count(b'waiting for it'), 1)
        child.terminate()
        self.assertEqual(child.wait(cli.PATIENCE), 0)


class Elsewhere(Case):
    def test_node_of_another_namespace_is_told(self):
        ctl = self.path('node.sock')
        node = lnet.Node(self, prefix=self.enter(0), ctl=ctl)
        nid, other = f'{V4[0]}@tcp', f'{V4[1]}@tcp'
        lnet.Node(self, prefix=self.enter(1))
        by = f'the node of process {node.pid}'
        there = ', in another network namespace,'
        for verb in ('ping', 'discover'):
            self.assert_done(self.colibri_by_default(0, verb, other))
            # Not because it was asked to: the caller may think otherwise.
            result = self.colibri_by_default(1, verb, '--timeout=20', other)
            self.assertEqual(result.returncode, 0, result.stderr)
            lines = result.stderr.decode().splitlines()
            source = f' from {nid}' if verb == 'ping' else ''
            self.assertEqual(lines[0], f'colibri {verb}: {other}: {by}{there}'
                             f' asked{source}')
            self.assertIn('--net tcp', lines[1])
        for i in (0, 1):
            result = self.colibri_by_default(i, 'ping', '--json', other)
            tree = json.loads(result.stdout)
            self.assertEqual(tree['node'], {
                'process': node.pid, 'opened': False,
                'other_namespace': i == 1})
            self.assertEqual(tree['ping'][0]['source'], nid)
            self.assertEqual(result.stderr == b'', i == 0)
            result = self.colibri_by_default(i, 'net', 'show')
            self.assertIn(nid.encode(), result.stdout)
            self.assertEqual(there.encode() in result.stderr, i == 1)
        # A caller that names the node knows.
        self.assert_done(self.colibri_in(1, 'ping', '--ctl', ctl, other))
        result = self.colibri_in(1, 'ping', '-v', '--ctl', ctl, other)
        self.assertEqual(result.stderr.decode(), f'colibri ping: {other}: {by} '
                         f'asked from {nid}\n')


class Defaults(Case):
    def discover_each_other(self, options, nids):
        nodes = [self.node(i, *options(i)) for i in (0, 1)]
        for i in (0, 1):
            other = [nids(1 - i)] if isinstance(nids(1 - i), str) \
                else nids(1 - i)
            # The first packet may find the wire's other end not ready yet: the
            # system tries again after a second.
            result = self.ask(nodes[i], 'ping', '--timeout=10', other[0])
            self.assert_done(result)
            # The second was told by the first what it is.
            self.assertEqual(result.stdout, ping_text(
                other, rail='true' if i == 1 else 'false'))
            result = self.ask(nodes[i], 'discover', other[0])
            self.assert_done(result)
            self.assertEqual(result.stdout,
                             ping_text(other, verb='discover'))
            peers = nodes[i].json('peer', 'show', '-v', '3')['peer']
            self.assertEqual([p['primary nid'] for p in peers], other[:1])
            self.assertEqual(peers[0]['peer state'] & 0x11, 0x11)
        for node in nodes:
            for event in node.events:
                if event['event'] == 'nid':
                    self.assertEqual((event['port'], event['accept']),
                                     (988, 'secure'))
            self.assertEqual(node.stop()[0], 0, node.error_text())

    def test_reason_of_the_node_is_told_twice(self):
        node = self.node(0, '--net', 'tcp(lo)')
        nid, own = f'{V4[1]}@tcp', '127.0.0.1@tcp'
        for more in ((), ('--source', own), ('--json',)):
            result = self.ask(node, 'ping', nid, *more)
            self.assertEqual(result.returncode, 1)
            text = (result.stdout if more == ('--json',)
                    else result.stderr).decode()
            self.assertIn('Invalid argument', text)
            self.assertIn(f'cannot connect from 127.0.0.1 port 512-1023 to '
                          f'{V4[1]} port 988', text)
            self.assertIn('from an address of the loopback only this machine '
                          'can be reached', text)
        # The node has nothing to say about a NID that it did not try.
        result = self.ask(node, 'ping', f'{V4[1]}@tcp7')
        self.assertNotIn(b'the node says', result.stderr)
        self.assertEqual(node.stop()[0], 0)

    def test_without_any_option_over_ipv4(self):
        self.discover_each_other(lambda i: (), lambda i: f'{V4[i]}@tcp')

    def test_over_ipv6(self):
        self.need_ipv6()
        self.discover_each_other(lambda i: ('--net', f'tcp({V6[i]})'),
                                 lambda i: f'{V6[i]}@tcp')

    def test_over_both(self):
        self.need_ipv6()
        self.discover_each_other(
            lambda i: ('--net', f'tcp({V4[i]}),tcp1({V6[i]})'),
            lambda i: [f'{V4[i]}@tcp', f'{V6[i]}@tcp1'])

    def test_device_is_named(self):
        node = self.node(0, '--net', 'tcp3(veth0)')
        self.assertEqual(node.nids(), [f'{V4[0]}@tcp3'])
        nets = node.json('net', 'show')['net']
        self.assertEqual(nets[1]['local NI(s)'][0]['interfaces'],
                         {'0': 'veth0'})

    def test_second_node_at_the_address_is_refused(self):
        self.node(0)
        result = self.colibri_in(0, 'node', '--ctl', self.path('ctl'))
        # The text cannot name the other process where the kernel has an LNet.
        self.assert_refused(result, 1, V4[0], '988', 'EADDRINUSE', 'address')
        self.assertFalse(os.path.exists(self.path('ctl')))

    def test_another_program_has_the_port(self):
        """One that stands for the LNet of the kernel, at all addresses."""
        standin = subprocess.Popen(
            ['nsenter', '-n', '-t', str(self.hosts[0].pid), sys.executable,
             '-c', 'import socket, sys; s = socket.create_server(("", 988)); '
             'print(flush=True); sys.stdin.read()'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(standin.communicate)
        standin.stdout.readline()
        result = self.colibri_in(0, 'node', '--ctl', self.path('ctl'))
        self.assert_refused(result, 1, V4[0], '988', 'EADDRINUSE',
                            'address', 'ipvlan', 'network namespace',
                            'M0_LNET=attach')
        self.assertFalse(os.path.exists(self.path('ctl')))
        # One of the remedies: a namespace of its own, whose node others use.
        sock = self.path('attach.sock')
        self.node(1, f'--attach={sock}')
        env = dict(os.environ, M0_LNET=f'attach:{sock}')
        child = subprocess.Popen(
            ['nsenter', '-n', '-t', str(self.hosts[0].pid), self.colibri,
             'perf', '--listen', '--ep', f'{V4[1]}@tcp:12345:40:5'], env=env,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        self.assertIn('other side', child.stdout.readline())

    def test_wire_that_is_cut(self):
        one = self.node(0)
        self.node(1)
        nid = f'{V4[1]}@tcp'
        self.assert_done(self.ask(one, 'ping', nid))
        self.within(1, IP, 'link', 'set', 'veth0', 'down')
        result = self.ask(one, 'ping', '--timeout=0.5', nid)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, failure_text(nid, errno.ETIMEDOUT))
        self.within(1, IP, 'link', 'set', 'veth0', 'up')
        self.assertEqual(one.stop()[0], 0)

    def test_address_that_nobody_has(self):
        one = self.node(0)
        result = self.ask(one, 'ping', '--timeout=0.5', '10.99.0.77@tcp')
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr.decode(), r'errno: -(110|113)\n')


class Unprivileged(Case):
    def test_works_with_the_sysctl(self):
        for i in (0, 1):
            self.unprivileged_from(i, 512)
        one = self.node(0, user=NOBODY)
        with open(f'/proc/{one.pid}/status', encoding='ascii') as file:
            status = file.read()
        self.assertIn(f'Uid:\t{NOBODY}\t', status)
        self.assertIn('CapEff:\t0000000000000000', status)
        for nid, options in ((f'{V4[0]}@tcp', ()),):
            for verb in ('ping', 'discover'):
                result = self.colibri_in(1, verb, *options, '--net', 'tcp',
                                         nid, user=NOBODY)
                self.assert_done(result)
                self.assertEqual(result.stdout, ping_text([nid], verb=verb))
        two = self.node(1, user=NOBODY)
        self.assert_done(self.ask(two, 'discover', f'{V4[0]}@tcp'))
        self.assertEqual(one.stop(signal.SIGINT)[0], 0)
        self.assertEqual(two.stop(signal.SIGINT)[0], 0)

    def test_works_with_the_sysctl_over_ipv6(self):
        self.need_ipv6()
        for i in (0, 1):
            self.unprivileged_from(i, 512)
        self.node(0, '--net', f'tcp({V6[0]})', user=NOBODY)
        result = self.colibri_in(1, 'ping', '--net', f'tcp({V6[1]})',
                                 f'{V6[0]}@tcp', user=NOBODY)
        self.assert_done(result)

    def test_ping_without_it_gives_the_remedy(self):
        self.node(0)
        nid = f'{V4[0]}@tcp'
        for verb in ('ping', 'discover'):
            result = self.colibri_in(1, verb, '--net', 'tcp', nid,
                                     user=NOBODY)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout, b'')
            text = result.stderr.decode()
            for words in ('setcap cap_net_bind_service=+ep ' + self.colibri,
                          'sysctl net.ipv4.ip_unprivileged_port_start=512 '
                          '(it is 1024)', 'accept=all', '--source-ports any'):
                self.assertIn(words, text)
            self.assertTrue(result.stderr.endswith(
                failure_text(nid, errno.EACCES, verb)), text)

    def test_node_without_it_gives_the_remedy(self):
        result = self.colibri_in(0, 'node', '--ctl', self.path('ctl'),
                                 user=NOBODY)
        self.assert_refused(
            result, 1, V4[0], '988',
            'setcap cap_net_bind_service=+ep ' + self.colibri,
            'sysctl net.ipv4.ip_unprivileged_port_start=512 (it is 1024)',
            '--accept none', '--port')

    def test_capability_instead_of_the_sysctl(self):
        setcap = shutil.which('setcap') or '/usr/sbin/setcap'
        if not os.access(setcap, os.X_OK):
            self.skipTest('setcap is not installed')
        self.node(0)
        if run(setcap, 'cap_net_bind_service=+ep',
               self.colibri).returncode != 0:
            self.skipTest('no capabilities on this file system')
        result = self.colibri_in(1, 'ping', '--net', 'tcp', f'{V4[0]}@tcp',
                                 user=NOBODY)
        self.assert_done(result)

    def test_peer_with_secure_says_no_to_any_port(self):
        node = self.node(0)
        result = self.colibri_in(1, 'ping', '--net', 'tcp', '--source-ports',
                                 'any', f'{V4[0]}@tcp', user=NOBODY)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b'failed to ping', result.stderr)
        self.assertIn(f'{V4[0]}@tcp closed our connection',
                      result.stderr.decode())
        self.assertIn(b'accept=secure', result.stderr)
        node.wait_for('log', level='warning')
        self.assertIn('insecure port', node.events[-1]['text'])

    def test_ipv6_from_any_port_is_for_colibri_only(self):
        self.need_ipv6()
        self.node(0, '--net', f'tcp({V6[0]})', '--accept=all')
        args = ('ping', '--net', f'tcp({V6[1]})', '--source-ports', 'any',
                f'{V6[0]}@tcp')
        result = self.colibri_in(1, *args, user=NOBODY)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b'crash', result.stderr)
        self.assertIn(b'--peers-colibri', result.stderr)
        result = self.colibri_in(1, *args, '--peers-colibri', user=NOBODY)
        self.assert_done(result)


if __name__ == '__main__':
    if Case.WHY is not None:
        print(f'skipped: {Case.WHY}')
    cli.main()
