/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Lines `options lnet NAME=VALUE ...` of modprobe.d as a model. */
#include <stdio.h>
#include <stdlib.h>

#include "m0/lnet.h"

#include "conf_model.h"
#include "../base/text.h"

enum {
	WORD_MAX = 4096
};

/** Drivers, whose modules have tunables of their own. */
enum driver {
	DRIVER_SOCK,
	DRIVER_O2IB,
	DRIVERS_NR
};

struct lines {
	struct conf_model        *lns_model;
	const struct conf_locals *lns_locals;
	struct conf_fail         *lns_fail;
	const char               *lns_at;
	const char               *lns_end;
	struct conf_place         lns_place;
	/** A word, and where it is; the place of its value. */
	char              lns_word[WORD_MAX];
	struct conf_place lns_word_place;
	/** Tunables of the networks of each driver. */
	uint32_t lns_tuns[DRIVERS_NR][CONF_TUNS_NR];
	/** The text of `networks` or `ip2nets` has been read. */
	const char *lns_nets_by;
};

/* Parameters: of lnet first, then of its drivers. */
static const struct param {
	const char *prm_module;
	const char *prm_name;
	unsigned    prm_id;
	int64_t     prm_min;
	int64_t     prm_max;
} params[] = {
	{ "lnet", "lnet_transaction_timeout", CONF_TRANSACTION_TIMEOUT, 1,
	  86400 },
	{ "lnet", "lnet_retry_count", CONF_RETRY_COUNT, 0, 255 },
	{ "lnet", "lnet_health_sensitivity", CONF_SENSITIVITY, 0, 1000 },
	{ "lnet", "lnet_recovery_limit", CONF_RECOVERY_LIMIT, 0, 86400 },
	{ "lnet", "lnet_max_recovery_ping_interval", CONF_PING_MAX, 1, 86400 },
	{ "lnet", "lnet_drop_asym_route", CONF_DROP_ASYM, 0, 1 },
	{ "lnet", "tiny_router_buffers", CONF_TINY, 0, 1 << 20 },
	{ "lnet", "small_router_buffers", CONF_SMALL, 0, 1 << 20 },
	{ "lnet", "large_router_buffers", CONF_LARGE, 0, 1 << 20 },
	{ "lnet", "peer_buffer_credits", CONF_PEER_BUFFER_CREDITS, 0,
	  UINT16_MAX },
	{ "ksocklnd", "peer_timeout", CONF_PEER_TIMEOUT, 0, INT32_MAX },
	{ "ksocklnd", "peer_credits", CONF_PEER_CREDITS, 0, UINT16_MAX },
	{ "ksocklnd", "peer_buffer_credits", CONF_PEER_BUFFER_CREDITS, 0,
	  UINT16_MAX },
	{ "ksocklnd", "credits", CONF_CREDITS, 0, UINT16_MAX },
	{ "ksocklnd", "conns_per_peer", CONF_CONNS_PER_PEER, 0, 127 },
	{ "ksocklnd", "sock_timeout", CONF_TIMEOUT, 0, 86400 },
	{ "ksocklnd", "min_reconnectms", CONF_RECONNECT_MIN, 0, 86400000 },
	{ "ksocklnd", "max_reconnectms", CONF_RECONNECT_MAX, 0, 86400000 },
	{ "ko2iblnd", "peer_timeout", CONF_PEER_TIMEOUT, 0, INT32_MAX },
	{ "ko2iblnd", "peer_credits", CONF_PEER_CREDITS, 0, UINT16_MAX },
	{ "ko2iblnd", "peer_buffer_credits", CONF_PEER_BUFFER_CREDITS, 0,
	  UINT16_MAX },
	{ "ko2iblnd", "credits", CONF_CREDITS, 0, UINT16_MAX },
	{ "ko2iblnd", "conns_per_peer", CONF_CONNS_PER_PEER, 0, 127 },
	{ "ko2iblnd", "timeout", CONF_TIMEOUT, 0, 86400 },
	{ "ko2iblnd", "keepalive", CONF_KEEPALIVE, 0, 86400 },
	{ "ko2iblnd", "service", CONF_SERVICE, 0, UINT16_MAX },
	{ "ko2iblnd", "tos", CONF_TOS, -1, 255 },
};

/* Known to LNet, without effect here. */
static const char *const others[][2] = {
	{ "lnet", "accept_port_bulk" },
	{ "lnet", "accept_backlog" },
	{ "lnet", "accept_timeout" },
	{ "lnet", "auto_down" },
	{ "lnet", "dead_router_check_interval" },
	{ "lnet", "live_router_check_interval" },
	{ "lnet", "lnet_numa_range" },
	{ "lnet", "lnet_interfaces_max" },
	{ "lnet", "lnet_recovery_interval" },
	{ "lnet", "lnet_response_tracking" },
	{ "lnet", "router_sensitivity_percentage" },
	{ "lnet", "lock_prim_nid" },
	{ "lnet", "rnet_htable_size" },
	{ "lnet", "portal_rotor" },
	{ "lnet", "local_nid_dist_zero" },
	{ "lnet", "use_tcp_bonding" },
	{ "ksocklnd", "nscheds" },
	{ "ksocklnd", "nconnds" },
	{ "ksocklnd", "nconnds_max" },
	{ "ksocklnd", "eager_ack" },
	{ "ksocklnd", "typed_conns" },
	{ "ksocklnd", "min_bulk" },
	{ "ksocklnd", "tx_buffer_size" },
	{ "ksocklnd", "rx_buffer_size" },
	{ "ksocklnd", "nagle" },
	{ "ksocklnd", "round_robin" },
	{ "ksocklnd", "keepalive" },
	{ "ksocklnd", "keepalive_idle" },
	{ "ksocklnd", "keepalive_count" },
	{ "ksocklnd", "keepalive_intvl" },
	{ "ksocklnd", "enable_csum" },
	{ "ksocklnd", "inject_csum_error" },
	{ "ksocklnd", "nonblk_zcack" },
	{ "ksocklnd", "zc_min_payload" },
	{ "ksocklnd", "zc_recv" },
	{ "ksocklnd", "zc_recv_min_nfrags" },
	{ "ksocklnd", "skip_mr_route_setup" },
	{ "ksocklnd", "tos" },
	{ "ko2iblnd", "cksum" },
	{ "ko2iblnd", "nscheds" },
	{ "ko2iblnd", "ntx" },
	{ "ko2iblnd", "ipif_name" },
	{ "ko2iblnd", "ib_mtu" },
	{ "ko2iblnd", "retry_count" },
	{ "ko2iblnd", "rnr_retry_count" },
	{ "ko2iblnd", "peer_credits_hiw" },
	{ "ko2iblnd", "concurrent_sends" },
	{ "ko2iblnd", "map_on_demand" },
	{ "ko2iblnd", "use_fastreg_gaps" },
	{ "ko2iblnd", "fmr_pool_size" },
	{ "ko2iblnd", "fmr_flush_trigger" },
	{ "ko2iblnd", "fmr_cache" },
	{ "ko2iblnd", "dev_failover" },
	{ "ko2iblnd", "require_privileged_port" },
	{ "ko2iblnd", "use_privileged_port" },
	{ "ko2iblnd", "wrq_sge" },
};

/* --------------------------------------------------------------------- words */

static const char *const commands[] = { "options", "alias",     "install",
					"remove",  "blacklist", "softdep" };

bool conf_is_modprobe(const char *text, size_t nr)
{
	const char *end = text + nr;
	size_t      i;

	while (text < end && strchr(" \t\n#", *text) != NULL) {
		if (*text == '#')
			while (text < end && *text != '\n')
				++text;
		else
			++text;
	}
	for (i = 0; i < ARRAY_SIZE(commands); ++i) {
		size_t length = strlen(commands[i]);

		if ((size_t)(end - text) > length &&
		    strncmp(text, commands[i], length) == 0 &&
		    M0_IN(text[length], (' ', '\t')))
			return true;
	}
	return false;
}

static void step(struct lines *lns)
{
	if (*lns->lns_at == '\n') {
		++lns->lns_place.cfp_line;
		lns->lns_place.cfp_column = 0;
	}
	++lns->lns_place.cfp_column;
	++lns->lns_at;
}

static bool is_at(const struct lines *lns, char c)
{
	return lns->lns_at < lns->lns_end && *lns->lns_at == c;
}

/* A backslash at the end of a line joins it with the next. */
static bool is_joined(const struct lines *lns)
{
	return is_at(lns, '\\') && lns->lns_at + 1 < lns->lns_end &&
	       lns->lns_at[1] == '\n';
}

static void blanks_skip(struct lines *lns)
{
	while (is_at(lns, ' ') || is_at(lns, '\t') || is_at(lns, '\r') ||
	       is_joined(lns)) {
		if (is_joined(lns))
			step(lns);
		step(lns);
	}
}

/* Refuses bytes that no parameter has, and that YAML could not print. */
static int byte_check(struct lines *lns, char c)
{
	unsigned char byte = (unsigned char)c;

	if (byte < 0x7f && (byte >= ' ' || M0_IN(c, ('\t', '\r', '\n'))))
		return 0;
	return conf_fail_set(lns->lns_fail, &lns->lns_place,
			     "the byte 0x%02x is not accepted; accepted: "
			     "characters of ASCII",
			     byte);
}

/* @return 1: there is a word; 0: the line ends; or an error. */
static int word_read(struct lines *lns)
{
	size_t used = 0;
	char   quote = '\0';

	blanks_skip(lns);
	lns->lns_word_place = lns->lns_place;
	/* A NUL is no blank, but a byte that is refused. */
	while (lns->lns_at < lns->lns_end &&
	       (quote != '\0' ||
		!M0_IN(*lns->lns_at, (' ', '\t', '\r', '\n')))) {
		char c = *lns->lns_at;

		if (is_joined(lns)) {
			step(lns);
		} else if (quote != '\0' && c == quote) {
			quote = '\0';
		} else if (quote == '\0' && M0_IN(c, ('"', '\''))) {
			quote = c;
		} else if (byte_check(lns, c) != 0) {
			return -EINVAL;
		} else if (used + 1 == sizeof lns->lns_word) {
			return conf_fail_set(lns->lns_fail, &lns->lns_place,
					     "the word is too long");
		} else {
			lns->lns_word[used++] = c;
		}
		step(lns);
	}
	lns->lns_word[used] = '\0';
	if (quote != '\0')
		return conf_fail_set(lns->lns_fail, &lns->lns_word_place,
				     "the quotation mark is not closed");
	return used > 0 ? 1 : 0;
}

static void line_skip(struct lines *lns)
{
	while (lns->lns_at < lns->lns_end && *lns->lns_at != '\n') {
		if (is_joined(lns))
			step(lns);
		step(lns);
	}
}

/* -------------------------------------------------------------------- values */

static int refuse(struct lines *lns, const char *value, const char *accepted)
{
	return conf_fail_set(lns->lns_fail, &lns->lns_word_place,
			     "%s: '%.200s' is not accepted; accepted: %.500s",
			     lns->lns_word, value, accepted);
}

/* The reason is a sentence of the library. */
static int refuse_why(struct lines *lns, const char *value, const char *why)
{
	return conf_fail_set(lns->lns_fail, &lns->lns_word_place,
			     "%s: '%.200s' is not accepted: %.500s",
			     lns->lns_word, value, why);
}

/* A parameter of lnet is one for all networks. */
static void tun_set(struct lines *lns, const struct param *param, int64_t value)
{
	static const char *const modules[DRIVERS_NR] = {
		[DRIVER_SOCK] = "ksocklnd",
		[DRIVER_O2IB] = "ko2iblnd",
	};
	int i;

	for (i = 0; i < DRIVERS_NR; ++i)
		if (strcmp(param->prm_module, "lnet") == 0 ||
		    strcmp(param->prm_module, modules[i]) == 0)
			lns->lns_tuns[i][param->prm_id - CONF_TUN_FIRST] =
				conf_tun_of(param->prm_id, value);
}

static int number_set(struct lines *lns, const struct param *param,
		      const char *text)
{
	char             accepted[64];
	int64_t          value;
	struct conf_set *set;

	if (!conf_number(text, &value) || value < param->prm_min ||
	    value > param->prm_max) {
		snprintf(accepted, sizeof accepted, "%" PRId64 " to %" PRId64,
			 param->prm_min, param->prm_max);
		return refuse(lns, text, accepted);
	}
	if (param->prm_id < CONF_SETS) {
		tun_set(lns, param, value);
		return 0;
	}
	set = &lns->lns_model->cmo_sets[param->prm_id - CONF_SETS];
	set->cst_given = value > 0 || param->prm_id < CONF_TINY;
	set->cst_value = (uint64_t)value;
	set->cst_place = lns->lns_word_place;
	return 0;
}

/* Adds one interface; NULL: the first device that is up. */
static int ni_put(struct lines *lns, uint32_t net, const char *iface)
{
	struct conf_ni *ni;

	if (iface != NULL && !conf_is_iface(iface))
		return refuse(lns, iface, "a device as eth0, or an address");
	ni = conf_ni_add(lns->lns_model);
	if (ni == NULL)
		return -ENOMEM;
	ni->cni_place = lns->lns_word_place;
	ni->cni_net = net;
	if (iface != NULL)
		snprintf(ni->cni_iface, sizeof ni->cni_iface, "%s", iface);
	return 0;
}

static int nets_set(struct lines *lns, const char *text)
{
	struct m0_lnet_cfg *cfg = malloc(sizeof *cfg);
	char                why[M0_LNET_WHY_BYTES] = "";
	int                 rc = cfg == NULL ? -ENOMEM : 0;
	unsigned            i;
	unsigned            j;

	if (rc == 0) {
		m0_lnet_cfg_default(cfg);
		if (m0_lnet_cfg_networks(cfg, text, why) != 0)
			rc = refuse_why(lns, text, why);
	}
	for (i = 0; rc == 0 && i < cfg->lc_nets_nr; ++i) {
		const struct m0_lnet_net_cfg *net = &cfg->lc_nets[i];

		if (net->lnc_ifaces_nr == 0)
			rc = ni_put(lns, net->lnc_net, NULL);
		for (j = 0; rc == 0 && j < net->lnc_ifaces_nr; ++j)
			rc = ni_put(lns, net->lnc_net, net->lnc_ifaces[j]);
	}
	free(cfg);
	return rc;
}

static int nets_once(struct lines *lns, const char *text, const char *by)
{
	if (lns->lns_nets_by != NULL)
		return conf_fail_set(lns->lns_fail, &lns->lns_word_place,
				     "%s is not accepted, because %s is there; "
				     "accepted: one of networks, ip2nets, once",
				     by, lns->lns_nets_by);
	lns->lns_nets_by = by;
	lns->lns_model->cmo_sections |= 1U << CONF_NET;
	return nets_set(lns, text);
}

static bool is_local(const struct lines *lns, const char *pattern, int *rc)
{
	struct in_addr none = { 0 };
	unsigned       i;
	bool           found = false;

	*rc = conf_ip_match(pattern, none) < 0 ? -EINVAL : 0;
	for (i = 0; *rc == 0 && i < lns->lns_locals->cfs_nr; ++i)
		found = found ||
			conf_ip_match(
				pattern,
				lns->lns_locals->cfs_locals[i].cfl_addr) == 1;
	return found;
}

/*
 * An entry: networks, as many words as there are before the first IPv4 expression,
 * and expressions. @return 1: it applies; 0; or an error.
 */
static int entry_match(struct lines *lns, char *entry, char **nets)
{
	char *rest;
	char *word;
	bool  found = false;
	int   rc = 0;

	entry[strcspn(entry, "#")] = '\0';
	entry += strspn(entry, " \t");
	if (*entry == '\0')
		return 0;
	word = entry + strcspn(entry, " \t");
	/* Interfaces in parentheses may have blanks among them. */
	if (memchr(entry, '(', (size_t)(word - entry)) != NULL &&
	    memchr(entry, ')', (size_t)(word - entry)) == NULL)
		word = entry + strcspn(entry, ")") + 1;
	if (strchr(entry, '\0') <= word)
		return refuse(lns, entry,
			      "NETWORK and one or more IPv4 expressions as "
			      "10.0.[1-3].*");
	*word++ = '\0';
	*nets = entry;
	for (word = strtok_r(word, " \t", &rest); rc == 0 && word != NULL;
	     word = strtok_r(NULL, " \t", &rest)) {
		found = is_local(lns, word, &rc) || found;
		if (rc != 0)
			return refuse(lns, word,
				      "an IPv4 expression as 10.0.[1-3].*");
	}
	return found ? 1 : 0;
}

static int ip2nets_set(struct lines *lns, const char *text)
{
	/* Each entry has more than its networks, so these are shorter. */
	char  all[2 * WORD_MAX] = "";
	char  copy[WORD_MAX];
	char *rest;
	char *entry;
	char *nets = copy;
	int   rc;

	snprintf(copy, sizeof copy, "%s", text);
	for (entry = strtok_r(copy, ";\n", &rest); entry != NULL;
	     entry = strtok_r(NULL, ";\n", &rest)) {
		size_t used = strlen(all);

		rc = entry_match(lns, entry, &nets);
		if (rc < 0)
			return rc;
		if (rc > 0)
			snprintf(all + used, WORD_MAX + 2, "%s%s",
				 used > 0 ? "," : "", nets);
	}
	if (all[0] == '\0')
		return refuse(lns, text,
			      "an entry that matches an address of this host");
	return nets_once(lns, all, "ip2nets");
}

static int routes_set(struct lines *lns, const char *text)
{
	struct m0_lnet_cfg *cfg = malloc(sizeof *cfg);
	char                why[M0_LNET_WHY_BYTES] = "";
	int                 rc = cfg == NULL ? -ENOMEM : 0;
	unsigned            i;

	if (rc == 0) {
		m0_lnet_cfg_default(cfg);
		if (m0_lnet_cfg_routes(cfg, text, why) != 0)
			rc = refuse_why(lns, text, why);
	}
	for (i = 0; rc == 0 && i < cfg->lc_routing.lgc_routes_nr; ++i) {
		struct conf_route *route = conf_route_add(lns->lns_model);

		if (route == NULL) {
			rc = -ENOMEM;
			break;
		}
		route->crt_place = lns->lns_word_place;
		route->crt_attr = cfg->lc_routing.lgc_routes[i];
	}
	free(cfg);
	lns->lns_model->cmo_sections |= 1U << CONF_ROUTE;
	return rc;
}

static void flag_set(struct lines *lns, unsigned id, bool on)
{
	struct conf_set *set = &lns->lns_model->cmo_sets[id - CONF_SETS];

	set->cst_given = true;
	set->cst_value = on ? 1 : 0;
	set->cst_place = lns->lns_word_place;
}

static int word_of(struct lines *lns, const char *text,
		   const char *const *words, const char *accepted, int *ret)
{
	for (*ret = 0; words[*ret] != NULL; ++*ret) {
		if (strcmp(words[*ret], text) == 0)
			return 0;
	}
	return refuse(lns, text, accepted);
}

/* Parameters for a node that starts. @return 1: it is none of them. */
static int start_set(struct lines *lns, const char *text)
{
	unsigned         start = conf_start_of_param(lns->lns_word);
	const char      *accepted;
	struct conf_set *set;

	if (start == CONF_STARTS_NR)
		return 1;
	set = &lns->lns_model->cmo_starts[start];
	if (conf_start_read(start, text, &set->cst_value, &accepted) != 0)
		return refuse(lns, text, accepted);
	set->cst_given = true;
	set->cst_place = lns->lns_word_place;
	return 0;
}

/* Parameters of lnet that are not numbers alone. @return 1: it is none of them. */
static int lnet_text_set(struct lines *lns, const char *text)
{
	static const char *const forwarding[] = { "disabled", "enabled", NULL };
	static const char *const switches[] = { "0", "1", NULL };
	const char              *name = lns->lns_word;
	int                      i = 0;
	int                      rc;

	if (strcmp(name, "networks") == 0)
		return nets_once(lns, text, "networks");
	if (strcmp(name, "ip2nets") == 0)
		return ip2nets_set(lns, text);
	if (strcmp(name, "routes") == 0)
		return routes_set(lns, text);
	if (strcmp(name, "forwarding") == 0) {
		if (text[0] == '\0')
			return 0;
		rc = word_of(lns, text, forwarding, "enabled, disabled", &i);
		flag_set(lns, CONF_ENABLE, i != 0);
		return rc;
	}
	if (strcmp(name, "lnet_peer_discovery_disabled") == 0) {
		rc = word_of(lns, text, switches, "0, 1", &i);
		flag_set(lns, CONF_DISCOVERY, i == 0);
		return rc;
	}
	return start_set(lns, text);
}

static int param_set(struct lines *lns, const char *module)
{
	char  *text = strchr(lns->lns_word, '=');
	size_t i;
	int    rc;

	if (text == NULL)
		return conf_fail_set(lns->lns_fail, &lns->lns_word_place,
				     "'%.100s' is not accepted; accepted: "
				     "NAME=VALUE",
				     lns->lns_word);
	*text++ = '\0';
	rc = strcmp(module, "lnet") == 0 ? lnet_text_set(lns, text) : 1;
	if (rc <= 0)
		return rc;
	for (i = 0; i < ARRAY_SIZE(params); ++i) {
		if (strcmp(params[i].prm_module, module) == 0 &&
		    strcmp(params[i].prm_name, lns->lns_word) == 0)
			return number_set(lns, &params[i], text);
	}
	for (i = 0; i < ARRAY_SIZE(others); ++i) {
		if (strcmp(others[i][0], module) == 0 &&
		    strcmp(others[i][1], lns->lns_word) == 0) {
			conf_note(lns->lns_model, &lns->lns_word_place,
				  "%s has no effect", lns->lns_word);
			return 0;
		}
	}
	return conf_fail_set(lns->lns_fail, &lns->lns_word_place,
			     "'%.100s' is no parameter of module %s; those of "
			     "LNet are accepted, as networks, routes, "
			     "forwarding",
			     lns->lns_word, module);
}

static int line_read(struct lines *lns)
{
	static const char *const modules[] = { "lnet", "ksocklnd", "ko2iblnd" };
	const char              *module = NULL;
	size_t                   i;
	int                      rc = word_read(lns);

	if (rc <= 0)
		return rc;
	if (lns->lns_word[0] == '#') {
		line_skip(lns);
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(commands); ++i) {
		if (strcmp(commands[i], lns->lns_word) == 0)
			break;
	}
	if (i == ARRAY_SIZE(commands))
		return conf_fail_set(lns->lns_fail, &lns->lns_word_place,
				     "'%.100s' is not accepted; accepted: "
				     "options, and other commands of "
				     "modprobe.d, which are skipped",
				     lns->lns_word);
	if (i == 0)
		rc = word_read(lns);
	for (i = 0; rc > 0 && i < ARRAY_SIZE(modules); ++i) {
		if (strcmp(modules[i], lns->lns_word) == 0)
			module = modules[i];
	}
	if (rc < 0 || module == NULL) {
		line_skip(lns);
		return rc < 0 ? rc : 0;
	}
	while ((rc = word_read(lns)) > 0 && (rc = param_set(lns, module)) == 0)
		;
	return rc;
}

static void tuns_copy(const struct lines *lns, struct conf_ni *ni)
{
	enum driver driver = m0_lnet_net_type(ni->cni_net) == M0_LNET_TYPE_O2IB
				     ? DRIVER_O2IB
				     : DRIVER_SOCK;

	memcpy(ni->cni_tuns, lns->lns_tuns[driver], sizeof ni->cni_tuns);
}

int conf_model_of_modprobe(struct conf_model *model, const char *text,
			   size_t nr, const struct conf_locals *locals,
			   struct conf_fail *fail)
{
	struct lines *lns = calloc(1, sizeof *lns);
	unsigned      i;
	int           rc = 0;

	if (lns == NULL)
		return -ENOMEM;
	lns->lns_model = model;
	lns->lns_locals = locals;
	lns->lns_fail = fail;
	lns->lns_at = text;
	lns->lns_end = text + nr;
	lns->lns_place = (struct conf_place){ 1, 1 };
	while (rc == 0 && lns->lns_at < lns->lns_end) {
		rc = line_read(lns);
		if (rc == 0 && lns->lns_at < lns->lns_end)
			step(lns);
	}
	for (i = 0; i < model->cmo_nis_nr; ++i)
		tuns_copy(lns, &model->cmo_nis[i]);
	model->cmo_is_modprobe = true;
	free(lns);
	return rc;
}
