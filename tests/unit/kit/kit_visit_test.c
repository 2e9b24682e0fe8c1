/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Which thread delivers the events of a visit. */
#include <pthread.h>
#include <sched.h>

#include "kit_rig.h"

static struct m0_net_domain      dom;
static struct m0_net_transfer_mc tm;
static struct m0_net_buffer      bufs[2];
static struct m0_net_end_point  *ep;
/** Calls of nkr_wake; the runner's loop ends. */
static unsigned wakes_nr;
/** Runs of the runner that have ended. */
static unsigned  runs_nr;
static bool      over;
static pthread_t runner_thread;
/** Callbacks of buffers: how many have begun, those of the test's thread. */
static unsigned  events_nr;
static unsigned  mine_nr;
static unsigned  errors_nr;
static pthread_t test_thread;
/** The first callback waits until it is let go. */
static bool held;
/** The first callback adds the second buffer. */
static bool adds;

static bool flag_get(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void flag_set(bool *flag, bool value)
{
	__atomic_store_n(flag, value, __ATOMIC_SEQ_CST);
}

static unsigned nr_get(const unsigned *nr)
{
	return __atomic_load_n(nr, __ATOMIC_SEQ_CST);
}

static void nr_wait(const unsigned *nr, unsigned want)
{
	m0_time_t end = m0_time_from_now(30, 0);

	while (nr_get(nr) < want && m0_time_now() < end)
		(void)sched_yield();
	assert_true(nr_get(nr) >= want);
}

/* ----------------------------------------------------------- a transport -- */

static void runner_wake(struct m0_net_kit_machine *machine)
{
	(void)machine;
	__atomic_fetch_add(&wakes_nr, 1, __ATOMIC_SEQ_CST);
}

static void runner_stop(struct m0_net_kit_machine *machine)
{
	(void)machine;
	flag_set(&over, true);
	pthread_join(runner_thread, NULL);
}

static const struct m0_net_kit_runner runner = { .nkr_wake = runner_wake,
						 .nkr_stop = runner_stop };

/* Runs the machine once for each time that it was woken. */
static void *runner_loop(void *arg)
{
	struct m0_net_kit_machine *m = arg;
	unsigned                   done_nr = 0;
	m0_time_t                  next = M0_TIME_NEVER;
	m0_time_t                  now;

	while (!flag_get(&over)) {
		now = m0_time_now();
		if (done_nr == nr_get(&wakes_nr) && now < next) {
			(void)sched_yield();
			continue;
		}
		done_nr = nr_get(&wakes_nr);
		next = m0_net_kit_machine_run(m, now);
		__atomic_fetch_add(&runs_nr, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static const struct m0_net_kit_runner *runner_get(
	struct m0_net_kit_machine    *machine,
	const struct m0_net_kit_addr *wanted)
{
	(void)wanted;
	flag_set(&over, false);
	assert_int_equal(
		pthread_create(&runner_thread, NULL, runner_loop, machine), 0);
	return &runner;
}

/* A visit completes it. */
static void keep(struct m0_net_kit_buf *kb)
{
	(void)kb;
}

static void no_bulk(struct m0_net_kit_buf        *kb,
		    const struct m0_net_kit_desc *desc)
{
	(void)desc;
	m0_net_kit_done(kb, -ENOSYS, 0);
}

static const struct m0_net_kit_ops run_ops = {
	RIG_KIT_OPS(keep),
	.nko_start = rig_start,
	.nko_bulk = no_bulk,
	.nko_runner = runner_get,
};
static const struct rig_xprt xprt = RIG_XPRT("visit", &run_ops);

/* ------------------------------------------------------- the application -- */

static struct m0_semaphore changed;

static void tm_event(const struct m0_net_tm_event *ev)
{
	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE)
		m0_semaphore_up(&changed);
}

static void buf_event(const struct m0_net_buffer_event *ev)
{
	unsigned  nr = __atomic_add_fetch(&events_nr, 1, __ATOMIC_SEQ_CST);
	m0_time_t end = m0_time_from_now(30, 0);

	if (pthread_equal(pthread_self(), test_thread))
		__atomic_fetch_add(&mine_nr, 1, __ATOMIC_SEQ_CST);
	if (ev->nbe_status != 0)
		__atomic_fetch_add(&errors_nr, 1, __ATOMIC_SEQ_CST);
	while (nr == 1 && flag_get(&held) && m0_time_now() < end)
		(void)sched_yield();
	if (nr == 1 && adds && m0_net_buffer_add(&bufs[1], &tm) == 0)
		m0_net_kit_done(m0_net_kit_buf_of(&bufs[1]), 0, 0);
}

static const struct m0_net_tm_callbacks     tm_callbacks = { .ntc_event_cb =
								     tm_event };
static const struct m0_net_buffer_callbacks buf_callbacks = {
	.nbc_cb = { [0 ... M0_NET_QT_NR - 1] = buf_event }
};

static void changed_wait(void)
{
	assert_true(m0_semaphore_timeddown(&changed, m0_time_from_now(30, 0)));
}

/* The thread that delivered STARTED has left its callback. */
static void idle_wait(void)
{
	bool idle;

	do {
		m0_mutex_lock(&tm.ntm_mutex);
		idle = tm.ntm_callback_counter == 0;
		m0_mutex_unlock(&tm.ntm_mutex);
	} while (!idle);
}

static void buf_up(struct m0_net_buffer *buf)
{
	M0_SET0(buf);
	assert_int_equal(m0_bufvec_alloc(&buf->nb_buffer, 1, RIG_BYTES), 0);
	assert_int_equal(m0_net_buffer_register(buf, &dom), 0);
	buf->nb_qtype = M0_NET_QT_MSG_SEND;
	buf->nb_callbacks = &buf_callbacks;
	buf->nb_length = RIG_BYTES;
	buf->nb_ep = ep;
}

/* A machine that `mode`, if there is one, has changed before its start. */
static void up(int (*mode)(void))
{
	test_thread = pthread_self();
	wakes_nr = 0;
	events_nr = 0;
	mine_nr = 0;
	errors_nr = 0;
	held = false;
	adds = false;
	M0_SET0(&tm);
	(void)m0_semaphore_init(&changed, 0);
	assert_int_equal(m0_net_domain_init(&dom, &xprt.rx_xprt), 0);
	tm.ntm_callbacks = &tm_callbacks;
	assert_int_equal(m0_net_tm_init(&tm, &dom), 0);
	if (mode != NULL)
		assert_int_equal(mode(), 0);
	assert_int_equal(m0_net_tm_start(&tm, "a"), 0);
	changed_wait();
	idle_wait();
	assert_int_equal(m0_net_end_point_create(&ep, &tm, "b"), 0);
	buf_up(&bufs[0]);
	buf_up(&bufs[1]);
}

static void down(void)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(bufs); ++i) {
		m0_net_buffer_deregister(&bufs[i], &dom);
		m0_bufvec_free(&bufs[i].nb_buffer);
	}
	assert_int_equal(m0_net_end_point_put(ep), 0);
	assert_int_equal(m0_net_tm_stop(&tm, true), 0);
	changed_wait();
	assert_int_equal(m0_net_tm_fini(&tm), 0);
	m0_net_domain_fini(&dom);
	m0_semaphore_fini(&changed);
	assert_int_equal(errors_nr, 0);
}

/* A visit in which the send of `buf` completes. */
static void visit(struct m0_net_buffer *buf)
{
	struct m0_net_kit_machine *m = m0_net_kit_machine_of(&tm);
	struct m0_net_kit_visit    visit;

	assert_int_equal(m0_net_buffer_add(buf, &tm), 0);
	m0_net_kit_enter(m, &visit);
	m0_net_kit_done(m0_net_kit_buf_of(buf), 0, 0);
	m0_net_kit_leave(m, &visit);
}

static int mode_sync(void)
{
	return m0_net_buffer_event_deliver_synchronously(&tm);
}

static int mode_workers(void)
{
	m0_net_kit_machine_workers_set(&tm, 2);
	return 0;
}

static int mode_confined(void)
{
	struct m0_bitmap cpus;
	int              cpu = sched_getcpu();
	int              rc = m0_bitmap_init(&cpus, (size_t)cpu + 1);

	if (rc == 0) {
		m0_bitmap_set(&cpus, (size_t)cpu, true);
		rc = m0_net_tm_confine(&tm, &cpus);
		m0_bitmap_fini(&cpus);
	}
	return rc;
}

/* ----------------------------------------------------------------- tests -- */

/* The callback has returned when the visit ends, and nobody was woken for it. */
static void visitor_delivers_its_event(void **state)
{
	unsigned before;

	(void)state;
	up(NULL);
	before = nr_get(&wakes_nr);
	visit(&bufs[0]);
	assert_int_equal(nr_get(&events_nr), 1);
	assert_int_equal(nr_get(&mine_nr), 1);
	assert_int_equal(nr_get(&wakes_nr), before);
	down();
}

/* Only deliver_all delivers the events of a synchronous machine. */
static void visitor_of_synchronous_machine_delivers_none(void **state)
{
	(void)state;
	up(mode_sync);
	visit(&bufs[0]);
	assert_int_equal(nr_get(&events_nr), 0);
	assert_true(m0_net_buffer_event_pending(&tm));
	m0_net_buffer_event_deliver_all(&tm);
	assert_int_equal(nr_get(&events_nr), 1);
	down();
}

/* The threads of such a machine deliver. */
static void own_threads_deliver(int (*mode)(void))
{
	up(mode);
	visit(&bufs[0]);
	nr_wait(&events_nr, 1);
	assert_int_equal(nr_get(&mine_nr), 0);
	down();
}

static void visitor_of_confined_machine_delivers_none(void **state)
{
	(void)state;
	own_threads_deliver(mode_confined);
}

static void visitor_of_machine_with_workers_delivers_none(void **state)
{
	(void)state;
	own_threads_deliver(mode_workers);
}

static void *first_visit(void *arg)
{
	(void)arg;
	visit(&bufs[0]);
	return NULL;
}

/* Callbacks of a machine do not overlap, whoever visits it. */
static void visitor_leaves_events_to_the_thread_that_delivers(void **state)
{
	pthread_t first;
	unsigned  before;

	(void)state;
	up(NULL);
	held = true;
	assert_int_equal(pthread_create(&first, NULL, first_visit, NULL), 0);
	nr_wait(&events_nr, 1);
	before = nr_get(&runs_nr);
	visit(&bufs[1]);
	nr_wait(&runs_nr, before + 1);
	assert_int_equal(nr_get(&events_nr), 1);
	flag_set(&held, false);
	pthread_join(first, NULL);
	nr_wait(&events_nr, 2);
	assert_int_equal(nr_get(&mine_nr), 0);
	down();
}

/* An event that a callback completes is delivered without another visit. */
static void event_of_a_callback_is_delivered_after_the_visit(void **state)
{
	(void)state;
	up(NULL);
	adds = true;
	visit(&bufs[0]);
	nr_wait(&events_nr, 2);
	assert_int_equal(nr_get(&mine_nr), 1);
	down();
}

static struct m0_net_tm_rider rider;
static unsigned               steps_nr;
/** The next step asks for another one soon. */
static bool soon;

static m0_time_t rider_step(struct m0_net_tm_rider *r, m0_time_t now)
{
	bool again = __atomic_exchange_n(&soon, false, __ATOMIC_SEQ_CST);

	(void)r;
	__atomic_fetch_add(&steps_nr, 1, __ATOMIC_SEQ_CST);
	return again ? m0_time_add(now, 5 * M0_TIME_ONE_MSEC) : M0_TIME_NEVER;
}

static int mode_rider(void)
{
	rider.ntr_step = rider_step;
	return m0_net_tm_ride(&tm, &rider);
}

/* The rider moves with the visit; what it asks for later comes by itself. */
static void rider_steps_after_the_events_of_a_visit(void **state)
{
	unsigned steps;

	(void)state;
	up(mode_rider);
	nr_wait(&steps_nr, 1);
	idle_wait();
	flag_set(&soon, true);
	steps = nr_get(&steps_nr);
	visit(&bufs[0]);
	assert_int_equal(nr_get(&mine_nr), 1);
	assert_true(nr_get(&steps_nr) > steps);
	assert_false(flag_get(&soon));
	nr_wait(&steps_nr, steps + 2);
	down();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(visitor_delivers_its_event),
		cmocka_unit_test(visitor_of_synchronous_machine_delivers_none),
		cmocka_unit_test(visitor_of_confined_machine_delivers_none),
		cmocka_unit_test(visitor_of_machine_with_workers_delivers_none),
		cmocka_unit_test(
			visitor_leaves_events_to_the_thread_that_delivers),
		cmocka_unit_test(
			event_of_a_callback_is_delivered_after_the_visit),
		cmocka_unit_test(rider_steps_after_the_events_of_a_visit),
	};

	return cmocka_run_group_tests_name("kit/visit", tests, NULL, NULL);
}
