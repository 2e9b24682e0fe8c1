# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Colibri from Python: services and clients over LNet, and nodes.

    import colibri

    ops = colibri.Operations()

    @ops.update(1)
    def put(request):
        request.tx.put(request.args, request.data)

    @ops.query(2)
    def get(request):
        return request.tx[request.args]

    with colibri.Service('lnet:tcp(127.0.0.1)/7988', ops, directory='/var/tmp/kv'):
        with colibri.Client('lnet:tcp(127.0.0.2)/7988:127.0.0.1@tcp') as client:
            client.update(1, b'greeting', b'hello')
            print(client.query(2, b'greeting'))

An update is executed exactly once, whatever the network does; a query reads a snapshot
of the store. docs/easy.md of Colibri says more about places, bounds and errors.

connect() and serve() are for asyncio; Node is a running `colibri node`. Errors are
OSError. The package needs libcolibri.so.1, or the library that $COLIBRI_LIBRARY names. A
process that forks must not use objects that it had before.
"""
from . import _lib
from .easy import (AsyncClient, AsyncService, Client, Operations, Service, connect, serve)
from .node import Node, NodeError
from .store import Blob, Request, Transaction

__all__ = ['AsyncClient', 'AsyncService', 'Blob', 'Client', 'Node', 'NodeError',
           'Operations', 'Request', 'Service', 'Transaction', 'connect', 'serve', 'version']


def version() -> str:
    """The version of the library."""
    return _lib.lib().m0_version().decode()
