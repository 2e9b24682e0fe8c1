# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the tests of the `colibri` command share. $COLIBRI is the binary."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

COLIBRI = os.path.abspath(os.environ.get('COLIBRI', 'build/tools/colibri'))
# Long enough for a sanitizer on a busy machine; nothing is judged by it.
PATIENCE = 120

# nohup makes the tests ignore SIGHUP, and the commands would inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def run(*args, **kwargs):
    """Runs the command; returns what it printed and its exit code."""
    kwargs.setdefault('timeout', PATIENCE)
    return subprocess.run([COLIBRI, *args], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          **kwargs)


class Case(unittest.TestCase):
    """A directory of its own, and words for what a command did."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix='colibri-test-')
        os.chmod(self.dir, 0o755)
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def make(self, name, content=b'', mode=0o644):
        path = self.path(name)
        with open(path, 'wb') as file:
            file.write(content)
        os.chmod(path, mode)
        return path

    def make_sparse(self, name, size):
        path = self.path(name)
        with open(path, 'wb') as file:
            file.truncate(size)
        return path

    def read(self, path):
        with open(path, 'rb') as file:
            return file.read()

    def fill(self, fd):
        """Makes it a pipe whose reader does not read."""
        os.set_blocking(fd, False)
        with self.assertRaises(BlockingIOError):
            while True:
                os.write(fd, b' ')
        os.set_blocking(fd, True)

    def full_pipe(self, room=0):
        """The end to be written to; nobody reads but `room` bytes."""
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        self.fill(writer)
        if room > 0:
            os.read(reader, room)
        return writer

    def fill_output(self, child):
        """Of a child, as its reader does that has stopped."""
        out = os.open(f'/proc/{child.pid}/fd/1', os.O_WRONLY)
        self.fill(out)
        os.close(out)

    def wait_catching(self, child, number):
        """Returns once the child has a handler for the signal."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with open(f'/proc/{child.pid}/status', encoding='ascii') as file:
                for line in file:
                    if line.startswith('SigCgt') and \
                            int(line.split()[1], 16) >> (number - 1) & 1:
                        return
            time.sleep(0.01)
        self.fail('it catches no signals')

    def assert_done(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr, b'')

    def assert_refused(self, result, code, *words):
        """Exit code, all the words in the message, nothing on stdout."""
        text = result.stderr.decode(errors='replace')
        self.assertEqual(result.returncode, code, text)
        for word in words:
            self.assertIn(word, text)
        self.assertEqual(result.stdout, b'')

    def assert_holds(self, *names, directory=None):
        """The directory holds these names and no other."""
        found = sorted(os.listdir(directory or self.dir))
        self.assertEqual(found, sorted(names))


def in_namespace(script, *args):
    """Runs a shell script where it may mount; None if that is not possible."""
    user = [] if os.geteuid() == 0 else ['-r']
    command = ['unshare', *user, '-m', 'sh', '-c', script, 'sh', *args]
    probe = ['unshare', *user, '-m', 'sh', '-c',
             'd=$(mktemp -d) && mount -t tmpfs tmpfs "$d" && umount "$d" && '
             'rmdir "$d"']
    if not shutil.which('unshare'):
        return None
    if subprocess.run(probe, stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return None
    return subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=PATIENCE,
                          check=False)


def main():
    if not os.access(COLIBRI, os.X_OK):
        sys.exit(f'{COLIBRI}: no such command; set COLIBRI')
    unittest.main(verbosity=2)
