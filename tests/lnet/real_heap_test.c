/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Memory of real nodes: what an open does without it, and what a warm node still
 * asks for. */
#include "sim/sched/heap.h"
#include "lnet/real.h"

static int open_and_close(void *arg)
{
	const struct m0_lnet_cfg *cfg = arg;
	struct m0_lnet           *lnet;
	char                      why[M0_LNET_WHY_BYTES];
	int                       rc = m0_lnet_open(&lnet, cfg, why);

	if (rc == 0)
		m0_lnet_close(lnet);
	return rc;
}

/* Whichever allocation fails, an open says so and undoes what it did. */
static void open_without_memory_is_undone(void **state)
{
	struct m0_lnet_cfg cfg;

	(void)state;
	real_cfg(&cfg, 5);
	cfg.lc_inline = true;
	assert_true(m0_heap_fail_each(open_and_close, &cfg) > 10);
	cfg.lc_inline = false;
	assert_true(m0_heap_fail_each(open_and_close, &cfg) > 10);
}

static struct real re;

/* PUTs with ACK and GETs, MDs made and ended, both ways. */
static void round_run(struct m0_lnet_handle target)
{
	static char            bytes[5000];
	static struct real_vec vec;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op = real_op(&re.re_b, 1);
	struct m0_lnet_handle  md;
	struct m0_lnet_event   ev;
	int                    i;

	(void)target;
	if (vec.rv_counts == NULL)
		real_vec_init(&vec, bytes, sizeof bytes, 1000);
	for (i = 0; i < 100; ++i) {
		attr = real_md(&vec, i % 2 == 0 ? 64 : sizeof bytes, 0,
			       &re.re_a.rn_eq);
		attr.mda_threshold = 2;
		attr.mda_auto_unlink = true;
		op.lo_ack = true;
		md = real_bind(&re.re_a, &attr);
		if (i % 3 == 0)
			assert_int_equal(m0_lnet_get(re.re_a.rn_lnet, md, &op),
					 0);
		else
			assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op),
					 0);
		real_event(&re, &re.re_a, &ev);
		assert_int_equal(ev.ev_status, 0);
		real_event(&re, &re.re_a, &ev);
		assert_int_equal(ev.ev_status, 0);
		assert_true(ev.ev_unlinked);
	}
}

/* A node that has done it once does it again without a new byte. */
static void warm_node_allocates_nothing(void **state)
{
	static char            bytes[5000];
	struct real_vec        vec;
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_md_attr attr;
	struct m0_lnet_handle  target;
	struct m0_heap         heap;
	uint64_t               nr;
	int                    i;

	(void)state;
	m0_heap_init(&heap);
	real_open(&re, REAL_INLINE, NULL);
	real_vec_init(&vec, bytes, sizeof bytes, 5000);
	attr = real_md(&vec, sizeof bytes,
		       M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET |
			       M0_LNET_MD_MANAGE_REMOTE,
		       NULL);
	target = real_attach(&re.re_b, &me, &attr, NULL);
	for (i = 0; i < 5; ++i)
		round_run(target);
	nr = m0_heap_allocs_nr(&heap);
	for (i = 0; i < 5; ++i)
		round_run(target);
	assert_int_equal(m0_heap_allocs_nr(&heap), nr);
	real_close(&re);
	real_vec_fini(&vec);
	m0_heap_fini(&heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_without_memory_is_undone),
		cmocka_unit_test(warm_node_allocates_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
