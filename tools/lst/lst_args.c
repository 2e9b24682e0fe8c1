/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>
#include <string.h>

#include "lst.h"
#include "../base/baseline.h"
#include "../base/text.h"

enum {
	KEY_TIMEOUT = 0x1400,
	KEY_FORCE,
	KEY_ALL,
	KEY_ACTIVE,
	KEY_BUSY,
	KEY_DOWN,
	KEY_UNKNOWN,
	KEY_GROUP,
	KEY_BATCH,
	KEY_FROM,
	KEY_TO,
	KEY_REMOVE,
	KEY_CLEAN,
	KEY_REFRESH,
	KEY_TEST,
	KEY_LOOP,
	KEY_CONCURRENCY,
	KEY_DISTRIBUTE,
	KEY_BW,
	KEY_RATE,
	KEY_READ,
	KEY_WRITE,
	KEY_AVG,
	KEY_MIN,
	KEY_MAX,
	KEY_MBS,
	KEY_DELAY,
	KEY_COUNT,
	KEY_REPORT,
	KEY_BASELINE,
	KEY_SAVE_BASELINE,
	KEY_TOLERANCE,
	/** Seconds. */
	IDLE_DEFAULT = 300
};

static const struct argp_option lst_options[] = {
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ "timeout", KEY_TIMEOUT, "SECONDS", 0,
	  "new_session: end the session after this long without a command, "
	  "default 300, 0: never; others: wait this long for an answer",
	  0 },
	{ "force", KEY_FORCE, NULL, 0,
	  "new_session: take over nodes that have another session; stop: do not "
	  "wait for requests on their way",
	  0 },
	{ "all", KEY_ALL, NULL, 0, "List all nodes", 0 },
	{ "active", KEY_ACTIVE, NULL, 0, "List or clean active nodes", 0 },
	{ "busy", KEY_BUSY, NULL, 0,
	  "List or clean nodes that have another session", 0 },
	{ "down", KEY_DOWN, NULL, 0, "List or clean nodes that do not answer",
	  0 },
	{ "unknown", KEY_UNKNOWN, NULL, 0,
	  "List or clean nodes that have no session", 0 },
	{ "group", KEY_GROUP, "NAME", 0, "ping: the group; default all nodes",
	  0 },
	{ "batch", KEY_BATCH, "NAME", 0, "add_test: the batch; default `batch'",
	  0 },
	{ "from", KEY_FROM, "GROUP", 0, "add_test: the clients", 0 },
	{ "to", KEY_TO, "GROUP", 0, "add_test: the servers", 0 },
	{ "loop", KEY_LOOP, "N", 0,
	  "add_test: requests of each stream; default without end", 0 },
	{ "concurrency", KEY_CONCURRENCY, "N", 0,
	  "add_test: streams from a client to each of its servers; default 1",
	  0 },
	{ "distribute", KEY_DISTRIBUTE, "N:M", 0,
	  "add_test: each N clients test M servers; default 1:1", 0 },
	{ "test", KEY_TEST, "N", 0, "query, list_batch: this test alone", 0 },
	{ "remove", KEY_REMOVE, "NIDS", 0,
	  "update_group: take these nodes out of the group", 0 },
	{ "clean", KEY_CLEAN, NULL, 0,
	  "update_group: take nodes of the states that are named out", 0 },
	{ "refresh", KEY_REFRESH, NULL, 0,
	  "update_group: make the session at nodes that do not have it", 0 },
	{ "bw", KEY_BW, NULL, 0, "stat: bandwidth alone", 0 },
	{ "rate", KEY_RATE, NULL, 0, "stat: rates of messages alone", 0 },
	{ "read", KEY_READ, NULL, 0, "stat: show received data alone", 0 },
	{ "write", KEY_WRITE, NULL, 0, "stat: show sent data alone", 0 },
	{ "avg", KEY_AVG, NULL, 0, "stat: the average alone", 0 },
	{ "min", KEY_MIN, NULL, 0, "stat: the least alone", 0 },
	{ "max", KEY_MAX, NULL, 0, "stat: the greatest alone", 0 },
	{ "mbs", KEY_MBS, NULL, 0, "stat: MB instead of MiB", 0 },
	{ "delay", KEY_DELAY, "SECONDS", 0,
	  "stat, query: time between two looks; default 5", 0 },
	{ "count", KEY_COUNT, "N", 0, "stat, query: number of looks", 0 },
	{ "report", KEY_REPORT, "FILE", 0,
	  "run a plan: write a page with plots", 0 },
	{ "baseline", KEY_BASELINE, "FILE", 0,
	  "run a plan: fail if a test is slower than this file says", 0 },
	{ "save-baseline", KEY_SAVE_BASELINE, "FILE", 0,
	  "run a plan: write the rates to this file if the plan passes", 0 },
	{ "tolerance", KEY_TOLERANCE, "PERCENT", 0,
	  "With --baseline: how much slower a test may be; default 10", 0 },
	{ 0 },
};

static uint32_t number(struct lst_args *a, const char *option, const char *text,
		       uint32_t min, uint32_t max)
{
	return (uint32_t)tool_number_option(&a->lsa_fail, option, text, min,
					    max);
}

static void distribute_option(struct lst_args *a, const char *text)
{
	unsigned n;
	unsigned m;
	int      end = 0;

	if (sscanf(text, "%5u:%5u%n", &n, &m, &end) == 2 && text[end] == '\0' &&
	    n > 0 && m > 0) {
		a->lsa_clients = n;
		a->lsa_servers = m;
		return;
	}
	tool_bad_value(&a->lsa_fail, "--distribute", text,
		       "two numbers from 1, as 1:2");
}

static bool flag_option(struct lst_args *a, int key)
{
	switch (key) {
	case 'j':
		return a->lsa_json = true;
	case KEY_FORCE:
		return a->lsa_force = true;
	case KEY_ALL:
		return a->lsa_all = true;
	case KEY_ACTIVE:
		return a->lsa_states |= LST_ACTIVE;
	case KEY_BUSY:
		return a->lsa_states |= LST_BUSY;
	case KEY_DOWN:
		return a->lsa_states |= LST_DOWN;
	case KEY_UNKNOWN:
		return a->lsa_states |= LST_UNKNOWN;
	case KEY_CLEAN:
		return a->lsa_clean = true;
	case KEY_REFRESH:
		return a->lsa_refresh = true;
	case KEY_BW:
		return a->lsa_bw = true;
	case KEY_RATE:
		return a->lsa_rate = true;
	case KEY_READ:
		return a->lsa_read = true;
	case KEY_WRITE:
		return a->lsa_write = true;
	case KEY_AVG:
		return a->lsa_avg = true;
	case KEY_MIN:
		return a->lsa_min = true;
	case KEY_MAX:
		return a->lsa_max = true;
	case KEY_MBS:
		return a->lsa_mbs = true;
	default:
		return false;
	}
}

static bool value_option(struct lst_args *a, int key, char *arg)
{
	switch (key) {
	case KEY_TIMEOUT:
		a->lsa_timeout = number(a, "--timeout", arg, 0, 86400);
		a->lsa_has_timeout = true;
		break;
	case KEY_GROUP:
		a->lsa_group = arg;
		break;
	case KEY_BATCH:
		a->lsa_batch = arg;
		break;
	case KEY_FROM:
		a->lsa_from = arg;
		break;
	case KEY_TO:
		a->lsa_to = arg;
		break;
	case KEY_REMOVE:
		a->lsa_remove = arg;
		break;
	case KEY_REPORT:
		a->lsa_report = arg;
		break;
	case KEY_BASELINE:
		a->lsa_baseline = arg;
		break;
	case KEY_SAVE_BASELINE:
		a->lsa_save_baseline = arg;
		break;
	case KEY_TOLERANCE:
		a->lsa_tolerance =
			number(a, "--tolerance", arg, 0, BASELINE_PERCENT_MAX);
		break;
	case KEY_LOOP:
		a->lsa_loop = strcmp(arg, "-1") == 0
				      ? M0_ST_LOOP_INF
				      : number(a, "--loop", arg, 1, INT32_MAX);
		break;
	case KEY_CONCURRENCY:
		a->lsa_concurrency = number(a, "--concurrency", arg, 1,
					    M0_ST_CONCURRENCY_MAX);
		break;
	case KEY_DISTRIBUTE:
		distribute_option(a, arg);
		break;
	case KEY_TEST:
		a->lsa_test = number(a, "--test", arg, 1, LST_TESTS_MAX);
		break;
	case KEY_DELAY:
		a->lsa_delay = number(a, "--delay", arg, 1, 86400);
		break;
	case KEY_COUNT:
		a->lsa_count = number(a, "--count", arg, 1, INT32_MAX);
		break;
	default:
		return false;
	}
	return true;
}

static void word_add(struct lst_args *a, const char *word)
{
	if (a->lsa_verb == NULL)
		a->lsa_verb = word;
	else if (a->lsa_words_nr < LST_WORDS_MAX)
		a->lsa_words[a->lsa_words_nr++] = word;
	else
		tool_fail_set(&a->lsa_fail, TOOL_USAGE,
			      "'%s': at most %d words are accepted", word,
			      LST_WORDS_MAX);
}

static error_t lst_option(int key, char *arg, struct argp_state *state)
{
	struct lst_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->lsa_opts;
		return 0;
	case ARGP_KEY_ARG:
		word_add(a, arg);
		return 0;
	default:
		return flag_option(a, key) || value_option(a, key, arg)
			       ? 0
			       : ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child lst_children[] = {
	{ &lnet_opts_own_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp lst_argp = {
	lst_options,
	lst_option,
	"VERB [WORD...]",
	"Prove a network with LNet's selftest: be the console of test nodes, of "
	"Lustre's kernel nodes and of `colibri node --selftest'.\v"
	"VERB is new_session NAME, end_session, show_session, ping, "
	"add_group NAME NIDS..., update_group NAME, del_group NAME, "
	"list_group [NAME...], add_batch NAME, add_test TEST, run [BATCH], "
	"stop [BATCH], query [BATCH], list_batch [BATCH], stat GROUP..., "
	"show_error GROUP..., or run FILE.yaml for a whole plan. Options of the "
	"node are those of new_session and of a plan. See colibri-lst(1).",
	lst_children,
	NULL,
	NULL,
};

uint32_t lst_idle_timeout(const struct lst_args *args)
{
	return args->lsa_has_timeout ? args->lsa_timeout : IDLE_DEFAULT;
}

int lst_args_parse(struct lst_args *args, int argc, char **argv)
{
	M0_SET0(args);
	lnet_opts_init(&args->lsa_opts, &args->lsa_fail);
	args->lsa_loop = M0_ST_LOOP_INF;
	args->lsa_concurrency = 1;
	args->lsa_clients = 1;
	args->lsa_servers = 1;
	args->lsa_count = UINT32_MAX;
	args->lsa_tolerance = BASELINE_PERCENT;
	if (tool_parse(&lst_argp, argc, argv, 0, args) != 0)
		return TOOL_USAGE;
	return args->lsa_fail.tf_exit;
}
