# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri`: help, version, what is no command; man pages know all options."""
import json
import os
import re

import cli

COMMANDS = ('copy', 'serve', 'put', 'get', 'ls', 'stat', 'rm', 'perf', 'node',
            'ping', 'discover', 'doctor', 'net', 'peer', 'stats', 'global', 'process',
            'top', 'metrics', 'capture', 'config', 'set', 'debug', 'route', 'explain', 'routing', 'udsp',
            'fault', 'lst', 'completion', 'version', 'help')
COMMON = {'help', 'usage', 'version'}
MAN = os.path.join(os.path.dirname(__file__), '..', '..', 'docs', 'man')


class Helps(cli.Case):
    def test_help_names_every_command(self):
        for args in (('--help',), ('-h',), ('help',)):
            result = cli.run(*args)
            self.assert_done(result)
            for command in COMMANDS:
                self.assertIn(f'  {command}', result.stdout.decode())

    def test_every_command_explains_itself(self):
        for command in COMMANDS:
            result = cli.run(command, '--help')
            self.assert_done(result)
            self.assertIn(f'Usage: colibri {command}', result.stdout.decode())
            again = cli.run('help', command)
            self.assertEqual(again.stdout, result.stdout)
            again = cli.run(command, '-h')
            self.assert_done(again)
            self.assertEqual(again.stdout, result.stdout)

    def test_every_command_has_the_version(self):
        text = cli.run('version').stdout
        for command in COMMANDS:
            for option in ('--version', '-V'):
                result = cli.run(command, option)
                self.assert_done(result)
                self.assertEqual(result.stdout, text)

    def test_version_in_two_forms(self):
        text = cli.run('version')
        self.assert_done(text)
        tree = json.loads(cli.run('version', '--json').stdout)
        self.assertIn(f'colibri {tree["command"]} ', text.stdout.decode())
        self.assertEqual(tree['command'], tree['library'])
        self.assertEqual(cli.run('--version').stdout, text.stdout)

    def test_what_is_no_command_is_told_which_are(self):
        for args in (('nosuch',), (), ('--nosuch',), ('help', 'nosuch')):
            self.assert_refused(cli.run(*args), 2, *args[-1:],
                                ', '.join(COMMANDS))

    def test_values_too_long_to_be_shown_hide_nothing(self):
        long = 5000 * 'a'
        self.assert_refused(cli.run('perf', '--test', long), 2,
                            "--test 'aaa", 'aaa...aaa', 'latency, rate')
        path = '/'.join([self.dir, *8 * [200 * 'a']])
        self.assert_refused(cli.run('copy', self.make('src'), path), 2,
                            f"DST '{self.dir}", 'No such file')

    def test_operands_that_nobody_wants(self):
        self.assert_refused(cli.run('version', 'x'), 2, "'x'")
        self.assert_refused(cli.run('help', 'copy', 'x'), 2, "'x'")
        self.assert_refused(cli.run('version', '--nosuch'), 2, '--nosuch')

    def test_closed_output_is_a_failure(self):
        with open('/dev/full', 'wb') as full:
            for args in (('help',), ('version',)):
                child = cli.subprocess.run([cli.COLIBRI, *args], stdout=full,
                                           stderr=cli.subprocess.PIPE,
                                           timeout=cli.PATIENCE, check=False)
                self.assertEqual(child.returncode, 1)
                self.assertIn(b'standard output', child.stderr)

    def test_man_pages_know_every_option_and_no_other(self):
        for command in COMMANDS[:-2]:
            text = cli.run(command, '--help').stdout.decode()
            options = set(re.findall(r'(?m)^ .*?--([a-z-]+)', text))
            options -= COMMON
            with open(os.path.join(MAN, f'colibri-{command}.1'),
                      encoding='utf-8') as file:
                page = file.read()
            heads = re.findall(r'(?ms)^\.It (Xo.*?\.Xc|.*?$)', page)
            known = set(re.findall(r'Fl -([a-z-]+)', ' '.join(heads)))
            self.assertTrue(known >= COMMON, command)
            self.assertEqual(known - COMMON, options)


if __name__ == '__main__':
    cli.main()
