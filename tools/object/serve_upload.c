/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Uploads that somebody writes to: looked up in the store once. */
#include "serve.h"

static struct m0_list *bucket_of(struct server *sv, const uint8_t *source)
{
	return &sv->sv_uploads[source[0] % UPLOAD_BUCKETS];
}

struct serve_upload *serve_upload_find(struct server *sv, const uint8_t *source)
{
	struct m0_list      *list = bucket_of(sv, source);
	struct m0_list_link *at;

	for (at = m0_list_first(list); at != NULL;
	     at = m0_list_next(list, at)) {
		struct serve_upload *upload =
			container_of(at, struct serve_upload, su_link);

		if (memcmp(upload->su_source, source, OBJ_ID_BYTES) == 0)
			return upload;
	}
	return NULL;
}

static void upload_free(struct serve_upload *upload)
{
	m0_list_del(&upload->su_link);
	m0_list_fini(&upload->su_fetches);
	m0_free(upload);
}

void serve_fetches_end(struct serve_upload *upload, uint64_t offset)
{
	struct m0_list_link *at;

	for (at = m0_list_first(&upload->su_fetches); at != NULL;
	     at = m0_list_next(&upload->su_fetches, at)) {
		struct serve_op *op =
			container_of(at, struct serve_op, op_link);

		if (offset == SERVE_ALL_BLOCKS ||
		    offset == op->op_req.orq_offset)
			m0_rpc_bulk_store_del(&op->op_rb);
	}
}

void serve_upload_drop(struct server *sv, struct serve_upload *upload)
{
	m0_list_move(&sv->sv_dropped, &upload->su_link);
	--sv->sv_uploads_nr;
	upload->su_closed = true;
	upload->su_dropped = true;
	serve_fetches_end(upload, SERVE_ALL_BLOCKS);
	if (upload->su_users == 0)
		upload_free(upload);
}

bool serve_upload_writes(struct server *sv, const uint8_t *file)
{
	struct m0_list_link *at;

	for (at = m0_list_first(&sv->sv_dropped); at != NULL;
	     at = m0_list_next(&sv->sv_dropped, at)) {
		struct serve_upload *upload =
			container_of(at, struct serve_upload, su_link);

		if (upload->su_writers > 0 &&
		    memcmp(upload->su_file, file, OBJ_ID_BYTES) == 0)
			return true;
	}
	return false;
}

void serve_upload_put(struct server *sv, struct serve_upload *upload)
{
	(void)sv;
	upload->su_used = m0_time_now();
	if (--upload->su_users == 0 && upload->su_dropped)
		upload_free(upload);
}

bool serve_upload_expire(struct server *sv, const uint8_t *source,
			 m0_time_t limit)
{
	struct serve_upload *upload = serve_upload_find(sv, source);

	if (upload == NULL)
		return true;
	if (upload->su_users > 0 || upload->su_used >= limit)
		return false;
	serve_upload_drop(sv, upload);
	return true;
}

/* One that nobody uses goes: it can be looked up again. */
static void idle_drop(struct server *sv)
{
	int i;

	for (i = 0; i < UPLOAD_BUCKETS; ++i) {
		struct m0_list      *list = &sv->sv_uploads[i];
		struct m0_list_link *at;

		for (at = m0_list_first(list); at != NULL;
		     at = m0_list_next(list, at)) {
			struct serve_upload *upload =
				container_of(at, struct serve_upload, su_link);

			if (upload->su_users == 0) {
				serve_upload_drop(sv, upload);
				return;
			}
		}
	}
}

struct serve_upload *serve_upload_add(struct server *sv, const uint8_t *source,
				      const uint8_t *file, uint64_t size)
{
	struct serve_upload *upload;

	if (sv->sv_uploads_nr >= UPLOADS_MAX)
		idle_drop(sv);
	if (sv->sv_uploads_nr >= UPLOADS_MAX)
		return NULL;
	M0_ALLOC_PTR(upload);
	if (upload == NULL)
		return NULL;
	memcpy(upload->su_source, source, OBJ_ID_BYTES);
	memcpy(upload->su_file, file, OBJ_ID_BYTES);
	upload->su_size = size;
	upload->su_used = m0_time_now();
	m0_list_link_init(&upload->su_link);
	m0_list_init(&upload->su_fetches);
	m0_list_add_tail(bucket_of(sv, source), &upload->su_link);
	++sv->sv_uploads_nr;
	return upload;
}

void serve_uploads_free(struct server *sv)
{
	int i;

	for (i = 0; i < UPLOAD_BUCKETS; ++i) {
		struct m0_list_link *at;

		while ((at = m0_list_first(&sv->sv_uploads[i])) != NULL)
			serve_upload_drop(sv,
					  container_of(at, struct serve_upload,
						       su_link));
	}
}

/* --------------------------------------------------------------- get -- */

static void upload_take(struct serve_op *op, struct serve_upload *upload)
{
	++upload->su_users;
	op->op_upload = upload;
}

/* Within the transaction: what ends the upload comes before it or behind it. */
static int load_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	struct serve_op     *op = container_of(job, struct serve_op, op_job);
	const uint8_t       *source = op->op_req.orq_id;
	struct server       *sv = op->op_server;
	struct serve_upload *upload;
	uint8_t              key[OBJ_KEY_MAX];
	struct obj_rep       record;

	op->op_rc = serve_key_get(
		tx, key, serve_id_key(key, SERVE_KEY_UPLOAD, source), &record);
	if (op->op_rc != 0)
		return 0;
	m0_mutex_lock(&sv->sv_lock);
	upload = serve_upload_find(sv, source);
	if (upload == NULL)
		upload = serve_upload_add(sv, source, record.orp_id,
					  record.orp_size);
	if (upload != NULL)
		upload_take(op, upload);
	m0_mutex_unlock(&sv->sv_lock);
	op->op_rc = upload == NULL ? -EBUSY : 0;
	return 0;
}

static void load_done(struct m0_rpc_store_job *job, int rc)
{
	struct serve_op     *op = container_of(job, struct serve_op, op_job);
	struct server       *sv = op->op_server;
	struct serve_upload *upload = op->op_upload;

	if (rc == 0)
		rc = op->op_rc;
	if (rc == 0) {
		op->op_next(op);
		return;
	}
	/* The record may have been of this very transaction, which is lost. */
	m0_mutex_lock(&sv->sv_lock);
	if (upload != NULL && !upload->su_dropped)
		serve_upload_drop(sv, upload);
	m0_mutex_unlock(&sv->sv_lock);
	serve_op_end(op, rc);
}

void serve_upload_get(struct serve_op *op, void (*next)(struct serve_op *op))
{
	struct server       *sv = op->op_server;
	struct serve_upload *upload;

	m0_mutex_lock(&sv->sv_lock);
	upload = serve_upload_find(sv, op->op_req.orq_id);
	if (upload != NULL)
		upload_take(op, upload);
	m0_mutex_unlock(&sv->sv_lock);
	if (upload != NULL) {
		next(op);
		return;
	}
	op->op_next = next;
	op->op_job.sj_run = &load_run;
	op->op_job.sj_done = &load_done;
	sv->sv_store->rst_ops->rso_exec(sv->sv_store, &op->op_job);
}

/* ------------------------------------------------------------ settle -- */

/* The store was asked to make it an object before this, and has a record still. */
static int settle_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	struct serve_op *op = container_of(job, struct serve_op, op_job);
	struct server   *sv = op->op_server;
	uint8_t          key[OBJ_KEY_MAX];
	struct obj_rep   record;
	size_t nr = serve_id_key(key, SERVE_KEY_UPLOAD, op->op_req.orq_id);

	if (serve_key_get(tx, key, nr, &record) != 0)
		return 0;
	m0_mutex_lock(&sv->sv_lock);
	if (!op->op_upload->su_dropped)
		serve_upload_drop(sv, op->op_upload);
	m0_mutex_unlock(&sv->sv_lock);
	return 0;
}

static void settle_done(struct m0_rpc_store_job *job, int rc)
{
	(void)rc;
	serve_op_end(container_of(job, struct serve_op, op_job), -EAGAIN);
}

void serve_upload_settle(struct serve_op *op)
{
	struct m0_rpc_store *store = op->op_server->sv_store;

	op->op_job.sj_run = &settle_run;
	op->op_job.sj_done = &settle_done;
	store->rst_ops->rso_exec(store, &op->op_job);
}
