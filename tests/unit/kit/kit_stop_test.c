/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The end of a machine, and what its transport is in meanwhile. */
#include <pthread.h>
#include <sched.h>

#include "kit_rig.h"

enum {
	POLLS = 100
};

static pthread_t app;
/** The machine is being stopped; the helper is in its poll; polls of the
 * application's since. */
static bool     stopping;
static bool     helper_in;
static unsigned polls_nr;
/** Nobody polled any more while the helper did. */
static bool was_alone;

static unsigned polls_get(void)
{
	return __atomic_load_n(&polls_nr, __ATOMIC_SEQ_CST);
}

static void helper_stays(void)
{
	m0_time_t end = m0_time_from_now(30, 0);

	__atomic_store_n(&helper_in, true, __ATOMIC_SEQ_CST);
	while (polls_get() < POLLS && m0_time_now() < end)
		(void)sched_yield();
	was_alone = polls_get() < POLLS;
}

/* Both are in it at the same time. */
static bool meet(struct m0_net_kit_machine *machine, bool unattended)
{
	m0_time_t end = m0_time_from_now(30, 0);

	(void)machine;
	(void)unattended;
	if (!__atomic_load_n(&stopping, __ATOMIC_SEQ_CST))
		return true;
	if (!pthread_equal(pthread_self(), app)) {
		helper_stays();
		return true;
	}
	while (!__atomic_load_n(&helper_in, __ATOMIC_SEQ_CST) &&
	       m0_time_now() < end)
		(void)sched_yield();
	__atomic_fetch_add(&polls_nr, 1, __ATOMIC_SEQ_CST);
	return true;
}

static void no_bulk(struct m0_net_kit_buf        *kb,
		    const struct m0_net_kit_desc *desc)
{
	(void)desc;
	m0_net_kit_done(kb, -ENOSYS, 0);
}

static const struct m0_net_kit_ops kit_ops = {
	RIG_KIT_OPS(rig_no_send),
	.nko_start = rig_start,
	.nko_bulk = no_bulk,
	.nko_poll = meet,
};

static const struct rig_xprt xprt = RIG_XPRT("meet", &kit_ops);

static int late_rc;

/* A thread of the transport's had a message in hand; the buffers are gone. */
static void refuse(struct m0_net_kit_machine *machine)
{
	const struct m0_net_kit_addr from = { 1, { 'b' } };
	char                         bytes[8] = "message";
	void                        *data = bytes;
	m0_bcount_t                  nr = sizeof bytes;
	struct m0_bufvec             flat = M0_BUFVEC_INIT_BUF(&data, &nr);
	struct m0_net_kit_visit      visit;

	m0_net_kit_enter(machine, &visit);
	late_rc = m0_net_kit_msg_in(machine, &from, &flat, 0, nr);
	m0_net_kit_leave(machine, &visit);
}

static const struct m0_net_kit_ops late_ops = {
	RIG_KIT_OPS(rig_no_send),
	.nko_start = rig_start,
	.nko_bulk = no_bulk,
	.nko_leave = refuse,
};

static const struct rig_xprt late_xprt = RIG_XPRT("late", &late_ops);

/* The application may free what the helper polls once it has the last event,
 * because the helper has left its poll by then. */
static void end_is_told_after_the_helpers_poll(void **state)
{
	app = pthread_self();
	rig_up(&xprt.rx_xprt, "a");
	__atomic_store_n(&stopping, true, __ATOMIC_SEQ_CST);
	assert_int_equal(rig_down(state), 0);
	assert_true(helper_in);
	assert_false(was_alone);
}

static unsigned errors_get(void)
{
	return __atomic_load_n(&rig.r_errors_nr, __ATOMIC_ACQUIRE);
}

/* STOPPED is the last that is told. */
static void message_refused_at_the_end_is_told_before_it(void **state)
{
	m0_time_t end;

	rig_up_async(&late_xprt.rx_xprt, "a");
	rig_stop();
	end = m0_time_from_now(10, 0);
	while (errors_get() == 0 && m0_time_now() < end)
		(void)sched_yield();
	assert_int_equal(late_rc, -ENOBUFS);
	assert_int_equal(errors_get(), 1);
	assert_int_equal(rig_down(state), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(end_is_told_after_the_helpers_poll),
		cmocka_unit_test(message_refused_at_the_end_is_told_before_it),
	};

	return cmocka_run_group_tests_name("net/kit_stop", tests, NULL, NULL);
}
