/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The simulator: runs all strands of a program on one thread with a virtual
 * clock, in an order drawn from a seed.
 *
 * m0_sim_init installs its own table of os functions (m0_os_set). From then on,
 * a strand that is started becomes an entry of the scheduler, and time passes
 * only in the simulator: every step costs a little time drawn from the seed,
 * and when nothing can run the clock jumps to the next deadline. The test is
 * the application. Strands run only while the test waits (m0_semaphore_down,
 * m0_chan_wait, a sleep) or calls one of the run functions below; the scheduler
 * draws from the seed which strand runs next. Two runs with one seed are equal,
 * to the last line of the narration (m0_sim_hash).
 *
 * One simulation at a time, on one OS thread. A step, a timer or a delivery of
 * a link must not call these functions, except where their comments allow it.
 *
 * A run that fails prints the end of its narration and the line `M0_SEED=<seed>
 * to replay`; to repeat the run, set that variable. With M0_SIM_VERBOSE=1 it
 * prints the narration while it runs.
 */
#ifndef M0_SIM_H
#define M0_SIM_H

#include "m0/base.h"
#include "m0/sync.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_sim_core;
struct m0_strand;

/** A sequence of random numbers. Private. */
struct m0_sim_rand {
	uint64_t simr_state[4];
};

struct m0_sim {
	/** On the heap, as it outlives a test that failed by longjmp. */
	struct m0_sim_core *sim_core;
};

/** Behaviour of the simulated host. All draws are uniform, from 0. */
struct m0_sim_cfg {
	/** Longest virtual time of a step. */
	m0_time_t simc_step_ns_max;
	/**
	 * Longest virtual time between two clock readings of the application.
	 */
	m0_time_t simc_now_ns_max;
	/** Longest delay of a slow strand after its wake or deadline. */
	m0_time_t simc_late_ns_max;
	/** Probability that a strand is slow, drawn when it starts. */
	unsigned simc_slow_pct;
	/**
	 * Probability that a strand spins after a step, for a time drawn up to
	 * its st_spin_ns: it does not sleep, and runs again only because of
	 * so_ready.
	 */
	unsigned simc_spin_pct;
	/** No draws: strands run in the order in which they became runnable. */
	bool simc_fifo;
	/** Limit on steps and timers in one run (one wait, or one
	 * m0_sim_run_...); reaching it is reported as a livelock. */
	uint64_t simc_turns_max;
	/** Lines of narration kept to print on a failure. */
	unsigned simc_lines_max;
};

/**
 * Hostile: costs, slow strands, spinning, random order. m0_sim_init uses it.
 */
extern const struct m0_sim_cfg m0_sim_cfg_wild;
/** For tests of a fixed sequence: no costs, and strands run in the order in
 * which they became runnable. Time moves by jumps only. */
extern const struct m0_sim_cfg m0_sim_cfg_calm;

/**
 * Starts a simulation at 1000 s of the clock of `m0_time_now`, and installs its
 * table of os functions. If a failed test abandoned a simulation, reports and
 * drops that first.
 */
void m0_sim_init(struct m0_sim *sim, uint64_t seed);
void m0_sim_init_cfg(struct m0_sim *sim, uint64_t seed,
		     const struct m0_sim_cfg *cfg);
/** Ends a simulation, and restores the table of os functions. Fails if a
 * strand, a descriptor or a timer is left. */
void m0_sim_fini(struct m0_sim *sim);

uint64_t m0_sim_seed(const struct m0_sim *sim);
/** The virtual clock. Costs no time; may be called from anywhere. */
m0_time_t m0_sim_now(const struct m0_sim *sim);
/** Time since m0_sim_init. */
m0_time_t m0_sim_elapsed_ns(const struct m0_sim *sim);
/**
 * Draws a number in [0, bound), bound > 0, from a sequence of the test's own.
 */
uint64_t m0_sim_rand(struct m0_sim *sim, uint64_t bound);
/** Number of strands started and not stopped. */
unsigned m0_sim_strands_nr(const struct m0_sim *sim);
/** Number of steps and timers run since m0_sim_init. */
uint64_t m0_sim_turns_nr(const struct m0_sim *sim);

/* -- running ------------------------------------------------------------- */

/**
 * Runs one step of a strand or one timer; if nothing can run earlier, first
 * moves the clock to the next deadline.
 * @return false if nothing can run and nothing has a deadline.
 */
bool m0_sim_step(struct m0_sim *sim);
/**
 * Runs until pred(arg) is true, which it checks before each step or timer. Time
 * jumps as needed, by at most `limit_ns` from now. M0_TIME_NEVER: no limit;
 * then a condition that can no longer become true is a deadlock.
 * @return false if the limit was reached.
 */
bool m0_sim_run_until(struct m0_sim *sim, bool (*pred)(void *arg), void *arg,
		      m0_time_t limit_ns);
/** Runs for `ms` milliseconds, whether or not anything is runnable. */
void m0_sim_run_ms(struct m0_sim *sim, uint64_t ms);
/** Runs until nothing can run without moving the clock. */
void m0_sim_settle(struct m0_sim *sim);
/**
 * Runs a random number of steps and timers in [0, turns_max], without moving
 * the clock to a deadline. Between the test's own calls, this interleaves them
 * with the strands.
 */
void m0_sim_yield(struct m0_sim *sim, unsigned turns_max);
/** Makes a strand run up to `late_ns_max` late; 0: on time. */
void m0_sim_slow(struct m0_sim *sim, struct m0_strand *strand,
		 m0_time_t late_ns_max);

/* -- timers -------------------------------------------------------------- */

/** A call at a virtual time. The caller provides the memory; a zeroed timer is
 * not armed. */
struct m0_sim_timer {
	m0_time_t simt_deadline;
	void (*simt_fire)(struct m0_sim_timer *timer);
	/** For the owner. */
	void    *simt_data;
	uint64_t simt_order;
	/** Position in the scheduler's heap, counted from 1; 0: not armed. */
	size_t simt_at;
};

/**
 * Arms a timer to call fire(timer) at `deadline`; an armed timer is armed anew.
 * Timers with the same deadline fire in the order of arming. The callback runs
 * outside of all strands. It may arm timers, send on links and wake strands; it
 * must not wait. Steps, timers and deliveries may call this, too.
 */
void m0_sim_timer_arm(struct m0_sim *sim, struct m0_sim_timer *timer,
		      m0_time_t deadline,
		      void (*fire)(struct m0_sim_timer *timer));
/** Disarms a timer; no-op if it is not armed. From anywhere. */
void m0_sim_timer_cancel(struct m0_sim *sim, struct m0_sim_timer *timer);

/* -- narration ----------------------------------------------------------- */

/** Adds a line to the narration. From anywhere. */
void m0_sim_say(struct m0_sim *sim, const char *fmt, ...) M0_PRINTF(2, 3);
/**
 * From now on, collects the lines whose text or kind begins with `prefix`, for
 * m0_sim_expect. Several prefixes add up, at most 8; "" is every line. The kind
 * is a probe's name as in base/probes.def, "sched" for actions of the
 * scheduler, "link" for messages on links, "say" for m0_sim_say. `prefix` is
 * kept by pointer.
 */
void m0_sim_watch(struct m0_sim *sim, const char *prefix);
/**
 * Fails unless the lines collected since the last call are exactly `text`. A
 * line is `"%3u ms %s > %s\n"`: virtual milliseconds since m0_sim_init, the
 * strand ("app" outside of strands), the text. The second strand with a name is
 * called "name.2", and so on.
 */
void m0_sim_expect(struct m0_sim *sim, const char *text);
/** Digest of all narration so far; equal for equal runs. */
uint64_t m0_sim_hash(const struct m0_sim *sim);
/**
 * Prints the kept end of the narration and the line with the seed, on stderr.
 */
void m0_sim_report(struct m0_sim *sim, const char *why);
/**
 * Reports, then calls the hook of m0_sim_on_failure(); aborts if the hook
 * returns or there is none. From anywhere.
 */
void m0_sim_fail(struct m0_sim *sim, const char *fmt, ...)
	__attribute__((noreturn)) M0_PRINTF(2, 3);

/**
 * Sets the hook that is called when a run has failed and was reported, so that
 * a test framework learns of the failure. The hook may leave by longjmp; then
 * the simulation is abandoned, and the next m0_sim_init drops it. NULL: abort.
 * The hook belongs to the program, not to a simulation.
 */
void m0_sim_on_failure(void (*hook)(void));

/**
 * Adds a line that is printed with a failure, beside the seed: the options that
 * a run has drawn, so that the report shows which faults were on. At most 1023
 * bytes.
 */
void m0_sim_options(struct m0_sim *sim, const char *fmt, ...) M0_PRINTF(2, 3);

/* -- seeds --------------------------------------------------------------- */

/** $M0_SEED (decimal or 0x...) if set, else `seed`. */
uint64_t m0_sim_seed_get(uint64_t seed);
/**
 * Runs `fn` in a new simulation for each of `nr` seeds from `first`. $M0_SEED
 * replaces them all by one seed, $M0_SEEDS_NR replaces `nr`. After each run no
 * strand may be left, and the library must have freed all that it allocated.
 * The first seed runs twice, and both runs must give the same narration; so
 * `fn` must not depend on state of an earlier run.
 */
void m0_sim_for_each_seed(uint64_t first, unsigned                         nr,
			  void (*fn)(struct m0_sim *sim, void *arg), void *arg);

#ifdef __cplusplus
}
#endif
#endif /* M0_SIM_H */
