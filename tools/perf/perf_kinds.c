/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The four tests.
 *
 *  latency  A and B send one message to and fro; half of each round counts.
 *  rate     A sends messages, at most two windows of `depth` ahead of B, which
 *           answers each window with a message, and the first one of all: so B
 *           always has buffers free. What counts is a message's time in A's
 *           send queue.
 *  put,get  B queues `depth` passive buffers and sends their descriptors; A
 *           moves the data; B queues the buffer anew and sends the new
 *           descriptor. What counts is the time of A's active buffer.
 *
 * All begin with one message of A. B may be in another process: messages are all
 * that the two have of each other.
 */
#include "perf_run.h"

static void side_lock(struct perf_side *side)
{
	if (side->pe_locked)
		m0_mutex_lock(&side->pe_lock);
}

static void side_unlock(struct perf_side *side)
{
	if (side->pe_locked)
		m0_mutex_unlock(&side->pe_lock);
}

/*
 * Time of the rate row. Events of a node have the time of its step, which may
 * be long; so with a node callbacks read the clock. Elsewhere the event's time
 * is good, and saves that.
 */
static m0_time_t side_clock(const struct perf_side *side)
{
	return side->pe_own_clock ? m0_time_now() : 0;
}

static bool rate_record(struct perf_out                  *out,
			const struct m0_net_buffer_event *ev)
{
	struct perf_run *run = out->po_side->pe_run;

	if (out->po_start != 0)
		return perf_record(run, out->po_start, m0_time_now());
	return perf_record(run, out->po_nb.nb_add_time, ev->nbe_time);
}

/* Adds; a machine that is being stopped refuses, which is no failure. */
static void side_add(struct perf_side *side, struct m0_net_buffer *nb,
		     const char *what)
{
	bool sends = nb->nb_qtype == M0_NET_QT_MSG_SEND;
	int  rc = m0_net_buffer_add(nb, &side->pe_node.tn_tm);

	if (rc == 0 && sends)
		__atomic_fetch_add(&side->pe_queued_nr, 1, __ATOMIC_RELAXED);
	if (rc != 0 && rc != -EPERM)
		perf_failed(side->pe_run, what, rc);
}

/* Sends what is wanted while there are buffers; all of one length. */
static void side_pump(struct perf_side *side, m0_bcount_t length)
{
	while (side->pe_wanted > 0 && side->pe_out_free != NULL) {
		struct perf_out *out = side->pe_out_free;

		side->pe_out_free = out->po_next;
		--side->pe_wanted;
		out->po_nb.nb_length = length;
		out->po_nb.nb_ep = side->pe_peer;
		out->po_start = side_clock(side);
		side_add(side, &out->po_nb, "message");
	}
}

/* Length of what this side sends, bulk's descriptors apart. */
static m0_bcount_t side_length(const struct perf_side *side)
{
	const struct perf_row *row = side->pe_run->pn_row;

	return row->prw_test == PERF_LATENCY ||
			       (row->prw_test == PERF_RATE && side->pe_is_a)
		       ? row->prw_size
		       : PERF_TOKEN_BYTES;
}

static void side_send(struct perf_side *side, uint64_t nr)
{
	side->pe_wanted += nr;
	side_pump(side, side_length(side));
}

void perf_bulk_put(struct perf_bulk *bulk)
{
	bulk->pb_next = bulk->pb_side->pe_bulk_free;
	bulk->pb_side->pe_bulk_free = bulk;
}

static struct perf_bulk *bulk_get(struct perf_side *side)
{
	struct perf_bulk *bulk = side->pe_bulk_free;

	if (bulk != NULL)
		side->pe_bulk_free = bulk->pb_next;
	return bulk;
}

/* Is this the end of a bulk buffer's use that the test goes on from? */
static bool bulk_done(struct perf_side                 *side,
		      const struct m0_net_buffer_event *ev, const char *what)
{
	m0_net_desc_free(&ev->nbe_buffer->nb_desc);
	if (ev->nbe_status != 0 && ev->nbe_status != -ECANCELED)
		perf_failed(side->pe_run, what, ev->nbe_status);
	return ev->nbe_status == 0;
}

/* ---------------------------------------------------- bulk, side B -- */

static void passive_offer(struct perf_side *side, struct perf_bulk *bulk,
			  struct perf_out *out)
{
	struct m0_net_buffer *nb = &bulk->pb_nb;
	int                   rc;

	nb->nb_length = side->pe_run->pn_row->prw_size;
	nb->nb_ep = side->pe_peer;
	rc = m0_net_buffer_add(nb, &side->pe_node.tn_tm);
	if (rc != 0) {
		if (rc != -EPERM)
			perf_failed(side->pe_run, "passive buffer", rc);
		return;
	}
	memcpy(out->po_nb.nb_buffer.ov_buf[0], nb->nb_desc.nbd_data,
	       nb->nb_desc.nbd_len);
	out->po_nb.nb_length = nb->nb_desc.nbd_len;
	out->po_nb.nb_ep = side->pe_peer;
	side_add(side, &out->po_nb, "descriptor");
}

static bool is_over(const struct perf_side *side)
{
	return __atomic_load_n(&side->pe_run->pn_phase, __ATOMIC_RELAXED) ==
	       PHASE_STOP;
}

/* Offers what is free; the rest when there is a message buffer for it. */
static void passive_step(struct perf_side *side)
{
	while (!is_over(side) && side->pe_bulk_free != NULL &&
	       side->pe_out_free != NULL) {
		struct perf_out *out = side->pe_out_free;

		side->pe_out_free = out->po_next;
		passive_offer(side, bulk_get(side), out);
	}
}

static void passive_done(const struct m0_net_buffer_event *ev)
{
	struct perf_bulk *bulk =
		container_of(ev->nbe_buffer, struct perf_bulk, pb_nb);
	struct perf_side *side = bulk->pb_side;

	/* Locked: a cancelled buffer's descriptor may just be being sent. */
	side_lock(side);
	bulk->pb_nb.nb_ep = NULL;
	if (bulk_done(side, ev, "passive buffer")) {
		perf_bulk_put(bulk);
		passive_step(side);
	}
	side_unlock(side);
}

/* ---------------------------------------------------- bulk, side A -- */

/* Uses the descriptors that wait, as far as there are buffers. */
static void active_step(struct perf_side *side)
{
	while (side->pe_bulk_free != NULL && side->pe_descs_nr > 0) {
		struct perf_bulk *bulk = bulk_get(side);

		bulk->pb_nb.nb_desc = side->pe_descs[--side->pe_descs_nr];
		bulk->pb_nb.nb_length = side->pe_run->pn_row->prw_size;
		bulk->pb_start = m0_time_now();
		side_add(side, &bulk->pb_nb, "active buffer");
	}
}

static void active_done(const struct m0_net_buffer_event *ev)
{
	struct perf_bulk *bulk =
		container_of(ev->nbe_buffer, struct perf_bulk, pb_nb);
	struct perf_side *side = bulk->pb_side;

	side_lock(side);
	if (bulk_done(side, ev, "active buffer")) {
		(void)perf_record(side->pe_run, bulk->pb_start, m0_time_now());
		perf_bulk_put(bulk);
		active_step(side);
	}
	side_unlock(side);
}

/*
 * A descriptor came. It may come before the event of the operation that made
 * room for it; there are never more of them than buffers of B.
 */
static void active_move(struct perf_side *side, uint8_t *bytes, size_t nr)
{
	struct m0_net_buf_desc desc = { .nbd_len = (uint32_t)nr,
					.nbd_data = bytes };
	int                    rc = -EBADMSG;

	if (nr > 0 && side->pe_descs_nr < side->pe_bulk_nr)
		rc = m0_net_desc_copy(&desc,
				      &side->pe_descs[side->pe_descs_nr]);
	if (rc != 0) {
		perf_failed(side->pe_run, "descriptor", rc);
		return;
	}
	++side->pe_descs_nr;
	active_step(side);
}

/* ------------------------------------------------------- messages -- */

static void ping_received(struct perf_side *side)
{
	m0_time_t now;

	if (side->pe_is_a) {
		now = m0_time_now();
		/* Half a round, from its middle: see perf_record(). */
		if (!perf_record(side->pe_run,
				 now - m0_time_sub(now, side->pe_sent) / 2,
				 now))
			return;
		side->pe_sent = now;
	}
	side_send(side, 1);
}

static void rate_received(struct perf_side *side)
{
	uint32_t depth = side->pe_run->pn_row->prw_depth;

	if (side->pe_is_a)
		side_send(side,
			  side->pe_recv_nr == 1 ? PERF_WINDOWS * depth : depth);
	else if ((side->pe_recv_nr - 1) % depth == 0)
		side_send(side, 1);
}

static void msg_received(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	struct perf_side     *side = nb->nb_app_private;
	struct perf_run      *run = side->pe_run;
	uint8_t              *bytes = nb->nb_buffer.ov_buf[0];
	bool                  stop;

	if (ev->nbe_status != 0) {
		if (ev->nbe_status != -ECANCELED)
			perf_failed(run, "message", ev->nbe_status);
		return;
	}
	if (ev->nbe_ep != side->pe_peer) {
		++side->pe_strays_nr;
		side_add(side, nb, "receive buffer");
		return;
	}
	stop = is_over(side);
	side_lock(side);
	__atomic_fetch_add(&side->pe_recv_nr, 1, __ATOMIC_RELAXED);
	if (perf_is_bulk(run) && side->pe_is_a && !stop)
		active_move(side, bytes + ev->nbe_offset, ev->nbe_length);
	side_add(side, nb, "receive buffer");
	if (stop || (perf_is_bulk(run) && side->pe_is_a))
		goto out;
	if (perf_is_bulk(run)) {
		passive_step(side);
	} else if (run->pn_row->prw_test == PERF_LATENCY) {
		ping_received(side);
	} else {
		rate_received(side);
	}
out:
	side_unlock(side);
}

static void msg_sent(const struct m0_net_buffer_event *ev)
{
	struct perf_out *out =
		container_of(ev->nbe_buffer, struct perf_out, po_nb);
	struct perf_side *side = out->po_side;
	struct perf_run  *run = side->pe_run;

	out->po_nb.nb_ep = NULL;
	if (ev->nbe_status != 0) {
		if (ev->nbe_status != -ECANCELED)
			perf_failed(run, "message", ev->nbe_status);
		return;
	}
	side_lock(side);
	out->po_next = side->pe_out_free;
	side->pe_out_free = out;
	if (run->pn_row->prw_test == PERF_RATE && side->pe_is_a &&
	    !rate_record(out, ev))
		side->pe_wanted = 0;
	if (perf_is_bulk(run) && !side->pe_is_a)
		passive_step(side);
	else
		side_pump(side, side_length(side));
	side_unlock(side);
}

const struct m0_net_buffer_callbacks
	perf_callbacks = { .nbc_cb = {
				   [M0_NET_QT_MSG_RECV] = msg_received,
				   [M0_NET_QT_MSG_SEND] = msg_sent,
				   [M0_NET_QT_PASSIVE_BULK_RECV] = passive_done,
				   [M0_NET_QT_PASSIVE_BULK_SEND] = passive_done,
				   [M0_NET_QT_ACTIVE_BULK_RECV] = active_done,
				   [M0_NET_QT_ACTIVE_BULK_SEND] = active_done,
			   } };

/* Its add is the last touch of the side, for callbacks may run at once. */
void perf_test_start(struct perf_run *run)
{
	struct perf_side *side = &run->pn_sides[PERF_A];
	struct perf_out  *out;

	side_lock(side);
	side->pe_sent = m0_time_now();
	out = side->pe_out_free;
	side->pe_out_free = out->po_next;
	out->po_nb.nb_length = side_length(side);
	out->po_nb.nb_ep = side->pe_peer;
	out->po_start = side_clock(side);
	side_add(side, &out->po_nb, "message");
	side_unlock(side);
}
