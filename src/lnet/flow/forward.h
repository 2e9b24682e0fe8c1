/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Messages of other nodes that this node forwards. */
#ifndef M0_SRC_LNET_FORWARD_H
#define M0_SRC_LNET_FORWARD_H

#include "lnet/route/route.h"
#include "lnet/route/router.h"

/**
 * A message has come that is for another node.
 * @param hop  the peer NI that it came by; NULL: not known.
 * @param why  with a status but 0 and -EAGAIN: why the message is to be dropped.
 * @retval 0        the driver reads the payload, see `rx`.
 * @retval -EAGAIN  there is no buffer now.
 * @retval -ELOOP, -EHOSTUNREACH, -ENOBUFS  drop it.
 */
int m0_lnet__forward_begin(struct m0_lnet_ni *ni, struct m0_lnd_rx *rx,
			   const struct m0_lnet_hdr *hdr,
			   struct m0_lnet_lpni *hop, const char **why);
/** The payload is there, or (status) will not come. */
void m0_lnet__forward_come(struct m0_lnet_msg *msg, int status);
/** The message has left, or never will. */
void m0_lnet__forward_sent(struct m0_lnet_msg *msg, int status);
/** Ends all messages that are being forwarded, as soon as the driver can. */
void m0_lnet__forwards_end(struct m0_lnet_engine *eng, int status);

/** Has the driver discard what `msg` still has to receive, and write to its memory no
 * more (recv.c). */
void m0_lnet__rx_cancel(struct m0_lnet_msg *msg);

#endif /* M0_SRC_LNET_FORWARD_H */
