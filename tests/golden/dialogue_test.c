/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Each recorded dialogue of Lustre's nodes, with our node in the place of either
 * side: it answers the requests of the other side, and accepts its messages. V1,
 * which our node refuses, is left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "golden/replay.h"

static const char *golden_dir;

/** Least numbers of a recording, so that something is proved. */
struct least {
	const char *l_file;
	/** Machines that our node takes the place of. */
	unsigned l_nodes_nr;
	/** Sums over all replaced machines. */
	unsigned l_matched_nr;
	unsigned l_hellos_nr;
	unsigned l_acked_nr;
};

static struct replay replay;

static void recording_is_played(void **state)
{
	const struct least *least = *state;
	char                path[512];
	struct least        sum = {};
	unsigned            i;

	m0_log_level_set(M0_LOG_ERROR);
	(void)snprintf(path, sizeof path, "%s/%s.pcap", golden_dir,
		       least->l_file);
	replay_load(&replay, path);
	for (i = 0; i < replay.re_machines_nr; ++i) {
		if (!replay_is_node(&replay, i))
			continue;
		replay_play(&replay, i);
		++sum.l_nodes_nr;
		sum.l_matched_nr += replay.re_matched_nr;
		sum.l_hellos_nr += replay.re_hellos_nr;
		sum.l_acked_nr += replay.re_acked_nr;
		print_message("  %s, machine %u: %u HELLOs and %u messages as "
			      "recorded, %u fed, %u asked besides, %u "
			      "unreachable, %u cookies\n",
			      least->l_file, i, replay.re_hellos_nr,
			      replay.re_matched_nr, replay.re_fed_nr,
			      replay.re_surplus_nr, replay.re_unreachable_nr,
			      replay.re_acked_nr);
	}
	replay_free(&replay);
	assert_int_equal(sum.l_nodes_nr, least->l_nodes_nr);
	assert_true(sum.l_matched_nr >= least->l_matched_nr);
	assert_true(sum.l_hellos_nr >= least->l_hellos_nr);
	assert_true(sum.l_acked_nr >= least->l_acked_nr);
}

int main(int argc, char **argv)
{
	static struct least least[] = {
		{ "01-ping-discovery-off", 2, 4, 6, 0 },
		{ "02-discovery", 2, 7, 6, 0 },
		{ "03-selftest", 2, 49, 6, 2 },
		{ "05-routed-tcp1-side", 1, 22, 3, 1 },
		{ "06-ipv6", 2, 8, 6, 0 },
		{ "07-keepalive", 2, 2, 6, 0 },
		{ "09-mixed-nids", 2, 8, 9, 0 },
		{ "11-proto-v1-v2-csum", 1, 3, 4, 0 },
		{ "12-conns-per-peer-4", 2, 51, 18, 2 },
		{ "13-discovery-vs-nodiscovery", 2, 2, 6, 0 },
		{ "14-selftest-remote-console", 3, 56, 12, 0 },
		{ "16-router-tcp", 2, 102, 12, 0 },
	};
	struct CMUnitTest tests[ARRAY_SIZE(least)];
	unsigned          i;

	if (argc < 2)
		return 2;
	golden_dir = argv[1];
	cmocka_set_test_filter(argv[2]);
	for (i = 0; i < ARRAY_SIZE(least); ++i)
		tests[i] = (struct CMUnitTest){
			.name = least[i].l_file,
			.test_func = recording_is_played,
			.initial_state = &least[i],
		};
	return cmocka_run_group_tests_name("golden-dialogue", tests, NULL,
					   NULL);
}
