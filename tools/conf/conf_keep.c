/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>

#include "conf_diff.h"

/* One list of a model. */
struct part {
	const char *prt_name;
	size_t      prt_size;
	bool (*prt_is)(const void *want, const void *has);
	/** Frees an entry that is left out; NULL: nothing to do. */
	void (*prt_fini)(void *has);
};

static bool ni_is(const void *want, const void *has)
{
	return conf_ni_is(want, has);
}

static bool route_is(const void *want, const void *has)
{
	const struct m0_lnet_route_attr *left =
		&((const struct conf_route *)want)->crt_attr;
	const struct m0_lnet_route_attr *right =
		&((const struct conf_route *)has)->crt_attr;

	return left->lra_net == right->lra_net &&
	       m0_lnet_nid_eq(&left->lra_gateway, &right->lra_gateway);
}

static bool peer_is(const void *want, const void *has)
{
	return m0_lnet_nid_eq(&((const struct conf_peer *)want)->cpe_primary,
			      &((const struct conf_peer *)has)->cpe_primary);
}

static void peer_fini(void *has)
{
	free(((struct conf_peer *)has)->cpe_nids);
}

static bool rule_is(const void *want, const void *has)
{
	return conf_udsp_is(&((const struct conf_udsp *)want)->cud_rule,
			    &((const struct conf_udsp *)has)->cud_rule);
}

static const struct part part_nis = {
	"interface",
	sizeof(struct conf_ni),
	ni_is,
	NULL,
};
static const struct part part_routes = {
	"route",
	sizeof(struct conf_route),
	route_is,
	NULL,
};
static const struct part part_peers = {
	"peer",
	sizeof(struct conf_peer),
	peer_is,
	peer_fini,
};
static const struct part part_rules = {
	"rule",
	sizeof(struct conf_udsp),
	rule_is,
	NULL,
};

static bool named(const struct part *part, const char *want, unsigned want_nr,
		  const char *has)
{
	unsigned i;

	for (i = 0; i < want_nr; ++i) {
		if (part->prt_is(want + i * part->prt_size, has))
			return true;
	}
	return false;
}

static bool found(const struct part *part, const char *want, const char *has,
		  unsigned has_nr)
{
	unsigned i;

	for (i = 0; i < has_nr; ++i) {
		if (part->prt_is(want, has + i * part->prt_size))
			return true;
	}
	return false;
}

/* @return number of entries of `want` that are not there. */
static unsigned part_keep(const struct part *part, void *has, unsigned *has_nr,
			  const void *want, unsigned want_nr,
			  struct conf_fail *missing)
{
	size_t      size = part->prt_size;
	char       *all = has;
	const char *wants = want;
	unsigned    missing_nr = 0;
	unsigned    nr = 0;
	unsigned    i;

	for (i = 0; i < *has_nr; ++i) {
		if (named(part, wants, want_nr, all + i * size)) {
			if (nr < i)
				memcpy(all + nr * size, all + i * size, size);
			++nr;
		} else if (part->prt_fini != NULL) {
			part->prt_fini(all + i * size);
		}
	}
	*has_nr = nr;
	for (i = 0; i < want_nr; ++i) {
		if (found(part, wants + i * size, has, nr))
			continue;
		if (missing_nr++ > 0)
			continue;
		/* Each entry begins with its place. */
		(void)conf_fail_set(missing, (const void *)(wants + i * size),
				    "the node does not have this %s",
				    part->prt_name);
	}
	return missing_nr;
}

unsigned conf_keep(struct conf_model *running, const struct conf_model *want,
		   struct conf_fail *missing)
{
	unsigned nr = 0;
	unsigned i;

	M0_BASSERT(offsetof(struct conf_ni, cni_place) == 0 &&
		   offsetof(struct conf_route, crt_place) == 0 &&
		   offsetof(struct conf_peer, cpe_place) == 0 &&
		   offsetof(struct conf_udsp, cud_place) == 0);
	nr += part_keep(&part_nis, running->cmo_nis, &running->cmo_nis_nr,
			want->cmo_nis, want->cmo_nis_nr, missing);
	nr += part_keep(&part_routes, running->cmo_routes,
			&running->cmo_routes_nr, want->cmo_routes,
			want->cmo_routes_nr, missing);
	nr += part_keep(&part_peers, running->cmo_peers, &running->cmo_peers_nr,
			want->cmo_peers, want->cmo_peers_nr, missing);
	nr += part_keep(&part_rules, running->cmo_udsps, &running->cmo_udsps_nr,
			want->cmo_udsps, want->cmo_udsps_nr, missing);
	for (i = 0; i < running->cmo_peers_nr; ++i)
		running->cmo_peers[i].cpe_configured = true;
	for (i = 0; i < CONF_SETS_NR; ++i)
		running->cmo_sets[i].cst_given &= want->cmo_sets[i].cst_given;
	return nr;
}
