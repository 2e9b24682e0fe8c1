/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Cases for the sunrpc transport alone: its one server, a client that is not
 * ours ($SUNRPC_CLIENT), callers that lie, and servers that do.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "m0/sunrpc.h"

#include "cf.h"
#include "sunrpc_rows.h"

enum {
	PROG = 0x204d3001,
	HOST = 0x7f000001,
	MSG = 1,
	GET = 2,
	PUT = 3,
	PATIENCE_MS = 20000
};

static struct m0_net_bulk_sunrpc_stats stats(void)
{
	struct m0_net_bulk_sunrpc_stats st;

	m0_net_bulk_sunrpc_stats_get(&st);
	return st;
}

static unsigned id_of(const struct cf_tm *t)
{
	return (unsigned)atoi(strrchr(t->ct_addr, ':') + 1);
}

static uint64_t wire_id(const struct cf_buf *p)
{
	struct m0_net_kit_desc kd;

	CF_EQ(m0_net_kit_desc_decode(&p->cb_nb.nb_desc, &kd), 0, "decode");
	return kd.nks_id ^ kd.nks_incarnation;
}

/* ------------------------------------------------- a client that is not ours -- */

struct child {
	pid_t ch_pid;
	int   ch_out;
	int   ch_status;
	char  ch_text[128];
	int   ch_nr;
};

static bool child_ended(void *arg)
{
	struct child *child = arg;

	return waitpid(child->ch_pid, &child->ch_status, WNOHANG) ==
	       child->ch_pid;
}

/* Its exit status; what it printed is in ch_text. Up to three arguments. */
static int client_run(struct child *child, const char *word, const char *a,
		      const char *b, const char *c)
{
	const char *path = getenv("SUNRPC_CLIENT");
	int         fds[2];

	CF_TRUE(path != NULL, "SUNRPC_CLIENT is not set");
	CF_EQ(pipe(fds), 0, "pipe");
	child->ch_pid = fork();
	if (child->ch_pid == 0) {
		(void)dup2(fds[1], 1);
		execl(path, path, "77", word, a, b, c, (char *)NULL);
		_exit(201);
	}
	(void)close(fds[1]);
	cf_wait(child_ended, child, "the other client ends");
	memset(child->ch_text, 0, sizeof child->ch_text);
	child->ch_nr =
		(int)read(fds[0], child->ch_text, sizeof child->ch_text - 1);
	(void)close(fds[0]);
	return WIFEXITED(child->ch_status) ? WEXITSTATUS(child->ch_status) : -1;
}

/* The bytes of a buffer's descriptor, as one would read them to somebody. */
static void digits_of(const struct cf_buf *p, char *ret, size_t nr)
{
	const struct m0_net_buf_desc *desc = &p->cb_nb.nb_desc;
	uint32_t                      i;

	CF_TRUE(desc->nbd_len * 2 < nr, "a short descriptor");
	for (i = 0; i < desc->nbd_len; ++i)
		snprintf(ret + (size_t)2 * i, 3, "%02x", desc->nbd_data[i]);
}

/* Sends a message, gets and puts: by m0/sunrpc.x and m0/desc.x alone. */
static void other_client(void)
{
	static const char text[] = "the quick brown fox, and one byte";
	struct cf_tm     *t = cf_up(0);
	struct cf_buf    *r = cf_recv(t, 100);
	struct cf_buf    *s = cf_buf(0, 40);
	struct cf_buf    *p;
	struct child      child;
	char              port[16], id[16], digits[512];

	snprintf(port, sizeof port, "%u", sunrpc_port());
	snprintf(id, sizeof id, "%u", id_of(t));
	CF_EQ(client_run(&child, "msg", port, id, text), 0, "message");
	cf_done_is(r, 0, "it came");
	CF_EQ(r->cb_last.ce_length, sizeof text - 1, "its length");
	CF_EQ(memcmp(r->cb_nb.nb_buffer.ov_buf[0], text, sizeof text - 1), 0,
	      "its bytes");
	CF_EQ(client_run(&child, "msg", port, id, text), ENOBUFS,
	      "no buffer is there");
	memcpy(s->cb_nb.nb_buffer.ov_buf[0], text, sizeof text - 1);
	s->cb_nb.nb_length = sizeof text - 1;
	cf_add_ok(s, t, M0_NET_QT_PASSIVE_BULK_SEND);
	digits_of(s, digits, sizeof digits);
	CF_EQ(client_run(&child, "get", digits, NULL, NULL), 0, "get");
	cf_done_is(s, 0, "it was read");
	CF_EQ(strcmp(child.ch_text, text), 0, "what was read");
	CF_EQ(client_run(&child, "get", digits, NULL, NULL), ENOENT, "once");
	m0_net_desc_free(&s->cb_nb.nb_desc);
	p = cf_passive(t, M0_NET_QT_PASSIVE_BULK_RECV, 50, NULL);
	digits_of(p, digits, sizeof digits);
	CF_EQ(client_run(&child, "put", digits, text, NULL), 0, "put");
	cf_done_is(p, 0, "it was written");
	CF_EQ(p->cb_last.ce_length, sizeof text - 1, "its length");
	CF_EQ(memcmp(p->cb_nb.nb_buffer.ov_buf[0], text, sizeof text - 1), 0,
	      "what was written");
}

/* ---------------------------------------------------------- raw callers -- */

struct raw {
	int      ra_fd;
	uint8_t  ra_bytes[4096];
	uint32_t ra_nr;
};

static void put32(struct raw *raw, uint32_t v)
{
	v = htonl(v);
	memcpy(raw->ra_bytes + raw->ra_nr, &v, 4);
	raw->ra_nr += 4;
}

static void raw_open(struct raw *raw)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)sunrpc_port()),
				    .sin_addr.s_addr = htonl(HOST) };

	raw->ra_nr = 0;
	raw->ra_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CF_TRUE(raw->ra_fd >= 0, "socket");
	CF_EQ(connect(raw->ra_fd, (struct sockaddr *)&addr, sizeof addr), 0,
	      "connect");
}

static void raw_send(struct raw *raw)
{
	(void)!send(raw->ra_fd, raw->ra_bytes, raw->ra_nr, MSG_NOSIGNAL);
	raw->ra_nr = 0;
}

/* The head of a call, with room for the record mark. */
static void call_begin(struct raw *raw, uint32_t rpc, uint32_t prog,
		       uint32_t vers, uint32_t proc, uint32_t flavour)
{
	raw->ra_nr = 4;
	put32(raw, 42);
	put32(raw, 0);
	put32(raw, rpc);
	put32(raw, prog);
	put32(raw, vers);
	put32(raw, proc);
	put32(raw, flavour);
	put32(raw, 0);
	put32(raw, 0);
	put32(raw, 0);
}

static void ep_put(struct raw *raw, uint32_t id)
{
	put32(raw, HOST);
	put32(raw, sunrpc_port());
	put32(raw, id);
}

static void record_end(struct raw *raw)
{
	uint32_t nr = raw->ra_nr;

	raw->ra_nr = 0;
	put32(raw, (nr - 4) | 0x80000000);
	raw->ra_nr = nr;
}

static void bulk_put(struct raw *raw, uint32_t proc, uint64_t id,
		     uint32_t active, uint32_t passive, uint32_t qtype,
		     uint32_t total, uint32_t offset)
{
	call_begin(raw, 2, PROG, 1, proc, 0);
	put32(raw, (uint32_t)(id >> 32));
	put32(raw, (uint32_t)id);
	ep_put(raw, active);
	ep_put(raw, passive);
	put32(raw, qtype);
	put32(raw, total);
	put32(raw, offset);
}

static bool raw_is_readable(void *arg)
{
	const struct raw *raw = arg;
	struct pollfd     p = { .fd = raw->ra_fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* The word `nr` of the answer; -1: the connection was closed. */
static int64_t answer(struct raw *raw, unsigned nr)
{
	uint32_t words[64];
	ssize_t  got;

	cf_wait(raw_is_readable, raw, "an answer, or the end");
	got = recv(raw->ra_fd, words, sizeof words, 0);
	if (got <= 0)
		return -1;
	CF_TRUE((size_t)got >= 4 * (nr + 1), "an answer of %zd bytes", got);
	return ntohl(words[nr]);
}

enum {
	/* Behind the record mark: xid, reply, accepted, verifier, then. */
	W_DENIED = 3,
	W_ACCEPT = 6,
	W_RC = 7
};

static void is_closed(struct raw *raw, const char *why)
{
	raw_send(raw);
	CF_EQ(answer(raw, 0), -1, "%s", why);
	(void)close(raw->ra_fd);
}

static void rc_is(struct raw *raw, int want, const char *why)
{
	record_end(raw);
	raw_send(raw);
	CF_EQ(answer(raw, W_RC), want, "%s", why);
}

static void accept_is(struct raw *raw, int want, const char *why)
{
	record_end(raw);
	raw_send(raw);
	CF_EQ(answer(raw, W_ACCEPT), want, "%s", why);
}

/* Other programs, versions, procedures are refused in RPC's own words. */
static void wrong_calls(void)
{
	struct cf_tm                   *a = cf_up(0);
	struct cf_tm                   *b = cf_up(1);
	struct raw                      raw;
	struct m0_net_bulk_sunrpc_stats before = stats();
	struct m0_net_bulk_sunrpc_stats after;

	raw_open(&raw);
	call_begin(&raw, 2, PROG, 1, 0, 0);
	accept_is(&raw, 0, "procedure 0");
	call_begin(&raw, 2, PROG + 1, 1, 0, 0);
	accept_is(&raw, 1, "program");
	call_begin(&raw, 2, PROG, 2, 0, 0);
	accept_is(&raw, 2, "version");
	call_begin(&raw, 2, PROG, 1, 4, 0);
	accept_is(&raw, 3, "procedure");
	call_begin(&raw, 2, PROG, 1, MSG, 0);
	accept_is(&raw, 4, "arguments that are missing");
	call_begin(&raw, 3, PROG, 1, 0, 0);
	record_end(&raw);
	raw_send(&raw);
	CF_EQ(answer(&raw, W_DENIED), 1, "version of RPC");
	call_begin(&raw, 2, PROG, 1, 0, 6);
	record_end(&raw);
	raw_send(&raw);
	CF_EQ(answer(&raw, W_DENIED), 1, "credentials");
	call_begin(&raw, 2, PROG, 1, 0, 1);
	accept_is(&raw, 0, "and it goes on");
	after = stats();
	CF_EQ(after.nss_calls_served_nr - before.nss_calls_served_nr, 2,
	      "two are counted as served");
	CF_EQ(after.nss_calls_refused_nr - before.nss_calls_refused_nr, 6,
	      "and six as refused");
	(void)close(raw.ra_fd);
	cf_exchange(a, b);
}

/* A record may be cut anywhere, and pieces of it may be empty, the last too. */
static void fragments(void)
{
	struct cf_tm *a = cf_up(0);
	struct cf_tm *b = cf_up(1);
	struct raw    raw;
	struct raw    cut;
	uint32_t      i;

	raw_open(&raw);
	cut = raw;
	call_begin(&raw, 2, PROG, 1, 0, 0);
	cut.ra_nr = 0;
	for (i = 4; i < raw.ra_nr; i += 4) {
		put32(&cut, 0);
		put32(&cut, 4);
		memcpy(cut.ra_bytes + cut.ra_nr, raw.ra_bytes + i, 4);
		cut.ra_nr += 4;
	}
	put32(&cut, 0x80000000);
	raw_send(&cut);
	CF_EQ(answer(&cut, W_ACCEPT), 0, "it is answered");
	(void)close(raw.ra_fd);
	cf_exchange(a, b);
}

/* Records that cannot be end the connection, and nothing else. */
static void wrong_records(void)
{
	struct cf_tm *a = cf_up(0);
	struct cf_tm *b = cf_up(1);
	uint64_t      before = stats().nss_conns_garbled_nr;
	struct raw    raw;
	int           i;

	raw_open(&raw);
	put32(&raw, 0xffffffff);
	is_closed(&raw, "two gigabytes");
	raw_open(&raw);
	put32(&raw, 0x00200000);
	is_closed(&raw, "a fragment above the bound");
	raw_open(&raw);
	call_begin(&raw, 2, PROG, 1, 0, 0);
	raw.ra_bytes[11] = 1;
	record_end(&raw);
	is_closed(&raw, "a reply to nothing");
	raw_open(&raw);
	put32(&raw, 0x80000004);
	put32(&raw, 42);
	is_closed(&raw, "a head that is cut");
	raw_open(&raw);
	call_begin(&raw, 2, PROG, 1, 0, 0);
	memset(raw.ra_bytes + 32, 0xff, 4);
	record_end(&raw);
	is_closed(&raw, "credentials that are too long");
	raw_open(&raw);
	for (i = 0; i < 1000; ++i)
		put32(&raw, 0);
	for (i = 0; i < 5; ++i) {
		raw.ra_nr = 4000;
		raw_send(&raw);
	}
	is_closed(&raw, "fragments without end");
	CF_EQ(stats().nss_conns_garbled_nr - before, 6, "they are counted");
	cf_exchange(a, b);
}

/* Lengths that do not fit what is there. */
static void lying_lengths(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_buf *r = cf_recv(t, 100);
	struct cf_buf *p = cf_passive(t, M0_NET_QT_PASSIVE_BULK_RECV, 50, NULL);
	struct raw     raw;
	uint32_t       nr[] = { 5, 9, 1000, 1048576, 1048577, 0xffffffff };
	unsigned       i;

	raw_open(&raw);
	for (i = 0; i < ARRAY_SIZE(nr); ++i) {
		call_begin(&raw, 2, PROG, 1, MSG, 0);
		ep_put(&raw, 7);
		ep_put(&raw, id_of(t));
		put32(&raw, nr[i]);
		put32(&raw, 0x61626364);
		accept_is(&raw, 4, "a message that says it is longer");
		bulk_put(&raw, PUT, wire_id(p), 7, id_of(t), 2, 50, 0);
		put32(&raw, nr[i]);
		put32(&raw, 0x61626364);
		accept_is(&raw, 4, "a piece that says it is longer");
	}
	call_begin(&raw, 2, PROG, 1, MSG, 0);
	ep_put(&raw, 7);
	ep_put(&raw, id_of(t));
	put32(&raw, 1);
	put32(&raw, 0);
	put32(&raw, 0);
	accept_is(&raw, 4, "a message with more behind it");
	CF_EQ(cf_get(&r->cb_events), 0, "nothing was received");
	CF_EQ(cf_get(&p->cb_events), 0, "nothing was written");
	(void)close(raw.ra_fd);
}

/* Descriptors that are made up, foreign, or used as they should not be. */
static void forged(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_tm  *may = cf_up(1);
	struct cf_buf *p = cf_passive(t, M0_NET_QT_PASSIVE_BULK_SEND, 50, may);
	uint64_t       id = wire_id(p);
	unsigned       to = id_of(t);
	struct raw     raw;

	raw_open(&raw);
	bulk_put(&raw, GET, id, id_of(may) + 100, to, 3, 50, 0);
	rc_is(&raw, EACCES, "for another machine");
	bulk_put(&raw, GET, id ^ 1, id_of(may), to, 3, 50, 0);
	rc_is(&raw, ENOENT, "an identity that never was");
	bulk_put(&raw, GET, id, id_of(may), id_of(may), 3, 50, 0);
	rc_is(&raw, ENOENT, "of another owner");
	bulk_put(&raw, GET, id, id_of(may), to + 1000, 3, 50, 0);
	rc_is(&raw, ENETUNREACH, "of nobody");
	bulk_put(&raw, GET, id, id_of(may), to, 2, 50, 0);
	rc_is(&raw, EINVAL, "a queue that does not fit the call");
	bulk_put(&raw, PUT, id, id_of(may), to, 2, 50, 0);
	put32(&raw, 4);
	put32(&raw, 4);
	rc_is(&raw, EPERM, "the other direction");
	bulk_put(&raw, GET, id, id_of(may), to, 3, 0, 0);
	rc_is(&raw, EINVAL, "no room at all");
	bulk_put(&raw, GET, id, id_of(may), to, 3, 50, 10);
	rc_is(&raw, ENOENT, "not from the start");
	bulk_put(&raw, GET, id, id_of(may), to, 3, 50, 0xffffffff);
	rc_is(&raw, ENOENT, "far behind its end");
	CF_EQ(cf_get(&p->cb_events), 0, "it sees nothing of all that");
	bulk_put(&raw, GET, id, id_of(may), to, 3, 50, 0);
	rc_is(&raw, 0, "and still works");
	cf_done_is(p, 0, "it was read");
	(void)close(raw.ra_fd);
}

static void crumbs_send(struct cf_tm *t, struct raw *crumb)
{
	struct raw raw;
	uint32_t   i;

	call_begin(&raw, 2, PROG, 1, MSG, 0);
	ep_put(&raw, 7);
	ep_put(&raw, id_of(t));
	put32(&raw, 3);
	put32(&raw, 0x61626300);
	for (i = 4; i < raw.ra_nr; ++i) {
		put32(crumb, 1 | (i + 1 == raw.ra_nr ? 0x80000000 : 0));
		crumb->ra_bytes[crumb->ra_nr++] = raw.ra_bytes[i];
		raw_send(crumb);
	}
	CF_EQ(answer(crumb, W_RC), 0, "taken");
}

/*
 * One byte a fragment, one fragment a packet: it is a message all the same, and
 * what it is put together in is there from the last one.
 */
static void crumbs(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_buf *r = cf_recv(t, 100);
	struct raw     crumb;
	uint64_t       before;

	raw_open(&crumb);
	crumbs_send(t, &crumb);
	cf_done_is(r, 0, "it came");
	CF_EQ(memcmp(r->cb_nb.nb_buffer.ov_buf[0], "abc", 3), 0, "its bytes");
	cf_add_ok(r, t, M0_NET_QT_MSG_RECV);
	before = cf_allocs();
	crumbs_send(t, &crumb);
	cf_done_is(r, 0, "it came again");
	CF_EQ(cf_allocs() - before, 0, "allocations");
	(void)close(crumb.ra_fd);
}

/* Connections without end, and half records on them. */
static void flood(void)
{
	enum {
		NR = 400
	};
	struct cf_tm *a = cf_up(0);
	struct cf_tm *b = cf_up(1);
	struct raw    raw = { .ra_nr = 0 };
	int           fds[NR];
	int           i;

	cf_exchange(a, b);
	for (i = 0; i < NR; ++i) {
		raw_open(&raw);
		fds[i] = raw.ra_fd;
		put32(&raw, 0x80000100);
		raw.ra_nr = (uint32_t)i % 5;
		raw_send(&raw);
		if (i % 50 == 0)
			cf_exchange(a, b);
	}
	cf_exchange(b, a);
	CF_TRUE(stats().nss_conns_in_nr <= M0_NET_BULK_SUNRPC_CONNS_MAX,
		"%d connections at most", M0_NET_BULK_SUNRPC_CONNS_MAX);
	CF_TRUE(stats().nss_conns_evicted_nr > 0, "some made place");
	for (i = 0; i < NR; ++i)
		(void)close(fds[i]);
}

/*
 * A caller that dies in the middle of a record and is never heard of again: its
 * connection ends after a time, that of one who has merely nothing to say stays.
 * Once: the thread that looks is the same whatever the mode.
 */
static void half_open(void)
{
	uint64_t   before = stats().nss_conns_stalled_nr;
	struct raw idle, dead;

	if (cf.c_mode != CF_ASYNC)
		return;
	cf_up(0);
	raw_open(&idle);
	call_begin(&idle, 2, PROG, 1, 0, 0);
	accept_is(&idle, 0, "a call");
	raw_open(&dead);
	put32(&dead, 0x80000100);
	put32(&dead, 42);
	is_closed(&dead, "half a record");
	CF_EQ(stats().nss_conns_stalled_nr - before, 1, "it is counted");
	call_begin(&idle, 2, PROG, 1, 0, 0);
	accept_is(&idle, 0, "a call on the other");
	(void)close(idle.ra_fd);
}

/* ------------------------------------------------------- servers that lie -- */

/* A listener that is not ours; its address with machine 1. */
static int server_open(char *ret)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(HOST) };
	socklen_t          len = sizeof addr;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	CF_EQ(bind(fd, (struct sockaddr *)&addr, len), 0, "bind");
	CF_EQ(listen(fd, 8), 0, "listen");
	CF_EQ(getsockname(fd, (struct sockaddr *)&addr, &len), 0, "name");
	snprintf(ret, CF_ADDR_MAX, "127.0.0.1:%u:1", ntohs(addr.sin_port));
	return fd;
}

static bool can_accept(void *arg)
{
	struct raw *raw = arg;
	int         fd = accept(raw->ra_fd, NULL, NULL);

	if (fd < 0)
		return false;
	(void)close(raw->ra_fd);
	raw->ra_fd = fd;
	return true;
}

/* A message to it, and the connection it comes by. */
static struct cf_buf *send_to_liar(struct cf_tm *t, struct raw *raw)
{
	char                     addr[CF_ADDR_MAX];
	struct cf_buf           *b = cf_buf(t->ct_dom, 100);
	struct m0_net_end_point *ep;

	raw->ra_nr = 0;
	raw->ra_fd = server_open(addr);
	CF_EQ(m0_net_end_point_create(&ep, &t->ct_tm, addr), 0, "end point");
	b->cb_nb.nb_ep = ep;
	b->cb_nb.nb_length = 100;
	cf_add_ok(b, t, M0_NET_QT_MSG_SEND);
	CF_EQ(m0_net_end_point_put(ep), 0, "put");
	cf_wait(can_accept, raw, "it connects");
	return b;
}

/* A silent server: the time-out of the domain ends the call. */
static void silent_server(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_buf *b;
	struct raw     raw;

	m0_net_bulk_sunrpc_dom_timeout_set(cf_dom(0), 100);
	b = send_to_liar(t, &raw);
	cf_done_is(b, -ETIMEDOUT, "no answer");
	(void)close(raw.ra_fd);
}

/* A server that keeps bytes moving and never answers. */
static void chatty_server(void)
{
	struct cf_tm  *t = cf_up(0);
	struct cf_buf *b;
	struct raw     raw;

	m0_net_bulk_sunrpc_dom_timeout_set(cf_dom(0), 200);
	b = send_to_liar(t, &raw);
	while (cf_get(&b->cb_done) == 0) {
		put32(&raw, 0x80000018);
		put32(&raw, 1);
		put32(&raw, 1);
		put32(&raw, 0);
		put32(&raw, 0);
		put32(&raw, 0);
		put32(&raw, 0);
		raw_send(&raw);
		cf_run_ms(5);
	}
	cf_done_is(b, -ETIMEDOUT, "no answer");
	(void)close(raw.ra_fd);
}

static void liar(const uint32_t *words, unsigned nr, bool echo, int want)
{
	struct cf_tm  *t = cf_up(0);
	struct raw     raw;
	struct cf_buf *b = send_to_liar(t, &raw);
	uint32_t       xid = 0;
	unsigned       i;

	cf_wait(raw_is_readable, &raw, "the call");
	CF_EQ(recv(raw.ra_fd, raw.ra_bytes, 8, MSG_WAITALL), 8, "its head");
	memcpy(&xid, raw.ra_bytes + 4, 4);
	for (i = 0; i < nr; ++i)
		put32(&raw, i == 1 && echo ? ntohl(xid) : words[i]);
	raw_send(&raw);
	if (nr == 0)
		(void)close(raw.ra_fd);
	cf_done_is(b, want, "what the server did");
	if (nr > 0)
		(void)close(raw.ra_fd);
}

static void lying_servers(void)
{
	static const uint32_t ok[] = { 0x8000001c, 0, 1, 0, 0, 0, 0, 0 };
	static const uint32_t huge[] = { 0xffffffff };
	static const uint32_t call[] = { 0x8000000c, 0, 0, 2 };
	static const uint32_t denied[] = { 0x80000014, 0, 1, 1, 1, 2 };
	static const uint32_t garbage[] = { 0x80000018, 0, 1, 0, 0, 0, 4 };
	static const uint32_t strange[] = {
		0x8000001c, 0, 1, 0, 0, 0, 0, 70000
	};
	static const uint32_t cut[] = { 0x80000018, 0, 1, 0, 0, 0, 0 };

	liar(ok, ARRAY_SIZE(ok), true, 0);
	liar(NULL, 0, false, -ECONNRESET);
	liar(huge, ARRAY_SIZE(huge), false, -EMSGSIZE);
	liar(call, ARRAY_SIZE(call), true, -EPROTO);
	liar(denied, ARRAY_SIZE(denied), true, -EPROTO);
	liar(garbage, ARRAY_SIZE(garbage), true, -EPROTO);
	liar(strange, ARRAY_SIZE(strange), true, -EPROTO);
	liar(cut, ARRAY_SIZE(cut), true, -EPROTO);
}

/* ------------------------------------------------------------ the server -- */

static int start_status(const char *addr)
{
	struct cf_tm *t = cf_tm_new(0);

	snprintf(t->ct_addr, CF_ADDR_MAX, "%s", addr);
	cf_tm_begin_start(t);
	cf_wait_state(t, M0_NET_TM_FAILED);
	return t->ct_failed_status;
}

/* One host and port for all machines of the process. */
static void one_server(void)
{
	struct cf_tm *a = cf_up(0);
	struct cf_tm *b = cf_up(1);
	char          addr[CF_ADDR_MAX];

	snprintf(addr, sizeof addr, "127.0.0.1:%u:9", sunrpc_port() + 1);
	CF_EQ(start_status(addr), -EADDRNOTAVAIL, "another port");
	snprintf(addr, sizeof addr, "127.0.0.2:%u:9", sunrpc_port());
	CF_EQ(start_status(addr), -EADDRNOTAVAIL, "another host");
	CF_EQ(start_status(a->ct_addr), -EADDRINUSE, "the same machine");
	cf_exchange(a, b);
	cf_stop_wait(a, false);
	cf_stop_wait(b, false);
	/* Nobody is left: now it may be elsewhere. */
	b = cf_tm_new(1);
	snprintf(b->ct_addr, CF_ADDR_MAX, "127.0.0.2:%u:9", sunrpc_port());
	cf_tm_begin_start(b);
	cf_wait_state(b, M0_NET_TM_STARTED);
}

/* Numbers are given from above, each once. */
static void ids_are_picked(void)
{
	struct cf_tm *t[3];
	char          want[CF_ADDR_MAX];
	unsigned      i;

	for (i = 0; i < 3; ++i) {
		t[i] = cf_tm_new(i % 2);
		snprintf(t[i]->ct_addr, CF_ADDR_MAX, "127.0.0.1:%u:*",
			 sunrpc_port());
		cf_tm_begin_start(t[i]);
		cf_wait_state(t[i], M0_NET_TM_STARTED);
		snprintf(want, sizeof want, "127.0.0.1:%u:%u", sunrpc_port(),
			 M0_NET_BULK_SUNRPC_ID_MAX - i);
		CF_EQ(strcmp(t[i]->ct_tm.ntm_ep->nep_addr, want), 0, "%s",
		      t[i]->ct_tm.ntm_ep->nep_addr);
	}
}

static bool no_conns(void *arg)
{
	(void)arg;
	return stats().nss_conns_out_nr == 0;
}

/* Machines of a domain share connections, which go when they are idle. */
static void conns_are_shared_and_age(void)
{
	struct cf_tm *a = cf_up(0);
	struct cf_tm *a2 = cf_up(0);
	struct cf_tm *b = cf_up(1);
	uint64_t      before = stats().nss_conns_made_nr;

	cf_exchange(a, b);
	cf_exchange(a2, b);
	cf_exchange(a, a2);
	CF_EQ(stats().nss_conns_made_nr - before, 1, "one for messages");
	m0_net_bulk_sunrpc_dom_idle_set(cf_dom(0), 30);
	cf_exchange(a, b);
	cf_wait(no_conns, NULL, "it is closed");
	cf_exchange(a, b);
	CF_EQ(stats().nss_conns_made_nr - before, 2, "and made again");
}

static const struct cf_case cases[] = {
	{ "a client that is not ours", other_client },
	{ "wrong calls", wrong_calls },
	{ "fragments", fragments },
	{ "wrong records", wrong_records },
	{ "lying lengths", lying_lengths },
	{ "forged descriptors", forged },
	{ "crumbs", crumbs },
	{ "flood of connections", flood },
	{ "half-open caller", half_open },
	{ "silent server", silent_server },
	{ "chatty server", chatty_server },
	{ "lying servers", lying_servers },
	{ "one server", one_server },
	{ "ids are picked", ids_are_picked },
	{ "connections are shared and age", conns_are_shared_and_age },
	{ NULL, NULL }
};

int main(int argc, char **argv)
{
	static const struct cf_suite suites[] = { { "sunrpc", cases },
						  { NULL, NULL } };

	return cf_main(argc, argv, suites);
}
