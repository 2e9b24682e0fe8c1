# SPDX-License-Identifier: Apache-2.0
"""Rows of the object service, as its commands do the work."""

# A script beside this one, and the command that it runs.
NEEDS = {'servicebench.py': ' (needs the command: ninja tools/colibri)'}

REPEATS_MAX = 3

PROBES = {'service-data': 'servicebench.py data',
          'service-tree': 'servicebench.py tree'}


def rows(make):
    """All rows; `make` is the runner's class."""
    more = {'better': 'higher', 'size': 1 << 20, 'goal': 0.85, 'stretch': 0.95}
    return [
        make('service: put, 1 MiB, 8 in flight, fresh', 'GB/s',
             'service-data:put.fresh', ['service-data:raw.put.fresh'],
             ref_name='pread -> socket -> pwrite', **more),
        make('service: put, 1 MiB, 8 in flight, overwritten', 'GB/s',
             'service-data:put.over', ['service-data:raw.put.over'],
             ref_name='pread -> socket -> pwrite in place',
             note='ours writes a new file, so that readers see one or the '
             'other', **more),
        make('service: get, 1 MiB, 8 in flight, fresh', 'GB/s',
             'service-data:get.fresh', ['service-data:raw.get.fresh'],
             ref_name='pread -> socket -> pwrite', **more),
        make('service: get, 1 MiB, 8 in flight, overwritten', 'GB/s',
             'service-data:get.over', ['service-data:raw.get.over'],
             ref_name='pread -> socket -> pwrite in place',
             note='ours writes a new file', **more),
        make('service: put -r, 10,000 small files', 'us',
             'service-tree:batch', ['service-tree:alone'], goal=2.0,
             stretch=5.0, ref_name='one at a time, batching off',
             told=[('requests a packet', 'service-tree:packet', 1)]),
    ]
