/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Pings or discoveries of one request: all at once, told of in order. */
#ifndef M0_TOOLS_PROBE_SET_H
#define M0_TOOLS_PROBE_SET_H

#include <stdio.h>

#include "ctl.h"

struct probe_set {
	struct ctl_request    pst_req;
	struct m0_lnet_probe *pst_probes;
	/** A running node asks, not one that was opened for it. */
	bool pst_by_node;
	/** The command is attached to the node that asks. */
	bool pst_attached;
	/** The node is in another network namespace than its client. */
	bool pst_elsewhere;
	/**
	 * Returns the library's message about the NID of a probe that failed,
	 * or NULL. May be NULL itself: then the message was printed elsewhere.
	 */
	const char *(*pst_why)(const struct probe_set     *set,
			       const struct m0_lnet_probe *probe);
	/** The node that asks, the probes that were begun, and those that have not ended. */
	struct m0_mutex pst_lock;
	struct m0_lnet *pst_lnet;
	unsigned        pst_begun_nr;
	unsigned        pst_live_nr;
	/** Not ended yet, and one more while they are being begun. */
	struct m0_atomic64 pst_left;
	/**
	 * All have ended. On the node's thread or, if none could begin, on that
	 * of probe_set_start(). May free the set.
	 */
	void (*pst_done)(struct probe_set *set);
};

/** @retval -ENOMEM */
int  probe_set_init(struct probe_set *set, const struct ctl_request *req);
void probe_set_fini(struct probe_set *set);
/** Begins all of them, or as many as the node takes at a time; pst_done is set. */
void probe_set_start(struct probe_set *set, struct m0_lnet *lnet);
/**
 * Prints what became of them: answers to `out`, failures to `err`; JSON has both,
 * in `out`. `err` gets the NID that asked, too, if the request wants it or it is not
 * the one that the caller expects.
 * @return the exit code.
 */
int probe_set_print(const struct probe_set *set, FILE *out, FILE *err);

#endif /* M0_TOOLS_PROBE_SET_H */
