/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Shared by the files about attached processes. An area, and memory of a
 * process, is a memfd with two mappings in this process, one of each side. A
 * side that crashes gets a private mapping in place of its own, so what it does
 * afterwards, until it is finalised, reaches nobody.
 */
#ifndef M0_SRC_SIM_ATTACH_INTERNAL_H
#define M0_SRC_SIM_ATTACH_INTERNAL_H

#include "m0/list.h"
#include "front/apart.h"
#include "front/pump.h"
#include "m0/sim_attach.h"
#include "serve/serve.h"
#include "sim/sched/sim_internal.h"

/** Memory of a process, as the daemon maps it. */
struct sim_map {
	int      sam_fd;
	void    *sam_addr;
	uint64_t sam_bytes;
	/** Where the process has it, for processes that copy; 0: it does not say. */
	uint64_t sam_home;
};

/** An attachment: both sides. */
struct sim_attach {
	/** In m0_sim__attaches. First: the list has the alignment of this structure, as a
	 * loop over the list takes the head for a link of it. */
	struct m0_list_link sia_link;
	/** NULL: it was stopped. */
	struct m0_sim_daemon *sia_daemon;
	/** Path of the daemon. The attachment that follows when this one has ended; NULL: none. */
	char               sia_path[M0_SIM_PATH_BYTES];
	struct sim_attach *sia_next;
	uint32_t           sia_pid;
	int                sia_fd;
	uint64_t           sia_bytes;
	/** The process's side. NULL: it was closed. */
	struct m0_lnet       *sia_lnet;
	void                 *sia_client_area;
	struct m0_shared_side sia_side;
	/** The daemon has rung, or another thread has: a wait ends. */
	bool sia_rung;
	/** For loops of others. */
	struct m0_os_fd sia_pollable;
	bool            sia_has_fd;
	/** Calls of the host until the process crashes; 0: never. */
	unsigned sia_crash_in;
	bool     sia_is_dead;
	/** lc_same_host: it copies, and others copy from it. */
	bool sia_copies;
	/** The process knows that the daemon is dead. */
	bool sia_daemon_is_missed;

	/** The daemon's side. */
	struct m0_serve sia_serve;
	void           *sia_server_area;
	struct sim_map *sia_maps;
	/** svo_ended was called; m0_serve_fini() was. */
	bool sia_has_ended;
	bool sia_is_over;

	/** The process has rung the daemon. */
	struct m0_sim_timer sia_bell;
	/** One side notices the death of the other. */
	struct m0_sim_timer sia_death;
};

struct m0_sim_daemon {
	struct m0_sim       sda_sim;
	struct m0_lnet     *sda_lnet;
	char                sda_path[M0_SIM_PATH_BYTES];
	struct m0_list_link sda_link;
	struct m0_serve_tms sda_tms;
	/** Copies between its processes, and how many they have made. */
	struct m0_serve_copies sda_copies;
	uint64_t               sda_copies_nr;
	uint64_t               sda_copies_cut_nr;
	struct m0_sim_rand     sda_rand;
	uint64_t               sda_attached_nr;
	uint64_t               sda_broken_nr;
	bool                   sda_is_dead;
};

/** All attachments of this simulation. */
extern struct m0_list m0_sim__attaches;

/** The attachment of a front; NULL: it has none. */
struct sim_attach *m0_sim__attach_of(const struct m0_lnet *lnet);
/** A number in [lo, hi] of the daemon's own sequence. */
uint64_t m0_sim__attach_draw(struct m0_sim_daemon *daemon, uint64_t lo,
			     uint64_t hi);
/** Ends a wait of the process, or makes its strand look. */
void m0_sim__attach_rouse(struct sim_attach *att);
/** The process makes a call of its host. @return true: it is dead. */
bool m0_sim__attach_call(struct sim_attach *att);

/** Forgets what crashes have cut. */
void m0_sim__attach_cut_reset(void);

#endif /* M0_SRC_SIM_ATTACH_INTERNAL_H */
