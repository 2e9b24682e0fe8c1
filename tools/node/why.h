/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Reasons of the library for peers that were not reached, or not as they might be. */
#ifndef M0_TOOLS_WHY_H
#define M0_TOOLS_WHY_H

#include "m0/lnet.h"

#include "../base/log_pipe.h"

enum {
	NODE_WHYS_MAX = 32
};

/** The reason that the library gave for a peer. */
struct node_why {
	/** Its NID, or its address without the net. */
	char nwh_nid[M0_LNET_NIDSTR_SIZE];
	/** The error of the pings that it explains, as "EPERM". If this is "", it explains
	 * each ping that fails in the 90 seconds after it. */
	char nwh_errname[24];
	char nwh_text[LOG_PIPE_TEXT_BYTES];
	/** The peer has other limits, and the smaller ones may have been taken. This
	 * explains also pings that are answered, until the peer agrees. */
	bool      nwh_is_mismatch;
	m0_time_t nwh_at;
};

/** The latest reasons, at most one for each peer. */
struct node_whys {
	struct node_why nws_all[NODE_WHYS_MAX];
	/** Where the next one goes. */
	unsigned nws_at;
};

/** Remembers the reason in a line of the library's log, or forgets one that the line says is over.
 * Other lines change nothing. */
void node_whys_note(struct node_whys *whys, const char *text, m0_time_t now);
/** @return why a ping of `nid` has ended with `status`; NULL: that is not known. */
const char *node_whys_get(const struct node_whys   *whys,
			  const struct m0_lnet_nid *nid, int status,
			  m0_time_t now);

#endif /* M0_TOOLS_WHY_H */
