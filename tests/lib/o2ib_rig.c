/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>

#include "lib/o2ib_rig.h"

static struct rig *rig_of(const struct m0_reactor *reactor)
{
	return container_of(reactor, struct rig, rg_reactor);
}

static struct rig_qp *qp_of(struct m0_o2ib_qp *qp)
{
	return container_of(qp, struct rig_qp, rgq_qp);
}

/* -- the provider ------------------------------------------------------------------ */

static struct rig *port_rig(const struct m0_o2ib_port *port)
{
	return port->ort_priv;
}

static void fake_fini(struct m0_o2ib_dev *dev)
{
	(void)dev;
}

static int fake_port_open(struct m0_o2ib_dev *dev, struct m0_o2ib_port *port,
			  char *why)
{
	struct rig *rig = rig_of(dev->odv_reactor);

	(void)why;
	rig->rg_port = port;
	port->ort_priv = rig;
	port->ort_is_up = true;
	port->ort_depth_max = RIG_DEPTH_MAX;
	port->ort_sges_max = 2;
	port->ort_inline_max = 128;
	return 0;
}

static void fake_port_close(struct m0_o2ib_dev *dev, struct m0_o2ib_port *port)
{
	(void)dev;
	port->ort_priv = NULL;
}

static void fake_port_deaf(struct m0_o2ib_dev *dev, struct m0_o2ib_port *port)
{
	(void)dev;
	(void)port;
}

static int fake_mem_add(struct m0_o2ib_dev *dev, struct m0_o2ib_mem *mem)
{
	++rig_of(dev->odv_reactor)->rg_mems_nr;
	mem->ome_priv = dev;
	return 0;
}

static void fake_mem_del(struct m0_o2ib_dev *dev, struct m0_o2ib_mem *mem)
{
	M0_ASSERT(mem->ome_priv == dev);
	--rig_of(dev->odv_reactor)->rg_mems_nr;
}

static int fake_map(struct m0_o2ib_port *port, struct m0_o2ib_seg *segs,
		    unsigned nr, enum m0_o2ib_map_kind kind,
		    struct m0_o2ib_map *ret)
{
	struct rig *rig = port_rig(port);

	(void)segs;
	(void)nr;
	(void)kind;
	if (rig->rg_map_rc != 0)
		return rig->rg_map_rc;
	*ret = (struct m0_o2ib_map){ .omp_rkey = RIG_KEY };
	++rig->rg_maps_nr;
	return 0;
}

static void fake_unmap(struct m0_o2ib_port *port, struct m0_o2ib_map *map)
{
	(void)map;
	--port_rig(port)->rg_maps_nr;
}

static struct rig_qp *qp_make(struct rig *rig, struct m0_o2ib_port *port,
			      void *user, const struct m0_o2ib_qp_cfg *cfg,
			      const void *bytes, size_t nr)
{
	struct rig_qp *qp = rig->rg_qps;
	unsigned       i;

	while (qp->rgq_is_used)
		if (++qp == rig->rg_qps + RIG_QPS_MAX)
			return NULL;
	*qp = (struct rig_qp){ .rgq_qp = { user, port, cfg->oqc_sends_nr, 2,
					   128 },
			       .rgq_is_used = true,
			       .rgq_cfg = *cfg,
			       .rgq_private_nr = nr };
	qp->rgq_posts = calloc(RIG_POSTS_MAX, sizeof *qp->rgq_posts);
	M0_ASSERT(qp->rgq_posts != NULL && nr <= sizeof qp->rgq_private);
	memcpy(qp->rgq_private, bytes, nr);
	for (i = 0; i < ARRAY_SIZE(qp->rgq_rbufs); ++i) {
		struct rig_rbuf *rbuf = &qp->rgq_rbufs[i];

		rbuf->rgb_rbuf.orb_bytes = rbuf->rgb_bytes;
		m0_list_link_init(&rbuf->rgb_rbuf.orb_link);
		/* No more than the driver wishes. */
		rbuf->rgb_is_lent = i >= cfg->oqc_recvs_nr;
	}
	return qp;
}

static int fake_connect(struct m0_o2ib_port *port, void *user,
			const struct m0_host_addr *to, uint16_t src_port,
			const struct m0_o2ib_qp_cfg *cfg, const void *bytes,
			size_t nr, struct m0_o2ib_qp **ret)
{
	struct rig_qp *qp;

	(void)to;
	(void)src_port;
	if (port->ort_is_gone)
		return -ENODEV;
	qp = qp_make(port_rig(port), port, user, cfg, bytes, nr);
	if (qp == NULL)
		return -ENOMEM;
	*ret = &qp->rgq_qp;
	return 0;
}

static int fake_accept(struct m0_o2ib_request *request, void *user,
		       const struct m0_o2ib_qp_cfg *cfg, const void *bytes,
		       size_t nr, struct m0_o2ib_qp **ret)
{
	struct rig    *rig = (struct rig *)request;
	struct rig_qp *qp = qp_make(rig, rig->rg_port, user, cfg, bytes, nr);

	if (qp == NULL)
		return -ENOMEM;
	rig->rg_accepted = qp;
	rig->rg_request = NULL;
	*ret = &qp->rgq_qp;
	return 0;
}

static void fake_reject(struct m0_o2ib_request *request, const void *bytes,
			size_t nr)
{
	struct rig *rig = (struct rig *)request;

	M0_ASSERT(nr <= sizeof rig->rg_reject);
	memcpy(rig->rg_reject, bytes, nr);
	rig->rg_reject_nr = nr;
	rig->rg_request = NULL;
}

static void fake_break(struct m0_o2ib_qp *qp)
{
	qp_of(qp)->rgq_is_broken = true;
}

static void fake_destroy(struct m0_o2ib_qp *qp)
{
	free(qp_of(qp)->rgq_posts);
	qp_of(qp)->rgq_is_used = false;
}

static void post_take(struct rig_post *post, const struct m0_o2ib_wr *wr)
{
	unsigned i;

	post->rgp_wr = *wr;
	post->rgp_nr = 0;
	for (i = 0; i < wr->owr_segs_nr; ++i) {
		const struct m0_o2ib_seg *seg = &wr->owr_segs[i];

		if (wr->owr_op == M0_O2IB_OP_SEND) {
			M0_ASSERT(post->rgp_nr + seg->osg_bytes <=
				  sizeof post->rgp_bytes);
			memcpy(post->rgp_bytes + post->rgp_nr, seg->osg_addr,
			       seg->osg_bytes);
		}
		post->rgp_nr += seg->osg_bytes;
	}
}

static int fake_post(struct m0_o2ib_qp *base, const struct m0_o2ib_wr *wrs,
		     unsigned nr)
{
	struct rig_qp *qp = qp_of(base);
	unsigned       i;

	M0_ASSERT(!qp->rgq_is_broken && nr <= M0_O2IB_CHAIN_MAX);
	M0_ASSERT(qp->rgq_posts_nr + nr <= RIG_POSTS_MAX);
	for (i = 0; i < nr; ++i)
		post_take(&qp->rgq_posts[qp->rgq_posts_nr++], &wrs[i]);
	++qp->rgq_chains_nr;
	return 0;
}

static void fake_repost(struct m0_o2ib_qp *qp, struct m0_o2ib_rbuf *rbuf)
{
	struct rig_rbuf *rb = container_of(rbuf, struct rig_rbuf, rgb_rbuf);

	(void)qp;
	M0_ASSERT(rb->rgb_is_lent);
	rb->rgb_is_lent = false;
}

static const struct m0_o2ib_dev_ops dev_ops = {
	.odo_fini = fake_fini,
	.odo_port_open = fake_port_open,
	.odo_port_close = fake_port_close,
	.odo_port_deaf = fake_port_deaf,
	.odo_mem_add = fake_mem_add,
	.odo_mem_del = fake_mem_del,
	.odo_map = fake_map,
	.odo_unmap = fake_unmap,
	.odo_connect = fake_connect,
	.odo_accept = fake_accept,
	.odo_reject = fake_reject,
	.odo_break = fake_break,
	.odo_destroy = fake_destroy,
	.odo_post = fake_post,
	.odo_repost = fake_repost,
};

/* -- the engine ---------------------------------------------------------------------- */

static struct rig *ni_rig(const struct m0_lnd_ni *ni)
{
	return ni->ldn_engine;
}

static size_t fake_header(struct m0_lnd_tx *tx, bool large,
			  uint8_t buf[M0_LND_HDR_BYTES_MAX])
{
	const struct rig_tx *rt = container_of(tx, struct rig_tx, rgt_tx);

	M0_ASSERT(!large);
	memcpy(buf, rt->rgt_hdr, sizeof rt->rgt_hdr);
	return sizeof rt->rgt_hdr;
}

static void fake_tx_done(struct m0_lnd_tx *tx, int status,
			 enum m0_lnd_health health)
{
	struct rig_tx *rt = container_of(tx, struct rig_tx, rgt_tx);

	M0_ASSERT(!rt->rgt_is_done);
	rt->rgt_is_done = true;
	rt->rgt_status = status;
	rt->rgt_health = health;
}

/** As the engine does if it has a credit and knows the way. */
static void fake_reply(struct rig *rig, struct m0_lnd_rx *rx)
{
	struct rig_tx *rt;
	uint64_t       nid4 = m0_lnet_nid_to4(&rx->lr_nid);

	rt = rig_tx_make(rig, nid4, rig_last(rig)->rgr_hdr,
			 rig->rg_begin_reply);
	M0_ASSERT(rt != NULL);
	rt->rgt_tx.ltx_answers = rx;
	rig->rg_lnd->ld_ops->ldo_xmit(&rig->rg_ni, &rt->rgt_tx);
}

static int fake_rx_begin(struct m0_lnd_ni *ni, struct m0_lnd_rx *rx,
			 const void *bytes, bool large)
{
	struct rig    *rig = ni_rig(ni);
	struct rig_rx *rr;
	uint32_t       kind;

	M0_ASSERT(!large);
	if (rig->rg_begin_drops)
		rig->rg_lnd->ld_ops->ldo_peer_drop(&rig->rg_ni, NULL);
	if (rig->rg_begin_rc != 0 || rig->rg_rxs_nr == RIG_RXS_MAX)
		return rig->rg_begin_rc != 0 ? rig->rg_begin_rc : -EAGAIN;
	rr = &rig->rg_rxs[rig->rg_rxs_nr++];
	*rr = (struct rig_rx){ .rgr_rx = rx,
			       .rgr_buf = rig->rg_sink,
			       .rgr_count = rig->rg_wanted };
	memcpy(rr->rgr_hdr, bytes, sizeof rr->rgr_hdr);
	rr->rgr_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&rr->rgr_buf,
							   &rr->rgr_count);
	rx->lr_payload = (struct m0_lnd_payload){ .lpy_vec = &rr->rgr_vec,
						  .lpy_bytes = rig->rg_wanted };
	rx->lr_discard_bytes = 0;
	kind = m0_o2ib__lnet_kind(bytes);
	/* A REPLY that the driver has made names its source. */
	if (kind == M0_O2IB_LNET_REPLY && rig->rg_get != NULL &&
	    !rig->rg_get->rgt_is_done && m0_o2ib__lnet_src(bytes) != 0) {
		rx->lr_payload = rig->rg_get->rgt_sink;
		rx->lr_payload.lpy_bytes =
			min64u(rig->rg_wanted, rx->lr_payload.lpy_bytes);
	}
	rx->lr_priv = rig;
	rx->lr_cancelled = false;
	rx->lr_kept = kind == M0_O2IB_LNET_GET;
	rr->rgr_is_kept = rx->lr_kept;
	if (rx->lr_kept && rig->rg_begin_reply > 0)
		fake_reply(rig, rx);
	return 0;
}

static void fake_rx_done(struct m0_lnd_rx *rx, int status,
			 enum m0_lnd_health health)
{
	struct rig_rx *rr = ((struct rig *)rx->lr_priv)->rg_rxs;

	(void)health;
	while (rr->rgr_is_done || rr->rgr_rx != rx)
		M0_ASSERT(++rr <
			  ((struct rig *)rx->lr_priv)->rg_rxs + RIG_RXS_MAX);
	rr->rgr_is_done = true;
	rr->rgr_status = status;
}

static void fake_down(struct m0_lnd_ni *ni, const struct m0_lnet_nid *nid,
		      uint32_t pid, int status)
{
	(void)nid;
	(void)pid;
	++ni_rig(ni)->rg_downs_nr;
	ni_rig(ni)->rg_down_status = status;
}

static void fake_status(struct m0_lnd_ni *ni)
{
	++ni_rig(ni)->rg_statuses_nr;
}

static void fake_stopped(struct m0_lnd_ni *ni)
{
	ni_rig(ni)->rg_is_stopped = true;
}

static const struct m0_lnd_up_ops up_ops = {
	.lu_tx_header = fake_header,
	.lu_tx_done = fake_tx_done,
	.lu_rx_begin = fake_rx_begin,
	.lu_rx_done = fake_rx_done,
	.lu_peer_down = fake_down,
	.lu_ni_status = fake_status,
	.lu_ni_stopped = fake_stopped,
};

static void fake_rouse(struct m0_reactor *reactor)
{
	(void)reactor;
}

static const struct m0_reactor_ops reactor_ops = { .rtro_rouse = fake_rouse };

/* -- the case ------------------------------------------------------------------------- */

void rig_init(struct rig *rig, uint64_t nid4, uint64_t stamp)
{
	rig_init_deep(rig, nid4, stamp, RIG_DEPTH);
}

void rig_init_deep(struct rig *rig, uint64_t nid4, uint64_t stamp,
		   unsigned depth)
{
	rig_init_options(rig, nid4, stamp, depth, NULL);
}

void rig_init_options(struct rig *rig, uint64_t nid4, uint64_t stamp,
		      unsigned depth, const char *options)
{
	rig_init_bounded(rig, nid4, stamp, depth, options, 16384);
}

void rig_init_bounded(struct rig *rig, uint64_t nid4, uint64_t stamp,
		      unsigned depth, const char *options, unsigned conns_max)
{
	struct m0_o2ib_cfg cfg;
	char               why[M0_LND_WHY_BYTES];
	int                rc;

	memset(rig, 0, sizeof *rig);
	rig->rg_reactor.rtr_ops = &reactor_ops;
	rig->rg_reactor.rtr_now = 1000 * M0_TIME_ONE_SECOND;
	rig->rg_dev.odv_ops = &dev_ops;
	rig->rg_dev.odv_reactor = &rig->rg_reactor;
	m0_o2ib_cfg_default(&cfg);
	cfg.obc_conns_max = conns_max;
	cfg.obc_accepting_max = RIG_ACCEPTING_MAX;
	rc = m0_o2ib_create(&rig->rg_lnd, &cfg, &rig->rg_dev);
	M0_ASSERT(rc == 0);
	rc = m0_lnet_nid_from4(&rig->rg_ni.ldn_nid, nid4);
	M0_ASSERT(rc == 0);
	rig->rg_ni.ldn_incarnation = stamp;
	M0_ASSERT(depth <= RIG_DEPTH_MAX);
	rig->rg_ni.ldn_peer_credits = depth;
	rig->rg_ni.ldn_credits = 256;
	rig->rg_ni.ldn_ops = &up_ops;
	rig->rg_ni.ldn_options = options;
	rig->rg_ni.ldn_engine = rig;
	rc = rig->rg_lnd->ld_ops->ldo_ni_start(rig->rg_lnd, &rig->rg_ni, why);
	M0_ASSERT(rc == 0);
}

void rig_step(struct rig *rig)
{
	unsigned nr = 0;

	while (rig->rg_lnd->ld_ops->ldo_step(rig->rg_lnd,
					     rig->rg_reactor.rtr_now) ==
	       M0_TIME_IMMEDIATELY)
		M0_ASSERT(++nr < 100);
}

void rig_wait(struct rig *rig, m0_time_t ns)
{
	rig->rg_reactor.rtr_now += ns;
	rig_step(rig);
}

struct rig_qp *rig_request(struct rig *rig, const void *bytes, size_t nr)
{
	struct m0_host_addr from = { .sa_bytes_nr = 4 };

	rig->rg_accepted = NULL;
	rig->rg_reject_nr = 0;
	rig->rg_request = (struct m0_o2ib_request *)rig;
	rig->rg_dev.odv_up->odu_request(rig->rg_port, rig->rg_request, &from,
					bytes, nr);
	M0_ASSERT(rig->rg_request == NULL);
	return rig->rg_accepted;
}

struct rig_qp *rig_asking(struct rig *rig)
{
	struct rig_qp *qp;

	for (qp = rig->rg_qps; qp < rig->rg_qps + RIG_QPS_MAX; ++qp)
		if (qp->rgq_is_used && !qp->rgq_is_broken &&
		    qp->rgq_private_nr == M0_O2IB_CONN_BYTES &&
		    qp->rgq_private[6] == M0_O2IB_CONNREQ &&
		    qp->rgq_posts_nr == 0)
			return qp;
	return NULL;
}

void rig_up(struct rig *rig, struct rig_qp *qp, const void *bytes, size_t nr)
{
	rig->rg_dev.odv_up->odu_up(qp->rgq_qp.oqp_user, bytes, nr);
	rig_step(rig);
}

bool rig_say(struct rig *rig, struct rig_qp *qp, const void *bytes, size_t nr)
{
	unsigned i;

	for (i = 0; qp->rgq_rbufs[i].rgb_is_lent;)
		if (++i == ARRAY_SIZE(qp->rgq_rbufs))
			return false;
	qp->rgq_rbufs[i].rgb_is_lent = true;
	memcpy(qp->rgq_rbufs[i].rgb_bytes, bytes, nr);
	qp->rgq_rbufs[i].rgb_rbuf.orb_nr = (uint32_t)nr;
	rig->rg_dev.odv_up->odu_received(qp->rgq_qp.oqp_user,
					 &qp->rgq_rbufs[i].rgb_rbuf);
	rig_step(rig);
	return true;
}

struct rig_post *rig_next(struct rig_qp *qp)
{
	return qp->rgq_seen == qp->rgq_posts_nr
		       ? NULL
		       : &qp->rgq_posts[qp->rgq_seen++];
}

void rig_complete(struct rig *rig, struct rig_qp *qp)
{
	unsigned i;

	for (i = 0; i < qp->rgq_posts_nr; ++i) {
		struct m0_o2ib_wr *wr = &qp->rgq_posts[i].rgp_wr;

		if (!wr->owr_is_signalled)
			continue;
		wr->owr_is_signalled = false;
		rig->rg_dev.odv_up->odu_sent(qp->rgq_qp.oqp_user, wr->owr_id,
					     0);
	}
	rig_step(rig);
}

void rig_fail(struct rig *rig, struct rig_qp *qp, int status)
{
	const struct m0_o2ib_dev_up *up = rig->rg_dev.odv_up;
	unsigned                     i;

	for (i = 0; i < qp->rgq_posts_nr; ++i)
		if (qp->rgq_posts[i].rgp_wr.owr_is_signalled) {
			up->odu_sent(qp->rgq_qp.oqp_user,
				     qp->rgq_posts[i].rgp_wr.owr_id, status);
			break;
		}
	up->odu_broken(qp->rgq_qp.oqp_user, status);
	rig_step(rig);
}

void rig_port(struct rig *rig, bool is_up, bool is_gone)
{
	rig->rg_port->ort_is_up = is_up;
	rig->rg_port->ort_is_gone = is_gone;
	rig->rg_dev.odv_up->odu_port(rig->rg_port);
	rig_step(rig);
}

void rig_over(struct rig *rig, struct rig_qp *qp)
{
	if (!qp->rgq_is_broken)
		rig->rg_dev.odv_up->odu_broken(qp->rgq_qp.oqp_user, 0);
	rig->rg_dev.odv_up->odu_over(qp->rgq_qp.oqp_user);
	rig_step(rig);
}

struct rig_tx *rig_tx_make(struct rig *rig, uint64_t nid4, const void *lnet_hdr,
			   m0_bcount_t bytes)
{
	struct rig_tx *rt = rig->rg_txs;
	int            rc;

	while (rt->rgt_is_used && !rt->rgt_is_done)
		if (++rt == rig->rg_txs + RIG_TXS_MAX)
			return NULL;
	M0_ASSERT(bytes <= RIG_PAYLOAD_MAX);
	*rt = (struct rig_tx){ .rgt_is_used = true,
			       .rgt_buf = rig->rg_source,
			       .rgt_count = bytes };
	memcpy(rt->rgt_hdr, lnet_hdr, sizeof rt->rgt_hdr);
	rt->rgt_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&rt->rgt_buf,
							   &rt->rgt_count);
	rc = m0_lnet_nid_from4(&rt->rgt_tx.ltx_nid, nid4);
	M0_ASSERT(rc == 0);
	rt->rgt_tx.ltx_pid = M0_LNET_PID_LUSTRE;
	rt->rgt_tx.ltx_deadline = rig->rg_reactor.rtr_now +
				  100 * M0_TIME_ONE_SECOND;
	rt->rgt_tx.ltx_payload =
		(struct m0_lnd_payload){ .lpy_vec = &rt->rgt_vec,
					 .lpy_bytes = bytes };
	m0_list_link_init(&rt->rgt_tx.ltx_link);
	return rt;
}

struct rig_tx *rig_get_make(struct rig *rig, uint64_t nid4,
			    const void *lnet_hdr, m0_bcount_t bytes)
{
	struct rig_tx *rt = rig_tx_make(rig, nid4, lnet_hdr, 0);

	if (rt == NULL)
		return NULL;
	M0_ASSERT(bytes <= sizeof rig->rg_sink);
	rt->rgt_buf = rig->rg_sink;
	rt->rgt_count = bytes;
	rt->rgt_sink = (struct m0_lnd_payload){ .lpy_vec = &rt->rgt_vec,
						.lpy_bytes = bytes };
	rt->rgt_tx.ltx_payload = (struct m0_lnd_payload){};
	rt->rgt_tx.ltx_sink = &rt->rgt_sink;
	return rt;
}

void rig_xmit(struct rig *rig, struct rig_tx *rt)
{
	rig->rg_lnd->ld_ops->ldo_xmit(&rig->rg_ni, &rt->rgt_tx);
	rig_step(rig);
}

void rig_release(struct rig *rig, struct rig_rx *rr)
{
	M0_ASSERT(rr->rgr_is_kept);
	rr->rgr_is_kept = false;
	rig->rg_lnd->ld_ops->ldo_rx_release(&rig->rg_ni, rr->rgr_rx);
	rig_step(rig);
}

struct rig_rx *rig_last(struct rig *rig)
{
	return rig->rg_rxs_nr == 0 ? NULL : &rig->rg_rxs[rig->rg_rxs_nr - 1];
}

void rig_fini(struct rig *rig)
{
	const struct m0_lnd_ops *ops = rig->rg_lnd->ld_ops;
	unsigned                 i;

	for (i = 0; i < rig->rg_rxs_nr; ++i)
		if (rig->rg_rxs[i].rgr_is_kept)
			rig_release(rig, &rig->rg_rxs[i]);
	ops->ldo_ni_stop(&rig->rg_ni);
	rig_step(rig);
	for (i = 0; i < RIG_QPS_MAX; ++i)
		if (rig->rg_qps[i].rgq_is_used)
			rig_over(rig, &rig->rg_qps[i]);
	rig_step(rig);
	M0_ASSERT(rig->rg_is_stopped && rig->rg_maps_nr == 0);
	for (i = 0; i < RIG_TXS_MAX; ++i)
		M0_ASSERT(!rig->rg_txs[i].rgt_is_used ||
			  rig->rg_txs[i].rgt_is_done);
	for (i = 0; i < rig->rg_rxs_nr; ++i)
		M0_ASSERT(rig->rg_rxs[i].rgr_is_done);
	ops->ldo_fini(rig->rg_lnd);
	M0_ASSERT(rig->rg_mems_nr == 0);
}
