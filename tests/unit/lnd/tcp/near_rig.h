/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Constants and helpers of the test of streams between nodes of one host. */
#ifndef M0_TESTS_UNIT_LND_TCP_NEAR_RIG_H
#define M0_TESTS_UNIT_LND_TCP_NEAR_RIG_H

#include "unit/lnd/tcp/fake_sock.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

static inline bool is_near(const struct m0_sock_conn *conn)
{
	return conn->fc_stream->stm_is_near;
}

static inline socklen_t name_of(struct sockaddr_un *sa, unsigned port)
{
	int nr;

	M0_SET0(sa);
	sa->sun_family = AF_UNIX;
	nr = snprintf(sa->sun_path + 1, sizeof sa->sun_path - 1,
		      "colibri/%u/127.0.0.1/%u", (unsigned)geteuid(), port);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)nr);
}

/* -- a hostile neighbour --------------------------------------------------- */

/** A process that speaks the protocol of the Unix socket by itself. */
struct foe {
	int                       f_sock;
	int                       f_mem;
	struct m0_pipe_mem       *f_own;
	const struct m0_pipe_mem *f_other;
	int                       f_other_mem;
	struct m0_sock_conn      *f_conn;
};

struct hello {
	uint32_t h_magic;
	uint16_t h_version;
	uint16_t h_type;
	uint64_t h_cookie[3];
	uint64_t h_mem_bytes;
	uint8_t  h_addr_bytes;
	uint8_t  h_addr[16];
	uint8_t  h_rest[39];
};

static inline struct hello hello_good(void)
{
	return (struct hello){ .h_magic = 0x686e306d,
			       .h_version = M0_PIPE_VERSION,
			       .h_type = 1,
			       .h_mem_bytes = MEM_BYTES,
			       .h_addr_bytes = 4,
			       .h_addr = { 127, 0, 0, 9 } };
}

static inline void foe_call(struct foe *foe)
{
	struct sockaddr_un sa;

	M0_SET0(foe);
	foe->f_sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
		connect(foe->f_sock, (struct sockaddr *)&sa,
			name_of(&sa, fake.fs_listener.slr_addr.sa_port)),
		0);
	foe->f_mem = -1;
	foe->f_other_mem = -1;
}

static inline void foe_hello(struct foe *foe, const struct hello *hello,
			     int mem)
{
	assert_int_equal(m0_os_fds_send(foe->f_sock, hello, sizeof *hello, &mem,
					mem >= 0, 0),
			 sizeof *hello);
}

static inline void foe_leave(struct foe *foe)
{
	(void)close(foe->f_sock);
	if (foe->f_mem >= 0)
		(void)close(foe->f_mem);
	if (foe->f_other_mem >= 0)
		(void)close(foe->f_other_mem);
	m0_os_shm_unmap(foe->f_own, MEM_BYTES);
	m0_os_shm_unmap((void *)(uintptr_t)foe->f_other, MEM_BYTES);
}

/* A pipe as an honest peer has it. */
static inline void foe_open(struct foe *foe)
{
	struct hello     hello = hello_good();
	struct m0_os_fds fds;
	char             why[128];
	void            *own;
	void            *other;

	foe_call(foe);
	foe->f_mem = m0_os_shm_make("foe", MEM_BYTES, M0_OS_SHM_OWN, &own);
	assert_true(foe->f_mem >= 0);
	foe->f_own = own;
	foe_hello(foe, &hello, foe->f_mem);
	fake_until(fake.fs_accepted_nr == 1);
	foe->f_conn = fake.fs_accepted[0];
	assert_int_equal(m0_os_fds_recv(foe->f_sock, &hello, sizeof hello, &fds,
					0),
			 sizeof hello);
	assert_int_equal(fds.ofs_nr, 1);
	foe->f_other_mem = fds.ofs_fds[0];
	assert_int_equal(m0_os_shm_map(foe->f_other_mem, MEM_BYTES, false,
				       &other, why, sizeof why),
			 0);
	foe->f_other = other;
}

#endif /* M0_TESTS_UNIT_LND_TCP_NEAR_RIG_H */
