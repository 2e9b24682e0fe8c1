/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Requests in control records: each field is checked, and each has its right. */
#include "unit/ring/shared_rig.h"

static struct rig               rig;
static struct m0_shared_why     why;
static const struct m0_lnet_nid nid = { .ln_type = M0_LNET_TYPE_TCP,
					.ln_addr = { 10, 0, 0, 1 } };

static int setup(void **state)
{
	(void)state;
	rig_init(&rig);
	return 0;
}

static int control_get(uint32_t verb)
{
	static struct m0_ring_control control;

	return m0_shared_control_get(&rig.rig_server, 1, verb, &control, &why);
}

static void assert_control(uint32_t verb, const char *text)
{
	char buf[256];

	assert_int_equal(control_get(verb), -EPROTO);
	assert_string_equal(m0_shared_why_print(&why, buf, sizeof buf), text);
}

static void controls_are_checked(void **state)
{
	struct m0_ring_control *record = m0_shared_control(&rig.rig_client, 1);

	(void)state;
	record->rqc_verb = M0_RING_PROBE;
	record->rqc_probe.rpb_nid = nid;
	record->rqc_probe.rpb_self = m0_lnet_nid_any;
	assert_int_equal(control_get(M0_RING_PROBE), 0);
	assert_control(M0_RING_INFO, "verb 1: 0 to 0 is accepted");
	record->rqc_probe.rpb_kind = 2;
	assert_control(M0_RING_PROBE, "probe_kind 2: 0 to 1 is accepted");
	record->rqc_probe.rpb_kind = 1;
	record->rqc_probe.rpb_timeout_ms = UINT64_MAX;
	assert_control(M0_RING_PROBE,
		       "probe_timeout_ms 18446744073709551615: 0 to 86400000 "
		       "is accepted");
	record->rqc_probe.rpb_timeout_ms = 0;
	record->rqc_probe.rpb_force = 2;
	assert_control(M0_RING_PROBE, "probe_force 2: 0 to 1 is accepted");
	record->rqc_probe.rpb_force = 1;
	record->rqc_probe.rpb_nid = m0_lnet_nid_any;
	assert_control(M0_RING_PROBE,
		       "probe_nid type 255: 0 to 254 is accepted");
	memset(record, 0, sizeof *record);
	record->rqc_verb = M0_RING_FAULT_GET;
	record->rqc_choice.rch_kind = M0_LNET_FAULT_ANY;
	assert_int_equal(control_get(M0_RING_FAULT_GET), 0);
	record->rqc_choice.rch_kind = M0_LNET_FAULT_ANY + 1;
	assert_control(M0_RING_FAULT_GET, "choice_kind 6: 0 to 5 is accepted");
	memset(record, 0, sizeof *record);
	record->rqc_verb = M0_RING_ROUTE_GET;
	record->rqc_route.rrt_max = 1025;
	assert_control(M0_RING_ROUTE_GET,
		       "route_max 1025: 0 to 1024 is accepted");
	record->rqc_route.rrt_max = 1024;
	assert_int_equal(control_get(M0_RING_ROUTE_GET), 0);
	record->rqc_route.rrt_attr.lra_gateway.ln_size = 77;
	assert_control(M0_RING_ROUTE_GET,
		       "route_gateway 77: 0 to 12 is accepted");
	memset(record, 0, sizeof *record);
	record->rqc_verb = M0_RING_UDSP_GET;
	record->rqc_udsp.rud_max = 16385;
	assert_control(M0_RING_UDSP_GET,
		       "udsp_max 16385: 0 to 16384 is accepted");
	memset(record, 0, sizeof *record);
	record->rqc_verb = M0_RING_PEER_NIS_GET;
	record->rqc_choice.rch_src = nid;
	record->rqc_choice.rch_max = M0_RING_PEER_NIS_MAX;
	assert_int_equal(control_get(M0_RING_PEER_NIS_GET), 0);
	record->rqc_choice.rch_max = 65;
	assert_control(M0_RING_PEER_NIS_GET,
		       "choice_max 65: 0 to 64 is accepted");
	record->rqc_choice.rch_max = 0;
	record->rqc_choice.rch_src.ln_size = 77;
	assert_control(M0_RING_PEER_NIS_GET,
		       "choice_src 77: 0 to 12 is accepted");
	memset(record, 0, sizeof *record);
	record->rqc_verb = M0_RING_EXPLAIN;
	record->rqc_dist.rdi_dst = nid;
	record->rqc_dist.rdi_src = nid;
	record->rqc_dist.rdi_src.ln_size = 77;
	assert_control(M0_RING_EXPLAIN, "dist_src 77: 0 to 12 is accepted");
	record->rqc_verb = M0_RING_DIST;
	assert_int_equal(control_get(M0_RING_DIST), 0);
}

/* Fields that the node reads before it checks what they mean. */
static void changes_are_checked(void **state)
{
	static struct m0_ring_control zero;
	struct m0_ring_control *record = m0_shared_control(&rig.rig_client, 1);
	struct m0_lnet_nid      bad = nid;

#define RECORD(verb)                                    \
	do {                                            \
		*record = zero;                         \
		record->rqc_verb = (verb);              \
		assert_int_equal(control_get(verb), 0); \
	} while (0)
	(void)state;
	bad.ln_size = 77;
	RECORD(M0_RING_FAULT_ADD);
	record->rqc_fault.lfa_kind = M0_LNET_FAULT_ANY;
	assert_control(M0_RING_FAULT_ADD, "fault_kind 5: 0 to 4 is accepted");
	RECORD(M0_RING_FAULT_ADD);
	memset(&record->rqc_fault.lfa_random, 3, 1);
	assert_control(M0_RING_FAULT_ADD, "fault_random 3: 0 to 1 is accepted");
	RECORD(M0_RING_FAULT_ADD);
	record->rqc_fault.lfa_local = bad;
	assert_control(M0_RING_FAULT_ADD,
		       "fault_local 77: 0 to 12 is accepted");
	RECORD(M0_RING_FAULT_DEL);
	record->rqc_choice.rch_dst = bad;
	assert_control(M0_RING_FAULT_DEL, "choice_dst 77: 0 to 12 is accepted");
	RECORD(M0_RING_ROUTE_ADD);
	record->rqc_route.rrt_attr.lra_gateway = bad;
	assert_control(M0_RING_ROUTE_ADD,
		       "route_gateway 77: 0 to 12 is accepted");
	RECORD(M0_RING_POOLS_SET);
	record->rqc_routing.rrg_max[2] = (1U << 20) + 1;
	assert_control(M0_RING_POOLS_SET,
		       "routing_max 1048577: 0 to 1048576 is accepted");
	RECORD(M0_RING_UDSP_EFFECT);
	record->rqc_udsp.rud_is_next = 2;
	assert_control(M0_RING_UDSP_EFFECT,
		       "udsp_is_next 2: 0 to 1 is accepted");
	RECORD(M0_RING_HEALTH_SET);
	record->rqc_peer.rpe_health_of = 2;
	assert_control(M0_RING_HEALTH_SET,
		       "peer_health_of 2: 0 to 1 is accepted");
	RECORD(M0_RING_PEER_ADD);
	record->rqc_peer.rpe_nids_nr = M0_LNET_PEER_NIDS_MAX + 1;
	assert_int_equal(control_get(M0_RING_PEER_ADD), -EPROTO);
	record->rqc_peer.rpe_nids_nr = M0_LNET_PEER_NIDS_MAX;
	assert_int_equal(control_get(M0_RING_PEER_ADD), 0);
	record->rqc_peer.rpe_nids[M0_LNET_PEER_NIDS_MAX - 1] = bad;
	assert_control(M0_RING_PEER_ADD, "peer_nids 77: 0 to 12 is accepted");
	RECORD(M0_RING_NET_DEL);
	record->rqc_net.rne_cfg.lnc_ifaces_nr = UINT32_MAX;
	assert_int_equal(control_get(M0_RING_NET_DEL), -EPROTO);
	RECORD(M0_RING_NET_ADD);
	memset(record->rqc_net.rne_cfg.lnc_options, 'a',
	       sizeof record->rqc_net.rne_cfg.lnc_options);
	assert_int_equal(control_get(M0_RING_NET_ADD), -EPROTO);
#undef RECORD
}

static void verbs_have_rights(void **state)
{
	uint32_t verb;

	(void)state;
	/* A tap is a pointer, which no other process may give the node. */
	for (verb = 0; verb < M0_RING_VERBS_NR; ++verb)
		assert_int_equal(
			m0_shared_verb_right(verb) == M0_SHARED_RIGHT_NONE,
			M0_IN(verb, (M0_RING_TAP_ADD, M0_RING_TAP_DEL)));
	assert_int_equal(m0_shared_verb_right(verb), M0_SHARED_RIGHT_NONE);
	assert_int_equal(m0_shared_verb_right(M0_RING_NET_DEL),
			 M0_SHARED_RIGHT_ADMIN);
	assert_int_equal(m0_shared_verb_right(M0_RING_PROBE),
			 M0_SHARED_RIGHT_PROBE);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		CASE(controls_are_checked),
		CASE(changes_are_checked),
		CASE(verbs_have_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
