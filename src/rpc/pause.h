/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Waits before something is asked, or sent, again. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_PAUSE_H
#define M0_SRC_RPC_PAUSE_H

/** Timers of a machine. */
struct m0_rpc__timers {
	struct m0_timerq rtm_items;
	struct m0_timerq rtm_streams;
	struct m0_timerq rtm_clients;
	/** Pauses, and packets that were refused. */
	struct m0_timerq rtm_pauses;
};

void m0_rpc__timers_init(struct m0_rpc__timers *timers, m0_time_t now);
void m0_rpc__timers_fini(struct m0_rpc__timers *timers);

/** Pause before a handshake is sent again, or a packet that was refused. */
struct m0_rpc__pause {
	struct m0_timer rpa_timer;
	void (*rpa_run)(struct m0_rpc__pause *pause);
	/** In a row: no item has been answered since. */
	uint64_t  rpa_nr;
	m0_time_t rpa_ns;
};

void m0_rpc__pause_init(struct m0_rpc__pause *pause,
			void (*run)(struct m0_rpc__pause *pause));
/** One more. False: at once; true: rpa_run is called, at `latest` then. */
bool m0_rpc__pause(struct m0_rpc__machine *m, struct m0_rpc__pause *pause,
		   m0_time_t latest);
/** One more, which has a length also if it is the first: after a refusal. */
void m0_rpc__pause_must(struct m0_rpc__machine *m, struct m0_rpc__pause *pause);
void m0_rpc__pauses_run(struct m0_rpc__machine *m);
/** The next one is the first. */
static inline void m0_rpc__pause_forget(struct m0_rpc__pause *pause)
{
	if (M0_LIKELY(pause->rpa_nr == 0))
		return;
	pause->rpa_nr = 0;
	pause->rpa_ns = 0;
}

#endif /* M0_SRC_RPC_PAUSE_H */
