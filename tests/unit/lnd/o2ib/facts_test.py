# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each fact of docs/o2ib.md has tests that exist, and each trap of the reference has a fact."""
import os
import re
import unittest

ROOT = os.path.realpath(f'{os.path.dirname(os.path.abspath(__file__))}/../../../..')
UNIT = 'tests/unit/lnd/o2ib'
TRAPS = 35


def rows(text):
    """Triples of the table: marks, fact, tests."""
    table = text[text.index('\n| mark | fact | test |\n'):]
    for line in table[:table.index('\n\n')].splitlines()[3:]:
        yield [cell.strip() for cell in line.strip('|').split('|')]


def cases(path):
    """Cases that the program of this file runs."""
    with open(f'{ROOT}/{path}', encoding='utf-8') as f:
        text = f.read()
    functions = set(re.findall(r'^static void (\w+)\(void \*\*state\)', text, re.M))
    return functions & set(re.findall(r'\b(\w+)\b', text[text.rindex('CMUnitTest'):]))


def named(cell):
    """Pairs: file, and case or None, of `file: case`, `case` (of the same file) and `file`."""
    path = None
    for word in re.findall(r'`([^`]+)`', cell):
        file, _, case = word.partition(': ')
        if not case and not file.endswith('.c') and \
                not os.path.exists(f'{ROOT}/{UNIT}/{file}_test.c'):
            yield path, file
            continue
        path = file if file.endswith('.c') else f'{UNIT}/{file}_test.c'
        yield path, case or None


class Facts(unittest.TestCase):
    """The table."""

    def setUp(self):
        with open(f'{ROOT}/docs/o2ib.md', encoding='utf-8') as f:
            self.rows = list(rows(f.read()))

    def test_each_names_tests_that_are_run(self):
        for _, fact, tests in self.rows:
            pairs = list(named(tests))
            self.assertTrue(pairs, fact)
            for path, case in pairs:
                self.assertTrue(os.path.exists(f'{ROOT}/{path}'), f'{fact}: {path}')
                if case is not None:
                    self.assertIn(case, cases(path), f'{fact}: {path}')

    def test_each_trap_has_one(self):
        marks = ', '.join(mark for mark, _, _ in self.rows).split(', ')
        traps = [mark for mark in marks if re.fullmatch(r'T\d+', mark)]
        self.assertEqual(sorted(traps, key=lambda mark: int(mark[1:])),
                         [f'T{nr}' for nr in range(1, TRAPS + 1)])
        self.assertEqual(sum(mark.startswith('CRASH') for mark in marks), 3)

    def test_a_test_that_is_not_there_is_noticed(self):
        self.assertEqual(list(named('`wire: a`, `b`, `field`, `x/y.c: d`')), [
            (f'{UNIT}/wire_test.c', 'a'), (f'{UNIT}/wire_test.c', 'b'),
            (f'{UNIT}/field_test.c', None), ('x/y.c', 'd')])
        self.assertNotIn('no_such_case', cases(f'{UNIT}/wire_test.c'))


if __name__ == '__main__':
    unittest.main()
