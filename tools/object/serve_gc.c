/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Files that no object names any more are unlinked, and uploads that nobody has
 * finished for long are given up: by a thread of its own, in transactions of its
 * own. A file is unlinked before its record goes, also on the disk.
 */
#include <time.h>

#include "serve.h"

enum {
	/** Files of one transaction. */
	BATCH = 256
};

/** How often old uploads are looked for, at least, and how long garbage may
 * lie. */
#define LOOK_NS   (30 * M0_TIME_ONE_SECOND)
#define LINGER_NS (M0_TIME_ONE_SECOND / 5)
/** While there are as many uploads as there may be: how long one that nobody
 * works at is kept at most, and how often they are looked for. */
#define CROWDED_KEEP_NS (600 * M0_TIME_ONE_SECOND)
#define CROWDED_LOOK_NS M0_TIME_ONE_SECOND

static uint64_t wall_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * M0_TIME_ONE_SECOND +
	       (uint64_t)now.tv_nsec;
}

/* The next key with this letter behind `key`, which it replaces. */
static bool key_next(struct m0_rpc_tx *tx, enum serve_key letter,
		     uint8_t key[1 + OBJ_ID_BYTES], struct m0_rpc_slice *ret)
{
	struct m0_rpc_slice at;

	if (m0_rpc_tx_next(tx, (struct m0_rpc_slice){ key, 1 + OBJ_ID_BYTES },
			   &at, ret) != 0 ||
	    at.sl_nr != 1 + OBJ_ID_BYTES ||
	    *(const uint8_t *)at.sl_data != letter)
		return false;
	memcpy(key, at.sl_data, at.sl_nr);
	return true;
}

static bool upload_next(struct m0_rpc_tx *tx, uint8_t key[1 + OBJ_ID_BYTES],
			struct obj_rep *ret)
{
	struct m0_rpc_slice value;

	return key_next(tx, SERVE_KEY_UPLOAD, key, &value) &&
	       obj_rep_decode(ret, value.sl_data, value.sl_nr) == 0;
}

static void key_first(uint8_t key[1 + OBJ_ID_BYTES], enum serve_key letter)
{
	memset(key, 0, 1 + OBJ_ID_BYTES);
	key[0] = (uint8_t)letter;
}

/* Lists garbage behind `key`, which moves on. */
static int garbage_list(struct server *sv, uint8_t key[1 + OBJ_ID_BYTES],
			uint8_t (*keys)[1 + OBJ_ID_BYTES])
{
	const struct m0_rpc_store_ops *ops = sv->sv_store->rst_ops;
	struct m0_rpc_slice            none;
	struct m0_rpc_tx               tx;
	int                            nr = 0;

	if (ops->rso_begin(sv->sv_store, &tx) != 0)
		return 0;
	while (nr < BATCH && key_next(&tx, SERVE_KEY_GARBAGE, key, &none))
		memcpy(keys[nr++], key, 1 + OBJ_ID_BYTES);
	ops->rso_abort(&tx);
	return nr;
}

/* The keys are in the order of their ids. */
static int unlinks_sync(struct server *sv, uint8_t (*keys)[1 + OBJ_ID_BYTES],
			int            nr)
{
	int rc = 0;
	int i;

	if (sv->sv_sync == SERVE_SYNC_NONE || sv->sv_is_volatile)
		return 0;
	for (i = 0; rc == 0 && i < nr; ++i)
		if (i == 0 || keys[i][1] != keys[i - 1][1])
			rc = serve_file_gone_sync(&sv->sv_dir, keys[i] + 1);
	return rc;
}

/* A writer may create the file again, so it stays until no writer is left. */
static int file_unlink(struct server *sv, const uint8_t *file)
{
	bool writes;

	m0_mutex_lock(&sv->sv_lock);
	writes = serve_upload_writes(sv, file);
	m0_mutex_unlock(&sv->sv_lock);
	return writes ? -EBUSY : serve_file_unlink(&sv->sv_dir, file);
}

/* Skips files that cannot be unlinked, since there may be many. @return
 * true: there may be more behind `key` */
static bool garbage_collect(struct server *sv, uint8_t key[1 + OBJ_ID_BYTES])
{
	const struct m0_rpc_store_ops *ops = sv->sv_store->rst_ops;
	uint8_t(*keys)[1 + OBJ_ID_BYTES];
	struct m0_rpc_tx tx;
	int              nr = 0;
	int              gone = 0;
	int              i;

	M0_ALLOC_ARR(keys, BATCH);
	if (keys != NULL)
		nr = garbage_list(sv, key, keys);
	/* Outside of a transaction: large files take their time. */
	for (i = 0; i < nr; ++i)
		if (file_unlink(sv, keys[i] + 1) == 0)
			memmove(keys[gone++], keys[i], sizeof keys[i]);
	if (unlinks_sync(sv, keys, gone) != 0)
		gone = 0;
	if (gone > 0 && ops->rso_begin(sv->sv_store, &tx) == 0) {
		for (i = 0; i < gone; ++i)
			(void)serve_key_del(&tx, keys[i], sizeof keys[i]);
		(void)ops->rso_commit(&tx);
	}
	m0_free(keys);
	return nr == BATCH;
}

/* Has nobody begun it, gone on with it, or written to it since? */
static bool is_old(struct server *sv, const uint8_t *source,
		   const struct obj_rep *record, uint64_t keep_ns)
{
	/* The clock of a machine that has none begins at 0. */
	uint64_t limit = m0_time_sub(wall_ns(), keep_ns);
	bool     old;

	if (record->orp_mtime_ns >= limit ||
	    serve_file_mtime_ns(&sv->sv_dir, record->orp_id) >= limit)
		return false;
	m0_mutex_lock(&sv->sv_lock);
	old = serve_upload_expire(sv, source,
				  m0_time_sub(m0_time_now(), keep_ns));
	m0_mutex_unlock(&sv->sv_lock);
	return old;
}

/* How long uploads are kept now. */
static uint64_t keep_take(struct server *sv)
{
	bool crowded;

	m0_mutex_lock(&sv->sv_lock);
	crowded = sv->sv_crowded;
	sv->sv_crowded = false;
	m0_mutex_unlock(&sv->sv_lock);
	return crowded ? min64u(sv->sv_keep_ns, CROWDED_KEEP_NS)
		       : sv->sv_keep_ns;
}

void serve_gc_expire(struct server *sv)
{
	static const struct obj_info   zero;
	const struct m0_rpc_store_ops *ops = sv->sv_store->rst_ops;
	struct obj_info                less = { .oin_uploads = 0 };
	uint8_t                        key[1 + OBJ_ID_BYTES];
	uint8_t                        file[OBJ_ID_BYTES];
	struct obj_rep                 record;
	uint64_t                       keep_ns = keep_take(sv);
	struct m0_rpc_tx               tx;
	int                            rc = 0;

	if (ops->rso_begin(sv->sv_store, &tx) != 0)
		return;
	key_first(key, SERVE_KEY_UPLOAD);
	while (rc == 0 && less.oin_uploads < BATCH &&
	       upload_next(&tx, key, &record)) {
		if (!is_old(sv, key + 1, &record, keep_ns))
			continue;
		memcpy(file, record.orp_id, OBJ_ID_BYTES);
		rc = serve_key_del(&tx, key, sizeof key);
		if (rc == 0)
			rc = serve_garbage_put(&tx, file);
		++less.oin_uploads;
	}
	if (rc != 0 || less.oin_uploads == 0) {
		ops->rso_abort(&tx);
		return;
	}
	serve_count(&tx, &zero, &less);
	(void)ops->rso_commit(&tx);
}

/* After a reboot, nobody knows which of their blocks are on disk. */
static int uploads_forget(struct server *sv)
{
	const struct m0_rpc_store_ops *ops = sv->sv_store->rst_ops;
	uint8_t                        key[1 + OBJ_ID_BYTES];
	struct obj_rep                 record;
	struct m0_rpc_tx               tx;
	int                            rc = ops->rso_begin(sv->sv_store, &tx);

	if (rc != 0)
		return rc;
	key_first(key, SERVE_KEY_UPLOAD);
	while (rc == 0 && upload_next(&tx, key, &record))
		rc = serve_file_forget(&sv->sv_dir, record.orp_id);
	ops->rso_abort(&tx);
	return rc;
}

static void gc_run(struct server *sv)
{
	uint64_t look_ns =
		max64u(min64u(LOOK_NS, sv->sv_keep_ns / 4), LINGER_NS);
	uint8_t   key[1 + OBJ_ID_BYTES];
	m0_time_t look = 0;
	m0_time_t last = 0;
	bool      more = false;

	m0_mutex_lock(&sv->sv_lock);
	while (sv->sv_gc_on) {
		if (!sv->sv_gc_due && !more)
			(void)m0_cond_timedwait(&sv->sv_gc_cond,
						m0_time_add(m0_time_now(),
							    look_ns));
		if (sv->sv_gc_on) /* more may come meanwhile */
			(void)m0_cond_timedwait(&sv->sv_gc_cond,
						m0_time_add(m0_time_now(),
							    LINGER_NS));
		if (!more) { /* else what has come is for the next round */
			sv->sv_gc_due = false;
			key_first(key, SERVE_KEY_GARBAGE);
		}
		if (sv->sv_crowded)
			look = min64u(look, m0_time_add(last, CROWDED_LOOK_NS));
		m0_mutex_unlock(&sv->sv_lock);
		if (m0_time_now() >= look) {
			serve_gc_expire(sv);
			last = m0_time_now();
			look = m0_time_add(last, look_ns);
		}
		more = garbage_collect(sv, key);
		m0_mutex_lock(&sv->sv_lock);
	}
	m0_mutex_unlock(&sv->sv_lock);
}

void serve_gc_due(struct server *sv)
{
	m0_mutex_lock(&sv->sv_lock);
	if (!sv->sv_gc_due) {
		sv->sv_gc_due = true;
		m0_cond_signal(&sv->sv_gc_cond);
	}
	m0_mutex_unlock(&sv->sv_lock);
}

void serve_gc_crowded(struct server *sv)
{
	m0_mutex_lock(&sv->sv_lock);
	sv->sv_crowded = true;
	m0_mutex_unlock(&sv->sv_lock);
	serve_gc_due(sv);
}

/* Noted when it is done, so that the next service does it if this one ends
 * before. A volatile one has not the files that it is about. */
static int reboot_mend(struct server *sv)
{
	int rc = 0;

	if (sv->sv_dir.sd_rebooted && !sv->sv_is_volatile)
		rc = uploads_forget(sv) ?: serve_dir_boot_note(&sv->sv_dir);
	return rc;
}

int serve_gc_start(struct server *sv)
{
	int rc = reboot_mend(sv);

	if (rc != 0)
		return rc;
	sv->sv_gc_on = true;
	sv->sv_gc_due = true;
	rc = M0_THREAD_INIT(&sv->sv_gc_thread, struct server *, NULL, &gc_run,
			    sv, "serve-gc");
	if (rc != 0) /* else it is the thread's to look at */
		sv->sv_gc_on = false;
	return rc;
}

void serve_gc_stop(struct server *sv)
{
	if (!sv->sv_gc_on)
		return;
	m0_mutex_lock(&sv->sv_lock);
	sv->sv_gc_on = false;
	m0_cond_signal(&sv->sv_gc_cond);
	m0_mutex_unlock(&sv->sv_lock);
	(void)m0_thread_join(&sv->sv_gc_thread);
	m0_thread_fini(&sv->sv_gc_thread);
}
