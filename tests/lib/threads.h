/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The threads of this process, as the system shows them. */
#ifndef M0_TESTS_LIB_THREADS_H
#define M0_TESTS_LIB_THREADS_H

/** A processor that this process may run on, the highest. */
int threads_cpu(void);
/** Number of processors that it may run on. */
int threads_cpus_nr(void);
/** Number of threads of this name that may run on `cpu` and nowhere else. */
int threads_on(const char *name, int cpu);

#endif /* M0_TESTS_LIB_THREADS_H */
