/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Memory that processes share: what another process may do to it, and what is mapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/shm.h"

enum {
	BYTES = 8192
};

static char why[256];

static int make(enum m0_os_shm_kind kind, void **ret)
{
	int fd = m0_os_shm_make("test", BYTES, kind, ret);

	assert_true(fd >= 0);
	return fd;
}

/* A neighbour that has the descriptor, however it opens the file again, can only read. */
static void own_memory_cannot_be_written_by_others(void **state)
{
	void *addr;
	void *seen;
	char  path[64];
	int   fd = make(M0_OS_SHM_OWN, &addr);
	int   again;

	(void)state;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	memcpy(addr, "before", 7);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_ptr_equal(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			      fd, 0),
			 MAP_FAILED);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(fallocate(fd,
				   FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				   0, 4096),
			 -1);
	if (again >= 0) {
		assert_ptr_equal(mmap(NULL, BYTES, PROT_WRITE, MAP_SHARED,
				      again, 0),
				 MAP_FAILED);
		(void)close(again);
	}
	assert_int_equal(m0_os_shm_map(fd, BYTES, true, &seen, why, sizeof why),
			 -EPERM);
	assert_non_null(strstr(why, "cannot be mapped to be written"));
	assert_int_equal(
		m0_os_shm_map(fd, BYTES, false, &seen, why, sizeof why), 0);
	assert_int_equal(mprotect(seen, BYTES, PROT_READ | PROT_WRITE), -1);
	memcpy(addr, "after", 6);
	assert_string_equal(seen, "after");
	m0_os_shm_unmap(seen, BYTES);
	m0_os_shm_unmap(addr, BYTES);
	(void)close(fd);
}

static void shared_memory_is_writable(void **state)
{
	void *addr;
	void *seen;
	int   fd = make(M0_OS_SHM_FIXED, &addr);

	(void)state;
	assert_int_equal(m0_os_shm_map(fd, BYTES, true, &seen, why, sizeof why),
			 0);
	memcpy(seen, "there", 6);
	assert_string_equal(addr, "there");
	assert_int_equal(ftruncate(fd, 2 * BYTES), -1);
	m0_os_shm_unmap(seen, BYTES);
	m0_os_shm_unmap(addr, BYTES);
	(void)close(fd);
	fd = make(M0_OS_SHM_GROWS, &addr);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 2 * BYTES), 0);
	m0_os_shm_unmap(addr, BYTES);
	(void)close(fd);
}

/* Each would end in a signal at some access. */
static void unsafe_memory_is_refused(void **state)
{
	void *addr;
	void *seen;
	int   fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void)state;
	assert_int_equal(ftruncate(fd, BYTES), 0);
	assert_int_equal(m0_os_shm_map(fd, BYTES, false, &seen, why,
				       sizeof why),
			 -EINVAL);
	assert_non_null(strstr(why, "F_SEAL_SHRINK"));
	(void)close(fd);
	fd = make(M0_OS_SHM_FIXED, &addr);
	assert_int_equal(m0_os_shm_map(fd, BYTES + 1, false, &seen, why,
				       sizeof why),
			 -EINVAL);
	assert_non_null(strstr(why, "bytes 8193: 1 to 8192"));
	m0_os_shm_unmap(addr, BYTES);
	(void)close(fd);
	fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	assert_int_equal(m0_os_shm_map(fd, BYTES, false, &seen, why,
				       sizeof why),
			 -EINVAL);
	(void)close(fd);
}

static void descriptors_come_with_a_message(void **state)
{
	struct m0_os_fds fds;
	void            *addr;
	char             text[8];
	int              pair[2];
	int              fd = make(M0_OS_SHM_OWN, &addr);
	int              many[M0_OS_FDS_MAX] = { fd, fd, fd, fd };

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(
		m0_os_fds_send(pair[0], "hello", 6, many, M0_OS_FDS_MAX, 0), 6);
	assert_int_equal(m0_os_fds_recv(pair[1], text, sizeof text, &fds, 0),
			 6);
	assert_string_equal(text, "hello");
	assert_int_equal(fds.ofs_nr, M0_OS_FDS_MAX);
	assert_false(fds.ofs_is_cut);
	m0_os_fds_drop(&fds);
	assert_int_equal(fds.ofs_nr, 0);
	assert_int_equal(m0_os_fds_send(pair[0], "longer text", 12, NULL, 0, 0),
			 12);
	assert_int_equal(m0_os_fds_recv(pair[1], text, sizeof text, &fds, 0),
			 sizeof text);
	assert_true(fds.ofs_is_cut);
	assert_int_equal(m0_os_fds_recv(pair[1], text, sizeof text, &fds,
					MSG_DONTWAIT),
			 -EAGAIN);
	(void)close(pair[0]);
	assert_int_equal(m0_os_fds_recv(pair[1], text, sizeof text, &fds, 0),
			 0);
	(void)close(pair[1]);
	m0_os_shm_unmap(addr, BYTES);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_memory_cannot_be_written_by_others),
		cmocka_unit_test(shared_memory_is_writable),
		cmocka_unit_test(unsafe_memory_is_refused),
		cmocka_unit_test(descriptors_come_with_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
