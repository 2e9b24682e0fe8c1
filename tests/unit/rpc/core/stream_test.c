/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Both halves of update streams, joined by a network that loses, repeats and
 * reorders, with clients and servers that crash: random schedules in virtual
 * time, and after each a checker of what the store has.
 */
#include "world.h"

enum {
	SEEDS = 6000,
	STEPS_NR = 700,
	/** Without faults everything ends within so many. */
	FAIR_STEPS_MAX = 40000
};

struct world           *the_world;
const struct m0_uint128 client_uuid = { .u_hi = 7, .u_lo = 9 };
/** For whoever looks for a failure: M0_SEED runs it alone. */
static uint64_t the_seed;

/* ----------------------------------------------------------- network -- */

void world_put(struct world *w, const struct msg *msg)
{
	unsigned copies = w->w_fair        ? 1
			  : chance(w, 150) ? 0
			  : chance(w, 150) ? 2
					   : 1;

	for (; copies > 0 && w->w_msgs < MSGS_MAX; --copies)
		w->w_msg[w->w_msgs++] = *msg;
}

static bool world_take(struct world *w, struct msg *ret)
{
	unsigned at;

	if (w->w_msgs == 0)
		return false;
	at = below(w, w->w_msgs);
	*ret = w->w_msg[at];
	w->w_msg[at] = w->w_msg[--w->w_msgs];
	return true;
}

/* ------------------------------------------------------------- world -- */

/** Notes what the store has, which is about to be lost, or at the end. */
static void harvest(struct world *w, int last[STREAMS])
{
	struct m0_rpc_store *kept = &w->w_store.stc_kept;
	struct m0_rpc_slice  key = { NULL, 0 };
	struct m0_rpc_slice  value;
	struct m0_rpc_tx     tx;
	unsigned             stream;
	unsigned             op;

	(void)kept->rst_ops->rso_begin(kept, &tx);
	while (m0_rpc_tx_next(&tx, key, &key, &value) == 0) {
		stream = ((const uint8_t *)key.sl_data)[1];
		op = *(const uint8_t *)value.sl_data;
		/* In order, hence each once. */
		assert_true((int)op > last[stream]);
		last[stream] = (int)op;
		assert_int_equal(w->w_op[op].op_stream, stream);
		w->w_op[op].op_done_nr++;
	}
	kept->rst_ops->rso_abort(&tx);
}

static void server_crash(struct world *w, int last[STREAMS])
{
	server_forget(w);
	assert_int_equal(w->w_kept, 0);
	store_crash_crash(&w->w_store);
	if (w->w_volatile) {
		harvest(w, last);
		store_crash_forget(&w->w_store);
	}
	server_start(w);
}

static int fault(struct store_crash *store, enum store_crash_point point)
{
	struct world *w = store->stc_arg;

	if (w->w_fair || !w->w_faulty)
		return 0;
	return !chance(w, 30) ? 0 : point == STORE_CRASH_PUT ? -ENOSPC : -EIO;
}

static m0_time_t clock_of(struct store_crash *store)
{
	return ((struct world *)store->stc_arg)->w_now;
}

static void deliver(struct world *w)
{
	struct msg msg;

	if (!world_take(w, &msg))
		return;
	if (M0_IN(msg.ms_kind, (CONN, SESS, REQ)))
		server_got(w, &msg);
	else
		client_got(w, &msg);
}

static m0_time_t due(struct world *w)
{
	m0_time_t ret = w->w_client.c_again;
	unsigned  i;

	for (i = 0; i < STREAMS; ++i)
		ret = min64u(ret, m0_rpc_cstream_due(&w->w_client.c_stream[i]));
	return min64u(ret, store_crash_due(&w->w_store));
}

static void pass_time(struct world *w)
{
	m0_time_t next = due(w);

	if (chance(w, 300) && next != M0_TIME_NEVER && next > w->w_now)
		w->w_now = next;
	else
		w->w_now += below(w, 2 * MS);
}

static void step(struct world *w)
{
	unsigned what = below(w, 100);

	if (what < 30)
		deliver(w);
	else if (what < 60)
		client_form(w);
	else if (what < 65 && !w->w_fair)
		client_post(w);
	else if (what < 68 && !w->w_fair)
		client_cancel(w);
	else if (what < 85)
		w->w_store.stc_store.rst_ops->rso_step(&w->w_store.stc_store);
	else
		pass_time(w);
	client_step(w);
}

static bool is_over(struct world *w)
{
	unsigned i;

	for (i = 0; i < w->w_ops; ++i)
		if (w->w_op[i].op_end == PENDING)
			return false;
	for (i = 0; i < STREAMS; ++i)
		if (!m0_rpc_cstream_is_idle(&w->w_client.c_stream[i]))
			return false;
	return w->w_client.c_phase == ACTIVE;
}

static void check(struct world *w, int last[STREAMS])
{
	unsigned i;

	harvest(w, last);
	for (i = 0; i < w->w_ops; ++i) {
		assert_true(w->w_op[i].op_done_nr <= 1);
		if (w->w_op[i].op_end == DONE)
			assert_int_equal(w->w_op[i].op_done_nr, 1);
		if (w->w_op[i].op_fails ||
		    M0_IN(w->w_op[i].op_end, (REFUSED, UNSENT)))
			assert_int_equal(w->w_op[i].op_done_nr, 0);
	}
	assert_true(w->w_kept_max <= STREAMS * WINDOW_MAX);
}

static void world_init(struct world *w, uint64_t seed, unsigned *seen)
{
	M0_SET0(w);
	the_world = w;
	m0_rand_init(&w->w_rand, seed);
	w->w_seen = seen;
	w->w_now = 1;
	w->w_volatile = chance(w, 300);
	w->w_faulty = chance(w, 500);
	w->w_window = 1 + below(w, WINDOW_MAX);
	store_crash_init(&w->w_store, 1 << 16);
	w->w_store.stc_arg = w;
	w->w_store.stc_clock = clock_of;
	w->w_store.stc_fault = fault;
	w->w_store.stc_group_max = 1 + below(w, 3);
	w->w_store.stc_commit_ns = below(w, 3) * MS;
	w->w_store.stc_done_late = chance(w, 500);
	server_start(w);
	client_start(w);
}

static void schedule_run(uint64_t seed, unsigned *seen)
{
	static struct world w;
	int                 last[STREAMS] = { -1, -1 };
	unsigned            crash;
	unsigned            steps;

	world_init(&w, seed, seen);
	crash = below(&w, 8);
	for (steps = 0; steps < STEPS_NR; ++steps) {
		step(&w);
		if (chance(&w, crash))
			server_crash(&w, last);
		if (chance(&w, crash / 2)) {
			client_stop(&w);
			client_start(&w);
		}
	}
	w.w_fair = true;
	for (steps = 0; !is_over(&w); ++steps) {
		assert_true(steps < FAIR_STEPS_MAX);
		step(&w);
	}
	server_forget(&w);
	assert_int_equal(w.w_kept, 0);
	check(&w, last);
	client_stop(&w);
	store_crash_fini(&w.w_store);
}

/* Each acknowledged update is in the store once and in order, one that was
 * refused or never sent is not, none is twice; all of it ends. */
static void schedules_random_are_executed_once_in_order(void **state)
{
	static const char *const names[SEEN_NR] = {
		"replay",  "hold",      "ignore", "busy",          "skipped",
		"gave up", "stale",     "resume", "failed commit", "restored",
		"fenced",  "ack alone", "done"
	};
	const char *one = getenv("M0_SEED");
	unsigned    seen[SEEN_NR] = { 0 };
	uint64_t    seed;
	unsigned    i;

	(void)state;
	if (one != NULL) {
		the_seed = strtoull(one, NULL, 0);
		schedule_run(the_seed, seen);
		return;
	}
	for (seed = 1; seed <= SEEDS; ++seed) {
		the_seed = seed;
		schedule_run(seed, seen);
	}
	for (i = 0; i < SEEN_NR; ++i) {
		print_message("%s: %u\n", names[i], seen[i]);
		assert_true(seen[i] > 0);
	}
}

static int seed_tell(void **state)
{
	(void)state;
	print_message("last seed: %u\n", (unsigned)the_seed);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schedules_random_are_executed_once_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, seed_tell);
}
