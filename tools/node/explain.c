/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri explain`: which path a message of the running node would take, and why. */
#include <argp.h>

#include "ctl_args.h"
#include "explain_conf.h"
#include "lnet_opts.h"

enum {
	KEY_FROM = CTL_KEY_OWN,
	KEY_SIZE,
	KEY_CONFIG,
	KEY_ADDRESS
};

struct explain_args {
	struct ctl_args exg_ask;
	/** NULL: the running node. */
	const char          *exg_config;
	struct explain_addrs exg_addrs;
};

/** Most bytes of a transfer that may be asked about. */
#define SIZE_MAX_BYTES (UINT64_C(1) << 40)

static void nid_option(struct ctl_args *args, const char *what,
		       const char *text, struct m0_lnet_nid *ret)
{
	if (m0_lnet_nid_parse(ret, text) != 0 || m0_lnet_nid_is_any(ret))
		tool_bad_value(&args->ctg_fail, what, text,
			       "a NID as 10.0.0.1@tcp");
}

static void dest_operand(struct ctl_args *args, const char *text)
{
	struct ctl_request *req = &args->ctg_req;

	if (req->cq_nids_nr > 0) {
		tool_fail_set(&args->ctg_fail, TOOL_USAGE,
			      "'%s': no further operand is accepted", text);
		return;
	}
	nid_option(args, "NID", text, &req->cq_nids[0]);
	req->cq_nids_nr = 1;
}

static void address_option(struct explain_args *args, const char *text)
{
	struct explain_addrs *addrs = &args->exg_addrs;

	if (addrs->exa_nr == EXPLAIN_ADDRS_MAX)
		tool_fail_set(&args->exg_ask.ctg_fail, TOOL_USAGE,
			      "--address is accepted %d times at most",
			      (int)EXPLAIN_ADDRS_MAX);
	else
		addrs->exa_texts[addrs->exa_nr++] = text;
}

static void args_check(struct explain_args *args)
{
	struct tool_fail *fail = &args->exg_ask.ctg_fail;

	if (args->exg_ask.ctg_req.cq_nids_nr == 0)
		tool_fail_set(fail, TOOL_USAGE,
			      "a NID is missing: the destination, as "
			      "10.0.0.1@tcp");
	if (args->exg_addrs.exa_nr > 0 && args->exg_config == NULL)
		tool_fail_set(fail, TOOL_USAGE,
			      "--address is accepted with --config only");
	if (args->exg_ask.ctg_ctl != NULL && args->exg_config != NULL)
		tool_fail_set(fail, TOOL_USAGE,
			      "--ctl is not accepted with --config, which asks "
			      "no node; accepted: one of them");
}

static error_t explain_option(int key, char *arg, struct argp_state *state)
{
	struct explain_args *all = state->input;
	struct ctl_args     *args = &all->exg_ask;

	switch (key) {
	case KEY_FROM:
		nid_option(args, "--from", arg, &args->ctg_req.cq_source);
		break;
	case KEY_SIZE:
		args->ctg_req.cq_value = tool_number_option(
			&args->ctg_fail, "--size", arg, 0, SIZE_MAX_BYTES);
		break;
	case ARGP_KEY_ARG:
		dest_operand(args, arg);
		break;
	case KEY_CONFIG:
		all->exg_config = arg;
		break;
	case KEY_ADDRESS:
		address_option(all, arg);
		break;
	case ARGP_KEY_END:
		args_check(all);
		break;
	default:
		return ctl_args_option(args, key, arg) ? 0 : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int explain_main(int argc, char **argv)
{
	struct explain_args             args = { .exg_config = NULL };
	struct tool_fail               *fail = &args.exg_ask.ctg_fail;
	int                             code = TOOL_OK;
	static const struct argp_option options[] = {
		{ "from", KEY_FROM, "NID", 0,
		  "Interface to send from; default: chosen", 0 },
		{ "size", KEY_SIZE, "BYTES", 0, "Bytes to send; default 0", 0 },
		{ "config", KEY_CONFIG, "FILE", 0,
		  "Explain for a node of lnet.conf(5) in FILE that does not "
		  "run; nothing is asked, and the network is not used",
		  0 },
		{ "address", KEY_ADDRESS, "DEVICE=ADDRESS", 0,
		  "With --config: address of a device of FILE; may be given "
		  "several times",
		  0 },
		CTL_OPTION_JSON,
		CTL_OPTIONS_END
	};
	static const struct argp argp = {
		options,
		explain_option,
		"NID",
		"Show which path a message of the running node, or of a node "
		"of FILE, to NID would take now: each path that is compared, in order, and the "
		"criterion by which it lost.",
		NULL,
		NULL,
		NULL,
	};

	ctl_args_init(&args.exg_ask, CTL_EXPLAIN);
	if (tool_parse(&argp, argc, argv, ARGP_IN_ORDER, &args) != 0)
		return TOOL_USAGE;
	if (args.exg_config == NULL)
		return ctl_args_end(&args.exg_ask, argv[0]);
	if (fail->tf_exit == TOOL_OK)
		code = explain_conf(args.exg_config, &args.exg_ask.ctg_req,
				    &args.exg_addrs, fail);
	if (tool_fail_print(fail, argv[0]) != TOOL_OK)
		code = fail->tf_exit;
	return tool_finish_output(argv[0], code);
}
