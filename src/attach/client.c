/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The client half of an attachment.
 */
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "attach/attach.h"
#include "attach/direct.h"

/* ------------------------------------------------------------------ host -- */

void m0_attach__close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* Polls until the deadline. @return as poll() */
static int poll_until(struct pollfd *fds, nfds_t nr, m0_time_t deadline)
{
	m0_time_t       now = m0_time_now();
	m0_time_t       left = deadline > now ? deadline - now : 0;
	struct timespec ts = { .tv_sec = (time_t)m0_time_seconds(left),
			       .tv_nsec = (long)m0_time_nanoseconds(left) };

	return ppoll(fds, nr, deadline == M0_TIME_NEVER ? NULL : &ts, NULL);
}

static void server_wake(void *host)
{
	static const uint64_t one = 1;
	struct m0_attach     *att = host;
	ssize_t               rc;

	if (att->att_is_device) {
		m0_attach__device_ring(att);
		return;
	}
	/* Fails only if the counter is at its end: then the server will look. */
	rc = write(att->att_server_bell, &one, sizeof one);
	(void)rc;
}

void m0_attach_bell_take(struct m0_attach *att)
{
	char    bytes[64];
	ssize_t got;

	if (att->att_is_device) {
		m0_attach__device_calm(att);
		return;
	}
	do {
		got = recv(att->att_bell, bytes, sizeof bytes, MSG_DONTWAIT);
	} while (got == (ssize_t)sizeof bytes || (got < 0 && errno == EINTR));
}

bool m0_attach_is_dead(const struct m0_attach *att)
{
	struct pollfd fd = { att->att_sock, POLLRDHUP, 0 };

	return poll(&fd, 1, 0) > 0 &&
	       (fd.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static void rouse_take(const struct m0_attach *att)
{
	uint64_t nr;
	ssize_t  got = read(att->att_rouse, &nr, sizeof nr);

	(void)got;
}

void m0_attach_calm(struct m0_attach *att)
{
	m0_attach_bell_take(att);
	rouse_take(att);
}

static int bell_wait(void *host, m0_time_t deadline)
{
	struct m0_attach *att = host;
	/* Only those that are described are written, and looked at. */
	struct pollfd fds[3 + M0_ATTACH_NEAR_FDS_MAX];
	unsigned      fds_nr = 3;
	int           nr;

	fds[0] = (struct pollfd){ att->att_bell, POLLIN, 0 };
	fds[1] = (struct pollfd){ att->att_sock, POLLRDHUP, 0 };
	fds[2] = (struct pollfd){ att->att_rouse, POLLIN, 0 };
	if (att->att_near != NULL)
		fds_nr += m0_attach_near_fds(att->att_near, fds + fds_nr);
	nr = poll_until(fds, fds_nr, deadline);
	if (nr > 0 && fds[0].revents != 0)
		m0_attach_bell_take(att);
	if (nr > 0 && fds[2].revents != 0)
		rouse_take(att);
	return nr == 0 ? -ETIMEDOUT : 0;
}

void m0_attach_rouse(struct m0_attach *att)
{
	static const uint64_t one = 1;
	ssize_t               rc = write(att->att_rouse, &one, sizeof one);

	/* Fails only if it is readable for long. */
	(void)rc;
}

/* The client has no memory of the server to map. */
static int no_map(void *host, uint32_t nr, uint64_t bytes, void **ret)
{
	(void)host;
	(void)nr;
	(void)bytes;
	(void)ret;
	return -EINVAL;
}

static bool is_dead(void *host)
{
	return m0_attach_is_dead(host);
}

static int creds(void *host, struct m0_shared_creds *ret)
{
	const struct m0_attach *att = host;

	*ret = att->att_creds;
	return 0;
}

static const struct m0_shared_host client_host = {
	.shh_wake = server_wake,
	.shh_wait = bell_wait,
	.shh_map = no_map,
	.shh_is_dead = is_dead,
	.shh_creds = creds,
};

/* ---------------------------------------------------------------- answer -- */

static int msg_recv(const struct m0_attach *att, struct m0_attach_in *in)
{
	return att->att_is_device
		       ? m0_attach__device_recv(att, in)
		       : m0_attach__recv(att->att_sock, in, MSG_DONTWAIT);
}

/* Messages of a device have no descriptors. */
static int msg_check(const struct m0_attach *att, const struct m0_attach_in *in,
		     char why[M0_ATTACH_WHY_BYTES])
{
	return att->att_is_device
		       ? m0_attach__msg_check(&in->aim_u, in->aim_bytes, why)
		       : m0_attach__check(in, why);
}

static int msg_send(const struct m0_attach      *att,
		    const struct m0_attach_head *head, const int *fds,
		    unsigned fds_nr)
{
	return att->att_is_device
		       ? m0_attach__device_send(att, head)
		       : m0_attach__send(att->att_sock, head, fds, fds_nr, 0);
}

/*
 * The next message, in form. A server that hangs up while something of this side is on its
 * way resets the connection, which is reported before what it has said.
 */
static int answer_get(const struct m0_attach *att, struct m0_attach_in *in,
		      m0_time_t deadline, char why[M0_ATTACH_WHY_BYTES])
{
	struct pollfd fd = { att->att_sock, POLLIN, 0 };
	unsigned      resets_nr = 0;
	int           rc;

	for (;;) {
		rc = msg_recv(att, in);
		if (rc > 0)
			break;
		if (rc == -EAGAIN && m0_time_now() >= deadline)
			return m0_attach__why(
				why, -ETIMEDOUT,
				"the daemon (process %u) does not answer",
				att->att_creds.scr_pid);
		if (rc == -EAGAIN)
			(void)poll_until(&fd, 1, deadline);
		else if (rc != -ECONNRESET || resets_nr++ > 0)
			return m0_attach__why(why, -EPIPE,
					      "the daemon has hung up");
	}
	rc = msg_check(att, in, why);
	if (rc != 0)
		m0_attach__drop(in);
	return rc;
}

/* The text of the server, which may lack its end. */
static int word_take(const struct m0_attach_word *word,
		     char                         why[M0_ATTACH_WHY_BYTES])
{
	(void)snprintf(why, M0_ATTACH_WHY_BYTES, "%.*s",
		       (int)sizeof word->awd_why - 1, word->awd_why);
	return word->awd_rc < 0 && word->awd_rc >= -4095 ? word->awd_rc
							 : -EPROTO;
}

int m0_attach_reason(struct m0_attach *att, char why[M0_ATTACH_WHY_BYTES])
{
	struct m0_attach_in in;
	int                 rc;

	m0_mutex_lock(&att->att_lock);
	do {
		rc = answer_get(att, &in, M0_TIME_IMMEDIATELY, why);
		if (rc == 0)
			m0_attach__drop(&in);
	} while (rc == 0 && in.aim_u.amg_head.ahd_type != M0_ATTACH_ENDED);
	m0_mutex_unlock(&att->att_lock);
	if (rc != 0)
		return rc;
	rc = word_take(&in.aim_u.amg_word, why);
	return in.aim_u.amg_word.awd_rc == 0 ? 0 : rc;
}

/* ------------------------------------------------------------------ open -- */

static int sock_connect(struct m0_attach *att, const char *path,
			m0_time_t deadline, char why[M0_ATTACH_WHY_BYTES])
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	m0_time_t left = m0_time_sub(deadline, min64u(m0_time_now(), deadline));
	struct timeval tv = { .tv_sec = (time_t)m0_time_seconds(left),
			      .tv_usec = (long)(m0_time_nanoseconds(left) /
						M0_TIME_ONE_USEC) +
					 1 };
	int            rc = 0;

	if (strlen(path) >= sizeof sa.sun_path)
		return m0_attach__why(why, -ENAMETOOLONG,
				      "%.60s...: a path of at most %zu bytes "
				      "is accepted",
				      path, sizeof sa.sun_path - 1);
	memcpy(sa.sun_path, path, strlen(path));
	att->att_sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (att->att_sock < 0)
		return m0_attach__why(why, -errno, "no descriptor is left: %s",
				      m0_errname(errno));
	/* Ends a connect() to a daemon that does not accept. */
	(void)setsockopt(att->att_sock, SOL_SOCKET, SO_SNDTIMEO, &tv,
			 sizeof tv);
	if (connect(att->att_sock, (struct sockaddr *)&sa, sizeof sa) != 0)
		rc = -errno;
	if (rc == 0)
		return 0;
	if (M0_IN(rc, (-ENOENT, -ECONNREFUSED)))
		return m0_attach__why(why, rc,
				      "no daemon listens at %s: start one by "
				      "colibri node --attach=%s",
				      path, path);
	if (M0_IN(rc, (-EACCES, -EPERM)))
		return m0_attach__why(why, rc,
				      "user %u may not connect to %s: its "
				      "owner and its group may",
				      (unsigned)geteuid(), path);
	if (M0_IN(rc, (-EAGAIN, -EINPROGRESS)))
		return m0_attach__why(why, -ETIMEDOUT,
				      "the daemon at %s does not answer", path);
	return m0_attach__why(why, rc, "%s: %s", path, m0_errname(rc));
}

static int server_open(struct m0_attach *att, const char *path,
		       m0_time_t deadline, char why[M0_ATTACH_WHY_BYTES])
{
	return m0_attach__is_device(path)
		       ? m0_attach__device_open(att, path, why)
		       : sock_connect(att, path, deadline, why);
}

/* A device has no process: its numbers are those of nobody. */
static void creds_get(struct m0_attach *att)
{
	struct ucred cred = { .uid = (uid_t)-1, .gid = (gid_t)-1 };
	socklen_t    bytes = sizeof cred;

	(void)getsockopt(att->att_sock, SOL_SOCKET, SO_PEERCRED, &cred, &bytes);
	att->att_creds = (struct m0_shared_creds){
		.scr_pid = (uint32_t)cred.pid,
		.scr_uid = cred.uid,
		.scr_gid = cred.gid,
	};
}

static int area_join(struct m0_attach               *att,
		     const struct m0_attach_welcome *welcome, int fd,
		     char why[M0_ATTACH_WHY_BYTES])
{
	struct m0_shared_why broken;
	char                 text[M0_ATTACH_WHY_BYTES - 32];
	int                  rc;

	rc = att->att_is_device
		     ? m0_attach__device_map(att, welcome->awl_area_bytes,
					     &att->att_area, why)
		     : m0_os_shm_map(fd, welcome->awl_area_bytes, true,
				     &att->att_area, why, M0_ATTACH_WHY_BYTES);
	if (rc != 0)
		return rc;
	att->att_area_bytes = welcome->awl_area_bytes;
	att->att_bytes_max = welcome->awl_bytes_max;
	att->att_right = welcome->awl_right;
	att->att_pid = welcome->awl_pid;
	/* A child would be a second producer. */
	(void)madvise(att->att_area, att->att_area_bytes, MADV_DONTFORK);
	rc = m0_shared_join(&att->att_side, att->att_area, att->att_area_bytes,
			    &client_host, att, &broken);
	return rc == 0 ? 0
		       : m0_attach__why(why, rc, "area of the daemon: %s",
					m0_shared_why_print(&broken, text,
							    sizeof text));
}

static int welcome_take(struct m0_attach *att, struct m0_attach_in *in,
			char why[M0_ATTACH_WHY_BYTES])
{
	if (in->aim_u.amg_head.ahd_type == M0_ATTACH_REFUSE)
		return word_take(&in->aim_u.amg_word, why);
	if (in->aim_u.amg_head.ahd_type != M0_ATTACH_WELCOME)
		return m0_attach__why(why, -EPROTO,
				      "the daemon answers by type %u",
				      in->aim_u.amg_head.ahd_type);
	if (!att->att_is_device) {
		att->att_server_bell = in->aim_fds[1];
		att->att_bell = in->aim_fds[2];
		in->aim_fds[1] = -1;
		in->aim_fds[2] = -1;
	}
	return area_join(att, &in->aim_u.amg_welcome, in->aim_fds[0], why);
}

static int hello_send(const struct m0_attach     *att,
		      const struct m0_shared_cfg *cfg,
		      char                        why[M0_ATTACH_WHY_BYTES])
{
	struct m0_attach_hello hello;
	int                    rc;

	M0_SET0(&hello);
	m0_attach__head(&hello.ahl_head, M0_ATTACH_HELLO, sizeof hello);
	if (cfg != NULL)
		hello.ahl_cfg = *cfg;
	rc = msg_send(att, &hello.ahl_head, NULL, 0);
	/* A daemon that refuses has hung up, and its reason can be read. */
	return M0_IN(rc, (0, -EPIPE, -ECONNRESET))
		       ? 0
		       : m0_attach__why(why, rc,
					"the daemon does not take a "
					"message: %s",
					m0_errname(rc));
}

int m0_attach_begin(struct m0_attach *att, const char *path,
		    const struct m0_shared_cfg *cfg, m0_time_t deadline,
		    char why[M0_ATTACH_WHY_BYTES])
{
	int rc;

	M0_SET0(att);
	att->att_sock = -1;
	att->att_bell = -1;
	att->att_server_bell = -1;
	m0_mutex_init(&att->att_lock);
	att->att_rouse = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = att->att_rouse >= 0
		     ? server_open(att, path == NULL ? M0_ATTACH_PATH : path,
				   deadline, why)
		     : m0_attach__why(why, -errno, "no descriptor is left: %s",
				      m0_errname(errno));
	if (rc == 0) {
		creds_get(att);
		rc = hello_send(att, cfg, why);
	}
	if (rc != 0)
		m0_attach_close(att);
	return rc;
}

int m0_attach_finish(struct m0_attach *att, m0_time_t deadline,
		     char why[M0_ATTACH_WHY_BYTES])
{
	struct m0_attach_in in;
	int                 rc = answer_get(att, &in, deadline, why);

	M0_PRE(att->att_area == NULL);
	if (rc == 0) {
		rc = welcome_take(att, &in, why);
		m0_attach__drop(&in);
	}
	return rc;
}

int m0_attach_open(struct m0_attach *att, const char *path,
		   const struct m0_shared_cfg *cfg, m0_time_t deadline,
		   char why[M0_ATTACH_WHY_BYTES])
{
	int rc = m0_attach_begin(att, path, cfg, deadline, why);

	if (rc != 0)
		return rc;
	rc = m0_attach_finish(att, deadline, why);
	if (rc != 0)
		m0_attach_close(att);
	return rc;
}

void m0_attach_swap(struct m0_attach *att, struct m0_attach *next)
{
	struct m0_attach old;

	m0_mutex_lock(&att->att_lock);
	old = *att;
	att->att_is_device = next->att_is_device;
	att->att_side = next->att_side;
	att->att_side.shs_host_arg = att;
	att->att_area = next->att_area;
	att->att_area_bytes = next->att_area_bytes;
	att->att_bytes_max = next->att_bytes_max;
	att->att_right = next->att_right;
	att->att_creds = next->att_creds;
	att->att_pid = next->att_pid;
	att->att_sock = next->att_sock;
	att->att_server_bell = next->att_server_bell;
	att->att_bell = next->att_bell;
	att->att_copies = next->att_copies;
	m0_mutex_unlock(&att->att_lock);
	/* The one that closes has the old ones, and a lock and a rouse of its own. */
	next->att_area = old.att_area;
	next->att_area_bytes = old.att_area_bytes;
	next->att_sock = old.att_sock;
	next->att_server_bell = old.att_server_bell;
	next->att_bell = old.att_bell;
	m0_attach_close(next);
}

void m0_attach_close(struct m0_attach *att)
{
	m0_attach__close(&att->att_sock);
	m0_attach__close(&att->att_bell);
	m0_attach__close(&att->att_server_bell);
	m0_attach__close(&att->att_rouse);
	m0_os_shm_unmap(att->att_area, att->att_area_bytes);
	att->att_area = NULL;
	m0_mutex_fini(&att->att_lock);
}

/* --------------------------------------------------------------- regions -- */

/* Answers that come late, for a region whose caller has given up, are skipped. */
static int region_answer(const struct m0_attach *att, uint32_t nr,
			 m0_time_t deadline, char why[M0_ATTACH_WHY_BYTES])
{
	struct m0_attach_in          in;
	const struct m0_attach_word *word = &in.aim_u.amg_word;
	int                          rc;

	do {
		rc = answer_get(att, &in, deadline, why);
		if (rc != 0)
			return rc;
		m0_attach__drop(&in);
	} while (word->awd_head.ahd_type == M0_ATTACH_REGION_DONE &&
		 word->awd_nr != nr);
	if (word->awd_head.ahd_type == M0_ATTACH_ENDED) {
		(void)word_take(word, why);
		return -EPIPE;
	}
	if (word->awd_head.ahd_type != M0_ATTACH_REGION_DONE)
		return m0_attach__why(why, -EPROTO,
				      "the daemon answers for region %u by "
				      "type %u",
				      nr, word->awd_head.ahd_type);
	return word->awd_rc == 0 ? 0 : word_take(word, why);
}

int m0_attach_region_give(struct m0_attach *att, uint32_t nr, const void *addr,
			  int fd, uint64_t bytes, m0_time_t deadline,
			  char why[M0_ATTACH_WHY_BYTES])
{
	struct m0_attach_region region;
	int                     rc;

	M0_SET0(&region);
	m0_attach__head(&region.aer_head, M0_ATTACH_REGION, sizeof region);
	region.aer_nr = nr;
	region.aer_bytes = bytes;
	m0_mutex_lock(&att->att_lock);
	if (att->att_is_device || att->att_copies)
		region.aer_home = (uintptr_t)addr;
	if (att->att_copies) {
		region.aer_cookie_at = (uintptr_t)att->att_cookie;
		memcpy(region.aer_cookie, att->att_cookie,
		       sizeof region.aer_cookie);
	}
	rc = msg_send(att, &region.aer_head, &fd, 1);
	rc = M0_IN(rc, (0, -EPIPE, -ECONNRESET))
		     ? region_answer(att, nr, deadline, why)
		     : m0_attach__why(why, rc, "region %u: %s", nr,
				      m0_errname(rc));
	m0_mutex_unlock(&att->att_lock);
	return rc;
}
