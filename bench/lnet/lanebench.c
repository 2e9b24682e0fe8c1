/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Bulk of one or two clients with a node that has lanes, and with one that has none, in
 * turns: the rates, and the node's own part of the processor time of node and lanes.
 * Each node is in a process of its own. Prints lines `name value unit`.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "m0/lnet.h"
#include "../lib/bench.h"

static const char usage[] =
	"lanebench put|get CLIENTS LANES SLICES\n"
	"  1 MiB, 8 in flight of each client, in slices of 0.1 s, by turns without and\n"
	"  with lanes: rate.off, rate.on, slower (off by on), share of the strand";

enum {
	PORTAL = 30,
	FLIGHT = 8,
	BYTES = 1 << 20,
	MEMORY_SHIFT = 12,
	CLIENTS_MAX = 2,
	SIDES_NR = 2,
	SLICES_MAX = 200,
	SLICE_MS = 100,
	WARM_MS = 20,
	WAIT_S = 20
};

/** Memory of all processes. */
struct shared {
	_Atomic unsigned sh_ready;
	/** 0: the node without lanes is asked, 1: the one with lanes. */
	_Atomic unsigned sh_side;
	_Atomic bool     sh_stop;
	_Atomic uint64_t sh_done[SIDES_NR];
};

static const char *const sides[SIDES_NR] = { "127.0.0.2", "127.0.0.3" };

static struct shared *shared;
static bool           is_get;
static pid_t          pids[SIDES_NR + CLIENTS_MAX];
static unsigned       pids_nr;

static void must(int rc, const char *what)
{
	if (rc != 0)
		bench_die("lanes: %s: %s", what, m0_errname(rc));
}

static void doze(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&t, NULL);
}

static struct m0_lnet *node_open(const char *addr, unsigned lanes)
{
	static struct m0_lnet_cfg cfg;
	char                      why[M0_LNET_WHY_BYTES] = "";
	char                      nets[40];
	struct m0_lnet           *ret;

	m0_lnet_cfg_default(&cfg);
	snprintf(nets, sizeof(nets), "tcp(%s)", addr);
	must(m0_lnet_cfg_networks(&cfg, nets, why), why);
	cfg.lc_port = (uint16_t)(20000 + getppid() % 12000);
	cfg.lc_accept = M0_LNET_ACCEPT_ALL;
	cfg.lc_src_port_max = 0;
	cfg.lc_src_port_min = 0;
	cfg.lc_lanes = lanes;
	must(m0_lnet_open(&ret, &cfg, why), why);
	return ret;
}

static struct m0_bufvec *memory_make(void)
{
	static void            *addr;
	static m0_bcount_t      bytes = (m0_bcount_t)FLIGHT * BYTES;
	static struct m0_bufvec vec = { { 1, &bytes }, &addr };

	addr = m0_alloc_aligned(bytes, MEMORY_SHIFT);
	if (addr == NULL)
		bench_die("no memory");
	memset(addr, 1, bytes);
	return &vec;
}

/* -------------------------------------------------------------- the nodes -- */

static void node_told(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	(void)eq;
	must(ev->ev_status, "the node's event");
}

static void node_main(unsigned side, unsigned lanes)
{
	const struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
	};
	struct m0_lnet_md_attr md = {
		.mda_length = (m0_bcount_t)FLIGHT * BYTES,
		.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
		.mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET |
			       M0_LNET_MD_MANAGE_REMOTE,
	};
	struct m0_lnet       *lnet = node_open(sides[side], lanes);
	struct m0_lnet_eq     eq;
	struct m0_lnet_handle handle;

	m0_lnet_eq_init(&eq, lnet, &node_told, 0);
	md.mda_vec = memory_make();
	md.mda_eq = &eq;
	must(m0_lnet_me_attach(lnet, &me, &handle), "entry");
	must(m0_lnet_md_attach(lnet, handle, &md, &handle), "memory");
	shared->sh_ready++;
	for (;;)
		(void)pause();
}

/* ------------------------------------------------------------ the clients -- */

static struct m0_lnet       *client;
static struct m0_lnet_handle client_md;

/** Moves the next MiB of a place, to or from the node whose turn it is. */
static void move(uintptr_t at)
{
	struct m0_lnet_op op = { .lo_self = m0_lnet_nid_any,
				 .lo_portal = PORTAL,
				 .lo_ack = !is_get,
				 .lo_offset = (uint32_t)(at % FLIGHT) * BYTES,
				 .lo_md_offset = at % FLIGHT * BYTES,
				 .lo_bytes = BYTES };
	unsigned          side = shared->sh_side;
	char              nid[40];

	snprintf(nid, sizeof(nid), "%s@tcp", sides[side]);
	must(m0_lnet_nid_parse(&op.lo_target.lp_nid, nid), "NID");
	op.lo_target.lp_pid = M0_LNET_PID_LUSTRE;
	op.lo_user = (void *)(at % FLIGHT + side * FLIGHT);
	must(is_get ? m0_lnet_get(client, client_md, &op)
		    : m0_lnet_put(client, client_md, &op),
	     "operation");
}

static void client_told(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	uintptr_t at = (uintptr_t)ev->ev_op_user;

	(void)eq;
	if (ev->ev_type != (is_get ? M0_LNET_EV_REPLY : M0_LNET_EV_ACK))
		return;
	must(ev->ev_status, "the client's event");
	shared->sh_done[at / FLIGHT]++;
	if (!shared->sh_stop)
		move(at);
}

static void client_main(unsigned nr)
{
	struct m0_lnet_md_attr md = {
		.mda_length = (m0_bcount_t)FLIGHT * BYTES,
		.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
	};
	struct m0_lnet_eq eq;
	char              addr[40];

	snprintf(addr, sizeof(addr), "127.0.0.%u", 10 + nr);
	client = node_open(addr, 0);
	m0_lnet_eq_init(&eq, client, &client_told, 0);
	md.mda_vec = memory_make();
	md.mda_eq = &eq;
	must(m0_lnet_md_bind(client, &md, &client_md), "memory");
	for (uintptr_t at = 0; at < FLIGHT; at++)
		move(at);
	shared->sh_ready++;
	for (;;)
		(void)pause();
}

/* ------------------------------------------------------------ the turns -- */

static pid_t child(void (*main_)(unsigned, unsigned), unsigned nr, unsigned arg)
{
	unsigned ready = shared->sh_ready;
	time_t   until = time(NULL) + WAIT_S;
	pid_t    pid = fork();

	if (pid < 0)
		bench_die("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		main_(nr, arg);
	}
	pids[pids_nr++] = pid;
	while (shared->sh_ready == ready) {
		if (time(NULL) > until || waitpid(pid, NULL, WNOHANG) != 0)
			bench_die("a process has not begun");
		doze(1);
	}
	return pid;
}

static void client_child(unsigned nr, unsigned unused)
{
	(void)unused;
	client_main(nr);
}

static uint64_t thread_ns(const char *task, char *name, int size)
{
	char               path[340];
	unsigned long long ns = 0;
	FILE              *f;

	snprintf(path, sizeof(path), "%s/comm", task);
	f = fopen(path, "r");
	if (f == NULL || fgets(name, size, f) == NULL)
		bench_die("%s: %s", path, strerror(errno));
	fclose(f);
	snprintf(path, sizeof(path), "%s/schedstat", task);
	f = fopen(path, "r");
	if (f == NULL || fscanf(f, "%llu", &ns) != 1)
		bench_die("%s: %s", path, strerror(errno));
	fclose(f);
	return ns;
}

/** Reads the processor time of the lanes, and of all other threads of a process. */
static void times(pid_t pid, uint64_t *strand, uint64_t *lanes)
{
	char           dir[32];
	char           task[300];
	char           name[32];
	struct dirent *entry;
	DIR           *tasks;

	snprintf(dir, sizeof(dir), "/proc/%d/task", (int)pid);
	tasks = opendir(dir);
	if (tasks == NULL)
		bench_die("%s: %s", dir, strerror(errno));
	*strand = *lanes = 0;
	while ((entry = readdir(tasks)) != NULL) {
		uint64_t ns;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(task, sizeof(task), "%s/%s", dir, entry->d_name);
		ns = thread_ns(task, name, sizeof(name));
		*(strncmp(name, "m0-lane", 7) == 0 ? lanes : strand) += ns;
	}
	closedir(tasks);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, unsigned nr)
{
	qsort(values, nr, sizeof(values[0]), &by_size);
	return values[nr / 2];
}

/** @return GB/s of a slice. */
static double slice(unsigned side)
{
	uint64_t before;
	double   begin;

	shared->sh_side = side;
	doze(WARM_MS);
	before = shared->sh_done[side];
	begin = bench_now_s();
	doze(SLICE_MS);
	return (double)(shared->sh_done[side] - before) * BYTES / 1e9 /
	       (bench_now_s() - begin);
}

static void turns(pid_t node, unsigned slices)
{
	static double rates[SIDES_NR][SLICES_MAX];
	uint64_t      strand = 0;
	uint64_t      lanes = 0;
	uint64_t      first[2];
	uint64_t      last[2];

	for (unsigned i = 0; i < slices; i++)
		for (unsigned side = 0; side < SIDES_NR; side++) {
			times(node, &first[0], &first[1]);
			rates[side][i] = slice(side);
			times(node, &last[0], &last[1]);
			if (side == 0)
				continue;
			strand += last[0] - first[0];
			lanes += last[1] - first[1];
		}
	shared->sh_stop = true;
	bench_line("rate.off", median(rates[0], slices), "GB/s");
	bench_line("rate.on", median(rates[1], slices), "GB/s");
	bench_line("slower",
		   median(rates[0], slices) / (median(rates[1], slices) ?: 1),
		   "off/on");
	bench_line("share", (double)strand / (double)((strand + lanes) ?: 1),
		   "strand/all");
}

int main(int argc, char **argv)
{
	int      i = bench_options(argc, argv, usage);
	unsigned clients = argc - i == 4 ? (unsigned)atoi(argv[i + 1]) : 0;
	unsigned lanes = argc - i == 4 ? (unsigned)atoi(argv[i + 2]) : 0;
	unsigned slices = argc - i == 4 ? (unsigned)atoi(argv[i + 3]) : 0;
	pid_t    node;

	if (clients == 0 || clients > CLIENTS_MAX || lanes > 64 ||
	    slices == 0 || slices > SLICES_MAX)
		bench_die("%s", usage);
	is_get = strcmp(argv[i], "get") == 0;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		bench_die("no shared memory");
	(void)child(&node_main, 0, 0);
	node = child(&node_main, 1, lanes);
	for (unsigned nr = 0; nr < clients; nr++)
		(void)child(&client_child, nr, 0);
	turns(node, slices);
	for (unsigned nr = 0; nr < pids_nr; nr++)
		(void)kill(pids[nr], SIGKILL);
	return 0;
}
