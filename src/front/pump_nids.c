/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * NIDs of the node, which may change while the process is attached. The server counts the
 * changes in a word of the area. A step that finds another number there asks for the NIDs,
 * and does not wait: the answer comes as an event does, in pieces. A server that counts
 * without end is asked once in a while.
 */
#include "front/pump_internal.h"

enum {
	/** Least time between two requests. */
	ASK_NS = 10 * 1000 * 1000
};

uint32_t m0_pump__nids_word(const struct m0_pump *pump)
{
	return __atomic_load_n(
		&pump->pmp_side->shs_words->shw_state.shl_incoming,
		__ATOMIC_ACQUIRE);
}

bool m0_pump__nids_are_due(const struct m0_pump *pump)
{
	return m0_pump__is_open(pump) && !pump->pmp_nids.pnq_asks &&
	       pump->pmp_again.pag_renews == M0_PUMP_RENEWS_NOT &&
	       (pump->pmp_nids.pnq_again ||
		pump->pmp_nids.pnq_seen != m0_pump__nids_word(pump));
}

/* The request has ended. */
static void asked(struct m0_pump *pump, struct m0_front_control *fcl, int rc)
{
	M0_PRE(pump->pmp_nids.pnq_asks && rc <= 0);
	if (fcl != NULL)
		m0_front__control_put(pump->pmp_lnet, fcl);
	m0_free0(&pump->pmp_nids.pnq_block);
	pump->pmp_nids.pnq_asks = false;
	/* For want of memory, here or there. */
	pump->pmp_nids.pnq_again = rc != 0;
}

/* Takes a piece. @return 1: it is the last one. */
static int piece_take(struct m0_pump               *pump,
		      const struct m0_ring_control *record)
{
	size_t bytes = record->rqc_block_bytes;
	size_t piece = record->rqc_piece_bytes;

	if (pump->pmp_nids.pnq_block == NULL) {
		if (bytes > sizeof pump->pmp_lnet->fro_nids.fns_nid)
			return -EPROTO;
		pump->pmp_nids.pnq_block = m0_alloc(bytes);
		pump->pmp_nids.pnq_bytes = 0;
		pump->pmp_nids.pnq_max = bytes;
		pump->pmp_nids.pnq_version = record->rqc_version;
	}
	if (pump->pmp_nids.pnq_block == NULL)
		return -ENOMEM;
	if (piece == 0 ||
	    piece > pump->pmp_nids.pnq_max - pump->pmp_nids.pnq_bytes)
		return -EPROTO;
	M0_PRE_EX(pump->pmp_nids.pnq_bytes < pump->pmp_nids.pnq_max);
	memcpy(pump->pmp_nids.pnq_block + pump->pmp_nids.pnq_bytes,
	       record->rqc_piece, piece);
	pump->pmp_nids.pnq_bytes += piece;
	return pump->pmp_nids.pnq_bytes == pump->pmp_nids.pnq_max;
}

static void nids_broken(struct m0_pump *pump)
{
	m0_mutex_lock(&pump->pmp_lock);
	if (m0_pump__is_open(pump)) {
		(void)m0_pump__broken(pump, "answer_nids",
				      pump->pmp_nids.pnq_max, "NIDs of a node");
		m0_pump__end(pump);
	}
	m0_mutex_unlock(&pump->pmp_lock);
}

static void version_forget(struct m0_pump *pump)
{
	struct m0_lnet *lnet = pump->pmp_lnet;

	m0_front__lock(lnet);
	lnet->fro_nids.fns_version = pump->pmp_nids.pnq_version - 1;
	m0_mutex_unlock(&lnet->fro_lock);
}

static void nids_answered(struct m0_lnet *lnet, struct m0_front_control *fcl)
{
	struct m0_pump         *pump = lnet->fro_pump;
	struct m0_ring_control *record = fcl->fcl_record;
	int                     rc = record->rqc_rc;

	M0_PRE(pump->pmp_nids.pnq_asks);
	if (rc > 0 || (rc == 0 && pump->pmp_nids.pnq_block != NULL))
		rc = piece_take(pump, record);
	else if (rc == 0)
		rc = -EPROTO;
	if (rc == 0) {
		record->rqc_verb = M0_RING_MORE;
		rc = m0_front__control_post(lnet, fcl);
		if (rc == 0)
			return;
	}
	/* A new node counts anew. */
	if (rc > 0 && pump->pmp_again.pag_renews != M0_PUMP_RENEWS_NOT)
		version_forget(pump);
	if (rc > 0)
		rc = m0_front__nids_set(lnet, pump->pmp_nids.pnq_block,
					pump->pmp_nids.pnq_bytes,
					pump->pmp_nids.pnq_version);
	M0_POST(rc <= 0);
	if (rc == -EPROTO)
		nids_broken(pump);
	asked(pump, fcl, rc);
}

m0_time_t m0_pump__nids_ask(struct m0_pump *pump, m0_time_t now)
{
	struct m0_front_control *fcl = NULL;
	int                      rc;

	M0_PRE(!pump->pmp_nids.pnq_asks && pump->pmp_nids.pnq_block == NULL);
	if (now < pump->pmp_nids.pnq_at)
		return pump->pmp_nids.pnq_at;
	pump->pmp_nids.pnq_at = m0_time_add(now, ASK_NS);
	pump->pmp_nids.pnq_seen = m0_pump__nids_word(pump);
	pump->pmp_nids.pnq_asks = true;
	if (pump->pmp_again.pag_renews != M0_PUMP_RENEWS_NOT) {
		fcl = m0_front__control_renew(pump->pmp_lnet, M0_RING_NIDS_GET);
		rc = fcl == NULL ? -ENOSPC : 0;
	} else {
		rc = m0_front__control_take(pump->pmp_lnet, M0_RING_NIDS_GET,
					    &fcl);
	}
	if (rc == 0) {
		fcl->fcl_done = nids_answered;
		rc = m0_front__control_post(pump->pmp_lnet, fcl);
	}
	if (rc == 0)
		return M0_TIME_NEVER;
	asked(pump, fcl, rc);
	return pump->pmp_nids.pnq_at;
}
