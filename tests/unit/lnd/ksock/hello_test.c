/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Handshakes of a dialler: 3.5 of the protocol. */
#include <stdio.h>

#include "rig.h"

static struct rig    rig;
static struct rig_tx tx;

static int setup(void **state)
{
	(void)state;
	rig_init(&rig);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_fini(&rig);
	return 0;
}

/** Ends a rig of setup, to begin one with another configuration. */
static void again(void)
{
	rig_fini(&rig);
	rig_cfg(&rig);
}

static char last_line[512];

static void line_keep(void *arg, enum m0_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	snprintf(last_line, sizeof last_line, "%s", text);
}

/* -- who connects ---------------------------------------------------------- */

static struct rig_stream *ask(void)
{
	struct rig_stream *ours;

	rig_tx_init(&tx, NULL, 0, 1);
	if (rig.rg_ni.ldn_nid.ln_size != 0)
		tx.rt_tx.ltx_nid = rig_b6;
	rig_xmit(&rig, &tx);
	ours = rig_dial(&rig);
	assert_non_null(ours);
	return ours;
}

/* Bytes as in the worked examples A.1 and A.2, in one write. */
static void dialler_speaks_as_worked_example(void **state)
{
	/* clang-format off */
	static const uint8_t said[] = {
		0x00, 0x71, 0xce, 0xac, 0x01, 0x00, 0x00, 0x00,
		0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		0x63, 0x69, 0x72, 0x45, 0x03, 0x00, 0x00, 0x00,
		0x01, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		0x02, 0x00, 0x00, 0x0a, 0x00, 0x00, 0x02, 0x00,
		0x39, 0x30, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	/* clang-format on */
	struct rig_stream *ours = ask();
	struct iovec       iov[4];

	(void)state;
	assert_int_equal(ours->rs_port_min, 512);
	assert_int_equal(ours->rs_port_max, 1023);
	assert_memory_equal(ours->rs_from.sa_bytes, rig_a.ln_addr, 4);
	assert_memory_equal(ours->rs_to.sa_bytes, rig_b.ln_addr, 4);
	assert_int_equal(ours->rs_to.sa_port, 988);
	ours->rs_dialling = false;
	rig.rg_io.sts_up->stu_dialled(ours->rs_conn, &ours->rs_from);
	assert_int_equal(rig.rg_io.sts_up->stu_out_what(ours->rs_conn, iov, 4),
			 1);
	assert_int_equal(iov[0].iov_len, sizeof said);
	assert_memory_equal(iov[0].iov_base, said, sizeof said);
	rig_answer(&rig, ours, M0_SOCK_V3, M0_SOCK_CONTROL);
	assert_int_equal(tx.rt_done, 1);
	assert_int_equal(tx.rt_status, 0);
}

/* However the answer is cut, and with a message right behind it. */
static void dialler_answer_any_split_is_understood(void **state)
{
	static const size_t pieces[] = { SIZE_MAX, 1, 0, 8, 56, 57, 80 };
	unsigned            mode;
	unsigned            i;

	(void)state;
	for (mode = RIG_DIRECT; mode <= RIG_BOTH; ++mode)
		for (i = 0; i < ARRAY_SIZE(pieces); ++i) {
			struct rig_stream *ours;
			uint8_t            buf[512];
			size_t             nr;

			again();
			rig_start(&rig, &rig_a);
			ours = ask();
			(void)rig_dialled(&rig, ours);
			rig.rg_mode = mode;
			rig.rg_piece = pieces[i];
			nr = rig_put_hello(buf, M0_SOCK_V3, &rig_b, 1,
					   M0_SOCK_CONTROL);
			nr += rig_put_message(buf + nr, false, 0, 100);
			memset(buf + nr, 1, 100);
			nr += 100;
			assert_int_equal(rig_feed(&rig, ours, buf, nr), nr);
			assert_int_equal(rig.rg_msgs_nr, 1);
			rig_run(&rig);
			assert_int_equal(tx.rt_done, 1);
			assert_int_equal(tx.rt_status, 0);
		}
}

/* Over IPv6 with large NIDs: version 2 and version 4. */
static void dialler_ipv6_speaks_v4(void **state)
{
	struct rig_stream   *ours;
	struct m0_sock_hello hello;

	(void)state;
	again();
	rig_start(&rig, &rig_a6);
	ours = ask();
	assert_int_equal(ours->rs_to.sa_bytes_nr, 16);
	hello = rig_dialled(&rig, ours);
	assert_int_equal(hello.sh_version, M0_SOCK_V4);
	rig_answer(&rig, ours, M0_SOCK_V4, M0_SOCK_CONTROL);
	assert_int_equal(tx.rt_status, 0);
	assert_int_equal(tx.rt_done, 1);
	assert_int_equal(rig_unseen(ours), RIG_HEAD_V4);
}

/* From an unprivileged port over IPv6 only to peers declared to be ours: it
 * would crash others. */
static void dialler_ipv6_unprivileged_port_is_refused(void **state)
{
	static const uint16_t maxs[] = { 0, 1024, 60000 };
	unsigned              i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(maxs); ++i) {
		again();
		rig.rg_cfg.soc_src_port_max = maxs[i];
		rig.rg_cfg.soc_src_port_min = 0;
		rig_start(&rig, &rig_a6);
		m0_log_set(line_keep, NULL);
		rig_tx_init(&tx, NULL, 0, 1);
		tx.rt_tx.ltx_nid = rig_b6;
		rig_xmit(&rig, &tx);
		assert_null(rig_dial(&rig));
		assert_int_equal(tx.rt_done, 1);
		assert_int_equal(tx.rt_status, -EPERM);
		assert_non_null(strstr(last_line, "crash"));
		assert_non_null(strstr(last_line, "Colibri"));
	}
	again();
	rig.rg_cfg.soc_src_port_max = 0;
	rig.rg_cfg.soc_src_port_min = 0;
	rig.rg_cfg.soc_peers_colibri = true;
	rig_start(&rig, &rig_a6);
	assert_non_null(ask());
}

/* An answer that is wrong ends the attempt, and what waited for it. */
static void dialler_wrong_answer_fails(void **state)
{
	static const struct {
		const char *wr_what;
		size_t      wr_at;
		size_t      wr_nr;
		uint8_t     wr_bytes[8];
		int         wr_status;
	} wrongs[] = {
		{ "magic", 0, 4, { 9, 9, 9, 9 }, -EPROTO },
		{ "acceptor's refusal",
		  0,
		  8,
		  { 0, 0x71, 0xce, 0xac, 1 },
		  -EPROTONOSUPPORT },
		{ "version 7", 4, 4, { 7 }, -EPROTO },
		{ "another NID", 8, 8, { 3, 0, 0, 10, 0, 0, 2 }, -EPROTO },
		{ "any NID",
		  8,
		  8,
		  { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
		  -EPROTO },
		{ "another pid", 24, 4, { 1 }, -EPROTO },
		{ "another type", 48, 4, { 2 }, -EPROTO },
		{ "type 4", 48, 4, { 4 }, -EPROTO },
		{ "too many addresses", 52, 4, { 17 }, -EPROTO },
	};
	uint8_t  buf[80];
	unsigned i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wrongs); ++i) {
		struct rig_stream *ours;
		size_t             nr;

		again();
		rig_start(&rig, &rig_a);
		ours = ask();
		(void)rig_dialled(&rig, ours);
		nr = rig_put_hello(buf, M0_SOCK_V3, &rig_b, 1, M0_SOCK_CONTROL);
		memcpy(buf + wrongs[i].wr_at, wrongs[i].wr_bytes,
		       wrongs[i].wr_nr);
		assert_true(rig_feed(&rig, ours, buf, nr) < 0);
		assert_true(ours->rs_hung);
		rig_run(&rig);
		if (tx.rt_done != 1 || tx.rt_status != wrongs[i].wr_status)
			fail_msg("%s: %d", wrongs[i].wr_what, tx.rt_status);
		assert_int_equal(tx.rt_health, M0_LND_REMOTE_DROPPED);
		assert_int_equal(rig.rg_downs_nr, 1);
	}
}

/* V1 in answer to V3: refused by name. */
static void dialler_v1_answer_fails(void **state)
{
	struct rig_stream *ours = ask();
	uint8_t            buf[80];
	size_t             nr;

	(void)state;
	(void)rig_dialled(&rig, ours);
	m0_log_set(line_keep, NULL);
	nr = rig_put_hello(buf, M0_SOCK_V1, &rig_b, 1, M0_SOCK_CONTROL);
	assert_true(rig_feed(&rig, ours, buf, nr) < 0);
	assert_non_null(strstr(last_line, "version 1"));
}

/* NONE in another version: the peer's version is used at the next attempt. */
static void dialler_other_version_is_adopted(void **state)
{
	struct rig_stream   *ours = ask();
	struct m0_sock_hello hello;

	(void)state;
	(void)rig_dialled(&rig, ours);
	rig_answer(&rig, ours, M0_SOCK_V2, M0_SOCK_NONE);
	assert_true(ours->rs_hung);
	assert_int_equal(tx.rt_done, 0);
	rig_pass(&rig, RIG_SECONDS(2));
	ours = rig_dial(&rig);
	assert_non_null(ours);
	hello = rig_dialled(&rig, ours);
	assert_int_equal(hello.sh_version, M0_SOCK_V2);
	rig_answer(&rig, ours, M0_SOCK_V2, M0_SOCK_CONTROL);
	assert_int_equal(tx.rt_done, 1);
}

/* A peer that accepts the connection and is silent is given up in time. */
static void dialler_silence_times_out(void **state)
{
	struct rig_stream *ours = ask();

	(void)state;
	rig_pass(&rig, RIG_SECONDS(30));
	(void)rig_dialled(&rig, ours);
	rig_pass(&rig, RIG_SECONDS(20) - 1);
	assert_false(ours->rs_hung);
	assert_int_equal(tx.rt_done, 0);
	rig_pass(&rig, M0_TIME_ONE_MSEC);
	assert_true(ours->rs_hung);
	assert_int_equal(tx.rt_status, -ETIMEDOUT);
	assert_int_equal(tx.rt_health, M0_LND_REMOTE_DROPPED);
}

/* The peer closes before it answers: refused, in a way that is explained. */
static void dialler_closed_before_hello_fails(void **state)
{
	struct rig_stream *ours = ask();

	(void)state;
	(void)rig_dialled(&rig, ours);
	m0_log_set(line_keep, NULL);
	rig.rg_io.sts_up->stu_broken(ours->rs_conn, 0);
	rig_run(&rig);
	assert_non_null(strstr(last_line, "accept=secure"));
	assert_int_equal(tx.rt_status, -ECONNRESET);
	assert_int_equal(tx.rt_health, M0_LND_REMOTE_DROPPED);
}

/*
 * A reset may arrive before the driver learns that the peer has accepted. The
 * log explains it; a refused or unreachable peer needs no explanation.
 */
static void dialler_closed_at_once_is_explained(void **state)
{
	static const struct {
		int  cr_status;
		bool cr_explained;
	} rows[] = { { -ECONNRESET, true },
		     { -ECONNREFUSED, false },
		     { -EHOSTUNREACH, false } };
	char   nid[M0_LNET_NIDSTR_SIZE];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		struct rig_stream *ours;

		again();
		rig_start(&rig, &rig_a);
		ours = ask();
		m0_log_set(line_keep, NULL);
		last_line[0] = 0;
		rig.rg_io.sts_up->stu_broken(ours->rs_conn, rows[i].cr_status);
		m0_log_set(NULL, NULL);
		assert_int_equal(strstr(last_line, "accept=secure") != NULL,
				 rows[i].cr_explained);
		(void)m0_lnet_nid_print(&tx.rt_tx.ltx_nid, nid, sizeof nid);
		assert_int_equal(strstr(last_line, nid) != NULL,
				 rows[i].cr_explained);
		rig_run(&rig);
		assert_int_equal(tx.rt_status, rows[i].cr_status);
	}
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest cases[] = {
		CASE(dialler_speaks_as_worked_example),
		CASE(dialler_answer_any_split_is_understood),
		CASE(dialler_ipv6_speaks_v4),
		CASE(dialler_ipv6_unprivileged_port_is_refused),
		CASE(dialler_wrong_answer_fails),
		CASE(dialler_v1_answer_fails),
		CASE(dialler_other_version_is_adopted),
		CASE(dialler_silence_times_out),
		CASE(dialler_closed_before_hello_fails),
		CASE(dialler_closed_at_once_is_explained),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
