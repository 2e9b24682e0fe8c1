/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Threads against each other and against the node's: each operation has the
 * events that it shall have, whichever wins. */
#include <string.h>

#include "lnet/real_case.h"

enum {
	THREADS_NR = 3,
	ROUNDS_NR = 300,
	BYTES = 20000
};

static unsigned char   source[BYTES];
static unsigned char   sink[THREADS_NR + 1][BYTES];
static struct real_vec source_vec;
static struct real_vec sink_vec[THREADS_NR + 1];

static int setup(void **state)
{
	int i;

	real_open(&re, real_mode_of(state), NULL);
	real_vec_init(&source_vec, source, BYTES, 4096);
	for (i = 0; i <= THREADS_NR; ++i)
		real_vec_init(&sink_vec[i], sink[i], BYTES, 5000);
	return 0;
}

static int teardown(void **state)
{
	int i;

	(void)state;
	real_close(&re);
	real_vec_fini(&source_vec);
	for (i = 0; i <= THREADS_NR; ++i)
		real_vec_fini(&sink_vec[i]);
	return 0;
}

/* A thread's account of its calls and of the events in its queue. */
struct actor {
	struct m0_thread  at_thread;
	struct m0_lnet_eq at_eq;
	unsigned          at_index;
	uint64_t          at_seed;
	/** MDs accepted, and PUTs and GETs. */
	unsigned at_mds_nr;
	unsigned at_ops_nr;
	/** Atomic. */
	unsigned at_unlinked_nr;
	unsigned at_sends_nr;
	unsigned at_done;
	bool     at_wrong;
};

static struct actor actors[THREADS_NR];

static void actor_event(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	struct actor *actor = container_of(eq, struct actor, at_eq);

	if (ev->ev_type == M0_LNET_EV_SEND)
		__atomic_add_fetch(&actor->at_sends_nr, 1, __ATOMIC_RELAXED);
	if (ev->ev_unlinked) {
		__atomic_add_fetch(&actor->at_unlinked_nr, 1, __ATOMIC_RELEASE);
		/* Its handle is void, here already. */
		if (m0_lnet_md_unlink(eq->eq_lnet, ev->ev_md) != -ENOENT)
			actor->at_wrong = true;
	}
}

static bool actors_are_done(void *arg)
{
	struct actor *actor;

	(void)arg;
	for (actor = actors; actor < actors + THREADS_NR; ++actor) {
		if (!__atomic_load_n(&actor->at_done, __ATOMIC_ACQUIRE))
			return false;
	}
	return true;
}

static bool actors_are_told(void *arg)
{
	struct actor *actor;

	(void)arg;
	for (actor = actors; actor < actors + THREADS_NR; ++actor) {
		if (__atomic_load_n(&actor->at_unlinked_nr, __ATOMIC_ACQUIRE) <
			    actor->at_mds_nr ||
		    __atomic_load_n(&actor->at_sends_nr, __ATOMIC_ACQUIRE) <
			    actor->at_ops_nr)
			return false;
	}
	return true;
}

/* Runs `func` on all actors' threads, and sees that each was told everything. */
static void actors_run(struct m0_lnet *lnet, void (*func)(struct actor *actor))
{
	int i;

	M0_SET_ARR0(actors);
	for (i = 0; i < THREADS_NR; ++i) {
		actors[i].at_index = (unsigned)i;
		actors[i].at_seed = (uint64_t)i + 1;
		m0_lnet_eq_init(&actors[i].at_eq, lnet, actor_event, 0);
	}
	for (i = 0; i < THREADS_NR; ++i)
		assert_int_equal(M0_THREAD_INIT(&actors[i].at_thread,
						struct actor *, NULL, func,
						&actors[i], "actor"),
				 0);
	real_until(&re, actors_are_done, NULL);
	for (i = 0; i < THREADS_NR; ++i) {
		assert_int_equal(m0_thread_join(&actors[i].at_thread), 0);
		m0_thread_fini(&actors[i].at_thread);
	}
	real_until(&re, actors_are_told, NULL);
	for (i = 0; i < THREADS_NR; ++i) {
		m0_lnet_eq_fini(&actors[i].at_eq);
		assert_int_equal(actors[i].at_unlinked_nr, actors[i].at_mds_nr);
		assert_int_equal(actors[i].at_sends_nr, actors[i].at_ops_nr);
		assert_false(actors[i].at_wrong);
	}
}

static void actor_end(struct actor *actor)
{
	__atomic_store_n(&actor->at_done, 1, __ATOMIC_RELEASE);
}

/* Puts from MDs, some of which are unlinked at once. */
static void put_and_unlink(struct actor *actor)
{
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op = real_op(&re.re_b, 1);
	struct m0_lnet_handle  md;
	struct m0_lnet_stats   st;
	unsigned               i;
	unsigned               j;

	for (i = 0; i < ROUNDS_NR; ++i) {
		m0_lnet_stats_get(re.re_a.rn_lnet, &st);
		attr = real_md(&source_vec, BYTES, 0, &actor->at_eq);
		if (i % 4 == 0) {
			attr.mda_threshold = 1;
			attr.mda_auto_unlink = true;
		}
		if (m0_lnet_md_bind(re.re_a.rn_lnet, &attr, &md) != 0)
			break;
		++actor->at_mds_nr;
		for (j = 0; j < i % 4 + 1; ++j) {
			op.lo_ack = m0_rnd(2, &actor->at_seed) == 0;
			op.lo_bytes = 1 + m0_rnd(BYTES - 1, &actor->at_seed);
			if (m0_lnet_put(re.re_a.rn_lnet, md, &op) == 0)
				++actor->at_ops_nr;
		}
		/* The MD may have ended by itself. */
		if (i % 4 != 0 || i % 8 == 0)
			(void)m0_lnet_md_unlink(re.re_a.rn_lnet, md);
	}
	actor_end(actor);
}

static struct m0_lnet_handle target_attach(void)
{
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_md_attr attr = real_md(&sink_vec[THREADS_NR], BYTES,
					      M0_LNET_MD_OP_PUT |
						      M0_LNET_MD_OP_GET |
						      M0_LNET_MD_MANAGE_REMOTE,
					      NULL);

	return real_attach(&re.re_b, &me, &attr, NULL);
}

/* Unlink against put against the node, from several threads. */
static void put_against_unlink(void **state)
{
	(void)state;
	(void)target_attach();
	actors_run(re.re_a.rn_lnet, put_and_unlink);
}

/* Gets into MDs, some of which are unlinked while the data comes. */
static void get_and_unlink(struct actor *actor)
{
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op = real_op(&re.re_b, 1);
	struct m0_lnet_handle  md;
	unsigned               i;

	for (i = 0; i < ROUNDS_NR; ++i) {
		attr = real_md(&sink_vec[actor->at_index], BYTES, 0,
			       &actor->at_eq);
		attr.mda_threshold = 2;
		attr.mda_auto_unlink = true;
		if (m0_lnet_md_bind(re.re_a.rn_lnet, &attr, &md) != 0)
			break;
		++actor->at_mds_nr;
		if (m0_lnet_get(re.re_a.rn_lnet, md, &op) == 0)
			++actor->at_ops_nr;
		if (i % 3 == 0)
			(void)m0_lnet_md_unlink(re.re_a.rn_lnet, md);
	}
	actor_end(actor);
}

static void get_against_unlink(void **state)
{
	(void)state;
	(void)target_attach();
	actors_run(re.re_a.rn_lnet, get_and_unlink);
}

/* Entries that come and go while messages come in that they match. */
static void attach_and_unlink(struct actor *actor)
{
	struct m0_lnet_me_attr me = real_me(2);
	struct m0_lnet_md_attr attr;
	struct m0_lnet_handle  handle;
	struct m0_lnet_handle  md;
	unsigned               i;

	me.mea_flags = M0_LNET_ME_UNLINK;
	for (i = 0; i < ROUNDS_NR; ++i) {
		attr = real_md(&sink_vec[actor->at_index], BYTES,
			       M0_LNET_MD_OP_PUT, &actor->at_eq);
		attr.mda_threshold = 1;
		attr.mda_auto_unlink = i % 2 == 0;
		if (m0_lnet_me_attach(re.re_b.rn_lnet, &me, &handle) != 0 ||
		    m0_lnet_md_attach(re.re_b.rn_lnet, handle, &attr, &md) != 0)
			break;
		++actor->at_mds_nr;
		switch (i % 3) {
		case 0:
			(void)m0_lnet_md_unlink(re.re_b.rn_lnet, md);
			break;
		case 1:
			(void)m0_lnet_me_unlink(re.re_b.rn_lnet, handle);
			break;
		default:
			/* By whichever comes first. */
			(void)m0_lnet_md_unlink(re.re_b.rn_lnet, md);
			(void)m0_lnet_me_unlink(re.re_b.rn_lnet, handle);
		}
	}
	actor_end(actor);
}

static void attach_against_messages(void **state)
{
	struct m0_lnet_md_attr attr =
		real_md(&source_vec, BYTES, 0, &re.re_a.rn_cb);
	struct m0_lnet_op     op = real_op(&re.re_b, 2);
	struct m0_lnet_handle md = real_bind(&re.re_a, &attr);
	unsigned              i;

	(void)state;
	for (i = 0; i < 2 * ROUNDS_NR; ++i)
		assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op), 0);
	actors_run(re.re_b.rn_lnet, attach_and_unlink);
	real_log_until(&re, &re.re_a, M0_LNET_EV_SEND, 2 * ROUNDS_NR);
}

/* Several threads take from one polled queue, each event goes to one of them. */
static unsigned taken_nr;

static void take_events(struct actor *actor)
{
	struct m0_lnet_event ev;

	while (__atomic_load_n(&taken_nr, __ATOMIC_RELAXED) < ROUNDS_NR) {
		if (m0_lnet_eq_get(&re.re_b.rn_eq, &ev) == 0)
			__atomic_add_fetch(&taken_nr, 1, __ATOMIC_RELAXED);
		real_turn(&re);
	}
	actor_end(actor);
}

static void queue_taken_by_many(void **state)
{
	struct m0_lnet_me_attr me = real_me(3);
	struct m0_lnet_md_attr attr = real_md(
		&sink_vec[0], BYTES,
		M0_LNET_MD_OP_PUT | M0_LNET_MD_MANAGE_REMOTE, &re.re_b.rn_eq);
	struct m0_lnet_op     op = real_op(&re.re_b, 3);
	struct m0_lnet_handle md;
	unsigned              i;

	(void)state;
	taken_nr = 0;
	(void)real_attach(&re.re_b, &me, &attr, NULL);
	attr = real_md(&source_vec, 64, 0, &re.re_a.rn_cb);
	md = real_bind(&re.re_a, &attr);
	for (i = 0; i < ROUNDS_NR; ++i)
		assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op), 0);
	actors_run(re.re_b.rn_lnet, take_events);
	real_none(&re.re_b);
}

/* Waiting threads are woken, also those of inline nodes, which take turns. */
static void wait_for_events(struct actor *actor)
{
	struct m0_lnet_me_attr me = real_me(10 + actor->at_index);
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op = real_op(&re.re_b, 10 + actor->at_index);
	struct m0_lnet_handle  handle;
	struct m0_lnet_handle  md;
	struct m0_lnet_event   ev;
	struct m0_lnet_eq      eq;
	unsigned               i;

	m0_lnet_eq_init(&eq, re.re_b.rn_lnet, NULL, 0);
	attr = real_md(NULL, 0, M0_LNET_MD_OP_PUT, &eq);
	if (m0_lnet_me_attach(re.re_b.rn_lnet, &me, &handle) != 0 ||
	    m0_lnet_md_attach(re.re_b.rn_lnet, handle, &attr, &md) != 0)
		actor->at_wrong = true;
	attr = real_md(NULL, 0, 0, NULL);
	if (m0_lnet_md_bind(re.re_a.rn_lnet, &attr, &md) != 0)
		actor->at_wrong = true;
	for (i = 0; i < ROUNDS_NR / 3 && !actor->at_wrong; ++i) {
		if (m0_lnet_put(re.re_a.rn_lnet, md, &op) != 0 ||
		    m0_lnet_eq_wait(&eq, &ev, m0_time_from_now(20, 0)) != 0 ||
		    ev.ev_type != M0_LNET_EV_PUT)
			actor->at_wrong = true;
	}
	(void)m0_lnet_md_unlink(re.re_a.rn_lnet, md);
	(void)m0_lnet_me_unlink(re.re_b.rn_lnet, handle);
	if (m0_lnet_eq_wait(&eq, &ev, m0_time_from_now(20, 0)) != 0 ||
	    !ev.ev_unlinked)
		actor->at_wrong = true;
	m0_lnet_eq_fini(&eq);
	actor_end(actor);
}

static void waiters_are_woken(void **state)
{
	(void)state;
	actors_run(re.re_b.rn_lnet, wait_for_events);
}

static void come_and_go(struct actor *actor)
{
	struct m0_lnet_eq eq;
	int               i;

	for (i = 0; i < 2000; ++i) {
		m0_lnet_eq_init(&eq, re.re_a.rn_lnet, actor_event, 1);
		m0_lnet_eq_fini(&eq);
	}
	actor_end(actor);
}

/* The end of a queue waits for a step that does all work posted before, also if
 * that was posted during a step without work. */
static void queues_come_and_go(void **state)
{
	(void)state;
	actors_run(re.re_a.rn_lnet, come_and_go);
}

/* MDs that are never unlinked, on both sides, with all that moves in them. */
static void leave_all(struct actor *actor)
{
	bool                   at_a = actor->at_index % 2 == 0;
	struct real_node      *from = at_a ? &re.re_a : &re.re_b;
	struct real_node      *to = at_a ? &re.re_b : &re.re_a;
	struct m0_lnet_me_attr me = real_me(4);
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op = real_op(to, 1);
	struct m0_lnet_handle  handle;
	struct m0_lnet_handle  md;
	unsigned               i;

	op.lo_ack = true;
	for (i = 0; i < 40; ++i) {
		attr = real_md(i % 2 == 0 ? &source_vec
					  : &sink_vec[actor->at_index],
			       BYTES, 0, &actor->at_eq);
		if (m0_lnet_md_bind(from->rn_lnet, &attr, &md) != 0)
			break;
		++actor->at_mds_nr;
		op.lo_match_bits = 1 + i % 3;
		if ((i % 2 == 0 ? m0_lnet_put(from->rn_lnet, md, &op)
				: m0_lnet_get(from->rn_lnet, md, &op)) == 0)
			++actor->at_ops_nr;
		attr = real_md(NULL, 0, M0_LNET_MD_OP_PUT, &actor->at_eq);
		if (m0_lnet_me_attach(from->rn_lnet, &me, &handle) == 0 &&
		    m0_lnet_md_attach(from->rn_lnet, handle, &attr, &md) == 0)
			++actor->at_mds_nr;
	}
	actor_end(actor);
}

/* A close in the middle of it all: what was accepted is told all the same. */
static void close_in_the_middle(void **state)
{
	struct real_node *nodes[] = { &re.re_a, &re.re_b };
	int               round;
	int               i;

	for (round = 0; round < 10; ++round) {
		(void)target_attach();
		M0_SET_ARR0(actors);
		for (i = 0; i < THREADS_NR; ++i) {
			actors[i].at_index = (unsigned)i;
			m0_lnet_eq_init(&actors[i].at_eq, nodes[i % 2]->rn_lnet,
					actor_event, 0);
			assert_int_equal(M0_THREAD_INIT(&actors[i].at_thread,
							struct actor *, NULL,
							leave_all, &actors[i],
							"actor"),
					 0);
		}
		real_until(&re, actors_are_done, NULL);
		for (i = 0; i < THREADS_NR; ++i) {
			(void)m0_thread_join(&actors[i].at_thread);
			m0_thread_fini(&actors[i].at_thread);
		}
		for (i = 0; i < round; ++i)
			real_turn(&re);
		real_node_close(nodes[round % 2]);
		real_node_close(nodes[1 - round % 2]);
		for (i = 0; i < THREADS_NR; ++i) {
			m0_lnet_eq_fini(&actors[i].at_eq);
			assert_int_equal(actors[i].at_unlinked_nr,
					 actors[i].at_mds_nr);
			assert_int_equal(actors[i].at_sends_nr,
					 actors[i].at_ops_nr);
			assert_int_equal(actors[i].at_mds_nr, 80);
		}
		real_open(&re, real_mode_of(state), NULL);
	}
}

int main(void)
{
#define CASE(name) REAL_ALL(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(put_against_unlink),      CASE(get_against_unlink),
		CASE(attach_against_messages), CASE(queue_taken_by_many),
		CASE(waiters_are_woken),       CASE(close_in_the_middle),
		CASE(queues_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
