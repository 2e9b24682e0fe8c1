/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "copy_file.h"

enum {
	/** Segments handled in one system call. */
	IOV_NR = 16,
	/** Written bytes that are sent on to the disk together. */
	FLUSH_BYTES = 8 << 20,
	/** Bytes read back at a time. */
	HASH_CHUNK = 256 << 10
};

/* ------------------------------------------------------------- source -- */

static const char *kind_of(mode_t mode)
{
	return S_ISDIR(mode)    ? "a directory"
	       : S_ISFIFO(mode) ? "a pipe"
	       : S_ISSOCK(mode) ? "a socket"
				: "a device";
}

static int src_refuse(struct src_file *src, struct tool_fail *fail)
{
	const char *hint = S_ISDIR(src->sf_stat.st_mode)
				   ? "; pack it first, for example with tar"
				   : "";

	return tool_fail_set(fail, TOOL_USAGE,
			     "SRC '%s' is %s; accepted: a regular file%s",
			     src->sf_path, kind_of(src->sf_stat.st_mode), hint);
}

int src_file_open(struct src_file *src, const char *path,
		  struct tool_fail *fail)
{
	int rc;

	src->sf_path = path;
	/* Not blocking, so that a pipe is refused and not waited for. */
	src->sf_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (src->sf_fd < 0)
		return tool_fail_set(fail, TOOL_USAGE,
				     "SRC '%s' cannot be read: %s", path,
				     tool_errtext(errno));
	if (fstat(src->sf_fd, &src->sf_stat) != 0)
		rc = tool_fail_set(fail, TOOL_FAILED, "SRC '%s': %s", path,
				   tool_errtext(errno));
	else
		rc = S_ISREG(src->sf_stat.st_mode) ? 0 : src_refuse(src, fail);
	if (rc != 0)
		src_file_close(src);
	else
		(void)posix_fadvise(src->sf_fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return rc;
}

void src_file_close(struct src_file *src)
{
	if (src->sf_fd >= 0)
		(void)close(src->sf_fd);
	src->sf_fd = -1;
}

typedef ssize_t (*file_io_t)(int fd, const struct iovec *iov, int nr,
			     off_t off);

/* Moves [0, nr) of `buf` by as many calls as it takes. */
static int file_io(file_io_t io, int fd, const struct m0_bufvec *buf,
		   uint64_t off, uint64_t nr)
{
	struct iovec iov[IOV_NR];
	uint64_t     done = 0;

	while (done < nr) {
		uint32_t iov_nr = m0_bufvec_iovec(buf, done, nr - done, iov,
						  IOV_NR, NULL);
		ssize_t  got = io(fd, iov, (int)iov_nr, (off_t)(off + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -ENODATA;
		done += (uint64_t)got;
	}
	return 0;
}

int src_file_read(struct src_file *src, const struct m0_bufvec *buf,
		  uint64_t off, uint64_t nr)
{
	return file_io(preadv, src->sf_fd, buf, off, nr);
}

int src_file_check(const struct src_file *src)
{
	const struct stat *old = &src->sf_stat;
	struct stat        now;
	char               byte;

	if (fstat(src->sf_fd, &now) != 0)
		return -errno;
	if (now.st_size != old->st_size ||
	    now.st_mtim.tv_sec != old->st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != old->st_mtim.tv_nsec)
		return -ESTALE;
	/* Files of /proc say that they are empty, and are not. */
	return pread(src->sf_fd, &byte, 1, now.st_size) > 0 ? -ESTALE : 0;
}

/* -------------------------------------------------------- destination -- */

static int dst_refuse(struct tool_fail *fail, const char *path, const char *why)
{
	return tool_fail_set(fail, TOOL_USAGE, "DST '%s' %s", path, why);
}

static int dst_name_too_long(struct tool_fail *fail, const char *path)
{
	return dst_refuse(fail, path, "is too long a name");
}

/* A directory: the file in it that is called as the source is. */
static int dst_in_directory(char ret[PATH_MAX], const char *path,
			    const char *src_path, struct tool_fail *fail)
{
	const char *slash = strrchr(src_path, '/');
	const char *name = slash != NULL ? slash + 1 : src_path;
	int         nr = snprintf(ret, PATH_MAX, "%s/%s", path, name);

	return nr < PATH_MAX ? 0 : dst_name_too_long(fail, path);
}

/* Finds what `path` names: through directories and symbolic links. */
static int dst_resolve(struct dst_file *dst, const char *path,
		       const struct src_file *src, struct tool_fail *fail)
{
	char        name[PATH_MAX];
	struct stat st;
	int         rc;

	if (strlen(path) >= sizeof name)
		return dst_name_too_long(fail, path);
	strcpy(name, path);
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		rc = dst_in_directory(name, path, src->sf_path, fail);
		if (rc != 0)
			return rc;
	}
	if (lstat(name, &st) == 0 && S_ISLNK(st.st_mode)) {
		if (realpath(name, dst->df_path) == NULL)
			return dst_refuse(fail, name,
					  "is a symbolic link that "
					  "leads nowhere; remove it, or name "
					  "the file");
		return 0;
	}
	strcpy(dst->df_path, name);
	return 0;
}

/* May what is there be replaced? */
static int dst_check(const struct dst_file *dst, const struct src_file *src,
		     struct tool_fail *fail)
{
	struct stat st;

	if (stat(dst->df_path, &st) != 0)
		return 0;
	if (st.st_dev == src->sf_stat.st_dev &&
	    st.st_ino == src->sf_stat.st_ino)
		return tool_fail_set(fail, TOOL_USAGE,
				     "DST '%s' is the same file as SRC '%s'; "
				     "give it another name",
				     dst->df_path, src->sf_path);
	if (!S_ISREG(st.st_mode))
		return tool_fail_set(fail, TOOL_USAGE,
				     "DST '%s' is %s; accepted: a regular "
				     "file, a directory, or a new name",
				     dst->df_path, kind_of(st.st_mode));
	return 0;
}

static int dst_dir_open(struct dst_file *dst, struct tool_fail *fail)
{
	char *slash = strrchr(dst->df_path, '/');
	char  dir[PATH_MAX] = ".";
	int   rc;

	dst->df_name = slash != NULL ? slash + 1 : dst->df_path;
	if (slash != NULL) {
		size_t len = slash == dst->df_path
				     ? 1
				     : (size_t)(slash - dst->df_path);

		memcpy(dir, dst->df_path, len);
		dir[len] = '\0';
	}
	dst->df_dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = errno;
	if (dst->df_dir_fd < 0)
		return tool_fail_set(fail, TOOL_USAGE,
				     "DST '%s': directory '%s': %s%s",
				     dst->df_path, dir, tool_errtext(rc),
				     rc == ENOENT ? "; make it first" : "");
	if (dst->df_name[0] == '\0')
		return dst_refuse(fail, dst->df_path,
				  "ends in a slash but is "
				  "no directory; make it first");
	if (strlen(dst->df_name) > NAME_MAX)
		return dst_name_too_long(fail, dst->df_path);
	return 0;
}

/* A name that nobody else uses, hidden, in the directory of the destination. */
static int dst_tmp_name(struct dst_file *dst)
{
	uint64_t random;

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return -EAGAIN;
	snprintf(dst->df_tmp, sizeof dst->df_tmp, ".colibri-%016" PRIx64,
		 random);
	return 0;
}

static int dst_tmp_named(struct dst_file *dst)
{
	int rc = dst_tmp_name(dst);

	if (rc != 0)
		return rc;
	dst->df_fd = openat(dst->df_dir_fd, dst->df_tmp,
			    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (dst->df_fd < 0) {
		dst->df_tmp[0] = '\0';
		return -errno;
	}
	return 0;
}

/* A file without a name ends by itself, whatever becomes of us. */
static int dst_tmp_open(struct dst_file *dst)
{
	dst->df_fd = -1;
	if (access("/proc/self/fd", X_OK) == 0)
		dst->df_fd = openat(dst->df_dir_fd, ".",
				    O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (dst->df_fd >= 0)
		return 0;
	return dst_tmp_named(dst);
}

int dst_file_make(struct dst_file *dst, struct tool_fail *fail)
{
	int rc = dst_tmp_open(dst);

	if (rc == 0)
		return 0;
	return tool_fail_set(fail, rc == -ENOSPC ? TOOL_FAILED : TOOL_USAGE,
			     "DST '%s': no file can be made in "
			     "its directory: %s",
			     dst->df_path, tool_errtext(rc));
}

int dst_file_open(struct dst_file *dst, const char *path,
		  const struct src_file *src, struct tool_fail *fail)
{
	int rc;

	M0_SET0(dst);
	dst->df_fd = -1;
	dst->df_dir_fd = -1;
	if (path[0] == '\0')
		return dst_refuse(fail, path, "is empty; accepted: a name");
	rc = dst_resolve(dst, path, src, fail);
	if (rc == 0)
		rc = dst_check(dst, src, fail);
	if (rc == 0)
		rc = dst_dir_open(dst, fail);
	if (rc == 0)
		rc = dst_file_make(dst, fail);
	if (rc != 0)
		dst_file_close(dst);
	return rc;
}

int dst_file_write(struct dst_file *dst, const struct m0_bufvec *buf,
		   uint64_t off, uint64_t nr)
{
	int rc = file_io(pwritev, dst->df_fd, buf, off, nr);

	if (rc != 0)
		return rc == -ENODATA ? -EIO : rc;
	/* Let the disk begin early: the sync at the end then has less to do. */
	if (off + nr - dst->df_flushed >= FLUSH_BYTES) {
		(void)sync_file_range(dst->df_fd, (off64_t)dst->df_flushed,
				      (off64_t)(off + nr - dst->df_flushed),
				      SYNC_FILE_RANGE_WRITE);
		dst->df_flushed = off + nr;
	}
	return 0;
}

static int dst_hash_chunks(struct dst_file *dst, uint64_t size,
			   const bool *stop, struct hash *hash, void *chunk)
{
	uint64_t off = 0;

	for (;;) {
		ssize_t got = pread(dst->df_fd, chunk, HASH_CHUNK, (off_t)off);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return off == size ? 0 : -EIO;
		hash_update(hash, chunk, (size_t)got);
		off += (uint64_t)got;
		if (stop != NULL && __atomic_load_n(stop, __ATOMIC_RELAXED))
			return -ECANCELED;
	}
}

int dst_file_hash(struct dst_file *dst, uint64_t size, const bool *stop,
		  uint8_t ret[HASH_BYTES])
{
	struct hash *hash = hash_alloc();
	void        *chunk = m0_alloc(HASH_CHUNK);
	int          rc = -ENOMEM;

	if (hash != NULL && chunk != NULL)
		rc = dst_hash_chunks(dst, size, stop, hash, chunk);
	if (rc == 0)
		hash_value(hash, ret);
	m0_free(chunk);
	hash_free(hash);
	return rc;
}

int dst_file_sync(struct dst_file *dst, mode_t mode)
{
	return fchmod(dst->df_fd, mode) == 0 && fsync(dst->df_fd) == 0 ? 0
								       : -errno;
}

static int dst_link(const struct dst_file *dst, const char *name)
{
	char from[64];

	snprintf(from, sizeof from, "/proc/self/fd/%d", dst->df_fd);
	return linkat(AT_FDCWD, from, dst->df_dir_fd, name, AT_SYMLINK_FOLLOW);
}

/* Gives a file without a name a temporary one. */
static int dst_tmp_link(struct dst_file *dst)
{
	int rc = dst_tmp_name(dst);

	if (rc != 0)
		return rc;
	if (dst_link(dst, dst->df_tmp) != 0) {
		dst->df_tmp[0] = '\0';
		return -errno;
	}
	return 0;
}

static int dst_dir_sync(struct dst_file *dst)
{
	dst->df_tmp[0] = '\0';
	dst->df_committed = true;
	return fsync(dst->df_dir_fd) == 0 ? 0 : -errno;
}

int dst_file_commit(struct dst_file *dst)
{
	int rc;

	if (dst->df_tmp[0] == '\0') {
		/* Where nothing is to be replaced one step does it. */
		if (dst_link(dst, dst->df_name) == 0)
			return dst_dir_sync(dst);
		rc = dst_tmp_link(dst);
		if (rc != 0)
			return rc;
	}
	if (renameat(dst->df_dir_fd, dst->df_tmp, dst->df_dir_fd,
		     dst->df_name) != 0)
		return -errno;
	return dst_dir_sync(dst);
}

void dst_file_close(struct dst_file *dst)
{
	if (dst->df_fd >= 0)
		(void)close(dst->df_fd);
	if (dst->df_tmp[0] != '\0')
		(void)unlinkat(dst->df_dir_fd, dst->df_tmp, 0);
	if (dst->df_dir_fd >= 0)
		(void)close(dst->df_dir_fd);
	dst->df_tmp[0] = '\0';
	dst->df_fd = -1;
	dst->df_dir_fd = -1;
}
