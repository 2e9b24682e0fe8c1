/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "file_save.h"
#include "jout.h"

static struct json_t *file_read(const struct baseline *baseline,
				struct tool_fail      *fail)
{
	const char    *path = baseline->bsl_path;
	FILE          *file = fopen(path, "re");
	char           why[JOUT_WHY_BYTES] = "";
	struct json_t *tree = NULL;
	const char    *tool;

	if (file == NULL) {
		(void)tool_fail_set(fail, TOOL_FAILED, "--baseline %s: %s",
				    path, tool_errtext(errno));
		return NULL;
	}
	tree = jout_read(file, why);
	(void)fclose(file);
	tool = jout_get_str(tree, "tool");
	if (tree == NULL)
		(void)tool_fail_set(fail, TOOL_USAGE, "--baseline %s: %s", path,
				    why);
	else if (tool == NULL || strcmp(tool, baseline->bsl_tool) != 0)
		(void)tool_fail_set(
			fail, TOOL_USAGE,
			"--baseline %s: the file is not one that colibri %s "
			"--save-baseline has written",
			path, baseline->bsl_tool);
	else
		return tree;
	jout_free(tree);
	return NULL;
}

int baseline_try(const struct baseline *baseline, struct tool_fail *fail)
{
	struct json_t *tree;

	if (baseline->bsl_path == NULL)
		return TOOL_OK;
	tree = file_read(baseline, fail);
	if (tree == NULL)
		return fail->tf_exit;
	jout_free(tree);
	return TOOL_OK;
}

/** Finds the value of an earlier run. @return false: there is none. */
static bool value_find(const struct json_t         *list,
		       const struct baseline_value *value, double *ret)
{
	const struct json_t *item;
	const char          *name;
	const char          *unit;
	size_t               i;

	for (i = 0; (item = jout_at(list, i)) != NULL; ++i) {
		name = jout_get_str(item, "name");
		unit = jout_get_str(item, "unit");
		if (name != NULL && unit != NULL &&
		    strcmp(name, value->bsv_name) == 0 &&
		    strcmp(unit, value->bsv_unit) == 0)
			return jout_get_real(item, "value", ret) && *ret > 0;
	}
	return false;
}

/** Change in per cent; above 0 is better. */
static double gain_of(const struct baseline_value *value, double before)
{
	double gain = (value->bsv_value - before) / before * 100;

	return value->bsv_is_time ? -gain : gain;
}

static void value_say(const struct baseline       *baseline,
		      const struct baseline_value *value, bool found,
		      double before, FILE *out)
{
	double gain = found ? gain_of(value, before) : 0;
	bool   worse = gain < -(double)baseline->bsl_tolerance;

	if (!found)
		fprintf(out, "%s: %.2f %s; %s has no such result\n",
			value->bsv_name, value->bsv_value, value->bsv_unit,
			baseline->bsl_path);
	else
		fprintf(out,
			"%s: %.2f %s, last time %.2f: %.1f %% %s%s "
			"(tolerance %u %%)\n",
			value->bsv_name, value->bsv_value, value->bsv_unit,
			before, gain < 0 ? -gain : gain,
			gain < 0 ? "worse" : "better",
			worse ? ", WORSE THAN LAST TIME" : "",
			baseline->bsl_tolerance);
}

static void value_json(const struct baseline_value *value, bool found,
		       double before, bool worse, struct json_t *item)
{
	jout_str(item, "name", value->bsv_name);
	jout_str(item, "unit", value->bsv_unit);
	jout_real(item, "value", value->bsv_value);
	if (found) {
		jout_real(item, "last_time", before);
		jout_real(item, "gain_percent", gain_of(value, before));
	} else {
		jout_null(item, "last_time");
		jout_null(item, "gain_percent");
	}
	jout_bool(item, "worse", worse);
}

int baseline_check(const struct baseline       *baseline,
		   const struct baseline_value *values, size_t nr, FILE *out,
		   struct json_t *tree, struct tool_fail *fail)
{
	struct json_t *old;
	struct json_t *list = NULL;
	size_t         worse_nr = 0;
	size_t         i;

	if (baseline->bsl_path == NULL)
		return TOOL_OK;
	old = file_read(baseline, fail);
	if (old == NULL)
		return fail->tf_exit;
	if (tree != NULL)
		list = jout_array(tree, "baseline");
	for (i = 0; i < nr; ++i) {
		double before = 0;
		bool   found = value_find(jout_get(old, "results"), &values[i],
					  &before);
		bool   worse = found && gain_of(&values[i], before) <
					      -(double)baseline->bsl_tolerance;

		worse_nr += worse;
		if (out != NULL)
			value_say(baseline, &values[i], found, before, out);
		if (list != NULL)
			value_json(&values[i], found, before, worse,
				   jout_append(list));
	}
	jout_free(old);
	if (worse_nr == 0)
		return TOOL_OK;
	return tool_fail_set(fail, TOOL_FAILED,
			     "worse than last time: %zu of %zu results by more "
			     "than %u %% of %s",
			     worse_nr, nr, baseline->bsl_tolerance,
			     baseline->bsl_path);
}

static int tree_write(const char *path, const struct json_t *tree)
{
	char  *text = NULL;
	size_t nr = 0;
	FILE  *file = open_memstream(&text, &nr);
	int    rc;

	if (file == NULL)
		return -errno;
	rc = jout_print(tree, file);
	if (fclose(file) != 0 && rc == 0)
		rc = -errno;
	if (rc == 0)
		rc = file_save(path, 0, text, nr);
	free(text);
	return rc;
}

int baseline_write(const struct baseline       *baseline,
		   const struct baseline_value *values, size_t nr,
		   struct tool_fail *fail)
{
	struct json_t *tree;
	struct json_t *list;
	struct json_t *item;
	size_t         i;
	int            rc;

	if (baseline->bsl_save == NULL)
		return TOOL_OK;
	tree = jout_alloc();
	jout_str(tree, "tool", baseline->bsl_tool);
	list = jout_array(tree, "results");
	for (i = 0; i < nr; ++i) {
		item = jout_append(list);
		jout_str(item, "name", values[i].bsv_name);
		jout_str(item, "unit", values[i].bsv_unit);
		jout_real(item, "value", values[i].bsv_value);
	}
	rc = tree_write(baseline->bsl_save, tree);
	jout_free(tree);
	if (rc == 0)
		return TOOL_OK;
	return tool_fail_set(fail, TOOL_FAILED, "--save-baseline %s: %s",
			     baseline->bsl_save, tool_errtext(rc));
}
