/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Tunables of a network: those that every network has, and options of drivers,
 * which only the row of the driver knows.
 */
#include <stdio.h>

#include "node/node_internal.h"

enum {
	DAY_SECONDS = 86400,
	/** Lustre's default. */
	PEER_TIMEOUT_SECONDS = 180,
	NAMES_BYTES = 128
};

static const struct m0_option common[] = {
	M0_OPTION(struct m0_lnet_net_cfg, lnc_peer_credits, "peer_credits", "",
		  1, UINT16_MAX, 1),
	M0_OPTION(struct m0_lnet_net_cfg, lnc_credits, "credits", "", 1,
		  UINT16_MAX, 1),
	M0_OPTION(struct m0_lnet_net_cfg, lnc_peer_timeout_s, "peer_timeout",
		  "seconds", 1, DAY_SECONDS, 1),
	M0_OPTION(struct m0_lnet_net_cfg, lnc_peer_buffer_credits,
		  "peer_buffer_credits", "", 0, UINT16_MAX, 1),
};

/* Reports an error of a reader of options. */
static int wrong(const struct m0_lnet_net_cfg *net, int rc, const char *text,
		 char *why)
{
	char name[M0_LNET_NIDSTR_SIZE];
	char names[NAMES_BYTES];

	(void)m0_lnet_net_print(net->lnc_net, name, sizeof name);
	return m0_node_why(why, -EINVAL, "network %s: %s%s%s", name, text,
			   rc == -ENOENT ? "; on every network: " : "",
			   rc == -ENOENT ? m0_options_names(common,
							    ARRAY_SIZE(common),
							    names, sizeof names)
					 : "");
}

/* Appends a pair. @return false: there is no space. */
static bool append(char text[M0_LNET_CFG_OPTIONS_BYTES], const char *pair)
{
	size_t nr = strlen(text);

	if (nr + strlen(pair) + 2 > M0_LNET_CFG_OPTIONS_BYTES)
		return false;
	snprintf(text + nr, M0_LNET_CFG_OPTIONS_BYTES - nr, "%s%s",
		 nr == 0 ? "" : " ", pair);
	return true;
}

int m0_node__tunable_add(struct m0_lnet_net_cfg *net,
			 char own[M0_LNET_CFG_OPTIONS_BYTES], const char *pair,
			 char *why)
{
	char   text[M0_OPTIONS_WHY_BYTES];
	size_t nr = strlen(own);
	int    rc = 0;

	if (append(own, pair)) {
		/* All of them again, because no name may be there twice. */
		rc = m0_options_read(common, ARRAY_SIZE(common), net, own,
				     text);
		if (rc != -ENOENT)
			return rc == 0 ? 0 : wrong(net, rc, text, why);
		own[nr] = 0;
		if (append(net->lnc_options, pair))
			return 0;
	}
	snprintf(text, sizeof text,
		 "its options are too long; accepted: up to %d characters",
		 M0_LNET_CFG_OPTIONS_BYTES - 1);
	return wrong(net, -EINVAL, text, why);
}

static int common_check(const struct m0_lnet_net_cfg *net, char *why)
{
	char   text[M0_OPTIONS_WHY_BYTES];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(common); ++i) {
		const struct m0_option *option = &common[i];
		unsigned                value;

		M0_ASSERT(option->opt_bytes == sizeof value);
		memcpy(&value, (const char *)net + option->opt_offset,
		       sizeof value);
		if (value <= option->opt_max)
			continue;
		snprintf(text, sizeof text,
			 "%s is %u; accepted: %" PRIu64 " to %" PRIu64
			 ", or 0 for the default",
			 option->opt_name, value, option->opt_min,
			 option->opt_max);
		return wrong(net, -EINVAL, text, why);
	}
	return 0;
}

int m0_node__tunables_check(const struct m0_lnet_cfg     *cfg,
			    const struct m0_lnet_net_cfg *net, char *why)
{
	const struct m0_lnd_row *row =
		m0_lnd_row_of(m0_lnet_net_type(net->lnc_net));
	char text[M0_OPTIONS_WHY_BYTES];
	int  rc;

	M0_PRE(row != NULL);
	if (memchr(net->lnc_options, 0, sizeof net->lnc_options) == NULL) {
		snprintf(text, sizeof text,
			 "lnc_options has no end; accepted: up to %zu "
			 "characters",
			 sizeof net->lnc_options - 1);
		return wrong(net, -EINVAL, text, why);
	}
	rc = common_check(net, why);
	if (rc != 0)
		return rc;
	rc = row->lrw_options != NULL
		     ? row->lrw_options(cfg, net->lnc_options, text)
		     : m0_options_read(NULL, 0, NULL, net->lnc_options, text);
	return rc == 0 ? 0 : wrong(net, rc, text, why);
}

struct m0_lnet_net_cfg *m0_node__net_find(struct m0_lnet_cfg *cfg, uint32_t net)
{
	unsigned i;

	for (i = 0; i < cfg->lc_nets_nr; ++i)
		if (cfg->lc_nets[i].lnc_net == net)
			return &cfg->lc_nets[i];
	return NULL;
}

void m0_node__ni_tune(struct m0_lnet_cfg *cfg, struct m0_lnd_ni *ni)
{
	const struct m0_lnet_net_cfg *net =
		m0_node__net_find(cfg, m0_lnet_nid_net(&ni->ldn_nid));

	if (net == NULL)
		return;
	m0_lnet_engine_ni_credits(ni, net->lnc_peer_credits, net->lnc_credits);
	m0_lnet_engine_ni_buffer_credits(ni, net->lnc_peer_buffer_credits);
	ni->ldn_options = net->lnc_options;
}

void m0_node__tunables_info(struct m0_lnet_cfg *cfg, struct m0_lnet_info *info)
{
	unsigned i;

	for (i = 0; i < info->li_nis_nr; ++i) {
		struct m0_lnet_ni_info       *ni = &info->li_nis[i];
		const struct m0_lnet_net_cfg *net =
			m0_node__net_find(cfg, m0_lnet_nid_net(&ni->nii_nid));

		if (m0_lnet_nid_is_lo(&ni->nii_nid))
			continue;
		ni->nii_peer_timeout_s = PEER_TIMEOUT_SECONDS;
		if (net == NULL)
			continue;
		ni->nii_peer_buffer_credits = net->lnc_peer_buffer_credits;
		if (net->lnc_peer_timeout_s != 0)
			ni->nii_peer_timeout_s = net->lnc_peer_timeout_s;
	}
}
