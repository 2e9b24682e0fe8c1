/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Formation against a model of it that is slow and plain: arrays that are
 * searched from end to end, a count of packets that passed over in each item.
 * Every packet must have the same items in the same order.
 */
#include "../../base/panics.h"

#include "base/rand.h"
#include "rpc/core/frm.h"
#include "rpc/core/rpc_wire.h"

enum {
	ITEMS = 80,
	PACKETS = 8,
	STREAMS = 3,
	GROUPS = 2,
	FRMS = 2,
	OPS = 100000,
	HELD = 0,
	WAITING = 1,
	URGENT = 2
};

#define TICK ((m0_time_t)1 << M0_TIMERQ_TICK_SHIFT)

/** An item, and what the model knows of it. */
struct thing {
	struct m0_rpc_frm_item th_item;
	struct m0_rpc_item_key th_key;
	/** Its formation; -1: not cached. In a packet: -2. */
	int      th_frm;
	int      th_stream;
	int      th_group;
	int      th_kind;
	uint64_t th_seq;
	unsigned th_passed;
};

static struct thing             thing[ITEMS];
static struct m0_rpc_frm_packet packet[PACKETS];
static bool                     packet_used[PACKETS];
static struct m0_rpc_frm_set    set;
static struct m0_rpc_frm        frm[FRMS];
static unsigned                 flying[FRMS];
static struct m0_rpc_frm_stream stream[STREAMS];
static struct m0_rpc_frm_group  group[GROUPS];
static m0_time_t                group_until[GROUPS];
static bool                     group_closed[GROUPS];
static uint64_t                 seq;
static m0_time_t                now;
static bool                     no_packet;
static struct m0_rand           rnd;

/* ------------------------------------------------------------ the model -- */

static unsigned class_of(const struct thing *th)
{
	return (unsigned)th->th_kind * 3 + th->th_item.fi_view.fv_prio;
}

static bool is_before(const struct thing *a, const struct thing *b)
{
	const struct m0_rpc_frm_policy *policy = frm[a->th_frm].f_policy;
	int                             rc = 0;

	if (policy->fp_cmp != NULL)
		rc = policy->fp_cmp(&a->th_item.fi_view, &b->th_item.fi_view);
	return rc != 0 ? rc < 0 : a->th_seq < b->th_seq;
}

/** The cached item of a stream that is next; NULL. */
static struct thing *head_of(int nr)
{
	struct thing *best = NULL;
	int           i;

	for (i = 0; i < ITEMS; ++i) {
		if (thing[i].th_frm >= 0 && thing[i].th_stream == nr &&
		    (best == NULL ||
		     thing[i].th_item.fi_order < best->th_item.fi_order))
			best = &thing[i];
	}
	return best;
}

/** The class in which an item stands to be taken; -1: it does not. */
static int slot_of(struct thing *th)
{
	unsigned best = 0;
	int      i;

	if (th->th_stream < 0)
		return (int)class_of(th);
	if (head_of(th->th_stream) != th)
		return -1;
	for (i = 0; i < ITEMS; ++i) {
		if (thing[i].th_frm >= 0 &&
		    thing[i].th_stream == th->th_stream &&
		    class_of(&thing[i]) > best)
			best = class_of(&thing[i]);
	}
	return (int)best;
}

/** The first item of a class behind `after`, or of all; NULL. */
static struct thing *first_of(int f, int slot, const struct thing *after)
{
	struct thing *best = NULL;
	int           i;

	for (i = 0; i < ITEMS; ++i) {
		struct thing *th = &thing[i];

		if (th->th_frm != f || th == after || slot_of(th) != slot)
			continue;
		if (after != NULL && !is_before(after, th))
			continue;
		if (best == NULL || is_before(th, best))
			best = th;
	}
	return best;
}

static struct thing *oldest(int f)
{
	struct thing *best = NULL;
	int           i;

	for (i = 0; i < ITEMS; ++i) {
		struct thing *th = &thing[i];

		if (th->th_frm == f &&
		    (best == NULL || th->th_seq < best->th_seq ||
		     (th->th_seq == best->th_seq &&
		      th->th_item.fi_order < best->th_item.fi_order)))
			best = th;
	}
	return best;
}

static bool model_full(int f)
{
	const struct m0_rpc_frm_constraints *limit = &frm[f].f_constraints;
	m0_bcount_t                          bytes = 0;
	uint64_t                             segs = 1;
	int                                  i;

	for (i = 0; i < ITEMS; ++i) {
		if (thing[i].th_frm == f) {
			bytes += thing[i].th_item.fi_view.fv_size;
			segs += thing[i].th_item.fi_segs_nr;
		}
	}
	return bytes > 0 && (bytes >= limit->fc_max_nr_bytes_accumulated ||
			     bytes + 56 >= limit->fc_max_packet_size ||
			     segs >= limit->fc_max_nr_segments);
}

static bool model_ready(int f)
{
	bool waiting = false;
	int  i;

	if (flying[f] >= frm[f].f_constraints.fc_max_nr_packets_enqed)
		return false;
	for (i = 0; i < ITEMS; ++i) {
		if (thing[i].th_frm != f)
			continue;
		if (thing[i].th_kind == URGENT)
			return true;
		waiting = waiting || thing[i].th_kind == WAITING;
	}
	return (waiting && flying[f] == 0) || model_full(f);
}

/** A packet of the model. */
static struct {
	int           mo_frm;
	struct thing *mo_thing[ITEMS];
	unsigned      mo_nr;
	m0_bcount_t   mo_bytes;
	uint64_t      mo_segs_nr;
	uint64_t      mo_seq;
	unsigned      mo_looks;
} model;

static bool model_fits(const struct thing *th)
{
	const struct m0_rpc_frm_constraints *limit =
		&frm[model.mo_frm].f_constraints;

	return model.mo_bytes + th->th_item.fi_view.fv_size <=
		       limit->fc_max_packet_size &&
	       model.mo_segs_nr + th->th_item.fi_segs_nr <=
		       limit->fc_max_nr_segments;
}

static void model_take(struct thing *th)
{
	model.mo_thing[model.mo_nr++] = th;
	model.mo_bytes += th->th_item.fi_view.fv_size;
	model.mo_segs_nr += th->th_item.fi_segs_nr;
	if (th->th_seq > model.mo_seq)
		model.mo_seq = th->th_seq;
	th->th_frm = -2;
}

/** False: the packet has ended. */
static bool model_class(int f, int slot)
{
	const struct m0_rpc_frm_policy *policy = frm[f].f_policy;
	struct thing                   *th = first_of(f, slot, NULL);
	struct thing                   *next;
	struct thing                   *head;

	for (; th != NULL; th = next) {
		if (policy->fp_cut != NULL && slot < 6 && model.mo_nr > 0 &&
		    policy->fp_cut(
			    &model.mo_thing[model.mo_nr - 1]->th_item.fi_view,
			    &th->th_item.fi_view))
			return false;
		next = first_of(f, slot, th);
		if (!model_fits(th)) {
			if (model.mo_looks-- == 0)
				return false;
			continue;
		}
		model_take(th);
		head = th->th_stream < 0 ? NULL : head_of(th->th_stream);
		if (head != NULL && slot_of(head) == slot &&
		    (next == NULL || is_before(head, next)))
			next = head;
	}
	return true;
}

static void model_pack(int f)
{
	int           lowest = model_full(f) ? 0 : 3;
	int           slot;
	int           i;
	struct thing *th;

	memset(&model, 0, sizeof model);
	model.mo_frm = f;
	model.mo_bytes = 56;
	model.mo_segs_nr = 1;
	model.mo_looks = M0_RPC_FRM_LOOK_MAX;
	for (th = oldest(f);
	     th != NULL && th->th_passed >= M0_RPC_FRM_PASSED_MAX;
	     th = oldest(f)) {
		if (!model_fits(th))
			goto out;
		model_take(th);
	}
	for (slot = 8; slot >= lowest; --slot) {
		if (!model_class(f, slot))
			break;
	}
out:
	for (i = 0; i < ITEMS; ++i) {
		if (thing[i].th_frm == f && thing[i].th_seq < model.mo_seq) {
			++thing[i].th_passed;
			assert_true(thing[i].th_passed <=
				    M0_RPC_FRM_PASSED_MAX);
		}
	}
}

static int model_kind(const struct thing *th, bool may_hold)
{
	if (may_hold && th->th_group >= 0 && !group_closed[th->th_group] &&
	    !th->th_item.fi_is_write_through && now < group_until[th->th_group])
		return HELD;
	return th->th_item.fi_is_write_through ||
			       th->th_item.fi_deadline <= now ||
			       (th->th_group >= 0 && group_closed[th->th_group])
		       ? URGENT
		       : WAITING;
}

static void model_enq(struct thing *th, int f)
{
	const struct thing *behind = NULL;
	int                 i;

	if (th->th_group >= 0 && !group_closed[th->th_group] &&
	    !th->th_item.fi_is_write_through &&
	    group_until[th->th_group] == M0_TIME_NEVER)
		group_until[th->th_group] = now + 8 * TICK;
	th->th_kind = model_kind(th, true);
	for (i = 0; th->th_stream >= 0 && i < ITEMS; ++i) {
		if (thing[i].th_frm >= 0 &&
		    thing[i].th_stream == th->th_stream &&
		    thing[i].th_item.fi_order > th->th_item.fi_order &&
		    (behind == NULL ||
		     thing[i].th_item.fi_order < behind->th_item.fi_order))
			behind = &thing[i];
	}
	th->th_frm = f;
	th->th_seq = behind != NULL ? behind->th_seq : ++seq;
	th->th_passed = behind != NULL ? behind->th_passed : 0;
}

static void model_expire(void)
{
	int i;

	for (i = 0; i < ITEMS; ++i) {
		struct thing *th = &thing[i];

		if (th->th_frm < 0)
			continue;
		if (th->th_kind == WAITING ||
		    (th->th_kind == HELD && (group_until[th->th_group] <= now ||
					     (th->th_item.fi_deadline != 0 &&
					      th->th_item.fi_deadline <= now))))
			th->th_kind = model_kind(th, false);
	}
}

/* ------------------------------------------------------- the real thing -- */

static struct m0_rpc_frm_packet *packet_get(struct m0_rpc_frm *of)
{
	int i;

	(void)of;
	for (i = 0; i < PACKETS && !no_packet; ++i) {
		if (!packet_used[i]) {
			packet_used[i] = true;
			return &packet[i];
		}
	}
	return NULL;
}

static bool packet_is_there(void)
{
	int i;

	for (i = 0; i < PACKETS && !no_packet; ++i) {
		if (!packet_used[i])
			return true;
	}
	return false;
}

static void packet_ready(struct m0_rpc_frm *of, struct m0_rpc_frm_packet *p)
{
	int                  f = (int)(of - frm);
	struct m0_list_link *link;
	unsigned             nr = 0;

	assert_true(model_ready(f));
	model_pack(f);
	m0_list_for_each(&p->fpk_items, link) {
		assert_true(nr < model.mo_nr);
		assert_ptr_equal(link, &model.mo_thing[nr]->th_item.fi_link);
		++nr;
	}
	assert_int_equal(nr, model.mo_nr);
	assert_true(p->fpk_bytes == model.mo_bytes);
	assert_true(p->fpk_segs_nr == model.mo_segs_nr);
	++flying[f];
}

static const struct m0_rpc_frm_ops ops = {
	.fo_packet_get = packet_get,
	.fo_packet_ready = packet_ready,
};

static void op_enq(void)
{
	static uint64_t order = 1000000;
	struct thing   *th = &thing[m0_rand_below(&rnd, ITEMS)];
	struct thing   *head;
	uint64_t        f = m0_rand_below(&rnd, FRMS);

	if (th->th_frm != -1)
		return;
	m0_rpc__frm_item_init(&th->th_item);
	th->th_key.rk_fid.u_lo = m0_rand_below(&rnd, 3);
	th->th_key.rk_offset = m0_rand_below(&rnd, 8) << 18;
	th->th_key.rk_nr = 1 << 18;
	th->th_item.fi_view.fv_key = &th->th_key;
	th->th_item.fi_view.fv_size = 48 + 8 * m0_rand_below(&rnd, 40);
	th->th_item.fi_view.fv_prio = (unsigned)m0_rand_below(&rnd, 3);
	th->th_item.fi_segs_nr = (uint32_t)m0_rand_below(&rnd, 4);
	th->th_item.fi_is_write_through = m0_rand_chance(&rnd, 50);
	th->th_item.fi_deadline = m0_rand_chance(&rnd, 200) ? 0
				  : m0_rand_chance(&rnd, 300)
					  ? M0_TIME_NEVER
					  : now + m0_rand_below(&rnd, 40) *
							    TICK;
	th->th_stream = m0_rand_chance(&rnd, 400)
				? (int)m0_rand_below(&rnd, STREAMS)
				: -1;
	th->th_group = m0_rand_chance(&rnd, 150)
			       ? (int)m0_rand_below(&rnd, GROUPS)
			       : -1;
	if (th->th_stream >= 0) {
		th->th_item.fi_stream = &stream[th->th_stream];
		/* Sent again, now and then. */
		th->th_item.fi_order =
			m0_rand_chance(&rnd, 200)
				? ++order - m0_rand_below(&rnd, 30) * 1000
				: ++order;
		order += 1000;
		head = head_of(th->th_stream);
		if (head != NULL)
			f = (uint64_t)head->th_frm;
	}
	if (th->th_group >= 0)
		th->th_item.fi_group = &group[th->th_group];
	assert_int_equal(m0_rpc__frm_enq(&frm[f], &th->th_item, now, 8 * TICK),
			 0);
	model_enq(th, (int)f);
}

static void op_remove(void)
{
	struct thing *th = &thing[m0_rand_below(&rnd, ITEMS)];

	if (th->th_frm < 0)
		return;
	m0_rpc__frm_remove(&th->th_item);
	th->th_frm = -1;
}

static void op_run(void)
{
	bool all;
	int  f;

	model_expire();
	all = m0_rpc__frm_set_run(&set, now);
	for (f = 0; f < FRMS; ++f) {
		if (model_ready(f)) {
			assert_false(all);
			assert_false(packet_is_there());
		}
	}
}

static void op_done(void)
{
	struct m0_rpc_frm_packet *p = &packet[m0_rand_below(&rnd, PACKETS)];
	struct m0_rpc_frm_item   *item;
	struct m0_rpc_frm_item   *next;

	if (!packet_used[p - packet])
		return;
	m0_list_for_each_entry_safe(&p->fpk_items, item, next,
				    struct m0_rpc_frm_item, fi_link) {
		m0_list_del(&item->fi_link);
		container_of(item, struct thing, th_item)->th_frm = -1;
	}
	packet_used[p - packet] = false;
	--flying[p->fpk_frm - frm];
	m0_rpc__frm_packet_done(p);
}

static void op_group(void)
{
	uint64_t g = m0_rand_below(&rnd, GROUPS);
	int      i;

	if (!group_closed[g]) {
		m0_rpc__frm_group_close(&group[g]);
		group_closed[g] = true;
		for (i = 0; i < ITEMS; ++i) {
			if (thing[i].th_frm >= 0 && thing[i].th_group == (int)g)
				thing[i].th_kind = URGENT;
		}
		return;
	}
	/* A new life, when the old one is over. */
	for (i = 0; i < ITEMS; ++i) {
		if (thing[i].th_frm != -1 && thing[i].th_group == (int)g)
			return;
	}
	m0_rpc__frm_group_fini(&group[g]);
	m0_rpc__frm_group_init(&group[g]);
	group_until[g] = M0_TIME_NEVER;
	group_closed[g] = false;
}

static void op_limits(void)
{
	uint64_t                      f = m0_rand_below(&rnd, FRMS);
	struct m0_rpc_frm_constraints limits = frm[f].f_constraints;

	limits.fc_max_nr_packets_enqed = m0_rand_below(&rnd, 5);
	limits.fc_max_packet_size = m0_rand_in(&rnd, 500, 3000);
	limits.fc_max_nr_segments = m0_rand_in(&rnd, 4, 20);
	limits.fc_max_nr_bytes_accumulated = m0_rand_in(&rnd, 300, 6000);
	m0_rpc__frm_constraints_set(&frm[f], &limits);
}

/* As links do when one dies: all out before the first is in, as a stream is in
 * one formation at a time. */
static void move_all(struct m0_rpc_frm *from, struct m0_rpc_frm *to)
{
	struct m0_rpc_frm_item *item;
	struct m0_list          moved;
	int                     rc;

	m0_list_init(&moved);
	while ((item = m0_rpc__frm_oldest(from)) != NULL) {
		m0_rpc__frm_remove(item);
		m0_list_add_tail(&moved, &item->fi_link);
	}
	while (!m0_list_is_empty(&moved)) {
		item = container_of(m0_list_first(&moved),
				    struct m0_rpc_frm_item, fi_link);
		m0_list_del(&item->fi_link);
		rc = m0_rpc__frm_enq(to, item, now, 0);
		if (rc != 0)
			to->f_ops->fo_refused(to, item, rc);
	}
}

static void op_move(void)
{
	int           from = (int)m0_rand_below(&rnd, FRMS);
	int           to = 1 - from;
	int           moved[ITEMS];
	int           nr = 0;
	int           i;
	struct thing *th;

	move_all(&frm[from], &frm[to]);
	while ((th = oldest(from)) != NULL) {
		th->th_frm = -1;
		moved[nr++] = (int)(th - thing);
	}
	for (i = 0; i < nr; ++i)
		model_enq(&thing[moved[i]], to);
}

/** Now and then: what is not seen in packets. */
static void deep_check(void)
{
	unsigned f;
	unsigned i;
	uint64_t nr;

	for (f = 0; f < FRMS; ++f) {
		for (i = 0; i < M0_RPC_FRM_CLASS_NR; ++i)
			assert_true(
				m0_rpc__order_invariant(&frm[f].f_class[i]));
		for (i = 0, nr = 0; i < ITEMS; ++i)
			nr += thing[i].th_frm == (int)f;
		assert_int_equal(frm[f].f_items_nr, nr);
		assert_int_equal(frm[f].f_packets_enqed, flying[f]);
	}
}

static void set_up(const struct m0_rpc_frm_policy *policy, uint64_t seed)
{
	struct m0_rpc_frm_constraints limits;
	int                           i;

	m0_rand_init(&rnd, seed);
	memset(thing, 0, sizeof thing);
	memset(packet_used, 0, sizeof packet_used);
	memset(flying, 0, sizeof flying);
	now = 1000 * TICK;
	no_packet = false;
	m0_rpc__frm_constraints_get_defaults(&limits);
	limits.fc_max_packet_size = 1000;
	m0_rpc__frm_set_init(&set, now, false);
	for (i = 0; i < FRMS; ++i)
		m0_rpc__frm_init(&frm[i], &set, &limits, policy, &ops);
	for (i = 0; i < STREAMS; ++i)
		m0_rpc__frm_stream_init(&stream[i]);
	for (i = 0; i < GROUPS; ++i) {
		m0_rpc__frm_group_init(&group[i]);
		group_until[i] = M0_TIME_NEVER;
		group_closed[i] = false;
	}
	for (i = 0; i < ITEMS; ++i)
		thing[i].th_frm = -1;
}

static void tear_down(void)
{
	int i;

	for (i = 0; i < ITEMS; ++i) {
		if (thing[i].th_frm >= 0)
			m0_rpc__frm_remove(&thing[i].th_item);
	}
	for (i = 0; i < PACKETS; ++i) {
		if (packet_used[i])
			m0_rpc__frm_packet_done(&packet[i]);
	}
	for (i = 0; i < FRMS; ++i)
		m0_rpc__frm_fini(&frm[i]);
	for (i = 0; i < STREAMS; ++i)
		m0_rpc__frm_stream_fini(&stream[i]);
	for (i = 0; i < GROUPS; ++i)
		m0_rpc__frm_group_fini(&group[i]);
	m0_rpc__frm_set_fini(&set);
}

static void random_ops(const struct m0_rpc_frm_policy *policy, uint64_t seed)
{
	uint64_t what;
	unsigned i;

	set_up(policy, seed);
	for (i = 0; i < OPS; ++i) {
		what = m0_rand_below(&rnd, 1000);
		if (what < 500)
			op_enq();
		else if (what < 540)
			op_remove();
		else if (what < 750)
			op_run();
		else if (what < 900)
			op_done();
		else if (what < 950)
			now += m0_rand_below(&rnd, 6) * TICK;
		else if (what < 970)
			op_group();
		else if (what < 980)
			no_packet = !no_packet;
		else if (what < 992)
			op_limits();
		else
			op_move();
		if (i % 500 == 0)
			deep_check();
	}
	tear_down();
}

/* 100,000 operations with the fifo policy: packet by packet as the model. */
static void fifo_random_is_as_the_model(void **state)
{
	(void)state;
	random_ops(&m0_rpc_frm_fifo, 1);
}

/* Random items with sorting and cutting. */
static void data_random_is_as_the_model(void **state)
{
	(void)state;
	random_ops(&m0_rpc_frm_data, 2);
}

/* Random items with sorting by object, where many are equal. */
static void metadata_random_is_as_the_model(void **state)
{
	(void)state;
	random_ops(&m0_rpc_frm_metadata, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fifo_random_is_as_the_model),
		cmocka_unit_test(data_random_is_as_the_model),
		cmocka_unit_test(metadata_random_is_as_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
