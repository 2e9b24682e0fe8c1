/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Taps: what they show, in which order, and that nothing is left of them. */
#include "unit/lnet/story.h"

#include "lnet/fault/tap.h"

enum {
	SEEN_BYTES = 4096
};

static struct m0_lnet_tap tap;
/** A line for each message. */
static char               seen[SEEN_BYTES];
static struct m0_lnet_hdr last_hdr;
static uint8_t            last_payload[64];
static m0_bcount_t        last_payload_nr;

static const char *type_of(unsigned type)
{
	switch (type) {
	case M0_LNET_FAULT_ACK:
		return "ACK";
	case M0_LNET_FAULT_PUT:
		return "PUT";
	case M0_LNET_FAULT_GET:
		return "GET";
	default:
		return "REPLY";
	}
}

static void note(struct m0_lnet_tap *own, const struct m0_lnet_tap_msg *msg)
{
	size_t nr = strlen(seen);

	assert_ptr_equal(own, &tap);
	(void)snprintf(seen + nr, sizeof seen - nr, "%s %s %u/%u%s%s%s\n",
		       msg->ltv_leaves ? "out" : "in", type_of(msg->ltv_type),
		       (unsigned)msg->ltv_vec_bytes,
		       (unsigned)msg->ltv_payload_bytes,
		       msg->ltv_status == 0 ? "" : " incomplete",
		       msg->ltv_why == NULL ? "" : " ",
		       msg->ltv_why == NULL ? "" : msg->ltv_why);
	assert_int_equal(m0_lnet__hdr_decode(&last_hdr,
					     msg->ltv_head_bytes ==
						     M0_LNET_HDR_LARGE_BYTES,
					     msg->ltv_head),
			 0);
	last_payload_nr = 0;
	if (msg->ltv_vec_bytes > 0) {
		struct m0_bufvec_cursor cur;

		m0_bufvec_cursor_init(&cur, msg->ltv_vec);
		(void)m0_bufvec_cursor_move(&cur, msg->ltv_vec_offset);
		last_payload_nr = m0_bufvec_cursor_copyfrom(
			&cur, last_payload,
			min64u(msg->ltv_vec_bytes, sizeof last_payload));
	}
}

static void tap_begin(struct pair_node *node)
{
	tap.ltp_message = note;
	seen[0] = '\0';
	assert_int_equal(m0_lnet_engine_tap_add(node->pno_engine, &tap), 0);
}

static void tap_end(struct pair_node *node)
{
	assert_int_equal(m0_lnet_engine_tap_del(node->pno_engine, &tap), 0);
	assert_null(node->pno_engine->le_faults);
	assert_int_equal(m0_lnet_engine_tap_del(node->pno_engine, &tap),
			 -ENOENT);
}

/* A PUT leaves, and its ACK arrives; payload and header are those of the message. */
static void put_and_ack_are_shown(void **state)
{
	(void)state;
	sink_post(two);
	tap_begin(one);
	pair_put(one, pair_md_bind(one, bytes_out, 64, 2, 0), "10.0.0.2@tcp",
		 PORTAL, BITS, true);
	pair_run(pair, 10);
	assert_string_equal(seen, "out PUT 64/64\nin ACK 0/0\n");
	put_to(one, "10.0.0.2@tcp", 40);
	pair_run(pair, 10);
	assert_int_equal(last_hdr.lhd_portal, PORTAL);
	assert_int_equal(last_payload_nr, 40);
	assert_memory_equal(last_payload, bytes_out, 40);
	tap_end(one);
	/* Nothing is shown without it. */
	seen[0] = '\0';
	put_to(one, "10.0.0.2@tcp", 40);
	pair_run(pair, 10);
	assert_string_equal(seen, "");
}

/* A request is shown before its answer, and a payload when it is there. */
static void arrivals_are_shown_in_order(void **state)
{
	(void)state;
	sink_post(two);
	memset(bytes_in, 0x11, sizeof bytes_in);
	tap_begin(two);
	pair_get(one, pair_md_bind(one, bytes_out, 32, 2, 0), "10.0.0.2@tcp",
		 PORTAL, BITS);
	pair_run(pair, 10);
	assert_string_equal(seen, "in GET 0/0\nout REPLY 32/32\n");
	put_to(one, "10.0.0.2@tcp", 48);
	pair_run(pair, 10);
	assert_string_equal(seen,
			    "in GET 0/0\nout REPLY 32/32\nin PUT 48/48\n");
	assert_int_equal(last_payload_nr, 48);
	assert_memory_equal(last_payload, bytes_out, 48);
	assert_memory_equal(bytes_in, bytes_out, 48);
	tap_end(two);
}

/* The header of a REPLY is its own, not that of the GET. */
static void reply_is_shown_with_its_header(void **state)
{
	(void)state;
	sink_post(two);
	tap_begin(one);
	pair_get(one, pair_md_bind(one, bytes_out, 32, 2, 0), "10.0.0.2@tcp",
		 PORTAL, BITS);
	pair_run(pair, 10);
	assert_string_equal(seen, "out GET 0/0\nin REPLY 32/32\n");
	assert_int_equal(last_hdr.lhd_type, M0_LNET_REPLY);
	assert_int_equal(last_hdr.lhd_payload_bytes, 32);
	tap_end(one);
}

/* One that is dropped has the reason; its payload is discarded. */
static void drop_is_shown_with_its_reason(void **state)
{
	struct m0_lnet_fault_attr attr = {
		.lfa_kind = M0_LNET_FAULT_DROP,
		.lfa_src = m0_lnet_nid_any,
		.lfa_dst = m0_lnet_nid_any,
		.lfa_local = m0_lnet_nid_any,
		.lfa_all = true,
	};

	(void)state;
	tap_begin(two);
	put_to(one, "10.0.0.2@tcp", 48);
	pair_run(pair, 10);
	assert_non_null(strstr(seen, "in PUT 0/48 "));
	seen[0] = '\0';
	assert_int_equal(m0_lnet_engine_fault_add(two->pno_engine, &attr), 0);
	put_to(one, "10.0.0.2@tcp", 48);
	pair_run(pair, 10);
	assert_string_equal(seen, "in PUT 0/48 fault rule\n");
	/* The tap stays when the rules go. */
	assert_int_equal(m0_lnet_engine_fault_del(two->pno_engine,
						  M0_LNET_FAULT_ANY, NULL,
						  NULL),
			 1);
	assert_non_null(two->pno_engine->le_faults);
	tap_end(two);
}

/* A rule that makes sending fail drops a message before it leaves. */
static void drop_on_leaving_is_shown(void **state)
{
	struct m0_lnet_fault_attr attr = {
		.lfa_kind = M0_LNET_FAULT_DROP,
		.lfa_src = m0_lnet_nid_any,
		.lfa_dst = m0_lnet_nid_any,
		.lfa_local = m0_lnet_nid_any,
		.lfa_all = true,
		.lfa_max = 1,
		.lfa_msgs = M0_LNET_FAULT_PUT,
		.lfa_health = 1u << M0_LND_LOCAL_ERROR,
	};

	(void)state;
	sink_post(two);
	tap_begin(one);
	assert_int_equal(m0_lnet_engine_fault_add(one->pno_engine, &attr), 0);
	put_to(one, "10.0.0.2@tcp", 48);
	pair_run(pair, 10);
	assert_int_equal(strncmp(seen, "out PUT 48/48 fault rule\n", 25), 0);
	(void)m0_lnet_engine_fault_del(one->pno_engine, M0_LNET_FAULT_ANY, NULL,
				       NULL);
	tap_end(one);
}

/* A payload that breaks off, or ends when the MD is unlinked, is shown as such; the tap
 * may be gone by then. */
static void broken_payload_is_shown(void **state)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, 64);
	struct m0_lnd_rx   rx;

	(void)state;
	(void)sink(one, BITS, M0_LNET_MD_THRESHOLD_INF,
		   M0_LNET_MD_MANAGE_REMOTE);
	tap_begin(one);
	assert_int_equal(rx_begin(&rx, &hdr), 0);
	assert_string_equal(seen, "");
	rx_done(&rx, -ECONNRESET);
	assert_string_equal(seen, "in PUT 0/64 incomplete\n");
	assert_int_equal(rx_begin(&rx, &hdr), 0);
	tap_end(one);
	rx_done(&rx, 0);
	assert_string_equal(seen, "in PUT 0/64 incomplete\n");
	tap_begin(one);
	assert_int_equal(rx_begin(&rx, &hdr), 0);
	m0_lnet_engine_shutdown(one->pno_engine, one->pno_engine->le_now);
	pair_settle(pair);
	assert_string_equal(seen, "in PUT 0/64 incomplete\n");
	tap_end(one);
}

/* No more than so many taps. */
static void taps_have_a_bound(void **state)
{
	static struct m0_lnet_tap taps[M0_LNET_TAPS_MAX];
	unsigned                  i;

	(void)state;
	for (i = 0; i < M0_LNET_TAPS_MAX; ++i) {
		taps[i].ltp_message = note;
		assert_int_equal(
			m0_lnet_engine_tap_add(one->pno_engine, &taps[i]), 0);
	}
	tap.ltp_message = note;
	assert_int_equal(m0_lnet_engine_tap_add(one->pno_engine, &tap),
			 -ENOSPC);
	for (i = 0; i < M0_LNET_TAPS_MAX; ++i)
		assert_int_equal(
			m0_lnet_engine_tap_del(one->pno_engine, &taps[i]), 0);
	assert_null(one->pno_engine->le_faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY(put_and_ack_are_shown),
		STORY(arrivals_are_shown_in_order),
		STORY(reply_is_shown_with_its_header),
		STORY(drop_is_shown_with_its_reason),
		STORY(drop_on_leaving_is_shown),
		STORY(broken_payload_is_shown),
		STORY(taps_have_a_bound),
	};

	m0_log_level_set(M0_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
