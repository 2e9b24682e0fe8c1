/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "m0/base.h"

#include "../../../tools/base/jout.h"

static void yaml_is(struct json_t *tree, unsigned indent, const char *want)
{
	char  *got;
	size_t nr;
	FILE  *file = open_memstream(&got, &nr);

	assert_int_equal(jout_print_yaml(tree, indent, file), 0);
	fclose(file);
	assert_string_equal(got, want);
	free(got);
}

/* Arrays stand in the column of their key, whatever the indent. */
static void yaml_arrays_stand_below_their_key(void **state)
{
	struct json_t *tree = jout_alloc();
	struct json_t *list = jout_array(tree, "list");
	struct json_t *item = jout_append(list);
	struct json_t *inner;

	(void)state;
	jout_str(item, "name", "a");
	inner = jout_array(item, "inner");
	jout_num(jout_append(inner), "n", 1);
	jout_num(jout_object(jout_append(inner), "o"), "n", 2);
	jout_int(jout_append(list), "n", -1);
	jout_append_num(jout_array(tree, "numbers"), 7);
	yaml_is(tree, 2,
		"list:\n"
		"- name: a\n"
		"  inner:\n"
		"  - n: 1\n"
		"  - o:\n"
		"      n: 2\n"
		"- n: -1\n"
		"numbers:\n"
		"- 7\n");
	yaml_is(tree, 6,
		"list:\n"
		"-     name: a\n"
		"      inner:\n"
		"      -     n: 1\n"
		"      -     o:\n"
		"                  n: 2\n"
		"-     n: -1\n"
		"numbers:\n"
		"-     7\n");
	jout_free(tree);
}

/* Strings that would be read as something else are quoted, others not. */
static void yaml_strings_are_quoted_where_needed(void **state)
{
	static const char *const rows[][2] = {
		{ "10.0.0.1@tcp", "10.0.0.1@tcp" },
		{ "2001:db8::1@tcp", "2001:db8::1@tcp" },
		{ "::1@tcp", "::1@tcp" },
		{ "0@lo", "0@lo" },
		{ "up", "up" },
		{ "", "\"\"" },
		{ "[0]", "\"[0]\"" },
		{ "true", "\"true\"" },
		{ "No", "\"No\"" },
		{ "12", "\"12\"" },
		{ "1e3", "\"1e3\"" },
		{ "nan", "\"nan\"" },
		{ "- x", "\"- x\"" },
		{ "*a", "\"*a\"" },
		{ " a", "\" a\"" },
		{ "a\nb", "\"a\\nb\"" },
		{ "a\"b", "a\"b" },
		{ "failed: it's so", "! 'failed: it''s so'" },
		{ "a #b", "! 'a #b'" },
		{ "a:", "! 'a:'" },
		{ "a ", "! 'a '" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		struct json_t *tree = jout_alloc();
		char           want[64];

		jout_str(tree, "key", rows[i][0]);
		snprintf(want, sizeof want, "key: %s\n", rows[i][1]);
		yaml_is(tree, 4, want);
		jout_free(tree);
	}
}

/* Empty arrays and objects take one line; null is printed as a key alone. */
static void yaml_empty_values_stay_on_their_line(void **state)
{
	struct json_t *tree = jout_alloc();

	(void)state;
	jout_array(tree, "array");
	jout_object(tree, "object");
	jout_null(tree, "null");
	jout_bool(tree, "bool", true);
	yaml_is(tree, 4, "array: []\nobject: {}\nnull:\nbool: true\n");
	jout_free(tree);
}

/* One line for each object, for readers of lines. */
static void json_line_is_one_line(void **state)
{
	struct json_t *tree = jout_alloc();
	char          *got;
	size_t         nr;
	FILE          *file = open_memstream(&got, &nr);

	(void)state;
	jout_str(tree, "text", "a\nb");
	jout_num(jout_object(tree, "object"), "n", 1);
	assert_int_equal(jout_print_line(tree, file), 0);
	fclose(file);
	assert_string_equal(got, "{\"text\":\"a\\nb\",\"object\":{\"n\":1}}\n");
	free(got);
	jout_free(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(yaml_arrays_stand_below_their_key),
		cmocka_unit_test(yaml_strings_are_quoted_where_needed),
		cmocka_unit_test(yaml_empty_values_stay_on_their_line),
		cmocka_unit_test(json_line_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
