/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Processes with the right to change the node of their server. */
#include <string.h>

#include "attach_fix.h"
#include "base/rand.h"
#include "m0/lnet_explain.h"
#include "m0/lnet_fault.h"
#include "m0/lnet_info.h"
#include "m0/lnet_tune.h"
#include "m0/lnet_udsp.h"

enum {
	RANDOM_NR = 400
};

static const uint32_t verbs[] = {
	M0_RING_FAULT_ADD,   M0_RING_FAULT_DEL, M0_RING_FAULT_RESET,
	M0_RING_ROUTE_ADD,   M0_RING_ROUTE_DEL, M0_RING_ROUTING_SET,
	M0_RING_POOLS_SET,   M0_RING_UDSP_ADD,  M0_RING_UDSP_DEL,
	M0_RING_UDSP_EFFECT, M0_RING_TUNE,      M0_RING_HEALTH_SET,
	M0_RING_PEER_ADD,    M0_RING_PEER_DEL,  M0_RING_NET_ADD,
	M0_RING_NET_DEL,
};

static void restart_as(enum m0_shared_right right)
{
	fix.fx_policy.apo_serve.svg_right = right;
	fix_restart();
}

static struct m0_lnet *front_open(void)
{
	struct m0_lnet_cfg cfg;
	struct m0_lnet    *ret;
	char               why[M0_LNET_WHY_BYTES];

	m0_lnet_cfg_default(&cfg);
	(void)snprintf(cfg.lc_attach, sizeof cfg.lc_attach, "%s", fix.fx_path);
	if (m0_lnet_open(&ret, &cfg, why) != 0)
		fail_msg("%s", why);
	return ret;
}

static int net_change(struct m0_lnet *front, const char *text, bool add,
		      char why[M0_LNET_WHY_BYTES])
{
	struct m0_lnet_cfg cfg;

	m0_lnet_cfg_default(&cfg);
	assert_int_equal(m0_lnet_cfg_networks(&cfg, text, why), 0);
	return add ? m0_lnet_net_add(front, &cfg.lc_nets[0], why)
		   : m0_lnet_net_del(front, &cfg.lc_nets[0], why);
}

static unsigned nids_nr(struct m0_lnet *lnet)
{
	struct m0_lnet_process_id id;
	unsigned                  nr = 0;

	while (m0_lnet_get_id(lnet, nr, &id) == 0)
		++nr;
	return nr;
}

/* The fronts of the node, and of the process, know the new NIDs when the call returns. */
static void networks_change(struct m0_lnet *front)
{
	char why[M0_LNET_WHY_BYTES] = "";

	assert_int_equal(nids_nr(front), 2);
	if (net_change(front, "tcp3(127.0.0.1)", true, why) != 0)
		fail_msg("%s", why);
	assert_int_equal(nids_nr(front), 3);
	assert_int_equal(nids_nr(fix.fx_lnet), 3);
	assert_int_equal(net_change(front, "tcp3(127.0.0.1)", true, why),
			 -EEXIST);
	assert_non_null(strstr(why, "127.0.0.1@tcp3"));
	assert_int_equal(net_change(front, "tcp4(127.0.0.1)", false, why),
			 -ENOENT);
	assert_non_null(strstr(why, "tcp4"));
	assert_int_equal(net_change(front, "tcp3", false, why), 0);
	assert_int_equal(nids_nr(front), 2);
	assert_int_equal(nids_nr(fix.fx_lnet), 2);
}

static void routes_and_peers_change(struct m0_lnet *front)
{
	struct m0_lnet_route_info route;
	struct m0_lnet_route_attr attr = { .lra_net = m0_lnet_net(
						   M0_LNET_TYPE_TCP, 7) };
	struct m0_lnet_nid        far;
	char                      why[M0_LNET_WHY_BYTES];

	assert_int_equal(m0_lnet_nid_parse(&attr.lra_gateway, "127.0.0.9@tcp"),
			 0);
	assert_int_equal(m0_lnet_route_add(front, &attr, why), 0);
	assert_int_equal(m0_lnet_route_get(fix.fx_lnet, &route, 1), 1);
	assert_int_equal(route.lri_attr.lra_net, attr.lra_net);
	assert_int_equal(m0_lnet_route_add(front, &attr, why), -EEXIST);
	assert_int_equal(m0_lnet_route_del(front, attr.lra_net, NULL), 1);
	assert_int_equal(m0_lnet_nid_parse(&far, "127.0.0.8@tcp"), 0);
	assert_int_equal(m0_lnet_peer_add(front, &far, NULL, 0, true), 0);
	assert_int_equal(m0_lnet_health_set(front, M0_LNET_HEALTH_OF_PEERS,
					    &far, 500),
			 1);
	assert_int_equal(m0_lnet_peer_del(front, &far, NULL, 0), 0);
	assert_int_equal(m0_lnet_peer_del(front, &far, NULL, 0), -ENOENT);
}

static void rules_change(struct m0_lnet *front)
{
	struct m0_lnet_fault_attr fault;
	struct m0_lnet_effect    *effect;
	struct m0_lnet_udsp       rule = { .lud_idx = M0_LNET_UDSP_LAST,
					   .lud_action = M0_LNET_UDSP_PRIORITY };
	char                      why[M0_LNET_WHY_BYTES];

	assert_int_equal(m0_lnet_nid_range_parse(&rule.lud_dst, "tcp", why), 0);
	assert_int_equal(m0_lnet_udsp_add_effect(front, &rule, why, &effect),
			 0);
	m0_lnet_effect_free(effect);
	assert_int_equal(m0_lnet_udsp_add(front, &rule, why), 0);
	assert_int_equal(m0_lnet_udsp_get(fix.fx_lnet, 0, NULL, 0), 1);
	assert_int_equal(m0_lnet_udsp_add(front, &rule, why), -EALREADY);
	assert_int_equal(m0_lnet_udsp_del(front, 0), 1);
	m0_lnet_fault_attr_init(&fault, M0_LNET_FAULT_DROP);
	fault.lfa_rate = 2;
	assert_int_equal(m0_lnet_fault_add(front, &fault, why), 0);
	assert_int_equal(
		m0_lnet_fault_del(front, M0_LNET_FAULT_ANY, NULL, NULL), 1);
}

static void values_change(struct m0_lnet *front)
{
	struct m0_lnet_routing_info routing;
	uint64_t                    now[M0_LNET_TUNABLES_NR];
	char                        why[M0_LNET_WHY_BYTES] = "";

	assert_int_equal(m0_lnet_tune(front, M0_LNET_TUNE_TRANSACTION_TIMEOUT,
				      77, why),
			 0);
	assert_int_equal(m0_lnet_tunables_get(fix.fx_lnet, now), 0);
	assert_int_equal(now[M0_LNET_TUNE_TRANSACTION_TIMEOUT], 77);
	assert_int_equal(m0_lnet_tune(front, M0_LNET_TUNE_TRANSACTION_TIMEOUT,
				      0, why),
			 -EINVAL);
	assert_non_null(strstr(why, "transaction_timeout is 0; it may be 1"));
	assert_int_equal(m0_lnet_routing_set(front, true), 0);
	assert_int_equal(m0_lnet_routing_get(fix.fx_lnet, &routing), 0);
	assert_int_equal(routing.lgi_state, M0_LNET_ROUTING_ON);
	assert_int_equal(m0_lnet_routing_set(front, false), 0);
}

static void administrator_changes_the_node(void **state)
{
	struct m0_lnet *front;

	(void)state;
	restart_as(M0_SHARED_RIGHT_ADMIN);
	front = front_open();
	networks_change(front);
	routes_and_peers_change(front);
	rules_change(front);
	values_change(front);
	m0_lnet_close(front);
	fix_all_gone();
}

static void others_change_nothing(void **state)
{
	struct m0_lnet *front = front_open();
	char            why[M0_LNET_WHY_BYTES];

	(void)state;
	assert_int_equal(net_change(front, "tcp3(127.0.0.1)", true, why),
			 -EPERM);
	assert_int_equal(net_change(front, "tcp", false, why), -EPERM);
	assert_int_equal(m0_lnet_routing_set(front, true), -EPERM);
	assert_int_equal(m0_lnet_udsp_del(front, M0_LNET_UDSP_LAST), -EPERM);
	assert_int_equal(nids_nr(fix.fx_lnet), 2);
	m0_lnet_close(front);
	fix_all_gone();
}

/* A request that no library makes. @return false: the server has ended it. */
static bool random_ask(struct fix_proc *proc, struct m0_rand *rand)
{
	struct m0_ring_control *record =
		m0_shared_control(&proc->fp_att.att_side, 0);
	uint32_t                *words = (uint32_t *)(void *)&record->rqc_piece;
	struct m0_shared_request req = { .srq_opcode = M0_SHARED_CONTROL,
					 .srq_gen = ++proc->fp_gen };
	struct m0_shared_report  rep;
	unsigned                 nr = (unsigned)m0_rand_below(rand, 64);

	memset(record, 0, sizeof *record);
	while (nr-- > 0)
		words[m0_rand_below(rand, nr > 32 ? 16 : 512)] =
			(uint32_t)(m0_rand_below(rand, 2) == 0
					   ? m0_rand_below(rand, 4)
					   : m0_rand_next(rand));
	req.srq_number = record->rqc_verb =
		verbs[m0_rand_below(rand, ARRAY_SIZE(verbs))];
	if (!fix_put(proc, &req) || !fix_get(proc, &rep))
		return false;
	m0_shared_unclaim(&proc->fp_att.att_side, 1);
	return rep.shp_kind == M0_SHARED_ANSWER;
}

static void random_changes_do_no_harm(void **state)
{
	const char     *text = getenv("M0_SEED");
	struct m0_rand  rand;
	struct fix_proc proc;
	unsigned        i;
	bool            ok = false;

	(void)state;
	restart_as(M0_SHARED_RIGHT_ADMIN);
	m0_rand_init(&rand, text == NULL ? 1 : strtoull(text, NULL, 10));
	for (i = 0; i < RANDOM_NR; ++i) {
		if (!ok)
			assert_int_equal(fix_attach(&proc), 0);
		ok = random_ask(&proc, &rand);
		if (!ok)
			fix_detach(&proc);
	}
	if (ok)
		fix_detach(&proc);
	fix_all_gone();
}

int fix_admin(void)
{
#define CASE(name) \
	cmocka_unit_test_setup_teardown(name, fix_setup, fix_teardown)
	const struct CMUnitTest tests[] = {
		CASE(administrator_changes_the_node),
		CASE(others_change_nothing),
		CASE(random_changes_do_no_harm),
	};

	return cmocka_run_group_tests_name("admin", tests, NULL, NULL);
}
