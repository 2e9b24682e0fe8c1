/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The pump: a front that is attached to a node of the same process. This thread is the
 * process, and the node's thread.
 */
#include "pump_rig.h"

/* -------------------------------------------------------------- messages -- */

/* A PUT, with and without ACK, and a GET from one front to another. */
static void moves(struct m0_lnet *from, struct m0_lnet *to, char *from_at,
		  char *to_at, unsigned segs_nr)
{
	struct m0_lnet_eq    from_eq;
	struct m0_lnet_eq    to_eq;
	static struct memory from_mem;
	static struct memory to_mem;
	struct m0_bufvec    *src = vec_of(&from_mem, segs_nr, from_at, 64, 100);
	struct m0_bufvec    *dst = vec_of(&to_mem, segs_nr, to_at, 64, 200);
	unsigned             step;
	unsigned             i;

	m0_lnet_eq_init(&from_eq, from, called, 0);
	m0_lnet_eq_init(&to_eq, to, called, 0);
	for (step = 0; step < 3; ++step) {
		bool get = step == 2;

		events_nr = 0;
		for (i = 0; i < segs_nr; ++i) {
			memset(from_mem.me_buf[i],
			       get ? 0 : 'a' + (int)(i + step), 64);
			memset(to_mem.me_buf[i], get ? 'A' + (int)i : 0, 64);
		}
		(void)attach(to, &to_eq, dst, 5 + step,
			     get ? M0_LNET_MD_OP_GET : M0_LNET_MD_OP_PUT, 1);
		progress(20);
		assert_int_equal(
			move(from, &from_eq, src, 5 + step, get, step == 1), 0);
		await(step == 0 ? 2 : 3);
		assert_int_equal(count(M0_LNET_EV_SEND, 0), 1);
		assert_int_equal(
			count(get ? M0_LNET_EV_GET : M0_LNET_EV_PUT, 0), 1);
		assert_int_equal(count(M0_LNET_EV_ACK, 0), step == 1);
		assert_int_equal(count(M0_LNET_EV_REPLY, 0), get);
		assert_int_equal(unlinked_count(), 2);
		for (i = 0; i < events_nr; ++i) {
			bool incoming = M0_IN(events[i].ev_type,
					      (M0_LNET_EV_PUT, M0_LNET_EV_GET));

			assert_ptr_equal(events[i].ev_md_user,
					 incoming ? (void *)dst
						  : (void *)&from_eq);
			assert_ptr_equal(events[i].ev_op_user,
					 incoming ? NULL : src);
			assert_int_equal(events[i].ev_mlength, segs_nr * 64);
		}
		for (i = 0; i < segs_nr; ++i)
			assert_memory_equal(from_mem.me_buf[i],
					    to_mem.me_buf[i], 64);
	}
	progress(20);
	m0_lnet_eq_fini(&to_eq);
	m0_lnet_eq_fini(&from_eq);
}

static void messages_move(void **state)
{
	static char other[REGION_BYTES];
	char       *there = region + REGION_BYTES / 2;

	(void)state;
	moves(lnet, lnet, region, there, 1);
	moves(lnet, node, region, other, 1);
	moves(node, lnet, other, region, 3);
	moves(lnet, lnet, region, there, M0_LNET_MD_SEGS_MAX);
	moves(node, lnet, other, region, M0_LNET_MD_SEGS_MAX);
	assert_int_equal(self->pr_side.shs_reserved_nr, 0);
	assert_int_equal(self->pr_serve.srv_side.shs_reserved_nr, 0);
}

/* Two processes that are attached to one node. */
static void processes_talk(void **state)
{
	struct process *other = &processes[1];

	(void)state;
	process_begin(other);
	moves(lnet, other->pr_lnet, region, other->pr_region, 2);
	moves(other->pr_lnet, lnet, other->pr_region, region, 5);
}

/* The application takes the events of a polled queue, in waits and looks. */
static void queues_are_polled(void **state)
{
	struct m0_lnet_event ev;
	struct m0_lnet_eq    eq;
	static struct memory src;
	static struct memory dst;
	unsigned             i;

	(void)state;
	m0_lnet_eq_init(&eq, lnet, NULL, 0);
	for (i = 0; i < 300; ++i) {
		memset(region, 'a' + (int)i % 26, 64);
		(void)attach(lnet, &eq, vec_of(&dst, 1, region + 4096, 64, 0),
			     i, M0_LNET_MD_OP_PUT, 1);
		assert_int_equal(move(lnet, &eq, vec_of(&src, 1, region, 64, 0),
				      i, false, false),
				 0);
		assert_int_equal(
			m0_lnet_eq_wait(&eq, &ev, m0_time_from_now(20, 0)), 0);
		assert_int_equal(ev.ev_status, 0);
		assert_int_equal(
			m0_lnet_eq_wait(&eq, &ev, m0_time_from_now(20, 0)), 0);
		assert_int_equal(ev.ev_status, 0);
		assert_memory_equal(region, region + 4096, 64);
		assert_int_equal(m0_lnet_eq_get(&eq, &ev), -EAGAIN);
	}
	m0_lnet_eq_fini(&eq);
}

/* Numbers, entries and records are used again; nothing is dropped. */
static void many_messages_move(void **state)
{
	enum {
		ROUNDS = 60,
		DEEP = 20
	};
	struct m0_lnet_eq    eq;
	static struct memory src;
	unsigned             round;
	unsigned             i;

	(void)state;
	m0_lnet_eq_init(&eq, lnet, called, 0);
	(void)vec_of(&src, 1, region, 64, 0);
	for (round = 0; round < ROUNDS; ++round) {
		events_nr = 0;
		(void)attach(lnet, &eq, &src.me_vec, 5, M0_LNET_MD_OP_PUT,
			     DEEP);
		for (i = 0; i < DEEP; ++i)
			assert_int_equal(move(lnet, &eq, &src.me_vec, 5, false,
					      false),
					 0);
		await(2 * DEEP);
		assert_int_equal(count(M0_LNET_EV_PUT, 0), DEEP);
		assert_int_equal(count(M0_LNET_EV_SEND, 0), DEEP);
	}
	m0_lnet_eq_fini(&eq);
	assert_int_equal(eq.eq_dropped_nr, 0);
	progress(20);
	assert_int_equal(self->pr_side.shs_reserved_nr, 0);
	assert_int_equal(self->pr_serve.srv_side.shs_reserved_nr, 0);
}

/* More than the area has reserved events for: the call fails, nothing else. */
static void bounds_fail_calls(void **state)
{
	struct m0_lnet_eq            eq;
	static struct m0_lnet_handle handle[400];
	static struct memory         mem;
	struct m0_lnet_me_attr       me = {
		      .mea_portal = PORTAL,
		      .mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		      .mea_flags = M0_LNET_ME_UNLINK,
	};
	struct m0_lnet_md_attr md = {
		.mda_vec = vec_of(&mem, 1, region, 64, 0),
		.mda_length = 64,
		.mda_threshold = 1,
		.mda_options = M0_LNET_MD_OP_PUT,
		.mda_eq = &eq,
	};
	unsigned turn;
	unsigned nr;
	unsigned i;
	int      rc;

	(void)state;
	m0_lnet_eq_init(&eq, lnet, called, 0);
	for (turn = 0; turn < 2; ++turn) {
		events_nr = 0;
		for (nr = 0; nr < 400; ++nr) {
			rc = m0_lnet_entry_attach(lnet, &me, &md, &handle[nr]);
			if (rc != 0)
				break;
		}
		assert_int_equal(rc, -ENOSPC);
		assert_int_equal(nr, 150);
		assert_int_equal(move(lnet, &eq, &mem.me_vec, 99, true, false),
				 -ENOSPC);
		for (i = 0; i < nr; ++i)
			assert_int_equal(m0_lnet_md_unlink(lnet, handle[i]), 0);
		await(nr);
		assert_int_equal(unlinked_count(), nr);
		progress(100);
	}
	/* Operations: three events each, and one of its MD. */
	events_nr = 0;
	for (nr = 0; nr < 400; ++nr) {
		rc = move(lnet, &eq, &mem.me_vec, 99, false, false);
		if (rc != 0)
			break;
	}
	assert_true(rc == -ENOBUFS || rc == -ENOSPC);
	assert_int_equal(nr, 99);
	await(nr);
	progress(100);
	assert_int_equal(move(lnet, &eq, &mem.me_vec, 99, false, false), 0);
	await(nr + 1);
	progress(20);
	m0_lnet_eq_fini(&eq);
	assert_int_equal(self->pr_side.shs_reserved_nr, 0);
}

/* A polled queue has room for two messages; the others are dropped and counted. */
static void bounded_queues_drop(void **state)
{
	struct m0_lnet_eq     eq;
	struct m0_lnet_eq     sends;
	struct m0_lnet_event  ev;
	struct m0_lnet_handle md;
	static struct memory  mem;
	unsigned              i;

	(void)state;
	m0_lnet_eq_init(&eq, lnet, NULL, 2);
	m0_lnet_eq_init(&sends, lnet, called, 0);
	(void)vec_of(&mem, 1, region, 64, 0);
	md = attach(lnet, &eq, &mem.me_vec, 6, M0_LNET_MD_OP_PUT,
		    M0_LNET_MD_THRESHOLD_INF);
	for (i = 0; i < 5; ++i)
		assert_int_equal(
			move(lnet, &sends, &mem.me_vec, 6, false, false), 0);
	await(5);
	progress(100);
	assert_int_equal(m0_lnet_eq_get(&eq, &ev), 0);
	assert_int_equal(m0_lnet_eq_get(&eq, &ev), 0);
	assert_int_equal(m0_lnet_eq_get(&eq, &ev), -EAGAIN);
	/* There is room again. */
	assert_int_equal(move(lnet, &sends, &mem.me_vec, 6, false, false), 0);
	await(6);
	progress(100);
	assert_int_equal(m0_lnet_eq_get(&eq, &ev), 0);
	assert_int_equal(eq.eq_dropped_nr, 3);
	assert_int_equal(m0_lnet_md_unlink(lnet, md), 0);
	assert_int_equal(m0_lnet_eq_wait(&eq, &ev, m0_time_from_now(20, 0)), 0);
	assert_int_equal(ev.ev_type, M0_LNET_EV_UNLINK);
	assert_int_equal(ev.ev_status, 0);
	assert_true(ev.ev_unlinked);
	assert_int_equal(m0_lnet_md_unlink(lnet, md), -ENOENT);
	m0_lnet_eq_fini(&eq);
	m0_lnet_eq_fini(&sends);
}

/* A number of an event queue is that of another queue later. */
static void queue_numbers_are_used_again(void **state)
{
	struct m0_lnet_event ev;
	struct m0_lnet_eq    eq;
	static struct memory mem;
	unsigned             i;

	(void)state;
	(void)vec_of(&mem, 1, region, 64, 0);
	for (i = 0; i < 20; ++i) {
		m0_lnet_eq_init(&eq, lnet, NULL, 1 + i % 3);
		(void)attach(lnet, &eq, &mem.me_vec, 6, M0_LNET_MD_OP_PUT, 1);
		assert_int_equal(move(lnet, NULL, &mem.me_vec, 6, false, false),
				 0);
		assert_int_equal(
			m0_lnet_eq_wait(&eq, &ev, m0_time_from_now(20, 0)), 0);
		assert_int_equal(ev.ev_type, M0_LNET_EV_PUT);
		progress(20);
		m0_lnet_eq_fini(&eq);
	}
}

/* -------------------------------------------------------------- requests -- */

/* The counters cross the area. A thread with a lock does not wait for them. */
static void counters_are_the_nodes(void)
{
	struct m0_lnet_eq    eq;
	static struct memory mem;
	struct m0_lnet_stats before;
	struct m0_lnet_stats st;
	struct m0_lnet_stats own;
	struct m0_mutex      mutex;

	m0_lnet_eq_init(&eq, lnet, called, 0);
	m0_lnet_stats_get(lnet, &before);
	(void)attach(lnet, &eq, vec_of(&mem, 1, region, 64, 0), 3,
		     M0_LNET_MD_OP_PUT, 1);
	progress(20);
	events_nr = 0;
	assert_int_equal(move(lnet, &eq, &mem.me_vec, 3, false, false), 0);
	await(2);
	m0_lnet_stats_get(lnet, &st);
	m0_lnet_stats_get(node, &own);
	assert_memory_equal(&st, &own, sizeof st);
	assert_true(st.ls_send_count > before.ls_send_count);
	m0_lnet_stats_reset(node);
	progress(20);
	m0_mutex_init(&mutex);
	m0_mutex_lock(&mutex);
	m0_lnet_stats_get(lnet, &own);
	m0_mutex_unlock(&mutex);
	m0_mutex_fini(&mutex);
	assert_memory_equal(&st, &own, sizeof st);
	m0_lnet_stats_get(lnet, &st);
	assert_int_equal(st.ls_send_count, 0);
	m0_lnet_eq_fini(&eq);
}

static void requests_are_answered(void **state)
{
	struct m0_lnet_process_id id;
	struct m0_lnet_process_id own;
	struct m0_lnet_info      *info;
	struct m0_lnet_stats      st;
	unsigned                  i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		assert_int_equal(m0_lnet_get_id(lnet, i, &id), 0);
		assert_int_equal(m0_lnet_get_id(node, i, &own), 0);
		assert_true(m0_lnet_nid_eq(&id.lp_nid, &own.lp_nid));
	}
	assert_int_equal(m0_lnet_get_id(lnet, 2, &id), -ENOENT);
	assert_int_equal(m0_lnet_info_get(lnet, &info), 0);
	assert_int_equal(info->li_nis_nr, 2);
	m0_lnet_info_free(info);
	/* Not allowed. */
	assert_int_equal(m0_lnet_fault_reset(lnet, M0_LNET_FAULT_DROP), -EPERM);
	counters_are_the_nodes();
	m0_lnet_stats_get(lnet, &st);
	m0_lnet_stats_reset(lnet);
	assert_int_equal(m0_lnet_lazy_set(lnet, PORTAL, true), 0);
	assert_int_equal(m0_lnet_lazy_set(lnet, PORTAL, false), 0);
	progress(20);
	assert_false(m0_pump_is_ended(lnet));
}

static void memory_is_registered(void **state)
{
	static char          foreign[64];
	struct m0_lnet_eq    eq;
	static struct memory mem;

	(void)state;
	m0_lnet_eq_init(&eq, lnet, called, 0);
	(void)vec_of(&mem, 1, foreign, 64, 0);
	assert_int_equal(move(lnet, &eq, &mem.me_vec, 6, false, false),
			 -EFAULT);
	/* The server does not map it, and says so at its use: nobody waits. */
	assert_int_equal(m0_lnet_mem_register(lnet, foreign, sizeof foreign),
			 0);
	assert_int_equal(move(lnet, &eq, &mem.me_vec, 6, false, false), 0);
	await(1);
	assert_int_equal(events[0].ev_status, -EFAULT);
	m0_lnet_mem_deregister(lnet, foreign, sizeof foreign);
	/* The places of both are free in a moment, for which a registration waits. */
	m0_lnet_mem_deregister(lnet, region, REGION_BYTES);
	(void)vec_of(&mem, 1, region, 64, 0);
	assert_int_equal(move(lnet, &eq, &mem.me_vec, 6, false, false),
			 -EFAULT);
	assert_int_equal(m0_lnet_mem_register(lnet, region, REGION_BYTES), 0);
	events_nr = 0;
	assert_int_equal(move(lnet, &eq, &mem.me_vec, 6, false, false), 0);
	await(1);
	assert_int_equal(events[0].ev_status, 0);
	progress(20);
	m0_lnet_eq_fini(&eq);
}

/* Offsets of a block that point out of it. */
static void wild_blocks_are_refused(void **state)
{
	struct m0_lnet_info      *info;
	struct m0_lnet_peer_info *peer;
	size_t                    bytes;

	(void)state;
	info = m0_alloc(sizeof *info + sizeof *peer);
	assert_non_null(info);
	info->li_peers_nr = 1;
	info->li_peers = (struct m0_lnet_peer_info *)(void *)(info + 1);
	info->li_nis = (struct m0_lnet_ni_info *)(void *)(info + 1);
	bytes = m0_ring_info_pack(info);
	peer = (struct m0_lnet_peer_info *)(void *)(info + 1);
	peer->pei_nis = (struct m0_lnet_peer_ni_info *)sizeof *info;
	assert_true(m0_ring_info_check(info, bytes));
	assert_false(m0_ring_info_check(info, bytes - 1));
	assert_false(m0_ring_info_check(info, 8));
	peer->pei_nis_nr = 1 << 20;
	assert_false(m0_ring_info_check(info, bytes));
	peer->pei_nis_nr = 0;
	info->li_nis_nr = 100;
	assert_false(m0_ring_info_check(info, bytes));
	info->li_nis_nr = 0;
	info->li_peers = (struct m0_lnet_peer_info *)(uintptr_t)bytes;
	assert_false(m0_ring_info_check(info, bytes));
	m0_free(info);
}

/* ---------------------------------------------------------------- threads -- */

enum {
#ifdef __KERNEL__
	/* An emulated machine is slow, and processes do all of it. */
	TURNS_NR = 200
#else
	TURNS_NR = 2000
#endif
};

static void polled_turns(struct m0_lnet_eq *eq, struct m0_bufvec *vec)
{
	struct m0_lnet_event ev;
	unsigned             i;
	unsigned             j;

	for (i = 0; i < TURNS_NR; ++i) {
		(void)attach(lnet, eq, vec, i, M0_LNET_MD_OP_PUT, 1);
		assert_int_equal(move(lnet, eq, vec, i, false, false), 0);
		for (j = 0; j < 2; ++j) {
			assert_int_equal(
				m0_lnet_eq_wait(eq, &ev,
						m0_time_from_now(20, 0)),
				0);
			assert_int_equal(ev.ev_status, 0);
		}
	}
}

/* The node has a thread, later the attached front, too. */
static void threads_talk(void **state)
{
	struct m0_lnet_eq    eq;
	static struct memory mem;

	(void)state;
	process_end(self);
	assert_int_equal(m0_lnet_thread_start(node), 0);
	process_begin(self);
	m0_lnet_eq_init(&eq, lnet, NULL, 0);
	(void)vec_of(&mem, 1, region, 64, 0);
	polled_turns(&eq, &mem.me_vec);
	assert_int_equal(m0_lnet_thread_start(lnet), 0);
	polled_turns(&eq, &mem.me_vec);
	m0_lnet_eq_fini(&eq);
}

/* ------------------------------------------------------------------- end -- */

static struct m0_lnet_eq end_eq;

/* Idle MDs, and operations that have no answer: lazy messages wait at the node. */
static void outstanding_make(void)
{
	static struct memory mem;
	unsigned             i;

	m0_lnet_eq_init(&end_eq, lnet, called, 0);
	(void)vec_of(&mem, 1, region, 64, 0);
	assert_int_equal(m0_lnet_lazy_set(node, PORTAL, true), 0);
	for (i = 0; i < 10; ++i)
		(void)attach(lnet, &end_eq, &mem.me_vec, 100 + i,
			     M0_LNET_MD_OP_PUT, 1);
	progress(50);
	for (i = 0; i < 10; ++i)
		assert_int_equal(move(lnet, &end_eq, &mem.me_vec, 7, i % 2 == 0,
				      true),
				 0);
	/* The SENDs of the GETs have come. */
	await(5);
	/* These have not been put. */
	for (i = 0; i < 3; ++i)
		assert_int_equal(
			move(lnet, &end_eq, &mem.me_vec, 7, false, true), 0);
}

static void outstanding_check(void)
{
	await(5 + 10 + 3 + 10);
	assert_int_equal(count(M0_LNET_EV_SEND, -ESHUTDOWN), 5 + 3);
	assert_int_equal(count(M0_LNET_EV_REPLY, -ESHUTDOWN), 5);
	assert_int_equal(count(M0_LNET_EV_UNLINK, -ESHUTDOWN), 10);
	assert_int_equal(unlinked_count(), 23);
	progress(100);
	assert_int_equal(events_nr, 28);
	assert_int_equal(end_eq.eq_users_nr, 0);
}

static void server_ends(void **state)
{
	struct m0_lnet_info *info;

	(void)state;
	outstanding_make();
	m0_serve_end(&self->pr_serve);
	outstanding_check();
	assert_int_equal(self->pr_client_ended_nr, 1);
	assert_null(self->pr_why.shy_field);
	assert_true(m0_pump_is_ended(lnet));
	/* Nothing is accepted any more, and nothing hangs. */
	assert_int_equal(move(lnet, &end_eq, NULL, 7, false, false),
			 -ESHUTDOWN);
	assert_int_equal(m0_lnet_info_get(lnet, &info), -ESHUTDOWN);
	m0_lnet_eq_fini(&end_eq);
}

static void server_dies(void **state)
{
	(void)state;
	outstanding_make();
	m0_pump_end(lnet);
	self->pr_is_dead = true;
	outstanding_check();
	m0_lnet_eq_fini(&end_eq);
}

static void front_closes(void **state)
{
	(void)state;
	outstanding_make();
	m0_lnet_close(lnet);
	lnet = NULL;
	assert_int_equal(self->pr_closed_nr, 1);
	assert_int_equal(events_nr, 28);
	assert_int_equal(unlinked_count(), 23);
	m0_serve_end(&self->pr_serve);
	while (self->pr_ended_nr == 0)
		(void)m0_lnet_progress(node);
	m0_serve_fini(&self->pr_serve);
}

/* -------------------------------------------------------- a wild server -- */

static void no_log(void *arg, enum m0_log_level level, const char *text)
{
	unsigned *nr = arg;

	(void)text;
	*nr += level == M0_LOG_ERROR;
}

static void wild_report(const struct m0_shared_report *rep)
{
	struct m0_shared_side *side = &self->pr_serve.srv_side;
	unsigned               logged_nr = 0;

	outstanding_make();
	m0_log_set(no_log, &logged_nr);
	m0_shared_report_put(side, rep);
	m0_shared_commit(side, 1);
	outstanding_check();
	m0_log_set(NULL, NULL);
	assert_int_equal(logged_nr, 1);
	assert_int_equal(self->pr_client_ended_nr, 1);
	assert_non_null(self->pr_why.shy_field);
	m0_lnet_eq_fini(&end_eq);
}

static void wild_reports_end_it(void **state)
{
	static const struct m0_shared_report reports[] = {
		{ .shp_kind = M0_SHARED_DONE, .shp_nr = 80, .shp_gen = 1 },
		{ .shp_kind = M0_SHARED_ME_GONE, .shp_nr = 80, .shp_gen = 1 },
		{ .shp_kind = M0_SHARED_ME_GONE, .shp_nr = 3, .shp_gen = 9 },
		{ .shp_kind = M0_SHARED_PASSED, .shp_nr = 0 },
		{ .shp_kind = M0_SHARED_ANSWER, .shp_nr = 1, .shp_gen = 1 },
		{ .shp_kind = M0_SHARED_RESULT,
		  .shp_nr = 1,
		  .shp_result = { .srt_opcode = M0_SHARED_REGION_DEL } },
		{ .shp_kind = M0_SHARED_EV_UNLINK,
		  .shp_nr = 149,
		  .shp_gen = 1,
		  .shp_event = { .rev_type = M0_LNET_EV_UNLINK,
				 .rev_unlinked = 1,
				 .rev_md_nr = 149,
				 .rev_md_gen = 1 } },
		{ .shp_kind = M0_SHARED_EV_INCOMING,
		  .shp_event = { .rev_type = M0_LNET_EV_PUT,
				 .rev_md_nr = 149,
				 .rev_md_gen = 1 } },
		{ .shp_kind = M0_SHARED_EV_SEND,
		  .shp_nr = 0,
		  .shp_gen = 1,
		  .shp_event = { .rev_type = M0_LNET_EV_SEND,
				 .rev_md_nr = 10,
				 .rev_md_gen = 1 } },
		{ .shp_kind = (enum m0_shared_kind)99 },
	};
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(reports); ++i) {
		if (i > 0)
			(void)setup(state);
		if (reports[i].shp_kind == 99) {
			struct m0_shared_report rep = reports[0];

			/* A kind that there is not. */
			rep.shp_nr = 1 << 20;
			wild_report(&rep);
		} else {
			wild_report(&reports[i]);
		}
		if (i + 1 < ARRAY_SIZE(reports))
			(void)teardown(state);
	}
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* A number belongs to one process, until it gives it back or ends. */
static void numbers_are_of_one_process(void **state)
{
	struct m0_lnet *other;
	uint32_t        nr = 0;

	(void)state;
	process_begin(&processes[1]);
	other = processes[1].pr_lnet;
	assert_int_equal(m0_lnet_tm_claim(lnet, PORTAL, 4096, &nr), 0);
	assert_int_equal(nr, 4095);
	assert_int_equal(m0_lnet_tm_claim(other, PORTAL, 4095, &nr),
			 -EADDRINUSE);
	assert_int_equal(m0_lnet_tm_claim(other, PORTAL, 4096, &nr), 0);
	assert_int_equal(nr, 4094);
	/* Each portal has its own numbers. */
	assert_int_equal(m0_lnet_tm_claim(other, PORTAL + 1, 4095, &nr), 0);
	m0_lnet_tm_release(lnet, PORTAL, 4095);
	progress(4);
	assert_int_equal(m0_lnet_tm_claim(other, PORTAL, 4096, &nr), 0);
	assert_int_equal(nr, 4095);
	process_end(&processes[1]);
	assert_int_equal(m0_lnet_tm_claim(lnet, PORTAL, 4094, &nr), 0);
	assert_int_equal(m0_lnet_tm_claim(lnet, PORTAL + 1, 4095, &nr), 0);
	assert_true(m0_lnet_is_attached(lnet));
	assert_false(m0_lnet_is_attached(node));
}

/* A daemon that does not answer is not waited for without end. */
static void numbers_are_not_awaited_for_ever(void **state)
{
	uint32_t nr = 7;

	(void)state;
	self->pr_is_stopped = true;
	assert_int_equal(m0_lnet_tm_claim(lnet, PORTAL, 7, &nr), -ETIMEDOUT);
	self->pr_is_stopped = false;
	/* The daemon gave it all the same, and the process keeps it until it ends. */
	progress(4);
	assert_int_equal(m0_lnet_tm_claim(lnet, PORTAL, 7, &nr), -EADDRINUSE);
}

/* A thread that only polls never sleeps, and sees the death of its server. */
static void death_is_seen_by_polls(void **state)
{
	m0_time_t until = m0_time_from_now(5, 0);

	(void)state;
	self->pr_is_dead = true;
	while (!m0_pump_is_ended(lnet) && m0_time_now() < until)
		(void)m0_lnet_progress(lnet);
	assert_true(m0_pump_is_ended(lnet));
}

/* A strand that waits for an answer makes no step, and learns of the server's death. */
static void waiting_strand_sees_the_death(void **state)
{
	m0_time_t until = m0_time_from_now(5, 0);

	(void)state;
	self->pr_is_dead = true;
	while (!m0_pump_is_ended(lnet) && m0_time_now() < until)
		m0_pump_turn(lnet);
	assert_true(m0_pump_is_ended(lnet));
}

/* A thread with a lock does not wait for the server: the strand may want the lock. */
static void regions_do_not_wait_with_lock(void **state)
{
	static char     other[4096];
	struct m0_mutex mutex;

	(void)state;
	m0_mutex_init(&mutex);
	self->pr_is_stopped = true;
	m0_mutex_lock(&mutex);
	assert_int_equal(m0_lnet_mem_register(lnet, other, sizeof other), 0);
	m0_lnet_mem_deregister(lnet, other, sizeof other);
	m0_mutex_unlock(&mutex);
	self->pr_is_stopped = false;
	m0_mutex_fini(&mutex);
	progress(100);
}

/* An entry posted behind requests without an answer is in the area at once: somebody may
 * be told of an entry before the server has taken it. */
static void requests_hold_nothing_up(void **state)
{
	enum {
		CLAIMS_NR = 9
	};
	/* Used until the front is closed, which ends the MDs. */
	static struct memory     mem;
	static struct m0_lnet_eq eq;
	uint32_t                 nr[CLAIMS_NR];
	int                      before;
	unsigned                 i;

	(void)state;
	m0_lnet_eq_init(&eq, lnet, called, 0);
	(void)attach(lnet, &eq, vec_of(&mem, 1, region, 64, 64), 3,
		     M0_LNET_MD_OP_PUT, 1);
	for (i = 0; i < CLAIMS_NR; ++i)
		assert_int_equal(m0_lnet_tm_claim(lnet, PORTAL, 4096, &nr[i]),
				 0);
	progress(100);
	before = m0_shared_ready(&self->pr_serve.srv_side, NULL);
	assert_int_equal(before, 0);
	for (i = 0; i < CLAIMS_NR; ++i)
		m0_lnet_tm_release(lnet, PORTAL, nr[i]);
	(void)attach(lnet, &eq, vec_of(&mem, 1, region, 64, 64), 5,
		     M0_LNET_MD_OP_PUT, 1);
	/* An entry is an ME and an MD. */
	assert_int_equal(m0_shared_ready(&self->pr_serve.srv_side, NULL),
			 CLAIMS_NR + 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(messages_move),
		TEST(processes_talk),
		TEST(queues_are_polled),
		TEST(many_messages_move),
		TEST(bounds_fail_calls),
		TEST(bounded_queues_drop),
		TEST(queue_numbers_are_used_again),
		TEST(requests_are_answered),
		TEST(memory_is_registered),
		cmocka_unit_test(wild_blocks_are_refused),
		TEST(numbers_are_of_one_process),
		TEST(numbers_are_not_awaited_for_ever),
		TEST(threads_talk),
		TEST(server_ends),
		TEST(server_dies),
		TEST(death_is_seen_by_polls),
		TEST(waiting_strand_sees_the_death),
		TEST(regions_do_not_wait_with_lock),
		TEST(requests_hold_nothing_up),
		TEST(front_closes),
		TEST(wild_reports_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
