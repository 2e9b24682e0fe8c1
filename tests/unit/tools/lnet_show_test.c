/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "m0/lnet_udsp.h"

#include "../../../tools/node/lnet_show.h"
#include "../../../tools/node/probe_set.h"
#include "lnetctl.h"

/* The node that lnetctl was asked about. */
static struct m0_lnet_ni_info      nis[2];
static struct m0_lnet_peer_ni_info peer_nis[4];
static struct m0_lnet_peer_info    peers[4];
static struct m0_lnet_info         info;
static struct m0_lnet_cfg          cfg;

static struct m0_lnet_nid nid(const char *text)
{
	struct m0_lnet_nid ret;

	assert_int_equal(m0_lnet_nid_parse(&ret, text), 0);
	return ret;
}

static void peer_set(unsigned i, const char *text, int low)
{
	peer_nis[i].pni_nid = nid(text);
	peer_nis[i].pni_credits_max = 8;
	peer_nis[i].pni_credits_free = 8;
	peer_nis[i].pni_credits_low = low;
	peer_nis[i].pni_router_credits_free = 8;
	peer_nis[i].pni_router_credits_low = 8;
	peer_nis[i].pni_health = 1000;
	peer_nis[i].pni_net_priority = M0_LNET_PRIORITY_NONE;
	peer_nis[i].pni_priority = M0_LNET_PRIORITY_NONE;
	peers[i].pei_primary = peer_nis[i].pni_nid;
	peers[i].pei_nis = &peer_nis[i];
	peers[i].pei_nis_nr = 1;
}

static void node_set(void)
{
	unsigned i;

	m0_lnet_cfg_default(&cfg);
	memset(nis, 0, sizeof nis);
	memset(peer_nis, 0, sizeof peer_nis);
	memset(peers, 0, sizeof peers);
	M0_SET0(&info);
	for (i = 0; i < ARRAY_SIZE(nis); ++i) {
		nis[i].nii_net_priority = M0_LNET_PRIORITY_NONE;
		nis[i].nii_priority = M0_LNET_PRIORITY_NONE;
	}
	nis[0].nii_nid = m0_lnet_nid_lo;
	nis[0].nii_up = true;
	nis[0].nii_link_up = true;
	nis[0].nii_health = 1000;
	nis[1].nii_nid = nid("192.168.77.2@tcp");
	strcpy(nis[1].nii_device, "eth1");
	nis[1].nii_up = true;
	nis[1].nii_link_up = true;
	nis[1].nii_health = 1000;
	nis[1].nii_peer_credits = 8;
	nis[1].nii_credits = 256;
	nis[1].nii_peer_timeout_s = 180;
	nis[1].nii_conns_per_peer = 1;
	nis[1].nii_timeout_ms = 50000;
	nis[1].nii_traffic.lt_sent =
		(struct m0_lnet_msg_counts){ .lmc_put = 3, .lmc_get = 8 };
	nis[1].nii_traffic.lt_received = (struct m0_lnet_msg_counts){
		.lmc_put = 1, .lmc_get = 2, .lmc_reply = 6, .lmc_ack = 2
	};
	peer_set(0, "192.168.77.3@tcp", 6);
	peer_set(1, "192.168.77.2@tcp", 7);
	peer_set(2, "192.168.77.99@tcp", 7);
	peer_set(3, "192.168.77.98@tcp", 7);
	peers[0].pei_multi_rail = true;
	peers[0].pei_state = M0_LNET_PEER_MULTI_RAIL | M0_LNET_PEER_DISCOVERED |
			     M0_LNET_PEER_NIDS_UPTODATE;
	peer_nis[0].pni_traffic.lt_sent =
		(struct m0_lnet_msg_counts){ .lmc_put = 3, .lmc_get = 4 };
	peer_nis[0].pni_traffic.lt_received = (struct m0_lnet_msg_counts){
		.lmc_put = 1, .lmc_reply = 4, .lmc_ack = 2
	};
	peer_nis[1].pni_traffic.lt_sent.lmc_get = 4;
	peer_nis[1].pni_traffic.lt_received =
		(struct m0_lnet_msg_counts){ .lmc_get = 2, .lmc_reply = 2 };
	info.li_nis_nr = 2;
	info.li_nis = nis;
	info.li_peers_nr = 4;
	info.li_peers = peers;
}

/* Returns the printed text; the caller frees it. */
static char *shown(const struct ctl_request *req, int want_code)
{
	char  *out;
	char  *err;
	size_t out_nr;
	size_t err_nr;
	FILE  *out_file = open_memstream(&out, &out_nr);
	FILE  *err_file = open_memstream(&err, &err_nr);

	assert_int_equal(lnet_show(req, &cfg, &info, out_file, err_file),
			 want_code);
	fclose(out_file);
	fclose(err_file);
	assert_int_equal(err_nr == 0, want_code == 0);
	free(err);
	return out;
}

static void show_is(const struct ctl_request *req, const char *want)
{
	char *got = shown(req, TOOL_OK);

	assert_string_equal(got, want);
	free(got);
}

static struct ctl_request request(enum ctl_verb verb, unsigned verbose)
{
	struct ctl_request req;

	ctl_request_init(&req, verb);
	req.cq_verbose = verbose;
	return req;
}

/* Interfaces look as those of a kernel node, byte by byte. */
static void net_is_shown_as_by_lnetctl(void **state)
{
	struct ctl_request req = request(CTL_NET_SHOW, 0);

	(void)state;
	node_set();
	show_is(&req, lnetctl_net_show);
	req.cq_verbose = 1;
	show_is(&req, lnetctl_net_show_v);
	req.cq_verbose = 2;
	req.cq_net = m0_lnet_net(M0_LNET_TYPE_TCP, 0);
	show_is(&req, lnetctl_net_show_net_v2);
}

/* Net o2ib has more tunables, as they are in effect. */
static void tunables_of_fabrics_are_shown(void **state)
{
	struct ctl_request req = request(CTL_NET_SHOW, 1);
	char              *got;

	(void)state;
	node_set();
	nis[1].nii_nid = nid("192.168.77.2@o2ib");
	nis[1].nii_lnd.ldi_tos_plus_1 = 107;
	nis[1].nii_lnd.ldi_ack_timeout = 18;
	nis[1].nii_lnd.ldi_get_req = 1;
	nis[1].nii_lnd.ldi_service = 987;
	got = shown(&req, TOOL_OK);
	assert_non_null(strstr(got, "                  tos: 106\n"
				    "                  ack_timeout: 18\n"
				    "                  get_req: 1\n"
				    "                  service: 987\n"));
	free(got);
}

/* Ours come last, and only when all is asked for. */
static void net_ours_come_after_lnetctls(void **state)
{
	struct ctl_request req = request(CTL_NET_SHOW, 4);
	char              *got;
	size_t             nr = strlen(lnetctl_net_show_v4);

	(void)state;
	node_set();
	nis[1].nii_lnd.ldi_connections_nr = 3;
	got = shown(&req, TOOL_OK);
	assert_memory_equal(got, lnetctl_net_show_v4, nr);
	assert_non_null(strstr(got + nr,
			       "            colibri:\n"
			       "                  credits_free: 0\n"));
	assert_non_null(strstr(got + nr, "                  connections: 3\n"));
	free(got);
	req.cq_verbose = 3;
	got = shown(&req, TOOL_OK);
	assert_null(strstr(got, "colibri"));
	assert_null(strstr(got, "udsp"));
	free(got);
}

/* Peers look as those of a kernel node. */
static void peers_are_shown_as_by_lnetctl(void **state)
{
	struct ctl_request req = request(CTL_PEER_SHOW, 0);

	(void)state;
	node_set();
	show_is(&req, lnetctl_peer_show);
	req.cq_verbose = 1;
	show_is(&req, lnetctl_peer_show_v);
	req = request(CTL_PEER_LIST, 0);
	show_is(&req, lnetctl_peer_list);
}

/* One peer of several, with all there is to know. */
static void peer_is_found_by_its_nid(void **state)
{
	struct ctl_request req = request(CTL_PEER_SHOW, 4);
	char               want[4096];

	(void)state;
	node_set();
	peer_nis[0].pni_credits_low = 7;
	peer_nis[0].pni_up = true;
	peer_nis[0].pni_traffic.lt_sent =
		(struct m0_lnet_msg_counts){ .lmc_put = 2, .lmc_get = 1 };
	peer_nis[0].pni_traffic.lt_received = (struct m0_lnet_msg_counts){
		.lmc_put = 1, .lmc_reply = 1, .lmc_ack = 1
	};
	req.cq_nids[req.cq_nids_nr++] = nid("192.168.77.3@tcp");
	snprintf(want, sizeof want,
		 "%s            colibri:\n                  alive: up\n",
		 lnetctl_peer_show_v4);
	show_is(&req, want);
}

/* Returns what lnetctl printed for a command of the recording. */
static char *recorded(const char *command)
{
	const char *dir = getenv("LNETCTL_GOLDEN");
	char        path[512];
	char        all[8192];
	char        head[128];
	char       *at;
	char       *end;
	size_t      nr;
	FILE       *file;

	assert_non_null(dir);
	snprintf(path, sizeof path, "%s/udsp_show_v4.txt", dir);
	file = fopen(path, "r");
	assert_non_null(file);
	nr = fread(all, 1, sizeof all - 1, file);
	fclose(file);
	all[nr] = '\0';
	snprintf(head, sizeof head, "$ lnetctl %s\n", command);
	at = strstr(all, head);
	assert_non_null(at);
	at += strlen(head);
	end = strstr(at, "\n\n$");
	if (end != NULL)
		end[1] = '\0';
	return strdup(at);
}

/* The priorities that rules gave a kernel node are shown as by its lnetctl. */
static void rules_are_shown_as_by_lnetctl(void **state)
{
	struct ctl_request req = request(CTL_NET_SHOW, 4);
	char              *want = recorded("net show -v 4");
	char              *got;

	(void)state;
	node_set();
	nis[1].nii_net_priority = 1;
	got = shown(&req, TOOL_OK);
	assert_memory_equal(got, want, strlen(want));
	free(got);
	free(want);
	req = request(CTL_PEER_SHOW, 4);
	req.cq_nids[req.cq_nids_nr++] = nid("192.168.77.3@tcp");
	peer_nis[0].pni_priority = 0;
	want = recorded("peer show -v 4 --nid 192.168.77.3@tcp");
	got = shown(&req, TOOL_OK);
	assert_memory_equal(got, want, strlen(want));
	assert_string_equal(got + strlen(want),
			    "            colibri:\n"
			    "                  alive: unknown\n");
	free(got);
	free(want);
}

/* The largest priority is no -1; lists stand behind the priorities, if there are
 * any. */
static void preferred_nids_are_listed(void **state)
{
	struct ctl_request req = request(CTL_PEER_SHOW, 4);
	struct m0_lnet_nid nids[] = { nid("10.0.0.1@tcp"), nid("10.1.0.1@tcp"),
				      nid("10.0.0.9@tcp") };
	char              *got;

	(void)state;
	node_set();
	info.li_peers_nr = 1;
	peer_nis[0].pni_net_priority = M0_LNET_PRIORITY_NONE - 1;
	peer_nis[0].pni_preferred = nids;
	peer_nis[0].pni_sources_nr = 2;
	peer_nis[0].pni_gateways_nr = 1;
	got = shown(&req, TOOL_OK);
	assert_non_null(strstr(got,
			       "            udsp info:\n"
			       "                  net priority: 4294967294\n"
			       "                  nid priority: -1\n"
			       "                  preferred sources:\n"
			       "                  -     nid: 10.0.0.1@tcp\n"
			       "                  -     nid: 10.1.0.1@tcp\n"
			       "                  preferred gateways:\n"
			       "                  -     nid: 10.0.0.9@tcp\n"
			       "            state: NA\n"));
	free(got);
	peer_nis[0].pni_sources_nr = 0;
	got = shown(&req, TOOL_OK);
	assert_null(strstr(got, "preferred sources"));
	assert_non_null(strstr(got,
			       "preferred gateways:\n"
			       "                  -     nid: 10.0.0.1@tcp\n"));
	free(got);
	req.cq_json = true;
	got = shown(&req, TOOL_OK);
	assert_non_null(strstr(got, "\"preferred gateways\""));
	free(got);
}

/* Health below the maximum is shown with the tries of the recovery. */
static void health_is_shown_with_its_recovery(void **state)
{
	struct ctl_request req = request(CTL_NET_SHOW, 2);
	char              *got;

	(void)state;
	node_set();
	nis[1].nii_health = 700;
	nis[1].nii_tries_nr = 3;
	nis[1].nii_try_in_ms = 1500;
	req.cq_net = m0_lnet_net(M0_LNET_TYPE_TCP, 0);
	got = shown(&req, TOOL_OK);
	assert_non_null(strstr(got, "health value: 700\n"));
	assert_non_null(strstr(got, "ping_count: 3\n"));
	assert_non_null(strstr(got, "next_ping: 2\n"));
	free(got);
	req = request(CTL_PEER_SHOW, 2);
	peer_nis[0].pni_health = 0;
	peer_nis[0].pni_tries_nr = 4;
	peer_nis[0].pni_try_in_ms = 16000;
	info.li_peers_nr = 1;
	got = shown(&req, TOOL_OK);
	assert_non_null(strstr(got, "health value: 0\n"));
	assert_non_null(strstr(got, "ping_count: 4\n"));
	assert_non_null(strstr(got, "next_ping: 16\n"));
	free(got);
}

/* Peers of a router look as those of a kernel's router, which has forwarded. */
static void peers_of_a_router_are_shown_as_by_lnetctl(void **state)
{
	struct ctl_request req = request(CTL_PEER_SHOW, 1);
	char              *got;

	(void)state;
	node_set();
	info.li_peers_nr = 1;
	info.li_is_router = true;
	peer_nis[0].pni_router_credits_free = 7;
	peer_nis[0].pni_router_credits_low = 6;
	got = shown(&req, TOOL_OK);
	assert_non_null(strstr(got, "            state: up\n"));
	assert_non_null(strstr(got, "            available_rtr_credits: 7\n"
				    "            min_rtr_credits: 6\n"));
	free(got);
	peer_nis[0].pni_down = true;
	got = shown(&req, TOOL_OK);
	assert_non_null(strstr(got, "            state: down\n"));
	free(got);
	/* A client shows the state of its gateways only. */
	info.li_is_router = false;
	got = shown(&req, TOOL_OK);
	assert_non_null(strstr(got, "            state: NA\n"));
	free(got);
	peers[0].pei_state |= M0_LNET_PEER_ROUTER_ENABLED;
	got = shown(&req, TOOL_OK);
	assert_non_null(strstr(got, "            state: down\n"));
	free(got);
}

/* An interface that is reported down for its health has no fatal error. */
static void fatal_error_is_that_of_the_link(void **state)
{
	struct ctl_request req = request(CTL_NET_SHOW, 2);
	char              *got;

	(void)state;
	node_set();
	req.cq_net = m0_lnet_net(M0_LNET_TYPE_TCP, 0);
	nis[1].nii_up = false;
	got = shown(&req, TOOL_OK);
	assert_non_null(strstr(got, "status: down\n"));
	assert_non_null(strstr(got, "fatal_error: 0\n"));
	free(got);
	nis[1].nii_link_up = false;
	got = shown(&req, TOOL_OK);
	assert_non_null(strstr(got, "fatal_error: 1\n"));
	free(got);
}

/* The bits of a peer's state are lnetctl's. */
static void peer_state_has_the_bits_of_lnetctl(void **state)
{
	static const struct {
		uint32_t    bit;
		const char *text;
	} bits[] = {
		{ M0_LNET_PEER_MULTI_RAIL, "peer state: 1\n" },
		{ M0_LNET_PEER_NO_DISCOVERY, "peer state: 2\n" },
		{ M0_LNET_PEER_CONFIGURED, "peer state: 8\n" },
		{ M0_LNET_PEER_DISCOVERED, "peer state: 16\n" },
		{ M0_LNET_PEER_DISCOVERING, "peer state: 64\n" },
		{ M0_LNET_PEER_NIDS_UPTODATE, "peer state: 256\n" },
	};
	struct ctl_request req = request(CTL_PEER_SHOW, 3);
	char              *got;
	size_t             i;

	(void)state;
	node_set();
	info.li_peers_nr = 1;
	for (i = 0; i < ARRAY_SIZE(bits); ++i) {
		peers[0].pei_state = bits[i].bit;
		got = shown(&req, TOOL_OK);
		assert_non_null(strstr(got, bits[i].text));
		free(got);
	}
}

/* An unknown network or peer is a failure, and standard output stays empty. */
static void unknown_net_and_peer_are_failures(void **state)
{
	struct ctl_request req = request(CTL_PEER_SHOW, 0);
	char              *got;

	(void)state;
	node_set();
	req.cq_nids[req.cq_nids_nr++] = nid("1.2.3.4@tcp");
	got = shown(&req, TOOL_FAILED);
	assert_string_equal(got, "");
	free(got);
	req = request(CTL_NET_SHOW, 0);
	req.cq_net = m0_lnet_net(M0_LNET_TYPE_TCP, 7);
	got = shown(&req, TOOL_FAILED);
	assert_string_equal(got, "");
	free(got);
	/* No peers at all: nothing to show, and no failure. */
	info.li_peers_nr = 0;
	req = request(CTL_PEER_SHOW, 0);
	show_is(&req, "");
}

/* The node's counters, in lnetctl's order. */
static void stats_are_shown_as_by_lnetctl(void **state)
{
	struct ctl_request req = request(CTL_STATS_SHOW, 0);

	(void)state;
	node_set();
	info.li_stats = (struct m0_lnet_stats){
		.ls_msgs_max = 2,
		.ls_rst_alloc = 10,
		.ls_send_count = 11,
		.ls_failures.lf_remote_dropped = 2,
		.ls_recv_count = 11,
		.ls_send_length = 192,
		.ls_recv_length = 336,
	};
	show_is(&req, lnetctl_stats_show);
}

/* Parameters follow the configuration; times are whole seconds. */
static void global_tells_the_configuration(void **state)
{
	struct ctl_request req = request(CTL_GLOBAL_SHOW, 0);
	char              *got;

	(void)state;
	node_set();
	cfg.lc_transaction_timeout_ms = 19001;
	cfg.lc_discovery = false;
	got = shown(&req, TOOL_OK);
	assert_memory_equal(got, "global:\n    numa_range: 0\n", 26);
	assert_non_null(strstr(got, "    discovery: 0\n"));
	assert_non_null(strstr(got, "    transaction_timeout: 20\n"));
	assert_non_null(strstr(got, "    lnd_timeout: 6\n"));
	free(got);
}

static void probe_good(struct m0_lnet_probe *probe, const char *text, bool mr)
{
	probe->pr_primary = nid(text);
	probe->pr_multi_rail = mr;
	probe->pr_nids_nr = 1;
	probe->pr_nids[0] = probe->pr_primary;
}

static void probes_are(struct probe_set *set, int want_code,
		       const char *want_out, const char *want_err)
{
	char  *out;
	char  *err;
	size_t out_nr;
	size_t err_nr;
	FILE  *out_file = open_memstream(&out, &out_nr);
	FILE  *err_file = open_memstream(&err, &err_nr);

	assert_int_equal(probe_set_print(set, out_file, err_file), want_code);
	fclose(out_file);
	fclose(err_file);
	assert_string_equal(out, want_out);
	assert_string_equal(err, want_err);
	free(out);
	free(err);
	probe_set_fini(set);
}

/* Answers and failures of ping and discover look as lnetctl's. */
static void probes_are_shown_as_by_lnetctl(void **state)
{
	struct ctl_request req = request(CTL_PING, 0);
	struct probe_set   set;

	(void)state;
	req.cq_nids[req.cq_nids_nr++] = nid("192.168.77.3@tcp");
	req.cq_nids[req.cq_nids_nr++] = nid("192.168.77.2@tcp");
	assert_int_equal(probe_set_init(&set, &req), 0);
	probe_good(&set.pst_probes[0], "192.168.77.3@tcp", false);
	probe_good(&set.pst_probes[1], "192.168.77.2@tcp", false);
	probes_are(&set, TOOL_OK, lnetctl_ping, "");
	req.cq_nids_nr = 1;
	req.cq_nids[0] = nid("192.168.77.99@tcp");
	assert_int_equal(probe_set_init(&set, &req), 0);
	set.pst_probes[0].pr_nid = req.cq_nids[0];
	set.pst_probes[0].pr_status = -EHOSTUNREACH;
	probes_are(&set, TOOL_FAILED, "", lnetctl_ping_failed);
	req.cq_verb = CTL_DISCOVER;
	req.cq_nids[0] = nid("192.168.77.98@tcp");
	assert_int_equal(probe_set_init(&set, &req), 0);
	set.pst_probes[0].pr_nid = req.cq_nids[0];
	set.pst_probes[0].pr_status = -EHOSTUNREACH;
	probes_are(&set, TOOL_FAILED, "", lnetctl_discover_failed);
	assert_int_equal(probe_set_init(&set, &req), 0);
	probe_good(&set.pst_probes[0], "192.168.77.3@tcp", true);
	probes_are(&set, TOOL_OK, lnetctl_discover, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(net_is_shown_as_by_lnetctl),
		cmocka_unit_test(tunables_of_fabrics_are_shown),
		cmocka_unit_test(net_ours_come_after_lnetctls),
		cmocka_unit_test(peers_are_shown_as_by_lnetctl),
		cmocka_unit_test(peer_is_found_by_its_nid),
		cmocka_unit_test(rules_are_shown_as_by_lnetctl),
		cmocka_unit_test(preferred_nids_are_listed),
		cmocka_unit_test(health_is_shown_with_its_recovery),
		cmocka_unit_test(peers_of_a_router_are_shown_as_by_lnetctl),
		cmocka_unit_test(fatal_error_is_that_of_the_link),
		cmocka_unit_test(peer_state_has_the_bits_of_lnetctl),
		cmocka_unit_test(unknown_net_and_peer_are_failures),
		cmocka_unit_test(stats_are_shown_as_by_lnetctl),
		cmocka_unit_test(global_tells_the_configuration),
		cmocka_unit_test(probes_are_shown_as_by_lnetctl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
