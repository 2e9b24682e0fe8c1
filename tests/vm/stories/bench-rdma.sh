# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: our rates over soft-RoCE beside those of perftest, libfabric and UCX; judges none
# seconds: 150
# memory: 1024
# modules: crc32_generic dummy ib_uverbs rdma_ucm rdma_rxe
# packages: perftest libibumad3 libpci3 libfabric-bin libfabric1 libpsm2-2 libpsm-infinipath1 ucx-utils libucx0 libnuma1 libgomp1
# programs: /usr/bin/rdma build:tools/colibri usr/bin/ib_write_bw usr/bin/ib_send_lat usr/bin/fi_pingpong usr/bin/ucx_perftest
# plugins: usr/lib/x86_64-linux-gnu/ucx/libuct_ib.so.0
# rdma: yes

rounds=3
server=192.168.50.1
client=192.168.50.2
ip addr add $server/24 dev dummy0
ip addr add $client/24 dev dummy0
ip link set dummy0 mtu 4500 up
rdma link add rxe0 type rxe netdev dummy0
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
export UCX_IB_GID_INDEX=1 UCX_MODULE_DIR=/usr/lib/x86_64-linux-gnu/ucx

# pair NAME SERVER CLIENT AWK: both are processes of this machine; the program for awk finds the
# number in what the client says.
pair()
{
    timeout 40 $2 </dev/null >/tmp/server 2>&1 &
    sleep 1
    timeout 30 $3 </dev/null >/tmp/said 2>&1 || :
    kill $! 2>/dev/null || :
    wait $! || :
    found=$(awk "$4" /tmp/said)
    if [ -n "$found" ]; then
        echo "$found" >>"/tmp/$1"
    else
        echo "$1: $3: no result"
        tail -n 3 /tmp/said /tmp/server
    fi
}

# ours NAME SPIN TEST SIZE DEPTH KEY SCALE
ours()
{
    pair $1 "colibri perf --listen --spin $2 --net o2ib($server)" "colibri perf --spin $2 \
        --net o2ib($client) --test $3 --size $4 --depth $5 --time 2 --json \
        $server@o2ib:12345:40:4095" "\$1 == \"\\\"$6\\\":\" { print \$2 * $7; exit }"
}

# ib NAME SIZE FIELD SCALE COMMAND
ib()
{
    set -- $1 "$5 -d rxe0 -x 1 -F -s $2" "\$1 == $2 { print \$$3 * $4; exit }"
    pair $1 "$2" "$2 $server" "$3"
}

# libfabric NAME SIZE COUNT FIELD
libfabric()
{
    [ $round = 0 ] || [ -e /tmp/$1 ] || return 0
    set -- $1 "fi_pingpong -p verbs;ofi_rxm -e rdm -S $2 -I $3" "\$3 ~ /^=/ { print \$$4; exit }"
    pair $1 "$2" "$2 $server" "$3"
}

# ucx NAME FIELD SCALE OPTIONS
ucx()
{
    set -- $1 "ucx_perftest -d rxe0:1 -x rc_verbs" "$4" "\$1 == \"Final:\" { print \$$2 * $3 }"
    pair $1 "$2" "$2 $3 $server" "$4"
}

# median NAME: and the least and the most.
median()
{
    [ -e /tmp/$1 ] && sort -n /tmp/$1 |
        awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)], v[1], v[NR] }'
}

# row WHAT UNIT OURS RIVAL NAME AIM: one over the other, whichever is better when more.
row()
{
    mine=$(median $3) || { echo "row: $1: ours gave no result"; return; }
    theirs=$(median $4) || { echo "row: $1: $5 gave no result"; return; }
    echo $mine $theirs | awk -v what="$1" -v unit="$2" -v rival="$5" -v aim="${6-}" '{
        printf "row: %s: %.1f %s [%.1f-%.1f], %s %.1f [%.1f-%.1f]: %.2f times as much%s\n",
            what, $1, unit, $2, $3, rival, $4, $5, $6, $1 / $4, aim == "" ? "" : " (aim " aim ")" }'
}

qps()
{
    rdma resource show | sed -n 's/.* qp \([0-9]*\).*/\1/p'
}

# memory CONNS: KiB of a process that has so many connections to a peer, and QPs of both.
memory()
{
    colibri perf --listen --net "o2ib($server)" >/tmp/server 2>&1 &
    listener=$!
    sleep 3
    colibri perf --net "o2ib($client)" --conns-per-peer $1 --test rate --time 12 \
        $server@o2ib:12345:40:4095 >/tmp/said 2>&1 &
    sleep 12
    awk -v qps=$(qps) '$1 == "VmRSS:" { print $2, qps }' /proc/$listener/status
    wait $!
    kill $listener
    wait $listener || :
}

few=$(memory 1)
many=$(memory 33)
echo $few $many | awk '$4 > $2 {
    printf "row: a connection of depth 8, at one side: %.0f KiB (%d connections more: VmRSS %d, %d KiB)\n",
        2 * ($3 - $1) / ($4 - $2), ($4 - $2) / 2, $1, $3 }'

round=0
while [ $round -lt $rounds ]; do
    ours lat 0 latency 64 1 p50 0.001
    ib send_lat_e 64 5 1 'ib_send_lat -e -n 300'
    ours lat_spin 1ms latency 64 1 p50 0.001
    ib send_lat 64 5 1 'ib_send_lat -n 300'
    ucx ucx_lat 3 1 '-t am_lat -s 64 -n 300 -w 20'
    libfabric fi_lat 64 300 7
    ours put 0 put 1M 8 mb_per_second 1
    ib write_bw 1048576 4 1.048576 'ib_write_bw -t 8 -n 50'
    ucx ucx_put 7 1.048576 '-t put_bw -D zcopy -s 1048576 -O 8 -n 40 -w 4'
    round=$((round + 1))
done
echo "row: medians of $rounds rounds in turns; two processes of one machine; its processors are emulated without KVM"
row '1 MiB put, 8 in flight' MB/s put write_bw ib_write_bw 0.8
row '1 MiB put, 8 in flight' MB/s put ucx_put 'UCX rc_verbs put_bw'
row '64 B one way, sleeping' us lat send_lat_e 'ib_send_lat -e' 2
row '64 B one way, polling' us lat_spin send_lat ib_send_lat 2
row '64 B one way, polling' us lat_spin ucx_lat 'UCX rc_verbs am_lat'
row '64 B one way, polling' us lat_spin fi_lat 'libfabric verbs;ofi_rxm'
# A rival that does not run is no failure; ours is.
[ -e /tmp/put ]
[ -e /tmp/lat ]
