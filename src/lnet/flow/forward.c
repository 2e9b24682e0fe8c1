/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Messages of other nodes that this node forwards as a router: a message is received
 * whole into a router buffer, then sent on with its header unchanged. In order: the
 * way on, a router credit of the peer that the message came by, a buffer of the pool
 * for its size, of which half at most go to one next hop. Without one of the last two
 * the message is not read, and its connection waits, for HELD_NS at the longest: then
 * the message is dropped. What has a buffer leaves within the time of the driver, or
 * is dropped.
 *
 * With cut-through a large message leaves when half of it is there, if the next hop is
 * a Colibri node. It keeps its buffer, and its sender gets the acknowledgement of the
 * driver when all of it has arrived. If the rest does not arrive, the driver closes a
 * connection to the next hop, because a part of a message cannot be taken back. A node
 * of Lustre would close all connections of this node then.
 */
#include "lnet/flow/cut.h"
#include "lnet/flow/forward.h"
#include "lnet/flow/select.h"

enum {
	/** Least payload that is worth a pipe. */
	SPLICE_BYTES_MIN = 64 << 10
};
/** A message that has waited so long for a buffer is dropped, so that what stands
 * behind it is read. A next hop that has taken no message for so long is stuck. */
#define HELD_NS (10 * M0_TIME_ONE_SECOND)
/** A message that leaves while it arrives has this time to arrive: others wait behind
 * it. */
#define CUT_NS (5 * M0_TIME_ONE_SECOND)
/** Pause between two searches for messages to next hops that are stuck. */
#define RETURN_NS M0_TIME_ONE_SECOND

static struct m0_lnet_fwd *fwd_of(struct m0_lnet_msg *msg)
{
	M0_PRE(msg->msg_tx.mtx_is_forward);
	return container_of(msg, struct m0_lnet_fwd, fwd_msg);
}

/* -- beginning ------------------------------------------------------------- */

/**
 * Handles a message whose source is this node. It proves a loop if an operation
 * waits for the response to it: anyone can write such a source.
 */
static const char *loop_found(struct m0_lnet_engine    *eng,
			      const struct m0_lnet_hdr *hdr)
{
	const struct m0_lnet_msg *msg =
		m0_lnet__response_find(eng, &hdr->lhd_wmd);

	if (msg == NULL || msg->msg_hdr.lhd_type != hdr->lhd_type)
		return "its source is this node";
	++m0_lnet__router(eng)->lrr_loops_nr;
	m0_lnet__route_loops(eng, m0_lnet_nid_net(&msg->msg_hdr.lhd_dest_nid),
			     &msg->msg_tx.mtx_lnd.ltx_nid);
	return "the message came back";
}

/** Returns why the message is not forwarded; NULL: it may be. *to: the next hop, as
 * far as it is known as a peer. */
static const char *way_find(struct m0_lnet_engine     *eng,
			    const struct m0_lnet_hdr  *hdr,
			    const struct m0_lnet_lpni *hop,
			    struct m0_lnet_lpni **to, bool *may_splice)
{
	const struct m0_lnet_peer *from = hop == NULL ? NULL : hop->lpn_peer;
	struct m0_lnet__path path = m0_lnet__forward_select(eng, hdr, from);

	if (path.pth_ni == NULL)
		return "no route";
	*may_splice = path.pth_ni->lni_lnd.ldn_splices;
	*to = path.pth_lpni != NULL
		      ? path.pth_lpni
		      : m0_lnet__lpni_find(eng, &hdr->lhd_dest_nid);
	return from != NULL && *to != NULL && (*to)->lpn_peer == from
		       ? "the message would go back"
		       : NULL;
}

/** Gives a large message that comes in by `ni` the pipe of its buffer. */
static void splice_begin(struct m0_lnet_fwd *fwd, const struct m0_lnd_ni *ni,
			 struct m0_lnd_rx *rx)
{
	struct m0_lnet_engine *eng = fwd->fwd_msg.msg_engine;

	/* A fault rule may change bytes. */
	if (!eng->le_cfg.lec_route.lrc_splice || eng->le_faults != NULL ||
	    !ni->ldn_splices || rx->lr_payload.lpy_bytes < SPLICE_BYTES_MIN)
		return;
	rx->lr_pipe = m0_lnet__fwd_pipe(eng, fwd, ni);
	fwd->fwd_msg.msg_tx.mtx_lnd.ltx_pipe = rx->lr_pipe;
}

/** Counts the bytes of a message that has left which went through a pipe. */
static void splice_count(struct m0_lnet_router    *router,
			 const struct m0_lnd_pipe *pipe)
{
	if (pipe == NULL || pipe->lnp_gone == 0)
		return;
	++router->lrr_spliced_nr;
	router->lrr_spliced_bytes += pipe->lnp_gone;
}

/** Returns true if the next hop takes none of the messages that are to leave. */
static bool is_stuck(const struct m0_lnet_engine *eng,
		     const struct m0_lnet_lpni   *to)
{
	return to != NULL && to->lpn_fwds_out_nr > 0 &&
	       eng->le_now >= m0_time_add(to->lpn_fwds_left_at, HELD_NS);
}

static void credit_return(struct m0_lnet_fwd *fwd)
{
	struct m0_lnet_lpni *hop = fwd->fwd_msg.msg_rx.mrx_asked_by;

	if (!fwd->fwd_has_credit)
		return;
	M0_ASSERT(hop != NULL && hop->lpn_fwds_nr > 0);
	--hop->lpn_fwds_nr;
	fwd->fwd_has_credit = false;
}

/** Returns the router credits of messages to next hops that are stuck: they would
 * keep a peer from sending to the others. Their buffers stay within half of a pool. */
static void credits_return(struct m0_lnet_engine *eng)
{
	struct m0_lnet_router *router = m0_lnet__router(eng);
	struct m0_lnet_fwd    *fwd;

	if (eng->le_now < router->lrr_return_at)
		return;
	router->lrr_return_at = m0_time_add(eng->le_now, RETURN_NS);
	m0_list_for_each_entry(&router->lrr_used, fwd, struct m0_lnet_fwd,
			       fwd_link)
		if (fwd->fwd_msg.msg_tx.mtx_sending &&
		    (is_stuck(eng, fwd->fwd_to) ||
		     eng->le_now >= m0_time_add(fwd->fwd_out_at, HELD_NS)))
			credit_return(fwd);
}

/** Returns true if the peer has used up its router credits. */
static bool is_out_of_credits(struct m0_lnet_ni         *ni,
			      const struct m0_lnet_lpni *hop)
{
	unsigned max = m0_lnet__router_credits(ni);

	if (hop == NULL || hop->lpn_fwds_nr < max)
		return false;
	credits_return(ni->lni_engine);
	return hop->lpn_fwds_nr >= max;
}

/** Notes that the message waits. @return false: it has waited too long. */
static bool may_wait(const struct m0_lnet_engine *eng, struct m0_lnd_rx *rx)
{
	uint64_t *since = &rx->lr_words[M0_LNET__RX_WAITS];

	if (*since == 0)
		*since = eng->le_now;
	return eng->le_now < m0_time_add(*since, HELD_NS);
}

static void fwd_begin(struct m0_lnet_fwd *fwd, struct m0_lnet_ni *ni,
		      struct m0_lnd_rx *rx, const struct m0_lnet_hdr *hdr,
		      struct m0_lnet_lpni *hop, struct m0_lnet_lpni *to)
{
	struct m0_lnet_engine *eng = ni->lni_engine;
	struct m0_lnet_msg    *msg = &fwd->fwd_msg;

	M0_PRE(hdr->lhd_payload_bytes <= fwd->fwd_bytes);
	msg->msg_md = NULL;
	m0_lnet__msg_init(eng, msg);
	msg->msg_hdr = *hdr;
	msg->msg_payload = (struct m0_lnd_payload){
		.lpy_vec = &fwd->fwd_vec,
		.lpy_bytes = hdr->lhd_payload_bytes,
	};
	msg->msg_rlength = hdr->lhd_payload_bytes;
	msg->msg_tx.mtx_is_answer = true;
	msg->msg_tx.mtx_is_forward = true;
	msg->msg_rx.mrx_ni = ni;
	msg->msg_rx.mrx_hop = rx->lr_nid;
	msg->msg_rx.mrx_asked_by = hop;
	if (hop != NULL) {
		m0_lnet__lpni_hold(eng, hop);
		++hop->lpn_fwds_nr;
		hop->lpn_fwds_max =
			max_check(hop->lpn_fwds_max, hop->lpn_fwds_nr);
	}
	fwd->fwd_has_credit = hop != NULL;
	fwd->fwd_is_cut = false;
	M0_SET0(&fwd->fwd_timer);
	fwd->fwd_to = to;
	if (to != NULL) {
		m0_lnet__lpni_hold(eng, to);
		++to->lpn_fwds_to[fwd->fwd_pool];
	}
	m0_lnet__msg_state_set(msg, M0_LNET_MSG_COMING);
	msg->msg_rx.mrx_lnd = rx;
	rx->lr_priv = msg;
	rx->lr_words[M0_LNET__RX_WAITS] = 0;
	rx->lr_payload = msg->msg_payload;
	rx->lr_discard_bytes = 0;
	rx->lr_reports = eng->le_cfg.lec_route.lrc_cut_through &&
			 fwd->fwd_pool == M0_LNET_POOL_LARGE;
}

static void fwd_end(struct m0_lnet_fwd *fwd)
{
	struct m0_lnet_msg    *msg = &fwd->fwd_msg;
	struct m0_lnet_engine *eng = msg->msg_engine;
	struct m0_lnet_lpni   *hop = msg->msg_rx.mrx_asked_by;
	struct m0_lnet_lpni   *to = fwd->fwd_to;

	M0_PRE(msg->msg_rx.mrx_lnd == NULL && !msg->msg_tx.mtx_sending);
	m0_lnet__timer_cancel(eng, &fwd->fwd_timer);
	credit_return(fwd);
	msg->msg_rx.mrx_asked_by = NULL;
	if (hop != NULL)
		m0_lnet__lpni_put(eng, hop);
	fwd->fwd_to = NULL;
	if (to != NULL) {
		M0_ASSERT(to->lpn_fwds_to[fwd->fwd_pool] > 0);
		--to->lpn_fwds_to[fwd->fwd_pool];
		m0_lnet__lpni_put(eng, to);
	}
	m0_lnet__fwd_put(eng, fwd);
}

int m0_lnet__forward_begin(struct m0_lnet_ni *ni, struct m0_lnd_rx *rx,
			   const struct m0_lnet_hdr *hdr,
			   struct m0_lnet_lpni *hop, const char **why)
{
	struct m0_lnet_engine *eng = ni->lni_engine;
	struct m0_lnet_router *router = m0_lnet__router(eng);
	enum m0_lnet_pool      pool = m0_lnet__pool_for(hdr->lhd_payload_bytes);
	struct m0_lnet_lpni   *to = NULL;
	struct m0_lnet_fwd    *fwd = NULL;
	bool                   may_splice = false;

	M0_PRE(router->lrr_state != M0_LNET_ROUTING_OFF);
	*why = NULL;
	if (m0_lnet__ni_find(eng, &hdr->lhd_src_nid) != NULL) {
		*why = loop_found(eng, hdr);
		return -ELOOP;
	}
	*why = way_find(eng, hdr, hop, &to, &may_splice);
	if (*why != NULL) {
		++router->lrr_no_route_nr;
		return -EHOSTUNREACH;
	}
	if (is_stuck(eng, to)) {
		++router->lrr_no_buffer_nr;
		*why = "the next hop has taken no message for 10 s";
		return -ENOBUFS;
	}
	if (!is_out_of_credits(ni, hop) &&
	    !m0_lnet__pool_is_shared_out(eng, pool, to))
		fwd = m0_lnet__fwd_get(eng, pool,
				       rx->lr_words[M0_LNET__RX_WAITS] != 0);
	if (fwd == NULL) {
		if (may_wait(eng, rx))
			return -EAGAIN;
		++router->lrr_no_buffer_nr;
		*why = "no router buffer for 10 s";
		return -ENOBUFS;
	}
	fwd_begin(fwd, ni, rx, hdr, hop, to);
	if (may_splice)
		splice_begin(fwd, &ni->lni_lnd, rx);
	return 0;
}

/* -- the rest -------------------------------------------------------------- */

/** Counts a message that is whole until it has left. */
static void out_begin(struct m0_lnet_fwd *fwd)
{
	m0_time_t            now = fwd->fwd_msg.msg_engine->le_now;
	struct m0_lnet_lpni *to = fwd->fwd_to;

	fwd->fwd_out_at = now;
	if (to != NULL && to->lpn_fwds_out_nr++ == 0)
		to->lpn_fwds_left_at = now;
}

static void out_end(struct m0_lnet_fwd *fwd, int status)
{
	struct m0_lnet_lpni *to = fwd->fwd_to;

	if (to == NULL)
		return;
	M0_ASSERT(to->lpn_fwds_out_nr > 0);
	--to->lpn_fwds_out_nr;
	if (status == 0)
		to->lpn_fwds_left_at = fwd->fwd_msg.msg_engine->le_now;
}

/* -- cut-through ----------------------------------------------------------- */

/** Decides whether the message may leave before it has arrived: its next hop is a
 * Colibri node, whose driver takes it. The answer stays the same while the message
 * arrives, unless (-EAGAIN) another message is before it. */
static int may_cut(const struct m0_lnet_msg *msg)
{
	const struct m0_lnet_engine *eng = msg->msg_engine;
	const struct m0_lnet_lpni   *hop = msg->msg_rx.mrx_asked_by;
	const struct m0_lnet_lpni   *to;
	struct m0_lnet__path         path;

	if (!eng->le_cfg.lec_route.lrc_cut_through || eng->le_faults != NULL ||
	    eng->le_shutdown)
		return -EOPNOTSUPP;
	path = m0_lnet__forward_select(eng, &msg->msg_hdr,
				       hop == NULL ? NULL : hop->lpn_peer);
	to = path.pth_lpni != NULL
		     ? path.pth_lpni
		     : m0_lnet__lpni_find(eng, &msg->msg_hdr.lhd_dest_nid);
	if (path.pth_ni == NULL || to == NULL ||
	    !path.pth_ni->lni_lnd.ldn_grows ||
	    (to->lpn_peer->lpe_features & M0_LNET_FEAT_COLIBRI) == 0)
		return -EOPNOTSUPP;
	return path.pth_ni->lni_credits > 0 && to->lpn_credits > 0 ? 0
								   : -EAGAIN;
}

/** The rest of a message has not arrived in time. */
static void cut_late(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
		     m0_time_t now)
{
	struct m0_lnet_fwd *fwd =
		container_of(timer, struct m0_lnet_fwd, fwd_timer);

	(void)eng;
	(void)now;
	if (fwd->fwd_msg.msg_rx.mrx_lnd != NULL)
		m0_lnet__rx_cut(&fwd->fwd_msg, -ETIMEDOUT);
}

static void cut_begin(struct m0_lnet_fwd *fwd, m0_bcount_t there)
{
	struct m0_lnet_msg    *msg = &fwd->fwd_msg;
	struct m0_lnet_engine *eng = msg->msg_engine;

	fwd->fwd_is_cut = true;
	fwd->fwd_timer.ltm_fire = cut_late;
	m0_lnet__timer_arm(eng, &fwd->fwd_timer,
			   m0_time_add(eng->le_now, CUT_NS));
	++m0_lnet__router(eng)->lrr_cuts_nr;
	msg->msg_tx.mtx_sending = true;
	msg->msg_tx.mtx_lnd.ltx_there = there;
	out_begin(fwd);
	m0_lnet__send(msg);
}

void m0_lnet__rx_more(struct m0_lnd_rx *rx, m0_bcount_t bytes)
{
	struct m0_lnet_msg *msg = rx->lr_priv;
	int                 rc;

	if (msg == NULL)
		return;
	M0_PRE(msg->msg_rx.mrx_lnd == rx && bytes < msg->msg_rlength);
	if (fwd_of(msg)->fwd_is_cut)
		m0_lnet__send_more(msg, bytes);
	if (fwd_of(msg)->fwd_is_cut || bytes < msg->msg_rlength / 2)
		return;
	rc = may_cut(msg);
	if (rc == 0)
		cut_begin(fwd_of(msg), bytes);
	else if (rc != -EAGAIN)
		rx->lr_reports = false;
}

/** A message that has begun to leave is there, or (status) a part is missing. */
static void cut_come(struct m0_lnet_fwd *fwd, int status)
{
	struct m0_lnet_msg    *msg = &fwd->fwd_msg;
	struct m0_lnet_engine *eng = msg->msg_engine;

	M0_PRE(fwd->fwd_is_cut && msg->msg_tx.mtx_sending);
	if (status == 0) {
		fwd->fwd_out_at = eng->le_now;
		m0_lnet__send_more(msg, msg->msg_rlength);
		return;
	}
	++m0_lnet__router(eng)->lrr_cuts_broken_nr;
	m0_lnet__send_abort(msg);
}

/** The next hop does not take the message, so the driver discards what still
 * arrives. */
static void cut_drop(struct m0_lnet_msg *msg)
{
	if (msg->msg_rx.mrx_lnd != NULL)
		m0_lnet__rx_cancel(msg);
}

/* -- whole ----------------------------------------------------------------- */

void m0_lnet__forward_come(struct m0_lnet_msg *msg, int status)
{
	struct m0_lnet_engine *eng = msg->msg_engine;
	struct m0_lnet_fwd    *fwd = fwd_of(msg);

	M0_PRE(msg->msg_rx.mrx_lnd == NULL && status <= 0);
	if (fwd->fwd_is_cut) {
		cut_come(fwd, status);
		return;
	}
	if (status != 0 || eng->le_shutdown ||
	    m0_lnet__router(eng)->lrr_state == M0_LNET_ROUTING_OFF) {
		++eng->le_stats.ls_drop_count;
		eng->le_stats.ls_drop_length += msg->msg_rlength;
		fwd_end(fwd);
		return;
	}
	msg->msg_tx.mtx_sending = true;
	msg->msg_tx.mtx_lnd.ltx_there = msg->msg_hdr.lhd_payload_bytes;
	out_begin(fwd);
	m0_lnet__send(msg);
}

void m0_lnet__forward_sent(struct m0_lnet_msg *msg, int status)
{
	struct m0_lnet_engine *eng = msg->msg_engine;
	struct m0_lnet_router *router = m0_lnet__router(eng);

	M0_PRE(!msg->msg_tx.mtx_sending && status <= 0);
	M0_PRE(status < 0 || msg->msg_rx.mrx_lnd == NULL);
	cut_drop(msg);
	out_end(fwd_of(msg), status);
	if (status == 0) {
		++router->lrr_forwarded_nr;
		splice_count(router, msg->msg_tx.mtx_lnd.ltx_pipe);
		++eng->le_stats.ls_route_count;
		eng->le_stats.ls_route_length += msg->msg_rlength;
	} else {
		++eng->le_stats.ls_drop_count;
		eng->le_stats.ls_drop_length += msg->msg_rlength;
		if (status == -ETIMEDOUT)
			++router->lrr_late_nr;
	}
	fwd_end(fwd_of(msg));
}

void m0_lnet__forwards_end(struct m0_lnet_engine *eng, int status)
{
	struct m0_lnet_router *router = m0_lnet__router(eng);
	struct m0_lnet_fwd    *fwd;
	struct m0_lnet_fwd    *next;

	M0_PRE(status < 0);
	m0_list_for_each_entry_safe(&router->lrr_used, fwd, next,
				    struct m0_lnet_fwd, fwd_link) {
		struct m0_lnet_msg *msg = &fwd->fwd_msg;

		if (msg->msg_rx.mrx_lnd != NULL)
			m0_lnet__rx_cut(msg, status);
		else if (msg->msg_tx.mtx_sending)
			m0_lnet__send_cancel(msg);
	}
}
