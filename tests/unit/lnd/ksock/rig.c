/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "rig.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

/* clang-format off */
const struct m0_lnet_nid rig_a = {
	.ln_type = M0_LNET_TYPE_TCP, .ln_addr = { 10, 0, 0, 1 } };
const struct m0_lnet_nid rig_b = {
	.ln_type = M0_LNET_TYPE_TCP, .ln_addr = { 10, 0, 0, 2 } };
const struct m0_lnet_nid rig_low = {
	.ln_type = M0_LNET_TYPE_TCP, .ln_addr = { 9, 0, 0, 9 } };
const struct m0_lnet_nid rig_a6 = {
	.ln_size = M0_LNET_NID_SIZE_IPV6, .ln_type = M0_LNET_TYPE_TCP,
	.ln_addr = { 0x20, 1, 0x0d, 0xb8, [15] = 1 } };
const struct m0_lnet_nid rig_b6 = {
	.ln_size = M0_LNET_NID_SIZE_IPV6, .ln_type = M0_LNET_TYPE_TCP,
	.ln_addr = { 0x20, 1, 0x0d, 0xb8, [15] = 2 } };
/* clang-format on */

static struct rig *rig_of(struct m0_streams *io)
{
	return container_of(io, struct rig, rg_io);
}

static struct rig_stream *stream_new(struct rig *rig)
{
	struct rig_stream *stream = &rig->rg_streams[rig->rg_streams_nr++];

	assert_true(rig->rg_streams_nr <= RIG_STREAMS_MAX);
	memset(stream, 0, sizeof *stream);
	stream->rs_used = true;
	stream->rs_stream.stm_counts = &rig->rg_io.sts_counts;
	stream->rs_room = SIZE_MAX;
	return stream;
}

static struct rig_stream *stream_of(struct m0_stream *stream)
{
	return container_of(stream, struct rig_stream, rs_stream);
}

void rig_streams_forget(struct rig *rig)
{
	unsigned i;

	for (i = 0; i < rig->rg_streams_nr; ++i)
		free(rig->rg_streams[i].rs_wrote);
	rig->rg_streams_nr = 0;
}

static void io_destroy(struct m0_streams *io)
{
	rig_streams_forget(rig_of(io));
}

static void reactor_rouse(struct m0_reactor *reactor)
{
	++container_of(reactor, struct rig, rg_reactor)->rg_rouses_nr;
}

static const struct m0_reactor_ops reactor_ops = { .rtro_rouse =
							   reactor_rouse };

static int io_listen(struct m0_streams *io, struct m0_stream_listener *listener,
		     char *why)
{
	(void)why;
	(void)listener;
	if (rig_of(io)->rg_listen_rc == 0)
		++rig_of(io)->rg_listeners_nr;
	return rig_of(io)->rg_listen_rc;
}

bool rig_kernel_has_nid;

static bool io_nid_taken(const char *nid, char *why)
{
	(void)snprintf(why, M0_LND_WHY_BYTES, "the kernel has %s, too", nid);
	return rig_kernel_has_nid;
}

static void io_unlisten(struct m0_streams         *io,
			struct m0_stream_listener *listener)
{
	(void)listener;
	--rig_of(io)->rg_listeners_nr;
}

static int io_dial(struct m0_streams *io, void *conn,
		   const struct m0_host_addr *from, uint16_t port_min,
		   uint16_t port_max, const struct m0_host_addr *to,
		   struct m0_stream **ret, char *why)
{
	struct rig        *rig = rig_of(io);
	struct rig_stream *stream;

	(void)why;
	if (rig->rg_dial_rc != 0)
		return rig->rg_dial_rc;
	stream = stream_new(rig);
	stream->rs_dialling = true;
	stream->rs_conn = conn;
	stream->rs_from = *from;
	stream->rs_to = *to;
	stream->rs_port_min = port_min;
	stream->rs_port_max = port_max;
	stream->rs_stream.stm_user = conn;
	*ret = &stream->rs_stream;
	return 0;
}

static void io_out(struct m0_streams *io, struct m0_stream *ref)
{
	struct rig_stream *stream = stream_of(ref);

	(void)io;
	assert_false(stream->rs_hung);
	stream->rs_out = true;
}

static void io_in(struct m0_streams *io, struct m0_stream *ref)
{
	struct rig_stream *stream = stream_of(ref);

	(void)io;
	assert_false(stream->rs_hung);
	++stream->rs_in_nr;
}

static void io_hangup(struct m0_streams *io, struct m0_stream *ref, bool reset)
{
	struct rig_stream *stream = stream_of(ref);

	(void)io;
	assert_false(stream->rs_hung);
	stream->rs_hung = true;
	stream->rs_reset = reset;
	stream->rs_out = false;
	stream->rs_dialling = false;
}

static size_t io_unsent(struct m0_streams *io, struct m0_stream *ref)
{
	struct rig_stream *stream = stream_of(ref);

	(void)io;
	assert_false(stream->rs_hung);
	return stream->rs_unsent;
}

static const struct m0_streams_ops io_ops = { .sto_destroy = io_destroy,
					      .sto_listen = io_listen,
					      .sto_unlisten = io_unlisten,
					      .sto_dial = io_dial,
					      .sto_out = io_out,
					      .sto_in = io_in,
					      .sto_hangup = io_hangup,
					      .sto_unsent = io_unsent };

static const struct m0_host_ops host_ops = { .hso_nid_taken = io_nid_taken };

/* -- the engine ------------------------------------------------------------ */

static struct rig *rig_of_ni(struct m0_lnd_ni *ni)
{
	return container_of(ni, struct rig, rg_ni);
}

static struct rig_tx *tx_of(struct m0_lnd_tx *tx)
{
	return container_of(tx, struct rig_tx, rt_tx);
}

/** The rig of the messages: cases have one at a time. */
static struct rig *the_rig;

static size_t up_tx_header(struct m0_lnd_tx *tx, bool large,
			   uint8_t buf[M0_LND_HDR_BYTES_MAX])
{
	size_t   nr = large ? 96 : 72;
	uint32_t bytes = (uint32_t)tx->ltx_payload.lpy_bytes;

	if (tx_of(tx)->rt_no_header)
		return 0;
	memset(buf, tx_of(tx)->rt_mark, nr);
	memcpy(buf + (large ? 52 : 28), &bytes, sizeof bytes);
	return nr;
}

static void up_tx_done(struct m0_lnd_tx *ltx, int status,
		       enum m0_lnd_health health)
{
	struct rig_tx *tx = tx_of(ltx);

	assert_int_equal(++tx->rt_done, 1);
	tx->rt_status = status;
	tx->rt_health = health;
	if (the_rig->rg_on_tx_done != NULL)
		the_rig->rg_on_tx_done(the_rig, tx);
}

/**
 * Memory of rg_seg_bytes pieces, in which every third is empty; each its own,
 * so that a sanitizer sees a byte beside it.
 */
static void memory_cut(struct rig_rx *rr, size_t bytes)
{
	size_t   seg_bytes = rr->rr_rig->rg_seg_bytes;
	size_t   max = bytes / seg_bytes * 3 / 2 + 4;
	uint32_t nr;

	rr->rr_counts = calloc(max, sizeof *rr->rr_counts);
	rr->rr_bufs = calloc(max, sizeof *rr->rr_bufs);
	for (nr = 0; bytes > 0; ++nr) {
		size_t part = bytes < seg_bytes ? bytes : seg_bytes;

		if (nr % 3 == 2)
			continue;
		assert_true(nr < max);
		rr->rr_counts[nr] = part;
		rr->rr_bufs[nr] = calloc(1, part);
		bytes -= part;
	}
	rr->rr_vec.ov_vec.v_nr = nr;
	rr->rr_vec.ov_vec.v_count = rr->rr_counts;
	rr->rr_vec.ov_buf = rr->rr_bufs;
}

/** Copies the payload into rg_memory, in one piece. */
static void memory_join(struct rig_rx *rr)
{
	uint8_t *at = rr->rr_rig->rg_memory;
	uint32_t i;

	for (i = 0; i < rr->rr_vec.ov_vec.v_nr; ++i) {
		if (rr->rr_counts[i] > 0)
			memcpy(at, rr->rr_bufs[i], rr->rr_counts[i]);
		at += rr->rr_counts[i];
	}
}

static void rx_free(struct rig_rx *rr)
{
	uint32_t i;

	for (i = 0; i < rr->rr_vec.ov_vec.v_nr; ++i)
		free(rr->rr_bufs[i]);
	free(rr->rr_counts);
	free(rr->rr_bufs);
	memset(rr, 0xdb, sizeof *rr);
	free(rr);
}

static void rx_note(struct rig_rx *rr, const void *bytes, bool large)
{
	struct rig_msg *msg = &rr->rr_msg;

	memcpy(msg->rm_header, bytes, large ? 96 : 72);
	msg->rm_large = large;
	msg->rm_nid = rr->rr_rx->lr_nid;
	msg->rm_pid = rr->rr_rx->lr_pid;
}

static void up_rx_guess(struct m0_lnd_ni *ni, const struct m0_lnd_rx *rx,
			struct m0_lnd_payload *ret)
{
	struct rig *rig = rig_of_ni(ni);

	assert_false(m0_lnet_nid_is_any(&rx->lr_nid));
	ret->lpy_bytes = rig->rg_guess_bytes;
	if (ret->lpy_bytes == 0)
		return;
	if (rig->rg_guess != NULL &&
	    rig->rg_guess->rr_msg.rm_bytes != ret->lpy_bytes) {
		rx_free(rig->rg_guess);
		rig->rg_guess = NULL;
	}
	if (rig->rg_guess == NULL) {
		rig->rg_guess = calloc(1, sizeof *rig->rg_guess);
		rig->rg_guess->rr_rig = rig;
		rig->rg_guess->rr_msg.rm_bytes = ret->lpy_bytes;
		memory_cut(rig->rg_guess, rig->rg_offset + ret->lpy_bytes);
	}
	ret->lpy_vec = &rig->rg_guess->rr_vec;
	ret->lpy_offset = rig->rg_offset;
}

static bool up_rx_guessed(struct m0_lnd_ni *ni, const void *bytes, bool large)
{
	struct rig *rig = rig_of_ni(ni);
	uint32_t    payload;

	memcpy(&payload, (const uint8_t *)bytes + (large ? 52 : 28), 4);
	rig->rg_guess_is_right = payload == rig->rg_guess_bytes &&
				 rig->rg_begin_rc != -EAGAIN &&
				 (rig->rg_want == 0 || rig->rg_want >= payload);
	rig->rg_guess_right_nr += rig->rg_guess_is_right;
	rig->rg_guess_wrong_nr += !rig->rg_guess_is_right;
	return rig->rg_guess_is_right;
}

/** A message begins: its memory, which may be what was guessed. */
static struct rig_rx *rx_new(struct rig *rig, size_t payload)
{
	struct rig_rx *rr = rig->rg_guess;
	size_t         want = payload < rig->rg_want ? payload : rig->rg_want;

	rig->rg_guess = NULL;
	/* A right guess may remain from a connection that ended; it is for
	 * another message. */
	if (rr != NULL && (!rig->rg_guess_is_right || want == 0 ||
			   rr->rr_msg.rm_bytes != payload)) {
		rx_free(rr);
		rr = NULL;
	}
	rig->rg_guess_is_right = false;
	if (rr == NULL) {
		rr = calloc(1, sizeof *rr);
		rr->rr_rig = rig;
		if (want > 0)
			memory_cut(rr, rig->rg_offset + want);
	}
	rr->rr_msg.rm_bytes = want;
	return rr;
}

static int up_rx_begin(struct m0_lnd_ni *ni, struct m0_lnd_rx *rx,
		       const void *bytes, bool large)
{
	struct rig    *rig = rig_of_ni(ni);
	struct rig_rx *rr;
	uint32_t       payload;
	int            rc;

	++rig->rg_begun_nr;
	/* An engine that wants nothing need not say so. */
	assert_null(rx->lr_payload.lpy_vec);
	assert_int_equal(rx->lr_payload.lpy_bytes, 0);
	assert_int_equal(rx->lr_discard_bytes, 0);
	memcpy(&payload, (const uint8_t *)bytes + (large ? 52 : 28), 4);
	rc = payload > RIG_PAYLOAD_MAX ? -EPROTO : 0;
	if (rig->rg_begin_rc != 0 &&
	    (rig->rg_begin_nid == NULL ||
	     !m0_lnet_nid_eq(rig->rg_begin_nid, &rx->lr_nid)))
		rc = rig->rg_begin_rc;
	if (rc != 0) {
		rig->rg_guess_is_right = false;
		return rc;
	}
	assert_false(rx->lr_cancelled);
	rr = rx_new(rig, payload);
	rr->rr_rx = rx;
	rx_note(rr, bytes, large);
	rx->lr_priv = rr;
	rx->lr_discard_bytes = payload - rr->rr_msg.rm_bytes;
	rx->lr_payload.lpy_bytes = rr->rr_msg.rm_bytes;
	rx->lr_payload.lpy_offset = rig->rg_offset;
	rx->lr_cancelled = rig->rg_cancel_at_begin;
	assert_false(rx->lr_reports);
	rx->lr_reports = rig->rg_reports;
	if (rr->rr_msg.rm_bytes > 0)
		rx->lr_payload.lpy_vec = &rr->rr_vec;
	rig->rg_rx = rx;
	++rig->rg_rxs_nr;
	return 0;
}

static void up_rx_more(struct m0_lnd_rx *rx, m0_bcount_t bytes)
{
	struct rig *rig = ((struct rig_rx *)rx->lr_priv)->rr_rig;

	assert_true(rig->rg_reports && bytes < rx->lr_payload.lpy_bytes);
	++rig->rg_reports_nr;
	rig->rg_reported = bytes;
}

static void up_rx_done(struct m0_lnd_rx *rx, int status,
		       enum m0_lnd_health health)
{
	struct rig_rx *rr = rx->lr_priv;
	struct rig    *rig = rr->rr_rig;

	assert_true(rr->rr_rx == rx);
	assert_true((status == 0) == (health == M0_LND_OK));
	rr->rr_msg.rm_status = status;
	rr->rr_msg.rm_done = true;
	rig->rg_msgs[rig->rg_msgs_nr++ % RIG_MSGS_MAX] = rr->rr_msg;
	if (rig->rg_rx == rx)
		rig->rg_rx = NULL;
	--rig->rg_rxs_nr;
	memory_join(rr);
	rx_free(rr);
	if (rig->rg_on_rx_done != NULL)
		rig->rg_on_rx_done(rig);
}

static void up_peer_down(struct m0_lnd_ni *ni, const struct m0_lnet_nid *nid,
			 uint32_t pid, int status)
{
	(void)nid;
	(void)pid;
	assert_true(status <= 0);
	++rig_of_ni(ni)->rg_downs_nr;
	rig_of_ni(ni)->rg_down_status = status;
}

static void up_ni_stopped(struct m0_lnd_ni *ni)
{
	++rig_of_ni(ni)->rg_stopped_nr;
}

static const struct m0_lnd_guess_ops guess_ops = {
	.lgu_guess = up_rx_guess,
	.lgu_guessed = up_rx_guessed,
};

static const struct m0_lnd_up_ops up_ops = { .lu_tx_header = up_tx_header,
					     .lu_tx_done = up_tx_done,
					     .lu_rx_begin = up_rx_begin,
					     .lu_rx_more = up_rx_more,
					     .lu_rx_done = up_rx_done,
					     .lu_guess = &guess_ops,
					     .lu_peer_down = up_peer_down,
					     .lu_ni_stopped = up_ni_stopped };

/* -- life ------------------------------------------------------------------ */

m0_time_t rig_step(struct rig *rig)
{
	rig->rg_reactor.rtr_now = rig->rg_now;
	return rig->rg_lnd->ld_ops->ldo_step(rig->rg_lnd, rig->rg_now);
}

static void no_log(void *arg, enum m0_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	(void)text;
}

void rig_cfg(struct rig *rig)
{
	memset(rig, 0, sizeof *rig);
	m0_sock_cfg_default(&rig->rg_cfg);
	rig->rg_io.sts_ops = &io_ops;
	rig->rg_io.sts_reactor = &rig->rg_reactor;
	rig->rg_reactor.rtr_ops = &reactor_ops;
	m0_host_ops_set(&host_ops);
	rig->rg_now = RIG_SECONDS(1000);
	rig->rg_want = SIZE_MAX;
	rig->rg_seg_bytes = SIZE_MAX;
	rig->rg_mode = RIG_BOTH;
	rig->rg_piece = SIZE_MAX;
	rig->rg_memory = calloc(1, RIG_PAYLOAD_MAX + 4096);
	m0_rand_init(&rig->rg_rand, 1);
	m0_log_set(no_log, NULL);
	the_rig = rig;
}

void rig_start(struct rig *rig, const struct m0_lnet_nid *nid)
{
	char why[M0_LND_WHY_BYTES];

	assert_int_equal(m0_sock_create(&rig->rg_lnd, &rig->rg_cfg, &rig->rg_io,
					1, rig->rg_now),
			 0);
	rig->rg_sock = m0_sock_of_lnd(rig->rg_lnd);
	assert_true(rig->rg_io.sts_owner == rig->rg_sock);
	rig->rg_ni.ldn_nid = *nid;
	rig->rg_ni.ldn_incarnation = RIG_INCARNATION_A;
	rig->rg_ni.ldn_ops = &up_ops;
	assert_int_equal(rig->rg_lnd->ld_ops->ldo_ni_start(rig->rg_lnd,
							   &rig->rg_ni, why),
			 0);
	assert_true(rig->rg_ni.ldn_up);
	rig_net_spoil(rig);
}

void rig_fini(struct rig *rig)
{
	unsigned i;

	rig->rg_on_tx_done = NULL;
	rig->rg_on_rx_done = NULL;
	rig->rg_lnd->ld_ops->ldo_ni_stop(&rig->rg_ni);
	rig_run(rig);
	assert_int_equal(rig->rg_stopped_nr, 1);
	assert_int_equal(rig->rg_listeners_nr, 0);
	assert_int_equal(rig->rg_rxs_nr, 0);
	for (i = 0; i < rig->rg_streams_nr; ++i)
		rig->rg_streams[i].rs_conn = NULL;
	rig->rg_lnd->ld_ops->ldo_fini(rig->rg_lnd);
	free(rig->rg_memory);
	if (rig->rg_guess != NULL)
		rx_free(rig->rg_guess);
	m0_log_set(NULL, NULL);
}

void rig_again(struct rig *rig)
{
	rig_fini(rig);
	rig_init(rig);
}

/* -- passes ---------------------------------------------------------------- */

/** Writes as much as the stream takes. True: something was. */
static bool stream_flush(struct rig_stream *stream)
{
	struct iovec iov[64];
	unsigned     nr;
	unsigned     i;
	size_t       left = 0;

	if (stream->rs_hung || stream->rs_dialling)
		return false;
	if (!stream->rs_passes && stream->rs_passed > 0) {
		left = stream->rs_passed;
		stream->rs_passed = 0;
		(void)the_rig->rg_io.sts_up->stu_out_left(stream->rs_conn,
							  left);
		return true;
	}
	if (!stream->rs_out)
		return false;
	nr = the_rig->rg_io.sts_up->stu_out_what(stream->rs_conn, iov,
						 ARRAY_SIZE(iov));
	if (stream->rs_wrote == NULL)
		stream->rs_wrote = malloc(RIG_WROTE_MAX);
	for (i = 0; i < nr && stream->rs_room > 0; ++i) {
		size_t part = iov[i].iov_len < stream->rs_room
				      ? iov[i].iov_len
				      : stream->rs_room;

		assert_true(stream->rs_wrote_nr + part <= RIG_WROTE_MAX);
		memcpy(stream->rs_wrote + stream->rs_wrote_nr, iov[i].iov_base,
		       part);
		stream->rs_wrote_nr += part;
		stream->rs_room -= stream->rs_room == SIZE_MAX ? 0 : part;
		left += part;
	}
	if (nr == 0)
		stream->rs_out = false;
	if (left == 0)
		return false;
	if (stream->rs_passes) {
		stream->rs_passed += left;
		the_rig->rg_io.sts_up->stu_out_passed(stream->rs_conn, left);
	} else {
		(void)the_rig->rg_io.sts_up->stu_out_left(stream->rs_conn,
							  left);
	}
	return true;
}

static bool rig_flush(struct rig *rig)
{
	bool     more = false;
	unsigned i;

	for (i = 0; i < rig->rg_streams_nr; ++i)
		more = stream_flush(&rig->rg_streams[i]) || more;
	return more;
}

static m0_time_t rig_settle(struct rig *rig)
{
	m0_time_t next;
	unsigned  i;

	for (i = 0; i < 10000; ++i) {
		rig->rg_reactor.rtr_now = rig->rg_now;
		next = rig_step(rig);
		if (!rig_flush(rig) && next > rig->rg_now)
			return next;
	}
	fail_msg("the driver is never content");
	return 0;
}

void rig_run(struct rig *rig)
{
	(void)rig_settle(rig);
}

void rig_pass(struct rig *rig, m0_time_t ns)
{
	m0_time_t end = rig->rg_now + ns;
	m0_time_t next;

	while ((next = rig_settle(rig)) < end)
		rig->rg_now = next;
	rig->rg_now = end;
	rig_run(rig);
}

/* -- the peer -------------------------------------------------------------- */

static void addr_set(struct m0_host_addr *addr, const char *ip, uint16_t port)
{
	addr->sa_port = port;
	if (inet_pton(AF_INET, ip, addr->sa_bytes) == 1) {
		addr->sa_bytes_nr = 4;
	} else {
		assert_int_equal(inet_pton(AF_INET6, ip, addr->sa_bytes), 1);
		addr->sa_bytes_nr = 16;
	}
}

struct rig_stream *rig_connect(struct rig *rig, const char *ip, uint16_t port)
{
	struct rig_stream        *stream = stream_new(rig);
	struct m0_stream_listener listener = { .slr_priv = NULL };

	addr_set(&stream->rs_from, ip, port);
	addr_set(&stream->rs_to, "10.0.0.1", 988);
	rig->rg_reactor.rtr_now = rig->rg_now;
	stream->rs_conn = rig->rg_io.sts_up->stu_accepted(
		rig->rg_sock, &listener, &stream->rs_to, &stream->rs_from,
		&stream->rs_stream);
	stream->rs_stream.stm_user = stream->rs_conn;
	if (stream->rs_conn == NULL)
		stream->rs_hung = true;
	else
		assert_true(m0_sock_conn_stream(stream->rs_conn) ==
			    &stream->rs_stream);
	return stream->rs_conn == NULL ? NULL : stream;
}

/** Gives what went to the wrong place once more, copied away. */
static ssize_t feed_again(struct rig_stream *stream, const struct iovec *iov,
			  size_t nr)
{
	uint8_t *copy = malloc(nr);
	size_t   at = 0;
	ssize_t  rc;

	assert_true(nr <= M0_STREAM_AGAIN_BYTES_MAX);
	for (; at < nr; ++iov) {
		size_t part = nr - at < iov->iov_len ? nr - at : iov->iov_len;

		memcpy(copy + at, iov->iov_base, part);
		at += part;
	}
	rc = the_rig->rg_io.sts_up->stu_in_bytes(stream->rs_conn, copy, nr);
	free(copy);
	return rc;
}

/** To where the driver wants them. @return how many; <0. */
static ssize_t feed_direct(struct rig_stream *stream, const uint8_t *bytes,
			   size_t nr, size_t *ret_ahead)
{
	struct iovec iov[4];
	size_t       at = 0;
	unsigned     segs;
	unsigned     i;
	int          rc;

	segs = the_rig->rg_io.sts_up->stu_in_where(stream->rs_conn, iov,
						   ARRAY_SIZE(iov), ret_ahead);
	for (i = 0; i < segs && at < nr; ++i) {
		size_t part = nr - at < iov[i].iov_len ? nr - at
						       : iov[i].iov_len;

		assert_true(iov[i].iov_len > 0);
		memcpy(iov[i].iov_base, bytes + at, part);
		at += part;
	}
	if (at == 0)
		return 0;
	rc = the_rig->rg_io.sts_up->stu_in_arrived(stream->rs_conn, at);
	if (rc > 0) {
		assert_int_equal(rc, at);
		return feed_again(stream, iov, at);
	}
	return rc < 0 ? rc : (ssize_t)at;
}

ssize_t rig_feed(struct rig *rig, struct rig_stream *stream, const void *bytes,
		 size_t nr)
{
	const uint8_t *from = bytes;
	size_t         at = 0;
	size_t         ahead;
	ssize_t        rc;

	rig->rg_reactor.rtr_now = rig->rg_now;
	while (at < nr) {
		size_t part = nr - at < rig->rg_piece ? nr - at : rig->rg_piece;

		if (rig->rg_piece == 0)
			part = (size_t)m0_rand_in(&rig->rg_rand, 1,
						  min64u(nr - at, 200));
		if (rig->rg_mode != RIG_COPIED) {
			rc = feed_direct(stream, from + at, part, &ahead);
			if (rc <= 0)
				return rc < 0 ? rc : (ssize_t)at;
			at += (size_t)rc;
			part -= (size_t)rc;
			if (rig->rg_mode == RIG_DIRECT || part == 0)
				continue;
			part = part < ahead ? part : ahead;
		}
		rc = rig->rg_io.sts_up->stu_in_bytes(stream->rs_conn, from + at,
						     part);
		if (rc < 0)
			return rc;
		at += (size_t)rc;
		if ((size_t)rc < part)
			break;
	}
	return (ssize_t)at;
}

size_t rig_unseen(const struct rig_stream *stream)
{
	return stream->rs_wrote_nr - stream->rs_seen;
}

const uint8_t *rig_see(struct rig *rig, struct rig_stream *stream, size_t nr)
{
	const uint8_t *at;

	rig_run(rig);
	assert_true(rig_unseen(stream) >= nr);
	at = stream->rs_wrote + stream->rs_seen;
	stream->rs_seen += nr;
	return at;
}

struct rig_stream *rig_accept_from(struct rig               *rig,
				   const struct m0_lnet_nid *nid,
				   uint32_t version, uint32_t ctype,
				   uint64_t incarnation)
{
	uint8_t buf[M0_SOCK_REQUEST_BYTES_MAX + M0_SOCK_HELLO_BYTES_MAX];
	char    ip[64];
	size_t  nr;
	struct rig_stream *stream;

	inet_ntop(nid->ln_size == 0 ? AF_INET : AF_INET6, nid->ln_addr, ip,
		  sizeof ip);
	stream = rig_connect(rig, ip, 1023);
	assert_non_null(stream);
	nr = rig_put_request(buf, &rig->rg_ni.ldn_nid);
	nr += rig_put_hello(buf + nr, version, nid, incarnation, ctype);
	assert_int_equal(rig_feed(rig, stream, buf, nr), nr);
	return stream;
}

struct rig_stream *rig_accept(struct rig *rig, uint32_t version, uint32_t ctype)
{
	struct rig_stream *stream =
		rig_accept_from(rig, &rig_b, version, ctype, RIG_INCARNATION_B);
	struct m0_sock_hello hello = rig_see_hello(rig, stream);

	assert_int_equal(hello.sh_ctype, m0_sock__ctype_invert(ctype));
	assert_false(stream->rs_hung);
	return stream;
}

struct rig_stream *rig_dial(struct rig *rig)
{
	unsigned i;

	rig_run(rig);
	for (i = rig->rg_streams_nr; i > 0; --i)
		if (rig->rg_streams[i - 1].rs_dialling)
			return &rig->rg_streams[i - 1];
	return NULL;
}

struct m0_sock_hello rig_dialled(struct rig *rig, struct rig_stream *stream)
{
	const uint8_t *head;

	stream->rs_dialling = false;
	rig->rg_reactor.rtr_now = rig->rg_now;
	rig->rg_io.sts_up->stu_dialled(stream->rs_conn, &stream->rs_from);
	head = rig_see(rig, stream, 8);
	(void)rig_see(rig, stream, (size_t)m0_sock__request_bytes(head) - 8);
	return rig_see_hello(rig, stream);
}
