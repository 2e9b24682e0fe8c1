# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of the object service: blocks, its commands, many small files."""

# Programs that they need; scripts beside this one run the command, too.
NEEDS = {
    'objbench': '',
    'servicebench.py': ' (needs the command: ninja tools/colibri)',
}

REPEATS_MAX = 5

PROBES = {
    'service-blocks': 'servicebench.py blocks',
    'service-data': 'servicebench.py data',
    'service-tree': 'servicebench.py tree',
}


def block_rows(make):
    """Requests of 1 MiB beside a loop that does the same to the same files."""
    for what, ours, raw in (
            ('written, fresh', 'write.fresh', 'raw.write.fresh'),
            ('written over', 'write.over', 'raw.write.over'),
            ('read, fresh', 'read.fresh', 'raw.read'),
            ('read, written over', 'read.over', 'raw.read')):
        yield make('service: 1 MiB, 8 in flight, ' + what, 'GB/s',
                   'service-blocks:' + ours, ['service-blocks:' + raw],
                   better='higher', size=1 << 20, goal=0.85, stretch=0.95,
                   ref_name=('pread -> socket' if raw == 'raw.read'
                             else 'socket -> pwrite'),
                   note='ours with checksums')
    yield make('service: 1 MiB, 8 in flight, written over once', 'GB/s',
               'service-blocks:write.over.first',
               ['service-blocks:raw.write.over.first'],
               better='higher', size=1 << 20, goal=0.85, stretch=0.95,
               ref_name='socket -> pwrite',
               note='the second use of each page of a new file, which '
                    'costs the system more than any later one')


def file_rows(make):
    """Whole commands, from file to file: for information."""
    for verb in ('put', 'get'):
        for kind, more in (('fresh', ''), ('over', '; ours writes a new file '
                                           'that takes the name')):
            yield make('service: %s of a file, %s' % (
                           verb, 'fresh' if kind == 'fresh' else 'overwritten'),
                       'GB/s', 'service-data:%s.%s' % (verb, kind),
                       ['service-data:raw.%s.%s' % (verb, kind)],
                       better='higher', size=1 << 20, goal=None,
                       ref_name='pread -> socket -> pwrite',
                       note='no goal; the whole command' + more)


def rows(make):
    """All rows; `make` is the runner's class."""
    return [
        *block_rows(make),
        *file_rows(make),
        make('service: put -r, 10,000 small files', 'us',
             'service-tree:batch', ['service-tree:alone'], goal=2.0,
             stretch=5.0, ref_name='one at a time, batching off',
             told=[('requests a packet', 'service-tree:packet', 1)]),
    ]
