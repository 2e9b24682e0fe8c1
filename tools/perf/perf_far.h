/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The client's half of `colibri perf EP`: how a run (perf_run.h) comes to a B in
 * another process, by the messages of perf_wire.h. One thread, main, asks.
 */
#ifndef M0_TOOLS_PERF_FAR_H
#define M0_TOOLS_PERF_FAR_H

#include "../net/call.h"
#include "perf_run.h"
#include "perf_wire.h"

struct perf_far {
	struct tool_port pfa_port;
	/** The server's address. */
	const char              *pfa_addr;
	struct m0_net_end_point *pfa_door;
	/** Its threads spin. */
	bool             pfa_spins;
	struct tool_call pfa_call;
	uint32_t         pfa_row;
	/** The last question and its answer. Under the port's lock. */
	struct perf_msg    pfa_question;
	enum perf_msg_type pfa_awaited;
	struct perf_msg    pfa_answer;
	char               pfa_text[PERF_TEXT_MAX + 1];
	/** Why a row failed at the server; of which row. The same. */
	uint32_t pfa_bad_row;
	char     pfa_bad[PERF_TEXT_MAX + 1];
};

/**
 * Opens a machine at `own` (NULL: any) and asks the server at `addr` to be let
 * in. @return 0, or an exit code, with `fail` set.
 */
int perf_far_open(struct perf_far *far, const struct tool_xprt *xprt,
		  const char *own, const char *addr, m0_time_t timeout_ns,
		  struct tool_fail *fail);
/** Takes leave. Does nothing if there is no machine. */
void perf_far_close(struct perf_far *far);

/*
 * For perf_run.c; `run` fails if these do, with a reason.
 */

/** Has the server make B's machine; sets A's pe_peer. @return 0, or -errno. */
int perf_far_meet(struct perf_run *run);
/** Asks B how it is. @param stop  it shall begin nothing more. */
int perf_far_look(struct perf_run *run, bool stop, struct perf_look *ret);
/** To be called some times a second while the row runs. */
void perf_far_tick(struct perf_run *run);
/**
 * The row has failed: reports the reason that the server sends, or that the server is
 * not there any more. Waits a second at most.
 */
void perf_far_explain(struct perf_run *run);

#endif /* M0_TOOLS_PERF_FAR_H */
