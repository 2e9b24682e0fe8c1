# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: the driver of net o2ib moves messages and bulk over soft-RoCE
# seconds: 20
# modules: crc32_generic dummy ib_uverbs rdma_ucm rdma_rxe
# programs: /usr/bin/rdma build:tests/vm/verbs_test build:tests/vm/window_test
# rdma: yes

ip addr add 192.168.50.1/24 dev dummy0
ip addr add 192.168.50.2/24 dev dummy0
ip link set dummy0 mtu 4500 up
rdma link add rxe0 type rxe netdev dummy0
export VERBS_SERVER=192.168.50.1 VERBS_CLIENT=192.168.50.2 VERBS_NETDEV=dummy0
verbs_test
window_test
