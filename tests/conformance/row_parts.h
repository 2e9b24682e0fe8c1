/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Parts of rows that are the same in a process and in a kernel. */
#ifndef M0_TESTS_CONFORMANCE_ROW_PARTS_H
#define M0_TESTS_CONFORMANCE_ROW_PARTS_H

#include "m0/lnet.h"
#include "m0/mem.h"
#include "m0/xlnet.h"

#include "cf.h"

void                     row_mem_addr(char *ret, unsigned nr);
extern const char *const row_mem_bad[];

/** Address of machine `nr` on the node of this NID. */
void row_lnet_addr(char *ret, const char *nid, unsigned nr);
/** The configuration of a node, but for its port. */
void row_lnet_cfg(struct m0_lnet_cfg *cfg, const char *networks);
extern const char *const row_lnet_bad[];

/** A cancelled transfer takes the time of what has begun of it. */
#define CF_CANCEL_NS (5 * M0_TIME_ONE_MSEC)

#define CF_MEM_ROW                                                           \
	.r_xprt = &m0_net_bulk_mem_xprt, .r_addr = row_mem_addr,             \
	.r_spelling = row_mem_addr, .r_bad = row_mem_bad, .r_dynamic = true, \
	.r_workers_set = m0_net_bulk_mem_tm_set_num_threads,                 \
	.r_nobody = -ENETUNREACH, .r_nobuf = CF_BOTH, .r_toobig = CF_BOTH,   \
	.r_desc_at_add = false, .r_stale = -ENOENT,                          \
	.r_cancel_ns = CF_CANCEL_NS, .r_seg_max = 1 << 20, .r_segs_max = 16, \
	.r_buf_max = 16 << 20, .r_msg_max = 16 << 20

/** All rows of the LNet transport share these fields, and all but one this time. */
#define CF_LNET_ROW CF_LNET_ROW_OF(CF_CANCEL_NS)
#define CF_LNET_ROW_OF(cancel_ns)                                             \
	.r_xprt = &m0_lnet_xprt, .r_bad = row_lnet_bad, .r_dynamic = true,    \
	.r_nobody = 0, .r_nobuf = CF_RECEIVER, .r_toobig = CF_RECEIVER,       \
	.r_desc_at_add = false, .r_efbig_alone = true, .r_stale = -ETIMEDOUT, \
	.r_cancel_ns = (cancel_ns), .r_seg_max = M0_NET_LNET_SEGMENT_MAX,     \
	.r_segs_max = M0_NET_LNET_SEGMENTS_MAX,                               \
	.r_buf_max = M0_NET_LNET_BUFFER_MAX,                                  \
	.r_msg_max = M0_NET_LNET_MESSAGE_MAX

#endif /* M0_TESTS_CONFORMANCE_ROW_PARTS_H */
