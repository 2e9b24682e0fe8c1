/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Attachment by a socket: a daemon in this process, and processes that are threads of
 * execution of the test, or children that are killed.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach_fix.h"
#include "m0/lnet_daemon.h"

enum {
	KILLS_NR = 100,
	ENTRIES_NR = 300,
	MDS_NR = 20
};

static void attached(struct fix_proc *proc)
{
	int rc = fix_attach(proc);

	if (rc != 0)
		fail_msg("%d: %s", rc, proc->fp_why);
}

/* A PUT of one process arrives in the memory of another. */
static void messages_move(void **state)
{
	struct fix_proc         from;
	struct fix_proc         to;
	struct m0_shared_report rep;
	struct m0_attach_info   info[4];
	unsigned                i;

	(void)state;
	attached(&from);
	attached(&to);
	assert_true(fix_entry(&to, 3, 7, 4096));
	memset(from.fp_region, 'x', 64);
	assert_true(fix_move(&from, 50, 7, 0));
	assert_true(fix_get(&from, &rep));
	assert_int_equal(rep.shp_kind, M0_SHARED_EV_SEND);
	assert_int_equal(rep.shp_event.rev_status, 0);
	assert_true(fix_get(&to, &rep));
	assert_int_equal(rep.shp_kind, M0_SHARED_EV_INCOMING);
	assert_int_equal(rep.shp_event.rev_mlength, 64);
	assert_memory_equal(from.fp_region, to.fp_region + 4096, 64);
	assert_int_equal(m0_attach_server_info(&fix.fx_server, info, 4), 2);
	for (i = 0; i < 2; ++i) {
		assert_int_equal(info[i].ain_creds.scr_pid, getpid());
		assert_int_equal(info[i].ain_creds.scr_uid, geteuid());
		assert_int_equal(info[i].ain_regions_nr, 1);
		assert_int_equal(info[i].ain_bytes, FIX_REGION_BYTES);
		assert_true(info[i].ain_since <= m0_time_now());
		assert_true(info[i].ain_ops_nr >= 3);
		assert_true(info[i].ain_events_nr >= 3);
		assert_false(info[i].ain_is_ending);
	}
	fix_detach(&from);
	fix_detach(&to);
	fix_all_gone();
}

/* An entry of a process counts for a message that another one sends afterwards. */
static void entry_counts_for_another_process(void **state)
{
	struct fix_proc         from;
	struct fix_proc         to;
	struct m0_shared_report rep;
	uint32_t                i;

	(void)state;
	/* The node looks at what the first one has put, and then at the other. */
	attached(&to);
	attached(&from);
	for (i = 0; i < ENTRIES_NR; ++i) {
		assert_true(fix_entry(&to, i, i, 0));
		assert_true(fix_move(&from, i, i, 0));
		assert_true(fix_get(&from, &rep));
		/* A message that is dropped has been sent, too. */
		if (!fix_get(&to, &rep) ||
		    rep.shp_kind != M0_SHARED_EV_INCOMING)
			fail_msg("message %u does not arrive", i);
		assert_true(fix_get(&to, &rep));
		m0_shared_unclaim(&from.fp_att.att_side, 3);
		m0_shared_unclaim(&to.fp_att.att_side, 2);
	}
	fix_detach(&from);
	fix_detach(&to);
	fix_all_gone();
}

static void sizes_are_granted(void **state)
{
	const struct m0_shared_cfg  want = { .shc_down_nr = 128,
					     .shc_up_nr = 128,
					     .shc_mds_max = 1U << 20 };
	const struct m0_shared_cfg  odd = { .shc_down_nr = 130 };
	const struct m0_shared_cfg *most = &fix.fx_policy.apo_serve.svg_shared;
	struct m0_attach            att;
	char                        why[M0_ATTACH_WHY_BYTES];

	(void)state;
	assert_int_equal(
		m0_attach_open(&att, fix.fx_path, &want, fix_soon(), why), 0);
	assert_int_equal(att.att_side.shs_cfg.shc_down_nr, 128);
	assert_int_equal(att.att_side.shs_cfg.shc_up_nr, 128);
	/* No more than the policy gives. */
	assert_int_equal(att.att_side.shs_cfg.shc_mds_max, most->shc_mds_max);
	assert_int_equal(att.att_side.shs_cfg.shc_mes_max, most->shc_mes_max);
	assert_int_equal(att.att_bytes_max,
			 fix.fx_policy.apo_serve.svg_bytes_max);
	m0_attach_close(&att);
	assert_int_equal(m0_attach_open(&att, fix.fx_path, &odd, fix_soon(),
					why),
			 -EINVAL);
	assert_non_null(strstr(why, "down_nr 130"));
	fix_all_gone();
}

/* -- memory ---------------------------------------------------------------- */

static void refused(struct fix_proc *proc, uint32_t nr, int fd, uint64_t bytes,
		    int rc, const char *word)
{
	char why[M0_ATTACH_WHY_BYTES];

	assert_true(fd >= 0);
	assert_int_equal(m0_attach_region_give(&proc->fp_att, nr, NULL, fd,
					       bytes, fix_soon(), why),
			 rc);
	if (strstr(why, word) == NULL)
		fail_msg("'%s' is not in '%s'", word, why);
}

static int memfd(unsigned flags, off_t bytes, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | flags);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	if (seals != 0)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void memory_that_can_shrink_is_refused(void **state)
{
	const int loose = memfd(MFD_ALLOW_SEALING, 4096, 0);
	const int never = memfd(0, 4096, 0);
	const int grows = memfd(MFD_ALLOW_SEALING, 4096, F_SEAL_GROW);
	const int read_only =
		memfd(MFD_ALLOW_SEALING, 4096, F_SEAL_SHRINK | F_SEAL_WRITE);
	const int       file = open("/dev/zero", O_RDWR | O_CLOEXEC);
	struct fix_proc proc;
	int             huge;

	(void)state;
	attached(&proc);
	refused(&proc, 2, loose, 4096, -EINVAL, "F_SEAL_SHRINK");
	refused(&proc, 2, never, 4096, -EINVAL, "F_SEAL_SHRINK");
	refused(&proc, 2, grows, 4096, -EINVAL, "F_SEAL_SHRINK");
	refused(&proc, 2, read_only, 4096, -EPERM, "written");
	refused(&proc, 2, file, 4096, -EINVAL, "no memfd");
	huge = memfd_create("test",
			    MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
	if (huge >= 0) {
		assert_int_equal(ftruncate(huge, 2 << 20), 0);
		assert_int_equal(fcntl(huge, F_ADD_SEALS, F_SEAL_SHRINK), 0);
		refused(&proc, 2, huge, 4096, -EINVAL, "MFD_HUGETLB");
		(void)close(huge);
	}
	/* The process is attached still. */
	assert_false(m0_attach_is_dead(&proc.fp_att));
	(void)close(loose);
	(void)close(never);
	(void)close(grows);
	(void)close(read_only);
	(void)close(file);
	fix_detach(&proc);
	fix_all_gone();
}

static void regions_are_bounded(void **state)
{
	struct fix_proc          proc;
	struct m0_shared_request add = { .srq_opcode = M0_SHARED_REGION_ADD,
					 .srq_nr = 2,
					 .srq_gen = 1,
					 .srq_number = 4096 };
	struct m0_shared_report  rep;
	const int                fd =
		memfd(MFD_ALLOW_SEALING, 3 * FIX_REGION_BYTES, F_SEAL_SHRINK);
	char why[M0_ATTACH_WHY_BYTES];

	(void)state;
	attached(&proc);
	refused(&proc, 0, fd, 4096, -EINVAL, "region 0");
	refused(&proc, 257, fd, 4096, -EINVAL, "1 to 256");
	refused(&proc, 1, fd, 4096, -EEXIST, "in use");
	refused(&proc, 2, fd, 0, -EINVAL, "bytes 0");
	refused(&proc, 2, proc.fp_region_fd, FIX_REGION_BYTES + 1, -EDQUOT,
		"may have");
	refused(&proc, 2, fd, UINT64_MAX, -EDQUOT, "may have");
	/* No memory was handed over for number 2. */
	assert_true(fix_put(&proc, &add));
	assert_true(fix_get(&proc, &rep));
	assert_int_equal(rep.shp_result.srt_status, -EINVAL);
	assert_int_equal(m0_attach_region_give(&proc.fp_att, 2, NULL, fd, 2048,
					       fix_soon(), why),
			 0);
	/* More than was handed over. */
	assert_true(fix_put(&proc, &add));
	assert_true(fix_get(&proc, &rep));
	assert_int_equal(rep.shp_result.srt_status, -EINVAL);
	add.srq_number = 2048;
	assert_true(fix_put(&proc, &add));
	assert_true(fix_get(&proc, &rep));
	assert_int_equal(rep.shp_result.srt_status, 0);
	/* Given back, the number and its bytes are free. */
	add.srq_opcode = M0_SHARED_REGION_DEL;
	assert_true(fix_put(&proc, &add));
	assert_true(fix_get(&proc, &rep));
	assert_int_equal(rep.shp_result.srt_status, 0);
	assert_int_equal(m0_attach_region_give(&proc.fp_att, 2, NULL, fd,
					       FIX_REGION_BYTES, fix_soon(),
					       why),
			 0);
	(void)close(fd);
	fix_detach(&proc);
	fix_all_gone();
}

/* The memory of the area: attach_hostile.c. */
static void memory_cannot_shrink_later(void **state)
{
	struct fix_proc proc;

	(void)state;
	attached(&proc);
	assert_int_equal(ftruncate(proc.fp_region_fd, 0), -1);
	assert_int_equal(errno, EPERM);
	fix_detach(&proc);
	fix_all_gone();
}

/* -- policy ---------------------------------------------------------------- */

static void policy_names_users_and_groups(void **state)
{
	struct m0_attach_policy policy = { .apo_uids_nr = 1,
					   .apo_uids = { 7 },
					   .apo_gids_nr = 1,
					   .apo_gids = { 70 } };
	const uint32_t          groups[] = { 5, 70 };

#define ALLOWS(uid, gid, nr)                                                  \
	m0_attach_policy_allows(&policy,                                      \
				&(struct m0_shared_creds){ 1, (uid), (gid) }, \
				groups, (nr))
	(void)state;
	assert_true(ALLOWS(7, 1, 0));
	assert_true(ALLOWS(8, 70, 0));
	assert_true(ALLOWS(8, 1, 2));
	assert_false(ALLOWS(8, 1, 1));
	assert_false(ALLOWS(0, 0, 0));
	/* Users and groups that have no number here are not the ones that are named. */
	policy.apo_uids[0] = 65534;
	policy.apo_gids[0] = 65534;
	policy.apo_unmapped_uid = (uint32_t)-1;
	policy.apo_unmapped_gid = (uint32_t)-1;
	assert_true(ALLOWS(65534, 1, 0));
	assert_true(ALLOWS(1, 65534, 0));
	policy.apo_unmapped_uid = 65534;
	assert_false(ALLOWS(65534, 1, 0));
	assert_true(ALLOWS(65534, 65534, 0));
	policy.apo_unmapped_gid = 65534;
	assert_false(ALLOWS(65534, 65534, 0));
	policy.apo_gids[0] = 70;
	assert_true(ALLOWS(65534, 65534, 2));
	m0_attach_policy_default(&policy);
	assert_true(ALLOWS(geteuid(), 1, 0));
	assert_true(ALLOWS(0, 1, 0));
	assert_false(ALLOWS(geteuid() + 1, 70, 2));
#undef ALLOWS
}

static void foreign_user_is_refused(void **state)
{
	struct fix_proc proc;

	(void)state;
	fix.fx_policy.apo_uids_nr = 1;
	fix.fx_policy.apo_uids[0] = geteuid() + 4242;
	fix_restart();
	assert_int_equal(fix_attach(&proc), -EPERM);
	assert_non_null(strstr(proc.fp_why, "policy"));
	fix_all_gone();
	/* A group of it is named. */
	fix.fx_policy.apo_gids_nr = 1;
	fix.fx_policy.apo_gids[0] = getegid();
	fix_restart();
	attached(&proc);
	fix_detach(&proc);
	fix_all_gone();
}

static void processes_are_bounded(void **state)
{
	struct fix_proc procs[3];
	m0_time_t       until;
	int             rc;

	(void)state;
	fix.fx_policy.apo_procs_of_uid_max = 2;
	fix_restart();
	attached(&procs[0]);
	attached(&procs[1]);
	assert_int_equal(fix_attach(&procs[2]), -EUSERS);
	assert_non_null(strstr(procs[2].fp_why, "accepted: 2 of a user"));
	/* One goes, one comes. */
	fix_detach(&procs[0]);
	until = fix_soon();
	do {
		rc = fix_attach(&procs[0]);
	} while (rc == -EUSERS && m0_time_now() < until);
	assert_int_equal(rc, 0);
	fix_detach(&procs[0]);
	fix_detach(&procs[1]);
	fix_all_gone();
	fix.fx_policy.apo_procs_of_uid_max = 9;
	fix.fx_policy.apo_procs_max = 1;
	fix_restart();
	attached(&procs[0]);
	assert_int_equal(fix_attach(&procs[1]), -EUSERS);
	fix_detach(&procs[0]);
	fix_all_gone();
}

/* -- death ----------------------------------------------------------------- */

/* A process that has MDs and sends all the time. */
static void child_run(int told)
{
	struct fix_proc         proc;
	struct m0_shared_report rep;
	uint32_t                i;

	if (fix_attach(&proc) != 0)
		_exit(1);
	for (i = 0; i < MDS_NR; ++i)
		(void)fix_entry(&proc, i, 1000 + i, 64 * i);
	(void)!write(told, "", 1);
	for (i = 0;; ++i) {
		if (!fix_move(&proc, 50 + i % 8, 1, 0) || !fix_get(&proc, &rep))
			_exit(2);
		m0_shared_unclaim(&proc.fp_att.att_side, 3);
	}
}

/* @param told  readable when the child has its MDs. */
static pid_t child_start(int told[2])
{
	pid_t pid;

	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child_run(told[1]);
	(void)close(told[1]);
	return pid;
}

static void child_kill(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* The child has not failed before. */
	assert_true(WIFSIGNALED(status));
}

static void killed_process_leaves_nothing(void **state)
{
	int   told[2];
	char  byte;
	pid_t pid;

	(void)state;
	pid = child_start(told);
	assert_int_equal(read(told[0], &byte, 1), 1);
	(void)close(told[0]);
	assert_int_equal(fix_procs(), 1);
	child_kill(pid);
	fix_all_gone();
}

static void kills_at_random_points_leave_nothing(void **state)
{
	uint64_t random = 1;
	unsigned i;
	int      told[2];
	pid_t    pid;

	(void)state;
	for (i = 0; i < KILLS_NR; ++i) {
		pid = child_start(told);
		random = random * 6364136223846793005U + 1442695040888963407U;
		(void)m0_nanosleep((random >> 33) % 4000 * M0_TIME_ONE_USEC,
				   NULL);
		child_kill(pid);
		(void)close(told[0]);
		fix_all_gone();
	}
	assert_true(fix.fx_server.asv_attached_nr > KILLS_NR / 10);
}

/* A child has the socket, and what it was attached by has ended. */
static void child_does_not_keep_the_attachment(void **state)
{
	struct fix_proc proc;
	int             told[2];
	char            byte;
	pid_t           pid;
	pid_t           child;

	(void)state;
	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		if (fix_attach(&proc) != 0)
			_exit(1);
		child = fork();
		if (child > 0)
			(void)!write(told[1], &child, sizeof child);
		else
			(void)alarm(10);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(told[0], &child, sizeof child), sizeof child);
	assert_int_equal(fix_procs(), 1);
	(void)close(told[1]);
	child_kill(pid);
	/* The child lives. */
	assert_int_equal(fcntl(told[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(read(told[0], &byte, 1), -1);
	(void)close(told[0]);
	fix_all_gone();
	assert_int_equal(kill(child, SIGKILL), 0);
}

static void broken_rule_ends_with_a_reason(void **state)
{
	struct fix_proc         proc;
	struct m0_shared_report rep;
	char                    why[M0_ATTACH_WHY_BYTES];

	(void)state;
	attached(&proc);
	assert_int_equal(m0_shared_reserve(&proc.fp_att.att_side, 1, NULL), 0);
	memset(m0_shared_slot(&proc.fp_att.att_side, 0), 0xee,
	       M0_SHARED_DOWN_BYTES);
	m0_shared_commit(&proc.fp_att.att_side, 1);
	m0_shared_bell(&proc.fp_att.att_side);
	while (fix_get(&proc, &rep))
		;
	while (!m0_attach_is_dead(&proc.fp_att))
		(void)m0_nanosleep(100 * M0_TIME_ONE_USEC, NULL);
	assert_int_equal(m0_attach_reason(&proc.fp_att, why), -EPROTO);
	assert_non_null(strstr(why, "opcode"));
	fix_detach(&proc);
	fix_all_gone();
}

/* -- life of the server ---------------------------------------------------- */

static void stop_ends_attachments(void **state)
{
	struct fix_proc proc;
	struct stat     st;
	char            why[M0_ATTACH_WHY_BYTES];
	uint32_t        i;

	(void)state;
	attached(&proc);
	for (i = 0; i < MDS_NR; ++i)
		assert_true(fix_entry(&proc, i, 1000 + i, 64 * i));
	assert_int_equal(m0_attach_server_stop(&fix.fx_server, fix_soon()), 0);
	assert_true(m0_attach_is_dead(&proc.fp_att));
	assert_int_equal(m0_attach_reason(&proc.fp_att, why), -ESHUTDOWN);
	assert_string_equal(why, "the daemon stops");
	assert_int_equal(proc.fp_att.att_side.shs_words->shw_state.shl_word,
			 M0_SHARED_CLOSED);
	assert_int_equal(stat(fix.fx_path, &st), -1);
	fix_detach(&proc);
	assert_int_equal(fix_attach(&proc), -ENOENT);
	assert_non_null(strstr(proc.fp_why, "colibri node"));
	fix_restart();
}

static void second_daemon_is_refused(void **state)
{
	static struct m0_attach_server other;
	struct fix_proc                proc;

	(void)state;
	assert_int_equal(m0_attach_server_start(&other, fix.fx_lnet,
						&fix.fx_policy, fix.fx_path,
						fix.fx_why),
			 -EADDRINUSE);
	assert_non_null(strstr(fix.fx_why, "listens at"));
	/* The first one is as it was. */
	attached(&proc);
	fix_detach(&proc);
	fix_all_gone();
	/* Only the lock tells of one that has not got so far as to listen. */
	assert_int_equal(rename(fix.fx_path, "/tmp/attach.moved"), 0);
	assert_int_equal(m0_attach_server_start(&other, fix.fx_lnet,
						&fix.fx_policy, fix.fx_path,
						fix.fx_why),
			 -EADDRINUSE);
	assert_non_null(strstr(fix.fx_why, "starts at"));
	assert_int_equal(rename("/tmp/attach.moved", fix.fx_path), 0);
	fix_all_gone();
}

static void left_over_socket_is_replaced(void **state)
{
	static struct m0_attach_server other;
	struct sockaddr_un             sa = { .sun_family = AF_UNIX };
	char                           path[M0_ATTACH_PATH_BYTES];
	char                           lock[M0_ATTACH_PATH_BYTES + 8];
	struct stat                    st;
	int                            fd;

	(void)state;
	(void)snprintf(path, sizeof path, "%.60s/other", fix.fx_dir);
	(void)snprintf(lock, sizeof lock, "%s.lock", path);
	(void)snprintf(sa.sun_path, sizeof sa.sun_path, "%s", path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
	(void)close(fd);
	fix.fx_policy.apo_mode = 0660;
	fix.fx_policy.apo_group = getegid();
	assert_int_equal(m0_attach_server_start(&other, fix.fx_lnet,
						&fix.fx_policy, path,
						fix.fx_why),
			 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	assert_int_equal(m0_attach_server_stop(&other, fix_soon()), 0);
	m0_attach_server_fini(&other);
	/* A file that is no socket stays. */
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	(void)close(fd);
	assert_int_equal(m0_attach_server_start(&other, fix.fx_lnet,
						&fix.fx_policy, path,
						fix.fx_why),
			 -EEXIST);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(lock), 0);
	(void)memset(path, 'x', sizeof path - 1);
	assert_int_equal(m0_attach_server_start(&other, fix.fx_lnet,
						&fix.fx_policy, "", fix.fx_why),
			 -ENAMETOOLONG);
	fix_all_gone();
}

/* A service manager's socket is used as it is, and stays with those who wait at it. */
static void given_socket_stays(void **state)
{
	static struct m0_attach_server other;
	struct sockaddr_un             sa = { .sun_family = AF_UNIX };
	struct m0_attach_policy       *policy = &fix.fx_policy;
	struct stat                    st;
	int                            given;
	int                            caller;

	(void)state;
	(void)snprintf(sa.sun_path, sizeof sa.sun_path, "%.60s/given",
		       fix.fx_dir);
	given = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	policy->apo_listen_fd = given;
#define START()                                                             \
	m0_attach_server_start(&other, fix.fx_lnet, policy, M0_ATTACH_PATH, \
			       fix.fx_why)
	assert_int_equal(bind(given, (struct sockaddr *)&sa, sizeof sa), 0);
	assert_int_equal(START(), -EPROTOTYPE);
	assert_non_null(strstr(fix.fx_why, "ListenSequentialPacket="));
	assert_int_equal(listen(given, 8), 0);
	assert_int_equal(chmod(sa.sun_path, 0606), 0);
	assert_int_equal(START(), 0);
	assert_int_equal(m0_attach_server_check(&other, fix_soon()), 0);
	assert_int_equal(m0_attach_server_stop(&other, fix_soon()), 0);
	assert_int_equal(m0_attach_server_check(&other, fix_soon()), 0);
	m0_attach_server_fini(&other);
	assert_int_equal(stat(sa.sun_path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0606);
	caller = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(caller, (struct sockaddr *)&sa, sizeof sa), 0);
	(void)close(caller);
	(void)close(given);
	policy->apo_listen_fd = 9999;
	assert_int_equal(START(), -EBADF);
	assert_int_equal(unlink(sa.sun_path), 0);
	policy->apo_listen_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(START(), -ENOTSOCK);
	(void)close(policy->apo_listen_fd);
#undef START
	policy->apo_listen_fd = -1;
	fix_all_gone();
}

/** An inline node, and whether its thread goes on. */
struct polled {
	struct m0_lnet *pl_lnet;
	bool            pl_ends;
};

static void *poll_all(void *arg)
{
	struct polled *polled = arg;

	while (!__atomic_load_n(&polled->pl_ends, __ATOMIC_RELAXED))
		if (!m0_lnet_progress(polled->pl_lnet))
			(void)sched_yield();
	return NULL;
}

/* The daemon's node may have no thread, if somebody makes progress of it. */
static void polled_node_serves(void **state)
{
	struct polled          polled = { 0 };
	struct m0_lnet_daemon *daemon;
	struct m0_lnet_cfg     cfg;
	struct m0_lnet        *front;
	char                   path[M0_ATTACH_PATH_BYTES];
	char                   why[M0_LNET_WHY_BYTES];
	pthread_t              thread;

	(void)state;
	(void)snprintf(path, sizeof path, "%.60s/polled", fix.fx_dir);
	m0_lnet_cfg_default(&cfg);
	cfg.lc_accept = M0_LNET_ACCEPT_NONE;
	cfg.lc_inline = true;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, "tcp(127.0.0.2)", why), 0);
	assert_int_equal(m0_lnet_open(&polled.pl_lnet, &cfg, why), 0);
	assert_int_equal(pthread_create(&thread, NULL, &poll_all, &polled), 0);
	assert_int_equal(m0_lnet_daemon_start(&daemon, polled.pl_lnet, NULL,
					      path, why),
			 0);
	m0_lnet_cfg_default(&cfg);
	cfg.lc_inline = true;
	(void)snprintf(cfg.lc_attach, sizeof cfg.lc_attach, "%s", path);
	assert_int_equal(m0_lnet_open(&front, &cfg, why), 0);
	m0_lnet_close(front);
	assert_int_equal(m0_lnet_daemon_stop(daemon, fix_soon()), 0);
	__atomic_store_n(&polled.pl_ends, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	m0_lnet_close(polled.pl_lnet);
	(void)strcat(path, ".lock");
	(void)unlink(path);
	fix_all_gone();
}

/* One process can use up the bytes of all, until it ends. */
static void regions_of_all_are_bounded(void **state)
{
	struct fix_proc first;
	struct fix_proc other;
	int             fd;
	char            why[M0_ATTACH_WHY_BYTES];
	unsigned        i;
	int             rc = -EDQUOT;

	(void)state;
	fix.fx_policy.apo_bytes_total = 3 * FIX_REGION_BYTES;
	fix_restart();
	fd = memfd(MFD_ALLOW_SEALING, 2 * FIX_REGION_BYTES, F_SEAL_SHRINK);
	attached(&first);
	attached(&other);
	assert_int_equal(m0_attach_region_give(&first.fp_att, 2, NULL, fd,
					       FIX_REGION_BYTES - 4096,
					       fix_soon(), why),
			 0);
	refused(&other, 2, fd, 4097, -EDQUOT, "all processes together");
	assert_int_equal(m0_attach_region_give(&other.fp_att, 2, NULL, fd, 4096,
					       fix_soon(), why),
			 0);
	refused(&other, 3, fd, 1, -EDQUOT, "all processes together");
	fix_detach(&first);
	for (i = 0; i < 1000 && rc == -EDQUOT; ++i) {
		m0_time_sleep(m0_time_from_now(0, M0_TIME_ONE_MSEC));
		rc = m0_attach_region_give(&other.fp_att, 3, NULL, fd, 4096,
					   fix_soon(), why);
	}
	assert_int_equal(rc, 0);
	(void)close(fd);
	fix_detach(&other);
	fix_all_gone();
	assert_int_equal(fix.fx_server.asv_bytes, 0);
}

int main(void)
{
#define CASE(name) \
	cmocka_unit_test_setup_teardown(name, fix_setup, fix_teardown)
	const struct CMUnitTest cases[] = {
		CASE(messages_move),
		CASE(entry_counts_for_another_process),
		CASE(sizes_are_granted),
		CASE(memory_that_can_shrink_is_refused),
		CASE(regions_are_bounded),
		CASE(regions_of_all_are_bounded),
		CASE(memory_cannot_shrink_later),
		CASE(policy_names_users_and_groups),
		CASE(foreign_user_is_refused),
		CASE(processes_are_bounded),
		CASE(killed_process_leaves_nothing),
		CASE(kills_at_random_points_leave_nothing),
		CASE(child_does_not_keep_the_attachment),
		CASE(broken_rule_ends_with_a_reason),
		CASE(stop_ends_attachments),
		CASE(second_daemon_is_refused),
		CASE(left_over_socket_is_replaced),
		CASE(given_socket_stays),
		CASE(polled_node_serves),
	};

	return cmocka_run_group_tests(cases, NULL, NULL) + fix_hostile() +
	       fix_rights() + fix_admin();
}
