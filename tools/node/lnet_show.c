/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "m0/lnet_udsp.h"

#include "ctl_out.h"
#include "lnet_show.h"

/* ------------------------------------------------- what several have in them */

static uint64_t seconds(uint64_t ms)
{
	return (ms + 999) / 1000;
}

static uint64_t msgs_sum(const struct m0_lnet_msg_counts *counts)
{
	return counts->lmc_put + counts->lmc_get + counts->lmc_reply +
	       counts->lmc_ack;
}

static void statistics_add(struct json_t                *item,
			   const struct m0_lnet_traffic *traffic)
{
	struct json_t *object = jout_object(item, "statistics");

	jout_num(object, "send_count", msgs_sum(&traffic->lt_sent));
	jout_num(object, "recv_count", msgs_sum(&traffic->lt_received));
	jout_num(object, "drop_count", msgs_sum(&traffic->lt_dropped));
}

static void counts_add(struct json_t *item, const char *key,
		       const struct m0_lnet_msg_counts *counts)
{
	struct json_t *object = jout_object(item, key);

	jout_num(object, "put", counts->lmc_put);
	jout_num(object, "get", counts->lmc_get);
	jout_num(object, "reply", counts->lmc_reply);
	jout_num(object, "ack", counts->lmc_ack);
	/* Never an LNet message. */
	jout_num(object, "hello", 0);
}

static void traffic_add(struct json_t                *item,
			const struct m0_lnet_traffic *traffic)
{
	counts_add(item, "sent_stats", &traffic->lt_sent);
	counts_add(item, "received_stats", &traffic->lt_received);
	counts_add(item, "dropped_stats", &traffic->lt_dropped);
}

static void nid_add(struct json_t *item, const char *key,
		    const struct m0_lnet_nid *nid)
{
	char text[M0_LNET_NIDSTR_SIZE];

	jout_str(item, key, m0_lnet_nid_print(nid, text, sizeof text));
}

static void priority_add(struct json_t *object, const char *key,
			 uint32_t priority)
{
	if (priority == M0_LNET_PRIORITY_NONE)
		jout_int(object, key, -1);
	else
		jout_num(object, key, priority);
}

/* Verdict of the rules of selection. @return the object. */
static struct json_t *udsp_add(struct json_t *item, uint32_t net_priority,
			       uint32_t nid_priority)
{
	struct json_t *object = jout_object(item, "udsp info");

	priority_add(object, "net priority", net_priority);
	priority_add(object, "nid priority", nid_priority);
	return object;
}

static void preferred_add(struct json_t *object, const char *key,
			  const struct m0_lnet_nid *nids, unsigned begin,
			  unsigned end)
{
	struct json_t *list;

	if (begin == end)
		return;
	list = jout_array(object, key);
	for (; begin < end; ++begin)
		nid_add(jout_append(list), "nid", &nids[begin]);
}

static void peer_udsp_add(struct json_t                     *item,
			  const struct m0_lnet_peer_ni_info *ni)
{
	struct json_t *object =
		udsp_add(item, ni->pni_net_priority, ni->pni_priority);

	preferred_add(object, "preferred sources", ni->pni_preferred, 0,
		      ni->pni_sources_nr);
	preferred_add(object, "preferred gateways", ni->pni_preferred,
		      ni->pni_sources_nr,
		      ni->pni_sources_nr + ni->pni_gateways_nr);
}

/* ----------------------------------------------------------------- net show */

static void ni_health_add(struct json_t *item, const struct m0_lnet_ni_info *ni)
{
	const struct m0_lnet_failures *bad = &ni->nii_failures;
	struct json_t *object = jout_object(item, "health stats");

	jout_num(object, "fatal_error", ni->nii_link_up ? 0 : 1);
	jout_num(object, "health value",
		 m0_lnet_nid_is_lo(&ni->nii_nid) ? 0 : ni->nii_health);
	jout_num(object, "interrupts", bad->lf_local_interrupt);
	jout_num(object, "dropped", bad->lf_local_dropped);
	jout_num(object, "aborted", bad->lf_local_aborted);
	jout_num(object, "no route", bad->lf_local_no_route);
	jout_num(object, "timeouts", bad->lf_local_timeout);
	jout_num(object, "error", bad->lf_local_error);
	jout_num(object, "ping_count", ni->nii_tries_nr);
	jout_num(object, "next_ping", seconds(ni->nii_try_in_ms));
}

static void ni_tunables_add(struct json_t                *item,
			    const struct m0_lnet_ni_info *ni)
{
	bool           lo = m0_lnet_nid_is_lo(&ni->nii_nid);
	struct json_t *object = jout_object(item, "tunables");

	jout_num(object, "peer_timeout", ni->nii_peer_timeout_s);
	jout_num(object, "peer_credits", ni->nii_peer_credits);
	jout_num(object, "peer_buffer_credits", ni->nii_peer_buffer_credits);
	jout_num(object, "credits", ni->nii_credits);
	if (!lo) {
		object = jout_object(item, "lnd tunables");
		jout_num(object, "conns_per_peer", ni->nii_conns_per_peer);
		jout_num(object, "timeout", seconds(ni->nii_timeout_ms));
		jout_int(object, "tos", (int)ni->nii_lnd.ldi_tos_plus_1 - 1);
		if (m0_lnet_nid_net(&ni->nii_nid) >> 16 == M0_LNET_TYPE_O2IB) {
			jout_num(object, "ack_timeout",
				 ni->nii_lnd.ldi_ack_timeout);
			jout_num(object, "get_req", ni->nii_lnd.ldi_get_req);
			jout_num(object, "service", ni->nii_lnd.ldi_service);
		}
	}
	jout_int(item, "dev cpt", lo ? 0 : -1);
	jout_str(item, "CPT", "[0]");
}

static void ni_colibri_add(struct json_t                *item,
			   const struct m0_lnet_ni_info *ni)
{
	const struct m0_lnd_ni_info *lnd = &ni->nii_lnd;
	struct json_t               *object = jout_object(item, "colibri");

	jout_int(object, "credits_free", ni->nii_credits_free);
	jout_int(object, "credits_low", ni->nii_credits_low);
	jout_num(object, "connections", lnd->ldi_connections_nr);
	jout_num(object, "accepted", lnd->ldi_accepted_nr);
	jout_num(object, "dialled", lnd->ldi_dialled_nr);
	jout_num(object, "bad_peers", lnd->ldi_bad_peers_nr);
	jout_num(object, "refused", lnd->ldi_refused_nr);
	jout_num(object, "lost", lnd->ldi_lost_nr);
	jout_num(object, "direct_bytes", lnd->ldi_direct_bytes);
	jout_num(object, "copied_bytes", lnd->ldi_copied_bytes);
	jout_num(object, "read_calls", lnd->ldi_read_calls_nr);
	jout_num(object, "write_calls", lnd->ldi_write_calls_nr);
	jout_num(object, "same_host", lnd->ldi_near_nr);
	jout_num(object, "fell_back", lnd->ldi_fell_back_nr);
	jout_num(object, "ring_bytes", lnd->ldi_ring_bytes);
	jout_num(object, "offer_bytes", lnd->ldi_offer_bytes);
	jout_num(object, "region_bytes", lnd->ldi_region_bytes);
	jout_num(object, "lane_bytes", lnd->ldi_lane_bytes);
}

static void ni_add(struct json_t *list, const struct m0_lnet_ni_info *ni,
		   unsigned verbose)
{
	struct json_t *item = jout_append(list);
	bool           lo = m0_lnet_nid_is_lo(&ni->nii_nid);

	nid_add(item, "nid", &ni->nii_nid);
	jout_str(item, "status", ni->nii_up ? "up" : "down");
	if (!lo && ni->nii_device[0] != '\0')
		jout_str(jout_object(item, "interfaces"), "0", ni->nii_device);
	if (verbose < 1)
		return;
	statistics_add(item, &ni->nii_traffic);
	if (verbose >= 4)
		(void)udsp_add(item, ni->nii_net_priority, ni->nii_priority);
	if (verbose >= 2) {
		traffic_add(item, &ni->nii_traffic);
		ni_health_add(item, ni);
	}
	ni_tunables_add(item, ni);
	if (verbose >= 4 && !lo)
		ni_colibri_add(item, ni);
}

/* One item for each network, in the order of its first interface. */
static void nets_add(struct json_t *list, const struct ctl_request *req,
		     const struct m0_lnet_info *info)
{
	unsigned i;
	unsigned j;

	for (i = 0; i < info->li_nis_nr; ++i) {
		uint32_t       net = m0_lnet_nid_net(&info->li_nis[i].nii_nid);
		char           text[M0_LNET_NIDSTR_SIZE];
		struct json_t *item;
		struct json_t *nis;

		for (j = 0; j < i; ++j) {
			if (m0_lnet_nid_net(&info->li_nis[j].nii_nid) == net)
				break;
		}
		if (j < i ||
		    (req->cq_net != M0_LNET_NET_ANY && req->cq_net != net))
			continue;
		item = jout_append(list);
		jout_str(item, "net type",
			 m0_lnet_net_print(net, text, sizeof text));
		nis = jout_array(item, "local NI(s)");
		for (; j < info->li_nis_nr; ++j) {
			if (m0_lnet_nid_net(&info->li_nis[j].nii_nid) == net)
				ni_add(nis, &info->li_nis[j], req->cq_verbose);
		}
	}
}

/* ---------------------------------------------------------------- peer show */

static void peer_health_add(struct json_t                     *item,
			    const struct m0_lnet_peer_ni_info *ni)
{
	const struct m0_lnet_failures *bad = &ni->pni_failures;
	struct json_t *object = jout_object(item, "health stats");

	jout_num(object, "health value", ni->pni_health);
	jout_num(object, "dropped", bad->lf_remote_dropped);
	jout_num(object, "timeout", bad->lf_remote_timeout);
	jout_num(object, "error", bad->lf_remote_error);
	jout_num(object, "network timeout", bad->lf_network_timeout);
	jout_num(object, "ping_count", ni->pni_tries_nr);
	jout_num(object, "next_ping", seconds(ni->pni_try_in_ms));
}

/* Only routers watch over their peers, and all nodes over their gateways. */
static const char *peer_ni_state(const struct m0_lnet_peer_ni_info *ni,
				 bool                               is_watched)
{
	if (!is_watched)
		return "NA";
	return ni->pni_down ? "down" : "up";
}

static void peer_ni_add(struct json_t                     *list,
			const struct m0_lnet_peer_ni_info *ni, bool is_watched,
			unsigned verbose)
{
	struct json_t *item = jout_append(list);

	nid_add(item, "nid", &ni->pni_nid);
	if (verbose >= 4)
		peer_udsp_add(item, ni);
	jout_str(item, "state", peer_ni_state(ni, is_watched));
	if (verbose < 1)
		return;
	jout_num(item, "max_ni_tx_credits", ni->pni_credits_max);
	jout_int(item, "available_tx_credits", ni->pni_credits_free);
	jout_int(item, "min_tx_credits", ni->pni_credits_low);
	jout_num(item, "tx_q_num_of_buf", ni->pni_queued_bytes);
	jout_int(item, "available_rtr_credits", ni->pni_router_credits_free);
	jout_int(item, "min_rtr_credits", ni->pni_router_credits_low);
	/* One is that of the table. */
	jout_num(item, "refcount", ni->pni_refs_nr + 1);
	statistics_add(item, &ni->pni_traffic);
	if (verbose >= 2) {
		traffic_add(item, &ni->pni_traffic);
		peer_health_add(item, ni);
	}
	if (verbose >= 4)
		jout_str(jout_object(item, "colibri"), "alive",
			 ni->pni_up     ? "up"
			 : ni->pni_down ? "down"
					: "unknown");
}

static bool peer_has(const struct m0_lnet_peer_info *peer,
		     const struct m0_lnet_nid       *nid)
{
	unsigned i;

	for (i = 0; i < peer->pei_nis_nr; ++i) {
		if (m0_lnet_nid_eq(&peer->pei_nis[i].pni_nid, nid))
			return true;
	}
	return m0_lnet_nid_eq(&peer->pei_primary, nid);
}

static void peer_add(struct json_t *list, const struct m0_lnet_info *info,
		     const struct m0_lnet_peer_info *peer, unsigned verbose)
{
	bool is_watched = info->li_is_router ||
			  (peer->pei_state & M0_LNET_PEER_ROUTER_ENABLED) != 0;
	struct json_t *item = jout_append(list);
	struct json_t *nis;
	unsigned       i;

	nid_add(item, "primary nid", &peer->pei_primary);
	jout_bool(item, "Multi-Rail", peer->pei_multi_rail);
	if (verbose >= 3)
		jout_num(item, "peer state", peer->pei_state);
	nis = jout_array(item, "peer ni");
	for (i = 0; i < peer->pei_nis_nr; ++i)
		peer_ni_add(nis, &peer->pei_nis[i], is_watched, verbose);
}

static void peers_add(struct json_t *list, const struct ctl_request *req,
		      const struct m0_lnet_info *info)
{
	unsigned i;

	for (i = 0; i < info->li_peers_nr; ++i) {
		const struct m0_lnet_peer_info *peer = &info->li_peers[i];

		if (req->cq_verb == CTL_PEER_LIST)
			nid_add(jout_append(list), "nid", &peer->pei_primary);
		else if (req->cq_nids_nr == 0 ||
			 peer_has(peer, &req->cq_nids[0]))
			peer_add(list, info, peer, req->cq_verbose);
	}
}

/* ------------------------------------------------------ stats, global show */

static void failures_add(struct json_t                 *object,
			 const struct m0_lnet_failures *bad)
{
	jout_num(object, "local_interrupt_count", bad->lf_local_interrupt);
	jout_num(object, "local_dropped_count", bad->lf_local_dropped);
	jout_num(object, "local_aborted_count", bad->lf_local_aborted);
	jout_num(object, "local_no_route_count", bad->lf_local_no_route);
	jout_num(object, "local_timeout_count", bad->lf_local_timeout);
	jout_num(object, "local_error_count", bad->lf_local_error);
	jout_num(object, "remote_dropped_count", bad->lf_remote_dropped);
	jout_num(object, "remote_error_count", bad->lf_remote_error);
	jout_num(object, "remote_timeout_count", bad->lf_remote_timeout);
	jout_num(object, "network_timeout_count", bad->lf_network_timeout);
}

static void stats_add(struct json_t *tree, const struct m0_lnet_stats *st,
		      unsigned verbose)
{
	struct json_t *object = jout_object(tree, "statistics");

	jout_num(object, "msgs_alloc", st->ls_msgs_alloc);
	jout_num(object, "msgs_max", st->ls_msgs_max);
	jout_num(object, "rst_alloc", st->ls_rst_alloc);
	jout_num(object, "errors", st->ls_errors);
	jout_num(object, "send_count", st->ls_send_count);
	jout_num(object, "resend_count", st->ls_resend_count);
	jout_num(object, "response_timeout_count",
		 st->ls_response_timeout_count);
	failures_add(object, &st->ls_failures);
	jout_num(object, "failed_resends", st->ls_failed_resends);
	jout_num(object, "successful_resends", st->ls_successful_resends);
	jout_num(object, "recv_count", st->ls_recv_count);
	jout_num(object, "route_count", st->ls_route_count);
	jout_num(object, "drop_count", st->ls_drop_count);
	jout_num(object, "send_length", st->ls_send_length);
	jout_num(object, "recv_length", st->ls_recv_length);
	jout_num(object, "route_length", st->ls_route_length);
	jout_num(object, "drop_length", st->ls_drop_length);
	if (verbose < 4)
		return;
	object = jout_object(tree, "colibri");
	jout_num(object, "drop_no_match", st->ls_drop_no_match);
	jout_num(object, "drop_too_big", st->ls_drop_too_big);
	jout_num(object, "drop_not_ours", st->ls_drop_not_ours);
	jout_num(object, "drop_stale", st->ls_drop_stale);
	jout_num(object, "drop_no_room", st->ls_drop_no_room);
	jout_num(object, "proto_errors", st->ls_proto_errors);
	jout_num(object, "drop_fault", st->ls_drop_fault);
}

/* Time for one of the tries of a message, as lnetctl derives it. */
static uint64_t try_seconds(const struct m0_lnet_cfg *cfg)
{
	uint64_t all = seconds(cfg->lc_transaction_timeout_ms);
	uint64_t one = (all - 1) / (cfg->lc_health.lhc_retry_count + 1);

	return one == 0 ? 1 : one;
}

static void global_add(struct json_t *tree, const struct m0_lnet_cfg *cfg)
{
	struct json_t *object = jout_object(tree, "global");

	jout_num(object, "numa_range", 0);
	jout_num(object, "max_interfaces",
		 M0_LNET_CFG_NETS_MAX * M0_LNET_CFG_IFACES_MAX);
	jout_num(object, "discovery", cfg->lc_discovery ? 1 : 0);
	jout_num(object, "drop_asym_route",
		 cfg->lc_routing.lgc_drop_asym ? 1 : 0);
	jout_num(object, "retry_count", cfg->lc_health.lhc_retry_count);
	jout_num(object, "transaction_timeout",
		 seconds(cfg->lc_transaction_timeout_ms));
	jout_num(object, "health_sensitivity", cfg->lc_health.lhc_sensitivity);
	jout_num(object, "recovery_interval", 1);
	jout_num(object, "router_sensitivity", 100);
	jout_num(object, "lnd_timeout", try_seconds(cfg));
	jout_num(object, "response_tracking", 3);
	jout_num(object, "recovery_limit",
		 seconds(cfg->lc_health.lhc_recovery_limit_ms));
	jout_num(object, "max_recovery_ping_interval",
		 seconds(cfg->lc_health.lhc_ping_max_ms));
}

/* ------------------------------------------------------------------- answers */

/* A list; an empty one is nothing, or not what was asked for. */
static int list_print(const struct ctl_request *req, struct json_t *tree,
		      const struct json_t *list, FILE *out, FILE *err)
{
	char text[M0_LNET_NIDSTR_SIZE];

	if (jout_is_empty(list) && req->cq_net != M0_LNET_NET_ANY) {
		fprintf(err, "colibri: the node is on no network %s\n",
			m0_lnet_net_print(req->cq_net, text, sizeof text));
		return TOOL_FAILED;
	}
	if (jout_is_empty(list) && req->cq_nids_nr > 0) {
		fprintf(err, "colibri: the node knows no peer %s\n",
			m0_lnet_nid_print(&req->cq_nids[0], text, sizeof text));
		return TOOL_FAILED;
	}
	if (req->cq_json || !jout_is_empty(list))
		ctl_tree_print(req, tree, CTL_LIST_INDENT, out);
	return TOOL_OK;
}

int lnet_show(const struct ctl_request *req, const struct m0_lnet_cfg *cfg,
	      const struct m0_lnet_info *info, FILE *out, FILE *err)
{
	struct json_t *tree = jout_alloc();
	struct json_t *list = NULL;
	int            code = TOOL_OK;

	switch (req->cq_verb) {
	case CTL_NET_SHOW:
		list = jout_array(tree, "net");
		nets_add(list, req, info);
		break;
	case CTL_PEER_SHOW:
		list = jout_array(tree, "peer");
		peers_add(list, req, info);
		break;
	case CTL_PEER_LIST:
		list = jout_array(tree, "peer list");
		peers_add(list, req, info);
		break;
	case CTL_STATS_SHOW:
		stats_add(tree, &info->li_stats, req->cq_verbose);
		break;
	default:
		M0_PRE(req->cq_verb == CTL_GLOBAL_SHOW);
		global_add(tree, cfg);
		break;
	}
	if (list != NULL)
		code = list_print(req, tree, list, out, err);
	else
		ctl_tree_print(req, tree, CTL_NUMBERS_INDENT, out);
	jout_free(tree);
	return code;
}
