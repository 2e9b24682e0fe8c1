/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of event queues: below the application's side, a queue is its number.
 */
#include "home/home_internal.h"

static struct m0_home_eq *eq_of_slot(struct m0_home_slot *slot)
{
	return container_of(slot, struct m0_home_eq, heq_slot);
}

struct m0_home_eq *m0_home__eq_at(const struct m0_lnet *lnet, uint32_t number)
{
	struct m0_home_eq *heq;

	/* For each incoming message. */
	M0_PRE_EX(number != 0);
	heq = eq_of_slot(m0_home__slot_at(&lnet->hm_eq_slots, number - 1));
	M0_ASSERT_EX(heq->heq_eq->eq_number == number);
	return heq;
}

uint32_t m0_home__eq_queued_nr(const struct m0_home_eq *heq)
{
	return __atomic_load_n(&heq->heq_eq->eq_accepted_nr, __ATOMIC_RELAXED) -
	       __atomic_load_n(&heq->heq_taken_nr, __ATOMIC_RELAXED);
}

struct m0_lnet_eq *m0_home__eq_of(const struct m0_lnet *lnet, uint32_t number)
{
	return number == 0 ? NULL : m0_home__eq_at(lnet, number)->heq_eq;
}

void m0_home__eq_number_take(struct m0_lnet *lnet, struct m0_lnet_eq *eq)
{
	struct m0_home_slots *slots = &lnet->hm_eq_slots;
	struct m0_home_slot  *slot;
	struct m0_home_eq    *heq;

	do {
		slot = m0_home__slot_get(slots);
	} while (slot == NULL && !m0_home__slots_are_full(slots) &&
		 m0_home__grow(lnet, slots) == 0);
	if (slot == NULL)
		return;
	/* Another thread was faster while the lock was released. */
	if (eq->eq_number != 0) {
		m0_home__slot_put(slots, slot);
		return;
	}
	heq = eq_of_slot(slot);
	heq->heq_eq = eq;
	heq->heq_taken_nr = 0;
	__atomic_store_n(&eq->eq_number, slot->hsl_index + 1, __ATOMIC_RELAXED);
}

int m0_home__eq_number_make(struct m0_lnet *lnet, struct m0_lnet_eq *eq)
{
	int rc = 0;

	m0_home__lock(lnet);
	if (eq->eq_number == 0)
		m0_home__eq_number_take(lnet, eq);
	if (eq->eq_number == 0)
		rc = m0_home__slots_are_full(&lnet->hm_eq_slots) ? -ENOSPC
								 : -ENOMEM;
	m0_mutex_unlock(&lnet->hm_lock);
	return rc;
}

void m0_home__eq_number_put(struct m0_lnet *lnet, struct m0_lnet_eq *eq)
{
	struct m0_home_eq *heq;

	if (eq->eq_number == 0)
		return;
	heq = m0_home__eq_at(lnet, eq->eq_number);
	M0_ASSERT(m0_home__eq_queued_nr(heq) == 0);
	m0_home__slot_put(&lnet->hm_eq_slots, &heq->heq_slot);
	eq->eq_number = 0;
}
