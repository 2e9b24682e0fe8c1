/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri config`: the configuration of a node as a file. */
#include <argp.h>
#include <stdlib.h>

#include "conf_file.h"
#include "../node/ctl_args.h"
#include "../node/lnet_opts.h"
#include "../base/file_save.h"
#include "../base/text.h"

enum {
	KEY_BACKUP = CTL_KEY_OWN,
	KEY_ADD,
	KEY_DEL,
	KEY_REPLACE,
	KEY_SHOW,
	KEY_CONFIRM,
	TIMEOUT_MS = 30000,
	/** Longest name of a file, with a NUL. */
	NAME_MAX_BYTES = 4097,
	CONFIRM_MAX_S = 86400
};

enum config_verb {
	CONFIG_CHECK,
	CONFIG_IMPORT,
	CONFIG_EXPORT,
	CONFIG_DIFF,
	CONFIG_CONFIRM,
	CONFIG_UNDO,
	CONFIG_NONE
};

static const char *const verbs[CONFIG_NONE] = { "check", "import",  "export",
						"diff",  "confirm", "undo" };

#define VERBS "check, import, export, diff, confirm, undo"

struct config_args {
	struct ctl_args  cfa_ask;
	enum config_verb cfa_verb;
	const char      *cfa_file;
	bool             cfa_backup;
	/** One of --add, --del, --replace, --show. */
	const char *cfa_mode;
	bool        cfa_shows;
	/** 0: none. */
	uint64_t cfa_confirm_s;
	/** Options of one verb, for the message. */
	const char *cfa_import_only;
};

static void word_option(struct config_args *args, const char *text)
{
	struct tool_fail *fail = &args->cfa_ask.ctg_fail;
	int               i;

	if (args->cfa_verb == CONFIG_NONE) {
		for (i = 0; i < CONFIG_NONE; ++i) {
			if (strcmp(text, verbs[i]) == 0)
				args->cfa_verb = (enum config_verb)i;
		}
		if (args->cfa_verb == CONFIG_NONE)
			tool_fail_set(fail, TOOL_USAGE,
				      "'%s' is not accepted; there is: " VERBS,
				      text);
	} else if (args->cfa_file != NULL || args->cfa_verb >= CONFIG_CONFIRM) {
		tool_fail_set(fail, TOOL_USAGE,
			      "'%s': no further operand is accepted", text);
	} else {
		args->cfa_file = text;
	}
}

static void mode_option(struct config_args *args, const char *mode)
{
	if (args->cfa_mode != NULL && strcmp(args->cfa_mode, mode) != 0)
		tool_fail_set(&args->cfa_ask.ctg_fail, TOOL_USAGE,
			      "--%s is not accepted with --%s", mode,
			      args->cfa_mode);
	args->cfa_mode = mode;
	args->cfa_import_only = mode;
}

static void args_check(struct config_args *args)
{
	struct tool_fail *fail = &args->cfa_ask.ctg_fail;

	if (args->cfa_verb == CONFIG_NONE)
		tool_fail_set(fail, TOOL_USAGE,
			      "a word is missing; there is: " VERBS);
	if (args->cfa_import_only != NULL && args->cfa_verb != CONFIG_IMPORT)
		tool_fail_set(fail, TOOL_USAGE,
			      "--%s is not accepted here; it is of import",
			      args->cfa_import_only);
	if (args->cfa_ask.ctg_req.cq_json &&
	    !M0_IN(args->cfa_verb, (CONFIG_IMPORT, CONFIG_DIFF, CONFIG_NONE)))
		tool_fail_set(fail, TOOL_USAGE,
			      "--json is not accepted here; it is of import "
			      "and diff");
	if (args->cfa_shows &&
	    (args->cfa_confirm_s > 0 || args->cfa_ask.ctg_req.cq_json))
		tool_fail_set(fail, TOOL_USAGE,
			      "--%s is not accepted with --show",
			      args->cfa_confirm_s > 0 ? "confirm" : "json");
	if (args->cfa_backup && args->cfa_verb != CONFIG_EXPORT)
		tool_fail_set(fail, TOOL_USAGE,
			      "--backup is not accepted here; it is of export");
	if (args->cfa_file == NULL && args->cfa_verb != CONFIG_EXPORT)
		args->cfa_file = "-";
}

static error_t config_option(int key, char *arg, struct argp_state *state)
{
	struct config_args *args = state->input;

	switch (key) {
	case KEY_BACKUP:
		args->cfa_backup = true;
		break;
	case KEY_ADD:
		mode_option(args, "add");
		break;
	case KEY_DEL:
		mode_option(args, "del");
		break;
	case KEY_REPLACE:
		mode_option(args, "replace");
		break;
	case KEY_SHOW:
		args->cfa_shows = true;
		mode_option(args, "show");
		break;
	case KEY_CONFIRM:
		args->cfa_import_only = "confirm";
		args->cfa_confirm_s =
			tool_number_option(&args->cfa_ask.ctg_fail, "--confirm",
					   arg, 1, CONFIRM_MAX_S);
		break;
	case ARGP_KEY_ARG:
		word_option(args, arg);
		break;
	case ARGP_KEY_END:
		args_check(args);
		break;
	default:
		return ctl_args_option(&args->cfa_ask, key, arg)
			       ? 0
			       : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ------------------------------------------------------------------- the work */

static int ask(struct config_args *args, enum ctl_verb verb, unsigned verbose,
	       FILE *out)
{
	struct ctl_request *req = &args->cfa_ask.ctg_req;

	req->cq_verb = verb;
	req->cq_verbose = verbose;
	return ctl_ask_at_to(args->cfa_ask.ctg_ctl, req,
			     args->cfa_ask.ctg_timeout_ms, -1, out, stderr,
			     &args->cfa_ask.ctg_fail);
}

static int check(struct config_args *args)
{
	struct conf_model model;
	int               code =
		conf_file_load(args->cfa_file, &model, &args->cfa_ask.ctg_fail);

	if (code == TOOL_OK) {
		conf_notes_print(args->cfa_file, &model, stderr);
		printf("%s: accepted: %u interfaces, %u routes, %u peers, %u "
		       "rules\n",
		       args->cfa_file, model.cmo_nis_nr, model.cmo_routes_nr,
		       model.cmo_peers_nr, model.cmo_udsps_nr);
	}
	conf_model_fini(&model);
	return code;
}

/* A node that runs keeps what it started with. */
static void starts_note(struct conf_model *model)
{
	unsigned i;

	for (i = 0; i < CONF_STARTS_NR; ++i) {
		if (model->cmo_starts[i].cst_given)
			conf_note(model, &model->cmo_starts[i].cst_place,
				  "%s takes effect when a node starts",
				  conf_start_name(i));
	}
}

/* Reads the file, and checks it. @param ret  its name, a newline, and its text. */
static int body_make(struct config_args *args, char **ret, size_t *ret_nr)
{
	struct tool_fail *fail = &args->cfa_ask.ctg_fail;
	struct conf_fail  why = { .cff_set = false };
	struct conf_model model;
	const char       *path = args->cfa_file;
	char              name[NAME_MAX_BYTES];
	char             *text;
	size_t            nr;
	int               rc;

	*ret = NULL;
	/* A newline ends the name in the body. */
	snprintf(name, sizeof name, "%s", path);
	text_make_printable(name);
	if (conf_file_read(path, &text, &nr, fail) != TOOL_OK)
		return fail->tf_exit;
	rc = conf_read(&model, text, nr, NULL, &why);
	if (rc != 0) {
		conf_file_fail(path, TOOL_USAGE, rc, &why, fail);
	} else {
		starts_note(&model);
		conf_notes_print(path, &model, stderr);
	}
	conf_model_fini(&model);
	*ret = rc == 0 ? malloc(strlen(name) + 1 + nr) : NULL;
	if (*ret != NULL) {
		memcpy(*ret, name, strlen(name));
		(*ret)[strlen(name)] = '\n';
		memcpy(*ret + strlen(name) + 1, text, nr);
		*ret_nr = strlen(name) + 1 + nr;
	} else if (rc == 0) {
		tool_fail_set(fail, TOOL_FAILED, "%s", tool_errtext(ENOMEM));
	}
	free(text);
	return fail->tf_exit;
}

static int import(struct config_args *args)
{
	struct ctl_request *req = &args->cfa_ask.ctg_req;
	char               *body;
	int                 code;

	if (strlen(args->cfa_file) >= NAME_MAX_BYTES)
		return tool_fail_set(&args->cfa_ask.ctg_fail, TOOL_USAGE,
				     "the name of the file is too long");
	code = body_make(args, &body, &req->cq_body_nr);
	if (code == TOOL_OK) {
		req->cq_body = body;
		req->cq_value = args->cfa_confirm_s;
		snprintf(req->cq_name, sizeof req->cq_name, "%s",
			 args->cfa_mode ?: "add");
		code = ask(args, CTL_CONFIG_IMPORT, 0, stdout);
	}
	free(body);
	return code;
}

/* @param ret  the node's configuration. The caller frees it, whatever happens. */
static int fetch(struct config_args *args, unsigned verbose, char **ret,
		 size_t *ret_nr)
{
	FILE *memory = open_memstream(ret, ret_nr);
	int   code;

	if (memory == NULL)
		return tool_fail_set(&args->cfa_ask.ctg_fail, TOOL_FAILED, "%s",
				     tool_errtext(ENOMEM));
	code = ask(args, CTL_CONFIG_EXPORT, verbose, memory);
	if (fclose(memory) != 0)
		code = tool_fail_set(&args->cfa_ask.ctg_fail, TOOL_FAILED, "%s",
				     tool_errtext(ENOMEM));
	return code;
}

static int export_to(struct config_args *args, const char *text, size_t nr)
{
	const char *path = args->cfa_file;
	int         rc = file_save(path, 0, text, nr);

	return rc == 0 ? TOOL_OK
		       : tool_fail_set(&args->cfa_ask.ctg_fail, TOOL_FAILED,
				       "%s: %s", path, tool_errtext(rc));
}

static int export(struct config_args *args)
{
	unsigned verbose = args->cfa_backup ? 0 : 2;
	char    *text = NULL;
	size_t   nr = 0;
	int      code;

	if (args->cfa_file == NULL || strcmp(args->cfa_file, "-") == 0)
		return ask(args, CTL_CONFIG_EXPORT, verbose, stdout);
	code = fetch(args, verbose, &text, &nr);
	if (code == TOOL_OK)
		code = export_to(args, text, nr);
	free(text);
	return code;
}

static int plan_print(struct config_args *args, struct conf_model *running,
		      const struct conf_model *want)
{
	struct conf_fail why = { .cff_set = false };
	struct conf_plan plan;
	int rc = conf_plan_make(&plan, running, want, running, &why);

	if (rc != 0)
		return conf_file_fail(args->cfa_file, TOOL_USAGE, rc, &why,
				      &args->cfa_ask.ctg_fail);
	conf_plan_print(&plan, args->cfa_ask.ctg_req.cq_json, stdout);
	conf_plan_fini(&plan);
	return TOOL_OK;
}

/* Prints what the node has of what the file names. */
static int kept_print(struct config_args *args, struct conf_model *running,
		      const struct conf_model *want)
{
	struct tool_fail *fail = &args->cfa_ask.ctg_fail;
	struct conf_fail  missing = { .cff_set = false };
	unsigned          nr = conf_keep(running, want, &missing);
	int               rc = conf_print(running, true, stdout);

	if (rc != 0)
		return tool_fail_set(fail, TOOL_FAILED, "%s", tool_errtext(rc));
	return nr == 0 ? TOOL_OK
		       : conf_file_fail(args->cfa_file, TOOL_FAILED, -ENOENT,
					&missing, fail);
}

/* Compares a file with the node, by `compare`. @param verbose  of the export. */
static int with_node(struct config_args *args, unsigned verbose,
		     int (*compare)(struct config_args      *args,
				    struct conf_model       *running,
				    const struct conf_model *want))
{
	struct tool_fail *fail = &args->cfa_ask.ctg_fail;
	struct conf_fail  why = { .cff_set = false };
	struct conf_model want;
	struct conf_model running;
	char             *text = NULL;
	size_t            nr = 0;
	int               code = conf_file_load(args->cfa_file, &want, fail);
	int               rc;

	if (code == TOOL_OK)
		code = fetch(args, verbose, &text, &nr);
	if (code == TOOL_OK) {
		rc = conf_read(&running, text, nr, NULL, &why);
		code = rc == 0 ? compare(args, &running, &want)
			       : conf_file_fail("the answer of the node",
						TOOL_FAILED, rc, &why, fail);
		conf_model_fini(&running);
	}
	free(text);
	conf_model_fini(&want);
	return code;
}

static int run(struct config_args *args)
{
	switch (args->cfa_verb) {
	case CONFIG_CHECK:
		return check(args);
	case CONFIG_IMPORT:
		return args->cfa_shows ? with_node(args, 2, kept_print)
				       : import(args);
	case CONFIG_EXPORT:
		return export(args);
	case CONFIG_DIFF:
		return with_node(args, 1, plan_print);
	case CONFIG_CONFIRM:
		return ask(args, CTL_CONFIG_CONFIRM, 0, stdout);
	default:
		M0_PRE(args->cfa_verb == CONFIG_UNDO);
		return ask(args, CTL_CONFIG_UNDO, 0, stdout);
	}
}

static const struct argp_option options[] = {
	{ "backup", KEY_BACKUP, NULL, 0,
	  "export: leave out what is not configured, as counters, so that the "
	  "file can be imported elsewhere",
	  0 },
	{ "add", KEY_ADD, NULL, 0,
	  "import: add and set what the file has (default)", 0 },
	{ "del", KEY_DEL, NULL, 0, "import: remove what the file has", 0 },
	{ "replace", KEY_REPLACE, NULL, 0,
	  "import: also remove what the sections of the file do not have", 0 },
	{ "show", KEY_SHOW, NULL, 0,
	  "import: change nothing, and print what the node has of what the file "
	  "names",
	  0 },
	{ "confirm", KEY_CONFIRM, "SECONDS", 0,
	  "import: undo the change after SECONDS, unless `colibri config "
	  "confirm' comes before",
	  0 },
	CTL_OPTION_JSON,
	CTL_OPTIONS_END
};

int config_main(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		config_option,
		"check [FILE]\nimport [FILE]\nexport [FILE]\ndiff [FILE]\n"
		"confirm\nundo",
		"Check a configuration file, bring the running node to what it "
		"says, print the configuration of the node, or the changes that "
		"`import --replace' would make. FILE is lnet.conf(5), or has "
		"`options lnet' lines of modprobe.d; - is standard input.",
		NULL,
		NULL,
		NULL,
	};
	struct config_args args = { .cfa_verb = CONFIG_NONE };
	struct tool_fail  *fail = &args.cfa_ask.ctg_fail;
	int                code = TOOL_OK;

	ctl_request_init(&args.cfa_ask.ctg_req, CTL_CONFIG_EXPORT);
	args.cfa_ask.ctg_timeout_ms = TIMEOUT_MS;
	if (tool_parse(&argp, argc, argv, ARGP_IN_ORDER, &args) != 0)
		return TOOL_USAGE;
	if (fail->tf_exit == TOOL_OK)
		code = run(&args);
	if (tool_fail_print(fail, argv[0]) != TOOL_OK)
		code = fail->tf_exit;
	return tool_finish_output(argv[0], code);
}
