/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The directory of a store: its lock, and the marks in its file. All numbers
 * are in the byte order of the host, as LMDB's are.
 */
#include "store_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "os/os.h"

int m0_store__refuse(int rc, const char *path, const char *what,
		     const char *advice)
{
	m0_log(M0_LOG_ERROR, "store %s: %s (%s). %s", path, what,
	       m0_errname(rc), advice);
	return rc;
}

int m0_store__dir_sync(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || fsync(fd) != 0 ? -errno : 0;

	if (fd >= 0)
		(void)close(fd);
	return rc;
}

bool m0_store__is_full(int fd)
{
	enum {
		NEXT_TO_NONE = 1 << 20
	};
	struct statvfs st;

	return fstatvfs(fd, &st) == 0 &&
	       st.f_bavail * (m0_bcount_t)st.f_bsize < NEXT_TO_NONE;
}

/** Sync the parent of `dir`, which holds its name. */
static int parent_sync(const char *dir)
{
	char path[4096];

	if (snprintf(path, sizeof path, "%s/..", dir) >= (int)sizeof path)
		return -ENAMETOOLONG;
	return m0_store__dir_sync(path);
}

int m0_store__lock(const char *dir)
{
	char path[4096];
	bool made = mkdir(dir, 0700) == 0;
	int  fd;
	int  rc = 0;

	if (!made && errno != EEXIST)
		return m0_store__refuse(-errno, dir, "cannot be made",
					"Its parent must be there and be "
					"writable.");
	if (snprintf(path, sizeof path, "%s/store.lock", dir) >=
	    (int)sizeof path)
		return -ENAMETOOLONG;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return m0_store__refuse(-errno, path, "cannot be opened",
					"The directory must be writable.");
	if (made)
		rc = parent_sync(dir);
	if (rc == 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
		rc = errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (rc == 0)
		return fd;
	(void)close(fd);
	return m0_store__refuse(rc, path, "cannot be locked",
				rc == -EBUSY
					? "Another server has it open: "
					  "stop that one, or give this one "
					  "a directory of its own."
					: "The directory must be on a "
					  "file system with locks.");
}

/* --------------------------------------------------------------- marks -- */

static const char magic[8] = M0_STORE__MARK_MAGIC;

/* Layout: magic, version, sum of the rest, transaction, zeroes. */
enum {
	AT_VERSION = 8,
	AT_SUM = 12,
	AT_TX = 16
};

static uint32_t mark_sum(const uint8_t *bytes)
{
	return m0_os_crc32c(m0_os_crc32c(0, bytes, AT_SUM), bytes + AT_TX,
			    M0_STORE__MARK_BYTES - AT_TX);
}

void m0_store__mark_encode(uint8_t bytes[], const struct m0_store__mark *mark)
{
	uint32_t sum;

	memset(bytes, 0, M0_STORE__MARK_BYTES);
	memcpy(bytes, magic, sizeof magic);
	memcpy(bytes + AT_VERSION, &mark->smk_version, 4);
	memcpy(bytes + AT_TX, &mark->smk_tx, 8);
	sum = mark_sum(bytes);
	memcpy(bytes + AT_SUM, &sum, sizeof sum);
}

int m0_store__mark_decode(const void *bytes, size_t nr,
			  struct m0_store__mark *ret)
{
	const uint8_t *at = bytes;
	uint32_t       sum;

	if (nr < M0_STORE__MARK_BYTES || memcmp(at, magic, sizeof magic) != 0)
		return -EMEDIUMTYPE;
	memcpy(&ret->smk_version, at + AT_VERSION, 4);
	memcpy(&ret->smk_tx, at + AT_TX, 8);
	memcpy(&sum, at + AT_SUM, sizeof sum);
	return sum == mark_sum(at) ? 0 : -EUCLEAN;
}
