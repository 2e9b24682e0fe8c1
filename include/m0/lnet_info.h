/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a node of m0/lnet.h knows of itself and of others: ping and discovery,
 * interfaces, peers, counters.
 */
#ifndef M0_LNET_INFO_H
#define M0_LNET_INFO_H

#include "m0/lnet.h"
#include "m0/lnd.h"

#ifdef __cplusplus
extern "C" {
#endif

enum m0_lnet_probe_kind {
	/** Ask a node for its NIDs. */
	M0_LNET_PING,
	/** Ask, tell it ours, and remember what it is. */
	M0_LNET_DISCOVER
};

enum {
	/** NIDs of an answer that are kept. */
	M0_LNET_PROBE_NIDS_MAX = 64
};

/**
 * A ping or discovery. The caller's memory, from the call to pr_done. Fields up
 * to pr_user are set by the caller.
 */
struct m0_lnet_probe {
	enum m0_lnet_probe_kind pr_kind;
	struct m0_lnet_nid      pr_nid;
	/** Source, or ANY. */
	struct m0_lnet_nid pr_self;
	/** 0: lc_transaction_timeout_ms. */
	uint64_t pr_timeout_ms;
	/** DISCOVER: also a peer that is up to date. */
	bool pr_force;
	/** Called once, as a callback of an event queue is. */
	void (*pr_done)(struct m0_lnet_probe *probe);
	void *pr_user;

	/** 0; -ETIMEDOUT; -EPROTO: no sense in the answer; -EOPNOTSUPP: a peer
	 * to be discovered answers, but takes no part in discovery; -EHOSTUNREACH,
	 * -ECONNREFUSED and others of the network; -ESHUTDOWN. */
	int pr_status;
	/** NID of ours that asked; ANY if nothing was sent, or to ourselves. */
	struct m0_lnet_nid pr_source;
	struct m0_lnet_nid pr_primary;
	uint32_t           pr_pid;
	uint32_t           pr_features;
	/** Our record of the peer has it as Multi-Rail: not before discovery. */
	bool pr_multi_rail;
	/** NIDs as told, primary first, `0@lo` left out. */
	unsigned           pr_nids_nr;
	struct m0_lnet_nid pr_nids[M0_LNET_PROBE_NIDS_MAX];
	bool               pr_nids_up[M0_LNET_PROBE_NIDS_MAX];
	/** How long it took. */
	m0_time_t pr_took_ns;

	/** The library's. */
	struct m0_list_link pr_link;
	m0_time_t           pr_since;
	void               *pr_priv;
};

/**
 * Begins; ends once, by pr_done, pr_timeout_ms later at the latest.
 * @retval -EINVAL  the NID. @retval -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_probe(struct m0_lnet *lnet, struct m0_lnet_probe *probe);
/** The same, and waits. pr_done is not used. Blocks: not from callbacks.
 * @return pr_status. */
M0_EXTERN int m0_lnet_probe_sync(struct m0_lnet       *lnet,
				 struct m0_lnet_probe *probe);

/** Messages by type: put, get, reply, ack (hello is always 0). */
struct m0_lnet_msg_counts {
	uint64_t lmc_put;
	uint64_t lmc_get;
	uint64_t lmc_reply;
	uint64_t lmc_ack;
};

struct m0_lnet_traffic {
	struct m0_lnet_msg_counts lt_sent;
	struct m0_lnet_msg_counts lt_received;
	struct m0_lnet_msg_counts lt_dropped;
};

/** Failures by class, as enum m0_lnd_health. */
struct m0_lnet_failures {
	uint64_t lf_local_interrupt;
	uint64_t lf_local_dropped;
	uint64_t lf_local_aborted;
	uint64_t lf_local_no_route;
	uint64_t lf_local_error;
	uint64_t lf_local_timeout;
	uint64_t lf_remote_error;
	uint64_t lf_remote_dropped;
	uint64_t lf_remote_timeout;
	uint64_t lf_network_timeout;
};

/** Health that is not there. */
#define M0_LNET_HEALTH_NA UINT32_MAX

struct m0_lnet_ni_info {
	struct m0_lnet_nid nii_nid;
	char               nii_device[16];
	bool               nii_up;
	/** 0 for lo. */
	unsigned nii_peer_credits;
	unsigned nii_credits;
	int      nii_credits_free;
	int      nii_credits_low;
	unsigned nii_conns_per_peer;
	uint64_t nii_timeout_ms;
	/** 0 to 1000; M0_LNET_HEALTH_NA: it is not kept, as now always. */
	unsigned                nii_health;
	struct m0_lnet_traffic  nii_traffic;
	struct m0_lnet_failures nii_failures;
	struct m0_lnd_ni_info   nii_lnd;
};

struct m0_lnet_peer_ni_info {
	struct m0_lnet_nid pni_nid;
	/** Known to be up, down, or (false, false) not known. */
	bool     pni_up;
	bool     pni_down;
	unsigned pni_credits_max;
	int      pni_credits_free;
	int      pni_credits_low;
	uint64_t pni_queued_bytes;
	unsigned pni_refs_nr;
	/** How often it was lost while it was up. Not reset with counters. */
	uint64_t pni_lost_nr;
	/** As nii_health. */
	unsigned                pni_health;
	struct m0_lnet_traffic  pni_traffic;
	struct m0_lnet_failures pni_failures;
};

/** Bits of pei_state, as lnetctl shows them. */
enum m0_lnet_peer_state {
	M0_LNET_PEER_MULTI_RAIL = 1 << 0,
	M0_LNET_PEER_NO_DISCOVERY = 1 << 1,
	/** Bit 2 is that of routers, which there are none of yet. */
	M0_LNET_PEER_CONFIGURED = 1 << 3,
	M0_LNET_PEER_DISCOVERED = 1 << 4,
	M0_LNET_PEER_DISCOVERING = 1 << 6,
	M0_LNET_PEER_NIDS_UPTODATE = 1 << 8
};

struct m0_lnet_peer_info {
	struct m0_lnet_nid           pei_primary;
	bool                         pei_multi_rail;
	uint32_t                     pei_state;
	unsigned                     pei_nis_nr;
	struct m0_lnet_peer_ni_info *pei_nis;
};

/** As `lnetctl stats show`; ours after them. */
struct m0_lnet_stats {
	uint64_t ls_msgs_alloc;
	uint64_t ls_msgs_max;
	uint64_t ls_rst_alloc;
	uint64_t ls_errors;
	uint64_t ls_send_count;
	/** 0: the engine does not send a message again yet. */
	uint64_t                ls_resend_count;
	uint64_t                ls_response_timeout_count;
	struct m0_lnet_failures ls_failures;
	uint64_t                ls_recv_count;
	uint64_t                ls_route_count;
	uint64_t                ls_drop_count;
	uint64_t                ls_send_length;
	uint64_t                ls_recv_length;
	uint64_t                ls_route_length;
	uint64_t                ls_drop_length;
	/** Why things were dropped or connections closed. */
	uint64_t ls_drop_no_match;
	uint64_t ls_drop_too_big;
	uint64_t ls_drop_not_ours;
	uint64_t ls_drop_stale;
	uint64_t ls_drop_no_room;
	uint64_t ls_proto_errors;
	/** Dropped by a fault rule. */
	uint64_t ls_drop_fault;
};

/** A picture of the node at one moment, in one piece of memory. */
struct m0_lnet_info {
	uint32_t                  li_features;
	uint32_t                  li_pid;
	uint32_t                  li_seq;
	uint16_t                  li_port;
	unsigned                  li_nis_nr;
	struct m0_lnet_ni_info   *li_nis;
	unsigned                  li_peers_nr;
	struct m0_lnet_peer_info *li_peers;
	struct m0_lnet_stats      li_stats;
};

/**
 * Takes a picture. Blocks until the node has drawn it: not from callbacks.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_info_get(struct m0_lnet *lnet, struct m0_lnet_info **ret);
M0_EXTERN void m0_lnet_info_free(struct m0_lnet_info *info);
/** Only the counters; any thread, cheap, not one moment of all. */
M0_EXTERN void m0_lnet_stats_get(struct m0_lnet       *lnet,
				 struct m0_lnet_stats *st);
/** Sets the counters of the node, its NIs and its peers to 0. */
M0_EXTERN void m0_lnet_stats_reset(struct m0_lnet *lnet);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_INFO_H */
