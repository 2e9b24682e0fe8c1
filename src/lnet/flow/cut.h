/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Messages that leave while their payload still arrives: cut-through. */
#ifndef M0_SRC_LNET_CUT_H
#define M0_SRC_LNET_CUT_H

#include "lnet/lnet_internal.h"

/** lu_rx_more. */
void m0_lnet__rx_more(struct m0_lnd_rx *rx, m0_bcount_t bytes);
/** The first `there` bytes of the payload of a message that leaves are there. */
void m0_lnet__send_more(struct m0_lnet_msg *msg, m0_bcount_t there);
/** The rest of the payload will not come: the message completes with an error. */
void m0_lnet__send_abort(struct m0_lnet_msg *msg);

#endif /* M0_SRC_LNET_CUT_H */
