/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The kernel's streams: how they end. The peer is sockets of the test. */
#include <linux/in.h>
#include <linux/sched.h>
#include <linux/tcp.h>

#include "kern/tcp/kern_tcp.h"
#include <cmocka.h>

enum {
	ENDS_NR = 2,
	BYTES = 5000,
	LIMIT_S = 20
};

/** Events of an accepted stream. */
struct end {
	struct m0_stream *en_stream;
	size_t            en_in;
	/** Bytes that the other one had read when this one ended. */
	size_t en_other_in;
	int    en_status;
	int    en_broken_nr;
	bool   en_sends;
};

static struct end                ends[ENDS_NR];
static struct socket            *peers[ENDS_NR];
static struct m0_reactor        *reactor;
static struct m0_streams        *streams;
static struct m0_stream_listener listener;
static unsigned                  accepted_nr;
static uint8_t                   bytes[BYTES];

static void *end_accepted(void *owner, struct m0_stream_listener *at,
			  const struct m0_host_addr *local,
			  const struct m0_host_addr *remote,
			  struct m0_stream          *stream)
{
	(void)owner;
	(void)at;
	(void)local;
	(void)remote;
	ends[accepted_nr].en_stream = stream;
	return &ends[accepted_nr++];
}

static void end_broken(void *user, int status)
{
	struct end *end = user;

	end->en_status = status;
	++end->en_broken_nr;
	end->en_other_in = ends[end == ends].en_in;
}

/* The bytes are in the socket of the other stream when it returns. */
static void other_sends(void)
{
	const struct sock *sk =
		kern_stream_of(ends[1].en_stream)->knm_sock.kns_sock->sk;
	struct msghdr msg = { 0 };
	struct kvec   vec = { .iov_base = bytes, .iov_len = sizeof bytes };
	m0_time_t     until = m0_time_from_now(LIMIT_S, 0);

	assert_int_equal(kernel_sendmsg(peers[1], &msg, &vec, 1, sizeof bytes),
			 BYTES);
	while (READ_ONCE(tcp_sk(sk)->rcv_nxt) -
		       READ_ONCE(tcp_sk(sk)->copied_seq) <
	       BYTES) {
		assert_true(m0_time_now() < until);
		schedule_timeout_uninterruptible(1);
	}
}

static unsigned end_in_where(void *user, struct iovec *iov, unsigned max,
			     size_t *ret_ahead)
{
	static uint8_t sink[BYTES];
	struct end    *end = user;

	(void)max;
	*ret_ahead = 0;
	iov->iov_base = sink;
	iov->iov_len = sizeof sink;
	if (end->en_sends) {
		end->en_sends = false;
		other_sends();
	}
	return 1;
}

static int end_in_arrived(void *user, size_t nr)
{
	struct end *end = user;

	end->en_in += nr;
	return 0;
}

static unsigned end_out_what(void *user, struct iovec *iov, unsigned max)
{
	(void)user;
	(void)iov;
	(void)max;
	return 0;
}

static const struct m0_streams_up end_up = {
	.stu_accepted = end_accepted,
	.stu_broken = end_broken,
	.stu_in_where = end_in_where,
	.stu_in_arrived = end_in_arrived,
	.stu_out_what = end_out_what,
};

#define STEP_UNTIL(cond)                                              \
	do {                                                          \
		m0_time_t until_ = m0_time_from_now(LIMIT_S, 0);      \
		while (!(cond)) {                                     \
			assert_true(m0_time_now() < until_);          \
			if (!m0_reactor_pass(reactor, m0_time_now())) \
				schedule_timeout_uninterruptible(1);  \
		}                                                     \
	} while (0)

static int setup(void **state)
{
	static const struct m0_streams_cfg none;
	static char                        why[M0_LND_WHY_BYTES];
	const struct m0_host_ops          *host = m0_host_ops_get();

	(void)state;
	memset(ends, 0, sizeof ends);
	accepted_nr = 0;
	assert_int_equal(host->hso_reactor_create(&reactor), 0);
	assert_int_equal(host->hso_streams_create(&streams, reactor, &none), 0);
	streams->sts_up = &end_up;
	listener.slr_addr =
		(struct m0_host_addr){ .sa_bytes_nr = 4,
				       .sa_bytes = { 127, 0, 0, 1 } };
	assert_int_equal(streams->sts_ops->sto_listen(streams, &listener, why),
			 0);
	return 0;
}

static void peer_connect(unsigned i)
{
	struct sockaddr_storage sa;
	int                     len = m0_host_addr_to(&listener.slr_addr, &sa);

	assert_int_equal(sock_create_kern(&init_net, AF_INET, SOCK_STREAM,
					  IPPROTO_TCP, &peers[i]),
			 0);
	assert_int_equal(
		kernel_connect(peers[i], (struct sockaddr *)&sa, len, 0), 0);
	STEP_UNTIL(accepted_nr > i);
}

static int teardown(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < ENDS_NR; ++i)
		sock_release(peers[i]);
	streams->sts_ops->sto_destroy(streams);
	reactor->rtr_ops->rtro_destroy(reactor);
	return 0;
}

/* A peer ends one stream when nothing has come on its other one yet. What does come on
 * that is read before the end of the first is reported. */
static void stream_end_waits_for_the_other_streams(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < ENDS_NR; ++i)
		peer_connect(i);
	while (m0_reactor_pass(reactor, m0_time_now()))
		;
	ends[0].en_sends = true;
	assert_int_equal(kernel_sock_shutdown(peers[0], SHUT_WR), 0);
	STEP_UNTIL(ends[0].en_broken_nr > 0);
	assert_int_equal(ends[0].en_status, 0);
	assert_int_equal(ends[0].en_other_in, BYTES);
	assert_int_equal(ends[1].en_in, BYTES);
	assert_int_equal(ends[1].en_broken_nr, 0);
	while (m0_reactor_pass(reactor, m0_time_now()))
		;
	assert_int_equal(ends[0].en_broken_nr, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			stream_end_waits_for_the_other_streams, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
