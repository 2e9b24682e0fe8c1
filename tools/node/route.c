/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri route` and `colibri routing`: routes of the running node. */
#include <argp.h>
#include <stdio.h>

#include "ctl_args.h"
#include "lnet_opts.h"

enum {
	KEY_NET = CTL_KEY_OWN,
	KEY_GATEWAY,
	KEY_HOP,
	KEY_PRIORITY,
	PRIORITY_MAX = INT32_MAX
};

struct route_args {
	struct ctl_args rta_ask;
	/** --hop or --priority was given; NULL. */
	const char *rta_not_del;
};

static const struct ctl_word route_words[] = {
	{ "add", CTL_ROUTE_ADD },
	{ "del", CTL_ROUTE_DEL },
	{ "show", CTL_ROUTE_SHOW },
	{ NULL, 0 },
};

static const struct ctl_word routing_words[] = {
	{ "show", CTL_ROUTING_SHOW },
	{ NULL, 0 },
};

/* -1 is lnetctl's "not set". */
static void hop_option(struct route_args *args, const char *text)
{
	args->rta_not_del = "--hop";
	args->rta_ask.ctg_req.cq_by_hops = true;
	if (strcmp(text, "-1") == 0)
		args->rta_ask.ctg_req.cq_route.lra_hops = 0;
	else
		args->rta_ask.ctg_req.cq_route.lra_hops =
			(uint32_t)tool_number_option(&args->rta_ask.ctg_fail,
						     "--hop", text, 1,
						     M0_LNET_HOPS_MAX);
}

static void priority_option(struct route_args *args, const char *text)
{
	args->rta_not_del = "--priority";
	args->rta_ask.ctg_req.cq_by_priority = true;
	args->rta_ask.ctg_req.cq_route.lra_priority =
		(uint32_t)tool_number_option(&args->rta_ask.ctg_fail,
					     "--priority", text, 0,
					     PRIORITY_MAX);
}

static void net_option(struct route_args *args, const char *text)
{
	if (m0_lnet_net_parse(&args->rta_ask.ctg_req.cq_route.lra_net, text) !=
	    0)
		tool_bad_value(&args->rta_ask.ctg_fail, "--net", text,
			       "a network as tcp, tcp1, o2ib");
}

static void gateway_option(struct route_args *args, const char *text)
{
	if (m0_lnet_nid_parse(&args->rta_ask.ctg_req.cq_route.lra_gateway,
			      text) != 0)
		tool_bad_value(&args->rta_ask.ctg_fail, "--gateway", text,
			       "a NID as 10.0.0.1@tcp");
}

/* A route that is added or removed is named in full. */
static void args_check(struct route_args *args)
{
	const struct m0_lnet_route_attr *attr = &args->rta_ask.ctg_req.cq_route;
	struct tool_fail                *fail = &args->rta_ask.ctg_fail;
	enum ctl_verb                    verb = args->rta_ask.ctg_req.cq_verb;

	ctl_args_word_check(&args->rta_ask);
	if (!M0_IN(verb, (CTL_ROUTE_ADD, CTL_ROUTE_SHOW)) &&
	    args->rta_not_del != NULL)
		tool_fail_set(fail, TOOL_USAGE,
			      "%s is not accepted here; it is of add and show",
			      args->rta_not_del);
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

static error_t route_option(int key, char *arg, struct argp_state *state)
{
	struct route_args *args = state->input;

	if (ctl_args_verbose(&args->rta_ask, key, arg))
		return 0;
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
		ctl_args_word(&args->rta_ask, arg);
		break;
	case ARGP_KEY_END:
		args_check(args);
		break;
	default:
		return ctl_args_option(&args->rta_ask, key, arg)
			       ? 0
			       : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int route_main(int argc, char **argv)
{
	struct route_args args = { .rta_ask = { .ctg_words = route_words } };
	static const struct argp_option options[] = {
		{ "net", KEY_NET, "NET", 0,
		  "The remote network; with show: only routes to it", 0 },
		{ "gateway", KEY_GATEWAY, "NID", 0,
		  "The router, by its NID on a network of this node; with "
		  "show: only its routes",
		  0 },
		{ "hop", KEY_HOP, "N", 0,
		  "Number of routers to the network, 1 to 255; default: not "
		  "set, which counts as 1; with show: only such routes",
		  0 },
		{ "hop-count", KEY_HOP, NULL, OPTION_ALIAS, NULL, 0 },
		{ "priority", KEY_PRIORITY, "N", 0,
		  "The route of the least number is preferred; default 0; "
		  "with show: only such routes",
		  0 },
		CTL_OPTION_VERBOSE(
			"1 (without N) state, and why a route is down; 4 all"),
		CTL_OPTION_JSON,
		CTL_OPTIONS_END
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

	return ctl_args_ask(&args.rta_ask, argc, argv, &argp, CTL_ROUTE_SHOW);
}

int routing_main(int argc, char **argv)
{
	struct route_args args = { .rta_ask = { .ctg_words = routing_words } };
	static const struct argp_option options[] = {
		CTL_OPTION_VERBOSE(
			"4 state, memory, and why messages were dropped"),
		CTL_OPTION_JSON, CTL_OPTIONS_END
	};
	static const struct argp argp = {
		options, route_option,
		"show",  "Show the running node as a router, and its buffers.",
		NULL,    NULL,
		NULL,
	};

	return ctl_args_ask(&args.rta_ask, argc, argv, &argp, CTL_ROUTING_SHOW);
}
