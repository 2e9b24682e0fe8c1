/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The socket driver as a row of the table of drivers.
 */
#ifndef M0_SRC_LND_KSOCK_KSOCK_ROW_H
#define M0_SRC_LND_KSOCK_KSOCK_ROW_H

#include "lnd/lnd_row.h"

extern const struct m0_lnd_row m0_ksock_row;

#endif /* M0_SRC_LND_KSOCK_KSOCK_ROW_H */
