/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Two machines of the network layer, for stories. */
#ifndef M0_TESTS_FAIL_FAIL_ENDS_H
#define M0_TESTS_FAIL_FAIL_ENDS_H

#include "m0/mem.h"
#include "m0/net_pool.h"
#include "m0/xlnet.h"

struct m0_lnet;

enum {
	SHIFT_OF_PAGES = 12,
	/** Workers of a TM that delivers by itself. */
	FAIL_WORKERS = 2
};

/** How machines deliver. */
enum fail_mode {
	FAIL_ASYNC,
	FAIL_SYNC,
	FAIL_INLINE
};

struct fail_end {
	struct m0_net_domain      fen_dom;
	struct m0_net_transfer_mc fen_tm;
	enum m0_net_tm_state      fen_state;
	char                      fen_addr[96];
};

/** Two nodes, of the simulated network or of this machine, their time-outs
 * short. */
void fail_nodes_init(struct m0_lnet *node[2]);
void fail_nodes_fini(struct m0_lnet *node[2]);
/** From now on those of the simulated network are fronts of processes, each attached to
 * a daemon. */
void fail_nodes_share(bool on);
/** Address of end 0 or 1. */
void fail_addr(char *ret, size_t size, const struct m0_net_xprt *xprt,
	       unsigned i);

/** Domains only, and nodes if the transport needs them; addresses. */
void fail_doms_init(struct fail_end end[2], const struct m0_net_xprt *xprt);
void fail_doms_fini(struct fail_end end[2], const struct m0_net_xprt *xprt);
/** Sets the workers of a TM that delivers by itself, before its start. */
void fail_tm_set(struct fail_end *end);
/** With machines that have started. */
void fail_ends_init(struct fail_end end[2], const struct m0_net_xprt *xprt,
		    enum fail_mode mode);
void fail_ends_fini(struct fail_end end[2], const struct m0_net_xprt *xprt);
/** A message, bulk both ways, a cancel between two of them. */
void fail_ends_talk(const struct m0_net_xprt *xprt, enum fail_mode mode);
/**
 * Starts one, its receive queue fed by `pool` unless that is NULL. With an error
 * it is gone.
 */
int  fail_tm_up(struct fail_end *end, struct m0_net_buffer_pool *pool);
void fail_tm_down(struct fail_end *end);

#endif /* M0_TESTS_FAIL_FAIL_ENDS_H */
