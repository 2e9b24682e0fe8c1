# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A kernel with KASAN, lockdep, kmemleak and failslab, from Debian's package of the source."""
import hashlib
import os
import shutil
import subprocess

from packages import LIBRARIES, Unavailable

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = f'{HERE}/debug.config'
SOURCE = 'linux-source-6.1'
# Kbuild runs these on the host.
TOOLS = ['flex', 'bison', 'm4', 'libelf-dev', 'libelf1', 'zlib1g-dev', 'zlib1g']
# QEMU enters the kernel there, before the shadow of memory is mapped.
PLAIN = ['KASAN_SANITIZE_enlighten.o=n', f'CFLAGS_enlighten.o=-include {HERE}/early.h']
JOBS = f'-j{os.environ.get("JOBS") or os.cpu_count()}'


def environment(root):
    """Kbuild's, with the tools of the packages."""
    return dict(os.environ, PATH=f'{root}/usr/bin:{os.environ["PATH"]}', M4=f'{root}/usr/bin/m4',
                BISON_PKGDATADIR=f'{root}/usr/share/bison',
                LD_LIBRARY_PATH=f'{root}/{LIBRARIES}')


def source_unpack(folder):
    """Returns the folder of the source."""
    tree = f'{folder.path}/{SOURCE}'
    if not os.path.exists(f'{tree}/.unpacked'):
        folder.fetch([SOURCE])
        subprocess.run(['tar', '-C', folder.path, '-xf', f'{folder.root}/usr/src/{SOURCE}.tar.xz'],
                       check=True)
        with open(f'{tree}/.unpacked', 'w', encoding='utf-8'):
            pass
    return tree


def make(folder, tree, out, *goals):
    root = folder.root
    compiler = ['CC=ccache gcc-12'] if shutil.which('ccache') else ['CC=gcc-12']
    with open(f'{out}/make.log', 'ab') as log:
        run = subprocess.run(
            ['nice', 'make', '-C', tree, f'O={out}', 'ARCH=x86_64', JOBS, *compiler, *PLAIN,
             f'HOSTCFLAGS=-I{root}/usr/include', f'HOSTLDFLAGS=-L{root}/{LIBRARIES}', *goals],
            env=environment(root), stdout=log, stderr=subprocess.STDOUT, check=False)
    if run.returncode != 0:
        raise Unavailable(f'the debug kernel cannot be built, {out}/make.log says why')


def lost(out):
    """Options of the list that the configuration has not."""
    with open(f'{out}/.config', encoding='utf-8') as f:
        have = set(f.read().splitlines())
    with open(CONFIG, encoding='utf-8') as f:
        return [line for line in f.read().splitlines()
                if line.startswith('CONFIG_') and line not in have]


def configure(folder, tree, out):
    make(folder, tree, out, 'tinyconfig')
    subprocess.run([f'{tree}/scripts/kconfig/merge_config.sh', '-m', '-O', out,
                    f'{out}/.config', CONFIG], check=True, cwd=tree,
                   stdout=subprocess.DEVNULL)
    make(folder, tree, out, 'olddefconfig')
    missing = lost(out)
    if missing:
        raise Unavailable(f'the kernel takes no {" ".join(missing)}')


def build(folder):
    """Builds it, unless it is there. Returns its release, its image, its folder, which is one
    of headers for Kbuild, and the modules that are built in."""
    out = f'{folder.path}/debug'
    with open(CONFIG, 'rb') as f:
        wanted = hashlib.sha256(f.read()).hexdigest()
    done = f'{out}/built'
    if not os.path.exists(done) or open(done, encoding='utf-8').read() != wanted:
        print('vm: building a kernel with KASAN and lockdep, which takes a while', flush=True)
        folder.fetch(TOOLS)
        tree = source_unpack(folder)
        os.makedirs(out, exist_ok=True)
        configure(folder, tree, out)
        make(folder, tree, out, 'vmlinux', 'modules')
        with open(done, 'w', encoding='utf-8') as f:
            f.write(wanted)
    with open(f'{out}/include/config/kernel.release', encoding='utf-8') as f:
        release = f.read().strip()
    with open(f'{out}/modules.builtin', encoding='utf-8') as f:
        built_in = {os.path.basename(line).split('.')[0].replace('-', '_') for line in f}
    return release, f'{out}/vmlinux', out, built_in
