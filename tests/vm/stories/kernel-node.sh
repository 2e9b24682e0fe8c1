# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: colibri.ko answers ping and discovery, and moves data both ways
# seconds: 60
# module: tests/kernel/module
# programs: build:tools/colibri

# Nodes of the kernel have .1, nodes of user space .2 and the console .3.
for i in 1 2 3; do
    ip addr add 10.0.0.$i/32 dev lo
    ip -6 addr add fd00::$i/128 dev lo
done

# A parameter that is not understood is named, and nothing is left.
if insmod /own/colibri.ko networks='tcp(10.0.0.1' 2>/tmp/refused; then exit 1; fi
dmesg | tail -n 3
if lsmod | grep -q colibri; then exit 1; fi
if insmod /own/colibri.ko accept=some; then exit 1; fi
dmesg | grep 'accept is some; it may be secure, all or none'

idle() {
    for _ in $(seq 60); do
        if colibri lst query batch | grep 'is idle'; then return 0; fi
        sleep 1
    done
    return 1
}

received() {
    cat /sys/class/net/lo/statistics/rx_bytes
}

# use KERNEL USER CONSOLE: addresses.
use() {
    before=$(received)
    insmod /own/colibri.ko networks="tcp($1)" selftest=1
    for _ in 1 2 3; do
        colibri ping --net "tcp($2)" $1@tcp
    done
    colibri discover --net "tcp($2)" $1@tcp
    colibri node --net "tcp($2)" --selftest --ctl none >/tmp/node 2>&1 &
    node=$!
    export LST_SESSION=$$
    colibri lst new_session --timeout 60 vm --net "tcp($3)"
    colibri lst add_group kernel $1@tcp
    try=0
    until colibri lst add_group user $2@tcp; do
        [ $try -lt 20 ]
        try=$((try + 1))
        sleep 1
    done
    for way in 'kernel --to user' 'user --to kernel' 'kernel --to kernel'; do
        colibri lst add_test --loop 20 --concurrency 4 --from $way ping
        for test in 'read check=full size=4K' 'write check=full size=4K' \
            'read check=full size=1M' 'write check=full size=1M'; do
            colibri lst add_test --loop 5 --concurrency 2 --from $way brw $test
        done
    done
    colibri lst run
    idle
    colibri lst show_error kernel user | tee /tmp/errors
    [ "$(grep -c 'Total 0 error nodes' /tmp/errors)" = 2 ]
    # Between the two nodes, 40 times 1 MiB.
    [ $(($(received) - before)) -gt $((40 << 20)) ]
    colibri lst end_session
    kill $node
    wait $node || :
    rmmod colibri
}

use 10.0.0.1 10.0.0.2 10.0.0.3
use fd00::1 fd00::2 fd00::3

# Garbage ends its connection, not the node; nor do peers that say nothing keep it.
insmod /own/colibri.ko networks='tcp(10.0.0.1)' accept=all
for _ in $(seq 20); do
    head -c 4096 /dev/urandom | timeout 5 nc 10.0.0.1 988 >/dev/null || :
done
sleep 30 | nc 10.0.0.1 988 &
silent=$!
colibri ping --net 'tcp(10.0.0.2)' 10.0.0.1@tcp
rmmod colibri
kill $silent || :

# It is unloaded while data move to it and from it.
insmod /own/colibri.ko networks='tcp(10.0.0.1)' selftest=1
colibri node --net 'tcp(10.0.0.2)' --selftest --ctl none >/tmp/node 2>&1 &
node=$!
colibri lst new_session --timeout 60 vm --net 'tcp(10.0.0.3)'
colibri lst add_group kernel 10.0.0.1@tcp
try=0
until colibri lst add_group user 10.0.0.2@tcp; do
    [ $try -lt 20 ]
    try=$((try + 1))
    sleep 1
done
for way in 'kernel --to user' 'user --to kernel'; do
    for test in 'read size=1M' 'write size=1M'; do
        colibri lst add_test --concurrency 4 --from $way brw $test
    done
done
before=$(received)
colibri lst run
try=0
until [ $(($(received) - before)) -gt $((10 << 20)) ]; do
    [ $try -lt 60 ]
    try=$((try + 1))
    sleep 1
done
rmmod colibri
kill $node
wait $node || :

# Opened and closed often, with and without a peer; memory comes back.
for _ in $(seq 20); do
    insmod /own/colibri.ko networks='tcp(10.0.0.1)'
    rmmod colibri
done
dmesg | grep -o 'thread .* of its stack' | sort -k5n | tail -n 1
if dmesg | grep 'BUG:\|WARNING:\|Call Trace\|not freed\|STACK:'; then exit 1; fi
