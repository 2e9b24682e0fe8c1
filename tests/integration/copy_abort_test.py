# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`colibri copy` that ends early: no trace of a new file, the old one whole.

$M0_SEED repeats a run: the moments at which signals are sent come from it.
"""
import os
import random
import signal
import subprocess
import time

import cli

SEED = int(os.environ.get('M0_SEED', random.SystemRandom().randrange(1 << 32)))
# Small blocks, so that a copy takes long enough to be hit.
SLOW = ('--block', '16K', '--inflight', '2')
SIZE = 64 << 20


class Aborts(cli.Case):
    def start(self, src, dst):
        child = subprocess.Popen([cli.COLIBRI, 'copy', *SLOW, src, dst],
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.kill)
        return child

    def wait_reading(self, child):
        """Returns once the copy has read some of the source."""
        deadline = time.monotonic() + cli.PATIENCE
        while time.monotonic() < deadline and child.poll() is None:
            with open(f'/proc/{child.pid}/io', encoding='ascii') as file:
                if int(file.readline().split()[1]) > 4 << 20:
                    return
            time.sleep(0.001)

    def duration(self, src):
        start = time.monotonic()
        self.assert_done(cli.run('copy', *SLOW, src, self.path('whole')))
        os.unlink(self.path('whole'))
        return time.monotonic() - start

    def test_signal_at_any_moment_leaves_all_or_nothing(self):
        src = self.make_sparse('src', SIZE)
        rng = random.Random(SEED)
        span = self.duration(src)
        codes = []
        for i in range(24):
            number = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[i % 3]
            old = i % 2 == 0
            dst = self.make('dst', b'old') if old else self.path('dst')
            child = self.start(src, dst)
            time.sleep(rng.uniform(0, span))
            child.send_signal(number)
            _, text = child.communicate(timeout=cli.PATIENCE)
            code = child.returncode
            codes.append(code)
            with self.subTest(seed=SEED, turn=i, code=code, text=text):
                # Before it is set up the command dies as any other does.
                self.assertIn(code, (0, 1, -number))
                if code == 1:
                    self.assertIn(b'interrupted', text)
                if code == 0:
                    self.assertEqual(os.stat(dst).st_size, SIZE)
                    os.unlink(dst)
                elif old:
                    self.assertEqual(self.read(dst), b'old')
                    os.unlink(dst)
                self.assert_holds('src')
        print(f'exit codes {codes}, M0_SEED={SEED}')

    def test_signal_in_the_middle_is_an_interruption(self):
        src = self.make_sparse('src', 4 << 30)
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.start(src, self.path('dst'))
            self.wait_reading(child)
            child.send_signal(number)
            out, text = child.communicate(timeout=cli.PATIENCE)
            self.assertEqual(child.returncode, 1, text)
            self.assertEqual(out, b'')
            self.assertIn(b'interrupted', text)
            self.assert_holds('src')

    def test_kill_leaves_nothing_either(self):
        src = self.make_sparse('src', 4 << 30)
        try:
            os.close(os.open(self.dir, os.O_TMPFILE | os.O_RDWR))
        except OSError:
            self.skipTest('no nameless files on this file system')
        child = self.start(src, self.path('dst'))
        self.wait_reading(child)
        child.kill()
        child.communicate(timeout=cli.PATIENCE)
        self.assert_holds('src')

    def test_source_that_shrinks(self):
        src = self.make_sparse('src', 4 << 30)
        child = self.start(src, self.path('dst'))
        self.wait_reading(child)
        os.truncate(src, 1 << 20)
        out, text = child.communicate(timeout=cli.PATIENCE)
        self.assertEqual(child.returncode, 1, text)
        self.assertEqual(out, b'')
        self.assertIn(b'shrank', text)
        self.assertIn(src.encode(), text)
        self.assert_holds('src')

    def test_source_that_grows(self):
        src = self.make_sparse('src', 64 << 20)
        # Held up until the source is another: its size was taken before.
        child = self.start(src, self.path('dst'))
        self.wait_reading(child)
        os.kill(child.pid, signal.SIGSTOP)
        finished = child.poll() is not None
        with open(src, 'ab') as file:
            file.write(b'more')
        os.kill(child.pid, signal.SIGCONT)
        _, text = child.communicate(timeout=cli.PATIENCE)
        if finished or child.returncode == 0:
            self.skipTest('the copy was over before the source grew')
        self.assertEqual(child.returncode, 1, text)
        self.assertIn(b'changed while it was read', text)
        self.assert_holds('src')

    def test_source_that_is_larger_than_it_says(self):
        result = cli.run('copy', '/proc/self/status', self.path('dst'))
        self.assert_refused(result, 1, '/proc/self/status', 'changed')
        self.assert_holds()


FULL = '''
mount -t tmpfs -o size=2m tmpfs "$1" || exit 99
if [ "$4" = old ]; then echo old >"$1/dst"; fi
"$2" copy $5 "$3" "$1/dst"
code=$?
ls -A "$1"
cat "$1"/* 2>/dev/null
exit $code
'''


class Full(cli.Case):
    def full(self, old, *options):
        src = self.make('src', os.urandom(8 << 20))
        os.makedirs(self.path('small'), exist_ok=True)
        result = cli.in_namespace(FULL, self.path('small'), cli.COLIBRI, src,
                                  old, ' '.join(options))
        if result is None:
            self.skipTest('no mount namespace')
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(b'No space left on device', result.stderr)
        self.assertIn(self.path('small', 'dst').encode(), result.stderr)
        return result.stdout

    def test_full_destination_leaves_nothing(self):
        self.assertEqual(self.full('none'), b'')

    def test_full_destination_leaves_the_old_file(self):
        self.assertEqual(self.full('old'), b'dst\nold\n')

    def test_full_destination_in_any_shape_of_blocks(self):
        for options in (('--block=4K', '--inflight=1'),
                        ('--block=4M', '--inflight=16'),
                        ('--block=1M', '--inflight=256')):
            with self.subTest(options=options):
                self.assertEqual(self.full('none', *options), b'')


if __name__ == '__main__':
    cli.main()
