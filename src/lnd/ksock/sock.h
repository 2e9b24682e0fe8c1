/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Lustre's socket driver, without sockets: who connects to whom and how they
 * introduce themselves, which connection a message takes, when a peer is lost,
 * and for each connection what bytes come next.
 *
 * Pure. Below it is whatever carries streams of bytes (io.h): sockets (room
 * lnd/tcp) or the simulator. That room asks a connection where the next bytes
 * go and says how many have come; asks what shall be written next and says how
 * many have left. It moves them straight between the stream and the
 * application's memory.
 *
 *     in:   m0_sock_in_where  -> bytes are read ->  m0_sock_in_arrived
 *     out:  m0_sock_out_what  -> bytes are written -> m0_sock_out_left
 *
 * All calls on the node's strand.
 */
#ifndef M0_SRC_LND_SOCK_SOCK_H
#define M0_SRC_LND_SOCK_SOCK_H

#include <sys/uio.h>

#include "m0/lnd.h"
#include "lnd/ksock/io.h"

struct m0_sock;
struct m0_sock_conn;

enum {
	/** What m0_sock_in_arrived may have to be moved. */
	M0_SOCK_AGAIN_BYTES_MAX = (64 << 10) + 128
};

/** Who may connect to us. */
enum m0_sock_accept {
	/** Source ports up to 1023. */
	M0_SOCK_ACCEPT_SECURE,
	/** Any. Who he says he is, is believed: a Lustre node would take his
	 * address for his NID, and his port for his pid. */
	M0_SOCK_ACCEPT_ALL,
	/** Nobody: there is no listener. */
	M0_SOCK_ACCEPT_NONE
};

struct m0_sock_cfg {
	uint16_t            soc_port;
	enum m0_sock_accept soc_accept;
	/** Source ports to connect from, tried downwards; 0, 0: any. */
	uint16_t soc_src_port_max;
	uint16_t soc_src_port_min;
	/** Over IPv6, connect also from ports above 1023. */
	bool soc_peers_colibri;
	/** What we say our pid is: 12345. */
	uint32_t soc_pid;
	/**
	 * Connections of each bulk type that we make; 0: only CONTROL. Of those
	 * that a peer makes one CONTROL is accepted, and of each other type 16,
	 * or so many if that is more.
	 */
	unsigned soc_conns_per_peer;
	/** A message of so many bytes, framing included, is bulk: 1024. */
	unsigned soc_min_bulk;
	/**
	 * A connection ends if so long it could send and nothing left, a message
	 * that had begun did not come to its end (it has that time anew for
	 * each 64 KiB), or, within twice the time, what had left was not
	 * acknowledged. Also to connect, HELLO included.
	 */
	m0_time_t soc_timeout_ns;
	/** For an introduction to us, all of it. */
	m0_time_t soc_accept_timeout_ns;
	/** 0: none. */
	m0_time_t soc_keepalive_ns;
	m0_time_t soc_reconnect_min_ns;
	m0_time_t soc_reconnect_max_ns;
	/** Bounds: connections in all (one address may make a quarter of them,
	 * and always 64; so many may be being made for answers), those that have
	 * not introduced themselves, acknowledgements owed to one peer, peers
	 * that were not reached and are remembered for that. */
	unsigned soc_conns_max; /**< And si_streams_max. */
	unsigned soc_accepting_max;
	unsigned soc_acks_max;
	unsigned soc_failed_max;
	/** V2 only. */
	bool soc_csum;
};

/** Defaults of Lustre 2.17 and our own bounds. */
void m0_sock_cfg_default(struct m0_sock_cfg *cfg);

/**
 * Makes a driver over `io`, which m0_sock_fini ends, too.
 * @param seed  of the jitter of its back-off.
 */
int m0_sock_create(struct m0_lnd **ret, const struct m0_sock_cfg *cfg,
		   struct m0_sock_io *io, uint64_t seed, m0_time_t now);

/* -- from the room below --------------------------------------------------- */

/**
 * Somebody has connected to a listener of ours.
 * @param stream  the room's: sck_stream of the connection.
 * @return NULL: not wanted (bounds, source port); the room ends it in order.
 */
struct m0_sock_conn *m0_sock_accepted(struct m0_sock            *sock,
				      struct m0_sock_listener   *listener,
				      const struct m0_sock_addr *local,
				      const struct m0_sock_addr *remote,
				      void                      *stream);
/** sio_dial has succeeded. */
void m0_sock_dialled(struct m0_sock_conn       *conn,
		     const struct m0_sock_addr *local);
/**
 * The stream has ended: status 0 by the peer between bytes, else a negative
 * errno; also a dial that failed. The connection is gone: sio_hangup is not
 * called for it.
 */
void m0_sock_broken(struct m0_sock_conn *conn, int status);

/**
 * Where the next bytes of the peer go.
 * @param iov        room for `max` (at least 1) segments.
 * @param ret_ahead  how many bytes more may be read along with them, to be
 *                   given to m0_sock_in_bytes.
 * @return segments set; 0: read nothing now, sio_in will be called.
 */
unsigned m0_sock_in_where(struct m0_sock_conn *conn, struct iovec *iov,
			  unsigned max, size_t *ret_ahead);
/**
 * `nr` bytes are where m0_sock_in_where said, and nothing else has been done
 * since.
 * @retval >0  all of them, `nr`, at most M0_SOCK_AGAIN_BYTES_MAX, were in the
 *             wrong place: copy them away, then give them to m0_sock_in_bytes.
 * @retval <0  the connection was ended (hung up): forget it.
 */
int m0_sock_in_arrived(struct m0_sock_conn *conn, size_t nr);
/**
 * The same for bytes that are elsewhere: they are copied.
 * @return bytes taken, fewer if the connection must pause: give the rest again
 *         before anything else is read.
 * @retval <0  as above.
 */
ssize_t m0_sock_in_bytes(struct m0_sock_conn *conn, const void *bytes,
			 size_t nr);

/**
 * What shall be written next: as many messages as fit.
 * @return segments set; 0: nothing.
 */
unsigned m0_sock_out_what(struct m0_sock_conn *conn, struct iovec *iov,
			  unsigned max);
/** `nr` bytes of it have been taken by the stream. @retval <0  as above. */
int m0_sock_out_left(struct m0_sock_conn *conn, size_t nr);

/** For the room below and for tests. */
void *m0_sock_conn_stream(const struct m0_sock_conn *conn);
bool  m0_sock_conn_is_bulk(const struct m0_sock_conn *conn);
/** A clock reading for the calls above: the pass's. */
void m0_sock_now_set(struct m0_sock *sock, m0_time_t now);
/** Counts of system calls, by the room below. */
void m0_sock_calls_count(struct m0_sock_conn *conn, unsigned reads,
			 unsigned writes);

struct m0_sock *m0_sock_of_lnd(struct m0_lnd *lnd);

#endif /* M0_SRC_LND_SOCK_SOCK_H */
