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


if __name__ == '__main__':
    unittest.main()
