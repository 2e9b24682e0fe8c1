/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Messages between neighbours: functions that both sides share.
 */
#include "front/pump_direct.h"

/* Another thread may take newer ones. */
bool m0_pump__nid_is_ours(const struct m0_pump     *pump,
			  const struct m0_lnet_nid *nid)
{
	struct m0_lnet *lnet = pump->pmp_lnet;
	bool            ours;

	m0_mutex_lock(&lnet->fro_lock);
	ours = m0_front__nid_is_ours(lnet, nid);
	m0_mutex_unlock(&lnet->fro_lock);
	return ours;
}

/* For people who ask the server. */
void m0_pump__counts_show(const struct m0_pump *pump)
{
	struct m0_shared_line *line =
		&pump->pmp_side->shs_words->shw_client_holds;

	__atomic_store_n(&line->shl_sent_nr, pump->pmp_direct->pdr_sent_nr,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&line->shl_taken_nr, pump->pmp_direct->pdr_taken_nr,
			 __ATOMIC_RELAXED);
}

/* The memory is that of the application: the server has no part in it. */
void m0_pump__md_copy(struct m0_pump *pump, struct m0_pipe *pipe, uint32_t md,
		      uint64_t offset, uint64_t bytes, bool out)
{
	const struct m0_bufvec *vec =
		m0_front__md_at(pump->pmp_lnet, md)->fmd_vec;
	uint64_t at = m0_front__md_record(pump->pmp_lnet, md)->rmd_vec_offset +
		      offset;
	uint32_t i;

	M0_PRE_EX(m0_mutex_is_locked(&pump->pmp_lock));
	for (i = 0; bytes > 0; ++i) {
		uint64_t there = vec->ov_vec.v_count[i];
		uint64_t nr;
		char    *place;
		int64_t  put;

		M0_ASSERT(i < vec->ov_vec.v_nr);
		if (at >= there) {
			at -= there;
			continue;
		}
		nr = min64u(bytes, there - at);
		place = (char *)vec->ov_buf[i] + at;
		if (out) {
			put = m0_pipe_put(pipe, place, nr);
			M0_ASSERT(put == (int64_t)nr);
		} else {
			m0_pipe_get(pipe, place, nr);
		}
		bytes -= nr;
		at = 0;
	}
}
