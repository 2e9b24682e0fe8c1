# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Statistics of two builds that were measured in pairs, and the verdict."""
import math
import statistics

from benchrow import cell

# Bounds that the newer build must keep: all rows together, each row, instructions.
GEOMEAN_LEAST = 0.98
ROW_LEAST = 0.97
INSTRUCTIONS_MOST = 1.03

# Where intervals are wider, other programs had the processors.
NOISE_MOST = 0.1

CONFIDENCE = 0.95
# With fewer pairs there is no interval of that confidence.
PAIRS_MIN = 6

FORM = '%-52s %8s %8s %-5s %6s  %-15s %s'


def interval(values):
    """Least and greatest of what the median may be, by the sign test.

    The median is below the k-th smallest of n values as seldom as a fair coin
    shows fewer than k heads in n throws, and above the k-th greatest as seldom.
    """
    nr = len(values)
    if nr < PAIRS_MIN:
        raise ValueError('%d pairs; at least %d' % (nr, PAIRS_MIN))
    ordered = sorted(values)
    rank, tail = 0, 0.0
    while True:
        tail += math.comb(nr, rank) / 2 ** nr
        if 2 * tail > 1 - CONFIDENCE:
            break
        rank += 1
    return ordered[rank - 1], ordered[nr - rank]


def geomean(values):
    """Geometric mean."""
    return math.exp(statistics.fmean(math.log(value) for value in values))


def compare(name, unit, better, base, head):
    """One row. base, head: the figures, one a pair; above 1 the head is better."""
    pairs = [h / b if better == 'higher' else b / h
             for b, h in zip(base, head)]
    low, high = interval(pairs)
    row = {'row': name, 'unit': unit, 'better': better,
           'base': statistics.median(base), 'head': statistics.median(head),
           'ratio': statistics.median(pairs), 'low': low, 'high': high,
           'pairs': pairs}
    row['met'] = row['ratio'] >= ROW_LEAST or low <= 1 <= high
    return row


def is_noisy(rows):
    """Are most intervals so wide that a small difference cannot be seen?"""
    return bool(rows) and statistics.median(
        row['high'] / row['low'] for row in rows) > 1 + NOISE_MOST


def failures(rows, counts):
    """Why the head does not pass, one reason a line.

    counts: instructions of both builds by name, as (base, head)."""
    found = []
    for row in rows:
        if not row['met']:
            found.append('%s: %.3f (%.3f to %.3f) is below %s' % (
                row['row'], row['ratio'], row['low'], row['high'], ROW_LEAST))
    if rows and geomean([row['ratio'] for row in rows]) < GEOMEAN_LEAST:
        found.append('geometric mean: %.3f is below %s' % (
            geomean([row['ratio'] for row in rows]), GEOMEAN_LEAST))
    for name, (base, head) in counts.items():
        if head > INSTRUCTIONS_MOST * base:
            found.append('%s: %.0f is %.3f times %.0f, above %s' % (
                name, head, head / base, base, INSTRUCTIONS_MOST))
    return found


def table(rows, counts):
    """The lines of the table."""
    out = [FORM % ('row', 'base', 'head', '', 'ratio', '95 % interval', '')]
    for row in rows:
        out.append(FORM % (
            row['row'], cell(row['base']), cell(row['head']), row['unit'],
            '%.3f' % row['ratio'], '[%.3f-%.3f]' % (row['low'], row['high']),
            '' if row['met'] else 'WORSE'))
    for name, (base, head) in counts.items():
        out.append(FORM % (name, cell(base), cell(head), '',
                           '%.3f' % (base / head), '', ''))
    if rows:
        out.append('geometric mean of %d ratios: %.4f' % (
            len(rows), geomean([row['ratio'] for row in rows])))
    if is_noisy(rows):
        out.append('the intervals are wide, because other programs ran: '
                   'compare again on a quiet machine')
    return [line.rstrip() for line in out]
