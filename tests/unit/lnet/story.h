/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Fixture of the tests of the engine: nodes of lnet_pair, of which `one` is
 * 10.0.0.1@tcp and `two` 10.0.0.2@tcp; functions that bring `one` messages of a
 * stranger, 10.0.0.9@tcp, and functions that look into the engines.
 *
 * STORY(name) opens two nodes without discovery before the case. A case of
 * STORY_BARE(name) opens its nodes itself, with story_open(). Both are closed
 * after the case.
 */
#ifndef M0_TESTS_UNIT_LNET_STORY_H
#define M0_TESTS_UNIT_LNET_STORY_H

#include "unit/base/panics.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/lnet_pair.h"
#include "lnet/lnet_internal.h"

#define STRANGER "10.0.0.9@tcp"

enum {
	PORTAL = 5,
	BITS = 0x1234,
	/** Bytes that a sink takes. */
	SINK_BYTES = 4096,
	/** Transaction time-out of pair_cfg(). */
	TTO_MS = 150000
};

static struct pair      *pair;
static struct pair_node *one;
static struct pair_node *two;
/** STORY() fills it with a pattern; otherwise it has zeros. */
static uint8_t bytes_out[M0_LNET_MTU];
static uint8_t bytes_in[M0_LNET_MTU];

/** The default configuration, without discovery. */
static inline struct m0_lnet_engine_cfg cfg_plain(void)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	cfg.lec_discovery = false;
	return cfg;
}

/** Opens `nr` nodes, the i-th with 10.0.0.<i+1>@tcp. */
static inline void story_open(unsigned nr, const struct m0_lnet_engine_cfg *cfg)
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

static inline int story_begin(void **state)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();
	unsigned                  i;

	(void)state;
	story_open(2, &cfg);
	for (i = 0; i < sizeof bytes_out; ++i)
		bytes_out[i] = (uint8_t)(i * 7 + i / 251);
	memset(bytes_in, 0, sizeof bytes_in);
	return 0;
}

static inline int story_end(void **state)
{
	(void)state;
	if (pair != NULL)
		pair_close(pair);
	pair = NULL;
	return 0;
}

#define STORY(name) \
	cmocka_unit_test_setup_teardown(name, story_begin, story_end)
#define STORY_BARE(name) cmocka_unit_test_teardown(name, story_end)

static inline const struct m0_lnet_stats *stats_of(const struct pair_node *node)
{
	return &node->pno_engine->le_stats;
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

/** A header of the stranger's to `one`. */
static inline struct m0_lnet_hdr hdr_of(uint32_t type, uint32_t payload_bytes)
{
	return (struct m0_lnet_hdr){
		.lhd_dest_nid = pair_nid("10.0.0.1@tcp"),
		.lhd_src_nid = pair_nid(STRANGER),
		.lhd_dest_pid = M0_LNET_PID_LUSTRE,
		.lhd_src_pid = M0_LNET_PID_LUSTRE,
		.lhd_type = type,
		.lhd_payload_bytes = payload_bytes,
		.lhd_wmd = m0_lnet__wmd_none,
		.lhd_match_bits = BITS,
		.lhd_portal = PORTAL,
	};
}

/** The stranger's PUT of the first `nr` of bytes_out, at `offset`. */
static inline void stranger_put(uint64_t bits, uint32_t nr, uint32_t offset)
{
	struct m0_lnet_hdr hdr = hdr_of(M0_LNET_PUT, nr);

	hdr.lhd_match_bits = bits;
	hdr.lhd_offset = offset;
	pair_inject(one, 1, STRANGER, &hdr, bytes_out);
	pair_settle(pair);
}

/** The driver's side of one message, step by step. */
static inline int rx_begin(struct m0_lnd_rx *rx, const struct m0_lnet_hdr *hdr)
{
	struct m0_lnd_ni *ni = one->pno_ni[1];
	uint8_t           buf[M0_LNET_HDR_LARGE_BYTES];
	size_t            nr = m0_lnet__hdr_encode(hdr, false, buf);

	assert_int_equal(nr, M0_LNET_HDR_BYTES);
	memset(rx, 0x5a, sizeof *rx);
	rx->lr_nid = pair_nid(STRANGER);
	rx->lr_pid = M0_LNET_PID_LUSTRE;
	rx->lr_words[M0_LNET__RX_MARK] = 0;
	rx->lr_words[M0_LNET__RX_LAZY] = 0;
	return ni->ldn_ops->lu_rx_begin(ni, rx, buf, false);
}

static inline void rx_done(struct m0_lnd_rx *rx, int status)
{
	one->pno_ni[1]->ldn_ops->lu_rx_done(
		rx, status, status == 0 ? M0_LND_OK : M0_LND_REMOTE_ERROR);
}

/** Number of the events of a type. */
static inline unsigned events_nr(const struct pair_node *node,
				 enum m0_lnet_event_type type)
{
	unsigned nr = 0;

	while (pair_event(node, type, nr) != NULL)
		++nr;
	return nr;
}

/** The newest event. */
static inline const struct m0_lnet_event *last_event(
	const struct pair_node *node)
{
	assert_true(node->pno_events_nr > 0);
	return &node->pno_events[node->pno_events_nr - 1];
}

/** An MD for PUTs on an ME of its own, nothing special about either. */
static inline struct m0_lnet_md *sink(struct pair_node *node, uint64_t bits,
				      int32_t threshold, unsigned options)
{
	return pair_md_attach(node, pair_me(node, PORTAL, bits, 0, 0), bytes_in,
			      SINK_BYTES, threshold,
			      M0_LNET_MD_OP_PUT | options, false);
}

/** An ME and MD that accept PUTs and GETs without a limit. */
static inline void sink_post(struct pair_node *node)
{
	(void)sink(node, BITS, M0_LNET_MD_THRESHOLD_INF,
		   M0_LNET_MD_OP_GET | M0_LNET_MD_TRUNCATE |
			   M0_LNET_MD_MANAGE_REMOTE);
}

/** A PUT without ACK. */
static inline void put_to(struct pair_node *node, const char *nid,
			  m0_bcount_t nr)
{
	pair_put(node, pair_md_bind(node, bytes_out, nr, 1, 0), nid, PORTAL,
		 BITS, false);
}

/** Status of the i-th SEND of `node`; 1: it has not come. */
static inline int send_status(const struct pair_node *node, unsigned i)
{
	const struct m0_lnet_event *ev = pair_event(node, M0_LNET_EV_SEND, i);

	return ev == NULL ? 1 : ev->ev_status;
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

	pair_op(node, pair_md_bind(node, bytes_out, 8, 1, 0), &op, false);
}

/** Returns the handle by which the stranger names the operation of a frame. */
static inline struct m0_lnet_wmd wmd_of(const struct pair_frame *frame)
{
	assert_non_null(frame);
	return frame->pfr_hdr.lhd_wmd;
}

/** The network loses each message that leaves. */
static inline enum pair_act all_lost(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	(void)frame;
	return PAIR_DROP;
}

/** The driver keeps each message until pair_release(), if the hook is taken off
 * before. */
static inline enum pair_act all_held(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	(void)frame;
	return PAIR_HOLD;
}

/** Each message arrives, but the driver does not complete it before
 * pair_release(). */
static inline enum pair_act all_slow(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	(void)frame;
	return PAIR_SLOW;
}

static inline enum pair_act all_fail(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	frame->pfr_status = -ECONNRESET;
	frame->pfr_health = M0_LND_REMOTE_DROPPED;
	return PAIR_FAIL;
}

#endif /* M0_TESTS_UNIT_LNET_STORY_H */
