/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Riders: a layer above that moves where the machine delivers its events.
 *
 * A run that delivers buffer events makes one step of the rider, after the
 * events, if there were any, or it was woken, or its time has come. The run clears
 * ntr_woken before a step and requests another run if a wake has set it during the
 * step. A wake by the thread that is in such a run only sets ntr_woken.
 */
#include "kit/kit.h"

static bool is_woken(const struct m0_net_tm_rider *rider)
{
	return __atomic_load_n(&rider->ntr_woken, __ATOMIC_SEQ_CST) != 0;
}

static m0_time_t due_at(const struct m0_net_tm_rider *rider)
{
	return __atomic_load_n(&rider->ntr_at, __ATOMIC_RELAXED);
}

/* Does it take part at present? */
static bool rides(const struct m0_net_kit_machine *m)
{
	return m->nkm_ride.krd_begun &&
	       (!m->nkm_life.kli_ended || m->nkm_tm->ntm_is_failing);
}

int m0_net_kit_tm_ride(struct m0_net_transfer_mc *tm,
		       struct m0_net_tm_rider    *rider)
{
	struct m0_net_kit_machine *m = kit_machine(tm);

	rider->ntr_at = M0_TIME_NEVER;
	rider->ntr_woken = 0;
	m->nkm_ride.krd_rider = rider;
	return 0;
}

void m0_net_kit_rider_wake(struct m0_net_transfer_mc *tm)
{
	struct m0_net_kit_machine *m = kit_machine(tm);
	enum m0_net_tm_state       state = m0_net__tm_state(tm);

	if (kit_pass()->kp_rides == m ||
	    !M0_IN(state,
		   (M0_NET_TM_STARTED, M0_NET_TM_STOPPING, M0_NET_TM_FAILED)))
		return;
	if (__atomic_load_n(&m->nkm_inbox.kin_wakes, __ATOMIC_ACQUIRE))
		kit_strands_wake(m);
	if (__atomic_load_n(&m->nkm_inbox.kin_fd_open, __ATOMIC_ACQUIRE))
		m0_os_fd_signal(&m->nkm_fd.kfd_fd);
}

void kit_rider_owe(struct m0_net_kit_machine *m)
{
	if (m->nkm_ride.krd_rider != NULL)
		__atomic_store_n(&m->nkm_ride.krd_rider->ntr_woken, 1,
				 __ATOMIC_SEQ_CST);
}

void kit_rider_begin(struct m0_net_kit_machine *m)
{
	M0_PRE_EX(kit_is_locked(m));
	m->nkm_ride.krd_begun = m->nkm_ride.krd_rider != NULL;
	kit_rider_owe(m);
}

/* Past deadlines are not worth a change: the descriptor is signalled then. */
m0_time_t kit_rider_fd_arm(struct m0_net_kit_machine *m, m0_time_t next)
{
	M0_PRE_EX(kit_is_locked(m));
	if (m->nkm_ride.krd_rider != NULL && rides(m))
		next = min64u(next, due_at(m->nkm_ride.krd_rider));
	if (next != M0_TIME_IMMEDIATELY)
		m0_os_fd_arm(&m->nkm_fd.kfd_fd, next);
	return next;
}

bool kit_rider_is_due(const struct m0_net_kit_machine *m)
{
	return m->nkm_ride.krd_rider != NULL && !m->nkm_ride.krd_stepping &&
	       rides(m) &&
	       (is_woken(m->nkm_ride.krd_rider) ||
		due_at(m->nkm_ride.krd_rider) <= kit_now());
}

m0_time_t kit_rider_quiet_until(const struct m0_net_kit_machine *m)
{
	return is_woken(m->nkm_ride.krd_rider) ? M0_TIME_IMMEDIATELY
					       : due_at(m->nkm_ride.krd_rider);
}

m0_time_t kit_rider_next(const struct m0_net_kit_machine *m)
{
	M0_PRE_EX(kit_is_locked(m));
	/* The thread in the step asks again after the step. */
	if (m->nkm_ride.krd_rider == NULL || m->nkm_ride.krd_stepping ||
	    !rides(m))
		return M0_TIME_NEVER;
	return is_woken(m->nkm_ride.krd_rider) ? M0_TIME_IMMEDIATELY
					       : due_at(m->nkm_ride.krd_rider);
}

void kit_rider_step(struct m0_net_kit_machine *m, bool delivered)
{
	struct m0_net_transfer_mc *tm = m->nkm_tm;
	struct m0_net_tm_rider    *rider = m->nkm_ride.krd_rider;
	m0_time_t                  at;
	uint32_t                   held_nr;

	M0_PRE_EX(kit_is_locked(m));
	M0_PRE(rider != NULL);
	if (M0_UNLIKELY(m->nkm_ride.krd_stepping) && delivered)
		kit_rider_owe(m);
	if (m->nkm_ride.krd_stepping || !rides(m) ||
	    (!delivered && !kit_rider_is_due(m)))
		return;
	m->nkm_ride.krd_stepping = true;
	/* This step sees everything that was done before the wake. */
	if (is_woken(rider))
		(void)__atomic_exchange_n(&rider->ntr_woken, 0,
					  __ATOMIC_SEQ_CST);
	/* As a callback: STOPPED and fini wait for it. */
	++tm->ntm_callback_counter;
	m0_mutex_unlock(&tm->ntm_mutex);
	held_nr = m0_mutex_held_nr();
	at = rider->ntr_step(rider, kit_now());
	m0_vain_note(&m->nkm_ride.krd_vain, "rider", kit_now(), at);
	M0_ASSERT(m0_mutex_held_nr() == held_nr);
	m0_mutex_lock(&tm->ntm_mutex);
	__atomic_store_n(&rider->ntr_at, at, __ATOMIC_RELAXED);
	m->nkm_ride.krd_stepping = false;
	--tm->ntm_callback_counter;
	m0_chan_broadcast(&tm->ntm_chan);
	/* The strand that is to signal knows another time. */
	if (M0_UNLIKELY(m->nkm_notify.kno_chan != NULL))
		kit_kick(m);
}
