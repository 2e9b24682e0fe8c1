/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri ls`, `colibri stat` and `colibri rm`. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../base/jout.h"
#include "obj_client.h"
#include "rm.h"
#include "../base/stop.h"
#include "../base/text.h"

enum {
	OPERANDS_MAX = 4096
};

struct ls_args {
	struct obj_args la_obj;
	/** Options of one or another. */
	bool              la_long;
	bool              la_recursive;
	const char      **la_names;
	unsigned          la_names_nr;
	struct obj_target la_target;
	struct obj_client la_client;
	struct json_t    *la_array;
	struct tool_fail *la_fail;
};

static error_t ls_option(int key, char *arg, struct argp_state *state)
{
	struct ls_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->la_obj;
		break;
	case 'l':
		args->la_long = true;
		break;
	case 'r':
		args->la_recursive = true;
		break;
	case ARGP_KEY_ARG:
		args->la_names[args->la_names_nr++] = arg;
		break;
	case ARGP_KEY_END:
		if (args->la_names_nr == 0)
			tool_fail_set(args->la_fail, TOOL_USAGE,
				      "EP:NAME is missing; usage: %s "
				      "[OPTION...] EP:NAME",
				      args->la_obj.oa_program);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child ls_children[] = {
	{ &obj_args_argp, 0, NULL, 0 },
	{ 0 },
};

/* Runs `work` with a session for the operands, all of one service. */
static int ls_run(int argc, char **argv, const struct argp *argp,
		  int (*work)(struct ls_args *args))
{
	struct ls_args    args = { .la_names_nr = 0 };
	struct tool_fail  fail = { .tf_exit = TOOL_OK };
	struct obj_target other;
	unsigned          i;

	obj_args_init(&args.la_obj, argv[0], &fail);
	args.la_fail = &fail;
	args.la_names = m0_alloc_arr((size_t)argc + 1, sizeof *args.la_names);
	if (args.la_names == NULL ||
	    tool_parse(argp, argc, argv, 0, &args) != 0) {
		m0_free(args.la_names);
		return TOOL_USAGE;
	}
	if (fail.tf_exit == TOOL_OK)
		(void)obj_target_parse(&args.la_target, args.la_names[0],
				       &fail);
	for (i = 0; fail.tf_exit == TOOL_OK && i < args.la_names_nr; ++i) {
		if (obj_target_parse(&other, args.la_names[i], &fail) != 0)
			break;
		if (!obj_target_same(&args.la_target, &other))
			tool_fail_set(&fail, TOOL_USAGE,
				      "'%s': all operands are of one service",
				      args.la_names[i]);
		args.la_names[i] = other.ot_name;
	}
	if (fail.tf_exit == TOOL_OK) {
		if (obj_client_open(&args.la_client, &args.la_obj,
				    &args.la_target, &fail) == 0)
			(void)work(&args);
		obj_client_close(&args.la_client);
	}
	m0_free(args.la_names);
	return tool_finish_output(argv[0], tool_fail_print(&fail, argv[0]));
}

/* A file may be of before 1970: the number is below 0 then. */
static const char *time_text(uint64_t ns, char *ret, size_t size)
{
	int64_t   second = (int64_t)M0_TIME_ONE_SECOND;
	int64_t   since = (int64_t)ns;
	time_t    seconds = since / second - (since % second < 0);
	struct tm tm;

	if (gmtime_r(&seconds, &tm) == NULL ||
	    strftime(ret, size, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(ret, size, "?");
	return ret;
}

/* ------------------------------------------------------------------- ls -- */

static const struct argp_option ls_options[] = {
	{ "long", 'l', NULL, 0, "Print permissions, size and time, too", 0 },
	{ 0 },
};

static const struct argp ls_argp = {
	ls_options,
	ls_option,
	"EP[,EP...]:[PREFIX]",
	"List the objects of an object service whose names begin with PREFIX, "
	"in the order of their bytes.",
	ls_children,
	NULL,
	NULL,
};

static bool is_mute(const struct ls_args *args)
{
	return args->la_obj.oa_quiet && !args->la_obj.oa_json;
}

static int entry_say(void *arg, const struct obj_entry *entry)
{
	struct ls_args *args = arg;
	struct json_t  *tree;
	char            name[OBJ_NAME_MAX + 1];
	char            when[TEXT_MAX];

	if (is_mute(args))
		return 0;
	snprintf(name, sizeof name, "%.*s", (int)entry->oe_name_nr,
		 entry->oe_name);
	if (args->la_obj.oa_json) {
		tree = jout_append(args->la_array);
		jout_str(tree, "name", name);
		jout_num(tree, "size", entry->oe_size);
		jout_num(tree, "mode", entry->oe_mode);
		jout_num(tree, "mtime_ns", entry->oe_mtime_ns);
	} else if (args->la_long) {
		printf("%04o %12" PRIu64 " %s %s\n", entry->oe_mode,
		       entry->oe_size,
		       time_text(entry->oe_mtime_ns, when, sizeof when), name);
	} else {
		printf("%s\n", name);
	}
	return 0;
}

static int ls_work(struct ls_args *args)
{
	struct json_t *tree = NULL;
	unsigned       i;
	int            rc = 0;

	if (args->la_obj.oa_json) {
		tree = jout_alloc();
		args->la_array = jout_array(tree, "objects");
	}
	for (i = 0; rc == 0 && i < args->la_names_nr; ++i) {
		rc = obj_list(&args->la_client, args->la_names[i], &entry_say,
			      args);
		if (rc != 0)
			(void)obj_fail(&args->la_client, "objects",
				       args->la_names[i], rc);
	}
	if (tree != NULL) {
		if (rc == 0)
			(void)jout_print(tree, stdout);
		jout_free(tree);
	}
	return rc;
}

int ls_main(int argc, char **argv)
{
	return ls_run(argc, argv, &ls_argp, &ls_work);
}

/* ----------------------------------------------------------------- stat -- */

static const struct argp_option none_options[] = {
	{ 0 },
};

static const struct argp stat_argp = {
	none_options,
	ls_option,
	"EP[,EP...]:[NAME]...",
	"Show what an object service keeps of objects; of itself, without "
	"NAME.",
	ls_children,
	NULL,
	NULL,
};

static void object_say(struct ls_args *args, const char *name,
		       const struct obj_rep *rep)
{
	char           sum[2 * HASH_BYTES + 1];
	char           when[TEXT_MAX];
	char           size[TEXT_MAX];
	struct json_t *tree;

	text_hex(sum, rep->orp_sum, HASH_BYTES);
	if (args->la_obj.oa_json) {
		tree = jout_alloc();
		jout_str(tree, "name", name);
		jout_num(tree, "size", rep->orp_size);
		jout_num(tree, "mode", rep->orp_mode);
		jout_num(tree, "mtime_ns", rep->orp_mtime_ns);
		jout_str(tree, "checksum", sum);
		jout_bool(tree, "inline", rep->orp_flags & OBJ_INLINE);
		jout_finish(tree, stdout);
		return;
	}
	printf("name      %s\nsize      %" PRIu64 " (%s)\nmode      %04o\n"
	       "time      %s\nchecksum  %s%s %s\nkept      %s\n",
	       name, rep->orp_size, text_size(size, rep->orp_size),
	       rep->orp_mode, time_text(rep->orp_mtime_ns, when, sizeof when),
	       HASH_NAME,
	       rep->orp_size > OBJ_BLOCK ? " of blocks of 1 MiB" : "", sum,
	       rep->orp_flags & OBJ_INLINE ? "in the store" : "in a file");
}

static void service_say(struct ls_args *args, const struct obj_rep *rep)
{
	struct obj_info info;
	char            id[2 * OBJ_ID_BYTES + 1];
	char            size[TEXT_MAX];
	struct json_t  *tree;

	obj_info_decode(&info, rep->orp_data, rep->orp_data_nr);
	text_hex(id, rep->orp_id, OBJ_ID_BYTES);
	if (args->la_obj.oa_json) {
		tree = jout_alloc();
		jout_str(tree, "service", id);
		jout_num(tree, "objects", info.oin_objects);
		jout_num(tree, "bytes", info.oin_bytes);
		jout_num(tree, "puts", info.oin_puts);
		jout_num(tree, "removes", info.oin_removes);
		jout_num(tree, "uploads", info.oin_uploads);
		jout_finish(tree, stdout);
		return;
	}
	printf("service   %s\nobjects   %" PRIu64 ", %s\nputs      %" PRIu64
	       ", each committed once\nremoves   %" PRIu64
	       "\nuploads   %" PRIu64 " not finished\n",
	       id, info.oin_objects, text_size(size, info.oin_bytes),
	       info.oin_puts, info.oin_removes, info.oin_uploads);
}

static int stat_work(struct ls_args *args)
{
	unsigned i;
	int      rc = 0;

	for (i = 0; rc == 0 && i < args->la_names_nr; ++i) {
		const char         *name = args->la_names[i];
		struct obj_req      req = { .orq_name = name,
					    .orq_name_nr = (uint32_t)strlen(name) };
		struct obj_rep      rep;
		struct m0_rpc_item *item;

		if (strlen(name) > OBJ_NAME_MAX) {
			rc = obj_fail(&args->la_client, "object", name,
				      -ENAMETOOLONG);
			break;
		}
		rc = obj_call(&args->la_client,
			      name[0] == '\0' ? OBJ_INFO : OBJ_STAT, &req, &rep,
			      &item);
		if (rc != 0)
			(void)obj_fail(&args->la_client, "object", name, rc);
		else if (is_mute(args))
			; /* it is there */
		else if (name[0] == '\0')
			service_say(args, &rep);
		else
			object_say(args, name, &rep);
		if (item != NULL)
			m0_rpc_item_put(item);
	}
	return rc;
}

int stat_main(int argc, char **argv)
{
	return ls_run(argc, argv, &stat_argp, &stat_work);
}

/* ------------------------------------------------------------------- rm -- */

static const struct argp_option rm_options[] = {
	{ "recursive", 'r', NULL, 0, "Remove all objects below NAME", 0 },
	{ 0 },
};

static const struct argp rm_argp = {
	rm_options,
	ls_option,
	"EP[,EP...]:NAME...",
	"Remove objects from an object service.",
	ls_children,
	NULL,
	NULL,
};

/* One that somebody else has removed since it was listed is gone, too. */
static int entry_remove(void *arg, const struct obj_entry *entry)
{
	return rm_job_post(arg, entry->oe_name, entry->oe_name_nr);
}

static int tree_remove(struct rm_job *job, const char *name)
{
	char   prefix[OBJ_NAME_MAX + 2];
	size_t nr = strlen(name);
	int    rc;

	snprintf(prefix, sizeof prefix, "%s%s", name,
		 nr == 0 || name[nr - 1] == '/' ? "" : "/");
	rc = obj_list(job->rj_client, prefix, &entry_remove, job);
	/* Otherwise the failure was reported already. */
	if (rc != 0 && job->rj_rc == 0)
		rm_job_fail(job, name, rc);
	return rc;
}

static int rm_work(struct ls_args *args)
{
	struct rm_job  job;
	struct json_t *tree;
	unsigned       i;
	int            rc = 0;

	/* No data is moved. */
	args->la_obj.oa_blocks = 1;
	if (rm_job_open(&job, &args->la_client) != 0)
		return args->la_fail->tf_exit;
	job.rj_may_miss = args->la_recursive;
	for (i = 0; rc == 0 && i < args->la_names_nr; ++i) {
		const char *name = args->la_names[i];

		rc = args->la_recursive ? tree_remove(&job, name)
					: rm_job_post(&job, name, strlen(name));
	}
	(void)rm_job_end(&job);
	if (args->la_obj.oa_json) {
		tree = jout_alloc();
		jout_num(tree, "removed", job.rj_removed_nr);
		jout_finish(tree, stdout);
	}
	rm_job_close(&job);
	return args->la_fail->tf_exit;
}

int rm_main(int argc, char **argv)
{
	return ls_run(argc, argv, &rm_argp, &rm_work);
}
