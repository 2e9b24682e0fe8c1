/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Processors of a strand. Other threads may move the strand while it runs. When
 * it starts, it notes where it may run without a set, and goes back there when
 * no set applies any more.
 */
#include "os/os_internal.h"

static void inherited_note(struct m0_os_cpus *cpus)
{
	struct m0_bitmap map = { .b_nr = M0_OS_CPUS_MAX,
				 .b_words = cpus->oc_inherited };

	m0_os__cpus_inherited(&map);
}

/*
 * The set that applies. @param inherited  receives the set that applies without
 * one.
 */
static const struct m0_bitmap *cpus_get(struct m0_os_cpus *cpus,
					struct m0_bitmap  *inherited)
{
	inherited->b_nr = M0_OS_CPUS_MAX;
	inherited->b_words = cpus->oc_inherited;
	if (cpus->oc_own.b_nr > 0)
		return &cpus->oc_own;
	return cpus->oc_hint.b_nr > 0 ? &cpus->oc_hint : inherited;
}

static int cpus_apply(struct m0_os_cpus *cpus)
{
	struct m0_bitmap inherited;

	if (cpus->oc_strand == NULL)
		return 0;
	return m0_strand_confine(cpus->oc_strand, cpus_get(cpus, &inherited));
}

int m0_os_cpus_start(struct m0_os_cpus *cpus, struct m0_strand *strand)
{
	const struct m0_bitmap *set;
	struct m0_bitmap        inherited;
	int                     rc;

	m0_mutex_lock(&cpus->oc_lock);
	M0_PRE(cpus->oc_strand == NULL);
	inherited_note(cpus);
	set = cpus_get(cpus, &inherited);
	/* The system may not have reported a set; then the strand runs where it
	 * is started. */
	rc = m0_strand_start(strand, m0_os_cpus_valid(set) ? set : NULL);
	if (rc == 0)
		cpus->oc_strand = strand;
	m0_mutex_unlock(&cpus->oc_lock);
	return rc;
}

void m0_os_cpus_stop(struct m0_os_cpus *cpus)
{
	struct m0_strand *strand;

	m0_mutex_lock(&cpus->oc_lock);
	strand = cpus->oc_strand;
	cpus->oc_strand = NULL;
	m0_mutex_unlock(&cpus->oc_lock);
	M0_PRE(strand != NULL);
	/* The last step may set the processors; it then finds no strand to
	 * move. */
	m0_strand_stop(strand);
}

int m0_os_cpus_set(struct m0_os_cpus *cpus, bool hint,
		   const struct m0_bitmap *set)
{
	struct m0_bitmap *slot = hint ? &cpus->oc_hint : &cpus->oc_own;
	struct m0_bitmap  fresh = { .b_nr = 0 };
	struct m0_bitmap  old;
	int               rc = 0;

	if (set != NULL) {
		if (!m0_os_cpus_valid(set))
			return -EINVAL;
		rc = m0_bitmap_init(&fresh, set->b_nr);
		if (rc != 0)
			return rc;
		m0_bitmap_copy(&fresh, set);
	}
	m0_mutex_lock(&cpus->oc_lock);
	old = *slot;
	if (set != NULL || old.b_nr > 0) {
		*slot = fresh;
		rc = cpus_apply(cpus);
		if (rc != 0) {
			*slot = old;
			old = fresh;
		}
	}
	m0_mutex_unlock(&cpus->oc_lock);
	if (old.b_nr > 0)
		m0_bitmap_fini(&old);
	return rc;
}

bool m0_os_cpus_is_set(struct m0_os_cpus *cpus)
{
	bool yes;

	m0_mutex_lock(&cpus->oc_lock);
	yes = cpus->oc_own.b_nr > 0;
	m0_mutex_unlock(&cpus->oc_lock);
	return yes;
}

void m0_os_cpus_fini(struct m0_os_cpus *cpus)
{
	M0_PRE(cpus->oc_strand == NULL);
	if (cpus->oc_own.b_nr > 0)
		m0_bitmap_fini(&cpus->oc_own);
	if (cpus->oc_hint.b_nr > 0)
		m0_bitmap_fini(&cpus->oc_hint);
}
