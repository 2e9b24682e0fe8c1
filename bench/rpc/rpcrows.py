# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of the RPC layer over LNet between two processes: peers, goals."""

NEEDS = {
    'rpcbench': '',
    'rpcidle': '',
    'zmqreq': ' (needs the package libzmq5)',
    'nngreq': ' (needs the package libnng-dev)',
}

# Slow rows get no more repeats than these.
REPEATS_MAX = 7

FLIGHTS = (1, 16, 64)

# How a peer is run: name, program, options.
PEER_WAYS = [
    ('zmq-req', 'zmqreq', '', 'ZeroMQ dealer/router'),
    ('zmq-req-poll', 'zmqreq -p', '', 'ZeroMQ dealer/router, polling'),
    ('zmq-req-free', 'zmqreq', '-c -1,-1 ', 'ZeroMQ dealer/router, anywhere'),
    ('nng-req', 'nngreq', '', 'nng req/rep'),
    ('nng-req-free', 'nngreq', '-c -1,-1 ', 'nng req/rep, anywhere'),
]

PROBES = {
    'rpc-bulk-8': 'rpcbench -t 0.01 -n 15 bulk 1048576 8',
    'rpc-bulk-1': 'rpcbench -t 0.01 -n 9 bulk 1048576 1',
}
PEERS = {}

# The probe of what idle clients cost their service runs once.
IDLE_PROBE = 'rpc-idle'
IDLE_GOAL = 64 << 10
PROBES[IDLE_PROBE] = 'rpcidle 200'

for _flight in FLIGHTS:
    PROBES['rpc-%d' % _flight] = 'rpcbench -t 0.003 -n 31 req %d' % _flight
    PROBES['rpc-%d-off' % _flight] = (
        'rpcbench -t 0.003 -n 31 req %d off' % _flight)
    for _name, _program, _options, _words in PEER_WAYS:
        _probe = '%s-%d' % (_name, _flight)
        PROBES[_probe] = '%s %s-t 0.005 -n 15 %d' % (_program, _options,
                                                     _flight)
        PEERS[_probe] = _words

# Tuple of what, tool, arguments.
COUNTERS = [
    ('system calls, RPC 64 B, 64 in flight', 'strace', 'rpcbench req'),
    ('instructions, RPC 64 B, 64 in flight', 'callgrind', 'rpcbench req'),
    ('instructions, RPC 64 KiB bulk put, 64 in flight', 'callgrind',
     'rpcbench put'),
]


def sides(flight):
    """Figures of the peers."""
    return ['%s-%d:req' % (way[0], flight) for way in PEER_WAYS]


def rows(make):
    """All rows; `make` is the runner's class."""
    always = {'spin': 'always'}
    both = 'reference: the best of their ways to wait, of both'
    return [
        make('rpc: 64 B, 1 in flight', 'us', 'rpc-1:rpc', ['rpc-1:raw'],
             goal=0.75, stretch=0.85, ref_name='socket echo, 64 B', **always),
        make('rpc: 64 B, 1 in flight (peers)', 'us', 'rpc-1:rpc', sides(1),
             goal=None, note=both, **always),
        make('rpc: 64 B, 16 in flight (peers)', 'us', 'rpc-16:rpc', sides(16),
             goal=4.0, stretch=8.0, note=both, **always),
        make('rpc: 64 B, 64 in flight (peers)', 'us', 'rpc-64:rpc', sides(64),
             goal=3.0, stretch=6.0, note=both, **always),
        make('rpc: 64 B, 64 in flight (socket)', 'us', 'rpc-64:rpc',
             ['rpc-64:raw.batch'], goal=0.3, stretch=0.5,
             ref_name='socket echo, 64 x 64 B a call', **always),
        make('rpc: 64 B, 16 in flight (socket)', 'us', 'rpc-16:rpc',
             ['rpc-16:raw.batch'], goal=None,
             ref_name='socket echo, 16 x 64 B a call', **always),
        make('rpc: 64 B, 1 in flight, formation off', 'us', 'rpc-1-off:rpc',
             ['rpc-1-off:raw'], goal=None, ref_name='socket echo, 64 B',
             **always),
        make('rpc: 64 B, 16 in flight, formation off', 'us', 'rpc-16-off:rpc',
             sides(16), goal=None, **always),
        make('rpc: 64 B, 64 in flight, formation off', 'us', 'rpc-64-off:rpc',
             sides(64), goal=None, **always),
        *[make('rpc: 1 MiB bulk, %d in flight, %s' % (flight, way), 'GB/s',
               'rpc-bulk-%d:rpc.%s' % (flight, way),
               ['rpc-bulk-%d:net.%s' % (flight, way)],
               better='higher', size=1 << 20, goal=goal, stretch=stretch,
               ref_name='m0_net, the same', **always)
          for flight, goal, stretch in ((8, 0.95, 0.98), (1, None, None))
          for way in ('put', 'get')],
    ]
