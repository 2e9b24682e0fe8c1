/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Whole nodes in the simulator, and what they do: windows of memory that others
 * put to and get from, and operations, each of which keeps account of its
 * events. An operation that is over has had exactly those events that
 * m0/lnet.h promises; node_op_check() says so.
 */
#ifndef M0_TESTS_LNET_NODE_H
#define M0_TESTS_LNET_NODE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "m0/lnet.h"
#include "m0/sim_route.h"
#include "sim/net/sim_raw.h"

enum {
	NODE_PORTAL = 30,
	NODE_PORT = 988
};

struct node {
	struct m0_sim      *n_sim;
	const char         *n_name;
	struct m0_sim_host *n_host;
	struct m0_lnet_cfg  n_cfg;
	/** NULL: it is down. */
	struct m0_lnet   *n_lnet;
	struct m0_lnet_eq n_eq;
	/** The first, by which it is known, and all. */
	struct m0_lnet_nid n_nid;
	struct m0_lnet_nid n_nids[4];
	unsigned           n_nids_nr;
	unsigned           n_events_nr;
	/** Windows and operations that have not ended. */
	unsigned n_windows_nr;
	unsigned n_ops_nr;
};

/**
 * Adds the host and opens the node.
 * @param addr  "10.0.0.1", or "2001:db8::1"; it is on network tcp.
 * @param tune  changes the configuration; NULL: does not.
 */
void node_init(struct node *node, struct m0_sim *sim, const char *name,
	       const char *addr, void (*tune)(struct m0_lnet_cfg *cfg));
/**
 * Adds a host with several NIDs: `nets` as in m0_lnet_cfg_networks(), `addrs`
 * all its addresses with blanks between; NIDs in their order, of network tcp
 * unless `nums` says another.
 */
void node_init_nids(struct node *node, struct m0_sim *sim, const char *name,
		    const char *nets, const char *addrs, const uint16_t *nums,
		    void (*tune)(struct m0_lnet_cfg *cfg));
/** Opens a node on a host of m0/sim_route.h, with its first NID. */
void node_init_host(struct node *node, struct m0_sim *sim, const char *name,
		    struct m0_sim_host *host, const char *nid,
		    void (*tune)(struct m0_lnet_cfg *cfg));
/** Closes it if it is up, and checks that everything of it has ended. */
void node_fini(struct node *node);
/** Closes, opens again: another life. */
void node_close(struct node *node);
void node_open(struct node *node);
/** A close of which nobody hears. */
void node_die(struct node *node);
/** Do all its connections belong to nobody? */
unsigned node_conns_nr(const struct node *node);

/* -- windows --------------------------------------------------------------- */

/** Memory that others reach, by an ME on NODE_PORTAL. */
struct node_window {
	struct node          *nw_node;
	uint8_t              *nw_bytes;
	size_t                nw_nr;
	struct m0_bufvec      nw_vec;
	struct m0_lnet_handle nw_me;
	struct m0_lnet_handle nw_md;
	/** Events, and of the last its words. */
	unsigned             nw_puts_nr;
	unsigned             nw_gets_nr;
	unsigned             nw_failed_nr;
	unsigned             nw_unlinked_nr;
	struct m0_lnet_event nw_last;
	/** Nobody writes where another does: the bytes of a PUT are as they
	 * were sent when it is told. */
	bool nw_is_checked;
};

/** The window answers PUT and GET, its offset is the peer's. */
void node_window_init(struct node_window *window, struct node *node,
		      uint64_t bits, size_t nr, int32_t threshold);
void node_window_unlink(struct node_window *window);
/** Pre: it has ended. */
void node_window_fini(struct node_window *window);

/* -- operations ------------------------------------------------------------ */

struct node_op {
	struct node          *no_node;
	bool                  no_is_get;
	bool                  no_ack;
	uint8_t               no_fill;
	uint8_t              *no_bytes;
	size_t                no_nr;
	struct m0_bufvec      no_vec;
	struct m0_lnet_handle no_md;
	m0_time_t             no_begin;
	m0_time_t             no_end;
	unsigned              no_sends_nr;
	unsigned              no_acks_nr;
	unsigned              no_replies_nr;
	unsigned              no_unlinks_nr;
	/** ev_unlinked was set so often. */
	unsigned no_unlinked_nr;
	int      no_send_status;
	/** Status of the ACK or REPLY. */
	int         no_status;
	m0_bcount_t no_mlength;
	/** m0_lnet_md_unlink was called. */
	bool no_is_unlinked;
};

/** PUT of `nr` bytes, made of `fill` and their place; ends by itself. */
void node_put(struct node_op *op, struct node *node,
	      const struct m0_lnet_nid *dst, uint64_t bits, uint32_t offset,
	      size_t nr, uint8_t fill, bool ack);
void node_get(struct node_op *op, struct node *node,
	      const struct m0_lnet_nid *dst, uint64_t bits, uint32_t offset,
	      size_t nr);
void node_op_unlink(struct node_op *op);
bool node_op_is_over(const struct node_op *op);
/** Runs until it is over; fails if that takes longer. */
void node_op_wait(struct node_op *op, uint64_t ms);
/** 0, or the first thing that was wrong. */
int node_op_result(const struct node_op *op);
/** Over, and with the events it should have had. */
void node_op_check(const struct node_op *op);
/** Checks, and frees its memory. */
void node_op_fini(struct node_op *op);
/** The byte at `at` of a PUT with this fill. */
uint8_t node_byte(uint8_t fill, size_t at);
bool    node_bytes_are(const uint8_t *bytes, size_t nr, uint8_t fill);

/** @return pr_status. */
int node_ping(struct node *node, const struct m0_lnet_nid *nid, uint64_t ms);
int node_discover(struct node *node, const struct m0_lnet_nid *nid, uint64_t ms,
		  struct m0_lnet_probe *ret);
struct m0_lnet_stats node_stats(const struct node *node);

#endif /* M0_TESTS_LNET_NODE_H */
