/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Adding and removing further addresses of a machine, by threads of the
 * application; and their end, with the machine's.
 */
#include "rpc/rpc_internal.h"

/* ------------------------------------------------------------------ life -- */

static void rail_free(struct m0_rpc__rail *rail)
{
	M0_PRE(!m0_list_link_is_in(&rail->rrl_link));
	m0_list_link_fini(&rail->rrl_link);
	m0_clink_cleanup(&rail->rrl_clink);
	m0_clink_fini(&rail->rrl_clink);
	m0_chan_fini_lock(&rail->rrl_chan);
	m0_mutex_fini(&rail->rrl_lock);
	m0_semaphore_fini(&rail->rrl_sem);
	m0_free(rail);
}

static bool pends_cb(struct m0_clink *clink)
{
	struct m0_rpc__rail *rail =
		container_of(clink, struct m0_rpc__rail, rrl_clink);

	__atomic_store_n(&rail->rrl_pends, 1, __ATOMIC_SEQ_CST);
	m0_net_tm_rider_wake(&rail->rrl_machine->rml_rider);
	return true;
}

static struct m0_rpc__rail *rail_new(struct m0_rpc__machine *m)
{
	struct m0_rpc__rail *rail;

	M0_ALLOC_PTR(rail);
	if (rail == NULL)
		return NULL;
	rail->rrl_machine = m;
	rail->rrl_tm.ntm_callbacks = &m0_rpc__rail_callbacks;
	m0_list_link_init(&rail->rrl_link);
	m0_semaphore_init(&rail->rrl_sem, 0);
	m0_mutex_init(&rail->rrl_lock);
	m0_chan_init(&rail->rrl_chan, &rail->rrl_lock);
	m0_clink_init(&rail->rrl_clink, pends_cb);
	m0_clink_add_lock(&rail->rrl_chan, &rail->rrl_clink);
	return rail;
}

static void pool_prune(struct m0_rpc__machine *m)
{
	while (m->rml_receiver.rrv_pool_spare_nr > 0 &&
	       m0_net_buffer_pool_prune(m->rml_receiver.rrv_pool))
		--m->rml_receiver.rrv_pool_spare_nr;
}

/* The machine's own pool gets buffers for it. */
static int pool_grow(struct m0_rpc__machine *m)
{
	uint32_t nr = 2 * m->rml_receiver.rrv_queue_len;
	uint32_t spare_nr;
	uint32_t got;

	M0_PRE(m->rml_receiver.rrv_queue_len > 0);
	if (m->rml_receiver.rrv_pool != &m->rml_receiver.rrv_pool_own)
		return 0;
	m0_net_buffer_pool_lock(m->rml_receiver.rrv_pool);
	spare_nr = (uint32_t)min64u(m->rml_receiver.rrv_pool_spare_nr, nr);
	got = spare_nr + (uint32_t)m0_net_buffer_pool_provision(
				 m->rml_receiver.rrv_pool, nr - spare_nr);
	m->rml_receiver.rrv_pool_spare_nr -= spare_nr;
	if (got < nr) {
		m->rml_receiver.rrv_pool_spare_nr += got;
		pool_prune(m);
	}
	m0_net_buffer_pool_unlock(m->rml_receiver.rrv_pool);
	return got < nr ? -ENOMEM : 0;
}

/* Gives as many back; those in use when another one goes. */
static void pool_shrink(struct m0_rpc__machine *m)
{
	if (m->rml_receiver.rrv_pool != &m->rml_receiver.rrv_pool_own)
		return;
	m0_net_buffer_pool_lock(m->rml_receiver.rrv_pool);
	m->rml_receiver.rrv_pool_spare_nr += 2 * m->rml_receiver.rrv_queue_len;
	pool_prune(m);
	m0_net_buffer_pool_unlock(m->rml_receiver.rrv_pool);
}

static int rail_start(struct m0_rpc__rail *rail, const char *ep_addr)
{
	struct m0_rpc__machine    *m = rail->rrl_machine;
	struct m0_net_transfer_mc *tm = &rail->rrl_tm;
	int                        rc;

	M0_PRE(rail->rrl_machine != NULL);
	if (m->rml_cfg.rc_spin_ns != M0_TIME_NEVER)
		m0_net_tm_spin_set(tm, m->rml_cfg.rc_spin_ns);
	rc = m0_net_buffer_event_deliver_synchronously(tm);
	m0_net_tm_colour_set(tm, m->rml_receiver.rrv_colour);
	rc = rc
		     ?: m0_net_tm_pool_attach(tm, m->rml_receiver.rrv_pool,
					      &m0_rpc__recv_callbacks,
					      m->rml_sender.rsn_msg_size,
					      M0_RPC__RECV_MSGS_MAX,
					      m->rml_receiver.rrv_queue_len);
	rc = rc ?: m0_net_tm_start(tm, ep_addr);
	if (rc != 0)
		return rc;
	m0_semaphore_down(&rail->rrl_sem);
	return rail->rrl_failed_rc;
}

static void add_do(struct m0_rpc__machine *m, void *arg)
{
	struct m0_rpc__rail *rail = arg;

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(m->rml_rails.rlr_nr < ARRAY_SIZE(m->rml_rails.rlr_rail));
	m0_mutex_lock(&m->rml_rails.rlr_lock);
	m->rml_rails.rlr_rail[m->rml_rails.rlr_nr++] = rail;
	m0_mutex_unlock(&m->rml_rails.rlr_lock);
	m->rml_receiver.rrv_held_max += m->rml_receiver.rrv_queue_len;
	/* Deliver events that have come meanwhile. */
	__atomic_store_n(&rail->rrl_pends, 1, __ATOMIC_SEQ_CST);
	m0_rpc__rail_deliver(rail);
}

static bool place_take(struct m0_rpc__machine *m)
{
	bool is_room;

	m0_mutex_lock(&m->rml_rails.rlr_lock);
	is_room = m->rml_rails.rlr_taken < ARRAY_SIZE(m->rml_rails.rlr_rail);
	m->rml_rails.rlr_taken += is_room;
	m0_mutex_unlock(&m->rml_rails.rlr_lock);
	return is_room;
}

static void place_give(struct m0_rpc__machine *m)
{
	M0_PRE(m->rml_rails.rlr_taken > 0);
	m0_mutex_lock(&m->rml_rails.rlr_lock);
	--m->rml_rails.rlr_taken;
	m0_mutex_unlock(&m->rml_rails.rlr_lock);
}

static int rail_up(struct m0_rpc__rail *rail, const char *ep_addr)
{
	struct m0_rpc__machine *m = rail->rrl_machine;
	int                     rc = m0_net_tm_init(&rail->rrl_tm, m->rml_dom);

	if (rc != 0)
		return rc;
	rc = pool_grow(m);
	if (rc == 0) {
		rc = rail_start(rail, ep_addr);
		if (rc != 0)
			pool_shrink(m);
	}
	if (rc != 0)
		(void)m0_net_tm_fini(&rail->rrl_tm);
	return rc;
}

static int rail_add(struct m0_rpc__machine *m, const char *ep_addr)
{
	struct m0_rpc__rail *rail;
	int                  rc;

	if (!place_take(m))
		return -ENOSPC;
	rail = rail_new(m);
	rc = rail != NULL ? rail_up(rail, ep_addr) : -ENOMEM;
	if (rc == 0) {
		m0_rpc__do(m, add_do, rail);
		return 0;
	}
	if (rail != NULL)
		rail_free(rail);
	place_give(m);
	return rc;
}

/* The machine does not stop before users_leave(). */
static int users_enter(struct m0_rpc__machine *m)
{
	int rc = 0;

	m0_mutex_lock(&m->rml_rails.rlr_lock);
	if (__atomic_load_n(&m->rml_stops, __ATOMIC_SEQ_CST))
		rc = -ESHUTDOWN;
	else
		(void)__atomic_add_fetch(&m->rml_rails.rlr_users_nr, 1,
					 __ATOMIC_SEQ_CST);
	m0_mutex_unlock(&m->rml_rails.rlr_lock);
	return rc;
}

static void users_leave(struct m0_rpc__machine *m, void *arg)
{
	M0_PRE(m->rml_rails.rlr_users_nr > 0);
	(void)arg;
	(void)__atomic_sub_fetch(&m->rml_rails.rlr_users_nr, 1,
				 __ATOMIC_SEQ_CST);
}

bool m0_rpc__rails_are_changed(const struct m0_rpc__machine *m)
{
	return __atomic_load_n(&m->rml_rails.rlr_users_nr, __ATOMIC_SEQ_CST) >
	       0;
}

static int link_change(struct m0_rpc_machine *machine, const char *ep_addr,
		       int (*change)(struct m0_rpc__machine *m,
				     const char             *ep_addr))
{
	struct m0_rpc__machine *m = machine->rm_lib;
	int                     rc;

	M0_PRE(!m0_rpc__is_here(m));
	rc = users_enter(m);
	if (rc != 0)
		return rc;
	rc = change(m, ep_addr);
	m0_rpc__do(m, users_leave, NULL);
	return rc;
}

int m0_rpc_machine_link_add(struct m0_rpc_machine *machine, const char *ep_addr)
{
	return link_change(machine, ep_addr, rail_add);
}

/* ------------------------------------------------------------------- end -- */

/* Its events are delivered by the machine, which for an inline one is us. */
static void rail_stop(struct m0_rpc__rail *rail)
{
	struct m0_rpc__machine *m = rail->rrl_machine;

	(void)m0_net_tm_stop(&rail->rrl_tm, true);
	if (!m->rml_cfg.rc_inline) {
		m0_semaphore_down(&rail->rrl_sem);
		return;
	}
	while (!m0_semaphore_timeddown(&rail->rrl_sem,
				       m0_time_from_now(0, 100000)))
		m0_net_buffer_event_deliver_all(&m->rml_machine->rm_tm);
}

void m0_rpc__rails_stop(struct m0_rpc__machine *m)
{
	uint32_t i;

	for (i = 0; i < m->rml_rails.rlr_nr; ++i)
		rail_stop(m->rml_rails.rlr_rail[i]);
}

static void rail_fini(struct m0_rpc__rail *rail)
{
	int rc = m0_net_tm_fini(&rail->rrl_tm);

	M0_ASSERT_INFO(rc == 0, "end points of the machine are in use");
	rail_free(rail);
}

void m0_rpc__rails_fini(struct m0_rpc__machine *m)
{
	struct m0_rpc__rail *rail;
	struct m0_rpc__rail *next;

	M0_PRE(m->rml_rails.rlr_users_nr == 0);
	while (m->rml_rails.rlr_nr > 0)
		rail_fini(m->rml_rails.rlr_rail[--m->rml_rails.rlr_nr]);
	M0_PRE(m0_list_is_empty(&m->rml_rails.rlr_stopping));
	m0_list_for_each_entry_safe(&m->rml_rails.rlr_gone, rail, next,
				    struct m0_rpc__rail, rrl_link) {
		m0_list_del(&rail->rrl_link);
		rail_fini(rail);
	}
	m0_list_fini(&m->rml_rails.rlr_gone);
	m0_list_fini(&m->rml_rails.rlr_stopping);
	m0_mutex_fini(&m->rml_rails.rlr_lock);
}

struct taking {
	const char          *tkg_addr;
	struct m0_rpc__rail *tkg_rail;
};

static bool is_at(const struct m0_rpc__rail *rail, const char *addr)
{
	return strcmp(rail->rrl_tm.ntm_ep->nep_addr, addr) == 0;
}

static void del_do(struct m0_rpc__machine *m, void *arg)
{
	struct taking *take = arg;
	uint32_t       i;

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(m0_rpc__rails_invariant(&m->rml_rails));
	m0_mutex_lock(&m->rml_rails.rlr_lock);
	for (i = 0; i < m->rml_rails.rlr_nr && take->tkg_rail == NULL; ++i)
		if (is_at(m->rml_rails.rlr_rail[i], take->tkg_addr))
			take->tkg_rail = m->rml_rails.rlr_rail[i];
	if (take->tkg_rail != NULL) {
		--m->rml_rails.rlr_nr;
		--m->rml_rails.rlr_taken;
		for (--i; i < m->rml_rails.rlr_nr; ++i)
			m->rml_rails.rlr_rail[i] = m->rml_rails.rlr_rail[i + 1];
	}
	m0_mutex_unlock(&m->rml_rails.rlr_lock);
	if (take->tkg_rail == NULL)
		return;
	/* Deliver the events of operations that end there. */
	m0_list_add_tail(&m->rml_rails.rlr_stopping, &take->tkg_rail->rrl_link);
	m->rml_receiver.rrv_held_max -= m->rml_receiver.rrv_queue_len;
	m0_rpc__links_from(m, &take->tkg_rail->rrl_tm);
}

static void stopped_do(struct m0_rpc__machine *m, void *arg)
{
	struct m0_rpc__rail *rail = arg;

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(m0_list_link_is_in(&rail->rrl_link));
	m0_list_move_tail(&m->rml_rails.rlr_gone, &rail->rrl_link);
}

static int rail_del(struct m0_rpc__machine *m, const char *ep_addr)
{
	struct taking take = { .tkg_addr = ep_addr };

	m0_rpc__do(m, del_do, &take);
	if (take.tkg_rail == NULL)
		return -ENOENT;
	rail_stop(take.tkg_rail);
	m0_rpc__do(m, stopped_do, take.tkg_rail);
	pool_shrink(m);
	return 0;
}

int m0_rpc_machine_link_del(struct m0_rpc_machine *machine, const char *ep_addr)
{
	return link_change(machine, ep_addr, rail_del);
}

int m0_rpc_machine_link_addr(struct m0_rpc_machine *machine, uint32_t i,
			     char *ret_addr)
{
	struct m0_rpc__machine *m = machine->rm_lib;
	int                     rc = 0;

	m0_mutex_lock(&m->rml_rails.rlr_lock);
	if (i <= m->rml_rails.rlr_nr)
		strcpy(ret_addr, m0_rpc__rail_tm(m, i)->ntm_ep->nep_addr);
	else
		rc = -ENOENT;
	m0_mutex_unlock(&m->rml_rails.rlr_lock);
	return rc;
}
