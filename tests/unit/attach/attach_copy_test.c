/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Payloads between two processes of a daemon: the one that owns the target copies, as long as
 * it can and does. Processes by hand keep the rules, break them, or die.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "m0/lnet_info.h"
#include "m0/lnet_run.h"

#include "attach/server_internal.h"
#include "attach_fix.h"

enum {
	BYTES = 256 << 10,
	SOURCE_AT = 512 << 10,
	BITS = 5,
	KILLS_NR = 12
};

static struct fix_proc to;
static struct fix_proc from;
/** Counters before the case. */
static struct m0_lnd_ni_info base;

/* Loopback of the daemon's node: bytes that processes have copied, bytes that it has copied
 * itself, and copies that have failed. */
static struct m0_lnd_ni_info lo_info(void)
{
	struct m0_lnet_info  *info;
	struct m0_lnd_ni_info ret;

	assert_int_equal(m0_lnet_info_get(fix.fx_lnet, &info), 0);
	ret = info->li_nis[0].nii_lnd;
	m0_lnet_info_free(info);
	return ret;
}

static void attach(struct fix_proc *proc)
{
	if (fix_attach(proc) != 0)
		fail_msg("%s", proc->fp_why);
}

static void both_attach(void)
{
	attach(&to);
	attach(&from);
}

static void both_detach(void)
{
	fix_detach(&to);
	fix_detach(&from);
	fix_all_gone();
}

/* The next report, which is of the kind. */
static struct m0_shared_report report(struct fix_proc    *proc,
				      enum m0_shared_kind kind)
{
	struct m0_shared_report rep;

	memset(&rep, 0, sizeof rep);
	if (!fix_get(proc, &rep))
		fail_msg("kind %d does not come: %d %s", (int)kind,
			 m0_attach_reason(&proc->fp_att, proc->fp_why),
			 proc->fp_why);
	assert_int_equal(rep.shp_kind, kind);
	return rep;
}

/* A message of BYTES is on its way. */
static void message_begin(char fill)
{
	memset(from.fp_region + SOURCE_AT, fill, fix.fx_bytes);
	assert_true(fix_entry(&to, 0, BITS, 0));
	assert_true(fix_move(&from, 0, BITS, SOURCE_AT));
}

static void done_put(const struct m0_shared_report *rep, int status)
{
	const struct m0_shared_request req = {
		.srq_opcode = M0_SHARED_COPY_DONE,
		.srq_nr = rep->shp_nr,
		.srq_gen = rep->shp_gen,
		.srq_number = (uint64_t)-status,
	};

	assert_true(fix_put(&to, &req));
}

static int copy_make(const struct m0_shared_report *rep)
{
	void    *at[M0_SHARED_PIECES_MAX];
	unsigned i;

	for (i = 0; i < rep->shp_copy.scp_pieces_nr; ++i) {
		assert_int_equal(rep->shp_copy.scp_pieces[i].spe_region, 1);
		at[i] = to.fp_region + rep->shp_copy.scp_pieces[i].spe_offset;
	}
	return m0_attach_copy(&to.fp_att, &rep->shp_copy, at);
}

/* The message has arrived with these bytes, at both ends. */
static void message_is_there(char fill)
{
	struct m0_shared_report rep = report(&to, M0_SHARED_EV_INCOMING);
	uint32_t                i;

	assert_int_equal(rep.shp_event.rev_status, 0);
	assert_int_equal(rep.shp_event.rev_mlength, fix.fx_bytes);
	for (i = 0; i < fix.fx_bytes; i += 997)
		assert_int_equal(to.fp_region[i], fill);
	(void)report(&to, M0_SHARED_ME_GONE);
	rep = report(&from, M0_SHARED_EV_SEND);
	assert_int_equal(rep.shp_event.rev_status, 0);
}

/* May this process read itself? Some containers forbid the call. */
static bool system_copies(void)
{
	char         a = 1;
	char         b = 0;
	struct iovec here = { &b, 1 };
	struct iovec there = { &a, 1 };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

/* Makes the node's loop wait for a time, for which it needs a descriptor. */
static void fds_rest(void)
{
	struct m0_shared_report rep;
	unsigned                nr;

	both_attach();
	message_begin('z');
	rep = report(&to, M0_SHARED_COPY);
	(void)m0_nanosleep(2 * M0_TIME_ONE_MSEC, NULL);
	done_put(&rep, 0);
	(void)report(&from, M0_SHARED_EV_SEND);
	fix_detach(&to);
	fix_detach(&from);
	do {
		(void)m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
		m0_mutex_lock(&fix.fx_server.asv_lock);
		nr = fix.fx_server.asv_procs_nr;
		m0_mutex_unlock(&fix.fx_server.asv_lock);
	} while (nr > 0);
	fix.fx_fds_nr = fix_fds();
	base = lo_info();
}

static int setup(void **state)
{
	int rc = fix_setup(state);

	fix.fx_copies = true;
	fix.fx_bytes = BYTES;
	fds_rest();
	return rc;
}

static int teardown(void **state)
{
	fix.fx_copies = false;
	fix.fx_bytes = 0;
	return fix_teardown(state);
}

/* ---------------------------------------------------------------- cases -- */

static void owner_of_the_target_copies(void **state)
{
	struct m0_shared_report rep;

	(void)state;
	both_attach();
	message_begin('a');
	rep = report(&to, M0_SHARED_COPY);
	assert_int_equal(rep.shp_copy.scp_pid, getpid());
	assert_int_equal(rep.shp_copy.scp_pieces_nr, 1);
	assert_int_equal(rep.shp_copy.scp_pieces[0].spe_bytes, BYTES);
	assert_int_equal(rep.shp_copy.scp_pieces[0].spe_from,
			 (uintptr_t)from.fp_region + SOURCE_AT);
	if (system_copies()) {
		assert_int_equal(copy_make(&rep), 0);
		/* A process with the number of another one. */
		rep.shp_copy.scp_cookie[1] ^= 1;
		assert_int_equal(copy_make(&rep), -ESRCH);
		rep.shp_copy.scp_cookie[1] ^= 1;
		rep.shp_copy.scp_pieces[0].spe_from = 64;
		assert_int_equal(copy_make(&rep), -EFAULT);
	} else {
		memset(to.fp_region, 'a', BYTES);
	}
	done_put(&rep, 0);
	message_is_there('a');
	assert_int_equal(lo_info().ldi_offer_bytes - base.ldi_offer_bytes,
			 BYTES);
	assert_int_equal(lo_info().ldi_copied_bytes, 0);
	assert_int_equal(lo_info().ldi_fell_back_nr, 0);
	both_detach();
}

/* The daemon copies, and does not ask for a copy again that the system does not allow. */
static void failed_copy_is_made_by_the_daemon(void **state)
{
	static const int        errors[] = { -ESRCH, -EFAULT, -EPERM };
	unsigned                i;
	struct m0_shared_report rep;

	(void)state;
	both_attach();
	for (i = 0; i < ARRAY_SIZE(errors); ++i) {
		message_begin((char)('A' + i));
		rep = report(&to, M0_SHARED_COPY);
		done_put(&rep, errors[i]);
		message_is_there((char)('A' + i));
		assert_int_equal(lo_info().ldi_fell_back_nr, i + 1);
		assert_int_equal(lo_info().ldi_copied_bytes, (i + 1) * BYTES);
	}
	assert_int_equal(lo_info().ldi_offer_bytes - base.ldi_offer_bytes, 0);
	message_begin('c');
	message_is_there('c');
	assert_int_equal(lo_info().ldi_fell_back_nr, i);
	both_detach();
}

static void short_messages_are_copied_by_the_daemon(void **state)
{
	(void)state;
	fix.fx_bytes = 16 << 10;
	both_attach();
	message_begin('d');
	message_is_there('d');
	assert_int_equal(lo_info().ldi_copied_bytes, fix.fx_bytes);
	both_detach();
}

/* One end that does not want it is enough. */
static void either_end_can_refuse(void **state)
{
	(void)state;
	attach(&to);
	fix.fx_copies = false;
	attach(&from);
	message_begin('e');
	message_is_there('e');
	fix_detach(&to);
	attach(&to);
	fix.fx_copies = true;
	fix_detach(&from);
	attach(&from);
	message_begin('f');
	message_is_there('f');
	assert_int_equal(lo_info().ldi_offer_bytes - base.ldi_offer_bytes, 0);
	assert_int_equal(lo_info().ldi_copied_bytes, 2 * BYTES);
	both_detach();
}

/* The server takes the processes for those of two users. */
static void users_set(uint32_t uid_to, uint32_t uid_from)
{
	m0_mutex_lock(&fix.fx_server.asv_lock);
	assert_int_equal(fix.fx_server.asv_procs_nr, 2);
	fix.fx_server.asv_procs[0]->apr_creds.scr_uid = uid_to;
	fix.fx_server.asv_procs[1]->apr_creds.scr_uid = uid_from;
	m0_mutex_unlock(&fix.fx_server.asv_lock);
}

/* Not even root reads from a process of another user. */
static void users_do_not_copy_from_others(void **state)
{
	static const uint32_t users[][2] = { { 0, 77 }, { 77, 0 }, { 77, 78 } };
	struct m0_shared_report rep;
	unsigned                i;

	(void)state;
	both_attach();
	for (i = 0; i < ARRAY_SIZE(users); ++i) {
		users_set(users[i][0], users[i][1]);
		message_begin((char)('a' + i));
		message_is_there((char)('a' + i));
	}
	assert_int_equal(lo_info().ldi_copied_bytes, 3 * BYTES);
	users_set(77, 77);
	message_begin('d');
	rep = report(&to, M0_SHARED_COPY);
	memset(to.fp_region, 'd', BYTES);
	done_put(&rep, 0);
	message_is_there('d');
	both_detach();
}

/* The process ends alone, with a reason, and the message arrives. */
static void answer_that_is_not_due_ends_the_process(void **state)
{
	struct m0_shared_report rep;
	unsigned                i;

	(void)state;
	for (i = 0; i < 3; ++i) {
		both_attach();
		message_begin('g');
		rep = report(&to, M0_SHARED_COPY);
		if (i == 0)
			++rep.shp_gen;
		if (i == 1)
			++rep.shp_nr;
		done_put(&rep, 0);
		if (i == 2)
			done_put(&rep, 0);
		while (fix_get(&to, &rep))
			;
		assert_int_equal(m0_attach_reason(&to.fp_att, to.fp_why),
				 -EPROTO);
		assert_non_null(strstr(to.fp_why, "copy 0") != NULL
					? strstr(to.fp_why, "copy 0")
					: strstr(to.fp_why, "copy 1"));
		rep = report(&from, M0_SHARED_EV_SEND);
		/* The other process goes on. */
		assert_true(fix_entry(&from, 1, BITS + 1, 0));
		both_detach();
	}
}

/* Nobody waits for a process that is not there any more, whichever it is. */
static void death_ends_the_message(void **state)
{
	struct m0_shared_report rep;
	m0_time_t               then;

	(void)state;
	both_attach();
	message_begin('h');
	(void)report(&to, M0_SHARED_COPY);
	fix_detach(&to);
	(void)report(&from, M0_SHARED_EV_SEND);
	fix_detach(&from);
	fix_all_gone();

	both_attach();
	message_begin('i');
	rep = report(&to, M0_SHARED_COPY);
	then = m0_time_now();
	m0_attach_close(&from.fp_att);
	/* The answer is waited for, but not for long. */
	rep = report(&to, M0_SHARED_EV_INCOMING);
	assert_true(rep.shp_event.rev_status < 0);
	assert_true(m0_time_sub(m0_time_now(), then) < M0_TIME_ONE_SECOND);
	rep.shp_nr = 0;
	rep.shp_gen = 1;
	(void)report(&to, M0_SHARED_ME_GONE);
	/* A late one is none too many. */
	done_put(&rep, 0);
	assert_true(fix_entry(&to, 1, BITS + 1, 0));
	m0_os_shm_unmap(from.fp_region, FIX_REGION_BYTES);
	(void)close(from.fp_region_fd);
	from.fp_region = NULL;
	fix_detach(&to);
	fix_all_gone();
}

/* One that comes and goes on the same node, with a process of its own. */
static void second_daemon_comes_and_goes(void)
{
	static struct m0_attach_server second;
	static struct fix_proc         other;
	char                           path[sizeof fix.fx_path];
	char                           name[sizeof fix.fx_path + 8];

	(void)snprintf(path, sizeof path, "%s", fix.fx_path);
	(void)snprintf(fix.fx_path, sizeof fix.fx_path, "%s/two", fix.fx_dir);
	M0_SET0(&second);
	if (m0_attach_server_start(&second, fix.fx_lnet, &fix.fx_policy,
				   fix.fx_path, fix.fx_why) != 0)
		fail_msg("%s", fix.fx_why);
	attach(&other);
	fix_detach(&other);
	assert_int_equal(m0_attach_server_stop(&second, fix_soon()), 0);
	m0_attach_server_fini(&second);
	(void)snprintf(name, sizeof name, "%s.lock", fix.fx_path);
	(void)unlink(name);
	(void)snprintf(fix.fx_path, sizeof fix.fx_path, "%s", path);
}

/* Copies of one daemon go on, and can be given up, while another one is there. */
static void daemons_of_one_node_copy(void **state)
{
	struct m0_shared_report rep;

	(void)state;
	both_attach();
	message_begin('k');
	(void)report(&to, M0_SHARED_COPY);
	second_daemon_comes_and_goes();
	fix_detach(&from);
	rep = report(&to, M0_SHARED_EV_INCOMING);
	assert_true(rep.shp_event.rev_status < 0);
	(void)report(&to, M0_SHARED_ME_GONE);
	attach(&from);
	message_begin('l');
	rep = report(&to, M0_SHARED_COPY);
	memset(to.fp_region, 'l', BYTES);
	done_put(&rep, 0);
	message_is_there('l');
	both_detach();
}

/* The process gives up its MD while it is asked for a copy. */
static void unlink_waits_for_the_answer(void **state)
{
	const struct m0_shared_request unlink = {
		.srq_opcode = M0_SHARED_MD_UNLINK,
		.srq_nr = 0,
		.srq_gen = 1,
	};
	struct m0_shared_report rep;

	(void)state;
	both_attach();
	message_begin('j');
	rep = report(&to, M0_SHARED_COPY);
	assert_true(fix_put(&to, &unlink));
	done_put(&rep, 0);
	rep = report(&to, M0_SHARED_EV_INCOMING);
	assert_true(rep.shp_event.rev_unlinked);
	assert_true(rep.shp_event.rev_status <= 0);
	(void)report(&from, M0_SHARED_EV_SEND);
	both_detach();
}

/* Beyond so many copies that have no answer the daemon copies. */
static void copies_are_bounded(void **state)
{
	unsigned asked_nr = 0;
	unsigned there_nr = 0;
	unsigned i;

	(void)state;
	fix.fx_bytes = 64 << 10;
	both_attach();
	for (i = 0; i < M0_SHARED_COPIES_MAX + 3; ++i) {
		assert_true(fix_entry(&to, i, BITS + i, 0));
		assert_true(fix_move(&from, i, BITS + i, SOURCE_AT));
	}
	while (there_nr < 3) {
		struct m0_shared_report rep;

		if (!fix_get(&to, &rep))
			fail_msg("asked %u, there %u", asked_nr, there_nr);
		asked_nr += rep.shp_kind == M0_SHARED_COPY;
		there_nr += rep.shp_kind == M0_SHARED_EV_INCOMING;
	}
	assert_int_equal(asked_nr, M0_SHARED_COPIES_MAX);
	both_detach();
}

/* ---------------------------------------------------------------- behind -- */

static struct m0_lnet_runner stopper;
/** 1: the node is to stop; 2: it has; 0: it goes on. */
static int stops;

/* On the node's thread. */
static m0_time_t node_stop(struct m0_lnet_runner *runner, m0_time_t now)
{
	(void)runner;
	(void)now;
	if (__atomic_load_n(&stops, __ATOMIC_ACQUIRE) == 1)
		__atomic_store_n(&stops, 2, __ATOMIC_RELEASE);
	while (__atomic_load_n(&stops, __ATOMIC_ACQUIRE) != 0)
		(void)sched_yield();
	return M0_TIME_NEVER;
}

/* A message finds an entry that was put before it, behind however many operations. */
static void message_waits_for_all_entries(void **state)
{
	enum {
		ENTRIES_NR = 250
	};
	struct m0_shared_report rep;
	unsigned                i;

	(void)state;
	fix.fx_bytes = 64;
	fix.fx_server.asv_policy.apo_serve.svg_shared.shc_down_nr = 1024;
	both_attach();
	stopper.ru_run = node_stop;
	m0_lnet_runner_add(fix.fx_lnet, &stopper);
	__atomic_store_n(&stops, 1, __ATOMIC_RELEASE);
	m0_lnet_runner_wake(fix.fx_lnet, &stopper);
	while (__atomic_load_n(&stops, __ATOMIC_ACQUIRE) == 1)
		(void)m0_nanosleep(100 * M0_TIME_ONE_USEC, NULL);
	for (i = 0; i < ENTRIES_NR; ++i)
		assert_true(fix_entry(&to, i, BITS + i, 0));
	assert_true(fix_move(&from, 0, BITS + i - 1, SOURCE_AT));
	__atomic_store_n(&stops, 0, __ATOMIC_RELEASE);
	rep = report(&to, M0_SHARED_EV_INCOMING);
	assert_int_equal(rep.shp_event.rev_status, 0);
	m0_lnet_runner_del(fix.fx_lnet, &stopper);
	both_detach();
}

/* An address that is none must not reach another process. */
static void foreign_addresses_are_refused(void **state)
{
	void *mem;
	int   fd = m0_os_shm_make("test", 4096, M0_OS_SHM_GROWS, &mem);

	(void)state;
	assert_true(fd >= 0);
	attach(&from);
	assert_int_equal(m0_attach_region_give(&from.fp_att, 2,
					       (void *)UINTPTR_MAX, fd, 4096,
					       fix_soon(), from.fp_why),
			 -EINVAL);
	assert_non_null(strstr(from.fp_why, "address"));
	m0_os_shm_unmap(mem, 4096);
	(void)close(fd);
	fix_detach(&from);
	fix_all_gone();
}

/* A daemon of another user, or one that a service manager has put there, names no memory. */
static void daemons_are_trusted_by_their_user(void **state)
{
	struct m0_attach att = { .att_creds = { .scr_pid = 77,
						.scr_uid = geteuid() },
				 .att_pid = (uint32_t)getpid() };

	(void)state;
	assert_true(m0_attach_may_copy(&att));
	att.att_creds.scr_uid = 0;
	assert_true(m0_attach_may_copy(&att));
	att.att_creds.scr_uid = geteuid() + 1;
	assert_false(m0_attach_may_copy(&att));
	att.att_creds.scr_uid = geteuid();
	att.att_creds.scr_pid = 1;
	assert_false(m0_attach_may_copy(&att));
	att.att_creds.scr_pid = 77;
	att.att_pid = 0;
	assert_false(m0_attach_may_copy(&att));
	att.att_pid = (uint32_t)getpid() + 1;
	assert_false(m0_attach_may_copy(&att));
}

/* ---------------------------------------------------------------- fronts -- */

/** A process as an application has it. */
struct front {
	struct m0_lnet   *fr_lnet;
	struct m0_lnet_eq fr_eq;
	void             *fr_buf;
	m0_bcount_t       fr_bytes;
	struct m0_bufvec  fr_vec;
};

static void front_open(struct front *front, bool copies)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES];

	m0_lnet_cfg_default(&cfg);
	(void)snprintf(cfg.lc_attach, sizeof cfg.lc_attach, "%s", fix.fx_path);
	cfg.lc_same_host = copies;
	if (m0_lnet_open(&front->fr_lnet, &cfg, why) != 0)
		fail_msg("%s", why);
	front->fr_bytes = BYTES;
	front->fr_buf = m0_alloc_aligned(BYTES, 12);
	assert_non_null(front->fr_buf);
	front->fr_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&front->fr_buf,
							     &front->fr_bytes);
	assert_int_equal(
		m0_lnet_mem_register(front->fr_lnet, front->fr_buf, BYTES), 0);
	m0_lnet_eq_init(&front->fr_eq, front->fr_lnet, NULL, 16);
}

static void front_close(struct front *front)
{
	m0_lnet_mem_deregister(front->fr_lnet, front->fr_buf, BYTES);
	m0_lnet_eq_fini(&front->fr_eq);
	m0_lnet_close(front->fr_lnet);
	m0_free_aligned(front->fr_buf, BYTES, 12);
}

static void front_await(struct front *front, enum m0_lnet_event_type type)
{
	struct m0_lnet_event ev;

	assert_int_equal(m0_lnet_eq_wait(&front->fr_eq, &ev,
					 m0_time_from_now(10, 0)),
			 0);
	assert_int_equal(ev.ev_type, type);
	assert_int_equal(ev.ev_status, 0);
	assert_int_equal(ev.ev_mlength, BYTES);
}

static void front_move(struct front *here, struct front *there, bool get)
{
	const struct m0_lnet_me_attr me = {
		.mea_portal = FIX_PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_match_bits = BITS,
		.mea_flags = M0_LNET_ME_UNLINK,
	};
	const struct m0_lnet_op op = {
		.lo_self = m0_lnet_nid_any,
		.lo_target = { m0_lnet_nid_lo, M0_LNET_PID_LUSTRE },
		.lo_portal = FIX_PORTAL,
		.lo_match_bits = BITS,
	};
	struct m0_lnet_md_attr md = {
		.mda_vec = &there->fr_vec,
		.mda_length = BYTES,
		.mda_threshold = 1,
		.mda_options = get ? M0_LNET_MD_OP_GET : M0_LNET_MD_OP_PUT,
		.mda_auto_unlink = true,
		.mda_eq = &there->fr_eq,
	};
	struct m0_lnet_handle handle;

	assert_int_equal(
		m0_lnet_entry_attach(there->fr_lnet, &me, &md, &handle), 0);
	md.mda_vec = &here->fr_vec;
	md.mda_options = 0;
	md.mda_threshold = get ? 2 : 1;
	md.mda_eq = &here->fr_eq;
	assert_int_equal((get ? m0_lnet_bind_get : m0_lnet_bind_put)(
				 here->fr_lnet, &md, &op, &handle),
			 0);
}

/* Both ends of both ways, and who has copied. */
static void applications_copy(void **state)
{
	struct front one;
	struct front two;
	unsigned     round;

	(void)state;
	for (round = 0; round < 2; ++round) {
		struct m0_lnd_ni_info then = lo_info();
		struct m0_lnd_ni_info now;
		bool                  copies = round == 0 && system_copies();

		front_open(&one, true);
		front_open(&two, round == 0);
		memset(one.fr_buf, 'p', BYTES);
		front_move(&one, &two, false);
		front_await(&one, M0_LNET_EV_SEND);
		front_await(&two, M0_LNET_EV_PUT);
		assert_memory_equal(one.fr_buf, two.fr_buf, BYTES);
		memset(two.fr_buf, 'g', BYTES);
		front_move(&one, &two, true);
		front_await(&two, M0_LNET_EV_GET);
		do {
			struct m0_lnet_event ev;

			assert_int_equal(
				m0_lnet_eq_wait(&one.fr_eq, &ev,
						m0_time_from_now(10, 0)),
				0);
			assert_int_equal(ev.ev_status, 0);
			if (ev.ev_type == M0_LNET_EV_REPLY)
				break;
		} while (true);
		assert_memory_equal(one.fr_buf, two.fr_buf, BYTES);
		now = lo_info();
		assert_int_equal(now.ldi_offer_bytes - then.ldi_offer_bytes,
				 copies ? 2 * BYTES : 0);
		assert_int_equal(now.ldi_copied_bytes - then.ldi_copied_bytes,
				 copies ? 0 : 2 * BYTES);
		front_close(&one);
		front_close(&two);
	}
}

/* ----------------------------------------------------------------- kills -- */

/* Sends as fast as it can, until it is killed. */
static void child_run(void)
{
	struct m0_shared_report rep;
	unsigned                n;

	if (fix_attach(&from) != 0)
		_exit(1);
	for (n = 0;; ++n) {
		memset(from.fp_region + SOURCE_AT, (char)('A' + n % 26), BYTES);
		if (!fix_move(&from, 0, BITS, SOURCE_AT) ||
		    !fix_get(&from, &rep))
			_exit(1);
		m0_shared_unclaim(&from.fp_att.att_side, 3);
	}
}

/* Messages of a process that is killed come whole, or end with an error. */
static void killed_sender_leaves_nothing(void **state)
{
	struct m0_shared_report rep;
	unsigned                seen_nr = 0;
	unsigned                i;
	uint32_t                at;
	bool                    is_armed = false;
	pid_t                   pid;

	(void)state;
	if (!system_copies())
		skip();
	attach(&to);
	for (i = 0; i < KILLS_NR; ++i) {
		unsigned left_nr = 1 + i % 5;

		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			child_run();
		while (left_nr > 0) {
			if (!is_armed)
				assert_true(fix_entry(&to, 0, BITS, 0));
			is_armed = true;
			assert_true(fix_get(&to, &rep));
			if (rep.shp_kind == M0_SHARED_COPY) {
				int rc;

				/* In the middle of a copy, or before. */
				if (left_nr == 1 && i % 2 == 0)
					(void)kill(pid, SIGKILL);
				rc = copy_make(&rep);
				done_put(&rep, rc);
				left_nr -= left_nr == 1;
				continue;
			}
			if (rep.shp_kind == M0_SHARED_ME_GONE) {
				is_armed = false;
				left_nr -= left_nr > 1;
				continue;
			}
			assert_int_equal(rep.shp_kind, M0_SHARED_EV_INCOMING);
			m0_shared_unclaim(&to.fp_att.att_side, 2);
			if (rep.shp_event.rev_status != 0)
				continue;
			++seen_nr;
			for (at = 0; at < BYTES; at += 509)
				assert_int_equal(to.fp_region[at],
						 to.fp_region[BYTES - 1]);
		}
		(void)kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		while (is_armed && fix_procs() > 1)
			(void)m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
	}
	assert_true(seen_nr > 0);
	fix_detach(&to);
	fix_all_gone();
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(owner_of_the_target_copies),
		CASE(failed_copy_is_made_by_the_daemon),
		CASE(short_messages_are_copied_by_the_daemon),
		CASE(either_end_can_refuse),
		CASE(users_do_not_copy_from_others),
		CASE(answer_that_is_not_due_ends_the_process),
		CASE(death_ends_the_message),
		CASE(daemons_of_one_node_copy),
		CASE(unlink_waits_for_the_answer),
		CASE(copies_are_bounded),
		CASE(message_waits_for_all_entries),
		CASE(foreign_addresses_are_refused),
		CASE(daemons_are_trusted_by_their_user),
		CASE(applications_copy),
		CASE(killed_sender_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
