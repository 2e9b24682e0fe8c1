# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The dissector for Wireshark, contrib/wireshark/lnet.lua, beside the decoder of recordings:
each field of each message is the same. Packets of RPC are of a run in the simulator.

    wireshark_test.py [PROGRAM]      a program with RPC in the simulator, whose record is read
"""
import collections
import glob
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
DISSECTOR = HERE.parent.parent / 'contrib/wireshark/lnet.lua'
O2IB_RECORDS = sorted((HERE / 'o2ib').glob('*.pcap'))
RECORDS = sorted(glob.glob(str(HERE / '*.pcap')))
PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 and os.path.exists(sys.argv[1]) else None
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import lnetdump  # noqa: E402


def tshark(path, *args):
    # A place of its own: no plugin of the user's is loaded.
    with tempfile.TemporaryDirectory() as home:
        return subprocess.run(
            ['tshark', '-n', '-X', f'lua_script:{DISSECTOR}', '-r', str(path), *args],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300, check=False,
            env={**os.environ, 'HOME': home, 'XDG_CONFIG_HOME': home})


def layers(path, *args):
    """(protocol, {field: [value...]}) of each of ours, in order."""
    done = tshark(path, '-T', 'pdml', *args)
    assert done.returncode == 0, done.stderr
    for proto in xml.etree.ElementTree.fromstring(done.stdout).iter('proto'):
        name = proto.get('name')
        if name in ('ksocklnd', 'o2iblnd', 'm0lnet', 'm0rpc'):
            fields = collections.defaultdict(list)
            for field in proto.iter('field'):
                if field.get('name').startswith(name + '.'):
                    fields[field.get('name')[len(name) + 1:]].append(field.get('show'))
            yield name, fields


def number(fields, name):
    return int(fields[name][0], 0)


def frame_text(fields):
    text = ''
    if number(fields, 'csum'):
        text += ' csum=%08x' % number(fields, 'csum')
    for ours, theirs in (('zc_request', 'zcask'), ('zc_ack', 'zcack')):
        if number(fields, ours):
            text += f' {theirs}={number(fields, ours)}'
    return text


def body_text(f):
    kind = f['type'][0]
    if kind == 'ACK':
        return 'mb=%x mlength=%d' % (number(f, 'match_bits'), number(f, 'mlength'))
    if kind == 'PUT':
        return 'mb=%x data=%x portal=%d offset=%d %s' % (
            number(f, 'match_bits'), number(f, 'hdr_data'), number(f, 'portal'),
            number(f, 'offset'),
            'ack' if f['ack_wanted'][0] in ('1', 'True') else 'noack')
    if kind == 'GET':
        return 'mb=%x portal=%d offset=%d sink=%d' % (
            number(f, 'match_bits'), number(f, 'portal'), number(f, 'offset'),
            number(f, 'sink_length'))
    return ''


def message_text(f, frame):
    text = (f'{f["type"][0]} {f["source"][0]} -> {f["dest"][0]} {body_text(f)}'
            f' payload={number(f, "payload_length")}{frame}')
    if 'ping.features' in f:
        text += (f' [ping {f["ping.features"][0]} pid={number(f, "ping.pid")} '
                 f'seq={number(f, "ping.sequence")} {" ".join(f["ping.nid"])}]')
    return text


def hello_text(f):
    version = number(f, 'hello')
    source, pid, ctype = f['source'][0], number(f, 'source_pid'), f['ctype'][0]
    if version == 1:
        return f'HELLO v1 {source} pid={pid} {ctype}'
    return (f'HELLO v{version} {source} -> {f["dest"][0]} pid={pid} '
            f'incarnation={number(f, "incarnation"):x} {ctype} ips={number(f, "ips")}')


def lines(path):
    """What lnetdump prints of messages, made of the dissector's fields."""
    frame = ''
    for name, fields in layers(path):
        if name == 'ksocklnd':
            if 'request' in fields:
                yield f'request v{number(fields, "request")} {fields["target"][0]}'
            elif 'hello' in fields:
                yield hello_text(fields)
            else:
                frame = frame_text(fields)
                if number(fields, 'type') == 0xc0:
                    yield 'NOOP' + frame
        elif name == 'm0lnet':
            yield message_text(fields, frame)
            frame = ''


def nid4(number):
    address, net = number & 0xffffffff, number >> 32
    assert net == 5 << 16, hex(number)
    return '.'.join(str(address >> shift & 255) for shift in (24, 16, 8, 0)) + '@o2ib'


def roce_lines(path):
    """The messages of o2iblnd in a recording of RoCE, decoded by their layout."""
    data, at = path.read_bytes(), 24
    while at < len(data):
        nr = struct.unpack('<I', data[at + 8:at + 12])[0]
        frame, at = data[at + 16:at + 16 + nr], at + 16 + nr
        if frame[12:14] != b'\x08\x00' or frame[36:38] != struct.pack('>H', 4791):
            continue
        # A request to connect is somewhere in a datagram of management.
        begin = frame.find(struct.pack('<I', 0x0be91b91))
        if begin < 0 or frame[42] not in (4, 0x64):
            continue
        msg = frame[begin:]
        _, version, kind, credits, nob, csum, src, stamp, dst, dst_stamp = struct.unpack(
            '<IHBBIIQQQQ', msg[:48])
        assert version == 0x12
        msg, body = msg[:nob], msg[48:nob]
        text = (f'{O2IB_TYPES[kind]} {nid4(src)}/{stamp:x} -> {nid4(dst)}/{dst_stamp:x} '
                f'credits={credits} bytes={nob} csum={csum}')
        if kind in (0xc0, 0xc1):
            text += ' depth=%d frags=%d max=%d' % struct.unpack('<HHI', body)
        elif kind in (0xd2, 0xd6):
            text += ' cookie=%x' % struct.unpack('<Q', body[72:80])
        elif kind in (0xd3, 0xd5, 0xd7):
            text += ' cookie=%x status=%d' % struct.unpack('<Qi', body)
        elif kind == 0xd4:
            text += ' cookie=%x sink=%x' % struct.unpack('<QQ', body[:16])
        if kind in (0xd4, 0xd6):
            desc = body[16:] if kind == 0xd4 else body[80:]
            key, count = struct.unpack('<II', desc[:8])
            text += f' key={key:x}'
            for i in range(count):
                text += ' %d@%x' % struct.unpack('<IQ', desc[8 + 12 * i:20 + 12 * i])
        yield text
        if kind in (0xd1, 0xd2, 0xd6):
            dst, src, _, _, what, size = struct.unpack('<QQIIII', body[:32])
            bits, portal = '', ''
            if what in (1, 2):
                bits = '%x' % struct.unpack('<Q', body[48:56])
                portal = struct.unpack('<I', body[64:68] if what == 1 else body[56:60])[0]
            yield (f'{("ACK", "PUT", "GET", "REPLY")[what]} {nid4(src)} -> {nid4(dst)} '
                   f'{size} {bits} {portal} {body[72:].hex() if kind == 0xd1 else ""}')


O2IB_TYPES = {0xc0: 'CONNREQ', 0xc1: 'CONNACK', 0xd0: 'NOOP', 0xd1: 'IMMEDIATE',
              0xd2: 'PUT_REQ', 0xd3: 'PUT_NAK', 0xd4: 'PUT_ACK', 0xd5: 'PUT_DONE',
              0xd6: 'GET_REQ', 0xd7: 'GET_DONE'}


def o2ib_lines(path):
    """The same, made of the dissector's fields."""
    for name, f in layers(path):
        if name == 'm0lnet':
            bits = '%x' % number(f, 'match_bits') if f['type'][0] in ('PUT', 'GET') else ''
            portal = number(f, 'portal') if 'portal' in f else ''
            payload = f['payload'][0].replace(':', '') if 'payload' in f else ''
            yield (f'{f["type"][0]} {f["source"][0]} -> {f["dest"][0]} '
                   f'{number(f, "payload_length")} {bits} {portal} {payload}')
        if name != 'o2iblnd':
            continue
        text = (f'{f["type"][0]} {f["source"][0]}/{number(f, "source_stamp"):x} -> '
                f'{f["dest"][0]}/{number(f, "dest_stamp"):x} credits={number(f, "credits")} '
                f'bytes={number(f, "bytes")} csum={number(f, "csum")}')
        for key, word, form in (('queue_depth', 'depth', 'd'), ('fragments_max', 'frags', 'd'),
                                ('bytes_max', 'max', 'd'), ('cookie', 'cookie', 'x'),
                                ('sink_cookie', 'sink', 'x'), ('status', 'status', 'd'),
                                ('key', 'key', 'x')):
            if key in f:
                text += f' {word}={number(f, key):{form}}'
        for size, address in zip(f['fragment.bytes'], f['fragment.address']):
            text += f' {int(size, 0)}@{int(address, 0):x}'
        yield text


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


@unittest.skipUnless(shutil.which('tshark'), 'no tshark: scripts/deps check')
class Dissector(unittest.TestCase):
    maxDiff = 2000

    def test_fields_are_those_of_the_decoder(self):
        seen = collections.Counter()
        for path in RECORDS:
            want = [line.split(None, 2)[2] for line in lnetdump.File(path).lines
                    if re.match(r'\S+ c\d+[<>] (request|HELLO|NOOP|ACK|PUT|GET|REPLY)',
                                line.strip())]
            got = list(lines(path))
            self.assertEqual(sorted(got), sorted(want), path)
            seen.update(line.split()[0] for line in got)
            seen.update(line[:8] for line in got if line.startswith('HELLO'))
        for name in ('request', 'HELLO v1', 'HELLO v2', 'HELLO v3', 'HELLO v4', 'NOOP',
                     'ACK', 'PUT', 'GET', 'REPLY'):
            self.assertGreater(seen[name], 0, name)

    def test_fields_of_o2ib_are_those_of_the_layout(self):
        seen = collections.Counter()
        for path in O2IB_RECORDS:
            got = list(o2ib_lines(path))
            self.assertEqual(got, list(roce_lines(path)), path)
            seen.update(line.split()[0] for line in got)
        # As tests/golden/o2ib_test.c counts them.
        self.assertEqual(seen['IMMEDIATE'], 8 + 14 + 14)
        for name in ('CONNREQ', 'CONNACK', 'PUT_REQ', 'PUT_ACK', 'PUT_DONE', 'GET_REQ',
                     'GET_DONE'):
            self.assertEqual(seen[name], 1, name)

    def test_filters(self):
        done = tshark(HERE / '03-selftest.pcap', '-Y', 'm0lnet.portal == 50', '-T', 'fields',
                      '-e', 'm0lnet.type')
        self.assertEqual(set(re.split(r'[\n,]', done.stdout.decode().strip())), {'PUT'})
        # Lustre's nodes have no transfer machines.
        done = tshark(HERE / '03-selftest.pcap', '-Y', 'm0lnet.machine')
        self.assertEqual((done.returncode, done.stdout), (0, b''), done.stderr)

    def test_garbage_is_no_error_of_the_dissector(self):
        rand = random.Random(1)
        for path in ('02-discovery.pcap', '06-ipv6.pcap', '11-proto-v1-v2-csum.pcap',
                     'o2ib/17-o2ib-rxe-read-4K.pcap'):
            data = bytearray((HERE / path).read_bytes())
            at = 24
            while at < len(data):
                nr = int.from_bytes(data[at + 8:at + 12], 'little')
                for _ in range(2):
                    place = rand.randrange(at + 16 + min(66, nr - 1), at + 16 + nr)
                    data[place] = rand.choice((0, 1, 0x7f, 0xff, rand.randrange(256)))
                at += 16 + nr
            with tempfile.NamedTemporaryFile(suffix='.pcap') as bad:
                bad.write(data)
                bad.flush()
                done = tshark(bad.name, '-V')
            self.assertEqual(done.returncode, 0)
            self.assertNotIn(b'Lua', done.stdout + done.stderr)

    def test_packets_of_rpc(self):
        if PROGRAM is None:
            self.skipTest('no program named')
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, 'run.pcap')
            subprocess.run([PROGRAM], check=True, timeout=300, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL,
                           env={**os.environ, 'M0_SEED': '1', 'M0_SEEDS_NR': '1',
                                'M0_SIM_PCAP': path})
            names, packets, machines = set(), 0, collections.defaultdict(set)
            parents = list(layers(path, '-c', '400'))
        for index, (name, fields) in enumerate(parents):
            if name != 'm0rpc' or 'items' not in fields:
                continue
            packets += 1
            self.assertEqual(len(fields['opcode']), number(fields, 'items'))
            names.update(int(opcode, 0) for opcode in fields['opcode'])
            parent = next(f for n, f in parents[index::-1] if n == 'm0lnet')
            payload = parent['payload'][0]
            machines[number(parent, 'sender_machine')].add(number(parent, 'machine'))
            self.assertEqual(number(parent, 'sender_portal'), number(parent, 'portal'))
            data = bytes.fromhex(payload.replace(':', ''))
            if packets < 50:
                self.assertEqual(number(fields, 'bytes'), len(data))
                self.assertEqual(number(fields, 'sum'), crc32c(data[8:]))
        self.assertGreater(packets, 10)
        # Each transfer machine that sent is one to which others sent.
        self.assertTrue(set(machines) <= set.union(*machines.values()), machines)
        self.assertTrue({1, 2, 5, 6} <= names, names)
        self.assertTrue(any(opcode >= 64 for opcode in names), names)


if __name__ == '__main__':
    unittest.main()
