# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of nodes whose payloads lanes move."""
import re

from benchrow import sig

NEEDS = {'lanebench': ''}

# Slices of each of two nodes, by turns.
SLICES_NR = 30

PROBES = {
    'lanes-ping': 'netbench -t 0.002 -n 41 lanes ping poll',
    'lanes-none-ping': 'netbench -t 0.002 -n 41 lnet ping poll',
    'lanes-put': 'lanebench put 1 2 %d' % SLICES_NR,
    'lanes-get': 'lanebench get 1 2 %d' % SLICES_NR,
    'lanes-two': 'lanebench put 2 2 %d' % SLICES_NR,
}
REPEATS_MAX = 7

# Row, probe, figure, most, best.
LIMITS = [
    ('lanes: part of the strand, 1 MiB put, 2 lanes', 'lanes-put', 'share',
     0.1, 0.03),
    ('lanes: part of the strand, 1 MiB get, 2 lanes', 'lanes-get', 'share',
     0.1, 0.03),
    ('lanes: two clients that write, time without lanes to time with 2',
     'lanes-two', 'slower', 1 / 0.97, 1 / 1.1),
]


def rows(make):
    """Messages without payload, with lanes and without."""
    yield make('lanes: 64 B one way, polled', 'us', 'lanes-ping:m0',
               ['lanes-none-ping:m0'], goal=0.97, spin='always',
               ref_name='no lanes')


def limits(bench, pattern, figures, failures):
    """Rows with a limit, each measured once."""
    table = []
    for name, probe, figure, most, best in LIMITS:
        if not re.search(pattern, name):
            continue
        row = {'row': name, 'ours': None, 'unit': '', 'better': 'lower',
               'ref': sig(most), 'ref_name': 'at most', 'ratio': None,
               'goal': 1.0, 'stretch': most / best, 'met': None, 'note': None}
        try:
            ours = figures(bench.call(probe))[figure]
            row.update(ours=sig(ours), ratio=sig(most / ours),
                       met=ours <= most, stretch_met=ours <= best)
        except failures as why:
            row['note'] = str(why) or repr(why)
        table.append(row)
    return table
