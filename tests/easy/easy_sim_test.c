/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A service and its client in the simulator, with crashes of the service, cuts
 * and lost connections: additions are made exactly once, and values of several
 * MiB come and go whole. In half of the seeds both have two networks, one of
 * which is down now and then, and calls go on over the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "m0/easy.h"
#include "m0/sim_net.h"

enum {
	OP_ADD,
	OP_PUT,
	OP_GET,
	ROUNDS_NR = 40,
	ADDS_NR = 4,
	VALUE_MAX = 3 << 20
};

static struct m0_sim      *sim;
static struct m0_sim_host *host[2];
static bool                has_two;
/* The address that is down; NULL: none is. */
static const char *down;
/* Another trouble than that came in this round. */
static bool troubled;

/* Transfers over a dead link end by time-outs of LNet, of 10 s. */
#define LINK_NS (90 * M0_TIME_ONE_SECOND)

static struct m0_easy         *service;
static struct m0_easy         *client;
static struct m0_rpc_store     disk;
static struct m0_rpc_store_ops disk_ops;
static uint8_t                 value[VALUE_MAX];

static void must(int rc, const char *what)
{
	if (rc != 0)
		m0_sim_fail(sim, "%s: %d", what, rc);
}

/* -------------------------------------------------------------- the service -- */

static int add(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	static uint64_t     sum;
	struct m0_rpc_slice kept;

	(void)ctx;
	sum = 0;
	if (m0_rpc_tx_get(rq->erq_tx, rq->erq_args, &kept) == 0)
		memcpy(&sum, kept.sl_data, sizeof sum);
	++sum;
	rp->ep_data = (struct m0_rpc_slice){ &sum, sizeof sum };
	return m0_rpc_tx_put(rq->erq_tx, rq->erq_args, rp->ep_data);
}

static int put(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	(void)ctx;
	(void)rp;
	return m0_rpc_tx_put(rq->erq_tx, rq->erq_args, rq->erq_data);
}

static int get(void *ctx, const struct m0_easy_request *rq,
	       struct m0_easy_reply *rp)
{
	(void)ctx;
	return m0_rpc_tx_get(rq->erq_tx, rq->erq_args, &rp->ep_data);
}

static const struct m0_easy_op ops[] = {
	{ OP_ADD, M0_EASY_UPDATE, "add", add },
	{ OP_PUT, M0_EASY_UPDATE, "put", put },
	{ OP_GET, M0_EASY_QUERY, "get", get },
};

static void service_up(void)
{
	struct m0_easy_cfg cfg = { .en_ops = ops,
				   .en_ops_nr = ARRAY_SIZE(ops),
				   .en_store = &disk };
	char               why[M0_EASY_WHY_BYTES];

	m0_sim_host_use(host[0]);
	must(m0_easy_open(&service,
			  has_two ? "lnet:tcp(10.0.0.1),tcp1(10.1.0.1)"
				  : "lnet:tcp(10.0.0.1)",
			  &cfg, why),
	     why);
	m0_sim_host_use(NULL);
}

static void client_up(void)
{
	struct m0_easy_cfg cfg = { .en_timeout_ns = 600 * M0_TIME_ONE_SECOND };
	char               why[M0_EASY_WHY_BYTES];

	m0_sim_host_use(host[1]);
	must(m0_easy_open(&client,
			  has_two ? "lnet:tcp(10.0.0.2),tcp1(10.1.0.2):"
				    "10.0.0.1@tcp,10.1.0.1@tcp1"
				  : "lnet:tcp(10.0.0.2):10.0.0.1@tcp",
			  &cfg, why),
	     why);
	m0_sim_host_use(NULL);
}

/* --------------------------------------------------------------- the client -- */

static void link_down(void)
{
	down = m0_sim_rand(sim, 2) == 0 ? "10.0.0.1" : "10.1.0.1";
	m0_sim_link_up(down, false);
}

static void link_up(void)
{
	if (down != NULL)
		m0_sim_link_up(down, true);
	down = NULL;
}

static void trouble(void)
{
	unsigned kind = (unsigned)m0_sim_rand(sim, has_two ? 8 : 4);

	troubled = troubled || kind < 4;
	switch (kind) {
	default:
		link_up();
		link_down();
		break;
	case 0:
		m0_sim_host_reset(host[0]);
		break;
	case 1:
		m0_sim_host_cut(host[0], true);
		m0_sim_run_ms(sim, m0_sim_rand(sim, 20000));
		m0_sim_host_cut(host[0], false);
		break;
	case 2:
		m0_sim_host_cut_way(host[0], host[1], true);
		m0_sim_run_ms(sim, m0_sim_rand(sim, 20000));
		m0_sim_host_cut_way(host[0], host[1], false);
		break;
	case 3:
		m0_sim_host_crash(host[0]);
		m0_easy_close(service);
		m0_sim_run_ms(sim, m0_sim_rand(sim, 5000));
		m0_sim_host_restart(host[0]);
		service_up();
		break;
	}
}

static void adds_check(struct m0_easy_call *calls, uint64_t *sums,
		       uint64_t before)
{
	uint64_t all = 0;
	unsigned i;

	for (i = 0; i < ADDS_NR; ++i) {
		must(m0_easy_wait(&calls[i], M0_TIME_NEVER), "an addition");
		all += sums[i] - before;
	}
	/* Each sum comes once, in any order. */
	if (all != ADDS_NR * (ADDS_NR + 1) / 2)
		m0_sim_fail(sim, "additions were lost, or made twice");
}

static void round_make(unsigned round)
{
	struct m0_easy_call adds[ADDS_NR] = { { .ec_opcode = OP_ADD } };
	struct m0_easy_call put_call = { .ec_opcode = OP_PUT,
					 .ec_kind = M0_EASY_UPDATE,
					 .ec_args = { "v", 1 } };
	struct m0_easy_call get_call = { .ec_opcode = OP_GET,
					 .ec_args = { "v", 1 } };
	m0_bcount_t         nr = 1 + m0_sim_rand(sim, VALUE_MAX);
	uint64_t            sums[ADDS_NR];
	m0_time_t           begin = m0_sim_now(sim);
	unsigned            i;

	troubled = false;
	memset(value, (int)round + 1, nr);
	put_call.ec_data = (struct m0_rpc_slice){ value, nr };
	must(m0_easy_begin(client, &put_call), "a put");
	for (i = 0; i < ADDS_NR; ++i) {
		adds[i] = (struct m0_easy_call){ .ec_opcode = OP_ADD,
						 .ec_kind = M0_EASY_UPDATE,
						 .ec_args = { "sum", 3 },
						 .ec_out = &sums[i],
						 .ec_out_max = 8 };
		must(m0_easy_begin(client, &adds[i]), "an addition");
	}
	m0_sim_run_ms(sim, m0_sim_rand(sim, 40));
	if (m0_sim_rand(sim, 3) == 0)
		trouble();
	adds_check(adds, sums, (uint64_t)round * ADDS_NR);
	must(m0_easy_wait(&put_call, M0_TIME_NEVER), "a put");
	m0_free(put_call.ec_out);
	must(m0_easy_begin(client, &get_call), "a get");
	m0_sim_run_ms(sim, m0_sim_rand(sim, 20));
	if (m0_sim_rand(sim, 3) == 0)
		trouble();
	must(m0_easy_wait(&get_call, M0_TIME_NEVER), "a get");
	if (get_call.ec_out_nr != nr || memcmp(get_call.ec_out, value, nr) != 0)
		m0_sim_fail(sim, "the value of round %u is another", round);
	m0_free(get_call.ec_out);
	if (!troubled && m0_sim_now(sim) - begin > LINK_NS)
		m0_sim_fail(sim, "a dead link held up round %u", round);
	if (m0_sim_rand(sim, 3) == 0)
		link_up();
}

static void run(struct m0_sim *the_sim, void *arg)
{
	static const struct m0_sim_stream_cfg net = {
		.ssc_rate_bytes = 100 << 20,
		.ssc_latency_ns = 50 * 1000,
		.ssc_jitter_ns = 20 * 1000,
	};
	unsigned i;

	(void)arg;
	sim = the_sim;
	m0_sim_net_init(sim, &net);
	has_two = m0_sim_rand(sim, 2) == 0;
	down = NULL;
	host[0] = m0_sim_host_add("server", "10.0.0.1 10.1.0.1");
	host[1] = m0_sim_host_add("client", "10.0.0.2 10.1.0.2");
	must(m0_rpc_store_volatile_init(&disk, 64 << 20), "a store");
	disk_ops = *disk.rst_ops;
	disk_ops.rso_durable = true;
	disk.rst_ops = &disk_ops;
	service_up();
	if (has_two)
		link_down();
	client_up();
	if (m0_sim_elapsed_ns(sim) > LINK_NS)
		m0_sim_fail(sim, "a dead link held up the client's open");
	for (i = 0; i < ROUNDS_NR; ++i)
		round_make(i);
	m0_easy_close(client);
	m0_easy_close(service);
	m0_rpc_store_volatile_fini(&disk);
	m0_sim_net_fini();
}

int main(int argc, char **argv)
{
	m0_log_level_set(M0_LOG_ERROR);
	m0_sim_for_each_seed(1, argc > 1 ? (unsigned)atoi(argv[1]) : 3, &run,
			     NULL);
	return 0;
}
