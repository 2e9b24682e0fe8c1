/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Information of a node of m0/lnet.h about itself and its peers: ping and
 * discovery, interfaces, peers, counters.
 */
#ifndef M0_LNET_INFO_H
#define M0_LNET_INFO_H

#include "m0/lnet.h"
#include "m0/lnd.h"

#ifdef __cplusplus
extern "C" {
#endif

enum m0_lnet_probe_kind {
	/** Request the NIDs of a node. */
	M0_LNET_PING,
	/** Request the NIDs of a node, send it those of this node, and record
	 * the peer. */
	M0_LNET_DISCOVER
};

enum {
	/** Most NIDs kept of an answer. */
	M0_LNET_PROBE_NIDS_MAX = 64
};

/**
 * A ping or discovery. The caller provides the memory, which the node uses from
 * the call until pr_done. The caller sets the fields up to pr_user.
 */
struct m0_lnet_probe {
	enum m0_lnet_probe_kind pr_kind;
	struct m0_lnet_nid      pr_nid;
	/** Source NID, or ANY. */
	struct m0_lnet_nid pr_self;
	/** Time-out; 0: lc_transaction_timeout_ms. */
	uint64_t pr_timeout_ms;
	/** DISCOVER: send requests even if the record of the peer is up to
	 * date. */
	bool pr_force;
	/** The node calls this once, as it calls callbacks of event queues. */
	void (*pr_done)(struct m0_lnet_probe *probe);
	void *pr_user;

	/**
	 * Outcome: 0; -ETIMEDOUT; -EPROTO: the answer is malformed;
	 * -EOPNOTSUPP: DISCOVER, and the peer answers, but does not take part
	 * in discovery; -EHOSTUNREACH, -ECONNREFUSED and other errors of the
	 * network; -ESHUTDOWN.
	 */
	int pr_status;
	/** NID of this node that sent the request; ANY if nothing was sent, or
	 * the probe was for this node itself. */
	struct m0_lnet_nid pr_source;
	struct m0_lnet_nid pr_primary;
	uint32_t           pr_pid;
	uint32_t           pr_features;
	/** The node's record of the peer says that it is Multi-Rail; never
	 * before discovery. */
	bool pr_multi_rail;
	/**
	 * NIDs that the peer reported, the primary one first, without `0@lo`.
	 */
	unsigned           pr_nids_nr;
	struct m0_lnet_nid pr_nids[M0_LNET_PROBE_NIDS_MAX];
	bool               pr_nids_up[M0_LNET_PROBE_NIDS_MAX];
	/** Duration of the probe. */
	m0_time_t pr_took_ns;

	/** For the library. */
	struct m0_list_link pr_link;
	m0_time_t           pr_since;
	void               *pr_priv;
};

/**
 * Starts a probe. It completes once, by pr_done, at the latest after
 * pr_timeout_ms.
 * @retval -EINVAL  the NID is invalid.
 * @retval -ENOSPC  65,536 probes are on their way.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_probe(struct m0_lnet *lnet, struct m0_lnet_probe *probe);
/**
 * m0_lnet_probe(), and waits for the outcome; pr_done is not used. Blocks: not
 * from callbacks.
 * @return pr_status.
 */
M0_EXTERN int m0_lnet_probe_sync(struct m0_lnet       *lnet,
				 struct m0_lnet_probe *probe);

/** Numbers of messages by type: put, get, reply, ack. (The number of hello
 * messages is always 0.) */
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

/** Numbers of failures by class, as enum m0_lnd_health. */
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

enum {
	/** Bounds of struct m0_lnet_latency. Bound i is
	 * 1 << (M0_LNET_LATENCY_SHIFT + 2 * i) nanoseconds: 4.1 us to 4.3 s. */
	M0_LNET_LATENCY_BOUNDS_NR = 11,
	M0_LNET_LATENCY_SHIFT = 12
};

/** A histogram of durations. */
struct m0_lnet_latency {
	/** Numbers by the first bound that they do not exceed; the last has none. */
	uint64_t lly_nr[M0_LNET_LATENCY_BOUNDS_NR + 1];
	uint64_t lly_sum_ns;
};

enum {
	/** Full health. */
	M0_LNET_HEALTH_MAX = 1000
};

struct m0_lnet_ni_info {
	struct m0_lnet_nid nii_nid;
	char               nii_device[16];
	bool               nii_up;
	/** The link of the device is up, and the device has the address. nii_up is false also for an interface that is
	 * reported down because of its health, or that nobody has pinged. */
	bool nii_link_up;
	/** Credits; 0 for lo. */
	unsigned nii_peer_credits;
	unsigned nii_credits;
	int      nii_credits_free;
	int      nii_credits_low;
	/** Tunables of the network, as lnc_peer_timeout_s, or 180, and
	 * lnc_peer_buffer_credits; 0 for lo. */
	unsigned nii_peer_timeout_s;
	unsigned nii_peer_buffer_credits;
	/** As ldi_conns_per_peer, ldi_timeout_ms. */
	unsigned nii_conns_per_peer;
	uint64_t nii_timeout_ms;
	/** Health, 0 to M0_LNET_HEALTH_MAX, always the maximum of lo. Below it:
	 * tries of the recovery since a success, and time to the next one. */
	unsigned nii_health;
	unsigned nii_tries_nr;
	uint64_t nii_try_in_ms;
	/** Priorities that rules of selection (m0/lnet_udsp.h) give to the network
	 * and to the interface; M0_LNET_PRIORITY_NONE: no rule does. */
	uint32_t                nii_net_priority;
	uint32_t                nii_priority;
	struct m0_lnet_traffic  nii_traffic;
	struct m0_lnet_failures nii_failures;
	/** From a GET of this node to its REPLY, and from a PUT to its ACK, if it asked
	 * for one; of responses that came by this interface. */
	struct m0_lnet_latency nii_responses;
	struct m0_lnd_ni_info  nii_lnd;
};

struct m0_lnet_peer_ni_info {
	struct m0_lnet_nid pni_nid;
	/** State of the peer NI: up or down; unknown if both are false. */
	bool     pni_up;
	bool     pni_down;
	unsigned pni_credits_max;
	int      pni_credits_free;
	int      pni_credits_low;
	uint64_t pni_queued_bytes;
	unsigned pni_refs_nr;
	/** How often the peer NI was lost while it was up.
	 * m0_lnet_stats_reset() does not reset it. */
	uint64_t pni_lost_nr;
	/** As nii_health, nii_tries_nr and nii_try_in_ms. The health of a peer
	 * with one NID that is no gateway stays at the maximum. */
	unsigned                pni_health;
	unsigned                pni_tries_nr;
	uint64_t                pni_try_in_ms;
	struct m0_lnet_traffic  pni_traffic;
	struct m0_lnet_failures pni_failures;
	/** Router buffers that messages from the peer NI may still take, and the
	 * least of that so far. 0: no interface is on its network. */
	int pni_router_credits_free;
	int pni_router_credits_low;
	/** As nii_net_priority and nii_priority. */
	uint32_t pni_net_priority;
	uint32_t pni_priority;
	/** NIDs that rules of selection prefer for messages to the peer NI: those
	 * of interfaces of this node, and behind them those of gateways. */
	unsigned            pni_sources_nr;
	unsigned            pni_gateways_nr;
	struct m0_lnet_nid *pni_preferred;
};

/** Bits of pei_state, with the values that lnetctl shows. */
enum m0_lnet_peer_state {
	M0_LNET_PEER_MULTI_RAIL = 1 << 0,
	M0_LNET_PEER_NO_DISCOVERY = 1 << 1,
	/** The peer is a router, and its routing is on. */
	M0_LNET_PEER_ROUTER_ENABLED = 1 << 2,
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

/** Counters as in `lnetctl stats show`, followed by those of this library. */
struct m0_lnet_stats {
	uint64_t ls_msgs_alloc;
	uint64_t ls_msgs_max;
	uint64_t ls_rst_alloc;
	uint64_t ls_errors;
	uint64_t ls_send_count;
	/** Times that a message was sent again. */
	uint64_t                ls_resend_count;
	uint64_t                ls_response_timeout_count;
	struct m0_lnet_failures ls_failures;
	/** Messages that were sent again, and in the end failed, or left. */
	uint64_t ls_failed_resends;
	uint64_t ls_successful_resends;
	uint64_t ls_recv_count;
	uint64_t ls_route_count;
	uint64_t ls_drop_count;
	uint64_t ls_send_length;
	uint64_t ls_recv_length;
	uint64_t ls_route_length;
	uint64_t ls_drop_length;
	/** Reasons for which messages were dropped or connections closed. */
	uint64_t ls_drop_no_match;
	uint64_t ls_drop_too_big;
	uint64_t ls_drop_not_ours;
	uint64_t ls_drop_stale;
	uint64_t ls_drop_no_room;
	uint64_t ls_proto_errors;
	/** Messages that a fault rule dropped. */
	uint64_t ls_drop_fault;
};

/** A snapshot of the node, in one block of memory. */
struct m0_lnet_info {
	uint32_t li_features;
	uint32_t li_pid;
	uint32_t li_seq;
	uint16_t li_port;
	/** The node is a router: its routing is on. */
	bool                      li_is_router;
	unsigned                  li_nis_nr;
	struct m0_lnet_ni_info   *li_nis;
	unsigned                  li_peers_nr;
	struct m0_lnet_peer_info *li_peers;
	struct m0_lnet_stats      li_stats;
	/** Longest time for which a part of peer NIs or routes, or m0_lnet_info_head_get(),
	 * has held the node's thread since the m0_lnet_info_head_get() before. */
	uint64_t li_slice_ns;
};

/**
 * Takes a snapshot. Blocks until the node has made it: not from callbacks.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_info_get(struct m0_lnet *lnet, struct m0_lnet_info **ret);
M0_EXTERN void m0_lnet_info_free(struct m0_lnet_info *info);
/**
 * Takes a snapshot without peers: li_peers_nr is 0. Short for the node, however many
 * peers it knows. Blocks as m0_lnet_info_get().
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_info_head_get(struct m0_lnet       *lnet,
				    struct m0_lnet_info **ret);

/** A peer NI and the peer that it belongs to. */
struct m0_lnet_peer_ni_row {
	struct m0_lnet_nid pnr_primary;
	/** As pei_state. */
	uint32_t pnr_state;
	/** pni_preferred is NULL, and the numbers of what is preferred are 0. */
	struct m0_lnet_peer_ni_info pnr_ni;
};
/**
 * Copies peer NIs in the order in which the node came to know them. A reader of a large
 * node takes some at a time, so that messages do not wait for it: it passes the NID of
 * the last one that it has.
 * @param after  ANY: from the first.
 * @param ret    array of `max` entries. With a `max` of 0 the call only counts.
 * @return number of entries; with a `max` of 0, number of all peer NIs.
 * @retval -ENOENT  the node has forgotten `after`.
 * @retval -ENOMEM, -ESHUTDOWN
 */
M0_EXTERN int m0_lnet_peer_nis_get(struct m0_lnet             *lnet,
				   const struct m0_lnet_nid   *after,
				   struct m0_lnet_peer_ni_row *ret,
				   unsigned                    max);
/** Copies only the counters. Any thread, and cheap; they are not all from the
 * same moment. With lc_attach they are those of the daemon's node: the function waits for
 * the daemon's answer, except in a callback or with a lock held, where it returns those of the last
 * answer. */
M0_EXTERN void m0_lnet_stats_get(struct m0_lnet       *lnet,
				 struct m0_lnet_stats *st);
/** Sets the counters of the node, its NIs and its peers to 0. */
M0_EXTERN void m0_lnet_stats_reset(struct m0_lnet *lnet);

#ifdef __cplusplus
}
#endif

#endif /* M0_LNET_INFO_H */
