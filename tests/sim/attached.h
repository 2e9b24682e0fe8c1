/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Attached processes of the simulator that crash, and their transfer machines. */
#ifndef M0_TESTS_SIM_ATTACHED_H
#define M0_TESTS_SIM_ATTACHED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "m0/lnet_run.h"
#include "m0/log.h"
#include "m0/sim_attach.h"
#include "m0/sim_net.h"
#include "m0/xlnet.h"

enum {
	SEEDS_NR = 300,
	HOSTS_NR = 2,
	PROCS_NR = 3,
	MDS_NR = 40,
	MD_BYTES = 2048,
	STEPS_MAX = 150,
	PORTAL = 20,
	TIMEOUT_MS = 300,
	/** A crash is noticed, and operations time out. */
	BOUND_MS = 5000
};

enum kind {
	FREE,
	ENTRY,
	PUT,
	GET
};

struct proc;

/** An MD, and its operation. */
struct md {
	struct proc *m_proc;
	enum kind    m_kind;
	bool         m_acks;
	/** The operation has failed, so its MD stays; nothing else comes of it. */
	bool                  m_has_failed;
	unsigned              m_ended_nr;
	unsigned              m_send_nr;
	unsigned              m_answer_nr;
	uint64_t              m_bits;
	struct m0_bufvec      m_vec;
	void                 *m_buf;
	m0_bcount_t           m_bytes;
	struct m0_lnet_handle m_handle;
};

struct proc {
	struct host              *p_host;
	unsigned                  p_nr;
	bool                      p_is_up;
	bool                      p_is_inline;
	bool                      p_reattaches;
	bool                      p_dies_in_callback;
	bool                      p_scribbled;
	struct m0_lnet           *p_lnet;
	struct m0_lnet_eq         p_eq;
	char                     *p_mem;
	struct md                 p_md[MDS_NR];
	bool                      p_has_tm;
	struct m0_net_domain      p_dom;
	struct m0_net_transfer_mc p_tm;
	struct m0_net_buffer      p_buf;
	unsigned                  p_buf_done_nr;
	int32_t                   p_buf_status;
	/** FAILED of a machine that was STARTED; its status. */
	unsigned p_failed_nr;
	int32_t  p_failed_rc;
};

struct host {
	const char           *h_addr;
	struct m0_sim_host   *h_host;
	struct m0_lnet       *h_lnet;
	struct m0_sim_daemon *h_daemon;
	unsigned              h_nr;
	unsigned              h_broken_nr;
	struct proc           h_proc[PROCS_NR];
};

/** The simulation. */
extern struct m0_sim *sim;

/** Over all seeds: was anything proved? */
struct sums {
	unsigned long s_mds_nr;
	unsigned long s_good_nr;
	unsigned long s_shut_nr;
	unsigned long s_crashes_nr;
	unsigned long s_amid_nr;
	unsigned long s_daemons_nr;
	unsigned long s_buffers_nr;
	unsigned long s_broken_nr;
	unsigned long s_cut_nr;
	unsigned long s_again_nr;
	unsigned long s_copies_nr;
	unsigned long s_copies_cut_nr;
};
extern struct sums sums;

#define MUST(cond, ...)                                \
	do {                                           \
		if (!(cond))                           \
			m0_sim_fail(sim, __VA_ARGS__); \
	} while (0)

/** Runs until a condition is true. @return false: not in that time. */
bool wait_ms(bool (*cond)(void *arg), void *arg, unsigned ms);

/* -- attached_tm.c --------------------------------------------------------- */

/** Starts the machine of a process, with a buffer. */
void tm_begin(struct proc *p);
/** The machine ends with its daemon: the buffer first. */
void tm_fails(struct proc *p);
/** Ends the machine, if there is one. */
void tm_end(struct proc *p);

#endif /* M0_TESTS_SIM_ATTACHED_H */
