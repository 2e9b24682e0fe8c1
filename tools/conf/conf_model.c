/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "m0/lnet_route.h"
#include "m0/lnet_tune.h"

#include "conf_model.h"
#include "../base/text.h"

void conf_model_init(struct conf_model *model)
{
	M0_SET0(model);
}

void conf_model_fini(struct conf_model *model)
{
	unsigned i;

	for (i = 0; i < model->cmo_peers_nr; ++i)
		free(model->cmo_peers[i].cpe_nids);
	free(model->cmo_nis);
	free(model->cmo_routes);
	free(model->cmo_peers);
	free(model->cmo_udsps);
	conf_model_init(model);
}

void conf_note(struct conf_model *model, const struct conf_place *place,
	       const char *fmt, ...)
{
	struct conf_note *note;
	va_list           args;

	if (model->cmo_notes_nr == CONF_NOTES_MAX)
		return;
	note = &model->cmo_notes[model->cmo_notes_nr++];
	note->cnt_place = *place;
	va_start(args, fmt);
	(void)vsnprintf(note->cnt_text, sizeof note->cnt_text, fmt, args);
	va_end(args);
	text_make_printable(note->cnt_text);
}

/* Room for one more in an array that doubles at powers of 2. */
static void *one_more(void **array, unsigned *nr, size_t size)
{
	void *more;

	if ((*nr & (*nr - 1)) == 0) {
		more = realloc(*array, (*nr == 0 ? 1 : *nr * 2) * size);
		if (more == NULL)
			return NULL;
		*array = more;
	}
	more = (char *)*array + *nr * size;
	memset(more, 0, size);
	++*nr;
	return more;
}

struct conf_ni *conf_ni_add(struct conf_model *model)
{
	return one_more((void **)&model->cmo_nis, &model->cmo_nis_nr,
			sizeof *model->cmo_nis);
}

struct conf_route *conf_route_add(struct conf_model *model)
{
	return one_more((void **)&model->cmo_routes, &model->cmo_routes_nr,
			sizeof *model->cmo_routes);
}

struct conf_peer *conf_peer_add(struct conf_model *model)
{
	return one_more((void **)&model->cmo_peers, &model->cmo_peers_nr,
			sizeof *model->cmo_peers);
}

struct conf_udsp *conf_udsp_add(struct conf_model *model)
{
	return one_more((void **)&model->cmo_udsps, &model->cmo_udsps_nr,
			sizeof *model->cmo_udsps);
}

int conf_peer_nid_add(struct conf_peer *peer, const struct m0_lnet_nid *nid)
{
	struct m0_lnet_nid *more = one_more((void **)&peer->cpe_nids,
					    &peer->cpe_nids_nr,
					    sizeof *peer->cpe_nids);

	if (more == NULL)
		return -ENOMEM;
	*more = *nid;
	return 0;
}

void conf_addr_print(const struct m0_lnet_nid *nid,
		     char                      ret[M0_LNET_CFG_NAME_BYTES])
{
	M0_BASSERT((int)M0_LNET_CFG_NAME_BYTES >= (int)M0_LNET_NIDSTR_SIZE);
	(void)m0_lnet_nid_print(nid, ret, M0_LNET_CFG_NAME_BYTES);
	ret[strcspn(ret, "@")] = '\0';
}

const char *conf_ni_name(const struct conf_ni *ni)
{
	return ni->cni_addr[0] != '\0' ? ni->cni_addr : ni->cni_iface;
}

void conf_net_cfg(const struct conf_model *model, uint32_t net,
		  struct m0_lnet_net_cfg *ret)
{
	const uint32_t *tuns = NULL;
	unsigned        i;

	M0_SET0(ret);
	ret->lnc_net = net;
	for (i = 0; i < model->cmo_nis_nr; ++i) {
		const struct conf_ni *ni = &model->cmo_nis[i];

		if (ni->cni_net != net)
			continue;
		tuns = ni->cni_tuns;
		conf_iface_put(ret, ni);
	}
	if (tuns != NULL)
		conf_tuns_put(ret, tuns);
}

void conf_iface_put(struct m0_lnet_net_cfg *ret, const struct conf_ni *ni)
{
	const char *name = conf_ni_name(ni);

	if (name[0] != '\0' && ret->lnc_ifaces_nr < M0_LNET_CFG_IFACES_MAX)
		memcpy(ret->lnc_ifaces[ret->lnc_ifaces_nr++], name,
		       M0_LNET_CFG_NAME_BYTES);
}

static const char *const tun_names[CONF_TUNS_NR] = {
	"peer_timeout", "peer_credits",    "peer_buffer_credits",
	"credits",      "conns_per_peer",  "timeout",
	"keepalive",    "min_reconnectms", "max_reconnectms",
	"service",      "ack_timeout",     "tos",
	"get_req",
};

uint32_t conf_tun_of(unsigned id, int64_t number)
{
	if (!M0_IN(id, (CONF_TOS, CONF_GET_REQ)) || number > 0)
		return (uint32_t)number;
	return number == 0 ? CONF_NEVER : 0;
}

bool conf_net_has_tun(uint32_t net, unsigned id)
{
	return id < CONF_SERVICE || m0_lnet_net_type(net) == M0_LNET_TYPE_O2IB;
}

void conf_tuns_put(struct m0_lnet_net_cfg *ret,
		   const uint32_t          tuns[CONF_TUNS_NR])
{
	size_t used;
	int    i;

	ret->lnc_peer_timeout_s = tuns[CONF_PEER_TIMEOUT - CONF_TUN_FIRST];
	ret->lnc_peer_credits = tuns[CONF_PEER_CREDITS - CONF_TUN_FIRST];
	ret->lnc_peer_buffer_credits =
		tuns[CONF_PEER_BUFFER_CREDITS - CONF_TUN_FIRST];
	ret->lnc_credits = tuns[CONF_CREDITS - CONF_TUN_FIRST];
	for (i = CONF_CONNS_PER_PEER - CONF_TUN_FIRST; i < CONF_TUNS_NR; ++i) {
		if (tuns[i] == 0)
			continue;
		used = strlen(ret->lnc_options);
		snprintf(ret->lnc_options + used,
			 sizeof ret->lnc_options - used, "%s%s=%" PRIu32,
			 used > 0 ? " " : "", tun_names[i],
			 tuns[i] == CONF_NEVER ? 0 : tuns[i]);
	}
}

/* --------------------------------------------------------------------- check */

/* Interfaces of a network share its tunables; none is there twice. */
static int ni_pair_check(const struct conf_ni *old, struct conf_ni *ni,
			 struct conf_fail *fail)
{
	char net[M0_LNET_NIDSTR_SIZE];
	int  i;

	(void)m0_lnet_net_print(ni->cni_net, net, sizeof net);
	for (i = 0; i < CONF_TUNS_NR; ++i) {
		if (old->cni_tuns[i] != ni->cni_tuns[i])
			return conf_fail_set(
				fail, &ni->cni_place,
				"%s: %s %" PRIu32 " is not accepted; accepted: "
				"%" PRIu32 ", as in line %u, because "
				"interfaces of a network share its tunables",
				net, tun_names[i], ni->cni_tuns[i],
				old->cni_tuns[i], old->cni_place.cfp_line);
	}
	if (strcmp(conf_ni_name(old), conf_ni_name(ni)) == 0)
		return conf_fail_set(fail, &ni->cni_place,
				     "%s: the interface '%s' is in line %u "
				     "already",
				     net, conf_ni_name(ni),
				     old->cni_place.cfp_line);
	return 0;
}

/* The library's own check of a network. */
static int net_check(const struct conf_model *model, const struct conf_ni *ni,
		     struct conf_fail *fail)
{
	struct m0_lnet_cfg *cfg = malloc(sizeof *cfg);
	char                why[M0_LNET_WHY_BYTES] = "";
	int                 rc;

	if (cfg == NULL)
		return -ENOMEM;
	m0_lnet_cfg_default(cfg);
	cfg->lc_nets_nr = 1;
	conf_net_cfg(model, ni->cni_net, &cfg->lc_nets[0]);
	rc = m0_lnet_cfg_check(cfg, why);
	free(cfg);
	return rc == 0 ? 0 : conf_fail_set(fail, &ni->cni_place, "%s", why);
}

static int nis_check(const struct conf_model *model, struct conf_fail *fail)
{
	unsigned nets_nr = 0;
	unsigned i;
	unsigned j;

	for (i = 0; i < model->cmo_nis_nr; ++i) {
		struct conf_ni *ni = &model->cmo_nis[i];
		unsigned        same_nr = 0;

		for (j = 0; j < i; ++j) {
			if (model->cmo_nis[j].cni_net != ni->cni_net)
				continue;
			++same_nr;
			if (ni_pair_check(&model->cmo_nis[j], ni, fail) != 0)
				return -EINVAL;
		}
		if (same_nr >= M0_LNET_CFG_IFACES_MAX)
			return conf_fail_set(fail, &ni->cni_place,
					     "the network has more than %d "
					     "interfaces",
					     (int)M0_LNET_CFG_IFACES_MAX);
		if (same_nr == 0 && ++nets_nr > M0_LNET_CFG_NETS_MAX)
			return conf_fail_set(fail, &ni->cni_place,
					     "there are more than %d networks",
					     (int)M0_LNET_CFG_NETS_MAX);
		if (same_nr == 0 && net_check(model, ni, fail) != 0)
			return -EINVAL;
	}
	return 0;
}

static int routes_check(const struct conf_model *model, struct conf_fail *fail)
{
	char     net[M0_LNET_NIDSTR_SIZE];
	char     gateway[M0_LNET_NIDSTR_SIZE];
	unsigned i;
	unsigned j;

	for (i = 0; i < model->cmo_routes_nr; ++i) {
		const struct conf_route         *route = &model->cmo_routes[i];
		const struct m0_lnet_route_attr *attr = &route->crt_attr;

		if (i == M0_LNET_ROUTES_MAX)
			return conf_fail_set(fail, &route->crt_place,
					     "there are more than %d routes",
					     (int)M0_LNET_ROUTES_MAX);
		for (j = 0; j < i; ++j) {
			const struct m0_lnet_route_attr *old =
				&model->cmo_routes[j].crt_attr;

			if (old->lra_net == attr->lra_net &&
			    m0_lnet_nid_eq(&old->lra_gateway,
					   &attr->lra_gateway))
				return conf_fail_set(
					fail, &route->crt_place,
					"the route to %s by %s is in line %u "
					"already",
					m0_lnet_net_print(attr->lra_net, net,
							  sizeof net),
					m0_lnet_nid_print(&attr->lra_gateway,
							  gateway,
							  sizeof gateway),
					model->cmo_routes[j]
						.crt_place.cfp_line);
		}
		if (attr->lra_net == m0_lnet_nid_net(&attr->lra_gateway) ||
		    m0_lnet_nid_is_lo(&attr->lra_gateway))
			return conf_fail_set(
				fail, &route->crt_place,
				"gateway '%s' is not accepted; accepted: a NID "
				"of a network other than lo and %s",
				m0_lnet_nid_print(&attr->lra_gateway, gateway,
						  sizeof gateway),
				m0_lnet_net_print(attr->lra_net, net,
						  sizeof net));
	}
	return 0;
}

/* A NID of a peer, for sorting. */
struct owned {
	const struct m0_lnet_nid *own_nid;
	const struct conf_peer   *own_peer;
};

static int owned_cmp(const void *left, const void *right)
{
	const struct owned *a = left;
	const struct owned *b = right;
	int                 cmp = m0_lnet_nid_cmp(a->own_nid, b->own_nid);

	if (cmp != 0)
		return cmp;
	return a->own_peer < b->own_peer ? -1 : a->own_peer > b->own_peer;
}

static int owned_check(const struct owned *all, unsigned nr,
		       struct conf_fail *fail)
{
	char     nid[M0_LNET_NIDSTR_SIZE];
	unsigned i;

	for (i = 1; i < nr; ++i) {
		if (m0_lnet_nid_eq(all[i - 1].own_nid, all[i].own_nid) &&
		    all[i - 1].own_peer != all[i].own_peer)
			return conf_fail_set(
				fail, &all[i].own_peer->cpe_place,
				"NID %s is of the peer in line %u already",
				m0_lnet_nid_print(all[i].own_nid, nid,
						  sizeof nid),
				all[i - 1].own_peer->cpe_place.cfp_line);
	}
	return 0;
}

static int peers_check(const struct conf_model *model, struct conf_fail *fail)
{
	struct owned *all;
	unsigned      nr = 0;
	unsigned      i;
	unsigned      j;
	int           rc;

	for (i = 0; i < model->cmo_peers_nr; ++i)
		nr += model->cmo_peers[i].cpe_nids_nr + 1;
	all = calloc(nr + 1, sizeof *all);
	if (all == NULL)
		return -ENOMEM;
	nr = 0;
	for (i = 0; i < model->cmo_peers_nr; ++i) {
		const struct conf_peer *peer = &model->cmo_peers[i];

		if (peer->cpe_nids_nr > M0_LNET_PEER_NIDS_MAX) {
			free(all);
			return conf_fail_set(fail, &peer->cpe_place,
					     "the peer has more than %d "
					     "further NIDs",
					     (int)M0_LNET_PEER_NIDS_MAX);
		}
		all[nr++] = (struct owned){ &peer->cpe_primary, peer };
		for (j = 0; j < peer->cpe_nids_nr; ++j)
			all[nr++] = (struct owned){ &peer->cpe_nids[j], peer };
	}
	qsort(all, nr, sizeof *all, owned_cmp);
	rc = owned_check(all, nr, fail);
	free(all);
	return rc;
}

/* The conditions of m0_lnet_tune(), as far as the file says. */
static int sets_check(const struct conf_model *model, struct conf_fail *fail)
{
	const struct conf_set *retry =
		&model->cmo_sets[CONF_RETRY_COUNT - CONF_SETS];
	const struct conf_set *time =
		&model->cmo_sets[CONF_TRANSACTION_TIMEOUT - CONF_SETS];
	const struct conf_set *health =
		&model->cmo_sets[CONF_SENSITIVITY - CONF_SETS];

	if (retry->cst_given && time->cst_given &&
	    retry->cst_value >= time->cst_value)
		return conf_fail_set(fail, &retry->cst_place,
				     "retry_count: '%" PRIu64
				     "' is not accepted; accepted: less than "
				     "transaction_timeout, which is %" PRIu64,
				     retry->cst_value, time->cst_value);
	if (retry->cst_given && health->cst_given && retry->cst_value > 0 &&
	    health->cst_value == 0)
		return conf_fail_set(fail, &retry->cst_place,
				     "retry_count: '%" PRIu64
				     "' is not accepted; accepted: 0, because "
				     "health_sensitivity is 0",
				     retry->cst_value);
	return 0;
}

int conf_model_check(struct conf_model *model, struct conf_fail *fail)
{
	return nis_check(model, fail) ?:
	       routes_check(model, fail) ?:
	       peers_check(model, fail) ?:
	       sets_check(model, fail) ?:
	       conf_udsps_check(model, fail);
}

int conf_read(struct conf_model *model, const char *text, size_t nr,
	      const struct conf_locals *locals, struct conf_fail *fail)
{
	struct conf_locals own;
	struct conf_node  *tree = NULL;
	int                rc;

	conf_model_init(model);
	if (locals == NULL) {
		conf_locals_get(&own);
		locals = &own;
	}
	if (conf_is_modprobe(text, nr)) {
		rc = conf_model_of_modprobe(model, text, nr, locals, fail);
	} else {
		rc = conf_yaml_parse(text, nr, &tree, fail)
			     ?: conf_schema_check(tree, fail);
		if (rc == 0 && tree != NULL)
			rc = conf_model_of_tree(model, tree, locals, fail);
		conf_yaml_free(tree);
	}
	if (rc == 0)
		rc = conf_model_check(model, fail);
	if (rc != 0)
		conf_model_fini(model);
	return rc;
}
