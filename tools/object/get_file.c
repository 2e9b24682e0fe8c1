/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A large object is written to a hidden part file next to where it shall be,
 * named by the object's file: another get of the same object compares it, block
 * by block, with the sums of the service, and fetches the rest. It is locked: one
 * that comes at the same time takes another, as what has got its name is not to
 * be written to.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "get_dst.h"
#include "get_file.h"
#include "../base/text.h"

enum {
	/** The local side's, not the service's. */
	LOCAL_ERROR = 1 << 16,
	/** Gets of one object to one place at a time. */
	PARTS_MAX = 16
};

struct get_file *get_file_new(struct obj_job *job, const char *name,
			      int root_fd, const char *dst)
{
	struct get_file *file;

	M0_ALLOC_PTR(file);
	if (file == NULL)
		return NULL;
	file->gf_job = job;
	file->gf_root_fd = root_fd;
	file->gf_dir_fd = -1;
	file->gf_fd = -1;
	file->gf_name = strdup(name);
	file->gf_dst = strdup(dst);
	if (file->gf_name == NULL || file->gf_dst == NULL) {
		get_file_free(file);
		file = NULL;
	}
	return file;
}

static void part_close(struct get_file *file)
{
	if (file->gf_fd >= 0)
		(void)close(file->gf_fd);
	if (file->gf_dir_fd >= 0)
		(void)close(file->gf_dir_fd);
	file->gf_fd = -1;
	file->gf_dir_fd = -1;
	m0_free(file->gf_sums);
	m0_free(file->gf_have);
	file->gf_sums = NULL;
	file->gf_have = NULL;
}

void get_file_free(struct get_file *file)
{
	part_close(file);
	free(file->gf_name);
	free(file->gf_dst);
	m0_free(file);
}

/* ------------------------------------------------------------ the file -- */

/* Marks an error as local, so that it is not reported as the service's. */
static void local_fail(struct get_file *file, int rc)
{
	if (file->gf_rc == 0)
		file->gf_rc = rc - LOCAL_ERROR;
}

/* Is it a file that this user has made for itself alone? In a shared directory
 * others may have put something in its place. */
static bool part_is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	       st->st_nlink == 1 && (st->st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

/* Is it nobody else's, and what has its name still? */
static int part_lock(const struct get_file *file, int fd, struct stat *ret)
{
	struct stat named;

	if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return -EBUSY;
	if (fstat(fd, ret) != 0)
		return -errno;
	return part_is_ours(ret) &&
			       fstatat(file->gf_dir_fd, file->gf_tmp, &named,
				       AT_SYMLINK_NOFOLLOW) == 0 &&
			       named.st_dev == ret->st_dev &&
			       named.st_ino == ret->st_ino
		       ? 0
		       : -EBUSY;
}

/* Makes the part file, or opens one that is there, of a get that was cut.
 * @retval -EBUSY  what is there can be none, or has just gone. */
static int part_make(const struct get_file *file)
{
	int fd = openat(file->gf_dir_fd, file->gf_tmp,
			O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST) {
		fd = openat(file->gf_dir_fd, file->gf_tmp,
			    O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
				    O_NOCTTY);
		if (fd < 0)
			return -EBUSY;
	}
	return fd < 0 ? -errno : fd;
}

/* Opens the i-th. @retval -EBUSY  another get has it, or had. */
static int part_try(struct get_file *file, const char *hex, unsigned i,
		    struct stat *ret)
{
	char nth[TEXT_MAX] = "";
	int  fd;
	int  rc;

	if (i > 0)
		snprintf(nth, sizeof nth, ".%u", i);
	snprintf(file->gf_tmp, sizeof file->gf_tmp, ".colibri-%s%s.part", hex,
		 nth);
	fd = part_make(file);
	if (fd < 0)
		return fd;
	rc = part_lock(file, fd, ret);
	if (rc == 0)
		file->gf_fd = fd;
	else
		(void)close(fd);
	return rc;
}

/* Makes the common part of the names of part files. */
static int part_name(const struct get_file *file, char ret[2 * HASH_BYTES + 1])
{
	uint8_t      key[HASH_BYTES];
	const char  *base = get_dst_base(file->gf_dst);
	struct hash *hash = hash_alloc();

	if (hash == NULL)
		return -ENOMEM;
	hash_update(hash, file->gf_object.orp_id, OBJ_ID_BYTES);
	hash_update(hash, file->gf_object.orp_sum, HASH_BYTES);
	hash_update(hash, base, strlen(base));
	hash_value(hash, key);
	hash_free(hash);
	(void)text_hex(ret, key, HASH_BYTES);
	return 0;
}

static int part_open(struct get_file *file)
{
	char        hex[2 * HASH_BYTES + 1];
	struct stat st;
	unsigned    i;
	int         rc = part_name(file, hex);

	if (rc == 0 && file->gf_dir_fd < 0)
		file->gf_dir_fd = get_dst_dir(file->gf_root_fd, file->gf_dst);
	if (rc == 0 && file->gf_dir_fd < 0)
		rc = file->gf_dir_fd;
	rc = rc ?: get_dst_check(file->gf_dir_fd, get_dst_base(file->gf_dst));
	if (rc != 0)
		return rc;
	rc = part_try(file, hex, 0, &st);
	for (i = 1; rc == -EBUSY && i < PARTS_MAX; ++i)
		rc = part_try(file, hex, i, &st);
	if (rc != 0)
		return rc;
	file->gf_resumes = (uint64_t)st.st_size == file->gf_object.orp_size;
	if (!file->gf_resumes &&
	    (ftruncate(file->gf_fd, 0) != 0 ||
	     ftruncate(file->gf_fd, (off_t)file->gf_object.orp_size)))
		return -errno;
	return 0;
}

/* Gives the file its name. */
static int part_commit(struct get_file *file)
{
	if (fchmod(file->gf_fd, (mode_t)(file->gf_object.orp_mode & 0777)) !=
		    0 ||
	    renameat(file->gf_dir_fd, file->gf_tmp, file->gf_dir_fd,
		     get_dst_base(file->gf_dst)) != 0)
		return -errno;
	return 0;
}

static int small_write(struct get_file *file, const struct obj_rep *rep)
{
	uint8_t sum[HASH_BYTES];
	int     rc;

	hash_bytes(rep->orp_data, rep->orp_data_nr, sum);
	if (rep->orp_data_nr != rep->orp_size ||
	    memcmp(sum, rep->orp_sum, HASH_BYTES) != 0)
		return -EBADMSG;
	rc = part_open(file);
	if (rc == 0)
		rc = get_dst_write(file->gf_fd, rep->orp_data, rep->orp_size,
				   0);
	if (rc == 0)
		rc = part_commit(file);
	if (rc != 0) {
		if (file->gf_fd >= 0)
			(void)unlinkat(file->gf_dir_fd, file->gf_tmp, 0);
		local_fail(file, rc);
	}
	return 0;
}

static int large_begin(struct get_file *file)
{
	int rc = part_open(file);

	if (rc != 0) {
		local_fail(file, rc);
		return 0;
	}
	file->gf_blocks_nr = obj_blocks_nr(file->gf_object.orp_size);
	++file->gf_job->jb_large_nr;
	file->gf_next = 0;
	M0_ALLOC_ARR(file->gf_sums, file->gf_blocks_nr * HASH_BYTES);
	M0_ALLOC_ARR(file->gf_have, file->gf_blocks_nr);
	if (file->gf_sums == NULL || file->gf_have == NULL)
		return -ENOMEM;
	file->gf_state = file->gf_resumes ? GET_SUMS : GET_BLOCKS;
	return 0;
}

/* Finds the blocks of the part file that equal those of the service. */
static void part_compare(struct get_file *file, uint64_t first, uint64_t nr)
{
	uint8_t *bytes = m0_alloc(OBJ_BLOCK);
	uint8_t  sum[HASH_BYTES];
	uint64_t i;

	for (i = first; bytes != NULL && i < first + nr; ++i) {
		uint64_t off = i * OBJ_BLOCK;
		uint64_t want = obj_block_bytes(file->gf_object.orp_size, off);

		if (pread(file->gf_fd, bytes, want, (off_t)off) !=
		    (ssize_t)want)
			continue;
		hash_bytes(bytes, want, sum);
		if (memcmp(sum, file->gf_sums + i * HASH_BYTES, HASH_BYTES) !=
		    0)
			continue;
		file->gf_have[i] = 1;
		file->gf_job->jb_same_bytes += want;
	}
	m0_free(bytes);
}

/* ---------------------------------------------------------------- steps -- */

static struct obj_lane *lane_for(struct get_file *file, enum obj_op op,
				 bool bulk)
{
	struct obj_lane *lane = obj_lane_get(&file->gf_job->jb_lanes, bulk);

	if (lane == NULL)
		return NULL;
	lane->ol_op = op;
	lane->ol_owner = file;
	lane->ol_gets = bulk;
	memcpy(lane->ol_req.orq_id, file->gf_object.orp_id, OBJ_ID_BYTES);
	return lane;
}

static bool stat_post(struct get_file *file)
{
	struct obj_lane *lane = lane_for(file, OBJ_STAT, false);

	if (lane == NULL)
		return false;
	lane->ol_req.orq_flags = OBJ_WANT_DATA;
	lane->ol_req.orq_name = file->gf_name;
	lane->ol_req.orq_name_nr = (uint32_t)strlen(file->gf_name);
	file->gf_state = GET_WAITS;
	++file->gf_pending;
	obj_lane_post(lane);
	return true;
}

static bool sums_post(struct get_file *file)
{
	struct obj_lane *lane = lane_for(file, OBJ_SUMS, false);

	if (lane == NULL)
		return false;
	lane->ol_req.orq_offset = file->gf_next;
	lane->ol_req.orq_count =
		min64u(file->gf_blocks_nr - file->gf_next, OBJ_SUMS_MAX);
	file->gf_state = GET_WAITS;
	++file->gf_pending;
	obj_lane_post(lane);
	return true;
}

static bool block_post(struct get_file *file)
{
	struct obj_lane *lane;
	uint64_t         off;

	while (file->gf_next < file->gf_blocks_nr &&
	       file->gf_have[file->gf_next])
		++file->gf_next;
	if (file->gf_next == file->gf_blocks_nr) {
		file->gf_state = GET_DONE;
		return false;
	}
	lane = lane_for(file, OBJ_READ, true);
	if (lane == NULL)
		return false;
	off = file->gf_next++ * OBJ_BLOCK;
	lane->ol_req.orq_offset = off;
	lane->ol_req.orq_count = obj_block_bytes(file->gf_object.orp_size, off);
	++file->gf_pending;
	obj_lane_post(lane);
	return true;
}

bool get_file_step(struct get_file *file)
{
	bool any = false;

	if (file->gf_rc != 0)
		return false;
	switch (file->gf_state) {
	case GET_NEW:
		return stat_post(file);
	case GET_SUMS:
		return sums_post(file);
	case GET_BLOCKS:
		while (file->gf_state == GET_BLOCKS && block_post(file))
			any = true;
		return any;
	default:
		return false;
	}
}

/* ----------------------------------------------------------------- ends -- */

static int stat_came(struct get_file *file, const struct obj_rep *rep,
		     bool *done)
{
	int rc;

	file->gf_object = *rep;
	/* The size of a single object is known now; for objects of a list it
	 * came with the list. */
	if (file->gf_job->jb_progress.cg_size == 0 && rep->orp_size > 0) {
		file->gf_job->jb_progress.cg_size = rep->orp_size;
		file->gf_job->jb_progress_on = true;
	}
	if (!(rep->orp_flags & OBJ_INLINE))
		return rep->orp_size == 0 ? -EPROTO : large_begin(file);
	rc = small_write(file, rep);
	if (rc == 0 && file->gf_rc == 0) {
		file->gf_job->jb_bytes += rep->orp_size;
		++file->gf_job->jb_files_nr;
		*done = true;
	}
	return rc;
}

static int sums_came(struct get_file *file, const struct obj_lane *lane)
{
	const struct obj_rep *rep = &lane->ol_rep;
	uint64_t              nr = lane->ol_req.orq_count;

	if (rep->orp_data_nr != nr * HASH_BYTES)
		return -EPROTO;
	memcpy(file->gf_sums + file->gf_next * HASH_BYTES, rep->orp_data,
	       rep->orp_data_nr);
	part_compare(file, file->gf_next, nr);
	file->gf_next += nr;
	file->gf_state = GET_SUMS;
	if (file->gf_next == file->gf_blocks_nr) {
		file->gf_next = 0;
		file->gf_state = GET_BLOCKS;
	}
	return 0;
}

static int block_came(struct get_file *file, const struct obj_lane *lane)
{
	const struct obj_req *req = &lane->ol_req;
	uint64_t              i = req->orq_offset / OBJ_BLOCK;
	uint8_t              *sum = file->gf_sums + i * HASH_BYTES;
	int                   rc;

	if (lane->ol_rep.orp_size != req->orq_count)
		return lane->ol_rep.orp_size < req->orq_count ? -ENODATA
							      : -EPROTO;
	hash_bytes(obj_lane_bytes(lane), req->orq_count, sum);
	if (memcmp(sum, lane->ol_rep.orp_sum, HASH_BYTES) != 0)
		return -EBADMSG;
	rc = get_dst_write(file->gf_fd, obj_lane_bytes(lane), req->orq_count,
			   req->orq_offset);
	if (rc != 0)
		local_fail(file, rc);
	file->gf_job->jb_bytes += req->orq_count;
	return 0;
}

/* All blocks are there: are they the object? */
static void large_end(struct get_file *file, bool *done)
{
	uint8_t sum[HASH_BYTES];
	int     rc;

	obj_sum_of(file->gf_sums, file->gf_blocks_nr, sum);
	if (memcmp(sum, file->gf_object.orp_sum, HASH_BYTES) != 0) {
		(void)unlinkat(file->gf_dir_fd, file->gf_tmp, 0);
		file->gf_rc = -EBADMSG;
		return;
	}
	rc = part_commit(file);
	if (rc != 0) {
		local_fail(file, rc);
		return;
	}
	++file->gf_job->jb_files_nr;
	*done = true;
}

static void ended_well(struct get_file *file, const struct obj_lane *lane,
		       bool *done)
{
	int rc;

	switch (lane->ol_op) {
	case OBJ_STAT:
		rc = stat_came(file, &lane->ol_rep, done);
		break;
	case OBJ_SUMS:
		rc = sums_came(file, lane);
		break;
	default:
		rc = block_came(file, lane);
	}
	if (rc != 0 && file->gf_rc == 0)
		file->gf_rc = rc;
}

static void file_restart(struct get_file *file)
{
	file->gf_again = false;
	++file->gf_restarts;
	if (file->gf_dir_fd >= 0)
		(void)unlinkat(file->gf_dir_fd, file->gf_tmp, 0);
	part_close(file);
	--file->gf_job->jb_large_nr;
	file->gf_blocks_nr = 0;
	file->gf_state = GET_NEW;
}

static void file_fail(struct get_file *file)
{
	int local = file->gf_rc + LOCAL_ERROR;

	if (file->gf_rc < -LOCAL_ERROR / 2)
		obj_job_fail(file->gf_job, file->gf_dst,
			     local == -ENOSPC ? -ENOSPC : 0,
			     "cannot be written: %s", get_dst_errtext(local));
	else if (file->gf_rc == -ESTALE || file->gf_rc == -ENODATA)
		obj_job_fail(file->gf_job, file->gf_name, file->gf_rc,
			     "its data is not there: replaced meanwhile, again "
			     "and again, or lost on the service's disk; then "
			     "remove the object, and put it again");
	else
		obj_job_fail(file->gf_job, file->gf_name, file->gf_rc, "%s",
			     obj_errtext(file->gf_rc));
}

bool get_file_ended(struct get_file *file, struct obj_lane *lane)
{
	bool done = false;

	--file->gf_pending;
	if (lane->ol_rc == 0)
		ended_well(file, lane, &done);
	else if (lane->ol_rc == -ESTALE && file->gf_blocks_nr > 0 &&
		 file->gf_restarts < JOB_RESTARTS_MAX)
		file->gf_again = true;
	else if (file->gf_rc == 0)
		file->gf_rc = lane->ol_rc;
	if (file->gf_pending > 0)
		return false;
	if (file->gf_rc == 0 && file->gf_again)
		file_restart(file);
	/* Maybe all that is left to fetch is nothing. */
	if (file->gf_rc == 0 && file->gf_state == GET_BLOCKS)
		(void)get_file_step(file);
	if (file->gf_rc == 0 && file->gf_pending == 0 &&
	    file->gf_state == GET_DONE)
		large_end(file, &done);
	if (file->gf_rc != 0) {
		file_fail(file);
		done = true;
	}
	if (done && file->gf_blocks_nr > 0)
		--file->gf_job->jb_large_nr;
	return done;
}
