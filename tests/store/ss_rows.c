/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "ss.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/store_crash.h"
#include "m0/rpc_store_lmdb.h"

enum {
	PLENTY = 64 << 20
};

/* -------------------------------------------------------------- volatile -- */

static struct m0_rpc_store mem;

static struct m0_rpc_store *mem_up(m0_bcount_t bytes_max)
{
	int rc = m0_rpc_store_volatile_init(&mem, bytes_max ?: PLENTY);

	M0_ASSERT(rc == 0);
	return &mem;
}

static void mem_down(void)
{
	m0_rpc_store_volatile_fini(&mem);
}

/* ----------------------------------------------------------------- crash -- */

static struct store_crash crash;

static struct m0_rpc_store *crash_up(m0_bcount_t bytes_max)
{
	store_crash_init(&crash, bytes_max ?: PLENTY);
	crash.stc_group_max = 7;
	return &crash.stc_store;
}

static void crash_down(void)
{
	store_crash_fini(&crash);
}

static struct m0_rpc_store *crash_restart(void)
{
	store_crash_crash(&crash);
	return &crash.stc_store;
}

/* ------------------------------------------------------------------ lmdb -- */

static struct m0_rpc_store          lmdb;
static struct m0_rpc_store_lmdb_cfg lmdb_cfg;
static char                         lmdb_dir[64];

static struct m0_rpc_store *lmdb_open(void)
{
	int rc = m0_rpc_store_lmdb_open(&lmdb, lmdb_dir, &lmdb_cfg);

	M0_ASSERT(rc == 0);
	return &lmdb;
}

static struct m0_rpc_store *lmdb_up(m0_bcount_t bytes_max)
{
	snprintf(lmdb_dir, sizeof lmdb_dir, "store_suite.XXXXXX");
	M0_ASSERT(mkdtemp(lmdb_dir) != NULL);
	m0_rpc_store_lmdb_cfg_init(&lmdb_cfg);
	lmdb_cfg.rlc_bytes_max = bytes_max ?: PLENTY;
	return lmdb_open();
}

static void lmdb_down(void)
{
	char path[128];

	m0_rpc_store_lmdb_close(&lmdb);
	snprintf(path, sizeof path, "%s/store.mdb", lmdb_dir);
	(void)unlink(path);
	snprintf(path, sizeof path, "%s/store.mdb-lock", lmdb_dir);
	(void)unlink(path);
	snprintf(path, sizeof path, "%s/store.lock", lmdb_dir);
	(void)unlink(path);
	(void)rmdir(lmdb_dir);
}

static struct m0_rpc_store *lmdb_restart(void)
{
	m0_rpc_store_lmdb_close(&lmdb);
	return lmdb_open();
}

const struct ss_row ss_rows[] = {
	{ .row_name = "volatile",
	  .row_threads = true,
	  .row_up = mem_up,
	  .row_down = mem_down },
	{ .row_name = "crash",
	  .row_durable = true,
	  .row_up = crash_up,
	  .row_down = crash_down,
	  .row_restart = crash_restart },
	{ .row_name = "lmdb",
	  .row_durable = true,
	  .row_threads = true,
	  .row_overhead = 512 << 10,
	  .row_up = lmdb_up,
	  .row_down = lmdb_down,
	  .row_restart = lmdb_restart },
	{ .row_name = NULL },
};
