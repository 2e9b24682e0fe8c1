/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri get`. */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "get_dst.h"
#include "get_file.h"
#include "../base/stop.h"

struct get_args {
	struct obj_args   ga_obj;
	bool              ga_recursive;
	const char       *ga_src;
	const char       *ga_dst;
	struct obj_target ga_target;
	struct tool_fail *ga_fail;
};

/** A name to be fetched. */
struct get_name {
	struct get_name *gn_next;
	char             gn_text[];
};

struct get_job {
	struct obj_job         gj_job;
	const struct get_args *gj_args;
	struct get_name       *gj_names;
	struct get_name      **gj_tail;
	uint64_t               gj_size;
	/** The directory, and what names of objects begin with that files' do
	 * not. */
	int    gj_root_fd;
	size_t gj_skip;
	/** File name of the one object; NULL: that of the object. */
	const char      *gj_base;
	struct get_file *gj_files;
};

static const struct argp_option get_options[] = {
	{ "recursive", 'r', NULL, 0, "Get all objects below NAME", 0 },
	{ 0 },
};

static error_t get_option(int key, char *arg, struct argp_state *state)
{
	struct get_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->ga_obj;
		break;
	case 'r':
		args->ga_recursive = true;
		break;
	case ARGP_KEY_ARG:
		if (args->ga_src == NULL)
			args->ga_src = arg;
		else if (args->ga_dst == NULL)
			args->ga_dst = arg;
		else
			tool_fail_set(args->ga_fail, TOOL_USAGE,
				      "'%s': there are two operands, EP:NAME "
				      "and DST",
				      arg);
		break;
	case ARGP_KEY_END:
		if (args->ga_dst == NULL)
			tool_fail_set(args->ga_fail, TOOL_USAGE,
				      "operands are missing; usage: colibri "
				      "get [OPTION...] EP:NAME DST");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child get_children[] = {
	{ &obj_args_argp, 0, NULL, 0 },
	{ 0 },
};

static const struct argp get_argp = {
	get_options,
	get_option,
	"EP[,EP...]:NAME DST",
	"Get an object of an object service, verified, as the file DST or into "
	"the directory DST; with -r, all objects whose names begin with NAME/, "
	"or all there are.\v"
	"A file is there whole or not at all. A get that was cut goes on where "
	"it was when it is repeated. Exit status: 0 all are there, 1 not all, "
	"2 an option or operand is wrong. See colibri-get(1).",
	get_children,
	NULL,
	NULL,
};

/* ------------------------------------------------------------ what, where -- */

static int name_add(void *arg, const struct obj_entry *entry)
{
	struct get_job  *gj = arg;
	struct get_name *name = m0_alloc(sizeof *name + entry->oe_name_nr + 1);

	if (name == NULL)
		return -ENOMEM;
	memcpy(name->gn_text, entry->oe_name, entry->oe_name_nr);
	*gj->gj_tail = name;
	gj->gj_tail = &name->gn_next;
	gj->gj_size += entry->oe_size;
	return stop_signal() != 0 ? -EINTR : 0;
}

static int names_find(struct get_job *gj)
{
	const struct get_args *args = gj->gj_args;
	struct obj_client     *client = &gj->gj_job.jb_client;
	const char            *name = args->ga_target.ot_name;
	struct obj_entry       one = { .oe_name = name,
				       .oe_name_nr = (uint32_t)strlen(name) };
	char                   prefix[OBJ_NAME_MAX + 2];
	size_t                 nr = strlen(name);
	int                    rc;

	if (!args->ga_recursive) {
		rc = obj_name_check(name, nr);
		if (rc == 0)
			rc = name_add(gj, &one);
		return rc == 0 ? 0 : obj_fail(client, "object", name, rc);
	}
	snprintf(prefix, sizeof prefix, "%s%s", name,
		 nr == 0 || name[nr - 1] == '/' ? "" : "/");
	gj->gj_skip = strlen(prefix);
	rc = obj_list(client, prefix, &name_add, gj);
	if (rc == 0 && gj->gj_names == NULL && nr > 0)
		rc = -ENOENT;
	return rc == 0 ? 0 : obj_fail(client, "objects", name, rc);
}

/* DST: a directory, or the name of a file in one. */
static int dst_find(struct get_job *gj)
{
	const struct get_args *args = gj->gj_args;
	const char            *dst = args->ga_dst;
	const char            *base = get_dst_base(dst);
	char                   dir[PATH_MAX];

	gj->gj_root_fd = open(dst, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (gj->gj_root_fd >= 0) {
		gj->gj_base = get_dst_base(args->ga_target.ot_name);
		return 0;
	}
	if (args->ga_recursive && errno == ENOENT && get_dst_can_make(dst))
		return 0;
	if (!args->ga_recursive && base[0] != '\0' &&
	    (errno == ENOENT || errno == ENOTDIR)) {
		snprintf(dir, sizeof dir, "%.*s", (int)(base - dst), dst);
		gj->gj_root_fd = open(dir[0] == '\0' ? "." : dir,
				      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		gj->gj_base = base;
	}
	if (gj->gj_root_fd < 0)
		return tool_fail_set(args->ga_fail, TOOL_USAGE, "DST '%s': %s",
				     dst, tool_errtext(errno));
	return 0;
}

/* Makes the directory of -r when the first object arrives. */
static int dst_make(struct get_job *gj)
{
	const char *dst = gj->gj_args->ga_dst;

	if (gj->gj_root_fd >= 0)
		return 0;
	if (mkdir(dst, 0777) == 0 || errno == EEXIST)
		gj->gj_root_fd = open(dst, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
						   O_NOFOLLOW);
	return gj->gj_root_fd >= 0 ? 0
				   : tool_fail_set(gj->gj_args->ga_fail,
						   TOOL_FAILED, "DST '%s': %s",
						   dst, tool_errtext(errno));
}

/* Check what the one object would replace before it is fetched. */
static int dst_open(struct get_job *gj)
{
	const struct get_args *args = gj->gj_args;
	int                    rc = dst_find(gj);

	if (rc == 0 && !args->ga_recursive) {
		rc = get_dst_check(gj->gj_root_fd, gj->gj_base);
		if (rc != 0)
			tool_fail_set(args->ga_fail, TOOL_USAGE,
				      "DST '%s' cannot be written: %s; "
				      "accepted: a regular file, a directory, "
				      "or a new name",
				      args->ga_dst, get_dst_errtext(rc));
	}
	return rc;
}

/* --------------------------------------------------------------- the job -- */

static struct get_file *file_next(struct get_job *gj)
{
	struct get_name *name = gj->gj_names;
	struct get_file *file;

	if (name == NULL || gj->gj_job.jb_fatal)
		return NULL;
	file = get_file_new(&gj->gj_job, name->gn_text, gj->gj_root_fd,
			    gj->gj_args->ga_recursive
				    ? name->gn_text + gj->gj_skip
				    : gj->gj_base);
	if (file == NULL) {
		obj_job_fail(&gj->gj_job, name->gn_text, -ENOMEM, "no memory");
		gj->gj_job.jb_fatal = true;
		return NULL;
	}
	gj->gj_names = name->gn_next;
	m0_free(name);
	file->gf_link = gj->gj_files;
	gj->gj_files = file;
	return file;
}

static void file_over(struct get_job *gj, struct get_file *file)
{
	struct get_file **at = &gj->gj_files;

	while (*at != file)
		at = &(*at)->gf_link;
	*at = file->gf_link;
	get_file_free(file);
}

static void files_step(struct get_job *gj)
{
	struct obj_job  *job = &gj->gj_job;
	struct get_file *file;

	for (file = gj->gj_files; file != NULL; file = file->gf_link)
		(void)get_file_step(file);
	while (obj_lane_is_there(&job->jb_lanes, false) &&
	       job->jb_large_nr < JOB_LARGE_MAX) {
		file = file_next(gj);
		if (file == NULL)
			break;
		(void)get_file_step(file);
	}
}

static void job_run(struct get_job *gj)
{
	struct obj_job  *job = &gj->gj_job;
	struct obj_lane *lane;
	struct get_file *file;

	while (stop_signal() == 0) {
		if (!job->jb_fatal)
			files_step(gj);
		if (job->jb_lanes.os_busy_nr == 0)
			break;
		lane = obj_lanes_wait(&job->jb_lanes, M0_TIME_NEVER);
		if (lane == NULL)
			continue;
		file = lane->ol_owner;
		if (get_file_ended(file, lane))
			file_over(gj, file);
		obj_lane_put(lane);
		obj_job_progress(job);
	}
}

static void job_free(struct get_job *gj)
{
	struct get_name *name;

	while (gj->gj_files != NULL)
		file_over(gj, gj->gj_files);
	while ((name = gj->gj_names) != NULL) {
		gj->gj_names = name->gn_next;
		m0_free(name);
	}
	if (gj->gj_root_fd >= 0)
		(void)close(gj->gj_root_fd);
}

static void get_run(struct get_args *args)
{
	static struct get_job gj;
	struct obj_job       *job = &gj.gj_job;

	gj.gj_args = args;
	gj.gj_tail = &gj.gj_names;
	gj.gj_root_fd = -1;
	if (dst_open(&gj) == 0 &&
	    obj_job_open(job, &args->ga_obj, &args->ga_target, args->ga_fail) ==
		    0) {
		if (names_find(&gj) == 0 && dst_make(&gj) == 0) {
			copy_progress_init(&job->jb_progress, gj.gj_size,
					   args->ga_obj.oa_quiet);
			job->jb_progress_on = gj.gj_size > 0;
			job_run(&gj);
			(void)obj_job_say(job, "got");
		}
		obj_job_close(job);
	}
	job_free(&gj);
}

int get_main(int argc, char **argv)
{
	static struct get_args args;
	struct tool_fail       fail = { .tf_exit = TOOL_OK };

	obj_args_init(&args.ga_obj, argv[0], &fail);
	args.ga_fail = &fail;
	if (tool_parse(&get_argp, argc, argv, 0, &args) != 0)
		return TOOL_USAGE;
	if (fail.tf_exit == TOOL_OK &&
	    obj_target_parse(&args.ga_target, args.ga_src, &fail) == 0)
		get_run(&args);
	return tool_finish_output(argv[0], tool_fail_print(&fail, argv[0]));
}
