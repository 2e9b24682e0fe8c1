# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: soft-RoCE works between two machines
# machines: 2
# seconds: 25
# modules: crc32_generic virtio_pci virtio_net ib_uverbs rdma_ucm rdma_rxe
# programs: usr/bin/ibv_devinfo usr/bin/ibv_rc_pingpong usr/bin/rping /usr/bin/rdma
# rdma: yes

server=192.168.50.1
client=192.168.50.2
[ "$VM_name" = a ] && own=$server || own=$client
ip addr add $own/24 dev eth0
ip link set eth0 up
rdma link add rxe0 type rxe netdev eth0
ibv_devinfo -d rxe0 | grep -E 'state|active_mtu'

if [ "$VM_name" = a ]; then
    ibv_rc_pingpong -d rxe0 -g 1 -n 100
    rping -s -a $server -C 10
    # The client says when it has seen the end.
    nc -l -p 9 -w 60 </dev/null
else
    try=0
    until ibv_rc_pingpong -d rxe0 -g 1 -n 100 $server; do
        [ $try -lt 60 ]
        try=$((try + 1))
        sleep 1
    done
    try=0
    until rping -c -a $server -I $client -C 10 -v | grep 'ping data: rdma-ping-9'; do
        [ $try -lt 60 ]
        try=$((try + 1))
        sleep 1
    done
    until nc $server 9 </dev/null; do sleep 1; done
fi
