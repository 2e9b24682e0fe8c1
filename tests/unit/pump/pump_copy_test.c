/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Copies that a server asks for: those that it may, and lies. */
#include "front/pump.h"

static int copy_take(void *arg, const struct m0_shared_copy *copy,
		     void *const *to);

#define RIG_COPY copy_take
#include "pump_rig.h"

/** The copy that the process has made: its places, and what it says. */
static struct m0_shared_copy taken;
static void                 *taken_to[M0_SHARED_PIECES_MAX];
static unsigned              taken_nr;
static int                   take_rc;
/** Entries of the process that were there when it made the first copy, and the last one. */
static uint32_t put_first;
static uint32_t put_last;
/** Answers, and the status of the last one. */
static unsigned done_nr;
static int      done_status;
/** The report that the server puts, and how often. */
static struct m0_shared_report asked;
static unsigned                asks_nr;
static struct m0_lnet_runner   runner;

static int copy_take(void *arg, const struct m0_shared_copy *copy,
		     void *const *to)
{
	assert_ptr_equal(arg, self);
	put_last = __atomic_load_n(self->pr_serve.srv_side.shs_in.shi_put,
				   __ATOMIC_ACQUIRE);
	if (taken_nr == 0)
		put_first = put_last;
	taken = *copy;
	memcpy(taken_to, to, copy->scp_pieces_nr * sizeof to[0]);
	++taken_nr;
	return take_rc;
}

static void done(void *user, int status)
{
	assert_ptr_equal(user, &asked);
	++done_nr;
	done_status = status;
}

/* On the node's thread: as if a message had been matched. */
static m0_time_t ask(struct m0_lnet_runner *from, m0_time_t now)
{
	struct m0_serve *srv = &self->pr_serve;

	(void)from;
	(void)now;
	for (; asks_nr > 0; --asks_nr) {
		if (asked.shp_nr < M0_SHARED_COPIES_MAX)
			srv->srv_copies[asked.shp_nr] = (struct m0_serve_copy){
				.vcy_state = M0_SERVE_COPY_AWAY,
				.vcy_gen = asked.shp_gen,
				.vcy_job = { .cjo_done = done,
					     .cjo_user = &asked },
			};
		assert_true(m0_front_eq_accept(&srv->srv_all));
		m0_shared_report_put(&srv->srv_side, &asked);
		m0_shared_incoming_commit(&srv->srv_side);
		++asked.shp_nr;
	}
	return M0_TIME_NEVER;
}

static void asked_make(unsigned nr, uint32_t bytes)
{
	asked = (struct m0_shared_report){
		.shp_kind = M0_SHARED_COPY,
		.shp_gen = 7,
		.shp_copy = { .scp_pid = 1,
			      .scp_pieces_nr = 2,
			      .scp_pieces = { { 5000, 100, 1, 50 },
					      { 6000, 0, 1, bytes } } },
	};
	asks_nr = nr;
	taken_nr = 0;
	done_nr = 0;
	take_rc = 0;
	runner.ru_run = ask;
	m0_lnet_runner_add(node, &runner);
	m0_lnet_runner_wake(node, &runner);
}

static void copies_are_made_and_answered(void **state)
{
	(void)state;
	asked_make(1, REGION_BYTES - 50);
	progress(20);
	assert_int_equal(taken_nr, 1);
	assert_ptr_equal(taken_to[0], region + 100);
	assert_ptr_equal(taken_to[1], region);
	assert_int_equal(taken.scp_pieces[1].spe_from, 6000);
	assert_int_equal(done_nr, 1);
	assert_int_equal(done_status, 0);
	m0_lnet_runner_del(node, &runner);
	/* As many as there may be, with an error. */
	asked_make(M0_SHARED_COPIES_MAX, 1);
	take_rc = -EPERM;
	progress(20);
	assert_int_equal(done_nr, M0_SHARED_COPIES_MAX);
	assert_int_equal(done_status, -EPERM);
	assert_int_equal(self->pr_client_ended_nr, 0);
	assert_int_equal(self->pr_serve.srv_unreadable, 0);
	m0_lnet_runner_del(node, &runner);
}

/* A turn ends before the copy that would exceed its limit. */
static void turns_are_bounded(void **state)
{
	(void)state;
	asked_make(3, 600 << 10);
	progress(20);
	assert_int_equal(done_nr, 3);
	/* The answers to the others were there when the last copy was made. */
	assert_int_equal(put_last - put_first, 2);
	m0_lnet_runner_del(node, &runner);
}

/* Nothing is copied to memory that the server has not been given. */
static void places_are_checked(void **state)
{
	(void)state;
	asked_make(1, 11);
	asked.shp_copy.scp_pieces[1].spe_offset = REGION_BYTES - 10;
	progress(20);
	assert_int_equal(taken_nr, 0);
	assert_int_equal(done_status, -EFAULT);
	m0_lnet_runner_del(node, &runner);
	/* A number without a region. */
	asked_make(1, 1);
	asked.shp_copy.scp_pieces[1].spe_region = 2;
	progress(20);
	assert_int_equal(taken_nr, 0);
	assert_int_equal(done_status, -EFAULT);
	m0_lnet_runner_del(node, &runner);
	/* One that the process takes back. */
	m0_lnet_mem_deregister(lnet, region, REGION_BYTES);
	progress(20);
	asked_make(1, 1);
	progress(20);
	assert_int_equal(taken_nr, 0);
	assert_int_equal(done_status, -EFAULT);
	assert_int_equal(self->pr_client_ended_nr, 0);
	m0_lnet_runner_del(node, &runner);
	assert_int_equal(m0_lnet_mem_register(lnet, region, REGION_BYTES), 0);
}

static void no_log(void *arg, enum m0_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
}

static void too_many_copies_end_it(void **state)
{
	struct m0_shared_side *side = &self->pr_serve.srv_side;
	unsigned               i;

	(void)state;
	m0_log_set(no_log, NULL);
	asked_make(0, 1);
	for (i = 0; i <= M0_SHARED_COPIES_MAX; ++i) {
		asked.shp_nr = i % M0_SHARED_COPIES_MAX;
		m0_shared_report_put(side, &asked);
		m0_shared_commit(side, 1);
	}
	(void)m0_lnet_progress(lnet);
	assert_int_equal(taken_nr, M0_SHARED_COPIES_MAX);
	assert_int_equal(self->pr_client_ended_nr, 1);
	assert_string_equal(self->pr_why.shy_field, "copy");
	m0_log_set(NULL, NULL);
	m0_lnet_runner_del(node, &runner);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(copies_are_made_and_answered),
		TEST(turns_are_bounded),
		TEST(places_are_checked),
		TEST(too_many_copies_end_it),
	};

	/* Parts of the rig that no case uses. */
	(void)vec_of;
	(void)move;
	(void)await;
	(void)called;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
