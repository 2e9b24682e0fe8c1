# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Debian packages in a folder of the build: nothing of the host is changed."""
import glob
import lzma
import os
import re
import shutil
import subprocess

# Programs and libraries that a story may ask for, beside those of the build.
USER_SPACE = ['busybox-static', 'ibverbs-utils', 'rdmacm-utils', 'ibverbs-providers',
              'libibverbs1', 'librdmacm1', 'libnl-3-200', 'libnl-route-3-200']
QEMU = ['qemu-system-x86', 'qemu-system-common', 'qemu-system-data', 'seabios']
LIBRARIES = 'usr/lib/x86_64-linux-gnu'


class Unavailable(Exception):
    """The test cannot run here; the text says why."""


def apt(command, *args, where=None, limit=600):
    """Standard output of apt-get or apt-cache."""
    try:
        return subprocess.run([command, *args], cwd=where, check=True, text=True,
                              timeout=limit, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout
    except OSError as e:
        raise Unavailable(f'{command} cannot be run, which Debian has: {e.strerror}') from e
    except subprocess.CalledProcessError as e:
        last = e.stderr.strip().splitlines() or ['no message']
        raise Unavailable(f'{command} {" ".join(args)}: {last[-1]}') from e
    except subprocess.TimeoutExpired as e:
        raise Unavailable(f'{command} {" ".join(args)}: nothing in {limit} s') from e


class Folder:
    """Packages that were downloaded to FOLDER/debs and unpacked to FOLDER/root."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.root = f'{self.path}/root'

    def _deb(self, name):
        found = glob.glob(f'{self.path}/debs/{name}_*.deb')
        return found[0] if found else None

    def _download(self, names):
        where = f'{self.path}/debs'
        os.makedirs(where, exist_ok=True)
        command = ['download', '-qq', '-o', 'APT::Sandbox::User=root', *names]
        try:
            apt('apt-get', *command, where=where)
        except Unavailable:
            # An index that was never fetched, or that names versions now gone.
            try:
                apt('apt-get', 'update', '-qq')
            except Unavailable:
                pass
            apt('apt-get', *command, where=where)

    def fetch(self, names):
        """Makes the packages available below the root."""
        missing = [n for n in names if self._deb(n) is None]
        if missing:
            print(f'vm: downloading {" ".join(missing)}', flush=True)
            self._download(missing)
        for name in names:
            done = f'{self.path}/debs/{name}.done'
            if not os.path.exists(done):
                subprocess.run(['dpkg', '-x', self._deb(name), self.root], check=True)
                with open(done, 'w', encoding='utf-8'):
                    pass

    def kernel(self):
        """Fetches Debian's kernel. Returns its release and its image for QEMU."""
        have = glob.glob(f'{self.path}/debs/linux-image-*.done')
        if have:
            name = os.path.basename(have[0])[:-len('.done')]
        else:
            said = apt('apt-cache', 'depends', 'linux-image-amd64')
            named = re.search(r'Depends: (linux-image-\S+)', said)
            if not named:
                raise Unavailable('apt-cache knows no linux-image-amd64')
            name = named.group(1)
        self.fetch([name])
        release = name[len('linux-image-'):]
        image = f'{self.path}/vmlinux-{release}'
        if not os.path.exists(image):
            unpack(f'{self.root}/boot/vmlinuz-{release}', image)
        return release, image

    def headers(self, release):
        """Fetches the headers of a kernel. Returns their folder, for Kbuild."""
        version, flavour = release.rsplit('-', 1)
        if shutil.which('gcc-12') is None or shutil.which('make') is None:
            raise Unavailable('gcc-12 and make are needed, which the kernel was built with')
        self.fetch([f'linux-headers-{release}', f'linux-headers-{version}-common',
                    'linux-kbuild-' + '.'.join(version.split('.')[:2]),
                    'linux-compiler-gcc-12-x86'])
        folder = f'{self.root}/usr/src/linux-headers-{version}-{flavour}'
        # The package expects to be installed.
        with open(f'{folder}/Makefile', 'w', encoding='utf-8') as f:
            f.write(f'include {self.root}/usr/src/linux-headers-{version}-common/Makefile\n')
        return folder

    def qemu(self):
        """Command to begin QEMU with, and its environment: the host's, or one from packages."""
        found = shutil.which('qemu-system-x86_64')
        if found:
            return [found], dict(os.environ)
        own = Folder(f'{self.path}/qemu')
        plan = apt('apt-get', '-s', '-qq', 'install', '--no-install-recommends', QEMU[0])
        # A package that the host has in an older version serves as it is.
        new = re.findall(r'^Inst (\S+) \((?!.*\[)', plan, re.M)
        new += re.findall(r'^Inst (\S+) \(', plan, re.M)
        own.fetch(sorted(set(new) | set(QEMU)))
        libraries = ':'.join(f'{own.root}/{d}' for d in (
            LIBRARIES, 'lib/x86_64-linux-gnu', f'{LIBRARIES}/pulseaudio'))
        return ([f'{own.root}/usr/bin/qemu-system-x86_64', '-L', f'{own.root}/usr/share/qemu',
                 '-L', f'{own.root}/usr/share/seabios'],
                dict(os.environ, LD_LIBRARY_PATH=libraries))


def unpack(compressed, image):
    """An uncompressed kernel starts in half the time, as QEMU need not emulate xz."""
    with open(compressed, 'rb') as f:
        content = f.read()
    begin = content.find(b'\xfd7zXZ\0')
    if begin < 0:
        shutil.copy(compressed, image)
        return
    with open(f'{image}.new', 'wb') as f:
        f.write(lzma.LZMADecompressor().decompress(content[begin:]))
    os.rename(f'{image}.new', image)
