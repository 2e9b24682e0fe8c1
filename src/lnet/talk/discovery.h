/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Declarations that discovery.c and probe.c share. */
#ifndef M0_SRC_LNET_DISCOVERY_H
#define M0_SRC_LNET_DISCOVERY_H

#include "lnet/talk/ask.h"

enum m0_lnet_disc_state {
	M0_LNET_DISC_IDLE,
	/** Starts when its timer fires. */
	M0_LNET_DISC_SOON,
	M0_LNET_DISC_QUEUED,
	M0_LNET_DISC_RUNNING
};

/** The discovery of a peer; it lives as long as the peer. */
struct m0_lnet_disc {
	struct m0_lnet_engine  *di_engine;
	struct m0_lnet_peer    *di_peer;
	enum m0_lnet_disc_state di_state;
	/** Counted in dy_running_nr. */
	bool di_is_counted;
	/** The first request, or the current one, is a push. */
	bool               di_is_push;
	struct m0_lnet_nid di_nid;
	struct m0_lnet_nid di_self;
	/** NID of this node from which the last request was sent. */
	struct m0_lnet_nid   di_from;
	struct m0_lnet_ask  *di_ask;
	struct m0_lnet_timer di_timer;
	/** Link in a queue, with di_is_later in dy_later. */
	struct m0_list_link di_link;
	bool                di_is_later;
	/** Sequence number of the information that is being pushed. */
	uint32_t di_seq;
	/** Space for the answer; with di_grown it was too small once. */
	size_t di_bytes;
	bool   di_grown;
	/** Number of NIDs of the peer that were asked without success. */
	unsigned di_tried_nr;
	/** Ask the peer after the current push. */
	bool di_reping;
	/** Messages do not wait for this peer; it is asked again after
	 * di_pause_until. */
	bool           di_mute;
	m0_time_t      di_pause_until;
	struct m0_list di_probes;
};

/** A probe in progress. */
struct m0_lnet_probing {
	struct m0_lnet_probe *lpo_probe;
	struct m0_list_link   lpo_link;
	struct m0_lnet_timer  lpo_timer;
	struct m0_lnet_ask   *lpo_ask;
};

struct m0_lnet_discovery {
	unsigned dy_running_nr;
	/** Discoveries that something waits for; and the others, which come
	 * later. */
	struct m0_list dy_queue;
	struct m0_list dy_later;
	/** Probes with a request of their own. */
	struct m0_list dy_pings;
	bool           dy_stopped;
	/** Buffer of the decoder. */
	struct m0_lnet_ping_ni dy_nis[M0_LNET_PROBE_NIDS_MAX];
};

static inline struct m0_lnet_discovery *all_of(const struct m0_lnet_engine *eng)
{
	return eng->le_discovery;
}

/* -- discovery.c ----------------------------------------------------------- */

/**
 * Decodes ping information; `info` is valid until the next call. @retval
 * -EPROTO
 */
int m0_lnet__info_decode(struct m0_lnet_engine *eng, const void *bytes,
			 size_t nr, struct m0_lnet_ping_info *info);
/** Finds or creates the discovery of a peer; NULL: no memory. */
struct m0_lnet_disc *m0_lnet__disc_get(struct m0_lnet_engine *eng,
				       struct m0_lnet_peer   *peer);
/**
 * Starts an idle discovery, later than this call.
 * @param self  source, or ANY.
 * @param push  start with a push: the NIDs of the peer are known.
 */
void m0_lnet__disc_begin(struct m0_lnet_disc *di, const struct m0_lnet_nid *nid,
			 const struct m0_lnet_nid *self, bool push);
/** Moves a discovery forward in the queue, because something waits for it. */
void m0_lnet__disc_await(struct m0_lnet_disc *di);

/* -- probe.c --------------------------------------------------------------- */

/**
 * Ends all probes of a list. With status 0 they report what is known of the
 * peer.
 */
void m0_lnet__probes_end(struct m0_lnet_engine *eng, struct m0_list *list,
			 int status);
/** Moves probes to the discovery of another peer. */
void m0_lnet__probes_join(struct m0_lnet_engine *eng, struct m0_list *list);
/** Notes the NID of this node from which the peer is asked. */
void m0_lnet__probes_ask(struct m0_list *list, const struct m0_lnet_nid *self);
/** Reports the answer of the node itself. */
void m0_lnet__probes_learn(struct m0_lnet_engine *eng, struct m0_list *list,
			   const struct m0_lnet_ping_info *info);
/** Fails the probes of a NID that the driver has lost. */
void m0_lnet__probes_lost(struct m0_lnet_engine    *eng,
			  const struct m0_lnet_nid *nid, int status);

#endif /* M0_SRC_LNET_DISCOVERY_H */
