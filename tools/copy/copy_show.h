/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Output of `colibri copy`: progress while it runs, the result at the end. */
#ifndef M0_TOOLS_COPY_SHOW_H
#define M0_TOOLS_COPY_SHOW_H

#include "../base/hash.h"
#include "../net/stats.h"

enum {
	COPY_SENDER,
	COPY_RECEIVER,
	COPY_ROLES_NR
};

struct copy_result {
	const char *ct_src;
	const char *ct_dst;
	const char *ct_transport;
	uint64_t    ct_bytes;
	uint64_t    ct_block;
	uint32_t    ct_inflight;
	uint64_t    ct_blocks_nr;
	/** From the first message to the synced directory. */
	m0_time_t ct_total_ns;
	/** Parts of it; what is left is reading, moving and writing. */
	m0_time_t ct_verify_ns;
	m0_time_t ct_sync_ns;
	/** Was the new file read back? */
	bool              ct_verified;
	uint8_t           ct_sum[HASH_BYTES];
	struct tool_stats ct_stats[COPY_ROLES_NR];
	/** Number of statistics, of the roles of this process. */
	unsigned ct_stats_nr;
};

void copy_result_print(const struct copy_result *result, FILE *file);
void copy_result_json(const struct copy_result *result, FILE *file);

/** A line on standard error that is written again and again. */
struct copy_progress {
	bool      cg_on;
	bool      cg_shown;
	uint64_t  cg_size;
	m0_time_t cg_start;
	m0_time_t cg_last;
};

/** Nothing is shown if `quiet`, or if standard error is no terminal. */
void copy_progress_init(struct copy_progress *progress, uint64_t size,
			bool quiet);
/** At most ten times a second. */
void copy_progress_show(struct copy_progress *progress, uint64_t bytes);
/** Clears the line. */
void copy_progress_end(struct copy_progress *progress);

#endif /* M0_TOOLS_COPY_SHOW_H */
