# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: our node in two machines over soft-RoCE: ping, perf, copy, put and get, a kill, a cut
# machines: 2
# seconds: 60
# memory: 640
# modules: crc32_generic virtio_pci virtio_net ib_uverbs rdma_ucm rdma_rxe
# programs: /usr/bin/rdma build:tools/colibri
# rdma: yes

server=192.168.50.1
client=192.168.50.2
[ "$VM_name" = a ] && own=$server || own=$client
ip addr add $own/24 dev eth0
ip link set eth0 mtu 4500 up
rdma link add rxe0 type rxe netdev eth0

if [ "$VM_name" = a ]; then
    mkdir -p /tmp/in /tmp/objects
    # Does what the other one says.
    nc -ll -p 9 -e /bin/sh &
    until [ -e /tmp/done ]; do sleep 1; done
    exit
fi

net="--net o2ib(eth0)"
there="--net 'o2ib(eth0)'"
ep=$server@o2ib:12345:40

far()
{
    echo "$1" | nc -w 10 $server 9
}

# until_far SECONDS COMMAND WORD: until what the command says there has the word.
until_far()
{
    try=0
    until far "$2" | grep -q "$3"; do
        [ $try -lt $1 ] || { far "$2"; echo "no '$3' in $1 s"; exit 1; }
        try=$((try + 1))
        sleep 1
    done
}

# far_start NAME COMMAND WORD: until its output has the word.
far_start()
{
    far "$2 </dev/null >/tmp/$1.out 2>&1 & echo \$! >/tmp/$1.pid"
    until_far 30 "cat /tmp/$1.out" "$3"
}

# far_end NAME SIGNAL: until it is no more.
far_end()
{
    far "kill -$2 \$(cat /tmp/$1.pid); while [ -d /proc/\$(cat /tmp/$1.pid) ]; do sleep 1; done"
}

# Packets to the other one are lost, and neither port knows.
cut()
{
    arp -s $server 02:00:00:00:00:99
}

mend()
{
    arp -d $server
}

packets()
{
    cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts
}

# under_way COUNT: until so many packets have left.
under_way()
{
    to=$(($(packets) + $1))
    try=0
    until [ $(packets) -ge $to ]; do
        [ $try -lt 30 ] || { cat /tmp/said; echo 'nothing moves'; exit 1; }
        try=$((try + 1))
        sleep 1
    done
}

now()
{
    read -r up rest </proc/uptime
    echo ${up%.*}
}

# fails SECONDS WORDS PID: it ends in that time, with status 1 and the words.
fails()
{
    since=$(now)
    status=0
    wait $3 || status=$?
    took=$(($(now) - since))
    cat /tmp/said
    echo "status $status after $took s"
    [ $status = 1 ]
    [ $took -le $1 ]
    grep -q "$2" /tmp/said
}

slow_copy()
{
    exec colibri copy --quiet --block 4K --inflight 2 --timeout 4 $net /tmp/big $ep:4095:cut
}

until_far 60 'echo here' here
trap 'mend 2>/dev/null || :; far "touch /tmp/done"' EXIT
dd if=/dev/urandom of=/tmp/big bs=1M count=12 2>/dev/null
sum=$(md5sum </tmp/big)

echo '--- ping'
far_start node "colibri node $there --ctl none" o2ib
colibri ping $net $server@o2ib
far_end node TERM

echo '--- perf'
far_start perf "colibri perf --listen $there" perf
colibri perf $net --test latency,put,get --size 64,64K --time 0.2 $ep:4095 >/tmp/perf
cat /tmp/perf
[ "$(grep -cE '^(latency|put|get)  +64' /tmp/perf)" = 6 ]
far_end perf TERM

echo '--- copy'
listen="colibri copy --listen --timeout 4 $there /tmp/in"
far_start copy "$listen" copy
colibri copy --quiet $net /tmp/big $ep:4095:whole
[ "$(far 'md5sum </tmp/in/whole')" = "$sum" ]

echo '--- the sender is killed: nothing of it is left, and the next one comes through'
slow_copy &
under_way 200
kill -9 $!
colibri copy --quiet $net /tmp/big $ep:4095:next
until_far 20 'cat /tmp/copy.out' "'cut' from $client@o2ib.* is not received: "
[ "$(far 'ls -A /tmp/in')" = "next
whole" ]

echo '--- the receiver is killed: the sender says so at once'
slow_copy 2>/tmp/said &
under_way 200
far_end copy 9
fails 20 'cannot be reached\|reset by peer' $!
far_start copy "$listen" copy

echo '--- the way is cut: both sides end in time, and the next copy comes through'
slow_copy 2>/tmp/said &
under_way 200
cut
fails 20 'nothing came from the other side for 4 s\|Connection timed out' $!
sleep 4
mend
until_far 20 'cat /tmp/copy.out' "'cut' from $client@o2ib.* is not received: "
colibri copy --quiet --timeout 20 $net /tmp/big $ep:4095:again
[ "$(far 'ls -A /tmp/in')" = "again
next
whole" ]
far_end copy TERM

echo '--- put and get'
serve="colibri serve --sync none --timeout 4 $there /tmp/objects"
far_start serve "$serve" "objects of"
colibri put --quiet $net /tmp/big $ep:1:big
colibri get --quiet $net $ep:1:big /tmp/back
cmp /tmp/big /tmp/back

echo '--- the service is killed and comes back: the put goes on'
cp /tmp/big /tmp/big2
colibri put --quiet --blocks 1 $net /tmp/big2 $ep:1:big2 &
under_way 100
far_end serve 9
far_start serve "$serve" "objects of"
wait $!

echo '--- the way is cut for 3 s: the get goes on'
colibri get --quiet --blocks 1 $net $ep:1:big2 /tmp/back2 &
under_way 100
cut
sleep 3
mend
wait $!
cmp /tmp/big /tmp/back2

# The last: soft-RoCE of 6.1 connects no more when its device was down, for rping neither.
echo '--- a port goes down: it says so, and the copy ends in time on both sides'
far_end serve TERM
far_start copy "$listen" copy
slow_copy 2>/tmp/said &
under_way 200
far '(sleep 1; ip link set eth0 down; sleep 8; ip link set eth0 up) >/dev/null 2>&1 &'
fails 30 'nothing came from the other side for 4 s\|Connection timed out' $!
until_far 60 'cat /tmp/copy.out' "o2ib: the port of $server@o2ib is down"
until_far 20 'cat /tmp/copy.out' "'cut' from $client@o2ib.* is not received: "
