/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Messages that arrive. Nothing that a peer sends is asserted on: a message
 * that violates the protocol closes its connection, another one is dropped and
 * counted, or finds its MD.
 */
#include "lnet/flow/again.h"
#include "lnet/fault/tap.h"
#include "lnet/flow/forward.h"
#include "lnet/health/health.h"

/** The header that is being handled. */
struct coming {
	struct m0_lnet_engine *cmi_eng;
	struct m0_lnet_ni     *cmi_ni;
	/** NULL: the sender is `0@lo`, or the table of peers is full. */
	struct m0_lnet_lpni *cmi_lpni;
	struct m0_lnd_rx    *cmi_rx;
	struct m0_lnet_nid   cmi_primary;
	struct m0_lnet_hdr   cmi_hdr;
};

/* ------------------------------------------------------- what goes wrong -- */

enum {
	DROP_LOG_EVERY_NS = 1000000000
};

/* Logs at most one line a second, so that peers cannot fill the log. */
static void drop_log(struct m0_lnet_engine *eng, const struct m0_lnd_rx *rx,
		     const char *why)
{
	char nid[M0_LNET_NIDSTR_SIZE];

	if (eng->le_now < eng->le_drop_log.lgr_at) {
		++eng->le_drop_log.lgr_nr;
		return;
	}
	m0_log(M0_LOG_WARN,
	       "lnet: %s breaks the protocol: %s; its connection is closed "
	       "(%" PRIu64 " more since the last such line)",
	       m0_lnet_nid_print(&rx->lr_nid, nid, sizeof nid), why,
	       eng->le_drop_log.lgr_nr);
	eng->le_drop_log.lgr_at = m0_time_add(eng->le_now, DROP_LOG_EVERY_NS);
	eng->le_drop_log.lgr_nr = 0;
}

static int refuse(const struct coming *in, const char *why)
{
	struct m0_lnet_stats *stats = &in->cmi_eng->le_stats;

	++stats->ls_proto_errors;
	++stats->ls_errors;
	drop_log(in->cmi_eng, in->cmi_rx, why);
	return -EPROTO;
}

/* Drops the message; the driver reads and discards its payload. */
static int drop(const struct coming *in, uint64_t *reason, const char *why)
{
	struct m0_lnet_stats *stats = &in->cmi_eng->le_stats;
	uint32_t              type = in->cmi_hdr.lhd_type;

	m0_probe_lnet_drop(in->cmi_ni->lni_text,
			   m0_lnet__lpni_text(in->cmi_lpni),
			   m0_lnet__type_name(type), why);
	if (M0_UNLIKELY(in->cmi_eng->le_faults != NULL))
		m0_lnet__tap_drop(in->cmi_eng, why);
	++*reason;
	++stats->ls_drop_count;
	stats->ls_drop_length += in->cmi_hdr.lhd_payload_bytes;
	m0_lnet__traffic_count(&in->cmi_ni->lni_traffic.lt_dropped, type);
	if (in->cmi_lpni != NULL)
		m0_lnet__traffic_count(&in->cmi_lpni->lpn_traffic.lt_dropped,
				       type);
	in->cmi_rx->lr_words[M0_LNET__RX_MARK] = 0;
	in->cmi_rx->lr_words[M0_LNET__RX_LAZY] = 0;
	in->cmi_rx->lr_payload.lpy_vec = NULL;
	in->cmi_rx->lr_payload.lpy_offset = 0;
	in->cmi_rx->lr_payload.lpy_bytes = 0;
	in->cmi_rx->lr_discard_bytes = in->cmi_hdr.lhd_payload_bytes;
	return 0;
}

/* ---------------------------------------------------------- what goes well -- */

/* The driver reads `bytes` of the payload to the memory of `msg`, and discards
 * the rest. */
static inline __attribute__((__always_inline__)) int take(
	const struct coming *in, const struct m0_lnet_msg *msg,
	m0_bcount_t bytes)
{
	struct m0_lnet_stats *stats = &in->cmi_eng->le_stats;
	struct m0_lnd_rx     *rx = in->cmi_rx;
	uint32_t              type = in->cmi_hdr.lhd_type;

	M0_PRE_EX(bytes <= in->cmi_hdr.lhd_payload_bytes);
	M0_PRE_EX(bytes <= msg->msg_payload.lpy_bytes);
	m0_probe_lnet_recv(in->cmi_ni->lni_text,
			   m0_lnet__lpni_text(in->cmi_lpni),
			   m0_lnet__type_name(type),
			   in->cmi_hdr.lhd_payload_bytes);
	++stats->ls_recv_count;
	stats->ls_recv_length += in->cmi_hdr.lhd_payload_bytes;
	m0_lnet__traffic_count(&in->cmi_ni->lni_traffic.lt_received, type);
	if (in->cmi_lpni != NULL)
		m0_lnet__traffic_count(&in->cmi_lpni->lpn_traffic.lt_received,
				       type);
	if (bytes == 0) {
		rx->lr_payload.lpy_vec = NULL;
		rx->lr_payload.lpy_offset = 0;
	} else {
		rx->lr_payload.lpy_vec = msg->msg_payload.lpy_vec;
		rx->lr_payload.lpy_offset = msg->msg_payload.lpy_offset;
	}
	rx->lr_payload.lpy_bytes = bytes;
	rx->lr_discard_bytes = in->cmi_hdr.lhd_payload_bytes - bytes;
	return 0;
}

/* Fills the event of a PUT or GET of a peer. */
static void request_event(struct m0_lnet_msg *msg, enum m0_lnet_event_type type,
			  int status)
{
	struct m0_lnet_event     *ev = msg->msg_event[0];
	const struct m0_lnet_hdr *hdr = &msg->msg_hdr;

	ev->ev_type = type;
	ev->ev_status = status;
	ev->ev_unlinked = false;
	ev->ev_op_user = NULL;
	m0_lnet__event_fill(ev, hdr, &msg->msg_rx.mrx_primary,
			    &msg->msg_rx.mrx_hop);
	ev->ev_portal = hdr->lhd_portal;
	ev->ev_match_bits = hdr->lhd_match_bits;
	ev->ev_hdr_data = hdr->lhd_hdr_data;
	ev->ev_rlength = msg->msg_rlength;
	ev->ev_mlength = msg->msg_payload.lpy_bytes;
	ev->ev_offset = msg->msg_md_offset;
	ev->ev_is_get = type == M0_LNET_EV_GET;
}

/* Turns the request into its answer, and sends that. */
static void answer(struct m0_lnet_msg *msg, uint32_t type)
{
	struct m0_lnet_hdr *hdr = &msg->msg_hdr;
	struct m0_lnet_nid  self = hdr->lhd_dest_nid;

	M0_PRE_EX(!msg->msg_tx.mtx_sending && msg->msg_rx.mrx_lnd == NULL);
	M0_PRE_EX(M0_IN(type, (M0_LNET_ACK, M0_LNET_REPLY)));
	hdr->lhd_type = type;
	hdr->lhd_dest_nid = hdr->lhd_src_nid;
	hdr->lhd_dest_pid = hdr->lhd_src_pid;
	hdr->lhd_src_nid = self;
	hdr->lhd_src_pid = msg->msg_engine->le_cfg.lec_pid;
	hdr->lhd_hdr_data = 0;
	hdr->lhd_portal = 0;
	hdr->lhd_offset = 0;
	if (type == M0_LNET_ACK) {
		hdr->lhd_payload_bytes = 0;
		hdr->lhd_length = (uint32_t)msg->msg_payload.lpy_bytes;
	} else {
		hdr->lhd_payload_bytes = (uint32_t)msg->msg_payload.lpy_bytes;
		hdr->lhd_match_bits = 0;
		hdr->lhd_length = 0;
	}
	msg->msg_tx.mtx_is_answer = true;
	msg->msg_tx.mtx_sending = true;
	m0_lnet__answer_begin(msg, &msg->msg_rx.mrx_hop);
	m0_lnet__send(msg);
}

/* Ends a PUT of a peer: its data has arrived, or will not. */
static void put_end(struct m0_lnet_msg *msg, int status)
{
	unsigned options = msg->msg_md->md_attr.mda_options;
	bool     ack = status == 0 && (options & M0_LNET_MD_ACK_DISABLE) == 0 &&
		   !m0_lnet__wmd_is_none(&msg->msg_hdr.lhd_wmd);

	M0_PRE_EX(m0_lnet__msg_invariant(msg) && status <= 0);
	request_event(msg, M0_LNET_EV_PUT, status);
	if (ack)
		m0_lnet__msg_get(msg);
	m0_lnet__md_event(msg->msg_engine, msg, msg->msg_event[0], true);
	if (ack)
		answer(msg, M0_LNET_ACK);
}

/* Does the driver keep a GET until its REPLY has left? */
static bool keeps_gets(const struct m0_lnet_ni *ni)
{
	const struct m0_lnd *lnd = ni->lni_lnd.ldn_lnd;

	return lnd != NULL && lnd->ld_ops->ldo_rx_release != NULL;
}

static bool is_ping(const struct m0_lnet_hdr *hdr)
{
	return hdr->lhd_portal == M0_LNET_PORTAL_RESERVED &&
	       hdr->lhd_match_bits == M0_LNET__PING_BITS;
}

static int matched(const struct coming *in, struct m0_lnet_msg *msg)
{
	struct m0_lnd_rx *rx = in->cmi_rx;
	int               rc;

	M0_PRE_EX(msg->msg_md != NULL && rx->lr_priv == NULL);
	rx->lr_words[M0_LNET__RX_MARK] = 0;
	rx->lr_words[M0_LNET__RX_LAZY] = 0;
	msg->msg_rx.mrx_ni = in->cmi_ni;
	msg->msg_rx.mrx_hop = rx->lr_nid;
	if (in->cmi_hdr.lhd_type == M0_LNET_PUT) {
		rc = take(in, msg, msg->msg_payload.lpy_bytes);
		m0_lnet__msg_state_set(msg, M0_LNET_MSG_COMING);
		msg->msg_rx.mrx_lnd = rx;
		rx->lr_priv = msg;
		return rc;
	}
	rc = take(in, msg, 0);
	request_event(msg, M0_LNET_EV_GET, 0);
	/* The REPLY to a ping reports the interface up that the ping came by. */
	if (M0_UNLIKELY(in->cmi_ni->lni_is_silent) && is_ping(&in->cmi_hdr))
		in->cmi_eng->le_hooks->lhk_pinged(in->cmi_eng, in->cmi_ni);
	if (keeps_gets(in->cmi_ni)) {
		rx->lr_kept = true;
		msg->msg_tx.mtx_lnd.ltx_answers = rx;
	}
	answer(msg, M0_LNET_REPLY);
	return rc;
}

/**
 * Matches a request. A push finds a free buffer even if all of them are in use.
 */
static enum m0_lnet_match request_match(const struct coming *in,
					struct m0_lnet_msg  *msg)
{
	const struct m0_lnet_hdr *hdr = &in->cmi_hdr;
	enum m0_lnet_match        match;

	match = m0_lnet__portal_match(in->cmi_eng, msg, false);
	if (M0_UNLIKELY(match == M0_LNET_MATCH_NONE &&
			hdr->lhd_type == M0_LNET_PUT && is_ping(hdr) &&
			in->cmi_eng->le_hooks->lhk_push_room(in->cmi_eng)))
		match = m0_lnet__portal_match(in->cmi_eng, msg, false);
	return match;
}

/*
 * Returns true if an entry for the request may be on its way to the engine: the
 * sender may know that the entry was attached before the engine does. So may another
 * process of this node.
 */
static bool is_behind(const struct coming *in)
{
	struct m0_lnet_engine *eng = in->cmi_eng;

	return in->cmi_hdr.lhd_portal != M0_LNET_PORTAL_RESERVED &&
	       eng->le_cfg.lec_owner_ops->ho_is_behind(
		       eng->le_cfg.lec_owner,
		       &in->cmi_rx->lr_words[M0_LNET__RX_MARK]);
}

/* Matches an entry that is LAST, unless another entry may be on its way. */
static enum m0_lnet_match late_match(const struct coming *in,
				     struct m0_lnet_msg  *msg,
				     enum m0_lnet_match   match)
{
	if (match != M0_LNET_MATCH_NONE && match != M0_LNET_MATCH_LAST)
		return match;
	if (is_behind(in) ||
	    m0_lnet__is_held(in->cmi_eng, &in->cmi_hdr, in->cmi_rx))
		return M0_LNET_MATCH_LATER;
	return match == M0_LNET_MATCH_NONE
		       ? match
		       : m0_lnet__portal_match(in->cmi_eng, msg, true);
}

static int unmatched(const struct coming *in, struct m0_lnet_msg *msg,
		     enum m0_lnet_match match)
{
	struct m0_lnet_engine *eng = in->cmi_eng;
	struct m0_lnet_stats  *stats = &eng->le_stats;

	M0_PRE(match != M0_LNET_MATCH_OK && msg->msg_md == NULL);
	m0_lnet__msg_put(msg);
	if (match == M0_LNET_MATCH_LATER)
		return -EAGAIN;
	if (match == M0_LNET_MATCH_TOO_BIG)
		return drop(in, &stats->ls_drop_too_big, "too big");
	if (match == M0_LNET_MATCH_NO_ROOM)
		return drop(in, &stats->ls_drop_no_room, "no room");
	if (in->cmi_hdr.lhd_type == M0_LNET_PUT &&
	    m0_lnet__portal_is_lazy(eng, in->cmi_hdr.lhd_portal,
				    &in->cmi_rx->lr_words[M0_LNET__RX_LAZY]))
		return -EAGAIN;
	return drop(in, &stats->ls_drop_no_match, "no match");
}

static int request_in(struct coming *in)
{
	struct m0_lnet_engine *eng = in->cmi_eng;
	struct m0_lnet_msg    *msg = NULL;
	enum m0_lnet_match     match;

	/* Nothing has changed in this pass. */
	if (M0_UNLIKELY(in->cmi_rx->lr_words[M0_LNET__RX_MARK] != 0) &&
	    is_behind(in))
		return -EAGAIN;
	if (M0_LIKELY(!m0_lnet__lpni_is_over_quota(eng, in->cmi_lpni)))
		msg = m0_lnet__msg_new(eng);
	if (msg == NULL)
		return -EAGAIN;
	msg->msg_hdr = in->cmi_hdr;
	msg->msg_rx.mrx_primary = in->cmi_primary;
	match = request_match(in, msg);
	if (M0_UNLIKELY(match != M0_LNET_MATCH_OK))
		match = late_match(in, msg, match);
	if (M0_UNLIKELY(match != M0_LNET_MATCH_OK))
		return unmatched(in, msg, match);
	return matched(in, msg);
}

/* ------------------------------------------------------------- responses -- */

/*
 * Finds the operation that this response is for; NULL: none waits, or for a
 * response of the other kind.
 */
static struct m0_lnet_msg *waiting(const struct coming *in, uint32_t type)
{
	struct m0_lnet_msg *msg =
		m0_lnet__response_find(in->cmi_eng, &in->cmi_hdr.lhd_wmd);

	return msg != NULL && msg->msg_hdr.lhd_type == type ? msg : NULL;
}

/* Takes the response; another one for the operation is dropped from now on. */
static struct m0_lnet_event *response_take(const struct coming *in,
					   struct m0_lnet_msg  *msg)
{
	struct m0_lnet_event *ev = m0_lnet__response_event(msg);
	struct m0_lnet_md    *md = msg->msg_md;

	M0_PRE_EX(msg->msg_op.mop_waits && md != NULL);
	m0_lnet__response_drop(msg);
	m0_lnet__latency_count(&in->cmi_ni->lni_responses,
			       m0_time_sub(in->cmi_eng->le_now,
					   msg->msg_op.mop_since));
	msg->msg_op.mop_answered = true;
	m0_lnet__event_fill(ev, &in->cmi_hdr, &in->cmi_primary,
			    &in->cmi_rx->lr_nid);
	ev->ev_status = 0;
	if (md->md_threshold > 0)
		--md->md_threshold;
	m0_lnet__md_used(in->cmi_eng, md);
	return ev;
}

static int ack_in(const struct coming *in)
{
	struct m0_lnet_msg   *msg = waiting(in, M0_LNET_PUT);
	struct m0_lnet_event *ev;

	if (msg == NULL)
		return drop(in, &in->cmi_eng->le_stats.ls_drop_stale, "stale");
	take(in, msg, 0);
	ev = response_take(in, msg);
	ev->ev_match_bits = in->cmi_hdr.lhd_match_bits;
	/* Not more than was sent, whatever the peer's header has. */
	ev->ev_mlength = min64u(in->cmi_hdr.lhd_length, msg->msg_rlength);
	m0_lnet__response_end(msg, msg->msg_event[1]);
	return 0;
}

static int reply_in(const struct coming *in)
{
	struct m0_lnet_msg   *msg = waiting(in, M0_LNET_GET);
	struct m0_lnet_event *ev;
	m0_bcount_t           bytes = in->cmi_hdr.lhd_payload_bytes;

	if (msg == NULL)
		return drop(in, &in->cmi_eng->le_stats.ls_drop_stale, "stale");
	if (bytes > msg->msg_rlength) {
		if ((msg->msg_md->md_attr.mda_options & M0_LNET_MD_TRUNCATE) ==
		    0)
			return drop(in, &in->cmi_eng->le_stats.ls_drop_too_big,
				    "too big");
		bytes = msg->msg_rlength;
	}
	take(in, msg, bytes);
	/* mrx_lnd keeps the message alive, even if the MD ends now. */
	msg->msg_rx.mrx_lnd = in->cmi_rx;
	msg->msg_rx.mrx_ni = in->cmi_ni;
	in->cmi_rx->lr_priv = msg;
	ev = response_take(in, msg);
	ev->ev_rlength = in->cmi_hdr.lhd_payload_bytes;
	ev->ev_mlength = bytes;
	ev->ev_offset = msg->msg_md_offset;
	return 0;
}

/* --------------------------------------------------------------- guesses -- */

enum {
	/* After a wrong guess the driver has to move bytes; so many GETs are
	 * not guessed. */
	UNGUESSED_NR = 16
};

/* Returns the GET whose REPLY is expected next; NULL: no guess. */
static struct m0_lnet_msg *guess(const struct m0_lnet_engine *eng)
{
	return eng->le_gets_nr == 1 && eng->le_faults == NULL ? eng->le_get
							      : NULL;
}

void m0_lnet__rx_guess(struct m0_lnd_ni *ni, const struct m0_lnd_rx *rx,
		       struct m0_lnd_payload *ret)
{
	const struct m0_lnet_msg *msg =
		guess(container_of(ni, struct m0_lnet_ni, lni_lnd)->lni_engine);

	ret->lpy_bytes = 0;
	if (msg == NULL ||
	    !m0_lnet_nid_eq(&msg->msg_tx.mtx_lnd.ltx_nid, &rx->lr_nid))
		return;
	*ret = msg->msg_payload;
}

bool m0_lnet__rx_guessed(struct m0_lnd_ni *ni, const void *bytes, bool large)
{
	struct m0_lnet_engine *eng =
		container_of(ni, struct m0_lnet_ni, lni_lnd)->lni_engine;
	const struct m0_lnet_msg *msg = guess(eng);
	struct m0_lnet_hdr        hdr;

	if (M0_LIKELY(msg != NULL &&
		      m0_lnet__hdr_decode(&hdr, large, bytes) == 0 &&
		      hdr.lhd_type == M0_LNET_REPLY &&
		      hdr.lhd_payload_bytes == msg->msg_rlength &&
		      m0_lnet__response_find(eng, &hdr.lhd_wmd) == msg))
		return true;
	eng->le_get = NULL;
	eng->le_unguessed_nr = UNGUESSED_NR;
	return false;
}

/* -------------------------------------------------------------- up calls -- */

/* Returns what is wrong with the payload; NULL: nothing. */
static const char *payload_flaw(const struct m0_lnet_hdr *hdr)
{
	bool empty = hdr->lhd_type == M0_LNET_ACK ||
		     hdr->lhd_type == M0_LNET_GET;

	if (empty && hdr->lhd_payload_bytes != 0)
		return "an ACK or GET with payload";
	return hdr->lhd_payload_bytes > M0_LNET_PAYLOAD_MAX
		       ? "a payload above 1 MiB"
		       : NULL;
}

/*
 * Returns what is wrong with the header; NULL: nothing. *ours: the message is
 * for this interface.
 */
static const char *flaw(const struct coming *in, bool *ours)
{
	const struct m0_lnet_hdr *hdr = &in->cmi_hdr;
	const struct m0_lnet_nid *self = &in->cmi_ni->lni_lnd.ldn_nid;
	const char               *why = payload_flaw(hdr);

	if (why != NULL)
		return why;
	if (m0_lnet_nid_is_any(&hdr->lhd_src_nid) ||
	    (m0_lnet_nid_is_lo(&hdr->lhd_src_nid) && !m0_lnet_nid_is_lo(self)))
		return "a source that cannot be";
	*ours = m0_lnet_nid_eq(&hdr->lhd_dest_nid, self) ||
		(in->cmi_ni == in->cmi_eng->le_lo &&
		 m0_lnet__ni_find(in->cmi_eng, &hdr->lhd_dest_nid) != NULL);
	if (*ours)
		return NULL;
	if (m0_lnet_nid_net(&hdr->lhd_dest_nid) == m0_lnet_nid_net(self))
		return "a message for another node of this network";
	if (m0_lnet__ni_find(in->cmi_eng, &hdr->lhd_dest_nid) != NULL)
		return "a message for another interface of this node";
	return NULL;
}

static const char unreadable[] =
	"a header of unknown type or with a NID that cannot be";

/*
 * Decodes and checks the header. @return 0, and *ours: the message is for this
 * interface; or the result of refuse().
 */
static int vet(struct coming *in, const void *bytes, bool large, bool *ours)
{
	const char *why;

	*ours = true;
	if (m0_lnet__hdr_decode(&in->cmi_hdr, large, bytes) != 0)
		return refuse(in, unreadable);
	why = flaw(in, ours);
	return why == NULL ? 0 : refuse(in, why);
}

static __attribute__((__noinline__)) int response_in(const struct coming *in)
{
	return in->cmi_hdr.lhd_type == M0_LNET_ACK ? ack_in(in) : reply_in(in);
}

static int checked_in(struct coming *in)
{
	uint32_t type = in->cmi_hdr.lhd_type;

	return type == M0_LNET_ACK || type == M0_LNET_REPLY ? response_in(in)
							    : request_in(in);
}

/* Takes a message that this node is to forward, as its router. */
static __attribute__((__noinline__)) int forward_in(struct coming *in)
{
	struct m0_lnet_engine *eng = in->cmi_eng;
	uint32_t               type = in->cmi_hdr.lhd_type;
	const char            *why;
	int                    rc;

	/* Without routing, senders of such messages are not remembered. */
	if (m0_lnet__router(eng)->lrr_state == M0_LNET_ROUTING_OFF)
		return drop(in, &eng->le_stats.ls_drop_not_ours,
			    "routing is off");
	if (in->cmi_rx->lr_words[M0_LNET__RX_WAITS] == 0) {
		in->cmi_lpni = m0_lnet__hop_received(eng, &in->cmi_rx->lr_nid);
		m0_lnet__health_received(in->cmi_ni, in->cmi_lpni);
	} else {
		/* A message that waits is no new sign of life. */
		in->cmi_lpni = m0_lnet__lpni_find(eng, &in->cmi_rx->lr_nid);
	}
	rc = m0_lnet__forward_begin(in->cmi_ni, in->cmi_rx, &in->cmi_hdr,
				    in->cmi_lpni, &why);
	if (rc == -EAGAIN)
		return rc;
	if (rc != 0)
		return drop(in, &eng->le_stats.ls_drop_not_ours, why);
	m0_lnet__traffic_count(&in->cmi_ni->lni_traffic.lt_received, type);
	if (in->cmi_lpni != NULL)
		m0_lnet__traffic_count(&in->cmi_lpni->lpn_traffic.lt_received,
				       type);
	return 0;
}

/* Returns true if a message came by a router that the answer could not take. */
static bool is_asymmetric(const struct coming *in)
{
	const struct m0_lnet_engine *eng = in->cmi_eng;
	const struct m0_lnet_nid    *src = &in->cmi_hdr.lhd_src_nid;
	const struct m0_lnet_lpni   *hop;

	if (!eng->le_cfg.lec_route.lrc_drop_asym || in->cmi_ni == eng->le_lo ||
	    m0_lnet_nid_net(src) == m0_lnet_nid_net(&in->cmi_rx->lr_nid))
		return false;
	hop = m0_lnet__lpni_find(eng, &in->cmi_rx->lr_nid);
	return hop == NULL ||
	       !m0_lnet__far_is_by(eng, m0_lnet_nid_net(src), hop->lpn_peer);
}

/* Makes a record of a sender behind a router, if a route leads back to it, so that
 * this node notifies it of changes. */
static void sender_keep(const struct coming *in)
{
	struct m0_lnet_engine    *eng = in->cmi_eng;
	const struct m0_lnet_nid *src = &in->cmi_hdr.lhd_src_nid;
	struct m0_lnet_lpni      *lpni;

	if (m0_lnet__routes(eng)->lrs_nr == 0 ||
	    m0_lnet_nid_eq(src, &in->cmi_rx->lr_nid) ||
	    m0_lnet__far_find(eng, m0_lnet_nid_net(src)) == NULL)
		return;
	lpni = m0_lnet__lpni_get(eng, src);
	if (lpni != NULL)
		m0_lnet__lpni_put(eng, lpni);
}

static int sound_in(struct coming *in, bool ours)
{
	struct m0_lnet_engine *eng = in->cmi_eng;

	if (!ours)
		return forward_in(in);
	if (M0_UNLIKELY(is_asymmetric(in)))
		return drop(in, &eng->le_stats.ls_drop_not_ours,
			    "an asymmetric route");
	sender_keep(in);
	in->cmi_lpni = m0_lnet__peer_received(eng, &in->cmi_hdr.lhd_src_nid,
					      &in->cmi_rx->lr_nid,
					      &in->cmi_primary);
	m0_lnet__health_received(in->cmi_ni, in->cmi_lpni);
	return checked_in(in);
}

/*
 * Returns true if the message is for the interface by which it arrives, and
 * from the last sender. Most messages are; their NIDs need no further check.
 */
static bool is_again(const struct coming *in, const void *bytes)
{
	const struct m0_lnet_lpni *lpni = m0_lnet__cache_sender(in->cmi_eng);

	return lpni != NULL &&
	       m0_lnet__hdr_is_between(bytes, in->cmi_ni->lni_nid4,
				       lpni->lpn_nid4) &&
	       m0_lnet_nid_eq(&lpni->lpn_nid, &in->cmi_rx->lr_nid);
}

static int again_in(struct coming *in, const void *bytes)
{
	struct m0_lnet_lpni *lpni = in->cmi_eng->le_cache.lch_sender;
	const char          *why;

	in->cmi_hdr.lhd_dest_nid = in->cmi_ni->lni_lnd.ldn_nid;
	in->cmi_hdr.lhd_src_nid = lpni->lpn_nid;
	if (M0_UNLIKELY(m0_lnet__hdr_decode_rest(&in->cmi_hdr, bytes) != 0))
		return refuse(in, unreadable);
	why = payload_flaw(&in->cmi_hdr);
	if (M0_UNLIKELY(why != NULL))
		return refuse(in, why);
	in->cmi_lpni = lpni;
	in->cmi_primary = lpni->lpn_peer->lpe_primary;
	m0_lnet__lpni_received(in->cmi_eng, lpni);
	/* With less than full health the last sender is not cached: each rise
	 * of it changes the topology. */
	return checked_in(in);
}

/* Handles the message by the fault rules, which exist. */
static __attribute__((__cold__, __noinline__)) int faulty_in(struct coming *in,
							     const void *bytes,
							     bool        large,
							     bool        ours)
{
	struct m0_lnd_rx *rx = in->cmi_rx;
	size_t   nr = large ? M0_LNET_HDR_LARGE_BYTES : M0_LNET_HDR_BYTES;
	uint8_t  copy[M0_LND_HDR_BYTES_MAX];
	unsigned acts;
	int      rc = 0;
	struct m0_lnet__tap_coming coming = { .tpx_ni = in->cmi_ni,
					      .tpx_rx = rx,
					      .tpx_hdr = &in->cmi_hdr };

	M0_PRE(in->cmi_eng->le_faults != NULL);
	acts = m0_lnet__fault_in(in->cmi_ni, rx, &in->cmi_hdr);
	m0_lnet__tap_begin(in->cmi_eng, &coming);
	if ((acts & M0_LNET__FAULT_DROP) != 0) {
		rc = drop(in, &in->cmi_eng->le_stats.ls_drop_fault,
			  "fault rule");
		m0_lnet__tap_end(in->cmi_eng, rc);
		rx->lr_words[M0_LNET__RX_FAULTS] = 0;
		return rc;
	}
	if ((acts & M0_LNET__FAULT_DELAY) != 0) {
		m0_lnet__tap_end(in->cmi_eng, -EAGAIN);
		return -EAGAIN;
	}
	if ((acts & M0_LNET__FAULT_HEADER) != 0) {
		memcpy(copy, bytes, nr);
		m0_lnet__fault_header(rx, copy, nr);
		rc = vet(in, copy, large, &ours);
	}
	if (rc == 0)
		rc = sound_in(in, ours);
	m0_lnet__tap_end(in->cmi_eng, rc);
	if (rc == -EAGAIN)
		return rc;
	if (rc == 0 && (acts & M0_LNET__FAULT_PAYLOAD) != 0)
		m0_lnet__fault_payload_mark(rx);
	rx->lr_words[M0_LNET__RX_FAULTS] = 0;
	return rc;
}

/* Handles a message of a sender that is not the last one. */
static __attribute__((__noinline__)) int first_in(struct coming *in,
						  const void *bytes, bool large)
{
	bool ours;
	int  rc = vet(in, bytes, large, &ours);

	if (M0_UNLIKELY(rc != 0))
		return rc;
	if (M0_UNLIKELY(in->cmi_eng->le_faults != NULL) &&
	    (ours ||
	     m0_lnet__router(in->cmi_eng)->lrr_state != M0_LNET_ROUTING_OFF))
		return faulty_in(in, bytes, large, ours);
	return sound_in(in, ours);
}

int m0_lnet__rx_begin(struct m0_lnd_ni *ni, struct m0_lnd_rx *rx,
		      const void *bytes, bool large)
{
	struct coming in;

	in.cmi_ni = container_of(ni, struct m0_lnet_ni, lni_lnd);
	in.cmi_eng = in.cmi_ni->lni_engine;
	M0_PRE_EX(m0_lnet__engine_invariant(in.cmi_eng));
	in.cmi_lpni = NULL;
	in.cmi_rx = rx;
	rx->lr_cancelled = false;
	rx->lr_offered = false;
	rx->lr_kept = false;
	rx->lr_priv = NULL;
	if (M0_LIKELY(!large && in.cmi_eng->le_faults == NULL &&
		      is_again(&in, bytes)))
		return again_in(&in, bytes);
	return first_in(&in, bytes, large);
}

/* Ends the arrival of a message, whose mrx_lnd is NULL. */
static void rx_end(struct m0_lnet_msg *msg, int status)
{
	M0_PRE_EX(msg->msg_rx.mrx_lnd == NULL);
	if (M0_UNLIKELY(msg->msg_md == NULL)) {
		m0_lnet__forward_come(msg, status);
		return;
	}
	if (msg->msg_state == M0_LNET_MSG_COMING) {
		put_end(msg, status);
		return;
	}
	if (M0_UNLIKELY(status != 0) && msg->msg_op.mop_attr.lo_spread)
		status = m0_lnet__again_status(msg, status);
	msg->msg_event[1]->ev_status = status;
	m0_lnet__response_end(msg, msg->msg_event[1]);
}

void m0_lnet__rx_cancel(struct m0_lnet_msg *msg)
{
	struct m0_lnd_ni *ni = &msg->msg_rx.mrx_ni->lni_lnd;
	struct m0_lnd_rx *rx = msg->msg_rx.mrx_lnd;

	M0_PRE(rx != NULL);
	rx->lr_cancelled = true;
	if (ni->ldn_lnd != NULL && ni->ldn_lnd->ld_ops->ldo_rx_cancel != NULL)
		ni->ldn_lnd->ld_ops->ldo_rx_cancel(ni, rx);
	m0_lnet__tap_cancel(msg, rx);
	rx->lr_pipe = NULL;
	rx->lr_priv = NULL;
	msg->msg_rx.mrx_lnd = NULL;
}

void m0_lnet__rx_cut(struct m0_lnet_msg *msg, int status)
{
	M0_PRE(msg->msg_rx.mrx_lnd != NULL && status < 0);
	/* A peer may write there: it ends by lu_rx_done. */
	if (M0_UNLIKELY(msg->msg_rx.mrx_lnd->lr_offered)) {
		msg->msg_rx.mrx_lnd->lr_cancelled = true;
		return;
	}
	m0_lnet__rx_cancel(msg);
	rx_end(msg, status);
}

/** Ends the arrival of a message that failed, was cut, or that fault rules or taps are
 * about. */
static __attribute__((__cold__, __noinline__)) void rx_done_rarely(
	struct m0_lnet_msg *msg, struct m0_lnd_rx *rx, int status,
	enum m0_lnd_health health)
{
	if (msg->msg_faults != 0)
		m0_lnet__tap_come(msg, rx, status);
	if (status != 0) {
		++msg->msg_engine->le_stats.ls_errors;
		m0_lnet__failure_count(&msg->msg_rx.mrx_ni->lni_failures,
				       health);
	} else if (rx->lr_cancelled) {
		/* All of it came after the cut: report no success to its sender. */
		status = m0_lnet__abort_status(msg->msg_engine);
	}
	rx_end(msg, status);
}

void m0_lnet__rx_done(struct m0_lnd_rx *rx, int status,
		      enum m0_lnd_health health)
{
	struct m0_lnet_msg *msg = rx->lr_priv;

	M0_PRE_EX(status <= 0);
	if (msg == NULL)
		return;
	M0_ASSERT_EX(msg->msg_rx.mrx_lnd == rx);
	rx->lr_priv = NULL;
	msg->msg_rx.mrx_lnd = NULL;
	if (M0_UNLIKELY(msg->msg_faults != 0 || status != 0 ||
			rx->lr_cancelled)) {
		rx_done_rarely(msg, rx, status, health);
		return;
	}
	rx_end(msg, 0);
}
