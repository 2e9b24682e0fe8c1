/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "os/shm.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* -- memory ---------------------------------------------------------------- */

static int mem_open(const char *name)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int      fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

	/* Kernels before 6.3 do not know the flag. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	return fd < 0 ? -errno : fd;
}

static int mem_size(int fd, uint64_t bytes)
{
	if (bytes > INT64_MAX)
		return -EFBIG;
	return ftruncate(fd, (off_t)bytes) == 0 ? 0 : -errno;
}

int m0_os_shm_open(const char *name, uint64_t bytes)
{
	int fd = mem_open(name);
	int rc;

	if (fd < 0)
		return fd;
	rc = mem_size(fd, bytes);
	if (rc == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	(void)close(fd);
	return rc;
}

/* A seal against later writers is set when this process has its mapping. */
static int mem_seals(enum m0_os_shm_kind kind)
{
	switch (kind) {
	case M0_OS_SHM_OWN:
		return F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE |
		       F_SEAL_SEAL;
	case M0_OS_SHM_FIXED:
		return F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	default:
		return F_SEAL_SHRINK;
	}
}

int m0_os_shm_own(int fd)
{
	return fcntl(fd, F_ADD_SEALS, mem_seals(M0_OS_SHM_OWN)) == 0 ? 0
								     : -errno;
}

static int mem_fill(int fd, uint64_t bytes, enum m0_os_shm_kind kind,
		    void **ret)
{
	void *addr;
	int   rc = mem_size(fd, bytes);

	if (rc != 0)
		return rc;
	addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (addr == MAP_FAILED)
		return -errno;
	if (fcntl(fd, F_ADD_SEALS, mem_seals(kind)) != 0) {
		rc = -errno;
		(void)munmap(addr, bytes);
		return rc;
	}
	*ret = addr;
	return 0;
}

int m0_os_shm_make(const char *name, uint64_t bytes, enum m0_os_shm_kind kind,
		   void **ret)
{
	int fd = mem_open(name);
	int rc;

	if (fd < 0)
		return fd;
	rc = mem_fill(fd, bytes, kind, ret);
	if (rc == 0)
		return fd;
	(void)close(fd);
	return rc;
}

static M0_PRINTF(4, 5) int refuse(char *why, size_t why_bytes, int rc,
				  const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, why_bytes, fmt, args);
	va_end(args);
	return rc;
}

static int mem_check(int fd, uint64_t bytes, char *why, size_t why_bytes)
{
	struct stat   st;
	struct statfs fs;
	int           seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || fstat(fd, &st) != 0 || fstatfs(fd, &fs) != 0)
		return refuse(why, why_bytes, -EINVAL,
			      "the descriptor is of no memfd: %s",
			      m0_errname(errno));
	if ((seals & F_SEAL_SHRINK) == 0)
		return refuse(why, why_bytes, -EINVAL,
			      "the memfd could shrink while it is mapped: seal "
			      "it by F_SEAL_SHRINK");
	if (fs.f_type != TMPFS_MAGIC)
		return refuse(why, why_bytes, -EINVAL,
			      "the memfd has pages of a huge size: without "
			      "MFD_HUGETLB it is accepted");
	if (bytes == 0 || st.st_size < 0 || (uint64_t)st.st_size < bytes)
		return refuse(why, why_bytes, -EINVAL,
			      "bytes %llu: 1 to %lld, which the memfd has, is "
			      "accepted",
			      (unsigned long long)bytes, (long long)st.st_size);
	return 0;
}

int m0_os_shm_map(int fd, uint64_t bytes, bool writable, void **ret, char *why,
		  size_t why_bytes)
{
	void *addr;
	int   rc = mem_check(fd, bytes, why, why_bytes);

	if (rc != 0)
		return rc;
	addr = mmap(NULL, bytes, PROT_READ | (writable ? PROT_WRITE : 0),
		    MAP_SHARED, fd, 0);
	if (addr == MAP_FAILED) {
		rc = -errno;
		return refuse(why, why_bytes, rc,
			      "%llu bytes cannot be mapped to be %s: %s",
			      (unsigned long long)bytes,
			      writable ? "written" : "read", m0_errname(rc));
	}
	*ret = addr;
	return 0;
}

void m0_os_shm_unmap(void *addr, uint64_t bytes)
{
	if (addr != NULL)
		(void)munmap(addr, bytes);
}

/* -- descriptors ----------------------------------------------------------- */

union fds_room {
	char           fdr_bytes[CMSG_SPACE(sizeof(int) * M0_OS_FDS_MAX)];
	struct cmsghdr fdr_align;
};

ssize_t m0_os_fds_send(int sock, const void *bytes, size_t nr, const int *fds,
		       unsigned fds_nr, int flags)
{
	union fds_room  room;
	struct iovec    iov = { (void *)(uintptr_t)bytes, nr };
	struct msghdr   msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;
	ssize_t         rc;

	M0_PRE(fds_nr <= M0_OS_FDS_MAX);
	if (fds_nr > 0) {
		M0_SET0(&room);
		msg.msg_control = room.fdr_bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * fds_nr);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fds_nr);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fds_nr);
	}
	do {
		rc = sendmsg(sock, &msg, flags | MSG_NOSIGNAL);
	} while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : rc;
}

static void fds_take(struct m0_os_fds *fds, struct msghdr *msg)
{
	struct cmsghdr *cmsg;
	size_t          nr;
	size_t          i;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg != NULL;
	     cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET ||
		    cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		nr = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < nr; ++i) {
			M0_PRE(fds->ofs_nr < M0_OS_FDS_MAX);
			memcpy(&fds->ofs_fds[fds->ofs_nr++],
			       CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
		}
	}
}

ssize_t m0_os_fds_recv(int sock, void *bytes, size_t nr, struct m0_os_fds *fds,
		       int flags)
{
	union fds_room room;
	struct iovec   iov = { bytes, nr };
	struct msghdr  msg = { .msg_iov = &iov,
			       .msg_iovlen = 1,
			       .msg_control = room.fdr_bytes,
			       .msg_controllen = sizeof room.fdr_bytes };
	ssize_t        rc;

	M0_SET0(fds);
	do {
		rc = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
	} while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return -errno;
	fds_take(fds, &msg);
	fds->ofs_is_cut = (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
	/* A message without bytes looks like the end, and is served as one. */
	if (rc == 0)
		m0_os_fds_drop(fds);
	return rc;
}

void m0_os_fds_drop(struct m0_os_fds *fds)
{
	while (fds->ofs_nr > 0) {
		int fd = fds->ofs_fds[--fds->ofs_nr];

		if (fd >= 0)
			(void)close(fd);
	}
}
