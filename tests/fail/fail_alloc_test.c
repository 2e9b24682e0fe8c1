/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Failure loops over allocations: see fail.h. FAIL_NTH=n makes one run alone. */
#include "fail/fail.h"

static void stories_tell(const struct fail_story *stories)
{
	const char *only = getenv("FAIL_STORY");

	for (; stories->fst_name != NULL; ++stories)
		if (only == NULL || strcmp(only, stories->fst_name) == 0)
			fail_each(stories);
}

static int library_up(void **state)
{
	(void)state;
	m0_log_level_set(M0_LOG_FATAL);
	return m0_net_init();
}

static int library_down(void **state)
{
	(void)state;
	return m0_net_fini();
}

/* Vectors, buffers, bitmaps. */
static void base_without_memory(void **state)
{
	(void)state;
	stories_tell(fail_base_stories);
}

/* Machines, messages, bulk and pools, in memory and over LNet. */
static void net_without_memory(void **state)
{
	(void)state;
	stories_tell(fail_net_stories);
}

/* Nodes: entries, operations, pings, discovery, pictures, fault rules. */
static void lnet_without_memory(void **state)
{
	(void)state;
	stories_tell(fail_lnet_stories);
}

/* Connections, sessions, items, streams and bulk, in memory and over LNet. */
static void rpc_without_memory(void **state)
{
	(void)state;
	stories_tell(fail_rpc_stories);
}

/* Links, maps, groups, sources, stores, pools of the RPC layer. */
static void rpc_calls_without_memory(void **state)
{
	(void)state;
	stories_tell(fail_calls_stories);
}

/* Services and clients in few calls. */
static void easy_without_memory(void **state)
{
	(void)state;
	stories_tell(fail_easy_stories);
}

/* Consoles, clients and servers of tests. */
static void selftest_without_memory(void **state)
{
	(void)state;
	stories_tell(fail_selftest_stories);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base_without_memory),
		cmocka_unit_test(net_without_memory),
		cmocka_unit_test(lnet_without_memory),
		cmocka_unit_test(rpc_without_memory),
		cmocka_unit_test(rpc_calls_without_memory),
		cmocka_unit_test(easy_without_memory),
		cmocka_unit_test(selftest_without_memory),
	};

	return cmocka_run_group_tests(tests, library_up, library_down);
}
