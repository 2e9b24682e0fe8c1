/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "m0/base.h"

#include "../../../tools/base/text.h"

static void size_is(const char *text, uint64_t want)
{
	uint64_t got = 0;

	assert_int_equal(text_size_parse(text, &got), 0);
	assert_int_equal(got, want);
}

/* Every form that messages promise is read, and means powers of 1024. */
static void size_with_suffix_is_read(void **state)
{
	(void)state;
	size_is("0", 0);
	size_is("4096", 4096);
	size_is("64K", 65536);
	size_is("64KiB", 65536);
	size_is("1M", 1048576);
	size_is("1mib", 1048576);
	size_is("2G", 2ULL << 30);
	size_is("3TiB", 3ULL << 40);
	size_is("18446744073709551615", UINT64_MAX);
}

/* A malformed size is refused; one that is too large is not cut. */
static void size_malformed_is_refused(void **state)
{
	static const char *const bad[] = { "",    "K",   "-1",   "+1",
					   " 1",  "1 ",  "1.5M", "1KB",
					   "0x1", "1e3", "1KK" };
	uint64_t                 got = 7;
	size_t                   i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); ++i)
		assert_int_equal(text_size_parse(bad[i], &got), -EINVAL);
	assert_int_equal(text_size_parse("18446744073709551616", &got),
			 -ERANGE);
	assert_int_equal(text_size_parse("16777216T", &got), -ERANGE);
}

/* A list ends with its last word, and is bounded. */
static void list_is_read_up_to_its_bound(void **state)
{
	uint64_t got[3];
	size_t   nr = 0;

	(void)state;
	assert_int_equal(
		text_list_parse("1,2K,3", text_size_parse, got, 3, &nr), 0);
	assert_int_equal(nr, 3);
	assert_int_equal(got[1], 2048);
	assert_int_equal(text_list_parse("1,2,3,4", text_size_parse, got, 3,
					 &nr),
			 -E2BIG);
	assert_int_equal(text_list_parse("1,,3", text_size_parse, got, 3, &nr),
			 -EINVAL);
	assert_int_equal(text_list_parse("", text_size_parse, got, 3, &nr),
			 -EINVAL);
}

/* Units of time; seconds have fractions but neither sign nor infinity. */
static void time_is_read_in_its_units(void **state)
{
	uint64_t ns = 0;
	double   seconds = 0;

	(void)state;
	assert_int_equal(text_time_parse("50us", &ns), 0);
	assert_int_equal(ns, 50000);
	assert_int_equal(text_time_parse("2s", &ns), 0);
	assert_int_equal(ns, 2000000000);
	assert_int_equal(text_time_parse("1h", &ns), -EINVAL);
	assert_int_equal(text_seconds_parse("0.25", &seconds), 0);
	assert_true(seconds == 0.25);
	assert_int_equal(text_seconds_parse("inf", &seconds), -EINVAL);
	assert_int_equal(text_seconds_parse("-1", &seconds), -EINVAL);
	assert_int_equal(text_seconds_parse("0", &seconds), -EINVAL);
	assert_int_equal(text_seconds_parse("1s", &seconds), -EINVAL);
}

/* Printed numbers are short and have a suitable unit. */
static void numbers_are_printed_in_their_units(void **state)
{
	char text[TEXT_MAX];

	(void)state;
	assert_string_equal(text_size(text, 1), "1 byte");
	assert_string_equal(text_size(text, 1023), "1023 bytes");
	assert_string_equal(text_size(text, 1536), "1.5 KiB");
	assert_string_equal(text_size(text, UINT64_MAX), "16.0 EiB");
	assert_string_equal(text_size_short(text, 0), "0");
	assert_string_equal(text_size_short(text, 65536), "64K");
	assert_string_equal(text_size_short(text, 1 << 20), "1M");
	assert_string_equal(text_size_short(text, 4097), "4097");
	assert_string_equal(text_time(text, 0), "0 ns");
	assert_string_equal(text_time(text, 1234), "1.23 us");
	assert_string_equal(text_time(text, 999.7), "1.00 us");
	assert_string_equal(text_time(text, 12.34e6), "12.3 ms");
	assert_string_equal(text_time(text, 123e9), "123 s");
}

/* Control characters become visible, in UTF-8 too; letters of any script do not
 * change. */
static void control_characters_are_made_printable(void **state)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ "a b~", "a b~" },
		{ "a\nb\x1b[2J\x7f", "a?b?[2J?" },
		{ "\xc2\x9b"
		  "2J\xc2\x80\xc2\x9f",
		  "??2J????" },
		{ "\xc2\xa0\xc3\x89\xc2", "\xc2\xa0\xc3\x89\xc2" },
		{ "\xe2\x82\xac", "\xe2\x82\xac" },
	};
	char   text[TEXT_MAX];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		snprintf(text, sizeof text, "%s", rows[i][0]);
		assert_int_equal(text_is_printable(text),
				 strcmp(rows[i][0], rows[i][1]) == 0);
		text_make_printable(text);
		assert_string_equal(text, rows[i][1]);
		assert_true(text_is_printable(text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(size_with_suffix_is_read),
		cmocka_unit_test(size_malformed_is_refused),
		cmocka_unit_test(list_is_read_up_to_its_bound),
		cmocka_unit_test(time_is_read_in_its_units),
		cmocka_unit_test(numbers_are_printed_in_their_units),
		cmocka_unit_test(control_characters_are_made_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
