/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_file.h"
#include "../base/jout.h"

static int read_all(FILE *file, const char *path, char **ret, size_t *ret_nr,
		    struct tool_fail *fail)
{
	size_t size = 1 << 16;
	size_t nr = 0;
	char  *text = malloc(size);
	char  *more;

	while (text != NULL) {
		nr += fread(text + nr, 1, size - nr, file);
		if (nr < size || nr > CONF_BYTES_MAX)
			break;
		size *= 2;
		more = realloc(text, size);
		if (more == NULL)
			free(text);
		text = more;
	}
	if (text == NULL)
		return tool_fail_set(fail, TOOL_FAILED, "%s: %s", path,
				     tool_errtext(ENOMEM));
	*ret = text;
	*ret_nr = nr;
	if (ferror(file))
		return tool_fail_set(fail, TOOL_FAILED, "%s: %s", path,
				     tool_errtext(errno));
	if (nr > CONF_BYTES_MAX)
		return tool_fail_set(fail, TOOL_USAGE,
				     "%s: the file is not accepted; accepted: "
				     "at most %d bytes",
				     path, (int)CONF_BYTES_MAX);
	return fail->tf_exit;
}

int conf_file_read(const char *path, char **ret, size_t *ret_nr,
		   struct tool_fail *fail)
{
	bool  is_stdin = strcmp(path, "-") == 0;
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	int   code;

	*ret = NULL;
	if (file == NULL)
		return tool_fail_set(fail, TOOL_FAILED, "%s: %s", path,
				     tool_errtext(errno));
	code = read_all(file, path, ret, ret_nr, fail);
	if (!is_stdin)
		(void)fclose(file);
	if (code != TOOL_OK) {
		free(*ret);
		*ret = NULL;
	}
	return code;
}

/* @return a descriptor of a regular file; -errno. A FIFO is not waited for. */
static int regular_open(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	(void)close(fd);
	return -EMEDIUMTYPE;
}

/* As conf_file_read(), of a regular file only. */
static int regular_read(const char *path, char **ret, size_t *ret_nr,
			struct tool_fail *fail)
{
	int   fd = strcmp(path, "-") == 0 ? -EMEDIUMTYPE : regular_open(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	*ret = NULL;
	if (fd == -EMEDIUMTYPE)
		return tool_fail_set(
			fail, TOOL_USAGE,
			"%s is not read again; accepted: a regular "
			"file",
			path);
	if (file == NULL) {
		tool_fail_set(fail, TOOL_FAILED, "%s: %s", path,
			      tool_errtext(fd < 0 ? fd : -errno));
		if (fd >= 0)
			(void)close(fd);
		return fail->tf_exit;
	}
	if (read_all(file, path, ret, ret_nr, fail) != TOOL_OK) {
		free(*ret);
		*ret = NULL;
	}
	(void)fclose(file);
	return fail->tf_exit;
}

int conf_file_fail(const char *path, enum tool_exit code, int rc,
		   const struct conf_fail *why, struct tool_fail *fail)
{
	if (!why->cff_set)
		return tool_fail_set(fail, TOOL_FAILED, "%s: %s", path,
				     tool_errtext(rc));
	if (why->cff_place.cfp_line == 0)
		return tool_fail_set(fail, code, "%s: %s", path, why->cff_text);
	return tool_fail_set(fail, code, "%s:%u:%u: %s", path,
			     why->cff_place.cfp_line, why->cff_place.cfp_column,
			     why->cff_text);
}

static int load(const char *path, struct conf_model *ret,
		struct tool_fail *fail,
		int (*get)(const char *path, char **ret, size_t *ret_nr,
			   struct tool_fail *fail))
{
	struct conf_fail why = { .cff_set = false };
	char            *text;
	size_t           nr;
	int              rc;

	conf_model_init(ret);
	if (get(path, &text, &nr, fail) != TOOL_OK)
		return fail->tf_exit;
	rc = conf_read(ret, text, nr, NULL, &why);
	free(text);
	return rc == 0 ? TOOL_OK
		       : conf_file_fail(path, TOOL_USAGE, rc, &why, fail);
}

int conf_file_load(const char *path, struct conf_model *ret,
		   struct tool_fail *fail)
{
	return load(path, ret, fail, conf_file_read);
}

int conf_file_reload(const char *path, struct conf_model *ret,
		     struct tool_fail *fail)
{
	return load(path, ret, fail, regular_read);
}

void conf_notes_print(const char *path, const struct conf_model *model,
		      FILE *file)
{
	unsigned i;

	for (i = 0; i < model->cmo_notes_nr; ++i) {
		const struct conf_note *note = &model->cmo_notes[i];

		fprintf(file, "colibri: %s:%u:%u: note: %s\n", path,
			note->cnt_place.cfp_line, note->cnt_place.cfp_column,
			note->cnt_text);
	}
}

void conf_plan_print(const struct conf_plan *plan, bool json, FILE *file)
{
	char           text[CONF_CHANGE_BYTES];
	struct json_t *tree = json ? jout_alloc() : NULL;
	struct json_t *list = json ? jout_array(tree, "changes") : NULL;
	unsigned       i;

	for (i = 0; i < plan->cpn_nr; ++i) {
		const struct conf_change *change = &plan->cpn_changes[i];
		struct json_t            *item;

		conf_change_print(change, text);
		if (!json) {
			fprintf(file, "%s\n", text);
			continue;
		}
		item = jout_append(list);
		jout_str(item, "section", conf_change_section(change));
		jout_str(item, "change", text);
		if (change->ccg_place.cfp_line != 0)
			jout_num(item, "line", change->ccg_place.cfp_line);
	}
	if (json)
		jout_finish(tree, file);
}
