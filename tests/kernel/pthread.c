// SPDX-License-Identifier: Apache-2.0 OR MIT
/* Threads of tests inside the kernel, which are inside the library. */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "kern/os/kern_tls.h"
#include <pthread.h>

struct test_thread {
	void *(*tt_body)(void *arg);
	void             *tt_arg;
	void             *tt_ret;
	struct completion tt_done;
};

static int thread_body(void *arg)
{
	struct test_thread *thread = arg;
	int                 rc = kern_enter();

	BUG_ON(rc != 0);
	thread->tt_ret = thread->tt_body(thread->tt_arg);
	kern_leave();
	kthread_complete_and_exit(&thread->tt_done, 0);
	return 0;
}

int pthread_create(pthread_t *ret, const void *attr, void *(*body)(void *),
		   void *arg)
{
	struct test_thread *thread = kzalloc(sizeof *thread, GFP_KERNEL);
	struct task_struct *task;

	(void)attr;
	if (thread == NULL)
		return ENOMEM;
	thread->tt_body = body;
	thread->tt_arg = arg;
	init_completion(&thread->tt_done);
	task = kthread_run(thread_body, thread, "test");
	if (IS_ERR(task)) {
		kfree(thread);
		return EAGAIN;
	}
	*ret = (pthread_t)thread;
	return 0;
}

int pthread_join(pthread_t handle, void **ret)
{
	struct test_thread *thread = (struct test_thread *)handle;

	wait_for_completion(&thread->tt_done);
	if (ret != NULL)
		*ret = thread->tt_ret;
	kfree(thread);
	return 0;
}
