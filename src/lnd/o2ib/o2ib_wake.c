/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* When the driver steps, and looks at deadlines. */
#include "lnd/o2ib/o2ib_internal.h"

void m0_o2ib__rouse(struct m0_o2ib__drv *drv)
{
	drv->odr_reactor->rtr_called = true;
	if (drv->odr_is_pending)
		return;
	drv->odr_is_pending = true;
	drv->odr_reactor->rtr_ops->rtro_rouse(drv->odr_reactor);
}

void m0_o2ib__scan_by(struct m0_o2ib__ni *ni, m0_time_t at)
{
	ni->oni_scan_at = min64u(ni->oni_scan_at, at);
	if (at <= m0_o2ib__now(ni->oni_drv))
		m0_o2ib__rouse(ni->oni_drv);
}
