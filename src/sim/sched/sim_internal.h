/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Shared by the files of the simulator. There is one core at a time,
 * `m0_sim__live`; all of it is in memory of the C library, so that allocations
 * of the library under test can be counted.
 */
#ifndef M0_SRC_SIM_SIM_INTERNAL_H
#define M0_SRC_SIM_SIM_INTERNAL_H

#include <stdio.h>

#include "m0/sim_stream.h"
#include "base/rand.h"
#include "os/os.h"

enum {
	SIM_START_SEC = 1000,
	SIM_NAME_LEN = 23,
	SIM_TEXT_LEN = 111,
	SIM_WATCHES_MAX = 8,
	SIM_OPTIONS_LEN = 1023,
	/** Longest jump of the clock while a strand yields. */
	SIM_YIELD_NS = 100 * 1000
};

/**
 * A host, as the scheduler sees it. Strands that it starts, or that start while
 * the application acts for it, belong to it.
 */
struct sim_place {
	/** Skew of its wall clock. */
	int64_t spc_skew_ns;
	/** Greatest delay of the strands of the host. */
	m0_time_t spc_late_ns_max;
};

struct m0_sim_core;
struct sim_strand;

/** Calls of the scheduler to a program (sim_program.c). */
struct sim_program_ops {
	/** When it goes on if nothing else happens; 0: now. */
	m0_time_t (*spo_next)(const struct sim_strand *entry);
	/** Lets it run until it waits. */
	void (*spo_turn)(struct m0_sim_core *core, struct sim_strand *entry);
	/** The program waits. @return false: `until` has come. */
	bool (*spo_wait)(struct sim_strand   *entry,
			 struct m0_semaphore *semaphore, m0_time_t until);
};

/** A started strand, or a program. */
struct sim_strand {
	/** NULL: a program. */
	struct m0_strand             *sims_strand;
	const struct sim_program_ops *sims_program;
	char                          sims_name[SIM_NAME_LEN + 1];
	/** When its last deadline and its oldest wake make it run. */
	m0_time_t sims_deadline;
	m0_time_t sims_wake_at;
	/** The strand spins until then and does not sleep. */
	m0_time_t sims_spin_until;
	m0_time_t sims_late_ns_max;
	/** The host of the strand; NULL: none. */
	const struct sim_place *sims_place;
	/** Place in the queue of a first come, first served run. */
	uint64_t sims_order;
	bool     sims_woken;
	bool     sims_in_step;
	/** 1: a program that waits with locks held. */
	unsigned sims_locked_nr;
	uint64_t sims_steps_nr;
};

/** An open m0_os_fd. */
struct sim_fd {
	struct m0_os_fd *simf_fd;
	m0_time_t        simf_deadline;
	/** Descriptors, to be closed if the owner's memory is gone. */
	int simf_fds[3];
};

struct sim_line {
	m0_time_t sinl_at;
	char      sinl_name[SIM_NAME_LEN + 1];
	char      sinl_text[SIM_TEXT_LEN + 1];
};

struct m0_sim_core {
	struct m0_sim_cfg simk_cfg;
	uint64_t          simk_seed;
	m0_time_t         simk_now;
	uint64_t          simk_turns_nr;
	uint64_t          simk_order;
	/** Host for which the application acts; NULL: none. */
	const struct sim_place *simk_place;
	/** The OS thread that runs the simulation. */
	uintptr_t simk_thread;
	/** Inside a step, a timer, a delivery: no waiting. */
	bool simk_in_turn;
	/** The program that runs; NULL: the test, or what it waits for. */
	struct sim_strand *simk_program;
	/** Waits with locks held: other programs, which might want them, do not run
	 * meanwhile. */
	unsigned simk_locked_nr;
	/** While a program runs: the test's stderr, and what the program wrote. */
	FILE  *simk_stderr;
	char **simk_errors;
	/** Separate random streams, so that a new draw in one does not change
	 * the others. */
	struct m0_rand simk_sched_rand;
	struct m0_rand simk_test_rand;
	struct m0_rand simk_os_rand;
	struct m0_rand simk_link_rand;

	struct sim_strand **simk_strands;
	size_t              simk_strands_nr;
	size_t              simk_strands_max;
	/** Scratch of the scheduler, simk_strands_max + 1 entries. */
	struct sim_strand **simk_ready;
	struct sim_fd     **simk_fds;
	size_t              simk_fds_nr;
	size_t              simk_fds_max;
	/** Binary heap by deadline and order; root at [1]. */
	struct m0_sim_timer **simk_timers;
	size_t                simk_timers_nr;
	size_t                simk_timers_max;

	/** Ring of the last lines; simk_lines_nr were written ever. */
	struct sim_line *simk_lines;
	uint64_t         simk_lines_nr;
	uint64_t         simk_hash;
	bool             simk_verbose;
	bool             simk_reported;
	/** Printed with a failure. */
	char        simk_options[SIM_OPTIONS_LEN + 1];
	const char *simk_watches[SIM_WATCHES_MAX];
	unsigned    simk_watches_nr;
	/** Collected for m0_sim_expect: a string that grows. */
	char  *simk_story;
	size_t simk_story_len;
	size_t simk_story_max;
};

/** The simulation that runs; NULL: none. */
extern struct m0_sim_core    *m0_sim__live;
extern const struct m0_os_ops m0_sim__os;

/** The live core; asserts that it is there and on this thread. */
struct m0_sim_core *m0_sim__core(void);
/** Memory of the simulator's own; never fails. */
void *m0_sim__realloc(void *data, size_t nr, size_t size);
/** Makes room for element `nr` of an array. */
void *m0_sim__grow(void *data, size_t nr, size_t *max, size_t size);
/** Frees the core, closes descriptors, forgets strands and timers. */
void m0_sim__drop(struct m0_sim_core *core);

/** Moves the clock, never back, and makes expired descriptors readable. */
void m0_sim__advance(struct m0_sim_core *core, m0_time_t to);
/** Runs until pred(arg) or the point `deadline`. */
bool m0_sim__run(struct m0_sim_core *core, bool (*pred)(void *arg), void *arg,
		 m0_time_t deadline);
/** Makes a turn of something that is not in one, or moves the clock, at most to
 * `deadline`. @return false: neither. */
bool m0_sim__move(struct m0_sim_core *core, m0_time_t deadline);
/** Assert that the application calls, which may wait. */
void m0_sim__may_wait(const struct m0_sim_core *core);

/** The host that a call comes from; NULL: none. */
const struct sim_place *m0_sim__place(const struct m0_sim_core *core);
/** Delay the strands of the host from now on. */
void m0_sim__place_late(struct m0_sim_core *core, const struct sim_place *place,
			m0_time_t late_ns_max);
/** Forgets a host that is gone; its remaining strands belong to no host. */
void m0_sim__place_forget(struct m0_sim_core     *core,
			  const struct sim_place *place);

/** Loses the bytes that `end` has written and that were not delivered. Pre:
 * the end is silent. */
void m0_sim__stream_lose(struct m0_sim_stream *stream, int end);

/** Adds an entry to the scheduler, with a name like this one. */
void m0_sim__entry_add(struct m0_sim_core *core, struct sim_strand *entry,
		       const char *name);
/** Takes it off; the caller frees it. */
void m0_sim__entry_del(struct m0_sim_core *core, struct sim_strand *entry);
/** Counts a wake-up from sleep. */
void m0_sim__strand_roused(struct m0_strand *strand);

void m0_sim__fd_expire(struct m0_sim_core *core);
/** Closes all. */
void m0_sim__fds_drop(struct m0_sim_core *core);
/** Earliest armed descriptor. */
m0_time_t m0_sim__fd_next(const struct m0_sim_core *core);

/** The timer to fire first; NULL: none armed. */
struct m0_sim_timer *m0_sim__timer_first(const struct m0_sim_core *core);
void m0_sim__timer_del(struct m0_sim_core *core, struct m0_sim_timer *timer);

/* Streams of draws that public structures hold. */
static inline void m0_sim__rand_init(struct m0_sim_core *core,
				     struct m0_sim_rand *state)
{
	struct m0_rand rand;

	m0_rand_init(&rand, m0_rand_next(&core->simk_link_rand));
	memcpy(state, &rand, sizeof *state);
}

/* In [lo, hi]. */
static inline uint64_t m0_sim__rand_in(struct m0_sim_rand *state, uint64_t lo,
				       uint64_t hi)
{
	struct m0_rand rand;
	uint64_t       drawn;

	memcpy(&rand, state, sizeof rand);
	drawn = m0_rand_in(&rand, lo, hi);
	memcpy(state, &rand, sizeof *state);
	return drawn;
}

/** Draws in [0, max]; 0 costs no draw. */
m0_time_t m0_sim__draw(struct m0_sim_core *core, m0_time_t max);

/** Write one line of narration of sort `kind` for `name`. */
void m0_sim__trace(struct m0_sim_core *core, const char *name, const char *kind,
		   const char *fmt, ...) M0_PRINTF(4, 5);
/** Name of the strand whose step runs, or "app". */
const char *m0_sim__speaker(const struct m0_sim_core *core);
void        m0_sim__trace_init(struct m0_sim_core *core);
void        m0_sim__trace_fini(struct m0_sim_core *core);
/** Prints the narration's end and the seed, once. */
void m0_sim__report(struct m0_sim_core *core, const char *why);
/** Reports and aborts. */
void m0_sim__die(struct m0_sim_core *core, const char *fmt, ...)
	__attribute__((noreturn)) M0_PRINTF(2, 3);
/** Calls the hook of m0_sim_on_failure, and aborts if it returns. */
void m0_sim__case_fail(void) __attribute__((noreturn));

#endif /* M0_SRC_SIM_SIM_INTERNAL_H */
