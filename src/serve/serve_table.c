/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Tables of what the process has given a number.
 */
#include "serve/serve_internal.h"

int m0_serve__table_init(struct m0_serve_table *table, uint32_t max,
			 uint32_t bytes)
{
	uint32_t chunks = (max + M0_RING_CHUNK_NR - 1) / M0_RING_CHUNK_NR;

	M0_ALLOC_ARR(table->vta_chunks, chunks);
	if (table->vta_chunks == NULL)
		return -ENOMEM;
	table->vta_max = max;
	table->vta_bytes = bytes;
	return 0;
}

void m0_serve__table_fini(struct m0_serve_table *table)
{
	uint32_t i;

	if (table->vta_chunks == NULL)
		return;
	for (i = 0; i * M0_RING_CHUNK_NR < table->vta_max; ++i)
		m0_free(table->vta_chunks[i]);
	m0_free0(&table->vta_chunks);
}

void *m0_serve__at(const struct m0_serve_table *table, uint32_t nr)
{
	char *chunk;

	M0_PRE_EX(nr < table->vta_max);
	chunk = table->vta_chunks[nr / M0_RING_CHUNK_NR];
	return chunk == NULL ? NULL
			     : chunk + (size_t)(nr % M0_RING_CHUNK_NR) *
					       table->vta_bytes;
}

void *m0_serve__make(struct m0_serve_table *table, uint32_t nr)
{
	void **chunk;

	M0_PRE_EX(nr < table->vta_max);
	chunk = &table->vta_chunks[nr / M0_RING_CHUNK_NR];
	if (*chunk == NULL)
		*chunk = m0_alloc((size_t)M0_RING_CHUNK_NR * table->vta_bytes);
	return *chunk == NULL ? NULL : m0_serve__at(table, nr);
}

int m0_serve__broken(struct m0_serve *srv, const char *field, uint64_t value,
		     const char *words)
{
	return m0_shared_refuse_as(&srv->srv_why, -EPROTO, field, value, words);
}
