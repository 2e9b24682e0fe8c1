/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The end of a node that has clients of its control socket which do not read: all
 * of them share the half second that the node's close may take; and that of a router
 * which does not stop forwarding. The time of the node's end is simulated. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../tools/node/lnet_node.h"

enum {
	/** Clients that ask and do not read. */
	STUCK = 30,
	/** Clients that say nothing. */
	SILENT = 5,
	FDS_MAX = 1024,
	/** Ends a node that does not end: the test fails. */
	PATIENCE_S = 20
};

/** The bound in docs/lnet.md and in the manual. */
#define BOUND_NS (M0_TIME_ONE_SECOND / 2)
/** The time after which a router no longer waits for its routing to end. */
#define DRAIN_NS (11 * M0_TIME_ONE_SECOND)

/* Record of the node, in memory that both processes share. */
struct seen {
	/** Descriptors on which it tried to send an answer. */
	bool sn_tried[FDS_MAX];
	/** Simulated time from the signal to the end. */
	m0_time_t sn_took;
	/** Waits in that time. */
	unsigned sn_waits_nr;
};

static struct seen *seen;

/* This is the node's process. */
static bool is_node;
/* The clock of the node's main thread, once it ends; 0: the real one. The threads of
 * the library keep the real one, which never goes back. */
static __thread m0_time_t clock_ns;
/* How long the close takes. */
static m0_time_t close_ns;
/* The node is a router, and its routing never ends. */
static bool is_router;
static char dir[64];
static char path[96];

void      __real_m0_lnet_close(struct m0_lnet *lnet);
void      __wrap_m0_lnet_close(struct m0_lnet *lnet);
int       __real_m0_lnet_routing_get(struct m0_lnet              *lnet,
				     struct m0_lnet_routing_info *ret);
int       __wrap_m0_lnet_routing_get(struct m0_lnet              *lnet,
				     struct m0_lnet_routing_info *ret);
m0_time_t __real_m0_time_now(void);
m0_time_t __wrap_m0_time_now(void);
int       __real_ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *ts,
		       const sigset_t *mask);
int       __wrap_ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *ts,
		       const sigset_t *mask);
ssize_t   __real_send(int fd, const void *buf, size_t nr, int flags);
ssize_t   __wrap_send(int fd, const void *buf, size_t nr, int flags);
void      __real_node_say_stopping(struct lnet_node *node, int number);
void      __wrap_node_say_stopping(struct lnet_node *node, int number);

m0_time_t __wrap_m0_time_now(void)
{
	return clock_ns != 0 ? clock_ns : __real_m0_time_now();
}

/* The end begins. */
void __wrap_node_say_stopping(struct lnet_node *node, int number)
{
	clock_ns = __real_m0_time_now();
	__real_node_say_stopping(node, number);
}

void __wrap_m0_lnet_close(struct m0_lnet *lnet)
{
	__real_m0_lnet_close(lnet);
	seen->sn_took += close_ns;
	clock_ns += close_ns;
}

int __wrap_m0_lnet_routing_get(struct m0_lnet              *lnet,
			       struct m0_lnet_routing_info *ret)
{
	int rc = __real_m0_lnet_routing_get(lnet, ret);

	if (is_router)
		ret->lgi_state = M0_LNET_ROUTING_ON;
	return rc;
}

/* Once the clock is simulated, no client ever becomes ready. */
int __wrap_ppoll(struct pollfd *fds, nfds_t nr, const struct timespec *ts,
		 const sigset_t *mask)
{
	m0_time_t ns;

	if (clock_ns == 0)
		return __real_ppoll(fds, nr, ts, mask);
	/* A wait without an end would be one for ever. */
	ns = ts == NULL ? M0_TIME_ONE_SECOND
			: M0_MKTIME(ts->tv_sec, ts->tv_nsec);
	clock_ns += ns;
	seen->sn_took += ns;
	++seen->sn_waits_nr;
	return 0;
}

/* The sockets of the node's clients are full. */
ssize_t __wrap_send(int fd, const void *buf, size_t nr, int flags)
{
	if (!is_node)
		return __real_send(fd, buf, nr, flags);
	if (fd < FDS_MAX)
		__atomic_store_n(&seen->sn_tried[fd], true, __ATOMIC_SEQ_CST);
	errno = EAGAIN;
	return -1;
}

static int up(void **state)
{
	(void)state;
	seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(seen != MAP_FAILED);
	snprintf(dir, sizeof dir, "/tmp/colibri-node-end-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/ctl", dir);
	return 0;
}

static int down(void **state)
{
	(void)state;
	(void)munmap(seen, sizeof *seen);
	(void)unlink(path);
	return rmdir(dir);
}

static unsigned port_free(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t          size = sizeof sa;
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&sa, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &size), 0);
	(void)close(fd);
	return ntohs(sa.sin_port);
}

/* Does not return. */
static void node_run(int fd, const char *port)
{
	char *argv[] = { "colibri node", "--net",  "tcp(127.0.0.1)",
			 "--accept",     "all",    "--ctl",
			 path,           "--json", "--port",
			 NULL,           NULL };
	int   rc;

	(void)alarm(PATIENCE_S);
	argv[9] = (char *)(uintptr_t)port;
	is_node = true;
	if (dup2(fd, STDOUT_FILENO) != STDOUT_FILENO)
		_exit(99);
	rc = node_main(ARRAY_SIZE(argv) - 1, argv);
	(void)fflush(stdout);
	_exit(rc);
}

/* Reads lines of the node until one has `word`, or to the end. */
static bool has_said(FILE *from, const char *word)
{
	char line[1024];

	while (fgets(line, sizeof line, from) != NULL)
		if (strstr(line, word) != NULL)
			return true;
	return false;
}

static pid_t node_start(FILE **ret_out)
{
	char  port[16];
	int   fds[2];
	pid_t child;

	snprintf(port, sizeof port, "%u", port_free());
	assert_int_equal(pipe(fds), 0);
	(void)fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)close(fds[0]);
		node_run(fds[1], port);
	}
	(void)close(fds[1]);
	*ret_out = fdopen(fds[0], "r");
	assert_non_null(*ret_out);
	assert_true(has_said(*ret_out, "\"ready\""));
	return child;
}

/* @param line  its request; NULL: none. */
static int client_new(const char *line)
{
	int fd = ctl_connect(path);

	assert_true(fd >= 0);
	if (line != NULL)
		assert_int_equal(send(fd, line, strlen(line), MSG_NOSIGNAL),
				 (ssize_t)strlen(line));
	return fd;
}

static unsigned tried_nr(void)
{
	unsigned nr = 0;
	unsigned i;

	for (i = 0; i < FDS_MAX; ++i)
		nr += __atomic_load_n(&seen->sn_tried[i], __ATOMIC_SEQ_CST);
	return nr;
}

/* Clients come, do not read what they asked for, and the node ends. */
static void node_ends(m0_time_t takes_ns)
{
	struct ctl_request req;
	char               line[CTL_LINE_BYTES];
	int                fds[STUCK + SILENT];
	FILE              *out;
	pid_t              child;
	int                status;
	int                i;

	close_ns = takes_ns;
	child = node_start(&out);
	ctl_request_init(&req, CTL_NET_SHOW);
	(void)ctl_request_print(&req, line);
	for (i = 0; i < STUCK + SILENT; ++i)
		fds[i] = client_new(i < STUCK ? line : NULL);
	while (tried_nr() < STUCK) {
		/* The node is still there. */
		assert_int_equal(waitpid(child, &status, WNOHANG), 0);
		(void)sched_yield();
	}
	assert_int_equal(kill(child, SIGTERM), 0);
	assert_true(has_said(out, "\"stopped\""));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), TOOL_OK);
	(void)fclose(out);
	for (i = 0; i < STUCK + SILENT; ++i)
		(void)close(fds[i]);
}

/* The close took all of the time: nobody is waited for. */
static void slow_close_leaves_no_time_to_clients(void **state)
{
	(void)state;
	node_ends(BOUND_NS);
	assert_int_equal(seen->sn_waits_nr, 0);
	assert_int_equal(seen->sn_took, BOUND_NS);
}

/* Clients that do not read get what the close has left, all together. */
static void clients_share_what_the_close_leaves(void **state)
{
	(void)state;
	node_ends(BOUND_NS / 4);
	assert_true(seen->sn_waits_nr > 0);
	assert_int_equal(seen->sn_took, BOUND_NS);
}

/* Somebody has switched the routing on again, or the library does not end it. */
static void router_that_does_not_stop_forwarding_ends(void **state)
{
	(void)state;
	is_router = true;
	node_ends(BOUND_NS);
	is_router = false;
	assert_int_equal(seen->sn_took, DRAIN_NS + BOUND_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			slow_close_leaves_no_time_to_clients, up, down),
		cmocka_unit_test_setup_teardown(
			clients_share_what_the_close_leaves, up, down),
		cmocka_unit_test_setup_teardown(
			router_that_does_not_stop_forwarding_ends, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
