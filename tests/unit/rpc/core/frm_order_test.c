/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* In which order items leave: streams, groups, starvation, policies. */
#include "frm_fake.h"

#include "base/rand.h"

#define FAR (fake.fk_now + 100 * FAKE_TICK)
#define MIN M0_RPC_ITEM_PRIO_MIN
#define MID M0_RPC_ITEM_PRIO_MID
#define MAX M0_RPC_ITEM_PRIO_MAX

static struct m0_rpc_frm_stream stream[4];
static struct m0_rpc_frm_group  group;

static void start(unsigned in_packet, const struct m0_rpc_frm_policy *policy)
{
	struct m0_rpc_frm_constraints limits = fake_limits(in_packet);
	size_t                        i;

	fake_start(&limits, policy, false);
	for (i = 0; i < ARRAY_SIZE(stream); ++i)
		m0_rpc__frm_stream_init(&stream[i]);
	m0_rpc__frm_group_init(&group);
}

static void end(void)
{
	size_t i;

	fake_end();
	for (i = 0; i < ARRAY_SIZE(stream); ++i)
		m0_rpc__frm_stream_fini(&stream[i]);
	m0_rpc__frm_group_fini(&group);
}

static void packets_may_fly(uint64_t nr)
{
	struct m0_rpc_frm_constraints limits = fake.fk_frm.f_constraints;

	limits.fc_max_nr_packets_enqed = nr;
	m0_rpc__frm_constraints_set(&fake.fk_frm, &limits);
	fake_run();
}

/** Something is on its way. */
static void line_busy(void)
{
	fake_post(0, MIN);
	fake_run();
	assert_int_equal(fake.fk_packets_nr, 1);
}

/* ------------------------------------------------------------- streams -- */

static struct fake_item *stream_post(unsigned nr, uint64_t order,
				     m0_time_t deadline, unsigned prio)
{
	struct fake_item *it = fake_item_new(FAKE_SIZE);

	it->fki_item.fi_stream = &stream[nr];
	it->fki_item.fi_order = order;
	it->fki_item.fi_deadline = deadline;
	it->fki_item.fi_view.fv_prio = prio;
	fake_enq(it);
	return it;
}

/* An urgent and important item pulls those before it in its stream along. */
static void stream_urgent_pulls_those_before(void **state)
{
	struct fake_item *a;
	struct fake_item *b;
	struct fake_item *other;

	(void)state;
	start(100, NULL);
	line_busy();
	a = stream_post(0, 1, M0_TIME_NEVER, MIN);
	other = stream_post(1, 1, M0_TIME_NEVER, MAX);
	fake_run();
	fake_check(2, 1);
	b = stream_post(0, 2, 0, MIN);
	stream_post(0, 3, M0_TIME_NEVER, MIN);
	fake_run();
	assert_int_equal(fake.fk_packets_nr, 2);
	assert_ptr_equal(fake_in(1, 0), a);
	assert_ptr_equal(fake_in(1, 1), b);
	/* There was room: the packet takes those that wait, too. */
	assert_ptr_equal(fake_in(1, 2), other);
	assert_int_equal(fake.fk_packet[1].fpk_nr, 4);
	end();
}

/* Numbers decide within a stream: what is sent again goes before those that
 * were never sent. */
static void stream_resent_goes_first(void **state)
{
	struct fake_item *it[5];
	unsigned          i;

	(void)state;
	start(1, NULL);
	packets_may_fly(0);
	it[3] = stream_post(0, 30, 0, MIN);
	it[4] = stream_post(0, 40, 0, MAX);
	it[1] = stream_post(0, 10, FAR, MIN);
	it[0] = stream_post(0, 5, 0, MID);
	it[2] = stream_post(0, 20, 0, MIN);
	packets_may_fly(100);
	assert_int_equal(fake.fk_packets_nr, 5);
	for (i = 0; i < 5; ++i)
		assert_ptr_equal(fake_in(i, 0), it[i]);
	end();
}

/* With any priorities, deadlines and policy, the numbers of each stream ascend,
 * and nothing is lost. */
static void stream_order_is_kept(void **state)
{
	const struct m0_rpc_frm_policy *policy[] = { &m0_rpc_frm_fifo,
						     &m0_rpc_frm_data,
						     &m0_rpc_frm_metadata };
	uint64_t                        last[ARRAY_SIZE(stream)];
	struct fake_item               *it;
	struct m0_rand                  rand;
	unsigned                        p;
	unsigned                        i;
	unsigned                        j;

	(void)state;
	m0_rand_init(&rand, 7);
	for (p = 0; p < ARRAY_SIZE(policy); ++p) {
		start(5, policy[p]);
		packets_may_fly(2);
		for (i = 0; i < 1000; ++i) {
			it = fake_item_new(m0_rand_in(&rand, 48, 200));
			it->fki_key.rk_fid.u_lo = m0_rand_below(&rand, 4);
			it->fki_key.rk_offset = m0_rand_below(&rand, 1000);
			it->fki_item.fi_stream =
				&stream[m0_rand_below(&rand, 4)];
			it->fki_item.fi_order = i + 1;
			it->fki_item.fi_deadline =
				m0_rand_chance(&rand, 500) ? 0 : FAR;
			it->fki_item.fi_view.fv_prio =
				(unsigned)m0_rand_below(&rand, 3);
			fake_enq(it);
			fake_run();
			if (m0_rand_chance(&rand, 200) &&
			    fake.fk_done_nr < fake.fk_packets_nr)
				fake_done();
			if (m0_rand_chance(&rand, 20))
				fake_ticks(60);
		}
		fake_all_done();
		memset(last, 0, sizeof last);
		for (i = 0; i < fake.fk_packets_nr; ++i) {
			for (j = 0; (it = fake_in(i, j)) != NULL; ++j) {
				uint64_t *of =
					&last[it->fki_item.fi_stream - stream];

				assert_true(it->fki_item.fi_order > *of);
				*of = it->fki_item.fi_order;
			}
		}
		for (i = 0; i < 1000; ++i)
			assert_true(fake.fk_item[i].fki_packet >= 0);
		end();
	}
}

/* ---------------------------------------------------------- starvation -- */

/* Important work without end does not keep the rest for ever: the bound is
 * reached, and is not passed. */
static void item_starved_goes_first(void **state)
{
	struct fake_item *low;
	struct fake_item *lower;
	unsigned          i;

	(void)state;
	start(1, NULL);
	packets_may_fly(0);
	low = fake_post(0, MIN);
	lower = fake_post(M0_TIME_NEVER, MIN);
	for (i = 1; i <= 40; ++i) {
		fake_post(0, MAX);
		packets_may_fly(i);
	}
	assert_int_equal(low->fki_packet, M0_RPC_FRM_PASSED_MAX);
	assert_int_equal(lower->fki_packet, M0_RPC_FRM_PASSED_MAX + 1);
	packets_may_fly(1000);
	end();
}

/* Items that wait for their turn are not passed over: a queue of one kind is
 * served in order, however long. */
static void item_in_its_turn_is_not_starved(void **state)
{
	unsigned i;

	(void)state;
	start(1, NULL);
	packets_may_fly(0);
	for (i = 0; i < 100; ++i)
		fake_post(0, MIN);
	packets_may_fly(50);
	fake_post(0, MAX);
	packets_may_fly(1000);
	/* The important one passed 50 over, once each. */
	assert_int_equal(fake.fk_item[100].fki_packet, 50);
	assert_int_equal(fake.fk_item[50].fki_packet, 51);
	end();
}

/* An item that never fits beside others is first in a packet in the end, and
 * that packet takes no younger one before it. */
static void item_large_is_not_starved(void **state)
{
	struct fake_item *large;
	unsigned          i;

	(void)state;
	start(4, NULL);
	packets_may_fly(0);
	large = fake_item_new(4 * FAKE_SIZE);
	large->fki_item.fi_view.fv_prio = MIN;
	fake_enq(large);
	for (i = 1; i <= 30; ++i) {
		fake_post(0, MAX);
		packets_may_fly(i);
	}
	assert_int_equal(large->fki_packet, M0_RPC_FRM_PASSED_MAX);
	packets_may_fly(1000);
	end();
}

/* --------------------------------------------------------------- groups -- */

static struct fake_item *group_post(m0_time_t deadline)
{
	struct fake_item *it = fake_item_new(FAKE_SIZE);

	it->fki_item.fi_deadline = deadline;
	it->fki_item.fi_group = &group;
	fake_enq(it);
	return it;
}

/* An open group waits, also when nothing is under way; closed it leaves as
 * one, and what is posted of it then is not held. */
static void group_is_held_until_closed(void **state)
{
	unsigned i;

	(void)state;
	start(100, NULL);
	for (i = 0; i < 5; ++i) {
		group_post(i % 2 == 0 ? 0 : FAR);
		fake_run();
		fake_check(i + 1, 0);
	}
	/* Others do not wait for it, and do not take it along. */
	line_busy();
	fake_check(5, 1);
	m0_rpc__frm_group_close(&group);
	fake_run();
	fake_check(0, 2);
	assert_int_equal(fake.fk_packet[1].fpk_nr, 5);
	group_post(0);
	fake_run();
	fake_check(0, 3);
	group_post(FAR);
	fake_run();
	fake_check(0, 4);
	end();
}

/* Linger counts from the first item (10 ticks here); a deadline may be earlier;
 * afterwards items of the group are like others. */
static void group_is_held_for_its_linger(void **state)
{
	struct fake_item *later;

	(void)state;
	start(100, NULL);
	line_busy();
	group_post(0);
	fake_ticks(3);
	group_post(fake.fk_now + 2 * FAKE_TICK);
	later = group_post(FAR);
	fake_ticks(1);
	fake_check(3, 1);
	fake_ticks(1);
	fake_check(2, 2);
	fake_ticks(4);
	fake_check(2, 2);
	fake_ticks(1);
	/* Ten ticks. The one with time left goes along. */
	fake_check(0, 3);
	assert_int_equal(later->fki_packet, 2);
	group_post(0);
	fake_run();
	fake_check(0, 4);
	group_post(M0_TIME_NEVER);
	fake_run();
	fake_check(1, 4);
	m0_rpc__frm_group_close(&group);
	fake_run();
	fake_check(0, 5);
	end();
}

/* A group that fills a packet leaves, and the rest of it waits on. */
static void group_that_fills_a_packet_leaves(void **state)
{
	unsigned i;

	(void)state;
	start(4, NULL);
	for (i = 0; i < 6; ++i)
		group_post(0);
	fake_run();
	fake_check(2, 1);
	m0_rpc__frm_group_close(&group);
	fake_run();
	fake_check(0, 2);
	end();
}

/* Write-through is stronger than a group; and an urgent item of a stream pulls
 * those held before it. */
static void group_does_not_hold_what_must_go(void **state)
{
	struct fake_item *it;

	(void)state;
	start(100, NULL);
	group_post(0);
	it = fake_item_new(FAKE_SIZE);
	it->fki_item.fi_group = &group;
	it->fki_item.fi_is_write_through = true;
	fake_enq(it);
	fake_run();
	fake_check(1, 1);

	it = fake_item_new(FAKE_SIZE);
	it->fki_item.fi_group = &group;
	it->fki_item.fi_stream = &stream[0];
	it->fki_item.fi_order = 1;
	fake_enq(it);
	fake_run();
	fake_check(2, 1);
	stream_post(0, 2, 0, MIN);
	fake_run();
	fake_check(1, 2);
	assert_ptr_equal(fake_in(1, 0), it);
	m0_rpc__frm_group_close(&group);
	end();
}

/* ------------------------------------------------------------- policies -- */

static struct fake_item *key_post(uint64_t fid, uint64_t offset, uint64_t nr,
				  m0_time_t deadline)
{
	struct fake_item *it = fake_item_new(FAKE_SIZE);

	it->fki_key.rk_fid.u_lo = fid;
	it->fki_key.rk_offset = offset;
	it->fki_key.rk_nr = nr;
	it->fki_item.fi_deadline = deadline;
	fake_enq(it);
	return it;
}

/* Metadata: by object, as posted within each. */
static void metadata_is_sorted_by_object(void **state)
{
	static const unsigned fid[] = { 5, 3, 9, 3, 1, 5, 3 };
	static const unsigned sorted[] = { 4, 1, 3, 6, 0, 5, 2 };
	unsigned              i;

	(void)state;
	start(100, &m0_rpc_frm_metadata);
	for (i = 0; i < ARRAY_SIZE(fid); ++i)
		key_post(fid[i], 100 - i, 1, 0);
	fake_run();
	assert_int_equal(fake.fk_packets_nr, 1);
	for (i = 0; i < ARRAY_SIZE(fid); ++i)
		assert_ptr_equal(fake_in(0, i), &fake.fk_item[sorted[i]]);
	end();
}

/* Data: by object and offset; priority comes before both. */
static void data_is_sorted_by_offset(void **state)
{
	struct fake_item *it[5];
	unsigned          i;

	(void)state;
	start(100, &m0_rpc_frm_data);
	fake.fk_no_merge = true;
	packets_may_fly(0);
	it[4] = key_post(2, 0, 8, 0);
	it[2] = key_post(1, 16, 8, 0);
	it[1] = key_post(1, 8, 8, 0);
	it[3] = key_post(1, 24, 8, 0);
	it[0] = fake_item_new(FAKE_SIZE);
	it[0]->fki_key.rk_fid.u_lo = 7;
	it[0]->fki_item.fi_view.fv_prio = MAX;
	fake_enq(it[0]);
	packets_may_fly(10);
	assert_int_equal(fake.fk_packets_nr, 1);
	for (i = 0; i < 5; ++i)
		assert_ptr_equal(fake_in(0, i), it[i]);
	end();
}

/* Contiguous requests become one item; gaps, other objects, other types and
 * streams stay apart. */
static void data_contiguous_is_merged(void **state)
{
	static const struct m0_rpc_item_type type[2];
	struct fake_item                    *first;
	struct fake_item                    *it;
	unsigned                             i;

	(void)state;
	start(100, &m0_rpc_frm_data);
	packets_may_fly(0);
	for (i = 0; i < 8; ++i) {
		/* Posted backwards. */
		it = key_post(1, 4096 * (7 - i), 4096, 0);
		it->fki_item.fi_view.fv_type = &type[0];
	}
	first = it;
	it = key_post(1, 4096 * 9, 4096, 0);
	it->fki_item.fi_view.fv_type = &type[0];
	it = key_post(1, 4096 * 10, 4096, 0);
	it->fki_item.fi_view.fv_type = &type[1];
	key_post(2, 0, 4096, 0);
	it = fake_item_new(FAKE_SIZE);
	it->fki_key.rk_fid.u_lo = 2;
	it->fki_key.rk_offset = 4096;
	it->fki_key.rk_nr = 4096;
	it->fki_item.fi_stream = &stream[0];
	it->fki_item.fi_order = 1;
	fake_enq(it);
	packets_may_fly(10);
	assert_int_equal(fake.fk_packets_nr, 1);
	assert_int_equal(fake.fk_packet[0].fpk_nr, 5);
	assert_ptr_equal(fake_in(0, 0), first);
	assert_true(first->fki_key.rk_nr == 8 * 4096);
	for (i = 0; i < 7; ++i)
		assert_ptr_equal(fake.fk_item[i].fki_into, first);
	fake_check(0, 1);
	end();
}

/* Extent `i` of the object, of 4 KiB, in a stream. */
static struct fake_item *stream_extent(unsigned nr, uint64_t order, unsigned i,
				       m0_time_t deadline, unsigned prio)
{
	struct fake_item *it = fake_item_new(FAKE_SIZE);

	it->fki_key.rk_fid.u_lo = 1;
	it->fki_key.rk_offset = UINT64_C(4096) * i;
	it->fki_key.rk_nr = 4096;
	it->fki_item.fi_stream = &stream[nr];
	it->fki_item.fi_order = order;
	it->fki_item.fi_deadline = deadline;
	it->fki_item.fi_view.fv_prio = prio;
	fake_enq(it);
	return it;
}

/* In a stream, what follows in it is merged: not over a gap, not with what
 * another stream has, and not with what would not leave now. */
static void stream_contiguous_is_merged(void **state)
{
	struct fake_item *first;
	struct fake_item *other;
	struct fake_item *gap;
	struct fake_item *late;
	struct fake_item *it[3];
	unsigned          i;

	(void)state;
	start(100, &m0_rpc_frm_data);
	packets_may_fly(0);
	first = stream_extent(0, 1, 0, 0, MIN);
	for (i = 0; i < 3; ++i)
		it[i] = stream_extent(0, 2 + i, 1 + i, 0, MIN);
	other = stream_extent(1, 1, 4, 0, MIN);
	gap = stream_extent(0, 5, 6, 0, MIN);
	late = stream_extent(0, 6, 7, M0_TIME_NEVER, MIN);
	packets_may_fly(10);
	assert_true(first->fki_key.rk_nr == UINT64_C(4) * 4096);
	for (i = 0; i < 3; ++i)
		assert_ptr_equal(it[i]->fki_into, first);
	assert_null(other->fki_into);
	assert_null(gap->fki_into);
	assert_null(late->fki_into);
	assert_int_equal(fake.fk_packets_nr, 1);
	assert_int_equal(fake.fk_packet[0].fpk_nr, 4);
	assert_ptr_equal(fake_in(0, 0), first);
	fake_check(0, 1);
	end();
}

/* Merged items stay within a packet's limits. */
static void data_merge_keeps_limits(void **state)
{
	unsigned i;

	(void)state;
	start(3, &m0_rpc_frm_data);
	packets_may_fly(0);
	for (i = 0; i < 20; ++i)
		key_post(1, 4096 * i, 4096, 0);
	packets_may_fly(1000);
	/* 64, and 16 for each more, of 192, where each would fit unmerged:
	 * six. */
	assert_int_equal(fake.fk_packets_nr, 4);
	assert_true(fake_in(0, 0)->fki_key.rk_nr == 6 * 4096);
	assert_true(fake_in(3, 0)->fki_key.rk_nr == 2 * 4096);
	end();
}

/* A packet passes over who is older than the latest item that was merged into
 * it. */
static void data_merged_passes_over(void **state)
{
	struct fake_item *low;
	unsigned          i;

	(void)state;
	start(2, &m0_rpc_frm_data);
	packets_may_fly(0);
	for (i = 0; i <= M0_RPC_FRM_PASSED_MAX; ++i)
		key_post(1 + i, 0, 4096, 0);
	low = key_post(1000, 0, 4096, 0);
	for (i = 0; i <= M0_RPC_FRM_PASSED_MAX; ++i)
		key_post(1 + i, 4096, 4096, 0);
	packets_may_fly(1000);
	/* The last of the old, which starves as well, and then this. */
	assert_int_equal(low->fki_packet, M0_RPC_FRM_PASSED_MAX);
	assert_ptr_equal(fake_in(M0_RPC_FRM_PASSED_MAX, 1), low);
	end();
}

/* Packets end where an aligned MiB of an object ends; nothing that is urgent
 * waits for that. */
static void data_packet_ends_with_its_mib(void **state)
{
	unsigned i;

	(void)state;
	start(100, &m0_rpc_frm_data);
	fake.fk_no_merge = true;
	packets_may_fly(0);
	for (i = 0; i < 16; ++i)
		key_post(1, (m0_bcount_t)i << 18, 1 << 18, FAR);
	key_post(2, 0, 1 << 18, FAR);
	packets_may_fly(1);
	for (i = 0; i < 4; ++i) {
		assert_int_equal(fake.fk_packets_nr, i + 1);
		assert_int_equal(fake.fk_packet[i].fpk_nr, i < 3 ? 4 : 5);
		fake_done();
		fake_run();
	}
	for (i = 0; i < 16; ++i)
		key_post(1, (m0_bcount_t)i << 18, 1 << 18, 0);
	fake_run();
	assert_int_equal(fake.fk_packet[4].fpk_nr, 16);
	end();
}

/** Views for the functions of a policy alone. */
static struct m0_rpc_frm_view view(const struct m0_rpc_item_key *key)
{
	return (struct m0_rpc_frm_view){ .fv_key = key };
}

/* At the end of the numbers, and with keys that say nothing. */
static void data_policy_survives_extremes(void **state)
{
	const struct m0_rpc_item_key key[] = {
		{ { 1, 1 }, UINT64_MAX - 9, 10 },
		{ { 1, 1 }, UINT64_MAX - 9, UINT64_C(1) << 62 },
		{ { 1, 1 }, 0, 4096 },
		{ { 0, 0 }, 0, 4096 },
		{ { 0, 0 }, 4096, 4096 },
		{ { 1, 1 }, 5, 0 },
		{ { 1, 2 }, 4096, 1 },
		{ { 1, 1 }, 4096, 1 },
		{ { 1, 1 }, 6, 1 },
		{ { 1, 1 }, (1 << 20) - 1, 1 },
		{ { 1, 1 }, 1 << 20, 1 },
	};
	struct m0_rpc_frm_view v[ARRAY_SIZE(key)];
	size_t                 i;
	size_t                 j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(key); ++i)
		v[i] = view(&key[i]);
	for (i = 0; i < ARRAY_SIZE(key); ++i) {
		for (j = 0; j < ARRAY_SIZE(key); ++j)
			assert_int_equal(m0_rpc_frm_data.fp_merge(&v[i], &v[j]),
					 i == 2 && j == 7);
	}
	assert_false(m0_rpc_frm_data.fp_cut(&v[3], &v[4]));
	assert_true(m0_rpc_frm_data.fp_cut(&v[2], &v[0]));
	assert_false(m0_rpc_frm_data.fp_cut(&v[0], &v[1]));
	assert_false(m0_rpc_frm_data.fp_cut(&v[1], &v[0]));
	assert_true(m0_rpc_frm_data.fp_cut(&v[9], &v[10]));
	assert_true(m0_rpc_frm_data.fp_cmp(&v[7], &v[6]) < 0);
	assert_true(m0_rpc_frm_data.fp_cmp(&v[0], &v[2]) > 0);
	assert_int_equal(m0_rpc_frm_metadata.fp_cmp(&v[0], &v[2]), 0);
}

/* ---------------------------------------------------------------- groups -- */

/* Closing a group reaches its items in two formations. */
static void group_spans_formations(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(3);
	struct m0_rpc_frm             other;
	struct fake_item             *it;

	(void)state;
	start(4, NULL);
	m0_rpc__frm_init(&other, &fake.fk_set, &limits, NULL, &fake_ops);
	group_post(0);
	it = fake_item_new(FAKE_SIZE);
	it->fki_item.fi_group = &group;
	assert_int_equal(m0_rpc__frm_enq(&other, &it->fki_item, fake.fk_now, 0),
			 0);
	fake_run();
	assert_int_equal(fake.fk_packets_nr, 0);
	m0_rpc__frm_group_close(&group);
	fake_run();
	assert_int_equal(fake.fk_packets_nr, 2);
	fake_all_done();
	m0_rpc__frm_fini(&other);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_urgent_pulls_those_before),
		cmocka_unit_test(stream_resent_goes_first),
		cmocka_unit_test(stream_order_is_kept),
		cmocka_unit_test(item_starved_goes_first),
		cmocka_unit_test(item_in_its_turn_is_not_starved),
		cmocka_unit_test(item_large_is_not_starved),
		cmocka_unit_test(group_is_held_until_closed),
		cmocka_unit_test(group_is_held_for_its_linger),
		cmocka_unit_test(group_that_fills_a_packet_leaves),
		cmocka_unit_test(group_does_not_hold_what_must_go),
		cmocka_unit_test(metadata_is_sorted_by_object),
		cmocka_unit_test(data_is_sorted_by_offset),
		cmocka_unit_test(data_contiguous_is_merged),
		cmocka_unit_test(stream_contiguous_is_merged),
		cmocka_unit_test(data_merge_keeps_limits),
		cmocka_unit_test(data_merged_passes_over),
		cmocka_unit_test(data_packet_ends_with_its_mib),
		cmocka_unit_test(data_policy_survives_extremes),
		cmocka_unit_test(group_spans_formations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
