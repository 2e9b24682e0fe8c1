/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The sunrpc transport between two processes, beside libtirpc alone between
 * two: messages beside calls of the procedure that does nothing, bulk beside
 * calls with as many bytes. libtirpc's client makes one call at a time on a
 * connection, so its side has as many threads and connections as the row says
 * are queued or in flight.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <m0_sunrpc_xdr.h>

#include "m0/net.h"
#include "m0/sunrpc.h"

#include "../lib/bench.h"

enum {
	PIECE = 1 << 20,
	MSG_BYTES = 64,
	MSGS_NR = 16,
	FLIGHT_NR = 8,
	RECV_NR = 256,
	DESC_MAX = 256,
	HOST = 0x7f000001,
	/* Buffer of libtirpc; its default is much slower. */
	RAW_BUFFER = 256 << 10
};

/* A passive buffer of the other process. */
struct slot {
	uint32_t sl_seq;
	uint32_t sl_nr;
	uint8_t  sl_desc[DESC_MAX];
};

/* Both processes see this. */
static struct shared {
	sem_t       sh_sem;
	unsigned    sh_port;
	unsigned    sh_raw_port;
	int         sh_ready;
	struct slot sh_slot[2][FLIGHT_NR];
} * shared;

static void must(int rc, const char *what)
{
	if (rc != 0)
		bench_die("%s: %s", what, strerror(rc < 0 ? -rc : rc));
}

/* ------------------------------------------------------------- the library -- */

static struct m0_net_domain      dom;
static struct m0_net_transfer_mc tm;

static void tm_event(const struct m0_net_tm_event *ev)
{
	must(ev->nte_status == -ENOBUFS ? 0 : ev->nte_status, "machine");
}

static const struct m0_net_tm_callbacks tm_cbs = { .ntc_event_cb = tm_event };

static bool is_started(void)
{
	return tm.ntm_state != M0_NET_TM_STARTING;
}

static void net_up(const char *addr)
{
	struct m0_clink link;

	must(m0_net_init(), "m0_net_init");
	must(m0_net_domain_init(&dom, &m0_net_bulk_sunrpc_xprt), "domain");
	tm.ntm_callbacks = &tm_cbs;
	must(m0_net_tm_init(&tm, &dom), "machine");
	m0_clink_init(&link, NULL);
	m0_clink_add_lock(&tm.ntm_chan, &link);
	must(m0_net_tm_start(&tm, addr), "start");
	while (!is_started())
		m0_chan_wait(&link);
	m0_clink_del_lock(&link);
	m0_clink_fini(&link);
}

static void buf_make(struct m0_net_buffer *nb, size_t nr,
		     const struct m0_net_buffer_callbacks *cbs)
{
	nb->nb_callbacks = cbs;
	must(m0_bufvec_alloc(&nb->nb_buffer, 1, nr), "memory");
	memset(nb->nb_buffer.ov_buf[0], 7, nr);
	must(m0_net_buffer_register(nb, &dom), "register");
}

/* The other process: it receives, and has passive buffers. */

static struct m0_net_buffer passive[2][FLIGHT_NR];

static void recv_done(const struct m0_net_buffer_event *ev)
{
	must(ev->nbe_status, "receive");
	must(m0_net_buffer_add(ev->nbe_buffer, &tm), "receive again");
}

static void passive_add(struct m0_net_buffer *nb)
{
	int          put = nb >= passive[1];
	struct slot *slot = &shared->sh_slot[put][nb - passive[put]];

	nb->nb_qtype = put ? M0_NET_QT_PASSIVE_BULK_RECV
			   : M0_NET_QT_PASSIVE_BULK_SEND;
	nb->nb_length = put ? 0 : PIECE;
	must(m0_net_buffer_add(nb, &tm), "passive");
	memcpy(slot->sl_desc, nb->nb_desc.nbd_data, nb->nb_desc.nbd_len);
	slot->sl_nr = nb->nb_desc.nbd_len;
	m0_net_desc_free(&nb->nb_desc);
	__atomic_add_fetch(&slot->sl_seq, 1, __ATOMIC_RELEASE);
	sem_post(&shared->sh_sem);
}

static void passive_done(const struct m0_net_buffer_event *ev)
{
	must(ev->nbe_status, "passive");
	passive_add(ev->nbe_buffer);
}

static const struct m0_net_buffer_callbacks far_cbs = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = recv_done,
		    [M0_NET_QT_PASSIVE_BULK_RECV] = passive_done,
		    [M0_NET_QT_PASSIVE_BULK_SEND] = passive_done }
};

static void far_main(void)
{
	static struct m0_net_buffer recv_bufs[RECV_NR];
	char                        addr[64];
	unsigned                    i;

	snprintf(addr, sizeof addr, "127.0.0.1:%u:1", shared->sh_port);
	net_up(addr);
	for (i = 0; i < RECV_NR; ++i) {
		buf_make(&recv_bufs[i], MSG_BYTES, &far_cbs);
		recv_bufs[i].nb_qtype = M0_NET_QT_MSG_RECV;
		recv_bufs[i].nb_min_receive_size = MSG_BYTES;
		recv_bufs[i].nb_max_receive_msgs = 1;
		must(m0_net_buffer_add(&recv_bufs[i], &tm), "receive");
	}
	for (i = 0; i < 2 * FLIGHT_NR; ++i) {
		buf_make(&passive[i % 2][i / 2], PIECE, &far_cbs);
		passive_add(&passive[i % 2][i / 2]);
	}
	__atomic_add_fetch(&shared->sh_ready, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

/* This process: it sends, and is the active side. */

static struct m0_net_buffer     sends[MSGS_NR];
static struct m0_net_buffer     actives[2][FLIGHT_NR];
static uint32_t                 used[2][FLIGHT_NR];
static int                      busy[2][FLIGHT_NR];
static struct m0_net_end_point *far_ep;
static int64_t                  left;
static int64_t                  under_way;
static struct m0_semaphore      all_done;

static void send_done(const struct m0_net_buffer_event *ev)
{
	must(ev->nbe_status, "send");
	if (--left >= 0) {
		must(m0_net_buffer_add(ev->nbe_buffer, &tm), "send again");
		return;
	}
	if (--under_way == 0)
		m0_semaphore_up(&all_done);
}

static void active_done(const struct m0_net_buffer_event *ev)
{
	int put = ev->nbe_buffer >= actives[1];

	must(ev->nbe_status, "active");
	m0_net_desc_free(&ev->nbe_buffer->nb_desc);
	__atomic_store_n(&busy[put][ev->nbe_buffer - actives[put]], 0,
			 __ATOMIC_RELEASE);
	sem_post(&shared->sh_sem);
}

static const struct m0_net_buffer_callbacks near_cbs = {
	.nbc_cb = { [M0_NET_QT_MSG_SEND] = send_done,
		    [M0_NET_QT_ACTIVE_BULK_RECV] = active_done,
		    [M0_NET_QT_ACTIVE_BULK_SEND] = active_done }
};

/* All are queued from here, so that callbacks see one count. */
static uint64_t msg_run(void *arg, uint64_t nr)
{
	unsigned i;

	(void)arg;
	left = (int64_t)(nr > MSGS_NR ? nr - MSGS_NR : 0);
	nr = (uint64_t)left + MSGS_NR;
	under_way = MSGS_NR;
	for (i = 0; i < MSGS_NR; ++i)
		must(m0_net_buffer_add(&sends[i], &tm), "send");
	m0_semaphore_down(&all_done);
	return nr;
}

static bool active_try(int put, unsigned i)
{
	struct slot           *slot = &shared->sh_slot[put][i];
	struct m0_net_buffer  *nb = &actives[put][i];
	struct m0_net_buf_desc desc = { slot->sl_nr, slot->sl_desc };

	if (__atomic_load_n(&busy[put][i], __ATOMIC_ACQUIRE) != 0 ||
	    __atomic_load_n(&slot->sl_seq, __ATOMIC_ACQUIRE) == used[put][i])
		return false;
	desc.nbd_len = slot->sl_nr;
	++used[put][i];
	busy[put][i] = 1;
	nb->nb_qtype = put ? M0_NET_QT_ACTIVE_BULK_SEND
			   : M0_NET_QT_ACTIVE_BULK_RECV;
	nb->nb_length = put ? PIECE : 0;
	must(m0_net_desc_copy(&desc, &nb->nb_desc), "descriptor");
	must(m0_net_buffer_add(nb, &tm), "active");
	return true;
}

static bool any_busy(int put)
{
	unsigned i;

	for (i = 0; i < FLIGHT_NR; ++i) {
		if (__atomic_load_n(&busy[put][i], __ATOMIC_ACQUIRE) != 0)
			return true;
	}
	return false;
}

static uint64_t bulk_run(void *arg, uint64_t nr)
{
	int      put = *(int *)arg;
	uint64_t begun = 0;
	unsigned i;

	while (begun < nr || any_busy(put)) {
		for (i = 0; i < FLIGHT_NR && begun < nr; ++i)
			begun += active_try(put, i);
		if (begun < nr || any_busy(put))
			sem_wait(&shared->sh_sem);
	}
	return begun;
}

static void near_up(void)
{
	char     addr[64];
	unsigned i;

	net_up("127.0.0.1:0:1");
	snprintf(addr, sizeof addr, "127.0.0.1:%u:1", shared->sh_port);
	must(m0_net_end_point_create(&far_ep, &tm, addr), "end point");
	m0_semaphore_init(&all_done, 0);
	for (i = 0; i < MSGS_NR; ++i) {
		buf_make(&sends[i], MSG_BYTES, &near_cbs);
		sends[i].nb_qtype = M0_NET_QT_MSG_SEND;
		sends[i].nb_length = MSG_BYTES;
		sends[i].nb_ep = far_ep;
	}
	for (i = 0; i < 2 * FLIGHT_NR; ++i)
		buf_make(&actives[i % 2][i / 2], PIECE, &near_cbs);
}

/* --------------------------------------------------------- libtirpc alone -- */

static char raw_bytes[PIECE];

static void raw_dispatch(struct svc_req *req, SVCXPRT *xprt)
{
	m0_sunrpc_put      put = { .sp_offset = 0 };
	m0_sunrpc_get      get;
	m0_sunrpc_put_resp put_resp = { 0 };
	m0_sunrpc_get_resp get_resp = { 0, 1, { PIECE, raw_bytes } };

	if (req->rq_proc == M0_SUNRPC_PUT) {
		if (!svc_getargs(xprt, (xdrproc_t)xdr_m0_sunrpc_put, &put))
			bench_die("libtirpc: arguments");
		svc_sendreply(xprt, (xdrproc_t)xdr_m0_sunrpc_put_resp,
			      (char *)&put_resp);
		svc_freeargs(xprt, (xdrproc_t)xdr_m0_sunrpc_put, &put);
	} else if (req->rq_proc == M0_SUNRPC_GET) {
		if (!svc_getargs(xprt, (xdrproc_t)xdr_m0_sunrpc_get, &get))
			bench_die("libtirpc: arguments");
		svc_sendreply(xprt, (xdrproc_t)xdr_m0_sunrpc_get_resp,
			      (char *)&get_resp);
	} else {
		svc_sendreply(xprt, (xdrproc_t)xdr_void, NULL);
	}
}

static void raw_main(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(HOST) };
	socklen_t          len = sizeof addr;
	int                fd = socket(AF_INET, SOCK_STREAM, 0);
	SVCXPRT           *xprt;

	if (bind(fd, (struct sockaddr *)&addr, len) != 0 ||
	    listen(fd, 64) != 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
		bench_die("libtirpc: no listener");
	xprt = svc_vc_create(fd, RAW_BUFFER, RAW_BUFFER);
	if (xprt == NULL ||
	    !svc_reg(xprt, M0_SUNRPC_PROG, M0_SUNRPC_VERS, raw_dispatch, NULL))
		bench_die("libtirpc: no server");
	shared->sh_raw_port = ntohs(addr.sin_port);
	__atomic_add_fetch(&shared->sh_ready, 1, __ATOMIC_RELEASE);
	svc_run();
}

/* A thread with a connection, which makes calls while there are some to make. */
struct raw_caller {
	CLIENT   *rw_client;
	sem_t     rw_go;
	sem_t     rw_end;
	pthread_t rw_thread;
	char     *rw_bytes;
};

static struct raw_caller callers[MSGS_NR];
static int64_t           raw_left;
static unsigned          raw_proc;

static void raw_call(struct raw_caller *rw)
{
	static struct timeval limit = { 30, 0 };
	m0_sunrpc_put         put = { .sp_buf = { PIECE, rw->rw_bytes } };
	m0_sunrpc_get         get = { .sg_offset = 0 };
	m0_sunrpc_put_resp    put_resp;
	m0_sunrpc_get_resp    get_resp = { 0, 0, { 0, rw->rw_bytes } };
	enum clnt_stat        rc;

	if (raw_proc == M0_SUNRPC_PUT)
		rc = clnt_call(rw->rw_client, M0_SUNRPC_PUT,
			       (xdrproc_t)xdr_m0_sunrpc_put, (char *)&put,
			       (xdrproc_t)xdr_m0_sunrpc_put_resp,
			       (char *)&put_resp, limit);
	else if (raw_proc == M0_SUNRPC_GET)
		rc = clnt_call(rw->rw_client, M0_SUNRPC_GET,
			       (xdrproc_t)xdr_m0_sunrpc_get, (char *)&get,
			       (xdrproc_t)xdr_m0_sunrpc_get_resp,
			       (char *)&get_resp, limit);
	else
		rc = clnt_call(rw->rw_client, NULLPROC, (xdrproc_t)xdr_void,
			       NULL, (xdrproc_t)xdr_void, NULL, limit);
	if (rc != RPC_SUCCESS)
		bench_die("libtirpc: %s", clnt_sperrno(rc));
}

static void *raw_thread(void *arg)
{
	struct raw_caller *rw = arg;

	for (;;) {
		sem_wait(&rw->rw_go);
		while (__atomic_sub_fetch(&raw_left, 1, __ATOMIC_RELAXED) >= 0)
			raw_call(rw);
		sem_post(&rw->rw_end);
	}
	return NULL;
}

static void raw_up(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(
					    (uint16_t)shared->sh_raw_port),
				    .sin_addr.s_addr = htonl(HOST) };
	struct netbuf      buf = { sizeof addr, sizeof addr, &addr };
	int                one = 1;
	unsigned           i;

	for (i = 0; i < MSGS_NR; ++i) {
		struct raw_caller *rw = &callers[i];
		int                fd = socket(AF_INET, SOCK_STREAM, 0);

		must(connect(fd, (struct sockaddr *)&addr, sizeof addr),
		     "libtirpc: connect");
		/* Without this, the end of a call waits for an
		 * acknowledgement. */
		must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one),
		     "libtirpc: no delay");
		rw->rw_client = clnt_vc_create(fd, &buf, M0_SUNRPC_PROG,
					       M0_SUNRPC_VERS, RAW_BUFFER,
					       RAW_BUFFER);
		if (rw->rw_client == NULL)
			bench_die("libtirpc: no client");
		rw->rw_bytes = malloc(PIECE);
		memset(rw->rw_bytes, 7, PIECE);
		sem_init(&rw->rw_go, 0, 0);
		sem_init(&rw->rw_end, 0, 0);
		must(pthread_create(&rw->rw_thread, NULL, raw_thread, rw),
		     "thread");
	}
}

static uint64_t raw_run(void *arg, uint64_t nr)
{
	unsigned threads;
	unsigned i;

	raw_proc = *(unsigned *)arg;
	threads = raw_proc == NULLPROC ? MSGS_NR : FLIGHT_NR;
	__atomic_store_n(&raw_left, (int64_t)nr, __ATOMIC_RELAXED);
	for (i = 0; i < threads; ++i)
		sem_post(&callers[i].rw_go);
	for (i = 0; i < threads; ++i)
		sem_wait(&callers[i].rw_end);
	return nr;
}

/* ------------------------------------------------------------------ main -- */

static void spawn(void (*func)(void))
{
	if (fork() != 0)
		return;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	bench_pin(bench_opt.o_cpu[1]);
	func();
	_exit(1);
}

int main(int argc, char **argv)
{
	static const char usage[] =
		"sunrpcbench [-t SLICE_S] [-n SLICES] msg|bulk";
	static int      ways[] = { 0, 1 };
	static unsigned procs[] = { M0_SUNRPC_GET, M0_SUNRPC_PUT, NULLPROC };
	const struct bench_case bulk[] = {
		{ .c_name = "get", .c_run = bulk_run, .c_arg = &ways[0] },
		{ .c_name = "raw.get", .c_run = raw_run, .c_arg = &procs[0] },
		{ .c_name = "put", .c_run = bulk_run, .c_arg = &ways[1] },
		{ .c_name = "raw.put", .c_run = raw_run, .c_arg = &procs[1] },
	};
	const struct bench_case msg[] = {
		{ .c_name = "msg", .c_run = msg_run },
		{ .c_name = "raw.null", .c_run = raw_run, .c_arg = &procs[2] },
	};
	int at = bench_options(argc, argv, usage);

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || at != argc - 1)
		bench_die("%s", usage);
	sem_init(&shared->sh_sem, 1, 0);
	shared->sh_port = 20000 + (unsigned)getpid() % 12000;
	spawn(far_main);
	spawn(raw_main);
	while (__atomic_load_n(&shared->sh_ready, __ATOMIC_ACQUIRE) < 2)
		usleep(1000);
	bench_pin(bench_opt.o_cpu[0]);
	near_up();
	raw_up();
	if (strcmp(argv[at], "msg") == 0)
		bench_turns(msg, 2);
	else
		bench_turns(bulk, 4);
	fflush(stdout);
	_exit(0);
}
