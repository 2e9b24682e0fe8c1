/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Every field of every reply of the selftest, with values that are wrong or at their
 * bounds, and replies that come in a wrong way: to a console, and to the client of a
 * test. A call ends with an error, or the test counts one; neither is told success.
 */
#include <stdlib.h>

#include "../../tools/lst/lst.h"
#include "lnet/selftest_raw.h"

enum {
	/** Batches with a test of a client each. */
	BATCH_PING = 2,
	BATCH_READ,
	BATCH_WRITE,
	BATCHES_END,
	/** Bytes of a read or write. */
	BULK_BYTES = 128,
	RUN_TICKS_MAX = 30
};

/* The command's own list needs all of its parts. */
const struct tool_cmd tool_cmds[] = { { .tc_name = NULL } };

/* -- the liar -------------------------------------------------------------- */

/** How a reply is given. */
struct manner {
	const char *man_name;
	/** Bytes of the reply. */
	size_t   man_bytes;
	uint64_t man_bits_add;
	bool     man_from_other;
	bool     man_swapped;
	unsigned man_times;
	/** Bulk: none at all, or bytes less than there should be. */
	bool   man_no_bulk;
	size_t man_bulk_short;
	/** Return code of the call; and has the asker counted a drop? */
	int  man_rc;
	bool man_dropped;
};

static const struct manner honest = {
	.man_name = "honest",
	.man_bytes = M0_ST_MSG_BYTES,
	.man_times = 1,
};

/** A node that answers all requests, and an MD for each of its messages. */
struct liar {
	struct node      *lia_node;
	struct m0_lnet_eq lia_eq;
	struct raw        lia_request;
	struct raw        lia_reply[2];
	struct raw        lia_bulk;
};

static struct node          other;
static struct liar          liars[2];
static const struct manner *manner;
/** The field that is wrong in replies to requests of its type; NULL: none. */
static const struct wrong *wrong;

static void liar_bulk(struct liar *liar, const struct m0_st_msg *msg,
		      const struct m0_lnet_nid *to)
{
	bool        is_test = msg->smg_type == M0_ST_TEST;
	size_t      nr = is_test ? msg->smg_test.tsr_dests_nr * M0_ST_DEST_BYTES
				 : msg->smg_bytes;
	struct raw *raw = &liar->lia_bulk;
	struct m0_lnet_op op = {
		.lo_self = m0_lnet_nid_any,
		.lo_target = { *to, M0_LNET_PID_LUSTRE },
		.lo_portal = M0_ST_PORTAL_REPLY,
		.lo_match_bits = msg->smg_bulkid,
	};
	struct m0_lnet_md_attr md;
	struct m0_lnet_handle  handle;

	if (msg->smg_bulkid == 0 || manner->man_no_bulk)
		return;
	assert_true(nr <= sizeof raw->raw_bytes);
	nr -= manner->man_bulk_short;
	raw->raw_over = false;
	if (!is_test && msg->smg_rw == M0_ST_READ) {
		raw_send(liar->lia_node, to, &liar->lia_eq, raw, nr,
			 op.lo_portal, op.lo_match_bits);
		return;
	}
	md = raw_md(raw, &liar->lia_eq, nr, 0);
	md.mda_threshold = 2;
	assert_int_equal(
		m0_lnet_bind_get(liar->lia_node->n_lnet, &md, &op, &handle), 0);
}

static void liar_reply(struct liar *liar, const struct m0_st_msg *msg,
		       const struct m0_lnet_nid *to)
{
	struct m0_st_msg reply = msg_of(msg->smg_type + 1);
	struct liar     *from = liar;
	unsigned         i;

	reply.smg_swapped = manner->man_swapped;
	if (manner->man_from_other)
		from = &liars[liar == liars];
	for (i = 0; i < manner->man_times; ++i) {
		m0_st_encode(&reply, from->lia_reply[i].raw_bytes);
		if (wrong != NULL && wrong->wrg_type == reply.smg_type)
			field_set(from->lia_reply[i].raw_bytes, wrong);
		from->lia_reply[i].raw_over = false;
		raw_send(from->lia_node, to, &from->lia_eq, &from->lia_reply[i],
			 manner->man_bytes, M0_ST_PORTAL_REPLY,
			 msg->smg_rpyid + manner->man_bits_add);
	}
}

/* Answers the request that has come. */
static void liar_event(struct m0_lnet_eq *eq, const struct m0_lnet_event *event)
{
	struct liar     *liar = container_of(eq, struct liar, lia_eq);
	struct m0_st_msg msg;

	if (event->ev_md_user != &liar->lia_request) {
		raw_event(eq, event);
		return;
	}
	if (event->ev_type != M0_LNET_EV_PUT)
		return;
	assert_int_equal(
		m0_st_decode(&msg,
			     liar->lia_request.raw_bytes + event->ev_offset,
			     event->ev_mlength),
		0);
	liar_bulk(liar, &msg, &event->ev_source.lp_nid);
	liar_reply(liar, &msg, &event->ev_source.lp_nid);
}

static void liar_listen(struct liar *liar, uint32_t portal)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = portal,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_ignore_bits = UINT64_MAX,
	};
	struct m0_lnet_md_attr md;
	struct m0_lnet_handle  handle;
	struct m0_lnet_handle  md_handle;

	md = raw_md(&liar->lia_request, &liar->lia_eq, M0_ST_MSG_BYTES,
		    M0_LNET_MD_OP_PUT | M0_LNET_MD_MANAGE_REMOTE);
	md.mda_threshold = M0_LNET_MD_THRESHOLD_INF;
	md.mda_auto_unlink = false;
	assert_int_equal(
		m0_lnet_me_attach(liar->lia_node->n_lnet, &me, &handle), 0);
	assert_int_equal(m0_lnet_md_attach(liar->lia_node->n_lnet, handle, &md,
					   &md_handle),
			 0);
}

static void liars_up(void)
{
	struct liar *liar;

	up();
	node_init(&other, &sim, "other", "10.0.0.3", NULL);
	M0_SET_ARR0(liars);
	liars[0].lia_node = &asker;
	liars[1].lia_node = &other;
	manner = &honest;
	wrong = NULL;
	for (liar = liars; liar < liars + ARRAY_SIZE(liars); ++liar) {
		m0_lnet_eq_init(&liar->lia_eq, liar->lia_node->n_lnet,
				liar_event, 0);
		liar->lia_reply[0].raw_over = true;
		liar->lia_reply[1].raw_over = true;
		liar->lia_bulk.raw_over = true;
		liar_listen(liar, M0_ST_PORTAL_FRAMEWORK);
		liar_listen(liar, M0_ST_PORTAL_TEST);
	}
}

static void liars_down(void)
{
	struct liar *liar;

	for (liar = liars; liar < liars + ARRAY_SIZE(liars); ++liar) {
		node_close(liar->lia_node);
		m0_lnet_eq_fini(&liar->lia_eq);
		node_open(liar->lia_node);
	}
	node_fini(&other);
	down();
}

static bool liars_are_over(void *arg)
{
	const struct liar *liar;

	(void)arg;
	for (liar = liars; liar < liars + ARRAY_SIZE(liars); ++liar)
		if (!liar->lia_reply[0].raw_over ||
		    !liar->lia_reply[1].raw_over || !liar->lia_bulk.raw_over)
			return false;
	return true;
}

/* -- asking it ------------------------------------------------------------- */

/** Our node asks the liar. @return what the call returns, or the status. */
static int call_liar(uint32_t type)
{
	struct m0_st_call call = {
		.scl_dest = { asker.n_nid, M0_LNET_PID_LUSTRE },
		.scl_request = msg_of(type),
	};

	m0_st_calls(st, &call, 1, REPLY_MS);
	return call.scl_rc != 0 ? call.scl_rc : (int)call.scl_reply.smg_status;
}

/** Tests of our node's, with the liar as their server. */
static void tests_make(void)
{
	struct m0_st_msg msg;
	unsigned         batch;

	session_begin();
	for (batch = BATCH_PING; batch < BATCHES_END; ++batch) {
		msg = msg_of(M0_ST_TEST);
		msg.smg_test.tsr_batch = batch;
		msg.smg_test.tsr_dests_nr = 1;
		msg.smg_test.tsr_check = M0_ST_CHECK_NONE;
		msg.smg_test.tsr_bytes = BULK_BYTES;
		if (batch == BATCH_PING)
			msg.smg_test.tsr_service = M0_ST_SRV_PING;
		if (batch == BATCH_WRITE)
			msg.smg_test.tsr_rw = M0_ST_WRITE;
		assert_int_equal(ask_client_test(&msg, &asker), 0);
	}
}

/** Runs the test of a batch. @return 0, or -EBADMSG for an error that it counted. */
static int test_liar(unsigned batch)
{
	struct m0_st_msg   msg = msg_of(M0_ST_BATCH);
	struct m0_st_state before;
	struct m0_st_state now;
	unsigned           i;
	uint32_t           errors;

	m0_st_state_get(st, &before);
	msg.smg_batch = batch;
	msg.smg_opc = M0_ST_RUN;
	assert_int_equal(ask(&msg), 0);
	for (i = 0; i < RUN_TICKS_MAX; ++i) {
		m0_sim_run_ms(&sim, 50);
		m0_st_state_get(st, &now);
		if (now.sls_active_nr == 0)
			break;
	}
	assert_int_equal(now.sls_active_nr, 0);
	errors = now.sls_stats.sct_ping_errors -
		 before.sls_stats.sct_ping_errors +
		 now.sls_stats.sct_brw_errors - before.sls_stats.sct_brw_errors;
	assert_true(errors <= 1);
	return errors == 0 ? 0 : -EBADMSG;
}

/** Asks for a reply of this type; of BRW there are a read and a write. */
static void liar_check(uint32_t type, unsigned batch, int rc, const char *what,
		       uint64_t value)
{
	int got = type < M0_ST_BRW ? call_liar(type - 1) : test_liar(batch);

	/* A test counts every error alike. */
	if (type >= M0_ST_BRW && rc != 0)
		rc = -EBADMSG;
	if (got != rc)
		print_error("%s, %s = %" PRIu64 ": %d\n", m0_st_type_name(type),
			    what, value, got);
	assert_int_equal(got, rc);
	assert_true(m0_sim_run_until(&sim, liars_are_over, NULL,
				     REPLY_MS * M0_TIME_ONE_MSEC));
}

static void reply_check(uint32_t type, int rc, const char *what, uint64_t value)
{
	liar_check(type, type == M0_ST_PING_REP ? BATCH_PING : BATCH_READ, rc,
		   what, value);
	if (type == M0_ST_BRW_REP)
		liar_check(type, BATCH_WRITE, rc, what, value);
}

/* -- fields ---------------------------------------------------------------- */

/** Fields of the header and the status. `feats`: other features than the session's. */
#define HEADER(type, feats)                                          \
	{ type, "magic", 0, 4, 1, -EBADMSG },                        \
		{ type, "version", 4, 4, 0, -EPROTO },               \
		{ type, "version", 4, 4, 2, -EPROTO },               \
		{ type, "version", 4, 4, UINT32_MAX, -EPROTO },      \
		{ type, "type", 8, 4, (type)-1, -EBADMSG },          \
		{ type, "type", 8, 4, ((type) + 2) % 16, -EBADMSG }, \
		{ type, "type", 8, 4, 17, -EBADMSG },                \
		{ type, "type", 8, 4, UINT32_MAX, -EBADMSG },        \
		{ type, "reserved", 12, 4, UINT32_MAX, 0 },          \
		{ type, "reserved", 16, 4, UINT32_MAX, 0 },          \
		{ type, "feats", 20, 4, 0, feats },                  \
		{ type, "feats", 20, 4, UINT32_MAX, feats },         \
		{ type, "status", BODY, 4, 1, 1 },                   \
		{ type, "status", BODY, 4, 4095, 4095 },             \
		{ type, "status", BODY, 4, 4096, -EBADMSG },         \
		{ type, "status", BODY, 4, 1U << 31, -EBADMSG },     \
	{                                                            \
		type, "status", BODY, 4, UINT32_MAX, -EBADMSG        \
	}
/** `other`: another session than that of the request. */
#define SID(type, other)                                           \
	{ type, "sid.nid", BODY + 4, 8, UINT64_MAX, other },       \
		{ type, "sid.nid", BODY + 4, 8, 5, other },        \
		{ type, "sid.stamp", BODY + 12, 8, 8, other },     \
	{                                                          \
		type, "sid.stamp", BODY + 12, 8, UINT64_MAX, other \
	}

static const struct wrong wrongs[] = {
	HEADER(M0_ST_MKSN_REP, -EBADMSG),
	SID(M0_ST_MKSN_REP, -EBADMSG),
	{ M0_ST_MKSN_REP, "timeout", BODY + 20, 4, 0, 0 },
	{ M0_ST_MKSN_REP, "timeout", BODY + 20, 4, UINT32_MAX, 0 },
	{ M0_ST_MKSN_REP, "name", BODY + 24, 32, 0, 0 },
	{ M0_ST_MKSN_REP, "name", BODY + 24, 32, UINT64_MAX, -EBADMSG },

	/* The session may have ended there. */
	HEADER(M0_ST_RMSN_REP, 0),
	SID(M0_ST_RMSN_REP, 0),

	HEADER(M0_ST_BATCH_REP, -EBADMSG),
	SID(M0_ST_BATCH_REP, -EBADMSG),
	{ M0_ST_BATCH_REP, "active", BODY + 20, 4, UINT32_MAX, 0 },
	{ M0_ST_BATCH_REP, "time", BODY + 24, 4, UINT32_MAX, 0 },

	HEADER(M0_ST_STAT_REP, -EBADMSG),
	SID(M0_ST_STAT_REP, -EBADMSG),

	/* The session of any console is shown. */
	HEADER(M0_ST_DEBUG_REP, 0),
	SID(M0_ST_DEBUG_REP, 0),
	{ M0_ST_DEBUG_REP, "timeout", BODY + 20, 4, UINT32_MAX, 0 },
	{ M0_ST_DEBUG_REP, "batches", BODY + 24, 4, UINT32_MAX, 0 },
	{ M0_ST_DEBUG_REP, "name", BODY + 28, 32, 0, 0 },
	{ M0_ST_DEBUG_REP, "name", BODY + 28, 32, UINT64_MAX, -EBADMSG },

	HEADER(M0_ST_TEST_REP, -EBADMSG),
	SID(M0_ST_TEST_REP, -EBADMSG),

	/* Replies of tests have no identity of a session. */
	HEADER(M0_ST_BRW_REP, 0),
	HEADER(M0_ST_PING_REP, 0),
	{ M0_ST_PING_REP, "magic", BODY + 4, 4, 0, -EBADMSG },
	{ M0_ST_PING_REP, "magic", BODY + 4, 4, UINT32_MAX, -EBADMSG },
	{ M0_ST_PING_REP, "seq", BODY + 8, 4, 1, -EBADMSG },
	{ M0_ST_PING_REP, "seq", BODY + 8, 4, UINT32_MAX, -EBADMSG },
};

static void each_field_has_its_consequence(void **state)
{
	(void)state;
	liars_up();
	tests_make();
	for (wrong = wrongs; wrong < wrongs + ARRAY_SIZE(wrongs); ++wrong)
		reply_check(wrong->wrg_type, wrong->wrg_status,
			    wrong->wrg_field, wrong->wrg_value);
	session_end();
	liars_down();
}

/* Counters may have any value; the fields of 8 bytes are set by halves. */
static void counters_of_any_value_are_taken(void **state)
{
	struct wrong counter = { M0_ST_STAT_REP, "counter", BODY + 20, 4,
				 UINT32_MAX,     0 };

	(void)state;
	liars_up();
	for (wrong = &counter; counter.wrg_at < M0_ST_MSG_BYTES;
	     counter.wrg_at += sizeof(uint32_t))
		reply_check(M0_ST_STAT_REP, 0, "counter", counter.wrg_at);
	liars_down();
}

/* -- manners --------------------------------------------------------------- */

static const struct manner manners[] = {
	{ "other byte order", M0_ST_MSG_BYTES, .man_times = 1,
	  .man_swapped = true },
	{ "empty", 0, .man_times = 1, .man_rc = -EBADMSG },
	{ "header only", BODY, .man_times = 1, .man_rc = -EBADMSG },
	{ "short", M0_ST_MSG_BYTES - 1, .man_times = 1, .man_rc = -EBADMSG },
	{ "long", M0_ST_MSG_BYTES + 1, .man_times = 1, .man_rc = -ETIMEDOUT,
	  .man_dropped = true },
	{ "other bits", M0_ST_MSG_BYTES, .man_times = 1, .man_bits_add = 100,
	  .man_rc = -ETIMEDOUT, .man_dropped = true },
	{ "other sender", M0_ST_MSG_BYTES, .man_times = 1,
	  .man_from_other = true, .man_rc = -ETIMEDOUT, .man_dropped = true },
	{ "none", M0_ST_MSG_BYTES, .man_times = 0, .man_rc = -ETIMEDOUT },
	{ "twice", M0_ST_MSG_BYTES, .man_times = 2, .man_dropped = true },
};

static uint32_t drops_nr(void)
{
	struct m0_st_state state;

	m0_st_state_get(st, &state);
	return state.sls_stats.sct_drop_count;
}

static void each_manner_has_its_consequence(void **state)
{
	uint32_t type;
	uint32_t drops;

	(void)state;
	liars_up();
	tests_make();
	for (manner = manners; manner < manners + ARRAY_SIZE(manners);
	     ++manner) {
		for (type = 1; type < M0_ST_TYPES_NR; type += 2) {
			drops = drops_nr();
			reply_check(type, manner->man_rc, manner->man_name, 0);
			m0_sim_run_ms(&sim, 10);
			assert_int_equal(drops_nr() > drops,
					 manner->man_dropped);
		}
	}
	session_end();
	liars_down();
}

/* A reply without its data, or with less of it, is no success. */
static void bulk_that_lacks_is_an_error(void **state)
{
	static const struct manner lacks[] = {
		{ "no bulk", M0_ST_MSG_BYTES, .man_times = 1,
		  .man_no_bulk = true, .man_rc = -ETIMEDOUT },
		{ "a byte less", M0_ST_MSG_BYTES, .man_times = 1,
		  .man_bulk_short = 1, .man_rc = -EIO },
		{ "one byte", M0_ST_MSG_BYTES, .man_times = 1,
		  .man_bulk_short = BULK_BYTES - 1, .man_rc = -EIO },
	};

	(void)state;
	liars_up();
	tests_make();
	for (manner = lacks; manner < lacks + ARRAY_SIZE(lacks); ++manner)
		reply_check(M0_ST_BRW_REP, manner->man_rc, manner->man_name, 0);
	manner = &honest;
	reply_check(M0_ST_BRW_REP, 0, manner->man_name, 0);
	session_end();
	liars_down();
}

/* -- the console's verbs --------------------------------------------------- */

static struct lst_session session;

static bool nobody_left(const struct lst_out *out)
{
	(void)out;
	return false;
}

/** Runs a verb. @return its exit code; `*text` has what it printed. */
static int verb(const char *name, const char *first, char **text)
{
	struct lst_args args = {
		.lsa_verb = name,
		.lsa_refresh = true,
		.lsa_loop = 1,
		.lsa_concurrency = 1,
		.lsa_clients = 1,
		.lsa_servers = 1,
		.lsa_from = "g",
		.lsa_to = "g",
		.lsa_words = { first, "10.0.0.[1,3]@tcp" },
		.lsa_words_nr = strcmp(name, "add_group") == 0 ? 2
				: first != NULL                ? 1
							       : 0,
	};
	struct lst_out out = { .lso_stopped = nobody_left, .lso_fd = -1 };
	size_t         bytes;
	int            rc;

	out.lso_out = open_memstream(text, &bytes);
	assert_non_null(out.lso_out);
	out.lso_err = out.lso_out;
	m0_mutex_lock(&session.lsn_lock);
	rc = lst_verb_run(&session, &args, &out);
	m0_mutex_unlock(&session.lsn_lock);
	session.lsn_ended = false;
	(void)fclose(out.lso_out);
	return rc;
}

static void verb_check(const char *name, const char *first, int rc,
		       const char *needle)
{
	char *text;
	int   got = verb(name, first, &text);

	if (got != rc || strstr(text, needle) == NULL)
		print_error("%s, %s: %d, %s\n", name,
			    wrong != NULL ? wrong->wrg_field : "honest", got,
			    text);
	assert_int_equal(got, rc);
	assert_non_null(strstr(text, needle));
	free(text);
}

static void console_up(void)
{
	struct lst_args args = { .lsa_force = false };

	liars_up();
	m0_st_close(st);
	M0_SET0(&session);
	m0_sim_host_use(served.n_host);
	assert_int_equal(
		lst_session_start(&session, served.n_lnet, &args, "test"), 0);
	session.lsn_sid = sid;
}

static void console_down(void)
{
	struct m0_st_cfg cfg;

	lst_session_stop(&session);
	m0_st_cfg_default(&cfg);
	cfg.scf_lnet = served.n_lnet;
	assert_int_equal(m0_st_open(&st, &cfg), 0);
	liars_down();
}

/* Each verb fails by each of these replies, and says that it does. */
static void verbs_fail_by_wrong_replies(void **state)
{
	static const struct {
		const char *name;
		const char *first;
		uint32_t    type;
	} verbs[] = {
		{ "add_test", "ping", M0_ST_TEST_REP },
		{ "run", "batch", M0_ST_BATCH_REP },
		{ "query", "batch", M0_ST_BATCH_REP },
		{ "stop", "batch", M0_ST_BATCH_REP },
		{ "show_error", "g", M0_ST_STAT_REP },
		{ "ping", NULL, M0_ST_DEBUG_REP },
		{ "end_session", NULL, M0_ST_RMSN_REP },
		{ "update_group", "g", M0_ST_MKSN_REP },
	};
	static const struct wrong fields[] = {
		{ 0, "version", 4, 4, 2, 0 },
		{ 0, "type", 8, 4, UINT32_MAX, 0 },
		{ 0, "status", BODY, 4, EIO, 0 },
		{ 0, "status", BODY, 4, UINT32_MAX, 0 },
		{ 0, "sid", BODY + 4, 8, 5, 0 },
	};
	struct wrong field;
	size_t       i;
	size_t       j;

	(void)state;
	console_up();
	verb_check("add_group", "g", TOOL_OK, "added");
	verb_check("add_test", "ping", TOOL_OK, "success");
	for (i = 0; i < ARRAY_SIZE(verbs); ++i) {
		for (j = 0; j < ARRAY_SIZE(fields); ++j) {
			if (strcmp(fields[j].wrg_field, "sid") == 0 &&
			    (verbs[i].type == M0_ST_DEBUG_REP ||
			     verbs[i].type == M0_ST_RMSN_REP))
				continue;
			/* Nodes that have lied join again. */
			wrong = NULL;
			verb_check("update_group", "g", TOOL_OK, "");
			if (verbs[i].type == M0_ST_MKSN_REP)
				session.lsn_nodes[0].lcn_state = LST_UNKNOWN;
			field = fields[j];
			field.wrg_type = verbs[i].type;
			wrong = &field;
			verb_check(verbs[i].name, verbs[i].first, TOOL_FAILED,
				   "10.0.0.1@tcp");
		}
	}
	console_down();
}

/* Numbers of active tests whose sum is 0 modulo 2^32 are a running batch. */
static void sum_of_active_tests_does_not_wrap(void **state)
{
	static const struct wrong half = { M0_ST_BATCH_REP, "active",
					   BODY + 20,       4,
					   1U << 31,        0 };

	(void)state;
	console_up();
	verb_check("add_group", "g", TOOL_OK, "added");
	verb_check("add_test", "ping", TOOL_OK, "success");
	verb_check("query", "batch", TOOL_OK, "idle");
	wrong = &half;
	verb_check("query", "batch", TOOL_OK, "running");
	console_down();
}

/* A name cannot send commands to the terminal. */
static void name_is_printed_without_control_characters(void **state)
{
	static const struct wrong escape = { M0_ST_DEBUG_REP, "name",
					     BODY + 28,       4,
					     0x1b5b327f,      0 };

	(void)state;
	console_up();
	verb_check("add_group", "g", TOOL_OK, "added");
	wrong = &escape;
	verb_check("ping", NULL, TOOL_OK, "[session: ?2[?");
	console_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_field_has_its_consequence),
		cmocka_unit_test(counters_of_any_value_are_taken),
		cmocka_unit_test(each_manner_has_its_consequence),
		cmocka_unit_test(bulk_that_lacks_is_an_error),
		cmocka_unit_test(verbs_fail_by_wrong_replies),
		cmocka_unit_test(sum_of_active_tests_does_not_wrap),
		cmocka_unit_test(name_is_printed_without_control_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
