# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The board of contrib/grafana has the form that Grafana's importer expects.

Grafana's own schema is written in CUE, which needs a program of its own, and is not in
this repository. These are its rules for what the board uses: types of fields, places of
panels, sources of data, variables, and units.
"""
import json
import os
import re
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BOARD = os.path.join(HERE, '../../contrib/grafana/colibri.json')
COLUMNS = 24
# Fields of the schema, with their types; those with True must be there.
FIELDS = {
    'board': {'title': (str, True), 'uid': (str, True), 'tags': (list, False),
              'schemaVersion': (int, True), 'version': (int, False), 'editable': (bool, False),
              'graphTooltip': (int, False), 'refresh': (str, False), 'timezone': (str, False),
              'time': (dict, False), 'annotations': (dict, False), 'links': (list, False),
              'templating': (dict, False), 'panels': (list, True)},
    'panel': {'id': (int, True), 'title': (str, False), 'type': (str, True),
              'description': (str, False), 'datasource': (dict, True), 'gridPos': (dict, True),
              'fieldConfig': (dict, True), 'options': (dict, True), 'targets': (list, True)},
    'target': {'refId': (str, True), 'expr': (str, True), 'legendFormat': (str, False),
               'datasource': (dict, True), 'instant': (bool, False), 'range': (bool, False),
               'format': (str, False)},
    'variable': {'name': (str, True), 'type': (str, True), 'label': (str, False),
                 'query': ((str, dict), True), 'datasource': (dict, False),
                 'refresh': (int, False), 'multi': (bool, False), 'includeAll': (bool, False),
                 'allValue': (str, False)},
    'source': {'type': (str, True), 'uid': (str, True)},
    'place': {'x': (int, True), 'y': (int, True), 'w': (int, True), 'h': (int, True)},
    'defaults': {'unit': (str, False), 'min': ((int, float), False), 'max': ((int, float), False),
                 'decimals': (int, False), 'color': (dict, False), 'thresholds': (dict, False),
                 'mappings': (list, False), 'custom': (dict, False)},
}
PANELS = {'stat', 'timeseries', 'gauge', 'table', 'heatmap', 'bargauge', 'text', 'row'}
UNITS = {'', 'none', 'short', 's', 'ms', 'ns', 'bytes', 'Bps', 'binBps', 'ops', 'cps', 'mps', 'pps',
         'percent', 'percentunit', 'bool'}
# Variables that Grafana defines.
BUILT_IN = {'__rate_interval', '__interval', '__range'}


class Board(unittest.TestCase):
    """Rules of the schema."""

    def setUp(self):
        with open(BOARD, encoding='utf-8') as f:
            self.board = json.load(f)

    def fields(self, kind, value):
        """Checks the fields of an object."""
        known = FIELDS[kind]
        self.assertEqual(set(value) - set(known), set(), kind)
        for name, (types, needed) in known.items():
            if name in value:
                self.assertIsInstance(value[name], types, f'{kind}.{name}')
                if types is int:
                    self.assertNotIsInstance(value[name], bool, f'{kind}.{name}')
            else:
                self.assertFalse(needed, f'{kind} has no {name}: {value}')

    def test_the_board(self):
        self.fields('board', self.board)
        self.assertGreaterEqual(self.board['schemaVersion'], 36)
        self.assertLessEqual(len(self.board['uid']), 40)
        self.assertIn(self.board['graphTooltip'], (0, 1, 2))
        self.assertEqual(set(self.board['time']), {'from', 'to'})
        self.assertRegex(self.board['refresh'], r'^([0-9]+[smhd])?$')
        self.assertEqual(self.board['annotations'], {'list': []})

    def test_panels(self):
        ids = [panel['id'] for panel in self.board['panels']]
        self.assertEqual(len(ids), len(set(ids)))
        for panel in self.board['panels']:
            self.fields('panel', panel)
            self.assertIn(panel['type'], PANELS)
            self.fields('source', panel['datasource'])
            self.assertEqual(set(panel['fieldConfig']), {'defaults', 'overrides'})
            self.fields('defaults', panel['fieldConfig']['defaults'])
            self.assertIn(panel['fieldConfig']['defaults'].get('unit', ''), UNITS)
            self.assertTrue(panel['targets'], panel['title'])

    def test_no_panel_covers_another(self):
        taken = {}
        for panel in self.board['panels']:
            place = panel['gridPos']
            self.fields('place', place)
            self.assertGreaterEqual(place['x'], 0)
            self.assertLessEqual(place['x'] + place['w'], COLUMNS)
            for x in range(place['x'], place['x'] + place['w']):
                for y in range(place['y'], place['y'] + place['h']):
                    self.assertNotIn((x, y), taken, f'{panel["title"]} and {taken.get((x, y))}')
                    taken[x, y] = panel['title']

    def test_queries(self):
        for panel in self.board['panels']:
            refs = [target['refId'] for target in panel['targets']]
            self.assertEqual(len(refs), len(set(refs)), panel['title'])
            for target in panel['targets']:
                self.fields('target', target)
                self.fields('source', target['datasource'])
                self.assertRegex(target['refId'], '^[A-Z]+$')
                for pair in ('()', '{}', '[]'):
                    self.assertEqual(target['expr'].count(pair[0]),
                                     target['expr'].count(pair[1]), target['expr'])

    def test_variables_are_defined(self):
        variables = self.board['templating']['list']
        for variable in variables:
            self.fields('variable', variable)
            self.assertIn(variable['type'], {'query', 'datasource', 'custom', 'interval'})
        defined = {variable['name'] for variable in variables} | BUILT_IN
        text = json.dumps(self.board)
        used = set(re.findall(r'\$\{?([a-zA-Z_]\w*)', text))
        self.assertEqual(used - defined, set())
        self.assertEqual({v['name'] for v in variables} - used, set())


if __name__ == '__main__':
    unittest.main()
