/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A plan: a YAML file of groups and tests, which run one after the other. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "lst_plan.h"
#include "../base/log_pipe.h"
#include "../base/stop.h"
#include "../base/text.h"
#include "../conf/conf_yaml.h"

enum {
	PLAN_WORDS_MAX = 16,
	DURATION_DEFAULT = 10,
	DURATION_MAX = 86400
};

/* -- reading --------------------------------------------------------------- */

static int wrong(struct plan *plan, const struct conf_node *node,
		 const char *what)
{
	return tool_fail_set(&plan->lpl_args->lsa_fail, TOOL_USAGE,
			     "%s, line %u: %s", plan->lpl_path,
			     node->cfn_place.cfp_line, what);
}

static int number_of(struct plan *plan, const struct conf_node *node,
		     uint32_t max, uint32_t *ret)
{
	uint64_t nr;

	if (node->cfn_kind != CONF_SCALAR ||
	    text_number_parse(node->cfn_text, &nr) != 0 || nr == 0 || nr > max)
		return wrong(plan, node, "a number from 1 is accepted here");
	*ret = (uint32_t)nr;
	return 0;
}

static int test_member(struct plan *plan, struct plan_test *test,
		       const struct conf_node *node)
{
	const char *key = node->cfn_key;
	uint32_t    min;
	int         end = 0;
	int         rc = 0;

	if (node->cfn_kind != CONF_SCALAR)
		return wrong(plan, node, "a word is accepted here");
	if (strcmp(key, "name") == 0)
		test->lpt_name = node->cfn_text;
	else if (strcmp(key, "test") == 0)
		test->lpt_test = node->cfn_text;
	else if (strcmp(key, "from") == 0)
		test->lpt_from = node->cfn_text;
	else if (strcmp(key, "to") == 0)
		test->lpt_to = node->cfn_text;
	else if (strcmp(key, "concurrency") == 0)
		rc = number_of(plan, node, M0_ST_CONCURRENCY_MAX,
			       &test->lpt_concurrency);
	else if (strcmp(key, "min_mib_s") == 0) {
		rc = number_of(plan, node, 1 << 30, &min);
		test->lpt_min = rc == 0 ? min : 0;
	} else if (strcmp(key, "distribute") == 0) {
		if (sscanf(node->cfn_text, "%5u:%5u%n", &test->lpt_clients,
			   &test->lpt_servers, &end) != 2 ||
		    node->cfn_text[end] != '\0' || test->lpt_clients == 0 ||
		    test->lpt_servers == 0)
			rc = wrong(plan, node,
				   "two numbers from 1 are accepted here, as "
				   "1:2");
	} else {
		rc = wrong(plan, node,
			   "accepted keys: name, test, from, to, concurrency, "
			   "distribute, min_mib_s");
	}
	return rc;
}

static int tests_read(struct plan *plan, const struct conf_node *list)
{
	const struct conf_node *item;
	const struct conf_node *node;
	struct plan_test       *test;
	int                     rc = 0;

	if (list->cfn_kind != CONF_LIST)
		return wrong(plan, list, "a list of tests is accepted here");
	for (item = list->cfn_first; rc == 0 && item != NULL;
	     item = item->cfn_next) {
		if (plan->lpl_tests_nr == PLAN_TESTS_MAX)
			return wrong(plan, item,
				     "at most 64 tests are accepted");
		if (item->cfn_kind != CONF_MAP)
			return wrong(plan, item, "a map is accepted here");
		test = &plan->lpl_tests[plan->lpl_tests_nr++];
		*test = (struct plan_test){
			.lpt_concurrency = 1,
			.lpt_clients = 1,
			.lpt_servers = 1,
		};
		for (node = item->cfn_first; rc == 0 && node != NULL;
		     node = node->cfn_next)
			rc = test_member(plan, test, node);
		if (rc == 0 && (test->lpt_test == NULL ||
				test->lpt_from == NULL || test->lpt_to == NULL))
			rc = wrong(plan, item,
				   "test, from and to are necessary");
		if (test->lpt_name == NULL)
			test->lpt_name = test->lpt_test;
	}
	return rc;
}

static int plan_read(struct plan *plan)
{
	const struct conf_node *node;
	int                     rc = 0;

	if (plan->lpl_tree == NULL || plan->lpl_tree->cfn_kind != CONF_MAP)
		return tool_fail_set(&plan->lpl_args->lsa_fail, TOOL_USAGE,
				     "%s: a map is accepted here",
				     plan->lpl_path);
	plan->lpl_name = "plan";
	plan->lpl_duration = DURATION_DEFAULT;
	for (node = plan->lpl_tree->cfn_first; rc == 0 && node != NULL;
	     node = node->cfn_next) {
		if (strcmp(node->cfn_key, "name") == 0 &&
		    node->cfn_kind == CONF_SCALAR &&
		    strlen(node->cfn_text) < LST_NAME_BYTES)
			plan->lpl_name = node->cfn_text;
		else if (strcmp(node->cfn_key, "duration") == 0)
			rc = number_of(plan, node, DURATION_MAX,
				       &plan->lpl_duration);
		else if (strcmp(node->cfn_key, "groups") == 0 &&
			 node->cfn_kind == CONF_MAP)
			plan->lpl_groups = (struct conf_node *)node;
		else if (strcmp(node->cfn_key, "tests") == 0)
			rc = tests_read(plan, node);
		else
			rc = wrong(plan, node,
				   "accepted keys: name (at most 31 "
				   "characters), duration, groups (a map), "
				   "tests");
	}
	if (rc == 0 && (plan->lpl_groups == NULL || plan->lpl_tests_nr == 0))
		rc = tool_fail_set(&plan->lpl_args->lsa_fail, TOOL_USAGE,
				   "%s: groups and tests are necessary",
				   plan->lpl_path);
	return rc;
}

static int plan_parse(struct plan *plan)
{
	struct conf_fail fail = { .cff_set = false };
	FILE            *file = fopen(plan->lpl_path, "re");
	char            *text = malloc(CONF_BYTES_MAX + 1);
	size_t           nr = 0;
	int              rc = -ENOMEM;

	if (file != NULL && text != NULL) {
		nr = fread(text, 1, CONF_BYTES_MAX + 1, file);
		rc = ferror(file) ? -EIO : 0;
	}
	if (file == NULL || text == NULL || rc != 0)
		rc = tool_fail_set(&plan->lpl_args->lsa_fail, TOOL_FAILED,
				   "%s: %s", plan->lpl_path,
				   tool_errtext(file == NULL ? errno : rc));
	else if (conf_yaml_parse(text, nr, &plan->lpl_tree, &fail) != 0)
		rc = tool_fail_set(&plan->lpl_args->lsa_fail, TOOL_USAGE,
				   "%s, line %u: %s", plan->lpl_path,
				   fail.cff_place.cfp_line, fail.cff_text);
	if (file != NULL)
		(void)fclose(file);
	free(text);
	return rc != 0 ? rc : plan_read(plan);
}

/* -- running --------------------------------------------------------------- */

static bool plan_stopped(const struct lst_out *out)
{
	(void)out;
	return stop_signal() != 0;
}

/** Runs a verb with words that blanks separate. */
static int verb_run(struct plan *plan, struct lst_args *args, const char *verb,
		    const char *first, const char *words)
{
	char *copy = strdup(words);
	char *rest = copy;
	char *word;
	int   rc = TOOL_FAILED;

	args->lsa_verb = verb;
	args->lsa_words_nr = 0;
	args->lsa_timeout = plan->lpl_args->lsa_timeout;
	if (first != NULL)
		args->lsa_words[args->lsa_words_nr++] = first;
	while (copy != NULL && (word = strsep(&rest, " ")) != NULL)
		if (*word != '\0' && args->lsa_words_nr < PLAN_WORDS_MAX)
			args->lsa_words[args->lsa_words_nr++] = word;
	if (copy != NULL)
		rc = lst_verb_run(&plan->lpl_session, args, &plan->lpl_out);
	free(copy);
	return rc;
}

static int groups_make(struct plan *plan)
{
	const struct conf_node *group;
	const struct conf_node *item;
	struct lst_args         args = { .lsa_timeout = 0 };
	char                   *words;
	size_t                  nr;
	FILE                   *file;
	int                     rc = 0;

	for (group = plan->lpl_groups->cfn_first; rc == 0 && group != NULL;
	     group = group->cfn_next) {
		file = open_memstream(&words, &nr);
		if (file == NULL)
			return TOOL_FAILED;
		if (group->cfn_kind == CONF_SCALAR)
			fputs(group->cfn_text, file);
		for (item = group->cfn_first; item != NULL;
		     item = item->cfn_next)
			if (item->cfn_kind == CONF_SCALAR)
				fprintf(file, "%s ", item->cfn_text);
		(void)fclose(file);
		rc = verb_run(plan, &args, "add_group", group->cfn_key, words);
		free(words);
	}
	return rc;
}

static double seconds_since(m0_time_t begin)
{
	return (double)m0_time_sub(m0_time_now(), begin) /
	       (double)M0_TIME_ONE_SECOND;
}

/** Bytes, messages and errors of a group, since the session began. */
struct sums {
	uint64_t lsq_bytes;
	uint64_t lsq_msgs;
	uint64_t lsq_errors;
	/** Requests that the nodes have sent. */
	uint64_t lsq_requests;
	int      lsq_bad;
};

static struct sums sums_take(struct plan *plan, const char *name)
{
	struct lst_session     *s = &plan->lpl_session;
	const struct lst_group *group = lst_group_find(s, name);
	struct sums             sums = { 0 };
	unsigned                i;

	sums.lsq_bad = lst_stats_take(s, group->lgp_nodes, group->lgp_nodes_nr,
				      plan->lpl_args->lsa_timeout);
	for (i = 0; i < group->lgp_nodes_nr; ++i) {
		const struct m0_st_stats *stats =
			&s->lsn_nodes[group->lgp_nodes[i]].lcn_stats;

		sums.lsq_bytes += stats->sct_send_length +
				  stats->sct_recv_length;
		sums.lsq_msgs += stats->sct_send_count;
		sums.lsq_requests += stats->sct_rpc_sent;
		sums.lsq_errors += (uint64_t)stats->sct_brw_errors +
				   stats->sct_ping_errors +
				   stats->sct_rpc_expired;
	}
	return sums;
}

static void sample_add(struct plan *plan, struct plan_test *test,
		       const struct sums *old, const struct sums *now,
		       double seconds, double answer)
{
	struct sample *sample;

	if (test->lpt_samples_nr == PLAN_SAMPLES_MAX || seconds <= 0)
		return;
	sample = &test->lpt_samples[test->lpt_samples_nr++];
	sample->lsm_at = seconds_since(plan->lpl_begin);
	sample->lsm_mib_s = (double)(now->lsq_bytes - old->lsq_bytes) /
			    seconds / (1 << 20);
	sample->lsm_msgs_s = (double)(uint32_t)(now->lsq_msgs - old->lsq_msgs) /
			     seconds;
	sample->lsm_answer_ms = answer * 1e3;
	/* Each stream has one request on its way (Little's law). */
	sample->lsm_requests =
		(double)(uint32_t)(now->lsq_requests - old->lsq_requests);
	if (sample->lsm_requests > 0)
		sample->lsm_request_ms = (double)test->lpt_streams * seconds /
					 sample->lsm_requests * 1e3;
}

static void test_watch(struct plan *plan, struct plan_test *test)
{
	struct sums first = sums_take(plan, test->lpt_from);
	struct sums old = first;
	struct sums now = first;
	m0_time_t   begin = m0_time_now();
	m0_time_t   old_at = begin;
	m0_time_t   asked;
	unsigned    ms = max_check(1000U, plan->lpl_duration * 1000 /
						  (PLAN_SAMPLES_MAX - 1));

	while (seconds_since(begin) < plan->lpl_duration &&
	       stop_signal() == 0 && now.lsq_bad == 0) {
		(void)poll(NULL, 0, (int)ms);
		asked = m0_time_now();
		now = sums_take(plan, test->lpt_from);
		sample_add(plan, test, &old, &now, seconds_since(old_at),
			   seconds_since(asked));
		old = now;
		old_at = m0_time_now();
	}
	test->lpt_mib_s = (double)(now.lsq_bytes - first.lsq_bytes) /
			  seconds_since(begin) / (1 << 20);
	test->lpt_msgs_s = (double)(uint32_t)(now.lsq_msgs - first.lsq_msgs) /
			   seconds_since(begin);
	test->lpt_failed = now.lsq_bad != 0;
	test->lpt_errors = now.lsq_errors - first.lsq_errors;
}

static uint64_t streams_of(const struct lst_session *s,
			   const struct lst_test    *test)
{
	uint64_t clients = s->lsn_groups[test->ltt_from]->lgp_nodes_nr;
	unsigned servers = s->lsn_groups[test->ltt_to]->lgp_nodes_nr;

	return clients * min_check(test->ltt_servers, servers) *
	       test->ltt_what.tsr_concurrency;
}

static int test_run(struct plan *plan, struct plan_test *test)
{
	struct lst_session *s = &plan->lpl_session;
	struct lst_args     args = {
		    .lsa_loop = M0_ST_LOOP_INF,
		    .lsa_concurrency = test->lpt_concurrency,
		    .lsa_clients = test->lpt_clients,
		    .lsa_servers = test->lpt_servers,
		    .lsa_from = test->lpt_from,
		    .lsa_to = test->lpt_to,
	};
	char batch[LST_NAME_BYTES];
	int  rc;

	/* A session has 63 batches besides its own. */
	snprintf(batch, sizeof batch, "plan%u",
		 (unsigned)(test - plan->lpl_tests));
	args.lsa_batch = batch;
	test->lpt_samples = calloc(PLAN_SAMPLES_MAX, sizeof *test->lpt_samples);
	rc = test->lpt_samples == NULL
		     ? TOOL_FAILED
		     : verb_run(plan, &args, "add_batch", batch, "");
	if (rc == TOOL_OK)
		rc = verb_run(plan, &args, "add_test", NULL, test->lpt_test);
	if (rc != TOOL_OK)
		return rc;
	test->lpt_streams = streams_of(s, &s->lsn_tests[s->lsn_tests_nr - 1]);
	test->lpt_bytes = s->lsn_tests[s->lsn_tests_nr - 1].ltt_what.tsr_bytes;
	test->lpt_writes = s->lsn_tests[s->lsn_tests_nr - 1].ltt_what.tsr_rw ==
			   M0_ST_WRITE;
	rc = verb_run(plan, &args, "run", batch, "");
	if (rc == TOOL_OK)
		test_watch(plan, test);
	rc |= verb_run(plan, &args, "stop", batch, "");
	test->lpt_failed |= rc != TOOL_OK || test->lpt_errors > 0 ||
			    test->lpt_mib_s < test->lpt_min;
	if (!plan->lpl_args->lsa_json)
		printf("%s: %.2f MiB/s, %.0f messages/s, %" PRIu64
		       " errors: %s\n",
		       test->lpt_name, test->lpt_mib_s, test->lpt_msgs_s,
		       test->lpt_errors, test->lpt_failed ? "FAIL" : "PASS");
	(void)fflush(stdout);
	return TOOL_OK;
}

static int plan_go(struct plan *plan)
{
	struct lst_args *args = plan->lpl_args;
	struct lst_args  end = { .lsa_timeout = 0 };
	unsigned         i;
	int              rc;

	(void)stop_init();
	(void)log_pipe_init(M0_LOG_ERROR);
	args->lsa_words[0] = plan->lpl_name;
	if (lst_plan_baseline_open(plan) != 0 ||
	    lnet_opts_check(&args->lsa_opts) != 0 ||
	    lst_session_open(&plan->lpl_session, args, "plan") != 0)
		return args->lsa_fail.tf_exit;
	m0_mutex_lock(&plan->lpl_session.lsn_lock);
	plan->lpl_begin = m0_time_now();
	rc = groups_make(plan);
	for (i = 0;
	     rc == TOOL_OK && i < plan->lpl_tests_nr && stop_signal() == 0;
	     ++i) {
		if (lst_group_find(&plan->lpl_session,
				   plan->lpl_tests[i].lpt_from) == NULL)
			rc = tool_fail_set(&args->lsa_fail, TOOL_USAGE,
					   "%s: there is no group %s",
					   plan->lpl_path,
					   plan->lpl_tests[i].lpt_from);
		else
			rc = test_run(plan, &plan->lpl_tests[i]);
	}
	(void)lst_end_session(&plan->lpl_session, &end, &plan->lpl_out);
	m0_mutex_unlock(&plan->lpl_session.lsn_lock);
	lst_session_close(&plan->lpl_session);
	return lst_plan_results(plan, rc);
}

int lst_plan_run(struct lst_args *args, const char *path)
{
	static struct plan plan;
	FILE              *null = fopen("/dev/null", "we");
	unsigned           i;
	int                rc;

	plan.lpl_args = args;
	plan.lpl_path = path;
	plan.lpl_out =
		(struct lst_out){ null ?: stderr, stderr, plan_stopped, -1 };
	rc = plan_parse(&plan);
	if (rc == 0)
		rc = plan_go(&plan);
	for (i = 0; i < plan.lpl_tests_nr; ++i)
		free(plan.lpl_tests[i].lpt_samples);
	if (plan.lpl_tree != NULL)
		conf_yaml_free(plan.lpl_tree);
	if (null != NULL)
		(void)fclose(null);
	return rc;
}
