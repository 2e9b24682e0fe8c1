/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The end of captures, at the node and at the command: while messages come without a
 * pause, and with a client or a node that does not do its part. Time can be simulated. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../tools/base/cmd.h"
#include "../../../tools/node/capture_serve.h"
#include "m0/lnet_info.h"

enum {
	HEAD_BYTES = 72,
	PAYLOAD_BYTES = 100000,
	/** Twice the queue. */
	FILL_NR = 2 * CAPTURE_QUEUE_BYTES / PAYLOAD_BYTES,
	PATIENCE_S = 10
};

static char             payload[PAYLOAD_BYTES];
static void            *payload_addr = payload;
static m0_bcount_t      payload_bytes = PAYLOAD_BYTES;
static struct m0_bufvec vec = { { 1, &payload_bytes }, &payload_addr };
static uint8_t          head[HEAD_BYTES];
static struct captures  captures;
static int              client_fd;
/* The tap of the capture. */
static struct m0_lnet_tap *tap;
/* Atomic: the socket takes everything, and with each piece a message comes. */
static bool is_busy;
/* Atomic: pieces that the socket has taken. */
static uint32_t taken_nr;
/* Atomic: the clock is so much later. */
static m0_time_t later;
/* A node that was asked to end does not: this much later. */
static m0_time_t later_once_shut;

int __wrap_m0_lnet_info_get(struct m0_lnet *lnet, struct m0_lnet_info **ret);
int __wrap_m0_lnet_tap_add(struct m0_lnet *lnet, struct m0_lnet_tap *own);
int __wrap_m0_lnet_tap_del(struct m0_lnet *lnet, struct m0_lnet_tap *own);
m0_time_t __real_m0_time_now(void);
m0_time_t __wrap_m0_time_now(void);
ssize_t   __real_send(int fd, const void *buf, size_t nr, int flags);
ssize_t   __wrap_send(int fd, const void *buf, size_t nr, int flags);
ssize_t   __real_recv(int fd, void *buf, size_t nr, int flags);
ssize_t   __wrap_recv(int fd, void *buf, size_t nr, int flags);
int       __real_shutdown(int fd, int how);
int       __wrap_shutdown(int fd, int how);

int __wrap_m0_lnet_info_get(struct m0_lnet *lnet, struct m0_lnet_info **ret)
{
	(void)lnet;
	(void)ret;
	return -ENOMEM;
}

int __wrap_m0_lnet_tap_add(struct m0_lnet *lnet, struct m0_lnet_tap *own)
{
	(void)lnet;
	__atomic_store_n(&tap, own, __ATOMIC_SEQ_CST);
	return 0;
}

int __wrap_m0_lnet_tap_del(struct m0_lnet *lnet, struct m0_lnet_tap *own)
{
	(void)lnet;
	assert_ptr_equal(own, tap);
	__atomic_store_n(&tap, NULL, __ATOMIC_SEQ_CST);
	return 0;
}

m0_time_t __wrap_m0_time_now(void)
{
	return __real_m0_time_now() + __atomic_load_n(&later, __ATOMIC_SEQ_CST);
}

static void message(void)
{
	struct m0_lnet_tap_msg msg = {
		.ltv_local = m0_lnet_nid_lo,
		.ltv_hop = m0_lnet_nid_lo,
		.ltv_src = m0_lnet_nid_lo,
		.ltv_dst = m0_lnet_nid_lo,
		.ltv_type = M0_LNET_FAULT_PUT,
		.ltv_head = head,
		.ltv_head_bytes = HEAD_BYTES,
		.ltv_payload_bytes = PAYLOAD_BYTES,
		.ltv_vec = &vec,
		.ltv_vec_bytes = PAYLOAD_BYTES,
	};

	tap->ltp_message(tap, &msg);
}

ssize_t __wrap_send(int fd, const void *buf, size_t nr, int flags)
{
	ssize_t put = (ssize_t)nr;

	if (!__atomic_load_n(&is_busy, __ATOMIC_SEQ_CST))
		put = __real_send(fd, buf, nr, flags);
	else if (__atomic_load_n(&tap, __ATOMIC_SEQ_CST) != NULL)
		message();
	if (put > 0)
		__atomic_add_fetch(&taken_nr, 1, __ATOMIC_SEQ_CST);
	return put;
}

int __wrap_shutdown(int fd, int how)
{
	__atomic_store_n(&later, later_once_shut, __ATOMIC_SEQ_CST);
	return __real_shutdown(fd, how);
}

/* The node that was asked has always something to say. */
ssize_t __wrap_recv(int fd, void *buf, size_t nr, int flags)
{
	struct pollfd pfd = { fd, POLLIN, 0 };

	if (later_once_shut != 0 && later != 0)
		(void)poll(&pfd, 1, -1);
	return __real_recv(fd, buf, nr, flags);
}

/* ------------------------------------------------------------------ the node -- */

static void begin(bool busy)
{
	struct ctl_server         server = { 0 };
	struct ctl_client         client = { .cc_server = &server,
					     .cc_state = CTL_WORKING };
	static struct ctl_request req;
	int                       fds[2];

	later = 0;
	later_once_shut = 0;
	taken_nr = 0;
	is_busy = busy;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	client.cc_fd = fds[0];
	client_fd = fds[1];
	req.cq_fault.lfa_src = m0_lnet_nid_any;
	req.cq_fault.lfa_dst = m0_lnet_nid_any;
	req.cq_fault.lfa_local = m0_lnet_nid_any;
	req.cq_value = CAPTURE_SNAP_MAX;
	assert_int_equal(captures_start(&captures, (struct m0_lnet *)&server,
					&client, &req, stderr),
			 TOOL_OK);
	assert_int_equal(client.cc_state, CTL_FREE);
}

/* Does the capture end in this time? */
static bool ends_within(m0_time_t ns)
{
	m0_time_t deadline = __real_m0_time_now() + ns;

	while (__atomic_load_n(&tap, __ATOMIC_SEQ_CST) != NULL) {
		if (__real_m0_time_now() >= deadline)
			return false;
		(void)poll(NULL, 0, 1);
	}
	return true;
}

static void end(void)
{
	captures_stop(&captures);
	assert_null(tap);
	(void)close(client_fd);
}

static void pieces_wait(uint32_t nr)
{
	while (__atomic_load_n(&taken_nr, __ATOMIC_SEQ_CST) < nr)
		(void)poll(NULL, 0, 1);
}

/* The client closes its half while the queue is never empty and the socket never full. */
static void busy_node_hears_the_client(void **state)
{
	bool ended;

	(void)state;
	begin(true);
	pieces_wait(20);
	assert_false(ends_within(0));
	assert_int_equal(shutdown(client_fd, SHUT_WR), 0);
	ended = ends_within(PATIENCE_S * M0_TIME_ONE_SECOND);
	end();
	assert_true(ended);
}

/* Nor does a capture outlive a client that was killed, or one that says something. */
static void busy_node_sees_the_client_go(void **state)
{
	bool ended;

	(void)state;
	begin(true);
	pieces_wait(20);
	(void)close(client_fd);
	ended = ends_within(PATIENCE_S * M0_TIME_ONE_SECOND);
	client_fd = -1;
	end();
	assert_true(ended);
	begin(true);
	pieces_wait(20);
	assert_int_equal(write(client_fd, "x", 1), 1);
	ended = ends_within(PATIENCE_S * M0_TIME_ONE_SECOND);
	end();
	assert_true(ended);
}

/* -- a client that does not read -- */

static void fill(void)
{
	uint32_t nr;
	unsigned i;

	begin(false);
	for (i = 0; i < FILL_NR; ++i)
		message();
	/* The socket is full once nothing is taken for a while. */
	do {
		nr = __atomic_load_n(&taken_nr, __ATOMIC_SEQ_CST);
		(void)poll(NULL, 0, 50);
	} while (nr != __atomic_load_n(&taken_nr, __ATOMIC_SEQ_CST));
}

static void full_socket_does_not_hold_the_node(void **state)
{
	m0_time_t since;

	(void)state;
	fill();
	assert_false(ends_within(0));
	since = __real_m0_time_now();
	end();
	/* 0.2 s are what a client has then. */
	assert_in_range(__real_m0_time_now() - since, 0,
			PATIENCE_S * M0_TIME_ONE_SECOND / 2);
}

static void time_passes(m0_time_t ns)
{
	__atomic_add_fetch(&later, ns, __ATOMIC_SEQ_CST);
}

/* A client that takes something now and then keeps its place; one that takes nothing for
 * a minute does not. */
static void client_that_takes_nothing_is_given_up(void **state)
{
	static char buf[1 << 20];
	uint32_t    nr;
	unsigned    i;

	(void)state;
	fill();
	for (i = 0; i < 3; ++i) {
		time_passes(50 * M0_TIME_ONE_SECOND);
		assert_false(ends_within(M0_TIME_ONE_SECOND / 20));
		nr = __atomic_load_n(&taken_nr, __ATOMIC_SEQ_CST);
		assert_true(read(client_fd, buf, sizeof buf) > 0);
		pieces_wait(nr + 1);
		(void)poll(NULL, 0, 50);
	}
	time_passes(61 * M0_TIME_ONE_SECOND);
	assert_true(ends_within(PATIENCE_S * M0_TIME_ONE_SECOND));
	/* The client finds what was in the socket, and then the end. */
	while (read(client_fd, buf, sizeof buf) > 0)
		;
	end();
}

/* A client that has nothing to take is not given up. */
static void client_of_an_idle_node_stays(void **state)
{
	(void)state;
	begin(false);
	time_passes(3600 * M0_TIME_ONE_SECOND);
	assert_false(ends_within(M0_TIME_ONE_SECOND / 20));
	message();
	assert_false(ends_within(M0_TIME_ONE_SECOND / 20));
	end();
}

/* --------------------------------------------------------------- the command -- */

/* @return the exit code of the command. */
static int command(char *path, char *out)
{
	char *argv[] = { "colibri capture", "--ctl", path, "-w", out,
			 "--packets",       "1",     NULL };

	/* One that waits for the node does not end. */
	(void)alarm(PATIENCE_S);
	later = 0;
	later_once_shut = 21 * M0_TIME_ONE_SECOND;
	is_busy = false;
	return capture_main(ARRAY_SIZE(argv) - 1, argv);
}

/* A node that sends without a pause, and goes on when it is asked to end. */
static void node_sends_for_ever(int fd)
{
	static char           buf[1 << 16];
	struct pcapng         png = { .pcn_buf = buf, .pcn_max = sizeof buf };
	struct capture_filter filter;
	struct capture_queue  queue;
	size_t                start;

	capture_filter_init(&filter);
	filter.cpf_snap = 16;
	assert_int_equal(capture_queue_init(&queue, &filter), 0);
	tap = &queue.cqu_tap;
	message();
	tap = NULL;
	pcapng_section(&png, "test");
	pcapng_interface(&png, "0@lo", "", 16);
	start = png.pcn_nr;
	while (png.pcn_nr < sizeof buf - PCAPNG_SMALL_BYTES)
		pcapng_packet(&png, 0, capture_queue_first(&queue));
	assert_true(read(fd, payload, sizeof payload) > 0);
	assert_int_equal(write(fd, "stream\n", 7), 7);
	assert_int_equal(write(fd, buf, start), start);
	while (__real_send(fd, buf + start, png.pcn_nr - start, MSG_NOSIGNAL) ==
	       (ssize_t)(png.pcn_nr - start))
		;
	capture_queue_fini(&queue);
	payload[0] = '\0';
}

static void command_ends_without_the_node(void **state)
{
	char               dir[] = "/tmp/capture_end.XXXXXX";
	char               out[64];
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int                conn;
	int                status;
	pid_t              child;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(out, sizeof out, "%s/out", dir);
	snprintf(addr.sun_path, sizeof addr.sun_path, "%s/ctl", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
	assert_int_equal(listen(fd, 1), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(command(addr.sun_path, out));
	conn = accept(fd, NULL, NULL);
	assert_true(conn >= 0);
	node_sends_for_ever(conn);
	(void)close(conn);
	(void)close(fd);
	assert_int_equal(waitpid(child, &status, 0), child);
	(void)unlink(out);
	(void)unlink(addr.sun_path);
	(void)rmdir(dir);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), TOOL_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(busy_node_hears_the_client),
		cmocka_unit_test(busy_node_sees_the_client_go),
		cmocka_unit_test(full_socket_does_not_hold_the_node),
		cmocka_unit_test(client_that_takes_nothing_is_given_up),
		cmocka_unit_test(client_of_an_idle_node_stays),
		cmocka_unit_test(command_ends_without_the_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
