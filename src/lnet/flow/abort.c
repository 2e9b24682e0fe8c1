/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Aborts an operation whose MD is being unlinked. */
#include "lnet/lnet_internal.h"

void m0_lnet__op_abort(struct m0_lnet_msg *msg)
{
	int  status = m0_lnet__abort_status(msg->msg_engine);
	bool sending = msg->msg_tx.mtx_sending;

	M0_PRE(msg->msg_md != NULL && msg->msg_md->md_aborted);
	M0_PRE(m0_lnet__msg_invariant(msg));
	/* If no send is in progress, either branch completes the message. */
	msg->msg_op.mop_late = false;
	if (msg->msg_rx.mrx_lnd != NULL) {
		m0_lnet__rx_cut(msg, status);
	} else if (msg->msg_op.mop_waits) {
		m0_lnet__response_drop(msg);
		if (!sending)
			m0_lnet__response_fail(msg, status);
	}
	if (sending)
		m0_lnet__send_cancel(msg);
}
