/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Questions to the store: jobs that change nothing. */
#include "../base/le.h"
#include "serve.h"

enum {
	/** Bytes of an entry of a list before its name. */
	ENTRY_HEAD = 24
};

/* Others of the batch, and its commit, are no part of the time of this one. */
static void ask_answer(struct serve_op *op, const struct obj_rep *rep)
{
	serve_reply(op->op_item, rep);
	op->op_answered = op->op_came != 0 ? m0_time_now() : 0;
}

static void ask_done(struct m0_rpc_store_job *job, int rc)
{
	struct serve_op *op = container_of(job, struct serve_op, op_job);

	if (rc == 0)
		rc = op->op_rc;
	/* The answer was made while its bytes were there. */
	if (rc != 0)
		m0_rpc_reply_rc(op->op_item, rc);
	serve_op_free(op);
}

static void ask(struct m0_rpc_item *item,
		int (*run)(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx),
		int (*check)(const char *name, size_t nr))
{
	struct serve_op     *op = serve_op_new(item);
	struct m0_rpc_store *store = serve_server->sv_store;
	int                  rc = 0;

	if (op == NULL)
		return;
	if (check != NULL)
		rc = check(op->op_req.orq_name, op->op_req.orq_name_nr);
	if (rc != 0) {
		serve_op_end(op, rc);
		return;
	}
	op->op_job.sj_run = run;
	op->op_job.sj_done = &ask_done;
	store->rst_ops->rso_exec(store, &op->op_job);
}

static int stat_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	struct serve_op *op = container_of(job, struct serve_op, op_job);
	struct obj_rep   object;

	op->op_rc = serve_object_get(tx, op->op_req.orq_name,
				     op->op_req.orq_name_nr, &object);
	if (op->op_rc == 0) {
		if (!(op->op_req.orq_flags & OBJ_WANT_DATA))
			object.orp_data_nr = 0;
		ask_answer(op, &object);
	}
	return 0;
}

void serve_stat(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	(void)machine;
	ask(item, &stat_run, &obj_name_check);
}

static int info_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	struct serve_op *op = container_of(job, struct serve_op, op_job);
	struct obj_info  info;
	struct obj_rep   rep = { .orp_flags = 0 };
	uint8_t          data[OBJ_INFO_BYTES];

	serve_info_get(tx, &info);
	obj_info_encode(&info, data);
	memcpy(rep.orp_id, op->op_server->sv_dir.sd_uuid, OBJ_ID_BYTES);
	rep.orp_data = data;
	rep.orp_data_nr = sizeof data;
	ask_answer(op, &rep);
	return 0;
}

void serve_info(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	(void)machine;
	ask(item, &info_run, NULL);
}

/* ---------------------------------------------------------------- list -- */

static size_t entry_put(uint8_t *at, const struct obj_rep *object)
{
	le_put64(at, object->orp_size);
	le_put64(at + 8, object->orp_mtime_ns);
	le_put32(at + 16, object->orp_mode);
	le_put32(at + 20, object->orp_name_nr);
	memcpy(at + ENTRY_HEAD, object->orp_name, object->orp_name_nr);
	return ENTRY_HEAD + object->orp_name_nr;
}

static bool begins_with(const struct obj_rep *object, const struct obj_req *req)
{
	return object->orp_name_nr >= req->orq_name_nr &&
	       memcmp(object->orp_name, req->orq_name, req->orq_name_nr) == 0;
}

/* Makes the prefix of the keys of names with this prefix. A key holds a long
 * name only in part. */
static size_t list_head(uint8_t key[OBJ_KEY_MAX], const struct obj_req *req)
{
	size_t nr = obj_name_key(key, req->orq_name, req->orq_name_nr);

	return min64u(nr, OBJ_KEY_MAX - HASH_BYTES);
}

/* The key to go on behind. */
static size_t list_start(uint8_t key[OBJ_KEY_MAX], const struct obj_req *req)
{
	size_t nr;

	if (req->orq_after_nr > 0)
		return obj_name_key(key, req->orq_after, req->orq_after_nr);
	nr = list_head(key, req);
	/* A shade before the first that may begin so. */
	--key[nr - 1];
	memset(key + nr, 0xff, OBJ_KEY_MAX - nr);
	return OBJ_KEY_MAX;
}

static int list_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	struct serve_op      *op = container_of(job, struct serve_op, op_job);
	const struct obj_req *req = &op->op_req;
	uint64_t       left = req->orq_count == 0 ? UINT64_MAX : req->orq_count;
	uint8_t        data[OBJ_REPLY_MAX];
	uint8_t        key[OBJ_KEY_MAX];
	struct obj_rep rep = { .orp_data = data };
	struct obj_rep object;
	uint8_t        head[OBJ_KEY_MAX];
	size_t         head_nr = list_head(head, req);
	struct m0_rpc_slice at = { key, list_start(key, req) };
	struct m0_rpc_slice value;

	while (left > 0 && m0_rpc_tx_next(tx, at, &at, &value) == 0) {
		if (at.sl_nr < head_nr ||
		    memcmp(at.sl_data, head, head_nr) != 0 ||
		    obj_rep_decode(&object, value.sl_data, value.sl_nr) != 0)
			break;
		/* Keys of long names are in the order of their checksums. */
		if (!begins_with(&object, req))
			continue;
		--left;
		if (rep.orp_data_nr + ENTRY_HEAD + object.orp_name_nr >
		    sizeof data) {
			rep.orp_flags = OBJ_MORE;
			break;
		}
		rep.orp_data_nr +=
			(uint32_t)entry_put(data + rep.orp_data_nr, &object);
	}
	ask_answer(op, &rep);
	return 0;
}

void serve_list(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	(void)machine;
	ask(item, &list_run, &obj_prefix_check);
}
