/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Further addresses of a machine: each is a transfer machine in synchronous
 * mode. When something is pending there the rider of the first one is woken,
 * and its step delivers: so all of the machine moves on one thread, in the three
 * modes and in the simulator.
 */
#include "rpc/rpc_internal.h"

void m0_rpc__tm_state(const struct m0_net_tm_event *ev,
		      struct m0_semaphore *sem, int32_t *failed_rc)
{
	M0_PRE(sem != NULL && failed_rc != NULL);
	if (ev->nte_type != M0_NET_TEV_STATE_CHANGE)
		return;
	if (ev->nte_next_state == M0_NET_TM_FAILED)
		*failed_rc = ev->nte_status;
	if (M0_IN(ev->nte_next_state,
		  (M0_NET_TM_STARTED, M0_NET_TM_STOPPED, M0_NET_TM_FAILED)))
		m0_semaphore_up(sem);
}

static void tm_event(const struct m0_net_tm_event *ev)
{
	struct m0_rpc__rail *rail =
		container_of(ev->nte_tm, struct m0_rpc__rail, rrl_tm);

	m0_rpc__tm_state(ev, &rail->rrl_sem, &rail->rrl_failed_rc);
}

const struct m0_net_tm_callbacks m0_rpc__rail_callbacks = { .ntc_event_cb =
								    tm_event };

struct m0_rpc__machine *m0_rpc__machine_of(struct m0_net_transfer_mc *tm)
{
	if (M0_UNLIKELY(tm->ntm_callbacks == &m0_rpc__rail_callbacks))
		return container_of(tm, struct m0_rpc__rail, rrl_tm)
			->rrl_machine;
	return container_of(tm, struct m0_rpc_machine, rm_tm)->rm_lib;
}

struct m0_net_transfer_mc *m0_rpc__rail_tm(const struct m0_rpc__machine *m,
					   uint32_t                      i)
{
	M0_PRE_EX(m0_rpc__rails_invariant(&m->rml_rails));
	i %= 1 + m->rml_rails.rlr_nr;
	return i == 0 ? &m->rml_machine->rm_tm
		      : &m->rml_rails.rlr_rail[i - 1]->rrl_tm;
}

bool m0_rpc__rail_is(const struct m0_rpc__machine    *m,
		     const struct m0_net_transfer_mc *tm)
{
	uint32_t i;

	for (i = 0; i <= m->rml_rails.rlr_nr; ++i)
		if (m0_rpc__rail_tm(m, i) == tm)
			return true;
	return false;
}

/* The transfer machine may be stopped. */
static bool is_started(const struct m0_net_transfer_mc *tm)
{
	return __atomic_load_n(&tm->ntm_state, __ATOMIC_ACQUIRE) ==
	       M0_NET_TM_STARTED;
}

static struct m0_net_transfer_mc *tm_or_first(struct m0_net_transfer_mc *tm,
					      struct m0_rpc_machine *machine)
{
	return tm != NULL && is_started(tm) ? tm : &machine->rm_tm;
}

/* FNV-1a. */
uint64_t m0_rpc__at(const char *addr)
{
	uint64_t at = 0xcbf29ce484222325;

	M0_PRE_EX(addr != NULL);
	for (; *addr != 0; ++addr)
		at = (at ^ (uint8_t)*addr) * 0x100000001b3;
	return at != 0 ? at : 1;
}

struct m0_net_transfer_mc *m0_rpc__at_find(struct m0_rpc__machine *m,
					   uint64_t                at)
{
	struct m0_net_transfer_mc *found = NULL;
	struct m0_net_transfer_mc *tm;
	uint32_t                   i;

	m0_mutex_lock(&m->rml_rails.rlr_lock);
	for (i = 0; i <= m->rml_rails.rlr_nr && found == NULL; ++i) {
		tm = m0_rpc__rail_tm(m, i);
		if (m0_rpc__at(tm->ntm_ep->nep_addr) == at)
			found = tm;
	}
	m0_mutex_unlock(&m->rml_rails.rlr_lock);
	return found;
}

struct m0_net_transfer_mc *m0_rpc__conn_tm(const struct m0_rpc_conn *conn)
{
	const struct m0_rpc__conn *lib = conn->c_lib;

	return tm_or_first(lib != NULL ? __atomic_load_n(&lib->rcx_tm,
							 __ATOMIC_RELAXED)
				       : NULL,
			   conn->c_rpc_machine);
}

uint32_t m0_rpc__conn_ways(const struct m0_rpc_conn *conn,
			   struct m0_rpc__way *ret, uint32_t max)
{
	struct m0_rpc__conn *lib = conn->c_lib;
	uint32_t             nr = 0;
	uint32_t             i;

	M0_PRE(max > 0);
	if (lib != NULL &&
	    __atomic_load_n(&lib->rcx_ways_nr, __ATOMIC_RELAXED) > 1) {
		m0_mutex_lock(&lib->rcx_ways_lock);
		for (i = 0; i < lib->rcx_ways_nr && nr < max; ++i)
			if (is_started(lib->rcx_ways[i].way_tm))
				ret[nr++] = lib->rcx_ways[i];
		m0_mutex_unlock(&lib->rcx_ways_lock);
	}
	if (nr == 0)
		ret[nr++] = (struct m0_rpc__way){ m0_rpc__conn_tm(conn), 1 };
	return nr;
}

struct m0_net_transfer_mc *m0_rpc__request_tm(const struct m0_rpc_item *request)
{
	return tm_or_first(__atomic_load_n(&m0_rpc__il(request)->ril_tm,
					   __ATOMIC_RELAXED),
			   request->ri_rmachine);
}

/* -------------------------------------------------------------- delivery -- */

void m0_rpc__rail_deliver(struct m0_rpc__rail *rail)
{
	/* Looked at in each step. */
	if (__atomic_load_n(&rail->rrl_pends, __ATOMIC_SEQ_CST) == 0)
		return;
	(void)__atomic_exchange_n(&rail->rrl_pends, 0, __ATOMIC_SEQ_CST);
	m0_net_buffer_event_deliver_all(&rail->rrl_tm);
	m0_net_buffer_event_notify(&rail->rrl_tm, &rail->rrl_chan);
}

void m0_rpc__rails_deliver(struct m0_rpc__machine *m)
{
	struct m0_rpc__rail *rail;
	uint32_t             i;

	M0_PRE_EX(m0_rpc__is_here(m));
	for (i = 0; i < m->rml_rails.rlr_nr; ++i)
		m0_rpc__rail_deliver(m->rml_rails.rlr_rail[i]);
	m0_list_for_each_entry(&m->rml_rails.rlr_stopping, rail,
			       struct m0_rpc__rail, rrl_link)
		m0_rpc__rail_deliver(rail);
}

void m0_rpc__rails_init(struct m0_rpc__rails *rails)
{
	m0_mutex_init(&rails->rlr_lock);
	m0_list_init(&rails->rlr_stopping);
	m0_list_init(&rails->rlr_gone);
}
