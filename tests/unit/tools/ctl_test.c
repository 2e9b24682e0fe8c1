/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../../tools/node/ctl_server.h"

static char              dir[] = "/tmp/colibri-ctl-XXXXXX";
static char              path[64];
static struct ctl_server server;
static struct tool_fail  fail;
/* The client that was served last, and what it asked for. */
static struct ctl_client *served;
static struct ctl_request asked;
/** Its body, with a NUL. */
static char asked_body[64];

static void serve(struct ctl_server *of, struct ctl_client *client,
		  const struct ctl_request *req)
{
	assert_ptr_equal(of, &server);
	served = client;
	asked = *req;
	if (req->cq_body_nr > 0)
		memcpy(asked_body, req->cq_body,
		       min64u(req->cq_body_nr, sizeof asked_body - 1));
}

static int setup(void **state)
{
	(void)state;
	M0_SET0(&fail);
	M0_SET0(&server);
	served = NULL;
	server.csv_serve = serve;
	return ctl_server_open(&server, path, 0600, (gid_t)-1, &fail);
}

static int teardown(void **state)
{
	(void)state;
	ctl_server_close(&server);
	ctl_server_fini(&server);
	return access(path, F_OK) == 0;
}

/* Does all that is due now. */
static void step(void)
{
	ctl_server_step(&server, m0_time_now());
}

static int client_new(const char *text)
{
	int fd = ctl_connect(path);

	assert_true(fd >= 0);
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL),
			 (ssize_t)strlen(text));
	step();
	return fd;
}

/* All that a client gets before it is hung up on. */
static void client_gets(int fd, const char *want)
{
	char   got[512];
	size_t nr = 0;

	for (;;) {
		ssize_t part = recv(fd, got + nr, sizeof got - 1 - nr, 0);

		assert_true(part >= 0);
		if (part == 0)
			break;
		nr += (size_t)part;
	}
	got[nr] = '\0';
	assert_string_equal(got, want);
	(void)close(fd);
}

static int line_parse(const char *line, struct ctl_request *req)
{
	char        copy[CTL_LINE_BYTES];
	const char *why;
	int         rc;

	snprintf(copy, sizeof copy, "%s", line);
	rc = ctl_request_parse(req, copy, &why);
	assert_int_equal(rc == 0, why == NULL);
	return rc;
}

/* A request says the same after it has been a line. */
static void request_survives_being_a_line(void **state)
{
	struct ctl_request req;
	struct ctl_request back;
	char               line[CTL_LINE_BYTES];
	char               text[M0_LNET_NIDSTR_SIZE];
	unsigned           i;

	(void)state;
	ctl_request_init(&req, CTL_DISCOVER);
	req.cq_json = true;
	req.cq_force = true;
	req.cq_timeout_ms = 1234;
	req.cq_netns = UINT64_MAX;
	assert_int_equal(m0_lnet_nid_parse(&req.cq_source, "fd00::1@tcp9"), 0);
	for (i = 0; i < CTL_NIDS_MAX; ++i) {
		snprintf(text, sizeof text,
			 "2001:db8:1111:2222:3333:4444:5555:%x@tcp65535",
			 0x6666 + i);
		assert_int_equal(m0_lnet_nid_parse(&req.cq_nids[i], text), 0);
	}
	req.cq_nids_nr = CTL_NIDS_MAX;
	i = (unsigned)ctl_request_print(&req, line);
	assert_true(line[i - 1] == '\n');
	line[i - 1] = '\0';
	assert_int_equal(line_parse(line, &back), 0);
	assert_int_equal(back.cq_verb, CTL_DISCOVER);
	assert_true(back.cq_json && back.cq_force);
	assert_int_equal(back.cq_timeout_ms, 1234);
	assert_true(back.cq_netns == UINT64_MAX);
	assert_int_equal(back.cq_nids_nr, CTL_NIDS_MAX);
	assert_true(m0_lnet_nid_eq(&back.cq_source, &req.cq_source));
	for (i = 0; i < CTL_NIDS_MAX; ++i)
		assert_true(m0_lnet_nid_eq(&back.cq_nids[i], &req.cq_nids[i]));
	ctl_request_init(&req, CTL_NET_SHOW);
	req.cq_verbose = 4;
	req.cq_net = m0_lnet_net(M0_LNET_TYPE_TCP, 3);
	i = (unsigned)ctl_request_print(&req, line);
	line[i - 1] = '\0';
	assert_int_equal(line_parse(line, &back), 0);
	assert_int_equal(back.cq_verbose, 4);
	assert_int_equal(back.cq_net, req.cq_net);
}

static void request_of_routes_survives_being_a_line(void **state)
{
	struct ctl_request         req;
	struct ctl_request         back;
	struct m0_lnet_route_attr *attr = &req.cq_route;
	char                       line[CTL_LINE_BYTES];
	size_t                     nr;

	(void)state;
	ctl_request_init(&req, CTL_ROUTE_ADD);
	assert_int_equal(m0_lnet_net_parse(&attr->lra_net, "tcp7"), 0);
	assert_int_equal(m0_lnet_nid_parse(&attr->lra_gateway, "fd00::1@tcp9"),
			 0);
	attr->lra_hops = 255;
	attr->lra_priority = UINT32_MAX;
	nr = ctl_request_print(&req, line);
	line[nr - 1] = '\0';
	assert_int_equal(line_parse(line, &back), 0);
	assert_int_equal(back.cq_verb, CTL_ROUTE_ADD);
	assert_int_equal(back.cq_route.lra_net, attr->lra_net);
	assert_true(
		m0_lnet_nid_eq(&back.cq_route.lra_gateway, &attr->lra_gateway));
	assert_int_equal(back.cq_route.lra_hops, 255);
	assert_int_equal(back.cq_route.lra_priority, UINT32_MAX);

	ctl_request_init(&req, CTL_ROUTE_SHOW);
	req.cq_by_hops = true;
	nr = ctl_request_print(&req, line);
	line[nr - 1] = '\0';
	assert_int_equal(line_parse(line, &back), 0);
	assert_true(back.cq_by_hops && !back.cq_by_priority);
}

/* So does one about fault rules, with all that a rule may have. */
static void request_of_faults_survives_being_a_line(void **state)
{
	struct ctl_request         req;
	struct ctl_request         back;
	struct m0_lnet_fault_attr *attr = &req.cq_fault;
	char                       line[CTL_LINE_BYTES];
	size_t                     nr;

	(void)state;
	ctl_request_init(&req, CTL_FAULT_ADD);
	m0_lnet_fault_attr_init(attr, M0_LNET_FAULT_CORRUPT);
	assert_int_equal(m0_lnet_nid_parse(&attr->lfa_src, "fd00::1@tcp9"), 0);
	assert_int_equal(
		m0_lnet_nid_parse(&attr->lfa_dst, "255.255.255.255@tcp7"), 0);
	attr->lfa_msgs = UINT32_MAX;
	attr->lfa_portals = UINT64_MAX;
	attr->lfa_all = true;
	attr->lfa_random = true;
	attr->lfa_interval_ms = UINT64_MAX - 1;
	attr->lfa_rate = UINT64_MAX - 2;
	attr->lfa_max = UINT64_MAX - 3;
	attr->lfa_seed = UINT64_MAX - 4;
	attr->lfa_latency_ms = UINT64_MAX - 5;
	attr->lfa_health = UINT32_MAX - 1;
	attr->lfa_header = true;
	nr = ctl_request_print(&req, line);
	line[nr - 1] = '\0';
	/* As one writes it who means a whole network. */
	assert_non_null(strstr(line, " fault.dst=*@tcp7 "));
	assert_int_equal(line_parse(line, &back), 0);
	assert_int_equal(back.cq_verb, CTL_FAULT_ADD);
	assert_true(m0_lnet_nid_eq(&back.cq_fault.lfa_src, &attr->lfa_src));
	assert_true(m0_lnet_nid_eq(&back.cq_fault.lfa_dst, &attr->lfa_dst));
	assert_true(m0_lnet_nid_is_any(&back.cq_fault.lfa_local));
	back.cq_fault.lfa_src = attr->lfa_src;
	back.cq_fault.lfa_dst = attr->lfa_dst;
	back.cq_fault.lfa_local = attr->lfa_local;
	assert_memory_equal(&back.cq_fault, attr, sizeof *attr);
}

/* The parser refuses every text that is no request. */
static void request_malformed_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"nosuch",
		"ping",
		"ping x",
		"ping 1.2.3.4@tcp nosuch=1",
		"ping json=2 1.2.3.4@tcp",
		"ping timeout_ms=86400001 1.2.3.4@tcp",
		"ping timeout_ms=-1 1.2.3.4@tcp",
		"ping source=x 1.2.3.4@tcp",
		"ping = 1.2.3.4@tcp",
		"net.show verbose=5",
		"net.show net=nosuch",
		"net.show 1.2.3.4@tcp",
		"peer.show 1.2.3.4@tcp 1.2.3.5@tcp",
		"stats.reset x",
		"set name=",
		"set name=012345678901234567890123456789012",
		"set value=x",
		"peer.add",
		"config.import body=8396801",
		"config.import body=x",
		"net.show body=1",
		"peer.add non_mr=2 10.0.0.9@tcp",
		"peer.set 10.0.0.9@tcp 10.0.0.8@tcp",
		"route.add route.net=x",
		"route.add route.gateway=x",
		"route.add route.hops=4294967296",
		"route.add route.=1",
		"route.show by_hops=2",
		"route.show by_priority=x",
		"fault.add 1.2.3.4@tcp",
		"fault.add fault.=1",
		"fault.add fault.kind=nosuch",
		"fault.add fault.src=x",
		"fault.add fault.all=2",
		"fault.add fault.msgs=4294967296",
		"fault.add fault.rate=-1",
	};
	struct ctl_request req;
	char               line[CTL_LINE_BYTES] = "ping";
	size_t             i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); ++i)
		assert_int_equal(line_parse(bad[i], &req), -EINVAL);
	for (i = 0; i <= CTL_NIDS_MAX; ++i)
		strcat(line, " 1.2.3.4@tcp");
	assert_int_equal(line_parse(line, &req), -EINVAL);
}

static uid_t uid_claimed = (uid_t)-1;

int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *nr);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *nr);

/* The system's, which knows somebody else if it is told to. */
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *nr)
{
	struct ucred *cred = value;
	int           rc = __real_getsockopt(fd, level, name, value, nr);

	if (name == SO_PEERCRED && uid_claimed != (uid_t)-1)
		cred->uid = uid_claimed;
	return rc;
}

enum {
	OURS = 1000,
	OTHER
};

uid_t __wrap_geteuid(void);

/* The server runs as an ordinary user, even if root runs the test. */
uid_t __wrap_geteuid(void)
{
	return OURS;
}

/* Does the server take what it is asked by this user? */
static bool is_served(uid_t uid)
{
	char got;
	int  fd;

	uid_claimed = uid;
	served = NULL;
	fd = client_new("stats.show\n");
	uid_claimed = (uid_t)-1;
	if (served != NULL) {
		ctl_answer(served, TOOL_OK, strdup(""), 0, strdup(""), 0);
		client_gets(fd, "status 0 0 0\n");
		return true;
	}
	/* The server has not even read the request. */
	assert_true(recv(fd, &got, 1, 0) <= 0);
	(void)close(fd);
	return false;
}

/* Also when somebody has changed the mode of its socket; root may all. */
static void server_for_its_user_alone_hears_nobody_else(void **state)
{
	(void)state;
	assert_false(is_served(OTHER));
	assert_true(is_served(OURS));
	assert_true(is_served(0));
	server.csv_mode = 0660;
	assert_true(is_served(OTHER));
}

/* Makes a request of a verb, with a NID if it needs one. */
static void line_of(enum ctl_verb verb, char ret[CTL_LINE_BYTES])
{
	struct ctl_request req;
	struct ctl_request got;
	char               copy[CTL_LINE_BYTES];
	const char        *why;

	ctl_request_init(&req, verb);
	snprintf(req.cq_name, sizeof req.cq_name, "add");
	for (req.cq_nids_nr = 0; req.cq_nids_nr < 2; ++req.cq_nids_nr) {
		(void)ctl_request_print(&req, ret);
		snprintf(copy, sizeof copy, "%s", ret);
		copy[strcspn(copy, "\n")] = '\0';
		if (ctl_request_parse(&got, copy, &why) == 0)
			return;
		(void)m0_lnet_nid_parse(&req.cq_nids[0], "10.0.0.1@tcp");
	}
	fail_msg("%s: %s", ctl_verb_name(verb), why);
}

/* Verbs that change nothing are named so. */
static bool looks(const char *name)
{
	static const char *const words[] = { "ping",    "explain", "show",
					     "list",    "export",  "recovery",
					     "add_dry", "del_dry" };
	const char              *last = strrchr(name, '.') == NULL ? name
								   : strrchr(name, '.') + 1;
	size_t                   i;

	for (i = 0; i < ARRAY_SIZE(words); ++i) {
		if (strcmp(last, words[i]) == 0)
			return true;
	}
	return false;
}

/* A client whom the mode of the socket lets in may look, and change nothing: each
 * verb of the table is tried. */
static void server_lets_others_look_only(void **state)
{
	char line[CTL_LINE_BYTES];
	int  verb;

	(void)state;
	server.csv_mode = 0666;
	for (verb = 0; verb < CTL_VERBS_NR; ++verb) {
		const char *name = ctl_verb_name((enum ctl_verb)verb);
		char        got[512] = "";
		int         fd;

		assert_int_equal(ctl_verb_right((enum ctl_verb)verb),
				 looks(name) ? CTL_RIGHT_LOOK
					     : CTL_RIGHT_CHANGE);
		line_of((enum ctl_verb)verb, line);
		uid_claimed = OTHER;
		served = NULL;
		fd = client_new(line);
		uid_claimed = (uid_t)-1;
		if (looks(name)) {
			assert_non_null(served);
			ctl_answer(served, TOOL_OK, strdup(""), 0, strdup(""),
				   0);
			client_gets(fd, "status 0 0 0\n");
			continue;
		}
		assert_null(served);
		assert_true(recv(fd, got, sizeof got - 1, MSG_WAITALL) > 0);
		assert_non_null(strstr(got, "status 1 0 "));
		assert_non_null(strstr(got, name));
		assert_non_null(
			strstr(got, "only its user (uid 1000) and root"));
		(void)close(fd);
	}
}

static void refused_as_one_too_many(void)
{
	char got[512] = "";
	int  fd = client_new("net.show\n");

	assert_null(served);
	assert_true(recv(fd, got, sizeof got - 1, MSG_WAITALL) > 0);
	assert_non_null(strstr(got, "try again later"));
	(void)close(fd);
}

/* Clients that may only read leave slots to those of other users, and all of them
 * leave slots to those that may change. */
static void server_keeps_slots_from_readers(void **state)
{
	int    readers[CTL_READERS_MAX];
	size_t i;
	int    fd;

	(void)state;
	server.csv_mode = 0666;
	for (i = 0; i < ARRAY_SIZE(readers); ++i) {
		uid_claimed = OTHER + (uid_t)(i / CTL_READERS_OF_USER_MAX);
		readers[i] = client_new("");
		if ((i + 1) % CTL_READERS_OF_USER_MAX == 0)
			refused_as_one_too_many();
	}
	++uid_claimed;
	refused_as_one_too_many();
	uid_claimed = (uid_t)-1;
	fd = client_new("stats.reset\n");
	assert_non_null(served);
	ctl_answer(served, TOOL_OK, strdup(""), 0, strdup(""), 0);
	client_gets(fd, "status 0 0 0\n");
	for (i = 0; i < ARRAY_SIZE(readers); ++i)
		(void)close(readers[i]);
}

/* The body of a request may begin behind its line, and come in pieces. */
static void server_takes_a_body_in_pieces(void **state)
{
	int fd = client_new("config.import name=add value=60 body=7\nf\n");

	(void)state;
	assert_null(served);
	assert_int_equal(send(fd, "ab", 2, MSG_NOSIGNAL), 2);
	step();
	assert_null(served);
	assert_int_equal(send(fd, "cde", 3, MSG_NOSIGNAL), 3);
	step();
	assert_non_null(served);
	assert_int_equal(asked.cq_value, 60);
	assert_int_equal(asked.cq_body_nr, 7);
	assert_memory_equal(asked_body, "f\nabcde", 7);
	ctl_answer(served, TOOL_OK, strdup(""), 0, strdup(""), 0);
	client_gets(fd, "status 0 0 0\n");
	/* At once; and one that breaks off is forgotten. */
	served = NULL;
	fd = client_new("config.import name=add body=1\nx");
	assert_non_null(served);
	ctl_answer(served, TOOL_OK, strdup(""), 0, strdup(""), 0);
	client_gets(fd, "status 0 0 0\n");
	served = NULL;
	fd = client_new("config.import name=add body=5\nx");
	(void)close(fd);
	step();
	assert_null(served);
	assert_int_equal(ctl_server_deadline(&server), M0_TIME_NEVER);
}

/* A request in pieces is one; its answer comes with its lengths. */
static void server_answers_a_request_in_pieces(void **state)
{
	int fd = client_new("stats.");

	(void)state;
	assert_null(served);
	assert_int_equal(send(fd, "show\nrest", 9, MSG_NOSIGNAL), 9);
	step();
	assert_non_null(served);
	assert_int_equal(asked.cq_verb, CTL_STATS_SHOW);
	assert_true(ctl_server_is_busy(&server));
	ctl_answer(served, TOOL_FAILED, strdup("out"), 3, strdup("er"), 2);
	client_gets(fd, "status 1 3 2\nouter");
	assert_false(ctl_server_is_busy(&server));
}

/* Rubbish and endless lines are told so, and cost a slot for a moment. */
static void server_refuses_rubbish(void **state)
{
	char long_line[CTL_LINE_BYTES];
	char got[256] = "";
	int  fd = client_new("GET / HTTP/1.0\n");

	(void)state;
	assert_true(recv(fd, got, sizeof got - 1, 0) > 0);
	assert_non_null(strstr(got, "status 1 0 "));
	assert_non_null(strstr(got, "not a verb"));
	(void)close(fd);
	memset(long_line, 'x', sizeof long_line);
	long_line[sizeof long_line - 1] = '\0';
	fd = client_new(long_line);
	M0_SET_ARR0(got);
	assert_true(recv(fd, got, sizeof got - 1, 0) > 0);
	assert_non_null(strstr(got, "too long"));
	(void)close(fd);
	assert_null(served);
}

/* The server hangs up on silent clients, and serves others meanwhile. */
static void server_hangs_up_on_the_silent(void **state)
{
	int       silent[CTL_CLIENTS_MAX - 1];
	m0_time_t deadline;
	size_t    i;
	int       fd;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(silent); ++i)
		silent[i] = client_new("");
	fd = client_new("peer.list\n");
	assert_non_null(served);
	ctl_answer(served, TOOL_OK, strdup(""), 0, strdup(""), 0);
	client_gets(fd, "status 0 0 0\n");
	deadline = ctl_server_deadline(&server);
	assert_true(deadline != M0_TIME_NEVER);
	/* All of them came within a second. */
	ctl_server_step(&server, deadline + M0_TIME_ONE_SECOND);
	assert_true(ctl_server_deadline(&server) == M0_TIME_NEVER);
	for (i = 0; i < ARRAY_SIZE(silent); ++i)
		client_gets(silent[i], "");
}

/* A step that has served for long gives a client that it lets in its whole time. */
static void client_after_a_long_step_has_its_time(void **state)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	m0_time_t          begin = m0_time_now();
	int                fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	snprintf(sa.sun_path, sizeof sa.sun_path, "%s", server.csv_path);
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof sa), 0);
	ctl_server_step(&server, begin - 10 * M0_TIME_ONE_SECOND);
	assert_true(ctl_server_deadline(&server) > begin);
	ctl_server_step(&server, m0_time_now());
	assert_true(ctl_server_deadline(&server) != M0_TIME_NEVER);
	(void)close(fd);
}

static void *accept_late(void *arg)
{
	const int *fd = arg;

	(void)poll(NULL, 0, 100);
	(void)close(accept(*fd, NULL, NULL));
	return NULL;
}

/* A client waits while as many others wait as may. */
static void client_waits_to_be_let_in(void **state)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	pthread_t          thread;
	int                fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int                first;
	int                second;

	(void)state;
	snprintf(sa.sun_path, sizeof sa.sun_path, "%.100s2", server.csv_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
	assert_int_equal(listen(fd, 0), 0);
	first = ctl_connect(sa.sun_path);
	assert_true(first >= 0);
	assert_int_equal(pthread_create(&thread, NULL, accept_late, &fd), 0);
	second = ctl_connect(sa.sun_path);
	assert_true(second >= 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	(void)close(first);
	(void)close(second);
	(void)close(fd);
	(void)unlink(sa.sun_path);
}

/* No more clients than slots are let in; the next comes when one is free. */
static void server_bounds_its_clients(void **state)
{
	struct pollfd fds[CTL_POLLFDS_MAX];
	int           clients[CTL_CLIENTS_MAX + 1];
	size_t        i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(clients); ++i)
		clients[i] = client_new("");
	assert_int_equal(ctl_server_poll(&server, fds), CTL_CLIENTS_MAX);
	(void)close(clients[0]);
	step();
	assert_int_equal(send(clients[CTL_CLIENTS_MAX], "peer.list\n", 10, 0),
			 10);
	step();
	assert_non_null(served);
	ctl_answer(served, TOOL_OK, strdup(""), 0, strdup(""), 0);
	client_gets(clients[CTL_CLIENTS_MAX], "status 0 0 0\n");
	for (i = 1; i < CTL_CLIENTS_MAX; ++i)
		(void)close(clients[i]);
}

/* One that reads nothing is not waited for; nor is one that is gone. */
static void server_outlives_who_does_not_read(void **state)
{
	size_t nr = 8 << 20;
	int    fd = client_new("peer.list\n");
	char  *out = malloc(nr);
	char   got[16];

	(void)state;
	memset(out, 'x', nr);
	ctl_answer(served, TOOL_OK, out, nr, strdup(""), 0);
	assert_true(ctl_server_is_busy(&server));
	/* Its time begins with the answer: the work may have been long. */
	ctl_server_step(&server,
			m0_time_add(m0_time_now(), 10 * M0_TIME_ONE_SECOND));
	assert_true(ctl_server_is_busy(&server));
	ctl_server_step(&server, ctl_server_deadline(&server));
	assert_false(ctl_server_is_busy(&server));
	assert_int_equal(recv(fd, got, sizeof got, 0), sizeof got);
	(void)close(fd);
	fd = client_new("peer.list\n");
	(void)close(fd);
	ctl_answer(served, TOOL_OK, strdup("x"), 1, strdup(""), 0);
	assert_false(ctl_server_is_busy(&server));
}

/* The socket is ours alone; a live node is not replaced, a dead one is. */
static void server_takes_the_place_of_the_dead_only(void **state)
{
	struct ctl_server second = { .csv_fd = -1 };
	struct stat       st;

	(void)state;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(ctl_server_open(&second, path, 0600, (gid_t)-1, &fail),
			 TOOL_FAILED);
	assert_non_null(strstr(fail.tf_text, "answers"));
	assert_non_null(strstr(fail.tf_text, "--ctl"));
	/* As after a crash: the name stays. */
	(void)close(server.csv_fd);
	M0_SET0(&fail);
	assert_int_equal(ctl_server_open(&second, path, 0660, (gid_t)-1, &fail),
			 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	ctl_server_close(&second);
	ctl_server_fini(&second);
	assert_int_equal(access(path, F_OK), -1);
	server.csv_fd = -1;
}

/* The end of a server does not take another's socket away. */
static void server_removes_only_its_own(void **state)
{
	struct ctl_server second = { .csv_fd = -1 };

	(void)state;
	assert_int_equal(unlink(path), 0);
	assert_int_equal(ctl_server_open(&second, path, 0600, (gid_t)-1, &fail),
			 0);
	ctl_server_close(&server);
	assert_int_equal(access(path, F_OK), 0);
	ctl_server_close(&second);
	ctl_server_fini(&second);
}

/* The server leaves a file that is no socket alone. */
static void server_leaves_files_alone(void **state)
{
	struct ctl_server second = { .csv_fd = -1 };
	char              name[96];
	FILE             *file;

	(void)state;
	snprintf(name, sizeof name, "%s/file", dir);
	file = fopen(name, "w");
	assert_non_null(file);
	(void)fclose(file);
	assert_int_equal(ctl_server_open(&second, name, 0600, (gid_t)-1, &fail),
			 TOOL_FAILED);
	assert_non_null(strstr(fail.tf_text, "no socket"));
	assert_int_equal(access(name, F_OK), 0);
	(void)unlink(name);
}

/* In a process without standard input the connection may be descriptor 0. */
static void client_may_be_descriptor_0(void **state)
{
	int input = dup(0);
	int fd;

	(void)state;
	(void)close(0);
	fd = ctl_connect(path);
	assert_int_equal(fd, 0);
	assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), 1);
	(void)close(fd);
	if (input >= 0) {
		assert_int_equal(dup2(input, 0), 0);
		(void)close(input);
	}
}

int main(void)
{
#define ON_SERVER(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_survives_being_a_line),
		cmocka_unit_test(request_of_routes_survives_being_a_line),
		cmocka_unit_test(request_of_faults_survives_being_a_line),
		cmocka_unit_test(request_malformed_is_refused),
		ON_SERVER(server_for_its_user_alone_hears_nobody_else),
		ON_SERVER(server_lets_others_look_only),
		ON_SERVER(server_keeps_slots_from_readers),
		ON_SERVER(server_answers_a_request_in_pieces),
		ON_SERVER(server_takes_a_body_in_pieces),
		ON_SERVER(server_refuses_rubbish),
		ON_SERVER(server_hangs_up_on_the_silent),
		ON_SERVER(client_after_a_long_step_has_its_time),
		ON_SERVER(client_waits_to_be_let_in),
		ON_SERVER(client_may_be_descriptor_0),
		ON_SERVER(server_bounds_its_clients),
		ON_SERVER(server_outlives_who_does_not_read),
		ON_SERVER(server_takes_the_place_of_the_dead_only),
		ON_SERVER(server_removes_only_its_own),
		ON_SERVER(server_leaves_files_alone),
	};
	int failed;

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof path, "%s/node.sock", dir);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(dir);
	return failed;
}
