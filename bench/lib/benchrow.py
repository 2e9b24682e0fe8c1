# SPDX-License-Identifier: Apache-2.0 OR MIT
"""One row of the table: what of the figures it takes, and what they come to."""
import statistics


# Repeats after which a row may be settled: without a goal, and with one.
SETTLED_INFO = 3
SETTLED_GOAL = 5


class Missing(Exception):
    """A figure cannot be had, and why."""


class Row:
    """One line of the table.

    ours: figure of the library. refs: figures of which the best counts.
    plus: list of (factor, figure or None) added to the first of refs for the
    goal, and stretch_plus for the stretch: the goal's sum is then the
    reference, and 1.0 the goal.
    told: list of (words, figure, scale) for the note.
    void: (figure, least, why): below that the goal says nothing.
    """

    def __init__(self, name, unit, ours, refs, goal=1.0, stretch=None,
                 ref_name='', spin=None, **more):
        self.name, self.unit, self.ours, self.refs = name, unit, ours, refs
        self.goal, self.stretch = goal, stretch
        self.ref_name = ref_name
        self.spin_ns = spin
        self.better = more.get('better', 'lower')
        self.plus = more.get('plus')
        self.stretch_plus = more.get('stretch_plus')
        self.size = more.get('size')
        self.line = more.get('line')
        self.note = more.get('note')
        self.told = more.get('told', [])
        self.void = more.get('void')

    def figures(self):
        """Names of all that it is made of."""
        names = [self.ours, *self.refs]
        for part in (self.plus, self.stretch_plus):
            names += [f for _, f in part or [] if f]
        if self.line:
            names.append(self.line)
        if self.void:
            names.append(self.void[0])
        return names + [told[1] for told in self.told]

    def probes(self):
        """Probes to run, its own beside its references."""
        return list(dict.fromkeys(n.split(':')[0] for n in self.figures()))

    def scale(self, values):
        """Nanoseconds of an operation to the row's unit."""
        if self.unit == 'GB/s':
            return [self.size / v for v in values]
        if self.unit == 'us':
            return [v / 1e3 for v in values]
        if self.unit == 's/GB':
            return [v / self.size for v in values]
        return values

    def sum(self, bench, base, parts):
        """base + factor * figure + ..., repeat by repeat."""
        total = list(base)
        for factor, figure in parts:
            add = bench.get(figure) if figure else [1.0] * len(total)
            total = [t + factor * a for t, a in zip(total, add)]
        return total

    def better_of(self, bench):
        """The reference with the best median, and its name."""
        best, why = None, []
        for figure in self.refs:
            try:
                values = self.scale(bench.get(figure))
            except Missing as missing:
                why.append(str(missing))
                continue
            med = statistics.median(values)
            if best is None or (med > best[0]) == (self.better == 'higher'):
                best = (med, values, figure)
        if best is None:
            raise Missing('; '.join(why))
        return best[1], best[2]

    def ratios(self, bench):
        """Ratio of each repeat."""
        ref, _ = self.better_of(bench)
        if self.plus:
            ref = self.sum(bench, ref, self.plus)
        return [ratio(o, r, self.better)
                for o, r in zip(self.scale(bench.get(self.ours)), ref)]

    def settled(self, bench):
        """Would more repeats tell nothing? All of some are on the same side of
        the goal and of the stretch, or there is neither."""
        try:
            pairs = self.ratios(bench)
        except (Missing, ZeroDivisionError):
            return True
        if self.goal is None:
            return len(pairs) >= SETTLED_INFO
        return len(pairs) >= SETTLED_GOAL and all(
            len({pair >= limit for pair in pairs}) == 1
            for limit in (self.goal, self.stretch) if limit is not None)

    def result(self, bench):
        """The row as it goes into the file."""
        row = {'row': self.name, 'ours': None, 'unit': self.unit,
               'better': self.better, 'ref': None, 'ref_name': self.ref_name,
               'ratio': None, 'goal': self.goal, 'stretch': self.stretch,
               'met': None, 'note': self.note, 'repeats': 0,
               'spin_ns': self.spin_ns}
        try:
            ours = self.scale(bench.get(self.ours))
        except Missing as why:
            row['note'] = str(why)
            return row
        row.update(ours=med(ours), range=[sig(min(ours)), sig(max(ours))],
                   repeats=len(ours))
        if self.ours + '.cpu' in bench.values:
            row['cpu_per_op_ns'] = med(bench.get(self.ours + '.cpu'))
        if self.line:
            row['cacheline_ns'] = med(bench.get(self.line))
        try:
            self.compare(bench, row, ours)
        except Missing as why:
            row['note'] = 'no reference: %s' % why
        except ZeroDivisionError:
            row['note'] = 'a figure is 0: nothing to compare'
        return row

    def compare(self, bench, row, ours):
        """Fills in what needs the reference."""
        ref, figure = self.better_of(bench)
        if len(self.refs) > 1:
            row['ref_name'] = bench.peers[figure.split(':')[0]]
        if figure + '.cpu' in bench.values:
            row['ref_cpu_per_op_ns'] = med(bench.get(figure + '.cpu'))
        if self.plus:
            row['ref_parts'] = {f: med(bench.get(f))
                                for f in [figure] + [f for _, f in self.plus
                                                     if f]}
            more = self.sum(bench, ref, self.stretch_plus)
            ref = self.sum(bench, ref, self.plus)
        pairs = [ratio(o, r, self.better) for o, r in zip(ours, ref)]
        # The repeat in the middle: both sides of the same second. Medians of
        # each side alone may come from different seconds, in which the
        # processors were near to each other, or far.
        at = sorted(range(len(pairs)), key=pairs.__getitem__)[len(pairs) // 2]
        row.update(ours=sig(ours[at]), ours_median=med(ours),
                   ref=sig(ref[at]), ref_median=med(ref),
                   ref_range=[sig(min(ref)), sig(max(ref))],
                   ratio=sig(pairs[at]),
                   ratio_range=[sig(min(pairs)), sig(max(pairs))])
        if self.plus:
            row['stretch'] = sig(ref[at] / more[at])
        if self.goal is not None:
            row['met'] = row['ratio'] >= self.goal
        if row['stretch'] is not None:
            row['stretch_met'] = row['ratio'] >= row['stretch']
        notes = ['%s %s' % (cell(med(bench.get(figure)) / scale), words)
                 for words, figure, scale in self.told]
        if self.void and med(bench.get(self.void[0])) < self.void[1]:
            row.update(met=None, stretch_met=None)
            notes.append(self.void[2])
        if notes:
            row['note'] = '; '.join(notes)


def med(values):
    """Median, to a few figures."""
    return sig(statistics.median(values))


def sig(value):
    """To six significant figures."""
    return float('%.6g' % value)


def ratio(ours, ref, better):
    """Above 1: ours is better than the reference."""
    return ours / ref if better == 'higher' else ref / ours


def cell(value):
    """A number as a person reads it."""
    if value is None:
        return '-'
    return '%.3g' % value if abs(value) < 1000 else '%.0f' % value
