# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of LNet's selftest beside `colibri perf`."""

NEEDS = {'selftestbench.py': ' (needs the command: ninja tools/colibri)'}

PROBES = {'selftest': 'selftestbench.py'}


def rows(make):
    """All rows; `make` is the runner's class. Each has the reference that moves data
    by the same operation: the server of a write makes a GET, that of a read a PUT."""
    for brw, perf in (('write', 'get'), ('read', 'put')):
        yield make('selftest: brw 1 MiB %s, 8 in flight' % brw, 'GB/s',
                   'selftest:' + brw, ['selftest:' + perf], better='higher',
                   size=1 << 20, goal=0.9, stretch=1.0, spin=0,
                   ref_name='colibri perf %s, also a %s' % (
                       perf, perf.upper()), note='check=none')
    yield make('selftest: ping, 8 in flight', 'us', 'selftest:ping',
               ['selftest:rate'], goal=None, spin=0,
               ref_name='colibri perf rate, 160 B',
               note='time of a message: a ping is a request and its answer')
