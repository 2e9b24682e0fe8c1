# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Virtual machines: QEMU, its console, its end."""
import os
import re
import selectors
import subprocess
import time

CMDLINE = 'console=ttyS0 quiet panic=-1 oops=panic tsc=reliable no_timer_check'
# An emulated processor makes each step of a repeated string instruction by itself. Without
# these features the kernel copies and clears eight bytes in a step.
TCG_CPU = 'max,-erms,-fsrm'
# A machine that KVM runs says so in a second. Some KVMs accept a machine and never run it.
KVM_PROBE_S = 15


class Machine:
    """One QEMU, whose console is read line by line."""

    def __init__(self, qemu, accel, image, initramfs, *, name='a', memory_mb=512, options=(),
                 words=()):
        command, env = qemu
        self.name = name
        self.lines = []
        self.up_s = None
        self.status = None
        self._rest = b''
        self._begin = time.monotonic()
        cpu = ['-accel', 'kvm', '-cpu', 'host'] if accel == 'kvm' else [
            '-accel', 'tcg,thread=multi', '-cpu', TCG_CPU]
        self.process = subprocess.Popen(
            [*command, '-nodefaults', '-no-user-config', *cpu, '-M', 'pc', '-smp', '2',
             '-m', str(memory_mb), '-display', 'none', '-serial', 'stdio', '-no-reboot',
             '-kernel', image, '-initrd', initramfs,
             '-append', ' '.join([CMDLINE, f'vm.name={name}', *words]), *options],
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        os.set_blocking(self.process.stdout.fileno(), False)

    def read(self, told):
        """Takes what the console has said. Returns False at its end."""
        try:
            got = os.read(self.process.stdout.fileno(), 65536)
        except BlockingIOError:
            return True
        *lines, self._rest = (self._rest + got).split(b'\n')
        for raw in lines if got else [self._rest]:
            line = raw.decode(errors='replace').rstrip('\r')
            if line.startswith('colibri-vm: up'):
                self.up_s = time.monotonic() - self._begin
            verdict = re.fullmatch(r'colibri-vm: status (\d+)', line)
            if verdict:
                self.status = int(verdict.group(1))
            if line:
                self.lines.append(line)
                told(self, line)
        return bool(got)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def wait(machines, limit_s, told=lambda machine, line: None, until=lambda machine: False):
    """Until all machines have ended, or `until` holds for each. Then none runs any more.
    Returns False after `limit_s`."""
    end = time.monotonic() + limit_s
    with selectors.DefaultSelector() as selector:
        for machine in machines:
            selector.register(machine.process.stdout, selectors.EVENT_READ, machine)
        try:
            while selector.get_map():
                left = end - time.monotonic()
                if left <= 0:
                    return False
                for key, _ in selector.select(left):
                    if not key.data.read(told) or until(key.data):
                        selector.unregister(key.fileobj)
            return True
        finally:
            for machine in machines:
                machine.kill()


def accel_choose(folder, qemu, image, initramfs):
    """"kvm" if it runs this kernel, else "tcg". The build folder remembers it."""
    memo = f'{folder}/accel'
    if not os.path.exists('/dev/kvm'):
        return 'tcg'
    if os.path.exists(memo):
        with open(memo, encoding='utf-8') as f:
            return f.read().strip()
    probe = Machine(qemu, 'kvm', image, initramfs)
    wait([probe], KVM_PROBE_S, until=lambda machine: machine.up_s is not None)
    accel = 'tcg' if probe.up_s is None else 'kvm'
    if accel == 'tcg':
        said = probe.lines[-1] if probe.lines else f'no output in {KVM_PROBE_S} s'
        print(f'vm: KVM does not run this kernel here ({said}): TCG, which is slower')
    with open(memo, 'w', encoding='utf-8') as f:
        f.write(accel + '\n')
    return accel
