/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that two processes share. A file that shrinks under a mapping turns the next access
 * into SIGBUS, so only files that are sealed against it are mapped, and only of the kind
 * that cannot run out of pages for holes: pages of huge sizes can.
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "attach/proto.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

static int mem_open(const char *name)
{
	unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int      fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);

	/* Kernels before 6.3 do not know the flag. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, flags);
	return fd < 0 ? -errno : fd;
}

static int mem_fill(int fd, uint64_t bytes, int seals, void **ret)
{
	void *addr;

	if (bytes > INT64_MAX || ftruncate(fd, (off_t)bytes) != 0 ||
	    fcntl(fd, F_ADD_SEALS, seals) != 0)
		return bytes > INT64_MAX ? -EFBIG : -errno;
	addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (addr == MAP_FAILED)
		return -errno;
	*ret = addr;
	return 0;
}

int m0_attach__mem_make(const char *name, uint64_t bytes, bool fixed,
			void **ret)
{
	int fd = mem_open(name);
	int rc;

	if (fd < 0)
		return fd;
	rc = mem_fill(fd, bytes,
		      fixed ? F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL
			    : F_SEAL_SHRINK,
		      ret);
	if (rc == 0)
		return fd;
	(void)close(fd);
	return rc;
}

static int mem_check(int fd, uint64_t bytes, char why[M0_ATTACH_WHY_BYTES])
{
	struct stat   st;
	struct statfs fs;
	int           seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || fstat(fd, &st) != 0 || fstatfs(fd, &fs) != 0)
		return m0_attach__why(why, -EINVAL,
				      "the descriptor is of no memfd: %s",
				      m0_errname(errno));
	if ((seals & F_SEAL_SHRINK) == 0)
		return m0_attach__why(why, -EINVAL,
				      "the memfd could shrink while it is "
				      "mapped: seal it by F_SEAL_SHRINK");
	if (fs.f_type != TMPFS_MAGIC)
		return m0_attach__why(why, -EINVAL,
				      "the memfd has pages of a huge size: "
				      "without MFD_HUGETLB it is accepted");
	if (bytes == 0 || st.st_size < 0 || (uint64_t)st.st_size < bytes)
		return m0_attach__why(why, -EINVAL,
				      "bytes %llu: 1 to %lld, which the memfd "
				      "has, is accepted",
				      (unsigned long long)bytes,
				      (long long)st.st_size);
	return 0;
}

int m0_attach__mem_map(int fd, uint64_t bytes, void **ret,
		       char why[M0_ATTACH_WHY_BYTES])
{
	void *addr;
	int   rc = mem_check(fd, bytes, why);

	if (rc != 0)
		return rc;
	addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (addr == MAP_FAILED) {
		rc = -errno;
		return m0_attach__why(why, rc,
				      "%llu bytes cannot be mapped to be "
				      "written: %s",
				      (unsigned long long)bytes,
				      m0_errname(rc));
	}
	*ret = addr;
	return 0;
}

void m0_attach__mem_unmap(void *addr, uint64_t bytes)
{
	if (addr != NULL)
		(void)munmap(addr, bytes);
}
