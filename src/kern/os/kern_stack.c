/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How much of its stack a thread uses at most: what it has not used yet is filled with a
 * word at its beginning, and that word is looked for at its end.
 */
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "kern/os/kern_stack.h"

enum {
	/** Bytes below a frame that are left alone. */
	GAP_BYTES = 256
};

#define UNUSED_WORD 0x756e757365642e2eUL

static DEFINE_SPINLOCK(most_lock);
static struct kern_stack_most most;

/* The lowest word has the kernel's mark. */
static unsigned long *lowest(void)
{
	return end_of_stack(current) + 1;
}

noinline void kern_stack_begin(void)
{
	unsigned long *end =
		(unsigned long *)((unsigned long)__builtin_frame_address(0) -
				  GAP_BYTES);
	unsigned long *at;

	for (at = lowest(); at < end; ++at)
		WRITE_ONCE(*at, UNUSED_WORD);
}

void kern_stack_end(void)
{
	unsigned long *at = lowest();
	unsigned long  used;

	while (READ_ONCE(*at) == UNUSED_WORD)
		++at;
	used = (unsigned long)task_stack_page(current) + THREAD_SIZE -
	       (unsigned long)at;
	spin_lock(&most_lock);
	if (used > most.ksm_bytes) {
		most.ksm_bytes = used;
		strscpy(most.ksm_name, current->comm, sizeof most.ksm_name);
	}
	spin_unlock(&most_lock);
}

void kern_stack_get(struct kern_stack_most *ret)
{
	spin_lock(&most_lock);
	*ret = most;
	spin_unlock(&most_lock);
}
