/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The processes of a running node: `colibri process`. */
#ifndef M0_TOOLS_PROCESS_SERVE_H
#define M0_TOOLS_PROCESS_SERVE_H

#include <stdio.h>

#include "ctl.h"
#include "m0/lnet_daemon.h"

struct lnet_node;

/** A node that ends when no process is attached any more. */
struct node_drain {
	bool ndr_on;
	/** Processes that are attached then are detached; M0_TIME_NEVER. */
	m0_time_t ndr_until;
	/** The node is to end. */
	bool ndr_done;
};

/** Serves a request of `colibri process`. @return the exit code. */
int process_serve(struct lnet_node *node, const struct ctl_request *req,
		  FILE *out, FILE *err);
/** Prints processes, which are sorted. @return the exit code. */
int process_show(const struct ctl_request         *req,
		 const struct m0_lnet_daemon_info *info,
		 struct m0_lnet_attached *procs, unsigned nr, FILE *out);
/** When node_drain_step() has something to do. */
m0_time_t node_drain_deadline(const struct lnet_node *node);
/** Has the last process gone, or is the time over? */
void node_drain_step(struct lnet_node *node, m0_time_t now);

#endif /* M0_TOOLS_PROCESS_SERVE_H */
