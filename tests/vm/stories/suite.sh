# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: the conformance suite on net o2ib, over soft-RoCE: cases of a seed, or all (FULL=1)
# seconds: 36
# modules: crc32_generic dummy ib_uverbs rdma_ucm rdma_rxe
# programs: /usr/bin/rdma build:tests/conformance/xprt_suite
# rdma: yes

ip addr add 192.168.50.1/24 dev dummy0
ip addr add 192.168.50.2/24 dev dummy0
ip link set dummy0 mtu 4500 up
rdma link add rxe0 type rxe netdev dummy0
export M0_CF_O2IB_1=192.168.50.1 M0_CF_O2IB_2=192.168.50.2
[ -n "${VM_full-}" ] && draw=0 || draw=50
failed=
for mode in async sync inline; do
    xprt_suite --row lnet-o2ib --mode $mode --seed $VM_seed --draw $draw || failed=1
done
[ -z "$failed" ]
