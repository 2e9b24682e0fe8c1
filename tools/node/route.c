/* SPDX-License-Identifier: Apache-2.0 */
/** `colibri route` and `colibri routing`: routes of the running node. */
#include <argp.h>
#include <stdio.h>

#include "ctl.h"
#include "lnet_opts.h"

enum {
	KEY_CTL = 256,
	KEY_TIMEOUT,
	KEY_NET,
	KEY_GATEWAY,
	KEY_HOP,
	KEY_PRIORITY,
	TIMEOUT_MS = 30000,
	PRIORITY_MAX = INT32_MAX
};

struct route_args {
	struct ctl_request rta_req;
	/** The last has no name. */
	const struct route_word *rta_words;
	bool                     rta_has_word;
	/** --hop or --priority was given; NULL. */
	const char *rta_add_only;
	/** -v came without a number: one may follow. */
	bool             rta_verbose_open;
	uint64_t         rta_timeout_ms;
	const char      *rta_ctl;
	struct tool_fail rta_fail;
};

struct route_word {
	const char   *rtw_name;
	enum ctl_verb rtw_verb;
	const char   *rtw_all;
};

static const struct route_word route_words[] = {
	{ "add", CTL_ROUTE_ADD, "add, del, show" },
	{ "del", CTL_ROUTE_DEL, "add, del, show" },
	{ "show", CTL_ROUTE_SHOW, "add, del, show" },
	{ NULL, 0, NULL },
};

static const struct route_word routing_words[] = {
	{ "show", CTL_ROUTING_SHOW, "show" },
	{ NULL, 0, NULL },
};

static void word_option(struct route_args *args, const char *text)
{
	const struct route_word *word;

	if (args->rta_has_word) {
		tool_fail_set(&args->rta_fail, TOOL_USAGE,
			      "'%s': no further operand is accepted", text);
		return;
	}
	args->rta_has_word = true;
	for (word = args->rta_words; word->rtw_name != NULL; ++word) {
		if (strcmp(text, word->rtw_name) == 0) {
			args->rta_req.cq_verb = word->rtw_verb;
			return;
		}
	}
	tool_fail_set(&args->rta_fail, TOOL_USAGE,
		      "'%s' is not accepted; there is: %s", text,
		      args->rta_words->rtw_all);
}

static void verbose_option(struct route_args *args, const char *text)
{
	args->rta_req.cq_verbose = (unsigned)tool_number_option(
		&args->rta_fail, "--verbose", text, 0, CTL_VERBOSE_MAX);
}

/* -1 is lnetctl's "not set". */
static void hop_option(struct route_args *args, const char *text)
{
	args->rta_add_only = "--hop";
	if (strcmp(text, "-1") == 0)
		args->rta_req.cq_route.lra_hops = 0;
	else
		args->rta_req.cq_route.lra_hops = (uint32_t)tool_number_option(
			&args->rta_fail, "--hop", text, 1, M0_LNET_HOPS_MAX);
}

static void priority_option(struct route_args *args, const char *text)
{
	args->rta_add_only = "--priority";
	args->rta_req.cq_route.lra_priority = (uint32_t)tool_number_option(
		&args->rta_fail, "--priority", text, 0, PRIORITY_MAX);
}

static void net_option(struct route_args *args, const char *text)
{
	if (m0_lnet_net_parse(&args->rta_req.cq_route.lra_net, text) != 0)
		tool_bad_value(&args->rta_fail, "--net", text,
			       "a network as tcp, tcp1, o2ib");
}

static void gateway_option(struct route_args *args, const char *text)
{
	if (m0_lnet_nid_parse(&args->rta_req.cq_route.lra_gateway, text) != 0)
		tool_bad_value(&args->rta_fail, "--gateway", text,
			       "a NID as 10.0.0.1@tcp");
}

/* A route that is added or removed is named in full. */
static void args_check(struct route_args *args)
{
	const struct m0_lnet_route_attr *attr = &args->rta_req.cq_route;
	struct tool_fail                *fail = &args->rta_fail;
	enum ctl_verb                    verb = args->rta_req.cq_verb;

	if (!args->rta_has_word)
		tool_fail_set(fail, TOOL_USAGE,
			      "a word is missing; there is: %s",
			      args->rta_words->rtw_all);
	if (verb != CTL_ROUTE_ADD && args->rta_add_only != NULL)
		tool_fail_set(fail, TOOL_USAGE,
			      "%s is not accepted here; it is of add",
			      args->rta_add_only);
	if (!M0_IN(verb, (CTL_ROUTE_ADD, CTL_ROUTE_DEL)))
		return;
	if (attr->lra_net == M0_LNET_NET_ANY)
		tool_fail_set(fail, TOOL_USAGE,
			      "--net is missing: the remote network, as tcp1");
	if (m0_lnet_nid_is_any(&attr->lra_gateway))
		tool_fail_set(fail, TOOL_USAGE,
			      "--gateway is missing: the NID of a router, as "
			      "10.0.0.1@tcp");
}

static bool common_option(struct route_args *args, int key, char *arg)
{
	switch (key) {
	case 'v':
		args->rta_verbose_open = arg == NULL;
		verbose_option(args, arg == NULL ? "1" : arg);
		break;
	case 'j':
		args->rta_req.cq_json = true;
		break;
	case KEY_CTL:
		args->rta_ctl = ctl_path_option(&args->rta_fail, arg);
		break;
	case KEY_TIMEOUT:
		args->rta_timeout_ms =
			tool_ms_option(&args->rta_fail, "--timeout", arg, 1);
		break;
	default:
		return false;
	}
	return true;
}

static error_t route_option(int key, char *arg, struct argp_state *state)
{
	struct route_args *args = state->input;
	bool               open = args->rta_verbose_open;

	args->rta_verbose_open = false;
	switch (key) {
	case KEY_NET:
		net_option(args, arg);
		break;
	case KEY_GATEWAY:
		gateway_option(args, arg);
		break;
	case KEY_HOP:
		hop_option(args, arg);
		break;
	case KEY_PRIORITY:
		priority_option(args, arg);
		break;
	case ARGP_KEY_ARG:
		/* `-v 4` is lnetctl's way as well as -v4. */
		if (open && arg[0] >= '0' && arg[0] <= '9')
			verbose_option(args, arg);
		else
			word_option(args, arg);
		break;
	case ARGP_KEY_END:
		args_check(args);
		break;
	default:
		return common_option(args, key, arg) ? 0 : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int ask(int argc, char **argv, const struct argp *argp,
	       const struct route_word *words)
{
	struct route_args args = { .rta_words = words,
				   .rta_timeout_ms = TIMEOUT_MS };
	int               code = TOOL_OK;

	ctl_request_init(&args.rta_req, CTL_ROUTE_SHOW);
	if (tool_parse(argp, argc, argv, ARGP_IN_ORDER, &args) != 0)
		return TOOL_USAGE;
	if (args.rta_fail.tf_exit == TOOL_OK)
		code = ctl_ask_at(args.rta_ctl, &args.rta_req,
				  args.rta_timeout_ms, &args.rta_fail);
	if (tool_fail_print(&args.rta_fail, argv[0]) != TOOL_OK)
		code = args.rta_fail.tf_exit;
	return tool_finish_output(argv[0], code);
}

#define COMMON                                                                  \
	{ "json", 'j', NULL, 0, "Print JSON", 0 },                              \
		{ "timeout",                                                    \
		  KEY_TIMEOUT,                                                  \
		  "TIME",                                                       \
		  0,                                                            \
		  "Fail if the node does not answer for this long; default "    \
		  "30",                                                         \
		  0 },                                                          \
		{ "ctl", KEY_CTL, "PATH", 0, "Control socket of the node", 0 }, \
	{                                                                       \
		0                                                               \
	}

int route_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "net", KEY_NET, "NET", 0, "The remote network", 0 },
		{ "gateway", KEY_GATEWAY, "NID", 0,
		  "The router, by its NID on a network of this node", 0 },
		{ "hop", KEY_HOP, "N", 0,
		  "Number of routers to the network, 1 to 255; default: not "
		  "set, which counts as 1",
		  0 },
		{ "hop-count", KEY_HOP, NULL, OPTION_ALIAS, NULL, 0 },
		{ "priority", KEY_PRIORITY, "N", 0,
		  "The route of the least number is preferred; default 0", 0 },
		{ "verbose", 'v', "N", OPTION_ARG_OPTIONAL,
		  "Show more: 1 (without N) state, and why a route is down; 4 "
		  "all",
		  0 },
		COMMON
	};
	static const struct argp argp = {
		options,
		route_option,
		"add --net=NET --gateway=NID\ndel --net=NET --gateway=NID\n"
		"show",
		"Add, remove or show routes of the running node: networks that "
		"it reaches by routers.",
		NULL,
		NULL,
		NULL,
	};

	return ask(argc, argv, &argp, route_words);
}

int routing_main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "verbose", 'v', "N", OPTION_ARG_OPTIONAL,
		  "Show more; 4: state, memory, and why messages were dropped",
		  0 },
		COMMON
	};
	static const struct argp argp = {
		options, route_option,
		"show",  "Show the running node as a router, and its buffers.",
		NULL,    NULL,
		NULL,
	};

	return ask(argc, argv, &argp, routing_words);
}
