/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Networks and interfaces that are added and removed while nodes run. */
#include <string.h>

#include "lnet/real_case.h"
#include "m0/lnet_tune.h"

enum {
	PUTS = 6,
	CHANGES = 30
};

static struct m0_lnet_cfg cfg;
static char               why[M0_LNET_WHY_BYTES];

static void node_open(struct real_node *node, const char *networks, bool inl)
{
	real_cfg(&cfg, 1);
	cfg.lc_nets_nr = 0;
	cfg.lc_inline = inl;
	cfg.lc_peers_colibri = true;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, networks, why), 0);
	real_node_open(node, &cfg);
}

static void both_open(enum real_mode mode)
{
	M0_SET0(&re);
	re.re_mode = mode;
	node_open(&re.re_a, "tcp(127.0.0.1)", mode == REAL_INLINE);
	node_open(&re.re_b, "tcp(127.0.0.2)", mode != REAL_THREADS);
}

/* Adds what the text says, of one network. */
static int add(struct real_node *node, const char *network)
{
	real_cfg(&cfg, 1);
	cfg.lc_nets_nr = 0;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, network, why), 0);
	assert_int_equal(cfg.lc_nets_nr, 1);
	why[0] = 0;
	return m0_lnet_net_add(node->rn_lnet, &cfg.lc_nets[0], why);
}

/* @param iface  NULL: the whole network. */
static int del(struct real_node *node, uint16_t num, const char *iface)
{
	struct m0_lnet_net_cfg net = {
		.lnc_net = (uint32_t)M0_LNET_TYPE_TCP << 16 | num,
		.lnc_ifaces_nr = iface != NULL,
	};

	if (iface != NULL)
		snprintf(net.lnc_ifaces[0], sizeof net.lnc_ifaces[0], "%s",
			 iface);
	why[0] = 0;
	return m0_lnet_net_del(node->rn_lnet, &net, why);
}

/* The NIDs of the node are these, `0@lo` apart. */
static void nids_are(struct real_node *node, const char *want)
{
	struct m0_lnet_process_id id;
	char                      nid[M0_LNET_NIDSTR_SIZE];
	char                      text[256] = "";
	size_t                    nr = 0;
	unsigned                  i;

	for (i = 1; m0_lnet_get_id(node->rn_lnet, i, &id) == 0; ++i)
		nr += (size_t)snprintf(
			text + nr, sizeof text - nr, "%s%s", i > 1 ? " " : "",
			m0_lnet_nid_print(&id.lp_nid, nid, sizeof nid));
	assert_string_equal(text, want);
}

static struct m0_lnet_nid nid_of(const char *text)
{
	struct m0_lnet_nid nid;

	assert_int_equal(m0_lnet_nid_parse(&nid, text), 0);
	return nid;
}

static int probe(struct real_node *node, enum m0_lnet_probe_kind kind,
		 const char *nid, struct m0_lnet_probe *ret)
{
	*ret = (struct m0_lnet_probe){
		.pr_kind = kind,
		.pr_nid = nid_of(nid),
		.pr_self = m0_lnet_nid_any,
		.pr_timeout_ms = 2000,
		.pr_force = true,
	};
	return real_probe(&re, node, ret);
}

/* Discovers until the peer has so many NIDs: a discovery that began before a change
 * may end after it. */
static void discovers(const char *nid, unsigned want)
{
	struct m0_lnet_probe pr;
	int                  tries = 100;

	do {
		assert_int_equal(probe(&re.re_a, M0_LNET_DISCOVER, nid, &pr),
				 0);
	} while (pr.pr_nids_nr != want && --tries > 0);
	assert_int_equal(pr.pr_nids_nr, want);
}

/* A network that both nodes get while they run is used, and peers hear of it. */
static void network_is_added(void **state)
{
	struct m0_lnet_probe pr;

	both_open(real_mode_of(state));
	discovers("127.0.0.2@tcp", 1);
	assert_int_equal(add(&re.re_b, "tcp7(127.0.0.2) peer_credits=3"), 0);
	nids_are(&re.re_b, "127.0.0.2@tcp 127.0.0.2@tcp7");
	discovers("127.0.0.2@tcp", 2);
	assert_int_equal(add(&re.re_a, "tcp7(127.0.0.1)"), 0);
	assert_int_equal(probe(&re.re_a, M0_LNET_PING, "127.0.0.2@tcp7", &pr),
			 0);
	assert_int_equal(probe(&re.re_b, M0_LNET_PING, "127.0.0.1@tcp7", &pr),
			 0);
	real_close(&re);
}

/* Options of an added network are its own; a second interface has them, too. */
static void added_networks_have_options(void **state)
{
	struct m0_lnet_info *info;

	both_open(real_mode_of(state));
	assert_int_equal(add(&re.re_b, "tcp7(127.0.0.2) peer_credits=3 "
				       "timeout=9"),
			 0);
	assert_int_equal(add(&re.re_b, "tcp7(127.0.0.4)"), 0);
	assert_int_equal(m0_lnet_info_get(re.re_b.rn_lnet, &info), 0);
	assert_int_equal(info->li_nis_nr, 4);
	assert_int_equal(info->li_nis[1].nii_peer_credits, 8);
	assert_int_equal(info->li_nis[2].nii_peer_credits, 3);
	assert_int_equal(info->li_nis[2].nii_timeout_ms, 9000);
	assert_int_equal(info->li_nis[3].nii_peer_credits, 3);
	assert_int_equal(info->li_nis[3].nii_timeout_ms, 9000);
	m0_lnet_info_free(info);
	/* The options go with the network. */
	assert_int_equal(del(&re.re_b, 7, NULL), 0);
	assert_int_equal(add(&re.re_b, "tcp7(127.0.0.2)"), 0);
	assert_int_equal(m0_lnet_info_get(re.re_b.rn_lnet, &info), 0);
	assert_int_equal(info->li_nis_nr, 3);
	assert_int_equal(info->li_nis[2].nii_peer_credits, 8);
	m0_lnet_info_free(info);
	real_close(&re);
}

/* A removed interface is gone, its peers hear of it, and its address is free. */
static void interface_is_removed(void **state)
{
	struct m0_lnet_op      op;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_handle  md;
	int                    i;

	both_open(real_mode_of(state));
	assert_int_equal(add(&re.re_b, "tcp(127.0.0.4,127.0.0.6)"), 0);
	nids_are(&re.re_b, "127.0.0.2@tcp 127.0.0.4@tcp 127.0.0.6@tcp");
	for (i = 0; i < 3; ++i) {
		discovers("127.0.0.4@tcp", 3);
		assert_int_equal(del(&re.re_b, 0, "127.0.0.4"), 0);
		nids_are(&re.re_b, "127.0.0.2@tcp 127.0.0.6@tcp");
		discovers("127.0.0.2@tcp", 2);
		attr = real_md(NULL, 0, 0, &re.re_b.rn_eq);
		md = real_bind(&re.re_b, &attr);
		op = real_op(&re.re_a, 1);
		op.lo_self = nid_of("127.0.0.4@tcp");
		assert_int_equal(m0_lnet_put(re.re_b.rn_lnet, md, &op),
				 -EINVAL);
		assert_int_equal(m0_lnet_md_unlink(re.re_b.rn_lnet, md), 0);
		assert_int_equal(m0_lnet_dist(re.re_b.rn_lnet, &op.lo_self,
					      NULL, NULL),
				 1);
		assert_int_equal(add(&re.re_b, "tcp(127.0.0.4)"), 0);
		assert_int_equal(del(&re.re_b, 0, "127.0.0.6"), 0);
		assert_int_equal(add(&re.re_b, "tcp(127.0.0.6)"), 0);
	}
	real_close(&re);
}

/* A refusal says what is wrong, and changes nothing. */
static void bad_changes_are_refused(void **state)
{
	struct m0_lnet_net_cfg net = { .lnc_net = M0_LNET_TYPE_LO << 16 };

	both_open(real_mode_of(state));
	assert_int_equal(add(&re.re_b, "tcp7(127.0.0.4,nosuch0)"), -ENODEV);
	assert_non_null(strstr(why, "nosuch0"));
	assert_int_equal(add(&re.re_b, "tcp7(127.0.0.4,203.0.113.9)"),
			 -EADDRNOTAVAIL);
	assert_non_null(strstr(why, "203.0.113.9"));
	/* The first starts, and stops when the second does not. */
	assert_int_equal(add(&re.re_b, "tcp(127.0.0.4,127.0.0.2)"), -EEXIST);
	assert_non_null(strstr(why, "127.0.0.2@tcp"));
	nids_are(&re.re_b, "127.0.0.2@tcp");
	/* The one that was started has stopped. */
	assert_int_equal(add(&re.re_b, "tcp(127.0.0.4)"), 0);
	assert_int_equal(del(&re.re_b, 0, "127.0.0.4"), 0);
	assert_int_equal(add(&re.re_b, "tcp"), -EEXIST);
	assert_non_null(strstr(why, "name an interface"));
	assert_int_equal(add(&re.re_b, "tcp(127.0.0.4) credits=9"), -EEXIST);
	assert_non_null(strstr(why, "options of the network"));
	assert_int_equal(m0_lnet_net_add(re.re_b.rn_lnet, &net, why), -EEXIST);
	net.lnc_net = (uint32_t)M0_LNET_TYPE_GNI << 16;
	assert_int_equal(m0_lnet_net_add(re.re_b.rn_lnet, &net, why), -EINVAL);
	assert_non_null(strstr(why, "gni"));
	net.lnc_net = (uint32_t)M0_LNET_TYPE_TCP << 16 | 9;
	net.lnc_credits = UINT16_MAX + 1;
	assert_int_equal(m0_lnet_net_add(re.re_b.rn_lnet, &net, why), -EINVAL);
	assert_non_null(strstr(why, "65536"));

	assert_int_equal(del(&re.re_b, 9, NULL), -ENOENT);
	assert_non_null(strstr(why, "tcp9"));
	assert_int_equal(del(&re.re_b, 0, "127.0.0.4"), -ENOENT);
	assert_non_null(strstr(why, "127.0.0.4"));
	net.lnc_net = M0_LNET_TYPE_LO << 16;
	assert_int_equal(m0_lnet_net_del(re.re_b.rn_lnet, &net, why), -EINVAL);
	net = (struct m0_lnet_net_cfg){
		.lnc_net = (uint32_t)M0_LNET_TYPE_TCP << 16,
		.lnc_ifaces_nr = M0_LNET_CFG_IFACES_MAX + 1,
	};
	assert_int_equal(m0_lnet_net_del(re.re_b.rn_lnet, &net, why), -EINVAL);
	assert_non_null(strstr(why, "lnc_ifaces_nr is 17"));
	assert_int_equal(m0_lnet_net_add(re.re_b.rn_lnet, &net, why), -EINVAL);
	assert_non_null(strstr(why, "lnc_ifaces_nr is 17"));
	/* One that is there does not go if the other is not. */
	net.lnc_ifaces_nr = 2;
	strcpy(net.lnc_ifaces[0], "127.0.0.2");
	strcpy(net.lnc_ifaces[1], "nosuch0");
	assert_int_equal(m0_lnet_net_del(re.re_b.rn_lnet, &net, why), -ENOENT);
	assert_non_null(strstr(why, "nosuch0"));
	nids_are(&re.re_b, "127.0.0.2@tcp");
	assert_int_equal(add(&re.re_b, "tcp7(127.0.0.4)"), 0);
	nids_are(&re.re_b, "127.0.0.2@tcp 127.0.0.4@tcp7");
	real_close(&re);
}

static int failed_nr(struct real_node *node, int puts_nr)
{
	struct m0_lnet_event ev;
	int                  failed = 0;

	while (puts_nr > 0) {
		real_event(&re, node, &ev);
		failed += ev.ev_status != 0;
		puts_nr -= ev.ev_type == M0_LNET_EV_SEND;
	}
	return failed;
}

/* Messages that wait on a network that goes end, each once; and so do those that
 * come in meanwhile. */
static void network_goes_under_load(void **state)
{
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op;
	struct m0_lnet_handle  md;
	struct m0_lnet_info   *info;
	int                    i;
	int                    k;

	both_open(real_mode_of(state));
	assert_int_equal(add(&re.re_a, "tcp7(127.0.0.1) peer_credits=1"), 0);
	assert_int_equal(add(&re.re_b, "tcp7(127.0.0.2)"), 0);
	for (i = 0; i < CHANGES; ++i) {
		attr = real_md(NULL, 0, 0, &re.re_a.rn_eq);
		attr.mda_threshold = PUTS;
		md = real_bind(&re.re_a, &attr);
		op = real_op(&re.re_b, 1);
		op.lo_target.lp_nid = nid_of("127.0.0.2@tcp7");
		for (k = 0; k < PUTS; ++k)
			assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op),
					 0);
		for (k = 0; k < i % 4; ++k)
			real_turn(&re);
		assert_int_equal(del(&re.re_a, 7, NULL), 0);
		(void)failed_nr(&re.re_a, PUTS);
		(void)m0_lnet_md_unlink(re.re_a.rn_lnet, md);
		assert_int_equal(
			add(&re.re_a, "tcp7(127.0.0.1) peer_credits=1"), 0);
	}
	assert_int_equal(m0_lnet_info_get(re.re_a.rn_lnet, &info), 0);
	for (i = 0; i < (int)info->li_nis_nr; ++i)
		assert_int_equal(info->li_nis[i].nii_credits_free,
				 info->li_nis[i].nii_credits);
	m0_lnet_info_free(info);
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
		CASE(network_is_added),
		CASE(added_networks_have_options),
		CASE(interface_is_removed),
		CASE(bad_changes_are_refused),
		CASE(network_goes_under_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
