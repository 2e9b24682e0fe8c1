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
# The rooms of colibri.ko.
ROOMS = ['base', 'reactor', 'lnet', 'lnd/ksock', 'lnd/lo', 'lnd/o2ib', 'lnd/table', 'ring',
         'node', 'front', 'serve', 'net', 'kit', 'xprt/mem', 'xprt/lnet', 'selftest', 'kern']
# Public headers and exported names (tests/abi/exported.txt) of rooms that it has not.
NO_HEADER = re.compile(r'(rpc\w*|easy|sunrpc|sim\w*|lnet_daemon)\.h')
NO_NAME = re.compile(r'm0_rpc_|m0_easy_|m0_net_bulk_sunrpc_|m0_lnet_daemon_|'
                     r'm0_sync_tls$')
# Modules call these besides: their entry, and functions that inline ones of headers call.
OWN_NAMES = ['m0_kernel_enter', 'm0_kernel_leave', 'm0_sync__here']

# Bytes of a test's frame. A stack of the kernel has 16 KiB, of which the calls above and
# below a test take some.
TEST_FRAME_MAX = 12 << 10


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


def abi_names():
    """Names that the shared library exports. Each line has one, and its version."""
    with open(f'{ROOT}/tests/abi/exported.txt', encoding='utf-8') as f:
        return [line.split()[0] for line in f]


def exported():
    """Those that rooms of colibri.ko have."""
    return [name for name in abi_names() if not NO_NAME.match(name)]


def exports():
    """A source that exports them. A name that no room has is an error of the link."""
    headers = sorted(name for name in os.listdir(f'{ROOT}/include/m0')
                     if name.endswith('.h') and not NO_HEADER.fullmatch(name))
    return ''.join([
        '/* SPDX-License-Identifier: Apache-2.0 OR MIT */\n#include <linux/export.h>\n',
        *(f'#include "m0/{name}"\n' for name in headers), '#include "kern/kernel.h"\n',
        *(f'EXPORT_SYMBOL({name});\n' for name in [*exported(), *OWN_NAMES])])


def not_exported(path):
    """Names that the shared library exports, and the module defines, but not exports."""
    known = set(abi_names()) - set(exported())
    out = subprocess.run(['nm', '--defined-only', path], check=True, stdout=subprocess.PIPE,
                         text=True).stdout
    return sorted(known & {line.split()[-1] for line in out.splitlines()})


def is_padded(headers):
    """Whether the kernel is one with KASAN, which puts room between variables: frames are
    larger there, and so are stacks."""
    with open(f'{headers}/include/config/auto.conf', encoding='utf-8') as f:
        return 'CONFIG_KASAN_STACK=y\n' in f


def colibri_make(folder, own=''):
    """Writes the sources of colibri.ko, and Kbuild."""
    renew(f'{folder}/exports.c', exports().encode())
    module_make(folder, 'colibri', ['exports.c', *sources(*ROOMS), *OS_PORTABLE], own=own)


def colibri_build(folder, headers):
    """Builds colibri.ko; returns its path, or None."""
    colibri_make(folder, '-Wframe-larger-than=' + ('4096' if is_padded(headers) else '1024'))
    path = module_build(folder, 'colibri', headers)
    lost = not_exported(path) if path else []
    if lost:
        print(f'colibri.ko has these names, and does not export them: {" ".join(lost)}',
              file=sys.stderr)
    return None if lost else path


def module_make(folder, name, files, *, own='', flags='', symbols=None):
    """Copies the sources and writes Kbuild. `own`: folders of headers that come first;
    `flags`: lines for Kbuild; `symbols`: Module.symvers of a module below."""
    for part in ('src', 'include'):
        copy(f'{ROOT}/{part}', f'{folder}/{part}')
    copy(f'{ROOT}/scripts/kernel', f'{folder}/libc')
    copy('/usr/include/uthash.h', f'{folder}/libc/uthash.h')
    objects = ' '.join(re.sub(r'\.[cS]$', '.o', path) for path in files)
    renew(f'{folder}/Kbuild', f'''obj-m := {name}.o
{name}-y := {objects}
ccflags-y := {own} -I$(src)/libc -I$(src)/src -I$(src)/include \\
  -std=gnu11 -include linux/kernel.h -include linux/types.h -Wno-declaration-after-statement
{flags}{f"KBUILD_EXTRA_SYMBOLS := {symbols}" if symbols else ""}
'''.encode())


def module_build(folder, name, headers, *, warns=False):
    """Returns the path of the module; None: it prints why there is none. `warns`: the
    compiler may warn, but not of a frame above TEST_FRAME_MAX."""
    compiler = ['CC=ccache gcc-12'] if shutil.which('ccache') else []
    frame_max = TEST_FRAME_MAX * (2 if is_padded(headers) else 1)
    run = subprocess.run(['make', '-k', f'-j{os.cpu_count()}', '-C', headers, f'M={folder}',
                          *compiler],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    renew(f'{folder}/make.log', run.stdout.encode())
    warned = [line for line, frame in re.findall(
        r'^(.*:\d+: warning: (?:the frame size of (\d+) )?.*)$', run.stdout, re.M)
              if not warns or int(frame or 0) > frame_max]
    if run.returncode != 0 or warned:
        print('\n'.join(warned[:40]), file=sys.stderr)
        wrong = [line for line in run.stdout.splitlines() if re.search(r'\b(error|ERROR|ld:)|: multiple definition', line)]
        print('\n'.join(wrong[:40]), file=sys.stderr)
        return None
    path = f'{folder}/{name}.ko'
    subprocess.run(['strip', '--strip-debug', path], check=True)
    return path


def client_main(doc, name, source, *headers):
    """Builds colibri.ko and one module of a single source over it; the exit status.
    `headers`: those that it includes from its own folder."""
    args = arguments(doc).parse_args()
    folder = os.path.abspath(args.out)
    # tests/kernel/module builds it there for other stories.
    below = f'{os.path.dirname(folder)}/module'
    paths = [colibri_build(below, args.headers)]
    if paths[0]:
        for path in (source, *headers):
            copy(f'{ROOT}/{path}', f'{folder}/{path}')
        module_make(folder, name, [source], symbols=f'{below}/Module.symvers')
        paths.append(module_build(folder, name, args.headers))
    print('\n'.join(path or '' for path in paths))
    return 0 if all(paths) else 1


def arguments(doc):
    parser = argparse.ArgumentParser(description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--headers', required=True, help='the folder of the kernel to build for')
    parser.add_argument('--out', required=True, help='the folder to build in, which is kept')
    return parser
