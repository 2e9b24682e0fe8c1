/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Nodes with several NIDs: on one network, on two, over IPv6. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

#include "lnet/real_case.h"

enum {
	BYTES = 100000
};

static unsigned char source[BYTES];
static unsigned char sink[BYTES];

static void node_open(struct real_node *node, const char *networks, bool inl)
{
	struct m0_lnet_cfg cfg;
	char               why[M0_LNET_WHY_BYTES];

	real_cfg(&cfg, 1);
	cfg.lc_nets_nr = 0;
	cfg.lc_inline = inl;
	cfg.lc_peers_colibri = true;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, networks, why), 0);
	real_node_open(node, &cfg);
}

static void both_open(const char *a, const char *b, enum real_mode mode)
{
	M0_SET0(&re);
	re.re_mode = mode;
	node_open(&re.re_a, a, mode == REAL_INLINE);
	node_open(&re.re_b, b, mode != REAL_THREADS);
}

/* The node's i-th NID that is not 0@lo. */
static bool nid_get(struct real_node *node, unsigned i, struct m0_lnet_nid *nid)
{
	struct m0_lnet_process_id id;

	if (m0_lnet_get_id(node->rn_lnet, i + 1, &id) != 0)
		return false;
	*nid = id.lp_nid;
	return true;
}

static void probe_run(struct real_node *node, enum m0_lnet_probe_kind kind,
		      const struct m0_lnet_nid *nid,
		      struct m0_lnet_probe     *probe)
{
	M0_SET0(probe);
	probe->pr_kind = kind;
	probe->pr_nid = *nid;
	probe->pr_self = m0_lnet_nid_any;
	(void)real_probe(&re, node, probe);
}

/* A PUT to one NID, from any or a given one. */
static void put_to(struct real_node *from, struct real_node *to,
		   const struct m0_lnet_nid *nid,
		   const struct m0_lnet_nid *self, struct m0_lnet_event *ev)
{
	static struct real_vec vec;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op = real_op(to, 1);
	struct m0_lnet_handle  md;
	struct m0_lnet_event   own;

	if (vec.rv_counts == NULL)
		real_vec_init(&vec, source, BYTES, 30000);
	attr = real_md(&vec, BYTES, 0, &from->rn_eq);
	attr.mda_threshold = 2;
	attr.mda_auto_unlink = true;
	md = real_bind(from, &attr);
	op.lo_target.lp_nid = *nid;
	op.lo_self = *self;
	op.lo_ack = true;
	assert_int_equal(m0_lnet_put(from->rn_lnet, md, &op), 0);
	real_expect(&re, to, M0_LNET_EV_PUT, 0, ev);
	do {
		real_event(&re, from, &own);
		assert_int_equal(own.ev_status, 0);
	} while (!own.ev_unlinked);
	assert_memory_equal(sink, source, BYTES);
	memset(sink, 0, BYTES);
}

static void target_attach(struct real_node *node)
{
	static struct real_vec vec;
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_md_attr attr;

	if (vec.rv_counts == NULL)
		real_vec_init(&vec, sink, BYTES, BYTES);
	attr = real_md(&vec, BYTES,
		       M0_LNET_MD_OP_PUT | M0_LNET_MD_MANAGE_REMOTE,
		       &node->rn_eq);
	(void)real_attach(node, &me, &attr, NULL);
}

/* Discovers, then sends both ways to every NID from any and from every one. */
static void all_ways(void)
{
	struct m0_lnet_probe probe;
	struct m0_lnet_nid   to;
	struct m0_lnet_nid   from;
	struct m0_lnet_event ev;
	unsigned             i;
	unsigned             j;

	real_fill(source, BYTES, 9);
	target_attach(&re.re_b);
	for (i = 0; nid_get(&re.re_b, i, &to); ++i) {
		put_to(&re.re_a, &re.re_b, &to, &m0_lnet_nid_any, &ev);
		probe_run(&re.re_a, M0_LNET_PING, &to, &probe);
		assert_int_equal(probe.pr_status, 0);
		probe_run(&re.re_a, M0_LNET_DISCOVER, &to, &probe);
		assert_int_equal(probe.pr_status, 0);
		assert_true(m0_lnet_nid_eq(&probe.pr_primary, &re.re_b.rn_nid));
		for (j = 0; nid_get(&re.re_a, j, &from); ++j) {
			if (m0_lnet_nid_net(&from) != m0_lnet_nid_net(&to) ||
			    from.ln_size != to.ln_size)
				continue;
			put_to(&re.re_a, &re.re_b, &to, &from, &ev);
			/* Known by its first NID whichever it uses. */
			assert_true(m0_lnet_nid_eq(&ev.ev_initiator.lp_nid,
						   &re.re_a.rn_nid));
		}
	}
	assert_true(i > 0);
}

static void two_nids_on_one_network(void **state)
{
	both_open("tcp(127.0.0.1,127.0.0.3)", "tcp(127.0.0.2,127.0.0.4)",
		  real_mode_of(state));
	all_ways();
	real_close(&re);
}

static void two_networks(void **state)
{
	both_open("tcp(127.0.0.1),tcp4(127.0.0.1)",
		  "tcp4(127.0.0.2),tcp(127.0.0.2)", real_mode_of(state));
	all_ways();
	real_close(&re);
}

/* An entry for one NID of a peer takes what comes from another one of it. */
static void entry_matches_by_primary_nid(void **state)
{
	struct m0_lnet_me_attr me = real_me(5);
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op;
	struct m0_lnet_handle  md;
	struct m0_lnet_event   ev;
	struct m0_lnet_probe   probe;
	struct m0_lnet_nid     second;

	both_open("tcp(127.0.0.1,127.0.0.3)", "tcp(127.0.0.2)",
		  real_mode_of(state));
	assert_true(nid_get(&re.re_a, 1, &second));
	probe_run(&re.re_b, M0_LNET_DISCOVER, &second, &probe);
	assert_int_equal(probe.pr_status, 0);
	assert_int_equal(probe.pr_nids_nr, 2);
	me.mea_id =
		(struct m0_lnet_process_id){ re.re_a.rn_nid, M0_LNET_PID_ANY };
	attr = real_md(NULL, 0, M0_LNET_MD_OP_PUT, &re.re_b.rn_eq);
	(void)real_attach(&re.re_b, &me, &attr, NULL);
	attr = real_md(NULL, 0, 0, &re.re_a.rn_cb);
	md = real_bind(&re.re_a, &attr);
	op = real_op(&re.re_b, 5);
	op.lo_self = second;
	assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op), 0);
	real_expect(&re, &re.re_b, M0_LNET_EV_PUT, 0, &ev);
	assert_true(m0_lnet_nid_eq(&ev.ev_source.lp_nid, &second));
	assert_true(m0_lnet_nid_eq(&ev.ev_initiator.lp_nid, &re.re_a.rn_nid));
	real_close(&re);
}

/* An IPv6 address of this machine that can be known, but ::1. */
static bool six_find(char text[INET6_ADDRSTRLEN])
{
	const struct sockaddr_in6 *six;
	struct ifaddrs            *list;
	struct ifaddrs            *at;
	bool                       found = false;

	if (getifaddrs(&list) != 0)
		return false;
	for (at = list; at != NULL && !found; at = at->ifa_next) {
		six = (const void *)at->ifa_addr;
		if (six == NULL || six->sin6_family != AF_INET6 ||
		    (at->ifa_flags & (IFF_UP | IFF_LOOPBACK)) != IFF_UP ||
		    IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr))
			continue;
		found = inet_ntop(AF_INET6, &six->sin6_addr, text,
				  INET6_ADDRSTRLEN) != NULL;
	}
	freeifaddrs(list);
	return found;
}

static void ipv6_and_mixed(void **state)
{
	char six[INET6_ADDRSTRLEN];
	char text[128];

	if (!six_find(six)) {
		print_message("no second IPv6 address: skipped\n");
		skip();
	}
	snprintf(text, sizeof text, "tcp(%s)", six);
	both_open("tcp(::1)", text, real_mode_of(state));
	all_ways();
	real_close(&re);
	snprintf(text, sizeof text, "tcp(%s,127.0.0.2)", six);
	both_open("tcp(127.0.0.1,::1)", text, real_mode_of(state));
	all_ways();
	real_close(&re);
}

/* -- tunables of networks -------------------------------------------------- */

enum {
	PUTS = 10
};

static const struct m0_lnet_ni_info *ni_at(const struct m0_lnet_info *info,
					   unsigned                   i)
{
	assert_true(i < info->li_nis_nr);
	return &info->li_nis[i];
}

/* The node's record of the peer NI with this NID. */
static const struct m0_lnet_peer_ni_info *peer_ni(
	const struct m0_lnet_info *info, const struct m0_lnet_nid *nid)
{
	unsigned i;
	unsigned j;

	for (i = 0; i < info->li_peers_nr; ++i)
		for (j = 0; j < info->li_peers[i].pei_nis_nr; ++j)
			if (m0_lnet_nid_eq(
				    &info->li_peers[i].pei_nis[j].pni_nid, nid))
				return &info->li_peers[i].pei_nis[j];
	fail();
	return NULL;
}

static void puts_to(const struct m0_lnet_nid *nid)
{
	struct m0_lnet_md_attr attr = real_md(NULL, 0, 0, &re.re_a.rn_eq);
	struct m0_lnet_op      op = real_op(&re.re_b, 1);
	struct m0_lnet_handle  md;
	int                    i;

	attr.mda_threshold = PUTS;
	attr.mda_auto_unlink = true;
	md = real_bind(&re.re_a, &attr);
	op.lo_target.lp_nid = *nid;
	for (i = 0; i < PUTS; ++i)
		assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op), 0);
}

static void puts_arrive(void)
{
	struct m0_lnet_event ev;
	int                  i;

	for (i = 0; i < 2 * PUTS; ++i) {
		real_expect(&re, &re.re_b, M0_LNET_EV_PUT, 0, &ev);
		assert_int_equal(ev.ev_status, 0);
	}
}

/*
 * Each network has its own tunables, or those of the node. The peer does not
 * answer HELLO, so that messages beyond the credits of a network wait in the
 * engine.
 */
static void networks_have_their_own_tunables(void **state)
{
	struct m0_lnet_cfg                 cfg;
	struct m0_lnet_info               *info;
	const struct m0_lnet_ni_info      *ni;
	const struct m0_lnet_peer_ni_info *peer;
	struct m0_lnet_nid                 nids[2];
	char                               why[M0_LNET_WHY_BYTES];

	(void)state;
	M0_SET0(&re);
	re.re_mode = REAL_INLINE;
	real_cfg(&cfg, 1);
	cfg.lc_nets_nr = 0;
	cfg.lc_inline = true;
	cfg.lc_discovery = false;
	cfg.lc_peer_credits = 5;
	assert_int_equal(m0_lnet_cfg_networks(
				 &cfg,
				 "tcp(127.0.0.1) peer_credits=2 credits=30 "
				 "conns_per_peer=3 timeout=7 peer_timeout=90 "
				 "peer_buffer_credits=4,"
				 "tcp4(127.0.0.1)",
				 why),
			 0);
	real_node_open(&re.re_a, &cfg);
	node_open(&re.re_b, "tcp(127.0.0.2),tcp4(127.0.0.2)", true);
	target_attach(&re.re_b);
	assert_true(nid_get(&re.re_b, 0, &nids[0]));
	assert_true(nid_get(&re.re_b, 1, &nids[1]));
	puts_to(&nids[0]);
	puts_to(&nids[1]);
	m0_lnet_progress(re.re_a.rn_lnet);
	assert_int_equal(m0_lnet_info_get(re.re_a.rn_lnet, &info), 0);
	assert_int_equal(ni_at(info, 0)->nii_peer_timeout_s, 0);
	assert_int_equal(ni_at(info, 0)->nii_conns_per_peer, 0);
	ni = ni_at(info, 1);
	assert_int_equal(ni->nii_peer_credits, 2);
	assert_int_equal(ni->nii_credits, 30);
	assert_int_equal(ni->nii_credits_free, 28);
	assert_int_equal(ni->nii_conns_per_peer, 3);
	assert_int_equal(ni->nii_timeout_ms, 7000);
	assert_int_equal(ni->nii_peer_timeout_s, 90);
	assert_int_equal(ni->nii_peer_buffer_credits, 4);
	ni = ni_at(info, 2);
	assert_int_equal(ni->nii_peer_credits, 5);
	assert_int_equal(ni->nii_credits, 256);
	assert_int_equal(ni->nii_credits_free, 251);
	assert_int_equal(ni->nii_conns_per_peer, 1);
	assert_int_equal(ni->nii_timeout_ms, cfg.lc_timeout_ms);
	assert_int_equal(ni->nii_peer_timeout_s, 180);
	assert_int_equal(ni->nii_peer_buffer_credits, 0);
	peer = peer_ni(info, &nids[0]);
	assert_int_equal(peer->pni_credits_max, 2);
	assert_int_equal(peer->pni_credits_free, 2 - PUTS);
	peer = peer_ni(info, &nids[1]);
	assert_int_equal(peer->pni_credits_max, 5);
	assert_int_equal(peer->pni_credits_free, 5 - PUTS);
	m0_lnet_info_free(info);
	puts_arrive();
	real_close(&re);
}

static int teardown(void **state)
{
	(void)state;
	/* After a failure. */
	real_close(&re);
	return 0;
}

int main(void)
{
#define CASE(name) REAL_ALL(name, NULL, teardown)
	const struct CMUnitTest tests[] = {
		CASE(two_nids_on_one_network),
		CASE(two_networks),
		CASE(entry_matches_by_primary_nid),
		CASE(ipv6_and_mixed),
		cmocka_unit_test_setup_teardown(
			networks_have_their_own_tunables, NULL, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
