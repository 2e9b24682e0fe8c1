/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Nodes of LNet: every call of m0/lnet.h and its neighbours that may ask for
 * memory, there and at the peer. */
#include "fail/fail.h"
#include "fail/fail_ends.h"

#include "m0/lnet.h"
#include "m0/lnet_explain.h"
#include "m0/lnet_fault.h"
#include "m0/lnet_route.h"
#include "m0/lnet_tap.h"
#include "m0/lnet_udsp.h"
#include "m0/lnet_tune.h"
#include "m0/lnet_run.h"

enum {
	PORTAL = 30,
	BITS = 7,
	BYTES = 70000
};

static struct m0_lnet   *nodes[2];
static struct m0_lnet_eq eqs[2];
static uint8_t           from[BYTES];
static uint8_t           to[BYTES];

/* Memory as a vector. */
struct flat {
	void            *fla_addr;
	m0_bcount_t      fla_bytes;
	struct m0_bufvec fla_vec;
};

static struct flat flats[2];

static void flat_init(struct flat *flat, void *addr)
{
	flat->fla_addr = addr;
	flat->fla_bytes = BYTES;
	flat->fla_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&flat->fla_addr,
							     &flat->fla_bytes);
}

static struct m0_lnet_md_attr md_attr(unsigned i, int32_t threshold,
				      unsigned options)
{
	return (struct m0_lnet_md_attr){
		.mda_vec = &flats[i].fla_vec,
		.mda_length = BYTES,
		.mda_threshold = threshold,
		.mda_options = options,
		.mda_auto_unlink = true,
		.mda_eq = &eqs[i],
	};
}

/* -- entries --------------------------------------------------------------- */

static bool eq_has(void *arg)
{
	const struct m0_lnet_eq *eq = arg;

	return eq->eq_first != NULL;
}

/* The MD of an entry has ended at once, if it is not there. */
static int entry_outcome(void)
{
	struct m0_lnet_event ev;

	m0_sim_run_ms(fail_sim(), 1);
	if (m0_lnet_eq_get(&eqs[1], &ev) != 0)
		return 0;
	assert_int_equal(ev.ev_type, M0_LNET_EV_UNLINK);
	assert_true(ev.ev_unlinked);
	return ev.ev_status;
}

static const struct m0_lnet_me_attr me_attr = {
	.mea_portal = PORTAL,
	.mea_id = { .lp_pid = M0_LNET_PID_ANY },
	.mea_match_bits = BITS,
};

static struct m0_lnet_md_attr window_attr(void)
{
	return md_attr(1, M0_LNET_MD_THRESHOLD_INF,
		       M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET |
			       M0_LNET_MD_MANAGE_REMOTE);
}

static int window_attach(struct m0_lnet_handle me)
{
	struct m0_lnet_md_attr attr = window_attr();
	struct m0_lnet_handle  md;
	int                    rc = m0_lnet_md_attach(nodes[1], me, &attr, &md);

	return rc != 0 ? rc : entry_outcome();
}

static int entry_attach(struct m0_lnet_handle *md)
{
	struct m0_lnet_me_attr me = me_attr;
	struct m0_lnet_md_attr attr = window_attr();
	int                    rc;

	me.mea_id.lp_nid = m0_lnet_nid_any;
	me.mea_flags = M0_LNET_ME_UNLINK;
	me.mea_match_bits = BITS + 1;
	rc = m0_lnet_entry_attach(nodes[1], &me, &attr, md);
	return rc != 0 ? rc : entry_outcome();
}

/* -- operations ------------------------------------------------------------ */

static struct m0_lnet_op op_of(void)
{
	struct m0_lnet_op op = {
		.lo_self = m0_lnet_nid_any,
		.lo_portal = PORTAL,
		.lo_match_bits = BITS,
		.lo_ack = true,
	};

	assert_int_equal(m0_lnet_get_id(nodes[1], 1, &op.lo_target), 0);
	return op;
}

/* All events of an MD. @return the first failure. */
static int md_outcome(struct m0_lnet_handle md, bool unlink)
{
	struct m0_lnet_event ev;
	int                  rc = 0;

	do {
		FAIL_UNTIL(eq_has, &eqs[0]);
		assert_int_equal(m0_lnet_eq_get(&eqs[0], &ev), 0);
		if (rc == 0 && ev.ev_type != M0_LNET_EV_UNLINK)
			rc = ev.ev_status;
		/* The MD waits for an answer that does not come. */
		if (ev.ev_status != 0 && !ev.ev_unlinked && unlink) {
			(void)m0_lnet_md_unlink(nodes[0], md);
			unlink = false;
		}
	} while (!ev.ev_unlinked);
	return rc;
}

static int operation(bool get, bool at_once)
{
	struct m0_lnet_md_attr attr = md_attr(0, 2, 0);
	struct m0_lnet_op      op = op_of();
	struct m0_lnet_handle  md;
	int                    rc;

	if (at_once) {
		rc = get ? m0_lnet_bind_get(nodes[0], &attr, &op, &md)
			 : m0_lnet_bind_put(nodes[0], &attr, &op, &md);
		return rc != 0 ? rc : md_outcome(md, true);
	}
	FAIL_TRY(m0_lnet_md_bind(nodes[0], &attr, &md));
	rc = get ? m0_lnet_get(nodes[0], md, &op)
		 : m0_lnet_put(nodes[0], md, &op);
	if (rc == 0)
		return md_outcome(md, true);
	assert_int_equal(m0_lnet_md_unlink(nodes[0], md), 0);
	assert_int_equal(md_outcome(md, false), 0);
	return rc;
}

static int probe(enum m0_lnet_probe_kind kind)
{
	struct m0_lnet_probe      probe = { .pr_kind = kind,
					    .pr_self = m0_lnet_nid_any,
					    .pr_timeout_ms = 1000,
					    .pr_force = true };
	struct m0_lnet_process_id id;

	assert_int_equal(m0_lnet_get_id(nodes[1], 1, &id), 0);
	probe.pr_nid = id.lp_nid;
	return m0_lnet_probe_sync(nodes[0], &probe);
}

static void tapped(struct m0_lnet_tap *tap, const struct m0_lnet_tap_msg *msg)
{
	assert_true(msg->ltv_head_bytes > 0);
	(void)tap;
}

static struct m0_lnet_tap node_tap = { .ltp_message = tapped };

static void told_what_it_knows(void)
{
	struct m0_lnet_fault_attr  attr;
	struct m0_lnet_info       *info;
	struct m0_lnet_peer_ni_row row;

	FAIL_TRY(m0_lnet_info_get(nodes[0], &info));
	m0_lnet_info_free(info);
	FAIL_TRY(m0_lnet_info_head_get(nodes[0], &info));
	m0_lnet_info_free(info);
	FAIL_TRY(m0_lnet_peer_nis_get(nodes[0], &m0_lnet_nid_any, &row, 1) < 0
			 ? -ENOMEM
			 : 0);
	m0_lnet_fault_attr_init(&attr, M0_LNET_FAULT_DUPLICATE);
	attr.lfa_all = true;
	FAIL_TRY(m0_lnet_fault_add(nodes[0], &attr, NULL));
	assert_int_equal(
		m0_lnet_fault_get(nodes[0], M0_LNET_FAULT_ANY, NULL, 0), 1);
	assert_int_equal(m0_lnet_fault_reset(nodes[0], M0_LNET_FAULT_ANY), 1);
	FAIL_TRY(m0_lnet_tap_add(nodes[0], &node_tap));
	assert_int_equal(m0_lnet_tap_del(nodes[0], &node_tap), 0);
	FAIL_TRY(m0_lnet_mem_register(nodes[0], from, BYTES));
	m0_lnet_mem_deregister(nodes[0], from, BYTES);
}

static void led_by_routes(void)
{
	const uint32_t              pools[M0_LNET_POOLS_NR] = { 8, 8, 1 };
	struct m0_lnet_route_attr   attr = { .lra_net = 0 };
	struct m0_lnet_route_info   route;
	struct m0_lnet_routing_info routing;
	struct m0_lnet_process_id   id;
	struct m0_lnet_explain     *explain;

	assert_int_equal(m0_lnet_get_id(nodes[1], 1, &id), 0);
	FAIL_TRY(m0_lnet_explain(nodes[0], &id.lp_nid, NULL, &explain));
	m0_lnet_explain_free(explain);
	attr.lra_net = m0_lnet_nid_net(&id.lp_nid) + 1;
	attr.lra_gateway = id.lp_nid;
	FAIL_TRY(m0_lnet_route_add(nodes[0], &attr, NULL));
	assert_int_equal(m0_lnet_route_get(nodes[0], NULL, 0), 1);
	FAIL_TRY(m0_lnet_route_get(nodes[0], &route, 1) < 0 ? -ENOMEM : 0);
	FAIL_TRY(m0_lnet_routes_unchecked(nodes[0]) < 0 ? -ENOMEM : 0);
	assert_non_null(m0_lnet_route_why_text(route.lri_why));
	FAIL_TRY(m0_lnet_routing_set(nodes[1], true));
	FAIL_TRY(m0_lnet_pools_set(nodes[1], pools));
	FAIL_TRY(m0_lnet_routing_get(nodes[1], &routing));
	FAIL_TRY(m0_lnet_routing_set(nodes[1], false));
	assert_int_equal(m0_lnet_route_del(nodes[0], M0_LNET_NET_ANY, NULL), 1);
}

/* A rule, its encoded form, and ranges. */
static void ruled(void)
{
	const struct m0_lnet_udsp_text text = { .lut_dst = "9.9.[1-9].*@tcp",
						.lut_src = "*@tcp" };
	struct m0_lnet_udsp            udsp;
	struct m0_lnet_udsp            again;
	struct m0_lnet_effect         *effect;
	struct m0_lnet_nid             nid;
	uint8_t                        bulk[M0_LNET_UDSP_BYTES_MAX];
	uint32_t                       bytes = sizeof bulk;
	char                           said[M0_LNET_NID_RANGE_BYTES];

	assert_int_equal(m0_lnet_udsp_parse(&udsp, &text, NULL), 0);
	assert_int_equal(m0_lnet_udsp_check(&udsp, NULL), 0);
	FAIL_TRY(m0_lnet_udsp_add(nodes[0], &udsp, NULL));
	FAIL_TRY(m0_lnet_udsp_get(nodes[0], 0, &again, 1) < 0 ? -ENOMEM : 0);
	FAIL_TRY(m0_lnet_udsp_del_effect(nodes[0], 0, &effect));
	m0_lnet_effect_free(effect);
	assert_int_equal(m0_lnet_udsp_del(nodes[0], 0), 1);
	FAIL_TRY(m0_lnet_udsp_add_effect(nodes[0], &udsp, NULL, &effect));
	m0_lnet_effect_free(effect);
	assert_int_equal(m0_lnet_udsp_marshal(&udsp, &bytes, bulk), 0);
	assert_int_equal(m0_lnet_udsp_size(&udsp), bytes);
	assert_int_equal(m0_lnet_udsp_unmarshal(bulk, bytes, &again, NULL), 0);
	m0_lnet_nid_range_print(&again.lud_dst, said, sizeof said);
	assert_int_equal(m0_lnet_nid_range_parse(&again.lud_dst, said, NULL),
			 0);
	assert_int_equal(m0_lnet_nid_parse(&nid, "9.9.1.1@tcp"), 0);
	assert_true(m0_lnet_nid_range_has(&again.lud_dst, &nid));
	assert_true(m0_lnet_nid_range_has_net(&again.lud_dst,
					      m0_lnet_nid_net(&nid)));
}

/* A peer without memory is one without room. */
static int peer_add(const struct m0_lnet_nid *nids)
{
	int rc = m0_lnet_peer_add(nodes[0], &nids[0], &nids[1], 1, true);

	return rc == -ENOSPC ? -ENOMEM : rc;
}

static void tuned(void)
{
	uint64_t           values[M0_LNET_TUNABLES_NR];
	struct m0_lnet_nid nids[2];

	assert_int_equal(m0_lnet_nid_parse(&nids[0], "9.9.9.1@tcp"), 0);
	assert_int_equal(m0_lnet_nid_parse(&nids[1], "9.9.9.2@tcp"), 0);
	FAIL_TRY(m0_lnet_tune(nodes[0], M0_LNET_TUNE_RECOVERY_LIMIT, 5, NULL));
	FAIL_TRY(m0_lnet_tunables_get(nodes[0], values));
	assert_int_equal(values[M0_LNET_TUNE_RECOVERY_LIMIT], 5);
	assert_string_equal(m0_lnet_tunable_name(M0_LNET_TUNE_RECOVERY_LIMIT),
			    "recovery_limit");
	assert_int_equal(m0_lnet_health_set(nodes[0], M0_LNET_HEALTH_OF_PEERS,
					    &nids[0], 7),
			 0);
	FAIL_TRY(peer_add(nids));
	FAIL_TRY(m0_lnet_peer_del(nodes[0], &nids[0], NULL, 0));
}

/* Calls that allocate nothing. */
static void asked_for_little(struct m0_lnet_handle me)
{
	struct m0_lnet_op    op = op_of();
	struct m0_lnet_stats stats;

	assert_true(m0_lnet_dist(nodes[0], &op.lo_target.lp_nid, NULL, NULL) >=
		    0);
	m0_lnet_stats_get(nodes[0], &stats);
	m0_lnet_stats_reset(nodes[0]);
	assert_int_equal(m0_lnet_me_unlink(nodes[1], me), 0);
	assert_int_equal(
		m0_lnet_fault_del(nodes[0], M0_LNET_FAULT_ANY, NULL, NULL), 1);
}

/* Everything is on its way when the nodes are opened; a window of the peer. */
static void nodes_speak(void)
{
	struct m0_lnet_me_attr attr = me_attr;
	struct m0_lnet_handle  me;
	struct m0_lnet_handle  md;
	unsigned               i;

	fail_nodes_init(nodes);
	flat_init(&flats[0], from);
	flat_init(&flats[1], to);
	for (i = 0; i < 2; ++i)
		m0_lnet_eq_init(&eqs[i], nodes[i], NULL, 0);
	attr.mea_id.lp_nid = m0_lnet_nid_any;
	FAIL_TRY(m0_lnet_me_attach(nodes[1], &attr, &me));
	FAIL_TRY(window_attach(me));
	FAIL_TRY(entry_attach(&md));
	FAIL_TRY(m0_lnet_lazy_set(nodes[1], PORTAL + 1, true));
	FAIL_TRY(probe(M0_LNET_PING));
	FAIL_TRY(probe(M0_LNET_DISCOVER));
	FAIL_TRY(operation(false, false));
	FAIL_TRY(operation(true, false));
	FAIL_TRY(operation(false, true));
	FAIL_TRY(operation(true, true));
	told_what_it_knows();
	led_by_routes();
	ruled();
	tuned();
	FAIL_TRY(operation(false, false));
	asked_for_little(me);
	/* The windows, and what they told, end with the node. */
	for (i = 0; i < 2; ++i) {
		struct m0_lnet_event ev;

		m0_lnet_close(nodes[i]);
		while (m0_lnet_eq_get(&eqs[i], &ev) == 0)
			;
		m0_lnet_eq_fini(&eqs[i]);
	}
	m0_sim_net_fini();
}

/* A process asks by the node that it is attached to. */
static void attached_probes(void)
{
	fail_nodes_share(true);
	fail_nodes_init(nodes);
	FAIL_TRY(probe(M0_LNET_PING));
	FAIL_TRY(probe(M0_LNET_DISCOVER));
	fail_nodes_fini(nodes);
	fail_nodes_share(false);
}

const struct fail_story fail_lnet_stories[] = {
	{ "lnet", 60, nodes_speak },
	{ "lnet-attached", 60, attached_probes },
	{ NULL, 0, NULL },
};
