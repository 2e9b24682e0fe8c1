/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Nodes with a second driver, which joins by one row: on its network alone, and
 * beside TCP. */
#include <string.h>

#include "lib/unix_lnd.h"
#include "lnd/table/lnd_table.h"
#include "lnet/real.h"

enum {
	BYTES = 300000
};

static struct real   re;
static unsigned char source[BYTES];
static unsigned char sink[BYTES];

static void both_open(const char *a, const char *b, enum real_mode mode)
{
	struct m0_lnet_cfg cfg;
	char               why[M0_LNET_WHY_BYTES];

	M0_SET0(&re);
	M0_SET0(&unix_lnd_counts);
	re.re_mode = mode;
	real_cfg(&cfg, 1);
	cfg.lc_nets_nr = 0;
	cfg.lc_inline = mode == REAL_INLINE;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, a, why), 0);
	real_node_open(&re.re_a, &cfg);
	cfg.lc_nets_nr = 0;
	cfg.lc_inline = mode != REAL_THREADS;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, b, why), 0);
	real_node_open(&re.re_b, &cfg);
}

static void target_attach(struct real_node *node)
{
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_md_attr attr;
	static struct real_vec vec;

	if (vec.rv_counts == NULL)
		real_vec_init(&vec, sink, BYTES, 100000);
	attr = real_md(&vec, BYTES,
		       M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET |
			       M0_LNET_MD_MANAGE_REMOTE,
		       &node->rn_eq);
	(void)real_attach(node, &me, &attr, NULL);
}

/* A PUT or GET of all bytes from A to this NID of B. */
static void move(const struct m0_lnet_nid *nid, bool get)
{
	struct real_vec        vec;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op = real_op(&re.re_b, 1);
	struct m0_lnet_handle  md;
	struct m0_lnet_event   ev;

	real_vec_init(&vec, source, BYTES, 70000);
	attr = real_md(&vec, BYTES, 0, &re.re_a.rn_eq);
	attr.mda_threshold = 2;
	attr.mda_auto_unlink = true;
	md = real_bind(&re.re_a, &attr);
	op.lo_target.lp_nid = *nid;
	op.lo_ack = true;
	assert_int_equal(get ? m0_lnet_get(re.re_a.rn_lnet, md, &op)
			     : m0_lnet_put(re.re_a.rn_lnet, md, &op),
			 0);
	real_expect(&re, &re.re_b, get ? M0_LNET_EV_GET : M0_LNET_EV_PUT, 0,
		    &ev);
	do {
		real_event(&re, &re.re_a, &ev);
		assert_int_equal(ev.ev_status, 0);
	} while (!ev.ev_unlinked);
	real_vec_fini(&vec);
}

static void put_and_get(const struct m0_lnet_nid *nid)
{
	real_fill(source, BYTES, 3);
	target_attach(&re.re_b);
	move(nid, false);
	assert_memory_equal(sink, source, BYTES);
	memset(source, 0, BYTES);
	move(nid, true);
	assert_memory_equal(sink, source, BYTES);
}

static struct m0_lnet_nid nid_of(const char *text)
{
	struct m0_lnet_nid nid;

	assert_int_equal(m0_lnet_nid_parse(&nid, text), 0);
	return nid;
}

/* Messages both ways; a GET is kept until its REPLY has left, which names it. */
static void second_driver_moves(void **state)
{
	struct m0_lnet_nid nid = nid_of("127.0.0.2@efa");

	both_open("efa(127.0.0.1)", "efa(127.0.0.2)",
		  *(enum real_mode *)*state);
	put_and_get(&nid);
	real_close(&re);
	/* Discovery has made GETs of its own. */
	assert_true(unix_lnd_counts.kept_nr >= 1);
	assert_int_equal(unix_lnd_counts.answers_nr, unix_lnd_counts.kept_nr);
	assert_int_equal(unix_lnd_counts.released_nr, unix_lnd_counts.kept_nr);
	assert_int_equal(unix_lnd_counts.sinks_nr, unix_lnd_counts.kept_nr);
}

/* Two drivers in one node wait in one reactor. */
static void second_driver_beside_tcp(void **state)
{
	struct m0_lnet_nid tcp = nid_of("127.0.0.2@tcp");
	struct m0_lnet_nid efa = nid_of("127.0.0.2@efa1");
	unsigned           i;

	both_open("tcp(127.0.0.1),efa1(127.0.0.1)",
		  "tcp(127.0.0.2),efa1(127.0.0.2)", *(enum real_mode *)*state);
	real_fill(source, BYTES, 3);
	target_attach(&re.re_b);
	for (i = 0; i < 10; ++i) {
		memset(sink, 0, BYTES);
		move(i % 2 == 0 ? &tcp : &efa, false);
		assert_memory_equal(sink, source, BYTES);
	}
	real_close(&re);
}

/* Regions reach each driver once, however often they are registered, and leave
 * it once: when the last registration ends, or the node is closed. */
static void regions_reach_drivers_once(void **state)
{
	struct m0_lnet      *lnet;
	struct m0_lnet_info *info;
	enum real_mode       mode = *(enum real_mode *)*state;

	both_open("efa(127.0.0.1),tcp(127.0.0.1)", "tcp(127.0.0.2)", mode);
	lnet = re.re_a.rn_lnet;
	assert_int_equal(m0_lnet_mem_register(lnet, source, BYTES), 0);
	assert_int_equal(m0_lnet_mem_register(lnet, source, BYTES), 0);
	assert_int_equal(m0_lnet_mem_register(lnet, sink, 100), 0);
	assert_int_equal(m0_lnet_mem_register(lnet, sink, 100), 0);
	m0_lnet_mem_deregister(lnet, source, BYTES);
	m0_lnet_mem_deregister(lnet, source, BYTES);
	/* This call waits for the node, which has done what was posted before. */
	assert_int_equal(m0_lnet_info_get(lnet, &info), 0);
	m0_lnet_info_free(info);
	assert_int_equal(unix_lnd_counts.mems_added_nr, 2);
	assert_int_equal(unix_lnd_counts.mems_deleted_nr, 1);
	assert_ptr_equal(unix_lnd_counts.mem_last.lme_addr, source);
	assert_int_equal(unix_lnd_counts.mem_last.lme_bytes, BYTES);
	assert_int_equal(unix_lnd_counts.mem_last.lme_region, 1);
	real_close(&re);
	assert_int_equal(unix_lnd_counts.mems_added_nr, 2);
	assert_int_equal(unix_lnd_counts.mems_deleted_nr, 2);
	assert_ptr_equal(unix_lnd_counts.mem_last.lme_addr, sink);
	assert_int_equal(unix_lnd_counts.mem_last.lme_region, 2);
}

/* The configuration names what the table has. */
static void table_says_what_networks_there_are(void **state)
{
	struct m0_lnet_cfg cfg;
	char               why[M0_LNET_WHY_BYTES];

	(void)state;
	real_cfg(&cfg, 1);
	assert_int_equal(m0_lnet_cfg_networks(&cfg, "kfi", why), -EINVAL);
	assert_non_null(strstr(
		why, "(tcp to tcp65535, o2ib to o2ib65535, efa to efa65535)"));
	cfg.lc_nets[0].lnc_net = (uint32_t)M0_LNET_TYPE_KFI << 16;
	assert_int_equal(m0_lnet_cfg_check(&cfg, why), -EINVAL);
	assert_non_null(strstr(
		why, "tcp to tcp65535, o2ib to o2ib65535, efa to efa65535"));
}

/* The row of the driver reads its options, whose names nothing else knows. */
static void row_reads_options(void **state)
{
	static const char *const wrong[][2] = {
		{ "efa packets=65",
		  "network efa: packets is \"65\"; accepted: 1 to 64" },
		{ "efa timeout=1",
		  "network efa: there is no option \"timeout\"; accepted: "
		  "packets; on every network: peer_credits, credits, "
		  "peer_timeout, peer_buffer_credits" },
		{ "efa,tcp packets=1",
		  "network tcp: there is no option \"packets\"" },
	};
	struct m0_lnet_cfg cfg;
	struct m0_lnet_nid nid = nid_of("127.0.0.2@efa");
	char               why[M0_LNET_WHY_BYTES];
	size_t             i;

	(void)state;
	real_cfg(&cfg, 1);
	cfg.lc_nets_nr = 0;
	for (i = 0; i < ARRAY_SIZE(wrong); ++i) {
		assert_int_equal(m0_lnet_cfg_networks(&cfg, wrong[i][0], why),
				 -EINVAL);
		assert_memory_equal(why, wrong[i][1], strlen(wrong[i][1]));
		assert_int_equal(cfg.lc_nets_nr, 0);
	}
	both_open("efa(127.0.0.1) packets=2", "efa(127.0.0.2) packets=3",
		  REAL_INLINE);
	assert_int_equal(unix_lnd_counts.packets_max, 3);
	put_and_get(&nid);
	real_close(&re);
}

int main(void)
{
	static enum real_mode threads = REAL_THREADS;
	static enum real_mode inlines = REAL_INLINE;
	static enum real_mode mixed = REAL_MIXED;
#define MODES(name)                                        \
	cmocka_unit_test_prestate(name, &threads),         \
		cmocka_unit_test_prestate(name, &inlines), \
		cmocka_unit_test_prestate(name, &mixed)
	const struct CMUnitTest tests[] = {
		MODES(second_driver_moves),
		MODES(second_driver_beside_tcp),
		MODES(regions_reach_drivers_once),
		cmocka_unit_test(row_reads_options),
		cmocka_unit_test(table_says_what_networks_there_are),
	};

	m0_lnd_row_add(&unix_lnd_row);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
