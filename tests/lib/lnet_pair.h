/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A few LNet engines in virtual time, joined by a driver that moves messages
 * in memory and, as a test sets it, holds, drops, fails or delays them. Each node
 * has an owner that does no more than the engine needs: a pool of messages, and a
 * list of the events that came.
 *
 *	struct pair *pair = pair_open(2, NULL);
 *	pair_ni(&pair->pai_node[0], "10.0.0.1@tcp");
 *	pair_ni(&pair->pai_node[1], "10.0.0.2@tcp");
 *	... pair_put(...); pair_run(pair, 100); look at pno_events ...
 *	pair_close(pair);
 */
#ifndef M0_TESTS_LIB_LNET_PAIR_H
#define M0_TESTS_LIB_LNET_PAIR_H

#include "lnet/engine.h"

enum {
	PAIR_NODES_MAX = 8,
	PAIR_NIS_MAX = 8,
	PAIR_EVENTS_MAX = 4096,
	PAIR_FRAMES_MAX = 4096,
	/** Bytes of a payload that a frame shows. */
	PAIR_FRAME_BYTES = 512,
	/** Number of the event queue of each node. */
	PAIR_EQ = 7
};

struct pair;

/** Fate of a message that leaves. */
enum pair_act {
	PAIR_PASS,
	/** The driver keeps it until pair_release(). */
	PAIR_HOLD,
	/** Left, and lost on the way. */
	PAIR_DROP,
	/** Ends with pfr_status and pfr_health. */
	PAIR_FAIL,
	/** Arrives, but is done only at pair_release(). */
	PAIR_SLOW
};

/** A message as it left; those that passed are kept in pai_frames. */
struct pair_frame {
	m0_time_t pfr_at;
	/** Index of its sender, and the NI it left by. */
	unsigned           pfr_node;
	struct m0_lnet_nid pfr_ni;
	struct m0_lnet_nid pfr_hop;
	uint32_t           pfr_hop_pid;
	bool               pfr_is_answer;
	struct m0_lnet_hdr pfr_hdr;
	bool               pfr_large;
	size_t             pfr_bytes;
	uint8_t            pfr_payload[PAIR_FRAME_BYTES];
	/** The hook's, for PAIR_FAIL: -EIO and REMOTE_ERROR if not set. */
	int                pfr_status;
	enum m0_lnd_health pfr_health;
};

typedef enum pair_act (*pair_hook_t)(struct pair       *pair,
				     struct pair_frame *frame);

/** An event that the engine has posted. */
struct pair_posted {
	struct pair_posted  *pev_next;
	struct m0_lnet_event pev_event;
	/** Number of the queue. */
	uint32_t pev_eq;
	/** The MD that it ends; NULL: none. */
	struct m0_lnet_md *pev_ended;
	/** True if the event is about a message. */
	bool pev_has_msg;
};

struct pair_node {
	struct pair           *pno_pair;
	struct m0_lnet_engine *pno_engine;
	struct m0_lnd          pno_lnd;
	/** [0] is `0@lo`. */
	struct m0_lnd_ni *pno_ni[PAIR_NIS_MAX];
	unsigned          pno_nis_nr;
	/** Messages that the driver has: to do, held, and arrived but not done. */
	struct m0_list pno_txs;
	struct m0_list pno_held;
	struct m0_list pno_slow;
	/** Messages that come in. */
	struct m0_list pno_rxs;
	/** Payloads stop coming while it is set. */
	bool pno_rx_hold;
	/** Messages that the driver got before they were whole, and those of
	 * them whose rest did not come. They are held until they are whole. */
	unsigned pno_parts_nr;
	unsigned pno_aborts_nr;
	/** Its fault rules damage headers: lengths may be wrong. */
	bool pno_is_damaged;
	/** lu_rx_begin said -EPROTO, -EAGAIN; messages to nobody's NID. */
	unsigned pno_proto_errors_nr;
	unsigned pno_again_nr;
	unsigned pno_nobody_nr;
	/** The owner. */
	unsigned pno_msgs_max;
	unsigned pno_msgs_nr;
	unsigned pno_mds_nr;
	unsigned pno_mes_nr;
	bool     pno_eq_full;
	/** Something is posted that the engine has not received; how often it has
	 * received such. */
	bool     pno_behind;
	uint64_t pno_takes_nr;
	/** Posted, to be taken at the end of the pass unless pno_keep. */
	struct pair_posted   *pno_posted;
	bool                  pno_keep;
	struct m0_lnet_event  pno_events[PAIR_EVENTS_MAX];
	unsigned              pno_events_nr;
	unsigned              pno_probes_done_nr;
	struct m0_lnet_probe *pno_probe_last;
	uint32_t              pno_handle;
	/** ldo_peer_drop. */
	unsigned pno_drops_nr;
};

struct pair {
	m0_time_t          pai_now;
	unsigned           pai_nr;
	struct pair_node   pai_node[PAIR_NODES_MAX];
	pair_hook_t        pai_hook;
	void              *pai_arg;
	struct pair_frame *pai_frames;
	unsigned           pai_frames_nr;
};

/**
 * Opens `nr` nodes with nothing but `0@lo`.
 * @param cfg  lec_owner_ops and lec_owner are set here; NULL: the defaults, also
 *             of pair_cfg().
 */
struct pair *pair_open(unsigned nr, const struct m0_lnet_engine_cfg *cfg);
/** 64 portals, 64 peers, 8 and 256 credits, discovery on, 150 s and 50 s. */
struct m0_lnet_engine_cfg pair_cfg(void);
/** Another life of node `i`, with the same NIDs: what it knew is lost. */
void pair_restart(struct pair *pair, unsigned i,
		  const struct m0_lnet_engine_cfg *cfg);
/** Shuts all down, and checks that nothing is left over. */
void pair_close(struct pair *pair);
/** Shuts down one node, which is no longer stepped. */
void pair_stop(struct pair *pair, unsigned i);

/** Adds an NI that is up. */
struct m0_lnd_ni  *pair_ni(struct pair_node *node, const char *nid);
struct m0_lnet_nid pair_nid(const char *text);
/** The first NID of the node that is not `0@lo`. */
struct m0_lnet_nid pair_nid_of(const struct pair_node *node);

/** Moves what there is to move, without time passing. */
void pair_settle(struct pair *pair);
/** `nr` passes of all nodes: from the middle of something. */
void pair_pass(struct pair *pair, unsigned nr);
/** Lets time pass. */
void pair_run(struct pair *pair, uint64_t ms);
/** Lets held messages go on (the hook sees them again), and completes slow
 * ones. */
void pair_release(struct pair *pair);
/** Brings `bytes` of each payload that stopped coming and reports them, if the engine
 * wants reports. @return number of messages. */
unsigned pair_report(struct pair_node *node, m0_bcount_t bytes);
/** The rest of payloads that stopped coming will not come. */
void pair_rx_fail(struct pair_node *node, int status);
/** The driver of `node` has lost the peer `nid`. */
void pair_peer_down(struct pair_node *node, const char *nid, int status);
/** A message comes to NI `ni_nr` of `node` from a peer that is no node here. */
void pair_inject(struct pair_node *node, unsigned ni_nr, const char *from,
		 const struct m0_lnet_hdr *hdr, const void *payload);

/** Any NID and pid may match. */
struct m0_lnet_me *pair_me(struct pair_node *node, uint32_t portal,
			   uint64_t bits, uint64_t ignore, unsigned flags);
struct m0_lnet_md *pair_md_attach(struct pair_node *node, struct m0_lnet_me *me,
				  void *buf, m0_bcount_t bytes,
				  int32_t threshold, unsigned options,
				  bool auto_unlink);
/** Ends by itself when its threshold is used up. */
struct m0_lnet_md *pair_md_bind(struct pair_node *node, void *buf,
				m0_bcount_t bytes, int32_t threshold,
				unsigned options);
void pair_put(struct pair_node *node, struct m0_lnet_md *md, const char *dst,
	      uint32_t portal, uint64_t bits, bool ack);
void pair_get(struct pair_node *node, struct m0_lnet_md *md, const char *dst,
	      uint32_t portal, uint64_t bits);
/** All that an operation can say. */
void pair_op(struct pair_node *node, struct m0_lnet_md *md,
	     const struct m0_lnet_op *op, bool get);

/** The i-th event of this type since the node began; NULL: none. */
const struct m0_lnet_event *pair_event(const struct pair_node *node,
				       enum m0_lnet_event_type type,
				       unsigned                i);
/** How many frames of this type node `from` has sent. */
unsigned pair_frames_nr(const struct pair *pair, unsigned from, uint32_t type);
/** The i-th of them; NULL: none. */
const struct pair_frame *pair_frame(const struct pair *pair, unsigned from,
				    uint32_t type, unsigned i);

#endif /* M0_TESTS_LIB_LNET_PAIR_H */
