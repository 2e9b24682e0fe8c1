/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rpcbind is told, when some of a process begin to listen while others
 * end: both do the first under a lock, and tell of it later.
 */
#include "unit/xprt/sunrpc/rig.h"

#include <stdio.h>
#include <stdlib.h>

bool __wrap_m0_sunrpc__rpcbind_set(uint32_t host, uint32_t port);
void __wrap_m0_sunrpc__rpcbind_unset(void);

/* Told so far. */
static char said[128];

bool __wrap_m0_sunrpc__rpcbind_set(uint32_t host, uint32_t port)
{
	char one[32];

	assert_int_equal(port, m0_sunrpc__node.sn_own.se_port);
	snprintf(one, sizeof one, "set %x ", host);
	strcat(said, one);
	return true;
}

void __wrap_m0_sunrpc__rpcbind_unset(void)
{
	strcat(said, "unset ");
}

static void said_is(const char *what)
{
	assert_string_equal(said, what);
	said[0] = 0;
}

/* At the host's one address, or the next; any port. */
static void listens(uint32_t nr)
{
	struct sr_ep ep = { .se_host = RIG_HOST + nr };

	assert_int_equal(m0_sunrpc__node_listen(&ep), 0);
}

static int asked_begin(void **state)
{
	assert_int_equal(setenv("M0_SUNRPC_RPCBIND", "1", 1), 0);
	return rig_begin(state);
}

static int asked_end(void **state)
{
	assert_int_equal(unsetenv("M0_SUNRPC_RPCBIND"), 0);
	return rig_end(state);
}

static void rpcbind_is_told(void **state)
{
	(void)state;
	listens(0);
	m0_sunrpc__node_rpcbind();
	said_is("set 7f000001 ");
	m0_sunrpc__node_unlisten();
	m0_sunrpc__node_rpcbind();
	said_is("unset ");
}

static void rpcbind_is_not_told_unasked(void **state)
{
	(void)state;
	listens(0);
	m0_sunrpc__node_rpcbind();
	m0_sunrpc__node_unlisten();
	m0_sunrpc__node_rpcbind();
	said_is("");
}

/* The last one tells of its end after the next one has told of its begin. */
static void end_told_late_takes_nothing_back(void **state)
{
	(void)state;
	listens(0);
	m0_sunrpc__node_rpcbind();
	m0_sunrpc__node_unlisten();
	listens(1);
	m0_sunrpc__node_rpcbind();
	said_is("set 7f000001 set 7f000002 ");
	m0_sunrpc__node_rpcbind();
	said_is("");
	m0_sunrpc__node_unlisten();
	m0_sunrpc__node_rpcbind();
	said_is("unset ");
}

/* The first one tells of its begin when it has ended. */
static void begin_told_late_is_not_registered(void **state)
{
	(void)state;
	listens(0);
	m0_sunrpc__node_unlisten();
	m0_sunrpc__node_rpcbind();
	m0_sunrpc__node_rpcbind();
	said_is("");
}

#define ASKED(fn) cmocka_unit_test_setup_teardown(fn, asked_begin, asked_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ASKED(rpcbind_is_told), RIG_CASE(rpcbind_is_not_told_unasked),
		ASKED(end_told_late_takes_nothing_back),
		ASKED(begin_told_late_is_not_registered)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
