/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Updates: each is one transaction of the store, executed once. A status that
 * is not 0 still commits what was changed before it: what can be refused comes
 * first, and is deleted again if what belongs to it is refused. A full store
 * refuses neither to delete nor to note what was deleted, and any other failure
 * of a store loses the whole transaction.
 */
#include <sys/random.h>
#include <time.h>

#include "serve.h"

static uint64_t wall_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * M0_TIME_ONE_SECOND +
	       (uint64_t)now.tv_nsec;
}

static int request_of(struct m0_rpc_item *item, struct obj_req *ret)
{
	const struct m0_rpc_raw *raw = m0_rpc_raw_of(item);

	return obj_req_decode(ret, raw->rr_data, raw->rr_nr);
}

/* Decodes, and checks the name; else answers. */
static bool request_ok(struct m0_rpc_item *item, struct obj_req *ret)
{
	int rc = request_of(item, ret);

	if (rc == 0)
		rc = obj_name_check(ret->orq_name, ret->orq_name_nr);
	if (rc != 0)
		m0_rpc_reply_rc(item, rc);
	return rc == 0;
}

/* ------------------------------------------------------------- objects -- */

/* Puts a record; what named `file`, if it is not NULL, does so no more. */
static int record_put(struct m0_rpc_tx *tx, const uint8_t *key, size_t nr,
		      const struct obj_rep *record, const uint8_t *file)
{
	int rc = file == NULL ? 0 : serve_garbage_put(tx, file);

	if (rc != 0)
		return rc;
	rc = serve_key_put(tx, key, nr, record);
	if (rc != 0 && file != NULL)
		(void)serve_garbage_del(tx, file);
	return rc;
}

/* The old object of a name: its file, if it has one, and what it counts. */
static int old_get(struct m0_rpc_tx *tx, const struct obj_req *req,
		   struct obj_info *less, uint8_t file[OBJ_ID_BYTES],
		   bool *ret_file)
{
	struct obj_rep old;
	int            rc;

	*ret_file = false;
	rc = serve_object_get(tx, req->orq_name, req->orq_name_nr, &old);
	if (rc != 0)
		return rc;
	less->oin_objects = 1;
	less->oin_bytes = old.orp_size;
	*ret_file = !(old.orp_flags & OBJ_INLINE);
	memcpy(file, old.orp_id, OBJ_ID_BYTES);
	return 0;
}

/* Gives a name to an object, in place of the one that has it. */
static int object_put(struct m0_rpc_tx *tx, const struct obj_req *req,
		      const struct obj_rep *object, bool uploaded)
{
	struct obj_info more = { .oin_objects = 1,
				 .oin_bytes = object->orp_size,
				 .oin_puts = 1 };
	struct obj_info less = { .oin_uploads = uploaded };
	uint8_t         file[OBJ_ID_BYTES];
	uint8_t         key[OBJ_KEY_MAX];
	bool            has_file;
	int             rc = old_get(tx, req, &less, file, &has_file);

	if (rc != 0 && rc != -ENOENT)
		return rc;
	rc = record_put(tx, key,
			obj_name_key(key, req->orq_name, req->orq_name_nr),
			object, has_file ? file : NULL);
	if (rc == 0)
		serve_count(tx, &more, &less);
	return rc;
}

static void object_of(const struct obj_req *req, struct obj_rep *ret)
{
	*ret = (struct obj_rep){
		.orp_mode = req->orq_mode & 0777,
		.orp_size = req->orq_count,
		.orp_mtime_ns = req->orq_mtime_ns,
		.orp_name = req->orq_name,
		.orp_name_nr = req->orq_name_nr,
	};
	memcpy(ret->orp_sum, req->orq_sum, HASH_BYTES);
	memcpy(ret->orp_source, req->orq_id, OBJ_ID_BYTES);
}

static void put_update(struct m0_rpc_item *item, struct m0_rpc_tx *tx)
{
	struct obj_req req;
	struct obj_rep object;
	int            rc = request_of(item, &req);

	if (rc == 0) {
		object_of(&req, &object);
		object.orp_flags = OBJ_INLINE;
		object.orp_data = req.orq_data;
		object.orp_data_nr = req.orq_data_nr;
		rc = object_put(tx, &req, &object, false);
	}
	m0_rpc_reply_rc(item, rc);
}

void serve_put(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	struct obj_req req;
	uint8_t        sum[HASH_BYTES];
	int            rc = 0;

	(void)machine;
	if (!request_ok(item, &req))
		return;
	hash_bytes(req.orq_data, req.orq_data_nr, sum);
	if (req.orq_count != req.orq_data_nr)
		rc = -EPROTO;
	else if (req.orq_count > serve_server->sv_object_max)
		rc = -EFBIG;
	else if (memcmp(sum, req.orq_sum, HASH_BYTES) != 0)
		rc = -EBADMSG;
	if (rc != 0)
		m0_rpc_reply_rc(item, rc);
	else
		m0_rpc_update_post(item, &put_update);
}

static void remove_update(struct m0_rpc_item *item, struct m0_rpc_tx *tx)
{
	struct obj_info more = { .oin_removes = 1 };
	struct obj_info less = { .oin_objects = 0 };
	struct obj_req  req;
	uint8_t         file[OBJ_ID_BYTES];
	uint8_t         key[OBJ_KEY_MAX];
	bool            has_file = false;
	int             rc = request_of(item, &req);

	if (rc == 0)
		rc = old_get(tx, &req, &less, file, &has_file);
	if (rc == 0)
		rc = serve_key_del(tx, key,
				   obj_name_key(key, req.orq_name,
						req.orq_name_nr));
	if (rc == 0 && has_file)
		rc = serve_garbage_put(tx, file);
	if (rc == 0)
		serve_count(tx, &more, &less);
	m0_rpc_reply_rc(item, rc);
}

void serve_remove(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	struct obj_req req;

	(void)machine;
	if (request_ok(item, &req))
		m0_rpc_update_post(item, &remove_update);
}

/* ------------------------------------------------------------- uploads -- */

/* Removes the upload from memory. Its users keep their references. */
static void upload_forget(const uint8_t *source)
{
	struct server       *sv = serve_server;
	struct serve_upload *upload;

	m0_mutex_lock(&sv->sv_lock);
	upload = serve_upload_find(sv, source);
	if (upload != NULL)
		serve_upload_drop(sv, upload);
	m0_mutex_unlock(&sv->sv_lock);
}

/* The store has completed or refused all earlier transactions. The upload
 * still has a record, so its COMMIT was refused, as happens when its client
 * has left. */
static void upload_reopen(const uint8_t *source)
{
	struct server       *sv = serve_server;
	struct serve_upload *upload;

	m0_mutex_lock(&sv->sv_lock);
	upload = serve_upload_find(sv, source);
	if (upload != NULL && upload->su_posted)
		serve_upload_drop(sv, upload);
	m0_mutex_unlock(&sv->sv_lock);
}

/* Are there as many as there may be? */
static bool is_crowded(struct m0_rpc_tx *tx)
{
	struct server  *sv = serve_server;
	struct obj_info info;

	serve_info_get(tx, &info);
	if (info.oin_uploads < sv->sv_uploads_max)
		return false;
	serve_gc_crowded(sv);
	return true;
}

/* A record of an upload, and a name for its file. */
static int upload_make(struct m0_rpc_tx *tx, const struct obj_req *req,
		       const uint8_t *key, size_t nr, struct obj_rep *old)
{
	struct obj_info more = { .oin_uploads = old == NULL };
	struct obj_info less = { .oin_uploads = 0 };
	struct obj_rep  record;
	uint8_t         file[OBJ_ID_BYTES];
	int             rc;

	if (old == NULL && is_crowded(tx))
		return -EBUSY;
	object_of(req, &record);
	record.orp_mtime_ns = wall_ns();
	if (getrandom(record.orp_id, OBJ_ID_BYTES, 0) != OBJ_ID_BYTES)
		return -EIO;
	if (old != NULL)
		memcpy(file, old->orp_id, OBJ_ID_BYTES);
	rc = record_put(tx, key, nr, &record, old != NULL ? file : NULL);
	if (rc != 0)
		return rc;
	if (old != NULL)
		upload_forget(req->orq_id);
	serve_count(tx, &more, &less);
	return 0;
}

static void begin_update(struct m0_rpc_item *item, struct m0_rpc_tx *tx)
{
	struct obj_req req;
	struct obj_rep there = { .orp_flags = 0 };
	struct obj_rep rep = { .orp_flags = 0 };
	uint8_t        key[OBJ_KEY_MAX];
	size_t         nr;
	int            rc = request_of(item, &req);

	M0_ASSERT(rc == 0);
	rc = serve_object_get(tx, req.orq_name, req.orq_name_nr, &there);
	if (rc == 0 && !(req.orq_flags & OBJ_FORCE) &&
	    there.orp_size == req.orq_count &&
	    memcmp(there.orp_source, req.orq_id, OBJ_ID_BYTES) == 0) {
		there.orp_flags = OBJ_SAME;
		there.orp_data_nr = 0;
		serve_reply(item, &there);
		return;
	}
	nr = serve_id_key(key, SERVE_KEY_UPLOAD, req.orq_id);
	rc = rc == 0 || rc == -ENOENT ? serve_key_get(tx, key, nr, &there) : rc;
	if (rc == 0 && there.orp_size == req.orq_count &&
	    there.orp_name_nr == req.orq_name_nr &&
	    memcmp(there.orp_name, req.orq_name, req.orq_name_nr) == 0) {
		upload_reopen(req.orq_id);
		rep.orp_flags = OBJ_RESUMED;
		there.orp_mtime_ns = wall_ns();
		(void)serve_key_put(tx, key, nr, &there);
	} else if (rc == 0 || rc == -ENOENT) {
		rc = upload_make(tx, &req, key, nr, rc == 0 ? &there : NULL);
	}
	if (rc == 0)
		serve_reply(item, &rep);
	else
		m0_rpc_reply_rc(item, rc);
}

void serve_begin(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	struct obj_req req;

	(void)machine;
	if (!request_ok(item, &req))
		return;
	if (req.orq_count == 0)
		m0_rpc_reply_rc(item, -EPROTO);
	else if (req.orq_count > serve_server->sv_object_max)
		m0_rpc_reply_rc(item, -EFBIG);
	else
		m0_rpc_update_post(item, &begin_update);
}

static void abort_update(struct m0_rpc_item *item, struct m0_rpc_tx *tx)
{
	struct obj_info more = { .oin_uploads = 0 };
	struct obj_info less = { .oin_uploads = 1 };
	struct obj_req  req;
	struct obj_rep  record;
	uint8_t         key[OBJ_KEY_MAX];
	uint8_t         file[OBJ_ID_BYTES];
	size_t          nr;
	int             rc = request_of(item, &req);

	M0_ASSERT(rc == 0);
	nr = serve_id_key(key, SERVE_KEY_UPLOAD, req.orq_id);
	rc = serve_key_get(tx, key, nr, &record);
	if (rc == 0) {
		memcpy(file, record.orp_id, OBJ_ID_BYTES);
		rc = serve_key_del(tx, key, nr);
	}
	if (rc == 0)
		rc = serve_garbage_put(tx, file);
	if (rc == 0) {
		serve_count(tx, &more, &less);
		upload_forget(req.orq_id);
	}
	m0_rpc_reply_rc(item, rc);
}

void serve_abort(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	struct obj_req req;
	int            rc = request_of(item, &req);

	(void)machine;
	if (rc != 0)
		m0_rpc_reply_rc(item, rc);
	else
		m0_rpc_update_post(item, &abort_update);
}

void serve_commit_update(struct m0_rpc_item *item, struct m0_rpc_tx *tx)
{
	struct obj_req req;
	struct obj_rep record;
	struct obj_rep object;
	uint8_t        key[OBJ_KEY_MAX];
	size_t         nr;
	int            rc = request_of(item, &req);

	M0_ASSERT(rc == 0);
	nr = serve_id_key(key, SERVE_KEY_UPLOAD, req.orq_id);
	rc = serve_key_get(tx, key, nr, &record);
	if (rc == 0 &&
	    (record.orp_name_nr != req.orq_name_nr ||
	     memcmp(record.orp_name, req.orq_name, req.orq_name_nr) != 0))
		rc = -EINVAL;
	if (rc == 0) {
		object_of(&req, &object);
		object.orp_size = record.orp_size;
		memcpy(object.orp_id, record.orp_id, OBJ_ID_BYTES);
		rc = object_put(tx, &req, &object, true);
	}
	/* Only a store that loses the transaction refuses this. */
	if (rc == 0)
		rc = serve_key_del(tx, key, nr);
	upload_forget(req.orq_id);
	m0_rpc_reply_rc(item, rc);
}
