/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/older.h"
#include "lnet_duo.h"
#include "m0/lnet.h"

enum {
	PORTAL = 30,
	FLIGHT_MAX = 256,
	STRIDE = 128,
	SPIN_MAX_NS = 1000000000
};

struct duo_node;

/** One operation after the other, always with the same memory. */
struct slot {
	struct duo_node      *sl_node;
	void                 *sl_addr;
	m0_bcount_t           sl_bytes;
	struct m0_bufvec      sl_vec;
	struct m0_lnet_handle sl_md;
	struct m0_lnet_op     sl_op;
	/** Operations still to be begun; events still to come of this one. */
	uint64_t sl_left;
	unsigned sl_events;
};

struct duo_node {
	struct bench_duo  *dn_duo;
	struct m0_lnet    *dn_lnet;
	struct m0_lnet_nid dn_nid;
	struct m0_lnet_eq  dn_eq;
	/** Buffers that a side sends from or gets into, and those that the
	 * other side reaches. */
	struct slot dn_own[FLIGHT_MAX];
	struct slot dn_window[FLIGHT_MAX];
	_Alignas(128) _Atomic uint64_t dn_done;
	_Atomic uint64_t dn_got;
};

struct bench_duo {
	enum bench_drive     d_drive;
	enum bench_op        d_op;
	struct bench_worker *d_worker;
	size_t               d_bytes;
	unsigned             d_flight;
	unsigned             d_credits;
	/** Each has addresses of its own. */
	unsigned d_serial;
	/** A router is between the nodes: another process, or this one. */
	bool            d_far;
	struct m0_lnet *d_router;
	/** Over, of all runs. */
	uint64_t        d_ops;
	struct duo_node d_node[2];
	/** Done and got that end a run; with threads, who waits for it. */
	_Atomic uint64_t d_want_done;
	_Atomic uint64_t d_want_got;
	sem_t            d_over;
};

static bool same_host;

void bench_duo_same_host(bool on)
{
	same_host = on;
}

static void must(int rc, const char *what)
{
	if (rc != 0)
		bench_die("lnet: %s: %s", what, m0_errname(rc));
}

/* ------------------------------------------------------------------ events -- */

static void slot_begin(struct slot *sl)
{
	struct bench_duo *d = sl->sl_node->dn_duo;
	struct m0_lnet   *lnet = sl->sl_node->dn_lnet;

	sl->sl_left--;
	sl->sl_events += M0_IN(d->d_op, (BENCH_PUT, BENCH_PING)) ? 1 : 2;
	must(d->d_op == BENCH_GET ? m0_lnet_get(lnet, sl->sl_md, &sl->sl_op)
				  : m0_lnet_put(lnet, sl->sl_md, &sl->sl_op),
	     "begin");
}

/** One writer each; read by the side that waits. */
static uint64_t count(_Atomic uint64_t *nr)
{
	uint64_t now = atomic_load_explicit(nr, memory_order_relaxed) + 1;

	atomic_store_explicit(nr, now, memory_order_release);
	return now;
}

static void over(struct bench_duo *d)
{
	if (d->d_drive == BENCH_THREADS)
		sem_post(&d->d_over);
}

/** A message of the other node has come. */
static void told_of_his(struct duo_node *dn)
{
	struct bench_duo *d = dn->dn_duo;
	struct slot      *sl = &dn->dn_own[0];
	uint64_t          got = count(&dn->dn_got);

	if (d->d_op == BENCH_PING && sl->sl_left > 0)
		slot_begin(sl);
	if (got == atomic_load_explicit(&d->d_want_got, memory_order_relaxed))
		over(d);
}

static void told_of_ours(struct duo_node *dn, struct slot *sl)
{
	if (--sl->sl_events > 0)
		return;
	if (dn->dn_duo->d_op != BENCH_PING && sl->sl_left > 0)
		slot_begin(sl);
	if (count(&dn->dn_done) ==
	    atomic_load_explicit(&dn->dn_duo->d_want_done,
				 memory_order_relaxed))
		over(dn->dn_duo);
}

static void told(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	struct duo_node *dn = container_of(eq, struct duo_node, dn_eq);

	if (ev->ev_type == M0_LNET_EV_UNLINK || ev->ev_unlinked)
		return;
	must(ev->ev_status, "event");
	if (M0_IN(ev->ev_type, (M0_LNET_EV_PUT, M0_LNET_EV_GET))) {
		if (ev->ev_mlength != dn->dn_duo->d_bytes)
			bench_die("lnet: %llu bytes came",
				  (unsigned long long)ev->ev_mlength);
		told_of_his(dn);
	} else {
		told_of_ours(dn, ev->ev_md_user);
	}
}

/* -------------------------------------------------------------------- run -- */

/* A function of its own, so that callgrind can tell it by its name. */
static __attribute__((noinline)) void duo_receive(struct bench_duo *d)
{
	(void)m0_lnet_progress(d->d_node[1].dn_lnet);
}

static __attribute__((noinline)) void duo_forward(struct bench_duo *d)
{
	(void)m0_lnet_progress(d->d_router);
}

static void worker_step(void *arg)
{
	duo_receive(arg);
}

static void duo_enter(void *arg)
{
	struct bench_duo *d = arg;

	if (d->d_drive == BENCH_POLLED)
		bench_worker_run(d->d_worker, &worker_step, d);
}

static void duo_leave(void *arg)
{
	struct bench_duo *d = arg;

	if (d->d_drive == BENCH_POLLED)
		bench_worker_park(d->d_worker);
}

/** The node has begun all of its operations, and they are done; the other has them. */
static bool is_over_at(struct bench_duo *d, unsigned from, unsigned to)
{
	return d->d_node[from].dn_done >= d->d_want_done &&
	       d->d_node[to].dn_got >= d->d_want_got;
}

static bool is_over(struct bench_duo *d)
{
	/* A ping-pong ends at the first node, the other operations at both. */
	return is_over_at(d, 0, d->d_op == BENCH_PING ? 0 : 1) &&
	       (d->d_op != BENCH_PUT_BOTH || is_over_at(d, 1, 0));
}

static void duo_wait(struct bench_duo *d)
{
	while (!is_over(d)) {
		if (d->d_drive == BENCH_THREADS) {
			sem_wait(&d->d_over);
			continue;
		}
		(void)m0_lnet_progress(d->d_node[0].dn_lnet);
		if (d->d_router != NULL)
			duo_forward(d);
		if (d->d_drive == BENCH_TURNS)
			duo_receive(d);
	}
}

/*
 * With threads the first operations begin outside of the node's thread, and
 * their events may come before the next begins: sl_left is told first.
 */
static uint64_t duo_run(void *arg, uint64_t nr)
{
	struct bench_duo *d = arg;
	unsigned          flight = d->d_flight;
	unsigned          nodes = d->d_op == BENCH_PUT_BOTH ? 2 : 1;

	/* For each node that begins operations. */
	nr = (nr + nodes * flight - 1) / (nodes * flight) * flight;
	d->d_node[0].dn_done = d->d_node[0].dn_got = 0;
	d->d_node[1].dn_done = d->d_node[1].dn_got = 0;
	d->d_want_done = nr;
	d->d_want_got = nr;
	d->d_node[1].dn_own[0].sl_left = nr;
	for (unsigned i = 0; i < nodes * flight; i++)
		d->d_node[i % nodes].dn_own[i / nodes].sl_left = nr / flight;
	for (unsigned i = 0; i < nodes * flight; i++)
		slot_begin(&d->d_node[i % nodes].dn_own[i / nodes]);
	duo_wait(d);
	nr *= d->d_op == BENCH_PING ? 2 : nodes;
	d->d_ops += nr;
	return nr;
}

struct bench_case bench_duo_case(struct bench_duo *duo, const char *name)
{
	return (struct bench_case){ .c_name = name,
				    .c_run = &duo_run,
				    .c_arg = duo,
				    .c_enter = &duo_enter,
				    .c_leave = &duo_leave,
				    .c_rate = duo->d_op == BENCH_PUT &&
					      duo->d_bytes <= STRIDE };
}

/* ------------------------------------------------------------ open, close -- */

/** Networks and routes of a node with a router between it and the other. */
static void far_configure(struct bench_duo *d, unsigned at,
			  struct m0_lnet_cfg *cfg)
{
	char why[M0_LNET_WHY_BYTES] = "";
	char text[64];

	snprintf(text, sizeof(text), "%s(127.0.%u.%u)",
		 at == 0 ? "tcp" : "tcp1", d->d_serial, at + 1);
	must(m0_lnet_cfg_networks(cfg, text, why), why);
	snprintf(text, sizeof(text), "%s 127.0.%u.%u@%s",
		 at == 0 ? "tcp1" : "tcp", d->d_serial, at + 9,
		 at == 0 ? "tcp" : "tcp1");
	must(m0_lnet_cfg_routes(cfg, text, why), why);
}

static uint16_t port(void)
{
	return (uint16_t)(20000 + getpid() % 12000);
}

static void node_open(struct bench_duo *d, unsigned at)
{
	struct duo_node          *dn = &d->d_node[at];
	struct m0_lnet_process_id id;
	struct m0_lnet_cfg        cfg;
	char                      why[M0_LNET_WHY_BYTES] = "";
	char                      text[64];

	dn->dn_duo = d;
	m0_lnet_cfg_default(&cfg);
	if (d->d_far) {
		far_configure(d, at, &cfg);
	} else {
		snprintf(text, sizeof(text), "tcp(127.0.%u.%u)", d->d_serial,
			 at + 1);
		must(m0_lnet_cfg_networks(&cfg, text, why), why);
	}
	cfg.lc_port = port();
	cfg.lc_accept = M0_LNET_ACCEPT_ALL;
	cfg.lc_src_port_max = 0;
	cfg.lc_src_port_min = 0;
	BENCH_LNET_SET(&cfg, lc_same_host, same_host);
	cfg.lc_inline = d->d_drive != BENCH_THREADS;
	cfg.lc_spin_ns = (int64_t)(bench_opt.o_spin_ns < SPIN_MAX_NS
					   ? bench_opt.o_spin_ns
					   : SPIN_MAX_NS);
	if (d->d_credits != 0)
		cfg.lc_peer_credits = d->d_credits;
	/* A node's thread has the processors of its maker. */
	if (d->d_drive == BENCH_THREADS)
		bench_pin(bench_opt.o_cpu[at]);
	must(m0_lnet_open(&dn->dn_lnet, &cfg, why), why);
	must(m0_lnet_get_id(dn->dn_lnet, 1, &id), "id");
	dn->dn_nid = id.lp_nid;
	m0_lnet_eq_init(&dn->dn_eq, dn->dn_lnet, &told, 0);
}

static void slot_init(struct duo_node *dn, struct slot *sl, char *addr)
{
	sl->sl_node = dn;
	sl->sl_addr = addr;
	sl->sl_bytes = dn->dn_duo->d_bytes;
	sl->sl_vec.ov_vec.v_nr = 1;
	sl->sl_vec.ov_vec.v_count = &sl->sl_bytes;
	sl->sl_vec.ov_buf = &sl->sl_addr;
}

static struct m0_lnet_md_attr md_attr(struct duo_node *dn, struct slot *sl,
				      unsigned options)
{
	return (struct m0_lnet_md_attr){
		.mda_vec = &sl->sl_vec,
		.mda_length = sl->sl_bytes,
		.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
		.mda_options = options,
		.mda_eq = &dn->dn_eq,
		.mda_user = sl,
	};
}

static void window_attach(struct duo_node *dn, struct slot *sl, unsigned i)
{
	const struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
		.mea_match_bits = i,
	};
	struct m0_lnet_md_attr md = md_attr(dn, sl,
					    M0_LNET_MD_OP_PUT |
						    M0_LNET_MD_OP_GET |
						    M0_LNET_MD_MANAGE_REMOTE);
	struct m0_lnet_handle  handle;

	must(m0_lnet_me_attach(dn->dn_lnet, &me, &handle), "entry");
	must(m0_lnet_md_attach(dn->dn_lnet, handle, &md, &sl->sl_md), "memory");
}

static void own_bind(struct duo_node *dn, struct slot *sl, unsigned i)
{
	struct bench_duo      *d = dn->dn_duo;
	struct m0_lnet_md_attr md = md_attr(dn, sl, 0);

	must(m0_lnet_md_bind(dn->dn_lnet, &md, &sl->sl_md), "memory");
	sl->sl_op = (struct m0_lnet_op){
		.lo_self = m0_lnet_nid_any,
		.lo_target = { .lp_nid = d->d_node[dn == d->d_node].dn_nid,
			       .lp_pid = M0_LNET_PID_LUSTRE },
		.lo_portal = PORTAL,
		.lo_match_bits = i,
		.lo_ack = M0_IN(d->d_op, (BENCH_PUT_ACK, BENCH_PUT_BOTH)),
	};
}

static void slots_init(struct bench_duo *d, unsigned at)
{
	struct duo_node *dn = &d->d_node[at];
	size_t           stride = (d->d_bytes + STRIDE - 1) / STRIDE * STRIDE;
	char            *own = bench_huge(stride * d->d_flight);
	char            *window = bench_huge(stride * d->d_flight);

	for (unsigned i = 0; i < d->d_flight; i++) {
		slot_init(dn, &dn->dn_own[i], own + i * stride);
		slot_init(dn, &dn->dn_window[i], window + i * stride);
		memset(own + i * stride, (int)(at * 100 + i + 1), stride);
		memset(window + i * stride, (int)(at * 100 + i + 51), stride);
		window_attach(dn, &dn->dn_window[i], i);
		own_bind(dn, &dn->dn_own[i], i);
	}
}

/** Opens a router in this process, which the caller drives. */
static struct m0_lnet *router_open(struct bench_duo *d)
{
	struct m0_lnet_cfg cfg;

	m0_lnet_cfg_default(&cfg);
	cfg.lc_port = port();
	cfg.lc_inline = true;
	return bench_router_open(&cfg, d->d_serial, d->d_credits);
}

/** @param router  mask of its switches; < 0: it is in this process. */
static struct bench_duo *duo_open(enum bench_drive     drive,
				  struct bench_worker *worker, enum bench_op op,
				  size_t bytes, unsigned flight,
				  unsigned credits, bool far, int router)
{
	static unsigned   serial;
	struct bench_duo *d = bench_huge(sizeof(*d));

	if (flight > FLIGHT_MAX || (op == BENCH_PING && flight != 1))
		bench_die("lnet: %u in flight", flight);
	memset(d, 0, sizeof(*d));
	d->d_drive = drive;
	d->d_worker = worker;
	d->d_op = op;
	d->d_bytes = bytes;
	d->d_flight = flight;
	d->d_credits = credits;
	d->d_serial = serial++;
	d->d_far = far;
	if (far && router < 0)
		d->d_router = router_open(d);
	else if (far)
		bench_router_start(d->d_serial, credits, (unsigned)router);
	sem_init(&d->d_over, 0, 0);
	node_open(d, 0);
	node_open(d, 1);
	slots_init(d, 0);
	slots_init(d, 1);
	if (drive == BENCH_THREADS)
		bench_pin(bench_opt.o_cpu[0]);
	return d;
}

struct bench_duo *bench_duo_open(enum bench_drive     drive,
				 struct bench_worker *worker, enum bench_op op,
				 size_t bytes, unsigned flight,
				 unsigned credits)
{
	return duo_open(drive, worker, op, bytes, flight, credits, false, 0);
}

struct bench_duo *bench_duo_open_far(enum bench_drive     drive,
				     struct bench_worker *worker,
				     enum bench_op op, size_t bytes,
				     unsigned flight, unsigned credits,
				     unsigned router)
{
	return duo_open(drive, worker, op, bytes, flight, credits, true,
			(int)router);
}

struct bench_duo *bench_duo_open_by(enum bench_op op, size_t bytes,
				    unsigned flight, unsigned credits)
{
	return duo_open(BENCH_TURNS, NULL, op, bytes, flight, credits, true,
			-1);
}

static void compare(struct bench_duo *d, unsigned from)
{
	for (unsigned i = 0; i < d->d_flight; i++)
		if (memcmp(d->d_node[from].dn_own[i].sl_addr,
			   d->d_node[1 - from].dn_window[i].sl_addr,
			   d->d_bytes) != 0)
			bench_die(
				"lnet: the bytes that came are not those that were sent");
}

void bench_duo_close(struct bench_duo *duo)
{
	compare(duo, 0);
	if (duo->d_op == BENCH_PUT_BOTH)
		compare(duo, 1);
	for (unsigned i = 0; i < 2; i++) {
		m0_lnet_close(duo->d_node[i].dn_lnet);
		m0_lnet_eq_fini(&duo->d_node[i].dn_eq);
	}
	if (duo->d_router != NULL)
		m0_lnet_close(duo->d_router);
	sem_destroy(&duo->d_over);
}

static void info_add(struct m0_lnet *lnet, struct m0_lnd_ni_info *sum)
{
	struct m0_lnet_info *info;

	must(m0_lnet_info_get(lnet, &info), "info");
	for (unsigned i = 0; i < info->li_nis_nr; i++) {
		const struct m0_lnd_ni_info *lnd = &info->li_nis[i].nii_lnd;

		sum->ldi_read_calls_nr += lnd->ldi_read_calls_nr;
		sum->ldi_write_calls_nr += lnd->ldi_write_calls_nr;
		sum->ldi_direct_bytes += lnd->ldi_direct_bytes;
		sum->ldi_copied_bytes += lnd->ldi_copied_bytes;
	}
	m0_lnet_info_free(info);
}

static void line(const char *name, const char *what, double value,
		 const char *unit)
{
	char text[80];

	snprintf(text, sizeof(text), "%s.%s", name, what);
	bench_line(text, value, unit);
}

void bench_duo_calls(struct bench_duo *duo, const char *name)
{
	struct m0_lnd_ni_info sum = { 0 };
	double                ops = (double)duo->d_ops;

	for (unsigned i = 0; i < 2; i++)
		info_add(duo->d_node[i].dn_lnet, &sum);
	line(name, "reads", (double)sum.ldi_read_calls_nr / ops,
	     "per_operation");
	line(name, "writes", (double)sum.ldi_write_calls_nr / ops,
	     "per_operation");
	line(name, "direct",
	     (double)sum.ldi_direct_bytes /
		     (double)(sum.ldi_direct_bytes + sum.ldi_copied_bytes + 1),
	     "part");
}
