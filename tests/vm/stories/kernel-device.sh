# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: processes that share the node of colibri.ko by /dev/colibri
# seconds: 60
# module: tests/kernel/module
# programs: build:tools/colibri build:tests/vm/device_test

# The node of the kernel has .1, one of user space .2.
for i in 1 2 3; do
    ip addr add 10.0.0.$i/32 dev lo
done

# The device is there when the node is, and not at all if there will be none.
until [ -e /tmp/refused ]; do
    if [ -e /dev/colibri ]; then echo >/tmp/early; fi
done &
watcher=$!
if insmod /own/colibri.ko networks='tcp(10.9.9.9)'; then exit 1; fi
echo >/tmp/refused
wait $watcher
[ ! -e /tmp/early ]
(
    until [ -e /dev/colibri ]; do :; done
    : </dev/colibri
) &
opener=$!
insmod /own/colibri.ko networks='tcp(10.0.0.1)' accept=all
wait $opener
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
for what in 'route show' 'udsp show' 'explain 10.0.0.2@tcp'; do
    colibri $what --ctl /dev/colibri
done

# Changes of it, by the same requests as a daemon's. [r.lnet.preconfigured]
ctl() {
    colibri "$@" --ctl /dev/colibri
}
refused() {
    status=0
    colibri $2 --ctl /dev/colibri 2>/tmp/refused || status=$?
    [ $status = $1 ] && grep "$3" /tmp/refused
}
ctl net add --net tcp1 --if 10.0.0.3
ctl route add --net tcp5 --gateway 10.0.0.9@tcp1 --priority 3
ctl peer add --prim_nid 10.0.0.8@tcp1
ctl udsp add --src tcp --priority 7
ctl set transaction_timeout 60
ctl set routing 1
ctl stats reset
ctl discover 10.0.0.2@tcp
ctl config export | tee /tmp/exported
for line in 'nid: 10.0.0.3@tcp1' 'net: tcp5' 'primary nid: 10.0.0.8@tcp1' 'priority: 7' \
    'transaction_timeout: 60' 'enable: 1'; do
    grep "$line" /tmp/exported
done
cat >/tmp/conf <<EOF
net:
  - net type: tcp1
    local NI(s):
      - nid: 10.0.0.3@tcp1
route:
  - net: tcp5
    gateway: 10.0.0.9@tcp1
routing:
  enable: 1
EOF
ctl config import --del /tmp/conf | tee /tmp/changes
grep -- '- net tcp1' /tmp/changes
grep 'routing' /tmp/changes
ctl net show | tee /tmp/shown
if grep tcp1 /tmp/shown; then exit 1; fi
refused 1 'net add --net tcp2 --if 10.9.9.9' 10.9.9.9
refused 1 'set transaction_timeout 0' 'it may be 1 to'
refused 2 'process drain' 'process show'
colibri perf --listen --ep 10.0.0.1@tcp:12345:40:5 >/tmp/listen 2>&1 &
listener=$!
try=0
until ctl process show | grep "pid: $listener\$"; do
    [ $try -lt 60 ]
    try=$((try + 1))
    sleep 1
done
kill -9 $listener
wait $listener || :

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
    if rmmod colibri 2>/dev/null; then exit 1; fi
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
mkdir -p /etc
echo 'user:x:1000:1000::/:/bin/sh' >>/etc/passwd
echo 'user:x:1000:' >>/etc/group
if start-stop-daemon -S -c user:user -x /bin/colibri -- set routing 1 --ctl /dev/colibri \
    2>/tmp/refused; then exit 1; fi
grep CAP_NET_ADMIN /tmp/refused
M0_SEED=$VM_seed device_test
rmmod colibri
if insmod /own/colibri.ko networks='tcp(10.0.0.1)' device_mode=01000; then exit 1; fi
insmod /own/colibri.ko networks='tcp(10.0.0.1)' device_mode=0
[ ! -e /dev/colibri ]
rmmod colibri
dmesg | grep -o 'thread .* of its stack' | sort -k5n | tail -n 1
if dmesg | grep 'BUG:\|WARNING:\|Call Trace\|not freed\|STACK:'; then exit 1; fi
