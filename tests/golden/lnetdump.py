#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Prints recorded LNet traffic over TCP, a line for each message.

    tests/golden/lnetdump.py FILE.pcap...           messages, in order of time
    tests/golden/lnetdump.py --count FILE.pcap...   a row of numbers for each
                                                    file: tests/golden/counts
    tests/golden/lnetdump.py --check COUNTS FILE... are these its numbers?

A decoder of its own, which shares nothing with the library: tests compare what
the library found with what this program counts.
"""
import os
import socket
import struct
import sys

ACCEPTOR, HELLO, HELLO_V1 = 0xacce7100, 0x45726963, 0xeebc0ded
NOOP, LNET = 0xc0, 0xc1
PING = 0x70696e67
NETS = {2: 'tcp', 5: 'o2ib', 9: 'lo', 13: 'gni', 14: 'gip', 15: 'ptlf',
        16: 'kfi', 18: 'efa', 19: 'bxi3f'}
CTYPES = {0: 'ANY', 1: 'CONTROL', 2: 'BULK_IN', 3: 'BULK_OUT',
          0xffffffff: 'NONE'}
TYPES = ['ACK', 'PUT', 'GET', 'REPLY']
FEATURES = ['BASE', 'NI_STATUS', 'RTE_DISABLED', 'MULTI_RAIL', 'DISCOVERY',
            'LARGE_ADDR', 'PRIMARY_LARGE', 'METADATA']
SYN, FIN, RST, ACK = 2, 1, 4, 16

# The columns of --count, after the name.
COLUMNS = ['streams', 'request1', 'request2', 'hello1', 'hello2', 'hello3',
           'hello4', 'noop', 'keepalive', 'ack', 'put', 'get', 'reply', 'ping',
           'zcask', 'zcack', 'csum', 'payload']


# ---- packets -----------------------------------------------------------------

def tcp_packets(path):
    """(time, source, destination, sequence number, flags, bytes) of each."""
    with open(path, 'rb') as f:
        data = f.read()
    magic, link = struct.unpack('<I16xI', data[:24])
    if magic != 0xa1b2c3d4 or link != 1:
        sys.exit(f'{path}: not a file of Ethernet packets')
    at = 24
    while at < len(data):
        sec, usec, nr, _ = struct.unpack('<IIII', data[at:at + 16])
        packet = data[at + 16:at + 16 + nr]
        at += 16 + nr
        ether = struct.unpack('!H', packet[12:14])[0]
        if ether == 0x800 and packet[23] == 6:
            family, addrs, step = socket.AF_INET, 26, 4
            tcp = 14 + (packet[14] & 15) * 4
            end = 14 + struct.unpack('!H', packet[16:18])[0]
        elif ether == 0x86dd and packet[20] == 6:
            family, addrs, step = socket.AF_INET6, 22, 16
            tcp = 54
            end = 54 + struct.unpack('!H', packet[18:20])[0]
        else:
            continue
        source, dest = (socket.inet_ntop(family, packet[i:i + step])
                        for i in (addrs, addrs + step))
        sport, dport, seq, _, head, flags = struct.unpack(
            '!HHIIBB', packet[tcp:tcp + 14])
        yield (sec + usec / 1e6, (source, sport), (dest, dport), seq, flags,
               packet[tcp + (head >> 4) * 4:end])


class Way:
    """One direction of a connection."""

    def __init__(self, seq=None):
        self.seq = seq
        self.early = {}
        self.bytes = b''
        self.version = None
        self.requested = False

    def take(self, seq, data):
        """Adds what is in order now; keeps what is early."""
        if self.seq is None:
            self.seq = seq
        self.early[seq] = data
        found = True
        while found:
            found = False
            for begin, part in sorted(self.early.items()):
                behind = (self.seq - begin) & 0xffffffff
                if behind < 1 << 31:
                    self.bytes += part[behind:]
                    self.seq = (self.seq + len(part[behind:])) & 0xffffffff
                    del self.early[begin]
                    found = True
                    break


# ---- messages ------------------------------------------------------------------

def net(kind, number):
    name = NETS.get(kind)
    if name is None:
        return f'<{kind}:{number}>'
    return name + (str(number) if number else '')


def nid_large(data):
    """Text of the 20 bytes of a NID."""
    size, kind, number = struct.unpack('!BBH', data[:4])
    if kind == 0xff:
        return '<?>'
    if size == 12:
        addr = socket.inet_ntop(socket.AF_INET6, data[4:20])
    elif kind == 9:
        addr = str(struct.unpack('!I', data[4:8])[0])
    else:
        addr = socket.inet_ntoa(data[4:8])
    return f'{addr}@{net(kind, number)}'


def nid4(value):
    """Text of a 64-bit NID."""
    if value == 0xffffffffffffffff:
        return '<?>'
    return nid_large(b'\0' + struct.pack('!Q', value)[1:] + bytes(12))


def ping_text(data):
    """Text of ping information, what there is of it."""
    features, pid, nr = struct.unpack('<III', data[4:16])
    names = '|'.join(n for i, n in enumerate(FEATURES) if features >> i & 1)
    nids, at, end = [], 16, len(data)
    for i in range(nr):
        if at + 16 > end:
            break
        nid, status, size = struct.unpack('<QII', data[at:at + 16])
        if i == 0:
            sequence, whole = status, size
        else:
            nids.append(nid4(nid))
        at += 16
    if features & 0x20:
        while at + 12 <= min(whole & ~3, end):
            size = data[at + 4] + 8
            nids.append(nid_large(data[at + 4:at + 4 + size] + bytes(20)))
            at += 4 + (size + 3 & ~3)
    return f'ping {names} pid={pid} seq={sequence} {" ".join(nids)}'


def hello_text(data, version):
    if version == 1:
        source, source_pid, ctype = struct.unpack('<8xQ4xI16xI28x', data)
        return f'HELLO v1 {nid4(source)} pid={source_pid} {CTYPES[ctype]}'
    if version == 4:
        source, dest = nid_large(data[8:28]), nid_large(data[28:48])
        rest = data[48:]
    else:
        source, dest = (nid4(n) for n in struct.unpack('<QQ', data[8:24]))
        rest = data[24:]
    pid, _, incarnation, _, ctype, ips = struct.unpack('<IIQQII', rest)
    return (f'HELLO v{version} {source} -> {dest} pid={pid} '
            f'incarnation={incarnation:x} {CTYPES.get(ctype, ctype)} ips={ips}')


def body_text(kind, data):
    """Text of the 40 bytes that depend on the type."""
    if kind == 0:
        return 'mb=%x mlength=%d' % struct.unpack('<QI', data[16:28])
    if kind == 1:
        ack = 'noack' if data[:16] == b'\xff' * 16 else 'ack'
        return 'mb=%x data=%x portal=%d offset=%d ' % struct.unpack(
            '<QQII', data[16:40]) + ack
    if kind == 2:
        return 'mb=%x portal=%d offset=%d sink=%d' % struct.unpack(
            '<QIII', data[16:36])
    return ''


class File:
    """What one file has: lines of text, and numbers."""

    def __init__(self, path):
        self.count = dict.fromkeys(COLUMNS, 0)
        self.lines = []
        self.begin = None
        self.latest = {}        # (source, destination) -> number, way
        for packet in tcp_packets(path):
            self.packet(*packet)

    def note(self, time, name, text):
        self.lines.append(f'{time - self.begin:9.6f} {name} {text}')

    def packet(self, time, source, dest, seq, flags, data):
        self.begin = self.begin or time
        if flags & (SYN | ACK) == SYN:
            _, way = self.latest.get((source, dest), (None, None))
            if way is None or way.seq != seq + 1:
                self.count['streams'] += 1
                name = f'c{self.count["streams"]}'
                self.latest[source, dest] = name + '>', Way(seq + 1)
                self.latest[dest, source] = name + '<', Way()
                self.note(time, name, '%s:%d connects to %s:%d'
                          % (source + dest))
            return
        name, way = self.latest[source, dest]
        if flags & SYN:
            way.seq = seq + 1
            return
        if data:
            way.take(seq, data)
            while self.message(time, name, way):
                pass
        for flag, text in ((FIN, 'FIN'), (RST, 'RESET')):
            if flags & flag:
                self.note(time, name, text)

    def message(self, time, name, way):
        """Takes the first message off the bytes of `way`; False: not there."""
        for take in (self.request, self.hello, self.frame):
            nr = take(time, name, way)
            if nr is not None:
                way.bytes = way.bytes[nr:]
                return nr > 0
        return False

    def request(self, time, name, way):
        if way.requested or name[-1] == '<':
            return None
        if len(way.bytes) < 8:
            return 0
        magic, version = struct.unpack('<II', way.bytes[:8])
        if magic != ACCEPTOR or version not in (1, 2):
            sys.exit(f'{name}: no request: {way.bytes[:16].hex()}')
        nr = 16 if version == 1 else 28
        if len(way.bytes) < nr:
            return 0
        target = nid4(struct.unpack('<Q', way.bytes[8:16])[0]) \
            if version == 1 else nid_large(way.bytes[8:28])
        self.count[f'request{version}'] += 1
        self.note(time, name, f'request v{version} {target}')
        way.requested = True
        return nr

    def hello(self, time, name, way):
        if way.version is not None:
            return None
        if len(way.bytes) < 8:
            return 0
        magic, version = struct.unpack('<II', way.bytes[:8])
        if magic not in (HELLO, HELLO_V1):
            sys.exit(f'{name}: no HELLO: {way.bytes[:16].hex()}')
        nr = 72 if magic == HELLO_V1 else {2: 56, 3: 56, 4: 80}[version]
        if len(way.bytes) < nr:
            return 0
        way.version = 1 if magic == HELLO_V1 else version
        self.count[f'hello{way.version}'] += 1
        self.note(time, name, hello_text(way.bytes[:nr], way.version))
        return nr

    def frame(self, time, name, way):
        if way.version == 1:
            return self.lnet(time, name, way, 0, (0, 0, 0), '')
        if len(way.bytes) < 24:
            return 0
        kind, csum, ask, ack = struct.unpack('<IIQQ', way.bytes[:24])
        text = (f' csum={csum:08x}' if csum else '') + \
            (f' zcask={ask}' if ask else '') + (f' zcack={ack}' if ack else '')
        if kind == NOOP:
            keepalive = ask == 0 and ack == 1
            self.count['keepalive' if keepalive else 'noop'] += 1
            self.count['zcack'] += not keepalive
            self.note(time, name, 'NOOP' + text)
            return 24
        if kind != LNET:
            sys.exit(f'{name}: no frame: {way.bytes[:24].hex()}')
        return self.lnet(time, name, way, 24, (ask, ack, csum), text)

    def lnet(self, time, name, way, begin, numbers, text):
        data = way.bytes[begin:]
        large = way.version == 4
        pids = 40 if large else 16
        if len(data) < pids + 56:
            return 0
        dest, source = (nid_large(data[:20]), nid_large(data[20:40])) if large \
            else (nid4(n) for n in struct.unpack('<QQ', data[:16]))
        _, _, kind, nr = struct.unpack('<IIII', data[pids:pids + 16])
        body, payload = data[pids + 16:pids + 56], data[pids + 56:]
        if len(payload) < nr:
            return 0
        payload = payload[:nr]
        line = f'{TYPES[kind]} {source} -> {dest} {body_text(kind, body)}' \
               f' payload={nr}{text}'
        if nr >= 16 and struct.unpack('<I', payload[:4])[0] == PING:
            self.count['ping'] += 1
            line += f' [{ping_text(payload)}]'
        self.count[TYPES[kind].lower()] += 1
        self.count['payload'] += nr
        for column, number in zip(('zcask', 'zcack', 'csum'), numbers):
            self.count[column] += number != 0
        self.note(time, name, line)
        return begin + pids + 56 + nr


def table(paths):
    """The rows of --count, with a heading."""
    rows = [['file'] + COLUMNS]
    for path in sorted(paths, key=os.path.basename):
        count = File(path).count
        rows.append([os.path.splitext(os.path.basename(path))[0]] +
                    [str(count[c]) for c in COLUMNS])
    return ''.join(' '.join([row[0].ljust(27)] + [n.rjust(max(len(c), 6))
                   for n, c in zip(row[1:], COLUMNS)]) + '\n' for row in rows)


def main(argv):
    if not argv or argv[0] in ('-h', '--help'):
        print(__doc__)
        return 0 if argv else 2
    if argv[0] == '--count':
        print(table(argv[1:]), end='')
    elif argv[0] == '--check':
        with open(argv[1], encoding='utf-8') as f:
            if f.read() != table(argv[2:]):
                print(f'{argv[1]} is not what --count says')
                return 1
    else:
        for path in argv:
            print(path)
            print('\n'.join(File(path).lines))
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
