/* SPDX-License-Identifier: Apache-2.0 */
/** Constants and helpers of the test of streams between nodes of one host. */
#ifndef M0_TESTS_UNIT_LND_TCP_NEAR_RIG_H
#define M0_TESTS_UNIT_LND_TCP_NEAR_RIG_H

#include "unit/lnd/tcp/fake_sock.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <unistd.h>

#include "lnd/tcp/near_internal.h"
#include "os/shm.h"

enum {
	MIB = 1 << 20,
	HELLO_BYTES = 96,
	NOBODY = 65534,
	MEM_BYTES = (sizeof(struct m0_pipe_mem) + 4095) / 4096 * 4096
};

static const struct m0_streams_cfg near_cfg = { .sic_same_host = true };

static bool is_near(const struct m0_sock_conn *conn)
{
	return conn->fc_stream->stm_is_near;
}

#endif /* M0_TESTS_UNIT_LND_TCP_NEAR_RIG_H */
