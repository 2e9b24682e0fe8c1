/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Bulk of the RPC layer, for its story. */
#ifndef M0_TESTS_FAIL_FAIL_BULK_H
#define M0_TESTS_FAIL_FAIL_BULK_H

#include "m0/rpc.h"

/** rito_deliver: takes in what a request offers. */
void fail_bulk_deliver(struct m0_rpc_machine *machine,
		       struct m0_rpc_item    *item);
/** A request of `type` that offers bytes, which must then be there.
 * @param bound  for that request alone. */
int fail_bulk_send(struct m0_rpc_session   *session,
		   struct m0_rpc_item_type *type, bool bound);

#endif /* M0_TESTS_FAIL_FAIL_BULK_H */
