// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * Faults on purpose, each of which a kernel with checks must report (tests/vm/judge.py).
 * The module is never loaded: it makes its fault and goes.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Faults on purpose");

static char *what = "";
module_param(what, charp, 0444);

enum {
	BYTES = 128,
	LEAKS_NR = 16
};

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(spin);

static void both(struct mutex *outer, struct mutex *inner)
{
	mutex_lock(outer);
	mutex_lock(inner);
	mutex_unlock(inner);
	mutex_unlock(outer);
}

static void lockdep(void)
{
	both(&first, &second);
	both(&second, &first);
}

static void sleeping(void)
{
	spin_lock(&spin);
	might_sleep();
	spin_unlock(&spin);
}

/* A pointer to the last of them may lie about, on a stack. */
static void leak(void)
{
	int i;

	for (i = 0; i < LEAKS_NR; ++i) {
		char *lost = kzalloc(BYTES, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(lost);
	}
}

static void use_after_free(void)
{
	char *gone = kzalloc(BYTES, GFP_KERNEL);

	kfree(gone);
	WRITE_ONCE(gone[BYTES / 2], 1);
}

static int __init fault_start(void)
{
	if (strcmp(what, "lockdep") == 0)
		lockdep();
	else if (strcmp(what, "sleeping") == 0)
		sleeping();
	else if (strcmp(what, "leak") == 0)
		leak();
	else if (strcmp(what, "KASAN") == 0)
		use_after_free();
	else
		WARN_ON(strcmp(what, "WARNING") == 0);
	return -ECANCELED;
}

static void __exit fault_end(void)
{
}

module_init(fault_start);
module_exit(fault_end);
