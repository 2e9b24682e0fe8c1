/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The hop between the two nodes or ends of a row: a router, or a relay of bare
 * sockets. Each is another process of this program, which ends with the first.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../lib/older.h"
#include "lnet_duo.h"
#include "../lib/raw_end.h"
#include "m0/lnet.h"

enum {
	ARGS_MAX = 12
};

/** Starts this program with the arguments; it says a byte once it is ready. */
static void start(char *const args[])
{
	int  fds[2];
	char byte;
	char fd[12];

	if (pipe(fds) != 0)
		bench_die("hop: no pipe");
	if (fork() == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		snprintf(fd, sizeof(fd), "%d", fds[1]);
		setenv("BENCH_READY", fd, 1);
		execv("/proc/self/exe", args);
		_exit(1);
	}
	close(fds[1]);
	if (read(fds[0], &byte, 1) != 1)
		bench_die("hop: %s did not start", args[1]);
	close(fds[0]);
}

static void ready(void)
{
	const char *fd = getenv("BENCH_READY");

	if (fd == NULL || write(atoi(fd), "r", 1) != 1)
		bench_die("hop: nobody waits");
	close(atoi(fd));
}

/* ------------------------------------------------------------------ router -- */

void bench_router_start(unsigned serial, unsigned credits, unsigned router)
{
	char  text[5][24];
	char  name[] = "lnetvia";
	char  what[] = "router";
	char *args[] = { name,    what,    text[0], text[1],
			 text[2], text[3], text[4], NULL };

	snprintf(text[0], sizeof(text[0]), "%u", serial);
	snprintf(text[1], sizeof(text[1]), "%u", credits);
	snprintf(text[2], sizeof(text[2]), "%d", 20000 + getpid() % 12000);
	/* A router polls as long as nobody else wants its processor. */
	snprintf(text[3], sizeof(text[3]), "%llu",
		 (unsigned long long)bench_opt.o_spin_ns);
	snprintf(text[4], sizeof(text[4]), "%u", router);
	start(args);
}

struct m0_lnet *bench_router_open(struct m0_lnet_cfg *cfg, unsigned serial,
				  unsigned credits)
{
	struct m0_lnet *lnet;
	char            why[M0_LNET_WHY_BYTES] = "";
	char            text[80];

	snprintf(text, sizeof(text), "tcp(127.0.%u.9),tcp1(127.0.%u.10)",
		 serial, serial);
	if (m0_lnet_cfg_networks(cfg, text, why) != 0)
		bench_die("router: %s", why);
	if (credits > 0)
		cfg->lc_peer_credits = credits;
	cfg->lc_accept = M0_LNET_ACCEPT_ALL;
	cfg->lc_src_port_max = 0;
	cfg->lc_src_port_min = 0;
	BENCH_LNET_SET(cfg, lc_routing.lgc_on, true);
	if (m0_lnet_open(&lnet, cfg, why) != 0)
		bench_die("router: %s", why);
	return lnet;
}

static void router(char **argv)
{
	struct m0_lnet_cfg cfg;
	unsigned           switches = (unsigned)atoi(argv[6]);

	m0_lnet_cfg_default(&cfg);
	cfg.lc_port = (uint16_t)atoi(argv[4]);
	cfg.lc_spin_ns = strtoll(argv[5], NULL, 0);
	BENCH_LNET_SET(&cfg, lc_routing.lgc_cut_through,
		       (switches & BENCH_ROUTER_CUT) != 0);
	BENCH_LNET_SET(&cfg, lc_routing.lgc_splice,
		       (switches & BENCH_ROUTER_SPLICE) != 0);
	(void)bench_router_open(&cfg, (unsigned)atoi(argv[2]),
				(unsigned)atoi(argv[3]));
	ready();
	for (;;)
		pause();
}

/* ------------------------------------------------------------------- relay -- */

static void inherit(int fd)
{
	(void)fcntl(fd, F_SETFD, 0);
}

void bench_relay_start(struct raw_end *ends, size_t bytes, bool both)
{
	struct raw_end in[2];
	struct raw_end out[2];
	char           text[3][24];
	char           name[] = "lnetvia";
	char           what[] = "relay";
	char           what_both[] = "relay-both";
	char          *args[] = { name,    both ? what_both : what,
				  text[0], text[1],
				  text[2], NULL };

	memset(in, 0, sizeof(in));
	memset(out, 0, sizeof(out));
	raw_ends_connect(in);
	raw_ends_connect(out);
	inherit(in[1].e_fd);
	inherit(out[0].e_fd);
	snprintf(text[0], sizeof(text[0]), "%d", in[1].e_fd);
	snprintf(text[1], sizeof(text[1]), "%d", out[0].e_fd);
	snprintf(text[2], sizeof(text[2]), "%zu", bytes);
	start(args);
	close(in[1].e_fd);
	close(out[0].e_fd);
	ends[0].e_fd = in[0].e_fd;
	ends[1].e_fd = out[1].e_fd;
}

/** Moves one message; the process ends with the stream. */
static void message_move(int from, int to, char *buf, size_t bytes)
{
	ssize_t nr;
	size_t  at;

	for (at = 0; at < bytes; at += (size_t)nr) {
		nr = read(from, buf + at, bytes - at);
		if (nr <= 0)
			exit(0);
	}
	for (at = 0; at < bytes; at += (size_t)nr) {
		nr = write(to, buf + at, bytes - at);
		if (nr <= 0)
			exit(0);
	}
}

static void relay(char **argv)
{
	size_t bytes = strtoull(argv[4], NULL, 0);
	char  *buf = bench_huge(bytes);

	ready();
	for (;;)
		message_move(atoi(argv[2]), atoi(argv[3]), buf, bytes);
}

/** Takes messages of both ends in turns. */
static void relay_both(char **argv)
{
	size_t        bytes = strtoull(argv[4], NULL, 0);
	char         *buf = bench_huge(bytes);
	struct pollfd ends[2] = {
		{ .fd = atoi(argv[2]), .events = POLLIN },
		{ .fd = atoi(argv[3]), .events = POLLIN },
	};

	ready();
	for (;;) {
		if (poll(ends, 2, -1) < 0)
			bench_die("relay: poll");
		for (unsigned i = 0; i < 2; i++) {
			if (ends[i].revents != 0)
				message_move(ends[i].fd, ends[1 - i].fd, buf,
					     bytes);
		}
	}
}

bool bench_hop_main(int argc, char **argv)
{
	if (argc == 7 && strcmp(argv[1], "router") == 0)
		router(argv);
	if (argc == 5 && strcmp(argv[1], "relay") == 0)
		relay(argv);
	if (argc == 5 && strcmp(argv[1], "relay-both") == 0)
		relay_both(argv);
	return false;
}
