# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Services and clients: each kind of result, error and end."""
import asyncio
import contextlib
import errno
import gc
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref

import colibri
from colibri import _lib

PUT, GET, DEL, KEYS, FAIL, WAIT, ECHO, ADD, KEPT, LATER, SWAP, TYPES = range(12)
BIG = 3 << 20


class Table:
    """Operations, and what their handlers have seen."""

    def __init__(self):
        self.ops = ops = colibri.Operations()
        self.kept = []
        self.clients = set()
        self.go = threading.Event()

        @ops.update(PUT)
        def put(request):
            self.clients.add(request.client)
            request.tx.put(request.args, request.data)
            return str(len(request.data)).encode()

        @ops.query(GET)
        def get(request):
            value = request.tx.get(request.args)
            if value is None:
                raise KeyError(request.args)
            return value

        @ops.update(DEL)
        def delete(request):
            del request.tx[request.args]

        @ops.query(KEYS)
        def keys(request):
            return b','.join(key for key, _ in request.tx.items(request.args))

        @ops.update(FAIL)
        def fail(request):
            request.tx[b'half'] = b'done'
            raise {b'value': ValueError('wrong'), b'os': PermissionError(errno.EACCES, 'no'),
                   b'exit': SystemExit(1), b'other': ZeroDivisionError(),
                   b'zero': OSError('without a number'),
                   b'text': OSError('cannot open', 'file')}[request.args]

        @ops.query(WAIT)
        def wait(_request):
            self.go.wait(30)

        @ops.query(ECHO)
        def echo(request):
            return bytearray(request.args) * 1000

        @ops.update(ADD)
        def add(request):
            total = int(request.tx[b'sum'] if b'sum' in request.tx else b'0')
            request.tx[b'sum'] = b'%d' % (total + int(request.args))
            return request.tx[b'sum']

        @ops.update(SWAP)
        def swap(request):
            """Swaps x and y, by copies or not."""
            tx, copy = request.tx, request.args == b'copy'
            x, y = tx.get(b'x'), tx.get(b'y')
            if copy:
                x = bytes(x)
            tx.put(b'x', y)
            tx.put(b'y', x)
            for key, value in tx.items(b'x'):
                tx.put(b'z', value)
                tx.delete(key)
                tx.put(key, tx.get(b'z'))
            return tx.get(b'y')

        @ops.update(TYPES)
        def types(request):
            tx, wrong = request.tx, 0
            for use in (lambda: tx.put(b'n', 5), lambda: tx.put(5, b'n'), lambda: tx.get(5),
                        lambda: tx.delete(5), lambda: list(tx.items(5)), lambda: tx[5],
                        lambda: tx.put(b'n', [1, 2]), lambda: tx.put(b'n', 'text')):
                try:
                    use()
                except TypeError:
                    wrong += 1
            return wrong if request.args == b'number' else b'%d' % wrong

        @ops.update(KEPT)
        def keep(request):
            self.kept.append(request)


@contextlib.contextmanager
def pair(port, **options):
    table = Table()
    with colibri.Service(f'mem:127.0.0.1:{port}', table.ops, **options) as service:
        with colibri.Client(f'mem:{service.address}') as client:
            yield table, client


class Easy(unittest.TestCase):
    port = 7100

    def setUp(self):
        logging.getLogger('colibri').setLevel(logging.CRITICAL)
        Easy.port += 1

    def test_values_of_any_size(self):
        with pair(self.port) as (table, client):
            for size in (0, 1, 5000, 200000, BIG):
                data = os.urandom(size)
                self.assertEqual(client.update(PUT, b'key', data), b'%d' % size)
                self.assertEqual(client.query(GET, b'key'), data)
            self.assertEqual(client.update(PUT, bytearray(b'k2'), memoryview(b'xy')), b'2')
            self.assertEqual(client.query(ECHO, b'ab'), b'ab' * 1000)
            self.assertEqual(client.query(KEYS), b'k2,key')
            self.assertEqual(client.query(KEYS, b'ke'), b'key')
            client.update(DEL, b'key')
            with self.assertRaises(FileNotFoundError):
                client.query(GET, b'key')
            with self.assertRaises(FileNotFoundError):
                client.update(DEL, b'key')
            self.assertEqual(len(table.clients), 1)
        self.assertEqual(colibri.easy._held, {})
        self.assertEqual(colibri.easy._calls, {})

    def test_a_handler_that_raises_gives_an_error_and_the_service_lives(self):
        with pair(self.port) as (_, client):
            for args, want in ((b'value', errno.EINVAL), (b'os', errno.EACCES),
                               (b'exit', errno.EIO), (b'other', errno.EIO),
                               (b'zero', errno.EIO), (b'text', errno.EIO),
                               (b'no such', errno.ENOENT)):
                with self.assertRaises(OSError) as caught:
                    client.update(FAIL, args)
                self.assertEqual(caught.exception.errno, want, args)
            # Nothing of them is left, and the next call works.
            with self.assertRaises(FileNotFoundError):
                client.query(GET, b'half')
            client.update(PUT, b'key', b'value')

    def test_a_log_that_raises_gives_an_error(self):
        class Broken(logging.Handler):
            def emit(self, _record):
                raise RuntimeError('the disk is full')

        broken, log = Broken(), logging.getLogger('colibri')
        log.setLevel(logging.ERROR)
        log.addHandler(broken)
        self.addCleanup(log.removeHandler, broken)
        with pair(self.port) as (_, client):
            with self.assertRaises(OSError) as caught:
                client.update(FAIL, b'other', timeout=5)
            self.assertEqual(caught.exception.errno, errno.EIO)
            with self.assertRaises(FileNotFoundError):
                client.query(GET, b'half')

    def test_only_bytes_are_bytes(self):
        with pair(self.port) as (_, client):
            self.assertEqual(client.update(TYPES), b'8')
            with self.assertRaises(OSError) as caught:
                client.update(TYPES, b'number')
            self.assertEqual(caught.exception.errno, errno.EINVAL)
            for wrong in ((1 << 40, b''), (b'', 5), ('text', b'')):
                with self.assertRaises(TypeError):
                    client.update(PUT, *wrong)

    def test_tracebacks_go_to_the_log(self):
        logging.getLogger('colibri').setLevel(logging.ERROR)
        with pair(self.port) as (_, client), self.assertLogs('colibri') as logs:
            with self.assertRaises(OSError):
                client.update(FAIL, b'other')
        self.assertIn('ZeroDivisionError', logs.output[0])

    def test_errors_of_the_library(self):
        with pair(self.port) as (table, client):
            with self.assertRaises(OSError) as caught:
                client.query(99)
            self.assertEqual(caught.exception.errno, errno.ENOSYS)
            with self.assertRaises(OSError) as caught:
                client.query(PUT, b'key')
            self.assertEqual(caught.exception.errno, errno.EPROTO)
            with self.assertRaises(OSError) as caught:
                client.query(ECHO, b'x' * 4097)
            self.assertEqual(caught.exception.errno, errno.EMSGSIZE)
            with self.assertRaises(TimeoutError):
                client.query(WAIT, timeout=0.2)
            table.go.set()
        with self.assertRaisesRegex(OSError, 'nonsense'):
            colibri.Client('nonsense')
        with self.assertRaises(ValueError):
            client.query(GET, b'key')
        client.close()
        with self.assertRaises(ValueError):
            colibri.Service('mem:127.0.0.1:1', colibri.Operations())

    def test_what_has_ended_is_not_used(self):
        with pair(self.port) as (table, client):
            client.update(KEPT, b'', b'data')
            old = table.kept[0]
            self.assertEqual(old.args, b'')
            for use in (lambda: bytes(old.data), lambda: len(old.data),
                        lambda: old.tx.get(b'key'), lambda: old.tx.put(b'k', b'v'),
                        lambda: list(old.tx)):
                with self.assertRaises(ValueError):
                    use()

    def test_a_value_ends_with_the_next_change(self):
        with tempfile.TemporaryDirectory() as directory:
            for number, options in enumerate(({}, {'directory': directory})):
                with pair(self.port + 200 * number, **options) as (_, client):
                    client.update(PUT, b'x', b'one')
                    client.update(PUT, b'y', b'two' * 1000)
                    with self.assertRaises(OSError) as caught:
                        client.update(SWAP)
                    self.assertEqual(caught.exception.errno, errno.EINVAL)
                    self.assertEqual(client.query(GET, b'x'), b'one')
                    self.assertEqual(client.update(SWAP, b'copy'), b'one')
                    self.assertEqual(client.query(GET, b'x'), b'two' * 1000)
                    self.assertEqual(client.query(GET, b'y'), b'one')

    def test_many_threads(self):
        with pair(self.port) as (_, client):
            def work():
                for _ in range(50):
                    client.update(ADD, b'1')
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(client.query(GET, b'sum'), b'200')

    def test_an_interrupt_ends_a_call(self):
        with pair(self.port) as (table, client):
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            begun = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                client.query(WAIT)
            self.assertLess(time.monotonic() - begun, 20)
            timer.join()
            table.go.set()
            client.update(PUT, b'key', b'value')

    def test_a_service_without_a_reference_goes_on(self):
        service = colibri.Service(f'mem:127.0.0.1:{self.port}', Table().ops)
        place, ref = f'mem:{service.address}', weakref.ref(service)
        del service
        gc.collect()
        self.assertIsNotNone(ref())
        with colibri.Client(place) as client:
            self.assertEqual(client.query(ECHO, b'ab'), b'ab' * 1000)
        ref().close()
        gc.collect()
        self.assertIsNone(ref())

    def test_a_store_that_lasts(self):
        with tempfile.TemporaryDirectory() as directory:
            with pair(self.port, directory=directory) as (_, client):
                client.update(ADD, b'40')
                client.update(PUT, b'big', b'x' * BIG)
            with pair(self.port + 500, directory=directory) as (_, client):
                self.assertEqual(client.update(ADD, b'2'), b'42')
                self.assertEqual(client.query(GET, b'big'), b'x' * BIG)

    def test_a_program_that_forgets_to_close_ends(self):
        code = ('import colibri\nops = colibri.Operations()\n'
                'ops.query(1)(lambda request: b"yes")\n'
                f's = colibri.Service("mem:127.0.0.1:{self.port}", ops)\n'
                'c = colibri.Client("mem:" + s.address)\nprint(c.query(1))\n')
        done = subprocess.run([sys.executable, '-c', code], stdout=subprocess.PIPE,
                              timeout=60, check=True)
        self.assertEqual(done.stdout, b"b'yes'\n")

    def test_structures_are_those_of_the_library(self):
        path = os.environ.get('COLIBRI_LAYOUT')
        if not path:
            self.skipTest('no list of structures')
        with open(path, encoding='utf-8') as f:
            lines = set(f.read().split('\n'))
        for name, struct in _lib.STRUCTURES.items():
            self.assertIn(f'struct {name}: {_lib.ctypes.sizeof(struct)}', lines)
            for field, *_ in struct._fields_:
                member = getattr(struct, field)
                self.assertIn(f'{name}.{field} at {member.offset}, {member.size}', lines)

    def test_the_version(self):
        self.assertRegex(colibri.version(), r'^\d+\.\d+\.\d+')


class Async(unittest.TestCase):
    def setUp(self):
        logging.getLogger('colibri').setLevel(logging.CRITICAL)

    def test_services_and_clients_of_a_loop(self):
        ops = colibri.Operations()

        @ops.query(LATER)
        async def later(request):
            await asyncio.sleep(float(request.args))
            return request.args

        @ops.update(PUT)
        def put(request):
            request.tx.put(request.args, b'x')

        with self.assertRaises(TypeError):
            @ops.update(GET)
            async def wrong(_request):
                pass
        with self.assertRaises(TypeError):
            colibri.Service('mem:127.0.0.1:7900', ops)

        async def main():
            async with await colibri.serve('mem:127.0.0.1:7901', ops) as service:
                async with await colibri.connect('mem:' + service.address) as client:
                    await client.update(PUT, b'key')
                    got = await asyncio.gather(
                        *(client.query(LATER, b'0.%d' % i) for i in range(5)))
                    self.assertEqual(got, [b'0.%d' % i for i in range(5)])
                    with self.assertRaises(OSError):
                        await client.query(LATER, b'not a number')
                    task = asyncio.create_task(client.query(LATER, b'2'))
                    await asyncio.sleep(0.1)
                    task.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await task
                    with self.assertRaises(asyncio.TimeoutError):
                        await asyncio.wait_for(client.query(LATER, b'2'), 0.1)
        asyncio.run(main())
        self.assertEqual(colibri.easy._calls, {})
        self.assertEqual(colibri.easy._held, {})

    def test_a_loop_that_has_stopped_holds_nothing_up(self):
        # One service is closed by the loop's thread, the other at the end.
        code = '''
import asyncio, colibri, threading
ops, begun = colibri.Operations(), threading.Event()

@ops.query(1)
async def hang(_request):
    begun.set()
    await asyncio.sleep(1000)

def ask(port):
    service = colibri.Service(f"mem:127.0.0.1:{port}", ops, loop=loop)
    client = colibri.Client("mem:" + service.address)
    def call():
        try:
            client.query(1, timeout=20)
        except OSError as error:
            print(type(error).__name__, error.errno, flush=True)
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return service, client, thread

loop = asyncio.new_event_loop()

async def main():
    service, client, thread = ask(7910)
    await loop.run_in_executor(None, begun.wait)
    service.close()
    client.close()
    thread.join()
    begun.clear()
    kept = ask(7911)
    await loop.run_in_executor(None, begun.wait)

loop.run_until_complete(main())
print("end", flush=True)
'''
        done = subprocess.run([sys.executable, '-W', 'ignore', '-c', code], timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        lines = done.stdout.split(b'\n')
        self.assertRegex(lines[0], b'^[A-Za-z]*Error [0-9]+$')
        self.assertEqual(lines[1], b'end')

    def test_a_coroutine_cannot_close_its_service_but_a_task_can(self):
        ops, closed = colibri.Operations(), []

        @ops.query(LATER)
        async def later(request):
            if request.args == b'await':
                await service.close()
            if request.args == b'client':
                await client.close()
            closed.append(asyncio.create_task(service.close()))
            return b'soon'

        async def main():
            nonlocal service, client
            service = await colibri.serve('mem:127.0.0.1:7920', ops)
            client = await colibri.connect('mem:' + service.address)
            for args in (b'await', b'client'):
                with self.assertRaises(OSError) as caught:
                    await client.query(LATER, args, timeout=10)
                self.assertEqual(caught.exception.errno, errno.EIO)
            with contextlib.suppress(OSError):
                await client.query(LATER, timeout=2)
            await asyncio.wait_for(closed[0], 20)
            await client.close()

        service = client = None
        asyncio.run(main())

    def test_a_coroutine_that_outlives_its_request_cannot_use_it(self):
        ops, found = colibri.Operations(), []

        @ops.query(LATER)
        async def later(request):
            begun.set()
            try:
                await asyncio.sleep(100)
            finally:
                await asyncio.sleep(0.5)
                try:
                    request.tx.get(b'key')
                except ValueError as error:
                    found.append(error)
                ended.set()

        async def main():
            nonlocal begun, ended
            begun, ended = asyncio.Event(), asyncio.Event()
            service = await colibri.serve('mem:127.0.0.1:7930', ops)
            async with await colibri.connect('mem:' + service.address) as client:
                task = asyncio.create_task(client.query(LATER, timeout=5))
                await begun.wait()
                await service.close()
                await ended.wait()
                await asyncio.gather(task, return_exceptions=True)

        begun = ended = None
        asyncio.run(main())
        self.assertEqual(len(found), 1)


if __name__ == '__main__':
    unittest.main()
