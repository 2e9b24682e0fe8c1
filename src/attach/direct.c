/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Connections between processes that are attached to one daemon. The daemon tells a number, by
 * which a process finds the Unix socket of another one. Anybody can find the socket, and take a
 * name, so each side looks at the user of the other one, which is its own.
 *
 * Each side makes memory of a pipe (ring/pipe.h) that it alone can write. The socket carries a
 * byte to a side that sleeps, and its end is that of the connection.
 */
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "attach/attach.h"
#include "attach/direct.h"
#include "m0/log.h"
#include "os/os.h"
#include "os/shm.h"

enum {
	/** "m0nd" on a host with the lowest byte first. */
	MAGIC = 0x646e306d,
	VERSION = 1,
	HELLO = 1,
	WELCOME = 2,
	BACKLOG = 64,
	PAGE_BYTES = 4096,
	WHY_BYTES = 160,
	/** Accepted ones that have not said what they want, and the time for it. */
	GREETING_MAX = 16,
	/** Reads of one look: a neighbour may ring without end. */
	WAKES_MAX = 16
};

#define GREETING_TIME (5 * M0_TIME_ONE_SECOND)
#define MEM_BYTES     m0_align(sizeof(struct m0_pipe_mem), PAGE_BYTES)

M0_BASSERT(sizeof(struct m0_attach_near_hello) == 64);

enum conn_state {
	/** Accepted: HELLO is to come; has come, and the pump does not know it. */
	CONN_GREETING,
	CONN_GREETED,
	/** The pump has it. */
	CONN_USED,
	/** Dialled: WELCOME is to come. */
	CONN_DIALS
};

struct m0_attach_conn {
	struct m0_pump_conn       acn_conn;
	enum conn_state           acn_state;
	int                       acn_fd;
	struct m0_pipe_mem       *acn_own;
	const struct m0_pipe_mem *acn_other;
	struct m0_pump_hello      acn_hello;
	m0_time_t                 acn_until;
};

static struct m0_attach_conn *conn_of(struct m0_pump_conn *conn)
{
	return container_of(conn, struct m0_attach_conn, acn_conn);
}

/* ------------------------------------------------------------------ life -- */

void m0_attach_near_init(struct m0_attach_near *near)
{
	M0_SET0(near);
	m0_mutex_init(&near->atn_lock);
	near->atn_listen = -1;
	near->atn_epoll = -1;
}

static void watch(const struct m0_attach_near *near, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP };

	/* Without it the next look comes later. */
	if (near->atn_epoll >= 0)
		(void)epoll_ctl(near->atn_epoll, EPOLL_CTL_ADD, fd, &ev);
}

/* NULL: there are too many, or no memory. The descriptor is the connection's. */
static struct m0_attach_conn *conn_make(struct m0_attach_near *near, int fd,
					enum conn_state state)
{
	struct m0_attach_conn *conn = NULL;
	unsigned               i = 0;

	while (i < M0_ATTACH_CONNS_MAX && near->atn_conns[i] != NULL)
		++i;
	if (i < M0_ATTACH_CONNS_MAX)
		M0_ALLOC_PTR(conn);
	if (conn == NULL) {
		(void)close(fd);
		return NULL;
	}
	conn->acn_fd = fd;
	conn->acn_state = state;
	conn->acn_until = m0_time_add(m0_time_now(), GREETING_TIME);
	near->atn_conns[i] = conn;
	near->atn_nr = max_check(near->atn_nr, i + 1);
	watch(near, fd);
	return conn;
}

static void conn_free(struct m0_attach_near *near, struct m0_attach_conn *conn)
{
	unsigned i = 0;

	while (near->atn_conns[i] != conn)
		++i;
	near->atn_conns[i] = NULL;
	(void)close(conn->acn_fd);
	m0_os_shm_unmap(conn->acn_own, MEM_BYTES);
	m0_os_shm_unmap((void *)(uintptr_t)conn->acn_other, MEM_BYTES);
	m0_free(conn);
}

void m0_attach_near_fini(struct m0_attach_near *near)
{
	unsigned i;

	for (i = 0; i < near->atn_nr; ++i)
		if (near->atn_conns[i] != NULL)
			conn_free(near, near->atn_conns[i]);
	m0_attach__close(&near->atn_listen);
	m0_mutex_fini(&near->atn_lock);
}

/* atn_lock is held. */
static unsigned fds_fill(const struct m0_attach_near *near,
			 struct pollfd fds[M0_ATTACH_NEAR_FDS_MAX])
{
	unsigned nr = 0;
	unsigned i;

	if (near->atn_listen >= 0 && !near->atn_is_full)
		fds[nr++] = (struct pollfd){ near->atn_listen, POLLIN, 0 };
	for (i = 0; i < near->atn_nr; ++i)
		if (near->atn_conns[i] != NULL &&
		    !near->atn_conns[i]->acn_conn.pnc_is_dead)
			fds[nr++] = (struct pollfd){ near->atn_conns[i]->acn_fd,
						     POLLIN | POLLRDHUP, 0 };
	return nr;
}

unsigned m0_attach_near_fds(struct m0_attach_near *near,
			    struct pollfd          fds[M0_ATTACH_NEAR_FDS_MAX])
{
	unsigned nr;

	m0_mutex_lock(&near->atn_lock);
	nr = fds_fill(near, fds);
	m0_mutex_unlock(&near->atn_lock);
	return nr;
}

void m0_attach_near_epoll_set(struct m0_attach_near *near, int epoll)
{
	struct pollfd fds[M0_ATTACH_NEAR_FDS_MAX];
	unsigned      nr;
	unsigned      i;

	/* Descriptors that come from here on are watched when they are made. */
	m0_mutex_lock(&near->atn_lock);
	near->atn_epoll = epoll;
	nr = fds_fill(near, fds);
	for (i = 0; i < nr; ++i)
		watch(near, fds[i].fd);
	m0_mutex_unlock(&near->atn_lock);
}

/* ------------------------------------------------------------------ names -- */

static int unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static socklen_t name_make(struct sockaddr_un *sa, uint64_t name)
{
	int nr;

	M0_SET0(sa);
	sa->sun_family = AF_UNIX;
	nr = snprintf(sa->sun_path + 1, sizeof sa->sun_path - 1,
		      "colibri/near/%016llx", (unsigned long long)name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)nr);
}

static bool is_ours(int fd)
{
	struct ucred cred;
	socklen_t    len = sizeof cred;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	       cred.uid == geteuid();
}

uint64_t m0_attach_near_name(struct m0_attach_near *near)
{
	struct sockaddr_un sa;
	uint64_t           name = 0;
	socklen_t          len;
	int                fd;

	if (near->atn_listen >= 0)
		return near->atn_name;
	m0_os_random(&name, sizeof name);
	len = name_make(&sa, name);
	fd = unix_socket();
	if (fd < 0 || name == 0 || bind(fd, (struct sockaddr *)&sa, len) != 0 ||
	    listen(fd, BACKLOG) != 0) {
		m0_log(M0_LOG_NOTICE,
		       "messages of processes of this node pass through its "
		       "daemon: no Unix socket can be made (%s)",
		       m0_errname(errno));
		m0_attach__close(&fd);
		return 0;
	}
	m0_mutex_lock(&near->atn_lock);
	near->atn_listen = fd;
	near->atn_name = name;
	watch(near, fd);
	m0_mutex_unlock(&near->atn_lock);
	return name;
}

/* --------------------------------------------------------------- greeting -- */

/* Makes the memory of this side, and sends it. @return 0 or a negative errno */
static int hello_send(struct m0_attach_conn *conn, uint16_t type)
{
	struct m0_attach_near_hello hello;
	void                       *own;
	int64_t                     nr;
	int                         mem;

	mem = m0_os_shm_make("colibri-near", MEM_BYTES, M0_OS_SHM_OWN, &own);
	if (mem < 0)
		return mem;
	/* A child would be a second writer. */
	(void)madvise(own, MEM_BYTES, MADV_DONTFORK);
	conn->acn_own = own;
	M0_SET0(&hello);
	hello.nhe_magic = MAGIC;
	hello.nhe_version = VERSION;
	hello.nhe_type = type;
	hello.nhe_mem_bytes = MEM_BYTES;
	if (type == HELLO) {
		hello.nhe_bits = conn->acn_hello.phl_bits;
		hello.nhe_portal = conn->acn_hello.phl_portal;
	}
	nr = m0_os_fds_send(conn->acn_fd, &hello, sizeof hello, &mem, 1,
			    MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)close(mem);
	return nr == sizeof hello ? 0 : nr < 0 ? (int)nr : -EPROTO;
}

/* NULL, or what is wrong. */
static const char *hello_flaw(const struct m0_attach_near_hello *hello,
			      int64_t nr, const struct m0_os_fds *fds,
			      uint16_t type)
{
	static const uint8_t none[sizeof hello->nhe_reserved];

	if (nr != sizeof *hello || hello->nhe_magic != MAGIC)
		return "no message of this protocol";
	if (hello->nhe_version != VERSION || hello->nhe_type != type)
		return "another version or type";
	if (fds->ofs_nr != 1 || fds->ofs_is_cut)
		return "no memory";
	if (hello->nhe_mem_bytes != MEM_BYTES ||
	    memcmp(hello->nhe_reserved, none, sizeof none) != 0)
		return "fields that are not accepted";
	return NULL;
}

/* Takes the first message of the other side. @retval -EAGAIN  it has not come. */
static int hello_recv(struct m0_attach_conn *conn, uint16_t type)
{
	struct m0_attach_near_hello hello;
	struct m0_os_fds            fds;
	char                        why[WHY_BYTES] = "";
	const char                 *flaw;
	void                       *other;
	int64_t                     nr;
	int                         rc = -EPROTO;

	nr = m0_os_fds_recv(conn->acn_fd, &hello, sizeof hello, &fds,
			    MSG_DONTWAIT);
	if (nr <= 0)
		return nr == 0 ? -ECONNRESET : (int)nr;
	flaw = hello_flaw(&hello, nr, &fds, type);
	if (flaw == NULL)
		rc = m0_os_shm_map(fds.ofs_fds[0], MEM_BYTES, false, &other,
				   why, sizeof why);
	m0_os_fds_drop(&fds);
	if (rc != 0) {
		m0_log(M0_LOG_WARN,
		       "a process of this host offers a pipe that is not "
		       "accepted: %s",
		       flaw != NULL ? flaw : why);
		return rc;
	}
	conn->acn_other = other;
	conn->acn_hello.phl_bits = hello.nhe_bits;
	conn->acn_hello.phl_portal = hello.nhe_portal;
	return 0;
}

static void conn_open(struct m0_attach_conn *conn)
{
	m0_pipe_init(&conn->acn_conn.pnc_pipe, conn->acn_own, conn->acn_other);
	conn->acn_conn.pnc_is_open = true;
	conn->acn_state = CONN_USED;
}

struct m0_pump_conn *m0_attach_near_dial(struct m0_attach_near      *near,
					 uint64_t                    name,
					 const struct m0_pump_hello *hello)
{
	struct m0_attach_conn *conn;
	struct sockaddr_un     sa;
	socklen_t              len = name_make(&sa, name);
	int                    fd = unix_socket();

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, len) != 0 ||
	    !is_ours(fd)) {
		m0_attach__close(&fd);
		return NULL;
	}
	m0_mutex_lock(&near->atn_lock);
	conn = conn_make(near, fd, CONN_DIALS);
	if (conn != NULL) {
		conn->acn_hello = *hello;
		if (hello_send(conn, HELLO) != 0) {
			conn_free(near, conn);
			conn = NULL;
		}
	}
	m0_mutex_unlock(&near->atn_lock);
	return conn == NULL ? NULL : &conn->acn_conn;
}

struct m0_pump_conn *m0_attach_near_accept(struct m0_attach_near *near,
					   struct m0_pump_hello  *ret)
{
	unsigned i;

	for (i = 0; i < near->atn_nr; ++i) {
		struct m0_attach_conn *conn = near->atn_conns[i];

		if (conn == NULL || conn->acn_state != CONN_GREETED)
			continue;
		conn->acn_state = CONN_USED;
		*ret = conn->acn_hello;
		return &conn->acn_conn;
	}
	return NULL;
}

int m0_attach_near_welcome(struct m0_attach_near *near,
			   struct m0_pump_conn   *conn)
{
	struct m0_attach_conn *acn = conn_of(conn);
	int                    rc = hello_send(acn, WELCOME);

	(void)near;
	M0_PRE(acn->acn_state == CONN_USED && !conn->pnc_is_open);
	if (rc == 0)
		conn_open(acn);
	return rc;
}

/* ------------------------------------------------------------------- look -- */

/* A listener with connections that nobody accepts would keep the process awake. */
static void full_set(struct m0_attach_near *near, bool is_full)
{
	if (near->atn_is_full == is_full)
		return;
	near->atn_is_full = is_full;
	if (!is_full)
		watch(near, near->atn_listen);
	else if (near->atn_epoll >= 0)
		(void)epoll_ctl(near->atn_epoll, EPOLL_CTL_DEL,
				near->atn_listen, NULL);
}

static void accept_some(struct m0_attach_near *near)
{
	unsigned nr = 0;
	unsigned i;

	for (i = 0; i < near->atn_nr; ++i)
		nr += near->atn_conns[i] != NULL &&
		      near->atn_conns[i]->acn_state == CONN_GREETING;
	for (; nr < GREETING_MAX; ++nr) {
		int fd = accept4(near->atn_listen, NULL, NULL,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			full_set(near, errno != EAGAIN && errno != EINTR &&
					       errno != ECONNABORTED);
			return;
		}
		if (is_ours(fd))
			(void)conn_make(near, fd, CONN_GREETING);
		else
			(void)close(fd);
	}
	full_set(near, true);
}

/* Reads wake-ups; anything else has no meaning. @return true: it has ended */
static bool wakes_take(struct m0_attach_conn *conn)
{
	char     bytes[64];
	unsigned i = 0;
	int64_t  got;

	do {
		got = recv(conn->acn_fd, bytes, sizeof bytes, MSG_DONTWAIT);
	} while (got == (int64_t)sizeof bytes && ++i < WAKES_MAX);
	return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

static void conn_look(struct m0_attach_near *near, struct m0_attach_conn *conn,
		      m0_time_t now)
{
	int rc;

	switch (conn->acn_state) {
	case CONN_GREETING:
		rc = hello_recv(conn, HELLO);
		if (rc == 0)
			conn->acn_state = CONN_GREETED;
		else if (rc != -EAGAIN || now >= conn->acn_until)
			conn_free(near, conn);
		break;
	case CONN_DIALS:
		rc = hello_recv(conn, WELCOME);
		if (rc == 0)
			conn_open(conn);
		else if (rc != -EAGAIN)
			conn->acn_conn.pnc_is_dead = true;
		break;
	default:
		conn->acn_conn.pnc_is_dead |= wakes_take(conn);
	}
}

bool m0_attach_near_look(struct m0_attach_near *near)
{
	m0_time_t now = m0_time_now();
	unsigned  i;
	bool      is_full;

	m0_mutex_lock(&near->atn_lock);
	if (near->atn_listen >= 0)
		accept_some(near);
	for (i = 0; i < near->atn_nr; ++i)
		if (near->atn_conns[i] != NULL &&
		    !near->atn_conns[i]->acn_conn.pnc_is_dead)
			conn_look(near, near->atn_conns[i], now);
	is_full = near->atn_is_full;
	m0_mutex_unlock(&near->atn_lock);
	return is_full;
}

void m0_attach_near_ring(struct m0_attach_near *near, struct m0_pump_conn *conn)
{
	(void)near;
	/* Full: it is readable, that is, woken. */
	(void)send(conn_of(conn)->acn_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void m0_attach_near_close(struct m0_attach_near *near,
			  struct m0_pump_conn *conn, bool reset)
{
	if (conn->pnc_is_open)
		m0_pipe_end(&conn->pnc_pipe,
			    reset ? M0_PIPE_RESET : M0_PIPE_CLOSED);
	m0_mutex_lock(&near->atn_lock);
	conn_free(near, conn_of(conn));
	m0_mutex_unlock(&near->atn_lock);
}
