/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lib/io_hook.h"

static struct io_hook       *the_hook;
static struct m0_host_ops    the_ops;
static struct m0_reactor_ops the_reactor_ops;

bool io_hook_ready(const struct io_hook *hook)
{
	struct m0_reactor *reactor = hook->ih_source.rts_reactor;

	return reactor->rtr_ops->rtro_ready(reactor);
}

/* Passes of the sources behind the hook. */
void io_hook_pass(const struct io_hook *hook)
{
	struct m0_reactor_source *src;

	for (src = hook->ih_source.rts_next; src != NULL; src = src->rts_next)
		(void)src->rts_ops->rtso_pass(src, hook->ih_now);
	hook->ih_source.rts_reactor->rtr_roused = false;
}

static bool hook_pass(struct m0_reactor_source *src, m0_time_t now)
{
	struct io_hook *hook = container_of(src, struct io_hook, ih_source);

	hook->ih_now = now;
	if (__atomic_load_n(&hook->ih_armed, __ATOMIC_ACQUIRE))
		hook->ih_call(hook, io_hook_ready(hook));
	return false;
}

static void hook_flush(struct m0_reactor_source *src)
{
	(void)src;
}

static bool hook_has_work(const struct m0_reactor_source *src)
{
	(void)src;
	return false;
}

static const struct m0_reactor_source_ops hook_ops = {
	.rtso_pass = hook_pass,
	.rtso_flush = hook_flush,
	.rtso_has_work = hook_has_work,
};

static void hooked_destroy(struct m0_reactor *reactor)
{
	m0_reactor_del(&the_hook->ih_source);
	the_hook->ih_reactor_ops->rtro_destroy(reactor);
}

/* Hooks this node alone: the nodes after it have the table below. */
static int hooked_create(struct m0_reactor **ret)
{
	int rc = the_hook->ih_under->hso_reactor_create(ret);

	m0_host_ops_set(the_hook->ih_under);
	if (rc == 0) {
		the_hook->ih_source.rts_ops = &hook_ops;
		m0_reactor_add(*ret, &the_hook->ih_source);
		the_hook->ih_reactor_ops = (*ret)->rtr_ops;
		the_reactor_ops = *(*ret)->rtr_ops;
		the_reactor_ops.rtro_destroy = hooked_destroy;
		(*ret)->rtr_ops = &the_reactor_ops;
	}
	return rc;
}

void io_hook_next(struct io_hook *hook)
{
	the_hook = hook;
	hook->ih_under = m0_host_ops_get();
	the_ops = *hook->ih_under;
	the_ops.hso_reactor_create = hooked_create;
	m0_host_ops_set(&the_ops);
}

void io_hook_arm(struct io_hook *hook, bool armed)
{
	__atomic_store_n(&hook->ih_armed, armed, __ATOMIC_RELEASE);
}
