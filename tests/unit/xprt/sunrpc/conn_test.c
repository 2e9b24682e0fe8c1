/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How long connections stay: those of callers that have nothing to say, or say
 * it slowly.
 */
#include "unit/xprt/sunrpc/rig.h"

#include <sys/socket.h>
#include <unistd.h>

enum {
	CONNS = M0_NET_BULK_SUNRPC_CONNS_MAX,
	RECORD = M0_NET_BULK_SUNRPC_RECORD_MS,
	PARTIAL = 300 << 10,
	/* The timers' ticks are shorter. */
	TICK = 2,
	TIMEOUT = M0_NET_BULK_SUNRPC_TIMEOUT_MS,
	IDLE = M0_NET_BULK_SUNRPC_SERVER_IDLE_MS
};

/* One that has been answered stays for the whole of that time, and no more. */
static void caller_idle_is_closed_in_the_end(void **state)
{
	int fd = rig_caller(0);

	(void)state;
	rig_null(fd);
	rig_run(0);
	rig_run(IDLE - 1000);
	assert_int_equal(rig_conns_nr(), 1);
	assert_false(rig_is_closed(fd));
	rig_run(IDLE + TICK);
	assert_int_equal(rig_conns_nr(), 0);
	assert_true(rig_is_closed(fd));
	/* An idle connection does not count as stalled. */
	assert_int_equal(m0_sunrpc__node.sn_stats.nss_conns_stalled_nr, 0);
	(void)close(fd);
}

/* Any byte from the caller restarts its idle time. */
static void caller_idle_that_calls_stays(void **state)
{
	int fd = rig_caller(0);

	(void)state;
	rig_null(fd);
	rig_run(IDLE / 2);
	rig_run(IDLE + TICK);
	assert_int_equal(rig_conns_nr(), 1);
	rig_run(IDLE / 2 + IDLE - 1000);
	assert_int_equal(rig_conns_nr(), 1);
	rig_run(IDLE / 2 + IDLE + TICK);
	assert_int_equal(rig_conns_nr(), 0);
	(void)close(fd);
}

/* Nor does one stay that never said a word. */
static void caller_silent_is_closed_in_the_end(void **state)
{
	int fd = rig_caller(0);

	(void)state;
	rig_run(IDLE - 1000);
	assert_int_equal(rig_conns_nr(), 1);
	rig_run(IDLE + TICK);
	assert_int_equal(rig_conns_nr(), 0);
	(void)close(fd);
}

/* Half a record that does not go on: less time than an idle one has. */
static void record_that_stands_still_is_closed(void **state)
{
	int fd = rig_caller(0);

	(void)state;
	rig_write(fd, "\x80\0\1\0half", 8, 0);
	rig_run(0);
	rig_run(TIMEOUT - 1000);
	assert_int_equal(rig_conns_nr(), 1);
	rig_run(TIMEOUT + TICK);
	assert_int_equal(rig_conns_nr(), 0);
	assert_int_equal(m0_sunrpc__node.sn_stats.nss_conns_stalled_nr, 1);
	(void)close(fd);
}

/* ------------------------------------------------------- those that dawdle -- */

/* A record of 256 bytes has begun. */
static void half_send(int fd)
{
	assert_int_equal(send(fd, "\x80\0\1\0", 4, MSG_NOSIGNAL), 4);
}

static void byte_send(int fd)
{
	(void)!send(fd, "", 1, MSG_NOSIGNAL);
}

/* A byte now and then is no progress for ever: a record has its time. */
static void record_that_trickles_is_closed(void **state)
{
	int fd = rig_caller(0);
	int i;

	(void)state;
	rig_null(fd);
	half_send(fd);
	rig_run(0);
	for (i = 1; 9000 * i < RECORD; ++i) {
		byte_send(fd);
		rig_run(9000U * (unsigned)i);
		assert_int_equal(rig_conns_nr(), 1);
	}
	rig_run(RECORD + TICK);
	assert_int_equal(rig_conns_nr(), 0);
	assert_int_equal(m0_sunrpc__node.sn_stats.nss_conns_stalled_nr, 1);
	(void)close(fd);
}

/* Fragments of no bytes are part of a record that never ends. */
static void fragments_of_nothing_are_a_record(void **state)
{
	int      fd = rig_caller(0);
	unsigned i;

	(void)state;
	rig_null(fd);
	for (i = 0; 9000 * i < RECORD; ++i) {
		assert_int_equal(send(fd, "\0\0\0", 4, MSG_NOSIGNAL), 4);
		rig_run(9000 * i);
		assert_int_equal(rig_conns_nr(), 1);
	}
	rig_run(RECORD + TICK);
	assert_int_equal(rig_conns_nr(), 0);
	(void)close(fd);
}

/* The next record begins its own time. */
static void record_that_ends_is_forgotten(void **state)
{
	int      fd = rig_caller(0);
	unsigned i;

	(void)state;
	for (i = 0; i < 20; ++i) {
		rig_null(fd);
		rig_run(9000 * i);
	}
	half_send(fd);
	rig_run(180000);
	rig_run(180000 + TIMEOUT - 1000);
	assert_int_equal(rig_conns_nr(), 1);
	(void)close(fd);
}

/* Every place is taken by one that has asked once. */
static void house_fill(int *fds, int nr, uint64_t ms)
{
	int i;

	for (i = 0; i < nr; ++i) {
		fds[i] = rig_caller(ms);
		rig_null(fds[i]);
	}
	rig_run(ms);
}

static void house_close(int *fds, int nr)
{
	int i;

	for (i = 0; i < nr; ++i)
		(void)close(fds[i]);
}

static void newcomer_is_answered(uint64_t ms)
{
	char answer[64];
	int  fd = rig_caller(ms);

	rig_null(fd);
	rig_run(ms);
	assert_int_equal(rig_read(fd, answer, sizeof answer), 28);
	assert_int_equal(rig_conns_nr(), CONNS);
	(void)close(fd);
	rig_run(ms);
}

static void newcomer_is_refused(uint64_t ms)
{
	int fd = rig_caller(ms);

	assert_true(rig_is_closed(fd));
	assert_int_equal(rig_conns_nr(), CONNS);
	(void)close(fd);
}

/* As many as may be, and each sends a byte in time: others get in. */
static void house_of_tricklers_makes_place(void **state)
{
	int fds[CONNS];
	int i;

	(void)state;
	house_fill(fds, CONNS, 0);
	for (i = 0; i < CONNS; ++i)
		half_send(fds[i]);
	rig_run(0);
	for (i = 0; i < CONNS; ++i)
		byte_send(fds[i]);
	rig_run(9000);
	/* These callers may still be in the middle of a record. */
	newcomer_is_refused(9000);
	newcomer_is_answered(TIMEOUT);
	assert_int_equal(m0_sunrpc__node.sn_stats.nss_conns_evicted_nr, 1);
	house_close(fds, CONNS);
}

/* One that is at work is no reason to turn others away, if another idles. */
static void house_with_an_idle_one_makes_place(void **state)
{
	int busy;
	int fds[CONNS - 1];

	(void)state;
	house_fill(&busy, 1, 0);
	half_send(busy);
	rig_run(0);
	house_fill(fds, CONNS - 1, 1000);
	newcomer_is_answered(2000);
	assert_false(rig_is_closed(busy));
	assert_true(rig_is_closed(fds[0]));
	(void)close(busy);
	house_close(fds, CONNS - 1);
}

/* A message of that many bytes begins, and some of them come. */
static void message_begin(int fd, uint32_t nr, uint32_t come, uint64_t ms)
{
	static const uint8_t zeros[PARTIAL];

	rig_msg_write(fd, nr, ms);
	rig_write(fd, zeros, come, ms);
	rig_run(ms);
}

/* The status of one that comes in two reads. */
static int newcomer_message(uint64_t ms)
{
	int fd = rig_caller(ms);
	int status;

	message_begin(fd, 8, 4, ms);
	rig_write(fd, "rest", 4, ms);
	rig_run(ms);
	status = rig_answer(fd);
	(void)close(fd);
	rig_run(ms);
	return status;
}

/* All memory there is for messages in part, and a byte of each in time. */
static void memory_of_tricklers_is_had_back(void **state)
{
	enum {
		/* A message's is 1 MiB, from a quarter on. */
		NR = SR_PARTIAL_BYTES_MAX >> 20
	};
	int fds[NR];
	int i;

	(void)state;
	rig.r_msg_rc = 0;
	for (i = 0; i < NR; ++i) {
		fds[i] = rig_caller(0);
		message_begin(fds[i], SR_PIECE_MAX, PARTIAL, 0);
	}
	assert_int_equal(m0_sunrpc__node.sn_partial_bytes,
			 SR_PARTIAL_BYTES_MAX);
	for (i = 0; i < NR; ++i)
		byte_send(fds[i]);
	rig_run(9000);
	assert_int_equal(newcomer_message(9000), ENOBUFS);
	assert_int_equal(newcomer_message(TIMEOUT), 0);
	/* One was enough. */
	assert_int_equal(m0_sunrpc__node.sn_stats.nss_conns_evicted_nr, 1);
	house_close(fds, NR);
}

/* ---------------------------------------------------- those that do not read -- */

static struct sr_conn *conn_last(void)
{
	return container_of(m0_list_last(&m0_sunrpc__node.sn_conns_in),
			    struct sr_conn, sc_link);
}

/* The replies to this caller do not fit its socket. */
static int narrow_caller(void)
{
	int fd = rig_caller(0);
	int least = 1;

	assert_int_equal(setsockopt(conn_last()->sc_fd.lof_fd, SOL_SOCKET,
				    SO_SNDBUF, &least, sizeof least),
			 0);
	return fd;
}

/* Asking more does not make up for it. */
static void replies_unread_close(void **state)
{
	int fd = narrow_caller();

	(void)state;
	while (m0_sunrpc__conn_is_idle(conn_last())) {
		rig_null(fd);
		rig_run(0);
	}
	rig_null(fd);
	rig_run(9000);
	assert_int_equal(rig_conns_nr(), 1);
	rig_run(TIMEOUT + TICK);
	assert_int_equal(rig_conns_nr(), 0);
	assert_int_equal(m0_sunrpc__node.sn_stats.nss_conns_stalled_nr, 1);
	(void)close(fd);
}

/* Nor does reading too slowly, when others want the place. */
static void house_with_a_slow_reader_makes_place(void **state)
{
	int reader = narrow_caller();
	int fds[CONNS - 1];

	(void)state;
	while (m0_sunrpc__conn_is_idle(conn_last())) {
		rig_null(reader);
		rig_run(0);
	}
	house_fill(fds, CONNS - 1, TIMEOUT - 1);
	newcomer_is_answered(TIMEOUT);
	assert_true(rig_is_closed(reader));
	assert_false(rig_is_closed(fds[0]));
	(void)close(reader);
	house_close(fds, CONNS - 1);
}

/* Reads all that is there; then the node has one step to send more. */
static size_t some_read(int fd, uint64_t ms)
{
	char    bytes[4096];
	size_t  nr = 0;
	ssize_t got;

	while ((got = rig_read(fd, bytes, sizeof bytes)) > 0)
		nr += (size_t)got;
	(void)m0_sunrpc__node_step(&m0_sunrpc__node.sn_strand, rig_at(ms));
	return nr;
}

/* While it is not read, a caller cannot end the record it is in. */
static void record_waits_for_replies(void **state)
{
	const struct sr_call_head head = { .sch_xid = 1, .sch_proc = SR_NULL };
	enum {
		/* All read at a time. */
		NR = 1400,
		CALL = 44
	};
	uint8_t  call[SR_OUT_HEAD_MAX];
	uint8_t  calls[NR * CALL];
	size_t   read_nr = 0;
	uint64_t ms = 0;
	int      fd = narrow_caller();
	int      i;

	(void)state;
	assert_int_equal(rig_call(call, &head), CALL);
	for (i = 0; i < NR; ++i)
		memcpy(calls + i * CALL, call, CALL);
	rig_write(fd, calls, sizeof calls - 1, 0);
	rig_run(0);
	while (conn_last()->sc_replies_nr >= SR_REPLIES_MAX) {
		ms += 9000;
		read_nr += some_read(fd, ms);
		assert_int_equal(rig_conns_nr(), 1);
	}
	/* The test took longer than a record may. */
	assert_true(ms > RECORD);
	byte_send(fd);
	for (i = 0; i < 8; ++i)
		read_nr += some_read(fd, ms);
	assert_int_equal(read_nr, NR * 28);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_CASE(caller_idle_is_closed_in_the_end),
		RIG_CASE(caller_idle_that_calls_stays),
		RIG_CASE(caller_silent_is_closed_in_the_end),
		RIG_CASE(record_that_stands_still_is_closed),
		RIG_CASE(record_that_trickles_is_closed),
		RIG_CASE(fragments_of_nothing_are_a_record),
		RIG_CASE(record_that_ends_is_forgotten),
		RIG_CASE(house_of_tricklers_makes_place),
		RIG_CASE(house_with_an_idle_one_makes_place),
		RIG_CASE(memory_of_tricklers_is_had_back),
		RIG_CASE(replies_unread_close),
		RIG_CASE(house_with_a_slow_reader_makes_place),
		RIG_CASE(record_waits_for_replies)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
