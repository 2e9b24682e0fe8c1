/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inbox. Who pushes the first operation wakes the strand, and only if that
 * has gone to sleep: awake, it finds the inbox by itself (so_ready). An inline
 * node has nobody to be woken but who polls its descriptor, or sleeps in it.
 */
#include "home/home_internal.h"

void m0_home__lock(struct m0_lnet *lnet)
{
	m0_mutex_lock(&lnet->hm_lock);
}

bool m0_home__is_inside(const struct m0_lnet *lnet)
{
	return m0_strand_current() == &lnet->hm_strand;
}

void m0_home__wake(struct m0_lnet *lnet)
{
	if (M0_HOME_GET(lnet->hm_inline)) {
		if (M0_HOME_GET(lnet->hm_sleeps) ||
		    M0_HOME_GET(lnet->hm_has_fd))
			lnet->hm_node.hno_reactor->rtr_ops->rtro_rouse(
				lnet->hm_node.hno_reactor);
	} else if (m0_strand_sleeps(&lnet->hm_strand)) {
		m0_strand_wake(&lnet->hm_strand);
	}
}

/* Apart: there is most often something there already. */
static __attribute__((noinline)) void first_posted_unlock(struct m0_lnet *lnet)
{
	M0_HOME_SET(lnet->hm_posted, true);
	m0_mutex_unlock(&lnet->hm_lock);
	if (!m0_home__is_inside(lnet))
		m0_home__wake(lnet);
}

void m0_home__posted_unlock(struct m0_lnet *lnet)
{
	if (M0_HOME_GET(lnet->hm_posted))
		m0_mutex_unlock(&lnet->hm_lock);
	else
		first_posted_unlock(lnet);
}

static bool is_entry(enum m0_home_opcode opcode)
{
	return opcode == M0_HOME_OP_QUEUE_ATTACH ||
	       opcode == M0_HOME_OP_ENTRY_ATTACH;
}

/* A message that leaves, of an MD of its own. */
static bool is_alone(enum m0_home_opcode opcode)
{
	return opcode == M0_HOME_OP_BIND_PUT || opcode == M0_HOME_OP_BIND_GET;
}

void m0_home__post_unlock(struct m0_lnet *lnet, enum m0_home_opcode opcode,
			  uint32_t slot, struct m0_home_op *op)
{
	struct m0_home_entry *at = lnet->hm_down.hdq_tail;

	M0_PRE(opcode != M0_HOME_OP_NONE && opcode < M0_HOME_OPS_NR);
	M0_ASSERT(at->hen_opcode == M0_HOME_OP_NONE);
	op->op_next.hen_opcode = M0_HOME_OP_NONE;
	at->hen_opcode = opcode;
	at->hen_slot = slot;
	lnet->hm_down.hdq_tail = &op->op_next;
	if (!is_entry(opcode))
		lnet->hm_down.hdq_is_mixed = true;
	m0_home__posted_unlock(lnet);
}

void m0_home__call_unlock(struct m0_lnet *lnet, enum m0_home_opcode opcode,
			  struct m0_home_call *call)
{
	m0_list_link_init(&call->ca_link);
	m0_list_add_tail(&lnet->hm_down.hdq_calls, &call->ca_link);
	m0_home__post_unlock(lnet, opcode, 0, &call->ca_op);
}

static void probes_begin(struct m0_lnet *lnet, struct m0_list *probes)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(probes)) != NULL) {
		m0_list_del(link);
		m0_lnet_engine_probe(lnet->hm_node.hno_engine,
				     container_of(link, struct m0_lnet_probe,
						  pr_link));
	}
}

/*
 * Takes one entry or all. The caller has seen hm_posted, since an empty inbox
 * is not worth hm_lock. The inbox may still be empty: the poster may have
 * looked before the step was taken.
 */
static struct m0_home_entry inbox_take(struct m0_lnet *lnet, bool *mixed)
{
	struct m0_home_entry first;
	struct m0_list       probes;

	m0_list_init(&probes);
	m0_mutex_lock(&lnet->hm_lock);
	first = lnet->hm_down.hdq_first;
	*mixed = lnet->hm_down.hdq_is_mixed;
	lnet->hm_down.hdq_is_mixed = false;
	lnet->hm_down.hdq_first.hen_opcode = M0_HOME_OP_NONE;
	lnet->hm_down.hdq_tail = &lnet->hm_down.hdq_first;
	m0_list_splice_tail(&probes, &lnet->hm_probes);
	m0_list_splice_tail(&lnet->hm_node.hno_calls_taken,
			    &lnet->hm_down.hdq_calls);
	/* The flag is set under hm_lock, too; a thread that sees it late
	 * finds nothing. */
	__atomic_store_n(&lnet->hm_posted, false, __ATOMIC_RELEASE);
	++lnet->hm_node.hno_takes_nr;
	m0_mutex_unlock(&lnet->hm_lock);
	/* First: a close may be among the operations. */
	probes_begin(lnet, &probes);
	return first;
}

static struct m0_home_op *call_take(struct m0_lnet *lnet)
{
	struct m0_list_link *link =
		m0_list_first(&lnet->hm_node.hno_calls_taken);

	M0_ASSERT(link != NULL);
	m0_list_del(link);
	return &container_of(link, struct m0_home_call, ca_link)->ca_op;
}

static struct m0_home_me *me_at(const struct m0_lnet *lnet, uint32_t slot)
{
	return container_of(m0_home__slot_at(&lnet->hm_mes, slot),
			    struct m0_home_me, hme_slot);
}

static struct m0_home_md *md_at(const struct m0_lnet *lnet, uint32_t slot)
{
	return container_of(m0_home__slot_at(&lnet->hm_mds, slot),
			    struct m0_home_md, hmd_slot);
}

static struct m0_home_msg *msg_at(const struct m0_lnet *lnet, uint32_t slot)
{
	return container_of(m0_home__slot_at(&lnet->hm_msgs, slot),
			    struct m0_home_msg, hms_slot);
}

/* The place of an entry that is taken now. */
static struct m0_home_op *op_take(struct m0_lnet      *lnet,
				  struct m0_home_entry entry)
{
	switch ((enum m0_home_opcode)entry.hen_opcode) {
	case M0_HOME_OP_ME_ATTACH:
		return &me_at(lnet, entry.hen_slot)->hme_attach;
	case M0_HOME_OP_ME_UNLINK:
		return &me_at(lnet, entry.hen_slot)->hme_unlink;
	case M0_HOME_OP_MD_ATTACH:
	case M0_HOME_OP_QUEUE_ATTACH:
	case M0_HOME_OP_ENTRY_ATTACH:
		return &md_at(lnet, entry.hen_slot)->hmd_attach;
	case M0_HOME_OP_MD_UNLINK:
		return &md_at(lnet, entry.hen_slot)->hmd_unlink;
	case M0_HOME_OP_PUT:
	case M0_HOME_OP_GET:
	case M0_HOME_OP_BIND_PUT:
	case M0_HOME_OP_BIND_GET:
		return &msg_at(lnet, entry.hen_slot)->hms_op;
	case M0_HOME_OP_LAZY:
		return &lnet->hm_lazy[entry.hen_slot].hlz_op;
	case M0_HOME_OP_STATS_RESET:
		return &lnet->hm_reset;
	case M0_HOME_OP_CLOSE:
		return &lnet->hm_close;
	default:
		return call_take(lnet);
	}
}

void m0_home__ops_do(struct m0_lnet *lnet, struct m0_home_entry first)
{
	struct m0_home_entry entry = first;
	struct m0_home_op   *op;

	while (entry.hen_opcode != M0_HOME_OP_NONE) {
		m0_home_do_t op_do = lnet->hm_node.hno_do[entry.hen_opcode];

		op = op_take(lnet, entry);
		/* The memory of an operation may go with it. */
		entry = op->op_next;
		op_do(lnet, op);
	}
}

bool m0_home__inbox_do(struct m0_lnet *lnet)
{
	bool mixed;

	if (!M0_HOME_GET(lnet->hm_posted))
		return false;
	m0_home__ops_do(lnet, inbox_take(lnet, &mixed));
	return true;
}

/* Only messages overtake entries: anything else may be about one of them. */
struct m0_home_entry m0_home__inbox_push(struct m0_lnet *lnet)
{
	bool                  mixed;
	struct m0_home_entry  entry = inbox_take(lnet, &mixed);
	struct m0_home_entry  now;
	struct m0_home_entry  entries = { .hen_opcode = M0_HOME_OP_NONE };
	struct m0_home_entry *tail = &entries;
	struct m0_home_op    *op;

	if (!mixed)
		return entry;
	while (entry.hen_opcode != M0_HOME_OP_NONE) {
		now = entry;
		op = op_take(lnet, now);
		entry = op->op_next;
		if (is_entry(now.hen_opcode)) {
			*tail = now;
			tail = &op->op_next;
			tail->hen_opcode = M0_HOME_OP_NONE;
			continue;
		}
		if (!is_alone(now.hen_opcode)) {
			m0_home__ops_do(lnet, entries);
			entries.hen_opcode = M0_HOME_OP_NONE;
			tail = &entries;
		}
		lnet->hm_node.hno_do[now.hen_opcode](lnet, op);
	}
	return entries;
}

/*
 * Entries that were posted before a message arrived are in the inbox, or were
 * executed: the strand executes all that it takes before it looks at messages.
 * The mark is the number of the next taking; entries that are posted after it
 * came later than the message.
 */
bool m0_home__is_behind(struct m0_lnet_engine *eng, uint64_t *mark)
{
	const struct m0_lnet *lnet = m0_lnet_engine_home(eng);

	if (*mark == 0 && M0_HOME_GET(lnet->hm_posted))
		*mark = lnet->hm_node.hno_takes_nr + 1;
	return *mark > lnet->hm_node.hno_takes_nr;
}
