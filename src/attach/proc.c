/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A process, from its connection to its end.
 *
 * Nothing that is shared with the process may block this one. O_NONBLOCK is no protection:
 * it is a flag of the open file, which the process has, too, so the process could clear it
 * and then fill an eventfd. So the server's bell is an eventfd that is never read, only
 * watched for edges, and the client's bell is a socket of a pair, to which the server
 * writes by MSG_DONTWAIT.
 */
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/server_internal.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum {
	/** Messages of a process that are read in its turn. */
	TURN_MAX = 8,
	GROUPS_MAX = 256
};

#define GREETING_TIME (5 * M0_TIME_ONE_SECOND)

/* ------------------------------------------------------------------ host -- */

static void proc_wake(void *host)
{
	const struct m0_attach__proc *proc = host;

	/* Full: it is readable, that is, woken. */
	(void)send(proc->apr_client_bell, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* The server waits in the node's loop. */
static int proc_wait(void *host, m0_time_t deadline)
{
	(void)host;
	(void)deadline;
	return -ETIMEDOUT;
}

/* Death is an event of the server's thread. */
static bool proc_is_dead(void *host)
{
	(void)host;
	return false;
}

static int proc_creds(void *host, struct m0_shared_creds *ret)
{
	const struct m0_attach__proc *proc = host;

	*ret = proc->apr_creds;
	return 0;
}

static const struct m0_shared_host server_host = {
	.shh_wake = proc_wake,
	.shh_wait = proc_wait,
	.shh_map = m0_attach__region_map,
	.shh_is_dead = proc_is_dead,
	.shh_creds = proc_creds,
};

/* The node's thread. */
static void proc_ended(struct m0_serve *serve)
{
	struct m0_attach__proc  *proc = serve->srv_owner;
	struct m0_attach_server *server = proc->apr_server;

	__atomic_store_n(&proc->apr_ended, true, __ATOMIC_RELEASE);
	m0_loop_rouse(&server->asv_loop);
}

static const struct m0_serve_ops serve_ops = {
	.svo_ended = proc_ended,
	.svo_home = m0_attach__region_home,
};

/* ------------------------------------------------------------------- end -- */

static void state_set(struct m0_attach__proc *proc, enum m0_attach__state state)
{
	m0_mutex_lock(&proc->apr_server->asv_lock);
	proc->apr_state = state;
	m0_mutex_unlock(&proc->apr_server->asv_lock);
}

static void watch_end(struct m0_attach__proc *proc, struct m0_loop_fd *fd)
{
	if (fd->lof_fd < 0)
		return;
	m0_loop_del(&proc->apr_server->asv_loop, fd);
	(void)close(fd->lof_fd);
	fd->lof_fd = -1;
}

void m0_attach__proc_end(struct m0_attach__proc *proc, int rc, const char *fmt,
			 ...)
{
	va_list args;

	if (proc->apr_state > M0_ATTACH_OPEN)
		return;
	proc->apr_rc = rc;
	va_start(args, fmt);
	(void)vsnprintf(proc->apr_why, sizeof proc->apr_why, fmt, args);
	va_end(args);
	if (proc->apr_state == M0_ATTACH_OPEN) {
		state_set(proc, M0_ATTACH_ENDING);
		m0_serve_end(&proc->apr_serve);
	} else {
		state_set(proc, M0_ATTACH_GONE);
	}
	/* The next step goes on with it. */
	m0_loop_rouse(&proc->apr_server->asv_loop);
}

/* The process breaks the rules, or has hung up, in any state. */
static void refuse(struct m0_attach__proc *proc, int rc, const char *why)
{
	if (proc->apr_state == M0_ATTACH_GREETING) {
		m0_mutex_lock(&proc->apr_server->asv_lock);
		++proc->apr_server->asv_refused_nr;
		m0_mutex_unlock(&proc->apr_server->asv_lock);
		(void)m0_attach__say(proc->apr_sock.lof_fd, M0_ATTACH_REFUSE,
				     rc, 0, why);
	}
	m0_attach__proc_end(proc, rc, "%s", why);
}

static bool is_own_wish(int rc)
{
	return M0_IN(rc, (0, -EPIPE, -ESHUTDOWN));
}

/* Everything is released: reports the reason to the process if it is still connected. */
static void proc_finish(struct m0_attach__proc *proc)
{
	const struct m0_shared_why *broken = &proc->apr_serve.srv_why;

	if (broken->shy_field != NULL && proc->apr_rc == 0) {
		proc->apr_rc = -EPROTO;
		(void)m0_shared_why_print(broken, proc->apr_why,
					  sizeof proc->apr_why);
	}
	if (proc->apr_sock.lof_fd >= 0)
		(void)m0_attach__say(proc->apr_sock.lof_fd, M0_ATTACH_ENDED,
				     proc->apr_rc, 0, proc->apr_why);
	state_set(proc, M0_ATTACH_GONE);
	m0_serve_fini(&proc->apr_serve);
}

void m0_attach__proc_fini(struct m0_attach__proc *proc)
{
	M0_PRE(proc->apr_state == M0_ATTACH_GONE);
	if (!is_own_wish(proc->apr_rc))
		m0_log(M0_LOG_WARN,
		       "process %u of user %u is not attached any more: %s",
		       proc->apr_creds.scr_pid, proc->apr_creds.scr_uid,
		       proc->apr_why);
	m0_attach__regions_fini(proc);
	m0_os_shm_unmap(proc->apr_area, proc->apr_area_bytes);
	watch_end(proc, &proc->apr_pid);
	watch_end(proc, &proc->apr_bell);
	watch_end(proc, &proc->apr_sock);
	if (proc->apr_client_bell >= 0)
		(void)close(proc->apr_client_bell);
}

/* -------------------------------------------------------------- messages -- */

static int fds_make(struct m0_attach__proc *proc, int *ret_client)
{
	struct m0_loop *loop = &proc->apr_server->asv_loop;
	int             pair[2];
	int             rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return -errno;
	proc->apr_client_bell = pair[0];
	*ret_client = pair[1];
	proc->apr_bell.lof_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (proc->apr_bell.lof_fd < 0)
		return -errno;
	rc = m0_loop_add(loop, &proc->apr_bell);
	if (rc != 0) {
		(void)close(proc->apr_bell.lof_fd);
		proc->apr_bell.lof_fd = -1;
	}
	return rc;
}

static int welcome_send(struct m0_attach__proc    *proc,
			const struct m0_serve_cfg *cfg, int area, int client)
{
	struct m0_attach_welcome welcome;
	int fds[3] = { area, proc->apr_bell.lof_fd, client };

	M0_SET0(&welcome);
	m0_attach__head(&welcome.awl_head, M0_ATTACH_WELCOME, sizeof welcome);
	welcome.awl_cfg = cfg->svg_shared;
	welcome.awl_area_bytes = proc->apr_area_bytes;
	welcome.awl_bytes_max = cfg->svg_bytes_max;
	welcome.awl_right = (uint32_t)cfg->svg_right;
	welcome.awl_pid = proc->apr_creds.scr_pid;
	return m0_attach__send(proc->apr_sock.lof_fd, &welcome.awl_head, fds,
			       ARRAY_SIZE(fds), MSG_DONTWAIT);
}

/* From now on the node's thread serves it. */
static int serve_begin(struct m0_attach__proc    *proc,
		       const struct m0_serve_cfg *cfg)
{
	int rc;

	rc = m0_serve_init(&proc->apr_serve, proc->apr_server->asv_lnet, cfg,
			   proc->apr_area, proc->apr_area_bytes, &server_host,
			   proc, &serve_ops, proc);
	if (rc != 0) {
		m0_serve_fini(&proc->apr_serve);
		return rc;
	}
	m0_mutex_lock(&proc->apr_server->asv_lock);
	proc->apr_state = M0_ATTACH_OPEN;
	proc->apr_since = m0_time_now();
	++proc->apr_server->asv_attached_nr;
	m0_mutex_unlock(&proc->apr_server->asv_lock);
	return 0;
}

static int proc_open(struct m0_attach__proc    *proc,
		     const struct m0_serve_cfg *cfg)
{
	int client = -1;
	int area;
	int rc;

	proc->apr_area_bytes = m0_shared_bytes(&cfg->svg_shared);
	rc = m0_serve_maps_init(&proc->apr_maps,
				cfg->svg_shared.shc_regions_max,
				cfg->svg_bytes_max,
				&proc->apr_server->asv_bytes,
				proc->apr_server->asv_policy.apo_bytes_total);
	if (rc != 0)
		return rc;
	area = m0_os_shm_make("colibri-area", proc->apr_area_bytes,
			      M0_OS_SHM_FIXED, &proc->apr_area);
	if (area < 0)
		return area;
	rc = fds_make(proc, &client);
	if (rc == 0)
		rc = serve_begin(proc, cfg);
	if (rc == 0)
		rc = welcome_send(proc, cfg, area, client);
	(void)close(area);
	if (client >= 0)
		(void)close(client);
	return rc;
}

static int hello_take(struct m0_attach__proc       *proc,
		      const struct m0_attach_hello *hello,
		      char                          why[M0_ATTACH_WHY_BYTES])
{
	struct m0_serve_cfg cfg;
	int                 rc;

	rc = m0_serve_grant(&proc->apr_server->asv_policy.apo_serve,
			    &hello->ahl_cfg, &cfg, why);
	if (rc != 0)
		return rc;
	cfg.svg_tms = &proc->apr_server->asv_tms;
	if (!proc->apr_no_copies)
		cfg.svg_copies = &proc->apr_server->asv_copies;
	cfg.svg_portals = proc->apr_portals;
	cfg.svg_tmids = proc->apr_tmids;
	rc = proc_open(proc, &cfg);
	return rc == 0 ? 0
		       : m0_attach__why(why, rc,
					"the daemon cannot serve it: %s",
					m0_errname(rc));
}

static int region_take(struct m0_attach__proc *proc, struct m0_attach_in *in,
		       char why[M0_ATTACH_WHY_BYTES])
{
	const struct m0_attach_region *region = &in->aim_u.amg_region;
	int                            rc;

	why[0] = 0;
	rc = m0_attach__region_take(proc, region, in->aim_fds[0], why);
	rc = m0_attach__say(proc->apr_sock.lof_fd, M0_ATTACH_REGION_DONE, rc,
			    region->aer_nr, why);
	return rc == 0 ? 0
		       : m0_attach__why(
				 why, rc == -EAGAIN ? -EPROTO : rc,
				 "the process does not read its answers");
}

static int msg_take(struct m0_attach__proc *proc, struct m0_attach_in *in,
		    char why[M0_ATTACH_WHY_BYTES])
{
	unsigned type = in->aim_u.amg_head.ahd_type;
	int      rc = m0_attach__check(in, why);

	if (rc != 0)
		return rc;
	if (proc->apr_state == M0_ATTACH_GREETING && type == M0_ATTACH_HELLO)
		return hello_take(proc, &in->aim_u.amg_hello, why);
	if (proc->apr_state == M0_ATTACH_OPEN && type == M0_ATTACH_REGION)
		return region_take(proc, in, why);
	return m0_attach__why(
		why, -EPROTO, "type %u of a message: %s is %s", type,
		proc->apr_state == M0_ATTACH_GREETING ? "HELLO" : "REGION",
		"accepted");
}

static void proc_read(struct m0_attach__proc *proc)
{
	struct m0_attach_in in;
	char                why[M0_ATTACH_WHY_BYTES];
	unsigned            i;
	int                 rc;

	proc->apr_again = false;
	for (i = 0; i < TURN_MAX && proc->apr_state <= M0_ATTACH_OPEN; ++i) {
		rc = m0_attach__recv(proc->apr_sock.lof_fd, &in, MSG_DONTWAIT);
		if (rc == -EAGAIN)
			return;
		if (rc <= 0) {
			m0_attach__proc_end(proc, -EPIPE,
					    "the process has hung up");
			return;
		}
		rc = msg_take(proc, &in, why);
		m0_attach__drop(&in);
		if (rc != 0)
			refuse(proc, rc, why);
	}
	proc->apr_again = true;
	proc->apr_server->asv_again = true;
}

/* -------------------------------------------------------------- handlers -- */

static void sock_handler(struct m0_loop_fd *fd, unsigned events)
{
	struct m0_attach__proc *proc =
		container_of(fd, struct m0_attach__proc, apr_sock);

	if (events & (M0_LOOP_IN | M0_LOOP_END))
		proc_read(proc);
	/* Messages that are left are not read. */
	if (events & M0_LOOP_END)
		m0_attach__proc_end(proc, -EPIPE, "the process has hung up");
}

static void bell_handler(struct m0_loop_fd *fd, unsigned events)
{
	struct m0_attach__proc *proc =
		container_of(fd, struct m0_attach__proc, apr_bell);

	if ((events & M0_LOOP_IN) && proc->apr_state == M0_ATTACH_OPEN)
		m0_serve_wake(&proc->apr_serve);
}

/* The process has ended, though a child may have the socket. */
static void pid_handler(struct m0_loop_fd *fd, unsigned events)
{
	struct m0_attach__proc *proc =
		container_of(fd, struct m0_attach__proc, apr_pid);

	if (events & M0_LOOP_IN)
		m0_attach__proc_end(proc, -EPIPE, "the process has ended");
}

m0_time_t m0_attach__proc_step(struct m0_attach__proc *proc, m0_time_t now)
{
	if (proc->apr_again)
		proc_read(proc);
	if (proc->apr_state == M0_ATTACH_GREETING && now >= proc->apr_deadline)
		refuse(proc, -ETIMEDOUT, "the process does not send HELLO");
	m0_attach__regions_sweep(proc);
	if (proc->apr_state == M0_ATTACH_GREETING)
		return proc->apr_deadline;
	if (__atomic_load_n(&proc->apr_ended, __ATOMIC_ACQUIRE) &&
	    proc->apr_state != M0_ATTACH_GONE)
		proc_finish(proc);
	return M0_TIME_NEVER;
}

/* ----------------------------------------------------------------- begin -- */

static int pidfd_of(const struct m0_attach__proc *proc)
{
	socklen_t bytes = sizeof(int);
	int       fd = -1;

	/* Kernels before 6.5 have only the number, which may be another's by now: then
	 * it has hung up already. A process of a foreign namespace has none. */
	if (getsockopt(proc->apr_sock.lof_fd, SOL_SOCKET, SO_PEERPIDFD, &fd,
		       &bytes) == 0)
		return fd;
	if (proc->apr_creds.scr_pid == 0)
		return -1;
	return (int)syscall(SYS_pidfd_open, (pid_t)proc->apr_creds.scr_pid, 0);
}

/* @return 0, or a negative errno with a reason: the process that has connected may not attach. */
static int admit(const struct m0_attach_server *server, int sock,
		 struct m0_shared_creds *creds, struct m0_serve_cfg *rights,
		 char why[M0_ATTACH_WHY_BYTES])
{
	const struct m0_attach_policy *policy = &server->asv_policy;
	uint32_t                       groups[GROUPS_MAX];
	unsigned                       groups_nr;
	unsigned                       of_uid_nr = 0;
	unsigned                       i;
	bool                           allowed;

	groups_nr = m0_attach__creds(sock, creds, groups, GROUPS_MAX);
	allowed = m0_attach_policy_allows(policy, creds, groups, groups_nr);
	m0_attach_policy_rights(policy, creds, groups, groups_nr, rights);
	if (!allowed && creds->scr_uid == policy->apo_unmapped_uid)
		return m0_attach__why(
			why, -EPERM,
			"a user without a number in the daemon's user "
			"namespace may not attach: %u stands for all of them; "
			"map the user (uid_map), or a group that the policy "
			"names",
			creds->scr_uid);
	if (!allowed)
		return m0_attach__why(
			why, -EPERM,
			"user %u may not attach: the daemon's policy names "
			"neither this user nor a group of it",
			creds->scr_uid);
	if (__atomic_load_n(&server->asv_drains, __ATOMIC_ACQUIRE))
		return m0_attach__why(why, -ESHUTDOWN,
				      "the daemon is draining, and accepts no "
				      "further process; attach when it has "
				      "been started again");
	for (i = 0; i < server->asv_procs_nr; ++i)
		of_uid_nr += server->asv_procs[i]->apr_creds.scr_uid ==
			     creds->scr_uid;
	if (server->asv_procs_nr < policy->apo_procs_max &&
	    of_uid_nr < policy->apo_procs_of_uid_max)
		return 0;
	return m0_attach__why(
		why, -EUSERS,
		"too many processes are attached: %u of user %u, "
		"%u of all; accepted: %u of a user, and %u of all",
		of_uid_nr, creds->scr_uid, server->asv_procs_nr,
		policy->apo_procs_of_uid_max, policy->apo_procs_max);
}

static int proc_watch(struct m0_attach__proc *proc)
{
	struct m0_loop *loop = &proc->apr_server->asv_loop;
	int             rc = m0_loop_add(loop, &proc->apr_sock);

	if (rc != 0)
		return rc;
	proc->apr_pid.lof_fd = pidfd_of(proc);
	if (proc->apr_pid.lof_fd >= 0 &&
	    m0_loop_add(loop, &proc->apr_pid) != 0) {
		(void)close(proc->apr_pid.lof_fd);
		proc->apr_pid.lof_fd = -1;
	}
	return 0;
}

static int proc_make(struct m0_attach_server *server, int sock,
		     const struct m0_shared_creds *creds,
		     const struct m0_serve_cfg    *rights)
{
	struct m0_attach__proc *proc;
	int                     rc;

	M0_ALLOC_PTR(proc);
	if (proc == NULL)
		return -ENOMEM;
	proc->apr_server = server;
	proc->apr_creds = *creds;
	proc->apr_portals = rights->svg_portals;
	proc->apr_tmids = rights->svg_tmids;
	proc->apr_no_copies = rights->svg_no_copies;
	proc->apr_since = m0_time_now();
	proc->apr_deadline = m0_time_add(proc->apr_since, GREETING_TIME);
	proc->apr_sock = (struct m0_loop_fd){ sock, sock_handler };
	proc->apr_bell = (struct m0_loop_fd){ -1, bell_handler };
	proc->apr_pid = (struct m0_loop_fd){ -1, pid_handler };
	proc->apr_client_bell = -1;
	rc = proc_watch(proc);
	if (rc != 0) {
		m0_free(proc);
		return rc;
	}
	m0_mutex_lock(&server->asv_lock);
	server->asv_procs[server->asv_procs_nr++] = proc;
	m0_mutex_unlock(&server->asv_lock);
	return 0;
}

void m0_attach__proc_begin(struct m0_attach_server *server, int sock)
{
	struct m0_shared_creds creds;
	struct m0_serve_cfg    rights;
	char                   why[M0_ATTACH_WHY_BYTES];
	int                    rc = admit(server, sock, &creds, &rights, why);

	if (rc == 0) {
		rc = proc_make(server, sock, &creds, &rights);
		if (rc == 0)
			return;
		(void)m0_attach__why(why, rc, "the daemon cannot serve it: %s",
				     m0_errname(rc));
	}
	m0_mutex_lock(&server->asv_lock);
	++server->asv_refused_nr;
	m0_mutex_unlock(&server->asv_lock);
	m0_log(M0_LOG_INFO, "process %u does not attach: %s", creds.scr_pid,
	       why);
	(void)m0_attach__say(sock, M0_ATTACH_REFUSE, rc, 0, why);
	(void)close(sock);
}
