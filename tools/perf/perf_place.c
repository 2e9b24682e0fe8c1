/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Chooses what perf does, and opens the nodes for it. */
#include <sched.h>
#include <stdio.h>

#include "perf_args.h"
#include "../base/stop.h"

enum {
	TIMEOUT_DEF_MS = 30000
};

/* The things that perf can do. */
enum {
	LOCAL = 1,
	CLIENT = 2,
	SERVER = 4
};

static unsigned what(const struct perf_args *args)
{
	return args->pa_listen           ? SERVER
	       : args->pa_server != NULL ? CLIENT
					 : LOCAL;
}

static const struct {
	const char *fi_name;
	unsigned    fi_what;
} fits[PERF_GIVEN_NR] = {
	[PERF_GIVEN_TEST] = { "--test", LOCAL | CLIENT },
	[PERF_GIVEN_SIZE] = { "--size", LOCAL | CLIENT },
	[PERF_GIVEN_DEPTH] = { "--depth", LOCAL | CLIENT },
	[PERF_GIVEN_TIME] = { "--time", LOCAL | CLIENT },
	[PERF_GIVEN_MODE] = { "--mode other than async", LOCAL },
	[PERF_GIVEN_WORKERS] = { "--workers", LOCAL },
	[PERF_GIVEN_THREADS] = { "--threads", LOCAL },
	[PERF_GIVEN_PEER_NET] = { "--peer-net", LOCAL },
	[PERF_GIVEN_ONCE] = { "--once", SERVER },
	[PERF_GIVEN_EP] = { "--ep", CLIENT | SERVER },
	[PERF_GIVEN_TIMEOUT] = { "--timeout", CLIENT | SERVER },
	[PERF_GIVEN_REATTACH] = { "--reattach", SERVER },
	[PERF_GIVEN_REPORT] = { "--report", LOCAL | CLIENT },
	[PERF_GIVEN_BASELINE] = { "--baseline", LOCAL | CLIENT },
	[PERF_GIVEN_SAVE_BASELINE] = { "--save-baseline", LOCAL | CLIENT },
};

static void fits_check(const struct perf_args *args)
{
	static const char *const where[] = {
		[LOCAL] = "when both sides are in this process, not with EP "
			  "or --listen",
		[LOCAL | CLIENT] = "from the side that measures; with --listen "
				   "the client chooses",
		[SERVER] = "with --listen",
		[CLIENT | SERVER] = "with EP or --listen",
	};
	size_t i;

	for (i = 0; i < PERF_GIVEN_NR; ++i) {
		if ((args->pa_given & (1U << i)) &&
		    !(fits[i].fi_what & what(args)))
			tool_fail_set(args->pa_fail, TOOL_USAGE,
				      "%s is accepted %s", fits[i].fi_name,
				      where[fits[i].fi_what]);
	}
	if ((args->pa_given & (1U << PERF_GIVEN_THREADS)) &&
	    args->pa_setup.pu_mode != PERF_INLINE)
		tool_fail_set(args->pa_fail, TOOL_USAGE,
			      "--threads %" PRIu64
			      " is accepted with --mode inline only",
			      args->pa_threads);
	if (args->pa_listen && args->pa_server != NULL)
		tool_fail_set(args->pa_fail, TOOL_USAGE,
			      "'%s': with --listen no operand is accepted",
			      args->pa_server);
}

int perf_what_check(struct perf_args *args)
{
	bool        far = what(args) != LOCAL;
	const char *name = args->pa_transport;

	fits_check(args);
	if (name == NULL)
		name = far ? tool_place_xprt(args->pa_listen ? args->pa_ep
							     : args->pa_server)
			   : TOOL_XPRT_DEFAULT;
	args->pa_setup.pu_xprt = tool_xprt_find(name, args->pa_fail);
	if (args->pa_setup.pu_xprt == NULL)
		return args->pa_fail->tf_exit;
	if (far && !args->pa_setup.pu_xprt->txp_far)
		tool_fail_set(args->pa_fail, TOOL_USAGE,
			      "--transport '%s' reaches this process only; use "
			      "lnet or sunrpc for %s",
			      name, args->pa_listen ? "--listen" : "EP");
	if (far && args->pa_setup.pu_cpus_nr > 1)
		tool_fail_set(args->pa_fail, TOOL_USAGE,
			      "--cpus is one processor with EP and --listen: "
			      "each side has its own");
	if (args->pa_server != NULL)
		(void)tool_place_check(args->pa_setup.pu_xprt, args->pa_server,
				       strlen(args->pa_server), false, "EP",
				       args->pa_fail);
	if (args->pa_ep != NULL)
		(void)tool_place_check(args->pa_setup.pu_xprt, args->pa_ep,
				       strlen(args->pa_ep), true, "--ep",
				       args->pa_fail);
	return args->pa_fail->tf_exit;
}

/* All threads inherit it, the node's too. */
static int process_confine(struct perf_args *args)
{
	struct perf_setup *setup = &args->pa_setup;
	cpu_set_t          set;

	if (setup->pu_cpus_nr == 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET(setup->pu_cpus[0], &set);
	setup->pu_cpus_nr = 0;
	if (sched_setaffinity(0, sizeof set, &set) == 0)
		return 0;
	return tool_fail_set(args->pa_fail, TOOL_FAILED, "--cpus: %s",
			     tool_errtext(errno));
}

/* Before the node is opened. */
static int far_prepare(struct perf_args *args)
{
	struct perf_setup *setup = &args->pa_setup;

	if (args->pa_timeout_ms == 0)
		args->pa_timeout_ms = TIMEOUT_DEF_MS;
	lnet_opts_timeout(&args->pa_opts, args->pa_timeout_ms);
	/* A thread that spins looks busy, which is no measure of its work. */
	if (!setup->pu_spin_set) {
		setup->pu_spin_set = true;
		setup->pu_spin_ns = 0;
		args->pa_opts.nop_cfg.lc_spin_ns = 0;
	}
	args->pa_stop_fd = stop_init();
	if (args->pa_stop_fd < 0)
		return tool_fail_set(args->pa_fail, TOOL_FAILED, "signals: %s",
				     tool_errtext(args->pa_stop_fd));
	return process_confine(args);
}

static int server_check(struct perf_args *args)
{
	if (!tool_place_is_alone(&args->pa_places[PERF_A], args->pa_server))
		return tool_place_peer_check(&args->pa_places[PERF_A],
					     args->pa_server, "EP",
					     args->pa_fail);
	return tool_fail_set(args->pa_fail, TOOL_USAGE,
			     "EP '%s' is at this process' own NID; two "
			     "processes of a host need two, say --net "
			     "'tcp(127.0.0.1)'",
			     args->pa_server);
}

const char *perf_addr_beside(char        ret[M0_NET_LNET_XEP_ADDR_LEN],
			     const char *addr)
{
	const char *colon = strrchr(addr, ':');

	M0_PRE(colon != NULL);
	snprintf(ret, M0_NET_LNET_XEP_ADDR_LEN, "%.*s:*", (int)(colon - addr),
		 addr);
	return ret;
}

/* B's node is as A's, on a network of its own. */
static int peer_opts_make(struct perf_args *args)
{
	struct lnet_opts *peer = &args->pa_peer_opts;
	char              why[M0_LNET_WHY_BYTES] = "";

	*peer = args->pa_opts;
	peer->nop_net_option = "--peer-net";
	peer->nop_cfg.lc_nets_nr = 0;
	if (m0_lnet_cfg_networks(&peer->nop_cfg, args->pa_peer_net, why) != 0)
		return tool_fail_set(args->pa_fail, TOOL_USAGE,
				     "--peer-net '%.100s' is not accepted: "
				     "%.300s; accepted is a network as "
				     "tcp(127.0.0.2)",
				     args->pa_peer_net, why);
	return 0;
}

int perf_places_open(struct perf_args *args)
{
	struct perf_setup      *setup = &args->pa_setup;
	const struct tool_xprt *xprt = setup->pu_xprt;
	bool                    polled = setup->pu_mode == PERF_INLINE;
	bool                    two = args->pa_peer_net != NULL;
	bool far = args->pa_server != NULL || args->pa_listen;
	int  i;
	int  rc = 0;

	if (two && !xprt->txp_node)
		return tool_fail_set(args->pa_fail, TOOL_USAGE,
				     "--peer-net is accepted with --transport "
				     "lnet only");
	if (setup->pu_spin_set && xprt->txp_node)
		args->pa_opts.nop_cfg.lc_spin_ns =
			(int64_t)min64u(setup->pu_spin_ns, M0_TIME_ONE_SECOND);
	if (two)
		rc = peer_opts_make(args);
	if (far)
		rc = far_prepare(args);
	if (rc == 0)
		rc = tool_place_open(&args->pa_places[PERF_A], xprt,
				     &args->pa_opts, two || args->pa_listen,
				     polled);
	if (rc == 0)
		rc = tool_place_own_check(&args->pa_places[PERF_A], args->pa_ep,
					  args->pa_fail);
	if (rc == 0 && args->pa_server != NULL)
		rc = server_check(args);
	if (rc == 0 && two)
		rc = tool_place_open(&args->pa_places[PERF_B], xprt,
				     &args->pa_peer_opts, two, polled);
	for (i = 0; i < PERF_SIDES_NR; ++i)
		setup->pu_lnets[i] = args->pa_places[i].tpl_lnet;
	for (i = 0; two && rc == 0 && i < PERF_SIDES_NR; ++i)
		setup->pu_addrs[i] = tool_place_any(&args->pa_places[i],
						    args->pa_addrs[i],
						    sizeof args->pa_addrs[i]);
	return rc;
}

void perf_places_close(struct perf_args *args)
{
	tool_place_close(&args->pa_places[PERF_B]);
	tool_place_close(&args->pa_places[PERF_A]);
}
