# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: soft-RoCE works between two addresses of one machine
# seconds: 20
# modules: crc32_generic dummy ib_uverbs rdma_ucm rdma_rxe
# programs: usr/bin/ibv_devinfo usr/bin/ibv_rc_pingpong usr/bin/rping /usr/bin/rdma
# rdma: yes

ip addr add 192.168.50.1/24 dev dummy0
ip addr add 192.168.50.2/24 dev dummy0
ip link set dummy0 mtu 4500 up
rdma link add rxe0 type rxe netdev dummy0
rdma link
ibv_devinfo -d rxe0 | grep -E 'state|active_mtu'

ibv_rc_pingpong -d rxe0 -g 1 -n 100 >/tmp/server 2>&1 &
server=$!
sleep 1
ibv_rc_pingpong -d rxe0 -g 1 -n 100 127.0.0.1
wait $server

rping -s -a 192.168.50.1 -C 10 >/tmp/server 2>&1 &
server=$!
sleep 1
rping -c -a 192.168.50.1 -I 192.168.50.2 -C 10 -v | tail -n 1
wait $server
