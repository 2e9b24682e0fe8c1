/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* pthread.h for tests inside the kernel. */
#ifndef COLIBRI_KERNEL_PTHREAD_H
#define COLIBRI_KERNEL_PTHREAD_H

#include <sched.h>

/* pthread_create() gives a handle for pthread_join() alone. */
typedef unsigned long pthread_t;

int pthread_create(pthread_t *ret, const void *attr, void *(*body)(void *),
		   void *arg);
int pthread_join(pthread_t thread, void **ret);

#define pthread_self()      ((pthread_t)current)
#define pthread_equal(a, b) ((a) == (b))

#endif
