/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri udsp`: rules of selection of the running node. */
#include <argp.h>
#include <stdio.h>

#include "ctl_args.h"
#include "lnet_opts.h"

enum {
	KEY_SRC = 's',
	KEY_DST = 'd',
	KEY_RTE = 'r',
	KEY_PRIORITY = 'p',
	KEY_IDX = 'i',
	KEY_ALL = CTL_KEY_OWN,
	KEY_DRY_RUN
};

static const struct ctl_word words[] = {
	{ "add", CTL_UDSP_ADD },
	{ "del", CTL_UDSP_DEL },
	{ "show", CTL_UDSP_SHOW },
	{ NULL, 0 },
};

struct udsp_args {
	struct ctl_args          uda_ask;
	bool                     uda_all;
	bool                     uda_dry_run;
	struct m0_lnet_udsp_text uda_text;
	/** An option of add was given; NULL. */
	const char *uda_add_only;
};

/* Makes the rule of the texts. */
static void rule_take(struct udsp_args *args)
{
	char why[M0_LNET_WHY_BYTES] = "";

	if (m0_lnet_udsp_parse(&args->uda_ask.ctg_req.cq_udsp, &args->uda_text,
			       why) != 0)
		tool_fail_set(&args->uda_ask.ctg_fail, TOOL_USAGE, "%s", why);
}

static void idx_take(struct udsp_args *args)
{
	if (args->uda_text.lut_idx != NULL)
		args->uda_ask.ctg_req.cq_udsp.lud_idx =
			(int32_t)tool_number_option(&args->uda_ask.ctg_fail,
						    "--idx",
						    args->uda_text.lut_idx, 0,
						    INT32_MAX);
}

static void args_check(struct udsp_args *args)
{
	struct tool_fail *fail = &args->uda_ask.ctg_fail;
	enum ctl_verb     verb = args->uda_ask.ctg_req.cq_verb;
	bool              has_idx = args->uda_text.lut_idx != NULL;

	ctl_args_word_check(&args->uda_ask);
	if (args->uda_dry_run && verb == CTL_UDSP_SHOW)
		tool_fail_set(
			fail, TOOL_USAGE,
			"--dry-run is not accepted here; it is of add and "
			"del");
	if (verb != CTL_UDSP_ADD && args->uda_add_only != NULL) {
		tool_fail_set(fail, TOOL_USAGE,
			      "%s is not accepted here; it is of add",
			      args->uda_add_only);
	} else if (verb != CTL_UDSP_DEL && args->uda_all) {
		tool_fail_set(fail, TOOL_USAGE,
			      "--all is not accepted here; it is of del");
	} else if (verb == CTL_UDSP_DEL && args->uda_all == has_idx) {
		tool_fail_set(fail, TOOL_USAGE,
			      "del takes --idx N, the index of a rule, or "
			      "--all, one of both");
	} else if (verb == CTL_UDSP_ADD) {
		rule_take(args);
	} else {
		idx_take(args);
	}
	if (args->uda_dry_run)
		args->uda_ask.ctg_req.cq_verb = verb == CTL_UDSP_ADD
							? CTL_UDSP_ADD_DRY
							: CTL_UDSP_DEL_DRY;
}

static bool rule_option(struct udsp_args *args, int key, const char *arg)
{
	struct m0_lnet_udsp_text *text = &args->uda_text;

	switch (key) {
	case KEY_SRC:
		text->lut_src = arg;
		args->uda_add_only = "--src";
		return true;
	case KEY_DST:
		text->lut_dst = arg;
		args->uda_add_only = "--dst";
		return true;
	case KEY_RTE:
		text->lut_rte = arg;
		args->uda_add_only = "--rte";
		return true;
	case KEY_PRIORITY:
		text->lut_priority = arg;
		args->uda_add_only = "--priority";
		return true;
	case KEY_IDX:
		text->lut_idx = arg;
		return true;
	default:
		return false;
	}
}

static error_t udsp_option(int key, char *arg, struct argp_state *state)
{
	struct udsp_args *args = state->input;

	if (rule_option(args, key, arg))
		return 0;
	switch (key) {
	case KEY_ALL:
		args->uda_all = true;
		break;
	case KEY_DRY_RUN:
		args->uda_dry_run = true;
		break;
	case ARGP_KEY_ARG:
		ctl_args_word(&args->uda_ask, arg);
		break;
	case ARGP_KEY_END:
		args_check(args);
		break;
	default:
		return ctl_args_option(&args->uda_ask, key, arg)
			       ? 0
			       : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int udsp_main(int argc, char **argv)
{
	struct udsp_args args = { .uda_ask = { .ctg_words = words } };
	static const struct argp_option options[] = {
		{ "src", KEY_SRC, "RANGE", 0,
		  "Interfaces of this node, as 10.0.[1-5].*@tcp, or their "
		  "network, as tcp[1-3]",
		  0 },
		{ "dst", KEY_DST, "RANGE", 0, "NIDs of peers, or their network",
		  0 },
		{ "rte", KEY_RTE, "RANGE", 0, "NIDs of gateways", 0 },
		{ "priority", KEY_PRIORITY, "N", 0,
		  "Priority of what --src or --dst alone names; 0, the default, "
		  "is the best",
		  0 },
		{ "idx", KEY_IDX, "N", 0,
		  "Index of the rule; add: insert it there, default at the end",
		  0 },
		{ "all", KEY_ALL, NULL, 0, "del: all rules", 0 },
		{ "dry-run", KEY_DRY_RUN, NULL, 0,
		  "add, del: change nothing, and print which peers would "
		  "change their paths",
		  0 },
		CTL_OPTION_JSON,
		CTL_OPTIONS_END
	};
	static const struct argp argp = {
		options,
		udsp_option,
		"add --src=RANGE|--dst=RANGE [--priority=N] [--dry-run]\n"
		"add --dst=RANGE --src=RANGE|--rte=RANGE [--dry-run]\n"
		"del --idx=N|--all [--dry-run]\nshow",
		"Add, delete or show rules of the running node by which it "
		"prefers interfaces, NIDs of peers, and gateways.",
		NULL,
		NULL,
		NULL,
	};

	return ctl_args_ask(&args.uda_ask, argc, argv, &argp, CTL_UDSP_SHOW);
}
