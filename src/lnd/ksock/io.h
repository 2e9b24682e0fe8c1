/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the socket driver asks of the room below it: streams of bytes. The table
 * is filled by room lnd/tcp, and by the simulator.
 */
#ifndef M0_SRC_LND_SOCK_IO_H
#define M0_SRC_LND_SOCK_IO_H

#include "m0/base.h"
#include "m0/lnet_nid.h"

struct m0_sock;
struct m0_sock_conn;
struct m0_strand;

/** An IP address, network order, and a port, ours. */
struct m0_sock_addr {
	uint8_t  sa_bytes_nr; /**< 4 or 16. */
	uint8_t  sa_bytes[16];
	uint16_t sa_port;
};

struct m0_sock_io_cfg {
	/** "" and 0: the system's. */
	char     sic_congestion[16];
	unsigned sic_sndbuf_bytes;
	unsigned sic_rcvbuf_bytes;
};

/** An address at which peers can connect. The driver's; slr_stream the room's. */
struct m0_sock_listener {
	struct m0_sock_addr slr_addr;
	void               *slr_stream;
};

/** Local address of a device. */
struct m0_sock_iface {
	char                sif_name[16];
	struct m0_sock_addr sif_addr;
	bool                sif_is_up;
	bool                sif_is_loopback;
	/** IPv6 link-local: not an address to be known by. */
	bool     sif_is_link_local;
	uint32_t sif_index;
};

struct m0_sock_io_ops;

/** One for each node; embedded in the room's own. */
struct m0_sock_io {
	const struct m0_sock_io_ops *si_ops;
	/** Set by m0_sock_create: whom accepted connections are told. */
	struct m0_sock *si_sock;
	/** As many streams as there may be, of what the system leaves us; 0: any
	 * number. Set by sio_create. */
	unsigned si_streams_max;
	/** Set by who runs the node: the pass follows another one of the same
	 * step, or only sends: it need not look for what has come. */
	bool si_looked;
	/** The driver's: a pass or a flush has called it, or it wants a step
	 * for another reason, since its last one. */
	bool si_called;
};

struct m0_sock_io_ops {
	int (*sio_create)(struct m0_sock_io          **ret,
			  const struct m0_sock_io_cfg *cfg);
	void (*sio_destroy)(struct m0_sock_io *io);
	/**
	 * Lists the local addresses. @return how many there are, at most `max`
	 * are stored; <0.
	 */
	int (*sio_ifaces)(struct m0_sock_iface *ifaces, unsigned max);

	/* For whoever runs the node. */

	/**
	 * Reads what has come, accepts who has come: calls up. Bounded; what it
	 * leaves is ready at the next pass.
	 * @return true if there may be more at once.
	 */
	bool (*sio_pass)(struct m0_sock_io *io, m0_time_t now);
	/** Writes what sio_out has announced. May call up (broken). */
	void (*sio_flush)(struct m0_sock_io *io);
	/**
	 * Blocks until something can be read or written, sio_rouse, or the
	 * deadline. Only by a thread that the node has for itself.
	 */
	void (*sio_sleep)(struct m0_sock_io *io, m0_time_t deadline);
	/** Ends a sio_sleep, or the next; makes sio_fd readable. Any thread. */
	void (*sio_rouse)(struct m0_sock_io *io);
	/** Would sio_pass find something? Cheap; may be wrong by "no". */
	bool (*sio_ready)(struct m0_sock_io *io);
	/** One descriptor for all of it, told of by the first sio_arm. Any
	 * thread, after which it calls sio_rouse. */
	int (*sio_fd)(struct m0_sock_io *io);
	/** After each step from then on: it polls readable for what the step
	 * has left, for what comes, and from the deadline. */
	void (*sio_arm)(struct m0_sock_io *io, m0_time_t deadline);
	/** Whom to wake when something comes (simulator). */
	void (*sio_strand_set)(struct m0_sock_io *io, struct m0_strand *strand);

	/* For the driver. */

	/**
	 * Does the kernel's LNet of this machine have this NID, too? May be
	 * NULL: no.
	 * @param nid  as text.
	 * @param why  room for M0_LND_WHY_BYTES: if so, that, and what helps.
	 */
	bool (*sio_nid_taken)(const char *nid, char *why);
	/**
	 * @param why  room for M0_LND_WHY_BYTES: on failure, what is wrong and
	 *             what can be done: for a port that needs a privilege
	 *             CAP_NET_BIND_SERVICE, the sysctl, what accept=all on
	 *             peers would change; for one taken by the kernel's LNet
	 *             that, and the remedies.
	 */
	int (*sio_listen)(struct m0_sock_io       *io,
			  struct m0_sock_listener *listener, char *why);
	void (*sio_unlisten)(struct m0_sock_io       *io,
			     struct m0_sock_listener *listener);
	/**
	 * Begins to connect from local address `from` and a port of
	 * [port_min, port_max], tried downwards (0, 0: any) to `to`.
	 * m0_sock_dialled or m0_sock_broken follow, from sio_pass.
	 * @param stream  set to the room's.
	 * @param why     as above. @retval <0  nothing follows.
	 */
	int (*sio_dial)(struct m0_sock_io *io, struct m0_sock_conn *conn,
			const struct m0_sock_addr *from, uint16_t port_min,
			uint16_t port_max, const struct m0_sock_addr *to,
			void **stream, char *why);
	/** There is something to write; idempotent. */
	void (*sio_out)(struct m0_sock_io *io, void *stream);
	/** Reading may go on. */
	void (*sio_in)(struct m0_sock_io *io, void *stream);
	/**
	 * Ends and forgets the stream; no more calls up for it. The peer is
	 * sent what was written, and the end of the stream, which it cannot
	 * miss; or with `reset` only a reset, and nothing is kept for it.
	 */
	void (*sio_hangup)(struct m0_sock_io *io, void *stream, bool reset);
	/** Bytes written that the peer has not acknowledged; may be 0. */
	size_t (*sio_unsent)(struct m0_sock_io *io, void *stream);
};

/** The table in use; lnd/tcp sets it at start-up, the simulator replaces it. */
void                         m0_sock_io_set(const struct m0_sock_io_ops *ops);
const struct m0_sock_io_ops *m0_sock_io_get(void);

#endif /* M0_SRC_LND_SOCK_IO_H */
