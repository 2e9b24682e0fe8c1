/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "obj_lane.h"
#include "../base/stop.h"

/** A request with bulk is asked anew after this, and then twice as late. */
#define BULK_NS     M0_TIME_ONE_SECOND
#define BULK_MAX_NS (8 * M0_TIME_ONE_SECOND)
#define AGAIN_NS    (20 * M0_TIME_ONE_MSEC)
/** How often a signal is looked for. */
#define TICK_NS (M0_TIME_ONE_SECOND / 5)

enum {
	/** A part of what may be in flight gathers, while the others are on
	 * their way there, worked at, and on their way back. */
	GATHER_PART = 4
};

/* --------------------------------------------------------------- ends -- */

static void lane_end(struct obj_lane *lane)
{
	struct obj_lanes *lanes = lane->ol_lanes;
	bool              is_first = false;

	m0_mutex_lock(&lanes->os_lock);
	if (--lane->ol_ends_left == 0) {
		is_first = lanes->os_done == NULL;
		lane->ol_next = NULL;
		*lanes->os_done_tail = lane;
		lanes->os_done_tail = &lane->ol_next;
	}
	m0_mutex_unlock(&lanes->os_lock);
	/* A thread woken under the lock would soon have to sleep for it. */
	if (is_first)
		m0_semaphore_up(&lanes->os_any);
}

static void bulk_ended(struct m0_rpc_bulk *rb)
{
	struct obj_lane *lane = container_of(rb, struct obj_lane, ol_rb);

	/* The callback has ended the item; finalise the lane, too. */
	lane_end(lane);
}

static void item_ended(struct m0_rpc_item *item)
{
	struct obj_lane *lane = item->ri_app_private;

	lane->ol_rc = obj_reply_of(item, &lane->ol_rep);
	/* Nobody will come for it, or only in vain. */
	if (lane->ol_bulk_on &&
	    (lane->ol_rc != 0 || (lane->ol_rep.orp_flags & OBJ_SAME)))
		m0_rpc_bulk_store_del(&lane->ol_rb);
	lane_end(lane);
}

static const struct m0_rpc_item_ops item_ops = { .rio_replied = &item_ended };

/* ---------------------------------------------------------------- posts -- */

static int bulk_offer(struct obj_lane *lane)
{
	struct obj_client *client = lane->ol_lanes->os_client;
	int                rc;

	m0_rpc_bulk_init(&lane->ol_rb);
	lane->ol_rb.rb_done = &bulk_ended;
	lane->ol_rb.rb_timeout_ns =
		m0_time_add(client->oc_timeout_ns, M0_TIME_ONE_SECOND);
	rc = m0_rpc_bulk_buf_add(&lane->ol_rb, 0, lane->ol_req.orq_count,
				 &client->oc_dom, lane->ol_nb, NULL);
	if (rc == 0) {
		m0_rpc_bulk_qtype(&lane->ol_rb,
				  lane->ol_gets ? M0_NET_QT_PASSIVE_BULK_RECV
						: M0_NET_QT_PASSIVE_BULK_SEND);
		rc = m0_rpc_bulk_store(&lane->ol_rb, &client->oc_conn,
				       &lane->ol_req.orq_desc);
	}
	if (rc != 0) {
		m0_rpc_bulk_buflist_empty(&lane->ol_rb);
		m0_rpc_bulk_fini(&lane->ol_rb);
	}
	return rc;
}

static int item_make(struct obj_lane *lane)
{
	struct obj_client *client = lane->ol_lanes->os_client;
	m0_time_t          wait;
	uint8_t           *body;

	lane->ol_raw =
		obj_raw_new(lane->ol_op, obj_req_size(&lane->ol_req), &body);
	if (lane->ol_raw == NULL)
		return -ENOMEM;
	(void)obj_req_encode(&lane->ol_req, body);
	lane->ol_raw->rr_item.ri_session = &client->oc_session;
	lane->ol_raw->rr_item.ri_ops = &item_ops;
	lane->ol_raw->rr_item.ri_app_private = lane;
	lane->ol_raw->rr_item.ri_expires = lane->ol_limit;
	if (obj_op_is_update(lane->ol_op))
		lane->ol_raw->rr_item.ri_stream = lane->ol_stream;
	if (lane->ol_bulk_on) {
		wait = min64u(BULK_NS << min64u(lane->ol_tries, 3),
			      BULK_MAX_NS);
		lane->ol_raw->rr_item.ri_nr_sent_max = 1;
		lane->ol_raw->rr_item.ri_resend_interval = wait;
		/* The service holds no buffer for longer than this request
		 * is of use. */
		lane->ol_raw->rr_item.ri_expires = min64u(
			lane->ol_limit, m0_time_add(m0_time_now(), wait));
	}
	return 0;
}

static void lane_refused(struct obj_lane *lane, int rc)
{
	lane->ol_rc = rc;
	if (lane->ol_bulk_on)
		m0_rpc_bulk_store_del(&lane->ol_rb);
	lane_end(lane);
}

/* All but the post: its end comes after that.
 * @return false: it has been refused. */
static bool lane_make(struct obj_lane *lane)
{
	int rc = 0;

	lane->ol_bulk_on = lane->ol_nb != NULL;
	lane->ol_bulk_rc = 0;
	lane->ol_moved = 0;
	if (lane->ol_bulk_on)
		rc = bulk_offer(lane);
	lane->ol_bulk_on = lane->ol_bulk_on && rc == 0;
	lane->ol_ends_left = 1 + lane->ol_bulk_on;
	if (rc == 0)
		rc = item_make(lane);
	if (lane->ol_req.orq_desc.bdd_desc.nbd_len > 0) {
		m0_net_desc_free(&lane->ol_req.orq_desc.bdd_desc);
		M0_SET0(&lane->ol_req.orq_desc);
	}
	if (rc != 0)
		lane_refused(lane, rc);
	return rc == 0;
}

static void lane_send(struct obj_lane *lane)
{
	int rc = m0_rpc_post(&lane->ol_raw->rr_item);

	if (rc != 0)
		lane_refused(lane, rc);
}

/* In a row, so that they share a packet. */
static void ready_send(struct obj_lanes *lanes)
{
	struct obj_lane *lane = lanes->os_ready;
	struct obj_lane *next;

	lanes->os_ready = NULL;
	lanes->os_ready_tail = &lanes->os_ready;
	lanes->os_ready_nr = 0;
	for (; lane != NULL; lane = next) {
		next = lane->ol_next;
		lane_send(lane);
	}
}

static void ready_add(struct obj_lane *lane)
{
	struct obj_lanes *lanes = lane->ol_lanes;

	lane->ol_next = NULL;
	*lanes->os_ready_tail = lane;
	lanes->os_ready_tail = &lane->ol_next;
	/* A block is worth a packet. */
	if (++lanes->os_ready_nr >= lanes->os_gather || lane->ol_bulk_on)
		ready_send(lanes);
}

void obj_lane_post(struct obj_lane *lane)
{
	lane->ol_tries = 0;
	lane->ol_busy_rc = 0;
	lane->ol_limit = m0_time_add(m0_time_now(),
				     lane->ol_lanes->os_client->oc_timeout_ns);
	if (lane_make(lane))
		ready_add(lane);
}

/* -------------------------------------------------------------- waiting -- */

/* Is what has ended to be asked again? */
static bool is_passing(const struct obj_lane *lane)
{
	switch (lane->ol_rc) {
	case -ETIMEDOUT:
	case -ECANCELED:
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -ECONNRESET:
	case -ECONNREFUSED:
	case -ENOTCONN:
	case -EPIPE:
		return lane->ol_nb != NULL;
	case -EAGAIN:
	case -EBUSY:
		return true;
	case -ESTALE:
		/* The server has lost the record of this update. Repeating
		 * it gives the same result, unless it ends an upload. */
		return lane->ol_op == OBJ_PUT || lane->ol_op == OBJ_BEGIN;
	default:
		return false;
	}
}

/* After both ends: what it comes to. @return  is it over? */
static bool lane_judge(struct obj_lane *lane, m0_time_t now)
{
	struct obj_lanes *lanes = lane->ol_lanes;

	if (lane->ol_rc == 0 && lane->ol_bulk_on &&
	    !(lane->ol_rep.orp_flags & OBJ_SAME)) {
		lane->ol_rc = lane->ol_bulk_rc;
		if (lane->ol_rc == 0 && lane->ol_gets &&
		    lane->ol_moved != lane->ol_rep.orp_size)
			lane->ol_rc = -EPROTO;
	}
	if (lane->ol_rc == -EAGAIN || lane->ol_rc == -EBUSY)
		lane->ol_busy_rc = lane->ol_rc;
	if (lane->ol_rc == 0 || !is_passing(lane) || now >= lane->ol_limit ||
	    stop_signal() != 0) {
		if (lane->ol_rc == -ETIMEDOUT && lane->ol_busy_rc != 0)
			lane->ol_rc = lane->ol_busy_rc;
		return true;
	}
	if (lane->ol_raw != NULL)
		m0_rpc_item_put(&lane->ol_raw->rr_item);
	lane->ol_raw = NULL;
	lane->ol_req.orq_flags |= lane->ol_op == OBJ_WRITE ? OBJ_RESUMED : 0;
	lane->ol_again =
		m0_time_add(now, AGAIN_NS << min64u(lane->ol_tries++, 6));
	lane->ol_next = lanes->os_later;
	lanes->os_later = lane;
	return false;
}

/* Posts requests whose pause is over. @return time of the next one. */
static m0_time_t later_post(struct obj_lanes *lanes, m0_time_t now)
{
	struct obj_lane **at = &lanes->os_later;
	m0_time_t         next = M0_TIME_NEVER;

	while (*at != NULL) {
		struct obj_lane *lane = *at;

		if (lane->ol_again > now) {
			next = min64u(next, lane->ol_again);
			at = &lane->ol_next;
			continue;
		}
		*at = lane->ol_next;
		if (lane_make(lane))
			lane_send(lane);
	}
	return next;
}

/* Both have ended, and nobody but us knows the lane any more. */
static void lane_settle(struct obj_lane *lane)
{
	if (!lane->ol_bulk_on)
		return;
	lane->ol_bulk_rc = lane->ol_rb.rb_rc;
	lane->ol_moved = lane->ol_rb.rb_moved;
	m0_rpc_bulk_fini(&lane->ol_rb);
}

/* All that have ended. The semaphore is up once for each time that there were
 * none, and no thread that is still to raise it is overtaken. */
static void done_take(struct obj_lanes *lanes)
{
	m0_mutex_lock(&lanes->os_lock);
	lanes->os_taken = lanes->os_done;
	lanes->os_done = NULL;
	lanes->os_done_tail = &lanes->os_done;
	m0_mutex_unlock(&lanes->os_lock);
}

/* Requests that wait to be posted in a row wait no longer than there is
 * other work. */
static void done_wait(struct obj_lanes *lanes, m0_time_t limit)
{
	bool any = m0_semaphore_trydown(&lanes->os_any);

	if (!any) {
		ready_send(lanes);
		any = m0_semaphore_timeddown(&lanes->os_any, limit);
	}
	if (any)
		done_take(lanes);
}

static struct obj_lane *done_get(struct obj_lanes *lanes, m0_time_t limit)
{
	struct obj_lane *lane;

	if (lanes->os_taken == NULL)
		done_wait(lanes, limit);
	lane = lanes->os_taken;
	if (lane != NULL) {
		lanes->os_taken = lane->ol_next;
		lane_settle(lane);
	}
	return lane;
}

struct obj_lane *obj_lanes_wait(struct obj_lanes *lanes, m0_time_t limit)
{
	struct obj_lane *lane;
	m0_time_t        now = m0_time_now();
	m0_time_t        next;

	do {
		next = later_post(lanes, now);
		next = min64u(next, m0_time_add(now, TICK_NS));
		lane = done_get(lanes, min64u(next, limit));
		now = m0_time_now();
		if (lane != NULL && lane_judge(lane, now))
			return lane;
	} while (now < limit && (lane != NULL || stop_signal() == 0));
	return NULL;
}

/* ---------------------------------------------------------------- lanes -- */

bool obj_lane_is_there(const struct obj_lanes *lanes, bool bulk)
{
	return lanes->os_free != NULL &&
	       (bulk ? lanes->os_bufs_free_nr > 0
		     : lanes->os_plain_nr < lanes->os_plain_max);
}

struct obj_lane *obj_lane_get(struct obj_lanes *lanes, bool bulk)
{
	struct obj_lane *lane = lanes->os_free;

	if (!obj_lane_is_there(lanes, bulk))
		return NULL;
	lanes->os_free = lane->ol_next;
	++lanes->os_busy_nr;
	lanes->os_plain_nr += !bulk;
	M0_SET0(&lane->ol_req);
	lane->ol_gets = false;
	lane->ol_nb = bulk ? lanes->os_bufs_free[--lanes->os_bufs_free_nr]
			   : NULL;
	return lane;
}

void obj_lane_put(struct obj_lane *lane)
{
	struct obj_lanes *lanes = lane->ol_lanes;

	if (lane->ol_raw != NULL)
		m0_rpc_item_put(&lane->ol_raw->rr_item);
	lane->ol_raw = NULL;
	if (lane->ol_nb != NULL)
		lanes->os_bufs_free[lanes->os_bufs_free_nr++] = lane->ol_nb;
	else
		--lanes->os_plain_nr;
	lane->ol_nb = NULL;
	lane->ol_next = lanes->os_free;
	lanes->os_free = lane;
	--lanes->os_busy_nr;
}

uint8_t *obj_lane_bytes(const struct obj_lane *lane)
{
	return lane->ol_nb->nb_buffer.ov_buf[0];
}

static int bufs_make(struct obj_lanes *lanes, uint32_t nr)
{
	int rc = 0;

	while (rc == 0 && lanes->os_bufs_nr < nr) {
		rc = tool_buffer_init(&lanes->os_bufs[lanes->os_bufs_nr],
				      &lanes->os_client->oc_dom, OBJ_BLOCK);
		if (rc == 0)
			lanes->os_bufs_free[lanes->os_bufs_free_nr++] =
				&lanes->os_bufs[lanes->os_bufs_nr++];
	}
	return rc;
}

int obj_lanes_init(struct obj_lanes *lanes, struct obj_client *client)
{
	const struct obj_args *args = client->oc_args;
	uint32_t               streams = client->oc_session.s_streams_nr;
	uint32_t               i;

	M0_SET0(lanes);
	lanes->os_client = client;
	lanes->os_nr = (uint32_t)max64u(args->oa_inflight, args->oa_blocks);
	lanes->os_plain_max = (uint32_t)args->oa_inflight;
	m0_mutex_init(&lanes->os_lock);
	(void)m0_semaphore_init(&lanes->os_any, 0);
	lanes->os_done_tail = &lanes->os_done;
	lanes->os_ready_tail = &lanes->os_ready;
	lanes->os_gather = args->oa_no_batch
				   ? 1
				   : (uint32_t)args->oa_inflight / GATHER_PART;
	M0_ALLOC_ARR(lanes->os_lane, lanes->os_nr);
	M0_ALLOC_ARR(lanes->os_bufs, args->oa_blocks);
	M0_ALLOC_ARR(lanes->os_bufs_free, args->oa_blocks);
	if (lanes->os_lane == NULL || lanes->os_bufs == NULL ||
	    lanes->os_bufs_free == NULL)
		return -ENOMEM;
	for (i = lanes->os_nr; i-- > 0;) {
		struct obj_lane *lane = &lanes->os_lane[i];

		lane->ol_lanes = lanes;
		lane->ol_stream = 1 + i % (streams == 0 ? 1 : streams);
		lane->ol_next = lanes->os_free;
		lanes->os_free = lane;
	}
	return bufs_make(lanes, (uint32_t)args->oa_blocks);
}

void obj_lanes_fini(struct obj_lanes *lanes)
{
	struct obj_lane *lane;
	uint32_t         i;

	while ((lane = lanes->os_later) != NULL) {
		lanes->os_later = lane->ol_next;
		obj_lane_put(lane);
	}
	while (lanes->os_busy_nr > 0) {
		lane = done_get(lanes, M0_TIME_NEVER);
		if (lane != NULL)
			obj_lane_put(lane);
	}
	for (i = 0; i < lanes->os_bufs_nr; ++i)
		tool_buffer_fini(&lanes->os_bufs[i]);
	m0_free(lanes->os_bufs_free);
	m0_free(lanes->os_bufs);
	m0_free(lanes->os_lane);
	m0_semaphore_fini(&lanes->os_any);
	m0_mutex_fini(&lanes->os_lock);
}
