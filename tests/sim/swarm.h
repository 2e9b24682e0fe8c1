/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Nodes that do everything at random on a network that fails at random, each
 * seed with faults of its own. Two to twelve hosts; on each a node, a machine
 * with traffic on all six queues, and perhaps a service with a store that
 * survives it, or a client of such ones. Odd seeds have more: IPv6, a second
 * network and address, bulk of items, partitions, damaged messages. In one seed of
 * sixteen, nodes are on different networks with routers between them; in one of eight, the
 * network is o2ib, over the simulator's RDMA.
 *
 * Safety: whatever happens, each buffer and each item ends once and in time,
 * data that came is data that was sent, updates are executed once and in order.
 * Liveness: once faults are over, everybody reaches everybody within a bound.
 * In the end nothing is left: no credit, message, strand or allocation.
 *
 * The swarm includes installed headers, as a test of a user does. The one exception is
 * the simulator's RDMA, which has no installed header.
 */
#ifndef M0_TESTS_SIM_SWARM_H
#define M0_TESTS_SIM_SWARM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "m0/lnet.h"
#include "m0/lnet_fault.h"
#include "m0/rpc_bulk.h"
#include "m0/rpc_link.h"
#include "m0/sim_net.h"
#include "m0/sim_route.h"
#include "m0/xlnet.h"

#include "sim/net/sim_rdma.h"

enum {
	SW_NODES = 12,
	SW_OPS = 1000,
	/** Kept for the end of a run. */
	SW_OPS_KEPT = 200,
	SW_ITEMS = 1000,
	SW_ITEMS_KEPT = 150,
	SW_LINKS = 2,
	SW_ROUTERS = 3,
	SW_STREAMS = 3,
	SW_PORTAL = 40,
	SW_RPC_PORTAL = 41,
	/** Delay allowed for late strands and slow steps. */
	SW_SLACK_MS = 500
};

enum sw_fault {
	SW_CUT = 1 << 0,
	SW_ONE_WAY = 1 << 1,
	SW_RESET = 1 << 2,
	SW_SLOW_READER = 1 << 3,
	/** Cut for longer than anybody waits. */
	SW_HALF_OPEN = 1 << 4,
	SW_CRASH = 1 << 5,
	SW_KILL = 1 << 6,
	SW_JITTER = 1 << 7,
	SW_LATE = 1 << 8,
	SW_SKEW = 1 << 9,
	SW_STOP = 1 << 10,
	SW_UNREACHABLE = 1 << 11,
	/* Rules in the nodes: messages lost, late, doubled, connections cut. */
	SW_RULE_DROP = 1 << 12,
	SW_RULE_DELAY = 1 << 13,
	SW_RULE_DUPLICATE = 1 << 14,
	SW_RULE_CUT = 1 << 15,
	SW_FAULTS_PLAIN_NR = 16,
	/* Faults of odd seeds. Two parts that do not reach each other. */
	SW_PARTITION = 1 << 16,
	/** A bit of an RPC packet is turned. */
	SW_RULE_CORRUPT = 1 << 17,
	/** Nothing comes in by the second network of a node. */
	SW_RULE_RAIL = 1 << 18,
	SW_FAULTS_NR = 19
};

/** A connection of a client to a service, and its session. */
struct sw_link {
	struct sw_node       *l_node;
	struct sw_node       *l_server;
	struct m0_rpc_conn    l_conn;
	struct m0_rpc_session l_session;
	bool                  l_has_conn;
	bool                  l_has_session;
	unsigned              l_sessions_nr;
	/** Items of the session posted to each stream. */
	uint64_t l_seq[SW_STREAMS + 1];
};

struct sw_node {
	unsigned n_nr;
	char     n_name[8];
	char     n_ip[16];
	/** Number of its network. */
	unsigned n_net;
	char     n_addr[M0_NET_LNET_XEP_ADDR_LEN];
	char     n_rpc_addr[M0_NET_LNET_XEP_ADDR_LEN];
	/** Its second address, of another network. */
	char                      n_rail_ip[16];
	char                      n_rail_addr[M0_NET_LNET_XEP_ADDR_LEN];
	struct m0_sim_host       *n_host;
	bool                      n_up;
	unsigned                  n_lives;
	m0_time_t                 n_back_at;
	struct m0_lnet           *n_lnet;
	struct m0_net_domain      n_dom;
	struct m0_net_transfer_mc n_tm;
	bool                      n_sync;
	bool                      n_stopped;
	/** Own account of the machine: adds, and final events. */
	uint64_t n_adds[M0_NET_QT_NR];
	uint64_t n_dones[M0_NET_QT_NR];

	bool                    n_serves;
	unsigned                n_links_nr;
	struct sw_link          n_link[SW_LINKS];
	bool                    n_has_rpc;
	struct m0_rpc_machine   n_rpc;
	struct m0_rpc_store     n_disk;
	struct m0_rpc_store_ops n_disk_ops;
};

/** A buffer, from its add to its final event. */
struct sw_op {
	struct m0_net_buffer   o_nb;
	struct sw_node        *o_node;
	unsigned               o_nr;
	enum m0_net_queue_type o_qtype;
	m0_bcount_t            o_size;
	m0_bcount_t            o_length;
	/** MSG_SEND: to whom, how often it came. */
	struct sw_node *o_to;
	unsigned        o_came_nr;
	/** Passive: its descriptor; active: whose it has. */
	struct m0_net_buf_desc o_desc;
	struct sw_op          *o_of;
	bool                   o_is_there;
	bool                   o_is_added;
	unsigned               o_dones;
	int                    o_status;
	m0_time_t              o_timeout;
	m0_time_t              o_cancelled_at;
	/** MSG_RECV: added again by its callback. */
	unsigned o_again_nr;
};

struct sw_item {
	struct m0_rpc_raw i_raw;
	struct {
		uint32_t b_nr;
		uint32_t b_node;
		uint32_t b_life;
		uint32_t b_link;
		uint32_t b_session;
		uint32_t b_stream;
		uint64_t b_seq;
	} i_body;
	struct sw_node *i_server;
	/** Bulk of the item. */
	struct sw_bulk *i_bulk;
	bool            i_has_bulk;
	/** Life of the server when the item was posted. */
	unsigned  i_server_life;
	m0_time_t i_expires;
	bool      i_is_posted;
	bool      i_is_reaped;
	unsigned  i_ended_nr;
	int       i_error;
	int       i_rc;
};

struct sw_world {
	struct m0_sim *w_sim;
	unsigned       w_faults;
	bool           w_is_odd;
	bool           w_is_ip6;
	bool           w_is_o2ib;
	/** GETs name their memory (net o2ib). */
	bool w_gets_name;
	bool w_has_rails;
	bool w_is_parted;
	/** Lanes of each node; 0: none. */
	unsigned w_lanes_nr;
	/** Routers; 0: all nodes are on one network. */
	unsigned            w_shape;
	unsigned            w_routers_nr;
	struct m0_sim_host *w_router[SW_ROUTERS];
	unsigned            w_nodes_nr;
	struct sw_node      w_node[SW_NODES];
	struct sw_op       *w_op[SW_OPS];
	unsigned            w_ops_nr;
	struct sw_item      w_item[SW_ITEMS];
	unsigned            w_items_nr;
	/** Time-out of every node. */
	uint64_t  w_timeout_ms;
	m0_time_t w_late_ns_max;
	/** By rules. */
	m0_time_t w_delay_ns_max;
	bool      w_is_healed;
	/** The application waited in a call: machines were not polled. */
	m0_time_t w_pumped_at;
};

/** Over all seeds: was anything proved? */
struct sw_sums {
	uint64_t s_ops_nr;
	uint64_t s_good_nr[M0_NET_QT_NR];
	uint64_t s_failed_nr[M0_NET_QT_NR];
	uint64_t s_items_nr;
	uint64_t s_items_good_nr;
	uint64_t s_bulks_nr;
	uint64_t s_bulks_good_nr;
	uint64_t s_crashes_nr;
	uint64_t s_faults_nr;
	uint64_t s_lives_nr;
	uint64_t s_forwarded_nr;
	uint64_t s_lane_bytes;
};

extern struct sw_world sw;
extern struct sw_sums  sw_sums;

#define SW_TRUE(cond, ...)                                  \
	do {                                                \
		if (!(cond))                                \
			m0_sim_fail(sw.w_sim, __VA_ARGS__); \
	} while (0)

uint64_t sw_rand(uint64_t bound);
/** One time in `nr`. */
bool            sw_one_in(unsigned nr);
struct sw_node *sw_any(void);
/** NULL: all are down. */
struct sw_node *sw_any_up(void);
/** Polls the machines that want it; then waits for cond, at most `ms`. */
bool sw_wait_ms(bool (*cond)(void *arg), void *arg, uint64_t ms);
/** Fails if it did not come. */
void sw_must_ms(bool (*cond)(void *arg), void *arg, uint64_t ms,
		const char *what);
void sw_run_ms(uint64_t ms);
void sw_pump(void);

/** Sets what the configurations of all nodes have in common; draws credits. */
void sw_lnet_tune(struct m0_lnet_cfg *cfg);
/** All that the node has lent is back, by what it says of itself at rest. */
void sw_rest_check(const char *name, const struct m0_lnet_info *info);

/* -- routers -------------------------------------------------------------- */

/** Draws whether the world has routers, and which. */
void sw_routers_draw(void);
/** Draws the network of node `nr` in a world with routers. */
unsigned sw_routed_net(unsigned nr);
void     sw_routing_tune(struct m0_lnet_cfg *cfg);
void     sw_routers_up(void);
void     sw_routers_down(void);
void     sw_router_fault(void);
/** Ends their faults; fails if nodes do not use them again within a bound. */
void sw_routers_heal(void);
/** sw_rest_check() between two checks of the gateways. */
void sw_routed_rest(const char *name, struct m0_lnet *lnet);
/** With everything at rest, routers have all credits and buffers back. */
void sw_routers_check(void);

/* -- buffers -------------------------------------------------------------- */

void sw_net_up(struct sw_node *node);
/** Stops the machine, which ends all its buffers, and finalises it. */
void sw_net_down(struct sw_node *node, bool abort);
void sw_send(struct sw_node *from, struct sw_node *to);
void sw_recv(struct sw_node *node);
void sw_passive(struct sw_node *node);
void sw_active(struct sw_node *node);
void sw_cancel(void);
/** All that ends by itself has ended. */
bool sw_ops_are_over(void *arg);
void sw_ops_cancel_all(void);
/** Messages and bulk both ways between two nodes, within a bound. */
void sw_ops_meet(struct sw_node *a, struct sw_node *b);
void sw_ops_check(void);
void sw_ops_free(void);

/* -- items ----------------------------------------------------------------- */

int  sw_types_up(void);
void sw_types_down(void);
void sw_disk_make(struct sw_node *node);
void sw_disk_free(struct sw_node *node);
void sw_rpc_up(struct sw_node *node);
void sw_rpc_down(struct sw_node *node, bool abort);
void sw_post(struct sw_node *node);
void sw_item_cancel(void);
/** Makes connections and sessions that are not there. */
void sw_rpc_tend(struct sw_node *node);
bool sw_items_are_over(void *arg);
bool sw_bulks_are_over(void *arg);
/** Every client gets an answer in every stream, within a bound. */
void sw_rpc_meet(struct sw_node *node);
void sw_items_check(void);

/* -- items with bulk --------------------------------------------------------- */

/** A body of `head_nr` bytes from `head` and the descriptor of some memory that
 * the node offers or wants filled, for item `nr`; NULL: it cannot just now.
 * @param request  it is for that one alone; NULL: for the connection. */
struct sw_bulk *sw_bulk_new(struct sw_node *node, struct m0_rpc_conn *conn,
			    const struct m0_rpc_item *request, const void *head,
			    size_t head_nr, unsigned nr);
const void     *sw_bulk_body(const struct sw_bulk *bulk, m0_bcount_t *ret_nr);
/** The item was answered well. */
void sw_bulk_look(const struct sw_bulk *bulk);
/** The item has ended: nobody needs the memory any more. */
void sw_bulk_end(struct sw_bulk *bulk);
bool sw_bulk_is_over(struct sw_bulk *bulk);
void sw_bulk_free(struct sw_bulk *bulk);
/** In the service: moves the data and answers. */
void sw_bulk_serve(struct m0_rpc_machine *machine, struct m0_rpc_item *request,
		   unsigned nr, size_t head_nr);

#endif /* M0_TESTS_SIM_SWARM_H */
