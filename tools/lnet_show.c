/* SPDX-License-Identifier: Apache-2.0 */
#include "jout.h"
#include "lnet_show.h"

enum {
	/** Columns of lnetctl's lists, and of its numbers of the node. */
	LIST_INDENT = 6,
	NUMBERS_INDENT = 4,
	/** What lnetctl shows of a tcp interface that nobody has configured. */
	PEER_TIMEOUT_SECONDS = 180
};

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

static void udsp_add(struct json_t *item)
{
	struct json_t *object = jout_object(item, "udsp info");

	jout_int(object, "net priority", -1);
	jout_int(object, "nid priority", -1);
}

static void nid_add(struct json_t *item, const char *key,
		    const struct m0_lnet_nid *nid)
{
	char text[M0_LNET_NIDSTR_SIZE];

	jout_str(item, key, m0_lnet_nid_print(nid, text, sizeof text));
}

/* ----------------------------------------------------------------- net show */

static void ni_health_add(struct json_t *item, const struct m0_lnet_ni_info *ni)
{
	const struct m0_lnet_failures *bad = &ni->lni_failures;
	struct json_t *object = jout_object(item, "health stats");

	jout_num(object, "fatal_error", ni->lni_up ? 0 : 1);
	jout_num(object, "health value",
		 m0_lnet_nid_is_lo(&ni->lni_nid) ? 0 : ni->lni_health);
	jout_num(object, "interrupts", bad->lf_local_interrupt);
	jout_num(object, "dropped", bad->lf_local_dropped);
	jout_num(object, "aborted", bad->lf_local_aborted);
	jout_num(object, "no route", bad->lf_local_no_route);
	jout_num(object, "timeouts", bad->lf_local_timeout);
	jout_num(object, "error", bad->lf_local_error);
	jout_num(object, "ping_count", 0);
	jout_num(object, "next_ping", 0);
}

static void ni_tunables_add(struct json_t                *item,
			    const struct m0_lnet_ni_info *ni)
{
	bool           lo = m0_lnet_nid_is_lo(&ni->lni_nid);
	struct json_t *object = jout_object(item, "tunables");

	jout_num(object, "peer_timeout", lo ? 0 : PEER_TIMEOUT_SECONDS);
	jout_num(object, "peer_credits", ni->lni_peer_credits);
	jout_num(object, "peer_buffer_credits", 0);
	jout_num(object, "credits", ni->lni_credits);
	if (!lo) {
		object = jout_object(item, "lnd tunables");
		jout_num(object, "conns_per_peer", ni->lni_conns_per_peer);
		jout_num(object, "timeout", seconds(ni->lni_timeout_ms));
		jout_int(object, "tos", -1);
	}
	jout_int(item, "dev cpt", lo ? 0 : -1);
	jout_str(item, "CPT", "[0]");
}

static void ni_colibri_add(struct json_t                *item,
			   const struct m0_lnet_ni_info *ni)
{
	const struct m0_lnd_ni_info *lnd = &ni->lni_lnd;
	struct json_t               *object = jout_object(item, "colibri");

	jout_int(object, "credits_free", ni->lni_credits_free);
	jout_int(object, "credits_low", ni->lni_credits_low);
	jout_num(object, "connections", lnd->lni_connections_nr);
	jout_num(object, "accepted", lnd->lni_accepted_nr);
	jout_num(object, "dialled", lnd->lni_dialled_nr);
	jout_num(object, "bad_peers", lnd->lni_bad_peers_nr);
	jout_num(object, "refused", lnd->lni_refused_nr);
	jout_num(object, "lost", lnd->lni_lost_nr);
	jout_num(object, "direct_bytes", lnd->lni_direct_bytes);
	jout_num(object, "copied_bytes", lnd->lni_copied_bytes);
	jout_num(object, "read_calls", lnd->lni_read_calls_nr);
	jout_num(object, "write_calls", lnd->lni_write_calls_nr);
}

static void ni_add(struct json_t *list, const struct m0_lnet_ni_info *ni,
		   unsigned verbose)
{
	struct json_t *item = jout_append(list);
	bool           lo = m0_lnet_nid_is_lo(&ni->lni_nid);

	nid_add(item, "nid", &ni->lni_nid);
	jout_str(item, "status", ni->lni_up ? "up" : "down");
	if (!lo && ni->lni_device[0] != '\0')
		jout_str(jout_object(item, "interfaces"), "0", ni->lni_device);
	if (verbose < 1)
		return;
	statistics_add(item, &ni->lni_traffic);
	if (verbose >= 4)
		udsp_add(item);
	if (verbose >= 2) {
		traffic_add(item, &ni->lni_traffic);
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
		uint32_t       net = m0_lnet_nid_net(&info->li_nis[i].lni_nid);
		char           text[M0_LNET_NIDSTR_SIZE];
		struct json_t *item;
		struct json_t *nis;

		for (j = 0; j < i; ++j) {
			if (m0_lnet_nid_net(&info->li_nis[j].lni_nid) == net)
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
			if (m0_lnet_nid_net(&info->li_nis[j].lni_nid) == net)
				ni_add(nis, &info->li_nis[j], req->cq_verbose);
		}
	}
}

/* ---------------------------------------------------------------- peer show */

static void peer_health_add(struct json_t                     *item,
			    const struct m0_lnet_peer_ni_info *ni)
{
	const struct m0_lnet_failures *bad = &ni->lpi_failures;
	struct json_t *object = jout_object(item, "health stats");

	jout_num(object, "health value", ni->lpi_health);
	jout_num(object, "dropped", bad->lf_remote_dropped);
	jout_num(object, "timeout", bad->lf_remote_timeout);
	jout_num(object, "error", bad->lf_remote_error);
	jout_num(object, "network timeout", bad->lf_network_timeout);
	jout_num(object, "ping_count", 0);
	jout_num(object, "next_ping", 0);
}

static void peer_ni_add(struct json_t                     *list,
			const struct m0_lnet_peer_ni_info *ni, unsigned verbose)
{
	struct json_t *item = jout_append(list);

	nid_add(item, "nid", &ni->lpi_nid);
	if (verbose >= 4)
		udsp_add(item);
	/* Only routers watch over their peers. */
	jout_str(item, "state", "NA");
	if (verbose < 1)
		return;
	jout_num(item, "max_ni_tx_credits", ni->lpi_credits_max);
	jout_int(item, "available_tx_credits", ni->lpi_credits_free);
	jout_int(item, "min_tx_credits", ni->lpi_credits_low);
	jout_num(item, "tx_q_num_of_buf", ni->lpi_queued_bytes);
	jout_num(item, "available_rtr_credits", ni->lpi_credits_max);
	jout_num(item, "min_rtr_credits", ni->lpi_credits_max);
	/* One is that of the table. */
	jout_num(item, "refcount", ni->lpi_refs_nr + 1);
	statistics_add(item, &ni->lpi_traffic);
	if (verbose >= 2) {
		traffic_add(item, &ni->lpi_traffic);
		peer_health_add(item, ni);
	}
	if (verbose >= 4)
		jout_str(jout_object(item, "colibri"), "alive",
			 ni->lpi_up     ? "up"
			 : ni->lpi_down ? "down"
					: "unknown");
}

static bool peer_has(const struct m0_lnet_peer_info *peer,
		     const struct m0_lnet_nid       *nid)
{
	unsigned i;

	for (i = 0; i < peer->lpe_nis_nr; ++i) {
		if (m0_lnet_nid_eq(&peer->lpe_nis[i].lpi_nid, nid))
			return true;
	}
	return m0_lnet_nid_eq(&peer->lpe_primary, nid);
}

static void peer_add(struct json_t *list, const struct m0_lnet_peer_info *peer,
		     unsigned verbose)
{
	struct json_t *item = jout_append(list);
	struct json_t *nis;
	unsigned       i;

	nid_add(item, "primary nid", &peer->lpe_primary);
	jout_bool(item, "Multi-Rail", peer->lpe_multi_rail);
	if (verbose >= 3)
		jout_num(item, "peer state", peer->lpe_state);
	nis = jout_array(item, "peer ni");
	for (i = 0; i < peer->lpe_nis_nr; ++i)
		peer_ni_add(nis, &peer->lpe_nis[i], verbose);
}

static void peers_add(struct json_t *list, const struct ctl_request *req,
		      const struct m0_lnet_info *info)
{
	unsigned i;

	for (i = 0; i < info->li_peers_nr; ++i) {
		const struct m0_lnet_peer_info *peer = &info->li_peers[i];

		if (req->cq_verb == CTL_PEER_LIST)
			nid_add(jout_append(list), "nid", &peer->lpe_primary);
		else if (req->cq_nids_nr == 0 ||
			 peer_has(peer, &req->cq_nids[0]))
			peer_add(list, peer, req->cq_verbose);
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
	jout_num(object, "failed_resends", 0);
	jout_num(object, "successful_resends", 0);
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
}

/* Without resends and health, whose parameters are those of "off". */
static void global_add(struct json_t *tree, const struct m0_lnet_cfg *cfg)
{
	struct json_t *object = jout_object(tree, "global");

	jout_num(object, "numa_range", 0);
	jout_num(object, "max_interfaces",
		 M0_LNET_CFG_NETS_MAX * M0_LNET_CFG_IFACES_MAX);
	jout_num(object, "discovery", cfg->lc_discovery ? 1 : 0);
	jout_num(object, "drop_asym_route", 0);
	jout_num(object, "retry_count", 0);
	jout_num(object, "transaction_timeout",
		 seconds(cfg->lc_transaction_timeout_ms));
	jout_num(object, "health_sensitivity", 0);
	jout_num(object, "recovery_interval", 1);
	jout_num(object, "router_sensitivity", 100);
	jout_num(object, "lnd_timeout", seconds(cfg->lc_timeout_ms));
	jout_num(object, "response_tracking", 3);
	jout_num(object, "recovery_limit", 0);
	jout_num(object, "max_recovery_ping_interval", 900);
}

/* ------------------------------------------------------------------- answers */

static void tree_print(const struct ctl_request *req, struct json_t *tree,
		       unsigned indent, FILE *out)
{
	if (req->cq_json)
		(void)jout_print(tree, out);
	else
		(void)jout_print_yaml(tree, indent, out);
}

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
		tree_print(req, tree, LIST_INDENT, out);
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
		tree_print(req, tree, NUMBERS_INDENT, out);
	jout_free(tree);
	return code;
}
