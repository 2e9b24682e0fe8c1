/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Two kernel nodes of net o2ib over RoCE, as they were recorded, against the
 * codec: each message is encoded again to the same bytes.
 *	golden_o2ib_test DIRECTORY
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "golden/o2ib_again.h"
#include "golden/roce.h"
#include "lnd/o2ib/o2ib_credit.h"

enum {
	/** Messages of the types 0xd0 to 0xd7. */
	TYPES_NR = 8,
	NODE_1 = 2,
	NODE_2 = 3
};

/** The address of node `n` of net o2ib. */
#define NID4(n) (UINT64_C(0x00050000c0a84d00) | (n))

static const char     *golden_dir;
static struct roce     roce;
static struct o2ib_msg msg;
static uint8_t         out[M0_O2IB_MSG_BYTES_MAX];

/** Messages of each recording, counted by another decoder. */
static const struct recording {
	const char *rec_name;
	unsigned    rec_msgs[TYPES_NR];
} recordings[] = {
	{ "17-o2ib-rxe-ping", { [1] = 8 } },
	{ "17-o2ib-rxe-read-4K", { [1] = 14, [2] = 1, [4] = 1, [5] = 1 } },
	{ "17-o2ib-rxe-write-1M", { [1] = 14, [6] = 1, [7] = 1 } },
};

static void load(size_t i)
{
	assert_int_equal(roce_load(&roce, golden_dir, recordings[i].rec_name),
			 0);
}

/** Decodes bytes, and encodes them again. @return 0 and the same bytes. */
static void same_check(const uint8_t *bytes, size_t nr)
{
	int rc = o2ib_decode(&msg, bytes, nr);

	if (rc != 0)
		fail_msg("%s", msg.om_why.ibw_text);
	assert_false(msg.om_hdr.ibh_swapped);
	assert_false(msg.om_hdr.ibh_sum_bad);
	assert_int_equal(o2ib_encode(&msg, out), msg.om_hdr.ibh_nob);
	assert_memory_equal(out, bytes, msg.om_hdr.ibh_nob);
}

/* Each message of a connection is from its sender to the other node. */
static void messages_are_encoded_as_they_were(void **state)
{
	const struct roce_packet *packet;
	unsigned                  msgs[TYPES_NR];
	size_t                    i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(recordings); ++i) {
		load(i);
		memset(msgs, 0, sizeof msgs);
		for (packet = roce.ro_packets;
		     packet < roce.ro_packets + roce.ro_packets_nr; ++packet) {
			if (packet->rop_opcode != ROCE_RC_SEND_ONLY)
				continue;
			same_check(packet->rop_bytes, packet->rop_nr);
			assert_int_equal(msg.om_hdr.ibh_nob, packet->rop_nr);
			assert_true(msg.om_hdr.ibh_src_nid4 ==
				    NID4(packet->rop_from));
			assert_true(msg.om_hdr.ibh_dst_nid4 ==
				    NID4(NODE_1 + NODE_2 - packet->rop_from));
			++msgs[msg.om_hdr.ibh_type - M0_O2IB_NOOP];
		}
		assert_memory_equal(msgs, recordings[i].rec_msgs, sizeof msgs);
	}
}

/** Finds the private data of a message of the connection manager. */
static const uint8_t *private_find(uint16_t attr, size_t *ret_nr)
{
	const uint8_t *bytes = NULL;
	size_t         i;

	for (i = 0; i < roce.ro_packets_nr && bytes == NULL; ++i)
		bytes = roce_private(&roce.ro_packets[i], attr, ret_nr);
	assert_non_null(bytes);
	return bytes;
}

/* The request and its answer, and the stamps that all messages bear then. */
static void connection_is_encoded_as_it_was(void **state)
{
	const struct m0_o2ib_hdr *hdr = &msg.om_hdr;
	uint64_t                  stamp[NODE_2 + 1] = { 0 };
	size_t                    nr;
	size_t                    i;

	(void)state;
	load(0);
	same_check(private_find(ROCE_CM_REQ, &nr), nr);
	assert_int_equal(hdr->ibh_type, M0_O2IB_CONNREQ);
	assert_true(hdr->ibh_src_nid4 == NID4(NODE_1));
	assert_true(hdr->ibh_dst_nid4 == NID4(NODE_2));
	assert_true(hdr->ibh_dst_stamp == 0);
	assert_int_equal(msg.om_params.ibp_queue_depth, 8);
	assert_int_equal(msg.om_params.ibp_frags_max, M0_O2IB_FRAGS_MAX);
	assert_int_equal(msg.om_params.ibp_msg_bytes_max, 4096);
	stamp[NODE_1] = hdr->ibh_src_stamp;
	/* The answer is padded to what the connection manager can carry. */
	same_check(private_find(ROCE_CM_REP, &nr), nr);
	assert_int_equal(nr, 196);
	assert_int_equal(hdr->ibh_type, M0_O2IB_CONNACK);
	assert_true(hdr->ibh_dst_stamp == stamp[NODE_1]);
	assert_int_equal(msg.om_params.ibp_queue_depth, 8);
	assert_int_equal(msg.om_params.ibp_frags_max, M0_O2IB_FRAGS_MAX);
	stamp[NODE_2] = hdr->ibh_src_stamp;
	for (i = 0; i < roce.ro_packets_nr; ++i) {
		if (roce.ro_packets[i].rop_opcode != ROCE_RC_SEND_ONLY)
			continue;
		same_check(roce.ro_packets[i].rop_bytes,
			   roce.ro_packets[i].rop_nr);
		assert_true(hdr->ibh_src_stamp ==
			    stamp[roce.ro_packets[i].rop_from]);
		assert_true(
			hdr->ibh_dst_stamp ==
			stamp[NODE_1 + NODE_2 - roce.ro_packets[i].rop_from]);
	}
}

/** Decodes the only message of a type, and leaves it in `msg`. */
static void only_find(enum m0_o2ib_type type)
{
	size_t i;

	for (i = 0; i < roce.ro_packets_nr; ++i) {
		if (roce.ro_packets[i].rop_opcode != ROCE_RC_SEND_ONLY ||
		    roce.ro_packets[i].rop_bytes[6] != type)
			continue;
		same_check(roce.ro_packets[i].rop_bytes,
			   roce.ro_packets[i].rop_nr);
		return;
	}
	fail_msg("no %s", m0_o2ib__type_name((uint8_t)type));
}

/** Checks that the data is written to the one fragment of `sink`. */
static void write_check(const struct m0_o2ib_desc *sink)
{
	struct m0_cursor cur;
	size_t           i;

	assert_int_equal(sink->ibd_frags_nr, 1);
	for (i = 0; i < roce.ro_packets_nr; ++i)
		if (roce.ro_packets[i].rop_opcode == ROCE_RC_WRITE_FIRST)
			break;
	assert_true(i < roce.ro_packets_nr);
	m0_cursor_init_const(&cur, roce.ro_packets[i].rop_bytes, 16);
	assert_true(m0_cursor_get_be64(&cur) == msg.om_frags[0].ibf_addr);
	assert_int_equal(m0_cursor_get_be32(&cur), sink->ibd_key);
	assert_int_equal(m0_cursor_get_be32(&cur), sink->ibd_bytes);
}

/* A PUT of 4 KiB: the cookies of the source and of the sink come back. */
static void put_is_written_to_its_descriptor(void **state)
{
	uint64_t cookie;

	(void)state;
	load(1);
	only_find(M0_O2IB_PUT_REQ);
	cookie = msg.om_req.ibq_cookie;
	only_find(M0_O2IB_PUT_ACK);
	assert_true(msg.om_ack.ibk_src_cookie == cookie);
	assert_true(msg.om_ack.ibk_sink.ibd_bytes == 4096);
	write_check(&msg.om_ack.ibk_sink);
	cookie = msg.om_ack.ibk_dst_cookie;
	only_find(M0_O2IB_PUT_DONE);
	assert_true(msg.om_done.ibe_cookie == cookie);
	assert_int_equal(msg.om_done.ibe_status, 4096);
}

/* A GET of 1 MiB. */
static void get_is_written_to_its_descriptor(void **state)
{
	uint64_t cookie;

	(void)state;
	load(2);
	only_find(M0_O2IB_GET_REQ);
	assert_true(msg.om_req.ibq_sink.ibd_bytes == 1 << 20);
	write_check(&msg.om_req.ibq_sink);
	cookie = msg.om_req.ibq_cookie;
	only_find(M0_O2IB_GET_DONE);
	assert_true(msg.om_done.ibe_cookie == cookie);
	assert_int_equal(msg.om_done.ibe_status, 1 << 20);
}

/** Moves the credits of a message from its sender to its receiver. */
static void credits_move(struct m0_o2ib_credits *from,
			 struct m0_o2ib_credits *to)
{
	uint8_t  type = msg.om_hdr.ibh_type;
	uint16_t kept;

	if (type == M0_O2IB_PUT_REQ || type == M0_O2IB_GET_REQ)
		assert_true(m0_o2ib__credits_reserve(from));
	assert_true(m0_o2ib__credits_may_send(from, type));
	kept = m0_o2ib__credits_send(from, type);
	/* Some buffers may not have been posted yet. */
	assert_true(kept >= msg.om_hdr.ibh_credits);
	kept = (uint16_t)(kept - msg.om_hdr.ibh_credits);
	from->ibc_outstanding = kept;
	from->ibc_theirs = (uint16_t)(from->ibc_theirs - kept);
	if (m0_o2ib__credits_receive(to, &msg.om_hdr, &msg.om_why) != 0)
		fail_msg("%s", msg.om_why.ibw_text);
	m0_o2ib__credits_repost(to, type, type == M0_O2IB_PUT_REQ);
	assert_int_equal(from->ibc_theirs, to->ibc_ours);
}

/* The nodes spend and return credits as we do. The later recordings begin when
 * one credit of each node is on its way back. */
static void credits_are_as_ours(void **state)
{
	struct m0_o2ib_credits credits[NODE_2 + 1];
	uint8_t                from;
	size_t                 i;
	size_t                 k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(recordings); ++i) {
		load(i);
		m0_o2ib__credits_init(&credits[NODE_1], 8);
		credits[NODE_1].ibc_outstanding = i > 0;
		credits[NODE_1].ibc_theirs = i > 0 ? 7 : 8;
		credits[NODE_1].ibc_ours = credits[NODE_1].ibc_theirs;
		credits[NODE_2] = credits[NODE_1];
		for (k = 0; k < roce.ro_packets_nr; ++k) {
			if (roce.ro_packets[k].rop_opcode != ROCE_RC_SEND_ONLY)
				continue;
			same_check(roce.ro_packets[k].rop_bytes,
				   roce.ro_packets[k].rop_nr);
			from = roce.ro_packets[k].rop_from;
			credits_move(&credits[from],
				     &credits[NODE_1 + NODE_2 - from]);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_encoded_as_they_were),
		cmocka_unit_test(connection_is_encoded_as_it_was),
		cmocka_unit_test(put_is_written_to_its_descriptor),
		cmocka_unit_test(get_is_written_to_its_descriptor),
		cmocka_unit_test(credits_are_as_ours),
	};

	golden_dir = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
