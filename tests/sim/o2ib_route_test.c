/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Nets tcp and o2ib together: a router that joins them, and nodes that have several of both kinds.
 * Messages go within a message of net o2ib, and by RDMA, and over sockets on the other side.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "m0/lnet.h"
#include "m0/lnet_route.h"
#include "m0/net.h"
#include "m0/sim.h"
#include "m0/sim_route.h"
#include "m0/xlnet.h"

#include "sim/net/sim_rdma.h"

enum {
	BYTES_MAX = 1 << 20,
	/** The largest payload within a message of net o2ib. */
	IMMEDIATE = 3976,
	LATENCY_MS = 2
};
#define BOUND_NS (20 * M0_TIME_ONE_SECOND)

struct end {
	struct m0_lnet           *e_lnet;
	struct m0_net_domain      e_dom;
	struct m0_net_transfer_mc e_tm;
	char                      e_nid[40];
	char                      e_ep[M0_NET_LNET_XEP_ADDR_LEN];
	struct m0_net_buffer      e_nb;
	unsigned                  e_ends_nr;
	int32_t                   e_status;
};

static struct m0_sim sim;
static struct end    ends[2];

static void buffer_event(const struct m0_net_buffer_event *ev)
{
	struct end *end = ev->nbe_buffer->nb_app_private;

	++end->e_ends_nr;
	end->e_status = ev->nbe_status;
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
	return ((struct end *)arg)->e_tm.ntm_state == M0_NET_TM_STARTED;
}

static bool is_stopped(void *arg)
{
	return ((struct end *)arg)->e_tm.ntm_state == M0_NET_TM_STOPPED;
}

static bool is_over(void *arg)
{
	return ((struct end *)arg)->e_ends_nr > 0;
}

/** @param nid  of the TM, one of the host. */
static void end_up(struct end *end, struct m0_sim_host *host, const char *nid)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];

	memset(end, 0, sizeof *end);
	m0_sim_host_use(host);
	m0_lnet_cfg_default(&cfg);
	m0_sim_host_lnet_cfg(host, &cfg);
	assert_int_equal(m0_lnet_open(&end->e_lnet, &cfg, why), 0);
	assert_int_equal(m0_net_lnet_use(end->e_lnet), 0);
	assert_int_equal(m0_net_domain_init(&end->e_dom, &m0_net_lnet_xprt), 0);
	(void)snprintf(end->e_nid, sizeof end->e_nid, "%s", nid);
	(void)snprintf(end->e_ep, sizeof end->e_ep, "%s:12345:40:7", nid);
	end->e_tm.ntm_callbacks = &tm_callbacks;
	assert_int_equal(m0_net_tm_init(&end->e_tm, &end->e_dom), 0);
	assert_int_equal(m0_net_tm_start(&end->e_tm, end->e_ep), 0);
	assert_true(m0_sim_run_until(&sim, is_started, end, BOUND_NS));
	m0_sim_host_use(NULL);
}

static void end_down(struct end *end)
{
	assert_int_equal(m0_net_tm_stop(&end->e_tm, true), 0);
	assert_true(m0_sim_run_until(&sim, is_stopped, end, BOUND_NS));
	assert_int_equal(m0_net_tm_fini(&end->e_tm), 0);
	assert_int_equal(m0_net_domain_fini(&end->e_dom), 0);
	assert_int_equal(m0_net_lnet_unuse(end->e_lnet), 0);
	m0_lnet_close(end->e_lnet);
}

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
	return 0;
}

static int down(void **state)
{
	(void)state;
	end_down(&ends[0]);
	end_down(&ends[1]);
	m0_sim_routers_down();
	m0_sim_rdma_fini();
	m0_sim_net_fini();
	m0_sim_fini(&sim);
	return 0;
}

/* -- transfers ------------------------------------------------------------- */

static uint8_t byte_of(uint32_t i)
{
	return (uint8_t)(i * 7 + (i >> 8) + 1);
}

static void buffer_make(struct end *end, enum m0_net_queue_type qtype,
			uint32_t bytes)
{
	struct m0_net_buffer *nb = &end->e_nb;
	bool                  sends = M0_IN(qtype, (M0_NET_QT_ACTIVE_BULK_SEND,
                                   M0_NET_QT_PASSIVE_BULK_SEND));
	uint32_t              i;

	memset(nb, 0, sizeof *nb);
	assert_int_equal(m0_bufvec_alloc(&nb->nb_buffer, 1, bytes), 0);
	for (i = 0; sends && i < bytes; ++i)
		((uint8_t *)nb->nb_buffer.ov_buf[0])[i] = byte_of(i);
	assert_int_equal(m0_net_buffer_register(nb, &end->e_dom), 0);
	nb->nb_app_private = end;
	nb->nb_callbacks = &callbacks;
	nb->nb_qtype = qtype;
	nb->nb_length = sends ? bytes : 0;
	nb->nb_timeout = M0_TIME_NEVER;
	end->e_ends_nr = 0;
}

static void buffer_check(struct end *end, bool received, uint32_t bytes)
{
	const uint8_t *at = end->e_nb.nb_buffer.ov_buf[0];
	uint32_t       i;

	assert_true(m0_sim_run_until(&sim, is_over, end, BOUND_NS));
	assert_int_equal(end->e_status, 0);
	assert_int_equal(end->e_ends_nr, 1);
	for (i = 0; received && i < bytes; ++i)
		assert_int_equal(at[i], byte_of(i));
}

static void buffer_free(struct end *end)
{
	assert_int_equal(m0_net_buffer_deregister(&end->e_nb, &end->e_dom), 0);
	m0_net_desc_free(&end->e_nb.nb_desc);
	m0_bufvec_free(&end->e_nb.nb_buffer);
}

/** The first end puts to the second, or gets from it. */
static void transfer(struct end *active, struct end *passive, bool gets,
		     uint32_t bytes)
{
	struct m0_net_end_point *ep;

	assert_int_equal(
		m0_net_end_point_create(&ep, &passive->e_tm, active->e_ep), 0);
	buffer_make(passive,
		    gets ? M0_NET_QT_PASSIVE_BULK_SEND
			 : M0_NET_QT_PASSIVE_BULK_RECV,
		    bytes);
	passive->e_nb.nb_ep = ep;
	assert_int_equal(m0_net_buffer_add(&passive->e_nb, &passive->e_tm), 0);
	assert_int_equal(m0_net_end_point_put(ep), 0);
	buffer_make(active,
		    gets ? M0_NET_QT_ACTIVE_BULK_RECV
			 : M0_NET_QT_ACTIVE_BULK_SEND,
		    bytes);
	assert_int_equal(m0_net_desc_copy(&passive->e_nb.nb_desc,
					  &active->e_nb.nb_desc),
			 0);
	assert_int_equal(m0_net_buffer_add(&active->e_nb, &active->e_tm), 0);
	buffer_check(active, gets, bytes);
	buffer_check(passive, !gets, bytes);
	buffer_free(active);
	buffer_free(passive);
}

static void transfers(void)
{
	static const uint32_t sizes[] = { 100, IMMEDIATE, IMMEDIATE + 1, 65536,
					  BYTES_MAX };
	unsigned              i;
	unsigned              from;

	for (i = 0; i < ARRAY_SIZE(sizes); ++i)
		for (from = 0; from < 2; ++from) {
			transfer(&ends[from], &ends[1 - from], false, sizes[i]);
			transfer(&ends[from], &ends[1 - from], true, sizes[i]);
		}
}

/** Payload bytes that the node has received by interfaces of net o2ib. */
static uint64_t bytes_by_o2ib(const struct end *end)
{
	struct m0_lnet_info *info;
	char                 nid[M0_LNET_NIDSTR_SIZE];
	uint64_t             sum = 0;
	unsigned             i;

	assert_int_equal(m0_lnet_info_get(end->e_lnet, &info), 0);
	for (i = 0; i < info->li_nis_nr; ++i) {
		const struct m0_lnet_ni_info *ni = &info->li_nis[i];

		(void)m0_lnet_nid_print(&ni->nii_nid, nid, sizeof nid);
		if (strstr(nid, "@o2ib") != NULL)
			sum += ni->nii_lnd.ldi_direct_bytes +
			       ni->nii_lnd.ldi_copied_bytes;
	}
	m0_lnet_info_free(info);
	return sum;
}

static uint64_t forwarded_nr(const struct m0_sim_host *router)
{
	struct m0_lnet_routing_info info;

	assert_int_equal(m0_lnet_routing_get(m0_sim_router_lnet(router), &info),
			 0);
	return info.lgi_forwarded_nr;
}

/* -- cases ----------------------------------------------------------------- */

/* Puts and gets of either end go through the router, whether a message carries them
 * or the device writes them. */
static void a_router_joins_tcp_and_o2ib(void **state)
{
	struct m0_sim_host *a = m0_sim_host_add_nids("a", "10.0.0.1@tcp");
	struct m0_sim_host *b = m0_sim_host_add_nids("b", "10.1.0.1@o2ib");
	struct m0_sim_host *r =
		m0_sim_router_add("r", "10.0.0.9@tcp 10.1.0.9@o2ib", 0);

	(void)state;
	m0_sim_routers_up(NULL);
	end_up(&ends[0], a, "10.0.0.1@tcp");
	end_up(&ends[1], b, "10.1.0.1@o2ib");
	transfers();
	assert_true(forwarded_nr(r) >= 20);
	assert_int_equal(bytes_by_o2ib(&ends[0]), 0);
	assert_true(bytes_by_o2ib(&ends[1]) >= 2 * BYTES_MAX);
	/* A new router is used as the old one was. */
	m0_sim_router_crash(r);
	m0_sim_router_restart(r);
	m0_sim_run_ms(&sim, 120 * 1000);
	transfers();
}

/* Two nets of either kind in each node, and an end point of either kind. */
static void nodes_have_nets_of_both_kinds(void **state)
{
	struct m0_sim_host *a =
		m0_sim_host_add_nids("a", "10.0.0.1@tcp 10.1.0.1@o2ib "
					  "10.2.0.1@tcp1 10.3.0.1@o2ib1");
	struct m0_sim_host *b =
		m0_sim_host_add_nids("b", "10.0.0.2@tcp 10.1.0.2@o2ib "
					  "10.2.0.2@tcp1 10.3.0.2@o2ib1");

	(void)state;
	end_up(&ends[0], a, "10.0.0.1@tcp");
	end_up(&ends[1], b, "10.3.0.2@o2ib1");
	transfers();
	assert_true(bytes_by_o2ib(&ends[0]) + bytes_by_o2ib(&ends[1]) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_router_joins_tcp_and_o2ib, up,
						down),
		cmocka_unit_test_setup_teardown(nodes_have_nets_of_both_kinds,
						up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
