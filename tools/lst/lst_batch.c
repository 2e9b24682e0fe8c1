/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Verbs about batches and tests. */
#include <stdlib.h>
#include <string.h>

#include "lst.h"
#include "../base/jout.h"
#include "../base/text.h"

enum {
	STATE_IDLE = 0xb0,
	STATE_RUNNING = 0xb1,
	STOP_TICK_MS = 200,
	/** Looks for the end of a batch that stops. */
	STOP_LOOKS = 500
};

static int fail(struct lst_out *o, const char *what, int rc)
{
	fprintf(o->lso_err, "%s: %s\n", what, tool_errtext(rc));
	return TOOL_FAILED;
}

static unsigned batch_nr(const struct lst_session *s,
			 const struct lst_batch   *batch)
{
	return (unsigned)(batch - s->lsn_batches);
}

static void batch_fill(struct json_t *item, const struct lst_batch *batch)
{
	jout_str(item, "name", batch->lbt_name);
	jout_num(item, "tests", batch->lbt_tests_nr);
	jout_bool(item, "running", batch->lbt_runs);
}

/** Print the batch: the result of verbs that change one. */
static void batch_json(const struct lst_batch *batch, struct lst_out *o)
{
	struct json_t *tree = jout_alloc();

	batch_fill(tree, batch);
	jout_finish(tree, o->lso_out);
}

int lst_add_batch(struct lst_session *s, struct lst_args *a, struct lst_out *o)
{
	if (a->lsa_words_nr != 1) {
		fprintf(o->lso_err, "Usage: colibri lst add_batch NAME\n");
		return TOOL_USAGE;
	}
	if (strlen(a->lsa_words[0]) >= LST_NAME_BYTES)
		return fail(o, "Failed to create batch", -ENAMETOOLONG);
	if (lst_batch_find(s, a->lsa_words[0]) != NULL)
		return fail(o, "Failed to create batch", -EEXIST);
	if (s->lsn_batches_nr == LST_BATCHES_MAX)
		return fail(o, "Failed to create batch", -ENOSPC);
	s->lsn_batches[s->lsn_batches_nr] =
		(struct lst_batch){ .lbt_runs = false };
	snprintf(s->lsn_batches[s->lsn_batches_nr++].lbt_name, LST_NAME_BYTES,
		 "%s", a->lsa_words[0]);
	if (a->lsa_json)
		batch_json(&s->lsn_batches[s->lsn_batches_nr - 1], o);
	return TOOL_OK;
}

/* -- add_test -------------------------------------------------------------- */

static int check_parse(const char *text, uint32_t *ret)
{
	static const char *const names[] = { "none", "simple", "full",
					     "discard" };
	unsigned                 i;

	for (i = 0; i < ARRAY_SIZE(names); ++i) {
		if (strcmp(text, names[i]) == 0) {
			*ret = i + M0_ST_CHECK_NONE;
			return 0;
		}
	}
	return -EINVAL;
}

/* One parameter of brw. */
static int param_parse(const char *word, struct m0_st_test *what)
{
	uint64_t nr = 0;
	int      rc = 0;

	if (strcmp(word, "read") == 0 || strcmp(word, "r") == 0)
		what->tsr_rw = M0_ST_READ;
	else if (strcmp(word, "write") == 0 || strcmp(word, "w") == 0)
		what->tsr_rw = M0_ST_WRITE;
	else if (strncmp(word, "check=", 6) == 0)
		rc = check_parse(word + 6, &what->tsr_check);
	else if (strncmp(word, "size=", 5) == 0) {
		rc = text_size_parse(word + 5, &nr);
		what->tsr_bytes = (uint32_t)min_check(nr, UINT64_C(1) << 31);
	} else if (strncmp(word, "off=", 4) == 0) {
		rc = text_size_parse(word + 4, &nr);
		what->tsr_offset = (uint32_t)min_check(nr, UINT64_C(1) << 31);
	} else {
		rc = -EINVAL;
	}
	return rc;
}

static int what_parse(struct lst_args *a, struct lst_out *o, uint32_t feats,
		      struct m0_st_test *what)
{
	unsigned i;

	*what = (struct m0_st_test){
		.tsr_loop = a->lsa_loop,
		.tsr_concurrency = a->lsa_concurrency,
		.tsr_stop_on_error = 1,
	};
	if (a->lsa_words_nr == 1 && strcmp(a->lsa_words[0], "ping") == 0) {
		what->tsr_service = M0_ST_SRV_PING;
	} else if (a->lsa_words_nr > 0 && strcmp(a->lsa_words[0], "brw") == 0) {
		what->tsr_service = M0_ST_SRV_BRW;
		what->tsr_check = M0_ST_CHECK_NONE;
		what->tsr_bytes = M0_ST_PAGE_BYTES;
		what->tsr_rw = M0_ST_READ;
		for (i = 1; i < a->lsa_words_nr; ++i)
			if (param_parse(a->lsa_words[i], what) != 0)
				break;
		if (i < a->lsa_words_nr) {
			fprintf(o->lso_err,
				"'%s' is not accepted; accepted: read, write, "
				"check=none|simple|full|discard, size=N, "
				"off=N\n",
				a->lsa_words[i]);
			return -EINVAL;
		}
	} else {
		fprintf(o->lso_err, "a test is missing; accepted: ping, or "
				    "brw read|write [check=...] [size=...] "
				    "[off=...]\n");
		return -EINVAL;
	}
	if (m0_st_test_check(what, feats) == 0)
		return 0;
	fprintf(o->lso_err,
		"a number is not accepted; accepted: --concurrency "
		"1 to 1024, --loop from 1, size=1 to 1M, off= below "
		"4096\n");
	return -EINVAL;
}

/**
 * Servers of client `i`: clients form groups of ltt_clients, servers groups of
 * ltt_servers, and each group of clients has a group of servers, in turn.
 * @param to_nr      all servers; the first follows the last.
 * @param ret_first  the first server of the client. @return how many it has.
 */
static uint32_t servers_of(const struct lst_test *test, unsigned to_nr,
			   unsigned i, uint32_t *ret_first)
{
	*ret_first = (uint32_t)((uint64_t)(i / test->ltt_clients) *
				test->ltt_servers % to_nr);
	return min_check(test->ltt_servers, to_nr);
}

/** Server `j` is one of the servers of client `i`. */
static bool is_server_of(const struct lst_test *test, unsigned to_nr,
			 unsigned i, unsigned j)
{
	uint32_t first;
	uint32_t nr = servers_of(test, to_nr, i, &first);

	return (j + to_nr - first) % to_nr < nr;
}

/** Requests that server `j` will have at a time, which it is told as `loop`. */
static uint32_t requests_of(const struct lst_test *test, unsigned from_nr,
			    unsigned to_nr, unsigned j)
{
	uint32_t clients = 0;
	unsigned i;

	for (i = 0; i < from_nr; ++i)
		clients += is_server_of(test, to_nr, i, j);
	return max_check(clients, UINT32_C(1)) * test->ltt_what.tsr_concurrency;
}

/** Tells the servers. @return 0, or what lst_calls() returns. */
static int servers_tell(struct lst_session *s, const struct lst_test *test,
			const struct lst_group *from,
			const struct lst_group *to, struct lst_out *o)
{
	struct m0_st_msg   msg = lst_msg(s, M0_ST_TEST);
	struct m0_st_msg  *msgs = calloc(to->lgp_nodes_nr + 1, sizeof *msgs);
	struct m0_st_call *calls = NULL;
	unsigned           i;
	int                bad = -ENOMEM;

	msg.smg_test = test->ltt_what;
	for (i = 0; msgs != NULL && i < to->lgp_nodes_nr; ++i) {
		msgs[i] = msg;
		msgs[i].smg_test.tsr_loop = requests_of(
			test, from->lgp_nodes_nr, to->lgp_nodes_nr, i);
	}
	if (msgs != NULL)
		bad = lst_calls(s, to->lgp_nodes, to->lgp_nodes_nr, msgs, 0,
				&calls);
	for (i = 0; bad > 0 && i < to->lgp_nodes_nr; ++i)
		if (calls[i].scl_rc != 0 || calls[i].scl_reply.smg_status != 0)
			lst_call_say(s, &calls[i], "Failed to add test",
				     o->lso_err);
	free(calls);
	free(msgs);
	return bad;
}

/** Lists the servers of client `i`. @return how many they are. */
static uint32_t dests_of(struct lst_session *s, const struct lst_test *test,
			 const struct lst_group *to, unsigned i, uint8_t *list)
{
	uint32_t first;
	uint32_t nr = servers_of(test, to->lgp_nodes_nr, i, &first);
	uint32_t j;

	for (j = 0; j < nr; ++j)
		m0_st_dest_encode(&s->lsn_nodes[to->lgp_nodes[(first + j) %
							      to->lgp_nodes_nr]]
					   .lcn_id,
				  list, j, s->lsn_feats, false);
	return nr;
}

static int clients_tell(struct lst_session *s, const struct lst_test *test,
			const struct lst_group *from,
			const struct lst_group *to, struct lst_out *o)
{
	unsigned          nr = from->lgp_nodes_nr;
	uint32_t          each = min_check(test->ltt_servers, to->lgp_nodes_nr);
	size_t            bytes = m0_st_dests_bytes(each, s->lsn_feats);
	struct m0_st_msg *msgs = calloc(nr + 1, sizeof *msgs);
	struct m0_st_call *calls = calloc(nr + 1, sizeof *calls);
	uint8_t           *lists = calloc(nr + 1, bytes);
	unsigned           i;
	int                bad = -ENOMEM;

	for (i = 0; msgs != NULL && calls != NULL && lists != NULL && i < nr;
	     ++i) {
		msgs[i] = lst_msg(s, M0_ST_TEST);
		msgs[i].smg_test = test->ltt_what;
		msgs[i].smg_test.tsr_is_client = 1;
		msgs[i].smg_test.tsr_dests_nr =
			dests_of(s, test, to, i, lists + i * bytes);
		calls[i].scl_bulk = lists + i * bytes;
		calls[i].scl_bulk_bytes = bytes;
	}
	if (msgs != NULL && calls != NULL && lists != NULL)
		bad = lst_calls(s, from->lgp_nodes, nr, msgs, 0, &calls);
	for (i = 0; bad > 0 && i < nr; ++i)
		if (calls[i].scl_rc != 0 || calls[i].scl_reply.smg_status != 0)
			lst_call_say(s, &calls[i], "Failed to add test",
				     o->lso_err);
	free(calls);
	free(msgs);
	free(lists);
	return bad;
}

static unsigned group_nr(const struct lst_session *s,
			 const struct lst_group   *group)
{
	unsigned i;

	for (i = 0; s->lsn_groups[i] != group; ++i)
		;
	return i;
}

int lst_add_test(struct lst_session *s, struct lst_args *a, struct lst_out *o)
{
	struct lst_test  *test = &s->lsn_tests[s->lsn_tests_nr];
	struct lst_batch *batch = lst_batch_find(s, a->lsa_batch ?: "batch");
	struct lst_group *from;
	struct lst_group *to;

	if (a->lsa_from == NULL || a->lsa_to == NULL) {
		fprintf(o->lso_err,
			"Usage: colibri lst add_test [--batch NAME] "
			"[--loop N] [--concurrency N] [--distribute "
			"N:M] --from GROUP --to GROUP ping|brw ...\n");
		return TOOL_USAGE;
	}
	from = lst_group_find(s, a->lsa_from);
	to = lst_group_find(s, a->lsa_to);
	if (batch == NULL || from == NULL || to == NULL ||
	    from->lgp_nodes_nr == 0 || to->lgp_nodes_nr == 0)
		return fail(o, "Failed to add test", -ENOENT);
	if (s->lsn_tests_nr == LST_TESTS_MAX)
		return fail(o, "Failed to add test", -ENOSPC);
	M0_SET0(test);
	if (what_parse(a, o, s->lsn_feats, &test->ltt_what) != 0)
		return TOOL_USAGE;
	test->ltt_batch = batch_nr(s, batch);
	/* The kernel's batches are counted from 1, too. */
	test->ltt_what.tsr_batch = test->ltt_batch + 1;
	test->ltt_from = group_nr(s, from);
	test->ltt_to = group_nr(s, to);
	test->ltt_clients = a->lsa_clients;
	test->ltt_servers = a->lsa_servers;
	if (min_check(test->ltt_servers, to->lgp_nodes_nr) >
	    m0_st_dests_max(s->lsn_feats))
		return fail(o, "--distribute", -E2BIG);
	if (servers_tell(s, test, from, to, o) != 0 ||
	    clients_tell(s, test, from, to, o) != 0)
		return TOOL_FAILED;
	++batch->lbt_tests_nr;
	++from->lgp_tests_nr;
	++to->lgp_tests_nr;
	++s->lsn_tests_nr;
	if (a->lsa_json)
		batch_json(batch, o);
	else
		fprintf(o->lso_out, "Test was added successfully\n");
	return TOOL_OK;
}

/* -- run, stop, query ------------------------------------------------------ */

/** Clients of the tests of a batch, or of one of them; with servers, too. */
static unsigned batch_nodes(const struct lst_session *s,
			    const struct lst_batch *batch, uint32_t test_nr,
			    bool clients, bool servers, unsigned *ret)
{
	uint8_t *seen = calloc(1, LST_NODES_MAX);
	unsigned nr = 0;
	unsigned n = 0;
	unsigned i;
	unsigned j;

	for (i = 0; seen != NULL && i < s->lsn_tests_nr; ++i) {
		const struct lst_test  *test = &s->lsn_tests[i];
		const struct lst_group *ends[] = {
			s->lsn_groups[test->ltt_from],
			s->lsn_groups[test->ltt_to]
		};
		unsigned k;

		if (test->ltt_batch != batch_nr(s, batch) ||
		    (++n != test_nr && test_nr != 0))
			continue;
		for (k = 0; k < 2; ++k)
			for (j = 0; (k == 0 ? clients : servers) &&
				    j < ends[k]->lgp_nodes_nr;
			     ++j)
				if (!seen[ends[k]->lgp_nodes[j]]++)
					ret[nr++] = ends[k]->lgp_nodes[j];
	}
	free(seen);
	return nr;
}

/** Asks nodes about a batch. */
static int batch_calls(struct lst_session *s, const struct lst_batch *batch,
		       uint32_t opc, uint32_t test_nr, uint32_t arg,
		       const unsigned *nodes, unsigned nr, uint32_t timeout,
		       struct m0_st_call **calls)
{
	struct m0_st_msg  msg = lst_msg(s, M0_ST_BATCH);
	struct m0_st_msg *msgs = calloc(nr + 1, sizeof *msgs);
	unsigned          i;
	int               bad = -ENOMEM;

	msg.smg_batch = batch_nr(s, batch) + 1;
	msg.smg_opc = opc;
	msg.smg_test_nr = test_nr;
	msg.smg_arg = arg;
	for (i = 0; msgs != NULL && i < nr; ++i)
		msgs[i] = msg;
	*calls = NULL;
	if (msgs != NULL)
		bad = lst_calls(s, nodes, nr, msgs, timeout, calls);
	free(msgs);
	return bad;
}

static int calls_say(struct lst_session *s, struct m0_st_call *calls,
		     unsigned nr, int bad, const char *what, struct lst_out *o)
{
	unsigned i;

	for (i = 0; bad > 0 && i < nr; ++i)
		if (calls[i].scl_rc != 0 || calls[i].scl_reply.smg_status != 0)
			lst_call_say(s, &calls[i], what, o->lso_err);
	free(calls);
	return bad == 0 ? TOOL_OK : TOOL_FAILED;
}

static struct lst_batch *batch_of(struct lst_session *s, struct lst_args *a,
				  struct lst_out *o, const char *what)
{
	struct lst_batch *batch = lst_batch_find(
		s, a->lsa_words_nr > 0 ? a->lsa_words[0] : "batch");

	if (batch == NULL)
		(void)fail(o, what, -ENOENT);
	return batch;
}

int lst_run(struct lst_session *s, struct lst_args *a, struct lst_out *o)
{
	struct lst_batch  *batch = batch_of(s, a, o, "Failed to run batch");
	unsigned          *nodes = calloc(LST_NODES_MAX, sizeof *nodes);
	struct m0_st_call *calls;
	unsigned           nr;
	int                rc;

	if (batch == NULL || nodes == NULL || batch->lbt_tests_nr == 0) {
		free(nodes);
		return batch == NULL ? TOOL_FAILED
				     : fail(o, "Failed to run batch", -ENOENT);
	}
	nr = batch_nodes(s, batch, 0, true, false, nodes);
	rc = batch_calls(s, batch, M0_ST_RUN, 0, 0, nodes, nr, a->lsa_timeout,
			 &calls);
	rc = calls_say(s, calls, nr, rc, "Failed to run batch", o);
	free(nodes);
	if (rc != TOOL_OK)
		return rc;
	batch->lbt_runs = true;
	if (a->lsa_json)
		batch_json(batch, o);
	else
		fprintf(o->lso_out, "%s is running now\n", batch->lbt_name);
	return TOOL_OK;
}

/** Sum of active tests; sets lbt_runs. @return the exit code. */
static int active_get(struct lst_session *s, struct lst_batch *batch,
		      uint32_t timeout, uint32_t *ret, struct lst_out *o)
{
	unsigned          *nodes = calloc(LST_NODES_MAX, sizeof *nodes);
	struct m0_st_call *calls;
	unsigned           nr;
	unsigned           i;
	int                rc;

	*ret = 0;
	if (nodes == NULL)
		return fail(o, "Failed to query", -ENOMEM);
	nr = batch_nodes(s, batch, 0, true, false, nodes);
	rc = batch_calls(s, batch, M0_ST_QUERY, 0, 0, nodes, nr, timeout,
			 &calls);
	for (i = 0; rc >= 0 && i < nr; ++i)
		if (calls[i].scl_rc == 0)
			/* The numbers are the nodes': their sum may not fit. */
			*ret += min_check(calls[i].scl_reply.smg_active,
					  UINT32_MAX - *ret);
	batch->lbt_runs = *ret > 0;
	free(nodes);
	return calls_say(s, calls, nr, rc, "Failed to query", o);
}

int lst_stop(struct lst_session *s, struct lst_args *a, struct lst_out *o)
{
	struct lst_batch  *batch = batch_of(s, a, o, "Failed to stop batch");
	unsigned          *nodes = calloc(LST_NODES_MAX, sizeof *nodes);
	struct m0_st_call *calls;
	uint32_t           active = 0;
	unsigned           nr;
	unsigned           i;
	int                rc;

	if (batch == NULL || nodes == NULL) {
		free(nodes);
		return TOOL_FAILED;
	}
	nr = batch_nodes(s, batch, 0, true, false, nodes);
	rc = batch_calls(s, batch, M0_ST_STOP, 0, a->lsa_force, nodes, nr,
			 a->lsa_timeout, &calls);
	rc = calls_say(s, calls, nr, rc, "Failed to stop batch", o);
	free(nodes);
	for (i = 0; rc == TOOL_OK && i < STOP_LOOKS; ++i) {
		rc = active_get(s, batch, a->lsa_timeout, &active, o);
		if (rc != TOOL_OK || active == 0 || o->lso_stopped(o))
			break;
		if (!a->lsa_json)
			fprintf(o->lso_out, "%u batch in stopping\n", active);
		(void)fflush(o->lso_out);
		(void)m0_nanosleep(STOP_TICK_MS * M0_TIME_ONE_MSEC, NULL);
	}
	if (rc == TOOL_OK && a->lsa_json)
		batch_json(batch, o);
	else if (rc == TOOL_OK && active == 0)
		fprintf(o->lso_out, "Batch is stopped\n");
	return rc != TOOL_OK || active > 0 ? TOOL_FAILED : TOOL_OK;
}

/** A line for a node of query, or a member of the list. */
static void query_say(const struct lst_node *node, uint32_t active,
		      struct json_t *list, struct lst_out *o)
{
	char           text[M0_LNET_NIDSTR_SIZE];
	struct json_t *item;

	if (list != NULL) {
		item = jout_append(list);
		lst_json_node(item, node);
		jout_num(item, "active", active);
		return;
	}
	fprintf(o->lso_out, "%s [%s]: %s\n",
		m0_lnet_id_print(&node->lcn_id, text, sizeof text),
		lst_state_name(node->lcn_state),
		active > 0 ? "Running" : "Idle");
}

static int query_all(struct lst_session *s, struct lst_batch *batch,
		     struct lst_args *a, struct lst_out *o)
{
	unsigned          *nodes = calloc(LST_NODES_MAX, sizeof *nodes);
	struct m0_st_call *calls;
	struct json_t     *tree = a->lsa_json ? jout_alloc() : NULL;
	struct json_t     *list = NULL;
	unsigned           nr;
	unsigned           i;
	int                rc;

	if (nodes == NULL) {
		jout_free(tree);
		return fail(o, "Failed to query", -ENOMEM);
	}
	if (tree != NULL) {
		jout_str(tree, "batch", batch->lbt_name);
		list = jout_array(tree, "nodes");
	}
	nr = batch_nodes(s, batch, a->lsa_test, true, false, nodes);
	rc = batch_calls(s, batch, M0_ST_QUERY, a->lsa_test, 0, nodes, nr,
			 a->lsa_timeout, &calls);
	for (i = 0; rc >= 0 && i < nr; ++i)
		query_say(&s->lsn_nodes[nodes[i]],
			  calls[i].scl_reply.smg_active, list, o);
	if (tree != NULL)
		jout_finish(tree, o->lso_out);
	free(nodes);
	return calls_say(s, calls, nr, rc, "Failed to query", o);
}

int lst_query(struct lst_session *s, struct lst_args *a, struct lst_out *o)
{
	struct lst_batch *batch = batch_of(s, a, o, "Failed to query");
	struct json_t    *tree;
	uint32_t          active;
	uint32_t          i;
	int               rc;

	if (batch == NULL)
		return TOOL_FAILED;
	if (a->lsa_all)
		return query_all(s, batch, a, o);
	for (i = 0; i < a->lsa_count || i == 0; ++i) {
		if (i > 0)
			(void)m0_nanosleep(a->lsa_delay * M0_TIME_ONE_SECOND,
					   NULL);
		rc = active_get(s, batch, a->lsa_timeout, &active, o);
		if (rc != TOOL_OK || o->lso_stopped(o))
			return rc;
		if (a->lsa_json) {
			tree = jout_alloc();
			jout_str(tree, "batch", batch->lbt_name);
			jout_num(tree, "active", active);
			jout_finish_line(tree, o->lso_out);
		} else {
			fprintf(o->lso_out, "%s [%u] is %s\n", batch->lbt_name,
				i, active > 0 ? "running" : "idle");
		}
		if (a->lsa_count == UINT32_MAX)
			break;
	}
	return TOOL_OK;
}

/* -- list_batch ------------------------------------------------------------ */

static void ends_list(struct lst_session *s, const struct lst_batch *batch,
		      uint32_t test_nr, struct lst_out *o)
{
	static const char *const names[] = { "client", "server" };
	unsigned                *nodes = calloc(LST_NODES_MAX, sizeof *nodes);
	unsigned                 counts[5];
	unsigned                 i;
	unsigned                 nr;

	fputs("\tACTIVE\tBUSY\tDOWN\tUNKNOWN\tTOTAL\n", o->lso_out);
	for (i = 0; nodes != NULL && i < ARRAY_SIZE(names); ++i) {
		nr = batch_nodes(s, batch, test_nr, i == 0, i == 1, nodes);
		lst_count(s, nodes, nr, counts);
		fprintf(o->lso_out, "%s\t%u\t%u\t%u\t%u\t%u\n", names[i],
			counts[0], counts[1], counts[2], counts[3], counts[4]);
	}
	free(nodes);
}

static void tests_list(struct lst_session *s, const struct lst_batch *batch,
		       uint32_t test_nr, struct lst_out *o)
{
	uint32_t nr = 0;
	unsigned i;

	for (i = 0; i < s->lsn_tests_nr; ++i) {
		const struct m0_st_test *what = &s->lsn_tests[i].ltt_what;

		if (s->lsn_tests[i].ltt_batch != batch_nr(s, batch) ||
		    (++nr != test_nr && test_nr != 0))
			continue;
		fprintf(o->lso_out,
			"\tTest %u(%s) (loop: %d, concurrency: %u)\n", nr,
			what->tsr_service == M0_ST_SRV_PING ? "ping" : "brw",
			(int)what->tsr_loop, what->tsr_concurrency);
		ends_list(s, batch, nr, o);
	}
}

static void batches_json(struct lst_session *s, struct lst_out *o)
{
	struct json_t *tree = jout_alloc();
	struct json_t *list = jout_array(tree, "batches");
	struct json_t *item;
	unsigned       i;

	for (i = 0; i < s->lsn_batches_nr; ++i) {
		item = jout_append(list);
		batch_fill(item, &s->lsn_batches[i]);
	}
	jout_finish(tree, o->lso_out);
}

static void ends_json(struct json_t *tree, struct lst_session *s,
		      const struct lst_batch *batch, uint32_t test_nr)
{
	static const char *const names[] = { "clients", "servers" };
	unsigned                *nodes = calloc(LST_NODES_MAX, sizeof *nodes);
	unsigned                 i;
	unsigned                 nr;

	for (i = 0; nodes != NULL && i < ARRAY_SIZE(names); ++i) {
		nr = batch_nodes(s, batch, test_nr, i == 0, i == 1, nodes);
		lst_json_counts(tree, names[i], s, nodes, nr);
	}
	free(nodes);
}

/** A batch with its tests, or with one of them. */
static void tests_json(struct lst_session *s, const struct lst_batch *batch,
		       uint32_t test_nr, struct lst_out *o)
{
	struct json_t *tree = jout_alloc();
	struct json_t *list;
	struct json_t *item;
	uint32_t       nr = 0;
	unsigned       i;

	jout_str(tree, "name", batch->lbt_name);
	jout_bool(tree, "running", batch->lbt_runs);
	ends_json(tree, s, batch, 0);
	list = jout_array(tree, "tests");
	for (i = 0; i < s->lsn_tests_nr; ++i) {
		const struct m0_st_test *what = &s->lsn_tests[i].ltt_what;
		bool is_ping = what->tsr_service == M0_ST_SRV_PING;

		if (s->lsn_tests[i].ltt_batch != batch_nr(s, batch) ||
		    (++nr != test_nr && test_nr != 0))
			continue;
		item = jout_append(list);
		jout_num(item, "test", nr);
		jout_str(item, "type", is_ping ? "ping" : "brw");
		jout_int(item, "loop", (int)what->tsr_loop);
		jout_num(item, "concurrency", what->tsr_concurrency);
		if (!is_ping) {
			jout_str(item, "way",
				 what->tsr_rw == M0_ST_READ ? "read" : "write");
			jout_num(item, "size", what->tsr_bytes);
		}
		ends_json(item, s, batch, nr);
	}
	jout_finish(tree, o->lso_out);
}

int lst_list_batch(struct lst_session *s, struct lst_args *a, struct lst_out *o)
{
	const struct lst_batch *batch;
	unsigned                i;

	if (a->lsa_words_nr == 0 && a->lsa_json) {
		batches_json(s, o);
		return TOOL_OK;
	}
	if (a->lsa_words_nr == 0) {
		for (i = 0; i < s->lsn_batches_nr; ++i)
			fprintf(o->lso_out, "%u) %s\n", i + 1,
				s->lsn_batches[i].lbt_name);
		fprintf(o->lso_out, "Total %u batches\n", s->lsn_batches_nr);
		return TOOL_OK;
	}
	batch = batch_of(s, a, o, "Failed to list batch");
	if (batch == NULL)
		return TOOL_FAILED;
	if (a->lsa_json) {
		tests_json(s, batch, a->lsa_test, o);
		return TOOL_OK;
	}
	if (a->lsa_test == 0) {
		fprintf(o->lso_out, "Batch: %s Tests: %u State: %d\n",
			batch->lbt_name, batch->lbt_tests_nr,
			batch->lbt_runs ? STATE_RUNNING : STATE_IDLE);
		ends_list(s, batch, 0, o);
	}
	tests_list(s, batch, a->lsa_test, o);
	return TOOL_OK;
}
