# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of the sunrpc transport between two processes, beside libtirpc."""

NEEDS = {'sunrpcbench': ''}

# Slow rows get no more repeats than these.
REPEATS_MAX = 5

PROBES = {
    'sunrpc-msg': 'sunrpcbench -t 0.02 -n 15 msg',
    'sunrpc-bulk': 'sunrpcbench -t 0.03 -n 9 bulk',
}


def rows(make):
    """All rows; `make` is the runner's class."""
    return [
        make('sunrpc: 64 B, 16 queued', 'us', 'sunrpc-msg:msg',
             ['sunrpc-msg:raw.null'], goal=0.8, stretch=1.0,
             ref_name='libtirpc, null calls, 16 connections'),
        *[make('sunrpc: 1 MiB bulk, 8 in flight, %s' % way, 'GB/s',
               'sunrpc-bulk:%s' % way, ['sunrpc-bulk:raw.%s' % way],
               better='higher', size=1 << 20, goal=0.7, stretch=1.0,
               ref_name='libtirpc, the same bytes')
          for way in ('get', 'put')],
    ]
