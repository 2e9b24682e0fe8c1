/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A gateway that is not as it should be: its ping information names NIDs of others and
 * a network that it does not reach, it takes messages and forwards none, or it sends
 * without end in the names of many. In the simulator.
 */
#include <stdlib.h>

#include "lnet/speech.h"
#include "m0/lnet_route.h"

enum {
	WHO = PLACE_WHO_MIN,
	INCARNATION = 100,
	ENDS_MAX = 8,
	PEERS_MAX = 40,
	CHECK_MS = 2000,
	PING_MS = 1000,
	TIMEOUT_MS = 3000,
	FLOOD_NR = 20000
};

static struct place place;

/** The gateway: its connections, its lies, and what it was sent to forward. */
static struct {
	struct place_end      *gw_ends[ENDS_MAX];
	unsigned               gw_ends_nr;
	struct m0_lnet_ping_ni gw_nis[4];
	unsigned               gw_nis_nr;
	uint32_t               gw_features;
	unsigned               gw_swallowed_nr;
} gateway;

static struct m0_lnet_nid nid_of(const char *text)
{
	struct m0_lnet_nid nid;

	assert_int_equal(m0_lnet_nid_parse(&nid, text), 0);
	return nid;
}

static void lie_add(struct m0_lnet_nid nid)
{
	gateway.gw_nis[gateway.gw_nis_nr++] =
		(struct m0_lnet_ping_ni){ .lpg_nid = nid, .lpg_up = true };
}

/* -- the gateway ----------------------------------------------------------- */

static void hello_answer(struct place_end *end)
{
	struct speech        speech = {};
	struct m0_sock_hello hello;

	assert_true(place_wait_in(end, M0_SOCK_REQUEST_V1_BYTES, 1000));
	end->pe_done = M0_SOCK_REQUEST_V1_BYTES;
	assert_true(speech_hear_hello(end, &hello, 1000));
	speech_hello(&speech, &place, WHO, 3,
		     m0_sock__ctype_invert(hello.sh_ctype), INCARNATION);
	speech_say(end, &speech);
}

static void ping_answer(struct place_end *end, const struct m0_lnet_hdr *get)
{
	struct m0_lnet_ping_info info = { .lpi_features = gateway.gw_features,
					  .lpi_pid = M0_LNET_PID_LUSTRE,
					  .lpi_seq = 1,
					  .lpi_nis = gateway.gw_nis,
					  .lpi_nis_nr = gateway.gw_nis_nr,
					  .lpi_nis_max = gateway.gw_nis_nr };
	struct m0_lnet_hdr       hdr = speech_hdr(&place, WHO, M0_LNET_REPLY);
	struct speech            speech = {};

	hdr.lhd_wmd = get->lhd_wmd;
	hdr.lhd_payload_bytes = (uint32_t)m0_lnet__ping_size(&info);
	speech_msg(&speech, false, 0, &hdr);
	speech.sp_nr += m0_lnet__ping_encode(
		&info, speech.sp_bytes + speech.sp_nr, hdr.lhd_payload_bytes);
	speech_say(end, &speech);
}

static void push_acknowledge(struct place_end         *end,
			     const struct m0_lnet_hdr *put)
{
	struct m0_lnet_hdr hdr = speech_hdr(&place, WHO, M0_LNET_ACK);
	struct speech      speech = {};

	hdr.lhd_wmd = put->lhd_wmd;
	hdr.lhd_match_bits = put->lhd_match_bits;
	hdr.lhd_length = put->lhd_payload_bytes;
	speech_msg(&speech, false, 0, &hdr);
	speech_say(end, &speech);
}

/** Answers what is for the gateway, and swallows what is to be forwarded. */
static void msg_take(struct place_end *end, const struct m0_lnet_hdr *hdr)
{
	if (hdr->lhd_dest_nid.ln_num == 9)
		++gateway.gw_swallowed_nr;
	else if (hdr->lhd_type == M0_LNET_GET)
		ping_answer(end, hdr);
	else if (hdr->lhd_type == M0_LNET_PUT)
		push_acknowledge(end, hdr);
}

/** Looks at what has come. */
static bool gateway_look(void *arg)
{
	struct place_end *end;
	struct heard      heard;
	unsigned          i;

	(void)arg;
	while ((end = place_accept(&place, WHO, 0)) != NULL) {
		assert_true(gateway.gw_ends_nr < ENDS_MAX);
		gateway.gw_ends[gateway.gw_ends_nr++] = end;
		hello_answer(end);
	}
	for (i = 0; i < gateway.gw_ends_nr; ++i)
		while (speech_hear(gateway.gw_ends[i], &heard, 0))
			if (heard.hd_frame.sfr_type == M0_SOCK_FRAME_LNET)
				msg_take(gateway.gw_ends[i], &heard.hd_hdr);
	return false;
}

static void run(uint64_t ms)
{
	uint64_t i;

	for (i = 0; i < ms; i += 10) {
		(void)gateway_look(NULL);
		place_run(&place, 10);
	}
}

static void tune(struct m0_lnet_cfg *cfg)
{
	cfg->lc_control_only = true;
	cfg->lc_peers_max = PEERS_MAX;
	cfg->lc_transaction_timeout_ms = TIMEOUT_MS;
	cfg->lc_routing.lgc_check_ms = CHECK_MS;
	cfg->lc_routing.lgc_ping_ms = PING_MS;
}

static enum m0_lnet_route_why why(void)
{
	struct m0_lnet_route_info info;

	assert_int_equal(m0_lnet_route_get(place.pl_node, &info, 1), 1);
	return info.lri_why;
}

/** The node has a route to tcp9 by the gateway, which says that it is up. */
static void up(void)
{
	struct m0_lnet_route_attr attr = { .lra_net = m0_lnet_net(
						   M0_LNET_TYPE_TCP, 9) };
	char                      text[M0_LNET_WHY_BYTES] = "";

	place_up(&place, PLACE_SIM, tune);
	memset(&gateway, 0, sizeof gateway);
	gateway.gw_features = M0_LNET_FEAT_BASE | M0_LNET_FEAT_NI_STATUS |
			      M0_LNET_FEAT_MULTI_RAIL | M0_LNET_FEAT_DISCOVERY;
	lie_add(place_nid(&place, WHO));
	lie_add(nid_of("10.9.0.1@tcp9"));
	place_listen(&place, WHO);
	attr.lra_gateway = place_nid(&place, WHO);
	assert_int_equal(m0_lnet_route_add(place.pl_node, &attr, text), 0);
}

/** Nothing of this node is under way. */
static void down(void)
{
	struct m0_lnet_stats stats;

	run(2 * TIMEOUT_MS);
	place_ping(&place);
	stats = place_stats(&place);
	/* One check may be. */
	assert_true(stats.ls_msgs_alloc + stats.ls_rst_alloc <= 2);
	place_down(&place);
}

/* -- questions of the node ------------------------------------------------- */

static unsigned answers_nr;

static void answered(struct m0_lnet_probe *probe)
{
	(void)probe;
	++answers_nr;
}

/** @return status; the node is told once. */
static int ask(struct m0_lnet_nid nid, struct m0_lnet_probe *ret)
{
	*ret = (struct m0_lnet_probe){ .pr_kind = M0_LNET_DISCOVER,
				       .pr_nid = nid,
				       .pr_self = m0_lnet_nid_any,
				       .pr_timeout_ms = TIMEOUT_MS,
				       .pr_done = answered };
	answers_nr = 0;
	assert_int_equal(m0_lnet_probe(place.pl_node, ret), 0);
	run(TIMEOUT_MS + 100);
	assert_int_equal(answers_nr, 1);
	return ret->pr_status;
}

/* -- lies ------------------------------------------------------------------ */

/** Nobody can know that the network is not there. Its messages end by their deadline. */
static void network_that_is_not_there_costs_its_messages_alone(void **state)
{
	struct m0_lnet_probe probe;

	(void)state;
	up();
	run(CHECK_MS);
	assert_int_equal(why(), M0_LNET_ROUTE_UP);
	assert_int_equal(ask(nid_of("10.9.0.7@tcp9"), &probe), -ETIMEDOUT);
	assert_true(gateway.gw_swallowed_nr > 0);
	assert_int_equal(ask(place.pl_good_nid, &probe), 0);
	down();
}

/** Returns the primary NID of the peer that the node takes a NID for. */
static struct m0_lnet_nid primary_of(const struct m0_lnet_nid *nid)
{
	struct m0_lnet_nid   ret = m0_lnet_nid_any;
	struct m0_lnet_info *info;
	unsigned             i;
	unsigned             k;

	assert_int_equal(m0_lnet_info_get(place.pl_node, &info), 0);
	for (i = 0; i < info->li_peers_nr; ++i)
		for (k = 0; k < info->li_peers[i].pei_nis_nr; ++k)
			if (m0_lnet_nid_eq(
				    &info->li_peers[i].pei_nis[k].pni_nid, nid))
				ret = info->li_peers[i].pei_primary;
	m0_lnet_info_free(info);
	return ret;
}

static bool is_primary_of(struct m0_lnet_nid primary, struct m0_lnet_nid nid)
{
	struct m0_lnet_nid found = primary_of(&nid);

	return m0_lnet_nid_eq(&found, &primary);
}

/** The node knows the peer that has the NID, which keeps it. */
static void nid_of_a_peer_is_not_taken_over(void **state)
{
	struct m0_lnet_probe probe;

	(void)state;
	up();
	assert_int_equal(ask(place.pl_good_nid, &probe), 0);
	lie_add(place.pl_good_nid);
	run(3 * CHECK_MS);
	assert_int_equal(why(), M0_LNET_ROUTE_UP);
	assert_int_equal(ask(place.pl_good_nid, &probe), 0);
	assert_int_equal(probe.pr_nids_nr, 1);
	assert_true(m0_lnet_nid_eq(&probe.pr_nids[0], &place.pl_good_nid));
	assert_true(is_primary_of(place_nid(&place, WHO),
				  gateway.gw_nis[1].lpg_nid));
	assert_true(is_primary_of(place.pl_good_nid, place.pl_good_nid));
	down();
}

/** The gateway says so itself, in turns: the route follows. */
static void route_follows_what_its_gateway_says(void **state)
{
	unsigned i;

	(void)state;
	up();
	for (i = 0; i < 4; ++i) {
		gateway.gw_features ^= M0_LNET_FEAT_RTE_DISABLED;
		run(CHECK_MS + PING_MS);
		assert_int_equal(why(), i % 2 == 0 ? M0_LNET_ROUTE_NOT_ROUTING
						   : M0_LNET_ROUTE_UP);
	}
	down();
}

/* -- floods ---------------------------------------------------------------- */

/** Each message is of another NID behind the gateway. */
static void flood(bool reads)
{
	struct m0_lnet_hdr   hdr = speech_hdr(&place, WHO, M0_LNET_GET);
	struct m0_lnet_info *info;
	struct speech        speech;
	uint32_t             i;

	run(CHECK_MS);
	assert_true(gateway.gw_ends_nr > 0);
	place_mute(gateway.gw_ends[0], !reads);
	hdr.lhd_src_nid = nid_of("10.9.0.1@tcp9");
	hdr.lhd_length = M0_LNET_PING_SINK_BYTES;
	for (i = 0; i < FLOOD_NR; ++i) {
		memcpy(hdr.lhd_src_nid.ln_addr + 2, &i, 2);
		hdr.lhd_type = i % 2 == 0 ? M0_LNET_GET : M0_LNET_PUT;
		hdr.lhd_portal = i % 2 == 0 ? 0 : SPEECH_PORTAL;
		hdr.lhd_match_bits = i % 2 == 0 ? SPEECH_PING_BITS : i;
		speech = (struct speech){};
		speech_msg(&speech, false, 0, &hdr);
		speech_say(gateway.gw_ends[0], &speech);
		if (i % 100 != 0)
			continue;
		place_run(&place, 1);
		if (i % 1000 == 0)
			place_ping(&place);
		if (reads)
			(void)gateway_look(NULL);
	}
	place_ping(&place);
	assert_int_equal(m0_lnet_info_get(place.pl_node, &info), 0);
	assert_true(info->li_stats.ls_recv_count >= FLOOD_NR / 2);
	assert_true(info->li_peers_nr <= PEERS_MAX);
	assert_true(info->li_stats.ls_msgs_alloc <= place.pl_cfg.lc_msgs_max);
	m0_lnet_info_free(info);
	place_mute(gateway.gw_ends[0], false);
	down();
}

static void flood_in_the_names_of_many_stays_within_bounds(void **state)
{
	(void)state;
	up();
	flood(true);
}

/** The answers cannot leave. */
static void flood_of_who_does_not_read_stays_within_bounds(void **state)
{
	(void)state;
	up();
	flood(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			network_that_is_not_there_costs_its_messages_alone),
		cmocka_unit_test(nid_of_a_peer_is_not_taken_over),
		cmocka_unit_test(route_follows_what_its_gateway_says),
		cmocka_unit_test(
			flood_in_the_names_of_many_stays_within_bounds),
		cmocka_unit_test(
			flood_of_who_does_not_read_stays_within_bounds),
	};

	cmocka_set_test_filter(getenv("CASE"));
	return cmocka_run_group_tests_name("lnet-hostile-router", tests, NULL,
					   NULL);
}
