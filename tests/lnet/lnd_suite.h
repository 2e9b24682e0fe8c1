/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The fixture of the suite of drivers: two sides, each a driver and a fake of the
 * engine, and messages from the first side to the other.
 */
#ifndef M0_TESTS_LNET_LND_SUITE_H
#define M0_TESTS_LNET_LND_SUITE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <unistd.h>

#include <cmocka.h>

#include "lnet/lnd_helpers.h"
#include "lnd/ksock/ksock_row.h"
#include "lnd/lo/lo.h"
#include "m0/sim.h"
#include "m0/sim_net.h"
#include "os/os.h"
#include "reactor/host_ops.h"
#include "reactor/reactor.h"

enum {
	MSGS_MAX = 256,
	BYTES_MAX = 1 << 20,
	LIMIT_S = 30,
	/** Connections of the sock driver, one of each type. */
	CONNS_NR = 3
};

struct kind {
	const char              *kd_name;
	const struct m0_lnd_row *kd_row;
	const char              *kd_nid[2];
	bool                     kd_is_sim;
	/** Through shared memory. */
	bool kd_is_near;
};

/** A message, by its number. */
struct msg {
	struct m0_lnd_tx ms_tx;
	struct m0_bufvec ms_vec;
	size_t           ms_bytes;
	unsigned         ms_done_nr;
	int              ms_status;
	/** At the receiver. */
	struct m0_lnd_rx *ms_rx;
	struct m0_bufvec  ms_sink;
	unsigned          ms_begun_nr;
	unsigned          ms_ended_nr;
	int               ms_rx_status;
	unsigned          ms_offers_nr;
	/** Offers to be put off; bytes wanted; what lu_rx_begin returns then. */
	unsigned ms_puts_off_nr;
	size_t   ms_want;
	int      ms_rc;
	bool     ms_cancels;
	/** Wants reports; their number, and bytes of the last one. */
	bool ms_reports;
	/** Payload may come to this pipe. */
	struct m0_lnd_pipe *ms_pipe;
	/** Number, plus 1, of the message whose bytes it has; 0: its own. */
	unsigned    ms_as;
	unsigned    ms_reports_nr;
	m0_bcount_t ms_reported;
};

struct side {
	struct m0_strand   sd_strand;
	struct m0_reactor *sd_reactor;
	struct m0_lnd     *sd_lnd;
	struct m0_lnd_ni   sd_ni;
	bool               sd_is_stopping;
	unsigned           sd_stopped_nr;
};

extern const struct kind *kind;
extern struct side        sides[2];
extern struct msg         msgs[MSGS_MAX];
extern unsigned           msgs_nr;

#define UNTIL(cond)                                                 \
	do {                                                        \
		m0_time_t until_end = m0_time_from_now(LIMIT_S, 0); \
		while (!(cond)) {                                   \
			assert_true(m0_time_now() < until_end);     \
			turn();                                     \
		}                                                   \
	} while (0)

uint8_t      pattern(const struct msg *msg, size_t at);
struct side *other(void);
void         turn(void);
void         stop(struct side *side);
int          case_open(void **state);
int          case_close(void **state);
struct msg  *msg_make(size_t bytes);
struct msg  *send_(struct msg *msg);
bool         has_arrived(const struct msg *msg);
void         check(struct msg *msg);
bool         grows(void);
void         warm_up(void);
uint64_t     conns_nr(struct side *side);

/** Cases of lnd_suite_pipe.c, for each kind. @return number of those that failed. */
int pipe_cases(struct kind *kinds, unsigned nr);

#endif /* M0_TESTS_LNET_LND_SUITE_H */
