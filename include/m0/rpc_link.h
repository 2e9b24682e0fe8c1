/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Links: several network addresses of one service (seed 002, "Trunking").
 * Included by m0/rpc.h, whose opening comment applies.
 *
 * The map of a machine says at which addresses a service is: all of one server.
 * A connection has a *link* to each of them, and its sessions run over all that
 * are up: a request goes over the link with the fewest bytes outstanding, those
 * of a stream that wait together over the same one. Streams are executed in
 * their order whatever the links do, and exactly once: what is sent again over
 * another link is answered from the server's cache. Replies go back to where
 * their request came from.
 *
 * A link *dies* when a send over it ends in an error, or when something is
 * outstanding on it and nothing has been heard for rc_link_idle_ns, in spite of
 * a ping at half of that. What it had goes at once over the others, without
 * waiting for resends. A dead link is probed, with back-off from
 * rc_link_idle_ns to rc_resend_max_ns, and used again when the same server has
 * answered there. With all links dead, items go on being sent over the last,
 * until they expire or a link is up. A connection with one link is not watched.
 *
 * A machine itself may have several addresses, too: m0_rpc_machine_link_add().
 */
/* First, and outside the guard: rpc.h puts its parts in order. */
#include "m0/rpc.h"

#ifndef M0_RPC_LINK_H
#define M0_RPC_LINK_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/** Addresses of a service; of a machine, its first included. */
	M0_RPC_LINKS_MAX = 8,
	M0_RPC_ADDR_MAX = 96
};

/**
 * Binds a service to these addresses, in place of all it had, from now on. What
 * was on its way over one that is no more goes over the others. If all are new
 * the connections are established again there, while their items wait.
 * m0_rpc_machine_map() is this with one. Any thread.
 * @param nr  1 to M0_RPC_LINKS_MAX; one that is there twice counts once.
 * @retval -EINVAL  one is not an address of the transport, or nr is out of
 *                  bounds; nothing has changed.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_rpc_machine_map_links(struct m0_rpc_machine *machine,
				       struct m0_uint128      service,
				       const char *const *addrs, uint32_t nr);
/**
 * Adds an address to a service, which may be new.
 * @retval -EEXIST  it is there. @retval -ENOSPC  M0_RPC_LINKS_MAX are.
 * @retval -EINVAL, -ENOMEM  as above.
 */
M0_EXTERN int m0_rpc_machine_map_add(struct m0_rpc_machine *machine,
				     struct m0_uint128      service,
				     const char            *addr);
/**
 * Takes an address from a service.
 * @retval -ENOENT  it has none such. @retval -EBUSY  it is the last one.
 */
M0_EXTERN int m0_rpc_machine_map_del(struct m0_rpc_machine *machine,
				     struct m0_uint128      service,
				     const char            *addr);

/**
 * Gives a machine one more address, of the same domain: it serves and asks
 * there as at its first, on the same thread; with clients that reach it at
 * several it takes each for the one it is. Its own links are spread over its
 * addresses; one that finds no answer tries the next. Bytes of further
 * addresses are moved by a thread of the library also if the machine is inline;
 * m0_rpc_machine_progress() and _fd() cover them. If the pool of receive buffers
 * is the machine's own it grows by twice the length of the queue. Blocks; any
 * time between init and stop, which waits for it; not from a callback.
 * @param ep_addr  as m0_rpc_machine_init().
 * @retval -ENOSPC  M0_RPC_LINKS_MAX are there. @retval -ESHUTDOWN
 * @retval <0       as m0_rpc_machine_init(); nothing has changed.
 */
M0_EXTERN int m0_rpc_machine_link_add(struct m0_rpc_machine *machine,
				      const char            *ep_addr);
/**
 * Takes one that was added. Peers see that link die. Blocks, as above. Its
 * buffers are given back, those that items hold when the next one is taken. What
 * stays until the machine is finalised is its transfer machine, stopped, to which
 * items and end points may refer: a few KiB.
 * @param ep_addr  as m0_rpc_machine_link_addr() says it.
 * @retval -ENOENT  none such, or the machine's first. @retval -ESHUTDOWN
 */
M0_EXTERN int m0_rpc_machine_link_del(struct m0_rpc_machine *machine,
				      const char            *ep_addr);
/** Address `i` of the machine, into M0_RPC_ADDR_MAX bytes; 0: its first.
 * @retval -ENOENT  there are not so many. */
M0_EXTERN int m0_rpc_machine_link_addr(struct m0_rpc_machine *machine,
				       uint32_t i, char *ret_addr);

enum m0_rpc_link_state {
	/** Not answered there yet, or not any more; it is probed. */
	M0_RPC_LINK_DOWN = 0,
	M0_RPC_LINK_UP
};

/** A link of a connection. */
struct m0_rpc_link_info {
	char     lki_addr[M0_RPC_ADDR_MAX];
	uint32_t lki_state;
	/** Requests that are outstanding on it, and their bytes. */
	uint32_t    lki_items_nr;
	m0_bcount_t lki_bytes;
	/** Since it is there: requests that were put on it, with their bytes;
	 * of these those that had been sent before; those that left it for
	 * another. How often it died. */
	uint64_t lki_put_nr;
	uint64_t lki_put_bytes;
	uint64_t lki_resent_nr;
	uint64_t lki_moved_nr;
	uint64_t lki_deaths_nr;
	/** When something was heard there last; 0: never. */
	m0_time_t lki_heard;
};

/**
 * The links of a connection. Any thread; not before init.
 * @param ret  of `max`.
 * @return     how many it has, which may be more than `max`.
 */
M0_EXTERN uint32_t m0_rpc_conn_links(struct m0_rpc_conn      *conn,
				     struct m0_rpc_link_info *ret,
				     uint32_t                 max);

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_LINK_H */
