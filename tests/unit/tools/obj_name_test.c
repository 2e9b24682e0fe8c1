/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "m0/base.h"

#include "../../../tools/object/obj_name.h"

static void is(const char *name, int rc)
{
	assert_int_equal(obj_name_check(name, strlen(name)), rc);
}

/* Names that a client may give to an object. */
static void name_good_is_accepted(void **state)
{
	char part[OBJ_PART_MAX + 1];

	(void)state;
	is("a", 0);
	is("a/b.c/...", 0);
	is(".hidden", 0);
	is(" with blanks ", 0);
	is("\xc3\xa9/e\xcc\x81/\xe2\x82\xac/\xf0\x9f\x90\xa6", 0);
	is("\xf4\x8f\xbf\xbf", 0);
	memset(part, 'x', sizeof part);
	assert_int_equal(obj_name_check(part, OBJ_PART_MAX), 0);
}

/* Names that could be taken for a path to another place. */
static void name_of_a_path_is_refused(void **state)
{
	static const char *const names[] = { "",    ".",    "..",     "/",
					     "/a",  "a/",   "a//b",   "./a",
					     "a/.", "../a", "a/../b", "a/.." };
	size_t                   i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); ++i)
		is(names[i], -EINVAL);
}

/* NUL, line ends, escapes, and the upper half of them. */
static void name_with_controls_is_refused(void **state)
{
	(void)state;
	assert_int_equal(obj_name_check("a\0b", 3), -EINVAL);
	is("a\nb", -EINVAL);
	is("\x1b[2J", -EINVAL);
	is("\x7f", -EINVAL);
	is("\xc2\x80", -EINVAL);
	is("\xc2\x9f", -EINVAL);
	is("\xc2\xa0", 0);
}

/* Bytes that are no text, and texts that decoders disagree about. */
static void name_odd_utf8_is_refused(void **state)
{
	static const char *const names[] = {
		"\xff",
		"\x80",
		"\xc3",
		"\xc0\xaf",
		"\xe0\x80\xaf",
		"\xed\xa0\x80",
		"\xe2\x82",
		"\xf4\x90\x80\x80",
		"\xf0\x80\x80\xaf",
		"\xf8\x88\x80\x80\x80",
		"a\xc3(",
		"\xc1\x81",
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); ++i)
		is(names[i], -EILSEQ);
}

/* One byte more than is accepted, of the whole and of a part. */
static void name_too_long_is_refused(void **state)
{
	char   name[OBJ_NAME_MAX + 2];
	size_t i;

	(void)state;
	memset(name, 'x', sizeof name);
	assert_int_equal(obj_name_check(name, OBJ_PART_MAX + 1), -ENAMETOOLONG);
	for (i = 100; i < sizeof name; i += 101)
		name[i] = '/';
	assert_int_equal(obj_name_check(name, OBJ_NAME_MAX), 0);
	assert_int_equal(obj_name_check(name, OBJ_NAME_MAX + 1), -ENAMETOOLONG);
}

/* A list may ask for what begins with a name, or a directory of them. */
static void prefix_may_end_with_a_slash(void **state)
{
	(void)state;
	assert_int_equal(obj_prefix_check("", 0), 0);
	assert_int_equal(obj_prefix_check("a/b/", 4), 0);
	assert_int_equal(obj_prefix_check("a/b", 3), 0);
	assert_int_equal(obj_prefix_check("/", 1), -EINVAL);
	assert_int_equal(obj_prefix_check("a//", 3), -EINVAL);
}

/* Names that differ have keys that do, short and long; within the bound. */
static void key_of_each_name_is_its_own(void **state)
{
	uint8_t one[OBJ_KEY_MAX];
	uint8_t two[OBJ_KEY_MAX];
	char    name[OBJ_NAME_MAX];
	size_t  nr;

	(void)state;
	memset(name, 'x', sizeof name);
	for (nr = 1; nr < OBJ_NAME_MAX; ++nr) {
		size_t a = obj_name_key(one, name, nr);
		size_t b = obj_name_key(two, name, nr + 1);

		assert_true(a <= OBJ_KEY_MAX && b <= OBJ_KEY_MAX);
		assert_true(a != b || memcmp(one, two, a) != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_good_is_accepted),
		cmocka_unit_test(name_of_a_path_is_refused),
		cmocka_unit_test(name_with_controls_is_refused),
		cmocka_unit_test(name_odd_utf8_is_refused),
		cmocka_unit_test(name_too_long_is_refused),
		cmocka_unit_test(prefix_may_end_with_a_slash),
		cmocka_unit_test(key_of_each_name_is_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
