/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Options and operands of the clients of an object service. */
#include <stdio.h>
#include <stdlib.h>

#include "obj_client.h"
#include "../base/text.h"

enum {
	KEY_EP = 512,
	KEY_TIMEOUT,
	KEY_INFLIGHT,
	KEY_BLOCKS,
	KEY_STREAM,
	KEY_NO_BATCH,
	TIMEOUT_DEF_MS = 30000
};

static const struct argp_option obj_options[] = {
	{ "ep", KEY_EP, "EP", 0,
	  "Local end point, NID:12345:portal:tmid, as 10.0.0.1@tcp:12345:40:*",
	  0 },
	{ "transport", 't', "NAME", 0, "Transport; default lnet", 0 },
	{ "timeout", KEY_TIMEOUT, "TIME", 0,
	  "Fail if the service does not answer for this long; default 30", 0 },
	{ "inflight", KEY_INFLIGHT, "N", 0,
	  "Number of requests in flight, 1 to 256; default 64", 0 },
	{ "blocks", KEY_BLOCKS, "N", 0,
	  "Number of 1 MiB blocks in flight, 1 to 256; default 8", 0 },
	{ "stream", KEY_STREAM, "N", 0,
	  "Number of update streams, 1 to 256: updates of different streams "
	  "run in parallel; default as many as --inflight",
	  0 },
	{ "no-batch", KEY_NO_BATCH, NULL, 0,
	  "Send each request in a message of its own, for comparison", 0 },
	{ "json", 'j', NULL, 0, "Print JSON", 0 },
	{ "quiet", 'q', NULL, 0,
	  "Print no progress, and no result except with --json", 0 },
	{ 0 },
};

static error_t obj_option(int key, char *arg, struct argp_state *state)
{
	struct obj_args  *args = state->input;
	struct tool_fail *fail = args->oa_fail;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->oa_opts;
		break;
	case KEY_EP:
		args->oa_ep = arg;
		break;
	case 't':
		args->oa_transport = arg;
		break;
	case KEY_TIMEOUT:
		args->oa_timeout_ms = tool_ms_option(fail, "--timeout", arg, 1);
		break;
	case KEY_INFLIGHT:
		args->oa_inflight = tool_number_option(fail, "--inflight", arg,
						       1, OBJ_INFLIGHT_MAX);
		break;
	case KEY_BLOCKS:
		args->oa_blocks = tool_number_option(fail, "--blocks", arg, 1,
						     OBJ_INFLIGHT_MAX);
		break;
	case KEY_STREAM:
		args->oa_streams = tool_number_option(fail, "--stream", arg, 1,
						      OBJ_STREAMS_MAX);
		break;
	case KEY_NO_BATCH:
		args->oa_no_batch = true;
		break;
	case 'j':
		args->oa_json = true;
		break;
	case 'q':
		args->oa_quiet = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child obj_children[] = {
	{ &lnet_opts_own_argp, 0, NULL, 0 },
	{ 0 },
};

const struct argp obj_args_argp = {
	obj_options, obj_option, NULL, NULL, obj_children, NULL, NULL,
};

void obj_args_init(struct obj_args *args, const char *program,
		   struct tool_fail *fail)
{
	M0_SET0(args);
	args->oa_program = program;
	args->oa_inflight = OBJ_INFLIGHT_DEF;
	args->oa_blocks = OBJ_BLOCKS_DEF;
	args->oa_timeout_ms = TIMEOUT_DEF_MS;
	args->oa_fail = fail;
	lnet_opts_init(&args->oa_opts, fail);
}

/* ------------------------------------------------------------- operands -- */

bool obj_target_is(const char *text)
{
	return tool_place_ep_end(text) != NULL;
}

int obj_target_parse(struct obj_target *target, const char *text,
		     struct tool_fail *fail)
{
	char *at = target->ot_text;
	char *end;

	M0_SET0(target);
	if (strlen(text) >= sizeof target->ot_text + OBJ_NAME_MAX)
		return tool_fail_set(fail, TOOL_USAGE, "'%.60s...' is too long",
				     text);
	/* The end points fit; of the name what does. */
	memcpy(target->ot_text, text,
	       min64u(strlen(text), sizeof target->ot_text - 1));
	do {
		end = (char *)(uintptr_t)tool_place_ep_end(at);
		if (end == NULL || target->ot_eps_nr == OBJ_EPS_MAX)
			return tool_fail_set(
				fail, TOOL_USAGE,
				"'%s' is not accepted; accepted: "
				"EP[,EP...]:NAME, up to %d end points as "
				"10.0.0.1@tcp:12345:40:1",
				text, OBJ_EPS_MAX);
		if (tool_place_check(NULL, at, (size_t)(end - at), false,
				     "end point", fail) != 0)
			return fail->tf_exit;
		target->ot_eps[target->ot_eps_nr++] = at;
		at = end + 1;
	} while (*end == ',');
	for (end = target->ot_text; end < at; ++end)
		if (*end == ',')
			*end = '\0';
	at[-1] = '\0';
	/* Point into the operand, since a name may be long. */
	target->ot_name = text + (at - target->ot_text);
	return 0;
}

bool obj_target_same(const struct obj_target *a, const struct obj_target *b)
{
	unsigned i;

	for (i = 0; i < a->ot_eps_nr && i < b->ot_eps_nr; ++i)
		if (strcmp(a->ot_eps[i], b->ot_eps[i]) != 0)
			return false;
	return a->ot_eps_nr == b->ot_eps_nr;
}
