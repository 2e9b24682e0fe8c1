/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Formation on whole machines: order in packets, merging, the bound of packets
 * in flight, groups of streams, pools that machines share. What is to meet in a
 * packet is posted by a callback, so that no step comes between.
 */
#include "rt.h"

enum {
	OP_EXTENT = 210,
	OP_BIG,
	OP_PIECES,
	PIECE = 1024,
	MANY = 24
};

static struct rt_machine *s;
static struct rt_machine *m;
static struct rt_client  *c;
static struct rt_item    *posted[MANY];
static unsigned           posted_nr;
/* Network policy of the next machine, used once; NULL: the default. */
static const struct m0_rpc_frm_network *network;

static void up(const struct m0_rpc_frm_policy *policy, uint64_t in_flight)
{
	struct m0_rpc_cfg cfg;

	rt_cfg(&cfg);
	cfg.rc_policy = policy;
	if (network != NULL)
		cfg.rc_network = network;
	network = NULL;
	s = rt_up(0, NULL);
	m = rt_up(1, &cfg);
	c = rt_conn_begin(m, s->rtm_addr, in_flight);
	CF_EQ(rt_conn_wait(c), 0, "the connection is ACTIVE");
	CF_EQ(rt_session_begin(c), 0, "a session is begun");
	CF_EQ(rt_session_wait(c), 0, "the session is IDLE");
	rt_run_ms(2);
	posted_nr = 0;
}

static bool post_all(struct rt_item *item)
{
	unsigned i;

	(void)item;
	for (i = 0; i < posted_nr; ++i)
		CF_EQ(rt_post(posted[i]), 0, "post");
	return false;
}

/* Posts the items of posted[] within one callback. */
static void all_post(void)
{
	struct rt_item *first = rt_item(c, RT_STATUS, 0, 0);

	first->rti_hook = post_all;
	CF_EQ(rt_post(first), 0, "post");
	rt_ends(first, 0, "the first");
}

/* Posts the items of posted[] within one callback; waits for all. */
static void all_end(int rc)
{
	unsigned i;

	all_post();
	for (i = 0; i < posted_nr; ++i)
		rt_ends(posted[i], rc, "one of them");
}

/* In a packet, higher priorities first; the same one as posted. */
RT_CASE(priorities_in_packet)
{
	struct m0_rpc_stats a;
	unsigned            i;

	up(NULL, 0);
	for (i = 0; i < 15; ++i) {
		posted[i] = rt_item(c, RT_ECHO, 0, 100 + i);
		posted[i]->rti_raw.rr_item.ri_prio =
			(enum m0_rpc_item_priority)(i % M0_RPC_ITEM_PRIO_NR);
	}
	posted_nr = i;
	a = rt_stats(m);
	all_end(0);
	rt_run_ms(2);
	CF_EQ(rt_stats(m).rs_nr_sent_packets - a.rs_nr_sent_packets, 2,
	      "the first one, and a packet for all others");
	/* The first of the log is the first one. */
	for (i = 2; i < 16; ++i) {
		uint64_t before = rt.rt_log[i - 1] - 100;
		uint64_t now = rt.rt_log[i] - 100;

		CF_TRUE(before % M0_RPC_ITEM_PRIO_NR >
					now % M0_RPC_ITEM_PRIO_NR ||
				(before % M0_RPC_ITEM_PRIO_NR ==
					 now % M0_RPC_ITEM_PRIO_NR &&
				 before < now),
			"%d before %d", (int)before, (int)now);
	}
}

/* More requests in one packet than answers may wait for one address: those
 * beyond are dropped, and done when they come again. */
RT_CASE(answers_bounded)
{
	struct m0_rpc_cfg cfg;
	unsigned          i;

	rt_cfg(&cfg);
	cfg.rc_executing_max = 1;
	s = rt_up(0, &cfg);
	m = rt_up(1, NULL);
	c = rt_client(m, s);
	rt_run_ms(2);
	for (i = 0; i < 12; ++i)
		posted[i] = rt_item(c, RT_ECHO, 0, i);
	posted_nr = i;
	all_end(0);
	CF_TRUE(rt_stats(s).rs_nr_dropped_items >= 8, "dropped");
	CF_EQ(rt.rt_log_nr, 13, "and each executed once");
}

/* ------------------------------------------------------------- merging -- */

static int extents_merged;
static int extents_came;

/* The body is the extent: where, and how much. */
static bool extent_coalesce(struct m0_rpc_item *item, struct m0_rpc_item *next)
{
	struct rt_item *i = container_of(item, struct rt_item, rti_raw.rr_item);

	CF_EQ(item->ri_key.rk_offset + item->ri_key.rk_nr,
	      next->ri_key.rk_offset, "contiguous");
	item->ri_key.rk_nr += next->ri_key.rk_nr;
	i->rti_body[1] += next->ri_key.rk_nr;
	cf_inc(&extents_merged);
	return true;
}

static int extent_split(struct m0_rpc_item *item, struct m0_rpc_item *part)
{
	struct m0_rpc_raw *reply;

	CF_EQ(item->ri_error, 0, "only what went well is split");
	reply = m0_rpc_raw_new(rt_type(RT_REPLY), m0_rpc_raw_of(part)->rr_data,
			       64);
	part->ri_reply = &reply->rr_item;
	return 0;
}

static void extent_deliver(struct m0_rpc_machine *machine,
			   struct m0_rpc_item    *item)
{
	struct m0_rpc_raw *raw = m0_rpc_raw_of(item);
	uint64_t           nr;
	int                rc = 0;

	(void)machine;
	memcpy(&nr, (const uint8_t *)raw->rr_data + 8, sizeof nr);
	__atomic_fetch_add(&extents_came, (int)nr, __ATOMIC_ACQ_REL);
	m0_mutex_lock(&rt.rt_lock);
	if (rt.rt_ends)
		rc = -EIO;
	else
		rt.rt_held[rt.rt_held_nr] = item;
	if (rc == 0)
		cf_inc(&rt.rt_held_nr);
	m0_mutex_unlock(&rt.rt_lock);
	if (rc != 0)
		m0_rpc_reply_rc(item, rc);
}

static struct m0_rpc_item_type_ops extent_ops;
static struct m0_rpc_item_type     extent_type = {
	    .rit_opcode = OP_EXTENT,
	    .rit_ops = &extent_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	    .rit_name = "extent",
};

static void extents(unsigned nr)
{
	unsigned i;

	extent_ops = m0_rpc_raw_ops;
	extent_ops.rito_deliver = extent_deliver;
	extent_ops.rito_io_coalesce = extent_coalesce;
	extent_ops.rito_split = extent_split;
	if (m0_rpc_item_type_lookup(OP_EXTENT) == NULL)
		CF_EQ(m0_rpc_item_type_register(&extent_type), 0, "register");
	extents_merged = 0;
	extents_came = 0;
	up(&m0_rpc_frm_data, 0);
	for (i = 0; i < nr; ++i) {
		uint64_t at = (i * 5 + 3) % nr;

		posted[i] = rt_item(c, RT_ECHO, 0, at);
		posted[i]->rti_body[1] = 10;
		posted[i]->rti_raw.rr_item.ri_type = &extent_type;
		posted[i]->rti_raw.rr_item.ri_key = (struct m0_rpc_item_key){
			.rk_fid = M0_UINT128(1, 1),
			.rk_offset = 10 * at,
			.rk_nr = 10,
		};
	}
	posted_nr = nr;
}

/* Posts them in a callback, and waits until one came for all. */
static void extents_post(void)
{
	all_post();
	rt_held_wait(1, "an extent came");
	CF_EQ(cf_get(&extents_came), 120, "with all the work");
	CF_EQ(cf_get(&extents_merged), 11, "of twelve");
}

/* Extents in any order leave as one, and each gets its own answer. */
RT_CASE(extents_merge)
{
	unsigned i;

	extents(12);
	extents_post();
	CF_EQ(rt_stats(m).rs_nr_coalesced_items, 11, "counted");
	rt_release(1);
	for (i = 0; i < 12; ++i)
		rt_ends(posted[i], 0, "an extent");
	CF_EQ(cf_get(&rt.rt_held_nr), 0, "nothing came twice");
}

/* The work is not done yet when it is time to send again, some of it has been
 * given up, and the session ends: each item ends once. */
RT_CASE(extents_end)
{
	unsigned i;

	extents(12);
	extents_post();
	m0_rpc_item_cancel(&posted[0]->rti_raw.rr_item);
	m0_rpc_item_cancel(&posted[7]->rti_raw.rr_item);
	rt_item_wait(posted[0]);
	rt_item_wait(posted[7]);
	rt_run_ms(cf.c_sim ? 100 : 500);
	CF_EQ(cf_get(&extents_came), 120, "no part is sent for itself");
	m0_rpc_session_cancel(&c->rtc_session);
	for (i = 0; i < 12; ++i)
		rt_ends(posted[i], -ECANCELED, "given up");
	rt_release(1);
}

static bool gate_is_open;

static bool gate_ready(const struct m0_rpc_frm_constraints *limits,
		       const struct m0_rpc_frm_load        *load)
{
	(void)limits;
	(void)load;
	return __atomic_load_n(&gate_is_open, __ATOMIC_ACQUIRE);
}

static const struct m0_rpc_frm_network gate = { .fn_name = "gate",
						.fn_ready = gate_ready };

/* An extent that was sent before is neither merged into another one nor carries
 * one: it may have been executed, and the answer of its first copy would count
 * for both. */
RT_CASE(extents_sent_before)
{
	int i;

	network = &gate;
	__atomic_store_n(&gate_is_open, true, __ATOMIC_RELEASE);
	extents(3);
	/* Their offsets are 0, 10 and 20: of posted[0], [2] and [1]. */
	posted[2]->rti_raw.rr_item.ri_resend_interval = 200000000;
	CF_EQ(rt_post(posted[2]), 0, "post");
	rt_held_wait(1, "the one in the middle has come");
	__atomic_store_n(&gate_is_open, false, __ATOMIC_RELEASE);
	rt_run_ms(250);
	for (i = 0; i < 2; ++i)
		CF_EQ(rt_post(posted[i]), 0, "post");
	rt_run_ms(2);
	__atomic_store_n(&gate_is_open, true, __ATOMIC_RELEASE);
	rt_ends(rt_ask(c, RT_ECHO, 0, 1), 0, "it looks at what waits");
	rt_held_wait(3, "the others have come");
	CF_EQ(cf_get(&extents_merged), 0, "one of them was sent before");
	rt_release(3);
	for (i = 0; i < 3; ++i)
		rt_ends(posted[i], 0, "an extent");
	CF_EQ(cf_get(&extents_came), 30, "nothing came twice");
}

/* Merging in an update stream, posted in order. */
static void extents_in_stream(unsigned nr)
{
	unsigned i;

	extents(nr);
	for (i = 0; i < nr; ++i) {
		posted[i]->rti_raw.rr_item.ri_stream = 1;
		posted[i]->rti_raw.rr_item.ri_key.rk_offset = UINT64_C(10) * i;
		posted[i]->rti_body[0] = i;
	}
}

/* Extents of a stream leave as one request with one number; what follows is
 * executed after it, and each gets its own answer. */
RT_CASE(extents_of_stream)
{
	struct rt_item *after;
	unsigned        i;

	extents_in_stream(12);
	extents_post();
	after = rt_ask(c, RT_ECHO, 1, 99);
	/* The merged request is sent again with the same number. */
	rt_run_ms(cf.c_sim ? 100 : 500);
	CF_EQ(cf_get(&extents_came), 120, "executed once");
	CF_EQ(cf_get(&after->rti_ended), 0, "it waits for its turn");
	rt_release(1);
	for (i = 0; i < 12; ++i)
		rt_ends(posted[i], 0, "an extent");
	rt_ends(after, 0, "what follows");
	CF_EQ(cf_get(&extents_came), 120, "nothing came twice");
}

/* An extent of another object is between two that would fit: a stream keeps its order,
 * so they do not merge. */
RT_CASE(extents_of_stream_apart)
{
	unsigned i;

	extents_in_stream(3);
	posted[1]->rti_raw.rr_item.ri_key.rk_fid = M0_UINT128(1, 2);
	posted[2]->rti_raw.rr_item.ri_key.rk_offset = 10;
	all_post();
	for (i = 0; i < 3; ++i) {
		rt_held_wait(1, "an extent came");
		CF_EQ(cf_get(&extents_came), 10 * (i + 1), "alone");
		rt_release(1);
		rt_ends(posted[i], 0, "an extent");
	}
	CF_EQ(cf_get(&extents_merged), 0, "they do not follow each other");
}

/* A part that is given up, or whose time is up, ends for itself; the others have
 * the outcome of the whole, and the stream goes on. */
RT_CASE(extents_of_stream_end)
{
	unsigned i;

	extents_in_stream(12);
	posted[5]->rti_raw.rr_item.ri_expires =
		m0_time_from_now(0, cf.c_sim ? 50000000 : 400000000);
	extents_post();
	m0_rpc_item_cancel(&posted[7]->rti_raw.rr_item);
	rt_ends(posted[7], -ECANCELED, "given up");
	rt_ends(posted[5], -ETIMEDOUT, "its time is up");
	rt_release(1);
	for (i = 0; i < 12; ++i)
		if (i != 5 && i != 7)
			rt_ends(posted[i], 0, "an extent");
	rt_ends(rt_ask(c, RT_ECHO, 1, 99), 0, "what follows");
	CF_EQ(cf_get(&extents_came), 120, "nothing came twice");
}

/* The one that carries the others is given up: they cannot be told from it, and
 * none is executed a second time. */
RT_CASE(extents_of_stream_given_up)
{
	unsigned i;

	extents_in_stream(12);
	extents_post();
	m0_rpc_item_cancel(&posted[0]->rti_raw.rr_item);
	for (i = 0; i < 12; ++i)
		rt_ends(posted[i], -ECANCELED, "an extent");
	rt_release(1);
	rt_ends(rt_ask(c, RT_ECHO, 1, 99), 0, "what follows");
	CF_EQ(cf_get(&extents_came), 120, "nothing came twice");
}

/* A server that has forgotten: all of it may have been executed. */
RT_CASE(extents_of_stream_stale)
{
	char     addr[CF_ADDR_MAX];
	unsigned i;

	extents_in_stream(12);
	extents_post();
	strcpy(addr, s->rtm_addr);
	rt_hold_no_more();
	rt_down(s);
	s = rt_up_at(0, NULL, addr);
	for (i = 0; i < 12; ++i) {
		rt_item_wait(posted[i]);
		CF_TRUE(M0_IN(posted[i]->rti_error, (0, -ESTALE)),
			"answered, or nobody knows");
		CF_EQ(posted[i]->rti_error, posted[0]->rti_error,
		      "one outcome for all");
	}
	rt_item_wait(rt_ask(c, RT_ECHO, 1, 98));
	rt_ends(rt_ask(c, RT_ECHO, 1, 99), 0, "what follows");
	CF_EQ(cf_get(&extents_came), 120, "nothing came twice");
}

/* Bodies that are gathered: one of two that were merged is in two pieces. */
struct pieces {
	struct rt_item *pcs_item;
	unsigned        pcs_nr;
	const uint8_t  *pcs_piece[MANY];
};
static struct pieces pieces[MANY];
static uint8_t       pieces_memory[MANY][PIECE];
static int           pieces_came;

static struct pieces *pieces_of(const struct m0_rpc_item *item)
{
	return item->ri_app_private;
}

static m0_bcount_t pieces_size(const struct m0_rpc_item *item)
{
	return (m0_bcount_t)pieces_of(item)->pcs_nr * PIECE;
}

static int pieces_encode(const struct m0_rpc_item *item, void *bytes,
			 m0_bcount_t nr)
{
	const struct pieces *p = pieces_of(item);
	unsigned             i;

	CF_EQ(nr, pieces_size(item), "all of it");
	for (i = 0; i < p->pcs_nr; ++i)
		memcpy((uint8_t *)bytes + (size_t)i * PIECE, p->pcs_piece[i],
		       PIECE);
	return 0;
}

static uint32_t pieces_gather(const struct m0_rpc_item *item, void *ret_base[],
			      m0_bcount_t ret_nr[], uint32_t max)
{
	const struct pieces *p = pieces_of(item);
	unsigned             i;

	if (p->pcs_nr > max)
		return 0;
	for (i = 0; i < p->pcs_nr; ++i) {
		ret_base[i] = (void *)(uintptr_t)p->pcs_piece[i];
		ret_nr[i] = PIECE;
	}
	return p->pcs_nr;
}

static bool pieces_coalesce(struct m0_rpc_item *item, struct m0_rpc_item *next)
{
	struct pieces *p = pieces_of(item);
	struct pieces *q = pieces_of(next);

	item->ri_key.rk_nr += next->ri_key.rk_nr;
	memcpy(&p->pcs_piece[p->pcs_nr], q->pcs_piece,
	       q->pcs_nr * sizeof q->pcs_piece[0]);
	p->pcs_nr += q->pcs_nr;
	return true;
}

static int pieces_split(struct m0_rpc_item *item, struct m0_rpc_item *part)
{
	(void)item;
	part->ri_reply = &m0_rpc_raw_new(rt_type(RT_REPLY),
					 m0_rpc_raw_of(part)->rr_data, 64)
				  ->rr_item;
	return 0;
}

/* Each byte of a piece is its number. */
static void pieces_deliver(struct m0_rpc_machine *machine,
			   struct m0_rpc_item    *item)
{
	const struct m0_rpc_raw *raw = m0_rpc_raw_of(item);
	const uint8_t           *bytes = raw->rr_data;
	m0_bcount_t              i;

	(void)machine;
	CF_EQ(raw->rr_nr % PIECE, 0, "whole pieces");
	for (i = 1; i < raw->rr_nr; ++i)
		CF_EQ(bytes[i], bytes[i - 1] + (i % PIECE == 0), "in order");
	__atomic_fetch_add(&pieces_came, (int)(raw->rr_nr / PIECE),
			   __ATOMIC_ACQ_REL);
	m0_rpc_reply_rc(item, 0);
}

static struct m0_rpc_item_type_ops pieces_ops;
static struct m0_rpc_item_type     pieces_type = {
	    .rit_opcode = OP_PIECES,
	    .rit_ops = &pieces_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	    .rit_name = "pieces",
};

static void pieces_make(unsigned i)
{
	struct m0_rpc_item *item;

	posted[i] = rt_item(c, RT_ECHO, 0, i);
	memset(pieces_memory[i], (int)i, PIECE);
	pieces[i] = (struct pieces){ .pcs_item = posted[i],
				     .pcs_nr = 1,
				     .pcs_piece = { pieces_memory[i] } };
	item = &posted[i]->rti_raw.rr_item;
	item->ri_type = &pieces_type;
	item->ri_app_private = &pieces[i];
	item->ri_key = (struct m0_rpc_item_key){ .rk_fid = M0_UINT128(1, 1),
						 .rk_offset = i * PIECE,
						 .rk_nr = PIECE };
}

/* Items whose body is sent by reference merge, too. */
RT_CASE(pieces_merge)
{
	pieces_ops = m0_rpc_raw_ops;
	pieces_ops.rito_payload_size = pieces_size;
	pieces_ops.rito_encode = pieces_encode;
	pieces_ops.rito_gather = pieces_gather;
	pieces_ops.rito_deliver = pieces_deliver;
	pieces_ops.rito_io_coalesce = pieces_coalesce;
	pieces_ops.rito_split = pieces_split;
	if (m0_rpc_item_type_lookup(OP_PIECES) == NULL)
		CF_EQ(m0_rpc_item_type_register(&pieces_type), 0, "register");
	pieces_came = 0;
	up(&m0_rpc_frm_data, 0);
	for (posted_nr = 0; posted_nr < MANY; ++posted_nr)
		pieces_make(posted_nr);
	all_end(0);
	CF_EQ(cf_get(&pieces_came), MANY, "all came");
	CF_EQ(rt_stats(m).rs_nr_coalesced_items, MANY - 2,
	      "into as many as there are packets for");
}

/* -------------------------------------------------------------- in flight -- */

static size_t                 sends_max;
static enum m0_rpc_item_state state_before[MANY];

static size_t sends_now(void)
{
	struct m0_net_transfer_mc *tm = &m->rtm_machine.rm_tm;
	size_t                     nr;

	m0_mutex_lock(&tm->ntm_mutex);
	nr = m0_net_tm_tlist_length(&tm->ntm_q[M0_NET_QT_MSG_SEND]);
	m0_mutex_unlock(&tm->ntm_mutex);
	return nr;
}

/* Asked when a packet is being formed: those before it are on their way. */
static m0_bcount_t big_size(const struct m0_rpc_item *item)
{
	(void)item;
	return 9000;
}

static int big_encode(const struct m0_rpc_item *item, void *bytes,
		      m0_bcount_t nr)
{
	struct m0_rpc_raw *raw = container_of(item, struct m0_rpc_raw, rr_item);
	size_t             now = sends_now();

	sends_max = now > sends_max ? now : sends_max;
	memset(bytes, 0, nr);
	memcpy(bytes, raw->rr_data, 8);
	state_before[*(const uint64_t *)raw->rr_data] = m0_rpc_item_state(item);
	return 0;
}

static struct m0_rpc_item_type_ops big_ops;
static struct m0_rpc_item_type     big_type = {
	    .rit_opcode = OP_BIG,
	    .rit_ops = &big_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	    .rit_name = "big",
};

static void big_deliver(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *item)
{
	(void)machine;
	m0_rpc_reply_rc(item, 0);
}

static void bigs_make(unsigned nr)
{
	big_ops = m0_rpc_raw_ops;
	big_ops.rito_payload_size = big_size;
	big_ops.rito_gather = NULL;
	big_ops.rito_encode = big_encode;
	big_ops.rito_deliver = big_deliver;
	if (m0_rpc_item_type_lookup(OP_BIG) == NULL)
		CF_EQ(m0_rpc_item_type_register(&big_type), 0, "register");
	for (posted_nr = 0; posted_nr < nr; ++posted_nr) {
		posted[posted_nr] = rt_item(c, RT_ECHO, 0, posted_nr);
		posted[posted_nr]->rti_raw.rr_item.ri_type = &big_type;
	}
}

/* One in a packet, MANY of them at once. */
static void bigs_end(void)
{
	bigs_make(MANY);
	sends_max = 0;
	all_end(0);
}

/* Not more packets are on the way than the connection allows, and so many. */
RT_CASE(in_flight_bound)
{
	up(NULL, 2);
	bigs_end();
	CF_EQ(sends_max, 1, "one before the second");
}

/* Two connections to one place: the bound is the larger one, whichever came
 * last, and the other's when that is gone. */
RT_CASE(in_flight_shared)
{
	struct rt_client *big;
	struct rt_client *small;
	struct rt_client *tiny;

	up(NULL, 2);
	small = c;
	big = rt_conn_begin(m, s->rtm_addr, 4);
	CF_EQ(rt_conn_wait(big), 0, "ACTIVE");
	bigs_end();
	CF_EQ(sends_max, 3, "the larger bound");
	tiny = rt_conn_begin(m, s->rtm_addr, 1);
	CF_EQ(rt_conn_wait(tiny), 0, "ACTIVE");
	bigs_end();
	CF_EQ(sends_max, 3, "a smaller one is not it");
	rt_client_end(tiny);
	rt_client_end(big);
	c = small;
	bigs_end();
	CF_EQ(sends_max, 1, "what is left");
}

/* State of an item in the cache: one that may wait, one that may not,
 * and one whose deadline came while it was held. */
RT_CASE(states_in_cache)
{
	struct m0_rpc_group group;

	up(NULL, 1);
	bigs_make(3);
	m0_rpc_group_init(&group);
	group.rg_linger_ns = 20 * M0_TIME_ONE_SECOND;
	posted[0]->rti_raw.rr_item.ri_deadline = M0_TIME_NEVER;
	posted[2]->rti_raw.rr_item.ri_group = &group;
	posted[2]->rti_raw.rr_item.ri_deadline = m0_time_from_now(0, 30000000);
	CF_EQ(rt_post(posted[0]), 0, "post");
	rt_ends(posted[0], 0, "a lone one");
	CF_EQ(state_before[0], M0_RPC_ITEM_ENQUEUED, "it might have waited");
	CF_EQ(rt_post(posted[2]), 0, "post");
	CF_EQ(rt_post(posted[1]), 0, "post");
	rt_ends(posted[1], 0, "one as most are");
	CF_EQ(state_before[1], M0_RPC_ITEM_URGENT, "in the next packet");
	if (cf.c_sim)
		CF_EQ(m0_rpc_item_state(&posted[2]->rti_raw.rr_item),
		      M0_RPC_ITEM_ENQUEUED, "held");
	rt_ends(posted[2], 0, "at its deadline");
	CF_EQ(state_before[2], M0_RPC_ITEM_URGENT, "which has come");
	m0_rpc_group_close(&m->rtm_machine, &group);
	m0_rpc_group_fini(&group);
}

/* ------------------------------------------------------------- groups... -- */

/* A group of requests of streams is held, and keeps their order. */
RT_CASE(group_of_streams)
{
	struct m0_rpc_group group;
	struct m0_rpc_stats a;
	uint64_t            last[3] = { 0 };
	unsigned            i;

	up(NULL, 0);
	m0_rpc_group_init(&group);
	group.rg_linger_ns = 20 * M0_TIME_ONE_SECOND;
	a = rt_stats(m);
	for (i = 0; i < 12; ++i) {
		posted[i] = rt_item(c, RT_APPEND, 1 + i % 3, 1 + i);
		posted[i]->rti_raw.rr_item.ri_group = &group;
		CF_EQ(rt_post(posted[i]), 0, "post");
	}
	rt_run_ms(5);
	CF_EQ(cf_get(&rt.rt_log_nr), 0, "held");
	rt_ends(rt_ask(c, RT_STATUS, 4, 0), 0, "another stream goes on");
	m0_rpc_group_close(&m->rtm_machine, &group);
	for (i = 0; i < 12; ++i)
		rt_ends(posted[i], 0, "append");
	m0_rpc_group_fini(&group);
	for (i = 1; i < 13; ++i) {
		uint64_t number = rt.rt_log[i];

		CF_TRUE(number > last[number % 3], "in order");
		last[number % 3] = number;
	}
	CF_TRUE(rt_stats(m).rs_nr_sent_packets - a.rs_nr_sent_packets <= 4,
		"few packets");
}

/* An item outside the group pulls those before it in its stream. */
RT_CASE(group_is_pulled)
{
	struct m0_rpc_group group;
	struct rt_item     *i;
	struct rt_item     *k;

	up(NULL, 0);
	m0_rpc_group_init(&group);
	group.rg_linger_ns = 20 * M0_TIME_ONE_SECOND;
	i = rt_item(c, RT_APPEND, 1, 1);
	i->rti_raw.rr_item.ri_group = &group;
	CF_EQ(rt_post(i), 0, "post");
	k = rt_ask(c, RT_APPEND, 1, 2);
	rt_ends(k, 0, "it does not wait");
	rt_ends(i, 0, "nor does the one before it");
	CF_EQ(rt.rt_log[0], 1, "in order");
	m0_rpc_group_close(&m->rtm_machine, &group);
	m0_rpc_group_fini(&group);
}

/* Two servers take their receive buffers from one pool. */
RT_CASE(pool_shared)
{
	static struct m0_net_buffer_pool pool;
	struct rt_machine               *two[2];
	struct rt_client                *cl[2];
	struct m0_rpc_cfg                cfg;
	unsigned                         i;

	rt_cfg(&cfg);
	M0_SET0(&pool);
	CF_EQ(m0_rpc_net_buffer_pool_setup(cf_dom(0), &pool,
					   2 * m0_rpc_bufs_nr(8, 2), 2),
	      0, "a pool");
	for (i = 0; i < 2; ++i) {
		two[i] = &rt.rt_machines[rt.rt_machines_nr++];
		cf.c_row->r_addr(two[i]->rtm_addr, ++cf.c_addr_nr);
		CF_EQ(m0_rpc_machine_init(&two[i]->rtm_machine, cf_dom(0), &cfg,
					  two[i]->rtm_addr, &pool, i, 16384, 8),
		      0, "a machine on it");
		two[i]->rtm_up = true;
	}
	m = rt_up(1, NULL);
	for (i = 0; i < 2; ++i)
		cl[i] = rt_client(m, two[i]);
	for (posted_nr = 0; posted_nr < MANY; ++posted_nr)
		posted[posted_nr] =
			rt_ask(cl[posted_nr % 2], RT_HOLD, 0, posted_nr);
	rt_held_wait(MANY, "all came");
	for (i = 0; i < MANY; ++i)
		rt_ends(rt_ask(cl[i % 2], RT_ECHO, 1, i), 0, "others, too");
	rt_release(MANY);
	for (i = 0; i < MANY; ++i)
		rt_ends(posted[i], 0, "held");
	rt_hold_no_more();
	for (i = 0; i < 2; ++i) {
		rt_client_end(cl[i]);
		rt_down(two[i]);
	}
	m0_rpc_net_buffer_pool_cleanup(&pool);
}

const struct cf_case rpc_suite_pack[] = {
	{ "answers_bounded", answers_bounded },
	{ "priorities_in_packet", priorities_in_packet },
	{ "extents_merge", extents_merge },
	{ "extents_sent_before", extents_sent_before },
	{ "extents_end", extents_end },
	{ "extents_of_stream", extents_of_stream },
	{ "extents_of_stream_apart", extents_of_stream_apart },
	{ "extents_of_stream_end", extents_of_stream_end },
	{ "extents_of_stream_given_up", extents_of_stream_given_up },
	{ "extents_of_stream_stale", extents_of_stream_stale },
	{ "pieces_merge", pieces_merge },
	{ "in_flight_bound", in_flight_bound },
	{ "in_flight_shared", in_flight_shared },
	{ "states_in_cache", states_in_cache },
	{ "group_of_streams", group_of_streams },
	{ "group_is_pulled", group_is_pulled },
	{ "pool_shared", pool_shared },
	{ NULL, NULL },
};
