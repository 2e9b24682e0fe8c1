/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "m0/base.h"

struct thing {
	unsigned th_count;
	uint64_t th_ns;
};

static const struct m0_option table[] = {
	M0_OPTION(struct thing, th_count, "count", "", 1, 127, 1),
	M0_OPTION(struct thing, th_ns, "time", "seconds", 0, 86400,
		  M0_TIME_ONE_SECOND),
};

static struct thing thing;
static char         why[M0_OPTIONS_WHY_BYTES];

static int setup(void **state)
{
	(void)state;
	thing = (struct thing){ 5, 7 };
	strcpy(why, "?");
	return 0;
}

static int read_text(const char *text)
{
	return m0_options_read(table, ARRAY_SIZE(table), &thing, text, why);
}

/* Named options are set, others keep their values. */
static void options_are_read(void **state)
{
	(void)state;
	assert_int_equal(read_text(""), 0);
	assert_int_equal(read_text(" \t\n"), 0);
	assert_true(thing.th_count == 5 && thing.th_ns == 7);
	assert_int_equal(read_text("count=127"), 0);
	assert_true(thing.th_count == 127 && thing.th_ns == 7);
	assert_int_equal(read_text("  time=30\tcount=1 "), 0);
	assert_int_equal(thing.th_count, 1);
	assert_int_equal(thing.th_ns, 30 * M0_TIME_ONE_SECOND);
	assert_int_equal(read_text("time=00086400"), 0);
	assert_int_equal(thing.th_ns, 86400 * M0_TIME_ONE_SECOND);
	assert_string_equal(why, "?");
}

/* A wrong text changes nothing, and the message names option, value and what is
 * accepted. */
static void wrong_texts_are_refused(void **state)
{
	static const struct {
		const char *text;
		int         rc;
		const char *why;
	} rows[] = {
		{ "count=0", -EINVAL, "count is \"0\"; accepted: 1 to 127" },
		{ "count=128", -EINVAL,
		  "count is \"128\"; accepted: 1 to 127" },
		{ "count=", -EINVAL, "count is \"\"; accepted: 1 to 127" },
		{ "count=-1", -EINVAL, "count is \"-1\"; accepted: 1 to 127" },
		{ "count=+1", -EINVAL, "count is \"+1\"; accepted: 1 to 127" },
		{ "count=1=1", -EINVAL,
		  "count is \"1=1\"; accepted: 1 to 127" },
		{ "count=0x1", -EINVAL,
		  "count is \"0x1\"; accepted: 1 to 127" },
		{ "count=18446744073709551617", -EINVAL,
		  "count is \"18446744073709551617\"; accepted: 1 to 127" },
		{ "count=9 time=86401", -EINVAL,
		  "time is \"86401\"; accepted: 0 to 86400 seconds" },
		{ "count=9 time=1 count=9", -EINVAL,
		  "count is there twice; accepted: once" },
		{ "count=9 pace=1", -ENOENT,
		  "there is no option \"pace\"; accepted: count, time" },
		{ "coun=1", -ENOENT,
		  "there is no option \"coun\"; accepted: count, time" },
		{ "counts=1", -ENOENT,
		  "there is no option \"counts\"; accepted: count, time" },
		{ "COUNT=1", -ENOENT,
		  "there is no option \"COUNT\"; accepted: count, time" },
		{ "count", -EINVAL,
		  "\"count\" is not an option; accepted: NAME=VALUE" },
		{ "count = 1", -EINVAL,
		  "\"count\" is not an option; accepted: NAME=VALUE" },
		{ "=1", -EINVAL,
		  "\"=1\" is not an option; accepted: NAME=VALUE" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		assert_int_equal(read_text(rows[i].text), rows[i].rc);
		assert_string_equal(why, rows[i].why);
		assert_true(thing.th_count == 5 && thing.th_ns == 7);
	}
}

/* Long texts and an empty table. */
static void messages_have_an_end(void **state)
{
	char text[4096];

	(void)state;
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = 0;
	assert_int_equal(read_text(text), -EINVAL);
	assert_true(strlen(why) < 120);
	memcpy(text, "count=", 6);
	assert_int_equal(read_text(text), -EINVAL);
	assert_true(strlen(why) < 120);
	text[5] = 'x';
	text[sizeof text - 2] = '=';
	assert_int_equal(read_text(text), -ENOENT);
	assert_true(strlen(why) < 120);
	assert_int_equal(m0_options_read(NULL, 0, &thing, "a=1", why), -ENOENT);
	assert_string_equal(why, "there is no option \"a\"; accepted: none");
	assert_int_equal(m0_options_read(NULL, 0, NULL, "", why), 0);
	assert_string_equal(m0_options_names(table, 2, text, 8), "count, ");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, NULL)
	const struct CMUnitTest tests[] = {
		CASE(options_are_read),
		CASE(wrong_texts_are_refused),
		CASE(messages_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
