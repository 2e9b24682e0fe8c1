/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The LNet engine alone: 64 B PUTs that come in, from the driver's call with
 * the header to the event that was taken. No socket, no thread, no owner but a
 * pool of messages.
 */
#include <stdlib.h>
#include <string.h>

#include "../lib/bench.h"
#include "lnet/engine.h"

static const char usage[] =
	"lnetbench [-t SLICE_S] [-n SLICES] [-c CPU,CPU] TEST\n"
	"  match      10 entries, twice; 1,000 and 100,000, of which the same 10\n"
	"             are used; 100,000\n"
	"  do put NR  that many, untimed, for counters\n";

enum {
	FEW = 10,
	SOME = 1000,
	MANY = 100000,
	HEADERS_NR = 4096,
	PAYLOAD_BYTES = 64,
	POOL_NR = 8
};

struct node {
	struct m0_lnet_engine *no_engine;
	struct m0_lnd_ni      *no_ni;
	struct m0_lnet_me     *no_mes;
	struct m0_lnet_md     *no_mds;
	struct m0_lnet_msg    *no_pool[POOL_NR];
	unsigned               no_pool_nr;
	/** Space of the events of any message. */
	struct m0_lnet_event no_event[2];
	/** Status of the last event. */
	int no_status;
	/** Headers that arrive, used in turns. */
	uint8_t (*no_headers)[M0_LNET_HDR_LARGE_BYTES];
	struct m0_lnd_rx no_rx;
};

/* ------------------------------------------------------ owner and driver -- */

static struct m0_lnet_msg *msg_get(void *owner)
{
	struct node        *no = owner;
	struct m0_lnet_msg *msg = no->no_pool[--no->no_pool_nr];

	memset(msg, 0, sizeof *msg);
	msg->msg_event[0] = &no->no_event[0];
	msg->msg_event[1] = &no->no_event[1];
	return msg;
}

static void msg_put(void *owner, struct m0_lnet_msg *msg)
{
	struct node *no = owner;

	no->no_pool[no->no_pool_nr++] = msg;
}

static void event(void *owner, struct m0_lnet_md *md, struct m0_lnet_event *ev,
		  struct m0_lnet_msg *msg)
{
	struct node *no = owner;

	(void)md;
	(void)msg;
	no->no_status = ev->ev_status;
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
	(void)tx;
}

static const struct m0_lnd_ops lnd_ops = { .ldo_name = "none",
					   .ldo_xmit = xmit };
static struct m0_lnd           lnd = { &lnd_ops };

/* -------------------------------------------------------------------- node -- */

static void check(bool ok, const char *what)
{
	if (!ok)
		bench_die("%s", what);
}

static struct m0_lnet_nid nid(const char *text)
{
	struct m0_lnet_nid ret;

	check(m0_lnet_nid_parse(&ret, text) == 0, text);
	return ret;
}

/** Such as nobody has chosen. */
static uint64_t bits_of(unsigned i)
{
	uint64_t seed = i;

	return m0_rnd64(&seed);
}

static void node_open(struct node *no)
{
	const struct m0_lnet_engine_cfg cfg = {
		.lec_pid = M0_LNET_PID_LUSTRE,
		.lec_portals_nr = 64,
		.lec_peers_max = 64,
		.lec_peer_credits = 8,
		.lec_credits = 256,
		.lec_transaction_timeout_ns = M0_TIME_ONE_SECOND,
		.lec_cookie = 1,
		.lec_owner_ops = &owner_ops,
		.lec_owner = no,
	};
	struct m0_lnet_nid self = nid("10.0.0.1@tcp");

	memset(no, 0, sizeof *no);
	while (no->no_pool_nr < POOL_NR) {
		no->no_pool[no->no_pool_nr] =
			m0_alloc(sizeof(struct m0_lnet_msg));
		check(no->no_pool[no->no_pool_nr++] != NULL, "memory");
	}
	check(m0_lnet_engine_create(&no->no_engine, &cfg, 1) == 0, "engine");
	check(m0_lnet_engine_ni_add(no->no_engine, &self, "", 1, &lnd,
				    &no->no_ni) == 0,
	      "interface");
	no->no_ni->ldn_up = true;
	m0_lnet_engine_ni_up(no->no_engine, no->no_ni);
}

static void entries_add(struct node *no, unsigned nr)
{
	static char             bytes[4096];
	static void            *addr = bytes;
	static m0_bcount_t      length = sizeof bytes;
	static struct m0_bufvec vec = M0_BUFVEC_INIT_BUF(&addr, &length);
	unsigned                i;

	no->no_mes = m0_alloc_arr(nr, sizeof *no->no_mes);
	no->no_mds = m0_alloc_arr(nr, sizeof *no->no_mds);
	check(no->no_mes != NULL && no->no_mds != NULL, "memory");
	for (i = 0; i < nr; ++i) {
		no->no_mes[i].me_attr = (struct m0_lnet_me_attr){
			.mea_portal = 5,
			.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
			.mea_match_bits = bits_of(i),
		};
		no->no_mds[i].md_attr = (struct m0_lnet_md_attr){
			.mda_vec = &vec,
			.mda_length = length,
			.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
			.mda_options = M0_LNET_MD_OP_PUT |
				       M0_LNET_MD_MANAGE_REMOTE,
		};
		no->no_mds[i].md_eq = 1;
		m0_lnet_engine_me_attach(no->no_engine, &no->no_mes[i]);
		m0_lnet_engine_md_attach(no->no_engine, &no->no_mes[i],
					 &no->no_mds[i]);
	}
}

/* For entries `step` apart, of the first `used` * `step`. */
static void headers_make(struct node *no, unsigned used, unsigned step)
{
	struct m0_lnet_hdr hdr = {
		.lhd_dest_nid = no->no_ni->ldn_nid,
		.lhd_src_nid = nid("10.0.0.2@tcp"),
		.lhd_dest_pid = M0_LNET_PID_LUSTRE,
		.lhd_src_pid = M0_LNET_PID_LUSTRE,
		.lhd_type = M0_LNET_PUT,
		.lhd_payload_bytes = PAYLOAD_BYTES,
		.lhd_portal = 5,
	};
	uint64_t seed = 1;
	unsigned i;

	memset(&hdr.lhd_wmd, 0xff, sizeof hdr.lhd_wmd);
	no->no_headers = m0_alloc_arr(HEADERS_NR, sizeof *no->no_headers);
	check(no->no_headers != NULL, "memory");
	for (i = 0; i < HEADERS_NR; ++i) {
		hdr.lhd_match_bits =
			bits_of((unsigned)m0_rnd(used, &seed) * step);
		(void)m0_lnet__hdr_encode(&hdr, false, no->no_headers[i]);
	}
	no->no_rx.lr_nid = hdr.lhd_src_nid;
	no->no_rx.lr_pid = hdr.lhd_src_pid;
}

static struct node *node_make(unsigned entries, unsigned used)
{
	struct node *no = m0_alloc(sizeof *no);

	check(no != NULL, "memory");
	node_open(no);
	entries_add(no, entries);
	headers_make(no, used, entries / used);
	return no;
}

static uint64_t puts_take(void *arg, uint64_t nr)
{
	struct node                *no = arg;
	const struct m0_lnd_up_ops *up = no->no_ni->ldn_ops;
	uint64_t                    i;
	int                         rc = 0;

	for (i = 0; i < nr; ++i) {
		rc |= up->lu_rx_begin(no->no_ni, &no->no_rx,
				      no->no_headers[i % HEADERS_NR], false);
		up->lu_rx_done(&no->no_rx, 0, M0_LND_OK);
		rc |= no->no_status;
	}
	check(rc == 0, "a message was not taken");
	return nr;
}

int main(int argc, char **argv)
{
	int               at = bench_options(argc, argv, usage);
	struct bench_case cases[] = {
		{ .c_name = "few", .c_run = puts_take },
		{ .c_name = "few.again", .c_run = puts_take },
		{ .c_name = "some", .c_run = puts_take },
		{ .c_name = "many", .c_run = puts_take },
		{ .c_name = "many.all", .c_run = puts_take },
	};

	bench_pin(bench_opt.o_cpu[0]);
	cases[0].c_arg = node_make(FEW, FEW);
	if (at + 3 == argc && strcmp(argv[at], "do") == 0 &&
	    strcmp(argv[at + 1], "put") == 0) {
		bench_counted(&cases[0], strtoull(argv[at + 2], NULL, 0));
		return 0;
	}
	if (at + 1 != argc || strcmp(argv[at], "match") != 0)
		bench_die("%s", usage);
	cases[1].c_arg = node_make(FEW, FEW);
	cases[2].c_arg = node_make(SOME, FEW);
	cases[3].c_arg = node_make(MANY, FEW);
	cases[4].c_arg = node_make(MANY, MANY);
	bench_turns(cases, 5);
	return 0;
}
