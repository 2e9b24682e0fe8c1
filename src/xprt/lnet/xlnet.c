/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The LNet transport: its table, and domains. */
#include "xprt/lnet/xlnet_internal.h"

/* ntm_mutex is held. */
static bool xlnet_cancel(struct m0_net_kit_buf *kb)
{
	struct xlnet_buf *xb = xlnet_buf(kb);

	if (xb->xb_md.xd_kind == XLNET_NONE)
		xb->xb_cancelled = m0_net_kit_buf_id(kb);
	else
		m0_xlnet__end(xb, -ECANCELED);
	return false;
}

static const struct m0_net_kit_place_ops xlnet_place_ops = {
	.nkp_register = m0_xlnet__mem_register,
	.nkp_deregister = m0_xlnet__mem_deregister,
	.nkp_recv = m0_xlnet__recv,
	.nkp_recv_cancel = m0_xlnet__recv_cancel,
	.nkp_passive_id = m0_xlnet__passive_id,
	.nkp_passive = m0_xlnet__passive
};

static const struct m0_net_kit_ops xlnet_kit_ops = {
	.nko_place = &xlnet_place_ops,
	.nko_machine_size = sizeof(struct xlnet_machine),
	.nko_ep_size = sizeof(struct xlnet_ep),
	.nko_buf_size = sizeof(struct xlnet_buf),
	.nko_buffer_max = M0_NET_LNET_BUFFER_MAX,
	.nko_segment_max = M0_NET_LNET_SEGMENT_MAX,
	.nko_segments_max = M0_NET_LNET_SEGMENTS_MAX,
	.nko_addr_parse = m0_xlnet__addr_parse,
	.nko_wanted_parse = m0_xlnet__wanted_parse,
	.nko_addr_print = m0_xlnet__addr_print,
	.nko_start = m0_xlnet__start,
	.nko_stop = m0_xlnet__stop,
	.nko_leave = m0_xlnet__leave,
	.nko_send = m0_xlnet__send,
	.nko_bulk = m0_xlnet__bulk,
	.nko_cancel = xlnet_cancel,
	.nko_runner = m0_xlnet__runner,
	.nko_poll = m0_xlnet__poll,
	.nko_push = m0_xlnet__push,
	.nko_poll_fd = m0_xlnet__poll_fd
};

static int xlnet_dom_init(const struct m0_net_xprt *xprt,
			  struct m0_net_domain     *dom)
{
	(void)xprt;
	return m0_net_kit_dom_init(dom, &xlnet_kit_ops);
}

static int xlnet_share(const struct m0_net_xprt *xprt)
{
	(void)xprt;
	return m0_xlnet__nodes_get();
}

static void xlnet_unshare(const struct m0_net_xprt *xprt)
{
	(void)xprt;
	m0_xlnet__nodes_put();
}

static m0_bcount_t xlnet_rpc_msg_size_max(struct m0_net_domain *dom,
					  m0_bcount_t           rpc_size)
{
	(void)dom;
	return rpc_size == 0 ? M0_NET_LNET_MESSAGE_MAX
			     : min64u(rpc_size, M0_NET_LNET_MESSAGE_MAX);
}

/* A daemon takes registered memory alone, and bodies of messages are not: they are
 * copied. */
static uint32_t xlnet_rpc_segs_nr_max(struct m0_net_domain *dom)
{
	return m0_xlnet__node_is_attached() ? 1
					    : dom->nd_get_max_buffer_segments;
}

static const struct m0_net_xprt_ops xlnet_ops = {
	M0_NET_KIT_XPRT_OPS,
	.xo_dom_init = xlnet_dom_init,
	.xo_share = xlnet_share,
	.xo_unshare = xlnet_unshare,
	.xo_rpc_max_segs_nr = xlnet_rpc_segs_nr_max,
	.xo_rpc_max_msg_size = xlnet_rpc_msg_size_max
};

const struct m0_net_xprt m0_lnet_xprt = { .nx_name = "lnet",
					  .nx_ops = &xlnet_ops };

extern const struct m0_net_xprt m0_net_lnet_xprt
	__attribute__((alias("m0_lnet_xprt")));

void m0_net_lnet_send_acked(struct m0_net_domain *dom, bool acked)
{
	__atomic_store_n(m0_net_kit_dom_word(dom), acked, __ATOMIC_RELAXED);
}
