/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* LNet's selftest: a console, a client and a server of tests on two nodes. */
#include "fail/fail.h"
#include "fail/fail_ends.h"

#include "m0/lnet.h"
#include "selftest/selftest.h"

enum {
	CLIENT,
	SERVER,
	CALL_MS = 2000,
	TICK_MS = 50,
	/** Looks at a batch until it must be over. */
	LOOKS_MAX = 2000
};

static struct m0_lnet  *nodes[2];
static struct m0_st    *sts[2];
static struct m0_st_msg reply;

static struct m0_lnet_process_id id_of(unsigned i)
{
	struct m0_lnet_process_id id;

	assert_int_equal(m0_lnet_get_id(nodes[i], 1, &id), 0);
	return id;
}

static int open_one(unsigned i)
{
	struct m0_st_cfg cfg;

	m0_st_cfg_default(&cfg);
	cfg.scf_lnet = nodes[i];
	cfg.scf_rpc_timeout_ms = CALL_MS;
	return m0_st_open(&sts[i], &cfg);
}

static struct m0_st_msg msg_of(uint32_t type)
{
	struct m0_st_msg msg = {
		.smg_type = type,
		.smg_feats = M0_ST_FEAT_LEN,
		.smg_sid = { 1, 2 },
		.smg_batch = 1,
	};

	snprintf(msg.smg_name, sizeof msg.smg_name, "story");
	return msg;
}

/** Asks a node. @return what went wrong, at the node, too. */
static int ask(unsigned to, const struct m0_st_msg *msg, void *bulk,
	       size_t bytes)
{
	struct m0_st_call call = {
		.scl_dest = id_of(to),
		.scl_request = *msg,
		.scl_bulk = bulk,
		.scl_bulk_bytes = bytes,
	};

	m0_st_calls(sts[CLIENT], &call, 1, CALL_MS);
	reply = call.scl_reply;
	return call.scl_rc != 0 ? call.scl_rc : -(int)reply.smg_status;
}

static int ask_type(unsigned to, uint32_t type)
{
	struct m0_st_msg msg = msg_of(type);

	return ask(to, &msg, NULL, 0);
}

static int batch(uint32_t opc)
{
	struct m0_st_msg msg = msg_of(M0_ST_BATCH);
	int              rc;

	msg.smg_opc = opc;
	rc = ask(CLIENT, &msg, NULL, 0);
	/* Its reply was lost, but the tests run. */
	return opc == M0_ST_RUN && rc == -EPERM ? 0 : rc;
}

static int test_add(unsigned to, uint32_t service, uint32_t rw, uint32_t bytes)
{
	struct m0_st_msg          msg = msg_of(M0_ST_TEST);
	struct m0_lnet_process_id dest = id_of(SERVER);
	uint8_t                   list[M0_ST_PAGE_BYTES];

	msg.smg_test = (struct m0_st_test){
		.tsr_batch = 1,
		.tsr_service = service,
		.tsr_loop = 2,
		.tsr_concurrency = 2,
		.tsr_rw = rw,
		.tsr_check = M0_ST_CHECK_SIMPLE,
		.tsr_bytes = bytes,
		.tsr_is_client = to == CLIENT,
		.tsr_dests_nr = to == CLIENT,
	};
	m0_st_dest_encode(&dest, list, 0, M0_ST_FEAT_LEN, false);
	return ask(to, &msg, to == CLIENT ? list : NULL, sizeof list);
}

static void batch_await(void)
{
	unsigned i;

	for (i = 0; i < LOOKS_MAX; ++i) {
		FAIL_TRY(batch(M0_ST_QUERY));
		if (reply.smg_active == 0)
			return;
		m0_sim_run_ms(fail_sim(), TICK_MS);
	}
	fail_untold(-ETIME, "the batch does not end");
}

/** Takes all references that tries have made. */
static int session_remove(unsigned to)
{
	int rc;

	do
		rc = ask_type(to, M0_ST_RMSN);
	while (rc == 0);
	return rc == -ESRCH ? 0 : rc;
}

static void selftest_runs(void)
{
	struct m0_st_state state;
	unsigned           i;

	fail_nodes_init(nodes);
	for (i = 0; i < 2; ++i)
		FAIL_TRY(open_one(i));
	for (i = 0; i < 2; ++i) {
		FAIL_TRY(ask_type(i, M0_ST_MKSN));
		FAIL_TRY(ask_type(i, M0_ST_DEBUG));
	}
	for (i = 2; i-- > 0;) {
		FAIL_TRY(test_add(i, M0_ST_SRV_PING, 0, 0));
		FAIL_TRY(test_add(i, M0_ST_SRV_BRW, M0_ST_WRITE, 4096));
		FAIL_TRY(test_add(i, M0_ST_SRV_BRW, M0_ST_READ, 4096));
		/* A buffer of the request's own. */
		FAIL_TRY(test_add(i, M0_ST_SRV_BRW, M0_ST_READ, 5000));
	}
	FAIL_TRY(batch(M0_ST_RUN));
	batch_await();
	FAIL_TRY(batch(M0_ST_STOP));
	FAIL_TRY(ask_type(SERVER, M0_ST_STAT));
	for (i = 0; i < 2; ++i)
		FAIL_TRY(session_remove(i));
	m0_st_state_get(sts[SERVER], &state);
	assert_false(state.sls_has_session);
	for (i = 0; i < 2; ++i)
		m0_st_close(sts[i]);
	fail_nodes_fini(nodes);
}

const struct fail_story fail_selftest_stories[] = {
	{ "selftest", 60, selftest_runs },
	{ NULL, 0, NULL },
};
