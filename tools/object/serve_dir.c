/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * DIR/.colibri: `format`, what it is; `lock`, held while a service runs; `boot`,
 * of which start of the machine the files are; `data`, the files; `store`.
 *
 * Nothing that a client sends becomes a part of a path: files are named by
 * numbers, and opened below descriptors.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve.h"
#include "../base/text.h"

#define HOME        ".colibri"
#define FORMAT_TEXT "colibri object service 1 "
#define BOOT_PATH   "/proc/sys/kernel/random/boot_id"

enum {
	/** "ab/" and 32 digits and ".sums". */
	FILE_NAME_MAX = 3 + 2 * OBJ_ID_BYTES + 6,
	TEXT_BYTES = 128
};

static void file_name(char ret[FILE_NAME_MAX], const uint8_t *id,
		      const char *suffix)
{
	char hex[2 * OBJ_ID_BYTES + 1];

	text_hex(hex, id, OBJ_ID_BYTES);
	snprintf(ret, FILE_NAME_MAX, "%.2s/%s%s", hex, hex, suffix);
}

/* ---------------------------------------------------------------- files -- */

static int part_open(const struct serve_dir *dir, const uint8_t *id,
		     const char *suffix, int flags)
{
	char name[FILE_NAME_MAX];
	char sub[3];
	int  fd;

	file_name(name, id, suffix);
	fd = openat(dir->sd_data_fd, name, flags | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0 && errno == ENOENT && (flags & O_CREAT)) {
		snprintf(sub, sizeof sub, "%.2s", name);
		if (mkdirat(dir->sd_data_fd, sub, 0700) != 0 && errno != EEXIST)
			return -errno;
		fd = openat(dir->sd_data_fd, name,
			    flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	}
	return fd < 0 ? -errno : fd;
}

int serve_file_open(struct serve_file *file, const struct serve_dir *dir,
		    const uint8_t *id, int flags)
{
	int rc;

	file->sfi_data_fd = part_open(dir, id, "", flags);
	if (file->sfi_data_fd < 0)
		return file->sfi_data_fd;
	file->sfi_sums_fd = part_open(dir, id, ".sums", flags);
	if (file->sfi_sums_fd >= 0)
		return 0;
	rc = file->sfi_sums_fd;
	(void)close(file->sfi_data_fd);
	return rc;
}

void serve_file_close(struct serve_file *file)
{
	(void)close(file->sfi_data_fd);
	(void)close(file->sfi_sums_fd);
}

static int dir_sync(int at, const char *name)
{
	int fd = openat(at, name,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int rc;

	if (fd < 0)
		return -errno;
	rc = fsync(fd) != 0 ? -errno : 0;
	(void)close(fd);
	return rc;
}

int serve_file_sync(const struct serve_file *file, const struct serve_dir *dir,
		    const uint8_t *id)
{
	char name[FILE_NAME_MAX];
	int  rc;

	if (fsync(file->sfi_data_fd) != 0 || fsync(file->sfi_sums_fd) != 0)
		return -errno;
	file_name(name, id, "");
	name[2] = '\0';
	rc = dir_sync(dir->sd_data_fd, name);
	return rc != 0 ? rc : dir_sync(dir->sd_data_fd, ".");
}

int serve_file_unlink(const struct serve_dir *dir, const uint8_t *id)
{
	char name[FILE_NAME_MAX];

	file_name(name, id, ".sums");
	if (unlinkat(dir->sd_data_fd, name, 0) != 0 && errno != ENOENT)
		return -errno;
	file_name(name, id, "");
	if (unlinkat(dir->sd_data_fd, name, 0) != 0 && errno != ENOENT)
		return -errno;
	return 0;
}

int serve_file_gone_sync(const struct serve_dir *dir, const uint8_t *id)
{
	char name[FILE_NAME_MAX];
	int  rc;

	file_name(name, id, "");
	name[2] = '\0';
	rc = dir_sync(dir->sd_data_fd, name);
	return rc == -ENOENT ? 0 : rc;
}

int serve_file_forget(const struct serve_dir *dir, const uint8_t *id)
{
	int fd = part_open(dir, id, ".sums", O_WRONLY | O_TRUNC);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	(void)close(fd);
	return 0;
}

uint64_t serve_file_mtime_ns(const struct serve_dir *dir, const uint8_t *id)
{
	char        name[FILE_NAME_MAX];
	struct stat st;

	file_name(name, id, "");
	if (fstatat(dir->sd_data_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	return (uint64_t)st.st_mtim.tv_sec * M0_TIME_ONE_SECOND +
	       (uint64_t)st.st_mtim.tv_nsec;
}

/* ------------------------------------------------------------- opening -- */

/* A small file, as text; empty if there is none. */
static int text_get(int at, const char *name, char ret[TEXT_BYTES])
{
	int     fd = openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t nr = 0;

	ret[0] = '\0';
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	nr = read(fd, ret, TEXT_BYTES - 1);
	(void)close(fd);
	if (nr < 0)
		return -errno;
	ret[nr] = '\0';
	return 0;
}

/* Replaces it in one step. */
static int text_put(int at, const char *name, const char *text)
{
	char tmp[TEXT_BYTES];
	int  fd;
	int  rc = 0;

	snprintf(tmp, sizeof tmp, "%s.new", name);
	fd = openat(at, tmp,
		    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0600);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    fsync(fd) != 0 || renameat(at, tmp, at, name) != 0 ||
	    fsync(at) != 0)
		rc = errno != 0 ? -errno : -EIO;
	(void)close(fd);
	return rc;
}

static int dir_below(int at, const char *name, bool *ret_new)
{
	int fd;

	*ret_new = mkdirat(at, name, 0700) == 0;
	if (!*ret_new && errno != EEXIST)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

/* Removes what an earlier service has left there. */
static int data_clear(int at)
{
	char           sub[3];
	DIR           *dir;
	struct dirent *entry;
	int            fd;
	int            i;

	for (i = 0; i < 256; ++i) {
		snprintf(sub, sizeof sub, "%02x", (unsigned)i);
		fd = openat(at, sub,
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		dir = fd < 0 ? NULL : fdopendir(fd);
		if (dir == NULL)
			continue;
		while ((entry = readdir(dir)) != NULL)
			if (entry->d_name[0] != '.')
				(void)unlinkat(fd, entry->d_name, 0);
		(void)closedir(dir);
	}
	return 0;
}

static int lock_take(struct serve_dir *dir, const char *path,
		     struct tool_fail *fail)
{
	char text[TEXT_BYTES] = "";
	char pid[TEXT_MAX];

	dir->sd_lock_fd = openat(dir->sd_home_fd, "lock",
				 O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
				 0600);
	if (dir->sd_lock_fd < 0)
		return tool_fail_set(fail, TOOL_FAILED,
				     "DIR '%s': " HOME "/lock: %s", path,
				     tool_errtext(errno));
	if (flock(dir->sd_lock_fd, LOCK_EX | LOCK_NB) != 0) {
		(void)text_get(dir->sd_home_fd, "lock", text);
		text_make_printable(text);
		return tool_fail_set(fail, TOOL_FAILED,
				     "DIR '%s' is served already, by process "
				     "%s; a directory has one service: end "
				     "that one first, or serve another",
				     path, text);
	}
	snprintf(pid, sizeof pid, "%d", (int)getpid());
	if (ftruncate(dir->sd_lock_fd, 0) != 0 ||
	    pwrite(dir->sd_lock_fd, pid, strlen(pid), 0) < 0)
		return tool_fail_set(fail, TOOL_FAILED,
				     "DIR '%s': " HOME "/lock: %s", path,
				     tool_errtext(errno));
	return 0;
}

static bool uuid_parse(const char *text, uint8_t ret[OBJ_ID_BYTES])
{
	unsigned byte;
	int      i;

	for (i = 0; i < OBJ_ID_BYTES; ++i) {
		if (sscanf(text + 2 * i, "%2x", &byte) != 1)
			return false;
		ret[i] = (uint8_t)byte;
	}
	return true;
}

static int format_make(struct serve_dir *dir)
{
	char text[TEXT_BYTES];
	char hex[2 * OBJ_ID_BYTES + 1];

	if (getrandom(dir->sd_uuid, OBJ_ID_BYTES, 0) != OBJ_ID_BYTES)
		return -EIO;
	text_hex(hex, dir->sd_uuid, OBJ_ID_BYTES);
	snprintf(text, sizeof text, FORMAT_TEXT "%s\n", hex);
	return text_put(dir->sd_home_fd, "format", text);
}

/* A directory that has a format file belongs to a service entirely. */
static int format_check(struct serve_dir *dir, const char *path,
			struct tool_fail *fail)
{
	char   text[TEXT_BYTES];
	size_t head = sizeof FORMAT_TEXT - 1;
	int    rc = text_get(dir->sd_home_fd, "format", text);

	if (rc == 0 && text[0] == '\0') {
		if (faccessat(dir->sd_home_fd, "data", F_OK, 0) == 0 ||
		    faccessat(dir->sd_home_fd, "store", F_OK, 0) == 0)
			return tool_fail_set(
				fail, TOOL_FAILED,
				"DIR '%s': " HOME
				" has data and no file `format': it is "
				"damaged, or not of a service; restore it from "
				"a copy, or move " HOME " away to begin anew",
				path);
		rc = format_make(dir);
	} else if (rc == 0 && (strncmp(text, FORMAT_TEXT, head) != 0 ||
			       !uuid_parse(text + head, dir->sd_uuid))) {
		return tool_fail_set(fail, TOOL_FAILED,
				     "DIR '%s': " HOME "/format is not of this "
				     "version's service; use the version that "
				     "made it, or move " HOME
				     " away to begin anew",
				     path);
	}
	if (rc != 0)
		return tool_fail_set(fail, TOOL_FAILED,
				     "DIR '%s': " HOME "/format: %s", path,
				     tool_errtext(rc));
	return 0;
}

bool serve_dir_has_files(const struct serve_dir *dir)
{
	char     sub[3];
	unsigned i;

	for (i = 0; i < 256; ++i) {
		snprintf(sub, sizeof sub, "%02x", i);
		if (faccessat(dir->sd_data_fd, sub, F_OK, 0) == 0)
			return true;
	}
	return false;
}

static bool store_is_lost(const struct serve_dir *dir)
{
	return faccessat(dir->sd_home_fd, "store/store.mdb", F_OK, 0) != 0 &&
	       errno == ENOENT && serve_dir_has_files(dir);
}

static int boot_look(struct serve_dir *dir)
{
	char now[TEXT_BYTES];
	char then[TEXT_BYTES] = "";
	int  rc = text_get(AT_FDCWD, BOOT_PATH, now);

	if (rc == 0)
		rc = text_get(dir->sd_home_fd, "boot", then);
	dir->sd_rebooted = now[0] == '\0' || strcmp(now, then) != 0;
	return rc;
}

int serve_dir_boot_note(struct serve_dir *dir)
{
	char now[TEXT_BYTES];
	int  rc = text_get(AT_FDCWD, BOOT_PATH, now);

	return rc == 0 && dir->sd_rebooted
		       ? text_put(dir->sd_home_fd, "boot", now)
		       : rc;
}

static int home_open(struct serve_dir *dir, const char *path,
		     struct tool_fail *fail)
{
	bool made;
	int  fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return tool_fail_set(fail, TOOL_USAGE, "DIR '%s': %s", path,
				     tool_errtext(errno));
	dir->sd_home_fd = dir_below(fd, HOME, &made);
	if (dir->sd_home_fd >= 0 &&
	    faccessat(dir->sd_home_fd, ".", W_OK | X_OK, AT_EACCESS) != 0) {
		(void)close(dir->sd_home_fd);
		dir->sd_home_fd = -errno;
	}
	if (made)
		(void)fsync(fd);
	(void)close(fd);
	if (dir->sd_home_fd < 0)
		return tool_fail_set(fail, TOOL_USAGE,
				     "DIR '%s' cannot be written to: " HOME
				     ": %s; name a directory that can",
				     path, tool_errtext(dir->sd_home_fd));
	return 0;
}

int serve_dir_open(struct serve_dir *dir, const char *path, bool fresh,
		   struct tool_fail *fail)
{
	const char *data = fresh ? "volatile" : "data";
	bool        made;
	int         rc;

	dir->sd_home_fd = dir->sd_data_fd = dir->sd_lock_fd = -1;
	if (home_open(dir, path, fail) != 0 ||
	    lock_take(dir, path, fail) != 0 ||
	    format_check(dir, path, fail) != 0)
		return fail->tf_exit;
	rc = boot_look(dir);
	if (rc == 0) {
		dir->sd_data_fd = dir_below(dir->sd_home_fd, data, &made);
		rc = dir->sd_data_fd < 0 ? dir->sd_data_fd : 0;
	}
	if (rc == 0 && made)
		rc = dir_sync(dir->sd_home_fd, ".");
	if (rc == 0 && fresh)
		rc = data_clear(dir->sd_data_fd);
	if (rc != 0)
		return tool_fail_set(fail, TOOL_FAILED,
				     "DIR '%s': " HOME "/%s: %s", path, data,
				     tool_errtext(rc));
	if (!fresh && store_is_lost(dir))
		return tool_fail_set(fail, TOOL_FAILED,
				     "DIR '%s': " HOME " has data and no store "
				     "that names it; restore " HOME " from a "
				     "copy, or move it away to begin anew",
				     path);
	return 0;
}

void serve_dir_close(struct serve_dir *dir)
{
	if (dir->sd_data_fd >= 0)
		(void)close(dir->sd_data_fd);
	if (dir->sd_lock_fd >= 0)
		(void)close(dir->sd_lock_fd);
	if (dir->sd_home_fd >= 0)
		(void)close(dir->sd_home_fd);
}
