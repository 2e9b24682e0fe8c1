/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The server's half: every cell of its table, budgets, acks, restarts. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "rpc/core/sstream.h"
#include "sim/sched/heap.h"

enum {
	WINDOW = 4,
	TEXT_MAX = 16384
};

static const char *rules_path;

/** Bodies and replies that were returned to the owner. */
static unsigned bodies_nr;
static unsigned replies_nr;
static int      a_body;
static int      a_reply;

static void body_drop(struct m0_rpc_sstream *stream, void *body)
{
	(void)stream;
	assert_ptr_equal(body, &a_body);
	bodies_nr++;
}

static void reply_drop(struct m0_rpc_sstream *stream, void *reply)
{
	(void)stream;
	assert_ptr_equal(reply, &a_reply);
	replies_nr++;
}

static const struct m0_rpc_sstream_ops ops = {
	.sso_body_drop = body_drop,
	.sso_reply_drop = reply_drop,
};

static void begin(struct m0_rpc_sstream *stream, struct m0_rpc_sbudget *budget)
{
	bodies_nr = 0;
	replies_nr = 0;
	assert_int_equal(m0_rpc_sstream_init(stream, &ops, WINDOW, budget), 0);
}

static enum m0_rpc_saction came(struct m0_rpc_sstream *stream, uint64_t xid,
				uint64_t ack, bool skip)
{
	struct m0_rpc_sanswer ans;

	return m0_rpc_sstream_accept(stream, xid, ack, skip,
				     skip ? NULL : &a_body, &ans);
}

/** Executes all up to `xid`, which have not come yet. */
static void execute_to(struct m0_rpc_sstream *stream, uint64_t xid)
{
	while (stream->rss_last < xid) {
		assert_int_equal(came(stream, stream->rss_last + 1, 1, false),
				 M0_RPC_SA_EXECUTE);
		m0_rpc_sstream_executed(stream, stream->rss_last + 1, &a_reply,
					10, 0);
	}
}

/* ---------------------------------------------------------- the table -- */

/** Brings a number into the state. @return the number. */
static uint64_t state_make(struct m0_rpc_sstream *stream,
			   enum m0_rpc_sstate     state)
{
	switch (state) {
	case M0_RPC_SS_BEYOND:
		return 1 + WINDOW;
	case M0_RPC_SS_AHEAD:
		return 2;
	case M0_RPC_SS_TURN:
		return 1;
	case M0_RPC_SS_HELD:
		(void)came(stream, 2, 1, false);
		return 2;
	case M0_RPC_SS_HELD_SKIP:
		(void)came(stream, 2, 1, true);
		return 2;
	case M0_RPC_SS_RUNNING:
		(void)came(stream, 1, 1, false);
		return 1;
	case M0_RPC_SS_RUNNING_ACKED:
		(void)came(stream, 1, 1, false);
		m0_rpc_sstream_ack(stream, 2);
		return 1;
	case M0_RPC_SS_KEPT:
		execute_to(stream, 1);
		return 1;
	default:
		execute_to(stream, 1);
		m0_rpc_sstream_ack(stream, 2);
		return 1;
	}
}

/** Makes it the number's turn and asks what is to be done. */
static enum m0_rpc_saction turn(struct m0_rpc_sstream *stream, uint64_t xid)
{
	struct m0_rpc_sanswer ans;
	enum m0_rpc_saction   action;

	if (stream->rss_running == 0)
		execute_to(stream, xid - 1);
	action = m0_rpc_sstream_next(stream, &ans);
	if (action != M0_RPC_SA_NONE)
		assert_int_equal(ans.rsa_xid, xid);
	return action;
}

static enum m0_rpc_saction input_give(struct m0_rpc_sstream *stream,
				      uint64_t xid, enum m0_rpc_sinput input)
{
	switch (input) {
	case M0_RPC_SI_REQUEST:
	case M0_RPC_SI_SKIP:
		return came(stream, xid, 1, input == M0_RPC_SI_SKIP);
	case M0_RPC_SI_TURN:
		return turn(stream, xid);
	case M0_RPC_SI_DONE:
		m0_rpc_sstream_executed(stream, xid, &a_reply, 10, 0);
		return replies_nr == 0 ? M0_RPC_SA_KEEP : M0_RPC_SA_DROP;
	default:
		m0_rpc_sstream_ack(stream, xid + 1);
		return bodies_nr + replies_nr == 0 ? M0_RPC_SA_NONE
						   : M0_RPC_SA_DROP;
	}
}

static void cell_check(enum m0_rpc_sstate state, enum m0_rpc_sinput input)
{
	const struct m0_rpc_srule *rule = &m0_rpc_srules[state][input];
	enum m0_rpc_saction        want = (enum m0_rpc_saction)rule->rsu_action;
	struct m0_rpc_sstream      stream;
	uint64_t                   xid;

	if (want == M0_RPC_SA_NEVER)
		return;
	begin(&stream, NULL);
	xid = state_make(&stream, state);
	assert_int_equal(m0_rpc_sstream_state(&stream, xid), state);
	bodies_nr = 0;
	replies_nr = 0;
	/* A skip has no body to hold; one that replaces a body drops that. */
	if (input == M0_RPC_SI_SKIP &&
	    (want == M0_RPC_SA_HOLD || want == M0_RPC_SA_DROP)) {
		assert_int_equal(input_give(&stream, xid, input),
				 M0_RPC_SA_IGNORE);
		assert_int_equal(bodies_nr, want == M0_RPC_SA_DROP);
	} else {
		assert_int_equal(input_give(&stream, xid, input), want);
	}
	assert_int_equal(m0_rpc_sstream_state(&stream, xid), rule->rsu_next);
	stream.rss_running = 0;
	m0_rpc_sstream_fini(&stream);
}

/* Each cell of the table is what the code does: action and next state. */
static void table_every_cell_is_followed(void **state)
{
	unsigned s;
	unsigned i;

	(void)state;
	for (s = 0; s < M0_RPC_SS_NR; ++s)
		for (i = 0; i < M0_RPC_SI_NR; ++i)
			cell_check((enum m0_rpc_sstate)s,
				   (enum m0_rpc_sinput)i);
}

/** The table in the words of the model. */
static void rules_text(char *text)
{
	size_t   at = 0;
	unsigned s;
	unsigned i;

#define SAY(...) (at += (size_t)snprintf(text + at, TEXT_MAX - at, __VA_ARGS__))
	SAY("/* SPDX-License-Identifier: Apache-2.0 OR MIT */\n"
	    "/*\n"
	    " * The table of src/rpc/core/sstream.c, in the words of the model. "
	    "The test\n"
	    " * sstream_test.c makes this text of the table and compares; its "
	    "--print writes\n"
	    " * it anew.\n"
	    " */\n");
	for (s = 0; s < M0_RPC_SS_NR; ++s)
		SAY("#define S_%s %u\n", m0_rpc_sstate_names[s], s);
	for (s = 0; s < M0_RPC_SI_NR; ++s)
		SAY("#define I_%s %u\n", m0_rpc_sinput_names[s], s);
	for (s = 0; s < M0_RPC_SA_NR; ++s)
		SAY("#define A_%s %u\n", m0_rpc_saction_names[s], s);
	SAY("\ninline rule(state, input)\n{\n\tif\n");
	for (s = 0; s < M0_RPC_SS_NR; ++s)
		for (i = 0; i < M0_RPC_SI_NR; ++i)
			SAY("\t:: state == S_%s && input == I_%s -> "
			    "v_action = A_%s; v_next = S_%s\n",
			    m0_rpc_sstate_names[s], m0_rpc_sinput_names[i],
			    m0_rpc_saction_names[m0_rpc_srules[s][i]
							 .rsu_action],
			    m0_rpc_sstate_names[m0_rpc_srules[s][i].rsu_next]);
	SAY("\tfi\n}\n");
#undef SAY
	assert_true(at < TEXT_MAX);
}

/* The model that is proved has this very table. */
static void table_of_model_is_the_same(void **state)
{
	static char text[TEXT_MAX];
	static char model[TEXT_MAX];
	FILE       *file = fopen(rules_path, "r");

	(void)state;
	assert_non_null(file);
	(void)!fread(model, 1, TEXT_MAX - 1, file);
	fclose(file);
	rules_text(text);
	assert_string_equal(model, text);
}

/* ---------------------------------------------------------- refusals -- */

/* Numbers and acks that no client sends: refused, and nothing has changed. */
static void item_impossible_is_refused_unchanged(void **state)
{
	static const struct {
		uint64_t xid, ack;
		int      rc;
	} rows[] = {
		{ 0, 1, -EPROTO },
		{ 3, 0, -EPROTO },
		{ 3, 4, -EPROTO },
		{ 1 + WINDOW, 1, -EOVERFLOW },
		{ UINT64_MAX, 1, -EOVERFLOW },
		{ UINT64_MAX, 2, -EOVERFLOW },
		{ 3 + WINDOW, 3, -EOVERFLOW },
	};
	struct m0_rpc_sstream before;
	struct m0_rpc_sstream stream;
	struct m0_rpc_sanswer ans;
	unsigned              i;

	(void)state;
	begin(&stream, NULL);
	execute_to(&stream, 1);
	before = stream;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		assert_int_equal(m0_rpc_sstream_accept(&stream, rows[i].xid,
						       rows[i].ack, false,
						       &a_body, &ans),
				 M0_RPC_SA_REFUSE);
		assert_int_equal(ans.rsa_rc, rows[i].rc);
		assert_memory_equal(&stream, &before, sizeof stream);
	}
	m0_rpc_sstream_fini(&stream);
	assert_int_equal(replies_nr, 1);
}

/* An ack of everything there could ever be drops all that is kept, and the
 * stream goes on behind it: only its client is hurt. */
static void ack_of_all_drops_all(void **state)
{
	struct m0_rpc_sstream stream;
	struct m0_rpc_sanswer ans;

	(void)state;
	begin(&stream, NULL);
	execute_to(&stream, 2);
	assert_int_equal(came(&stream, 4, 1, false), M0_RPC_SA_HOLD);
	m0_rpc_sstream_ack(&stream, UINT64_MAX);
	assert_int_equal(replies_nr, 2);
	assert_int_equal(bodies_nr, 1);
	assert_int_equal(came(&stream, 3, 1, false), M0_RPC_SA_IGNORE);
	assert_int_equal(m0_rpc_sstream_next(&stream, &ans), M0_RPC_SA_NONE);
	assert_int_equal(came(&stream, UINT64_MAX, UINT64_MAX, false),
			 M0_RPC_SA_EXECUTE);
	m0_rpc_sstream_executed(&stream, UINT64_MAX, NULL, 0, 0);
	m0_rpc_sstream_fini(&stream);
}

/* A request that runs while all around it is acknowledged keeps its successors
 * waiting, and its reply is not kept. */
static void ack_of_running_number_waits_for_it(void **state)
{
	struct m0_rpc_sstream stream;
	struct m0_rpc_sanswer ans;

	(void)state;
	begin(&stream, NULL);
	assert_int_equal(came(&stream, 1, 1, false), M0_RPC_SA_EXECUTE);
	assert_int_equal(came(&stream, 2, 1, false), M0_RPC_SA_HOLD);
	/* 5 has the slot that 1 would have. */
	assert_int_equal(came(&stream, 5, 4, false), M0_RPC_SA_HOLD);
	assert_int_equal(came(&stream, 4, 4, false), M0_RPC_SA_HOLD);
	assert_int_equal(bodies_nr, 1);
	assert_int_equal(m0_rpc_sstream_next(&stream, &ans), M0_RPC_SA_NONE);
	m0_rpc_sstream_executed(&stream, 1, &a_reply, 1, 0);
	assert_int_equal(replies_nr, 1);
	assert_int_equal(m0_rpc_sstream_next(&stream, &ans), M0_RPC_SA_EXECUTE);
	assert_int_equal(ans.rsa_xid, 4);
	m0_rpc_sstream_executed(&stream, 4, NULL, 0, -EIO);
	assert_int_equal(m0_rpc_sstream_next(&stream, &ans), M0_RPC_SA_EXECUTE);
	assert_int_equal(ans.rsa_xid, 5);
	m0_rpc_sstream_executed(&stream, 5, NULL, 0, 0);
	m0_rpc_sstream_fini(&stream);
}

/* A reply kept, and the code of one without a body, come back unchanged. */
static void duplicate_gets_the_reply_that_was_kept(void **state)
{
	struct m0_rpc_sstream stream;
	struct m0_rpc_sanswer ans;

	(void)state;
	begin(&stream, NULL);
	execute_to(&stream, 1);
	(void)came(&stream, 2, 1, false);
	m0_rpc_sstream_executed(&stream, 2, NULL, 0, -ENOSPC);
	assert_int_equal(m0_rpc_sstream_accept(&stream, 1, 1, false, &a_body,
					       &ans),
			 M0_RPC_SA_REPLAY);
	assert_ptr_equal(ans.rsa_reply, &a_reply);
	assert_int_equal(m0_rpc_sstream_accept(&stream, 2, 1, true, NULL, &ans),
			 M0_RPC_SA_REPLAY);
	assert_null(ans.rsa_reply);
	assert_int_equal(ans.rsa_rc, -ENOSPC);
	m0_rpc_sstream_fini(&stream);
	assert_int_equal(replies_nr, 1);
}

/* ----------------------------------------------------------- budgets -- */

/* Full of replies, own or of all: nothing is begun, what was held neither,
 * until an ack makes room; then a duplicate starts it. */
static void budget_of_replies_full_begins_nothing(void **state)
{
	struct m0_rpc_sbudget all = { .rsb_bytes_max = 20, .rsb_held_max = 9 };
	struct m0_rpc_sbudget own = { .rsb_parent = &all,
				      .rsb_bytes_max = 100,
				      .rsb_held_max = 9 };
	struct m0_rpc_sstream stream;
	struct m0_rpc_sanswer ans;

	(void)state;
	begin(&stream, &own);
	execute_to(&stream, 2);
	assert_int_equal(all.rsb_bytes, 20);
	assert_int_equal(own.rsb_bytes, 20);
	assert_int_equal(came(&stream, 4, 1, false), M0_RPC_SA_HOLD);
	assert_int_equal(came(&stream, 3, 1, false), M0_RPC_SA_BUSY);
	assert_int_equal(stream.rss_running, 0);
	assert_int_equal(came(&stream, 3, 2, false), M0_RPC_SA_EXECUTE);
	m0_rpc_sstream_executed(&stream, 3, &a_reply, 10, 0);
	assert_int_equal(m0_rpc_sstream_next(&stream, &ans), M0_RPC_SA_NONE);
	assert_int_equal(came(&stream, 4, 3, false), M0_RPC_SA_IGNORE);
	assert_int_equal(m0_rpc_sstream_next(&stream, &ans), M0_RPC_SA_EXECUTE);
	m0_rpc_sstream_executed(&stream, 4, &a_reply, 10, 0);
	m0_rpc_sstream_fini(&stream);
	assert_int_equal(all.rsb_bytes + own.rsb_bytes, 0);
	assert_int_equal(all.rsb_held + own.rsb_held, 0);
}

/* A client that has fewer bytes than its share begins although all of them together have
 * too many; one that has just its share does not. */
static void budget_of_all_spares_who_has_less(void **state)
{
	struct m0_rpc_sbudget all = { .rsb_bytes_max = 20, .rsb_held_max = 9 };
	struct m0_rpc_sbudget own = { .rsb_parent = &all,
				      .rsb_bytes_max = 100,
				      .rsb_bytes_min = 20,
				      .rsb_held_max = 9 };
	struct m0_rpc_sstream stream;

	(void)state;
	begin(&stream, &own);
	execute_to(&stream, 2);
	assert_int_equal(own.rsb_bytes, own.rsb_bytes_min);
	assert_int_equal(came(&stream, 3, 1, false), M0_RPC_SA_BUSY);
	own.rsb_bytes_min = 21;
	assert_int_equal(came(&stream, 3, 1, false), M0_RPC_SA_EXECUTE);
	m0_rpc_sstream_executed(&stream, 3, &a_reply, 10, 0);
	m0_rpc_sstream_fini(&stream);
}

/* Too many held, own or of all: no more are; skips cost nothing. */
static void budget_of_held_full_holds_no_more(void **state)
{
	struct m0_rpc_sbudget own = { .rsb_bytes_max = 100, .rsb_held_max = 1 };
	struct m0_rpc_sstream stream;

	(void)state;
	begin(&stream, &own);
	assert_int_equal(came(&stream, 3, 1, false), M0_RPC_SA_HOLD);
	assert_int_equal(came(&stream, 2, 1, false), M0_RPC_SA_BUSY);
	assert_int_equal(came(&stream, 2, 1, true), M0_RPC_SA_IGNORE);
	assert_int_equal(m0_rpc_sstream_state(&stream, 2), M0_RPC_SS_HELD_SKIP);
	assert_int_equal(came(&stream, 3, 1, true), M0_RPC_SA_IGNORE);
	assert_int_equal(own.rsb_held, 0);
	assert_int_equal(came(&stream, 4, 1, false), M0_RPC_SA_HOLD);
	m0_rpc_sstream_fini(&stream);
	assert_int_equal(own.rsb_held, 0);
	assert_int_equal(bodies_nr, 2);
}

/* Skips that were waiting for their turn are answered one after the other. */
static void skips_held_follow_each_other(void **state)
{
	struct m0_rpc_sstream stream;
	struct m0_rpc_sanswer ans;
	uint64_t              xid;

	(void)state;
	begin(&stream, NULL);
	(void)came(&stream, 2, 1, true);
	(void)came(&stream, 3, 1, true);
	(void)came(&stream, 4, 1, false);
	execute_to(&stream, 1);
	for (xid = 2; xid <= 3; ++xid) {
		assert_int_equal(m0_rpc_sstream_next(&stream, &ans),
				 M0_RPC_SA_SKIPPED);
		assert_int_equal(ans.rsa_xid, xid);
		assert_int_equal(ans.rsa_rc, -ECANCELED);
	}
	assert_int_equal(m0_rpc_sstream_next(&stream, &ans), M0_RPC_SA_EXECUTE);
	assert_ptr_equal(ans.rsa_body, &a_body);
	m0_rpc_sstream_executed(&stream, 4, NULL, 0, 0);
	m0_rpc_sstream_fini(&stream);
	assert_int_equal(bodies_nr, 0);
}

/* ---------------------------------------------------------- restarts -- */

/* Replies come back in any order; the newest knows the acks; a number without
 * one between them was not executed. */
static void restart_in_any_order_finds_the_same(void **state)
{
	/* Number, ack; 8 was lost: skipped, or its commit failed. */
	static const uint64_t rows[][2] = { { 6, 5 }, { 7, 6 }, { 9, 6 } };
	static const unsigned orders[][3] = { { 0, 1, 2 },
					      { 2, 1, 0 },
					      { 1, 2, 0 } };
	struct m0_rpc_sstream stream;
	struct m0_rpc_sanswer ans;
	unsigned              i;
	unsigned              k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(orders); ++i) {
		begin(&stream, NULL);
		for (k = 0; k < 3; ++k)
			assert_int_equal(m0_rpc_sstream_restore(
						 &stream, rows[orders[i][k]][0],
						 rows[orders[i][k]][1],
						 &a_reply, 10, 0),
					 0);
		m0_rpc_sstream_restored(&stream);
		assert_int_equal(stream.rss_last, 9);
		assert_int_equal(stream.rss_ack, 6);
		assert_int_equal(came(&stream, 7, 6, false), M0_RPC_SA_REPLAY);
		assert_int_equal(m0_rpc_sstream_accept(&stream, 8, 6, false,
						       &a_body, &ans),
				 M0_RPC_SA_REPLAY);
		assert_null(ans.rsa_reply);
		assert_int_equal(ans.rsa_rc, -ECANCELED);
		assert_int_equal(came(&stream, 10, 7, false),
				 M0_RPC_SA_EXECUTE);
		m0_rpc_sstream_executed(&stream, 10, NULL, 0, 0);
		m0_rpc_sstream_fini(&stream);
		assert_int_equal(replies_nr, 3);
	}
}

/* A client that knows more than the store: what failed, or was skipped, left
 * nothing there. The stream goes on where the client is. */
static void restart_behind_its_client_catches_up(void **state)
{
	struct m0_rpc_sstream stream;

	(void)state;
	begin(&stream, NULL);
	m0_rpc_sstream_restored(&stream);
	assert_int_equal(came(&stream, 6, 5, false), M0_RPC_SA_HOLD);
	assert_int_equal(came(&stream, 4, 4, false), M0_RPC_SA_IGNORE);
	assert_int_equal(came(&stream, 5, 5, false), M0_RPC_SA_EXECUTE);
	m0_rpc_sstream_executed(&stream, 5, NULL, 0, 0);
	m0_rpc_sstream_fini(&stream);
}

/* A peer may number as it likes: what was executed as the last number of all is
 * found again, in an end. */
static void restart_at_the_last_number_ends(void **state)
{
	const uint64_t        last = UINT64_MAX;
	struct m0_rpc_sstream stream;
	struct m0_rpc_sanswer ans;

	(void)state;
	begin(&stream, NULL);
	assert_int_equal(came(&stream, last, last, false), M0_RPC_SA_EXECUTE);
	m0_rpc_sstream_executed(&stream, last, &a_reply, 10, 0);
	assert_int_equal(m0_rpc_sstream_next(&stream, &ans), M0_RPC_SA_NONE);
	m0_rpc_sstream_fini(&stream);

	begin(&stream, NULL);
	assert_int_equal(m0_rpc_sstream_restore(&stream, last, last, &a_reply,
						10, 0),
			 0);
	m0_rpc_sstream_restored(&stream);
	assert_true(stream.rss_last == last && stream.rss_ack == last);
	assert_int_equal(came(&stream, last, last, false), M0_RPC_SA_REPLAY);
	m0_rpc_sstream_fini(&stream);
	assert_int_equal(replies_nr, 1);
}

/* Records that contradict themselves or each other are not taken. */
static void restart_from_impossible_records_is_refused(void **state)
{
	static const uint64_t rows[][2] = {
		{ 0, 1 }, { 3, 0 }, { 3, 4 }, { 2 + WINDOW, 2 }, { 9, 8 }
	};
	struct m0_rpc_sstream stream;
	unsigned              i;

	(void)state;
	begin(&stream, NULL);
	assert_int_equal(m0_rpc_sstream_restore(&stream, 9, 8, &a_reply, 1, 0),
			 0);
	for (i = 0; i < ARRAY_SIZE(rows); ++i)
		assert_int_equal(m0_rpc_sstream_restore(&stream, rows[i][0],
							rows[i][1], &a_reply, 1,
							0),
				 -EPROTO);
	assert_int_equal(replies_nr, 0);
	m0_rpc_sstream_fini(&stream);
}

/* Without memory there is no stream, and nothing is left. */
static int stream_live(void *arg)
{
	struct m0_rpc_sstream stream;
	int                   rc;

	(void)arg;
	rc = m0_rpc_sstream_init(&stream, &ops, WINDOW, NULL);
	if (rc == 0)
		m0_rpc_sstream_fini(&stream);
	return rc;
}

static void init_without_memory_fails_cleanly(void **state)
{
	(void)state;
	assert_int_equal(m0_heap_fail_each(stream_live, NULL), 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_every_cell_is_followed),
		cmocka_unit_test(table_of_model_is_the_same),
		cmocka_unit_test(item_impossible_is_refused_unchanged),
		cmocka_unit_test(ack_of_all_drops_all),
		cmocka_unit_test(ack_of_running_number_waits_for_it),
		cmocka_unit_test(duplicate_gets_the_reply_that_was_kept),
		cmocka_unit_test(budget_of_replies_full_begins_nothing),
		cmocka_unit_test(budget_of_all_spares_who_has_less),
		cmocka_unit_test(budget_of_held_full_holds_no_more),
		cmocka_unit_test(skips_held_follow_each_other),
		cmocka_unit_test(restart_in_any_order_finds_the_same),
		cmocka_unit_test(restart_behind_its_client_catches_up),
		cmocka_unit_test(restart_at_the_last_number_ends),
		cmocka_unit_test(restart_from_impossible_records_is_refused),
		cmocka_unit_test(init_without_memory_fails_cleanly),
	};
	static char text[TEXT_MAX];

	rules_path = argc > 1 ? argv[1] : "";
	if (strcmp(rules_path, "--print") == 0) {
		rules_text(text);
		return fputs(text, stdout) < 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
