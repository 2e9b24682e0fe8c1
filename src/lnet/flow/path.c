/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The path of a message that leaves: its NI and its peer NI, and with them the
 * NIDs of the header and the next hop. select.c chooses where there is a choice.
 */
#include <stdio.h>

#include "lnet/flow/again.h"
#include "lnet/flow/select.h"
#include "lnet/route/route.h"

void m0_lnet__path_put(struct m0_lnet_msg *msg)
{
	struct m0_lnet_msg_tx *tx = &msg->msg_tx;

	if (tx->mtx_lpni != NULL)
		m0_lnet__lpni_put(msg->msg_engine, tx->mtx_lpni);
	if (tx->mtx_ni != NULL)
		--tx->mtx_ni->lni_msgs_nr;
	tx->mtx_lpni = NULL;
	tx->mtx_ni = NULL;
}

static void path_set(struct m0_lnet_msg *msg, struct m0_lnet_ni *ni,
		     struct m0_lnet_lpni *lpni)
{
	struct m0_lnet_msg_tx *tx = &msg->msg_tx;

	M0_PRE_EX(tx->mtx_ni == NULL && m0_lnet__ni_is_usable(ni));
	tx->mtx_ni = ni;
	++ni->lni_msgs_nr;
	/* A number that all NIs share: a new NI need not catch up. */
	ni->lni_used_nr = ++msg->msg_engine->le_used_nr;
	tx->mtx_lnd.ltx_pid = msg->msg_hdr.lhd_dest_pid;
	if (lpni == NULL) {
		tx->mtx_lnd.ltx_nid = m0_lnet_nid_lo;
		return;
	}
	lpni->lpn_used_nr = ++lpni->lpn_peer->lpe_used_nr;
	tx->mtx_lnd.ltx_nid = lpni->lpn_nid;
	if (M0_LIKELY(!tx->mtx_is_forward))
		msg->msg_hdr.lhd_src_nid = ni->lni_lnd.ldn_nid;
}

/** Counts a message that takes a route. */
static void route_use(struct m0_lnet_msg *msg, const struct m0_lnet__path *path)
{
	struct m0_lnet_route *route = path->pth_route;

	M0_PRE(route != NULL);
	msg->msg_tx.mtx_lnd.ltx_pid = M0_LNET_PID_LUSTRE;
	++route->lrt_sent_nr;
	route->lrt_last = msg->msg_hdr.lhd_dest_nid;
	route->lrt_used_nr = ++m0_lnet__routes(msg->msg_engine)->lrs_used_nr;
}

/** Counts the use of a destination behind a router, for the turn of its NIDs. */
static void dest_use(struct m0_lnet_lpni *dest)
{
	dest->lpn_used_nr = ++dest->lpn_peer->lpe_used_nr;
}

/** Reports the path of a message that routers forward. */
static __attribute__((__cold__, __noinline__)) void far_probe(
	const struct m0_lnet_msg *msg)
{
	const struct m0_lnet_msg_tx *tx = &msg->msg_tx;
	const struct m0_lnet_hdr    *hdr = &msg->msg_hdr;
	const char                  *type = m0_lnet__type_name(hdr->lhd_type);
	const char                  *hop = m0_lnet__lpni_text(tx->mtx_lpni);
	char                         from[M0_LNET_NIDSTR_SIZE];
	char                         to[M0_LNET_NIDSTR_SIZE];

	(void)m0_lnet_nid_print(&hdr->lhd_src_nid, from, sizeof from);
	(void)m0_lnet_nid_print(&hdr->lhd_dest_nid, to, sizeof to);
	if (tx->mtx_is_forward)
		m0_probe_lnet_forward(tx->mtx_ni->lni_text, hop, type, from,
				      to);
	else
		m0_probe_lnet_route(type, from, to, hop);
}

/** Reports a path that was found by a search. */
static void path_probe(const struct m0_lnet_msg *msg)
{
	const struct m0_lnet_msg_tx *tx = &msg->msg_tx;

	m0_probe_lnet_path(tx->mtx_ni->lni_text,
			   m0_lnet__lpni_text(tx->mtx_lpni),
			   m0_lnet__type_name(msg->msg_hdr.lhd_type));
	/* NIDs are made into text for the narration alone. */
	if (M0_UNLIKELY(m0_probe_sink != NULL) &&
	    (tx->mtx_is_forward || !m0_lnet_nid_eq(&tx->mtx_lpni->lpn_nid,
						   &msg->msg_hdr.lhd_dest_nid)))
		far_probe(msg);
}

/** Sets a path that was found by a search, and takes over a reference to its peer
 * NI. */
static void path_take(struct m0_lnet_msg *msg, const struct m0_lnet__path *path)
{
	msg->msg_tx.mtx_lpni = path->pth_lpni;
	path_set(msg, path->pth_ni, path->pth_lpni);
	if (path->pth_route != NULL)
		route_use(msg, path);
	path_probe(msg);
}

bool m0_lnet__path_is_lo(const struct m0_lnet_msg *msg)
{
	const struct m0_lnet_nid *dest = &msg->msg_hdr.lhd_dest_nid;

	return m0_lnet_nid_is_lo(dest) ||
	       m0_lnet__ni_find(msg->msg_engine, dest) != NULL;
}

int m0_lnet__path_lo(struct m0_lnet_msg *msg)
{
	struct m0_lnet_engine    *eng = msg->msg_engine;
	struct m0_lnet_hdr       *hdr = &msg->msg_hdr;
	const struct m0_lnet_nid *self = &msg->msg_op.mop_attr.lo_self;

	M0_PRE(msg->msg_tx.mtx_lpni == NULL);
	if (eng->le_lo == NULL || !m0_lnet__ni_is_usable(eng->le_lo))
		return -ENETDOWN;
	if (!msg->msg_tx.mtx_is_answer)
		hdr->lhd_src_nid = m0_lnet_nid_is_any(self) ? hdr->lhd_dest_nid
							    : *self;
	path_set(msg, eng->le_lo, NULL);
	return 0;
}

/** Sets the path of an answer by a route, when the router that the request came by
 * is lost. @return false: no route to the NID that asked leaves by this NI. */
static bool path_answer_far(struct m0_lnet_msg *msg)
{
	struct m0_lnet_engine *eng = msg->msg_engine;
	struct m0_lnet__path   path = m0_lnet__select(
		  eng,
		  &(struct m0_lnet__want){ .wnt_nid = &msg->msg_hdr.lhd_dest_nid,
					   .wnt_ni = msg->msg_rx.mrx_ni });

	if (path.pth_route == NULL)
		return false;
	m0_lnet__lpni_hold(eng, path.pth_lpni);
	path_take(msg, &path);
	return true;
}

int m0_lnet__path_answer(struct m0_lnet_msg *msg)
{
	struct m0_lnet_engine       *eng = msg->msg_engine;
	const struct m0_lnet_msg_rx *rx = &msg->msg_rx;
	struct m0_lnet_msg_tx       *tx = &msg->msg_tx;
	const struct m0_lnet_nid    *dest = &msg->msg_hdr.lhd_dest_nid;
	const struct m0_lnet_lpni   *hop;
	bool                         direct;

	M0_PRE(tx->mtx_is_answer && rx->mrx_ni != NULL);
	if (!m0_lnet__ni_is_usable(rx->mrx_ni))
		return -ENETDOWN;
	direct = m0_lnet__ni_fits(rx->mrx_ni, dest);
	hop = rx->mrx_asked_by;
	if (!direct && (hop == NULL || m0_lnet__lpni_is_down(eng, hop)) &&
	    path_answer_far(msg))
		return 0;
	tx->mtx_lpni = m0_lnet__lpni_get(eng, direct ? dest : &rx->mrx_hop);
	if (tx->mtx_lpni == NULL)
		return -ENOBUFS;
	path_set(msg, rx->mrx_ni, tx->mtx_lpni);
	if (!direct)
		tx->mtx_lnd.ltx_pid = M0_LNET_PID_LUSTRE;
	path_probe(msg);
	return 0;
}

/** Ends a path at its gateway if the destination is another NID of that: a node
 * takes a message for another of its interfaces for a violation. */
static void path_shorten(struct m0_lnet__path      *path,
			 const struct m0_lnet_lpni *dest)
{
	if (path->pth_route != NULL && dest != NULL &&
	    path->pth_lpni->lpn_peer == dest->lpn_peer)
		path->pth_route = NULL;
}

/* -- forwarded messages ---------------------------------------------------- */

/** Returns a path to another NID of a peer whose NID that the header names is
 * down; pth_ni is NULL if there is no reason or none. */
static struct m0_lnet__path forward_other(const struct m0_lnet_engine *eng,
					  const struct m0_lnet_hdr    *hdr)
{
	const struct m0_lnet_lpni *from =
		m0_lnet__lpni_find(eng, &hdr->lhd_src_nid);
	const struct m0_lnet_lpni *dest =
		m0_lnet__lpni_find(eng, &hdr->lhd_dest_nid);
	struct m0_lnet__path path = { NULL, NULL, NULL, NULL };

	if (from == NULL || !m0_lnet__peer_is_multi_rail(from->lpn_peer) ||
	    dest == NULL || !m0_lnet__peer_is_multi_rail(dest->lpn_peer) ||
	    !m0_lnet__lpni_is_down(eng, dest))
		return path;
	path = m0_lnet__select(
		eng, &(struct m0_lnet__want){ .wnt_peer = dest->lpn_peer });
	if (path.pth_route != NULL || path.pth_lpni == dest)
		path.pth_ni = NULL;
	return path;
}

struct m0_lnet__path m0_lnet__forward_select(const struct m0_lnet_engine *eng,
					     const struct m0_lnet_hdr    *hdr,
					     const struct m0_lnet_peer   *from)
{
	struct m0_lnet__path path = forward_other(eng, hdr);

	if (M0_UNLIKELY(path.pth_ni != NULL))
		return path;
	path = m0_lnet__select(
		eng, &(struct m0_lnet__want){ .wnt_nid = &hdr->lhd_dest_nid,
					      .wnt_not_by = from });
	path_shorten(&path, m0_lnet__lpni_find(eng, &hdr->lhd_dest_nid));
	return path;
}

int m0_lnet__path_forward(struct m0_lnet_msg *msg)
{
	struct m0_lnet_engine     *eng = msg->msg_engine;
	const struct m0_lnet_lpni *hop = msg->msg_rx.mrx_asked_by;
	struct m0_lnet__path       path = m0_lnet__forward_select(
		      eng, &msg->msg_hdr, hop == NULL ? NULL : hop->lpn_peer);

	M0_PRE(msg->msg_tx.mtx_is_forward && msg->msg_tx.mtx_lpni == NULL);
	if (path.pth_ni == NULL)
		return -EHOSTUNREACH;
	if (path.pth_lpni == NULL) {
		path.pth_lpni =
			m0_lnet__lpni_get(eng, &msg->msg_hdr.lhd_dest_nid);
		if (path.pth_lpni == NULL)
			return -ENOBUFS;
	} else {
		m0_lnet__lpni_hold(eng, path.pth_lpni);
		if (path.pth_route == NULL)
			msg->msg_hdr.lhd_dest_nid = path.pth_lpni->lpn_nid;
	}
	path_take(msg, &path);
	return 0;
}

/* -- unreachable ----------------------------------------------------------- */

enum {
	LOG_EVERY_NS = 1000000000
};

/** Logs, at most once a second, which routes to a destination are down. */
static __attribute__((__cold__, __noinline__)) int not_reached(
	const struct m0_lnet_msg *msg)
{
	struct m0_lnet_engine    *eng = msg->msg_engine;
	const struct m0_lnet_nid *dest = &msg->msg_hdr.lhd_dest_nid;
	uint32_t                  net = m0_lnet_nid_net(dest);
	struct m0_lnet_routes    *all = m0_lnet__routes(eng);
	char                      nid[M0_LNET_NIDSTR_SIZE];
	char                      why[512];

	/* Without routes the status suffices. */
	if (m0_lnet__far_find(eng, net) == NULL ||
	    eng->le_now < all->lrs_log_at)
		return -EHOSTUNREACH;
	all->lrs_log_at = m0_time_add(eng->le_now, LOG_EVERY_NS);
	m0_lnet__far_why(eng, net, why, sizeof why);
	m0_log(M0_LOG_WARN, "lnet: %s is not reachable: %s",
	       m0_lnet_nid_print(dest, nid, sizeof nid), why);
	return -EHOSTUNREACH;
}

int m0_lnet__path_peer(struct m0_lnet_msg *msg)
{
	struct m0_lnet_engine    *eng = msg->msg_engine;
	const struct m0_lnet_nid *dest = &msg->msg_hdr.lhd_dest_nid;
	struct m0_lnet_lpni      *lpni = m0_lnet__lpni_find(eng, dest);

	M0_PRE(msg->msg_tx.mtx_lpni == NULL);
	if (M0_LIKELY(lpni != NULL)) {
		m0_lnet__lpni_hold(eng, lpni);
	} else {
		/* A NID that no NI reaches is not worth a record. */
		if (m0_lnet__ni_for(eng, dest) == NULL)
			return not_reached(msg);
		lpni = m0_lnet__lpni_get(eng, dest);
	}
	msg->msg_tx.mtx_lpni = lpni;
	return lpni == NULL ? -ENOBUFS : 0;
}

/* -- requests -------------------------------------------------------------- */

/** Returns a path to the NID of the request by a route; pth_ni is NULL if there is
 * none. */
static struct m0_lnet__path path_far(const struct m0_lnet_engine   *eng,
				     const struct m0_lnet__request *req,
				     const struct m0_lnet_ni       *ni)
{
	struct m0_lnet__path path = m0_lnet__select(
		eng,
		&(struct m0_lnet__want){ .wnt_nid = &req->prq_lpni->lpn_nid,
					 .wnt_ni = ni,
					 .wnt_by = req->prq_by,
					 .wnt_trials = req->prq_trials });

	path.pth_dest = req->prq_lpni;
	path_shorten(&path, req->prq_lpni);
	return path;
}

/** Returns true if the NID is on a network that this node has routes to. */
static bool is_far(const struct m0_lnet_engine *eng,
		   const struct m0_lnet_lpni   *lpni)
{
	return m0_lnet__routes(eng)->lrs_nr > 0 &&
	       m0_lnet__far_find(eng, m0_lnet_nid_net(&lpni->lpn_nid)) != NULL;
}

/** A peer that is not Multi-Rail knows this node by one NID. */
static struct m0_lnet_ni *ni_kept(const struct m0_lnet_engine   *eng,
				  const struct m0_lnet__request *req)
{
	const struct m0_lnet_lpni *lpni = req->prq_lpni;
	struct m0_lnet_ni         *ni = lpni->lpn_peer->lpe_ni;

	M0_PRE(!m0_lnet__peer_is_multi_rail(lpni->lpn_peer));
	return ni != NULL && m0_lnet__ni_fits(ni, &lpni->lpn_nid)
		       ? ni
		       : m0_lnet__select(
				 eng,
				 &(struct m0_lnet__want){
					 .wnt_nid = &lpni->lpn_nid,
					 .wnt_trials = req->prq_trials })
				 .pth_ni;
}

/** Returns true if a request to this peer need not wait for its discovery. */
static bool is_discovered(const struct m0_lnet_lpni *lpni)
{
	return m0_lnet__peer_is_up_to_date(lpni->lpn_peer);
}

/** The operation names this NI, which reaches the NID: there is no choice, and
 * there will be none for the next such request. */
static void path_keep(struct m0_lnet_engine      *eng,
		      const struct m0_lnet__path *path)
{
	if (is_discovered(path->pth_lpni) || !eng->le_cfg.lec_discovery)
		m0_lnet__cache_fresh(eng)->lch_path = *path;
}

bool m0_lnet__path_again(struct m0_lnet_msg *msg)
{
	struct m0_lnet_engine      *eng = msg->msg_engine;
	const struct m0_lnet__path *path = &m0_lnet__cache_fresh(eng)->lch_path;
	struct m0_lnet_lpni        *lpni = path->pth_lpni;
	struct m0_lnet_ni          *ni = path->pth_ni;

	if (lpni == NULL || msg->msg_tx.mtx_is_answer ||
	    !m0_lnet_nid_eq(&msg->msg_hdr.lhd_dest_nid, &lpni->lpn_nid) ||
	    !m0_lnet_nid_eq(&msg->msg_op.mop_attr.lo_self,
			    &ni->lni_lnd.ldn_nid))
		return false;
	if (M0_UNLIKELY(
		    m0_lnet__spreads(&msg->msg_op.mop_attr, lpni->lpn_peer)))
		return false;
	M0_ASSERT_EX(m0_lnet__ni_is_usable(ni));
	M0_ASSERT_EX(m0_lnet__ni_fits(ni, &lpni->lpn_nid));
	M0_ASSERT_EX(is_discovered(lpni) || !eng->le_cfg.lec_discovery);
	m0_lnet__lpni_hold(eng, lpni);
	msg->msg_tx.mtx_lpni = lpni;
	path_set(msg, ni, lpni);
	return true;
}

/** Finds the path of a request that names its NI. @retval -EINVAL, -ENETDOWN */
static int path_from(const struct m0_lnet_engine   *eng,
		     const struct m0_lnet__request *req,
		     struct m0_lnet__path          *path)
{
	struct m0_lnet_lpni *lpni = req->prq_lpni;
	struct m0_lnet_ni   *ni = m0_lnet__ni_find(eng, req->prq_self);

	if (ni == NULL)
		return -EINVAL;
	if (!m0_lnet__ni_is_usable(ni))
		return -ENETDOWN;
	if (m0_lnet__ni_fits(ni, &lpni->lpn_nid))
		*path = (struct m0_lnet__path){ .pth_ni = ni,
						.pth_lpni = lpni };
	else if (is_far(eng, lpni))
		*path = path_far(eng, req, ni);
	else if (m0_lnet__peer_is_multi_rail(lpni->lpn_peer))
		*path = m0_lnet__select(
			eng, &(struct m0_lnet__want){
				     .wnt_peer = lpni->lpn_peer,
				     .wnt_ni = ni,
				     .wnt_trials = req->prq_trials });
	return 0;
}

/** m0_lnet__path_find(). Each message calls it, so it is a part of its caller. */
static inline __attribute__((__always_inline__)) int path_find(
	const struct m0_lnet_engine *eng, const struct m0_lnet__request *req,
	struct m0_lnet__path *ret)
{
	struct m0_lnet_peer *peer = req->prq_lpni->lpn_peer;

	*ret = (struct m0_lnet__path){ NULL, NULL, NULL, NULL };
	if (!m0_lnet_nid_is_any(req->prq_self))
		return path_from(eng, req, ret);
	if (m0_lnet__peer_is_multi_rail(peer))
		*ret = m0_lnet__select(eng,
				       &(struct m0_lnet__want){
					       .wnt_peer = peer,
					       .wnt_trials = req->prq_trials });
	else if (is_far(eng, req->prq_lpni))
		*ret = path_far(eng, req, NULL);
	else
		*ret = (struct m0_lnet__path){ .pth_ni = ni_kept(eng, req),
					       .pth_lpni = req->prq_lpni };
	return 0;
}

int m0_lnet__path_find(const struct m0_lnet_engine   *eng,
		       const struct m0_lnet__request *req,
		       struct m0_lnet__path          *ret)
{
	return path_find(eng, req, ret);
}

/** Keeps what the next request to the same peer may use. */
static void path_note(const struct m0_lnet_msg   *msg,
		      const struct m0_lnet__path *path)
{
	struct m0_lnet_lpni *lpni = msg->msg_tx.mtx_lpni;

	if (path->pth_route != NULL || path->pth_lpni != lpni ||
	    m0_lnet__spreads(&msg->msg_op.mop_attr, lpni->lpn_peer))
		return;
	if (!m0_lnet_nid_is_any(&msg->msg_op.mop_attr.lo_self))
		path_keep(msg->msg_engine, path);
	else if (!m0_lnet__peer_is_multi_rail(lpni->lpn_peer) &&
		 msg->msg_hdr.lhd_portal != M0_LNET_PORTAL_RESERVED)
		lpni->lpn_peer->lpe_ni = path->pth_ni;
}

int m0_lnet__path_request(struct m0_lnet_msg *msg)
{
	struct m0_lnet_engine   *eng = msg->msg_engine;
	struct m0_lnet_msg_tx   *tx = &msg->msg_tx;
	const struct m0_lnet_md *md = msg->msg_md;
	const struct m0_lnet_op *op = &msg->msg_op.mop_attr;
	struct m0_lnet__path     path;
	int                      rc;

	M0_PRE(!tx->mtx_is_answer && tx->mtx_lpni->lpn_peer != NULL);
	rc = path_find(
		eng,
		&(struct m0_lnet__request){
			.prq_lpni = tx->mtx_lpni,
			.prq_self = m0_lnet__spreads(op, tx->mtx_lpni->lpn_peer)
					    ? &m0_lnet_nid_any
					    : &op->lo_self,
			.prq_by = m0_lnet__md_is_own(md) ? md->md_by : NULL },
		&path);
	if (rc != 0)
		return rc;
	if (path.pth_ni == NULL)
		return not_reached(msg);
	path_note(msg, &path);
	msg->msg_hdr.lhd_dest_nid = path.pth_route == NULL
					    ? path.pth_lpni->lpn_nid
					    : path.pth_dest->lpn_nid;
	if (path.pth_route != NULL)
		dest_use(path.pth_dest);
	if (path.pth_lpni != tx->mtx_lpni) {
		m0_lnet__lpni_hold(eng, path.pth_lpni);
		m0_lnet__lpni_put(eng, tx->mtx_lpni);
	}
	path_take(msg, &path);
	return 0;
}
