/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Where a test runs: with real strands on real time, or in the simulator. A
 * case written with these calls runs in both, and asks neither.
 *
 * All calls are made by the test's own thread, outside of any strand.
 */
#ifndef M0_TESTS_LIB_ENV_H
#define M0_TESTS_LIB_ENV_H

#include "base/rand.h"
#include "m0/sim.h"

enum env_kind {
	ENV_THREADS,
	ENV_SIM
};

struct env {
	enum env_kind env_kind;
	uint64_t      env_seed;
	/** The test's own draws. */
	struct m0_rand env_rand;
	/** ENV_SIM alone: for functions that only a simulation has. */
	struct m0_sim env_sim;
	/** See env_on_turn. */
	void (*env_turn)(void *arg);
	void *env_turn_arg;
};

/** @param seed  $M0_SEED replaces it. */
void env_init(struct env *env, enum env_kind kind, uint64_t seed);
/** ENV_SIM with a configuration of its own. */
void env_init_sim_cfg(struct env *env, uint64_t seed,
		      const struct m0_sim_cfg *cfg);
/** In the simulator: fails if a strand, descriptor or timer is left. */
void env_fini(struct env *env);

bool      env_is_sim(const struct env *env);
m0_time_t env_now(const struct env *env);
/** A draw in [0, bound), bound > 0. */
uint64_t env_random(struct env *env, uint64_t bound);

/**
 * Has turn(arg) called by env_wait before each look at its condition, for what
 * the test's own thread has to do meanwhile: delivering the events of
 * synchronous and inline machines. NULL: nothing.
 */
void env_on_turn(struct env *env, void (*turn)(void *arg), void *arg);
/**
 * Waits until cond(arg). The condition may be looked at any number of times; it
 * synchronises itself with other threads.
 * @param limit_ns  how long it may take in virtual time; threads are given 30 s
 *                  at least, for a busy machine is no failure.
 * @return false  the limit came first. In the simulator M0_TIME_NEVER makes
 *                that a deadlock.
 */
bool env_wait(struct env *env, bool (*cond)(void *arg), void *arg,
	      m0_time_t limit_ns);
/** Waits until poll() finds `fd` readable; limit as above. */
bool env_wait_fd(struct env *env, int fd, m0_time_t limit_ns);
/**
 * Lets `ns` pass, turns included: to see that something does *not* happen. Real
 * time with threads, so keep it short.
 */
void env_run_ns(struct env *env, m0_time_t ns);
/** Simulator: a random number of turns. Threads: nothing. */
void env_yield(struct env *env);

/** Prints why and the seed, and fails the cmocka case. */
void env_fail(struct env *env, const char *fmt, ...) __attribute__((noreturn))
M0_PRINTF(2, 3);

/** Fails the cmocka case; aborts in a program without cmocka. */
void env_case_fail(void) __attribute__((noreturn));

#endif /* M0_TESTS_LIB_ENV_H */
