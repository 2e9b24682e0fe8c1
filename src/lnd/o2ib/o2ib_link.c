/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Connections: how they are made, and how they end. */
#include "lnd/o2ib/o2ib_internal.h"

enum {
	/** Messages of one depth: those that take a credit, their DONEs, and our
	 * answers; as many writes again. */
	SENDS_PER_DEPTH = 6,
	O2IB_ADDR_BYTES = 4
};

static struct m0_o2ib__conn *conn_make(struct m0_o2ib__peer    *peer,
				       enum m0_o2ib__conn_state state)
{
	struct m0_o2ib__ni   *ni = peer->ope_ni;
	struct m0_o2ib__conn *conn;

	M0_ALLOC_PTR(conn);
	if (conn == NULL)
		return NULL;
	conn->ocn_ni = ni;
	conn->ocn_peer = peer;
	conn->ocn_state = state;
	conn->ocn_deadline = m0_time_add(m0_o2ib__now(ni->oni_drv),
					 2 * ni->oni_cfg.obn_resolve_ns +
						 ni->oni_cfg.obn_connect_ns);
	conn->ocn_sent_at = m0_o2ib__now(ni->oni_drv);
	m0_list_link_init(&conn->ocn_link);
	m0_list_link_init(&conn->ocn_dirty);
	m0_list_link_init(&conn->ocn_pausing);
	m0_list_init(&conn->ocn_reserve);
	m0_list_init(&conn->ocn_credit);
	m0_list_init(&conn->ocn_free);
	m0_list_init(&conn->ocn_posted);
	m0_list_init(&conn->ocn_asked);
	m0_list_init(&conn->ocn_sinks);
	m0_list_init(&conn->ocn_early);
	m0_list_init(&conn->ocn_paused);
	m0_list_init(&conn->ocn_gets);
	m0_list_init(&conn->ocn_replies);
	m0_list_add_tail(&peer->ope_conns, &conn->ocn_link);
	if (peer->ope_conns_nr++ == 0)
		++ni->oni_drv->odr_reached_nr;
	++ni->oni_conns_nr;
	++ni->oni_drv->odr_conns_nr;
	m0_o2ib__scan_by(ni, conn->ocn_deadline);
	return conn;
}

bool m0_o2ib__conn_invariant(const struct m0_o2ib__conn *conn)
{
	return _0C(conn->ocn_ni == conn->ocn_peer->ope_ni) &&
	       _0C(conn->ocn_completed_nr <= conn->ocn_staged_nr) &&
	       _0C(ergo(conn->ocn_state == M0_O2IB__UP,
			conn->ocn_qp != NULL && conn->ocn_was_up)) &&
	       _0C(ergo(conn->ocn_state != M0_O2IB__UP,
			m0_list_is_empty(&conn->ocn_free) &&
				m0_list_is_empty(&conn->ocn_credit) &&
				m0_list_is_empty(&conn->ocn_reserve))) &&
	       _0C(ergo(conn->ocn_state == M0_O2IB__ASKING ||
				conn->ocn_state == M0_O2IB__ACCEPTING,
			m0_list_is_empty(&conn->ocn_posted)));
}

/** Forgets a connection. It has no QP. */
static void conn_free(struct m0_o2ib__conn *conn)
{
	struct m0_o2ib__ni *ni = conn->ocn_ni;

	M0_PRE(m0_list_is_empty(&conn->ocn_posted));
	M0_PRE(m0_list_is_empty(&conn->ocn_asked));
	M0_PRE(m0_list_is_empty(&conn->ocn_sinks));
	M0_PRE(m0_list_is_empty(&conn->ocn_gets));
	M0_PRE(m0_list_is_empty(&conn->ocn_paused));
	M0_PRE(m0_list_is_empty(&conn->ocn_replies));
	m0_list_del(&conn->ocn_link);
	if (m0_list_link_is_in(&conn->ocn_dirty))
		m0_list_del(&conn->ocn_dirty);
	if (m0_list_link_is_in(&conn->ocn_pausing))
		m0_list_del(&conn->ocn_pausing);
	if (--conn->ocn_peer->ope_conns_nr == 0)
		--ni->oni_drv->odr_reached_nr;
	--ni->oni_conns_nr;
	--ni->oni_drv->odr_conns_nr;
	m0_free(conn);
}

/** May a peer have one more? Those beyond the first of each peer leave a quarter of all to the
 * first ones of others. */
static bool has_room(const struct m0_o2ib__drv *drv, bool is_further)
{
	unsigned max = drv->odr_cfg.obc_conns_max;

	M0_PRE(drv->odr_reached_nr <= drv->odr_conns_nr);
	return drv->odr_conns_nr < max &&
	       (!is_further ||
		drv->odr_conns_nr - drv->odr_reached_nr < max - (max + 3) / 4);
}

static struct m0_o2ib_qp_cfg qp_cfg(const struct m0_o2ib__ni *ni,
				    uint16_t                  depth)
{
	const struct m0_o2ib_net_cfg *cfg = &ni->oni_cfg;

	return (struct m0_o2ib_qp_cfg){
		.oqc_recvs_nr = (uint16_t)(2 * depth + M0_O2IB_NOOPS_MAX),
		.oqc_sends_nr = (uint16_t)(SENDS_PER_DEPTH * depth +
					   2 * M0_O2IB_NOOPS_MAX),
		.oqc_retry_nr = (uint8_t)cfg->obn_retry_nr,
		.oqc_rnr_retry_nr = (uint8_t)cfg->obn_rnr_retry_nr,
		.oqc_rnr_timer = (uint8_t)cfg->obn_rnr_timer,
		.oqc_ack_timeout = (uint8_t)cfg->obn_ack_timeout,
		.oqc_tos = (int16_t)(cfg->obn_tos == M0_O2IB_TOS_SYSTEM
					     ? -1
					     : (int)cfg->obn_tos),
		.oqc_resolve_ms =
			(uint32_t)(cfg->obn_resolve_ns / M0_TIME_ONE_MSEC)
	};
}

/* -- connections of ours ---------------------------------------------------------- */

int m0_o2ib__conn_begin(struct m0_o2ib__peer *peer)
{
	struct m0_o2ib__ni   *ni = peer->ope_ni;
	struct m0_o2ib__drv  *drv = ni->oni_drv;
	struct m0_host_addr   to = { .sa_bytes_nr = O2IB_ADDR_BYTES,
				     .sa_port =
					     (uint16_t)ni->oni_cfg.obn_service };
	struct m0_o2ib_qp_cfg cfg =
		qp_cfg(ni, peer->ope_wire.ibo_ask.ibp_queue_depth);
	uint8_t               bytes[M0_O2IB_CONN_BYTES];
	struct m0_o2ib__conn *conn;
	int                   rc;

	M0_PRE(peer->ope_asking == NULL);
	if (!has_room(drv, m0_o2ib__is_reached(peer)))
		return -ENFILE;
	conn = conn_make(peer, M0_O2IB__ASKING);
	if (conn == NULL)
		return -ENOMEM;
	memcpy(to.sa_bytes, peer->ope_nid.ln_addr, O2IB_ADDR_BYTES);
	m0_o2ib__conn_ask(&ni->oni_self, &peer->ope_wire, bytes);
	rc = drv->odr_ops->odo_connect(&ni->oni_port, conn, &to,
				       ni->oni_cfg.obn_use_privileged_port
					       ? M0_O2IB__PRIVILEGED_MAX
					       : 0,
				       &cfg, bytes, sizeof bytes,
				       &conn->ocn_qp);
	if (rc != 0) {
		m0_o2ib__conn_failed(&peer->ope_wire);
		conn_free(conn);
		return rc;
	}
	peer->ope_asking = conn;
	++ni->oni_info.ldi_dialled_nr;
	return 0;
}

/** The QP has ended: the connection is forgotten in the next step. */
static void conn_dead(struct m0_o2ib__conn *conn)
{
	struct m0_o2ib__drv *drv = m0_o2ib__drv(conn);

	M0_PRE(conn->ocn_qp != NULL && m0_o2ib__conn_invariant(conn));
	if (conn->ocn_state == M0_O2IB__ACCEPTING)
		--conn->ocn_ni->oni_accepting_nr;
	if (conn->ocn_peer->ope_asking == conn)
		conn->ocn_peer->ope_asking = NULL;
	conn->ocn_state = M0_O2IB__BREAKING;
	drv->odr_ops->odo_destroy(conn->ocn_qp);
	conn->ocn_qp = NULL;
	m0_list_init(&conn->ocn_early);
	m0_list_move_tail(&drv->odr_dead, &conn->ocn_link);
	m0_o2ib__rouse(drv);
}

/** Forgets that a peer has rejected a connection. @return false: that was not known. */
static bool unlike_forget(const struct m0_o2ib__peer *peer)
{
	struct m0_o2ib__ni *ni = peer->ope_ni;
	unsigned            i;

	for (i = 0; i < M0_O2IB__UNLIKE_MAX; ++i)
		if (ni->oni_unlike[i] == peer->ope_wire.ibo_nid4) {
			ni->oni_unlike[i] = 0;
			return true;
		}
	return false;
}

/** Says what does not fit: for whoever waits for the connection, as a ping. */
static void mismatch_log(const struct m0_o2ib__peer *peer,
			 const struct m0_o2ib_why   *why)
{
	struct m0_o2ib__ni *ni = peer->ope_ni;
	char                nid[M0_LNET_NIDSTR_SIZE];

	if (why->ibw_field == M0_O2IB_FIELD_NONE)
		return;
	(void)unlike_forget(peer);
	ni->oni_unlike[ni->oni_unlike_at++ % M0_O2IB__UNLIKE_MAX] =
		peer->ope_wire.ibo_nid4;
	m0_log(M0_LOG_WARN, "o2ib: %s has rejected a connection: %s",
	       m0_lnet_nid_print(&peer->ope_nid, nid, sizeof nid),
	       why->ibw_text);
}

/** Takes it back, when a connection has all that the first request asks for. */
static void match_log(const struct m0_o2ib__conn *conn)
{
	const struct m0_o2ib__peer *peer = conn->ocn_peer;
	struct m0_o2ib_peer         first;
	char                        nid[M0_LNET_NIDSTR_SIZE];

	m0_o2ib__peer_init(&first, &peer->ope_ni->oni_self,
			   peer->ope_wire.ibo_nid4);
	if (conn->ocn_params.ibp_queue_depth >= first.ibo_ask.ibp_queue_depth &&
	    conn->ocn_params.ibp_frags_max >= first.ibo_ask.ibp_frags_max &&
	    unlike_forget(peer))
		m0_log(M0_LOG_NOTICE, "o2ib: %s agrees with our limits now",
		       m0_lnet_nid_print(&peer->ope_nid, nid, sizeof nid));
}

static void refused(void *user, const void *bytes, size_t nr)
{
	struct m0_o2ib__conn *conn = user;
	struct m0_o2ib__peer *peer = conn->ocn_peer;
	struct m0_o2ib_why    why = {};
	uint64_t              delay = 0;
	int                   rc;

	rc = m0_o2ib__conn_rejected(&peer->ope_wire, bytes, nr, &delay, &why);
	mismatch_log(peer, &why);
	conn_dead(conn);
	m0_o2ib__peer_asked(peer, rc == 0, delay, rc);
}

static void failed(void *user, int status)
{
	struct m0_o2ib__conn *conn = user;
	struct m0_o2ib__peer *peer = conn->ocn_peer;

	m0_o2ib__conn_failed(&peer->ope_wire);
	conn_dead(conn);
	m0_o2ib__peer_asked(peer, status == -ESTALE, M0_O2IB_AGAIN_NS, status);
}

/** Ends connections to an incarnation of the peer before that of this connection. */
static void stale_break(const struct m0_o2ib__conn *conn)
{
	struct m0_o2ib__conn *other;

	m0_list_for_each_entry(&conn->ocn_peer->ope_conns, other,
			       struct m0_o2ib__conn, ocn_link)
		if (other->ocn_state == M0_O2IB__UP &&
		    other->ocn_stamp != conn->ocn_stamp)
			m0_o2ib__conn_break(other, -ESTALE);
}

static void conn_is_up(struct m0_o2ib__conn *conn)
{
	struct m0_o2ib__drv *drv = m0_o2ib__drv(conn);

	if (conn->ocn_state == M0_O2IB__ACCEPTING)
		--conn->ocn_ni->oni_accepting_nr;
	M0_PRE(m0_o2ib__conn_invariant(conn));
	conn->ocn_state = M0_O2IB__UP;
	conn->ocn_was_up = true;
	conn->ocn_stamp = conn->ocn_peer->ope_wire.ibo_stamp;
	m0_o2ib__ids_put(
		&(struct m0_o2ib_hdr){
			.ibh_src_nid4 = conn->ocn_peer->ope_wire.ibo_nid4,
			.ibh_src_stamp = conn->ocn_stamp,
			.ibh_dst_nid4 = conn->ocn_ni->oni_self.ibs_nid4,
			.ibh_dst_stamp = conn->ocn_ni->oni_self.ibs_stamp },
		conn->ocn_ids);
	conn->ocn_sent_at = m0_o2ib__now(drv);
	conn->ocn_progress_at = m0_o2ib__now(drv);
	++conn->ocn_ni->oni_info.ldi_connections_nr;
	stale_break(conn);
	match_log(conn);
	m0_o2ib__peer_up(conn->ocn_peer, conn);
	m0_o2ib__early_take(conn);
	if (conn->ocn_ni->oni_cfg.obn_keepalive_ns != 0)
		m0_o2ib__scan_by(
			conn->ocn_ni,
			m0_time_add(conn->ocn_sent_at,
				    conn->ocn_ni->oni_cfg.obn_keepalive_ns));
}

static void up(void *user, const void *bytes, size_t nr)
{
	struct m0_o2ib__conn *conn = user;
	struct m0_o2ib__peer *peer = conn->ocn_peer;
	struct m0_o2ib__ni   *ni = conn->ocn_ni;
	struct m0_o2ib_why    why = {};
	char                  nid[M0_LNET_NIDSTR_SIZE];
	int                   rc;

	if (conn->ocn_state == M0_O2IB__ACCEPTING) {
		conn_is_up(conn);
		return;
	}
	M0_ASSERT(conn->ocn_state == M0_O2IB__ASKING);
	peer->ope_asking = NULL;
	rc = m0_o2ib__conn_accepted(&ni->oni_self, &peer->ope_wire, bytes, nr,
				    &conn->ocn_params, &why);
	if (rc == 0) {
		m0_o2ib__credits_init(&conn->ocn_credits,
				      conn->ocn_params.ibp_queue_depth);
		conn_is_up(conn);
		return;
	}
	++ni->oni_info.ldi_bad_peers_nr;
	m0_log(M0_LOG_WARN, "o2ib: %s has accepted a connection wrongly: %s",
	       m0_lnet_nid_print(&peer->ope_nid, nid, sizeof nid),
	       why.ibw_text);
	m0_o2ib__conn_break(conn, -EPROTO);
	m0_o2ib__peer_asked(peer, false, 0, -EPROTO);
}

/* -- connections of peers ------------------------------------------------------------ */

static void reject(struct m0_o2ib__ni *ni, struct m0_o2ib_request *request,
		   const struct m0_o2ib_answer *answer)
{
	++ni->oni_info.ldi_refused_nr;
	ni->oni_drv->odr_ops->odo_reject(request, answer->ibn_bytes,
					 answer->ibn_nr);
}

/** Accepts as decided. @return false: there is nothing to do it with. */
static bool conn_accept(struct m0_o2ib__peer        *peer,
			struct m0_o2ib_request      *request,
			const struct m0_o2ib_answer *answer)
{
	struct m0_o2ib__ni   *ni = peer->ope_ni;
	uint16_t              depth = answer->ibn_granted.ibp_queue_depth;
	struct m0_o2ib_qp_cfg cfg = qp_cfg(ni, depth);
	struct m0_o2ib__conn *conn = conn_make(peer, M0_O2IB__ACCEPTING);
	int                   rc;

	if (conn == NULL)
		return false;
	conn->ocn_params = answer->ibn_granted;
	m0_o2ib__credits_init(&conn->ocn_credits, depth);
	rc = ni->oni_drv->odr_ops->odo_accept(request, conn, &cfg,
					      answer->ibn_bytes, answer->ibn_nr,
					      &conn->ocn_qp);
	if (rc != 0) {
		conn_free(conn);
		return false;
	}
	++ni->oni_accepting_nr;
	++ni->oni_info.ldi_accepted_nr;
	return true;
}

/** The peer has begun anew. */
static void others_break(struct m0_o2ib__peer *peer)
{
	struct m0_o2ib__conn *conn;

	m0_list_for_each_entry(&peer->ope_conns, conn, struct m0_o2ib__conn,
			       ocn_link)
		if (conn->ocn_state == M0_O2IB__UP ||
		    conn->ocn_state == M0_O2IB__ACCEPTING)
			m0_o2ib__conn_break(conn, -ESTALE);
}

static bool is_full(const struct m0_o2ib__ni *ni)
{
	return !has_room(ni->oni_drv, false) ||
	       ni->oni_accepting_nr >= ni->oni_drv->odr_cfg.obc_accepting_max;
}

/**
 * Is the request one for a further connection? That of a peer that was started again is not: its
 * connections that are still here are of its former life, and end when the request is answered.
 */
static bool is_for_further(const struct m0_o2ib__peer *peer,
			   const struct m0_o2ib_hdr   *hdr)
{
	return m0_o2ib__is_reached(peer) &&
	       peer->ope_wire.ibo_stamp == hdr->ibh_src_stamp;
}

/** NULL: `answer` rejects the request. */
static struct m0_o2ib__peer *asker(struct m0_o2ib__ni    *ni,
				   struct m0_o2ib_hdr    *hdr,
				   struct m0_o2ib_answer *answer)
{
	struct m0_lnet_nid    nid;
	struct m0_o2ib__peer *peer;

	if (ni->oni_is_stopping || is_full(ni)) {
		m0_o2ib__conn_reject(&ni->oni_self, M0_O2IB_NO_RESOURCES,
				     answer);
		return NULL;
	}
	if (m0_lnet_nid_from4(&nid, hdr->ibh_src_nid4) != 0 ||
	    m0_lnet_nid_net(&nid) != m0_lnet_nid_net(&ni->oni_ni->ldn_nid) ||
	    hdr->ibh_src_nid4 == ni->oni_self.ibs_nid4 ||
	    hdr->ibh_src_stamp == 0) {
		m0_o2ib__conn_reject(&ni->oni_self, M0_O2IB_FATAL, answer);
		return NULL;
	}
	peer = m0_o2ib__peer_get(ni, hdr->ibh_src_nid4);
	if (peer == NULL || !has_room(ni->oni_drv, is_for_further(peer, hdr))) {
		m0_o2ib__conn_reject(&ni->oni_self, M0_O2IB_NO_RESOURCES,
				     answer);
		return NULL;
	}
	return peer;
}

static void request_come(struct m0_o2ib_port       *port,
			 struct m0_o2ib_request    *request,
			 const struct m0_host_addr *from, const void *bytes,
			 size_t nr)
{
	struct m0_o2ib__ni   *ni = port->ort_user;
	struct m0_o2ib_answer answer;
	struct m0_o2ib_hdr    hdr;
	struct m0_o2ib__peer *peer;

	(void)from;
	if (!m0_o2ib__conn_incoming(&ni->oni_self, bytes, nr, &hdr, &answer)) {
		++ni->oni_info.ldi_bad_peers_nr;
		reject(ni, request, &answer);
		return;
	}
	peer = asker(ni, &hdr, &answer);
	if (peer == NULL) {
		reject(ni, request, &answer);
		return;
	}
	m0_o2ib__conn_answer(&ni->oni_self, &peer->ope_wire, &hdr, &answer);
	if (answer.ibn_close)
		others_break(peer);
	if (answer.ibn_accept && !conn_accept(peer, request, &answer)) {
		m0_o2ib__conn_reject(&ni->oni_self, M0_O2IB_NO_RESOURCES,
				     &answer);
		answer.ibn_accept = false;
	}
	if (!answer.ibn_accept)
		reject(ni, request, &answer);
	m0_o2ib__scan_by(ni, m0_o2ib__now(ni->oni_drv));
}

/* -- the end --------------------------------------------------------------------------- */

void m0_o2ib__conn_break(struct m0_o2ib__conn *conn, int status)
{
	struct m0_o2ib__peer *peer = conn->ocn_peer;

	if (conn->ocn_state == M0_O2IB__BREAKING)
		return;
	if (conn->ocn_state == M0_O2IB__ACCEPTING)
		--conn->ocn_ni->oni_accepting_nr;
	if (conn->ocn_state == M0_O2IB__ASKING && peer->ope_asking == conn) {
		peer->ope_asking = NULL;
		m0_o2ib__conn_failed(&peer->ope_wire);
	}
	if (conn->ocn_was_up) {
		--conn->ocn_ni->oni_info.ldi_connections_nr;
		++conn->ocn_ni->oni_info.ldi_lost_nr;
	}
	conn->ocn_state = M0_O2IB__BREAKING;
	if (conn->ocn_status == 0)
		conn->ocn_status = status == 0 ? -ECONNRESET : status;
	m0_o2ib__queues_return(conn);
	m0_o2ib__paused_drop(conn);
	m0_o2ib__replies_drop(conn);
	m0_o2ib__drv(conn)->odr_ops->odo_break(conn->ocn_qp);
	m0_o2ib__peer_broken(peer, conn);
	m0_o2ib__rouse(m0_o2ib__drv(conn));
	M0_POST(m0_o2ib__conn_invariant(conn));
}

static void broken(void *user, int status)
{
	m0_o2ib__conn_break(user, status);
}

/** Payloads that wait for memory, of a connection that is over. */
static void hungry_end(struct m0_o2ib__conn *conn, struct m0_list *hungry)
{
	struct m0_o2ib__xfer *xfer;
	struct m0_o2ib__xfer *after;

	m0_list_for_each_entry_safe(hungry, xfer, after, struct m0_o2ib__xfer,
				    oxf_link) {
		if (xfer->oxf_conn != conn)
			continue;
		if (xfer->oxf_is_sink)
			m0_o2ib__sink_refuse(xfer, conn->ocn_status);
		else
			m0_o2ib__source_fail(xfer, conn->ocn_status);
	}
}

static void over(void *user)
{
	struct m0_o2ib__conn *conn = user;

	M0_ASSERT(conn->ocn_state == M0_O2IB__BREAKING);
	M0_ASSERT(m0_o2ib__conn_invariant(conn));
	m0_o2ib__posted_end(conn);
	m0_o2ib__rxs_end(conn);
	hungry_end(conn, &conn->ocn_ni->oni_hungry[false]);
	hungry_end(conn, &conn->ocn_ni->oni_hungry[true]);
	conn_dead(conn);
}

void m0_o2ib__dead_bury(struct m0_o2ib__drv *drv)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&drv->odr_dead)) != NULL) {
		struct m0_o2ib__conn *conn =
			m0_list_entry(link, struct m0_o2ib__conn, ocn_link);
		struct m0_o2ib__peer *peer = conn->ocn_peer;

		conn_free(conn);
		m0_o2ib__peer_check(peer);
	}
}

static void port_changed(struct m0_o2ib_port *port)
{
	struct m0_o2ib__ni *ni = port->ort_user;
	char                nid[M0_LNET_NIDSTR_SIZE];

	if (ni->oni_is_stopping || ni->oni_ni->ldn_up == port->ort_is_up)
		return;
	m0_log(port->ort_is_up ? M0_LOG_NOTICE : M0_LOG_WARN,
	       "o2ib: the port of %s is %s",
	       m0_lnet_nid_print(&ni->oni_ni->ldn_nid, nid, sizeof nid),
	       port->ort_is_up     ? "up"
	       : port->ort_is_gone ? "gone: its device was removed"
				   : "down");
	ni->oni_ni->ldn_up = port->ort_is_up;
	ni->oni_ni->ldn_ops->lu_ni_status(ni->oni_ni);
}

const struct m0_o2ib_dev_up m0_o2ib__dev_up = {
	.odu_request = request_come,
	.odu_up = up,
	.odu_refused = refused,
	.odu_failed = failed,
	.odu_received = m0_o2ib__received,
	.odu_sent = m0_o2ib__sent,
	.odu_broken = broken,
	.odu_over = over,
	.odu_port = port_changed,
};
