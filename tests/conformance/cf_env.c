/* SPDX-License-Identifier: Apache-2.0 */
/* The fixture's environment: real threads, or the simulator. */
#include <poll.h>
#include <sched.h>

#include "lib/env.h"

#include "cf.h"
#include "cf_internal.h"

static struct env env;

void cf__env_begin(void)
{
	env_init(&env, cf.c_sim ? ENV_SIM : ENV_THREADS, cf.c_seed);
}

void cf__env_end(void)
{
	env_fini(&env);
}

void cf__env_yield(void)
{
	if (cf.c_sim)
		env_yield(&env);
	else if (cf_rand(2) == 0)
		sched_yield();
}

void cf__env_report(void)
{
	if (env_is_sim(&env))
		m0_sim_report(&env.env_sim, "case failed");
}

bool cf_fd_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0;
}

void cf_fd_wait(int fd, const char *what)
{
	cf.c_waiting = what;
	if (!env_wait_fd(&env, fd, 20 * M0_TIME_ONE_SECOND))
		cf_fail(__FILE__, __LINE__,
			"descriptor is not readable, expected: %s", what);
	cf.c_waiting = NULL;
}
