/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Invariants of what has a slot while it is in use, with fro_lock, and of the front. */
#include "front/front_internal.h"

bool m0_front__me_invariant(const struct m0_front_me *fme)
{
	return fme->fme_slot.fsl_used && fme->fme_slot.fsl_gen != 0 &&
	       fme->fme_users_nr > 0;
}

bool m0_front__md_invariant(const struct m0_front_md *fmd)
{
	return fmd->fmd_slot.fsl_used && fmd->fmd_slot.fsl_gen != 0 &&
	       fmd->fmd_users_nr > 0 &&
	       ergo(fmd->fmd_queued, fmd->fmd_me != NULL) &&
	       ergo(fmd->fmd_eq != NULL, fmd->fmd_eq->eq_users_nr > 0);
}

bool m0_front__op_invariant(const struct m0_front_op *fop)
{
	/* Its end, and its two events. */
	return fop->fop_slot.fsl_used && fop->fop_users_nr > 0 &&
	       fop->fop_users_nr <= 3;
}

bool m0_front__invariant(const struct m0_lnet *lnet)
{
	/* The strand's fields only: it does not have fro_lock. */
	return lnet->fro_ring != NULL && lnet->fro_share_max > 0 &&
	       lnet->fro_notified_nr < M0_FRONT_NOTIFIED_MAX;
}
