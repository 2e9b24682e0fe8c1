# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Services and clients, on m0/easy.h."""
from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextvars
import ctypes
import errno
import inspect
import logging
import os
import threading
import typing

from . import _lib
from .store import Blob, BytesLike, Request, copied, error

if typing.TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger('colibri')

#: The result of a handler; None is an empty one.
Result = typing.Union[bytes, bytearray, memoryview, Blob, None]
Handler = typing.Callable[[Request], Result]
Self = typing.TypeVar('Self')

# Results of queries, until the library has sent them: address -> [object, uses].
_held: dict[int, list] = {}
_held_lock = threading.Lock()
# Open handles. The library calls into them until they are closed, so the set keeps them
# alive, whether or not the program does; _close_all() closes the rest before the
# interpreter ends.
_open: set[_Handle] = set()
# The thread or the task that runs a handler; what it begins inherits the variable, but is
# another task.
_in_handler: contextvars.ContextVar[object] = contextvars.ContextVar('_in_handler',
                                                                     default=None)


def _runner() -> object:
    """Identifies the task that runs here, or the thread."""
    try:
        task = asyncio.current_task()
    except RuntimeError:           # There is no loop.
        task = None
    return threading.get_ident() if task is None else task


def _refuse_in_handler() -> None:
    if _in_handler.get() == _runner():
        raise RuntimeError('a handler cannot close a service or a client')


@_lib.Free
def _release(addr: int) -> None:
    with _held_lock:
        held = _held[addr]
        held[1] -= 1
        if held[1] == 0:
            del _held[addr]


def _hold(data: bytes) -> _lib.Slice:
    part = _lib.slice_of(data)
    with _held_lock:
        _held.setdefault(part.sl_data, [data, 0])[1] += 1
    return part


@atexit.register
def _close_all() -> None:
    for handle in list(_open):
        handle.close()


class Operations:
    """A table of operations; its decorators add handlers to it.

    A handler returns the result: bytes, a Blob or None. If it raises, the client gets an
    error and the service goes on: the number of an OSError, ENOENT of a KeyError, EINVAL
    of a ValueError or TypeError, ENOMEM of a MemoryError, EIO of all others; unless it is
    an OSError or a KeyError, the logger "colibri" gets the traceback. An update that has
    raised has changed nothing.

    Updates run one at a time on a thread of the library, and must not wait. Queries run
    on eight threads, beside updates, and may block; within an asyncio program they may be
    coroutines (serve()).
    """

    def __init__(self) -> None:
        self._table: dict[int, tuple[int, str, Handler]] = {}

    def _add(self, kind: int, opcode: int, name: str | None) -> Callable[[Handler], Handler]:
        if opcode in self._table:
            raise ValueError(f'there is an operation {opcode} already')
        if not 0 <= opcode < 1 << 32:
            raise ValueError('an opcode has 32 bits')

        def add(handler: Handler) -> Handler:
            if kind == _lib.UPDATE and inspect.iscoroutinefunction(handler):
                raise TypeError('an update cannot be a coroutine: it must not wait')
            self._table[opcode] = kind, name or handler.__name__, handler
            return handler
        return add

    def update(self, opcode: int, name: str | None = None) -> Callable[[Handler], Handler]:
        """Adds an operation that changes the store, exactly once for each call."""
        return self._add(_lib.UPDATE, opcode, name)

    def query(self, opcode: int, name: str | None = None) -> Callable[[Handler], Handler]:
        """Adds an operation that reads a snapshot of the store."""
        return self._add(_lib.QUERY, opcode, name)


def _ns(timeout: float | None) -> int:
    return 0 if timeout is None else max(1, int(timeout * 1e9))


def _number_of(exc: BaseException) -> int:
    if isinstance(exc, KeyError):
        return -errno.ENOENT
    # The errno of OSError('cannot open', 'file') is a text.
    if isinstance(exc, OSError) and isinstance(exc.errno, int) and 0 < exc.errno < 4096:
        return -exc.errno
    if isinstance(exc, (asyncio.CancelledError, concurrent.futures.CancelledError)):
        return -errno.ECANCELED
    log.error('a handler failed', exc_info=exc)
    if isinstance(exc, MemoryError):
        return -errno.ENOMEM
    return -errno.EINVAL if isinstance(exc, (ValueError, TypeError)) else -errno.EIO


def _code_of(exc: BaseException) -> int:
    try:
        return _number_of(exc)
    except BaseException:          # A handler of the log, for example, may raise.
        return -errno.EIO


class _Handle:
    """The base of services and clients: opens and closes them."""

    def __init__(self) -> None:
        self._handle = ctypes.c_void_p()
        # Held where the library uses the handle without blocking.
        self._lock = threading.Lock()

    def _start(self, place: str | None, cfg: _lib.Cfg) -> None:
        why = ctypes.create_string_buffer(_lib.WHY_BYTES)
        _open.add(self)            # An interrupt may come as soon as it is open.
        rc = _lib.lib().m0_easy_open(ctypes.byref(self._handle),
                                     None if place is None else os.fsencode(place),
                                     ctypes.byref(cfg), why)
        if rc != 0:
            _open.discard(self)
            text = why.value.decode(errors='replace')
            raise OSError(-rc, text or os.strerror(-rc))

    def _it(self) -> ctypes.c_void_p:
        if not self._handle:
            raise ValueError('it is closed')
        return self._handle

    @property
    def address(self) -> str:
        """Its own address, as a client's place has it after "lnet:NETWORKS:"."""
        return _lib.lib().m0_easy_addr(self._it()).decode()

    def _stop(self) -> None:
        """Ends handlers that close() would wait for."""

    def close(self) -> None:
        """Ends it. Calls that are outstanding end with ECANCELED. Idempotent; blocks for
        some seconds at most, and must not be called by a handler."""
        _refuse_in_handler()
        self._stop()
        with self._lock:
            handle, self._handle = self._handle, ctypes.c_void_p()
            _open.discard(self)
        if handle:
            _lib.lib().m0_easy_close(handle)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Service(_Handle):
    """A service; a context manager. It runs until close() or the end of the process, also
    if the program keeps no reference to it.

    place       "lnet:NETWORKS[/PORT][:ADDRESS]", such as "lnet:tcp(eth0)/7988";
                None stands for the networks of $M0_LNET, or tcp on the first device.
    operations  the table.
    directory   of its durable store, made if it is missing; None: the store is in memory.
    store_max   largest size of the store in bytes; 0: 64 GiB, in memory 4 GiB.
    memory_max  bytes that requests and results may take at once; 0: 4 GiB.

    Raises OSError with the reason.
    """

    def __init__(self, place: str | None, operations: Operations, *,
                 directory: str | os.PathLike[str] | None = None, store_max: int = 0,
                 memory_max: int = 0,
                 loop: asyncio.AbstractEventLoop | None = None) -> None:
        super().__init__()
        table = operations._table
        if not table:
            raise ValueError('a service needs an operation')
        self._loop = loop
        # Coroutines that run for handlers; None: the service closes.
        self._futures: set[concurrent.futures.Future] | None = set()
        self._futures_lock = threading.Lock()
        # The library keeps pointers to both until the end.
        self._ops = (_lib.Op * len(table))()
        self._keep = []
        for op, (opcode, (kind, name, handler)) in zip(self._ops, table.items()):
            if inspect.iscoroutinefunction(handler) and loop is None:
                raise TypeError('coroutines need colibri.serve()')
            op.eo_opcode, op.eo_kind, op.eo_name = opcode, kind, name.encode()
            op.eo_handler = _lib.Handler(self._wrap(handler))
            self._keep.append(op.eo_handler)
        self._start(place, _lib.Cfg(
            en_ops=self._ops, en_ops_nr=len(table),
            en_dir=None if directory is None else os.fsencode(directory),
            en_store_bytes_max=store_max, en_memory_max=memory_max))

    def _await(self, handler: Handler, request: Request) -> Result:
        """Runs a coroutine on the loop, for a handler."""
        async def run() -> Result:
            _in_handler.set(_runner())
            return await handler(request)

        coroutine = run()
        with self._futures_lock:
            if self._futures is None:
                coroutine.close()
                raise concurrent.futures.CancelledError
            try:
                future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
            except RuntimeError:   # The loop is closed.
                coroutine.close()
                raise concurrent.futures.CancelledError from None
            self._futures.add(future)
        try:
            return future.result()
        finally:
            with self._futures_lock:
                if self._futures is not None:
                    self._futures.discard(future)

    def _stop(self) -> None:
        # The loop may have stopped, or be the caller's: nothing here waits for it.
        with self._futures_lock:
            futures, self._futures = self._futures or (), None
        for future in futures:
            future.cancel()

    def _wrap(self, handler: Handler) -> Callable:
        coroutine = inspect.iscoroutinefunction(handler)

        def run(_ctx: int, raw: typing.Any, reply: typing.Any) -> int:
            request = None
            _in_handler.set(_runner())
            try:
                request = Request(raw[0])
                if coroutine:
                    result = self._await(handler, request)
                else:
                    result = handler(request)
                if isinstance(result, Blob):
                    reply[0].ep_data = result._slice()
                elif result is not None and len(result := copied(result)) > 0:
                    reply[0].ep_data = _hold(result)
                    reply[0].ep_free = _release
                return 0
            except BaseException as exc:   # No exception may pass through C.
                return _code_of(exc)
            finally:
                _in_handler.set(None)
                if request is not None:
                    request._end()
        return run


class _Pending:
    """A call that has begun, and all that the library points to."""

    __slots__ = ('call', 'args', 'data', 'ended')

    def __init__(self, kind: int, opcode: int, args: BytesLike, data: BytesLike,
                 timeout: float | None, ended: Callable[[], None]) -> None:
        self.args, self.data, self.ended = copied(args), copied(data), ended
        self.call = _lib.Call(
            ec_opcode=opcode, ec_kind=kind, ec_args=_lib.slice_of(self.args),
            ec_data=_lib.slice_of(self.data),
            ec_timeout_ns=_ns(timeout),
            ec_done=_done)

    def begin(self, client: _Handle) -> None:
        addr = ctypes.addressof(self.call)
        with client._lock:
            handle = client._it()
            _calls[addr] = self
            rc = _lib.lib().m0_easy_begin(handle, ctypes.byref(self.call))
        if rc != 0:
            del _calls[addr]
            raise error(rc, f'operation {self.call.ec_opcode}')

    def cancel(self, client: _Handle) -> None:
        """Has it end soon; a client that is closed has ended it."""
        with client._lock:
            if client._handle:
                _lib.lib().m0_easy_cancel(client._handle, ctypes.byref(self.call))

    def result(self) -> bytes:
        """The result after the end; once."""
        call = self.call
        try:
            if call.ec_rc != 0:
                raise error(call.ec_rc, f'operation {call.ec_opcode}')
            return _lib.bytes_of(_lib.Slice(call.ec_out, call.ec_out_nr))
        finally:
            self.drop()

    def drop(self) -> None:
        _lib.lib().m0_free(self.call.ec_out)
        self.call.ec_out = None


# Calls by their addresses, until they have ended.
_calls: dict[int, _Pending] = {}


@_lib.Done
def _done(call: typing.Any) -> None:
    _calls.pop(ctypes.addressof(call[0])).ended()


class Client(_Handle):
    """A client; a context manager. Any thread may call it.

    place    "lnet:NETWORKS[/PORT]:ADDRESS", such as "lnet:tcp(eth0)/7988:10.0.0.1@tcp".
    timeout  seconds that the constructor waits for the service, and the default of calls;
             None: 60.

    Raises OSError with the reason.
    """

    def __init__(self, place: str | None, *, timeout: float | None = None) -> None:
        super().__init__()
        self._start(place, _lib.Cfg(
            en_timeout_ns=_ns(timeout)))

    def _call(self, kind: int, opcode: int, args: BytesLike, data: BytesLike,
              timeout: float | None) -> bytes:
        ended = threading.Event()
        pending = _Pending(kind, opcode, args, data, timeout, ended.set)
        pending.begin(self)
        try:
            ended.wait()
        except BaseException:      # Such as KeyboardInterrupt.
            pending.cancel(self)
            ended.wait()
            pending.drop()
            raise
        return pending.result()

    def update(self, opcode: int, args: BytesLike = b'', data: BytesLike = b'', *,
               timeout: float | None = None) -> bytes:
        """Has an update executed, exactly once, and returns its result.

        Raises OSError with the handler's number, or of the library: TimeoutError or
        ECANCELED (the update may have been executed, or may be executed yet), ENOSYS (no
        such operation), EPROTO (it is a query), ESTALE (the service died, and its store
        was in memory).
        """
        return self._call(_lib.UPDATE, opcode, args, data, timeout)

    def query(self, opcode: int, args: BytesLike = b'', data: BytesLike = b'', *,
              timeout: float | None = None) -> bytes:
        """Asks a query and returns its result, of up to 1 GiB. Raises as update()."""
        return self._call(_lib.QUERY, opcode, args, data, timeout)


class _Async:
    """The base of what asyncio programs use: closes a service or client on a thread."""

    def __init__(self, handle: _Handle, loop: asyncio.AbstractEventLoop) -> None:
        self._handle = handle
        self._loop = loop

    @property
    def address(self) -> str:
        """Its own address."""
        return self._handle.address

    async def close(self) -> None:
        """Ends it. Cancels coroutines of queries and waits for the other handlers; must
        not be called by a handler, but by a task that it makes."""
        _refuse_in_handler()
        await self._loop.run_in_executor(None, self._handle.close)

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncClient(_Async):
    """A client for asyncio, made by connect(); an asynchronous context manager. A call
    whose task is cancelled is cancelled. It belongs to the loop that made it."""

    async def _call(self, kind: int, opcode: int, args: BytesLike, data: BytesLike,
                    timeout: float | None) -> bytes:
        loop = self._loop
        future: asyncio.Future[None] = loop.create_future()

        def finish() -> None:
            if future.done():      # The task was cancelled.
                pending.drop()
            else:
                future.set_result(None)

        def ended() -> None:       # On a thread of the library.
            try:
                loop.call_soon_threadsafe(finish)
            except RuntimeError:   # The loop is closed.
                pending.drop()

        pending = _Pending(kind, opcode, args, data, timeout, ended)
        pending.begin(self._handle)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                pending.drop()
            else:
                pending.cancel(self._handle)
            raise
        return pending.result()

    async def update(self, opcode: int, args: BytesLike = b'', data: BytesLike = b'', *,
                     timeout: float | None = None) -> bytes:
        """As Client.update()."""
        return await self._call(_lib.UPDATE, opcode, args, data, timeout)

    async def query(self, opcode: int, args: BytesLike = b'', data: BytesLike = b'', *,
                    timeout: float | None = None) -> bytes:
        """As Client.query()."""
        return await self._call(_lib.QUERY, opcode, args, data, timeout)


async def connect(place: str | None, *, timeout: float | None = None) -> AsyncClient:
    """Makes a client for asyncio; the arguments are those of Client."""
    loop = asyncio.get_running_loop()
    client = await loop.run_in_executor(None, lambda: Client(place, timeout=timeout))
    return AsyncClient(client, loop)


class AsyncService(_Async):
    """A service in an asyncio program, made by serve(); an asynchronous context
    manager."""


async def serve(place: str | None, operations: Operations, **options: typing.Any
                ) -> AsyncService:
    """Makes a service whose queries may be coroutines, which run on this loop; the
    arguments are those of Service."""
    loop = asyncio.get_running_loop()
    service = await loop.run_in_executor(
        None, lambda: Service(place, operations, loop=loop, **options))
    return AsyncService(service, loop)
