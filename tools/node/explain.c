/* SPDX-License-Identifier: Apache-2.0 */
/** `colibri explain`: which path a message of the running node would take, and why. */
#include <argp.h>

#include "ctl_args.h"
#include "lnet_opts.h"

enum {
	KEY_FROM = CTL_KEY_OWN,
	KEY_SIZE
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

static error_t explain_option(int key, char *arg, struct argp_state *state)
{
	struct ctl_args *args = state->input;

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
	case ARGP_KEY_END:
		if (args->ctg_req.cq_nids_nr == 0)
			tool_fail_set(&args->ctg_fail, TOOL_USAGE,
				      "a NID is missing: the destination, as "
				      "10.0.0.1@tcp");
		break;
	default:
		return ctl_args_option(args, key, arg) ? 0 : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int explain_main(int argc, char **argv)
{
	struct ctl_args                 args = { 0 };
	static const struct argp_option options[] = {
		{ "from", KEY_FROM, "NID", 0,
		  "Interface to send from; default: chosen", 0 },
		{ "size", KEY_SIZE, "BYTES", 0, "Bytes to send; default 0", 0 },
		CTL_OPTION_JSON,
		CTL_OPTIONS_END
	};
	static const struct argp argp = {
		options,
		explain_option,
		"NID",
		"Show which path a message of the running node to NID would "
		"take now: each path that is compared, in order, and the "
		"criterion by which it lost.",
		NULL,
		NULL,
		NULL,
	};

	return ctl_args_ask(&args, argc, argv, &argp, CTL_EXPLAIN);
}
