# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a kernel with checks has to say about a story: its log, and the state at the end."""
import re

# Reports by their kind. A line of the log has a time before it.
KINDS = {
    'KASAN': r'BUG: KASAN',
    'sleeping': r'BUG: sleeping function',
    'leak': r'unreferenced object 0x|\d+ allocations were not freed',
    'lockdep': r'WARNING: (possible|inconsistent|bad unlock|held lock|lock held|nested lock)'
               r'|WARNING: .* lock order|WARNING: suspicious RCU|BUG: (MAX_LOCK|held lock)'
               r'|INFO: (lockdep is turned off|trying to register non-static key)',
    'objects': r'ODEBUG: ',
    'lost': r'kmemleak: (Kernel memory leak detector disabled|Memory pool empty)',
    'BUG': r'BUG: |kernel BUG at|Oops: |general protection fault|Kernel panic|bad: scheduling',
    'WARNING': r'WARNING: |refcount_t: |ref_tracker: |list_(add|del) corruption',
    'hang': r'INFO: task .* blocked for more than|soft lockup|self-detected stall'
            r'|detected stalls on',
}
# A module from outside the kernel's tree, one without a signature, and one that is a test.
TAINTS_ALLOWED = 1 << 12 | 1 << 13 | 1 << 18
REPORT_LINES = 60

# Words of the kernel's command line: room for all of the log; no verdict depends on speed.
WORDS = ['vm.debug=1', 'log_buf_len=4M', 'kasan_multi_shot', 'rcupdate.rcu_cpu_stall_suppress=1',
         'sysctl.kernel.hung_task_timeout_secs=300']

LOG_BEGIN = 'colibri-vm: log'
LOG_END = 'colibri-vm: log ends'
# A machine runs these before the story, and behind it, in whatever state that is.
BEGIN = '''mount -t debugfs debugfs /sys/kernel/debug
echo clear >/sys/kernel/debug/kmemleak
'''
END = f'''# An object is a leak if two searches, five seconds after its birth, see no pointer to it.
echo scan >/sys/kernel/debug/kmemleak
sleep 6
echo scan >/sys/kernel/debug/kmemleak
echo scan >/sys/kernel/debug/kmemleak
echo "{LOG_BEGIN}"
dmesg
cat /sys/kernel/debug/kmemleak
grep debug_locks: /proc/lockdep_stats
echo "tainted: $(cat /proc/sys/kernel/tainted)"
echo "{LOG_END}"
'''


def kind_of(line):
    """Kind of the report that begins here, or None. The first that fits: they overlap."""
    return next((kind for kind, text in KINDS.items() if re.search(text, line)), None)


def is_from_boot(log, i):
    """Whether an object was made by the kernel itself when it booted, which colibri's never are:
    ACPI loses some in a kernel without PCI."""
    return re.search(r'unreferenced object 0x', log[i]) is not None and any(
        re.search(r'comm "swapper/\d+", pid [01],', line) for line in log[i + 1:i + 2])


def log_of(lines):
    """The kernel's log and the state, if the machine came so far as to print them; else
    what its console said."""
    begins = [i for i, line in enumerate(lines) if line == LOG_BEGIN]
    if not begins:
        return lines, False
    rest = lines[begins[-1] + 1:]
    whole = LOG_END in rest
    return rest[:rest.index(LOG_END)] if whole else rest, whole


def state_faults(log):
    """What is wrong with the state at the end: checks that ended early, marks of a fault."""
    faults = []
    if not any('Linux version' in line for line in log):
        faults.append(('lost', ['the log has lost its begin']))
    if not any(re.match(r'\s*debug_locks:\s+1$', line) for line in log):
        faults.append(('lockdep', ['lockdep has turned itself off']))
    tainted = re.findall(r'^tainted: (\d+)$', '\n'.join(log), re.M)
    if not tainted or int(tainted[0]) & ~TAINTS_ALLOWED:
        faults.append(('tainted', [f'the kernel is tainted: {" ".join(tainted) or "unknown"}']))
    return faults


def reports(lines):
    """Pairs: kind of a report, its lines. `lines`: all that the console said."""
    log, whole = log_of(lines)
    found = []
    for i, line in enumerate(log):
        kind = kind_of(line)
        if kind and not is_from_boot(log, i):
            found.append((kind, log[i:i + REPORT_LINES]))
    if whole:
        return found + state_faults(log)
    return found + [('lost', ['the machine did not print its log'])]


def verdict(lines, expected):
    """Text of what is wrong; empty: nothing. `expected`: kinds that must be there, and may.
    Without any there may be no report."""
    found = reports(lines)
    wrong = []
    for kind, text in found:
        if kind not in expected:
            wrong.append('\n'.join([f'a report ({kind}):', *text]))
    for kind in expected:
        if kind not in [k for k, _ in found]:
            wrong.append(f'no report ({kind}), though the story has made a fault')
    return wrong
