/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Fixture of the tests of paths and peers: nodes of lnet_pair, which each test
 * opens as it needs them and which are closed after it, and functions that look
 * into their engines.
 */
#ifndef M0_TESTS_UNIT_LNET_WAY_H
#define M0_TESTS_UNIT_LNET_WAY_H

#include "unit/base/panics.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/lnet_pair.h"
#include "lnet/lnet_internal.h"

enum {
	PORTAL = 5,
	BITS = 0x77,
	/** Transaction time-out of pair_cfg(). */
	TTO_MS = 150000
};

static struct pair      *pair;
static struct pair_node *one;
static struct pair_node *two;
static uint8_t           bytes[4096];

/** `nr` nodes, the i-th with 10.0.0.<i+1>@tcp. */
static inline void way_open(unsigned nr, const struct m0_lnet_engine_cfg *cfg)
{
	char     nid[M0_LNET_NIDSTR_SIZE];
	unsigned i;

	pair = pair_open(nr, cfg);
	one = &pair->pai_node[0];
	two = &pair->pai_node[1];
	for (i = 0; i < nr; ++i) {
		(void)snprintf(nid, sizeof nid, "10.0.0.%u@tcp", i + 1);
		(void)pair_ni(&pair->pai_node[i], nid);
	}
}

static inline int way_close(void **state)
{
	(void)state;
	if (pair != NULL)
		pair_close(pair);
	pair = NULL;
	return 0;
}

#define WAY(name) cmocka_unit_test_teardown(name, way_close)

static inline struct m0_lnet_engine_cfg cfg_plain(void)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	cfg.lec_discovery = false;
	return cfg;
}

static inline struct m0_lnet_lpni *lpni_of(const struct pair_node *node,
					   const char             *text)
{
	struct m0_lnet_nid nid = pair_nid(text);

	return m0_lnet__lpni_find(node->pno_engine, &nid);
}

static inline struct m0_lnet_peer *peer_of(const struct pair_node *node,
					   const char             *text)
{
	struct m0_lnet_lpni *lpni = lpni_of(node, text);

	return lpni == NULL ? NULL : lpni->lpn_peer;
}

static inline unsigned nids_nr(const struct m0_lnet_peer *peer)
{
	return (unsigned)m0_list_length(&peer->lpe_lpnis);
}

static inline void assert_nid(const struct m0_lnet_nid *nid, const char *text)
{
	char buf[M0_LNET_NIDSTR_SIZE];

	assert_string_equal(m0_lnet_nid_print(nid, buf, sizeof buf), text);
}

/** An ME and MD that take what comes, without an end. */
static inline void sink_post(struct pair_node *node)
{
	(void)pair_md_attach(node, pair_me(node, PORTAL, BITS, 0, 0), bytes,
			     sizeof bytes, M0_LNET_MD_THRESHOLD_INF,
			     M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET |
				     M0_LNET_MD_TRUNCATE |
				     M0_LNET_MD_MANAGE_REMOTE,
			     false);
}

/** A PUT without ACK. */
static inline void put_to(struct pair_node *node, const char *nid,
			  m0_bcount_t nr)
{
	pair_put(node, pair_md_bind(node, bytes, nr, 1, 0), nid, PORTAL, BITS,
		 false);
}

/** Status of the i-th SEND of `node`; 1: it has not come. */
static inline int send_status(const struct pair_node *node, unsigned i)
{
	const struct m0_lnet_event *ev = pair_event(node, M0_LNET_EV_SEND, i);

	return ev == NULL ? 1 : ev->ev_status;
}

static inline unsigned events_nr(const struct pair_node *node,
				 enum m0_lnet_event_type type)
{
	unsigned nr = 0;

	while (pair_event(node, type, nr) != NULL)
		++nr;
	return nr;
}

/** Everything that leaves gets lost. */
static inline enum pair_act all_lost(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	(void)frame;
	return PAIR_DROP;
}

/** Arrives, but the driver does not say so. */
static inline enum pair_act all_slow(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	(void)frame;
	return PAIR_SLOW;
}

static inline enum pair_act all_held(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	(void)frame;
	return PAIR_HOLD;
}

/** A PUT of 8 bytes with a source. */
static inline void put_from(struct pair_node *node, const char *self,
			    const char *nid)
{
	struct m0_lnet_op op = {
		.lo_self = pair_nid(self),
		.lo_target = { .lp_nid = pair_nid(nid),
			       .lp_pid = M0_LNET_PID_LUSTRE },
		.lo_portal = PORTAL,
		.lo_match_bits = BITS,
	};

	pair_op(node, pair_md_bind(node, bytes, 8, 1, 0), &op, false);
}

#endif /* M0_TESTS_UNIT_LNET_WAY_H */
