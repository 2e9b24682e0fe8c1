/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The RPC layer, call by call: what fail_rpc.c does not use. */
#include "fail/fail.h"
#include "fail/fail_ends.h"

#include "m0/rpc.h"
#include "m0/rpc_bulk.h"

enum {
	OPCODE = 210,
	LIMIT_S = 20,
	QUEUE_LEN = 4,
	MSGS = 3,
	BYTES = 3000,
	STORE_BYTES = 1 << 16
};

static struct m0_rpc_item_type_ops put_ops;
static struct m0_rpc_item_type     put = {
	    .rit_opcode = OPCODE,
	    .rit_ops = &put_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO,
	    .rit_name = "put",
};
static struct m0_rpc_item_type_ops deaf_ops;
static struct m0_rpc_item_type     deaf = {
	    .rit_opcode = OPCODE + 1,
	    .rit_ops = &deaf_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	    .rit_name = "deaf",
};
static struct m0_rpc_item_type_ops note_ops;
static struct m0_rpc_item_type     note = {
	    .rit_opcode = OPCODE + 2,
	    .rit_ops = &note_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_ONEWAY,
	    .rit_name = "note",
};

static struct m0_rpc_machine     machines[2];
static struct m0_rpc_store       store;
static struct m0_net_buffer_pool pool;
static struct m0_rpc_conn        conn;
static struct m0_rpc_session     session;
static struct m0_rpc_item       *unanswered;

static const struct m0_uint128 service = { 3, 5 };
static const char *const       addrs[] = { "127.0.0.1:7001", "127.0.0.1:7011" };

static m0_time_t limit(void)
{
	return m0_time_from_now(LIMIT_S, 0);
}

/* -- the service ----------------------------------------------------------- */

/* All calls of a transaction. */
static int keys_use(struct m0_rpc_tx *tx)
{
	struct m0_rpc_slice none = { NULL, 0 };
	struct m0_rpc_slice one = { "one", 3 };
	struct m0_rpc_slice two = { "two", 3 };
	struct m0_rpc_slice key;
	struct m0_rpc_slice value;

	return m0_rpc_tx_put(tx, one, two) ?: m0_rpc_tx_put(tx, two, one) ?:
	       m0_rpc_tx_get(tx, one, &value) ?:
	       m0_rpc_tx_next(tx, none, &key, &value) ?:
	       m0_rpc_tx_del(tx, two);
}

static void put_update(struct m0_rpc_item *request, struct m0_rpc_tx *tx)
{
	m0_rpc_reply_rc(request, keys_use(tx));
}

static void put_deliver(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *request)
{
	(void)machine;
	m0_rpc_update_post(request, put_update);
}

/* Is answered when the story says so. */
static void deaf_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *request)
{
	(void)machine;
	if (unanswered != NULL) {
		m0_rpc_reply_rc(request, -EBUSY);
		return;
	}
	m0_rpc_item_get(request);
	unanswered = request;
}

static void note_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	(void)machine;
	(void)item;
}

static void answer(void)
{
	if (unanswered == NULL)
		return;
	m0_rpc_reply_rc(unanswered, 0);
	m0_rpc_item_put(unanswered);
	unanswered = NULL;
}

/* -- sources, watches ------------------------------------------------------- */

static unsigned notes_nr;

static bool source_has(const struct m0_rpc_item_source *source)
{
	(void)source;
	return notes_nr > 0;
}

static struct m0_rpc_item *source_get(struct m0_rpc_item_source *source,
				      m0_bcount_t                max)
{
	struct m0_rpc_raw *raw;

	(void)source;
	if (max < 4)
		return NULL;
	--notes_nr;
	raw = m0_rpc_raw_new(&note, "note", 4);
	return raw != NULL ? &raw->rr_item : NULL;
}

static void source_end(struct m0_rpc_item_source *source)
{
	(void)source;
}

static const struct m0_rpc_item_source_ops source_ops = {
	.riso_has_item = source_has,
	.riso_get_item = source_get,
	.riso_conn_terminating = source_end,
};

/* -- calls ------------------------------------------------------------------ */

static void item_make(struct m0_rpc_raw *raw, struct m0_rpc_item_type *type)
{
	static const char body[] = "body";

	M0_SET0(raw);
	m0_rpc_raw_init(raw, type, body, sizeof body, NULL);
	raw->rr_item.ri_session = &session;
	raw->rr_item.ri_expires = limit();
	raw->rr_item.ri_stream = type == &put;
}

/* Several at once, as a group, with notes where there is room. */
static int group(void)
{
	struct m0_rpc_item_source source = { .ris_name = "notes",
					     .ris_ops = &source_ops };
	struct m0_rpc_raw         raw[MSGS];
	struct m0_rpc_group       together;
	unsigned                  posted = 0;
	unsigned                  i;
	int                       rc = 0;
	int                       one;

	notes_nr = MSGS;
	m0_rpc_group_init(&together);
	m0_rpc_item_source_register(&conn, &source);
	for (i = 0; i < MSGS && rc == 0; ++i) {
		item_make(&raw[i], &put);
		raw[i].rr_item.ri_group = &together;
		rc = m0_rpc_post(&raw[i].rr_item);
		posted += rc == 0;
	}
	m0_rpc_group_close(&machines[1], &together);
	while (i-- > 0) {
		if (i < posted) {
			one = m0_rpc_item_wait_for_reply(&raw[i].rr_item,
							 M0_TIME_NEVER)
				      ?: m0_rpc_item_error(&raw[i].rr_item);
			rc = rc ?: one;
		}
		m0_rpc_item_fini(&raw[i].rr_item);
	}
	m0_rpc_item_source_deregister(&source);
	m0_rpc_group_fini(&together);
	return rc;
}

/* Nobody answers; the sender has enough of it. */
static int cancelled(bool all)
{
	struct m0_rpc_raw raw;
	int               rc;

	item_make(&raw, &deaf);
	rc = m0_rpc_post(&raw.rr_item);
	if (rc == 0) {
		(void)m0_rpc_item_timedwait(&raw.rr_item,
					    1 << M0_RPC_ITEM_REPLIED,
					    m0_time_from_now(0, 50000000));
		if (all)
			m0_rpc_session_cancel(&session);
		else
			m0_rpc_item_cancel(&raw.rr_item);
		rc = m0_rpc_item_wait_for_reply(&raw.rr_item, M0_TIME_NEVER);
		rc = rc == -ECANCELED ? 0 : rc;
	}
	m0_rpc_item_fini(&raw.rr_item);
	answer();
	return rc;
}

/* Memory that is offered part by part, and taken back. */
static int offered(void)
{
	static uint8_t              memory[BYTES];
	struct m0_net_buf_desc_data desc = { .bdd_used = 0 };
	struct m0_net_domain       *dom = machines[1].rm_tm.ntm_dom;
	struct m0_rpc_bulk_buf     *buf;
	struct m0_rpc_bulk          rb;
	int                         rc;

	m0_rpc_bulk_init(&rb);
	rc = m0_rpc_bulk_buf_add(&rb, 1, BYTES, dom, NULL, &buf);
	if (rc == 0)
		rc = m0_rpc_bulk_buf_databuf_add(buf, memory, BYTES, 0, dom);
	if (rc == 0) {
		m0_rpc_bulk_qtype(&rb, M0_NET_QT_PASSIVE_BULK_SEND);
		rc = m0_rpc_bulk_store(&rb, &conn, &desc);
	} else {
		m0_rpc_bulk_buflist_empty(&rb);
	}
	if (rc == 0) {
		m0_net_desc_free(&desc.bdd_desc);
		m0_rpc_bulk_store_del(&rb);
	}
	(void)m0_rpc_bulk_wait(&rb);
	m0_rpc_bulk_fini(&rb);
	return rc;
}

static void told(void)
{
	static struct m0_hist hist;
	struct m0_rpc_stats   stats;
	int rc = m0_rpc_machine_latency(&machines[1], &put, &hist);

	m0_rpc_machine_get_stats(&machines[1], &stats, true);
	/* A failure may have been that of the figures themselves. */
	if (rc != 0)
		fail_told(rc, "latencies");
}

/* -- connections ------------------------------------------------------------- */

static int conn_up(void)
{
	int rc;

	M0_SET0(&conn);
	rc = m0_rpc_conn_init(&conn, service, NULL, &machines[1], 0);
	if (rc != 0)
		return rc;
	rc = m0_rpc_conn_establish(&conn, limit());
	if (rc == 0)
		rc = m0_rpc_conn_timedwait(&conn,
					   1 << M0_RPC_CONN_ACTIVE |
						   1 << M0_RPC_CONN_FAILED,
					   M0_TIME_NEVER);
	if (rc == 0 && conn.c_state == M0_RPC_CONN_FAILED)
		rc = conn.c_rc;
	if (rc != 0)
		m0_rpc_conn_fini(&conn);
	return rc;
}

static int session_up(void)
{
	int rc;

	M0_SET0(&session);
	rc = m0_rpc_session_init(&session, &conn);
	if (rc != 0)
		return rc;
	rc = m0_rpc_session_establish(&session, limit());
	if (rc == 0)
		rc = m0_rpc_session_timedwait(
			&session,
			1 << M0_RPC_SESSION_IDLE | 1 << M0_RPC_SESSION_FAILED,
			M0_TIME_NEVER);
	if (rc == 0 && session.s_state == M0_RPC_SESSION_FAILED)
		rc = session.s_rc;
	if (rc != 0)
		m0_rpc_session_fini(&session);
	return rc;
}

static void client_talks(void)
{
	struct m0_rpc_link_info links[M0_RPC_LINKS_MAX];

	FAIL_TRY(conn_up());
	assert_true(m0_rpc_conn_links(&conn, links, ARRAY_SIZE(links)) >= 1);
	FAIL_TRY(session_up());
	assert_int_equal(m0_rpc_session_validate(&session), 0);
	FAIL_TRY(group());
	FAIL_TRY(offered());
	told();
	FAIL_TRY(cancelled(false));
	m0_rpc_session_quiesce(&session);
	FAIL_TRY(cancelled(true));
	(void)m0_rpc_session_terminate(&session, limit());
	(void)m0_rpc_session_timedwait(&session, 1 << M0_RPC_SESSION_TERMINATED,
				       M0_TIME_NEVER);
	m0_rpc_session_fini(&session);
	(void)m0_rpc_conn_terminate(&conn, limit());
	(void)m0_rpc_conn_timedwait(&conn, 1 << M0_RPC_CONN_TERMINATED,
				    M0_TIME_NEVER);
	m0_rpc_conn_fini(&conn);
}

/* -- machines ---------------------------------------------------------------- */

static void server_up(struct fail_end *end)
{
	struct m0_rpc_cfg cfg;
	char              text[M0_RPC_ADDR_MAX];

	FAIL_TRY(m0_rpc_store_volatile_init(&store, STORE_BYTES));
	FAIL_TRY(m0_rpc_net_buffer_pool_setup(&end->fen_dom, &pool,
					      m0_rpc_bufs_nr(QUEUE_LEN, 1), 1));
	m0_rpc_cfg_init(&cfg);
	cfg.rc_store = &store;
	FAIL_TRY(m0_rpc_machine_init(&machines[0], &end->fen_dom, &cfg,
				     addrs[0], &pool, 0, 0, QUEUE_LEN));
	FAIL_TRY(m0_rpc_machine_link_add(&machines[0], addrs[1]));
	assert_int_equal(m0_rpc_machine_link_addr(&machines[0], 1, text), 0);
	assert_string_equal(text, addrs[1]);
}

static void client_up(struct fail_end *end, struct m0_rpc_machine_watch *watch)
{
	FAIL_TRY(m0_rpc_machine_init(&machines[1], &end->fen_dom, NULL,
				     end->fen_addr, NULL, M0_BUFFER_ANY_COLOUR,
				     0, QUEUE_LEN));
	FAIL_TRY(m0_rpc_machine_map(&machines[1], service, addrs[1]));
	FAIL_TRY(m0_rpc_machine_map_links(&machines[1], service, addrs, 2));
	assert_int_equal(
		m0_rpc_machine_map_del(&machines[1], service, addrs[1]), 0);
	FAIL_TRY(m0_rpc_machine_map_add(&machines[1], service, addrs[1]));
	m0_rpc_machine_watch_attach(&machines[1], watch);
}

static void every_call(void)
{
	struct m0_rpc_machine_watch watch = { .mw_mach = NULL };
	struct fail_end             end[2];

	put_ops = deaf_ops = note_ops = m0_rpc_raw_ops;
	put_ops.rito_deliver = put_deliver;
	deaf_ops.rito_deliver = deaf_deliver;
	note_ops.rito_deliver = note_deliver;
	FAIL_TRY(m0_rpc_item_type_register(&put));
	FAIL_TRY(m0_rpc_item_type_register(&deaf));
	FAIL_TRY(m0_rpc_item_type_register(&note));
	unanswered = NULL;
	fail_doms_init(end, &m0_net_bulk_mem_xprt);
	server_up(&end[0]);
	client_up(&end[1], &watch);
	client_talks();
	m0_rpc_machine_watch_detach(&watch);
	m0_rpc_machine_stop(&machines[1], false);
	m0_rpc_machine_fini(&machines[1]);
	assert_int_equal(m0_rpc_machine_link_del(&machines[0], addrs[1]), 0);
	m0_rpc_machine_fini(&machines[0]);
	m0_rpc_net_buffer_pool_cleanup(&pool);
	m0_rpc_store_volatile_fini(&store);
	fail_doms_fini(end, &m0_net_bulk_mem_xprt);
	m0_rpc_item_type_deregister(&note);
	m0_rpc_item_type_deregister(&deaf);
	m0_rpc_item_type_deregister(&put);
}

const struct fail_story fail_calls_stories[] = {
	{ "rpc-calls", 100, every_call },
	{ NULL, 0, NULL },
};
