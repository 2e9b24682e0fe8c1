# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri completion`: scripts, and what bash offers with one of them."""
import os
import re
import shutil
import subprocess

import cli

BASH = shutil.which('bash')
# Runs the function as bash does. Words are separated by tabs.
DRIVER = '''
. "$1"
IFS=$'\\t' read -ra COMP_WORDS <<< "$2"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
[[ $2 == *$'\\t' ]] && COMP_WORDS+=('') && COMP_CWORD=$((COMP_CWORD + 1))
COMPREPLY=()
_colibri
printf '%s\\n' "${COMPREPLY[@]}"
'''


class Case(cli.Case):
    def setUp(self):
        super().setUp()
        self.script = self.path('colibri.sh')
        done = cli.run('completion', 'bash')
        self.assert_done(done)
        self.make('colibri.sh', done.stdout)

    def offered(self, *words):
        """Candidates for the last word."""
        done = subprocess.run([BASH, '-c', DRIVER, 'bash', self.script,
                               '\t'.join(words)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=True,
                              timeout=cli.PATIENCE)
        self.assertEqual(done.stderr, b'')
        return done.stdout.decode().split()


class Scripts(Case):
    def test_shells_accept_the_scripts(self):
        for shell, checker in (('bash', BASH), ('zsh', shutil.which('zsh'))):
            text = cli.run('completion', shell)
            self.assert_done(text)
            if checker is not None:
                subprocess.run([checker, '-n', '/dev/stdin'], input=text.stdout,
                               check=True, timeout=cli.PATIENCE)

    def test_both_shells_have_the_same_functions(self):
        scripts = [cli.run('completion', shell).stdout.decode()
                   for shell in ('bash', 'zsh')]
        parts = [re.search(r'(?s)_colibri_command\(\).*(?=\n_colibri\(\))',
                           script)[0] for script in scripts]
        self.assertEqual(*parts)
        self.assertTrue(scripts[1].startswith('#compdef colibri lnetctl\n'))
        # Parameters of zsh with these names have a type of their own.
        self.assertNotRegex(parts[0], r'\b(options|commands|words|functions)=')

    def test_words_that_are_none(self):
        for words, want in (((), 'bash, zsh'), (('fish',), "'fish'"),
                            (('bash', 'x'), "'x'")):
            self.assert_refused(cli.run('completion', *words), 2, want)


@cli.unittest.skipIf(BASH is None, 'no bash')
class Bash(Case):
    def commands(self):
        return re.findall(r'(?m)^  (\w+)', cli.run('help').stdout.decode())

    def test_commands(self):
        self.assertEqual(self.offered('colibri', ''), self.commands())
        self.assertEqual(self.offered('/usr/bin/colibri', 'rout'),
                         ['route', 'routing'])
        self.assertEqual(self.offered('colibri', 'help', 'pe'),
                         ['perf', 'peer'])

    def test_options_of_each_command(self):
        for command in self.commands():
            text = cli.run(command, '--help').stdout.decode()
            want = re.findall(r'(?m)^ .*?--([\w-]+)', text)
            got = self.offered('colibri', command, '--')
            self.assertLessEqual({f'--{name}' for name in want}, set(got))
            self.assertEqual(len(set(got)), len(got))

    def test_words_are_those_that_commands_accept(self):
        for command in ('net', 'peer', 'stats', 'global', 'route', 'routing',
                        'fault', 'debug', 'set'):
            words = self.offered('colibri', command, '')
            error = cli.run(command, 'nosuch-word', '1').stderr.decode()
            if command == 'set':
                error = cli.run('set').stderr.decode()
            want = error.strip().split('there is: ')[1].split(', ')
            self.assertEqual(set(words), set(want), command)
        self.assertEqual(self.offered('colibri', 'fault', 'drop', 's'),
                         ['show'])
        self.assertEqual(self.offered('colibri', 'fault', 'drop', 'show', ''),
                         [])

    def test_values_are_those_that_options_accept(self):
        for command, option, more in (
                ('fault', '--message', ('drop', 'add', '--all')),
                ('fault', '--health_error', ('drop', 'add', '--all')),
                ('perf', '--test', ('x',)), ('node', '--accept', ('--port=x',)),
                ('net', '--verbose', ('show',))):
            values = self.offered('colibri', command, option, '=', '')
            self.assertGreater(len(values), 2)
            for value in values:
                error = cli.run(command, *more, f'{option}={value}', '--ctl',
                                self.path('none') if command != 'perf'
                                else '').stderr.decode()
                self.assertNotIn(option, error)

    def test_values_in_each_spelling(self):
        for words in (('--accept', 's'), ('--accept', '=', 's'),
                      ('--json', '--accept', 's')):
            self.assertEqual(self.offered('colibri', 'node', *words),
                             ['secure'])
        self.assertEqual(len(self.offered('colibri', 'node', '--accept', '=')),
                         3)
        # A value is no operand, and what has no list is a file.
        self.assertEqual(self.offered('colibri', 'net', '--net', 'tcp', 'sh'),
                         ['show'])
        self.assertEqual(self.offered('colibri', 'net', '--net', '=', 'tcp',
                                      'sh'), ['show'])
        self.assertEqual(self.offered('colibri', 'route', '--gateway', '10.0'),
                         [])
        self.assertEqual(self.offered('colibri', 'copy', 'fi'), [])

    def test_lnetctl(self):
        self.assertIn('cpt-of-nid', self.offered('lnetctl', ''))
        self.assertNotIn('node', self.offered('lnetctl', ''))
        self.assertEqual(self.offered('lnetctl', 'debug', ''),
                         ['recovery', 'peer', 'nidlist'])
        self.assertEqual(self.offered('lnetctl', 'fault', ''),
                         ['drop', 'delay'])
        self.assertEqual(self.offered('lnetctl', 'fault', 'drop', 'a'), ['add'])
        self.assertEqual(self.offered('lnetctl', 'net', 'add', '--cp'),
                         ['--cpt'])
        self.assertEqual(self.offered('lnetctl', 'net', 'add', '--to'), ['--tos'])
        self.assertEqual(self.offered('lnetctl', 'net', 'add', '--traf'), [])
        self.assertEqual(self.offered('lnetctl', 'set', 'disc'), ['discovery'])
        link = self.path('lnetctl')
        os.symlink(cli.COLIBRI, link)
        for verb in self.offered('lnetctl', ''):
            done = subprocess.run([link, verb, '--help'], check=False,
                                  stdout=subprocess.PIPE)
            self.assertEqual(done.returncode, 0, verb)


if __name__ == '__main__':
    cli.main()
