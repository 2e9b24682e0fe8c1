# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: colibri node, ping and perf on net o2ib, over soft-RoCE
# seconds: 45
# modules: crc32_generic dummy ib_uverbs rdma_ucm rdma_rxe
# programs: /usr/bin/rdma build:tools/colibri
# rdma: yes

ip addr add 192.168.50.1/24 dev dummy0
ip addr add 192.168.50.2/24 dev dummy0
ip addr add 192.168.50.3/24 dev dummy0
ip link set dummy0 mtu 4500 up
# An interface without a device says so.
if colibri node --net 'o2ib(dummy0)' 2>/tmp/refused; then exit 1; fi
grep 'no RDMA device' /tmp/refused
rdma link add rxe0 type rxe netdev dummy0
colibri node --net 'o2ib(192.168.50.1)' --ctl none >/tmp/server 2>&1 &
node=$!
try=0
until colibri ping --net 'o2ib(192.168.50.2)' 192.168.50.1@o2ib; do
    cat /tmp/server
    [ $try -lt 20 ]
    try=$((try + 1))
    sleep 1
done
kill $node
wait $node || :
cat /tmp/server
# A mismatch is named by value, and a smaller value is agreed on.
colibri node --net 'o2ib(192.168.50.1) peer_credits=4' --ctl none >/tmp/server 2>&1 &
node=$!
try=0
until colibri ping --net 'o2ib(192.168.50.2)' 192.168.50.1@o2ib 2>/tmp/said; do
    cat /tmp/server /tmp/said
    [ $try -lt 20 ]
    try=$((try + 1))
    sleep 1
done
cat /tmp/said
grep 'peer credits: its queue depth is 4, ours 8' /tmp/said
# So it is through a node that runs.
colibri node --net 'o2ib(192.168.50.2) get_req=1' --ctl /tmp/ctl >/tmp/asker 2>&1 &
asker=$!
try=0
until colibri ping --ctl /tmp/ctl 192.168.50.1@o2ib 2>/tmp/said; do
    cat /tmp/asker /tmp/said
    [ $try -lt 20 ]
    try=$((try + 1))
    sleep 1
done
cat /tmp/said
grep 'the node says: .*peer credits: its queue depth is 4, ours 8' /tmp/said
colibri net show -v --ctl /tmp/ctl | grep 'get_req: 1'
kill $node $asker
wait $node || :
wait $asker || :

colibri perf --transport lnet --net 'o2ib(192.168.50.1)' --peer-net 'o2ib(192.168.50.2)' \
    --test latency,put,get --size 64,64K --time 0.2 >/tmp/perf
cat /tmp/perf
# A row says its path.
[ "$(grep -c '^[a-z]* *64 .* immediate$' /tmp/perf)" = 3 ]
[ "$(grep -c '^[a-z]* *64K .* write$' /tmp/perf)" = 3 ]


# A router joins tcp and o2ib: pings either way, and bulk from tcp to o2ib.
colibri node --net 'tcp(127.0.0.1),o2ib(192.168.50.1)' --routing --ctl /tmp/router.ctl >/tmp/router 2>&1 &
router=$!
colibri node --net 'o2ib(192.168.50.2)' --routes 'tcp 192.168.50.1@o2ib' --ctl /tmp/ctl >/tmp/server 2>&1 &
server=$!
colibri perf --listen --net 'tcp(127.0.0.2)' --routes 'o2ib 127.0.0.1@tcp' --ep '127.0.0.2@tcp:12345:40:7' >/tmp/listen 2>&1 &
listen=$!
try=0
until colibri ping --net 'tcp(127.0.0.3)' --routes 'o2ib 127.0.0.1@tcp' 192.168.50.2@o2ib 2>/tmp/said &&
    colibri ping --ctl /tmp/ctl 127.0.0.2@tcp 2>>/tmp/said; do
    cat /tmp/router /tmp/server /tmp/listen /tmp/said
    [ $try -lt 20 ]
    try=$((try + 1))
    sleep 1
done
colibri perf --net 'o2ib(192.168.50.3)' --routes 'tcp 192.168.50.1@o2ib' --test get --size 64K \
    --depth 1 --time 0.1 '127.0.0.2@tcp:12345:40:7' >/tmp/perf
cat /tmp/perf
grep '^get *64K .* write ' /tmp/perf
kill $listen $router
wait $listen || :
wait $router || :

# Two nodes cannot have one address.
if colibri node --net 'o2ib(192.168.50.2)' --ctl none 2>/tmp/refused; then exit 1; fi
grep 'another node of this host' /tmp/refused
# A device that is removed ends no node: it says so, answers, and stops. soft-RoCE is gone
# when the last process that has it open has ended, for which the command waits.
rdma link delete rxe0 &
delete=$!
try=0
until grep 'gone: its device was removed' /tmp/server; do
    cat /tmp/server
    [ $try -lt 20 ]
    try=$((try + 1))
    sleep 1
done
colibri net show --ctl /tmp/ctl
kill $server
wait $server
cat /tmp/server
wait $delete
