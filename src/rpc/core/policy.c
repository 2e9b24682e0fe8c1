/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The target policies, and those of networks. */
#include "rpc/core/frm.h"

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

static bool batch_ready(const struct m0_rpc_frm_constraints *limits,
			const struct m0_rpc_frm_load        *load)
{
	(void)limits;
	return load->fl_urgent_nr > 0 || load->fl_is_full;
}

const struct m0_rpc_frm_network m0_rpc_frm_line = {
	.fn_name = "line",
};

const struct m0_rpc_frm_network m0_rpc_frm_batch = {
	.fn_name = "batch",
	.fn_ready = batch_ready,
};

static uint64_t within(uint64_t value, uint64_t least, uint64_t most)
{
	return min64u(max64u(value, least), most);
}

void m0_rpc__frm_network_limits(const struct m0_rpc_frm_network *network,
				const char                      *ep_addr,
				struct m0_rpc_frm_constraints   *limits)
{
	const struct m0_rpc_frm_constraints most = *limits;

	if (network == NULL || network->fn_limits == NULL)
		return;
	network->fn_limits(ep_addr, limits);
	limits->fc_max_nr_packets_enqed =
		within(limits->fc_max_nr_packets_enqed, 1,
		       most.fc_max_nr_packets_enqed);
	limits->fc_max_packet_size = within(limits->fc_max_packet_size,
					    M0_RPC_FRM_LEAST_BYTES,
					    most.fc_max_packet_size);
	limits->fc_max_nr_segments = within(limits->fc_max_nr_segments,
					    M0_RPC_FRM_LEAST_SEGMENTS,
					    most.fc_max_nr_segments);
}
