/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Puts of two callers to one passive buffer: it serves one of them at a time, also
 * if either is slow. Answers to messages.
 */
#include "unit/xprt/sunrpc/rig.h"

#include <unistd.h>

enum {
	TIMEOUT = M0_NET_BULK_SUNRPC_TIMEOUT_MS,
	/** Read straight to their place, and not. */
	LONG_NR = 64 << 10,
	SHORT_NR = 64
};

static void put_begin(int fd, uint32_t total, uint32_t offset, uint32_t nr,
		      uint64_t ms)
{
	const struct sr_ep        own = { RIG_HOST, RIG_PORT, RIG_ID };
	const struct sr_ep        peer = { RIG_HOST, RIG_PORT, RIG_PEER_ID };
	const struct sr_call_head head = {
		.sch_xid = 1,
		.sch_proc = SR_PUT,
		.sch_desc = { .sd_id = RIG_BUF,
			      .sd_active = peer,
			      .sd_passive = own,
			      .sd_qtype = M0_NET_QT_PASSIVE_BULK_RECV,
			      .sd_total = total },
		.sch_offset = offset,
		.sch_data_nr = nr
	};

	rig_call_write(fd, &head, ms);
}

/* Some of its bytes. */
static void put_go_on(int fd, char byte, uint32_t nr, uint64_t ms)
{
	static char bytes[LONG_NR];

	assert_true(nr <= sizeof bytes);
	memset(bytes, byte, nr);
	rig_write(fd, bytes, nr, ms);
	rig_run(ms);
}

static void put_all(int fd, char byte, uint32_t total, uint32_t offset,
		    uint32_t nr, uint64_t ms)
{
	put_begin(fd, total, offset, nr, ms);
	put_go_on(fd, byte, nr, ms);
}

static void bytes_are(char byte, uint32_t nr)
{
	uint32_t i;

	assert_int_equal(rig.r_done_nr, 1);
	assert_int_equal(rig.r_status, 0);
	assert_int_equal(rig.r_length, nr);
	for (i = 0; i < nr; ++i)
		assert_int_equal(rig.r_bytes[i], byte);
}

/* A piece may take longer than a silence, if it moves. */
static void put_that_moves_is_not_taken_over(void **state)
{
	int slow = rig_caller(0);
	int other = rig_caller(0);

	(void)state;
	rig_arm(M0_NET_QT_PASSIVE_BULK_RECV, LONG_NR);
	put_begin(slow, LONG_NR, 0, LONG_NR, 0);
	put_go_on(slow, 'a', LONG_NR / 2, 0);
	put_go_on(slow, 'a', 4, TIMEOUT - 1000);
	put_all(other, 'b', 8, 0, 8, TIMEOUT + 1000);
	assert_int_equal(rig_answer(other), ENOENT);
	assert_int_equal(rig_answer(slow), RIG_NONE);
	put_go_on(slow, 'a', LONG_NR / 2 - 4, TIMEOUT + 2000);
	assert_int_equal(rig_answer(slow), 0);
	bytes_are('a', LONG_NR);
	(void)close(slow);
	(void)close(other);
}

/* The time to the next piece counts from the end of the one before. */
static void put_has_its_time_between_pieces(void **state)
{
	int slow = rig_caller(0);
	int other = rig_caller(0);

	(void)state;
	rig_arm(M0_NET_QT_PASSIVE_BULK_RECV, SHORT_NR);
	put_begin(slow, SHORT_NR, 0, 8, 0);
	rig_run(0);
	put_go_on(slow, 'a', 8, TIMEOUT - 1000);
	assert_int_equal(rig_answer(slow), 0);
	put_all(other, 'b', 8, 0, 8, TIMEOUT + 1000);
	assert_int_equal(rig_answer(other), ENOENT);
	put_all(slow, 'a', SHORT_NR, 8, SHORT_NR - 8, TIMEOUT + 2000);
	assert_int_equal(rig_answer(slow), 0);
	bytes_are('a', SHORT_NR);
	(void)close(slow);
	(void)close(other);
}

/* Its time is up in the middle of a piece; what is left of it comes later. */
static void put_is_taken_over(uint32_t total)
{
	int      late = rig_caller(0);
	int      other = rig_caller(0);
	uint32_t half = total / 2;

	rig_arm(M0_NET_QT_PASSIVE_BULK_RECV, total);
	put_begin(late, total, 0, total, 0);
	put_go_on(late, 'a', 4, 0);
	assert_int_equal(rig.r_bytes[3], 'a');
	rig.r_sb.sb_passive.srp_until = rig_at(0);
	put_all(other, 'b', total, 0, half, 1);
	assert_int_equal(rig_answer(other), 0);
	put_go_on(late, 'a', total - 4, 2);
	assert_int_equal(rig_answer(late), ENOENT);
	assert_int_equal(rig.r_done_nr, 0);
	put_all(other, 'b', total, half, half, 3);
	assert_int_equal(rig_answer(other), 0);
	bytes_are('b', total);
	(void)close(late);
	(void)close(other);
}

/* Not a byte of the one is among those of the other. */
static void put_taken_over_writes_no_more(void **state)
{
	(void)state;
	put_is_taken_over(SHORT_NR);
}

static void put_taken_over_writes_no_more_at_its_place(void **state)
{
	(void)state;
	put_is_taken_over(LONG_NR);
}

/* Nothing is left to be written: its end counts for nothing all the same. */
static void put_taken_over_does_not_end(void **state)
{
	int late = rig_caller(0);
	int other = rig_caller(0);

	(void)state;
	rig_arm(M0_NET_QT_PASSIVE_BULK_RECV, 5);
	put_begin(late, 5, 0, 5, 0);
	/* The padding is to come. */
	put_go_on(late, 'a', 5, 0);
	rig.r_sb.sb_passive.srp_until = rig_at(0);
	put_all(other, 'b', 5, 0, 4, 1);
	assert_int_equal(rig_answer(other), 0);
	put_go_on(late, 0, 3, 2);
	assert_int_equal(rig_answer(late), ENOENT);
	put_begin(other, 5, 4, 1, 3);
	put_go_on(other, 'b', 4, 3);
	assert_int_equal(rig_answer(other), 0);
	bytes_are('b', 5);
	(void)close(late);
	(void)close(other);
}

/* The words are those of m0/sunrpc.x, which has none for memory. */
static void message_without_memory_finds_no_buffer(void **state)
{
	int fd = rig_caller(0);

	(void)state;
	rig.r_msg_rc = -ENOMEM;
	rig_msg_write(fd, 4, 0);
	put_go_on(fd, 'a', 4, 0);
	assert_int_equal(rig_answer(fd), ENOBUFS);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_CASE(put_that_moves_is_not_taken_over),
		RIG_CASE(put_has_its_time_between_pieces),
		RIG_CASE(put_taken_over_writes_no_more),
		RIG_CASE(put_taken_over_writes_no_more_at_its_place),
		RIG_CASE(put_taken_over_does_not_end),
		RIG_CASE(message_without_memory_finds_no_buffer)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
