/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Counters and latencies of a machine, and the watches of the application. */
#include "rpc/rpc_internal.h"

/* ---------------------------------------------------------------- stats -- */

void m0_rpc__counts_init(struct m0_rpc__counts *counts)
{
	m0_mutex_init(&counts->rco_lock);
	m0_list_init(&counts->rco_watches);
}

void m0_rpc__counts_fini(struct m0_rpc__counts *counts)
{
	uint32_t i;

	for (i = 0; counts->rco_hist != NULL && i < M0_RPC__TYPES_MAX; ++i)
		m0_free(counts->rco_hist[i]);
	m0_free(counts->rco_hist);
	m0_list_fini(&counts->rco_watches);
	m0_mutex_fini(&counts->rco_lock);
}

/* All fields have 64 bits. The last five are gauges, the others are counters. */
enum {
	STATS_NR = sizeof(struct m0_rpc_stats) / sizeof(uint64_t),
	GAUGES_NR = 5
};

_Static_assert(offsetof(struct m0_rpc_stats, rs_clients) ==
		       (STATS_NR - GAUGES_NR) * sizeof(uint64_t),
	       "gauges are at the end");

static void gauges_do(struct m0_rpc__machine *m, void *arg)
{
	struct m0_rpc_stats *stats = arg;

	M0_PRE(m0_rpc__server_invariant(&m->rml_server));
	stats->rs_clients = m->rml_server.rsv_clients_nr;
	stats->rs_executing = m->rml_server.rsv_executing_nr;
	stats->rs_replies_bytes = m->rml_server.rsv_budget.rsb_bytes;
	stats->rs_clients_bytes = m->rml_server.rsv_clients_bytes;
	stats->rs_waiting_bytes = m->rml_sender.rsn_frms.fs_bytes;
}

void m0_rpc_machine_get_stats(struct m0_rpc_machine *machine,
			      struct m0_rpc_stats *stats, bool reset)
{
	struct m0_rpc__machine *m = machine->rm_lib;
	uint64_t               *base = (uint64_t *)&m->rml_counts.rco_base;
	uint64_t               *ret = (uint64_t *)stats;
	int                     i;

	M0_PRE(stats != NULL);
	m0_rpc__do(m, gauges_do, stats);
	m0_mutex_lock(&m->rml_counts.rco_lock);
	for (i = 0; i < STATS_NR - GAUGES_NR; ++i) {
		uint64_t now = __atomic_load_n(
			&((const uint64_t *)&m->rml_counts.rco_stats)[i],
			__ATOMIC_RELAXED);

		ret[i] = now - base[i];
		if (reset)
			base[i] = now;
	}
	m0_mutex_unlock(&m->rml_counts.rco_lock);
}

/* -------------------------------------------------------------- latency -- */

/* The first of a type, or of one that has another's place; NULL: no memory. */
static __attribute__((__noinline__)) struct m0_rpc__hist *hist_begin(
	struct m0_rpc__machine *m, const struct m0_rpc_item_type *type)
{
	struct m0_rpc__hist **hist;

	M0_PRE(m0_rpc__is_here(m));
	if (m->rml_counts.rco_hist == NULL)
		M0_ALLOC_ARR(m->rml_counts.rco_hist, M0_RPC__TYPES_MAX);
	if (m->rml_counts.rco_hist == NULL)
		return NULL;
	hist = &m->rml_counts.rco_hist[m0_rpc__type_place(type)];
	if (*hist == NULL)
		M0_ALLOC_PTR(*hist);
	if (*hist == NULL)
		return NULL;
	(*hist)->rhi_index = type->rit_index;
	m0_hist_init(&(*hist)->rhi_hist);
	return *hist;
}

void m0_rpc__latency(struct m0_rpc__machine        *m,
		     const struct m0_rpc_item_type *type, m0_time_t ns)
{
	struct m0_rpc__hist *hist = NULL;

	M0_PRE_EX(m0_rpc__is_here(m));
	if (M0_LIKELY(m->rml_counts.rco_hist != NULL))
		hist = m->rml_counts.rco_hist[m0_rpc__type_place(type)];
	if (M0_UNLIKELY(hist == NULL || hist->rhi_index != type->rit_index))
		hist = hist_begin(m, type);
	if (M0_LIKELY(hist != NULL))
		m0_hist_record(&hist->rhi_hist, ns);
}

struct latency {
	const struct m0_rpc_item_type *lat_type;
	struct m0_hist                *lat_hist;
	int                            lat_rc;
};

static void latency_do(struct m0_rpc__machine *m, void *arg)
{
	struct latency            *lat = arg;
	const struct m0_rpc__hist *hist =
		m->rml_counts.rco_hist != NULL
			? m->rml_counts
				  .rco_hist[m0_rpc__type_place(lat->lat_type)]
			: NULL;

	lat->lat_rc = hist == NULL || hist->rhi_index !=
					      lat->lat_type->rit_index
			      ? -ENOENT
			      : 0;
	if (lat->lat_rc == 0)
		*lat->lat_hist = hist->rhi_hist;
}

int m0_rpc_machine_latency(struct m0_rpc_machine         *machine,
			   const struct m0_rpc_item_type *type,
			   struct m0_hist                *ret_hist)
{
	struct latency lat = { type, ret_hist, 0 };

	M0_PRE(ret_hist != NULL);
	m0_rpc__do(machine->rm_lib, latency_do, &lat);
	return lat.lat_rc;
}

/* ---------------------------------------------------------------- watch -- */

static void attach_do(struct m0_rpc__machine *m, void *arg)
{
	struct m0_rpc_machine_watch *watch = arg;

	M0_PRE(!m0_list_link_is_in(&watch->mw_link));
	m0_list_add_tail(&m->rml_counts.rco_watches, &watch->mw_link);
}

void m0_rpc_machine_watch_attach(struct m0_rpc_machine       *machine,
				 struct m0_rpc_machine_watch *watch)
{
	M0_PRE(machine->rm_lib != NULL);
	m0_list_link_init(&watch->mw_link);
	watch->mw_mach = machine;
	m0_rpc__do(machine->rm_lib, attach_do, watch);
}

static void detach_do(struct m0_rpc__machine *m, void *arg)
{
	struct m0_rpc_machine_watch *watch = arg;

	(void)m;
	if (m0_list_link_is_in(&watch->mw_link))
		m0_list_del(&watch->mw_link);
}

void m0_rpc_machine_watch_detach(struct m0_rpc_machine_watch *watch)
{
	/* NULL: the machine was finalised. */
	if (watch->mw_mach != NULL)
		m0_rpc__do(watch->mw_mach->rm_lib, detach_do, watch);
	watch->mw_mach = NULL;
}

void m0_rpc__watch_conn(struct m0_rpc__machine *m, struct m0_rpc_conn *conn)
{
	struct m0_rpc_machine_watch *watch;

	M0_PRE(m0_rpc__is_here(m));
	m0_list_for_each_entry(&m->rml_counts.rco_watches, watch,
			       struct m0_rpc_machine_watch, mw_link)
		if (watch->mw_conn_added != NULL)
			watch->mw_conn_added(watch, conn);
}

void m0_rpc__watch_session(struct m0_rpc__machine *m,
			   struct m0_rpc_session  *session)
{
	struct m0_rpc_machine_watch *watch;

	M0_PRE(m0_rpc__is_here(m));
	m0_list_for_each_entry(&m->rml_counts.rco_watches, watch,
			       struct m0_rpc_machine_watch, mw_link)
		if (watch->mw_session_added != NULL)
			watch->mw_session_added(watch, session);
}

void m0_rpc__watch_end(struct m0_rpc__machine *m)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&m->rml_counts.rco_watches)) != NULL) {
		struct m0_rpc_machine_watch *watch = container_of(
			link, struct m0_rpc_machine_watch, mw_link);

		m0_list_del(link);
		watch->mw_mach = NULL;
		if (watch->mw_mach_terminated != NULL)
			watch->mw_mach_terminated(watch);
	}
}
