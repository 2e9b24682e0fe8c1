/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * When the links of a connection are looked at: the tick of rpc_probe.c.
 */
#include "rpc/rpc_internal.h"

void m0_rpc__links_watch(struct m0_rpc__conn *conn, m0_time_t at)
{
	struct m0_timer *timer = &conn->rcx_tick.rpa_timer;

	M0_PRE(at != M0_TIME_NEVER);
	if (!m0_timer_is_armed(timer) || at < m0_timer_deadline(timer))
		m0_timerq_arm(&conn->rcx_machine->rml_timers.rtm_pauses, timer,
			      at);
}

void m0_rpc__links_failed(struct m0_rpc__target *target, int rc)
{
	struct m0_rpc__link *link;

	M0_PRE_EX(m0_rpc__target_invariant(target));
	/* These errors concern a packet, not the way. */
	if (M0_IN(rc, (0, -ECANCELED, -ENOBUFS, -ENODATA, -EMSGSIZE, -ENOMEM)))
		return;
	m0_list_for_each_entry(&target->trg_links, link, struct m0_rpc__link,
			       lnk_target_link) {
		if (link->lnk_conn->rcx_links_nr == 1)
			continue;
		link->lnk_failed = true;
		m0_rpc__links_watch(link->lnk_conn,
				    link->lnk_conn->rcx_machine->rml_now);
	}
}
