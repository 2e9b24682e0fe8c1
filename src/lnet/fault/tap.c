/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Taps in the engine. Without a tap and without a fault rule nothing here is called. */
#include "lnet/fault/tap.h"

/* -------------------------------------------------------------------- taps -- */

static struct m0_list *taps_of(const struct m0_lnet_engine *eng)
{
	return &eng->le_faults->lfs_taps;
}

int m0_lnet_engine_tap_add(struct m0_lnet_engine *eng, struct m0_lnet_tap *tap)
{
	if (eng->le_faults == NULL)
		eng->le_faults = m0_lnet__faults_create(eng->le_cfg.lec_cookie);
	if (eng->le_faults == NULL)
		return -ENOMEM;
	if (eng->le_faults->lfs_taps_nr == M0_LNET_TAPS_MAX)
		return -ENOSPC;
	m0_list_link_init(&tap->ltp_link);
	m0_list_add_tail(taps_of(eng), &tap->ltp_link);
	++eng->le_faults->lfs_taps_nr;
	return 0;
}

int m0_lnet_engine_tap_del(struct m0_lnet_engine *eng, struct m0_lnet_tap *tap)
{
	struct m0_lnet_tap *old;

	if (eng->le_faults == NULL)
		return -ENOENT;
	m0_list_for_each_entry(taps_of(eng), old, struct m0_lnet_tap,
			       ltp_link) {
		if (old != tap)
			continue;
		m0_list_del(&tap->ltp_link);
		M0_ASSERT(eng->le_faults->lfs_taps_nr > 0);
		--eng->le_faults->lfs_taps_nr;
		if (m0_lnet__faults_is_empty(eng->le_faults))
			m0_lnet__faults_off(eng);
		return 0;
	}
	return -ENOENT;
}

/* ----------------------------------------------------------------- messages -- */

static void head_fill(struct m0_lnet_tap_msg *tm, const struct m0_lnet_hdr *hdr,
		      uint8_t buf[M0_LNET_HDR_LARGE_BYTES])
{
	tm->ltv_src = hdr->lhd_src_nid;
	tm->ltv_dst = hdr->lhd_dest_nid;
	tm->ltv_type = m0_lnet__fault_msg_bit(hdr->lhd_type);
	tm->ltv_portal = hdr->lhd_portal;
	tm->ltv_payload_bytes = hdr->lhd_payload_bytes;
	tm->ltv_head_bytes = m0_lnet__hdr_encode(hdr, false, buf);
	if (tm->ltv_head_bytes == 0)
		tm->ltv_head_bytes = m0_lnet__hdr_encode(hdr, true, buf);
	tm->ltv_head = buf;
	M0_POST(tm->ltv_head_bytes > 0);
}

static void payload_fill(struct m0_lnet_tap_msg      *tm,
			 const struct m0_lnd_payload *payload,
			 m0_bcount_t                  bytes)
{
	M0_PRE(bytes <= payload->lpy_bytes);
	if (payload->lpy_vec == NULL || bytes == 0)
		return;
	tm->ltv_vec = payload->lpy_vec;
	tm->ltv_vec_offset = payload->lpy_offset;
	tm->ltv_vec_bytes = bytes;
}

static void show(const struct m0_lnet_engine  *eng,
		 const struct m0_lnet_tap_msg *tm)
{
	struct m0_lnet_tap *tap;

	m0_list_for_each_entry(taps_of(eng), tap, struct m0_lnet_tap, ltp_link)
		tap->ltp_message(tap, tm);
}

/* Shows what arrives, without payload. */
static void coming_show(const struct m0_lnet_engine *eng,
			struct m0_lnet__tap_coming *coming, const char *why)
{
	struct m0_lnet_tap_msg tm = { .ltv_why = why };
	uint8_t                head[M0_LNET_HDR_LARGE_BYTES];

	M0_PRE(!coming->tpx_shown);
	coming->tpx_shown = true;
	head_fill(&tm, coming->tpx_hdr, head);
	tm.ltv_local = coming->tpx_ni->lni_lnd.ldn_nid;
	tm.ltv_hop = coming->tpx_rx->lr_nid;
	show(eng, &tm);
}

void m0_lnet__tap_out(const struct m0_lnet_msg *msg, const char *why)
{
	const struct m0_lnet_engine *eng = msg->msg_engine;
	const struct m0_lnd_tx      *tx = &msg->msg_tx.mtx_lnd;
	struct m0_lnet__tap_coming  *coming;
	struct m0_lnet_tap_msg tm = { .ltv_leaves = true, .ltv_why = why };
	uint8_t                head[M0_LNET_HDR_LARGE_BYTES];
	m0_bcount_t            there = msg->msg_hdr.lhd_payload_bytes;

	if (eng->le_faults == NULL || eng->le_faults->lfs_taps_nr == 0)
		return;
	coming = eng->le_faults->lfs_coming;
	/* A GET is answered before the engine is done with it. */
	if (coming != NULL && !coming->tpx_shown &&
	    msg->msg_hdr.lhd_type == M0_LNET_REPLY)
		coming_show(eng, coming, NULL);
	head_fill(&tm, &msg->msg_hdr, head);
	tm.ltv_local = msg->msg_tx.mtx_ni->lni_lnd.ldn_nid;
	tm.ltv_hop = tx->ltx_nid;
	/* A router may have begun to forward it before there was a tap: then not all of
	 * it is here, or not in memory. */
	if (msg->msg_tx.mtx_is_forward)
		there = tx->ltx_pipe != NULL ? 0 : min64u(there, tx->ltx_there);
	payload_fill(&tm, &msg->msg_payload, there);
	show(eng, &tm);
}

void m0_lnet__tap_begin(struct m0_lnet_engine      *eng,
			struct m0_lnet__tap_coming *coming)
{
	M0_PRE(eng->le_faults->lfs_coming == NULL);
	if (eng->le_faults->lfs_taps_nr > 0)
		eng->le_faults->lfs_coming = coming;
}

void m0_lnet__tap_drop(struct m0_lnet_engine *eng, const char *why)
{
	struct m0_lnet__tap_coming *coming = eng->le_faults->lfs_coming;

	if (coming != NULL && !coming->tpx_shown)
		coming_show(eng, coming, why);
}

void m0_lnet__tap_end(struct m0_lnet_engine *eng, int rc)
{
	struct m0_lnet__tap_coming *coming = eng->le_faults->lfs_coming;
	struct m0_lnet_msg         *msg;
	struct m0_lnet_hdr         *kept = NULL;

	eng->le_faults->lfs_coming = NULL;
	if (coming == NULL || coming->tpx_shown || rc != 0)
		return;
	msg = coming->tpx_rx->lr_priv;
	/* The header of a REPLY is not kept in its message. */
	if (msg != NULL && coming->tpx_rx->lr_payload.lpy_bytes > 0)
		M0_ALLOC_PTR(kept);
	if (kept == NULL) {
		coming_show(eng, coming, NULL);
		return;
	}
	*kept = *coming->tpx_hdr;
	coming->tpx_rx->lr_words[M0_LNET__RX_TAP] = (uint64_t)(uintptr_t)kept;
	msg->msg_faults |= M0_LNET__TAP_COMES;
}

/* With TAP_COMES: the arrival has ended, and is shown if there is still a tap. */
static void come(struct m0_lnet_msg *msg, struct m0_lnd_rx *rx, int status)
{
	const struct m0_lnet_engine *eng = msg->msg_engine;
	const struct m0_lnet_ni     *ni = msg->msg_rx.mrx_ni;
	struct m0_lnet_hdr          *kept =
		(void *)(uintptr_t)rx->lr_words[M0_LNET__RX_TAP];
	struct m0_lnet_tap_msg tm = { .ltv_status = status };
	uint8_t                head[M0_LNET_HDR_LARGE_BYTES];

	M0_ASSERT(kept != NULL);
	msg->msg_faults &= (uint8_t)~M0_LNET__TAP_COMES;
	rx->lr_words[M0_LNET__RX_TAP] = 0;
	if (eng->le_faults != NULL) {
		head_fill(&tm, kept, head);
		tm.ltv_local = ni->lni_lnd.ldn_nid;
		tm.ltv_hop = rx->lr_nid;
		if (status == 0 && rx->lr_pipe == NULL)
			payload_fill(&tm, &rx->lr_payload,
				     rx->lr_payload.lpy_bytes);
		show(eng, &tm);
	}
	m0_free(kept);
}

void m0_lnet__tap_come(struct m0_lnet_msg *msg, struct m0_lnd_rx *rx,
		       int status)
{
	m0_lnet__fault_payload(msg);
	if ((msg->msg_faults & M0_LNET__TAP_COMES) != 0)
		come(msg, rx, status);
}

void m0_lnet__tap_cancel(struct m0_lnet_msg *msg, struct m0_lnd_rx *rx)
{
	if ((msg->msg_faults & M0_LNET__TAP_COMES) != 0)
		come(msg, rx, -ECANCELED);
}
