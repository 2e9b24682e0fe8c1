# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The table of the bench as a page: a picture of the goals, and all rows."""
import html
import math
import os

from benchrow import cell
from benchtable import details, summary, verdict

WIDTH, LEFT, RIGHT, TOP, ROW = 760, 372, 16, 30, 20
# Names are cut to what fits left of the picture; the table has all of them.
NAME_MAX = 54
# Ratios beyond are drawn at the edge.
LEAST, MOST = 1 / 4, 16
TICKS = (0.25, 0.5, 1, 2, 4, 8, 16)
STYLE = '''
:root { color-scheme: light dark; --fg: #1d1d1f; --bg: #ffffff; --dim: #6b6b70;
        --line: #cccccc; --good: #1a7f37; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --fg: #e8e8ea; --bg: #161618; --dim: #98989e; --line: #444444;
          --good: #5fd27a; --bad: #ff8a80; } }
body { background: var(--bg); color: var(--fg); font: 15px/1.5 sans-serif;
       max-width: 790px; margin: 2em auto; padding: 0 1em; }
svg { width: 100%; height: auto; }
text { fill: var(--fg); font: 12px sans-serif; }
.grid { stroke: var(--line); } .goal { stroke: var(--dim); }
path.good, path.bad { stroke-width: 2; }
path.good { stroke: var(--good); } path.bad { stroke: var(--bad); }
circle.good { fill: var(--good); } circle.bad { fill: var(--bad); }
.map { display: block; overflow-x: auto; font-size: 13px; border-collapse: collapse; }
td, th { border: 1px solid var(--line); padding: .2em .4em; text-align: right; }
td:first-child, th:first-child, .prose { text-align: left; }
td.good { color: var(--good); } td.bad { color: var(--bad); font-weight: bold; }
'''


def short(name):
    """A name that fits."""
    return name if len(name) <= NAME_MAX else name[:NAME_MAX - 1] + '\u2026'


def place(ratio):
    """Where a multiple of the goal is drawn, on a logarithmic axis."""
    ratio = min(max(ratio, LEAST), MOST)
    share = math.log(ratio / LEAST) / math.log(MOST / LEAST)
    return LEFT + share * (WIDTH - RIGHT - LEFT)


def drawn(table):
    """Rows that the picture has: those with a goal and a verdict."""
    return [row for row in table if row['goal'] and row['met'] is not None and
            row['ratio']]


def goals(table):
    """Each row with a goal: its ratio as a multiple of the goal, and the spread of the
    repeats."""
    rows = drawn(table)
    height = TOP + ROW * len(rows) + 6
    out = ['<svg viewBox="0 0 %d %d" role="img"><title>Ratios beside goals</title>' % (
        WIDTH, height)]
    for tick in TICKS:
        x = place(tick)
        out.append('<line class="%s" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>'
                   '<text x="%.1f" y="14" text-anchor="middle">%g</text>' % (
                       'goal' if tick == 1 else 'grid', x, x, TOP - 10, height,
                       x, tick))
    for i, row in enumerate(rows):
        y, kind = TOP + ROW * i + 8, 'good' if row['met'] else 'bad'
        out.append('<text x="0" y="%d">%s</text>' % (
            y + 4, html.escape(short(row['row']))))
        low, high = row.get('ratio_range') or (row['ratio'], row['ratio'])
        out.append('<path class="%s" d="M%.1f %dH%.1f"/>'
                   '<circle class="%s" cx="%.1f" cy="%d" r="4"/>' % (
                       kind, place(low / row['goal']), y,
                       place(high / row['goal']), kind,
                       place(row['ratio'] / row['goal']), y))
    return out + ['</svg>'] if rows else []


def cells(row):
    """A row of the table below: (text, class) each."""
    met = verdict(row)
    return [(row['row'], ''), (cell(row['ours']), ''),
            ('' if row['unit'] == 'per operation' else row['unit'], ''),
            (cell(row['ref']), ''), (row['ref_name'], 'prose'),
            (cell(row['ratio']), ''), (cell(row['goal']), ''),
            (cell(row['stretch']), ''),
            (met, {'': '', 'NO': 'bad'}.get(met, 'good')),
            (details(row), 'prose')]


def page(table, about):
    """The page. about: sentences on the machine and on the run."""
    out = ['<!DOCTYPE html>', '<html lang="en"><head><meta charset="utf-8">',
           '<meta name="viewport" content="width=device-width">',
           '<title>Bench</title>', '<style>%s</style></head>' % STYLE,
           '<body><h1>Bench</h1>']
    out += ['<p>%s</p>' % html.escape(text)
            for text in [*about, *summary(table)] if text]
    if drawn(table):
        out += ['<h2>Ratios, as multiples of their goals</h2>',
                '<p>Right of 1 the goal is met. A line spans the repeats of a row; what is '
                'beyond the picture is drawn at its edge.</p>', *goals(table)]
    out += ['<h2>All rows</h2>', '<table class="map">', '<tr>%s</tr>' % ''.join(
        '<th>%s</th>' % name for name in (
            'row', 'ours', 'unit', 'reference', 'which', 'ratio', 'goal',
            'stretch', 'met', 'details'))]
    for row in table:
        out.append('<tr>%s</tr>' % ''.join('<td%s>%s</td>' % (
            ' class="%s"' % kind if kind else '', html.escape(str(text)))
            for text, kind in cells(row)))
    return '\n'.join(out + ['</table>', '</body></html>', ''])


def write(path, table, about):
    """Writes the page, whole or not at all."""
    with open(path + '.new', 'w', encoding='utf-8') as file:
        file.write(page(table, about))
    os.replace(path + '.new', path)
