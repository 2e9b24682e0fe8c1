/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Queues of this process for which neighbours have messages, and the MDs on them that it holds. An
 * MD is with one side at a time: one that is held was never put, or has come back, and goes to
 * the server when that asks for it. So each of them is used by one message at a time.
 */
#include "front/pump_direct.h"

/* ---------------------------------------------------------------- queues -- */

struct m0_pump_queue *m0_pump__queue_of(struct m0_pump *pump, uint32_t me,
					uint32_t gen)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	unsigned               i;

	for (i = 0; direct != NULL && i < M0_PUMP_QUEUES_MAX; ++i) {
		struct m0_pump_queue *queue = &direct->pdr_queues[i];

		if (queue->pqu_me_gen != 0 && queue->pqu_me == me &&
		    queue->pqu_me_gen == gen)
			return queue;
	}
	return NULL;
}

/* Can neighbours send to it? It is for all messages of one number. */
static bool me_may(const struct m0_ring_me *me)
{
	return me->rme_flags == M0_LNET_ME_QUEUE && me->rme_ignore_bits == 0 &&
	       m0_lnet_nid_is_any(&me->rme_id.lp_nid) &&
	       me->rme_id.lp_pid == M0_LNET_PID_ANY &&
	       me->rme_portal < M0_SHARED_TM_PORTALS_MAX &&
	       me->rme_match_bits << (64 - M0_SHARED_TMID_SHIFT) == 0;
}

static struct m0_pump_queue *queue_free(struct m0_pump_direct *direct)
{
	unsigned i;

	for (i = 0; i < M0_PUMP_QUEUES_MAX; ++i)
		if (direct->pdr_queues[i].pqu_me_gen == 0)
			return &direct->pdr_queues[i];
	return NULL;
}

void m0_pump__queue_begin(struct m0_pump *pump, uint32_t me, uint32_t gen)
{
	const struct m0_ring_me *record =
		m0_front__me_record(pump->pmp_lnet, me);
	struct m0_pump_direct *direct = pump->pmp_direct;
	struct m0_pump_queue  *queue;
	uint64_t               name;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	if (direct == NULL || !m0_pump__is_open(pump) || !me_may(record))
		return;
	queue = queue_free(direct);
	name = queue == NULL ? 0 : direct->pdr_ops->pne_name(pump->pmp_arg);
	if (name == 0)
		return;
	*queue = (struct m0_pump_queue){ .pqu_me_gen = gen,
					 .pqu_me = me,
					 .pqu_portal = record->rme_portal,
					 .pqu_bits = record->rme_match_bits,
					 .pqu_name = name,
					 .pqu_is_due = true };
	(void)m0_pump__hold_step(pump);
}

static void name_put(struct m0_pump *pump, struct m0_pump_queue *queue)
{
	M0_PRE(queue->pqu_is_due && queue->pqu_name != 0);
	m0_pump__req_set(pump, M0_SHARED_QUEUE_NAME, queue->pqu_me,
			 queue->pqu_me_gen);
	pump->pmp_req.srq_number = queue->pqu_name;
	queue->pqu_is_due = m0_pump__request_send(pump) != 0;
	/* The front's thread waits for room. It may sleep without, while
	 * another one is here. */
	pump->pmp_direct->pdr_is_posted |= queue->pqu_is_due;
}

/* ------------------------------------------------------------------- MDs -- */

/* The server reads it before it drops a message, or takes an entry of the last resort. */
static void held_show(const struct m0_pump *pump)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	struct m0_shared_line *line =
		&pump->pmp_side->shs_words->shw_client_holds;

	__atomic_store_n(&line->shl_held, direct->pdr_held_nr,
			 __ATOMIC_SEQ_CST);
}

static bool md_may(const struct m0_pump *pump, const struct m0_ring_md *md)
{
	const unsigned must = M0_LNET_MD_OP_PUT | M0_LNET_MD_IF_FITS;
	const unsigned may = must | M0_LNET_MD_MIN_ROOM |
			     M0_LNET_MD_ACK_DISABLE;

	return (md->rmd_options & must) == must &&
	       (md->rmd_options & ~may) == 0 && md->rmd_segs_nr > 0 &&
	       md->rmd_eq != 0 &&
	       !m0_front__eq_record(pump->pmp_lnet, md->rmd_eq - 1)
			->req_is_bounded;
}

/* Half of the MDs of a queue, and one of an odd number, are the server's. */
bool m0_pump__hold(struct m0_pump *pump, uint32_t nr, uint32_t gen)
{
	const struct m0_ring_md *record =
		m0_front__md_record(pump->pmp_lnet, nr);
	struct m0_pump_direct *direct = pump->pmp_direct;
	struct m0_pump_queue  *queue;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	queue = m0_pump__queue_of(pump, record->rmd_me, record->rmd_me_gen);
	if (queue == NULL || queue->pqu_ins_nr == 0 ||
	    queue->pqu_held_nr >= queue->pqu_there_nr ||
	    direct->pdr_gives_back || !md_may(pump, record))
		return false;
	M0_PRE_EX(pump->pmp_mds[nr].pmd_gen == 0);
	pump->pmp_mds[nr] = (struct m0_pump_md){
		.pmd_gen = gen,
		.pmd_eq = record->rmd_eq,
		.pmd_is_held = true,
		.pmd_left = record->rmd_threshold,
		.pmd_queue = (uint8_t)(queue - direct->pdr_queues + 1),
	};
	if (queue->pqu_last == 0)
		queue->pqu_first = nr + 1;
	else
		pump->pmp_mds[queue->pqu_last - 1].pmd_next = nr + 1;
	queue->pqu_last = nr + 1;
	++queue->pqu_held_nr;
	++direct->pdr_held_nr;
	M0_POST(queue->pqu_held_nr <= direct->pdr_held_nr);
	held_show(pump);
	return true;
}

void m0_pump__there(struct m0_pump *pump, uint32_t nr)
{
	const struct m0_ring_md *record =
		m0_front__md_record(pump->pmp_lnet, nr);
	struct m0_pump_queue *queue =
		m0_pump__queue_of(pump, record->rmd_me, record->rmd_me_gen);

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	if (queue == NULL)
		return;
	M0_PRE(!pump->pmp_mds[nr].pmd_is_held);
	pump->pmp_mds[nr].pmd_queue =
		(uint8_t)(queue - pump->pmp_direct->pdr_queues + 1);
	++queue->pqu_there_nr;
}

void m0_pump__left(struct m0_pump *pump, uint32_t nr)
{
	struct m0_pump_queue *queue =
		&pump->pmp_direct->pdr_queues[pump->pmp_mds[nr].pmd_queue - 1];

	M0_PRE(!pump->pmp_mds[nr].pmd_is_held && queue->pqu_there_nr > 0);
	pump->pmp_mds[nr].pmd_queue = 0;
	--queue->pqu_there_nr;
	/* A message may wait there, and was asked for before this was held. */
	if (queue->pqu_there_nr == 0 && queue->pqu_held_nr > 0)
		pump->pmp_direct->pdr_gives_back = true;
}

void m0_pump__held_remove(struct m0_pump *pump, uint32_t nr)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	struct m0_pump_md     *md = &pump->pmp_mds[nr];
	struct m0_pump_queue  *queue = &direct->pdr_queues[md->pmd_queue - 1];
	uint32_t              *at = &queue->pqu_first;
	uint32_t               before = 0;

	M0_PRE(md->pmd_is_held && queue->pqu_held_nr > 0);
	while (*at != nr + 1) {
		before = *at;
		at = &pump->pmp_mds[before - 1].pmd_next;
	}
	*at = md->pmd_next;
	if (queue->pqu_last == nr + 1)
		queue->pqu_last = before;
	md->pmd_next = 0;
	md->pmd_is_held = false;
	md->pmd_queue = 0;
	--queue->pqu_held_nr;
	--direct->pdr_held_nr;
	held_show(pump);
}

/* The application gives it up. @retval -EAGAIN  the queue to the front is full. */
int m0_pump__held_end(struct m0_pump *pump, uint32_t nr)
{
	uint32_t              gen = pump->pmp_mds[nr].pmd_gen;
	struct m0_ring_event *ev;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	if (!m0_ring_has_room(&pump->pmp_up))
		return -EAGAIN;
	m0_pump__held_remove(pump, nr);
	ev = &m0_front__md_record(pump->pmp_lnet, nr)->rmd_last;
	*ev = (struct m0_ring_event){ .rev_type = M0_LNET_EV_UNLINK,
				      .rev_unlinked = 1 };
	m0_pump__event_name(pump, ev, nr, gen, NULL);
	m0_pump__md_end(pump, nr);
	m0_pump__post(pump, M0_RING_EV_UNLINK, nr, gen, false);
	pump->pmp_direct->pdr_is_posted = true;
	return 0;
}

/* An ME ends, with its MDs. @retval -EAGAIN */
int m0_pump__queue_end(struct m0_pump *pump, uint32_t me, uint32_t gen)
{
	struct m0_pump_queue *queue = m0_pump__queue_of(pump, me, gen);
	unsigned              i;
	uint32_t              nr;

	if (queue == NULL)
		return 0;
	while (queue->pqu_first != 0)
		if (m0_pump__held_end(pump, queue->pqu_first - 1) != 0)
			return -EAGAIN;
	for (i = 0; i < pump->pmp_direct->pdr_ins_end; ++i) {
		struct m0_pump_in *in = &pump->pmp_direct->pdr_ins[i];

		if (in->pin_conn != NULL && in->pin_queue == queue)
			m0_pump__in_close(pump, in, false);
	}
	for (nr = 0; queue->pqu_there_nr > 0; ++nr) {
		M0_ASSERT(nr < pump->pmp_lnet->fro_mds.fss_nr);
		if (pump->pmp_mds[nr].pmd_queue ==
		    queue - pump->pmp_direct->pdr_queues + 1)
			m0_pump__left(pump, nr);
	}
	M0_SET0(queue);
	return 0;
}

/* ------------------------------------------------------------------ back -- */

/* Puts an MD that is held, without what messages have used of it. */
static int md_give(struct m0_pump *pump, struct m0_pump_queue *queue)
{
	uint32_t           nr = queue->pqu_first - 1;
	struct m0_pump_md *md = &pump->pmp_mds[nr];
	struct m0_ring_md *body = &pump->pmp_req.srq_md;
	int                rc = m0_pump__md_fill(pump, nr, md->pmd_gen);

	M0_PRE(queue->pqu_first != 0 && md->pmd_is_held);
	if (rc != 0)
		return rc;
	body->rmd_vec_offset += md->pmd_used;
	body->rmd_length -= md->pmd_used;
	body->rmd_threshold = md->pmd_left;
	m0_pump__req_set(pump, M0_SHARED_QUEUE_ATTACH, nr, md->pmd_gen);
	rc = m0_pump__request_send(pump);
	if (rc != 0 || !m0_pump__is_open(pump))
		return rc;
	m0_pump__held_remove(pump, nr);
	m0_pump__there(pump, nr);
	return 0;
}

static bool give_back(struct m0_pump *pump)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	unsigned               i;

	for (i = 0; i < M0_PUMP_QUEUES_MAX; ++i)
		while (direct->pdr_queues[i].pqu_first != 0 &&
		       m0_pump__is_open(pump))
			if (md_give(pump, &direct->pdr_queues[i]) != 0)
				return false;
	return true;
}

static uint32_t recalls_nr(const struct m0_pump *pump)
{
	return __atomic_load_n(&pump->pmp_side->shs_words->shw_state.shl_held,
			       __ATOMIC_SEQ_CST);
}

bool m0_pump__is_recalled(const struct m0_pump *pump)
{
	return recalls_nr(pump) != pump->pmp_direct->pdr_recalls_nr;
}

bool m0_pump__hold_step(struct m0_pump *pump)
{
	struct m0_pump_direct  *direct = pump->pmp_direct;
	struct m0_shared_words *words = pump->pmp_side->shs_words;
	uint32_t                asked_nr = recalls_nr(pump);
	unsigned                i;
	bool                    any = false;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	for (i = 0; i < M0_PUMP_QUEUES_MAX; ++i)
		if (direct->pdr_queues[i].pqu_is_due)
			name_put(pump, &direct->pdr_queues[i]);
	if (asked_nr != direct->pdr_recalls_nr)
		direct->pdr_gives_back = true;
	if (!direct->pdr_gives_back || !give_back(pump) ||
	    !m0_pump__is_open(pump))
		return false;
	direct->pdr_gives_back = false;
	any = asked_nr != direct->pdr_recalls_nr;
	direct->pdr_recalls_nr = asked_nr;
	/* Behind what was put. */
	__atomic_store_n(&words->shw_client_holds.shl_incoming, asked_nr,
			 __ATOMIC_SEQ_CST);
	return any;
}
