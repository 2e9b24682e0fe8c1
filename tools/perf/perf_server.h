/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * `colibri perf --listen`: one client after the other, by main alone. It looks at
 * what came to the door, answers, and has one row (perf_guest.h) at a time. A
 * client is over when it takes leave, when it is silent for too long, or when it
 * cannot be reached.
 */
#ifndef M0_TOOLS_PERF_SERVER_H
#define M0_TOOLS_PERF_SERVER_H

#include "../net/door.h"
#include "perf_args.h"
#include "perf_guest.h"

/** How long the last words are waited for, ns. */
#define PERF_BYE_NS M0_TIME_ONE_SECOND

struct perf_server {
	struct perf_args *psv_args;
	struct tool_door  psv_door;
	/** The client; NULL: there is none. Under the door's lock, as is why
	 * nothing reaches it any more. */
	struct m0_net_end_point *psv_from;
	int                      psv_lost;
	uint64_t                 psv_conv;
	m0_time_t                psv_start;
	m0_time_t                psv_received;
	uint32_t                 psv_rows_nr;
	struct perf_guest        psv_guest;
	uint64_t                 psv_served_nr;
	uint64_t                 psv_failed_nr;
	uint64_t                 psv_strays_nr;
	bool                     psv_stopping;
};

/** Answers what came; ends the client if its time is over. */
void perf_server_look(struct perf_server *server);
/** Notifies a client that is still there that the server ends. */
void perf_server_dismiss(struct perf_server *server);

#endif /* M0_TOOLS_PERF_SERVER_H */
