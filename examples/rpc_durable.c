/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <string.h>

#include <m0/mem.h>
#include <m0/rpc_store_lmdb.h>

static struct m0_rpc_item_type_ops add_ops;

static struct m0_rpc_item_type add = { .rit_opcode = 64,
				       .rit_ops = &add_ops,
				       .rit_flags = M0_RPC_ITEM_TYPE_REQUEST |
						    M0_RPC_ITEM_TYPE_MUTABO,
				       .rit_name = "add" };
static struct m0_rpc_item_type sum = { .rit_opcode = 65,
				       .rit_ops = &m0_rpc_raw_ops,
				       .rit_flags = M0_RPC_ITEM_TYPE_REPLY,
				       .rit_name = "sum" };

/* Runs on the store's thread, inside its transaction. What it puts and what it
 * answers are on the disk before the answer leaves. */
static void add_update(struct m0_rpc_item *request, struct m0_rpc_tx *tx)
{
	const struct m0_rpc_raw *body = m0_rpc_raw_of(request);
	struct m0_rpc_slice      key = { "sum", 3 };
	struct m0_rpc_slice      kept;
	struct m0_rpc_raw       *reply;
	uint64_t                 total = 0;
	uint64_t                 nr;
	int                      rc;

	if (body->rr_nr != sizeof nr) { /* a peer wrote it */
		m0_rpc_reply_rc(request, -EPROTO);
		return;
	}
	memcpy(&nr, body->rr_data, sizeof nr);
	rc = m0_rpc_tx_get(tx, key, &kept);
	if (rc == 0 && kept.sl_nr == sizeof total)
		memcpy(&total, kept.sl_data, sizeof total);
	total += nr;
	if (rc == 0 || rc == -ENOENT) /* else: the disk; nothing is changed */
		rc = m0_rpc_tx_put(
			tx, key, (struct m0_rpc_slice){ &total, sizeof total });
	reply = rc == 0 ? m0_rpc_raw_new(&sum, &total, sizeof total) : NULL;
	if (reply == NULL)
		m0_rpc_reply_rc(request, rc != 0 ? rc : -ENOMEM);
	else
		m0_rpc_reply_post(request, &reply->rr_item);
}

static void add_deliver(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *request)
{
	(void)machine;
	m0_rpc_update_post(request, &add_update);
}

static int ask(struct m0_rpc_session *session, uint64_t nr)
{
	struct m0_rpc_raw request = { 0 };
	uint64_t          total;
	int               rc;

	m0_rpc_raw_init(&request, &add, &nr, sizeof nr, NULL);
	request.rr_item.ri_session = session;
	request.rr_item.ri_stream = 1;
	rc = m0_rpc_post_sync(&request.rr_item);
	if (rc == 0) {
		memcpy(&total, m0_rpc_raw_of(request.rr_item.ri_reply)->rr_data,
		       sizeof total);
		printf("added %d: %d\n", (int)nr, (int)total);
	}
	m0_rpc_item_fini(&request.rr_item);
	return rc;
}

/* A server's life: its store, and a machine that is given it. The uuid is the
 * service's, and stays; its incarnation rises by itself. */
static int server_up(struct m0_rpc_machine *machine, struct m0_net_domain *dom,
		     struct m0_rpc_store *store, const char *dir)
{
	struct m0_rpc_cfg cfg;
	int               rc = m0_rpc_store_lmdb_open(store, dir, NULL);

	if (rc != 0) /* the log says what to do */
		return rc;
	m0_rpc_cfg_init(&cfg);
	cfg.rc_uuid = (struct m0_uint128){ 0x5e, 1 };
	cfg.rc_store = store;
	rc = m0_rpc_machine_init(machine, dom, &cfg, "127.0.0.1:7000", NULL,
				 M0_BUFFER_ANY_COLOUR, 0, 0);
	if (rc != 0)
		m0_rpc_store_lmdb_close(store);
	return rc;
}

/* The machine first: it waits for what the store still does for it. */
static void server_down(struct m0_rpc_machine *machine,
			struct m0_rpc_store   *store)
{
	m0_rpc_machine_fini(machine);
	m0_rpc_store_lmdb_close(store);
}

/* The client has one session all the time; between its requests the server
 * goes and another comes. */
static int talk(struct m0_rpc_machine *client, struct m0_net_domain *dom,
		const char *dir)
{
	static struct m0_rpc_machine server;
	struct m0_uint128            none = { 0 };
	struct m0_rpc_conn           conn = { 0 };
	struct m0_rpc_session        session = { 0 };
	struct m0_rpc_store          store;
	uint64_t                     nr;
	int                          rc = server_up(&server, dom, &store, dir);

	if (rc != 0)
		return rc;
	rc = m0_rpc_conn_create(&conn, none, "127.0.0.1:7000", client, 0,
				M0_TIME_NEVER);
	if (rc == 0)
		rc = m0_rpc_session_create(&session, &conn, M0_TIME_NEVER);
	for (nr = 1; rc == 0 && nr <= 4; ++nr) {
		rc = ask(&session, nr);
		if (rc != 0 || nr != 2)
			continue;
		server_down(&server, &store);
		rc = server_up(&server, dom, &store, dir);
		printf("another server\n");
	}
	if (rc != 0) /* a real program would undo what went well */
		return rc;
	(void)m0_rpc_session_destroy(&session, M0_TIME_NEVER);
	(void)m0_rpc_conn_destroy(&conn, M0_TIME_NEVER);
	server_down(&server, &store);
	return 0;
}

int main(int argc, char **argv)
{
	static struct m0_net_domain  dom[2]; /* two, as if two processes */
	static struct m0_rpc_machine client;
	struct m0_rpc_cfg            cfg;
	const char *dir = argc > 1 ? argv[1] : "rpc_durable.store";

	add_ops = m0_rpc_raw_ops;
	add_ops.rito_deliver = &add_deliver;
	m0_rpc_cfg_init(&cfg);
	cfg.rc_resend_ns = 50 * M0_TIME_ONE_MSEC; /* not to wait here */
	if (m0_net_init() != 0 || m0_rpc_item_type_register(&add) != 0 ||
	    m0_rpc_item_type_register(&sum) != 0 ||
	    m0_net_domain_init(&dom[0], &m0_net_bulk_mem_xprt) != 0 ||
	    m0_net_domain_init(&dom[1], &m0_net_bulk_mem_xprt) != 0 ||
	    m0_rpc_machine_init(&client, &dom[1], &cfg, NULL, NULL,
				M0_BUFFER_ANY_COLOUR, 0, 0) != 0 ||
	    talk(&client, &dom[0], dir) != 0)
		return 1;
	m0_rpc_machine_fini(&client);
	(void)m0_net_domain_fini(&dom[1]);
	(void)m0_net_domain_fini(&dom[0]);
	m0_rpc_item_type_deregister(&sum);
	m0_rpc_item_type_deregister(&add);
	m0_net_fini();
	return 0;
}
