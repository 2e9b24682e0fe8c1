/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Polls of an inline TM: its transport makes progress, and what the transport
 * polls is part of the TM's descriptor.
 */
#include "kit/kit.h"

/* Only the descriptor of an inline TM contains what its transport polls. */
void kit_fd_poll_add(struct m0_net_kit_machine *m)
{
	int fd = -1;

	M0_PRE_EX(kit_is_locked(m));
	if (m->nkm_inline && m->nkm_ops->nko_poll_fd != NULL)
		fd = m->nkm_ops->nko_poll_fd(m);
	if (fd < 0 || m0_os_fd_join(&m->nkm_fd.kfd_fd, fd) != 0)
		return;
	m->nkm_fd.kfd_polled = fd;
	__atomic_store_n(&m->nkm_fd.kfd_joined, true, __ATOMIC_RELAXED);
}

/*
 * Another thread moves what is there by now. Until it has, the descriptor would
 * be readable, and polls find nothing.
 */
static void fd_poll_del(struct m0_net_kit_machine *m)
{
	m0_mutex_lock(&m->nkm_tm->ntm_mutex);
	if (m->nkm_fd.kfd_joined)
		m0_os_fd_leave(&m->nkm_fd.kfd_fd, m->nkm_fd.kfd_polled);
	__atomic_store_n(&m->nkm_fd.kfd_joined, false, __ATOMIC_RELAXED);
	m0_mutex_unlock(&m->nkm_tm->ntm_mutex);
}

bool kit_poll(struct m0_net_kit_machine *m, bool unattended, m0_time_t *now)
{
	bool moves;

	M0_PRE_EX(m0_mutex_is_not_locked(&m->nkm_tm->ntm_mutex));
	if (!m->nkm_inline || m->nkm_ops->nko_poll == NULL)
		return false;
	*now = m0_time_now();
	m0_time_pass_begin(*now);
	moves = m->nkm_ops->nko_poll(m, unattended);
	m0_time_pass_end();
	if (!moves && __atomic_load_n(&m->nkm_fd.kfd_joined, __ATOMIC_RELAXED))
		fd_poll_del(m);
	return moves;
}

bool kit_helper_poll(struct m0_net_kit_machine *m)
{
	m0_time_t now;
	bool      notifies;
	bool      polls;

	if (M0_LIKELY(!m->nkm_inline))
		return false;
	/* Once the end is reported, the application may free what is polled. */
	m0_mutex_lock(&m->nkm_tm->ntm_mutex);
	notifies = m->nkm_notify.kno_chan != NULL;
	++m->nkm_pins_nr;
	m0_mutex_unlock(&m->nkm_tm->ntm_mutex);
	polls = kit_poll(m, notifies, &now);
	m0_mutex_lock(&m->nkm_tm->ntm_mutex);
	--m->nkm_pins_nr;
	m0_mutex_unlock(&m->nkm_tm->ntm_mutex);
	return polls;
}

void kit_push(struct m0_net_kit_machine *m)
{
	if (m->nkm_inline && m->nkm_ops->nko_push != NULL)
		m->nkm_ops->nko_push(m);
}
