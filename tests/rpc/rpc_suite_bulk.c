/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests with bulk: what was moved is there when the answer is, and whatever
 * the peer does, request and list both end.
 */
#include "m0/rpc_bulk.h"
#include "rt.h"

enum {
	OP_BULK = 200,
	DESCS_MAX = 16,
	BODY_MAX = 8192,
	KIB = 1 << 10,
	MIB = 1 << 20
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

/* Side of the client: a request and the memory it names. */
struct deal {
	struct m0_rpc_bulk          dl_rb;
	struct rt_item             *dl_item;
	uint64_t                    dl_key;
	bool                        dl_is_put;
	m0_bcount_t                 dl_nr;
	uint8_t                    *dl_mem;
	struct m0_net_buf_desc_data dl_desc[DESCS_MAX];
	int                         dl_descs_nr;
	int                         dl_done;
	/** The bytes were right when the answer came. */
	bool    dl_is_right;
	uint8_t dl_body[BODY_MAX];
};

static struct rt_machine          *s;
static struct rt_machine          *m;
static struct rt_client           *c;
static struct m0_rpc_item_type_ops bulk_ops;
static struct m0_rpc_item_type     bulk_type = {
	    .rit_opcode = OP_BULK,
	    .rit_ops = &bulk_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	    .rit_name = "bulk",
};
/** The handler keeps its items here, for held_go(). */
static int                 holds;
static struct m0_rpc_item *held;
static int                 held_nr;

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

static void job_end(struct job *job, int rc)
{
	if (rc == 0 && !job->jb_is_put &&
	    !is_filled(job->jb_mem, job->jb_nr, job->jb_key))
		rc = -EILSEQ;
	m0_rpc_reply_rc(job->jb_item, rc);
	m0_rpc_item_put(job->jb_item);
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
		if (nr == DESCS_MAX)
			return -EPROTO;
		used = m0_rpc_bulk_desc_get(at, left, &desc[nr]);
		if (used < 0)
			return (int)used;
		/* What a stranger says is no reason to allocate it. */
		if (desc[nr].bdd_used > 64 * MIB)
			return -EMSGSIZE;
		job->jb_nr += desc[nr++].bdd_used;
		at += used;
	}
	return nr;
}

static int job_begin(struct job *job, struct m0_rpc_machine *machine)
{
	struct m0_net_buf_desc_data desc[DESCS_MAX];
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

static void serve(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	struct job *job = m0_alloc(sizeof *job);
	int         rc;

	job->jb_item = item;
	m0_rpc_bulk_init(&job->jb_rb);
	job->jb_rb.rb_done = job_done;
	rc = job_begin(job, machine);
	if (rc != 0)
		job_end(job, rc);
}

static void bulk_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	m0_rpc_item_get(item);
	if (!cf_get(&holds)) {
		serve(machine, item);
		return;
	}
	held = item;
	cf_inc(&held_nr);
}

/* ---------------------------------------------------------------- client -- */

static void deal_done(struct m0_rpc_bulk *rb)
{
	cf_inc(&container_of(rb, struct deal, dl_rb)->dl_done);
}

static struct deal *deals[64];
static int          deals_nr;

/* In rio_replied: with the answer the bytes are there. */
static bool deal_replied(struct rt_item *item)
{
	struct deal *d = item->rti_raw.rr_item.ri_app_private;

	d->dl_is_right = !d->dl_is_put ||
			 m0_rpc_item_error(&item->rti_raw.rr_item) != 0 ||
			 is_filled(d->dl_mem, d->dl_nr, d->dl_key);
	return false;
}

static void body_make(struct deal *d)
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

/* Memory is offered; nothing is posted yet. */
static struct deal *deal_new(m0_bcount_t nr, bool is_put, uint64_t key)
{
	struct deal     *d = m0_alloc(sizeof *d);
	m0_bcount_t      count[2] = { nr / 3, nr - nr / 3 };
	void            *addr[2];
	struct m0_bufvec memory = { .ov_vec = { .v_nr = 2, .v_count = count },
				    .ov_buf = addr };

	m0_rpc_bulk_init(&d->dl_rb);
	d->dl_rb.rb_done = deal_done;
	d->dl_key = key;
	d->dl_is_put = is_put;
	d->dl_nr = nr;
	addr[0] = d->dl_mem = m0_alloc(nr);
	addr[1] = d->dl_mem + nr / 3;
	if (!is_put)
		fill(d->dl_mem, nr, key);
	d->dl_descs_nr =
		m0_rpc_bulk_add(&d->dl_rb, &memory, cf_dom(m->rtm_dom));
	CF_TRUE(d->dl_descs_nr > 0 && d->dl_descs_nr <= DESCS_MAX, "%d buffers",
		d->dl_descs_nr);
	m0_rpc_bulk_qtype(&d->dl_rb, is_put ? M0_NET_QT_PASSIVE_BULK_RECV
					    : M0_NET_QT_PASSIVE_BULK_SEND);
	CF_EQ(m0_rpc_bulk_store(&d->dl_rb, &c->rtc_conn, d->dl_desc), 0,
	      "store");
	d->dl_item = rt_item(c, RT_ECHO, 0, key);
	d->dl_item->rti_raw.rr_item.ri_type = &bulk_type;
	d->dl_item->rti_raw.rr_item.ri_app_private = d;
	d->dl_item->rti_hook = deal_replied;
	body_make(d);
	deals[deals_nr++] = d;
	return d;
}

/* Both ends of it, as they must be; an error withdraws what was offered. */
static void deal_ends(struct deal *d, int rc)
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

static void deals_free(void)
{
	while (deals_nr > 0) {
		struct deal *d = deals[--deals_nr];
		int          i;

		for (i = 0; i < d->dl_descs_nr; ++i)
			m0_net_desc_free(&d->dl_desc[i].bdd_desc);
		m0_rpc_bulk_fini(&d->dl_rb);
		m0_free(d->dl_mem);
		m0_free(d);
	}
}

static void up(void)
{
	cf_set(&holds, false);
	held_nr = 0;
	deals_nr = 0;
	bulk_ops = m0_rpc_raw_ops;
	bulk_ops.rito_deliver = bulk_deliver;
	/* Known from the seed before, perhaps. */
	if (m0_rpc_item_type_lookup(OP_BULK) == NULL)
		CF_EQ(m0_rpc_item_type_register(&bulk_type), 0, "register");
	s = rt_up(0, NULL);
	m = rt_up(1, NULL);
	c = rt_client(m, s);
}

static bool all_ended(void *arg)
{
	(void)arg;
	return rt_stats(s).rs_executing == 0;
}

static void down(void)
{
	rt_wait(all_ended, NULL, "the server's work");
	rt_client_end(c);
	m0_rpc_machine_stop(&m->rtm_machine, true);
	m0_rpc_machine_stop(&s->rtm_machine, true);
	deals_free();
}

/* ----------------------------------------------------------------- cases -- */

/* Either way, one at a time, from one byte to several buffers. */
RT_CASE(sizes)
{
	static const m0_bcount_t nrs[] = { 3, 4 * KIB, MIB + 3, 17 * MIB };
	size_t                   i;
	int                      put;

	up();
	for (i = 0; i < ARRAY_SIZE(nrs); ++i)
		for (put = 0; put < 2; ++put) {
			struct deal *d = deal_new(nrs[i], put, i + 1);

			CF_EQ(rt_post(d->dl_item), 0, "post");
			deal_ends(d, 0);
		}
	down();
}

/* Many at once, both ways, with others between. */
RT_CASE(many)
{
	struct deal    *d[24];
	struct rt_item *i[24];
	int             k;

	up();
	for (k = 0; k < 24; ++k) {
		d[k] = deal_new(1 + cf_rand(100 * KIB) + 2, k % 2, (uint64_t)k);
		CF_EQ(rt_post(d[k]->dl_item), 0, "post");
		i[k] = rt_ask(c, RT_ECHO, (uint32_t)k % 3, (uint64_t)k);
	}
	for (k = 0; k < 24; ++k) {
		deal_ends(d[k], 0);
		rt_ends(i[k], 0, "echo");
	}
	down();
}

/* Bodies that are none, and descriptors that lie: an error each, the machine
 * goes on. */
RT_CASE(lies)
{
	struct deal *d;
	size_t       first = 16;

	up();
	/* No descriptor at all; half of one. */
	d = deal_new(64 * KIB, true, 1);
	d->dl_item->rti_raw.rr_nr = 16;
	CF_EQ(rt_post(d->dl_item), 0, "post");
	deal_ends(d, -EPROTO);
	d = deal_new(64 * KIB, true, 2);
	d->dl_item->rti_raw.rr_nr -= 8;
	CF_EQ(rt_post(d->dl_item), 0, "post");
	deal_ends(d, -EPROTO);
	/* A huge length; one byte of the descriptor's. */
	d = deal_new(64 * KIB, false, 3);
	memset(d->dl_body + first, 0xff, 8);
	CF_EQ(rt_post(d->dl_item), 0, "post");
	deal_ends(d, -EMSGSIZE);
	d = deal_new(64 * KIB, false, 4);
	d->dl_body[first + 16 + 20] ^= 1;
	CF_EQ(rt_post(d->dl_item), 0, "post");
	deal_ends(d, -EINVAL);
	/* More than it has: nothing is written beyond. */
	d = deal_new(64 * KIB, false, 5);
	d->dl_body[first] += 8;
	CF_EQ(rt_post(d->dl_item), 0, "post");
	rt_item_wait(d->dl_item);
	CF_EQ(m0_rpc_item_error(&d->dl_item->rti_raw.rr_item), -EPROTO,
	      "other than was said");
	rt_wait_count(&d->dl_done, 1, "the end of the offer");
	/* The wrong way round. */
	d = deal_new(64 * KIB, false, 6);
	d->dl_body[8] = 1;
	CF_EQ(rt_post(d->dl_item), 0, "post");
	deal_ends(d, -EPERM);
	d = deal_new(64 * KIB, true, 7);
	CF_EQ(rt_post(d->dl_item), 0, "post");
	deal_ends(d, 0);
	down();
}

/* Withdrawn before the server comes: it is told that it is late. */
RT_CASE(withdrawn)
{
	struct deal *d;

	up();
	cf_set(&holds, true);
	d = deal_new(64 * KIB, true, 1);
	CF_EQ(rt_post(d->dl_item), 0, "post");
	rt_wait_count(&held_nr, 1, "the handler has it");
	m0_rpc_bulk_store_del(&d->dl_rb);
	rt_wait_count(&d->dl_done, 1, "the end of the offer");
	CF_EQ(d->dl_rb.rb_rc, -ECANCELED, "withdrawn");
	/* Sent again, it may come when the first was answered already. */
	cf_set(&holds, false);
	serve(&s->rtm_machine, held);
	rt_item_wait(d->dl_item);
	CF_EQ(m0_rpc_item_error(&d->dl_item->rti_raw.rr_item),
	      cf.c_row->r_stale, "too late");
	down();
}

/* The client stops under an offer: list and request both end. */
RT_CASE(client_stops)
{
	struct deal *d;

	up();
	cf_set(&holds, true);
	d = deal_new(64 * KIB, true, 1);
	CF_EQ(rt_post(d->dl_item), 0, "post");
	rt_wait_count(&held_nr, 1, "the handler has it");
	m0_rpc_machine_stop(&m->rtm_machine, true);
	rt_item_wait(d->dl_item);
	CF_EQ(m0_rpc_item_error(&d->dl_item->rti_raw.rr_item), -ESHUTDOWN,
	      "the request's end");
	CF_EQ(d->dl_done, 1, "the offer's end");
	m0_rpc_reply_rc(held, -EIO);
	m0_rpc_item_put(held);
	down();
}

/* Both have a second address, and the first way is cut: bulk takes the second,
 * from the client's second to the server's. */
RT_CASE(second_way)
{
	struct m0_uint128 service;
	char              addr[2][CF_ADDR_MAX];
	int               put;

	up();
	for (put = 0; put < 2; ++put) {
		cf.c_row->r_addr(addr[put], ++cf.c_addr_nr);
		CF_EQ(m0_rpc_machine_link_add(&s->rtm_machine, addr[put]), 0,
		      "the server's");
	}
	service = c->rtc_conn.c_service;
	CF_EQ(m0_rpc_machine_map_links(
		      &m->rtm_machine, service,
		      (const char *const[]){ addr[0], addr[1] }, 2),
	      0, "the map");
	cf.c_row->r_addr(addr[1], ++cf.c_addr_nr);
	CF_EQ(m0_rpc_machine_link_add(&m->rtm_machine, addr[1]), 0,
	      "the client's");
	rt_ends(rt_ask(c, RT_ECHO, 0, 1), 0, "it is there");
	CF_EQ(m0_rpc_machine_link_del(&s->rtm_machine, addr[0]), 0, "cut");
	for (put = 0; put < 2; ++put) {
		struct deal *d;

		rt_ends(rt_ask(c, RT_ECHO, 1, 2), 0, "over the second");
		d = deal_new(MIB, put, 7);
		CF_EQ(rt_post(d->dl_item), 0, "post");
		deal_ends(d, 0);
	}
	down();
}

const struct cf_case rpc_suite_bulk[] = { { "sizes", sizes },
					  { "many", many },
					  { "lies", lies },
					  { "withdrawn", withdrawn },
					  { "client stops", client_stops },
					  { "second way", second_way },
					  { NULL, NULL } };
