/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Threads of the kernel. One ends by completing what its joiner waits for, in a call
 * that never returns to this module, so that the module may be unloaded then.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "base/tls.h"
#include "kern/os/kern_stack.h"
#include "kern/os/kern_tls.h"

M0_TLS_STATIC(struct m0_thread *, self);
/* State of a thread that the library did not start. */
M0_TLS_STATIC(struct m0_thread, foreign);

/** m0_thread::t_handle. */
struct kern_handle {
	struct completion   knh_done;
	struct task_struct *knh_task;
	struct m0_thread   *knh_thread;
};

static struct kern_handle *handle_of(const struct m0_thread *thread)
{
	return (struct kern_handle *)thread->t_handle;
}

static void thread_ready(struct m0_thread *thread)
{
	__atomic_store_n(&thread->t_ready, 1, __ATOMIC_RELEASE);
	m0_os__futex_wake(&thread->t_ready, 1);
}

static void thread_ready_wait(struct m0_thread *thread)
{
	while (__atomic_load_n(&thread->t_ready, __ATOMIC_ACQUIRE) == 0)
		(void)m0_os__futex_wait(&thread->t_ready, 0, M0_TIME_NEVER);
}

/* Returns what becomes m0_thread::t_init_rc. */
static int thread_begin(struct m0_thread *thread)
{
	int rc = kern_enter();

	if (rc != 0)
		return rc;
	*self() = thread;
	thread->t_tid = current->pid;
	rc = thread->t_init == NULL ? 0 : thread->t_init(thread->t_arg);
	if (rc != 0)
		kern_leave();
	return rc;
}

static int thread_main(void *arg)
{
	struct kern_handle *handle = arg;
	struct m0_thread   *thread = handle->knh_thread;
	int                 rc;

	kern_stack_begin();
	/* The write-out of a file system may wait for this thread: what it gets
	 * memory by must not wait for a write-out. It ends with the thread. */
	(void)memalloc_noio_save();
	rc = thread_begin(thread);
	thread->t_init_rc = rc;
	thread_ready(thread);
	if (rc == 0) {
		thread->t_func(thread->t_arg);
		kern_leave();
	}
	kern_stack_end();
	kthread_complete_and_exit(&handle->knh_done, 0);
	return 0;
}

static void thread_wait(struct m0_thread *thread)
{
	struct kern_handle *handle = handle_of(thread);

	wait_for_completion(&handle->knh_done);
	thread->t_handle = 0;
	kfree(handle);
}

static int thread_start(struct m0_thread *thread)
{
	struct kern_handle *handle = kzalloc(sizeof *handle, GFP_KERNEL);
	struct task_struct *task;

	if (handle == NULL)
		return -ENOMEM;
	init_completion(&handle->knh_done);
	handle->knh_thread = thread;
	task = kthread_create(thread_main, handle, "%s", thread->t_name);
	if (IS_ERR(task)) {
		kfree(handle);
		return PTR_ERR(task) == -ENOMEM ? -ENOMEM : -EAGAIN;
	}
	handle->knh_task = task;
	thread->t_handle = (uintptr_t)handle;
	wake_up_process(task);
	return 0;
}

int m0_thread_init(struct m0_thread *thread, m0_thread_any_t init,
		   m0_thread_any_t func, void *arg, const char *name, ...)
{
	va_list args;
	int     rc;

	M0_PRE(func != NULL);
	M0_SET0(thread);
	thread->t_init = (int (*)(void *))init;
	thread->t_func = (void (*)(void *))func;
	thread->t_arg = arg;
	va_start(args, name);
	(void)vsnprintf(thread->t_name, sizeof thread->t_name, name, args);
	va_end(args);
	rc = thread_start(thread);
	if (rc != 0)
		return rc;
	thread_ready_wait(thread);
	rc = thread->t_init_rc;
	if (rc != 0)
		thread_wait(thread);
	else
		thread->t_state = TS_RUNNING;
	return rc;
}

int m0_thread_join(struct m0_thread *thread)
{
	M0_PRE(thread->t_state == TS_RUNNING);
	M0_PRE(thread != m0_thread_self());
	thread_wait(thread);
	thread->t_state = TS_PARKED;
	return 0;
}

void m0_thread_fini(struct m0_thread *thread)
{
	M0_PRE(thread->t_state == TS_PARKED);
}

struct m0_thread *m0_thread_self(void)
{
	if (*self() == NULL) {
		foreign()->t_state = TS_RUNNING;
		foreign()->t_tid = current->pid;
		*self() = foreign();
	}
	return *self();
}

static int task_confine(struct task_struct *task, const struct m0_bitmap *cpus)
{
	cpumask_t *mask = kzalloc(sizeof *mask, GFP_KERNEL);
	size_t     cpu;
	int        rc = -EINVAL;

	if (mask == NULL)
		return -ENOMEM;
	for (cpu = m0_bitmap_next(cpus, 0);
	     cpu < min64u(cpus->b_nr, nr_cpu_ids);
	     cpu = m0_bitmap_next(cpus, cpu + 1))
		cpumask_set_cpu((unsigned)cpu, mask);
	if (!cpumask_empty(mask))
		rc = set_cpus_allowed_ptr(task, mask);
	kfree(mask);
	return rc;
}

int m0_thread_confine(struct m0_thread       *thread,
		      const struct m0_bitmap *processors)
{
	const struct kern_handle *handle = handle_of(thread);

	return task_confine(handle == NULL ? current : handle->knh_task,
			    processors);
}

int m0_os__runner_init(const struct m0_bitmap *cpus)
{
	return cpus == NULL ? 0 : task_confine(current, cpus);
}

void m0_os__cpus_inherited(struct m0_bitmap *ret_map)
{
	size_t cpu;

	m0_bitmap_reset(ret_map);
	/* A new thread of the kernel may run anywhere. */
	for (cpu = 0; cpu < min64u(nr_cpu_ids, ret_map->b_nr); ++cpu)
		if (cpu_possible((unsigned)cpu))
			m0_bitmap_set(ret_map, cpu, true);
}
