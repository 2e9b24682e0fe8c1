/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Rules of selection: the changes from one list to another. */
#include <stdlib.h>

#include "conf_diff.h"

/** Rules of a model, sorted by their ranges. */
struct index {
	const struct conf_udsp **idx_rules;
	unsigned                 idx_nr;
};

/** The list that there is in the end, and what of it the node has. */
struct udsp_diff {
	const struct conf_model *udf_running;
	const struct conf_model *udf_want;
	struct index             udf_by_running;
	struct index             udf_by_want;
	struct index             udf_by_prev;
	const struct conf_udsp **udf_list;
	unsigned                 udf_nr;
	/** Place in the list of each rule of the node that stays; NOWHERE: it goes. */
	unsigned *udf_at;
	/** True for each place in the list whose rule stays. */
	bool *udf_stays;
};

enum {
	NOWHERE = M0_LNET_UDSPS_MAX
};

static int ranges_cmp(const struct m0_lnet_udsp *a,
		      const struct m0_lnet_udsp *b)
{
	return memcmp(&a->lud_src, &b->lud_src, sizeof a->lud_src) ?:
	       memcmp(&a->lud_dst, &b->lud_dst, sizeof a->lud_dst) ?:
	       memcmp(&a->lud_rte, &b->lud_rte, sizeof a->lud_rte);
}

bool conf_udsp_is(const struct m0_lnet_udsp *left,
		  const struct m0_lnet_udsp *right)
{
	return ranges_cmp(left, right) == 0;
}

static int rule_cmp(const void *left, const void *right)
{
	const struct conf_udsp *const *a = left;
	const struct conf_udsp *const *b = right;

	return ranges_cmp(&(*a)->cud_rule, &(*b)->cud_rule);
}

static int index_init(struct index *index, const struct conf_model *model)
{
	unsigned i;

	M0_SET0(index);
	if (model == NULL || model->cmo_udsps_nr == 0)
		return 0;
	index->idx_rules =
		calloc(model->cmo_udsps_nr, sizeof *index->idx_rules);
	if (index->idx_rules == NULL)
		return -ENOMEM;
	index->idx_nr = model->cmo_udsps_nr;
	for (i = 0; i < index->idx_nr; ++i)
		index->idx_rules[i] = &model->cmo_udsps[i];
	qsort(index->idx_rules, index->idx_nr, sizeof(void *), rule_cmp);
	return 0;
}

static const struct conf_udsp *find(const struct index     *index,
				    const struct conf_udsp *rule)
{
	const struct conf_udsp **found;

	if (index->idx_nr == 0)
		return NULL;
	found = bsearch(&rule, index->idx_rules, index->idx_nr, sizeof(void *),
			rule_cmp);
	return found == NULL ? NULL : *found;
}

int conf_udsps_check(const struct conf_model *model, struct conf_fail *fail)
{
	struct index index;
	unsigned     i;
	int          rc;

	if (model->cmo_udsps_nr > M0_LNET_UDSPS_MAX)
		return conf_fail_set(
			fail, &model->cmo_udsps[M0_LNET_UDSPS_MAX].cud_place,
			"there are more than %d rules", (int)M0_LNET_UDSPS_MAX);
	rc = index_init(&index, model);
	for (i = 1; rc == 0 && i < index.idx_nr; ++i) {
		const struct conf_udsp *a = index.idx_rules[i - 1];
		const struct conf_udsp *b = index.idx_rules[i];

		if (rule_cmp(&a, &b) != 0)
			continue;
		rc = conf_fail_set(
			fail, a > b ? &a->cud_place : &b->cud_place,
			"a rule is there twice; the other one is in line %u",
			(a > b ? b : a)->cud_place.cfp_line);
	}
	free(index.idx_rules);
	return rc;
}

/* ------------------------------------------------------------- the new list */

/* Inserts the rule before the one that has its index. */
static void insert(const struct conf_udsp **list, unsigned *nr,
		   const struct conf_udsp *rule)
{
	int32_t  idx = rule->cud_rule.lud_idx;
	unsigned at = idx < 0 || (unsigned)idx > *nr ? *nr : (unsigned)idx;

	memmove(&list[at + 1], &list[at], (*nr - at) * sizeof *list);
	list[at] = rule;
	++*nr;
}

/* Brings the rules of `want` in its order; others stay where they are. */
static int order(struct udsp_diff *diff)
{
	const struct conf_model *want = diff->udf_want;
	const struct conf_udsp **sorted =
		calloc(want->cmo_udsps_nr + 1, sizeof *sorted);
	unsigned nr = 0;
	unsigned next = 0;
	unsigned i;

	if (sorted == NULL)
		return -ENOMEM;
	for (i = 0; i < want->cmo_udsps_nr; ++i)
		insert(sorted, &nr, &want->cmo_udsps[i]);
	for (i = 0; i < diff->udf_nr; ++i) {
		if (find(&diff->udf_by_want, diff->udf_list[i]) != NULL)
			diff->udf_list[i] = sorted[next++];
	}
	free(sorted);
	return 0;
}

static int list_make(struct udsp_diff *diff, bool removes)
{
	const struct conf_model *running = diff->udf_running;
	const struct conf_model *want = diff->udf_want;
	unsigned                 i;

	for (i = 0; i < running->cmo_udsps_nr; ++i) {
		const struct conf_udsp *rule = &running->cmo_udsps[i];
		const struct conf_udsp *is = find(&diff->udf_by_want, rule);

		if (is == NULL && removes &&
		    find(&diff->udf_by_prev, rule) != NULL)
			continue;
		diff->udf_list[diff->udf_nr++] = is ?: rule;
	}
	for (i = 0; i < want->cmo_udsps_nr; ++i) {
		if (find(&diff->udf_by_running, &want->cmo_udsps[i]) == NULL)
			insert(diff->udf_list, &diff->udf_nr,
			       &want->cmo_udsps[i]);
	}
	return removes ? order(diff) : 0;
}

/* ------------------------------------------------------------------- changes */

/*
 * Keeps the most rules of the node that are in one order in both lists. The others
 * go and come, and do not count meanwhile.
 */
static int longest_stay(struct udsp_diff *diff)
{
	unsigned        nr = diff->udf_running->cmo_udsps_nr;
	const unsigned *at = diff->udf_at;
	/* For each length the rule at which a sequence of it can end first, and
	 * for each rule the one before it. */
	unsigned *ends = calloc(2 * (size_t)nr + 1, sizeof *ends);
	unsigned *before = ends + nr;
	unsigned  longest = 0;
	unsigned  i;

	if (ends == NULL)
		return -ENOMEM;
	for (i = 0; i < nr; ++i) {
		unsigned low = 0;
		unsigned high = longest;

		if (at[i] == NOWHERE)
			continue;
		while (low < high) {
			unsigned mid = (low + high) / 2;

			if (at[ends[mid]] < at[i])
				low = mid + 1;
			else
				high = mid;
		}
		before[i] = low == 0 ? i : ends[low - 1];
		ends[low] = i;
		longest = max_check(longest, low + 1);
	}
	for (i = longest == 0 ? 0 : ends[longest - 1]; longest > 0; --longest) {
		diff->udf_stays[at[i]] = true;
		i = before[i];
	}
	free(ends);
	return 0;
}

/* Finds which rules of the node stay. */
static int stay(struct udsp_diff *diff)
{
	const struct conf_model *running = diff->udf_running;
	unsigned                 i;
	int                      rc;

	for (i = 0; i < running->cmo_udsps_nr; ++i)
		diff->udf_at[i] = NOWHERE;
	for (i = 0; i < diff->udf_nr; ++i) {
		const struct conf_udsp *rule = diff->udf_list[i];
		const struct conf_udsp *old = find(&diff->udf_by_running, rule);

		if (old != NULL &&
		    old->cud_rule.lud_priority == rule->cud_rule.lud_priority)
			diff->udf_at[old - running->cmo_udsps] = i;
	}
	rc = longest_stay(diff);
	for (i = 0; rc == 0 && i < running->cmo_udsps_nr; ++i) {
		if (diff->udf_at[i] != NOWHERE &&
		    !diff->udf_stays[diff->udf_at[i]])
			diff->udf_at[i] = NOWHERE;
	}
	return rc;
}

static int rule_change(struct conf_plan *plan, bool add,
		       const struct conf_udsp *rule, unsigned idx)
{
	struct conf_change *change = conf_plan_add(
		plan, CONF_CHANGE_UDSP, add, add ? &rule->cud_place : NULL);

	if (change == NULL)
		return -ENOMEM;
	change->ccg_udsp = malloc(sizeof *change->ccg_udsp);
	if (change->ccg_udsp == NULL)
		return -ENOMEM;
	*change->ccg_udsp = rule->cud_rule;
	change->ccg_udsp->lud_idx = (int32_t)idx;
	return 0;
}

/* The last one goes first, and the first one comes first, so that each index is the
 * one that the rule has then. */
static int changes_make(struct udsp_diff *diff, struct conf_plan *plan)
{
	const struct conf_model *running = diff->udf_running;
	unsigned                 i;
	int                      rc = stay(diff);

	for (i = running->cmo_udsps_nr; rc == 0 && i-- > 0;) {
		if (diff->udf_at[i] == NOWHERE)
			rc = rule_change(plan, false, &running->cmo_udsps[i],
					 i);
	}
	for (i = 0; rc == 0 && i < diff->udf_nr; ++i) {
		if (!diff->udf_stays[i])
			rc = rule_change(plan, true, diff->udf_list[i], i);
	}
	return rc;
}

static int list_check(const struct udsp_diff *diff, struct conf_fail *fail)
{
	const struct conf_model *want = diff->udf_want;

	if (diff->udf_nr <= M0_LNET_UDSPS_MAX)
		return 0;
	return conf_fail_set(fail,
			     &want->cmo_udsps[want->cmo_udsps_nr - 1].cud_place,
			     "the node would have more than %d rules",
			     (int)M0_LNET_UDSPS_MAX);
}

int conf_udsps_diff(struct conf_plan *plan, const struct conf_model *running,
		    const struct conf_model *want,
		    const struct conf_model *prev, bool removes,
		    struct conf_fail *fail)
{
	size_t           max = running->cmo_udsps_nr + want->cmo_udsps_nr + 1;
	struct udsp_diff diff = { .udf_running = running, .udf_want = want };
	int              rc;

	diff.udf_list = calloc(max, sizeof *diff.udf_list);
	diff.udf_at = calloc(max, sizeof *diff.udf_at);
	diff.udf_stays = calloc(max, sizeof *diff.udf_stays);
	rc = index_init(&diff.udf_by_running, running) ?:
	     index_init(&diff.udf_by_want, want) ?:
	     index_init(&diff.udf_by_prev, prev);
	if (diff.udf_list == NULL || diff.udf_at == NULL ||
	    diff.udf_stays == NULL)
		rc = -ENOMEM;
	rc = rc ?: list_make(&diff, removes) ?:
	     list_check(&diff, fail) ?:
	     changes_make(&diff, plan);
	free(diff.udf_by_running.idx_rules);
	free(diff.udf_by_want.idx_rules);
	free(diff.udf_by_prev.idx_rules);
	free(diff.udf_list);
	free(diff.udf_at);
	free(diff.udf_stays);
	return rc;
}
