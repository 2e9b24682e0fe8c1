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
			lnet->hm_reactor->rtr_ops->rtro_rouse(lnet->hm_reactor);
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

void m0_home__post_unlock(struct m0_lnet *lnet, struct m0_home_op *op)
{
	op->op_next = NULL;
	*lnet->hm_inbox_tail = op;
	lnet->hm_inbox_tail = &op->op_next;
	if (op->op_kind != M0_HOME_OP_ENTRY)
		lnet->hm_inbox_mixed = true;
	m0_home__posted_unlock(lnet);
}

static void probes_begin(struct m0_lnet *lnet, struct m0_list *probes)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(probes)) != NULL) {
		m0_list_del(link);
		m0_lnet_engine_probe(lnet->hm_engine,
				     container_of(link, struct m0_lnet_probe,
						  pr_link));
	}
}

/*
 * Whoever calls has seen hm_posted: an empty inbox is not worth hm_lock. It may
 * be empty all the same: who pushes has looked before the step was his.
 */
static struct m0_home_op *inbox_take(struct m0_lnet *lnet, bool *mixed)
{
	struct m0_home_op *op;
	struct m0_list     probes;

	m0_list_init(&probes);
	m0_mutex_lock(&lnet->hm_lock);
	op = lnet->hm_inbox;
	*mixed = lnet->hm_inbox_mixed;
	lnet->hm_inbox_mixed = false;
	lnet->hm_inbox = NULL;
	lnet->hm_inbox_tail = &lnet->hm_inbox;
	m0_list_splice_tail(&probes, &lnet->hm_probes);
	/* Who sets it has hm_lock, too; who sees it late looks for nothing. */
	__atomic_store_n(&lnet->hm_posted, false, __ATOMIC_RELEASE);
	++lnet->hm_takes_nr;
	m0_mutex_unlock(&lnet->hm_lock);
	/* First: a close may be among the operations. */
	probes_begin(lnet, &probes);
	return op;
}

void m0_home__ops_do(struct m0_lnet *lnet, struct m0_home_op *op)
{
	struct m0_home_op *next;

	for (; op != NULL; op = next) {
		/* The memory of an operation may go with it. */
		next = op->op_next;
		op->op_do(lnet, op);
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
struct m0_home_op *m0_home__inbox_push(struct m0_lnet *lnet)
{
	bool                mixed;
	struct m0_home_op  *op = inbox_take(lnet, &mixed);
	struct m0_home_op  *next;
	struct m0_home_op  *entries = NULL;
	struct m0_home_op **tail = &entries;

	if (!mixed)
		return op;
	for (; op != NULL; op = next) {
		next = op->op_next;
		if (op->op_kind == M0_HOME_OP_ENTRY) {
			op->op_next = NULL;
			*tail = op;
			tail = &op->op_next;
			continue;
		}
		if (op->op_kind == M0_HOME_OP_ANY) {
			m0_home__ops_do(lnet, entries);
			entries = NULL;
			tail = &entries;
		}
		op->op_do(lnet, op);
	}
	return entries;
}

/*
 * What was pushed before a message came is in the inbox, or has been done: the
 * strand does all that it takes before it looks at messages. The mark is the
 * next taking, after which whatever is pushed came later.
 */
bool m0_home__is_behind(struct m0_lnet_engine *eng, uint64_t *mark)
{
	const struct m0_lnet *lnet = m0_lnet_engine_home(eng);

	if (*mark == 0 && M0_HOME_GET(lnet->hm_posted))
		*mark = lnet->hm_takes_nr + 1;
	return *mark > lnet->hm_takes_nr;
}
