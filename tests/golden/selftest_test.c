/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Messages of the selftest between kernel nodes, as they were recorded, against
 * the codec: each is encoded again to the same bytes.
 *	golden_selftest_test DIRECTORY
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden/golden.h"
#include "selftest/st_pattern.h"

/** True for a message of the selftest. */
static bool is_message(const struct dialogue_msg *msg)
{
	return msg->dm_kind == DIALOGUE_LNET &&
	       msg->dm_hdr.lhd_type == M0_LNET_PUT &&
	       msg->dm_hdr.lhd_portal >= M0_ST_PORTAL_TEST &&
	       msg->dm_hdr.lhd_portal <= M0_ST_PORTAL_REPLY &&
	       msg->dm_hdr.lhd_payload_bytes == M0_ST_MSG_BYTES;
}

/* Check that the codec encodes a message to its bytes, in the other order, too. */
static void again_check(const struct dialogue_msg *msg)
{
	struct m0_st_msg st;
	struct m0_st_msg again;
	uint8_t          bytes[M0_ST_MSG_BYTES];

	assert_int_equal(m0_st_decode(&st, msg->dm_payload, M0_ST_MSG_BYTES),
			 0);
	assert_false(st.smg_swapped);
	assert_int_equal(st.smg_version, M0_ST_VERSION);
	m0_st_encode(&st, bytes);
	assert_memory_equal(bytes, msg->dm_payload, sizeof bytes);
	if (m0_st_type_is_request(st.smg_type)) {
		assert_int_equal(msg->dm_hdr.lhd_portal,
				 m0_st_type_portal(st.smg_type));
		assert_int_equal(msg->dm_hdr.lhd_match_bits,
				 m0_st_type_service(st.smg_type));
	} else {
		assert_int_equal(msg->dm_hdr.lhd_portal, M0_ST_PORTAL_REPLY);
	}
	st.smg_swapped = true;
	m0_st_encode(&st, bytes);
	assert_memory_not_equal(bytes, msg->dm_payload, sizeof bytes);
	assert_int_equal(m0_st_decode(&again, bytes, sizeof bytes), 0);
	assert_memory_equal(&again, &st, sizeof st);
}

/* Every type but DEBUG was recorded. */
static void messages_are_encoded_as_they_were(void **state)
{
	const struct golden_file  *file;
	const struct dialogue     *dlg;
	const struct dialogue_msg *msg;
	struct m0_st_msg           st;
	unsigned                   seen[M0_ST_TYPES_NR] = { 0 };
	unsigned                   i;

	(void)state;
	golden_for_each_msg(file, dlg, msg)
	{
		if (!is_message(msg))
			continue;
		again_check(msg);
		(void)m0_st_decode(&st, msg->dm_payload, M0_ST_MSG_BYTES);
		++seen[st.smg_type];
	}
	for (i = 0; i < ARRAY_SIZE(seen); ++i)
		assert_int_equal(seen[i] == 0,
				 i == M0_ST_DEBUG || i == M0_ST_DEBUG_REP);
}

/* Check that data has the pattern that requests ask for. */
static void data_has_the_pattern(void **state)
{
	const struct golden_file  *file;
	const struct dialogue     *dlg;
	const struct dialogue_msg *msg;
	unsigned                   checked_nr = 0;
	bool                       full;

	(void)state;
	golden_for_each_msg(file, dlg, msg)
	{
		if (strcmp(file->gf_name, "03-selftest") != 0 ||
		    msg->dm_kind != DIALOGUE_LNET ||
		    (msg->dm_hdr.lhd_type != M0_LNET_PUT &&
		     msg->dm_hdr.lhd_type != M0_LNET_REPLY) ||
		    msg->dm_hdr.lhd_payload_bytes < M0_ST_PAGE_BYTES)
			continue;
		/* 64 KiB were asked for with full, 4 KiB with simple. */
		full = msg->dm_hdr.lhd_payload_bytes > M0_ST_PAGE_BYTES;
		assert_true(m0_st_pattern_is(
			msg->dm_payload, msg->dm_hdr.lhd_payload_bytes, 0,
			full ? M0_ST_CHECK_FULL : M0_ST_CHECK_SIMPLE, false));
		++checked_nr;
	}
	assert_int_equal(checked_nr, 6);
}

/* The list of one destination. */
static void destinations_are_encoded_as_they_were(void **state)
{
	const struct golden_file  *file;
	const struct dialogue     *dlg;
	const struct dialogue_msg *msg;
	struct m0_lnet_process_id  id;
	uint8_t                    list[M0_ST_DEST_BYTES];
	unsigned                   lists_nr = 0;

	(void)state;
	golden_for_each_msg(file, dlg, msg)
	{
		if (strcmp(file->gf_name, "14-selftest-remote-console") != 0 ||
		    msg->dm_kind != DIALOGUE_LNET ||
		    msg->dm_hdr.lhd_type != M0_LNET_REPLY ||
		    msg->dm_hdr.lhd_payload_bytes != sizeof list)
			continue;
		assert_int_equal(m0_st_dest_decode(&id, msg->dm_payload, 0,
						   M0_ST_FEAT_LEN, false),
				 0);
		assert_int_equal(id.lp_pid, M0_LNET_PID_LUSTRE);
		assert_int_equal(m0_lnet_nid_net(&id.lp_nid),
				 m0_lnet_net(M0_LNET_TYPE_TCP, 0));
		m0_st_dest_encode(&id, list, 0, M0_ST_FEAT_LEN, false);
		assert_memory_equal(list, msg->dm_payload, sizeof list);
		++lists_nr;
	}
	assert_int_equal(lists_nr, 3);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_encoded_as_they_were),
		cmocka_unit_test(data_has_the_pattern),
		cmocka_unit_test(destinations_are_encoded_as_they_were),
	};
	const char *why;
	int         rc;

	if (argc != 2)
		return 2;
	why = golden_load(argv[1]);
	if (why != NULL) {
		print_error("%s\n", why);
		return 1;
	}
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	golden_free();
	return rc;
}
