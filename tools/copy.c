/* SPDX-License-Identifier: Apache-2.0 */
/**
 * `colibri copy`: options, the life of the two roles, and signals. The roles'
 * work is in copy_send.c and copy_recv.c.
 */
#include <argp.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "copy_role.h"
#include "copy_show.h"
#include "text.h"

enum {
	INFLIGHT_DEF = 8,
	INFLIGHT_MAX = 256,
	/** Milliseconds between two looks at the progress. */
	TICK_MSEC = 100
};

#define BLOCK_DEF (1ULL << 20)
/** Memory of one role's blocks. */
#define WINDOW_MAX (1ULL << 30)

struct copy_args {
	const char       *ca_src;
	const char       *ca_dst;
	const char       *ca_transport;
	uint64_t          ca_block;
	uint64_t          ca_inflight;
	bool              ca_verify;
	bool              ca_json;
	bool              ca_quiet;
	struct tool_fail *ca_fail;
};

enum {
	KEY_NO_VERIFY = 256
};

static const struct argp_option copy_options[] = {
	{ "block", 'b', "SIZE", 0,
	  "Bytes moved at a time, as 4096, 64K, 1M or 1MiB; default 1M", 0 },
	{ "inflight", 'n', "N", 0,
	  "Blocks on their way at a time, 1 to 256; "
	  "default 8",
	  0 },
	{ "transport", 't', "NAME", 0, "What carries them: mem (default)", 0 },
	{ "no-verify", KEY_NO_VERIFY, NULL, 0,
	  "Do not read the new file back; what was received is checked all "
	  "the same",
	  0 },
	{ "json", 'j', NULL, 0, "Print the result as JSON", 0 },
	{ "quiet", 'q', NULL, 0, "No progress; no result but by --json", 0 },
	{ 0 },
};

static void copy_operand(struct copy_args *args, const char *arg)
{
	if (args->ca_src == NULL)
		args->ca_src = arg;
	else if (args->ca_dst == NULL)
		args->ca_dst = arg;
	else
		tool_fail_set(args->ca_fail, TOOL_USAGE,
			      "'%s': there are two operands, SRC and DST", arg);
}

static void copy_operands_check(const struct copy_args *args)
{
	const char *missing = args->ca_src == NULL   ? "SRC and DST are"
			      : args->ca_dst == NULL ? "DST is"
						     : NULL;

	if (missing != NULL)
		tool_fail_set(args->ca_fail, TOOL_USAGE,
			      "%s missing; usage: colibri copy [OPTION...] SRC "
			      "DST",
			      missing);
}

static error_t copy_option(int key, char *arg, struct argp_state *state)
{
	struct copy_args *args = state->input;

	switch (key) {
	case 'b':
		if (text_size_parse(arg, &args->ca_block) != 0)
			tool_fail_set(
				args->ca_fail, TOOL_USAGE,
				"--block '%s' is not a size; accepted: " TEXT_SIZE_FORMS,
				arg);
		break;
	case 'n':
		if (text_number_parse(arg, &args->ca_inflight) != 0)
			tool_fail_set(args->ca_fail, TOOL_USAGE,
				      "--inflight '%s' is not a number; "
				      "accepted: 1 to %d",
				      arg, INFLIGHT_MAX);
		break;
	case 't':
		args->ca_transport = arg;
		break;
	case KEY_NO_VERIFY:
		args->ca_verify = false;
		break;
	case 'j':
		args->ca_json = true;
		break;
	case 'q':
		args->ca_quiet = true;
		break;
	case ARGP_KEY_ARG:
		copy_operand(args, arg);
		break;
	case ARGP_KEY_END:
		copy_operands_check(args);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp copy_argp = {
	copy_options,
	copy_option,
	"SRC DST",
	"Copy the file SRC to DST (a new name, a file to be replaced, or a "
	"directory) block by block from one machine of the network layer to "
	"another, and verify it.\v"
	"DST appears complete or not at all. Exit status: 0 copied and "
	"verified, 1 the copy failed or was interrupted, 2 an option or operand "
	"is wrong. See colibri-copy(1).",
	NULL,
	NULL,
	NULL,
};

/* What only the transport can say: how large a block may be. */
static int block_check(const struct copy_args *args,
		       const struct tool_xprt *xprt)
{
	struct m0_net_domain dom = { .nd_xprt = NULL };
	char                 text[TEXT_MAX];
	uint64_t             max;
	int                  rc = m0_net_domain_init(&dom, xprt->tx_xprt);

	if (rc != 0)
		return tool_fail_set(args->ca_fail, TOOL_FAILED,
				     "transport '%s': %s", xprt->tx_name,
				     tool_errtext(rc));
	max = m0_net_domain_get_max_buffer_size(&dom);
	(void)m0_net_domain_fini(&dom);
	if (args->ca_block == 0 || args->ca_block > max)
		return tool_fail_set(args->ca_fail, TOOL_USAGE,
				     "--block %" PRIu64 " is out of range; "
				     "transport '%s' accepts 1 to %" PRIu64
				     " (%s)",
				     args->ca_block, xprt->tx_name, max,
				     text_size(text, max));
	return 0;
}

static int window_check(const struct copy_args *args)
{
	char text[TEXT_MAX];

	if (args->ca_inflight < 1 || args->ca_inflight > INFLIGHT_MAX)
		return tool_fail_set(args->ca_fail, TOOL_USAGE,
				     "--inflight %" PRIu64 " is out of range; "
				     "accepted: 1 to %d",
				     args->ca_inflight, INFLIGHT_MAX);
	if (args->ca_block * args->ca_inflight > WINDOW_MAX)
		return tool_fail_set(args->ca_fail, TOOL_USAGE,
				     "--inflight %" PRIu64 " blocks of %" PRIu64
				     " bytes exceed %s of memory; use fewer or "
				     "smaller blocks",
				     args->ca_inflight, args->ca_block,
				     text_size(text, WINDOW_MAX));
	return 0;
}

/* One copy that runs. */
struct copy_job {
	const struct copy_args *cj_args;
	struct copy_plan        cj_plan;
	struct src_file         cj_src;
	struct dst_file         cj_dst;
	struct copy_sender      cj_sender;
	struct copy_receiver    cj_receiver;
	/** Readable when a signal has come, and when the sender is done. */
	int                cj_signal_fd;
	int                cj_done_fd;
	m0_time_t          cj_start;
	struct copy_result cj_result;
};

/* Signals are read from a descriptor: blocked before any thread is started. */
static int signals_open(struct copy_job *job)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	job->cj_done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0 || job->cj_done_fd < 0)
		return -errno;
	job->cj_signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return job->cj_signal_fd < 0 ? -errno : 0;
}

static void job_interrupt(struct copy_job *job)
{
	struct signalfd_siginfo info;

	(void)!read(job->cj_signal_fd, &info, sizeof info);
	copy_port_fail_lock(&job->cj_sender.cs_port, -EINTR,
			    "interrupted; "
			    "nothing was written at DST '%s'",
			    job->cj_dst.df_path);
	copy_receiver_cancel(&job->cj_receiver);
}

static uint64_t job_bytes(struct copy_job *job)
{
	struct copy_port *port = &job->cj_sender.cs_port;
	uint64_t          bytes;

	m0_mutex_lock(&port->cp_lock);
	bytes = job->cj_sender.cs_bytes;
	m0_mutex_unlock(&port->cp_lock);
	return bytes;
}

static void job_wait(struct copy_job *job)
{
	struct pollfd fds[] = {
		{ .fd = job->cj_done_fd, .events = POLLIN },
		{ .fd = job->cj_signal_fd, .events = POLLIN },
	};
	struct copy_progress progress;

	copy_progress_init(&progress, (uint64_t)job->cj_src.sf_stat.st_size,
			   job->cj_args->ca_quiet);
	for (;;) {
		int nr = poll(fds, ARRAY_SIZE(fds),
			      progress.cg_on ? TICK_MSEC : -1);

		if (nr > 0 && (fds[0].revents & POLLIN))
			break;
		if (nr > 0 && (fds[1].revents & POLLIN))
			job_interrupt(job);
		copy_progress_show(&progress, job_bytes(job));
	}
	copy_progress_end(&progress);
}

static void job_result(struct copy_job *job)
{
	struct copy_result   *r = &job->cj_result;
	struct copy_receiver *receiver = &job->cj_receiver;
	struct copy_sender   *sender = &job->cj_sender;

	r->ct_total_ns = m0_time_sub(m0_time_now(), job->cj_start);
	r->ct_stats[COPY_SENDER].tst_machine = "sender";
	(void)m0_net_tm_stats_get(&sender->cs_port.cp_node.tn_tm, M0_NET_QT_NR,
				  r->ct_stats[COPY_SENDER].tst_queues, false);
	r->ct_stats[COPY_RECEIVER].tst_machine = "receiver";
	(void)m0_net_tm_stats_get(&receiver->cr_port.cp_node.tn_tm,
				  M0_NET_QT_NR,
				  r->ct_stats[COPY_RECEIVER].tst_queues, false);
}

/* Both roles, from start to end. Their failures stay in their ports. */
static void job_move(struct copy_job *job)
{
	struct copy_sender   *sender = &job->cj_sender;
	struct copy_receiver *receiver = &job->cj_receiver;

	if (copy_receiver_run(receiver) == 0 &&
	    copy_sender_run(sender,
			    tool_node_addr(&receiver->cr_port.cp_node)) == 0) {
		job_wait(job);
		job_result(job);
	}
	if (copy_port_rc(&sender->cs_port) != 0)
		copy_receiver_cancel(receiver);
	copy_receiver_stop(receiver);
	copy_sender_stop(sender);
}

/* Whose failure came first is what the user is told. */
static void job_verdict(struct copy_job *job)
{
	const struct copy_sender *sender = &job->cj_sender;
	const struct copy_port   *from = &sender->cs_port;

	if (job->cj_receiver.cr_committed)
		return; /* Also if a signal came too late. */
	if (from->cp_rc == 0 || sender->cs_told || job->cj_dst.df_committed)
		from = &job->cj_receiver.cr_port;
	if (from->cp_rc != 0)
		tool_fail_set(job->cj_args->ca_fail, TOOL_FAILED, "%s",
			      from->cp_fail.tf_text);
}

static void job_plan(struct copy_job *job, const struct tool_xprt *xprt)
{
	const struct copy_args *args = job->cj_args;
	struct copy_result     *r = &job->cj_result;
	uint64_t                size = (uint64_t)job->cj_src.sf_stat.st_size;

	r->ct_src = args->ca_src;
	r->ct_dst = job->cj_dst.df_path;
	r->ct_transport = xprt->tx_name;
	r->ct_bytes = size;
	r->ct_block = args->ca_block;
	r->ct_inflight = (uint32_t)args->ca_inflight;
	r->ct_blocks_nr = size / args->ca_block +
			  (size % args->ca_block != 0 ? 1 : 0);
	/* A small file needs less memory than that. */
	job->cj_plan.cpl_xprt = xprt;
	job->cj_plan.cpl_verify = args->ca_verify;
	job->cj_plan.cpl_block = max64u(min64u(args->ca_block, size), 1);
	job->cj_plan.cpl_inflight =
		(uint32_t)max64u(min64u(args->ca_inflight, r->ct_blocks_nr), 1);
}

static void job_run(struct copy_job *job)
{
	struct tool_fail *fail = job->cj_args->ca_fail;
	int               rc = signals_open(job);

	if (rc != 0) {
		tool_fail_set(fail, TOOL_FAILED, "signals: %s",
			      tool_errtext(rc));
		return;
	}
	job->cj_start = m0_time_now();
	if (copy_receiver_open(&job->cj_receiver, &job->cj_plan,
			       &job->cj_dst) == 0 &&
	    copy_sender_open(&job->cj_sender, &job->cj_plan, &job->cj_src,
			     job->cj_done_fd) == 0)
		job_move(job);
	else
		copy_receiver_stop(&job->cj_receiver);
	copy_sender_stop(&job->cj_sender);
	job->cj_result.ct_verify_ns = job->cj_receiver.cr_phases.cph_verify_ns;
	job->cj_result.ct_sync_ns = job->cj_receiver.cr_phases.cph_sync_ns;
	job->cj_result.ct_verified = job->cj_plan.cpl_verify;
	memcpy(job->cj_result.ct_sum, job->cj_receiver.cr_sum, HASH_BYTES);
	job_verdict(job);
	copy_sender_close(&job->cj_sender);
	copy_receiver_close(&job->cj_receiver);
}

static void copy_run(const struct copy_args *args)
{
	const struct tool_xprt *xprt =
		tool_xprt_find(args->ca_transport, args->ca_fail);
	struct copy_job job = {
		.cj_args = args,
		.cj_signal_fd = -1,
		.cj_done_fd = -1,
	};

	if (xprt == NULL || block_check(args, xprt) != 0 ||
	    window_check(args) != 0 ||
	    src_file_open(&job.cj_src, args->ca_src, args->ca_fail) != 0)
		return;
	if (dst_file_open(&job.cj_dst, args->ca_dst, &job.cj_src,
			  args->ca_fail) == 0) {
		job_plan(&job, xprt);
		job_run(&job);
		dst_file_close(&job.cj_dst);
	}
	src_file_close(&job.cj_src);
	if (job.cj_signal_fd >= 0)
		(void)close(job.cj_signal_fd);
	if (job.cj_done_fd >= 0)
		(void)close(job.cj_done_fd);
	if (args->ca_fail->tf_exit != TOOL_OK)
		return;
	if (args->ca_json)
		copy_result_json(&job.cj_result);
	else if (!args->ca_quiet)
		copy_result_print(&job.cj_result);
}

int copy_main(int argc, char **argv)
{
	struct tool_fail fail = { .tf_exit = TOOL_OK };
	struct copy_args args = {
		.ca_transport = TOOL_XPRT_DEFAULT,
		.ca_block = BLOCK_DEF,
		.ca_inflight = INFLIGHT_DEF,
		.ca_verify = true,
		.ca_fail = &fail,
	};
	int rc;

	if (argp_parse(&copy_argp, argc, argv, 0, NULL, &args) != 0)
		return TOOL_USAGE;
	if (fail.tf_exit == TOOL_OK) {
		rc = m0_net_init();
		if (rc != 0) {
			tool_fail_set(&fail, TOOL_FAILED,
				      "the library did not "
				      "start: %s",
				      tool_errtext(rc));
			return tool_fail_print(&fail, argv[0]);
		}
		copy_run(&args);
		(void)m0_net_fini();
	}
	return tool_finish_output(argv[0], tool_fail_print(&fail, argv[0]));
}
