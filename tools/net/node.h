/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A domain with one transfer machine in it: what a process of its own would
 * have. Start and stop wait for the machine's events.
 */
#ifndef M0_TOOLS_NODE_H
#define M0_TOOLS_NODE_H

#include "m0/net.h"

#include "../base/cmd.h"
#include "xprts.h"

struct tool_node {
	const char               *tn_name;
	struct m0_net_domain      tn_dom;
	struct m0_net_transfer_mc tn_tm;
	struct m0_mutex           tn_mutex;
	struct m0_cond            tn_cond;
	/** Last state that was reported, and its status. */
	enum m0_net_tm_state tn_state;
	int                  tn_rc;
	/** ERROR events: messages that came and found no buffer. */
	struct m0_atomic64 tn_errors_nr;
	bool               tn_open;
	/** Nobody else delivers for this machine: waiting for it does. */
	bool tn_deliver;
};

/**
 * Initialises the domain and the machine; state INITIALIZED, so that a mode may
 * be chosen.
 * @param name  of the machine, for messages and tables; kept by pointer.
 */
int tool_node_init(struct tool_node *node, const char *name,
		   const struct tool_xprt *xprt);
/** Starts the machine, at a free address if NULL, and waits for it. */
int tool_node_start(struct tool_node *node, const char *addr);
/** Why its machine has failed; 0: it has not. Any thread. */
int tool_node_failed(struct tool_node *node);
/** The machine's address. Between start and fini. */
const char *tool_node_addr(const struct tool_node *node);
/**
 * Stops the machine at once and waits for it: afterwards no callback runs. Does
 * nothing if it is not started. In synchronous and inline mode another thread
 * must deliver meanwhile, or tn_deliver be set.
 */
void tool_node_stop(struct tool_node *node);
/** Pre: stopped or not started; no buffer registered, no end point held. */
void tool_node_fini(struct tool_node *node);

/**
 * Allocates the memory of a buffer of `size` bytes, in as few segments as the
 * domain allows, and registers it.
 * @retval -EFBIG  more than the domain's limit.
 * @retval -ENOMEM
 */
int tool_buffer_init(struct m0_net_buffer *nb, struct m0_net_domain *dom,
		     m0_bcount_t size);
/** Deregisters and frees. Does nothing to a zeroed buffer. */
void tool_buffer_fini(struct m0_net_buffer *nb);

#endif /* M0_TOOLS_NODE_H */
