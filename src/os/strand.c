/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The real runner: one thread for each strand.
 *
 * st_word holds three bits. WAKE: a step is owed. SLEEP: the thread is asleep,
 * or about to be. STOP: it shall end. The thread clears WAKE before a step, so
 * that what is posted during the step is owed another. It goes to sleep by
 * setting SLEEP in a word that is otherwise 0, and then asks so_ready once more:
 * work that was left to it without a wake, by somebody who did not see SLEEP,
 * is seen there. The waker that adds WAKE to a SLEEP makes the system call.
 *
 * That call is the futex's, or so_rouse if the strand sleeps in a way of its
 * own. The futex goes to sleep only while the word is SLEEP alone, so a wake
 * between the word and the call is not lost. so_sleep does not look at the word:
 * there so_rouse must stick, and end the so_sleep that is about to begin. A
 * so_rouse may come late, when its waker was held up between the word and the
 * call; then it ends a later so_sleep for nothing. so_sleep may also return for
 * a reason of its own; a step follows whatever the reason was.
 */
#include "base/tls.h"
#include "os/os_internal.h"
#include "m0/log.h"

enum {
	WAKE = 1,
	SLEEP = 2,
	STOP = 4
};

/* Reads of the word for one read of the clock. */
enum {
	LOOKS_NR = 8
};

/* Work flows if some comes at least once in this many spin times. */
enum {
	FLOW_SPINS_NR = 4
};

/** Part of a spin before other threads may have the processor. */
#define ALONE_NS (2 * M0_TIME_ONE_USEC)

M0_TLS_STATIC(struct m0_strand *, strand_here);

static bool is_started(const struct m0_strand *strand)
{
	return __atomic_load_n(&strand->st_started, __ATOMIC_ACQUIRE);
}

static void started_set(struct m0_strand *strand, bool val)
{
	__atomic_store_n(&strand->st_started, val, __ATOMIC_RELEASE);
}

/* One thread writes the counter; any thread reads it. */
static void count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

void m0_strand_init(struct m0_strand *strand, const struct m0_strand_ops *ops,
		    const char *name)
{
	M0_PRE(ops->so_step != NULL);
	M0_PRE((ops->so_sleep == NULL) == (ops->so_rouse == NULL));
	M0_SET0(strand);
	strand->st_ops = ops;
	strand->st_name = name;
	strand->st_spin_ns = m0_os_spin_ns_default();
}

void m0_strand_fini(struct m0_strand *strand)
{
	M0_PRE(!is_started(strand));
}

int m0_strand_start(struct m0_strand *strand, const struct m0_bitmap *cpus)
{
	int rc;

	M0_PRE(!is_started(strand));
	started_set(strand, true);
	rc = m0_os_get()->oo_strand_start(strand, cpus);
	if (rc != 0)
		started_set(strand, false);
	return rc;
}

void m0_strand_wake(struct m0_strand *strand)
{
	if (is_started(strand))
		m0_os_get()->oo_strand_wake(strand);
}

bool m0_strand_sleeps(const struct m0_strand *strand)
{
	return m0_os_get()->oo_strand_sleeps(strand);
}

void m0_strand_stop(struct m0_strand *strand)
{
	M0_PRE(is_started(strand));
	M0_PRE(m0_strand_current() != strand);
	m0_os_get()->oo_strand_stop(strand);
	started_set(strand, false);
}

int m0_strand_confine(struct m0_strand *strand, const struct m0_bitmap *cpus)
{
	M0_PRE(is_started(strand));
	return m0_os_get()->oo_strand_confine(strand, cpus);
}

void m0_vain_count(struct m0_vain *vain, const char *name)
{
	__atomic_add_fetch(&vain->va_nr, 1, __ATOMIC_RELAXED);
	if (++vain->va_row_nr != M0_VAIN_ROW_MAX)
		return;
	m0_log(M0_LOG_ERROR,
	       "strand %s: %d steps in a row did nothing for a deadline that "
	       "has passed; it takes a processor",
	       name, (int)M0_VAIN_ROW_MAX);
	M0_ASSERT_EX(vain->va_row_nr < M0_VAIN_ROW_MAX);
}

struct m0_strand *m0_strand_current(void)
{
	return *strand_here();
}

m0_time_t m0_strand_step(struct m0_strand *strand, m0_time_t now)
{
	struct m0_strand *before = *strand_here();
	uint32_t          held_nr = m0_mutex_held_nr();
	m0_time_t         deadline;

	*strand_here() = strand;
	m0_time_pass_begin(now);
	count(&strand->st_steps_nr);
	deadline = strand->st_ops->so_step(strand, now);
	/* Nodes return `now` where other strands return M0_TIME_IMMEDIATELY. */
	m0_vain_note(&strand->st_vain, strand->st_name, now,
		     deadline == now ? M0_TIME_IMMEDIATELY : deadline);
	m0_time_pass_end();
	*strand_here() = before;
	/* An application may hold a mutex of its own while it polls. */
	M0_ASSERT_INFO(m0_mutex_held_nr() == held_nr, "after a step of %s",
		       strand->st_name);
	return deadline;
}

void m0_strand_forget(void)
{
	*strand_here() = NULL;
	m0_pass_tls()->ps_depth = 0;
	m0_sync__here()->sy_held_nr = 0;
}

static uint32_t word_of(const struct m0_strand *strand)
{
	return __atomic_load_n(&strand->st_word, __ATOMIC_ACQUIRE);
}

static bool is_ready(const struct m0_strand *strand)
{
	return strand->st_ops->so_ready != NULL &&
	       strand->st_ops->so_ready(strand);
}

static bool has_work(const struct m0_strand *strand)
{
	return word_of(strand) != 0 || is_ready(strand);
}

/*
 * Look for work for st_spin_ns, at most until the deadline. Return true if
 * there is some. Yield the processor to other threads: one of them may bring
 * the work.
 */
static bool runner_spin(struct m0_strand *strand, m0_time_t deadline)
{
	m0_time_t now = m0_os__now();
	m0_time_t end = m0_time_add(now, strand->st_spin_ns);
	m0_time_t alone = m0_time_add(now, ALONE_NS);
	unsigned  i;

	for (; now < end; now = m0_os__now()) {
		if (now >= deadline)
			return true;
		if (now >= alone)
			m0_os__yield();
		for (i = 0; i < LOOKS_NR; ++i) {
			if (has_work(strand))
				return true;
			m0_os__pause();
		}
	}
	return now >= deadline || has_work(strand);
}

static void futex_sleep(struct m0_strand *strand, m0_time_t deadline)
{
	bool in_time = true;

	while (in_time && word_of(strand) == SLEEP)
		in_time = m0_os__futex_wait(&strand->st_word, SLEEP, deadline);
}

static void runner_sleep(struct m0_strand *strand, m0_time_t deadline)
{
	uint32_t word = 0;

	if (!__atomic_compare_exchange_n(&strand->st_word, &word, SLEEP, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE))
		return;
	if (!is_ready(strand)) {
		if (strand->st_ops->so_sleep != NULL)
			strand->st_ops->so_sleep(strand, deadline);
		else
			futex_sleep(strand, deadline);
		count(&strand->st_wakeups_nr);
	}
	__atomic_and_fetch(&strand->st_word, ~(uint32_t)SLEEP,
			   __ATOMIC_SEQ_CST);
}

/* State that one round of the runner passes to the next. */
struct round {
	/** When the last step was made, and the deadline it returned. */
	m0_time_t ro_now;
	m0_time_t ro_deadline;
	/** Time of the last step that was made for more than a deadline. */
	m0_time_t ro_worked;
};

/*
 * Does work flow, so that a spin may pay? It does not if only a deadline caused
 * this step, nor if the step before was long ago: messages that come now and
 * then are not worth a spin each. The first two of a burst find a sleeper.
 */
static bool work_flows(const struct m0_strand *strand, struct round *round,
		       uint32_t word, m0_time_t now)
{
	m0_time_t gap = m0_time_sub(now, round->ro_worked);

	if (!(word & WAKE) && round->ro_deadline > round->ro_now &&
	    now >= round->ro_deadline)
		return false;
	round->ro_worked = now;
	return gap / FLOW_SPINS_NR < strand->st_spin_ns;
}

static void runner_main(struct m0_strand *strand)
{
	struct round round = { .ro_deadline = M0_TIME_NEVER };
	uint32_t     word;
	bool         flows;

	for (;;) {
		m0_time_t now;

		word = __atomic_fetch_and(&strand->st_word, ~(uint32_t)WAKE,
					  __ATOMIC_SEQ_CST);
		if (word & STOP)
			break;
		m0_os__give_way();
		now = m0_os__now();
		flows = work_flows(strand, &round, word, now);
		round.ro_now = now;
		round.ro_deadline = m0_strand_step(strand, now);
		/* Both spin and sleep check the word, too. */
		if (word_of(strand) != 0)
			continue;
		if (!flows || !runner_spin(strand, round.ro_deadline))
			runner_sleep(strand, round.ro_deadline);
	}
}

static int runner_init(struct m0_strand *strand)
{
	return m0_os__runner_init(strand->st_runner);
}

int m0_os__strand_start(struct m0_strand *strand, const struct m0_bitmap *cpus)
{
	int rc;

	__atomic_store_n(&strand->st_word, 0, __ATOMIC_SEQ_CST);
	strand->st_runner = (void *)(uintptr_t)cpus;
	rc = M0_THREAD_INIT(&strand->st_thread, struct m0_strand *, runner_init,
			    runner_main, strand, "%s", strand->st_name);
	strand->st_runner = NULL;
	return rc;
}

int m0_os__strand_confine(struct m0_strand       *strand,
			  const struct m0_bitmap *cpus)
{
	return m0_thread_confine(&strand->st_thread, cpus);
}

static void runner_post(struct m0_strand *strand, uint32_t bit)
{
	/* Read first: from the futex' call on, only its address is used. */
	void (*rouse)(struct m0_strand *) = strand->st_ops->so_rouse;
	uint32_t word =
		__atomic_fetch_or(&strand->st_word, bit, __ATOMIC_SEQ_CST);

	if (word != SLEEP && !(bit == STOP && (word & SLEEP)))
		return;
	if (rouse != NULL)
		rouse(strand);
	else
		m0_os__futex_wake(&strand->st_word, 1);
}

void m0_os__strand_wake(struct m0_strand *strand)
{
	runner_post(strand, WAKE);
}

void m0_os__strand_stop(struct m0_strand *strand)
{
	int rc;

	runner_post(strand, STOP);
	rc = m0_thread_join(&strand->st_thread);
	M0_ASSERT(rc == 0);
	m0_thread_fini(&strand->st_thread);
}

/*
 * The caller's post must be visible before it learns that the runner does not
 * sleep, since the caller may then leave. See runner_sleep() for the other
 * side.
 */
bool m0_os__strand_sleeps(const struct m0_strand *strand)
{
#ifdef M0_SYNC_TSAN
	/* The sanitizer does not model fences. */
	uint32_t *word = (uint32_t *)(uintptr_t)&strand->st_word;

	return __atomic_fetch_add(word, 0, __ATOMIC_SEQ_CST) & SLEEP;
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return word_of(strand) & SLEEP;
#endif
}
