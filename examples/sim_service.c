/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A service and its client in the simulator: a counter that is added to in an
 * update stream, on a network that loses what is on its way, is cut, and with a
 * server that dies and comes back. Each addition must be made exactly once and
 * in order. Virtual time; a run of some minutes of it takes milliseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <m0/lnet.h>
#include <m0/rpc.h>
#include <m0/sim_net.h>
#include <m0/xlnet.h>

enum {
	ADDS_NR = 200
};

static struct m0_sim *sim;

static void must(int rc, const char *what)
{
	if (rc != 0)
		m0_sim_fail(sim, "%s: %d", what, rc);
}

/* -- the service: as it would run outside of the simulator ------------------ */

static struct m0_rpc_item_type_ops add_ops;

static struct m0_rpc_item_type add = { .rit_opcode = 64,
				       .rit_ops = &add_ops,
				       .rit_flags = M0_RPC_ITEM_TYPE_REQUEST |
						    M0_RPC_ITEM_TYPE_MUTABO,
				       .rit_name = "add" };
static struct m0_rpc_item_type sum = { .rit_opcode = 65,
				       .rit_ops = &m0_rpc_raw_ops,
				       .rit_flags = M0_RPC_ITEM_TYPE_REPLY,
				       .rit_name = "sum" };

static void add_update(struct m0_rpc_item *request, struct m0_rpc_tx *tx)
{
	const struct m0_rpc_raw *body = m0_rpc_raw_of(request);
	struct m0_rpc_slice      key = { "sum", 3 };
	struct m0_rpc_slice      kept;
	struct m0_rpc_raw       *reply;
	uint64_t                 total = 0;
	uint64_t                 nr;
	int                      rc;

	if (body->rr_nr != sizeof nr) {
		m0_rpc_reply_rc(request, -EPROTO);
		return;
	}
	memcpy(&nr, body->rr_data, sizeof nr);
	if (m0_rpc_tx_get(tx, key, &kept) == 0)
		memcpy(&total, kept.sl_data, sizeof total);
	total += nr;
	rc = m0_rpc_tx_put(tx, key,
			   (struct m0_rpc_slice){ &total, sizeof total });
	reply = rc == 0 ? m0_rpc_raw_new(&sum, &total, sizeof total) : NULL;
	if (reply == NULL)
		m0_rpc_reply_rc(request, rc != 0 ? rc : -ENOMEM);
	else
		m0_rpc_reply_post(request, &reply->rr_item);
}

static void add_deliver(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *request)
{
	(void)machine;
	m0_rpc_update_post(request, &add_update);
}

/* -- a program on a host: what main() of the service would do ---------------- */

struct program {
	struct m0_sim_host   *host;
	struct m0_lnet       *lnet;
	struct m0_net_domain  dom;
	struct m0_rpc_machine machine;
};

static void program_begin(struct program *p, const char *addr,
			  struct m0_rpc_store *store)
{
	static struct m0_lnet_cfg lnet_cfg;
	struct m0_rpc_cfg         rpc_cfg;
	char                      why[M0_LNET_WHY_BYTES];
	char                      text[64];

	m0_sim_host_use(p->host); /* whose program it is */
	m0_lnet_cfg_default(&lnet_cfg);
	(void)snprintf(text, sizeof text, "tcp(%s)", addr);
	must(m0_lnet_cfg_networks(&lnet_cfg, text, why), "networks");
	must(m0_lnet_open(&p->lnet, &lnet_cfg, why), "a node");
	must(m0_net_lnet_use(p->lnet), "its use");
	must(m0_net_domain_init(&p->dom, &m0_net_lnet_xprt), "a domain");
	m0_rpc_cfg_init(&rpc_cfg);
	rpc_cfg.rc_timeout_ns = 300 * M0_TIME_ONE_SECOND;
	rpc_cfg.rc_store = store;
	(void)snprintf(text, sizeof text, "%s@tcp:12345:40:1", addr);
	must(m0_rpc_machine_init(&p->machine, &p->dom, &rpc_cfg, text, NULL,
				 M0_BUFFER_ANY_COLOUR, 0, 0),
	     "a machine");
	m0_sim_host_use(NULL);
}

static void program_end(struct program *p)
{
	m0_rpc_machine_fini(&p->machine);
	m0_net_domain_fini(&p->dom);
	must(m0_net_lnet_unuse(p->lnet), "the end of its use");
	m0_lnet_close(p->lnet);
}

/* -- the test ---------------------------------------------------------------- */

static struct program        server;
static struct program        client;
static struct m0_rpc_raw     asked[ADDS_NR];
static uint64_t              numbers[ADDS_NR];
static struct m0_rpc_session session;

/* The server's disk outlives it. */
static struct m0_rpc_store     disk;
static struct m0_rpc_store_ops disk_ops;

static void disk_make(void)
{
	must(m0_rpc_store_volatile_init(&disk, 1 << 20), "a store");
	disk_ops = *disk.rst_ops;
	disk_ops.rso_durable = true;
	disk.rst_ops = &disk_ops;
}

static void ask(unsigned i)
{
	numbers[i] = i + 1;
	memset(&asked[i], 0, sizeof asked[i]);
	m0_rpc_raw_init(&asked[i], &add, &numbers[i], sizeof numbers[i], NULL);
	asked[i].rr_item.ri_session = &session;
	asked[i].rr_item.ri_stream = 1;
	must(m0_rpc_post(&asked[i].rr_item), "a post");
}

static void answer_check(unsigned i)
{
	struct m0_rpc_item *item = &asked[i].rr_item;
	uint64_t            total;

	must(m0_rpc_item_wait_for_reply(item, M0_TIME_NEVER), "an answer");
	must(m0_rpc_item_error(item), "an addition");
	memcpy(&total, m0_rpc_raw_of(item->ri_reply)->rr_data, sizeof total);
	if (total != (uint64_t)(i + 1) * (i + 2) / 2)
		m0_sim_fail(sim, "after %u additions the sum is %lu", i + 1,
			    (unsigned long)total);
	m0_rpc_item_fini(item);
}

/* One bad thing. */
static void trouble(void)
{
	switch (m0_sim_rand(sim, 4)) {
	case 0: /* what is on its way is lost, and both know */
		m0_sim_host_reset(server.host);
		break;
	case 1: /* nothing comes through, and nobody knows */
		m0_sim_host_cut(server.host, true);
		m0_sim_run_ms(sim, m0_sim_rand(sim, 20000));
		m0_sim_host_cut(server.host, false);
		break;
	case 2: /* only the answers are lost */
		m0_sim_host_cut_way(server.host, client.host, true);
		m0_sim_run_ms(sim, m0_sim_rand(sim, 20000));
		m0_sim_host_cut_way(server.host, client.host, false);
		break;
	case 3: /* the server dies, and comes back */
		m0_sim_host_crash(server.host);
		program_end(&server);
		m0_sim_run_ms(sim, m0_sim_rand(sim, 5000));
		m0_sim_host_restart(server.host);
		program_begin(&server, "10.0.0.1", &disk);
		break;
	}
}

static void run(struct m0_sim *the_sim, void *arg)
{
	static const struct m0_sim_stream_cfg net = {
		.ssc_rate_bytes = 100 << 20,
		.ssc_latency_ns = 50 * 1000,
		.ssc_jitter_ns = 20 * 1000,
	};
	struct m0_uint128  none = { 0 };
	struct m0_rpc_conn conn = { 0 };
	unsigned           i;

	(void)arg;
	sim = the_sim;
	m0_sim_net_init(sim, &net);
	server.host = m0_sim_host_add("server", "10.0.0.1");
	client.host = m0_sim_host_add("client", "10.0.0.2");
	m0_sim_host_late(client.host, m0_sim_rand(sim, 1000000));
	m0_sim_host_skew(server.host, (int64_t)m0_sim_rand(sim, 3600) *
					      (int64_t)M0_TIME_ONE_SECOND);
	disk_make();
	program_begin(&server, "10.0.0.1", &disk);
	program_begin(&client, "10.0.0.2", NULL);
	must(m0_rpc_conn_create(&conn, none, "10.0.0.1@tcp:12345:40:1",
				&client.machine, 0, M0_TIME_NEVER),
	     "a connection");
	memset(&session, 0, sizeof session);
	must(m0_rpc_session_create(&session, &conn, M0_TIME_NEVER),
	     "a session");
	for (i = 0; i < ADDS_NR; ++i) {
		ask(i);
		if (m0_sim_rand(sim, 8) == 0)
			m0_sim_run_ms(sim, m0_sim_rand(sim, 10));
		if (m0_sim_rand(sim, 30) == 0)
			trouble();
	}
	for (i = 0; i < ADDS_NR; ++i)
		answer_check(i);
	(void)m0_rpc_session_destroy(&session, M0_TIME_NEVER);
	(void)m0_rpc_conn_destroy(&conn, M0_TIME_NEVER);
	program_end(&client);
	program_end(&server);
	m0_rpc_store_volatile_fini(&disk);
	m0_sim_net_fini();
}

int main(void)
{
	m0_log_level_set(M0_LOG_ERROR); /* of networks that fail */
	add_ops = m0_rpc_raw_ops;
	add_ops.rito_deliver = &add_deliver;
	if (m0_net_init() != 0 || m0_rpc_item_type_register(&add) != 0 ||
	    m0_rpc_item_type_register(&sum) != 0)
		return 1;
	m0_sim_for_each_seed(1, 20, &run, NULL);
	m0_rpc_item_type_deregister(&sum);
	m0_rpc_item_type_deregister(&add);
	m0_net_fini();
	return 0;
}
