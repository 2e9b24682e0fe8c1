/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A socket driver between two fakes: streams that the case feeds and reads by
 * hand, and an engine that records its notifications. The case sets the time.
 *
 * A case plays the peer: B, 10.0.0.2@tcp; the driver's NI is A, 10.0.0.1@tcp.
 */
#ifndef M0_TESTS_UNIT_LND_SOCK_RIG_H
#define M0_TESTS_UNIT_LND_SOCK_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rand.h"
#include "lnd/ksock/sock.h"
#include "lnd/ksock/ksock_wire.h"

enum {
	RIG_STREAMS_MAX = 256,
	RIG_WROTE_MAX = 3 << 20,
	RIG_MSGS_MAX = 64,
	RIG_PAYLOAD_MAX = 1 << 20,
	RIG_SAID_MAX = 4 << 20,
	RIG_HEAD_V3 = 24 + 72,
	RIG_HEAD_V4 = 24 + 96
};

struct rig_stream {
	struct m0_stream     rs_stream;
	struct m0_sock_conn *rs_conn;
	bool                 rs_used;
	bool                 rs_dialling;
	bool                 rs_hung;
	/** The driver hung up with a reset. */
	bool rs_reset;
	bool rs_out;
	/** sto_in was called. */
	unsigned            rs_in_nr;
	struct m0_host_addr rs_from;
	struct m0_host_addr rs_to;
	uint16_t            rs_port_min;
	uint16_t            rs_port_max;
	/** Result of sto_unsent; number of bytes that may still be written. */
	size_t rs_unsent;
	size_t rs_room;
	/** Bytes that are written are passed, and leave at the first flush without
	 * this. */
	bool   rs_passes;
	size_t rs_passed;
	/** Written by the driver, and how much of it the case has looked at. */
	uint8_t *rs_wrote;
	size_t   rs_wrote_nr;
	size_t   rs_seen;
};

/** A message of ours. */
struct rig_tx {
	struct m0_lnd_tx   rt_tx;
	m0_bcount_t        rt_count[4];
	void              *rt_buf[4];
	struct m0_bufvec   rt_vec;
	uint8_t            rt_mark;
	unsigned           rt_done;
	int                rt_status;
	enum m0_lnd_health rt_health;
	bool               rt_no_header;
};

/** A message of the peer, as the engine saw it. */
struct rig_msg {
	uint8_t            rm_header[M0_LND_HDR_BYTES_MAX];
	uint32_t           rm_pid;
	struct m0_lnet_nid rm_nid;
	bool               rm_large;
	size_t             rm_bytes;
	int                rm_status;
	bool               rm_done;
};

/** A message of the peer that is coming in, and where it goes. */
struct rig_rx {
	struct rig       *rr_rig;
	struct m0_lnd_rx *rr_rx;
	m0_bcount_t      *rr_counts;
	void            **rr_bufs;
	struct m0_bufvec  rr_vec;
	struct rig_msg    rr_msg;
};

enum rig_mode {
	/** Wherever the driver wants them, in pieces of rg_piece. */
	RIG_DIRECT,
	/** All by m0_sock_in_bytes. */
	RIG_COPIED,
	/** As a real read would: both. */
	RIG_BOTH
};

struct rig {
	struct m0_streams  rg_io;
	struct m0_reactor  rg_reactor;
	struct m0_sock_cfg rg_cfg;
	struct m0_lnd     *rg_lnd;
	struct m0_sock    *rg_sock;
	struct m0_lnd_ni   rg_ni;
	m0_time_t          rg_now;
	struct m0_rand     rg_rand;
	struct rig_stream  rg_streams[RIG_STREAMS_MAX];
	unsigned           rg_streams_nr;
	int                rg_dial_rc;
	int                rg_listen_rc;
	unsigned           rg_listeners_nr;
	unsigned           rg_rouses_nr;

	/** How rig_feed goes about it. */
	enum rig_mode rg_mode;
	size_t        rg_piece;

	/** The engine's part: result of lu_rx_begin, bytes of each message that
	 * it wants (the driver discards the rest), segments it offers. */
	int rg_begin_rc;
	/** rg_begin_rc is not for this sender; NULL: it is for all. */
	const struct m0_lnet_nid *rg_begin_nid;
	size_t                    rg_want;
	size_t                    rg_seg_bytes;
	m0_bcount_t               rg_offset;
	bool                      rg_cancel_at_begin;
	/** The engine wants reports; their number, and bytes of the last. */
	bool        rg_reports;
	unsigned    rg_reports_nr;
	m0_bcount_t rg_reported;
	/** Not 0: the engine guesses that the next message has so much payload.
	 * The memory for it is given back as soon as that was wrong. */
	size_t         rg_guess_bytes;
	struct rig_rx *rg_guess;
	bool           rg_guess_is_right;
	unsigned       rg_guess_right_nr;
	unsigned       rg_guess_wrong_nr;
	/** The last that began; NULL: none is coming in. */
	struct m0_lnd_rx *rg_rx;
	unsigned          rg_rxs_nr;
	/** The last payload, when it is done. */
	uint8_t *rg_memory;

	struct rig_msg rg_msgs[RIG_MSGS_MAX];
	unsigned       rg_msgs_nr;
	unsigned       rg_begun_nr;
	unsigned       rg_downs_nr;
	int            rg_down_status;
	unsigned       rg_stopped_nr;
	/** Called by each lu_tx_done, lu_rx_done. */
	void (*rg_on_tx_done)(struct rig *rig, struct rig_tx *tx);
	void (*rg_on_rx_done)(struct rig *rig);
};

extern const struct m0_lnet_nid rig_a;
extern const struct m0_lnet_nid rig_b;
/** Lower than A. */
extern const struct m0_lnet_nid rig_low;
extern const struct m0_lnet_nid rig_a6;
extern const struct m0_lnet_nid rig_b6;
/** Result of hso_nid_taken for every NID. */
extern bool rig_kernel_has_nid;

enum {
	RIG_INCARNATION_B = 0x99
};
#define RIG_INCARNATION_A UINT64_C(0x1122334455667788)

void rig_init(struct rig *rig);
/** With another configuration, of rg_cfg (set by rig_cfg), and NID. */
void rig_cfg(struct rig *rig);
void rig_start(struct rig *rig, const struct m0_lnet_nid *nid);
/**
 * Spoils what the driver has for all networks, from which the interface has taken its
 * own: each test then proves that only the interface's values are in force.
 */
void rig_net_spoil(struct rig *rig);
/** Stops the NI and ends the driver; all messages must have ended. */
void rig_fini(struct rig *rig);
/** A new one, as of rig_init, in place of this. */
void rig_again(struct rig *rig);

/** One step of the driver, at the case's time. */
m0_time_t rig_step(struct rig *rig);
/** Steps and flushes until there is nothing to do. */
void rig_run(struct rig *rig);
/** Lets time pass, then runs as rig_run() does. */
void rig_pass(struct rig *rig, m0_time_t ns);
#define RIG_SECONDS(n) ((n)*M0_TIME_ONE_SECOND)

/** All of them are gone, and are no longer looked at. */
void rig_streams_forget(struct rig *rig);
/** Somebody connects; NULL: not wanted. */
struct rig_stream *rig_connect(struct rig *rig, const char *ip, uint16_t port);
/** The peer's bytes. @return bytes taken; <0: the connection has ended. */
ssize_t rig_feed(struct rig *rig, struct rig_stream *stream, const void *bytes,
		 size_t nr);
/** The next bytes the driver has written; fails the case if there are fewer. */
const uint8_t *rig_see(struct rig *rig, struct rig_stream *stream, size_t nr);
/** Written and not looked at. */
size_t rig_unseen(const struct rig_stream *stream);

/** Encoders of the peer's bytes. */
size_t rig_put_request(uint8_t *buf, const struct m0_lnet_nid *nid);
size_t rig_put_hello(uint8_t *buf, uint32_t version,
		     const struct m0_lnet_nid *src, uint64_t incarnation,
		     uint32_t ctype);
size_t rig_put_frame(uint8_t *buf, uint32_t type, uint64_t cookie0,
		     uint64_t cookie1);
/** A frame and header of a message; the payload is for the case. */
size_t rig_put_message(uint8_t *buf, bool large, uint64_t cookie,
		       uint32_t payload_bytes);

/** Bytes that tell whether they were moved; of another seed, others. */
void rig_payload_fill(uint8_t *bytes, size_t nr, unsigned seed);

/**
 * Bytes of the peer, for cases that keep them all, and the offset of each
 * payload in them. rig_again() leaves them alone.
 */
extern uint8_t rig_said[RIG_SAID_MAX];
extern size_t  rig_said_at[RIG_MSGS_MAX];
/** A message that came; fails the case if there is none. */
const struct rig_msg *rig_msg_at(const struct rig *rig, unsigned i);
/** For rg_on_rx_done: the message is good, and its payload as it was said. */
void rig_payload_check(struct rig *rig);

/** B connects to us with this type of its: up to our answer, looked at. */
struct rig_stream *rig_accept(struct rig *rig, uint32_t version,
			      uint32_t ctype);
struct rig_stream *rig_accept_from(struct rig               *rig,
				   const struct m0_lnet_nid *nid,
				   uint32_t version, uint32_t ctype,
				   uint64_t incarnation);
/** The dial that is under way: its stream; NULL: none. */
struct rig_stream *rig_dial(struct rig *rig);
/** Connects the stream and checks request and HELLO. @return HELLO as
 * decoded. */
struct m0_sock_hello rig_dialled(struct rig *rig, struct rig_stream *stream);
/** And answered by B with this. */
void rig_answer(struct rig *rig, struct rig_stream *stream, uint32_t version,
		uint32_t ctype);
/** All of a set, the way we make it; to `streams` in order of dials. */
void rig_open_set(struct rig *rig, struct rig_stream *streams[3]);
/** A dialled by us, as a peer answers it. */
struct rig_stream *rig_open_next(struct rig *rig);

/** Sends to B. */
void rig_tx_init(struct rig_tx *tx, void *payload, size_t nr, uint8_t mark);
void rig_xmit(struct rig *rig, struct rig_tx *tx);
/** A HELLO of ours on a stream, the next bytes. */
struct m0_sock_hello rig_see_hello(struct rig *rig, struct rig_stream *stream);
struct m0_sock_frame rig_see_frame(struct rig *rig, struct rig_stream *stream);

#endif /* M0_TESTS_UNIT_LND_SOCK_RIG_H */
