/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Fault rules that come and go while two nodes with threads speak. */
#include "lnet/real.h"
#include "m0/lnet_fault.h"

enum {
	OPS_NR = 150,
	BYTES = 5000
};

static struct real re;
static bool        over;

static void tune(struct m0_lnet_cfg *cfg)
{
	cfg->lc_transaction_timeout_ms = 60;
	cfg->lc_timeout_ms = 500;
	cfg->lc_reconnect_min_ms = 1;
	cfg->lc_reconnect_max_ms = 10;
}

static void meddle(struct real_node *node, uint64_t turn)
{
	struct m0_lnet_fault_attr attr;
	struct m0_lnet_fault      fault[4];
	int                       kind = (int)(turn % M0_LNET_FAULT_KINDS_NR);

	m0_lnet_fault_attr_init(&attr, (enum m0_lnet_fault_kind)kind);
	attr.lfa_rate = 20;
	attr.lfa_latency_ms = kind == M0_LNET_FAULT_DELAY ? 2 : 0;
	assert_int_equal(m0_lnet_fault_add(node->rn_lnet, &attr, NULL), 0);
	assert_true(m0_lnet_fault_get(node->rn_lnet, M0_LNET_FAULT_ANY, fault,
				      4) > 0);
	(void)m0_lnet_fault_reset(node->rn_lnet, M0_LNET_FAULT_ANY);
	if (turn % 3 == 0)
		(void)m0_lnet_fault_del(node->rn_lnet, M0_LNET_FAULT_ANY, NULL,
					NULL);
}

static void meddler(int unused)
{
	uint64_t turn = 0;

	(void)unused;
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		meddle(&re.re_a, turn);
		meddle(&re.re_b, ++turn);
	}
	(void)m0_lnet_fault_del(re.re_a.rn_lnet, M0_LNET_FAULT_ANY, NULL, NULL);
	(void)m0_lnet_fault_del(re.re_b.rn_lnet, M0_LNET_FAULT_ANY, NULL, NULL);
}

/* @return the first failure; it ends, that is what matters. */
static int operate(const struct real_vec *vec, bool get)
{
	struct m0_lnet_md_attr attr = real_md(vec, BYTES, 0, &re.re_a.rn_eq);
	struct m0_lnet_op      op = real_op(&re.re_b, 1);
	struct m0_lnet_event   ev = { .ev_unlinked = false };
	struct m0_lnet_handle  md;
	int                    rc = 0;

	attr.mda_threshold = 2;
	attr.mda_auto_unlink = true;
	op.lo_ack = true;
	md = real_bind(&re.re_a, &attr);
	assert_int_equal(get ? m0_lnet_get(re.re_a.rn_lnet, md, &op)
			     : m0_lnet_put(re.re_a.rn_lnet, md, &op),
			 0);
	while (!ev.ev_unlinked) {
		real_event(&re, &re.re_a, &ev);
		if (rc == 0)
			rc = ev.ev_status;
		if (ev.ev_status != 0 && !ev.ev_unlinked)
			(void)m0_lnet_md_unlink(re.re_a.rn_lnet, md);
	}
	return rc;
}

/* Calls from another thread, between any two messages: each operation ends all
 * the same, and all is well once the rules are gone. */
static void rules_come_and_go_in_traffic(void **state)
{
	static char            here[BYTES];
	static char            there[BYTES];
	struct real_vec        vec;
	struct real_vec        window;
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_md_attr md;
	struct m0_thread       thread;
	int                    in_row;
	int                    i;

	(void)state;
	m0_log_level_set(M0_LOG_FATAL);
	real_open(&re, REAL_THREADS, tune);
	real_vec_init(&vec, here, sizeof here, 1000);
	real_vec_init(&window, there, sizeof there, 1000);
	md = real_md(&window, sizeof there,
		     M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET |
			     M0_LNET_MD_MANAGE_REMOTE,
		     NULL);
	(void)real_attach(&re.re_b, &me, &md, NULL);
	M0_SET0(&thread);
	assert_int_equal(
		M0_THREAD_INIT(&thread, int, NULL, &meddler, 0, "meddler"), 0);
	for (i = 0; i < OPS_NR; ++i)
		(void)operate(&vec, i % 2 == 0);
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	assert_int_equal(m0_thread_join(&thread), 0);
	m0_thread_fini(&thread);
	/* Now and then a busy machine takes longer than the time-out. */
	for (i = 0, in_row = 0; in_row < 20; ++i) {
		assert_true(i < 1000);
		in_row = operate(&vec, i % 2 == 0) == 0 ? in_row + 1 : 0;
	}
	real_close(&re);
	real_vec_fini(&vec);
	real_vec_fini(&window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_come_and_go_in_traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
