/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <poll.h>
#include <stdio.h>
#include <sched.h>
#include <stdarg.h>
#include <time.h>

#include "lib/env.h"
#include "m0/sim.h"

#define ENV_LIMIT_NS (30 * M0_TIME_ONE_SECOND)

enum {
	/** Turns that env_yield makes at most. */
	YIELD_MAX = 6,
	/** Looks without a pause, then pauses that double up to the longest. */
	LOOKS_NR = 200,
	PAUSE_NS = 20 * 1000,
	PAUSE_MAX = 1000 * 1000
};

static void env_init_any(struct env *env, enum env_kind kind, uint64_t seed)
{
	M0_SET0(env);
	env->env_kind = kind;
	env->env_seed = m0_sim_seed_get(seed);
	m0_rand_init(&env->env_rand, ~env->env_seed);
}

void env_init(struct env *env, enum env_kind kind, uint64_t seed)
{
	env_init_any(env, kind, seed);
	if (kind == ENV_SIM)
		m0_sim_init(&env->env_sim, env->env_seed);
}

void env_init_sim_cfg(struct env *env, uint64_t seed,
		      const struct m0_sim_cfg *cfg)
{
	env_init_any(env, ENV_SIM, seed);
	m0_sim_init_cfg(&env->env_sim, env->env_seed, cfg);
}

void env_fini(struct env *env)
{
	if (env_is_sim(env))
		m0_sim_fini(&env->env_sim);
}

bool env_is_sim(const struct env *env)
{
	return env->env_kind == ENV_SIM;
}

m0_time_t env_now(const struct env *env)
{
	return env_is_sim(env) ? m0_sim_now(&env->env_sim) : m0_time_now();
}

uint64_t env_random(struct env *env, uint64_t bound)
{
	return m0_rand_below(&env->env_rand, bound);
}

void env_on_turn(struct env *env, void (*turn)(void *arg), void *arg)
{
	env->env_turn = turn;
	env->env_turn_arg = arg;
}

/* A condition, together with the test's work while it waits. */
struct env_look {
	struct env *envl_env;
	bool (*envl_cond)(void *arg);
	void *envl_arg;
};

static bool env_look(void *arg)
{
	struct env_look *look = arg;
	struct env      *env = look->envl_env;

	if (env->env_turn != NULL)
		env->env_turn(env->env_turn_arg);
	return look->envl_cond(look->envl_arg);
}

/* Waits no longer than a millisecond at a time: the condition has no bell. */
static void threads_pause(unsigned looks_nr, uint64_t *pause_ns)
{
	struct timespec pause = { .tv_nsec = (long)*pause_ns };

	if (looks_nr < LOOKS_NR) {
		(void)sched_yield();
		return;
	}
	(void)nanosleep(&pause, NULL);
	*pause_ns = min64u(2 * *pause_ns, PAUSE_MAX);
}

static bool threads_wait(struct env_look *look, m0_time_t limit_ns)
{
	m0_time_t deadline = m0_time_add(m0_time_now(), limit_ns);
	uint64_t  pause_ns = PAUSE_NS;
	unsigned  nr;

	for (nr = 0; !env_look(look); ++nr) {
		if (m0_time_now() >= deadline)
			return false;
		threads_pause(nr, &pause_ns);
	}
	return true;
}

static bool wait_any(struct env *env, bool (*cond)(void *arg), void *arg,
		     m0_time_t limit_ns)
{
	struct env_look look = { .envl_env = env,
				 .envl_cond = cond,
				 .envl_arg = arg };

	return env_is_sim(env) ? m0_sim_run_until(&env->env_sim, env_look,
						  &look, limit_ns)
			       : threads_wait(&look, limit_ns);
}

/* A limit that a busy machine keeps. */
static m0_time_t limit_of(const struct env *env, m0_time_t limit_ns)
{
	return env_is_sim(env) ? limit_ns : max64u(limit_ns, ENV_LIMIT_NS);
}

bool env_wait(struct env *env, bool (*cond)(void *arg), void *arg,
	      m0_time_t limit_ns)
{
	return wait_any(env, cond, arg, limit_of(env, limit_ns));
}

static bool cond_fd(void *arg)
{
	struct pollfd pollfd = { .fd = *(int *)arg, .events = POLLIN };

	return poll(&pollfd, 1, 0) == 1;
}

bool env_wait_fd(struct env *env, int fd, m0_time_t limit_ns)
{
	return env_wait(env, cond_fd, &fd, limit_ns);
}

static bool cond_never(void *arg)
{
	(void)arg;
	return false;
}

void env_run_ns(struct env *env, m0_time_t ns)
{
	(void)wait_any(env, cond_never, NULL, ns);
}

void env_yield(struct env *env)
{
	if (env_is_sim(env))
		m0_sim_yield(&env->env_sim, YIELD_MAX);
}

void env_fail(struct env *env, const char *fmt, ...)
{
	char    why[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(why, sizeof why, fmt, args);
	va_end(args);
	if (env_is_sim(env))
		m0_sim_fail(&env->env_sim, "%s", why);
	fprintf(stderr, "%s\nM0_SEED=%" PRIu64 " to replay\n", why,
		env->env_seed);
	env_case_fail();
}
