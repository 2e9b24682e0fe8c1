/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Portals and numbers of transfer machines of attached processes: what the policy does not
 * admit, and what another process has, is denied. processes[1] is the hostile one.
 */
#include "pump_rig.h"

enum {
	TMID = 4095
};

/* Match bits of the messages of a transfer machine; odd: see attach(). */
static uint64_t bits_of(uint64_t tmid, uint64_t low)
{
	return tmid << 52 | low;
}

static struct process *const other = &processes[1];

static struct memory     mem;
static struct memory     other_mem;
static struct m0_lnet_eq eq;
static struct m0_lnet_eq other_eq;

static int rights_setup(void **state)
{
	serve_cfg.svg_portals = M0_SERVE_RANGES_ALL;
	serve_cfg.svg_tmids = M0_SERVE_RANGES_ALL;
	(void)setup(state);
	(void)vec_of(&mem, 1, region, 64, 0);
	m0_lnet_eq_init(&eq, lnet, called, 0);
	return 0;
}

/* The second process, with what serve_cfg has. */
static void other_begin(void)
{
	process_begin(other);
	(void)vec_of(&other_mem, 1, other->pr_region, 64, 0);
	m0_lnet_eq_init(&other_eq, other->pr_lnet, called, 0);
}

static int rights_teardown(void **state)
{
	(void)teardown(state);
	return 0;
}

/* An MD of the second process ends at once, with this status. */
static void is_denied(uint64_t bits, int rc)
{
	uint64_t before = other->pr_serve.srv_denied_nr;

	events_nr = 0;
	(void)attach(other->pr_lnet, &other_eq, &other_mem.me_vec, bits,
		     M0_LNET_MD_OP_PUT, -1);
	await(1);
	assert_int_equal(count(M0_LNET_EV_UNLINK, rc), 1);
	assert_int_equal(unlinked_count(), 1);
	assert_int_equal(other->pr_serve.srv_denied_nr, before + 1);
}

static int claim(struct m0_lnet *front, uint32_t wanted)
{
	uint32_t nr = 0;
	int      rc = m0_lnet_tm_claim(front, PORTAL, wanted, &nr);

	return rc == 0 ? (int)nr : rc;
}

/* A message for a number reaches its owner alone. */
static void hostile_process_gets_nothing(void **state)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_ignore_bits = UINT64_MAX,
		.mea_flags = M0_LNET_ME_UNLINK,
	};
	struct m0_lnet_md_attr md = { .mda_vec = &other_mem.me_vec,
				      .mda_length = 64,
				      .mda_threshold = -1,
				      .mda_options = M0_LNET_MD_OP_PUT,
				      .mda_auto_unlink = true,
				      .mda_eq = &other_eq };
	struct m0_lnet_handle  handle;

	(void)state;
	other_begin();
	assert_int_equal(claim(lnet, 4096), TMID);
	/* An ME for a number of another process, or of nobody, is denied. */
	is_denied(bits_of(TMID, 1), -EADDRINUSE);
	is_denied(bits_of(TMID, 2), -EADDRINUSE);
	is_denied(bits_of(7, 1), -EACCES);
	assert_int_equal(claim(other->pr_lnet, TMID), -EADDRINUSE);
	assert_int_equal(claim(other->pr_lnet, 7), 7);
	is_denied(bits_of(TMID, 1), -EADDRINUSE);
	/* One that matches all. */
	events_nr = 0;
	assert_int_equal(
		m0_lnet_entry_attach(other->pr_lnet, &me, &md, &handle), 0);
	await(1);
	assert_int_equal(count(M0_LNET_EV_UNLINK, -EACCES), 1);
	events_nr = 0;
	(void)attach(lnet, &eq, &mem.me_vec, bits_of(TMID, 1),
		     M0_LNET_MD_OP_PUT, 1);
	(void)attach(other->pr_lnet, &other_eq, &other_mem.me_vec,
		     bits_of(7, 1), M0_LNET_MD_OP_PUT, 1);
	progress(20);
	memset(region, 'r', 64);
	assert_int_equal(move(lnet, &eq, &mem.me_vec, bits_of(TMID, 1), false,
			      false),
			 0);
	await(2);
	assert_int_equal(count(M0_LNET_EV_PUT, 0), 1);
	assert_ptr_equal(events[0].ev_type == M0_LNET_EV_PUT
				 ? events[0].ev_md_user
				 : events[1].ev_md_user,
			 &mem.me_vec);
	assert_int_equal(other->pr_region[0], 0);
}

/* An ME from before the first number may match any: nobody else gets a number then. */
static void early_wildcard_keeps_others_away(void **state)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_ignore_bits = UINT64_MAX,
	};
	struct m0_lnet_handle handle;

	(void)state;
	other_begin();
	assert_int_equal(m0_lnet_me_attach(other->pr_lnet, &me, &handle), 0);
	progress(20);
	assert_int_equal(claim(lnet, 4096), -EADDRINUSE);
	assert_int_equal(claim(lnet, 7), -EADDRINUSE);
	assert_int_equal(claim(other->pr_lnet, 7), 7);
	assert_int_equal(m0_lnet_me_unlink(other->pr_lnet, handle), 0);
	progress(20);
	assert_int_equal(claim(lnet, 7), -EADDRINUSE);
	assert_int_equal(claim(lnet, 4096), TMID);
	process_end(other);
	assert_int_equal(claim(lnet, 7), 7);
}

/* A number is not free before the MEs for it have ended. */
static void number_waits_for_its_entries(void **state)
{
	struct m0_lnet_handle md;

	(void)state;
	other_begin();
	assert_int_equal(claim(other->pr_lnet, 7), 7);
	md = attach(other->pr_lnet, &other_eq, &other_mem.me_vec, bits_of(7, 1),
		    M0_LNET_MD_OP_PUT, -1);
	progress(20);
	m0_lnet_tm_release(other->pr_lnet, PORTAL, 7);
	progress(20);
	assert_int_equal(claim(lnet, 7), -EADDRINUSE);
	/* Its own machine may have it again, and others may not. */
	is_denied(bits_of(7, 3), -EACCES);
	assert_int_equal(claim(other->pr_lnet, 7), 7);
	m0_lnet_tm_release(other->pr_lnet, PORTAL, 7);
	events_nr = 0;
	assert_int_equal(m0_lnet_md_unlink(other->pr_lnet, md), 0);
	await(1);
	assert_int_equal(claim(lnet, 7), 7);
	/* So does a process that ends with all it has. */
	(void)attach(other->pr_lnet, &other_eq, &other_mem.me_vec,
		     bits_of(7, 1), M0_LNET_MD_OP_PUT, -1);
	process_end(other);
	m0_lnet_tm_release(lnet, PORTAL, 7);
	progress(20);
	assert_int_equal(tms.vts_portals[PORTAL].vpo_owned_nr, 0);
	assert_int_equal(tms.vts_portals[PORTAL].vpo_raw_nr, 0);
}

static void lazy_of_others_is_not_changed(void **state)
{
	(void)state;
	other_begin();
	assert_int_equal(claim(lnet, 7), 7);
	assert_int_equal(m0_lnet_lazy_set(other->pr_lnet, PORTAL, true), 0);
	progress(20);
	assert_int_equal(other->pr_serve.srv_denied_nr, 1);
	assert_int_equal(m0_lnet_lazy_set(lnet, PORTAL, true), 0);
	assert_int_equal(m0_lnet_lazy_set(other->pr_lnet, PORTAL + 1, true), 0);
	progress(20);
	assert_int_equal(self->pr_serve.srv_denied_nr, 0);
	assert_int_equal(other->pr_serve.srv_denied_nr, 1);
}

/* -- the policy ------------------------------------------------------------ */

static void portals_are_of_the_policy(void **state)
{
	const struct m0_serve_ranges ranges = {
		{ { 1, PORTAL - 1 }, { PORTAL + 1, 63 } }, 2
	};

	(void)state;
	serve_cfg.svg_portals = ranges;
	other_begin();
	is_denied(1, -EACCES);
	is_denied(2, -EACCES);
	assert_int_equal(claim(other->pr_lnet, 4096), -EACCES);
	assert_int_equal(claim(other->pr_lnet, 7), -EACCES);
	(void)attach(lnet, &eq, &mem.me_vec, 1,
		     M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET, -1);
	progress(20);
	events_nr = 0;
	assert_int_equal(move(other->pr_lnet, &other_eq, &other_mem.me_vec, 1,
			      false, true),
			 0);
	await(1);
	assert_int_equal(move(other->pr_lnet, &other_eq, &other_mem.me_vec, 1,
			      true, false),
			 0);
	await(2);
	assert_int_equal(count(M0_LNET_EV_UNLINK, -EACCES), 2);
	assert_int_equal(self->pr_serve.srv_denied_nr, 0);
}

static void numbers_are_of_the_policy(void **state)
{
	const struct m0_serve_ranges ranges = { { { 3, 5 }, { 9, 9 } }, 2 };

	(void)state;
	serve_cfg.svg_tmids = ranges;
	other_begin();
	is_denied(bits_of(2, 1), -EACCES);
	is_denied(bits_of(6, 1), -EACCES);
	assert_int_equal(claim(other->pr_lnet, 2), -EACCES);
	assert_int_equal(claim(other->pr_lnet, 4096), 9);
	assert_int_equal(claim(other->pr_lnet, 4096), 5);
	assert_int_equal(claim(other->pr_lnet, 4), 4);
	assert_int_equal(claim(other->pr_lnet, 4096), 3);
	assert_int_equal(claim(other->pr_lnet, 4096), -EADDRNOTAVAIL);
	assert_int_equal(claim(lnet, 4096), TMID);
	assert_int_equal(claim(lnet, 2), 2);
}

/* MEs that might match more than the policy admits. */
static void wildcards_are_of_the_policy(void **state)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_match_bits = bits_of(3, 1),
		.mea_ignore_bits = bits_of(1, 0),
	};
	struct m0_lnet_handle handle;

	(void)state;
	serve_cfg.svg_tmids = (struct m0_serve_ranges){ { { 3, 5 } }, 1 };
	other_begin();
	assert_int_equal(m0_lnet_me_attach(other->pr_lnet, &me, &handle), 0);
	progress(20);
	assert_int_equal(other->pr_serve.srv_denied_nr, 1);
	me.mea_ignore_bits = bits_of(1, 0) - 1;
	assert_int_equal(m0_lnet_me_attach(other->pr_lnet, &me, &handle), 0);
	progress(20);
	assert_int_equal(other->pr_serve.srv_denied_nr, 1);
	assert_int_equal(tms.vts_portals[PORTAL].vpo_raw_nr, 1);
}

#define TEST(test) \
	cmocka_unit_test_setup_teardown(test, rights_setup, rights_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(hostile_process_gets_nothing),
		TEST(early_wildcard_keeps_others_away),
		TEST(number_waits_for_its_entries),
		TEST(lazy_of_others_is_not_changed),
		TEST(portals_are_of_the_policy),
		TEST(numbers_are_of_the_policy),
		TEST(wildcards_are_of_the_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
