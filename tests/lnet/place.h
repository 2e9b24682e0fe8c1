/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Where a story with a strange peer happens: in the simulator, or on sockets of
 * the loopback device in real time. There are two nodes: `pl_node`, which is under
 * test, and `pl_good`, whose requests must be answered meanwhile. The strange peer
 * is the test itself, by ends: connections that send any bytes.
 *
 * By IPv6, too: HELLO is of V4 then and headers are large, whatever version a
 * case asks for. On sockets there is one address, ::1: all strange peers come
 * from it, whatever NID they claim, and cannot be listened for; the good one
 * comes by IPv4, on tcp1.
 *
 * Time-outs are Lustre's in the simulator, and short on sockets: cases take
 * them from pl_cfg.
 */
#ifndef M0_TESTS_LNET_PLACE_H
#define M0_TESTS_LNET_PLACE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "m0/lnet.h"
#include "sim/net/sim_raw.h"

enum place_kind {
	PLACE_SIM,
	PLACE_SOCKETS,
	PLACE_SIM6,
	PLACE_SOCKETS6
};

enum {
	PLACE_GOOD = 2,
	/** Strange hosts: PLACE_WHO_MIN and more, and one whose NID is lower
	 * than the node's. */
	PLACE_WHO_LOW = 3,
	PLACE_NODE = 9,
	PLACE_WHO_MIN = 10,
	PLACE_WHO_MAX = 60
};

struct place {
	enum place_kind    pl_kind;
	struct m0_sim      pl_sim;
	uint16_t           pl_port;
	struct m0_lnet_cfg pl_cfg;
	struct m0_lnet    *pl_node;
	struct m0_lnet    *pl_good;
	/** NIDs of the node: on tcp, and the second one, on tcp1. */
	struct m0_lnet_nid pl_nid;
	struct m0_lnet_nid pl_nid_two;
	struct m0_lnet_nid pl_good_nid;
	/** The one of the node that the good peer pings. */
	struct m0_lnet_nid pl_ping_nid;
	/** The longest that a ping of the good peer took. */
	m0_time_t          pl_ping_ns_max;
	struct place_end  *pl_ends;
	struct place_port *pl_ports;
	/** In the simulator: hosts by number. */
	struct m0_sim_host *pl_hosts[PLACE_WHO_MAX + 1];
};

/**
 * Opens both nodes. Skips the case if it is by IPv6 and there is none.
 * @param tune  changes the configuration of pl_node; NULL: does not.
 */
void place_up(struct place *place, enum place_kind kind,
	      void (*tune)(struct m0_lnet_cfg *cfg));
void place_down(struct place *place);
/** Ends pl_node, and begins another life of it, by pl_cfg. */
void place_node_close(struct place *place);
void place_node_open(struct place *place);

bool place_is_sim(const struct place *place);
bool place_is_ip6(const struct place *place);
/** NID of host `who` on tcp. */
struct m0_lnet_nid place_nid(const struct place *place, unsigned who);
/** The good peer pings the node: it must be answered, and soon. */
void place_ping(struct place *place);
/** Lets time pass. */
void place_run(struct place *place, uint64_t ms);
/** Waits until cond(arg), at most `ms` (on sockets some seconds more). */
bool      place_wait(struct place *place, bool (*cond)(void *arg), void *arg,
		     uint64_t ms);
m0_time_t place_now(const struct place *place);
/** Counters of the node. */
struct m0_lnet_stats  place_stats(const struct place *place);
struct m0_lnd_ni_info place_lnd_info(const struct place *place);

/* -- ends ------------------------------------------------------------------ */

struct place_end {
	struct place *pe_place;
	unsigned      pe_who;
	/** Bytes received; the case has looked at the first pe_done of them. */
	const uint8_t *pe_in;
	size_t         pe_in_nr;
	size_t         pe_done;
	/** The connection has ended: 0 by end of file, else by an errno. */
	bool pe_has_ended;
	int  pe_status;
	/** Version of its HELLO: see speech.h. */
	uint32_t pe_version;

	/** Private. */
	struct m0_sim_raw *pe_raw;
	int                pe_fd;
	uint8_t           *pe_buf;
	size_t             pe_buf_max;
	bool               pe_is_mute;
	bool               pe_is_closed;
	struct place_end  *pe_next;
};

/** Connects to the node from host `who`; it may turn out to be refused. */
struct place_end *place_dial(struct place *place, unsigned who);
/** Connects from this port; in the simulator only. */
struct place_end *place_dial_from(struct place *place, unsigned who,
				  uint16_t port);
/** Host `who` listens. */
void place_listen(struct place *place, unsigned who);
/** The next that has connected to it; NULL: nobody within `ms`. */
struct place_end *place_accept(struct place *place, unsigned who, uint64_t ms);
/** Sends what the connection takes, and drops the rest. */
void place_send(struct place_end *end, const void *bytes, size_t nr);
/** Reads no more, or on. */
void place_mute(struct place_end *end, bool mute);
void place_close(struct place_end *end);
void place_reset(struct place_end *end);
/** Waits for `nr` bytes beyond pe_done. @return false  they did not come. */
bool place_wait_in(struct place_end *end, size_t nr, uint64_t ms);
/** Waits for its end. @return false  it has not ended. */
bool place_wait_end(struct place_end *end, uint64_t ms);

#endif /* M0_TESTS_LNET_PLACE_H */
