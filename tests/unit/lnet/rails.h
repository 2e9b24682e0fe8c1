/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Fixture of the tests of health and of sending again. Node 0 is a client with two
 * NIs, node 1 a server with two; both know each other by discovery.
 */
#ifndef M0_TESTS_UNIT_LNET_RAILS_H
#define M0_TESTS_UNIT_LNET_RAILS_H

#include "unit/lnet/routed.h"
#include "lnet/health/health.h"

#define CLIENT1 "10.0.0.1@tcp"
#define CLIENT2 "10.1.0.1@tcp1"
#define SERVER1 "10.0.0.2@tcp"
#define SERVER2 "10.1.0.2@tcp1"

/** The next `failures_left` messages that are no pings fail with this class; with
 * failures_of, only those to this NID. */
static unsigned           failures_left;
static enum m0_lnd_health failure;
static const char        *failures_of;
/** Node whose messages fail, and the portal. */
static unsigned failures_node;
static uint32_t failures_portal;
/** Hop and handle of the last message that failed, or was held. */
static struct m0_lnet_nid last_hop;
static struct m0_lnet_wmd last_wmd;

static inline enum pair_act failing(struct pair *p, struct pair_frame *frame)
{
	struct m0_lnet_nid nid;

	(void)p;
	if (frame->pfr_node != failures_node || failures_left == 0 ||
	    (frame->pfr_hdr.lhd_portal != failures_portal &&
	     frame->pfr_hdr.lhd_type != M0_LNET_REPLY))
		return PAIR_PASS;
	if (failures_of != NULL) {
		nid = pair_nid(failures_of);
		if (!m0_lnet_nid_eq(&nid, &frame->pfr_hop))
			return PAIR_PASS;
	}
	--failures_left;
	last_hop = frame->pfr_hop;
	frame->pfr_status = -EIO;
	frame->pfr_health = failure;
	return PAIR_FAIL;
}

/** Holds what is no ping. */
static inline enum pair_act holding(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	if (frame->pfr_hdr.lhd_portal != PORTAL &&
	    frame->pfr_hdr.lhd_type != M0_LNET_REPLY)
		return PAIR_PASS;
	last_wmd = frame->pfr_hdr.lhd_wmd;
	return PAIR_HOLD;
}

static inline void failures_reset(void)
{
	failures_left = 0;
	failures_of = NULL;
	failures_node = 0;
	failures_portal = PORTAL;
}

static inline void rails_open(const struct m0_lnet_engine_cfg *cfg,
			      const char *client, const char *server)
{
	struct m0_lnet_probe probe = { .pr_kind = M0_LNET_DISCOVER,
				       .pr_nid = pair_nid(SERVER1),
				       .pr_self = m0_lnet_nid_any,
				       .pr_timeout_ms = 1000 };

	failures_reset();
	routed_open(2, cfg);
	nids(0, client);
	nids(1, server);
	m0_list_link_init(&probe.pr_link);
	m0_lnet_engine_probe(one->pno_engine, &probe);
	pair_settle(pair);
	assert_int_equal(probe.pr_status, 0);
	pair->pai_hook = failing;
}

static inline void open_two(const struct m0_lnet_engine_cfg *cfg)
{
	rails_open(cfg, CLIENT1 " " CLIENT2, SERVER1 " " SERVER2);
	/* The recovery leaves NIDs alone that were never heard. */
	put_from(two, SERVER2, CLIENT2);
	pair_settle(pair);
}

static inline unsigned ni_health(const char *nid)
{
	const struct m0_lnet_nid want = pair_nid(nid);

	return m0_lnet__ni_find(one->pno_engine, &want)->lni_health;
}

static inline unsigned nid_health(const char *nid)
{
	return lpni_of(one, nid)->lpn_health;
}

/** Health lost on this side, by both NIs, and by both NIDs of the server. */
static inline unsigned lost_here(void)
{
	return 2 * M0_LNET_HEALTH_MAX - ni_health(CLIENT1) - ni_health(CLIENT2);
}

static inline unsigned lost_there(void)
{
	return 2 * M0_LNET_HEALTH_MAX - nid_health(SERVER1) -
	       nid_health(SERVER2);
}

static inline void fail_next(unsigned nr, enum m0_lnd_health health)
{
	failures_left = nr;
	failure = health;
}

#endif /* M0_TESTS_UNIT_LNET_RAILS_H */
