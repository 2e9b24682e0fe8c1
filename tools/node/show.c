/* SPDX-License-Identifier: Apache-2.0 */
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
	WORDS_MAX = 2
};

/** A word after the command's, and what it asks for. */
struct show_word {
	const char   *shw_name;
	enum ctl_verb shw_verb;
};

/** A word of lnetctl's that a node does not serve, and what to do instead. */
struct show_other {
	const char *sho_command;
	const char *sho_word;
	const char *sho_instead;
};

static const struct show_other others[] = {
	{ "net", "del",
	  "start the node again with --net for the networks that stay" },
};

struct show_args {
	struct ctl_args sha_ask;
	/** "net". */
	const char *sha_command;
	/** The last has no name. */
	const struct show_word *sha_words;
	bool                    sha_has_word;
	/** Options of changes that were given, and the first of them; NULL. */
	bool               sha_primary_given;
	bool               sha_health_given;
	bool               sha_all_given;
	const char        *sha_change_only;
	struct m0_lnet_nid sha_primary;
};

static void words_text(const struct show_args *args, char *ret, size_t size)
{
	const struct show_word *word;
	size_t                  used = 0;

	for (word = args->sha_words; word->shw_name != NULL; ++word)
		used += (size_t)snprintf(ret + used, size - used, "%s%s",
					 used == 0 ? "" : ", ", word->shw_name);
}

/* The value of `--NAME VALUE` or `--NAME=VALUE` from state->next on. */
static const char *value_after(const struct argp_state *state, const char *name)
{
	size_t nr = strlen(name);
	int    i;

	for (i = state->next; i < state->argc; ++i) {
		const char *arg = state->argv[i];

		if (strncmp(arg, name, nr) != 0)
			continue;
		if (arg[nr] == '=')
			return arg + nr + 1;
		if (arg[nr] == '\0' && i + 1 < state->argc)
			return state->argv[i + 1];
	}
	return NULL;
}

/* `net add --net tcp1 --if eth1`: how a node gets that network. */
static void net_add_fail(struct show_args *args, const struct argp_state *state)
{
	const char *net = value_after(state, "--net");
	const char *device = value_after(state, "--if");

	tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
		      "'add' is not accepted: a node has the networks that it "
		      "was started with; start it again as `colibri node --net "
		      "'%.64s(%.64s)'', with --net for each of its networks",
		      net != NULL ? net : "tcp",
		      device != NULL ? device : "eth0");
}

/* @return is it a word of lnetctl's that is not served here? */
static bool is_other(struct show_args *args, const char *text,
		     struct argp_state *state)
{
	size_t i;

	if (strcmp(args->sha_command, "net") == 0 && strcmp(text, "add") == 0)
		net_add_fail(args, state);
	for (i = 0; i < ARRAY_SIZE(others); ++i) {
		if (strcmp(args->sha_command, others[i].sho_command) == 0 &&
		    strcmp(text, others[i].sho_word) == 0)
			tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
				      "'%s' is not accepted: %s", text,
				      others[i].sho_instead);
	}
	if (args->sha_ask.ctg_fail.tf_exit == TOOL_OK)
		return false;
	/* Its options are not ours. */
	state->next = state->argc;
	return true;
}

static void word_option(struct show_args *args, const char *text,
			struct argp_state *state)
{
	const struct show_word *word;
	char                    words[64];

	if (args->sha_has_word) {
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "'%s': no further operand is accepted", text);
		return;
	}
	args->sha_has_word = true;
	for (word = args->sha_words; word->shw_name != NULL; ++word) {
		if (strcmp(word->shw_name, text) == 0) {
			args->sha_ask.ctg_req.cq_verb = word->shw_verb;
			return;
		}
	}
	if (is_other(args, text, state))
		return;
	words_text(args, words, sizeof words);
	tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
		      "'%s' is not accepted; there is: %s", text, words);
}

static void word_missing(struct show_args *args)
{
	char words[64];

	words_text(args, words, sizeof words);
	tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
		      "a word is missing; there is: %s", words);
}

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
	if (some && args->sha_all_given)
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "--all is not accepted with --nid or --net");
	if (!some && !args->sha_all_given)
		tool_fail_set(&args->sha_ask.ctg_fail, TOOL_USAGE,
			      "neither --nid nor --all is given; one is "
			      "needed");
}

/* Are the options those of the word? */
static void args_check(struct show_args *args)
{
	switch (args->sha_ask.ctg_req.cq_verb) {
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
		word_option(args, arg, state);
		break;
	case ARGP_KEY_END:
		if (!args->sha_has_word)
			word_missing(args);
		args_check(args);
		break;
	default:
		return change_option(args, key, arg) ||
				       ctl_args_option(&args->sha_ask, key, arg)
			       ? 0
			       : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int show_main(int argc, char **argv, const struct argp *argp,
		     const struct show_word *words, const char *command)
{
	struct show_args args = { .sha_command = command, .sha_words = words };

	return ctl_args_ask(&args.sha_ask, argc, argv, argp, words->shw_verb);
}

int net_main(int argc, char **argv)
{
	static const struct show_word   words[] = { { "show", CTL_NET_SHOW },
						    { "set", CTL_NET_SET },
						    { NULL, 0 } };
	static const struct argp_option options[] = {
		CTL_OPTION_VERBOSE(
			"1 statistics and limits (without N), 2 messages by "
			"type and health, 4 all"),
		{ "net", KEY_NET, "NET", 0, "Only this network", 0 },
		{ "nid", KEY_NID, "NID", 0, "With set: this interface", 0 },
		{ "health", KEY_HEALTH, "N", 0, "With set: health, 0 to 1000",
		  0 },
		{ "all", KEY_ALL, NULL, 0, "With set: all interfaces", 0 },
		CTL_OPTION_JSON,
		CTL_OPTIONS_END,
	};
	static const struct argp argp = {
		options,
		show_option,
		"show\nset --health=N",
		"Show the networks and interfaces of the running node, or set "
		"the health of interfaces.",
		NULL,
		NULL,
		NULL,
	};

	return show_main(argc, argv, &argp, words, "net");
}

int peer_main(int argc, char **argv)
{
	static const struct show_word words[] = {
		{ "show", CTL_PEER_SHOW }, { "list", CTL_PEER_LIST },
		{ "add", CTL_PEER_ADD },   { "del", CTL_PEER_DEL },
		{ "set", CTL_PEER_SET },   { NULL, 0 }
	};
	static const struct argp_option options[] = {
		CTL_OPTION_VERBOSE(
			"1 credits and statistics (without N), 2 messages by "
			"type and health, 3 state, 4 all"),
		{ "nid", KEY_NID, "NID", 0,
		  "Only the peer with this NID; with add and del: further "
		  "NIDs of the peer, separated by commas",
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

	return show_main(argc, argv, &argp, words, "peer");
}

int stats_main(int argc, char **argv)
{
	static const struct show_word   words[] = { { "show", CTL_STATS_SHOW },
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

	return show_main(argc, argv, &argp, words, "stats");
}

int global_main(int argc, char **argv)
{
	static const struct show_word   words[] = { { "show", CTL_GLOBAL_SHOW },
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

	return show_main(argc, argv, &argp, words, "global");
}
