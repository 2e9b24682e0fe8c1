/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Handshakes that are asked again and again. The first is asked at once: a
 * server that has restarted costs no time. From the second in a row on they
 * wait, longer each time: a server that forgets for ever costs little.
 *
 * Packets that were refused (rpc_send.c) wait in the same queue, by rules of their
 * own.
 */
#include "rpc/rpc_internal.h"

void m0_rpc__timers_init(struct m0_rpc__timers *timers, m0_time_t now)
{
	m0_timerq_init(&timers->rtm_items, now);
	m0_timerq_init(&timers->rtm_streams, now);
	m0_timerq_init(&timers->rtm_clients, now);
	m0_timerq_init(&timers->rtm_pauses, now);
}

void m0_rpc__timers_fini(struct m0_rpc__timers *timers)
{
	m0_timerq_fini(&timers->rtm_pauses);
	m0_timerq_fini(&timers->rtm_clients);
	m0_timerq_fini(&timers->rtm_streams);
	m0_timerq_fini(&timers->rtm_items);
}

void m0_rpc__pause_init(struct m0_rpc__pause *pause,
			void (*run)(struct m0_rpc__pause *pause))
{
	M0_PRE(run != NULL);
	m0_timer_init(&pause->rpa_timer);
	pause->rpa_run = run;
	pause->rpa_nr = 0;
	pause->rpa_ns = 0;
}

bool m0_rpc__pause(struct m0_rpc__machine *m, struct m0_rpc__pause *pause,
		   m0_time_t latest)
{
	M0_PRE(pause->rpa_run != NULL);
	M0_PRE(m0_rpc__is_here(m));
	if (pause->rpa_nr++ == 0)
		return false;
	pause->rpa_ns = pause->rpa_ns == 0
				? m->rml_cfg.rc_resend_ns
				: min64u(2 * pause->rpa_ns,
					 m->rml_cfg.rc_resend_max_ns);
	m0_timerq_arm(&m->rml_timers.rtm_pauses, &pause->rpa_timer,
		      min64u(latest, m0_time_add(m->rml_now, pause->rpa_ns)));
	return true;
}

void m0_rpc__pause_must(struct m0_rpc__machine *m, struct m0_rpc__pause *pause)
{
	if (!m0_rpc__pause(m, pause, M0_TIME_NEVER))
		(void)m0_rpc__pause(m, pause, M0_TIME_NEVER);
	M0_POST(m0_timer_is_armed(&pause->rpa_timer));
}

void m0_rpc__pauses_run(struct m0_rpc__machine *m)
{
	struct m0_timer      *t;
	struct m0_rpc__pause *pause;

	M0_PRE_EX(m0_rpc__is_here(m));
	while (m->rml_timers.rtm_pauses.tq_nr > 0 &&
	       (t = m0_timerq_expire(&m->rml_timers.rtm_pauses, m->rml_now)) !=
		       NULL) {
		pause = container_of(t, struct m0_rpc__pause, rpa_timer);
		pause->rpa_run(pause);
	}
}
