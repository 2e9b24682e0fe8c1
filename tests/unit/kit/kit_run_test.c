/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Runs of a machine in an order that threads rarely have: a table of os that
 * holds wake-ups back stands for a busy processor.
 */
#include <poll.h>
#include <sched.h>

#include "kit_rig.h"
#include "os/os.h"

static struct m0_net_domain      dom;
static struct m0_net_transfer_mc tm;
static enum m0_net_tm_state      state_now;
static struct m0_semaphore       changed;

static void tm_event(const struct m0_net_tm_event *ev)
{
	if (ev->nte_type != M0_NET_TEV_STATE_CHANGE)
		return;
	__atomic_store_n(&state_now, ev->nte_next_state, __ATOMIC_RELEASE);
	m0_semaphore_up(&changed);
}

static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb =
								 tm_event };

/* --------------------------------------------------- the world it runs in -- */

/** The first of the machine's workers. */
static struct m0_strand *first;
/** The first worker is busy elsewhere: it neither sleeps nor wakes. */
static bool held_up;

static bool is_held_up(const struct m0_strand *strand)
{
	return __atomic_load_n(&held_up, __ATOMIC_SEQ_CST) && strand == first;
}

static int strand_start(struct m0_strand *strand, const struct m0_bitmap *cpus)
{
	int rc = m0_os_real.oo_strand_start(strand, cpus);

	if (first == NULL)
		first = strand;
	while (rc == 0 && !m0_os_real.oo_strand_sleeps(strand))
		(void)sched_yield();
	return rc;
}

static void strand_wake(struct m0_strand *strand)
{
	if (!is_held_up(strand))
		m0_os_real.oo_strand_wake(strand);
}

static bool strand_sleeps(const struct m0_strand *strand)
{
	return !is_held_up(strand) && m0_os_real.oo_strand_sleeps(strand);
}

/* ------------------------------------------------------------ a transport -- */

static bool in_start;
static bool may_start;

/* Not a semaphore: a strand does not block. */
static void flag_wait(const bool *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_SEQ_CST))
		(void)sched_yield();
}

static void flag_set(bool *flag, bool value)
{
	__atomic_store_n(flag, value, __ATOMIC_SEQ_CST);
}

static int slow_start(struct m0_net_kit_machine    *machine,
		      const struct m0_net_kit_addr *wanted,
		      struct m0_net_kit_addr       *ret_own)
{
	(void)machine;
	*ret_own = *wanted;
	flag_set(&in_start, true);
	flag_wait(&may_start);
	return 0;
}

/* None is ever added. */
static void no_bulk(struct m0_net_kit_buf        *kb,
		    const struct m0_net_kit_desc *desc)
{
	(void)kb;
	(void)desc;
}

static const struct m0_net_kit_ops kit_ops = {
	RIG_KIT_OPS(rig_no_send),
	.nko_start = slow_start,
	.nko_bulk = no_bulk,
};

static const struct rig_xprt xprt = RIG_XPRT("slow", &kit_ops);

/* ------------------------------------------------------------------ cases -- */

static int up(void **state)
{
	static struct m0_os_ops table;

	(void)state;
	table = m0_os_real;
	table.oo_strand_start = strand_start;
	table.oo_strand_wake = strand_wake;
	table.oo_strand_sleeps = strand_sleeps;
	m0_os_set(&table);
	first = NULL;
	flag_set(&may_start, false);
	m0_semaphore_init(&changed, 0);
	assert_int_equal(m0_net_domain_init(&dom, &xprt.rx_xprt), 0);
	tm.ntm_callbacks = &tm_callbacks;
	assert_int_equal(m0_net_tm_init(&tm, &dom), 0);
	m0_net_tm_spin_set(&tm, 0);
	return 0;
}

static int down(void **state)
{
	(void)state;
	assert_int_equal(m0_net_tm_fini(&tm), 0);
	m0_net_domain_fini(&dom);
	m0_semaphore_fini(&changed);
	m0_os_set(NULL);
	return 0;
}

/*
 * The second worker starts the machine; the first, woken for a stop meanwhile,
 * sees that it is being worked on and sleeps again. The stop comes to its end.
 */
static void stop_while_another_worker_starts_ends(void **state)
{
	uint64_t before;

	(void)state;
	m0_net_kit_machine_workers_set(&tm, 2);
	flag_set(&held_up, true);
	assert_int_equal(m0_net_tm_start(&tm, "a"), 0);
	flag_wait(&in_start);
	before = __atomic_load_n(&first->st_steps_nr, __ATOMIC_RELAXED);
	flag_set(&held_up, false);
	assert_int_equal(m0_net_tm_stop(&tm, true), 0);
	while (__atomic_load_n(&first->st_steps_nr, __ATOMIC_RELAXED) ==
		       before ||
	       !m0_strand_sleeps(first))
		(void)sched_yield();
	flag_set(&may_start, true);
	assert_true(m0_semaphore_timeddown(&changed, m0_time_from_now(60, 0)));
	assert_int_equal(__atomic_load_n(&state_now, __ATOMIC_ACQUIRE),
			 M0_NET_TM_STOPPED);
}

/* The strand of a machine that is polled starts and stops it, and does not look
 * for work beside who polls. */
static void strand_of_inline_machine_does_not_spin(void **state)
{
	(void)state;
	m0_net_tm_spin_set(&tm, M0_TIME_ONE_SECOND);
	assert_int_equal(m0_net_tm_inline(&tm), 0);
	flag_set(&may_start, true);
	assert_int_equal(m0_net_tm_start(&tm, "a"), 0);
	assert_int_equal(first->st_spin_ns, 0);
	while (__atomic_load_n(&state_now, __ATOMIC_ACQUIRE) !=
	       M0_NET_TM_STARTED)
		m0_net_buffer_event_deliver_all(&tm);
	assert_int_equal(m0_net_tm_stop(&tm, true), 0);
	while (__atomic_load_n(&state_now, __ATOMIC_ACQUIRE) !=
	       M0_NET_TM_STOPPED)
		m0_net_buffer_event_deliver_all(&tm);
}

static void received(const struct m0_net_buffer_event *ev)
{
	assert_int_equal(ev->nbe_status, -ECANCELED);
}

/* One to receive, with a time-out that is far away. */
static void recv_add(struct m0_net_buffer *buf)
{
	static const struct m0_net_buffer_callbacks callbacks = {
		.nbc_cb = { [M0_NET_QT_MSG_RECV] = received }
	};

	assert_int_equal(m0_bufvec_alloc(&buf->nb_buffer, 1, RIG_BYTES), 0);
	assert_int_equal(m0_net_buffer_register(buf, &dom), 0);
	buf->nb_qtype = M0_NET_QT_MSG_RECV;
	buf->nb_callbacks = &callbacks;
	buf->nb_min_receive_size = RIG_BYTES;
	buf->nb_max_receive_msgs = 1;
	buf->nb_timeout = m0_time_from_now(3600, 0);
	assert_int_equal(m0_net_buffer_add(buf, &tm), 0);
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, timeout_ms) == 1;
}

static void strand_sleep_wait(void)
{
	while (!m0_strand_sleeps(first))
		(void)sched_yield();
}

/* A synchronous machine, whose strand sleeps. @return its descriptor. */
static int synchronous_up(void)
{
	int fd;

	assert_int_equal(m0_net_buffer_event_deliver_synchronously(&tm), 0);
	flag_set(&may_start, true);
	assert_int_equal(m0_net_tm_start(&tm, "a"), 0);
	assert_true(m0_semaphore_timeddown(&changed, m0_time_from_now(60, 0)));
	fd = m0_net_tm_fd(&tm);
	assert_true(fd >= 0);
	strand_sleep_wait();
	return fd;
}

/* There is the end of the buffer to be told, and then the machine's. */
static void synchronous_down(struct m0_net_buffer *buf, int fd)
{
	assert_true(is_readable(fd, 30000));
	assert_true(m0_net_buffer_event_pending(&tm));
	m0_net_buffer_event_deliver_all(&tm);
	assert_false(is_readable(fd, 0));
	m0_net_buffer_deregister(buf, &dom);
	m0_bufvec_free(&buf->nb_buffer);
	assert_int_equal(m0_net_tm_stop(&tm, true), 0);
	assert_true(m0_semaphore_timeddown(&changed, m0_time_from_now(60, 0)));
}

/* The descriptor of a machine with a strand says nothing of that one's work. */
static void descriptor_tells_of_events_alone(void **state)
{
	static struct m0_net_buffer buf;
	int                         fd = synchronous_up();

	(void)state;
	flag_set(&held_up, true);
	recv_add(&buf);
	assert_false(is_readable(fd, 0));
	flag_set(&held_up, false);
	m0_strand_wake(first);
	assert_true(m0_net_buffer_del(&buf, &tm));
	synchronous_down(&buf, fd);
}

/* A strand that sleeps till a deadline wakes at the earlier one of a visit. */
static void deadline_of_a_visit_wakes_the_strand(void **state)
{
	static struct m0_net_buffer buf;
	int                         fd = synchronous_up();
	uint64_t                    before =
		__atomic_load_n(&first->st_steps_nr, __ATOMIC_RELAXED);
	struct m0_net_kit_machine *m = m0_net_kit_machine_of(&tm);
	struct m0_net_kit_visit    visit;

	(void)state;
	recv_add(&buf);
	while (__atomic_load_n(&first->st_steps_nr, __ATOMIC_RELAXED) == before)
		(void)sched_yield();
	strand_sleep_wait();
	m0_net_kit_enter(m, &visit);
	m0_net_kit_deadline(m0_net_kit_buf_of(&buf),
			    m0_time_from_now(0, (long)M0_TIME_ONE_MSEC),
			    -ECANCELED);
	m0_net_kit_leave(m, &visit);
	synchronous_down(&buf, fd);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(
			stop_while_another_worker_starts_ends, up, down),
		cmocka_unit_test_setup_teardown(
			strand_of_inline_machine_does_not_spin, up, down),
		cmocka_unit_test_setup_teardown(
			descriptor_tells_of_events_alone, up, down),
		cmocka_unit_test_setup_teardown(
			deadline_of_a_visit_wakes_the_strand, up, down),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
