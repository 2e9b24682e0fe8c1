/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri put`. */
#include <libgen.h>
#include <stdlib.h>
#include <unistd.h>

#include "put_file.h"
#include "../base/stop.h"
#include "../base/text.h"

struct put_args {
	struct obj_args   puta_obj;
	bool              puta_recursive;
	char            **puta_src;
	unsigned          puta_src_nr;
	struct obj_target puta_target;
	struct tool_fail *puta_fail;
};

struct put_job {
	struct obj_job         pj_job;
	const struct put_args *pj_args;
	struct put_walk        pj_walk;
	/** Large files in hand; one that waits for a lane, opened. */
	struct put_file *pj_large;
	struct put_file *pj_next;
	bool             pj_walked;
};

static const struct argp_option put_options[] = {
	{ "recursive", 'r', NULL, 0,
	  "Put directories with everything below them", 0 },
	{ 0 },
};

static error_t put_option(int key, char *arg, struct argp_state *state)
{
	struct put_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->puta_obj;
		break;
	case 'r':
		args->puta_recursive = true;
		break;
	case ARGP_KEY_ARG:
		args->puta_src[args->puta_src_nr++] = arg;
		break;
	case ARGP_KEY_END:
		if (args->puta_src_nr < 2)
			tool_fail_set(args->puta_fail, TOOL_USAGE,
				      "operands are missing; usage: colibri "
				      "put [OPTION...] SRC... EP:NAME");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child put_children[] = {
	{ &obj_args_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp put_argp = {
	put_options,
	put_option,
	"SRC... EP[,EP...]:NAME",
	"Put files into an object service, verified. NAME is the object's; if "
	"it is empty or ends with '/', the file's own name follows it.\v"
	"An object is there whole or not at all. A put that was cut goes on "
	"where it was when it is repeated. Exit status: 0 all are there, 1 "
	"not all, 2 an option or operand is wrong. See colibri-put(1).",
	put_children,
	NULL,
	NULL,
};

/* -------------------------------------------------------------- the walk -- */

/* Does an operand say where it is and not what it is called? */
static bool is_nameless(const char *base)
{
	return strcmp(base, ".") == 0 || strcmp(base, "..") == 0 ||
	       strcmp(base, "/") == 0;
}

/* Name of what lies at `path`, below the operand `root`. */
static void name_of(const struct put_args *args, const char *root,
		    const char *path, char *ret, size_t size)
{
	const char *name = args->puta_target.ot_name;
	const char *rest = path + strlen(root);
	char        copy[PATH_MAX];
	const char *base;
	size_t      nr = strlen(name);
	bool        into = nr == 0 || name[nr - 1] == '/';

	snprintf(copy, sizeof copy, "%s", root);
	base = basename(copy);
	while (rest[0] == '/')
		++rest;
	if (into && !is_nameless(base))
		nr = (size_t)snprintf(ret, size, "%s%s", name, base);
	else
		nr = (size_t)snprintf(ret, size, "%s", name);
	if (nr > 0 && nr < size && rest[0] != '\0' && ret[nr - 1] != '/')
		nr += (size_t)snprintf(ret + nr, size - nr, "/");
	if (nr < size)
		snprintf(ret + nr, size - nr, "%s", rest);
}

/* Opens a file that the walk has found. NULL: it failed; the failure was reported. */
static struct put_file *file_open(struct put_job *pj)
{
	struct put_walk *walk = &pj->pj_walk;
	char             name[PATH_MAX + OBJ_NAME_MAX];

	name_of(pj->pj_args, walk->pwk_root, walk->pwk_path, name, sizeof name);
	return put_file_new(&pj->pj_job, walk, name);
}

static struct put_file *found_take(struct put_job *pj, enum put_found found)
{
	struct put_walk *walk = &pj->pj_walk;
	struct obj_job  *job = &pj->pj_job;

	switch (found) {
	case PUT_FOUND_FILE:
		return file_open(pj);
	case PUT_FOUND_DIR:
		obj_job_fail(job, walk->pwk_path, 0,
			     "is a directory; use -r for all in it");
		break;
	case PUT_FOUND_ERROR:
		obj_job_fail(job, walk->pwk_path, 0, "%s",
			     tool_errtext(walk->pwk_rc));
		break;
	case PUT_FOUND_LESS:
		obj_job_fail(job, walk->pwk_path, 0, "not all was found: %s",
			     tool_errtext(walk->pwk_rc));
		break;
	default:
		if (put_walk_at_root(walk))
			obj_job_fail(job, walk->pwk_path, 0,
				     "is no regular file");
		else
			++job->jb_ignored_nr;
	}
	return NULL;
}

static struct put_file *file_next(struct put_job *pj)
{
	struct put_file *file = NULL;
	enum put_found   found;

	while (file == NULL && !pj->pj_walked && !pj->pj_job.jb_fatal) {
		pj->pj_walked = !put_walk_next(&pj->pj_walk, &found);
		if (!pj->pj_walked)
			file = found_take(pj, found);
	}
	return file;
}

/* --------------------------------------------------------------- the job -- */

static void file_over(struct put_job *pj, struct put_file *file)
{
	struct put_file **at = &pj->pj_large;

	while (*at != NULL && *at != file)
		at = &(*at)->pf_link;
	if (*at == file) {
		*at = file->pf_link;
		--pj->pj_job.jb_large_nr;
	}
	put_file_free(file);
}

/* Posts as much as there is room for. @return  was anything? */
static bool files_step(struct put_job *pj)
{
	struct put_file *file;
	struct put_file *next;
	bool             any = false;

	for (file = pj->pj_large; file != NULL; file = next) {
		next = file->pf_link;
		any = put_file_step(file) || any;
		if (file->pf_rc != 0 && file->pf_pending == 0 &&
		    put_file_ended(file, NULL))
			file_over(pj, file);
	}
	while (obj_lane_is_there(&pj->pj_job.jb_lanes, false) &&
	       pj->pj_job.jb_large_nr < JOB_LARGE_MAX) {
		file = file_next(pj);
		if (file == NULL)
			break;
		if (put_file_is_large(file)) {
			file->pf_link = pj->pj_large;
			pj->pj_large = file;
			++pj->pj_job.jb_large_nr;
		}
		any = put_file_step(file) || any;
		if (file->pf_rc != 0 && put_file_ended(file, NULL))
			file_over(pj, file);
	}
	return any;
}

static void job_run(struct put_job *pj)
{
	struct obj_job  *job = &pj->pj_job;
	struct obj_lane *lane;
	struct put_file *file;

	while (stop_signal() == 0) {
		if (!job->jb_fatal)
			(void)files_step(pj);
		if (job->jb_lanes.os_busy_nr == 0 &&
		    (job->jb_fatal || (pj->pj_walked && pj->pj_large == NULL)))
			break;
		if (job->jb_lanes.os_busy_nr == 0)
			continue;
		lane = obj_lanes_wait(&job->jb_lanes, M0_TIME_NEVER);
		if (lane == NULL)
			continue;
		file = lane->ol_owner;
		if (file != NULL && put_file_ended(file, lane))
			file_over(pj, file);
		obj_lane_put(lane);
		obj_job_progress(job);
	}
}

/* How much there is, for the progress. */
static uint64_t sources_size(const struct put_args *args)
{
	static struct put_walk walk;
	enum put_found         found;
	uint64_t               size = 0;

	put_walk_init(&walk, args->puta_src, args->puta_recursive);
	while (put_walk_next(&walk, &found))
		if (found == PUT_FOUND_FILE)
			size += (uint64_t)walk.pwk_stat.st_size;
	put_walk_fini(&walk);
	return size;
}

static void put_all(struct put_job *pj)
{
	const struct put_args *args = pj->pj_args;
	struct obj_job        *job = &pj->pj_job;
	bool shows = !args->puta_obj.oa_quiet && isatty(STDERR_FILENO);

	copy_progress_init(&job->jb_progress, shows ? sources_size(args) : 0,
			   args->puta_obj.oa_quiet);
	job->jb_progress_on = shows;
	job_run(pj);
	(void)obj_job_say(job, "put");
}

/* Names the operands that are not there before it looks for the service, and
 * goes on with the others. */
static int sources_check(struct put_job *pj, struct put_args *args)
{
	char      **src = args->puta_src;
	struct stat st;
	unsigned    kept = 0;
	unsigned    i;

	pj->pj_job.jb_client.oc_args = &args->puta_obj;
	for (i = 0; i < args->puta_src_nr; ++i) {
		if (stat(src[i], &st) == 0)
			src[kept++] = src[i];
		else if (args->puta_src_nr == 1)
			return tool_fail_set(args->puta_fail, TOOL_USAGE,
					     "SRC '%s': %s", src[i],
					     tool_errtext(errno));
		else
			obj_job_fail(&pj->pj_job, src[i], 0, "%s",
				     tool_errtext(errno));
	}
	src[kept] = NULL;
	return kept > 0 ? 0
			: tool_fail_set(args->puta_fail, TOOL_USAGE,
					"none of the %u SRC is there",
					args->puta_src_nr);
}

static void put_run(struct put_args *args)
{
	static struct put_job pj;

	pj.pj_args = args;
	if (sources_check(&pj, args) != 0 ||
	    obj_job_open(&pj.pj_job, &args->puta_obj, &args->puta_target,
			 args->puta_fail) != 0)
		return;
	put_walk_init(&pj.pj_walk, args->puta_src, args->puta_recursive);
	put_all(&pj);
	put_walk_fini(&pj.pj_walk);
	obj_job_close(&pj.pj_job);
}

/* Many files have as many names. */
static int target_check(const struct put_args *args)
{
	const char *name = args->puta_target.ot_name;
	size_t      nr = strlen(name);

	if (args->puta_src_nr > 1 && nr > 0 && name[nr - 1] != '/')
		return tool_fail_set(args->puta_fail, TOOL_USAGE,
				     "NAME '%s' is one object, and there are "
				     "%u SRC; let it end with '/'",
				     name, args->puta_src_nr);
	return 0;
}

int put_main(int argc, char **argv)
{
	static struct put_args  args;
	static struct tool_fail fail = { .tf_exit = TOOL_OK };

	obj_args_init(&args.puta_obj, argv[0], &fail);
	args.puta_fail = &fail;
	args.puta_src = m0_alloc_arr((size_t)argc + 1, sizeof *args.puta_src);
	if (args.puta_src == NULL ||
	    tool_parse(&put_argp, argc, argv, 0, &args) != 0) {
		m0_free(args.puta_src);
		return TOOL_USAGE;
	}
	if (fail.tf_exit == TOOL_OK &&
	    obj_target_parse(&args.puta_target,
			     args.puta_src[args.puta_src_nr - 1], &fail) == 0) {
		args.puta_src[--args.puta_src_nr] = NULL;
		if (target_check(&args) == 0)
			put_run(&args);
	}
	m0_free(args.puta_src);
	return tool_finish_output(argv[0], tool_fail_print(&fail, argv[0]));
}
