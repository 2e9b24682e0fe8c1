# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri top`: text for scripts, and a terminal that may be small."""
import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

import cli
import lnet


class Fake:
    """Answers as a node does: with a text; without one, never after the first."""

    def __init__(self, case, text='', errors='', code=0, answers=1 << 30):
        self.ctl = case.path('fake.sock')
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.bind(self.ctl)
        self.sock.listen(64)
        self.answer = f'status {code} {len(text)} {len(errors)}\n{text}{errors}'
        self.left = answers
        self.conns = []
        self.asked = threading.Event()
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        case.addCleanup(self.stop)

    def serve(self):
        try:
            while True:
                conn = self.sock.accept()[0]
                conn.recv(8192)
                self.left -= 1
                if self.left < 0:
                    self.conns.append(conn)
                    self.asked.set()
                else:
                    conn.sendall(self.answer.encode())
                    conn.close()
        except OSError:
            pass

    def stop(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(cli.PATIENCE)
        self.sock.close()
        for conn in self.conns:
            conn.close()

    def run(self, *args, **kwargs):
        return cli.run(*args, '--ctl', self.ctl, **kwargs)


def metrics_text(peers):
    """Metrics of a node with so many peers."""
    text = 'colibri_build_info{version="1"} 1\ncolibri_node_peer_nis 0\n'
    for name in ('up', 'down', 'health_ratio', 'sent_messages_total',
                 'received_messages_total', 'credits', 'credits_free',
                 'credits_low', 'queued_bytes'):
        for i in range(peers):
            nid = f'10.0.{i >> 8}.{i & 255}@tcp'
            text += f'colibri_peer_{name}{{nid="{nid}",peer="{nid}"}} 1\n'
    return text + '# EOF\n'


class Top(cli.Case):
    def node(self, *options, ctl=None):
        self.port = lnet.free_port()
        return lnet.Node(self, '--net', f'tcp({lnet.address(1)})', '--accept',
                         'all', '--port', str(self.port), *options, ctl=ctl)

    def peer(self):
        """Another node; that of node() has talked to it."""
        lnet.Node(self, '--net', f'tcp({lnet.address(2)})', '--accept', 'all',
                  '--port', str(self.port))
        return f'{lnet.address(2)}@tcp'

    def test_text(self):
        node = self.node('--attach=' + self.path('attach'))
        peer = self.peer()
        self.assert_done(node.run('ping', peer))
        text = node.run('top', '--once', '--delay', '0.1').stdout.decode()
        lines = text.splitlines()
        self.assertRegex(lines[0], r'^colibri [0-9.]+  tx [0-9.]+/s ')
        self.assertIn('INTERFACE', text)
        self.assertRegex(text, rf'(?m)^{lnet.address(1)}@tcp +up ')
        self.assertRegex(text, rf'(?m)^{peer} +(up|-) ')
        self.assertNotIn('ROUTE', text)
        text = node.run('top', '--count', '3', '--delay',
                        '0.1').stdout.decode()
        self.assertEqual(text.count('INTERFACE'), 3)

    def test_rates_are_those_of_the_interval(self):
        node = self.node()
        peer = self.peer()
        self.assert_done(node.run('ping', peer))
        child = subprocess.Popen(
            [cli.COLIBRI, 'top', '--batch', '--delay', '0.2', '--ctl',
             node.ctl], stdout=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        row = re.compile(rf'{peer} +\S+ +([0-9.]+k?) ')
        end = time.monotonic() + cli.PATIENCE
        while time.monotonic() < end:
            self.assert_done(node.run('ping', peer))
            match = row.match(child.stdout.readline().decode())
            if match and match.group(1) not in ('0', '0.0'):
                break
        else:
            self.fail('no rate was ever shown')
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(cli.PATIENCE), 0)

    def test_every_width(self):
        node = self.node()
        self.assert_done(node.run('ping', self.peer()))
        for width in (20, 21, 30, 40, 79, 80, 120, 500):
            text = node.run('top', '--once', '--delay', '0.1', '--width',
                            str(width)).stdout.decode()
            for line in text.splitlines():
                self.assertLessEqual(len(line), width)
        wide = node.run('top', '--once', '--delay', '0.1').stdout.decode()
        self.assertIn('LOW', wide)

    def test_what_is_not_accepted(self):
        for args in (('x',), ('--width', '19'), ('--count', '0'),
                     ('--delay', '0'), ('--json',)):
            self.assert_refused(cli.run('top', *args), 2)
        self.assert_refused(cli.run('top', '--once', '--ctl',
                                    self.path('none')), 1)
        node = self.node()
        self.assert_refused(node.run('top'), 1, 'no terminal', '--once')

    def screen(self, node, rows, columns):
        """The command at a terminal of this size."""
        pid, fd = pty.fork()
        if pid == 0:
            os.environ['TERM'] = 'xterm'
            os.execv(cli.COLIBRI, [cli.COLIBRI, 'top', '--delay', '0.1',
                                   '--ctl', node.ctl])
        self.resize(fd, rows, columns)
        self.addCleanup(os.close, fd)
        return pid, fd

    def resize(self, fd, rows, columns):
        fcntl.ioctl(fd, termios.TIOCSWINSZ,
                    struct.pack('HHHH', rows, columns, 0, 0))

    def until(self, fd, pattern):
        """Reads what is drawn until it has the pattern."""
        got = b''
        end = time.monotonic() + cli.PATIENCE
        while not re.search(pattern, got):
            self.assertLess(time.monotonic(), end, got[-2000:])
            if select.select([fd], [], [], 1)[0]:
                got += os.read(fd, 65536)
        return got

    def end(self, pid, fd, code):
        """Reads to the end, so that nothing waits for the terminal."""
        try:
            while os.read(fd, 65536):
                pass
        except OSError:
            pass
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), code)

    def test_a_terminal(self):
        node = self.node()
        peer = self.peer()
        self.assert_done(node.run('ping', peer))
        pid, fd = self.screen(node, 24, 80)
        self.until(fd, peer.encode())
        for rows, columns in ((5, 20), (1, 1), (2, 200), (24, 80)):
            self.resize(fd, rows, columns)
            os.kill(pid, signal.SIGWINCH)
            os.write(fd, b'ssjjkk\x1b[A\x1b[B')
            time.sleep(0.3)
        self.resize(fd, 24, 80)
        os.kill(pid, signal.SIGWINCH)
        os.write(fd, b'q')
        self.end(pid, fd, 0)

    def test_a_small_terminal_has_the_names(self):
        node = self.node()
        pid, fd = self.screen(node, 10, 20)
        self.until(fd, lnet.address(1)[:8].encode())
        os.kill(pid, signal.SIGTERM)
        self.end(pid, fd, 0)

    def test_more_peers_than_are_shown(self):
        node = Fake(self, metrics_text(20000))
        began = time.monotonic()
        result = node.run('top', '--once', '--delay', '0.1')
        print(f'20000 peers twice: {time.monotonic() - began:.2f} s')
        self.assertEqual(result.stdout.decode().splitlines()[-1],
                         '4096 of 20000 peers')

    def test_attachments_of_one_process_are_not_added_up(self):
        process = 'colibri_process_memory_bytes{pid="7",uid="0",attachment='
        node = Fake(self, f'{metrics_text(1)}{process}"1"}} 5\n'
                          f'{process}"2"}} 6\n')
        text = node.run('top', '--once', '--delay', '0.1').stdout.decode()
        self.assertRegex(text, r'(?m)^7 0 1 .* 5 +0$')
        self.assertRegex(text, r'(?m)^7 0 2 .* 6 +0$')

    def test_it_says_why_there_is_no_state(self):
        node = Fake(self, errors='colibri: no memory for it\n', code=1)
        self.assert_refused(node.run('top', '--once'), 1, 'no memory for it')

    def test_input_that_is_no_terminal(self):
        node = Fake(self, metrics_text(1))
        leader, follower = pty.openpty()
        self.addCleanup(os.close, leader)
        self.addCleanup(os.close, follower)
        done = subprocess.run(
            [cli.COLIBRI, 'top', '--ctl', node.ctl], stdout=follower,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=20,
            env={**os.environ, 'TERM': 'xterm'}, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'no terminal', done.stderr)

    def test_a_signal_ends_it_while_the_node_hangs(self):
        """The command gives the terminal back; it does not wait for the node."""
        node = Fake(self, metrics_text(1), answers=1)
        pid, fd = self.screen(node, 24, 80)
        self.assertTrue(node.asked.wait(cli.PATIENCE))
        began = time.monotonic()
        os.kill(pid, signal.SIGINT)
        got = self.until(fd, b'1049l')
        self.assertLess(time.monotonic() - began, 20, got)
        self.end(pid, fd, 0)

    def test_it_outlives_the_node(self):
        ctl = self.path('ctl')
        node = self.node(ctl=ctl)
        pid, fd = self.screen(node, 24, 80)
        self.until(fd, lnet.address(1).encode())
        node.stop()
        self.until(fd, b'no answer')
        os.write(fd, b'q')
        self.end(pid, fd, 0)


if __name__ == '__main__':
    cli.main()
