/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The host of nodes inside the kernel: a reactor over a wait queue, streams over the
 * kernel's sockets, and the addresses of devices.
 *
 * The kernel calls back for a socket in a softirq or in a thread of another user.
 * Such a callback sets bits, puts the socket onto the list of its reactor once, and
 * wakes the node's thread: kern_reactor.c. No other code of the library runs there.
 */
#ifndef M0_SRC_KERN_TCP_KERN_TCP_H
#define M0_SRC_KERN_TCP_KERN_TCP_H

#include <linux/net.h>
#include <linux/socket.h>
#include <linux/spinlock.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <net/sock.h>

#include "m0/lnd.h"
#include "os/os.h"
#include "reactor/host_addr.h"
#include "stream/stream.h"

enum {
	KERN_STAGING_BYTES = 64 << 10,
	KERN_IN_SEGS_MAX = 64,
	KERN_OUT_SEGS_MAX = 256,
	/** Bytes that one stream may move in a pass before others have a turn. */
	KERN_TURN_BYTES = 1 << 20,
	KERN_ACCEPTS_MAX = 16,
	/** Least memory for bytes that wait. */
	KERN_KEPT_BYTES_MIN = 4096,
	KERN_TEXT_BYTES = 48
};

/** Reports of a socket. */
enum kern_event {
	KERN_IN = 1,
	KERN_OUT = 2,
	/** Connected, ended or failed. */
	KERN_STATE = 4
};

struct kern_reactor {
	struct m0_reactor knr_reactor;
	/** The namespace in which its node is. Not counted: the node ends with it. */
	struct net       *knr_net;
	wait_queue_head_t knr_queue;
	uint32_t          knr_roused;
	/** For the list, and the events of the sockets on it. */
	spinlock_t       knr_lock;
	struct list_head knr_told;
};

/** A socket whose callbacks report to a reactor; embedded in its user. */
struct kern_sock {
	struct socket       *kns_sock;
	struct kern_reactor *kns_reactor;
	/** On the node's thread, with bits of enum kern_event. */
	void (*kns_handler)(struct kern_sock *sock, unsigned events);
	unsigned         kns_events;
	struct list_head kns_told;
	/** Callbacks as the kernel has set them. */
	void (*kns_data_ready)(struct sock *sk);
	void (*kns_write_space)(struct sock *sk);
	void (*kns_state_change)(struct sock *sk);
};

struct kern_listener {
	struct kern_sock           knl_sock;
	struct kern_tcp           *knl_tcp;
	struct m0_stream_listener *knl_listener;
	struct m0_list_link        knl_all;
	struct m0_list_link        knl_callers;
};

struct kern_tcp {
	struct m0_streams        knt_streams;
	struct m0_reactor_source knt_source;
	struct m0_streams_cfg    knt_cfg;
	struct kern_reactor     *knt_reactor;
	/** Streams that have something to read, or whose dial may have ended. */
	struct m0_list knt_ready;
	/** Streams whose reading has ended, by knm_ready, until that is reported. */
	struct m0_list knt_ended;
	/** Streams that have something to write and may. */
	struct m0_list knt_out;
	struct m0_list knt_all;
	/** Streams without a user in a namespace that ends, by knm_all: the peer has not
	 * acknowledged the end. */
	struct m0_list knt_last;
	/** Streams whose sockets count for the namespace until they are over, by knm_all,
	 * oldest first; how many, and when they are looked at next. */
	struct m0_list knt_orphans;
	unsigned       knt_orphans_nr;
	m0_time_t      knt_orphans_at;
	struct m0_list knt_listeners;
	/** Listeners with connections to be accepted. */
	struct m0_list knt_callers;
	/** The one that calls are being made up for; NULL once it is gone. */
	struct kern_stream  *knt_current;
	struct m0_host_ports knt_ports;
	/** Nobody is accepted before this: there is no memory. 0: no pause. */
	m0_time_t knt_pause_until;
	m0_time_t knt_now;
	/** The plans of one call, which are too large for a kernel's stack. */
	struct iovec knt_in[KERN_IN_SEGS_MAX + 1];
	struct iovec knt_out_iov[KERN_OUT_SEGS_MAX];
	/** Read ahead; before it, what went to a wrong place. */
	uint8_t knt_staging[M0_STREAM_AGAIN_BYTES_MAX + KERN_STAGING_BYTES];
};

struct kern_stream {
	struct kern_sock    knm_sock;
	struct m0_stream    knm_stream;
	struct kern_tcp    *knm_tcp;
	struct m0_list_link knm_all;
	struct m0_list_link knm_ready;
	struct m0_list_link knm_out;
	/** Not connected yet. */
	bool knm_dials;
	/** The user wants no bytes until sto_in. */
	bool knm_in_paused;
	/** The socket takes no bytes until it says so. */
	bool knm_out_full;
	/** Why writing has failed; what has come is read still. */
	int knm_out_rc;
	/** Why reading has ended, on knt_ended. */
	int knm_in_rc;
	/** Bytes the user has not taken yet: [at, nr) of kept. */
	uint8_t            *knm_kept;
	size_t              knm_kept_at;
	size_t              knm_kept_nr;
	struct m0_host_addr knm_local;
	/** Its socket, released, and how long it may take to be over: on knt_orphans. */
	struct sock *knm_orphan;
	m0_time_t    knm_until;
};

static inline struct kern_tcp *kern_tcp_of(struct m0_streams *streams)
{
	return container_of(streams, struct kern_tcp, knt_streams);
}

static inline struct kern_stream *kern_stream_of(struct m0_stream *stream)
{
	return container_of(stream, struct kern_stream, knm_stream);
}

static inline struct kern_reactor *kern_reactor_of(struct m0_reactor *reactor)
{
	return container_of(reactor, struct kern_reactor, knr_reactor);
}

/** The table of nodes in this kernel. */
extern const struct m0_host_ops kern_host_ops;

/* -- kern_reactor.c ---------------------------------------------------------- */

int kern_reactor_create(struct m0_reactor **ret);
/** Calls the handlers of the sockets that have reported. */
void kern_reactor_take(struct kern_reactor *reactor);
/**
 * The socket reports to the reactor from now on.
 * @param from  the listener that has accepted it; NULL: it was made by us.
 */
void kern_sock_hook(struct kern_sock *sock, const struct kern_sock *from);
/** A socket that listens. */
void kern_sock_hook_listener(struct kern_sock *sock);
/** No callback and no handler runs for it from now on. */
void kern_sock_unhook(struct kern_sock *sock);

/* -- kern_addr.c ------------------------------------------------------------- */

/** The address to which a socket is bound. @retval <0 */
int         kern_addr_bound(struct socket *sock, struct m0_host_addr *ret);
const char *kern_addr_text(const struct m0_host_addr *addr,
			   char                       buf[KERN_TEXT_BYTES]);
int kern_ifaces(struct m0_reactor *reactor, struct m0_host_iface *ifaces,
		unsigned max);

/* -- kern_dial.c -------------------------------------------------------------- */

/** A socket with the options of all streams. @retval <0 */
int kern_socket(const struct kern_tcp *tcp, const struct m0_host_addr *addr,
		struct socket **ret);
/** Ends a socket that is not hooked by a reset. */
void kern_socket_reset(struct socket *sock);
/**
 * Ends a socket that is not hooked in order.
 * @return the socket that is left; it counts for the namespace until it is over, and is given
 *         to kern_orphan_forget() then, or when it has taken too long. NULL: the namespace
 *         ends, and the kernel takes no more care of the socket: call kern_socket_forget()
 *         when the peer has acknowledged the end.
 */
struct sock *kern_socket_end(struct socket *sock);
/** Both ends of the connection have ended, or it has failed. */
bool kern_orphan_is_over(const struct sock *sk);
/** Only the end of the stream is not acknowledged, so that TCP_USER_TIMEOUT bounds the rest. */
bool kern_orphan_is_written(const struct sock *sk);
/** Releases it, and ends it unless it is over, or `left` to the kernel. */
void kern_orphan_forget(struct sock *sk, bool left);
/** Releases a socket of a namespace that ends; resets it unless it is over. */
void kern_socket_forget(struct socket *sock);
int  kern_dial(struct m0_streams *streams, void *user,
	       const struct m0_host_addr *from, uint16_t port_min,
	       uint16_t port_max, const struct m0_host_addr *to,
	       struct m0_stream **ret, char *why);
/** False: the stream is gone, or still dials. */
bool kern_dial_end(struct kern_stream *stream);

/* -- kern_listen.c ------------------------------------------------------------ */

int kern_listen(struct m0_streams *streams, struct m0_stream_listener *listener,
		char *why);
void kern_unlisten(struct m0_streams         *streams,
		   struct m0_stream_listener *listener);
/** Takes a bounded number of the connections that wait. */
void kern_accept_all(struct kern_tcp *tcp);

/* -- kern_stream.c ------------------------------------------------------------ */

/** A stream over the socket, which it takes over. NULL: no memory. */
struct kern_stream *kern_stream_new(struct kern_tcp *tcp, struct socket *sock,
				    bool dials, const struct kern_sock *from);
void                kern_stream_free(struct kern_stream *stream, bool reset);
/** Frees the streams of knt_last and knt_orphans. Bounded by a time. */
void kern_streams_forget(struct kern_tcp *tcp);
/** Frees those of knt_orphans that are over, or have taken too long. */
void kern_orphans_look(struct kern_tcp *tcp, m0_time_t now);
void kern_stream_broken(struct kern_stream *stream, int status);
void kern_stream_in_add(struct kern_stream *stream);
void kern_stream_out_add(struct kern_stream *stream);
/** Reads. True: there may be more. */
bool   kern_stream_in(struct kern_stream *stream);
bool   kern_stream_out(struct kern_stream *stream);
size_t kern_unsent(struct m0_streams *streams, struct m0_stream *stream);

#endif /* M0_SRC_KERN_TCP_KERN_TCP_H */
