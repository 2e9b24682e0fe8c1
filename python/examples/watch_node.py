#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Checks this host's LNet node, its interfaces and its peers, for cron, Nagios or a person.

    watch_node.py [--ctl SOCKET] [NID...]     NIDs to ping

Prints a line for each trouble. Exit status: 0 all is well, 1 not, 2 no node answers.
"""
import argparse
import sys

import colibri


def troubles(node, nids):
    for net in node.nets():
        for ni in net['local NI(s)']:
            if ni['status'] != 'up':
                yield f"interface {ni['nid']} is {ni['status']}"
    for route in node.routes():
        if route.get('state', 'up') != 'up':
            yield f"route to {route['net']} by {route['gateway']} is {route['state']}"
    for nid in nids:
        try:
            node.ping(nid, timeout=5)
        except colibri.NodeError as error:
            yield f'{nid} does not answer: {error}'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--ctl', metavar='SOCKET', help='control socket of the node')
    parser.add_argument('nids', metavar='NID', nargs='*', help='a NID to ping')
    args = parser.parse_args()
    node = colibri.Node(args.ctl, timeout=30)
    try:
        found = list(troubles(node, args.nids))
    except OSError as error:
        print(f'no node answers at {node.path}: {error}')
        return 2
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
