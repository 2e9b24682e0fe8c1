/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Streams between two nodes of one host: a pipe (ring/pipe.h) in place of a TCP
 * connection, with a Unix socket beside it. docs/ring.md, sections 12 and 13.
 *
 * near.c how bytes move, near_conn.c how such a stream comes to be, near_region.c the
 * regions of memory in which offers lie.
 */
#ifndef M0_SRC_LND_TCP_NEAR_INTERNAL_H
#define M0_SRC_LND_TCP_NEAR_INTERNAL_H

#include <sys/uio.h>

#include "lnd/tcp/tcp_internal.h"
#include "ring/pipe.h"

enum {
	/** A piece of at least so many bytes in a region that the peer has mapped is
	 * offered. */
	M0_NEAR_REGION_BYTES = 16 << 10,
	/** Other pieces of at least PIECE bytes that follow each other are offered if they
	 * are OFFER bytes in all, and the peer can copy them by a system call: for less
	 * two copies take less time. */
	M0_NEAR_PIECE_BYTES = 32 << 10,
	M0_NEAR_OFFER_BYTES = 192 << 10,
	/** Bytes of an offer that are copied at a time. */
	M0_NEAR_COPY_BYTES = 256 << 10,
	/** Bytes that one stream may take in a pass: about 100 us. */
	M0_NEAR_TURN_BYTES = 512 << 10,
	/** Most regions of peers that a node maps. */
	M0_NEAR_MAPS_MAX = 16384,
	/** Streams with a pipe that a pass looks at. */
	M0_NEAR_LOOKS_MAX = 64,
	/** Most accepted streams that have not introduced themselves. */
	M0_NEAR_GREETING_MAX = 64
};

/** Most bytes of the regions that a stream maps. */
#define M0_NEAR_MAPS_BYTES_MAX ((uint64_t)1 << 36)

struct m0_near_lend;
struct m0_near_maps;

/** A message of the Unix socket about a region of the sender. */
struct m0_near_word {
	/** 1 it is lent, with its descriptor; 2 it is recalled. */
	uint8_t  nwo_type;
	uint8_t  nwo_reserved[3];
	uint32_t nwo_nr;
	uint64_t nwo_bytes;
};

/** The part of a stream that is not TCP. */
struct m0_near {
	struct m0_pipe            nea_pipe;
	struct m0_pipe_mem       *nea_own;
	const struct m0_pipe_mem *nea_other;
	/** In tci_greeting, or tci_nears. */
	struct m0_list_link   nea_link;
	struct m0_tcp_stream *nea_stream;
	/** Where it was accepted; NULL: this side has dialled. */
	struct m0_tcp_listener *nea_listener;
	/** Deadline of its introduction. */
	m0_time_t nea_deadline;
	/** For TCP, if there is no pipe to the peer. */
	struct m0_host_addr nea_to;
	uint16_t            nea_port_min;
	uint16_t            nea_port_max;
	/** The peer, as this process sees it; 0: it does not. */
	pid_t nea_pid;
	/** Offers may be made of, or copied from, the address space. */
	bool nea_can_copy;
	/** This side has set its sleep word. */
	bool nea_sleeps;
	/** Something leaves, or is done, when the peer has taken it: enum m0_pipe_want. */
	unsigned nea_waits;
	/** The Unix socket has ended. */
	bool nea_ended;
	/** The peer has sent what is not accepted. */
	bool nea_is_flawed;
	/** Bytes that were passed and have not left: of the outstanding offers each with
	 * what was put before it, in a ring that begins at nea_hold_first; and what was put
	 * behind the last offer. */
	size_t   nea_holds[M0_PIPE_OFFERS_MAX];
	unsigned nea_hold_first;
	unsigned nea_holds_nr;
	size_t   nea_tail;
	/** All of them. */
	size_t nea_passed;
	/** Own regions that were lent to the peer; NULL: none. */
	struct m0_near_lend *nea_lend;
	/** Regions of the peer; NULL: none. */
	struct m0_near_maps *nea_maps;
	/** The word that comes, as far as it has, and its descriptor; -1: none. */
	struct m0_near_word nea_word;
	unsigned            nea_word_nr;
	int                 nea_word_fd;
	/** A secret: only a process that can read this memory has it. */
	uint64_t nea_cookie[2];
};

/* -- near.c ---------------------------------------------------------------- */

/** Moves bytes that have arrived. @return as of recv(), with a negative errno. */
ssize_t m0_tcp__near_in(struct m0_tcp_stream *stream, const struct iovec *iov,
			unsigned nr);
/** Moves bytes that are to leave, and calls up. @return true if there may be more
 * at once. */
bool m0_tcp__near_out(struct m0_tcp_stream *stream);
/** Has it input, for a stream that is not paused? */
bool m0_tcp__near_has_input(const struct m0_tcp_stream *stream);
/** The user takes bytes, or the peer has: wakes it, if it sleeps. */
void m0_tcp__near_bell(struct m0_tcp_stream *stream);
/** Its socket has something: a wake-up, or the end. */
void m0_tcp__near_event(struct m0_tcp_stream *stream, unsigned events);
/** Bytes that the peer has not taken. */
size_t m0_tcp__near_unsent(struct m0_tcp_stream *stream);
/** Recalls regions from all peers. */
void m0_tcp__nears_recall(struct m0_tcp_io *io);
/** Looks at some streams for input and for space. */
void m0_tcp__nears_look(struct m0_tcp_io *io);
/** Says to the peers that this node sleeps; what has something to do is ready. */
void m0_tcp__nears_sleep(struct m0_tcp_io *io);
void m0_tcp__nears_wake(struct m0_tcp_io *io);

/* -- near_region.c --------------------------------------------------------- */

/**
 * Reads wake-ups and words from the Unix socket.
 * @param ret_flaw  what is wrong with a word; NULL: nothing.
 * @retval <0  the socket has ended, or there is a flaw.
 */
int m0_tcp__near_words_in(struct m0_tcp_stream *stream, const char **ret_flaw);
/**
 * Finds where memory of this node lies in a region that the peer has mapped. A region
 * that the peer does not have is lent to it, for the next time.
 */
bool m0_tcp__near_is_lent(struct m0_tcp_stream *stream, const void *addr,
			  size_t nr, uint32_t *ret_region, uint64_t *ret_place);
/** Recalls regions that have gone back to the system. */
void m0_tcp__near_lend_look(struct m0_tcp_stream *stream);
/** @return the mapping of an offer; NULL: it lies in no region of the peer. */
const void *m0_tcp__near_map_at(const struct m0_tcp_stream *stream,
				uint32_t region, uint64_t place,
				uint64_t bytes);
void m0_tcp__near_regions_free(struct m0_tcp_io *io, struct m0_near *near);

/* -- near_conn.c ----------------------------------------------------------- */

/** Listens for nodes of this host at a listener. It works without, so failure is
 * only logged. */
void m0_tcp__near_listen(struct m0_tcp_listener *tcp);
void m0_tcp__near_unlisten(struct m0_tcp_listener *tcp);
/**
 * Dials a node of this host.
 * @return NULL: there is none, or it is not for us.
 */
struct m0_tcp_stream *m0_tcp__near_dial(struct m0_tcp_io          *io,
					const struct m0_host_addr *from,
					uint16_t port_min, uint16_t port_max,
					const struct m0_host_addr *to);
/**
 * The peer may have introduced itself: calls up if it has.
 * @retval false  not yet, or the stream is gone.
 */
bool m0_tcp__near_greeted(struct m0_tcp_stream *stream);
/** Drops accepted streams that have not introduced themselves in time. */
void m0_tcp__nears_expire(struct m0_tcp_io *io);
/** @return when the next one is due; M0_TIME_NEVER. */
m0_time_t m0_tcp__nears_deadline(const struct m0_tcp_io *io);
/** Ends and frees what is not TCP. */
void m0_tcp__near_free(struct m0_tcp_stream *stream, bool reset);

/** Replaces the socket of a stream and closes the old one. @retval <0  the stream has
 * its old one, which is no longer watched. */
int m0_tcp__stream_fd_set(struct m0_tcp_stream *stream, int fd);

/* -- tcp_dial.c ------------------------------------------------------------ */

/** Connects a stream of which the dial of a pipe has failed. On failure, the
 * stream is of no use. */
int m0_tcp__dial_instead(struct m0_tcp_stream *stream,
			 const struct m0_near *near);

#endif /* M0_SRC_LND_TCP_NEAR_INTERNAL_H */
