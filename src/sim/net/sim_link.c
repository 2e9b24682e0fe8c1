/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>

#include "sim/sched/sim_internal.h"
#include "m0/sim_link.h"

enum {
	QUEUE_MAX = 1024,
	BYTES_MAX = 1 << 20,
	MILLION = 1000000
};

/* A copy of a message on its way. */
struct m0_sim_packet {
	struct m0_sim_timer    simp_timer;
	struct m0_sim_link    *simp_link;
	struct m0_sim_packet  *simp_next;
	struct m0_sim_packet **simp_pprev;
	/** The end that sent it. */
	int      simp_end;
	uint64_t simp_id;
	size_t   simp_nr;
	uint8_t  simp_bytes[];
};

void m0_sim_link_cfg_set(struct m0_sim_link           *link,
			 const struct m0_sim_link_cfg *cfg)
{
	link->siml_cfg = *cfg;
	if (cfg->simlc_queue_max == 0)
		link->siml_cfg.simlc_queue_max = QUEUE_MAX;
	if (cfg->simlc_bytes_max == 0)
		link->siml_cfg.simlc_bytes_max = BYTES_MAX;
}

void m0_sim_link_init(struct m0_sim_link *link, struct m0_sim *sim,
		      const char *name, const struct m0_sim_link_cfg *cfg,
		      void (*deliver)(struct m0_sim_link *link, int end,
				      const void *bytes, size_t nr))
{
	M0_PRE(deliver != NULL);
	M0_SET0(link);
	link->siml_sim = sim;
	link->siml_name = name;
	link->siml_deliver = deliver;
	m0_sim_link_cfg_set(link, cfg);
	m0_sim__rand_init(sim->sim_core, &link->siml_rand);
}

static void packet_free(struct m0_sim_packet *packet)
{
	struct m0_sim_link_dir *dir;

	dir = &packet->simp_link->siml_dir[packet->simp_end];
	M0_ASSERT(dir->simld_queued_nr > 0);
	--dir->simld_queued_nr;
	*packet->simp_pprev = packet->simp_next;
	if (packet->simp_next != NULL)
		packet->simp_next->simp_pprev = packet->simp_pprev;
	free(packet);
}

void m0_sim_link_fini(struct m0_sim_link *link)
{
	struct m0_sim_packet *packet;
	struct m0_sim_packet *next;
	int                   end;

	for (end = 0; end < 2; ++end) {
		packet = link->siml_dir[end].simld_packets;
		for (; packet != NULL; packet = next) {
			next = packet->simp_next;
			m0_sim_timer_cancel(link->siml_sim,
					    &packet->simp_timer);
			packet_free(packet);
		}
	}
}

static void link_trace(const struct m0_sim_link *link, int end, uint64_t id,
		       const char *what)
{
	m0_sim__trace(link->siml_sim->sim_core, link->siml_name, "link",
		      "%d > %d message %" PRIu64 ": %s", end, 1 - end, id,
		      what);
}

static void packet_arrive(struct m0_sim_timer *timer)
{
	struct m0_sim_packet   *packet = timer->simt_data;
	struct m0_sim_link     *link = packet->simp_link;
	int                     end = packet->simp_end;
	struct m0_sim_link_dir *dir = &link->siml_dir[end];

	if (dir->simld_cut) {
		++dir->simld_stats.simls_cut_nr;
		link_trace(link, end, packet->simp_id, "cut off on its way");
	} else {
		++dir->simld_stats.simls_delivered_nr;
		link_trace(link, end, packet->simp_id, "delivered");
		link->siml_deliver(link, 1 - end, packet->simp_bytes,
				   packet->simp_nr);
	}
	packet_free(packet);
}

static m0_time_t link_draw(struct m0_sim_link *link, m0_time_t max)
{
	return max == 0 ? 0 : m0_sim__rand_in(&link->siml_rand, 0, max);
}

static bool link_chance(struct m0_sim_link *link, uint32_t ppm)
{
	return ppm > 0 &&
	       m0_sim__rand_in(&link->siml_rand, 0, MILLION - 1) < ppm;
}

/* When the next message in order arrives, if it has left at `left`. */
static m0_time_t link_arrival(struct m0_sim_link *link, m0_time_t left)
{
	return left + link->siml_cfg.simlc_latency_ns +
	       link_draw(link, link->siml_cfg.simlc_jitter_ns);
}

static void packet_go(struct m0_sim_link *link, int end, uint64_t id,
		      const void *bytes, size_t nr, m0_time_t arrival)
{
	struct m0_sim_link_dir *dir = &link->siml_dir[end];
	struct m0_sim_packet   *packet;

	packet = m0_sim__realloc(NULL, 1, sizeof *packet + nr);
	*packet = (struct m0_sim_packet){
		.simp_link = link,
		.simp_end = end,
		.simp_id = id,
		.simp_nr = nr,
		.simp_next = dir->simld_packets,
		.simp_pprev = &dir->simld_packets,
	};
	packet->simp_timer.simt_data = packet;
	if (nr > 0)
		memcpy(packet->simp_bytes, bytes, nr);
	if (packet->simp_next != NULL)
		packet->simp_next->simp_pprev = &packet->simp_next;
	dir->simld_packets = packet;
	++dir->simld_queued_nr;
	m0_sim_timer_arm(link->siml_sim, &packet->simp_timer, arrival,
			 packet_arrive);
}

/* When the last byte of a message sent now has left. */
static m0_time_t link_leave(struct m0_sim_link *link, int end, size_t nr)
{
	struct m0_sim_link_dir *dir = &link->siml_dir[end];
	m0_time_t               left;

	left = max64u(m0_sim_now(link->siml_sim), dir->simld_free_at);
	if (link->siml_cfg.simlc_rate_bytes > 0)
		left += nr * M0_TIME_ONE_SECOND /
			link->siml_cfg.simlc_rate_bytes;
	dir->simld_free_at = left;
	return left;
}

/* The first copy: in order, unless drawn to come later. */
static m0_time_t link_first(struct m0_sim_link *link, int end, uint64_t id,
			    m0_time_t left)
{
	struct m0_sim_link_dir *dir = &link->siml_dir[end];
	m0_time_t               arrival;

	arrival = max64u(link_arrival(link, left), dir->simld_arrival);
	if (link_chance(link, link->siml_cfg.simlc_reorder_ppm)) {
		++dir->simld_stats.simls_reordered_nr;
		link_trace(link, end, id, "out of order");
		return arrival +
		       link_draw(link, link->siml_cfg.simlc_reorder_ns);
	}
	dir->simld_arrival = arrival;
	return arrival;
}

int m0_sim_link_send(struct m0_sim_link *link, int end, const void *bytes,
		     size_t nr)
{
	struct m0_sim_link_dir       *dir = &link->siml_dir[end];
	const struct m0_sim_link_cfg *cfg = &link->siml_cfg;
	m0_time_t                     left;
	uint64_t                      id;

	M0_PRE(end == 0 || end == 1);
	if (nr > cfg->simlc_bytes_max)
		return -EMSGSIZE;
	if (dir->simld_queued_nr >= cfg->simlc_queue_max) {
		++dir->simld_stats.simls_refused_nr;
		return -ENOBUFS;
	}
	id = ++dir->simld_stats.simls_sent_nr;
	left = link_leave(link, end, nr);
	if (dir->simld_cut) {
		++dir->simld_stats.simls_cut_nr;
		link_trace(link, end, id, "cut off");
	} else if (link_chance(link, cfg->simlc_loss_ppm)) {
		++dir->simld_stats.simls_lost_nr;
		link_trace(link, end, id, "lost");
	} else {
		packet_go(link, end, id, bytes, nr,
			  link_first(link, end, id, left));
		if (dir->simld_queued_nr < cfg->simlc_queue_max &&
		    link_chance(link, cfg->simlc_duplicate_ppm)) {
			++dir->simld_stats.simls_duplicated_nr;
			link_trace(link, end, id, "duplicated");
			left += link_draw(link, cfg->simlc_reorder_ns);
			packet_go(link, end, id, bytes, nr,
				  link_arrival(link, left));
		}
	}
	return 0;
}

void m0_sim_link_cut(struct m0_sim_link *link, int end, bool cut)
{
	M0_PRE(end == 0 || end == 1);
	link->siml_dir[end].simld_cut = cut;
	m0_sim__trace(link->siml_sim->sim_core, link->siml_name, "link",
		      "%d > %d %s", end, 1 - end, cut ? "cut" : "mended");
}

const struct m0_sim_link_stats *m0_sim_link_stats(
	const struct m0_sim_link *link, int end)
{
	M0_PRE(end == 0 || end == 1);
	return &link->siml_dir[end].simld_stats;
}
