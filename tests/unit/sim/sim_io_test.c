/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The simulated network, under a fake driver that records its notifications, and
 * sends and takes plain bytes.
 */
#include "lib/pcap.h"
#include "m0/lnd.h"
#include "sim/net/sim_raw.h"
#include "stream/stream.h"
#include "unit/sim/worker.h"

enum {
	SEED = 9,
	CONNS_MAX = 200,
	BUF_BYTES = 300000,
	PORT = 988
};

struct m0_sock_conn {
	struct m0_streams  *c_io;
	struct m0_stream   *c_stream;
	bool                c_is_up;
	bool                c_is_broken;
	int                 c_status;
	struct m0_host_addr c_local;
	struct m0_host_addr c_remote;
	uint8_t             c_in[BUF_BYTES];
	size_t              c_in_nr;
	unsigned            c_arrived_nr;
	/** Takes no more than this; then it pauses. */
	size_t                  c_in_max;
	const uint8_t          *c_out;
	size_t                  c_out_nr;
	struct m0_stream_counts c_counts;
	/** Hangs up when it has so many bytes. */
	size_t c_hangup_at;
};

/** A node: an io run by a strand. */
struct m0_sock {
	struct m0_streams *s_io;
	struct m0_strand   s_strand;
	bool               s_refuses;
};

static struct m0_sim        sim;
static struct m0_sim_host  *hosts[3];
static struct m0_sock       nodes[3];
static struct m0_sock_conn *conns[CONNS_MAX];
static unsigned             conns_nr;

static const struct m0_streams_up up_ops;

static struct m0_sock_conn *conn_new(struct m0_sock *sock)
{
	struct m0_sock_conn *conn = calloc(1, sizeof *conn);

	assert_non_null(conn);
	assert_true(conns_nr < CONNS_MAX);
	conns[conns_nr++] = conn;
	conn->c_io = sock->s_io;
	conn->c_in_max = BUF_BYTES;
	return conn;
}

static void *up_accepted(void *owner, struct m0_stream_listener *listener,
			 const struct m0_host_addr *local,
			 const struct m0_host_addr *remote,
			 struct m0_stream          *stream)
{
	struct m0_sock      *sock = owner;
	struct m0_sock_conn *conn;

	(void)listener;
	if (sock->s_refuses)
		return NULL;
	conn = conn_new(sock);
	conn->c_stream = stream;
	stream->stm_counts = &conn->c_counts;
	conn->c_local = *local;
	conn->c_remote = *remote;
	conn->c_is_up = true;
	return conn;
}

static void up_dialled(void *user, const struct m0_host_addr *local)
{
	struct m0_sock_conn *conn = user;

	conn->c_is_up = true;
	conn->c_local = *local;
}

static void up_broken(void *user, int status)
{
	struct m0_sock_conn *conn = user;

	assert_false(conn->c_is_broken);
	conn->c_is_broken = true;
	conn->c_status = status;
	conn->c_stream = NULL;
}

static int hangup_maybe(struct m0_sock_conn *conn)
{
	if (conn->c_hangup_at == 0 || conn->c_in_nr < conn->c_hangup_at)
		return 0;
	conn->c_io->sts_ops->sto_hangup(conn->c_io, conn->c_stream, true);
	conn->c_stream = NULL;
	return -ECANCELED;
}

/* Two segments of unequal size, and twelve bytes ahead. */
static unsigned up_in_where(void *user, struct iovec *iov, unsigned max,
			    size_t *ret_ahead)
{
	struct m0_sock_conn *conn = user;
	size_t               room = min64u(conn->c_in_max - conn->c_in_nr, 24);

	assert_true(max >= 2);
	if (room == 0)
		return 0;
	iov[0].iov_base = conn->c_in + conn->c_in_nr;
	iov[0].iov_len = min64u(room, 5);
	iov[1].iov_base = conn->c_in + conn->c_in_nr + iov[0].iov_len;
	iov[1].iov_len = room - iov[0].iov_len;
	*ret_ahead = room == 24 ? 12 : 0;
	return iov[1].iov_len > 0 ? 2 : 1;
}

static int up_in_arrived(void *user, size_t nr)
{
	struct m0_sock_conn *conn = user;

	assert_true(nr > 0);
	/* At times it was the wrong place. */
	if (++conn->c_arrived_nr % 3 == 0)
		return (int)nr;
	conn->c_in_nr += nr;
	return hangup_maybe(conn);
}

static ssize_t up_in_bytes(void *user, const void *bytes, size_t nr)
{
	struct m0_sock_conn *conn = user;
	int                  rc;

	assert_in_range(nr, 1, 36);
	assert_true(nr <= 12 || conn->c_arrived_nr % 3 == 0);
	nr = min64u(nr, conn->c_in_max - conn->c_in_nr);
	memcpy(conn->c_in + conn->c_in_nr, bytes, nr);
	conn->c_in_nr += nr;
	rc = hangup_maybe(conn);
	return rc < 0 ? rc : (ssize_t)nr;
}

static unsigned up_out_what(void *user, struct iovec *iov, unsigned max)
{
	struct m0_sock_conn *conn = user;

	assert_true(max > 0);
	iov[0].iov_base = (void *)(uintptr_t)conn->c_out;
	iov[0].iov_len = min64u(conn->c_out_nr, 1000);
	return conn->c_out_nr > 0;
}

static int up_out_left(void *user, size_t nr)
{
	struct m0_sock_conn *conn = user;

	conn->c_out += nr;
	conn->c_out_nr -= nr;
	return 0;
}

static const struct m0_streams_up up_ops = {
	.stu_accepted = up_accepted,
	.stu_dialled = up_dialled,
	.stu_broken = up_broken,
	.stu_in_where = up_in_where,
	.stu_in_arrived = up_in_arrived,
	.stu_in_bytes = up_in_bytes,
	.stu_out_what = up_out_what,
	.stu_out_left = up_out_left,
};

/* -- nodes ----------------------------------------------------------------- */

static m0_time_t node_step(struct m0_strand *strand, m0_time_t now)
{
	struct m0_sock *node = container_of(strand, struct m0_sock, s_strand);
	bool            more = m0_reactor_pass(node->s_io->sts_reactor, now);

	m0_reactor_flush(node->s_io->sts_reactor);
	return more ? now : M0_TIME_NEVER;
}

static const struct m0_strand_ops node_ops = { .so_step = node_step };

static void up(const struct m0_sim_stream_cfg *cfg)
{
	static const char *const addrs[] = { "10.0.0.1 2001:db8::1", "10.0.0.2",
					     "10.0.0.3" };
	static const char *const names[] = { "a", "b", "c" };
	struct m0_reactor       *reactor;
	unsigned                 i;

	conns_nr = 0;
	memset(nodes, 0, sizeof nodes);
	m0_sim_init_cfg(&sim, SEED, &m0_sim_cfg_calm);
	m0_sim_net_init(&sim, cfg);
	assert_ptr_equal(m0_host_ops_get(), &m0_sim_host_ops);
	for (i = 0; i < ARRAY_SIZE(hosts); ++i) {
		hosts[i] = m0_sim_host_add(names[i], addrs[i]);
		m0_sim_host_use(hosts[i]);
		assert_int_equal(m0_sim_host_ops.hso_reactor_create(&reactor),
				 0);
		assert_int_equal(m0_sim_host_ops.hso_streams_create(
					 &nodes[i].s_io, reactor, NULL),
				 0);
		nodes[i].s_io->sts_owner = &nodes[i];
		nodes[i].s_io->sts_up = &up_ops;
		m0_strand_init(&nodes[i].s_strand, &node_ops, names[i]);
		assert_int_equal(m0_strand_start(&nodes[i].s_strand, NULL), 0);
		reactor->rtr_ops->rtro_strand_set(reactor, &nodes[i].s_strand);
	}
}

static void down(void)
{
	struct m0_reactor *reactor;
	unsigned           i;

	for (i = 0; i < conns_nr; ++i) {
		if (conns[i]->c_stream != NULL)
			conns[i]->c_io->sts_ops->sto_hangup(
				conns[i]->c_io, conns[i]->c_stream, true);
		free(conns[i]);
	}
	for (i = 0; i < ARRAY_SIZE(hosts); ++i) {
		reactor = nodes[i].s_io->sts_reactor;
		reactor->rtr_ops->rtro_strand_set(reactor, NULL);
		m0_strand_stop(&nodes[i].s_strand);
		m0_strand_fini(&nodes[i].s_strand);
		nodes[i].s_io->sts_ops->sto_destroy(nodes[i].s_io);
		reactor->rtr_ops->rtro_destroy(reactor);
	}
	m0_sim_net_fini();
	m0_sim_fini(&sim);
	assert_null(m0_host_ops_get());
}

static const struct m0_sim_stream_cfg cfg_plain = {
	.ssc_latency_ns = 100000,
	.ssc_piece_bytes_max = 40,
};

static struct m0_sock_conn *dial_from(unsigned node, const char *from,
				      const char *to, uint16_t port_min,
				      uint16_t port_max, int expect)
{
	struct m0_sock_conn *conn = conn_new(&nodes[node]);
	struct m0_host_addr  from_addr = m0_sim_addr(from, 0);
	struct m0_host_addr  to_addr = m0_sim_addr(to, PORT);
	char                 why[M0_LND_WHY_BYTES] = "";

	assert_int_equal(conn->c_io->sts_ops->sto_dial(
				 conn->c_io, conn, &from_addr, port_min,
				 port_max, &to_addr, &conn->c_stream, why),
			 expect);
	assert_true((expect == 0) == (why[0] == 0));
	if (expect == 0)
		conn->c_stream->stm_counts = &conn->c_counts;
	return conn;
}

static struct m0_sock_conn *dial(const char *to)
{
	return dial_from(0, "10.0.0.1", to, 512, 1023, 0);
}

static void listen_at(struct m0_stream_listener *listener, unsigned node,
		      const char *at, int expect)
{
	char why[M0_LND_WHY_BYTES] = "";

	listener->slr_addr = m0_sim_addr(at, PORT);
	assert_int_equal(nodes[node].s_io->sts_ops->sto_listen(nodes[node].s_io,
							       listener, why),
			 expect);
	assert_true((expect == 0) == (why[0] == 0));
}

static void say(struct m0_sock_conn *conn, const void *bytes, size_t nr)
{
	conn->c_out = bytes;
	conn->c_out_nr = nr;
	conn->c_io->sts_ops->sto_out(conn->c_io, conn->c_stream);
	conn->c_io->sts_ops->sto_out(conn->c_io, conn->c_stream);
	conn->c_io->sts_reactor->rtr_ops->rtro_rouse(conn->c_io->sts_reactor);
}

/* A dial finds a listener; bytes go both ways, whatever the pieces. */
static void dial_meets_listener(void **state)
{
	static uint8_t            bytes[BUF_BYTES];
	struct m0_stream_listener listener;
	struct m0_sock_conn      *there;
	struct m0_sock_conn      *here;

	(void)state;
	up(&cfg_plain);
	memset(bytes, 0x5a, sizeof bytes);
	bytes[77777] = 1;
	listen_at(&listener, 1, "10.0.0.2", 0);
	here = dial("10.0.0.2");
	/* Bytes sent before the stream is up wait. */
	say(here, bytes, sizeof bytes);
	m0_sim_run_ms(&sim, 1000);
	assert_int_equal(conns_nr, 2);
	there = conns[1];
	assert_true(here->c_is_up);
	assert_int_equal(here->c_local.sa_port, 1023);
	assert_int_equal(there->c_remote.sa_port, 1023);
	assert_int_equal(there->c_remote.sa_bytes[3], 1);
	assert_int_equal(there->c_local.sa_bytes[3], 2);
	assert_int_equal(there->c_in_nr, sizeof bytes);
	assert_memory_equal(there->c_in, bytes, sizeof bytes);
	assert_true(here->c_counts.stc_writes_nr > 1 &&
		    there->c_counts.stc_reads_nr > 100);
	say(there, "pong", 4);
	m0_sim_run_ms(&sim, 1);
	assert_memory_equal(here->c_in, "pong", 4);
	assert_int_equal(
		here->c_io->sts_ops->sto_unsent(here->c_io, here->c_stream), 0);
	/* One hangs up, the other is told. */
	here->c_io->sts_ops->sto_hangup(here->c_io, here->c_stream, true);
	here->c_stream = NULL;
	m0_sim_run_ms(&sim, 1);
	assert_true(there->c_is_broken && !here->c_is_broken);
	assert_int_equal(there->c_status, -ECONNRESET);
	assert_int_equal(m0_sim_net_streams_nr(), 0);
	nodes[1].s_io->sts_ops->sto_unlisten(nodes[1].s_io, &listener);
	down();
}

/* Each dial takes the next lower port; with none left it is refused. */
static void ports_are_taken_downwards(void **state)
{
	struct m0_stream_listener listener;
	unsigned                  i;

	(void)state;
	up(&cfg_plain);
	listen_at(&listener, 1, "10.0.0.2", 0);
	for (i = 0; i < 3; ++i)
		(void)dial_from(0, "10.0.0.1", "10.0.0.2", 1021, 1023, 0);
	(void)dial_from(0, "10.0.0.1", "10.0.0.2", 1021, 1023, -EADDRINUSE);
	(void)dial_from(0, "10.0.0.9", "10.0.0.2", 1021, 1023, -EADDRNOTAVAIL);
	m0_sim_run_ms(&sim, 10);
	for (i = 0; i < 3; ++i)
		assert_int_equal(conns[i]->c_local.sa_port, 1023 - i);
	(void)dial_from(0, "10.0.0.1", "10.0.0.2", 0, 0, 0);
	m0_sim_run_ms(&sim, 10);
	assert_true(conns[9]->c_remote.sa_port > 32767);
	nodes[1].s_io->sts_ops->sto_unlisten(nodes[1].s_io, &listener);
	down();
}

/* Nobody listens; a host that cannot be reached; one that is not there. */
static void dial_fails_as_networks_do(void **state)
{
	struct m0_sock_conn *refused;
	struct m0_sock_conn *unreachable;
	struct m0_sock_conn *nowhere;

	(void)state;
	up(&cfg_plain);
	refused = dial("10.0.0.2");
	m0_sim_host_unreachable(hosts[2], true);
	unreachable = dial("10.0.0.3");
	nowhere = dial("10.0.0.77");
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(refused->c_status, -ECONNREFUSED);
	assert_int_equal(unreachable->c_status, -EHOSTUNREACH);
	assert_false(nowhere->c_is_broken);
	m0_sim_run_ms(&sim, 3000);
	assert_int_equal(nowhere->c_status, -EHOSTUNREACH);
	assert_false(refused->c_is_up);
	down();
}

/* Cut in one direction, the other still works; mended, what was said comes. */
static void cut_one_way_lets_the_other_through(void **state)
{
	struct m0_stream_listener listener;
	struct m0_sock_conn      *there;
	struct m0_sock_conn      *here;

	(void)state;
	up(&cfg_plain);
	listen_at(&listener, 1, "10.0.0.2", 0);
	here = dial("10.0.0.2");
	m0_sim_run_ms(&sim, 10);
	there = conns[1];
	m0_sim_host_cut_way(hosts[1], hosts[0], true);
	say(here, "ping", 4);
	say(there, "pong", 4);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(there->c_in_nr, 4);
	assert_memory_equal(there->c_in, "ping", 4);
	assert_int_equal(here->c_in_nr, 0);
	m0_sim_host_cut_way(hosts[1], hosts[0], false);
	m0_sim_run_ms(&sim, 1000);
	assert_int_equal(here->c_in_nr, 4);
	assert_memory_equal(here->c_in, "pong", 4);
	nodes[1].s_io->sts_ops->sto_unlisten(nodes[1].s_io, &listener);
	down();
}

/* A SYN that vanishes: no answer; mended soon, it comes to be; else not. */
static void dial_into_cut_waits(void **state)
{
	struct m0_stream_listener listener;
	struct m0_sock_conn      *conn;

	(void)state;
	up(&cfg_plain);
	listen_at(&listener, 1, "10.0.0.2", 0);
	m0_sim_host_cut(hosts[1], true);
	conn = dial("10.0.0.2");
	m0_sim_run_ms(&sim, 20000);
	assert_false(conn->c_is_up || conn->c_is_broken);
	m0_sim_host_cut(hosts[1], false);
	m0_sim_run_ms(&sim, 20000);
	assert_true(conn->c_is_up);

	m0_sim_host_cut_way(hosts[1], hosts[0], true);
	conn = dial("10.0.0.2");
	m0_sim_run_ms(&sim, 120000);
	assert_false(conn->c_is_broken);
	m0_sim_run_ms(&sim, 20000);
	assert_int_equal(conn->c_status, -ETIMEDOUT);
	/* One that hangs up while it dials leaves nothing. */
	conn = dial("10.0.0.2");
	conn->c_io->sts_ops->sto_hangup(conn->c_io, conn->c_stream, true);
	conn->c_stream = NULL;
	m0_sim_run_ms(&sim, 200000);
	assert_false(conn->c_is_broken);
	/* Meanwhile the other one has ended by keep-alive. */
	assert_int_equal(conns[0]->c_status, -ETIMEDOUT);
	assert_int_equal(m0_sim_host_dials_nr(hosts[0]), 3);
	nodes[1].s_io->sts_ops->sto_unlisten(nodes[1].s_io, &listener);
	down();
}

/* Listening: taken, not ours, refused by the system, refused by the driver. */
static void listen_fails_as_systems_do(void **state)
{
	struct m0_stream_listener one;
	struct m0_stream_listener two;
	struct m0_sock_conn      *conn;

	(void)state;
	up(&cfg_plain);
	listen_at(&one, 1, "10.0.0.2", 0);
	listen_at(&two, 2, "10.0.0.2", -EADDRINUSE);
	listen_at(&two, 2, "10.0.0.99", -EADDRNOTAVAIL);
	m0_sim_host_listen_fails(hosts[2], -EACCES);
	listen_at(&two, 2, "10.0.0.3", -EACCES);
	nodes[1].s_refuses = true;
	conn = dial("10.0.0.2");
	m0_sim_run_ms(&sim, 10);
	assert_true(conn->c_is_up && conn->c_is_broken);
	assert_int_equal(conn->c_status, 0);
	nodes[1].s_io->sts_ops->sto_unlisten(nodes[1].s_io, &one);
	listen_at(&one, 2, "10.0.0.2", 0);
	nodes[2].s_io->sts_ops->sto_unlisten(nodes[2].s_io, &one);
	down();
}

/* A driver that pauses gets nothing until it asks, and then all, in order. */
static void pause_holds_bytes(void **state)
{
	static uint8_t            bytes[1000];
	struct m0_stream_listener listener;
	struct m0_sock_conn      *there;
	struct m0_sock_conn      *here;
	size_t                    i;

	(void)state;
	up(&cfg_plain);
	for (i = 0; i < sizeof bytes; ++i)
		bytes[i] = (uint8_t)i;
	listen_at(&listener, 1, "10.0.0.2", 0);
	here = dial("10.0.0.2");
	m0_sim_run_ms(&sim, 10);
	there = conns[1];
	for (i = 1; i < 40; ++i) {
		there->c_in_max = 25 * i;
		there->c_io->sts_ops->sto_in(there->c_io, there->c_stream);
		if (i == 1)
			say(here, bytes, sizeof bytes);
		m0_sim_run_ms(&sim, 10);
		assert_int_equal(there->c_in_nr, 25 * i);
	}
	there->c_in_max = BUF_BYTES;
	there->c_io->sts_ops->sto_in(there->c_io, there->c_stream);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(there->c_in_nr, 1000);
	assert_memory_equal(there->c_in, bytes, 1000);
	/* A paused one hears of a reset all the same. */
	there->c_in_max = 1000;
	there->c_io->sts_ops->sto_in(there->c_io, there->c_stream);
	m0_sim_run_ms(&sim, 10);
	m0_sim_host_reset_way(hosts[0], hosts[1]);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(there->c_status, -ECONNRESET);
	assert_int_equal(here->c_status, -ECONNRESET);
	nodes[1].s_io->sts_ops->sto_unlisten(nodes[1].s_io, &listener);
	down();
}

/* A driver may hang up in the middle of what it is told. */
static void hangup_inside_is_allowed(void **state)
{
	static const uint8_t      bytes[600];
	struct m0_stream_listener listener;
	unsigned                  i;

	(void)state;
	up(&cfg_plain);
	listen_at(&listener, 1, "10.0.0.2", 0);
	for (i = 0; i < 50; ++i)
		(void)dial("10.0.0.2");
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(conns_nr, 100);
	for (i = 0; i < 50; ++i) {
		conns[50 + i]->c_hangup_at = 1 + i * 11;
		say(conns[i], bytes, sizeof bytes);
	}
	m0_sim_run_ms(&sim, 10);
	for (i = 0; i < 50; ++i) {
		assert_null(conns[50 + i]->c_stream);
		assert_false(conns[50 + i]->c_is_broken);
		assert_int_equal(conns[i]->c_status, -ECONNRESET);
	}
	assert_int_equal(m0_sim_net_streams_nr(), 0);
	nodes[1].s_io->sts_ops->sto_unlisten(nodes[1].s_io, &listener);
	down();
}

/* A host that dies silently and comes back answers old streams by a reset, and
 * a new connection under the old one's ports comes to be. */
static void host_restarted_resets_old_streams(void **state)
{
	struct m0_stream_listener listener;
	struct m0_sock_conn      *there;
	struct m0_sock_conn      *here;
	unsigned                  i;

	(void)state;
	up(&cfg_plain);
	listen_at(&listener, 1, "10.0.0.2", 0);
	for (i = 0; i < 2; ++i) {
		here = dial("10.0.0.2");
		m0_sim_run_ms(&sim, 10);
		there = conns[conns_nr - 1];
		m0_sim_host_cut(hosts[0], true);
		here->c_io->sts_ops->sto_hangup(here->c_io, here->c_stream,
						true);
		here->c_stream = NULL;
		m0_sim_run_ms(&sim, 10);
		assert_false(there->c_is_broken);
		m0_sim_host_cut(hosts[0], false);
		m0_sim_run_ms(&sim, 10);
		assert_false(there->c_is_broken);
		if (i == 0) {
			say(there, "hallo", 5);
			m0_sim_run_ms(&sim, 10);
			assert_int_equal(there->c_status, -ECONNRESET);
			continue;
		}
		here = dial("10.0.0.2");
		m0_sim_run_ms(&sim, 10);
		assert_int_equal(there->c_status, -ECONNRESET);
		assert_false(here->c_is_up);
		m0_sim_run_ms(&sim, 1000);
		assert_true(here->c_is_up);
	}
	nodes[1].s_io->sts_ops->sto_unlisten(nodes[1].s_io, &listener);
	down();
}

static struct m0_sim_raw *raw_accepted;

static void accepted(struct m0_sim_raw *raw, void *arg)
{
	assert_string_equal(arg, "arg");
	raw_accepted = raw;
	m0_sim_raw_send(raw, "hello", 5);
}

static void echo(struct m0_sim_raw *raw)
{
	m0_sim_raw_send(raw, raw->smr_in + raw->smr_done,
			raw->smr_in_nr - raw->smr_done);
	raw->smr_done = raw->smr_in_nr;
}

/* A test listens and dials itself. */
static void raw_ends_speak_bytes(void **state)
{
	struct m0_stream_listener listener;
	struct m0_sock_conn      *conn;
	struct m0_sim_raw        *raw;

	(void)state;
	up(&cfg_plain);
	m0_sim_raw_listen("10.0.0.3", PORT, accepted,
			  (void *)(uintptr_t) "arg");
	conn = dial("10.0.0.3");
	m0_sim_run_ms(&sim, 10);
	raw = raw_accepted;
	assert_memory_equal(conn->c_in, "hello", 5);
	assert_int_equal(raw->smr_remote.sa_port, 1023);
	raw->smr_input = echo;
	say(conn, "abcdef", 6);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(conn->c_in_nr, 11);
	assert_int_equal(raw->smr_in_nr, 6);
	m0_sim_raw_shut(raw);
	m0_sim_run_ms(&sim, 10);
	assert_true(conn->c_is_broken);
	assert_int_equal(conn->c_status, 0);
	m0_sim_raw_listen("10.0.0.3", PORT, NULL, NULL);

	listen_at(&listener, 1, "10.0.0.2", 0);
	raw = m0_sim_raw_dial("10.0.0.3", 77, "10.0.0.2", PORT);
	m0_sim_raw_send(raw, "xyz", 3);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(raw->smr_state, M0_SIM_RAW_CONNECTED);
	conn = conns[1];
	assert_int_equal(conn->c_remote.sa_port, 77);
	assert_memory_equal(conn->c_in, "xyz", 3);
	conn->c_io->sts_ops->sto_hangup(conn->c_io, conn->c_stream, true);
	conn->c_stream = NULL;
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(raw->smr_state, M0_SIM_RAW_BROKEN);
	assert_int_equal(raw->smr_status, -ECONNRESET);
	m0_sim_raw_free(raw);
	raw = m0_sim_raw_dial("10.0.0.3", 0, "10.0.0.1", PORT);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(raw->smr_status, -ECONNREFUSED);
	nodes[1].s_io->sts_ops->sto_unlisten(nodes[1].s_io, &listener);
	down();
}

/* A raw end that reads nothing stops the node's writing; what it reads later is
 * all there. */
static void raw_mute_fills_window(void **state)
{
	static const struct m0_sim_stream_cfg cfg = {
		.ssc_latency_ns = 1000,
		.ssc_window_bytes = 10000,
	};
	static const uint8_t bytes[50000];
	struct m0_sock_conn *conn;

	(void)state;
	up(&cfg);
	m0_sim_raw_listen("10.0.0.3", PORT, accepted,
			  (void *)(uintptr_t) "arg");
	conn = dial("10.0.0.3");
	m0_sim_run_ms(&sim, 10);
	m0_sim_raw_mute(raw_accepted, true);
	say(conn, bytes, sizeof bytes);
	m0_sim_run_ms(&sim, 1000);
	assert_int_equal(conn->c_out_nr, 40000);
	assert_int_equal(raw_accepted->smr_in_nr, 0);
	m0_sim_raw_mute(raw_accepted, false);
	m0_sim_run_ms(&sim, 10);
	assert_int_equal(conn->c_out_nr, 0);
	assert_int_equal(raw_accepted->smr_in_nr, sizeof bytes);
	down();
}

/* The inventory lists the devices of the host in use, or those of all hosts. */
static void ifaces_are_the_hosts(void **state)
{
	struct m0_host_iface ifaces[8];

	(void)state;
	up(&cfg_plain);
	m0_sim_host_use(hosts[0]);
	assert_int_equal(m0_sim_host_ops.hso_ifaces(NULL, ifaces, 8), 2);
	assert_string_equal(ifaces[0].sif_name, "sim0");
	assert_true(ifaces[1].sif_is_up);
	assert_int_equal(ifaces[1].sif_addr.sa_bytes_nr, 16);
	m0_sim_host_use(NULL);
	assert_int_equal(m0_sim_host_ops.hso_ifaces(NULL, ifaces, 1), 4);
	m0_sim_host_iface_up(hosts[0], false);
	assert_int_equal(m0_sim_host_ops.hso_ifaces(NULL, ifaces, 8), 4);
	assert_false(ifaces[0].sif_is_up);
	assert_true(ifaces[3].sif_is_up);
	down();
}

/* A pcap record contains all bytes of a stream. */
static void record_is_read_again(void **state)
{
	static uint8_t            bytes[BUF_BYTES];
	struct m0_stream_listener listener;
	struct m0_sock_conn      *here;
	struct pcap               pcap;
	char                      path[] = "/tmp/sim_io_test.XXXXXX";
	int                       fd = mkstemp(path);
	unsigned                  i;

	(void)state;
	assert_true(fd >= 0);
	(void)close(fd);
	up(&cfg_plain);
	m0_sim_net_pcap(path);
	for (i = 0; i < sizeof bytes; ++i)
		bytes[i] = (uint8_t)(i * i);
	listen_at(&listener, 1, "10.0.0.2", 0);
	here = dial("10.0.0.2");
	say(here, bytes, sizeof bytes);
	m0_sim_run_ms(&sim, 100);
	say(conns[1], "pong", 4);
	m0_sim_run_ms(&sim, 10);
	/* One byte is a packet, too. */
	say(conns[1], "!", 1);
	m0_sim_run_ms(&sim, 10);
	nodes[1].s_io->sts_ops->sto_unlisten(nodes[1].s_io, &listener);
	down();
	assert_int_equal(pcap_load(&pcap, path), 0);
	assert_int_equal(pcap.pc_streams_nr, 1);
	assert_int_equal(pcap.pc_lost_bytes + pcap.pc_strays_nr, 0);
	assert_int_equal(pcap.pc_streams[0].ps_end[PCAP_LISTENER].pe_port,
			 PORT);
	assert_int_equal(pcap.pc_streams[0].ps_said[0].pcb_nr, sizeof bytes);
	assert_memory_equal(pcap.pc_streams[0].ps_said[0].pcb_bytes, bytes,
			    sizeof bytes);
	assert_memory_equal(pcap.pc_streams[0].ps_said[1].pcb_bytes, "pong!",
			    5);
	pcap_free(&pcap);
	(void)unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dial_meets_listener),
		cmocka_unit_test(ports_are_taken_downwards),
		cmocka_unit_test(dial_fails_as_networks_do),
		cmocka_unit_test(cut_one_way_lets_the_other_through),
		cmocka_unit_test(dial_into_cut_waits),
		cmocka_unit_test(listen_fails_as_systems_do),
		cmocka_unit_test(pause_holds_bytes),
		cmocka_unit_test(hangup_inside_is_allowed),
		cmocka_unit_test(host_restarted_resets_old_streams),
		cmocka_unit_test(raw_ends_speak_bytes),
		cmocka_unit_test(raw_mute_fills_window),
		cmocka_unit_test(ifaces_are_the_hosts),
		cmocka_unit_test(record_is_read_again),
	};

	return cmocka_run_group_tests_name("sim-io", tests, NULL, NULL);
}
