/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Taking what the front has posted.
 */
#include "node/node_internal.h"

/* May messages that leave overtake it? */
static bool is_overtaken(const struct m0_ring_entry *entry)
{
	return entry->rqe_opcode == M0_RING_QUEUE_ATTACH ||
	       entry->rqe_opcode == M0_RING_ENTRY_ATTACH;
}

/* A message that leaves, of an MD of its own. */
static bool is_alone(const struct m0_ring_entry *entry)
{
	return entry->rqe_opcode == M0_RING_BIND_PUT ||
	       entry->rqe_opcode == M0_RING_BIND_GET;
}

static void entry_do(struct m0_node *node, const struct m0_ring_entry *entry)
{
	M0_PRE(entry->rqe_opcode > M0_RING_NONE &&
	       entry->rqe_opcode < M0_RING_OPCODES_NR);
	node->nod_do[entry->rqe_opcode](node, entry);
}

void m0_node_take(struct m0_node *node)
{
	struct m0_ring_entry entry;
	uint32_t             end = m0_ring_put_nr(&node->nod_down);
	uint32_t             nr;

	M0_PRE(!node->nod_takes_first);
	M0_PRE_EX(m0_node__invariant(node));
	++node->nod_takes_nr;
	for (nr = node->nod_down.rie_taken_nr; nr != end; ++nr) {
		entry = *m0_ring_at(&node->nod_down, nr);
		entry_do(node, &entry);
	}
	m0_ring_take(&node->nod_down, end);
}

/* Does those of [from, end) that messages may overtake. */
static void overtaken_do(struct m0_node *node, uint32_t from, uint32_t end)
{
	for (; from != end; ++from) {
		struct m0_ring_entry entry = *m0_ring_at(&node->nod_down, from);

		if (is_overtaken(&entry))
			entry_do(node, &entry);
	}
}

/* Only messages overtake entries: anything else may be about one of them. */
void m0_node_take_first(struct m0_node *node)
{
	uint32_t end = m0_ring_put_nr(&node->nod_down);
	uint32_t nr;

	M0_PRE(!node->nod_takes_first);
	++node->nod_takes_nr;
	node->nod_takes_first = true;
	node->nod_rest_from = node->nod_down.rie_taken_nr;
	node->nod_rest_end = end;
	for (nr = node->nod_rest_from; nr != end; ++nr) {
		struct m0_ring_entry entry = *m0_ring_at(&node->nod_down, nr);

		if (is_overtaken(&entry))
			continue;
		if (!is_alone(&entry)) {
			overtaken_do(node, node->nod_rest_from, nr);
			node->nod_rest_from = nr + 1;
		}
		entry_do(node, &entry);
	}
}

void m0_node_take_rest(struct m0_node *node)
{
	M0_PRE(node->nod_takes_first);
	overtaken_do(node, node->nod_rest_from, node->nod_rest_end);
	m0_ring_take(&node->nod_down, node->nod_rest_end);
	node->nod_takes_first = false;
}

static bool host_is_behind(const struct m0_node *node)
{
	return node->nod_host->nho_is_behind != NULL &&
	       node->nod_host->nho_is_behind(node->nod_host_arg);
}

/*
 * Entries that were posted before a message arrived are in the queue, or were done:
 * all that is there is done before messages are looked at. The mark is the number of the
 * next taking; what is posted after it came later than the message.
 */
bool m0_node__is_behind(void *owner, uint64_t *mark)
{
	const struct m0_node *node = owner;

	if (*mark == 0 && (__atomic_load_n(&node->nod_ring->rng_down.rqu_bell,
					   __ATOMIC_SEQ_CST) ||
			   host_is_behind(node)))
		*mark = node->nod_takes_nr + 1;
	return *mark > node->nod_takes_nr;
}

/* The holder has to be asked after each taking: it is another process. */
bool m0_node__is_held(void *owner, uint32_t portal, uint64_t bits,
		      uint64_t *mark)
{
	const struct m0_node *node = owner;

	if (node->nod_host->nho_is_held == NULL ||
	    !node->nod_host->nho_is_held(node->nod_host_arg, portal, bits))
		return false;
	*mark = node->nod_takes_nr + 1;
	return true;
}
