/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * How a stream with a pipe is made. A node that listens at an address also has a Unix
 * socket with an abstract name, which contains the user, the address and the port. Such a
 * name is of one network namespace, as the address is, and vanishes with its socket. With
 * a directory the name is that of a file there. A node that dials an address looks for
 * that name first. After any failure before the pipe is there, it dials over TCP.
 *
 * Anybody can take a name, so each side looks at the user of the other one: its own, or
 * root.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lnd/tcp/near_internal.h"
#include "os/shm.h"

enum {
	/** "m0nh" on a host with the lowest byte first. */
	MAGIC = 0x686e306d,
	HELLO = 1,
	WELCOME = 2,
	BACKLOG = 256,
	PAGE_BYTES = 4096,
	WHY_BYTES = 160,
	/** The source port of both sides: a peer with accept=secure accepts it, since
	 * the user is its own, or root. */
	PORT_PRIVILEGED = 1023
};

#define MEM_BYTES m0_align(sizeof(struct m0_pipe_mem), PAGE_BYTES)

/** The first message each way, with the sender's memory. */
struct near_hello {
	uint32_t nhl_magic;
	uint16_t nhl_version;
	uint16_t nhl_type;
	/** Where the sender has its cookie, and the cookie: a receiver that finds it
	 * there can copy from the sender's memory. */
	uint64_t nhl_cookie_at;
	uint64_t nhl_cookie[2];
	uint64_t nhl_mem_bytes;
	/** The sender's address. */
	uint8_t nhl_addr_bytes;
	uint8_t nhl_addr[16];
	uint8_t nhl_reserved[7];
	uint8_t nhl_more[32];
};

M0_BASSERT(sizeof(struct near_hello) == 96);

/* In a directory, or an abstract name. */
static socklen_t name_make(struct sockaddr_un          *sa,
			   const struct m0_streams_cfg *cfg, uid_t uid,
			   const struct m0_host_addr *addr)
{
	char text[M0_TCP_TEXT_BYTES];
	int  nr;

	M0_SET0(sa);
	sa->sun_family = AF_UNIX;
	if (cfg->sic_same_host_dir[0] != '\0') {
		nr = snprintf(sa->sun_path, sizeof sa->sun_path, "%s/%u-%s-%u",
			      cfg->sic_same_host_dir, (unsigned)uid,
			      m0_tcp__addr_text(addr, text), addr->sa_port);
		M0_ASSERT((size_t)nr < sizeof sa->sun_path);
		return sizeof *sa;
	}
	nr = snprintf(sa->sun_path + 1, sizeof sa->sun_path - 1,
		      "colibri/%u/%s/%u", (unsigned)uid,
		      m0_tcp__addr_text(addr, text), addr->sa_port);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)nr);
}

/* -1: no socket can be had. */
static int unix_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Is it of this user, or root's? Sets its process as this one sees it. */
static bool peer_is_ours(int fd, pid_t *ret_pid)
{
	struct ucred cred;
	socklen_t    len = sizeof cred;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
		return false;
	*ret_pid = cred.pid;
	return cred.uid == geteuid() || cred.uid == 0;
}

/* -- what a stream has ----------------------------------------------------- */

static void near_delete(struct m0_near *near)
{
	m0_os_shm_unmap(near->nea_own, MEM_BYTES);
	m0_os_shm_unmap((void *)(uintptr_t)near->nea_other, MEM_BYTES);
	m0_free(near);
}

static struct m0_near *near_make(void)
{
	struct m0_near *near;

	M0_ALLOC_PTR(near);
	if (near == NULL)
		return NULL;
	m0_list_link_init(&near->nea_link);
	near->nea_word_fd = -1;
	m0_os_random(near->nea_cookie, sizeof near->nea_cookie);
	return near;
}

/* Makes the memory of this side. @return a descriptor for the peer, or <0. */
static int mem_make(struct m0_near *near)
{
	void *own;
	int fd = m0_os_shm_make("colibri-pipe", MEM_BYTES, M0_OS_SHM_OWN, &own);

	if (fd < 0)
		return fd;
	/* A child would be a second writer. */
	(void)madvise(own, MEM_BYTES, MADV_DONTFORK);
	near->nea_own = own;
	return fd;
}

/* Both memories are there. */
static void pipe_begin(struct m0_near *near)
{
	m0_pipe_init(&near->nea_pipe, near->nea_own, near->nea_other);
	m0_pipe_copies_set(&near->nea_pipe, near->nea_can_copy);
}

static int hello_send(int sock, const struct m0_near *near, uint16_t type,
		      const struct m0_host_addr *addr, int mem)
{
	struct near_hello hello;
	ssize_t           rc;

	M0_SET0(&hello);
	hello.nhl_magic = MAGIC;
	hello.nhl_version = M0_PIPE_VERSION;
	hello.nhl_type = type;
	hello.nhl_cookie_at = (uintptr_t)near->nea_cookie;
	memcpy(hello.nhl_cookie, near->nea_cookie, sizeof hello.nhl_cookie);
	hello.nhl_mem_bytes = MEM_BYTES;
	hello.nhl_addr_bytes = addr->sa_bytes_nr;
	memcpy(hello.nhl_addr, addr->sa_bytes, addr->sa_bytes_nr);
	rc = m0_os_fds_send(sock, &hello, sizeof hello, &mem, 1, MSG_DONTWAIT);
	return rc == sizeof hello ? 0 : rc < 0 ? (int)rc : -EPROTO;
}

/* NULL, or what is wrong. */
static const char *hello_flaw(const struct near_hello *hello, ssize_t nr,
			      const struct m0_os_fds *fds, uint16_t type)
{
	static const uint8_t none[sizeof hello->nhl_more];

	if (nr != sizeof *hello || hello->nhl_magic != MAGIC)
		return "no message of this protocol";
	if (hello->nhl_version != M0_PIPE_VERSION)
		return "another version of the protocol";
	if (hello->nhl_type != type || fds->ofs_nr != 1 || fds->ofs_is_cut)
		return "another message than is due";
	if (hello->nhl_mem_bytes != MEM_BYTES)
		return "memory of another size";
	if ((hello->nhl_addr_bytes != 4 && hello->nhl_addr_bytes != 16) ||
	    memcmp(hello->nhl_reserved, none, sizeof hello->nhl_reserved) !=
		    0 ||
	    memcmp(hello->nhl_more, none, sizeof hello->nhl_more) != 0)
		return "fields that are not accepted";
	return NULL;
}

/* Can this process copy from the peer's address space? */
static bool cookie_is_there(pid_t pid, const struct near_hello *hello)
{
	uint64_t     seen[2] = { 0, 0 };
	struct iovec to = { seen, sizeof seen };
	struct iovec from = { (void *)(uintptr_t)hello->nhl_cookie_at,
			      sizeof seen };

	return pid > 0 &&
	       process_vm_readv(pid, &to, 1, &from, 1, 0) == sizeof seen &&
	       memcmp(seen, hello->nhl_cookie, sizeof seen) == 0;
}

/*
 * Takes the first message of the peer: its memory.
 * @retval -EAGAIN  it has not come.
 */
static int hello_recv(struct m0_tcp_stream *stream, uint16_t type,
		      struct m0_host_addr *ret_addr)
{
	struct m0_near   *near = stream->tcs_near;
	struct near_hello hello;
	struct m0_os_fds  fds;
	char              why[WHY_BYTES] = "";
	const char       *flaw;
	void             *other;
	ssize_t           nr;
	int               rc = -EPROTO;

	nr = m0_os_fds_recv(stream->tcs_fd.lof_fd, &hello, sizeof hello, &fds,
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
		       "tcp: a node of this host offers a pipe that is not "
		       "accepted: %s",
		       flaw != NULL ? flaw : why);
		return rc;
	}
	near->nea_other = other;
	near->nea_can_copy = cookie_is_there(near->nea_pid, &hello);
	M0_SET0(ret_addr);
	ret_addr->sa_bytes_nr = hello.nhl_addr_bytes;
	memcpy(ret_addr->sa_bytes, hello.nhl_addr, hello.nhl_addr_bytes);
	return 0;
}

/* The pipe is there. */
static void near_open(struct m0_tcp_stream *stream)
{
	struct m0_tcp_io *io = stream->tcs_io;

	stream->tcs_dials = false;
	stream->tcs_stream.stm_is_near = true;
	m0_list_move_tail(&io->tci_nears, &stream->tcs_near->nea_link);
	++io->tci_nears_nr;
}

void m0_tcp__near_free(struct m0_tcp_stream *stream, bool reset)
{
	struct m0_tcp_io *io = stream->tcs_io;
	struct m0_near   *near = stream->tcs_near;

	if (near == NULL)
		return;
	m0_list_del(&near->nea_link);
	if (stream->tcs_stream.stm_is_near) {
		--io->tci_nears_nr;
		m0_pipe_end(&near->nea_pipe,
			    reset ? M0_PIPE_RESET : M0_PIPE_CLOSED);
	} else if (near->nea_listener != NULL) {
		--io->tci_greeting_nr;
	}
	stream->tcs_near = NULL;
	m0_tcp__near_regions_free(io, near);
	near_delete(near);
}

/* -- dial ------------------------------------------------------------------ */

/* @return a socket that is connected to a node with the address; -1: there is none. */
static int near_connect(const struct m0_streams_cfg *cfg,
			const struct m0_host_addr *to, pid_t *ret_pid)
{
	uid_t              uids[2] = { geteuid(), 0 };
	struct sockaddr_un sa;
	unsigned           i;
	socklen_t          len;
	int                fd = unix_socket();

	for (i = 0; fd >= 0 && i < ARRAY_SIZE(uids); ++i) {
		len = name_make(&sa, cfg, uids[i], to);
		if (connect(fd, (struct sockaddr *)&sa, len) != 0)
			continue;
		if (peer_is_ours(fd, ret_pid))
			return fd;
		break;
	}
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

static struct m0_tcp_stream *near_begin(struct m0_tcp_io *io, int fd,
					const struct m0_host_addr *from)
{
	struct m0_tcp_stream *stream = NULL;
	struct m0_near       *near = near_make();
	int                   mem;

	if (near == NULL)
		return NULL;
	mem = mem_make(near);
	if (mem >= 0) {
		if (hello_send(fd, near, HELLO, from, mem) == 0)
			stream = m0_tcp__stream_new(io, fd, true);
		(void)close(mem);
	}
	if (stream == NULL) {
		near_delete(near);
		return NULL;
	}
	near->nea_stream = stream;
	stream->tcs_near = near;
	return stream;
}

struct m0_tcp_stream *m0_tcp__near_dial(struct m0_tcp_io          *io,
					const struct m0_host_addr *from,
					uint16_t port_min, uint16_t port_max,
					const struct m0_host_addr *to)
{
	struct m0_tcp_stream *stream;
	pid_t                 pid;
	int                   fd = near_connect(&io->tci_cfg, to, &pid);

	if (fd < 0)
		return NULL;
	stream = near_begin(io, fd, from);
	if (stream == NULL) {
		(void)close(fd);
		return NULL;
	}
	stream->tcs_local = *from;
	stream->tcs_local.sa_port = PORT_PRIVILEGED;
	stream->tcs_near->nea_pid = pid;
	stream->tcs_near->nea_to = *to;
	stream->tcs_near->nea_port_min = port_min;
	stream->tcs_near->nea_port_max = port_max;
	return stream;
}

int m0_tcp__stream_fd_set(struct m0_tcp_stream *stream, int fd)
{
	struct m0_loop *loop = m0_tcp__loop(stream->tcs_io);
	int             old = stream->tcs_fd.lof_fd;
	int             rc;

	m0_loop_del(loop, &stream->tcs_fd);
	stream->tcs_fd.lof_fd = fd;
	rc = m0_loop_add(loop, &stream->tcs_fd);
	if (rc == 0)
		(void)close(old);
	else
		stream->tcs_fd.lof_fd = old;
	return rc;
}

static void dial_instead(struct m0_tcp_stream *stream)
{
	struct m0_near *near = stream->tcs_near;
	int             rc = m0_tcp__dial_instead(stream, near);

	if (rc == 0) {
		stream->tcs_near = NULL;
		near_delete(near);
	} else {
		m0_tcp__stream_broken(stream, rc);
	}
}

static bool welcomed(struct m0_tcp_stream *stream)
{
	struct m0_tcp_io   *io = stream->tcs_io;
	struct m0_host_addr addr;
	bool                is_there;
	int                 rc = hello_recv(stream, WELCOME, &addr);

	if (rc == -EAGAIN)
		return false;
	if (rc != 0) {
		dial_instead(stream);
		return false;
	}
	pipe_begin(stream->tcs_near);
	near_open(stream);
	io->tci_current = stream;
	io->tci_streams.sts_up->stu_dialled(stream->tcs_stream.stm_user,
					    &stream->tcs_local);
	is_there = io->tci_current == stream;
	io->tci_current = NULL;
	if (is_there)
		m0_tcp__stream_out_add(stream);
	return is_there;
}

/* -- accept ---------------------------------------------------------------- */

static void accepted(struct m0_tcp_stream      *stream,
		     const struct m0_host_addr *remote)
{
	struct m0_tcp_io       *io = stream->tcs_io;
	struct m0_tcp_listener *tcp = stream->tcs_near->nea_listener;
	void                   *user;

	io->tci_current = stream;
	user = io->tci_streams.sts_up->stu_accepted(io->tci_streams.sts_owner,
						    tcp->tcl_listener,
						    &stream->tcs_local, remote,
						    &stream->tcs_stream);
	if (io->tci_current == stream && user == NULL)
		m0_tcp__stream_free(stream, false);
	else if (io->tci_current == stream)
		stream->tcs_stream.stm_user = user;
}

static int welcome_send(struct m0_tcp_stream *stream)
{
	int mem = mem_make(stream->tcs_near);
	int rc;

	if (mem < 0)
		return mem;
	pipe_begin(stream->tcs_near);
	rc = hello_send(stream->tcs_fd.lof_fd, stream->tcs_near, WELCOME,
			&stream->tcs_local, mem);
	(void)close(mem);
	return rc;
}

static bool greeted(struct m0_tcp_stream *stream)
{
	struct m0_tcp_io   *io = stream->tcs_io;
	struct m0_host_addr remote;
	bool                is_there;
	int                 rc = hello_recv(stream, HELLO, &remote);

	if (rc == -EAGAIN)
		return false;
	if (rc == 0)
		rc = welcome_send(stream);
	if (rc != 0) {
		m0_tcp__stream_free(stream, false);
		return false;
	}
	--io->tci_greeting_nr;
	near_open(stream);
	stream->tcs_near->nea_to = remote;
	remote.sa_port = PORT_PRIVILEGED;
	accepted(stream, &remote);
	is_there = io->tci_current == stream;
	io->tci_current = NULL;
	return is_there;
}

bool m0_tcp__near_greeted(struct m0_tcp_stream *stream)
{
	return stream->tcs_near->nea_listener == NULL ? welcomed(stream)
						      : greeted(stream);
}

/* The socket is closed if there is no use for it: the peer dials over TCP. */
static void caller_take(struct m0_tcp_listener *tcp, int fd)
{
	struct m0_tcp_io     *io = tcp->tcl_io;
	struct m0_tcp_stream *stream = NULL;
	struct m0_near       *near = NULL;
	pid_t                 pid;

	if (peer_is_ours(fd, &pid) &&
	    io->tci_greeting_nr < M0_NEAR_GREETING_MAX)
		near = near_make();
	if (near != NULL)
		stream = m0_tcp__stream_new(io, fd, true);
	if (stream == NULL) {
		m0_free(near);
		(void)close(fd);
		return;
	}
	near->nea_pid = pid;
	near->nea_listener = tcp;
	near->nea_stream = stream;
	stream->tcs_near = near;
	stream->tcs_local = tcp->tcl_listener->slr_addr;
	near->nea_deadline =
		io->tci_cfg.sic_accept_timeout_ns == 0
			? M0_TIME_NEVER
			: m0_time_add(io->tci_now,
				      io->tci_cfg.sic_accept_timeout_ns);
	m0_list_add_tail(&io->tci_greeting, &near->nea_link);
	++io->tci_greeting_nr;
}

m0_time_t m0_tcp__nears_deadline(const struct m0_tcp_io *io)
{
	struct m0_list_link *link = m0_list_first(&io->tci_greeting);

	return link == NULL ? M0_TIME_NEVER
			    : m0_list_entry(link, struct m0_near, nea_link)
				      ->nea_deadline;
}

void m0_tcp__nears_expire(struct m0_tcp_io *io)
{
	while (m0_tcp__nears_deadline(io) <= io->tci_now)
		m0_tcp__stream_free(
			m0_list_entry(m0_list_first(&io->tci_greeting),
				      struct m0_near, nea_link)
				->nea_stream,
			false);
}

static void near_accept(struct m0_tcp_listener *tcp)
{
	int fd = accept4(tcp->tcl_fd.lof_fd, NULL, NULL,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		caller_take(tcp, fd);
	else if (M0_IN(errno, (EMFILE, ENFILE, ENOBUFS, ENOMEM)))
		m0_tcp__accept_pause(tcp->tcl_io, errno);
	else if (errno == EAGAIN)
		m0_list_del(&tcp->tcl_callers);
}

/* A file of a process that has ended. */
static bool name_is_left_over(const struct sockaddr_un *sa, socklen_t len)
{
	int  fd = unix_socket();
	bool is_left = fd >= 0 &&
		       connect(fd, (const struct sockaddr *)sa, len) != 0 &&
		       errno == ECONNREFUSED;

	if (fd >= 0)
		(void)close(fd);
	return is_left;
}

/* The mode of the directory, not that of the file, decides which users may connect. */
static int name_take(int fd, const struct sockaddr_un *sa, socklen_t len)
{
	int rc = bind(fd, (const struct sockaddr *)sa, len) == 0 ? 0 : -errno;

	if (sa->sun_path[0] == '\0')
		return rc;
	if (rc == -EADDRINUSE && name_is_left_over(sa, len)) {
		(void)unlink(sa->sun_path);
		rc = bind(fd, (const struct sockaddr *)sa, len) == 0 ? 0
								     : -errno;
	}
	if (rc == 0)
		(void)chmod(sa->sun_path, 0666);
	return rc;
}

static int near_bind(const struct m0_streams_cfg *cfg,
		     const struct m0_host_addr   *addr)
{
	struct sockaddr_un sa;
	socklen_t          len = name_make(&sa, cfg, geteuid(), addr);
	int                fd = unix_socket();
	int                rc;

	if (fd < 0)
		return -errno;
	rc = name_take(fd, &sa, len);
	if (rc == 0 && listen(fd, BACKLOG) != 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	(void)close(fd);
	return rc;
}

static int near_listen(struct m0_tcp_listener *near)
{
	int fd = near_bind(&near->tcl_io->tci_cfg,
			   &near->tcl_listener->slr_addr);
	int rc;

	if (fd < 0)
		return fd;
	near->tcl_fd.lof_fd = fd;
	rc = m0_loop_add(m0_tcp__loop(near->tcl_io), &near->tcl_fd);
	if (rc != 0)
		(void)close(fd);
	return rc;
}

void m0_tcp__near_listen(struct m0_tcp_listener *tcp)
{
	struct m0_tcp_listener *near;
	int                     rc = -ENOMEM;

	M0_ALLOC_PTR(near);
	if (near != NULL) {
		near->tcl_io = tcp->tcl_io;
		near->tcl_listener = tcp->tcl_listener;
		near->tcl_fd.lof_handler = m0_tcp__listener_event;
		near->tcl_take = near_accept;
		m0_list_link_init(&near->tcl_all);
		m0_list_link_init(&near->tcl_callers);
		rc = near_listen(near);
	}
	if (rc == 0) {
		tcp->tcl_near = near;
		return;
	}
	m0_log(M0_LOG_NOTICE,
	       "tcp: nodes of this host will use TCP: the Unix socket beside "
	       "the listener cannot be made (%s)%s",
	       m0_errname(rc),
	       rc == -EADDRINUSE ? ": another process has its name" : "");
	m0_free(near);
}

/* Accepted streams that have not introduced themselves end with their listener. */
static void greeting_end(struct m0_tcp_io             *io,
			 const struct m0_tcp_listener *tcp)
{
	struct m0_tcp_stream *stream;
	struct m0_tcp_stream *next;

	m0_list_for_each_entry_safe(&io->tci_all, stream, next,
				    struct m0_tcp_stream, tcs_all) {
		struct m0_near *near = stream->tcs_near;

		if (near == NULL || near->nea_listener != tcp)
			continue;
		if (stream->tcs_dials)
			m0_tcp__stream_free(stream, false);
		else
			near->nea_listener = NULL;
	}
}

void m0_tcp__near_unlisten(struct m0_tcp_listener *tcp)
{
	struct m0_tcp_listener *near = tcp->tcl_near;
	struct m0_tcp_io       *io = tcp->tcl_io;

	if (near == NULL)
		return;
	greeting_end(io, near);
	m0_loop_del(m0_tcp__loop(io), &near->tcl_fd);
	if (io->tci_cfg.sic_same_host_dir[0] != '\0') {
		struct sockaddr_un sa;

		(void)name_make(&sa, &io->tci_cfg, geteuid(),
				&near->tcl_listener->slr_addr);
		(void)unlink(sa.sun_path);
	}
	(void)close(near->tcl_fd.lof_fd);
	m0_list_del(&near->tcl_callers);
	m0_free(near);
	tcp->tcl_near = NULL;
}
