/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * When what callbacks of a polled machine ask for is pushed on: through a
 * transport that notes what it was asked for, and when it is pushed.
 */
#include "kit_rig.h"
#include "kit/kit.h"

enum {
	BUFS = 2
};

static struct m0_net_buffer   bufs[BUFS];
static struct m0_net_kit_buf *asked[BUFS + 1];
static unsigned               asked_nr;
static unsigned               bulk_nr;
/** Queue to which the next callback adds the rig's buffer. */
static enum m0_net_queue_type next_qt;

/** Pushes before the last callback's event was over, and what had been asked for
 * by then; those after. */
static unsigned within_nr;
static unsigned within_asked_nr;
static unsigned after_nr;
static unsigned after_bulk_nr;

/* ------------------------------------------------------------ a transport -- */

static void send_note(struct m0_net_kit_buf *kb)
{
	assert_true(asked_nr < ARRAY_SIZE(asked));
	asked[asked_nr++] = kb;
}

static void bulk_note(struct m0_net_kit_buf        *kb,
		      const struct m0_net_kit_desc *desc)
{
	(void)desc;
	++bulk_nr;
	m0_net_kit_done(kb, 0, RIG_BYTES);
}

static void push_note(struct m0_net_kit_machine *machine)
{
	bool within;

	(void)machine;
	assert_int_equal(m0_mutex_held_nr(), 0);
	/* The thread of another strand may begin a callback. */
	m0_mutex_lock(&rig.r_tm.ntm_mutex);
	within = rig.r_tm.ntm_callback_counter > 0;
	m0_mutex_unlock(&rig.r_tm.ntm_mutex);
	if (within) {
		++within_nr;
		within_asked_nr = asked_nr;
	} else {
		++after_nr;
		after_bulk_nr = bulk_nr;
	}
}

/** Work that is posted when another is refused, and where it came. */
static struct m0_net_kit_work follow = { .nkw_op = M0_NET_KIT_WORK_XPRT };
static unsigned               followed_nr;

static bool work_note(struct m0_net_kit_machine *machine,
		      struct m0_net_kit_work    *work)
{
	assert_ptr_equal(machine, m0_net_kit_machine_of(&rig.r_tm));
	assert_ptr_equal(work, &follow);
	++followed_nr;
	return true;
}

static void refuse_post(struct m0_net_kit_work *work)
{
	assert_ptr_not_equal(work, &follow);
	m0_net_kit_post(m0_net_kit_machine_of(&rig.r_tm), &follow);
}

static const struct m0_net_kit_copy_ops copy_ops = {
	.nkc_work = work_note,
	.nkc_refuse = refuse_post,
};

static const struct m0_net_kit_ops kit_ops = {
	.nko_copy = &copy_ops,
	.nko_buffer_max = RIG_BYTES,
	.nko_segment_max = RIG_BYTES,
	.nko_segments_max = 1,
	.nko_addr_parse = rig_addr_parse,
	.nko_addr_print = rig_addr_print,
	.nko_send = send_note,
	.nko_start = rig_start,
	.nko_bulk = bulk_note,
	.nko_push = push_note,
};

static const struct rig_xprt xprt = RIG_XPRT("push", &kit_ops);

/* ------------------------------------------------------------------ a story -- */

static void sent(const struct m0_net_buffer_event *ev)
{
	assert_int_equal(ev->nbe_status, 0);
	if (next_qt != M0_NET_QT_NR)
		rig_add(next_qt);
	next_qt = M0_NET_QT_NR;
}

static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_SEND] = sent }
};

static int up(void **state)
{
	unsigned i;

	(void)state;
	asked_nr = 0;
	bulk_nr = 0;
	rig_up(&xprt.rx_xprt, "a");
	for (i = 0; i < BUFS; ++i) {
		M0_SET0(&bufs[i]);
		assert_int_equal(
			m0_bufvec_alloc(&bufs[i].nb_buffer, 1, RIG_BYTES), 0);
		assert_int_equal(m0_net_buffer_register(&bufs[i], &rig.r_dom),
				 0);
	}
	assert_int_equal(
		m0_net_end_point_create(&rig.r_buf.nb_ep, &rig.r_tm, "b"), 0);
	return 0;
}

static int down(void **state)
{
	unsigned i;

	for (i = 0; i < BUFS; ++i) {
		m0_net_buffer_deregister(&bufs[i], &rig.r_dom);
		m0_bufvec_free(&bufs[i].nb_buffer);
	}
	m0_net_end_point_put(rig.r_buf.nb_ep);
	return rig_down(state);
}

/* One poll, which tells that two messages have left; the first callback adds the
 * rig's buffer. */
static void poll_of_two(enum m0_net_queue_type qt)
{
	unsigned i;

	for (i = 0; i < BUFS; ++i) {
		bufs[i].nb_qtype = M0_NET_QT_MSG_SEND;
		bufs[i].nb_callbacks = &callbacks;
		bufs[i].nb_length = RIG_BYTES;
		bufs[i].nb_timeout = M0_TIME_NEVER;
		bufs[i].nb_ep = rig.r_buf.nb_ep;
		assert_int_equal(m0_net_buffer_add(&bufs[i], &rig.r_tm), 0);
	}
	for (i = 0; i < BUFS; ++i)
		m0_net_kit_done(asked[i], 0, RIG_BYTES);
	next_qt = qt;
	within_nr = 0;
	after_nr = 0;
	rig_deliver();
	assert_int_equal(next_qt, M0_NET_QT_NR);
}

/* ------------------------------------------------------------------- cases -- */

/* A message leaves as soon as the last callback has returned, once for all of
 * them. */
static void message_is_pushed_after_the_last_callback(void **state)
{
	(void)state;
	poll_of_two(M0_NET_QT_MSG_SEND);
	assert_int_equal(within_nr, 1);
	assert_int_equal(within_asked_nr, BUFS + 1);
	m0_net_kit_done(asked[BUFS], 0, RIG_BYTES);
	rig_deliver();
	assert_int_equal(rig.r_events_nr, 1);
}

/* Bulk begins with the end of the run: nothing leaves without it. */
static void bulk_is_pushed_with_all_else(void **state)
{
	struct m0_net_kit_desc desc = { .nks_qtype =
						M0_NET_QT_PASSIVE_BULK_SEND,
					.nks_id = 1,
					.nks_size = RIG_BYTES,
					.nks_passive = { 1, { 'b' } } };

	(void)state;
	assert_int_equal(m0_net_kit_desc_encode(&desc, &rig.r_buf.nb_desc), 0);
	poll_of_two(M0_NET_QT_ACTIVE_BULK_RECV);
	assert_int_equal(within_nr, 0);
	assert_true(after_nr > 0);
	assert_int_equal(after_bulk_nr, 1);
	rig_deliver();
	assert_int_equal(rig.r_events_nr, 1);
	m0_net_desc_free(&rig.r_buf.nb_desc);
}

/* Work that a refusal posts leaves with the pass that had the refused item. */
static void work_of_a_refusal_leaves_with_its_pass(void **state)
{
	static struct m0_net_transfer_mc closed;
	struct m0_net_kit_work work = { .nkw_op = M0_NET_KIT_WORK_XPRT };
	struct kit_pass       *pass;

	(void)state;
	followed_nr = 0;
	M0_SET0(&closed);
	closed.ntm_callbacks = rig.r_tm.ntm_callbacks;
	assert_int_equal(m0_net_tm_init(&closed, &rig.r_dom), 0);
	m0_net_kit_machine_of(&closed)->nkm_inbox.kin_closed = true;
	pass = kit_pass_open(m0_time_now());
	m0_net_kit_post(m0_net_kit_machine_of(&closed), &work);
	kit_pass_close(pass);
	/* Not with the next pass of this thread, which may never come. */
	assert_null(kit_pass()->kp_out.wl_head);
	rig_deliver();
	assert_int_equal(followed_nr, 1);
	assert_int_equal(m0_net_tm_fini(&closed), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			message_is_pushed_after_the_last_callback, up, down),
		cmocka_unit_test_setup_teardown(bulk_is_pushed_with_all_else,
						up, down),
		cmocka_unit_test_setup_teardown(
			work_of_a_refusal_leaves_with_its_pass, up, down),
	};

	return cmocka_run_group_tests_name("net/kit_push", tests, NULL, NULL);
}
