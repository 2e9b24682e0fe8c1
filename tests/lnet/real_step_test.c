/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Wake-ups and the descriptor of an inline node, at every place: one call is
 * stopped after each of its instructions in turn, and there another thread makes
 * the other call. Whatever the place, what was asked for shows in the descriptor
 * when both have returned, or has been done.
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "lnet/real.h"
#include "m0/lnet_run.h"

enum {
	/** Bit of the word of flags: a signal after each instruction. */
	TRAP = 0x100,
	/** Steps of one race: each costs a virtual machine dear, so long calls
	 * are not stopped at each instruction. */
	STEPS_MAX = 60000,
	POLLS_MAX = 1000
};

/* The other call may wait for what the stopped one holds: then that goes on. */
static const m0_time_t patience_ns = M0_TIME_ONE_MSEC;

struct race {
	/** The descriptor was asked for before. */
	bool ra_has_fd;
	void (*ra_stopped)(void);
	void (*ra_other)(void);
};

static const struct race    *race;
static struct m0_lnet       *lnet;
static struct m0_lnet_runner runner;
static uint64_t              at;
static uint64_t              stop_at;
/* Atomic. */
static int is_stopped;
static int is_done;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	m0_time_t   until;

	(void)sig;
	(void)info;
	if (++at != stop_at)
		return;
	until = m0_time_now() + patience_ns;
	__atomic_store_n(&is_stopped, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&is_done, __ATOMIC_ACQUIRE) &&
	       m0_time_now() < until)
		(void)sched_yield();
	uc->uc_mcontext.gregs[REG_EFL] &= ~(long long)TRAP;
}

static void in_steps(int *unused)
{
	(void)unused;
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP);
	race->ra_stopped();
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() &
				       ~(uint64_t)TRAP);
	/* The place was behind its end. */
	__atomic_store_n(&is_stopped, 1, __ATOMIC_RELEASE);
}

/* -- the calls ------------------------------------------------------------- */

static void post(void)
{
	m0_lnet_stats_reset(lnet);
}

static m0_time_t run(struct m0_lnet_runner *unused, m0_time_t now)
{
	(void)unused;
	(void)now;
	return M0_TIME_NEVER;
}

static void wake(void)
{
	m0_lnet_runner_wake(lnet, &runner);
}

static void progress(void)
{
	(void)m0_lnet_progress(lnet);
}

static void push(void)
{
	m0_lnet_push(lnet);
}

static void post_and_push(void)
{
	post();
	push();
}

static void fd_get(void)
{
	assert_true(m0_lnet_fd(lnet) >= 0);
}

static bool is_readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void poll_until_quiet(void)
{
	int fd = m0_lnet_fd(lnet);
	int i;

	for (i = 0; i < POLLS_MAX && is_readable(fd); ++i)
		progress();
}

/* -- one after the other --------------------------------------------------- */

static void node_open(void)
{
	struct m0_lnet_cfg cfg;
	char               why[M0_LNET_WHY_BYTES];

	real_cfg(&cfg, 1);
	cfg.lc_inline = true;
	assert_int_equal(m0_lnet_open(&lnet, &cfg, why), 0);
	runner.ru_run = run;
	m0_lnet_runner_add(lnet, &runner);
	/* Do the first work now; otherwise the node would do it with the posted
	 * work. */
	while (m0_lnet_progress(lnet))
		;
	if (race->ra_has_fd)
		poll_until_quiet();
}

static void node_close(void)
{
	m0_lnet_runner_del(lnet, &runner);
	m0_lnet_close(lnet);
	lnet = NULL;
}

/* @return its instructions, as far as they were counted. */
static uint64_t stopped_at(uint64_t place)
{
	struct m0_thread thread = { 0 };

	at = 0;
	stop_at = place;
	is_stopped = 0;
	is_done = 0;
	if (lnet == NULL)
		node_open();
	assert_int_equal(M0_THREAD_INIT(&thread, int *, NULL, in_steps, NULL,
					"steps"),
			 0);
	while (!__atomic_load_n(&is_stopped, __ATOMIC_ACQUIRE))
		(void)sched_yield();
	race->ra_other();
	__atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
	assert_int_equal(m0_thread_join(&thread), 0);
	m0_thread_fini(&thread);
	poll_until_quiet();
	if (m0_lnet_progress(lnet))
		fail_msg("work is left, stopped after %u instructions",
			 (unsigned)place);
	/* The descriptor is asked for only once. */
	if (!race->ra_has_fd)
		node_close();
	return at;
}

static void race_run(const struct race *of)
{
	struct sigaction sa = { .sa_sigaction = on_trap,
				.sa_flags = SA_SIGINFO };
	struct sigaction old;
	uint64_t         nr;
	uint64_t         step;
	uint64_t         place;

	race = of;
	assert_int_equal(sigaction(SIGTRAP, &sa, &old), 0);
	nr = stopped_at(UINT64_MAX);
	assert_true(nr > 0);
	step = nr * nr / 2 / STEPS_MAX + 1;
	for (place = 1; place <= nr; place += step)
		(void)stopped_at(place);
	print_message("%u instructions\n", (unsigned)nr);
	if (lnet != NULL)
		node_close();
	assert_int_equal(sigaction(SIGTRAP, &old, NULL), 0);
}

#define RACE(name, ...)                                  \
	static void name(void **state)                   \
	{                                                \
		(void)state;                             \
		race_run(&(struct race){ __VA_ARGS__ }); \
	}
RACE(post_stopped_fd_is_asked_for, .ra_stopped = post,
     .ra_other = poll_until_quiet)
RACE(post_stopped_fd_is_polled, .ra_has_fd = true, .ra_stopped = post,
     .ra_other = poll_until_quiet)
RACE(wake_stopped_fd_is_asked_for, .ra_stopped = wake,
     .ra_other = poll_until_quiet)
RACE(wake_stopped_fd_is_polled, .ra_has_fd = true, .ra_stopped = wake,
     .ra_other = poll_until_quiet)
RACE(fd_stopped_post_comes, .ra_stopped = fd_get, .ra_other = post)
RACE(fd_stopped_wake_comes, .ra_stopped = fd_get, .ra_other = wake)
RACE(poll_stopped_post_comes, .ra_has_fd = true, .ra_stopped = progress,
     .ra_other = post)
RACE(poll_stopped_wake_comes, .ra_has_fd = true, .ra_stopped = progress,
     .ra_other = wake)
RACE(poll_stopped_fd_is_asked_for, .ra_stopped = progress, .ra_other = fd_get)
RACE(push_stopped_post_comes, .ra_has_fd = true, .ra_stopped = post_and_push,
     .ra_other = post)
RACE(push_stopped_fd_is_asked_for, .ra_stopped = post_and_push,
     .ra_other = poll_until_quiet)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(post_stopped_fd_is_asked_for),
		cmocka_unit_test(post_stopped_fd_is_polled),
		cmocka_unit_test(wake_stopped_fd_is_asked_for),
		cmocka_unit_test(wake_stopped_fd_is_polled),
		cmocka_unit_test(fd_stopped_post_comes),
		cmocka_unit_test(fd_stopped_wake_comes),
		cmocka_unit_test(poll_stopped_post_comes),
		cmocka_unit_test(poll_stopped_wake_comes),
		cmocka_unit_test(poll_stopped_fd_is_asked_for),
		cmocka_unit_test(push_stopped_post_comes),
		cmocka_unit_test(push_stopped_fd_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
