/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The parts of `colibri capture`: filters, the queue, blocks of pcapng. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../../tools/node/pcapng.h"

enum {
	HEAD_BYTES = 72,
	HEAD_LARGE_BYTES = 96,
	BUF_BYTES = 1 << 16
};

static struct m0_lnet_nid nid(const char *text)
{
	struct m0_lnet_nid ret;

	assert_int_equal(m0_lnet_nid_parse(&ret, text), 0);
	return ret;
}

static uint8_t                head[HEAD_LARGE_BYTES];
static char                   payload[CAPTURE_SNAP_MAX];
static void                  *payload_addr = payload;
static m0_bcount_t            payload_bytes = sizeof payload;
static struct m0_bufvec       vec;
static struct m0_lnet_tap_msg msg;
static struct capture_queue   queue;

static int setup(void **state)
{
	(void)state;
	vec.ov_vec.v_nr = 1;
	vec.ov_vec.v_count = &payload_bytes;
	vec.ov_buf = &payload_addr;
	msg = (struct m0_lnet_tap_msg){
		.ltv_local = nid("10.0.0.1@tcp"),
		.ltv_hop = nid("10.0.0.9@tcp"),
		.ltv_src = nid("10.0.0.2@tcp1"),
		.ltv_dst = nid("10.0.0.1@tcp"),
		.ltv_type = M0_LNET_FAULT_PUT,
		.ltv_portal = 40,
		.ltv_head = head,
		.ltv_head_bytes = HEAD_BYTES,
		.ltv_payload_bytes = 1000,
		.ltv_vec = &vec,
		.ltv_vec_bytes = 1000,
	};
	return 0;
}

static void any(struct capture_filter *filter)
{
	(void)filter;
}

static void by_hop(struct capture_filter *filter)
{
	filter->cpf_nids[0] = nid("1.1.1.1@o2ib");
	filter->cpf_nids[1] = nid("10.0.0.9@tcp");
	filter->cpf_nids_nr = 2;
}

static void by_net(struct capture_filter *filter)
{
	filter->cpf_nids[0] = nid("255.255.255.255@tcp1");
	filter->cpf_nids_nr = 1;
}

static void by_stranger(struct capture_filter *filter)
{
	filter->cpf_nids[0] = nid("10.0.0.3@tcp");
	filter->cpf_nids_nr = 1;
}

static void by_ends(struct capture_filter *filter)
{
	filter->cpf_src = nid("10.0.0.2@tcp1");
	filter->cpf_dst = nid("255.255.255.255@tcp");
	filter->cpf_local = nid("10.0.0.1@tcp");
}

static void by_source(struct capture_filter *filter)
{
	filter->cpf_src = nid("10.0.0.1@tcp");
}

static void by_portal(struct capture_filter *filter)
{
	filter->cpf_portals = UINT64_C(1) << 40;
}

static void by_other_portal(struct capture_filter *filter)
{
	filter->cpf_portals = UINT64_C(1) << 41;
}

static void by_type(struct capture_filter *filter)
{
	filter->cpf_msgs = M0_LNET_FAULT_PUT | M0_LNET_FAULT_ACK;
}

static void by_other_type(struct capture_filter *filter)
{
	filter->cpf_msgs = M0_LNET_FAULT_GET;
}

static void only_out(struct capture_filter *filter)
{
	filter->cpf_in = false;
}

static bool fits(void (*tune)(struct capture_filter *filter))
{
	struct capture_filter filter;

	capture_filter_init(&filter);
	tune(&filter);
	return capture_filter_fits(&filter, &msg);
}

static void filter_takes_what_it_names(void **state)
{
	(void)state;
	assert_true(fits(any));
	assert_true(fits(by_hop));
	assert_true(fits(by_net));
	assert_false(fits(by_stranger));
	assert_true(fits(by_ends));
	assert_false(fits(by_source));
	assert_true(fits(by_portal));
	assert_false(fits(by_other_portal));
	assert_true(fits(by_type));
	assert_false(fits(by_other_type));
	assert_false(fits(only_out));
	msg.ltv_leaves = true;
	assert_true(fits(only_out));
	/* A REPLY has no portal. */
	msg.ltv_type = M0_LNET_FAULT_REPLY;
	msg.ltv_portal = 0;
	assert_false(fits(by_portal));
}

static void queue_begin(uint32_t snap)
{
	struct capture_filter filter;

	capture_filter_init(&filter);
	filter.cpf_snap = snap;
	assert_int_equal(capture_queue_init(&queue, &filter), 0);
}

static void put(size_t nr)
{
	msg.ltv_vec_bytes = nr;
	msg.ltv_payload_bytes = nr;
	queue.cqu_tap.ltp_message(&queue.cqu_tap, &msg);
}

/* Messages come out as they were put, whatever the sizes, and many times around. */
static void queue_keeps_order_and_bytes(void **state)
{
	unsigned seed = 7;
	unsigned in = 0;
	unsigned out = 0;
	size_t   i;

	(void)state;
	for (i = 0; i < sizeof payload; ++i)
		payload[i] = (char)(i * 31 >> 3);
	queue_begin(CAPTURE_SNAP_MAX);
	assert_null(capture_queue_first(&queue));
	while (out < 400) {
		unsigned burst = 1 + (unsigned)rand_r(&seed) % 8;

		for (; burst > 0 && in - out < 7; --burst) {
			/* The number of the message is its portal, and decides its size. */
			msg.ltv_portal = in;
			head[0] = (uint8_t)in;
			put((in++ * UINT64_C(2654435761)) % sizeof payload);
		}
		for (burst = (unsigned)rand_r(&seed) % 8; burst > 0 && out < in;
		     --burst) {
			const struct capture_msg *cqm =
				capture_queue_first(&queue);
			size_t nr = (out * UINT64_C(2654435761)) %
				    sizeof payload;
			const char *bytes = (const char *)(cqm + 1);

			assert_non_null(cqm);
			assert_int_equal(cqm->cqm_bytes, HEAD_BYTES + nr);
			assert_int_equal((uint8_t)bytes[0], (uint8_t)out);
			assert_memory_equal(bytes + HEAD_BYTES, payload, nr);
			capture_queue_next(&queue);
			++out;
		}
	}
	assert_int_equal(queue.cqu_lost_nr, 0);
	capture_queue_fini(&queue);
}

/* A reader that does not read loses messages, and the next one says how many. */
static void full_queue_counts_what_it_loses(void **state)
{
	unsigned nr = 0;
	uint64_t lost;

	(void)state;
	queue_begin(100000);
	for (nr = 0; nr < 200; ++nr)
		put(sizeof payload);
	lost = queue.cqu_lost_nr;
	assert_in_range(lost, 110, 125);
	assert_int_equal(queue.cqu_seen_nr, 200);
	for (nr = 0; capture_queue_first(&queue) != NULL; ++nr) {
		assert_int_equal(capture_queue_first(&queue)->cqm_lost_nr, 0);
		assert_int_equal(capture_queue_first(&queue)->cqm_bytes,
				 HEAD_BYTES + 100000);
		capture_queue_next(&queue);
	}
	assert_int_equal(nr, 200 - lost);
	put(10);
	assert_int_equal(capture_queue_first(&queue)->cqm_lost_nr, lost);
	capture_queue_fini(&queue);
}

/* A message that the filter does not let in takes no room, and is not lost. */
static void queue_takes_what_the_filter_lets_in(void **state)
{
	struct capture_filter filter;

	(void)state;
	capture_filter_init(&filter);
	filter.cpf_in = false;
	assert_int_equal(capture_queue_init(&queue, &filter), 0);
	put(10);
	assert_null(capture_queue_first(&queue));
	msg.ltv_leaves = true;
	put(10);
	assert_non_null(capture_queue_first(&queue));
	assert_int_equal(queue.cqu_seen_nr, 1);
	assert_int_equal(queue.cqu_lost_nr, 0);
	capture_queue_fini(&queue);
}

/* -- blocks -------------------------------------------------------------------- */

static char          buf[BUF_BYTES];
static struct pcapng png;

static void png_begin(void)
{
	png = (struct pcapng){ .pcn_buf = buf, .pcn_max = sizeof buf };
}

static struct pcapng_block block_at(size_t *at)
{
	struct pcapng_block block;

	assert_int_equal(pcapng_read(&block, buf + *at, png.pcn_nr - *at), 1);
	assert_int_equal(block.pcb_bytes % 4, 0);
	*at += block.pcb_bytes;
	return block;
}

static void blocks_are_read_again(void **state)
{
	size_t                    at = 0;
	const struct capture_msg *cqm;

	(void)state;
	queue_begin(16);
	msg.ltv_why = "no match";
	put(1001);
	cqm = capture_queue_first(&queue);
	assert_non_null(cqm);
	png_begin();
	pcapng_section(&png, "a test");
	pcapng_interface(&png, "10.0.0.1@tcp", "", 16);
	pcapng_packet(&png, 0, cqm);
	pcapng_statistics(&png, 0, 1, 1, 77);
	assert_int_equal(block_at(&at).pcb_type, PCAPNG_SECTION);
	assert_int_equal(block_at(&at).pcb_type, PCAPNG_INTERFACE);
	assert_int_equal(block_at(&at).pcb_type, PCAPNG_PACKET);
	assert_int_equal(block_at(&at).pcb_lost_nr, 77);
	assert_int_equal(at, png.pcn_nr);
	capture_queue_fini(&queue);
}

/* A part of a block is not read, and what is none is refused. */
static void bad_blocks_are_refused(void **state)
{
	struct pcapng_block block;
	size_t              i;

	(void)state;
	png_begin();
	pcapng_statistics(&png, 0, 1, 1, 77);
	for (i = 0; i < png.pcn_nr; ++i)
		assert_int_equal(pcapng_read(&block, buf, i), 0);
	buf[png.pcn_nr - 1] ^= 1;
	assert_int_equal(pcapng_read(&block, buf, png.pcn_nr), -EPROTO);
	buf[png.pcn_nr - 1] ^= 1;
	buf[4] ^= 1;
	assert_int_equal(pcapng_read(&block, buf, png.pcn_nr), -EPROTO);
	memset(buf + 4, 0, 4);
	assert_int_equal(pcapng_read(&block, buf, png.pcn_nr), -EPROTO);
	memset(buf + 4, 0xff, 4);
	assert_int_equal(pcapng_read(&block, buf, png.pcn_nr), -EPROTO);
}

/* Options of a statistics block that lie about their length are not followed. */
static void bad_options_are_not_followed(void **state)
{
	struct pcapng_block block;
	unsigned            seed = 3;
	unsigned            i;
	char                kept[256];

	(void)state;
	png_begin();
	pcapng_statistics(&png, 0, 1, 1, 77);
	assert_true(png.pcn_nr <= sizeof kept);
	memcpy(kept, buf, png.pcn_nr);
	for (i = 0; i < 2000; ++i) {
		memcpy(buf, kept, png.pcn_nr);
		buf[20 + (unsigned)rand_r(&seed) % (png.pcn_nr - 24)] =
			(char)rand_r(&seed);
		assert_int_equal(pcapng_read(&block, buf, png.pcn_nr), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(filter_takes_what_it_names, setup),
		cmocka_unit_test_setup(queue_keeps_order_and_bytes, setup),
		cmocka_unit_test_setup(full_queue_counts_what_it_loses, setup),
		cmocka_unit_test_setup(queue_takes_what_the_filter_lets_in,
				       setup),
		cmocka_unit_test_setup(blocks_are_read_again, setup),
		cmocka_unit_test_setup(bad_blocks_are_refused, setup),
		cmocka_unit_test_setup(bad_options_are_not_followed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
