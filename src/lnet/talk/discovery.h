/* SPDX-License-Identifier: Apache-2.0 */
/** What discovery.c and probe.c share. */
#ifndef M0_SRC_LNET_DISCOVERY_H
#define M0_SRC_LNET_DISCOVERY_H

#include "lnet/talk/ask.h"

enum m0_lnet_disc_state {
	M0_LNET_DISC_IDLE,
	/** Begins when its timer fires. */
	M0_LNET_DISC_SOON,
	M0_LNET_DISC_QUEUED,
	M0_LNET_DISC_RUNNING
};

/** The discovery of a peer; it stays as long as the peer does. */
struct m0_lnet_disc {
	struct m0_lnet_engine  *di_engine;
	struct m0_lnet_peer    *di_peer;
	enum m0_lnet_disc_state di_state;
	/** In dy_running_nr. */
	bool di_is_counted;
	/** What is to be done first, and is being done. */
	bool               di_is_push;
	struct m0_lnet_nid di_nid;
	struct m0_lnet_nid di_self;
	/** NID of ours that asked last. */
	struct m0_lnet_nid   di_from;
	struct m0_lnet_ask  *di_ask;
	struct m0_lnet_timer di_timer;
	/** In a queue: in dy_later? */
	struct m0_list_link di_link;
	bool                di_is_later;
	/** Of our information, being pushed. */
	uint32_t di_seq;
	/** Room for its answer; it was too little once. */
	size_t di_bytes;
	bool   di_grown;
	/** NIDs of it that were asked in vain. */
	unsigned di_tried_nr;
	/** Being pushed to, it is to be asked as well. */
	bool di_reping;
	/** Spoken to without waiting; asked again after that. */
	bool           di_mute;
	m0_time_t      di_pause_until;
	struct m0_list di_probes;
};

/** A probe under way. */
struct m0_lnet_probing {
	struct m0_lnet_probe *lpo_probe;
	struct m0_list_link   lpo_link;
	struct m0_lnet_timer  lpo_timer;
	struct m0_lnet_ask   *lpo_ask;
};

struct m0_lnet_discovery {
	unsigned dy_running_nr;
	/** Discoveries that somebody waits for; the others, after them. */
	struct m0_list dy_queue;
	struct m0_list dy_later;
	/** Probes that ask for themselves. */
	struct m0_list dy_pings;
	bool           dy_stopped;
	/** Where answers are decoded. */
	struct m0_lnet_ping_ni dy_nis[M0_LNET_PROBE_NIDS_MAX];
};

static inline struct m0_lnet_discovery *all_of(const struct m0_lnet_engine *eng)
{
	return eng->le_discovery;
}

/* -- discovery.c ----------------------------------------------------------- */

/** `info` is good until the next call. @retval -EPROTO */
int m0_lnet__info_decode(struct m0_lnet_engine *eng, const void *bytes,
			 size_t nr, struct m0_lnet_ping_info *info);
/** Finds or makes; NULL: no memory. */
struct m0_lnet_disc *m0_lnet__disc_get(struct m0_lnet_engine *eng,
				       struct m0_lnet_peer   *peer);
/**
 * Has it begin if it is idle, later than this call.
 * @param self  source, or ANY.
 * @param push  told ours at once: its own is known.
 */
void m0_lnet__disc_begin(struct m0_lnet_disc *di, const struct m0_lnet_nid *nid,
			 const struct m0_lnet_nid *self, bool push);
/** Somebody is going to wait for it. */
void m0_lnet__disc_await(struct m0_lnet_disc *di);

/* -- probe.c --------------------------------------------------------------- */

/** Ends all of a list. Its peer's information is told if status is 0. */
void m0_lnet__probes_end(struct m0_lnet_engine *eng, struct m0_list *list,
			 int status);
/** Their peer is another: they join the discovery of that. */
void m0_lnet__probes_join(struct m0_lnet_engine *eng, struct m0_list *list);
/** The peer is being asked, from this NID of ours. */
void m0_lnet__probes_ask(struct m0_list *list, const struct m0_lnet_nid *self);
/** What the node itself has said. */
void m0_lnet__probes_learn(struct m0_lnet_engine *eng, struct m0_list *list,
			   const struct m0_lnet_ping_info *info);
/** The NID was lost. */
void m0_lnet__probes_lost(struct m0_lnet_engine    *eng,
			  const struct m0_lnet_nid *nid, int status);

#endif /* M0_SRC_LNET_DISCOVERY_H */
