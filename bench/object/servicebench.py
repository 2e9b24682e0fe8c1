#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The object service beside what the system itself can do with the same files.

  bench/object/servicebench.py [-c A,B] COLIBRI blocks|data|tree

Prints "name value unit", the time of a block of 1 MiB or of a file. `blocks`: requests
of 1 MiB, as objbench makes them, beside bare sockets and files. `data`:
`colibri put` and `get` of one large file, and a loop pread -> socket -> pwrite
between two processes over loopback, on the same files. `tree`: `colibri put -r`
of small files, and the same one request at a time with batching off. Files are on
/dev/shm where there is room; who serves and who asks share two processors.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))
import benchnet  # noqa: E402

BLOCK = 1 << 20
BLOCKS = 64
RUNS = 6
PASSES = 15
FILES = 10000
FILE_BYTES = 1000
ROOM = 8 * BLOCKS * BLOCK


class Service:
    """A running service and the words to reach it."""

    def __init__(self, colibri, where, *options):
        self.colibri = colibri
        with socket.socket() as sock:
            sock.bind(('127.0.0.2', 0))
            self.port = str(sock.getsockname()[1])
        self.child = subprocess.Popen(
            [colibri, 'serve', '--json', '--net', 'tcp(127.0.0.2)', '--port',
             self.port, '--accept', 'all', *options, where],
            stdout=subprocess.PIPE)
        first = self.child.stdout.readline()
        if not first:
            sys.exit('servicebench.py: no service')
        self.ep = json.loads(first)['ep']

    def run(self, verb, *args):
        """What the command says of itself."""
        done = subprocess.run(
            [self.colibri, verb, '--json', '--net', 'tcp(127.0.0.1)', '--port',
             self.port, '--source-ports', 'any', *args], check=True,
            stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def stop(self):
        self.child.terminate()
        self.child.wait()


def move_out(sock, path):
    """pread -> socket."""
    view = memoryview(bytearray(BLOCK))
    with open(path, 'rb', buffering=0) as file:
        for i in range(BLOCKS):
            os.preadv(file.fileno(), [view], i * BLOCK)
            sock.sendall(view)


def move_in(sock, path):
    """socket -> pwrite."""
    view = memoryview(bytearray(BLOCK))
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    for i in range(BLOCKS):
        have = 0
        while have < BLOCK:
            nr = sock.recv_into(view[have:])
            if nr == 0:
                sys.exit('servicebench.py: the peer has gone')
            have += nr
        os.pwrite(file, view, i * BLOCK)
    os.close(file)


def congestion(sock):
    """What the runner asks for, on a socket that it would not find in time."""
    if os.environ.get('BENCH_CONGESTION'):
        benchnet.choose(sock, os.environ['BENCH_CONGESTION'])


def raw(src, dst):
    """Seconds of a loop between two processes."""
    with socket.socket() as door:
        door.bind(('127.0.0.2', 0))
        congestion(door)  # what is accepted has it, too
        door.listen(1)
        pid = os.fork()
        if pid == 0:
            sock = socket.socket()
            congestion(sock)
            sock.connect(door.getsockname())
            move_out(sock, src)
            sock.recv(1)
            os._exit(0)
        sock = door.accept()[0]
    start = time.monotonic()
    move_in(sock, dst)
    spent = time.monotonic() - start
    sock.send(b'.')
    sock.close()
    os.waitpid(pid, 0)
    return spent


def median(values):
    return sorted(values)[len(values) // 2]


def drop(path):
    if os.path.exists(path):
        os.unlink(path)


def data(colibri, where):
    """Both in turns, each on files that are new and that are there."""
    src, dst = os.path.join(where, 'src'), os.path.join(where, 'dst')
    objects = os.path.join(where, 'objects')
    os.mkdir(objects)
    with open(src, 'wb') as file:
        for _ in range(BLOCKS):
            file.write(os.urandom(BLOCK))
    service = Service(colibri, objects, '--sync', 'none')
    spent = {}

    def note(name, seconds):
        spent.setdefault(name, []).append(seconds / BLOCKS * 1e9)

    for run in range(RUNS):
        for way in ('put', 'get'):
            for kind in ('fresh', 'over'):
                if kind == 'fresh':
                    drop(dst)
                note('raw.%s.%s' % (way, kind), raw(src, dst))
        drop(dst)
        for kind in ('fresh', 'over'):
            os.utime(src)
            note('put.' + kind,
                 service.run('put', src, service.ep + ':x')['seconds'])
        for kind in ('fresh', 'over'):
            note('get.' + kind,
                 service.run('get', service.ep + ':x', dst)['seconds'])
        service.run('rm', service.ep + ':x')
        if run == 0:  # everything was touched for the first time
            spent.clear()
    service.stop()
    for name, values in spent.items():
        print(name, '%.6g' % median(values), 'ns')


def blocks(colibri, where):
    """What objbench says of a service beside bare sockets and files."""
    objects = os.path.join(where, 'objects')
    os.mkdir(objects)
    service = Service(colibri, objects, '--sync', 'none')
    try:
        subprocess.run(
            [os.path.join(os.path.dirname(colibri), '../bench/objbench'),
             '-n', str(PASSES), where, service.ep + ':bench', '--net',
             'tcp(127.0.0.1)', '--port', service.port, '--source-ports',
             'any'], check=True)
    finally:
        service.stop()


def tree(colibri, where):
    """Many small files."""
    src = os.path.join(where, 'src')
    objects = os.path.join(where, 'objects')
    os.makedirs(objects)
    for i in range(FILES):
        path = os.path.join(src, str(i // 100))
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, str(i)), 'wb') as file:
            file.write(os.urandom(FILE_BYTES))
    service = Service(colibri, objects)
    try:
        alone = service.run('put', '-r', '--no-batch', '--inflight', '1', src,
                            service.ep + ':a')
        batch = service.run('put', '-r', src, service.ep + ':b')
    finally:
        service.stop()
    print('alone', '%.6g' % (alone['seconds'] / FILES * 1e9), 'ns')
    print('batch', '%.6g' % (batch['seconds'] / FILES * 1e9), 'ns')
    print('packet', '%.6g' % batch['requests_per_packet'], 'requests')


def main():
    words = sys.argv[1:]
    if words[0] == '-c':
        os.sched_setaffinity(0, {int(cpu) for cpu in words[1].split(',')})
        words = words[2:]
    colibri, what = words
    base = None
    if os.path.isdir('/dev/shm') and shutil.disk_usage('/dev/shm').free > ROOM:
        base = '/dev/shm'
    where = tempfile.mkdtemp(prefix='colibri-bench-', dir=base)
    try:
        {'blocks': blocks, 'data': data, 'tree': tree}[what](colibri, where)
    finally:
        shutil.rmtree(where)


if __name__ == '__main__':
    main()
