/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Measures the memory that idle RPC clients cost their service. The service is in this
 * process. Another process has the clients: each is an RPC machine of its own with a
 * connection, a session of 64 streams with windows of 64, and one finished request
 * in each of four streams. The program prints lines `name value unit`.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../lib/bench.h"
#include "m0/lnet.h"
#include "m0/rpc.h"
#include "m0/xlnet.h"
#include "../net/net_world.h"

static const char usage[] = "rpcidle [-c CPU,CPU] CLIENTS, 1 to 1000";

enum {
	ASK = 100,
	TELL,
	STREAMS = 64,
	WINDOW = 64,
	USED = 4,
	MSG_BYTES = 8192,
	QUEUE_LEN = 2,
	CLIENTS_MAX = 1000,
	TEXT_BYTES = 80,
	TMID = 5
};

struct client {
	struct m0_rpc_machine cl_machine;
	struct m0_rpc_conn    cl_conn;
	struct m0_rpc_session cl_session;
};

static struct m0_rpc_item_type_ops ask_ops;
static struct m0_rpc_item_type     ask = {
	    .rit_opcode = ASK,
	    .rit_ops = &ask_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	    .rit_name = "ask",
};
static struct m0_rpc_item_type tell = {
	.rit_opcode = TELL,
	.rit_ops = &m0_rpc_raw_ops,
	.rit_flags = M0_RPC_ITEM_TYPE_REPLY,
	.rit_name = "tell",
};

static struct m0_net_domain dom;
static unsigned             port;

static void must(int rc, const char *what)
{
	if (rc != 0)
		bench_die("rpcidle: %s: %s", what, m0_errname(rc));
}

static void deliver(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	struct m0_rpc_raw *reply = m0_rpc_raw_new(&tell, "tell", 4);

	(void)machine;
	if (reply == NULL)
		bench_die("rpcidle: no memory");
	m0_rpc_reply_post(item, &reply->rr_item);
}

static void node_open(int side)
{
	struct m0_lnet_cfg cfg;
	struct m0_lnet    *lnet;
	char               why[M0_LNET_WHY_BYTES] = "";
	char               text[TEXT_BYTES];

	ask_ops = m0_rpc_raw_ops;
	ask_ops.rito_deliver = deliver;
	must(m0_net_init(), "init");
	must(m0_rpc_item_type_register(&ask), "type");
	must(m0_rpc_item_type_register(&tell), "type");
	m0_lnet_cfg_default(&cfg);
	snprintf(text, sizeof text, "tcp(127.0.0.%d)", 1 + side);
	must(m0_lnet_cfg_networks(&cfg, text, why), why);
	cfg.lc_port = (uint16_t)port;
	cfg.lc_accept = M0_LNET_ACCEPT_ALL;
	cfg.lc_src_port_max = 0;
	cfg.lc_src_port_min = 0;
	must(m0_lnet_open(&lnet, &cfg, why), why);
	must(m0_net_lnet_use(lnet), "use");
	must(m0_net_domain_init(&dom, &m0_lnet_xprt), "domain");
}

static void client_up(struct client *c)
{
	struct m0_uint128 none = { 0 };
	struct m0_rpc_cfg cfg;
	char              text[TEXT_BYTES];
	uint32_t          i;

	m0_rpc_cfg_init(&cfg);
	cfg.rc_inline = true;
	snprintf(text, sizeof text, "127.0.0.2@tcp:%d:%d:*", M0_NET_LNET_PID,
		 M0_NET_LNET_PORTAL);
	must(m0_rpc_machine_init(&c->cl_machine, &dom, &cfg, text, NULL,
				 M0_BUFFER_ANY_COLOUR, MSG_BYTES, QUEUE_LEN),
	     "a client's machine");
	snprintf(text, sizeof text, "127.0.0.1@tcp:%d:%d:%d", M0_NET_LNET_PID,
		 M0_NET_LNET_PORTAL, TMID);
	must(m0_rpc_conn_create(&c->cl_conn, none, text, &c->cl_machine, 0,
				M0_TIME_NEVER),
	     "connection");
	must(m0_rpc_session_init(&c->cl_session, &c->cl_conn), "session");
	c->cl_session.s_streams_nr = STREAMS;
	c->cl_session.s_window = WINDOW;
	must(m0_rpc_session_establish_sync(&c->cl_session, M0_TIME_NEVER),
	     "session");
	for (i = 1; i <= USED; ++i) {
		struct m0_rpc_raw raw = { 0 };

		m0_rpc_raw_init(&raw, &ask, "ask", 4, NULL);
		raw.rr_item.ri_session = &c->cl_session;
		raw.rr_item.ri_stream = i;
		must(m0_rpc_post_sync(&raw.rr_item), "request");
		m0_rpc_item_fini(&raw.rr_item);
	}
}

static void say(int fd)
{
	if (write(fd, "", 1) != 1)
		bench_die("rpcidle: write: %s", strerror(errno));
}

static void hear(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		bench_die("rpcidle: the other process has ended");
}

/* One client to warm up, then all the others. */
static void clients(unsigned nr, int in, int out)
{
	struct client *c = calloc(nr + 1, sizeof *c);
	unsigned       i;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (c == NULL)
		bench_die("rpcidle: no memory");
	hear(in);
	node_open(1);
	for (i = 0; i <= nr; ++i) {
		client_up(&c[i]);
		if (i == 0) {
			say(out);
			hear(in);
		}
	}
	say(out);
	hear(in);
}

static double heap(void)
{
	struct mallinfo2 info = mallinfo2();

	return (double)(info.uordblks + info.hblkhd);
}

static double rss(void)
{
	FILE         *f = fopen("/proc/self/statm", "r");
	unsigned long all = 0;
	unsigned long nr = 0;

	if (f == NULL || fscanf(f, "%lu %lu", &all, &nr) != 2)
		bench_die("rpcidle: statm");
	fclose(f);
	return (double)nr * (double)sysconf(_SC_PAGESIZE);
}

static void service(unsigned nr, int in, int out)
{
	struct m0_rpc_machine *machine = aligned_alloc(128, 8192);
	struct m0_rpc_stats    stats;
	char                   text[TEXT_BYTES];
	double                 heap_was;
	double                 rss_was;

	_Static_assert(sizeof *machine <= 8192, "a machine has grown");
	node_open(0);
	snprintf(text, sizeof text, "127.0.0.1@tcp:%d:%d:%d", M0_NET_LNET_PID,
		 M0_NET_LNET_PORTAL, TMID);
	must(m0_rpc_machine_init(machine, &dom, NULL, text, NULL,
				 M0_BUFFER_ANY_COLOUR, 0, 0),
	     "the service's machine");
	say(out);
	hear(in);
	heap_was = heap();
	rss_was = rss();
	say(out);
	hear(in);
	m0_rpc_machine_get_stats(machine, &stats, false);
	bench_line("heap", (heap() - heap_was) / nr, "bytes_per_client");
	bench_line("rss", (rss() - rss_was) / nr, "bytes_per_client");
	bench_line("counted", (double)stats.rs_clients_bytes / (nr + 1),
		   "bytes_per_client");
	bench_line("clients", (double)stats.rs_clients, "clients");
}

int main(int argc, char **argv)
{
	int      at = bench_options(argc, argv, usage);
	unsigned nr = (unsigned)atoi(argv[at]);
	int      to[2];
	int      from[2];
	pid_t    pid;

	if (nr == 0 || nr > CLIENTS_MAX)
		bench_die("%s", usage);
	port = world_port();
	if (pipe(to) != 0 || pipe(from) != 0)
		bench_die("rpcidle: pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		bench_die("rpcidle: fork: %s", strerror(errno));
	if (pid == 0) {
		close(to[1]);
		close(from[0]);
		clients(nr, to[0], from[1]);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	service(nr, from[0], to[1]);
	fflush(stdout);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	_exit(0);
}
