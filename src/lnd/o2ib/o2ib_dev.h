/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The contract between the pure half of the driver for net o2ib and a provider of
 * RDMA below it: verbs, or the simulator.
 *
 *     port    an IPv4 address of ours: its device, its listener, its state
 *     QP      a reliable connection, made by the connection manager
 *     rbuf    a receive buffer, the provider's, with a message that came in
 *     map     keys for the memory of one transfer
 *
 * The life of a QP, "U" for calls up and "D" for calls down:
 *
 *     D odo_connect ---.   .-- U odu_refused, odu_failed -------------.
 *                       >--+                                           > D odo_destroy
 *     U odu_request    /   '-- U odu_up -- messages -- D odo_break ----'
 *       D odo_accept -'                                or U odu_broken,
 *                                                      then U odu_over
 *
 * Each QP that odo_connect or odo_accept made ends by exactly one of odu_refused,
 * odu_failed and odu_over; then the user calls odo_destroy, from that call up or
 * later. Only odo_destroy frees a QP. The user may call odo_break at any time,
 * also before odu_up: odu_over follows then, and nothing else does. No call up
 * about a QP is made after the call that ended it.
 *
 * A QP of odo_accept that never gets up (no RTU of the peer) ends by odu_broken
 * and odu_over, or by odo_break of the user, which has a time-out for it.
 *
 * odu_over is the proof that the hardware is done with our memory: the QP is in
 * its error state (or does not exist any more) and all completions have been
 * taken from the CQ. From then on no peer writes through this QP, and nothing
 * that was posted is read. It comes in bounded time, whatever the peer does.
 *
 * Threads: all calls are on the node's strand. A provider is a source of the
 * reactor: it calls up from passes and flushes of the reactor only, never from a
 * call down, and sets rtr_called when it has called up. Calls up may call down.
 * Passes are bounded: at most M0_O2IB_EVENTS_MAX completions and connection
 * events each; the rest is ready at the next pass.
 *
 * Ownership: each structure says who embeds it. A provider does not keep pointers
 * to arguments, except where it says so, and copies lists of work requests before
 * it returns. Nothing is allocated on the data path once a QP is up.
 */
#ifndef M0_SRC_LND_O2IB_DEV_H
#define M0_SRC_LND_O2IB_DEV_H

#include "m0/lnd.h"
#include "base/exports.h"
#include "reactor/host_ops.h"
#include "reactor/reactor.h"

struct m0_o2ib_dev;
struct m0_o2ib_qp;
struct m0_o2ib_request;

enum {
	M0_O2IB_PORT = 987,
	/** Private data of connection requests, acceptances and rejections. A
	 * provider pads what arrives to what the network has, or does not. */
	M0_O2IB_PRIVATE_BYTES_MAX = 56,
	/** Every receive buffer has so many bytes. */
	M0_O2IB_RBUF_BYTES = 4096,
	/** Most completions, and most connection events, of a pass. */
	M0_O2IB_EVENTS_MAX = 256,
	/** Most work requests of one odo_post. */
	M0_O2IB_CHAIN_MAX = 64,
	/** Most segments of one map. */
	M0_O2IB_MAP_SEGS_MAX = 256
};

/* -- ports ------------------------------------------------------------------- */

/** An address of ours. The user's, which sets the first part before odo_port_open;
 * the provider sets the rest. Valid until odo_port_close returns. */
struct m0_o2ib_port {
	/** IPv4, and the service: the port to listen at. */
	struct m0_host_addr ort_addr;
	/** Accept requests. Without it a port only connects. */
	bool  ort_listens;
	void *ort_user;

	/** The device works and its port is active; changes by odu_port. */
	bool ort_is_up;
	/** The device was removed: it does not come back; close the port. Its QPs
	 * have ended or will, each by the usual call. */
	bool ort_is_gone;
	/** Limits of the device: deepest queue for which a QP can be made with
	 * the wishes of m0_o2ib_qp_cfg, scatter/gather entries of a work request,
	 * bytes that can be sent inline (may be 0). */
	uint16_t ort_depth_max;
	uint16_t ort_sges_max;
	uint16_t ort_inline_max;
	/** Name of the RDMA device, "" if unknown. */
	char  ort_device[32];
	void *ort_priv;
};

/* -- memory ------------------------------------------------------------------ */

/** A region that is registered for long: of the application, or of the user. The
 * user's; the provider keeps a pointer until odo_mem_del. */
struct m0_o2ib_mem {
	void  *ome_addr;
	size_t ome_bytes;
	/** Set by the user: no new map is of it, though it is still registered. */
	bool  ome_is_left;
	void *ome_priv;
};

/** Memory of a transfer: address, length, and its key for reading or writing by
 * our own device, which odo_map sets. */
struct m0_o2ib_seg {
	void    *osg_addr;
	uint32_t osg_bytes;
	uint32_t osg_lkey;
};

enum m0_o2ib_map_kind {
	/** Our device reads it: source of messages and writes. Segments may be of
	 * several registrations. */
	M0_O2IB_MAP_SOURCE,
	/** A peer writes it: all segments are of one registration, because a
	 * descriptor has one key. */
	M0_O2IB_MAP_SINK
};

/** Keys of one transfer. The user's, valid from odo_map to odo_unmap. */
struct m0_o2ib_map {
	/** For the peer (SINK). A remote address is the local address plus
	 * omp_shift, modulo 2^64. */
	uint32_t omp_rkey;
	uint64_t omp_shift;
	void    *omp_priv[2];
};

/* -- QPs --------------------------------------------------------------------- */

/** How a QP is to be made. */
struct m0_o2ib_qp_cfg {
	/** Receives to post before the connection is set up; as many are posted
	 * at any time, but for those that the user has not given back. */
	uint16_t oqc_recvs_nr;
	/** Work requests that may be posted at once, all unsignalled ones counted
	 * until a later one has completed. The user keeps to it. */
	uint16_t oqc_sends_nr;
	/** Retries: when the peer does not acknowledge, and what the peer is told
	 * for the case that we have no receive posted. 0 .. 7; 7 of the latter
	 * means for ever. */
	uint8_t oqc_retry_nr;
	uint8_t oqc_rnr_retry_nr;
	/** IBV_QP_MIN_RNR_TIMER to set after the connection is up; 12: 0.64 ms. */
	uint8_t oqc_rnr_timer;
	/** Exponent of the local ACK time-out; 0: leave it to the system. */
	uint8_t oqc_ack_timeout;
	/** Type of service; -1: leave it to the system. */
	int16_t oqc_tos;
	/** For resolving address and route, each. */
	uint32_t oqc_resolve_ms;
};

/** A connection. The provider embeds it in its own object. */
struct m0_o2ib_qp {
	/** The user's object, an argument of calls up. */
	void                *oqp_user;
	struct m0_o2ib_port *oqp_port;
	/** Set by the provider before odo_accept returns, and before odu_up of
	 * an odo_connect: what the QP really has. Not below the wishes, but for
	 * the limits of the port. */
	uint16_t oqp_sends_nr;
	uint16_t oqp_sges_max;
	uint16_t oqp_inline_max;
};

/** A message that came in. The provider's; the user has it from odu_received to
 * odo_repost, or to odo_destroy. */
struct m0_o2ib_rbuf {
	const uint8_t *orb_bytes;
	/** At most M0_O2IB_RBUF_BYTES. */
	uint32_t orb_nr;
	/** For queues of the user. */
	struct m0_list_link orb_link;
};

enum m0_o2ib_op {
	/** The segments, gathered, are one message. */
	M0_O2IB_OP_SEND,
	/** The segments, gathered, are written to [owr_raddr, + their bytes). */
	M0_O2IB_OP_WRITE
};

/** A work request. */
struct m0_o2ib_wr {
	enum m0_o2ib_op owr_op;
	/** Its completion is reported by odu_sent. Requests complete in order, so
	 * one that is reported stands for all before it. */
	bool owr_is_signalled;
	/** Copy the segments now: their memory is free when odo_post returns, and
	 * their keys are not looked at. Only if their bytes are at most
	 * oqp_inline_max. */
	bool owr_is_inline;
	/** At most oqp_sges_max; at least 1 byte in all. */
	uint16_t                  owr_segs_nr;
	const struct m0_o2ib_seg *owr_segs;
	/** For odu_sent. */
	uint64_t owr_id;
	/** M0_O2IB_OP_WRITE. */
	uint64_t owr_raddr;
	uint32_t owr_rkey;
};

/* -- calls up ---------------------------------------------------------------- */

/** Calls from the provider to the user. */
struct m0_o2ib_dev_up {
	/**
	 * A peer asks for a connection. The user calls odo_accept or odo_reject
	 * before it returns; a provider whose user calls neither rejects without
	 * private data.
	 * @param from   the peer's address and source port, as the CM has them.
	 * @param bytes  private data; valid during the call. `nr` is at most
	 *               M0_O2IB_PRIVATE_BYTES_MAX and may include padding.
	 */
	void (*odu_request)(struct m0_o2ib_port       *port,
			    struct m0_o2ib_request    *request,
			    const struct m0_host_addr *from, const void *bytes,
			    size_t nr);
	/**
	 * The connection is up: messages can be sent.
	 * @param bytes  private data of the acceptance, as above; none (nr 0) at
	 *               the side that accepted.
	 */
	void (*odu_up)(void *user, const void *bytes, size_t nr);
	/** The peer has rejected it with private data (IBTA reason 28). Ends the
	 * QP. */
	void (*odu_refused)(void *user, const void *bytes, size_t nr);
	/**
	 * There is no connection for another reason. Ends the QP.
	 * @param status  -EHOSTUNREACH  no address, no route, nobody answers, or
	 *                nobody listens there (IBTA reason 8); -ETIMEDOUT;
	 *                -ESTALE  stale connection (10): ask again;
	 *                -ECONNREFUSED  another rejection; -ENODEV; -ENOMEM.
	 */
	void (*odu_failed)(void *user, int status);
	/**
	 * A message has arrived. May come before odu_up: the user queues it. The
	 * user gives the buffer back by odo_repost.
	 */
	void (*odu_received)(void *user, struct m0_o2ib_rbuf *rbuf);
	/**
	 * A work request, and all before it, have completed. For one that failed,
	 * odu_broken follows, and no more odu_sent.
	 * @param status  0: the peer's device has acknowledged it.
	 *                -ETIMEDOUT  retries exhausted; -ENOBUFS  the peer has
	 *                posted no receive (RNR retries exhausted); -EREMOTEIO
	 *                the peer's device refused access; -EIO  another.
	 *                Flushed requests are not reported.
	 */
	void (*odu_sent)(void *user, uint64_t id, int status);
	/**
	 * The connection has ended: the peer has disconnected (0), or it failed
	 * (as above; -ENODEV  the device was removed). At most once; the provider
	 * flushes by itself, and odu_over follows. Messages that arrived before
	 * are reported before.
	 */
	void (*odu_broken)(void *user, int status);
	/** Nothing touches our memory through this QP any more. Ends the QP. */
	void (*odu_over)(void *user);
	/** ort_is_up or ort_is_gone has changed. */
	void (*odu_port)(struct m0_o2ib_port *port);
};

/* -- calls down -------------------------------------------------------------- */

/** Calls from the user to the provider. */
struct m0_o2ib_dev_ops {
	/** Frees the provider. Pre: no ports, QPs or memory. */
	void (*odo_fini)(struct m0_o2ib_dev *dev);
	/**
	 * Finds the device of an address, and listens if asked to.
	 * @param why  buffer of M0_LND_WHY_BYTES: on failure, what is wrong and
	 *             how to correct it: no device, no permission, memlock limit
	 *             with the value needed, port not bindable, no IPv4, no GID.
	 */
	int (*odo_port_open)(struct m0_o2ib_dev *dev, struct m0_o2ib_port *port,
			     char *why);
	/** Pre: it has no QPs and no maps. Requests that nobody has seen are
	 * rejected. */
	void (*odo_port_close)(struct m0_o2ib_dev  *dev,
			       struct m0_o2ib_port *port);
	/** No more requests: stops listening, keeps the rest. Idempotent. */
	void (*odo_port_deaf)(struct m0_o2ib_dev  *dev,
			      struct m0_o2ib_port *port);

	/**
	 * Registers memory with all devices, also of ports that are opened later,
	 * for reading and writing by peers and us. @retval <0  it is not
	 * registered; maps of it may fail, too.
	 */
	int (*odo_mem_add)(struct m0_o2ib_dev *dev, struct m0_o2ib_mem *mem);
	/** Keys of maps that are of it are of no use any more: an access by them is refused,
	 * and ends its connection. */
	void (*odo_mem_del)(struct m0_o2ib_dev *dev, struct m0_o2ib_mem *mem);
	/**
	 * Gets keys for the memory of a transfer: those of regions (of several that
	 * have it, the smallest, which is the user's own; a sink's segments are all
	 * of one), or of a registration that the provider makes for this map alone: it is not used
	 * for other memory that is at the same addresses later.
	 * @param segs  1 .. M0_O2IB_MAP_SEGS_MAX, none empty.
	 * @retval -EXDEV   SINK: not of one registration; @retval -EFAULT,
	 *         -ENOMEM  not registered, and it cannot be: the user copies
	 *                  through memory of its own in all three cases.
	 */
	int (*odo_map)(struct m0_o2ib_port *port, struct m0_o2ib_seg *segs,
		       unsigned nr, enum m0_o2ib_map_kind kind,
		       struct m0_o2ib_map *ret);
	/** The transfer is over: it was done with (odu_sent, DONE of the peer),
	 * never offered, or the QP is over. */
	void (*odo_unmap)(struct m0_o2ib_port *port, struct m0_o2ib_map *map);

	/**
	 * Connects from the address of `port`: resolves, makes the QP, posts its
	 * receives, asks.
	 * @param to        address and service of the peer.
	 * @param bytes     private data, copied.
	 * @param src_port  highest source port to try, downwards to 1; 0: any.
	 * @retval <0  no QP, and no call up follows.
	 */
	int (*odo_connect)(struct m0_o2ib_port *port, void *user,
			   const struct m0_host_addr *to, uint16_t src_port,
			   const struct m0_o2ib_qp_cfg *cfg, const void *bytes,
			   size_t nr, struct m0_o2ib_qp **ret);
	/**
	 * Accepts a request: makes the QP, posts its receives, answers.
	 * @param bytes  private data, copied.
	 * @retval <0  there is no QP, and the request still wants an answer.
	 */
	int (*odo_accept)(struct m0_o2ib_request *request, void *user,
			  const struct m0_o2ib_qp_cfg *cfg, const void *bytes,
			  size_t nr, struct m0_o2ib_qp **ret);
	void (*odo_reject)(struct m0_o2ib_request *request, const void *bytes,
			   size_t nr);
	/**
	 * Disconnects, moves the QP to its error state and flushes it: odu_over
	 * follows, and no other call up about it. Idempotent, also after
	 * odu_broken. A connection that is being made is dropped (kernels of old
	 * dislike a disconnect then).
	 */
	void (*odo_break)(struct m0_o2ib_qp *qp);
	/** Frees the QP, with the receive buffers that the user still has.
	 * Pre: it has ended. */
	void (*odo_destroy)(struct m0_o2ib_qp *qp);

	/**
	 * Posts a chain of work requests, with one doorbell, after all buffers
	 * that were given back.
	 * @param nr  1 .. M0_O2IB_CHAIN_MAX.
	 * @retval <0  none of them was posted; the QP is broken, and odu_broken
	 *             follows.
	 */
	int (*odo_post)(struct m0_o2ib_qp *qp, const struct m0_o2ib_wr *wrs,
			unsigned nr);
	/** Gives a receive buffer back. It is posted before anything that is sent
	 * later, and at the next flush of the reactor at the latest. Allowed until
	 * odo_destroy. */
	void (*odo_repost)(struct m0_o2ib_qp *qp, struct m0_o2ib_rbuf *rbuf);
};

/** Counters of a provider. */
struct m0_o2ib_dev_counts {
	uint64_t odc_sends_nr;
	uint64_t odc_writes_nr;
	uint64_t odc_write_bytes;
	/** Posts of chains, of sends and of receives. */
	uint64_t odc_send_bells_nr;
	uint64_t odc_recv_bells_nr;
	uint64_t odc_recvs_nr;
	/** Completions of sends that were taken. */
	uint64_t odc_signalled_nr;
	/** Registrations that were made for a map. */
	uint64_t odc_regs_nr;
	/** System calls for data: arming and sleeping. */
	uint64_t odc_calls_nr;
};

/** Embedded in the provider's object. */
struct m0_o2ib_dev {
	const struct m0_o2ib_dev_ops *odv_ops;
	struct m0_reactor            *odv_reactor;
	/** Set by the user, before it opens a port. */
	const struct m0_o2ib_dev_up *odv_up;
	void                        *odv_owner;
	struct m0_o2ib_dev_counts    odv_counts;
};

/* -- where providers come from ------------------------------------------------ */

/** Wishes of a node. */
struct m0_o2ib_dev_cfg {
	/** How long to poll before going to sleep. */
	m0_time_t odg_spin_ns;
	/** Most QPs. */
	unsigned odg_qps_max;
};

struct m0_o2ib_provider {
	const char *opr_name;
	/**
	 * Makes a provider that is a source of `reactor`.
	 * @param why  buffer of M0_LND_WHY_BYTES: on failure, what is wrong and
	 *             how to correct it.
	 */
	int (*opr_create)(struct m0_o2ib_dev **ret, struct m0_reactor *reactor,
			  const struct m0_o2ib_dev_cfg *cfg, char *why);
};

/** Sets the provider of nodes that open from now on: verbs at start, the simulator
 * while it runs. NULL: there is none. One thread at a time. */
M0_SHARED void m0_o2ib_provider_set(const struct m0_o2ib_provider *provider);
const struct m0_o2ib_provider *m0_o2ib_provider_get(void);

#endif /* M0_SRC_LND_O2IB_DEV_H */
