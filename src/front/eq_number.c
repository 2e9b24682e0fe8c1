/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Numbers of event queues: below the front, a queue is its number. An MD has the
 * number of its queue plus 1; 0 is none.
 */
#include "front/front_internal.h"

void m0_front__eq_number_take(struct m0_lnet *lnet, struct m0_lnet_eq *eq)
{
	struct m0_front_slots *slots = &lnet->fro_eq_slots;
	struct m0_front_slot  *slot;
	struct m0_front_eq    *feq;

	do {
		slot = m0_front__slot_get(slots);
	} while (slot == NULL && !m0_front__slots_are_full(slots) &&
		 m0_front__grow(lnet, slots, M0_RING_EQS) == 0);
	if (slot == NULL)
		return;
	/* Another thread was faster while the lock was released. */
	if (eq->eq_number != 0) {
		m0_front__slot_put(slots, slot);
		return;
	}
	feq = container_of(slot, struct m0_front_eq, feq_slot);
	M0_ASSERT(eq->eq_lnet == lnet && eq->eq_users_nr == 0);
	feq->feq_eq = eq;
	feq->feq_barrier.rgp_waits = false;
	feq->feq_passed = NULL;
	*m0_front__eq_record(lnet, slot->fsl_index) = (struct m0_ring_eq){
		.req_max = eq->eq_max,
		.req_is_bounded = eq->eq_callback == NULL,
	};
	__atomic_store_n(&eq->eq_number, slot->fsl_index + 1, __ATOMIC_RELAXED);
}

int m0_front__eq_number_make(struct m0_lnet *lnet, struct m0_lnet_eq *eq)
{
	int rc = 0;

	m0_front__lock(lnet);
	if (eq->eq_number == 0)
		m0_front__eq_number_take(lnet, eq);
	if (eq->eq_number == 0)
		rc = m0_front__slots_are_full(&lnet->fro_eq_slots) ? -ENOSPC
								   : -ENOMEM;
	m0_mutex_unlock(&lnet->fro_lock);
	return rc;
}

void m0_front__eq_number_put(struct m0_lnet *lnet, struct m0_lnet_eq *eq)
{
	struct m0_front_eq *feq;

	if (eq->eq_number == 0)
		return;
	feq = m0_front__eq_at(lnet, eq->eq_number - 1);
	M0_ASSERT(feq->feq_eq == eq && eq->eq_users_nr == 0);
	m0_front__slot_put(&lnet->fro_eq_slots, &feq->feq_slot);
	eq->eq_number = 0;
}
