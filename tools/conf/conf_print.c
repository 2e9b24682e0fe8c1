/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <stdlib.h>

#include "conf_model.h"

enum {
	/** Columns of lists of interfaces and peers, and of the other sections, as
	 * lnetctl prints them. */
	LIST_INDENT = 6,
	MAP_INDENT = 4,
	/** The usual port of net o2ib. */
	O2IB_SERVICE = 987,
	MS_PER_S = 1000
};

static void nid(struct conf_out *out, const char *key,
		const struct m0_lnet_nid *value)
{
	char text[M0_LNET_NIDSTR_SIZE];

	conf_out_pair(out, key, m0_lnet_nid_print(value, text, sizeof text));
}

/* ------------------------------------------------------------------ networks */

/* Tunables of the driver that lnetctl does not know, unless they are as always. */
static void own_tunables(struct conf_out *out, const uint32_t *tuns)
{
	uint32_t keepalive = tuns[CONF_KEEPALIVE - CONF_TUN_FIRST];
	uint32_t min = tuns[CONF_RECONNECT_MIN - CONF_TUN_FIRST];
	uint32_t max = tuns[CONF_RECONNECT_MAX - CONF_TUN_FIRST];
	uint32_t service = tuns[CONF_SERVICE - CONF_TUN_FIRST];
	uint32_t ack_timeout = tuns[CONF_ACK_TIMEOUT - CONF_TUN_FIRST];
	static struct m0_lnet_cfg def;

	m0_lnet_cfg_default(&def);
	if (keepalive != 0 && keepalive * MS_PER_S != def.lc_keepalive_ms)
		conf_out_number(out, "keepalive",
				keepalive == CONF_NEVER ? -1
							: (int64_t)keepalive);
	if (min != 0 && min != def.lc_reconnect_min_ms)
		conf_out_number(out, "min_reconnectms", min);
	if (max != 0 && max != def.lc_reconnect_max_ms)
		conf_out_number(out, "max_reconnectms", max);
	if (service != 0 && service != O2IB_SERVICE)
		conf_out_number(out, "service", service);
	if (ack_timeout != 0)
		conf_out_number(out, "ack_timeout", ack_timeout);
	if (tuns[CONF_GET_REQ - CONF_TUN_FIRST] == 1)
		conf_out_number(out, "get_req", 1);
}

/* The type of service, -1 for that of the system. */
static int64_t tos_of(const uint32_t *tuns)
{
	uint32_t tos = tuns[CONF_TOS - CONF_TUN_FIRST];

	return tos == 0 ? -1 : tos == CONF_NEVER ? 0 : (int64_t)tos;
}

static void lnd_tunables(struct conf_out *out, const uint32_t *tuns)
{
	uint32_t conns = tuns[CONF_CONNS_PER_PEER - CONF_TUN_FIRST];
	uint32_t timeout = tuns[CONF_TIMEOUT - CONF_TUN_FIRST];
	bool     any = false;
	int      i;

	for (i = CONF_CONNS_PER_PEER - CONF_TUN_FIRST; i < CONF_TUNS_NR; ++i)
		any = any || tuns[i] != 0;
	if (!any)
		return;
	conf_out_map(out, "lnd tunables");
	if (conns != 0)
		conf_out_number(out, "conns_per_peer", conns);
	if (timeout != 0)
		conf_out_number(out, "timeout", timeout);
	own_tunables(out, tuns);
	conf_out_number(out, "tos", tos_of(tuns));
	conf_out_map_end(out);
}

static void ni_print(struct conf_out *out, const struct conf_ni *ni,
		     bool with_nid)
{
	static const char *const names[] = { "peer_timeout", "peer_credits",
					     "peer_buffer_credits", "credits" };
	bool                     tuned = false;
	char                     net[M0_LNET_NIDSTR_SIZE];
	char                     text[2 * M0_LNET_NIDSTR_SIZE];
	size_t                   i;

	conf_out_map(out, NULL);
	if (ni->cni_addr[0] != '\0' && (with_nid || ni->cni_iface[0] == '\0')) {
		snprintf(text, sizeof text, "%s@%s", ni->cni_addr,
			 m0_lnet_net_print(ni->cni_net, net, sizeof net));
		conf_out_pair(out, "nid", text);
	}
	if (ni->cni_iface[0] != '\0') {
		conf_out_map(out, "interfaces");
		conf_out_pair(out, "0", ni->cni_iface);
		conf_out_map_end(out);
	}
	for (i = 0; i < ARRAY_SIZE(names); ++i)
		tuned = tuned || ni->cni_tuns[i] != 0;
	if (tuned) {
		conf_out_map(out, "tunables");
		for (i = 0; i < ARRAY_SIZE(names); ++i)
			conf_out_number(out, names[i], ni->cni_tuns[i]);
		conf_out_map_end(out);
	}
	lnd_tunables(out, ni->cni_tuns);
	conf_out_word(out, "CPT");
	conf_out_text(out, "[0]", true);
	conf_out_map_end(out);
}

static bool is_first_of_net(const struct conf_model *model, unsigned i)
{
	unsigned j;

	for (j = 0; j < i; ++j) {
		if (model->cmo_nis[j].cni_net == model->cmo_nis[i].cni_net)
			return false;
	}
	return true;
}

static void nets_print(struct conf_out *out, const struct conf_model *model,
		       bool with_nids)
{
	char     text[M0_LNET_NIDSTR_SIZE];
	unsigned i;
	unsigned j;

	if (model->cmo_nis_nr == 0)
		return;
	conf_out_list(out, "net");
	for (i = 0; i < model->cmo_nis_nr; ++i) {
		uint32_t net = model->cmo_nis[i].cni_net;

		if (!is_first_of_net(model, i))
			continue;
		conf_out_map(out, NULL);
		conf_out_pair(out, "net type",
			      m0_lnet_net_print(net, text, sizeof text));
		conf_out_list(out, "local NI(s)");
		for (j = i; j < model->cmo_nis_nr; ++j) {
			if (model->cmo_nis[j].cni_net == net)
				ni_print(out, &model->cmo_nis[j], with_nids);
		}
		conf_out_list_end(out);
		conf_out_map_end(out);
	}
	conf_out_list_end(out);
}

/* ------------------------------------------------------------ the other lists */

static void routes_print(struct conf_out *out, const struct conf_model *model)
{
	char     text[M0_LNET_NIDSTR_SIZE];
	unsigned i;

	if (model->cmo_routes_nr == 0)
		return;
	conf_out_list(out, "route");
	for (i = 0; i < model->cmo_routes_nr; ++i) {
		const struct m0_lnet_route_attr *attr =
			&model->cmo_routes[i].crt_attr;

		conf_out_map(out, NULL);
		conf_out_pair(out, "net",
			      m0_lnet_net_print(attr->lra_net, text,
						sizeof text));
		nid(out, "gateway", &attr->lra_gateway);
		conf_out_number(out, "hop",
				attr->lra_hops == 0 ? -1
						    : (int64_t)attr->lra_hops);
		conf_out_number(out, "priority", attr->lra_priority);
		conf_out_map_end(out);
	}
	conf_out_list_end(out);
}

static void peers_print(struct conf_out *out, const struct conf_model *model)
{
	bool     open = false;
	unsigned i;
	unsigned j;

	for (i = 0; i < model->cmo_peers_nr; ++i) {
		const struct conf_peer *peer = &model->cmo_peers[i];

		if (!peer->cpe_configured)
			continue;
		if (!open)
			conf_out_list(out, "peer");
		open = true;
		conf_out_map(out, NULL);
		nid(out, "primary nid", &peer->cpe_primary);
		conf_out_pair(out, "Multi-Rail",
			      peer->cpe_multi_rail ? "true" : "false");
		conf_out_list(out, "peer ni");
		conf_out_map(out, NULL);
		nid(out, "nid", &peer->cpe_primary);
		conf_out_map_end(out);
		for (j = 0; j < peer->cpe_nids_nr; ++j) {
			conf_out_map(out, NULL);
			nid(out, "nid", &peer->cpe_nids[j]);
			conf_out_map_end(out);
		}
		conf_out_list_end(out);
		conf_out_map_end(out);
	}
	if (open)
		conf_out_list_end(out);
}

static void range(struct conf_out *out, const char *key,
		  const struct m0_lnet_nid_range *value)
{
	char text[M0_LNET_NID_RANGE_BYTES];

	if (value->lnr_form == M0_LNET_NID_RANGE_NONE)
		return;
	conf_out_word(out, key);
	conf_out_text(out, m0_lnet_nid_range_print(value, text, sizeof text),
		      false);
}

static void udsps_print(struct conf_out *out, const struct conf_model *model)
{
	unsigned i;

	conf_out_list(out, "udsp");
	for (i = 0; i < model->cmo_udsps_nr; ++i) {
		const struct m0_lnet_udsp *rule = &model->cmo_udsps[i].cud_rule;

		conf_out_map(out, NULL);
		if (rule->lud_idx != M0_LNET_UDSP_LAST)
			conf_out_number(out, "idx", rule->lud_idx);
		range(out, "src", &rule->lud_src);
		range(out, "dst", &rule->lud_dst);
		range(out, "rte", &rule->lud_rte);
		if (rule->lud_action == M0_LNET_UDSP_PRIORITY) {
			conf_out_map(out, "action");
			conf_out_number(out, "priority", rule->lud_priority);
			conf_out_map_end(out);
		}
		conf_out_map_end(out);
	}
	conf_out_list_end(out);
}

/* ---------------------------------------------------------------- parameters */

static void sets_print(struct conf_out *out, const struct conf_model *model,
		       const char *section, unsigned begin, unsigned end)
{
	static const char *const names[CONF_SETS_NR] = {
		"discovery",
		"drop_asym_route",
		"retry_count",
		"transaction_timeout",
		"health_sensitivity",
		"recovery_limit",
		"max_recovery_ping_interval",
		"cut_through",
		"splice",
		"enable",
		"tiny",
		"small",
		"large",
	};
	bool     open = false;
	unsigned id;

	for (id = begin; id < end; ++id) {
		const struct conf_set *set = &model->cmo_sets[id - CONF_SETS];

		/* lnetctl does not know these, which are mostly off. */
		if (!set->cst_given ||
		    (M0_IN(id, (CONF_CUT_THROUGH, CONF_SPLICE)) &&
		     set->cst_value == 0))
			continue;
		if (!open)
			conf_out_map(out, section);
		open = true;
		conf_out_number(out, names[id - CONF_SETS],
				(int64_t)set->cst_value);
	}
	if (open)
		conf_out_map_end(out);
}

static bool has_sets(const struct conf_model *model)
{
	unsigned i;

	for (i = 0; i < CONF_SETS_NR; ++i) {
		if (model->cmo_sets[i].cst_given)
			return true;
	}
	return false;
}

static bool has_lists(const struct conf_model *model)
{
	unsigned i;

	for (i = 0; i < model->cmo_peers_nr; ++i) {
		if (model->cmo_peers[i].cpe_configured)
			return true;
	}
	return model->cmo_nis_nr + model->cmo_routes_nr > 0;
}

static int lists_print(const struct conf_model *model, bool with_nids,
		       FILE *file)
{
	struct conf_out *out = conf_out_begin(file, LIST_INDENT);

	if (out == NULL)
		return -ENOMEM;
	nets_print(out, model, with_nids);
	routes_print(out, model);
	peers_print(out, model);
	return conf_out_end(out);
}

static int maps_print(const struct conf_model *model, FILE *file)
{
	struct conf_out *out = conf_out_begin(file, MAP_INDENT);

	if (out == NULL)
		return -ENOMEM;
	sets_print(out, model, "routing", CONF_CUT_THROUGH, CONF_TINY);
	sets_print(out, model, "buffers", CONF_TINY, CONF_SETS_END);
	sets_print(out, model, "global", CONF_SETS, CONF_CUT_THROUGH);
	return conf_out_end(out);
}

/* Indents a list as lnetctl indents that of the rules, and no other. */
static void list_indent(char *text, FILE *file)
{
	char *line;

	while ((line = strsep(&text, "\n")) != NULL) {
		if (strncmp(line, "-   ", 4) == 0)
			fprintf(file, "    - %s\n", line + 4);
		else if (line[0] != '\0')
			fprintf(file, "%s%s\n", line[0] == ' ' ? "  " : "",
				line);
	}
}

static int rules_print(const struct conf_model *model, FILE *file)
{
	char            *text = NULL;
	size_t           nr;
	FILE            *memory = open_memstream(&text, &nr);
	struct conf_out *out = NULL;
	int              rc = -ENOMEM;

	if (memory != NULL)
		out = conf_out_begin(memory, MAP_INDENT);
	if (out != NULL) {
		udsps_print(out, model);
		rc = conf_out_end(out);
	}
	if (memory != NULL && fclose(memory) != 0)
		rc = -ENOMEM;
	if (rc == 0)
		list_indent(text, file);
	free(text);
	return rc;
}

int conf_print(const struct conf_model *model, bool with_nids, FILE *file)
{
	int rc = has_lists(model) ? lists_print(model, with_nids, file) : 0;

	if (rc == 0 && has_sets(model))
		rc = maps_print(model, file);
	if (rc == 0 && model->cmo_udsps_nr > 0)
		rc = rules_print(model, file);
	return rc == 0 && ferror(file) ? -EIO : rc;
}
