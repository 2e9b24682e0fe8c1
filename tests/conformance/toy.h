/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** A lossy transport in 150 lines on the kit; see toy.c. Address: "toy:N". */
#ifndef M0_TESTS_CONFORMANCE_TOY_H
#define M0_TESTS_CONFORMANCE_TOY_H

#include "m0/net.h"

extern const struct m0_net_xprt toy_xprt;

/** Faults of packets; all 0: none. Chances in percent. */
struct toy_faults {
	unsigned tf_drop_pct;
	unsigned tf_duplicate_pct;
	/** A packet so chosen comes up to tf_delay_ns late, out of order. */
	unsigned  tf_delay_pct;
	m0_time_t tf_delay_ns;
	/** In the simulator: what is late is on the wire meanwhile, and finds
	 * who is there when it comes; else it is with who was there. */
	bool     tf_delay_on_the_way;
	uint64_t tf_seed;
};

/** Before a domain of the transport is initialised. */
void toy_faults_set(const struct toy_faults *faults);
/** Do packets get from one number to another, now? NULL: all do. */
void toy_gate_set(bool (*gate)(unsigned from, unsigned to));
/** How long an active bulk operation waits for its answer: default 200 ms. */
void toy_timeout_set(m0_time_t timeout_ns);

#endif /* M0_TESTS_CONFORMANCE_TOY_H */
