/* SPDX-License-Identifier: Apache-2.0 */
/** `colibri set` and `colibri debug`. */
#include <argp.h>
#include <stdio.h>

#include "ctl.h"
#include "lnet_opts.h"
#include "../base/text.h"

enum {
	KEY_CTL = 256,
	KEY_TIMEOUT,
	KEY_LOCAL,
	KEY_PEER,
	TIMEOUT_MS = 30000
};

struct set_args {
	struct ctl_request sta_req;
	unsigned           sta_words_nr;
	uint64_t           sta_timeout_ms;
	const char        *sta_ctl;
	struct tool_fail   sta_fail;
};

#define NAMES                                                       \
	"discovery, drop_asym_route, retry_count, "                 \
	"transaction_timeout, health_sensitivity, recovery_limit, " \
	"max_recovery_ping_interval, routing, tiny_buffers, "       \
	"small_buffers, large_buffers"

static void set_word(struct set_args *args, const char *text)
{
	struct ctl_request *req = &args->sta_req;

	switch (args->sta_words_nr++) {
	case 0:
		if (strlen(text) >= sizeof req->cq_name || text[0] == '\0' ||
		    strpbrk(text, " =\n") != NULL)
			tool_fail_set(&args->sta_fail, TOOL_USAGE,
				      "'%s' is not accepted; there is: " NAMES,
				      text);
		else
			snprintf(req->cq_name, sizeof req->cq_name, "%s", text);
		break;
	case 1:
		if (text_number_parse(text, &req->cq_value) != 0)
			tool_bad_value(&args->sta_fail, req->cq_name, text,
				       "a number");
		break;
	default:
		tool_fail_set(&args->sta_fail, TOOL_USAGE,
			      "'%s': no further operand is accepted", text);
		break;
	}
}

static void debug_word(struct set_args *args, const char *text)
{
	if (args->sta_words_nr++ > 0)
		tool_fail_set(&args->sta_fail, TOOL_USAGE,
			      "'%s': no further operand is accepted", text);
	else if (strcmp(text, "recovery") != 0)
		tool_fail_set(&args->sta_fail, TOOL_USAGE,
			      "'%s' is not accepted; there is: recovery", text);
}

static void set_check(struct set_args *args)
{
	if (args->sta_words_nr == 0)
		tool_fail_set(&args->sta_fail, TOOL_USAGE,
			      "a name is missing; there is: " NAMES);
	else if (args->sta_words_nr == 1)
		tool_fail_set(&args->sta_fail, TOOL_USAGE,
			      "the value of %s is missing: a number",
			      args->sta_req.cq_name);
}

static void debug_check(struct set_args *args)
{
	if (args->sta_words_nr == 0)
		tool_fail_set(&args->sta_fail, TOOL_USAGE,
			      "a word is missing; there is: recovery");
	if (args->sta_req.cq_name[0] == '\0')
		tool_fail_set(&args->sta_fail, TOOL_USAGE,
			      "neither --local nor --peer is given; one is "
			      "needed");
}

static error_t set_option(int key, char *arg, struct argp_state *state)
{
	struct set_args    *args = state->input;
	struct ctl_request *req = &args->sta_req;
	bool                sets = req->cq_verb == CTL_SET;

	switch (key) {
	case 'j':
		req->cq_json = true;
		break;
	case KEY_CTL:
		args->sta_ctl = ctl_path_option(&args->sta_fail, arg);
		break;
	case KEY_TIMEOUT:
		args->sta_timeout_ms =
			tool_ms_option(&args->sta_fail, "--timeout", arg, 1);
		break;
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
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int ask(int argc, char **argv, const struct argp *argp,
	       enum ctl_verb verb)
{
	struct set_args args = { .sta_timeout_ms = TIMEOUT_MS };
	int             code = TOOL_OK;

	ctl_request_init(&args.sta_req, verb);
	if (tool_parse(argp, argc, argv, ARGP_IN_ORDER, &args) != 0)
		return TOOL_USAGE;
	if (args.sta_fail.tf_exit == TOOL_OK)
		code = ctl_ask_at(args.sta_ctl, &args.sta_req,
				  args.sta_timeout_ms, &args.sta_fail);
	if (tool_fail_print(&args.sta_fail, argv[0]) != TOOL_OK)
		code = args.sta_fail.tf_exit;
	return tool_finish_output(argv[0], code);
}

/* clang-format off */
#define COMMON                                                                \
	{ "timeout", KEY_TIMEOUT, "TIME", 0,                                  \
	  "Fail if the node does not answer for this long; default 30", 0 },  \
	{ "ctl", KEY_CTL, "PATH", 0, "Control socket of the node", 0 },       \
	{ 0 }
/* clang-format on */

int set_main(int argc, char **argv)
{
	static const struct argp_option options[] = { COMMON };
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

	return ask(argc, argv, &argp, CTL_SET);
}

int debug_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "local", KEY_LOCAL, NULL, 0, "Interfaces of the node", 0 },
		{ "peer", KEY_PEER, NULL, 0, "NIDs of peers", 0 },
		{ "json", 'j', NULL, 0, "Print JSON", 0 },
		COMMON
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

	return ask(argc, argv, &argp, CTL_DEBUG_RECOVERY);
}
