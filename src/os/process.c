/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Environment, processors and standard error of the process. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hooks.h"
#include "os/os_internal.h"

#define SPIN_NS_DEFAULT (50 * M0_TIME_ONE_USEC)

void m0_os__yield(void)
{
	(void)sched_yield();
}

m0_time_t m0_os_spin_ns_default(void)
{
	const char *text = getenv("M0_SPIN_NS");
	char       *end;
	uint64_t    val;

	if (text != NULL && *text >= '0' && *text <= '9') {
		val = strtoull(text, &end, 10);
		if (*end == 0)
			return val;
	}
	/* With one processor, the awaited thread could not run meanwhile. */
	return m0_os_cpus_nr() == 1 ? 0 : SPIN_NS_DEFAULT;
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
