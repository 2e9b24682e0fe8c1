/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A client has as many large results offered as it may, all at one address of the
 * service, when that dies, and its other address comes up. The client goes on there
 * without waiting until the offers end.
 */
#include <stdlib.h>
#include <string.h>

#include "m0/easy.h"
#include "m0/sim_net.h"

enum {
	OP_GET,
	/** More than the service offers to one client. */
	CALLS_NR = 80,
	VALUE_BYTES = 256 << 10
};

/** Less than an offer lasts, 60 s. LNet gives up the dead address after 10 s. */
#define LIMIT_NS (40 * M0_TIME_ONE_SECOND)

static struct m0_sim  *sim;
static struct m0_easy *service;
static struct m0_easy *client;
static uint8_t         value[VALUE_BYTES];
static unsigned        asked_nr;

static void must(int rc, const char *what)
{
	if (rc != 0)
		m0_sim_fail(sim, "%s: %d", what, rc);
}

static int get(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	(void)ctx;
	(void)rq;
	++asked_nr;
	rp->ep_data = (struct m0_rpc_slice){ value, sizeof value };
	return 0;
}

static const struct m0_easy_op ops[] = { { OP_GET, M0_EASY_QUERY, "get",
					   get } };

static void up(struct m0_easy **ret, struct m0_sim_host *host,
	       const char *place)
{
	struct m0_easy_cfg cfg = {
		.en_ops = ret == &service ? ops : NULL,
		.en_ops_nr = ARRAY_SIZE(ops),
		.en_timeout_ns = 600 * M0_TIME_ONE_SECOND,
	};
	char why[M0_EASY_WHY_BYTES];

	m0_sim_host_use(host);
	must(m0_easy_open(ret, place, &cfg, why), why);
	m0_sim_host_use(NULL);
}

static void run(struct m0_sim *the_sim, void *arg)
{
	static const struct m0_sim_stream_cfg net = {
		.ssc_rate_bytes = 20 << 20,
		.ssc_latency_ns = 50 * 1000,
	};
	static struct m0_easy_call calls[CALLS_NR];
	struct m0_sim_host        *server;
	m0_time_t                  begin;
	unsigned                   i;

	(void)arg;
	sim = the_sim;
	asked_nr = 0;
	m0_sim_net_init(sim, &net);
	server = m0_sim_host_add("server", "10.0.0.1 10.1.0.1");
	up(&service, server, "lnet:tcp(10.0.0.1),tcp1(10.1.0.1)");
	m0_sim_link_up("10.1.0.1", false);
	up(&client, m0_sim_host_add("client", "10.0.0.2 10.1.0.2"),
	   "lnet:tcp(10.0.0.2),tcp1(10.1.0.2):10.0.0.1@tcp,10.1.0.1@tcp1");
	for (i = 0; i < CALLS_NR; ++i) {
		calls[i] = (struct m0_easy_call){ .ec_opcode = OP_GET };
		must(m0_easy_begin(client, &calls[i]), "a get");
	}
	m0_sim_run_ms(sim, 50 + m0_sim_rand(sim, 100));
	if (asked_nr < CALLS_NR)
		m0_sim_fail(sim, "%u queries came", asked_nr);
	m0_sim_link_up("10.1.0.1", true);
	m0_sim_link_up("10.0.0.1", false);
	begin = m0_sim_now(sim);
	for (i = 0; i < CALLS_NR; ++i) {
		must(m0_easy_wait(&calls[i], M0_TIME_NEVER), "a get");
		if (calls[i].ec_out_nr != VALUE_BYTES)
			m0_sim_fail(sim, "get %u has lost bytes", i);
		m0_free(calls[i].ec_out);
	}
	if (m0_sim_now(sim) - begin > LIMIT_NS)
		m0_sim_fail(sim,
			    "offers at a dead address held up others: %u ms",
			    (unsigned)((m0_sim_now(sim) - begin) /
				       M0_TIME_ONE_MSEC));
	m0_easy_close(client);
	m0_easy_close(service);
	m0_sim_net_fini();
}

int main(int argc, char **argv)
{
	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_for_each_seed(1, argc > 1 ? (unsigned)atoi(argv[1]) : 3, &run,
			     NULL);
	return 0;
}
