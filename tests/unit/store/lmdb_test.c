/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The durable store beyond what all stores do: its directory, files that are
 * damaged or foreign, commits that fail, batches.
 */
#include "m0/rpc_store_lmdb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/check.h"

enum {
	KEYS = 400,
	FLIPS = 1500,
	VALUE_MAX = 20000
};

static char                         dir[64];
static char                         path[80];
static struct m0_rpc_store          store;
static struct m0_rpc_store_lmdb_cfg cfg;
static char                         said[2048];

static void sink(void *arg, enum m0_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	snprintf(said, sizeof said, "%s", text);
}

static int up(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "lmdb_test.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/store.mdb", dir);
	m0_rpc_store_lmdb_cfg_init(&cfg);
	cfg.rlc_bytes_max = 64 << 20;
	cfg.rlc_sync = M0_RPC_STORE_SYNC_NEVER;
	said[0] = 0;
	m0_log_set(sink, NULL);
	return 0;
}

static int down(void **state)
{
	char command[128];

	(void)state;
	m0_log_set(NULL, NULL);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

static int open_store(void)
{
	return m0_rpc_store_lmdb_open(&store, dir, &cfg);
}

static void close_store(void)
{
	m0_rpc_store_lmdb_close(&store);
}

static struct m0_rpc_tx begin(void)
{
	struct m0_rpc_tx tx;

	assert_int_equal(store.rst_ops->rso_begin(&store, &tx), 0);
	return tx;
}

static int put(struct m0_rpc_tx *tx, const char *key, size_t nr)
{
	static char bytes[VALUE_MAX];

	memset(bytes, key[strlen(key) - 1], nr);
	return store.rst_ops->rso_put(tx,
				      (struct m0_rpc_slice){ key, strlen(key) },
				      (struct m0_rpc_slice){ bytes, nr });
}

/** A store with values of all sizes, replaced and deleted in many commits. */
static void fill(void)
{
	struct m0_rpc_tx tx;
	char             key[32];
	unsigned         round;
	unsigned         i;

	assert_int_equal(open_store(), 0);
	for (round = 0; round < 8; ++round) {
		tx = begin();
		for (i = 0; i < KEYS; ++i) {
			snprintf(key, sizeof key, "key%05u", i * 7919 % KEYS);
			if ((i + round) % 5 == 0)
				assert_int_equal(put(&tx, key,
						     i % 17 == 0 ? 9000
								 : i % 300),
						 0);
			else if ((i + round) % 11 == 0)
				(void)store.rst_ops->rso_del(
					&tx, (struct m0_rpc_slice){
						     key, strlen(key) });
		}
		assert_int_equal(store.rst_ops->rso_commit(&tx), 0);
	}
	close_store();
}

/* LMDB leaves a value that is put twice by a transaction, the second time
 * shorter, in pages that are more than it needs: that is no damage. */
static void value_replaced_in_its_transaction_is_good(void **state)
{
	static const size_t sizes[] = { 20000, 12000, 9000, 5000, 100, 0 };
	struct m0_rpc_tx    tx;
	size_t              i;

	(void)state;
	for (i = 0; i + 1 < ARRAY_SIZE(sizes); ++i) {
		assert_int_equal(open_store(), 0);
		tx = begin();
		assert_int_equal(put(&tx, "key", sizes[i]), 0);
		assert_int_equal(put(&tx, "key", sizes[i + 1]), 0);
		assert_int_equal(store.rst_ops->rso_commit(&tx), 0);
		close_store();
	}
	assert_int_equal(open_store(), 0);
	close_store();
}

/** Sum over all keys and values. */
static uint64_t content_sum(void)
{
	struct m0_rpc_slice key = { "", 0 };
	struct m0_rpc_slice value;
	struct m0_rpc_tx    tx = begin();
	uint64_t            sum = 0;
	size_t              i;
	int                 rc;

	while ((rc = store.rst_ops->rso_next(&tx, key, &key, &value)) == 0) {
		for (i = 0; i < key.sl_nr; ++i)
			sum = sum * 31 + ((const uint8_t *)key.sl_data)[i];
		for (i = 0; i < value.sl_nr; ++i)
			sum = sum * 31 + ((const uint8_t *)value.sl_data)[i];
	}
	assert_int_equal(rc, -ENOENT);
	store.rst_ops->rso_abort(&tx);
	return sum;
}

/* ----------------------------------------------------------------- files -- */

static uint8_t *file_read(size_t *nr)
{
	FILE    *file = fopen(path, "rb");
	uint8_t *bytes;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*nr = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*nr);
	assert_int_equal(fread(bytes, 1, *nr, file), *nr);
	fclose(file);
	return bytes;
}

static void file_write(const void *bytes, size_t nr)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, nr, file), nr);
	fclose(file);
}

static bool file_is(const uint8_t *bytes, size_t nr)
{
	size_t   there;
	uint8_t *now = file_read(&there);
	bool     same = there == nr && memcmp(now, bytes, nr) == 0;

	free(now);
	return same;
}

/** Refused and left as it is, or nothing of it is other than before. */
static bool refused_or_same(uint64_t sum)
{
	size_t   nr;
	uint8_t *bytes = file_read(&nr);
	int      rc = open_store();

	if (rc == 0) {
		assert_int_equal(content_sum(), sum);
		close_store();
	} else {
		assert_true(rc == -EUCLEAN || rc == -EMEDIUMTYPE ||
			    rc == -EPROTONOSUPPORT);
		assert_non_null(strstr(said, path));
		assert_true(file_is(bytes, nr));
	}
	free(bytes);
	return rc != 0;
}

static void poke(size_t at, uint8_t byte)
{
	int fd = open(path, O_RDWR);

	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	close(fd);
}

/* Each byte of both roots, and many of the rest, in turn: never other data. */
static void flipped_bits_are_refused_or_harmless(void **state)
{
	uint64_t seed = 11;
	uint64_t sum;
	size_t   nr;
	uint8_t *bytes;
	size_t   at;
	unsigned refused = 0;
	unsigned i;

	(void)state;
	fill();
	assert_int_equal(open_store(), 0);
	sum = content_sum();
	close_store();
	bytes = file_read(&nr);
	for (i = 0; i < FLIPS; ++i) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		at = i < 160 ? i : i < 320 ? 4096 + i - 160 : (seed >> 20) % nr;
		poke(at, bytes[at] ^ (uint8_t)(1U << (seed >> 61)));
		refused += refused_or_same(sum);
		poke(at, bytes[at]);
	}
	assert_in_range(refused, FLIPS / 8, FLIPS);
	assert_int_equal(open_store(), 0);
	assert_int_equal(content_sum(), sum);
	close_store();
	free(bytes);
}

/* A disk that lies later than the opening: what it gives is not believed. */
static void value_damaged_while_open_is_told(void **state)
{
	struct m0_rpc_slice key = { "keyZ", 4 };
	struct m0_rpc_slice value;
	struct m0_rpc_tx    tx;
	char                pattern[200];
	uint8_t            *bytes;
	uint8_t            *at;
	size_t              nr;

	(void)state;
	assert_int_equal(open_store(), 0);
	tx = begin();
	assert_int_equal(put(&tx, "keyZ", sizeof pattern), 0);
	assert_int_equal(store.rst_ops->rso_commit(&tx), 0);
	memset(pattern, 'Z', sizeof pattern);
	bytes = file_read(&nr);
	at = memmem(bytes, nr, pattern, sizeof pattern);
	assert_non_null(at);
	poke((size_t)(at - bytes) + 100, 'z');
	tx = begin();
	assert_int_equal(store.rst_ops->rso_get(&tx, key, &value), -EUCLEAN);
	store.rst_ops->rso_abort(&tx);
	close_store();
	free(bytes);
}

/* Wherever it ends, with nothing or with zeroes behind. */
static void truncated_files_are_refused(void **state)
{
	uint64_t sum;
	size_t   nr;
	uint8_t *bytes;
	size_t   at;

	(void)state;
	fill();
	assert_int_equal(open_store(), 0);
	sum = content_sum();
	close_store();
	bytes = file_read(&nr);
	for (at = 0; at < nr - nr / 3; at += 4096 - (at % 3)) {
		file_write(bytes, at);
		assert_true(refused_or_same(sum));
		assert_int_equal(truncate(path, (off_t)nr), 0);
		assert_true(refused_or_same(sum));
	}
	file_write(bytes, nr);
	assert_false(refused_or_same(sum));
	free(bytes);
}

/* Adds to the numbers of both roots' transactions. */
static void roots_age(uint64_t nr)
{
	const size_t at = offsetof(struct m0_store__meta, sme_tx);
	uint64_t     tx;
	off_t        page;
	int          fd = open(path, O_RDWR);

	for (page = 0; page < 2 * 4096; page += 4096) {
		assert_int_equal(pread(fd, &tx, sizeof tx, page + (off_t)at),
				 sizeof tx);
		tx += nr;
		assert_int_equal(pwrite(fd, &tx, sizeof tx, page + (off_t)at),
				 sizeof tx);
	}
	close(fd);
}

/* Roots that are younger than what they lead to: the disk wrote them first. */
static void roots_without_their_commit_are_refused(void **state)
{
	(void)state;
	fill();
	roots_age(2);
	assert_int_equal(open_store(), -EUCLEAN);
	roots_age((uint64_t)-2);
	assert_int_equal(open_store(), 0);
	close_store();
}

/* Not ours: text, nothing, a directory, a file of a newer format. */
static void foreign_files_are_refused_by_name(void **state)
{
	size_t   nr;
	uint8_t *bytes;

	(void)state;
	file_write("Dear diary", 10);
	assert_true(open_store() != 0);
	file_write("", 0);
	assert_true(open_store() != 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(open_store() != 0);
	assert_int_equal(rmdir(path), 0);
	bytes = calloc(1, nr = 1 << 16);
	file_write(bytes, nr);
	assert_int_equal(open_store(), -EMEDIUMTYPE);
	assert_non_null(strstr(said, "another directory"));
	free(bytes);
	assert_int_equal(unlink(path), 0);
	fill();
	bytes = file_read(&nr);
	poke(16 + 4, 2); /* LMDB's own version */
	assert_int_equal(open_store(), -EPROTONOSUPPORT);
	assert_non_null(strstr(said, "version that wrote it"));
	poke(16 + 4, 1);
	assert_int_equal(open_store(), 0);
	close_store();
	free(bytes);
}

/* If a process died while it made the store, the next one makes it anew. */
static void store_half_made_is_made_again(void **state)
{
	char fresh[100];
	int  fd;

	(void)state;
	snprintf(fresh, sizeof fresh, "%s.new", path);
	fd = open(fresh, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, "half", 4), 4);
	close(fd);
	assert_int_equal(open_store(), 0);
	close_store();
	assert_int_equal(access(fresh, F_OK), -1);
}

/* ----------------------------------------------------------------- doors -- */

/* Twice in a process, and in two: the second is refused and harms nobody. */
static void second_opening_is_busy(void **state)
{
	struct m0_rpc_store second;
	int                 status;
	pid_t               pid;

	(void)state;
	assert_int_equal(open_store(), 0);
	assert_int_equal(m0_rpc_store_lmdb_open(&second, dir, &cfg), -EBUSY);
	assert_non_null(strstr(said, "Another server"));
	pid = fork();
	if (pid == 0)
		_exit(m0_rpc_store_lmdb_open(&second, dir, &cfg) != -EBUSY);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close_store();
	assert_int_equal(open_store(), 0);
	close_store();
}

/* A directory that cannot be, and a configuration that makes no sense. */
static void openings_that_cannot_be_leave_nothing(void **state)
{
	(void)state;
	assert_int_equal(m0_rpc_store_lmdb_open(&store, "no/such/place", &cfg),
			 -ENOENT);
	assert_int_equal(m0_rpc_store_lmdb_open(&store, "/dev/null", &cfg),
			 -ENOTDIR);
	cfg.rlc_batch_max = 0;
	assert_int_equal(open_store(), -EINVAL);
	m0_rpc_store_lmdb_cfg_init(&cfg);
	cfg.rlc_bytes_max = 1000;
	assert_int_equal(open_store(), -EINVAL);
}

/* The bound may rise and fall between openings, not below what is there. */
static void bound_can_be_changed(void **state)
{
	struct m0_rpc_store_lmdb_stats stats;
	struct m0_rpc_tx               tx;
	char                           key[16];
	unsigned                       nr = 0;
	int                            rc = 0;

	(void)state;
	cfg.rlc_bytes_max = 1 << 20;
	assert_int_equal(open_store(), 0);
	tx = begin();
	while (rc == 0) {
		snprintf(key, sizeof key, "%u", nr++);
		rc = put(&tx, key, 9000);
	}
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(store.rst_ops->rso_commit(&tx), 0);
	close_store();
	cfg.rlc_bytes_max = 2 << 20;
	assert_int_equal(open_store(), 0);
	tx = begin();
	assert_int_equal(put(&tx, "more", 9000), 0);
	assert_int_equal(store.rst_ops->rso_commit(&tx), 0);
	m0_rpc_store_lmdb_stats(&store, &stats, false);
	assert_int_equal(stats.rls_keys_nr, nr);
	assert_in_range(stats.rls_bytes, 500000, 2 << 20);
	close_store();
}

/* --------------------------------------------------------------- batches -- */

struct job {
	struct m0_rpc_store_job job_store;
	struct m0_semaphore    *job_gate;
	struct m0_semaphore    *job_done;
	int                     job_rc;
	size_t                  job_bytes;
	unsigned                job_nr;
};

static int job_run(struct m0_rpc_store_job *store_job, struct m0_rpc_tx *tx)
{
	struct job *job = container_of(store_job, struct job, job_store);
	char        key[16];

	if (job->job_gate != NULL)
		m0_semaphore_down(job->job_gate);
	if (job->job_bytes == 0)
		return 0;
	snprintf(key, sizeof key, "job%u", job->job_nr);
	return put(tx, key, job->job_bytes);
}

static void job_done(struct m0_rpc_store_job *store_job, int rc)
{
	struct job *job = container_of(store_job, struct job, job_store);

	job->job_rc = rc;
	m0_semaphore_up(job->job_done);
}

static void jobs_run(struct job *jobs, unsigned nr, size_t bytes)
{
	struct m0_semaphore gate;
	struct m0_semaphore done;
	unsigned            i;

	(void)m0_semaphore_init(&gate, 0);
	(void)m0_semaphore_init(&done, 0);
	for (i = 0; i < nr; ++i) {
		jobs[i] = (struct job){ .job_store = { .sj_run = job_run,
						       .sj_done = job_done },
					.job_gate = i == 0 ? &gate : NULL,
					.job_done = &done,
					.job_bytes = bytes,
					.job_nr = i };
		store.rst_ops->rso_exec(&store, &jobs[i].job_store);
	}
	m0_semaphore_up(&gate);
	for (i = 0; i < nr; ++i)
		m0_semaphore_down(&done);
	m0_semaphore_fini(&done);
	m0_semaphore_fini(&gate);
}

/* Jobs that wait when the thread looks share a commit, up to the limit. */
static void jobs_that_wait_share_a_commit(void **state)
{
	struct m0_rpc_store_lmdb_stats stats;
	struct job                     jobs[100];

	(void)state;
	cfg.rlc_batch_max = 40;
	cfg.rlc_batch_ns = 60 * M0_TIME_ONE_SECOND;
	assert_int_equal(open_store(), 0);
	jobs_run(jobs, ARRAY_SIZE(jobs), 10);
	m0_rpc_store_lmdb_stats(&store, &stats, true);
	assert_int_equal(stats.rls_jobs_nr, ARRAY_SIZE(jobs));
	assert_int_equal(stats.rls_jobs_failed_nr, 0);
	/* The first may have been alone. */
	assert_in_range(stats.rls_commits_nr, 3, 4);
	assert_int_equal(m0_hist_max(&stats.rls_batch), 40);
	/* Jobs that change nothing cause no commit. */
	jobs_run(jobs, ARRAY_SIZE(jobs), 0);
	m0_rpc_store_lmdb_stats(&store, &stats, false);
	assert_int_equal(stats.rls_jobs_nr, ARRAY_SIZE(jobs));
	assert_int_equal(stats.rls_commits_nr, 0);
	close_store();
}

/* As cfg says. */
static void jobs_commit_alone(void)
{
	struct m0_rpc_store_lmdb_stats stats;
	struct job                     jobs[20];

	assert_int_equal(open_store(), 0);
	jobs_run(jobs, ARRAY_SIZE(jobs), 10);
	m0_rpc_store_lmdb_stats(&store, &stats, false);
	assert_int_equal(stats.rls_commits_nr, ARRAY_SIZE(jobs));
	assert_int_equal(m0_hist_max(&stats.rls_batch), 1);
	close_store();
}

/* With a limit of one each has its own. */
static void jobs_commit_alone_if_told(void **state)
{
	(void)state;
	cfg.rlc_batch_max = 1;
	jobs_commit_alone();
}

/* One whose time is over takes no more jobs, though there are some. */
static void batch_that_takes_long_ends(void **state)
{
	(void)state;
	cfg.rlc_batch_ns = 1;
	jobs_commit_alone();
}

static int begin_rc;

/* The library's, which fails when it is told to. */
int __real_mdb_txn_begin(void *env, void *within, unsigned flags, void **ret);
int __wrap_mdb_txn_begin(void *env, void *within, unsigned flags, void **ret);

int __wrap_mdb_txn_begin(void *env, void *within, unsigned flags, void **ret)
{
	int rc = __atomic_load_n(&begin_rc, __ATOMIC_RELAXED);

	return rc ?: __real_mdb_txn_begin(env, within, flags, ret);
}

/* @return what it was told. */
static int job_again(struct job *job)
{
	struct m0_semaphore done;

	(void)m0_semaphore_init(&done, 0);
	job->job_done = &done;
	store.rst_ops->rso_exec(&store, &job->job_store);
	m0_semaphore_down(&done);
	m0_semaphore_fini(&done);
	return job->job_rc;
}

/* A job gets the error of this attempt, not the one of the attempt before. */
static void job_given_again_without_transaction_is_told_why(void **state)
{
	struct job job = { .job_store = { .sj_run = job_run,
					  .sj_done = job_done },
			   .job_bytes = VALUE_MAX };

	(void)state;
	cfg.rlc_bytes_max = 1 << 20;
	assert_int_equal(open_store(), 0);
	while (job_again(&job) == 0)
		++job.job_nr;
	assert_int_equal(job.job_rc, -ENOSPC);
	__atomic_store_n(&begin_rc, ENOMEM, __ATOMIC_RELAXED);
	assert_int_equal(job_again(&job), -ENOMEM);
	__atomic_store_n(&begin_rc, 0, __ATOMIC_RELAXED);
	assert_int_equal(job_again(&job), -ENOSPC);
	close_store();
}

/** Jobs in a small store; how many of them succeed. */
static unsigned jobs_that_fit(struct job *jobs, unsigned nr)
{
	unsigned good = 0;
	unsigned i;

	assert_int_equal(open_store(), 0);
	jobs_run(jobs, nr, 9000);
	for (i = 0; i < nr; ++i) {
		assert_true(jobs[i].job_rc == 0 || jobs[i].job_rc == -ENOSPC);
		good += jobs[i].job_rc == 0;
	}
	close_store();
	assert_int_equal(unlink(path), 0);
	return good;
}

/* Jobs of a batch use up the room of its transaction as if each was alone: what
 * is kept back for those who delete is left. */
static void batch_uses_up_its_room(void **state)
{
	struct job jobs[200];
	unsigned   together;
	unsigned   alone;

	(void)state;
	cfg.rlc_bytes_max = 1 << 20;
	cfg.rlc_batch_ns = 60 * M0_TIME_ONE_SECOND;
	together = jobs_that_fit(jobs, ARRAY_SIZE(jobs));
	cfg.rlc_batch_max = 1;
	alone = jobs_that_fit(jobs, ARRAY_SIZE(jobs));
	/* How jobs fall into batches varies, and with it the pages they need. */
	assert_in_range(together, alone - alone / 8, alone + 2);
}

/* ----------------------------------------------------------- a full disk -- */

/* In a process with a limit on its files, whose batch does not fit. */
static int full_child(void)
{
	struct m0_rpc_store_lmdb_stats stats;
	struct rlimit                  limit = { 300000, 300000 };
	struct job                     jobs[60];
	unsigned                       failed = 0;
	unsigned                       i;

	signal(SIGXFSZ, SIG_IGN);
	cfg.rlc_batch_ns = 60 * M0_TIME_ONE_SECOND;
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || open_store() != 0)
		return 1;
	jobs_run(jobs, ARRAY_SIZE(jobs), 9000);
	for (i = 0; i < ARRAY_SIZE(jobs); ++i)
		/* LMDB takes a write that was cut short for the latter. */
		failed += jobs[i].job_rc == -ENOSPC || jobs[i].job_rc == -EIO;
	m0_rpc_store_lmdb_stats(&store, &stats, false);
	/* The first may have been alone. */
	if (failed < ARRAY_SIZE(jobs) - 1 || stats.rls_commits_failed_nr != 1 ||
	    stats.rls_jobs_failed_nr != failed)
		return 2;
	/* The store then accepts jobs that fit. */
	jobs_run(jobs, 1, 100);
	close_store();
	return jobs[0].job_rc == 0 ? 0 : 3;
}

/* A commit that fails is lost as a whole, and all of the batch are told. */
static void batch_that_does_not_fit_is_lost_whole(void **state)
{
	struct m0_rpc_store_lmdb_stats stats;
	int                            status;
	pid_t                          pid = fork();

	(void)state;
	if (pid == 0)
		_exit(full_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(open_store(), 0);
	m0_rpc_store_lmdb_stats(&store, &stats, false);
	assert_int_equal(stats.rls_keys_nr, 1);
	close_store();
}

/** A file system of 1 MiB, which nobody else sees. */
static bool mount_small(void)
{
	char map[32];
	int  nr = snprintf(map, sizeof map, "0 %d 1", (int)getuid());
	int  fd;

	if (unshare(CLONE_NEWNS) != 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
			return false;
		fd = open("/proc/self/uid_map", O_WRONLY);
		if (fd < 0 || write(fd, map, (size_t)nr) != nr)
			return false;
		close(fd);
	}
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", dir, "tmpfs", 0, "size=1m") == 0;
}

/* A real one, where mounting is permitted. @return 77: it is not. */
static int tmpfs_child(void)
{
	struct m0_rpc_tx tx;
	char             key[16];
	unsigned         nr;
	int              rc = 0;

	if (!mount_small())
		return 77;
	if (open_store() != 0)
		return 1;
	for (nr = 0; rc == 0; ++nr) {
		tx = begin();
		snprintf(key, sizeof key, "%u", nr);
		rc = put(&tx, key, 9000);
		if (rc == 0)
			rc = store.rst_ops->rso_commit(&tx);
		else
			store.rst_ops->rso_abort(&tx);
	}
	if (rc != -ENOSPC)
		return 2;
	close_store();
	/* All but the last, after another opening; and it can be emptied. */
	if (open_store() != 0)
		return 3;
	while (--nr > 0) {
		snprintf(key, sizeof key, "%u", nr - 1);
		tx = begin();
		rc = store.rst_ops->rso_del(
			&tx, (struct m0_rpc_slice){ key, strlen(key) });
		if (rc != 0 || store.rst_ops->rso_commit(&tx) != 0)
			return 4;
	}
	close_store();
	return 0;
}

static void full_disk_is_told_and_survived(void **state)
{
	int   status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(tmpfs_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
	const struct CMUnitTest cases[] = {
		CASE(value_replaced_in_its_transaction_is_good),
		CASE(flipped_bits_are_refused_or_harmless),
		CASE(value_damaged_while_open_is_told),
		CASE(truncated_files_are_refused),
		CASE(roots_without_their_commit_are_refused),
		CASE(foreign_files_are_refused_by_name),
		CASE(store_half_made_is_made_again),
		CASE(second_opening_is_busy),
		CASE(openings_that_cannot_be_leave_nothing),
		CASE(bound_can_be_changed),
		CASE(jobs_that_wait_share_a_commit),
		CASE(jobs_commit_alone_if_told),
		CASE(batch_that_takes_long_ends),
		CASE(job_given_again_without_transaction_is_told_why),
		CASE(batch_uses_up_its_room),
		CASE(batch_that_does_not_fit_is_lost_whole),
		CASE(full_disk_is_told_and_survived),
	};

	return cmocka_run_group_tests_name("lmdb", cases, NULL, NULL);
}
