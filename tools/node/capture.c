/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** `colibri capture`: messages of the running node, as a pcapng file. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl_args.h"
#include "fault_words.h"
#include "lnet_opts.h"
#include "pcapng.h"
#include "../base/jout.h"
#include "../base/stop.h"
#include "../base/text.h"

enum {
	KEY_PACKETS = CTL_KEY_OWN,
	KEY_BYTES,
	KEY_SECONDS,
	KEY_LOCAL,
	SNAP_DEFAULT = 4096,
	LINE_BYTES = 128,
	/** Blocks that are here: one that is not whole, and room to read more. */
	BUF_BYTES = PCAPNG_BLOCK_MAX + (256 << 10),
	/** Most that an error of the node has. */
	ERROR_BYTES = 4096
};

/** How long the node has for the end of the file. */
#define END_TIME (20 * M0_TIME_ONE_SECOND)

#define STREAM_LINE "stream"

struct capture_args {
	struct ctl_args cap_ask;
	/** NULL: standard output. */
	const char *cap_path;
	/** 0: no bound. */
	uint64_t cap_packets_max;
	uint64_t cap_bytes_max;
	uint64_t cap_ms_max;
	int      cap_fd;
	int      cap_out_fd;
	int      cap_stop_fd;
	char    *cap_buf;
	size_t   cap_nr;
	/** So far. */
	uint64_t  cap_packets_nr;
	uint64_t  cap_bytes;
	uint64_t  cap_lost_nr;
	m0_time_t cap_since;
	/** Why it ends; NULL: it does not yet. */
	const char *cap_end;
	m0_time_t   cap_deadline;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Messages that are recorded:", 1 },
	{ "source", 's', "NID", 0,
	  "Source NID; *@tcp: a whole network; default *, all", 0 },
	{ "dest", 'd', "NID", 0, "Destination NID, likewise", 0 },
	{ "message", 'm', "LIST", 0,
	  "Message types, of PUT, GET, ACK, REPLY; default all", 0 },
	{ "portal", 'p', "LIST", 0, "Only PUT and GET to these portals", 0 },
	{ "direction", 'D', "WORD", 0, "in, out or both; default both", 0 },
	{ "local-nid", KEY_LOCAL, "NID", 0,
	  "Only messages that arrive at or leave from this NID of the node",
	  0 },
	{ "snap", 'S', "SIZE", 0,
	  "Bytes of each payload that are recorded; default 4K, at most 1M",
	  0 },
	{ NULL, 0, NULL, 0, "The end, at the first of these or at SIGINT:", 2 },
	{ "packets", KEY_PACKETS, "N", 0, "After N messages", 0 },
	{ "bytes", KEY_BYTES, "SIZE", 0, "Before the file has more than SIZE",
	  0 },
	{ "seconds", KEY_SECONDS, "TIME", 0, "After TIME", 0 },
	{ NULL, 0, NULL, 0, "The command:", 3 },
	{ "output", 'w', "FILE", 0,
	  "Write to FILE, which is replaced; default -, standard output", 0 },
	{ "json", 'j', NULL, 0, "Print the summary as JSON", 0 },
	CTL_OPTIONS_END,
};

static void nid_option(struct capture_args *args, const char *option,
		       const char *text, struct m0_lnet_nid *ret)
{
	if (fault_nid_parse(text, ret) != 0)
		tool_bad_value(&args->cap_ask.ctg_fail, option, text,
			       FAULT_NID_FORMS);
}

static uint64_t size_option(struct capture_args *args, const char *option,
			    const char *text, uint64_t min, uint64_t max)
{
	uint64_t value = 0;

	if (text_size_parse(text, &value) != 0 || value < min || value > max)
		tool_bad_value(&args->cap_ask.ctg_fail, option, text,
			       TEXT_SIZE_FORMS);
	return value;
}

static void direction_option(struct capture_args *args, const char *text)
{
	if (strcmp(text, "in") != 0 && strcmp(text, "out") != 0 &&
	    strcmp(text, "both") != 0)
		tool_bad_value(&args->cap_ask.ctg_fail, "--direction", text,
			       "in, out or both");
	else
		snprintf(args->cap_ask.ctg_req.cq_name,
			 sizeof args->cap_ask.ctg_req.cq_name, "%s", text);
}

static void operand(struct capture_args *args, const char *text)
{
	struct ctl_request *req = &args->cap_ask.ctg_req;

	if (req->cq_nids_nr == CTL_NIDS_MAX)
		tool_fail_set(&args->cap_ask.ctg_fail, TOOL_USAGE,
			      "'%s': at most %d NIDs are accepted", text,
			      CTL_NIDS_MAX);
	else
		nid_option(args, "NID", text, &req->cq_nids[req->cq_nids_nr++]);
}

/* Handles options that select messages. @return false: it is none of these options. */
static bool filter_option(struct capture_args *args, int key, const char *arg)
{
	struct ctl_request *req = &args->cap_ask.ctg_req;
	struct tool_fail   *fail = &args->cap_ask.ctg_fail;

	switch (key) {
	case 's':
		nid_option(args, "--source", arg, &req->cq_fault.lfa_src);
		break;
	case 'd':
		nid_option(args, "--dest", arg, &req->cq_fault.lfa_dst);
		break;
	case KEY_LOCAL:
		nid_option(args, "--local-nid", arg, &req->cq_fault.lfa_local);
		break;
	case 'm':
		if (fault_msgs_parse(arg, &req->cq_fault.lfa_msgs) != 0)
			tool_bad_value(fail, "--message", arg,
				       FAULT_MSGS_FORMS);
		break;
	case 'p':
		if (fault_portals_parse(arg, &req->cq_fault.lfa_portals) != 0)
			tool_bad_value(fail, "--portal", arg,
				       "a list of numbers 0 to 63");
		break;
	case 'D':
		direction_option(args, arg);
		break;
	case 'S':
		req->cq_value =
			size_option(args, "--snap", arg, 0, CAPTURE_SNAP_MAX);
		break;
	case ARGP_KEY_ARG:
		operand(args, arg);
		break;
	default:
		return false;
	}
	return true;
}

static error_t capture_option(int key, char *arg, struct argp_state *state)
{
	struct capture_args *args = state->input;
	struct tool_fail    *fail = &args->cap_ask.ctg_fail;

	switch (key) {
	case KEY_PACKETS:
		args->cap_packets_max = tool_number_option(fail, "--packets",
							   arg, 1, UINT64_MAX);
		break;
	case KEY_BYTES:
		args->cap_bytes_max = size_option(
			args, "--bytes", arg, PCAPNG_SMALL_BYTES, UINT64_MAX);
		break;
	case KEY_SECONDS:
		args->cap_ms_max = tool_ms_option(fail, "--seconds", arg, 1);
		break;
	case 'w':
		args->cap_path = strcmp(arg, "-") == 0 ? NULL : arg;
		break;
	default:
		return filter_option(args, key, arg) ||
				       ctl_args_option(&args->cap_ask, key, arg)
			       ? 0
			       : ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp capture_argp = {
	options,
	capture_option,
	"[NID...]",
	"Record the messages that the running node sends, receives and "
	"forwards, on whatever network, in a form that Wireshark reads; with "
	"NIDs, those from, to or by one of them.\v"
	"For a live view: colibri capture | wireshark -k -i -",
	NULL,
	NULL,
	NULL,
};

/* -------------------------------------------------------------------- output -- */

static struct tool_fail *fail_of(struct capture_args *args)
{
	return &args->cap_ask.ctg_fail;
}

/* The reader of standard output may have seen enough. */
static int out_write(struct capture_args *args, const char *bytes, size_t nr)
{
	while (nr > 0) {
		ssize_t put = write(args->cap_out_fd, bytes, nr);

		if (put < 0 && errno == EINTR) {
			/* A reader that never reads: the second signal ends it. */
			continue;
		}
		if (put < 0 && errno == EPIPE && args->cap_path == NULL) {
			args->cap_end = "reader";
			return 0;
		}
		if (put < 0)
			return tool_fail_set(fail_of(args), TOOL_FAILED,
					     "%s: %s",
					     args->cap_path == NULL
						     ? "standard output"
						     : args->cap_path,
					     tool_errtext(errno));
		bytes += put;
		nr -= (size_t)put;
		args->cap_bytes += (uint64_t)put;
	}
	return 0;
}

/* Writes a block, unless the file has enough. */
static int block_take(struct capture_args       *args,
		      const struct pcapng_block *block)
{
	bool is_packet = block->pcb_type == PCAPNG_PACKET;

	args->cap_lost_nr += block->pcb_lost_nr;
	/* With another end, all that the node has seen until then is recorded. */
	if (is_packet && args->cap_end != NULL &&
	    (strcmp(args->cap_end, "packets") == 0 ||
	     strcmp(args->cap_end, "bytes") == 0))
		return 0;
	/* The end of the file has its room. */
	if (is_packet && args->cap_bytes_max != 0 &&
	    args->cap_bytes + block->pcb_bytes > args->cap_bytes_max) {
		args->cap_end = "bytes";
		return 0;
	}
	if (args->cap_end != NULL && strcmp(args->cap_end, "reader") == 0)
		return 0;
	args->cap_packets_nr += is_packet ? 1 : 0;
	if (args->cap_packets_nr == args->cap_packets_max &&
	    args->cap_packets_max != 0 && args->cap_end == NULL)
		args->cap_end = "packets";
	return out_write(args, args->cap_buf, block->pcb_bytes);
}

/* -------------------------------------------------------------------- stream -- */

/* Reads what is there. @return 0: the end, < 0: wait. */
static ssize_t more(struct capture_args *args)
{
	ssize_t got = recv(args->cap_fd, args->cap_buf + args->cap_nr,
			   BUF_BYTES - args->cap_nr, MSG_DONTWAIT);

	if (got > 0)
		args->cap_nr += (size_t)got;
	else if (got < 0 && !M0_IN(errno, (EAGAIN, EINTR)))
		got = 0;
	return got;
}

static void taken(struct capture_args *args, size_t nr)
{
	args->cap_nr -= nr;
	memmove(args->cap_buf, args->cap_buf + nr, args->cap_nr);
}

static int blocks_take(struct capture_args *args)
{
	struct pcapng_block block;
	size_t              at = 0;
	char               *buf = args->cap_buf;
	int                 code = 0;
	int                 rc = 0;

	while (code == 0 &&
	       (rc = pcapng_read(&block, buf + at, args->cap_nr - at)) > 0) {
		args->cap_buf = buf + at;
		code = block_take(args, &block);
		args->cap_buf = buf;
		at += block.pcb_bytes;
	}
	taken(args, at);
	if (rc < 0)
		return tool_fail_set(
			fail_of(args), TOOL_FAILED,
			"the node sends something other than pcapng; is "
			"this its control socket?");
	return code;
}

/* Waits for more; a signal or the time that is up are reasons to end. */
static int stream_wait(struct capture_args *args)
{
	struct pollfd fds[] = {
		{ args->cap_fd, POLLIN, 0 },
		{ args->cap_end == NULL ? args->cap_stop_fd : -1, POLLIN, 0 }
	};
	m0_time_t now = m0_time_now();
	int       ms = -1;

	if (args->cap_deadline != M0_TIME_NEVER)
		ms = now >= args->cap_deadline
			     ? 0
			     : (int)min64u((args->cap_deadline - now) /
							   M0_TIME_ONE_MSEC +
						   1,
					   INT32_MAX);
	(void)poll(fds, ARRAY_SIZE(fds), ms);
	now = m0_time_now();
	if (args->cap_end == NULL && stop_signal() != 0)
		args->cap_end = "signal";
	else if (args->cap_end == NULL && now >= args->cap_deadline)
		args->cap_end = "seconds";
	else if (args->cap_end != NULL && now >= args->cap_deadline)
		return tool_fail_set(fail_of(args), TOOL_FAILED,
				     "the node does not end the capture");
	return 0;
}

/* Is there something that stream_wait() has to find, although data is here? */
static bool is_due(const struct capture_args *args, bool asked)
{
	if (args->cap_end == NULL && stop_signal() != 0)
		return true;
	/* The deadline is that of the end only when the node was asked for it. */
	return (args->cap_end == NULL || asked) &&
	       m0_time_now() >= args->cap_deadline;
}

static int stream_copy(struct capture_args *args)
{
	bool    asked = false;
	ssize_t got;
	int     code = blocks_take(args);

	while (code == 0) {
		if (args->cap_end != NULL && !asked) {
			/* The node then sends the rest of the queue, and its counts. */
			asked = true;
			args->cap_deadline =
				m0_time_add(m0_time_now(), END_TIME);
			(void)shutdown(args->cap_fd, SHUT_WR);
		}
		got = more(args);
		if (got > 0)
			code = blocks_take(args);
		else if (got < 0)
			code = stream_wait(args);
		else
			break;
		/* Messages may come without a pause, also after the node was asked. */
		if (code == 0 && got > 0 && is_due(args, asked))
			code = stream_wait(args);
	}
	if (code == 0 && args->cap_end == NULL) {
		args->cap_end = "node";
		return tool_fail_set(fail_of(args), TOOL_FAILED,
				     "the node has ended the capture");
	}
	return code;
}

/* The node refuses: "status CODE OUT ERR" and the text. */
static int refused(struct capture_args *args, const char *line)
{
	char     text[ERROR_BYTES] = "";
	unsigned code = TOOL_FAILED;
	size_t   out = 0;
	size_t   err = 0;

	if (sscanf(line, "status %u %zu %zu", &code, &out, &err) != 3)
		return tool_fail_set(
			fail_of(args), TOOL_FAILED,
			"the answer is not that of a node: is this its "
			"control socket?");
	while (args->cap_nr < out + err && args->cap_nr < sizeof text &&
	       more(args) != 0 && stop_signal() == 0)
		(void)stream_wait(args);
	if (args->cap_nr > out)
		snprintf(text, sizeof text, "%.*s",
			 (int)min64u(args->cap_nr - out, sizeof text - 1),
			 args->cap_buf + out);
	return tool_fail_set(fail_of(args), TOOL_FAILED, "%s", ctl_why(text));
}

/* Reads the first line of the answer. */
static int stream_begin(struct capture_args *args)
{
	char   line[LINE_BYTES];
	char  *end;
	size_t nr;

	while ((end = memchr(args->cap_buf, '\n', args->cap_nr)) == NULL &&
	       args->cap_nr < sizeof line) {
		ssize_t got = more(args);

		if (got == 0)
			return tool_fail_set(fail_of(args), TOOL_FAILED,
					     "the node has hung up before it "
					     "answered");
		if (got < 0 && (stream_wait(args), args->cap_end != NULL))
			return tool_fail_set(
				fail_of(args), TOOL_FAILED, "%s",
				stop_signal() != 0
					? "interrupted"
					: "the node does not answer");
	}
	nr = end == NULL ? 0 : (size_t)(end - args->cap_buf);
	nr = min_check(nr, sizeof line - 1);
	memcpy(line, args->cap_buf, nr);
	line[nr] = '\0';
	taken(args, end == NULL ? 0 : nr + 1);
	return strcmp(line, STREAM_LINE) == 0 ? 0 : refused(args, line);
}

/* ---------------------------------------------------------------------- start -- */

static int request_send(struct capture_args *args)
{
	char   line[CTL_LINE_BYTES];
	size_t nr = ctl_request_print(&args->cap_ask.ctg_req, line);

	/* A new connection has room for it; if not, it is lost anyhow. */
	return send(args->cap_fd, line, nr, MSG_NOSIGNAL) == (ssize_t)nr
		       ? 0
		       : tool_fail_set(fail_of(args), TOOL_FAILED,
				       "the node has hung up: %s",
				       tool_errtext(errno));
}

static int node_connect(struct capture_args *args)
{
	const char *path = args->cap_ask.ctg_ctl;
	char        where[CTL_WHERE_BYTES];

	args->cap_fd = path != NULL ? ctl_connect(path)
				    : ctl_connect_default(where, fail_of(args));
	if (args->cap_fd >= 0)
		return request_send(args);
	if (fail_of(args)->tf_exit == TOOL_OK)
		ctl_nobody(path != NULL ? path : where, args->cap_fd,
			   fail_of(args));
	return fail_of(args)->tf_exit;
}

static int out_open(struct capture_args *args)
{
	args->cap_out_fd = STDOUT_FILENO;
	if (args->cap_path == NULL)
		return 0;
	/* Payloads may be secret. */
	args->cap_out_fd = open(args->cap_path,
				O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return args->cap_out_fd >= 0
		       ? 0
		       : tool_fail_set(fail_of(args), TOOL_FAILED, "%s: %s",
				       args->cap_path, tool_errtext(errno));
}

static void summary(const struct capture_args *args)
{
	double seconds = (double)(m0_time_now() - args->cap_since) /
			 (double)M0_TIME_ONE_SECOND;
	FILE          *file = args->cap_path == NULL ? stderr : stdout;
	struct json_t *tree;

	if (!args->cap_ask.ctg_req.cq_json) {
		fprintf(stderr,
			"%" PRIu64 " messages, %" PRIu64 " bytes, %.1f s; "
			"%" PRIu64 " lost\n",
			args->cap_packets_nr, args->cap_bytes, seconds,
			args->cap_lost_nr);
		return;
	}
	tree = jout_alloc();
	jout_num(tree, "messages", args->cap_packets_nr);
	jout_num(tree, "bytes", args->cap_bytes);
	jout_num(tree, "lost", args->cap_lost_nr);
	jout_real(tree, "seconds", seconds);
	jout_str(tree, "end", args->cap_end == NULL ? "error" : args->cap_end);
	jout_finish(tree, file);
}

static int capture(struct capture_args *args)
{
	int code;

	args->cap_buf = malloc(BUF_BYTES);
	if (args->cap_buf == NULL)
		return tool_fail_set(fail_of(args), TOOL_FAILED, "%s",
				     tool_errtext(ENOMEM));
	args->cap_deadline = m0_time_add(
		m0_time_now(), args->cap_ask.ctg_timeout_ms * M0_TIME_ONE_MSEC);
	code = node_connect(args);
	if (code == 0)
		code = stream_begin(args);
	/* A node that refuses leaves the file that is there. */
	if (code == 0)
		code = out_open(args);
	if (code != 0)
		return code;
	args->cap_since = m0_time_now();
	args->cap_deadline =
		args->cap_ms_max == 0
			? M0_TIME_NEVER
			: m0_time_add(args->cap_since,
				      args->cap_ms_max * M0_TIME_ONE_MSEC);
	code = stream_copy(args);
	if (args->cap_path != NULL && close(args->cap_out_fd) != 0)
		code = tool_fail_set(fail_of(args), TOOL_FAILED, "%s: %s",
				     args->cap_path, tool_errtext(errno));
	summary(args);
	return code;
}

int capture_main(int argc, char **argv)
{
	static struct capture_args args = { .cap_fd = -1, .cap_out_fd = -1 };
	int                        code = TOOL_OK;

	ctl_args_init(&args.cap_ask, CTL_CAPTURE);
	args.cap_ask.ctg_req.cq_value = SNAP_DEFAULT;
	if (tool_parse(&capture_argp, argc, argv, 0, &args) != 0)
		return TOOL_USAGE;
	if (args.cap_path == NULL && isatty(STDOUT_FILENO) == 1)
		tool_fail_set(fail_of(&args), TOOL_USAGE,
			      "standard output is a terminal; name a file, "
			      "--output FILE, or use a pipe");
	if (fail_of(&args)->tf_exit == TOOL_OK) {
		args.cap_stop_fd = stop_init();
		code = capture(&args);
	}
	if (args.cap_fd >= 0)
		(void)close(args.cap_fd);
	free(args.cap_buf);
	if (tool_fail_print(fail_of(&args), argv[0]) != TOOL_OK)
		code = fail_of(&args)->tf_exit;
	return tool_finish_output(argv[0], code);
}
