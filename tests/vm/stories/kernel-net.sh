# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: m0_net for other modules, whose conformance suite passes inside the kernel
# seconds: 120
# memory: 1536
# module: tests/kernel/suite

# [r.M0.net.xprt.lnet.kernel]
dmesg -n 7
insmod /own/colibri.ko networks= log_level=3
case $((VM_seed % 3)) in
0) modes='async' ;;
1) modes='sync' ;;
*) modes='inline' ;;
esac
if [ "${VM_full:-}" = 1 ]; then modes='async sync inline'; fi
for mode in $modes; do
    for row in kmem klnet; do
        insmod /own/colibri_suite.ko row=$row mode=$mode seed=$VM_seed
        rmmod colibri_suite
    done
done
rmmod colibri
dmesg | grep -o 'thread .* of its stack' | sort -k5n | tail -n 1
if dmesg | grep 'BUG:\|WARNING:\|Call Trace\|not freed\|STACK:'; then exit 1; fi
