/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Payloads that wait for memory to copy through. */
#include "lnd/o2ib/o2ib_internal.h"

/** An xfer has its memory, or cannot have it. */
static void fed(struct m0_o2ib__xfer *xfer, int rc)
{
	xfer->oxf_state = M0_O2IB__READY;
	if (rc == 0 && xfer->oxf_is_sink)
		m0_o2ib__sink_offer(xfer);
	else if (rc == 0)
		m0_o2ib__source_ready(xfer);
	else if (xfer->oxf_is_sink)
		m0_o2ib__sink_refuse(xfer, rc);
	else
		m0_o2ib__source_fail(xfer, rc);
}

static void list_feed(struct m0_list *hungry)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(hungry)) != NULL) {
		struct m0_o2ib__xfer *xfer =
			m0_list_entry(link, struct m0_o2ib__xfer, oxf_link);
		int rc = m0_o2ib__xfer_bounce(xfer);

		if (rc == -EAGAIN)
			break;
		m0_list_del(link);
		fed(xfer, rc);
	}
}

void m0_o2ib__xfers_feed(struct m0_o2ib__ni *ni)
{
	list_feed(&ni->oni_hungry[true]);
	list_feed(&ni->oni_hungry[false]);
}
