/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Which uploads a service gives up. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../tools/object/serve.h"

enum {
	/** Deletions of one transaction. */
	BATCH = 256,
	STUCK = 600
};

#define KEEP_NS (60 * M0_TIME_ONE_SECOND)

static struct server       sv;
static struct m0_rpc_store store;
static char                path[64];

static void tx_begin(struct m0_rpc_tx *tx)
{
	assert_int_equal(store.rst_ops->rso_begin(&store, tx), 0);
}

static int up(void **state)
{
	int i;

	(void)state;
	M0_SET0(&sv);
	m0_mutex_init(&sv.sv_lock);
	m0_cond_init(&sv.sv_gc_cond, &sv.sv_lock);
	for (i = 0; i < UPLOAD_BUCKETS; ++i)
		m0_list_init(&sv.sv_uploads[i]);
	m0_list_init(&sv.sv_dropped);
	assert_int_equal(m0_rpc_store_volatile_init(&store, 1 << 20), 0);
	sv.sv_store = &store;
	sv.sv_keep_ns = KEEP_NS;
	snprintf(path, sizeof path, "serve_gc.XXXXXX");
	assert_non_null(mkdtemp(path));
	sv.sv_dir.sd_data_fd = open(path, O_RDONLY | O_DIRECTORY);
	assert_true(sv.sv_dir.sd_data_fd >= 0);
	serve_server = &sv;
	return 0;
}

static int down(void **state)
{
	static const uint8_t id[OBJ_ID_BYTES] = { 'f' };

	(void)state;
	serve_uploads_free(&sv);
	(void)serve_file_unlink(&sv.sv_dir, id);
	(void)unlinkat(sv.sv_dir.sd_data_fd, "66", AT_REMOVEDIR);
	(void)close(sv.sv_dir.sd_data_fd);
	(void)rmdir(path);
	m0_rpc_store_volatile_fini(&store);
	m0_cond_fini(&sv.sv_gc_cond);
	m0_mutex_fini(&sv.sv_lock);
	return 0;
}

/* A record of an upload, begun two minutes ago. */
static void begun_long_ago_as(const uint8_t *source)
{
	struct obj_rep   record = { .orp_id = { 'f' }, .orp_size = OBJ_BLOCK };
	uint8_t          key[OBJ_KEY_MAX];
	struct timespec  now;
	struct m0_rpc_tx tx;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	record.orp_mtime_ns = (uint64_t)now.tv_sec * M0_TIME_ONE_SECOND -
			      2 * KEEP_NS;
	tx_begin(&tx);
	assert_int_equal(
		serve_key_put(&tx, key,
			      serve_id_key(key, SERVE_KEY_UPLOAD, source),
			      &record),
		0);
	assert_int_equal(store.rst_ops->rso_commit(&tx), 0);
}

/* Its id is this letter. */
static void begun_long_ago(char id)
{
	const uint8_t source[OBJ_ID_BYTES] = { (uint8_t)id };

	begun_long_ago_as(source);
}

/* In memory, and last used so long ago. */
static struct serve_upload *heard_of(char id, m0_time_t ago)
{
	const uint8_t        source[OBJ_ID_BYTES] = { (uint8_t)id };
	const uint8_t        file[OBJ_ID_BYTES] = { 'f' };
	struct serve_upload *upload =
		serve_upload_add(&sv, source, file, OBJ_BLOCK);

	assert_non_null(upload);
	upload->su_used = m0_time_sub(m0_time_now(), ago);
	return upload;
}

static bool is_there(enum serve_key letter, char id)
{
	const uint8_t       source[OBJ_ID_BYTES] = { (uint8_t)id };
	uint8_t             key[OBJ_KEY_MAX];
	struct m0_rpc_slice value;
	struct m0_rpc_tx    tx;
	int                 rc;

	tx_begin(&tx);
	rc = m0_rpc_tx_get(
		&tx,
		(struct m0_rpc_slice){ key, serve_id_key(key, letter, source) },
		&value);
	store.rst_ops->rso_abort(&tx);
	return rc == 0;
}

/* An unused upload becomes garbage, and nobody may write to its file any
 * more. */
static void upload_that_nobody_uses_is_given_up(void **state)
{
	(void)state;
	begun_long_ago('a');
	begun_long_ago('b');
	(void)heard_of('b', 2 * KEEP_NS);
	serve_gc_expire(&sv);
	assert_false(is_there(SERVE_KEY_UPLOAD, 'a'));
	assert_false(is_there(SERVE_KEY_UPLOAD, 'b'));
	assert_true(is_there(SERVE_KEY_GARBAGE, 'f'));
	assert_int_equal(sv.sv_uploads_nr, 0);
}

/* Where the clock has begun less than that ago. */
static void upload_is_kept_when_the_clock_is_young(void **state)
{
	(void)state;
	begun_long_ago('a');
	sv.sv_keep_ns = M0_TIME_NEVER / 2;
	serve_gc_expire(&sv);
	assert_true(is_there(SERVE_KEY_UPLOAD, 'a'));
}

/* However long ago it was begun: one that waits for a block, one that got one,
 * one that got its last before this service was started. */
static void upload_that_is_used_is_kept(void **state)
{
	const uint8_t        id[OBJ_ID_BYTES] = { 'f' };
	struct serve_upload *upload = heard_of('a', 2 * KEEP_NS);
	struct serve_file    file;

	(void)state;
	begun_long_ago('a');
	begun_long_ago('b');
	++upload->su_users;
	(void)heard_of('b', 0);
	serve_gc_expire(&sv);
	assert_true(is_there(SERVE_KEY_UPLOAD, 'a'));
	assert_true(is_there(SERVE_KEY_UPLOAD, 'b'));
	assert_int_equal(sv.sv_uploads_nr, 2);
	--upload->su_users;
	begun_long_ago('c');
	assert_int_equal(
		serve_file_open(&file, &sv.sv_dir, id, O_RDWR | O_CREAT), 0);
	serve_file_close(&file);
	serve_gc_expire(&sv);
	assert_true(is_there(SERVE_KEY_UPLOAD, 'c'));
	assert_false(is_there(SERVE_KEY_GARBAGE, 'f'));
}

/* Job that the server has given to the store; the test runs it. */
static struct m0_rpc_store_job *asked;

static void exec_later(struct m0_rpc_store *st, struct m0_rpc_store_job *job)
{
	assert_ptr_equal(st, &store);
	asked = job;
}

static void go_on(struct serve_op *op)
{
	++op->op_upload->su_size;
}

/* Old ones are looked for when a block's transaction has read the record, and
 * what asked for that has not heard of it: its block makes no file of nobody. */
static void upload_that_enters_memory_is_kept(void **state)
{
	const struct m0_rpc_store_ops *ops = store.rst_ops;
	struct m0_rpc_store_ops        later = *ops;
	struct serve_op  op = { .op_server = &sv, .op_req.orq_id = { 'a' } };
	struct m0_rpc_tx tx;
	int              rc;

	(void)state;
	begun_long_ago('a');
	later.rso_exec = exec_later;
	store.rst_ops = &later;
	serve_upload_get(&op, go_on);
	store.rst_ops = ops;
	tx_begin(&tx);
	assert_int_equal(asked->sj_run(asked, &tx), 0);
	rc = ops->rso_commit(&tx);
	serve_gc_expire(&sv);
	asked->sj_done(asked, rc);
	assert_non_null(op.op_upload);
	assert_int_equal(op.op_upload->su_size, OBJ_BLOCK + 1);
	assert_true(is_there(SERVE_KEY_UPLOAD, 'a'));
	assert_false(is_there(SERVE_KEY_GARBAGE, 'f'));
	serve_upload_put(&sv, op.op_upload);
}

static void garbage(const uint8_t id[OBJ_ID_BYTES])
{
	struct m0_rpc_tx tx;

	tx_begin(&tx);
	assert_int_equal(serve_garbage_put(&tx, id), 0);
	assert_int_equal(store.rst_ops->rso_commit(&tx), 0);
}

static bool becomes(bool there, char id)
{
	m0_time_t deadline = m0_time_from_now(10, 0);

	while (is_there(SERVE_KEY_GARBAGE, id) != there &&
	       m0_time_now() < deadline)
		m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
	return is_there(SERVE_KEY_GARBAGE, id) == there;
}

/* A thread that had begun to write a block when its upload was dropped may make
 * the file at any later time, so the file stays garbage until then. */
static void file_that_is_written_to_stays_garbage(void **state)
{
	const uint8_t        f[OBJ_ID_BYTES] = { 'f' };
	const uint8_t        g[OBJ_ID_BYTES] = { 'g' };
	struct serve_upload *upload = heard_of('a', 0);

	(void)state;
	++upload->su_users;
	++upload->su_writers;
	m0_mutex_lock(&sv.sv_lock);
	serve_upload_drop(&sv, upload);
	m0_mutex_unlock(&sv.sv_lock);
	assert_int_equal(serve_gc_start(&sv), 0);
	garbage(f);
	garbage(g);
	assert_true(becomes(false, 'g'));
	assert_true(is_there(SERVE_KEY_GARBAGE, 'f'));
	m0_mutex_lock(&sv.sv_lock);
	--upload->su_writers;
	serve_upload_put(&sv, upload);
	m0_mutex_unlock(&sv.sv_lock);
	serve_gc_due(&sv);
	assert_true(becomes(false, 'f'));
	serve_gc_stop(&sv);
}

/* A directory is in the place of a file, say: nobody can unlink that. */
static void stuck(unsigned nr, bool is)
{
	const uint8_t id[OBJ_ID_BYTES] = { 1, (uint8_t)nr, (uint8_t)(nr >> 8) };
	char          name[64];

	snprintf(name, sizeof name, "01/01%02x%02x%026x.sums", nr & 0xff,
		 nr >> 8, 0);
	if (is) {
		assert_int_equal(mkdirat(sv.sv_dir.sd_data_fd, name, 0700), 0);
		garbage(id);
	} else {
		assert_int_equal(
			unlinkat(sv.sv_dir.sd_data_fd, name, AT_REMOVEDIR), 0);
	}
}

/* However many, the rest goes; and they do when they can. */
static void garbage_that_stays_keeps_no_other(void **state)
{
	const uint8_t f[OBJ_ID_BYTES] = { 'f' };
	unsigned      i;

	(void)state;
	assert_int_equal(mkdirat(sv.sv_dir.sd_data_fd, "01", 0700), 0);
	for (i = 0; i < STUCK; ++i)
		stuck(i, true);
	garbage(f);
	assert_int_equal(serve_gc_start(&sv), 0);
	assert_true(becomes(false, 'f'));
	assert_true(is_there(SERVE_KEY_GARBAGE, 1));
	for (i = 0; i < STUCK; ++i)
		stuck(i, false);
	serve_gc_due(&sv);
	assert_true(becomes(false, 1));
	serve_gc_stop(&sv);
	assert_int_equal(unlinkat(sv.sv_dir.sd_data_fd, "01", AT_REMOVEDIR), 0);
}

/* Deletions: of the present transaction, the most of one, of all. */
static struct m0_rpc_store_ops counting;
static unsigned                dels_nr;
static unsigned                dels_max;
static unsigned                dels_all;

static int begin_counted(struct m0_rpc_store *st, struct m0_rpc_tx *tx)
{
	int rc = counting.rso_begin(st, tx);

	dels_nr = 0; /* in its turn */
	return rc;
}

static int del_counted(struct m0_rpc_tx *tx, struct m0_rpc_slice key)
{
	++dels_all;
	if (++dels_nr > dels_max)
		dels_max = dels_nr;
	return counting.rso_del(tx, key);
}

/* A transaction deletes a limited number of keys, so no request waits long. */
static void transactions_are_bounded(void **state)
{
	const struct m0_rpc_store_ops *ops = store.rst_ops;
	struct m0_rpc_store_ops        counted = *ops;
	uint8_t                        id[OBJ_ID_BYTES] = { 1 };
	unsigned                       i;

	(void)state;
	counting = *ops;
	counted.rso_begin = begin_counted;
	counted.rso_del = del_counted;
	dels_max = dels_all = 0;
	for (i = 0; i < STUCK; ++i) {
		memcpy(id + 1, &i, sizeof i);
		begun_long_ago_as(id);
	}
	store.rst_ops = &counted;
	for (i = BATCH; dels_all < STUCK; i += BATCH) {
		serve_gc_expire(&sv);
		assert_int_equal(dels_all, min64u(i, STUCK));
	}
	store.rst_ops = ops;
	for (i = 0; i < STUCK; ++i) {
		memcpy(id + 1, &i, sizeof i);
		garbage(id);
	}
	store.rst_ops = &counted;
	dels_max = 0;
	assert_int_equal(serve_gc_start(&sv), 0);
	assert_true(becomes(false, 'f'));
	serve_gc_stop(&sv);
	store.rst_ops = ops;
	assert_int_equal(dels_max, BATCH);
}

/* In place of the C library's: the directories that were synced. */
static ino_t    synced[8];
static unsigned synced_nr;

int fsync(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_true(synced_nr < ARRAY_SIZE(synced));
	synced[synced_nr++] = st.st_ino;
	return 0;
}

static bool was_synced(const char *name)
{
	struct stat st;
	unsigned    i;

	assert_int_equal(fstatat(sv.sv_dir.sd_data_fd, name, &st, 0), 0);
	for (i = 0; i < synced_nr; ++i)
		if (synced[i] == st.st_ino)
			return true;
	return false;
}

/* Before the records go, every directory that had one of the files is synced,
 * and once. */
static void each_directory_is_synced(void **state)
{
	static const char   *dirs[] = { "01", "02", "03" };
	static const uint8_t ids[][OBJ_ID_BYTES] = {
		{ 1 }, { 1, 2 }, { 2 }, { 3 }, { 3, 2 },
	};
	struct serve_file file;
	unsigned          i;

	(void)state;
	synced_nr = 0;
	sv.sv_sync = SERVE_SYNC_COMMIT;
	for (i = 0; i < ARRAY_SIZE(ids); ++i) {
		assert_int_equal(serve_file_open(&file, &sv.sv_dir, ids[i],
						 O_RDWR | O_CREAT),
				 0);
		serve_file_close(&file);
		garbage(ids[i]);
	}
	assert_int_equal(serve_gc_start(&sv), 0);
	assert_true(becomes(false, 1) && becomes(false, 3));
	serve_gc_stop(&sv);
	assert_int_equal(synced_nr, ARRAY_SIZE(dirs));
	for (i = 0; i < ARRAY_SIZE(dirs); ++i) {
		assert_true(was_synced(dirs[i]));
		assert_int_equal(unlinkat(sv.sv_dir.sd_data_fd, dirs[i],
					  AT_REMOVEDIR),
				 0);
	}
}

int main(void)
{
	static const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(
			upload_that_nobody_uses_is_given_up, up, down),
		cmocka_unit_test_setup_teardown(
			upload_is_kept_when_the_clock_is_young, up, down),
		cmocka_unit_test_setup_teardown(upload_that_is_used_is_kept, up,
						down),
		cmocka_unit_test_setup_teardown(
			upload_that_enters_memory_is_kept, up, down),
		cmocka_unit_test_setup_teardown(
			file_that_is_written_to_stays_garbage, up, down),
		cmocka_unit_test_setup_teardown(
			garbage_that_stays_keeps_no_other, up, down),
		cmocka_unit_test_setup_teardown(transactions_are_bounded, up,
						down),
		cmocka_unit_test_setup_teardown(each_directory_is_synced, up,
						down),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
