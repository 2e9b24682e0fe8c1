/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Clients and servers for store_kill_test.py, which kills them.
 *
 *   store_kill server DIR ADDR [BYTES_MAX]   until SIGTERM
 *   store_kill client NR LIFE ADDR LOG       until SIGTERM, then all has ended
 *   store_kill list DIR                      what is in a store
 *
 * A client posts records through streams, several on the way in each; it writes each
 * result as a line to LOG: "life stream number error rc". A server appends
 * each to the list of its stream. SIGUSR1 cuts all connections of a process.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "m0/rpc_store_lmdb.h"
#include "m0/xlnet.h"

enum {
	STREAMS = 3,
	IN_FLIGHT = 8,
	RESEND_MS = 20,
	RESEND_MAX_MS = 80,
	PAD = 400,
	KEY_NR = 7,
	COUNT_NR = 3
};

/** Record that a client sends and the store keeps. */
struct record {
	uint32_t rec_client;
	uint32_t rec_life;
	uint32_t rec_stream;
	uint32_t rec_number;
	uint8_t  rec_pad[PAD];
};

static struct m0_rpc_item_type_ops append_ops;

static struct m0_rpc_item_type append_type = {
	.rit_opcode = 64,
	.rit_ops = &append_ops,
	.rit_flags = M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO,
	.rit_name = "append"
};
static struct m0_rpc_item_type done_type = { .rit_opcode = 65,
					     .rit_ops = &m0_rpc_raw_ops,
					     .rit_flags =
						     M0_RPC_ITEM_TYPE_REPLY,
					     .rit_name = "done" };

static void must(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "store_kill: %s: %s\n", what, m0_errname(rc));
	exit(1);
}

/* ----------------------------------------------------------------- cuts -- */

/* As if the wire had done it: the process finds its streams at an end. */
static void cut(int signo)
{
	struct sockaddr_storage addr;
	int                     was = errno;
	int                     fd;

	(void)signo;
	for (fd = 3; fd < 256; ++fd) {
		socklen_t nr = sizeof addr;

		if (getpeername(fd, (struct sockaddr *)&addr, &nr) == 0 &&
		    addr.ss_family == AF_INET)
			(void)shutdown(fd, SHUT_RDWR);
	}
	errno = was;
}

static sigset_t end_signals;

static void signals_up(void)
{
	struct sigaction act = { .sa_handler = cut, .sa_flags = SA_RESTART };

	(void)sigemptyset(&end_signals);
	(void)sigaddset(&end_signals, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &end_signals, NULL);
	(void)sigaction(SIGUSR1, &act, NULL);
	/* A full file, by ulimit -f, is an error of the write. */
	(void)signal(SIGXFSZ, SIG_IGN);
}

static void end_wait(void)
{
	int signo;

	(void)sigwait(&end_signals, &signo);
}

/* --------------------------------------------------------------- server -- */

static void index_put(uint8_t *at, uint32_t index)
{
	unsigned i;

	for (i = 0; i < 4; ++i)
		at[i] = (uint8_t)(index >> (24 - 8 * i));
}

static uint32_t index_get(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
	       (uint32_t)at[2] << 8 | at[3];
}

static int record_add(struct m0_rpc_tx *tx, const struct record *rec)
{
	uint8_t             log[KEY_NR] = { 'L', (uint8_t)rec->rec_client,
					    (uint8_t)rec->rec_stream };
	uint8_t             next[4] = { 0 };
	uint8_t             count[COUNT_NR] = { 'N', log[1], log[2] };
	struct m0_rpc_slice count_key = { count, COUNT_NR };
	struct m0_rpc_slice value;
	int                 rc = m0_rpc_tx_get(tx, count_key, &value);

	if (rc == 0)
		memcpy(next, value.sl_data, sizeof next);
	else if (rc != -ENOENT)
		return rc;
	memcpy(log + COUNT_NR, next, sizeof next);
	index_put(next, index_get(next) + 1);
	rc = m0_rpc_tx_put(tx, (struct m0_rpc_slice){ log, KEY_NR },
			   (struct m0_rpc_slice){ rec, sizeof *rec });
	return rc
		       ?: m0_rpc_tx_put(tx, count_key,
					(struct m0_rpc_slice){ next,
							       sizeof next });
}

static void append(struct m0_rpc_item *request, struct m0_rpc_tx *tx)
{
	const struct m0_rpc_raw *body = m0_rpc_raw_of(request);
	struct m0_rpc_raw       *reply;
	struct record            rec;
	int                      rc;

	if (body->rr_nr != sizeof rec) {
		m0_rpc_reply_rc(request, -EPROTO);
		return;
	}
	memcpy(&rec, body->rr_data, sizeof rec);
	rc = record_add(tx, &rec);
	reply = rc == 0 ? m0_rpc_raw_new(&done_type, &rec.rec_number, 4) : NULL;
	if (reply == NULL)
		m0_rpc_reply_rc(request, rc != 0 ? rc : -ENOMEM);
	else
		m0_rpc_reply_post(request, &reply->rr_item);
}

static void append_deliver(struct m0_rpc_machine *machine,
			   struct m0_rpc_item    *request)
{
	(void)machine;
	m0_rpc_update_post(request, append);
}

static struct m0_net_domain  dom;
static struct m0_rpc_machine machine;

static void net_up(struct m0_rpc_cfg *cfg, const char *addr)
{
	append_ops = m0_rpc_raw_ops;
	append_ops.rito_deliver = append_deliver;
	cfg->rc_resend_ns = RESEND_MS * M0_TIME_ONE_MSEC;
	cfg->rc_resend_max_ns = RESEND_MAX_MS * M0_TIME_ONE_MSEC;
	must(m0_net_init(), "m0_net_init");
	must(m0_rpc_item_type_register(&append_type), "register");
	must(m0_rpc_item_type_register(&done_type), "register");
	must(m0_net_domain_init(&dom, &m0_lnet_xprt), "domain");
	must(m0_rpc_machine_init(&machine, &dom, cfg, addr, NULL,
				 M0_BUFFER_ANY_COLOUR, 0, 0),
	     "machine");
}

static void net_down(void)
{
	m0_rpc_machine_fini(&machine);
	(void)m0_net_domain_fini(&dom);
	m0_rpc_item_type_deregister(&done_type);
	m0_rpc_item_type_deregister(&append_type);
	m0_net_fini();
}

static int server(const char *dir, const char *addr, m0_bcount_t bytes_max)
{
	struct m0_rpc_store_lmdb_stats stats;
	struct m0_rpc_store_lmdb_cfg   store_cfg;
	struct m0_rpc_store            store;
	struct m0_rpc_cfg              cfg;

	m0_rpc_store_lmdb_cfg_init(&store_cfg);
	if (bytes_max != 0)
		store_cfg.rlc_bytes_max = bytes_max;
	must(m0_rpc_store_lmdb_open(&store, dir, &store_cfg), "the store");
	m0_rpc_cfg_init(&cfg);
	cfg.rc_uuid = M0_UINT128(7, 1);
	cfg.rc_drain_ns = 100 * M0_TIME_ONE_MSEC;
	cfg.rc_store = &store;
	net_up(&cfg, addr);
	printf("ready\n");
	fflush(stdout);
	end_wait();
	m0_rpc_machine_stop(&machine, false);
	net_down();
	m0_rpc_store_lmdb_stats(&store, &stats, false);
	printf("commits %llu jobs %llu failed %llu\n",
	       (unsigned long long)stats.rls_commits_nr,
	       (unsigned long long)stats.rls_jobs_nr,
	       (unsigned long long)stats.rls_commits_failed_nr);
	m0_rpc_store_lmdb_close(&store);
	return 0;
}

/* --------------------------------------------------------------- client -- */

struct op {
	struct m0_rpc_raw op_raw;
	struct record     op_rec;
};

struct client {
	uint32_t cli_nr;
	uint32_t cli_life;
	int      cli_log;
	bool     cli_ending;
	/** A number and its post are one. */
	struct m0_mutex       cli_mutex;
	uint32_t              cli_next[STREAMS + 1];
	struct m0_rpc_session cli_session;
	/** Up when one has ended and none took its place. */
	struct m0_semaphore cli_over;
};
static struct client client;

static void post(uint32_t stream);

static void op_free(struct m0_rpc_raw *raw)
{
	free(container_of(raw, struct op, op_raw));
}

static void replied(struct m0_rpc_item *item)
{
	struct op *op = container_of(item, struct op, op_raw.rr_item);
	uint32_t   stream = op->op_rec.rec_stream;
	char       line[96];
	int        nr;

	nr = snprintf(line, sizeof line, "%u %u %u %d %d\n", client.cli_life,
		      stream, op->op_rec.rec_number, item->ri_error,
		      item->ri_error != 0 ? 0 : m0_rpc_item_error(item));
	/* At once: what was told is known, also of one that is killed. */
	if (write(client.cli_log, line, (size_t)nr) != nr)
		abort();
	m0_rpc_item_put(item);
	if (__atomic_load_n(&client.cli_ending, __ATOMIC_RELAXED))
		m0_semaphore_up(&client.cli_over);
	else
		post(stream);
}

static const struct m0_rpc_item_ops op_ops = { .rio_replied = replied };

static void post(uint32_t stream)
{
	struct op          *op = calloc(1, sizeof *op);
	struct m0_rpc_item *item = &op->op_raw.rr_item;

	m0_mutex_lock(&client.cli_mutex);
	op->op_rec = (struct record){ .rec_client = client.cli_nr,
				      .rec_life = client.cli_life,
				      .rec_stream = stream,
				      .rec_number = client.cli_next[stream]++ };
	memset(op->op_rec.rec_pad, (int)op->op_rec.rec_number, PAD);
	m0_rpc_raw_init(&op->op_raw, &append_type, &op->op_rec,
			sizeof op->op_rec, op_free);
	item->ri_session = &client.cli_session;
	item->ri_stream = stream;
	item->ri_ops = &op_ops;
	must(m0_rpc_post(item), "post");
	m0_mutex_unlock(&client.cli_mutex);
}

static int client_run(const char *addr, const char *log)
{
	struct m0_uint128  none = M0_UINT128(0, 0);
	struct m0_rpc_conn conn = { 0 };
	struct m0_rpc_cfg  cfg;
	uint32_t           i;

	client.cli_log = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	must(client.cli_log < 0 ? -errno : 0, log);
	(void)m0_semaphore_init(&client.cli_over, 0);
	m0_mutex_init(&client.cli_mutex);
	m0_rpc_cfg_init(&cfg);
	cfg.rc_uuid = M0_UINT128(8, client.cli_nr);
	cfg.rc_incarnation = 100 + client.cli_life;
	net_up(&cfg, NULL);
	must(m0_rpc_conn_create(&conn, none, addr, &machine, 0, M0_TIME_NEVER),
	     "connection");
	must(m0_rpc_session_init(&client.cli_session, &conn), "session");
	client.cli_session.s_streams_nr = STREAMS;
	client.cli_session.s_window = IN_FLIGHT;
	must(m0_rpc_session_establish_sync(&client.cli_session, M0_TIME_NEVER),
	     "session");
	printf("ready\n");
	fflush(stdout);
	for (i = 0; i < IN_FLIGHT * STREAMS; ++i)
		post(1 + i / IN_FLIGHT);
	end_wait();
	__atomic_store_n(&client.cli_ending, true, __ATOMIC_RELAXED);
	for (i = 0; i < IN_FLIGHT * STREAMS; ++i)
		m0_semaphore_down(&client.cli_over);
	(void)m0_rpc_session_destroy(&client.cli_session, M0_TIME_NEVER);
	(void)m0_rpc_conn_destroy(&conn, M0_TIME_NEVER);
	net_down();
	m0_mutex_fini(&client.cli_mutex);
	m0_semaphore_fini(&client.cli_over);
	(void)close(client.cli_log);
	return 0;
}

/* ----------------------------------------------------------------- list -- */

static int list(const char *dir)
{
	struct m0_rpc_store store;
	struct m0_rpc_slice key = { "L", 1 };
	struct m0_rpc_slice value;
	struct m0_rpc_tx    tx;
	struct record       rec;
	unsigned            i;
	int                 rc;

	must(m0_rpc_store_lmdb_open(&store, dir, NULL), "the store");
	must(store.rst_ops->rso_begin(&store, &tx), "begin");
	while ((rc = m0_rpc_tx_next(&tx, key, &key, &value)) == 0) {
		if (*(const char *)key.sl_data != 'L')
			continue;
		must(value.sl_nr == sizeof rec ? 0 : -EPROTO, "a record");
		memcpy(&rec, value.sl_data, sizeof rec);
		for (i = 0; i < PAD; ++i)
			must(rec.rec_pad[i] == (uint8_t)rec.rec_number
				     ? 0
				     : -EUCLEAN,
			     "a record's bytes");
		printf("%u %u %u %u\n", rec.rec_client, rec.rec_stream,
		       rec.rec_life, rec.rec_number);
	}
	must(rc == -ENOENT ? 0 : rc, "next");
	store.rst_ops->rso_abort(&tx);
	m0_rpc_store_lmdb_close(&store);
	return 0;
}

int main(int argc, char **argv)
{
	signals_up();
	if (argc >= 4 && strcmp(argv[1], "server") == 0)
		return server(argv[2], argv[3],
			      argc > 4 ? strtoull(argv[4], NULL, 10) : 0);
	if (argc == 6 && strcmp(argv[1], "client") == 0) {
		client.cli_nr = (uint32_t)atoi(argv[2]);
		client.cli_life = (uint32_t)atoi(argv[3]);
		return client_run(argv[4], argv[5]);
	}
	if (argc == 3 && strcmp(argv[1], "list") == 0)
		return list(argv[2]);
	fprintf(stderr, "usage: store_kill server|client|list ...\n");
	return 2;
}
