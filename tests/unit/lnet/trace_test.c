/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Probes of the engine: a send, a receive, a drop, a wait for a credit, a path,
 * a route and a discovery each leave a line in the narration.
 */
#include "unit/lnet/routed.h"

#include "base/probes.h"

static char trace[4096];

static void trace_add(void *arg, const char *name, const char *text)
{
	size_t at = strlen(trace);

	(void)arg;
	(void)snprintf(trace + at, sizeof trace - at, "%s: %s\n", name, text);
}

static void trace_begin(void)
{
	trace[0] = 0;
	m0_probe_sink_set(trace_add, NULL);
}

static void trace_expect(const char *text)
{
	m0_probe_sink_set(NULL, NULL);
	assert_string_equal(trace, text);
}

/** Drops the lines of other probes than these two. */
static void trace_keep(const char *kind, const char *other)
{
	char  all[sizeof trace];
	char *rest = all;
	char *line;

	memcpy(all, trace, sizeof all);
	trace[0] = 0;
	while ((line = strsep(&rest, "\n")) != NULL)
		if (strncmp(line, kind, strlen(kind)) == 0 ||
		    strncmp(line, other, strlen(other)) == 0) {
			strcat(trace, line);
			strcat(trace, "\n");
		}
}

static void trace_tells_of_path_send_and_receive(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	story_open(2, &cfg);
	sink_post(two);
	trace_begin();
	put_from(one, "10.0.0.1@tcp", "10.0.0.2@tcp");
	pair_run(pair, 10);
	/* The path is known now. */
	put_from(one, "10.0.0.1@tcp", "10.0.0.2@tcp");
	pair_run(pair, 10);
	trace_expect("lnet_path: 10.0.0.1@tcp > 10.0.0.2@tcp: path of a PUT\n"
		     "lnet_send: 10.0.0.1@tcp > 10.0.0.2@tcp: PUT leaves, "
		     "8 bytes\n"
		     "lnet_recv: 10.0.0.2@tcp < 10.0.0.1@tcp: PUT arrives, "
		     "8 bytes\n"
		     "lnet_send: 10.0.0.1@tcp > 10.0.0.2@tcp: PUT leaves, "
		     "8 bytes\n"
		     "lnet_recv: 10.0.0.2@tcp < 10.0.0.1@tcp: PUT arrives, "
		     "8 bytes\n");
}

static void trace_tells_why_a_message_is_dropped(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	story_open(2, &cfg);
	trace_begin();
	put_from(one, "10.0.0.1@tcp", "10.0.0.2@tcp");
	pair_run(pair, 10);
	trace_expect("lnet_path: 10.0.0.1@tcp > 10.0.0.2@tcp: path of a PUT\n"
		     "lnet_send: 10.0.0.1@tcp > 10.0.0.2@tcp: PUT leaves, "
		     "8 bytes\n"
		     "lnet_drop: 10.0.0.2@tcp < 10.0.0.1@tcp: PUT dropped, "
		     "no match\n");
}

static void trace_tells_of_waits_for_credits(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	cfg.lec_peer_credits = 1;
	story_open(2, &cfg);
	sink_post(two);
	pair->pai_hook = all_held;
	put_from(one, "10.0.0.1@tcp", "10.0.0.2@tcp");
	trace_begin();
	put_from(one, "10.0.0.1@tcp", "10.0.0.2@tcp");
	trace_expect("lnet_credit: 10.0.0.1@tcp > 10.0.0.2@tcp: PUT waits for "
		     "a credit of the peer\n");
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_run(pair, 10);
}

static void trace_tells_of_a_discovery(void **state)
{
	(void)state;
	story_open(2, NULL);
	sink_post(two);
	trace_begin();
	put_from(one, "10.0.0.1@tcp", "10.0.0.2@tcp");
	m0_probe_sink_set(NULL, NULL);
	assert_string_equal(trace, "lnet_discovery: discovery of 10.0.0.2@tcp: "
				   "ping, status 0\n");
	trace_begin();
	pair_run(pair, 100);
	m0_probe_sink_set(NULL, NULL);
	assert_non_null(strstr(trace, "lnet_discovery: discovery of "
				      "10.0.0.2@tcp: done, status 0\n"));
}

/** A chain: tcp, router 1, tcp1, router 2, tcp2. The sender names its gateway, each
 * router the next hop; an answer goes back as the request came. */
static void trace_names_each_router_of_a_path(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	(void)state;
	routed_open(4, &cfg);
	nids(0, "10.0.0.1@tcp");
	nids(1, "10.0.0.2@tcp 10.1.0.2@tcp1");
	nids(2, "10.1.0.3@tcp1 10.2.0.3@tcp2");
	nids(3, "10.2.0.4@tcp2");
	routing(1, true);
	routing(2, true);
	assert_int_equal(route_try_add(0, "tcp2", "10.0.0.2@tcp", 2, 0), 0);
	route(1, "tcp2", "10.1.0.3@tcp1");
	route(2, "tcp", "10.1.0.2@tcp1");
	assert_int_equal(route_try_add(3, "tcp", "10.2.0.3@tcp2", 2, 0), 0);
	pair_settle(pair);
	sink_post(node(3));
	trace_begin();
	pair_get(one, pair_md_bind(one, bytes_in, 8, 2, 0), "10.2.0.4@tcp2",
		 PORTAL, BITS);
	pair_run(pair, 10);
	m0_probe_sink_set(NULL, NULL);
	trace_keep("lnet_route", "lnet_forward");
	assert_string_equal(
		trace,
		"lnet_route: GET from 10.0.0.1@tcp to 10.2.0.4@tcp2 "
		"goes by 10.0.0.2@tcp\n"
		"lnet_forward: 10.1.0.2@tcp1 > 10.1.0.3@tcp1: forwards GET "
		"from 10.0.0.1@tcp to 10.2.0.4@tcp2\n"
		"lnet_forward: 10.2.0.3@tcp2 > 10.2.0.4@tcp2: forwards GET "
		"from 10.0.0.1@tcp to 10.2.0.4@tcp2\n"
		"lnet_route: REPLY from 10.2.0.4@tcp2 to "
		"10.0.0.1@tcp goes by 10.2.0.3@tcp2\n"
		"lnet_forward: 10.1.0.3@tcp1 > 10.1.0.2@tcp1: forwards REPLY "
		"from 10.2.0.4@tcp2 to 10.0.0.1@tcp\n"
		"lnet_forward: 10.0.0.2@tcp > 10.0.0.1@tcp: forwards REPLY "
		"from 10.2.0.4@tcp2 to 10.0.0.1@tcp\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(trace_tells_of_path_send_and_receive),
		STORY_BARE(trace_tells_why_a_message_is_dropped),
		STORY_BARE(trace_tells_of_waits_for_credits),
		STORY_BARE(trace_tells_of_a_discovery),
		STORY_BARE(trace_names_each_router_of_a_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
