/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Tunables of net o2ib in configuration files. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../../../tools/conf/conf_file.h"

static const struct conf_locals no_locals;

static int read_text(struct conf_model *model, const char *text,
		     struct conf_fail *fail)
{
	M0_SET0(fail);
	return conf_read(model, text, strlen(text), &no_locals, fail);
}

/* A model of text that is accepted. */
static struct conf_model model_of(const char *text)
{
	struct conf_model model;
	struct conf_fail  fail;

	if (read_text(&model, text, &fail) != 0)
		fail_msg("%u:%u: %s", fail.cff_place.cfp_line,
			 fail.cff_place.cfp_column, fail.cff_text);
	return model;
}

static void refused(const char *text, const char *words)
{
	struct conf_model model;
	struct conf_fail  fail;

	assert_int_equal(read_text(&model, text, &fail), -EINVAL);
	if (strstr(fail.cff_text, words) == NULL)
		fail_msg("%s", fail.cff_text);
}

/* The options of a network, as its driver gets them. */
static void options_are(const struct conf_model *model, uint32_t net,
			const char *expected)
{
	struct m0_lnet_net_cfg cfg;

	conf_net_cfg(model, net, &cfg);
	assert_string_equal(cfg.lnc_options, expected);
}

static uint32_t o2ib(uint16_t number)
{
	return m0_lnet_net(M0_LNET_TYPE_O2IB, number);
}

/* An export of a kernel's node. */
#define FABRIC(tunables)                                                \
	"net:\n- net type: o2ib\n  local NI(s):\n  - interfaces:\n"     \
	"      0: ib0\n    tunables:\n      peer_credits: 8\n"          \
	"    lnd tunables:\n      peercredits_hiw: 4\n"                 \
	"      map_on_demand: 1\n      concurrent_sends: 8\n"           \
	"      fmr_pool_size: 512\n      fmr_flush_trigger: 384\n"      \
	"      fmr_cache: 1\n      ntx: 512\n      conns_per_peer: 1\n" \
	"      timeout: 50\n" tunables "    CPT: \"[0]\"\n"

static void an_export_of_a_kernel_is_read(void **state)
{
	struct conf_model model = model_of(FABRIC("      tos: -1\n"));

	(void)state;
	assert_int_equal(model.cmo_notes_nr, 0);
	options_are(&model, o2ib(0), "conns_per_peer=1 timeout=50");
	conf_model_fini(&model);
}

static void tunables_are_options(void **state)
{
	struct conf_model model =
		model_of(FABRIC("      tos: 0\n      service: 1987\n"
				"      ack_timeout: 18\n"
				"      get_req: 1\n"));

	(void)state;
	assert_int_equal(model.cmo_notes_nr, 0);
	options_are(&model, o2ib(0),
		    "conns_per_peer=1 timeout=50 service=1987 "
		    "ack_timeout=18 tos=0 get_req=1");
	conf_model_fini(&model);
	refused(FABRIC("      ack_timeout: 32\n"),
		"ack_timeout: '32' is not accepted; accepted: 0 to 31");
}

/* Sockets have none of them. */
static void those_of_sockets_are_noted(void **state)
{
	struct conf_model model = model_of(
		"net:\n- net type: tcp\n  local NI(s):\n  - interfaces:\n"
		"      0: eth0\n    lnd tunables:\n      service: 1987\n");

	(void)state;
	options_are(&model, m0_lnet_net(M0_LNET_TYPE_TCP, 0), "");
	assert_int_equal(model.cmo_notes_nr, 1);
	assert_string_equal(model.cmo_notes[0].cnt_text,
			    "service 1987 has no effect");
	conf_model_fini(&model);
}

static void tunables_are_printed_as_read(void **state)
{
	struct conf_model model = model_of(FABRIC("      tos: 106\n"
						  "      service: 1987\n"
						  "      ack_timeout: 18\n"
						  "      get_req: 1\n"));
	struct conf_model again;
	char             *text = NULL;
	size_t            nr;
	FILE             *file = open_memstream(&text, &nr);

	(void)state;
	assert_non_null(file);
	assert_int_equal(conf_print(&model, false, file), 0);
	assert_int_equal(fclose(file), 0);
	again = model_of(text);
	assert_int_equal(again.cmo_nis_nr, 1);
	assert_memory_equal(again.cmo_nis[0].cni_tuns,
			    model.cmo_nis[0].cni_tuns,
			    sizeof again.cmo_nis[0].cni_tuns);
	free(text);
	conf_model_fini(&again);
	conf_model_fini(&model);
}

/* A network that goes and comes again, for another tunable, keeps them. */
static void tunables_are_kept(void **state)
{
	struct conf_model running = model_of(FABRIC("      tos: 106\n"
						    "      service: 1987\n"));
	struct conf_model want = model_of(
		"net:\n- net type: o2ib\n  local NI(s):\n  - interfaces:\n"
		"      0: ib0\n    lnd tunables:\n      timeout: 60\n");
	struct conf_fail why = { .cff_set = false };
	struct conf_plan plan;
	char            *text = NULL;
	size_t           nr;
	FILE            *file = open_memstream(&text, &nr);

	(void)state;
	assert_non_null(file);
	assert_int_equal(conf_plan_make(&plan, &running, &want, NULL, &why), 0);
	conf_plan_print(&plan, false, file);
	assert_int_equal(fclose(file), 0);
	assert_non_null(strstr(text, "+ net o2ib(ib0)"));
	assert_non_null(strstr(text, "timeout=60 service=1987 tos=106\n"));
	free(text);
	conf_plan_fini(&plan);
	conf_model_fini(&running);
	conf_model_fini(&want);
}

/* Each module has the networks of its type. */
static void options_of_modprobe_are_by_module(void **state)
{
	struct conf_model model =
		model_of("options lnet networks=\"tcp0(eth0),o2ib1(ib0)\" "
			 "peer_buffer_credits=5\n"
			 "options ksocklnd credits=64 sock_timeout=30\n"
			 "options ko2iblnd peer_credits=32 peer_credits_hiw=16 "
			 "service=1987 timeout=60 \\\n  tos=106 ntx=2048 "
			 "map_on_demand=256 conns_per_peer=4\n");
	const uint32_t *tcp = model.cmo_nis[0].cni_tuns;
	const uint32_t *ib = model.cmo_nis[1].cni_tuns;

	(void)state;
	assert_int_equal(model.cmo_nis_nr, 2);
	assert_int_equal(tcp[CONF_CREDITS - CONF_TUN_FIRST], 64);
	assert_int_equal(tcp[CONF_PEER_CREDITS - CONF_TUN_FIRST], 0);
	assert_int_equal(ib[CONF_CREDITS - CONF_TUN_FIRST], 0);
	assert_int_equal(ib[CONF_PEER_CREDITS - CONF_TUN_FIRST], 32);
	assert_int_equal(tcp[CONF_PEER_BUFFER_CREDITS - CONF_TUN_FIRST], 5);
	assert_int_equal(ib[CONF_PEER_BUFFER_CREDITS - CONF_TUN_FIRST], 5);
	options_are(&model, m0_lnet_net(M0_LNET_TYPE_TCP, 0), "timeout=30");
	options_are(&model, o2ib(1),
		    "conns_per_peer=4 timeout=60 service=1987 tos=106");
	assert_int_equal(model.cmo_notes_nr, 3);
	assert_string_equal(model.cmo_notes[0].cnt_text,
			    "peer_credits_hiw has no effect");
	conf_model_fini(&model);
	refused("options ko2iblnd sock_timeout=3\n",
		"'sock_timeout' is no parameter of module ko2iblnd");
	refused("options ko2iblnd tos=256\n",
		"tos: '256' is not accepted; accepted: -1 to 255");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_export_of_a_kernel_is_read),
		cmocka_unit_test(tunables_are_options),
		cmocka_unit_test(those_of_sockets_are_noted),
		cmocka_unit_test(tunables_are_printed_as_read),
		cmocka_unit_test(tunables_are_kept),
		cmocka_unit_test(options_of_modprobe_are_by_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
