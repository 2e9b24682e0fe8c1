/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A scrape of a node reads in slices. The node bounds each of them itself,
 * whatever a front asks for, so that no step of a scrape handles more entries.
 */
#include <pthread.h>
#include <stdio.h>

#include "unit/base/panics.h"

#include "front/front_internal.h"
#include "m0/lnet_info.h"
#include "m0/lnet_route.h"
#include "m0/lnet_tune.h"
#include "m0/log.h"

enum {
	SLICE = 64,
	/** Four slices, the last of which is not full. */
	ENTRIES_NR = 200
};

static struct m0_lnet *lnet;

static struct m0_lnet_nid nid_of(unsigned i)
{
	char               text[M0_LNET_NIDSTR_SIZE];
	struct m0_lnet_nid nid;

	snprintf(text, sizeof text, "127.8.0.%u@tcp", i + 1);
	assert_int_equal(m0_lnet_nid_parse(&nid, text), 0);
	return nid;
}

static int node_open(void **state)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];
	unsigned                  i;

	(void)state;
	/* Nobody is at the gateways. */
	m0_log_level_set(M0_LOG_ERROR);
	m0_lnet_cfg_default(&cfg);
	cfg.lc_inline = true;
	cfg.lc_accept = M0_LNET_ACCEPT_NONE;
	cfg.lc_discovery = false;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, "tcp(127.0.0.1)", why), 0);
	assert_int_equal(m0_lnet_open(&lnet, &cfg, why), 0);
	for (i = 0; i < ENTRIES_NR; ++i) {
		struct m0_lnet_route_attr attr = { .lra_gateway = nid_of(i),
						   .lra_hops = 1 };

		assert_int_equal(m0_lnet_net_parse(&attr.lra_net, "tcp9"), 0);
		assert_int_equal(m0_lnet_route_add(lnet, &attr, why), 0);
	}
	return 0;
}

static int node_close(void **state)
{
	(void)state;
	m0_lnet_close(lnet);
	return 0;
}

static struct m0_front_control *control(enum m0_ring_verb verb)
{
	struct m0_front_control *fcl;

	assert_int_equal(m0_front__control_take(lnet, verb, &fcl), 0);
	return fcl;
}

static void node_gives_few_peer_nis_at_a_time(void **state)
{
	static struct m0_lnet_peer_ni_row rows[ENTRIES_NR + 1];
	struct m0_front_control          *fcl = control(M0_RING_PEER_NIS_GET);

	(void)state;
	fcl->fcl_record->rqc_choice =
		(struct m0_ring_choice){ .rch_src = m0_lnet_nid_any,
					 .rch_dst = m0_lnet_nid_any,
					 .rch_max = ENTRIES_NR };
	assert_int_equal(m0_front__array_do(lnet, fcl, rows, sizeof rows),
			 SLICE);
	assert_int_equal(m0_lnet_peer_nis_get(lnet, &m0_lnet_nid_any, rows,
					      ENTRIES_NR + 1),
			 ENTRIES_NR);
}

static void node_gives_few_routes_at_a_time(void **state)
{
	static struct m0_lnet_route_info rows[ENTRIES_NR + 1];
	struct m0_front_control         *fcl = control(M0_RING_ROUTE_GET);
	unsigned                         i;

	(void)state;
	fcl->fcl_record->rqc_route = (struct m0_ring_route){
		.rrt_max = ENTRIES_NR,
	};
	assert_int_equal(m0_front__array_do(lnet, fcl, rows, sizeof rows),
			 SLICE);
	memset(rows, 0, sizeof rows);
	assert_int_equal(m0_lnet_route_get(lnet, rows, ENTRIES_NR + 1),
			 ENTRIES_NR);
	for (i = 0; i < ENTRIES_NR; ++i) {
		struct m0_lnet_nid nid = nid_of(i);

		assert_true(
			m0_lnet_nid_eq(&rows[i].lri_attr.lra_gateway, &nid));
	}
	/* Fewer than there are: their number is known all the same. */
	assert_int_equal(m0_lnet_route_get(lnet, rows, SLICE + 1), ENTRIES_NR);
	assert_int_equal(m0_lnet_route_get(lnet, NULL, 0), ENTRIES_NR);
}

/* The routes behind the one of this order. */
static int slice_get(uint64_t *order, struct m0_lnet_route_info *rows)
{
	struct m0_front_control *fcl = control(M0_RING_ROUTE_GET);
	int                      rc;

	fcl->fcl_record->rqc_route = (struct m0_ring_route){
		.rrt_max = SLICE,
		.rrt_after = *order,
	};
	rc = m0_front__control_do(lnet, fcl);
	*order = fcl->fcl_record->rqc_order;
	return m0_front__array_take(lnet, fcl, rc, rows, SLICE * sizeof *rows);
}

static void again(unsigned i)
{
	struct m0_lnet_route_attr attr = { .lra_gateway = nid_of(i),
					   .lra_hops = 1 };
	char                      why[M0_LNET_WHY_BYTES];

	assert_int_equal(m0_lnet_net_parse(&attr.lra_net, "tcp9"), 0);
	assert_int_equal(
		m0_lnet_route_del(lnet, attr.lra_net, &attr.lra_gateway), 1);
	assert_int_equal(m0_lnet_route_add(lnet, &attr, why), 0);
}

/* The last route of a slice is removed and added again: it is the newest now. */
static void route_that_came_back_ends_no_slice(void **state)
{
	static struct m0_lnet_route_info rows[SLICE];
	struct m0_lnet_nid               nid = nid_of(SLICE);
	uint64_t                         order = 0;

	(void)state;
	assert_int_equal(slice_get(&order, rows), SLICE);
	again(SLICE - 1);
	assert_int_equal(slice_get(&order, rows), SLICE);
	assert_true(m0_lnet_nid_eq(&rows[0].lri_attr.lra_gateway, &nid));
	assert_int_equal(slice_get(&order, rows), SLICE);
	/* The last eight, and the one that came back. */
	assert_int_equal(slice_get(&order, rows), ENTRIES_NR - 3 * SLICE + 1);
	assert_int_equal(slice_get(&order, rows), 0);
}

static bool is_over;

static void *come_and_go(void *arg)
{
	unsigned i = 0;

	(void)arg;
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
		again(i++ % ENTRIES_NR);
	return NULL;
}

/* Reads the routes; none may be there twice. */
static int routes_once(unsigned max)
{
	static struct m0_lnet_route_info rows[2 * ENTRIES_NR];
	int                              nr;
	int                              i;
	int                              k;

	assert_true(max <= ARRAY_SIZE(rows));
	nr = m0_lnet_route_get(lnet, rows, max);
	assert_in_range(nr, 1, max);
	for (i = 0; i < nr; ++i)
		for (k = 0; k < i; ++k)
			if (memcmp(&rows[i].lri_attr, &rows[k].lri_attr,
				   sizeof rows[i].lri_attr) == 0)
				fail_msg("route %d is there again as %d", k, i);
	return nr;
}

static void routes_that_come_and_go_are_there_once(void **state)
{
	pthread_t thread;
	unsigned  i;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, come_and_go, NULL), 0);
	for (i = 0; i < 200; ++i)
		assert_in_range(routes_once(2 * ENTRIES_NR), ENTRIES_NR / 2,
				ENTRIES_NR);
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(routes_once(2 * ENTRIES_NR), ENTRIES_NR);
}

/* Two gateways turn out to be NIDs of one router: the routes stay as they are. */
static void routes_by_two_nids_of_a_router_are_there_once(void **state)
{
	struct m0_lnet_nid        one = nid_of(ENTRIES_NR);
	struct m0_lnet_nid        two = nid_of(ENTRIES_NR + 1);
	struct m0_lnet_route_attr attr = { .lra_hops = 1 };
	char                      why[M0_LNET_WHY_BYTES];
	char                      net[16];
	unsigned                  i;

	(void)state;
	for (i = 0; i < 2 * SLICE; ++i) {
		(void)snprintf(net, sizeof net, "tcp%u", 10 + i % SLICE);
		assert_int_equal(m0_lnet_net_parse(&attr.lra_net, net), 0);
		attr.lra_gateway = i < SLICE ? one : two;
		assert_int_equal(m0_lnet_route_add(lnet, &attr, why), 0);
	}
	assert_int_equal(m0_lnet_peer_add(lnet, &one, &two, 1, true), 0);
	assert_int_equal(routes_once(2 * ENTRIES_NR), ENTRIES_NR + 2 * SLICE);
	assert_int_equal(m0_lnet_route_del(lnet, M0_LNET_NET_ANY, &one),
			 2 * SLICE);
}

static uint64_t longest_ns(void)
{
	struct m0_lnet_info *info;
	uint64_t             ns;

	assert_int_equal(m0_lnet_info_head_get(lnet, &info), 0);
	ns = info->li_slice_ns;
	m0_lnet_info_free(info);
	return ns;
}

/* The node notes the longest slice, and begins anew after it has told. */
static void longest_slice_is_known(void **state)
{
	static struct m0_lnet_route_info rows[ENTRIES_NR];

	(void)state;
	lnet->fro_node->nod_slice_ns = UINT64_MAX;
	assert_true(longest_ns() == UINT64_MAX);
	lnet->fro_node->nod_slice_ns = 0;
	assert_int_equal(m0_lnet_route_get(lnet, rows, ENTRIES_NR), ENTRIES_NR);
	assert_in_range(longest_ns(), 1, UINT64_MAX - 1);
	assert_in_range(lnet->fro_node->nod_slice_ns, 1, UINT64_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_gives_few_peer_nis_at_a_time),
		cmocka_unit_test(node_gives_few_routes_at_a_time),
		cmocka_unit_test(route_that_came_back_ends_no_slice),
		cmocka_unit_test(routes_by_two_nids_of_a_router_are_there_once),
		cmocka_unit_test(longest_slice_is_known),
		cmocka_unit_test(routes_that_come_and_go_are_there_once),
	};

	return cmocka_run_group_tests(tests, node_open, node_close);
}
