// SPDX-License-Identifier: Apache-2.0 OR MIT
/*
 * A module that runs the conformance suite of transports when it is loaded, over what
 * colibri.ko exports. A check that fails ends the machine, as it ends the process of a
 * case in user space.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "kern/kernel.h"

#include "conformance/cf.h"
#include "conformance/cf_internal.h"

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Conformance suite of Colibri's transports");

static char *row = "kmem";
module_param(row, charp, 0444);
static char *mode = "async";
module_param(mode, charp, 0444);
/* Only cases whose name has this text. */
static char *only = "";
module_param(only, charp, 0444);
static uint workers = 1;
module_param(workers, uint, 0444);
static ulong seed = 1;
module_param(seed, ulong, 0444);

static const char *const mode_names[] = { "async", "sync", "inline" };

/* The program of the suite, whose main() is renamed. */
int suite_main(int argc, char **argv);

const char *cf__mode_name(enum cf_mode of)
{
	return mode_names[of];
}

static void case_run(const struct cf_case *c)
{
	cf.c_case = c->cc_name;
	cf__env_begin();
	cf_begin();
	c->cc_fn();
	cf_end();
	cf__env_end();
}

int cf_main(int argc, char **argv, const struct cf_suite *suites)
{
	const struct cf_suite *s;
	const struct cf_case  *c;
	unsigned               nr = 0;

	(void)argc;
	(void)argv;
	for (s = suites; s->cs_name != NULL; ++s)
		for (c = s->cs_cases; c->cc_name != NULL; ++c) {
			unsigned long begin = jiffies;

			if (strstr(c->cc_name, only) == NULL)
				continue;
			case_run(c);
			++nr;
			printk(KERN_INFO "colibri: ok %u - %s: %s: %u ms\n", nr,
			       s->cs_name, c->cc_name,
			       jiffies_to_msecs(jiffies - begin));
			cond_resched();
		}
	printk(KERN_ERR "colibri: %s, %s: %u passed, 0 failed\n", row, mode,
	       nr);
	return nr > 0 ? 0 : -ENOENT;
}

static int options_take(void)
{
	const struct cf_row *r = cf_rows;
	unsigned             m = 0;

	while (r->r_name != NULL && strcmp(r->r_name, row) != 0)
		++r;
	while (m < ARRAY_SIZE(mode_names) && strcmp(mode_names[m], mode) != 0)
		++m;
	if (r->r_name == NULL || m == ARRAY_SIZE(mode_names))
		return -EINVAL;
	cf.c_row = r;
	cf.c_mode = (enum cf_mode)m;
	cf.c_workers = workers;
	cf.c_seed = seed;
	return 0;
}

static int __init suite_start(void)
{
	int rc = options_take();

	if (rc == 0)
		rc = m0_kernel_enter();
	if (rc != 0)
		return rc;
	rc = suite_main(0, NULL);
	m0_kernel_leave();
	return rc;
}

static void __exit suite_end(void)
{
}

module_init(suite_start);
module_exit(suite_end);
