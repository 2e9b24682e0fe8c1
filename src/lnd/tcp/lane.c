/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Jobs travel in two stacks, linked by ljb_next: from the strand to each lane, and
 * from all lanes to the strand. The taker takes all at once, so no pop can meet a
 * push, and reverses the order. A job has no lock: the exchange that takes it
 * orders all accesses before and after it.
 *
 * The last access of a lane to a job is its push; from then on the strand may use
 * it for something else.
 */
#include <sys/socket.h>

#include "lnd/tcp/lane.h"
#include "stream/segs.h"

struct m0_lane {
	struct m0_strand lne_strand;
	struct m0_loop   lne_loop;
	struct m0_lanes *lne_lanes;
	/** Jobs from the strand. Atomic. */
	struct m0_lane_job *lne_given;
	/** The lane's own: jobs that can go on, and jobs that wait for their
	 * descriptor. */
	struct m0_list lne_active;
	struct m0_list lne_waiting;
	/** The strand's: jobs that this lane has. */
	unsigned lne_jobs_nr;
	bool     lne_is_started;
};

struct m0_lanes {
	unsigned        las_nr;
	struct m0_lane *las_lane;
	/** Jobs from the lanes. Atomic. */
	struct m0_lane_job *las_done;
	/** The strand's: jobs that are free; jobs taken from las_done. */
	struct m0_list las_free;
	struct m0_list las_back;
	unsigned       las_away_nr;
	void (*las_rouse)(void *arg);
	void               *las_rouse_arg;
	struct m0_lane_job *las_jobs;
};

/* -- stacks ---------------------------------------------------------------- */

static void stack_push(struct m0_lane_job **stack, struct m0_lane_job *job)
{
	struct m0_lane_job *top = __atomic_load_n(stack, __ATOMIC_RELAXED);

	do {
		job->ljb_next = top;
	} while (!__atomic_compare_exchange_n(
		stack, &top, job, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
}

/* Moves all of a stack to the end of a list, the oldest first. */
static void stack_take(struct m0_lane_job **stack, struct m0_list *list)
{
	struct m0_list      oldest;
	struct m0_lane_job *job;
	struct m0_lane_job *next;

	if (__atomic_load_n(stack, __ATOMIC_RELAXED) == NULL)
		return;
	m0_list_init(&oldest);
	job = __atomic_exchange_n(stack, NULL, __ATOMIC_SEQ_CST);
	for (; job != NULL; job = next) {
		next = job->ljb_next;
		m0_list_add(&oldest, &job->ljb_link);
	}
	m0_list_splice_tail(list, &oldest);
}

static struct m0_lane_job *job_of(struct m0_list_link *link)
{
	return link == NULL ? NULL
			    : container_of(link, struct m0_lane_job, ljb_link);
}

/* -- the lane's side ------------------------------------------------------- */

static bool is_stopped(const struct m0_lane_job *job)
{
	return __atomic_load_n(&job->ljb_stop, __ATOMIC_ACQUIRE) != 0;
}

static void job_end(struct m0_lane *lane, struct m0_lane_job *job)
{
	struct m0_lanes *lanes = lane->lne_lanes;

	if (job->ljb_is_watched)
		m0_loop_del(&lane->lne_loop, &job->ljb_watch);
	job->ljb_is_watched = false;
	m0_list_del(&job->ljb_link);
	stack_push(&lanes->las_done, job);
	lanes->las_rouse(lanes->las_rouse_arg);
}

/* The descriptor has something, or takes something: events come once for each change,
 * so one that comes for a job that does not wait says nothing new. */
static void job_event(struct m0_loop_fd *fd, unsigned events)
{
	struct m0_lane_job *job =
		container_of(fd, struct m0_lane_job, ljb_watch);

	(void)events;
	m0_list_move_tail(&job->ljb_lane->lne_active, &job->ljb_link);
}

static void job_advance(struct m0_lane_job *job, size_t nr)
{
	job->ljb_moved += nr;
	job->ljb_at += m0_stream_segs_advance(&job->ljb_iov[job->ljb_at], nr);
}

static ssize_t job_call(struct m0_lane_job *job)
{
	struct iovec  iov[M0_LANE_SEGS_MAX];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t       nr;

	msg.msg_iovlen = m0_stream_segs_plan(&job->ljb_iov[job->ljb_at],
					     job->ljb_nr - job->ljb_at,
					     job->ljb_call_bytes, iov);
	do {
		++job->ljb_calls_nr;
		nr = job->ljb_is_out ? sendmsg(job->ljb_fd, &msg,
					       MSG_NOSIGNAL | MSG_DONTWAIT)
				     : recvmsg(job->ljb_fd, &msg, MSG_DONTWAIT);
	} while (nr < 0 && errno == EINTR);
	return nr < 0 ? -errno : nr;
}

/* Waits for the descriptor. The loop reports what is there already, too. */
static void job_wait(struct m0_lane *lane, struct m0_lane_job *job,
		     m0_time_t now)
{
	int rc = 0;

	m0_list_move_tail(&lane->lne_waiting, &job->ljb_link);
	if (job->ljb_deadline == 0)
		job->ljb_deadline = m0_time_add(now, M0_LANE_WAIT_NS);
	if (!job->ljb_is_watched)
		rc = m0_loop_add_for(&lane->lne_loop, &job->ljb_watch,
				     job->ljb_is_out ? M0_LOOP_OUT
						     : M0_LOOP_IN);
	job->ljb_is_watched = rc == 0;
	/* Epoll's limits: the strand does the rest. */
	if (rc != 0)
		job_end(lane, job);
}

/* One call for a job. */
static void job_turn(struct m0_lane *lane, struct m0_lane_job *job,
		     m0_time_t now)
{
	ssize_t nr = 0;

	if (!is_stopped(job)) {
		nr = job_call(job);
		if (nr == -EAGAIN) {
			job_wait(lane, job, now);
			return;
		}
		job->ljb_is_end = nr == 0 && !job->ljb_is_out;
		if (nr > 0)
			job_advance(job, (size_t)nr);
		else
			job->ljb_rc = (int)nr;
	}
	if (nr <= 0 || job->ljb_at == job->ljb_nr)
		job_end(lane, job);
}

/* Gives back what has waited for long enough, or is recalled.
 * @return the next deadline. */
static m0_time_t waiting_look(struct m0_lane *lane, m0_time_t now)
{
	m0_time_t            next = M0_TIME_NEVER;
	struct m0_list_link *link;
	struct m0_list_link *after;

	m0_list_for_each_safe(&lane->lne_waiting, link, after) {
		struct m0_lane_job *job = job_of(link);

		if (job->ljb_deadline <= now || is_stopped(job))
			job_end(lane, job);
		else
			next = min64u(next, job->ljb_deadline);
	}
	return next;
}

static struct m0_lane *lane_of(struct m0_strand *strand)
{
	return container_of(strand, struct m0_lane, lne_strand);
}

static m0_time_t lane_step(struct m0_strand *strand, m0_time_t now)
{
	struct m0_lane      *lane = lane_of(strand);
	struct m0_list       turn;
	struct m0_list_link *link;
	struct m0_list_link *after;
	m0_time_t            next;

	stack_take(&lane->lne_given, &lane->lne_active);
	/* While some jobs go on, others may become ready. */
	if (!m0_list_is_empty(&lane->lne_active) &&
	    !m0_list_is_empty(&lane->lne_waiting))
		(void)m0_loop_wait(&lane->lne_loop, M0_TIME_IMMEDIATELY);
	m0_list_init(&turn);
	m0_list_splice_tail(&turn, &lane->lne_active);
	m0_list_for_each_safe(&turn, link, after)
		job_turn(lane, job_of(link), now);
	m0_list_splice_tail(&lane->lne_active, &turn);
	next = waiting_look(lane, now);
	return m0_list_is_empty(&lane->lne_active) ? next : M0_TIME_IMMEDIATELY;
}

static void lane_sleep(struct m0_strand *strand, m0_time_t deadline)
{
	(void)m0_loop_wait(&lane_of(strand)->lne_loop, deadline);
}

static void lane_rouse(struct m0_strand *strand)
{
	m0_loop_rouse(&lane_of(strand)->lne_loop);
}

static const struct m0_strand_ops lane_ops = {
	.so_step = lane_step,
	.so_sleep = lane_sleep,
	.so_rouse = lane_rouse,
};

/* -- the strand's side ----------------------------------------------------- */

struct m0_lane_job *m0_lanes_get(struct m0_lanes *lanes)
{
	struct m0_list_link *link = m0_list_first(&lanes->las_free);
	struct m0_lane_job  *job = job_of(link);

	if (job == NULL)
		return NULL;
	m0_list_del(link);
	job->ljb_call_bytes = M0_LANE_CALL_BYTES;
	job->ljb_at = 0;
	job->ljb_nr = 0;
	job->ljb_moved = 0;
	job->ljb_calls_nr = 0;
	job->ljb_rc = 0;
	job->ljb_is_end = false;
	return job;
}

void m0_lanes_put(struct m0_lanes *lanes, struct m0_lane_job *job)
{
	m0_list_add(&lanes->las_free, &job->ljb_link);
}

static struct m0_lane *lane_choose(struct m0_lanes *lanes, unsigned hint)
{
	struct m0_lane *best = &lanes->las_lane[hint % lanes->las_nr];
	unsigned        i;

	for (i = 0; i < lanes->las_nr; ++i)
		if (lanes->las_lane[i].lne_jobs_nr < best->lne_jobs_nr)
			best = &lanes->las_lane[i];
	return best;
}

unsigned m0_lanes_give(struct m0_lanes *lanes, struct m0_lane_job *job,
		       unsigned hint)
{
	struct m0_lane *lane = lane_choose(lanes, hint);

	M0_PRE(job->ljb_nr <= M0_LANE_SEGS_MAX);
	M0_PRE(job->ljb_at < job->ljb_nr);
	job->ljb_lane = lane;
	job->ljb_is_back = false;
	job->ljb_deadline = 0;
	job->ljb_stop = 0;
	job->ljb_watch.lof_fd = job->ljb_fd;
	job->ljb_watch.lof_handler = job_event;
	++lane->lne_jobs_nr;
	++lanes->las_away_nr;
	stack_push(&lane->lne_given, job);
	m0_strand_wake(&lane->lne_strand);
	return (unsigned)(lane - lanes->las_lane);
}

/* Takes all that the lanes have given back. */
static void back_look(struct m0_lanes *lanes)
{
	struct m0_list       list;
	struct m0_list_link *link;

	m0_list_init(&list);
	stack_take(&lanes->las_done, &list);
	m0_list_for_each(&list, link) {
		struct m0_lane_job *job = job_of(link);

		job->ljb_is_back = true;
		--job->ljb_lane->lne_jobs_nr;
		--lanes->las_away_nr;
	}
	m0_list_splice_tail(&lanes->las_back, &list);
}

struct m0_lane_job *m0_lanes_back(struct m0_lanes *lanes)
{
	struct m0_list_link *link;

	back_look(lanes);
	link = m0_list_first(&lanes->las_back);
	if (link != NULL)
		m0_list_del(link);
	return job_of(link);
}

bool m0_lanes_has_back(const struct m0_lanes *lanes)
{
	return __atomic_load_n(&lanes->las_done, __ATOMIC_RELAXED) != NULL ||
	       !m0_list_is_empty(&lanes->las_back);
}

void m0_lanes_stop(struct m0_lanes *lanes, struct m0_lane_job *job)
{
	M0_PRE(job->ljb_lane != NULL);
	__atomic_store_n(&job->ljb_stop, 1, __ATOMIC_SEQ_CST);
	back_look(lanes);
	if (!job->ljb_is_back)
		m0_strand_wake(&job->ljb_lane->lne_strand);
	while (!job->ljb_is_back) {
		m0_os_yield();
		back_look(lanes);
	}
}

void m0_lanes_recall(struct m0_lanes *lanes, struct m0_lane_job *job)
{
	m0_lanes_stop(lanes, job);
	M0_ASSERT(m0_list_link_is_in(&job->ljb_link));
	m0_list_del(&job->ljb_link);
}

unsigned m0_lanes_away_nr(const struct m0_lanes *lanes)
{
	return lanes->las_away_nr;
}

/* -- life ------------------------------------------------------------------ */

static int lane_start(struct m0_lanes *lanes, struct m0_lane *lane,
		      const struct m0_bitmap *cpus)
{
	int rc;

	lane->lne_lanes = lanes;
	m0_list_init(&lane->lne_active);
	m0_list_init(&lane->lne_waiting);
	rc = m0_loop_init(&lane->lne_loop);
	if (rc != 0)
		return rc;
	m0_strand_init(&lane->lne_strand, &lane_ops, "m0-lane");
	lane->lne_strand.st_spin_ns = 0;
	rc = m0_strand_start(&lane->lne_strand, cpus);
	if (rc != 0)
		m0_loop_fini(&lane->lne_loop);
	lane->lne_is_started = rc == 0;
	return rc;
}

static void lane_stop(struct m0_lane *lane)
{
	if (!lane->lne_is_started)
		return;
	m0_strand_stop(&lane->lne_strand);
	m0_strand_fini(&lane->lne_strand);
	m0_loop_fini(&lane->lne_loop);
}

static void lanes_free(struct m0_lanes *lanes)
{
	unsigned i;

	for (i = 0; lanes->las_lane != NULL && i < lanes->las_nr; ++i)
		lane_stop(&lanes->las_lane[i]);
	m0_free(lanes->las_jobs);
	m0_free(lanes->las_lane);
	m0_free(lanes);
}

static int lanes_fill(struct m0_lanes *lanes, const struct m0_bitmap *cpus)
{
	unsigned jobs_nr = lanes->las_nr * M0_LANE_JOBS_NR;
	unsigned i;
	int      rc = 0;

	M0_ALLOC_ARR(lanes->las_lane, lanes->las_nr);
	M0_ALLOC_ARR(lanes->las_jobs, jobs_nr);
	if (lanes->las_lane == NULL || lanes->las_jobs == NULL)
		return -ENOMEM;
	for (i = 0; i < jobs_nr; ++i) {
		m0_list_link_init(&lanes->las_jobs[i].ljb_link);
		m0_lanes_put(lanes, &lanes->las_jobs[i]);
	}
	for (i = 0; rc == 0 && i < lanes->las_nr; ++i)
		rc = lane_start(lanes, &lanes->las_lane[i], cpus);
	return rc;
}

int m0_lanes_create(struct m0_lanes **ret, unsigned nr,
		    const struct m0_bitmap *cpus, void (*rouse)(void *),
		    void                   *rouse_arg)
{
	struct m0_lanes *lanes;
	int              rc;

	M0_PRE(nr >= 1 && nr <= M0_LANES_MAX);
	M0_ALLOC_PTR(lanes);
	if (lanes == NULL)
		return -ENOMEM;
	lanes->las_nr = nr;
	lanes->las_rouse = rouse;
	lanes->las_rouse_arg = rouse_arg;
	m0_list_init(&lanes->las_free);
	m0_list_init(&lanes->las_back);
	rc = lanes_fill(lanes, cpus);
	if (rc != 0)
		lanes_free(lanes);
	else
		*ret = lanes;
	return rc;
}

void m0_lanes_destroy(struct m0_lanes *lanes)
{
	M0_PRE(lanes->las_away_nr == 0);
	M0_PRE(m0_list_is_empty(&lanes->las_back));
	lanes_free(lanes);
}
