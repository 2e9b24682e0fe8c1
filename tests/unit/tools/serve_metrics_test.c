/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Metrics of a service: clients that connected before the watch was attached, and more
 * sessions than are shown. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "m0/mem.h"

#include "../../../tools/object/serve_metrics.h"

enum {
	/** Sessions without a row. */
	MORE = 2,
	SESSIONS_MAX = SERVE_METRICS_ROWS_MAX + MORE
};

static struct server         sv;
static struct tool_fail      fail;
static struct m0_net_domain  dom;
static struct m0_rpc_machine client;
static struct m0_rpc_session sessions[SESSIONS_MAX];

/* Calls of the RPC machine's thread for its counters. */
static int asked_nr;

void __real_m0_rpc_machine_get_stats(struct m0_rpc_machine *machine,
				     struct m0_rpc_stats *ret, bool reset);
void __wrap_m0_rpc_machine_get_stats(struct m0_rpc_machine *machine,
				     struct m0_rpc_stats *ret, bool reset);

void __wrap_m0_rpc_machine_get_stats(struct m0_rpc_machine *machine,
				     struct m0_rpc_stats *ret, bool reset)
{
	++asked_nr;
	__real_m0_rpc_machine_get_stats(machine, ret, reset);
}

static int up(void **state)
{
	struct m0_rpc_cfg cfg;

	(void)state;
	M0_SET0(&sv);
	sv.sv_is_volatile = true;
	m0_mutex_init(&sv.sv_lock);
	m0_rpc_cfg_init(&cfg);
	cfg.rc_sessions_max = SESSIONS_MAX;
	cfg.rc_client_bytes_max = 64 << 20;
	assert_int_equal(m0_net_domain_init(&sv.sv_dom, &m0_net_bulk_mem_xprt),
			 0);
	assert_int_equal(m0_net_domain_init(&dom, &m0_net_bulk_mem_xprt), 0);
	assert_int_equal(serve_metrics_init(&sv.sv_metrics, &sv, "0", &fail),
			 TOOL_OK);
	assert_int_equal(m0_rpc_machine_init(&sv.sv_machine, &sv.sv_dom, &cfg,
					     NULL, NULL, M0_BUFFER_ANY_COLOUR,
					     0, 0),
			 0);
	assert_int_equal(m0_rpc_machine_init(&client, &dom, NULL, NULL, NULL,
					     M0_BUFFER_ANY_COLOUR, 0, 0),
			 0);
	return 0;
}

static int down(void **state)
{
	(void)state;
	m0_rpc_machine_fini(&client);
	m0_rpc_machine_fini(&sv.sv_machine);
	serve_metrics_fini(sv.sv_metrics);
	(void)m0_net_domain_fini(&dom);
	(void)m0_net_domain_fini(&sv.sv_dom);
	m0_mutex_fini(&sv.sv_lock);
	return 0;
}

/* The text has this line. */
static void metrics_say(const char *name, unsigned value)
{
	size_t nr;
	char  *text = serve_metrics_take(sv.sv_metrics, &nr);
	char   line[96];

	assert_non_null(text);
	snprintf(line, sizeof line, "\n%s %u\n", name, value);
	if (memmem(text, nr, line, strlen(line)) == NULL)
		fail_msg("no '%s %u' in %.*s", name, value, (int)nr, text);
	free(text);
}

static void conn_make(struct m0_rpc_conn *conn)
{
	assert_int_equal(m0_rpc_conn_create(conn, M0_UINT128(0, 0),
					    m0_rpc_machine_addr(&sv.sv_machine),
					    &client, 8, M0_TIME_NEVER),
			 0);
}

static void sessions_make(struct m0_rpc_conn *conn, unsigned from, unsigned to)
{
	unsigned i;

	for (i = from; i < to; ++i)
		assert_int_equal(m0_rpc_session_create(&sessions[i], conn,
						       M0_TIME_NEVER),
				 0);
}

static void sessions_end(unsigned from, unsigned to)
{
	unsigned i;

	for (i = from; i < to; ++i)
		assert_int_equal(
			m0_rpc_session_destroy(&sessions[i], M0_TIME_NEVER), 0);
}

static void client_from_before_the_watch_is_not_counted_down(void **state)
{
	struct m0_rpc_conn conn;

	(void)state;
	conn_make(&conn);
	sessions_make(&conn, 0, 2);
	serve_metrics_watch(sv.sv_metrics);
	metrics_say("colibri_rpc_sessions", 0);
	sessions_end(0, 1);
	metrics_say("colibri_rpc_sessions", 0);
	sessions_make(&conn, 2, 3);
	metrics_say("colibri_rpc_sessions", 1);
	sessions_end(1, 3);
	assert_int_equal(m0_rpc_conn_destroy(&conn, M0_TIME_NEVER), 0);
	metrics_say("colibri_rpc_sessions", 0);
	metrics_say("colibri_metrics_omitted_sessions", 0);
	metrics_say("colibri_metrics_omitted_connections", 0);
}

static void sessions_without_a_row_are_counted(void **state)
{
	struct m0_rpc_conn conn;

	(void)state;
	serve_metrics_watch(sv.sv_metrics);
	conn_make(&conn);
	sessions_make(&conn, 0, SESSIONS_MAX);
	metrics_say("colibri_rpc_sessions", SESSIONS_MAX);
	metrics_say("colibri_metrics_omitted_sessions", MORE);
	sessions_end(0, SESSIONS_MAX);
	assert_int_equal(m0_rpc_conn_destroy(&conn, M0_TIME_NEVER), 0);
	metrics_say("colibri_rpc_sessions", 0);
	metrics_say("colibri_metrics_omitted_sessions", 0);
}

/* A prober's connection, which has sent its request. */
static int probe_start(const char *path)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	char request[64];
	int  fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int  port;

	assert_true(fd >= 0);
	assert_int_equal(sscanf(serve_metrics_url(sv.sv_metrics),
				"http://127.0.0.1:%d/", &port),
			 1);
	addr.sin_port = htons((uint16_t)port);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
	snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
	assert_int_equal(send(fd, request, strlen(request), 0),
			 strlen(request));
	return fd;
}

/* Serves until a prober has its answer, which is of this status. */
static void probe_end(int fd, const char *status)
{
	char    answer[512];
	ssize_t nr;

	do {
		serve_metrics_wait(sv.sv_metrics, fd);
		nr = recv(fd, answer, sizeof answer - 1, MSG_DONTWAIT);
	} while (nr < 0 && errno == EAGAIN);
	assert_true(nr > 0);
	answer[nr] = '\0';
	assert_memory_equal(answer + strlen("HTTP/1.x "), status,
			    strlen(status));
	(void)close(fd);
}

static void probers_share_an_answer_of_the_machine(void **state)
{
	int i;

	(void)state;
	asked_nr = 0;
	for (i = 0; i < 20; ++i)
		probe_end(probe_start("/healthz"), "200");
	/* An answer holds for half a second. */
	assert_in_range(asked_nr, 1, 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(client_from_before_the_watch_is_not_counted_down),
		TEST(sessions_without_a_row_are_counted),
		TEST(probers_share_an_answer_of_the_machine),
	};
	int rc = m0_net_init();

	assert_int_equal(rc, 0);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	m0_net_fini();
	return rc;
}
