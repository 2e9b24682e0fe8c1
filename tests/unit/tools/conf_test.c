/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Configuration files: what is read, refused, printed and compared. */
#include <arpa/inet.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "m0/lnet_route.h"
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

static char *golden(const char *name, size_t *nr)
{
	struct tool_fail fail = { .tf_exit = TOOL_OK };
	char             path[512];
	char            *text;

	snprintf(path, sizeof path, "%s/%s", getenv("CONF_GOLDEN"), name);
	assert_int_equal(conf_file_read(path, &text, nr, &fail), TOOL_OK);
	text = realloc(text, *nr + 1);
	assert_non_null(text);
	text[*nr] = '\0';
	return text;
}

static struct conf_model golden_model(const char *name)
{
	size_t            nr;
	char             *text = golden(name, &nr);
	struct conf_model model = model_of(text);

	free(text);
	return model;
}

static char *printed(const struct conf_model *model, bool with_nids)
{
	char  *text = NULL;
	size_t nr;
	FILE  *file = open_memstream(&text, &nr);

	assert_non_null(file);
	assert_int_equal(conf_print(model, with_nids, file), 0);
	assert_int_equal(fclose(file), 0);
	return text;
}

/* Lists the changes from one model to another, a line for each change. */
static char *changes(const struct conf_model *running,
		     const struct conf_model *want,
		     const struct conf_model *prev)
{
	struct conf_fail why = { .cff_set = false };
	struct conf_plan plan;
	char            *text = NULL;
	size_t           nr;
	FILE            *file = open_memstream(&text, &nr);
	int              rc = conf_plan_make(&plan, running, want, prev, &why);

	assert_non_null(file);
	if (rc == 0)
		conf_plan_print(&plan, false, file);
	else
		fprintf(file, "%u: %s\n", why.cff_place.cfp_line, why.cff_text);
	assert_int_equal(fclose(file), 0);
	if (rc == 0)
		conf_plan_fini(&plan);
	return text;
}

static void changes_are(const char *running, const char *want, bool replace,
			const char *expected)
{
	struct conf_model a = model_of(running);
	struct conf_model b = model_of(want);
	char             *text = changes(&a, &b, replace ? &a : NULL);

	assert_string_equal(text, expected);
	free(text);
	conf_model_fini(&a);
	conf_model_fini(&b);
}

/* ------------------------------------------------------------------- reading */

/* Files that the real tool wrote. */
static void exports_of_lnetctl_are_read(void **state)
{
	struct conf_model model = golden_model("export.yaml");

	(void)state;
	assert_int_equal(model.cmo_nis_nr, 1);
	assert_string_equal(model.cmo_nis[0].cni_iface, "eth1");
	assert_string_equal(model.cmo_nis[0].cni_addr, "192.168.77.2");
	assert_int_equal(
		model.cmo_nis[0].cni_tuns[CONF_CREDITS - CONF_TUN_FIRST], 256);
	assert_int_equal(model.cmo_peers_nr, 4);
	/* The node found it by itself. */
	assert_false(model.cmo_peers[0].cpe_configured);
	assert_int_equal(model.cmo_udsps_nr, 3);
	assert_int_equal(model.cmo_udsps[0].cud_rule.lud_priority, 1);
	assert_int_equal(model.cmo_sets[CONF_RETRY_COUNT - CONF_SETS].cst_value,
			 2);
	assert_int_equal(model.cmo_notes_nr, 0);
	conf_model_fini(&model);
	model = golden_model("export-routed.yaml");
	assert_int_equal(model.cmo_routes_nr, 1);
	assert_int_equal(model.cmo_routes[0].crt_attr.lra_hops, 0);
	assert_int_equal(model.cmo_peers[0].cpe_nids_nr, 1);
	conf_model_fini(&model);
	model = golden_model("routing-show.yaml");
	assert_int_equal(model.cmo_sets[CONF_ENABLE - CONF_SETS].cst_value, 1);
	assert_int_equal(model.cmo_sets[CONF_LARGE - CONF_SETS].cst_value,
			 1024);
	conf_model_fini(&model);
}

/* Networks, peers and rules to the byte; all of it in what it says. */
static void backup_is_printed_as_lnetctl_does(void **state)
{
	size_t            nr;
	char             *text = golden("export-backup.yaml", &nr);
	struct conf_model model = model_of(text);
	char             *ours = printed(&model, false);
	struct conf_model again = model_of(ours);
	size_t lists = (size_t)(strstr(text, "\nglobal:") - text) + 1;
	char  *twice = printed(&again, false);
	char  *rules;

	(void)state;
	assert_memory_equal(ours, text, lists);
	rules = strstr(text, "\nudsp:\n");
	assert_non_null(strstr(ours, "\nudsp:\n"));
	/* The recording ends with an empty line. */
	rules[strlen(rules) - 1] = '\0';
	assert_string_equal(strstr(ours, "\nudsp:\n"), rules);
	assert_non_null(strstr(ours, "\nglobal:\n    discovery: 1\n"));
	assert_string_equal(ours, twice);
	assert_int_equal(again.cmo_udsps_nr, 3);
	assert_memory_equal(&again.cmo_udsps[1].cud_rule,
			    &model.cmo_udsps[1].cud_rule,
			    sizeof again.cmo_udsps[1].cud_rule);
	conf_model_fini(&model);
	conf_model_fini(&again);
	free(text);
	free(ours);
	free(twice);
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

#define NET \
	"net:\n- net type: tcp\n  local NI(s):\n  - interfaces:\n      0: eth0\n"

/* Each with its place. */
static void bad_files_are_refused(void **state)
{
	(void)state;
	refused("nets: 1\n", 1, 1, "key 'nets' is not accepted; accepted: net");
	refused("global:\n  retry: 1\n", 2, 3, "accepted: numa_range");
	refused("global:\n  discovery: 1\n  discovery: 1\n", 3, 3, "twice");
	refused("global:\n  discovery: 2\n", 2, 14,
		"discovery: '2' is not accepted; accepted: 0 to 1");
	refused("global:\n  discovery: [1]\n", 2, 14, "a single value");
	refused("global: 5\n", 1, 9, "a map");
	refused("net: 5\n", 1, 6, "a list");
	refused("- net\n", 1, 1, "not a map");
	refused("net:\n- 5\n", 2, 3, "list of maps");
	refused("route:\n- net: tcp1\n  gateway: 10.0.0.1@tcp\n  hop: 0\n", 4,
		8, "hop: '0' is not accepted; accepted: 1 to 255, or -1");
	refused("net:\n- net type: tpc\n", 2, 13, "a network as tcp");
	refused("net:\n- local NI(s):\n", 2, 3, "'net type' is missing");
	refused("net:\n- net type: gni\n", 2, 3, "gni");
	refused(NET "    CPT: all\n", 6, 10, "CPU partitions");
	refused(NET "    nid: 10.0.0.1@tcp1\n", 6, 10, "of network tcp");
	refused(NET "  - interfaces:\n      0: eth0\n", 7, 10, "line 5");
	refused(NET "  - interfaces:\n      0: eth1\n    tunables:\n"
		    "      credits: 9\n",
		7, 10, "share its tunables");
	refused("net:\n- net type: tcp\n  local NI(s):\n  - interfaces:\n"
		"      1: eth0\n      1: eth1\n",
		6, 7, "ascend");
	refused("net:\n- net type: tcp\n  local NI(s):\n  - interfaces:\n"
		"      0: eth0(1)\n",
		5, 10, "a device");
	refused("route:\n- net: tcp1\n  gateway: 1.2.3.4@tcp1\n", 2, 3,
		"other than lo and tcp1");
	refused("peer:\n- primary nid: 1.2.3.4@tcp\n- primary nid: "
		"1.2.3.4@tcp\n",
		3, 3, "line 2");
	refused("udsp:\n- idx: 0\n", 2, 3, "src");
	refused("udsp:\n- src: tcp\n- src: 10.0.0.300@tcp\n", 3, 8,
		"src is `10.0.0.300@tcp`, character 8: the number is above "
		"255");
	refused("udsp:\n- src: tcp\n  dst: tcp[\n", 3, 8, "dst is `tcp[`");
	refused("udsp:\n- dst: tcp\n  rte: 10.0.0.1\n", 3, 8, "rte is `10.");
	refused("udsp:\n- src: tcp\n  action:\n    priority: 4294967295\n", 4,
		15, "accepted: -1 to 4294967294");
	refused("udsp:\n- src: tcp\n- dst: tcp\n- src: tcp\n  action:\n"
		"    priority: 3\n",
		4, 3, "line 2");
	refused("global:\n  retry_count: 5\n  transaction_timeout: 5\n", 2, 16,
		"less than transaction_timeout");
	refused("global:\n\tdiscovery: 1\n", 2, 1, "a tab");
	refused("global: &a\n  discovery: 1\n", 1, 9, "anchor '&a'");
	refused("global: *a\n", 1, 9, "alias '*a'");
	refused("global: !!map\n  discovery: 1\n", 1, 9, "tag");
	refused("--- 1\n--- 2\n", 2, 1, "second document");
	refused("global:\n  disc\xff: 1\n", 2, 7, "UTF-8");
	refused("global:\n  discovery: \"1\\0\"\n", 2, 14, "NUL");
	refused("global: {discovery: 1\n", 2, 1, "not YAML");
	refused("? [a]\n: b\n", 1, 3, "not accepted as a key");
}

static void bad_lines_of_modprobe_are_refused(void **state)
{
	struct conf_model model;
	struct conf_fail  fail = { .cff_set = false };

	(void)state;
	refused("options lnet network=tcp\n", 1, 14, "no parameter");
	refused("# x\noptions lnet routes=\"tcp1\"\n", 2, 14, "routes: 'tcp1'");
	refused("options lnet routes=\"tcp1 999 10.0.0.1@tcp\"\n", 1, 14,
		"10.0.0.1@tcp' is not accepted: routes: hops are 999; they may "
		"be 1 to 255");
	refused("options lnet networks=\"tcp,tcp\"\n", 1, 14,
		"networks: 'tcp,tcp' is not accepted: networks \"tcp,tcp\": ");
	refused("options lnet \\\n networks=\"tcp(\"\n", 2, 2, "networks");
	refused("options lnet networks=\"tcp\n", 1, 14, "quotation");
	/* No file could name this interface, so an export could not be read. */
	refused("options lnet networks=\"tcp(eth0),tcp1(eth/1)\"\n", 1, 14,
		"networks: 'eth/1' is not accepted; accepted: a device");
	/* As an interface, the byte was accepted, and could not be exported. */
	refused("options lnet networks=tcp(\343th0)\n", 1, 27,
		"the byte 0xe3 is not accepted");
	refused("options lnet networks=tcp(\1)\n", 1, 27, "the byte 0x01");
	refused("options lnet networks=tcp(\177)\n", 1, 27, "the byte 0x7f");
	/* A NUL used to end the line; the bytes behind it were skipped, or read as
	 * another line. */
	assert_int_equal(conf_read(&model, "options lnet networks=tcp\0(a)", 28,
				   &no_locals, &fail),
			 -EINVAL);
	assert_int_equal(fail.cff_place.cfp_column, 26);
	assert_non_null(strstr(fail.cff_text, "the byte 0x00"));
	refused("options lnet networks=tcp ip2nets=\"tcp *.*.*.*\"\n", 1, 27,
		"that matches");
}

/* Its cost has a bound. */
static void deep_and_huge_files_are_refused(void **state)
{
	static char       text[CONF_BYTES_MAX + 2];
	struct conf_model model;
	struct conf_fail  fail = { .cff_set = false };

	(void)state;
	memset(text, '[', 100000);
	assert_int_equal(conf_read(&model, text, 100000, &no_locals, &fail),
			 -EINVAL);
	assert_non_null(strstr(fail.cff_text, "too deeply"));
	assert_int_equal(fail.cff_place.cfp_column, CONF_DEPTH_MAX + 1);
	M0_SET0(&fail);
	memset(text, '\n', sizeof text);
	assert_int_equal(conf_read(&model, text, CONF_BYTES_MAX + 1, &no_locals,
				   &fail),
			 -EINVAL);
	assert_non_null(strstr(fail.cff_text, "at most 8388608"));
	M0_SET0(&fail);
	memset(text, ',', CONF_BYTES_MAX);
	memcpy(text, "statistics: [", 13);
	for (size_t i = 13; i < CONF_BYTES_MAX; i += 2)
		text[i] = '1';
	assert_int_equal(conf_read(&model, text, CONF_BYTES_MAX, &no_locals,
				   &fail),
			 -EINVAL);
	assert_non_null(strstr(fail.cff_text, "too many parts"));
}

/** Asserts that the file may have `max` lines of a list, and no more.
 * @param format  of a line, with two numbers of an address. */
static void lines_are_limited(const char *section, const char *format,
			      unsigned max, const char *words)
{
	struct conf_model model;
	struct conf_fail  fail;
	char             *text;
	size_t            nr;
	FILE             *file;
	unsigned          lines;
	unsigned          i;

	for (lines = max; lines <= max + 1; ++lines) {
		file = open_memstream(&text, &nr);
		assert_non_null(file);
		fprintf(file, "%s:\n", section);
		for (i = 0; i < lines; ++i)
			fprintf(file, format, i / 250, i % 250);
		assert_int_equal(fclose(file), 0);
		assert_int_equal(read_text(&model, text, &fail),
				 lines == max ? 0 : -EINVAL);
		free(text);
		conf_model_fini(&model);
	}
	assert_int_equal(fail.cff_place.cfp_line, max + 2);
	assert_string_equal(fail.cff_text, words);
}

/* The node would refuse them, after much time. */
static void more_than_a_node_has_is_refused(void **state)
{
	(void)state;
	lines_are_limited("route", "- {net: tcp1, gateway: 10.1.%u.%u@tcp}\n",
			  M0_LNET_ROUTES_MAX,
			  "there are more than 1024 routes");
	lines_are_limited("udsp", "- {src: 10.1.%u.%u@tcp}\n",
			  M0_LNET_UDSPS_MAX, "there are more than 16384 rules");
}

/* A value without effect is reported. */
static void ineffective_values_are_noted(void **state)
{
	struct conf_model model = model_of(
		NET "    CPT: \"[0,1]\"\n    lnd tunables:\n      tos: 16\n"
		    "global:\n  response_tracking: 1\nnuma:\n  range: 3\n");

	(void)state;
	assert_int_equal(model.cmo_notes_nr, 4);
	assert_string_equal(model.cmo_notes[0].cnt_text,
			    "tos 16 has no effect");
	assert_int_equal(model.cmo_notes[0].cnt_place.cfp_line, 8);
	conf_model_fini(&model);
}

static void empty_files_say_nothing(void **state)
{
	static const char *const texts[] = { "",
					     "\n# nothing\n",
					     "---\n",
					     "net:\nroute:\n",
					     "ip2nets:\npeer:\nudsp:\n",
					     "routing:\nbuffers:\nglobal:\n",
					     "numa:\nnode:\n" };
	size_t                   i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(texts); ++i) {
		struct conf_model model = model_of(texts[i]);

		assert_int_equal(model.cmo_nis_nr + model.cmo_routes_nr, 0);
		conf_model_fini(&model);
	}
}

/* ------------------------------------------------------- modprobe.d, ip2nets */

static void options_of_modprobe_are_read(void **state)
{
	struct conf_model model = model_of(
		"# of the site\n"
		"options ptlrpc x=1\n"
		"options lnet networks=\"tcp0(eth0, eth1),tcp7(eth2)\" \\\n"
		"  routes='tcp3 2 10.0.0.[1-2]@tcp' forwarding=enabled "
		"accept=all\n"
		"options lnet accept_port=989 lnet_peer_discovery_disabled=1 "
		"lnet_retry_count=1\n"
		"options ksocklnd credits=64 sock_timeout=30 nagle=1\n"
		"alias x y\n");

	(void)state;
	assert_int_equal(model.cmo_nis_nr, 3);
	assert_string_equal(model.cmo_nis[1].cni_iface, "eth1");
	assert_int_equal(model.cmo_nis[2].cni_net,
			 m0_lnet_net(M0_LNET_TYPE_TCP, 7));
	assert_int_equal(
		model.cmo_nis[2].cni_tuns[CONF_CREDITS - CONF_TUN_FIRST], 64);
	assert_int_equal(
		model.cmo_nis[2].cni_tuns[CONF_TIMEOUT - CONF_TUN_FIRST], 30);
	assert_int_equal(model.cmo_routes_nr, 2);
	assert_int_equal(model.cmo_routes[1].crt_attr.lra_hops, 2);
	assert_true(model.cmo_starts[CONF_START_ACCEPT].cst_given);
	assert_int_equal(model.cmo_starts[CONF_START_ACCEPT].cst_value,
			 M0_LNET_ACCEPT_ALL);
	assert_int_equal(model.cmo_starts[CONF_START_PORT].cst_value, 989);
	assert_false(model.cmo_starts[CONF_START_KEEPALIVE].cst_given);
	assert_int_equal(model.cmo_sets[CONF_ENABLE - CONF_SETS].cst_value, 1);
	assert_true(model.cmo_sets[CONF_DISCOVERY - CONF_SETS].cst_given);
	assert_int_equal(model.cmo_sets[CONF_DISCOVERY - CONF_SETS].cst_value,
			 0);
	assert_int_equal(model.cmo_notes_nr, 1);
	conf_model_fini(&model);
}

static struct in_addr ip(const char *text)
{
	struct in_addr ret;

	assert_int_equal(inet_pton(AF_INET, text, &ret), 1);
	return ret;
}

static void ip_expressions_match(void **state)
{
	static const struct {
		const char *pattern;
		int         rc;
	} cases[] = {
		{ "10.1.2.3", 1 },
		{ "*.*.*.*", 1 },
		{ "10.1.2.4", 0 },
		{ "10.[0-4].2.*", 1 },
		{ "10.1.2.[1-9/2]", 1 },
		{ "10.1.2.[2-9/2]", 0 },
		{ "10.1.2.[1,3]", 1 },
		{ "10.1.2.[1,4-9]", 0 },
		{ "10.1.2", -EINVAL },
		{ "10.1.2.3.4", -EINVAL },
		{ "10.1.2.256", -EINVAL },
		{ "10.1.2.[3", -EINVAL },
		{ "10.1.2.[5-3]", -EINVAL },
		{ "10.1.2.[1-3/0]", -EINVAL },
		{ "", -EINVAL },
		{ "10.1.2.*x", -EINVAL },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); ++i)
		assert_int_equal(conf_ip_match(cases[i].pattern,
					       ip("10.1.2.3")),
				 cases[i].rc);
}

/* Both forms look at the addresses of the host. */
static void ip2nets_choose_networks(void **state)
{
	static const char yaml[] = "ip2nets:\n"
				   "- net-spec: tcp1\n"
				   "  ip-range:\n"
				   "    0: 10.1.*.*\n"
				   "- net-spec: tcp2\n"
				   "  interfaces:\n"
				   "    0: eth0, eth1\n";
	static const char options[] =
		"options lnet ip2nets=\"tcp1(eth1) 10.1.[1-3].*; # no\n"
		"tcp2 192.*.*.* ; tcp3 11.*.*.*,\"\n";
	static const char two[] =
		"options lnet ip2nets=\"tcp1(eth1) 10.1.[1-3].*; tcp2 "
		"192.*.*.*;tcp3 9.*.*.*\"";
	struct conf_locals locals = { .cfs_nr = 2 };
	struct conf_fail   fail = { .cff_set = false };
	struct conf_model  model;

	(void)state;
	strcpy(locals.cfs_locals[0].cfl_iface, "eth0");
	locals.cfs_locals[0].cfl_addr = ip("192.168.0.1");
	strcpy(locals.cfs_locals[1].cfl_iface, "eth1");
	locals.cfs_locals[1].cfl_addr = ip("10.1.2.3");
	assert_int_equal(conf_read(&model, yaml, strlen(yaml), &locals, &fail),
			 0);
	assert_int_equal(model.cmo_nis_nr, 3);
	assert_string_equal(model.cmo_nis[0].cni_addr, "10.1.2.3");
	assert_string_equal(model.cmo_nis[1].cni_iface, "eth0");
	conf_model_fini(&model);
	/* The last expression has a comma. */
	assert_int_equal(conf_read(&model, options, strlen(options), &locals,
				   &fail),
			 -EINVAL);
	assert_non_null(strstr(fail.cff_text, "11.*.*.*,"));
	M0_SET0(&fail);
	assert_int_equal(conf_read(&model, two, strlen(two), &locals, &fail),
			 0);
	assert_int_equal(model.cmo_nis_nr, 2);
	assert_string_equal(model.cmo_nis[0].cni_iface, "eth1");
	assert_int_equal(model.cmo_nis[1].cni_net,
			 m0_lnet_net(M0_LNET_TYPE_TCP, 2));
	conf_model_fini(&model);
	M0_SET0(&fail);
	assert_int_equal(conf_read(&model, yaml, strlen(yaml), &no_locals,
				   &fail),
			 -EINVAL);
	assert_int_equal(fail.cff_place.cfp_line, 1);
}

/* ------------------------------------------------------------------- changes */

#define HAS                                                                   \
	"net:\n- net type: tcp\n  local NI(s):\n  - nid: 10.0.0.1@tcp\n"      \
	"    interfaces:\n      0: eth0\n    tunables:\n      credits: 256\n" \
	"  - nid: 10.0.0.2@tcp\n    interfaces:\n      0: eth1\n"             \
	"    tunables:\n      credits: 256\n"                                 \
	"route:\n- net: tcp9\n  gateway: 10.0.0.9@tcp\n"                      \
	"peer:\n- primary nid: 10.0.0.5@tcp\n  Multi-Rail: true\n"            \
	"  peer ni:\n  - nid: 10.0.0.5@tcp\n  - nid: 10.0.0.6@tcp\n"          \
	"routing:\n  enable: 0\nbuffers:\n  tiny: 512\n"                      \
	"global:\n  retry_count: 2\n  transaction_timeout: 50\n"              \
	"  health_sensitivity: 100\n"

static void no_change_is_none(void **state)
{
	(void)state;
	changes_are(HAS, HAS, true, "");
	changes_are(HAS, "", true, "");
	/* By the device, or without a name. */
	changes_are(HAS, NET, false, "");
	changes_are(HAS, "net:\n- net type: tcp\n", false, "");
}

static void additions_leave_the_rest(void **state)
{
	(void)state;
	changes_are(
		HAS,
		"net:\n- net type: tcp1\n  local NI(s):\n  - interfaces:\n"
		"      0: eth2\n    lnd tunables:\n      conns_per_peer: 2\n"
		"peer:\n- primary nid: 10.0.0.5@tcp\n  peer ni:\n"
		"  - nid: 10.0.0.7@tcp\n"
		"- primary nid: 10.0.0.8@tcp\n  Multi-Rail: False\n"
		"route:\n- net: tcp8\n  gateway: 10.0.0.9@tcp1\n  hop: 2\n"
		"buffers:\n  tiny: 1\nrouting:\n- enable: 1\n",
		false,
		"+ net tcp1(eth2) conns_per_peer=2\n"
		"~ buffers tiny 512 -> 2\n"
		"+ peer 10.0.0.5@tcp NIDs 10.0.0.7@tcp\n"
		"+ peer 10.0.0.8@tcp not Multi-Rail\n"
		"+ route tcp8 by 10.0.0.9@tcp1 hop 2\n"
		"~ routing enable 0 -> 1\n");
	changes_are(HAS,
		    "net:\n- net type: tcp\n  local NI(s):\n  - interfaces:\n"
		    "      0: eth2\n",
		    false, "+ net tcp(eth2)\n");
}

static void replacement_removes_what_sections_lack(void **state)
{
	(void)state;
	changes_are(HAS, NET "route:\n", true,
		    "- route tcp9 by 10.0.0.9@tcp\n- net tcp(10.0.0.2)\n");
	changes_are(HAS,
		    "peer:\n- primary nid: 10.0.0.5@tcp\n  Multi-Rail: false\n",
		    true,
		    "- peer 10.0.0.5@tcp NIDs 10.0.0.6@tcp\n"
		    "+ peer 10.0.0.5@tcp not Multi-Rail\n");
	changes_are(HAS, "peer:\n- primary nid: 10.0.0.5@tcp\n", true,
		    "- peer 10.0.0.5@tcp NIDs 10.0.0.6@tcp\n");
	changes_are(HAS,
		    "route:\n- net: tcp9\n  gateway: 10.0.0.9@tcp\n"
		    "  priority: 1\n",
		    false,
		    "- route tcp9 by 10.0.0.9@tcp\n"
		    "+ route tcp9 by 10.0.0.9@tcp priority 1\n");
}

/* The change keeps the interfaces that the file does not have. */
static void tunables_change_with_the_network(void **state)
{
	(void)state;
	changes_are(HAS, NET "    tunables:\n      credits: 8\n", false,
		    "- net tcp(10.0.0.1,10.0.0.2) credits=256\n"
		    "+ net tcp(10.0.0.1,10.0.0.2) credits=8\n");
}

/* Each value is accepted with those before it. */
static void parameters_change_in_order(void **state)
{
	(void)state;
	changes_are(HAS,
		    "global:\n  retry_count: 60\n  transaction_timeout: "
		    "90\n",
		    false,
		    "~ global transaction_timeout 50 -> 90\n"
		    "~ global retry_count 2 -> 60\n");
	changes_are(HAS,
		    "global:\n  retry_count: 1\n  transaction_timeout: "
		    "2\n",
		    false,
		    "~ global retry_count 2 -> 1\n"
		    "~ global transaction_timeout 50 -> 2\n");
	changes_are(HAS, "global:\n  health_sensitivity: 0\n", false,
		    "~ global retry_count 2 -> 0\n"
		    "~ global health_sensitivity 100 -> 0\n");
	changes_are(HAS, "global:\n  transaction_timeout: 2\n", false,
		    "2: retry_count 2 with transaction_timeout 2 is not "
		    "accepted; accepted: a count less than the time-out\n");
}

/* Nothing is planned, not even what fits. */
static void files_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	changes_are(HAS, "route:\n- net: tcp8\n  gateway: 10.0.0.9@tcp4\n",
		    false,
		    "2: gateway: '10.0.0.9@tcp4' is not accepted; accepted: a "
		    "NID on a network of the node, and it is not on tcp4\n");
	changes_are(HAS,
		    "route:\n- net: tcp\n  gateway: 10.0.0.9@tcp4\n"
		    "net:\n- net type: tcp4\n",
		    false,
		    "2: net: 'tcp' is not accepted; accepted: a network that "
		    "the node is not on\n");
	/* As the module parameter, which every node of a site may have. */
	changes_are(HAS, "options lnet routes=\"tcp 10.0.0.9@tcp4\"", false,
		    "");
	/* An export has the node itself among its peers. */
	changes_are(HAS, "peer:\n- primary nid: 10.0.0.1@tcp\n", false, "");
}

#define NETS "net:\n- net type: tcp\n  local NI(s):\n  - nid: 10.0.0.1@tcp\n"
#define IDLE "route:\n- net: tcp9\n  gateway: 10.5.0.9@tcp5\n"

/* The node has left the network of the gateway, and keeps the route. */
static void route_without_a_network_stays(void **state)
{
	(void)state;
	changes_are(NETS IDLE, NETS IDLE, true, "");
	changes_are(NETS IDLE, NETS IDLE "  hop: 2\n", true,
		    "6: gateway: '10.5.0.9@tcp5' is not accepted; accepted: a "
		    "NID on a network of the node, and it is not on tcp5\n");
	/* A route is refused before its network is there and after it has gone, so
	 * the inverse changes are made in the other order. */
	changes_are(NETS IDLE,
		    NETS "- net type: tcp5\n  local NI(s):\n"
			 "  - nid: 10.5.0.1@tcp5\nroute:\n",
		    true,
		    "+ net tcp5(10.5.0.1)\n"
		    "- route tcp9 by 10.5.0.9@tcp5\n");
	/* A file that takes the network away is refused as before. */
	changes_are(NETS "- net type: tcp5\n  local NI(s):\n"
			 "  - nid: 10.5.0.1@tcp5\n" IDLE,
		    NETS IDLE, true,
		    "6: gateway: '10.5.0.9@tcp5' is not accepted; accepted: a "
		    "NID on a network of the node, and it is not on tcp5\n");
}

#define A "- src: tcp\n  action:\n    priority: 1\n"
#define B "- dst: tcp1\n"
#define C "- src: 10.0.0.1@tcp\n  dst: 10.0.0.[2-3]@tcp\n"
#define D "- dst: '*@tcp2'\n  rte: 10.0.0.9@tcp\n  idx: "

static void rules_are_compared_in_order(void **state)
{
	(void)state;
	changes_are("udsp:\n" A B C, "udsp:\n" A B C, true, "");
	changes_are("udsp:\n" A B C, "global:\n", true, "");
	changes_are("udsp:\n" A B C, "udsp:\n" C A, false, "");
	changes_are("udsp:\n" A B C, "udsp:\n", true,
		    "- udsp 2 src 10.0.0.1@tcp dst 10.0.0.[2-3]@tcp\n"
		    "- udsp 1 dst tcp1 priority 0\n"
		    "- udsp 0 src tcp priority 1\n");
	changes_are("udsp:\n" A B C, "udsp:\n" A C B, true,
		    "- udsp 1 dst tcp1 priority 0\n"
		    "+ udsp 2 dst tcp1 priority 0\n");
	/* One rule goes from the front to the end, and two stay. */
	changes_are("udsp:\n" A B C, "udsp:\n" B C A, true,
		    "- udsp 0 src tcp priority 1\n"
		    "+ udsp 2 src tcp priority 1\n");
	changes_are("udsp:\n" A B, "udsp:\n" D "1\n", false,
		    "+ udsp 1 dst *@tcp2 rte 10.0.0.9@tcp\n");
	changes_are("udsp:\n" A B, "udsp:\n" D "9\n", false,
		    "+ udsp 2 dst *@tcp2 rte 10.0.0.9@tcp\n");
	changes_are("udsp:\n" A B, "udsp:\n- src: tcp\n", false,
		    "- udsp 0 src tcp priority 1\n"
		    "+ udsp 0 src tcp priority 0\n");
}

/* A rule that neither file has stays where it is. */
static void rules_of_others_stay(void **state)
{
	struct conf_model running = model_of("udsp:\n" A B C);
	struct conf_model prev = model_of("udsp:\n" A C);
	struct conf_model want = model_of("udsp:\n" D "0\n" C);
	char             *text = changes(&running, &want, &prev);

	(void)state;
	assert_string_equal(text, "- udsp 0 src tcp priority 1\n"
				  "+ udsp 0 dst *@tcp2 rte 10.0.0.9@tcp\n");
	free(text);
	conf_model_fini(&running);
	conf_model_fini(&prev);
	conf_model_fini(&want);
}

#undef A
#undef B
#undef C
#undef D

static void inversion_swaps(void **state)
{
	struct conf_change change = { .ccg_kind = CONF_CHANGE_SET,
				      .ccg_set = 2,
				      .ccg_old = 1,
				      .ccg_new = 4 };
	struct conf_change back;
	char               text[CONF_CHANGE_BYTES];

	(void)state;
	conf_change_invert(&back, &change);
	conf_change_print(&back, text);
	assert_string_equal(text, "~ global retry_count 4 -> 1");
	assert_string_equal(conf_change_section(&back), "global");
	change.ccg_kind = CONF_CHANGE_ROUTE;
	conf_change_invert(&back, &change);
	assert_true(back.ccg_add);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exports_of_lnetctl_are_read),
		cmocka_unit_test(backup_is_printed_as_lnetctl_does),
		cmocka_unit_test(bad_files_are_refused),
		cmocka_unit_test(bad_lines_of_modprobe_are_refused),
		cmocka_unit_test(deep_and_huge_files_are_refused),
		cmocka_unit_test(more_than_a_node_has_is_refused),
		cmocka_unit_test(ineffective_values_are_noted),
		cmocka_unit_test(empty_files_say_nothing),
		cmocka_unit_test(options_of_modprobe_are_read),
		cmocka_unit_test(ip_expressions_match),
		cmocka_unit_test(ip2nets_choose_networks),
		cmocka_unit_test(no_change_is_none),
		cmocka_unit_test(rules_are_compared_in_order),
		cmocka_unit_test(rules_of_others_stay),
		cmocka_unit_test(additions_leave_the_rest),
		cmocka_unit_test(replacement_removes_what_sections_lack),
		cmocka_unit_test(tunables_change_with_the_network),
		cmocka_unit_test(parameters_change_in_order),
		cmocka_unit_test(files_that_do_not_fit_are_refused),
		cmocka_unit_test(route_without_a_network_stays),
		cmocka_unit_test(inversion_swaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
