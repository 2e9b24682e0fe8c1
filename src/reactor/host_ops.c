/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "reactor/host_ops.h"

static const struct m0_host_ops *table;

void m0_host_ops_set(const struct m0_host_ops *ops)
{
	table = ops;
}

const struct m0_host_ops *m0_host_ops_get(void)
{
	return table;
}
