/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A front whose node is in another process: with memory that both share, of which all
 * records were made before, or with a pump.
 */
#include "front/front_internal.h"

static struct m0_lnet *lnet_of(const struct m0_strand *strand)
{
	return container_of((struct m0_strand *)(uintptr_t)strand,
			    struct m0_lnet, fro_embed.emb_strand);
}

/* Delivers what the node has posted. */
static m0_time_t attached_step(struct m0_strand *strand, m0_time_t now)
{
	struct m0_lnet *lnet = lnet_of(strand);

	M0_PRE(lnet->fro_node == NULL);
	if (lnet->fro_pump != NULL)
		return lnet->fro_embed.emb_apart->fao_step(lnet->fro_pump, now);
	if (m0_front__deliver(lnet))
		lnet->fro_embed.emb_did = true;
	m0_front__notified_end(lnet);
	if (M0_UNLIKELY(lnet->fro_ring->rng_down.rqu_waits))
		m0_front__refill(lnet);
	(void)m0_front__runners_run(lnet, now);
	return lnet->fro_run_at;
}

static bool attached_ready(const struct m0_strand *strand)
{
	const struct m0_lnet *lnet = lnet_of(strand);

	return !m0_ring_is_empty(&lnet->fro_up) ||
	       M0_FRONT_GET(lnet->fro_has_woken) ||
	       (lnet->fro_pump != NULL &&
		(m0_front__is_posted(lnet) ||
		 lnet->fro_embed.emb_apart->fao_is_ready(lnet->fro_pump)));
}

static void attached_sleep(struct m0_strand *strand, m0_time_t deadline)
{
	struct m0_lnet *lnet = lnet_of(strand);

	M0_PRE(lnet->fro_pump != NULL);
	lnet->fro_embed.emb_apart->fao_sleep(lnet->fro_pump, deadline);
}

static void attached_rouse(struct m0_strand *strand)
{
	struct m0_lnet *lnet = lnet_of(strand);

	M0_PRE(lnet->fro_pump != NULL);
	lnet->fro_embed.emb_apart->fao_rouse(lnet->fro_pump);
}

const struct m0_strand_ops m0_front__attached_ops = {
	.so_step = attached_step,
	.so_ready = attached_ready,
	.so_sleep = attached_sleep,
	.so_rouse = attached_rouse,
};

/* Makes the slots of the one chunk of a kind. */
static int chunk_add(struct m0_lnet *lnet, struct m0_front_slots *slots,
		     enum m0_ring_table table, void *records)
{
	void *chunk = m0_front__slots_chunk(slots);

	M0_PRE(records != NULL && slots->fss_nr == 0);
	if (chunk == NULL)
		return -ENOMEM;
	m0_front__slots_grow(slots, chunk);
	lnet->fro_records[table].rvi_chunks[0] = records;
	return 0;
}

static int chunks_add(struct m0_lnet *lnet, const struct m0_front_share *share)
{
	struct m0_front_slots *slots[M0_RING_TABLES_NR] = {
		[M0_RING_MES] = &lnet->fro_mes,
		[M0_RING_MDS] = &lnet->fro_mds,
		[M0_RING_OPS] = &lnet->fro_ops,
		[M0_RING_EQS] = &lnet->fro_eq_slots,
		[M0_RING_SEGS] = &lnet->fro_segs,
		[M0_RING_CONTROLS] = &lnet->fro_controls,
	};
	unsigned i;
	int      rc = 0;

	for (i = 0; rc == 0 && i < M0_RING_TABLES_NR; ++i)
		if (slots[i] != NULL)
			rc = chunk_add(lnet, slots[i], (enum m0_ring_table)i,
				       share->fsh_records[i]);
	if (rc != 0)
		return rc;
	lnet->fro_records[M0_RING_INCOMINGS].rvi_chunks[0] =
		share->fsh_records[M0_RING_INCOMINGS];
	lnet->fro_incomings.rvi_chunks[0] = m0_alloc_aligned(
		sizeof(struct m0_front_incoming) * M0_RING_CHUNK_NR, 6);
	return lnet->fro_incomings.rvi_chunks[0] == NULL ? -ENOMEM : 0;
}

int m0_front_attach(struct m0_lnet **ret, const struct m0_lnet_cfg *cfg,
		    const struct m0_front_share *share)
{
	struct m0_lnet *lnet = m0_front__new(cfg, &m0_front__attached_ops);
	int             rc;

	M0_PRE(share->fsh_nids_nr > 0 &&
	       share->fsh_nids_nr <= ARRAY_SIZE(lnet->fro_nids.fns_nid));
	if (lnet == NULL)
		return -ENOMEM;
	lnet->fro_ring = share->fsh_ring;
	m0_ring_out_init(&lnet->fro_down, &lnet->fro_ring->rng_down);
	m0_ring_in_init(&lnet->fro_up, &lnet->fro_ring->rng_up);
	lnet->fro_nids.fns_nr = share->fsh_nids_nr;
	memcpy(lnet->fro_nids.fns_nid, share->fsh_nids,
	       share->fsh_nids_nr * sizeof lnet->fro_nids.fns_nid[0]);
	M0_ALLOC_ARR(lnet->fro_lazy, cfg->lc_portals_nr);
	rc = lnet->fro_lazy == NULL ? -ENOMEM : 0;
	if (rc == 0)
		rc = m0_front__slots_make(lnet, M0_RING_CHUNK_NR);
	if (rc == 0)
		rc = m0_front__records_init(lnet);
	if (rc == 0)
		rc = chunks_add(lnet, share);
	if (rc == 0)
		*ret = lnet;
	else
		m0_front_detach(lnet);
	return rc;
}

void m0_front_leave(struct m0_lnet *lnet)
{
	m0_front__lock(lnet);
	/* The other side may have closed it. */
	if (lnet->fro_shut && lnet->fro_pump != NULL) {
		m0_front__posted_unlock(lnet);
		return;
	}
	M0_PRE(!lnet->fro_shut);
	lnet->fro_shut = true;
	m0_front__post_unlock(lnet, M0_RING_CLOSE, m0_lnet_handle_none,
			      &lnet->fro_close);
}

void m0_front_detach(struct m0_lnet *lnet)
{
	unsigned i;

	M0_PRE(lnet->fro_node == NULL && m0_list_is_empty(&lnet->fro_eqs));
	/* The owner of the ring has the records. */
	for (i = 0; i < M0_RING_TABLES_NR; ++i)
		if (lnet->fro_records[i].rvi_chunks != NULL)
			lnet->fro_records[i].rvi_chunks[0] = NULL;
	lnet->fro_ring = NULL;
	m0_strand_fini(&lnet->fro_embed.emb_strand);
	m0_front__free(lnet);
}
