/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The section node of a configuration file: values that count when a node starts. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "../../../tools/conf/conf_model.h"

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

static void refused(const char *text, unsigned line, unsigned column,
		    const char *words)
{
	struct conf_model model;
	struct conf_fail  fail;

	if (read_text(&model, text, &fail) != -EINVAL)
		fail_msg("accepted: %s", text);
	if (fail.cff_place.cfp_line != line ||
	    fail.cff_place.cfp_column != column ||
	    strstr(fail.cff_text, words) == NULL)
		fail_msg("%s\n%u:%u: %s", text, fail.cff_place.cfp_line,
			 fail.cff_place.cfp_column, fail.cff_text);
	assert_int_equal(model.cmo_nis_nr, 0);
}

/* Each key of the section node sets what its option sets; no other does. */
static void values_of_a_start_are_read(void **state)
{
	static const char *const values[CONF_STARTS_NR] = {
		[CONF_START_ACCEPT] = "none",
		[CONF_START_PORT] = "989",
		[CONF_START_SOURCE_PORTS] = "600-700",
		[CONF_START_PEERS_COLIBRI] = "1",
		[CONF_START_PEER_CREDITS] = "9",
		[CONF_START_CREDITS] = "300",
		[CONF_START_CONNS_PER_PEER] = "2",
		[CONF_START_LND_TIMEOUT] = "51",
		[CONF_START_KEEPALIVE] = "0",
		[CONF_START_LANES] = "2",
		[CONF_START_ROUTER_MEMORY] = "64M",
		[CONF_START_CHECK_INTERVAL] = "61",
		[CONF_START_PING_TIMEOUT] = "52",
		[CONF_START_CHECK_FIRST] = "1",
		[CONF_START_AVOID_ASYM] = "0",
		[CONF_START_USE_DOWN] = "1",
	};
	struct m0_lnet_cfg def;
	struct m0_lnet_cfg cfg;
	struct conf_model  model;
	char               text[128];
	char               said[CONF_START_BYTES];
	uint64_t           value;
	const char        *accepted;
	unsigned           i;
	unsigned           j;

	(void)state;
	m0_lnet_cfg_default(&def);
	for (i = 0; i < CONF_STARTS_NR; ++i) {
		snprintf(text, sizeof text, "node:\n  %s: %s\n",
			 conf_start_name(i), values[i]);
		model = model_of(text);
		for (j = 0; j < CONF_STARTS_NR; ++j)
			assert_int_equal(model.cmo_starts[j].cst_given, j == i);
		m0_lnet_cfg_default(&cfg);
		conf_start_apply(i, model.cmo_starts[i].cst_value, &cfg);
		assert_memory_not_equal(&cfg, &def, sizeof cfg);
		assert_int_equal(m0_lnet_cfg_check(&cfg, NULL), 0);
		/* The printed value is read as the same. */
		(void)conf_start_print(i, model.cmo_starts[i].cst_value, said);
		assert_int_equal(conf_start_read(i, said, &value, &accepted),
				 0);
		assert_int_equal(value, model.cmo_starts[i].cst_value);
		conf_model_fini(&model);
	}
}

static void bad_values_of_a_start_are_refused(void **state)
{
	(void)state;
	refused("node:\n  accept: some\n", 2, 11,
		"accept: 'some' is not accepted; accepted: secure, all, none");
	refused("node: {accept_port: 0}", 1, 21, "accepted: 1 to 65535");
	refused("node: {source_ports: 1-0}", 1, 22, "a range as 512-1023");
	refused("node: {source_ports: 0-9}", 1, 22, "a range as 512-1023");
	refused("node: {source_ports: 7}", 1, 22, "or any");
	refused("node: {source_ports: 1-65536}", 1, 22, "or any");
	refused("node: {router_memory: 3M}", 1, 23, "from 4M to 1T");
	refused("node: {router_memory: much}", 1, 23, "from 4M to 1T");
	refused("node: {keepalive: -1}", 1, 19, "0 to 86400");
	refused("node: {lanes: 65}", 1, 15, "0 to 64");
	refused("node: {keepalive: [1]}", 1, 19, "a single value");
	refused("node: {port: 1}", 1, 8, "key 'port' is not accepted");
	refused("node: 1", 1, 7, "a map");
	refused("routing: {cut_through: 2}", 1, 24, "0 to 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_a_start_are_read),
		cmocka_unit_test(bad_values_of_a_start_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
