/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Links of connections, and what looks after them. Part of rpc_internal.h.
 */
#ifndef M0_SRC_RPC_LINK_H
#define M0_SRC_RPC_LINK_H

/** A way over a link: from one of the machine's addresses, to that of the server
 * with this m0_rpc__at(). */
struct m0_rpc__way {
	struct m0_net_transfer_mc *way_tm;
	uint64_t                   way_at;
};

/** Link of a connection, to one address of its service. */
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
	/** The link is to be removed from its connection. */
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

static inline bool m0_rpc__link_invariant(const struct m0_rpc__link *link)
{
	const struct m0_rpc_link_info *info = &link->lnk_info;

	return _0C(link->lnk_conn != NULL) &&
	       _0C(ergo(info->lki_items_nr == 0, info->lki_bytes == 0)) &&
	       _0C(info->lki_items_nr <= info->lki_put_nr) &&
	       _0C(info->lki_addr[0] != 0) &&
	       _0C((link->lnk_target != NULL) ==
		   m0_list_link_is_in(&link->lnk_target_link));
}

/** The first ones. @retval -ENOMEM  it has what it has. */
int  m0_rpc__links_make(struct m0_rpc__conn        *conn,
			const struct m0_rpc__addrs *addrs);
void m0_rpc__links_free(struct m0_rpc__conn *conn);
/** A new link of the connection, to an address. NULL: no memory. */
struct m0_rpc__link *m0_rpc__link_new(struct m0_rpc__conn *conn,
				      const char          *addr);
/** Frees a link on which nothing is. */
void m0_rpc__link_free(struct m0_rpc__link *link);
/** Gives a link its destination. Pre: it has none. @retval -ENOMEM, -EINVAL */
int m0_rpc__link_connect(struct m0_rpc__link *link);
/** Its destination, from one of the machine's addresses, another one if that was
 * taken; gives it up: nothing must be on it. @retval -ENOMEM, -EINVAL */
int  m0_rpc__link_take(struct m0_rpc__link *link);
void m0_rpc__link_leave(struct m0_rpc__link *link);
/** True: the link is not from an address that was removed. */
bool m0_rpc__link_is_ours(const struct m0_rpc__link *link);
/** Move the link to the address that lnk_from says; its items leave it. */
int m0_rpc__link_turn(struct m0_rpc__link *link);
/** rcx_main has a destination. @retval -ENOMEM, -EINVAL */
int m0_rpc__main_take(struct m0_rpc__conn *conn);
/** Makes a link, which may have no destination, the main one. */
void m0_rpc__main_is(struct m0_rpc__conn *conn, struct m0_rpc__link *link);
/** Make a link that has a destination the main one. */
void m0_rpc__main_set(struct m0_rpc__link *link);
/** The connection was established (again) over its main link: only that is
 * known to be good. */
void m0_rpc__links_up(struct m0_rpc__conn *conn);
/** Chooses the link of an item of a connection: ril_target. */
void m0_rpc__route(struct m0_rpc_item *item);
/** Count the item as outstanding no more. */
static inline void m0_rpc__link_off(struct m0_rpc_item *item)
{
	struct m0_rpc__item     *il = m0_rpc__il(item);
	struct m0_rpc_link_info *info = &il->ril_on->lnk_info;

	--info->lki_items_nr;
	info->lki_bytes -= il->ril_on_bytes;
	il->ril_on = NULL;
}

static inline void m0_rpc__link_left(struct m0_rpc_item *item)
{
	if (m0_rpc__il(item)->ril_on != NULL)
		m0_rpc__link_off(item);
}
/** Puts an item into the formation of the link that is best now. */
void m0_rpc__item_again(struct m0_rpc__machine *m, struct m0_rpc_item *item);
/** The link to this end point; NULL. */
struct m0_rpc__link *m0_rpc__link_of(const struct m0_rpc__conn     *conn,
				     const struct m0_net_end_point *ep);
/** A packet to there could not be sent. */
void m0_rpc__links_failed(struct m0_rpc__target *target, int rc);
/** Takes a link's items off it; puts what was taken off links of the connection
 * on others. */
void m0_rpc__link_clear(struct m0_rpc__link *link);
void m0_rpc__link_refill(struct m0_rpc__conn *conn);
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

/* ----------------------------------------------------------- rpc_probe.c -- */

/** Looks after the links not later than this. */
void m0_rpc__links_watch(struct m0_rpc__conn *conn, m0_time_t at);
void m0_rpc__links_tick(struct m0_rpc__pause *pause);
/** No ping or probe of it is under way any more. */
void m0_rpc__probe_end(struct m0_rpc__link *link);
/** The machine is to stop: nothing is probed any more. */
void m0_rpc__probes_end(struct m0_rpc__machine *m);

#endif /* M0_SRC_RPC_LINK_H */
