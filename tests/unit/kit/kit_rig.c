/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "kit_rig.h"

#include <sched.h>
#include <stdlib.h>

#include "m0/mem.h"

struct rig rig;

static enum m0_net_tm_state state_now;

/* ---------------------------------------------------------------- machine -- */

static enum m0_net_tm_state state_get(void)
{
	return __atomic_load_n(&state_now, __ATOMIC_ACQUIRE);
}

static void tm_event(const struct m0_net_tm_event *ev)
{
	if (state_get() == M0_NET_TM_STOPPED)
		__atomic_fetch_add(&rig.r_late_nr, 1, __ATOMIC_RELAXED);
	if (ev->nte_type == M0_NET_TEV_ERROR)
		__atomic_fetch_add(&rig.r_errors_nr, 1, __ATOMIC_RELEASE);
	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE)
		__atomic_store_n(&state_now, ev->nte_next_state,
				 __ATOMIC_RELEASE);
}

static void buf_event(const struct m0_net_buffer_event *ev)
{
	++rig.r_events_nr;
	rig.r_last_status = ev->nbe_status;
}

static const struct m0_net_tm_callbacks     tm_callbacks = { .ntc_event_cb =
								     tm_event };
static const struct m0_net_buffer_callbacks buf_callbacks = {
	.nbc_cb = { [0 ... M0_NET_QT_NR - 1] = buf_event }
};

/* The helper of an inline machine may be the one that delivers it. */
static void state_wait(enum m0_net_tm_state want)
{
	m0_time_t end = m0_time_from_now(30, 0);

	while (state_get() != want && m0_time_now() < end)
		rig_deliver();
	assert_int_equal(state_get(), want);
}

static void machine_up(const struct m0_net_xprt *xprt, const char *addr,
		       bool is_async)
{
	M0_SET0(&rig);
	rig.r_async = is_async;
	__atomic_store_n(&state_now, M0_NET_TM_UNDEFINED, __ATOMIC_RELEASE);
	assert_int_equal(m0_net_domain_init(&rig.r_dom, xprt), 0);
	rig.r_tm.ntm_callbacks = &tm_callbacks;
	assert_int_equal(m0_net_tm_init(&rig.r_tm, &rig.r_dom), 0);
	if (!is_async)
		assert_int_equal(m0_net_tm_inline(&rig.r_tm), 0);
	assert_int_equal(m0_net_tm_start(&rig.r_tm, addr), 0);
	state_wait(M0_NET_TM_STARTED);
	assert_int_equal(m0_bufvec_alloc(&rig.r_buf.nb_buffer, 1, RIG_BYTES),
			 0);
	assert_int_equal(m0_net_buffer_register(&rig.r_buf, &rig.r_dom), 0);
}

void rig_up(const struct m0_net_xprt *xprt, const char *addr)
{
	machine_up(xprt, addr, false);
}

void rig_up_async(const struct m0_net_xprt *xprt, const char *addr)
{
	machine_up(xprt, addr, true);
}

void rig_stop(void)
{
	assert_int_equal(m0_net_tm_stop(&rig.r_tm, true), 0);
	state_wait(M0_NET_TM_STOPPED);
}

int rig_down(void **state)
{
	(void)state;
	m0_net_buffer_deregister(&rig.r_buf, &rig.r_dom);
	m0_bufvec_free(&rig.r_buf.nb_buffer);
	if (state_get() != M0_NET_TM_STOPPED)
		rig_stop();
	m0_net_tm_fini(&rig.r_tm);
	assert_int_equal(rig.r_late_nr, 0);
	m0_net_domain_fini(&rig.r_dom);
	return 0;
}

void rig_add(enum m0_net_queue_type qt)
{
	rig.r_buf.nb_qtype = qt;
	rig.r_buf.nb_callbacks = &buf_callbacks;
	rig.r_buf.nb_length = RIG_BYTES;
	rig.r_buf.nb_timeout = M0_TIME_NEVER;
	assert_int_equal(m0_net_buffer_add(&rig.r_buf, &rig.r_tm), 0);
}

void rig_deliver(void)
{
	if (rig.r_async)
		(void)sched_yield();
	else
		m0_net_buffer_event_deliver_all(&rig.r_tm);
}

/* ---------------------------------------------------------------- memory -- */

static bool (*memory_hook)(void);

static void *alloc(size_t size, unsigned shift)
{
	size_t align = (size_t)1 << (shift < 6 ? 6 : shift);
	void  *ret = NULL;

	if (memory_hook())
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

void rig_memory_hook(bool (*hook)(void))
{
	static const struct m0_alloc_ops memory = { alloc, release };

	memory_hook = hook;
	(void)m0_alloc_hook_set(&memory);
}

/* -------------------------------------------------------------- transport -- */

int rig_addr_parse(const char *text, struct m0_net_kit_addr *ret)
{
	*ret = (struct m0_net_kit_addr){ 1, { (uint8_t)*text } };
	return 0;
}

void rig_addr_print(const struct m0_net_kit_addr *addr, char *ret)
{
	ret[0] = (char)addr->nka_bytes[0];
	ret[1] = 0;
}

int rig_start(struct m0_net_kit_machine    *machine,
	      const struct m0_net_kit_addr *wanted,
	      struct m0_net_kit_addr       *ret_own)
{
	(void)machine;
	*ret_own = *wanted;
	return 0;
}

void rig_no_send(struct m0_net_kit_buf *kb)
{
	m0_net_kit_done(kb, -ENOSYS, 0);
}

static bool no_work(struct m0_net_kit_machine *machine,
		    struct m0_net_kit_work    *work)
{
	(void)machine;
	(void)work;
	return true;
}

static void no_refuse(struct m0_net_kit_work *work)
{
	(void)work;
}

static int dom_init(const struct m0_net_xprt *xprt, struct m0_net_domain *nd)
{
	return m0_net_kit_dom_init(
		nd, container_of(xprt, struct rig_xprt, rx_xprt)->rx_ops);
}

const struct m0_net_kit_copy_ops rig_copy_ops = { .nkc_work = no_work,
						  .nkc_refuse = no_refuse };

const struct m0_net_xprt_ops rig_xprt_ops = {
	M0_NET_KIT_XPRT_OPS,
	.xo_dom_init = dom_init,
};
