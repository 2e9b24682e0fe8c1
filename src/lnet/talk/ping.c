/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The information of this node, the MD that answers pings with it, and the MDs
 * that take the pushes of peers.
 *
 * The MD that answers pings stays; when the information changes it gets another
 * buffer. The old buffer is freed when the last answer from it has left. No
 * buffer is smaller than the one before: an answer that was started with the
 * old length may leave from the new buffer, with zeroes at its end.
 */
#include "lnet/route/router.h"

enum {
	/** Number of pushes that may arrive at one time. */
	SINKS_NR = 32,
	/** A peer whose push is longer is asked by a ping. */
	SINK_BYTES_MAX = 16384
};

/** A buffer with the encoded information. */
struct ping_buf {
	struct m0_list_link pbf_link;
	struct m0_bufvec    pbf_vec;
	void               *pbf_addr;
	/** Size of the buffer, and of the information in it. */
	m0_bcount_t pbf_bytes;
	size_t      pbf_used;
};

/** A buffer for one push. */
struct ping_sink {
	struct m0_lnet_me psk_me;
	struct m0_lnet_md psk_md;
	struct m0_bufvec  psk_vec;
	void             *psk_addr;
	m0_bcount_t       psk_bytes;
};

struct ping {
	struct m0_lnet_me pi_me;
	struct m0_lnet_md pi_md;
	struct ping_buf  *pi_buf;
	/** Old buffers from which answers are still leaving. */
	struct m0_list   pi_old;
	struct ping_sink pi_sinks[SINKS_NR];
	m0_bcount_t      pi_sink_bytes;
	/** Index of the sink to free next, if all are in use. */
	unsigned pi_cut_next;
	bool     pi_ends;
};

static struct ping *ping_of(const struct m0_lnet_engine *eng)
{
	return eng->le_ping;
}

/* -- our information ------------------------------------------------------- */

static uint32_t base_features(const struct m0_lnet_engine *eng)
{
	uint32_t features = M0_LNET_FEAT_NI_STATUS | M0_LNET_FEAT_MULTI_RAIL |
			    M0_LNET_FEAT_COLIBRI;

	if (m0_lnet__router(eng)->lrr_state != M0_LNET_ROUTING_ON)
		features |= M0_LNET_FEAT_RTE_DISABLED;
	if (eng->le_cfg.lec_discovery)
		features |= M0_LNET_FEAT_DISCOVERY;
	return features;
}

static bool is_reported(const struct m0_lnet_engine *eng,
			const struct m0_lnet_ni     *ni)
{
	return ni != eng->le_lo && m0_lnet__ni_is_usable(ni);
}

uint32_t m0_lnet__ping_features(const struct m0_lnet_engine *eng)
{
	uint32_t           features = base_features(eng);
	bool               first = true;
	struct m0_lnet_ni *ni;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link) {
		if (!is_reported(eng, ni))
			continue;
		if (!m0_lnet_nid_is_nid4(&ni->lni_lnd.ldn_nid))
			features |= M0_LNET_FEAT_LARGE_ADDR |
				    (first ? M0_LNET_FEAT_PRIMARY_LARGE : 0U);
		first = false;
	}
	return features;
}

/** Returns true if an earlier NI is on the same net. */
static bool net_is_reported(const struct m0_lnet_engine *eng,
			    const struct m0_lnet_ni     *upto)
{
	uint32_t           net = m0_lnet_nid_net(&upto->lni_lnd.ldn_nid);
	struct m0_lnet_ni *ni;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link) {
		if (ni == upto)
			return false;
		if (is_reported(eng, ni) &&
		    m0_lnet_nid_net(&ni->lni_lnd.ldn_nid) == net)
			return true;
	}
	return false;
}

static void net_report(const struct m0_lnet_engine *eng, uint32_t net,
		       struct m0_lnet_ping_info *info)
{
	struct m0_lnet_ni *ni;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (is_reported(eng, ni) &&
		    m0_lnet_nid_net(&ni->lni_lnd.ldn_nid) == net)
			info->lpi_nis[info->lpi_nis_nr++] =
				(struct m0_lnet_ping_ni){
					.lpg_nid = ni->lni_lnd.ldn_nid,
					.lpg_up = ni->lni_lnd.ldn_up &&
						  !ni->lni_is_silent &&
						  !ni->lni_is_sick,
				};
}

/** Lists the NIs by net; each net comes where its first NI is. */
static void nis_report(const struct m0_lnet_engine *eng,
		       struct m0_lnet_ping_info    *info)
{
	struct m0_lnet_ni *ni;

	m0_list_for_each_entry(&eng->le_nis, ni, struct m0_lnet_ni, lni_link)
		if (is_reported(eng, ni) && !net_is_reported(eng, ni))
			net_report(eng, m0_lnet_nid_net(&ni->lni_lnd.ldn_nid),
				   info);
}

static void buf_free(struct ping_buf *buf)
{
	if (buf == NULL)
		return;
	m0_list_del(&buf->pbf_link);
	m0_free(buf->pbf_addr);
	m0_free(buf);
}

static struct ping_buf *buf_new(const struct m0_lnet_ping_info *info,
				m0_bcount_t                     bytes_min)
{
	struct ping_buf *buf;
	size_t           used = m0_lnet__ping_size(info);

	M0_ALLOC_PTR(buf);
	if (buf == NULL)
		return NULL;
	m0_list_link_init(&buf->pbf_link);
	buf->pbf_bytes = max_check((m0_bcount_t)used, bytes_min);
	buf->pbf_addr = m0_alloc(buf->pbf_bytes);
	if (buf->pbf_addr == NULL) {
		m0_free(buf);
		return NULL;
	}
	buf->pbf_used = m0_lnet__ping_encode(info, buf->pbf_addr, used);
	M0_ASSERT(buf->pbf_used == used);
	buf->pbf_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&buf->pbf_addr,
							    &buf->pbf_bytes);
	return buf;
}

static struct ping_buf *buf_make(const struct m0_lnet_engine *eng,
				 m0_bcount_t                  bytes_min)
{
	struct m0_lnet_ping_info info = {
		.lpi_features = base_features(eng),
		.lpi_pid = eng->le_cfg.lec_pid,
		.lpi_seq = eng->le_seq,
	};
	struct ping_buf *buf;

	M0_ALLOC_ARR(info.lpi_nis, m0_list_length(&eng->le_nis) + 1);
	if (info.lpi_nis == NULL)
		return NULL;
	nis_report(eng, &info);
	buf = buf_new(&info, bytes_min);
	m0_free(info.lpi_nis);
	return buf;
}

size_t m0_lnet__ping_bytes(const struct m0_lnet_engine *eng, const void **ret)
{
	const struct ping *ping = ping_of(eng);

	*ret = ping->pi_buf->pbf_addr;
	return ping->pi_buf->pbf_used;
}

/* -- answering ------------------------------------------------------------- */

static bool buf_is_leaving(const struct ping *ping, const struct ping_buf *buf)
{
	const struct m0_lnet_msg *msg;

	m0_list_for_each_entry(&ping->pi_md.md_msgs, msg, struct m0_lnet_msg,
			       msg_md_link)
		if (msg->msg_payload.lpy_vec == &buf->pbf_vec)
			return true;
	return false;
}

static void olds_free(struct ping *ping)
{
	struct ping_buf *buf;
	struct ping_buf *next;

	m0_list_for_each_entry_safe(&ping->pi_old, buf, next, struct ping_buf,
				    pbf_link)
		if (!buf_is_leaving(ping, buf))
			buf_free(buf);
}

static void ping_event(struct m0_lnet_engine *eng, struct m0_lnet_md *md,
		       const struct m0_lnet_event *ev)
{
	struct m0_lnet_ni *ni = m0_lnet__ni_find(eng, &ev->ev_target.lp_nid);

	(void)md;
	if (ni != NULL && !m0_lnet_nid_is_lo(&ev->ev_sender))
		eng->le_hooks->lhk_pinged(eng, ni);
	olds_free(ping_of(eng));
}

/** Moves the answers that the driver does not have yet to `buf`. */
static void answers_move(struct ping *ping, const struct ping_buf *buf)
{
	struct m0_lnet_msg *msg;

	m0_list_for_each_entry(&ping->pi_md.md_msgs, msg, struct m0_lnet_msg,
			       msg_md_link)
		if (msg->msg_state != M0_LNET_MSG_LEAVING)
			msg->msg_payload.lpy_vec = &buf->pbf_vec;
}

static void buf_use(struct ping *ping, struct ping_buf *buf)
{
	M0_PRE(buf->pbf_used > 0 && buf != ping->pi_buf);
	if (ping->pi_buf != NULL) {
		m0_list_add_tail(&ping->pi_old, &ping->pi_buf->pbf_link);
		answers_move(ping, buf);
	}
	ping->pi_buf = buf;
	ping->pi_md.md_attr.mda_vec = &buf->pbf_vec;
	ping->pi_md.md_attr.mda_length = buf->pbf_used;
}

bool m0_lnet__ping_changed(struct m0_lnet_engine *eng)
{
	struct ping     *ping = ping_of(eng);
	struct ping_buf *buf;

	M0_PRE(ping != NULL && ping->pi_buf != NULL);
	++eng->le_seq;
	buf = buf_make(eng, ping->pi_buf->pbf_bytes);
	if (buf == NULL) {
		m0_log(M0_LOG_ERROR,
		       "lnet: no memory: peers get old information about "
		       "this node");
		--eng->le_seq;
		return false;
	}
	buf_use(ping, buf);
	olds_free(ping);
	return true;
}

static const struct m0_lnet_me_attr me_attr = {
	.mea_portal = M0_LNET_PORTAL_RESERVED,
	.mea_match_bits = M0_LNET__PING_BITS,
};

static void me_post(struct m0_lnet_engine *eng, struct m0_lnet_me *me)
{
	me->me_attr = me_attr;
	me->me_attr.mea_id.lp_nid = m0_lnet_nid_any;
	me->me_attr.mea_id.lp_pid = M0_LNET_PID_ANY;
	m0_lnet_engine_me_attach(eng, me);
}

static void answers_post(struct m0_lnet_engine *eng, struct ping *ping)
{
	struct m0_lnet_md_attr *attr = &ping->pi_md.md_attr;

	me_post(eng, &ping->pi_me);
	attr->mda_threshold = M0_LNET_MD_THRESHOLD_INF;
	attr->mda_options = M0_LNET_MD_OP_GET | M0_LNET_MD_TRUNCATE |
			    M0_LNET_MD_MANAGE_REMOTE;
	ping->pi_md.md_done = ping_event;
	m0_lnet_engine_md_attach(eng, &ping->pi_me, &ping->pi_md);
}

/* -- taking pushes --------------------------------------------------------- */

static void sink_event(struct m0_lnet_engine *eng, struct m0_lnet_md *md,
		       const struct m0_lnet_event *ev);

/** Makes space for pushes as long as the longest that was announced. */
static bool sink_room(struct ping_sink *sink, m0_bcount_t bytes)
{
	void *addr;

	if (sink->psk_bytes >= bytes)
		return true;
	addr = m0_alloc(bytes);
	if (addr == NULL)
		return sink->psk_bytes > 0;
	m0_free(sink->psk_addr);
	sink->psk_addr = addr;
	sink->psk_bytes = bytes;
	sink->psk_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&sink->psk_addr,
							     &sink->psk_bytes);
	return true;
}

static void sink_post(struct m0_lnet_engine *eng, struct ping_sink *sink)
{
	M0_PRE(sink->psk_me.me_state != M0_LNET_ME_GONE);
	(void)sink_room(sink, ping_of(eng)->pi_sink_bytes);
	sink->psk_md.md_attr = (struct m0_lnet_md_attr){
		.mda_vec = &sink->psk_vec,
		.mda_length = sink->psk_bytes,
		.mda_threshold = 1,
		.mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_TRUNCATE,
		.mda_auto_unlink = true,
	};
	sink->psk_md.md_done = sink_event;
	m0_lnet_engine_md_attach(eng, &sink->psk_me, &sink->psk_md);
}

static void sink_event(struct m0_lnet_engine *eng, struct m0_lnet_md *md,
		       const struct m0_lnet_event *ev)
{
	struct ping_sink *sink = container_of(md, struct ping_sink, psk_md);
	struct ping      *ping = ping_of(eng);
	bool              ends = ev->ev_unlinked;

	if (ev->ev_type == M0_LNET_EV_PUT && ev->ev_status == 0) {
		if (ev->ev_rlength > ping->pi_sink_bytes)
			ping->pi_sink_bytes = min_check(
				ev->ev_rlength, (m0_bcount_t)SINK_BYTES_MAX);
		eng->le_hooks->lhk_pushed(eng, &ev->ev_source.lp_nid,
					  sink->psk_addr, ev->ev_mlength);
	}
	if (ends && !ping->pi_ends)
		sink_post(eng, sink);
}

bool m0_lnet__ping_sink_cut(struct m0_lnet_engine *eng)
{
	struct ping      *ping = ping_of(eng);
	struct ping_sink *sink;
	unsigned          i;

	M0_PRE(!ping->pi_ends);
	/* Sinks are freed in turn, so this is most often the one taken
	 * first. */
	for (i = 0; i < SINKS_NR; ++i) {
		sink = &ping->pi_sinks[ping->pi_cut_next++ % SINKS_NR];
		if (sink->psk_md.md_me != NULL || sink->psk_md.md_ended)
			continue;
		/* The event posts the sink again. */
		m0_lnet_engine_md_unlink(eng, &sink->psk_md);
		return true;
	}
	return false;
}

static bool sinks_make(struct ping *ping)
{
	unsigned i;

	ping->pi_sink_bytes = M0_LNET_PING_SINK_BYTES;
	for (i = 0; i < SINKS_NR; ++i)
		if (!sink_room(&ping->pi_sinks[i], ping->pi_sink_bytes))
			return false;
	return true;
}

/* -- life ------------------------------------------------------------------ */

static void ping_free(struct ping *ping)
{
	struct m0_list_link *link;
	unsigned             i;

	for (i = 0; i < SINKS_NR; ++i)
		m0_free(ping->pi_sinks[i].psk_addr);
	buf_free(ping->pi_buf);
	while ((link = m0_list_first(&ping->pi_old)) != NULL)
		buf_free(container_of(link, struct ping_buf, pbf_link));
	m0_free(ping);
}

int m0_lnet__ping_init(struct m0_lnet_engine *eng)
{
	struct ping     *ping;
	struct ping_buf *buf;
	bool             posted;
	unsigned         i;

	M0_PRE(eng->le_ping == NULL);
	M0_ALLOC_PTR(ping);
	if (ping == NULL)
		return -ENOMEM;
	m0_list_init(&ping->pi_old);
	eng->le_seq = 1;
	eng->le_ping = ping;
	buf = buf_make(eng, 0);
	if (buf != NULL)
		buf_use(ping, buf);
	if (buf == NULL || !sinks_make(ping)) {
		ping_free(ping);
		eng->le_ping = NULL;
		return -ENOMEM;
	}
	/* A sink that is refused is not posted again. */
	ping->pi_ends = true;
	answers_post(eng, ping);
	posted = !m0_list_is_empty(&ping->pi_me.me_mds);
	for (i = 0; i < SINKS_NR; ++i) {
		me_post(eng, &ping->pi_sinks[i].psk_me);
		sink_post(eng, &ping->pi_sinks[i]);
		posted = posted &&
			 !m0_list_is_empty(&ping->pi_sinks[i].psk_me.me_mds);
	}
	ping->pi_ends = false;
	if (posted)
		return 0;
	m0_lnet__ping_fini(eng);
	return -ENOMEM;
}

void m0_lnet__ping_fini(struct m0_lnet_engine *eng)
{
	struct ping *ping = ping_of(eng);
	unsigned     i;

	M0_PRE(m0_list_is_empty(&eng->le_nis));
	/* Without NIs nothing is in progress, and everything ends at once. */
	ping->pi_ends = true;
	for (i = 0; i < SINKS_NR; ++i)
		m0_lnet_engine_me_unlink(eng, &ping->pi_sinks[i].psk_me);
	m0_lnet_engine_me_unlink(eng, &ping->pi_me);
	eng->le_ping = NULL;
	ping_free(ping);
}
