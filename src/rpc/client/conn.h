/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Connections of a machine as a client, the addresses of services and the links
 * to them, and the machine's own further addresses. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_CONN_H
#define M0_SRC_RPC_CONN_H

/* ----------------------------------------------------------------- map.c -- */

/** Addresses of a service. */
struct m0_rpc__addrs {
	uint32_t rad_nr;
	char     rad_text[M0_RPC_LINKS_MAX][M0_RPC_ADDR_MAX];
};

/** An entry of the map of services. */
struct m0_rpc__place {
	struct m0_list_link  rpl_link;
	struct m0_uint128    rpl_service;
	struct m0_rpc__addrs rpl_addrs;
};

/** As a connection is given them: `addr`, or (NULL) as the map has it.
 * @retval -EINVAL, -ENOENT */
int  m0_rpc__addrs_find(struct m0_rpc__machine *m, struct m0_uint128 service,
			const char *addr, struct m0_rpc__addrs *ret);
bool m0_rpc__addrs_have(const struct m0_rpc__addrs *addrs, const char *addr);
void m0_rpc__places_fini(struct m0_rpc__machine *m);

/* ------------------------------------------------------------ rpc_conn.c -- */

/** A way over a link: from one of the machine's addresses, to that of the server
 * with this m0_rpc__at(). */
struct m0_rpc__way {
	struct m0_net_transfer_mc *way_tm;
	uint64_t                   way_at;
};

struct m0_rpc__conn {
	struct m0_rpc_conn     *rcx_conn;
	struct m0_rpc__machine *rcx_machine;
	struct m0_list_link     rcx_link;
	/** By lnk_link; never empty but at its end. */
	struct m0_list rcx_links;
	uint32_t       rcx_links_nr;
	/** Of all links ever: spreads them over the machine's addresses. */
	uint32_t rcx_links_seq;
	/** Over which handshakes go; up, if any is. Its destination; NULL:
	 * nothing was asked yet. */
	struct m0_rpc__link   *rcx_main;
	struct m0_rpc__target *rcx_target;
	/** The machine's address that it is from. Atomic. */
	struct m0_net_transfer_mc *rcx_tm;
	/** Of all links, the main one first, then those that are up. Under the
	 * lock; how many may be looked at without. */
	struct m0_mutex    rcx_ways_lock;
	uint32_t           rcx_ways_nr;
	struct m0_rpc__way rcx_ways[M0_RPC_LINKS_MAX];
	/** When to look after links again. */
	struct m0_rpc__pause rcx_tick;
	uint64_t             rcx_nr;
	/** By rsx_link. */
	struct m0_list rcx_sessions;
	/** One-way items, by ril_link; posted and not told. Atomic. */
	struct m0_list rcx_items;
	uint32_t       rcx_hold_nr;
	/** By ris_link. */
	struct m0_list rcx_sources;
	/** Packets that the server takes. */
	m0_bcount_t rcx_packet_max;
	/** Has been ACTIVE, and asks again. */
	bool rcx_again;
	/** The handshake that is on its way; NULL. Since when over rcx_main. */
	struct m0_rpc__note *rcx_note;
	m0_time_t            rcx_note_at;
	/** Before it. */
	struct m0_rpc__pause rcx_pause;
	m0_time_t            rcx_expires;
	struct m0_rpc__call  rcx_call;
	/** c_changed. A watch has seen it added. */
	struct m0_rpc__told rcx_told;
	bool                rcx_seen;
};

static inline m0_bcount_t m0_rpc__packet_max(const struct m0_rpc__conn *conn)
{
	return __atomic_load_n(&conn->rcx_packet_max, __ATOMIC_RELAXED);
}

/** The server does not know us (any more): asks again, then for sessions. */
void m0_rpc__conn_again(struct m0_rpc__conn *conn);
/** It will not be: sessions and items end with it. */
void m0_rpc__conn_fail(struct m0_rpc__conn *conn, int rc);
/** The map has changed, and rcx_main is to a place where nothing was asked. */
void m0_rpc__conn_retarget(struct m0_rpc__conn *conn);
/** Its one-way items. */
void m0_rpc__conn_end_items(struct m0_rpc__conn *conn, int rc);
/** One of them is final. */
void m0_rpc__conn_release(struct m0_rpc__conn *conn);
/** Whoever is at this end point does not speak our version. */
void m0_rpc__conns_refused(struct m0_rpc__machine  *m,
			   struct m0_net_end_point *ep);
void m0_rpc__conn_state_set(struct m0_rpc__conn   *conn,
			    enum m0_rpc_conn_state state);
/** The body of a request to establish it. */
uint32_t m0_rpc__conn_est(const struct m0_rpc__conn *conn, void *body);

/* ---------------------------------------------------------------- link.c -- */

/** Of a connection, to one address of its service. */
struct m0_rpc__link {
	struct m0_rpc__conn *lnk_conn;
	struct m0_list_link  lnk_link;
	/** NULL: nothing was asked there yet. */
	struct m0_rpc__target *lnk_target;
	struct m0_list_link    lnk_target_link;
	/** Which of the machine's addresses it is from, modulo their number. */
	uint32_t lnk_from;
	/** A send has failed: the next tick looks at it. */
	bool lnk_failed;
	/** To be taken from the connection. */
	bool lnk_goes;
	/** Something is outstanding since. */
	m0_time_t lnk_since;
	m0_time_t lnk_up_at;
	m0_time_t lnk_failed_at;
	/** When to probe it next, and how long to wait after that. */
	m0_time_t lnk_probe_at;
	m0_time_t lnk_wait_ns;
	/** Its ping or probe; NULL. */
	struct m0_rpc__note    *lnk_note;
	struct m0_rpc_link_info lnk_info;
};

static inline bool m0_rpc__link_is_up(const struct m0_rpc__link *link)
{
	return link->lnk_info.lki_state == M0_RPC_LINK_UP;
}

/** The first ones. @retval -ENOMEM  it has what it has. */
int  m0_rpc__links_make(struct m0_rpc__conn        *conn,
			const struct m0_rpc__addrs *addrs);
void m0_rpc__links_free(struct m0_rpc__conn *conn);
/** The service is there now. */
void m0_rpc__links_change(struct m0_rpc__conn        *conn,
			  const struct m0_rpc__addrs *addrs);
/** Its destination, from one of the machine's addresses, another one if that was
 * taken; gives it up: nothing must be on it. @retval -ENOMEM, -EINVAL */
int  m0_rpc__link_take(struct m0_rpc__link *link);
void m0_rpc__link_leave(struct m0_rpc__link *link);
/** It is not from an address that was taken. */
bool m0_rpc__link_is_ours(const struct m0_rpc__link *link);
/** It is from where lnk_from says now; what is on it leaves it. */
int m0_rpc__link_turn(struct m0_rpc__link *link);
/** rcx_main has a destination. @retval -ENOMEM, -EINVAL */
int m0_rpc__main_take(struct m0_rpc__conn *conn);
/** It is this one from now on, which has a destination. */
void m0_rpc__main_set(struct m0_rpc__link *link);
/** The connection was established (again) over its main link: only that is
 * known to be good. */
void m0_rpc__links_up(struct m0_rpc__conn *conn);
/** Chooses the link of an item of a connection: ril_target. */
void m0_rpc__route(struct m0_rpc_item *item);
/** It is not outstanding there any more. */
void               m0_rpc__link_off(struct m0_rpc_item *item);
static inline void m0_rpc__link_left(struct m0_rpc_item *item);
/** The link to this end point; NULL. */
struct m0_rpc__link *m0_rpc__link_of(const struct m0_rpc__conn     *conn,
				     const struct m0_net_end_point *ep);
/** A packet to there could not be sent. */
void m0_rpc__links_failed(struct m0_rpc__target *target, int rc);
/** Takes a link's items off it, and puts them on others, or it again. */
void m0_rpc__link_empty(struct m0_rpc__link *link);
/** From there nothing leaves any more: those links die, and find others; one that
 * is alone goes on from another of the machine's addresses. */
void m0_rpc__links_from(struct m0_rpc__machine          *m,
			const struct m0_net_transfer_mc *tm);
/** The links have changed: rcx_ways. */
void m0_rpc__ways_note(struct m0_rpc__conn *conn);
/** At most `max` of them, the first is m0_rpc__conn_tm(); any thread.
 * @return how many, not 0. */
uint32_t m0_rpc__conn_ways(const struct m0_rpc_conn *conn,
			   struct m0_rpc__way *ret, uint32_t max);
/** Limits of its formation: by the connections that go there. */
void m0_rpc__target_limits(struct m0_rpc__target *target);

/* ----------------------------------------------------------- rpc_probe.c -- */

/** Looks after the links not later than this. */
void m0_rpc__links_watch(struct m0_rpc__conn *conn, m0_time_t at);
void m0_rpc__links_tick(struct m0_rpc__pause *pause);
/** No ping or probe of it is under way any more. */
void m0_rpc__probe_end(struct m0_rpc__link *link);
/** The machine is to stop: nothing is probed any more. */
void m0_rpc__probes_end(struct m0_rpc__machine *m);

/* ---------------------------------------------------------------- rail.c -- */

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
	/** It was. Atomic. */
	uint32_t rrl_pends;
	/** In rml_rails_stopping, rml_rails_gone. */
	struct m0_list_link rrl_link;
};

/** The `i`-th modulo their number. */
struct m0_net_transfer_mc *m0_rpc__rail_tm(const struct m0_rpc__machine *m,
					   uint32_t                      i);
/** Is it one of the machine's addresses, and not one that was taken? */
bool m0_rpc__rail_is(const struct m0_rpc__machine    *m,
		     const struct m0_net_transfer_mc *tm);
/** By which a connection speaks, a request came. Any thread; they may be those
 * of a moment ago, and are there as long as the machine. */
struct m0_net_transfer_mc *m0_rpc__conn_tm(const struct m0_rpc_conn *conn);
struct m0_net_transfer_mc *m0_rpc__request_tm(
	const struct m0_rpc_item *request);
/** A number for an address, by which both sides know it; not 0. */
uint64_t m0_rpc__at(const char *addr);
/** The machine's address of this number; NULL: none is. Any thread. */
struct m0_net_transfer_mc *m0_rpc__at_find(struct m0_rpc__machine *m,
					   uint64_t                at);
/** Whose transfer machine it is. */
struct m0_rpc__machine *m0_rpc__machine_of(struct m0_net_transfer_mc *tm);
/** Delivers what has come there. */
void m0_rpc__rails_deliver(struct m0_rpc__machine *m);
/** Somebody adds one or takes one; who waits is told when nobody does. Any
 * thread. */
bool m0_rpc__rails_are_changed(const struct m0_rpc__machine *m);
/** An application's thread; the machine's own address still moves, and nobody
 * changes them. */
void m0_rpc__rails_stop(struct m0_rpc__machine *m);
void m0_rpc__rails_fini(struct m0_rpc__machine *m);

static inline void m0_rpc__link_left(struct m0_rpc_item *item)
{
	if (m0_rpc__il(item)->ril_on != NULL)
		m0_rpc__link_off(item);
}

#endif /* M0_SRC_RPC_CONN_H */
