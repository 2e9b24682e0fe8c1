/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receive buffers of a transport that places messages itself, which is this
 * test: what becomes of them if memory is short.
 */
#include <stdlib.h>

#include "kit_rig.h"
#include "m0/net_pool.h"

static unsigned placings_nr;
static bool     fails;
static bool     refuses;

/* ----------------------------------------------------------------- memory -- */

static void *alloc(size_t size, unsigned shift)
{
	size_t align = (size_t)1 << (shift < 6 ? 6 : shift);
	void  *ret;

	if (fails)
		return NULL;
	ret = aligned_alloc(align, m0_align(size, align));
	if (ret != NULL)
		memset(ret, 0, size);
	return ret;
}

static void release(void *data, size_t size, unsigned shift)
{
	(void)size;
	(void)shift;
	free(data);
}

static const struct m0_alloc_ops memory = { alloc, release };

/* ------------------------------------------------------------ a transport -- */

static int recv_begin(struct m0_net_kit_buf *kb)
{
	(void)kb;
	++placings_nr;
	return refuses ? -ENOMEM : 0;
}

static void recv_cancel(struct m0_net_kit_buf *kb)
{
	m0_net_kit_recv_ended(kb, -ECANCELED);
}

static void bulk(struct m0_net_kit_buf *kb, const struct m0_net_kit_desc *desc)
{
	(void)desc;
	m0_net_kit_done(kb, -ENOSYS, 0);
}

static const struct m0_net_kit_ops kit_ops = {
	RIG_KIT_OPS(rig_no_send),
	.nko_start = rig_start,
	.nko_bulk = bulk,
	.nko_recv = recv_begin,
	.nko_recv_cancel = recv_cancel,
};

static const struct rig_xprt xprt = RIG_XPRT("place", &kit_ops);

static int up(void **state)
{
	(void)state;
	placings_nr = 0;
	rig_up(&xprt.rx_xprt, "a");
	rig.r_buf.nb_min_receive_size = RIG_BYTES;
	rig.r_buf.nb_max_receive_msgs = 1;
	return 0;
}

/* A message of a peer that was not heard of before fills the buffer. */
static void message_place(uint8_t from)
{
	const struct m0_net_kit_addr addr = { 1, { from } };
	struct m0_net_kit_machine   *m = m0_net_kit_machine_of(&rig.r_tm);
	struct m0_net_kit_buf       *kb = m0_net_kit_buf_of(&rig.r_buf);
	struct m0_net_kit_visit      visit;
	struct m0_net_end_point     *ep;

	m0_net_kit_enter(m, &visit);
	ep = m0_net_kit_ep_get(m, &addr);
	m0_net_kit_recv_placed(kb, ep, 0, 10, ep == NULL ? -ENOMEM : 0);
	m0_net_kit_recv_ended(kb, 0);
	m0_net_kit_leave(m, &visit);
	rig_deliver();
}

/* ------------------------------------------------------------------- cases -- */

/* The message is lost, for want of its sender's end point; the buffer is not. */
static void placed_without_memory_waits_for_another(void **state)
{
	(void)state;
	rig_add(M0_NET_QT_MSG_RECV);
	assert_int_equal(placings_nr, 1);
	fails = true;
	message_place('x');
	fails = false;
	assert_int_equal(rig.r_events_nr, 0);
	assert_int_equal(placings_nr, 2);
	message_place('x');
	assert_int_equal(rig.r_events_nr, 1);
	assert_int_equal(rig.r_last_status, 0);
	assert_int_equal(placings_nr, 2);
}

static struct m0_net_transfer_mc tm;
static struct m0_net_buffer_pool pool;
static unsigned                  messages_nr;

static void tm_event(const struct m0_net_tm_event *ev)
{
	(void)ev;
}

/* All that comes is put back. */
static void pool_event(const struct m0_net_buffer_event *ev)
{
	messages_nr += ev->nbe_status == 0;
	assert_int_equal(ev->nbe_buffer->nb_flags & M0_NET_BUF_QUEUED, 0);
	m0_net_buffer_pool_lock(&pool);
	m0_net_buffer_pool_put(&pool, ev->nbe_buffer, M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_unlock(&pool);
}

static const struct m0_net_tm_callbacks     tm_callbacks = { tm_event };
static const struct m0_net_buffer_callbacks pool_callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = pool_event }
};

static void tm_wait(enum m0_net_tm_state state)
{
	m0_time_t end = m0_time_from_now(30, 0);

	while (__atomic_load_n(&tm.ntm_state, __ATOMIC_ACQUIRE) != state &&
	       m0_time_now() < end)
		m0_net_buffer_event_deliver_all(&tm);
	assert_int_equal(tm.ntm_state, state);
}

/* A machine with a pool of two buffers, for two messages each; one is queued. */
static void pooled_up(void)
{
	assert_int_equal(m0_net_buffer_pool_init(&pool, &rig.r_dom, 0, 1,
						 RIG_BYTES, 0, 0, false),
			 0);
	m0_net_buffer_pool_lock(&pool);
	assert_int_equal(m0_net_buffer_pool_provision(&pool, 2), 2);
	m0_net_buffer_pool_unlock(&pool);
	tm.ntm_callbacks = &tm_callbacks;
	assert_int_equal(m0_net_tm_init(&tm, &rig.r_dom), 0);
	assert_int_equal(m0_net_tm_inline(&tm), 0);
	assert_int_equal(
		m0_net_tm_pool_attach(&tm, &pool, &pool_callbacks, 1, 2, 1), 0);
	assert_int_equal(m0_net_tm_start(&tm, "b"), 0);
	tm_wait(M0_NET_TM_STARTED);
}

static void pooled_down(void)
{
	assert_int_equal(m0_net_tm_stop(&tm, true), 0);
	tm_wait(M0_NET_TM_STOPPED);
	assert_int_equal(m0_net_tm_fini(&tm), 0);
	assert_int_equal(m0_net_buffer_pool_fini(&pool), 0);
}

/* A buffer got for a message that waits takes it, if no other after it. */
static void staged_message_is_told_if_no_other_can_be(void **state)
{
	const struct m0_net_kit_addr addr = { 1, { 'x' } };
	struct m0_net_kit_visit      visit;
	char                         bytes[8] = "message";
	void                        *data = bytes;
	m0_bcount_t                  nr = sizeof bytes;
	struct m0_bufvec             flat = M0_BUFVEC_INIT_BUF(&data, &nr);

	(void)state;
	messages_nr = 0;
	pooled_up();
	m0_net_kit_enter(m0_net_kit_machine_of(&tm), &visit);
	refuses = true;
	assert_int_equal(m0_net_kit_msg_staged(m0_net_kit_machine_of(&tm),
					       &addr, &flat, 0, nr),
			 0);
	refuses = false;
	m0_net_kit_leave(m0_net_kit_machine_of(&tm), &visit);
	m0_net_buffer_event_deliver_all(&tm);
	assert_int_equal(messages_nr, 1);
	pooled_down();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			placed_without_memory_waits_for_another, up, rig_down),
		cmocka_unit_test_setup_teardown(
			staged_message_is_told_if_no_other_can_be, up,
			rig_down),
	};

	(void)m0_alloc_hook_set(&memory);
	return cmocka_run_group_tests_name("net/kit_place", tests, NULL, NULL);
}
