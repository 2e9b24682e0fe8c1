/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Messages between processes of a daemon that pass by it: they arrive once and in order, whatever
 * becomes of the way, and a neighbour that breaks the rules harms nobody.
 */
#include <signal.h>
#include <sys/wait.h>

#include "base/rand.h"

#include "attach_direct.h"

enum {
	ROUNDS_NR = 400,
	KILLS_NR = 12
};

/* ------------------------------------------------------------------ cases -- */

/* The daemon sees none of the messages, and can say how many there were. */
static void messages_pass_by_the_daemon(void **state)
{
	struct m0_attach_info info[4];
	uint64_t              there_nr;
	unsigned              i;

	(void)state;
	two_open();
	way_open(&one, &two, 0);
	all_come(&one, &two, 0);
	there_nr = one.en_seq - direct_of(&one)->pdr_sent_nr;
	for (i = 0; i < ROUNDS_NR; ++i) {
		(void)msg_send(&one, &two, 0, SMALL_BYTES);
		turn(&one, &two);
		recvs_fill(&two);
	}
	all_come(&one, &two, 0);
	assert_int_equal(one.en_seq - direct_of(&one)->pdr_sent_nr, there_nr);
	assert_int_equal(direct_of(&one)->pdr_sent_nr,
			 direct_of(&two)->pdr_taken_nr);
	assert_int_equal(m0_attach_server_info(&fix.fx_server, info, 4), 2);
	assert_int_equal(info[0].ain_direct_sent_nr +
				 info[1].ain_direct_sent_nr,
			 direct_of(&one)->pdr_sent_nr);
	assert_int_equal(info[0].ain_direct_taken_nr +
				 info[1].ain_direct_taken_nr,
			 direct_of(&one)->pdr_sent_nr);
	two_close();
}

/* Without the wish of both nothing changes. */
static void either_end_can_refuse(void **state)
{
	unsigned which;
	unsigned i;

	(void)state;
	for (which = 0; which < 2; ++which) {
		end_open(&one, which == 0);
		end_open(&two, which == 1);
		queue_begin(&two);
		recvs_fill(&two);
		for (i = 0; i < 50; ++i) {
			(void)msg_send(&one, &two, 0, SMALL_BYTES);
			turn(&one, &two);
			recvs_fill(&two);
		}
		all_come(&one, &two, 0);
		assert_true(direct_of(&one) == NULL ||
			    direct_of(&one)->pdr_sent_nr == 0);
		two_close();
	}
}

/* Sizes, bursts and want of buffers change the way, and the order stays. */
static void order_is_kept_when_the_way_changes(void **state)
{
	struct m0_rand rand;
	uint64_t       seed = m0_time_now();
	uint64_t       sent_nr;
	unsigned       falls_nr = 0;
	unsigned       i;

	(void)state;
	m0_rand_init(&rand, seed);
	print_message("M0_SEED=%llu\n", (unsigned long long)seed);
	two_open();
	two.en_lnet->fro_pump->pmp_direct->pdr_patience = M0_TIME_ONE_MSEC;
	way_open(&one, &two, 0);
	for (i = 0; i < 20 * ROUNDS_NR; ++i) {
		uint64_t what = m0_rand_below(&rand, 100);

		if (what < 60)
			(void)msg_send(&one, &two, 0,
				       what == 0 ? LARGE_BYTES
						 : SMALL_BYTES + what * 97);
		else if (what < 70)
			(void)m0_lnet_progress(one.en_lnet);
		else if (what < 85)
			(void)m0_lnet_progress(two.en_lnet);
		else if (what < 99)
			recvs_fill(&two);
		else
			/* Longer than a neighbour is patient. */
			(void)m0_nanosleep(1200 * M0_TIME_ONE_USEC, NULL);
		falls_nr += direct_of(&one)->pdr_outs[0].pou_state ==
			    M0_PUMP_OUT_AWAY;
	}
	all_come(&one, &two, 0);
	sent_nr = direct_of(&one)->pdr_sent_nr;
	print_message("sent %u, %llu by pipes\n", one.en_seq,
		      (unsigned long long)sent_nr);
	assert_true(sent_nr > 0 && sent_nr < one.en_seq && falls_nr > 0);
	two_close();
}

/* A message that may not use the pipe was sent before one that may. */
static void pipe_waits_for_other_messages(void **state)
{
	const struct m0_pump_out *out;

	(void)state;
	two_open();
	way_open(&one, &two, 0);
	all_come(&one, &two, 0);
	out = &direct_of(&one)->pdr_outs[0];
	assert_int_equal(out->pou_state, M0_PUMP_OUT_OPEN);
	one.en_is_any = true;
	assert_true(msg_send(&one, &two, 0, SMALL_BYTES));
	one.en_is_any = false;
	assert_true(msg_send(&one, &two, 0, SMALL_BYTES));
	assert_int_equal(out->pou_there_nr, 1);
	assert_true(out->pou_waiting.pch_first != 0);
	all_come(&one, &two, 0);
	two_close();
}

/* A message that comes by the daemon finds the buffers that the process holds. */
static void daemon_gets_what_is_held(void **state)
{
	m0_time_t until;
	unsigned  i;

	(void)state;
	two_open();
	end_open(&three, false);
	way_open(&one, &two, 0);
	all_come(&one, &two, 0);
	/* No buffer is added from here on. */
	until = m0_time_from_now(PATIENCE_S, 0);
	assert_true(direct_of(&two)->pdr_held_nr > 0);
	for (i = 0; i < RECVS_NR; ++i)
		assert_true(msg_send(&three, &two, 1, SMALL_BYTES));
	while (two.en_seqs[1] < RECVS_NR) {
		turn(&three, &two);
		if (m0_time_now() > until)
			fail_msg("%u have come, held %u", two.en_seqs[1],
				 direct_of(&two)->pdr_held_nr);
	}
	assert_int_equal(direct_of(&two)->pdr_held_nr, 0);
	recvs_fill(&two);
	for (i = 0; i < SENDS_NR; ++i)
		(void)msg_send(&one, &two, 0, SMALL_BYTES);
	all_come(&one, &two, 0);
	end_close(&three);
	two_close();
}

/* The daemon has used all that it had, and gets the others before it asks for them. */
static void daemon_is_not_left_without(void **state)
{
	const struct m0_pump_queue *queue;
	m0_time_t                   until = m0_time_from_now(PATIENCE_S, 0);
	unsigned                    there_nr;
	unsigned                    held_nr;
	unsigned                    i;

	(void)state;
	two_open();
	end_open(&three, false);
	way_open(&one, &two, 0);
	all_come(&one, &two, 0);
	recvs_fill(&two);
	queue = &direct_of(&two)->pdr_queues[0];
	there_nr = queue->pqu_there_nr;
	held_nr = queue->pqu_held_nr;
	assert_true(there_nr > 0 && held_nr > 0);
	for (i = 0; i < there_nr; ++i)
		assert_true(msg_send(&three, &two, 1, SMALL_BYTES));
	while (two.en_seqs[1] < there_nr && m0_time_now() < until)
		turn(&three, &two);
	turn(&two, NULL);
	assert_int_equal(two.en_seqs[1], there_nr);
	assert_int_equal(queue->pqu_held_nr, 0);
	assert_int_equal(queue->pqu_there_nr, held_nr);
	end_close(&three);
	two_close();
}

/* A buffer for several messages changes sides in the middle, and no byte is used twice. */
static void used_buffer_changes_sides(void **state)
{
	m0_time_t until = m0_time_from_now(PATIENCE_S, 0);
	unsigned  i;

	(void)state;
	end_open(&one, true);
	end_open(&two, true);
	end_open(&three, false);
	queue_begin(&two);
	recv_add(&two, &two.en_recvs[0], 1000);
	(void)msg_send(&one, &two, 0, SMALL_BYTES);
	while (direct_of(&two)->pdr_queues[0].pqu_ins_nr == 0 &&
	       m0_time_now() < until) {
		(void)m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
		turn(&one, &two);
		/* The daemon may be asked before it has the name. */
		if (one.en_sent_nr == one.en_seq &&
		    direct_of(&one)->pdr_outs[0].pou_state == M0_PUMP_OUT_AWAY)
			(void)msg_send(&one, &two, 0, SMALL_BYTES);
	}
	recv_add(&two, &two.en_recvs[1], 1000);
	assert_int_equal(direct_of(&two)->pdr_held_nr, 1);
	while (direct_of(&one)->pdr_sent_nr < 20) {
		/* The daemon's buffer keeps most of its bytes. */
		if (direct_of(&one)->pdr_outs[0].pou_state != M0_PUMP_OUT_OPEN)
			(void)m0_nanosleep(2 * M0_TIME_ONE_MSEC, NULL);
		if (one.en_sent_nr == one.en_seq)
			(void)msg_send(&one, &two, 0,
				       SMALL_BYTES + one.en_seq % 50);
		turn(&one, &two);
		if (m0_time_now() > until)
			fail_msg("no pipe");
	}
	while (one.en_sent_nr != one.en_seq && m0_time_now() < until)
		turn(&one, &two);
	assert_true(direct_of(&two)->pdr_taken_nr > 0);
	assert_int_equal(two.en_seqs[0], one.en_seq);
	/* The second one fits into the other buffer only. */
	for (i = 0; i < 2; ++i) {
		while (!msg_send(&three, &two, 1, LARGE_BYTES - 2048))
			turn(&three, &two);
		while (two.en_seqs[1] != three.en_seq && m0_time_now() < until)
			turn(&three, &two);
	}
	assert_int_equal(two.en_seqs[1], 2);
	assert_int_equal(direct_of(&two)->pdr_held_nr, 0);
	end_close(&three);
	two_close();
}

/* Everything that was begun ends once. */
static void operations_are_given_up(void **state)
{
	unsigned  i;
	unsigned  sent_nr;
	m0_time_t until;

	(void)state;
	two_open();
	way_open(&one, &two, 0);
	all_come(&one, &two, 0);
	two.en_has_gaps = true;
	for (i = 0; i < SENDS_NR; ++i)
		assert_true(msg_send(&one, &two, 0, 16 << 10));
	/* The pipe has some, and some wait. */
	assert_true(direct_of(&one)->pdr_outs[0].pou_waiting.pch_first != 0);
	assert_true(direct_of(&one)->pdr_outs[0].pou_sent.pch_first != 0);
	sent_nr = one.en_sent_nr;
	for (i = 0; i < SENDS_NR; i += 2)
		assert_int_equal(m0_lnet_md_unlink(one.en_lnet,
						   one.en_sends[i].sl_md),
				 0);
	(void)m0_lnet_progress(one.en_lnet);
	assert_int_equal(one.en_sent_nr, sent_nr + SENDS_NR / 2);
	assert_int_equal(one.en_failed_nr, SENDS_NR / 2);
	until = m0_time_from_now(PATIENCE_S, 0);
	while (one.en_sent_nr != one.en_seq && m0_time_now() < until) {
		turn(&one, &two);
		recvs_fill(&two);
	}
	assert_int_equal(one.en_failed_nr, SENDS_NR / 2);
	/* Buffers that are held, and those that are not. */
	recvs_fill(&two);
	assert_true(direct_of(&two)->pdr_held_nr > 0);
	for (i = 0; i < RECVS_NR / 2; ++i)
		assert_int_equal(m0_lnet_md_unlink(two.en_lnet,
						   two.en_recvs[i].sl_md),
				 0);
	two.en_unlinked_nr = 0;
	queue_end(&two);
	assert_int_equal(two.en_unlinked_nr, RECVS_NR);
	/* Messages to nobody. */
	for (i = 0; i < SENDS_NR; ++i)
		assert_true(msg_send(&one, &two, 0, SMALL_BYTES));
	until = m0_time_from_now(PATIENCE_S, 0);
	while (one.en_sent_nr != one.en_seq && m0_time_now() < until)
		turn(&one, &two);
	assert_int_equal(one.en_sent_nr, one.en_seq);
	end_close(&one);
	end_close(&two);
	fix_all_gone();
}

static bool has_work(const struct end *end)
{
	struct m0_pump *pump = end->en_lnet->fro_pump;
	bool            has;

	m0_mutex_lock(&pump->pmp_lock);
	has = m0_pump__direct_has_work(pump);
	m0_mutex_unlock(&pump->pmp_lock);
	return has;
}

/* A message is cancelled, and the neighbour takes it nevertheless: its sender can sleep. */
static void cancelled_message_is_no_news(void **state)
{
	m0_time_t until = m0_time_from_now(PATIENCE_S, 0);
	unsigned  i;

	(void)state;
	two_open();
	way_open(&one, &two, 0);
	all_come(&one, &two, 0);
	recvs_fill(&two);
	assert_true(msg_send(&one, &two, 0, SMALL_BYTES));
	for (i = 0; i < SENDS_NR; ++i)
		if (one.en_sends[i].sl_is_used)
			assert_int_equal(
				m0_lnet_md_unlink(one.en_lnet,
						  one.en_sends[i].sl_md),
				0);
	while (two.en_seqs[0] != one.en_seq && m0_time_now() < until)
		turn(&two, NULL);
	assert_int_equal(two.en_seqs[0], one.en_seq);
	turn(&one, NULL);
	assert_int_equal(one.en_failed_nr, 1);
	assert_int_equal(direct_of(&one)->pdr_outs[0].pou_state,
			 M0_PUMP_OUT_OPEN);
	assert_false(has_work(&one));
	/* A message that another thread sends while this one sleeps has a time-out. */
	m0_mutex_lock(&one.en_lnet->fro_pump->pmp_lock);
	until = m0_pump__direct_next(one.en_lnet->fro_pump);
	m0_mutex_unlock(&one.en_lnet->fro_pump->pmp_lock);
	assert_true(until < M0_TIME_NEVER);
	two_close();
}

/* The daemon ends while messages are in the pipe. */
static void end_of_the_daemon_ends_all(void **state)
{
	m0_time_t until = m0_time_from_now(PATIENCE_S, 0);
	unsigned  i;

	(void)state;
	two_open();
	way_open(&one, &two, 0);
	all_come(&one, &two, 0);
	for (i = 0; i < SENDS_NR; ++i)
		(void)msg_send(&one, &two, 0, 16 << 10);
	m0_log_level_set(M0_LOG_FATAL);
	fix_restart();
	two.en_has_gaps = true;
	while ((one.en_sent_nr != one.en_seq ||
		!m0_lnet_is_ended(one.en_lnet) ||
		!m0_lnet_is_ended(two.en_lnet)) &&
	       m0_time_now() < until) {
		turn(&one, &two);
		(void)m0_nanosleep(100 * M0_TIME_ONE_USEC, NULL);
	}
	assert_int_equal(one.en_sent_nr, one.en_seq);
	for (i = 0; i < 10; ++i)
		turn(&one, &two);
	for (i = 0; i < RECVS_NR; ++i)
		assert_false(two.en_recvs[i].sl_is_used);
	end_close(&one);
	end_close(&two);
}

/* --------------------------------------------------------------- threads -- */

/* Both sides sleep when there is nothing to do, and are woken. */
static void sleepers_are_woken(void **state)
{
	m0_time_t until = m0_time_add(m0_time_now(), 20 * M0_TIME_ONE_SECOND);
	unsigned  i;
	unsigned  k;

	(void)state;
	end_open_as(&one, true, false);
	end_open_as(&two, true, false);
	queue_begin(&two);
	for (i = 0; i < 60; ++i) {
		for (k = 0; k < RECVS_NR; ++k)
			if (!__atomic_load_n(&two.en_recvs[k].sl_is_used,
					     __ATOMIC_ACQUIRE))
				recv_add(&two, &two.en_recvs[k], 1);
		assert_true(msg_send(&one, &two, 0, SMALL_BYTES));
		while (__atomic_load_n(&two.en_seqs[0], __ATOMIC_ACQUIRE) <=
			       i ||
		       __atomic_load_n(&one.en_sent_nr, __ATOMIC_ACQUIRE) <=
			       i) {
			(void)m0_nanosleep(50 * M0_TIME_ONE_USEC, NULL);
			if (m0_time_now() > until)
				fail_msg("message %u: sent %u, come %u", i,
					 one.en_sent_nr, two.en_seqs[0]);
		}
		(void)m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
	}
	m0_mutex_lock(&one.en_lnet->fro_pump->pmp_lock);
	i = (unsigned)direct_of(&one)->pdr_sent_nr;
	m0_mutex_unlock(&one.en_lnet->fro_pump->pmp_lock);
	assert_true(i > 20);
	(void)m0_lnet_me_unlink(two.en_lnet, two.en_me);
	for (k = 0; k < RECVS_NR; ++k)
		while (__atomic_load_n(&two.en_recvs[k].sl_is_used,
				       __ATOMIC_ACQUIRE) &&
		       m0_time_now() < until)
			(void)m0_nanosleep(50 * M0_TIME_ONE_USEC, NULL);
	m0_lnet_tm_release(two.en_lnet, FIX_PORTAL, two.en_tmid);
	end_close(&one);
	end_close(&two);
	fix_all_gone();
}

/* ----------------------------------------------------------------- kills -- */

/* Sends, or takes, as fast as it can, until it is killed. */
static void child_run(int out, uint32_t tmid, uint32_t sender)
{
	const struct end to = { .en_tmid = tmid };

	end_open(&three, true);
	three.en_has_gaps = true;
	if (tmid == 4096) {
		queue_begin_as(&three, false);
		recvs_fill(&three);
		(void)!write(out, &three.en_tmid, sizeof three.en_tmid);
	}
	for (;;) {
		if (tmid != 4096)
			(void)msg_send(&three, &to, sender,
				       SMALL_BYTES + three.en_seq % 5000);
		(void)m0_lnet_progress(three.en_lnet);
		if (tmid == 4096)
			recvs_fill(&three);
	}
}

/* A sender dies at any moment: what comes of it is whole and in order, and another one goes on. */
static void killed_sender_leaves_nothing(void **state)
{
	uint64_t taken_nr = 0;
	unsigned i;

	(void)state;
	end_open(&two, true);
	queue_begin(&two);
	recvs_fill(&two);
	for (i = 0; i < KILLS_NR; ++i) {
		m0_time_t until = m0_time_add(m0_time_now(),
					      (5 + 7 * i) * M0_TIME_ONE_MSEC);
		pid_t     pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			child_run(-1, two.en_tmid, i % SENDERS_MAX);
		two.en_seqs[i % SENDERS_MAX] = 0;
		taken_nr = direct_of(&two)->pdr_taken_nr;
		/* Half of them die once a pipe is there. */
		while (two.en_seqs[i % SENDERS_MAX] == 0 ||
		       m0_time_now() < until ||
		       (i % 2 == 0 &&
			direct_of(&two)->pdr_taken_nr == taken_nr)) {
			turn(&two, NULL);
			recvs_fill(&two);
		}
		(void)kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		until = m0_time_from_now(PATIENCE_S, 0);
		while ((fix_procs() > 1 ||
			direct_of(&two)->pdr_queues[0].pqu_ins_nr > 0) &&
		       m0_time_now() < until) {
			turn(&two, NULL);
			recvs_fill(&two);
		}
		assert_int_equal(direct_of(&two)->pdr_queues[0].pqu_ins_nr, 0);
		/* Messages that the daemon has of it come later, before others of that number. */
		for (taken_nr = 0; taken_nr < 20; ++taken_nr)
			turn(&two, NULL);
		two.en_has_gaps = false;
	}
	assert_true(direct_of(&two)->pdr_taken_nr > 0);
	queue_end(&two);
	end_close(&two);
	fix_all_gone();
}

/* A receiver dies at any moment: each message of the sender ends once. */
static void killed_receiver_is_left(void **state)
{
	unsigned i;

	(void)state;
	end_open(&one, true);
	for (i = 0; i < KILLS_NR; ++i) {
		struct end to = { .en_tmid = 4096 };
		m0_time_t  until;
		int        ends[2];
		pid_t      pid;

		assert_int_equal(pipe(ends), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			child_run(ends[1], 4096, 0);
		assert_int_equal(read(ends[0], &to.en_tmid, sizeof to.en_tmid),
				 sizeof to.en_tmid);
		until = m0_time_add(m0_time_now(),
				    (5 + 7 * i) * M0_TIME_ONE_MSEC);
		while (m0_time_now() < until) {
			(void)msg_send(&one, &to, 0, SMALL_BYTES);
			turn(&one, NULL);
		}
		(void)kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		(void)close(ends[0]);
		(void)close(ends[1]);
		until = m0_time_from_now(PATIENCE_S, 0);
		while (one.en_sent_nr != one.en_seq && m0_time_now() < until)
			turn(&one, NULL);
		assert_int_equal(one.en_sent_nr, one.en_seq);
		while (fix_procs() > 1 && m0_time_now() < until)
			turn(&one, NULL);
	}
	assert_true(direct_of(&one)->pdr_sent_nr > 0);
	end_close(&one);
	fix_all_gone();
}

/* ------------------------------------------------------------------ names -- */

/* The outcome of TM_FIND for a number. */
static int find(struct fix_proc *proc, uint32_t tmid)
{
	const struct m0_shared_request req = {
		.srq_opcode = M0_SHARED_TM_FIND,
		.srq_tm = { FIX_PORTAL, tmid },
	};
	struct m0_shared_report rep;

	assert_true(fix_put(proc, &req));
	if (!fix_get(proc, &rep))
		fail_msg("%d %s", m0_attach_reason(&proc->fp_att, proc->fp_why),
			 proc->fp_why);
	assert_int_equal(rep.shp_kind, M0_SHARED_RESULT);
	m0_shared_unclaim(&proc->fp_att.att_side, 1);
	return rep.shp_result.srt_status;
}

static void names_are_of_owners_and_their_users(void **state)
{
	struct m0_shared_request name = {
		.srq_opcode = M0_SHARED_QUEUE_NAME,
		.srq_nr = 0,
		.srq_gen = 1,
		.srq_number = 77,
	};
	struct fix_proc proc;
	m0_time_t       until = m0_time_from_now(PATIENCE_S, 0);
	unsigned        i;

	(void)state;
	end_open(&two, true);
	queue_begin(&two);
	assert_int_equal(fix_attach(&proc), 0);
	while (find(&proc, two.en_tmid) != 0 && m0_time_now() < until)
		(void)m0_lnet_progress(two.en_lnet);
	assert_int_equal(find(&proc, two.en_tmid), 0);
	assert_int_equal(find(&proc, two.en_tmid - 1), -ENOENT);
	/* A name for an ME of the other one, and for none, is not taken. */
	assert_true(fix_put(&proc, &name));
	name.srq_nr = 9;
	assert_true(fix_put(&proc, &name));
	assert_int_equal(find(&proc, two.en_tmid), 0);
	m0_mutex_lock(&fix.fx_server.asv_lock);
	for (i = 0; i < fix.fx_server.asv_procs_nr; ++i)
		fix.fx_server.asv_procs[i]->apr_creds.scr_uid = 70 + i;
	m0_mutex_unlock(&fix.fx_server.asv_lock);
	assert_int_equal(find(&proc, two.en_tmid), -EACCES);
	m0_mutex_lock(&fix.fx_server.asv_lock);
	for (i = 0; i < fix.fx_server.asv_procs_nr; ++i)
		fix.fx_server.asv_procs[i]->apr_creds.scr_uid = 70;
	m0_mutex_unlock(&fix.fx_server.asv_lock);
	assert_int_equal(find(&proc, two.en_tmid), 0);
	queue_end(&two);
	/* The daemon has not taken the end of the queue yet. */
	while (find(&proc, two.en_tmid) == 0 && m0_time_now() < until)
		(void)m0_lnet_progress(two.en_lnet);
	assert_int_equal(find(&proc, two.en_tmid), -ENOENT);
	fix_detach(&proc);
	end_close(&two);
	fix_all_gone();
}

int main(void)
{
#define CASE(name) \
	cmocka_unit_test_setup_teardown(name, fix_setup, fix_teardown)
	const struct CMUnitTest tests[] = {
		CASE(messages_pass_by_the_daemon),
		CASE(either_end_can_refuse),
		CASE(order_is_kept_when_the_way_changes),
		CASE(pipe_waits_for_other_messages),
		CASE(daemon_gets_what_is_held),
		CASE(daemon_is_not_left_without),
		CASE(used_buffer_changes_sides),
		CASE(operations_are_given_up),
		CASE(cancelled_message_is_no_news),
		CASE(end_of_the_daemon_ends_all),
		CASE(sleepers_are_woken),
		CASE(killed_sender_leaves_nothing),
		CASE(killed_receiver_is_left),
		CASE(hostile_neighbour_harms_nobody),
		CASE(hostile_taker_harms_itself),
		CASE(lie_is_found_between_passes),
		CASE(names_are_of_owners_and_their_users),
	};

	cmocka_set_test_filter(getenv("M0_CASE"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
