/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri set` and `colibri debug`. */
#include <argp.h>
#include <stdio.h>

#include "ctl_args.h"
#include "lnet_opts.h"
#include "../base/text.h"

enum {
	KEY_LOCAL = CTL_KEY_OWN,
	KEY_PEER
};

struct set_args {
	struct ctl_args sta_ask;
	unsigned        sta_words_nr;
};

#define NAMES                                                        \
	"discovery, drop_asym_route, retry_count, "                  \
	"transaction_timeout, health_sensitivity, recovery_limit, "  \
	"max_recovery_ping_interval, cut_through, splice, routing, " \
	"tiny_buffers, small_buffers, large_buffers"

static void set_word(struct set_args *args, const char *text)
{
	struct ctl_request *req = &args->sta_ask.ctg_req;

	switch (args->sta_words_nr++) {
	case 0:
		if (strlen(text) >= sizeof req->cq_name || text[0] == '\0' ||
		    strpbrk(text, " =\n") != NULL)
			tool_fail_set(&args->sta_ask.ctg_fail, TOOL_USAGE,
				      "'%s' is not accepted; there is: " NAMES,
				      text);
		else
			snprintf(req->cq_name, sizeof req->cq_name, "%s", text);
		break;
	case 1:
		if (text_number_parse(text, &req->cq_value) != 0)
			tool_bad_value(&args->sta_ask.ctg_fail, req->cq_name,
				       text, "a number");
		break;
	default:
		tool_fail_set(&args->sta_ask.ctg_fail, TOOL_USAGE,
			      "'%s': no further operand is accepted", text);
		break;
	}
}

static void debug_word(struct set_args *args, const char *text)
{
	if (args->sta_words_nr++ > 0)
		tool_fail_set(&args->sta_ask.ctg_fail, TOOL_USAGE,
			      "'%s': no further operand is accepted", text);
	else if (strcmp(text, "recovery") != 0)
		tool_fail_set(&args->sta_ask.ctg_fail, TOOL_USAGE,
			      "'%s' is not accepted; there is: recovery", text);
}

static void set_check(struct set_args *args)
{
	if (args->sta_words_nr == 0)
		tool_fail_set(&args->sta_ask.ctg_fail, TOOL_USAGE,
			      "a name is missing; there is: " NAMES);
	else if (args->sta_words_nr == 1)
		tool_fail_set(&args->sta_ask.ctg_fail, TOOL_USAGE,
			      "the value of %s is missing: a number",
			      args->sta_ask.ctg_req.cq_name);
}

static void debug_check(struct set_args *args)
{
	if (args->sta_words_nr == 0)
		tool_fail_set(&args->sta_ask.ctg_fail, TOOL_USAGE,
			      "a word is missing; there is: recovery");
	if (args->sta_ask.ctg_req.cq_name[0] == '\0')
		tool_fail_set(&args->sta_ask.ctg_fail, TOOL_USAGE,
			      "neither --local nor --peer is given; one is "
			      "needed");
}

static error_t set_option(int key, char *arg, struct argp_state *state)
{
	struct set_args    *args = state->input;
	struct ctl_request *req = &args->sta_ask.ctg_req;
	bool                sets = req->cq_verb == CTL_SET;

	switch (key) {
	case KEY_LOCAL:
	case KEY_PEER:
		snprintf(req->cq_name, sizeof req->cq_name, "%s",
			 key == KEY_LOCAL ? "local" : "peer");
		break;
	case ARGP_KEY_ARG:
		sets ? set_word(args, arg) : debug_word(args, arg);
		break;
	case ARGP_KEY_END:
		sets ? set_check(args) : debug_check(args);
		break;
	default:
		return ctl_args_option(&args->sta_ask, key, arg)
			       ? 0
			       : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int set_main(int argc, char **argv)
{
	struct set_args                 args = { .sta_words_nr = 0 };
	static const struct argp_option options[] = { CTL_OPTIONS_END };
	static const struct argp        argp = {
		       options,
		       set_option,
		       "NAME VALUE",
		       "Set a parameter of the running node. NAME is one of " NAMES
		       "; VALUE is a number. `colibri global show' and `routing "
			      "show' show the values.",
		       NULL,
		       NULL,
		       NULL,
	};

	return ctl_args_ask(&args.sta_ask, argc, argv, &argp, CTL_SET);
}

int debug_main(int argc, char **argv)
{
	struct set_args                 args = { .sta_words_nr = 0 };
	static const struct argp_option options[] = {
		{ "local", KEY_LOCAL, NULL, 0, "Interfaces of the node", 0 },
		{ "peer", KEY_PEER, NULL, 0, "NIDs of peers", 0 },
		CTL_OPTION_JSON,
		CTL_OPTIONS_END
	};
	static const struct argp argp = {
		options,
		set_option,
		"recovery --local\nrecovery --peer",
		"Show the interfaces of the running node, or the NIDs of its "
		"peers, that have lost health and that it tries to recover.",
		NULL,
		NULL,
		NULL,
	};

	return ctl_args_ask(&args.sta_ask, argc, argv, &argp,
			    CTL_DEBUG_RECOVERY);
}
