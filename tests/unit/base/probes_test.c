/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

#include "base/probes.h"

static char seen_name[64];
static char seen_text[600];
static int  seen_nr;

static void sink(void *arg, const char *name, const char *text)
{
	assert_ptr_equal(arg, &seen_nr);
	strncpy(seen_name, name, sizeof seen_name - 1);
	strncpy(seen_text, text, sizeof seen_text - 1);
	++seen_nr;
}

/* Without a sink an event goes nowhere. */
static void probe_without_sink_is_silent(void **state)
{
	(void)state;
	seen_nr = 0;
	m0_probe_ep_new("a", "b");
	assert_int_equal(seen_nr, 0);
}

/* The sink gets name and text; the simulator's narration is made of these. */
static void probe_text_reaches_sink(void **state)
{
	(void)state;
	seen_nr = 0;
	m0_probe_sink_set(sink, &seen_nr);
	m0_probe_tm_state("1:1", "starting", "started");
	assert_string_equal(seen_name, "tm_state");
	assert_string_equal(seen_text, "1:1: starting -> started");
	m0_probe_buf_event("1:1", 7, "msg_recv", "0", 64, 128);
	assert_string_equal(seen_text,
			    "1:1: buffer 7 of msg_recv done, 0, 64 bytes "
			    "at 128");
	assert_int_equal(seen_nr, 2);
	m0_probe_sink_set(NULL, NULL);
	m0_probe_tm_state("1:1", "started", "stopped");
	assert_int_equal(seen_nr, 2);
}

/* An address as long as a peer likes does not overrun the text. */
static void probe_long_text_is_cut(void **state)
{
	char addr[2000];

	(void)state;
	memset(addr, 'z', sizeof addr - 1);
	addr[sizeof addr - 1] = 0;
	m0_probe_sink_set(sink, &seen_nr);
	m0_probe_ep_new(addr, addr);
	m0_probe_sink_set(NULL, NULL);
	assert_int_equal(strlen(seen_text), 511);
}

/* Names are unique: tools select by them. */
static void probe_names_are_unique(void **state)
{
	static const char *const name[] = {
#define M0_PROBE(probe, fmt, params, args) #probe,
#include "base/probes.def"
#undef M0_PROBE
	};
	size_t i;
	size_t j;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(name); ++i) {
		for (j = 0; j < i; ++j)
			assert_string_not_equal(name[i], name[j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probe_without_sink_is_silent),
		cmocka_unit_test(probe_text_reaches_sink),
		cmocka_unit_test(probe_long_text_is_cut),
		cmocka_unit_test(probe_names_are_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
