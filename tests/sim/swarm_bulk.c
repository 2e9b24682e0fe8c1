/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Items with bulk: the client offers memory, the service reads or fills it. */
#include "swarm.h"

enum {
	TIMEOUT_MS = 5000,
	/** Time-out of streams: until the request's own deadline. */
	STREAM_TIMEOUT_MS = 25000,
	BYTES_MAX_LOG = 17
};

/** At either end. */
struct sw_bulk {
	struct m0_rpc_bulk  b_rb;
	struct m0_rpc_item *b_request;
	unsigned            b_nr;
	/** The service fills the client's memory. */
	bool        b_fills;
	uint8_t    *b_mem;
	m0_bcount_t b_mem_nr;
	uint8_t    *b_body;
	m0_bcount_t b_body_nr;
};

static uint8_t byte_of(unsigned nr, m0_bcount_t i)
{
	return (uint8_t)(nr * 41 + i * 3 + (i >> 9));
}

static void fill(struct sw_bulk *bulk)
{
	m0_bcount_t i;

	for (i = 0; i < bulk->b_mem_nr; ++i)
		bulk->b_mem[i] = byte_of(bulk->b_nr, i);
}

static void look(const struct sw_bulk *bulk)
{
	m0_bcount_t i;

	/* Only packets have sums. */
	if (sw.w_faults & SW_RULE_CORRUPT)
		return;
	for (i = 0; i < bulk->b_mem_nr; ++i)
		SW_TRUE(bulk->b_mem[i] == byte_of(bulk->b_nr, i),
			"byte %lu of the bulk of item %u is wrong",
			(unsigned long)i, bulk->b_nr);
}

static struct sw_bulk *bulk_init(unsigned nr, bool fills, m0_bcount_t bytes,
				 bool stream)
{
	struct sw_bulk *bulk = calloc(1, sizeof *bulk);

	bulk->b_nr = nr;
	bulk->b_fills = fills;
	bulk->b_mem_nr = bytes;
	bulk->b_mem = calloc(1, bytes);
	m0_rpc_bulk_init(&bulk->b_rb);
	bulk->b_rb.rb_timeout_ns = (stream ? STREAM_TIMEOUT_MS : TIMEOUT_MS) *
				   M0_TIME_ONE_MSEC;
	return bulk;
}

void sw_bulk_free(struct sw_bulk *bulk)
{
	m0_rpc_bulk_fini(&bulk->b_rb);
	free(bulk->b_mem);
	free(bulk->b_body);
	free(bulk);
}

/* -- the client ---------------------------------------------------------------- */

static int offer(struct sw_bulk *bulk, struct sw_node *node,
		 struct m0_rpc_conn *conn, const struct m0_rpc_item *request,
		 const void *head, size_t head_nr)
{
	void            *addr = bulk->b_mem;
	struct m0_bufvec vec = M0_BUFVEC_INIT_BUF(&addr, &bulk->b_mem_nr);
	struct m0_net_buf_desc_data desc;
	int                         rc;

	SW_TRUE(m0_rpc_bulk_add(&bulk->b_rb, &vec, &node->n_dom) == 1,
		"memory for bulk");
	m0_rpc_bulk_qtype(&bulk->b_rb, bulk->b_fills
					       ? M0_NET_QT_PASSIVE_BULK_RECV
					       : M0_NET_QT_PASSIVE_BULK_SEND);
	rc = request != NULL
		     ? m0_rpc_bulk_store_for(&bulk->b_rb, request, &desc)
		     : m0_rpc_bulk_store(&bulk->b_rb, conn, &desc);
	if (rc != 0)
		return rc;
	bulk->b_body_nr = head_nr + 1 + m0_rpc_bulk_desc_size(&desc);
	bulk->b_body = malloc(bulk->b_body_nr);
	memcpy(bulk->b_body, head, head_nr);
	bulk->b_body[head_nr] = bulk->b_fills;
	(void)m0_rpc_bulk_desc_put(bulk->b_body + head_nr + 1, &desc);
	m0_net_desc_free(&desc.bdd_desc);
	return 0;
}

struct sw_bulk *sw_bulk_new(struct sw_node *node, struct m0_rpc_conn *conn,
			    const struct m0_rpc_item *request, const void *head,
			    size_t head_nr, unsigned nr)
{
	bool            fills = sw_one_in(2);
	m0_bcount_t     bytes = 1 + sw_rand(1ULL << sw_rand(BYTES_MAX_LOG));
	struct sw_bulk *bulk = bulk_init(nr, fills, bytes, true);

	if (!bulk->b_fills)
		fill(bulk);
	if (offer(bulk, node, conn, request, head, head_nr) != 0) {
		SW_TRUE(m0_rpc_bulk_is_empty(&bulk->b_rb),
			"bulk that was not offered");
		sw_bulk_free(bulk);
		return NULL;
	}
	++sw_sums.s_bulks_nr;
	return bulk;
}

const void *sw_bulk_body(const struct sw_bulk *bulk, m0_bcount_t *ret_nr)
{
	*ret_nr = bulk->b_body_nr;
	return bulk->b_body;
}

void sw_bulk_look(const struct sw_bulk *bulk)
{
	look(bulk);
	++sw_sums.s_bulks_good_nr;
}

void sw_bulk_end(struct sw_bulk *bulk)
{
	m0_rpc_bulk_store_del(&bulk->b_rb);
}

bool sw_bulk_is_over(struct sw_bulk *bulk)
{
	return m0_rpc_bulk_is_empty(&bulk->b_rb);
}

/* -- the service --------------------------------------------------------------- */

static void job_end(struct sw_bulk *job, int rc)
{
	if (rc == 0 && !job->b_fills)
		look(job);
	m0_rpc_reply_rc(job->b_request, rc);
	m0_rpc_item_put(job->b_request);
	sw_bulk_free(job);
}

static void job_done(struct m0_rpc_bulk *rb)
{
	job_end(container_of(rb, struct sw_bulk, b_rb), rb->rb_rc);
}

static int job_begin(struct sw_bulk *job, struct m0_rpc_machine *machine,
		     const struct m0_net_buf_desc_data *desc)
{
	void            *addr = job->b_mem;
	struct m0_bufvec vec = M0_BUFVEC_INIT_BUF(&addr, &job->b_mem_nr);
	int              rc;

	rc = m0_rpc_bulk_add_as(&job->b_rb, &vec, machine->rm_tm.ntm_dom, desc,
				1);
	if (rc != 0)
		return rc;
	m0_rpc_bulk_qtype(&job->b_rb, job->b_fills
					      ? M0_NET_QT_ACTIVE_BULK_SEND
					      : M0_NET_QT_ACTIVE_BULK_RECV);
	return m0_rpc_bulk_load_for(&job->b_rb, job->b_request, desc);
}

void sw_bulk_serve(struct m0_rpc_machine *machine, struct m0_rpc_item *request,
		   unsigned nr, size_t head_nr)
{
	const struct m0_rpc_raw    *raw = m0_rpc_raw_of(request);
	const uint8_t              *at = raw->rr_data;
	struct m0_net_buf_desc_data desc;
	struct sw_bulk             *job;
	int                         rc;

	SW_TRUE(raw->rr_nr > head_nr + 1 &&
			m0_rpc_bulk_desc_get(at + head_nr + 1,
					     raw->rr_nr - head_nr - 1,
					     &desc) > 0,
		"request %u has no descriptor", nr);
	job = bulk_init(nr, at[head_nr] != 0, desc.bdd_used,
			request->ri_stream != 0);
	job->b_request = request;
	job->b_rb.rb_done = job_done;
	m0_rpc_item_get(request);
	if (job->b_fills)
		fill(job);
	rc = job_begin(job, machine, &desc);
	if (rc != 0)
		job_end(job, rc);
}
