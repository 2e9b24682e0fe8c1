# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: processes that share the node of colibri.ko by /dev/colibri
# seconds: 60
# module: tests/kernel/module
# programs: build:tools/colibri build:tests/vm/device_test

# The node of the kernel has .1, one of user space .2.
for i in 1 2; do
    ip addr add 10.0.0.$i/32 dev lo
done
insmod /own/colibri.ko networks='tcp(10.0.0.1)' accept=all
colibri node --net 'tcp(10.0.0.2)' --ctl none --attach=/tmp/sock >/tmp/node 2>&1 &
node=$!

[ "$(stat -c '%a %u %g %F' /dev/colibri)" = '600 0 0 character special file' ]
export M0_LNET=attach:/dev/colibri
try=0
until colibri ping 10.0.0.2@tcp; do
    [ $try -lt 20 ]
    try=$((try + 1))
    sleep 1
done
colibri ping --attach=/dev/colibri 10.0.0.1@tcp 10.0.0.2@tcp
colibri discover 10.0.0.2@tcp

# Questions to the node of the kernel.
colibri net show --ctl /dev/colibri | tee /tmp/shown
grep 'nid: 10.0.0.1@tcp' /tmp/shown
colibri peer show --ctl /dev/colibri --json | grep '"10.0.0.2@tcp"'
colibri stats show --ctl /dev/colibri | grep 'send_count: [1-9]'
for what in 'global show' 'route show' 'udsp show' 'explain 10.0.0.2@tcp'; do
    colibri $what --ctl /dev/colibri
done
if colibri stats reset --ctl /dev/colibri 2>/tmp/refused; then exit 1; fi
grep 'answers questions alone' /tmp/refused

# A machine of a process here, one of a process at the other node: messages, PUT and GET,
# either of them first.
perf() {
    M0_LNET=attach:$1 colibri perf --listen --once --ep $2@tcp:12345:40:5 >/tmp/listen 2>&1 &
    listener=$!
    try=0
    until grep -q perf /tmp/listen; do
        [ $try -lt 60 ]
        try=$((try + 1))
        sleep 1
    done
    M0_LNET=attach:$3 colibri perf --time 0.1 --ep "$4@tcp:12345:40:*" $2@tcp:12345:40:5
    wait $listener
}
perf /dev/colibri 10.0.0.1 /tmp/sock 10.0.0.2
perf /tmp/sock 10.0.0.2 /dev/colibri 10.0.0.1
perf /dev/colibri 10.0.0.1 /dev/colibri 10.0.0.1

# Processes that are killed in the middle of it leave nothing: the number of a listener is free
# again, and the module can be unloaded.
i=0
while [ $i -lt $((${VM_full:-0} == 1 ? 100 : 10)) ]; do
    i=$((i + 1))
    colibri perf --listen --ep 10.0.0.1@tcp:12345:40:5 >/tmp/listen 2>&1 &
    listener=$!
    try=0
    until grep -q perf /tmp/listen; do
        kill -0 $listener
        [ $try -lt 600 ]
        try=$((try + 1))
        usleep 100000
    done
    colibri perf --time 20 --ep '10.0.0.1@tcp:12345:40:*' 10.0.0.1@tcp:12345:40:5 \
        >/dev/null 2>&1 &
    client=$!
    usleep $(((VM_seed / i) % 500000))
    if [ $((i % 2)) = 0 ]; then kill -9 $listener $client; else kill -9 $client $listener; fi
    wait $listener $client || :
done

if rmmod colibri 2>/dev/null <>/dev/colibri; then exit 1; fi
kill $node
wait $node || :
rmmod colibri
[ ! -e /dev/colibri ]

# What no library does.
insmod /own/colibri.ko networks='tcp(10.0.0.1)' device_mode=0666 device_gid=7
[ "$(stat -c '%a %u %g' /dev/colibri)" = '666 0 7' ]
M0_SEED=$VM_seed device_test
rmmod colibri
if insmod /own/colibri.ko networks='tcp(10.0.0.1)' device_mode=01000; then exit 1; fi
insmod /own/colibri.ko networks='tcp(10.0.0.1)' device_mode=0
[ ! -e /dev/colibri ]
rmmod colibri
if dmesg | grep -q 'BUG:\|WARNING:\|Call Trace\|not freed'; then exit 1; fi
