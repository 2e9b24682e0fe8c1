/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A node: engine, drivers and reactor, at one end of a ring.
 *
 * A node has no thread and no lock. Its host makes all calls, one at a time, except
 * for those that say that any thread may make them. A step of the host takes the
 * entries that the front has posted, lets the drivers read and write, lets the engine
 * go on, and posts what came of it; the front delivers that.
 */
#ifndef M0_SRC_NODE_NODE_H
#define M0_SRC_NODE_NODE_H

#include "m0/lnd.h"
#include "m0/lnet.h"
#include "os/os.h"
#include "reactor/host_ops.h"
#include "reactor/reactor.h"
#include "ring/ring.h"

struct m0_lnd_row;
struct m0_lnet_engine;
struct m0_node;
struct m0_node_incoming;

/** Where an end stands. */
enum m0_node_state {
	M0_NODE_OPEN,
	/** The engine ends what is outstanding. */
	M0_NODE_ENDING,
	/** The interfaces stop. */
	M0_NODE_STOPPING,
	M0_NODE_CLOSED
};

enum {
	M0_NODE_IFACES_MAX = 256,
	M0_NODE_NIS_MAX = M0_LNET_CFG_NETS_MAX * M0_LNET_CFG_IFACES_MAX,
	/** Event queues of a node. */
	M0_NODE_EQS_MAX = 1 << 16,
	/** Kinds of drivers. */
	M0_NODE_LNDS_MAX = 8
};

/** Calls from the node to its host. */
struct m0_node_host {
	/** Makes a chunk of records for incoming messages. @return false: there
	 * is no memory. */
	bool (*nho_grow)(void *host);
	/** An entry M0_RING_CALL was taken. */
	void (*nho_call)(void *host);
	/** The bound of an event queue of this number refuses a message, unless its
	 * owner says now that it has done with others. NULL: no owner does. */
	void (*nho_full)(void *host, uint32_t eq_nr);
	/** Has a producer still to post entries that it had before the message that the
	 * node looks at came? Then the bell rings when they are posted. NULL: never. */
	bool (*nho_is_behind)(void *host);
	/** Is an MD for these match bits to come, whose holder was asked for it? Then the
	 * bell rings until it is there, or is not waited for any more. NULL: never. */
	bool (*nho_is_held)(void *host, uint32_t portal, uint64_t match_bits);
};

/** Carries out an entry. */
typedef void (*m0_node_do_t)(struct m0_node             *node,
			     const struct m0_ring_entry *entry);

struct m0_node {
	/** A copy of its own: networks come and go; the rest is constant. */
	struct m0_lnet_cfg        *nod_cfg;
	const struct m0_host_ops  *nod_host_ops;
	struct m0_ring            *nod_ring;
	const struct m0_node_host *nod_host;
	void                      *nod_host_arg;
	const m0_node_do_t        *nod_do;
	struct m0_lnet_engine     *nod_engine;
	struct m0_reactor         *nod_reactor;
	struct m0_ring_in          nod_down;
	struct m0_ring_out         nod_up;
	/** The newest of the entries that are added but not published yet; NULL:
	 * all are. */
	struct m0_ring_entry *nod_newest;
	/** Records, and the engine's structs of the same numbers. */
	struct m0_ring_view nod_records[M0_RING_TABLES_NR];
	struct m0_ring_view nod_things[M0_RING_TABLES_NR];
	enum m0_node_state  nod_state;
	m0_time_t           nod_end_by;
	/** The drivers that the configuration needs, in the order of the table.
	 */
	struct m0_lnd           *nod_lnds[M0_NODE_LNDS_MAX];
	const struct m0_lnd_row *nod_rows[M0_NODE_LNDS_MAX];
	unsigned                 nod_lnds_nr;
	/** Regions that the drivers have. */
	struct m0_list nod_mems;
	/** Number of times that the node has taken what was posted. */
	uint64_t nod_takes_nr;
	/** Between m0_node_take_first() and m0_node_take_rest(); the entries
	 * that are left for the latter. */
	bool     nod_takes_first;
	uint32_t nod_rest_from;
	uint32_t nod_rest_end;
	/** Records for incoming messages that are free, and those in use. */
	struct m0_node_incoming *nod_free;
	unsigned                 nod_incoming_nr;
	unsigned                 nod_share_max;
	/** Copies payloads between processes that are attached; NULL: nobody does. */
	struct m0_copier *nod_copier;
	/** Something happened that needs another look at once. */
	bool nod_again;
	/** See li_slice_ns. */
	uint64_t nod_slice_ns;
	/** NIDs of the interfaces that are not stopping, `0@lo` first, and how
	 * often they changed. */
	uint32_t           nod_nids_version;
	unsigned           nod_nids_nr;
	struct m0_lnet_nid nod_nids[1 + M0_NODE_NIS_MAX];
	/** Changes of networks that wait for interfaces to stop. */
	struct m0_list nod_leaving;
};

/**
 * Most messages that the front, or the node, may have of the lc_msgs_max. The rest
 * is kept for the other: neither what peers send nor what the application does
 * takes the last.
 */
unsigned m0_node_share_max(const struct m0_lnet_cfg *cfg);
/** Most records of a kind. */
uint32_t m0_node_records_max(const struct m0_lnet_cfg *cfg,
			     enum m0_ring_table        table);

/**
 * Makes a node without interfaces. It keeps `cfg` and `ring`.
 * @retval -ENOMEM
 */
int m0_node_create(struct m0_node **ret, const struct m0_lnet_cfg *cfg,
		   struct m0_ring *ring, const struct m0_node_host *host,
		   void *arg);
/**
 * Makes engine, drivers and interfaces, and starts these.
 * @param strand  that makes the steps.
 * @param why  as for m0_lnet_open().
 * @return 0 or a negative errno. If the node has an interface after an error, it is
 *         to be closed by an entry M0_RING_CLOSE, else m0_node_stop() ends it.
 */
int m0_node_start(struct m0_node *node, struct m0_strand *strand,
		  const struct m0_host_ops *ops, char *why);
/** Has it an interface? */
bool m0_node_has_nis(const struct m0_node *node);
/** Frees the engine, the drivers and the reactor. No interface is left. */
void m0_node_stop(struct m0_node *node);
/** Frees the node, which was stopped. */
void m0_node_destroy(struct m0_node *node);

/**
 * A chunk of engine structs of a kind, for the chunk of records that the ring gets
 * next. Any thread. NULL: no memory.
 */
void *m0_node_chunk(enum m0_ring_table table);
/** Frees one that was not added. */
void m0_node_chunk_free(enum m0_ring_table table, void *chunk);
/**
 * Adds a chunk of records, with its engine structs. One thread at a time, before an
 * entry names one of them.
 */
void m0_node_chunk_add(struct m0_node *node, enum m0_ring_table table,
		       uint32_t chunk_nr, void *records, void *things);

/** Does what the front has posted. The host has cleared the bell before, so that
 * a thread that posts later rings it again. */
void m0_node_take(struct m0_node *node);
/**
 * Takes what was posted so that messages leave at once: entries that they may
 * overtake are left for m0_node_take_rest().
 */
void m0_node_take_first(struct m0_node *node);
void m0_node_take_rest(struct m0_node *node);
/** Drivers and engine, in turns. @return the next deadline. */
m0_time_t m0_node_turns(struct m0_node *node, m0_time_t now);
/** Goes on with an end; `next` as for a step. @return true when it is there. */
bool m0_node_close_step(struct m0_node *node, m0_time_t now, bool is_notified,
			m0_time_t *next);
/** Publishes all entries that were posted. */
static inline void m0_node_flush(struct m0_node *node)
{
	if (node->nod_newest == NULL)
		return;
	node->nod_newest = NULL;
	m0_ring_publish(&node->nod_up);
}
/** Sets the time of the pass that begins. */
void m0_node_time(struct m0_node *node, m0_time_t now);
/** Messages that have moved, one way or the other. */
uint64_t m0_node_moved_nr(const struct m0_node *node);

/** The live counters, which any thread may read. */
const struct m0_lnet_stats *m0_node_counters(const struct m0_node *node);
/** Does at once what the control record of this number asks for, and is no probe. */
void m0_node_control(struct m0_node *node, uint32_t nr);
/** Ends the probe of this control record, if the node has begun it: its answer says
 * -ECANCELED. In a step. */
void m0_node_probe_cancel(struct m0_node *node, uint32_t nr);

/** Registered memory. */
struct m0_node_mem {
	/** In nod_mems, if the drivers have the region. */
	struct m0_list_link nmm_link;
	struct m0_lnd_mem   nmm_mem;
};
/** Adds a driver, and gives it the regions that there are. */
void m0_node_lnd_add(struct m0_node *node, const struct m0_lnd_row *row,
		     struct m0_lnd *lnd);
void m0_node_mem_add(struct m0_node *node, struct m0_node_mem *mem);
void m0_node_mem_del(struct m0_node *node, struct m0_node_mem *mem);

/** Formats why, which may be NULL; returns rc. */
int m0_node_why(char *why, int rc, const char *fmt, ...) M0_PRINTF(3, 4);
/** Takes the processors of the configuration. @param why  as for m0_lnet_open. */
int m0_node_cpus_set(struct m0_os_cpus *cpus, const struct m0_lnet_cfg *cfg,
		     char *why);

#endif /* M0_SRC_NODE_NODE_H */
