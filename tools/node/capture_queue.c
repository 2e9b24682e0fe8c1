/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "capture_queue.h"

enum {
	ALIGN = 8,
	PORTALS_NR = 64
};

_Static_assert(sizeof(struct capture_msg) % ALIGN == 0, "messages are aligned");

void capture_filter_init(struct capture_filter *filter)
{
	M0_SET0(filter);
	filter->cpf_src = m0_lnet_nid_any;
	filter->cpf_dst = m0_lnet_nid_any;
	filter->cpf_local = m0_lnet_nid_any;
	filter->cpf_in = true;
	filter->cpf_out = true;
}

/* 255.255.255.255 stands for all of its network. */
static bool is_net(const struct m0_lnet_nid *nid)
{
	static const uint8_t all[] = { 0xff, 0xff, 0xff, 0xff };

	return nid->ln_size == 0 && memcmp(nid->ln_addr, all, sizeof all) == 0;
}

static bool nid_fits(const struct m0_lnet_nid *want,
		     const struct m0_lnet_nid *nid)
{
	return m0_lnet_nid_is_any(want) || m0_lnet_nid_eq(want, nid) ||
	       (is_net(want) && m0_lnet_nid_net(want) == m0_lnet_nid_net(nid));
}

static bool nids_fit(const struct capture_filter  *filter,
		     const struct m0_lnet_tap_msg *msg)
{
	unsigned i;

	for (i = 0; i < filter->cpf_nids_nr; ++i) {
		const struct m0_lnet_nid *want = &filter->cpf_nids[i];

		if (nid_fits(want, &msg->ltv_src) ||
		    nid_fits(want, &msg->ltv_dst) ||
		    nid_fits(want, &msg->ltv_hop))
			return true;
	}
	return filter->cpf_nids_nr == 0;
}

static bool portal_fits(const struct capture_filter  *filter,
			const struct m0_lnet_tap_msg *msg)
{
	if (filter->cpf_portals == 0)
		return true;
	return M0_IN(msg->ltv_type, (M0_LNET_FAULT_PUT, M0_LNET_FAULT_GET)) &&
	       msg->ltv_portal < PORTALS_NR &&
	       (filter->cpf_portals & UINT64_C(1) << msg->ltv_portal) != 0;
}

bool capture_filter_fits(const struct capture_filter  *filter,
			 const struct m0_lnet_tap_msg *msg)
{
	return (msg->ltv_leaves ? filter->cpf_out : filter->cpf_in) &&
	       (filter->cpf_msgs == 0 ||
		(filter->cpf_msgs & msg->ltv_type) != 0) &&
	       portal_fits(filter, msg) &&
	       nid_fits(&filter->cpf_src, &msg->ltv_src) &&
	       nid_fits(&filter->cpf_dst, &msg->ltv_dst) &&
	       nid_fits(&filter->cpf_local, &msg->ltv_local) &&
	       nids_fit(filter, msg);
}

/* --------------------------------------------------------- the node's thread -- */

static uint64_t wall_ns(void)
{
	struct timespec ts = { 0, 0 };

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * M0_TIME_ONE_SECOND + (uint64_t)ts.tv_nsec;
}

static struct capture_msg *msg_at(const struct capture_queue *queue,
				  uint64_t                    at)
{
	return (void *)(queue->cqu_buf + at % CAPTURE_QUEUE_BYTES);
}

/* Room for a message in one piece. *at: what was put so far. NULL: there is none. */
static struct capture_msg *room(const struct capture_queue *queue, size_t whole,
				uint64_t *at)
{
	uint64_t taken = __atomic_load_n(&queue->cqu_taken, __ATOMIC_ACQUIRE);
	uint64_t free_bytes = CAPTURE_QUEUE_BYTES - (*at - taken);
	uint64_t to_end = CAPTURE_QUEUE_BYTES - *at % CAPTURE_QUEUE_BYTES;

	if (to_end < whole) {
		if (free_bytes < to_end + whole)
			return NULL;
		/* A reader finds out that a part too small for a message is empty. */
		if (to_end >= sizeof(struct capture_msg))
			msg_at(queue, *at)->cqm_wraps = true;
		*at += to_end;
		return msg_at(queue, *at);
	}
	return free_bytes < whole ? NULL : msg_at(queue, *at);
}

static void msg_fill(struct capture_msg *cqm, const struct m0_lnet_tap_msg *msg)
{
	cqm->cqm_head_bytes = (uint32_t)msg->ltv_head_bytes;
	cqm->cqm_payload_bytes = (uint32_t)msg->ltv_payload_bytes;
	cqm->cqm_time_ns = wall_ns();
	cqm->cqm_local = msg->ltv_local;
	cqm->cqm_hop = msg->ltv_hop;
	cqm->cqm_status = msg->ltv_status;
	cqm->cqm_leaves = msg->ltv_leaves;
	cqm->cqm_wraps = false;
	snprintf(cqm->cqm_why, sizeof cqm->cqm_why, "%s",
		 msg->ltv_why == NULL ? "" : msg->ltv_why);
}

static void queue_put(struct m0_lnet_tap           *tap,
		      const struct m0_lnet_tap_msg *msg)
{
	struct capture_queue *queue =
		container_of(tap, struct capture_queue, cqu_tap);
	uint64_t            at = queue->cqu_put;
	size_t              snap;
	size_t              whole;
	struct capture_msg *cqm;
	char               *bytes;

	if (!capture_filter_fits(&queue->cqu_filter, msg))
		return;
	snap = (size_t)min64u(msg->ltv_vec_bytes, queue->cqu_filter.cpf_snap);
	whole = (sizeof *cqm + msg->ltv_head_bytes + snap + ALIGN - 1) / ALIGN *
		ALIGN;
	__atomic_add_fetch(&queue->cqu_seen_nr, 1, __ATOMIC_RELAXED);
	cqm = room(queue, whole, &at);
	if (cqm == NULL) {
		++queue->cqu_lost_now;
		__atomic_add_fetch(&queue->cqu_lost_nr, 1, __ATOMIC_RELAXED);
		return;
	}
	msg_fill(cqm, msg);
	cqm->cqm_whole = (uint32_t)whole;
	cqm->cqm_lost_nr = queue->cqu_lost_now;
	queue->cqu_lost_now = 0;
	bytes = (char *)(cqm + 1);
	memcpy(bytes, msg->ltv_head, msg->ltv_head_bytes);
	snap = m0_lnet_tap_copy(msg, bytes + msg->ltv_head_bytes, snap);
	cqm->cqm_bytes = (uint32_t)(msg->ltv_head_bytes + snap);
	__atomic_store_n(&queue->cqu_put, at + whole, __ATOMIC_RELEASE);
}

/* ---------------------------------------------------------- the other thread -- */

int capture_queue_init(struct capture_queue        *queue,
		       const struct capture_filter *filter)
{
	M0_SET0(queue);
	queue->cqu_filter = *filter;
	queue->cqu_tap.ltp_message = queue_put;
	queue->cqu_buf = aligned_alloc(64, CAPTURE_QUEUE_BYTES);
	return queue->cqu_buf == NULL ? -ENOMEM : 0;
}

void capture_queue_fini(struct capture_queue *queue)
{
	free(queue->cqu_buf);
	queue->cqu_buf = NULL;
}

const struct capture_msg *capture_queue_first(struct capture_queue *queue)
{
	uint64_t put = __atomic_load_n(&queue->cqu_put, __ATOMIC_ACQUIRE);
	uint64_t to_end;

	if (queue->cqu_taken == put)
		return NULL;
	to_end = CAPTURE_QUEUE_BYTES - queue->cqu_taken % CAPTURE_QUEUE_BYTES;
	if (to_end < sizeof(struct capture_msg) ||
	    msg_at(queue, queue->cqu_taken)->cqm_wraps)
		__atomic_store_n(&queue->cqu_taken, queue->cqu_taken + to_end,
				 __ATOMIC_RELEASE);
	M0_ASSERT(queue->cqu_taken < put);
	return msg_at(queue, queue->cqu_taken);
}

void capture_queue_next(struct capture_queue *queue)
{
	const struct capture_msg *cqm = msg_at(queue, queue->cqu_taken);

	M0_PRE(!cqm->cqm_wraps);
	__atomic_store_n(&queue->cqu_taken, queue->cqu_taken + cqm->cqm_whole,
			 __ATOMIC_RELEASE);
}
