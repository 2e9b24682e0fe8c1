# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: the suite of transports, of which one node is that of colibri.ko
# seconds: 120
# memory: 1024
# module: tests/kernel/module
# programs: build:tests/conformance/xprt_suite

# Times as those of the suite's own nodes.
insmod /own/colibri.ko networks='tcp(127.0.0.1) timeout=5' accept=all transaction_timeout=5
case $((VM_seed % 3)) in
0) modes='async' ;;
1) modes='sync' ;;
*) modes='inline' ;;
esac
share="--share 8"
if [ "${VM_full:-}" = 1 ]; then
    modes='async sync inline'
    share=
fi
export M0_DRAW=$VM_seed CF_ALARM_S=300
for mode in $modes; do
    xprt_suite --row lnet-device --mode $mode $share
done
rmmod colibri
dmesg | grep -o 'thread .* of its stack' | sort -k5n | tail -n 1
if dmesg | grep 'BUG:\|WARNING:\|Call Trace\|not freed\|STACK:'; then exit 1; fi
