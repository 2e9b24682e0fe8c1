# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri capture`: what it writes is pcapng with the messages that passed, it ends when it
should, and a slow reader, a hostile user or the end of the node do no harm."""
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import struct
import subprocess
import time

import cli
import lnet

DISSECTOR = pathlib.Path(__file__).resolve().parents[2] / 'contrib/wireshark/lnet.lua'
TYPES = ('ACK', 'PUT', 'GET', 'REPLY')
SECTION, INTERFACE, STATISTICS, PACKET = 0x0a0d0d0a, 1, 5, 6


def pad(nr):
    return nr + -nr % 4


def options(body):
    """{code: value}; what is after the last option is an error."""
    found = {}
    while body:
        code, size = struct.unpack('<HH', body[:4])
        if code == 0:
            assert size == 0 and len(body) == 4, body
            return found
        assert code not in found and len(body) >= 4 + pad(size)
        found[code] = body[4:4 + size]
        body = body[4 + pad(size):]
    raise AssertionError('options have no end')


def nid(data):
    size, kind, number = struct.unpack('>BBH', data[:4])
    assert size == 0
    if kind == 9:
        return '%d@lo' % struct.unpack('>I', data[4:8])
    return '.'.join(str(byte) for byte in data[4:8]) + '@tcp' + (str(number) if number else '')


def message(data, length):
    """A packet: tags, what the dissector takes first, the header of a message."""
    tag, size = struct.unpack('>HH', data[:4])
    assert tag == 12 and data[4:4 + size].rstrip(b'\0') == b'm0capture', data[:20]
    assert data[4 + size:8 + size] == bytes(4)
    front = data[8 + size:]
    version, flags, at = struct.unpack('<BBH', front[:4])
    assert version == 1 and at >= 44 and at % 4 == 0
    head = front[at:]
    large = flags & 2 != 0
    pids = 40 if large else 16
    kind, payload = struct.unpack('<II', head[pids + 8:pids + 16])
    assert length == 8 + size + at + pids + 56 + payload
    portal = None
    if TYPES[kind] == 'PUT':
        portal = struct.unpack('<I', head[pids + 48:pids + 52])[0]
    elif TYPES[kind] == 'GET':
        portal = struct.unpack('<I', head[pids + 40:pids + 44])[0]
    return {'out': flags & 1 != 0, 'dropped': front[44:at].rstrip(b'\0').decode(),
            'local': nid(front[4:24]), 'hop': nid(front[24:44]), 'type': TYPES[kind],
            'payload': payload, 'taken': head[pids + 56:], 'portal': portal}


class Capture:
    """A file, read by its format alone."""

    def __init__(self, data):
        self.names, self.messages, self.counts = [], [], {}
        self.lost = 0
        at, before = 0, 0
        while at < len(data):
            kind, size = struct.unpack('<II', data[at:at + 8])
            assert size % 4 == 0 and at + size <= len(data), (at, size, len(data))
            assert struct.unpack('<I', data[at + size - 4:at + size])[0] == size
            body = data[at + 8:at + size - 4]
            assert (kind == SECTION) == (at == 0)
            if kind == SECTION:
                assert struct.unpack('<IHHq', body[:16]) == (0x1a2b3c4d, 1, 0, -1)
                self.application = options(body[16:])[4].decode()
            elif kind == INTERFACE:
                link, _, self.snap = struct.unpack('<HHI', body[:8])
                opts = options(body[8:])
                assert link == 252 and opts[9] == b'\x09'
                self.names.append(opts[2].decode())
            elif kind == PACKET:
                ni, high, low, taken, length = struct.unpack('<IIIII', body[:20])
                assert taken <= min(length, self.snap)
                opts = options(body[20 + pad(taken):])
                found = message(body[20:20 + taken], length)
                found['time'] = high << 32 | low
                assert found['time'] >= before
                before = found['time']
                assert found['local'] == self.names[ni]
                assert opts[2] == struct.pack('<I', 2 if found['out'] else 1)
                self.lost += struct.unpack('<Q', opts.get(4, bytes(8)))[0]
                self.messages.append(found)
            else:
                assert kind == STATISTICS
                ni = struct.unpack('<I', body[:4])[0]
                opts = options(body[12:])
                self.counts[ni] = struct.unpack('<Q', opts[4])[0]
                self.lost_all = self.__dict__.get('lost_all', 0) + \
                    struct.unpack('<Q', opts[7])[0]
            at += size

    def kinds(self):
        return [('out ' if m['out'] else 'in ') + m['type'] for m in self.messages]


def parse_near(text):
    """Metrics of the interface of network tcp, by what follows colibri_ni_."""
    return {name: float(value) for name, value in re.findall(
        r'(?m)^colibri_ni_(\w+)\{nid="[^"]*@tcp",[^}]*\} (\S+)$', text)}


class Captures(cli.Case):
    def setUp(self):
        super().setUp()
        self.port = lnet.free_port()

    def node(self, i, *options_):
        return lnet.Node(self, '--net', f'tcp({lnet.address(i)})', '--accept', 'all',
                         '--port', str(self.port), *options_)

    def begin(self, node, *args, **kwargs):
        """A capture that has begun: the file has its interfaces."""
        path = self.path('record.pcapng')
        if os.path.exists(path):
            os.unlink(path)
        child = subprocess.Popen([cli.COLIBRI, 'capture', '--ctl', node.ctl, '-w', path,
                                  '--json', *args], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, **kwargs)
        self.addCleanup(self.reap, child)
        deadline = time.monotonic() + cli.PATIENCE
        while not os.path.exists(path) or os.path.getsize(path) < 100:
            if child.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(child.communicate()[1])
            time.sleep(0.01)
        return child, path

    def reap(self, child):
        if child.poll() is None:
            child.kill()
        child.communicate()

    def end(self, begun, number=signal.SIGINT):
        """Returns the file, and the summary."""
        child, path = begun
        if number:
            child.send_signal(number)
        out, err = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 0, err)
        self.assertEqual(err, b'')
        found = Capture(self.read(path))
        summary = json.loads(out)
        self.assertEqual(summary['messages'], len(found.messages))
        self.assertEqual(summary['bytes'], os.path.getsize(path))
        self.assertEqual(summary['lost'], found.lost_all)
        return found, summary

    def test_messages_are_those_that_passed(self):
        one, two = self.node(1), self.node(2)
        a, b = f'{lnet.address(1)}@tcp', f'{lnet.address(2)}@tcp'
        begun = self.begin(one)
        self.assert_done(one.run('ping', b))
        self.assert_done(two.run('ping', a))
        found, summary = self.end(begun)
        self.assertEqual(summary['end'], 'signal')
        self.assertEqual(found.kinds(), ['out GET', 'in REPLY', 'in GET', 'out REPLY'])
        self.assertIn(a, found.names)
        self.assertIn(f'process {one.pid}', found.application)
        self.assertEqual({m['hop'] for m in found.messages}, {b})
        self.assertEqual(found.messages[0]['portal'], 0)
        for msg in found.messages[1::2]:
            self.assertEqual(len(msg['taken']), msg['payload'])
            self.assertEqual(msg['taken'][:4], b'gnip')
        self.assertLess(abs(found.messages[0]['time'] / 1e9 - time.time()), cli.PATIENCE)
        self.assertEqual(found.counts[found.names.index(a)], 4)
        mode = os.stat(begun[1]).st_mode & 0o777
        self.assertEqual(mode, 0o600)
        if not shutil.which('tshark'):
            return
        home = self.path('home')
        done = subprocess.run(
            ['tshark', '-n', '-X', f'lua_script:{DISSECTOR}', '-r', begun[1], '-T', 'fields',
             '-e', 'm0capture.direction', '-e', 'm0lnet.type', '-e', 'm0lnet.source',
             '-e', 'frame.interface_name', '-e', 'm0lnet.ping.nid'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True,
            env={**os.environ, 'HOME': home, 'XDG_CONFIG_HOME': home})
        self.assertEqual(
            [line.split('\t') for line in done.stdout.decode().splitlines()],
            [['out', 'GET', a, a, ''], ['in', 'REPLY', b, a, b],
             ['in', 'GET', b, a, ''], ['out', 'REPLY', a, a, a]])

    def test_messages_over_shared_memory(self):
        one, two = (self.node(i, '--same-host', 'on') for i in (1, 2))
        begun = self.begin(two)
        self.assert_done(one.run('ping', f'{lnet.address(2)}@tcp'))
        found, _ = self.end(begun)
        self.assertEqual(found.kinds(), ['in GET', 'out REPLY'])
        reply = found.messages[1]
        self.assertGreater(reply['payload'], 0)
        self.assertEqual(len(reply['taken']), reply['payload'])
        # The header of an answer to a ping, in the order of this machine.
        self.assertEqual(reply['taken'][:4], struct.pack('<I', 0x70696E67))
        # All of it passed there, nothing by TCP.
        near = parse_near(two.run('metrics').stdout.decode())
        self.assertGreater(near['near_connections'], 0)
        self.assertEqual(near['near_connections'], near['connections'])

    def test_filters(self):
        one, two = self.node(1), self.node(2)
        b = f'{lnet.address(2)}@tcp'
        for args, want in (
                (('--direction', 'out'), ['out GET', 'out REPLY']),
                (('--message', 'GET'), ['out GET', 'in GET']),
                (('--portal', '0', '-D', 'in'), ['in GET']),
                (('--portal', '40'), []),
                ((b, '--source', b), ['in REPLY', 'in GET']),
                (('--dest', '*@tcp1'), []),
                (('10.9.8.7@tcp',), []),
                (('--local-nid', f'{lnet.address(1)}@tcp', '--snap', '8'),
                 ['out GET', 'in REPLY', 'in GET', 'out REPLY'])):
            begun = self.begin(one, *args)
            self.assert_done(one.run('ping', b))
            self.assert_done(two.run('ping', f'{lnet.address(1)}@tcp'))
            found, _ = self.end(begun)
            self.assertEqual(found.kinds(), want, args)
            if '--snap' in args:
                self.assertEqual({len(m['taken']) for m in found.messages}, {0, 8})

    def test_limits(self):
        one, two = self.node(1), self.node(2)
        b = f'{lnet.address(2)}@tcp'
        begun = self.begin(one, '--packets', '3')
        for _ in range(3):
            self.assert_done(one.run('ping', b))
        found, summary = self.end(begun, 0)
        self.assertEqual((len(found.messages), summary['end']), (3, 'packets'))
        begun = self.begin(two, '--bytes', '2K')
        while begun[0].poll() is None:
            self.assert_done(one.run('ping', b))
        found, summary = self.end(begun, 0)
        self.assertEqual(summary['end'], 'bytes')
        self.assertGreater(len(found.messages), 2)
        found, summary = self.end(self.begin(one, '--seconds', '0.2'), 0)
        self.assertEqual((found.messages, summary['end']), ([], 'seconds'))

    def busy(self, size):
        """Two nodes, and messages from one to the other without a pause."""
        nodes = [self.node(i, '--selftest', '--source-ports', 'any') for i in (1, 2)]
        env = {**os.environ, 'RUNTIME_DIRECTORY': self.dir, 'LST_SESSION': 'busy'}
        a, b = (f'{lnet.address(i)}@tcp' for i in (1, 2))
        for args in (('new_session', 'busy', '--net', f'tcp({lnet.address(3)})', '--port',
                      str(self.port), '--accept', 'all', '--source-ports', 'any'),
                     ('add_group', 'a', a), ('add_group', 'b', b), ('add_batch', 'all'),
                     ('add_test', '--batch', 'all', '--concurrency', '8', '--from', 'a', '--to',
                      'b', 'brw', 'write', f'size={size}'), ('run', 'all')):
            self.assert_done(cli.run('lst', *args, env=env))
        self.addCleanup(cli.run, 'lst', 'end_session', env=env)
        return nodes

    def test_each_end_while_messages_come_without_a_pause(self):
        one, _ = self.busy('4K')
        for args, number, why in ((('--packets', '300'), 0, 'packets'),
                                  (('--bytes', '2M'), 0, 'bytes'),
                                  (('--seconds', '0.3'), 0, 'seconds'),
                                  ((), signal.SIGINT, 'signal')):
            begun = self.begin(one, *args)
            if number:
                time.sleep(0.2)
            began = time.monotonic()
            found, summary = self.end(begun, number)
            self.assertLess(time.monotonic() - began, 15)
            self.assertEqual(summary['end'], why)
            self.assertGreater(len(found.messages), 100)
            if why == 'packets':
                self.assertEqual(len(found.messages), 300)

    def test_dropped_messages_have_the_reason(self):
        one, two = self.node(1), self.node(2)
        self.assert_done(two.run('fault', 'drop', 'add', '--all'))
        begun = self.begin(two)
        one.run('ping', '--timeout', '0.3', f'{lnet.address(2)}@tcp')
        found, _ = self.end(begun)
        self.assertEqual(found.kinds()[0], 'in GET')
        self.assertEqual(found.messages[0]['dropped'], 'fault rule')

    def test_standard_output_and_a_reader_that_goes(self):
        one, two = self.node(1), self.node(2)
        b = f'{lnet.address(2)}@tcp'
        child = subprocess.Popen([cli.COLIBRI, 'capture', '--ctl', one.ctl],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.reap, child)
        head = child.stdout.read(100)
        self.assertEqual(head[:4], b'\x0a\x0d\x0d\x0a')
        child.stdout.close()
        child.stdout = None
        deadline = time.monotonic() + cli.PATIENCE
        while child.poll() is None and time.monotonic() < deadline:
            self.assert_done(one.run('ping', b))
        err = child.stderr.read()
        self.assertEqual(child.returncode, 0, err)
        self.assertIn(b'messages', err)
        del two

    def stuck(self):
        """A node, and a capture of it that has stopped, with all that it could hold full."""
        one, two = self.busy('64K')
        begun = self.begin(one, '--snap', '1M')
        begun[0].send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, begun[0].pid, os.WSTOPPED)
        size = os.path.getsize(begun[1])

        def moved():
            stats = one.json('stats', 'show')['statistics']
            return stats['send_length'] + stats['recv_length']
        before = moved()
        deadline = time.monotonic() + cli.PATIENCE
        # 8 MiB in the queue, a batch and the socket; the rest is lost.
        while moved() - before < 24 << 20:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        self.assertEqual(os.path.getsize(begun[1]), size)
        return one, two, begun

    def test_a_slow_reader_costs_the_node_nothing(self):
        # The client stops: the node goes on, and what it loses is counted.
        begun = self.stuck()[2]
        begun[0].send_signal(signal.SIGCONT)
        # Beyond the queue: a packet after the gap says how large it is.
        deadline = time.monotonic() + cli.PATIENCE
        while os.path.getsize(begun[1]) < 12 << 20:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        found, summary = self.end(begun)
        self.assertGreater(summary['lost'], 20)
        self.assertGreater(found.lost, 20)
        self.assertLessEqual(found.lost, found.lost_all)
        self.assertGreater(sum(len(m['taken']) for m in found.messages), 7 << 20)

    def test_a_reader_that_is_killed(self):
        one, _, begun = self.stuck()
        begun[0].kill()
        begun[0].communicate()
        # Its place is free: four others begin.
        deadline = time.monotonic() + cli.PATIENCE
        for _ in range(4):
            while True:
                child = subprocess.Popen([cli.COLIBRI, 'capture', '--ctl', one.ctl, '--snap', '0'],
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                self.addCleanup(self.reap, child)
                if child.stdout.read(4):
                    break
                self.assertLess(time.monotonic(), deadline)
        self.assertEqual(one.run('ping', f'{lnet.address(2)}@tcp').returncode, 0)

    def test_node_stops_while_a_reader_is_stuck(self):
        one, _, begun = self.stuck()
        began = time.monotonic()
        code, _ = one.stop()
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(code, 0)
        begun[0].send_signal(signal.SIGCONT)
        _, err = begun[0].communicate(timeout=cli.PATIENCE)
        self.assertEqual(begun[0].returncode, 1)
        self.assertIn(b'the node has ended the capture', err)

    def test_refusals(self):
        one = self.node(1)
        for args, words in ((('--snap', '2M'), ('--snap',)), (('--packets', '0'), ('--packets',)),
                            (('--direction', 'up'), ('in, out or both',)),
                            (('--portal', '64'), ('0 to 63',)), (('nobody',), ('NID',)),
                            (('--message', 'HELLO'), ('PUT, GET, ACK, REPLY',))):
            self.assert_refused(one.run('capture', *args), 2, *words)
        self.assert_refused(cli.run('capture', '--ctl', self.path('none')), 1, 'no node answers')
        self.assert_refused(one.run('capture', '-w', self.path('no', 'dir')), 1, 'No such file')
        # Not more than four at a time; and all of them end with the node.
        begun = []
        for _ in range(4):
            begun.append(self.begin(one)[0])
        old = self.make('old', b'old')
        self.assert_refused(one.run('capture', '-w', old), 1, '4 captures run already')
        self.assertEqual(self.read(old), b'old')
        begun[0].send_signal(signal.SIGTERM)
        begun[0].communicate(timeout=cli.PATIENCE)
        deadline = time.monotonic() + cli.PATIENCE
        while one.run('capture', '--seconds', '0.01').returncode != 0:
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual(one.stop()[0], 0)

    def test_a_node_that_stops_says_so(self):
        """A router stops for 2 s: that is why nobody may begin a capture."""
        one = lnet.Node(self, '--net', f'tcp({lnet.address(1)})', '--net',
                        f'tcp1({lnet.address(2)})', '--accept', 'all', '--port', str(self.port),
                        '--routing')
        one.child.send_signal(signal.SIGTERM)
        one.wait_for('draining')
        self.assert_refused(one.run('capture', '-w', self.path('late')), 1,
                            'the node is stopping')

    def test_others_may_not(self):
        if os.geteuid() != 0:
            self.skipTest('needs root')
        one = self.node(1, '--ctl-mode', '666')
        os.chmod(self.dir, 0o755)
        user = pwd.getpwnam('nobody').pw_uid
        shutil.copy(cli.COLIBRI, self.path('colibri'))
        done = subprocess.run([self.path('colibri'), 'capture', '--ctl', one.ctl], user=user,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assert_refused(done, 1, 'changes the node')


if __name__ == '__main__':
    cli.main()
