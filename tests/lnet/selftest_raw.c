/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet/selftest_raw.h"

struct m0_sim    sim;
struct node      asker;
struct node      served;
struct m0_st    *st;
struct m0_st_sid sid = { 0x0002000a000001ULL, 7 };

static const struct m0_sim_stream_cfg wire = {
	.ssc_latency_ns = 50 * 1000,
	.ssc_piece_bytes_max = 65536,
};

/* -- raw messages ---------------------------------------------------------- */

void raw_event(struct m0_lnet_eq *eq, const struct m0_lnet_event *event)
{
	struct raw *raw = event->ev_md_user;

	(void)eq;
	if (event->ev_type == M0_LNET_EV_PUT && event->ev_status == 0) {
		raw->raw_come = true;
		raw->raw_moved = event->ev_mlength;
	}
	if (event->ev_unlinked)
		raw->raw_over = true;
}

bool raw_is_over(void *arg)
{
	return ((struct raw *)arg)->raw_over;
}

struct m0_lnet_md_attr raw_md(struct raw *raw, struct m0_lnet_eq *eq, size_t nr,
			      unsigned options)
{
	raw->raw_addr = raw->raw_bytes;
	raw->raw_nr = nr;
	raw->raw_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&raw->raw_addr,
							    &raw->raw_nr);
	return (struct m0_lnet_md_attr){
		.mda_vec = &raw->raw_vec,
		.mda_length = nr,
		.mda_threshold = 1,
		.mda_auto_unlink = true,
		.mda_options = options,
		.mda_eq = eq,
		.mda_user = raw,
	};
}

void raw_send(struct node *from, const struct m0_lnet_nid *to,
	      struct m0_lnet_eq *eq, struct raw *raw, size_t nr,
	      uint32_t portal, uint64_t bits)
{
	struct m0_lnet_op op = {
		.lo_self = m0_lnet_nid_any,
		.lo_target = { *to, M0_LNET_PID_LUSTRE },
		.lo_portal = portal,
		.lo_match_bits = bits,
	};
	struct m0_lnet_md_attr md = raw_md(raw, eq, nr, 0);
	struct m0_lnet_handle  handle;

	assert_int_equal(m0_lnet_bind_put(from->n_lnet, &md, &op, &handle), 0);
}

static struct m0_lnet_handle raw_await(struct node *at, const struct node *from,
				       struct m0_lnet_eq *eq, struct raw *raw,
				       uint64_t bits)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = M0_ST_PORTAL_REPLY,
		.mea_id = { from->n_nid, M0_LNET_PID_LUSTRE },
		.mea_match_bits = bits,
		.mea_flags = M0_LNET_ME_UNLINK,
	};
	struct m0_lnet_md_attr md =
		raw_md(raw, eq, M0_ST_MSG_BYTES, M0_LNET_MD_OP_PUT);
	struct m0_lnet_handle handle;

	assert_int_equal(m0_lnet_entry_attach(at->n_lnet, &me, &md, &handle),
			 0);
	return handle;
}

int ask_bytes(const uint8_t bytes[M0_ST_MSG_BYTES], size_t nr, uint32_t type,
	      uint64_t rpyid)
{
	struct m0_lnet_eq     eq;
	struct m0_lnet_handle handle;
	struct m0_st_msg      msg;
	struct raw            request = { .raw_come = false };
	struct raw            reply = { .raw_come = false };
	int                   ret = DROPPED;

	memcpy(request.raw_bytes, bytes, M0_ST_MSG_BYTES);
	m0_lnet_eq_init(&eq, asker.n_lnet, raw_event, 0);
	handle = raw_await(&asker, &served, &eq, &reply, rpyid);
	raw_send(&asker, &served.n_nid, &eq, &request, nr,
		 m0_st_type_portal(type), m0_st_type_service(type));
	if (!m0_sim_run_until(&sim, raw_is_over, &reply,
			      REPLY_MS * M0_TIME_ONE_MSEC))
		(void)m0_lnet_md_unlink(asker.n_lnet, handle);
	assert_true(m0_sim_run_until(&sim, raw_is_over, &reply,
				     REPLY_MS * M0_TIME_ONE_MSEC));
	assert_true(m0_sim_run_until(&sim, raw_is_over, &request,
				     REPLY_MS * M0_TIME_ONE_MSEC));
	if (reply.raw_come) {
		assert_int_equal(reply.raw_moved, M0_ST_MSG_BYTES);
		assert_int_equal(m0_st_decode(&msg, reply.raw_bytes,
					      M0_ST_MSG_BYTES),
				 0);
		assert_int_equal(msg.smg_type, type + 1);
		ret = (int)msg.smg_status;
	}
	m0_lnet_eq_fini(&eq);
	return ret;
}

struct m0_st_msg msg_of(uint32_t type)
{
	static uint64_t  next = 1000;
	struct m0_st_msg msg = {
		.smg_version = M0_ST_VERSION,
		.smg_type = type,
		.smg_feats = M0_ST_FEAT_LEN,
		.smg_rpyid = ++next,
		.smg_sid = sid,
	};

	snprintf(msg.smg_name, sizeof msg.smg_name, "fields");
	msg.smg_batch = BATCH;
	msg.smg_opc = M0_ST_QUERY;
	msg.smg_ping_magic = M0_ST_PING_MAGIC;
	msg.smg_rw = M0_ST_WRITE;
	msg.smg_check = M0_ST_CHECK_NONE;
	/* An EINVAL comes before the bulk, which has no buffer here. */
	msg.smg_bytes = 0;
	msg.smg_test = (struct m0_st_test){
		.tsr_batch = BATCH,
		.tsr_service = M0_ST_SRV_BRW,
		.tsr_loop = 1,
		.tsr_concurrency = 1,
		.tsr_rw = M0_ST_READ,
		.tsr_check = M0_ST_CHECK_FULL,
		.tsr_bytes = 4096,
	};
	return msg;
}

int ask(const struct m0_st_msg *msg)
{
	uint8_t bytes[M0_ST_MSG_BYTES];

	m0_st_encode(msg, bytes);
	return ask_bytes(bytes, sizeof bytes, msg->smg_type, msg->smg_rpyid);
}

int ask_type(uint32_t type)
{
	struct m0_st_msg msg = msg_of(type);

	return ask(&msg);
}

int ask_client_test(const struct m0_st_msg *msg, const struct node *dest)
{
	struct m0_lnet_process_id id = { dest->n_nid, M0_LNET_PID_LUSTRE };
	struct m0_st             *console;
	struct m0_st_cfg          cfg;
	struct m0_st_call         call;
	uint8_t                   list[M0_ST_PAGE_BYTES];
	uint32_t                  i;

	for (i = 0; i < msg->smg_test.tsr_dests_nr; ++i)
		m0_st_dest_encode(&id, list, i, M0_ST_FEAT_LEN, false);
	m0_st_cfg_default(&cfg);
	cfg.scf_lnet = asker.n_lnet;
	cfg.scf_serves = false;
	m0_sim_host_use(asker.n_host);
	assert_int_equal(m0_st_open(&console, &cfg), 0);
	call = (struct m0_st_call){
		.scl_dest = { served.n_nid, M0_LNET_PID_LUSTRE },
		.scl_request = *msg,
		.scl_bulk = list,
		.scl_bulk_bytes = sizeof list,
	};
	call.scl_request.smg_test.tsr_is_client = 1;
	m0_st_calls(console, &call, 1, 0);
	m0_st_close(console);
	assert_int_equal(call.scl_rc, 0);
	return (int)call.scl_reply.smg_status;
}

void up_tuned(void (*tune)(struct m0_lnet_cfg *cfg))
{
	struct m0_st_cfg cfg;

	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
	node_init(&asker, &sim, "asker", "10.0.0.1", NULL);
	node_init(&served, &sim, "served", "10.0.0.2", tune);
	m0_st_cfg_default(&cfg);
	cfg.scf_lnet = served.n_lnet;
	cfg.scf_rpc_timeout_ms = 1000;
	assert_int_equal(m0_st_open(&st, &cfg), 0);
}

void up(void)
{
	up_tuned(NULL);
}

void down(void)
{
	m0_st_close(st);
	node_fini(&served);
	node_fini(&asker);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

void session_begin(void)
{
	assert_int_equal(ask_type(M0_ST_MKSN), 0);
	assert_int_equal(ask_type(M0_ST_TEST), 0);
	assert_int_equal(ask_type(M0_ST_BATCH), 0);
}

void session_end(void)
{
	struct m0_st_state state;
	unsigned           i;

	/* Each MKSN is one more reference. */
	for (i = 0; i < 100 && ask_type(M0_ST_RMSN) == 0; ++i)
		;
	assert_int_equal(ask_type(M0_ST_RMSN), ESRCH);
	m0_sim_run_ms(&sim, 1500);
	m0_st_state_get(st, &state);
	assert_false(state.sls_has_session);
	assert_int_equal(state.sls_rpcs_nr, 0);
	assert_int_equal(state.sls_memory, 0);
}

void field_set(uint8_t *bytes, const struct wrong *wrong)
{
	if (wrong->wrg_bytes > sizeof wrong->wrg_value)
		memset(bytes + wrong->wrg_at, (int)(wrong->wrg_value & 0xff),
		       wrong->wrg_bytes);
	else
		memcpy(bytes + wrong->wrg_at, &wrong->wrg_value,
		       wrong->wrg_bytes);
}
