/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Fixture of the tests of rules of selection, on nodes of routed.h. */
#ifndef M0_TESTS_UNIT_LNET_POLICED_H
#define M0_TESTS_UNIT_LNET_POLICED_H

#include "unit/lnet/routed.h"
#include "lnet/policy/policies.h"

#define NONE M0_LNET_PRIORITY_NONE

/** Adds a rule to node `i`; NULLs: not given. */
static inline int rule_try(unsigned i, const char *src, const char *dst,
			   const char *rte, const char *priority,
			   const char *idx)
{
	const struct m0_lnet_udsp_text text = { src, dst, rte, priority, idx };
	struct m0_lnet_udsp            udsp;
	char                           why[M0_LNET_WHY_BYTES];

	assert_int_equal(m0_lnet_udsp_parse(&udsp, &text, why), 0);
	return m0_lnet_engine_udsp_add(node(i)->pno_engine, &udsp);
}

/** Waits until the rules of the first node are applied. */
static inline void rules_settle(void)
{
	unsigned i;

	for (i = 0;
	     i < 10000 && !m0_lnet_engine_udsp_is_settled(one->pno_engine); ++i)
		pair_run(pair, 1);
	assert_true(m0_lnet_engine_udsp_is_settled(one->pno_engine));
}

/** Adds a rule to the first node. */
static inline void rule(const char *src, const char *dst, const char *rte,
			const char *priority, const char *idx)
{
	assert_int_equal(rule_try(0, src, dst, rte, priority, idx), 0);
	rules_settle();
}

static inline void rule_del(int32_t idx)
{
	assert_int_equal(m0_lnet_engine_udsp_del(one->pno_engine, idx), 1);
	rules_settle();
}

/** Sends `nr` messages, and returns how many of them went from `from` to `to`;
 * NULL: any. */
static inline unsigned went(unsigned nr, const char *dst, const char *from,
			    const char *to)
{
	unsigned           first = pair_frames_nr(pair, 0, M0_LNET_PUT);
	struct m0_lnet_nid ni = pair_nid(from != NULL ? from : "0@lo");
	struct m0_lnet_nid hop = pair_nid(to != NULL ? to : "0@lo");
	unsigned           found = 0;
	unsigned           i;

	for (i = 0; i < nr; ++i) {
		put_to(one, dst, 8);
		pair_settle(pair);
	}
	for (i = first; i < pair_frames_nr(pair, 0, M0_LNET_PUT); ++i) {
		const struct pair_frame *frame =
			pair_frame(pair, 0, M0_LNET_PUT, i);

		if (frame->pfr_hdr.lhd_portal == PORTAL &&
		    (from == NULL || m0_lnet_nid_eq(&frame->pfr_ni, &ni)) &&
		    (to == NULL || m0_lnet_nid_eq(&frame->pfr_hop, &hop)))
			++found;
	}
	return found;
}

#endif /* M0_TESTS_UNIT_LNET_POLICED_H */
