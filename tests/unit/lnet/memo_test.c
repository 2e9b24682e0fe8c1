/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Memos of selections: whatever has happened, a selection by a memo finds the path
 * that a search finds. A selection that notes its candidates is a search.
 */
#include "unit/lnet/policed.h"
#include "lnet/flow/memo.h"

enum {
	NIS_NR = 3,
	ROUTERS_NR = 6,
	NIDS_NR = 3,
	SEEDS_NR = 40,
	STEPS_NR = 400,
	SLICE_RULES_NR = 8000,
	STEP_NS = 1000000
};

static struct m0_lnet_engine *eng;
/** Peers: on the network of this node, and behind the routers. */
static struct m0_lnet_lpni *near_lpni;
static struct m0_lnet_lpni *far_lpni;
/** Both, and the routers. */
static struct m0_lnet_lpni *lpnis[2 * NIDS_NR + ROUTERS_NR];

static struct m0_lnet_nid nid_of(unsigned net, unsigned i)
{
	char text[M0_LNET_NIDSTR_SIZE];

	(void)snprintf(text, sizeof text, "10.%u.0.%u@tcp%u", net, i, net);
	return pair_nid(text);
}

static struct m0_lnet_lpni *peer_make(unsigned net, struct m0_lnet_lpni **ret)
{
	struct m0_lnet_nid nid[NIDS_NR];
	unsigned           i;

	for (i = 0; i < NIDS_NR; ++i)
		nid[i] = nid_of(net, 50 + i);
	assert_int_equal(
		m0_lnet_engine_peer_add(eng, &nid[0], nid, NIDS_NR, true), 0);
	for (i = 0; i < NIDS_NR; ++i)
		ret[i] = m0_lnet__lpni_find(eng, &nid[i]);
	return ret[0];
}

static int world_open(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	char                      text[M0_LNET_NIDSTR_SIZE];
	struct m0_lnet_nid        nid;
	unsigned                  i;

	(void)state;
	routed_open(1, &cfg);
	eng = one->pno_engine;
	nids(0, "10.0.0.1@tcp 10.0.0.2@tcp 10.0.0.3@tcp");
	for (i = 0; i < ROUTERS_NR; ++i) {
		nid = nid_of(0, 100 + i);
		(void)m0_lnet_nid_print(&nid, text, sizeof text);
		route(0, "tcp1", text);
		lpnis[2 * NIDS_NR + i] = m0_lnet__lpni_find(eng, &nid);
	}
	near_lpni = peer_make(0, &lpnis[0]);
	far_lpni = peer_make(1, &lpnis[NIDS_NR]);
	return 0;
}

static int world_close(void **state)
{
	(void)state;
	pair_close(pair);
	pair = NULL;
	return 0;
}

/* -- comparison ------------------------------------------------------------ */

static struct m0_lnet__path searched(struct m0_lnet__want want)
{
	struct m0_lnet__trials trials = { .tls_max = 0 };

	want.wnt_trials = &trials;
	return m0_lnet__select(eng, &want);
}

static bool is_same(const struct m0_lnet__path *left,
		    const struct m0_lnet__path *right)
{
	return left->pth_ni == right->pth_ni &&
	       left->pth_lpni == right->pth_lpni &&
	       left->pth_route == right->pth_route &&
	       left->pth_dest == right->pth_dest;
}

/** The first selection may be a search, the second makes a memo, the third uses
 * it. */
static struct m0_lnet__path selected(struct m0_lnet__want want)
{
	struct m0_lnet__path search = searched(want);
	struct m0_lnet__path path;
	unsigned             i;

	for (i = 0; i < 3; ++i) {
		path = m0_lnet__select(eng, &want);
		assert_true(is_same(&path, &search));
	}
	return path;
}

static struct m0_lnet__want want_far(void)
{
	return (struct m0_lnet__want){ .wnt_peer = far_lpni->lpn_peer };
}

static struct m0_lnet__want want_near(void)
{
	return (struct m0_lnet__want){ .wnt_peer = near_lpni->lpn_peer };
}

static struct m0_lnet_ni *ni_at(unsigned i)
{
	return container_of(m0_lnet_engine_ni(eng, i), struct m0_lnet_ni,
			    lni_lnd);
}

/** Compares a selection without one gateway, before or after the one with all: a
 * memo is of both. */
static void both_selected(struct m0_lnet__want want, bool without_first)
{
	struct m0_lnet__want without = want;

	without.wnt_not_by = lpnis[2 * NIDS_NR + 1]->lpn_peer;
	if (!without_first)
		(void)selected(want);
	(void)selected(without);
	if (without_first)
		(void)selected(want);
}

/** Compares all kinds of selections. */
static void all_selected(bool without_first)
{
	const struct m0_lnet_nid *nids_of[] = { &near_lpni->lpn_nid,
						&far_lpni->lpn_nid };
	struct m0_lnet__want      want;
	unsigned                  i;

	for (i = 0; i < 2; ++i) {
		want = i == 0 ? want_near() : want_far();
		both_selected(want, without_first);
		want.wnt_ni = ni_at(1);
		(void)selected(want);
		both_selected((struct m0_lnet__want){ .wnt_nid = nids_of[i] },
			      without_first);
	}
}

/** Counts a message, as path.c does. */
static void path_use(const struct m0_lnet__path *path)
{
	struct m0_lnet_lpni *lpni = path->pth_lpni;

	if (path->pth_ni == NULL)
		return;
	path->pth_ni->lni_used_nr = ++eng->le_used_nr;
	lpni->lpn_used_nr = ++lpni->lpn_peer->lpe_used_nr;
	if (path->pth_route == NULL)
		return;
	path->pth_route->lrt_used_nr = ++m0_lnet__routes(eng)->lrs_used_nr;
	lpni = path->pth_dest;
	lpni->lpn_used_nr = ++lpni->lpn_peer->lpe_used_nr;
}

/* -- histories ------------------------------------------------------------- */

static void lost(struct m0_lnet_lpni *lpni)
{
	m0_lnet__up_ops.lu_peer_down(&ni_at(0)->lni_lnd, &lpni->lpn_nid,
				     M0_LNET_PID_LUSTRE, -ECONNRESET);
}

static void health_is(struct m0_lnet_lpni *lpni, unsigned health)
{
	(void)m0_lnet_engine_health_set(eng, M0_LNET_HEALTH_OF_PEERS,
					&lpni->lpn_nid, health);
}

static void status_flip(struct m0_lnet_ni *ni)
{
	ni->lni_lnd.ldn_up = !ni->lni_lnd.ldn_up;
	m0_lnet__up_ops.lu_ni_status(&ni->lni_lnd);
}

static void credits_move(struct m0_lnet_lpni *lpni, struct m0_lnet_ni *ni,
			 uint64_t *seed)
{
	lpni->lpn_credits = (int)lpni->lpn_credits_max - (int)m0_rnd(4, seed);
	if (m0_rnd(2, seed) == 0)
		lpni->lpn_credits = (int)lpni->lpn_credits_max;
	ni->lni_credits = (int)ni->lni_lnd.ldn_credits - (int)m0_rnd(3, seed);
	lpni->lpn_credits_low =
		min_check(lpni->lpn_credits_low, lpni->lpn_credits);
	ni->lni_credits_low = min_check(ni->lni_credits_low, ni->lni_credits);
}

/** Adds a rule of any kind, or deletes one. */
static void rules_change(uint64_t *seed)
{
	static const char *const nis_of[] = { "10.0.0.1@tcp",
					      "10.0.0.[2-3]@tcp" };
	static const char *const dsts[] = { "10.0.0.50@tcp",
					    "10.0.0.[51-52]@tcp",
					    "10.1.0.51@tcp1", "10.0.0.102@tcp",
					    "tcp1" };
	static const char *const rtes[] = { "10.0.0.100@tcp",
					    "10.0.0.[101-103]@tcp" };
	char                     priority[8];
	const char              *dst = dsts[m0_rnd(ARRAY_SIZE(dsts), seed)];

	(void)snprintf(priority, sizeof priority, "%u",
		       (unsigned)m0_rnd(3, seed));
	switch (m0_rnd(5, seed)) {
	case 0:
		(void)rule_try(0, nis_of[m0_rnd(ARRAY_SIZE(nis_of), seed)],
			       NULL, NULL, priority, NULL);
		break;
	case 1:
		(void)rule_try(0, NULL, dst, NULL, priority, NULL);
		break;
	case 2:
		(void)rule_try(0, nis_of[m0_rnd(ARRAY_SIZE(nis_of), seed)], dst,
			       NULL, NULL, NULL);
		break;
	case 3:
		(void)rule_try(0, NULL, dst,
			       rtes[m0_rnd(ARRAY_SIZE(rtes), seed)], NULL,
			       NULL);
		break;
	default:
		(void)m0_lnet_engine_udsp_del(eng,
					      (int32_t)m0_rnd(6, seed) - 1);
		break;
	}
}

static void some_event(uint64_t *seed)
{
	struct m0_lnet_lpni *lpni = lpnis[m0_rnd(ARRAY_SIZE(lpnis), seed)];
	struct m0_lnet_lpni *router =
		lpnis[2 * NIDS_NR + m0_rnd(ROUTERS_NR, seed)];
	struct m0_lnet_ni   *ni = ni_at((unsigned)m0_rnd(NIS_NR, seed));
	struct m0_lnet__path path;

	switch (m0_rnd(25, seed)) {
	case 0:
		lost(lpni);
		break;
	case 1:
		m0_lnet__lpni_received(eng, lpni);
		break;
	case 2:
		health_is(lpni, M0_LNET_HEALTH_MAX - (unsigned)m0_rnd(2, seed));
		break;
	case 3:
		status_flip(ni);
		break;
	case 4:
		m0_lnet__route_loops(eng, m0_lnet_nid_net(&far_lpni->lpn_nid),
				     &router->lpn_nid);
		break;
	case 5:
		m0_lnet__routes_checked(eng, router->lpn_peer,
					m0_rnd(2, seed) == 0 ? 0 : -ETIMEDOUT);
		break;
	case 6:
		m0_lnet_engine_time(
			eng,
			m0_time_add(eng->le_now,
				    m0_rnd(40, seed) * M0_TIME_ONE_SECOND));
		break;
	case 7:
	case 8:
	case 9:
	case 10:
		credits_move(lpni, ni, seed);
		break;
	case 11:
		rules_change(seed);
		break;
	default:
		path = selected(m0_rnd(3, seed) == 0 ? want_near()
						     : want_far());
		path_use(&path);
		break;
	}
}

static void credits_are_all_back(void)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(lpnis); ++i)
		lpnis[i]->lpn_credits = (int)lpnis[i]->lpn_credits_max;
	for (i = 0; i < NIS_NR; ++i)
		ni_at(i)->lni_credits = (int)ni_at(i)->lni_lnd.ldn_credits;
}

static void memo_finds_what_a_search_finds(void **state)
{
	uint64_t seed;
	unsigned i;
	unsigned j;

	for (i = 1; i <= SEEDS_NR; ++i) {
		seed = i;
		(void)world_open(state);
		for (j = 0; j < STEPS_NR; ++j) {
			some_event(&seed);
			all_selected(m0_rnd(2, &seed) == 0);
		}
		credits_are_all_back();
		(void)world_close(state);
	}
}

/* -- changes --------------------------------------------------------------- */

/** The path of the far peer was that by a memo, and is another after the change. */
static void far_differs(const struct m0_lnet__path *before)
{
	struct m0_lnet__path path = m0_lnet__select(
		eng, &(struct m0_lnet__want){ .wnt_peer = far_lpni->lpn_peer });
	struct m0_lnet__path search = searched(want_far());

	assert_true(is_same(&path, &search));
	assert_false(is_same(&path, before));
}

static void memo_ends_with_a_lost_gateway_and_its_return(void **state)
{
	struct m0_lnet__path first = selected(want_far());
	struct m0_lnet__path second;

	(void)state;
	lost(first.pth_lpni);
	far_differs(&first);
	second = selected(want_far());
	eng->le_now += 1;
	m0_lnet__lpni_received(eng, first.pth_lpni);
	far_differs(&second);
}

static void memo_ends_with_a_check(void **state)
{
	struct m0_lnet__path first = selected(want_far());
	struct m0_lnet__path second;

	(void)state;
	m0_lnet__routes_checked(eng, first.pth_lpni->lpn_peer, -ETIMEDOUT);
	far_differs(&first);
	second = selected(want_far());
	m0_lnet__routes_checked(eng, first.pth_lpni->lpn_peer, 0);
	far_differs(&second);
}

static void memo_ends_when_a_silent_gateway_is_heard(void **state)
{
	struct m0_lnet__path first = selected(want_far());
	struct m0_lnet__path second;

	(void)state;
	m0_lnet__routes_checked(eng, first.pth_lpni->lpn_peer, -ETIMEDOUT);
	second = selected(want_far());
	eng->le_now += 1;
	m0_lnet__lpni_received(eng, first.pth_lpni);
	far_differs(&second);
}

static void memo_ends_with_a_loop_and_its_time(void **state)
{
	struct m0_lnet__path first = selected(want_far());
	struct m0_lnet__path second;

	(void)state;
	m0_lnet__route_loops(eng, m0_lnet_nid_net(&far_lpni->lpn_nid),
			     &first.pth_lpni->lpn_nid);
	far_differs(&first);
	second = selected(want_far());
	m0_lnet_engine_time(eng, first.pth_route->lrt_loop_until);
	far_differs(&second);
}

/* A check of the gateway, before the time of the loop. */
static void memo_ends_with_a_loop_and_a_check(void **state)
{
	struct m0_lnet__path    first = selected(want_far());
	struct m0_lnet_gateway *gw = first.pth_route->lrt_gateway;
	struct m0_lnet__path    second;

	(void)state;
	m0_lnet__route_loops(eng, m0_lnet_nid_net(&far_lpni->lpn_nid),
			     &first.pth_lpni->lpn_nid);
	second = selected(want_far());
	assert_false(is_same(&first, &second));
	eng->le_cfg.lec_route.lrc_check_ns = STEP_NS;
	m0_lnet__gateway_lost(eng, gw);
	(void)m0_lnet_engine_step(eng, gw->gw_check_at + 4 * STEP_NS);
	assert_int_equal(first.pth_route->lrt_loop_until, 0);
	far_differs(&second);
}

static void memo_ends_with_the_time_of_a_lost_nid(void **state)
{
	struct m0_lnet__path first = selected(want_near());
	struct m0_lnet__path second;
	struct m0_lnet__path third;

	(void)state;
	lost(first.pth_lpni);
	second = selected(want_near());
	assert_ptr_not_equal(second.pth_lpni, first.pth_lpni);
	m0_lnet_engine_time(eng, m0_lnet__lpni_lost_until(first.pth_lpni));
	third = m0_lnet__select(eng, &(struct m0_lnet__want){
					     .wnt_peer = near_lpni->lpn_peer });
	assert_ptr_equal(third.pth_lpni, first.pth_lpni);
}

static void memo_ends_with_what_a_gateway_reports(void **state)
{
	struct m0_lnet__path     first = selected(want_far());
	struct m0_lnet_ping_ni   ni = { .lpg_nid = first.pth_lpni->lpn_nid,
					.lpg_up = true };
	struct m0_lnet_ping_info info = { .lpi_features =
						  M0_LNET_FEAT_RTE_DISABLED,
					  .lpi_nis = &ni,
					  .lpi_nis_nr = 1,
					  .lpi_nis_max = 1 };

	(void)state;
	m0_lnet__routes_checked(eng, first.pth_lpni->lpn_peer, 0);
	first = selected(want_far());
	assert_int_equal(m0_lnet__peer_learn(eng, first.pth_lpni, &info), 0);
	far_differs(&first);
}

static void memo_ends_with_health_and_interfaces(void **state)
{
	struct m0_lnet__path first = selected(want_far());

	(void)state;
	health_is(first.pth_lpni, 1);
	far_differs(&first);
	first = selected(want_far());
	status_flip(first.pth_ni);
	far_differs(&first);
	first = selected(want_far());
	assert_int_equal(m0_lnet_engine_route_del(eng, M0_LNET_NET_ANY,
						  &first.pth_lpni->lpn_nid),
			 1);
	far_differs(&first);
}

/** As far_differs(), for the peer on the network of this node. */
static void near_differs(const struct m0_lnet__path *before)
{
	struct m0_lnet__path path = m0_lnet__select(
		eng,
		&(struct m0_lnet__want){ .wnt_peer = near_lpni->lpn_peer });
	struct m0_lnet__path search = searched(want_near());

	assert_true(is_same(&path, &search));
	assert_false(is_same(&path, before));
}

static void memo_ends_with_the_loss_of_all_nids_of_a_gateway(void **state)
{
	struct m0_lnet__path first;
	unsigned             i;

	(void)state;
	for (i = 0; i < ROUTERS_NR; ++i)
		lpnis[2 * NIDS_NR + i]->lpn_lost_at = eng->le_now;
	m0_lnet__paths_changed(eng);
	first = selected(want_far());
	m0_lnet__routes_lost(eng, first.pth_lpni, -ECONNRESET);
	far_differs(&first);
}

static void memo_ends_when_a_gateway_is_checked(void **state)
{
	static const struct m0_lnet_ping_info info;
	struct m0_lnet__path                  first;

	(void)state;
	eng->le_cfg.lec_route.lrc_check_first = true;
	first = selected(want_far());
	assert_null(first.pth_ni);
	m0_lnet__routes_learn(eng, lpnis[2 * NIDS_NR]->lpn_peer, &info);
	far_differs(&first);
}

static void memo_ends_with_interfaces_that_come_and_go(void **state)
{
	struct m0_lnet__path first;
	struct m0_lnet__path path;
	struct m0_lnd_ni    *ni;

	(void)state;
	first = selected(want_near());
	path_use(&first);
	first = selected(want_near());
	/* A new one has not been used yet. */
	ni = pair_ni(one, "10.0.0.9@tcp");
	path = selected(want_near());
	path_use(&path);
	path = selected(want_near());
	path_use(&path);
	path = selected(want_near());
	assert_ptr_equal(&path.pth_ni->lni_lnd, ni);
	m0_lnet_engine_ni_del(eng, ni);
	near_differs(&path);
}

/* An interface is there before it is up. */
static void memo_ends_with_an_interface_that_starts(void **state)
{
	struct m0_lnet__path path;
	struct m0_lnd_ni    *ni = pair_ni(one, "10.0.0.9@tcp");
	unsigned             i;

	(void)state;
	container_of(ni, struct m0_lnet_ni, lni_lnd)->lni_is_up = false;
	m0_lnet__paths_changed(eng);
	for (i = 0; i < NIS_NR * NIDS_NR; ++i) {
		path = selected(want_near());
		path_use(&path);
	}
	path = selected(want_near());
	m0_lnet_engine_ni_up(eng, ni);
	near_differs(&path);
}

static void memo_ends_with_nids_that_come_and_go(void **state)
{
	struct m0_lnet_nid   nid[2] = { nid_of(0, 50), nid_of(0, 99) };
	struct m0_lnet__path path = selected(want_near());
	unsigned             i;

	(void)state;
	for (i = 0; i < NIDS_NR; ++i) {
		path_use(&path);
		path = selected(want_near());
	}
	assert_int_equal(
		m0_lnet_engine_peer_add(eng, &nid[0], &nid[1], 1, true), 0);
	near_differs(&path);
	path = selected(want_near());
	assert_true(m0_lnet_nid_eq(&path.pth_lpni->lpn_nid, &nid[1]));
	assert_int_equal(m0_lnet_engine_peer_del(eng, &nid[0], &nid[1], 1), 0);
	near_differs(&path);
}

static void memo_ends_with_a_new_route(void **state)
{
	struct m0_lnet__path path = selected(want_far());
	unsigned             i;

	(void)state;
	for (i = 0; i < ROUTERS_NR; ++i) {
		path_use(&path);
		path = selected(want_far());
	}
	route(0, "tcp1", "10.0.0.150@tcp");
	far_differs(&path);
}

/* -- rules ----------------------------------------------------------------- */

static void memo_ends_with_rules(void **state)
{
	static const struct {
		const char *src;
		const char *dst;
		const char *rte;
		const char *priority;
	} rules[] = {
		{ "10.0.0.2@tcp", NULL, NULL, "1" },
		{ NULL, "10.0.0.51@tcp", NULL, "1" },
		{ NULL, "10.0.0.102@tcp", NULL, "1" },
		{ NULL, "10.1.0.51@tcp1", NULL, "1" },
		{ "10.0.0.2@tcp", "10.0.0.50@tcp", NULL, NULL },
		{ "10.0.0.2@tcp", "10.0.0.100@tcp", NULL, NULL },
		{ NULL, "10.1.0.50@tcp1", "10.0.0.102@tcp", NULL },
	};
	struct m0_lnet__path near = selected(want_near());
	struct m0_lnet__path far = selected(want_far());
	struct m0_lnet__path with_near;
	struct m0_lnet__path with_far;
	unsigned             i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rules); ++i) {
		assert_int_equal(rule_try(0, rules[i].src, rules[i].dst,
					  rules[i].rte, rules[i].priority,
					  NULL),
				 0);
		with_near = selected(want_near());
		with_far = selected(want_far());
		assert_false(is_same(&with_near, &near) &&
			     is_same(&with_far, &far));
		assert_int_equal(m0_lnet_engine_udsp_del(eng, 0), 1);
		all_selected(false);
		with_near = selected(want_near());
		with_far = selected(want_far());
		assert_true(is_same(&with_near, &near) &&
			    is_same(&with_far, &far));
	}
}

/** NIDs of one network share the memo of the way to it, unless they prefer
 * gateways. */
static void way_is_of_the_nids_that_prefer_the_same(void **state)
{
	struct m0_lnet__want to[NIDS_NR];
	struct m0_lnet__path path[NIDS_NR];
	unsigned             i;
	unsigned             j;

	(void)state;
	rule(NULL, "10.1.0.51@tcp1", "10.0.0.101@tcp", NULL, NULL);
	rule(NULL, "10.1.0.52@tcp1", "10.0.0.102@tcp", NULL, NULL);
	for (j = 0; j < 3; ++j)
		for (i = 0; i < NIDS_NR; ++i) {
			to[i] = (struct m0_lnet__want){
				.wnt_nid = &lpnis[NIDS_NR + i]->lpn_nid
			};
			path[i] = selected(to[i]);
		}
	assert_ptr_equal(path[0].pth_lpni, lpnis[2 * NIDS_NR]);
	assert_ptr_equal(path[1].pth_lpni, lpnis[2 * NIDS_NR + 1]);
	assert_ptr_equal(path[2].pth_lpni, lpnis[2 * NIDS_NR + 2]);
}

/** A message that may not take one gateway leaves it to those that may. */
static void memo_has_the_gateway_that_one_message_avoids(void **state)
{
	struct m0_lnet__want want = { .wnt_nid = &far_lpni->lpn_nid };
	struct m0_lnet__path path;

	(void)state;
	want.wnt_not_by = lpnis[2 * NIDS_NR]->lpn_peer;
	path = selected(want);
	assert_ptr_equal(path.pth_lpni, lpnis[2 * NIDS_NR + 1]);
	want.wnt_not_by = NULL;
	path = selected(want);
	assert_ptr_equal(path.pth_lpni, lpnis[2 * NIDS_NR]);
}

/** So many rules that they are applied to a few peer NIs at a time. */
static void memo_ends_with_each_slice_of_rules(void **state)
{
	struct m0_lnet__path path;
	char                 text[M0_LNET_NIDSTR_SIZE];
	unsigned             i;

	(void)state;
	/* The first decides for all NIDs, until it goes. */
	rule(NULL, "*@tcp1", NULL, "2", NULL);
	rule(NULL, "10.1.0.52@tcp1", NULL, "1", NULL);
	for (i = 0; i < SLICE_RULES_NR; ++i) {
		/* Each has to be looked at for 10.1.0.50 and 51. */
		(void)snprintf(text, sizeof text,
			       "10.[0,2].[0,%u].[%u,255]@tcp1", 1 + i / 50,
			       i % 50);
		assert_int_equal(rule_try(0, NULL, text, NULL, "1", NULL), 0);
	}
	(void)selected(want_far());
	assert_int_equal(m0_lnet_engine_udsp_del(eng, 0), 1);
	assert_false(m0_lnet_engine_udsp_is_settled(eng));
	path = selected(want_far());
	for (i = 0; i < 100 && !m0_lnet_engine_udsp_is_settled(eng); ++i)
		(void)m0_lnet_engine_step(eng, eng->le_now + STEP_NS);
	assert_true(m0_lnet_engine_udsp_is_settled(eng));
	far_differs(&path);
}

/** Turns and credits are no changes of the topology, and count at once. */
static void memo_follows_turns_and_credits(void **state)
{
	uint64_t             generation;
	struct m0_lnet__path first = selected(want_far());

	(void)state;
	generation = eng->le_generation;
	path_use(&first);
	far_differs(&first);
	first = selected(want_far());
	--first.pth_lpni->lpn_credits;
	far_differs(&first);
	++first.pth_lpni->lpn_credits;
	assert_true(generation == eng->le_generation);
	all_selected(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memo_finds_what_a_search_finds),
#define MEMO(test) \
	cmocka_unit_test_setup_teardown(test, world_open, world_close)
		MEMO(memo_ends_with_a_lost_gateway_and_its_return),
		MEMO(memo_ends_with_a_check),
		MEMO(memo_ends_when_a_silent_gateway_is_heard),
		MEMO(memo_ends_with_a_loop_and_its_time),
		MEMO(memo_ends_with_a_loop_and_a_check),
		MEMO(memo_ends_with_the_time_of_a_lost_nid),
		MEMO(memo_ends_with_what_a_gateway_reports),
		MEMO(memo_ends_with_health_and_interfaces),
		MEMO(memo_ends_with_the_loss_of_all_nids_of_a_gateway),
		MEMO(memo_ends_when_a_gateway_is_checked),
		MEMO(memo_ends_with_interfaces_that_come_and_go),
		MEMO(memo_ends_with_an_interface_that_starts),
		MEMO(memo_ends_with_nids_that_come_and_go),
		MEMO(memo_ends_with_a_new_route),
		MEMO(memo_ends_with_rules),
		MEMO(way_is_of_the_nids_that_prefer_the_same),
		MEMO(memo_has_the_gateway_that_one_message_avoids),
		MEMO(memo_ends_with_each_slice_of_rules),
		MEMO(memo_follows_turns_and_credits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
