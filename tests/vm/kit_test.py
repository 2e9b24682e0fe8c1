# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The kit tells a verdict from its absence; its archives are what the kernel unpacks.

Scripts stand for QEMU: no machine is booted.
"""
import gzip
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import initramfs  # noqa: E402
import judge  # noqa: E402
import machine as vm  # noqa: E402
from packages import Unavailable  # noqa: E402


class Program(unittest.TestCase):
    """The program that runs stories."""

    def test_it_names_each_story(self):
        here = os.path.dirname(os.path.abspath(__file__))
        out = subprocess.run([sys.executable, f'{here}/run', '--list'], check=True,
                             stdout=subprocess.PIPE, text=True, timeout=60).stdout
        for name in os.listdir(f'{here}/stories'):
            self.assertIn(name[:-len('.sh')], out.split())


class Console(unittest.TestCase):
    """What is read of a machine."""

    def machine(self, script):
        return vm.Machine((['/bin/sh', '-c', script], dict(os.environ)), 'tcg', 'i', 'r')

    def test_a_verdict_is_taken_from_its_line(self):
        m = self.machine('echo "colibri-vm: up 1.0"; printf "x\\r\\ncolibri-vm: status 3\\r\\n"')
        self.assertTrue(vm.wait([m], 30))
        self.assertEqual(m.status, 3)
        self.assertEqual(m.lines[1], 'x')
        self.assertIsNotNone(m.up_s)

    def test_an_end_without_a_verdict_is_none(self):
        m = self.machine('echo "said colibri-vm: status 0"; printf "colibri-vm: statu"')
        self.assertTrue(vm.wait([m], 30))
        self.assertIsNone(m.status)

    def test_a_silent_machine_is_killed_at_the_limit(self):
        m = self.machine('exec sleep 600')
        self.assertFalse(vm.wait([m], 0.2))
        self.assertIsNone(m.status)
        self.assertIsNotNone(m.process.returncode)

    def test_one_of_two_that_hangs_is_an_end_for_both(self):
        two = [self.machine('echo colibri-vm: status 0'), self.machine('exec sleep 600')]
        self.assertFalse(vm.wait(two, 1))
        self.assertEqual([m.status for m in two], [0, None])


class Content(unittest.TestCase):
    """Initial RAM file systems."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return f'{self.folder.name}/{name}'

    def module(self, name, depends):
        with open(self.path(f'{name}.ko'), 'wb') as f:
            f.write(b'\x7fELF\0license=GPL\0depends=' + depends + b'\0name=x\0')

    def test_an_archive_has_parents_first_and_pads_by_four(self):
        archive = initramfs.Archive()
        archive.text('a/b', 'xyz', 0o755)
        archive.write(self.path('out'))
        with gzip.open(self.path('out')) as f:
            content = f.read()
        self.assertEqual(len(content) % 4, 0)
        self.assertEqual(content.count(b'070701'), 3)
        self.assertLess(content.index(b'a\0'), content.index(b'a/b\0'))
        self.assertIn(b'%08x' % 0o100755, content)
        self.assertIn(b'xyz\0', content)

    def test_modules_come_after_what_they_need(self):
        self.module('top', b'mid,low-er')
        self.module('mid', b'low-er')
        self.module('low-er', b'')
        order = initramfs.modules_order(['top', 'mid'], self.folder.name)
        self.assertEqual([os.path.basename(p) for p in order],
                         ['low-er.ko', 'mid.ko', 'top.ko'])

    def test_a_module_that_is_missing_is_named(self):
        self.module('top', b'gone')
        with self.assertRaisesRegex(Unavailable, 'no module gone'):
            initramfs.modules_order(['top'], self.folder.name)

    def test_what_is_built_in_needs_no_module(self):
        self.module('top', b'low-er')
        order = initramfs.modules_order(['top'], self.folder.name, {'low-er', 'low_er'})
        self.assertEqual([os.path.basename(p) for p in order], ['top.ko'])


class Judge(unittest.TestCase):
    """What a kernel with checks has said."""

    REPORTS = {
        'KASAN': 'BUG: KASAN: slab-use-after-free in both+0x1/0x2 [colibri]',
        'lockdep': 'WARNING: possible circular locking dependency detected',
        'sleeping': 'BUG: sleeping function called from invalid context at kernel/x.c:1',
        'leak': 'unreferenced object 0xffff888003c48000 (size 128):',
        'WARNING': 'WARNING: CPU: 0 PID: 61 at net/core/x.c:1 f+0x1/0x2',
        'objects': 'ODEBUG: free active (active state 0) object type: timer_list',
        'lost': 'kmemleak: Kernel memory leak detector disabled',
        'BUG': 'kernel BUG at src/base/assert.c:12!',
        'hang': 'INFO: task insmod:61 blocked for more than 300 seconds.',
    }

    def console(self, *reports, tainted=4096, debug_locks=1):
        return ['some line', judge.LOG_BEGIN, '[    0.000000] Linux version 6.1',
                *(f'[    5.100000] {line}' for line in reports),
                f' debug_locks:                             {debug_locks}',
                f'tainted: {tainted}', judge.LOG_END, 'colibri-vm: status 0']

    def kinds(self, lines):
        return [kind for kind, _ in judge.reports(lines)]

    def test_a_log_without_a_report_passes(self):
        lines = self.console('colibri: a peer said WARNING, and bugs', 'insmod: page allocation failure')
        self.assertEqual(judge.verdict(lines, []), [])

    def test_each_report_fails_with_its_text(self):
        for kind, line in self.REPORTS.items():
            wrong = judge.verdict(self.console(line, 'the stack'), [])
            self.assertEqual(len(wrong), 1, kind)
            self.assertIn(f'({kind})', wrong[0])
            self.assertIn(line, wrong[0])
            self.assertIn('the stack', wrong[0])

    def test_a_report_that_is_wanted_must_be_there(self):
        lines = self.console(self.REPORTS['KASAN'])
        self.assertEqual(judge.verdict(lines, ['KASAN']), [])
        self.assertEqual(len(judge.verdict(lines, ['KASAN', 'leak'])), 1)
        self.assertEqual(len(judge.verdict(lines, ['leak'])), 2)

    def test_objects_that_the_kernel_lost_at_boot_do_not_count(self):
        leak = self.REPORTS['leak']
        boot = '  comm "swapper/0", pid 1, jiffies 4294892296'
        self.assertEqual(self.kinds(self.console(leak, boot)), [])
        own = '  comm "insmod", pid 71, jiffies 4294892296'
        self.assertEqual(self.kinds(self.console(leak, own, boot)), ['leak'])
        self.assertEqual(self.kinds(self.console(leak, boot, leak)), ['leak'])

    def test_marks_tell_of_a_report_that_no_words_are_known_for(self):
        self.assertEqual(self.kinds(self.console(tainted=4096 | 512)), ['tainted'])
        self.assertEqual(self.kinds(self.console(debug_locks=0)), ['lockdep'])

    def test_a_log_that_is_cut_or_not_there_is_no_pass(self):
        lines = self.console()
        self.assertEqual(self.kinds(lines[:-2]), ['lost'])
        self.assertEqual(self.kinds(lines[:1]), ['lost'])
        self.assertEqual(self.kinds([line for line in lines if 'Linux' not in line]), ['lost'])
        self.assertIn('BUG', self.kinds(['kernel BUG at a.c:1!', 'Kernel panic - not syncing']))


if __name__ == '__main__':
    unittest.main()
