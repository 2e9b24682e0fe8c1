# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: unit tests pass inside the kernel
# seconds: 180
# memory: 1536
# module: tests/kernel/build

# Each program and its time; without it errors alone reach the console.
dmesg -n 7
# A module that the kernel refuses has found a failure, or cannot be loaded.
if ! insmod /own/colibri_tests.ko; then
    dmesg | grep 'colibri: .*\(failed\|assertion\|!=\)' | tail -n 30
    exit 1
fi
rmmod colibri_tests
