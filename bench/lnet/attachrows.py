# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of processes that are attached to a daemon of their host."""
import re

from benchrow import sig

NEEDS = {'attachbench': ''}

# Bytes; how a slice is.
BULK = (1 << 20, '-t 0.01 -n 15')

CROWD_NR = 256

PROBES = {
    'attached-rate': 'netbench -t 0.003 -n 31 attached rate',
    'attached-tcp-rate': 'netbench -t 0.003 -n 31 lnet rate',
    'attached-bulk': 'netbench %s attached bulk %d 8 poll' % BULK[::-1],
    'attached-tcp-bulk': 'netbench %s lnet bulk %d 8 poll' % BULK[::-1],
    'attached-one-rate': 'netbench -t 0.003 -n 31 one rate',
    'attached-one-bulk': 'netbench %s one bulk %d 8 poll' % BULK[::-1],
    'pair-ping': 'netbench -t 0.004 -n 31 pair ping poll',
    'pair-rate': 'netbench -t 0.004 -n 31 pair rate',
    'direct-ping': 'netbench -t 0.004 -n 31 direct ping poll',
    'direct-rate': 'netbench -t 0.004 -n 31 direct rate',
    'attached-life': 'attachbench -n 31 life',
    'attached-crowd': 'attachbench crowd %d 3' % CROWD_NR,
}
PEERS = {}
REPEATS_MAX = 7

# Calls of the process; its daemon is not counted.
COUNTERS = [
    ('system calls, attached process, 64 B PUT, 64 queued', 'strace-own',
     'attachbench put', 0.02),
]

# Row, figure, unit, scale, most, best.
LIMITS = [
    ('attached: attach, first message, detach', 'attached-life', 'life', 'ms',
     1e6, 5, 1),
    ('attached: %d processes that talk, largest share to smallest' % CROWD_NR,
     'attached-crowd', 'crowd.share', '', 1, 1.5, None),
    ('attached: memory of an idle process and its daemon for it',
     'attached-crowd', 'crowd.bytes', 'KiB', 1024, 256, None),
]


def rows(make):
    """Rows with an embedded node as reference."""
    name = 'attached, over TCP: '
    yield make(name + '64 B rate, 64 queued', 'M/s', 'attached-rate:m0',
               ['attached-tcp-rate:m0'], better='higher', goal=0.7,
               stretch=0.9, spin='always', ref_name='embedded')
    yield make(name + '64 B rate, 64 queued (one processor)', 'M/s',
               'attached-rate:m0', ['attached-one-rate:m0'], better='higher',
               goal=None, spin='always',
               ref_name='embedded, both nodes on one processor')
    for way in ('put', 'get'):
        yield make(name + '1 MiB, 8 in flight, ' + way, 'GB/s',
                   'attached-bulk:' + way, ['attached-tcp-bulk:' + way],
                   better='higher', size=BULK[0], goal=0.9, stretch=0.97,
                   spin='always', ref_name='embedded')
        yield make(name + '1 MiB, 8 in flight, %s (one processor)' % way,
                   'GB/s', 'attached-bulk:' + way,
                   ['attached-one-bulk:' + way], better='higher',
                   size=BULK[0], goal=None, spin='always',
                   ref_name='embedded, both nodes on one processor')
    name = 'attached, two processes: 64 B '
    yield make(name + 'one way, direct', 'us', 'direct-ping:m0',
               ['pair-ping:m0'], goal=None, spin='always',
               ref_name='through the daemon')
    yield make(name + 'rate, 64 queued, direct', 'M/s', 'direct-rate:m0',
               ['pair-rate:m0'], better='higher', goal=None, spin='always',
               ref_name='through the daemon')


def limits(bench, pattern, figures, failures):
    """Rows with a limit, each measured once."""
    table, got = [], {}
    for name, probe, figure, unit, scale, most, best in LIMITS:
        if not re.search(pattern, name):
            continue
        row = {'row': name, 'ours': None, 'unit': unit, 'better': 'lower',
               'ref': most, 'ref_name': 'at most', 'ratio': None, 'goal': 1.0,
               'stretch': most / best if best else None, 'met': None,
               'note': None}
        try:
            if probe not in got:
                got[probe] = figures(bench.call(probe))
            ours = got[probe][figure] / scale
            row.update(ours=sig(ours), ratio=sig(most / ours),
                       met=ours <= most)
            if best:
                row['stretch_met'] = ours <= best
        except failures as why:
            row['note'] = str(why) or repr(why)
        table.append(row)
    return table
