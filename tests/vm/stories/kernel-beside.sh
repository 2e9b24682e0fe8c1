# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: colibri.ko beside a daemon: whose port it is, and what to do, is said on both sides
# seconds: 20
# module: tests/kernel/module
# programs: build:tools/colibri

ip addr add 10.0.0.1/32 dev lo
ip addr add 10.0.0.2/32 dev lo
await() {
    try=0
    until "$@" >/dev/null 2>&1; do
        [ $try -lt 60 ]
        try=$((try + 1))
        sleep 1
    done
}
daemon() {
    colibri node --net "tcp($1)" --ctl /tmp/ctl >/tmp/node 2>&1 &
    node=$!
    await colibri net show --ctl /tmp/ctl
}

# The daemon was first: the module is refused, and says which port, and the ways out.
daemon 10.0.0.1
if insmod /own/colibri.ko networks='tcp(10.0.0.1)'; then exit 1; fi
dmesg | grep 'cannot listen at 10.0.0.1 port 988.*EADDRINUSE' | tee /tmp/said
grep 'another node has the port: stop it, or give another one by the parameter port' /tmp/said
if lsmod | grep -q colibri; then exit 1; fi
# Both of them work, and so does another address: the two talk to each other.
insmod /own/colibri.ko networks='tcp(10.0.0.1)' port=1988
rmmod colibri
insmod /own/colibri.ko networks='tcp(10.0.0.2)'
colibri ping --attach=/dev/colibri 10.0.0.1@tcp
colibri ping --ctl /tmp/ctl 10.0.0.2@tcp
rmmod colibri
kill $node
wait $node || :

# The module was first: the daemon ends, and says how to see who has the port.
insmod /own/colibri.ko networks='tcp(10.0.0.1)'
if colibri node --net 'tcp(10.0.0.1)' --ctl none 2>/tmp/said; then exit 1; fi
cat /tmp/said
grep '10.0.0.1.*988' /tmp/said
grep -i 'listens there' /tmp/said
rmmod colibri
if dmesg | grep 'BUG:\|WARNING:\|Call Trace\|not freed\|STACK:'; then exit 1; fi
