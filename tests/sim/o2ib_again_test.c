/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Two nodes on net o2ib, each put with a buffer of its own: one put is cancelled, which ends the
 * connection of both. The other is executed, once. And what a tap sees of a put over RDMA.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "m0/lnet.h"
#include "m0/lnet_tap.h"
#include "m0/net.h"
#include "m0/sim.h"
#include "m0/xlnet.h"

#include "sim/net/sim_rdma.h"

enum {
	BYTES = 100000,
	HALF = BYTES / 2,
	BEFORE = 64,
	PUTS = 2,
	/** One way, and how long a cancelled put may go on. */
	LATENCY_MS = 200,
	GRACE_MS = 50,
	TRANSACTION_MS = 5000
};

struct put {
	struct m0_net_buffer p_nb;
	unsigned             p_ends_nr;
	int32_t              p_status;
	uint8_t              p_bytes[BYTES];
};

struct host {
	struct m0_sim_host       *h_host;
	struct m0_lnet           *h_lnet;
	struct m0_net_domain      h_dom;
	struct m0_net_transfer_mc h_tm;
	char                      h_ep[M0_NET_LNET_XEP_ADDR_LEN];
	struct put                h_puts[PUTS];
};

static struct m0_sim sim;
/** The first puts to the second. */
static struct host hosts[2];

static void buffer_event(const struct m0_net_buffer_event *ev)
{
	struct put *put = ev->nbe_buffer->nb_app_private;

	++put->p_ends_nr;
	put->p_status = ev->nbe_status;
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

static bool is_over(void *arg)
{
	return ((struct put *)arg)->p_ends_nr > 0;
}

static void host_up(struct host *host, const char *ip)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];
	char                      text[80];

	memset(host, 0, sizeof *host);
	host->h_host = m0_sim_host_add(ip, ip);
	m0_sim_host_use(host->h_host);
	m0_lnet_cfg_default(&cfg);
	(void)snprintf(text, sizeof text, "o2ib(%s) cancel_grace_ms=%d", ip,
		       GRACE_MS);
	assert_int_equal(m0_lnet_cfg_networks(&cfg, text, why), 0);
	cfg.lc_discovery = false;
	cfg.lc_transaction_timeout_ms = TRANSACTION_MS;
	cfg.lc_timeout_ms = TRANSACTION_MS;
	assert_int_equal(m0_lnet_open(&host->h_lnet, &cfg, why), 0);
	assert_int_equal(m0_net_lnet_use(host->h_lnet), 0);
	assert_int_equal(m0_net_domain_init(&host->h_dom, &m0_net_lnet_xprt),
			 0);
	(void)snprintf(host->h_ep, sizeof host->h_ep, "%s@o2ib:12345:40:7", ip);
	host->h_tm.ntm_callbacks = &tm_callbacks;
	assert_int_equal(m0_net_tm_init(&host->h_tm, &host->h_dom), 0);
	assert_int_equal(m0_net_tm_start(&host->h_tm, host->h_ep), 0);
	assert_true(
		m0_sim_run_until(&sim, is_started, host, M0_TIME_ONE_SECOND));
	m0_sim_host_use(NULL);
}

static void buffer_make(struct host *host, unsigned nr,
			enum m0_net_queue_type qtype)
{
	struct put           *put = &host->h_puts[nr];
	struct m0_net_buffer *nb = &put->p_nb;
	uint32_t              i;

	assert_int_equal(m0_bufvec_alloc(&nb->nb_buffer, 1, BYTES), 0);
	for (i = 0; i < BYTES; ++i)
		((uint8_t *)nb->nb_buffer.ov_buf[0])[i] =
			qtype == M0_NET_QT_ACTIVE_BULK_SEND
				? (uint8_t)(i * 7 + nr + 1)
				: 0;
	assert_int_equal(m0_net_buffer_register(nb, &host->h_dom), 0);
	nb->nb_app_private = put;
	nb->nb_callbacks = &callbacks;
	nb->nb_qtype = qtype;
	nb->nb_length = qtype == M0_NET_QT_ACTIVE_BULK_SEND ? BYTES : 0;
	nb->nb_timeout = M0_TIME_NEVER;
}

static void put_begin_of(unsigned nr, m0_bcount_t bytes)
{
	struct m0_net_buffer    *from = &hosts[0].h_puts[nr].p_nb;
	struct m0_net_buffer    *to = &hosts[1].h_puts[nr].p_nb;
	struct m0_net_end_point *ep;

	assert_int_equal(
		m0_net_end_point_create(&ep, &hosts[1].h_tm, hosts[0].h_ep), 0);
	buffer_make(&hosts[1], nr, M0_NET_QT_PASSIVE_BULK_RECV);
	to->nb_ep = ep;
	assert_int_equal(m0_net_buffer_add(to, &hosts[1].h_tm), 0);
	assert_int_equal(m0_net_end_point_put(ep), 0);
	buffer_make(&hosts[0], nr, M0_NET_QT_ACTIVE_BULK_SEND);
	from->nb_length = bytes;
	assert_int_equal(m0_net_desc_copy(&to->nb_desc, &from->nb_desc), 0);
	assert_int_equal(m0_net_buffer_add(from, &hosts[0].h_tm), 0);
}

static void put_begin(unsigned nr)
{
	put_begin_of(nr, BYTES);
}

static bool has_bytes(unsigned nr)
{
	const uint8_t *bytes = hosts[1].h_puts[nr].p_nb.nb_buffer.ov_buf[0];
	uint32_t       i;

	for (i = 0; i < BYTES && bytes[i] == (uint8_t)(i * 7 + nr + 1); ++i)
		;
	return i == BYTES;
}

/** Both hosts are up, and have a connection: a put has made one. */
static int up(void **state)
{
	static const struct m0_sim_rdma_cfg rdma = {
		.srd_latency_ns = LATENCY_MS * M0_TIME_ONE_MSEC,
		.srd_retry_ns = 2 * M0_TIME_ONE_SECOND,
	};
	static const struct m0_sim_stream_cfg wire = { .ssc_latency_ns = 1000 };

	(void)state;
	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_init_cfg(&sim, m0_sim_seed_get(1), &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, &wire);
	m0_sim_rdma_init(&rdma);
	host_up(&hosts[0], "10.0.0.1");
	host_up(&hosts[1], "10.0.0.2");
	return 0;
}

static void end_all(unsigned nr)
{
	unsigned i;

	for (i = 0; i < 2; ++i) {
		struct put *put = &hosts[i].h_puts[nr];

		if (put->p_ends_nr == 0)
			(void)m0_net_buffer_del(&put->p_nb, &hosts[i].h_tm);
		assert_true(m0_sim_run_until(&sim, is_over, put,
					     20 * M0_TIME_ONE_SECOND));
		assert_int_equal(put->p_ends_nr, 1);
		assert_int_equal(m0_net_buffer_deregister(&put->p_nb,
							  &hosts[i].h_dom),
				 0);
		m0_net_desc_free(&put->p_nb.nb_desc);
		m0_bufvec_free(&put->p_nb.nb_buffer);
		memset(put, 0, sizeof *put);
	}
}

static int down(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		struct host *host = &hosts[i];

		assert_int_equal(m0_net_tm_stop(&host->h_tm, true), 0);
		assert_true(m0_sim_run_until(&sim, is_stopped, host,
					     20 * M0_TIME_ONE_SECOND));
		assert_int_equal(m0_net_tm_fini(&host->h_tm), 0);
		assert_int_equal(m0_net_domain_fini(&host->h_dom), 0);
		assert_int_equal(m0_net_lnet_unuse(host->h_lnet), 0);
		m0_lnet_close(host->h_lnet);
	}
	m0_sim_rdma_fini();
	m0_sim_net_fini();
	m0_sim_fini(&sim);
	return 0;
}

static void connection_make(void)
{
	put_begin(0);
	assert_true(m0_sim_run_until(&sim, is_over, &hosts[0].h_puts[0],
				     10 * M0_TIME_ONE_SECOND));
	assert_int_equal(hosts[0].h_puts[0].p_status, 0);
	end_all(0);
}

/** Two puts begin, and the first is cancelled so long after. */
static void one_is_cancelled(unsigned after_ms)
{
	connection_make();
	put_begin(0);
	put_begin(1);
	m0_sim_run_ms(&sim, after_ms);
	(void)m0_net_buffer_del(&hosts[0].h_puts[0].p_nb, &hosts[0].h_tm);
	assert_true(m0_sim_run_until(&sim, is_over, &hosts[0].h_puts[0],
				     10 * M0_TIME_ONE_SECOND));
	assert_int_equal(hosts[0].h_puts[0].p_status, -ECANCELED);
	assert_true(m0_sim_run_until(&sim, is_over, &hosts[0].h_puts[1],
				     20 * M0_TIME_ONE_SECOND));
	m0_sim_run_ms(&sim, 5 * LATENCY_MS);
}

static void the_other_is_executed(void)
{
	assert_int_equal(hosts[0].h_puts[1].p_status, 0);
	assert_int_equal(hosts[1].h_puts[1].p_ends_nr, 1);
	assert_int_equal(hosts[1].h_puts[1].p_status, 0);
	assert_true(has_bytes(1));
	assert_false(has_bytes(0));
	end_all(0);
	end_all(1);
}

/* The request of the other is lost on its way: it is sent again by another connection. */
static void the_request_is_lost(void **state)
{
	(void)state;
	one_is_cancelled(1);
	the_other_is_executed();
}

/* Its request has come, and the answer is lost: the peer, which has nothing written, gives up the
 * first, and executes what is sent again. */
static void the_answer_is_lost(void **state)
{
	(void)state;
	one_is_cancelled(LATENCY_MS + LATENCY_MS / 2);
	the_other_is_executed();
}

/* A region that has the memory of a put, and memory that no other region has, leaves: the device
 * refuses what the peer writes by its key, which ends the connection, and nothing else. */
static void a_region_leaves_under_a_put(void **state)
{
	struct put *to = &hosts[1].h_puts[0];
	char       *addr;

	(void)state;
	connection_make();
	put_begin_of(0, HALF);
	addr = to->p_nb.nb_buffer.ov_buf[0];
	assert_int_equal(m0_lnet_mem_register(hosts[1].h_lnet, addr - BEFORE,
					      BEFORE + HALF),
			 0);
	m0_sim_run_ms(&sim, LATENCY_MS + LATENCY_MS / 2);
	m0_lnet_mem_deregister(hosts[1].h_lnet, addr - BEFORE, BEFORE + HALF);
	m0_sim_run_ms(&sim, LATENCY_MS / 4);
	assert_int_equal(to->p_ends_nr, 0);
	assert_true(m0_sim_run_until(&sim, is_over, &hosts[0].h_puts[0],
				     20 * M0_TIME_ONE_SECOND));
	assert_int_equal(hosts[0].h_puts[0].p_status, -EREMOTEIO);
	assert_int_equal(to->p_ends_nr, 0);
	end_all(0);
	/* The next one has a connection. */
	connection_make();
}

/* -- taps ------------------------------------------------------------------ */

/** The bulk that a tap has seen. */
struct seen {
	struct m0_lnet_tap tps_tap;
	unsigned           tps_left_nr;
	unsigned           tps_arrived_nr;
	size_t             tps_head_bytes;
	size_t             tps_taken_bytes;
	uint8_t            tps_bytes[BYTES];
};

static void tapped(struct m0_lnet_tap *tap, const struct m0_lnet_tap_msg *msg)
{
	struct seen *seen = container_of(tap, struct seen, tps_tap);

	if (msg->ltv_type != M0_LNET_FAULT_PUT ||
	    msg->ltv_payload_bytes != BYTES)
		return;
	++*(msg->ltv_leaves ? &seen->tps_left_nr : &seen->tps_arrived_nr);
	assert_null(msg->ltv_why);
	assert_int_equal(msg->ltv_status, 0);
	seen->tps_head_bytes = msg->ltv_head_bytes;
	seen->tps_taken_bytes = m0_lnet_tap_copy(msg, seen->tps_bytes, BYTES);
}

/* A message whose payload is written by RDMA is captured with it, at both ends. */
static void taps_see_what_rdma_moves(void **state)
{
	static struct seen seen[2];
	unsigned           i;
	uint32_t           j;

	(void)state;
	memset(seen, 0, sizeof seen);
	for (i = 0; i < 2; ++i) {
		seen[i].tps_tap.ltp_message = tapped;
		assert_int_equal(
			m0_lnet_tap_add(hosts[i].h_lnet, &seen[i].tps_tap), 0);
	}
	connection_make();
	assert_int_equal(seen[0].tps_left_nr, 1);
	assert_int_equal(seen[0].tps_arrived_nr, 0);
	assert_int_equal(seen[1].tps_left_nr, 0);
	assert_int_equal(seen[1].tps_arrived_nr, 1);
	for (i = 0; i < 2; ++i) {
		assert_int_equal(seen[i].tps_head_bytes, 72);
		assert_int_equal(seen[i].tps_taken_bytes, BYTES);
		for (j = 0; j < BYTES; ++j)
			assert_int_equal(seen[i].tps_bytes[j],
					 (uint8_t)(j * 7 + 1));
		assert_int_equal(
			m0_lnet_tap_del(hosts[i].h_lnet, &seen[i].tps_tap), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_region_leaves_under_a_put, up,
						down),
		cmocka_unit_test_setup_teardown(the_request_is_lost, up, down),
		cmocka_unit_test_setup_teardown(the_answer_is_lost, up, down),
		cmocka_unit_test_setup_teardown(taps_see_what_rdma_moves, up,
						down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
