/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * `colibri copy --listen`: a machine that takes OPENs (the door), and a machine
 * and a thread for each copy that was let in (a session).
 *
 * The main thread takes what came to the door, opens files, starts and ends sessions. So
 * an unknown sender costs a slot of a list, and an accepted one at most the memory of
 * COPY_WINDOW_MAX.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "copy_args.h"
#include "copy_role.h"
#include "copy_show.h"
#include "../net/door.h"
#include "../base/jout.h"
#include "../base/stop.h"
#include "../base/text.h"

enum {
	SESSIONS_MAX = 8,
	/** Memory of the blocks of a session. */
	COPY_WINDOW_MAX = 64 << 20
};

/** An OPEN that main looks at. */
struct ask {
	struct m0_net_end_point *ask_from;
	struct copy_msg          ask_msg;
	char                     ask_text[COPY_TEXT_MAX + 1];
	/** The sender has another version; the answer uses the part that
	 * both understand. */
	bool ask_is_alien;
};

struct session {
	struct listener         *se_listener;
	struct copy_plan         se_plan;
	struct dst_file          se_dst;
	struct copy_receiver     se_receiver;
	struct m0_net_end_point *se_from;
	m0_time_t                se_start;
};

struct listener {
	const struct copy_args *lis_args;
	struct tool_door        lis_door;
	struct session         *lis_sessions[SESSIONS_MAX];
	int                     lis_dir_fd;
	uint64_t                lis_done_nr;
	uint64_t                lis_failed_nr;
	bool                    lis_stopping;
	/** Something could not be printed. */
	bool lis_mute;
};

/* ------------------------------------------------------------- the door -- */

static bool door_wants(struct tool_door *door, struct m0_net_end_point *from,
		       void *bytes, size_t nr)
{
	struct copy_msg msg;
	int             rc = copy_msg_decode(&msg, bytes, nr);

	(void)door;
	(void)from;
	return (rc == 0 && msg.cm_type == COPY_OPEN && msg.cm_conv != 0) ||
	       (rc == -EPROTONOSUPPORT && msg.cm_type == COPY_OPEN);
}

static bool ask_get(struct listener *listener, struct ask *ret)
{
	struct tool_ask  raw;
	struct copy_msg *msg = &ret->ask_msg;

	if (!tool_door_get(&listener->lis_door, &raw))
		return false;
	M0_SET0(ret);
	ret->ask_from = raw.tak_from;
	ret->ask_is_alien = copy_msg_decode(msg, raw.tak_bytes, raw.tak_nr) !=
			    0;
	if (ret->ask_is_alien)
		M0_SET0(msg);
	else
		memcpy(ret->ask_text, msg->cm_text, msg->cm_text_nr);
	msg->cm_text = NULL;
	return true;
}

/* ------------------------------------------------------------- sessions -- */

static bool out_waits(struct listener *listener, FILE *file)
{
	if (stop_out_waits(file, listener->lis_args->ca_signal_fd))
		return true;
	listener->lis_mute = true;
	return false;
}

static void session_say(struct listener *listener, struct session *se)
{
	struct copy_receiver *receiver = &se->se_receiver;
	m0_time_t             spent = m0_time_sub(m0_time_now(), se->se_start);
	double                seconds = (double)spent / 1e9;
	uint64_t              bytes = receiver->cr_offset;
	double                rate = (double)bytes / 1e6 / seconds;
	char                  sum[2 * HASH_BYTES + 1];

	if (!out_waits(listener, stdout))
		return;
	text_hex(sum, receiver->cr_sum, HASH_BYTES);
	if (listener->lis_args->ca_json) {
		struct json_t *tree = jout_alloc();

		jout_str(tree, "event", "received");
		jout_str(tree, "name", se->se_dst.df_path);
		jout_str(tree, "from", se->se_from->nep_addr);
		jout_num(tree, "bytes", bytes);
		jout_real(tree, "seconds", seconds);
		jout_real(tree, "mb_per_second", rate);
		jout_str(tree, "checksum", sum);
		jout_bool(tree, "verified", se->se_plan.cpl_verify);
		jout_finish_line(tree, stdout);
	} else if (!listener->lis_args->ca_quiet) {
		printf("received %s from %s: %" PRIu64 " bytes in %.3f s, "
		       "%.1f MB/s, " HASH_NAME " %s, %s\n",
		       se->se_dst.df_path, se->se_from->nep_addr, bytes,
		       seconds, rate, sum,
		       se->se_plan.cpl_verify ? "read back" : "not read back");
	}
	(void)fflush(stdout);
}

static void failure_say(struct listener *listener, const char *name,
			const char *from, const char *why)
{
	if (!out_waits(listener, listener->lis_args->ca_json ? stdout : stderr))
		return;
	if (listener->lis_args->ca_json) {
		struct json_t *tree = jout_alloc();

		jout_str(tree, "event", "failed");
		jout_str(tree, "name", name);
		jout_str(tree, "from", from);
		jout_str(tree, "reason", why);
		jout_finish_line(tree, stdout);
		(void)fflush(stdout);
	} else {
		fprintf(stderr, "%s: '%s' from %s is not received: %s\n",
			listener->lis_args->ca_program, name, from, why);
	}
}

/* After its thread's end, or before its start. */
static void session_end(struct session *se)
{
	copy_receiver_stop(&se->se_receiver);
	copy_receiver_close(&se->se_receiver);
	dst_file_close(&se->se_dst);
	(void)m0_net_end_point_put(se->se_from);
	m0_free(se);
}

static void session_reap(struct listener *listener, struct session **slot)
{
	struct session       *se = *slot;
	struct copy_receiver *receiver = &se->se_receiver;

	if (receiver->cr_committed) {
		++listener->lis_done_nr;
		session_say(listener, se);
	} else {
		++listener->lis_failed_nr;
		failure_say(listener, se->se_dst.df_path, se->se_from->nep_addr,
			    receiver->cr_port.tpo_fail.tf_text);
	}
	session_end(se);
	*slot = NULL;
}

static bool session_is_over(struct session *se)
{
	struct tool_port *port = &se->se_receiver.cr_port;
	bool              over;

	m0_mutex_lock(&port->tpo_lock);
	over = port->tpo_done;
	m0_mutex_unlock(&port->tpo_lock);
	return over;
}

/* ------------------------------------------------------------ letting in -- */

static void reply(struct listener *listener, const struct ask *ask, int status,
		  const struct session *se, const char *text)
{
	struct copy_msg msg = {
		.cm_type = COPY_OPEN_REPLY,
		.cm_status = status,
		.cm_conv = ask->ask_msg.cm_conv,
		.cm_text = text,
		.cm_text_nr = (uint32_t)strnlen(text, COPY_TEXT_MAX),
	};

	if (se != NULL) {
		msg.cm_block = (uint32_t)se->se_plan.cpl_block;
		msg.cm_inflight = se->se_plan.cpl_inflight;
	}
	copy_reply(&listener->lis_door.tdo_port, ask->ask_from, &msg);
}

static const char *session_addr(const struct session *se)
{
	return tool_node_addr(&se->se_receiver.cr_port.tpo_node);
}

/* Grants the sender's request as far as the bounds allow. */
static void plan_make(const struct listener *listener, const struct ask *ask,
		      struct copy_plan *plan)
{
	const struct copy_args *args = listener->lis_args;
	const struct copy_msg  *msg = &ask->ask_msg;

	plan->cpl_xprt = args->ca_xprt;
	plan->cpl_verify = args->ca_verify &&
			   (msg->cm_flags & COPY_FLAG_VERIFIED);
	plan->cpl_size = msg->cm_length;
	plan->cpl_conv = msg->cm_conv;
	plan->cpl_timeout_ns = args->ca_timeout_ms * M0_TIME_ONE_MSEC;
	plan->cpl_block =
		min64u(msg->cm_block, listener->lis_door.tdo_port.tpo_node
					      .tn_dom.nd_get_max_buffer_size);
	plan->cpl_block = max64u(min64u(plan->cpl_block, msg->cm_length), 1);
	plan->cpl_inflight = (uint32_t)max64u(
		min64u(msg->cm_inflight, COPY_WINDOW_MAX / plan->cpl_block), 1);
}

/* The session of an OPEN that came again. */
static struct session *session_find(struct listener  *listener,
				    const struct ask *ask)
{
	int i;

	for (i = 0; i < SESSIONS_MAX; ++i) {
		struct session *se = listener->lis_sessions[i];

		if (se != NULL && se->se_from == ask->ask_from &&
		    se->se_plan.cpl_conv == ask->ask_msg.cm_conv)
			return se;
	}
	return NULL;
}

static int session_start(struct listener *listener, const struct ask *ask,
			 struct session *se, struct tool_fail *fail)
{
	const char *base = memchr(ask->ask_text, 0, ask->ask_msg.cm_text_nr);

	if (base == NULL)
		return tool_fail_set(fail, TOOL_FAILED, "names are missing");
	if (dst_file_open_below(&se->se_dst, listener->lis_dir_fd,
				ask->ask_text, base + 1, fail) != 0)
		return fail->tf_exit;
	plan_make(listener, ask, &se->se_plan);
	if (copy_receiver_open(&se->se_receiver, &se->se_plan, &se->se_dst,
			       ask->ask_from->nep_addr,
			       listener->lis_door.tdo_wake_fd) != 0 ||
	    copy_receiver_run(&se->se_receiver) != 0) {
		*fail = se->se_receiver.cr_port.tpo_fail;
		copy_receiver_stop(&se->se_receiver);
		copy_receiver_close(&se->se_receiver);
		dst_file_close(&se->se_dst);
	}
	return fail->tf_exit;
}

static void session_open(struct listener *listener, struct ask *ask,
			 struct session **slot)
{
	struct tool_fail fail = { .tf_exit = TOOL_OK };
	struct session  *se;

	M0_ALLOC_PTR(se);
	if (se == NULL) {
		reply(listener, ask, -ENOMEM, NULL, "no memory");
		return;
	}
	se->se_start = m0_time_now();
	if (session_start(listener, ask, se, &fail) != 0) {
		++listener->lis_failed_nr;
		text_make_printable(ask->ask_text);
		reply(listener, ask, -EACCES, NULL, fail.tf_text);
		failure_say(listener, ask->ask_text, ask->ask_from->nep_addr,
			    fail.tf_text);
		m0_free(se);
		return;
	}
	(void)m0_net_end_point_get(ask->ask_from);
	se->se_from = ask->ask_from;
	*slot = se;
	reply(listener, ask, 0, se, session_addr(se));
}

static void ask_serve(struct listener *listener, struct ask *ask)
{
	const struct copy_args *args = listener->lis_args;
	struct session         *se = session_find(listener, ask);
	int                     max = args->ca_once ? 1 : SESSIONS_MAX;
	int                     i;

	if (ask->ask_is_alien) {
		reply(listener, ask, -EPROTONOSUPPORT, NULL, "");
		return;
	}
	if (se != NULL) {
		/* The answer was lost: nothing came to the session yet. */
		tool_port_received(&se->se_receiver.cr_port);
		reply(listener, ask, 0, se, session_addr(se));
		return;
	}
	for (i = 0; i < max; ++i) {
		if (listener->lis_sessions[i] == NULL)
			break;
	}
	if (i == max || listener->lis_stopping ||
	    (args->ca_once && listener->lis_done_nr > 0))
		reply(listener, ask, -EBUSY, NULL, "busy with other copies");
	else
		session_open(listener, ask, &listener->lis_sessions[i]);
}

static void asks_serve(struct listener *listener)
{
	struct ask ask;

	while (ask_get(listener, &ask)) {
		ask_serve(listener, &ask);
		(void)m0_net_end_point_put(ask.ask_from);
	}
}

/* ------------------------------------------------------------------ main -- */

/* @return  how many go on. */
static unsigned sessions_look(struct listener *listener)
{
	unsigned nr = 0;
	int      i;

	for (i = 0; i < SESSIONS_MAX; ++i) {
		struct session **slot = &listener->lis_sessions[i];

		if (*slot == NULL)
			continue;
		if (session_is_over(*slot)) {
			session_reap(listener, slot);
			continue;
		}
		copy_receiver_tick(&(*slot)->se_receiver);
		++nr;
	}
	return nr;
}

static void sessions_cancel(struct listener *listener)
{
	int i;

	listener->lis_stopping = true;
	for (i = 0; i < SESSIONS_MAX; ++i) {
		if (listener->lis_sessions[i] != NULL)
			copy_receiver_cancel(
				&listener->lis_sessions[i]->se_receiver);
	}
}

static bool listen_is_over(const struct listener *listener, unsigned running_nr)
{
	if (running_nr > 0)
		return false;
	return listener->lis_stopping ||
	       (listener->lis_args->ca_once &&
		listener->lis_done_nr + listener->lis_failed_nr > 0);
}

static void listen_loop(struct listener *listener)
{
	struct pollfd fds[] = {
		{ .fd = listener->lis_door.tdo_wake_fd, .events = POLLIN },
		{ .fd = listener->lis_args->ca_signal_fd, .events = POLLIN },
	};
	int alive_ms =
		(int)max64u(tool_port_alive_ns(&listener->lis_door.tdo_port) /
				    M0_TIME_ONE_MSEC,
			    1);
	unsigned  nr = 0;
	eventfd_t value;
	nfds_t    fds_nr = ARRAY_SIZE(fds);

	while (!listen_is_over(listener, nr)) {
		if (poll(fds, fds_nr, nr > 0 ? alive_ms : -1) > 0) {
			if (fds[0].revents & POLLIN)
				(void)eventfd_read(
					listener->lis_door.tdo_wake_fd, &value);
			if (fds_nr > 1 && (fds[1].revents & POLLIN)) {
				sessions_cancel(listener);
				fds_nr = 1;
			}
		}
		asks_serve(listener);
		nr = sessions_look(listener);
	}
}

static void listen_say(struct listener *listener, const char *dir)
{
	const struct copy_args *args = listener->lis_args;
	const char             *addr =
		tool_node_addr(&listener->lis_door.tdo_port.tpo_node);
	char real[PATH_MAX];
	char words[512];
	char command[1024];

	if (!out_waits(listener, stdout))
		return;
	if (realpath(dir, real) == NULL)
		snprintf(real, sizeof real, "%s", dir);
	tool_place_words(&args->ca_place, addr, words, sizeof words);
	snprintf(command, sizeof command, "colibri copy %sFILE %s:", words,
		 addr);
	if (args->ca_json) {
		struct json_t *tree = jout_alloc();

		jout_str(tree, "event", "listening");
		jout_str(tree, "ep", addr);
		jout_str(tree, "directory", real);
		jout_str(tree, "command", command);
		jout_finish_line(tree, stdout);
	} else {
		printf("files go to %s; on the other side:\n\n  %s\n\n", real,
		       command);
	}
	(void)fflush(stdout);
}

static int listen_open(struct listener *listener, const char *dir)
{
	const struct copy_args *args = listener->lis_args;
	struct tool_fail       *fail = args->ca_fail;
	struct tool_port       *port = &listener->lis_door.tdo_port;

	listener->lis_dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (listener->lis_dir_fd < 0)
		return tool_fail_set(fail, TOOL_USAGE, "DIR '%s': %s", dir,
				     tool_errtext(errno));
	if (faccessat(listener->lis_dir_fd, ".", W_OK | X_OK, AT_EACCESS) != 0)
		return tool_fail_set(fail, TOOL_USAGE,
				     "DIR '%s' cannot be written to: %s", dir,
				     tool_errtext(errno));
	listener->lis_door.tdo_wants = door_wants;
	port->tpo_timeout_ns = args->ca_timeout_ms * M0_TIME_ONE_MSEC;
	port->tpo_msg_bytes = COPY_MSG_HEAD_BYTES + COPY_TEXT_MAX;
	return tool_door_open(&listener->lis_door, args->ca_xprt, args->ca_ep,
			      fail);
}

void copy_listen_run(const struct copy_args *args)
{
	struct listener *listener;
	const char      *dir = args->ca_src != NULL ? args->ca_src : ".";
	int              rc;

	M0_ALLOC_PTR(listener);
	if (listener == NULL) {
		tool_fail_set(args->ca_fail, TOOL_FAILED, "no memory");
		return;
	}
	listener->lis_args = args;
	listener->lis_door.tdo_wake_fd = -1;
	rc = listen_open(listener, dir);
	if (rc == 0) {
		listen_say(listener, dir);
		listen_loop(listener);
	}
	tool_door_close(&listener->lis_door, COPY_BYE_NS);
	if (listener->lis_dir_fd >= 0)
		(void)close(listener->lis_dir_fd);
	if (rc == 0 && args->ca_once && listener->lis_done_nr == 0)
		tool_fail_set(args->ca_fail, TOOL_FAILED,
			      listener->lis_failed_nr == 0
				      ? "interrupted; nothing was received"
				      : "nothing was received");
	if (listener->lis_mute)
		tool_fail_set(args->ca_fail, TOOL_FAILED,
			      "interrupted; the output was full, and not all "
			      "was said");
	m0_free(listener);
}
