/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Requests to the node that are not about messages. The request lies in a control
 * record, and so does the answer, by value.
 */
#include "front/front_internal.h"

struct m0_front_control *m0_front__control_at(const struct m0_lnet *lnet,
					      uint32_t              nr)
{
	char *chunk = lnet->fro_controls.fss_chunks[nr / M0_FRONT_CHUNK_NR];

	return (struct m0_front_control *)(void *)chunk +
	       nr % M0_FRONT_CHUNK_NR;
}

static struct m0_front_control *control_of(struct m0_lnet       *lnet,
					   struct m0_front_slot *slot,
					   enum m0_ring_verb     verb)
{
	struct m0_front_control *fcl =
		m0_front__control_at(lnet, slot->fsl_index);

	fcl->fcl_probe = NULL;
	fcl->fcl_done = NULL;
	fcl->fcl_owner = NULL;
	fcl->fcl_record = M0_RING_RECORD(&lnet->fro_records[M0_RING_CONTROLS],
					 struct m0_ring_control,
					 slot->fsl_index);
	fcl->fcl_record->rqc_verb = verb;
	return fcl;
}

struct m0_front_control *m0_front__control_renew(struct m0_lnet   *lnet,
						 enum m0_ring_verb verb)
{
	struct m0_front_slot *slot;

	m0_front__lock(lnet);
	slot = m0_front__slot_get(&lnet->fro_controls);
	if (slot != NULL)
		__atomic_add_fetch(&lnet->fro_embed.emb_controls_nr, 1,
				   __ATOMIC_RELAXED);
	m0_mutex_unlock(&lnet->fro_lock);
	return slot == NULL ? NULL : control_of(lnet, slot, verb);
}

int m0_front__control_take(struct m0_lnet *lnet, enum m0_ring_verb verb,
			   struct m0_front_control **ret)
{
	struct m0_front_slot *slot;
	int                   rc;

	m0_front__lock(lnet);
	rc = m0_front__slot_take(lnet, &lnet->fro_controls, M0_RING_CONTROLS,
				 &slot);
	if (rc == 0)
		__atomic_add_fetch(&lnet->fro_embed.emb_controls_nr, 1,
				   __ATOMIC_RELAXED);
	m0_mutex_unlock(&lnet->fro_lock);
	if (rc != 0)
		return rc;
	*ret = control_of(lnet, slot, verb);
	return 0;
}

void m0_front__control_put(struct m0_lnet *lnet, struct m0_front_control *fcl)
{
	M0_PRE(!fcl->fcl_place.rgp_waits);
	m0_front__lock(lnet);
	m0_front__slot_put(&lnet->fro_controls, &fcl->fcl_slot);
	m0_mutex_unlock(&lnet->fro_lock);
	/* The front may be gone from here on. */
	__atomic_sub_fetch(&lnet->fro_embed.emb_controls_nr, 1,
			   __ATOMIC_SEQ_CST);
}

int m0_front__control_post(struct m0_lnet *lnet, struct m0_front_control *fcl)
{
	m0_front__lock(lnet);
	if (lnet->fro_shut && !lnet->fro_embed.emb_renews) {
		m0_mutex_unlock(&lnet->fro_lock);
		return -ESHUTDOWN;
	}
	m0_front__post_unlock(lnet, M0_RING_CONTROL,
			      m0_front__handle(&fcl->fcl_slot),
			      &fcl->fcl_place);
	return 0;
}

int m0_front__control_do(struct m0_lnet *lnet, struct m0_front_control *fcl)
{
	int rc;

	M0_PRE(fcl->fcl_probe == NULL);
	if (m0_front__is_inside(lnet)) {
		/* Nobody else steps. */
		if (lnet->fro_node == NULL)
			return -EDEADLK;
		m0_node_control(lnet->fro_node, fcl->fcl_slot.fsl_index);
		return fcl->fcl_record->rqc_rc;
	}
	(void)m0_semaphore_init(&fcl->fcl_sem, 0);
	rc = m0_front__control_post(lnet, fcl);
	if (rc == 0) {
		(void)m0_front__wait(lnet, &fcl->fcl_sem, M0_TIME_NEVER);
		rc = fcl->fcl_record->rqc_rc;
	}
	m0_semaphore_fini(&fcl->fcl_sem);
	return rc;
}

int m0_front__block_take(struct m0_lnet *lnet, struct m0_front_control *fcl,
			 void **ret, size_t *ret_bytes)
{
	struct m0_ring_control *record = fcl->fcl_record;
	size_t                  bytes = record->rqc_block_bytes;
	size_t                  at = 0;
	char                   *block = m0_alloc(bytes);
	int                     rc = block == NULL ? -ENOMEM : 0;

	M0_PRE(bytes > 0);
	while (rc == 0) {
		size_t piece = record->rqc_piece_bytes;

		if (piece == 0 || piece > bytes - at) {
			rc = -EPROTO;
			break;
		}
		memcpy(block + at, record->rqc_piece, piece);
		at += piece;
		if (at == bytes) {
			*ret = block;
			*ret_bytes = bytes;
			return 0;
		}
		record->rqc_verb = M0_RING_MORE;
		rc = m0_front__control_do(lnet, fcl);
	}
	m0_free(block);
	return rc;
}

int m0_front__array_take(struct m0_lnet *lnet, struct m0_front_control *fcl,
			 int nr, void *ret, size_t max_bytes)
{
	bool   has = nr > 0 && fcl->fcl_record->rqc_block_bytes > 0;
	void  *block;
	size_t bytes;
	int    rc = 0;

	M0_PRE(ret != NULL || max_bytes == 0);
	if (has)
		rc = m0_front__block_take(lnet, fcl, &block, &bytes);
	if (has && rc == 0) {
		/* The node may be in another process. */
		if (bytes <= max_bytes)
			memcpy(ret, block, bytes);
		else
			rc = -EPROTO;
		m0_free(block);
	}
	m0_front__control_put(lnet, fcl);
	return nr < 0 || rc == 0 ? nr : rc;
}

int m0_front__array_do(struct m0_lnet *lnet, struct m0_front_control *fcl,
		       void *ret, size_t max_bytes)
{
	return m0_front__array_take(lnet, fcl, m0_front__control_do(lnet, fcl),
				    ret, max_bytes);
}

static void probe_copy(struct m0_lnet_probe         *probe,
		       const struct m0_ring_control *record)
{
	const struct m0_ring_probe *rpb = &record->rqc_probe;
	unsigned                    i;

	probe->pr_status = record->rqc_rc;
	probe->pr_source = rpb->rpb_source;
	probe->pr_primary = rpb->rpb_primary;
	probe->pr_pid = rpb->rpb_pid;
	probe->pr_features = rpb->rpb_features;
	probe->pr_multi_rail = rpb->rpb_multi_rail;
	probe->pr_took_ns = rpb->rpb_took_ns;
	probe->pr_nids_nr =
		(unsigned)min64u(rpb->rpb_nids_nr, ARRAY_SIZE(probe->pr_nids));
	for (i = 0; i < probe->pr_nids_nr; ++i) {
		probe->pr_nids[i] = rpb->rpb_nids[i];
		probe->pr_nids_up[i] = rpb->rpb_nids_up[i];
	}
}

void m0_front__answered(struct m0_lnet *lnet, uint32_t nr)
{
	struct m0_front_control *fcl = m0_front__control_at(lnet, nr);
	struct m0_lnet_probe    *probe = fcl->fcl_probe;

	if (fcl->fcl_done != NULL) {
		fcl->fcl_done(lnet, fcl);
		return;
	}
	if (probe == NULL) {
		/* The thread that waits may continue, and put it. */
		m0_semaphore_up(&fcl->fcl_sem);
		return;
	}
	probe_copy(probe, fcl->fcl_record);
	m0_front__control_put(lnet, fcl);
	probe->pr_done(probe);
}
