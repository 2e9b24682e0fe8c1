# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Modules of a kernel from copies of the sources, which Kbuild compiles."""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# The part of room os that needs no process.
OS_PORTABLE = [f'src/os/{name}.c' for name in (
    'chan', 'cond', 'cpus', 'os', 'rwlock', 'semaphore', 'strand', 'time')]


def renew(path, content):
    """Writes a file unless it has this content, so that make builds nothing again."""
    if os.path.exists(path):
        with open(path, 'rb') as f:
            if f.read() == content:
                return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(content)


def copy(source, target):
    """A file, or the sources below a folder."""
    if os.path.isdir(source):
        for name in os.listdir(source):
            if os.path.isdir(f'{source}/{name}') or name.endswith(('.c', '.h', '.def')):
                copy(f'{source}/{name}', f'{target}/{name}')
    else:
        with open(source, 'rb') as f:
            renew(target, f.read())


def sources(*rooms):
    """Paths of the sources of rooms, from the root on."""
    return [os.path.relpath(p, ROOT) for room in rooms
            for p in sorted(glob.glob(f'{ROOT}/src/{room}/**/*.c', recursive=True))]


def module_make(folder, name, files, *, own='', flags=''):
    """Copies the sources and writes Kbuild. `own`: folders of headers that come first;
    `flags`: lines for Kbuild."""
    for part in ('src', 'include'):
        copy(f'{ROOT}/{part}', f'{folder}/{part}')
    copy(f'{ROOT}/scripts/kernel', f'{folder}/libc')
    copy('/usr/include/uthash.h', f'{folder}/libc/uthash.h')
    objects = ' '.join(re.sub(r'\.[cS]$', '.o', path) for path in files)
    renew(f'{folder}/Kbuild', f'''obj-m := {name}.o
{name}-y := {objects}
ccflags-y := {own} -I$(src)/libc -I$(src)/src -I$(src)/include \\
  -std=gnu11 -include linux/kernel.h -include linux/types.h -Wno-declaration-after-statement
{flags}'''.encode())


def module_build(folder, name, headers, *, warns=False):
    """Returns the path of the module; None: it prints why there is none. `warns`: the
    compiler may warn."""
    compiler = ['CC=ccache gcc-12'] if shutil.which('ccache') else []
    run = subprocess.run(['make', '-k', f'-j{os.cpu_count()}', '-C', headers, f'M={folder}',
                          *compiler],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    renew(f'{folder}/make.log', run.stdout.encode())
    warned = [] if warns else re.findall(r'^.*:\d+: warning: .*$', run.stdout, re.M)
    if run.returncode != 0 or warned:
        print('\n'.join(warned[:40]), file=sys.stderr)
        wrong = [line for line in run.stdout.splitlines() if re.search(r'\b(error|ERROR|ld:)|: multiple definition', line)]
        print('\n'.join(wrong[:40]), file=sys.stderr)
        return None
    path = f'{folder}/{name}.ko'
    subprocess.run(['strip', '--strip-debug', path], check=True)
    return path


def arguments(doc):
    parser = argparse.ArgumentParser(description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--headers', required=True, help='the folder of the kernel to build for')
    parser.add_argument('--out', required=True, help='the folder to build in, which is kept')
    return parser
