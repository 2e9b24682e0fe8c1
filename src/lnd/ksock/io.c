/* SPDX-License-Identifier: Apache-2.0 */
#include "lnd/ksock/io.h"

static const struct m0_sock_io_ops *table;

void m0_sock_io_set(const struct m0_sock_io_ops *ops)
{
	table = ops;
}

const struct m0_sock_io_ops *m0_sock_io_get(void)
{
	return table;
}
