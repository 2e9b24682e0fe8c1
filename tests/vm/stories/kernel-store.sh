# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: a client in the kernel moves pages of processes to a server and back
# seconds: 30
# module: tests/kernel/store
# programs: build:tests/vm/store_server

# The kernel's node has .1, the server's .2.
ip addr add 10.0.0.1/32 dev lo
ip addr add 10.0.0.2/32 dev lo
self=10.0.0.1@tcp:12345:40:1
address=10.0.0.2@tcp:12345:40:1
device=/dev/colibri-store

serve() {
    rm -f /tmp/up
    M0_LNET='tcp(10.0.0.2)' store_server $address /tmp/file >/tmp/up &
    server=$!
    try=0
    until grep -q $address /tmp/up; do
        [ $try -lt 60 ]
        try=$((try + 1))
        sleep 1
    done
}

pins() {
    sed -n "s/^nr_foll_pin_$1 //p" /proc/vmstat
}

insmod /own/colibri.ko networks='tcp(10.0.0.1)'
if insmod /own/colibri_store.ko; then exit 1; fi
if insmod /own/colibri_store.ko self=nonsense server=$address; then exit 1; fi
insmod /own/colibri_store.ko self=$self server=$address timeout_s=120
serve
head -c 3000001 /dev/urandom >/tmp/in

# Whole, in calls above and below a buffer's limit, at any offset in a page.
dd if=/tmp/in of=$device bs=2M
cmp /tmp/in /tmp/file
for size in 300001 1M 4M; do
    dd if=$device of=/tmp/back bs=$size
    cmp /tmp/in /tmp/back
done
dd if=/tmp/in of=/tmp/part bs=1003 skip=7 count=3
dd if=$device of=/tmp/back bs=1003 skip=7 count=3
cmp /tmp/part /tmp/back
dd if=/tmp/part of=$device bs=1003 seek=1000 conv=notrunc
dd if=/tmp/part of=/tmp/in bs=1003 seek=1000 conv=notrunc
cmp /tmp/in /tmp/file

# Nodes' threads get memory as the write-out of a file system must.
nr=0
for stat in /proc/[0-9]*/stat; do
    if grep -q '(m0-' $stat; then
        [ $(($(cut -d' ' -f9 $stat) & 0x80000)) != 0 ]
        nr=$((nr + 1))
    fi
done
[ $nr -gt 0 ]

# Nothing is unloaded below an open file.
exec 3<$device
if rmmod colibri_store; then exit 1; fi
exec 3<&-
if rmmod colibri; then exit 1; fi

# A call ends without a server, and others succeed with the next one.
kill $server
wait $server || :
echo 5 >/sys/module/colibri_store/parameters/timeout_s
if dd if=/tmp/in of=$device bs=64K count=1; then exit 1; fi
if dd if=$device of=/tmp/back bs=64K count=1; then exit 1; fi
echo 120 >/sys/module/colibri_store/parameters/timeout_s
serve
dd if=$device of=/tmp/back bs=1M
cmp /tmp/in /tmp/back

rmmod colibri_store
rmmod colibri
kill $server
# Each page was given back.
[ "$(pins acquired)" -gt 2000 ]
[ "$(pins acquired)" = "$(pins released)" ]
dmesg | grep -o 'thread .* of its stack' | sort -k5n | tail -n 1
if dmesg | grep 'BUG:\|WARNING:\|Call Trace\|not freed\|STACK:'; then exit 1; fi
