// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A module that measures, when it is loaded, how long messages take between two nodes
 * of this kernel.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "kern/kernel.h"

#define PACE_PRINT(...)  printk(KERN_ERR "colibri: kernel: " __VA_ARGS__)
#define PACE_CHECK(cond) WARN_ON(!(cond))

#include "pace.h"

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Pace of messages between two nodes of Colibri");

module_param_named(nr, pace_nr, uint, 0444);
module_param_named(spin_ns, pace_spin_ns, int, 0444);

static int __init pace_start(void)
{
	int rc = m0_kernel_enter();

	if (rc == 0) {
		rc = run();
		m0_kernel_leave();
	}
	return rc;
}

static void __exit pace_end(void)
{
}

module_init(pace_start);
module_exit(pace_end);
