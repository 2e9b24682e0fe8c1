/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The two files of a copy. The source is read at offsets and must be at the end
 * what it was at the start. The destination is written to a file without a
 * name (or, where the file system has none such, with a temporary one), which
 * gets its name in one step when it is complete and on the disk: other processes
 * see the old file, or the new one, or none.
 */
#ifndef M0_TOOLS_COPY_FILE_H
#define M0_TOOLS_COPY_FILE_H

#include <limits.h>
#include <sys/stat.h>

#include "m0/base.h"

#include "../base/cmd.h"
#include "../base/hash.h"

struct src_file {
	const char *sf_path;
	int         sf_fd;
	/** As it was when opened. */
	struct stat sf_stat;
};

/** Opens a regular file. Returns 0, or an exit code, with `fail` set. */
int  src_file_open(struct src_file *src, const char *path,
		   struct tool_fail *fail);
void src_file_close(struct src_file *src);
/**
 * Reads [off, off + nr) into the start of `buf`.
 * @retval -ENODATA  the file ends before that.
 */
int src_file_read(struct src_file *src, const struct m0_bufvec *buf,
		  uint64_t off, uint64_t nr);
/**
 * Is the file still what was opened?
 * @retval -ESTALE  no: its size or its time of modification is another.
 */
int src_file_check(const struct src_file *src);

struct dst_file {
	/** Final path of the file; if it named a directory, the name within
	 * it. */
	char df_path[PATH_MAX];
	/** Last component of df_path. */
	char *df_name;
	/** The directory. */
	int df_dir_fd;
	/** The new file. */
	int df_fd;
	/** Its temporary name in the directory; empty: it has none. */
	char df_tmp[64];
	/** Bytes written so far without a hole, whose write-back was started. */
	uint64_t df_flushed;
	/** The file has its final name. */
	bool df_committed;
};

/**
 * Decides the name, refuses what cannot be replaced, and makes the new file.
 * Returns 0, or an exit code, with `fail` set; then there is nothing to drop.
 */
int dst_file_open(struct dst_file *dst, const char *path,
		  const struct src_file *src, struct tool_fail *fail);
/**
 * Opens the destination for a name that an untrusted peer gives: relative,
 * without "..", below the directory `dir_fd` and through no symbolic link. In a
 * directory the file is called `base`.
 */
int dst_file_open_below(struct dst_file *dst, int dir_fd, const char *name,
			const char *base, struct tool_fail *fail);
/** Part of both: makes the new file in df_dir_fd. */
int dst_file_make(struct dst_file *dst, struct tool_fail *fail);
/** Writes the first `nr` bytes of `buf` at `off`. */
int dst_file_write(struct dst_file *dst, const struct m0_bufvec *buf,
		   uint64_t off, uint64_t nr);
/**
 * Reads the new file back.
 * @param stop  looked at now and then: true ends it with -ECANCELED; or NULL.
 * @retval -EIO  it is not `size` bytes long.
 */
int dst_file_hash(struct dst_file *dst, uint64_t size, const bool *stop,
		  uint8_t ret[HASH_BYTES]);
/** Sets the mode and waits until all is on the disk. */
int dst_file_sync(struct dst_file *dst, mode_t mode);
/** Gives the new file its name and syncs the directory. */
int dst_file_commit(struct dst_file *dst);
/** Ends the new file if it was not committed, and closes. */
void dst_file_close(struct dst_file *dst);

#endif /* M0_TOOLS_COPY_FILE_H */
