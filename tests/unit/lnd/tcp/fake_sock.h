/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A driver that speaks no protocol: connections that take and give bytes of a
 * known pattern, in pieces, with pauses and hang-ups as the test likes. It
 * stands where room lnd/ksock does.
 *
 * A fixture has one room of streams with a listener; what it dials it accepts
 * itself.
 */
#ifndef M0_TESTS_UNIT_LND_TCP_FAKE_SOCK_H
#define M0_TESTS_UNIT_LND_TCP_FAKE_SOCK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lnd/tcp/tcp_internal.h"

enum {
	FAKE_CONNS_MAX = 4096,
	FAKE_OPEN = 1
};

struct m0_sock_conn {
	struct m0_sock     *fc_sock;
	struct m0_stream   *fc_stream;
	struct m0_host_addr fc_local;
	struct m0_host_addr fc_remote;
	bool                fc_is_dialled;
	/** FAKE_OPEN, or how it was broken. */
	int      fc_status;
	unsigned fc_broken_nr;
	/** Another connection, or NULL, and what it had taken by then. */
	struct m0_sock_conn *fc_other;
	size_t               fc_other_in;
	/** Bytes that came, and how: straight, and copied. */
	size_t fc_in;
	size_t fc_direct;
	size_t fc_copied;
	/** Wanted: segments of so many bytes, and how much ahead of them. */
	size_t   fc_in_seg;
	unsigned fc_in_segs;
	size_t   fc_ahead;
	/** So often what arrives was in the wrong place. */
	unsigned fc_again_nr;
	/** Takes no more than this until it is raised. */
	size_t fc_in_max;
	/** Hangs up in the call that passes it. */
	size_t fc_hangup_at;
	/** Connection that it hangs up then: itself, or another one. */
	struct m0_sock_conn *fc_victim;
	size_t               fc_where_nr;
	/** To be sent in all, and what was; in segments of so many bytes. */
	size_t fc_out_all;
	size_t fc_out;
	/** Passed, and not left. */
	size_t fc_passed;
	/** Bytes of the longest write. */
	size_t                  fc_out_most;
	size_t                  fc_out_seg;
	struct m0_stream_counts fc_counts;
	/** Announced by the call that reports what has left. */
	size_t fc_out_more;
	/** Lends what is read, and what is written. */
	bool fc_lends;
	/** How often it was asked for what is read; what is written is lent now. */
	unsigned fc_in_lent_nr;
	bool     fc_out_is_lent;
	uint8_t *fc_buf;
};

struct m0_sock {
	struct m0_reactor        *fs_reactor;
	struct m0_streams        *fs_io;
	struct m0_stream_listener fs_listener;
	/** Another one, if the test has it. */
	struct m0_stream_listener *fs_other;
	/** Refuses whoever connects. */
	bool                 fs_refuses;
	unsigned             fs_refused_nr;
	struct m0_sock_conn *fs_accepted[FAKE_CONNS_MAX];
	unsigned             fs_accepted_nr;
	/** Template of incoming connections. */
	struct m0_sock_conn fs_model;
	char                fs_why[M0_LND_WHY_BYTES];
};

extern struct m0_sock fake;

enum {
	FAKE_BUF_BYTES = 4 << 20,
	/** The period of fake_byte() divides no power of two, so that shifted bytes differ. */
	FAKE_PERIOD = 251
};

/** Memory of FAKE_BUF_BYTES + FAKE_PERIOD with the bytes that are sent. NULL: memory
 * of the fixture. */
extern const uint8_t *fake_pattern;
/** Fills such memory. */
void fake_pattern_fill(uint8_t *pattern);

/** The byte at a place of every stream. */
uint8_t fake_byte(size_t at);

/** Streams in a reactor of their own. */
int  fake_streams_create(struct m0_streams          **ret,
			 const struct m0_streams_cfg *cfg);
void fake_streams_destroy(struct m0_streams *io);
/** Listens at an address as text, port 0: of the system's choice. */
void fake_open(const char *addr, const struct m0_streams_cfg *cfg);
/** Ends everything, and frees all connections. */
void fake_close(void);

struct m0_host_addr fake_addr(const char *text, uint16_t port);
/** A connection that takes all and sends nothing. */
struct m0_sock_conn *fake_conn(void);
/** Dials our own listener from its address and any port. */
struct m0_sock_conn *fake_dial(void);
/** Dials, and waits until both ends are there. @return what we dialled. */
struct m0_sock_conn *fake_pair(struct m0_sock_conn **ret_accepted);
void                 fake_free(struct m0_sock_conn *conn);
/** Congestion control of a connection; NULL: as the system would have it. */
void fake_congestion(const struct m0_sock_conn *conn, char name[16]);
/** Hangs up with a reset. */
void fake_hangup(struct m0_sock_conn *conn);
/** Hangs up in order. */
void fake_end(struct m0_sock_conn *conn);
/** Wants `nr` bytes more to be sent. */
void fake_send(struct m0_sock_conn *conn, size_t nr);
/** Takes `max` bytes in all from now on. */
void fake_in_max(struct m0_sock_conn *conn, size_t max);

/** One pass and flush; does not wait. @return of the pass. */
bool fake_step(void);
/** A sleep, if nothing is to be done: short, others may have to be looked at. */
void fake_sleep(void);
/** Steps until `cond`, sleeping in between; fails after a while. */
#define fake_until(cond)                                       \
	do {                                                   \
		m0_time_t fake_end = m0_time_from_now(20, 0);  \
		while (!(cond)) {                              \
			assert_true(m0_time_now() < fake_end); \
			if (!fake_step() && !(cond))           \
				fake_sleep();                  \
		}                                              \
	} while (0)

#endif /* M0_TESTS_UNIT_LND_TCP_FAKE_SOCK_H */
