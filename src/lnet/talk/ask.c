/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet/talk/ask.h"

enum {
	/** Pause before the next attempt, when no message was free. */
	RETRY_NS = 20000000
};

static void ask_free(struct m0_lnet_ask *ask)
{
	struct m0_lnet_engine *eng = ask->as_engine;

	m0_lnet__timer_cancel(eng, &ask->as_timer);
	M0_ASSERT(eng->le_busy_nr > 0);
	--eng->le_busy_nr;
	m0_free(ask->as_addr);
	m0_free(ask);
}

static void ask_complete(struct m0_lnet_ask *ask, int status)
{
	if (ask->as_completed)
		return;
	M0_ASSERT(status <= 0 && ask->as_done != NULL);
	ask->as_completed = true;
	/* The back-off of the driver only prevents a second attempt; the reset
	 * was the failure. */
	if (ask->as_is_resent && status == -EHOSTUNREACH)
		status = -ECONNRESET;
	ask->as_status = status;
	ask->as_done(ask->as_engine, ask);
}

/**
 * Returns true if the request may be sent once more. A node that has restarted
 * unnoticed answers the first message on an old connection with a reset; the
 * next message uses a new connection.
 */
static bool is_resendable(const struct m0_lnet_ask *ask)
{
	return ask->as_failure == -ECONNRESET && !ask->as_is_resent &&
	       ask->as_may_resend && !ask->as_completed &&
	       ask->as_engine->le_now < ask->as_deadline;
}

/** Ends the request from its timer, not on the stack of its own event. */
static void ask_end_soon(struct m0_lnet_ask *ask)
{
	m0_lnet__timer_arm(ask->as_engine, &ask->as_timer, M0_TIME_IMMEDIATELY);
}

static void ask_event(struct m0_lnet_engine *eng, struct m0_lnet_md *md,
		      const struct m0_lnet_event *ev)
{
	struct m0_lnet_ask *ask = container_of(md, struct m0_lnet_ask, as_md);
	bool                ends = ev->ev_unlinked;

	M0_PRE(ask->as_is_bound);
	(void)eng;
	switch (ev->ev_type) {
	case M0_LNET_EV_SEND:
		/* The event may be on the stack of the caller that started it:
		 * report it later. */
		if (ev->ev_status != 0)
			ask->as_failure = ev->ev_status;
		break;
	case M0_LNET_EV_REPLY:
	case M0_LNET_EV_ACK:
		/* The request was unlinked in order to be sent again. */
		if (ev->ev_status != 0 && is_resendable(ask))
			break;
		ask->as_got = ev->ev_mlength;
		ask_complete(ask, ev->ev_status);
		break;
	default:
		break;
	}
	if (ends && is_resendable(ask)) {
		ask->as_is_bound = false;
		ask->as_is_resent = true;
		ask->as_failure = 0;
		ask_end_soon(ask);
	} else if (ends) {
		ask_complete(ask, ask->as_failure != 0 ? ask->as_failure
						       : -ECANCELED);
		ask_free(ask);
	} else if (ask->as_completed || ask->as_failure != 0) {
		ask_end_soon(ask);
	}
}

static void md_prepare(struct m0_lnet_ask *ask)
{
	ask->as_md = (struct m0_lnet_md){
		.md_attr = {
			.mda_vec = &ask->as_vec,
			.mda_length = ask->as_bytes,
			/* One for the SEND, one for the REPLY or ACK. */
			.mda_threshold = 2,
			.mda_options = M0_LNET_MD_TRUNCATE |
				       M0_LNET_MD_NO_TRACK_RESPONSE,
			.mda_auto_unlink = true,
		},
		.md_done = ask_event,
		.md_by = m0_lnet_nid_is_any(&ask->as_by) ? NULL : &ask->as_by,
	};
}

static bool ask_begin(struct m0_lnet_ask *ask)
{
	struct m0_lnet_engine *eng = ask->as_engine;
	struct m0_lnet_msg    *msg =
		eng->le_cfg.lec_owner_ops->ho_msg_get(eng->le_cfg.lec_owner);

	M0_PRE(!ask->as_is_bound && !ask->as_completed);
	if (msg == NULL)
		return false;
	md_prepare(ask);
	msg->msg_op.mop_attr = ask->as_op;
	msg->msg_md = &ask->as_md;
	ask->as_is_bound = true;
	m0_lnet_engine_md_bind(eng, &ask->as_md);
	m0_lnet__timer_arm(eng, &ask->as_timer, ask->as_deadline);
	if (ask->as_is_push)
		m0_lnet_engine_put(eng, msg);
	else
		m0_lnet_engine_get(eng, msg);
	return true;
}

static void ask_again_later(struct m0_lnet_ask *ask)
{
	struct m0_lnet_engine *eng = ask->as_engine;

	m0_lnet__timer_arm(eng, &ask->as_timer,
			   min_check(ask->as_deadline,
				     m0_time_add(eng->le_now, RETRY_NS)));
}

static void ask_start(struct m0_lnet_ask *ask)
{
	if (!ask_begin(ask))
		ask_again_later(ask);
}

static void ask_fire(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
		     m0_time_t now)
{
	struct m0_lnet_ask *ask =
		container_of(timer, struct m0_lnet_ask, as_timer);

	if (!ask->as_is_bound && !ask->as_completed && now < ask->as_deadline) {
		ask_start(ask);
		return;
	}
	if (!is_resendable(ask))
		ask_complete(ask, ask->as_failure != 0 ? ask->as_failure
						       : -ETIMEDOUT);
	if (ask->as_is_bound)
		m0_lnet_engine_md_unlink(eng, &ask->as_md);
	else
		ask_free(ask);
}

static struct m0_lnet_ask *ask_new(struct m0_lnet_engine    *eng,
				   const struct m0_lnet_nid *nid,
				   const struct m0_lnet_nid *self, size_t bytes,
				   m0_time_t deadline)
{
	struct m0_lnet_ask *ask;

	M0_PRE(bytes > 0 && deadline >= eng->le_now);
	M0_PRE(!m0_lnet_nid_is_any(nid));
	M0_ALLOC_PTR(ask);
	if (ask == NULL)
		return NULL;
	ask->as_addr = m0_alloc(bytes);
	if (ask->as_addr == NULL) {
		m0_free(ask);
		return NULL;
	}
	ask->as_engine = eng;
	ask->as_bytes = bytes;
	ask->as_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&ask->as_addr,
							   &ask->as_bytes);
	ask->as_op = (struct m0_lnet_op){
		.lo_self = *self,
		.lo_target = { .lp_nid = *nid, .lp_pid = M0_LNET_PID_LUSTRE },
		.lo_portal = M0_LNET_PORTAL_RESERVED,
		.lo_match_bits = M0_LNET__PING_BITS,
	};
	ask->as_by = m0_lnet_nid_any;
	ask->as_deadline = deadline;
	m0_timer_init(&ask->as_timer.ltm_timer);
	ask->as_timer.ltm_fire = ask_fire;
	++eng->le_busy_nr;
	return ask;
}

struct m0_lnet_ask *m0_lnet__ask_ping(
	struct m0_lnet_engine *eng, const struct m0_lnet_nid *nid,
	const struct m0_lnet_nid *self, size_t bytes, m0_time_t deadline,
	void (*done)(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask),
	void *user)
{
	struct m0_lnet_ask *ask = ask_new(eng, nid, self, bytes, deadline);

	M0_PRE(done != NULL);
	if (ask == NULL)
		return NULL;
	ask->as_done = done;
	ask->as_user = user;
	ask_start(ask);
	return ask;
}

struct m0_lnet_ask *m0_lnet__ask_ping_by(
	struct m0_lnet_engine *eng, const struct m0_lnet_nid *nid,
	const struct m0_lnet_nid *self, const struct m0_lnet_nid *gateway,
	m0_time_t deadline,
	void (*done)(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask),
	void *user)
{
	struct m0_lnet_ask *ask =
		ask_new(eng, nid, self, M0_LNET_PING_SINK_BYTES, deadline);

	M0_PRE(done != NULL && !m0_lnet_nid_is_any(gateway));
	if (ask == NULL)
		return NULL;
	ask->as_by = *gateway;
	ask->as_done = done;
	ask->as_user = user;
	ask_start(ask);
	return ask;
}

struct m0_lnet_ask *m0_lnet__ask_push(
	struct m0_lnet_engine *eng, const struct m0_lnet_nid *nid,
	const struct m0_lnet_nid *self, m0_time_t deadline,
	void (*done)(struct m0_lnet_engine *eng, struct m0_lnet_ask *ask),
	void *user)
{
	const void         *bytes;
	size_t              nr = m0_lnet__ping_bytes(eng, &bytes);
	struct m0_lnet_ask *ask = ask_new(eng, nid, self, nr, deadline);

	M0_PRE(done != NULL);
	if (ask == NULL)
		return NULL;
	memcpy(ask->as_addr, bytes, nr);
	ask->as_is_push = true;
	ask->as_op.lo_ack = true;
	ask->as_done = done;
	ask->as_user = user;
	ask_start(ask);
	return ask;
}

void m0_lnet__ask_fail(struct m0_lnet_ask *ask, int status)
{
	M0_PRE(status < 0);
	/* This failure is of the connection of the first attempt. */
	if (ask->as_is_resent && !ask->as_is_bound)
		return;
	ask->as_failure = status;
	if (!is_resendable(ask))
		ask_complete(ask, status);
	ask_end_soon(ask);
}

void m0_lnet__ask_drop(struct m0_lnet_ask *ask)
{
	if (ask == NULL)
		return;
	ask->as_completed = true;
	ask_end_soon(ask);
}
