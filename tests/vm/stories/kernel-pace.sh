# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: how long messages take between two nodes inside the kernel
# seconds: 30
# module: tests/kernel/pace

dmesg -n 4
insmod /own/colibri.ko networks=
cat /sys/devices/system/clocksource/clocksource0/current_clocksource
for spin in -1 0 -1 0 -1 0; do
    insmod /own/colibri_pace.ko spin_ns=$spin
    rmmod colibri_pace
done
rmmod colibri
if dmesg | grep -q 'BUG:\|WARNING:\|Call Trace\|not freed'; then exit 1; fi
