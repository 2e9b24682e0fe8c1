/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Bulk over two rails: both carry pieces, and a rail that is cut in the middle of a
 * transfer costs time, and no bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "m0/lnet_info.h"
#include "m0/net.h"
#include "m0/sim.h"
#include "m0/sim_net.h"
#include "m0/xlnet.h"

enum {
	SEG = 1 << 20,
	SEGS = 16,
	BYTES = SEG * SEGS,
	/** Driver, and transaction. */
	LND_MS = 5000,
	TRANSACTION_MS = 15000,
	/** A rail carries 16 MiB in about this time. */
	TRANSFER_MS = 170,
	/** A transfer with a dead rail: what that has not sent ends by the driver's time-out, and
	 * nothing waits for that of the transaction. */
	CUT_MS = 2 * LND_MS + 2 * TRANSFER_MS
};

/** Any operation ends by then. */
#define BOUND_NS (3 * (TRANSACTION_MS + LND_MS) * M0_TIME_ONE_MSEC)

struct host {
	struct m0_sim_host       *h_host;
	const char               *h_addr[2];
	struct m0_lnet           *h_lnet;
	struct m0_net_domain      h_dom;
	struct m0_net_transfer_mc h_tm;
	char                      h_ep[M0_NET_LNET_XEP_ADDR_LEN];
	struct m0_net_buffer      h_nb;
	unsigned                  h_ends_nr;
	int32_t                   h_status;
	m0_bcount_t               h_bytes;
};

static const struct m0_sim_stream_cfg wire = {
	.ssc_latency_ns = 200 * 1000,
	.ssc_rate_bytes = 100 << 20,
	.ssc_window_bytes = 4 << 20,
};

static struct m0_sim sim;
static struct host   hosts[2];
/** The host that begins transfers. */
static unsigned active;

/* -- two hosts ------------------------------------------------------------- */

static void buffer_event(const struct m0_net_buffer_event *ev)
{
	struct host *host = ev->nbe_buffer->nb_app_private;

	++host->h_ends_nr;
	host->h_status = ev->nbe_status;
	host->h_bytes = ev->nbe_length;
}

static void state_event(const struct m0_net_tm_event *ev)
{
	(void)ev;
}

static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb = { buffer_event, buffer_event, buffer_event, buffer_event,
		    buffer_event, buffer_event }
};
static const struct m0_net_tm_callbacks tm_callbacks = { .ntc_event_cb =
								 state_event };

static bool is_started(void *arg)
{
	return ((struct host *)arg)->h_tm.ntm_state == M0_NET_TM_STARTED;
}

static bool is_stopped(void *arg)
{
	return ((struct host *)arg)->h_tm.ntm_state == M0_NET_TM_STOPPED;
}

/** @param rails  2: the host is on tcp and on tcp1; 1: on tcp alone.
 * @param own  the rail of the NID of the TM. */
static void host_up(struct host *host, unsigned nr, unsigned rails,
		    unsigned own, bool discovery)
{
	static const char *const  names[] = { "a", "b" };
	static const char *const  addrs[2][2] = { { "10.0.0.1", "10.1.0.1" },
						  { "10.0.0.2", "10.1.0.2" } };
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];
	char                      text[64];

	memset(host, 0, sizeof *host);
	memcpy(host->h_addr, addrs[nr], sizeof host->h_addr);
	(void)snprintf(text, sizeof text, rails == 2 ? "%s %s" : "%s",
		       host->h_addr[0], host->h_addr[1]);
	host->h_host = m0_sim_host_add(names[nr], text);
	m0_sim_host_use(host->h_host);
	m0_lnet_cfg_default(&cfg);
	(void)snprintf(text, sizeof text,
		       rails == 2 ? "tcp(%s),tcp1(%s)" : "tcp(%s)",
		       host->h_addr[0], host->h_addr[1]);
	assert_int_equal(m0_lnet_cfg_networks(&cfg, text, why), 0);
	cfg.lc_discovery = discovery;
	cfg.lc_timeout_ms = LND_MS;
	cfg.lc_transaction_timeout_ms = TRANSACTION_MS;
	assert_int_equal(m0_lnet_open(&host->h_lnet, &cfg, why), 0);
	assert_int_equal(m0_net_lnet_use(host->h_lnet), 0);
	assert_int_equal(m0_net_domain_init(&host->h_dom, &m0_net_lnet_xprt),
			 0);
	(void)snprintf(host->h_ep, sizeof host->h_ep, "%s@%s:12345:40:7",
		       host->h_addr[own], own == 0 ? "tcp" : "tcp1");
	host->h_tm.ntm_callbacks = &tm_callbacks;
	assert_int_equal(m0_net_tm_init(&host->h_tm, &host->h_dom), 0);
	assert_int_equal(m0_net_tm_start(&host->h_tm, host->h_ep), 0);
	assert_true(
		m0_sim_run_until(&sim, is_started, host, M0_TIME_ONE_SECOND));
	m0_sim_host_use(NULL);
}

static void host_down(struct host *host)
{
	assert_int_equal(m0_net_tm_stop(&host->h_tm, true), 0);
	assert_true(m0_sim_run_until(&sim, is_stopped, host, BOUND_NS));
	assert_int_equal(m0_net_tm_fini(&host->h_tm), 0);
	assert_int_equal(m0_net_domain_fini(&host->h_dom), 0);
	assert_int_equal(m0_net_lnet_unuse(host->h_lnet), 0);
	m0_lnet_close(host->h_lnet);
}

static void up(unsigned rails_a, unsigned own_a, unsigned rails_b,
	       unsigned own_b, bool discovery)
{
	active = 0;
	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
	host_up(&hosts[0], 0, rails_a, own_a, discovery);
	host_up(&hosts[1], 1, rails_b, own_b, discovery);
}

static void down(void)
{
	host_down(&hosts[0]);
	host_down(&hosts[1]);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

/* -- transfers ------------------------------------------------------------- */

static uint8_t byte_of(size_t i)
{
	return (uint8_t)(i * 13 + (i >> 8) * 7 + (i >> 20));
}

static void buffer_make(struct host *host, enum m0_net_queue_type qtype,
			bool has_data, m0_bcount_t bytes)
{
	uint32_t segs = (uint32_t)((bytes + SEG - 1) / SEG);
	size_t   i;

	host->h_ends_nr = 0;
	memset(&host->h_nb, 0, sizeof host->h_nb);
	assert_int_equal(m0_bufvec_alloc(&host->h_nb.nb_buffer, segs,
					 bytes < SEG ? bytes : SEG),
			 0);
	for (i = 0; i < bytes; ++i)
		((uint8_t *)host->h_nb.nb_buffer.ov_buf[i / SEG])[i % SEG] =
			has_data ? byte_of(i) : 0;
	assert_int_equal(m0_net_buffer_register(&host->h_nb, &host->h_dom), 0);
	host->h_nb.nb_app_private = host;
	host->h_nb.nb_callbacks = &callbacks;
	host->h_nb.nb_qtype = qtype;
	host->h_nb.nb_length = has_data ? bytes : 0;
	host->h_nb.nb_timeout = M0_TIME_NEVER;
}

static void buffer_free(struct host *host)
{
	assert_int_equal(m0_net_buffer_deregister(&host->h_nb, &host->h_dom),
			 0);
	m0_net_desc_free(&host->h_nb.nb_desc);
	m0_bufvec_free(&host->h_nb.nb_buffer);
}

static bool are_over(void *arg)
{
	(void)arg;
	return hosts[active].h_ends_nr > 0 && hosts[!active].h_ends_nr > 0;
}

static bool active_is_over(void *arg)
{
	(void)arg;
	return hosts[active].h_ends_nr > 0;
}

/** The active host begins to put to the other one, or to get from it. */
static void transfer_begin(bool is_get, m0_bcount_t bytes)
{
	struct m0_net_end_point *ep;

	assert_int_equal(m0_net_end_point_create(&ep, &hosts[!active].h_tm,
						 hosts[active].h_ep),
			 0);
	buffer_make(&hosts[!active],
		    is_get ? M0_NET_QT_PASSIVE_BULK_SEND
			   : M0_NET_QT_PASSIVE_BULK_RECV,
		    is_get, bytes);
	/* The NIDs of the initiator are checked. */
	hosts[!active].h_nb.nb_ep = ep;
	assert_int_equal(m0_net_buffer_add(&hosts[!active].h_nb,
					   &hosts[!active].h_tm),
			 0);
	assert_int_equal(m0_net_end_point_put(ep), 0);
	buffer_make(&hosts[active],
		    is_get ? M0_NET_QT_ACTIVE_BULK_RECV
			   : M0_NET_QT_ACTIVE_BULK_SEND,
		    !is_get, bytes);
	assert_int_equal(m0_net_desc_copy(&hosts[!active].h_nb.nb_desc,
					  &hosts[active].h_nb.nb_desc),
			 0);
	assert_int_equal(
		m0_net_buffer_add(&hosts[active].h_nb, &hosts[active].h_tm), 0);
}

static void bytes_check(bool is_get, m0_bcount_t bytes)
{
	const struct m0_bufvec *vec =
		&hosts[is_get ? active : !active].h_nb.nb_buffer;
	size_t i;

	for (i = 0; i < bytes; ++i)
		if (((uint8_t *)vec->ov_buf[i / SEG])[i % SEG] != byte_of(i))
			fail_msg("byte %zu is wrong", i);
}

/** Both sides end within the time, without an error, and once. */
static void transfer_end(bool is_get, m0_bcount_t bytes, uint64_t ms)
{
	unsigned i;

	assert_true(
		m0_sim_run_until(&sim, are_over, NULL, ms * M0_TIME_ONE_MSEC));
	m0_sim_run_ms(&sim, 100);
	for (i = 0; i < 2; ++i) {
		assert_int_equal(hosts[i].h_ends_nr, 1);
		assert_int_equal(hosts[i].h_status, 0);
	}
	assert_int_equal(hosts[is_get ? active : !active].h_bytes, bytes);
	bytes_check(is_get, bytes);
	buffer_free(&hosts[0]);
	buffer_free(&hosts[1]);
}

/** PUTs and GETs that each NI of the active host has sent. */
static void sent_get(uint64_t sent[2])
{
	struct m0_lnet_info    *info;
	struct m0_lnet_nid      nid;
	struct m0_lnet_ni_info *ni;
	char                    text[64];
	unsigned                i;
	unsigned                rail;

	sent[0] = sent[1] = 0;
	assert_int_equal(m0_lnet_info_get(hosts[active].h_lnet, &info), 0);
	for (rail = 0; rail < 2; ++rail) {
		(void)snprintf(text, sizeof text, "%s@%s",
			       hosts[active].h_addr[rail],
			       rail == 0 ? "tcp" : "tcp1");
		assert_int_equal(m0_lnet_nid_parse(&nid, text), 0);
		for (i = 0; i < info->li_nis_nr; ++i) {
			ni = &info->li_nis[i];
			if (m0_lnet_nid_eq(&ni->nii_nid, &nid))
				sent[rail] = ni->nii_traffic.lt_sent.lmc_put +
					     ni->nii_traffic.lt_sent.lmc_get;
		}
	}
	m0_lnet_info_free(info);
}

/** @return the least share of the rails, in per cent, of what was sent since. */
static unsigned share(const uint64_t before[2])
{
	uint64_t after[2];
	uint64_t nr[2];

	sent_get(after);
	nr[0] = after[0] - before[0];
	nr[1] = after[1] - before[1];
	return (unsigned)(100 * (nr[0] < nr[1] ? nr[0] : nr[1]) /
			  (nr[0] + nr[1]));
}

/** Cuts a rail at the device of a host, or mends it. The other host is not told. */
static void rail_cut(unsigned at, unsigned rail, bool cut)
{
	m0_sim_link_up(hosts[at].h_addr[rail], !cut);
}

/* -- cases ----------------------------------------------------------------- */

static void both_rails_carry_pieces(void **state)
{
	unsigned own;
	unsigned is_get;
	uint64_t before[2];

	(void)state;
	/* The NIDs of the TMs may be on different rails. */
	for (own = 0; own < 4; ++own) {
		up(2, own & 1, 2, own >> 1, true);
		for (is_get = 0; is_get < 2; ++is_get) {
			sent_get(before);
			transfer_begin(is_get, BYTES);
			transfer_end(is_get, BYTES, 2 * TRANSFER_MS);
			assert_true(share(before) >= 25);
		}
		/* The other host has learned of its peer by a push. */
		active = 1;
		for (is_get = 0; is_get < 2; ++is_get) {
			sent_get(before);
			transfer_begin(is_get, BYTES);
			transfer_end(is_get, BYTES, 2 * TRANSFER_MS);
			assert_true(share(before) >= 25);
		}
		down();
	}
}

/** Without discovery the peer knows one NID: the source is that of the TM. */
static void one_rail_carries_all_of_a_stranger(void **state)
{
	unsigned is_get;
	uint64_t before[2];
	uint64_t after[2];

	(void)state;
	up(2, 0, 2, 0, false);
	for (is_get = 0; is_get < 2; ++is_get) {
		sent_get(before);
		transfer_begin(is_get, BYTES);
		transfer_end(is_get, BYTES, 2 * TRANSFER_MS);
		sent_get(after);
		assert_int_equal(after[1], before[1]);
		assert_true(after[0] > before[0]);
	}
	down();
}

/** One interface, and a peer with two: each of them counts on the other's word. */
static void host_of_one_rail_reaches_one_of_two(void **state)
{
	unsigned is_get;
	unsigned way;

	(void)state;
	for (way = 0; way < 2; ++way) {
		up(way == 0 ? 1 : 2, 0, way == 0 ? 2 : 1, 0, true);
		for (is_get = 0; is_get < 2; ++is_get) {
			transfer_begin(is_get, BYTES);
			transfer_end(is_get, BYTES, 2 * TRANSFER_MS);
		}
		down();
	}
}

static void sizes_are_cut_into_pieces(void **state)
{
	static const m0_bcount_t sizes[] = {
		1,        4096,    (64 << 10) - 1, 64 << 10,          SEG - 1,
		SEG,      SEG + 1, SEG + SEG / 2,  SEG + SEG / 2 + 1, 2 * SEG,
		BYTES - 1
	};
	unsigned i;
	unsigned is_get;

	(void)state;
	up(2, 0, 2, 0, true);
	for (i = 0; i < ARRAY_SIZE(sizes); ++i)
		for (is_get = 0; is_get < 2; ++is_get) {
			transfer_begin(is_get, sizes[i]);
			transfer_end(is_get, sizes[i], 2 * TRANSFER_MS);
		}
	down();
}

/** A rail dies at any moment of the transfer, at either end. */
static void rail_dies_in_the_middle(void **state)
{
	unsigned is_get;
	unsigned at;
	unsigned rail;
	unsigned ms;

	(void)state;
	for (ms = 0; ms < TRANSFER_MS; ms += 9)
		for (is_get = 0; is_get < 2; ++is_get)
			for (at = 0; at < 2; ++at) {
				rail = ms / 9 & 1;
				up(2, 0, 2, 0, true);
				transfer_begin(is_get, SEG);
				transfer_end(is_get, SEG, TRANSFER_MS);
				transfer_begin(is_get, BYTES);
				m0_sim_run_ms(&sim, ms);
				rail_cut(at, rail, true);
				transfer_end(is_get, BYTES,
					     3 * (TRANSACTION_MS + LND_MS));
				down();
			}
}

/** A buffer of one piece is safe from 64 KiB on, if the passive host has the rails. */
static void rail_dies_under_a_short_transfer(void **state)
{
	unsigned is_get;
	unsigned ms;

	(void)state;
	for (ms = 0; ms < 14; ++ms)
		for (is_get = 0; is_get < 2; ++is_get) {
			up(2, 0, 2, 0, true);
			transfer_begin(is_get, SEG);
			transfer_end(is_get, SEG, TRANSFER_MS);
			transfer_begin(is_get, SEG);
			m0_sim_run_ms(&sim, ms);
			rail_cut(1, ms & 1, true);
			transfer_end(is_get, SEG,
				     3 * (TRANSACTION_MS + LND_MS));
			down();
		}
}

static bool passive_is_over(void *arg)
{
	(void)arg;
	return hosts[1].h_ends_nr > 0;
}

/** The passive side has ended, and its answer dies with a rail, as it may with either. */
static void answer_to_the_confirmation_is_lost(void **state)
{
	unsigned is_get;
	unsigned rail;

	(void)state;
	for (is_get = 0; is_get < 2; ++is_get)
		for (rail = 0; rail < 2; ++rail) {
			up(2, 0, 2, 0, true);
			transfer_begin(is_get, SEG);
			transfer_end(is_get, SEG, TRANSFER_MS);
			transfer_begin(is_get, BYTES);
			assert_true(m0_sim_run_until(&sim, passive_is_over,
						     NULL, BOUND_NS));
			assert_int_equal(hosts[0].h_ends_nr, 0);
			rail_cut(1, rail, true);
			transfer_end(is_get, BYTES, CUT_MS);
			down();
		}
}

static void both_rails_die(void **state)
{
	unsigned is_get;

	(void)state;
	for (is_get = 0; is_get < 2; ++is_get) {
		up(2, 0, 2, 0, true);
		transfer_begin(is_get, SEG);
		transfer_end(is_get, SEG, TRANSFER_MS);
		transfer_begin(is_get, BYTES);
		m0_sim_run_ms(&sim, TRANSFER_MS / 3);
		rail_cut(1, 0, true);
		rail_cut(1, 1, true);
		assert_true(
			m0_sim_run_until(&sim, active_is_over, NULL, BOUND_NS));
		assert_int_equal(hosts[0].h_ends_nr, 1);
		assert_true(hosts[0].h_status < 0);
		assert_int_not_equal(hosts[0].h_status, -EAGAIN);
		m0_net_buffer_del(&hosts[1].h_nb, &hosts[1].h_tm);
		assert_true(m0_sim_run_until(&sim, are_over, NULL, BOUND_NS));
		assert_int_equal(hosts[0].h_ends_nr, 1);
		assert_int_equal(hosts[1].h_ends_nr, 1);
		buffer_free(&hosts[0]);
		buffer_free(&hosts[1]);
		down();
	}
}

/** A cancel, and a time-out, while the operation waits for any rail. */
static void buffer_is_cancelled_while_rails_are_dead(void **state)
{
	unsigned is_get;

	(void)state;
	for (is_get = 0; is_get < 2; ++is_get) {
		up(2, 0, 2, 0, true);
		transfer_begin(is_get, BYTES);
		m0_sim_run_ms(&sim, TRANSFER_MS / 3);
		rail_cut(1, 0, true);
		rail_cut(1, 1, true);
		m0_sim_run_ms(&sim, TRANSFER_MS);
		assert_int_equal(hosts[0].h_ends_nr, 0);
		m0_net_buffer_del(&hosts[0].h_nb, &hosts[0].h_tm);
		m0_net_buffer_del(&hosts[1].h_nb, &hosts[1].h_tm);
		assert_true(m0_sim_run_until(&sim, are_over, NULL,
					     2 * LND_MS * M0_TIME_ONE_MSEC));
		assert_int_equal(hosts[0].h_status, -ECANCELED);
		assert_int_equal(hosts[1].h_status, -ECANCELED);
		buffer_free(&hosts[0]);
		buffer_free(&hosts[1]);
		down();
	}
}

/** The passive buffer is gone: one transaction time-out, as with one rail. */
static void stale_buffer_is_not_tried_again(void **state)
{
	unsigned  is_get;
	m0_time_t begun;

	(void)state;
	for (is_get = 0; is_get < 2; ++is_get) {
		up(2, 0, 2, 0, true);
		transfer_begin(is_get, SEG);
		transfer_end(is_get, SEG, TRANSFER_MS);
		transfer_begin(is_get, BYTES);
		m0_net_buffer_del(&hosts[1].h_nb, &hosts[1].h_tm);
		begun = m0_sim_now(&sim);
		assert_true(m0_sim_run_until(&sim, are_over, NULL, BOUND_NS));
		assert_int_equal(hosts[0].h_status, -ETIMEDOUT);
		assert_true(m0_sim_now(&sim) - begun <=
			    (TRANSACTION_MS + 2000) * M0_TIME_ONE_MSEC);
		buffer_free(&hosts[0]);
		buffer_free(&hosts[1]);
		down();
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_rails_carry_pieces),
		cmocka_unit_test(one_rail_carries_all_of_a_stranger),
		cmocka_unit_test(host_of_one_rail_reaches_one_of_two),
		cmocka_unit_test(sizes_are_cut_into_pieces),
		cmocka_unit_test(rail_dies_in_the_middle),
		cmocka_unit_test(rail_dies_under_a_short_transfer),
		cmocka_unit_test(answer_to_the_confirmation_is_lost),
		cmocka_unit_test(both_rails_die),
		cmocka_unit_test(buffer_is_cancelled_while_rails_are_dead),
		cmocka_unit_test(stale_buffer_is_not_tried_again),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("rails", tests, NULL, NULL);
}
