# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A node by its control socket, and the examples: with the command $COLIBRI. Each service
and client has an address of its own of 127.0.0.0/8."""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

import colibri

COMMAND = os.environ.get('COLIBRI', 'colibri')
EXAMPLES = pathlib.Path(os.environ.get(
    'COLIBRI_EXAMPLES', pathlib.Path(__file__).resolve().parent.parent / 'examples'))


def run(example, *args, **options):
    return subprocess.run([sys.executable, EXAMPLES / example, *args], timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          **options)


class Control(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.dir.name, 'node.sock')
        cls.process = subprocess.Popen(
            [COMMAND, 'node', '--net', 'tcp(127.77.0.1)', '--port', '7990', '--source-ports',
             'any', '--accept', 'all', '--ctl', cls.path], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        for line in cls.process.stdout:
            if 'ready' in line:
                break
        cls.drain = threading.Thread(target=cls.process.stdout.read)
        cls.drain.start()
        cls.node = colibri.Node(cls.path, timeout=30)

    @classmethod
    def tearDownClass(cls):
        cls.process.send_signal(signal.SIGTERM)
        cls.process.wait(30)
        cls.drain.join()
        cls.process.stdout.close()
        cls.dir.cleanup()

    def test_what_it_shows(self):
        nids = [ni['nid'] for net in self.node.nets() for ni in net['local NI(s)']]
        self.assertEqual(nids, ['0@lo', '127.77.0.1@tcp'])
        self.assertIsInstance(self.node.peers(), list)
        self.assertIn('send_count', self.node.stats())
        self.assertEqual(self.node.ping('127.77.0.1@tcp')['primary nid'], '127.77.0.1@tcp')
        self.assertIn('net type: lo', self.node.ask('net.show'))

    def test_changes(self):
        self.node.request('route.add', route__net='tcp7', route__gateway='127.77.0.9@tcp')
        route, = self.node.routes()
        self.assertEqual((route['net'], route['gateway']), ('tcp7', '127.77.0.9@tcp'))
        self.node.request('route.del', route__net='tcp7', route__gateway='127.77.0.9@tcp')
        self.assertEqual(self.node.routes(), [])

    def test_errors(self):
        with self.assertRaisesRegex(colibri.NodeError, 'not a verb') as caught:
            self.node.request('bogus')
        self.assertEqual(caught.exception.status, 1)
        for word in ('two words', 'a\nb', ''):
            with self.assertRaises(ValueError):
                self.node.ask(word)
        with self.assertRaises(FileNotFoundError):
            colibri.Node(self.path + '.not').nets()

    def test_a_liar_at_the_socket(self):
        for answer in (b'', b'hello\n', b'status 0 5 0\nabc', b'status 0 999999999999 0\n',
                       b'status -1 0 0\n'):
            path = os.path.join(self.dir.name, 'liar')
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(path)
                server.listen()

                def lie():
                    peer, _ = server.accept()
                    with peer:
                        peer.recv(100)
                        peer.sendall(answer)
                thread = threading.Thread(target=lie)
                thread.start()
                with self.assertRaises(ConnectionError):
                    colibri.Node(path, timeout=10).ask('net.show')
                thread.join()
            os.unlink(path)

    def test_the_example_for_administrators(self):
        well = run('watch_node.py', '--ctl', self.path, '127.77.0.1@tcp')
        self.assertEqual((well.returncode, well.stdout), (0, b''), well.stderr)
        ill = run('watch_node.py', '--ctl', self.path, '127.77.0.200@tcp')
        self.assertEqual(ill.returncode, 1)
        self.assertIn(b'127.77.0.200@tcp does not answer', ill.stdout)
        self.assertEqual(run('watch_node.py', '--ctl', '/nonexistent').returncode, 2)


class Values(unittest.TestCase):
    def test_the_example_of_a_service_is_durable(self):
        place = 'lnet:tcp(127.77.1.2)/7991:127.77.1.1@tcp'
        with tempfile.TemporaryDirectory() as directory:
            def serve():
                service = subprocess.Popen(
                    [sys.executable, EXAMPLES / 'kv.py', 'serve',
                     'lnet:tcp(127.77.1.1)/7991', directory], stdout=subprocess.PIPE)
                self.assertIn(b'127.77.1.1@tcp', service.stdout.readline())
                service.stdout.close()
                return service
            service = serve()
            try:
                put = run('kv.py', place, 'put', 'greeting', input=b'hello' * 100000)
                self.assertEqual(put.returncode, 0, put.stderr)
                service.kill()
                service.wait()
                service = serve()
                got = run('kv.py', place, 'get', 'greeting')
                self.assertEqual(got.stdout, b'hello' * 100000, got.stderr)
                self.assertIn(b'No such file', run('kv.py', place, 'get', 'no').stderr)
                service.terminate()
                self.assertEqual(service.wait(30), 0)
            finally:
                service.kill()
                service.wait()


if __name__ == '__main__':
    unittest.main()
