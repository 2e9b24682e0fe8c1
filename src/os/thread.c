/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/tls.h"
#include "os/os_internal.h"

/* Length of a name that the kernel shows. */
enum {
	KERNEL_NAME_BYTES = 16
};

M0_TLS_STATIC(struct m0_thread *, self);
/* State of a thread that the library did not start. */
M0_TLS_STATIC(struct m0_thread, foreign);

static void thread_name_set(const struct m0_thread *thread)
{
	char name[KERNEL_NAME_BYTES];

	(void)snprintf(name, sizeof name, "%.15s", thread->t_name);
	(void)pthread_setname_np(pthread_self(), name);
}

/* From here on a thread whose t_init failed may be gone. */
static void thread_ready(struct m0_thread *thread)
{
	__atomic_store_n(&thread->t_ready, 1, __ATOMIC_RELEASE);
	m0_os__futex_wake(&thread->t_ready, 1);
}

/*
 * This is not a semaphore, because the parent waits for a real thread under any
 * table.
 */
static void thread_ready_wait(struct m0_thread *thread)
{
	while (__atomic_load_n(&thread->t_ready, __ATOMIC_ACQUIRE) == 0)
		(void)m0_os__futex_wait(&thread->t_ready, 0, M0_TIME_NEVER);
}

static void *thread_main(void *arg)
{
	struct m0_thread *thread = arg;
	int               rc = 0;

	*self() = thread;
	thread->t_tid = (int)syscall(SYS_gettid);
	thread_name_set(thread);
	if (thread->t_init != NULL)
		rc = thread->t_init(thread->t_arg);
	thread->t_init_rc = rc;
	thread_ready(thread);
	if (rc == 0)
		thread->t_func(thread->t_arg);
	return NULL;
}

int m0_thread_init(struct m0_thread *thread, m0_thread_any_t init,
		   m0_thread_any_t func, void *arg, const char *name, ...)
{
	pthread_t handle;
	va_list   args;
	int       rc;

	M0_PRE(func != NULL);
	M0_SET0(thread);
	thread->t_init = (int (*)(void *))init;
	thread->t_func = (void (*)(void *))func;
	thread->t_arg = arg;
	va_start(args, name);
	(void)vsnprintf(thread->t_name, sizeof thread->t_name, name, args);
	va_end(args);
	rc = pthread_create(&handle, NULL, thread_main, thread);
	if (rc != 0)
		return -rc;
	thread->t_handle = (uintptr_t)handle;
	thread_ready_wait(thread);
	rc = thread->t_init_rc;
	if (rc != 0)
		(void)pthread_join(handle, NULL);
	else
		thread->t_state = TS_RUNNING;
	return rc;
}

int m0_thread_join(struct m0_thread *thread)
{
	int rc;

	M0_PRE(thread->t_state == TS_RUNNING);
	M0_PRE(thread != m0_thread_self());
	rc = pthread_join((pthread_t)thread->t_handle, NULL);
	if (rc == 0)
		thread->t_state = TS_PARKED;
	return -rc;
}

void m0_thread_fini(struct m0_thread *thread)
{
	M0_PRE(thread->t_state == TS_PARKED);
}

struct m0_thread *m0_thread_self(void)
{
	if (*self() == NULL) {
		foreign()->t_state = TS_RUNNING;
		foreign()->t_handle = (uintptr_t)pthread_self();
		foreign()->t_tid = (int)syscall(SYS_gettid);
		*self() = foreign();
	}
	return *self();
}

static int cpu_set_make(const struct m0_bitmap *cpus, cpu_set_t *ret_set)
{
	size_t cpu;

	CPU_ZERO(ret_set);
	for (cpu = m0_bitmap_next(cpus, 0);
	     cpu < min64u(cpus->b_nr, CPU_SETSIZE);
	     cpu = m0_bitmap_next(cpus, cpu + 1))
		CPU_SET(cpu, ret_set);
	return CPU_COUNT(ret_set) == 0 ? -EINVAL : 0;
}

int m0_thread_confine(struct m0_thread       *thread,
		      const struct m0_bitmap *processors)
{
	cpu_set_t set;
	int       rc = cpu_set_make(processors, &set);

	if (rc == 0)
		rc = -pthread_setaffinity_np((pthread_t)thread->t_handle,
					     sizeof set, &set);
	return rc;
}

/* Block signals here: the application's handlers run on its own threads. */
static void signals_block(void)
{
	sigset_t set;

	sigfillset(&set);
	sigdelset(&set, SIGSEGV);
	sigdelset(&set, SIGBUS);
	sigdelset(&set, SIGFPE);
	sigdelset(&set, SIGILL);
	sigdelset(&set, SIGABRT);
	sigdelset(&set, SIGTRAP);
	sigdelset(&set, SIGPROF);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int m0_os__runner_init(const struct m0_bitmap *cpus)
{
	cpu_set_t set;
	int       rc = 0;

	signals_block();
	if (cpus != NULL)
		rc = cpu_set_make(cpus, &set);
	if (rc == 0 && cpus != NULL &&
	    sched_setaffinity(0, sizeof set, &set) != 0)
		rc = -errno;
	return rc;
}

void m0_os__cpus_inherited(struct m0_bitmap *ret_map)
{
	pid_t     tid = m0_strand_current() != NULL ? getpid() : 0;
	cpu_set_t set;
	size_t    i;

	m0_bitmap_reset(ret_map);
	if (sched_getaffinity(tid, sizeof set, &set) != 0)
		return;
	for (i = 0; i < min64u(CPU_SETSIZE, ret_map->b_nr); ++i)
		if (CPU_ISSET(i, &set))
			m0_bitmap_set(ret_map, i, true);
}
