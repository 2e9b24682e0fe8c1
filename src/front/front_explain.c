/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Explanation of a path: a request to the node. */
#include "front/front_internal.h"
#include "m0/lnet_explain.h"

/* The node may be in another process. */
static bool explain_ok(struct m0_lnet_explain *explain, size_t bytes)
{
	if (bytes < sizeof *explain ||
	    explain->lex_paths_nr >
		    (bytes - sizeof *explain) / sizeof explain->lex_paths[0])
		return false;
	explain->lex_note[sizeof explain->lex_note - 1] = 0;
	return true;
}

int m0_lnet_explain(struct m0_lnet *lnet, const struct m0_lnet_nid *dest,
		    const struct m0_lnet_nid *from,
		    struct m0_lnet_explain  **ret)
{
	struct m0_front_control *fcl;
	void                    *block;
	size_t                   bytes;
	int rc = m0_front__control_take(lnet, M0_RING_EXPLAIN, &fcl);

	M0_PRE(dest != NULL && ret != NULL);
	if (rc != 0)
		return rc;
	fcl->fcl_record->rqc_dist =
		(struct m0_ring_dist){ .rdi_dst = *dest,
				       .rdi_src = from == NULL ? m0_lnet_nid_any
							       : *from };
	rc = m0_front__control_do(lnet, fcl);
	if (rc == 0)
		rc = m0_front__block_take(lnet, fcl, &block, &bytes);
	m0_front__control_put(lnet, fcl);
	if (rc == 0 && !explain_ok(block, bytes)) {
		m0_free(block);
		rc = -EPROTO;
	}
	if (rc == 0)
		*ret = block;
	return rc;
}

void m0_lnet_explain_free(struct m0_lnet_explain *explain)
{
	m0_free(explain);
}
