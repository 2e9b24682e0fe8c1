/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A node: what the files of the room share.
 */
#ifndef M0_SRC_NODE_NODE_INTERNAL_H
#define M0_SRC_NODE_NODE_INTERNAL_H

#include "lnd/table/lnd_table.h"
#include "lnet/engine.h"
#include "node/node.h"

/* -- the engine's structs of what has a record ----------------------------- */

/* Not zeroed: the code that takes one, and the engine, set all fields. */

struct m0_node_me {
	struct m0_lnet_me    nme_me;
	struct m0_ring_place nme_gone;
};

struct m0_node_md {
	struct m0_lnet_md    nmd_md;
	struct m0_ring_place nmd_last;
	/** Its memory, if its record has segments. */
	struct m0_bufvec nmd_vec;
	void            *nmd_buf[M0_RING_SEGS_NR];
	m0_bcount_t      nmd_count[M0_RING_SEGS_NR];
} __attribute__((__aligned__(64)));

/** A long list of segments. */
struct m0_node_segs {
	void       *nsg_buf[M0_LNET_MD_SEGS_MAX];
	m0_bcount_t nsg_count[M0_LNET_MD_SEGS_MAX];
};

/** The kinds of a struct m0_node_msg. */
enum m0_node_msg_kind {
	/** An operation of the application. */
	M0_NODE_MSG_OP,
	/** A request of a peer, or the engine's own. */
	M0_NODE_MSG_INCOMING
};

struct m0_node_msg {
	enum m0_node_msg_kind nms_kind;
	uint32_t              nms_nr;
	struct m0_lnet_msg    nms_msg;
};

struct m0_node_op {
	struct m0_node_msg nop_msg;
	/** Places of its two events, and of M0_RING_DONE. */
	struct m0_ring_place nop_event[2];
	struct m0_ring_place nop_done;
} __attribute__((__aligned__(64)));

struct m0_node_incoming {
	struct m0_node_msg       nin_msg;
	struct m0_node_incoming *nin_next;
	/** The engine uses it; the front has its event. */
	bool                 nin_is_used;
	bool                 nin_is_posted;
	struct m0_ring_place nin_event;
	/** The response to a request of the engine's own, which no front
	 * receives. */
	struct m0_lnet_event nin_response;
} __attribute__((__aligned__(64)));

struct m0_node_eq {
	struct m0_ring_place neq_passed;
};

struct m0_node_control {
	struct m0_lnet_probe nct_probe;
	uint32_t             nct_nr;
	struct m0_ring_place nct_answer;
	/** The block, until the front has had all of it; NULL: there is none. */
	char  *nct_block;
	size_t nct_block_bytes;
	/** Bytes of it that the front has had. */
	size_t nct_given_bytes;
	/** In nod_leaving. */
	struct m0_list_link nct_leaving;
};

static inline struct m0_node_me *m0_node__me(const struct m0_node *node,
					     uint32_t              nr)
{
	return M0_RING_RECORD(&node->nod_things[M0_RING_MES], struct m0_node_me,
			      nr);
}
static inline struct m0_node_md *m0_node__md(const struct m0_node *node,
					     uint32_t              nr)
{
	return M0_RING_RECORD(&node->nod_things[M0_RING_MDS], struct m0_node_md,
			      nr);
}
static inline struct m0_node_op *m0_node__op(const struct m0_node *node,
					     uint32_t              nr)
{
	return M0_RING_RECORD(&node->nod_things[M0_RING_OPS], struct m0_node_op,
			      nr);
}
static inline struct m0_node_incoming *m0_node__incoming(
	const struct m0_node *node, uint32_t nr)
{
	return M0_RING_RECORD(&node->nod_things[M0_RING_INCOMINGS],
			      struct m0_node_incoming, nr);
}
static inline struct m0_node_eq *m0_node__eq(const struct m0_node *node,
					     uint32_t              nr)
{
	return M0_RING_RECORD(&node->nod_things[M0_RING_EQS], struct m0_node_eq,
			      nr);
}
static inline struct m0_node_control *m0_node__control(
	const struct m0_node *node, uint32_t nr)
{
	return M0_RING_RECORD(&node->nod_things[M0_RING_CONTROLS],
			      struct m0_node_control, nr);
}
static inline struct m0_ring_me *m0_node__me_record(const struct m0_node *node,
						    uint32_t              nr)
{
	return M0_RING_RECORD(&node->nod_records[M0_RING_MES],
			      struct m0_ring_me, nr);
}
static inline struct m0_ring_md *m0_node__md_record(const struct m0_node *node,
						    uint32_t              nr)
{
	return M0_RING_RECORD(&node->nod_records[M0_RING_MDS],
			      struct m0_ring_md, nr);
}
static inline struct m0_ring_op *m0_node__op_record(const struct m0_node *node,
						    uint32_t              nr)
{
	return M0_RING_RECORD(&node->nod_records[M0_RING_OPS],
			      struct m0_ring_op, nr);
}
static inline struct m0_ring_incoming *m0_node__incoming_record(
	const struct m0_node *node, uint32_t nr)
{
	return M0_RING_RECORD(&node->nod_records[M0_RING_INCOMINGS],
			      struct m0_ring_incoming, nr);
}
static inline struct m0_ring_eq *m0_node__eq_record(const struct m0_node *node,
						    uint32_t              nr)
{
	return M0_RING_RECORD(&node->nod_records[M0_RING_EQS],
			      struct m0_ring_eq, nr);
}
static inline struct m0_ring_control *m0_node__control_record(
	const struct m0_node *node, uint32_t nr)
{
	return M0_RING_RECORD(&node->nod_records[M0_RING_CONTROLS],
			      struct m0_ring_control, nr);
}

/** Returns the event as the engine sees it. */
static inline struct m0_lnet_event *m0_node__event(struct m0_ring_event *event)
{
	return (struct m0_lnet_event *)(void *)event;
}

/* -- node_invariant.c ------------------------------------------------------ */

bool m0_node__me_invariant(const struct m0_node_me *nme);
bool m0_node__md_invariant(const struct m0_node_md *nmd);
bool m0_node__op_invariant(const struct m0_node_op *nop);
bool m0_node__incoming_invariant(const struct m0_node_incoming *nin);
bool m0_node__invariant(const struct m0_node *node);

/* -- node_do.c ------------------------------------------------------------- */

extern const m0_node_do_t m0_node__do[M0_RING_OPCODES_NR];

/* -- node_msg.c ------------------------------------------------------------ */

/** Posts the last event of an MD that never reached the engine. */
void m0_node__md_refuse(struct m0_node *node, struct m0_lnet_handle md,
			int status);
/** Calls of the engine into the node. */
extern const struct m0_lnet_owner_ops m0_node__ops;
/** Posts an entry. */
void m0_node__post(struct m0_node *node, enum m0_ring_kind kind,
		   struct m0_lnet_handle about, struct m0_ring_place *place);
/** The operation has no more events. */
void m0_node__op_done(struct m0_node *node, struct m0_node_op *nop);
/** The structs of a new chunk of records for incoming messages. */
void m0_node__incomings_add(struct m0_node *node, uint32_t first);

/* -- node_take.c ----------------------------------------------------------- */

/** ho_is_behind. */
bool m0_node__is_behind(void *owner, uint64_t *mark);
/** ho_is_held. */
bool m0_node__is_held(void *owner, uint32_t portal, uint64_t bits,
		      uint64_t *mark);

/* -- node_close.c ---------------------------------------------------------- */

void m0_node__close_do(struct m0_node *node, const struct m0_ring_entry *entry);

/* -- node_control.c -------------------------------------------------------- */

void m0_node__control_do(struct m0_node             *node,
			 const struct m0_ring_entry *entry);
/** Posts the answer of the control record. */
void m0_node__answer(struct m0_node *node, uint32_t nr);
/** ho_probe_done. */
void m0_node__probe_done(void *owner, struct m0_lnet_probe *probe);
/** Frees blocks that no front has asked for to the end. */
void m0_node__answers_free(struct m0_node *node);

/* -- node_ni.c ------------------------------------------------------------- */

struct m0_node_iface;
/**
 * Finds the interfaces of this host that the configuration names, at most
 * M0_NODE_NIS_MAX.
 * @param why as for m0_lnet_open.
 * @retval -ENOMEM, and those of m0_node__ifaces()
 */
int m0_node__ifaces_find(const struct m0_node     *node,
			 const struct m0_lnet_cfg *cfg,
			 struct m0_node_iface *ret, unsigned *ret_nr,
			 char *why);
/** Makes the driver of this row. @param why as for m0_lnet_open. */
int m0_node__lnd_make(struct m0_node *node, const struct m0_lnd_row *row,
		      char *why);
/**
 * Starts an interface, and makes its driver if there is none.
 * @param why as for m0_lnet_open.
 */
int m0_node__ni_start(struct m0_node *node, const struct m0_lnet_nid *nid,
		      const char *device, uint64_t incarnation, char *why);

/* -- node_nets.c ----------------------------------------------------------- */

int m0_node__net_add(struct m0_node *node, uint32_t nr);
int m0_node__net_del(struct m0_node *node, uint32_t nr);
/** Do interfaces stop? Then the answer to a change waits. */
bool m0_node__is_leaving(const struct m0_node *node);
/** The answer comes with m0_node__left(). */
void m0_node__leaving_add(struct m0_node *node, uint32_t nr);
/** Answers the changes if no interface is stopping, or if the node closes. */
void m0_node__left(struct m0_node *node);

/* -- node_mem.c ------------------------------------------------------------ */

/** Takes the regions that are left from the drivers. */
void m0_node__mems_fini(struct m0_node *node);

/* -- iface.c, cfg.c -------------------------------------------------------- */

/** An interface that the configuration comes down to. */
struct m0_node_iface {
	struct m0_lnet_nid nif_nid;
	char               nif_device[16];
};

/**
 * Finds the interfaces of this host that the configuration names.
 * @param max capacity of `ret`.
 * @param why as for m0_lnet_open.
 * @retval -ENODEV, -EADDRNOTAVAIL, -ENETDOWN, -EINVAL, -ENOSPC
 */
int m0_node__ifaces(const struct m0_lnet_cfg   *cfg,
		    const struct m0_host_iface *ifaces, unsigned ifaces_nr,
		    struct m0_node_iface *ret, unsigned max, unsigned *ret_nr,
		    char *why);
/** Checks the interfaces of a network. @param why as for m0_lnet_open. */
int m0_node__ifaces_check(const struct m0_lnet_net_cfg *net, char *why);
/**
 * Checks the tunables of a network, those of its driver included.
 * @param why as for m0_lnet_open.
 * @retval -EINVAL
 */
int m0_node__tunables_check(const struct m0_lnet_cfg     *cfg,
			    const struct m0_lnet_net_cfg *net, char *why);
/** Returns the network of the configuration; NULL: it has none such. */
struct m0_lnet_net_cfg *m0_node__net_find(struct m0_lnet_cfg *cfg,
					  uint32_t            net);
/** Gives an interface that is not started yet the tunables of its network. */
void m0_node__ni_tune(struct m0_lnet_cfg *cfg, struct m0_lnd_ni *ni);
/** Adds tunables that only the configuration knows. */
void m0_node__tunables_info(struct m0_lnet_cfg *cfg, struct m0_lnet_info *info);

/**
 * Reads the tunables of a network that follow each other in a text.
 * @param own   pairs for this room, as far as they are read.
 * @param pair  "name=value": the text that follows.
 * @param why   as for m0_lnet_open.
 * @retval -EINVAL
 */
int m0_node__tunable_add(struct m0_lnet_net_cfg *net,
			 char own[M0_LNET_CFG_OPTIONS_BYTES], const char *pair,
			 char *why);

enum {
	M0_NODE_NETS_TEXT_BYTES = 256
};
/** The networks that the table of drivers has, for messages. @return buf. */
const char *m0_node__nets_text(char buf[M0_NODE_NETS_TEXT_BYTES]);

#endif /* M0_SRC_NODE_NODE_INTERNAL_H */
