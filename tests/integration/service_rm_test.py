# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Many removals at a time, and what ends them."""
import json
import os
import select
import signal
import subprocess

import cli
import service


class Removes(service.Case):
    def start_rm(self, *args):
        child = subprocess.Popen(
            [cli.COLIBRI, 'rm', '--json', *args], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def asked(self, liar, nr):
        """So many removals are asked for; none of them has an answer yet."""
        for i in range(nr):
            self.assertTrue(select.select([liar.stdout], [], [],
                                          cli.PATIENCE)[0],
                            f'{i} of {nr} are under way')
            self.assertEqual(liar.stdout.readline(), b'asked\n')

    def asks_no_more(self, liar):
        self.assertFalse(select.select([liar.stdout], [], [], 0.3)[0])

    def test_as_many_are_under_way_as_inflight_says(self):
        ep, liar = self.start_liar()
        for args in (('-r', f'{ep}:held'),
                     [f'{ep}:held/{i}' for i in range(20)]):
            child = self.start_rm('--inflight=8', *args)
            for nr in (8, 8, 4):
                self.asked(liar, nr)
                self.asks_no_more(liar)
                liar.stdin.write(b'.')
            out, text = child.communicate(timeout=cli.PATIENCE)
            self.assertEqual((child.returncode, text), (0, b''))
            self.assertEqual(json.loads(out), {'removed': 20})

    def test_signal_ends_it_after_what_is_under_way(self):
        ep, liar = self.start_liar()
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.start_rm('--inflight=4', '-r', f'{ep}:held')
            self.asked(liar, 4)
            child.send_signal(number)
            self.asks_no_more(liar)
            liar.stdin.write(b'.')
            out, text = child.communicate(timeout=cli.PATIENCE)
            self.assertEqual(child.returncode, 1, text)
            self.assertIn(b'interrupted; 4 are removed', text)
            self.assertEqual(json.loads(out), {'removed': 4})
            self.asks_no_more(liar)

    def test_signal_ends_it_if_there_is_no_answer(self):
        ep, liar = self.start_liar()
        child = self.start_rm('--timeout=600', '-r', f'{ep}:held')
        self.asked(liar, 20)
        child.send_signal(signal.SIGINT)
        _, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 1, text)
        self.assertIn(b'interrupted; 0 are removed', text)

    def put_some(self, server, nr):
        os.mkdir(self.path('src'))
        for i in range(nr):
            self.make(f'src/{i:03}', b'abc')
        self.json('put', '-r', self.path('src'), f'{server.ep}:')
        return [f'{server.ep}:src/{i:03}' for i in range(nr)]

    def test_some_that_are_missing(self):
        server = service.Server(self, '--sync', 'none')
        eps = self.put_some(server, 120)
        none = f'{server.ep}:none'
        # The first that is missing ends it, and is told of as it always was.
        result = self.run_client('rm', '--inflight=1', *eps[:30], none + '1',
                                 eps[30], none + '2')
        self.assert_refused(result, 1)
        self.assertEqual(result.stderr.decode(),
                         "colibri rm: object 'none1': no such object\n")
        self.assertEqual(len(self.names(server)), 90)
        # Beside others, too, of which those under way are removed.
        result = self.run_client('rm', '--inflight=16', eps[30], none + '1',
                                 *eps[31:])
        self.assert_refused(result, 1)
        self.assertEqual(result.stderr.decode(),
                         "colibri rm: object 'none1': no such object\n")
        left = self.names(server)
        self.assertLess(len(left), 90)
        self.assertEqual(left, [f'src/{i:03}' for i in
                                range(120 - len(left), 120)])
        # Several are told of one by one, in their order, and counted.
        result = self.run_client('rm', '--inflight=8', none + '2', eps[119],
                                 none + '1', f'{server.ep}:a//b')
        self.assert_refused(result, 1)
        lines = result.stderr.decode().splitlines()
        self.assertEqual(lines[:2],
                         ["colibri rm: object 'none2': no such object",
                          "colibri rm: object 'none1': no such object"])
        self.assertIn("'a//b': name not accepted", lines[2])
        self.assertEqual(lines[3:], ['colibri rm: 3 failed; 1 are removed'])
        # The recursive removal does not count the object that is gone already.
        self.assertEqual(self.json('rm', '-r', f'{server.ep}:'),
                         {'removed': len(left) - 1})


if __name__ == '__main__':
    cli.main()
