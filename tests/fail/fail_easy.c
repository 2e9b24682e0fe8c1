/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A service and its client, of m0/easy.h. */
#include "fail.h"

#include "m0/easy.h"

enum {
	OP_PUT,
	OP_GET,
	OP_UNDO,
	VALUE_NR = 300000
};

static uint8_t         value[VALUE_NR];
static struct m0_easy *service;
static struct m0_easy *client;

static int put(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	(void)ctx;
	(void)rp;
	return m0_rpc_tx_put(rq->erq_tx, rq->erq_args, rq->erq_data);
}

static int get(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	(void)ctx;
	return m0_rpc_tx_get(rq->erq_tx, rq->erq_args, &rp->ep_data);
}

static int undo(void *ctx, const struct m0_easy_request *rq,
		struct m0_easy_reply *rp)
{
	return put(ctx, rq, rp) ?: -EDOM;
}

static const struct m0_easy_op ops[] = {
	{ OP_PUT, M0_EASY_UPDATE, "put", put },
	{ OP_GET, M0_EASY_QUERY, "get", get },
	{ OP_UNDO, M0_EASY_UPDATE, "undo", undo },
};

static int value_put(uint32_t opcode, m0_bcount_t nr)
{
	struct m0_easy_call call = { .ec_opcode = opcode,
				     .ec_kind = M0_EASY_UPDATE,
				     .ec_args = { "v", 1 },
				     .ec_data = { value, nr } };
	int                 rc = m0_easy_call(client, &call);

	m0_free(call.ec_out);
	return opcode == OP_UNDO && rc == -EDOM ? 0 : rc;
}

static int value_get(void)
{
	struct m0_easy_call call = { .ec_opcode = OP_GET,
				     .ec_args = { "v", 1 } };
	int                 rc = m0_easy_begin(client, &call)
					 ?: m0_easy_wait(&call, M0_TIME_NEVER);

	if (rc == 0)
		assert_int_equal(call.ec_out_nr, VALUE_NR);
	m0_free(call.ec_out);
	return rc;
}

static void easy_tell(void)
{
	struct m0_easy_cfg cfg = { .en_ops = ops,
				   .en_ops_nr = ARRAY_SIZE(ops) };

	FAIL_TRY(m0_easy_open(&service, "mem:127.0.0.1:7000", &cfg, NULL));
	FAIL_TRY(m0_easy_open(&client, "mem:127.0.0.1:7000", NULL, NULL));
	FAIL_TRY(value_put(OP_PUT, 10));
	FAIL_TRY(value_put(OP_UNDO, 20));
	FAIL_TRY(value_put(OP_PUT, VALUE_NR));
	FAIL_TRY(value_get());
	m0_easy_close(client);
	m0_easy_close(service);
}

const struct fail_story fail_easy_stories[] = {
	{ "service and client", 100, easy_tell },
	{ NULL, 0, NULL },
};
