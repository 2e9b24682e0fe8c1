/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Deadlines. All of an interface are looked at together, when one is due. */
#include "lnd/o2ib/o2ib_internal.h"

/** Fails messages that have waited too long. @return the next deadline. */
static m0_time_t waiting_scan(struct m0_list *list, m0_time_t now)
{
	struct m0_o2ib__msg *msg;
	struct m0_o2ib__msg *after;
	m0_time_t            at = M0_TIME_NEVER;

	m0_list_for_each_entry_safe(list, msg, after, struct m0_o2ib__msg,
				    oms_link) {
		if (msg->oms_deadline > now) {
			at = min64u(at, msg->oms_deadline);
			continue;
		}
		m0_list_del(&msg->oms_link);
		if (msg->oms_has_slot)
			m0_o2ib__credits_unreserve(&msg->oms_conn->ocn_credits);
		m0_o2ib__msg_fail(msg, -ETIMEDOUT, M0_LND_LOCAL_TIMEOUT);
	}
	return at;
}

static m0_time_t posted_next(const struct m0_list *list, bool *ret_cancelled,
			     m0_time_t now)
{
	struct m0_o2ib__msg *msg;
	m0_time_t            at = M0_TIME_NEVER;

	m0_list_for_each_entry(list, msg, struct m0_o2ib__msg, oms_link) {
		at = min64u(at, msg->oms_deadline);
		*ret_cancelled |= msg->oms_is_cancelled &&
				  msg->oms_deadline <= now;
	}
	return at;
}

static m0_time_t xfers_next(const struct m0_list *list, bool *ret_cancelled,
			    m0_time_t now)
{
	struct m0_o2ib__xfer *xfer;
	m0_time_t             at = M0_TIME_NEVER;

	m0_list_for_each_entry(list, xfer, struct m0_o2ib__xfer, oxf_link) {
		at = min64u(at, xfer->oxf_deadline);
		*ret_cancelled |= xfer->oxf_is_cancelled &&
				  xfer->oxf_deadline <= now;
	}
	return at;
}

static m0_time_t up_scan(struct m0_o2ib__conn *conn, m0_time_t now)
{
	const struct m0_o2ib_net_cfg *cfg = &conn->ocn_ni->oni_cfg;
	bool                          cancelled = false;
	m0_time_t                     late;
	m0_time_t                     at;

	late = posted_next(&conn->ocn_posted, &cancelled, now);
	late = min64u(late, xfers_next(&conn->ocn_asked, &cancelled, now));
	late = min64u(late, xfers_next(&conn->ocn_sinks, &cancelled, now));
	if (m0_o2ib__is_queueing(conn))
		late = min64u(late, m0_time_add(conn->ocn_progress_at,
						cfg->obn_timeout_ns));
	if (late <= now) {
		m0_o2ib__conn_break(conn,
				    cancelled ? -ECONNABORTED : -ETIMEDOUT);
		return now;
	}
	at = min64u(late, waiting_scan(&conn->ocn_reserve, now));
	at = min64u(at, waiting_scan(&conn->ocn_credit, now));
	if (cfg->obn_keepalive_ns != 0) {
		m0_time_t keep =
			m0_time_add(conn->ocn_sent_at, cfg->obn_keepalive_ns);

		if (keep <= now)
			m0_o2ib__conn_dirty(conn);
		at = min64u(at, keep <= now ? m0_time_add(now,
							  cfg->obn_keepalive_ns)
					    : keep);
	}
	return at;
}

static m0_time_t conn_scan(struct m0_o2ib__conn *conn, m0_time_t now)
{
	struct m0_o2ib__peer *peer = conn->ocn_peer;
	bool                  asked;

	if (conn->ocn_state == M0_O2IB__UP)
		return up_scan(conn, now);
	if (conn->ocn_state == M0_O2IB__BREAKING)
		return M0_TIME_NEVER;
	if (now < conn->ocn_deadline)
		return conn->ocn_deadline;
	asked = conn->ocn_state == M0_O2IB__ASKING;
	m0_o2ib__conn_break(conn, -ETIMEDOUT);
	if (asked)
		m0_o2ib__peer_asked(peer, false, 0, -ETIMEDOUT);
	return now;
}

static m0_time_t peer_scan(struct m0_o2ib__peer *peer, m0_time_t now)
{
	struct m0_o2ib__conn *conn;
	m0_time_t             at = waiting_scan(&peer->ope_waiting, now);

	m0_list_for_each_entry(&peer->ope_conns, conn, struct m0_o2ib__conn,
			       ocn_link)
		at = min64u(at, conn_scan(conn, now));
	m0_o2ib__peer_try(peer);
	if (peer->ope_retry_at > now)
		at = min64u(at, peer->ope_retry_at);
	return at;
}

static m0_time_t hungry_scan(const struct m0_list *hungry, m0_time_t now)
{
	struct m0_o2ib__xfer *xfer;
	struct m0_o2ib__xfer *after;
	m0_time_t             at = M0_TIME_NEVER;

	m0_list_for_each_entry_safe(hungry, xfer, after, struct m0_o2ib__xfer,
				    oxf_link) {
		if (xfer->oxf_deadline > now)
			at = min64u(at, xfer->oxf_deadline);
		else if (xfer->oxf_is_sink)
			m0_o2ib__sink_refuse(xfer, -ETIMEDOUT);
		else
			m0_o2ib__source_fail(xfer, -ETIMEDOUT);
	}
	return at;
}

void m0_o2ib__scan(struct m0_o2ib__ni *ni)
{
	struct m0_hash_link *link;
	struct m0_hash_link *after;
	m0_time_t            now = m0_o2ib__now(ni->oni_drv);
	m0_time_t            at;

	ni->oni_scan_at = M0_TIME_NEVER;
	at = min64u(hungry_scan(&ni->oni_hungry[false], now),
		    hungry_scan(&ni->oni_hungry[true], now));
	for (link = m0_hash_first(&ni->oni_peers); link != NULL; link = after) {
		struct m0_o2ib__peer *peer =
			container_of(link, struct m0_o2ib__peer, ope_hash);

		after = m0_hash_next(link);
		at = min64u(at, peer_scan(peer, now));
		m0_o2ib__peer_check(peer);
	}
	if (at != M0_TIME_NEVER)
		m0_o2ib__scan_by(ni, max64u(at, now + 1));
}
