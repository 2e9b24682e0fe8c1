/* SPDX-License-Identifier: Apache-2.0 */
/* The target policies. */
#include "m0/rpc.h"

enum {
	/** Data packets end where a MiB of an object does. */
	CUT_SHIFT = 20
};

static int fid_cmp(const struct m0_rpc_frm_view *a,
		   const struct m0_rpc_frm_view *b)
{
	return m0_uint128_cmp(&a->fv_key->rk_fid, &b->fv_key->rk_fid);
}

static int data_cmp(const struct m0_rpc_frm_view *a,
		    const struct m0_rpc_frm_view *b)
{
	uint64_t off_a = a->fv_key->rk_offset;
	uint64_t off_b = b->fv_key->rk_offset;
	int      rc = fid_cmp(a, b);

	return rc != 0 ? rc : (off_a > off_b) - (off_a < off_b);
}

/** Do both work in one object? 0 is none. */
static bool same_object(const struct m0_rpc_frm_view *a,
			const struct m0_rpc_frm_view *b)
{
	const struct m0_uint128 *fid = &a->fv_key->rk_fid;

	return (fid->u_hi | fid->u_lo) != 0 && fid_cmp(a, b) == 0;
}

/** The last byte that an item is about. */
static uint64_t last_byte(const struct m0_rpc_item_key *key)
{
	uint64_t more = key->rk_nr == 0 ? 0 : key->rk_nr - 1;

	return more > UINT64_MAX - key->rk_offset ? UINT64_MAX
						  : key->rk_offset + more;
}

static bool data_cut(const struct m0_rpc_frm_view *last,
		     const struct m0_rpc_frm_view *next)
{
	return same_object(last, next) &&
	       last_byte(last->fv_key) >> CUT_SHIFT !=
		       next->fv_key->rk_offset >> CUT_SHIFT;
}

static bool data_merge(const struct m0_rpc_frm_view *last,
		       const struct m0_rpc_frm_view *next)
{
	return last->fv_type == next->fv_type && same_object(last, next) &&
	       last->fv_key->rk_nr > 0 && next->fv_key->rk_nr > 0 &&
	       last_byte(last->fv_key) < UINT64_MAX &&
	       last_byte(last->fv_key) + 1 == next->fv_key->rk_offset &&
	       !data_cut(last, next);
}

const struct m0_rpc_frm_policy m0_rpc_frm_fifo = {
	.fp_name = "fifo",
};

const struct m0_rpc_frm_policy m0_rpc_frm_data = {
	.fp_name = "data",
	.fp_cmp = data_cmp,
	.fp_cut = data_cut,
	.fp_merge = data_merge,
};

const struct m0_rpc_frm_policy m0_rpc_frm_metadata = {
	.fp_name = "metadata",
	.fp_cmp = fid_cmp,
};
