/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Operations of this node: PUT and GET, from the call to the last event.
 *
 * One message serves the whole operation. It is sent, and if a response is
 * wanted it waits in le_waiting by its cookie. The send and the response end in
 * either order; the second of them is the last use of the MD by the message.
 */
#include "lnet/flow/again.h"
#include "lnet/flow/forward.h"
#include "lnet/health/health.h"

enum {
	/** Cookies count in steps, so that their lowest bits mark an MD. */
	COOKIE_STEP = 4,
	COOKIE_KIND = 1,
	/** Drivers read this many bytes together with a header anyway. */
	LARGE_BYTES = 16 << 10
};

static bool op_is_get(const struct m0_lnet_msg *msg)
{
	return msg->msg_hdr.lhd_type == M0_LNET_GET;
}

/* Fills an event of `type` from the operation, with its status. */
static void op_fill(struct m0_lnet_event *ev, const struct m0_lnet_msg *msg,
		    enum m0_lnet_event_type type, int status)
{
	const struct m0_lnet_op *op = &msg->msg_op.mop_attr;
	uint32_t                 pid = msg->msg_hdr.lhd_src_pid;

	ev->ev_type = type;
	ev->ev_status = status;
	ev->ev_unlinked = false;
	ev->ev_target = op->lo_target;
	/* Two stores of parts: a load of the whole after a store of a part
	 * would stall. */
	ev->ev_initiator.lp_nid = m0_lnet_nid_any;
	ev->ev_initiator.lp_pid = pid;
	ev->ev_source.lp_nid = m0_lnet_nid_any;
	ev->ev_source.lp_pid = pid;
	ev->ev_sender = m0_lnet_nid_any;
	ev->ev_portal = op->lo_portal;
	ev->ev_match_bits = op->lo_match_bits;
	ev->ev_offset = op->lo_offset;
	ev->ev_hdr_data = op->lo_hdr_data;
	ev->ev_rlength = msg->msg_rlength;
	ev->ev_mlength = msg->msg_rlength;
	ev->ev_is_get = op_is_get(msg);
	ev->ev_op_user = op->lo_user;
}

/* -------------------------------------------------------------- responses -- */

struct m0_lnet_msg *m0_lnet__response_find(struct m0_lnet_engine    *eng,
					   const struct m0_lnet_wmd *wmd)
{
	struct m0_hash_link *link;
	uint64_t             half[2];

	memcpy(half, wmd, sizeof half);
	if (half[0] != eng->le_cfg.lec_cookie)
		return NULL;
	link = m0_hash_find(&eng->le_waiting, &half[1], sizeof half[1]);
	return link == NULL ? NULL
			    : container_of(link, struct m0_lnet_msg,
					   msg_op.mop_link);
}

/* Notes a GET whose REPLY is large enough for a guess of its memory. */
static void guess_begin(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg)
{
	if (!op_is_get(msg) || msg->msg_rlength <= LARGE_BYTES)
		return;
	++eng->le_gets_nr;
	eng->le_get = eng->le_unguessed_nr == 0 ? msg : NULL;
	eng->le_unguessed_nr -= eng->le_unguessed_nr > 0;
}

static void guess_end(struct m0_lnet_engine *eng, const struct m0_lnet_msg *msg)
{
	if (!op_is_get(msg) || msg->msg_rlength <= LARGE_BYTES)
		return;
	M0_ASSERT_EX(eng->le_gets_nr > 0);
	--eng->le_gets_nr;
	if (eng->le_get == msg)
		eng->le_get = NULL;
}

void m0_lnet__response_drop(struct m0_lnet_msg *msg)
{
	struct m0_lnet_engine *eng = msg->msg_engine;

	if (!msg->msg_op.mop_waits)
		return;
	M0_ASSERT_EX(eng->le_stats.ls_rst_alloc > 0);
	msg->msg_op.mop_waits = false;
	/* Take it off lsk_spread. While it is being sent, the send uses the link. */
	if (msg->msg_op.mop_attr.lo_spread && !msg->msg_tx.mtx_sending)
		m0_list_del(&msg->msg_tx.mtx_link);
	guess_end(eng, msg);
	--eng->le_stats.ls_rst_alloc;
	m0_hash_del(&eng->le_waiting, &msg->msg_op.mop_link);
	m0_lnet__timer_cancel(eng, &msg->msg_op.mop_timer);
}

struct m0_lnet_event *m0_lnet__response_event(struct m0_lnet_msg *msg)
{
	struct m0_lnet_event *ev = msg->msg_event[1];

	op_fill(ev, msg, op_is_get(msg) ? M0_LNET_EV_REPLY : M0_LNET_EV_ACK, 0);
	return ev;
}

void m0_lnet__response_end(struct m0_lnet_msg *msg, struct m0_lnet_event *ev)
{
	M0_PRE_EX(!msg->msg_op.mop_waits);
	m0_lnet__md_event(msg->msg_engine, msg, ev, !msg->msg_tx.mtx_sending);
}

void m0_lnet__wait_end(struct m0_lnet_msg *msg)
{
	M0_PRE(msg->msg_op.mop_waits);
	m0_lnet__response_drop(msg);
	m0_lnet__response_end(msg, NULL);
}

void m0_lnet__response_fail(struct m0_lnet_msg *msg, int status)
{
	struct m0_lnet_event *ev = m0_lnet__response_event(msg);

	M0_PRE(status < 0 && !msg->msg_op.mop_waits);
	ev->ev_source = msg->msg_op.mop_attr.lo_target;
	ev->ev_initiator = msg->msg_op.mop_attr.lo_target;
	ev->ev_mlength = 0;
	ev->ev_status = status;
	m0_lnet__response_end(msg, msg->msg_event[1]);
}

static void response_overdue(struct m0_lnet_engine *eng,
			     struct m0_lnet_timer *timer, m0_time_t now)
{
	struct m0_lnet_msg *msg =
		container_of(timer, struct m0_lnet_msg, msg_op.mop_timer);

	M0_PRE(msg->msg_op.mop_waits);
	(void)now;
	m0_lnet__response_drop(msg);
	++eng->le_stats.ls_response_timeout_count;
	m0_lnet__health_overdue(eng, &msg->msg_tx.mtx_lnd.ltx_nid);
	/* After a failed SEND no event may follow, so the SEND goes first. */
	if (msg->msg_tx.mtx_sending)
		msg->msg_op.mop_late = true;
	else
		m0_lnet__response_fail(msg, -ETIMEDOUT);
}

static int response_await(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg)
{
	int rc;

	M0_PRE_EX(!msg->msg_op.mop_waits);
	rc = m0_hash_add(&eng->le_waiting, &msg->msg_op.mop_link,
			 &msg->msg_op.mop_cookie,
			 sizeof msg->msg_op.mop_cookie);
	if (rc != 0)
		return rc;
	msg->msg_op.mop_waits = true;
	msg->msg_op.mop_since = eng->le_now;
	guess_begin(eng, msg);
	++eng->le_stats.ls_rst_alloc;
	if ((msg->msg_md->md_attr.mda_options & M0_LNET_MD_NO_TRACK_RESPONSE) !=
	    0)
		return 0;
	msg->msg_op.mop_timer.ltm_fire = response_overdue;
	m0_lnet__timer_arm(eng, &msg->msg_op.mop_timer,
			   m0_time_add(eng->le_now,
				       eng->le_cfg.lec_transaction_timeout_ns));
	return 0;
}

/* ------------------------------------------------------------- put and get -- */

static void op_header(struct m0_lnet_msg *msg, uint32_t type, bool answered)
{
	struct m0_lnet_engine   *eng = msg->msg_engine;
	const struct m0_lnet_op *op = &msg->msg_op.mop_attr;
	struct m0_lnet_hdr      *hdr = &msg->msg_hdr;
	uint64_t                 half[2];

	hdr->lhd_type = type;
	hdr->lhd_dest_nid = op->lo_target.lp_nid;
	hdr->lhd_dest_pid = op->lo_target.lp_pid;
	hdr->lhd_src_pid = eng->le_cfg.lec_pid;
	hdr->lhd_match_bits = op->lo_match_bits;
	hdr->lhd_portal = op->lo_portal;
	hdr->lhd_offset = op->lo_offset;
	/* Set when a path is chosen. */
	hdr->lhd_src_nid = m0_lnet_nid_any;
	if (type == M0_LNET_PUT) {
		hdr->lhd_payload_bytes = (uint32_t)msg->msg_rlength;
		hdr->lhd_hdr_data = op->lo_hdr_data;
		hdr->lhd_length = 0;
	} else {
		hdr->lhd_payload_bytes = 0;
		hdr->lhd_hdr_data = 0;
		hdr->lhd_length = (uint32_t)msg->msg_rlength;
	}
	if (!answered) {
		hdr->lhd_wmd = m0_lnet__wmd_none;
		return;
	}
	msg->msg_op.mop_cookie = eng->le_cookie_next;
	eng->le_cookie_next += COOKIE_STEP;
	half[0] = eng->le_cfg.lec_cookie;
	half[1] = msg->msg_op.mop_cookie;
	memcpy(&hdr->lhd_wmd, half, sizeof hdr->lhd_wmd);
}

/* Completes an operation that was not started. */
static void op_refuse(struct m0_lnet_msg *msg, int status)
{
	struct m0_lnet_event *ev = msg->msg_event[0];
	struct m0_lnet_md    *md = msg->msg_md;

	M0_PRE(status < 0 && !msg->msg_op.mop_waits);
	msg->msg_md = NULL;
	op_fill(ev, msg, M0_LNET_EV_SEND, status);
	m0_lnet__event_post(msg->msg_engine, md, ev, msg);
	m0_lnet__msg_put(msg);
}

static int op_check(const struct m0_lnet_engine *eng,
		    const struct m0_lnet_md     *md)
{
	if (eng->le_shutdown && !m0_lnet__md_is_own(md))
		return -ESHUTDOWN;
	return md->md_dead || m0_lnet__md_is_exhausted(md) ? -ENOENT : 0;
}

static void op_begin(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg,
		     uint32_t type)
{
	struct m0_lnet_md       *md = msg->msg_md;
	const struct m0_lnet_op *op = &msg->msg_op.mop_attr;
	bool                     answered;
	int                      rc;

	M0_PRE_EX(m0_lnet__engine_invariant(eng));
	M0_PRE_EX(m0_lnet__md_invariant(md));
	M0_PRE_EX(op->lo_md_offset <= md->md_attr.mda_length);
	m0_lnet__msg_init(eng, msg);
	m0_lnet__msg_count(eng);
	msg->msg_md_offset = op->lo_md_offset;
	msg->msg_rlength = op->lo_bytes != 0
				   ? op->lo_bytes
				   : md->md_attr.mda_length - op->lo_md_offset;
	M0_PRE(msg->msg_rlength <= M0_LNET_MTU);
	m0_lnet__payload_set(msg, md, msg->msg_rlength);
	/* A GET carries a name for the answer even if the MD has only the SEND
	 * left to report. The answer is then dropped as stale. */
	answered = type == M0_LNET_GET || (op->lo_ack && md->md_threshold != 1);
	op_header(msg, type, answered);
	rc = op_check(eng, md);
	if (rc == 0 && answered && md->md_threshold != 1)
		rc = response_await(eng, msg);
	if (rc != 0) {
		op_refuse(msg, rc);
		return;
	}
	if (md->md_threshold > 0)
		--md->md_threshold;
	m0_lnet__md_get(md, msg);
	m0_lnet__md_used(eng, md);
	msg->msg_tx.mtx_sending = true;
	M0_ASSERT_EX(m0_lnet__msg_invariant(msg));
	m0_lnet__send(msg);
}

void m0_lnet_engine_put(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg)
{
	op_begin(eng, msg, M0_LNET_PUT);
}

void m0_lnet_engine_get(struct m0_lnet_engine *eng, struct m0_lnet_msg *msg)
{
	op_begin(eng, msg, M0_LNET_GET);
}

/* ----------------------------------------------------------------- the ends -- */

/* The send of an operation that may take any path has ended. */
static int spread_sent(struct m0_lnet_msg *msg, int status)
{
	M0_PRE(!m0_list_link_is_in(&msg->msg_tx.mtx_link));
	if (msg->msg_op.mop_waits)
		m0_list_add_tail(&msg->msg_engine->le_sick.lsk_spread,
				 &msg->msg_tx.mtx_link);
	return m0_lnet__again_status(msg, status);
}

/* Its path is lost: may another one exist? */
static bool has_another_path(const struct m0_lnet_msg *msg)
{
	return m0_lnet__again_status(msg, -ECONNRESET) == -EAGAIN;
}

/* Did the message leave by this NI to this hop? */
static bool is_by_hop(const struct m0_lnet_msg *msg,
		      const struct m0_lnet_ni  *ni,
		      const struct m0_lnet_nid *hop)
{
	return m0_lnet_nid_eq(&msg->msg_tx.mtx_lnd.ltx_nid, hop) &&
	       m0_lnet_nid_eq(&msg->msg_hdr.lhd_src_nid, &ni->lni_lnd.ldn_nid);
}

static bool is_ni_up(const struct m0_lnet_ni *ni)
{
	return m0_lnet__ni_is_usable(ni) && ni->lni_lnd.ldn_up;
}

/* Is the NI by which the message left down, and is another one up? */
static bool is_by_ni_down(const struct m0_lnet_msg *msg)
{
	const struct m0_lnet_engine *eng = msg->msg_engine;
	const struct m0_lnet_ni     *own =
		m0_lnet__ni_find(eng, &msg->msg_hdr.lhd_src_nid);
	const struct m0_lnet_ni *ni;

	if (own == NULL || is_ni_up(own))
		return false;
	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (ni != eng->le_lo && is_ni_up(ni))
			return true;
	return false;
}

/* Has its next hop reported this NI as down, and another one as up? */
static bool is_by_lpni_down(const struct m0_lnet_msg *msg)
{
	const struct m0_lnet_lpni *hop = m0_lnet__lpni_find(
		msg->msg_engine, &msg->msg_tx.mtx_lnd.ltx_nid);
	const struct m0_lnet_lpni *lpni;

	if (hop == NULL || !hop->lpn_reported_down)
		return false;
	m0_list_for_each_entry(&hop->lpn_peer->lpe_lpnis, lpni,
			       struct m0_lnet_lpni, lpn_link)
		if (!lpni->lpn_reported_down)
			return true;
	return false;
}

/* Is its answer lost with this hop (`ni` NULL: with a rail that is down)? */
static bool is_lost(const struct m0_lnet_msg *msg, const struct m0_lnet_ni *ni,
		    const struct m0_lnet_nid *hop)
{
	bool lost = ni != NULL ? is_by_hop(msg, ni, hop)
			       : is_by_ni_down(msg) || is_by_lpni_down(msg);

	return lost && has_another_path(msg);
}

static void lost_fail(struct m0_lnet_engine *eng, const struct m0_lnet_ni *ni,
		      const struct m0_lnet_nid *hop)
{
	struct m0_list       lost;
	struct m0_list_link *link;
	struct m0_lnet_msg  *msg;
	struct m0_lnet_msg  *next;

	m0_list_init(&lost);
	m0_list_for_each_entry_safe(&eng->le_sick.lsk_spread, msg, next,
				    struct m0_lnet_msg, msg_tx.mtx_link)
		if (is_lost(msg, ni, hop))
			m0_list_move_tail(&lost, &msg->msg_tx.mtx_link);
	while ((link = m0_list_first(&lost)) != NULL) {
		msg = m0_list_entry(link, struct m0_lnet_msg, msg_tx.mtx_link);
		m0_lnet__response_drop(msg);
		m0_lnet__response_fail(msg, -EAGAIN);
	}
}

void m0_lnet__hop_lost(const struct m0_lnet_ni  *ni,
		       const struct m0_lnet_nid *hop)
{
	lost_fail(ni->lni_engine, ni, hop);
}

void m0_lnet__rail_down(struct m0_lnet_engine *eng)
{
	lost_fail(eng, NULL, NULL);
}

/* The PUT or GET was sent, or could not be. */
static void op_sent(struct m0_lnet_msg *msg, int status)
{
	struct m0_lnet_event *ev = msg->msg_event[0];
	bool                  late;

	M0_PRE_EX(msg->msg_md != NULL);
	/* A peer that has answered has the message, whatever the driver
	 * reports. */
	if (msg->msg_op.mop_answered)
		status = 0;
	if (status != 0)
		m0_lnet__response_drop(msg);
	if (msg->msg_op.mop_attr.lo_spread)
		status = spread_sent(msg, status);
	late = msg->msg_op.mop_late && status == 0;
	op_fill(ev, msg, M0_LNET_EV_SEND, status);
	m0_lnet__md_event(msg->msg_engine, msg, ev,
			  !msg->msg_op.mop_waits &&
				  msg->msg_rx.mrx_lnd == NULL && !late);
	if (late)
		m0_lnet__response_fail(msg, -ETIMEDOUT);
}

/* Returns the GET to the driver, which has kept it for its REPLY. */
static void get_release(struct m0_lnet_msg *msg)
{
	struct m0_lnd_ni *ni = &msg->msg_rx.mrx_ni->lni_lnd;
	struct m0_lnd_rx *rx = msg->msg_tx.mtx_lnd.ltx_answers;

	M0_PRE(rx->lr_kept);
	msg->msg_tx.mtx_lnd.ltx_answers = NULL;
	ni->ldn_lnd->ld_ops->ldo_rx_release(ni, rx);
}

/* The answer to a peer was sent, or could not be. */
static void response_sent(struct m0_lnet_msg *msg, int status)
{
	struct m0_lnet_event *ev = msg->msg_event[0];

	M0_PRE_EX(msg->msg_tx.mtx_is_answer);
	if (M0_UNLIKELY(msg->msg_tx.mtx_is_forward)) {
		m0_lnet__forward_sent(msg, status);
		return;
	}
	if (M0_UNLIKELY(msg->msg_tx.mtx_lnd.ltx_answers != NULL))
		get_release(msg);
	m0_lnet__answer_end(msg);
	if (msg->msg_md == NULL) {
		m0_lnet__msg_put(msg);
		return;
	}
	ev->ev_status = status;
	m0_lnet__md_event(msg->msg_engine, msg, ev, true);
}

void m0_lnet__sent(struct m0_lnet_msg *msg, int status)
{
	M0_PRE_EX(m0_lnet__msg_invariant(msg) && status <= 0);
	M0_PRE(msg->msg_tx.mtx_sending);
	msg->msg_tx.mtx_sending = false;
	if (msg->msg_tx.mtx_is_answer)
		response_sent(msg, status);
	else
		op_sent(msg, status);
}
