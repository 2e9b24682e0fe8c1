/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A task searches from its hash on. It alone writes its slot while it owns it, and
 * slots are never freed, so no lock is needed. The search ends at a slot that was
 * never used; one that was given back is passed over, and is taken again by the next
 * thread that comes by.
 */
#include <linux/bug.h>
#include <linux/hash.h>
#include <linux/sched.h>

#include "kern/os/kern_tls.h"

struct kern_tls {
	struct m0_sync_tls knu_sync;
	struct m0_pass_tls knu_pass;
	struct m0_strand  *knu_strand;
	struct m0_thread  *knu_self;
	struct m0_thread   knu_foreign;
	const char        *knu_conjunct;
	void              *knu_net;
	uint64_t knu_rooms[KERN_ROOMS_NR][KERN_ROOM_BYTES / sizeof(uint64_t)];
};

struct kern_slot {
	/** NULL: never used; `gone`: given back. */
	struct task_struct *knw_owner;
	struct kern_tls     knw_tls;
};

static struct kern_slot slots[KERN_THREADS_MAX];

static struct task_struct *gone(void)
{
	return (struct task_struct *)(void *)slots;
}

static struct kern_slot *slot_nth(unsigned i)
{
	return &slots[(hash_ptr(current, KERN_THREADS_BITS) + i) %
		      KERN_THREADS_MAX];
}

static struct kern_slot *slot_find(void)
{
	unsigned i;

	for (i = 0; i < KERN_THREADS_MAX; ++i) {
		struct kern_slot   *slot = slot_nth(i);
		struct task_struct *owner =
			__atomic_load_n(&slot->knw_owner, __ATOMIC_RELAXED);

		if (owner == current)
			return slot;
		if (owner == NULL)
			break;
	}
	return NULL;
}

static bool slot_take(struct kern_slot *slot)
{
	struct task_struct *owner =
		__atomic_load_n(&slot->knw_owner, __ATOMIC_RELAXED);

	return (owner == NULL || owner == gone()) &&
	       __atomic_compare_exchange_n(&slot->knw_owner, &owner, current,
					   false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

int kern_enter(void)
{
	unsigned i;

	if (slot_find() != NULL)
		return -EBUSY;
	for (i = 0; i < KERN_THREADS_MAX; ++i) {
		struct kern_slot *slot = slot_nth(i);

		if (slot_take(slot)) {
			M0_SET0(&slot->knw_tls);
			return 0;
		}
	}
	return -EAGAIN;
}

void kern_enter_wait(void)
{
	int rc;

	while ((rc = kern_enter()) == -EAGAIN)
		schedule_timeout_uninterruptible(1);
	M0_ASSERT(rc == 0);
}

void kern_leave(void)
{
	struct kern_slot *slot = slot_find();

	BUG_ON(slot == NULL);
	M0_ASSERT(slot->knw_tls.knu_sync.sy_held_nr == 0);
	__atomic_store_n(&slot->knw_owner, gone(), __ATOMIC_RELEASE);
}

bool kern_is_inside(void)
{
	return slot_find() != NULL;
}

static struct kern_tls *tls(void)
{
	struct kern_slot *slot = slot_find();

	BUG_ON(slot == NULL);
	return &slot->knw_tls;
}

struct m0_sync_tls *m0_sync__here(void)
{
	return &tls()->knu_sync;
}

struct m0_pass_tls *m0_pass_tls(void)
{
	return &tls()->knu_pass;
}

/* Accessors of base/assert.c, os/strand.c and kern_thread.c (base/tls.h). */
const char       **last_conjunct(void);
struct m0_strand **strand_here(void);
struct m0_thread **self(void);
struct m0_thread  *foreign(void);

/* An assertion may fail because the thread has not entered: its message must not. */
const char **last_conjunct(void)
{
	static const char *of_foreign;
	struct kern_slot  *slot = slot_find();

	return slot == NULL ? &of_foreign : &slot->knw_tls.knu_conjunct;
}

struct m0_strand **strand_here(void)
{
	return &tls()->knu_strand;
}

struct m0_thread **self(void)
{
	return &tls()->knu_self;
}

struct m0_thread *foreign(void)
{
	return &tls()->knu_foreign;
}

void **kern_net_here(void)
{
	return &tls()->knu_net;
}

void *kern_room(enum kern_room room)
{
	return tls()->knu_rooms[room];
}
