/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* When packets are formed, and the limits: reference, section 26. */
#include "frm_fake.h"

#include "base/rand.h"

#define FAR (fake.fk_now + 100 * FAKE_TICK)
#define MIN M0_RPC_ITEM_PRIO_MIN
#define MAX M0_RPC_ITEM_PRIO_MAX

/** One packet is on its way: what waits has no reason to leave. */
static void line_busy(void)
{
	fake_post(0, MIN);
	fake_run();
	assert_int_equal(fake.fk_packets_nr, 1);
}

/* Nothing there: idle; and the end of that. */
static void init_is_idle(void **state)
{
	struct m0_rpc_frm_constraints limits;

	(void)state;
	m0_rpc__frm_constraints_get_defaults(&limits);
	assert_true(limits.fc_max_nr_packets_enqed > 0);
	assert_true(limits.fc_max_packet_size > 0);
	fake_start(&limits, NULL, false);
	fake_run();
	fake_check(0, 0);
	assert_true(m0_rpc__frm_set_next(&fake.fk_set) == M0_TIME_NEVER);
	fake_end();
}

/* A deadline of 0 or in the past leaves in the next packet. */
static void item_with_passed_deadline_leaves_at_once(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(100);

	(void)state;
	fake_start(&limits, NULL, false);
	line_busy();
	fake_post(fake.fk_now - 1, MIN);
	fake_check(1, 1);
	fake_run();
	fake_check(0, 2);
	fake_post(0, MIN);
	fake_run();
	fake_check(0, 3);
	fake_end();
}

/* One that waits does not leave beside a packet under way until its deadline
 * has come. */
static void item_waiting_leaves_at_deadline(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(100);

	(void)state;
	fake_start(&limits, NULL, false);
	line_busy();
	fake_post(fake.fk_now + 5 * FAKE_TICK, MIN);
	fake_run();
	fake_check(1, 1);
	assert_true(m0_rpc__frm_set_next(&fake.fk_set) <=
		    fake.fk_now + 5 * FAKE_TICK);
	fake_ticks(4);
	fake_check(1, 1);
	fake_ticks(1);
	fake_check(0, 2);
	fake_end();
}

/* By the batch policy of a network a lone item waits: for a full packet, or
 * its deadline. Formation still takes no more than the limits. */
static void network_batch_waits_on_an_idle_line(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(3);
	unsigned                      i;

	(void)state;
	fake_start(&limits, NULL, false);
	fake.fk_set.fs_network = &m0_rpc_frm_batch;
	fake_post(fake.fk_now + 5 * FAKE_TICK, MIN);
	fake_run();
	fake_check(1, 0);
	fake_ticks(5);
	fake_check(0, 1);
	for (i = 0; i < 2; ++i)
		fake_post(M0_TIME_NEVER, MIN);
	fake_run();
	fake_check(2, 1);
	fake_post(M0_TIME_NEVER, MIN);
	fake_run();
	fake_check(0, 2);
	fake_end();
}

static bool never_ready(const struct m0_rpc_frm_constraints *limits,
			const struct m0_rpc_frm_load        *load)
{
	assert_true(limits->fc_max_nr_packets_enqed == 1000);
	assert_int_equal(load->fl_urgent_nr, 1);
	assert_int_equal(load->fl_waiting_nr, 1);
	assert_int_equal(load->fl_held_nr, 0);
	assert_int_equal(load->fl_packets_enqed, 0);
	assert_int_equal(load->fl_bytes, 2 * FAKE_SIZE);
	assert_false(load->fl_is_full);
	return false;
}

/* A network policy decides, and sees what there is. */
static void network_policy_is_asked(void **state)
{
	static const struct m0_rpc_frm_network never = { "never", NULL,
							 never_ready };
	struct m0_rpc_frm_constraints          limits = fake_limits(100);

	(void)state;
	fake_start(&limits, NULL, false);
	fake.fk_set.fs_network = &never;
	fake_post(0, MIN);
	fake_post(M0_TIME_NEVER, MIN);
	fake_run();
	fake_check(2, 0);
	fake.fk_set.fs_network = &m0_rpc_frm_line;
	m0_rpc__frm_kick(&fake.fk_frm);
	fake_run();
	fake_check(0, 1);
	fake_end();
}

static void limits_zero(const char *ep_addr, struct m0_rpc_frm_constraints *c)
{
	assert_string_equal(ep_addr, "there");
	memset(c, 0, sizeof *c);
}

static void limits_wide(const char *ep_addr, struct m0_rpc_frm_constraints *c)
{
	(void)ep_addr;
	memset(c, 0xff, sizeof *c);
}

/* Limits of a network policy are neither wider than allowed nor too tight for
 * one packet. */
static void network_limits_are_corrected(void **state)
{
	static const struct m0_rpc_frm_network tight = { "t", limits_zero,
							 NULL };
	static const struct m0_rpc_frm_network wide = { "w", limits_wide,
							NULL };
	struct m0_rpc_frm_constraints          limits;

	(void)state;
	m0_rpc__frm_constraints_get_defaults(&limits);
	m0_rpc__frm_network_limits(&tight, "there", &limits);
	assert_int_equal(limits.fc_max_nr_packets_enqed, 1);
	assert_int_equal(limits.fc_max_packet_size, 1024);
	assert_int_equal(limits.fc_max_nr_segments, 16);
	m0_rpc__frm_constraints_get_defaults(&limits);
	m0_rpc__frm_network_limits(&wide, "there", &limits);
	assert_int_equal(limits.fc_max_nr_packets_enqed, 8);
	assert_int_equal(limits.fc_max_packet_size,
			 M0_RPC_DEF_MAX_RPC_MSG_SIZE);
	assert_int_equal(limits.fc_max_nr_segments, 256);
	m0_rpc__frm_network_limits(&m0_rpc_frm_line, "there", &limits);
	assert_int_equal(limits.fc_max_nr_packets_enqed, 8);
}

/* A lone item never waits for company, whatever its deadline. */
static void item_alone_leaves_when_idle(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(100);

	(void)state;
	fake_start(&limits, NULL, false);
	fake_post(M0_TIME_NEVER, MIN);
	fake_run();
	fake_check(0, 1);
	/* The next one waits, until the line is idle again. */
	fake_post(M0_TIME_NEVER, MIN);
	fake_post(FAR, MIN);
	fake_run();
	fake_check(2, 1);
	fake_done();
	fake_run();
	fake_check(0, 1);
	assert_int_equal(fake.fk_packet[1].fpk_nr, 2);
	fake_end();
}

/* Write-through does not wait for its deadline. */
static void item_write_through_leaves_at_once(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(100);
	struct fake_item             *it;

	(void)state;
	fake_start(&limits, NULL, false);
	line_busy();
	it = fake_item_new(FAKE_SIZE);
	it->fki_item.fi_deadline = M0_TIME_NEVER;
	it->fki_item.fi_is_write_through = true;
	fake_enq(it);
	fake_run();
	fake_check(0, 2);
	fake_end();
}

/* Bytes that wait and reach the limit leave, those before do not. */
static void items_accumulated_leave(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(100);
	unsigned                      i;

	(void)state;
	limits.fc_max_nr_bytes_accumulated = 10 * FAKE_SIZE;
	fake_start(&limits, NULL, false);
	line_busy();
	for (i = 0; i < 9; ++i) {
		fake_post(FAR, MIN);
		fake_run();
		fake_check(i + 1, 1);
	}
	fake_post(M0_TIME_NEVER, MAX);
	fake_run();
	fake_check(0, 2);
	assert_int_equal(fake.fk_packet[1].fpk_nr, 10);
	fake_end();
}

/* So do those that fill a packet by bytes, or by fragments. */
static void items_that_fill_a_packet_leave(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(3);
	struct fake_item             *it;
	unsigned                      i;

	(void)state;
	fake_start(&limits, NULL, false);
	line_busy();
	for (i = 0; i < 3; ++i) {
		fake_check(i, 1);
		fake_post(M0_TIME_NEVER, MIN);
		fake_run();
	}
	fake_check(0, 2);
	fake_end();

	limits = fake_limits(100);
	limits.fc_max_nr_segments = 7;
	fake_start(&limits, NULL, false);
	line_busy();
	for (i = 0; i < 2; ++i) {
		fake_check(i, 1);
		it = fake_item_new(FAKE_SIZE);
		it->fki_item.fi_deadline = M0_TIME_NEVER;
		it->fki_item.fi_segs_nr = 3;
		fake_enq(it);
		fake_run();
	}
	fake_check(0, 2);
	assert_int_equal(fake.fk_packet[1].fpk_segs_nr, 7);
	fake_end();
}

/* None may be in flight: nothing is formed; one may: it is. */
static void limit_of_packets_is_kept(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(1);
	unsigned                      i;

	(void)state;
	limits.fc_max_nr_packets_enqed = 0;
	fake_start(&limits, NULL, false);
	fake_post(0, MIN);
	fake_run();
	fake_check(1, 0);
	limits.fc_max_nr_packets_enqed = 1;
	m0_rpc__frm_constraints_set(&fake.fk_frm, &limits);
	fake_run();
	fake_check(0, 1);
	for (i = 0; i < 5; ++i)
		fake_post(0, MIN);
	fake_run();
	fake_check(5, 1);
	fake_done();
	fake_run();
	fake_check(4, 1);
	fake_end();
	assert_int_equal(fake.fk_packets_nr, 6);
}

static const struct {
	unsigned div_items;
	unsigned div_in_packet;
} divisions[] = { { 7, 3 }, { 7, 6 }, { 8, 8 }, { 8, 2 }, { 4, 1 } };

/* n items of which m fit: n/m packets, rounded up. */
static void items_divide_into_packets(void **state)
{
	struct m0_rpc_frm_constraints limits;
	unsigned                      i;
	unsigned                      j;
	unsigned                      n;
	unsigned                      m;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(divisions); ++i) {
		n = divisions[i].div_items;
		m = divisions[i].div_in_packet;
		limits = fake_limits(m);
		fake_start(&limits, NULL, false);
		for (j = 0; j < n; ++j)
			fake_post(0, MIN);
		fake_run();
		assert_int_equal(fake.fk_packets_nr, (n + m - 1) / m);
		fake_check(0, (n + m - 1) / m);
		for (j = 0; j < fake.fk_packets_nr; ++j)
			assert_true(fake.fk_packet[j].fpk_nr <= m);
		/* As posted. */
		for (j = 0; j < n; ++j)
			assert_ptr_equal(fake_in(j / m, j % m),
					 &fake.fk_item[j]);
		fake_end();
	}
}

/* Limits by fragments. */
static void limit_of_segments_is_kept(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(100);
	struct fake_item             *it;
	unsigned                      i;

	(void)state;
	limits.fc_max_nr_segments = 5;
	fake_start(&limits, NULL, false);
	for (i = 0; i < 6; ++i) {
		it = fake_item_new(FAKE_SIZE);
		it->fki_item.fi_segs_nr = 2;
		fake_enq(it);
	}
	/* One that adds none fits beside two. */
	fake_post(0, MIN);
	fake_run();
	assert_int_equal(fake.fk_packets_nr, 3);
	assert_int_equal(fake.fk_packet[0].fpk_nr, 3);
	assert_ptr_equal(fake_in(0, 2), &fake.fk_item[6]);
	fake_end();
}

/* An item that fits into no packet is refused, also when limits shrink. */
static void item_too_large_is_refused(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(2);
	struct fake_item             *large;
	struct fake_item             *many;
	struct fake_item             *small;

	(void)state;
	limits.fc_max_nr_segments = 4;
	limits.fc_max_nr_packets_enqed = 0;
	fake_start(&limits, NULL, false);
	large = fake_item_new(2 * FAKE_SIZE + 1);
	assert_int_equal(m0_rpc__frm_enq(&fake.fk_frm, &large->fki_item,
					 fake.fk_now, 0),
			 -EMSGSIZE);
	many = fake_item_new(FAKE_SIZE);
	many->fki_item.fi_segs_nr = 4;
	assert_int_equal(m0_rpc__frm_enq(&fake.fk_frm, &many->fki_item,
					 fake.fk_now, 0),
			 -EMSGSIZE);
	large->fki_item.fi_view.fv_size = M0_BCOUNT_MAX;
	assert_int_equal(m0_rpc__frm_enq(&fake.fk_frm, &large->fki_item,
					 fake.fk_now, 0),
			 -EMSGSIZE);
	fake_check(0, 0);

	large->fki_item.fi_view.fv_size = 2 * FAKE_SIZE;
	many->fki_item.fi_segs_nr = 3;
	fake_enq(large);
	small = fake_post(0, MIN);
	fake_enq(many);
	limits.fc_max_packet_size -= 1;
	limits.fc_max_nr_segments -= 1;
	limits.fc_max_nr_packets_enqed = 1;
	m0_rpc__frm_constraints_set(&fake.fk_frm, &limits);
	assert_int_equal(large->fki_rc, -EMSGSIZE);
	assert_int_equal(many->fki_rc, -EMSGSIZE);
	assert_int_equal(small->fki_rc, 0);
	fake_check(1, 0);
	fake_run();
	fake_end();
}

/* An item that does not fit into the rest lets smaller ones by, but goes on
 * being first. */
static void item_that_does_not_fit_is_stepped_over(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(4);
	struct fake_item             *a;
	struct fake_item             *large;
	struct fake_item             *b;

	(void)state;
	fake_start(&limits, NULL, false);
	a = fake_post(0, MIN);
	large = fake_item_new(4 * FAKE_SIZE);
	fake_enq(large);
	b = fake_post(0, MIN);
	fake_run();
	assert_int_equal(fake.fk_packets_nr, 2);
	assert_ptr_equal(fake_in(0, 0), a);
	assert_ptr_equal(fake_in(0, 1), b);
	assert_ptr_equal(fake_in(1, 0), large);
	fake_end();
}

/* No packet to be had: everything stays, the set says so, the next run goes
 * on. */
static void packet_not_there_keeps_items(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(100);

	(void)state;
	fake_start(&limits, NULL, false);
	fake.fk_no_packet = true;
	fake_post(0, MIN);
	assert_false(m0_list_is_empty(&fake.fk_set.fs_ready));
	assert_false(m0_rpc__frm_set_run(&fake.fk_set, fake.fk_now));
	fake_check(1, 0);
	/* Nobody is to be called before there is a packet. */
	assert_true(m0_list_is_empty(&fake.fk_set.fs_ready));
	assert_false(m0_rpc__frm_set_run(&fake.fk_set, fake.fk_now));
	fake_check(1, 0);
	/* Run this formation alone. */
	assert_false(m0_rpc__frm_run(&fake.fk_frm));
	fake.fk_no_packet = false;
	assert_true(m0_rpc__frm_set_run(&fake.fk_set, fake.fk_now));
	fake_check(0, 1);
	fake_end();
}

/* Urgent ones by priority, and before those that wait, whatever theirs. */
static void priority_is_kept(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(1);
	struct fake_item             *min;
	struct fake_item             *max;
	struct fake_item             *waiting;

	(void)state;
	fake_start(&limits, NULL, false);
	waiting = fake_post(FAR, MAX);
	min = fake_post(0, MIN);
	max = fake_post(0, MAX);
	fake_run();
	assert_int_equal(fake.fk_packets_nr, 3);
	assert_ptr_equal(fake_in(0, 0), max);
	assert_ptr_equal(fake_in(1, 0), min);
	assert_ptr_equal(fake_in(2, 0), waiting);
	fake_end();
}

/* 100 items of all kinds, formed when it is allowed: each once, in the end
 * nothing is left. */
static void items_random_all_leave(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(7);
	struct m0_rpc_frm_group       group;
	struct m0_rand                rand;
	struct fake_item             *it;
	unsigned                      i;

	(void)state;
	m0_rand_init(&rand, 3);
	limits.fc_max_nr_packets_enqed = 0;
	fake_start(&limits, NULL, false);
	m0_rpc__frm_group_init(&group);
	for (i = 0; i < 100; ++i) {
		it = fake_item_new(m0_rand_in(&rand, 48, 5 * FAKE_SIZE));
		it->fki_item.fi_deadline =
			m0_rand_chance(&rand, 300) ? M0_TIME_NEVER
			: m0_rand_chance(&rand, 500)
				? 0
				: fake.fk_now +
					  m0_rand_below(&rand, 50) * FAKE_TICK;
		it->fki_item.fi_view.fv_prio =
			(unsigned)m0_rand_below(&rand, M0_RPC_ITEM_PRIO_NR);
		if (m0_rand_chance(&rand, 200))
			it->fki_item.fi_group = &group;
		fake_enq(it);
	}
	fake_run();
	fake_check(100, 0);
	m0_rpc__frm_group_close(&group);
	limits.fc_max_nr_packets_enqed = M0_BCOUNT_MAX;
	m0_rpc__frm_constraints_set(&fake.fk_frm, &limits);
	fake_run();
	fake_all_done();
	for (i = 0; i < 100; ++i)
		assert_true(fake.fk_item[i].fki_packet >= 0);
	m0_rpc__frm_group_fini(&group);
	fake_end();
}

/* Formation off: each alone, as it comes, whatever it says. */
static void formation_off_is_one_by_one(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(100);
	struct m0_rpc_frm_group       group;
	struct fake_item             *it;
	unsigned                      i;

	(void)state;
	fake_start(&limits, &m0_rpc_frm_data, true);
	m0_rpc__frm_group_init(&group);
	fake.fk_spare_nr = 1;
	for (i = 0; i < 6; ++i) {
		it = fake_item_new(FAKE_SIZE);
		it->fki_key.rk_fid.u_lo = 10 - i;
		it->fki_item.fi_deadline = M0_TIME_NEVER;
		it->fki_item.fi_view.fv_prio = i % 3;
		it->fki_item.fi_group = i == 4 ? &group : NULL;
		fake_enq(it);
	}
	fake_run();
	assert_int_equal(fake.fk_packets_nr, 6);
	for (i = 0; i < 6; ++i)
		assert_ptr_equal(fake_in(i, 0), &fake.fk_item[i]);
	assert_int_equal(fake.fk_spare_nr, 1);
	fake_end();
}

/* Room that is left goes to sources: as much as fits; they cause no packet, but
 * one that gives more than was asked for loses nothing by it. */
static void spare_room_goes_to_sources(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(4);

	(void)state;
	limits.fc_max_nr_packets_enqed = 1;
	fake_start(&limits, NULL, false);
	fake.fk_spare_nr = 10;
	fake.fk_spare_size = FAKE_SIZE;
	fake_run();
	fake_check(0, 0);
	fake_post(0, MIN);
	fake_run();
	assert_int_equal(fake.fk_packet[0].fpk_nr, 4);
	assert_int_equal(fake.fk_spare_nr, 7);
	/* Not asked any more when there is no room for any item. */
	fake_check(0, 1);
	fake.fk_spare_size = 4 * FAKE_SIZE;
	fake_post(0, MIN);
	fake_done();
	fake_run();
	fake_check(1, 1);
	/* Urgent: it is not to wait for yet another packet. */
	assert_int_equal(fake.fk_frm.f_nr[2], 1);
	fake.fk_spare_nr = 0;
	fake_end();
	assert_int_equal(fake.fk_packets_nr, 3);
}

/* A removed item is gone, wherever it stood, and its deadline with it. */
static void item_removed_is_gone(void **state)
{
	struct m0_rpc_frm_constraints limits = fake_limits(100);
	struct m0_rpc_frm_group       group;
	struct fake_item             *it[3];
	unsigned                      i;

	(void)state;
	fake_start(&limits, NULL, false);
	m0_rpc__frm_group_init(&group);
	line_busy();
	it[0] = fake_post(FAR, MIN);
	it[1] = fake_item_new(FAKE_SIZE);
	it[1]->fki_item.fi_group = &group;
	fake_enq(it[1]);
	it[2] = fake_post(0, MAX);
	for (i = 0; i < 3; ++i) {
		assert_true(m0_rpc__frm_item_is_cached(&it[i]->fki_item));
		m0_rpc__frm_remove(&it[i]->fki_item);
		assert_false(m0_rpc__frm_item_is_cached(&it[i]->fki_item));
		/* Again is nothing. */
		m0_rpc__frm_remove(&it[i]->fki_item);
	}
	assert_true(m0_rpc__frm_set_next(&fake.fk_set) == M0_TIME_NEVER);
	m0_rpc__frm_group_close(&group);
	m0_rpc__frm_group_fini(&group);
	fake_ticks(200);
	fake_check(0, 1);
	/* And can come again. */
	fake_enq(it[0]);
	fake_run();
	fake_check(0, 2);
	fake_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init_is_idle),
		cmocka_unit_test(item_with_passed_deadline_leaves_at_once),
		cmocka_unit_test(item_waiting_leaves_at_deadline),
		cmocka_unit_test(item_alone_leaves_when_idle),
		cmocka_unit_test(network_batch_waits_on_an_idle_line),
		cmocka_unit_test(network_policy_is_asked),
		cmocka_unit_test(network_limits_are_corrected),
		cmocka_unit_test(item_write_through_leaves_at_once),
		cmocka_unit_test(items_accumulated_leave),
		cmocka_unit_test(items_that_fill_a_packet_leave),
		cmocka_unit_test(limit_of_packets_is_kept),
		cmocka_unit_test(items_divide_into_packets),
		cmocka_unit_test(limit_of_segments_is_kept),
		cmocka_unit_test(item_too_large_is_refused),
		cmocka_unit_test(item_that_does_not_fit_is_stepped_over),
		cmocka_unit_test(packet_not_there_keeps_items),
		cmocka_unit_test(priority_is_kept),
		cmocka_unit_test(items_random_all_leave),
		cmocka_unit_test(formation_off_is_one_by_one),
		cmocka_unit_test(spare_room_goes_to_sources),
		cmocka_unit_test(item_removed_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
