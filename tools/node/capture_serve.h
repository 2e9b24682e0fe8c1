/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The node's side of `colibri capture`: each client has a thread, which writes what the
 * node's thread has put into a queue. However slow the client is, only it loses messages.
 */
#ifndef M0_TOOLS_CAPTURE_SERVE_H
#define M0_TOOLS_CAPTURE_SERVE_H

#include "capture_queue.h"
#include "ctl_server.h"
#include "pcapng.h"

struct capture_stream;

enum {
	/** Clients at a time. */
	CAPTURES_MAX = 4
};

/** Captures of a node; zeroed at first. */
struct captures {
	struct capture_stream *cps_streams[CAPTURES_MAX];
};

/**
 * Begins a capture for a client: answers "stream", and takes over its connection, which
 * is no request of the server any more.
 * @return TOOL_OK, or the exit code; then the reason is in `err`, and the client is to be
 *         answered.
 */
int captures_start(struct captures *captures, struct m0_lnet *lnet,
		   struct ctl_client *client, const struct ctl_request *req,
		   FILE *err);
/** Ends all. Before the node is closed. */
void captures_stop(struct captures *captures);

#endif /* M0_TOOLS_CAPTURE_SERVE_H */
