/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Requests with bulk, for the suite. */
#include "rt_bulk.h"

enum {
	OP_BULK = 200
};

/* Side of the server: a request that it works on. */
struct job {
	struct m0_rpc_bulk  jb_rb;
	struct m0_rpc_item *jb_item;
	uint64_t            jb_key;
	bool                jb_is_put;
	m0_bcount_t         jb_nr;
	uint8_t            *jb_mem;
};

struct rt_bulk                     rt_bulk;
static struct m0_rpc_item_type_ops bulk_ops;
static struct m0_rpc_item_type     bulk_type = {
	    .rit_opcode = OP_BULK,
	    .rit_ops = &bulk_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	    .rit_name = "bulk",
};

/* Deadline of bulk that is begun anew as often as chance demands. In simulated time
 * it takes 6 s at most; with threads the machine may be slow. */
static m0_time_t long_ns(void)
{
	return (cf.c_sim ? 20 : 600) * M0_TIME_ONE_SECOND;
}

static void fill(uint8_t *mem, m0_bcount_t nr, uint64_t key)
{
	m0_bcount_t i;

	for (i = 0; i < nr; ++i)
		mem[i] = (uint8_t)(key + i + (i >> 11));
}

static bool is_filled(const uint8_t *mem, m0_bcount_t nr, uint64_t key)
{
	m0_bcount_t i;

	for (i = 0; i < nr; ++i)
		if (mem[i] != (uint8_t)(key + i + (i >> 11)))
			return false;
	return true;
}

/* ---------------------------------------------------------------- server -- */

/* Answered now, or when the case says so. */
static void answer(struct m0_rpc_item *item, int rc)
{
	if (rc == 0 && cf_get(&rt_bulk.rtb_keeps)) {
		rt_bulk.rtb_kept[rt_bulk.rtb_kept_nr] = item;
		cf_inc(&rt_bulk.rtb_kept_nr);
		return;
	}
	m0_rpc_reply_rc(item, rc);
	m0_rpc_item_put(item);
}

void rt_bulk_answer(void)
{
	int i;

	cf_set(&rt_bulk.rtb_keeps, false);
	for (i = 0; i < rt_bulk.rtb_kept_nr; ++i)
		answer(rt_bulk.rtb_kept[i], 0);
	rt_bulk.rtb_kept_nr = 0;
}

static void job_end(struct job *job, int rc)
{
	if (rc == 0 && !job->jb_is_put &&
	    !is_filled(job->jb_mem, job->jb_nr, job->jb_key))
		rc = -EILSEQ;
	answer(job->jb_item, rc);
	m0_rpc_bulk_fini(&job->jb_rb);
	m0_free(job->jb_mem);
	m0_free(job);
}

static void job_done(struct m0_rpc_bulk *rb)
{
	job_end(container_of(rb, struct job, jb_rb), rb->rb_rc);
}

/* Number of descriptors in a body, or why it has none. */
static int descs_get(const struct m0_rpc_raw *raw, struct job *job,
		     struct m0_net_buf_desc_data *desc)
{
	const uint8_t *at = raw->rr_data;
	m0_bcount_t    left = raw->rr_nr;
	int            nr = 0;
	int64_t        used;

	if (left < 16)
		return -EPROTO;
	memcpy(&job->jb_key, at, 8);
	job->jb_is_put = at[8];
	for (at += 16, left -= 16; left > 0; left -= (m0_bcount_t)used) {
		if (nr == RT_DESCS_MAX)
			return -EPROTO;
		used = m0_rpc_bulk_desc_get(at, left, &desc[nr]);
		if (used < 0)
			return (int)used;
		/* The claim of an unknown peer is no reason to allocate
		 * memory. */
		if (desc[nr].bdd_used > 64 * MIB)
			return -EMSGSIZE;
		job->jb_nr += desc[nr++].bdd_used;
		at += used;
	}
	return nr;
}

static int job_begin(struct job *job, struct m0_rpc_machine *machine)
{
	struct m0_net_buf_desc_data desc[RT_DESCS_MAX];
	m0_bcount_t                 count;
	void                       *addr;
	struct m0_bufvec            memory = M0_BUFVEC_INIT_BUF(&addr, &count);
	int nr = descs_get(m0_rpc_raw_of(job->jb_item), job, desc);

	if (nr <= 0)
		return nr < 0 ? nr : -EPROTO;
	job->jb_mem = addr = m0_alloc(job->jb_nr);
	count = job->jb_nr;
	memory.ov_vec.v_nr = 1;
	if (job->jb_is_put)
		fill(job->jb_mem, job->jb_nr, job->jb_key);
	nr = m0_rpc_bulk_add_as(&job->jb_rb, &memory, machine->rm_tm.ntm_dom,
				desc, (uint32_t)nr);
	if (nr != 0)
		return nr;
	m0_rpc_bulk_qtype(&job->jb_rb, job->jb_is_put
					       ? M0_NET_QT_ACTIVE_BULK_SEND
					       : M0_NET_QT_ACTIVE_BULK_RECV);
	return m0_rpc_bulk_load_for(&job->jb_rb, job->jb_item, desc);
}

void rt_bulk_serve(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	struct job *job = m0_alloc(sizeof *job);
	int         rc;

	job->jb_item = item;
	m0_rpc_bulk_init(&job->jb_rb);
	job->jb_rb.rb_done = job_done;
	if (item->ri_stream != 0)
		job->jb_rb.rb_timeout_ns = long_ns();
	rc = job_begin(job, machine);
	if (rc != 0)
		job_end(job, rc);
}

static void bulk_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	m0_rpc_item_get(item);
	if (!cf_get(&rt_bulk.rtb_holds)) {
		rt_bulk_serve(machine, item);
		return;
	}
	rt_bulk.rtb_held[rt_bulk.rtb_held_nr] = item;
	cf_inc(&rt_bulk.rtb_held_nr);
}

/* ---------------------------------------------------------------- client -- */

static void deal_done(struct m0_rpc_bulk *rb)
{
	cf_inc(&container_of(rb, struct rt_deal, dl_rb)->dl_done);
}

static struct rt_deal *deals[64];
static int             deals_nr;

/* In rio_replied: with the answer the bytes are there. */
static bool deal_replied(struct rt_item *item)
{
	struct rt_deal *d = item->rti_raw.rr_item.ri_app_private;

	d->dl_is_right = !d->dl_is_put ||
			 m0_rpc_item_error(&item->rti_raw.rr_item) != 0 ||
			 is_filled(d->dl_mem, d->dl_nr, d->dl_key);
	return false;
}

static void body_make(struct rt_deal *d)
{
	uint8_t *at = d->dl_body;
	int      i;

	memcpy(at, &d->dl_key, 8);
	memset(at + 8, 0, 8);
	at[8] = d->dl_is_put;
	for (at += 16, i = 0; i < d->dl_descs_nr; ++i)
		at += m0_rpc_bulk_desc_put(at, &d->dl_desc[i]);
	d->dl_item->rti_raw.rr_data = d->dl_body;
	d->dl_item->rti_raw.rr_nr = (m0_bcount_t)(at - d->dl_body);
}

struct rt_deal *rt_deal_new(struct rt_client *c, m0_bcount_t nr, bool is_put,
			    uint64_t key)
{
	struct rt_deal  *d = m0_alloc(sizeof *d);
	m0_bcount_t      count[2] = { nr / 3, nr - nr / 3 };
	void            *addr[2];
	struct m0_bufvec memory = { .ov_vec = { .v_nr = 2, .v_count = count },
				    .ov_buf = addr };
	uint32_t         stream = 0;

	m0_rpc_bulk_init(&d->dl_rb);
	d->dl_rb.rb_done = deal_done;
	d->dl_key = key;
	d->dl_is_put = is_put;
	d->dl_nr = nr;
	addr[0] = d->dl_mem = m0_alloc(nr);
	addr[1] = d->dl_mem + nr / 3;
	if (!is_put)
		fill(d->dl_mem, nr, key);
	d->dl_descs_nr = m0_rpc_bulk_add(&d->dl_rb, &memory,
					 cf_dom(c->rtc_machine->rtm_dom));
	CF_TRUE(d->dl_descs_nr > 0 && d->dl_descs_nr <= RT_DESCS_MAX,
		"%d buffers", d->dl_descs_nr);
	m0_rpc_bulk_qtype(&d->dl_rb, is_put ? M0_NET_QT_PASSIVE_BULK_RECV
					    : M0_NET_QT_PASSIVE_BULK_SEND);
	if (rt_bulk.rtb_streams > 0) {
		stream = 1 + (uint32_t)deals_nr % rt_bulk.rtb_streams;
		d->dl_rb.rb_timeout_ns = long_ns();
	}
	d->dl_item = rt_item(c, RT_ECHO, stream, key);
	if (stream != 0)
		d->dl_item->rti_raw.rr_item.ri_expires =
			m0_time_add(m0_time_now(), long_ns());
	CF_EQ(rt_bulk.rtb_for
		      ? m0_rpc_bulk_store_for(&d->dl_rb,
					      &d->dl_item->rti_raw.rr_item,
					      d->dl_desc)
		      : m0_rpc_bulk_store(&d->dl_rb, &c->rtc_conn, d->dl_desc),
	      0, "store");
	d->dl_item->rti_raw.rr_item.ri_type = &bulk_type;
	d->dl_item->rti_raw.rr_item.ri_app_private = d;
	d->dl_item->rti_hook = deal_replied;
	body_make(d);
	deals[deals_nr++] = d;
	return d;
}

void rt_deal_ends(struct rt_deal *d, int rc)
{
	rt_item_wait(d->dl_item);
	CF_EQ(m0_rpc_item_error(&d->dl_item->rti_raw.rr_item), rc,
	      "the answer");
	CF_TRUE(d->dl_is_right, "the bytes were there with the answer");
	if (rc != 0)
		m0_rpc_bulk_store_del(&d->dl_rb);
	rt_wait_count(&d->dl_done, 1, "the end of the offer");
	CF_TRUE(m0_rpc_bulk_is_empty(&d->dl_rb), "the list is empty");
	if (rc == 0)
		CF_EQ(d->dl_rb.rb_moved, d->dl_nr, "bytes moved");
}

void rt_deals_free(void)
{
	while (deals_nr > 0) {
		struct rt_deal *d = deals[--deals_nr];
		int             i;

		for (i = 0; i < d->dl_descs_nr; ++i)
			m0_net_desc_free(&d->dl_desc[i].bdd_desc);
		m0_rpc_bulk_fini(&d->dl_rb);
		m0_free(d->dl_mem);
		m0_free(d);
	}
}

void rt_bulk_begin(void)
{
	M0_SET0(&rt_bulk);
	deals_nr = 0;
	bulk_ops = m0_rpc_raw_ops;
	bulk_ops.rito_deliver = bulk_deliver;
	/* Known from the seed before, perhaps. */
	if (m0_rpc_item_type_lookup(OP_BULK) == NULL)
		CF_EQ(m0_rpc_item_type_register(&bulk_type), 0, "register");
}
