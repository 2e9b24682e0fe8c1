# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: how long messages and 1 MiB take between two nodes, in the kernel and in a process
# seconds: 60
# module: tests/kernel/pace
# programs: build:tests/vm/pace_user

dmesg -n 4
insmod /own/colibri.ko networks=
cat /sys/devices/system/clocksource/clocksource0/current_clocksource
for _ in 1 2 3; do
    insmod /own/colibri_pace.ko
    rmmod colibri_pace
    pace_user | tee -a /tmp/user
done
insmod /own/colibri_pace.ko spin_ns=0
rmmod colibri_pace
dmesg | grep 'colibri: kernel: .*: 50%' | head -n 6 >/tmp/kernel

# The median of three runs.
median() {
    sed -n "s/.*$2: 50% \\([0-9]*\\) us.*/\\1/p" /tmp/$1 | sort -n | sed -n 2p
}
for what in '64 B and back' '1 MiB PUT'; do
    kernel=$(median kernel "$what")
    user=$(median user "$what")
    echo "$what: kernel $kernel us, process $user us, ratio $((100 * user / kernel)) %"
done
rmmod colibri
if dmesg | grep 'BUG:\|WARNING:\|Call Trace\|not freed\|STACK:'; then exit 1; fi
