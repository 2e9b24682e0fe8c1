/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of the engine: a send, a receive, a drop, a wait for a credit, a path
 * and a discovery each leave a line in the narration.
 */
#include "unit/lnet/story.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(trace_tells_of_path_send_and_receive),
		STORY_BARE(trace_tells_why_a_message_is_dropped),
		STORY_BARE(trace_tells_of_waits_for_credits),
		STORY_BARE(trace_tells_of_a_discovery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
