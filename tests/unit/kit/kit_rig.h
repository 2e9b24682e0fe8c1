/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** For tests of the kit: a machine with one buffer, and what a transport must
 * have that is not what a test is about. */
#ifndef M0_TESTS_UNIT_NET_KIT_RIG_H
#define M0_TESTS_UNIT_NET_KIT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/net_kit.h"

enum {
	RIG_BYTES = 4096
};

struct rig {
	struct m0_net_domain      r_dom;
	struct m0_net_transfer_mc r_tm;
	/** Registered, of RIG_BYTES. */
	struct m0_net_buffer r_buf;
	/** Events of the buffer since rig_up(). */
	unsigned r_events_nr;
	int32_t  r_last_status;
	/** Events of the TM: ERROR, and those after STOPPED. */
	unsigned r_errors_nr;
	unsigned r_late_nr;
	bool     r_async;
};

extern struct rig rig;

/** The machine, an inline one, is STARTED. */
void rig_up(const struct m0_net_xprt *xprt, const char *addr);
/** One that delivers by itself. */
void rig_up_async(const struct m0_net_xprt *xprt, const char *addr);
/** Cancels what is queued; the machine is STOPPED. */
void rig_stop(void);
/** A teardown of cmocka's. STOPPED, now or before, was the last event. */
int rig_down(void **state);
/** Queues the buffer without a time-out. */
void rig_add(enum m0_net_queue_type qt);
void rig_deliver(void);

/** Asks `hook` before memory of the library's is got, by any thread; if it says
 * false, there is none. */
void rig_memory_hook(bool (*hook)(void));

int  rig_addr_parse(const char *text, struct m0_net_kit_addr *ret);
void rig_addr_print(const struct m0_net_kit_addr *addr, char *ret);
int  rig_start(struct m0_net_kit_machine    *machine,
	       const struct m0_net_kit_addr *wanted,
	       struct m0_net_kit_addr       *ret_own);
void rig_no_send(struct m0_net_kit_buf *kb);
extern const struct m0_net_kit_copy_ops rig_copy_ops;

/** Operations of a transport whose addresses are letters, without nko_start,
 * nko_bulk and the table of its kind. */
#define RIG_KIT_COMMON(send)                                       \
	.nko_buffer_max = RIG_BYTES, .nko_segment_max = RIG_BYTES, \
	.nko_segments_max = 1, .nko_addr_parse = rig_addr_parse,   \
	.nko_addr_print = rig_addr_print, .nko_send = (send)
/** RIG_KIT_COMMON() of a transport that copies. */
#define RIG_KIT_OPS(send) RIG_KIT_COMMON(send), .nko_copy = &rig_copy_ops

/** A transport of these operations. */
struct rig_xprt {
	struct m0_net_xprt           rx_xprt;
	const struct m0_net_kit_ops *rx_ops;
};

extern const struct m0_net_xprt_ops rig_xprt_ops;

#define RIG_XPRT(name, ops)                                                \
	{                                                                  \
		.rx_xprt = { .nx_name = (name), .nx_ops = &rig_xprt_ops }, \
		.rx_ops = (ops)                                            \
	}

#endif /* M0_TESTS_UNIT_NET_KIT_RIG_H */
