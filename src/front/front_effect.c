/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The effect of a change of rules: requests to the node for one part after the
 * other. The node does other things between them.
 */
#include "front/front_internal.h"
#include "m0/lnet_explain.h"

enum {
	/** How often a comparison begins again because rules or peers have
	 * changed, and how often a part is asked for while the node applies its
	 * rules. */
	BEGINS_MAX = 16,
	TRIES_MAX = 100000
};

/** The change that is asked about. */
struct change {
	/** The rule to be added; NULL: the one at chg_idx is to be deleted. */
	const struct m0_lnet_udsp *chg_rule;
	int32_t                    chg_idx;
	/** The part of the answer that has been received; NULL: none. */
	struct m0_lnet_effect *chg_whole;
	/** Shifts for which it has memory. */
	unsigned chg_max;
};

static void change_print(const struct change *change, struct m0_ring_udsp *ret)
{
	const struct m0_lnet_effect *whole = change->chg_whole;

	M0_SET0(ret);
	if (change->chg_rule != NULL)
		ret->rud_rule = *change->chg_rule;
	ret->rud_is_del = change->chg_rule == NULL;
	ret->rud_idx = change->chg_idx;
	ret->rud_is_next = whole != NULL;
	if (whole != NULL) {
		ret->rud_last = whole->lef_last;
		ret->rud_changes_nr = whole->lef_changes_nr;
	}
}

static size_t effect_bytes(unsigned nr)
{
	return sizeof(struct m0_lnet_effect) +
	       nr * sizeof(struct m0_lnet_shift);
}

/* The node may be in another process. */
static bool part_is_ok(const struct m0_lnet_effect *part, size_t bytes)
{
	return bytes >= sizeof *part &&
	       part->lef_shifts_nr <= bytes / sizeof part->lef_shifts[0] &&
	       bytes == effect_bytes(part->lef_shifts_nr);
}

/** Asks for a part. */
static int part_get(struct m0_lnet *lnet, const struct change *change,
		    struct m0_lnet_effect **ret)
{
	struct m0_front_control *fcl;
	void                    *block;
	size_t                   bytes;
	int rc = m0_front__control_take(lnet, M0_RING_UDSP_EFFECT, &fcl);

	if (rc != 0)
		return rc;
	change_print(change, &fcl->fcl_record->rqc_udsp);
	rc = m0_front__control_do(lnet, fcl);
	if (rc == 0)
		rc = m0_front__block_take(lnet, fcl, &block, &bytes);
	m0_front__control_put(lnet, fcl);
	if (rc != 0)
		return rc;
	if (!part_is_ok(block, bytes)) {
		m0_free(block);
		return -EPROTO;
	}
	*ret = block;
	return 0;
}

static int part_try(struct m0_lnet *lnet, const struct change *change,
		    struct m0_lnet_effect **ret)
{
	unsigned i;
	int      rc = -EAGAIN;

	for (i = 0; i < TRIES_MAX && rc == -EAGAIN; ++i)
		rc = part_get(lnet, change, ret);
	return rc;
}

/** Makes memory for `nr` shifts. @retval -ENOMEM */
static int whole_grow(struct change *change, unsigned nr)
{
	struct m0_lnet_effect *old = change->chg_whole;
	unsigned               max = max_check(64U, 2 * nr);
	struct m0_lnet_effect *more;

	if (old != NULL && nr <= change->chg_max)
		return 0;
	more = m0_alloc(effect_bytes(max));
	if (more == NULL)
		return -ENOMEM;
	if (old != NULL)
		memcpy(more, old, effect_bytes(old->lef_shifts_nr));
	m0_free(old);
	change->chg_whole = more;
	change->chg_max = max;
	return 0;
}

/** Appends a part. @retval -ENOMEM */
static int part_add(struct change *change, const struct m0_lnet_effect *part)
{
	struct m0_lnet_effect *whole = change->chg_whole;
	unsigned               had = whole == NULL ? 0 : whole->lef_shifts_nr;

	if (whole_grow(change, had + part->lef_shifts_nr) != 0)
		return -ENOMEM;
	whole = change->chg_whole;
	memcpy(&whole->lef_shifts[had], part->lef_shifts,
	       part->lef_shifts_nr * sizeof part->lef_shifts[0]);
	whole->lef_shifts_nr += part->lef_shifts_nr;
	whole->lef_peers_nr += part->lef_peers_nr;
	whole->lef_last = part->lef_last;
	whole->lef_changes_nr = part->lef_changes_nr;
	whole->lef_is_whole = part->lef_is_whole;
	return 0;
}

/** Gets all parts. @retval -ESTALE  something has changed meanwhile. */
static int parts_get(struct m0_lnet *lnet, struct change *change)
{
	struct m0_lnet_effect *part;
	int                    rc;

	do {
		rc = part_try(lnet, change, &part);
		if (rc == 0) {
			rc = part_add(change, part);
			m0_free(part);
		}
	} while (rc == 0 && !change->chg_whole->lef_is_whole);
	if (rc != 0) {
		m0_free(change->chg_whole);
		change->chg_whole = NULL;
	}
	return rc;
}

static int effect_get(struct m0_lnet *lnet, const struct m0_lnet_udsp *rule,
		      int32_t idx, struct m0_lnet_effect **ret)
{
	struct change change = { .chg_rule = rule, .chg_idx = idx };
	unsigned      i;
	int           rc = -ESTALE;

	M0_PRE(ret != NULL);
	for (i = 0; i < BEGINS_MAX && rc == -ESTALE; ++i)
		rc = parts_get(lnet, &change);
	*ret = change.chg_whole;
	return rc == -ESTALE ? -EAGAIN : rc;
}

int m0_lnet_udsp_add_effect(struct m0_lnet            *lnet,
			    const struct m0_lnet_udsp *udsp, char *why,
			    struct m0_lnet_effect **ret)
{
	int rc = m0_lnet_udsp_check(udsp, why);

	if (rc != 0)
		return rc;
	rc = effect_get(lnet, udsp, 0, ret);
	return rc == 0 ? 0 : m0_front__udsp_refuse(rc, why);
}

int m0_lnet_udsp_del_effect(struct m0_lnet *lnet, int32_t idx,
			    struct m0_lnet_effect **ret)
{
	return effect_get(lnet, NULL, idx, ret);
}

void m0_lnet_effect_free(struct m0_lnet_effect *effect)
{
	m0_free(effect);
}
