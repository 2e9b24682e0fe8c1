/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Options of a network: what the driver reads, and what an interface does with
 * them. */
#include "rig.h"

#include "lnd/ksock/sock_internal.h"

static struct rig    rig;
static struct rig_tx tx;
static char          why[M0_LND_WHY_BYTES];

/* Starts the driver with its defaults and an interface with options. */
static void start(const char *options)
{
	rig_cfg(&rig);
	rig.rg_ni.ldn_options = options;
	rig_start(&rig, &rig_a);
}

static int teardown(void **state)
{
	(void)state;
	rig_fini(&rig);
	return 0;
}

static void send_one(void)
{
	rig_tx_init(&tx, NULL, 0, 1);
	rig_xmit(&rig, &tx);
}

static struct m0_lnd_ni_info info(const struct m0_lnd_ni *ni)
{
	struct m0_lnd_ni_info ret;

	rig.rg_lnd->ld_ops->ldo_ni_info(ni, &ret);
	return ret;
}

/* Each option has its unit; what is not named is inherited. */
static void options_are_read_over_inherited(void **state)
{
	struct m0_sock_cfg      cfg;
	struct m0_sock_net_cfg *net = &cfg.soc_net;

	(void)state;
	m0_sock_cfg_default(&cfg);
	assert_int_equal(m0_sock_options(net, NULL, why), 0);
	assert_int_equal(m0_sock_options(net, "", why), 0);
	assert_int_equal(net->son_conns_per_peer, 1);
	assert_int_equal(m0_sock_options(net,
					 "conns_per_peer=4 timeout=7 "
					 "min_reconnectms=20",
					 why),
			 0);
	assert_int_equal(net->son_conns_per_peer, 4);
	assert_int_equal(net->son_timeout_ns, RIG_SECONDS(7));
	assert_int_equal(net->son_keepalive_ns, RIG_SECONDS(30));
	assert_int_equal(net->son_reconnect_min_ns, 20 * M0_TIME_ONE_MSEC);
	assert_int_equal(net->son_reconnect_max_ns, RIG_SECONDS(60));
	assert_int_equal(
		m0_sock_options(net, "keepalive=0 max_reconnectms=30", why), 0);
	assert_int_equal(net->son_keepalive_ns, 0);
	assert_int_equal(net->son_reconnect_max_ns, 30 * M0_TIME_ONE_MSEC);
}

static void wrong_options_change_nothing(void **state)
{
	static const struct {
		const char *text;
		int         rc;
		const char *why;
	} rows[] = {
		{ "conns_per_peer=0", -EINVAL,
		  "conns_per_peer is \"0\"; accepted: 1 to 127" },
		{ "conns_per_peer=128", -EINVAL,
		  "conns_per_peer is \"128\"; accepted: 1 to 127" },
		{ "timeout=0", -EINVAL,
		  "timeout is \"0\"; accepted: 1 to 86400 seconds" },
		{ "timeout=1s", -EINVAL,
		  "timeout is \"1s\"; accepted: 1 to 86400 seconds" },
		{ "keepalive=86401", -EINVAL,
		  "keepalive is \"86401\"; accepted: 0 to 86400 seconds" },
		{ "min_reconnectms=0", -EINVAL,
		  "min_reconnectms is \"0\"; accepted: 1 to 86400000 "
		  "milliseconds" },
		{ "timeout=9 min_reconnectms=61000", -EINVAL,
		  "min_reconnectms is 61000; accepted: up to "
		  "max_reconnectms, which is 60000" },
		{ "timeout=9 max_reconnectms=999", -EINVAL,
		  "min_reconnectms is 1000; accepted: up to "
		  "max_reconnectms, which is 999" },
		{ "timeout=9 tos=1", -ENOENT,
		  "there is no option \"tos\"; accepted: conns_per_peer, "
		  "timeout, keepalive, min_reconnectms, max_reconnectms" },
	};
	struct m0_sock_cfg cfg;
	struct m0_sock_cfg before;
	size_t             i;

	(void)state;
	m0_sock_cfg_default(&before);
	cfg = before;
	for (i = 0; i < ARRAY_SIZE(rows); ++i) {
		assert_int_equal(m0_sock_options(&cfg.soc_net, rows[i].text,
						 why),
				 rows[i].rc);
		assert_string_equal(why, rows[i].why);
		assert_memory_equal(&cfg.soc_net, &before.soc_net,
				    sizeof cfg.soc_net);
	}
}

static unsigned other_stopped_nr;

static void other_stopped(struct m0_lnd_ni *ni)
{
	(void)ni;
	++other_stopped_nr;
}

/* Two interfaces of one driver, each with its own; an interface whose options
 * are wrong does not start. */
static void interfaces_have_their_own(void **state)
{
	struct m0_lnd_up_ops ops;
	struct m0_lnd_ni     other;

	(void)state;
	start("conns_per_peer=3 timeout=7");
	ops = *rig.rg_ni.ldn_ops;
	ops.lu_ni_stopped = other_stopped;
	other = rig.rg_ni;
	other.ldn_ops = &ops;
	other.ldn_nid = rig_low;
	other.ldn_options = "timeout=x";
	assert_int_equal(rig.rg_lnd->ld_ops->ldo_ni_start(rig.rg_lnd, &other,
							  why),
			 -EINVAL);
	assert_string_equal(why,
			    "timeout is \"x\"; accepted: 1 to 86400 seconds");
	other.ldn_options = NULL;
	assert_int_equal(
		rig.rg_lnd->ld_ops->ldo_ni_start(rig.rg_lnd, &other, why), 0);
	assert_int_equal(info(&rig.rg_ni).ldi_conns_per_peer, 3);
	assert_int_equal(info(&rig.rg_ni).ldi_timeout_ms, 7000);
	assert_int_equal(info(&other).ldi_conns_per_peer, 1);
	assert_int_equal(info(&other).ldi_timeout_ms, 50000);
	assert_int_equal(info(&other).ldi_keepalive_ms, 30000);
	assert_int_equal(info(&other).ldi_reconnect_min_ms, 1000);
	assert_int_equal(info(&other).ldi_reconnect_max_ms, 60000);
	rig.rg_lnd->ld_ops->ldo_ni_stop(&other);
	rig_run(&rig);
	assert_int_equal(other_stopped_nr, 1);
}

/* The set of connections is that of the network's options. */
static void set_has_number_of_option(void **state)
{
	static const uint32_t types[] = { 1, 2, 3, 2, 3 };
	unsigned              i;

	(void)state;
	start("conns_per_peer=2");
	send_one();
	for (i = 0; i < ARRAY_SIZE(types); ++i) {
		struct rig_stream *ours = rig_dial(&rig);

		assert_int_equal(rig_dialled(&rig, ours).sh_ctype, types[i]);
		rig_answer(&rig, ours, M0_SOCK_V3,
			   m0_sock__ctype_invert(types[i]));
	}
	assert_null(rig_dial(&rig));
}

/* A driver that makes only CONTROL does so on every network. */
static void control_only_goes_before_option(void **state)
{
	(void)state;
	rig_cfg(&rig);
	rig.rg_cfg.soc_net.son_conns_per_peer = 0;
	rig.rg_ni.ldn_options = "conns_per_peer=2";
	rig_start(&rig, &rig_a);
	assert_int_equal(info(&rig.rg_ni).ldi_conns_per_peer, 0);
}

/* A dial that is not answered ends after the network's time-out, and the next
 * one follows after the network's back-off. */
static void dial_ends_after_timeout_of_option(void **state)
{
	struct rig_stream *ours;

	(void)state;
	start("timeout=3 min_reconnectms=200 max_reconnectms=200");
	send_one();
	ours = rig_dial(&rig);
	assert_non_null(ours);
	rig_pass(&rig, RIG_SECONDS(3) - 1);
	assert_false(ours->rs_hung);
	assert_int_equal(tx.rt_done, 0);
	rig_pass(&rig, M0_TIME_ONE_MSEC);
	assert_true(ours->rs_hung);
	assert_int_equal(tx.rt_done, 1);
	send_one();
	assert_null(rig_dial(&rig));
	assert_int_equal(tx.rt_done, 1);
	rig_pass(&rig, 251 * M0_TIME_ONE_MSEC);
	send_one();
	assert_non_null(rig_dial(&rig));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, NULL, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_read_over_inherited),
		cmocka_unit_test(wrong_options_change_nothing),
		CASE(interfaces_have_their_own),
		CASE(set_has_number_of_option),
		CASE(control_only_goes_before_option),
		CASE(dial_ends_after_timeout_of_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
