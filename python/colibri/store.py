# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The request and the store, as a handler uses them."""
from __future__ import annotations

import ctypes
import errno
import os
import threading
import typing

from . import _lib

if typing.TYPE_CHECKING:
    from collections.abc import Iterator

#: Types that are accepted as bytes.
BytesLike = typing.Union[bytes, bytearray, memoryview]


def error(code: int, what: str) -> OSError:
    """The exception of a negative error number; TimeoutError and other subclasses
    follow from the number, as everywhere in Python."""
    return OSError(-code, f'{what}: {os.strerror(-code)}')


def copied(data: BytesLike | Blob) -> bytes:
    """A copy of `data`; TypeError if it is not bytes, where bytes() would take a number for
    a size."""
    if not isinstance(data, (bytes, bytearray, memoryview, Blob)):
        raise TypeError(f'this needs bytes, not {type(data).__name__}')
    return bytes(data)


class Blob:
    """Memory of the library, not copied: data of a request, or a value of the store.

    It can be put into the store, returned by a handler, or copied by bytes(). When the
    handler has returned, its memory is gone, and each use raises ValueError. The same is
    true of a value of the store after the next change of the store, whichever key that
    concerns: copy by bytes() what you need beyond it.
    """

    __slots__ = ('_part', '_request', '_changes')

    def __init__(self, part: _lib.Slice, request: Request, changes: int | None) -> None:
        self._part = part
        self._request = request
        # The count of changes when it was read; None: it is no value of the store.
        self._changes = changes

    def _slice(self) -> _lib.Slice:
        self._request._check()
        if self._changes is not None and self._changes != self._request._changes:
            raise ValueError('the store has changed since this value was read')
        return self._part

    def __len__(self) -> int:
        return self._slice().sl_nr

    def __bytes__(self) -> bytes:
        with self._request._lock:
            return _lib.bytes_of(self._slice())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (bytes, Blob)):
            return bytes(self) == bytes(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]


class Transaction:
    """The store of a service, as the transaction of one request sees it.

    It is used like a dictionary of bytes. Keys have 1 to 256 bytes, and the first is not
    0. Only updates may change it; their changes are committed together, or undone if the
    handler raises.
    """

    __slots__ = ('_request', '_tx')

    def __init__(self, request: Request, tx: int | None) -> None:
        self._request = request
        self._tx = tx

    def get(self, key: BytesLike) -> Blob | None:
        """The value of `key` without a copy, or None if there is none."""
        key, part = copied(key), _lib.Slice()
        with self._request._lock:
            self._request._check()
            rc = _lib.lib().m0_rpc_tx_get(self._tx, _lib.slice_of(key),
                                          ctypes.byref(part))
            changes = self._request._changes
        if rc == -errno.ENOENT:
            return None
        if rc != 0:
            raise error(rc, 'get')
        return Blob(part, self._request, changes)

    def put(self, key: BytesLike, value: BytesLike | Blob) -> None:
        """Sets the value of `key`."""
        key = copied(key)
        if not isinstance(value, Blob):
            value = copied(value)
        with self._request._lock:
            self._request._check()
            part = value._slice() if isinstance(value, Blob) else _lib.slice_of(value)
            self._request._changes += 1
            rc = _lib.lib().m0_rpc_tx_put(self._tx, _lib.slice_of(key), part)
        if rc != 0:
            raise error(rc, 'put')

    def delete(self, key: BytesLike) -> bool:
        """Deletes `key`. False: there was none."""
        key = copied(key)
        with self._request._lock:
            self._request._check()
            self._request._changes += 1
            rc = _lib.lib().m0_rpc_tx_del(self._tx, _lib.slice_of(key))
        if rc not in (0, -errno.ENOENT):
            raise error(rc, 'del')
        return rc == 0

    def items(self, prefix: BytesLike = b'') -> Iterator[tuple[bytes, Blob]]:
        """Keys that begin with `prefix`, in their order, each with its value. The store
        may be changed meanwhile."""
        prefix = copied(prefix)
        key, found, value = prefix, _lib.Slice(), _lib.Slice()
        if prefix and (first := self.get(prefix)) is not None:
            yield prefix, first
        while True:
            with self._request._lock:
                self._request._check()
                rc = _lib.lib().m0_rpc_tx_next(self._tx, _lib.slice_of(key),
                                               ctypes.byref(found), ctypes.byref(value))
                changes = self._request._changes
                if rc == 0:
                    key = _lib.bytes_of(found)
            if rc == -errno.ENOENT:
                return
            if rc != 0:
                raise error(rc, 'next')
            if not key.startswith(prefix):
                return
            yield key, Blob(_lib.Slice(value.sl_data, value.sl_nr), self._request,
                            changes)

    def __getitem__(self, key: BytesLike) -> bytes:
        value = self.get(key)
        if value is None:
            raise KeyError(copied(key))
        return bytes(value)

    __setitem__ = put

    def __delitem__(self, key: BytesLike) -> None:
        if not self.delete(key):
            raise KeyError(copied(key))

    def __contains__(self, key: BytesLike) -> bool:
        return self.get(key) is not None

    def __iter__(self) -> Iterator[bytes]:
        return (key for key, _ in self.items())


class Request:
    """A request as its handler sees it. It ends when the handler returns."""

    __slots__ = ('opcode', 'args', 'data', 'tx', 'client', '_open', '_changes', '_lock')

    #: Number of the operation.
    opcode: int
    #: Small arguments, for example a key; at most 4096 bytes.
    args: bytes
    #: Data of an update, up to 1 GiB; bytes(request.data) copies it.
    data: Blob
    #: The store.
    tx: Transaction
    #: Identifies the client: the same number for all its requests.
    client: int

    def __init__(self, raw: _lib.Request) -> None:
        self._open = True
        # Held where the library's memory is used: a coroutine or a thread of the handler
        # may still run when the request ends.
        self._lock = threading.Lock()
        # Changes of the store so far.
        self._changes = 0
        self.opcode = raw.erq_opcode
        self.args = _lib.bytes_of(raw.erq_args)
        self.data = Blob(_lib.Slice(raw.erq_data.sl_data, raw.erq_data.sl_nr), self,
                         None)
        self.tx = Transaction(self, raw.erq_tx)
        self.client = raw.erq_client.u_hi << 64 | raw.erq_client.u_lo

    def _check(self) -> None:
        if not self._open:
            raise ValueError('the handler of this request has returned')

    def _end(self) -> None:
        with self._lock:
            self._open = False
