/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <string.h>

#include <m0/mem.h>
#include <m0/rpc.h>

static struct m0_rpc_item_type_ops add_ops; /* raw bodies, a handler of ours */

static struct m0_rpc_item_type add = { .rit_opcode = 64,
				       .rit_ops = &add_ops,
				       .rit_flags = M0_RPC_ITEM_TYPE_REQUEST |
						    M0_RPC_ITEM_TYPE_MUTABO,
				       .rit_name = "add" };
static struct m0_rpc_item_type sum = { .rit_opcode = 65,
				       .rit_ops = &m0_rpc_raw_ops,
				       .rit_flags = M0_RPC_ITEM_TYPE_REPLY,
				       .rit_name = "sum" };

/* The change and its answer are committed together, or neither is. */
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
	if (m0_rpc_tx_get(tx, key, &kept) == 0)
		memcpy(&total, kept.sl_data, sizeof total);
	total += nr;
	rc = m0_rpc_tx_put(tx, key,
			   (struct m0_rpc_slice){ &total, sizeof total });
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

/* One request of the session's first stream, and its answer. */
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

static int talk(struct m0_rpc_machine *client, const char *addr)
{
	struct m0_uint128     none = { 0 }; /* the service has no other name */
	struct m0_rpc_conn    conn = { 0 };
	struct m0_rpc_session session = { 0 };
	int                   rc;

	rc = m0_rpc_conn_create(&conn, none, addr, client, 0, M0_TIME_NEVER);
	if (rc != 0)
		return rc;
	rc = m0_rpc_session_create(&session, &conn, M0_TIME_NEVER);
	if (rc == 0) {
		for (uint64_t nr = 1; rc == 0 && nr <= 3; ++nr)
			rc = ask(&session, nr);
		(void)m0_rpc_session_destroy(&session, M0_TIME_NEVER);
	}
	(void)m0_rpc_conn_destroy(&conn, M0_TIME_NEVER);
	return rc;
}

int main(void)
{
	static struct m0_net_domain  dom[2]; /* two, as if two processes */
	static struct m0_rpc_machine machine[2];
	int                          rc = 0;

	add_ops = m0_rpc_raw_ops;
	add_ops.rito_deliver = &add_deliver;
	if (m0_net_init() != 0 || m0_rpc_item_type_register(&add) != 0 ||
	    m0_rpc_item_type_register(&sum) != 0)
		return 1;
	for (int i = 0; rc == 0 && i < 2; ++i) {
		rc = m0_net_domain_init(&dom[i], &m0_net_bulk_mem_xprt);
		if (rc == 0)
			rc = m0_rpc_machine_init(&machine[i], &dom[i], NULL,
						 NULL, NULL,
						 M0_BUFFER_ANY_COLOUR, 0, 0);
	}
	if (rc != 0) /* a real program would undo what went well */
		return 1;
	rc = talk(&machine[1], m0_rpc_machine_addr(&machine[0]));
	for (int i = 2; i-- > 0;) {
		m0_rpc_machine_fini(&machine[i]);
		(void)m0_net_domain_fini(&dom[i]);
	}
	m0_rpc_item_type_deregister(&sum);
	m0_rpc_item_type_deregister(&add);
	m0_net_fini();
	return rc != 0;
}
