#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A durable store of values.

    kv.py serve PLACE DIRECTORY
    kv.py PLACE put KEY <VALUE
    kv.py PLACE get KEY >VALUE
"""
import signal
import sys

import colibri

PUT, GET = 0, 1
ops = colibri.Operations()


@ops.update(PUT)
def put(request):
    request.tx.put(request.args, request.data)


@ops.query(GET)
def get(request):
    value = request.tx.get(request.args)
    if value is None:
        raise KeyError(request.args)
    return value


def main(argv):
    if len(argv) == 3 and argv[0] == 'serve':
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        with colibri.Service(argv[1], ops, directory=argv[2]) as service:
            print(service.address, flush=True)
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
        return 0
    if len(argv) != 3 or argv[1] not in ('put', 'get'):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with colibri.Client(argv[0], timeout=20) as client:
            if argv[1] == 'put':
                client.update(PUT, argv[2].encode(), sys.stdin.buffer.read())
            else:
                sys.stdout.buffer.write(client.query(GET, argv[2].encode()))
    except OSError as error:
        print(f'kv: {error}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
