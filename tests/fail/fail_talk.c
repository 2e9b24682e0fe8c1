/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Operations between two TMs of the network layer. */
#include "fail/fail.h"
#include "fail/fail_ends.h"

enum {
	BYTES = 100000
};

/* -- buffers --------------------------------------------------------------- */

struct side {
	struct m0_net_buffer sid_nb;
	bool                 sid_over;
	int                  sid_status;
};

static void side_event(const struct m0_net_buffer_event *ev)
{
	struct side *side = container_of(ev->nbe_buffer, struct side, sid_nb);

	if (ev->nbe_status != 0)
		side->sid_status = ev->nbe_status;
	if ((ev->nbe_buffer->nb_flags & M0_NET_BUF_QUEUED) == 0)
		__atomic_store_n(&side->sid_over, true, __ATOMIC_RELEASE);
}

static const struct m0_net_buffer_callbacks side_callbacks = {
	.nbc_cb = {
		[M0_NET_QT_MSG_RECV] = side_event,
		[M0_NET_QT_MSG_SEND] = side_event,
		[M0_NET_QT_PASSIVE_BULK_RECV] = side_event,
		[M0_NET_QT_PASSIVE_BULK_SEND] = side_event,
		[M0_NET_QT_ACTIVE_BULK_RECV] = side_event,
		[M0_NET_QT_ACTIVE_BULK_SEND] = side_event,
	},
};

static void side_init(struct side *side, struct fail_end *end)
{
	M0_SET0(side);
	FAIL_TRY(m0_bufvec_alloc(&side->sid_nb.nb_buffer, 1, BYTES));
	FAIL_TRY(m0_net_buffer_register(&side->sid_nb, &end->fen_dom));
	side->sid_nb.nb_callbacks = &side_callbacks;
}

static void side_fini(struct side *side, struct fail_end *end)
{
	assert_int_equal(m0_net_buffer_deregister(&side->sid_nb, &end->fen_dom),
			 0);
	m0_bufvec_free(&side->sid_nb.nb_buffer);
}

static int side_add(struct side *side, struct fail_end *end,
		    enum m0_net_queue_type qtype)
{
	struct m0_net_buffer *nb = &side->sid_nb;

	side->sid_over = false;
	side->sid_status = 0;
	nb->nb_qtype = qtype;
	nb->nb_offset = 0;
	nb->nb_length = qtype == M0_NET_QT_MSG_SEND ? 100 : BYTES;
	nb->nb_min_receive_size = 100;
	nb->nb_max_receive_msgs = 1;
	nb->nb_timeout = m0_time_from_now(2, 0);
	return m0_net_buffer_add(nb, &end->fen_tm);
}

static bool side_is_over(void *arg)
{
	const struct side *side = arg;

	return __atomic_load_n(&side->sid_over, __ATOMIC_ACQUIRE);
}

struct pair {
	struct side     *pai_side;
	struct fail_end *pai_end;
};

static bool one_has_failed(const struct pair *pair, unsigned i)
{
	return side_is_over(&pair->pai_side[i]) &&
	       pair->pai_side[i].sid_status != 0;
}

/* Cancels a buffer that waits for a peer that has failed. */
static bool both_are_over(void *arg)
{
	const struct pair *pair = arg;
	unsigned           i;

	for (i = 0; i < 2; ++i)
		if (one_has_failed(pair, i) &&
		    !side_is_over(pair->pai_side + 1 - i))
			(void)m0_net_buffer_del(&pair->pai_side[1 - i].sid_nb,
						&pair->pai_end[1 - i].fen_tm);
	return side_is_over(&pair->pai_side[0]) &&
	       side_is_over(&pair->pai_side[1]);
}

/* @return the first failure, which must have its reason. */
static int both_end(struct fail_end end[2], struct side side[2])
{
	struct pair pair = { side, end };
	int         rc;

	FAIL_UNTIL(both_are_over, &pair);
	rc = side[0].sid_status != 0 ? side[0].sid_status : side[1].sid_status;
	if (rc != 0)
		fail_told(rc, "the event of a buffer");
	return rc;
}

static void message(struct fail_end end[2], struct side side[2])
{
	struct m0_net_end_point *ep;
	int                      rc;

	do {
		FAIL_TRY(side_add(&side[0], &end[0], M0_NET_QT_MSG_RECV));
		FAIL_TRY(m0_net_end_point_create(&ep, &end[1].fen_tm,
						 end[0].fen_addr));
		side[1].sid_nb.nb_ep = ep;
		FAIL_TRY(side_add(&side[1], &end[1], M0_NET_QT_MSG_SEND));
		rc = both_end(end, side);
		side[1].sid_nb.nb_ep = NULL;
		assert_int_equal(m0_net_end_point_put(ep), 0);
	} while (rc != 0);
}

/* By the descriptor that the passive side has made. */
static void bulk(struct fail_end end[2], struct side side[2],
		 enum m0_net_queue_type passive, enum m0_net_queue_type active)
{
	struct m0_net_end_point *ep;
	int                      rc;

	do {
		FAIL_TRY(m0_net_end_point_create(&ep, &end[0].fen_tm,
						 end[1].fen_addr));
		side[0].sid_nb.nb_ep = ep;
		FAIL_TRY(side_add(&side[0], &end[0], passive));
		FAIL_TRY(m0_net_desc_copy(&side[0].sid_nb.nb_desc,
					  &side[1].sid_nb.nb_desc));
		FAIL_TRY(side_add(&side[1], &end[1], active));
		rc = both_end(end, side);
		m0_net_desc_free(&side[0].sid_nb.nb_desc);
		m0_net_desc_free(&side[1].sid_nb.nb_desc);
		side[0].sid_nb.nb_ep = NULL;
		assert_int_equal(m0_net_end_point_put(ep), 0);
	} while (rc != 0);
}

/* One that nothing comes for. */
static void cancelled(struct fail_end *end, struct side *side)
{
	FAIL_TRY(side_add(side, end, M0_NET_QT_MSG_RECV));
	(void)m0_net_buffer_del(&side->sid_nb, &end->fen_tm);
	FAIL_UNTIL(side_is_over, side);
	if (side->sid_status != -ECANCELED)
		fail_told(side->sid_status, "a cancelled buffer");
}

void fail_ends_talk(const struct m0_net_xprt *xprt, enum fail_mode mode)
{
	struct fail_end end[2];
	struct side     side[2];
	unsigned        i;

	fail_ends_init(end, xprt, mode);
	for (i = 0; i < 2; ++i)
		side_init(&side[i], &end[i]);
	message(end, side);
	cancelled(&end[1], &side[1]);
	bulk(end, side, M0_NET_QT_PASSIVE_BULK_RECV,
	     M0_NET_QT_ACTIVE_BULK_SEND);
	bulk(end, side, M0_NET_QT_PASSIVE_BULK_SEND,
	     M0_NET_QT_ACTIVE_BULK_RECV);
	for (i = 0; i < 2; ++i)
		side_fini(&side[i], &end[i]);
	fail_ends_fini(end, xprt);
}
