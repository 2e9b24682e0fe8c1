/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The buffers of a side. */
#include "perf_run.h"

enum {
	SPARE = 4
};

bool perf_is_bulk(const struct perf_run *run)
{
	return run->pn_row->prw_test == PERF_PUT ||
	       run->pn_row->prw_test == PERF_GET;
}

/* How many message buffers a side needs. */
static void side_count(struct perf_side *side)
{
	const struct perf_row *row = side->pe_run->pn_row;
	bool                   a = side->pe_is_a;

	side->pe_in_nr = SPARE;
	side->pe_out_nr = SPARE;
	if (row->prw_test == PERF_RATE && a)
		side->pe_out_nr = PERF_WINDOWS * row->prw_depth;
	else if (row->prw_test == PERF_RATE)
		side->pe_in_nr = PERF_WINDOWS * row->prw_depth;
	else if (perf_is_bulk(side->pe_run) && a)
		side->pe_in_nr = row->prw_depth + SPARE;
	else if (perf_is_bulk(side->pe_run))
		side->pe_out_nr = row->prw_depth + SPARE;
	side->pe_bulk_nr = perf_is_bulk(side->pe_run) ? row->prw_depth : 0;
}

static enum m0_net_queue_type bulk_queue(const struct perf_side *side)
{
	bool put = side->pe_run->pn_row->prw_test == PERF_PUT;

	if (side->pe_is_a)
		return put ? M0_NET_QT_ACTIVE_BULK_SEND
			   : M0_NET_QT_ACTIVE_BULK_RECV;
	return put ? M0_NET_QT_PASSIVE_BULK_RECV : M0_NET_QT_PASSIVE_BULK_SEND;
}

static int side_bulk_init(struct perf_side *side)
{
	uint32_t i;
	int      rc = 0;

	for (i = 0; i < side->pe_bulk_nr && rc == 0; ++i) {
		struct perf_bulk *bulk = &side->pe_bulk[i];

		rc = tool_buffer_init(&bulk->pb_nb, &side->pe_node.tn_dom,
				      side->pe_run->pn_row->prw_size);
		bulk->pb_nb.nb_qtype = bulk_queue(side);
		bulk->pb_nb.nb_callbacks = &perf_callbacks;
		bulk->pb_side = side;
		perf_bulk_put(bulk);
	}
	return rc;
}

static int side_out_init(struct perf_side *side, m0_bcount_t size)
{
	uint32_t i;
	int      rc = 0;

	for (i = 0; i < side->pe_out_nr && rc == 0; ++i) {
		struct perf_out *out = &side->pe_out[i];

		rc = tool_buffer_init(&out->po_nb, &side->pe_node.tn_dom, size);
		out->po_nb.nb_qtype = M0_NET_QT_MSG_SEND;
		out->po_nb.nb_callbacks = &perf_callbacks;
		out->po_side = side;
		out->po_next = side->pe_out_free;
		side->pe_out_free = out;
	}
	return rc;
}

static int side_in_init(struct perf_side *side, m0_bcount_t size)
{
	uint32_t i;
	int      rc = 0;

	for (i = 0; i < side->pe_in_nr && rc == 0; ++i) {
		struct m0_net_buffer *nb = &side->pe_in[i];

		rc = tool_buffer_init(nb, &side->pe_node.tn_dom, size);
		if (rc != 0)
			break;
		nb->nb_qtype = M0_NET_QT_MSG_RECV;
		nb->nb_callbacks = &perf_callbacks;
		nb->nb_app_private = side;
		nb->nb_min_receive_size = size;
		nb->nb_max_receive_msgs = 1;
		rc = m0_net_buffer_add(nb, &side->pe_node.tn_tm);
	}
	return rc;
}

int perf_bufs_init(struct perf_side *side)
{
	struct m0_net_domain *dom = &side->pe_node.tn_dom;
	m0_bcount_t           size = max64u(
			  perf_is_bulk(side->pe_run) ? 0 : side->pe_run->pn_row->prw_size,
		max64u(m0_net_domain_get_max_buffer_desc_size(dom),
		       PERF_TOKEN_BYTES));
	int rc;

	side_count(side);
	M0_ALLOC_ARR(side->pe_in, side->pe_in_nr);
	M0_ALLOC_ARR(side->pe_out, side->pe_out_nr);
	M0_ALLOC_ARR(side->pe_bulk, max64u(side->pe_bulk_nr, 1));
	M0_ALLOC_ARR(side->pe_descs, max64u(side->pe_bulk_nr, 1));
	if (side->pe_in == NULL || side->pe_out == NULL ||
	    side->pe_bulk == NULL || side->pe_descs == NULL)
		return -ENOMEM;
	rc = side_out_init(side, size);
	if (rc == 0)
		rc = side_bulk_init(side);
	if (rc == 0)
		rc = side_in_init(side, size);
	return rc;
}

void perf_bufs_fini(struct perf_side *side)
{
	uint32_t i;

	for (i = 0; side->pe_in != NULL && i < side->pe_in_nr; ++i)
		tool_buffer_fini(&side->pe_in[i]);
	for (i = 0; side->pe_out != NULL && i < side->pe_out_nr; ++i)
		tool_buffer_fini(&side->pe_out[i].po_nb);
	for (i = 0; side->pe_bulk != NULL && i < side->pe_bulk_nr; ++i)
		tool_buffer_fini(&side->pe_bulk[i].pb_nb);
	m0_free(side->pe_in);
	m0_free(side->pe_out);
	while (side->pe_descs_nr > 0)
		m0_net_desc_free(&side->pe_descs[--side->pe_descs_nr]);
	m0_free(side->pe_bulk);
	m0_free(side->pe_descs);
}

uint32_t perf_depth_default(enum perf_test test)
{
	return test == PERF_LATENCY ? 1 : test == PERF_RATE ? 64 : 8;
}

uint64_t perf_memory(enum perf_test test, uint64_t size, uint32_t depth)
{
	return test == PERF_LATENCY ? 4 * SPARE * size
				    : (PERF_WINDOWS * depth + SPARE) * 2 * size;
}
