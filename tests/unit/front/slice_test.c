/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A scrape of a node reads in slices. The node bounds each of them itself,
 * whatever a front asks for, so that no step of a scrape handles more entries.
 */
#include <stdio.h>

#include "unit/base/panics.h"

#include "front/front_internal.h"
#include "m0/lnet_info.h"
#include "m0/lnet_route.h"
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
		.rrt_attr = { .lra_gateway = m0_lnet_nid_any },
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

/* The route behind which the next slice begins is not there. */
static void route_that_went_ends_the_slice(void **state)
{
	struct m0_lnet_route_info row;
	struct m0_front_control  *fcl = control(M0_RING_ROUTE_GET);

	(void)state;
	fcl->fcl_record->rqc_route = (struct m0_ring_route){
		.rrt_attr = { .lra_gateway = nid_of(ENTRIES_NR) },
		.rrt_max = 1,
	};
	assert_int_equal(m0_front__array_do(lnet, fcl, &row, sizeof row),
			 -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_gives_few_peer_nis_at_a_time),
		cmocka_unit_test(node_gives_few_routes_at_a_time),
		cmocka_unit_test(route_that_went_ends_the_slice),
	};

	return cmocka_run_group_tests(tests, node_open, node_close);
}
