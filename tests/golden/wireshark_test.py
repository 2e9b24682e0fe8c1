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
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
DISSECTOR = HERE.parent.parent / 'contrib/wireshark/lnet.lua'
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
        if name in ('ksocklnd', 'm0lnet', 'm0rpc'):
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

    def test_filters(self):
        done = tshark(HERE / '03-selftest.pcap', '-Y', 'm0lnet.portal == 50', '-T', 'fields',
                      '-e', 'm0lnet.type')
        self.assertEqual(set(re.split(r'[\n,]', done.stdout.decode().strip())), {'PUT'})

    def test_garbage_is_no_error_of_the_dissector(self):
        rand = random.Random(1)
        for path in ('02-discovery.pcap', '06-ipv6.pcap', '11-proto-v1-v2-csum.pcap'):
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
            names, packets = set(), 0
            parents = list(layers(path, '-c', '400'))
        for index, (name, fields) in enumerate(parents):
            if name != 'm0rpc' or 'items' not in fields:
                continue
            packets += 1
            self.assertEqual(len(fields['opcode']), number(fields, 'items'))
            names.update(int(opcode, 0) for opcode in fields['opcode'])
            payload = next(f['payload'][0] for n, f in parents[index::-1] if n == 'm0lnet')
            data = bytes.fromhex(payload.replace(':', ''))
            if packets < 50:
                self.assertEqual(number(fields, 'bytes'), len(data))
                self.assertEqual(number(fields, 'sum'), crc32c(data[8:]))
        self.assertGreater(packets, 10)
        self.assertTrue({1, 2, 5, 6} <= names, names)
        self.assertTrue(any(opcode >= 64 for opcode in names), names)


if __name__ == '__main__':
    unittest.main()
