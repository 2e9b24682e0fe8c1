# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri node` below systemd, whose part this test plays; and the units."""
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import cli
import lnet

# ptrace(2), to stop one thread of a process.
PTRACE_DETACH = 17
PTRACE_SEIZE = 0x4206
PTRACE_INTERRUPT = 0x4207
WALL = 0x40000000
# Runs the command with the sockets at 3 and above, as sd_listen_fds(3) says.
HAND_OVER = ('import os, sys; os.environ["LISTEN_PID"] = str(os.getpid()); '
             'os.execv(sys.argv[1], sys.argv[1:])')
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
SERVICE = os.environ.get('SYSTEMD_SERVICE', os.path.join(
    TOP, 'build/tools/systemd/colibri-node.service'))
SOCKET = os.environ.get('SYSTEMD_SOCKET', os.path.join(
    TOP, 'tools/systemd/colibri-node.socket'))


class Manager(cli.Case):
    def setUp(self):
        super().setUp()
        self.nid = f'{lnet.address(0)}@tcp'
        self.options = ('--net', f'tcp({lnet.address(0)})', '--port',
                        str(lnet.free_port()), '--accept', 'none',
                        '--source-ports', 'any')
        self.manager = None
        self.env = dict(os.environ)
        for name in ('NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID',
                     'LISTEN_FDS', 'LISTEN_FDNAMES', 'M0_LNET'):
            self.env.pop(name, None)

    # -- the datagram socket ---------------------------------------------- #

    def notified(self, name=None):
        """Has the node send its messages here."""
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        path = name or self.path('notify')
        self.manager.bind(path.replace('@', '\0'))
        self.manager.settimeout(cli.PATIENCE)
        self.env['NOTIFY_SOCKET'] = path

    def message(self, want=None):
        """The next message that has the variable `want`, as a dictionary."""
        while True:
            text = self.manager.recv(4096).decode()
            found = dict(line.split('=', 1) for line in text.split('\n'))
            if want is None or want in found:
                return found

    def is_silent(self, seconds):
        """Whether no message comes for this long."""
        self.manager.settimeout(seconds)
        try:
            self.manager.recv(4096)
            return False
        except TimeoutError:
            return True
        finally:
            self.manager.settimeout(cli.PATIENCE)

    # -- the listening socket --------------------------------------------- #

    def listening(self, kind=socket.SOCK_SEQPACKET, family=socket.AF_UNIX):
        """A socket as the unit of the socket describes it."""
        sock = socket.socket(family, kind)
        self.addCleanup(sock.close)
        if family == socket.AF_UNIX:
            sock.bind(self.path('attach.sock'))
            os.chmod(self.path('attach.sock'), 0o666)
        if kind != socket.SOCK_DGRAM:
            sock.listen(128)
        return sock

    def handed(self, *socks, names='attach'):
        """Prefix of a command that gets these sockets from 3 on."""
        moves = []
        for i, sock in enumerate(socks):
            # Not one of those that dup2 is to make.
            keep = os.dup(sock.fileno())
            while keep < 10:
                keep = os.dup(keep)
            self.addCleanup(os.close, keep)
            moves.append(f'os.dup2({keep}, {3 + i}, True)')
            os.set_inheritable(keep, True)
        self.env['LISTEN_FDS'] = str(len(socks))
        if names is not None:
            self.env['LISTEN_FDNAMES'] = names
        script = 'import os; ' + '; '.join(moves) + '; ' + HAND_OVER
        return (sys.executable, '-c', script)

    def node(self, *options, prefix=()):
        """As lnet.Node, with descriptors that are inherited."""
        popen = subprocess.Popen

        def inheriting(*args, **kwargs):
            return popen(*args, close_fds=False, **kwargs)
        subprocess.Popen = inheriting
        try:
            return lnet.Node(self, *self.options, *options, prefix=prefix,
                             env=self.env)
        finally:
            subprocess.Popen = popen

    def refused(self, prefix, *options):
        return subprocess.run(
            [*prefix, cli.COLIBRI, 'node', '--ctl', self.path('ctl'),
             *self.options, *options], env=self.env, close_fds=False,
            capture_output=True, timeout=cli.PATIENCE, check=False)

    def user(self, number):
        """A process that uses the node, and waits for another one."""
        child = subprocess.Popen(
            [cli.COLIBRI, 'perf', '--listen', '--once', '--ep',
             f'{self.nid}:12345:40:{number}'], text=True,
            env=dict(self.env, M0_LNET=f'attach:{self.path("attach.sock")}'),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def attached(self, node, nr):
        deadline = time.monotonic() + cli.PATIENCE
        while True:
            shown = node.json('process', 'show')['processes']
            if shown['attached'] == nr:
                return shown
            self.assertLess(time.monotonic(), deadline, shown)
            time.sleep(0.02)

    # -- sd_notify --------------------------------------------------------- #

    def test_ready_reload_and_stop_are_notified(self):
        conf = self.make('node.yaml', b'net:\n'
                         b'    - net type: tcp\n      local NI(s):\n'
                         b'        - interfaces:\n              0: %s\n'
                         % lnet.address(0).encode())
        self.options = (*self.options[2:], '--config', conf)
        self.notified()
        node = self.node()
        ready = self.message()
        self.assertEqual((ready['READY'], ready['MAINPID'], ready['STATUS']),
                         ('1', str(node.pid), 'ready'))
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        node.child.send_signal(signal.SIGHUP)
        reloading = self.message()
        self.assertEqual(reloading['RELOADING'], '1')
        self.assertGreaterEqual(int(reloading['MONOTONIC_USEC']), before)
        self.assertEqual(self.message()['STATUS'], 'ready')
        # A file that is not accepted changes nothing: the service goes on.
        self.make('node.yaml', b'net: 7\n')
        node.child.send_signal(signal.SIGHUP)
        self.assertIn('RELOADING', self.message())
        again = self.message()
        self.assertEqual(again['READY'], '1')
        self.assertIn('refused', again['STATUS'])
        self.assertEqual(node.stop()[0], 0)
        self.assertEqual(self.message()['STOPPING'], '1')

    def test_abstract_name(self):
        self.notified(f'@colibri-test-{os.getpid()}')
        self.node()
        self.assertEqual(self.message()['READY'], '1')

    def test_no_watchdog_no_signs_of_life(self):
        """Neither without the time, nor with that of another process."""
        self.notified()
        self.env['WATCHDOG_USEC'] = '30000'
        self.env['WATCHDOG_PID'] = '1'
        self.node()
        self.assertIn('READY', self.message())
        self.assertTrue(self.is_silent(0.3))

    def thread(self, pid, name):
        """The number of a thread."""
        for tid in os.listdir(f'/proc/{pid}/task'):
            with open(f'/proc/{pid}/task/{tid}/comm', encoding='ascii') as file:
                if file.read().strip() == name:
                    return int(tid)
        self.fail(f'no thread {name}')

    def assert_guards(self, node, name):
        """There is no sign of life while this thread stands still."""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p,
                                ctypes.c_void_p]
        tid = self.thread(node.pid, name)
        if libc.ptrace(PTRACE_SEIZE, tid, None, None) != 0:
            self.skipTest('this test may not trace its children')
        self.assertEqual(libc.ptrace(PTRACE_INTERRUPT, tid, None, None), 0)
        os.waitpid(tid, WALL)
        try:
            # Some may have been on their way.
            time.sleep(0.1)
            while not self.is_silent(0.01):
                pass
            self.assertTrue(self.is_silent(0.5), f'{name} was not missed')
        finally:
            libc.ptrace(PTRACE_DETACH, tid, None, None)
        self.assertEqual(self.message('WATCHDOG'), {'WATCHDOG': '1'})

    def test_watchdog_tells_of_progress(self):
        """Signs of life come in time, and only while the node's threads run."""
        self.notified()
        self.env['WATCHDOG_USEC'] = '90000'
        node = self.node(f'--attach={self.path("attach.sock")}')
        self.message('WATCHDOG')
        begin = time.monotonic()
        for _ in range(10):
            self.message('WATCHDOG')
        # Three in each period; a busy machine may make it longer, never shorter.
        self.assertGreater(time.monotonic() - begin, 0.25)
        for name in ('m0-lnet', 'attach'):
            self.assert_guards(node, name)
        self.assertEqual(node.stop()[0], 0)

    def test_variables_are_checked(self):
        for name, value in (('NOTIFY_SOCKET', 'relative'),
                            ('NOTIFY_SOCKET', '/' + 'x' * 200),
                            ('WATCHDOG_USEC', 'soon')):
            env = dict(self.env, NOTIFY_SOCKET=self.path('nobody'))
            env[name] = value
            done = cli.run('node', *self.options, env=env)
            self.assert_refused(done, 2, name, value[:20], 'accepted')

    def test_manager_that_is_gone(self):
        self.env['NOTIFY_SOCKET'] = self.path('nobody')
        self.assertEqual(self.node().stop()[0], 0)

    # -- socket activation -------------------------------------------------- #

    def test_socket_is_used_and_stays(self):
        """The unit of the socket alone says where it is, and who may open it."""
        for names in ('attach', None):
            with self.subTest(names):
                self.env.pop('LISTEN_FDNAMES', None)
                sock = self.listening()
                node = self.node(prefix=self.handed(sock, names=names))
                user = self.user(5)
                self.attached(node, 1)
                user.kill()
                self.attached(node, 0)
                self.assertEqual(node.stop()[0], 0)
                mode = os.stat(self.path('attach.sock')).st_mode
                self.assertEqual(mode & 0o777, 0o666)
                sock.close()
                os.unlink(self.path('attach.sock'))

    def client(self, number, seconds):
        """A process that uses the node, and measures to another one."""
        return subprocess.Popen(
            [cli.COLIBRI, 'perf', '--time', str(seconds), '--test', 'rate',
             '--ep', f'{self.nid}:12345:40:*', f'{self.nid}:12345:40:{number}'],
            env=dict(self.env, M0_LNET=f'attach:{self.path("attach.sock")}'),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def test_restart_under_load(self):
        """Those attached get one clear error; those that come wait for the next."""
        sock = self.listening()
        prefix = self.handed(sock)
        first = self.node(prefix=prefix)
        old = self.user(5)
        while 'perf' not in old.stdout.readline():
            pass
        client = self.client(5, 60)
        self.attached(first, 2)
        time.sleep(0.3)
        self.assertEqual(first.stop()[0], 0)
        # The one that measures cannot go on, and says so.
        errors = client.communicate(timeout=cli.PATIENCE)[1]
        self.assertNotEqual(client.returncode, 0)
        self.assertRegex(errors, 'ended the attachment|endpoint shutdown')
        self.assertRegex(old.stderr.readline(),
                         'ended the attachment|endpoint shutdown')
        # Nobody serves the socket, but it is there.
        new = self.user(5)
        time.sleep(0.2)
        self.assertIsNone(new.poll())
        second = self.node(prefix=prefix)
        while 'perf' not in new.stdout.readline():
            pass
        errors = self.client(5, 0.05).communicate(timeout=cli.PATIENCE)[1]
        self.assertEqual((errors, new.wait(cli.PATIENCE)), ('', 0))
        self.assertEqual(self.attached(second, 0)['since start'], 2)

    def test_peers_wait_for_the_next_node(self):
        """The socket of TCP is handed over: no peer is refused between two nodes."""
        port = int(self.options[self.options.index('--port') + 1])
        sock = socket.socket()
        self.addCleanup(sock.close)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((lnet.address(0), port))
        sock.listen(128)
        i = self.options.index('--accept')
        self.options = (*self.options[:i], '--accept', 'all',
                        *self.options[i + 2:])
        prefix = self.handed(sock, names='lnet')
        ping = [cli.COLIBRI, 'ping', '--net', f'tcp({lnet.address(1)})',
                '--port', str(port), '--accept', 'none', '--source-ports',
                'any', '--timeout', '20', self.nid]
        first = self.node(prefix=prefix)
        self.assertEqual(subprocess.run(ping, timeout=cli.PATIENCE,
                                        capture_output=True,
                                        check=False).returncode, 0)
        self.assertEqual(first.stop()[0], 0)
        waits = subprocess.Popen(ping, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        time.sleep(0.3)
        self.assertIsNone(waits.poll())
        second = self.node(prefix=prefix)
        errors = waits.communicate(timeout=cli.PATIENCE)[1]
        self.assertEqual((waits.returncode, errors), (0, ''))
        self.assertEqual(second.stop()[0], 0)

    def test_sockets_of_others_are_refused(self):
        good = self.listening()
        for names, socks, words in (
                ('lnet', [good], ("'lnet'", 'ListenStream=')),
                ('other', [good], ("'other'", 'FileDescriptorName=attach')),
                ('attach:attach', [good, good], ('descriptor 4',)),
                ('attach:', [good, good], ("''", 'descriptor 4'))):
            done = self.refused(self.handed(*socks, names=names))
            self.assert_refused(done, 2, *words)
        prefix = self.handed(good)
        for option, words in (('--attach=/tmp/x', ('/tmp/x', good.getsockname())),
                              ('--attach-mode=660', ('SocketMode=',))):
            self.assert_refused(self.refused(prefix, option), 2, *words)
        # A number of descriptors that are not there.
        self.env['LISTEN_FDS'] = '9'
        self.assert_refused(self.refused(prefix), 2, 'LISTEN_FDS', 'not open')
        os.unlink(good.getsockname())
        for kind, family in ((socket.SOCK_STREAM, socket.AF_UNIX),
                             (socket.SOCK_STREAM, socket.AF_INET)):
            wrong = self.listening(kind, family)
            self.assert_refused(self.refused(self.handed(wrong)), 1,
                                'descriptor', 'ListenSequentialPacket=')

    def test_sockets_of_another_process_are_left_alone(self):
        self.env['LISTEN_FDS'] = '1'
        self.env['LISTEN_PID'] = '1'
        node = self.node()
        self.assertEqual(node.run('process', 'show').returncode, 1)

    # -- units --------------------------------------------------------------- #

    def test_units_are_sound(self):
        """As far as systemd is here to say."""
        with open(SERVICE, encoding='utf-8') as file:
            service = file.read()
        command = re.search(r'(?m)^ExecStart=(\S+)', service).group(1)
        self.assertTrue(command.endswith('/colibri'))
        service = service.replace(command, cli.COLIBRI)
        path = self.make('colibri-node.service', service.encode())
        sock = shutil.copy(SOCKET, self.dir)
        analyze = shutil.which('systemd-analyze')
        if analyze is None:
            self.skipTest('systemd-analyze is not installed')
        done = subprocess.run([analyze, 'verify', '--man=no', path, sock],
                              capture_output=True, text=True, check=False)
        # An unknown key does not change its status.
        said = [line for line in done.stderr.splitlines() if 'colibri' in line]
        self.assertEqual((said, done.returncode), ([], 0), done.stderr)
        # The exposure was 20 with PrivateDevices=yes, which hides the devices of RDMA.
        done = subprocess.run([analyze, 'security', '--offline=true',
                               '--threshold=22', path], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_unit_has_the_devices_of_rdma(self):
        """Net o2ib opens them, and locks memory; no other device is there."""
        with open(SERVICE, encoding='utf-8') as file:
            lines = [line for line in file.read().splitlines()
                     if re.match('Private|Device|LimitMEMLOCK', line)]
        self.assertEqual(sorted(lines), [
            'DeviceAllow=/dev/infiniband/rdma_cm rw',
            'DeviceAllow=char-infiniband_verbs rw', 'DevicePolicy=closed',
            'LimitMEMLOCK=infinity', 'PrivateTmp=yes'])

    def test_options_of_the_unit_are_accepted(self):
        """The command of the unit, with another file and another place."""
        with open(SERVICE, encoding='utf-8') as file:
            words = re.search(r'(?m)^ExecStart=(.*)', file.read()).group(1)
        words = words.split()[2:]
        self.assertEqual(words[0], '--config=/etc/colibri/node.yaml')
        self.assertEqual(words.pop(), '$COLIBRI_NODE_OPTIONS')
        example = os.path.join(TOP, 'tools/systemd/node.yaml')
        node = self.node(f'--config={example}', *words[1:])
        self.assertEqual(node.stop()[0], 0)


if __name__ == '__main__':
    cli.main()
