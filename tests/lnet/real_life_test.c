/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Lives of real nodes: how they open and close, what they refuse, what becomes
 * of operations when the other dies. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lnet/real_case.h"

enum {
	BYTES = 1 << 20
};

static unsigned char source[BYTES];
static unsigned char sink[BYTES];

/* -- opening --------------------------------------------------------------- */

static int open_fails(const struct m0_lnet_cfg *cfg, const char *word)
{
	struct m0_lnet *lnet = NULL;
	char            why[M0_LNET_WHY_BYTES] = "";
	int             rc = m0_lnet_open(&lnet, cfg, why);

	assert_null(lnet);
	if (strstr(why, word) == NULL)
		print_message("%d: %s\n", rc, why);
	assert_non_null(strstr(why, word));
	assert_int_equal(m0_lnet_open(&lnet, cfg, NULL), rc);
	return rc;
}

/* Impossible configurations are refused with a helpful text, and leave nothing
 * behind. */
static void open_wrong_is_refused(void **state)
{
	struct m0_lnet_cfg cfg;

	real_cfg(&cfg, 3);
	cfg.lc_port = 0;
	assert_int_equal(open_fails(&cfg, "lc_port"), -EINVAL);
	real_cfg(&cfg, 3);
	strcpy(cfg.lc_nets[0].lnc_ifaces[0], "nosuchdev0");
	assert_int_equal(open_fails(&cfg, "nosuchdev0"), -ENODEV);
	strcpy(cfg.lc_nets[0].lnc_ifaces[0], "192.0.2.1");
	assert_int_equal(open_fails(&cfg, "192.0.2.1"), -EADDRNOTAVAIL);
	/* The second interface is taken; the first is given up again. */
	real_cfg(&cfg, 3);
	cfg.lc_inline = real_mode_of(state) != REAL_THREADS;
	cfg.lc_nets[0].lnc_ifaces_nr = 2;
	strcpy(cfg.lc_nets[0].lnc_ifaces[1], "127.0.0.1");
	assert_int_equal(open_fails(&cfg, "127.0.0.1"), -EADDRINUSE);
	assert_int_equal(open_fails(&cfg, "127.0.0.1"), -EADDRINUSE);
}

/* Nodes come and go, several at once. */
static void open_and_close_often(void **state)
{
	struct m0_lnet_cfg cfg;
	struct real_node   node;
	struct real_node   other;
	int                i;

	for (i = 0; i < 10; ++i) {
		real_cfg(&cfg, 3);
		cfg.lc_inline = real_mode_of(state) != REAL_THREADS;
		real_node_open(&node, &cfg);
		real_cfg(&cfg, 4);
		real_node_open(&other, &cfg);
		real_node_close(&node);
		real_node_close(&other);
	}
}

/* A node without a listener can connect, and is answered. */
static void node_without_listener_works(void **state)
{
	struct m0_lnet_probe probe = { .pr_self = m0_lnet_nid_any };
	struct m0_lnet_cfg   cfg;
	struct real_node     node;

	if (real_mode_of(state) != REAL_THREADS)
		return;
	real_cfg(&cfg, 3);
	cfg.lc_accept = M0_LNET_ACCEPT_NONE;
	real_node_open(&node, &cfg);
	probe.pr_nid = re.re_a.rn_nid;
	assert_int_equal(m0_lnet_probe_sync(node.rn_lnet, &probe), 0);
	real_node_close(&node);
}

/* -- arguments ------------------------------------------------------------- */

static void entries_wrong_are_refused(void **state)
{
	struct m0_lnet        *lnet = re.re_a.rn_lnet;
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_handle  handle = { 7, 7 };
	struct m0_lnet_handle  md;
	struct m0_lnet_md_attr attr =
		real_md(NULL, 0, M0_LNET_MD_OP_PUT, &re.re_a.rn_eq);
	struct m0_lnet_event ev;

	(void)state;
	me.mea_portal = 0;
	assert_int_equal(m0_lnet_me_attach(lnet, &me, &handle), -EINVAL);
	me.mea_portal = 64;
	assert_int_equal(m0_lnet_me_attach(lnet, &me, &handle), -EINVAL);
	me.mea_portal = 63;
	me.mea_flags = 0x100;
	assert_int_equal(m0_lnet_me_attach(lnet, &me, &handle), -EINVAL);
	assert_int_equal(m0_lnet_me_unlink(lnet, m0_lnet_handle_none), -ENOENT);
	assert_int_equal(m0_lnet_md_attach(lnet, m0_lnet_handle_none, &attr,
					   &md),
			 -ENOENT);
	me = real_me(1);
	assert_int_equal(m0_lnet_me_attach(lnet, &me, &handle), 0);
	assert_int_equal(m0_lnet_md_attach(lnet, handle, &attr, &md), 0);
	assert_int_equal(m0_lnet_md_attach(lnet, handle, &attr, &md), -EBUSY);
	/* An ME survives its MD, unless it is told otherwise. */
	assert_int_equal(m0_lnet_md_unlink(lnet, md), 0);
	assert_int_equal(m0_lnet_md_unlink(lnet, md), -ENOENT);
	assert_int_equal(m0_lnet_md_attach(lnet, handle, &attr, &md), 0);
	assert_int_equal(m0_lnet_me_unlink(lnet, handle), 0);
	assert_int_equal(m0_lnet_me_unlink(lnet, handle), -ENOENT);
	assert_int_equal(m0_lnet_md_unlink(lnet, md), -ENOENT);
	assert_int_equal(m0_lnet_md_attach(lnet, handle, &attr, &md), -ENOENT);
	real_expect(&re, &re.re_a, M0_LNET_EV_UNLINK, 0, &ev);
	real_expect(&re, &re.re_a, M0_LNET_EV_UNLINK, 0, &ev);
	/* An entry of the other kind than the portal's. */
	me = real_me(2);
	me.mea_id = (struct m0_lnet_process_id){ re.re_b.rn_nid, 12345 };
	assert_int_equal(m0_lnet_me_attach(lnet, &me, &handle), 0);
	assert_int_equal(m0_lnet_md_attach(lnet, handle, &attr, &md), 0);
	real_expect(&re, &re.re_a, M0_LNET_EV_UNLINK, -EPERM, &ev);
	assert_true(ev.ev_unlinked);
	assert_int_equal(m0_lnet_me_unlink(lnet, handle), 0);
}

/* A queue ends its MDs, whose handles are void from then on. */
static void queues_take_many_mds(void **state)
{
	struct m0_lnet        *lnet = re.re_a.rn_lnet;
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_handle  handle;
	struct m0_lnet_handle  md[3];
	struct m0_lnet_md_attr attr =
		real_md(NULL, 0, M0_LNET_MD_OP_PUT, &re.re_a.rn_eq);
	struct m0_lnet_event ev;
	unsigned             i;

	(void)state;
	me.mea_flags = M0_LNET_ME_QUEUE | M0_LNET_ME_UNLINK;
	assert_int_equal(m0_lnet_me_attach(lnet, &me, &handle), -EINVAL);
	me.mea_flags = M0_LNET_ME_QUEUE;
	assert_int_equal(m0_lnet_me_attach(lnet, &me, &handle), 0);
	attr.mda_auto_unlink = false;
	assert_int_equal(m0_lnet_md_attach(lnet, handle, &attr, &md[0]),
			 -EINVAL);
	attr.mda_auto_unlink = true;
	for (i = 0; i < 3; ++i)
		assert_int_equal(m0_lnet_md_attach(lnet, handle, &attr, &md[i]),
				 0);
	assert_int_equal(m0_lnet_md_unlink(lnet, md[1]), 0);
	real_expect(&re, &re.re_a, M0_LNET_EV_UNLINK, 0, &ev);
	assert_int_equal(ev.ev_md.lh_slot, md[1].lh_slot);
	assert_int_equal(m0_lnet_me_unlink(lnet, handle), 0);
	assert_int_equal(m0_lnet_me_unlink(lnet, handle), -ENOENT);
	for (i = 0; i < 3; ++i)
		assert_int_equal(m0_lnet_md_unlink(lnet, md[i]), -ENOENT);
	assert_int_equal(m0_lnet_md_attach(lnet, handle, &attr, &md[0]),
			 -ENOENT);
	real_expect(&re, &re.re_a, M0_LNET_EV_UNLINK, 0, &ev);
	real_expect(&re, &re.re_a, M0_LNET_EV_UNLINK, 0, &ev);
}

static void mds_wrong_are_refused(void **state)
{
	static m0_bcount_t counts[M0_LNET_MD_SEGS_MAX + 1];
	static void       *bufs[M0_LNET_MD_SEGS_MAX + 1];
	struct m0_bufvec   vec = { { M0_LNET_MD_SEGS_MAX + 1, counts }, bufs };
	struct m0_lnet    *lnet = re.re_a.rn_lnet;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_handle  md;

	(void)state;
#define WRONG(...)                                                            \
	do {                                                                  \
		attr = real_md(NULL, 0, 0, NULL);                             \
		__VA_ARGS__;                                                  \
		assert_int_equal(m0_lnet_md_bind(lnet, &attr, &md), -EINVAL); \
	} while (0)
	WRONG(attr.mda_threshold = 0);
	WRONG(attr.mda_threshold = -2);
	WRONG(attr.mda_options = M0_LNET_MD_OP_PUT);
	WRONG(attr.mda_options = M0_LNET_MD_OP_GET);
	WRONG(attr.mda_options = 0x100000);
	WRONG(attr.mda_length = 1);
	WRONG(attr.mda_vec = &vec);
	WRONG(attr.mda_options = M0_LNET_MD_MAX_SIZE; attr.mda_max_size = 1);
	vec.ov_vec.v_nr = 2;
	counts[0] = counts[1] = M0_LNET_MTU;
	WRONG(attr.mda_vec = &vec; attr.mda_length = 2 * M0_LNET_MTU + 1);
#undef WRONG
	attr = real_md(NULL, 0, 0, &re.re_a.rn_cb);
	attr.mda_vec = &vec;
	attr.mda_length = M0_LNET_MTU;
	assert_int_equal(m0_lnet_md_bind(lnet, &attr, &md), 0);
	assert_int_equal(m0_lnet_md_unlink(lnet, md), 0);
	real_log_until(&re, &re.re_a, M0_LNET_EV_UNLINK, 1);
}

static void operations_wrong_are_refused(void **state)
{
	struct m0_lnet        *lnet = re.re_a.rn_lnet;
	struct real_vec        vec;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_op      op;
	struct m0_lnet_handle  md;
	struct m0_lnet_handle  attached;

	(void)state;
	real_vec_init(&vec, source, 100, 100);
	attr = real_md(&vec, 100, 0, &re.re_a.rn_cb);
	md = real_bind(&re.re_a, &attr);
	attr.mda_options = M0_LNET_MD_OP_PUT;
	attached = real_attach(&re.re_a, &me, &attr, NULL);
#define WRONG(handle, rc, ...)                                        \
	do {                                                          \
		op = real_op(&re.re_b, 1);                            \
		__VA_ARGS__;                                          \
		assert_int_equal(m0_lnet_put(lnet, handle, &op), rc); \
		assert_int_equal(m0_lnet_get(lnet, handle, &op), rc); \
	} while (0)
	WRONG(m0_lnet_handle_none, -ENOENT, (void)0);
	WRONG(attached, -EINVAL, (void)0);
	WRONG(md, -EINVAL, op.lo_portal = 64);
	WRONG(md, -EINVAL, op.lo_target.lp_nid = m0_lnet_nid_any);
	WRONG(md, -EINVAL, op.lo_target.lp_pid = M0_LNET_PID_ANY);
	WRONG(md, -EINVAL, op.lo_self = re.re_b.rn_nid);
	WRONG(md, -EINVAL, op.lo_md_offset = 101);
	WRONG(md, -EINVAL, op.lo_md_offset = 1; op.lo_bytes = 100);
	WRONG(md, -EINVAL, op.lo_bytes = UINT64_MAX);
#undef WRONG
	assert_int_equal(m0_lnet_mem_register(lnet, source, 0), -EINVAL);
	assert_int_equal(m0_lnet_mem_register(lnet, source, 1), 0);
	m0_lnet_mem_deregister(lnet, source, 1);
	assert_int_equal(m0_lnet_md_unlink(lnet, md), 0);
	real_log_until(&re, &re.re_a, -1, 1);
	real_vec_fini(&vec);
}

/* Distances, and the NIDs of a node. */
static void distances_are_told(void **state)
{
	struct m0_lnet_process_id id;
	struct m0_lnet_nid        src;
	struct m0_lnet_nid        nid;
	uint32_t                  order;

	(void)state;
	assert_int_equal(m0_lnet_get_id(re.re_a.rn_lnet, 0, &id), 0);
	assert_true(m0_lnet_nid_is_lo(&id.lp_nid));
	assert_int_equal(id.lp_pid, M0_LNET_PID_LUSTRE);
	assert_int_equal(m0_lnet_get_id(re.re_a.rn_lnet, 2, &id), -ENOENT);
	assert_int_equal(m0_lnet_dist(re.re_a.rn_lnet, &m0_lnet_nid_lo, &src,
				      &order),
			 0);
	assert_int_equal(order, 0);
	assert_int_equal(m0_lnet_dist(re.re_a.rn_lnet, &re.re_a.rn_nid, NULL,
				      &order),
			 0);
	assert_int_equal(order, 1);
	assert_int_equal(
		m0_lnet_dist(re.re_a.rn_lnet, &re.re_b.rn_nid, &src, NULL), 1);
	assert_true(m0_lnet_nid_eq(&src, &re.re_a.rn_nid));
	assert_int_equal(m0_lnet_nid_parse(&nid, "10.0.0.1@tcp5"), 0);
	assert_int_equal(m0_lnet_dist(re.re_a.rn_lnet, &nid, NULL, NULL),
			 -EHOSTUNREACH);
}

/* -- probes and pictures --------------------------------------------------- */

static unsigned probes_done_nr;

static void probe_done(struct m0_lnet_probe *probe)
{
	(void)probe;
	__atomic_add_fetch(&probes_done_nr, 1, __ATOMIC_RELEASE);
}

static bool probes_are_done(void *arg)
{
	return __atomic_load_n(&probes_done_nr, __ATOMIC_ACQUIRE) ==
	       *(unsigned *)arg;
}

static void probe_run(struct real_node *node, struct m0_lnet_probe *probe)
{
	unsigned one = 1;

	probes_done_nr = 0;
	probe->pr_done = probe_done;
	assert_int_equal(m0_lnet_probe(node->rn_lnet, probe), 0);
	real_until(&re, probes_are_done, &one);
}

/* Ping and discovery of each other, of oneself, of nobody. */
static void probes_are_answered(void **state)
{
	struct m0_lnet_probe probe = { .pr_self = m0_lnet_nid_any };

	(void)state;
	probe.pr_nid = re.re_b.rn_nid;
	probe_run(&re.re_a, &probe);
	assert_int_equal(probe.pr_status, 0);
	assert_int_equal(probe.pr_nids_nr, 1);
	assert_true(m0_lnet_nid_eq(&probe.pr_primary, &re.re_b.rn_nid));
	assert_int_equal(probe.pr_pid, M0_LNET_PID_LUSTRE);
	probe.pr_kind = M0_LNET_DISCOVER;
	probe.pr_self = re.re_b.rn_nid;
	probe.pr_nid = re.re_a.rn_nid;
	probe_run(&re.re_b, &probe);
	assert_int_equal(probe.pr_status, 0);
	assert_true(probe.pr_multi_rail);
	probe.pr_self = m0_lnet_nid_any;
	probe.pr_kind = M0_LNET_PING;
	probe_run(&re.re_a, &probe);
	assert_int_equal(probe.pr_status, 0);
	assert_int_equal(m0_lnet_nid_parse(&probe.pr_nid, "127.0.0.9@tcp"), 0);
	probe.pr_timeout_ms = 500;
	probe_run(&re.re_a, &probe);
	assert_true(probe.pr_status < 0);
	assert_int_equal(m0_lnet_nid_parse(&probe.pr_nid, "127.0.0.9@tcp9"), 0);
	probe_run(&re.re_a, &probe);
	assert_int_equal(probe.pr_status, -EHOSTUNREACH);
	probe.pr_nid = m0_lnet_nid_any;
	assert_int_equal(m0_lnet_probe(re.re_a.rn_lnet, &probe), -EINVAL);
	probe.pr_nid = re.re_a.rn_nid;
	probe.pr_self = re.re_b.rn_nid;
	assert_int_equal(m0_lnet_probe(re.re_a.rn_lnet, &probe), -EINVAL);
}

/* Blocking calls of an inline node make its progress. */
static void picture_shows_both(void **state)
{
	struct m0_lnet_probe probe = { .pr_self = m0_lnet_nid_any };
	struct m0_lnet_info *info;
	struct m0_lnet_stats st;

	(void)state;
	probe.pr_nid = re.re_a.rn_nid;
	if (re.re_mode == REAL_INLINE)
		probe_run(&re.re_b, &probe);
	else
		assert_int_equal(m0_lnet_probe_sync(re.re_b.rn_lnet, &probe),
				 0);
	assert_int_equal(m0_lnet_info_get(re.re_b.rn_lnet, &info), 0);
	assert_int_equal(info->li_port, real_port());
	assert_int_equal(info->li_pid, M0_LNET_PID_LUSTRE);
	assert_int_equal(info->li_nis_nr, 2);
	assert_true(m0_lnet_nid_is_lo(&info->li_nis[0].nii_nid));
	assert_true(m0_lnet_nid_eq(&info->li_nis[1].nii_nid, &re.re_b.rn_nid));
	assert_true(info->li_nis[1].nii_up);
	assert_string_equal(info->li_nis[1].nii_device, "lo");
	assert_int_equal(info->li_peers_nr, 1);
	assert_true(info->li_stats.ls_send_count > 0);
	m0_lnet_info_free(info);
	m0_lnet_stats_get(re.re_b.rn_lnet, &st);
	assert_true(st.ls_send_count > 0 && st.ls_recv_count > 0);
	m0_lnet_stats_reset(re.re_b.rn_lnet);
	assert_int_equal(m0_lnet_info_get(re.re_b.rn_lnet, &info), 0);
	assert_int_equal(info->li_stats.ls_recv_count, 0);
	m0_lnet_info_free(info);
	m0_lnet_stats_get(re.re_b.rn_lnet, &st);
	assert_int_equal(st.ls_recv_count, 0);
}

/* -- bounds ---------------------------------------------------------------- */

/* A polled queue takes so many messages and no more, and says so. */
static void queue_full_drops_messages(void **state)
{
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_op      op = real_op(&re.re_b, 1);
	struct m0_lnet_md_attr attr;
	struct m0_lnet_handle  md;
	struct m0_lnet_eq      eq;
	struct m0_lnet_event   ev;
	unsigned               nr = 0;
	unsigned               i;

	(void)state;
	m0_lnet_eq_init(&eq, re.re_b.rn_lnet, NULL, 3);
	attr = real_md(NULL, 0, M0_LNET_MD_OP_PUT, &eq);
	md = real_attach(&re.re_b, &me, &attr, NULL);
	me = real_me(2);
	attr.mda_eq = &re.re_b.rn_cb;
	(void)real_attach(&re.re_b, &me, &attr, NULL);
	attr = real_md(NULL, 0, 0, &re.re_a.rn_cb);
	attr.mda_user = &nr;
	{
		struct m0_lnet_handle from = real_bind(&re.re_a, &attr);

		for (i = 0; i < 5; ++i)
			assert_int_equal(
				m0_lnet_put(re.re_a.rn_lnet, from, &op), 0);
		/* One behind them all. */
		op.lo_match_bits = 2;
		assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, from, &op), 0);
	}
	real_log_until(&re, &re.re_b, M0_LNET_EV_PUT, 1);
	assert_int_equal(m0_lnet_md_unlink(re.re_b.rn_lnet, md), 0);
	do {
		while (m0_lnet_eq_get(&eq, &ev) != 0)
			real_turn(&re);
		nr += ev.ev_type == M0_LNET_EV_PUT;
	} while (!ev.ev_unlinked);
	assert_int_equal(nr, 3);
	assert_int_equal(eq.eq_dropped_nr, 2);
	m0_lnet_eq_fini(&eq);
}

static void tune_msgs(struct m0_lnet_cfg *cfg)
{
	cfg->lc_msgs_max = 16;
	cfg->lc_mes_max = 100;
	cfg->lc_mds_max = 100;
}

/* Each bound is met, told, and given back. */
static void bounds_are_kept(void **state)
{
	struct m0_lnet_handle  handles[100];
	struct m0_lnet_handle  mds[100];
	struct m0_lnet_handle  md;
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op;
	unsigned               nr = 0;
	int                    i;

	real_close(&re);
	real_open(&re, real_mode_of(state), tune_msgs);
	for (i = 0; i < 100; ++i)
		assert_int_equal(m0_lnet_me_attach(re.re_a.rn_lnet, &me,
						   &handles[i]),
				 0);
	assert_int_equal(m0_lnet_me_attach(re.re_a.rn_lnet, &me, &md), -ENOSPC);
	attr = real_md(NULL, 0, 0, &re.re_a.rn_cb);
	for (i = 0; i < 100; ++i)
		assert_int_equal(
			m0_lnet_md_bind(re.re_a.rn_lnet, &attr, &mds[i]), 0);
	assert_int_equal(m0_lnet_md_bind(re.re_a.rn_lnet, &attr, &md), -ENOSPC);
	/* A mute peer: nothing matches there, so the answer is waited for. */
	op = real_op(&re.re_b, 1);
	while (m0_lnet_get(re.re_a.rn_lnet, mds[0], &op) == 0)
		++nr;
	assert_int_equal(nr, 14);
	assert_int_equal(m0_lnet_get(re.re_a.rn_lnet, mds[0], &op), -ENOBUFS);
	for (i = 0; i < 100; ++i) {
		assert_int_equal(m0_lnet_md_unlink(re.re_a.rn_lnet, mds[i]), 0);
		assert_int_equal(m0_lnet_me_unlink(re.re_a.rn_lnet, handles[i]),
				 0);
	}
	real_log_until(&re, &re.re_a, M0_LNET_EV_UNLINK, 99);
	while (m0_lnet_md_bind(re.re_a.rn_lnet, &attr, &md) != 0)
		real_turn(&re);
	while (m0_lnet_me_attach(re.re_a.rn_lnet, &me, &handles[0]) != 0)
		real_turn(&re);
	while (m0_lnet_put(re.re_a.rn_lnet, md, &op) != 0)
		real_turn(&re);
	real_log_until(&re, &re.re_a, M0_LNET_EV_SEND, nr + 1);
}

/* Messages of peers that are complete do not reduce the messages of this side:
 * more arrived than this node has messages for. */
static void messages_done_with_leave_room(void **state)
{
	enum {
		NR = 40,
		OWN = 14
	};
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_op      op;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_handle  md;
	unsigned               i;

	real_close(&re);
	real_open(&re, real_mode_of(state), tune_msgs);
	attr = real_md(NULL, 0, M0_LNET_MD_OP_PUT, &re.re_a.rn_cb);
	(void)real_attach(&re.re_a, &me, &attr, NULL);
	attr = real_md(NULL, 0, 0, &re.re_b.rn_cb);
	md = real_bind(&re.re_b, &attr);
	op = real_op(&re.re_a, 1);
	for (i = 0; i < NR;) {
		i += m0_lnet_put(re.re_b.rn_lnet, md, &op) == 0;
		real_turn(&re);
	}
	real_log_until(&re, &re.re_a, M0_LNET_EV_PUT, NR);
	/* Nothing matches there: the answer is waited for. */
	attr = real_md(NULL, 0, 0, &re.re_a.rn_cb);
	md = real_bind(&re.re_a, &attr);
	op = real_op(&re.re_b, 2);
	/* The last that was told may not be done with yet. */
	for (i = 0; i < OWN;) {
		i += m0_lnet_get(re.re_a.rn_lnet, md, &op) == 0;
		real_turn(&re);
	}
	assert_int_equal(m0_lnet_get(re.re_a.rn_lnet, md, &op), -ENOBUFS);
}

/* Messages that the node has taken from peers. */
static uint64_t taken_nr(const struct real_node *node)
{
	struct m0_lnet_stats st;

	m0_lnet_stats_get(node->rn_lnet, &st);
	return st.ls_recv_count;
}

/* Messages that nobody takes hold up those behind them, not what this side
 * does; and all come once they are taken. */
static void messages_held_leave_room(void **state)
{
	enum {
		NR = 40,
		HELD = 14
	};
	struct m0_lnet_me_attr me = real_me(1);
	uint64_t               before;
	struct m0_lnet_op      op;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_handle  md;
	struct m0_lnet_event   ev;
	struct m0_lnet_probe   probe = { .pr_kind = M0_LNET_DISCOVER,
					 .pr_self = m0_lnet_nid_any };
	unsigned               i;

	real_close(&re);
	real_open(&re, real_mode_of(state), tune_msgs);
	/* Or an answer of its own would be among those held up. */
	probe.pr_nid = re.re_a.rn_nid;
	probe_run(&re.re_b, &probe);
	assert_int_equal(probe.pr_status, 0);
	before = taken_nr(&re.re_b);
	op = real_op(&re.re_b, 1);
	attr = real_md(NULL, 0, M0_LNET_MD_OP_PUT, &re.re_b.rn_eq);
	(void)real_attach(&re.re_b, &me, &attr, NULL);
	attr = real_md(NULL, 0, 0, &re.re_a.rn_cb);
	md = real_bind(&re.re_a, &attr);
	for (i = 0; i < NR;) {
		i += m0_lnet_put(re.re_a.rn_lnet, md, &op) == 0;
		real_turn(&re);
	}
	while (taken_nr(&re.re_b) < before + HELD)
		real_turn(&re);
	/* Its own to 0@lo, where nothing matches. */
	attr.mda_eq = &re.re_b.rn_cb;
	md = real_bind(&re.re_b, &attr);
	op.lo_target.lp_nid = re.re_a.rn_nid;
	assert_int_equal(m0_lnet_put(re.re_b.rn_lnet, md, &op), 0);
	real_log_until(&re, &re.re_b, M0_LNET_EV_SEND, 1);
	assert_int_equal(taken_nr(&re.re_b), before + HELD);
	for (i = 0; i < NR; ++i)
		real_expect(&re, &re.re_b, M0_LNET_EV_PUT, 0, &ev);
	real_none(&re.re_b);
}

/* -- ends ------------------------------------------------------------------ */

/* A close that waited for one of them would take longer than CLOSE_MAX_NS. */
static void tune_patient(struct m0_lnet_cfg *cfg)
{
	cfg->lc_transaction_timeout_ms = 60000;
	cfg->lc_timeout_ms = 60000;
}

#define CLOSE_MAX_NS (20 * M0_TIME_ONE_SECOND)

/* A node that is closed with everything outstanding ends it all. */
static void close_ends_everything(void **state)
{
	enum {
		NR = 50
	};
	struct real_vec        vec;
	struct real_vec        bvec;
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op;
	struct m0_lnet_handle  md;
	struct m0_lnet_event   ev;
	m0_time_t              since;
	unsigned               ended = 0;
	unsigned               i;

	real_close(&re);
	real_open(&re, real_mode_of(state), tune_patient);
	op = real_op(&re.re_b, 99);
	real_vec_init(&vec, source, BYTES, BYTES);
	real_vec_init(&bvec, sink, BYTES, BYTES);
	for (i = 0; i < NR; ++i) {
		attr = real_md(&bvec, 10, M0_LNET_MD_OP_PUT,
			       i % 2 == 0 ? &re.re_a.rn_eq : &re.re_a.rn_cb);
		(void)real_attach(&re.re_a, &me, &attr, NULL);
		attr.mda_options = 0;
		md = real_bind(&re.re_a, &attr);
		assert_int_equal(m0_lnet_get(re.re_a.rn_lnet, md, &op), 0);
		attr = real_md(&vec, BYTES, 0, attr.mda_eq);
		md = real_bind(&re.re_a, &attr);
		assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op), 0);
		if (i % 10 == 0)
			real_turn(&re);
	}
	since = m0_time_now();
	m0_lnet_close(re.re_a.rn_lnet);
	assert_true(m0_time_sub(m0_time_now(), since) < CLOSE_MAX_NS);
	/* By callback at once; polled ones can be taken afterwards. */
	for (i = 0; i < re.re_a.rn_log.rl_nr; ++i)
		ended += re.re_a.rn_log.rl_events[i].ev_unlinked;
	assert_int_equal(ended, 3 * NR / 2);
	while (m0_lnet_eq_get(&re.re_a.rn_eq, &ev) == 0)
		ended += ev.ev_unlinked;
	assert_int_equal(ended, 3 * NR);
	assert_int_equal(m0_lnet_eq_wait(&re.re_a.rn_eq, &ev, m0_time_now()),
			 -ETIMEDOUT);
	m0_lnet_eq_fini(&re.re_a.rn_eq);
	m0_lnet_eq_fini(&re.re_a.rn_cb);
	free(re.re_a.rn_log.rl_events);
	re.re_a.rn_lnet = NULL;
	real_vec_fini(&vec);
	real_vec_fini(&bvec);
}

/* A peer that accepts and then says nothing keeps a close no longer. */
static void close_does_not_wait_for_mute_peer(void **state)
{
	struct sockaddr_in     sin = { .sin_family = AF_INET };
	struct real_vec        vec;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op;
	struct m0_lnet_handle  md;
	struct m0_lnet_event   ev;
	m0_time_t              since;
	unsigned               nr = 0;
	int                    fd = socket(AF_INET, SOCK_STREAM, 0);
	int                    i;

	real_close(&re);
	real_open(&re, real_mode_of(state), tune_patient);
	op = real_op(&re.re_b, 1);
	sin.sin_port = htons(real_port());
	assert_true(fd >= 0);
	assert_int_equal(inet_pton(AF_INET, "127.0.0.9", &sin.sin_addr), 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&sin, sizeof sin),
			 0);
	assert_int_equal(listen(fd, 10), 0);
	assert_int_equal(
		m0_lnet_nid_parse(&op.lo_target.lp_nid, "127.0.0.9@tcp"), 0);
	real_vec_init(&vec, source, BYTES, BYTES);
	attr = real_md(&vec, BYTES, 0, &re.re_a.rn_eq);
	md = real_bind(&re.re_a, &attr);
	for (i = 0; i < 3; ++i)
		assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op), 0);
	for (i = 0; i < 100; ++i)
		real_turn(&re);
	real_none(&re.re_a);
	since = m0_time_now();
	m0_lnet_close(re.re_a.rn_lnet);
	assert_true(m0_time_sub(m0_time_now(), since) < CLOSE_MAX_NS);
	while (m0_lnet_eq_get(&re.re_a.rn_eq, &ev) == 0) {
		assert_int_equal(ev.ev_type, M0_LNET_EV_SEND);
		assert_true(ev.ev_status < 0);
		assert_int_equal(ev.ev_unlinked, ++nr == 3);
	}
	assert_int_equal(nr, 3);
	m0_lnet_eq_fini(&re.re_a.rn_eq);
	m0_lnet_eq_fini(&re.re_a.rn_cb);
	free(re.re_a.rn_log.rl_events);
	re.re_a.rn_lnet = NULL;
	real_vec_fini(&vec);
	(void)close(fd);
}

/* Messages to a peer that goes away complete, the next one fails, and the node
 * finds the peer again when it is back. */
static void peer_that_dies_ends_operations(void **state)
{
	enum {
		NR = 5
	};
	struct m0_lnet_cfg     cfg;
	struct real_vec        vec;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op = real_op(&re.re_b, 1);
	struct m0_lnet_handle  md;
	struct m0_lnet_event   ev;
	struct m0_lnet_probe   probe = { .pr_self = m0_lnet_nid_any };
	unsigned               i;

	real_vec_init(&vec, source, BYTES, BYTES);
	attr = real_md(&vec, BYTES, 0, &re.re_a.rn_eq);
	md = real_bind(&re.re_a, &attr);
	op.lo_ack = true;
	for (i = 0; i < NR; ++i)
		assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op), 0);
	real_turn(&re);
	real_node_close(&re.re_b);
	for (i = 0; i < NR;) {
		real_event(&re, &re.re_a, &ev);
		/* Sent or not; no ACK, for nothing matched. */
		i += ev.ev_type == M0_LNET_EV_ACK || ev.ev_status != 0;
		assert_false(ev.ev_type == M0_LNET_EV_ACK && ev.ev_status == 0);
		assert_false(ev.ev_unlinked);
	}
	assert_int_equal(m0_lnet_md_unlink(re.re_a.rn_lnet, md), 0);
	real_expect(&re, &re.re_a, M0_LNET_EV_UNLINK, 0, &ev);
	probe.pr_nid = op.lo_target.lp_nid;
	probe.pr_timeout_ms = 1000;
	probe_run(&re.re_a, &probe);
	assert_true(probe.pr_status < 0);
	real_cfg(&cfg, 2);
	cfg.lc_inline = real_mode_of(state) != REAL_THREADS;
	real_node_open(&re.re_b, &cfg);
	probe.pr_timeout_ms = 3000;
	/* Not before the pause after the attempt that failed is over; until then
	 * the answer is that of the attempt. */
	for (i = 0; i < 100000; ++i) {
		probe_run(&re.re_a, &probe);
		if (probe.pr_status == 0)
			break;
	}
	assert_int_equal(probe.pr_status, 0);
	real_vec_fini(&vec);
}

int main(void)
{
#define CASE(name) REAL_ALL(name, real_setup, real_teardown)
	const struct CMUnitTest tests[] = {
		CASE(open_wrong_is_refused),
		CASE(open_and_close_often),
		CASE(node_without_listener_works),
		CASE(entries_wrong_are_refused),
		CASE(queues_take_many_mds),
		CASE(mds_wrong_are_refused),
		CASE(operations_wrong_are_refused),
		CASE(distances_are_told),
		CASE(probes_are_answered),
		CASE(picture_shows_both),
		CASE(queue_full_drops_messages),
		CASE(bounds_are_kept),
		CASE(messages_done_with_leave_room),
		CASE(messages_held_leave_room),
		CASE(close_ends_everything),
		CASE(close_does_not_wait_for_mute_peer),
		CASE(peer_that_dies_ends_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
