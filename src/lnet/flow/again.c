/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet/flow/again.h"
#include "lnet/flow/select.h"
#include "lnet/health/health.h"
#include "lnet/route/route.h"

/** Returns true if the node has several NIs, `0@lo` apart. */
static bool nis_are_several(const struct m0_lnet_engine *eng)
{
	const struct m0_lnet_ni *ni;
	unsigned                 nr = 0;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		nr += ni != eng->le_lo && m0_lnet__ni_is_usable(ni);
	return nr > 1;
}

/** Returns true if the message went to a gateway, and there is another route. */
static bool routes_are_several(const struct m0_lnet_msg *msg)
{
	uint32_t net = m0_lnet_nid_net(&msg->msg_hdr.lhd_dest_nid);
	const struct m0_lnet_far *far = m0_lnet__far_find(msg->msg_engine, net);

	return far != NULL && far->far_routes_nr > 1 &&
	       m0_lnet_nid_net(&msg->msg_tx.mtx_lnd.ltx_nid) != net;
}

static bool nids_are_several(const struct m0_lnet_peer *peer)
{
	const struct m0_list *nids = &peer->lpe_lpnis;

	return !m0_list_link_is_last(m0_list_first(nids), nids);
}

/** Returns true if the message may be sent again as far as it is concerned. */
static bool is_worth_it(const struct m0_lnet_msg *msg)
{
	const struct m0_lnet_engine *eng = msg->msg_engine;
	const struct m0_lnet_msg_tx *tx = &msg->msg_tx;

	return eng->le_cfg.lec_health.lhe_sensitivity > 0 &&
	       tx->mtx_tries_nr < eng->le_cfg.lec_health.lhe_retries &&
	       !tx->mtx_cancelled && !tx->mtx_is_forward &&
	       !msg->msg_op.mop_answered &&
	       eng->le_now < tx->mtx_lnd.ltx_deadline &&
	       /* From this node to itself there is one path. */
	       tx->mtx_lpni != NULL &&
	       /* An answer leaves only by this NI. */
	       (!tx->mtx_is_answer || m0_lnet__ni_is_usable(tx->mtx_ni)) &&
	       /* The engine repeats its own requests itself. */
	       (msg->msg_md == NULL || !m0_lnet__md_is_own(msg->msg_md));
}

bool m0_lnet__again_may(const struct m0_lnet_msg *msg,
			enum m0_lnd_health        health)
{
	const struct m0_lnet__reaction *to = m0_lnet__health_reaction(health);

	if (!to->rea_again || !is_worth_it(msg))
		return false;
	if (to->rea_local)
		return nis_are_several(msg->msg_engine);
	return nids_are_several(msg->msg_tx.mtx_lpni->lpn_peer) ||
	       routes_are_several(msg);
}

/** Returns true if a path can be the reason for this status of an operation. */
static bool is_of_path(int status)
{
	return !M0_IN(status, (0, -ECANCELED, -EINVAL, -EMSGSIZE, -ENOBUFS,
			       -ENOENT, -ENOMEM, -ESHUTDOWN));
}

int m0_lnet__again_status(const struct m0_lnet_msg *msg, int status)
{
	const struct m0_lnet_engine *eng = msg->msg_engine;
	const struct m0_lnet_op     *op = &msg->msg_op.mop_attr;
	const struct m0_lnet_lpni   *lpni;

	M0_PRE(op->lo_spread && status <= 0);
	if (!is_of_path(status) || msg->msg_tx.mtx_cancelled ||
	    msg->msg_md->md_aborted ||
	    eng->le_now >= msg->msg_tx.mtx_lnd.ltx_deadline)
		return status;
	lpni = m0_lnet__lpni_find(eng, &op->lo_target.lp_nid);
	if (lpni == NULL || !m0_lnet__peer_is_multi_rail(lpni->lpn_peer))
		return status;
	return nids_are_several(lpni->lpn_peer) || nis_are_several(eng)
		       ? -EAGAIN
		       : status;
}

int m0_lnet__again_path(struct m0_lnet_msg *msg)
{
	int rc;

	M0_PRE(msg->msg_tx.mtx_ni == NULL && msg->msg_tx.mtx_lpni == NULL);
	M0_PRE(!msg->msg_tx.mtx_is_forward);
	if (msg->msg_tx.mtx_is_answer)
		return m0_lnet__path_answer(msg);
	/* The last path may have changed the NID. */
	msg->msg_hdr.lhd_dest_nid = msg->msg_op.mop_attr.lo_target.lp_nid;
	rc = m0_lnet__path_peer(msg);
	return rc == 0 ? m0_lnet__path_request(msg) : rc;
}

void m0_lnet__again_count(const struct m0_lnet_msg *msg, int status)
{
	struct m0_lnet_stats *stats = &msg->msg_engine->le_stats;

	M0_PRE(msg->msg_tx.mtx_tries_nr > 0);
	if (status == 0)
		++stats->ls_successful_resends;
	else
		++stats->ls_failed_resends;
}
