# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of m0_net over LNet between two processes: programs, peers, goals."""

NEEDS = {
    'netbench': '',
    'zmqnet': ' (needs the package libzmq5)',
    'fibench': ' (needs the package libfabric-dev)',
    'ucxbench': ' (needs the package libucx-dev)',
}

# Slow rows get no more repeats than these.
REPEATS_MAX = 7

SIZES = {4096: '4 KiB', 1 << 16: '64 KiB', 1 << 20: '1 MiB', 16 << 20: '16 MiB'}

# Bytes, in flight; how a slice of ours and of the peers is.
BULK = [
    (4096, 16, '-t 0.003 -n 31'),
    (1 << 16, 1, '-t 0.003 -n 21'),
    (1 << 16, 8, '-t 0.004 -n 21'),
    (1 << 20, 1, '-t 0.006 -n 21'),
    (1 << 20, 8, '-t 0.01 -n 15'),
    (16 << 20, 1, '-t 0.02 -n 9'),
    (16 << 20, 8, '-t 0.04 -n 7'),
]

RIVALS = {
    'fi-tcp': ('fibench', 'tcp', 'libfabric tcp'),
    'fi-rxm': ('fibench', 'tcp;ofi_rxm', 'libfabric tcp;ofi_rxm'),
    'ucx-tcp': ('ucxbench', 'tcp', 'UCX tcp'),
}

PROBES = {
    'net-poll': 'netbench -t 0.002 -n 41 lnet ping-many poll',
    'net-poll-one': 'netbench -t 0.002 -n 41 lnet ping poll',
    'net-block': 'netbench -s 0 -t 0.005 -n 31 lnet ping block',
    'net-rate': 'netbench -t 0.003 -n 31 lnet rate',
    'net-rate-many': 'netbench -t 0.003 -n 31 lnet rate-many',
    'net-cpu': 'netbench -s 0 -t 0.02 -n 15 lnet bulk 1048576 8 block',
    'zmq-tcp': 'zmqnet -t 0.004 rate',
    'zmq-tcp-poll': 'zmqnet -p -t 0.004 -n 21 rate',
    'zmq-tcp-free': 'zmqnet -c -1,-1 -t 0.004 rate',
}

PEERS = {
    'zmq-tcp': 'ZeroMQ tcp',
    'zmq-tcp-poll': 'ZeroMQ tcp, polling',
    'zmq-tcp-free': 'ZeroMQ tcp, anywhere',
}


def probe(who, size, flight):
    """Name of a probe with bulk."""
    return '%s-%d-%d' % (who, size, flight)


for _size, _flight, _slice in BULK:
    PROBES[probe('net', _size, _flight)] = (
        'netbench %s lnet bulk %d %d poll' % (_slice, _size, _flight))
    for _who, (_program, _variant, _name) in RIVALS.items():
        PROBES[probe(_who, _size, _flight)] = (
            '%s %s -n 9 %s %d %d' % (_program, _slice, _variant, _size,
                                     _flight))
        PEERS[probe(_who, _size, _flight)] = _name

# The defaults of each side: reno within the host for the library, the system's choice
# for sockets (benchnet.py).
DEFAULT_BULK = [
    (1 << 16, 1, '-t 0.003 -n 21'),
    (1 << 20, 1, '-t 0.006 -n 15'),
    (1 << 20, 8, '-t 0.01 -n 11'),
]

PROBES['default-poll'] = 'netbench -t 0.002 -n 31 lnet ping-many poll'
for _size, _flight, _slice in DEFAULT_BULK:
    PROBES[probe('default', _size, _flight)] = (
        'netbench %s lnet bulk %d %d poll' % (_slice, _size, _flight))

# Tuple of what, tool, arguments; most repeats, preferred repeats.
COUNTERS = [
    ('system calls, m0_net over LNet, 64 B, 64 queued', 'strace',
     'netbench rate', 0.1, 0.04),
    ('instructions, m0_net over LNet, 64 B, 64 queued', 'callgrind',
     'netbench rate'),
    ('instructions, m0_net over LNet, 64 KiB put', 'callgrind',
     'netbench put'),
]


def sig(value):
    """To six significant figures."""
    return float('%.6g' % value)


def bulk_rows(make):
    """Bulk beside the raw references, and beside the peers."""
    for size, flight, _ in BULK:
        small = size < 1 << 16
        goal = (0.95, 1.0) if size >= 1 << 20 and flight > 1 else (0.9, 0.97)
        for way in ('put', 'get'):
            name = 'net: %s, %d in flight, %s' % (SIZES[size], flight, way)
            ours = '%s:%s' % (probe('net', size, flight), way)
            common = {'better': 'higher', 'size': size, 'spin': 'always'}
            yield make(name + ' (socket)', 'GB/s', ours,
                       ['%s:raw.%s' % (probe('net', size, flight), way)],
                       goal=None if small else goal[0],
                       stretch=None if small else goal[1],
                       ref_name='socket, ' + ('stream' if flight > 1 else
                                              'there and back'), **common)
            peers = [w for w in RIVALS if not small or w != 'fi-rxm']
            yield make(name + ' (peers)', 'GB/s', ours,
                       ['%s:%s' % (probe(w, size, flight), way)
                        for w in peers],
                       goal=3.0 if small else 1.0,
                       stretch=5.0 if small else 1.1, **common)


def default_rows(make):
    """Both sides with the congestion control that they have by default."""
    common = {'goal': None, 'spin': 'always',
              'note': 'no goal; ours has reno, the socket what the system has'}
    yield make('net, by default: 64 B one way, polling', 'us',
               'default-poll:m0', ['default-poll:raw'],
               ref_name='socket, 160 B', **common)
    for size, flight, _ in DEFAULT_BULK:
        for way in ('put', 'get'):
            name = probe('default', size, flight)
            yield make('net, by default: %s, %d in flight, %s' % (
                           SIZES[size], flight, way), 'GB/s',
                       '%s:%s' % (name, way), ['%s:raw.%s' % (name, way)],
                       better='higher', size=size,
                       ref_name='socket, ' + ('stream' if flight > 1 else
                                              'there and back'), **common)


def rows(make):
    """All rows; `make` is the runner's class."""
    cpu = {'size': 1 << 20, 'spin': 0, 'goal': sig(1 / 1.1), 'stretch': 1.0,
           'ref_name': 'socket, stream', 'note': 'both sides, blocking'}
    return [
        make('net: 64 B one way, polling', 'us', 'net-poll:m0',
             ['net-poll:raw'], goal=sig(1 / 1.15), stretch=sig(1 / 1.08),
             spin='always', ref_name='socket, 160 B',
             note='64 KiB receive buffers, for many messages'),
        make('net: 64 B one way, a buffer for each', 'us', 'net-poll-one:m0',
             ['net-poll-one:raw'], goal=sig(1 / 1.15), stretch=sig(1 / 1.08),
             spin='always', ref_name='socket, 160 B'),
        make('net: 64 B one way, sleeping', 'us', 'net-block:m0',
             ['net-block:raw'], goal=0.8, stretch=sig(1 / 1.1), spin=0,
             ref_name='socket, 160 B'),
        make('net: 64 B rate, 64 queued (socket)', 'M/s', 'net-rate:m0',
             ['net-rate:raw'], better='higher', goal=0.3, stretch=0.5,
             spin='always', ref_name='socket, 64 x 160 B a call'),
        make('net: 64 B rate, 64 queued (ZeroMQ)', 'M/s', 'net-rate:m0',
             [name + ':rate' for name in PEERS if name.startswith('zmq')],
             better='higher', goal=1.5, stretch=2.5, spin='always',
             note='reference: the best of blocking, polling and not pinned'),
        make('net: 64 B rate, many in a buffer', 'M/s', 'net-rate-many:m0',
             ['net-rate-many:raw'], better='higher', goal=None, spin='always',
             ref_name='socket, 64 x 160 B a call',
             note='no goal; 64 KiB receive buffers'),
        *bulk_rows(make),
        *[make('net: cpu, 1 MiB, 8 in flight, %s' % way, 's/GB',
               'net-cpu:%s.cpu' % way, ['net-cpu:raw.%s.cpu' % way], **cpu)
          for way in ('put', 'get')],
        *default_rows(make),
    ]
