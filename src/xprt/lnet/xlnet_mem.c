/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Memory of buffers, registered with the nodes.
 *
 * A buffer's segment in a region of the library's allocator registers the whole
 * region; other memory registers the segment alone. A range is registered once
 * with each node, however many buffers use it, and goes with the last of them.
 */
#include "xprt/lnet/xlnet_internal.h"
#include "base/hash.h"
#include "os/os.h"

struct xlnet_range {
	struct m0_hash_link xr_link;
	/** Number of segments of buffers in it. */
	uint32_t          xr_users_nr;
	struct xlnet_span xr_span;
};

/* m0_xlnet__lock guards it. */
static struct m0_hash ranges;

static struct xlnet_range *range_of(struct m0_hash_link *link)
{
	return link == NULL ? NULL
			    : container_of(link, struct xlnet_range, xr_link);
}

static struct xlnet_range *range_find(const struct xlnet_span *span)
{
	return ranges.ha_nr == 0
		       ? NULL
		       : range_of(m0_hash_find(&ranges, span, sizeof *span));
}

/* The range that registers a segment. */
static struct xlnet_span span_of(const struct m0_bufvec *bv, uint32_t i)
{
	struct xlnet_span span = { .xsp_addr = bv->ov_buf[i],
				   .xsp_bytes = bv->ov_vec.v_count[i] };

	(void)m0_os_region_of(bv->ov_buf[i], &span.xsp_addr, &span.xsp_bytes);
	return span;
}

static void span_leave(const struct xlnet_span *span, struct xlnet_node *end)
{
	struct xlnet_node *node;

	for (node = m0_xlnet__node_next(NULL); node != end;
	     node = m0_xlnet__node_next(node))
		if (!node->xn_has_no_memory)
			m0_lnet_mem_deregister(node->xn_lnet, span->xsp_addr,
					       span->xsp_bytes);
}

/* A node whose daemon has ended for good takes no memory, and does not keep others from it. */
static int node_register(struct xlnet_node *node, const struct xlnet_span *span)
{
	int rc;

	if (node->xn_has_no_memory)
		return 0;
	rc = m0_lnet_mem_register(node->xn_lnet, span->xsp_addr,
				  span->xsp_bytes);
	if (rc != -ESHUTDOWN || !m0_lnet_is_attached(node->xn_lnet))
		return rc;
	node->xn_has_no_memory = true;
	return 0;
}

/* Registers with all nodes or with none. */
static int span_enter(const struct xlnet_span *span)
{
	struct xlnet_node *node;
	int                rc;

	M0_PRE_EX(m0_mutex_is_locked(&m0_xlnet__lock));
	for (node = m0_xlnet__node_next(NULL); node != NULL;
	     node = m0_xlnet__node_next(node)) {
		rc = node_register(node, span);
		if (rc != 0) {
			span_leave(span, node);
			return rc;
		}
	}
	return 0;
}

static int range_get(const struct xlnet_span *span)
{
	struct xlnet_range *range = range_find(span);
	int                 rc;

	M0_PRE_EX(m0_mutex_is_locked(&m0_xlnet__lock));
	if (range != NULL) {
		++range->xr_users_nr;
		return 0;
	}
	M0_ALLOC_PTR(range);
	if (range == NULL)
		return -ENOMEM;
	range->xr_users_nr = 1;
	range->xr_span = *span;
	if (ranges.ha_nr == 0)
		m0_hash_init(&ranges);
	rc = m0_hash_add(&ranges, &range->xr_link, &range->xr_span,
			 sizeof range->xr_span)
		     ?: span_enter(span);
	if (rc == 0)
		return 0;
	if (range_find(span) == range)
		m0_hash_del(&ranges, &range->xr_link);
	m0_free(range);
	return rc;
}

static void range_put(const struct xlnet_span *span)
{
	struct xlnet_range *range = range_find(span);

	M0_PRE_EX(m0_mutex_is_locked(&m0_xlnet__lock));
	M0_ASSERT(range != NULL && range->xr_users_nr > 0);
	if (--range->xr_users_nr > 0)
		return;
	span_leave(span, NULL);
	m0_hash_del(&ranges, &range->xr_link);
	m0_free(range);
}

/* Ends the registration of the first `nr` spans of the buffer. */
static void spans_put(struct xlnet_buf *xb, uint32_t nr)
{
	while (nr-- > 0) {
		if (xb->xb_spans[nr].xsp_bytes > 0)
			range_put(&xb->xb_spans[nr]);
	}
	m0_free(xb->xb_spans);
	xb->xb_spans = NULL;
	xb->xb_spans_nr = 0;
}

int m0_xlnet__mem_register(struct m0_net_kit_buf *kb)
{
	const struct m0_bufvec *bv = &kb->nkb_buffer->nb_buffer;
	struct xlnet_buf       *xb = xlnet_buf(kb);
	uint32_t                nr = bv->ov_vec.v_nr;
	uint32_t                i;
	int                     rc = 0;

	/* Applications exchange the segments of a registered buffer, and use
	 * fewer of them: what was registered is kept. */
	M0_ALLOC_ARR(xb->xb_spans, nr);
	if (xb->xb_spans == NULL)
		return -ENOMEM;
	xb->xb_spans_nr = nr;
	m0_mutex_lock(&m0_xlnet__lock);
	for (i = 0; i < nr && rc == 0; ++i) {
		xb->xb_spans[i] = span_of(bv, i);
		if (xb->xb_spans[i].xsp_bytes > 0)
			rc = range_get(&xb->xb_spans[i]);
	}
	if (rc != 0)
		spans_put(xb, i - 1);
	m0_mutex_unlock(&m0_xlnet__lock);
	return rc;
}

void m0_xlnet__mem_deregister(struct m0_net_kit_buf *kb)
{
	struct xlnet_buf *xb = xlnet_buf(kb);

	m0_mutex_lock(&m0_xlnet__lock);
	spans_put(xb, xb->xb_spans_nr);
	m0_mutex_unlock(&m0_xlnet__lock);
}

/* Deregisters those before `end`. */
static void node_leave(struct m0_lnet *lnet, const struct xlnet_range *end)
{
	struct xlnet_range *range;

	M0_PRE_EX(m0_mutex_is_locked(&m0_xlnet__lock));
	for (range = ranges.ha_nr == 0 ? NULL
				       : range_of(m0_hash_first(&ranges));
	     range != end; range = range_of(m0_hash_next(&range->xr_link)))
		m0_lnet_mem_deregister(lnet, range->xr_span.xsp_addr,
				       range->xr_span.xsp_bytes);
}

int m0_xlnet__mem_node_enter(struct m0_lnet *lnet)
{
	struct xlnet_range *range;
	int                 rc;

	M0_PRE_EX(m0_mutex_is_locked(&m0_xlnet__lock));
	for (range = ranges.ha_nr == 0 ? NULL
				       : range_of(m0_hash_first(&ranges));
	     range != NULL; range = range_of(m0_hash_next(&range->xr_link))) {
		rc = m0_lnet_mem_register(lnet, range->xr_span.xsp_addr,
					  range->xr_span.xsp_bytes);
		if (rc != 0) {
			node_leave(lnet, range);
			return rc;
		}
	}
	return 0;
}

void m0_xlnet__mem_node_leave(struct m0_lnet *lnet)
{
	node_leave(lnet, NULL);
}
