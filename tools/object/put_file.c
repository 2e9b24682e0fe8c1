/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "put_file.h"
#include "../base/stop.h"

/* Name of this host, asked once for all files. */
static const char *node_name(void)
{
	static struct utsname host;
	static bool           is_known;

	if (!is_known && uname(&host) != 0)
		host.nodename[0] = '\0';
	is_known = true;
	return host.nodename;
}

/* A source always gets the same id, so that an interrupted put continues. */
static void id_make(struct put_file *file)
{
	const struct stat *st = &file->pf_stat;
	struct hash       *hash = hash_alloc();
	const uint64_t     words[] = {
		    st->st_dev,
		    st->st_ino,
		    (uint64_t)st->st_size,
		    (uint64_t)st->st_mtim.tv_sec,
		    (uint64_t)st->st_mtim.tv_nsec,
	};

	if (hash == NULL)
		return;
	hash_update(hash, node_name(), strlen(node_name()));
	hash_update(hash, words, sizeof words);
	hash_update(hash, file->pf_name, strlen(file->pf_name));
	hash_value(hash, file->pf_id);
	hash_free(hash);
}

bool put_file_is_large(const struct put_file *file)
{
	return file->pf_size > OBJ_INLINE_MAX;
}

static int file_open(struct put_file *file, const struct put_walk *walk)
{
	file->pf_fd = put_walk_open(walk);
	if (file->pf_fd < 0)
		return file->pf_fd;
	if (fstat(file->pf_fd, &file->pf_stat) != 0)
		return -errno;
	if (!S_ISREG(file->pf_stat.st_mode))
		return -EMEDIUMTYPE;
	file->pf_size = (uint64_t)file->pf_stat.st_size;
	if (!put_file_is_large(file))
		return 0;
	file->pf_blocks_nr = obj_blocks_nr(file->pf_size);
	M0_ALLOC_ARR(file->pf_sums, file->pf_blocks_nr * HASH_BYTES);
	(void)posix_fadvise(file->pf_fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return file->pf_sums == NULL ? -ENOMEM : 0;
}

struct put_file *put_file_new(struct obj_job *job, const struct put_walk *walk,
			      const char *name)
{
	const char      *path = walk->pwk_path;
	struct put_file *file;
	int              rc = obj_name_check(name, strlen(name));

	if (rc != 0) {
		obj_job_fail(job, path, 0, "its name is %s", obj_name_why(rc));
		return NULL;
	}
	M0_ALLOC_PTR(file);
	if (file == NULL) {
		obj_job_fail(job, path, -ENOMEM, "no memory");
		return NULL;
	}
	file->pf_job = job;
	file->pf_fd = -1;
	file->pf_path = strdup(path);
	file->pf_name = strdup(name);
	rc = file->pf_path == NULL || file->pf_name == NULL
		     ? -ENOMEM
		     : file_open(file, walk);
	if (rc != 0) {
		/* A link that has taken the file's place is left out. */
		if (rc == -ELOOP && !put_walk_at_root(walk))
			++job->jb_ignored_nr;
		else
			obj_job_fail(job, path, rc, "cannot be read: %s",
				     rc == -EMEDIUMTYPE ? "no regular file"
							: tool_errtext(rc));
		put_file_free(file);
		return NULL;
	}
	id_make(file);
	return file;
}

void put_file_free(struct put_file *file)
{
	if (file->pf_fd >= 0)
		(void)close(file->pf_fd);
	m0_free(file->pf_sums);
	free(file->pf_path);
	free(file->pf_name);
	m0_free(file);
}

/* ---------------------------------------------------------------- steps -- */

static int file_get(struct put_file *file, uint8_t *at, uint64_t nr,
		    uint64_t off)
{
	uint64_t done = 0;
	ssize_t  part;

	while (done < nr) {
		part = pread(file->pf_fd, at + done, nr - done,
			     (off_t)(off + done));
		if (part < 0 && errno == EINTR)
			continue;
		if (part < 0)
			return -errno;
		if (part == 0)
			return -ETXTBSY; /* shorter than it was */
		done += (uint64_t)part;
	}
	return 0;
}

/* Is it still what was opened? */
static int stat_check(const struct put_file *file)
{
	const struct stat *old = &file->pf_stat;
	struct stat        st;

	if (fstat(file->pf_fd, &st) != 0)
		return -errno;
	return st.st_size != old->st_size ||
			       st.st_mtim.tv_sec != old->st_mtim.tv_sec ||
			       st.st_mtim.tv_nsec != old->st_mtim.tv_nsec
		       ? -ETXTBSY
		       : 0;
}

/* And does it end where it said? Files of /proc say that they are empty, and
 * are not. */
static int file_check(const struct put_file *file)
{
	char byte;
	int  rc = stat_check(file);

	if (rc != 0)
		return rc;
	return pread(file->pf_fd, &byte, 1, (off_t)file->pf_size) > 0 ? -ETXTBSY
								      : 0;
}

/* All of a small file, which has not changed meanwhile. The byte behind its end
 * is asked for, too, so that one call says whether there is one. */
static int small_get(struct put_file *file)
{
	ssize_t nr = pread(file->pf_fd, file->pf_sums, file->pf_size + 1, 0);

	if (nr > (ssize_t)file->pf_size)
		return -ETXTBSY;
	if (nr == (ssize_t)file->pf_size)
		return stat_check(file);
	/* Interrupted, or it comes in parts. */
	return file_get(file, file->pf_sums, file->pf_size, 0)
		       ?: file_check(file);
}

static struct obj_lane *lane_for(struct put_file *file, enum obj_op op,
				 bool bulk)
{
	struct obj_lane *lane = obj_lane_get(&file->pf_job->jb_lanes, bulk);
	struct obj_req  *req;

	if (lane == NULL)
		return NULL;
	req = &lane->ol_req;
	lane->ol_op = op;
	lane->ol_owner = file;
	memcpy(req->orq_id, file->pf_id, OBJ_ID_BYTES);
	req->orq_count = file->pf_size;
	req->orq_flags = file->pf_flags;
	req->orq_mode = file->pf_stat.st_mode & 0777;
	req->orq_mtime_ns = (uint64_t)file->pf_stat.st_mtim.tv_sec *
				    M0_TIME_ONE_SECOND +
			    (uint64_t)file->pf_stat.st_mtim.tv_nsec;
	if (op != OBJ_WRITE) {
		req->orq_name = file->pf_name;
		req->orq_name_nr = (uint32_t)strlen(file->pf_name);
	}
	return lane;
}

static void lane_go(struct put_file *file, struct obj_lane *lane)
{
	++file->pf_pending;
	obj_lane_post(lane);
}

static bool small_post(struct put_file *file)
{
	struct obj_lane *lane = lane_for(file, OBJ_PUT, false);

	if (lane == NULL)
		return false;
	if (file->pf_sums == NULL) {
		M0_ALLOC_ARR(file->pf_sums, file->pf_size + 1);
		file->pf_rc = file->pf_sums == NULL ? -ENOMEM : 0;
	}
	if (file->pf_rc == 0)
		file->pf_rc = small_get(file);
	file->pf_state = PUT_WAITS;
	if (file->pf_rc != 0) {
		obj_lane_put(lane);
		return false;
	}
	lane->ol_req.orq_data = file->pf_sums;
	lane->ol_req.orq_data_nr = (uint32_t)file->pf_size;
	hash_bytes(file->pf_sums, file->pf_size, lane->ol_req.orq_sum);
	lane_go(file, lane);
	return true;
}

static bool begin_post(struct put_file *file)
{
	struct obj_lane *lane = lane_for(file, OBJ_BEGIN, false);

	if (lane == NULL)
		return false;
	file->pf_state = PUT_WAITS;
	lane_go(file, lane);
	return true;
}

static bool block_post(struct put_file *file)
{
	struct obj_lane *lane = lane_for(file, OBJ_WRITE, true);
	uint64_t         off = file->pf_next * OBJ_BLOCK;
	uint64_t         nr = obj_block_bytes(file->pf_size, off);
	uint8_t         *sum = file->pf_sums + file->pf_next * HASH_BYTES;

	if (lane == NULL)
		return false;
	file->pf_rc = file_get(file, obj_lane_bytes(lane), nr, off);
	if (file->pf_rc != 0) {
		obj_lane_put(lane);
		return false;
	}
	hash_bytes(obj_lane_bytes(lane), nr, sum);
	memcpy(lane->ol_req.orq_sum, sum, HASH_BYTES);
	lane->ol_req.orq_offset = off;
	lane->ol_req.orq_count = nr;
	if (++file->pf_next == file->pf_blocks_nr)
		file->pf_state = PUT_DONE;
	lane_go(file, lane);
	return true;
}

static bool commit_post(struct put_file *file)
{
	struct obj_lane *lane;

	if (file->pf_pending > 0)
		return false;
	file->pf_rc = file_check(file);
	if (file->pf_rc != 0)
		return false;
	lane = lane_for(file, OBJ_COMMIT, false);
	if (lane == NULL)
		return false;
	obj_sum_of(file->pf_sums, file->pf_blocks_nr, lane->ol_req.orq_sum);
	file->pf_state = PUT_WAITS;
	lane_go(file, lane);
	return true;
}

bool put_file_step(struct put_file *file)
{
	bool any = false;

	if (file->pf_rc != 0)
		return false;
	switch (file->pf_state) {
	case PUT_NEW:
		return put_file_is_large(file) ? begin_post(file)
					       : small_post(file);
	case PUT_BLOCKS:
		while (file->pf_state == PUT_BLOCKS && block_post(file))
			any = true;
		return any;
	case PUT_DONE:
		return commit_post(file);
	default:
		return false;
	}
}

/* ----------------------------------------------------------------- ends -- */

static void file_restart(struct put_file *file, uint32_t flags)
{
	file->pf_state = PUT_NEW;
	file->pf_flags = flags;
	file->pf_next = 0;
	file->pf_rc = 0;
}

/* The service has an object from this very source: is it the same? If a signal
 * came, nobody asks any more. */
static bool is_same(struct put_file *file, const struct obj_rep *rep)
{
	uint8_t *bytes = m0_alloc(OBJ_BLOCK);
	uint8_t  sum[HASH_BYTES];
	uint64_t i;
	int      rc = bytes == NULL ? -ENOMEM : 0;

	for (i = 0; rc == 0 && i < file->pf_blocks_nr; ++i) {
		uint64_t nr = obj_block_bytes(file->pf_size, i * OBJ_BLOCK);

		rc = stop_signal() != 0
			     ? -EINTR
			     : file_get(file, bytes, nr, i * OBJ_BLOCK);
		if (rc == 0)
			hash_bytes(bytes, nr, file->pf_sums + i * HASH_BYTES);
	}
	m0_free(bytes);
	obj_sum_of(file->pf_sums, file->pf_blocks_nr, sum);
	return rc == 0 && memcmp(sum, rep->orp_sum, HASH_BYTES) == 0;
}

static void begun(struct put_file *file, const struct obj_rep *rep, bool *done)
{
	if (!(rep->orp_flags & OBJ_SAME)) {
		file->pf_flags = rep->orp_flags & OBJ_RESUMED;
		file->pf_state = PUT_BLOCKS;
	} else if (is_same(file, rep)) {
		++file->pf_job->jb_same_nr;
		file->pf_job->jb_same_bytes += file->pf_size;
		*done = true;
	} else {
		file_restart(file, OBJ_FORCE);
	}
}

static void ended_well(struct put_file *file, const struct obj_lane *lane,
		       bool *done)
{
	struct obj_job *job = file->pf_job;

	switch (lane->ol_op) {
	case OBJ_BEGIN:
		begun(file, &lane->ol_rep, done);
		break;
	case OBJ_WRITE:
		if (lane->ol_rep.orp_flags & OBJ_SAME)
			job->jb_same_bytes += lane->ol_req.orq_count;
		else
			job->jb_bytes += lane->ol_req.orq_count;
		break;
	default:
		job->jb_bytes += lane->ol_op == OBJ_PUT ? file->pf_size : 0;
		++job->jb_files_nr;
		*done = true;
	}
}

/* The service has dropped the upload, or lacks part of it: upload it once more. */
static bool is_to_restart(const struct put_file *file,
			  const struct obj_lane *lane)
{
	return file->pf_restarts < JOB_RESTARTS_MAX &&
	       (lane->ol_op == OBJ_WRITE || lane->ol_op == OBJ_COMMIT) &&
	       (lane->ol_rc == -ENOENT || lane->ol_rc == -ESTALE ||
		lane->ol_rc == -ENODATA);
}

/* Requests the service to drop the upload. */
static void file_abort(struct put_file *file)
{
	struct obj_lane *lane;

	if (!put_file_is_large(file) ||
	    (file->pf_rc != -ETXTBSY && file->pf_rc != -ENOSPC &&
	     file->pf_rc != -EFBIG))
		return;
	lane = lane_for(file, OBJ_ABORT, false);
	if (lane == NULL)
		return;
	lane->ol_owner = NULL;
	obj_lane_post(lane);
}

static void file_fail(struct put_file *file)
{
	if (file->pf_rc == -ETXTBSY)
		obj_job_fail(file->pf_job, file->pf_path, file->pf_rc,
			     "changed while it was read");
	else
		obj_job_fail(file->pf_job, file->pf_path, file->pf_rc, "%s",
			     obj_errtext(file->pf_rc));
	file_abort(file);
}

bool put_file_ended(struct put_file *file, struct obj_lane *lane)
{
	bool done = false;

	if (lane != NULL) {
		--file->pf_pending;
		if (lane->ol_rc == 0) {
			ended_well(file, lane, &done);
		} else if (is_to_restart(file, lane)) {
			file->pf_again = true;
			file->pf_state = PUT_WAITS;
		} else if (file->pf_rc == 0) {
			file->pf_rc = lane->ol_rc;
		}
	}
	if (file->pf_again && file->pf_pending == 0 && file->pf_rc == 0) {
		file->pf_again = false;
		++file->pf_restarts;
		file_restart(file, OBJ_FORCE);
	}
	if (file->pf_rc == 0 || file->pf_pending > 0)
		return done;
	file_fail(file);
	return true;
}
