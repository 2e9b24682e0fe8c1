/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/io_hook.h"

static struct io_hook       *the_hook;
static struct m0_sock_io_ops the_ops;

bool io_hook_ready(const struct io_hook *hook)
{
	return hook->ih_under->sio_ready(hook->ih_io);
}

void io_hook_pass(const struct io_hook *hook)
{
	(void)hook->ih_under->sio_pass(hook->ih_io, hook->ih_now);
}

static bool hooked_pass(struct m0_sock_io *io, m0_time_t now)
{
	struct io_hook *hook = the_hook;

	hook->ih_now = now;
	if (__atomic_load_n(&hook->ih_armed, __ATOMIC_ACQUIRE))
		hook->ih_call(hook, io_hook_ready(hook));
	return hook->ih_under->sio_pass(io, now);
}

/* Of this node alone: those after it are as they would be. */
static int hooked_create(struct m0_sock_io          **ret,
			 const struct m0_sock_io_cfg *cfg)
{
	int rc = the_hook->ih_under->sio_create(ret, cfg);

	m0_sock_io_set(the_hook->ih_under);
	if (rc == 0) {
		the_hook->ih_io = *ret;
		(*ret)->si_ops = &the_ops;
	}
	return rc;
}

void io_hook_next(struct io_hook *hook)
{
	the_hook = hook;
	hook->ih_under = m0_sock_io_get();
	the_ops = *hook->ih_under;
	the_ops.sio_create = hooked_create;
	the_ops.sio_pass = hooked_pass;
	m0_sock_io_set(&the_ops);
}

void io_hook_arm(struct io_hook *hook, bool armed)
{
	__atomic_store_n(&hook->ih_armed, armed, __ATOMIC_RELEASE);
}
