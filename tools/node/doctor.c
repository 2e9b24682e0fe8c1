/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri doctor`. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "doctor.h"
#include "../base/jout.h"
#include "../base/stop.h"

enum {
	KEY_BUNDLE = 256,
	KEY_TIMEOUT,
	KEY_ATTACH,
	KEY_REPORT,
	TIMEOUT_MS = 10000,
	TITLE_BYTES = 128
};

const char *const doctor_names[DOCTOR_CHECKS_NR] = {
	[DOCTOR_NAME] = "name",       [DOCTOR_ROUTE] = "route",
	[DOCTOR_PORT] = "port",       [DOCTOR_TCP] = "tcp",
	[DOCTOR_MTU] = "mtu",         [DOCTOR_HELLO] = "hello",
	[DOCTOR_PING] = "ping",       [DOCTOR_DISCOVERY] = "discovery",
	[DOCTOR_LATENCY] = "latency", [DOCTOR_RATE] = "rate",
	[DOCTOR_HEALTH] = "health",
};

const char *const doctor_verdicts[DOCTOR_VERDICTS_NR] = {
	[DOCTOR_SKIPPED] = "skipped",
	[DOCTOR_OK] = "ok",
	[DOCTOR_WARN] = "warn",
	[DOCTOR_FAIL] = "fail",
};

struct doctor_args {
	struct doctor doa_doctor;
	/** Operands. */
	char **doa_words;
	int    doa_words_nr;
};

/* ------------------------------------------------------------- a list of checks */

void doctor_note(struct doctor *doctor, enum doctor_what what,
		 enum doctor_verdict verdict, const char *fmt, ...)
{
	struct doctor_check *check = &doctor->dtr_checks[what];
	va_list              args;

	check->dch_verdict = verdict;
	va_start(args, fmt);
	(void)vsnprintf(check->dch_text, sizeof check->dch_text, fmt, args);
	va_end(args);
}

void doctor_remedy(struct doctor *doctor, enum doctor_what what,
		   const char *fmt, ...)
{
	struct doctor_check *check = &doctor->dtr_checks[what];
	va_list              args;

	va_start(args, fmt);
	(void)vsnprintf(check->dch_remedy, sizeof check->dch_remedy, fmt, args);
	va_end(args);
}

uint64_t doctor_left_ms(const struct doctor *doctor, uint64_t max)
{
	m0_time_t now = m0_time_now();
	uint64_t  left =
                now >= doctor->dtr_deadline
			 ? 1
			 : (doctor->dtr_deadline - now) / M0_TIME_ONE_MSEC + 1;

	return min_check(left, max);
}

void doctor_run(struct doctor *doctor, const char *operand)
{
	size_t i;

	M0_SET_ARR0(doctor->dtr_checks);
	for (i = 0; i < DOCTOR_CHECKS_NR; ++i)
		snprintf(doctor->dtr_checks[i].dch_text, DOCTOR_TEXT_BYTES,
			 "a check above has failed");
	doctor->dtr_operand = operand;
	doctor->dtr_device_mtu = 0;
	doctor->dtr_deadline = m0_time_add(
		m0_time_now(), doctor->dtr_timeout_ms * M0_TIME_ONE_MSEC);
	snprintf(doctor->dtr_nid_text, sizeof doctor->dtr_nid_text, "%s",
		 operand);
	if (!doctor_name_check(doctor))
		return;
	doctor_port_check(doctor);
	doctor_route_check(doctor);
	doctor_tcp_check(doctor);
	doctor_lnet_checks(doctor);
}

enum doctor_verdict doctor_worst(const struct doctor *doctor)
{
	enum doctor_verdict worst = DOCTOR_SKIPPED;
	size_t              i;

	for (i = 0; i < DOCTOR_CHECKS_NR; ++i)
		worst = max_check(worst, doctor->dtr_checks[i].dch_verdict);
	return worst;
}

/* -------------------------------------------------------------------- output */

static void print_text(const struct doctor *doctor, FILE *out)
{
	size_t i;

	fprintf(out, "%s\n", doctor->dtr_nid_text);
	for (i = 0; i < DOCTOR_CHECKS_NR; ++i) {
		const struct doctor_check *check = &doctor->dtr_checks[i];

		fprintf(out, "  %-10s %-8s %s\n", doctor_names[i],
			doctor_verdicts[check->dch_verdict], check->dch_text);
		if (check->dch_remedy[0] != '\0')
			fprintf(out, "  %-10s %-8s %s\n", "",
				"remedy:", check->dch_remedy);
	}
	fprintf(out, "verdict: %s\n", doctor_verdicts[doctor_worst(doctor)]);
}

static void print_json(const struct doctor *doctor, FILE *out)
{
	struct json_t *tree = jout_alloc();
	struct json_t *list;
	size_t         i;

	jout_str(tree, "nid", doctor->dtr_nid_text);
	jout_str(tree, "verdict", doctor_verdicts[doctor_worst(doctor)]);
	list = jout_array(tree, "checks");
	for (i = 0; i < DOCTOR_CHECKS_NR; ++i) {
		const struct doctor_check *check = &doctor->dtr_checks[i];
		struct json_t             *item = jout_append(list);

		jout_str(item, "check", doctor_names[i]);
		jout_str(item, "verdict", doctor_verdicts[check->dch_verdict]);
		jout_str(item, "text", check->dch_text);
		if (check->dch_remedy[0] != '\0')
			jout_str(item, "remedy", check->dch_remedy);
	}
	jout_finish(tree, out);
}

void doctor_print(const struct doctor *doctor, FILE *out)
{
	if (doctor->dtr_json)
		print_json(doctor, out);
	else
		print_text(doctor, out);
}

/* --------------------------------------------------------------- command line */

static const struct argp_option doctor_options[] = {
	{ "json", 'j', NULL, 0, "Print JSON; of one NID", 0 },
	{ "timeout", KEY_TIMEOUT, "TIME", 0,
	  "Time for the checks of a NID; default 10", 0 },
	{ "attach", KEY_ATTACH, "PATH", OPTION_ARG_OPTIONAL,
	  "Attach to the node that listens at PATH for processes; default "
	  "/run/colibri/attach.sock",
	  0 },
	{ "bundle", KEY_BUNDLE, "FILE", 0,
	  "Write a tar file for a support ticket: the report, and what the "
	  "running node shows; of one NID",
	  0 },
	{ "report", KEY_REPORT, "FILE", 0,
	  "Write a page of HTML: the checks of a NID, or a map of many", 0 },
	{ 0 },
};

static error_t doctor_option(int key, char *arg, struct argp_state *state)
{
	struct doctor_args *args = state->input;
	struct doctor      *doctor = &args->doa_doctor;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &doctor->dtr_opts;
		break;
	case 'j':
		doctor->dtr_json = true;
		break;
	case KEY_TIMEOUT:
		doctor->dtr_timeout_ms = tool_ms_option(&doctor->dtr_fail,
							"--timeout", arg, 100);
		break;
	case KEY_ATTACH:
		doctor->dtr_attaches = true;
		lnet_opts_attach(&doctor->dtr_opts, arg);
		break;
	case KEY_BUNDLE:
		doctor->dtr_bundle = arg;
		break;
	case KEY_REPORT:
		doctor->dtr_report = arg;
		break;
	case ARGP_KEY_ARGS:
		args->doa_words = state->argv + state->next;
		args->doa_words_nr = state->argc - state->next;
		break;
	case ARGP_KEY_NO_ARGS:
		tool_fail_set(&doctor->dtr_fail, TOOL_USAGE,
			      "a NID is missing, as 10.0.0.1@tcp");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child doctor_children[] = {
	{ &lnet_opts_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp doctor_argp = {
	doctor_options,
	doctor_option,
	"NID...",
	"Find out whether this host can talk to LNet nodes, and what to do if it "
	"cannot: name, route, port, TCP, MTU, hello, ping, discovery, latency, "
	"rate of 1 MiB transfers, health. NID may have the name of a host, as "
	"server1@tcp. Several NIDs, or 10.0.0.[1-20]@tcp, make a table. With a "
	"running node (see colibri-node(1)) it asks; without one, or with an "
	"option of the node, a node is opened for the purpose.\v"
	"TIME is in seconds, or as 500ms, 50s. Exit status: 0 without a failure, "
	"1 a check failed, 2 usage.",
	doctor_children,
	NULL,
	NULL,
};

/* @return number of NIDs; 0: one operand, which may be the name of a host. */
static unsigned words_expand(struct doctor_args *args, struct m0_lnet_nid *nids)
{
	struct doctor *doctor = &args->doa_doctor;
	unsigned       nr = 0;
	int            rc = 0;
	int            i;

	for (i = 0; i < args->doa_words_nr && rc == 0; ++i)
		rc = doctor_expand(args->doa_words[i], nids, &nr);
	if (rc == -EINVAL && args->doa_words_nr == 1)
		return 0;
	if (rc == -E2BIG)
		tool_fail_set(&doctor->dtr_fail, TOOL_USAGE,
			      "'%s': at most %d NIDs are accepted; take a part "
			      "of the range",
			      args->doa_words[i - 1], (int)DOCTOR_NIDS_MAX);
	else if (rc != 0)
		tool_fail_set(&doctor->dtr_fail, TOOL_USAGE,
			      "'%s' is not accepted; accepted: a NID as "
			      "10.0.0.1@tcp, or a range as 10.0.0.[1-20]@tcp",
			      args->doa_words[i - 1]);
	return nr;
}

static int one_run(struct doctor *doctor, const char *word)
{
	char  *text = NULL;
	size_t nr = 0;
	FILE  *file = open_memstream(&text, &nr);

	if (file == NULL)
		return tool_fail_set(&doctor->dtr_fail, TOOL_FAILED,
				     "no memory is left");
	doctor_run(doctor, word);
	doctor_print(doctor, file);
	(void)fclose(file);
	(void)fwrite(text, 1, nr, stdout);
	(void)fflush(stdout);
	doctor_page_one(doctor);
	if (doctor->dtr_bundle != NULL)
		(void)doctor_bundle(doctor, text, nr);
	free(text);
	return doctor_worst(doctor) == DOCTOR_FAIL ? TOOL_FAILED : TOOL_OK;
}

static int run(struct doctor_args *args)
{
	static struct m0_lnet_nid nids[DOCTOR_NIDS_MAX];
	struct doctor            *doctor = &args->doa_doctor;
	unsigned                  nr = words_expand(args, nids);
	char                      text[M0_LNET_NIDSTR_SIZE];
	const char               *word = args->doa_words[0];
	char                      title[TITLE_BYTES];
	int                       code;

	/* The range "10.0.0.[5]@tcp" is one NID. */
	if (nr == 1)
		word = m0_lnet_nid_print(&nids[0], text, sizeof text);
	if (nr > 1 && (doctor->dtr_json || doctor->dtr_bundle != NULL))
		tool_fail_set(&doctor->dtr_fail, TOOL_USAGE,
			      "%s is accepted with one NID only",
			      doctor->dtr_json ? "--json" : "--bundle");
	if (doctor->dtr_fail.tf_exit != TOOL_OK)
		return doctor->dtr_fail.tf_exit;
	doctor->dtr_is_table = nr > 1;
	snprintf(title, sizeof title, "colibri doctor: %s%s", word,
		 args->doa_words_nr > 1 ? " and others" : "");
	if (doctor_page_open(doctor, title) != TOOL_OK)
		return doctor->dtr_fail.tf_exit;
	(void)stop_init();
	doctor->dtr_deadline = m0_time_add(
		m0_time_now(), doctor->dtr_timeout_ms * M0_TIME_ONE_MSEC);
	doctor_lnet_open(doctor);
	if (doctor->dtr_fail.tf_exit == TOOL_USAGE ||
	    (doctor->dtr_fail.tf_exit != TOOL_OK &&
	     doctor->dtr_opts.nop_ctl != NULL)) {
		doctor_lnet_close(doctor);
		(void)doctor_page_close(doctor);
		return doctor->dtr_fail.tf_exit;
	}
	code = nr > 1 ? doctor_table(doctor, nids, nr) : one_run(doctor, word);
	doctor_lnet_close(doctor);
	return doctor_page_close(doctor) == TOOL_OK ? code : TOOL_FAILED;
}

/* Options of a node of its own, and which node is asked, exclude each other. */
static void args_check(struct doctor *doctor)
{
	const struct lnet_opts *opts = &doctor->dtr_opts;

	if (lnet_opts_check(&doctor->dtr_opts) == 0 &&
	    (int)opts->nop_given + (int)doctor->dtr_attaches +
			    (int)(opts->nop_ctl != NULL) >
		    1)
		tool_fail_set(&doctor->dtr_fail, TOOL_USAGE,
			      "one of --ctl, --attach and options of a node of "
			      "its own is accepted");
}

int doctor_main(int argc, char **argv)
{
	static struct doctor_args args;
	struct doctor            *doctor = &args.doa_doctor;
	int                       code = TOOL_OK;

	doctor->dtr_timeout_ms = TIMEOUT_MS;
	doctor->dtr_scanned = -1;
	lnet_opts_init(&doctor->dtr_opts, &doctor->dtr_fail);
	if (tool_parse(&doctor_argp, argc, argv, 0, &args) != 0)
		return TOOL_USAGE;
	args_check(doctor);
	if (doctor->dtr_fail.tf_exit == TOOL_OK)
		code = run(&args);
	if (tool_fail_print(&doctor->dtr_fail, argv[0]) != TOOL_OK)
		code = doctor->dtr_fail.tf_exit;
	return tool_finish_output(argv[0], code);
}
