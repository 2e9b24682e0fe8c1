/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Further addresses of a machine. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_RAIL_H
#define M0_SRC_RPC_RAIL_H

/** A further address of a machine. */
struct m0_rpc__rail {
	struct m0_net_transfer_mc rrl_tm;
	struct m0_rpc__machine   *rrl_machine;
	/** STARTED, STOPPED or FAILED was delivered. */
	struct m0_semaphore rrl_sem;
	int32_t             rrl_failed_rc;
	/** Signalled when something is pending. */
	struct m0_mutex rrl_lock;
	struct m0_chan  rrl_chan;
	struct m0_clink rrl_clink;
	/** An event is pending. Atomic. */
	uint32_t rrl_pends;
	/** In rml_rails.rlr_stopping, rml_rails.rlr_gone. */
	struct m0_list_link rrl_link;
};

/** Further addresses of a machine. */
struct m0_rpc__rails {
	/** The machine's thread reads rlr_nr of them without the lock. */
	struct m0_rpc__rail *rlr_rail[M0_RPC_LINKS_MAX - 1];
	uint32_t             rlr_nr;
	/** Including addresses that are being started. Under the lock. */
	uint32_t rlr_taken;
	/** By rrl_link: those being stopped; those that were stopped and wait
	 * for the machine's end. The machine's thread's. */
	struct m0_list  rlr_stopping;
	struct m0_list  rlr_gone;
	struct m0_mutex rlr_lock;
	/** Threads that add or remove one: the machine stops after them. Atomic,
	 * raised under the lock. */
	uint32_t rlr_users_nr;
};

void m0_rpc__rails_init(struct m0_rpc__rails *rails);
/** The `i`-th modulo their number. */
struct m0_net_transfer_mc *m0_rpc__rail_tm(const struct m0_rpc__machine *m,
					   uint32_t                      i);
/** Returns true if a transfer machine is one of the RPC machine's addresses that
 * were not removed. */
bool m0_rpc__rail_is(const struct m0_rpc__machine    *m,
		     const struct m0_net_transfer_mc *tm);
/** Return the TM that a connection uses, or by which a request came. Any thread. The
 * result may be out of date, but exists as long as the RPC machine. */
struct m0_net_transfer_mc *m0_rpc__conn_tm(const struct m0_rpc_conn *conn);
struct m0_net_transfer_mc *m0_rpc__request_tm(
	const struct m0_rpc_item *request);
/** Returns the number of an address, by which both sides identify it; not 0. */
uint64_t m0_rpc__at(const char *addr);
/** The machine's address of this number; NULL: none is. Any thread. */
struct m0_net_transfer_mc *m0_rpc__at_find(struct m0_rpc__machine *m,
					   uint64_t                at);
/** Return the machine of a transfer machine. */
struct m0_rpc__machine *m0_rpc__machine_of(struct m0_net_transfer_mc *tm);
/** Callbacks of further addresses. */
extern const struct m0_net_tm_callbacks m0_rpc__rail_callbacks;
/** An event of one of a machine's transfer machines: notes whether that has
 * started, stopped or failed, and why. */
void m0_rpc__tm_state(const struct m0_net_tm_event *ev,
		      struct m0_semaphore *sem, int32_t *failed_rc);
void m0_rpc__rail_deliver(struct m0_rpc__rail *rail);
/** Delivers what has come there. */
void m0_rpc__rails_deliver(struct m0_rpc__machine *m);
/** True while a thread adds or removes an address; waiters are woken when none
 * does. Any thread. */
bool m0_rpc__rails_are_changed(const struct m0_rpc__machine *m);
/** An application's thread; the machine's own address still moves, and nobody
 * changes them. */
void m0_rpc__rails_stop(struct m0_rpc__machine *m);
void m0_rpc__rails_fini(struct m0_rpc__machine *m);

/** The machine's thread, or under the lock. */
static inline bool m0_rpc__rails_invariant(const struct m0_rpc__rails *rails)
{
	return _0C(rails->rlr_nr <= ARRAY_SIZE(rails->rlr_rail)) &&
	       _0C(ergo(rails->rlr_nr > 0,
			rails->rlr_rail[rails->rlr_nr - 1] != NULL));
}

#endif /* M0_SRC_RPC_RAIL_H */
