# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of the selection of a path: instructions, by callgrind."""
import os
import re
import shutil
import subprocess

from benchrow import Missing, sig

NEEDS = {'selectbench': ''}
NR = 256
# Each of these selections searches, and takes long under valgrind.
CHANGES_NR = 16
TIME_LIMIT_S = 120
# Goals, as multiples of the cost with one NI, one NID and one gateway, and of a
# message without rules.
MOST = 1.3
RULES_MOST = 1.02
SELECT = 'm0_lnet__select'
ALL = 'bench_counted'

NAMES = (
    'instructions, path selection with 8 NIs, 8 peer NIs, 64 gateways',
    'instructions, the same when every message follows a change',
    'instructions, LNet 64 B PUT, engine alone, 10,000 rules of selection',
)


def collected(bench, function, case, number):
    """Instructions of a run within a function and what it calls."""
    done = subprocess.run(
        ['valgrind', '--tool=callgrind', '--toggle-collect=' + function,
         '--callgrind-out-file=/dev/null',
         os.path.join(bench.dir, 'selectbench'), 'do', 'put',
         *case.split(), str(number)], capture_output=True, text=True,
        timeout=TIME_LIMIT_S, check=False)
    found = re.search(r'Collected : (\d+)', done.stderr)
    if done.returncode != 0 or not found or found.group(1) == '0':
        raise Missing('valgrind: %s' % done.stderr.strip()[-100:])
    return int(found.group(1))


def each(bench, function, case, number=NR):
    """Instructions of a message: the difference of two runs."""
    if not shutil.which('valgrind'):
        raise Missing('valgrind: not installed (package valgrind)')
    return (collected(bench, function, case, 2 * number) -
            collected(bench, function, case, number)) / number


def unchanged(bench):
    """Nothing changed since the last message."""
    ref = each(bench, SELECT, '1 1 1 0 1 0')
    ours = each(bench, SELECT, '8 8 64 0 1 0')
    return {'ours': sig(ours), 'ref': sig(ref), 'ref_name': '1 x 1 x 1',
            'ratio': sig(ref / ours), 'goal': sig(1 / MOST),
            'met': ours <= MOST * ref}


def changed(bench):
    """A change before each message; linear in the pairs of an NI and a next hop
    for each NID of the destination."""
    ours = each(bench, SELECT, '8 8 64 1 1 0', CHANGES_NR)
    return {'ours': sig(ours),
            'note': 'no goal; %.0f of each of 4,096 paths' % (ours / 4096)}


def ruled(bench):
    """Rules are no part of a message."""
    none, one, many = (each(bench, ALL, '1 1 0 0 1 %d' % rules)
                       for rules in (0, 1, 10000))
    return {'ours': sig(many), 'ref': sig(none), 'ref_name': 'without rules',
            'ratio': sig(none / many), 'goal': sig(1 / RULES_MOST),
            'met': many <= RULES_MOST * none, 'note': 'one rule: %.0f' % one}


def rows(bench, pattern):
    """The rows of the table."""
    table = []
    for name, take in zip(NAMES, (unchanged, changed, ruled)):
        if not re.search(pattern, name):
            continue
        row = {'row': name, 'ours': None, 'unit': 'per operation',
               'better': 'lower', 'ref': None, 'ref_name': '', 'ratio': None,
               'goal': None, 'stretch': None, 'met': None,
               'note': 'by callgrind'}
        try:
            row.update(take(bench))
        except (Missing, OSError, subprocess.SubprocessError) as why:
            row['note'] = str(why) or repr(why)
        table.append(row)
    return table
