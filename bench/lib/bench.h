/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Shared by the programs of the bench: cases that are timed in turns, memory in
 * huge pages, pinning, one line `name value unit` for each figure.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/** Options of the command line. */
struct bench_opt {
	double   o_slice_s;  /**< Time of one slice of one case. */
	int      o_slice_nr; /**< Slices of each case. */
	int      o_cpu[2];   /**< Processors of the two sides; -1: any. */
	uint64_t o_spin_ns;  /**< Spin of the library's threads. */
	bool     o_poll;     /**< Peers: poll without blocking. */
};

extern struct bench_opt bench_opt;

/** Ends the program, and says why. */
__attribute__((noreturn, format(printf, 1, 2))) void bench_die(const char *fmt,
							       ...);
/**
 * Reads the options, arms the alarm. Returns the index of the first argument
 * that is no option.
 */
int bench_options(int argc, char **argv, const char *usage);

double bench_now_s(void);
/** User and system time of the process, all its threads. */
double bench_cpu_s(void);
/** Adds the clock of another process to the processor time. */
void bench_other_clock(clockid_t clock);
/** Confines the calling thread; no effect if cpu < 0. */
void bench_pin(int cpu);
/**
 * Touched memory in 2 MiB pages if the system gives them; not freed. Each call
 * gives memory of its own pages, so that neither side is favoured.
 */
void *bench_huge(size_t bytes);
/** Prints how much of the memory of bench_huge() is in huge pages. */
void bench_huge_report(void);

void bench_line(const char *name, double value, const char *unit);

/** Something that is timed. */
struct bench_case {
	const char *c_name;
	/** Does at least `nr` operations; returns how many it did. */
	uint64_t (*c_run)(void *arg, uint64_t nr);
	void *c_arg;
	/** Called before and after a slice, outside of the time; may be NULL. */
	void (*c_enter)(void *arg);
	void (*c_leave)(void *arg);
	/** Printed as millions of operations a second, else nanoseconds. */
	bool c_rate;
};

enum {
	/** Programs end after so long, whatever happens. */
	BENCH_ALARM_S = 60,
	BENCH_CASES_MAX = 10,
	BENCH_BATCH_MAX = 8,
	BENCH_SLICES_MAX = 400
};

/**
 * Times the cases in turns, slice by slice, and prints for each the median of
 * its slices, the quickest, and processor time for each operation.
 */
void bench_turns(const struct bench_case *cases, int nr);
/**
 * Runs one case untimed. A function that callgrind can be told by its name:
 * only what happens inside is counted.
 */
void bench_counted(const struct bench_case *c, uint64_t nr);

/** A second thread, parked on a semaphore between slices. */
struct bench_worker;
/** `step` is called again and again between run and park. */
struct bench_worker *bench_worker_start(int cpu);
void bench_worker_run(struct bench_worker *w, void (*step)(void *arg),
		      void                *arg);
void bench_worker_park(struct bench_worker *w);
void bench_worker_stop(struct bench_worker *w);

/* Cases of the machine alone: ref.c. */
struct bench_case bench_ref_clock(void);
/**
 * Copies `bytes` at a time between two areas that it walks through, `batch`
 * copies together. A batch begins at its end if that was copied last.
 */
struct bench_case bench_ref_copy(char *dst, const char *src, size_t bytes,
				 size_t area, size_t *cursor, unsigned batch);
/** One way of a cache line between this thread and the worker's. */
struct bench_case bench_ref_line(struct bench_worker *w);

#endif /* BENCH_BENCH_H */
