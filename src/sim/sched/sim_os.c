/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The simulator's table behind os: clock, strands, waits, descriptors, random
 * bytes. Mutexes stay real and are never contended: one thread, and nothing
 * switches while one is held.
 */
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sim/sched/sim_internal.h"

/* Where the simulated wall clock starts: 2020-09-13, 12:26:40 UTC. */
#define SIM_WALL_START (1600000000ULL * M0_TIME_ONE_SECOND)

/* -- time ---------------------------------------------------------------- */

static m0_time_t sim_now(void)
{
	struct m0_sim_core *core = m0_sim__core();

	/* The clock stands still during a pass; a read by the application costs
	 * time. */
	if (!core->simk_in_turn && core->simk_cfg.simc_now_ns_max > 0)
		m0_sim__advance(
			core,
			core->simk_now +
				m0_sim__draw(core,
					     core->simk_cfg.simc_now_ns_max));
	return core->simk_now;
}

const struct sim_place *m0_sim__place(const struct m0_sim_core *core)
{
	const struct m0_strand  *strand = m0_strand_current();
	const struct sim_strand *entry;

	if (strand == NULL)
		return core->simk_place;
	entry = strand->st_runner;
	return entry != NULL ? entry->sims_place : NULL;
}

static const void *sim_process(void)
{
	return m0_sim__place(m0_sim__core());
}

static uint64_t sim_wall(void)
{
	struct m0_sim_core     *core = m0_sim__core();
	const struct sim_place *place = m0_sim__place(core);
	uint64_t                wall = SIM_WALL_START + core->simk_now;

	return place == NULL ? wall : wall + (uint64_t)place->spc_skew_ns;
}

static void sim_random(void *ret_bytes, size_t nr)
{
	m0_rand_fill(&m0_sim__core()->simk_os_rand, ret_bytes, nr);
}

/* -- strands ------------------------------------------------------------- */

static bool strand_is_slow(struct m0_sim_core *core)
{
	return core->simk_cfg.simc_slow_pct > 0 &&
	       m0_rand_below(&core->simk_sched_rand, 100) <
		       core->simk_cfg.simc_slow_pct;
}

static bool strand_is_named(const struct m0_sim_core *core, const char *name)
{
	size_t i;

	for (i = 0; i < core->simk_strands_nr; ++i)
		if (strcmp(core->simk_strands[i]->sims_name, name) == 0)
			return true;
	return false;
}

/* The name, with the first free number if it is taken. */
static void strand_name(const struct m0_sim_core *core,
			struct sim_strand *entry, const char *base)
{
	char    *name = entry->sims_name;
	unsigned nr;

	(void)snprintf(name, SIM_NAME_LEN + 1, "%.15s", base);
	for (nr = 2; strand_is_named(core, name); ++nr)
		(void)snprintf(name, SIM_NAME_LEN + 1, "%.15s.%u", base, nr);
}

void m0_sim__entry_add(struct m0_sim_core *core, struct sim_strand *entry,
		       const char *name)
{
	size_t nr = core->simk_strands_nr;

	strand_name(core, entry, name);
	core->simk_strands = m0_sim__grow(core->simk_strands, nr,
					  &core->simk_strands_max,
					  sizeof core->simk_strands[0]);
	core->simk_ready = m0_sim__realloc(core->simk_ready, nr + 2,
					   sizeof core->simk_ready[0]);
	core->simk_strands[core->simk_strands_nr++] = entry;
}

void m0_sim__entry_del(struct m0_sim_core *core, struct sim_strand *entry)
{
	size_t i;

	for (i = 0; core->simk_strands[i] != entry; ++i)
		M0_ASSERT(i + 1 < core->simk_strands_nr);
	--core->simk_strands_nr;
	memmove(&core->simk_strands[i], &core->simk_strands[i + 1],
		(core->simk_strands_nr - i) * sizeof core->simk_strands[0]);
}

static int sim_strand_start(struct m0_strand       *strand,
			    const struct m0_bitmap *cpus)
{
	struct m0_sim_core *core = m0_sim__core();
	struct sim_strand  *entry;

	if (cpus != NULL && !m0_os_cpus_valid(cpus))
		return -EINVAL;
	entry = m0_sim__realloc(NULL, 1, sizeof *entry);
	*entry = (struct sim_strand){
		.sims_strand = strand,
		.sims_deadline = core->simk_now,
		.sims_wake_at = M0_TIME_NEVER,
		.sims_order = ++core->simk_order,
		.sims_place = m0_sim__place(core),
	};
	if (strand_is_slow(core))
		entry->sims_late_ns_max = core->simk_cfg.simc_late_ns_max;
	if (entry->sims_place != NULL)
		entry->sims_late_ns_max =
			max64u(entry->sims_late_ns_max,
			       entry->sims_place->spc_late_ns_max);
	m0_sim__entry_add(core, entry, strand->st_name);
	strand->st_runner = entry;
	m0_sim__trace(core, m0_sim__speaker(core), "sched", "start %s%s",
		      entry->sims_name,
		      entry->sims_late_ns_max > 0 ? ", slow" : "");
	return 0;
}

/* No strand has processors of its own. */
static int sim_strand_confine(struct m0_strand       *strand,
			      const struct m0_bitmap *cpus)
{
	(void)strand;
	return m0_os_cpus_valid(cpus) ? 0 : -EINVAL;
}

void m0_sim__place_late(struct m0_sim_core *core, const struct sim_place *place,
			m0_time_t late_ns_max)
{
	size_t i;

	for (i = 0; i < core->simk_strands_nr; ++i)
		if (core->simk_strands[i]->sims_place == place)
			core->simk_strands[i]->sims_late_ns_max = late_ns_max;
}

void m0_sim__place_forget(struct m0_sim_core     *core,
			  const struct sim_place *place)
{
	size_t i;

	if (core->simk_place == place)
		core->simk_place = NULL;
	for (i = 0; i < core->simk_strands_nr; ++i)
		if (core->simk_strands[i]->sims_place == place)
			core->simk_strands[i]->sims_place = NULL;
}

void m0_sim__strand_roused(struct m0_strand *strand)
{
	__atomic_add_fetch(&strand->st_wakeups_nr, 1, __ATOMIC_RELAXED);
}

static void sim_strand_wake(struct m0_strand *strand)
{
	struct m0_sim_core *core = m0_sim__core();
	struct sim_strand  *entry = strand->st_runner;

	M0_ASSERT(entry != NULL && entry->sims_strand == strand);
	if (entry->sims_woken)
		return;
	if (m0_strand_sleeps(strand))
		m0_sim__strand_roused(strand);
	entry->sims_woken = true;
	entry->sims_wake_at = core->simk_now +
			      m0_sim__draw(core, entry->sims_late_ns_max);
	/* First come, first served, by the time of the wake, not of the last
	 * step. */
	entry->sims_order = ++core->simk_order;
	m0_sim__trace(core, m0_sim__speaker(core), "sched", "wake %s",
		      entry->sims_name);
}

static void sim_strand_stop(struct m0_strand *strand)
{
	struct m0_sim_core *core = m0_sim__core();
	struct sim_strand  *entry = strand->st_runner;

	M0_ASSERT(entry != NULL && entry->sims_strand == strand);
	M0_ASSERT_INFO(!entry->sims_in_step, "%s stopped inside its own step",
		       entry->sims_name);
	m0_sim__entry_del(core, entry);
	m0_sim__trace(core, m0_sim__speaker(core), "sched", "stop %s",
		      entry->sims_name);
	strand->st_runner = NULL;
	free(entry);
}

/*
 * As with threads, a strand that runs, is owed a step, or spins does not sleep,
 * so a thread may leave work to it without a wake.
 */
static bool sim_strand_sleeps(const struct m0_strand *strand)
{
	const struct sim_strand *entry = strand->st_runner;

	return entry != NULL && !entry->sims_in_step && !entry->sims_woken &&
	       m0_sim__core()->simk_now >= entry->sims_spin_until &&
	       entry->sims_steps_nr > 0;
}

/* -- waits --------------------------------------------------------------- */

static bool pred_semaphore(void *arg)
{
	return m0_semaphore_trydown(arg);
}

/* The wait of the program that runs, if one does. */
static bool program_waits(struct m0_sim_core *core, struct m0_semaphore *what,
			  m0_time_t deadline, bool *got)
{
	struct sim_strand *entry = core->simk_program;

	m0_sim__may_wait(core);
	if (entry == NULL)
		return false;
	entry->sims_locked_nr = m0_mutex_held_nr() > 0;
	core->simk_locked_nr += entry->sims_locked_nr;
	*got = entry->sims_program->spo_wait(entry, what, deadline);
	core->simk_locked_nr -= entry->sims_locked_nr;
	entry->sims_locked_nr = 0;
	return true;
}

static bool sim_wait(struct m0_semaphore *semaphore, m0_time_t deadline)
{
	struct m0_sim_core *core = m0_sim__core();
	bool                got;

	if (program_waits(core, semaphore, deadline, &got))
		return got;
	return m0_sim__run(core, pred_semaphore, semaphore, deadline);
}

static void sim_post(struct m0_semaphore *semaphore)
{
	/* The waiter checks after each turn. */
	(void)semaphore;
}

static bool pred_never(void *arg)
{
	(void)arg;
	return false;
}

static void sim_sleep(m0_time_t deadline)
{
	struct m0_sim_core *core = m0_sim__core();
	bool                got;

	if (!program_waits(core, NULL, deadline, &got))
		(void)m0_sim__run(core, pred_never, NULL, deadline);
}

/* A thread that yields is overtaken by others; time passes for it, too. */
static void sim_yield(void)
{
	struct m0_sim_core *core = m0_sim__core();
	bool                in_turn = core->simk_in_turn;

	M0_ASSERT_INFO(m0_mutex_held_nr() == 0, "a yield with a lock held");
	core->simk_in_turn = false;
	m0_sim__move(core, m0_time_add(core->simk_now, SIM_YIELD_NS));
	core->simk_in_turn = in_turn;
}

/* -- descriptors --------------------------------------------------------- */

/*
 * As the real ones, but with an eventfd for the timer, which is written to when
 * virtual time has come: so poll() with no time-out returns the right state.
 */
static int sim_fd_open(struct m0_os_fd *fd)
{
	struct m0_sim_core *core = m0_sim__core();
	struct epoll_event  event = { .events = EPOLLIN };
	struct sim_fd      *entry = m0_sim__realloc(NULL, 1, sizeof *entry);

	entry->simf_fd = fd;
	entry->simf_deadline = M0_TIME_NEVER;
	fd->of_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fd->of_timer = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fd->of_fd = epoll_create1(EPOLL_CLOEXEC);
	M0_ASSERT(fd->of_event >= 0 && fd->of_timer >= 0 && fd->of_fd >= 0);
	if (epoll_ctl(fd->of_fd, EPOLL_CTL_ADD, fd->of_event, &event) != 0 ||
	    epoll_ctl(fd->of_fd, EPOLL_CTL_ADD, fd->of_timer, &event) != 0)
		M0_IMPOSSIBLE("epoll_ctl");
	entry->simf_fds[0] = fd->of_fd;
	entry->simf_fds[1] = fd->of_event;
	entry->simf_fds[2] = fd->of_timer;
	core->simk_fds = m0_sim__grow(core->simk_fds, core->simk_fds_nr,
				      &core->simk_fds_max,
				      sizeof core->simk_fds[0]);
	core->simk_fds[core->simk_fds_nr++] = entry;
	fd->of_runner = entry;
	return 0;
}

static void fd_entry_free(struct sim_fd *entry)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(entry->simf_fds); ++i)
		(void)close(entry->simf_fds[i]);
	free(entry);
}

static void sim_fd_close(struct m0_os_fd *fd)
{
	struct m0_sim_core *core = m0_sim__core();
	struct sim_fd      *entry = fd->of_runner;
	size_t              i;

	/* Like the real table, do nothing with a descriptor that is not
	 * open. */
	if (entry != NULL) {
		for (i = 0; core->simk_fds[i] != entry; ++i)
			M0_ASSERT(i + 1 < core->simk_fds_nr);
		core->simk_fds[i] = core->simk_fds[--core->simk_fds_nr];
		fd_entry_free(entry);
	}
	M0_SET0(fd);
	fd->of_fd = -1;
	fd->of_event = -1;
	fd->of_timer = -1;
	fd->of_deadline = M0_TIME_NEVER;
}

static void fd_expire(const struct m0_sim_core *core, struct sim_fd *entry)
{
	uint64_t one = 1;

	if (entry->simf_deadline > core->simk_now)
		return;
	entry->simf_deadline = M0_TIME_NEVER;
	if (write(entry->simf_fds[2], &one, sizeof one) < 0)
		M0_IMPOSSIBLE("eventfd");
}

static void sim_fd_arm(struct m0_os_fd *fd, m0_time_t deadline)
{
	struct sim_fd *entry = fd->of_runner;
	uint64_t       nr;

	M0_PRE(entry != NULL);
	/* The descriptor is no longer readable for the old deadline. */
	if (read(fd->of_timer, &nr, sizeof nr) < 0)
		M0_ASSERT(errno == EAGAIN);
	entry->simf_deadline = deadline;
	fd_expire(m0_sim__core(), entry);
}

void m0_sim__fd_expire(struct m0_sim_core *core)
{
	size_t i;

	for (i = 0; i < core->simk_fds_nr; ++i)
		fd_expire(core, core->simk_fds[i]);
}

m0_time_t m0_sim__fd_next(const struct m0_sim_core *core)
{
	m0_time_t next = M0_TIME_NEVER;
	size_t    i;

	for (i = 0; i < core->simk_fds_nr; ++i)
		next = min64u(next, core->simk_fds[i]->simf_deadline);
	return next;
}

void m0_sim__fds_drop(struct m0_sim_core *core)
{
	while (core->simk_fds_nr > 0)
		fd_entry_free(core->simk_fds[--core->simk_fds_nr]);
	free(core->simk_fds);
}

const struct m0_os_ops m0_sim__os = {
	.oo_now = sim_now,
	.oo_wall = sim_wall,
	.oo_strand_start = sim_strand_start,
	.oo_strand_confine = sim_strand_confine,
	.oo_strand_wake = sim_strand_wake,
	.oo_strand_stop = sim_strand_stop,
	.oo_strand_sleeps = sim_strand_sleeps,
	.oo_wait = sim_wait,
	.oo_post = sim_post,
	.oo_sleep = sim_sleep,
	.oo_fd_open = sim_fd_open,
	.oo_fd_close = sim_fd_close,
	.oo_fd_arm = sim_fd_arm,
	.oo_random = sim_random,
	.oo_yield = sim_yield,
	.oo_process = sim_process,
};
