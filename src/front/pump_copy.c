/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Copies that the server asks for: the bytes of a message lie in another process of the same
 * server, and this one owns the target. The event of the message comes behind COPY in the
 * queue, so the application has its buffer back only after the copy.
 */
#include "front/pump_internal.h"

enum {
	/** Bytes that are copied for the server before it is the turn of others; no copy
	 * has more. */
	COPY_BYTES_MAX = 1 << 20
};

bool m0_pump__copy_waits(const struct m0_pump          *pump,
			 const struct m0_shared_report *rep)
{
	uint64_t bytes = pump->pmp_copy.pcp_bytes;
	uint32_t i;

	if (M0_LIKELY(rep->shp_kind != M0_SHARED_COPY || bytes == 0))
		return false;
	for (i = 0; i < rep->shp_copy.scp_pieces_nr; ++i)
		bytes += rep->shp_copy.scp_pieces[i].spe_bytes;
	return bytes > COPY_BYTES_MAX;
}

/* The place of a piece; NULL: the server has not, or not any more, so much memory there. */
static void *piece_at(const struct m0_pump         *pump,
		      const struct m0_shared_piece *piece)
{
	const struct m0_pump_region *region =
		&pump->pmp_regions[piece->spe_region - 1];

	if (!region->prg_is_there || piece->spe_offset > region->prg_bytes ||
	    piece->spe_bytes > region->prg_bytes - piece->spe_offset)
		return NULL;
	return (char *)region->prg_addr + piece->spe_offset;
}

static int copy_make(struct m0_pump *pump, const struct m0_shared_copy *copy)
{
	void    *to[M0_SHARED_PIECES_MAX];
	uint32_t i;

	if (pump->pmp_host->puh_copy == NULL)
		return -ENOSYS;
	for (i = 0; i < copy->scp_pieces_nr; ++i) {
		to[i] = piece_at(pump, &copy->scp_pieces[i]);
		if (to[i] == NULL)
			return -EFAULT;
		pump->pmp_copy.pcp_bytes += copy->scp_pieces[i].spe_bytes;
	}
	return pump->pmp_host->puh_copy(pump->pmp_arg, copy, to);
}

int m0_pump__copy_do(struct m0_pump *pump, const struct m0_shared_report *rep)
{
	struct m0_pump_copy *copy = &pump->pmp_copy;

	M0_PRE(m0_pump__is_open(pump));
	if (copy->pcp_nr == ARRAY_SIZE(copy->pcp_done))
		return m0_pump__broken(pump, "copy", rep->shp_nr,
				       "fewer copies without an answer");
	copy->pcp_done[copy->pcp_nr] = (struct m0_pump_copied){
		.pcd_nr = rep->shp_nr,
		.pcd_gen = rep->shp_gen,
		.pcd_errno = (uint32_t)-copy_make(pump, &rep->shp_copy),
	};
	++copy->pcp_nr;
	return 0;
}
