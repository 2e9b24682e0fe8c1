/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * States of a TM, as the thread that runs the TM changes them.
 *
 * The first run puts the TM on the network and delivers STARTED or, once the
 * queues are empty, FAILED. After a stop, the next run keeps new messages out.
 * The run that finds the queues empty and no callback running takes the TM off
 * the network and delivers STOPPED; nothing is posted to the TM after that. If the
 * network goes first, m0_net_kit_machine_fail() posts work that begins the same way
 * to FAILED.
 * Runs that may deliver states: those of a strand (for an inline TM only while
 * a start or stop lasts), and deliver_all of an inline TM.
 */
#include "kit/kit.h"

static void queues_end(struct m0_net_kit_machine *m, int32_t status)
{
	struct m0_net_buffer *buf;
	int                   qt;

	M0_PRE_EX(kit_is_locked(m));
	for (qt = 0; qt < M0_NET_QT_NR; ++qt)
		for (buf = net_q_tlist_head(&m->nkm_tm->ntm_q[qt]); buf != NULL;
		     buf = net_q_tlist_next(&m->nkm_tm->ntm_q[qt], buf))
			kit_give_up(kit_buf_of(buf), status);
}

void kit_queues_stop(struct m0_net_kit_machine *m, bool abort)
{
	struct m0_net_transfer_mc *tm = m->nkm_tm;
	m0_time_t limit = m0_time_add(kit_now(), tm->ntm_drain_limit);
	struct m0_net_buffer *buf;
	struct kit_buf       *kb;
	int                   qt;

	M0_PRE_EX(kit_is_locked(m));
	for (qt = 0; qt < M0_NET_QT_NR; ++qt) {
		for (buf = net_q_tlist_head(&tm->ntm_q[qt]); buf != NULL;
		     buf = net_q_tlist_next(&tm->ntm_q[qt], buf)) {
			kb = kit_buf_of(buf);
			if (abort)
				++tm->ntm_qstats[qt].nqs_num_dels;
			if (abort || qt == M0_NET_QT_MSG_RECV)
				kit_give_up(kb, -ECANCELED);
			else
				m0_net_kit_deadline(&kb->kb_pub, limit,
						    -ECANCELED);
		}
	}
}

void kit_fail_begin(struct m0_net_kit_machine *m)
{
	M0_PRE_EX(kit_is_locked(m));
	M0_PRE(m->nkm_fail_status < 0);
	if (m->nkm_tm->ntm_state != M0_NET_TM_STARTED)
		return;
	m->nkm_life.kli_fail_rc = m->nkm_fail_status;
	m0_net__tm_failing(m->nkm_tm);
	queues_end(m, m->nkm_fail_status);
	kit_wakes_update(m);
	kit_kick(m);
}

void kit_stop_do(struct m0_net_kit_machine *m)
{
	struct m0_net_transfer_mc *tm = m->nkm_tm;

	M0_PRE_EX(kit_is_locked(m));
	m->nkm_life.kli_left = true;
	if (!__atomic_load_n(&m->nkm_open, __ATOMIC_ACQUIRE))
		return;
	m0_mutex_unlock(&tm->ntm_mutex);
	if (m->nkm_ops->nko_stop != NULL)
		m->nkm_ops->nko_stop(m);
	__atomic_store_n(&m->nkm_open, 0, __ATOMIC_RELEASE);
	m0_mutex_lock(&tm->ntm_mutex);
}

void kit_start_do(struct m0_net_kit_machine *m)
{
	struct m0_net_transfer_mc    *tm = m->nkm_tm;
	const struct m0_net_kit_addr *wanted =
		m->nkm_life.kli_wanted.nka_len > 0 ? &m->nkm_life.kli_wanted
						   : NULL;
	int rc;

	M0_PRE_EX(kit_is_locked(m));
	M0_PRE(m->nkm_life.kli_start_wanted);
	m->nkm_life.kli_start_wanted = false;
	if (tm->ntm_state != M0_NET_TM_STARTING)
		return;
	m0_mutex_unlock(&tm->ntm_mutex);
	rc = m->nkm_ops->nko_start(m, wanted, &m->nkm_addr);
	if (rc == 0) {
		kit_desc_tail_make(&m->nkm_desc_tail, &m->nkm_addr);
		__atomic_store_n(&m->nkm_open, 1, __ATOMIC_RELEASE);
	}
	m0_mutex_lock(&tm->ntm_mutex);
	m->nkm_life.kli_entered = rc == 0;
	/* Asked for before there was an address. */
	if (rc == 0 && m->nkm_inbox.kin_fd_open && !m->nkm_fd.kfd_joined)
		kit_fd_poll_add(m);
	if (rc == 0) {
		m->nkm_life.kli_own_ep = m0_net_kit_ep_get(m, &m->nkm_addr);
		if (m->nkm_life.kli_own_ep == NULL)
			rc = -ENOMEM;
	}
	m->nkm_life.kli_started = rc == 0;
	m->nkm_life.kli_start_rc = rc;
	if (rc == 0)
		return;
	/* FAILED comes when what was queued before start is gone. */
	kit_queues_stop(m, true);
	kit_stop_do(m);
}

/* ---------------------------------------------------- states delivered -- */

static bool is_idle(const struct m0_net_kit_machine *m)
{
	return !m->nkm_stepping && m->nkm_tm->ntm_callback_counter == 0 &&
	       m->nkm_pins_nr == 0 && m0_net__tm_queues_are_empty(m->nkm_tm);
}

enum state_due {
	DUE_NONE,
	DUE_STARTED,
	DUE_FAILED,
	DUE_STOPPED
};

static enum state_due state_due(const struct m0_net_kit_machine *m)
{
	enum m0_net_tm_state state = m->nkm_tm->ntm_state;

	if (m->nkm_life.kli_ended)
		return DUE_NONE;
	if (state == M0_NET_TM_STARTING && m->nkm_life.kli_started)
		return DUE_STARTED;
	if (state == M0_NET_TM_STARTING && m->nkm_life.kli_start_rc != 0 &&
	    is_idle(m))
		return DUE_FAILED;
	if (state == M0_NET_TM_STOPPING && m->nkm_life.kli_left && is_idle(m))
		return m->nkm_life.kli_fail_rc != 0 ? DUE_FAILED : DUE_STOPPED;
	return DUE_NONE;
}

bool kit_states_due(const struct m0_net_kit_machine *m)
{
	M0_PRE_EX(kit_is_locked(m));
	return !m->nkm_life.kli_ended &&
	       (m->nkm_enobufs_nr > 0 || state_due(m) != DUE_NONE);
}

static void errors_deliver(struct m0_net_kit_machine *m)
{
	struct m0_net_tm_event ev = { .nte_type = M0_NET_TEV_ERROR,
				      .nte_tm = m->nkm_tm,
				      .nte_time = kit_now(),
				      .nte_status = -ENOBUFS };
	uint32_t               nr = m->nkm_enobufs_nr;

	M0_PRE_EX(kit_is_locked(m));
	m->nkm_enobufs_nr = 0;
	if (nr > 0)
		kit_rider_owe(m);
	while (nr-- > 0)
		m0_net__tm_event(&ev);
}

/* The machine's last words. */
static void machine_end(struct m0_net_kit_machine *m,
			struct m0_net_tm_event    *ev)
{
	struct m0_net_transfer_mc *tm = m->nkm_tm;

	M0_PRE_EX(kit_is_locked(m));
	M0_PRE(!m->nkm_life.kli_ended);
	M0_PRE(m0_net__tm_queues_are_empty(m->nkm_tm));
	m->nkm_life.kli_ended = true;
	m->nkm_notify.kno_chan = NULL;
	kit_stop_do(m);
	/* A machine stopped before STARTED: its end point was not given out. */
	if (m->nkm_life.kli_own_ep != NULL && tm->ntm_ep == NULL) {
		m0_net__ep_put(m->nkm_life.kli_own_ep);
		m->nkm_life.kli_own_ep = NULL;
	}
	m0_mutex_unlock(&tm->ntm_mutex);
	if (m->nkm_life.kli_entered && m->nkm_ops->nko_leave != NULL)
		m->nkm_ops->nko_leave(m);
	kit_inbox_close(m);
	kit_pass_flush(kit_pass());
	m0_mutex_lock(&tm->ntm_mutex);
	/* A last message of the transport may have found no buffer. */
	errors_deliver(m);
	m0_net__tm_event(ev);
}

static void state_deliver(struct m0_net_kit_machine *m, enum state_due due)
{
	struct m0_net_tm_event ev = { .nte_type = M0_NET_TEV_STATE_CHANGE,
				      .nte_tm = m->nkm_tm,
				      .nte_time = kit_now() };

	M0_PRE_EX(kit_is_locked(m));
	M0_PRE(due != DUE_NONE);
	switch (due) {
	case DUE_STARTED:
		m->nkm_life.kli_started = false;
		ev.nte_next_state = M0_NET_TM_STARTED;
		ev.nte_ep = m->nkm_life.kli_own_ep;
		kit_recv_open(m);
		m0_net__tm_event(&ev);
		kit_rider_begin(m);
		break;
	case DUE_FAILED:
		ev.nte_next_state = M0_NET_TM_FAILED;
		ev.nte_status = m->nkm_life.kli_start_rc != 0
					? m->nkm_life.kli_start_rc
					: m->nkm_life.kli_fail_rc;
		machine_end(m, &ev);
		break;
	default:
		ev.nte_next_state = M0_NET_TM_STOPPED;
		machine_end(m, &ev);
	}
	kit_wakes_update(m);
}

void kit_states_deliver(struct m0_net_kit_machine *m)
{
	enum state_due due;

	M0_PRE_EX(kit_is_locked(m));
	/* The last words are whose thread says them. */
	if (m->nkm_life.kli_ended)
		return;
	errors_deliver(m);
	due = state_due(m);
	if (due != DUE_NONE)
		state_deliver(m, due);
}
