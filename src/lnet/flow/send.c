/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The transmission of a message: path, discovery, credits, driver.
 *
 * A message holds a reference to its peer NI from the choice of its path, or
 * from the start of its wait for a discovery, until it completes. A negative
 * number of credits is the length of the queue. Only messages that wait here
 * have a timer; the driver observes the deadline of the messages that it has.
 */
#include "lnet/fault/tap.h"
#include "lnet/flow/again.h"
#include "lnet/flow/cut.h"
#include "lnet/health/health.h"
#include "lnet/route/route.h"

/* -- ends ------------------------------------------------------------------ */

/** Completes a message in the next step, outside the current call. */
static void sent_later(struct m0_lnet_msg *msg, int status)
{
	struct m0_lnet_engine *eng = msg->msg_engine;

	M0_PRE(msg->msg_tx.mtx_sending && status <= 0);
	m0_lnet__path_put(msg);
	m0_lnet__msg_state_set(msg, M0_LNET_MSG_SENT);
	msg->msg_tx.mtx_lnd.ltx_word[0] = (uint64_t)(int64_t)status;
	m0_list_add_tail(&eng->le_deferred, &msg->msg_tx.mtx_link);
}

static void sent_now(struct m0_lnet_msg *msg, int status)
{
	M0_PRE_EX(msg->msg_tx.mtx_ni == NULL && msg->msg_tx.mtx_lpni == NULL);
	if (status < 0 && status != -ECANCELED)
		++msg->msg_engine->le_stats.ls_errors;
	if (M0_UNLIKELY(msg->msg_tx.mtx_tries_nr != 0))
		m0_lnet__again_count(msg, status);
	msg->msg_engine->le_hooks->lhk_sent(msg, status);
}

/**
 * Completes the messages that are in the list now; later ones wait for the next
 * step.
 */
static void list_sent(struct m0_list *list)
{
	struct m0_list      now;
	struct m0_lnet_msg *msg;

	m0_list_init(&now);
	m0_list_splice_tail(&now, list);
	while (!m0_list_is_empty(&now)) {
		msg = m0_list_entry(m0_list_first(&now), struct m0_lnet_msg,
				    msg_tx.mtx_link);
		m0_list_del(&msg->msg_tx.mtx_link);
		M0_ASSERT(msg->msg_state == M0_LNET_MSG_SENT);
		sent_now(msg, (int)(int64_t)msg->msg_tx.mtx_lnd.ltx_word[0]);
	}
}

void m0_lnet__send_step(struct m0_lnet_engine *eng)
{
	list_sent(&eng->le_deferred);
}

/* -- credits --------------------------------------------------------------- */

/** Makes all of a payload memory if the driver takes no pipes. False: it failed. */
static __attribute__((__cold__, __noinline__)) bool pipe_fits(
	struct m0_lnet_msg *msg)
{
	struct m0_lnd_pipe *pipe = msg->msg_tx.mtx_lnd.ltx_pipe;

	return msg->msg_tx.mtx_ni->lni_lnd.ldn_splices ||
	       pipe->lnp_ops->lpx_flush(pipe, &msg->msg_payload) == 0;
}

/** Passes the message to the driver. */
static void msg_xmit(struct m0_lnet_msg *msg)
{
	struct m0_lnet_hdr *hdr = &msg->msg_hdr;
	struct m0_lnd_tx   *tx = &msg->msg_tx.mtx_lnd;
	struct m0_lnd_ni   *ni = &msg->msg_tx.mtx_ni->lni_lnd;

	M0_PRE_EX(m0_lnet__msg_invariant(msg));
	if (ni->ldn_lnd == NULL) {
		m0_lnet__tx_done(tx, -ENETDOWN, M0_LND_LOCAL_ERROR);
		return;
	}
	m0_lnet__msg_state_set(msg, M0_LNET_MSG_LEAVING);
	M0_ASSERT_EX(hdr->lhd_payload_bytes == 0 ||
		     hdr->lhd_payload_bytes == msg->msg_payload.lpy_bytes);
	if (hdr->lhd_payload_bytes == 0)
		M0_SET0(&tx->ltx_payload);
	else
		tx->ltx_payload = msg->msg_payload;
	if (M0_LIKELY(!msg->msg_tx.mtx_is_forward)) {
		tx->ltx_there = tx->ltx_payload.lpy_bytes;
	} else if (tx->ltx_pipe != NULL && !pipe_fits(msg)) {
		m0_lnet__tx_done(tx, -EIO, M0_LND_LOCAL_ERROR);
		return;
	}
	tx->ltx_is_answer = msg->msg_tx.mtx_is_answer;
	tx->ltx_sink = hdr->lhd_type == M0_LNET_GET ? &msg->msg_payload : NULL;
	m0_probe_lnet_send(msg->msg_tx.mtx_ni->lni_text,
			   m0_lnet__lpni_text(msg->msg_tx.mtx_lpni),
			   m0_lnet__type_name(hdr->lhd_type),
			   hdr->lhd_payload_bytes);
	ni->ldn_lnd->ld_ops->ldo_xmit(ni, tx);
}

/**
 * Fails the message because a fault rule says so. Its credits let the next
 * message leave, which may fail too: a loop completes them in turn, without
 * recursion.
 */
static void msg_drop(struct m0_lnet_msg *msg, enum m0_lnd_health health)
{
	struct m0_lnet_engine *eng = msg->msg_engine;
	struct m0_list_link   *link;

	M0_PRE(eng->le_faults != NULL && health != M0_LND_OK);
	m0_lnet__msg_state_set(msg, M0_LNET_MSG_SENT);
	msg->msg_tx.mtx_lnd.ltx_word[1] = health;
	m0_list_add_tail(&eng->le_dropped, &msg->msg_tx.mtx_link);
	if (eng->le_drops)
		return;
	eng->le_drops = true;
	while ((link = m0_list_first(&eng->le_dropped)) != NULL) {
		m0_list_del(link);
		msg = m0_list_entry(link, struct m0_lnet_msg, msg_tx.mtx_link);
		health = (enum m0_lnd_health)msg->msg_tx.mtx_lnd.ltx_word[1];
		m0_lnet__tx_done(&msg->msg_tx.mtx_lnd,
				 m0_lnet__fault_status(health), health);
	}
	eng->le_drops = false;
}

/** Sends a message while fault rules exist. */
static __attribute__((__cold__, __noinline__)) void msg_leave_faulty(
	struct m0_lnet_msg *msg)
{
	struct m0_lnet_engine        *eng = msg->msg_engine;
	struct m0_lnet__fault_verdict verdict;

	m0_lnet__fault_out(msg, &verdict);
	if ((verdict.fav_acts & M0_LNET__FAULT_DROP) != 0) {
		m0_lnet__tap_out(msg, "fault rule");
		msg_drop(msg, verdict.fav_health);
		return;
	}
	if ((verdict.fav_acts & M0_LNET__FAULT_DELAY) != 0) {
		m0_lnet__msg_state_set(msg, M0_LNET_MSG_DELAYED);
		m0_list_add_tail(&eng->le_delayed, &msg->msg_tx.mtx_link);
		m0_lnet__timer_arm(eng, &msg->msg_tx.mtx_timer,
				   min64u(verdict.fav_until,
					  msg->msg_tx.mtx_lnd.ltx_deadline));
		return;
	}
	m0_lnet__tap_out(msg, NULL);
	msg_xmit(msg);
}

static void msg_leave(struct m0_lnet_msg *msg)
{
	m0_lnet__timer_cancel(msg->msg_engine, &msg->msg_tx.mtx_timer);
	if (M0_UNLIKELY(msg->msg_engine->le_faults != NULL))
		msg_leave_faulty(msg);
	else
		msg_xmit(msg);
}

static void msg_queue(struct m0_lnet_msg *msg, struct m0_list *queue,
		      enum m0_lnet_msg_state state)
{
	M0_PRE(!m0_list_link_is_in(&msg->msg_tx.mtx_link));
	m0_lnet__msg_state_set(msg, state);
	m0_list_add_tail(queue, &msg->msg_tx.mtx_link);
	m0_lnet__timer_arm(msg->msg_engine, &msg->msg_tx.mtx_timer,
			   msg->msg_tx.mtx_lnd.ltx_deadline);
}

static void credit_probe(const struct m0_lnet_msg *msg, const char *of)
{
	m0_probe_lnet_credit(msg->msg_tx.mtx_ni->lni_text,
			     m0_lnet__lpni_text(msg->msg_tx.mtx_lpni),
			     m0_lnet__type_name(msg->msg_hdr.lhd_type), of);
}

static void ni_credit_take(struct m0_lnet_msg *msg)
{
	struct m0_lnet_ni *ni = msg->msg_tx.mtx_ni;

	--ni->lni_credits;
	ni->lni_credits_low = min_check(ni->lni_credits_low, ni->lni_credits);
	if (ni->lni_credits < 0) {
		credit_probe(msg, "NI");
		msg_queue(msg, &ni->lni_queue, M0_LNET_MSG_NI_QUEUE);
	} else
		msg_leave(msg);
}

static void credits_take(struct m0_lnet_msg *msg)
{
	struct m0_lnet_lpni *lpni = msg->msg_tx.mtx_lpni;

	M0_PRE_EX(lpni != NULL && !msg->msg_tx.mtx_has_credits);
	msg->msg_tx.mtx_has_credits = true;
	--lpni->lpn_credits;
	lpni->lpn_credits_low =
		min_check(lpni->lpn_credits_low, lpni->lpn_credits);
	if (lpni->lpn_credits < 0) {
		credit_probe(msg, "peer");
		lpni->lpn_queued_bytes += msg->msg_hdr.lhd_payload_bytes;
		msg_queue(msg, &lpni->lpn_queue, M0_LNET_MSG_PEER_QUEUE);
	} else {
		ni_credit_take(msg);
	}
}

/** Removes the message from the queue of its peer NI. */
static void peer_unqueue(struct m0_lnet_msg *msg)
{
	M0_PRE(msg->msg_tx.mtx_lpni->lpn_queued_bytes >=
	       msg->msg_hdr.lhd_payload_bytes);
	m0_list_del(&msg->msg_tx.mtx_link);
	msg->msg_tx.mtx_lpni->lpn_queued_bytes -=
		msg->msg_hdr.lhd_payload_bytes;
}

static void ni_credit_put(struct m0_lnet_ni *ni)
{
	struct m0_lnet_msg *msg;

	M0_PRE_EX(ni->lni_credits < (int)ni->lni_lnd.ldn_credits);
	++ni->lni_credits;
	if (m0_list_is_empty(&ni->lni_queue))
		return;
	msg = m0_list_entry(m0_list_first(&ni->lni_queue), struct m0_lnet_msg,
			    msg_tx.mtx_link);
	m0_list_del(&msg->msg_tx.mtx_link);
	msg_leave(msg);
}

static void peer_credit_put(struct m0_lnet_lpni *lpni)
{
	struct m0_lnet_msg *msg;

	M0_PRE_EX(m0_lnet__lpni_invariant(lpni));
	++lpni->lpn_credits;
	if (m0_list_is_empty(&lpni->lpn_queue))
		return;
	msg = m0_list_entry(m0_list_first(&lpni->lpn_queue), struct m0_lnet_msg,
			    msg_tx.mtx_link);
	peer_unqueue(msg);
	ni_credit_take(msg);
}

static void credits_put(struct m0_lnet_msg *msg)
{
	if (!msg->msg_tx.mtx_has_credits)
		return;
	msg->msg_tx.mtx_has_credits = false;
	ni_credit_put(msg->msg_tx.mtx_ni);
	peer_credit_put(msg->msg_tx.mtx_lpni);
}

/**
 * Removes the message from its queue, and returns its credits, by which other
 * messages may leave.
 */
static void msg_pull(struct m0_lnet_msg *msg)
{
	M0_PRE(m0_list_link_is_in(&msg->msg_tx.mtx_link));
	m0_lnet__timer_cancel(msg->msg_engine, &msg->msg_tx.mtx_timer);
	switch (msg->msg_state) {
	case M0_LNET_MSG_PEER_QUEUE:
		peer_unqueue(msg);
		++msg->msg_tx.mtx_lpni->lpn_credits;
		break;
	case M0_LNET_MSG_NI_QUEUE:
		m0_list_del(&msg->msg_tx.mtx_link);
		++msg->msg_tx.mtx_ni->lni_credits;
		peer_credit_put(msg->msg_tx.mtx_lpni);
		break;
	case M0_LNET_MSG_DELAYED:
		m0_list_del(&msg->msg_tx.mtx_link);
		credits_put(msg);
		break;
	default:
		M0_ASSERT(M0_IN(msg->msg_state,
				(M0_LNET_MSG_DISCOVERING, M0_LNET_MSG_AGAIN)));
		m0_list_del(&msg->msg_tx.mtx_link);
	}
}

static bool msg_is_queued(const struct m0_lnet_msg *msg)
{
	return M0_IN(msg->msg_state,
		     (M0_LNET_MSG_DISCOVERING, M0_LNET_MSG_PEER_QUEUE,
		      M0_LNET_MSG_NI_QUEUE, M0_LNET_MSG_DELAYED,
		      M0_LNET_MSG_AGAIN));
}

/* -- once more ------------------------------------------------------------- */

/**
 * Sends a message that has failed once more: the first time at once, later a second
 * after the failure.
 */
static __attribute__((__cold__, __noinline__)) void again_later(
	struct m0_lnet_msg *msg, int status)
{
	struct m0_lnet_engine *eng = msg->msg_engine;
	struct m0_lnet_msg_tx *tx = &msg->msg_tx;

	M0_PRE(status < 0 && tx->mtx_sending);
	m0_lnet__path_put(msg);
	tx->mtx_has_credits = false;
	tx->mtx_lnd.ltx_word[0] = (uint64_t)(int64_t)status;
	msg_queue(msg, &eng->le_sick.lsk_again, M0_LNET_MSG_AGAIN);
	m0_lnet__timer_arm(
		eng, &tx->mtx_timer,
		tx->mtx_tries_nr == 0
			? M0_TIME_IMMEDIATELY
			: min64u(tx->mtx_lnd.ltx_deadline,
				 m0_time_add(eng->le_now, M0_TIME_ONE_SECOND)));
	++tx->mtx_tries_nr;
}

/** Completes a message that has failed in a queue, or sends it once more. */
static void failed_later(struct m0_lnet_msg *msg, int status,
			 enum m0_lnd_health health)
{
	if (m0_lnet__again_may(msg, health))
		again_later(msg, status);
	else
		sent_later(msg, status);
}

/** The message is sent again, by the path that is the best now. It fails as it
 * failed before if there is none. */
static void again(struct m0_lnet_msg *msg)
{
	int status = (int)(int64_t)msg->msg_tx.mtx_lnd.ltx_word[0];
	int rc = -ETIMEDOUT;

	M0_PRE(msg->msg_state == M0_LNET_MSG_AGAIN && status < 0);
	m0_list_del(&msg->msg_tx.mtx_link);
	/* The answer has come in the pause: the peer has the message. */
	if (msg->msg_op.mop_answered) {
		sent_later(msg, 0);
		return;
	}
	if (msg->msg_engine->le_now < msg->msg_tx.mtx_lnd.ltx_deadline) {
		++msg->msg_engine->le_stats.ls_resend_count;
		rc = m0_lnet__again_path(msg);
	}
	if (rc == 0)
		credits_take(msg);
	else
		sent_later(msg, status);
}

/* -- entries --------------------------------------------------------------- */

static void send_timed_out(struct m0_lnet_engine *eng,
			   struct m0_lnet_timer *timer, m0_time_t now)
{
	struct m0_lnet_msg *msg =
		container_of(timer, struct m0_lnet_msg, msg_tx.mtx_timer);

	if (!msg_is_queued(msg))
		return;
	if (msg->msg_state == M0_LNET_MSG_AGAIN) {
		again(msg);
		return;
	}
	if (msg->msg_state == M0_LNET_MSG_DELAYED &&
	    now < msg->msg_tx.mtx_lnd.ltx_deadline) {
		m0_list_del(&msg->msg_tx.mtx_link);
		m0_lnet__tap_out(msg, NULL);
		msg_xmit(msg);
		return;
	}
	msg_pull(msg);
	m0_lnet__failure_count(&eng->le_stats.ls_failures,
			       M0_LND_LOCAL_TIMEOUT);
	sent_later(msg, -ETIMEDOUT);
}

static void send_on(struct m0_lnet_msg *msg, int rc)
{
	M0_PRE(rc <= 0);
	if (rc == 0)
		rc = m0_lnet__path_request(msg);
	if (rc != 0)
		sent_later(msg, rc);
	else
		credits_take(msg);
}

/** Finds the path of a message that is forwarded. Its deadline is that of the network
 * by which it leaves. */
static int forward_path(struct m0_lnet_msg *msg)
{
	const struct m0_lnet_engine *eng = msg->msg_engine;
	int                          rc = m0_lnet__path_forward(msg);
	m0_time_t                    patience;

	if (rc != 0)
		return rc;
	patience = msg->msg_tx.mtx_ni->lni_lnd.ldn_timeout_ns;
	if (patience == 0)
		patience = eng->le_cfg.lec_route.lrc_forward_ns;
	msg->msg_tx.mtx_lnd.ltx_deadline = m0_time_add(eng->le_now, patience);
	return 0;
}

/**
 * Finds the path of a message that path_again() could not. Not inline, because
 * few messages need it.
 */
static __attribute__((__noinline__)) void send_first(struct m0_lnet_msg *msg)
{
	struct m0_lnet_engine *eng = msg->msg_engine;
	int                    rc;

	if (m0_lnet__path_is_lo(msg)) {
		rc = m0_lnet__path_lo(msg);
		if (rc == 0)
			msg_leave(msg);
		else
			sent_later(msg, rc);
		return;
	}
	if (msg->msg_tx.mtx_is_answer) {
		rc = msg->msg_tx.mtx_is_forward ? forward_path(msg)
						: m0_lnet__path_answer(msg);
		if (rc == 0)
			credits_take(msg);
		else
			sent_later(msg, rc);
		return;
	}
	rc = m0_lnet__path_peer(msg);
	if (rc == 0 && eng->le_hooks->lhk_discovery_needed(
			       eng, msg->msg_tx.mtx_lpni->lpn_peer, msg)) {
		/* No hop is to blame if the message goes no further. */
		msg->msg_tx.mtx_lnd.ltx_nid = m0_lnet_nid_any;
		msg_queue(msg, &msg->msg_tx.mtx_lpni->lpn_peer->lpe_waiting,
			  M0_LNET_MSG_DISCOVERING);
	} else {
		send_on(msg, rc);
	}
}

void m0_lnet__send(struct m0_lnet_msg *msg)
{
	struct m0_lnet_engine *eng = msg->msg_engine;

	M0_PRE_EX(m0_lnet__msg_invariant(msg) && msg->msg_tx.mtx_sending);
	M0_PRE_EX(
		M0_IN(msg->msg_state, (M0_LNET_MSG_FREE, M0_LNET_MSG_COMING)));
	m0_list_link_init(&msg->msg_tx.mtx_link);
	m0_timer_init(&msg->msg_tx.mtx_timer.ltm_timer);
	msg->msg_tx.mtx_timer.ltm_fire = send_timed_out;
	msg->msg_tx.mtx_lnd.ltx_deadline = m0_time_add(
		eng->le_now, eng->le_cfg.lec_transaction_timeout_ns);
	if (M0_LIKELY(m0_lnet__path_again(msg)))
		credits_take(msg);
	else
		send_first(msg);
}

void m0_lnet__send_resume(struct m0_lnet_msg *msg, int status)
{
	M0_PRE(status <= 0);
	M0_PRE(msg->msg_state == M0_LNET_MSG_DISCOVERING);
	msg_pull(msg);
	/* The destination may belong to another peer by now. */
	m0_lnet__path_put(msg);
	send_on(msg, status != 0 ? status : m0_lnet__path_peer(msg));
}

void m0_lnet__send_cancel(struct m0_lnet_msg *msg)
{
	struct m0_lnd_ni *ni;

	M0_PRE(msg->msg_tx.mtx_sending);
	if (msg->msg_tx.mtx_cancelled)
		return;
	if (msg_is_queued(msg)) {
		msg->msg_tx.mtx_cancelled = true;
		msg_pull(msg);
		sent_later(msg, -ECANCELED);
	} else if (msg->msg_state == M0_LNET_MSG_LEAVING) {
		msg->msg_tx.mtx_cancelled = true;
		ni = &msg->msg_tx.mtx_ni->lni_lnd;
		ni->ldn_lnd->ld_ops->ldo_tx_cancel(ni, &msg->msg_tx.mtx_lnd);
	}
}

void m0_lnet__send_more(struct m0_lnet_msg *msg, m0_bcount_t there)
{
	struct m0_lnd_ni *ni;

	M0_PRE(msg->msg_tx.mtx_sending && msg->msg_tx.mtx_is_forward);
	M0_PRE(there >= msg->msg_tx.mtx_lnd.ltx_there);
	msg->msg_tx.mtx_lnd.ltx_there = there;
	if (msg->msg_state != M0_LNET_MSG_LEAVING)
		return;
	ni = &msg->msg_tx.mtx_ni->lni_lnd;
	ni->ldn_lnd->ld_ops->ldo_tx_more(ni, &msg->msg_tx.mtx_lnd);
}

void m0_lnet__send_abort(struct m0_lnet_msg *msg)
{
	struct m0_lnd_ni *ni;

	M0_PRE(msg->msg_tx.mtx_sending && msg->msg_tx.mtx_is_forward);
	if (msg->msg_state != M0_LNET_MSG_LEAVING) {
		m0_lnet__send_cancel(msg);
		return;
	}
	/* The next hop is not to blame. */
	msg->msg_tx.mtx_cancelled = true;
	ni = &msg->msg_tx.mtx_ni->lni_lnd;
	ni->ldn_lnd->ld_ops->ldo_tx_abort(ni, &msg->msg_tx.mtx_lnd,
					  -ECONNABORTED);
}

/* -- from the driver ------------------------------------------------------- */

static struct m0_lnet_msg *msg_of(struct m0_lnd_tx *tx)
{
	return container_of(tx, struct m0_lnet_msg, msg_tx.mtx_lnd);
}

size_t m0_lnet__tx_header(struct m0_lnd_tx *tx, bool large,
			  uint8_t buf[M0_LND_HDR_BYTES_MAX])
{
	M0_PRE_EX(msg_of(tx)->msg_state == M0_LNET_MSG_LEAVING);
	return m0_lnet__hdr_encode(&msg_of(tx)->msg_hdr, large, buf);
}

static __attribute__((__cold__, __noinline__)) void tx_count_failure(
	struct m0_lnet_msg *msg, uint32_t type, enum m0_lnd_health health)
{
	struct m0_lnet_ni   *ni = msg->msg_tx.mtx_ni;
	struct m0_lnet_lpni *lpni = msg->msg_tx.mtx_lpni;

	m0_probe_lnet_drop(ni->lni_text, m0_lnet__lpni_text(lpni),
			   m0_lnet__type_name(type), "not sent");
	m0_lnet__traffic_count(&ni->lni_traffic.lt_dropped, type);
	m0_lnet__failure_count(&ni->lni_failures, health);
	m0_lnet__failure_count(&msg->msg_engine->le_stats.ls_failures, health);
	if (!msg->msg_tx.mtx_cancelled && !msg->msg_engine->le_shutdown)
		m0_lnet__health_failed(ni, lpni, health);
	if (lpni == NULL)
		return;
	m0_lnet__traffic_count(&lpni->lpn_traffic.lt_dropped, type);
	m0_lnet__failure_count(&lpni->lpn_failures, health);
}

static inline __attribute__((always_inline)) void tx_count(
	struct m0_lnet_msg *msg, int status, enum m0_lnd_health health)
{
	struct m0_lnet_stats *stats = &msg->msg_engine->le_stats;
	uint32_t              type = msg->msg_hdr.lhd_type;

	if (M0_UNLIKELY(status != 0)) {
		tx_count_failure(msg, type, health);
		return;
	}
	m0_lnet__traffic_count(&msg->msg_tx.mtx_ni->lni_traffic.lt_sent, type);
	if (msg->msg_tx.mtx_lpni != NULL)
		m0_lnet__traffic_count(
			&msg->msg_tx.mtx_lpni->lpn_traffic.lt_sent, type);
	m0_lnet__health_sent(msg->msg_tx.mtx_ni);
	++stats->ls_send_count;
	stats->ls_send_length += msg->msg_hdr.lhd_payload_bytes;
}

/** Completes a message that no driver has had. */
static __attribute__((__cold__, __noinline__)) void tx_done_here(
	struct m0_lnet_msg *msg, int status, enum m0_lnd_health health)
{
	M0_PRE(status < 0);
	tx_count(msg, status, health);
	credits_put(msg);
	failed_later(msg, status, health);
}

/** Sends the message once more. */
static __attribute__((__cold__, __noinline__)) void tx_again(
	struct m0_lnet_msg *msg)
{
	tx_count(msg, 0, M0_LND_OK);
	m0_lnet__tap_out(msg, NULL);
	msg_xmit(msg);
}

void m0_lnet__tx_done(struct m0_lnd_tx *tx, int status,
		      enum m0_lnd_health health)
{
	struct m0_lnet_msg *msg = msg_of(tx);

	M0_PRE_EX(status <= 0 && m0_lnet__msg_invariant(msg));
	if (M0_UNLIKELY(msg->msg_state != M0_LNET_MSG_LEAVING)) {
		tx_done_here(msg, status, health);
		return;
	}
	if (M0_UNLIKELY(msg->msg_faults != 0) &&
	    m0_lnet__fault_again(msg, &status)) {
		tx_again(msg);
		return;
	}
	tx_count(msg, status, health);
	credits_put(msg);
	if (M0_UNLIKELY(status != 0) && m0_lnet__again_may(msg, health)) {
		again_later(msg, status);
		return;
	}
	m0_lnet__path_put(msg);
	m0_lnet__msg_state_set(msg, M0_LNET_MSG_SENT);
	sent_now(msg, status);
}

/* -- what is not to be waited for any more --------------------------------- */

/** Selects messages of a queue; NULL members select all. */
struct lost {
	const struct m0_lnet_ni   *lwh_ni;
	const struct m0_lnet_lpni *lwh_lpni;
	const uint32_t            *lwh_pid;
};

static bool is_lost(const struct m0_lnet_msg *msg, const struct lost *lost)
{
	return (lost->lwh_ni == NULL || msg->msg_tx.mtx_ni == lost->lwh_ni) &&
	       (lost->lwh_lpni == NULL ||
		msg->msg_tx.mtx_lpni == lost->lwh_lpni) &&
	       (lost->lwh_pid == NULL ||
		msg->msg_tx.mtx_lnd.ltx_pid == *lost->lwh_pid);
}

static void queue_fail(struct m0_list *queue, const struct lost *lost,
		       int status, enum m0_lnd_health health)
{
	struct m0_list      failed;
	struct m0_lnet_msg *msg;
	struct m0_lnet_msg *next;

	M0_PRE(status < 0);
	/* Remove all of them first: returning a credit would let one of them
	 * leave before the others. */
	m0_list_init(&failed);
	m0_list_for_each_entry_safe(queue, msg, next, struct m0_lnet_msg,
				    msg_tx.mtx_link)
		if (is_lost(msg, lost))
			m0_list_move_tail(&failed, &msg->msg_tx.mtx_link);
	while (!m0_list_is_empty(&failed)) {
		msg = m0_list_entry(m0_list_first(&failed), struct m0_lnet_msg,
				    msg_tx.mtx_link);
		msg_pull(msg);
		failed_later(msg, status, health);
	}
}

/** Fails answers that would be sent again by this NI. */
static void again_flush(const struct m0_lnet_ni *ni, int status)
{
	struct m0_lnet_msg *msg;
	struct m0_lnet_msg *next;

	m0_list_for_each_entry_safe(&ni->lni_engine->le_sick.lsk_again, msg,
				    next, struct m0_lnet_msg, msg_tx.mtx_link) {
		if (!msg->msg_tx.mtx_is_answer || msg->msg_rx.mrx_ni != ni)
			continue;
		msg_pull(msg);
		sent_later(msg, status);
	}
}

void m0_lnet__send_ni_flush(struct m0_lnet_ni *ni, int status)
{
	struct m0_lnet_engine *eng = ni->lni_engine;
	const struct lost      lost = { .lwh_ni = ni };
	struct m0_hash_link   *at;
	struct m0_lnet_lpni   *lpni;

	M0_PRE(!m0_lnet__ni_is_usable(ni));
	for (at = m0_hash_first(&eng->le_lpnis); at != NULL;
	     at = m0_hash_next(at)) {
		lpni = container_of(at, struct m0_lnet_lpni, lpn_hash);
		queue_fail(&lpni->lpn_queue, &lost, status,
			   M0_LND_LOCAL_INTERRUPT);
	}
	queue_fail(&ni->lni_queue, &lost, status, M0_LND_LOCAL_INTERRUPT);
	queue_fail(&eng->le_delayed, &lost, status, M0_LND_LOCAL_INTERRUPT);
	again_flush(ni, status);
	M0_POST(m0_list_is_empty(&ni->lni_queue) && ni->lni_credits >= 0);
}

/** The driver has lost the node itself, not only one of its processes. */
static void node_down(struct m0_lnet_engine *eng, struct m0_lnet_lpni *lpni,
		      int status)
{
	M0_PRE(lpni->lpn_refs_nr > 0);
	lpni->lpn_lost_nr += lpni->lpn_known_up ? 1 : 0;
	lpni->lpn_known_up = false;
	if (status < 0) {
		lpni->lpn_known_down = true;
		lpni->lpn_lost_at = eng->le_now;
		m0_lnet__routes_lost(eng, lpni, status);
	}
	eng->le_hooks->lhk_peer_lost(eng, lpni,
				     status < 0 ? status : -ECONNRESET);
}

/*
 * Drivers know peers by NID and pid. Anyone can make the driver lose a pid that
 * does not exist, by a header or a call; messages to the node itself continue.
 */
void m0_lnet__peer_down(struct m0_lnd_ni *lnd_ni, const struct m0_lnet_nid *nid,
			uint32_t pid, int status)
{
	struct m0_lnet_ni *ni =
		container_of(lnd_ni, struct m0_lnet_ni, lni_lnd);
	struct m0_lnet_engine *eng = ni->lni_engine;
	struct m0_lnet_lpni   *lpni = m0_lnet__lpni_find(eng, nid);
	const struct lost      lost = { ni, lpni, &pid };

	M0_PRE(status <= 0 && m0_lnet__ni_invariant(ni));
	if (lpni == NULL)
		return;
	/* A reference keeps it while messages fail. */
	m0_lnet__lpni_hold(eng, lpni);
	if (status < 0) {
		queue_fail(&lpni->lpn_queue, &lost, status,
			   M0_LND_REMOTE_DROPPED);
		queue_fail(&ni->lni_queue, &lost, status,
			   M0_LND_REMOTE_DROPPED);
		queue_fail(&eng->le_delayed, &lost, status,
			   M0_LND_REMOTE_DROPPED);
	}
	if (pid == M0_LNET_PID_LUSTRE) {
		eng->le_hooks->lhk_hop_lost(ni, nid);
		node_down(eng, lpni, status);
	}
	m0_lnet__lpni_put(eng, lpni);
}
