/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The four tests.
 *
 *  latency  A and B send one message to and fro; half of each round counts.
 *  rate     A sends messages, at most two windows of `depth` ahead of B, which
 *           answers each window with a message: so B always has buffers free.
 *           What counts is a message's time in A's send queue.
 *  put,get  B queues `depth` passive buffers and sends their descriptors; A
 *           moves the data; B queues the buffer anew and sends the new
 *           descriptor. What counts is the time of A's active buffer.
 */
#include "perf.h"

enum {
	/** Length of messages that carry nothing. */
	TOKEN_BYTES = 8,
	WINDOWS = 2,
	SPARE = 4
};

static bool is_bulk(const struct perf_run *run)
{
	return run->pn_row->prw_test == PERF_PUT ||
	       run->pn_row->prw_test == PERF_GET;
}

static bool side_is_a(const struct perf_side *side)
{
	return side == &side->pe_run->pn_sides[PERF_A];
}

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
		side_add(side, &out->po_nb, "message");
	}
}

/* Length of what this side sends, bulk's descriptors apart. */
static m0_bcount_t side_length(const struct perf_side *side)
{
	const struct perf_row *row = side->pe_run->pn_row;

	return row->prw_test == PERF_LATENCY ||
			       (row->prw_test == PERF_RATE && side_is_a(side))
		       ? row->prw_size
		       : TOKEN_BYTES;
}

static void side_send(struct perf_side *side, uint64_t nr)
{
	side->pe_wanted += nr;
	side_pump(side, side_length(side));
}

/* Each bulk buffer is in use or in this list. */
static void bulk_put(struct perf_bulk *bulk)
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
		bulk_put(bulk);
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
		bulk_put(bulk);
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

	if (side_is_a(side)) {
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

	if (side_is_a(side))
		side_send(side,
			  side->pe_recv_nr == 1 ? WINDOWS * depth : depth);
	else if (side->pe_recv_nr % depth == 0)
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
	stop = is_over(side);
	side_lock(side);
	__atomic_fetch_add(&side->pe_recv_nr, 1, __ATOMIC_RELAXED);
	if (is_bulk(run) && side_is_a(side) && !stop)
		active_move(side, bytes + ev->nbe_offset, ev->nbe_length);
	side_add(side, nb, "receive buffer");
	if (stop || (is_bulk(run) && side_is_a(side)))
		goto out;
	if (is_bulk(run)) {
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
	if (run->pn_row->prw_test == PERF_RATE && side_is_a(side) &&
	    !perf_record(run, out->po_nb.nb_add_time, ev->nbe_time))
		side->pe_wanted = 0;
	if (is_bulk(run) && !side_is_a(side))
		passive_step(side);
	else
		side_pump(side, side_length(side));
	side_unlock(side);
}

static const struct m0_net_buffer_callbacks
	perf_callbacks = { .nbc_cb = {
				   [M0_NET_QT_MSG_RECV] = msg_received,
				   [M0_NET_QT_MSG_SEND] = msg_sent,
				   [M0_NET_QT_PASSIVE_BULK_RECV] = passive_done,
				   [M0_NET_QT_PASSIVE_BULK_SEND] = passive_done,
				   [M0_NET_QT_ACTIVE_BULK_RECV] = active_done,
				   [M0_NET_QT_ACTIVE_BULK_SEND] = active_done,
			   } };

/* -------------------------------------------------- set-up of a row -- */

/* How many message buffers a side needs. */
static void side_count(struct perf_side *side)
{
	const struct perf_row *row = side->pe_run->pn_row;
	bool                   a = side_is_a(side);

	side->pe_in_nr = SPARE;
	side->pe_out_nr = SPARE;
	if (row->prw_test == PERF_RATE && a)
		side->pe_out_nr = WINDOWS * row->prw_depth;
	else if (row->prw_test == PERF_RATE)
		side->pe_in_nr = WINDOWS * row->prw_depth;
	else if (is_bulk(side->pe_run) && a)
		side->pe_in_nr = row->prw_depth + SPARE;
	else if (is_bulk(side->pe_run))
		side->pe_out_nr = row->prw_depth + SPARE;
	side->pe_bulk_nr = is_bulk(side->pe_run) ? row->prw_depth : 0;
}

static enum m0_net_queue_type bulk_queue(const struct perf_side *side)
{
	bool put = side->pe_run->pn_row->prw_test == PERF_PUT;

	if (side_is_a(side))
		return put ? M0_NET_QT_ACTIVE_BULK_SEND
			   : M0_NET_QT_ACTIVE_BULK_RECV;
	return put ? M0_NET_QT_PASSIVE_BULK_RECV : M0_NET_QT_PASSIVE_BULK_SEND;
}

static int side_bulk_init(struct perf_side *side)
{
	uint32_t i;
	int      rc = 0;

	for (i = 0; i < side->pe_bulk_nr && rc == 0; ++i) {
		struct perf_bulk *bulk = &side->pe_bulk[i];

		rc = tool_buffer_init(&bulk->pb_nb, &side->pe_node.tn_dom,
				      side->pe_run->pn_row->prw_size);
		bulk->pb_nb.nb_qtype = bulk_queue(side);
		bulk->pb_nb.nb_callbacks = &perf_callbacks;
		bulk->pb_side = side;
		bulk_put(bulk);
	}
	return rc;
}

static int side_out_init(struct perf_side *side, m0_bcount_t size)
{
	uint32_t i;
	int      rc = 0;

	for (i = 0; i < side->pe_out_nr && rc == 0; ++i) {
		struct perf_out *out = &side->pe_out[i];

		rc = tool_buffer_init(&out->po_nb, &side->pe_node.tn_dom, size);
		out->po_nb.nb_qtype = M0_NET_QT_MSG_SEND;
		out->po_nb.nb_callbacks = &perf_callbacks;
		out->po_side = side;
		out->po_next = side->pe_out_free;
		side->pe_out_free = out;
	}
	return rc;
}

static int side_in_init(struct perf_side *side, m0_bcount_t size)
{
	uint32_t i;
	int      rc = 0;

	for (i = 0; i < side->pe_in_nr && rc == 0; ++i) {
		struct m0_net_buffer *nb = &side->pe_in[i];

		rc = tool_buffer_init(nb, &side->pe_node.tn_dom, size);
		if (rc != 0)
			break;
		nb->nb_qtype = M0_NET_QT_MSG_RECV;
		nb->nb_callbacks = &perf_callbacks;
		nb->nb_app_private = side;
		nb->nb_min_receive_size = size;
		nb->nb_max_receive_msgs = 1;
		rc = m0_net_buffer_add(nb, &side->pe_node.tn_tm);
	}
	return rc;
}

static int side_init(struct perf_side *side)
{
	struct m0_net_domain *dom = &side->pe_node.tn_dom;
	m0_bcount_t           size = max64u(
			  is_bulk(side->pe_run) ? 0 : side->pe_run->pn_row->prw_size,
		max64u(m0_net_domain_get_max_buffer_desc_size(dom),
		       TOKEN_BYTES));
	int rc;

	side_count(side);
	M0_ALLOC_ARR(side->pe_in, side->pe_in_nr);
	M0_ALLOC_ARR(side->pe_out, side->pe_out_nr);
	M0_ALLOC_ARR(side->pe_bulk, max64u(side->pe_bulk_nr, 1));
	M0_ALLOC_ARR(side->pe_descs, max64u(side->pe_bulk_nr, 1));
	if (side->pe_in == NULL || side->pe_out == NULL ||
	    side->pe_bulk == NULL || side->pe_descs == NULL)
		return -ENOMEM;
	rc = side_out_init(side, size);
	if (rc == 0)
		rc = side_bulk_init(side);
	if (rc == 0)
		rc = side_in_init(side, size);
	return rc;
}

int perf_test_init(struct perf_run *run)
{
	int i;
	int rc = 0;

	for (i = 0; i < PERF_SIDES_NR && rc == 0; ++i)
		rc = side_init(&run->pn_sides[i]);
	return rc;
}

/*
 * One message, of which all else is a consequence: B's in the rate test. Its
 * add is the last touch of the side, for callbacks may run at once.
 */
void perf_test_start(struct perf_run *run)
{
	struct perf_side *side =
		&run->pn_sides[run->pn_row->prw_test == PERF_RATE ? PERF_B
								  : PERF_A];
	struct perf_out *out;

	side_lock(side);
	side->pe_sent = m0_time_now();
	out = side->pe_out_free;
	side->pe_out_free = out->po_next;
	out->po_nb.nb_length = side_length(side);
	out->po_nb.nb_ep = side->pe_peer;
	side_add(side, &out->po_nb, "message");
	side_unlock(side);
}

static void side_fini(struct perf_side *side)
{
	uint32_t i;

	for (i = 0; side->pe_in != NULL && i < side->pe_in_nr; ++i)
		tool_buffer_fini(&side->pe_in[i]);
	for (i = 0; side->pe_out != NULL && i < side->pe_out_nr; ++i)
		tool_buffer_fini(&side->pe_out[i].po_nb);
	for (i = 0; side->pe_bulk != NULL && i < side->pe_bulk_nr; ++i)
		tool_buffer_fini(&side->pe_bulk[i].pb_nb);
	m0_free(side->pe_in);
	m0_free(side->pe_out);
	while (side->pe_descs_nr > 0)
		m0_net_desc_free(&side->pe_descs[--side->pe_descs_nr]);
	m0_free(side->pe_bulk);
	m0_free(side->pe_descs);
}

void perf_test_fini(struct perf_run *run)
{
	int i;

	for (i = 0; i < PERF_SIDES_NR; ++i)
		side_fini(&run->pn_sides[i]);
}

uint32_t perf_depth_default(enum perf_test test)
{
	return test == PERF_LATENCY ? 1 : test == PERF_RATE ? 64 : 8;
}

uint64_t perf_memory(enum perf_test test, uint64_t size, uint32_t depth)
{
	return test == PERF_LATENCY ? 4 * SPARE * size
				    : (WINDOWS * depth + SPARE) * 2 * size;
}
