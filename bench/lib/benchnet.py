# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The network that the programs of a row run in, and its congestion control.

All sides of a row share one congestion control. Each program gets a network
namespace whose routes name it and do not let a socket choose another. Where no
namespace can be made, it is set on each socket of the running programs instead.
"""
import ctypes
import os
import shutil
import socket
import subprocess
import sys

CONTROL = 'cubic'
# Probes with this prefix keep what each side has by default.
BY_DEFAULT = 'default-'
# Probes whose commands end too soon to be reached. Connections of the library
# within a host have reno if nothing is configured, so the others get it, too.
SHORT_LIVED = 'service-'
SHORT_LIVED_CONTROL = 'reno'

SYS_PIDFD_GETFD = 438
NAME_BYTES = 16
PROBE_LIMIT_S = 10
SYSCTL = '/proc/sys/net/ipv4/'

UP = 'ip link set lo up && '
LOCK = ''.join(
    'ip route change table local local %s dev lo proto kernel scope host '
    'src 127.0.0.1 congctl lock %s && ' % (to, CONTROL)
    for to in ('127.0.0.0/8', '127.0.0.1'))
EXEC = 'exec "$@"'

# Prints what both ends of a connection have when they asked for another.
CHECK = '''
import socket
door = socket.create_server(("127.0.0.2", 0))
near = socket.socket()
near.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
near.connect(door.getsockname())
for end in near, door.accept()[0]:
    print(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
          .split(bytes(1))[0].decode())
'''


def system(name):
    """A setting of TCP, or ''."""
    try:
        with open(SYSCTL + name, encoding='ascii') as file:
            return file.read().strip()
    except OSError:
        return ''


class Network:
    """Where programs run, and which congestion control they have."""

    def __init__(self):
        self.why = 'no ip command' if not shutil.which('ip') else ''
        self.unshare = None
        for options in (['-n'], ['-r', '-n']):
            if self.unshare is None and shutil.which('ip'):
                self.try_out(['unshare', *options])
        allowed = system('tcp_allowed_congestion_control').split()
        self.fallback = CONTROL if (
            os.geteuid() == 0 or CONTROL in allowed) else 'reno'
        # Congestion control of the sockets of each probe, when the runner looked.
        self.seen = {}

    def try_out(self, unshare):
        """Takes a way to make a namespace if connections there have CONTROL."""
        try:
            done = subprocess.run(
                unshare + ['sh', '-c', UP + LOCK + EXEC, 'sh', sys.executable,
                           '-c', CHECK], capture_output=True, text=True,
                timeout=PROBE_LIMIT_S, check=False)
        except (OSError, subprocess.SubprocessError) as why:
            self.why = str(why)
            return
        if done.stdout.split() == [CONTROL] * 2:
            self.unshare = unshare
        else:
            self.why = (done.stderr.strip().splitlines() or
                        ['no %s in a namespace' % CONTROL])[-1]

    def wrap(self, probe, words):
        """The command of a probe, in a namespace of its own."""
        if self.unshare is None:
            return words
        lock = '' if probe.startswith(BY_DEFAULT) else LOCK
        return self.unshare + ['sh', '-c', UP + lock + EXEC, 'sh', *words]

    def control(self, probe):
        """What the sockets of a probe are to have; None: what they have."""
        if probe.startswith(BY_DEFAULT):
            return None
        if self.unshare is not None:
            return CONTROL
        if probe.startswith(SHORT_LIVED):
            return SHORT_LIVED_CONTROL
        return self.fallback

    def env(self, probe):
        """For programs that set it on their own sockets."""
        control = self.control(probe)
        return {} if control is None else {'BENCH_CONGESTION': control}

    def look(self, probe, pid):
        """Notes what the sockets of a process and its children have, and sets
        it where no namespace does."""
        control = self.control(probe)
        wanted = control if self.unshare is None else None
        self.seen.setdefault(probe, set()).update(
            name for each in family(pid) for name in controls(each, wanted))

    def strays(self):
        """Probes with sockets that had another one than they should have."""
        return {probe: sorted(names - {self.control(probe)})
                for probe, names in self.seen.items()
                if self.control(probe) and names - {self.control(probe)}}

    def told(self):
        """How it was, in words."""
        if self.unshare is not None:
            words = ['congestion control: %s for all sides of a row, in a '
                     'network namespace of its own' % CONTROL]
        else:
            words = ['congestion control: no network namespace (%s); %s is '
                     'set on the sockets of running programs, %s in rows of '
                     'the service' % (self.why, self.fallback,
                                      SHORT_LIVED_CONTROL)]
        words += ['congestion control: %s: some sockets had %s' % (
            probe, ', '.join(names))
            for probe, names in sorted(self.strays().items())]
        return words


def family(pid):
    """A process and all that descend from it."""
    found = [pid]
    for each in found:
        try:
            for task in os.listdir('/proc/%d/task' % each):
                path = '/proc/%d/task/%s/children' % (each, task)
                with open(path, encoding='ascii') as file:
                    found += [int(child) for child in file.read().split()]
        except OSError:
            continue
    return found


def controls(pid, wanted=None):
    """Congestion control of each TCP connection of a process, after `wanted`
    was set on it. Needs the right to trace the process."""
    names = []
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return names
    try:
        for number in os.listdir('/proc/%d/fd' % pid):
            try:
                if os.readlink('/proc/%d/fd/%s' % (pid, number)).startswith(
                        'socket:'):
                    names += control_of(pidfd, int(number), wanted)
            except OSError:
                continue
    except OSError:
        pass
    finally:
        os.close(pidfd)
    return names


def control_of(pidfd, number, wanted):
    """That of one descriptor of another process; [] if it is no connection."""
    libc = ctypes.CDLL(None, use_errno=True)
    copy = libc.syscall(SYS_PIDFD_GETFD, pidfd, number, 0)
    if copy < 0:
        return []
    with socket.socket(fileno=copy) as sock:
        if sock.family not in (socket.AF_INET, socket.AF_INET6) or (
                sock.type != socket.SOCK_STREAM):
            return []
        if wanted is not None:
            choose(sock, wanted)
        # A listening socket has what its connections inherit, no more.
        sock.getpeername()
        return [sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION,
                                NAME_BYTES).split(b'\0')[0].decode()]


def choose(sock, name):
    """Sets it on one socket, if the system lets us."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION,
                        name.encode())
    except OSError:
        pass
