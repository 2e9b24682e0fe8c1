/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The simulator: a whole program of strands on one thread and a virtual clock,
 * in an order drawn from a seed.
 *
 * m0_sim_init puts its own table behind os (m0_os_set). From then on a strand
 * that is started becomes an entry of the scheduler, and time stands still
 * until something moves it: every step costs a little time drawn from the seed,
 * and when nothing can run the clock jumps to the next deadline. The test is
 * the application. Strands run only while the test waits (m0_semaphore_down,
 * m0_chan_wait, a sleep) or calls one of the run functions below; which strand
 * goes next is drawn from the seed. The same seed gives the same run, down to
 * the last line of the narration (m0_sim_hash).
 *
 * One simulation at a time, on one OS thread. Nothing here may be called from a
 * step, from a timer or from a link's delivery, unless it says so.
 *
 * A run that goes wrong prints the end of its narration and the line
 * `M0_SEED=<seed> to replay`; setting that variable repeats it. M0_SIM_VERBOSE=1
 * prints the narration as it happens.
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

/** A stream of draws. Private. */
struct m0_sim_rand {
	uint64_t simr_state[4];
};

struct m0_sim {
	/** Lives on the heap: it outlasts a test that failed by longjmp. */
	struct m0_sim_core *sim_core;
};

/** How the simulated machine behaves. All draws are uniform from 0. */
struct m0_sim_cfg {
	/** Longest virtual time that a step takes. */
	m0_time_t simc_step_ns_max;
	/** Longest virtual time between two readings by the application. */
	m0_time_t simc_now_ns_max;
	/** How late a slow strand runs, counted from its wake or deadline. */
	m0_time_t simc_late_ns_max;
	/** Chance that a strand is a slow one, drawn when it starts. */
	unsigned simc_slow_pct;
	/**
	 * Chance that a strand spins after a step, for a time drawn up to its
	 * st_spin_ns: then it does not sleep, and so_ready alone makes it run.
	 */
	unsigned simc_spin_pct;
	/** No draws: what became runnable first runs first. */
	bool simc_fifo;
	/** Things done in one run (one wait, one m0_sim_run_...): livelock. */
	uint64_t simc_turns_max;
	/** Lines of narration kept for a failure. */
	unsigned simc_lines_max;
};

/** Hostile: costs, slow strands, spinning, random order. m0_sim_init's. */
extern const struct m0_sim_cfg m0_sim_cfg_wild;
/** For stories: no costs, first come first served. Time moves by jumps only. */
extern const struct m0_sim_cfg m0_sim_cfg_calm;

/**
 * Starts a simulation at 1000 s, on the clock of `m0_time_now`, and installs
 * its table. A simulation that was abandoned by a failed test is reported and
 * dropped first.
 */
void m0_sim_init(struct m0_sim *sim, uint64_t seed);
void m0_sim_init_cfg(struct m0_sim *sim, uint64_t seed,
		     const struct m0_sim_cfg *cfg);
/** Fails if a strand, a descriptor or a timer is left. Restores the table. */
void m0_sim_fini(struct m0_sim *sim);

uint64_t m0_sim_seed(const struct m0_sim *sim);
/** Virtual clock; costs nothing, from anywhere. */
m0_time_t m0_sim_now(const struct m0_sim *sim);
/** Time since m0_sim_init. */
m0_time_t m0_sim_elapsed_ns(const struct m0_sim *sim);
/** A draw in [0, bound), bound > 0, of a stream of the test's own. */
uint64_t m0_sim_rand(struct m0_sim *sim, uint64_t bound);
/** Strands started and not stopped. */
unsigned m0_sim_strands_nr(const struct m0_sim *sim);
/** Steps and timers run since m0_sim_init. */
uint64_t m0_sim_turns_nr(const struct m0_sim *sim);

/* -- running ------------------------------------------------------------- */

/**
 * Does one thing: runs a strand's step or a timer; moves the clock to the next
 * deadline if nothing can run before.
 * @return false  nothing can run and nothing has a deadline.
 */
bool m0_sim_step(struct m0_sim *sim);
/**
 * Runs until pred(arg) is true, looked at before each turn; time jumps as
 * needed, to `limit_ns` from now at the latest. M0_TIME_NEVER: no limit, and
 * then a condition that can no longer come true is a deadlock.
 * @return false  the limit came first.
 */
bool m0_sim_run_until(struct m0_sim *sim, bool (*pred)(void *arg), void *arg,
		      m0_time_t limit_ns);
/** Lets `ms` milliseconds pass, whatever there is to run. */
void m0_sim_run_ms(struct m0_sim *sim, uint64_t ms);
/** Runs until nothing can run without a jump of the clock. */
void m0_sim_settle(struct m0_sim *sim);
/**
 * A random number of turns in [0, turns_max], without any jump: put between the
 * test's own calls, it interleaves them with the strands.
 */
void m0_sim_yield(struct m0_sim *sim, unsigned turns_max);
/** Makes a strand run up to `late_ns_max` late; 0: on time again. */
void m0_sim_slow(struct m0_sim *sim, struct m0_strand *strand,
		 m0_time_t late_ns_max);

/* -- timers -------------------------------------------------------------- */

/** A call at a virtual time. Caller's memory; zeroed means not armed. */
struct m0_sim_timer {
	m0_time_t simt_deadline;
	void (*simt_fire)(struct m0_sim_timer *timer);
	/** The owner's. */
	void    *simt_data;
	uint64_t simt_order;
	/** Place in the scheduler's heap, counted from 1; 0: not armed. */
	size_t simt_at;
};

/**
 * Has fire(timer) called at `deadline`, re-arming if it was armed. Timers of
 * one instant fire in the order of arming. The callback runs outside of any
 * strand, may arm timers, send on links and wake strands, must not wait. Also
 * from a step, a timer or a delivery.
 */
void m0_sim_timer_arm(struct m0_sim *sim, struct m0_sim_timer *timer,
		      m0_time_t deadline,
		      void (*fire)(struct m0_sim_timer *timer));
/** No-op if not armed. From anywhere. */
void m0_sim_timer_cancel(struct m0_sim *sim, struct m0_sim_timer *timer);

/* -- narration ----------------------------------------------------------- */

/** Adds a line to the narration. From anywhere. */
void m0_sim_say(struct m0_sim *sim, const char *fmt, ...) M0_PRINTF(2, 3);
/**
 * From now on, lines whose text or kind begins with `prefix` are collected for
 * m0_sim_expect; several prefixes add up, at most 8; "" is every line. The kind
 * is a probe's name as in base/probes.def, "sched" for what the scheduler does,
 * "link" for messages on links, "say" for m0_sim_say. Kept by pointer.
 */
void m0_sim_watch(struct m0_sim *sim, const char *prefix);
/**
 * Fails unless the lines collected since the last call are exactly `text`. A
 * line is `"%3u ms %s > %s\n"`: virtual milliseconds since m0_sim_init, the
 * strand ("app" outside of any), the text. Of several strands of one name the
 * second is called "name.2" and so on.
 */
void m0_sim_expect(struct m0_sim *sim, const char *text);
/** Digest of all narration so far: equal for equal runs. */
uint64_t m0_sim_hash(const struct m0_sim *sim);
/** Prints the kept end of the narration and the seed's line, on stderr. */
void m0_sim_report(struct m0_sim *sim, const char *why);
/**
 * Reports, then calls the hook of m0_sim_on_failure(); aborts if that returns
 * or if there is none. From anywhere.
 */
void m0_sim_fail(struct m0_sim *sim, const char *fmt, ...)
	__attribute__((noreturn)) M0_PRINTF(2, 3);

/**
 * What to do when a run has failed and was reported: how a test framework learns
 * of it. The hook may leave by longjmp; the simulation is then abandoned, and
 * the next m0_sim_init drops it. NULL: abort. Of the program, not of a
 * simulation.
 */
void m0_sim_on_failure(void (*hook)(void));

/**
 * Adds a line to what is printed with a failure beside the seed: what a run has
 * drawn, so that one sees at once which faults were on. At most 1023 bytes.
 */
void m0_sim_options(struct m0_sim *sim, const char *fmt, ...) M0_PRINTF(2, 3);

/* -- seeds --------------------------------------------------------------- */

/** $M0_SEED (decimal or 0x...) if set, else `seed`. */
uint64_t m0_sim_seed_get(uint64_t seed);
/**
 * Runs `fn` in a fresh simulation for each of `nr` seeds from `first`; $M0_SEED
 * replaces them all by one, $M0_SEEDS_NR overrides `nr`. After each run no
 * strand may be left and the library must have freed what it allocated. The
 * first seed is run twice and both runs must narrate the same; so `fn` starts
 * from nothing each time.
 */
void m0_sim_for_each_seed(uint64_t first, unsigned                         nr,
			  void (*fn)(struct m0_sim *sim, void *arg), void *arg);

#ifdef __cplusplus
}
#endif
#endif /* M0_SIM_H */
