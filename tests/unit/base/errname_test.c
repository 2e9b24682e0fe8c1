/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

/* Both signs name the same error. */
static void errname_ignores_sign(void **state)
{
	(void)state;
	assert_string_equal(m0_errname(-EINVAL), "EINVAL");
	assert_string_equal(m0_errname(EINVAL), "EINVAL");
	assert_string_equal(m0_errname(-ETIMEDOUT), "ETIMEDOUT");
	assert_string_equal(m0_errname(-ECANCELED), "ECANCELED");
}

/* Success has a name, and every other number is survived. */
static void errname_knows_zero_and_survives_the_rest(void **state)
{
	int rc;

	(void)state;
	assert_string_equal(m0_errname(0), "0");
	assert_string_equal(m0_errname(99999), "unknown error");
	assert_string_equal(m0_errname(INT32_MIN), "unknown error");
	assert_string_equal(m0_errname(INT32_MAX), "unknown error");
	for (rc = -200; rc < 200; ++rc)
		assert_non_null(m0_errname(rc));
}

/* Errors that the library returns of its own accord have names. */
static void errname_knows_ours(void **state)
{
	(void)state;
	assert_string_equal(m0_errname(-EBADR), "EBADR");
	assert_string_equal(m0_errname(-EMEDIUMTYPE), "EMEDIUMTYPE");
	assert_string_equal(m0_errname(-EREMOTEIO), "EREMOTEIO");
	assert_string_equal(m0_errname(-ETXTBSY), "ETXTBSY");
	assert_string_equal(m0_errname(-EUCLEAN), "EUCLEAN");
	assert_string_equal(m0_errname(-EUSERS), "EUSERS");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errname_ignores_sign),
		cmocka_unit_test(errname_knows_ours),
		cmocka_unit_test(errname_knows_zero_and_survives_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
