# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of m0_net between two processes of one host through shared memory."""

NEEDS = {
    'ucxam': ' (needs the package libucx-dev)',
    'fireq': ' (needs the package libfabric-dev)',
}

# Slow rows get no more repeats than these.
REPEATS_MAX = 7

# Bytes; how a slice is; goal and stretch beside memcpy.
BULK = [
    (1 << 16, '64 KiB', '-t 0.003 -n 21', 0.75, 0.9),
    (1 << 20, '1 MiB', '-t 0.008 -n 15', 0.9, 0.97),
    (16 << 20, '16 MiB', '-t 0.04 -n 7', 0.9, 0.97),
]

# Program, variant. UCX puts in pieces through its segment; with cma it copies as we do.
RIVALS = {
    'posix': ('ucxbench', 'posix', 'UCX posix'),
    'sysv': ('ucxbench', 'sysv', 'UCX sysv'),
    'cma': ('ucxbench', 'posix,cma', 'UCX posix, cma'),
    'shm': ('fibench', 'shm', 'libfabric shm'),
}

PROBES = {
    'near-ping': 'netbench -t 0.002 -n 41 near ping poll',
    'near-rate': 'netbench -t 0.003 -n 31 near rate',
    'near-tcp-ping': 'netbench -t 0.002 -n 41 lnet ping poll',
    'near-tcp-rate': 'netbench -t 0.003 -n 31 lnet rate',
    **{'ucx-%s-%s' % (tls, what): 'ucxam -t 0.002 -n 41 %s %s' % (tls, what)
       for tls in ('posix', 'sysv') for what in ('ping', 'rate')},
}

PEERS = {
    'ucx-%s-%s' % (tls, what): 'UCX %s' % tls
    for tls in ('posix', 'sysv') for what in ('ping', 'rate')
}


# RPC: requests in flight. Both sides of all poll; ZeroMQ may also block, whichever is better.
FLIGHT = 16
ZMQ_WAYS = [('poll', '-p', 'polling'), ('block', '', 'blocking'),
            ('free', '-c -1,-1', 'anywhere')]

PROBES['near-rpc'] = 'rpcbench -t 0.003 -n 31 near req %d' % FLIGHT
PROBES['fi-req'] = 'fireq -t 0.003 -n 31 %d shm' % FLIGHT
PEERS['fi-req'] = 'libfabric shm'
for _name, _options, _words in ZMQ_WAYS:
    PROBES['zmq-ipc-' + _name] = 'zmqreq -t 0.005 -n 15 %s %d ipc' % (
        _options, FLIGHT)
    PEERS['zmq-ipc-' + _name] = 'ZeroMQ ipc, ' + _words


def probe(who, size):
    """Name of a probe with bulk."""
    return 'near-%s-%d' % (who, size)


for _size, _name, _slice, _goal, _stretch in BULK:
    PROBES[probe('net', _size)] = (
        'netbench %s near bulk %d 8 poll' % (_slice, _size))
    PROBES[probe('tcp', _size)] = (
        'netbench %s lnet bulk %d 8 poll' % (_slice, _size))
    for _who, (_program, _variant, _peer) in RIVALS.items():
        PROBES[probe(_who, _size)] = '%s %s -n 7 %s %d 8' % (
            _program, _slice, _variant, _size)
        PEERS[probe(_who, _size)] = _peer


def bulk_rows(make):
    """Bulk beside memcpy, the rivals and TCP."""
    for size, text, _, goal, stretch in BULK:
        for way in ('put', 'get'):
            name = 'same host, two processes: %s, 8 in flight, %s' % (text, way)
            ours = '%s:%s' % (probe('net', size), way)
            common = {'better': 'higher', 'size': size, 'spin': 'always'}
            yield make(name, 'GB/s', ours, ['%s:copy' % probe('net', size)],
                       goal=goal, stretch=stretch, ref_name='memcpy', **common)
            yield make(name + ' (peers)', 'GB/s', ours,
                       ['%s:%s' % (probe(who, size), way) for who in RIVALS],
                       goal=1.0, **common)
            yield make(name + ' (TCP)', 'GB/s', ours,
                       ['%s:%s' % (probe('tcp', size), way)], goal=None,
                       ref_name='TCP', **common)


def rows(make):
    """All rows; `make` is the runner's class."""
    ping, rate = (['ucx-%s-%s:am' % (tls, what) for tls in ('posix', 'sysv')]
                  for what in ('ping', 'rate'))
    name = 'same host, two processes: 64 B '
    return [
        make(name + 'one way', 'us', 'near-ping:m0', ping, goal=0.4,
             stretch=0.667, spin='always',
             note='reference: the better of posix and sysv'),
        make(name + 'one way (TCP)', 'us', 'near-ping:m0', ['near-tcp-ping:m0'],
             goal=None, spin='always', ref_name='TCP'),
        make(name + 'rate, 64 queued', 'M/s', 'near-rate:m0', rate,
             better='higher', goal=0.5, stretch=1.0, spin='always',
             note='reference: the better of posix and sysv'),
        make(name + 'rate, 64 queued (TCP)', 'M/s', 'near-rate:m0',
             ['near-tcp-rate:m0'], better='higher', goal=None, spin='always',
             ref_name='TCP'),
        make('same host, two processes: RPC 64 B, %d in flight' % FLIGHT, 'us',
             'near-rpc:rpc', ['fi-req:req'], goal=1.0, stretch=2.0,
             spin='always', ref_name='libfabric shm, send and receive'),
        make('same host, two processes: RPC 64 B, %d in flight (ZeroMQ)'
             % FLIGHT, 'us', 'near-rpc:rpc',
             ['zmq-ipc-%s:req' % way[0] for way in ZMQ_WAYS], goal=3.0,
             stretch=10.0, spin='always',
             note='reference: the best of its ways to wait'),
        *bulk_rows(make),
    ]
