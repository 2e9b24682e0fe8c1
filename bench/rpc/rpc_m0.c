/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "m0/xlnet.h"
#include "rpc_m0.h"

enum {
	TEXT_BYTES = 80,
	TMID = 5,
	/** Receive buffers with formation off: as many packets may come at
	 * once, and one that finds none is lost and comes again late. */
	QUEUE_LEN = 128
};

void rpc_m0_must(int rc, const char *what)
{
	if (rc != 0)
		bench_die("%s: %s", what, m0_errname(rc));
}

static void address(int side, char *ret)
{
	snprintf(ret, TEXT_BYTES, "127.0.0.%d@tcp:%d:%d:%d", 1 + side,
		 M0_NET_LNET_PID, M0_NET_LNET_PORTAL, TMID);
}

static void rpc_prepare(void *arg)
{
	(void)arg;
}

static void rpc_open(void *arg, int side)
{
	struct rpc_m0    *r = arg;
	struct rpc_side  *s = aligned_alloc(128, (sizeof(*s) + 127) & ~127UL);
	struct m0_rpc_cfg cfg;
	char              text[TEXT_BYTES];

	if (s == NULL)
		bench_die("no memory");
	memset(s, 0, sizeof(*s));
	m0_rpc_cfg_init(&cfg);
	cfg.rc_inline = true;
	cfg.rc_formation_off = r->r_formation_off;
	address(side, text);
	rpc_m0_must(m0_net_domain_init(&s->rs_dom, &m0_lnet_xprt), "domain");
	rpc_m0_must(m0_rpc_machine_init(&s->rs_machine, &s->rs_dom, &cfg, text,
					NULL, M0_BUFFER_ANY_COLOUR, 0,
					r->r_formation_off ? QUEUE_LEN : 0),
		    "machine");
	r->r_side[side] = s;
}

/* Polls until the state is there, or some later one. */
static void reach(struct rpc_m0 *r, const uint32_t *state, uint32_t want,
		  const char *what)
{
	while (__atomic_load_n(state, __ATOMIC_ACQUIRE) < want)
		rpc_m0_turn(r);
	if (*state != want)
		bench_die("%s: state %u", what, *state);
}

void rpc_m0_meet(struct rpc_m0 *r)
{
	struct rpc_side  *s = r->r_side[0];
	struct m0_uint128 none = { 0 };
	char              text[TEXT_BYTES];

	if (s->rs_met)
		return;
	address(1, text);
	rpc_m0_must(m0_rpc_conn_init(&s->rs_conn, none, text, &s->rs_machine,
				     0),
		    "connection");
	rpc_m0_must(m0_rpc_conn_establish(&s->rs_conn, M0_TIME_NEVER),
		    "establish");
	reach(r, &s->rs_conn.c_state, M0_RPC_CONN_ACTIVE, "connection");
	rpc_m0_must(m0_rpc_session_init(&s->rs_session, &s->rs_conn),
		    "session");
	rpc_m0_must(m0_rpc_session_establish(&s->rs_session, M0_TIME_NEVER),
		    "establish");
	reach(r, &s->rs_session.s_state, M0_RPC_SESSION_IDLE, "session");
	s->rs_met = true;
}

/* The other side does not serve any more: what it was told is of no use. */
static void part(struct rpc_side *s)
{
	m0_time_t soon = m0_time_from_now(0, 1000000);

	(void)m0_rpc_session_destroy(&s->rs_session, soon);
	(void)m0_rpc_conn_destroy(&s->rs_conn, soon);
}

static void rpc_close(void *arg, int side)
{
	struct rpc_m0   *r = arg;
	struct rpc_side *s = r->r_side[side];

	if (s->rs_met)
		part(s);
	m0_rpc_machine_fini(&s->rs_machine);
	rpc_m0_must(m0_net_domain_fini(&s->rs_dom), "domain's end");
	free(s);
}

struct world_play rpc_m0_play(struct rpc_m0 *r)
{
	return (struct world_play){
		.wp_prepare = &rpc_prepare,
		.wp_open = &rpc_open,
		.wp_close = &rpc_close,
		.wp_arg = r,
	};
}
