/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "os/os.h"
#include "os/pass.h"

/* A strand that counts what was posted to it. */
struct counter {
	struct m0_strand co_strand;
	int              co_posted;
	int              co_seen;
	/** Seen so far equals this: tells the waiter. */
	int                 co_want;
	struct m0_semaphore co_done;
	m0_time_t           co_deadline;
	int                 co_steps_in;
	bool                co_overlapped;
	struct m0_strand   *co_current;
	m0_time_t           co_cached;
	m0_time_t           co_now;
	void (*co_extra)(struct counter *counter);
};

static int seen_of(struct counter *counter)
{
	return __atomic_load_n(&counter->co_seen, __ATOMIC_SEQ_CST);
}

static m0_time_t counter_step(struct m0_strand *strand, m0_time_t now)
{
	struct counter *counter =
		container_of(strand, struct counter, co_strand);
	int before = counter->co_seen;
	int posted;

	if (__atomic_add_fetch(&counter->co_steps_in, 1, __ATOMIC_SEQ_CST) != 1)
		counter->co_overlapped = true;
	posted = __atomic_load_n(&counter->co_posted, __ATOMIC_SEQ_CST);
	counter->co_current = m0_strand_current();
	counter->co_cached = m0_time_cached();
	counter->co_now = now;
	__atomic_store_n(&counter->co_seen, posted, __ATOMIC_SEQ_CST);
	if (counter->co_extra != NULL)
		counter->co_extra(counter);
	if (before < counter->co_want && posted >= counter->co_want)
		m0_semaphore_up(&counter->co_done);
	__atomic_sub_fetch(&counter->co_steps_in, 1, __ATOMIC_SEQ_CST);
	return counter->co_deadline;
}

static bool counter_ready(const struct m0_strand *strand)
{
	struct counter *counter =
		container_of((struct m0_strand *)(uintptr_t)strand,
			     struct counter, co_strand);

	return __atomic_load_n(&counter->co_posted, __ATOMIC_SEQ_CST) !=
	       seen_of(counter);
}

static const struct m0_strand_ops wake_ops = { .so_step = counter_step };
static const struct m0_strand_ops ready_ops = { .so_step = counter_step,
						.so_ready = counter_ready };

static struct counter counter;

static void counter_make(const struct m0_strand_ops *ops, m0_time_t spin_ns)
{
	M0_SET0(&counter);
	counter.co_deadline = M0_TIME_NEVER;
	(void)m0_semaphore_init(&counter.co_done, 0);
	m0_strand_init(&counter.co_strand, ops, "counter");
	counter.co_strand.st_spin_ns = spin_ns;
}

static void counter_end(void)
{
	m0_strand_stop(&counter.co_strand);
	m0_strand_fini(&counter.co_strand);
	m0_semaphore_fini(&counter.co_done);
	assert_false(counter.co_overlapped);
}

static void post(bool wake)
{
	__atomic_add_fetch(&counter.co_posted, 1, __ATOMIC_SEQ_CST);
	if (wake || m0_strand_sleeps(&counter.co_strand))
		m0_strand_wake(&counter.co_strand);
}

static uint64_t steps_nr(void)
{
	return __atomic_load_n(&counter.co_strand.st_steps_nr,
			       __ATOMIC_RELAXED);
}

static void until_asleep(void)
{
	while (!m0_strand_sleeps(&counter.co_strand))
		(void)sched_yield();
}

/* Start alone is a reason for a step; inside, strand and clock are known. */
static void strand_steps_once_after_start(void **state)
{
	(void)state;
	counter_make(&wake_ops, 0);
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	until_asleep();
	assert_int_equal(steps_nr(), 1);
	assert_ptr_equal(counter.co_current, &counter.co_strand);
	assert_true(counter.co_cached == counter.co_now);
	assert_null(m0_strand_current());
	counter_end();
}

/* Wakes before start and after stop do nothing. */
static void strand_wake_when_not_running_is_noop(void **state)
{
	(void)state;
	counter_make(&wake_ops, 0);
	m0_strand_wake(&counter.co_strand);
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	m0_strand_stop(&counter.co_strand);
	m0_strand_wake(&counter.co_strand);
	assert_in_range(steps_nr(), 0, 1);
	assert_panics(m0_strand_stop(&counter.co_strand));
	/* And it may start again. */
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	until_asleep();
	counter_end();
}

/* One wake of a sleeper is one step. */
static void strand_wake_makes_one_step(void **state)
{
	(void)state;
	counter_make(&wake_ops, 0);
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	until_asleep();
	counter.co_want = 1;
	post(true);
	m0_semaphore_down(&counter.co_done);
	until_asleep();
	assert_int_equal(steps_nr(), 2);
	assert_int_equal(counter.co_strand.st_wakeups_nr, 1);
	counter_end();
}

static void wake_self_twice(struct counter *self)
{
	if (self->co_strand.st_steps_nr < 3)
		m0_strand_wake(&self->co_strand);
	/* More wakes, one more step. */
	if (self->co_strand.st_steps_nr < 3)
		m0_strand_wake(&self->co_strand);
}

/* A wake during a step causes another. */
static void strand_wake_in_step_causes_another(void **state)
{
	(void)state;
	counter_make(&wake_ops, 0);
	counter.co_extra = wake_self_twice;
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	until_asleep();
	assert_int_equal(steps_nr(), 3);
	counter_end();
}

static m0_time_t deadline_set;

static void deadline_second_step(struct counter *self)
{
	if (self->co_strand.st_steps_nr == 1) {
		deadline_set = m0_time_from_now(0, 2000000);
		self->co_deadline = deadline_set;
	} else {
		self->co_deadline = M0_TIME_NEVER;
		m0_semaphore_up(&self->co_done);
	}
}

/* The step for a deadline comes after it, by sleep and by spin. */
static void strand_deadline_causes_step(void **state)
{
	static const m0_time_t spins[] = { 0, 50000, 1000000000 };
	size_t                 i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(spins); ++i) {
		counter_make(&wake_ops, spins[i]);
		counter.co_extra = deadline_second_step;
		assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
		m0_semaphore_down(&counter.co_done);
		counter_end();
		assert_true(counter.co_now >= deadline_set);
		assert_int_equal(steps_nr(), 2);
	}
}

static void deadline_stays(struct counter *self)
{
	if (self->co_strand.st_steps_nr == 1)
		deadline_set = m0_time_from_now(0, 1000000);
	self->co_deadline = deadline_set;
	if (self->co_strand.st_steps_nr < 10)
		return;
	self->co_deadline = M0_TIME_NEVER;
	m0_semaphore_up(&self->co_done);
}

/* Steps that return the deadline which has caused them are counted: all but the
 * first, which set it, and the last. */
static void strand_steps_in_vain_are_counted(void **state)
{
	(void)state;
	counter_make(&wake_ops, 0);
	counter.co_extra = deadline_stays;
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	m0_semaphore_down(&counter.co_done);
	counter_end();
	assert_int_equal(steps_nr(), 10);
	/* The step that the deadline caused may be made at that very time. */
	assert_in_range(counter.co_strand.st_vain.va_nr, 7, 8);
}

/* After a step for a deadline alone the strand sleeps at once. */
static void strand_deadline_alone_is_not_worth_spin(void **state)
{
	m0_time_t late = m0_time_from_now(5, 0);

	(void)state;
	counter_make(&ready_ops, 10 * M0_TIME_ONE_SECOND);
	counter.co_extra = deadline_second_step;
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	m0_semaphore_down(&counter.co_done);
	until_asleep();
	assert_true(m0_time_now() < late);
	assert_int_equal(steps_nr(), 2);
	counter_end();
}

/* Work after a long time is not worth a spin, work soon after work is. */
static void strand_spins_while_work_flows(void **state)
{
	m0_time_t late = m0_time_from_now(5, 0);
	int       i;

	(void)state;
	counter_make(&ready_ops, 10 * M0_TIME_ONE_SECOND);
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	until_asleep();
	assert_true(m0_time_now() < late);
	counter.co_want = 1;
	post(true);
	m0_semaphore_down(&counter.co_done);
	for (i = 0; i < 1000; ++i) {
		assert_int_equal(counter.co_strand.st_wakeups_nr, 1);
		(void)sched_yield();
	}
	assert_false(m0_strand_sleeps(&counter.co_strand));
	counter_end();
	assert_int_equal(counter.co_strand.st_wakeups_nr, 1);
}

static m0_time_t thread_cpu_ns(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return M0_MKTIME(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec,
			 (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) *
				 1000);
}

/* Idle strands make no step and use no processor, however long. */
static void strand_idle_is_quiet(void **state)
{
	static struct counter many[20];
	m0_time_t             cpu;
	size_t                i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(many); ++i) {
		many[i].co_deadline = M0_TIME_NEVER;
		m0_strand_init(&many[i].co_strand, &wake_ops, "idle");
		assert_int_equal(m0_strand_start(&many[i].co_strand, NULL), 0);
	}
	for (i = 0; i < ARRAY_SIZE(many); ++i) {
		while (!m0_strand_sleeps(&many[i].co_strand))
			(void)sched_yield();
	}
	cpu = thread_cpu_ns();
	(void)m0_nanosleep(30 * M0_TIME_ONE_MSEC, NULL);
	cpu = thread_cpu_ns() - cpu;
	for (i = 0; i < ARRAY_SIZE(many); ++i) {
		assert_int_equal(many[i].co_strand.st_wakeups_nr, 0);
		m0_strand_stop(&many[i].co_strand);
		assert_int_equal(many[i].co_strand.st_steps_nr, 1);
		m0_strand_fini(&many[i].co_strand);
	}
	assert_true(cpu < 15 * M0_TIME_ONE_MSEC);
}

enum {
	THREADS_NR = 3,
	POSTS_NR = 20000
};

static void stress(int wake)
{
	int i;

	for (i = 0; i < POSTS_NR; ++i)
		post(wake);
}

static void stress_run(const struct m0_strand_ops *ops, m0_time_t spin_ns,
		       bool wake)
{
	struct m0_thread thread[THREADS_NR];
	int              i;

	counter_make(ops, spin_ns);
	counter.co_want = THREADS_NR * POSTS_NR;
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	for (i = 0; i < THREADS_NR; ++i)
		assert_int_equal(M0_THREAD_INIT(&thread[i], int, NULL, stress,
						wake, "poster-%d", i),
				 0);
	/* A lost wake is a wait for ever. */
	assert_true(m0_semaphore_timeddown(&counter.co_done,
					   m0_time_from_now(60, 0)));
	for (i = 0; i < THREADS_NR; ++i) {
		assert_int_equal(m0_thread_join(&thread[i]), 0);
		m0_thread_fini(&thread[i]);
	}
	counter_end();
	assert_int_equal(counter.co_seen, THREADS_NR * POSTS_NR);
}

/* Many posters, each waking: the last post is always seen. */
static void strand_wakes_are_never_lost(void **state)
{
	(void)state;
	stress_run(&wake_ops, 0, true);
	stress_run(&wake_ops, 2000, true);
	stress_run(&ready_ops, 2000, true);
}

/* Posters that leave the work to a runner that does not sleep. */
static void strand_work_left_to_runner_is_never_lost(void **state)
{
	(void)state;
	stress_run(&ready_ops, 0, false);
	stress_run(&ready_ops, 1000, false);
	stress_run(&ready_ops, 50000, false);
}

enum {
	HASTE_NR = 20000
};

/* Woken again while it goes to sleep, at every moment of that. */
static void strand_wake_on_the_way_to_sleep_is_never_lost(void **state)
{
	m0_time_t limit;
	int       i;
	int       k;

	(void)state;
	counter_make(&wake_ops, 0);
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	for (i = 1; i <= HASTE_NR; ++i) {
		limit = m0_time_from_now(20, 0);
		post(true);
		for (k = 0; seen_of(&counter) < i; ++k) {
			if (k % 1000 == 999) {
				assert_true(m0_time_now() < limit);
				(void)sched_yield();
			}
		}
		for (k = i % 256; k > 0; --k)
			__asm__ volatile("" ::: "memory");
	}
	counter_end();
}

enum {
	/** Its step wakes it, so that work flows and it spins after the next. */
	LATE_BEGUN,
	LATE_FLOWS,
	LATE_LOOKS,
	LATE_WOKEN,
	LATE_DONE
};

static int late_phase;
static int late_looks_nr;
static int late_at;

static int late_get(void)
{
	return __atomic_load_n(&late_phase, __ATOMIC_SEQ_CST);
}

static void late_set(int phase)
{
	__atomic_store_n(&late_phase, phase, __ATOMIC_SEQ_CST);
}

/* The first look waits out the spin, so that those behind it are the last ones.
 * One of them wakes the strand, and says that there is nothing to do. */
static bool late_look(const struct m0_strand *strand)
{
	if (late_get() != LATE_LOOKS)
		return false;
	if (++late_looks_nr == 1)
		while (m0_time_now() < counter.co_now + 2 * M0_TIME_ONE_MSEC)
			;
	if (late_looks_nr == late_at) {
		late_set(LATE_WOKEN);
		m0_strand_wake((struct m0_strand *)(uintptr_t)strand);
	}
	return false;
}

static void late_step(struct counter *self)
{
	late_looks_nr = 0;
	if (late_get() == LATE_BEGUN)
		m0_strand_wake(&self->co_strand);
	if (late_get() != LATE_DONE)
		late_set(late_get() + 1);
}

/* Is the strand awake again? False: it slept before it looked so often. */
static bool late_one(int at)
{
	m0_time_t limit = m0_time_from_now(10, 0);

	late_at = at;
	late_set(LATE_BEGUN);
	m0_strand_wake(&counter.co_strand);
	while (late_get() != LATE_DONE) {
		if (late_get() == LATE_LOOKS &&
		    m0_strand_sleeps(&counter.co_strand))
			return false;
		assert_true(m0_time_now() < limit);
		(void)sched_yield();
	}
	return true;
}

/* A wake-up at a given look before the sleep, the last one included, is not
 * lost. */
static void strand_wake_in_last_look_is_never_lost(void **state)
{
	static const struct m0_strand_ops ops = { .so_step = counter_step,
						  .so_ready = late_look };
	int                               at = 1;

	(void)state;
	late_set(LATE_DONE);
	counter_make(&ops, M0_TIME_ONE_MSEC);
	counter.co_extra = late_step;
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	for (until_asleep(); late_one(at); until_asleep())
		++at;
	counter_end();
	/* The strand looked more than once, so it spun. */
	assert_true(at > 2);
}

/* One at a time, waiting for the echo: every sleep must be ended. */
static void strand_ping_pong_never_hangs(void **state)
{
	int i;

	(void)state;
	counter_make(&ready_ops, 3000);
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	for (i = 1; i <= 3000; ++i) {
		__atomic_store_n(&counter.co_posted, i, __ATOMIC_SEQ_CST);
		if (m0_strand_sleeps(&counter.co_strand))
			m0_strand_wake(&counter.co_strand);
		/* Sometimes long enough for it to fall asleep. */
		while (seen_of(&counter) != i)
			(void)sched_yield();
		if (i % 64 == 0)
			until_asleep();
	}
	counter_end();
}

/* How a strand sleeps that waits for descriptors: `own_fd`, and the other. */
static int own_fd = -1;
static int own_other_fd = -1;
static int own_sleeps_nr;
static int own_rouses_nr;

static bool own_take(int fd)
{
	uint64_t nr;

	return read(fd, &nr, sizeof nr) == (ssize_t)sizeof nr;
}

static void own_put(int fd)
{
	static const uint64_t one = 1;

	assert_int_equal(write(fd, &one, sizeof one), sizeof one);
}

static void own_sleep(struct m0_strand *strand, m0_time_t deadline)
{
	struct pollfd   fds[] = { { .fd = own_fd, .events = POLLIN },
				  { .fd = own_other_fd, .events = POLLIN } };
	m0_time_t       rest = m0_time_sub(deadline, m0_time_now());
	struct timespec ts = { .tv_sec = (time_t)m0_time_seconds(rest),
			       .tv_nsec = (long)m0_time_nanoseconds(rest) };

	(void)strand;
	__atomic_add_fetch(&own_sleeps_nr, 1, __ATOMIC_SEQ_CST);
	(void)ppoll(fds, ARRAY_SIZE(fds),
		    deadline == M0_TIME_NEVER ? NULL : &ts, NULL);
	(void)own_take(own_fd);
	(void)own_take(own_other_fd);
}

static void own_rouse(struct m0_strand *strand)
{
	(void)strand;
	__atomic_add_fetch(&own_rouses_nr, 1, __ATOMIC_SEQ_CST);
	own_put(own_fd);
}

static const struct m0_strand_ops own_ops = { .so_step = counter_step,
					      .so_ready = counter_ready,
					      .so_sleep = own_sleep,
					      .so_rouse = own_rouse };

static void own_open(void)
{
	own_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	own_other_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(own_fd >= 0 && own_other_fd >= 0);
	own_sleeps_nr = 0;
	own_rouses_nr = 0;
}

static void own_close(void)
{
	assert_int_equal(close(own_fd), 0);
	assert_int_equal(close(own_other_fd), 0);
}

static int atomic_get(const int *nr)
{
	return __atomic_load_n(nr, __ATOMIC_SEQ_CST);
}

/* A wake ends a sleep of the strand's own by so_rouse, and only a sleep. */
static void strand_own_sleep_is_roused_by_wake(void **state)
{
	(void)state;
	own_open();
	counter_make(&own_ops, 0);
	counter.co_extra = wake_self_twice;
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	until_asleep();
	assert_int_equal(steps_nr(), 3);
	assert_int_equal(atomic_get(&own_rouses_nr), 0);
	counter.co_want = 1;
	post(true);
	m0_semaphore_down(&counter.co_done);
	until_asleep();
	assert_int_equal(atomic_get(&own_rouses_nr), 1);
	counter_end();
	assert_int_equal(own_rouses_nr, 2);
	own_close();
}

static void tell_other(struct counter *self)
{
	if (self->co_strand.st_steps_nr == 2)
		m0_semaphore_up(&self->co_done);
}

/* A sleep that ends by itself is followed by a step, without any wake. */
static void strand_own_sleep_ends_for_own_reason(void **state)
{
	(void)state;
	own_open();
	counter_make(&own_ops, 0);
	counter.co_extra = tell_other;
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	until_asleep();
	own_put(own_other_fd);
	m0_semaphore_down(&counter.co_done);
	until_asleep();
	assert_int_equal(steps_nr(), 2);
	assert_int_equal(atomic_get(&own_rouses_nr), 0);
	counter_end();
	own_close();
}

/* The deadline of a step is that of the sleep. */
static void strand_own_sleep_keeps_deadline(void **state)
{
	(void)state;
	own_open();
	counter_make(&own_ops, 0);
	counter.co_extra = deadline_second_step;
	assert_int_equal(m0_strand_start(&counter.co_strand, NULL), 0);
	m0_semaphore_down(&counter.co_done);
	counter_end();
	assert_true(own_sleeps_nr >= 1);
	assert_true(counter.co_now >= deadline_set);
	own_close();
}

/* A rouse between the last look and the sleep ends it, as every other does. */
static void strand_own_sleep_loses_no_wake(void **state)
{
	(void)state;
	own_open();
	stress_run(&own_ops, 0, true);
	stress_run(&own_ops, 0, false);
	stress_run(&own_ops, 2000, false);
	assert_true(own_rouses_nr > 0);
	own_close();
}

/* Sleeping without rousing could not be ended. */
static void strand_own_sleep_needs_rouse(void **state)
{
	static const struct m0_strand_ops half = { .so_step = counter_step,
						   .so_sleep = own_sleep };

	(void)state;
	assert_panics(m0_strand_init(&counter.co_strand, &half, "half"));
}

static int wait_hit_nr;

static void wait_hook(const struct m0_panic_place *place, const char *text)
{
	(void)place;
	if (strstr(text, "blocking on strand counter") != NULL)
		++wait_hit_nr;
	longjmp(panics_env, 1);
}

static void wait_in_step(struct counter *self)
{
	m0_log_set(panics_no_log, NULL);
	m0_panic_hook_set(wait_hook);
	if (setjmp(panics_env) == 0)
		(void)m0_semaphore_timeddown(&self->co_done, 0);
	if (setjmp(panics_env) == 0)
		(void)m0_nanosleep(1, NULL);
	m0_panic_hook_set(NULL);
	m0_log_set(NULL, NULL);
}

/* Nothing blocks on a strand. */
static void strand_step_may_not_block(void **state)
{
	(void)state;
	counter_make(&wake_ops, 0);
	counter.co_extra = wait_in_step;
	(void)m0_strand_step(&counter.co_strand, 5);
	assert_int_equal(wait_hit_nr, 2);
	m0_strand_fini(&counter.co_strand);
}

static struct m0_mutex forgotten = M0_MUTEX_SINIT(&forgotten);

static void forget_lock(struct counter *self)
{
	(void)self;
	m0_mutex_lock(&forgotten);
}

/* A lock that a step forgets is noticed at its end. */
static void strand_step_may_not_keep_lock(void **state)
{
	(void)state;
	counter_make(&wake_ops, 0);
	counter.co_extra = forget_lock;
	assert_panics(m0_strand_step(&counter.co_strand, 5));
	assert_null(m0_strand_current());
	m0_mutex_unlock(&forgotten);
}

/* Confined to one processor, or refused and not started. */
static void strand_start_confines(void **state)
{
	struct m0_bitmap map;
	cpu_set_t        set;
	size_t           cpu = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
	while (!CPU_ISSET(cpu, &set))
		++cpu;
	counter_make(&wake_ops, 0);
	assert_int_equal(m0_bitmap_init(&map, CPU_SETSIZE), 0);
	assert_int_equal(m0_strand_start(&counter.co_strand, &map), -EINVAL);
	m0_bitmap_set(&map, CPU_SETSIZE - 1, true);
	assert_int_equal(m0_strand_start(&counter.co_strand, &map), -EINVAL);
	assert_false(counter.co_strand.st_started);
	assert_int_equal(steps_nr(), 0);
	m0_bitmap_reset(&map);
	m0_bitmap_set(&map, cpu, true);
	assert_int_equal(m0_strand_start(&counter.co_strand, &map), 0);
	m0_bitmap_fini(&map);
	assert_int_equal(sched_getaffinity(counter.co_strand.st_thread.t_tid,
					   sizeof set, &set),
			 0);
	assert_int_equal(CPU_COUNT(&set), 1);
	assert_true(CPU_ISSET(cpu, &set));
	counter_end();
}

/* The default spin is the environment's, if that is a number. */
static void strand_spin_default_reads_environment(void **state)
{
	m0_time_t built_in = m0_os_cpus_nr() == 1 ? 0 : 50000;

	(void)state;
	unsetenv("M0_SPIN_NS");
	assert_true(m0_os_spin_ns_default() == built_in);
	setenv("M0_SPIN_NS", "1234", 1);
	assert_true(m0_os_spin_ns_default() == 1234);
	setenv("M0_SPIN_NS", "0", 1);
	assert_true(m0_os_spin_ns_default() == 0);
	setenv("M0_SPIN_NS", "-5", 1);
	assert_true(m0_os_spin_ns_default() == built_in);
	setenv("M0_SPIN_NS", "12x", 1);
	assert_true(m0_os_spin_ns_default() == built_in);
	unsetenv("M0_SPIN_NS");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strand_steps_once_after_start),
		cmocka_unit_test(strand_wake_when_not_running_is_noop),
		cmocka_unit_test(strand_wake_makes_one_step),
		cmocka_unit_test(strand_steps_in_vain_are_counted),
		cmocka_unit_test(strand_wake_in_step_causes_another),
		cmocka_unit_test(strand_deadline_causes_step),
		cmocka_unit_test(strand_deadline_alone_is_not_worth_spin),
		cmocka_unit_test(strand_spins_while_work_flows),
		cmocka_unit_test(strand_idle_is_quiet),
		cmocka_unit_test(strand_wakes_are_never_lost),
		cmocka_unit_test(strand_wake_on_the_way_to_sleep_is_never_lost),
		cmocka_unit_test(strand_wake_in_last_look_is_never_lost),
		cmocka_unit_test(strand_work_left_to_runner_is_never_lost),
		cmocka_unit_test(strand_ping_pong_never_hangs),
		cmocka_unit_test(strand_own_sleep_is_roused_by_wake),
		cmocka_unit_test(strand_own_sleep_ends_for_own_reason),
		cmocka_unit_test(strand_own_sleep_keeps_deadline),
		cmocka_unit_test(strand_own_sleep_loses_no_wake),
		cmocka_unit_test(strand_own_sleep_needs_rouse),
		cmocka_unit_test(strand_step_may_not_block),
		cmocka_unit_test(strand_step_may_not_keep_lock),
		cmocka_unit_test(strand_start_confines),
		cmocka_unit_test(strand_spin_default_reads_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
