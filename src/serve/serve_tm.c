/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of transfer machines: each belongs to one process of those that a daemon serves.
 * All of it on the node's thread.
 */
#include "serve/serve_internal.h"

enum {
	TMIDS_NR = M0_SHARED_TMID_MAX + 1
};

/* The owners of a portal's numbers; NULL: no memory. */
static struct m0_serve **owners_get(struct m0_serve_tms *tms, uint32_t portal)
{
	if (tms->vts_owners[portal] == NULL)
		M0_ALLOC_ARR(tms->vts_owners[portal], TMIDS_NR);
	return tms->vts_owners[portal];
}

int m0_serve__tm_claim(struct m0_serve *srv, uint32_t portal, uint32_t wanted,
		       uint64_t *ret)
{
	struct m0_serve_tms *tms = srv->srv_cfg.svg_tms;
	struct m0_serve    **owners;
	uint32_t             nr = wanted;

	if (tms == NULL || portal >= M0_SERVE_PORTALS_MAX)
		return -ENOSYS;
	owners = owners_get(tms, portal);
	if (owners == NULL)
		return -ENOMEM;
	if (wanted == M0_SHARED_TMID_ANY) {
		for (nr = TMIDS_NR; nr > 0 && owners[nr - 1] != NULL; --nr)
			;
		if (nr-- == 0)
			return -EADDRNOTAVAIL;
	} else if (owners[nr] != NULL) {
		return -EADDRINUSE;
	}
	M0_ASSERT(nr < TMIDS_NR && owners[nr] == NULL);
	owners[nr] = srv;
	*ret = nr;
	return 0;
}

int m0_serve__tm_release(struct m0_serve *srv, uint32_t portal, uint32_t nr)
{
	struct m0_serve_tms *tms = srv->srv_cfg.svg_tms;

	if (tms == NULL || portal >= M0_SERVE_PORTALS_MAX ||
	    tms->vts_owners[portal] == NULL || nr >= TMIDS_NR ||
	    tms->vts_owners[portal][nr] != srv)
		return -ENOENT;
	tms->vts_owners[portal][nr] = NULL;
	return 0;
}

void m0_serve__tms_end(struct m0_serve *srv)
{
	uint32_t portal;
	uint32_t nr;

	if (srv->srv_cfg.svg_tms == NULL)
		return;
	for (portal = 0; portal < M0_SERVE_PORTALS_MAX; ++portal) {
		struct m0_serve **owners =
			srv->srv_cfg.svg_tms->vts_owners[portal];

		for (nr = 0; owners != NULL && nr < TMIDS_NR; ++nr)
			if (owners[nr] == srv)
				owners[nr] = NULL;
	}
}

void m0_serve_tms_fini(struct m0_serve_tms *tms)
{
	uint32_t portal;

	for (portal = 0; portal < M0_SERVE_PORTALS_MAX; ++portal)
		m0_free0(&tms->vts_owners[portal]);
}
