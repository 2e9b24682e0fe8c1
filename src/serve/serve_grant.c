/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The sizes that a process gets.
 */
#include "serve/serve_maps.h"

/* 0: the server's; else at most that. */
static uint32_t least(uint32_t want, uint32_t most)
{
	return want == 0 || want > most ? most : want;
}

int m0_serve_grant(const struct m0_serve_cfg  *own,
		   const struct m0_shared_cfg *want, struct m0_serve_cfg *ret,
		   char why[M0_ATTACH_WHY_BYTES])
{
	const struct m0_shared_cfg *most = &own->svg_shared;
	struct m0_shared_cfg       *cfg = &ret->svg_shared;
	struct m0_shared_why        broken;
	char                        text[M0_ATTACH_WHY_BYTES - 16];

	*ret = *own;
	cfg->shc_down_nr = least(want->shc_down_nr, most->shc_down_nr);
	cfg->shc_up_nr = least(want->shc_up_nr, most->shc_up_nr);
	cfg->shc_reserved_nr =
		least(want->shc_reserved_nr, most->shc_reserved_nr);
	cfg->shc_incoming_nr =
		least(want->shc_incoming_nr, most->shc_incoming_nr);
	cfg->shc_mes_max = least(want->shc_mes_max, most->shc_mes_max);
	cfg->shc_mds_max = least(want->shc_mds_max, most->shc_mds_max);
	cfg->shc_ops_max = least(want->shc_ops_max, most->shc_ops_max);
	cfg->shc_eqs_max = least(want->shc_eqs_max, most->shc_eqs_max);
	cfg->shc_regions_max =
		least(want->shc_regions_max, most->shc_regions_max);
	cfg->shc_controls_nr =
		least(want->shc_controls_nr, most->shc_controls_nr);
	/* A client that wants only a short queue gets both parts of it in proportion. */
	if (cfg->shc_reserved_nr + cfg->shc_incoming_nr > cfg->shc_up_nr &&
	    want->shc_reserved_nr == 0 && want->shc_incoming_nr == 0) {
		cfg->shc_incoming_nr = cfg->shc_up_nr / 4;
		cfg->shc_reserved_nr = cfg->shc_up_nr - cfg->shc_incoming_nr;
	}
	if (m0_shared_cfg_check(cfg, &broken) == 0)
		return 0;
	return m0_attach__why(why, -EINVAL, "wanted %s",
			      m0_shared_why_print(&broken, text, sizeof text));
}
