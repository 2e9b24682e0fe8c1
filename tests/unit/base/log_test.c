/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

static char              seen[1400];
static enum m0_log_level seen_level;
static int               seen_nr;

static void sink(void *arg, enum m0_log_level level, const char *text)
{
	assert_ptr_equal(arg, &seen_nr);
	seen_level = level;
	++seen_nr;
	strncpy(seen, text, sizeof seen - 1);
}

static int setup(void **state)
{
	(void)state;
	seen_nr = 0;
	seen[0] = 0;
	m0_log_set(sink, &seen_nr);
	m0_log_level_set(M0_LOG_WARN);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	m0_log_set(NULL, NULL);
	m0_log_level_set(M0_LOG_WARN);
	return 0;
}

/* The installed sink gets the formatted line and its level. */
static void log_line_reaches_sink(void **state)
{
	(void)state;
	m0_log(M0_LOG_ERROR, "lost %d of %s", 3, "them");
	assert_int_equal(seen_nr, 1);
	assert_int_equal(seen_level, M0_LOG_ERROR);
	assert_string_equal(seen, "lost 3 of them");
}

/* Lines above the level are not even formatted. */
static void log_level_filters(void **state)
{
	(void)state;
	assert_int_equal(m0_log_level(), M0_LOG_WARN);
	m0_log(M0_LOG_NOTICE, "quiet");
	assert_int_equal(seen_nr, 0);
	m0_log_level_set(M0_LOG_DEBUG);
	m0_log(M0_LOG_DEBUG, "loud");
	assert_int_equal(seen_nr, 1);
}

/* A long line is cut at the buffer. */
static void log_long_line_is_cut(void **state)
{
	char text[2000];

	(void)state;
	memset(text, 'y', sizeof text - 1);
	text[sizeof text - 1] = 0;
	m0_log(M0_LOG_WARN, "%s", text);
	assert_int_equal(strlen(seen), 959);
}

/* Every level has a name, and what is no level does not crash. */
static void log_levels_have_names(void **state)
{
	int level;

	(void)state;
	for (level = 0; level < M0_LOG_NR; ++level)
		assert_non_null(m0_log_level_name((enum m0_log_level)level));
	assert_string_equal(m0_log_level_name(M0_LOG_WARN), "warning");
	assert_string_equal(m0_log_level_name(M0_LOG_NR), "unknown level");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(log_line_reaches_sink, setup,
						teardown),
		cmocka_unit_test_setup_teardown(log_level_filters, setup,
						teardown),
		cmocka_unit_test_setup_teardown(log_long_line_is_cut, setup,
						teardown),
		cmocka_unit_test(log_levels_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
