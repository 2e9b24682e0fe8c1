/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A message link of the simulator. It has two ends, and carries whole messages
 * from each to the other, with delays and faults of a network drawn from the
 * seed.
 *
 * A message leaves when those before it have left (rate), travels for the
 * latency plus jitter, and is delivered by callback at its virtual time. Order
 * is kept, except for messages drawn to be reordered and second copies of
 * duplicates. Each direction has its own faults, queue and counters.
 */
#ifndef M0_SIM_LINK_H
#define M0_SIM_LINK_H

#include "m0/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

struct m0_sim_link;
struct m0_sim_packet;

struct m0_sim_link_cfg {
	/** Bytes a second; 0: no limit. */
	uint64_t  simlc_rate_bytes;
	m0_time_t simlc_latency_ns;
	/** Added to the latency, uniform from 0. */
	m0_time_t simlc_jitter_ns;
	/** Probabilities for each message, in parts per million. */
	uint32_t simlc_loss_ppm;
	uint32_t simlc_duplicate_ppm;
	uint32_t simlc_reorder_ppm;
	/** Longest delay of a reordered message after its arrival in order. */
	m0_time_t simlc_reorder_ns;
	/** Most messages in flight in one direction; 0: 1024. */
	unsigned simlc_queue_max;
	/** Most bytes of one message; 0: 1 MiB. */
	size_t simlc_bytes_max;
};

/** Counters of the messages sent from one end. */
struct m0_sim_link_stats {
	uint64_t simls_sent_nr;
	uint64_t simls_delivered_nr;
	uint64_t simls_lost_nr;
	uint64_t simls_duplicated_nr;
	uint64_t simls_reordered_nr;
	/** Dropped because the direction was cut, when sent or in flight. */
	uint64_t simls_cut_nr;
	/** Refused because the queue was full. */
	uint64_t simls_refused_nr;
};

/** One direction, identified by the end that sends. Private. */
struct m0_sim_link_dir {
	bool simld_cut;
	/** Time at which the last message has left, and latest arrival in
	 * order. */
	m0_time_t                simld_free_at;
	m0_time_t                simld_arrival;
	unsigned                 simld_queued_nr;
	struct m0_sim_packet    *simld_packets;
	struct m0_sim_link_stats simld_stats;
};

struct m0_sim_link {
	struct m0_sim         *siml_sim;
	const char            *siml_name;
	struct m0_sim_link_cfg siml_cfg;
	struct m0_sim_rand     siml_rand;
	struct m0_sim_link_dir siml_dir[2];
	/**
	 * A message for end `end` (0 or 1) has arrived. `bytes` belong to the
	 * link and are valid during the call. Runs as a timer does: it may
	 * send, and must not wait.
	 */
	void (*siml_deliver)(struct m0_sim_link *link, int end,
			     const void *bytes, size_t nr);
	/** For the owner. */
	void *siml_data;
};

/** @param name  for the narration; kept by pointer. */
void m0_sim_link_init(struct m0_sim_link *link, struct m0_sim *sim,
		      const char *name, const struct m0_sim_link_cfg *cfg,
		      void (*deliver)(struct m0_sim_link *link, int end,
				      const void *bytes, size_t nr));
/** Finalises a link. Drops the messages in flight without counting them. */
void m0_sim_link_fini(struct m0_sim_link *link);
/**
 * Sends a copy of `bytes` from end `end` to the other one. From anywhere, also
 * from a step, a timer or a delivery. A result of 0 does not mean that the
 * message will arrive.
 * @retval -ENOBUFS   simlc_queue_max messages are in flight.
 * @retval -EMSGSIZE  more than simlc_bytes_max.
 */
int m0_sim_link_send(struct m0_sim_link *link, int end, const void *bytes,
		     size_t nr);
/** Cuts or restores the direction from `end`; the other one does not change. */
void m0_sim_link_cut(struct m0_sim_link *link, int end, bool cut);
/** Sets faults and speed for messages sent from now on; those in flight keep
 * their arrival times. */
void                            m0_sim_link_cfg_set(struct m0_sim_link           *link,
						    const struct m0_sim_link_cfg *cfg);
const struct m0_sim_link_stats *m0_sim_link_stats(
	const struct m0_sim_link *link, int end);

#ifdef __cplusplus
}
#endif
#endif /* M0_SIM_LINK_H */
