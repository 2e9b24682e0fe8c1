/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri top`. */
#include <argp.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>

#include "ctl_args.h"
#include "lnet_opts.h"
#include "top.h"
#include "../base/stop.h"

enum {
	KEY_ONCE = CTL_KEY_OWN,
	KEY_BATCH,
	KEY_COUNT,
	KEY_DELAY,
	KEY_WIDTH,
	DELAY_MS = 1000,
	WIDTH_MIN = 20,
	WIDTH_MAX = 500,
	/** A screen waits so long for the node: keys are not read meanwhile. */
	SCREEN_LOOK_MS = 2000
};

struct top_args {
	struct ctl_args tpa_ask;
	uint64_t        tpa_delay_ms;
	/** Prints text, so many times; 0: without end. */
	bool     tpa_batch;
	uint64_t tpa_count;
	unsigned tpa_width;
	int      tpa_stop_fd;
	/** The last two states; the older one has a time of 0 if there is none. */
	struct top_data tpa_data[2];
};

static error_t top_option(int key, char *arg, struct argp_state *state)
{
	struct top_args  *args = state->input;
	struct tool_fail *fail = &args->tpa_ask.ctg_fail;

	switch (key) {
	case KEY_ONCE:
		args->tpa_batch = true;
		args->tpa_count = 1;
		break;
	case KEY_BATCH:
		args->tpa_batch = true;
		break;
	case KEY_COUNT:
		args->tpa_batch = true;
		args->tpa_count =
			tool_number_option(fail, "--count", arg, 1, UINT32_MAX);
		break;
	case KEY_DELAY:
		args->tpa_delay_ms = tool_ms_option(fail, "--delay", arg, 100);
		break;
	case KEY_WIDTH:
		args->tpa_width = (unsigned)tool_number_option(
			fail, "--width", arg, WIDTH_MIN, WIDTH_MAX);
		break;
	case ARGP_KEY_ARG:
		tool_fail_set(fail, TOOL_USAGE, "'%s': no operand is accepted",
			      arg);
		break;
	default:
		/* The tables are no tree. */
		return key != 'j' && key != 'v' &&
				       ctl_args_option(&args->tpa_ask, key, arg)
			       ? 0
			       : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_option top_options[] = {
	{ "once", KEY_ONCE, NULL, 0, "Print text once, after one delay", 0 },
	{ "batch", KEY_BATCH, NULL, 0, "Print text after each delay", 0 },
	{ "count", KEY_COUNT, "N", 0, "Print text N times", 0 },
	{ "delay", KEY_DELAY, "TIME", 0,
	  "Time between two looks at the node; default 1", 0 },
	{ "width", KEY_WIDTH, "N", 0,
	  "Columns of the text, 20 to 500; default 120", 0 },
	CTL_OPTIONS_END,
};

static const struct argp top_argp = {
	top_options,
	top_option,
	NULL,
	"Show the interfaces, routes, attached processes and peers of the "
	"running node, with rates, credits and their low-water marks, until q "
	"is pressed. Other keys: s sorts peers by traffic, queue or name; the "
	"arrows scroll.\v"
	"TIME is in seconds, or as 500ms, 50s.",
	NULL,
	NULL,
	NULL,
};

/* The node's answer is no state: what it says is the reason. */
static int look_refused(struct tool_fail *fail, const char *why)
{
	if (fail->tf_exit != TOOL_OK)
		return fail->tf_exit;
	return tool_fail_set(fail, TOOL_FAILED, "%s",
			     why[0] == '\0' ? "the node gives no state" : why);
}

/* Reads the state of the node; the last one becomes the one before. */
static int look(struct top_args *args)
{
	struct ctl_args *ask = &args->tpa_ask;
	struct top_data  data = { .tda_at = 0 };
	char            *text;
	char            *err;
	int              code;
	int              rc;

	code = ctl_ask_text(ask->ctg_ctl, &ask->ctg_req, ask->ctg_timeout_ms,
			    args->tpa_stop_fd, &text, &err, &ask->ctg_fail);
	if (code != TOOL_OK)
		code = look_refused(&ask->ctg_fail, ctl_why(err));
	rc = code == TOOL_OK ? top_data_read(&data, text) : 0;
	free(text);
	free(err);
	if (rc != 0) {
		top_data_fini(&data);
		code = tool_fail_set(&ask->ctg_fail, TOOL_FAILED,
				     "the node's answer cannot be read");
	}
	if (code != TOOL_OK)
		return code;
	top_data_fini(&args->tpa_data[0]);
	args->tpa_data[0] = args->tpa_data[1];
	args->tpa_data[1] = data;
	return TOOL_OK;
}

/* A look that a signal has ended is no failure: the user has had enough. */
static int looked(struct top_args *args, int code)
{
	if (stop_signal() == 0)
		return code;
	args->tpa_ask.ctg_fail.tf_exit = TOOL_OK;
	return TOOL_OK;
}

static void view_make(struct top_args *args, struct top_view *view)
{
	view->tpv_now = &args->tpa_data[1];
	view->tpv_before = args->tpa_data[0].tda_at == 0 ? NULL
							 : &args->tpa_data[0];
}

static void line_print(void *arg, const char *line, bool is_head)
{
	const struct top_args *args = arg;

	(void)is_head;
	printf("%.*s\n", (int)args->tpa_width, line);
}

static int batch(struct top_args *args)
{
	struct top_view view = { .tpv_width = args->tpa_width,
				 .tpv_peers_max = UINT_MAX };
	struct pollfd   stop = { args->tpa_stop_fd, POLLIN, 0 };
	uint64_t        i;
	int             code = look(args);

	for (i = 0;
	     code == TOOL_OK && (args->tpa_count == 0 || i < args->tpa_count);
	     ++i) {
		(void)poll(&stop, 1, (int)args->tpa_delay_ms);
		if (stop_signal() != 0)
			break;
		code = look(args);
		if (code != TOOL_OK || stop_signal() != 0)
			break;
		view_make(args, &view);
		if (i > 0)
			(void)putchar('\n');
		top_lines(&view, line_print, args);
		if (fflush(stdout) != 0)
			break;
	}
	return looked(args, code);
}

/* @return false: the user has had enough. */
static bool key_take(struct top_view *view, enum top_key key)
{
	size_t all = view->tpv_now->tda_tables[TOP_PEER].ttb_nr;

	switch (key) {
	case TOP_KEY_QUIT:
		return false;
	case TOP_KEY_SORT:
		view->tpv_sort = (view->tpv_sort + 1) % TOP_SORTS_NR;
		break;
	case TOP_KEY_UP:
		view->tpv_skip -= view->tpv_skip > 0 ? 1 : 0;
		break;
	case TOP_KEY_DOWN:
		view->tpv_skip += view->tpv_skip + 1 < all ? 1 : 0;
		break;
	default:
		break;
	}
	return true;
}

static void watch(struct top_args *args)
{
	struct top_view view = { .tpv_width = 80 };
	char            message[160];
	m0_time_t       next = m0_time_now();
	m0_time_t       now;

	for (;;) {
		now = m0_time_now();
		if (now >= next) {
			view.tpv_message = NULL;
			if (look(args) != TOOL_OK) {
				/* Somebody may start the node again. */
				snprintf(message, sizeof message,
					 "no answer: %.120s",
					 args->tpa_ask.ctg_fail.tf_text);
				view.tpv_message = message;
				args->tpa_ask.ctg_fail.tf_exit = TOOL_OK;
				if (stop_signal() != 0)
					return;
			}
			next = m0_time_add(now, args->tpa_delay_ms *
							M0_TIME_ONE_MSEC);
		}
		view_make(args, &view);
		top_screen_draw(&view);
		now = m0_time_now();
		if (stop_signal() != 0 ||
		    !key_take(&view,
			      top_screen_key(
				      now >= next
					      ? 0
					      : (unsigned)((next - now) /
							   M0_TIME_ONE_MSEC) +
							1)))
			return;
	}
}

static int screen_run(struct top_args *args)
{
	uint64_t *ms = &args->tpa_ask.ctg_timeout_ms;
	int       code;

	*ms = min_check(*ms, (uint64_t)SCREEN_LOOK_MS);
	code = look(args);
	if (code != TOOL_OK || stop_signal() != 0)
		return looked(args, code);
	if (top_screen_open() != 0)
		return tool_fail_set(
			&args->tpa_ask.ctg_fail, TOOL_FAILED,
			"standard input or output is no terminal that can "
			"be used, or $TERM is wrong; for text, use "
			"--once or --batch");
	watch(args);
	top_screen_close();
	return TOOL_OK;
}

int top_main(int argc, char **argv)
{
	static struct top_args args = {
		.tpa_delay_ms = DELAY_MS,
		.tpa_width = 120,
	};
	int code = TOOL_OK;

	ctl_args_init(&args.tpa_ask, CTL_METRICS_SHOW);
	if (tool_parse(&top_argp, argc, argv, 0, &args) != 0)
		return TOOL_USAGE;
	if (args.tpa_ask.ctg_fail.tf_exit == TOOL_OK) {
		args.tpa_stop_fd = stop_init();
		code = args.tpa_batch ? batch(&args) : screen_run(&args);
	}
	top_data_fini(&args.tpa_data[0]);
	top_data_fini(&args.tpa_data[1]);
	if (tool_fail_print(&args.tpa_ask.ctg_fail, argv[0]) != TOOL_OK)
		code = args.tpa_ask.ctg_fail.tf_exit;
	return tool_finish_output(argv[0], code);
}
