/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri net|peer|stats|global`: questions to the running node, and changes of
 * its peers and of health. */
#include <argp.h>
#include <stdio.h>

#include "ctl_args.h"
#include "lnet_opts.h"

enum {
	KEY_NET = CTL_KEY_OWN,
	KEY_NID,
	KEY_PRIMARY,
	KEY_NON_MR,
	KEY_HEALTH,
	KEY_ALL,
	KEY_IF,
	/** Options of a network, in the order of net_options[]. */
	KEY_NET_OPTIONS
};

/** An option of a network that is added. */
struct net_number {
	/** As lnetctl's option, and as m0_lnet_cfg_networks() has it. */
	const char *nmb_option;
	const char *nmb_name;
	uint64_t    nmb_min;
	uint64_t    nmb_max;
};

static const struct net_number net_options[] = {
	{ "--peer-credits", "peer_credits", 1, UINT16_MAX },
	{ "--peer-timeout", "peer_timeout", 1, INT32_MAX },
	{ "--peer-buffer-credits", "peer_buffer_credits", 1, UINT16_MAX },
	{ "--credits", "credits", 1, UINT16_MAX },
	{ "--conns-per-peer", "conns_per_peer", 1, 127 },
	{ "--lnd-timeout", "timeout", 1, 86400 },
	{ "--tos", "tos", 0, 255 },
};

struct show_args {
	struct ctl_args sha_ask;
	/** Options of changes that were given, and the first of them; NULL. */
	bool sha_primary_given;
	bool sha_health_given;
	bool sha_all_given;
	/** An option of net add; and of net add or net del; NULL: none. */
	const char        *sha_add_only;
	const char        *sha_net_only;
	const char        *sha_change_only;
	struct m0_lnet_nid sha_primary;
};

static void net_option(struct show_args *args, const char *text)
{
	if (m0_lnet_net_parse(&args->sha_ask.ctg_req.cq_net, text) != 0)
		tool_bad_value(&args->sha_ask.ctg_fail, "--net", text,
			       "a network as tcp, tcp1, lo");
}

/* One NID, or several between commas. */
static void nid_option(struct show_args *args, const char *text)
{
	struct ctl_request *req = &args->sha_ask.ctg_req;
	char                copy[CTL_LINE_BYTES];
	char               *rest = copy;
	char               *word;

	snprintf(copy, sizeof copy, "%s", text);
	while ((word = strsep(&rest, ",")) != NULL) {
		/* Room for the primary NID. */
		if (req->cq_nids_nr == CTL_NIDS_MAX - 1) {
			tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
				      "--nid: at most %d NIDs are accepted",
				      CTL_NIDS_MAX - 1);
			return;
		}
		if (m0_lnet_nid_parse(&req->cq_nids[req->cq_nids_nr++], word) !=
		    0)
			tool_bad_value(&args->sha_ask.ctg_fail, "--nid", text,
				       "a NID as 10.0.0.1@tcp");
	}
}

/* An option of a network goes to the node as text. */
static void net_number_option(struct show_args *args, int key, const char *arg)
{
	struct ctl_request      *req = &args->sha_ask.ctg_req;
	const struct net_number *number = &net_options[key - KEY_NET_OPTIONS];
	size_t                   nr = strlen(req->cq_options);
	uint64_t value = tool_number_option(&args->sha_ask.ctg_fail,
					    number->nmb_option, arg,
					    number->nmb_min, number->nmb_max);

	snprintf(req->cq_options + nr, sizeof req->cq_options - nr,
		 "%s%s=%" PRIu64, nr == 0 ? "" : ",", number->nmb_name, value);
	args->sha_add_only = number->nmb_option;
}

static void ifaces_option(struct show_args *args, const char *text)
{
	struct ctl_request *req = &args->sha_ask.ctg_req;

	args->sha_net_only = "--if";
	if (text[0] == '\0' || strpbrk(text, " ()[]=\t\n") != NULL ||
	    strlen(text) >= sizeof req->cq_ifaces)
		tool_bad_value(&args->sha_ask.ctg_fail, "--if", text,
			       "devices as eth0, or addresses, separated by "
			       "commas");
	else
		snprintf(req->cq_ifaces, sizeof req->cq_ifaces, "%s", text);
}

/* Options of net add and net del. @return false: it is none of them. */
static bool net_change_option(struct show_args *args, int key, const char *arg)
{
	if (key == KEY_IF)
		ifaces_option(args, arg);
	else if (key >= KEY_NET_OPTIONS &&
		 key < KEY_NET_OPTIONS + (int)ARRAY_SIZE(net_options))
		net_number_option(args, key, arg);
	else
		return false;
	return true;
}

/* Options that only changes have. @return false: it is none of them. */
static bool change_option(struct show_args *args, int key, const char *arg)
{
	const char *name;

	switch (key) {
	case KEY_PRIMARY:
		name = "--prim_nid";
		args->sha_primary_given = true;
		if (m0_lnet_nid_parse(&args->sha_primary, arg) != 0)
			tool_bad_value(&args->sha_ask.ctg_fail, name, arg,
				       "a NID as 10.0.0.1@tcp");
		break;
	case KEY_NON_MR:
		name = "--non_mr";
		args->sha_ask.ctg_req.cq_non_mr = true;
		break;
	case KEY_HEALTH:
		name = "--health";
		args->sha_health_given = true;
		args->sha_ask.ctg_req.cq_value =
			tool_number_option(&args->sha_ask.ctg_fail, name, arg,
					   0, M0_LNET_HEALTH_MAX);
		break;
	case KEY_ALL:
		name = "--all";
		args->sha_all_given = true;
		break;
	default:
		return false;
	}
	if (args->sha_change_only == NULL)
		args->sha_change_only = name;
	return true;
}

/* peer add, peer del: the primary NID goes first. */
static void peer_check(struct show_args *args)
{
	struct ctl_request *req = &args->sha_ask.ctg_req;

	if (args->sha_health_given || args->sha_all_given)
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "%s is not accepted here; it is of set",
			      args->sha_health_given ? "--health" : "--all");
	if (!args->sha_primary_given) {
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "--prim_nid is missing: the primary NID of the "
			      "peer, as 10.0.0.1@tcp");
		return;
	}
	memmove(&req->cq_nids[1], &req->cq_nids[0],
		req->cq_nids_nr * sizeof req->cq_nids[0]);
	req->cq_nids[0] = args->sha_primary;
	++req->cq_nids_nr;
}

static void set_check(struct show_args *args)
{
	const struct ctl_request *req = &args->sha_ask.ctg_req;
	bool some = req->cq_nids_nr > 0 || req->cq_net != M0_LNET_NET_ANY;

	if (args->sha_primary_given || req->cq_non_mr)
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "%s is not accepted here; it is of add and del",
			      args->sha_primary_given ? "--prim_nid"
						      : "--non_mr");
	if (!args->sha_health_given)
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "--health is missing: 0 to %d",
			      M0_LNET_HEALTH_MAX);
	if (req->cq_nids_nr > 0 && req->cq_net != M0_LNET_NET_ANY)
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "--nid is not accepted with --net; give one of "
			      "them");
	if (some && args->sha_all_given)
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "--all is not accepted with --nid or --net");
	if (!some && !args->sha_all_given)
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "neither --nid nor --all is given; one is "
			      "needed");
}

/* net add, net del: a NID is a network and an address. */
static void net_check(struct show_args *args)
{
	struct ctl_request *req = &args->sha_ask.ctg_req;
	struct tool_fail   *fail = &args->sha_ask.ctg_fail;
	char                text[M0_LNET_NIDSTR_SIZE];

	if (args->sha_change_only != NULL)
		tool_fail_set(fail, TOOL_USAGE,
			      "%s is not accepted here; it is "
			      "of set",
			      args->sha_change_only);
	if (req->cq_verb == CTL_NET_DEL && args->sha_add_only != NULL)
		tool_fail_set(fail, TOOL_USAGE,
			      "%s is not accepted here; it is "
			      "of add",
			      args->sha_add_only);
	if (req->cq_nids_nr > 1 ||
	    (req->cq_nids_nr == 1 &&
	     (req->cq_net != M0_LNET_NET_ANY || args->sha_net_only != NULL)))
		tool_fail_set(fail, TOOL_USAGE,
			      "--nid: one NID is accepted, without --net and "
			      "--if");
	else if (req->cq_nids_nr == 1) {
		req->cq_net = m0_lnet_nid_net(&req->cq_nids[0]);
		(void)m0_lnet_nid_print(&req->cq_nids[0], text, sizeof text);
		snprintf(req->cq_ifaces, sizeof req->cq_ifaces, "%.*s",
			 (int)strcspn(text, "@"), text);
		req->cq_nids_nr = 0;
	} else if (req->cq_net == M0_LNET_NET_ANY) {
		tool_fail_set(fail, TOOL_USAGE,
			      "--net is missing: a network as tcp1");
	}
}

/* The words that list everything take no NID. */
static void no_nid_check(struct show_args *args)
{
	const struct ctl_request *req = &args->sha_ask.ctg_req;

	if (req->cq_nids_nr > 0 && req->cq_verb == CTL_NET_SHOW)
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "--nid is not accepted with show; it is of set, "
			      "and --net shows one network");
	if (req->cq_nids_nr > 0 && req->cq_verb == CTL_PEER_LIST)
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "--nid is not accepted with list; `peer show' "
			      "shows the peer with a NID");
}

/* Are the options those of the word? */
static void args_check(struct show_args *args)
{
	enum ctl_verb verb = args->sha_ask.ctg_req.cq_verb;
	const char   *net_only = args->sha_net_only != NULL ? args->sha_net_only
							    : args->sha_add_only;

	if (net_only != NULL && !M0_IN(verb, (CTL_NET_ADD, CTL_NET_DEL)))
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "%s is not accepted here", net_only);
	no_nid_check(args);
	switch (verb) {
	case CTL_NET_ADD:
	case CTL_NET_DEL:
		net_check(args);
		return;
	case CTL_PEER_ADD:
	case CTL_PEER_DEL:
		peer_check(args);
		return;
	case CTL_PEER_SET:
	case CTL_NET_SET:
		set_check(args);
		break;
	default:
		if (args->sha_change_only != NULL)
			tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
				      "%s is not accepted here",
				      args->sha_change_only);
		break;
	}
	if (args->sha_ask.ctg_req.cq_nids_nr > 1)
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "--nid: only one NID is accepted here");
}

static error_t show_option(int key, char *arg, struct argp_state *state)
{
	struct show_args *args = state->input;

	if (ctl_args_verbose(&args->sha_ask, key, arg))
		return 0;
	switch (key) {
	case KEY_NET:
		net_option(args, arg);
		break;
	case KEY_NID:
		nid_option(args, arg);
		break;
	case ARGP_KEY_ARG:
		ctl_args_word(&args->sha_ask, arg);
		break;
	case ARGP_KEY_END:
		ctl_args_word_check(&args->sha_ask);
		args_check(args);
		break;
	default:
		return change_option(args, key, arg) ||
				       net_change_option(args, key, arg) ||
				       ctl_args_option(&args->sha_ask, key, arg)
			       ? 0
			       : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int show_main(int argc, char **argv, const struct argp *argp,
		     const struct ctl_word *words)
{
	struct show_args args = { .sha_ask = { .ctg_words = words } };

	return ctl_args_ask(&args.sha_ask, argc, argv, argp, words->cwd_verb);
}

int net_main(int argc, char **argv)
{
	static const struct ctl_word    words[] = { { "show", CTL_NET_SHOW },
						    { "set", CTL_NET_SET },
						    { "add", CTL_NET_ADD },
						    { "del", CTL_NET_DEL },
						    { NULL, 0 } };
	static const struct argp_option options[] = {
		CTL_OPTION_VERBOSE(
			"1 statistics and limits (without N), 2 messages by "
			"type and health, 4 all"),
		{ "net", KEY_NET, "NET", 0, "Only this network", 0 },
		{ "nid", KEY_NID, "NID", 0,
		  "With set, add and del: this interface", 0 },
		{ "if", KEY_IF, "IFACE", 0,
		  "With add and del: devices or addresses, separated by commas; "
		  "without it, the first device, and all",
		  0 },
		{ "peer-credits", KEY_NET_OPTIONS, "N", 0,
		  "With add: messages in flight to one peer", 0 },
		{ "peer-timeout", KEY_NET_OPTIONS + 1, "SECONDS", 0,
		  "With add: as peer_timeout of --net of a node", 0 },
		{ "peer-buffer-credits", KEY_NET_OPTIONS + 2, "N", 0,
		  "With add: router buffers that a peer may use", 0 },
		{ "credits", KEY_NET_OPTIONS + 3, "N", 0,
		  "With add: messages in flight over one interface", 0 },
		{ "conns-per-peer", KEY_NET_OPTIONS + 4, "N", 0,
		  "With add: connections to each peer", 0 },
		{ "lnd-timeout", KEY_NET_OPTIONS + 5, "SECONDS", 0,
		  "With add: time-out of the network's driver", 0 },
		{ "tos", KEY_NET_OPTIONS + 6, "N", 0,
		  "With add of net o2ib: type of service, 0 to 255", 0 },
		{ "health", KEY_HEALTH, "N", 0, "With set: health, 0 to 1000",
		  0 },
		{ "all", KEY_ALL, NULL, 0, "With set: all interfaces", 0 },
		CTL_OPTION_JSON,
		CTL_OPTIONS_END,
	};
	static const struct argp argp = {
		options,
		show_option,
		"show\nset --health=N\nadd --net=NET\ndel --net=NET",
		"Show the networks and interfaces of the running node; set: the "
		"health of interfaces; add, del: a network, or interfaces of "
		"one.",
		NULL,
		NULL,
		NULL,
	};

	return show_main(argc, argv, &argp, words);
}

int peer_main(int argc, char **argv)
{
	static const struct ctl_word words[] = {
		{ "show", CTL_PEER_SHOW }, { "list", CTL_PEER_LIST },
		{ "add", CTL_PEER_ADD },   { "del", CTL_PEER_DEL },
		{ "set", CTL_PEER_SET },   { NULL, 0 }
	};
	static const struct argp_option options[] = {
		CTL_OPTION_VERBOSE(
			"1 credits and statistics (without N), 2 messages by "
			"type and health, 3 state, 4 all"),
		{ "nid", KEY_NID, "NID", 0,
		  "With show: only the peer with this NID; with set: this "
		  "NID; with add and del: further NIDs of the peer, separated "
		  "by commas",
		  0 },
		{ "prim_nid", KEY_PRIMARY, "NID", 0,
		  "With add and del: the primary NID of the peer", 0 },
		{ "non_mr", KEY_NON_MR, NULL, 0,
		  "With add: the peer is not Multi-Rail", 0 },
		{ "health", KEY_HEALTH, "N", 0, "With set: health, 0 to 1000",
		  0 },
		{ "all", KEY_ALL, NULL, 0, "With set: all NIDs", 0 },
		CTL_OPTION_JSON,
		CTL_OPTIONS_END,
	};
	static const struct argp argp = {
		options,
		show_option,
		"show\nlist\nadd --prim_nid=NID\ndel --prim_nid=NID\n"
		"set --health=N",
		"Show the peers of the running node; list: only their primary "
		"NIDs; add, del: tell it of a peer, or have it forget one; set: "
		"the health of NIDs.",
		NULL,
		NULL,
		NULL,
	};

	return show_main(argc, argv, &argp, words);
}

int stats_main(int argc, char **argv)
{
	static const struct ctl_word    words[] = { { "show", CTL_STATS_SHOW },
						    { "reset", CTL_STATS_RESET },
						    { NULL, 0 } };
	static const struct argp_option options[] = {
		CTL_OPTION_VERBOSE("4 also why messages were dropped"),
		CTL_OPTION_JSON,
		CTL_OPTIONS_END,
	};
	static const struct argp argp = {
		options,
		show_option,
		"show\nreset",
		"Show the counters of the running node, or set them to 0.",
		NULL,
		NULL,
		NULL,
	};

	return show_main(argc, argv, &argp, words);
}

int global_main(int argc, char **argv)
{
	static const struct ctl_word    words[] = { { "show", CTL_GLOBAL_SHOW },
						    { NULL, 0 } };
	static const struct argp_option options[] = {
		CTL_OPTION_VERBOSE(
			"accepted for compatibility, without effect"),
		CTL_OPTION_JSON,
		CTL_OPTIONS_END,
	};
	static const struct argp argp = {
		options, show_option,
		"show",  "Show the parameters of the running node.",
		NULL,    NULL,
		NULL,
	};

	return show_main(argc, argv, &argp, words);
}
