/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Receive buffers of a transport that places messages itself, which is this
 * test: what becomes of them if memory is short.
 */
#include <limits.h>
#include <sched.h>

#include "kit_rig.h"
#include "m0/net_pool.h"

static unsigned placings_nr;
static bool     fails;
static bool     refuses;

static bool has_memory(void)
{
	return !fails;
}

/* ------------------------------------------------------------ a transport -- */

/* The buffers of this machine are refused; by which thread ever. */
static struct m0_net_transfer_mc *refused;
static unsigned                   refusals_nr;
static unsigned                   taken_nr;
static m0_time_t                  refused_at[8];
/* So long takes the next refusal, and no other. */
static m0_time_t refusal_ns;

static int refused_begin(void)
{
	m0_time_t ns = __atomic_exchange_n(&refusal_ns, 0, __ATOMIC_RELAXED);
	m0_time_t end = m0_time_add(m0_time_now(), ns);
	unsigned  nr = __atomic_load_n(&refusals_nr, __ATOMIC_RELAXED);

	if (nr < ARRAY_SIZE(refused_at))
		refused_at[nr] = m0_time_now();
	__atomic_store_n(&refusals_nr, nr + 1, __ATOMIC_RELEASE);
	while (m0_time_now() < end)
		(void)sched_yield();
	return -ENOMEM;
}

static int recv_begin(struct m0_net_kit_buf *kb)
{
	struct m0_net_transfer_mc *tm =
		__atomic_load_n(&refused, __ATOMIC_ACQUIRE);

	if (tm != NULL && kb->nkb_machine == m0_net_kit_machine_of(tm))
		return refused_begin();
	__atomic_fetch_add(&taken_nr, 1, __ATOMIC_RELEASE);
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

static uint64_t no_passive_id(struct m0_net_kit_buf *kb)
{
	return m0_net_kit_buf_id(kb);
}

static int no_passive(struct m0_net_kit_buf        *kb,
		      const struct m0_net_kit_desc *desc)
{
	(void)kb;
	(void)desc;
	return -ENOSYS;
}

/** Buffers that are registered with the transport. */
static int  registered_nr;
static bool refuses_memory;

static int mem_register(struct m0_net_kit_buf *kb)
{
	assert_non_null(kb->nkb_buffer);
	if (refuses_memory)
		return -EPERM;
	++registered_nr;
	return 0;
}

static void mem_deregister(struct m0_net_kit_buf *kb)
{
	assert_non_null(kb->nkb_buffer);
	--registered_nr;
}

static const struct m0_net_kit_place_ops place_ops = {
	.nkp_register = mem_register,
	.nkp_deregister = mem_deregister,
	.nkp_recv = recv_begin,
	.nkp_recv_cancel = recv_cancel,
	.nkp_passive_id = no_passive_id,
	.nkp_passive = no_passive,
};

static const struct m0_net_kit_ops kit_ops = {
	RIG_KIT_COMMON(rig_no_send),
	.nko_place = &place_ops,
	.nko_start = rig_start,
	.nko_bulk = bulk,
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

static void tm_wait(struct m0_net_transfer_mc *mc, enum m0_net_tm_state state)
{
	m0_time_t end = m0_time_from_now(30, 0);

	while (__atomic_load_n(&mc->ntm_state, __ATOMIC_ACQUIRE) != state &&
	       m0_time_now() < end)
		m0_net_buffer_event_deliver_all(mc);
	assert_int_equal(mc->ntm_state, state);
}

static void count_wait(const unsigned *nr, unsigned min)
{
	m0_time_t end = m0_time_from_now(30, 0);

	while (__atomic_load_n(nr, __ATOMIC_ACQUIRE) < min &&
	       m0_time_now() < end)
		m0_net_buffer_event_deliver_all(&tm);
	assert_in_range(__atomic_load_n(nr, __ATOMIC_ACQUIRE), min, UINT_MAX);
}

static void tm_up(struct m0_net_transfer_mc *mc, const char *addr)
{
	mc->ntm_callbacks = &tm_callbacks;
	assert_int_equal(m0_net_tm_init(mc, &rig.r_dom), 0);
	assert_int_equal(m0_net_tm_inline(mc), 0);
	assert_int_equal(
		m0_net_tm_pool_attach(mc, &pool, &pool_callbacks, 1, 2, 1), 0);
	assert_int_equal(m0_net_tm_start(mc, addr), 0);
	tm_wait(mc, M0_NET_TM_STARTED);
}

static void tm_down(struct m0_net_transfer_mc *mc)
{
	assert_int_equal(m0_net_tm_stop(mc, true), 0);
	tm_wait(mc, M0_NET_TM_STOPPED);
	assert_int_equal(m0_net_tm_fini(mc), 0);
}

/* A machine with a pool of two buffers, for two messages each; one is queued. */
static void pooled_up(void)
{
	taken_nr = 0;
	refusals_nr = 0;
	assert_int_equal(m0_net_buffer_pool_init(&pool, &rig.r_dom, 0, 1,
						 RIG_BYTES, 0, 0, false),
			 0);
	m0_net_buffer_pool_lock(&pool);
	assert_int_equal(m0_net_buffer_pool_provision(&pool, 2), 2);
	m0_net_buffer_pool_unlock(&pool);
	tm_up(&tm, "b");
}

static void pooled_down(void)
{
	tm_down(&tm);
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

/* A buffer that the transport has no memory for is added later, after a
 * pause. */
static void refused_buffers_are_tried_again(void **state)
{
	(void)state;
	refused = &tm;
	pooled_up();
	/* As the machine starts, when that is noted, and then in turn. */
	count_wait(&refusals_nr, 5);
	assert_in_range(refused_at[4] - refused_at[1], 20 * M0_TIME_ONE_MSEC,
			M0_TIME_NEVER);
	assert_int_equal(taken_nr, 0);
	__atomic_store_n(&refused, NULL, __ATOMIC_RELEASE);
	count_wait(&taken_nr, 1);
	pooled_down();
}

/* Two TMs lack buffers, and the transport refuses those of the first one. */
static void who_is_refused_keeps_buffers_from_no_other(void **state)
{
	static struct m0_net_transfer_mc other;

	(void)state;
	refused = &tm;
	pooled_up();
	tm_up(&other, "c");
	assert_int_equal(m0_net_tm_pool_length_set(&other, 3), 0);
	count_wait(&taken_nr, 2);
	m0_net_buffer_pool_lock(&pool);
	assert_int_equal(m0_net_buffer_pool_provision(&pool, 1), 1);
	m0_net_buffer_pool_unlock(&pool);
	count_wait(&taken_nr, 3);
	__atomic_store_n(&refused, NULL, __ATOMIC_RELEASE);
	tm_down(&other);
	pooled_down();
}

static unsigned refusals_get(void)
{
	return __atomic_load_n(&refusals_nr, __ATOMIC_ACQUIRE);
}

static void refusals_wait(unsigned min)
{
	m0_time_t end = m0_time_from_now(30, 0);

	while (refusals_get() < min && m0_time_now() < end)
		(void)sched_yield();
	assert_in_range(refusals_get(), min, UINT_MAX);
}

static void sleep_ms(unsigned ms)
{
	(void)m0_nanosleep(ms * M0_TIME_ONE_MSEC, NULL);
}

/*
 * The last of those to be looked at goes while the one before is, which is
 * refused: that one is tried again later, as ever.
 */
static void pool_that_goes_ends_no_round(void **state)
{
	static struct m0_net_buffer_pool other;
	m0_time_t                        begin;
	unsigned                         nr;

	(void)state;
	refused = &tm;
	pooled_up();
	assert_int_equal(m0_net_buffer_pool_init(&other, &rig.r_dom, 0, 1,
						 RIG_BYTES, 0, 0, false),
			 0);
	/* The provisioner sleeps between two tries. */
	refusals_wait(3);
	refusals_wait(refusals_get() + 1);
	sleep_ms(3);
	nr = refusals_get();
	__atomic_store_n(&refusal_ns, 50 * M0_TIME_ONE_MSEC, __ATOMIC_RELAXED);
	m0_net_buffer_pool_lock(&other);
	m0_net_domain_buffer_pool_not_empty(&other);
	m0_net_buffer_pool_unlock(&other);
	refusals_wait(nr + 1);
	assert_int_equal(m0_net_buffer_pool_fini(&other), 0);
	nr = refusals_get();
	begin = m0_time_now();
	sleep_ms(50);
	nr = refusals_get() - nr;
	/* The machine may be slow: every 10 ms. */
	assert_in_range(nr, 0,
			3 + (m0_time_now() - begin) / (10 * M0_TIME_ONE_MSEC));
	__atomic_store_n(&refused, NULL, __ATOMIC_RELEASE);
	pooled_down();
}

/* The transport has each buffer once, from its registration to the end of that. */
static void transport_has_each_registered_buffer_once(void **state)
{
	struct m0_net_buffer buf;

	(void)state;
	M0_SET0(&buf);
	assert_int_equal(registered_nr, 1);
	assert_int_equal(m0_bufvec_alloc(&buf.nb_buffer, 1, RIG_BYTES), 0);
	refuses_memory = true;
	assert_int_equal(m0_net_buffer_register(&buf, &rig.r_dom), -EPERM);
	refuses_memory = false;
	assert_int_equal(registered_nr, 1);
	assert_int_equal(m0_net_buffer_register(&buf, &rig.r_dom), 0);
	assert_int_equal(registered_nr, 2);
	m0_net_buffer_deregister(&buf, &rig.r_dom);
	assert_int_equal(registered_nr, 1);
	m0_bufvec_free(&buf.nb_buffer);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			transport_has_each_registered_buffer_once, up,
			rig_down),
		cmocka_unit_test_setup_teardown(
			placed_without_memory_waits_for_another, up, rig_down),
		cmocka_unit_test_setup_teardown(
			staged_message_is_told_if_no_other_can_be, up,
			rig_down),
		cmocka_unit_test_setup_teardown(refused_buffers_are_tried_again,
						up, rig_down),
		cmocka_unit_test_setup_teardown(
			who_is_refused_keeps_buffers_from_no_other, up,
			rig_down),
		cmocka_unit_test_setup_teardown(pool_that_goes_ends_no_round,
						up, rig_down),
	};

	rig_memory_hook(has_memory);
	return cmocka_run_group_tests_name("net/kit_place", tests, NULL, NULL);
}
