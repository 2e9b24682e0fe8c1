# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Pages that `--report` writes: complete, well formed, nothing to load."""
import collections
import html.parser
import re
import xml.etree.ElementTree


class Page(html.parser.HTMLParser):
    """A page: tags that are not closed, and what it would load."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.counts = collections.Counter()
        self.loads = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.counts[tag] += 1
        self.loads += [v for k, v in attrs
                       if k in ('src', 'href', 'xlink:href')]
        if tag != 'meta':
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.counts[tag] += 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


def check(case, text, plots):
    """Checks a page that has so many plots."""
    parsed = Page(text)
    case.assertEqual(parsed.open, [])
    case.assertEqual(parsed.loads, [])
    case.assertEqual(parsed.counts['svg'], plots)
    case.assertEqual(parsed.counts['script'], 0)
    case.assertNotIn('http', text)
    case.assertIn('prefers-color-scheme:dark', text)
    for svg in re.findall('(?s)<svg.*?</svg>', text):
        root = xml.etree.ElementTree.fromstring(svg)
        for line in root.iter('polyline'):
            for point in line.get('points').split():
                x, y = map(float, point.split(','))
                case.assertTrue(0 <= x <= 720 and 0 <= y <= 280, point)
        for mark in root.iter('circle'):
            case.assertTrue(0 <= float(mark.get('cx')) <= 720)
            case.assertTrue(0 <= float(mark.get('cy')) <= 280)
