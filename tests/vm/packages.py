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
# Programs of a Debian root beside what every Debian has, and apt.
DEBIAN_ROOT = ['systemd-sysv', 'iproute2']
# Room in its file system for what a story installs and writes.
DEBIAN_ROOT_MB = 1024
QEMU = ['qemu-system-x86', 'qemu-system-common', 'qemu-system-data', 'seabios']
SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
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

    def kernel(self, newer=False):
        """Fetches Debian's kernel. Returns its release and its image for QEMU. `newer`: the
        newest that Debian's archive has beside the usual one."""
        have = glob.glob(f'{self.path}/debs/linux-image-*.done')
        if have:
            name = os.path.basename(have[0])[:-len('.done')]
        else:
            name = kernel_newer() if newer else kernel_usual()
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
        name = f'linux-headers-{release}'
        self.fetch([name, *re.findall(r'Depends: (linux-(?:headers|kbuild|compiler)-\S+)',
                                      apt('apt-cache', 'depends', name))])
        folder = f'{self.root}/usr/src/linux-headers-{version}-{flavour}'
        # The package expects to be installed.
        with open(f'{folder}/Makefile', 'w', encoding='utf-8') as f:
            f.write(f'include {self.root}/usr/src/linux-headers-{version}-common/Makefile\n')
        return folder

    def debian(self, needs):
        """Makes a root of the Debian that the host's apt names, with packages that `needs`
        names. Returns the image of its file system."""
        image = f'{self.path}/debian.ext4'
        note = f'{self.path}/debian.list'
        names = set(DEBIAN_ROOT) | set(needs)
        if os.path.exists(note) and os.path.exists(image):
            with open(note, encoding='utf-8') as f:
                have = set(f.read().split())
            if names <= have:
                return image
            names |= have
        names = sorted(names)
        if os.getuid() != 0:
            raise Unavailable('only root can make a root of Debian')
        tool = shutil.which('mmdebstrap')
        if tool is None:
            own = Folder(f'{self.path}/mmdebstrap')
            own.fetch(['mmdebstrap'])
            tool = f'{own.root}/usr/bin/mmdebstrap'
        print('vm: making a root of Debian, once', flush=True)
        folder = f'{self.path}/debian'
        shutil.rmtree(folder, ignore_errors=True)
        try:
            command(tool, '--mode=root', '--variant=apt', f'--include={",".join(names)}',
                    release_name(), folder, mirror())
            with open(f'{image}.new', 'wb') as f:
                f.truncate(DEBIAN_ROOT_MB << 20)
            command('mke2fs', '-q', '-F', '-t', 'ext4', '-E', 'root_owner=0:0', '-d', folder,
                    f'{image}.new')
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        os.rename(f'{image}.new', image)
        with open(note, 'w', encoding='utf-8') as f:
            f.write('\n'.join(names) + '\n')
        return image

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


def kernel_usual():
    """Name of the package of the kernel that Debian installs."""
    said = apt('apt-cache', 'depends', 'linux-image-amd64')
    named = re.search(r'Depends: (linux-image-\S+)', said)
    if not named:
        raise Unavailable('apt-cache knows no linux-image-amd64')
    return named.group(1)


def kernel_newer():
    """Name of the package of the newest kernel, if it is of another version."""
    known = re.findall(r'^(linux-image-([0-9]+)\.([0-9]+)\.([0-9]+)\S*-amd64)$',
                       apt('apt-cache', 'pkgnames', 'linux-image-'), re.M)
    known = [(tuple(map(int, numbers)), name) for name, *numbers in known
             if not re.search(r'-(cloud|rt)-amd64$', name)]
    usual = re.search(r'-([0-9]+)\.([0-9]+)\.', kernel_usual())
    newest = max(known, default=None)
    if newest is None or newest[0][:2] <= tuple(map(int, usual.groups())):
        raise Unavailable('the archive of packages has no newer kernel')
    return newest[1]


def command(*words, limit=600):
    """Runs a program that makes something. Without it, or if it fails, there is no test."""
    try:
        subprocess.run(words, check=True, text=True, timeout=limit, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       env=dict(os.environ, PATH=SYSTEM_PATH))
    except OSError as e:
        raise Unavailable(f'{words[0]} cannot be run: {e.strerror}') from e
    except subprocess.CalledProcessError as e:
        last = e.stdout.strip().splitlines() or ['no message']
        raise Unavailable(f'{words[0]}: {last[-1]}') from e
    except subprocess.TimeoutExpired as e:
        raise Unavailable(f'{words[0]}: no end in {limit} s') from e


def release_name():
    """Name of the host's release of Debian."""
    with open('/etc/os-release', encoding='utf-8') as f:
        named = re.search(r'^VERSION_CODENAME=(\w+)$', f.read(), re.M)
    if not named:
        raise Unavailable('/etc/os-release names no release of Debian')
    return named.group(1)


def mirror():
    """Mirror of the host's apt for its release of Debian."""
    said = apt('apt-get', 'indextargets', '--format', '$(REPO_URI) $(CODENAME) $(LABEL)',
               'Created-By: Packages')
    for line in said.splitlines():
        uri, release, label = line.split(maxsplit=2)
        if release == release_name() and label == 'Debian':
            return uri
    raise Unavailable('apt has no mirror of Debian')


def debs_need(debs):
    """Names of packages that these .deb files need, and that are none of them."""
    needs = set()
    own = set()
    for deb in debs:
        fields = subprocess.run(['dpkg-deb', '--field', deb, 'Package', 'Pre-Depends', 'Depends'],
                                check=True, text=True, stdout=subprocess.PIPE).stdout
        for field, value in re.findall(r'^([\w-]+): (.*)$', fields, re.M):
            if field == 'Package':
                own.add(value)
            else:
                # Take the first of alternatives.
                needs.update(re.match(r'[^ (|:]+', need.strip()).group()
                             for need in value.split(','))
    return needs - own


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
