/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "m0/lnet_udsp.h"

#include "nids.h"

/** An expression, and who takes its NIDs. */
struct nids_walk {
	const struct m0_lnet_nid_range *nwk_range;
	nids_add_t                     *nwk_add;
	void                           *nwk_arg;
};

/* A part of four, or the only one, which is the whole address. */
static void part_set(struct m0_lnet_nid *nid, bool is_number, unsigned part,
		     uint32_t value)
{
	unsigned i;

	if (!is_number)
		nid->ln_addr[part] = (uint8_t)value;
	for (i = 0; is_number && i < 4; ++i)
		nid->ln_addr[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* All values of a part, and of the parts behind it: at most four. */
static int part_expand(const struct nids_walk *walk, struct m0_lnet_nid *nid,
		       unsigned part, unsigned at)
{
	const struct m0_lnet_nid_range *range = walk->nwk_range;
	int                             rc = 0;
	unsigned                        i;
	uint64_t                        n;

	if (part == range->lnr_parts_nr)
		return walk->nwk_add(walk->nwk_arg, nid);
	for (i = 0; i < range->lnr_part_nr[part]; ++i) {
		const struct m0_lnet_range *one = &range->lnr_ranges[at + i];

		for (n = one->lrg_lo; n <= one->lrg_hi && rc == 0;
		     n += max_check(one->lrg_stride, UINT32_C(1))) {
			part_set(nid, range->lnr_parts_nr == 1, part,
				 (uint32_t)n);
			rc = part_expand(walk, nid, part + 1,
					 at + range->lnr_part_nr[part]);
		}
	}
	return rc;
}

int nids_expand(const char *word, nids_add_t *add, void *arg)
{
	struct m0_lnet_nid_range range;
	struct nids_walk         walk = { &range, add, arg };
	struct m0_lnet_nid       nid;

	if (m0_lnet_nid_parse(&nid, word) == 0)
		return add(arg, &nid);
	if (m0_lnet_nid_range_parse(&range, word, NULL) != 0 ||
	    range.lnr_form != M0_LNET_NID_RANGE_PARTS ||
	    range.lnr_nets_nr > 1 ||
	    (range.lnr_nets_nr == 1 &&
	     range.lnr_ranges[0].lrg_lo != range.lnr_ranges[0].lrg_hi))
		return -EINVAL;
	nid = (struct m0_lnet_nid){ .ln_type = range.lnr_type };
	if (range.lnr_nets_nr == 1)
		nid.ln_num = (uint16_t)range.lnr_ranges[0].lrg_lo;
	return part_expand(&walk, &nid, 0, range.lnr_nets_nr);
}
