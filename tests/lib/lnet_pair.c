/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <limits.h>
#include <stdlib.h>

#include "lib/lnet_pair_internal.h"

enum {
	MSGS_MAX = 1024,
	/** Passes without an end mean that somebody turns in circles. */
	PASSES_MAX = 100000
};

/** A message on its way in. */
struct pair_rx {
	struct m0_list_link prx_link;
	struct m0_lnd_rx    prx_rx;
	struct m0_lnd_ni   *prx_ni;
	uint8_t             prx_hdr[M0_LND_HDR_BYTES_MAX];
	bool                prx_large;
	bool                prx_begun;
	uint8_t            *prx_payload;
	m0_bcount_t         prx_bytes;
};

static struct pair_node *node_of_ni(const struct m0_lnd_ni *ni)
{
	return container_of(ni->ldn_lnd, struct pair_node, pno_lnd);
}

/* -- the driver ------------------------------------------------------------ */

enum {
	/** ltx_word[0] of a message that is to end early. */
	TX_CANCELLED = 1,
	TX_ABORTED
};

static void fake_xmit(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx)
{
	struct pair_node *node = node_of_ni(ni);

	m0_list_link_init(&tx->ltx_link);
	tx->ltx_priv[0] = ni;
	tx->ltx_word[0] = 0;
	m0_list_add_tail(&node->pno_txs, &tx->ltx_link);
}

static void fake_tx_cancel(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx)
{
	struct pair_node *node = node_of_ni(ni);

	tx->ltx_word[0] = TX_CANCELLED;
	if (m0_list_contains(&node->pno_held, &tx->ltx_link))
		m0_list_move_tail(&node->pno_txs, &tx->ltx_link);
}

static void fake_tx_more(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx)
{
	struct pair_node *node = node_of_ni(ni);

	M0_ASSERT(tx->ltx_there <= tx->ltx_payload.lpy_bytes);
	if (tx->ltx_there == tx->ltx_payload.lpy_bytes &&
	    m0_list_contains(&node->pno_held, &tx->ltx_link))
		m0_list_move_tail(&node->pno_txs, &tx->ltx_link);
}

static void fake_tx_abort(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx,
			  int status)
{
	struct pair_node *node = node_of_ni(ni);

	M0_ASSERT(status == -ECONNABORTED);
	tx->ltx_word[0] = TX_ABORTED;
	++node->pno_aborts_nr;
	if (m0_list_contains(&node->pno_held, &tx->ltx_link))
		m0_list_move_tail(&node->pno_txs, &tx->ltx_link);
}

static void txs_fail(struct m0_list *list, const struct m0_lnd_ni *ni,
		     int status, enum m0_lnd_health health)
{
	struct m0_list    failed;
	struct m0_lnd_tx *tx;
	struct m0_lnd_tx *next;

	m0_list_init(&failed);
	m0_list_for_each_entry_safe(list, tx, next, struct m0_lnd_tx, ltx_link)
		if (tx->ltx_priv[0] == ni)
			m0_list_move_tail(&failed, &tx->ltx_link);
	while (!m0_list_is_empty(&failed)) {
		tx = m0_list_entry(m0_list_first(&failed), struct m0_lnd_tx,
				   ltx_link);
		m0_list_del(&tx->ltx_link);
		ni->ldn_ops->lu_tx_done(tx, status, health);
	}
}

static void rx_free(struct pair_rx *rx)
{
	m0_list_del(&rx->prx_link);
	m0_free(rx->prx_payload);
	m0_free(rx);
}

static void rxs_fail(struct pair_node *node, const struct m0_lnd_ni *ni)
{
	struct pair_rx *rx;
	struct pair_rx *next;

	m0_list_for_each_entry_safe(&node->pno_rxs, rx, next, struct pair_rx,
				    prx_link) {
		if (rx->prx_ni != ni)
			continue;
		if (rx->prx_begun)
			ni->ldn_ops->lu_rx_done(&rx->prx_rx, -ENETDOWN,
						M0_LND_LOCAL_ERROR);
		rx_free(rx);
	}
}

/** Asked to stop: the pass does it, no call goes up on this stack. */
static void fake_ni_stop(struct m0_lnd_ni *ni)
{
	ni->ldn_priv = ni;
}

static void fake_peer_drop(struct m0_lnd_ni *ni, const struct m0_lnet_nid *nid)
{
	(void)nid;
	++node_of_ni(ni)->pno_drops_nr;
}

static void fake_ni_info(const struct m0_lnd_ni *ni,
			 struct m0_lnd_ni_info  *info)
{
	(void)ni;
	M0_SET0(info);
	info->ldi_connections_nr = 3;
	info->ldi_timeout_ms = 50000;
}

static const struct m0_lnd_ops fake_ops = {
	.ldo_name = "fake",
	.ldo_type = M0_LNET_TYPE_TCP,
	.ldo_ni_stop = fake_ni_stop,
	.ldo_xmit = fake_xmit,
	.ldo_tx_cancel = fake_tx_cancel,
	.ldo_tx_more = fake_tx_more,
	.ldo_tx_abort = fake_tx_abort,
	.ldo_peer_drop = fake_peer_drop,
	.ldo_ni_info = fake_ni_info,
};

static void ni_stopped(struct pair_node *node, unsigned i)
{
	struct m0_lnd_ni *ni = node->pno_ni[i];

	txs_fail(&node->pno_txs, ni, -ENETDOWN, M0_LND_LOCAL_INTERRUPT);
	txs_fail(&node->pno_held, ni, -ENETDOWN, M0_LND_LOCAL_INTERRUPT);
	txs_fail(&node->pno_slow, ni, 0, M0_LND_OK);
	rxs_fail(node, ni);
	/* Answers to what has just ended. */
	txs_fail(&node->pno_txs, ni, -ENETDOWN, M0_LND_LOCAL_INTERRUPT);
	memmove(&node->pno_ni[i], &node->pno_ni[i + 1],
		(node->pno_nis_nr - i - 1) * sizeof node->pno_ni[0]);
	--node->pno_nis_nr;
	ni->ldn_ops->lu_ni_stopped(ni);
}

/* -- the way from node to node --------------------------------------------- */

static struct m0_lnd_ni *ni_with(struct pair_node         *node,
				 const struct m0_lnet_nid *nid)
{
	unsigned i;

	for (i = 0; i < node->pno_nis_nr; ++i)
		if (m0_lnet_nid_eq(&node->pno_ni[i]->ldn_nid, nid) &&
		    node->pno_ni[i]->ldn_up)
			return node->pno_ni[i];
	return NULL;
}

static struct m0_lnd_ni *ni_find(struct pair_node         *from,
				 const struct m0_lnet_nid *nid)
{
	struct m0_lnd_ni *ni = NULL;
	unsigned          i;

	if (m0_lnet_nid_is_lo(nid))
		return ni_with(from, nid);
	for (i = 0; i < from->pno_pair->pai_nr && ni == NULL; ++i)
		if (from->pno_pair->pai_node[i].pno_engine != NULL)
			ni = ni_with(&from->pno_pair->pai_node[i], nid);
	return ni;
}

static void rx_add(struct m0_lnd_ni *ni, const struct m0_lnet_nid *from,
		   const struct m0_lnet_hdr *hdr, const void *payload)
{
	struct pair_rx *rx;

	/* Without memory it is lost on the way. */
	M0_ALLOC_PTR(rx);
	if (rx == NULL)
		return;
	if (hdr->lhd_payload_bytes > 0) {
		rx->prx_payload = m0_alloc(hdr->lhd_payload_bytes);
		if (rx->prx_payload == NULL) {
			m0_free(rx);
			return;
		}
		memcpy(rx->prx_payload, payload, hdr->lhd_payload_bytes);
	}
	m0_list_link_init(&rx->prx_link);
	rx->prx_ni = ni;
	rx->prx_rx.lr_nid = *from;
	rx->prx_rx.lr_pid = M0_LNET_PID_LUSTRE;
	rx->prx_large = !m0_lnet_nid_is_nid4(from);
	if (m0_lnet__hdr_encode(hdr, rx->prx_large, rx->prx_hdr) == 0) {
		rx->prx_large = true;
		(void)m0_lnet__hdr_encode(hdr, true, rx->prx_hdr);
	}
	rx->prx_bytes = hdr->lhd_payload_bytes;
	m0_list_add_tail(&node_of_ni(ni)->pno_rxs, &rx->prx_link);
}

/** Fills the frame with the message as it is on the wire. Returns its payload
 * in memory of its own. */
static uint8_t *frame_fill(struct pair_frame *frame, struct pair_node *node,
			   struct m0_lnd_tx *tx)
{
	const struct m0_lnd_payload *lp = &tx->ltx_payload;
	const struct m0_lnd_ni      *ni = tx->ltx_priv[0];
	uint8_t                      hdr[M0_LND_HDR_BYTES_MAX];
	struct m0_bufvec             flat;
	m0_bcount_t                  bytes = lp->lpy_bytes;
	void                        *payload;
	size_t                       nr;

	M0_SET0(frame);
	frame->pfr_at = node->pno_pair->pai_now;
	frame->pfr_node = (unsigned)(node - node->pno_pair->pai_node);
	frame->pfr_ni = ni->ldn_nid;
	frame->pfr_hop = tx->ltx_nid;
	frame->pfr_hop_pid = tx->ltx_pid;
	frame->pfr_is_answer = tx->ltx_is_answer;
	frame->pfr_large = !m0_lnet_nid_is_nid4(&tx->ltx_nid);
	nr = ni->ldn_ops->lu_tx_header(tx, frame->pfr_large, hdr);
	if (nr == 0) {
		frame->pfr_status = -EAFNOSUPPORT;
		return NULL;
	}
	M0_ASSERT(m0_lnet__hdr_decode(&frame->pfr_hdr, frame->pfr_large, hdr) ==
		  0);
	M0_ASSERT(frame->pfr_hdr.lhd_payload_bytes == lp->lpy_bytes);
	payload = m0_alloc(lp->lpy_bytes + 1);
	if (payload == NULL) {
		frame->pfr_status = -ENOMEM;
		return NULL;
	}
	flat = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&payload, &bytes);
	if (bytes > 0) {
		bytes = m0_bufvec_copy_at(&flat, 0, lp->lpy_vec, lp->lpy_offset,
					  lp->lpy_bytes);
		M0_ASSERT(bytes == lp->lpy_bytes);
	}
	frame->pfr_bytes = lp->lpy_bytes;
	memcpy(frame->pfr_payload, payload,
	       min_check(frame->pfr_bytes, sizeof frame->pfr_payload));
	return payload;
}

static void frame_keep(struct pair *pair, const struct pair_frame *frame)
{
	if (pair->pai_frames_nr < PAIR_FRAMES_MAX)
		pair->pai_frames[pair->pai_frames_nr++] = *frame;
}

/** Nobody has this NID: as a driver that could not connect. */
static void tx_nobody(struct pair_node *node, struct m0_lnd_tx *tx)
{
	struct m0_lnet_nid nid = tx->ltx_nid;
	struct m0_lnd_ni  *ni = tx->ltx_priv[0];

	++node->pno_nobody_nr;
	ni->ldn_ops->lu_tx_done(tx, -EHOSTUNREACH, M0_LND_REMOTE_ERROR);
	ni->ldn_ops->lu_peer_down(ni, &nid, M0_LNET_PID_LUSTRE, -EHOSTUNREACH);
}

static void tx_move(struct pair_node *node, struct m0_lnd_tx *tx)
{
	struct pair       *pair = node->pno_pair;
	struct m0_lnd_ni  *ni = tx->ltx_priv[0];
	struct pair_frame  frame;
	struct m0_lnd_ni  *to;
	uint8_t           *payload;
	enum pair_act      act = PAIR_PASS;
	struct m0_lnet_nid from = ni->ldn_nid;

	if (tx->ltx_word[0] == TX_CANCELLED) {
		ni->ldn_ops->lu_tx_done(tx, -ECANCELED, M0_LND_LOCAL_INTERRUPT);
		return;
	}
	if (tx->ltx_word[0] == TX_ABORTED) {
		ni->ldn_ops->lu_tx_done(tx, -ECONNABORTED, M0_LND_LOCAL_ERROR);
		return;
	}
	if (tx->ltx_there < tx->ltx_payload.lpy_bytes) {
		M0_ASSERT(ni->ldn_grows);
		++node->pno_parts_nr;
		m0_list_add_tail(&node->pno_held, &tx->ltx_link);
		return;
	}
	payload = frame_fill(&frame, node, tx);
	if (payload == NULL) {
		ni->ldn_ops->lu_tx_done(tx, frame.pfr_status,
					M0_LND_LOCAL_INTERRUPT);
		return;
	}
	if (pair->pai_hook != NULL)
		act = pair->pai_hook(pair, &frame);
	to = ni_find(node, &tx->ltx_nid);
	if (act == PAIR_HOLD) {
		m0_list_add_tail(&node->pno_held, &tx->ltx_link);
	} else if (act == PAIR_FAIL) {
		ni->ldn_ops->lu_tx_done(
			tx, frame.pfr_status != 0 ? frame.pfr_status : -EIO,
			frame.pfr_health != M0_LND_OK ? frame.pfr_health
						      : M0_LND_REMOTE_ERROR);
	} else if (to == NULL && act != PAIR_DROP) {
		tx_nobody(node, tx);
	} else {
		frame_keep(pair, &frame);
		if (act != PAIR_DROP)
			rx_add(to, &from, &frame.pfr_hdr, payload);
		if (act == PAIR_SLOW)
			m0_list_add_tail(&node->pno_slow, &tx->ltx_link);
		else
			ni->ldn_ops->lu_tx_done(tx, 0, M0_LND_OK);
	}
	m0_free(payload);
}

static bool txs_move(struct pair_node *node)
{
	size_t            nr = m0_list_length(&node->pno_txs);
	bool              moved = nr > 0;
	struct m0_lnd_tx *tx;

	for (; nr > 0 && !m0_list_is_empty(&node->pno_txs); --nr) {
		tx = m0_list_entry(m0_list_first(&node->pno_txs),
				   struct m0_lnd_tx, ltx_link);
		m0_list_del(&tx->ltx_link);
		tx_move(node, tx);
	}
	return moved;
}

static void rx_finish(const struct pair_node *node, struct pair_rx *rx)
{
	const struct m0_lnd_payload *lp = &rx->prx_rx.lr_payload;
	void                        *addr = rx->prx_payload;
	m0_bcount_t                  bytes = rx->prx_bytes;
	struct m0_bufvec             flat = M0_BUFVEC_INIT_BUF(&addr, &bytes);

	if (node->pno_is_damaged &&
	    lp->lpy_bytes + rx->prx_rx.lr_discard_bytes != bytes) {
		/* As of a connection of which the rest makes no sense. */
		rx->prx_ni->ldn_ops->lu_rx_done(&rx->prx_rx, -EPROTO,
						M0_LND_LOCAL_ERROR);
		rx_free(rx);
		return;
	}
	if (!rx->prx_rx.lr_cancelled) {
		M0_ASSERT(lp->lpy_bytes + rx->prx_rx.lr_discard_bytes == bytes);
		if (lp->lpy_bytes > 0) {
			bytes = m0_bufvec_copy_at(lp->lpy_vec, lp->lpy_offset,
						  &flat, 0, lp->lpy_bytes);
			M0_ASSERT(bytes == lp->lpy_bytes);
		}
	}
	rx->prx_ni->ldn_ops->lu_rx_done(&rx->prx_rx, 0, M0_LND_OK);
	rx_free(rx);
}

/** @return it has gone on. */
static bool rx_move(struct pair_node *node, struct pair_rx *rx)
{
	int rc;

	if (!rx->prx_begun) {
		rc = rx->prx_ni->ldn_ops->lu_rx_begin(
			rx->prx_ni, &rx->prx_rx, rx->prx_hdr, rx->prx_large);
		if (rc == -EAGAIN) {
			++node->pno_again_nr;
			return false;
		}
		if (rc != 0) {
			M0_ASSERT(rc == -EPROTO);
			++node->pno_proto_errors_nr;
			rx_free(rx);
			return true;
		}
		rx->prx_begun = true;
		if (node->pno_rx_hold && rx->prx_bytes > 0)
			return true;
	} else if (node->pno_rx_hold && rx->prx_bytes > 0) {
		return false;
	}
	rx_finish(node, rx);
	return true;
}

/** In order from each peer: what must wait holds up what is behind it. */
static bool rxs_move(struct pair_node *node)
{
	struct m0_list  held;
	struct pair_rx *rx;
	struct pair_rx *other;
	bool            moved = false;
	bool            behind;

	m0_list_init(&held);
	while (!m0_list_is_empty(&node->pno_rxs)) {
		rx = m0_list_entry(m0_list_first(&node->pno_rxs),
				   struct pair_rx, prx_link);
		behind = false;
		m0_list_for_each_entry(&held, other, struct pair_rx, prx_link)
			behind |= m0_lnet_nid_eq(&other->prx_rx.lr_nid,
						 &rx->prx_rx.lr_nid);
		m0_list_move_tail(&held, &rx->prx_link);
		if (!behind)
			moved |= rx_move(node, rx);
	}
	m0_list_splice_tail(&node->pno_rxs, &held);
	return moved;
}

unsigned pair_report(struct pair_node *node, m0_bcount_t bytes)
{
	struct pair_rx *rx;
	struct pair_rx *next;
	unsigned        nr = 0;

	m0_list_for_each_entry_safe(&node->pno_rxs, rx, next, struct pair_rx,
				    prx_link) {
		void            *addr = rx->prx_payload;
		m0_bcount_t      count = rx->prx_bytes;
		struct m0_bufvec flat = M0_BUFVEC_INIT_BUF(&addr, &count);

		if (!rx->prx_begun || !rx->prx_rx.lr_reports ||
		    rx->prx_rx.lr_cancelled)
			continue;
		(void)m0_bufvec_copy_at(rx->prx_rx.lr_payload.lpy_vec,
					rx->prx_rx.lr_payload.lpy_offset, &flat,
					0, bytes);
		rx->prx_ni->ldn_ops->lu_rx_more(&rx->prx_rx, bytes);
		++nr;
	}
	return nr;
}

void pair_rx_fail(struct pair_node *node, int status)
{
	struct pair_rx *rx;
	struct pair_rx *next;

	m0_list_for_each_entry_safe(&node->pno_rxs, rx, next, struct pair_rx,
				    prx_link) {
		if (!rx->prx_begun)
			continue;
		rx->prx_ni->ldn_ops->lu_rx_done(&rx->prx_rx, status,
						M0_LND_REMOTE_DROPPED);
		rx_free(rx);
	}
}

/* -- time ------------------------------------------------------------------ */

static bool nis_stop(struct pair_node *node)
{
	unsigned i;

	for (i = 0; i < node->pno_nis_nr; ++i)
		if (node->pno_ni[i]->ldn_priv != NULL) {
			ni_stopped(node, i);
			return true;
		}
	return false;
}

/** @return is there more to do at once? */
static bool node_pass(struct pair_node *node, m0_time_t *next)
{
	m0_time_t now = node->pno_pair->pai_now;
	m0_time_t deadline;
	bool      moved;

	if (node->pno_engine == NULL)
		return false;
	m0_lnet_engine_time(node->pno_engine, now);
	moved = txs_move(node);
	moved |= rxs_move(node);
	moved |= nis_stop(node);
	deadline = m0_lnet_engine_step(node->pno_engine, now);
	moved |= pair__events_take(node);
	*next = min_check(*next, deadline);
	return moved || deadline <= now || (!m0_list_is_empty(&node->pno_txs));
}

void pair_pass(struct pair *pair, unsigned nr)
{
	m0_time_t next = M0_TIME_NEVER;
	unsigned  i;

	for (; nr > 0; --nr)
		for (i = 0; i < pair->pai_nr; ++i)
			(void)node_pass(&pair->pai_node[i], &next);
}

/** Until nothing moves; @return the next deadline. */
static m0_time_t pair_passes(struct pair *pair)
{
	m0_time_t next;
	unsigned  passes = 0;
	unsigned  i;
	bool      moved;

	do {
		M0_ASSERT(++passes < PASSES_MAX);
		next = M0_TIME_NEVER;
		moved = false;
		for (i = 0; i < pair->pai_nr; ++i)
			moved |= node_pass(&pair->pai_node[i], &next);
	} while (moved);
	return next;
}

void pair_settle(struct pair *pair)
{
	(void)pair_passes(pair);
}

void pair_run(struct pair *pair, uint64_t ms)
{
	m0_time_t end = pair->pai_now + ms * M0_TIME_ONE_MSEC;
	m0_time_t next;

	for (;;) {
		next = pair_passes(pair);
		if (pair->pai_now >= end)
			return;
		pair->pai_now =
			min_check(max_check(next, pair->pai_now + 1), end);
	}
}

void pair_release(struct pair *pair)
{
	struct pair_node *node;
	struct m0_lnd_tx *tx;
	struct m0_lnd_ni *ni;
	struct m0_list    slow;
	unsigned          i;

	for (i = 0; i < pair->pai_nr; ++i) {
		node = &pair->pai_node[i];
		m0_list_splice_tail(&node->pno_txs, &node->pno_held);
		m0_list_init(&slow);
		m0_list_splice_tail(&slow, &node->pno_slow);
		while (!m0_list_is_empty(&slow)) {
			tx = m0_list_entry(m0_list_first(&slow),
					   struct m0_lnd_tx, ltx_link);
			ni = tx->ltx_priv[0];
			m0_list_del(&tx->ltx_link);
			ni->ldn_ops->lu_tx_done(tx, 0, M0_LND_OK);
		}
	}
}

/* -- nodes ----------------------------------------------------------------- */

struct m0_lnet_nid pair_nid(const char *text)
{
	struct m0_lnet_nid nid;
	int                rc = m0_lnet_nid_parse_any(&nid, text);

	M0_ASSERT(rc == 0);
	return nid;
}

struct m0_lnet_nid pair_nid_of(const struct pair_node *node)
{
	M0_ASSERT(node->pno_nis_nr > 1);
	return node->pno_ni[1]->ldn_nid;
}

struct m0_lnd_ni *pair_ni(struct pair_node *node, const char *text)
{
	struct m0_lnet_nid nid = pair_nid(text);
	struct m0_lnd_ni  *ni;
	int                rc;

	M0_ASSERT(node->pno_nis_nr < PAIR_NIS_MAX);
	rc = m0_lnet_engine_ni_add(node->pno_engine, &nid, "sim0",
				   1 + node->pno_pair->pai_now, &node->pno_lnd,
				   &ni);
	M0_ASSERT(rc == 0);
	ni->ldn_up = true;
	ni->ldn_grows = true;
	node->pno_ni[node->pno_nis_nr++] = ni;
	m0_lnet_engine_ni_up(node->pno_engine, ni);
	return ni;
}

struct m0_lnet_engine_cfg pair_cfg(void)
{
	return (struct m0_lnet_engine_cfg){
		.lec_pid = M0_LNET_PID_LUSTRE,
		.lec_portals_nr = 64,
		.lec_peers_max = 64,
		.lec_msgs_max = UINT_MAX,
		.lec_peer_credits = 8,
		.lec_credits = 256,
		.lec_discovery = true,
		.lec_transaction_timeout_ns = 150 * M0_TIME_ONE_SECOND,
		.lec_route = {
			.lrc_check_ns = 60 * M0_TIME_ONE_SECOND,
			.lrc_ping_ns = 50 * M0_TIME_ONE_SECOND,
			.lrc_avoid_asym = true,
			.lrc_forward_ns = 50 * M0_TIME_ONE_SECOND,
			.lrc_buffers = { 512, 4096, 256 },
			.lrc_bytes = 256 << 20,
		},
		.lec_health = {
			.lhe_sensitivity = 100,
			.lhe_retries = 2,
			.lhe_ping_max_ns = 900 * M0_TIME_ONE_SECOND,
		},
	};
}

static void node_open(struct pair *pair, unsigned i,
		      const struct m0_lnet_engine_cfg *cfg)
{
	struct pair_node         *node = &pair->pai_node[i];
	struct m0_lnet_engine_cfg own = cfg != NULL ? *cfg : pair_cfg();
	int                       rc;

	M0_SET0(node);
	node->pno_pair = pair;
	node->pno_lnd.ld_ops = &fake_ops;
	node->pno_msgs_max = MSGS_MAX;
	m0_list_init(&node->pno_txs);
	m0_list_init(&node->pno_held);
	m0_list_init(&node->pno_slow);
	m0_list_init(&node->pno_rxs);
	own.lec_owner_ops = &pair__owner_ops;
	own.lec_owner = node;
	own.lec_cookie = 1 + i + pair->pai_now;
	rc = m0_lnet_engine_create(&node->pno_engine, &own, pair->pai_now);
	M0_ASSERT(rc == 0);
	(void)pair_ni(node, "0@lo");
}

struct pair *pair_open(unsigned nr, const struct m0_lnet_engine_cfg *cfg)
{
	struct pair *pair;
	unsigned     i;

	M0_PRE(nr <= PAIR_NODES_MAX);
	M0_ALLOC_PTR(pair);
	M0_ASSERT(pair != NULL);
	M0_ALLOC_ARR(pair->pai_frames, PAIR_FRAMES_MAX);
	M0_ASSERT(pair->pai_frames != NULL);
	pair->pai_now = 1000 * M0_TIME_ONE_SECOND;
	pair->pai_nr = nr;
	for (i = 0; i < nr; ++i)
		node_open(pair, i, cfg);
	return pair;
}

void pair_stop(struct pair *pair, unsigned i)
{
	struct pair_node *node = &pair->pai_node[i];
	unsigned          passes = 0;
	unsigned          k;

	if (node->pno_engine == NULL)
		return;
	node->pno_keep = false;
	node->pno_rx_hold = false;
	m0_lnet_engine_shutdown(node->pno_engine, pair->pai_now);
	pair_settle(pair);
	for (k = node->pno_nis_nr; k > 0; --k)
		m0_lnet_engine_ni_del(node->pno_engine, node->pno_ni[k - 1]);
	while (m0_lnet_engine_nis_nr(node->pno_engine) > 0 ||
	       !m0_lnet_engine_is_quiet(node->pno_engine)) {
		M0_ASSERT(++passes < 100);
		pair_settle(pair);
	}
	M0_ASSERT(node->pno_mds_nr == 0);
	M0_ASSERT(node->pno_mes_nr == 0);
	m0_lnet_engine_destroy(node->pno_engine);
	M0_ASSERT(node->pno_msgs_nr == 0);
	node->pno_engine = NULL;
}

void pair_restart(struct pair *pair, unsigned i,
		  const struct m0_lnet_engine_cfg *cfg)
{
	struct pair_node  *node = &pair->pai_node[i];
	struct m0_lnet_nid nids[PAIR_NIS_MAX];
	char               text[M0_LNET_NIDSTR_SIZE];
	unsigned           nr = node->pno_nis_nr;
	unsigned           k;

	for (k = 0; k < nr; ++k)
		nids[k] = node->pno_ni[k]->ldn_nid;
	pair_stop(pair, i);
	node_open(pair, i, cfg);
	for (k = 1; k < nr; ++k)
		(void)pair_ni(node,
			      m0_lnet_nid_print(&nids[k], text, sizeof text));
}

void pair_close(struct pair *pair)
{
	unsigned i;

	for (i = 0; i < pair->pai_nr; ++i)
		pair_stop(pair, i);
	m0_free(pair->pai_frames);
	m0_free(pair);
}

void pair_peer_down(struct pair_node *node, const char *text, int status)
{
	struct m0_lnet_nid nid = pair_nid(text);

	node->pno_ni[1]->ldn_ops->lu_peer_down(node->pno_ni[1], &nid,
					       M0_LNET_PID_LUSTRE, status);
}

void pair_inject(struct pair_node *node, unsigned ni_nr, const char *from,
		 const struct m0_lnet_hdr *hdr, const void *payload)
{
	struct m0_lnet_nid nid = pair_nid(from);

	rx_add(node->pno_ni[ni_nr], &nid, hdr, payload);
}
