/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Lanes of a simulated node: strands that move large payloads between streams and the
 * memory of their user, as lnd/tcp does by threads. The scheduler draws when they run,
 * so a payload may come or leave before, between and after all that the node's strand
 * does meanwhile.
 *
 * A job is one direction of an end. The lane that has it tries it in each of its steps,
 * and gives it back when all was moved, the stream has ended, or it has waited for
 * WAIT_NS; the node's strand takes it back in a pass.
 */
#include <stdlib.h>

#include "sim/net/sim_net_internal.h"
#include "stream/segs.h"

enum {
	LANE_IOV_NR = 64,
	/** Most bytes of one turn. */
	CALL_BYTES = 1 << 20
};
#define WAIT_NS (20 * M0_TIME_ONE_MSEC)

enum job_state {
	JOB_ACTIVE,
	JOB_WAITS,
	/** Everything was moved; the lane gives it back when it has had the time that
	 * this takes. */
	JOB_DONE,
	JOB_BACK
};

struct sim_job {
	struct sim_end *sij_end;
	bool            sij_is_out;
	enum job_state  sij_state;
	/** Segments [at, nr). */
	struct iovec sij_iov[LANE_IOV_NR];
	unsigned     sij_at;
	unsigned     sij_nr;
	size_t       sij_moved;
	/** 1; 0: the end of the stream; a negative errno. */
	ssize_t   sij_rc;
	m0_time_t sij_deadline;
	/** In sla_jobs of its lane, or in sno_back. */
	struct sim_lane *sij_lane;
	TAILQ_ENTRY(sim_job) sij_link;
};

struct sim_lane {
	struct m0_strand sla_strand;
	struct sim_io   *sla_io;
	struct sim_jobs  sla_jobs;
	unsigned         sla_jobs_nr;
	/** The lane is busy with bytes until then. */
	m0_time_t sla_busy_until;
};

m0_time_t m0_sim__copy_ns(size_t bytes)
{
	uint64_t rate = m0_sim__net()->sin_copy_bytes;

	return rate == 0 ? 0 : bytes * M0_TIME_ONE_SECOND / rate;
}

/* -- the lane's side -------------------------------------------------------- */

static void job_back(struct sim_job *job)
{
	struct sim_lane *lane = job->sij_lane;

	M0_PRE(job->sij_state != JOB_BACK);
	TAILQ_REMOVE(&lane->sla_jobs, job, sij_link);
	--lane->sla_jobs_nr;
	job->sij_state = JOB_BACK;
	TAILQ_INSERT_TAIL(&lane->sla_io->sno_back, job, sij_link);
	m0_sim__reactor_wake(lane->sla_io->sno_reactor);
}

/* Segments of one turn, at times fewer bytes than there are. */
static unsigned call_plan(const struct sim_job *job, struct iovec *iov)
{
	struct m0_rand *rand = &m0_sim__net()->sin_rand;
	size_t          left = CALL_BYTES;

	if (m0_rand_below(rand, 4) == 0)
		left = m0_rand_in(rand, 1, CALL_BYTES);
	return m0_stream_segs_plan(&job->sij_iov[job->sij_at],
				   job->sij_nr - job->sij_at, left, iov);
}

static void job_advance(struct sim_job *job, size_t nr)
{
	job->sij_moved += nr;
	job->sij_at += m0_stream_segs_advance(&job->sij_iov[job->sij_at], nr);
}

static ssize_t job_call(struct sim_job *job)
{
	struct iovec    iov[LANE_IOV_NR];
	unsigned        nr = call_plan(job, iov);
	struct sim_end *end = job->sij_end;
	ssize_t         rc;

	if (!job->sij_is_out) {
		++end->sie_stream.stm_counts->stc_reads_nr;
		return m0_sim__end_readv(end, iov, nr);
	}
	++end->sie_stream.stm_counts->stc_writes_nr;
	rc = m0_sim_stream_write(m0_sim__stream(end), end->sie_nr, iov, nr);
	return rc == 0 ? -EAGAIN : rc;
}

static void job_turn(struct sim_lane *lane, struct sim_job *job, m0_time_t now)
{
	ssize_t nr = job_call(job);

	if (nr == -EAGAIN) {
		job->sij_state = JOB_WAITS;
		if (job->sij_deadline == 0)
			job->sij_deadline = m0_time_add(now, WAIT_NS);
		if (job->sij_deadline <= now)
			job_back(job);
		return;
	}
	if (nr <= 0) {
		job->sij_rc = nr;
		job_back(job);
		return;
	}
	job_advance(job, (size_t)nr);
	lane->sla_busy_until = m0_time_add(now, m0_sim__copy_ns((size_t)nr));
	job->sij_state = job->sij_at == job->sij_nr ? JOB_DONE : JOB_ACTIVE;
}

static void done_give(struct sim_lane *lane)
{
	struct sim_job *job = TAILQ_FIRST(&lane->sla_jobs);
	struct sim_job *next;

	for (; job != NULL; job = next) {
		next = TAILQ_NEXT(job, sij_link);
		if (job->sij_state == JOB_DONE)
			job_back(job);
	}
}

static m0_time_t lane_next(const struct sim_lane *lane)
{
	const struct sim_job *job;
	m0_time_t             next = M0_TIME_NEVER;

	TAILQ_FOREACH(job, &lane->sla_jobs, sij_link)
		next = min64u(next, job->sij_state == JOB_WAITS
					    ? job->sij_deadline
					    : M0_TIME_IMMEDIATELY);
	return next;
}

static m0_time_t lane_step(struct m0_strand *strand, m0_time_t now)
{
	struct sim_lane *lane =
		container_of(strand, struct sim_lane, sla_strand);
	struct sim_job *job;
	unsigned        nr;

	if (now < lane->sla_busy_until)
		return lane->sla_busy_until;
	done_give(lane);
	for (nr = lane->sla_jobs_nr; nr > 0 && now >= lane->sla_busy_until;
	     --nr) {
		job = TAILQ_FIRST(&lane->sla_jobs);
		TAILQ_REMOVE(&lane->sla_jobs, job, sij_link);
		TAILQ_INSERT_TAIL(&lane->sla_jobs, job, sij_link);
		job_turn(lane, job, now);
	}
	if (now < lane->sla_busy_until)
		return lane->sla_busy_until;
	done_give(lane);
	return lane_next(lane);
}

static const struct m0_strand_ops lane_ops = { .so_step = lane_step };

/* -- the node's side -------------------------------------------------------- */

static struct sim_lane *lane_choose(struct sim_io *io)
{
	struct sim_lane *best = &io->sno_lanes[0];
	unsigned         i;

	for (i = 1; i < io->sno_lanes_nr; ++i)
		if (io->sno_lanes[i].sla_jobs_nr < best->sla_jobs_nr)
			best = &io->sno_lanes[i];
	return best;
}

bool m0_sim__lane_takes(const struct sim_io *io, size_t bytes)
{
	return io->sno_lanes_nr > 0 && bytes >= SIM_LANE_BYTES;
}

void m0_sim__lane_give(struct sim_end *end, bool is_out,
		       const struct iovec *iov, unsigned nr)
{
	struct sim_lane *lane = lane_choose(end->sie_io);
	struct sim_job  *job = m0_sim__realloc(NULL, 1, sizeof *job);

	M0_PRE(nr > 0 && nr <= LANE_IOV_NR && end->sie_job[is_out] == NULL);
	*job = (struct sim_job){ .sij_end = end,
				 .sij_is_out = is_out,
				 .sij_state = JOB_ACTIVE,
				 .sij_nr = nr,
				 .sij_rc = 1,
				 .sij_lane = lane };
	memcpy(job->sij_iov, iov, nr * sizeof *iov);
	end->sie_job[is_out] = job;
	TAILQ_INSERT_TAIL(&lane->sla_jobs, job, sij_link);
	++lane->sla_jobs_nr;
	m0_strand_wake(&lane->sla_strand);
}

void m0_sim__lane_notice(struct sim_end *end)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(end->sie_job); ++i)
		if (end->sie_job[i] != NULL &&
		    end->sie_job[i]->sij_state != JOB_BACK)
			m0_strand_wake(&end->sie_job[i]->sij_lane->sla_strand);
}

void m0_sim__lane_recall(struct sim_end *end)
{
	if (end->sie_job[0] != NULL && end->sie_job[0]->sij_state != JOB_BACK)
		job_back(end->sie_job[0]);
}

static void job_free(struct sim_job *job)
{
	M0_PRE(job->sij_state == JOB_BACK);
	TAILQ_REMOVE(&job->sij_lane->sla_io->sno_back, job, sij_link);
	job->sij_end->sie_job[job->sij_is_out] = NULL;
	free(job);
}

void m0_sim__lane_drop(struct sim_end *end)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(end->sie_job); ++i) {
		struct sim_job *job = end->sie_job[i];

		if (job == NULL)
			continue;
		if (job->sij_state != JOB_BACK)
			job_back(job);
		job_free(job);
	}
}

struct sim_end *m0_sim__lane_back(struct sim_io *io, struct sim_back *ret)
{
	struct sim_job *job = TAILQ_FIRST(&io->sno_back);
	struct sim_end *end;

	if (job == NULL)
		return NULL;
	end = job->sij_end;
	*ret = (struct sim_back){ .sba_is_out = job->sij_is_out,
				  .sba_moved = job->sij_moved,
				  .sba_rc = job->sij_rc };
	end->sie_stream.stm_counts->stc_lane_bytes += job->sij_moved;
	job_free(job);
	return end;
}

/* -- life --------------------------------------------------------------------- */

void m0_sim__lanes_start(struct sim_io *io, unsigned nr)
{
	unsigned i;
	int      rc;

	TAILQ_INIT(&io->sno_back);
	if (nr < 2)
		return;
	io->sno_lanes = m0_sim__realloc(NULL, nr, sizeof io->sno_lanes[0]);
	for (i = 0; i < nr; ++i) {
		struct sim_lane *lane = &io->sno_lanes[i];

		*lane = (struct sim_lane){ .sla_io = io };
		TAILQ_INIT(&lane->sla_jobs);
		m0_strand_init(&lane->sla_strand, &lane_ops, "m0-lane");
		rc = m0_strand_start(&lane->sla_strand, NULL);
		M0_ASSERT_INFO(rc == 0, "a lane of the simulator: %d", rc);
	}
	io->sno_lanes_nr = nr;
}

void m0_sim__lanes_stop(struct sim_io *io)
{
	unsigned i;

	M0_PRE(TAILQ_EMPTY(&io->sno_back));
	for (i = 0; i < io->sno_lanes_nr; ++i) {
		M0_ASSERT(io->sno_lanes[i].sla_jobs_nr == 0);
		m0_strand_stop(&io->sno_lanes[i].sla_strand);
		m0_strand_fini(&io->sno_lanes[i].sla_strand);
	}
	free(io->sno_lanes);
	io->sno_lanes = NULL;
	io->sno_lanes_nr = 0;
}
