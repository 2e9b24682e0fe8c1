/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../../tools/copy/copy_file.h"

static char dir[] = "/tmp/copy-name-XXXXXX";
static int  dir_fd;

static int dir_make(void **state)
{
	(void)state;
	if (mkdtemp(dir) == NULL)
		return -1;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	return dir_fd < 0 || mkdirat(dir_fd, "d", 0755) != 0 ||
			       symlinkat("/", dir_fd, "root") != 0 ||
			       symlinkat("d", dir_fd, "soft") != 0 ||
			       symlinkat("none", dir_fd, "dangling") != 0
		       ? -1
		       : 0;
}

static int dir_drop(void **state)
{
	(void)state;
	(void)unlinkat(dir_fd, "root", 0);
	(void)unlinkat(dir_fd, "soft", 0);
	(void)unlinkat(dir_fd, "dangling", 0);
	(void)unlinkat(dir_fd, "d", AT_REMOVEDIR);
	(void)close(dir_fd);
	return rmdir(dir);
}

static int try_name(const char *name, const char *base, char *ret)
{
	struct tool_fail fail = { .tf_exit = TOOL_OK };
	struct dst_file  dst;
	int rc = dst_file_open_below(&dst, dir_fd, name, base, &fail);

	if (rc != 0) {
		assert_true(fail.tf_text[0] != '\0');
		return rc;
	}
	strcpy(ret, dst.df_path);
	dst_file_close(&dst);
	return 0;
}

/* A name below the directory is taken; directories get the source's name. */
static void name_below_is_taken(void **state)
{
	static const char *const names[][2] = {
		{ "x", "x" },       { "", "base" },   { "d", "d/base" },
		{ "d/", "d/base" }, { "d/x", "d/x" }, { "..x", "..x" },
		{ "...", "..." },   { "-rf", "-rf" }, { "a:b", "a:b" },
	};
	char   found[PATH_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); ++i) {
		assert_int_equal(try_name(names[i][0], "base", found), 0);
		assert_string_equal(found, names[i][1]);
	}
}

/* A stranger's name leads nowhere else: not by "..", not by links. */
static void name_that_leads_elsewhere_is_refused(void **state)
{
	static const char *const names[] = {
		"/x",
		"/",
		"..",
		"../x",
		"d/../../x",
		"d/..",
		".",
		"./x",
		"d/./x",
		"d//x",
		"root/x",
		"root",
		"soft/x",
		"soft",
		"soft/",
		"dangling",
		"none/x",
		"none/",
		"x\ny",
		"\x1b[2J",
		("\xc2\x9b"
		 "2J"),
	};
	char   found[PATH_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); ++i)
		assert_int_not_equal(try_name(names[i], "base", found), 0);
}

/* The source's name is a stranger's word, too. */
static void name_of_source_that_is_none_is_refused(void **state)
{
	static const char *const names[] = { "",     ".",  "..", "a/b", "d/x",
					     "../x", "/x", "/",  "\n" };
	char                     found[PATH_MAX];
	char                     longest[NAME_MAX + 2];
	size_t                   i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); ++i)
		assert_int_not_equal(try_name("", names[i], found), 0);
	memset(longest, 'x', sizeof longest);
	longest[NAME_MAX + 1] = '\0';
	assert_int_not_equal(try_name("", longest, found), 0);
	longest[NAME_MAX] = '\0';
	assert_int_equal(try_name("", longest, found), 0);
}

/* A part that no file system has is not even looked for. */
static void name_with_long_part_is_refused(void **state)
{
	struct tool_fail fail = { .tf_exit = TOOL_OK };
	struct dst_file  dst;
	char             name[NAME_MAX + 4];

	(void)state;
	memset(name, 'x', NAME_MAX + 1);
	strcpy(name + NAME_MAX + 1, "/x");
	assert_int_not_equal(
		dst_file_open_below(&dst, dir_fd, name, "base", &fail), 0);
	assert_non_null(strstr(fail.tf_text, "longer than 255"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_below_is_taken),
		cmocka_unit_test(name_that_leads_elsewhere_is_refused),
		cmocka_unit_test(name_of_source_that_is_none_is_refused),
		cmocka_unit_test(name_with_long_part_is_refused),
	};

	return cmocka_run_group_tests(tests, dir_make, dir_drop);
}
