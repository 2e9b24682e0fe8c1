/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri fault`: fault rules of the running node. */
#include <argp.h>
#include <stdio.h>

#include "ctl_args.h"
#include "fault_words.h"
#include "lnet_opts.h"

enum {
	KEY_LOCAL = CTL_KEY_OWN,
	KEY_MAX,
	KEY_SEED,
	KEY_HEADER
};

struct fault_args {
	struct ctl_args fta_ask;
	unsigned        fta_words_nr;
	/** The first option that is only for adding, for del too; NULL. */
	const char *fta_add_only;
	const char *fta_nid_given;
	const char *fta_latency;
	const char *fta_health;
};

static const struct {
	const char   *word;
	enum ctl_verb verb;
} actions[] = {
	{ "add", CTL_FAULT_ADD },
	{ "del", CTL_FAULT_DEL },
	{ "show", CTL_FAULT_SHOW },
	{ "reset", CTL_FAULT_RESET },
};

static void action_word(struct fault_args *args, const char *text)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(actions); ++i) {
		if (strcmp(text, actions[i].word) == 0) {
			args->fta_ask.ctg_req.cq_verb = actions[i].verb;
			return;
		}
	}
	tool_fail_set(&args->fta_ask.ctg_fail, TOOL_USAGE,
		      "'%s' is not accepted; there is: add, del, show, reset",
		      text);
}

static void word_option(struct fault_args *args, const char *text)
{
	switch (args->fta_words_nr++) {
	case 0:
		if (fault_kind_parse(
			    text, &args->fta_ask.ctg_req.cq_fault.lfa_kind) !=
		    0)
			tool_fail_set(&args->fta_ask.ctg_fail, TOOL_USAGE,
				      "'%s' is not accepted; there is: drop, "
				      "delay, duplicate, corrupt, cut, all",
				      text);
		break;
	case 1:
		action_word(args, text);
		break;
	default:
		tool_fail_set(&args->fta_ask.ctg_fail, TOOL_USAGE,
			      "'%s': no further operand is accepted", text);
		break;
	}
}

static void nid_option(struct fault_args *args, const char *option,
		       const char *text, struct m0_lnet_nid *ret)
{
	if (fault_nid_parse(text, ret) != 0)
		tool_bad_value(&args->fta_ask.ctg_fail, option, text,
			       FAULT_NID_FORMS);
}

/* Options that only a new rule has. @return false: it is none of them. */
static bool rule_option(struct fault_args *args, int key, const char *arg)
{
	struct m0_lnet_fault_attr *attr = &args->fta_ask.ctg_req.cq_fault;
	struct tool_fail          *fail = &args->fta_ask.ctg_fail;
	const char                *name;

	switch (key) {
	case 'r':
		name = "--rate";
		attr->lfa_rate =
			tool_number_option(fail, name, arg, 1, UINT32_MAX);
		break;
	case 'i':
		name = "--interval";
		attr->lfa_interval_ms = tool_ms_option(fail, name, arg, 1);
		break;
	case 'a':
		name = "--all";
		attr->lfa_all = true;
		break;
	case 'n':
		name = "--random";
		attr->lfa_random = true;
		break;
	case 'l':
		name = args->fta_latency = "--latency";
		attr->lfa_latency_ms = tool_ms_option(fail, name, arg, 1);
		break;
	case 'p':
		name = "--portal";
		if (fault_portals_parse(arg, &attr->lfa_portals) != 0)
			tool_bad_value(fail, name, arg,
				       "a list of numbers 0 to 63");
		break;
	case 'm':
		name = "--message";
		if (fault_msgs_parse(arg, &attr->lfa_msgs) != 0)
			tool_bad_value(fail, name, arg, FAULT_MSGS_FORMS);
		break;
	case 'e':
		name = args->fta_health = "--health_error";
		if (fault_health_parse(arg, &attr->lfa_health) != 0)
			tool_bad_value(fail, name, arg, FAULT_HEALTH_FORMS);
		break;
	case KEY_LOCAL:
		name = "--local-nid";
		nid_option(args, name, arg, &attr->lfa_local);
		break;
	case KEY_MAX:
		name = "--max";
		attr->lfa_max =
			tool_number_option(fail, name, arg, 0, UINT64_MAX);
		break;
	case KEY_SEED:
		name = "--seed";
		attr->lfa_seed =
			tool_number_option(fail, name, arg, 1, UINT64_MAX);
		break;
	case KEY_HEADER:
		name = "--header";
		attr->lfa_header = true;
		break;
	default:
		return false;
	}
	if (args->fta_add_only == NULL)
		args->fta_add_only = name;
	return true;
}

static bool common_option(struct fault_args *args, int key, char *arg)
{
	struct m0_lnet_fault_attr *attr = &args->fta_ask.ctg_req.cq_fault;

	switch (key) {
	case 's':
		args->fta_nid_given = "--source";
		nid_option(args, "--source", arg, &attr->lfa_src);
		break;
	case 'd':
		args->fta_nid_given = "--dest";
		nid_option(args, "--dest", arg, &attr->lfa_dst);
		break;
	default:
		return ctl_args_option(&args->fta_ask, key, arg);
	}
	return true;
}

/* A rule to be added: does it say what it must, and nothing else? */
static void add_check(struct fault_args *args)
{
	const struct m0_lnet_fault_attr *attr = &args->fta_ask.ctg_req.cq_fault;
	struct tool_fail                *fail = &args->fta_ask.ctg_fail;
	const char                      *kind = fault_kind_name(attr->lfa_kind);

	if (attr->lfa_kind == M0_LNET_FAULT_ANY)
		tool_fail_set(fail, TOOL_USAGE,
			      "'all' is not accepted with add; there is: drop, "
			      "delay, duplicate, corrupt, cut");
	if (attr->lfa_rate != 0 && attr->lfa_interval_ms != 0)
		tool_fail_set(fail, TOOL_USAGE,
			      "--rate and --interval are both given; accepted "
			      "is one of them");
	if (attr->lfa_rate == 0 && attr->lfa_interval_ms == 0 &&
	    !attr->lfa_all && !attr->lfa_random)
		tool_fail_set(fail, TOOL_USAGE,
			      "none of --rate, --interval, --all and --random "
			      "is given; one is needed");
	if (attr->lfa_kind == M0_LNET_FAULT_DELAY && attr->lfa_latency_ms == 0)
		tool_fail_set(fail, TOOL_USAGE,
			      "--latency is missing: a delay needs it");
	if (attr->lfa_kind != M0_LNET_FAULT_DELAY && args->fta_latency != NULL)
		tool_fail_set(fail, TOOL_USAGE,
			      "--latency is not accepted of %s; it is of delay",
			      kind);
	if (attr->lfa_kind != M0_LNET_FAULT_DROP && args->fta_health != NULL)
		tool_fail_set(
			fail, TOOL_USAGE,
			"--health_error is not accepted of %s; it is of drop",
			kind);
	if (attr->lfa_kind != M0_LNET_FAULT_CORRUPT && attr->lfa_header)
		tool_fail_set(
			fail, TOOL_USAGE,
			"--header is not accepted of %s; it is of corrupt",
			kind);
}

static void args_check(struct fault_args *args)
{
	enum ctl_verb     verb = args->fta_ask.ctg_req.cq_verb;
	struct tool_fail *fail = &args->fta_ask.ctg_fail;

	if (args->fta_words_nr < 2)
		tool_fail_set(fail, TOOL_USAGE,
			      args->fta_words_nr == 0
				      ? "a word is missing; there is: drop, "
					"delay, duplicate, corrupt, cut, all"
				      : "a word is missing; there is: add, "
					"del, show, reset");
	else if (verb == CTL_FAULT_ADD)
		add_check(args);
	else if (args->fta_add_only != NULL)
		tool_fail_set(fail, TOOL_USAGE,
			      "%s is not accepted here; it is of add",
			      args->fta_add_only);
	else if (verb != CTL_FAULT_DEL && args->fta_nid_given != NULL)
		tool_fail_set(fail, TOOL_USAGE,
			      "%s is not accepted here; it is of add and del",
			      args->fta_nid_given);
}

static error_t fault_option(int key, char *arg, struct argp_state *state)
{
	struct fault_args *args = state->input;

	if (ctl_args_verbose(&args->fta_ask, key, arg))
		return 0;
	if (key == ARGP_KEY_ARG) {
		word_option(args, arg);
		return 0;
	}
	if (key == ARGP_KEY_END) {
		args_check(args);
		return 0;
	}
	return common_option(args, key, arg) || rule_option(args, key, arg)
		       ? 0
		       : ARGP_ERR_UNKNOWN;
}

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Messages that a rule matches:", 1 },
	{ "source", 's', "NID", 0,
	  "Source NID; *@tcp: a whole network; default *, all", 0 },
	{ "dest", 'd', "NID", 0, "Destination NID, likewise", 0 },
	{ "message", 'm', "LIST", 0,
	  "Message types, of PUT, GET, ACK, REPLY; default all", 0 },
	{ "portal", 'p', "LIST", 0, "Only PUT and GET to these portals", 0 },
	{ "local-nid", KEY_LOCAL, "NID", 0,
	  "Only messages that arrive at or leave from this NID of the node",
	  0 },
	{ NULL, 0, NULL, 0,
	  "How many of these it affects (one of the first four):", 2 },
	{ "rate", 'r', "N", 0, "One message of each N", 0 },
	{ "interval", 'i', "TIME", 0, "One message per TIME", 0 },
	{ "all", 'a', NULL, 0, "Every message", 0 },
	{ "random", 'n', NULL, 0, "Half of the messages, chosen at random", 0 },
	{ "max", KEY_MAX, "N", 0, "At most N messages; default 0: no limit",
	  0 },
	{ "seed", KEY_SEED, "N", 0, "Seed of the random choice, to repeat it",
	  0 },
	{ NULL, 0, NULL, 0, "Effect:", 3 },
	{ "latency", 'l', "TIME", 0, "With delay: how long", 0 },
	{ "health_error", 'e', "LIST", 0,
	  "With drop: fail the send with one of these error classes, or random",
	  0 },
	{ "header", KEY_HEADER, NULL, 0,
	  "With corrupt: change a bit of the header instead of the payload",
	  0 },
	{ NULL, 0, NULL, 0, "The command:", 4 },
	CTL_OPTION_VERBOSE("4 also what lnetctl does not have"),
	CTL_OPTION_JSON,
	CTL_OPTIONS_END,
};

static const struct argp fault_argp = {
	options,
	fault_option,
	"KIND add\nKIND del\nKIND show\nKIND reset",
	"Add, remove, show or reset rules by which the running node loses, "
	"delays, doubles or damages messages, or cuts connections. KIND is "
	"drop, delay, duplicate, corrupt or cut; all, but with add.",
	NULL,
	NULL,
	NULL,
};

int fault_main(int argc, char **argv)
{
	struct fault_args args = { .fta_words_nr = 0 };

	return ctl_args_ask(&args.fta_ask, argc, argv, &fault_argp,
			    CTL_FAULT_SHOW);
}
