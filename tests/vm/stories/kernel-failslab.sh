# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: each allocation fails in turn: loading, the device, a client, the node's threads
# seconds: 300
# memory: 1024
# module: tests/kernel/store
# programs: build:tools/colibri build:tests/vm/fail_test build:tests/vm/store_server
# debug: yes

# The kernel's node has .1, nodes of user space .2 and .3.
for i in 1 2 3; do
    ip addr add 10.0.0.$i/32 dev lo
done
for what in failslab fail_page_alloc; do
    # Those that may wait fail, too; without a stack for each.
    echo N >/sys/kernel/debug/$what/ignore-gfp-wait
    echo 0 >/sys/kernel/debug/$what/verbose
done
cfg="networks=tcp(10.0.0.1) accept=all"
self=10.0.0.1@tcp:12345:40:1
address=10.0.0.2@tcp:12345:40:1

# A part of them, that the seed draws, unless all are asked for.
export M0_SEED=$VM_seed M0_SHARE=8
[ "${VM_full:-}" != 1 ] || M0_SHARE=1

pins() {
    sed -n "s/^nr_foll_pin_$1 //p" /proc/vmstat
}

echo 'load'
fail_test load /own/colibri.ko "$cfg"
echo 'attach'
insmod /own/colibri.ko "$cfg"
fail_test attach /dev/colibri

echo 'a client of m0_net in the kernel'
M0_LNET='tcp(10.0.0.2)' store_server $address /tmp/file >/tmp/up &
server=$!
try=0
until grep -q $address /tmp/up; do
    [ $try -lt 120 ]
    try=$((try + 1))
    sleep 1
done
store="self=$self server=$address timeout_s=10"
fail_test load /own/colibri_store.ko "$store"
insmod /own/colibri_store.ko $store
fail_test file /dev/colibri-store

# The library's threads: what they do for a peer fails, the node goes on.
tasks() {
    for comm in /proc/[0-9]*/comm; do
        case $(cat $comm 2>/dev/null) in m0-* | colibri-*) echo ${comm%/comm} ;; esac
    done
}
all_left() {
    for task in $(tasks); do
        if [ "$(cat $task/fail-nth)" = 0 ]; then return 1; fi
    done
}
# Each command may fail, until no allocation is left to fail.
threads() {
    nth=0
    until [ $nth -gt 300 ]; do
        nth=$((nth + 1 + (VM_seed / (nth + 1)) % step))
        for task in $(tasks); do echo $nth >$task/fail-nth; done
        "$@" >/dev/null 2>&1 || :
        if all_left; then break; fi
    done
    for task in $(tasks); do echo 0 >$task/fail-nth; done
    echo "threads: $nth allocations: $*"
    [ $nth -le 300 ]
    try=0
    until "$@"; do
        [ $try -lt 10 ]
        try=$((try + 1))
    done
}
# The client's buffer for replies is queued by a thread of the node, and again by a later call.
echo 3 >/sys/module/colibri_store/parameters/timeout_s
step=1
threads dd if=/dev/zero of=/dev/colibri-store bs=4096 count=1
rmmod colibri_store
kill $server
wait $server || :

step=$M0_SHARE
[ -n "$(tasks)" ]
threads colibri ping --timeout 5 --net 'tcp(10.0.0.3)' 10.0.0.1@tcp
colibri node --net 'tcp(10.0.0.2)' --ctl none >/tmp/node 2>&1 &
node=$!
threads colibri ping --timeout 5 --attach=/dev/colibri 10.0.0.2@tcp
kill $node
wait $node || :

rmmod colibri
[ "$(pins acquired)" -gt 0 ]
[ "$(pins acquired)" = "$(pins released)" ]
if dmesg | grep -q 'BUG:\|WARNING:\|not freed'; then exit 1; fi
