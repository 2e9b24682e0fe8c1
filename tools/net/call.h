/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A question to another process and its answer, over messages that may be lost:
 * the question is sent again until there is an answer, so it must be one that
 * can be asked twice.
 */
#ifndef M0_TOOLS_CALL_H
#define M0_TOOLS_CALL_H

#include "port.h"

struct tool_call {
	struct tool_port *tca_port;
	/** Sends the question. @return 0, or the call ends with that. */
	int (*tca_send)(struct tool_call *call);
	/** Repeat the question to a busy peer, as long as there is time. */
	bool tca_patient;
	/** Set by the callback that receives the answer, under the port's lock. */
	bool tca_answered;
	int  tca_status;
};

/**
 * Asks until there is an answer, no longer than the port's tpo_timeout_ns. By
 * the one thread of the port that asks.
 * @retval 0           tca_status is the answer.
 * @retval -ETIMEDOUT  there was none.
 * @retval -EBUSY      there was no other than that (patient calls).
 * @retval <0          the port has failed, or of tca_send.
 */
int tool_call(struct tool_call *call);

#endif /* M0_TOOLS_CALL_H */
