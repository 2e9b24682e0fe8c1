/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Inline nodes in virtual time: a thread that waits for one makes its progress. */
#include "lnet/node.h"
#include "m0/lnet_run.h"

static struct m0_sim sim;
static struct node   a;
static struct node   b;

static const struct m0_sim_stream_cfg wire = { .ssc_latency_ns = 50 * 1000 };

static void tune(struct m0_lnet_cfg *cfg)
{
	cfg->lc_inline = true;
	cfg->lc_mes_max = 1;
	cfg->lc_mds_max = 2;
}

static int setup(void **state)
{
	(void)state;
	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(3), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
	node_init(&a, &sim, "a", "10.0.0.1", tune);
	node_init(&b, &sim, "b", "10.0.0.2", NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	node_fini(&a);
	node_fini(&b);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
	return 0;
}

/* A blocking call ends, whether or not it is answered. */
static void wait_makes_progress(void **state)
{
	struct m0_lnet_probe probe = { .pr_self = m0_lnet_nid_any,
				       .pr_nid = b.n_nid };
	struct m0_lnet_info *info;
	m0_time_t            since;

	(void)state;
	assert_int_equal(m0_lnet_probe_sync(a.n_lnet, &probe), 0);
	assert_int_equal(probe.pr_nids_nr, 1);
	assert_int_equal(m0_lnet_info_get(a.n_lnet, &info), 0);
	assert_int_equal(info->li_peers_nr, 1);
	m0_lnet_info_free(info);
	/* Nobody steps a but its own callers. */
	probe.pr_nid = a.n_nid;
	probe.pr_timeout_ms = 2000;
	since = m0_sim_now(&sim);
	assert_int_equal(m0_lnet_probe_sync(b.n_lnet, &probe), -ETIMEDOUT);
	assert_true(m0_sim_now(&sim) - since <= 2100 * M0_TIME_ONE_MSEC);
}

/* A queue is waited for as long as was said. */
static void queue_wait_makes_progress(void **state)
{
	struct m0_lnet_me_attr me = { .mea_portal = NODE_PORTAL,
				      .mea_id = { m0_lnet_nid_any,
						  M0_LNET_PID_ANY } };
	struct m0_lnet_md_attr md = { .mda_threshold = 2,
				      .mda_options = M0_LNET_MD_OP_PUT,
				      .mda_auto_unlink = true };
	struct m0_lnet_op      op = { .lo_self = m0_lnet_nid_any,
				      .lo_target = { a.n_nid, 12345 },
				      .lo_portal = NODE_PORTAL };
	struct m0_lnet_handle  handle;
	struct m0_lnet_handle  mdh;
	struct m0_lnet_event   ev;
	struct m0_lnet_eq      eq;
	m0_time_t              end;
	int                    i;

	(void)state;
	m0_lnet_eq_init(&eq, a.n_lnet, NULL, 0);
	md.mda_eq = &eq;
	assert_int_equal(m0_lnet_me_attach(a.n_lnet, &me, &handle), 0);
	assert_int_equal(m0_lnet_md_attach(a.n_lnet, handle, &md, &mdh), 0);
	assert_int_equal(m0_lnet_eq_get(&eq, &ev), -EAGAIN);
	end = m0_time_from_now(1, 0);
	assert_int_equal(m0_lnet_eq_wait(&eq, &ev, end), -ETIMEDOUT);
	assert_true(m0_sim_now(&sim) >= end);
	assert_true(m0_sim_now(&sim) < end + 10 * M0_TIME_ONE_MSEC);
	md = (struct m0_lnet_md_attr){ .mda_threshold = 2,
				       .mda_auto_unlink = true };
	assert_int_equal(m0_lnet_md_bind(b.n_lnet, &md, &mdh), 0);
	for (i = 0; i < 2; ++i) {
		assert_int_equal(m0_lnet_put(b.n_lnet, mdh, &op), 0);
		assert_int_equal(
			m0_lnet_eq_wait(&eq, &ev, m0_time_from_now(10, 0)), 0);
		assert_int_equal(ev.ev_type, M0_LNET_EV_PUT);
		assert_int_equal(ev.ev_unlinked, i == 1);
	}
	assert_int_equal(m0_lnet_me_unlink(a.n_lnet, handle), 0);
	m0_lnet_eq_fini(&eq);
}

/* An event has its slot in the queue from the arrival of its message: GETs
 * whose answers have not left cannot exceed the queue. */
static void queue_has_places_for_what_is_answered(void **state)
{
	struct m0_lnet_me_attr me = { .mea_portal = NODE_PORTAL,
				      .mea_id = { m0_lnet_nid_any,
						  M0_LNET_PID_ANY } };
	struct m0_lnet_md_attr md = { .mda_threshold = M0_LNET_MD_THRESHOLD_INF,
				      .mda_options = M0_LNET_MD_OP_GET };
	struct m0_lnet_op      op = { .lo_self = m0_lnet_nid_any,
				      .lo_target = { a.n_nid, 12345 },
				      .lo_portal = NODE_PORTAL };
	struct m0_lnet_handle  handle;
	struct m0_lnet_handle  mdh;
	struct m0_lnet_event   ev;
	struct m0_lnet_eq      eq;
	unsigned               nr;
	int                    i;

	(void)state;
	m0_lnet_eq_init(&eq, a.n_lnet, NULL, 2);
	md.mda_eq = &eq;
	assert_int_equal(m0_lnet_me_attach(a.n_lnet, &me, &handle), 0);
	assert_int_equal(m0_lnet_md_attach(a.n_lnet, handle, &md, &mdh), 0);
	md = (struct m0_lnet_md_attr){ .mda_threshold =
					       M0_LNET_MD_THRESHOLD_INF };
	assert_int_equal(m0_lnet_md_bind(b.n_lnet, &md, &mdh), 0);
	for (i = 0; i < 8; ++i)
		assert_int_equal(m0_lnet_get(b.n_lnet, mdh, &op), 0);
	m0_sim_run_ms(&sim, 100);
	/* The first step of a takes them all, the next tells. */
	for (i = 0; i < 20; ++i) {
		(void)m0_lnet_progress(a.n_lnet);
		m0_sim_run_ms(&sim, 10);
	}
	for (nr = 0; m0_lnet_eq_get(&eq, &ev) == 0; ++nr)
		assert_int_equal(ev.ev_type, M0_LNET_EV_GET);
	assert_int_equal(nr, 2);
	assert_int_equal(eq.eq_dropped_nr, 8 - 2);
	/* Taken, there is room again. */
	assert_int_equal(m0_lnet_get(b.n_lnet, mdh, &op), 0);
	assert_int_equal(m0_lnet_eq_wait(&eq, &ev, m0_time_from_now(10, 0)), 0);
	assert_int_equal(ev.ev_type, M0_LNET_EV_GET);
	assert_int_equal(m0_lnet_md_unlink(b.n_lnet, mdh), 0);
	assert_int_equal(m0_lnet_me_unlink(a.n_lnet, handle), 0);
	assert_int_equal(m0_lnet_eq_wait(&eq, &ev, m0_time_from_now(10, 0)), 0);
	assert_true(ev.ev_unlinked);
	m0_lnet_eq_fini(&eq);
}

/* A portal that was not lazy for a moment has dropped what waited there, of others
 * and of ourselves, however short the moment was. */
static void lazy_cleared_and_set_drops_what_waits(void **state)
{
	struct node_window window;
	struct node_op     op[3];
	unsigned           i;

	(void)state;
	assert_int_equal(m0_lnet_lazy_set(b.n_lnet, NODE_PORTAL, true), 0);
	node_put(&op[0], &a, &b.n_nid, 7, 0, 100, 1, false);
	(void)m0_lnet_progress(a.n_lnet);
	node_put(&op[1], &b, &b.n_nid, 7, 0, 100, 2, false);
	for (i = 0; i < 20; ++i) {
		(void)m0_lnet_progress(a.n_lnet);
		m0_sim_run_ms(&sim, 10);
	}
	assert_int_equal(node_stats(&b).ls_drop_no_match, 0);
	assert_int_equal(m0_lnet_lazy_set(b.n_lnet, NODE_PORTAL, false), 0);
	assert_int_equal(m0_lnet_lazy_set(b.n_lnet, NODE_PORTAL, true), 0);
	/* This PUT arrives after the portal was turned off and on. */
	node_put(&op[2], &a, &b.n_nid, 7, 0, 100, 3, false);
	for (i = 0; i < 20; ++i) {
		(void)m0_lnet_progress(a.n_lnet);
		m0_sim_run_ms(&sim, 10);
	}
	assert_int_equal(node_stats(&b).ls_drop_no_match, 2);
	node_window_init(&window, &b, 7, 100, -1);
	for (i = 0; i < 20; ++i) {
		(void)m0_lnet_progress(a.n_lnet);
		m0_sim_run_ms(&sim, 10);
	}
	assert_int_equal(window.nw_puts_nr, 1);
	assert_int_equal(window.nw_bytes[0], node_byte(3, 0));
	for (i = 0; i < 3; ++i)
		node_op_fini(&op[i]);
	node_window_unlink(&window);
	m0_sim_run_ms(&sim, 10);
	node_window_fini(&window);
}

static bool progress(void *arg)
{
	bool *did = arg;

	if (m0_lnet_progress(a.n_lnet))
		*did = true;
	return false;
}

static void probe_done(struct m0_lnet_probe *probe)
{
	assert_false(m0_lnet_progress(a.n_lnet));
	*(bool *)probe->pr_user = true;
}

/* Progress says whether there was any; a callback makes none. */
static void progress_tells_what_it_did(void **state)
{
	bool                 done = false;
	bool                 did = false;
	struct m0_lnet_probe probe = { .pr_self = m0_lnet_nid_any,
				       .pr_nid = b.n_nid,
				       .pr_user = &done,
				       .pr_done = probe_done };

	(void)state;
	while (m0_lnet_progress(a.n_lnet))
		;
	(void)m0_sim_run_until(&sim, progress, &did, M0_TIME_ONE_SECOND);
	assert_false(did);
	assert_int_equal(m0_lnet_probe(a.n_lnet, &probe), 0);
	assert_false(done);
	(void)m0_sim_run_until(&sim, progress, &did, M0_TIME_ONE_SECOND);
	assert_true(did && done);
	assert_int_equal(probe.pr_status, 0);
}

/* -- what a push does ------------------------------------------------------ */

static struct m0_lnet_event told[8];
static unsigned             told_nr;

static void tell(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	(void)eq;
	assert_true(told_nr < ARRAY_SIZE(told));
	told[told_nr++] = *ev;
}

static int entry(struct m0_lnet *lnet, struct m0_lnet_eq *eq,
		 struct m0_lnet_handle *ret)
{
	const struct m0_lnet_me_attr me = { .mea_portal = NODE_PORTAL,
					    .mea_id = { m0_lnet_nid_any,
							M0_LNET_PID_ANY },
					    .mea_flags = M0_LNET_ME_UNLINK };
	const struct m0_lnet_md_attr md = { .mda_threshold = 1,
					    .mda_options = M0_LNET_MD_OP_PUT,
					    .mda_eq = eq,
					    .mda_auto_unlink = true };

	return m0_lnet_entry_attach(lnet, &me, &md, ret);
}

static void say(struct m0_lnet *lnet, struct m0_lnet_eq *eq,
		const struct m0_lnet_nid *to)
{
	const struct m0_lnet_md_attr md = { .mda_threshold = 1,
					    .mda_eq = eq,
					    .mda_auto_unlink = true };
	const struct m0_lnet_op      op = { .lo_self = m0_lnet_nid_any,
					    .lo_target = { *to, 12345 },
					    .lo_portal = NODE_PORTAL };
	struct m0_lnet_handle        handle;

	assert_int_equal(m0_lnet_bind_put(lnet, &md, &op, &handle), 0);
}

static bool told_enough(void *arg)
{
	while (told_nr < *(unsigned *)arg && m0_lnet_progress(a.n_lnet))
		;
	return told_nr >= *(unsigned *)arg;
}

static void tell_wait(unsigned nr)
{
	assert_true(
		m0_sim_run_until(&sim, told_enough, &nr, M0_TIME_ONE_SECOND));
}

/* A queue, and nothing left to do: what is asked for now is in one push. */
static void push_begin(struct m0_lnet_eq *eq)
{
	told_nr = 0;
	m0_lnet_eq_init(eq, a.n_lnet, tell, 0);
	while (m0_lnet_progress(a.n_lnet))
		;
}

/* The push: two events come of it, one of them is of this type. */
static void push_end(struct m0_lnet_eq *eq, enum m0_lnet_event_type type)
{
	unsigned nr = 0;
	unsigned i;

	m0_lnet_push(a.n_lnet);
	tell_wait(2);
	for (i = 0; i < told_nr; ++i)
		nr += told[i].ev_type == type;
	assert_int_equal(nr, 1);
	m0_lnet_eq_fini(eq);
}

/* An entry, its end, and a message, asked for in one go: the message may be
 * first, the end is after its beginning. */
static void push_ends_no_entry_before_it_began(void **state)
{
	struct m0_lnet_handle md;
	struct m0_lnet_eq     eq;

	(void)state;
	push_begin(&eq);
	assert_int_equal(entry(a.n_lnet, &eq, &md), 0);
	assert_int_equal(m0_lnet_md_unlink(a.n_lnet, md), 0);
	say(a.n_lnet, &eq, &b.n_nid);
	push_end(&eq, M0_LNET_EV_UNLINK);
	assert_int_equal(told_nr, 2);
	assert_true(told[0].ev_unlinked && told[1].ev_unlinked);
}

/* An entry that its message has overtaken takes the answer, the first that can
 * come: a message to oneself. */
static void push_attaches_before_an_answer(void **state)
{
	struct m0_lnet_handle md;
	struct m0_lnet_eq     eq;

	(void)state;
	push_begin(&eq);
	say(a.n_lnet, &eq, &a.n_nid);
	assert_int_equal(entry(a.n_lnet, &eq, &md), 0);
	push_end(&eq, M0_LNET_EV_PUT);
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

/* Each step has a message to tell, which comes before all else that is to be
 * done; a time-out passes all the same. */
static void messages_do_not_hold_up_a_timeout(void **state)
{
	struct m0_lnet_nid    nobody;
	bool                  done = false;
	struct m0_lnet_probe  probe = { .pr_self = m0_lnet_nid_any,
					.pr_timeout_ms = 100,
					.pr_user = &done,
					.pr_done = probe_done };
	struct m0_lnet_handle md;
	struct m0_lnet_eq     eq;
	m0_time_t             since;
	unsigned              nr = 0;

	(void)state;
	assert_int_equal(m0_lnet_nid_parse(&nobody, "10.0.0.9@tcp"), 0);
	probe.pr_nid = nobody;
	m0_lnet_eq_init(&eq, a.n_lnet, tell, 0);
	assert_int_equal(m0_lnet_probe(a.n_lnet, &probe), 0);
	since = m0_sim_now(&sim);
	told_nr = 1;
	while (!done) {
		assert_true(m0_sim_now(&sim) - since <= 105 * M0_TIME_ONE_MSEC);
		if (told_nr > 0) {
			assert_int_equal(entry(a.n_lnet, &eq, &md), 0);
			say(b.n_lnet, NULL, &a.n_nid);
		}
		told_nr = 0;
		m0_lnet_push(a.n_lnet);
		(void)m0_sim_run_until(&sim, never, NULL, M0_TIME_ONE_MSEC);
		(void)m0_lnet_poll_at(a.n_lnet, m0_time_now());
		nr += told_nr;
	}
	assert_int_equal(probe.pr_status, -ETIMEDOUT);
	/* All but those for which the two got to know each other. */
	assert_true(nr > 80);
	while (m0_lnet_progress(a.n_lnet))
		;
	m0_lnet_eq_fini(&eq);
}

static struct m0_lnet_eq answers;

static void answer(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	(void)eq;
	if (ev->ev_type == M0_LNET_EV_PUT)
		say(a.n_lnet, NULL, &b.n_nid);
}

static void step_once(bool polls)
{
	if (polls)
		(void)m0_lnet_poll_at(a.n_lnet, m0_time_now());
	else
		(void)m0_lnet_progress(a.n_lnet);
}

/* An operation posted by a callback leaves with the step that made the
 * callback, because the thread of that step may be busy for long. */
static void answer_of_a_callback_leaves(void **state)
{
	struct m0_lnet_handle md;
	struct m0_lnet_eq     eq;
	int                   i;

	(void)state;
	m0_lnet_eq_init(&answers, b.n_lnet, tell, 0);
	m0_lnet_eq_init(&eq, a.n_lnet, answer, 0);
	for (i = 0; i < 6; ++i) {
		told_nr = 0;
		while (m0_lnet_progress(a.n_lnet))
			;
		assert_int_equal(entry(a.n_lnet, &eq, &md), 0);
		m0_lnet_push(a.n_lnet);
		assert_int_equal(entry(b.n_lnet, &answers, &md), 0);
		say(b.n_lnet, NULL, &a.n_nid);
		/* The first time the two have to get to know each other. */
		if (i == 0) {
			tell_wait(1);
			continue;
		}
		(void)m0_sim_run_until(&sim, never, NULL, M0_TIME_ONE_MSEC);
		assert_int_equal(told_nr, 0);
		step_once(i % 2 == 0);
		(void)m0_sim_run_until(&sim, never, NULL, M0_TIME_ONE_MSEC);
		assert_int_equal(told_nr, 1);
	}
	m0_lnet_eq_fini(&eq);
	m0_lnet_eq_fini(&answers);
}

/* A thread that has taken the last event of an entry may use its slot at
 * once. */
static void place_told_of_is_there_again(void **state)
{
	struct m0_lnet_handle md;
	struct m0_lnet_eq     eq;
	int                   i;

	(void)state;
	m0_lnet_eq_init(&eq, a.n_lnet, tell, 0);
	for (i = 0; i < 3; ++i) {
		told_nr = 0;
		assert_int_equal(entry(a.n_lnet, &eq, &md), 0);
		assert_true(entry(a.n_lnet, &eq, &md) < 0);
		say(b.n_lnet, NULL, &a.n_nid);
		tell_wait(1);
		assert_int_equal(told[0].ev_type, M0_LNET_EV_PUT);
		assert_int_equal(told[0].ev_status, 0);
	}
	m0_lnet_eq_fini(&eq);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(wait_makes_progress),
		CASE(queue_wait_makes_progress),
		CASE(queue_has_places_for_what_is_answered),
		CASE(lazy_cleared_and_set_drops_what_waits),
		CASE(progress_tells_what_it_did),
		CASE(push_ends_no_entry_before_it_began),
		CASE(push_attaches_before_an_answer),
		CASE(messages_do_not_hold_up_a_timeout),
		CASE(answer_of_a_callback_leaves),
		CASE(place_told_of_is_there_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
