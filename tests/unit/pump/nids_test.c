/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * NIDs that the node gains and loses while a process is attached, and servers that lie
 * about them.
 */
#include "pump_rig.h"

enum {
	/** More NIDs than a piece of an answer has. */
	NETS_NR = 15,
	IFACES_NR = 8,
	STEPS_NR = 20000
};

static void no_log(void *arg, enum m0_log_level level, const char *text)
{
	unsigned *nr = arg;

	(void)text;
	*nr += level == M0_LOG_ERROR;
}

static unsigned nids_nr(struct m0_lnet *front)
{
	struct m0_lnet_process_id id;
	unsigned                  nr = 0;

	while (m0_lnet_get_id(front, nr, &id) == 0)
		++nr;
	return nr;
}

/* The process makes steps, and asks for nothing. */
static void learned_await(unsigned nr)
{
	m0_time_t until = m0_time_from_now(5, 0);

	while (nids_nr(lnet) != nr && m0_time_now() < until)
		progress(1);
	assert_int_equal(nids_nr(lnet), nr);
}

/* Network `nr`, which has so many interfaces. */
static void net_set(struct m0_lnet_net_cfg *net, unsigned nr,
		    unsigned ifaces_nr)
{
	unsigned i;

	memset(net, 0, sizeof *net);
	net->lnc_net = m0_lnet_net(M0_LNET_TYPE_TCP, (uint16_t)(1 + nr));
	net->lnc_ifaces_nr = ifaces_nr;
	for (i = 0; i < ifaces_nr; ++i)
		(void)snprintf(net->lnc_ifaces[i], sizeof net->lnc_ifaces[i],
			       "127.0.0.%u", 1 + i);
}

static void change(bool add, unsigned nr, unsigned ifaces_nr)
{
	struct m0_lnet_net_cfg net;
	char                   why[M0_LNET_WHY_BYTES] = "";
	int                    rc;

	net_set(&net, nr, ifaces_nr);
	rc = add ? m0_lnet_net_add(node, &net, why)
		 : m0_lnet_net_del(node, &net, why);
	if (rc != 0)
		fail_msg("%s", why);
}

static void process_learns_of_changes(void **state)
{
	struct m0_lnet_process_id id;

	(void)state;
	assert_int_equal(nids_nr(lnet), 2);
	change(true, 0, 1);
	learned_await(3);
	assert_int_equal(m0_lnet_get_id(lnet, 2, &id), 0);
	assert_int_equal(m0_lnet_nid_net(&id.lp_nid),
			 m0_lnet_net(M0_LNET_TYPE_TCP, 1));
	change(false, 0, 1);
	learned_await(2);
}

/* An answer of several pieces; changes while it is on its way. */
static void process_learns_of_many(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < NETS_NR; ++i) {
		change(true, i, IFACES_NR);
		if (i % 4 == 0)
			progress(1);
	}
	learned_await(2 + NETS_NR * IFACES_NR);
	for (i = 0; i < NETS_NR; ++i)
		change(false, i, IFACES_NR);
	learned_await(2);
}

/* The server has no more records for requests than the process uses. */
static void process_learns_later(void **state)
{
	struct m0_lnet_info *info;

	(void)state;
	change(true, 0, 1);
	assert_int_equal(m0_lnet_info_get(lnet, &info), 0);
	m0_lnet_info_free(info);
	learned_await(3);
	change(false, 0, 1);
	learned_await(2);
}

static uint32_t down_nr(void)
{
	return self->pr_serve.srv_side.shs_words->shw_down_put.shl_word;
}

static void word_set(uint32_t word)
{
	__atomic_store_n(
		&self->pr_serve.srv_side.shs_words->shw_state.shl_incoming,
		word, __ATOMIC_RELEASE);
}

/* A server that counts without end is asked now and then, and answered. */
static void wild_counts_are_harmless(void **state)
{
	struct m0_lnet_eq    eq;
	static struct memory mem;
	m0_time_t            begin = m0_time_now();
	uint32_t             before = down_nr();
	uint32_t             nr;
	unsigned             i;

	(void)state;
	for (i = 0; i < STEPS_NR; ++i) {
		word_set(i * 0x9e3779b9U);
		progress(1);
	}
	nr = down_nr() - before;
	assert_in_range(nr, 1,
			2 + (m0_time_now() - begin) / (10 * M0_TIME_ONE_MSEC));
	assert_int_equal(nids_nr(lnet), 2);
	m0_lnet_eq_init(&eq, lnet, called, 0);
	assert_int_equal(move(lnet, &eq, vec_of(&mem, 1, region, 64, 64), 3,
			      false, false),
			 0);
	await(1);
	m0_lnet_eq_fini(&eq);
	assert_false(m0_pump_is_ended(lnet));
}

/* The server's next step, by hand. */
static void answer_put(const struct m0_ring_control *answer)
{
	static struct m0_ring_seg segs[M0_LNET_MD_SEGS_MAX];
	struct m0_shared_side    *side = &self->pr_serve.srv_side;
	struct m0_shared_report   rep = { .shp_kind = M0_SHARED_ANSWER };
	struct m0_shared_request  req = { .srq_segs = segs };
	m0_time_t                 until = m0_time_from_now(5, 0);
	int                       nr = 0;

	while (nr == 0 && m0_time_now() < until) {
		(void)m0_lnet_progress(lnet);
		nr = m0_shared_request_get(side, &req, NULL);
	}
	assert_int_equal(nr, 1);
	assert_int_equal(req.srq_opcode, M0_SHARED_CONTROL);
	assert_int_equal(m0_shared_owe(side, 1, NULL), 0);
	m0_shared_release(side, 1, 0);
	memcpy(m0_shared_control(side, req.srq_nr), answer, sizeof *answer);
	rep.shp_nr = req.srq_nr;
	rep.shp_gen = req.srq_gen;
	assert_int_equal(m0_shared_owed(side, NULL), 0);
	m0_shared_report_put(side, &rep);
	m0_shared_commit(side, 1);
	for (nr = 0; nr < 10; ++nr)
		(void)m0_lnet_progress(lnet);
}

static const struct m0_ring_control lies[] = {
	/* No NID, half of one, too many. */
	{ .rqc_rc = 0 },
	{ .rqc_rc = 1, .rqc_block_bytes = 1, .rqc_piece_bytes = 1 },
	{ .rqc_rc = 1, .rqc_block_bytes = 1 << 26, .rqc_piece_bytes = 8 },
	/* No piece; one that is longer than the block. */
	{ .rqc_rc = 1, .rqc_block_bytes = 48, .rqc_piece_bytes = 0 },
	{ .rqc_rc = 1, .rqc_block_bytes = 20, .rqc_piece_bytes = 40 },
	/* An address that is too long. */
	{ .rqc_rc = 1,
	  .rqc_version = 7,
	  .rqc_block_bytes = sizeof(struct m0_lnet_nid),
	  .rqc_piece_bytes = sizeof(struct m0_lnet_nid),
	  .rqc_piece = { UINT64_MAX, UINT64_MAX, UINT64_MAX } },
};

static void wild_nids_end_it(void **state)
{
	unsigned logged_nr;
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(lies); ++i) {
		if (i > 0)
			(void)setup(state);
		logged_nr = 0;
		m0_log_set(no_log, &logged_nr);
		progress(20);
		word_set(1000);
		answer_put(&lies[i]);
		m0_log_set(NULL, NULL);
		assert_true(m0_pump_is_ended(lnet));
		assert_int_equal(logged_nr, 1);
		assert_int_equal(nids_nr(lnet), 2);
		if (i + 1 < ARRAY_SIZE(lies))
			(void)teardown(state);
	}
}

/* An error is no lie: the process asks again, and learns. */
static void errors_are_passed(void **state)
{
	static const struct m0_ring_control poor = { .rqc_rc = -ENOMEM };

	(void)state;
	progress(20);
	word_set(1000);
	answer_put(&poor);
	assert_false(m0_pump_is_ended(lnet));
	change(true, 0, 1);
	learned_await(3);
	assert_false(m0_pump_is_ended(lnet));
}

static unsigned probed_nr;

static void probed(struct m0_lnet_probe *probe)
{
	++probed_nr;
	assert_int_equal(probe->pr_status, -ESHUTDOWN);
}

/* Outcomes of a probe that end the attachment; the probe ends once. */
static void wild_probes_end_it(void **state)
{
	static struct m0_ring_control lies_of[5];
	static struct m0_lnet_probe   probe;
	unsigned                      logged_nr = 0;
	unsigned                      i;

	lies_of[0].rqc_rc = 1;
	lies_of[1].rqc_probe.rpb_source.ln_size = 99;
	lies_of[2].rqc_probe.rpb_nids_nr = M0_LNET_PROBE_NIDS_MAX + 1;
	lies_of[3].rqc_probe.rpb_nids_nr = 1;
	lies_of[3].rqc_probe.rpb_nids_up[0] = 2;
	lies_of[4].rqc_rc = -ETIMEDOUT;
	lies_of[4].rqc_probe.rpb_primary.ln_size = 99;
	for (i = 0; i < ARRAY_SIZE(lies_of); ++i) {
		if (i > 0)
			(void)setup(state);
		m0_log_set(no_log, &logged_nr);
		progress(20);
		probe = (struct m0_lnet_probe){ .pr_kind = M0_LNET_PING,
						.pr_nid = m0_lnet_nid_lo,
						.pr_self = m0_lnet_nid_any,
						.pr_done = probed };
		probed_nr = 0;
		assert_int_equal(m0_lnet_probe(lnet, &probe), 0);
		answer_put(&lies_of[i]);
		m0_log_set(NULL, NULL);
		assert_true(m0_pump_is_ended(lnet));
		assert_int_equal(probed_nr, 1);
		if (i + 1 < ARRAY_SIZE(lies_of))
			(void)teardown(state);
	}
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(process_learns_of_changes), TEST(process_learns_of_many),
		TEST(process_learns_later),      TEST(wild_counts_are_harmless),
		TEST(wild_nids_end_it),          TEST(errors_are_passed),
		TEST(wild_probes_end_it),
	};

	return cmocka_run_group_tests_name("pump/nids", tests, NULL, NULL);
}
