/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Messages of neighbours. What a neighbour has put before an event of the server was put is
 * taken after that event: its earlier messages may have gone by the server.
 *
 * Each field of a neighbour is checked, and its connection ends if one is wrong. A message
 * for which there is no MD after a while ends the connection, too: the neighbour sends what
 * was not taken to the server, which knows what else there is.
 */
#include "front/pump_direct.h"
#include "m0/log.h"

enum {
	/** Outcomes for a message. */
	TAKEN = 1,
	LATER = 0
};

/* ----------------------------------------------------------- connections -- */

void m0_pump__in_close(struct m0_pump *pump, struct m0_pump_in *in, bool reset)
{
	struct m0_pump_direct *direct = pump->pmp_direct;

	M0_PRE(in->pin_conn != NULL && in->pin_queue->pqu_ins_nr > 0);
	if (in->pin_conn->pnc_is_open)
		m0_pipe_release(&in->pin_conn->pnc_pipe);
	direct->pdr_ops->pne_close(pump->pmp_arg, in->pin_conn, reset);
	if (--in->pin_queue->pqu_ins_nr == 0 && in->pin_queue->pqu_held_nr > 0)
		direct->pdr_gives_back = true;
	M0_SET0(in);
}

static struct m0_pump_queue *queue_find(struct m0_pump_direct      *direct,
					const struct m0_pump_hello *hello)
{
	unsigned i;

	for (i = 0; i < M0_PUMP_QUEUES_MAX; ++i) {
		struct m0_pump_queue *queue = &direct->pdr_queues[i];

		if (queue->pqu_me_gen != 0 &&
		    queue->pqu_portal == hello->phl_portal &&
		    queue->pqu_bits == hello->phl_bits)
			return queue;
	}
	return NULL;
}

static struct m0_pump_in *in_free(struct m0_pump_direct *direct)
{
	unsigned i = 0;

	while (i < direct->pdr_ins_end && direct->pdr_ins[i].pin_conn != NULL)
		++i;
	if (i == M0_PUMP_INS_MAX)
		return NULL;
	direct->pdr_ins_end = max_check(direct->pdr_ins_end, i + 1);
	return &direct->pdr_ins[i];
}

/* A connection is opened when there is an MD. */
static void accept_all(struct m0_pump *pump)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	struct m0_pump_hello   hello;
	struct m0_pump_conn   *conn;

	while ((conn = direct->pdr_ops->pne_accept(pump->pmp_arg, &hello)) !=
	       NULL) {
		struct m0_pump_queue *queue = queue_find(direct, &hello);
		struct m0_pump_in *in = queue == NULL ? NULL : in_free(direct);

		if (in == NULL) {
			direct->pdr_ops->pne_close(pump->pmp_arg, conn, false);
			continue;
		}
		*in = (struct m0_pump_in){ .pin_conn = conn,
					   .pin_queue = queue };
		++queue->pqu_ins_nr;
	}
}

void m0_pump__ins_step(struct m0_pump *pump)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	unsigned               i;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	accept_all(pump);
	for (i = 0; i < direct->pdr_ins_end; ++i) {
		struct m0_pump_in *in = &direct->pdr_ins[i];

		if (in->pin_conn != NULL && in->pin_conn->pnc_is_dead &&
		    !in->pin_conn->pnc_is_open)
			m0_pump__in_close(pump, in, false);
	}
}

static void broken(struct m0_pump *pump, struct m0_pump_in *in,
		   const char *what)
{
	char text[M0_PIPE_WHY_BYTES];

	m0_log(M0_LOG_WARN,
	       "a process of this host that sends to portal %u breaks the "
	       "rules, and is disconnected: %s",
	       in->pin_queue->pqu_portal,
	       what != NULL ? what
			    : m0_pipe_why(&in->pin_conn->pnc_pipe, text));
	m0_pump__in_close(pump, in, true);
}

void m0_pump__ins_look(struct m0_pump *pump)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	unsigned               i;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	for (i = 0; i < direct->pdr_ins_end; ++i) {
		struct m0_pump_in *in = &direct->pdr_ins[i];
		bool               dead;
		int                next;

		if (!m0_pump__in_is_open(in))
			continue;
		in->pin_bytes = 0;
		/* Before the look: what it has put before its end is found. */
		dead = in->pin_conn->pnc_is_dead;
		next = m0_pipe_next(&in->pin_conn->pnc_pipe, &in->pin_bytes);
		/* One for a later position would be news without end. */
		if (next >= 0 &&
		    in->pin_conn->pnc_pipe.pip_in_offers_put != 0) {
			broken(pump, in, "an offer, where there is none");
			continue;
		}
		if (next == M0_PIPE_BYTES)
			continue;
		in->pin_bytes = 0;
		if (next == -EPROTO)
			broken(pump, in, NULL);
		else
			in->pin_is_ended = next != M0_PIPE_NOTHING || dead;
	}
	/* After the looks: a neighbour puts a message behind the events of those that the
	 * server has sent for it. */
	direct->pdr_up_nr =
		__atomic_load_n(&pump->pmp_side->shs_words->shw_up_put.shl_word,
				__ATOMIC_SEQ_CST);
}

/* -------------------------------------------------------------- messages -- */

/* NULL, or what is wrong. */
static const char *head_flaw(const struct m0_pump    *pump,
			     const struct m0_pump_in *in)
{
	const struct m0_pump_head *head = &in->pin_head;

	/* One without bytes would look taken when its head is. */
	if (head->phd_bytes == 0 ||
	    head->phd_bytes > M0_PUMP_DIRECT_BYTES_MAX ||
	    head->phd_reserved != 0)
		return "the length of a message";
	if (head->phd_bytes > in->pin_bytes)
		return "a message of which only a part was shown";
	/* The NIDs of the one are those of the other, if no change is on its way; mostly they
	 * have one in both places. */
	if (!m0_pump__nid_is_ours(pump, &head->phd_target.lp_nid) ||
	    (!m0_lnet_nid_eq(&head->phd_source.lp_nid,
			     &head->phd_target.lp_nid) &&
	     !m0_pump__nid_is_ours(pump, &head->phd_source.lp_nid)) ||
	    head->phd_source.lp_pid != M0_LNET_PID_LUSTRE ||
	    head->phd_target.lp_pid != M0_LNET_PID_LUSTRE)
		return "a process that is none of this node";
	return NULL;
}

/* The first MD in which the message fits, plus 1; 0: there is none. */
static uint32_t md_find(const struct m0_pump *pump, const struct m0_pump_in *in)
{
	uint32_t at = in->pin_queue->pqu_first;

	while (at != 0) {
		const struct m0_pump_md *md = &pump->pmp_mds[at - 1];
		const struct m0_ring_md *record =
			m0_front__md_record(pump->pmp_lnet, at - 1);

		if (record->rmd_length - md->pmd_used >= in->pin_head.phd_bytes)
			break;
		at = md->pmd_next;
	}
	return at;
}

/* The MD has the message. @return true: it takes no other. */
static bool md_use(struct m0_pump *pump, uint32_t nr, uint32_t bytes)
{
	struct m0_pump_md       *md = &pump->pmp_mds[nr];
	const struct m0_ring_md *record =
		m0_front__md_record(pump->pmp_lnet, nr);

	M0_PRE(md->pmd_is_held);
	md->pmd_used += bytes;
	if (md->pmd_left > 0)
		--md->pmd_left;
	return md->pmd_left == 0 ||
	       ((record->rmd_options & M0_LNET_MD_MIN_ROOM) != 0 &&
		md->pmd_used + record->rmd_max_size > record->rmd_length);
}

static void event_fill(const struct m0_pump_in *in, uint64_t offset,
		       struct m0_ring_event *ev)
{
	const struct m0_pump_head *head = &in->pin_head;

	*ev = (struct m0_ring_event){
		.rev_type = M0_LNET_EV_PUT,
		.rev_target = head->phd_target,
		.rev_initiator = head->phd_source,
		.rev_source = head->phd_source,
		.rev_sender = m0_lnet_nid_lo,
		.rev_portal = in->pin_queue->pqu_portal,
		.rev_match_bits = in->pin_queue->pqu_bits,
		.rev_hdr_data = head->phd_hdr_data,
		.rev_rlength = head->phd_bytes,
		.rev_mlength = head->phd_bytes,
		.rev_offset = offset,
	};
}

static void place(struct m0_pump *pump, struct m0_pump_in *in, uint32_t md,
		  struct m0_ring_incoming *record, uint32_t nr)
{
	struct m0_ring_event *ev = &record->rin_event;
	uint32_t              bytes = in->pin_head.phd_bytes;
	uint64_t              offset = pump->pmp_mds[md].pmd_used;
	uint32_t              gen = pump->pmp_mds[md].pmd_gen;

	M0_PRE(in->pin_has_head && bytes <= in->pin_bytes);
	m0_pump__md_copy(pump, &in->pin_conn->pnc_pipe, md, offset, bytes,
			 false);
	in->pin_bytes -= bytes;
	in->pin_has_head = false;
	in->pin_waits_since = 0;
	event_fill(in, offset, ev);
	m0_pump__event_name(pump, ev, md, gen, NULL);
	if (md_use(pump, md, bytes)) {
		ev->rev_unlinked = 1;
		m0_pump__held_remove(pump, md);
		m0_pump__md_end(pump, md);
	}
	m0_pump__post(pump, M0_RING_EV_INCOMING, nr, 0, false);
	++pump->pmp_direct->pdr_taken_nr;
}

/* @return TAKEN, LATER, or a negative errno: the connection is closed. */
static int starve(struct m0_pump *pump, struct m0_pump_in *in)
{
	m0_time_t now = m0_time_now();

	M0_PRE(in->pin_has_head);
	if (in->pin_waits_since == 0)
		in->pin_waits_since = now;
	if (now <
	    m0_time_add(in->pin_waits_since, pump->pmp_direct->pdr_patience))
		return LATER;
	m0_pump__in_close(pump, in, false);
	return -ENOBUFS;
}

static int head_take(struct m0_pump *pump, struct m0_pump_in *in)
{
	const char *flaw = "a message without its head";

	if (in->pin_bytes >= sizeof in->pin_head) {
		m0_pipe_get(&in->pin_conn->pnc_pipe, &in->pin_head,
			    sizeof in->pin_head);
		in->pin_bytes -= sizeof in->pin_head;
		in->pin_has_head = true;
		flaw = head_flaw(pump, in);
	}
	if (flaw == NULL)
		return TAKEN;
	broken(pump, in, flaw);
	return -EPROTO;
}

static int msg_take(struct m0_pump *pump, struct m0_pump_in *in)
{
	struct m0_ring_incoming *record;
	uint32_t                 md;
	uint32_t                 nr;

	if (!in->pin_has_head) {
		int rc = head_take(pump, in);

		if (rc != TAKEN)
			return rc;
	}
	md = md_find(pump, in);
	if (md == 0)
		return starve(pump, in);
	if (!m0_ring_has_room(&pump->pmp_up))
		return LATER;
	record = m0_pump__incoming_get(pump, &nr);
	if (record == NULL)
		return LATER;
	place(pump, in, md - 1, record, nr);
	return TAKEN;
}

/* The neighbour ends what was taken whole. */
static void in_show(struct m0_pump *pump, struct m0_pump_in *in)
{
	m0_pump__counts_show(pump);
	m0_pipe_release(&in->pin_conn->pnc_pipe);
	if (m0_pipe_bell(&in->pin_conn->pnc_pipe))
		pump->pmp_direct->pdr_ops->pne_ring(pump->pmp_arg,
						    in->pin_conn);
}

/* @return true if any */
static bool in_take(struct m0_pump *pump, struct m0_pump_in *in)
{
	uint64_t taken = in->pin_conn->pnc_pipe.pip_taken;
	bool     any = false;
	int      rc = LATER;

	while ((in->pin_has_head || in->pin_bytes > 0) &&
	       (rc = msg_take(pump, in)) == TAKEN)
		any = true;
	if (rc < 0)
		return true;
	if (any) {
		M0_ASSERT(taken != in->pin_conn->pnc_pipe.pip_taken);
		in_show(pump, in);
	}
	if (in->pin_is_ended && !in->pin_has_head)
		m0_pump__in_close(pump, in, false);
	return any;
}

bool m0_pump__ins_take(struct m0_pump *pump)
{
	struct m0_pump_direct *direct = pump->pmp_direct;
	unsigned               i;
	bool                   any = false;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	if ((int32_t)(pump->pmp_side->shs_in.shi_taken_nr - direct->pdr_up_nr) <
	    0)
		return false;
	for (i = 0; i < direct->pdr_ins_end; ++i) {
		struct m0_pump_in *in = &direct->pdr_ins[i];

		if (m0_pump__in_is_open(in))
			any |= in_take(pump, in);
		else if (in->pin_conn != NULL &&
			 in->pin_queue->pqu_held_nr > 0 &&
			 direct->pdr_ops->pne_welcome(pump->pmp_arg,
						      in->pin_conn) != 0)
			m0_pump__in_close(pump, in, false);
	}
	return any;
}
