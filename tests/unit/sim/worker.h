/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Fixture of the simulator's tests: a strand that counts, a child that
 * aborts. */
#ifndef M0_TESTS_UNIT_SIM_WORKER_H
#define M0_TESTS_UNIT_SIM_WORKER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "m0/sim.h"
#include "os/os.h"

/** A strand that counts its steps and does what its hook says. */
struct worker {
	struct m0_strand w_strand;
	/** Steps, and the time of the last; read atomically. */
	uint64_t  w_steps_nr;
	m0_time_t w_at;
	/** In a step: what no other step may find. */
	uint32_t w_in_step;
	uint32_t w_overlaps_nr;
	/** Result of so_ready. */
	uint32_t w_ready;
	/** Returns the next deadline; NULL: never. */
	m0_time_t (*w_hook)(struct worker *w, m0_time_t now);
	void *w_arg;
};

static inline m0_time_t worker_step(struct m0_strand *strand, m0_time_t now)
{
	struct worker *w = container_of(strand, struct worker, w_strand);
	m0_time_t      next = M0_TIME_NEVER;

	if (__atomic_exchange_n(&w->w_in_step, 1, __ATOMIC_SEQ_CST) != 0)
		__atomic_add_fetch(&w->w_overlaps_nr, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&w->w_at, now, __ATOMIC_SEQ_CST);
	if (w->w_hook != NULL)
		next = w->w_hook(w, now);
	__atomic_store_n(&w->w_in_step, 0, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&w->w_steps_nr, 1, __ATOMIC_SEQ_CST);
	return next;
}

static inline bool worker_ready(const struct m0_strand *strand)
{
	const struct worker *w;

	w = container_of(strand, const struct worker, w_strand);
	return __atomic_load_n(&w->w_ready, __ATOMIC_SEQ_CST) != 0;
}

static const struct m0_strand_ops worker_ops = {
	.so_step = worker_step,
};

static const struct m0_strand_ops worker_ready_ops M0_UNUSED = {
	.so_step = worker_step,
	.so_ready = worker_ready,
};

static inline void worker_init(struct worker *w, const char *name,
			       m0_time_t (*hook)(struct worker *w,
						 m0_time_t      now),
			       void *arg)
{
	memset(w, 0, sizeof *w);
	m0_strand_init(&w->w_strand, &worker_ops, name);
	w->w_hook = hook;
	w->w_arg = arg;
}

static inline void worker_start(struct worker *w, const char *name,
				m0_time_t (*hook)(struct worker *w,
						  m0_time_t      now),
				void *arg)
{
	worker_init(w, name, hook, arg);
	assert_int_equal(m0_strand_start(&w->w_strand, NULL), 0);
}

static inline void worker_stop(struct worker *w)
{
	m0_strand_stop(&w->w_strand);
	m0_strand_fini(&w->w_strand);
}

static inline uint64_t worker_steps(const struct worker *w)
{
	return __atomic_load_n(&w->w_steps_nr, __ATOMIC_SEQ_CST);
}

/**
 * Runs fn in a child; asserts that it aborts and that its last words, kept in
 * `ret_text`, have `want` in them.
 */
static inline void child_aborts(void (*fn)(void), const char *want,
				char *ret_text, size_t size)
{
	size_t  at = 0;
	ssize_t got;
	int     fds[2];
	int     status;
	pid_t   pid;

	assert_int_equal(pipe(fds), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* A failed case is a dead one. */
		(void)setenv("CMOCKA_TEST_ABORT", "1", 1);
		(void)dup2(fds[1], STDERR_FILENO);
		fn();
		_exit(0);
	}
	close(fds[1]);
	while (at + 1 < size &&
	       (got = read(fds[0], ret_text + at, size - at - 1)) > 0)
		at += (size_t)got;
	ret_text[at] = 0;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT ||
	    strstr(ret_text, want) == NULL)
		fail_msg("status %x, wanted \"%s\" in:\n%s", status, want,
			 ret_text);
}

#endif /* M0_TESTS_UNIT_SIM_WORKER_H */
