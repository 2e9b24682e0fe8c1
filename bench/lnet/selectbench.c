/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Instructions that the choice of a path takes, for counters: nodes with so many
 * NIs, a peer with so many NIDs, and so many gateways on the way to it. The engine
 * alone, with a driver that sends nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/bench.h"
#include "lnet/engine.h"
#include "m0/lnet_udsp.h"

static const char usage[] =
	"selectbench do put NIS NIDS GATEWAYS CHANGES FLIGHT RULES NR\n"
	"PUTs from the call to the event: callgrind --toggle-collect=bench_counted;\n"
	"the choice of a path alone: ...=m0_lnet__select\n"
	"GATEWAYS 0: the peer is on the network of the NIs. CHANGES 1: the topology\n"
	"changes before each message. FLIGHT: messages that the driver holds. RULES:\n"
	"rules of selection, the first of which matters to all paths.\n";

enum {
	FLIGHT_MAX = 1024,
	NIDS_MAX = 32
};

struct world {
	struct m0_lnet_engine *wo_engine;
	struct m0_lnd_ni      *wo_ni;
	struct m0_lnet_nid     wo_nid;
	struct m0_lnet_md      wo_md;
	struct m0_lnet_event   wo_event[2];
	struct m0_lnet_msg    *wo_pool[FLIGHT_MAX + 1];
	unsigned               wo_pool_nr;
	/** Messages at the driver, a ring. */
	struct m0_lnd_tx *wo_tx[FLIGHT_MAX];
	unsigned          wo_tx_at;
	unsigned          wo_tx_nr;
	unsigned          wo_flight;
	bool              wo_changes;
	int               wo_status;
};

static struct world wo;

static void check(bool ok, const char *what)
{
	if (!ok)
		bench_die("%s", what);
}

/* ------------------------------------------------------ owner and driver -- */

static struct m0_lnet_msg *msg_get(void *owner)
{
	(void)owner;
	return NULL;
}

static void msg_put(void *owner, struct m0_lnet_msg *msg)
{
	(void)owner;
	wo.wo_pool[wo.wo_pool_nr++] = msg;
}

static void event(void *owner, struct m0_lnet_md *md, struct m0_lnet_event *ev,
		  struct m0_lnet_msg *msg)
{
	(void)owner;
	(void)md;
	(void)msg;
	wo.wo_status |= ev->ev_status;
}

static bool eq_room(void *owner, uint32_t eq)
{
	(void)owner;
	(void)eq;
	return true;
}

static bool is_behind(void *owner, uint64_t *mark)
{
	(void)owner;
	(void)mark;
	return false;
}

static void me_gone(void *owner, struct m0_lnet_me *me)
{
	(void)owner;
	(void)me;
}

static const struct m0_lnet_owner_ops owner_ops = {
	.ho_msg_get = msg_get,
	.ho_msg_put = msg_put,
	.ho_event = event,
	.ho_eq_room = eq_room,
	.ho_is_behind = is_behind,
	.ho_me_gone = me_gone,
};

static void xmit(struct m0_lnd_ni *ni, struct m0_lnd_tx *tx)
{
	(void)ni;
	wo.wo_tx[(wo.wo_tx_at + wo.wo_tx_nr++) % FLIGHT_MAX] = tx;
}

static const struct m0_lnd_ops lnd_ops = { .ldo_name = "none",
					   .ldo_xmit = xmit };
static struct m0_lnd           lnd = { &lnd_ops };

/* ------------------------------------------------------------------- world -- */

static struct m0_lnet_nid nid(unsigned net, unsigned i)
{
	struct m0_lnet_nid ret;
	char               text[64];

	snprintf(text, sizeof(text), "10.%u.%u.%u@tcp%u", net, i / 200,
		 1 + i % 200, net);
	check(m0_lnet_nid_parse(&ret, text) == 0, text);
	return ret;
}

static void nis_add(unsigned nr)
{
	struct m0_lnet_nid self;
	struct m0_lnd_ni  *ni;

	for (unsigned i = 0; i < nr; i++) {
		self = nid(0, i);
		check(m0_lnet_engine_ni_add(wo.wo_engine, &self, "", 1, &lnd,
					    &ni) == 0,
		      "interface");
		ni->ldn_up = true;
		m0_lnet_engine_ni_up(wo.wo_engine, ni);
		wo.wo_ni = ni;
	}
}

/** Adds rules: priorities of NIDs of another network, after one for all NIDs of the
 * network of the NIs. There are no peers yet, to which they are applied. */
static void rules_add(unsigned nr)
{
	struct m0_lnet_udsp_text text = { .lut_priority = "1" };
	struct m0_lnet_udsp      udsp;
	struct m0_lnet_nid       dst;
	char                     nidstr[M0_LNET_NIDSTR_SIZE];
	char                     why[M0_LNET_WHY_BYTES];

	for (unsigned i = 0; i < nr; i++) {
		dst = nid(2, i);
		text.lut_dst =
			i == 0 ? "tcp"
			       : m0_lnet_nid_print(&dst, nidstr, sizeof nidstr);
		check(m0_lnet_udsp_parse(&udsp, &text, why) == 0, why);
		check(m0_lnet_engine_udsp_add(wo.wo_engine, &udsp) == 0,
		      "rule");
	}
}

static void gateways_add(unsigned nr)
{
	struct m0_lnet_route_attr attr = { .lra_net = 0 };
	struct m0_lnet_nid        far = nid(1, 0);

	attr.lra_net = m0_lnet_nid_net(&far);
	for (unsigned i = 0; i < nr; i++) {
		attr.lra_gateway = nid(0, 1000 + i);
		check(m0_lnet_engine_route_add(wo.wo_engine, &attr) == 0,
		      "route");
	}
}

static void peer_add(unsigned nids_nr, unsigned net)
{
	struct m0_lnet_nid nids[NIDS_MAX];

	check(nids_nr <= NIDS_MAX, usage);
	for (unsigned i = 0; i < nids_nr; i++)
		nids[i] = nid(net, 400 + i);
	check(m0_lnet_engine_peer_add(wo.wo_engine, &nids[0], nids, nids_nr,
				      true) == 0,
	      "peer");
	wo.wo_nid = nids[0];
}

static void world_open(unsigned nis, unsigned nids, unsigned gateways,
		       unsigned rules)
{
	static const struct m0_lnet_engine_cfg cfg = {
		.lec_pid = M0_LNET_PID_LUSTRE,
		.lec_portals_nr = 64,
		.lec_peers_max = 4096,
		.lec_msgs_max = FLIGHT_MAX,
		.lec_peer_credits = 8,
		.lec_credits = 256,
		.lec_transaction_timeout_ns = M0_TIME_ONE_SECOND,
		.lec_cookie = 1,
		.lec_owner_ops = &owner_ops,
	};
	static char             bytes[64];
	static void            *addr = bytes;
	static m0_bcount_t      length = sizeof bytes;
	static struct m0_bufvec vec = M0_BUFVEC_INIT_BUF(&addr, &length);

	check(m0_lnet_engine_create(&wo.wo_engine, &cfg, 1) == 0, "engine");
	nis_add(nis);
	rules_add(rules);
	gateways_add(gateways);
	peer_add(nids, gateways == 0 ? 0 : 1);
	wo.wo_md.md_attr = (struct m0_lnet_md_attr){
		.mda_vec = &vec,
		.mda_length = length,
		.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
	};
	wo.wo_md.md_eq = 1;
	m0_lnet_engine_md_bind(wo.wo_engine, &wo.wo_md);
	while (wo.wo_pool_nr <= FLIGHT_MAX)
		check((wo.wo_pool[wo.wo_pool_nr++] =
			       m0_alloc(sizeof(struct m0_lnet_msg))) != NULL,
		      "memory");
}

/* ------------------------------------------------------------------- counted -- */

static void tx_end(void)
{
	struct m0_lnd_tx *tx = wo.wo_tx[wo.wo_tx_at++ % FLIGHT_MAX];

	wo.wo_tx_at %= FLIGHT_MAX;
	wo.wo_tx_nr--;
	wo.wo_ni->ldn_ops->lu_tx_done(tx, 0, M0_LND_OK);
}

static uint64_t sends(void *arg, uint64_t nr)
{
	struct m0_lnet_msg *msg;

	(void)arg;
	for (uint64_t i = 0; i < nr; i++) {
		if (wo.wo_changes)
			wo.wo_ni->ldn_ops->lu_ni_status(wo.wo_ni);
		msg = wo.wo_pool[--wo.wo_pool_nr];
		memset(msg, 0, sizeof(*msg));
		msg->msg_event[0] = &wo.wo_event[0];
		msg->msg_event[1] = &wo.wo_event[1];
		msg->msg_md = &wo.wo_md;
		msg->msg_op.mop_attr.lo_self = m0_lnet_nid_any;
		msg->msg_op.mop_attr.lo_target.lp_nid = wo.wo_nid;
		msg->msg_op.mop_attr.lo_target.lp_pid = M0_LNET_PID_LUSTRE;
		m0_lnet_engine_put(wo.wo_engine, msg);
		while (wo.wo_tx_nr >= wo.wo_flight)
			tx_end();
	}
	check(wo.wo_status == 0, "a message has failed");
	return nr;
}

int main(int argc, char **argv)
{
	int               at = bench_options(argc, argv, usage);
	struct bench_case one = { .c_name = "one", .c_run = sends };
	uint64_t          nr[7];

	if (at + 9 != argc || strcmp(argv[at], "do") != 0 ||
	    strcmp(argv[at + 1], "put") != 0)
		bench_die("%s", usage);
	for (int i = 0; i < 7; i++)
		nr[i] = strtoull(argv[at + 2 + i], NULL, 0);
	wo.wo_changes = nr[3] != 0;
	wo.wo_flight = (unsigned)nr[4];
	check(nr[4] > 0 && nr[4] <= FLIGHT_MAX, usage);
	world_open((unsigned)nr[0], (unsigned)nr[1], (unsigned)nr[2],
		   (unsigned)nr[5]);
	bench_counted(&one, nr[6]);
	return 0;
}
