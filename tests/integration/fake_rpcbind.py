# SPDX-License-Identifier: Apache-2.0 OR MIT
"""fake_rpcbind.py SOCKET LOG : takes registrations as rpcbind does.

Each is a line of the log: SET or UNSET, program, version, netid, address.
"""
import socket
import struct
import sys

PROCS = {1: 'SET', 2: 'UNSET'}


def exactly(conn, nr):
    data = b''
    while len(data) < nr:
        more = conn.recv(nr - len(data))
        if not more:
            return None
        data += more
    return data


def record(conn):
    """A whole record; None: the end."""
    data = b''
    last = False
    while not last:
        mark = exactly(conn, 4)
        if mark is None:
            return None
        mark = struct.unpack('>I', mark)[0]
        last = mark >> 31
        data += exactly(conn, mark & 0x7fffffff) or b''
    return data


class Args:
    def __init__(self, data):
        self.data = data

    def number(self):
        head, self.data = self.data[:4], self.data[4:]
        return struct.unpack('>I', head)[0]

    def opaque(self):
        nr = self.number()
        data, self.data = self.data[:nr], self.data[(nr + 3) & ~3:]
        return data


def serve(conn, log):
    while True:
        data = record(conn)
        if data is None:
            return
        args = Args(data)
        xid, _, _, _, _, proc = (args.number() for _ in range(6))
        for _ in range(2):
            args.number()
            args.opaque()
        if proc in PROCS:
            print(PROCS[proc], args.number(), args.number(),
                  args.opaque().decode(), args.opaque().decode(),
                  file=log, flush=True)
        answer = struct.pack('>7I', xid, 1, 0, 0, 0, 0, 1)
        conn.sendall(struct.pack('>I', len(answer) | 1 << 31) + answer)


def main():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen()
    with open(sys.argv[2], 'w', encoding='ascii') as log:
        while True:
            conn, _ = listener.accept()
            with conn:
                serve(conn, log)


if __name__ == '__main__':
    main()
