/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Cost of durable updates: objects of 4 KiB put by the handler of a request in a
 * stream, 64 requests in flight, in one process over the in-memory transport, so
 * that the store decides the figures.
 *
 *   alone     a commit for each, synced
 *   group     a commit for those that are there, synced
 *   volatile  no disk
 *
 * The files are beside the program. Prints lines `name value unit`, ns for each
 * object; `commit` is the median time of a lone commit, `batch` how many
 * objects shared one of `group`.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/bench.h"
#include "m0/mem.h"
#include "m0/rpc_store_lmdb.h"

enum {
	FLIGHT = 64,
	/** A stream executes one after the other: what shares a commit comes
	 * from different ones. */
	STREAMS = FLIGHT,
	OBJECT = 4096,
	/** Then the first are replaced: the disk has an end. */
	OBJECTS_NR = 16384,
	OP_PUT = 64,
	OP_DONE
};

static const m0_bcount_t bytes_max = UINT64_C(1) << 30;

struct side {
	struct m0_net_domain  sd_dom;
	struct m0_rpc_machine sd_machine;
};

/** A server with its store, and the client's way there. */
struct service {
	const char           *sv_name;
	bool                  sv_durable;
	uint32_t              sv_batch_max;
	char                  sv_dir[PATH_MAX];
	struct m0_rpc_store   sv_store;
	struct side           sv_side;
	struct m0_rpc_conn    sv_conn;
	struct m0_rpc_session sv_session;
};

static struct side         client;
static struct service     *now;
static uint64_t            next_object;
static int64_t             left;
static struct m0_semaphore done_sem;

static void must(int rc, const char *what)
{
	if (rc != 0)
		bench_die("%s: %s", what, m0_errname(rc));
}

/* --------------------------------------------------------------- server -- */

static struct m0_rpc_item_type_ops put_ops;
static struct m0_rpc_item_type     put_type = {
	    .rit_opcode = OP_PUT,
	    .rit_ops = &put_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO,
	    .rit_name = "bench put",
};
static struct m0_rpc_item_type done_type = {
	.rit_opcode = OP_DONE,
	.rit_ops = &m0_rpc_raw_ops,
	.rit_flags = M0_RPC_ITEM_TYPE_REPLY,
	.rit_name = "bench done",
};

static void put(struct m0_rpc_item *request, struct m0_rpc_tx *tx)
{
	const struct m0_rpc_raw *body = m0_rpc_raw_of(request);
	struct m0_rpc_raw       *reply;
	uint8_t                  key[9] = { 'o' };
	int                      rc;

	memcpy(key + 1, body->rr_data, 8);
	rc = m0_rpc_tx_put(tx, (struct m0_rpc_slice){ key, sizeof key },
			   (struct m0_rpc_slice){ body->rr_data, body->rr_nr });
	reply = m0_rpc_raw_new(&done_type, key, sizeof key);
	if (rc != 0 || reply == NULL)
		m0_rpc_reply_rc(request, rc != 0 ? rc : -ENOMEM);
	else
		m0_rpc_reply_post(request, &reply->rr_item);
}

static void put_deliver(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *item)
{
	(void)machine;
	m0_rpc_update_post(item, put);
}

static void side_up(struct side *side, struct m0_rpc_cfg *cfg)
{
	must(m0_net_domain_init(&side->sd_dom, &m0_net_bulk_mem_xprt),
	     "domain");
	must(m0_rpc_machine_init(&side->sd_machine, &side->sd_dom, cfg, NULL,
				 NULL, M0_BUFFER_ANY_COLOUR, 0, 0),
	     "machine");
}

static void side_down(struct side *side)
{
	m0_rpc_machine_fini(&side->sd_machine);
	(void)m0_net_domain_fini(&side->sd_dom);
}

static void store_up(struct service *sv)
{
	struct m0_rpc_store_lmdb_cfg cfg;
	ssize_t nr = readlink("/proc/self/exe", sv->sv_dir, PATH_MAX - 32);

	if (!sv->sv_durable) {
		must(m0_rpc_store_volatile_init(&sv->sv_store, bytes_max),
		     "store");
		return;
	}
	if (nr < 0)
		bench_die("where am I?");
	sv->sv_dir[nr] = 0;
	strcat(sv->sv_dir, ".XXXXXX");
	if (mkdtemp(sv->sv_dir) == NULL)
		bench_die("%s: no directory", sv->sv_dir);
	m0_rpc_store_lmdb_cfg_init(&cfg);
	cfg.rlc_bytes_max = bytes_max;
	cfg.rlc_batch_max = sv->sv_batch_max;
	must(m0_rpc_store_lmdb_open(&sv->sv_store, sv->sv_dir, &cfg), "store");
}

static void file_drop(const struct service *sv, const char *name)
{
	char path[PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s/%s", sv->sv_dir, name);
	(void)unlink(path);
}

static void store_down(struct service *sv)
{
	if (!sv->sv_durable) {
		m0_rpc_store_volatile_fini(&sv->sv_store);
		return;
	}
	m0_rpc_store_lmdb_close(&sv->sv_store);
	file_drop(sv, "store.mdb");
	file_drop(sv, "store.lock");
	(void)rmdir(sv->sv_dir);
}

static void service_up(struct service *sv)
{
	struct m0_uint128 none = M0_UINT128(0, 0);
	struct m0_rpc_cfg cfg;

	store_up(sv);
	m0_rpc_cfg_init(&cfg);
	cfg.rc_store = &sv->sv_store;
	side_up(&sv->sv_side, &cfg);
	must(m0_rpc_conn_create(&sv->sv_conn, none,
				m0_rpc_machine_addr(&sv->sv_side.sd_machine),
				&client.sd_machine, 0, M0_TIME_NEVER),
	     "connection");
	must(m0_rpc_session_init(&sv->sv_session, &sv->sv_conn), "session");
	sv->sv_session.s_streams_nr = STREAMS;
	must(m0_rpc_session_establish_sync(&sv->sv_session, M0_TIME_NEVER),
	     "session");
}

static void service_down(struct service *sv)
{
	(void)m0_rpc_session_destroy(&sv->sv_session, M0_TIME_NEVER);
	(void)m0_rpc_conn_destroy(&sv->sv_conn, M0_TIME_NEVER);
	side_down(&sv->sv_side);
	store_down(sv);
}

/* --------------------------------------------------------------- client -- */

static void replied(struct m0_rpc_item *item);

static const struct m0_rpc_item_ops item_ops = { .rio_replied = replied };

static void post(uint32_t stream)
{
	static const uint64_t zeroes[OBJECT / sizeof(uint64_t)];
	struct m0_rpc_raw    *raw = m0_rpc_raw_new(&put_type, zeroes, OBJECT);
	struct m0_rpc_item   *item;
	uint64_t              nr;

	if (raw == NULL)
		bench_die("no memory");
	nr = __atomic_fetch_add(&next_object, 1, __ATOMIC_RELAXED) % OBJECTS_NR;
	memcpy((void *)(uintptr_t)raw->rr_data, &nr, sizeof nr);
	item = &raw->rr_item;
	item->ri_session = &now->sv_session;
	item->ri_stream = stream;
	item->ri_ops = &item_ops;
	must(m0_rpc_post(item), "post");
}

static void replied(struct m0_rpc_item *item)
{
	uint32_t stream = item->ri_stream;

	must(m0_rpc_item_error(item), "request");
	m0_rpc_item_put(item);
	if (__atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED) >= 0)
		post(stream);
	else
		m0_semaphore_up(&done_sem);
}

static uint64_t run(void *arg, uint64_t nr)
{
	unsigned i;

	nr = nr < FLIGHT ? FLIGHT : nr;
	now = arg;
	__atomic_store_n(&left, (int64_t)nr - FLIGHT, __ATOMIC_RELAXED);
	for (i = 0; i < FLIGHT; ++i)
		post(1 + i % STREAMS);
	for (i = 0; i < FLIGHT; ++i)
		m0_semaphore_down(&done_sem);
	return nr;
}

/* ----------------------------------------------------------------- main -- */

static struct service services[] = {
	{ .sv_name = "alone", .sv_durable = true, .sv_batch_max = 1 },
	{ .sv_name = "group", .sv_durable = true, .sv_batch_max = 256 },
	{ .sv_name = "volatile" },
};

static void stats_tell(void)
{
	struct m0_rpc_store_lmdb_stats stats;

	m0_rpc_store_lmdb_stats(&services[0].sv_store, &stats, false);
	bench_line("commit",
		   (double)m0_hist_percentile(&stats.rls_commit_ns, 5000),
		   "ns");
	m0_rpc_store_lmdb_stats(&services[1].sv_store, &stats, false);
	bench_line("commit.group",
		   (double)m0_hist_percentile(&stats.rls_commit_ns, 5000),
		   "ns");
	bench_line("batch",
		   (double)stats.rls_jobs_nr /
			   (double)(stats.rls_commits_nr ?: 1),
		   "objects");
}

int main(int argc, char **argv)
{
	struct bench_case cases[ARRAY_SIZE(services)];
	struct m0_rpc_cfg cfg;
	unsigned          i;

	if (strcmp(argv[bench_options(argc, argv, "storebench put")], "put"))
		bench_die("storebench [-t SLICE_S] [-n SLICES] put");
	put_ops = m0_rpc_raw_ops;
	put_ops.rito_deliver = put_deliver;
	(void)m0_semaphore_init(&done_sem, 0);
	must(m0_net_init(), "m0_net_init");
	must(m0_rpc_item_type_register(&put_type), "type");
	must(m0_rpc_item_type_register(&done_type), "type");
	m0_rpc_cfg_init(&cfg);
	side_up(&client, &cfg);
	for (i = 0; i < ARRAY_SIZE(services); ++i) {
		service_up(&services[i]);
		cases[i] = (struct bench_case){ .c_name = services[i].sv_name,
						.c_run = run,
						.c_arg = &services[i] };
	}
	bench_turns(cases, (int)i);
	stats_tell();
	while (i-- > 0)
		service_down(&services[i]);
	side_down(&client);
	m0_rpc_item_type_deregister(&done_type);
	m0_rpc_item_type_deregister(&put_type);
	m0_net_fini();
	m0_semaphore_fini(&done_sem);
	return 0;
}
