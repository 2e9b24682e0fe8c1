/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Calls to a server that does not answer, or answers wrongly.
 */
#include "unit/xprt/sunrpc/rig.h"

#include <arpa/inet.h>
#include <unistd.h>

enum {
	TICK = 2,
	TIMEOUT = M0_NET_BULK_SUNRPC_TIMEOUT_MS,
	PIECE = SR_PIECE_MAX
};

/* The buffer begins to be got, or put, from a peer's. */
static void bulk_begin(enum sr_proc proc, uint32_t nr, uint64_t ms)
{
	const struct sr_ep     peer = { RIG_HOST, RIG_PORT, RIG_PEER_ID };
	struct m0_net_kit_desc desc = {
		.nks_qtype = proc == SR_GET ? M0_NET_QT_PASSIVE_BULK_SEND
					    : M0_NET_QT_PASSIVE_BULK_RECV,
		.nks_id = 1,
		.nks_size = nr
	};

	m0_sunrpc__addr(&desc.nks_passive, &peer);
	rig_arm(proc == SR_GET ? M0_NET_QT_ACTIVE_BULK_RECV
			       : M0_NET_QT_ACTIVE_BULK_SEND,
		nr);
	m0_sunrpc__bulk(&rig.r_kb, &desc);
	rig_run(ms);
}

/* All that the node sends; the identity of the first of it. */
static uint32_t xid_read(int fd, uint64_t ms)
{
	static uint8_t bytes[2 * PIECE];
	size_t         nr = 0;
	ssize_t        got;
	uint32_t       xid;

	while ((got = rig_read(fd, bytes + nr, sizeof bytes - nr)) > 0) {
		nr += (size_t)got;
		rig_run(ms);
	}
	assert_true(nr >= 8);
	memcpy(&xid, bytes + 4, 4);
	return ntohl(xid);
}

static void answer_send(int fd, uint32_t xid, enum sr_proc proc, uint32_t rc)
{
	const struct sr_reply_head head = { .srh_xid = xid,
					    .srh_verdict = SR_SUCCESS,
					    .srh_proc = proc,
					    .srh_rc = rc };
	uint8_t                    bytes[SR_OUT_HEAD_MAX];
	uint32_t nr = m0_sunrpc__reply_encode(bytes + 4, &head);
	uint32_t mark = htonl(nr | 0x80000000);

	memcpy(bytes, &mark, 4);
	rig_write(fd, bytes, nr + 4, 0);
}

/*
 * A server answers all but one call: that one does not stay for ever, nor does
 * its machine.
 */
static void bulk_unanswered_is_given_up(void **state)
{
	int      fd = rig_server(true, 0);
	uint32_t xid;
	uint64_t ms;

	(void)state;
	bulk_begin(SR_GET, 2 * PIECE, 0);
	xid = xid_read(fd, 0);
	assert_int_equal(rig.r_refs_nr, 1);
	/* As long as the buffer has: two pieces, and two more. */
	for (ms = 9000; ms < 4 * TIMEOUT; ms += 9000) {
		answer_send(fd, xid + 1000, SR_GET, 0);
		rig_run(ms);
		assert_int_equal(rig_conns_nr(), 1);
	}
	rig_run(4 * TIMEOUT + TICK);
	assert_int_equal(rig_conns_nr(), 0);
	assert_int_equal(rig.r_refs_nr, 0);
	assert_int_equal(rig.r_done_nr, 1);
	assert_int_equal(rig.r_status, -ETIMEDOUT);
	(void)close(fd);
}

/*
 * The connection ends between two pieces: the buffer is that connection's, over
 * another one the server would say that it is in use.
 */
static void piece_after_the_first_goes_no_other_way(void **state)
{
	int      fd = rig_server(true, 0);
	uint32_t xid;

	(void)state;
	bulk_begin(SR_PUT, 2 * PIECE, 0);
	xid = xid_read(fd, 0);
	answer_send(fd, xid, SR_PUT, 0);
	(void)close(fd);
	rig_run(1);
	assert_int_equal(m0_sunrpc__node.sn_stats.nss_conns_made_nr, 0);
	assert_int_equal(rig.r_done_nr, 1);
	assert_int_equal(rig.r_status, -ECONNRESET);
}

/* The statuses that m0/sunrpc.x has. */
static bool status_is_in(const uint32_t *table, uint32_t rc)
{
	while (*table != 0 && *table != rc)
		++table;
	return *table == rc;
}

/* For every answer of the server the buffer completes as m0/sunrpc.x allows. */
static void statuses_are(int fd, enum sr_proc proc, const uint32_t *table)
{
	static const uint32_t strange[] = { 4095, 4096, 70000, 0xffffffff };
	unsigned              i;
	uint32_t              rc;

	for (i = 1; i < 256 + ARRAY_SIZE(strange); ++i) {
		rc = i < 256 ? i : strange[i - 256];
		rig.r_done_nr = 0;
		if (proc == SR_MSG) {
			rig_arm(M0_NET_QT_MSG_SEND, 4);
			m0_sunrpc__send(&rig.r_kb);
			rig_run(0);
		} else {
			bulk_begin(proc, 4, 0);
		}
		answer_send(fd, xid_read(fd, 0), proc, rc);
		rig_run(0);
		assert_int_equal(rig.r_done_nr, 1);
		assert_int_equal(rig.r_status,
				 status_is_in(table, rc) ? -(int)rc : -EPROTO);
	}
}

/* None that is ours to give, as -ECANCELED and -ETIMEDOUT are. */
static void statuses_are_of_the_protocol(void **state)
{
	static const uint32_t msg[] = { ENETUNREACH, ENOBUFS, EMSGSIZE, EINVAL,
					0 };
	static const uint32_t bulk[] = { ENETUNREACH, ENOENT, EPERM, EACCES,
					 EFBIG,       EINVAL, 0 };
	int                   fd = rig_server(false, 0);

	(void)state;
	statuses_are(fd, SR_MSG, msg);
	(void)close(fd);
	rig_run(0);
	fd = rig_server(true, 0);
	statuses_are(fd, SR_GET, bulk);
	statuses_are(fd, SR_PUT, bulk);
	(void)close(fd);
}

/* A time-out that is lowered is that of what waits already, once it moves. */
static void time_out_lowered_is_of_what_waits(void **state)
{
	int      fd = rig_server(false, 0);
	uint32_t xid;

	(void)state;
	rig_arm(M0_NET_QT_MSG_SEND, 4);
	m0_sunrpc__send(&rig.r_kb);
	rig_run(0);
	xid = xid_read(fd, 0);
	rig.r_dom.sdm_timeout_ms = TIMEOUT / 2;
	answer_send(fd, xid + 1000, SR_MSG, 0);
	rig_run(TIMEOUT / 4);
	assert_int_equal(rig.r_done_nr, 0);
	rig_run(TIMEOUT / 2 + TICK);
	assert_int_equal(rig.r_done_nr, 1);
	assert_int_equal(rig.r_status, -ETIMEDOUT);
	(void)close(fd);
}

/* So is the time that those may idle which are there. */
static void idle_time_lowered_is_of_those_there(void **state)
{
	int fd = rig_server(false, 0);

	(void)state;
	answer_send(fd, 1, SR_MSG, 0);
	rig_run(0);
	rig.r_dom.sdm_idle_ms = 1000;
	rig_run(1000 + TICK);
	/* Its timer was set before. */
	assert_int_equal(rig_conns_nr(), 1);
	answer_send(fd, 1, SR_MSG, 0);
	rig_run(2000);
	assert_int_equal(rig_conns_nr(), 1);
	rig_run(3000 + TICK);
	assert_int_equal(rig_conns_nr(), 0);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_CASE(bulk_unanswered_is_given_up),
		RIG_CASE(piece_after_the_first_goes_no_other_way),
		RIG_CASE(statuses_are_of_the_protocol),
		RIG_CASE(time_out_lowered_is_of_what_waits),
		RIG_CASE(idle_time_lowered_is_of_those_there)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
