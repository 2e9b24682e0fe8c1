# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The row of `colibri config check`: a file of 10,000 lines."""
import os
import subprocess
import tempfile
import time

from benchrow import Missing, sig

NAME = 'colibri config check of 10,000 lines'
LINES_NR = 10000
GOAL_S = 1.0
REPEATS_NR = 5


def text():
    """Peers with two NIDs each, five lines a peer."""
    lines = ['net:', '- net type: tcp', 'peer:']
    for i in range((LINES_NR - len(lines)) // 5):
        nid = '10.%d.%d.' % (i // 250, i % 250)
        lines += ['- primary nid: %s1@tcp' % nid, '  Multi-Rail: true',
                  '  peer ni:', '  - nid: %s1@tcp' % nid,
                  '  - nid: %s2@tcp' % nid]
    lines += ['# end'] * (LINES_NR - len(lines))
    return '\n'.join(lines) + '\n'


def seconds(colibri):
    """The best of a few runs, the start of the process included."""
    if not os.access(colibri, os.X_OK):
        raise Missing('%s: not built' % colibri)
    best = float('inf')
    with tempfile.NamedTemporaryFile('w', suffix='.conf') as file:
        file.write(text())
        file.flush()
        for _ in range(REPEATS_NR):
            begin = time.monotonic()
            subprocess.run([colibri, 'config', 'check', file.name],
                           check=True, stdout=subprocess.DEVNULL, timeout=60)
            best = min(best, time.monotonic() - begin)
    return best


def row(build):
    """The row of the table."""
    ret = {'row': NAME, 'ours': None, 'unit': 's', 'better': 'lower',
           'ref': GOAL_S, 'ref_name': 'at most', 'ratio': None, 'goal': 1.0,
           'stretch': None, 'met': None, 'note': None}
    try:
        took = seconds(os.path.join(build, 'tools', 'colibri'))
        ret.update(ours=sig(took), ratio=sig(GOAL_S / took),
                   met=took <= GOAL_S, note='best of %d' % REPEATS_NR)
    except (Missing, OSError, subprocess.SubprocessError) as why:
        ret['note'] = str(why)
    return ret
