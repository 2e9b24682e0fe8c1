/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Pipes between sockets: bytes pass, what is in a pipe comes to memory, and a peer that
 * has gone does not kill the process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lnd/tcp/tcp_internal.h"

enum {
	BYTES = 1 << 20,
	SOME = 10000
};

static uint8_t out[SOME];
static uint8_t in[SOME];
static int     from[2];
static int     to[2];

static struct m0_lnd_pipe *pipe_new(void)
{
	struct m0_lnd_pipe *pipe = m0_tcp__pipe_new(NULL, BYTES);

	assert_non_null(pipe);
	return pipe;
}

static int setup(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < SOME; ++i)
		out[i] = (uint8_t)(i * 7 + i / 251);
	memset(in, 0, sizeof in);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, from), 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, to), 0);
	return 0;
}

static int teardown(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		(void)close(from[i]);
		(void)close(to[i]);
	}
	return 0;
}

static void bytes_pass(void **state)
{
	struct m0_lnd_pipe *pipe = pipe_new();

	(void)state;
	assert_int_equal(m0_tcp__pipe_in(pipe, from[1], SOME), -EAGAIN);
	assert_int_equal(write(from[0], out, SOME), SOME);
	assert_int_equal(m0_tcp__pipe_in(pipe, from[1], SOME - 1), SOME - 1);
	assert_int_equal(pipe->lnp_bytes, SOME - 1);
	assert_int_equal(m0_tcp__pipe_out(pipe, to[0], 100), 100);
	assert_int_equal(pipe->lnp_gone, 100);
	assert_int_equal(m0_tcp__pipe_out(pipe, to[0], SOME - 101), SOME - 101);
	assert_int_equal(read(to[1], in, SOME), SOME - 1);
	assert_memory_equal(in, out, SOME - 1);
	assert_int_equal(shutdown(from[0], SHUT_WR), 0);
	assert_int_equal(m0_tcp__pipe_in(pipe, from[1], SOME), 1);
	assert_int_equal(m0_tcp__pipe_in(pipe, from[1], SOME), 0);
	pipe->lnp_ops->lpx_free(pipe);
}

/* The bytes of the pipe have their place in the payload, in whatever segments. */
static void flush_puts_bytes_to_their_place(void **state)
{
	static uint8_t memory[SOME + 30];
	m0_bcount_t    counts[] = { 20, 100, 1, SOME };
	void *bufs[] = { memory, memory + 20, memory + 120, memory + 121 };
	struct m0_bufvec      vec = { { ARRAY_SIZE(counts), counts }, bufs };
	struct m0_lnd_payload payload = { .lpy_vec = &vec,
					  .lpy_offset = 7,
					  .lpy_bytes = SOME };
	struct m0_lnd_pipe   *pipe = pipe_new();

	(void)state;
	assert_int_equal(write(from[0], out + 10, SOME - 20), SOME - 20);
	pipe->lnp_at = 10;
	assert_int_equal(m0_tcp__pipe_in(pipe, from[1], SOME), SOME - 20);
	assert_int_equal(m0_tcp__pipe_out(pipe, to[0], 15), 15);
	assert_int_equal(pipe->lnp_ops->lpx_flush(pipe, &payload), 0);
	assert_memory_equal(memory + 7 + 25, out + 25, SOME - 35);
	assert_int_equal(memory[7 + 24], 0);
	assert_int_equal(memory[7 + SOME - 10], 0);
	assert_true(pipe->lnp_closed);
	assert_int_equal(pipe->lnp_bytes, 0);
	assert_int_equal(pipe->lnp_gone, 0);
	/* Nothing is left in it. */
	assert_int_equal(pipe->lnp_ops->lpx_flush(pipe, &payload), 0);
	pipe->lnp_ops->lpx_free(pipe);
}

static volatile sig_atomic_t signals_nr;

static void signal_count(int nr)
{
	(void)nr;
	++signals_nr;
}

static void peer_that_has_gone_sends_no_signal(void **state)
{
	struct m0_lnd_pipe *pipe = pipe_new();
	sigset_t            set;

	(void)state;
	signals_nr = 0;
	(void)signal(SIGPIPE, signal_count);
	assert_int_equal(write(from[0], out, SOME), SOME);
	assert_int_equal(m0_tcp__pipe_in(pipe, from[1], SOME), SOME);
	(void)close(to[1]);
	to[1] = -1;
	assert_int_equal(m0_tcp__pipe_out(pipe, to[0], SOME), -EPIPE);
	assert_int_equal(m0_tcp__pipe_out(pipe, to[0], SOME), -EPIPE);
	assert_int_equal(signals_nr, 0);
	assert_int_equal(sigpending(&set), 0);
	assert_false(sigismember(&set, SIGPIPE));
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
	assert_false(sigismember(&set, SIGPIPE));
	/* The pipe keeps what the socket did not take. */
	assert_int_equal(pipe->lnp_gone, 0);
	pipe->lnp_ops->lpx_free(pipe);
	(void)signal(SIGPIPE, SIG_DFL);
}

/* A pipe costs two files, and returns them. */
static void pipe_returns_its_files(void **state)
{
	struct m0_lnd_pipe *pipe;
	int                 fd = dup(0);

	(void)state;
	(void)close(fd);
	pipe = pipe_new();
	assert_int_not_equal(fcntl(fd, F_GETFD), -1);
	assert_int_not_equal(fcntl(fd + 1, F_GETFD), -1);
	pipe->lnp_ops->lpx_free(pipe);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(fcntl(fd + 1, F_GETFD), -1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bytes_pass, setup, teardown),
		cmocka_unit_test_setup_teardown(flush_puts_bytes_to_their_place,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			peer_that_has_gone_sends_no_signal, setup, teardown),
		cmocka_unit_test(pipe_returns_its_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
