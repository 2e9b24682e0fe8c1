/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A thousand nodes on two networks, and 16 routers between them that die and come back
 * at random. Each message ends exactly once, traffic resumes within a bound after the
 * last death, and in the end every credit and every router buffer is back.
 * LNET_CROWD_SEED runs another seed.
 *
 * The bound: a node begins a check of each gateway at the latest CHECK_MS after the
 * last one, so after the death, and takes the route down when the gateway has not
 * answered that for PING_MS. It may learn that earlier, from its driver. No message that
 * is sent later may fail, and none that was sent so long before the death that it must
 * have arrived (FLIGHT_MS). TICKS_MS is for timers, which are up to a tick late.
 */
#include "unit/base/panics.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/rand.h"
#include "lib/lnet_crowd.h"
#include "lib/slow.h"
#include "lnet/lnet_internal.h"
#include "lnet/route/route.h"
#include "lnet/route/router.h"

enum {
	ENDS_NR = IS_SLOW ? 200 : 1000,
	ROUTERS_NR = IS_SLOW ? 8 : 16,
	ROUNDS = IS_SLOW ? 3 : 5,
	NODES_NR = ENDS_NR + ROUTERS_NR,
	/** Third number of the address of a router. */
	ROUTER_HOST = 200,
	/** Nodes in one block of addresses. */
	BLOCK_NR = 250,

	CHECK_MS = 10000,
	PING_MS = 5000,
	TICKS_MS = 5,
	BOUND_MS = CHECK_MS + PING_MS + TICKS_MS,
	FLIGHT_MS = 1000,
	TRANSACTION_MS = 20000,

	/** Parts of a round: routers die and come back; nothing changes, and
	 * nodes notice; nothing may fail. */
	STORM_MS = 6000,
	QUIET_MS = 4000,
	/** Each STEP_MS, every node sends one time in STEP_CHANCE. */
	STEP_MS = 10,
	STEP_CHANCE = 100,

	PORTAL = 5,
	BITS = 0x1234,
	SMALL_BYTES = 64,
	LARGE_BYTES = 5000,
	RECORDS_MAX = 400000,
	DEATHS_MAX = 10000
};

/** A message, from its PUT to its last event. */
struct record {
	m0_time_t rec_at;
	int       rec_status;
	uint8_t   rec_sends_nr;
	uint8_t   rec_acks_nr;
	uint8_t   rec_came_nr;
};

static struct crowd             *crowd;
static struct m0_lnet_engine_cfg cfg;
static struct m0_rand            dice;
static struct record            *records;
static unsigned                  records_nr;
static m0_time_t                 deaths[DEATHS_MAX];
static unsigned                  deaths_nr;
static uint8_t                   bytes_out[LARGE_BYTES];
static uint8_t                   bytes_in[LARGE_BYTES];

/* -- nodes ----------------------------------------------------------------- */

static struct m0_lnet_nid nid_make(unsigned net, unsigned block, unsigned host)
{
	const uint8_t      addr[] = { 10, (uint8_t)net, (uint8_t)block,
				      (uint8_t)host };
	struct m0_lnet_nid nid;

	m0_lnet_nid_from_ip(&nid, m0_lnet_net(M0_LNET_TYPE_TCP, (uint16_t)net),
			    addr, sizeof addr);
	return nid;
}

/** End nodes come first; even ones are on tcp, odd ones on tcp1. */
static struct m0_lnet_nid end_nid(unsigned i)
{
	return nid_make(i % 2, i / BLOCK_NR, 1 + i % BLOCK_NR);
}

static struct crowd_node *router(unsigned i)
{
	return &crowd->crw_node[ENDS_NR + i];
}

static struct crowd_node *node_find(struct crowd             *c,
				    const struct m0_lnet_nid *nid)
{
	const uint8_t *addr = nid->ln_addr;

	if (addr[2] == ROUTER_HOST)
		return &c->crw_node[ENDS_NR + addr[3] - 1];
	return &c->crw_node[addr[2] * (unsigned)BLOCK_NR + addr[3] - 1];
}

static void router_up(unsigned i)
{
	struct crowd_node *node = router(i);
	int                rc;

	if (node->cno_nids_nr == 0) {
		node->cno_nids[0] = nid_make(0, ROUTER_HOST, 1 + i);
		node->cno_nids[1] = nid_make(1, ROUTER_HOST, 1 + i);
		node->cno_nids_nr = 2;
	}
	crowd_node_restart(node, &cfg);
	rc = m0_lnet_engine_routing_set(node->cno_engine, true);
	assert_int_equal(rc, 0);
}

static void end_up(unsigned i)
{
	struct crowd_node        *node = &crowd->crw_node[i];
	struct m0_lnet_route_attr attr = {
		.lra_net = m0_lnet_net(M0_LNET_TYPE_TCP, (uint16_t)(1 - i % 2))
	};
	unsigned k;

	node->cno_nids[0] = end_nid(i);
	node->cno_nids_nr = 1;
	crowd_node_open(node, &cfg);
	crowd_sink(node, PORTAL, BITS, bytes_in, sizeof bytes_in);
	for (k = 0; k < ROUTERS_NR; ++k) {
		attr.lra_gateway = nid_make(i % 2, ROUTER_HOST, 1 + k);
		assert_int_equal(
			m0_lnet_engine_route_add(node->cno_engine, &attr), 0);
	}
}

static void cfg_make(void)
{
	cfg = (struct m0_lnet_engine_cfg){
		.lec_pid = M0_LNET_PID_LUSTRE,
		.lec_portals_nr = 8,
		.lec_peers_max = 2 * NODES_NR,
		.lec_msgs_max = 8192,
		.lec_peer_credits = 8,
		.lec_credits = 256,
		.lec_transaction_timeout_ns = TRANSACTION_MS * M0_TIME_ONE_MSEC,
		.lec_route = {
			.lrc_check_ns = CHECK_MS * M0_TIME_ONE_MSEC,
			.lrc_ping_ns = PING_MS * M0_TIME_ONE_MSEC,
			.lrc_avoid_asym = true,
			.lrc_forward_ns = CROWD_LND_MS * M0_TIME_ONE_MSEC,
			/* Few, so that messages wait for them. */
			.lrc_buffers = { 16, 16, 4 },
			.lrc_bytes = 256 << 20,
		},
		.lec_health = {
			.lhe_sensitivity = 100,
			.lhe_retries = 2,
			.lhe_ping_max_ns = 900 * M0_TIME_ONE_SECOND,
		},
	};
}

/* -- messages -------------------------------------------------------------- */

static void event(struct crowd_node *node, const struct m0_lnet_event *ev)
{
	struct record *rec = ev->ev_op_user;
	bool           is_last = false;

	switch (ev->ev_type) {
	case M0_LNET_EV_PUT:
		if (ev->ev_status == 0)
			++records[ev->ev_hdr_data].rec_came_nr;
		return;
	case M0_LNET_EV_SEND:
		++rec->rec_sends_nr;
		rec->rec_status = ev->ev_status;
		is_last = ev->ev_status != 0;
		break;
	case M0_LNET_EV_ACK:
		assert_int_equal(rec->rec_status, 0);
		++rec->rec_acks_nr;
		rec->rec_status = ev->ev_status;
		is_last = true;
		break;
	default:
		return;
	}
	if (is_last && !ev->ev_unlinked)
		crowd_unlink(node, ev);
}

static void send(unsigned from)
{
	unsigned to = (unsigned)m0_rand_below(&dice, ENDS_NR / 2) * 2 + 1 -
		      from % 2;
	struct m0_lnet_nid nid = end_nid(to);
	struct record     *rec = &records[records_nr];

	assert_true(records_nr < RECORDS_MAX);
	rec->rec_at = crowd->crw_now;
	crowd_put(&crowd->crw_node[from], &nid, PORTAL, BITS, bytes_out,
		  m0_rand_below(&dice, 16) == 0 ? LARGE_BYTES : SMALL_BYTES,
		  records_nr++, rec);
}

static void sends(void)
{
	unsigned i;

	for (i = 0; i < ENDS_NR; ++i)
		if (m0_rand_below(&dice, STEP_CHANCE) == 0)
			send(i);
}

/* -- routers --------------------------------------------------------------- */

static unsigned routers_up_nr(void)
{
	unsigned nr = 0;
	unsigned i;

	for (i = 0; i < ROUTERS_NR; ++i)
		nr += router(i)->cno_life == CROWD_UP;
	return nr;
}

/** One router dies, unless it is the last, or comes back. */
static void router_change(void)
{
	unsigned i = (unsigned)m0_rand_below(&dice, ROUTERS_NR);

	if (router(i)->cno_life != CROWD_UP) {
		router_up(i);
	} else if (routers_up_nr() > 1) {
		assert_true(deaths_nr < DEATHS_MAX);
		deaths[deaths_nr++] = crowd->crw_now;
		crowd_node_die(router(i), m0_rand_below(&dice, 2) == 0
						  ? CROWD_SILENT
						  : CROWD_RESET);
	}
}

static void traffic(unsigned ms, bool storm)
{
	unsigned at;

	for (at = 0; at < ms; at += STEP_MS) {
		sends();
		if (storm && m0_rand_below(&dice, 10) == 0)
			router_change();
		crowd_run(crowd, STEP_MS);
	}
}

/* -- the end --------------------------------------------------------------- */

/** Returns true if a death explains that this message failed. */
static bool may_fail(const struct record *rec)
{
	m0_time_t before = rec->rec_at + FLIGHT_MS * M0_TIME_ONE_MSEC;
	unsigned  i = deaths_nr;

	while (i > 0 && deaths[i - 1] > before)
		--i;
	return i > 0 &&
	       rec->rec_at <= deaths[i - 1] + BOUND_MS * M0_TIME_ONE_MSEC;
}

/** Time from the last death before a message was sent. */
static uint64_t after_death_ms(const struct record *rec)
{
	unsigned i = deaths_nr;

	while (i > 0 && deaths[i - 1] > rec->rec_at)
		--i;
	return i == 0 ? 0 : (rec->rec_at - deaths[i - 1]) / M0_TIME_ONE_MSEC;
}

static void records_check(void)
{
	const struct record *rec;
	uint64_t             worst_ms = 0;
	unsigned             failed = 0;
	unsigned             safe = 0;
	unsigned             i;

	for (i = 0; i < records_nr; ++i) {
		rec = &records[i];
		assert_int_equal(rec->rec_sends_nr, 1);
		assert_true(rec->rec_acks_nr <= 1);
		assert_true(rec->rec_status == 0 ? rec->rec_acks_nr == 1
						 : rec->rec_status < 0);
		if (rec->rec_status == 0)
			assert_true(rec->rec_came_nr >= 1);
		failed += rec->rec_status != 0;
		if (rec->rec_status != 0)
			worst_ms = max64u(worst_ms, after_death_ms(rec));
		safe += !may_fail(rec);
		if (rec->rec_status != 0 && !may_fail(rec))
			fail_msg("message %u of %" PRIu64
				 " ms failed: %d, and no router died",
				 i, rec->rec_at / M0_TIME_ONE_MSEC,
				 rec->rec_status);
	}
	print_message("%u messages, %u failed, the last %" PRIu64
		      " ms after a death; %u could not; %u deaths; %" PRIu64
		      " hops\n",
		      records_nr, failed, worst_ms, safe, deaths_nr,
		      crowd->crw_moved_nr);
	/* The storm was one, and so was the quiet after it. */
	assert_true(failed > 0 && failed < records_nr / 2);
	assert_true(safe > records_nr / 20);
}

static void lpni_is_at_rest(const struct m0_lnet_engine *eng,
			    const struct m0_lnet_lpni   *lpni)
{
	unsigned i;

	assert_int_equal(lpni->lpn_credits,
			 min_check(eng->le_cfg.lec_peer_credits,
				   eng->le_cfg.lec_credits));
	assert_int_equal(lpni->lpn_queued_bytes, 0);
	assert_int_equal(lpni->lpn_fwds_nr, 0);
	for (i = 0; i < M0_LNET_POOLS_NR; ++i)
		assert_int_equal(lpni->lpn_fwds_to[i], 0);
}

static void node_is_at_rest(const struct crowd_node *node)
{
	const struct m0_lnet_engine *eng = node->cno_engine;
	struct m0_lnet_routing_info  info;
	const struct m0_lnet_ni     *ni;
	const struct m0_hash_link   *at;
	unsigned                     i;

	assert_int_equal(node->cno_msgs_nr, 0);
	/* The entry for PUTs. */
	assert_true(node->cno_mds_nr <= 1);
	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link) {
		assert_int_equal(ni->lni_credits, ni->lni_lnd.ldn_credits);
		assert_int_equal(ni->lni_msgs_nr, 0);
	}
	for (at = m0_hash_first(&eng->le_lpnis); at != NULL;
	     at = m0_hash_next(at))
		lpni_is_at_rest(eng, container_of(at, struct m0_lnet_lpni,
						  lpn_hash));
	m0_lnet_engine_routing_get(eng, &info);
	for (i = 0; i < M0_LNET_POOLS_NR; ++i)
		assert_int_equal(info.lgi_pools[i].lbi_used_nr, 0);
}

/** All routes are up again; then, without checks, nothing moves. */
static void rest(void)
{
	struct m0_lnet_route_info infos[ROUTERS_NR];
	unsigned                  nr;
	unsigned                  i;
	unsigned                  k;

	for (i = 0; i < ROUTERS_NR; ++i)
		if (router(i)->cno_life != CROWD_UP)
			router_up(i);
	crowd_run(crowd, TRANSACTION_MS + BOUND_MS);
	for (i = 0; i < ENDS_NR; ++i) {
		nr = m0_lnet_engine_route_get(crowd->crw_node[i].cno_engine,
					      &(uint64_t){ 0 }, infos,
					      ROUTERS_NR);
		assert_int_equal(nr, ROUTERS_NR);
		for (k = 0; k < nr; ++k)
			assert_int_equal(infos[k].lri_why, M0_LNET_ROUTE_UP);
	}
	for (i = 0; i < NODES_NR; ++i)
		crowd->crw_node[i].cno_engine->le_cfg.lec_route.lrc_check_ns =
			0;
	crowd_run(crowd, 2 * CHECK_MS + TRANSACTION_MS);
	for (i = 0; i < NODES_NR; ++i)
		node_is_at_rest(&crowd->crw_node[i]);
}

static void routers_die_at_random(void **state)
{
	const char *text = getenv("LNET_CROWD_SEED");
	uint64_t    seed = text == NULL ? 1 : strtoull(text, NULL, 0);
	unsigned    i;

	(void)state;
	m0_log_level_set(M0_LOG_ERROR);
	m0_rand_init(&dice, seed);
	records = calloc(RECORDS_MAX, sizeof records[0]);
	assert_non_null(records);
	cfg_make();
	crowd = crowd_open(NODES_NR);
	crowd->crw_find = node_find;
	crowd->crw_event = event;
	for (i = 0; i < ROUTERS_NR; ++i)
		router_up(i);
	for (i = 0; i < ENDS_NR; ++i)
		end_up(i);
	crowd_run(crowd, BOUND_MS);
	traffic(QUIET_MS, false);
	for (i = 0; i < ROUNDS; ++i) {
		traffic(STORM_MS, true);
		traffic(BOUND_MS, false);
		traffic(QUIET_MS, false);
	}
	rest();
	records_check();
	crowd_close(crowd);
	free(records);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routers_die_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
