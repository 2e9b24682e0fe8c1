/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Two queues between a front and a node, and the records that their entries name.
 *
 * The front is the side of the application: handles, event queues, callbacks. The
 * node has the engine and the drivers. They share this memory and registered
 * memory, nothing else: each side may have it at an address of its own, so the
 * types here consist of integers of fixed width, and a record is named by its
 * kind and its number.
 *
 * A queue has one producer and one consumer. It has room for a fixed number of
 * entries; an entry that finds no room waits with its producer, in a place that
 * was reserved with what the entry is about. So neither side ever fails to post.
 *
 * Life of an MD: the front takes its number, fills the record and posts ATTACH;
 * the node copies the record; the node posts the last event (rmd_ended is set
 * before); the front uses the number again when the application has had that
 * event, and all operations on the MD are DONE. An entry carries the generation
 * of its number, so one that comes too late names nothing.
 */
#ifndef M0_SRC_RING_RING_H
#define M0_SRC_RING_RING_H

#include "m0/lnet_fault.h"
#include "m0/lnet_route.h"
#include "m0/lnet_tune.h"
#include "m0/lnet_udsp.h"
#include "m0/lnet_info.h"

/** Requests of the front. */
enum m0_ring_opcode {
	/** No entry. */
	M0_RING_NONE,
	/** On the ME or MD of this number. */
	M0_RING_ME_ATTACH,
	M0_RING_ME_UNLINK,
	M0_RING_MD_ATTACH,
	M0_RING_MD_UNLINK,
	/** An MD for an ME that is a queue; an MD with its own ME. */
	M0_RING_QUEUE_ATTACH,
	M0_RING_ENTRY_ATTACH,
	/** The operation of this number; BIND: its MD is to be bound first. */
	M0_RING_PUT,
	M0_RING_GET,
	M0_RING_BIND_PUT,
	M0_RING_BIND_GET,
	/** The number is the portal; what is wanted of it is in rng_lazy. */
	M0_RING_LAZY,
	M0_RING_STATS_RESET,
	M0_RING_CLOSE,
	/** The node answers with M0_RING_PASSED, behind all events so far; the
	 * number is that of the event queue. */
	M0_RING_BARRIER,
	/** The request in the control record of this number; the node answers with
	 * M0_RING_ANSWER. */
	M0_RING_CONTROL,
	/** The oldest call of a front in the same process. */
	M0_RING_CALL,
	M0_RING_OPCODES_NR
};

/** Reports of the node. */
enum m0_ring_kind {
	/** An event of the operation of this number: its SEND; its ACK or
	 * REPLY. */
	M0_RING_EV_SEND = 1,
	M0_RING_EV_RESPONSE,
	/** The event of an incoming message, and the one that ends an idle
	 * MD. */
	M0_RING_EV_INCOMING,
	M0_RING_EV_UNLINK,
	/** The operation has no more events, which its last one did not say. */
	M0_RING_DONE,
	/** The ME has ended. */
	M0_RING_ME_GONE,
	M0_RING_PASSED,
	/** The control record of this number has the answer. */
	M0_RING_ANSWER,
	M0_RING_KINDS_NR
};

/** An entry of either queue. */
struct m0_ring_entry {
	/** enum m0_ring_opcode, or enum m0_ring_kind. */
	uint32_t rqe_opcode;
	/** Number of what it is about. */
	uint32_t rqe_nr;
	/** Generation of that number. */
	uint32_t rqe_gen;
	/** 1: the event is the last of its operation. */
	uint32_t rqe_is_last;
};

enum {
	/** Entries of a queue. */
	M0_RING_ENTRIES_NR = 1024,
	/** Records are made in chunks of so many. */
	M0_RING_CHUNK_NR = 64,
	/** Segments that the record of an MD holds; it names a record of segments
	 * if it has more. */
	M0_RING_SEGS_NR = 4,
	/** Most records of segments. */
	M0_RING_SEGS_MAX = 1024,
	/** Most control records: requests on their way, and probes. */
	M0_RING_CONTROLS_MAX = 1 << 16,
	/** Bytes of an answer that a control record holds. */
	M0_RING_PIECE_BYTES = 2048,
	/** Most peer NIs of one answer: the node makes it between two messages. */
	M0_RING_PEER_NIS_MAX = 64,
	/** Most routes in an answer. */
	M0_RING_ROUTES_MAX = 64
};

/** One direction. All zeroes: empty. */
struct m0_ring_queue {
	/** Written by the producer: entries put here so far; further ones wait
	 * for room. */
	uint32_t rqu_put_nr;
	uint32_t rqu_waits;
	/** Written by the producer, cleared by the consumer: look again. */
	uint32_t rqu_bell;
	/** Written by the consumer: entries that it has done with. */
	uint32_t             rqu_taken_nr __attribute__((__aligned__(64)));
	struct m0_ring_entry rqu_entries[M0_RING_ENTRIES_NR]
		__attribute__((__aligned__(64)));
};

/** Memory of an MD: bytes of a region. */
struct m0_ring_seg {
	uint64_t rsg_offset;
	uint64_t rsg_bytes;
	uint32_t rsg_region;
	uint32_t rsg_reserved;
};

/** A struct m0_lnet_event, of the same layout. */
struct m0_ring_event {
	uint32_t                  rev_type;
	int32_t                   rev_status;
	uint8_t                   rev_unlinked;
	uint8_t                   rev_reserved[3];
	struct m0_lnet_process_id rev_target;
	struct m0_lnet_process_id rev_initiator;
	struct m0_lnet_process_id rev_source;
	struct m0_lnet_nid        rev_sender;
	uint32_t                  rev_portal;
	uint64_t                  rev_match_bits;
	uint64_t                  rev_hdr_data;
	uint64_t                  rev_rlength;
	uint64_t                  rev_mlength;
	uint64_t                  rev_offset;
	uint8_t                   rev_is_get;
	uint8_t                   rev_reserved_get[3];
	uint32_t                  rev_md_nr;
	uint32_t                  rev_md_gen;
	uint32_t                  rev_reserved_md;
	uint64_t                  rev_md_user;
	uint64_t                  rev_op_user;
};

/* -- records of the front -------------------------------------------------- */

struct m0_ring_me {
	struct m0_lnet_process_id rme_id;
	uint32_t                  rme_portal;
	uint32_t                  rme_flags;
	uint64_t                  rme_match_bits;
	uint64_t                  rme_ignore_bits;
	/** Written by the node: the ME has ended. */
	uint8_t rme_gone;
	uint8_t rme_reserved[7];
};

struct m0_ring_md {
	uint64_t rmd_length;
	uint64_t rmd_vec_offset;
	uint64_t rmd_max_size;
	uint64_t rmd_user;
	int32_t  rmd_threshold;
	uint32_t rmd_options;
	/** Number of its event queue, and of its ME; M0_RING_NR_NONE: none. */
	uint32_t rmd_eq;
	uint32_t rmd_me;
	uint32_t rmd_me_gen;
	uint8_t  rmd_auto_unlink;
	/** Written by the node: its last event is posted. */
	uint8_t rmd_ended;
	uint8_t rmd_reserved[2];
	/**
	 * Its memory. Region 0 is the address space that front and node share,
	 * when they do: then rmd_vec is the address of a struct m0_bufvec, and
	 * rmd_segs_nr is 0.
	 */
	uint64_t rmd_vec;
	uint32_t rmd_segs_nr;
	/** With more than M0_RING_SEGS_NR segments: number of their record. */
	uint32_t           rmd_long;
	struct m0_ring_seg rmd_segs[M0_RING_SEGS_NR];
	/** Written by the node: the event that ends it while it is idle. */
	struct m0_ring_event rmd_last;
} __attribute__((__aligned__(64)));

/** A long list of segments. */
struct m0_ring_segs {
	struct m0_ring_seg rgl_seg[M0_LNET_MD_SEGS_MAX];
};

struct m0_ring_op {
	struct m0_lnet_nid        rop_self;
	struct m0_lnet_process_id rop_target;
	uint32_t                  rop_portal;
	uint64_t                  rop_match_bits;
	uint64_t                  rop_hdr_data;
	uint64_t                  rop_md_offset;
	uint64_t                  rop_bytes;
	uint64_t                  rop_user;
	uint32_t                  rop_offset;
	uint32_t                  rop_md;
	uint32_t                  rop_md_gen;
	uint8_t                   rop_ack;
	uint8_t                   rop_spread;
	uint8_t                   rop_reserved[2];
	/** Written by the node: SEND; ACK or REPLY. */
	struct m0_ring_event rop_event[2];
} __attribute__((__aligned__(64)));

struct m0_ring_eq {
	/** The queue is bounded, and takes so many incoming messages. */
	uint32_t req_max;
	uint8_t  req_is_bounded;
	uint8_t  req_reserved[3];
	/** Number of the queue whose bound counts, too, plus 1; 0: none. */
	uint32_t req_all;
	uint32_t req_reserved_all;
	/** Written by the front: incoming messages that the application has
	 * taken. */
	uint32_t req_taken_nr;
	/** Written by the node: those that it has accepted, and dropped. */
	uint32_t req_accepted_nr;
	uint64_t req_dropped_nr;
};

/** Requests that are not about messages. */
enum m0_ring_verb {
	/** The answer is a block: struct m0_lnet_info, as of
	 * m0_ring_info_pack(). */
	M0_RING_INFO,
	/** rqc_probe. The answer comes when the probe has ended. */
	M0_RING_PROBE,
	/** rqc_fault. */
	M0_RING_FAULT_ADD,
	/** rqc_choice; the answer to GET is a block, an array of struct
	 * m0_lnet_fault. */
	M0_RING_FAULT_DEL,
	M0_RING_FAULT_RESET,
	M0_RING_FAULT_GET,
	/** rqc_route; the answer to GET is a block, an array of struct
	 * m0_lnet_route_info. */
	M0_RING_ROUTE_ADD,
	M0_RING_ROUTE_DEL,
	M0_RING_ROUTE_GET,
	/** rqc_routing; of SET rrg_on, of POOLS rrg_max, and GET fills
	 * rrg_info. */
	M0_RING_ROUTING_SET,
	M0_RING_POOLS_SET,
	M0_RING_ROUTING_GET,
	/** rqc_udsp; the answer to GET is a block, an array of struct
	 * m0_lnet_udsp. */
	M0_RING_UDSP_ADD,
	M0_RING_UDSP_DEL,
	M0_RING_UDSP_GET,
	/** rqc_udsp, with rud_after; the answer is a block, a struct
	 * m0_lnet_effect. */
	M0_RING_UDSP_EFFECT,
	/** rqc_dist. */
	M0_RING_DIST,
	/** rqc_dist, of which rdi_src is the sender; the answer is a block, a
	 * struct m0_lnet_explain. */
	M0_RING_EXPLAIN,
	/** rqc_tune; GET fills rtu_values. */
	M0_RING_TUNE,
	M0_RING_TUNABLES_GET,
	/** rqc_peer. */
	M0_RING_HEALTH_SET,
	M0_RING_PEER_ADD,
	M0_RING_PEER_DEL,
	/** rqc_net. The answer comes when interfaces that are to stop have
	 * stopped. */
	M0_RING_NET_ADD,
	M0_RING_NET_DEL,
	/** The answer is a block, the NIDs of the node, and rqc_version. */
	M0_RING_NIDS_GET,
	/** The next piece of the block. */
	M0_RING_MORE,
	/** The answer is a block, a struct m0_lnet_stats. */
	M0_RING_STATS_GET,
	/** As INFO, without peers. */
	M0_RING_INFO_HEAD,
	/** rqc_choice: entries behind that of rch_src, rch_max at most. The answer is a block,
	 * an array of struct m0_lnet_peer_ni_row. */
	M0_RING_PEER_NIS_GET,
	/** rqc_tap. Only within a process. */
	M0_RING_TAP_ADD,
	M0_RING_TAP_DEL,
	M0_RING_VERBS_NR
};

/** A struct m0_lnet_probe, without what belongs to one side. */
struct m0_ring_probe {
	uint32_t           rpb_kind;
	struct m0_lnet_nid rpb_nid;
	struct m0_lnet_nid rpb_self;
	uint64_t           rpb_timeout_ms;
	uint8_t            rpb_force;
	/* The outcome. */
	uint8_t            rpb_multi_rail;
	uint8_t            rpb_reserved[2];
	struct m0_lnet_nid rpb_source;
	struct m0_lnet_nid rpb_primary;
	uint32_t           rpb_pid;
	uint32_t           rpb_features;
	uint32_t           rpb_nids_nr;
	uint64_t           rpb_took_ns;
	struct m0_lnet_nid rpb_nids[M0_LNET_PROBE_NIDS_MAX];
	uint8_t            rpb_nids_up[M0_LNET_PROBE_NIDS_MAX];
};

/** Fault rules that are meant. */
struct m0_ring_choice {
	uint32_t           rch_kind;
	struct m0_lnet_nid rch_src;
	struct m0_lnet_nid rch_dst;
	/** Most rules that are wanted. */
	uint32_t rch_max;
};

/** A route, or routes that are meant. Of routes that are wanted: rqc_order of the part
 * before (0: there is none), and how many at most (0: their number). */
struct m0_ring_route {
	struct m0_lnet_route_attr rrt_attr;
	uint32_t                  rrt_max;
	uint64_t                  rrt_after;
};

/** A rule of selection, or the index of one, or the rules that are wanted. */
struct m0_ring_udsp {
	struct m0_lnet_udsp rud_rule;
	int32_t             rud_idx;
	uint32_t            rud_first;
	uint32_t            rud_max;
	/** EFFECT: the rule is to be deleted; and, if rud_is_next, lef_last and
	 * lef_changes_nr of the part before. */
	uint8_t            rud_is_del;
	uint8_t            rud_is_next;
	uint8_t            rud_reserved[2];
	struct m0_lnet_nid rud_last;
	uint64_t           rud_changes_nr;
};

struct m0_ring_routing {
	uint32_t                    rrg_on;
	uint32_t                    rrg_max[M0_LNET_POOLS_NR];
	struct m0_lnet_routing_info rrg_info;
};

/** A tunable, and the values of all. */
struct m0_ring_tune {
	uint32_t rtu_which;
	uint32_t rtu_reserved;
	uint64_t rtu_value;
	/** Written by the node: the range of the tunable. */
	uint64_t rtu_min;
	uint64_t rtu_max;
	uint64_t rtu_values[M0_LNET_TUNABLES_NR];
};

/** A peer with NIDs; or what m0_lnet_health_set() names, with rpe_nid. */
struct m0_ring_peer {
	struct m0_lnet_nid rpe_nid;
	uint32_t           rpe_multi_rail;
	uint32_t           rpe_health_of;
	uint32_t           rpe_health;
	uint32_t           rpe_nids_nr;
	struct m0_lnet_nid rpe_nids[M0_LNET_PEER_NIDS_MAX];
};

/** A network to be added, or to be removed: then lnc_net and lnc_ifaces count. */
struct m0_ring_net {
	struct m0_lnet_net_cfg rne_cfg;
	/** Written by the node: what is wrong. */
	char rne_why[M0_LNET_WHY_BYTES];
};

/** The distance of a NID; the node fills in rdi_src and rdi_order. */
struct m0_ring_dist {
	struct m0_lnet_nid rdi_dst;
	struct m0_lnet_nid rdi_src;
	uint32_t           rdi_order;
};

/**
 * A request, and its answer. An answer of many bytes is a block that the node
 * keeps until the front has asked for all pieces of it, so that they are of one
 * moment.
 */
struct m0_ring_control {
	/** enum m0_ring_verb */
	uint32_t rqc_verb;
	/** Written by the node, as all that follows but the request: 0 or more, or
	 * a negative errno. */
	int32_t rqc_rc;
	/** Bytes of the block, and of the piece of it that is here. */
	uint64_t rqc_block_bytes;
	uint32_t rqc_piece_bytes;
	/** The number of changes of the NIDs so far, after NIDS_GET. */
	uint32_t rqc_version;
	/** After ROUTE_GET: the order of the last route of the answer; if their
	 * number was wanted, that of the newest one. */
	uint64_t rqc_order;
	union {
		struct m0_ring_probe      rqc_probe;
		struct m0_lnet_fault_attr rqc_fault;
		struct m0_ring_choice     rqc_choice;
		struct m0_ring_route      rqc_route;
		struct m0_ring_routing    rqc_routing;
		struct m0_ring_udsp       rqc_udsp;
		struct m0_ring_dist       rqc_dist;
		struct m0_ring_tune       rqc_tune;
		struct m0_ring_peer       rqc_peer;
		struct m0_ring_net        rqc_net;
		struct m0_lnet_tap       *rqc_tap;
		uint64_t rqc_piece[M0_RING_PIECE_BYTES / sizeof(uint64_t)];
	};
} __attribute__((__aligned__(64)));

/* -- records of the node --------------------------------------------------- */

/** A message of a peer. */
struct m0_ring_incoming {
	struct m0_ring_event rin_event;
	/** In the list of rng_returned: number of the next one, plus 1. */
	uint32_t rin_next;
	uint32_t rin_reserved;
} __attribute__((__aligned__(64)));

enum {
	M0_RING_NR_NONE = UINT32_MAX
};

/* -- the shared memory ----------------------------------------------------- */

/** The memory that front and node share, besides the chunks of records. */
struct m0_ring {
	struct m0_ring_queue rng_down;
	struct m0_ring_queue rng_up;
	/** Messages of the application, and of peers, that are in use: each is
	 * written by its side. */
	uint32_t rng_ops_nr __attribute__((__aligned__(64)));
	uint32_t rng_incoming_nr __attribute__((__aligned__(64)));
	/** Written by the node: records that it has taken back so far. */
	uint32_t rng_retaken_nr;
	/** Records of incoming messages whose events were had: number of the
	 * first, plus 1. The front adds to the list, the node takes all. */
	uint32_t rng_returned __attribute__((__aligned__(64)));
	/** Written by the node: it was refused a message, and waits for one. */
	uint32_t rng_starved;
	/** A reset of the counters is on its way; the node clears it. */
	uint32_t rng_reset;
	/** By portal: bits of enum m0_ring_lazy. The node clears them. */
	uint32_t rng_lazy[];
};

enum m0_ring_lazy {
	/** An entry is on its way. */
	M0_RING_LAZY_POSTED = 1,
	M0_RING_LAZY_WANTED = 2,
	/** Messages that wait are to be dropped first: laziness was not wanted
	 * since. */
	M0_RING_LAZY_CLEARED = 4
};

/** Kinds of records, each with a table of chunks on both sides. */
enum m0_ring_table {
	M0_RING_MES,
	M0_RING_MDS,
	M0_RING_OPS,
	M0_RING_INCOMINGS,
	M0_RING_EQS,
	M0_RING_SEGS,
	M0_RING_CONTROLS,
	M0_RING_TABLES_NR
};

/** Bytes of a record of each kind. */
extern const uint32_t m0_ring_record_bytes[M0_RING_TABLES_NR];

/* -- ends of a queue ------------------------------------------------------- */

/** Place in which an entry waits for room. The producer's own. */
struct m0_ring_place {
	struct m0_ring_place *rgp_next;
	struct m0_ring_entry  rgp_entry;
	/** An entry is in it. */
	bool rgp_waits;
};

/** The producer's end. */
struct m0_ring_out {
	struct m0_ring_queue  *rou_queue;
	uint32_t               rou_put_nr;
	struct m0_ring_place  *rou_first;
	struct m0_ring_place **rou_tail;
};

/** The consumer's end. */
struct m0_ring_in {
	struct m0_ring_queue *rie_queue;
	uint32_t              rie_taken_nr;
};

void m0_ring_out_init(struct m0_ring_out *out, struct m0_ring_queue *queue);
void m0_ring_in_init(struct m0_ring_in *in, struct m0_ring_queue *queue);
/** Posts an entry that waits. Apart: there is most often room. */
void m0_ring_wait(struct m0_ring_out *out, const struct m0_ring_entry *entry,
		  struct m0_ring_place *place);
/** Moves entries that wait to the queue, as far as there is room. @return true
 * if there was anything to move. */
bool m0_ring_refill(struct m0_ring_out *out);

/** Is there room for one more entry? */
static inline bool m0_ring_has_room(const struct m0_ring_out *out)
{
	return out->rou_put_nr - __atomic_load_n(&out->rou_queue->rqu_taken_nr,
						 __ATOMIC_ACQUIRE) <
	       M0_RING_ENTRIES_NR;
}

/** Adds an entry that the caller fills. Pre: there is room. */
static inline struct m0_ring_entry *m0_ring_add(struct m0_ring_out *out)
{
	return &out->rou_queue
			->rqu_entries[out->rou_put_nr++ % M0_RING_ENTRIES_NR];
}

/** Lets the consumer see all entries that were added. */
static inline void m0_ring_publish(struct m0_ring_out *out)
{
	__atomic_store_n(&out->rou_queue->rqu_put_nr, out->rou_put_nr,
			 __ATOMIC_RELEASE);
}

/** Puts an entry where the consumer sees it. Pre: there is room. */
static inline void m0_ring_put(struct m0_ring_out         *out,
			       const struct m0_ring_entry *entry)
{
	*m0_ring_add(out) = *entry;
	m0_ring_publish(out);
}

/**
 * Posts an entry.
 * @param place  where it waits if there is no room. It is free.
 */
static inline void m0_ring_post(struct m0_ring_out         *out,
				const struct m0_ring_entry *entry,
				struct m0_ring_place       *place)
{
	if (M0_LIKELY(out->rou_first == NULL && m0_ring_has_room(out)))
		m0_ring_put(out, entry);
	else
		m0_ring_wait(out, entry, place);
}

/** Number of the entries that the consumer can take up to now. */
static inline uint32_t m0_ring_put_nr(const struct m0_ring_in *in)
{
	return __atomic_load_n(&in->rie_queue->rqu_put_nr, __ATOMIC_ACQUIRE);
}

/** Returns true if there is no entry to take. */
static inline bool m0_ring_is_empty(const struct m0_ring_in *in)
{
	return m0_ring_put_nr(in) == in->rie_taken_nr &&
	       !__atomic_load_n(&in->rie_queue->rqu_waits, __ATOMIC_ACQUIRE);
}

/** The entry that was put as number `nr`. */
static inline const struct m0_ring_entry *m0_ring_at(
	const struct m0_ring_in *in, uint32_t nr)
{
	return &in->rie_queue->rqu_entries[nr % M0_RING_ENTRIES_NR];
}

/** All entries before `nr` are done with. */
static inline void m0_ring_take(struct m0_ring_in *in, uint32_t nr)
{
	in->rie_taken_nr = nr;
	__atomic_store_n(&in->rie_queue->rqu_taken_nr, nr, __ATOMIC_RELEASE);
}

/* -- information ----------------------------------------------------------- */

/** Makes offsets of the pointers of a block. @return its bytes. */
size_t m0_ring_info_pack(struct m0_lnet_info *info);
/** Do all offsets of a block lie in it? A node in another process has made it. */
bool m0_ring_info_check(const struct m0_lnet_info *info, size_t bytes);
/** Makes pointers of the offsets again. */
void m0_ring_info_unpack(struct m0_lnet_info *info);

/* -- chunks of records ----------------------------------------------------- */

/** One side's view of the records of a kind. */
struct m0_ring_view {
	/** Address of each chunk, on this side. */
	void   **rvi_chunks;
	uint32_t rvi_chunks_max;
};

/** @retval -ENOMEM */
int  m0_ring_view_init(struct m0_ring_view *view, uint32_t records_max);
void m0_ring_view_fini(struct m0_ring_view *view);

/** The record `nr` of a view of records of this type. */
#define M0_RING_RECORD(view, type, nr)                           \
	(&((type *)(view)                                        \
		   ->rvi_chunks[(nr) / M0_RING_CHUNK_NR])[(nr) % \
							  M0_RING_CHUNK_NR])

#endif /* M0_SRC_RING_RING_H */
