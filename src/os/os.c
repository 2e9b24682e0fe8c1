/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hooks.h"
#include "os/os_internal.h"

/* About as long as what does not block takes on another processor. */
enum {
	ZERO_SPINS_NR = 1000
};

static void os_yield(void)
{
	(void)sched_yield();
}

const struct m0_os_ops m0_os_real = {
	.oo_now = m0_os__now,
	.oo_wall = m0_os__wall,
	.oo_strand_start = m0_os__strand_start,
	.oo_strand_confine = m0_os__strand_confine,
	.oo_strand_wake = m0_os__strand_wake,
	.oo_strand_stop = m0_os__strand_stop,
	.oo_strand_sleeps = m0_os__strand_sleeps,
	.oo_wait = m0_os__wait,
	.oo_post = m0_os__post,
	.oo_sleep = m0_os__sleep,
	.oo_fd_open = m0_os__fd_open,
	.oo_fd_close = m0_os__fd_close,
	.oo_fd_arm = m0_os__fd_arm,
	.oo_random = m0_os__random,
	.oo_yield = os_yield,
};

static const struct m0_os_ops *os_ops = &m0_os_real;
static uint32_t                os_epoch;

void m0_os_set(const struct m0_os_ops *ops)
{
	os_ops = ops != NULL ? ops : &m0_os_real;
	++os_epoch;
}

uint32_t m0_os_epoch(void)
{
	return os_epoch;
}

const struct m0_os_ops *m0_os_get(void)
{
	return os_ops;
}

unsigned m0_os_cpus_nr(void)
{
	static unsigned known;
	unsigned        nr = __atomic_load_n(&known, __ATOMIC_RELAXED);
	cpu_set_t       set;

	if (nr == 0) {
		nr = sched_getaffinity(0, sizeof set, &set) == 0
			     ? (unsigned)max64(CPU_COUNT(&set), 1)
			     : 1;
		__atomic_store_n(&known, nr, __ATOMIC_RELAXED);
	}
	return nr;
}

void m0_os_yield(void)
{
	os_ops->oo_yield();
}

void m0_os_zero_wait(const uint32_t *nr)
{
	unsigned i;

	for (i = 0; __atomic_load_n(nr, __ATOMIC_SEQ_CST) != 0; ++i)
		if (i < ZERO_SPINS_NR)
			m0_os__pause();
		else
			m0_os_yield();
}

bool m0_os_cpus_valid(const struct m0_bitmap *cpus)
{
	/* Do not ask for the caller's own set: the caller may be confined. */
	long nr = sysconf(_SC_NPROCESSORS_CONF);

	return nr < 0 ||
	       m0_bitmap_next(cpus, 0) < min64u((uint64_t)nr, cpus->b_nr);
}

const char *m0_os_env(const char *name)
{
	return getenv(name);
}

/*
 * Write each line with one system call, so that lines of several threads do not
 * mix.
 */
static void log_to_stderr(void *arg, enum m0_log_level level, const char *text)
{
	(void)arg;
	(void)dprintf(STDERR_FILENO, "colibri: %s: %s\n",
		      m0_log_level_name(level), text);
}

static const struct m0_base_hooks os_hooks = {
	.bh_abort = abort,
	.bh_log = log_to_stderr,
	.bh_alloc = &m0_os__alloc_ops,
};

void m0_os__hooks_install(void)
{
	m0_base_hooks_set(&os_hooks);
}

/* Run first: constructors of the application may use the library. */
__attribute__((__constructor__(101))) static void os_start(void)
{
	m0_os__hooks_install();
}
