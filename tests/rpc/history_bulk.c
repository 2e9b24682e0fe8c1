/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Appends of the history checker that move bulk first, one way or the other. */
#include "history.h"
#include "m0/rpc_bulk.h"

/** At either end. */
struct hi_bulk {
	struct m0_rpc_bulk  hb_rb;
	struct m0_rpc_item *hb_item;
	unsigned            hb_op;
	m0_bcount_t         hb_nr;
	uint8_t             hb_mem[HI_BULK_MAX];
	uint8_t             hb_body[2 * sizeof(uint64_t) + HI_DESC_MAX];
};

static bool is_put(unsigned op)
{
	return op % 2;
}

static m0_bcount_t size_of(unsigned op)
{
	return 1 + op * 37 % HI_BULK_MAX;
}

static uint8_t byte_of(unsigned op, m0_bcount_t i)
{
	return (uint8_t)(op * 41 + i * 3 + 1);
}

static void fill(struct hi_bulk *b)
{
	m0_bcount_t i;

	for (i = 0; i < b->hb_nr; ++i)
		b->hb_mem[i] = byte_of(b->hb_op, i);
}

static void look(const struct hi_bulk *b)
{
	m0_bcount_t i;

	for (i = 0; i < b->hb_nr; ++i)
		CF_EQ(b->hb_mem[i], byte_of(b->hb_op, i), "byte %u of %u",
		      (unsigned)i, b->hb_op);
}

static struct hi_bulk *bulk_new(unsigned op, unsigned dom,
				enum m0_net_queue_type q)
{
	struct hi_bulk  *b = calloc(1, sizeof *b);
	void            *addr = b->hb_mem;
	struct m0_bufvec memory = M0_BUFVEC_INIT_BUF(&addr, &b->hb_nr);

	b->hb_op = op;
	b->hb_nr = size_of(op);
	m0_rpc_bulk_init(&b->hb_rb);
	b->hb_rb.rb_timeout_ns = 2 * HI_TIMEOUT_MS * M0_TIME_ONE_MSEC;
	CF_EQ(m0_rpc_bulk_add(&b->hb_rb, &memory, cf_dom(dom)), 1, "memory");
	m0_rpc_bulk_qtype(&b->hb_rb, q);
	return b;
}

static void bulk_free(struct hi_bulk *b)
{
	m0_rpc_bulk_fini(&b->hb_rb);
	free(b);
}

/* ---------------------------------------------------------------- client -- */

bool hi_bulk_offer(struct hi_op *o, unsigned op)
{
	struct m0_net_buf_desc_data desc;
	struct hi_bulk             *b;
	m0_bcount_t                 nr = HI_RECORD;

	b = bulk_new(op, 1,
		     is_put(op) ? M0_NET_QT_PASSIVE_BULK_SEND
				: M0_NET_QT_PASSIVE_BULK_RECV);
	if (is_put(op))
		fill(b);
	if (m0_rpc_bulk_store_for(&b->hb_rb, &o->ho_raw.rr_item, &desc) != 0) {
		CF_TRUE(m0_rpc_bulk_is_empty(&b->hb_rb), "it is given up");
		bulk_free(b);
		return false;
	}
	CF_TRUE(m0_rpc_bulk_desc_size(&desc) <= HI_DESC_MAX, "a descriptor");
	memcpy(b->hb_body, o->ho_body, nr);
	nr += m0_rpc_bulk_desc_put(b->hb_body + nr, &desc);
	m0_net_desc_free(&desc.bdd_desc);
	o->ho_raw.rr_data = b->hb_body;
	o->ho_raw.rr_nr = nr;
	o->ho_bulk = b;
	return true;
}

void hi_bulk_end(struct hi_op *o)
{
	if (o->ho_bulk == NULL)
		return;
	if (!is_put(o->ho_bulk->hb_op) && o->ho_error == 0 &&
	    M0_IN(o->ho_rc, (0, HI_ODD_RC)))
		look(o->ho_bulk);
	m0_rpc_bulk_store_del(&o->ho_bulk->hb_rb);
}

bool hi_bulk_is_over(const struct hi_op *o)
{
	return o->ho_bulk == NULL || m0_rpc_bulk_is_empty(&o->ho_bulk->hb_rb);
}

void hi_bulk_free(struct hi_op *o)
{
	if (o->ho_bulk != NULL)
		bulk_free(o->ho_bulk);
	o->ho_bulk = NULL;
}

/* A reset connection or a lost message is no outcome of a request that had time
 * left. */
void hi_bulk_check(const struct hi_op *o, unsigned nr)
{
	if (!o->ho_is_bulk || o->ho_error != 0 ||
	    o->ho_end + 2 * HI_LATE_MS * M0_TIME_ONE_MSEC > o->ho_by)
		return;
	CF_TRUE(M0_IN(o->ho_rc, (0, HI_ODD_RC, -EIO, -ECANCELED)),
		"%u: bulk ended with %s, %u ms before its time", nr,
		m0_errname(o->ho_rc),
		(unsigned)((o->ho_by - o->ho_end) / M0_TIME_ONE_MSEC));
}

/* ---------------------------------------------------------------- server -- */

static void job_end(struct hi_bulk *job, int rc)
{
	if (rc == 0 && is_put(job->hb_op))
		look(job);
	if (rc == 0)
		m0_rpc_update_post(job->hb_item, hi_update);
	else
		m0_rpc_reply_rc(job->hb_item, rc);
	m0_rpc_item_put(job->hb_item);
	bulk_free(job);
}

static void job_done(struct m0_rpc_bulk *rb)
{
	job_end(container_of(rb, struct hi_bulk, hb_rb), rb->rb_rc);
}

void hi_bulk_deliver(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	const struct m0_rpc_raw    *raw = m0_rpc_raw_of(item);
	const uint8_t              *at = raw->rr_data;
	m0_bcount_t                 head = HI_RECORD;
	struct m0_net_buf_desc_data desc;
	struct hi_bulk             *job;
	uint64_t                    op;
	int                         rc;

	(void)machine;
	memcpy(&op, at, sizeof op);
	CF_TRUE(m0_rpc_bulk_desc_get(at + head, raw->rr_nr - head, &desc) > 0,
		"%u has a descriptor", (unsigned)op);
	job = bulk_new((unsigned)op, 0,
		       is_put((unsigned)op) ? M0_NET_QT_ACTIVE_BULK_RECV
					    : M0_NET_QT_ACTIVE_BULK_SEND);
	if (!is_put((unsigned)op))
		fill(job);
	job->hb_item = item;
	job->hb_rb.rb_done = job_done;
	m0_rpc_item_get(item);
	rc = m0_rpc_bulk_load_for(&job->hb_rb, item, &desc);
	if (rc != 0)
		job_end(job, rc);
}
