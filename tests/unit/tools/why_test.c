/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Below a ping stands the reason that the running node has given for the peer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../../tools/node/why.h"

static struct node_whys whys;

static int begin(void **state)
{
	(void)state;
	whys = (struct node_whys){};
	return 0;
}

static const char *get(const char *nid_text, int status, unsigned seconds)
{
	struct m0_lnet_nid nid;

	assert_int_equal(m0_lnet_nid_parse(&nid, nid_text), 0);
	return node_whys_get(&whys, &nid, status, seconds * M0_TIME_ONE_SECOND);
}

static void note(const char *text, unsigned seconds)
{
	node_whys_note(&whys, text, seconds * M0_TIME_ONE_SECOND);
}

/* Sockets: for pings that fail by the same error. */
static void a_failed_connection_explains_its_error(void **state)
{
	(void)state;
	note("sock: cannot connect to 10.0.0.1@tcp (EPERM): no port below 1024",
	     1);
	note("sock: 10.0.0.2@tcp closed our connection before it was used", 1);
	assert_string_equal(get("10.0.0.1@tcp", -EPERM, 500),
			    "cannot connect to 10.0.0.1@tcp (EPERM): no port "
			    "below 1024");
	assert_null(get("10.0.0.1@tcp", -ETIMEDOUT, 1));
	assert_null(get("10.0.0.1@tcp", 0, 1));
	assert_non_null(get("10.0.0.2@tcp", -ECONNRESET, 1));
	assert_null(get("10.0.0.3@tcp", -ECONNRESET, 1));
}

/* Net o2ib: what was rejected is named also where less was agreed on, and the ping is answered. */
static void a_mismatch_is_named_by_value(void **state)
{
	(void)state;
	note("o2ib: 10.0.0.1@o2ib has rejected a connection: peer credits: "
	     "its queue depth is 4, ours 8",
	     1);
	assert_string_equal(get("10.0.0.1@o2ib", 0, 5000),
			    "10.0.0.1@o2ib has rejected a connection: peer "
			    "credits: its queue depth is 4, ours 8");
	assert_non_null(get("10.0.0.1@o2ib", -ECONNREFUSED, 5000));
	assert_null(get("10.0.0.1@o2ib1", 0, 1));
	assert_null(get("10.0.0.11@o2ib", 0, 1));
	note("o2ib: 10.0.0.2@o2ib agrees with our limits now", 5001);
	assert_non_null(get("10.0.0.1@o2ib", 0, 5001));
	note("o2ib: 10.0.0.1@o2ib agrees with our limits now", 5001);
	assert_null(get("10.0.0.1@o2ib", 0, 5001));
	assert_null(get("10.0.0.1@o2ib", -ECONNREFUSED, 5001));
}

/* A path without MTU or GID is the reason of each failure, until it has not been said for long. */
static void a_path_explains_failures(void **state)
{
	(void)state;
	note("o2ib: no connection to 10.0.0.1: the peer does not take the MTU "
	     "of the path, 1024",
	     1);
	assert_non_null(get("10.0.0.1@o2ib", -EHOSTUNREACH, 2));
	assert_non_null(get("10.0.0.1@o2ib3", -ETIMEDOUT, 90));
	assert_null(get("10.0.0.1@o2ib", -ETIMEDOUT, 92));
	assert_null(get("10.0.0.1@o2ib", 0, 2));
	assert_null(get("10.0.0.1@tcp", -ETIMEDOUT, 2));
	assert_null(get("10.0.0.10@o2ib", -ETIMEDOUT, 2));
}

/* Each peer has its last; of many peers the first are forgotten. */
static void they_are_bounded(void **state)
{
	char     text[80];
	unsigned i;

	(void)state;
	for (i = 0; i <= NODE_WHYS_MAX; ++i) {
		(void)snprintf(text, sizeof text,
			       "o2ib: no connection to 10.0.1.%u: %u", i, i);
		note(text, i);
		note(text, i);
	}
	assert_null(get("10.0.1.0@o2ib", -ETIMEDOUT, i));
	assert_non_null(get("10.0.1.1@o2ib", -ETIMEDOUT, i));
	assert_string_equal(get("10.0.1.32@o2ib", -ETIMEDOUT, i),
			    "no connection to 10.0.1.32: 32");
}

/* Other lines are no reason. */
static void other_words_are_left(void **state)
{
	static const struct node_whys none;

	(void)state;
	note("o2ib: there is no connection to 10.0.0.1@o2ib: ETIMEDOUT", 1);
	note("o2ib: no connection to ", 1);
	note("o2ib: the port of 10.0.0.1@o2ib is down", 1);
	note("", 1);
	assert_memory_equal(&whys, &none, sizeof none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_failed_connection_explains_its_error,
				       begin),
		cmocka_unit_test_setup(a_mismatch_is_named_by_value, begin),
		cmocka_unit_test_setup(a_path_explains_failures, begin),
		cmocka_unit_test_setup(they_are_bounded, begin),
		cmocka_unit_test_setup(other_words_are_left, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
