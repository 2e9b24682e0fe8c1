/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The RPC layer on its transports: what it does without memory, at either end. */
#include "fail/fail.h"
#include "fail/fail_bulk.h"
#include "fail/fail_ends.h"

#include "m0/rpc.h"

enum {
	OPCODE = 200,
	LIMIT_S = 20
};

static struct m0_rpc_item_type_ops add_ops;

static struct m0_rpc_item_type add = {
	.rit_opcode = OPCODE,
	.rit_ops = &add_ops,
	.rit_flags = M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO,
	.rit_name = "add",
};
static struct m0_rpc_item_type_ops echo_ops;
static struct m0_rpc_item_type     echo = {
	    .rit_opcode = OPCODE + 1,
	    .rit_ops = &echo_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	    .rit_name = "echo",
};
static struct m0_rpc_item_type answer = {
	.rit_opcode = OPCODE + 2,
	.rit_ops = &m0_rpc_raw_ops,
	.rit_flags = M0_RPC_ITEM_TYPE_REPLY,
	.rit_name = "answer",
};
static struct m0_rpc_item_type_ops word_ops;
static struct m0_rpc_item_type     word = {
	    .rit_opcode = OPCODE + 3,
	    .rit_ops = &word_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_ONEWAY,
	    .rit_name = "word",
};

static struct m0_rpc_item_type_ops bulk_ops;
static struct m0_rpc_item_type     bulk = {
	    .rit_opcode = OPCODE + 4,
	    .rit_ops = &bulk_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	    .rit_name = "bulk",
};

static unsigned adds_nr;
static unsigned words_nr;

static void reply(struct m0_rpc_item *request, const void *data, size_t nr)
{
	struct m0_rpc_raw *raw = m0_rpc_raw_new(&answer, data, nr);

	if (raw == NULL)
		m0_rpc_reply_rc(request, -ENOMEM);
	else
		m0_rpc_reply_post(request, &raw->rr_item);
}

static void add_update(struct m0_rpc_item *request, struct m0_rpc_tx *tx)
{
	uint64_t            value = 1;
	struct m0_rpc_slice key = { "sum", 3 };
	int                 rc = m0_rpc_tx_put(tx, key,
					       (struct m0_rpc_slice){ &value, sizeof value });

	if (rc != 0) {
		m0_rpc_reply_rc(request, rc);
		return;
	}
	++adds_nr;
	reply(request, &value, sizeof value);
}

static void add_deliver(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *item)
{
	(void)machine;
	m0_rpc_update_post(item, add_update);
}

static void echo_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	const struct m0_rpc_raw *raw = m0_rpc_raw_of(item);

	(void)machine;
	reply(item, raw->rr_data, raw->rr_nr);
}

static void word_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	(void)machine;
	(void)item;
	++words_nr;
}

static m0_time_t limit(void)
{
	return m0_time_from_now(LIMIT_S, 0);
}

/* -- client ---------------------------------------------------------------- */

static int ask(struct m0_rpc_session *session, struct m0_rpc_item_type *type,
	       uint32_t stream)
{
	struct m0_rpc_raw request = { 0 };
	uint64_t          body = 1;
	int               rc;

	m0_rpc_raw_init(&request, type, &body, sizeof body, NULL);
	request.rr_item.ri_session = session;
	request.rr_item.ri_stream = stream;
	request.rr_item.ri_expires = limit();
	rc = m0_rpc_post_sync(&request.rr_item);
	m0_rpc_item_fini(&request.rr_item);
	return rc;
}

static int say(struct m0_rpc_conn *conn)
{
	struct m0_rpc_raw one = { 0 };
	uint64_t          body = 1;
	int               rc;

	m0_rpc_raw_init(&one, &word, &body, sizeof body, NULL);
	rc = m0_rpc_oneway_item_post(conn, &one.rr_item);
	if (rc == 0)
		m0_sim_run_ms(fail_sim(), 100);
	m0_rpc_item_fini(&one.rr_item);
	return rc;
}

static void talk(struct m0_rpc_session *session)
{
	FAIL_TRY(ask(session, &echo, 0));
	FAIL_TRY(ask(session, &add, 1));
	FAIL_TRY(ask(session, &add, 1));
	FAIL_TRY(ask(session, &add, 2));
	FAIL_TRY(say(session->s_conn));
	FAIL_TRY(fail_bulk_send(session, &bulk, false));
	FAIL_TRY(fail_bulk_send(session, &bulk, true));
}

static void client_run(struct m0_rpc_machine *machine, const char *addr)
{
	struct m0_uint128     none = { 0 };
	struct m0_rpc_conn    conn;
	struct m0_rpc_session session;

	M0_SET0(&conn);
	M0_SET0(&session);
	FAIL_TRY(m0_rpc_conn_create(&conn, none, addr, machine, 0, limit()));
	FAIL_TRY(m0_rpc_session_create(&session, &conn, limit()));
	talk(&session);
	(void)m0_rpc_session_destroy(&session, limit());
	(void)m0_rpc_conn_destroy(&conn, limit());
}

/* -- the story ------------------------------------------------------------- */

static void types_register(void)
{
	add_ops = m0_rpc_raw_ops;
	add_ops.rito_deliver = add_deliver;
	echo_ops = m0_rpc_raw_ops;
	echo_ops.rito_deliver = echo_deliver;
	word_ops = m0_rpc_raw_ops;
	word_ops.rito_deliver = word_deliver;
	FAIL_TRY(m0_rpc_item_type_register(&add));
	FAIL_TRY(m0_rpc_item_type_register(&echo));
	FAIL_TRY(m0_rpc_item_type_register(&answer));
	FAIL_TRY(m0_rpc_item_type_register(&word));
	bulk_ops = m0_rpc_raw_ops;
	bulk_ops.rito_deliver = fail_bulk_deliver;
	FAIL_TRY(m0_rpc_item_type_register(&bulk));
}

static void types_deregister(void)
{
	m0_rpc_item_type_deregister(&bulk);
	m0_rpc_item_type_deregister(&word);
	m0_rpc_item_type_deregister(&answer);
	m0_rpc_item_type_deregister(&echo);
	m0_rpc_item_type_deregister(&add);
}

static void machines_talk(const struct m0_net_xprt *xprt)
{
	static struct m0_rpc_machine machine[2];
	struct fail_end              end[2];
	unsigned                     i;

	types_register();
	adds_nr = 0;
	fail_doms_init(end, xprt);
	for (i = 0; i < 2; ++i) {
		M0_SET0(&machine[i]);
		FAIL_TRY(m0_rpc_machine_init(&machine[i], &end[i].fen_dom, NULL,
					     end[i].fen_addr, NULL,
					     M0_BUFFER_ANY_COLOUR, 16384, 4));
	}
	client_run(&machine[1], m0_rpc_machine_addr(&machine[0]));
	for (i = 2; i-- > 0;)
		m0_rpc_machine_fini(&machine[i]);
	fail_doms_fini(end, xprt);
	types_deregister();
	/* Three were asked for, and one may have failed after it was done. */
	assert_in_range(adds_nr, 3, 4);
}

static void talk_mem(void)
{
	machines_talk(&m0_net_bulk_mem_xprt);
}

static void talk_lnet(void)
{
	machines_talk(&m0_net_lnet_xprt);
}

const struct fail_story fail_rpc_stories[] = {
	{ "rpc-mem", 100, talk_mem },
	{ "rpc-lnet", 100, talk_lnet },
	{ NULL, 0, NULL },
};
