/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A node with servers, and processes that are attached to it, in this process.
 */
#ifndef M0_TESTS_UNIT_PUMP_PUMP_RIG_H
#define M0_TESTS_UNIT_PUMP_PUMP_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "front/pump.h"
#include "m0/lnet_info.h"
#include "m0/lnet_tune.h"
#include "m0/lnet_fault.h"
#include "m0/log.h"
#include "serve/serve.h"

enum {
	PORTAL = 20,
	REGION_BYTES = 1 << 20,
	AREA_BYTES = 1 << 20,
	EVENTS_MAX = 4096,
	LOOKS_NR = 200000,
	FRONTS_NR = 2
};

/** Numbers of both processes. */
static struct m0_serve_tms tms;

static struct m0_serve_cfg serve_cfg = {
	.svg_shared = { .shc_down_nr = 128,
			.shc_up_nr = 512,
			.shc_reserved_nr = 400,
			.shc_incoming_nr = 64,
			.shc_portals_nr = 64,
			.shc_mes_max = 150,
			.shc_mds_max = 150,
			.shc_ops_max = 100,
			.shc_eqs_max = 4,
			.shc_regions_max = 2,
			.shc_controls_nr = 2,
			.shc_control_bytes = 8192 },
	.svg_bytes_max = 2 * REGION_BYTES,
	.svg_right = M0_SHARED_RIGHT_QUERY,
	.svg_tms = &tms,
	.svg_portals = { { { 0, 63 } }, 1 },
	.svg_tmids = { { { 0, 4095 } }, 1 },
};

/** An attached process. */
struct process {
	char            pr_area[AREA_BYTES] __attribute__((__aligned__(64)));
	char            pr_region[REGION_BYTES];
	struct m0_serve pr_serve;
	struct m0_shared_side pr_side;
	struct m0_lnet       *pr_lnet;
	unsigned              pr_ended_nr;
	unsigned              pr_client_ended_nr;
	unsigned              pr_closed_nr;
	struct m0_shared_why  pr_why;
	bool                  pr_is_dead;
	/** The node does not run while the process waits. */
	bool pr_is_stopped;
	/** The node has a thread, which ups it. */
	bool                pr_has_sem;
	struct m0_semaphore pr_sem;
};

static struct m0_lnet *node;
static struct process  processes[FRONTS_NR];
/** The first one. */
static struct process *const self = &processes[0];
#define lnet   self->pr_lnet
#define region self->pr_region

/* ----------------------------------------------------------------- hosts -- */

static void process_rouse(void *arg)
{
	struct process *process = arg;

	if (process->pr_has_sem)
		m0_semaphore_up(&process->pr_sem);
}

static int server_wait(void *arg, m0_time_t deadline)
{
	(void)arg;
	(void)deadline;
	return -ETIMEDOUT;
}

static int server_map(void *arg, uint32_t nr, uint64_t bytes, void **ret)
{
	struct process *process = arg;

	if (nr != 1 || bytes > sizeof process->pr_region)
		return -EINVAL;
	*ret = process->pr_region;
	return 0;
}

static bool is_dead(void *arg)
{
	struct process *process = arg;

	return process->pr_is_dead;
}

static int creds(void *arg, struct m0_shared_creds *ret)
{
	(void)arg;
	*ret = (struct m0_shared_creds){ 1, 2, 3 };
	return 0;
}

static const struct m0_shared_host server_host = {
	.shh_wake = process_rouse,
	.shh_wait = server_wait,
	.shh_map = server_map,
	.shh_is_dead = is_dead,
	.shh_creds = creds,
};

static void client_wake(void *arg)
{
	struct process *process = arg;

	if (__atomic_load_n(&process->pr_ended_nr, __ATOMIC_ACQUIRE) == 0)
		m0_serve_wake(&process->pr_serve);
}

/* The node runs while a client sleeps. */
static int client_wait(void *arg, m0_time_t deadline)
{
	struct process *process = arg;

	if (process->pr_has_sem)
		return m0_semaphore_timeddown(&process->pr_sem, deadline)
			       ? 0
			       : -ETIMEDOUT;
	if (process->pr_is_stopped)
		m0_time_sleep(min64u(deadline, m0_time_from_now(0, 1000000)));
	else
		(void)m0_lnet_progress(node);
	return 0;
}

static const struct m0_shared_host client_host = {
	.shh_wake = client_wake,
	.shh_wait = client_wait,
	.shh_map = server_map,
	.shh_is_dead = is_dead,
	.shh_creds = creds,
};

static void client_ended(void *arg, const struct m0_shared_why *why)
{
	struct process *process = arg;

	++process->pr_client_ended_nr;
	process->pr_why = *why;
}

static void client_closed(void *arg)
{
	struct process *process = arg;

	++process->pr_closed_nr;
}

static struct m0_pump_host pump_host = {
#ifdef RIG_COPY
	.puh_copy = RIG_COPY,
#endif
	.puh_rouse = process_rouse,
	.puh_ended = client_ended,
	.puh_closed = client_closed,
};

static void server_ended(struct m0_serve *srv)
{
	struct process *process = srv->srv_owner;
	char            text[128];

	if (srv->srv_why.shy_field != NULL)
		print_message("%s\n", m0_shared_why_print(&srv->srv_why, text,
							  sizeof text));
	__atomic_add_fetch(&process->pr_ended_nr, 1, __ATOMIC_RELEASE);
}

static const struct m0_serve_ops serve_ops = { .svo_ended = server_ended };

/* ---------------------------------------------------------------- events -- */

static struct m0_lnet_event events[EVENTS_MAX];
static unsigned             events_nr;

static void called(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	(void)eq;
	assert_true(events_nr < EVENTS_MAX);
	events[events_nr++] = *ev;
}

static void progress(unsigned nr)
{
	unsigned i;

	while (nr-- > 0) {
		(void)m0_lnet_progress(node);
		for (i = 0; i < FRONTS_NR; ++i)
			if (processes[i].pr_lnet != NULL)
				(void)m0_lnet_progress(processes[i].pr_lnet);
	}
}

static void await(unsigned nr)
{
	unsigned i;

	for (i = 0; i < LOOKS_NR && events_nr < nr; ++i)
		progress(1);
	if (events_nr != nr)
		fail_msg("%u events, not %u", events_nr, nr);
}

/* Number of events of a type and status. */
static inline unsigned count(enum m0_lnet_event_type type, int status)
{
	unsigned nr = 0;
	unsigned i;

	for (i = 0; i < events_nr; ++i)
		nr += events[i].ev_type == type &&
		      events[i].ev_status == status;
	return nr;
}

static inline unsigned unlinked_count(void)
{
	unsigned nr = 0;
	unsigned i;

	for (i = 0; i < events_nr; ++i)
		nr += events[i].ev_unlinked;
	return nr;
}

/* ----------------------------------------------------------------- calls -- */

static inline struct m0_lnet_handle attach(struct m0_lnet    *front,
					   struct m0_lnet_eq *eq,
					   struct m0_bufvec *vec, uint64_t bits,
					   unsigned options, int32_t threshold)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_match_bits = bits,
		.mea_flags = M0_LNET_ME_UNLINK,
	};
	struct m0_lnet_md_attr md = {
		.mda_vec = vec,
		.mda_length = vec == NULL ? 0 : m0_vec_count(&vec->ov_vec),
		.mda_threshold = threshold,
		.mda_options = options | M0_LNET_MD_MANAGE_REMOTE |
			       M0_LNET_MD_TRUNCATE,
		.mda_auto_unlink = true,
		.mda_eq = eq,
		.mda_user = vec,
	};
	struct m0_lnet_handle handle;

	if (bits % 2 == 0) {
		assert_int_equal(m0_lnet_me_attach(front, &me, &handle), 0);
		assert_int_equal(m0_lnet_md_attach(front, handle, &md, &handle),
				 0);
	} else {
		assert_int_equal(m0_lnet_entry_attach(front, &me, &md, &handle),
				 0);
	}
	return handle;
}

static int move(struct m0_lnet *front, struct m0_lnet_eq *eq,
		struct m0_bufvec *vec, uint64_t bits, bool get, bool ack)
{
	struct m0_lnet_op op = {
		.lo_self = m0_lnet_nid_any,
		.lo_target = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
		.lo_portal = PORTAL,
		.lo_match_bits = bits,
		.lo_hdr_data = 77,
		.lo_ack = ack,
		.lo_user = vec,
	};
	struct m0_lnet_md_attr md = {
		.mda_vec = vec,
		.mda_length = vec == NULL ? 0 : m0_vec_count(&vec->ov_vec),
		.mda_threshold = get || ack ? 2 : 1,
		.mda_auto_unlink = true,
		.mda_eq = eq,
		.mda_user = eq,
	};
	struct m0_lnet_handle handle;

	return get ? m0_lnet_bind_get(front, &md, &op, &handle)
		   : m0_lnet_bind_put(front, &md, &op, &handle);
}

struct memory {
	void            *me_buf[M0_LNET_MD_SEGS_MAX];
	m0_bcount_t      me_count[M0_LNET_MD_SEGS_MAX];
	struct m0_bufvec me_vec;
};

static struct m0_bufvec *vec_of(struct memory *mem, unsigned nr, char *at,
				m0_bcount_t bytes, m0_bcount_t step)
{
	unsigned i;

	for (i = 0; i < nr; ++i) {
		mem->me_buf[i] = at + i * step;
		mem->me_count[i] = bytes;
	}
	mem->me_vec.ov_buf = mem->me_buf;
	mem->me_vec.ov_vec.v_count = mem->me_count;
	mem->me_vec.ov_vec.v_nr = nr;
	return &mem->me_vec;
}

/* ------------------------------------------------------------------ life -- */

static void process_begin(struct process *process)
{
	static struct m0_lnet_cfg cfg;

	memset(process, 0, sizeof *process);
	process->pr_has_sem = !m0_lnet_is_inline(node);
	assert_int_equal(m0_semaphore_init(&process->pr_sem, 0), 0);
	m0_lnet_cfg_default(&cfg);
	cfg.lc_inline = true;
	assert_int_equal(m0_serve_init(&process->pr_serve, node, &serve_cfg,
				       process->pr_area, AREA_BYTES,
				       &server_host, process, &serve_ops,
				       process),
			 0);
	assert_int_equal(m0_shared_join(&process->pr_side, process->pr_area,
					AREA_BYTES, &client_host, process,
					NULL),
			 0);
	assert_int_equal(m0_pump_open(&process->pr_lnet, &cfg,
				      &process->pr_side, NULL, 0, &pump_host,
				      process),
			 0);
	assert_int_equal(m0_lnet_mem_register(process->pr_lnet,
					      process->pr_region, REGION_BYTES),
			 0);
	assert_int_equal(m0_pump_nids_get(process->pr_lnet), 0);
}

static void process_end(struct process *process)
{
	unsigned i;

	if (process->pr_lnet == NULL)
		return;
	m0_lnet_close(process->pr_lnet);
	process->pr_lnet = NULL;
	assert_int_equal(process->pr_closed_nr, 1);
	assert_int_equal(process->pr_client_ended_nr, 1);
	m0_serve_end(&process->pr_serve);
	for (i = 0;
	     __atomic_load_n(&process->pr_ended_nr, __ATOMIC_ACQUIRE) == 0; ++i)
		if (!m0_lnet_progress(node))
			m0_time_sleep(
				m0_time_from_now(0, i < 1000 ? 0 : 1000000));
	assert_int_equal(process->pr_ended_nr, 1);
	m0_serve_fini(&process->pr_serve);
	m0_semaphore_fini(&process->pr_sem);
}

static int setup(void **state)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];

	(void)state;
	m0_lnet_cfg_default(&cfg);
	cfg.lc_inline = true;
	cfg.lc_accept = M0_LNET_ACCEPT_NONE;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, "tcp(127.0.0.1)", why), 0);
	assert_int_equal(m0_lnet_open(&node, &cfg, why), 0);
	process_begin(self);
	events_nr = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	process_end(&processes[1]);
	process_end(self);
	m0_lnet_close(node);
	m0_serve_tms_fini(&tms);
	return 0;
}

#endif /* M0_TESTS_UNIT_PUMP_PUMP_RIG_H */
