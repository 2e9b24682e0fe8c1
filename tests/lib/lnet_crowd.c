/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <limits.h>
#include <stdlib.h>

#include "lib/lnet_crowd.h"

enum {
	/** Runs without time passing mean that nodes turn in circles. */
	RUNS_MAX = 10000000,
	PASSES_MAX = 1000,
	MSGS_MAX = 8192
};

/** A header that was refused is offered again. */
#define AGAIN_NS M0_TIME_ONE_MSEC

/** A message on its way in. */
struct crowd_rx {
	struct m0_list_link crx_link;
	struct m0_lnd_rx    crx_rx;
	struct m0_lnd_ni   *crx_ni;
	uint8_t             crx_hdr[M0_LND_HDR_BYTES_MAX];
	void               *crx_payload;
	m0_bcount_t         crx_bytes;
};

struct crowd_md {
	struct m0_lnet_md cmd_md;
	struct m0_bufvec  cmd_vec;
	void             *cmd_addr;
	m0_bcount_t       cmd_bytes;
};

struct crowd_msg {
	struct m0_lnet_msg   cmg_msg;
	struct m0_lnet_event cmg_event[2];
};

/** An event, to be handled after the step. */
struct crowd_posted {
	struct crowd_posted *cpo_next;
	struct m0_lnet_event cpo_event;
	struct m0_lnet_md   *cpo_ended;
};

static struct crowd_node *node_of_ni(const struct m0_lnd_ni *ni)
{
	return container_of(ni->ldn_lnd, struct crowd_node, cno_lnd);
}

static void *must_alloc(size_t size)
{
	void *data = calloc(1, size);

	M0_ASSERT(data != NULL);
	return data;
}

/* -- the driver ------------------------------------------------------------ */

static void fake_xmit(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx)
{
	struct crowd_node *node = node_of_ni(ni);

	m0_list_link_init(&tx->ltx_link);
	tx->ltx_priv[0] = ni;
	m0_list_add_tail(&node->cno_txs, &tx->ltx_link);
}

/** Only messages to silent peers are worth it: others are done in a moment. */
static void fake_tx_cancel(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx)
{
	if (m0_list_contains(&node_of_ni(ni)->cno_held, &tx->ltx_link))
		tx->ltx_word[0] = 0;
}

static void fake_ni_stop(struct m0_lnd_ni *ni)
{
	ni->ldn_priv = ni;
}

static void fake_peer_drop(struct m0_lnd_ni *ni, const struct m0_lnet_nid *nid)
{
	(void)ni;
	(void)nid;
}

static void fake_ni_info(const struct m0_lnd_ni *ni,
			 struct m0_lnd_ni_info  *info)
{
	(void)ni;
	M0_SET0(info);
}

static const struct m0_lnd_ops fake_ops = {
	.ldo_name = "crowd",
	.ldo_type = M0_LNET_TYPE_TCP,
	.ldo_ni_stop = fake_ni_stop,
	.ldo_xmit = fake_xmit,
	.ldo_tx_cancel = fake_tx_cancel,
	.ldo_peer_drop = fake_peer_drop,
	.ldo_ni_info = fake_ni_info,
};

static struct m0_lnd_tx *tx_first(const struct m0_list *list)
{
	return m0_list_is_empty(list)
		       ? NULL
		       : m0_list_entry(m0_list_first(list), struct m0_lnd_tx,
				       ltx_link);
}

static struct m0_lnd_ni *ni_with(struct crowd_node        *node,
				 const struct m0_lnet_nid *nid)
{
	unsigned i;

	for (i = 0; i < node->cno_nis_nr; ++i)
		if (m0_lnet_nid_eq(&node->cno_ni[i]->ldn_nid, nid))
			return node->cno_ni[i];
	return NULL;
}

static void rx_add(struct m0_lnd_ni *to, struct m0_lnd_tx *tx)
{
	struct m0_lnd_ni            *ni = tx->ltx_priv[0];
	const struct m0_lnd_payload *lp = &tx->ltx_payload;
	struct crowd_rx             *rx = must_alloc(sizeof *rx);
	struct m0_bufvec             flat;
	size_t                       nr;

	nr = ni->ldn_ops->lu_tx_header(tx, false, rx->crx_hdr);
	M0_ASSERT(nr > 0);
	rx->crx_bytes = lp->lpy_bytes;
	rx->crx_payload = must_alloc(lp->lpy_bytes + 1);
	flat = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&rx->crx_payload,
						    &rx->crx_bytes);
	if (lp->lpy_bytes > 0)
		(void)m0_bufvec_copy_at(&flat, 0, lp->lpy_vec, lp->lpy_offset,
					lp->lpy_bytes);
	m0_list_link_init(&rx->crx_link);
	rx->crx_ni = to;
	rx->crx_rx.lr_nid = ni->ldn_nid;
	rx->crx_rx.lr_pid = M0_LNET_PID_LUSTRE;
	m0_list_add_tail(&node_of_ni(to)->cno_rxs, &rx->crx_link);
	++node_of_ni(to)->cno_crowd->crw_moved_nr;
	crowd_node_touch(node_of_ni(to));
}

static void rx_free(struct crowd_rx *rx)
{
	m0_list_del(&rx->crx_link);
	free(rx->crx_payload);
	free(rx);
}

/** Ends a message with an error, and reports the peer lost. */
static void tx_fail(struct m0_lnd_tx *tx, int status, enum m0_lnd_health health)
{
	struct m0_lnd_ni  *ni = tx->ltx_priv[0];
	struct m0_lnet_nid nid = tx->ltx_nid;

	ni->ldn_ops->lu_tx_done(tx, status, health);
	ni->ldn_ops->lu_peer_down(ni, &nid, M0_LNET_PID_LUSTRE, status);
}

/** The time of a message has come: it arrives, fails, or begins to hang. */
static void tx_arrive(struct crowd_node *node, struct m0_lnd_tx *tx)
{
	struct crowd      *crowd = node->cno_crowd;
	struct m0_lnd_ni  *ni = tx->ltx_priv[0];
	struct crowd_node *to = crowd->crw_find(crowd, &tx->ltx_nid);

	if (to->cno_life == CROWD_SILENT) {
		tx->ltx_word[0] = crowd->crw_now +
				  CROWD_LND_MS * M0_TIME_ONE_MSEC;
		m0_list_add_tail(&node->cno_held, &tx->ltx_link);
	} else if (to->cno_life == CROWD_RESET) {
		tx_fail(tx, -ECONNRESET, M0_LND_REMOTE_DROPPED);
	} else {
		rx_add(ni_with(to, &tx->ltx_nid), tx);
		ni->ldn_ops->lu_tx_done(tx, 0, M0_LND_OK);
	}
}

/** Nothing leaves a dead node. */
static void txs_vanish(struct crowd_node *node, struct m0_list *list)
{
	struct m0_lnd_ni *ni;
	struct m0_lnd_tx *tx;

	M0_PRE(node->cno_life != CROWD_UP);
	while ((tx = tx_first(list)) != NULL) {
		m0_list_del(&tx->ltx_link);
		ni = tx->ltx_priv[0];
		ni->ldn_ops->lu_tx_done(tx, 0, M0_LND_OK);
	}
}

static void txs_move(struct crowd_node *node)
{
	m0_time_t         now = node->cno_crowd->crw_now;
	struct m0_lnd_tx *tx;
	struct m0_lnd_tx *next;

	while ((tx = tx_first(&node->cno_flight)) != NULL &&
	       tx->ltx_word[0] <= now) {
		m0_list_del(&tx->ltx_link);
		tx_arrive(node, tx);
	}
	m0_list_for_each_entry_safe(&node->cno_held, tx, next, struct m0_lnd_tx,
				    ltx_link) {
		if (tx->ltx_word[0] > now)
			continue;
		m0_list_del(&tx->ltx_link);
		if (tx->ltx_word[0] > 0)
			tx_fail(tx, -ETIMEDOUT, M0_LND_NETWORK_TIMEOUT);
		else
			((struct m0_lnd_ni *)tx->ltx_priv[0])
				->ldn_ops->lu_tx_done(tx, -ECANCELED,
						      M0_LND_LOCAL_INTERRUPT);
	}
	while ((tx = tx_first(&node->cno_txs)) != NULL) {
		tx->ltx_word[0] = now + CROWD_LATENCY_NS;
		m0_list_move_tail(&node->cno_flight, &tx->ltx_link);
	}
}

static void rx_finish(struct crowd_rx *rx)
{
	const struct m0_lnd_payload *lp = &rx->crx_rx.lr_payload;
	struct m0_bufvec             flat =
		M0_BUFVEC_INIT_BUF(&rx->crx_payload, &rx->crx_bytes);

	if (!rx->crx_rx.lr_cancelled && lp->lpy_bytes > 0)
		(void)m0_bufvec_copy_at(lp->lpy_vec, lp->lpy_offset, &flat, 0,
					lp->lpy_bytes);
	rx->crx_ni->ldn_ops->lu_rx_done(&rx->crx_rx, 0, M0_LND_OK);
	rx_free(rx);
}

/** Messages wait behind one that the engine does not take yet. */
static bool rxs_move(struct crowd_node *node)
{
	struct crowd_rx *rx;
	int              rc;

	while (!m0_list_is_empty(&node->cno_rxs)) {
		rx = m0_list_entry(m0_list_first(&node->cno_rxs),
				   struct crowd_rx, crx_link);
		rc = rx->crx_ni->ldn_ops->lu_rx_begin(rx->crx_ni, &rx->crx_rx,
						      rx->crx_hdr, false);
		if (rc == -EAGAIN)
			return false;
		M0_ASSERT(rc == 0);
		rx_finish(rx);
	}
	return true;
}

static void nis_stop(struct crowd_node *node)
{
	struct m0_lnd_ni *ni;
	unsigned          i;

	for (i = node->cno_nis_nr; i > 0; --i) {
		ni = node->cno_ni[i - 1];
		if (ni->ldn_priv == NULL)
			continue;
		node->cno_ni[i - 1] = node->cno_ni[--node->cno_nis_nr];
		ni->ldn_ops->lu_ni_stopped(ni);
	}
}

/* -- the owner -------------------------------------------------------------- */

static struct m0_lnet_msg *home_msg_get(void *owner)
{
	struct crowd_node *node = owner;
	struct crowd_msg  *cmg;

	if (node->cno_msgs_nr == MSGS_MAX)
		return NULL;
	cmg = must_alloc(sizeof *cmg);
	cmg->cmg_msg.msg_event[0] = &cmg->cmg_event[0];
	cmg->cmg_msg.msg_event[1] = &cmg->cmg_event[1];
	++node->cno_msgs_nr;
	return &cmg->cmg_msg;
}

static void home_msg_put(void *owner, struct m0_lnet_msg *msg)
{
	struct crowd_node *node = owner;

	M0_ASSERT(node->cno_msgs_nr > 0);
	--node->cno_msgs_nr;
	free(container_of(msg, struct crowd_msg, cmg_msg));
}

static void home_event(void *owner, struct m0_lnet_md *md,
		       struct m0_lnet_event *ev, struct m0_lnet_msg *msg)
{
	struct crowd_node   *node = owner;
	struct crowd_posted *event = must_alloc(sizeof *event);

	(void)msg;
	event->cpo_event = *ev;
	event->cpo_ended = ev->ev_unlinked ? md : NULL;
	if (node->cno_posted == NULL)
		node->cno_posted = event;
	else
		node->cno_posted_last->cpo_next = event;
	node->cno_posted_last = event;
}

static bool home_eq_room(void *owner, uint32_t eq)
{
	(void)owner;
	(void)eq;
	return true;
}

static bool home_is_behind(void *owner, uint64_t *mark)
{
	(void)owner;
	(void)mark;
	return false;
}

static void home_me_gone(void *owner, struct m0_lnet_me *me)
{
	struct crowd_node *node = owner;

	--node->cno_mes_nr;
	free(me);
}

static void home_probe_done(void *owner, struct m0_lnet_probe *probe)
{
	(void)owner;
	(void)probe;
}

static const struct m0_lnet_owner_ops owner_ops = {
	.ho_msg_get = home_msg_get,
	.ho_msg_put = home_msg_put,
	.ho_event = home_event,
	.ho_eq_room = home_eq_room,
	.ho_is_behind = home_is_behind,
	.ho_me_gone = home_me_gone,
	.ho_probe_done = home_probe_done,
};

static void events_take(struct crowd_node *node)
{
	struct crowd_posted *event;

	while ((event = node->cno_posted) != NULL) {
		node->cno_posted = event->cpo_next;
		node->cno_crowd->crw_event(node, &event->cpo_event);
		if (event->cpo_ended != NULL) {
			--node->cno_mds_nr;
			free(container_of(event->cpo_ended, struct crowd_md,
					  cmd_md));
		}
		free(event);
	}
}

/* -- time ------------------------------------------------------------------ */

void crowd_node_touch(struct crowd_node *node)
{
	if (!m0_list_link_is_in(&node->cno_soon))
		m0_list_add_tail(&node->cno_crowd->crw_soon, &node->cno_soon);
}

static m0_time_t held_next(const struct crowd_node *node)
{
	const struct m0_lnd_tx *tx;
	m0_time_t               next = M0_TIME_NEVER;

	m0_list_for_each_entry(&node->cno_held, tx, struct m0_lnd_tx, ltx_link)
		next = min64u(next, tx->ltx_word[0]);
	return next;
}

/** Runs a node, and arms it for its next time. */
static void node_run(struct crowd_node *node)
{
	struct crowd           *crowd = node->cno_crowd;
	const struct m0_lnd_tx *tx;
	m0_time_t               now = crowd->crw_now;
	m0_time_t               next;
	bool                    took;

	m0_lnet_engine_time(node->cno_engine, now);
	txs_move(node);
	took = rxs_move(node);
	next = m0_lnet_engine_step(node->cno_engine, now);
	events_take(node);
	tx = tx_first(&node->cno_flight);
	if (tx != NULL)
		next = min64u(next, tx->ltx_word[0]);
	if (!took)
		next = min64u(next, now + AGAIN_NS);
	next = min64u(next, held_next(node));
	if (!m0_list_is_empty(&node->cno_txs) || next <= now)
		crowd_node_touch(node);
	m0_timerq_arm(&crowd->crw_timers, &node->cno_timer,
		      max64u(next, now + 1));
}

static void crowd_settle(struct crowd *crowd)
{
	struct crowd_node *node;
	unsigned           runs = 0;

	while (!m0_list_is_empty(&crowd->crw_soon)) {
		M0_ASSERT(++runs < RUNS_MAX);
		node = m0_list_entry(m0_list_first(&crowd->crw_soon),
				     struct crowd_node, cno_soon);
		m0_list_del(&node->cno_soon);
		if (node->cno_life == CROWD_UP)
			node_run(node);
	}
}

void crowd_run(struct crowd *crowd, uint64_t ms)
{
	m0_time_t        end = crowd->crw_now + ms * M0_TIME_ONE_MSEC;
	struct m0_timer *timer;

	for (;;) {
		crowd_settle(crowd);
		if (crowd->crw_now >= end)
			return;
		crowd->crw_now =
			min64u(max64u(m0_timerq_next(&crowd->crw_timers),
				      crowd->crw_now + 1),
			       end);
		while ((timer = m0_timerq_expire(&crowd->crw_timers,
						 crowd->crw_now)) != NULL)
			crowd_node_touch(container_of(timer, struct crowd_node,
						      cno_timer));
	}
}

/* -- nodes ----------------------------------------------------------------- */

struct crowd *crowd_open(unsigned nr)
{
	struct crowd *crowd = must_alloc(sizeof *crowd);
	unsigned      i;

	crowd->crw_now = 1000 * M0_TIME_ONE_SECOND;
	crowd->crw_nr = nr;
	crowd->crw_node = must_alloc(nr * sizeof crowd->crw_node[0]);
	m0_timerq_init(&crowd->crw_timers, crowd->crw_now);
	m0_list_init(&crowd->crw_soon);
	for (i = 0; i < nr; ++i) {
		crowd->crw_node[i].cno_crowd = crowd;
		crowd->crw_node[i].cno_life = CROWD_SILENT;
		m0_timer_init(&crowd->crw_node[i].cno_timer);
		m0_list_link_init(&crowd->crw_node[i].cno_soon);
	}
	return crowd;
}

void crowd_node_open(struct crowd_node               *node,
		     const struct m0_lnet_engine_cfg *cfg)
{
	struct crowd             *crowd = node->cno_crowd;
	struct m0_lnet_engine_cfg own = *cfg;
	struct m0_lnd_ni         *ni;
	unsigned                  i;
	int                       rc;

	M0_PRE(node->cno_engine == NULL && node->cno_nids_nr > 0);
	node->cno_life = CROWD_UP;
	node->cno_lnd.ld_ops = &fake_ops;
	m0_list_init(&node->cno_txs);
	m0_list_init(&node->cno_flight);
	m0_list_init(&node->cno_held);
	m0_list_init(&node->cno_rxs);
	own.lec_owner_ops = &owner_ops;
	own.lec_owner = node;
	own.lec_cookie = 1 + (uint64_t)(node - crowd->crw_node) +
			 crowd->crw_now;
	rc = m0_lnet_engine_create(&node->cno_engine, &own, crowd->crw_now);
	M0_ASSERT(rc == 0);
	for (i = 0; i < node->cno_nids_nr; ++i) {
		rc = m0_lnet_engine_ni_add(node->cno_engine, &node->cno_nids[i],
					   "sim0", 1 + crowd->crw_now,
					   &node->cno_lnd, &ni);
		M0_ASSERT(rc == 0);
		ni->ldn_up = true;
		node->cno_ni[node->cno_nis_nr++] = ni;
		m0_lnet_engine_ni_up(node->cno_engine, ni);
	}
	crowd_node_touch(node);
}

/** Ends all that a node has, without a message to anybody. */
static void node_close(struct crowd_node *node)
{
	struct crowd *crowd = node->cno_crowd;
	unsigned      passes = 0;
	unsigned      i;

	M0_PRE(node->cno_life != CROWD_UP);
	m0_timerq_cancel(&crowd->crw_timers, &node->cno_timer);
	while (!m0_list_is_empty(&node->cno_rxs))
		rx_free(m0_list_entry(m0_list_first(&node->cno_rxs),
				      struct crowd_rx, crx_link));
	m0_lnet_engine_shutdown(node->cno_engine, crowd->crw_now);
	for (i = 0; i < node->cno_nis_nr; ++i)
		m0_lnet_engine_ni_del(node->cno_engine, node->cno_ni[i]);
	while (m0_lnet_engine_nis_nr(node->cno_engine) > 0 ||
	       !m0_lnet_engine_is_quiet(node->cno_engine)) {
		M0_ASSERT(++passes < PASSES_MAX);
		txs_vanish(node, &node->cno_txs);
		txs_vanish(node, &node->cno_flight);
		txs_vanish(node, &node->cno_held);
		nis_stop(node);
		(void)m0_lnet_engine_step(node->cno_engine, crowd->crw_now);
		events_take(node);
	}
	m0_lnet_engine_destroy(node->cno_engine);
	node->cno_engine = NULL;
	M0_ASSERT(node->cno_mds_nr == 0 && node->cno_mes_nr == 0);
	M0_ASSERT(node->cno_msgs_nr == 0);
}

/** Lets every node that is up look at a NID of the dead node. */
static void peers_each(struct crowd_node *dead,
		       void (*fn)(struct crowd_node *peer, struct m0_lnd_ni *ni,
				  const struct m0_lnet_nid *nid))
{
	struct crowd      *crowd = dead->cno_crowd;
	struct crowd_node *peer;
	unsigned           i;
	unsigned           k;
	unsigned           n;

	for (i = 0; i < crowd->crw_nr; ++i) {
		peer = &crowd->crw_node[i];
		for (k = 0; peer->cno_life == CROWD_UP && k < peer->cno_nis_nr;
		     ++k)
			for (n = 0; n < dead->cno_nids_nr; ++n)
				if (m0_lnet_nid_net(&dead->cno_nids[n]) ==
				    m0_lnet_nid_net(&peer->cno_nids[k]))
					fn(peer, peer->cno_ni[k],
					   &dead->cno_nids[n]);
	}
}

static void peer_reset(struct crowd_node *peer, struct m0_lnd_ni *ni,
		       const struct m0_lnet_nid *nid)
{
	m0_lnet_engine_time(peer->cno_engine, peer->cno_crowd->crw_now);
	ni->ldn_ops->lu_peer_down(ni, nid, M0_LNET_PID_LUSTRE, -ECONNRESET);
	crowd_node_touch(peer);
}

void crowd_node_die(struct crowd_node *node, enum crowd_life how)
{
	M0_PRE(node->cno_life == CROWD_UP && how != CROWD_UP);
	node->cno_life = how;
	node_close(node);
	if (how == CROWD_RESET)
		peers_each(node, peer_reset);
}

/** Messages that hang for the former life fail. */
static void peer_release(struct crowd_node *peer, struct m0_lnd_ni *ni,
			 const struct m0_lnet_nid *nid)
{
	struct m0_lnd_tx *tx;

	(void)ni;
	m0_list_for_each_entry(&peer->cno_held, tx, struct m0_lnd_tx, ltx_link)
		if (m0_lnet_nid_eq(&tx->ltx_nid, nid))
			tx->ltx_word[0] = min64u(tx->ltx_word[0],
						 peer->cno_crowd->crw_now);
	crowd_node_touch(peer);
}

void crowd_node_restart(struct crowd_node               *node,
			const struct m0_lnet_engine_cfg *cfg)
{
	peers_each(node, peer_release);
	crowd_node_open(node, cfg);
}

void crowd_close(struct crowd *crowd)
{
	struct crowd_node *node;
	unsigned           i;

	for (i = 0; i < crowd->crw_nr; ++i) {
		node = &crowd->crw_node[i];
		if (node->cno_life == CROWD_UP)
			crowd_node_die(node, CROWD_SILENT);
		if (m0_list_link_is_in(&node->cno_soon))
			m0_list_del(&node->cno_soon);
	}
	m0_timerq_fini(&crowd->crw_timers);
	free(crowd->crw_node);
	free(crowd);
}

/* -- operations ------------------------------------------------------------ */

static struct m0_lnet_md *md_make(struct crowd_node *node, void *buf,
				  m0_bcount_t bytes, int32_t threshold)
{
	struct crowd_md *cmd = must_alloc(sizeof *cmd);

	cmd->cmd_addr = buf;
	cmd->cmd_bytes = bytes;
	cmd->cmd_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&cmd->cmd_addr,
							    &cmd->cmd_bytes);
	cmd->cmd_md.md_attr = (struct m0_lnet_md_attr){
		.mda_vec = &cmd->cmd_vec,
		.mda_length = bytes,
		.mda_threshold = threshold,
		.mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_TRUNCATE |
			       M0_LNET_MD_MANAGE_REMOTE,
		.mda_user = cmd,
	};
	cmd->cmd_md.md_eq = 1;
	++node->cno_mds_nr;
	return &cmd->cmd_md;
}

void crowd_sink(struct crowd_node *node, uint32_t portal, uint64_t bits,
		void *buf, m0_bcount_t bytes)
{
	struct m0_lnet_me *me = must_alloc(sizeof *me);

	me->me_attr = (struct m0_lnet_me_attr){
		.mea_portal = portal,
		.mea_id = { .lp_nid = m0_lnet_nid_any,
			    .lp_pid = M0_LNET_PID_ANY },
		.mea_match_bits = bits,
	};
	++node->cno_mes_nr;
	m0_lnet_engine_me_attach(node->cno_engine, me);
	m0_lnet_engine_md_attach(node->cno_engine, me,
				 md_make(node, buf, bytes,
					 M0_LNET_MD_THRESHOLD_INF));
	crowd_node_touch(node);
}

void crowd_put(struct crowd_node *node, const struct m0_lnet_nid *dst,
	       uint32_t portal, uint64_t bits, void *buf, m0_bcount_t bytes,
	       uint64_t hdr_data, void *user)
{
	struct m0_lnet_md *md =
		md_make(node, buf, bytes, M0_LNET_MD_THRESHOLD_INF);
	struct m0_lnet_msg *msg = home_msg_get(node);

	M0_PRE(msg != NULL);
	m0_lnet_engine_time(node->cno_engine, node->cno_crowd->crw_now);
	m0_lnet_engine_md_bind(node->cno_engine, md);
	msg->msg_op.mop_attr = (struct m0_lnet_op){
		.lo_self = m0_lnet_nid_any,
		.lo_target = { .lp_nid = *dst, .lp_pid = M0_LNET_PID_LUSTRE },
		.lo_portal = portal,
		.lo_match_bits = bits,
		.lo_hdr_data = hdr_data,
		.lo_ack = true,
		.lo_user = user,
	};
	msg->msg_md = md;
	m0_lnet_engine_put(node->cno_engine, msg);
	crowd_node_touch(node);
}

void crowd_unlink(struct crowd_node *node, const struct m0_lnet_event *ev)
{
	struct crowd_md *cmd = ev->ev_md_user;

	m0_lnet_engine_md_unlink(node->cno_engine, &cmd->cmd_md);
}
