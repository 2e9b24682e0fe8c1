/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Memory that processes of one host share, and messages of a Unix socket that carry
 * its descriptors.
 *
 * A file that shrinks under a mapping turns the next access into SIGBUS, so only files
 * that are sealed against it are mapped, and only of the kind that cannot run out of
 * pages for holes: pages of huge sizes can.
 */
#ifndef M0_SRC_OS_SHM_H
#define M0_SRC_OS_SHM_H

#include <sys/types.h>

#include "m0/base.h"

enum {
	/** Most descriptors of one message. */
	M0_OS_FDS_MAX = 4
};

/** Rights of other processes to memory that this process makes, which never shrinks. */
enum m0_os_shm_kind {
	/** The memory may grow. */
	M0_OS_SHM_GROWS,
	/** The memory can neither grow, nor be sealed further. */
	M0_OS_SHM_FIXED,
	/**
	 * In addition, only the mapping made here can be written: a process that gets
	 * the descriptor can do no more than read.
	 * @retval -EINVAL  the kernel is older than 5.1.
	 */
	M0_OS_SHM_OWN
};

/**
 * Makes memory as by M0_OS_SHM_GROWS, and does not map it.
 * @return a descriptor, or a negative errno
 */
int m0_os_shm_open(const char *name, uint64_t bytes);
/**
 * Takes the right to write from all mappings of such memory that are not made yet, as
 * by M0_OS_SHM_OWN.
 */
int m0_os_shm_own(int fd);
/**
 * Makes memory, and maps it.
 * @return a descriptor, or a negative errno
 */
int m0_os_shm_make(const char *name, uint64_t bytes, enum m0_os_shm_kind kind,
		   void **ret);
/**
 * Maps memory of another process, if it has `bytes` and can never shrink: no access to
 * it may end in a signal.
 * @param writable  else it can only be read.
 * @param why       buffer of `why_bytes`: on failure, the reason.
 */
int  m0_os_shm_map(int fd, uint64_t bytes, bool writable, void **ret, char *why,
		   size_t why_bytes);
void m0_os_shm_unmap(void *addr, uint64_t bytes);

/**
 * Sends a message with descriptors, at most M0_OS_FDS_MAX.
 * @param flags  of send().
 * @return bytes sent, or a negative errno
 */
ssize_t m0_os_fds_send(int sock, const void *bytes, size_t nr, const int *fds,
		       unsigned fds_nr, int flags);
/** Descriptors that came with a message; the receiver closes those that it does
 * not keep. */
struct m0_os_fds {
	int      ofs_fds[M0_OS_FDS_MAX];
	unsigned ofs_nr;
	/** The message was longer, or had more descriptors, which are closed. */
	bool ofs_is_cut;
};
/** @return bytes received; 0: the other side has hung up; or a negative errno. */
ssize_t m0_os_fds_recv(int sock, void *bytes, size_t nr, struct m0_os_fds *fds,
		       int flags);
/** Closes them. */
void m0_os_fds_drop(struct m0_os_fds *fds);

#endif /* M0_SRC_OS_SHM_H */
