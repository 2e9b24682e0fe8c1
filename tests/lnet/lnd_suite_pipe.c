/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Cases of the suite of drivers: payloads that go through a pipe of the system. The
 * drivers that have none run them, too, and move the bytes by memory.
 */
#include <signal.h>

#include "lnet/lnd_suite.h"

static bool splices(void)
{
	const struct side *side = other();

	assert_true(!side->sd_ni.ldn_splices ||
		    side->sd_lnd->ld_ops->ldo_pipe_new != NULL);
	return side->sd_ni.ldn_splices;
}

/* Bytes can come through a pipe, not only memory. */
static bool has_pipes(void)
{
	return splices() && !kind->kd_is_near;
}

/* A pipe of the other side; NULL: it has none. */
static struct m0_lnd_pipe *pipe_new(m0_bcount_t bytes)
{
	struct m0_lnd      *lnd = other()->sd_lnd;
	struct m0_lnd_pipe *pipe;

	if (!splices())
		return NULL;
	pipe = lnd->ld_ops->ldo_pipe_new(lnd, bytes);
	assert_non_null(pipe);
	assert_int_equal(pipe->lnp_bytes, 0);
	assert_false(pipe->lnp_closed);
	return pipe;
}

static void pipe_end(struct m0_lnd_pipe *pipe)
{
	if (pipe != NULL)
		pipe->lnp_ops->lpx_free(pipe);
}

/* The router's way: takes a message that has arrived, partly in its pipe, and sends
 * it. */
static struct msg *hop_make(struct msg *from)
{
	struct msg *msg = msg_make(from->ms_bytes);
	size_t      i;

	msg->ms_as = (unsigned)(from - msgs) + 1;
	for (i = 0; i < from->ms_bytes; ++i)
		*byte_at(&msg->ms_vec, i) = *byte_at(&from->ms_sink, i);
	msg->ms_tx.ltx_pipe = from->ms_pipe;
	return msg;
}

/* Checks the bytes that came to memory; those of the pipe did not come there. */
static void halves_check(struct msg *msg)
{
	const struct m0_lnd_pipe *pipe = msg->ms_pipe;
	size_t                    i;

	assert_int_equal(msg->ms_rx_status, 0);
	assert_true(pipe->lnp_at + pipe->lnp_bytes <= msg->ms_bytes);
	for (i = 0; i < msg->ms_bytes; ++i)
		if (*byte_at(&msg->ms_sink, i) !=
		    (i >= pipe->lnp_at && i < pipe->lnp_at + pipe->lnp_bytes
			     ? 0
			     : pattern(msg, i)))
			fail_msg("byte %zu", i);
}

static struct msg *piped_send(size_t bytes, struct m0_lnd_pipe *pipe)
{
	struct msg *msg = msg_make(bytes);

	msg->ms_pipe = pipe;
	return send_(msg);
}

static void payload_passes_through_pipe(void **state)
{
	static const size_t sizes[] = { 65536, 100001, BYTES_MAX };
	struct m0_lnd_pipe *pipe;
	struct msg         *msg;
	struct msg         *hop;
	unsigned            i;

	(void)state;
	warm_up();
	for (i = 0; i < ARRAY_SIZE(sizes); ++i) {
		pipe = pipe_new(BYTES_MAX);
		msg = piped_send(sizes[i], pipe);
		UNTIL(has_arrived(msg));
		if (pipe == NULL) {
			check(msg);
			continue;
		}
		halves_check(msg);
		assert_true(has_pipes() == (pipe->lnp_bytes > 0));
		hop = send_(hop_make(msg));
		UNTIL(has_arrived(hop));
		check(hop);
		assert_int_equal(pipe->lnp_gone, pipe->lnp_bytes);
		pipe_end(pipe);
	}
}

/* Many messages, each with a pipe, and messages of memory between them. */
static void pipes_and_memory_take_turns(void **state)
{
	struct m0_lnd_pipe *pipes[8];
	unsigned            first;
	unsigned            i;

	(void)state;
	warm_up();
	first = msgs_nr;
	for (i = 0; i < ARRAY_SIZE(pipes); ++i) {
		pipes[i] = pipe_new(BYTES_MAX);
		piped_send(300000 + i, pipes[i]);
		send_(msg_make(i % 2 == 0 ? 100 : 200000));
	}
	for (i = first; i < first + 2 * ARRAY_SIZE(pipes); ++i)
		UNTIL(has_arrived(&msgs[i]));
	for (i = 0; i < ARRAY_SIZE(pipes); ++i) {
		check(&msgs[first + 2 * i + 1]);
		if (pipes[i] == NULL)
			continue;
		halves_check(&msgs[first + 2 * i]);
		send_(hop_make(&msgs[first + 2 * i]));
		send_(msg_make(5000));
	}
	for (i = first; i < msgs_nr; ++i)
		UNTIL(has_arrived(&msgs[i]));
	for (i = first + 2 * ARRAY_SIZE(pipes); i < msgs_nr; ++i)
		check(&msgs[i]);
	for (i = 0; i < ARRAY_SIZE(pipes); ++i)
		pipe_end(pipes[i]);
}

/* Small pieces fill a pipe before it has its size in bytes. */
static void rest_behind_full_pipe_comes_to_memory(void **state)
{
	struct m0_lnd_pipe *pipe;
	struct msg         *msg;
	struct msg         *hop;
	size_t              at;

	(void)state;
	warm_up();
	if (!has_pipes())
		return;
	pipe = pipe_new(256 << 10);
	msg = msg_make(256 << 10);
	msg->ms_pipe = pipe;
	msg->ms_reports = true;
	msg->ms_tx.ltx_there = 0;
	send_(msg);
	for (at = 700; at < msg->ms_bytes; at += 700) {
		msg->ms_tx.ltx_there = at;
		sides[0].sd_lnd->ld_ops->ldo_tx_more(&sides[0].sd_ni,
						     &msg->ms_tx);
		UNTIL(msg->ms_reported == at);
	}
	msg->ms_tx.ltx_there = msg->ms_bytes;
	sides[0].sd_lnd->ld_ops->ldo_tx_more(&sides[0].sd_ni, &msg->ms_tx);
	UNTIL(has_arrived(msg));
	assert_true(pipe->lnp_closed);
	assert_true(pipe->lnp_bytes > 0 && pipe->lnp_bytes < msg->ms_bytes);
	halves_check(msg);
	hop = send_(hop_make(msg));
	UNTIL(has_arrived(hop));
	check(hop);
	pipe_end(pipe);
}

/* A message leaves by its pipe while it still arrives there. */
static void pipe_is_emptied_while_it_fills(void **state)
{
	struct m0_lnd_pipe *pipe;
	struct msg         *msg;
	struct msg         *hop;
	size_t              at;

	(void)state;
	warm_up();
	if (!has_pipes())
		return;
	pipe = pipe_new(BYTES_MAX);
	msg = msg_make(BYTES_MAX);
	msg->ms_pipe = pipe;
	msg->ms_reports = true;
	msg->ms_tx.ltx_there = 400000;
	send_(msg);
	UNTIL(msg->ms_reported == 400000);
	for (at = 500000; at <= BYTES_MAX; at += 100000) {
		msg->ms_tx.ltx_there = at;
		sides[0].sd_lnd->ld_ops->ldo_tx_more(&sides[0].sd_ni,
						     &msg->ms_tx);
		UNTIL(msg->ms_reported == at);
	}
	assert_int_equal(pipe->lnp_at + pipe->lnp_bytes, msg->ms_reported);
	msg->ms_tx.ltx_there = BYTES_MAX;
	sides[0].sd_lnd->ld_ops->ldo_tx_more(&sides[0].sd_ni, &msg->ms_tx);
	UNTIL(has_arrived(msg));
	hop = hop_make(msg);
	hop->ms_reports = true;
	hop->ms_tx.ltx_there = pipe->lnp_at + 1;
	send_(hop);
	for (at = 100000; at < BYTES_MAX; at += 150000) {
		hop->ms_tx.ltx_there = at;
		sides[0].sd_lnd->ld_ops->ldo_tx_more(&sides[0].sd_ni,
						     &hop->ms_tx);
		UNTIL(hop->ms_reported == at);
		assert_int_equal(pipe->lnp_gone, at - pipe->lnp_at);
	}
	hop->ms_tx.ltx_there = BYTES_MAX;
	sides[0].sd_lnd->ld_ops->ldo_tx_more(&sides[0].sd_ni, &hop->ms_tx);
	UNTIL(has_arrived(hop));
	check(hop);
	pipe_end(pipe);
}

/* A driver that cannot use a pipe gets all of the payload in memory. */
static void flushed_pipe_is_memory(void **state)
{
	struct m0_lnd_payload payload = { 0 };
	struct m0_lnd_pipe   *pipe;
	struct msg           *msg;
	struct msg           *hop;

	(void)state;
	warm_up();
	pipe = pipe_new(BYTES_MAX);
	if (pipe == NULL)
		return;
	msg = piped_send(BYTES_MAX, pipe);
	UNTIL(has_arrived(msg));
	payload.lpy_vec = &msg->ms_sink;
	payload.lpy_bytes = msg->ms_bytes;
	assert_int_equal(pipe->lnp_ops->lpx_flush(pipe, &payload), 0);
	assert_true(pipe->lnp_closed);
	assert_int_equal(pipe->lnp_bytes, 0);
	check(msg);
	hop = send_(hop_make(msg));
	UNTIL(has_arrived(hop));
	check(hop);
	pipe_end(pipe);
}

/* The sender ends within a message, some of which is in the pipe. */
static void sender_ends_with_pipe_half_full(void **state)
{
	struct m0_lnd_pipe *pipe;
	struct msg         *msg;

	(void)state;
	warm_up();
	if (!has_pipes())
		return;
	pipe = pipe_new(BYTES_MAX);
	msg = msg_make(BYTES_MAX);
	msg->ms_pipe = pipe;
	msg->ms_reports = true;
	msg->ms_tx.ltx_there = 500000;
	send_(msg);
	UNTIL(msg->ms_reported == 500000);
	assert_true(pipe->lnp_bytes > 0);
	sides[0].sd_lnd->ld_ops->ldo_peer_drop(&sides[0].sd_ni, NULL);
	UNTIL(has_arrived(msg));
	assert_true(msg->ms_rx_status < 0 && msg->ms_status < 0);
	pipe_end(pipe);
	msg = send_(msg_make(200000));
	UNTIL(has_arrived(msg));
	check(msg);
}

/* The engine wants no more of a message: the rest does not go to the pipe, which is
 * the engine's again. */
static void cancelled_message_leaves_its_pipe(void **state)
{
	struct m0_lnd_pipe *pipe;
	struct msg         *msg;

	(void)state;
	warm_up();
	if (!has_pipes())
		return;
	pipe = pipe_new(BYTES_MAX);
	msg = msg_make(BYTES_MAX);
	msg->ms_pipe = pipe;
	msg->ms_reports = true;
	msg->ms_tx.ltx_there = 500000;
	send_(msg);
	UNTIL(msg->ms_reported == 500000);
	msg->ms_rx->lr_cancelled = true;
	msg->ms_rx->lr_pipe = NULL;
	pipe_end(pipe);
	msg->ms_tx.ltx_there = BYTES_MAX;
	sides[0].sd_lnd->ld_ops->ldo_tx_more(&sides[0].sd_ni, &msg->ms_tx);
	UNTIL(has_arrived(msg));
	assert_int_equal(msg->ms_status, 0);
	msg = send_(msg_make(200000));
	UNTIL(has_arrived(msg));
	check(msg);
}

static volatile sig_atomic_t signals_nr;

static void signal_count(int nr)
{
	(void)nr;
	++signals_nr;
}

/* The next hop ends while a message leaves by a pipe: it completes once, and no SIGPIPE
 * comes to the application. */
static void receiver_ends_with_message_in_pipe(void **state)
{
	struct m0_lnd_pipe *pipe;
	struct msg         *msg;
	struct msg         *hop;
	unsigned            i;

	(void)state;
	warm_up();
	if (!has_pipes())
		return;
	signals_nr = 0;
	(void)signal(SIGPIPE, signal_count);
	for (i = 0; i < 4; ++i) {
		pipe = pipe_new(BYTES_MAX);
		msg = piped_send(BYTES_MAX, pipe);
		UNTIL(has_arrived(msg));
		hop = hop_make(msg);
		hop->ms_reports = true;
		hop->ms_tx.ltx_there = 500000;
		send_(hop);
		UNTIL(hop->ms_reported == 500000);
		sides[1].sd_lnd->ld_ops->ldo_peer_drop(&sides[1].sd_ni, NULL);
		UNTIL(has_arrived(hop));
		assert_true(hop->ms_status < 0 && hop->ms_rx_status < 0);
		assert_true(pipe->lnp_gone < pipe->lnp_bytes);
		pipe_end(pipe);
		msg = send_(msg_make(200000));
		UNTIL(has_arrived(msg));
		check(msg);
	}
	assert_int_equal(signals_nr, 0);
	(void)signal(SIGPIPE, SIG_DFL);
}

int pipe_cases(struct kind *kinds, unsigned nr)
{
#define CASE(name)                                            \
	{                                                     \
#name, name, case_open, case_close, &kinds[i] \
	}
	unsigned i;
	int      rc = 0;

	for (i = 0; i < nr; ++i) {
		const struct CMUnitTest tests[] = {
			CASE(payload_passes_through_pipe),
			CASE(pipes_and_memory_take_turns),
			CASE(rest_behind_full_pipe_comes_to_memory),
			CASE(pipe_is_emptied_while_it_fills),
			CASE(flushed_pipe_is_memory),
			CASE(sender_ends_with_pipe_half_full),
			CASE(cancelled_message_leaves_its_pipe),
			CASE(receiver_ends_with_message_in_pipe),
		};

		rc += cmocka_run_group_tests_name(kinds[i].kd_name, tests, NULL,
						  NULL);
	}
	return rc;
}
