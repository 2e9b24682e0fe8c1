# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of the durable store."""

NEEDS = {'storebench': ''}

REPEATS_MAX = 5

PROBES = {'store': 'storebench -t 0.1 -n 9 put'}


def rows(make):
    """All rows; `make` is the runner's class."""
    return [
        make('store: 4 KiB objects, durable, 64 in flight', 'us',
             'store:group', ['store:alone'], goal=10.0, stretch=20.0,
             ref_name='a commit for each',
             told=[('ms a lone commit', 'store:commit', 1e6),
                   ('objects share one', 'store:batch', 1)],
             void=('store:commit', 1e6, 'a commit takes under 1 ms here')),
        make('store: 4 KiB objects, durable (volatile)', 'us', 'store:group',
             ['store:volatile'], goal=None, ref_name='volatile store'),
    ]
