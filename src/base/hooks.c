/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/hooks.h"

static void trap(void)
{
	__builtin_trap();
}

static void no_log(void *arg, enum m0_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
}

static void *no_alloc(size_t size, unsigned shift)
{
	(void)size;
	(void)shift;
	return NULL;
}

static void no_free(void *data, size_t size, unsigned shift)
{
	(void)data;
	(void)size;
	(void)shift;
}

static const struct m0_alloc_ops no_memory = {
	.ao_alloc = no_alloc,
	.ao_free = no_free,
};

static const struct m0_base_hooks no_hooks = {
	.bh_abort = trap,
	.bh_log = no_log,
	.bh_alloc = &no_memory,
};

static const struct m0_base_hooks *base_hooks = &no_hooks;

void m0_base_hooks_set(const struct m0_base_hooks *hooks)
{
	base_hooks = hooks != NULL ? hooks : &no_hooks;
}

const struct m0_base_hooks *m0_base__hooks(void)
{
	return base_hooks;
}
