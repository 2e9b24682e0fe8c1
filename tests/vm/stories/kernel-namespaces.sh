# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: a node of colibri.ko in each network namespace
# seconds: 60
# module: tests/kernel/module
# modules: veth
# programs: build:tools/colibri /usr/sbin/ip

# space NAME: a namespace that lives as long as a process and those that enter it.
space() {
    unshare -n sleep 100000 &
    echo $! >/tmp/$1
    until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do
        sleep 0.1
    done
    in_space $1 ip link set lo up
}

in_space() {
    pid=$(cat /tmp/$1)
    shift
    nsenter -t $pid -n "$@"
}

# The wire between two namespaces, with the addresses of both ends. busybox makes no pairs.
wire() {
    /usr/bin/ip link add v$1 type veth peer name v$2
    /usr/bin/ip link set v$2 address 02:00:00:00:00:02
    for side in $1 $2; do
        /usr/bin/ip link set v$side netns $(cat /tmp/$side)
    done
    in_space $1 ip addr add 10.1.0.1/24 dev v$1
    in_space $1 ip addr add 10.1.0.3/24 dev v$1
    in_space $2 ip addr add 10.1.0.2/24 dev v$2
    in_space $1 ip link set v$1 up
    in_space $2 ip link set v$2 up
}

node() {
    in_space $1 sh -c "echo '$2' >/proc/sys/net/colibri/networks"
}

uptime_s() {
    cut -d. -f1 /proc/uptime
}

# load LOOPS: bulk both ways between a and b.
load() {
    export LST_SESSION=$$
    in_space a colibri lst new_session --timeout 60 vm --net 'tcp(10.1.0.3)'
    in_space a colibri lst add_group a 10.1.0.1@tcp
    in_space a colibri lst add_group b 10.1.0.2@tcp
    for way in 'a --to b' 'b --to a'; do
        in_space a colibri lst add_test --loop $1 --concurrency 4 --from $way ping
        for test in 'read check=full size=4K' 'write check=full size=1M'; do
            in_space a colibri lst add_test --loop $1 --concurrency 2 --from $way brw $test
        done
    done
    in_space a colibri lst run
}


# busy: 10 MiB have moved since the test began.
busy() {
    before=$(moved)
    try=0
    until [ $(($(moved) - before)) -gt $((10 << 20)) ]; do
        [ $try -lt 60 ]
        try=$((try + 1))
        sleep 1
    done
}

moved() {
    in_space a sed -n 's/^ *va: *\([0-9]*\).*/\1/p' /proc/self/net/dev
}

# connected: b has an open connection of port 988.
connected() {
    in_space b grep -q '^ *[0-9]*: 0200010A:03DC [0-9A-F]*:[0-9A-F]* 01 ' /proc/self/net/tcp
}

ip addr add 10.0.0.9/32 dev lo
insmod /own/colibri.ko networks='tcp(10.0.0.9)' accept=all selftest=1 log_level=3
space a
space b
wire a b

# There is no node in a namespace until one is asked for, and the first has no such file.
if in_space a colibri net show --ctl /dev/colibri; then exit 1; fi
[ ! -e /proc/sys/net/colibri ]

# Interfaces of other namespaces are not found.
if node a 'tcp(vb)'; then exit 1; fi
dmesg | tail -n 2
[ "$(in_space a cat /proc/sys/net/colibri/networks)" = '' ]
node a 'tcp(va)'
node b 'tcp(10.1.0.2)'
[ "$(in_space a cat /proc/sys/net/colibri/networks)" = 'tcp(va)' ]

# ended NR: so many nodes have ended.
ended() {
    [ "$(dmesg | grep -c 'its node has ended')" = $1 ]
}

# The same text changes nothing, and neither does one with a mistake. Other routes do.
node a 'tcp(va)'
if node a 'tcp(va'; then exit 1; fi
ended 0
in_space a colibri net show --ctl /dev/colibri | grep 'nid: 10.1.0.1@tcp'
in_space a sh -c 'echo "tcp9 10.1.0.2@tcp" >/proc/sys/net/colibri/routes'
node a 'tcp(va)'
ended 1
in_space a colibri route show --ctl /dev/colibri | grep tcp9
for bytes in 1023 1024; do
    printf "%${bytes}s\n" '' | tr ' ' x >/tmp/text
    status=0
    in_space a sh -c 'cat /tmp/text >/proc/sys/net/colibri/routes' || status=$?
    [ $status = $((bytes / 1024)) ]
done
[ "$(in_space a cat /proc/sys/net/colibri/routes | wc -c)" = 1024 ]
in_space a sh -c 'echo >/proc/sys/net/colibri/routes'
node a 'tcp(va)'
ended 2

# A process has the node of its namespace, and reaches what that reaches.
in_space a colibri net show --ctl /dev/colibri | tee /tmp/shown
grep 'nid: 10.1.0.1@tcp' /tmp/shown
if grep '10.0.0.9@tcp' /tmp/shown; then exit 1; fi
colibri net show --ctl /dev/colibri | grep 'nid: 10.0.0.9@tcp'
in_space a colibri ping --attach=/dev/colibri 10.1.0.2@tcp
in_space b colibri ping --attach=/dev/colibri 10.1.0.1@tcp
if colibri ping --attach=/dev/colibri --timeout 2 10.1.0.2@tcp; then exit 1; fi

# Processes of one namespace are nothing of another one, nor is how many there were.
shown() {
    $1 colibri process show --ctl /dev/colibri
}
until shown 'in_space b' | tee /tmp/before | grep 'attached: 0'; do
    sleep 0.2
done
in_space a env M0_LNET=attach:/dev/colibri colibri perf --listen --ep 10.1.0.1@tcp:12345:40:5 \
    >/tmp/listen 2>&1 &
try=0
until grep -q perf /tmp/listen; do
    [ $try -lt 60 ]
    try=$((try + 1))
    sleep 1
done
until [ "$(shown 'in_space a' | tee /tmp/shown | grep -c 'pid: [1-9]')" = 1 ]; do
    sleep 0.2
done
shown 'in_space a unshare -p -f' | grep 'pid: 0$'
shown 'in_space b' >/tmp/after
cat /tmp/before /tmp/after
[ "$(cat /tmp/before)" = "$(cat /tmp/after)" ]
kill $(sed -n 's/.*pid: //p' /tmp/shown)

load 5
try=0
until in_space a colibri lst query batch | grep 'is idle'; do
    [ $try -lt 60 ]
    try=$((try + 1))
    sleep 1
done
in_space a colibri lst show_error a b | tee /tmp/errors
[ "$(grep -c 'Total 0 error nodes' /tmp/errors)" = 2 ]
in_space a colibri lst end_session

# A namespace goes away under load, while a process that has left it has its node open.
nsenter -t $(cat /tmp/b) -n sh -c 'exec 5<>/dev/colibri; exec nsenter -t 1 -n sleep 100000' &
holder=$!
load 1000000
busy
kill $(cat /tmp/b)
before=$(uptime_s)
until ended 3; do
    [ $(($(uptime_s) - before)) -lt 60 ]
    sleep 0.2
done
echo "the namespace has ended after $(($(uptime_s) - before)) s"
in_space a colibri ping --attach=/dev/colibri 10.1.0.1@tcp
in_space a colibri lst end_session || :
kill $holder

# Another one. The wire loses the end of connections: it is sent again, long before the other
# side would notice by its keepalives.
space b
in_space a /usr/bin/ip link del va 2>/dev/null || :
wire a b
node b 'tcp(vb)'
node a 'tcp(va)'
in_space a colibri ping --attach=/dev/colibri 10.1.0.2@tcp
connected
# Nothing waits for the other side's address.
in_space a /usr/bin/ip neigh replace 10.1.0.2 lladdr 02:00:00:00:00:02 dev va nud permanent
in_space b ip link set vb down
node a ''
in_space b ip link set vb up
before=$(uptime_s)
while connected; do
    [ $(($(uptime_s) - before)) -lt 15 ]
    sleep 0.2
done
node a 'tcp(va)'
in_space a colibri ping --attach=/dev/colibri 10.1.0.2@tcp

# The module is unloaded while two have nodes under load.
load 1000000
busy
before=$(uptime_s)
rmmod colibri
echo "the module was unloaded after $(($(uptime_s) - before)) s"
[ "$(in_space a cat /proc/sys/net/colibri/networks 2>/dev/null)" = '' ]

# Loaded again, a namespace that was there before can have a node.
insmod /own/colibri.ko networks='' accept=all
node a 'tcp(va)'
node a ''
node a 'tcp(va)'
node b 'tcp(vb)'

# The administrator of a namespace is not that of the host.
if unshare -U -r -n sh -c 'echo tcp >/proc/sys/net/colibri/networks' 2>/tmp/refused; then exit 1; fi
grep 'not permitted' /tmp/refused

# A namespace that goes away ends connections in order: the other side gets no reset.
resets() {
    in_space a sed -n '/^Tcp: [0-9]/p' /proc/self/net/snmp | cut -d' ' -f9
}
in_space a colibri ping --attach=/dev/colibri 10.1.0.2@tcp
connected
nr=$(dmesg | grep -c 'its node has ended')
before=$(resets)
kill $(cat /tmp/b)
until ended $((nr + 1)); do
    sleep 0.2
done
[ "$before" != '' ]
[ "$(resets)" = "$before" ]
kill $(cat /tmp/a)
rmmod colibri
if dmesg | grep 'BUG:\|WARNING:\|Call Trace\|not freed\|STACK:'; then exit 1; fi
