/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "../base/jout.h"
#include "stats.h"
#include "../base/text.h"

const char *tool_queue_name(unsigned qtype)
{
	static const char *const names[] = {
		[M0_NET_QT_MSG_RECV] = "msg-recv",
		[M0_NET_QT_MSG_SEND] = "msg-send",
		[M0_NET_QT_PASSIVE_BULK_RECV] = "passive-bulk-recv",
		[M0_NET_QT_PASSIVE_BULK_SEND] = "passive-bulk-send",
		[M0_NET_QT_ACTIVE_BULK_RECV] = "active-bulk-recv",
		[M0_NET_QT_ACTIVE_BULK_SEND] = "active-bulk-send",
	};

	M0_PRE(qtype < ARRAY_SIZE(names));
	return names[qtype];
}

/* Mean time from add to the last event. */
static double queue_mean_ns(const struct m0_net_qstats *qs)
{
	uint64_t nr = qs->nqs_num_s_events + qs->nqs_num_f_events;

	return nr == 0 ? 0 : (double)qs->nqs_time_in_queue / (double)nr;
}

static void queue_print(FILE *file, const char *machine, unsigned qtype,
			const struct m0_net_qstats *qs)
{
	char size[TEXT_MAX];
	char mean[TEXT_MAX];

	if (qs->nqs_num_adds + qs->nqs_num_f_events == 0)
		return;
	fprintf(file,
		"%-9s %-18s %9" PRIu64 " %9" PRIu64 " %7" PRIu64 " %11s %13s\n",
		machine, tool_queue_name(qtype), qs->nqs_num_adds,
		qs->nqs_num_s_events, qs->nqs_num_f_events,
		text_size(size, qs->nqs_total_bytes),
		text_time(mean, queue_mean_ns(qs)));
}

void tool_stats_print(FILE *file, const struct tool_stats *stats, unsigned nr)
{
	unsigned i;
	unsigned q;

	fprintf(file, "%-9s %-18s %9s %9s %7s %11s %13s\n", "machine", "queue",
		"adds", "done", "failed", "bytes", "mean in queue");
	for (i = 0; i < nr; ++i) {
		for (q = 0; q < M0_NET_QT_NR; ++q)
			queue_print(file, stats[i].tst_machine, q,
				    &stats[i].tst_queues[q]);
	}
}

static void queue_json(struct json_t *array, const char *machine,
		       unsigned qtype, const struct m0_net_qstats *qs)
{
	struct json_t *object;

	if (qs->nqs_num_adds + qs->nqs_num_f_events == 0)
		return;
	object = jout_append(array);
	jout_str(object, "machine", machine);
	jout_str(object, "queue", tool_queue_name(qtype));
	jout_num(object, "adds", qs->nqs_num_adds);
	jout_num(object, "dels", qs->nqs_num_dels);
	jout_num(object, "done", qs->nqs_num_s_events);
	jout_num(object, "failed", qs->nqs_num_f_events);
	jout_num(object, "bytes", qs->nqs_total_bytes);
	jout_num(object, "max_bytes", qs->nqs_max_bytes);
	jout_real(object, "mean_in_queue_ns", queue_mean_ns(qs));
}

void tool_stats_json(struct json_t *array, const struct tool_stats *stats,
		     unsigned nr)
{
	unsigned i;
	unsigned q;

	for (i = 0; i < nr; ++i) {
		for (q = 0; q < M0_NET_QT_NR; ++q)
			queue_json(array, stats[i].tst_machine, q,
				   &stats[i].tst_queues[q]);
	}
}
