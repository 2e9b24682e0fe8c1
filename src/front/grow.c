/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memory of what has a number: for each chunk the front's slots, the records that
 * both sides see, and the structs of the node.
 */
#include "front/front_internal.h"

/** The three parts of a chunk. */
struct parts {
	void *gp_records;
	void *gp_things;
	void *gp_slots;
};

static size_t records_bytes(enum m0_ring_table table)
{
	return (size_t)m0_ring_record_bytes[table] * M0_RING_CHUNK_NR;
}

static void *records_alloc(enum m0_ring_table table)
{
	return m0_alloc_aligned(records_bytes(table), 6);
}

static void records_free(enum m0_ring_table table, void *records)
{
	M0_PRE(records != NULL);
	m0_free_aligned(records, records_bytes(table), 6);
}

int m0_front__records_init(struct m0_lnet *lnet)
{
	unsigned i;
	int      rc = 0;

	M0_PRE(lnet->fro_incomings.rvi_chunks == NULL);
	for (i = 0; rc == 0 && i < M0_RING_TABLES_NR; ++i)
		rc = m0_ring_view_init(
			&lnet->fro_records[i],
			m0_node_records_max(&lnet->fro_cfg,
					    (enum m0_ring_table)i));
	if (rc == 0)
		rc = m0_ring_view_init(&lnet->fro_incomings,
				       m0_node_records_max(&lnet->fro_cfg,
							   M0_RING_INCOMINGS));
	return rc;
}

static void view_free(struct m0_ring_view *view, size_t bytes)
{
	uint32_t i;

	for (i = 0; view->rvi_chunks != NULL && i < view->rvi_chunks_max; ++i)
		if (view->rvi_chunks[i] != NULL)
			m0_free_aligned(view->rvi_chunks[i], bytes, 6);
	m0_ring_view_fini(view);
}

void m0_front__records_free(struct m0_lnet *lnet)
{
	unsigned i;

	for (i = 0; i < M0_RING_TABLES_NR; ++i)
		view_free(&lnet->fro_records[i],
			  records_bytes((enum m0_ring_table)i));
	view_free(&lnet->fro_incomings,
		  sizeof(struct m0_front_incoming) * M0_RING_CHUNK_NR);
}

static void parts_free(enum m0_ring_table table, const struct parts *parts)
{
	if (parts->gp_records != NULL)
		records_free(table, parts->gp_records);
	if (parts->gp_things != NULL)
		m0_node_chunk_free(table, parts->gp_things);
}

/* Makes the records and the node's structs; the caller has made the slots.
 * @return false  there is no memory for all three: nothing is left. */
static bool parts_make(const struct m0_lnet *lnet, enum m0_ring_table table,
		       struct parts *parts)
{
	bool has_node = lnet->fro_node != NULL;

	parts->gp_records = records_alloc(table);
	parts->gp_things = has_node ? m0_node_chunk(table) : NULL;
	if (parts->gp_slots != NULL && parts->gp_records != NULL &&
	    (parts->gp_things != NULL || !has_node))
		return true;
	parts_free(table, parts);
	return false;
}

/* The node, and this side, have the records. */
static void parts_add(struct m0_lnet *lnet, enum m0_ring_table table,
		      uint32_t chunk_nr, const struct parts *parts)
{
	M0_ASSERT(lnet->fro_records[table].rvi_chunks[chunk_nr] == NULL);
	lnet->fro_records[table].rvi_chunks[chunk_nr] = parts->gp_records;
	if (lnet->fro_node == NULL)
		return;
	m0_node_chunk_add(lnet->fro_node, table, chunk_nr, parts->gp_records,
			  parts->gp_things);
}

int m0_front__grow(struct m0_lnet *lnet, struct m0_front_slots *slots,
		   enum m0_ring_table table)
{
	struct parts parts;
	bool         ok;

	M0_PRE_EX(m0_mutex_is_locked(&lnet->fro_lock));
	if (lnet->fro_node == NULL && lnet->fro_pump == NULL)
		return -ENOMEM;
	m0_mutex_unlock(&lnet->fro_lock);
	parts.gp_slots = m0_front__slots_chunk(slots);
	ok = parts_make(lnet, table, &parts);
	m0_mutex_lock(&lnet->fro_lock);
	/* Another thread may have made the last one meanwhile. */
	if (ok && !lnet->fro_shut && slots->fss_nr < slots->fss_max) {
		parts_add(lnet, table, slots->fss_nr / M0_RING_CHUNK_NR,
			  &parts);
		m0_front__slots_grow(slots, parts.gp_slots);
		return 0;
	}
	if (parts.gp_slots != NULL)
		m0_front__slots_chunk_free(slots, parts.gp_slots);
	if (!ok)
		return -ENOMEM;
	parts_free(table, &parts);
	return lnet->fro_shut ? -ESHUTDOWN : 0;
}

bool m0_front__grow_locked(struct m0_lnet *lnet, struct m0_front_slots *slots,
			   enum m0_ring_table table)
{
	struct parts parts;

	M0_PRE_EX(m0_mutex_is_locked(&lnet->fro_lock));
	if (slots->fss_nr == slots->fss_max)
		return false;
	parts.gp_slots = m0_front__slots_chunk(slots);
	if (!parts_make(lnet, table, &parts)) {
		if (parts.gp_slots != NULL)
			m0_front__slots_chunk_free(slots, parts.gp_slots);
		return false;
	}
	parts_add(lnet, table, slots->fss_nr / M0_RING_CHUNK_NR, &parts);
	m0_front__slots_grow(slots, parts.gp_slots);
	return true;
}

bool m0_front__incomings_grow(struct m0_lnet *lnet)
{
	struct m0_ring_view *view = &lnet->fro_incomings;
	size_t bytes = sizeof(struct m0_front_incoming) * M0_RING_CHUNK_NR;
	struct parts parts;

	M0_PRE(lnet->fro_node != NULL || lnet->fro_pump != NULL);
	if (lnet->fro_embed.emb_incoming_chunks_nr == view->rvi_chunks_max)
		return false;
	parts.gp_slots = m0_alloc_aligned(bytes, 6);
	if (!parts_make(lnet, M0_RING_INCOMINGS, &parts)) {
		if (parts.gp_slots != NULL)
			m0_free_aligned(parts.gp_slots, bytes, 6);
		return false;
	}
	view->rvi_chunks[lnet->fro_embed.emb_incoming_chunks_nr] =
		parts.gp_slots;
	parts_add(lnet, M0_RING_INCOMINGS,
		  lnet->fro_embed.emb_incoming_chunks_nr, &parts);
	++lnet->fro_embed.emb_incoming_chunks_nr;
	return true;
}
