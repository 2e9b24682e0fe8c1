/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "capture_serve.h"
#include "m0/sync.h"

enum {
	/** How often an empty queue is looked at: the node makes no call to wake anybody. */
	TICK_MS = 5,
	/** Blocks for one system call, and one more of the largest. */
	BATCH_BYTES = 128 << 10,
	BUF_BYTES = BATCH_BYTES + PCAPNG_BLOCK_MAX,
	NIS_MAX = 1024
};

#define STREAM_LINE "stream\n"
/** How long a client has to take the rest when the capture, or the node, ends. */
#define END_TIME      (20 * M0_TIME_ONE_SECOND)
#define NODE_END_TIME (M0_TIME_ONE_SECOND / 5)
/** A client that has taken nothing for so long, though there was something, is given up:
 * others may want its place. */
#define STALL_TIME (60 * M0_TIME_ONE_SECOND)

/** A NID of the node, which is an interface in the file. */
struct capture_ni {
	struct m0_lnet_nid cpi_nid;
	uint64_t           cpi_nr;
};

struct capture_stream {
	struct m0_lnet      *cpt_lnet;
	int                  cpt_fd;
	struct capture_queue cpt_queue;
	struct m0_thread     cpt_thread;
	struct pcapng        cpt_png;
	/** Atomic: the node ends; the thread has ended. */
	bool cpt_stop;
	bool cpt_done;
	/** The client is gone. */
	bool cpt_lost;
	/** M0_TIME_NEVER, or when the client has had enough time for the rest. */
	m0_time_t         cpt_deadline;
	struct capture_ni cpt_nis[NIS_MAX];
	uint32_t          cpt_nis_nr;
};

static uint64_t wall_ns(void)
{
	struct timespec ts = { 0, 0 };

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * M0_TIME_ONE_SECOND + (uint64_t)ts.tv_nsec;
}

/* Is the node ending, or has the client had enough? */
static bool is_ending(struct capture_stream *stream)
{
	m0_time_t now = m0_time_now();

	if (__atomic_load_n(&stream->cpt_stop, __ATOMIC_ACQUIRE))
		stream->cpt_deadline = min_check(
			stream->cpt_deadline, m0_time_add(now, NODE_END_TIME));
	return stream->cpt_deadline != M0_TIME_NEVER;
}

/* Looks at the client, and waits so long for it. One that closes its half wants the end. */
static void client_look(struct capture_stream *stream, short events, int ms)
{
	bool          ends = is_ending(stream);
	struct pollfd pfd = { stream->cpt_fd,
			      (short)(events | (ends ? 0 : POLLIN)), 0 };
	char          byte;
	ssize_t       got;

	if (poll(&pfd, 1, ms) <= 0)
		return;
	if ((pfd.revents & (POLLERR | POLLNVAL)) != 0) {
		stream->cpt_lost = true;
		return;
	}
	if (ends || (pfd.revents & (POLLIN | POLLHUP)) == 0)
		return;
	got = recv(stream->cpt_fd, &byte, sizeof byte, MSG_DONTWAIT);
	if (got == 0)
		stream->cpt_deadline = m0_time_add(m0_time_now(), END_TIME);
	else if (got > 0 || !M0_IN(errno, (EAGAIN, EINTR)))
		stream->cpt_lost = true;
}

/* Has the client, which takes nothing now, had enough time? */
static bool is_overdue(struct capture_stream *stream, m0_time_t since)
{
	m0_time_t now = m0_time_now();

	return now >= m0_time_add(since, STALL_TIME) ||
	       (is_ending(stream) && now >= stream->cpt_deadline);
}

static void flush(struct capture_stream *stream)
{
	struct pcapng *png = &stream->cpt_png;
	size_t         at = 0;
	m0_time_t      since = m0_time_now();

	while (at < png->pcn_nr && !stream->cpt_lost) {
		ssize_t put = send(stream->cpt_fd, png->pcn_buf + at,
				   png->pcn_nr - at,
				   MSG_NOSIGNAL | MSG_DONTWAIT);

		if (put > 0) {
			at += (size_t)put;
			since = m0_time_now();
		} else if (!M0_IN(errno, (EAGAIN, EINTR)) ||
			   is_overdue(stream, since))
			stream->cpt_lost = true;
		else
			client_look(stream, POLLOUT, TICK_MS);
	}
	png->pcn_nr = 0;
}

/* -------------------------------------------------------------------- blocks -- */

static void ni_add(struct capture_stream *stream, const struct m0_lnet_nid *nid,
		   const char *device)
{
	char text[M0_LNET_NIDSTR_SIZE];

	M0_PRE(stream->cpt_nis_nr < NIS_MAX);
	pcapng_interface(&stream->cpt_png,
			 m0_lnet_nid_print(nid, text, sizeof text), device,
			 stream->cpt_queue.cqu_filter.cpf_snap);
	stream->cpt_nis[stream->cpt_nis_nr++].cpi_nid = *nid;
}

/* The number of an interface; one that was added meanwhile gets the next one. */
static uint32_t ni_of(struct capture_stream    *stream,
		      const struct m0_lnet_nid *nid)
{
	uint32_t i;

	for (i = 0; i < stream->cpt_nis_nr; ++i) {
		if (m0_lnet_nid_eq(&stream->cpt_nis[i].cpi_nid, nid))
			return i;
	}
	if (i == NIS_MAX)
		return NIS_MAX - 1;
	ni_add(stream, nid, "");
	return i;
}

static void begin(struct capture_stream *stream)
{
	struct m0_lnet_info *info;
	unsigned             i;
	char                 name[64];

	snprintf(name, sizeof name, "Colibri %.32s, node of process %d",
		 m0_version(), (int)getpid());
	pcapng_section(&stream->cpt_png, name);
	if (m0_lnet_info_get(stream->cpt_lnet, &info) != 0)
		return;
	for (i = 0; i < info->li_nis_nr && i < NIS_MAX; ++i) {
		ni_add(stream, &info->li_nis[i].nii_nid,
		       info->li_nis[i].nii_device);
		if (stream->cpt_png.pcn_nr > BATCH_BYTES)
			flush(stream);
	}
	m0_lnet_info_free(info);
	flush(stream);
}

/* Writes what is in the queue. @return false: it was empty. */
static bool batch(struct capture_stream *stream)
{
	struct pcapng            *png = &stream->cpt_png;
	const struct capture_msg *msg;

	while (png->pcn_nr < BATCH_BYTES &&
	       (msg = capture_queue_first(&stream->cpt_queue)) != NULL) {
		uint32_t ni = ni_of(stream, &msg->cqm_local);

		pcapng_packet(png, ni, msg);
		++stream->cpt_nis[ni].cpi_nr;
		capture_queue_next(&stream->cpt_queue);
	}
	if (png->pcn_nr == 0)
		return false;
	flush(stream);
	return true;
}

static void statistics(struct capture_stream *stream)
{
	uint64_t lost = __atomic_load_n(&stream->cpt_queue.cqu_lost_nr,
					__ATOMIC_RELAXED);
	uint32_t i;

	for (i = 0; i < stream->cpt_nis_nr; ++i) {
		/* The queue is one for all; what it lost is noted once. */
		pcapng_statistics(&stream->cpt_png, i, wall_ns(),
				  stream->cpt_nis[i].cpi_nr, i == 0 ? lost : 0);
		if (stream->cpt_png.pcn_nr > BATCH_BYTES)
			flush(stream);
	}
	flush(stream);
}

static void stream_run(struct capture_stream *stream)
{
	begin(stream);
	while (!stream->cpt_lost && !is_ending(stream)) {
		bool more = batch(stream);

		/* Messages may come without a pause. */
		client_look(stream, 0, more ? 0 : TICK_MS);
	}
	(void)m0_lnet_tap_del(stream->cpt_lnet, &stream->cpt_queue.cqu_tap);
	/* Nothing is put into the queue any more. */
	while (!stream->cpt_lost && batch(stream))
		;
	if (!stream->cpt_lost)
		statistics(stream);
	(void)close(stream->cpt_fd);
	/* Its place is freed when the next client comes; its memory is not kept until then. */
	capture_queue_fini(&stream->cpt_queue);
	__atomic_store_n(&stream->cpt_done, true, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------- start and end -- */

static void stream_free(struct capture_stream *stream)
{
	if (stream == NULL)
		return;
	capture_queue_fini(&stream->cpt_queue);
	free(stream->cpt_png.pcn_buf);
	free(stream);
}

static struct capture_stream *stream_new(struct m0_lnet              *lnet,
					 const struct capture_filter *filter)
{
	struct capture_stream *stream = calloc(1, sizeof *stream);

	if (stream == NULL)
		return NULL;
	stream->cpt_lnet = lnet;
	stream->cpt_deadline = M0_TIME_NEVER;
	stream->cpt_png.pcn_max = BUF_BYTES;
	stream->cpt_png.pcn_buf = malloc(BUF_BYTES);
	if (stream->cpt_png.pcn_buf == NULL ||
	    capture_queue_init(&stream->cpt_queue, filter) != 0) {
		stream_free(stream);
		return NULL;
	}
	return stream;
}

static void stream_end(struct capture_stream *stream)
{
	(void)m0_thread_join(&stream->cpt_thread);
	m0_thread_fini(&stream->cpt_thread);
	stream_free(stream);
}

/* A free place; those of captures that have ended are free, too. */
static struct capture_stream **place_find(struct captures *captures)
{
	struct capture_stream **place = NULL;
	size_t                  i;

	for (i = 0; i < CAPTURES_MAX; ++i) {
		struct capture_stream *stream = captures->cps_streams[i];

		if (stream != NULL &&
		    __atomic_load_n(&stream->cpt_done, __ATOMIC_ACQUIRE)) {
			stream_end(stream);
			captures->cps_streams[i] = NULL;
		}
		if (captures->cps_streams[i] == NULL)
			place = &captures->cps_streams[i];
	}
	return place;
}

static void filter_of(struct capture_filter    *filter,
		      const struct ctl_request *req)
{
	capture_filter_init(filter);
	M0_BASSERT((int)CAPTURE_NIDS_MAX >= (int)CTL_NIDS_MAX);
	memcpy(filter->cpf_nids, req->cq_nids,
	       req->cq_nids_nr * sizeof req->cq_nids[0]);
	filter->cpf_nids_nr = req->cq_nids_nr;
	filter->cpf_src = req->cq_fault.lfa_src;
	filter->cpf_dst = req->cq_fault.lfa_dst;
	filter->cpf_local = req->cq_fault.lfa_local;
	filter->cpf_msgs = req->cq_fault.lfa_msgs;
	filter->cpf_portals = req->cq_fault.lfa_portals;
	filter->cpf_in = strcmp(req->cq_name, "out") != 0;
	filter->cpf_out = strcmp(req->cq_name, "in") != 0;
	filter->cpf_snap = (uint32_t)min64u(req->cq_value, CAPTURE_SNAP_MAX);
}

/* The tap is there. @return as captures_start(). */
static int stream_start(struct capture_stream *stream,
			struct ctl_client     *client)
{
	int fd = client->cc_fd;
	int rc;

	/* The first bytes of a connection always have room. */
	if (fd < 0 || send(fd, STREAM_LINE, sizeof STREAM_LINE - 1,
			   MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -EPIPE;
	stream->cpt_fd = fd;
	rc = M0_THREAD_INIT(&stream->cpt_thread, struct capture_stream *, NULL,
			    stream_run, stream, "capture");
	if (rc == 0)
		ctl_client_leave(client);
	return rc;
}

int captures_start(struct captures *captures, struct m0_lnet *lnet,
		   struct ctl_client *client, const struct ctl_request *req,
		   FILE *err)
{
	struct capture_stream **place = place_find(captures);
	struct capture_stream  *stream;
	struct capture_filter   filter;
	int                     rc;

	if (place == NULL) {
		fprintf(err,
			"colibri: %d captures run already, and there may be no "
			"more; end one of them\n",
			CAPTURES_MAX);
		return TOOL_FAILED;
	}
	filter_of(&filter, req);
	stream = stream_new(lnet, &filter);
	rc = stream == NULL ? -ENOMEM
			    : m0_lnet_tap_add(lnet, &stream->cpt_queue.cqu_tap);
	if (rc == 0) {
		rc = stream_start(stream, client);
		if (rc != 0)
			(void)m0_lnet_tap_del(lnet, &stream->cpt_queue.cqu_tap);
	}
	if (rc == 0) {
		*place = stream;
		return TOOL_OK;
	}
	stream_free(stream);
	fprintf(err, "colibri: the node cannot capture: %s\n",
		tool_errtext(rc));
	return TOOL_FAILED;
}

void captures_stop(struct captures *captures)
{
	size_t i;

	for (i = 0; i < CAPTURES_MAX; ++i) {
		if (captures->cps_streams[i] != NULL)
			__atomic_store_n(&captures->cps_streams[i]->cpt_stop,
					 true, __ATOMIC_RELEASE);
	}
	for (i = 0; i < CAPTURES_MAX; ++i) {
		if (captures->cps_streams[i] != NULL)
			stream_end(captures->cps_streams[i]);
		captures->cps_streams[i] = NULL;
	}
}
