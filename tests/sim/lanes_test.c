/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A node with lanes, and clients that put to it and get from it: how its rate grows with
 * the number of lanes, if moving bytes is all that takes time; and that the bytes are right
 * whatever the scheduler draws, also when a client is killed in the middle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "m0/lnet.h"
#include "m0/lnet_info.h"
#include "m0/lnet_run.h"
#include "m0/net.h"
#include "m0/log.h"
#include "m0/sim.h"
#include "m0/sim_net.h"

enum {
	PORTAL = 30,
	CLIENTS_NR = 8,
	FLIGHT = 4,
	/** Messages of each client. */
	MSGS_NR = 64,
	BYTES = 1 << 20,
	PLACES_NR = CLIENTS_NR * FLIGHT,
	SEEDS_NR = 20
};

/** Bytes per second of one strand. */
#define COPY_RATE 5000000000ULL
#define BOUND_NS  (60 * M0_TIME_ONE_SECOND)

struct client {
	struct m0_sim_host *c_host;
	struct m0_lnet     *c_lnet;
	struct m0_lnet_eq   c_eq;
	unsigned            c_nr;
	unsigned            c_begun_nr;
	unsigned            c_ended_nr;
	unsigned            c_failed_nr;
	char               *c_mem;
	void               *c_buf[FLIGHT];
	m0_bcount_t         c_bytes[FLIGHT];
	struct m0_bufvec    c_vec[FLIGHT];
};

static struct m0_sim         sim;
static struct m0_lnet       *server;
static struct m0_lnet_eq     server_eq;
static struct m0_lnet_handle server_md;
static char                 *server_mem;
static unsigned              server_ended_nr;
static struct client         clients[CLIENTS_NR];
static bool                  gets;
static bool                  checks;
static unsigned              msgs_nr;

/* -- data ------------------------------------------------------------------ */

static char byte_of(unsigned place, size_t i)
{
	return (char)(place * 31 + i * 7 + (i >> 10));
}

static void fill(char *at, unsigned place)
{
	size_t i;

	for (i = 0; checks && i < BYTES; ++i)
		at[i] = byte_of(place, i);
}

static void look(const char *at, unsigned place)
{
	size_t i;

	for (i = 0; checks && i < BYTES; ++i)
		if (at[i] != byte_of(place, i))
			m0_sim_fail(&sim, "place %u: byte %zu is wrong", place,
				    i);
}

/* -- clients --------------------------------------------------------------- */

static void move(struct client *c, unsigned slot)
{
	unsigned          place = c->c_nr * FLIGHT + slot;
	struct m0_lnet_op op = {
		.lo_self = m0_lnet_nid_any,
		.lo_portal = PORTAL,
		.lo_ack = !gets,
		.lo_offset = place * BYTES,
	};
	struct m0_lnet_md_attr md = {
		.mda_vec = &c->c_vec[slot],
		.mda_length = BYTES,
		.mda_threshold = 2,
		.mda_auto_unlink = true,
		.mda_eq = &c->c_eq,
		.mda_user = &c->c_buf[slot],
	};
	struct m0_lnet_handle handle;
	int                   rc;

	++c->c_begun_nr;
	if (!gets)
		fill(c->c_buf[slot], place);
	rc = m0_lnet_nid_parse(&op.lo_target.lp_nid, "10.0.0.1@tcp");
	op.lo_target.lp_pid = M0_LNET_PID_LUSTRE;
	if (rc == 0)
		rc = gets ? m0_lnet_bind_get(c->c_lnet, &md, &op, &handle)
			  : m0_lnet_bind_put(c->c_lnet, &md, &op, &handle);
	assert_int_equal(rc, 0);
}

static void client_told(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	struct client *c = eq->eq_user;
	unsigned       slot = (unsigned)((void **)ev->ev_md_user - c->c_buf);

	c->c_failed_nr += ev->ev_status != 0;
	if (ev->ev_status == 0 && ev->ev_type == M0_LNET_EV_REPLY)
		look(c->c_buf[slot], c->c_nr * FLIGHT + slot);
	if (!ev->ev_unlinked)
		return;
	++c->c_ended_nr;
	if (c->c_begun_nr < msgs_nr && c->c_failed_nr == 0)
		move(c, slot);
}

static bool are_over(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < CLIENTS_NR; ++i)
		if (!m0_sim_host_is_down(clients[i].c_host) &&
		    clients[i].c_ended_nr < msgs_nr)
			return false;
	return true;
}

/* -- nodes ----------------------------------------------------------------- */

static void server_told(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	(void)eq;
	if (ev->ev_type == M0_LNET_EV_PUT && ev->ev_status == 0)
		look(server_mem + ev->ev_offset,
		     (unsigned)(ev->ev_offset / BYTES));
	server_ended_nr += ev->ev_unlinked;
}

static struct m0_sim_host *node_open(struct m0_lnet **ret, const char *addr,
				     unsigned lanes)
{
	static struct m0_lnet_cfg cfg;
	struct m0_sim_host       *host = m0_sim_host_add("node", addr);
	char                      why[M0_LNET_WHY_BYTES];
	char                      text[32];

	m0_sim_host_use(host);
	m0_lnet_cfg_default(&cfg);
	(void)snprintf(text, sizeof text, "tcp(%s)", addr);
	assert_int_equal(m0_lnet_cfg_networks(&cfg, text, why), 0);
	cfg.lc_lanes = lanes;
	assert_int_equal(m0_lnet_open(ret, &cfg, why), 0);
	m0_sim_host_use(NULL);
	return host;
}

static void server_up(unsigned lanes)
{
	static const m0_bcount_t     bytes = (m0_bcount_t)PLACES_NR * BYTES;
	static m0_bcount_t           count;
	static void                 *addr;
	static struct m0_bufvec      vec;
	const struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
	};
	struct m0_lnet_md_attr md = {
		.mda_length = bytes,
		.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
		.mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET |
			       M0_LNET_MD_MANAGE_REMOTE,
	};
	struct m0_lnet_handle handle;
	unsigned              i;

	(void)node_open(&server, "10.0.0.1", lanes);
	m0_lnet_eq_init(&server_eq, server, server_told, 0);
	server_ended_nr = 0;
	server_mem = m0_alloc_aligned(bytes, 12);
	assert_non_null(server_mem);
	for (i = 0; i < PLACES_NR; ++i)
		fill(server_mem + (size_t)i * BYTES, i);
	addr = server_mem;
	count = bytes;
	vec = (struct m0_bufvec){ { 1, &count }, &addr };
	md.mda_vec = &vec;
	md.mda_eq = &server_eq;
	assert_int_equal(m0_lnet_me_attach(server, &me, &handle), 0);
	assert_int_equal(m0_lnet_md_attach(server, handle, &md, &server_md), 0);
}

static void client_up(struct client *c, unsigned nr)
{
	char     addr[16];
	unsigned i;

	*c = (struct client){ .c_nr = nr };
	(void)snprintf(addr, sizeof addr, "10.0.0.%u", 2 + nr);
	c->c_host = node_open(&c->c_lnet, addr, 0);
	m0_lnet_eq_init(&c->c_eq, c->c_lnet, client_told, 0);
	c->c_eq.eq_user = c;
	c->c_mem = m0_alloc_aligned(FLIGHT * BYTES, 12);
	assert_non_null(c->c_mem);
	for (i = 0; i < FLIGHT; ++i) {
		c->c_buf[i] = c->c_mem + (size_t)i * BYTES;
		c->c_bytes[i] = BYTES;
		c->c_vec[i] = (struct m0_bufvec){ { 1, &c->c_bytes[i] },
						  &c->c_buf[i] };
	}
}

static void up(uint64_t seed, const struct m0_sim_cfg *cfg, unsigned lanes,
	       const struct m0_sim_stream_cfg *wire, uint64_t rate)
{
	unsigned i;

	m0_log_level_set(M0_LOG_FATAL);
	m0_sim_init_cfg(&sim, seed, cfg);
	m0_sim_net_init(&sim, wire);
	m0_sim_net_copy_rate(rate);
	server_up(lanes);
	for (i = 0; i < CLIENTS_NR; ++i)
		client_up(&clients[i], i);
}

static uint64_t lane_bytes(void)
{
	struct m0_lnet_info *info;
	uint64_t             sum = 0;
	unsigned             i;

	assert_int_equal(m0_lnet_info_get(server, &info), 0);
	for (i = 0; i < info->li_nis_nr; ++i)
		sum += info->li_nis[i].nii_lnd.ldi_lane_bytes;
	m0_lnet_info_free(info);
	return sum;
}

static bool server_is_over(void *arg)
{
	(void)arg;
	return server_ended_nr > 0;
}

static void down(void)
{
	unsigned i;

	(void)m0_lnet_md_unlink(server, server_md);
	for (i = 0; i < CLIENTS_NR; ++i) {
		m0_lnet_close(clients[i].c_lnet);
		m0_lnet_eq_fini(&clients[i].c_eq);
		m0_free_aligned(clients[i].c_mem, FLIGHT * BYTES, 12);
	}
	assert_true(m0_sim_run_until(&sim, server_is_over, NULL, BOUND_NS));
	m0_lnet_close(server);
	m0_lnet_eq_fini(&server_eq);
	m0_free_aligned(server_mem, (size_t)PLACES_NR * BYTES, 12);
	m0_sim_net_fini();
	m0_sim_fini(&sim);
}

static void begin(void)
{
	unsigned i;
	unsigned k;

	for (i = 0; i < CLIENTS_NR; ++i)
		for (k = 0; k < FLIGHT && k < msgs_nr; ++k)
			move(&clients[i], k);
}

/* -- tests ----------------------------------------------------------------- */

/* Bytes per second of virtual time, by 1e9. */
static double rate_of(unsigned lanes)
{
	static const struct m0_sim_stream_cfg wire = {
		.ssc_latency_ns = 10 * 1000,
		.ssc_window_bytes = 4 << 20,
	};
	m0_time_t since;
	double    ns;

	msgs_nr = MSGS_NR;
	up(1, &m0_sim_cfg_calm, lanes, &wire, COPY_RATE);
	since = m0_sim_now(&sim);
	begin();
	assert_true(m0_sim_run_until(&sim, are_over, NULL, BOUND_NS));
	ns = (double)(m0_sim_now(&sim) - since);
	if (lanes > 1)
		assert_true(lane_bytes() >
			    (uint64_t)CLIENTS_NR * MSGS_NR * BYTES * 9 / 10);
	else
		assert_int_equal(lane_bytes(), 0);
	down();
	return (double)CLIENTS_NR * MSGS_NR * BYTES / ns;
}

/* Each lane adds its rate; the strand, which has to decide, does not hold them up. */
static void rate_grows_with_lanes(void **state)
{
	unsigned lanes;
	double   one;
	double   rate;

	(void)state;
	checks = false;
	for (gets = false;; gets = true) {
		one = rate_of(1);
		print_message("%s, 1 lane: %.1f GB/s\n", gets ? "get" : "put",
			      one);
		for (lanes = 2; lanes <= 8; lanes *= 2) {
			rate = rate_of(lanes);
			print_message("%s, %u lanes: %.1f GB/s, %.2f\n",
				      gets ? "get" : "put", lanes, rate,
				      rate / one);
			assert_true(rate > 0.75 * lanes * one);
		}
		if (gets)
			break;
	}
}

/* Pieces, windows and moments at random; a client may die. */
static void bytes_are_right(void **state)
{
	/* Rounds in which a client died with PUTs, and with GETs, of its own. */
	unsigned died_nr[2] = {};
	uint64_t seed;

	(void)state;
	checks = true;
	for (seed = 1; seed <= SEEDS_NR; ++seed) {
		const struct m0_sim_stream_cfg wire = {
			.ssc_latency_ns = 1000ULL << seed % 10,
			.ssc_rate_bytes = seed % 3 == 0 ? 400000000 : 0,
			.ssc_window_bytes = 65536ULL << seed % 6,
			.ssc_piece_bytes_max = 4096ULL << seed % 7,
		};

		gets = seed / 4 % 2 == 0;
		msgs_nr = 6;
		up(seed, &m0_sim_cfg_wild, 2 + (unsigned)seed % 3, &wire,
		   seed % 2 == 0 ? 0 : COPY_RATE);
		begin();
		if (seed % 4 == 1) {
			const struct client *c = &clients[seed % CLIENTS_NR];

			m0_sim_run_ms(&sim, seed % 3);
			died_nr[gets] += c->c_ended_nr < c->c_begun_nr;
			m0_sim_host_kill(c->c_host);
		}
		assert_true(m0_sim_run_until(&sim, are_over, NULL, BOUND_NS));
		assert_true(lane_bytes() > 0);
		down();
	}
	assert_true(died_nr[false] > 0);
	assert_true(died_nr[true] > 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_grows_with_lanes),
		cmocka_unit_test(bytes_are_right),
	};
	int rc;

	if (m0_net_init() != 0)
		return 1;
	rc = cmocka_run_group_tests_name("sim/lanes", tests, NULL, NULL);
	(void)m0_net_fini();
	return rc;
}
