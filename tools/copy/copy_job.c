/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * One copy: the life of its roles, of which the receiver may be elsewhere, and
 * signals. The roles' work is in copy_send.c and copy_recv.c.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "copy_args.h"
#include "copy_role.h"
#include "copy_show.h"
#include "../base/stop.h"
#include "../base/text.h"

enum {
	/** Milliseconds between two looks at the progress. */
	TICK_MSEC = 100
};

/* One copy that runs. */
struct copy_job {
	const struct copy_args *cj_args;
	struct copy_plan        cj_plan;
	struct src_file         cj_src;
	struct dst_file         cj_dst;
	/** EP:PATH; not cj_far: DST and the receiver are here. */
	bool                 cj_far;
	struct copy_target   cj_target;
	struct copy_sender   cj_sender;
	struct copy_receiver cj_receiver;
	/** Readable when a signal has come, and when the sender is done. */
	int                cj_signal_fd;
	int                cj_done_fd;
	m0_time_t          cj_start;
	struct copy_result cj_result;
};

static void job_interrupt(struct copy_job *job)
{
	struct copy_sender *sender = &job->cj_sender;
	struct tool_port   *port = &sender->cs_port;

	m0_mutex_lock(&port->tpo_lock);
	if (job->cj_far && sender->cs_ending)
		tool_port_fail(port, -EINTR,
			       "interrupted at the very end; look whether "
			       "DST '%s' is there",
			       job->cj_args->ca_dst);
	else
		tool_port_fail(port, -EINTR,
			       "interrupted; nothing was written at DST '%s'",
			       job->cj_far ? job->cj_args->ca_dst
					   : job->cj_dst.df_path);
	m0_mutex_unlock(&port->tpo_lock);
	if (!job->cj_far)
		copy_receiver_cancel(&job->cj_receiver);
}

static uint64_t job_bytes(struct copy_job *job)
{
	struct tool_port *port = &job->cj_sender.cs_port;
	uint64_t          bytes;

	m0_mutex_lock(&port->tpo_lock);
	bytes = job->cj_sender.cs_bytes;
	m0_mutex_unlock(&port->tpo_lock);
	return bytes;
}

static void job_wait(struct copy_job *job)
{
	struct pollfd fds[] = {
		{ .fd = job->cj_done_fd, .events = POLLIN },
		{ .fd = job->cj_signal_fd, .events = POLLIN },
	};
	const struct tool_port *port = &job->cj_sender.cs_port;
	struct copy_progress    progress;
	int                     alive_ms = 0;

	if (port->tpo_timeout_ns != 0)
		alive_ms = (int)max64u(
			tool_port_alive_ns(port) / M0_TIME_ONE_MSEC, 1);
	copy_progress_init(&progress, (uint64_t)job->cj_src.sf_stat.st_size,
			   job->cj_args->ca_quiet);
	for (;;) {
		int nr = poll(fds, ARRAY_SIZE(fds),
			      progress.cg_on ? TICK_MSEC
			      : alive_ms > 0 ? alive_ms
					     : -1);

		if (nr > 0 && (fds[0].revents & POLLIN))
			break;
		if (nr > 0 && (fds[1].revents & POLLIN)) {
			job_interrupt(job);
			fds[1].fd = -1;
		}
		copy_sender_tick(&job->cj_sender);
		copy_progress_show(&progress, job_bytes(job));
	}
	copy_progress_end(&progress);
}

static void stats_take(struct tool_stats *stats, const char *name,
		       struct tool_port *port)
{
	stats->tst_machine = name;
	(void)m0_net_tm_stats_get(&port->tpo_node.tn_tm, M0_NET_QT_NR,
				  stats->tst_queues, false);
}

static void job_result(struct copy_job *job)
{
	struct copy_result *r = &job->cj_result;

	r->ct_total_ns = m0_time_sub(m0_time_now(), job->cj_start);
	stats_take(&r->ct_stats[COPY_SENDER], "sender",
		   &job->cj_sender.cs_port);
	if (!job->cj_far)
		stats_take(&r->ct_stats[COPY_RECEIVER], "receiver",
			   &job->cj_receiver.cr_port);
}

/* Both roles, from start to end. Their failures stay in their ports. */
static void job_move(struct copy_job *job)
{
	struct copy_sender   *sender = &job->cj_sender;
	struct copy_receiver *receiver = &job->cj_receiver;

	if (copy_receiver_run(receiver) == 0 &&
	    copy_sender_run(sender,
			    tool_node_addr(&receiver->cr_port.tpo_node)) == 0) {
		job_wait(job);
		job_result(job);
	}
	if (tool_port_rc(&sender->cs_port) != 0)
		copy_receiver_cancel(receiver);
	copy_receiver_stop(receiver);
	copy_sender_stop(sender);
}

/* Moves the data to a receiver in another process. */
static void job_move_far(struct copy_job *job)
{
	if (copy_sender_call(&job->cj_sender, &job->cj_target) == 0) {
		job_wait(job);
		job_result(job);
	}
	copy_sender_stop(&job->cj_sender);
}

/*
 * Returns true if END was sent and no END_REPLY was received. An interruption has a
 * message of its own.
 */
static bool job_is_unknown(const struct copy_job *job)
{
	const struct copy_sender *sender = &job->cj_sender;

	return job->cj_far && sender->cs_ending && !sender->cs_ended &&
	       sender->cs_port.tpo_rc != -EINTR;
}

/* Report the failure that came first. */
static void job_verdict(struct copy_job *job)
{
	const struct copy_sender *sender = &job->cj_sender;
	const struct tool_port   *from = &sender->cs_port;

	/* Also if a signal came too late. */
	if (job->cj_far ? sender->cs_committed : job->cj_receiver.cr_committed)
		return;
	if (!job->cj_far && (from->tpo_rc == 0 || sender->cs_peer_failed ||
			     job->cj_dst.df_committed))
		from = &job->cj_receiver.cr_port;
	if (from->tpo_rc != 0)
		tool_fail_set(job->cj_args->ca_fail, TOOL_FAILED, "%s%s",
			      from->tpo_fail.tf_text,
			      job_is_unknown(job)
				      ? "; look whether DST is there"
				      : "");
}

static void job_plan(struct copy_job *job)
{
	const struct copy_args *args = job->cj_args;
	struct copy_result     *r = &job->cj_result;
	struct copy_plan       *plan = &job->cj_plan;
	uint64_t                size = (uint64_t)job->cj_src.sf_stat.st_size;

	r->ct_src = args->ca_src;
	r->ct_dst = job->cj_far ? args->ca_dst : job->cj_dst.df_path;
	r->ct_transport = args->ca_xprt->txp_name;
	r->ct_bytes = size;
	r->ct_block = args->ca_block;
	r->ct_inflight = (uint32_t)args->ca_inflight;
	r->ct_blocks_nr = size / args->ca_block +
			  (size % args->ca_block != 0 ? 1 : 0);
	r->ct_stats_nr = job->cj_far ? COPY_RECEIVER : COPY_ROLES_NR;
	/* A small file needs less memory than that. */
	plan->cpl_xprt = args->ca_xprt;
	plan->cpl_verify = args->ca_verify;
	plan->cpl_size = size;
	plan->cpl_block = max64u(min64u(args->ca_block, size), 1);
	plan->cpl_inflight =
		(uint32_t)max64u(min64u(args->ca_inflight, r->ct_blocks_nr), 1);
}

static int job_number(struct copy_job *job)
{
	struct copy_plan *plan = &job->cj_plan;
	int               rc = tool_conv_make(&plan->cpl_conv);

	plan->cpl_timeout_ns = job->cj_args->ca_timeout_ms * M0_TIME_ONE_MSEC;
	plan->cpl_addr = job->cj_args->ca_ep;
	if (rc != 0)
		tool_fail_set(job->cj_args->ca_fail, TOOL_FAILED,
			      "no random number: %s", tool_errtext(rc));
	return rc;
}

static void job_both(struct copy_job *job)
{
	if (copy_receiver_open(&job->cj_receiver, &job->cj_plan, &job->cj_dst,
			       NULL, -1) == 0 &&
	    copy_sender_open(&job->cj_sender, &job->cj_plan, &job->cj_src,
			     job->cj_done_fd) == 0)
		job_move(job);
	else
		copy_receiver_stop(&job->cj_receiver);
	copy_sender_stop(&job->cj_sender);
	job->cj_result.ct_verify_ns = job->cj_receiver.cr_phases.cph_verify_ns;
	job->cj_result.ct_sync_ns = job->cj_receiver.cr_phases.cph_sync_ns;
}

static void job_far(struct copy_job *job)
{
	if (job_number(job) == 0 &&
	    copy_sender_open(&job->cj_sender, &job->cj_plan, &job->cj_src,
			     job->cj_done_fd) == 0)
		job_move_far(job);
	copy_sender_stop(&job->cj_sender);
}

static void job_run(struct copy_job *job)
{
	job->cj_start = m0_time_now();
	if (job->cj_far)
		job_far(job);
	else
		job_both(job);
	job->cj_result.ct_verified = job->cj_far
					     ? job->cj_sender.cs_end.cm_flags ==
						       COPY_FLAG_VERIFIED
					     : job->cj_plan.cpl_verify;
	memcpy(job->cj_result.ct_sum, job->cj_sender.cs_sum, HASH_BYTES);
	job_verdict(job);
	copy_sender_close(&job->cj_sender);
	if (!job->cj_far)
		copy_receiver_close(&job->cj_receiver);
}

/* Splits EP:PATH; what PATH is, the receiver knows. */
static void target_set(struct copy_job *job, const char *path)
{
	const struct copy_args *args = job->cj_args;
	struct copy_target     *target = &job->cj_target;
	const char             *slash = strrchr(args->ca_src, '/');
	size_t                  nr = (size_t)(path - args->ca_dst) - 1;

	target->cta_base = slash != NULL ? slash + 1 : args->ca_src;
	if (nr >= sizeof target->cta_addr ||
	    strlen(path) >= sizeof target->cta_name) {
		tool_fail_set(args->ca_fail, TOOL_USAGE,
			      "DST '%s' is too long a name", args->ca_dst);
		return;
	}
	memcpy(target->cta_addr, args->ca_dst, nr);
	target->cta_addr[nr] = '\0';
	strcpy(target->cta_name, path);
	if (tool_place_is_alone(&args->ca_place, target->cta_addr))
		tool_fail_set(args->ca_fail, TOOL_USAGE,
			      "DST '%s' is at this process' own NID; two "
			      "processes of a host need two, say --net "
			      "'tcp(127.0.0.1)'",
			      args->ca_dst);
	(void)tool_place_peer_check(&args->ca_place, target->cta_addr, "DST",
				    args->ca_fail);
}

static int job_open(struct copy_job *job)
{
	const struct copy_args *args = job->cj_args;
	const char             *path = tool_place_split(args->ca_dst);

	job->cj_far = path != NULL;
	if (src_file_open(&job->cj_src, args->ca_src, args->ca_fail) != 0)
		return args->ca_fail->tf_exit;
	if (path != NULL)
		target_set(job, path);
	else
		(void)dst_file_open(&job->cj_dst, args->ca_dst, &job->cj_src,
				    args->ca_fail);
	if (args->ca_fail->tf_exit != TOOL_OK)
		src_file_close(&job->cj_src);
	return args->ca_fail->tf_exit;
}

static void result_say(const struct copy_args   *args,
		       const struct copy_result *result)
{
	struct stop_page page;
	FILE            *file = stop_page_open(&page);
	int              rc = -ENOMEM;

	if (file != NULL) {
		if (args->ca_json)
			copy_result_json(result, file);
		else
			copy_result_print(result, file);
		rc = stop_page_say(&page, stdout, args->ca_signal_fd);
	}
	if (rc == -EINTR)
		tool_fail_set(args->ca_fail, TOOL_FAILED,
			      "interrupted; DST '%s' is there, but standard "
			      "output took no result",
			      result->ct_dst);
	else if (rc != 0)
		tool_fail_set(args->ca_fail, TOOL_FAILED,
			      "DST '%s' is there; no memory for the result",
			      result->ct_dst);
}

void copy_job_run(const struct copy_args *args)
{
	struct copy_job job = {
		.cj_args = args,
		.cj_signal_fd = args->ca_signal_fd,
		.cj_done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};

	if (job.cj_done_fd < 0) {
		tool_fail_set(args->ca_fail, TOOL_FAILED, "signals: %s",
			      tool_errtext(errno));
		return;
	}
	if (job_open(&job) == 0) {
		job_plan(&job);
		job_run(&job);
		if (!job.cj_far)
			dst_file_close(&job.cj_dst);
		src_file_close(&job.cj_src);
	}
	(void)close(job.cj_done_fd);
	if (args->ca_fail->tf_exit != TOOL_OK ||
	    (args->ca_quiet && !args->ca_json))
		return;
	result_say(args, &job.cj_result);
}
