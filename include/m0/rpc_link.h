/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Links: several network addresses of one service (seed 002, "Trunking").
 * Included by m0/rpc.h, whose opening comment applies.
 *
 * The map of an RPC machine holds the addresses of a service; all of them
 * belong to one server. A connection has a *link* to each of them, and its
 * sessions use all links that are up. A request goes over the link with the
 * fewest bytes outstanding; requests of a stream that wait together go over the
 * same one. The server executes streams in their order, and each request
 * exactly once, whatever happens to the links: it answers a duplicate that
 * comes over another link with the kept reply. A reply goes back over the link
 * by which its request came.
 *
 * A link *dies* when a send over it fails, or when something is outstanding on
 * it and nothing was received on it for rc_link_idle_ns, although the library
 * sent a ping after half of that time. Its requests move at once to the other
 * links, without waiting for resends. The library probes a dead link, with
 * back-off from rc_link_idle_ns to rc_resend_max_ns, and uses it again when the
 * same server has answered there. When all links are dead, the library sends
 * items over the last one, until they expire or a link is up. It does not watch
 * the link of a connection that has only one.
 *
 * An RPC machine may also have several addresses of its own; see
 * m0_rpc_machine_link_add().
 */
/* Include this first, outside the guard: rpc.h includes its parts in order. */
#include "m0/rpc.h"

#ifndef M0_RPC_LINK_H
#define M0_RPC_LINK_H

#ifdef __cplusplus
extern "C" {
#endif

enum {
	/**
	 * Most addresses of a service; of an RPC machine, including its first.
	 */
	M0_RPC_LINKS_MAX = 8,
	M0_RPC_ADDR_MAX = 96
};

/**
 * Binds a service to these addresses from now on, instead of all that it had.
 * Items in progress on an address that is not in the new set move to the
 * others. If all addresses are new, the library establishes the connections
 * again there, while their items wait. m0_rpc_machine_map() does this with one
 * address. Any thread.
 * @param nr  1 to M0_RPC_LINKS_MAX; an address that occurs twice counts once.
 * @retval -EINVAL  one of them is not an address of the transport, or nr is out
 *                  of bounds; nothing has changed.
 * @retval -ENOMEM
 */
M0_EXTERN int m0_rpc_machine_map_links(struct m0_rpc_machine *machine,
				       struct m0_uint128      service,
				       const char *const *addrs, uint32_t nr);
/**
 * Adds an address to a service, which may be new.
 * @retval -EEXIST  the service has this address.
 * @retval -ENOSPC  the service has M0_RPC_LINKS_MAX addresses.
 * @retval -EINVAL, -ENOMEM  as m0_rpc_machine_map_links().
 */
M0_EXTERN int m0_rpc_machine_map_add(struct m0_rpc_machine *machine,
				     struct m0_uint128      service,
				     const char            *addr);
/**
 * Removes an address from a service.
 * @retval -ENOENT  the service does not have this address.
 * @retval -EBUSY   it is the last one.
 */
M0_EXTERN int m0_rpc_machine_map_del(struct m0_rpc_machine *machine,
				     struct m0_uint128      service,
				     const char            *addr);

/**
 * Adds an address of the same domain to an RPC machine, which serves and sends
 * there as at its first one, on the same thread. It recognises a client that
 * reaches it at several addresses as one client. The RPC machine spreads its
 * own links over its addresses; a link that gets no answer tries the next
 * address. A thread of the library moves the bytes of further addresses also if
 * the RPC machine is inline; m0_rpc_machine_progress() and m0_rpc_machine_fd()
 * cover them. If the RPC machine made its own pool of receive buffers, that
 * grows by twice the queue length. Blocks; not from a callback. Any time
 * between init and stop, which waits for it.
 * @param ep_addr  as for m0_rpc_machine_init().
 * @retval -ENOSPC  the RPC machine has M0_RPC_LINKS_MAX addresses.
 * @retval -ESHUTDOWN
 * @retval <0       as m0_rpc_machine_init(); nothing has changed.
 */
M0_EXTERN int m0_rpc_machine_link_add(struct m0_rpc_machine *machine,
				      const char            *ep_addr);
/**
 * Removes an address that was added; for peers that link dies. Blocks; not from
 * a callback. The library returns the buffers of the address; those that items
 * still hold when the next address is removed. The stopped TM, a few KiB,
 * remains until the RPC machine is finalised, as items and end points may refer
 * to it.
 * @param ep_addr  as m0_rpc_machine_link_addr() returns it.
 * @retval -ENOENT  the RPC machine does not have this address, or it is its
 *                  first.
 * @retval -ESHUTDOWN
 */
M0_EXTERN int m0_rpc_machine_link_del(struct m0_rpc_machine *machine,
				      const char            *ep_addr);
/**
 * Copies address `i` of the RPC machine into M0_RPC_ADDR_MAX bytes; 0 is its
 * first.
 * @retval -ENOENT  the RPC machine has no address `i`.
 */
M0_EXTERN int m0_rpc_machine_link_addr(struct m0_rpc_machine *machine,
				       uint32_t i, char *ret_addr);

enum m0_rpc_link_state {
	/** The peer has not answered on the link yet, or does not any more; the
	 * library probes it. */
	M0_RPC_LINK_DOWN = 0,
	M0_RPC_LINK_UP
};

/** A link of a connection. */
struct m0_rpc_link_info {
	char     lki_addr[M0_RPC_ADDR_MAX];
	uint32_t lki_state;
	/** Requests outstanding on the link, and their bytes. */
	uint32_t    lki_items_nr;
	m0_bcount_t lki_bytes;
	/** Counters since the link was created: requests put on it, and their
	 * bytes; those of them that were resends; those that moved to another
	 * link; how often the link died. */
	uint64_t lki_put_nr;
	uint64_t lki_put_bytes;
	uint64_t lki_resent_nr;
	uint64_t lki_moved_nr;
	uint64_t lki_deaths_nr;
	/** When something was received on the link last; 0: never. */
	m0_time_t lki_heard;
};

/**
 * Copies the links of a connection. Any thread; not before init.
 * @param ret  array of `max` entries.
 * @return     number of links, which may be more than `max`.
 */
M0_EXTERN uint32_t m0_rpc_conn_links(struct m0_rpc_conn      *conn,
				     struct m0_rpc_link_info *ret,
				     uint32_t                 max);

#ifdef __cplusplus
}
#endif
#endif /* M0_RPC_LINK_H */
