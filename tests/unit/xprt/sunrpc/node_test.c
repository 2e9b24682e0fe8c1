/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Calls to rpcbind when some threads of a process begin to listen while others
 * end: both change the state under a lock and call rpcbind after it.
 */
#include "unit/xprt/sunrpc/rig.h"

#include "lib/threads.h"

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

/* The thread's processors: of the environment, and of the program, which wins. */
static void processors_are_set(void **state)
{
	int              cpu = threads_cpu();
	char             text[16];
	struct m0_bitmap map;

	(void)state;
	if (threads_cpus_nr() == 1)
		skip();
	setenv("M0_SUNRPC_CPUS", "0-", 1);
	assert_int_equal(m0_sunrpc__node_share(NULL), -EINVAL);
	snprintf(text, sizeof text, "%d", cpu);
	setenv("M0_SUNRPC_CPUS", text, 1);
	assert_int_equal(m0_sunrpc__node_share(NULL), 0);
	assert_int_equal(threads_on("net-sunrpc", cpu), 1);
	assert_int_equal(m0_net_bulk_sunrpc_confine(NULL), 0);
	assert_int_equal(threads_on("net-sunrpc", cpu), 0);
	assert_int_equal(m0_bitmap_init(&map, 1024), 0);
	assert_int_equal(m0_net_bulk_sunrpc_confine(&map), -EINVAL);
	m0_bitmap_set(&map, (size_t)cpu, true);
	assert_int_equal(m0_net_bulk_sunrpc_confine(&map), 0);
	assert_int_equal(threads_on("net-sunrpc", cpu), 1);
	m0_sunrpc__node_unshare(NULL);
	/* The call outlives the thread, and what the environment says later. */
	setenv("M0_SUNRPC_CPUS", "0-", 1);
	assert_int_equal(m0_sunrpc__node_share(NULL), 0);
	assert_int_equal(threads_on("net-sunrpc", cpu), 1);
	m0_sunrpc__node_unshare(NULL);
	assert_int_equal(m0_net_bulk_sunrpc_confine(NULL), 0);
	unsetenv("M0_SUNRPC_CPUS");
	m0_bitmap_fini(&map);
}

#define ASKED(fn) cmocka_unit_test_setup_teardown(fn, asked_begin, asked_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ASKED(rpcbind_is_told), RIG_CASE(rpcbind_is_not_told_unasked),
		ASKED(end_told_late_takes_nothing_back),
		ASKED(begin_told_late_is_not_registered),
		cmocka_unit_test(processors_are_set)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
