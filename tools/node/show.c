/* SPDX-License-Identifier: Apache-2.0 */
/** `colibri net|peer|stats|global`: questions to the running node. */
#include <argp.h>
#include <stdio.h>

#include "ctl.h"
#include "lnet_opts.h"

enum {
	KEY_CTL = 256,
	KEY_NET,
	KEY_NID,
	KEY_TIMEOUT,
	WORDS_MAX = 2,
	TIMEOUT_MS = 30000
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
	{ "net", "set",
	  "start the node again with --lnd-timeout, --conns-per-peer, "
	  "--credits "
	  "or --peer-credits" },
	{ "peer", "add",
	  "a peer is made when it is first spoken to: `colibri discover NID'" },
	{ "peer", "del",
	  "peers that are not used make room for others by themselves" },
	{ "peer", "set",
	  "health and state of peers are not kept, and cannot be set" },
};

struct show_args {
	/** "net". */
	const char *sha_command;
	/** The last has no name. */
	const struct show_word *sha_words;
	struct ctl_request      sha_req;
	bool                    sha_has_word;
	/** -v came without a number: one may follow. */
	bool             sha_verbose_open;
	uint64_t         sha_timeout_ms;
	const char      *sha_ctl;
	struct tool_fail sha_fail;
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

	tool_fail_set(&args->sha_fail, TOOL_USAGE,
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
			tool_fail_set(&args->sha_fail, TOOL_USAGE,
				      "'%s' is not accepted: %s", text,
				      others[i].sho_instead);
	}
	if (args->sha_fail.tf_exit == TOOL_OK)
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
		tool_fail_set(&args->sha_fail, TOOL_USAGE,
			      "'%s': no further operand is accepted", text);
		return;
	}
	args->sha_has_word = true;
	for (word = args->sha_words; word->shw_name != NULL; ++word) {
		if (strcmp(word->shw_name, text) == 0) {
			args->sha_req.cq_verb = word->shw_verb;
			return;
		}
	}
	if (is_other(args, text, state))
		return;
	words_text(args, words, sizeof words);
	tool_fail_set(&args->sha_fail, TOOL_USAGE,
		      "'%s' is not accepted; there is: %s", text, words);
}

static void word_missing(struct show_args *args)
{
	char words[64];

	words_text(args, words, sizeof words);
	tool_fail_set(&args->sha_fail, TOOL_USAGE,
		      "a word is missing; there is: %s", words);
}

static void verbose_option(struct show_args *args, const char *text)
{
	args->sha_req.cq_verbose = (unsigned)tool_number_option(
		&args->sha_fail, "--verbose", text, 0, CTL_VERBOSE_MAX);
}

static void net_option(struct show_args *args, const char *text)
{
	if (m0_lnet_net_parse(&args->sha_req.cq_net, text) != 0)
		tool_bad_value(&args->sha_fail, "--net", text,
			       "a network as tcp, tcp1, lo");
}

static void nid_option(struct show_args *args, const char *text)
{
	struct ctl_request *req = &args->sha_req;

	if (m0_lnet_nid_parse(&req->cq_nids[0], text) != 0)
		tool_bad_value(&args->sha_fail, "--nid", text,
			       "a NID as 10.0.0.1@tcp");
	req->cq_nids_nr = 1;
}

static error_t show_option(int key, char *arg, struct argp_state *state)
{
	struct show_args *args = state->input;
	bool              open = args->sha_verbose_open;

	args->sha_verbose_open = false;
	switch (key) {
	case 'v':
		args->sha_verbose_open = arg == NULL;
		verbose_option(args, arg == NULL ? "1" : arg);
		break;
	case 'j':
		args->sha_req.cq_json = true;
		break;
	case KEY_CTL:
		args->sha_ctl = ctl_path_option(&args->sha_fail, arg);
		break;
	case KEY_TIMEOUT:
		args->sha_timeout_ms =
			tool_ms_option(&args->sha_fail, "--timeout", arg, 1);
		break;
	case KEY_NET:
		net_option(args, arg);
		break;
	case KEY_NID:
		nid_option(args, arg);
		break;
	case ARGP_KEY_ARG:
		/* `-v 4` is lnetctl's way as well as -v4. */
		if (open && arg[0] >= '0' && arg[0] <= '9')
			verbose_option(args, arg);
		else
			word_option(args, arg, state);
		break;
	case ARGP_KEY_END:
		if (!args->sha_has_word)
			word_missing(args);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static int show_main(int argc, char **argv, const struct argp *argp,
		     const struct show_word *words, const char *command)
{
	struct show_args args = { .sha_command = command,
				  .sha_words = words,
				  .sha_timeout_ms = TIMEOUT_MS };
	int              code = TOOL_OK;

	ctl_request_init(&args.sha_req, words->shw_verb);
	if (tool_parse(argp, argc, argv, ARGP_IN_ORDER, &args) != 0)
		return TOOL_USAGE;
	if (args.sha_fail.tf_exit == TOOL_OK)
		code = ctl_ask_at(args.sha_ctl, &args.sha_req,
				  args.sha_timeout_ms, &args.sha_fail);
	if (tool_fail_print(&args.sha_fail, argv[0]) != TOOL_OK)
		code = args.sha_fail.tf_exit;
	return tool_finish_output(argv[0], code);
}

#define VERBOSE(more)                                                         \
	{                                                                     \
		"verbose", 'v', "N", OPTION_ARG_OPTIONAL, "Show more: " more, \
			0                                                     \
	}
/* clang-format off */
#define COMMON                                                                \
	{ "json", 'j', NULL, 0, "Print JSON", 0 },                            \
	{ "timeout", KEY_TIMEOUT, "TIME", 0,                                  \
	  "Fail if the node does not answer for this long; default 30", 0 },                     \
	{ "ctl", KEY_CTL, "PATH", 0, "Control socket of the node", 0 },       \
	{ 0 }
/* clang-format on */

int net_main(int argc, char **argv)
{
	static const struct show_word   words[] = { { "show", CTL_NET_SHOW },
						    { NULL, 0 } };
	static const struct argp_option options[] = {
		VERBOSE("1 statistics and limits (without N), 2 messages by "
			"type and health, 4 all"),
		{ "net", KEY_NET, "NET", 0, "Only this network", 0 },
		COMMON,
	};
	static const struct argp argp = {
		options,
		show_option,
		"show",
		"Show the networks and interfaces of the running node.",
		NULL,
		NULL,
		NULL,
	};

	return show_main(argc, argv, &argp, words, "net");
}

int peer_main(int argc, char **argv)
{
	static const struct show_word   words[] = { { "show", CTL_PEER_SHOW },
						    { "list", CTL_PEER_LIST },
						    { NULL, 0 } };
	static const struct argp_option options[] = {
		VERBOSE("1 credits and statistics (without N), 2 messages by "
			"type and health, 3 state, 4 all"),
		{ "nid", KEY_NID, "NID", 0, "Only the peer with this NID", 0 },
		COMMON,
	};
	static const struct argp argp = {
		options,
		show_option,
		"show\nlist",
		"Show the peers of the running node; list: only their primary "
		"NIDs.",
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
		VERBOSE("4 also why messages were dropped"),
		COMMON,
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
		VERBOSE("accepted for compatibility, without effect"),
		COMMON,
	};
	static const struct argp argp = {
		options, show_option,
		"show",  "Show the parameters of the running node.",
		NULL,    NULL,
		NULL,
	};

	return show_main(argc, argv, &argp, words, "global");
}
