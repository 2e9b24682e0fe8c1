/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The rows of the LNet transport: where its machines are. */
#ifndef M0_TESTS_CONFORMANCE_LNET_ROWS_H
#define M0_TESTS_CONFORMANCE_LNET_ROWS_H

/** One node; machines talk through 0@lo. */
void lnet_lo_begin(void);
void lnet_lo_addr(char *ret, unsigned nr);
void lnet_lo_spelling(char *ret, unsigned nr);
/** Two nodes, even and odd machines; over TCP on IPv4, and on IPv6. */
void lnet_tcp4_begin(void);
void lnet_tcp4_addr(char *ret, unsigned nr);
void lnet_tcp4_spelling(char *ret, unsigned nr);
/** Two nodes again, through shared memory. */
/* Over net o2ib, in the simulator alone. */
void lnet_o2ib_begin(void);
void lnet_o2ib_end(void);
void lnet_o2ib_addr(char *ret, unsigned nr);
void lnet_o2ib_spelling(char *ret, unsigned nr);
void lnet_host_begin(void);
void lnet_host_end(void);
/** As tcp4, with threads that move payloads. */
void lnet_lanes_begin(void);
void lnet_lanes_end(void);
/** As tcp4, but each node is that of a daemon. */
void lnet_attach_begin(void);
void lnet_direct_begin(void);
void lnet_direct_end(void);
/** As tcp4, but the first node is that of colibri.ko: tests/vm/stories/kernel-device.sh. */
void lnet_device_begin(void);
void lnet_device_end(void);
void lnet_tcp6_begin(void);
void lnet_tcp6_addr(char *ret, unsigned nr);
void lnet_tcp6_spelling(char *ret, unsigned nr);
void lnet_end(void);
/** Moves nodes on which no machine is polled. */
void lnet_turn(void);

/** The i-th node and its host; only the simulator has hosts. */
struct m0_lnet     *lnet_node(unsigned i);
struct m0_sim_host *lnet_host(unsigned i);

/** Set before a case: the second node has it. */
struct io_hook;
extern struct io_hook *lnet_hook;

#endif /* M0_TESTS_CONFORMANCE_LNET_ROWS_H */
