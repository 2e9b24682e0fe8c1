/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Disks of hosts. A directory is a volatile store that outlives its programs. A
 * commit takes time: jobs wait for a timer, which executes all that have come
 * meanwhile. While the host is down each change fails, so that what was on its way
 * is lost, as a whole.
 */
#include <stdlib.h>

#include "m0/rpc.h"
#include "m0/sim_program.h"
#include "sim/net/sim_net_internal.h"
#include "store/store_hook.h"

/* Longest time of a commit. */
#define COMMIT_NS (5 * M0_TIME_ONE_MSEC)

struct sim_dir {
	TAILQ_ENTRY(sim_dir) sdd_link;
	struct m0_sim_disk *sdd_disk;
	char               *sdd_name;
	struct m0_rpc_store sdd_store;
	bool                sdd_is_open;
	/** Jobs of the next commit, in their order. */
	struct m0_rpc_store_job  *sdd_jobs;
	struct m0_rpc_store_job **sdd_jobs_end;
	struct m0_sim_timer       sdd_timer;
	/** A change of this transaction has failed because the host is down. */
	bool sdd_lost;
};

struct m0_sim_disk {
	TAILQ_ENTRY(m0_sim_disk) sdk_link;
	struct m0_sim_host *sdk_host;
	m0_bcount_t         sdk_bytes_max;
	TAILQ_HEAD(, sim_dir) sdk_dirs;
	uint64_t sdk_commits_nr;
	uint64_t sdk_lost_nr;
};

static TAILQ_HEAD(, m0_sim_disk) disks = TAILQ_HEAD_INITIALIZER(disks);

/* The volatile store's, whose store has the same private part. */
static const struct m0_rpc_store_ops *base;
static struct m0_rpc_store_ops        disk_ops;

static struct sim_dir *dir_of(const struct m0_rpc_store *store)
{
	struct m0_sim_disk *disk;
	struct sim_dir     *dir;

	TAILQ_FOREACH(disk, &disks, sdk_link)
		TAILQ_FOREACH(dir, &disk->sdk_dirs, sdd_link)
			if (dir->sdd_store.rst_private == store->rst_private)
				return dir;
	M0_IMPOSSIBLE("a store of no disk");
}

static bool is_gone(struct sim_dir *dir)
{
	if (!m0_sim_host_is_down(dir->sdd_disk->sdk_host))
		return false;
	dir->sdd_lost = true;
	return true;
}

static int disk_put(struct m0_rpc_tx *tx, struct m0_rpc_slice key,
		    struct m0_rpc_slice value)
{
	return is_gone(dir_of(tx->tx_store)) ? -EIO
					     : base->rso_put(tx, key, value);
}

static int disk_del(struct m0_rpc_tx *tx, struct m0_rpc_slice key)
{
	return is_gone(dir_of(tx->tx_store)) ? -EIO : base->rso_del(tx, key);
}

/* The time of a commit is over. */
static void commit_fire(struct m0_sim_timer *timer)
{
	struct sim_dir          *dir = timer->simt_data;
	struct m0_sim_disk      *disk = dir->sdd_disk;
	struct sim_net          *net = m0_sim__net();
	struct m0_sim_host      *used = net->sin_host_used;
	struct m0_rpc_store_job *job = dir->sdd_jobs;
	struct m0_rpc_store_job *next;

	dir->sdd_jobs = NULL;
	dir->sdd_jobs_end = &dir->sdd_jobs;
	m0_sim_host_use(disk->sdk_host);
	for (; job != NULL; job = next) {
		next = job->sj_next;
		dir->sdd_lost = false;
		base->rso_exec(&dir->sdd_store, job);
		base->rso_step(&dir->sdd_store);
		if (dir->sdd_lost)
			++disk->sdk_lost_nr;
		else
			++disk->sdk_commits_nr;
	}
	m0_sim_host_use(used);
}

static void disk_exec(struct m0_rpc_store *store, struct m0_rpc_store_job *job)
{
	struct sim_dir *dir = dir_of(store);
	struct sim_net *net = m0_sim__net();

	job->sj_next = NULL;
	*dir->sdd_jobs_end = job;
	dir->sdd_jobs_end = &job->sj_next;
	if (dir->sdd_timer.simt_at != 0)
		return;
	dir->sdd_timer.simt_data = dir;
	m0_sim_timer_arm(net->sin_sim, &dir->sdd_timer,
			 net->sin_sim->sim_core->simk_now +
				 m0_sim__draw(net->sin_sim->sim_core,
					      COMMIT_NS),
			 commit_fire);
}

/* ------------------------------------------------------------ directories -- */

static struct sim_dir *dir_find(const struct m0_sim_disk *disk,
				const char               *name)
{
	struct sim_dir *dir;

	TAILQ_FOREACH(dir, &disk->sdk_dirs, sdd_link)
		if (strcmp(dir->sdd_name, name) == 0)
			return dir;
	return NULL;
}

static int dir_make(struct sim_dir **ret, struct m0_sim_disk *disk,
		    const char *name)
{
	struct sim_dir *dir = m0_sim__realloc(NULL, 1, sizeof *dir);
	int             rc;

	*dir = (struct sim_dir){ .sdd_disk = disk, .sdd_name = strdup(name) };
	dir->sdd_jobs_end = &dir->sdd_jobs;
	rc = m0_rpc_store_volatile_init(&dir->sdd_store, disk->sdk_bytes_max);
	if (rc != 0) {
		free(dir->sdd_name);
		free(dir);
		return rc;
	}
	if (base == NULL) {
		base = dir->sdd_store.rst_ops;
		disk_ops = *base;
		disk_ops.rso_name = "simulated disk";
		disk_ops.rso_durable = true;
		disk_ops.rso_exec = disk_exec;
		disk_ops.rso_exec_all = NULL;
		disk_ops.rso_step = NULL;
		disk_ops.rso_put = disk_put;
		disk_ops.rso_del = disk_del;
	}
	dir->sdd_store.rst_ops = &disk_ops;
	TAILQ_INSERT_TAIL(&disk->sdk_dirs, dir, sdd_link);
	*ret = dir;
	return 0;
}

/* The disk of the host on which the caller is. */
static struct m0_sim_disk *disk_here(void)
{
	const struct m0_sim_host *host = m0_sim__net()->sin_host_used;
	struct m0_sim_disk       *disk;

	TAILQ_FOREACH(disk, &disks, sdk_link)
		if (disk->sdk_host == host)
			return disk;
	return NULL;
}

static int dir_open(struct m0_rpc_store *store, const char *name)
{
	struct m0_sim_disk *disk = disk_here();
	struct sim_dir     *dir = NULL;
	int                 rc = 0;

	if (disk == NULL) {
		m0_log(M0_LOG_ERROR, "the host has no disk: m0_sim_disk_add()");
		return -ENODEV;
	}
	dir = dir_find(disk, name);
	if (dir == NULL)
		rc = dir_make(&dir, disk, name);
	if (rc == 0 && dir->sdd_is_open)
		rc = -EBUSY;
	if (rc != 0)
		return rc;
	dir->sdd_is_open = true;
	*store = dir->sdd_store;
	return 0;
}

static void dir_close(struct m0_rpc_store *store)
{
	struct sim_dir *dir = dir_of(store);

	M0_PRE(dir->sdd_is_open && dir->sdd_jobs == NULL);
	dir->sdd_is_open = false;
	store->rst_private = NULL;
}

static void dir_free(struct sim_dir *dir)
{
	M0_PRE(!dir->sdd_is_open);
	TAILQ_REMOVE(&dir->sdd_disk->sdk_dirs, dir, sdd_link);
	dir->sdd_store.rst_ops = base;
	m0_rpc_store_volatile_fini(&dir->sdd_store);
	free(dir->sdd_name);
	free(dir);
}

/* ------------------------------------------------------------------ disks -- */

static const struct m0_store_hook hook = { dir_open, dir_close };

struct m0_sim_disk *m0_sim_disk_add(struct m0_sim_host *host,
				    m0_bcount_t         bytes_max)
{
	struct m0_sim_disk *disk = m0_sim__realloc(NULL, 1, sizeof *disk);

	*disk = (struct m0_sim_disk){ .sdk_host = host,
				      .sdk_bytes_max = bytes_max };
	TAILQ_INIT(&disk->sdk_dirs);
	TAILQ_INSERT_TAIL(&disks, disk, sdk_link);
	m0_store__hook = &hook;
	return disk;
}

void m0_sim_disk_del(struct m0_sim_disk *disk)
{
	struct sim_dir *dir;

	while ((dir = TAILQ_FIRST(&disk->sdk_dirs)) != NULL)
		dir_free(dir);
	TAILQ_REMOVE(&disks, disk, sdk_link);
	free(disk);
	if (TAILQ_EMPTY(&disks))
		m0_store__hook = NULL;
}

void m0_sim_disk_count(const struct m0_sim_disk *disk, uint64_t *ret_commits,
		       uint64_t *ret_lost)
{
	*ret_commits = disk->sdk_commits_nr;
	*ret_lost = disk->sdk_lost_nr;
}
