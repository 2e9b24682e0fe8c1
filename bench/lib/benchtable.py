# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The table of the bench: as a person reads it, summed up, and in results.md."""
from benchrow import cell

FORM = '%-50s %7s %-17s %-5s %7s %-27s %5s %6s %7s %s'
BEGIN, END = '<!-- numbers -->\n', '<!-- end of numbers -->\n'


def verdict(row):
    """Goal and stretch in a word."""
    if row['met'] is None:
        return ''
    if not row['met']:
        return 'NO'
    return 'yes, stretch' if row.get('stretch_met') else 'yes'


def details(row):
    """What stands beside the table's columns."""
    out = []
    if row.get('cpu_per_op_ns') is not None:
        out.append('cpu %s ns' % cell(row['cpu_per_op_ns']))
        if row.get('ref_cpu_per_op_ns') is not None:
            out[-1] += ' (ref %s)' % cell(row['ref_cpu_per_op_ns'])
    if row.get('spin_ns') is not None:
        spin = row['spin_ns']
        out.append('spins %s' % (spin if isinstance(spin, str)
                                 else '%d ns' % spin))
    if row.get('cacheline_ns') is not None:
        out.append('line %s ns' % cell(row['cacheline_ns']))
    if row.get('note'):
        out.append(row['note'])
    return '; '.join(out)


def line(row):
    """A row in its columns."""
    low_high = ('[%s-%s]' % tuple(cell(v) for v in row['range'])
                if 'range' in row else '')
    unit = '' if row['unit'] == 'per operation' else row['unit']
    return (FORM % (row['row'], cell(row['ours']), low_high, unit,
                    cell(row['ref']), row['ref_name'], cell(row['ratio']),
                    cell(row['goal']), cell(row['stretch']),
                    verdict(row))).rstrip()


def lines(table, full=True):
    """The whole table; `full`: with what stands below each row."""
    out = [FORM % ('row', 'ours', '[min-max]', '', 'ref', 'which', 'ratio',
                   'goal', 'stretch', 'met')]
    for row in table:
        out.append(line(row))
        if full:
            out.append('    ' + details(row))
    return out


def congestion(table):
    """Which congestion control the TCP connections of how many rows had."""
    rows = {}
    for row in table:
        if row.get('congestion'):
            name = ' and '.join(row['congestion'])
            rows[name] = rows.get(name, 0) + 1
    return ['congestion control of TCP: ' + ', '.join(
        '%s in %d rows' % each for each in sorted(
            rows.items(), key=lambda each: -each[1]))] if rows else []


def summary(table):
    """How many rows met their goals, and plainly which did not."""
    goals = [r for r in table if r['goal'] is not None]
    missed = [r for r in goals if r['met'] is False]
    unknown = [r for r in goals if r['met'] is None]
    out = ['%d rows, %d with a goal: %d met (%d with stretch), %d not met, '
           '%d without a verdict' % (
               len(table), len(goals),
               len(goals) - len(missed) - len(unknown),
               sum(bool(r['met'] and r.get('stretch_met')) for r in goals),
               len(missed), len(unknown))]
    out += ['NOT MET: %s: %s of the goal %s' % (
        r['row'], cell(r['ratio']), cell(r['goal'])) for r in missed]
    out += ['no verdict: %s: %s' % (r['row'], r['note']) for r in unknown]
    return out + congestion(table)


def readme(text, table, about):
    """The text with the table between its marks."""
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    body = [about, ''] + ['    ' + each for each in
                          lines(table, False) + [''] + summary(table)]
    return (text[:start] + '\n' + '\n'.join(each.rstrip() for each in body) +
            '\n\n' + text[end:])
