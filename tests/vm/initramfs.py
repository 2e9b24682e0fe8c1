# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Content of the initial RAM file system of a virtual machine."""
import gzip
import os
import re
import subprocess

import judge
from packages import LIBRARIES, Unavailable

INIT = '''#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin LD_LIBRARY_PATH=/lib/x86_64-linux-gnu
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
read -r up rest </proc/uptime
echo "colibri-vm: up $up"
for word in $(cat /proc/cmdline); do
    case $word in vm.*) export "VM_${word#vm.}" ;; esac
done
status=0
for module in $(cat /modules/order); do
    insmod /modules/$module || { echo "cannot load $module"; status=1; }
done
'''
STORY = '''ip link set lo up
[ $status != 0 ] || sh -eu /story.sh || status=$?
'''
# The kernel with checks has no PCI, without which ACPI does not power off; QEMU ends at a reboot.
END = '''echo "colibri-vm: status $status"
[ -z "${VM_debug-}" ] || reboot -f
poweroff -f
'''
# The root of Debian lies on a disk; a unit of its systemd runs the story.
DEBIAN = '''mkdir /new
[ $status = 0 ] && mount -t ext4 /dev/vda /new || {
    echo "colibri-vm: status 1"
    poweroff -f
}
cp -r /story.sh /story-run /debs /new/var/tmp
cp /story.service /new/etc/systemd/system
mkdir -p /new/etc/systemd/system/multi-user.target.wants
ln -s /etc/systemd/system/story.service /new/etc/systemd/system/multi-user.target.wants
# The story has the console.
for unit in getty.target serial-getty@ttyS0.service getty-static.service; do
    ln -s /dev/null /new/etc/systemd/system/$unit
done
set | grep '^VM_' >/new/var/tmp/environment
umount /dev /sys /proc
exec switch_root /new /sbin/init
'''
DEBIAN_UNIT = '''[Unit]
Description=Story of tests/vm

[Service]
EnvironmentFile=/var/tmp/environment
ExecStart=/bin/sh /var/tmp/story-run
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
'''
DEBIAN_RUN = '''status=0
cd /var/tmp
sh -eu story.sh || status=$?
[ $status = 0 ] || journalctl --no-pager --lines 30 --no-hostname
echo "colibri-vm: status $status"
systemctl poweroff --force --force
'''
DEBIAN_MODULES = ['virtio_pci', 'virtio_blk', 'crc32c_generic', 'ext4']


class Archive:
    """A cpio archive in the form "newc", which the kernel unpacks."""

    def __init__(self):
        self.parts = []
        self.names = set()

    def _entry(self, name, mode, content):
        if name in self.names:
            return
        self.names.add(name)
        raw = name.encode() + b'\0'
        numbers = [len(self.names), mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(raw), 0]
        head = b'070701' + b''.join(b'%08x' % n for n in numbers) + raw
        for part in (head, content):
            self.parts.append(part + b'\0' * (-len(part) % 4))

    def folder(self, name):
        if os.path.dirname(name):
            self.folder(os.path.dirname(name))
        self._entry(name, 0o40755, b'')

    def text(self, name, content, mode=0o644):
        self.folder(os.path.dirname(name) or '.')
        self._entry(name, 0o100000 | mode, content if isinstance(content, bytes)
                    else content.encode())

    def file(self, name, path):
        with open(path, 'rb') as f:
            self.text(name, f.read(), os.stat(path).st_mode & 0o777)

    def write(self, path):
        self._entry('TRAILER!!!', 0, b'')
        with gzip.open(path, 'wb', compresslevel=1) as f:
            f.write(b''.join(self.parts))


def libraries(program, root):
    """The shared libraries that a program needs, those of the packages first."""
    search = f'{root}/{LIBRARIES}:{root}/lib/x86_64-linux-gnu'
    run = subprocess.run(['ldd', program], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False,
                         env=dict(os.environ, LD_LIBRARY_PATH=search))
    if run.returncode != 0:
        if 'not a dynamic executable' in run.stdout:
            return []
        raise Unavailable(f'ldd {program}: {run.stdout.strip()}')
    lost = re.search(r'(\S+) => not found', run.stdout)
    if lost:
        raise Unavailable(f'{program} needs {lost.group(1)}, which is not installed')
    return re.findall(r'(/\S+) \(0x', run.stdout)


def program_add(archive, name, path, root):
    archive.file(name, path)
    for library in libraries(path, root):
        place = 'lib64' if '/ld-linux' in library else 'lib/x86_64-linux-gnu'
        archive.file(f'{place}/{os.path.basename(library)}', library)


def modules_order(wanted, folder, built_in=()):
    """Paths of these modules and of those that they need, which come first. `built_in`:
    names that the kernel has without a module."""
    found = {}
    for where, _, files in os.walk(folder):
        for name in files:
            if name.endswith('.ko'):
                found[name[:-3].replace('-', '_')] = f'{where}/{name}'
    order = []

    def take(name):
        if name in built_in:
            return
        if name not in found:
            raise Unavailable(f'the kernel has no module {name}')
        with open(found[name], 'rb') as f:
            needs = re.search(rb'\0depends=([^\0]*)\0', f.read())
        for need in needs.group(1).decode().split(',') if needs else []:
            if need:
                take(need.replace('-', '_'))
        if found[name] not in order:
            order.append(found[name])

    for name in wanted:
        take(name)
    return order


def modules_add(archive, wanted, kernel):
    order = modules_order(wanted, kernel.modules, kernel.built_in)
    for path in order:
        archive.file(f'modules/{os.path.basename(path)}', path)
    archive.text('modules/order', '\n'.join(os.path.basename(p) for p in order) + '\n')


def build(path, packages, kernel, story, own=()):
    """Writes the initial RAM file system of a story. `own`: modules for it."""
    root = packages.root
    archive = Archive()
    for name in ('proc', 'sys', 'dev', 'tmp', 'run', 'root'):
        archive.folder(name)
    archive.file('bin/busybox', f'{root}/bin/busybox')
    if story.debian:
        archive.text('init', INIT + DEBIAN, 0o755)
        archive.text('story.service', DEBIAN_UNIT)
        archive.text('story-run', DEBIAN_RUN)
        for deb in story.debs:
            archive.file(f'debs/{os.path.basename(deb)}', deb)
    else:
        before, behind = (judge.BEGIN, judge.END) if kernel.debug else ('', '')
        archive.text('init', INIT + before + STORY + behind + END, 0o755)
    archive.file('story.sh', story.path)
    # glibc opens it when a thread ends early.
    archive.file('lib/x86_64-linux-gnu/libgcc_s.so.1', '/lib/x86_64-linux-gnu/libgcc_s.so.1')
    for name, program in (*story.programs(root), *story.plugins(root)):
        program_add(archive, name, program, root)
    if story.rdma:
        driver = f'{LIBRARIES}/libibverbs/librxe-rdmav34.so'
        program_add(archive, driver, f'{root}/{driver}', root)
        archive.file('etc/libibverbs.d/rxe.driver', f'{root}/etc/libibverbs.d/rxe.driver')
    for module in own:
        archive.file(f'own/{os.path.basename(module)}', module)
    modules_add(archive, (DEBIAN_MODULES if story.debian else []) + story.modules, kernel)
    archive.write(path)
