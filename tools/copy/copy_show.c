/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <unistd.h>

#include "copy_show.h"
#include "../base/jout.h"
#include "../base/text.h"

static double seconds_of(m0_time_t ns)
{
	return (double)ns / 1e9;
}

/* Megabytes (10^6) a second. */
static double rate_of(uint64_t bytes, m0_time_t ns)
{
	return ns == 0 ? 0 : (double)bytes * 1e3 / (double)ns;
}

static m0_time_t moved_ns(const struct copy_result *r)
{
	return m0_time_sub(m0_time_sub(r->ct_total_ns, r->ct_verify_ns),
			   r->ct_sync_ns);
}

/* The receiver is in another process, and keeps its times to itself. */
static bool is_far(const struct copy_result *r)
{
	return r->ct_stats_nr < COPY_ROLES_NR;
}

static const char *verified_text(const struct copy_result *r)
{
	return r->ct_verified
		       ? "source as read = data as received = new file read "
			 "back"
		       : "source as read = data as received (not read back)";
}

void copy_result_print(const struct copy_result *r, FILE *file)
{
	char size[TEXT_MAX];
	char block[TEXT_MAX];
	char sum[2 * HASH_BYTES + 1];

	fprintf(file, "%s -> %s\n", r->ct_src, r->ct_dst);
	fprintf(file,
		"bytes     %" PRIu64 " (%s), %" PRIu64 " block%s of %s, %u in "
		"flight, transport %s\n",
		r->ct_bytes, text_size(size, r->ct_bytes), r->ct_blocks_nr,
		r->ct_blocks_nr == 1 ? "" : "s",
		text_size_short(block, r->ct_block), r->ct_inflight,
		r->ct_transport);
	if (is_far(r)) {
		fprintf(file, "seconds   %.3f\nMB/s      %.1f\n",
			seconds_of(r->ct_total_ns),
			rate_of(r->ct_bytes, r->ct_total_ns));
	} else {
		fprintf(file,
			"seconds   %.3f: moved %.3f, verified %.3f, synced "
			"%.3f\n",
			seconds_of(r->ct_total_ns), seconds_of(moved_ns(r)),
			seconds_of(r->ct_verify_ns), seconds_of(r->ct_sync_ns));
		fprintf(file, "MB/s      %.1f; while moving %.1f\n",
			rate_of(r->ct_bytes, r->ct_total_ns),
			rate_of(r->ct_bytes, moved_ns(r)));
	}
	fprintf(file, "checksum  " HASH_NAME " %s\n",
		text_hex(sum, r->ct_sum, HASH_BYTES));
	fprintf(file, "verified  %s\n\n", verified_text(r));
	tool_stats_print(file, r->ct_stats, r->ct_stats_nr);
}

void copy_result_json(const struct copy_result *r, FILE *file)
{
	struct json_t *tree = jout_alloc();
	struct json_t *part;
	char           sum[2 * HASH_BYTES + 1];

	text_hex(sum, r->ct_sum, HASH_BYTES);
	jout_str(tree, "source", r->ct_src);
	jout_str(tree, "destination", r->ct_dst);
	jout_str(tree, "transport", r->ct_transport);
	jout_num(tree, "bytes", r->ct_bytes);
	jout_num(tree, "blocks", r->ct_blocks_nr);
	jout_num(tree, "block_bytes", r->ct_block);
	jout_num(tree, "inflight", r->ct_inflight);
	jout_real(tree, "seconds", seconds_of(r->ct_total_ns));
	if (!is_far(r)) {
		part = jout_object(tree, "phases");
		jout_real(part, "move_seconds", seconds_of(moved_ns(r)));
		jout_real(part, "verify_seconds", seconds_of(r->ct_verify_ns));
		jout_real(part, "sync_seconds", seconds_of(r->ct_sync_ns));
	}
	jout_real(tree, "mb_per_second", rate_of(r->ct_bytes, r->ct_total_ns));
	part = jout_object(tree, "checksum");
	jout_str(part, "algorithm", HASH_NAME);
	jout_str(part, "source", sum);
	jout_str(part, "received", sum);
	if (r->ct_verified)
		jout_str(part, "destination", sum);
	else
		jout_null(part, "destination");
	jout_bool(tree, "verified", r->ct_verified);
	tool_stats_json(jout_array(tree, "queues"), r->ct_stats,
			r->ct_stats_nr);
	jout_finish(tree, file);
}

void copy_progress_init(struct copy_progress *progress, uint64_t size,
			bool quiet)
{
	M0_SET0(progress);
	progress->cg_on = !quiet && isatty(STDERR_FILENO) == 1;
	progress->cg_size = size;
	progress->cg_start = m0_time_now();
	progress->cg_last = progress->cg_start;
}

void copy_progress_show(struct copy_progress *progress, uint64_t bytes)
{
	m0_time_t now = m0_time_now();
	m0_time_t spent = m0_time_sub(now, progress->cg_start);
	/* Blocks of a copy that starts anew are moved twice. */
	uint64_t size = max64u(progress->cg_size, bytes);
	double   rate = rate_of(bytes, spent);
	char     done[TEXT_MAX];
	char     all[TEXT_MAX];
	uint64_t eta;

	if (!progress->cg_on || bytes == 0 ||
	    m0_time_sub(now, progress->cg_last) < 100 * M0_TIME_ONE_MSEC)
		return;
	progress->cg_last = now;
	progress->cg_shown = true;
	eta = rate > 0 ? (uint64_t)((double)(size - bytes) / rate / 1e6) : 0;
	fprintf(stderr,
		"\r\033[K%s of %s, %.0f%%, %.1f MB/s, ETA %" PRIu64
		":%02" PRIu64,
		text_size(done, bytes), text_size(all, size),
		100.0 * (double)bytes / (double)size, rate, eta / 60, eta % 60);
}

void copy_progress_end(struct copy_progress *progress)
{
	if (progress->cg_shown)
		fprintf(stderr, "\r\033[K");
}
