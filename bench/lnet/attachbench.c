/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Processes attached to one daemon, which speaks TCP to a peer: what it costs to come and
 * go, and how many share it. The daemon and the peer are in a process of their own.
 * Prints lines `name value unit`; bench/run makes rows of them.
 */
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

#include "m0/lnet_daemon.h"
#include "../lib/bench.h"

static const char usage[] =
	"attachbench [-n TIMES] TEST\n"
	"  life                  attach, one 64 B PUT with its ACK, detach\n"
	"  crowd NR SECONDS      so many processes, each with one 64 B PUT after the\n"
	"                        other: shares; memory of one that does nothing\n"
	"  do put NR             so many PUTs, 64 queued, untimed, for counters";

enum {
	PORTAL = 30,
	BYTES = 64,
	FLIGHT = 64,
	CROWD_MAX = 256,
	WAIT_S = 20,
	POLL_MS = 50,
	MEMORY_BYTES = 4096,
	MEMORY_SHIFT = 12
};

/** Memory of all processes. */
struct crowd {
	unsigned         cr_nr;
	_Atomic unsigned cr_born;
	_Atomic unsigned cr_weighed;
	_Atomic unsigned cr_open;
	_Atomic unsigned cr_ready;
	_Atomic bool     cr_go;
	_Atomic bool     cr_stop;
	_Atomic uint64_t cr_done[CROWD_MAX];
	/** Bytes that attaching has added to a process. */
	_Atomic uint64_t cr_bytes[CROWD_MAX];
};

static char          path[64];
static struct crowd *crowd;
static pid_t         host;

static void must(int rc, const char *what)
{
	if (rc != 0)
		bench_die("attach: %s: %s", what, m0_errname(rc));
}

static void doze(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&t, NULL);
}

/* ------------------------------------------------- the daemon and the peer -- */

static struct m0_lnet *node_open(const char *nets)
{
	char               why[M0_LNET_WHY_BYTES] = "";
	struct m0_lnet_cfg cfg;
	struct m0_lnet    *ret;

	m0_lnet_cfg_default(&cfg);
	must(m0_lnet_cfg_networks(&cfg, nets, why), why);
	cfg.lc_port = (uint16_t)(20000 + getppid() % 12000);
	cfg.lc_accept = M0_LNET_ACCEPT_ALL;
	cfg.lc_src_port_max = 0;
	cfg.lc_src_port_min = 0;
	must(m0_lnet_open(&ret, &cfg, why), why);
	return ret;
}

static void peer_told(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	(void)eq;
	must(ev->ev_status, "the peer's event");
}

static void peer_open(struct m0_lnet *lnet, struct m0_lnet_eq *eq)
{
	static char                  memory[BYTES];
	static void                 *addr = memory;
	static m0_bcount_t           bytes = BYTES;
	static struct m0_bufvec      vec = { { 1, &bytes }, &addr };
	const struct m0_lnet_me_attr me = {
		.mea_portal = PORTAL,
		.mea_id = { m0_lnet_nid_any, M0_LNET_PID_ANY },
	};
	const struct m0_lnet_md_attr md = {
		.mda_vec = &vec,
		.mda_length = BYTES,
		.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
		.mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_MANAGE_REMOTE,
		.mda_eq = eq,
	};
	struct m0_lnet_handle handle;

	m0_lnet_eq_init(eq, lnet, &peer_told, 0);
	must(m0_lnet_me_attach(lnet, &me, &handle), "entry");
	must(m0_lnet_md_attach(lnet, handle, &md, &handle), "memory");
}

/** The process of the daemon; it ends with its parent. */
static void host_main(int ready)
{
	struct m0_lnet_daemon_cfg cfg;
	struct m0_lnet_daemon    *daemon;
	struct m0_lnet           *node;
	struct m0_lnet           *peer;
	struct m0_lnet_eq         eq;
	char                      why[M0_LNET_WHY_BYTES] = "";

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	node = node_open("tcp(127.0.0.1)");
	peer = node_open("tcp(127.0.0.2)");
	peer_open(peer, &eq);
	m0_lnet_daemon_cfg_default(&cfg);
	cfg.ldc_procs_max = cfg.ldc_procs_of_uid_max = 2 * CROWD_MAX;
	must(m0_lnet_daemon_start(&daemon, node, &cfg, path, why), why);
	if (write(ready, "", 1) != 1)
		bench_die("the pipe of the daemon");
	for (;;)
		(void)pause();
}

static void host_start(void)
{
	int  ready[2];
	char byte;

	snprintf(path, sizeof(path), "/tmp/colibri-bench-%d", (int)getpid());
	if (pipe(ready) != 0)
		bench_die("pipe: %s", strerror(errno));
	host = fork();
	if (host < 0)
		bench_die("fork: %s", strerror(errno));
	if (host == 0) {
		close(ready[0]);
		host_main(ready[1]);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		bench_die("the daemon has not started");
	close(ready[0]);
}

static void host_stop(void)
{
	kill(host, SIGKILL);
	(void)waitpid(host, NULL, 0);
	(void)unlink(path);
}

/* ------------------------------------------------------------ a process -- */

struct member {
	struct m0_lnet       *mb_lnet;
	struct m0_lnet_eq     mb_eq;
	struct m0_lnet_op     mb_op;
	struct m0_lnet_handle mb_md;
	void                 *mb_addr;
	m0_bcount_t           mb_bytes;
	struct m0_bufvec      mb_vec;
	_Atomic uint64_t     *mb_done;
	_Atomic uint64_t      mb_left;
	_Atomic uint64_t      mb_ended;
};

static void put(struct member *mb)
{
	must(m0_lnet_put(mb->mb_lnet, mb->mb_md, &mb->mb_op), "put");
}

static void told(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	struct member *mb = container_of(eq, struct member, mb_eq);

	/* A process that stops has one under way. */
	if (ev->ev_type != M0_LNET_EV_ACK || crowd->cr_stop)
		return;
	must(ev->ev_status, "acknowledgement");
	if (mb->mb_done != NULL)
		*mb->mb_done += 1;
	if (mb->mb_left > 0) {
		mb->mb_left--;
		put(mb);
	}
	mb->mb_ended++;
}

static void member_open(struct member *mb, bool inline_)
{
	char               why[M0_LNET_WHY_BYTES] = "";
	struct m0_lnet_cfg cfg;

	memset(mb, 0, sizeof(*mb));
	m0_lnet_cfg_default(&cfg);
	snprintf(cfg.lc_attach, sizeof(cfg.lc_attach), "%s", path);
	cfg.lc_inline = inline_;
	must(m0_lnet_open(&mb->mb_lnet, &cfg, why), why);
}

/** Memory to put from. */
static void member_bind(struct member *mb)
{
	const struct m0_lnet_process_id peer = {
		.lp_pid = M0_LNET_PID_LUSTRE,
	};
	struct m0_lnet_md_attr md = { 0 };

	m0_lnet_eq_init(&mb->mb_eq, mb->mb_lnet, &told, 0);
	mb->mb_addr = m0_alloc_aligned(MEMORY_BYTES, MEMORY_SHIFT);
	if (mb->mb_addr == NULL)
		bench_die("no memory");
	must(m0_lnet_mem_register(mb->mb_lnet, mb->mb_addr, MEMORY_BYTES),
	     "register");
	mb->mb_bytes = BYTES;
	mb->mb_vec = (struct m0_bufvec){ { 1, &mb->mb_bytes }, &mb->mb_addr };
	md.mda_vec = &mb->mb_vec;
	md.mda_length = BYTES;
	md.mda_threshold = M0_LNET_MD_THRESHOLD_INF;
	md.mda_eq = &mb->mb_eq;
	must(m0_lnet_md_bind(mb->mb_lnet, &md, &mb->mb_md), "memory");
	mb->mb_op = (struct m0_lnet_op){ .lo_self = m0_lnet_nid_any,
					 .lo_target = peer,
					 .lo_portal = PORTAL,
					 .lo_ack = true };
	must(m0_lnet_nid_parse(&mb->mb_op.lo_target.lp_nid, "127.0.0.2@tcp"),
	     "NID");
}

static void member_close(struct member *mb)
{
	(void)m0_lnet_md_unlink(mb->mb_lnet, mb->mb_md);
	m0_lnet_mem_deregister(mb->mb_lnet, mb->mb_addr, MEMORY_BYTES);
	m0_lnet_close(mb->mb_lnet);
	m0_lnet_eq_fini(&mb->mb_eq);
	m0_free_aligned(mb->mb_addr, MEMORY_BYTES, MEMORY_SHIFT);
}

static void member_wait(struct member *mb, uint64_t ended)
{
	while (mb->mb_ended < ended)
		(void)m0_lnet_progress(mb->mb_lnet);
}

/* ----------------------------------------------------------------- tests -- */

static uint64_t life_run(void *arg, uint64_t nr)
{
	struct member mb;

	(void)arg;
	for (uint64_t i = 0; i < nr; i++) {
		member_open(&mb, true);
		member_bind(&mb);
		put(&mb);
		member_wait(&mb, 1);
		member_close(&mb);
	}
	return nr;
}

static void life(void)
{
	const struct bench_case c = { .c_name = "life", .c_run = &life_run };

	bench_turns(&c, 1);
}

static void do_put(uint64_t nr)
{
	struct member mb;

	member_open(&mb, true);
	member_bind(&mb);
	mb.mb_left = nr > FLIGHT ? nr - FLIGHT : 0;
	for (uint64_t i = 0; i < FLIGHT; i++)
		put(&mb);
	member_wait(&mb, nr > FLIGHT ? nr : FLIGHT);
	member_close(&mb);
}

/** Bytes of memory that this process alone pays for: its own, and its part of what it
 * shares with the daemon. */
static uint64_t memory_of(pid_t pid)
{
	char               name[64];
	char               line[160];
	unsigned long long kib;
	FILE              *f;

	snprintf(name, sizeof(name), "/proc/%d/smaps_rollup", (int)pid);
	f = fopen(name, "r");
	if (f == NULL)
		bench_die("%s: %s", name, strerror(errno));
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "Pss: %llu kB", &kib) == 1) {
			fclose(f);
			return kib << 10;
		}
	bench_die("%s: no Pss", name);
}

static void wait_for(_Atomic unsigned *counter, unsigned nr)
{
	time_t until = time(NULL) + WAIT_S;

	while (*counter < nr) {
		if (time(NULL) > until)
			bench_die("%u of %u processes are there", *counter, nr);
		doze(POLL_MS);
	}
}

/** Waits until all processes have come here. */
static void meet(_Atomic unsigned *counter)
{
	++*counter;
	wait_for(counter, crowd->cr_nr);
}

static void member_main(unsigned i)
{
	uint64_t      before;
	struct member mb;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A page that several have is shared out among them, so all have to be there. */
	meet(&crowd->cr_born);
	before = memory_of(getpid());
	meet(&crowd->cr_weighed);
	member_open(&mb, false);
	mb.mb_done = &crowd->cr_done[i];
	meet(&crowd->cr_open);
	crowd->cr_bytes[i] = memory_of(getpid()) - before;
	member_bind(&mb);
	crowd->cr_ready++;
	while (!crowd->cr_go)
		doze(POLL_MS);
	mb.mb_left = UINT64_MAX;
	put(&mb);
	while (!crowd->cr_stop)
		doze(POLL_MS);
	mb.mb_left = 0;
	member_close(&mb);
	_exit(0);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void shares(unsigned nr, double seconds)
{
	uint64_t done[CROWD_MAX];
	uint64_t all = 0;

	for (unsigned i = 0; i < nr; i++)
		done[i] = crowd->cr_done[i];
	/* The first messages make connections. */
	doze((long)(seconds * 1000));
	for (unsigned i = 0; i < nr; i++) {
		done[i] = crowd->cr_done[i] - done[i];
		all += done[i];
	}
	qsort(done, nr, sizeof(done[0]), &by_size);
	bench_line("crowd.share", (double)done[nr - 1] / (double)(done[0] ?: 1),
		   "max/min");
	bench_line("crowd.rate", (double)all / seconds / 1e6, "Mop/s");
}

static void crowd_do(unsigned nr, double seconds)
{
	uint64_t before = memory_of(host);
	uint64_t bytes = 0;

	crowd->cr_nr = nr;
	for (unsigned i = 0; i < nr; i++) {
		pid_t pid = fork();

		if (pid < 0)
			bench_die("fork: %s", strerror(errno));
		if (pid == 0)
			member_main(i);
	}
	wait_for(&crowd->cr_ready, nr);
	for (unsigned i = 0; i < nr; i++)
		bytes += crowd->cr_bytes[i];
	bench_line("crowd.process", (double)bytes / nr, "bytes");
	bench_line("crowd.daemon", (double)(memory_of(host) - before) / nr,
		   "bytes");
	bench_line("crowd.bytes",
		   (double)(bytes + memory_of(host) - before) / nr, "bytes");
	crowd->cr_go = true;
	doze(500);
	shares(nr, seconds);
	crowd->cr_stop = true;
	for (unsigned i = 0; i < nr; i++)
		(void)wait(NULL);
}

int main(int argc, char **argv)
{
	int         i = bench_options(argc, argv, usage);
	const char *arg[3] = { "", "0", "0" };

	for (int j = 0; j < 3 && i + j < argc; j++)
		arg[j] = argv[i + j];
	crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (crowd == MAP_FAILED)
		bench_die("no shared memory");
	host_start();
	if (strcmp(arg[0], "life") == 0)
		life();
	else if (strcmp(arg[0], "crowd") == 0 && atoi(arg[1]) > 1 &&
		 atoi(arg[1]) <= CROWD_MAX && atof(arg[2]) > 0)
		crowd_do((unsigned)atoi(arg[1]), atof(arg[2]));
	else if (strcmp(arg[0], "do") == 0 && strcmp(arg[1], "put") == 0)
		do_put(strtoull(arg[2], NULL, 0));
	else
		bench_die("%s", usage);
	host_stop();
	return 0;
}
