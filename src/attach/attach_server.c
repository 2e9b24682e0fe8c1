/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The server's thread: its loop, and the list of processes.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/server_internal.h"

/* No descriptor is left: time until the next try. */
#define ACCEPT_PAUSE (100 * M0_TIME_ONE_MSEC)

static bool is_stopping(const struct m0_attach_server *server)
{
	return __atomic_load_n(&server->asv_stops, __ATOMIC_ACQUIRE);
}

/* ---------------------------------------------------------------- thread -- */

static void accept_all(struct m0_attach_server *server, m0_time_t now)
{
	int fd;

	server->asv_accept_at = M0_TIME_NEVER;
	for (;;) {
		fd = accept4(server->asv_listen.lof_fd, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			m0_attach__proc_begin(server, fd);
		else if (errno == EAGAIN)
			return;
		else if (!M0_IN(errno, (EINTR, ECONNABORTED)))
			break;
	}
	server->asv_accept_at = m0_time_add(now, ACCEPT_PAUSE);
}

static void listen_handler(struct m0_loop_fd *fd, unsigned events)
{
	struct m0_attach_server *server =
		container_of(fd, struct m0_attach_server, asv_listen);

	if (events & M0_LOOP_IN)
		accept_all(server, m0_time_now());
}

static void stopping_begin(struct m0_attach_server *server)
{
	unsigned i;

	if (server->asv_listen.lof_fd < 0)
		return;
	m0_loop_del(&server->asv_loop, &server->asv_listen);
	m0_attach__listen_end(server);
	server->asv_accept_at = M0_TIME_NEVER;
	for (i = 0; i < server->asv_procs_nr; ++i)
		m0_attach__proc_end(server->asv_procs[i], -ESHUTDOWN,
				    "the daemon stops");
}

/* Takes a process that is gone off the list, when nothing is left of it. */
static void proc_remove(struct m0_attach_server *server, unsigned i)
{
	struct m0_attach__proc *proc = server->asv_procs[i];

	m0_attach__proc_fini(proc);
	m0_mutex_lock(&server->asv_lock);
	server->asv_procs[i] = server->asv_procs[--server->asv_procs_nr];
	m0_mutex_unlock(&server->asv_lock);
	m0_free(proc);
}

/* @return when something is due */
static m0_time_t procs_step(struct m0_attach_server *server, m0_time_t now)
{
	m0_time_t next = server->asv_accept_at;
	unsigned  i = 0;

	while (i < server->asv_procs_nr) {
		struct m0_attach__proc *proc = server->asv_procs[i];

		next = min64u(next, m0_attach__proc_step(proc, now));
		if (proc->apr_state == M0_ATTACH_GONE)
			proc_remove(server, i);
		else
			++i;
	}
	return server->asv_again ? M0_TIME_IMMEDIATELY : next;
}

/* Does anybody wait for a pass? Then it is over. */
static void pass_count(struct m0_attach_server *server)
{
	m0_mutex_lock(&server->asv_lock);
	++server->asv_passes_nr;
	m0_cond_broadcast(&server->asv_cond);
	m0_mutex_unlock(&server->asv_lock);
}

static void server_run(struct m0_attach_server *server)
{
	m0_time_t now = m0_time_now();
	m0_time_t next = M0_TIME_NEVER;

	while (!is_stopping(server) || server->asv_procs_nr > 0) {
		(void)m0_loop_wait(&server->asv_loop, next);
		now = m0_time_now();
		if (is_stopping(server))
			stopping_begin(server);
		else if (now >= server->asv_accept_at)
			accept_all(server, now);
		server->asv_again = false;
		next = procs_step(server, now);
		pass_count(server);
	}
	stopping_begin(server);
	m0_mutex_lock(&server->asv_lock);
	server->asv_has_ended = true;
	m0_cond_broadcast(&server->asv_cond);
	m0_mutex_unlock(&server->asv_lock);
}

/* ------------------------------------------------------------------ life -- */

static void server_clear(struct m0_attach_server *server)
{
	m0_attach__listen_end(server);
	m0_loop_fini(&server->asv_loop);
	m0_free0(&server->asv_procs);
	m0_cond_fini(&server->asv_cond);
	m0_mutex_fini(&server->asv_lock);
}

static int server_begin(struct m0_attach_server *server,
			char                     why[M0_ATTACH_WHY_BYTES])
{
	int rc;

	M0_ALLOC_ARR(server->asv_procs, server->asv_policy.apo_procs_max);
	if (server->asv_procs == NULL)
		return m0_attach__why(why, -ENOMEM, "no memory");
	rc = m0_attach__listen(server, why);
	if (rc != 0)
		return rc;
	rc = m0_loop_add(&server->asv_loop, &server->asv_listen);
	if (rc == 0)
		rc = M0_THREAD_INIT(&server->asv_thread,
				    struct m0_attach_server *, NULL,
				    &server_run, server, "attach");
	return rc == 0 ? 0
		       : m0_attach__why(why, rc, "no thread to listen: %s",
					m0_errname(rc));
}

int m0_attach_server_start(struct m0_attach_server       *server,
			   struct m0_lnet                *lnet,
			   const struct m0_attach_policy *policy,
			   const char *path, char why[M0_ATTACH_WHY_BYTES])
{
	int rc;

	M0_SET0(server);
	server->asv_lnet = lnet;
	server->asv_policy = *policy;
	server->asv_lock_fd = -1;
	server->asv_is_given = policy->apo_listen_fd >= 0;
	server->asv_listen = (struct m0_loop_fd){ -1, listen_handler };
	server->asv_accept_at = M0_TIME_NEVER;
	if (path[0] == 0 || strlen(path) >= sizeof server->asv_path)
		return m0_attach__why(why, -ENAMETOOLONG,
				      "a path of 1 to %zu bytes is accepted",
				      sizeof server->asv_path - 1);
	memcpy(server->asv_path, path, strlen(path));
	rc = m0_loop_init(&server->asv_loop);
	if (rc != 0)
		return m0_attach__why(why, rc, "no descriptor is left: %s",
				      m0_errname(rc));
	m0_mutex_init(&server->asv_lock);
	m0_cond_init(&server->asv_cond, &server->asv_lock);
	rc = server_begin(server, why);
	if (rc != 0)
		server_clear(server);
	return rc;
}

int m0_attach_server_stop(struct m0_attach_server *server, m0_time_t deadline)
{
	bool in_time = true;

	__atomic_store_n(&server->asv_stops, true, __ATOMIC_RELEASE);
	m0_loop_rouse(&server->asv_loop);
	m0_mutex_lock(&server->asv_lock);
	while (!server->asv_has_ended && in_time)
		in_time = m0_cond_timedwait(&server->asv_cond, deadline);
	in_time = server->asv_has_ended;
	m0_mutex_unlock(&server->asv_lock);
	return in_time ? 0 : -ETIMEDOUT;
}

void m0_attach_server_drain(struct m0_attach_server *server)
{
	__atomic_store_n(&server->asv_drains, true, __ATOMIC_RELEASE);
}

int m0_attach_server_check(struct m0_attach_server *server, m0_time_t deadline)
{
	bool     in_time = true;
	uint64_t seen;

	m0_mutex_lock(&server->asv_lock);
	seen = server->asv_passes_nr;
	m0_loop_rouse(&server->asv_loop);
	while (server->asv_passes_nr == seen && !server->asv_has_ended &&
	       in_time)
		in_time = m0_cond_timedwait(&server->asv_cond, deadline);
	if (server->asv_passes_nr != seen || server->asv_has_ended)
		in_time = true;
	m0_mutex_unlock(&server->asv_lock);
	return in_time ? 0 : -ETIMEDOUT;
}

void m0_attach_server_fini(struct m0_attach_server *server)
{
	M0_PRE(server->asv_has_ended);
	m0_thread_join(&server->asv_thread);
	m0_thread_fini(&server->asv_thread);
	m0_serve_tms_fini(&server->asv_tms);
	m0_serve_copies_fini(&server->asv_copies);
	server_clear(server);
}

/* ------------------------------------------------------------------ info -- */

/*
 * The node's thread counts while this looks: a number may be a moment old. Operations,
 * events and shadows are counted in the area, where the process could change them: for people only.
 */
static void info_fill(struct m0_attach__proc *proc, struct m0_attach_info *ret)
{
	const struct m0_serve        *srv = &proc->apr_serve;
	const struct m0_shared_words *words = srv->srv_side.shs_words;

	*ret = (struct m0_attach_info){
		.ain_creds = proc->apr_creds,
		.ain_since = proc->apr_since,
		.ain_mds_nr =
			__atomic_load_n(&srv->srv_mds_nr, __ATOMIC_RELAXED),
		.ain_ops_nr = __atomic_load_n(&words->shw_down_taken.shl_word,
					      __ATOMIC_RELAXED),
		.ain_events_nr = __atomic_load_n(&words->shw_up_put.shl_word,
						 __ATOMIC_RELAXED),
		.ain_denied_nr =
			__atomic_load_n(&srv->srv_denied_nr, __ATOMIC_RELAXED),
		.ain_copied_bytes = __atomic_load_n(&srv->srv_copied_bytes,
						    __ATOMIC_RELAXED),
		.ain_daemon_bytes = __atomic_load_n(&srv->srv_daemon_bytes,
						    __ATOMIC_RELAXED),
		.ain_fell_back_nr = __atomic_load_n(&srv->srv_fell_back_nr,
						    __ATOMIC_RELAXED),
		.ain_shadow_bytes =
			__atomic_load_n(&words->shw_down_put.shl_shadow_bytes,
					__ATOMIC_RELAXED),
		.ain_direct_sent_nr = __atomic_load_n(
			&words->shw_client_holds.shl_sent_nr, __ATOMIC_RELAXED),
		.ain_direct_taken_nr =
			__atomic_load_n(&words->shw_client_holds.shl_taken_nr,
					__ATOMIC_RELAXED),
		.ain_is_ending =
			__atomic_load_n(&srv->srv_ends, __ATOMIC_RELAXED),
	};
	m0_mutex_lock(&proc->apr_maps.vms_lock);
	ret->ain_regions_nr = proc->apr_maps.vms_nr;
	ret->ain_bytes = proc->apr_maps.vms_bytes;
	m0_mutex_unlock(&proc->apr_maps.vms_lock);
}

unsigned m0_attach_server_info(struct m0_attach_server *server,
			       struct m0_attach_info *ret, unsigned max)
{
	unsigned nr = 0;
	unsigned i;

	m0_mutex_lock(&server->asv_lock);
	for (i = 0; i < server->asv_procs_nr && nr < max; ++i) {
		if (M0_IN(server->asv_procs[i]->apr_state,
			  (M0_ATTACH_OPEN, M0_ATTACH_ENDING)))
			info_fill(server->asv_procs[i], &ret[nr++]);
	}
	m0_mutex_unlock(&server->asv_lock);
	return nr;
}
