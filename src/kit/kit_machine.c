/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The operations of a transport's table that concern domains and TMs: life,
 * start and stop, the three modes of delivery.
 */
#include "kit/kit.h"

/* --------------------------------------------------------------- domain -- */

static bool copy_ops_invariant(const struct m0_net_kit_copy_ops *ops)
{
	return _0C((ops->nkc_work == NULL) == (ops->nkc_refuse == NULL));
}

static bool place_ops_invariant(const struct m0_net_kit_place_ops *ops)
{
	return _0C(ops->nkp_register != NULL) &&
	       _0C(ops->nkp_deregister != NULL) && _0C(ops->nkp_recv != NULL) &&
	       _0C(ops->nkp_recv_cancel != NULL) &&
	       _0C(ops->nkp_passive_id != NULL) &&
	       _0C(ops->nkp_passive != NULL);
}

int m0_net_kit_dom_init(struct m0_net_domain        *dom,
			const struct m0_net_kit_ops *ops)
{
	struct kit_domain *kd;

	M0_PRE(ops->nko_addr_parse != NULL && ops->nko_addr_print != NULL);
	M0_PRE(ops->nko_buffer_max > 0 && ops->nko_segment_max > 0);
	M0_PRE(ops->nko_segments_max > 0 && ops->nko_start != NULL);
	M0_PRE(ops->nko_send != NULL && ops->nko_bulk != NULL);
	M0_PRE((ops->nko_copy == NULL) != (ops->nko_place == NULL));
	M0_PRE(ops->nko_copy == NULL || copy_ops_invariant(ops->nko_copy));
	M0_PRE(ops->nko_place == NULL || place_ops_invariant(ops->nko_place));
	M0_ALLOC_PTR(kd);
	if (kd == NULL)
		return -ENOMEM;
	kd->kd_ops = ops;
	dom->nd_xprt_private = kd;
	kit_slots_get();
	return 0;
}

void m0_net_kit_dom_fini(struct m0_net_domain *dom)
{
	kit_slots_put();
	m0_free(dom->nd_xprt_private);
	dom->nd_xprt_private = NULL;
}

static const struct m0_net_kit_ops *ops_of(const struct m0_net_domain *dom)
{
	const struct kit_domain *kd = dom->nd_xprt_private;

	return kd->kd_ops;
}

m0_bcount_t m0_net_kit_get_max_buffer_size(const struct m0_net_domain *dom)
{
	return ops_of(dom)->nko_buffer_max;
}

m0_bcount_t m0_net_kit_get_max_buffer_segment_size(
	const struct m0_net_domain *dom)
{
	return ops_of(dom)->nko_segment_max;
}

int32_t m0_net_kit_get_max_buffer_segments(const struct m0_net_domain *dom)
{
	return ops_of(dom)->nko_segments_max;
}

uint64_t *m0_net_kit_dom_word(const struct m0_net_domain *dom)
{
	struct kit_domain *kd = dom->nd_xprt_private;

	return &kd->kd_word;
}

/* ----------------------------------------------------------------- life -- */

/* Numbers machines: no work that is zero, or was elsewhere, has their epoch. */
static uint64_t machines_seen_nr;

static void machine_release(struct m0_ref *ref)
{
	struct m0_net_kit_machine *m =
		container_of(ref, struct m0_net_kit_machine, nkm_ref);

	m0_mutex_fini(&m->nkm_inbox.kin_lock);
	m0_free_aligned(m, sizeof *m + m->nkm_ops->nko_machine_size, 6);
}

int m0_net_kit_tm_init(struct m0_net_transfer_mc *tm)
{
	struct kit_domain         *kd = tm->ntm_dom->nd_xprt_private;
	struct m0_net_kit_machine *m;

	m = m0_alloc_aligned(sizeof *m + kd->kd_ops->nko_machine_size, 6);
	if (m == NULL)
		return -ENOMEM;
	m->nkm_ops = kd->kd_ops;
	m->nkm_copy = m->nkm_ops->nko_copy;
	m->nkm_place = m->nkm_ops->nko_place;
	m->nkm_dom = tm->ntm_dom;
	m->nkm_tm = tm;
	m->nkm_strands.kst_nr = 1;
	m->nkm_strands.kst_ops = &kit_worker_ops;
	m->nkm_inbox.kin_epoch =
		__atomic_add_fetch(&machines_seen_nr, 1, __ATOMIC_RELAXED)
		<< KIT_EPOCH_BITS;
	m->nkm_fd.kfd_fd.of_fd = -1;
	m0_ref_init(&m->nkm_ref, 1, machine_release);
	m0_mutex_init(&m->nkm_inbox.kin_lock);
	m0_list_init(&m->nkm_recvq);
	m0_list_init(&m->nkm_eps.kes_idle);
	m0_timerq_init(&m->nkm_timerq, m0_time_now());
	tm->ntm_xprt_private = m;
	return 0;
}

void m0_net_kit_tm_fini(struct m0_net_transfer_mc *tm)
{
	struct m0_net_kit_machine *m = kit_machine(tm);

	kit_inbox_close(m);
	kit_wakers_wait(m);
	kit_strands_stop(m);
	m0_mutex_lock(&tm->ntm_mutex);
	kit_eps_fini(m);
	m0_mutex_unlock(&tm->ntm_mutex);
	if (m->nkm_inbox.kin_fd_open)
		m0_os_fd_close(&m->nkm_fd.kfd_fd);
	if (m->nkm_cpus.b_nr > 0)
		m0_bitmap_fini(&m->nkm_cpus);
	m0_timerq_fini(&m->nkm_timerq);
	m0_list_fini(&m->nkm_eps.kes_idle);
	m0_list_fini(&m->nkm_recvq);
	m->nkm_tm = NULL;
	tm->ntm_xprt_private = NULL;
	m0_net_kit_machine_put(m);
}

int m0_net_kit_tm_confine(struct m0_net_transfer_mc *tm,
			  const struct m0_bitmap    *processors)
{
	struct m0_net_kit_machine *m = kit_machine(tm);
	struct m0_bitmap           copy;
	int                        rc;

	M0_PRE_EX(kit_is_locked(m));
	if (!m0_os_cpus_valid(processors))
		return -EINVAL;
	/* Running threads stay on their processors. */
	if (m->nkm_strands.kst_running)
		return -EBUSY;
	rc = m0_bitmap_init(&copy, processors->b_nr);
	if (rc != 0)
		return rc;
	m0_bitmap_copy(&copy, processors);
	if (m->nkm_cpus.b_nr > 0)
		m0_bitmap_fini(&m->nkm_cpus);
	m->nkm_cpus = copy;
	return 0;
}

const struct m0_bitmap *m0_net_kit_machine_cpus(
	const struct m0_net_kit_machine *m)
{
	return m->nkm_cpus.b_nr > 0 ? &m->nkm_cpus : NULL;
}

/* -------------------------------------------------------- start, stop -- */

int m0_net_kit_tm_start(struct m0_net_transfer_mc *tm, const char *addr)
{
	struct m0_net_kit_machine *m = kit_machine(tm);
	int                        rc = 0;

	M0_PRE_EX(kit_is_locked(m));
	m->nkm_life.kli_wanted.nka_len = 0;
	if (addr != NULL)
		rc = m->nkm_ops->nko_wanted_parse != NULL
			     ? m->nkm_ops->nko_wanted_parse(
				       addr, &m->nkm_life.kli_wanted)
			     : m->nkm_ops->nko_addr_parse(
				       addr, &m->nkm_life.kli_wanted);
	if (rc != 0)
		return rc;
	if (m->nkm_ops->nko_runner != NULL && !m->nkm_strands.kst_running &&
	    !m->nkm_inline && m->nkm_cpus.b_nr == 0 &&
	    m->nkm_strands.kst_nr == 1)
		m->nkm_strands.kst_runner = m->nkm_ops->nko_runner(
			m, addr != NULL ? &m->nkm_life.kli_wanted : NULL);
	rc = kit_strands_start(m);
	if (rc != 0)
		return rc;
	m->nkm_life.kli_start_wanted = true;
	kit_wakes_update(m);
	kit_kick(m);
	return 0;
}

int m0_net_kit_tm_stop(struct m0_net_transfer_mc *tm, bool cancel)
{
	struct m0_net_kit_machine *m = kit_machine(tm);
	int                        rc;

	M0_PRE_EX(kit_is_locked(m));
	rc = kit_strands_start(m);
	if (rc != 0)
		return rc;
	m->nkm_life.kli_start_wanted = false;
	kit_queues_stop(m, cancel);
	kit_wakes_update(m);
	kit_kick(m);
	return 0;
}

/* --------------------------------------------------------------- modes -- */

int m0_net_kit_bev_deliver_sync(struct m0_net_transfer_mc *tm)
{
	kit_machine(tm)->nkm_sync = true;
	return 0;
}

int m0_net_kit_tm_inline(struct m0_net_transfer_mc *tm)
{
	struct m0_net_kit_machine *m = kit_machine(tm);

	/* A buffer added before has a thread already: it goes on to help. */
	m->nkm_sync = true;
	m->nkm_inline = true;
	if (m->nkm_strands.kst_running)
		kit_wakes_update(m);
	return 0;
}

/*
 * Bulk that was asked for between polls begins before the poll looks for what
 * has come, so that it leaves first.
 */
static void early_run(struct m0_net_kit_machine *m)
{
	struct kit_pass *pass;

	if (!m->nkm_inline || m->nkm_ops->nko_push == NULL ||
	    M0_LIKELY(__atomic_load_n(&m->nkm_quiet_until, __ATOMIC_ACQUIRE) !=
		      0))
		return;
	pass = kit_pass_open(m0_time_now());
	kit_run(m, KIT_RUN_PROGRESS);
	kit_pass_close(pass);
}

void m0_net_kit_bev_deliver_all(struct m0_net_transfer_mc *tm)
{
	struct m0_net_kit_machine *m = kit_machine(tm);
	struct kit_pass           *pass = kit_pass();
	m0_time_t                  now = 0;

	/* The caller may loop until work of an outer pass is done: post it. */
	kit_pass_flush(pass);
	early_run(m);
	(void)kit_poll(m, false, &now);
	if (m->nkm_inline && kit_is_quiet(m, now))
		return;
	kit_pass_open(now > 0 ? now : m0_time_now());
	kit_run(m, KIT_RUN_BUFFERS |
			   (m->nkm_inline ? KIT_RUN_PROGRESS | KIT_RUN_STATES
					  : 0));
	kit_pass_close(pass);
	/* Push requests of callbacks now instead of at the next poll. */
	kit_push(m);
}

bool m0_net_kit_bev_pending(struct m0_net_transfer_mc *tm)
{
	struct m0_net_kit_machine *m = kit_machine(tm);
	m0_time_t                  now = 0;
	struct kit_pass           *pass = kit_pass();
	bool                       pending;

	kit_pass_flush(pass);
	(void)kit_poll(m, false, &now);
	if (m->nkm_inline && kit_is_quiet(m, now))
		return false;
	if (m->nkm_inline) {
		kit_pass_open(now > 0 ? now : m0_time_now());
		kit_run(m, KIT_RUN_PROGRESS);
		kit_pass_close(pass);
	}
	m0_mutex_lock(&tm->ntm_mutex);
	pending = m->nkm_ready.kre_events_nr > 0 ||
		  (m->nkm_inline && kit_states_pending(m)) ||
		  kit_rider_is_due(m);
	m0_mutex_unlock(&tm->ntm_mutex);
	return pending;
}

void m0_net_kit_bev_notify(struct m0_net_transfer_mc *tm, struct m0_chan *chan)
{
	struct m0_net_kit_machine *m = kit_machine(tm);

	M0_PRE_EX(kit_is_locked(m));
	if (!m->nkm_life.kli_ended) {
		m->nkm_notify.kno_chan = chan;
		kit_wakes_update(m);
		kit_kick(m);
	}
	/*
	 * Withdrawn: a thread may be signalling the channel, which its owner
	 * finalises next. A caller with a lock may have the channel's guard,
	 * which that thread then waits for.
	 */
	if (chan == NULL && m0_mutex_held_nr() == 1) {
		m0_mutex_unlock(&tm->ntm_mutex);
		m0_os_zero_wait(&m->nkm_notify.kno_signals_nr);
		m0_mutex_lock(&tm->ntm_mutex);
	}
}

int m0_net_kit_tm_fd(struct m0_net_transfer_mc *tm)
{
	struct m0_net_kit_machine *m = kit_machine(tm);
	int                        rc = 0;

	m0_mutex_lock(&tm->ntm_mutex);
	if (!m->nkm_inbox.kin_fd_open) {
		rc = m0_os_fd_open(&m->nkm_fd.kfd_fd);
		if (rc == 0) {
			m0_mutex_lock(&m->nkm_inbox.kin_lock);
			/* Wakers of riders and polls read it without a lock. */
			__atomic_store_n(&m->nkm_inbox.kin_fd_open, true,
					 __ATOMIC_RELEASE);
			m0_mutex_unlock(&m->nkm_inbox.kin_lock);
			kit_fd_poll_add(m);
			/* Signal events that are there already. */
			kit_kick(m);
		}
	}
	m0_mutex_unlock(&tm->ntm_mutex);
	return rc == 0 ? m->nkm_fd.kfd_fd.of_fd : rc;
}

/* ----------------------------------------------------------- accessors -- */

void *m0_net_kit_machine_pvt(struct m0_net_kit_machine *machine)
{
	return machine->nkm_pvt;
}

struct m0_net_kit_machine *m0_net_kit_machine_of(
	const struct m0_net_transfer_mc *tm)
{
	return kit_machine(tm);
}

struct m0_net_transfer_mc *m0_net_kit_machine_tm(
	const struct m0_net_kit_machine *machine)
{
	return machine->nkm_tm;
}

struct m0_net_domain *m0_net_kit_machine_dom(
	const struct m0_net_kit_machine *machine)
{
	return machine->nkm_dom;
}

const struct m0_net_kit_addr *m0_net_kit_machine_addr(
	const struct m0_net_kit_machine *machine)
{
	return &machine->nkm_addr;
}

bool m0_net_kit_machine_is_open(const struct m0_net_kit_machine *machine)
{
	return __atomic_load_n(&machine->nkm_open, __ATOMIC_ACQUIRE);
}

void m0_net_kit_machine_get(struct m0_net_kit_machine *machine)
{
	m0_ref_get(&machine->nkm_ref);
}

void m0_net_kit_machine_put(struct m0_net_kit_machine *machine)
{
	m0_ref_put(&machine->nkm_ref);
}

void m0_net_kit_machine_workers_set(struct m0_net_transfer_mc *tm, size_t nr)
{
	struct m0_net_kit_machine *m = kit_machine(tm);

	M0_PRE(tm->ntm_state == M0_NET_TM_INITIALIZED &&
	       !m->nkm_strands.kst_running);
	M0_PRE(nr >= 1 && nr <= KIT_WORKERS_MAX);
	m->nkm_strands.kst_nr = nr;
}

size_t m0_net_kit_machine_workers_get(const struct m0_net_transfer_mc *tm)
{
	return kit_machine(tm)->nkm_strands.kst_nr;
}
