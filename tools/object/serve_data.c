/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Data of large objects: blocks by bulk, from and to files. A block is written
 * as often as it is sent, and is the same each time; then its sum is noted, so that
 * a client that goes on after a lost connection need not resend it.
 */
#include <fcntl.h>
#include <unistd.h>

#include "serve.h"

static int full_io(ssize_t (*io)(int fd, void *at, size_t nr, off_t off),
		   int fd, uint8_t *at, uint64_t nr, uint64_t off,
		   uint64_t *ret_nr)
{
	uint64_t done = 0;
	ssize_t  part = 1;

	while (done < nr && part > 0) {
		part = io(fd, at + done, nr - done, (off_t)(off + done));
		if (part < 0 && errno == EINTR)
			part = 1;
		else if (part > 0)
			done += (uint64_t)part;
	}
	*ret_nr = done;
	return part < 0 ? -errno : 0;
}

static ssize_t io_in(int fd, void *at, size_t nr, off_t off)
{
	return pread(fd, at, nr, off);
}

static ssize_t io_out(int fd, void *at, size_t nr, off_t off)
{
	return pwrite(fd, at, nr, off);
}

static int all_out(int fd, uint8_t *at, uint64_t nr, uint64_t off)
{
	uint64_t done;
	int      rc = full_io(&io_out, fd, at, nr, off, &done);

	return rc == 0 && done < nr ? -EIO : rc;
}

/* Moves `nr` bytes of the operation's buffer. */
static int bulk_start(struct serve_op *op, enum m0_net_queue_type    qtype,
		      void (*done)(struct m0_rpc_bulk *rb), uint64_t nr)
{
	struct server *sv = op->op_server;
	m0_time_t      lasts = serve_move_ns(op);
	int            rc;

	if (lasts == 0)
		return -ETIMEDOUT;
	m0_rpc_bulk_init(&op->op_rb);
	op->op_rb.rb_done = done;
	op->op_rb.rb_timeout_ns = lasts;
	rc = m0_rpc_bulk_buf_add(&op->op_rb, 0, nr, &sv->sv_dom, op->op_nb,
				 NULL);
	if (rc == 0) {
		m0_rpc_bulk_qtype(&op->op_rb, qtype);
		rc = m0_rpc_bulk_load_for(&op->op_rb, op->op_item,
					  &op->op_req.orq_desc);
		if (rc == 0)
			return 0;
	}
	m0_rpc_bulk_buflist_empty(&op->op_rb);
	m0_rpc_bulk_fini(&op->op_rb);
	return rc;
}

static uint8_t *op_bytes(const struct serve_op *op)
{
	return op->op_nb->nb_buffer.ov_buf[0];
}

/* --------------------------------------------------------------- write -- */

static int sum_note(const struct serve_op *op, const struct serve_file *file)
{
	uint64_t at = op->op_req.orq_offset / OBJ_BLOCK * HASH_BYTES;

	return all_out(file->sfi_sums_fd, (uint8_t *)op->op_req.orq_sum,
		       HASH_BYTES, at);
}

static int file_write(struct serve_op *op, uint8_t *bytes)
{
	struct server        *sv = op->op_server;
	const struct obj_req *req = &op->op_req;
	uint8_t               sum[HASH_BYTES];
	struct serve_file     file;
	int                   rc;

	hash_bytes(bytes, req->orq_count, sum);
	if (memcmp(sum, req->orq_sum, HASH_BYTES) != 0)
		return -EBADMSG;
	rc = serve_file_open(&file, &sv->sv_dir, op->op_upload->su_file,
			     O_RDWR | O_CREAT);
	if (rc != 0)
		return rc;
	rc = all_out(file.sfi_data_fd, bytes, req->orq_count, req->orq_offset);
	if (rc == 0 && sv->sv_sync == SERVE_SYNC_WRITE &&
	    fdatasync(file.sfi_data_fd) != 0)
		rc = -errno;
	if (rc == 0)
		rc = sum_note(op, &file);
	serve_file_close(&file);
	return rc;
}

/* Not any more when the upload is being made an object. */
static int block_store(struct serve_op *op, uint8_t *bytes)
{
	struct server       *sv = op->op_server;
	struct serve_upload *upload = op->op_upload;
	bool                 was_last;
	int                  rc;

	m0_mutex_lock(&sv->sv_lock);
	rc = upload->su_closed ? -ENOENT : 0;
	upload->su_writers += rc == 0;
	m0_mutex_unlock(&sv->sv_lock);
	if (rc != 0)
		return rc;
	rc = file_write(op, bytes);
	m0_mutex_lock(&sv->sv_lock);
	was_last = --upload->su_writers == 0 && upload->su_dropped;
	/* A request that came twice, by two ways, has a twin. */
	if (rc == 0)
		serve_fetches_end(upload, op->op_req.orq_offset);
	m0_mutex_unlock(&sv->sv_lock);
	if (was_last) /* its file had to wait */
		serve_gc_due(sv);
	return rc;
}

static void write_look(struct serve_op *op);

static void write_store(struct serve_op *op)
{
	serve_op_end(op, block_store(op, op_bytes(op)));
}

static void write_came(struct m0_rpc_bulk *rb)
{
	struct serve_op *op = container_of(rb, struct serve_op, op_rb);
	struct server   *sv = op->op_server;
	int              rc = rb->rb_rc;

	m0_mutex_lock(&sv->sv_lock);
	m0_list_del(&op->op_link);
	rc = serve_move_end(op, rc);
	m0_mutex_unlock(&sv->sv_lock);
	if (rc == 0 && rb->rb_moved != op->op_req.orq_count)
		rc = -EPROTO;
	m0_rpc_bulk_fini(rb);
	if (rc == 0)
		serve_work(op, &write_store);
	else if (rc == -ECANCELED)
		serve_work(op, &write_look);
	else
		serve_op_end(op, rc);
}

/* The lock is held until it is known among the fetches: it may have ended. */
static void write_fetch(struct serve_op *op)
{
	struct server *sv = op->op_server;
	int            rc;

	m0_mutex_lock(&sv->sv_lock);
	rc = op->op_upload->su_dropped ? -ENOENT : 0;
	if (rc == 0)
		rc = bulk_start(op, M0_NET_QT_ACTIVE_BULK_RECV, &write_came,
				op->op_req.orq_count);
	if (rc == 0) {
		m0_list_add_tail(&op->op_upload->su_fetches, &op->op_link);
		serve_move_begin(op);
	}
	m0_mutex_unlock(&sv->sv_lock);
	if (rc != 0)
		serve_op_end(op, rc);
}

static void write_inline(struct serve_op *op)
{
	serve_op_end(
		op, block_store(op, (uint8_t *)(uintptr_t)op->op_req.orq_data));
}

/* Is the block there, with this sum? */
static void write_look(struct serve_op *op)
{
	const struct obj_req *req = &op->op_req;
	uint8_t               sum[HASH_BYTES];
	struct serve_file     file;
	uint64_t              nr = 0;

	if (serve_file_open(&file, &op->op_server->sv_dir,
			    op->op_upload->su_file, O_RDONLY) == 0) {
		(void)full_io(&io_in, file.sfi_sums_fd, sum, HASH_BYTES,
			      req->orq_offset / OBJ_BLOCK * HASH_BYTES, &nr);
		serve_file_close(&file);
	}
	if (nr == HASH_BYTES && memcmp(sum, req->orq_sum, HASH_BYTES) == 0) {
		op->op_rep.orp_flags = OBJ_SAME;
		serve_op_end(op, 0);
	} else if (op->op_nb != NULL) {
		/* No twin: the upload was dropped, or its client would have it
		 * that the fetch was cancelled, again and again. */
		serve_op_end(op, -ENOENT);
	} else {
		serve_buffer(op, &write_fetch);
	}
}

static void write_go(struct serve_op *op)
{
	const struct obj_req      *req = &op->op_req;
	const struct serve_upload *upload = op->op_upload;
	bool is_inline = req->orq_desc.bdd_desc.nbd_len == 0;

	if (req->orq_offset % OBJ_BLOCK != 0 ||
	    req->orq_offset >= upload->su_size ||
	    req->orq_count !=
		    obj_block_bytes(upload->su_size, req->orq_offset) ||
	    (is_inline && req->orq_count != req->orq_data_nr))
		serve_op_end(op, -EINVAL);
	else if (is_inline)
		serve_work(op, &write_inline);
	else if (req->orq_flags & OBJ_RESUMED)
		serve_work(op, &write_look);
	else
		serve_buffer(op, &write_fetch);
}

void serve_write(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	struct serve_op *op = serve_op_new(item);

	(void)machine;
	if (op != NULL)
		serve_upload_get(op, &write_go);
}

/* ---------------------------------------------------------------- read -- */

/* The transfer has ended; with the lock, which it releases. */
static void read_over(struct serve_op *op)
{
	int rc = serve_move_end(op, op->op_rb.rb_rc);

	m0_mutex_unlock(&op->op_server->sv_lock);
	m0_rpc_bulk_fini(&op->op_rb);
	serve_op_end(op, rc);
}

/* If read_send() has not come that far, the rest is for that. */
static void read_left(struct m0_rpc_bulk *rb)
{
	struct serve_op *op = container_of(rb, struct serve_op, op_rb);
	struct server   *sv = op->op_server;

	m0_mutex_lock(&sv->sv_lock);
	op->op_left = true;
	if (op->op_began != 0)
		read_over(op);
	else
		m0_mutex_unlock(&sv->sv_lock);
}

/* Without the lock, for the bytes may leave at once, by this thread. */
static void read_send(struct serve_op *op)
{
	struct server *sv = op->op_server;
	int rc = bulk_start(op, M0_NET_QT_ACTIVE_BULK_SEND, &read_left,
			    op->op_rep.orp_size);

	if (rc != 0) {
		serve_op_end(op, rc);
		return;
	}
	m0_mutex_lock(&sv->sv_lock);
	serve_move_begin(op);
	if (op->op_left)
		read_over(op);
	else
		m0_mutex_unlock(&sv->sv_lock);
}

/* The sum that came with a block; a part of one gets its own. */
static void sum_find(struct serve_op *op, const struct serve_file *file,
		     uint64_t size)
{
	const struct obj_req *req = &op->op_req;
	uint64_t              nr = 0;

	if (req->orq_offset % OBJ_BLOCK == 0 &&
	    op->op_rep.orp_size == obj_block_bytes(size, req->orq_offset))
		(void)full_io(&io_in, file->sfi_sums_fd, op->op_rep.orp_sum,
			      HASH_BYTES,
			      req->orq_offset / OBJ_BLOCK * HASH_BYTES, &nr);
	if (nr != HASH_BYTES)
		hash_bytes(op_bytes(op), op->op_rep.orp_size,
			   op->op_rep.orp_sum);
}

static int block_load(struct serve_op *op)
{
	const struct obj_req *req = &op->op_req;
	struct serve_file     file;
	off_t                 size;
	int rc = serve_file_open(&file, &op->op_server->sv_dir, req->orq_id,
				 O_RDONLY);

	/* The file existed before, so another put has replaced the object. */
	if (rc != 0)
		return rc == -ENOENT ? -ESTALE : rc;
	size = lseek(file.sfi_data_fd, 0, SEEK_END);
	if (size < 0 || req->orq_offset >= (uint64_t)size)
		rc = -ENODATA;
	else
		rc = full_io(&io_in, file.sfi_data_fd, op_bytes(op),
			     req->orq_count, req->orq_offset,
			     &op->op_rep.orp_size);
	if (rc == 0 && op->op_rep.orp_size == 0)
		rc = -ENODATA;
	if (rc == 0)
		sum_find(op, &file, (uint64_t)size);
	serve_file_close(&file);
	return rc;
}

static void read_load(struct serve_op *op)
{
	int rc = block_load(op);

	if (rc != 0) {
		serve_op_end(op, rc);
	} else if (op->op_req.orq_desc.bdd_desc.nbd_len > 0) {
		read_send(op);
	} else {
		op->op_rep.orp_data = op_bytes(op);
		op->op_rep.orp_data_nr = (uint32_t)op->op_rep.orp_size;
		serve_op_end(op, 0);
	}
}

static void read_go(struct serve_op *op)
{
	serve_work(op, &read_load);
}

void serve_read(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	struct serve_op *op = serve_op_new(item);
	uint64_t         max;

	(void)machine;
	if (op == NULL)
		return;
	max = op->op_req.orq_desc.bdd_desc.nbd_len > 0 ? OBJ_BLOCK
						       : OBJ_REPLY_MAX;
	if (op->op_req.orq_count == 0 || op->op_req.orq_count > max ||
	    op->op_req.orq_offset > INT64_MAX - OBJ_BLOCK)
		serve_op_end(op, -EINVAL);
	else
		serve_buffer(op, &read_go);
}

/* ---------------------------------------------------------------- sums -- */

static void sums_load(struct serve_op *op)
{
	const struct obj_req *req = &op->op_req;
	struct serve_file     file;
	uint64_t              nr = 0;
	int rc = serve_file_open(&file, &op->op_server->sv_dir, req->orq_id,
				 O_RDONLY);

	if (rc == 0) {
		rc = full_io(&io_in, file.sfi_sums_fd, op_bytes(op),
			     req->orq_count * HASH_BYTES,
			     req->orq_offset * HASH_BYTES, &nr);
		serve_file_close(&file);
	}
	op->op_rep.orp_data = op_bytes(op);
	op->op_rep.orp_data_nr = (uint32_t)nr;
	serve_op_end(op, rc == -ENOENT ? -ESTALE : rc);
}

static void sums_go(struct serve_op *op)
{
	serve_work(op, &sums_load);
}

void serve_sums(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	struct serve_op *op = serve_op_new(item);

	(void)machine;
	if (op == NULL)
		return;
	if (op->op_req.orq_count == 0 || op->op_req.orq_count > OBJ_SUMS_MAX ||
	    op->op_req.orq_offset > INT64_MAX / OBJ_BLOCK)
		serve_op_end(op, -EINVAL);
	else
		serve_buffer(op, &sums_go);
}

/* -------------------------------------------------------------- commit -- */

/* Are all blocks there, and do their sums make the object's? */
static int sums_check(const struct serve_op *op, const struct serve_file *file)
{
	static const uint8_t none[HASH_BYTES];
	uint64_t             blocks = obj_blocks_nr(op->op_upload->su_size);
	uint64_t             nr = blocks * HASH_BYTES;
	uint8_t             *sums = m0_alloc(nr);
	uint8_t              sum[HASH_BYTES];
	uint64_t             got = 0;
	uint64_t             i;
	int                  rc;

	if (sums == NULL)
		return -ENOMEM;
	rc = full_io(&io_in, file->sfi_sums_fd, sums, nr, 0, &got);
	if (rc == 0 && got != nr)
		rc = -ENODATA;
	for (i = 0; rc == 0 && i < blocks; ++i)
		if (memcmp(sums + i * HASH_BYTES, none, HASH_BYTES) == 0)
			rc = -ENODATA;
	if (rc == 0) {
		obj_sum_of(sums, blocks, sum);
		if (memcmp(sum, op->op_req.orq_sum, HASH_BYTES) != 0)
			rc = -EBADMSG;
	}
	m0_free(sums);
	return rc;
}

/* The kernel reports a failed write-back once, and takes the data for written from then
 * on. So forget the file: the client resends it. */
static int commit_sync(const struct serve_op *op, const struct serve_file *file)
{
	const struct serve_dir *dir = &op->op_server->sv_dir;
	const uint8_t          *id = op->op_upload->su_file;
	int                     rc = serve_file_sync(file, dir, id);

	if (rc != 0)
		(void)serve_file_forget(dir, id);
	return rc;
}

static int commit_over_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	(void)job;
	(void)tx;
	return 0;
}

static void commit_over(struct m0_rpc_store_job *job, int rc)
{
	(void)rc;
	serve_op_free(container_of(job, struct serve_op, op_job));
}

/*
 * The update was posted, and the upload is its own. To note the time until the answer, a
 * job follows it, which ends after its transaction. In a store without a thread, where
 * nothing stalls, nobody would wake the machine for that job.
 */
static void commit_posted(struct serve_op *op)
{
	struct m0_rpc_store *store = op->op_server->sv_store;

	if (op->op_server->sv_metrics == NULL ||
	    store->rst_ops->rso_step != NULL) {
		serve_op_free(op);
		return;
	}
	op->op_job.sj_run = &commit_over_run;
	op->op_job.sj_done = &commit_over;
	store->rst_ops->rso_exec(store, &op->op_job);
}

static void commit_check(struct serve_op *op)
{
	struct server    *sv = op->op_server;
	const uint8_t    *id = op->op_upload->su_file;
	struct serve_file file;
	int rc = serve_file_open(&file, &sv->sv_dir, id, O_RDONLY);

	if (rc == 0) {
		rc = sums_check(op, &file);
		if (rc == 0 && sv->sv_sync != SERVE_SYNC_NONE)
			rc = commit_sync(op, &file);
		serve_file_close(&file);
	}
	if (rc == 0) {
		m0_rpc_update_post(op->op_item, &serve_commit_update);
		/* Not called if the client has left meanwhile. */
		m0_mutex_lock(&sv->sv_lock);
		op->op_upload->su_posted = true;
		serve_upload_put(sv, op->op_upload);
		op->op_upload = NULL;
		m0_mutex_unlock(&sv->sv_lock);
		commit_posted(op);
		return;
	}
	m0_mutex_lock(&sv->sv_lock);
	op->op_upload->su_closed = op->op_upload->su_dropped;
	m0_mutex_unlock(&sv->sv_lock);
	serve_op_end(op, rc == -ENOENT ? -ENODATA : rc);
}

static void commit_go(struct serve_op *op)
{
	struct server *sv = op->op_server;
	bool           alone;
	bool           posted;

	m0_mutex_lock(&sv->sv_lock);
	alone = op->op_upload->su_writers == 0 && !op->op_upload->su_closed;
	if (alone)
		op->op_upload->su_closed = true;
	posted = op->op_upload->su_posted;
	m0_mutex_unlock(&sv->sv_lock);
	if (alone)
		serve_work(op, &commit_check);
	else if (posted)
		serve_upload_settle(op);
	else
		serve_op_end(op, -EAGAIN);
}

void serve_commit(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	struct serve_op *op = serve_op_new(item);
	int              rc;

	(void)machine;
	if (op == NULL)
		return;
	rc = obj_name_check(op->op_req.orq_name, op->op_req.orq_name_nr);
	if (rc != 0)
		serve_op_end(op, rc);
	else
		serve_upload_get(op, &commit_go);
}
