/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * kv_server.c and kv_client.c in the simulator, unchanged: clients put, get and
 * delete values while the service, its host, or the network fails. What a client
 * has put must be there, as a whole, until it is put again; what was under way when
 * a client or the service died is there or not, but nothing between. Virtual
 * time; a seed takes milliseconds.
 *
 *   sim_kv [SEEDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <m0/log.h>
#include <m0/sim_libc.h>
#include <m0/sim_program.h>

int server_main(int argc, char **argv);
int client_main(int argc, char **argv);

#define main server_main
#include "kv_server.c"
#undef main
#define main client_main
#include "kv_client.c"
#undef main

enum {
	KEYS_NR = 3,
	CLIENTS_NR = 3,
	ROUNDS_NR = 20,
	VALUE_MAX = 400000
};

static struct m0_sim         *sim;
static struct m0_sim_host    *hosts[1 + CLIENTS_NR];
static struct m0_sim_program *server;

static void server_start(void)
{
	static const char *const args[] = { "lnet:tcp(10.0.0.1)", "/var/kv",
					    NULL };
	const struct m0_sim_program_cfg cfg = { .spq_name = "kv_server",
						.spq_host = hosts[0],
						.spq_main = server_main,
						.spq_args = args };

	server = m0_sim_program_start(sim, &cfg);
}

/* A key is of one client, so it knows what the key has. */
struct client {
	struct m0_sim_program *cl_program;
	int                    cl_op;
	unsigned               cl_key;
	/** The byte that the values are full of, and their sizes; 0: no value. Two,
	 * while it is open which of them is there. */
	size_t  cl_nr[KEYS_NR][2];
	uint8_t cl_byte[KEYS_NR][2];
	char    cl_value[VALUE_MAX];
};

static struct client clients[CLIENTS_NR];

static void client_start(unsigned i)
{
	static const char *const words[] = { "put", "get", "del" };
	struct client           *cl = &clients[i];
	char                     place[64];
	char                     key[16];
	const char *const args[] = { place, words[cl->cl_op], key, NULL };
	struct m0_sim_program_cfg cfg = { .spq_name = "kv_client",
					  .spq_host = hosts[1 + i],
					  .spq_main = client_main,
					  .spq_args = args };

	(void)snprintf(place, sizeof place, "lnet:tcp(10.0.0.%u):10.0.0.1@tcp",
		       2 + i);
	(void)snprintf(key, sizeof key, "key %u.%u", i, cl->cl_key);
	if (cl->cl_op == KV_PUT) {
		cfg.spq_input = cl->cl_value;
		cfg.spq_input_nr = cl->cl_nr[cl->cl_key][1];
	}
	cl->cl_program = m0_sim_program_start(sim, &cfg);
}

static void client_draw(unsigned i)
{
	struct client *cl = &clients[i];
	unsigned       k;

	cl->cl_op = (int)m0_sim_rand(sim, KV_OPS_NR);
	k = cl->cl_key = (unsigned)m0_sim_rand(sim, KEYS_NR);
	cl->cl_nr[k][1] = 0;
	if (cl->cl_op == KV_PUT) {
		cl->cl_byte[k][1] = (uint8_t)(1 + m0_sim_rand(sim, 255));
		cl->cl_nr[k][1] = 1 + m0_sim_rand(sim, VALUE_MAX);
		memset(cl->cl_value, cl->cl_byte[k][1], cl->cl_nr[k][1]);
	}
	client_start(i);
}

/* Is the output of a get the value? */
static bool is_value(const char *out, size_t nr, size_t want_nr, uint8_t byte)
{
	return nr == want_nr && (uint8_t)out[0] == byte &&
	       memcmp(out, out + 1, nr - 1) == 0;
}

static bool has_ended(void *program)
{
	return m0_sim_program_has_ended(program);
}

static void client_end(unsigned i)
{
	struct client *cl = &clients[i];
	unsigned       k = cl->cl_key;
	size_t         nr;
	const char    *out;
	bool           right;
	int            status;

	(void)m0_sim_run_until(sim, has_ended, cl->cl_program, M0_TIME_NEVER);
	out = m0_sim_program_output(cl->cl_program, &nr);
	right = cl->cl_op != KV_GET ||
		(nr == 0 ? cl->cl_nr[k][0] == 0
			 : is_value(out, nr, cl->cl_nr[k][0],
				    cl->cl_byte[k][0]));
	status = m0_sim_program_end(cl->cl_program);
	if (status == M0_SIM_PROGRAM_DIED) {
		/* Its put or del may have been made: find out. */
		m0_sim_host_restart(hosts[1 + i]);
		if (cl->cl_op == KV_GET)
			return;
		client_start(i);
		client_end(i);
		return;
	}
	if (!right)
		m0_sim_fail(sim, "key %u.%u has another value", i, k);
	/* There is nothing to get or to delete. */
	if (status != (cl->cl_op != KV_PUT && cl->cl_nr[k][0] == 0) &&
	    !(cl->cl_op == KV_DEL && status == 1))
		m0_sim_fail(sim, "client %u ends with %d", i, status);
	if (cl->cl_op == KV_GET)
		return;
	cl->cl_nr[k][0] = cl->cl_nr[k][1];
	cl->cl_byte[k][0] = cl->cl_byte[k][1];
}

/* The server's host is down. */
static void server_again(void)
{
	(void)m0_sim_program_end(server);
	m0_sim_run_ms(sim, m0_sim_rand(sim, 3000));
	m0_sim_host_restart(hosts[0]);
	server_start();
}

static void trouble(void)
{
	unsigned i = 1 + (unsigned)m0_sim_rand(sim, CLIENTS_NR);

	switch (m0_sim_rand(sim, 6)) {
	case 0: /* the process is killed */
		m0_sim_host_kill(hosts[0]);
		server_again();
		break;
	case 1: /* the host loses power */
		m0_sim_host_crash(hosts[0]);
		server_again();
		break;
	case 2:
		m0_sim_host_cut(hosts[0], true);
		m0_sim_run_ms(sim, m0_sim_rand(sim, 10000));
		m0_sim_host_cut(hosts[0], false);
		break;
	case 3:
		m0_sim_host_reset(hosts[i]);
		break;
	case 4: /* a client dies */
		m0_sim_host_kill(hosts[i]);
		break;
	default:
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
	static const char *const addrs[] = { "10.0.0.1", "10.0.0.2", "10.0.0.3",
					     "10.0.0.4" };
	struct m0_sim_disk      *disk;
	unsigned                 i;
	unsigned                 k;

	(void)arg;
	sim = the_sim;
	memset(clients, 0, sizeof clients);
	m0_sim_net_init(sim, &net);
	for (i = 0; i < 1 + CLIENTS_NR; ++i)
		hosts[i] = m0_sim_host_add(addrs[i], addrs[i]);
	disk = m0_sim_disk_add(hosts[0], 16 << 20);
	server_start();
	for (k = 0; k < ROUNDS_NR; ++k) {
		for (i = 0; i < CLIENTS_NR; ++i)
			client_draw(i);
		m0_sim_run_ms(sim, m0_sim_rand(sim, 30));
		trouble();
		for (i = 0; i < CLIENTS_NR; ++i)
			client_end(i);
	}
	m0_sim_program_signal(server, SIGTERM);
	if (m0_sim_program_end(server) != 0)
		m0_sim_fail(sim, "the server does not end well");
	m0_sim_disk_del(disk);
	m0_sim_net_fini();
}

int main(int argc, char **argv)
{
	m0_log_level_set(M0_LOG_ERROR); /* of networks that fail */
	/* A program ends some time after its host has died; LNet's usual 50 s are
	 * about as long as clients wait. */
	setenv("M0_LNET_TIMEOUT_MS", "5000", 1);
	m0_sim_for_each_seed(1, argc > 1 ? (unsigned)atoi(argv[1]) : 5, run,
			     NULL);
	return 0;
}
