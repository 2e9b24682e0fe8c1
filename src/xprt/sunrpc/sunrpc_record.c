/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Records that connections receive, in fragments: each has a head, and a
 * payload that goes to its place piece by piece as it comes.
 *
 * A few bytes are read into the stage of the process and looked at there; the
 * most of a long payload is read straight to its place. Whatever a peer says of
 * lengths, a record has a bound, as have its fragments, its head, and the
 * memory that messages in part have together.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "xprt/sunrpc/sunrpc_internal.h"

enum {
	LAST_BIT = 31,
	/** Behind a payload that is read to its place. */
	BEHIND_NR = 4096,
	MEMORY_FIRST = 64 << 10,
	MEMORY_STEP = 4
};

static struct sr_node *const node = &m0_sunrpc__node;

static uint32_t padded(uint32_t nr)
{
	return (nr + 3) & ~(uint32_t)3;
}

/* --------------------------------------------------------- where it goes -- */

/* Blocks are of few sizes, and one of each is kept: messages in part come often. */
static uint8_t **spare_of(uint32_t nr)
{
	uint32_t size = MEMORY_FIRST;
	unsigned i;

	for (i = 0; size < nr; ++i)
		size *= MEMORY_STEP;
	M0_ASSERT(i < ARRAY_SIZE(node->sn_spare));
	return &node->sn_spare[i];
}

static uint8_t *memory_get(uint32_t nr)
{
	uint8_t **spare = spare_of(nr);
	uint8_t  *ret = *spare;

	*spare = NULL;
	return ret != NULL ? ret : m0_alloc(nr);
}

static void memory_put_back(uint8_t *memory, uint32_t nr)
{
	uint8_t **spare;

	if (memory == NULL)
		return;
	spare = spare_of(nr);
	if (*spare == NULL)
		*spare = memory;
	else
		m0_free(memory);
}

void m0_sunrpc__spares_drain(void)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(node->sn_spare); ++i)
		m0_free0(&node->sn_spare[i]);
}

static void memory_drop(struct sr_in *in)
{
	memory_put_back(in->sri_memory, in->sri_memory_nr);
	in->sri_memory = NULL;
	node->sn_partial_bytes -= in->sri_memory_nr;
	in->sri_memory_nr = 0;
}

void m0_sunrpc__in_drop(struct sr_in *in)
{
	memory_drop(in);
	if (in->sri_machine != NULL)
		m0_net_kit_machine_put(in->sri_machine->sm_machine);
	in->sri_machine = NULL;
	in->sri_flat = NULL;
	in->sri_sink = SR_SINK_NONE;
}

/* The rest of the payload is thrown away. */
static void sink_close(struct sr_in *in, int rc)
{
	m0_sunrpc__in_drop(in);
	in->sri_rc = rc;
}

/* Claims the buffer that the payload goes to; held until sink_release(). */
static struct m0_net_kit_buf *sink_claim(struct sr_conn *conn, m0_time_t now)
{
	struct sr_in          *in = &conn->sc_in;
	struct m0_net_kit_buf *kb = NULL;

	if (m0_sunrpc__hold(in->sri_machine)) {
		if (m0_net_kit_claim_id(in->sri_id, in->sri_qtype, &kb) == 0 &&
		    (conn->sc_dom != NULL ||
		     m0_sunrpc__passive_keep(conn, kb, now)))
			return kb;
		if (kb != NULL)
			m0_net_kit_unclaim(kb);
		m0_sunrpc__release(in->sri_machine);
	}
	sink_close(in, -ENOENT);
	return NULL;
}

static void sink_release(struct sr_in *in, struct m0_net_kit_buf *kb)
{
	m0_net_kit_unclaim(kb);
	m0_sunrpc__release(in->sri_machine);
}

/* Memory grows with the bytes that have come, not with the announced length. */
static bool memory_have(struct sr_conn *conn, uint32_t nr, m0_time_t now)
{
	struct sr_in *in = &conn->sc_in;
	uint32_t      want = in->sri_memory_nr;
	uint8_t      *more;

	if (nr <= in->sri_memory_nr)
		return true;
	while (want < nr)
		want = want == 0 ? MEMORY_FIRST : MEMORY_STEP * want;
	while (node->sn_partial_bytes + want - in->sri_memory_nr >
	       SR_PARTIAL_BYTES_MAX) {
		if (!m0_sunrpc__conn_relieve(conn, now))
			return false;
	}
	more = memory_get(want);
	if (more == NULL)
		return false;
	if (in->sri_memory != NULL)
		memcpy(more, in->sri_memory,
		       in->sri_data_nr - in->sri_data_left);
	memory_put_back(in->sri_memory, in->sri_memory_nr);
	in->sri_memory = more;
	node->sn_partial_bytes += want - in->sri_memory_nr;
	in->sri_memory_nr = want;
	return true;
}

static void memory_put(struct sr_conn *conn, const uint8_t *bytes, uint32_t nr,
		       uint32_t avail, m0_time_t now)
{
	struct sr_in *in = &conn->sc_in;
	uint32_t      at = in->sri_data_nr - in->sri_data_left;

	/* All of it, to the end of the record: it stays where it is. */
	if (at == 0 && nr == in->sri_data_nr && in->sri_frag_last &&
	    avail == in->sri_frag_left && avail == padded(nr)) {
		in->sri_flat = bytes;
		return;
	}
	if (memory_have(conn, at + nr, now))
		memcpy(in->sri_memory + at, bytes, nr);
	else
		sink_close(in, -ENOBUFS);
}

static void buffer_put(struct sr_conn *conn, const uint8_t *bytes, uint32_t nr,
		       m0_time_t now)
{
	struct sr_in          *in = &conn->sc_in;
	struct m0_net_kit_buf *kb = sink_claim(conn, now);
	void                  *data = (void *)(uintptr_t)bytes;
	m0_bcount_t            count = nr;
	struct m0_bufvec       flat = M0_BUFVEC_INIT_BUF(&data, &count);

	if (kb == NULL)
		return;
	(void)m0_bufvec_copy_at(&kb->nkb_buffer->nb_buffer, in->sri_at, &flat,
				0, nr);
	sink_release(in, kb);
	in->sri_at += nr;
}

/* --------------------------------------------------------------- records -- */

static void in_reset(struct sr_in *in)
{
	m0_sunrpc__in_drop(in);
	in->sri_frags_nr = 0;
	in->sri_record_nr = 0;
	in->sri_phase = SR_PH_HEAD;
	in->sri_head_nr = 0;
	in->sri_rpc_nr = 0;
	in->sri_data_nr = 0;
	in->sri_data_left = 0;
	in->sri_rc = 0;
	in->sri_of = NULL;
}

static void phase_after_head(struct sr_in *in)
{
	in->sri_data_left = in->sri_data_nr;
	in->sri_phase = in->sri_data_nr > 0 ? SR_PH_DATA : SR_PH_REST;
}

/* Returns how many bytes the head lacks. @retval <0  it is no head. */
static int head_more(struct sr_conn *conn)
{
	struct sr_in *in = &conn->sc_in;
	uint32_t      need;

	if (conn->sc_dom == NULL) {
		need = m0_sunrpc__call_need(in->sri_head, in->sri_head_nr,
					    &in->sri_rpc_nr);
	} else {
		/* The procedure is the call's; of an unknown one the result. */
		if (in->sri_of == NULL && in->sri_head_nr >= 4)
			in->sri_of = m0_sunrpc__call_of(conn, in->sri_head);
		need = m0_sunrpc__reply_need(
			in->sri_head, in->sri_head_nr,
			in->sri_of == NULL
				? SR_NULL
				: (enum sr_proc)in->sri_of->sca_head.sch_proc);
	}
	if (need == 0 || need > SR_HEAD_MAX)
		return -EPROTO;
	return need > in->sri_head_nr ? (int)(need - in->sri_head_nr) : 0;
}

static int call_head_end(struct sr_conn *conn, m0_time_t now)
{
	struct sr_in *in = &conn->sc_in;

	in->sri_verdict = m0_sunrpc__call_decode(in->sri_head, in->sri_head_nr,
						 &in->sri_call);
	if (in->sri_verdict == SR_SUCCESS) {
		in->sri_data_nr = in->sri_call.sch_data_nr;
		m0_sunrpc__serve_head(conn, now);
		phase_after_head(in);
	} else {
		in->sri_phase = SR_PH_REST;
	}
	return 0;
}

static int reply_head_end(struct sr_conn *conn)
{
	struct sr_in *in = &conn->sc_in;

	M0_SET0(&in->sri_reply);
	if (in->sri_of != NULL)
		in->sri_reply.srh_proc =
			(enum sr_proc)in->sri_of->sca_head.sch_proc;
	if (!m0_sunrpc__reply_decode(in->sri_head, in->sri_head_nr,
				     &in->sri_reply))
		return -EPROTO;
	in->sri_verdict = in->sri_reply.srh_verdict;
	in->sri_data_nr = in->sri_reply.srh_data_nr;
	if (in->sri_of != NULL && in->sri_verdict == SR_SUCCESS)
		m0_sunrpc__reply_head(conn);
	phase_after_head(in);
	return 0;
}

static int head_take(struct sr_conn *conn, const uint8_t *bytes, uint32_t nr,
		     m0_time_t now)
{
	struct sr_in *in = &conn->sc_in;
	uint32_t      used = 0;
	int           more;

	while ((more = head_more(conn)) > 0 && used < nr) {
		more = (int)min64u((uint32_t)more, nr - used);
		memcpy(in->sri_head + in->sri_head_nr, bytes + used,
		       (uint32_t)more);
		in->sri_head_nr += (uint32_t)more;
		used += (uint32_t)more;
	}
	if (more == 0)
		more = conn->sc_dom == NULL ? call_head_end(conn, now)
					    : reply_head_end(conn);
	return more < 0 ? more : (int)used;
}

static uint32_t data_take(struct sr_conn *conn, const uint8_t *bytes,
			  uint32_t nr, m0_time_t now)
{
	struct sr_in *in = &conn->sc_in;
	uint32_t      take = (uint32_t)min64u(nr, in->sri_data_left);

	if (in->sri_sink == SR_SINK_MEMORY)
		memory_put(conn, bytes, take, nr, now);
	else if (in->sri_sink == SR_SINK_BUFFER)
		buffer_put(conn, bytes, take, now);
	in->sri_data_left -= take;
	if (in->sri_data_left == 0)
		in->sri_phase = SR_PH_REST;
	return take;
}

/* All of a record has come. */
static int record_end(struct sr_conn *conn, m0_time_t now)
{
	struct sr_in *in = &conn->sc_in;
	bool          whole = in->sri_phase == SR_PH_REST &&
		     in->sri_record_nr ==
			     in->sri_head_nr + padded(in->sri_data_nr);
	int rc;

	if (in->sri_phase == SR_PH_HEAD) {
		if (conn->sc_dom != NULL || in->sri_rpc_nr == 0 ||
		    in->sri_head_nr < in->sri_rpc_nr)
			return -EPROTO;
		in->sri_verdict = m0_sunrpc__call_decode(
			in->sri_head, in->sri_head_nr, &in->sri_call);
	}
	++conn->sc_records_nr;
	rc = conn->sc_dom == NULL ? m0_sunrpc__serve_end(conn, whole, now)
				  : m0_sunrpc__reply_end(conn, whole);
	in_reset(in);
	return rc;
}

/* Bytes of a record are behind us. */
static int record_moved(struct sr_conn *conn, uint32_t nr, m0_time_t now)
{
	struct sr_in *in = &conn->sc_in;

	in->sri_frag_left -= nr;
	in->sri_record_nr += nr;
	if (in->sri_frag_left > 0)
		return 0;
	in->sri_mark_nr = 0;
	return in->sri_frag_last ? record_end(conn, now) : 0;
}

static int mark_end(struct sr_conn *conn, m0_time_t now)
{
	struct sr_in  *in = &conn->sc_in;
	const uint8_t *m = in->sri_mark;

	in->sri_frag_last = m[0] & 0x80;
	in->sri_frag_left = (uint32_t)(m[0] & 0x7f) << 24 |
			    (uint32_t)m[1] << 16 | (uint32_t)m[2] << 8 | m[3];
	if (in->sri_frag_left > SR_RECORD_MAX - in->sri_record_nr ||
	    ++in->sri_frags_nr > SR_FRAGMENTS_MAX)
		return -EMSGSIZE;
	return in->sri_frag_left == 0 ? record_moved(conn, 0, now) : 0;
}

static int body_take(struct sr_conn *conn, const uint8_t *bytes, uint32_t nr,
		     m0_time_t now)
{
	struct sr_in *in = &conn->sc_in;

	nr = (uint32_t)min64u(nr, in->sri_frag_left);
	if (in->sri_phase == SR_PH_HEAD)
		return head_take(conn, bytes, nr, now);
	if (in->sri_phase == SR_PH_DATA)
		return (int)data_take(conn, bytes, nr, now);
	return (int)nr;
}

/* Looks at bytes that have come. */
static int feed(struct sr_conn *conn, const uint8_t *bytes, size_t nr,
		m0_time_t now)
{
	struct sr_in *in = &conn->sc_in;
	int           rc = 0;
	int           used;

	while (nr > 0 && rc == 0) {
		if (in->sri_mark_nr < sizeof in->sri_mark) {
			if (in->sri_mark_nr == 0 && in->sri_frags_nr == 0)
				in->sri_since = now;
			in->sri_mark[in->sri_mark_nr++] = *bytes;
			used = 1;
			if (in->sri_mark_nr == sizeof in->sri_mark)
				rc = mark_end(conn, now);
		} else {
			used = body_take(conn, bytes, (uint32_t)nr, now);
			if (used < 0)
				return used;
			rc = record_moved(conn, (uint32_t)used, now);
		}
		bytes += used;
		nr -= (size_t)used;
	}
	return rc;
}

/* --------------------------------------------------------------- reading -- */

/* Payload that is to come, of this fragment, and has a place. */
static uint32_t direct_nr(const struct sr_in *in)
{
	if (in->sri_phase != SR_PH_DATA || in->sri_sink == SR_SINK_NONE)
		return 0;
	return (uint32_t)min64u(in->sri_data_left, in->sri_frag_left);
}

/*
 * One read to where the payload goes, a little behind it into the stage.
 * @param asked  set to how many bytes were asked for.
 */
static ssize_t direct_read(struct sr_conn *conn, struct m0_net_kit_buf *kb,
			   m0_bcount_t *data_nr, size_t *asked)
{
	struct sr_in *in = &conn->sc_in;
	struct iovec  iov[SR_IOV_MAX];
	int           nr = 1;

	*data_nr = direct_nr(in);
	if (kb != NULL) {
		nr = m0_sunrpc__iov(&kb->nkb_buffer->nb_buffer, in->sri_at,
				    *data_nr, iov, SR_IOV_MAX - 1, data_nr);
	} else {
		iov[0].iov_base = in->sri_memory +
				  (in->sri_data_nr - in->sri_data_left);
		iov[0].iov_len = *data_nr;
	}
	*asked = *data_nr;
	if (*data_nr == direct_nr(in)) {
		iov[nr++] = (struct iovec){ .iov_base = node->sn_stage,
					    .iov_len = BEHIND_NR };
		*asked += BEHIND_NR;
	}
	return readv(conn->sc_fd.lof_fd, iov, nr);
}

/* Accounts for bytes read directly, and handles what follows them. */
static int direct_end(struct sr_conn *conn, size_t nr, m0_bcount_t data_nr,
		      m0_time_t now)
{
	struct sr_in *in = &conn->sc_in;
	uint32_t      direct = (uint32_t)min64u(nr, data_nr);
	int           rc;

	in->sri_at += direct;
	in->sri_data_left -= direct;
	if (in->sri_data_left == 0)
		in->sri_phase = SR_PH_REST;
	rc = record_moved(conn, direct, now);
	return rc ?: feed(conn, node->sn_stage, nr - direct, now);
}

static bool direct_can(struct sr_conn *conn, struct m0_net_kit_buf **kb,
		       m0_time_t now)
{
	struct sr_in *in = &conn->sc_in;
	uint32_t      nr = direct_nr(in);

	*kb = NULL;
	if (nr < SR_DIRECT_MIN)
		return false;
	if (in->sri_sink == SR_SINK_MEMORY)
		/* No more than there is memory for, until that has come. */
		return in->sri_memory_nr >= in->sri_data_nr;
	*kb = sink_claim(conn, now);
	return *kb != NULL;
}

/* @return bytes that were read, 0: the end. @retval -EAGAIN  nothing is there. */
static ssize_t read_some(struct sr_conn *conn, m0_time_t now)
{
	struct sr_in          *in = &conn->sc_in;
	struct m0_net_kit_buf *kb;
	m0_bcount_t            data_nr = 0;
	size_t                 asked = SR_STAGE;
	bool                   direct = direct_can(conn, &kb, now);
	ssize_t                nr;
	int                    rc;

	nr = direct ? direct_read(conn, kb, &data_nr, &asked)
		    : read(conn->sc_fd.lof_fd, node->sn_stage, SR_STAGE);
	rc = nr < 0 ? -errno : 0;
	if (kb != NULL)
		sink_release(in, kb);
	if (nr <= 0)
		return rc;
	/* The loop reports what comes later. It does not report an end twice. */
	if ((size_t)nr < asked && !conn->sc_ended)
		conn->sc_can_read = false;
	rc = direct ? direct_end(conn, (size_t)nr, data_nr, now)
		    : feed(conn, node->sn_stage, (size_t)nr, now);
	return rc != 0 ? rc : nr;
}

int m0_sunrpc__conn_read(struct sr_conn *conn, m0_time_t now)
{
	size_t  moved = 0;
	ssize_t nr;

	while (conn->sc_can_read && moved < SR_TURN_BYTES &&
	       conn->sc_replies_nr < SR_REPLIES_MAX) {
		nr = read_some(conn, now);
		if (nr == -EINTR)
			continue;
		if (nr == -EAGAIN) {
			conn->sc_can_read = false;
			break;
		}
		if (nr <= 0)
			return nr == 0 ? -ECONNRESET : (int)nr;
		moved += (size_t)nr;
		conn->sc_moved = now;
	}
	return 0;
}
