/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The provider of room lnd/verbs on a real device, here soft-RoCE in a virtual
 * machine: two of them in one reactor, a server at VERBS_SERVER and a client at
 * VERBS_CLIENT, by the contract of lnd/o2ib/o2ib_dev.h.
 * [r.M0.net.rdma] [r.M0.net.ib]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lnd/verbs/verbs.h"
#include "loop/loop_reactor.h"
#include "os/os.h"
#include "vm/ibv.h"

enum {
	PORT = 987,
	PORT_OF_NOBODY = 986,
	DEPTH = 8,
	RECVS_NR = 2 * DEPTH + 2,
	SENDS_NR = 64,
	BULK_BYTES = 1 << 20,
	MSG_BYTES = 64,
	PINGS_NR = 200
};
#define LIMIT_NS (60 * M0_TIME_ONE_SECOND)
#define NOTHING  1

/* Ways in which the server handles a request. */
enum answer {
	ACCEPT,
	REJECT,
	IGNORE
};

struct end {
	struct m0_o2ib_dev *vse_dev;
	struct m0_o2ib_port vse_port;
	struct m0_o2ib_qp  *vse_qp;
	enum answer         vse_answer;
	/** Buffers are kept, not given back. */
	bool vse_keeps;
	/** Messages are sent back. */
	bool     vse_echoes;
	unsigned vse_requests_nr;
	unsigned vse_ups_nr;
	unsigned vse_received_nr;
	unsigned vse_sent_nr;
	unsigned vse_refused_nr;
	unsigned vse_overs_nr;
	unsigned vse_port_events_nr;
	int      vse_failed;
	int      vse_broken;
	int      vse_sent_status;
	uint64_t vse_sent_id;
	/** Private data, and the last message. */
	uint8_t  vse_private[M0_O2IB_PRIVATE_BYTES_MAX];
	size_t   vse_private_nr;
	uint8_t  vse_bytes[M0_O2IB_RBUF_BYTES];
	uint32_t vse_nr;
};

struct rig {
	struct m0_reactor *vsr_reactor;
	struct end         vsr_server;
	struct end         vsr_client;
	/** Memory of both, registered. */
	struct m0_o2ib_mem vsr_source;
	struct m0_o2ib_mem vsr_sink;
	bool               vsr_sleeps;
};

static struct rig the_rig;

static const struct m0_o2ib_qp_cfg qp_cfg = {
	.oqc_recvs_nr = RECVS_NR,
	.oqc_sends_nr = SENDS_NR,
	.oqc_retry_nr = 5,
	.oqc_rnr_retry_nr = 6,
	.oqc_rnr_timer = 12,
	.oqc_tos = -1,
	.oqc_resolve_ms = 5000,
};

static int chain_send(struct end *end, const void *bytes, uint32_t nr,
		      unsigned wrs_nr)
{
	struct m0_o2ib_seg seg = { .osg_addr = (void *)(uintptr_t)bytes,
				   .osg_bytes = nr };
	struct m0_o2ib_wr  wrs[DEPTH];
	unsigned           i;

	for (i = 0; i < wrs_nr; ++i)
		wrs[i] = (struct m0_o2ib_wr){
			.owr_op = M0_O2IB_OP_SEND,
			.owr_is_signalled = i + 1 == wrs_nr,
			.owr_is_inline = true,
			.owr_segs_nr = 1,
			.owr_segs = &seg,
			.owr_id = 1000 + i,
		};
	return end->vse_dev->odv_ops->odo_post(end->vse_qp, wrs, wrs_nr);
}

static void on_request(struct m0_o2ib_port       *port,
		       struct m0_o2ib_request    *request,
		       const struct m0_host_addr *from, const void *bytes,
		       size_t nr)
{
	struct end                   *end = port->ort_user;
	const struct m0_o2ib_dev_ops *ops = end->vse_dev->odv_ops;
	uint8_t                       answer[M0_O2IB_PRIVATE_BYTES_MAX];

	assert_int_equal(from->sa_bytes_nr, 4);
	assert_true(nr <= sizeof end->vse_private);
	memcpy(end->vse_private, bytes, nr);
	end->vse_private_nr = nr;
	++end->vse_requests_nr;
	memset(answer, 0xac, sizeof answer);
	if (end->vse_answer == ACCEPT)
		assert_int_equal(ops->odo_accept(request, end, &qp_cfg, answer,
						 sizeof answer, &end->vse_qp),
				 0);
	else if (end->vse_answer == REJECT)
		ops->odo_reject(request, answer, 24);
}

static void on_up(void *user, const void *bytes, size_t nr)
{
	struct end *end = user;

	++end->vse_ups_nr;
	if (nr > 0)
		memcpy(end->vse_private, bytes, nr);
	end->vse_private_nr = nr;
}

static void on_refused(void *user, const void *bytes, size_t nr)
{
	struct end *end = user;

	memcpy(end->vse_private, bytes, nr);
	end->vse_private_nr = nr;
	++end->vse_refused_nr;
}

static void on_failed(void *user, int status)
{
	((struct end *)user)->vse_failed = status;
}

static void on_received(void *user, struct m0_o2ib_rbuf *rbuf)
{
	struct end *end = user;

	++end->vse_received_nr;
	end->vse_nr = rbuf->orb_nr;
	memcpy(end->vse_bytes, rbuf->orb_bytes, rbuf->orb_nr);
	if (!end->vse_keeps)
		end->vse_dev->odv_ops->odo_repost(end->vse_qp, rbuf);
	if (end->vse_echoes)
		assert_int_equal(
			chain_send(end, end->vse_bytes, end->vse_nr, 1), 0);
}

static void on_sent(void *user, uint64_t id, int status)
{
	struct end *end = user;

	++end->vse_sent_nr;
	end->vse_sent_id = id;
	end->vse_sent_status = status;
}

static void on_broken(void *user, int status)
{
	struct end *end = user;

	assert_int_equal(end->vse_broken, NOTHING);
	end->vse_broken = status;
}

static void on_over(void *user)
{
	++((struct end *)user)->vse_overs_nr;
}

static void on_port(struct m0_o2ib_port *port)
{
	++((struct end *)port->ort_user)->vse_port_events_nr;
}

static const struct m0_o2ib_dev_up up_ops = {
	.odu_request = on_request,
	.odu_up = on_up,
	.odu_refused = on_refused,
	.odu_failed = on_failed,
	.odu_received = on_received,
	.odu_sent = on_sent,
	.odu_broken = on_broken,
	.odu_over = on_over,
	.odu_port = on_port,
};

/* Steps until the expression holds, which it has to within the limit. */
#define run_until(cond)                                       \
	do {                                                  \
		m0_time_t run_end = m0_time_now() + LIMIT_NS; \
		while (!(cond)) {                             \
			assert_true(m0_time_now() < run_end); \
			step();                               \
		}                                             \
	} while (0)

static void step(void)
{
	struct m0_reactor *reactor = the_rig.vsr_reactor;
	m0_time_t          now = m0_time_now();
	bool               more = m0_reactor_pass(reactor, now);

	m0_reactor_flush(reactor);
	if (the_rig.vsr_sleeps && !more)
		reactor->rtr_ops->rtro_sleep(reactor,
					     now + 100 * M0_TIME_ONE_MSEC);
}

static void addr_set(struct m0_host_addr *addr, const char *variable,
		     uint16_t port)
{
	const char *text = getenv(variable);

	assert_non_null(text);
	addr->sa_bytes_nr = 4;
	addr->sa_port = port;
	assert_int_equal(inet_pton(AF_INET, text, addr->sa_bytes), 1);
}

static void end_open(struct end *end, const char *variable, bool listens)
{
	static const struct m0_o2ib_dev_cfg cfg = { .odg_qps_max = 16 };
	char                                why[M0_LND_WHY_BYTES] = "";

	M0_SET0(end);
	assert_int_equal(m0_verbs_provider.opr_create(
				 &end->vse_dev, the_rig.vsr_reactor, &cfg, why),
			 0);
	end->vse_dev->odv_up = &up_ops;
	end->vse_broken = NOTHING;
	addr_set(&end->vse_port.ort_addr, variable, listens ? PORT : 0);
	end->vse_port.ort_listens = listens;
	end->vse_port.ort_user = end;
	if (end->vse_dev->odv_ops->odo_port_open(end->vse_dev, &end->vse_port,
						 why) != 0)
		fail_msg("%s", why);
	assert_true(end->vse_port.ort_is_up);
	assert_true(end->vse_port.ort_depth_max >= DEPTH);
}

static void end_close(struct end *end)
{
	const struct m0_o2ib_dev_ops *ops = end->vse_dev->odv_ops;

	if (end->vse_qp != NULL && end->vse_failed == 0 &&
	    end->vse_refused_nr == 0) {
		ops->odo_break(end->vse_qp);
		run_until(end->vse_overs_nr == 1);
	}
	if (end->vse_qp != NULL)
		ops->odo_destroy(end->vse_qp);
	ops->odo_port_close(end->vse_dev, &end->vse_port);
}

static void *memory(struct end *end, struct m0_o2ib_mem *mem)
{
	mem->ome_bytes = BULK_BYTES;
	mem->ome_addr = m0_alloc_aligned(BULK_BYTES, 12);
	assert_non_null(mem->ome_addr);
	assert_int_equal(end->vse_dev->odv_ops->odo_mem_add(end->vse_dev, mem),
			 0);
	return mem->ome_addr;
}

static int setup(void **state)
{
	(void)state;
	M0_SET0(&the_rig);
	assert_int_equal(m0_loop_reactor_create(&the_rig.vsr_reactor), 0);
	end_open(&the_rig.vsr_server, "VERBS_SERVER", true);
	end_open(&the_rig.vsr_client, "VERBS_CLIENT", false);
	memset(memory(&the_rig.vsr_client, &the_rig.vsr_source), 0x5a,
	       BULK_BYTES);
	memset(memory(&the_rig.vsr_server, &the_rig.vsr_sink), 0, BULK_BYTES);
	return 0;
}

static void memory_free(struct end *end, struct m0_o2ib_mem *mem)
{
	end->vse_dev->odv_ops->odo_mem_del(end->vse_dev, mem);
	m0_free_aligned(mem->ome_addr, mem->ome_bytes, 12);
}

static int teardown(void **state)
{
	(void)state;
	end_close(&the_rig.vsr_client);
	end_close(&the_rig.vsr_server);
	memory_free(&the_rig.vsr_client, &the_rig.vsr_source);
	memory_free(&the_rig.vsr_server, &the_rig.vsr_sink);
	the_rig.vsr_client.vse_dev->odv_ops->odo_fini(
		the_rig.vsr_client.vse_dev);
	the_rig.vsr_server.vse_dev->odv_ops->odo_fini(
		the_rig.vsr_server.vse_dev);
	the_rig.vsr_reactor->rtr_ops->rtro_destroy(the_rig.vsr_reactor);
	return 0;
}

static void client_connect(uint16_t port, const struct m0_o2ib_qp_cfg *cfg)
{
	struct end         *client = &the_rig.vsr_client;
	struct m0_host_addr to;
	uint8_t             hello[M0_O2IB_PRIVATE_BYTES_MAX];

	memset(hello, 0xc0, sizeof hello);
	addr_set(&to, "VERBS_SERVER", port);
	assert_int_equal(client->vse_dev->odv_ops->odo_connect(
				 &client->vse_port, client, &to, 1023, cfg,
				 hello, sizeof hello, &client->vse_qp),
			 0);
}

static void both_up(const struct m0_o2ib_qp_cfg *cfg)
{
	client_connect(PORT, cfg);
	run_until(the_rig.vsr_client.vse_ups_nr == 1 &&
		  the_rig.vsr_server.vse_ups_nr == 1);
}

/* The private data of request and acceptance arrive whole. */
static void connection_carries_private_data(void **state)
{
	struct end *client = &the_rig.vsr_client;

	(void)state;
	the_rig.vsr_sleeps = true;
	client_connect(PORT, &qp_cfg);
	run_until(the_rig.vsr_server.vse_requests_nr == 1);
	assert_int_equal(the_rig.vsr_server.vse_private[55], 0xc0);
	run_until(client->vse_ups_nr == 1);
	assert_int_equal(client->vse_private_nr, M0_O2IB_PRIVATE_BYTES_MAX);
	assert_int_equal(client->vse_private[55], 0xac);
	assert_int_equal(client->vse_qp->oqp_sends_nr, SENDS_NR);
	assert_true(client->vse_qp->oqp_inline_max >= 148);
	run_until(the_rig.vsr_server.vse_ups_nr == 1);
	assert_int_equal(the_rig.vsr_server.vse_private_nr, 0);
}

/* A rejection brings its bytes, and ends the connection. */
static void rejection_is_told_with_its_bytes(void **state)
{
	struct end *client = &the_rig.vsr_client;

	(void)state;
	the_rig.vsr_server.vse_answer = REJECT;
	client_connect(PORT, &qp_cfg);
	run_until(client->vse_refused_nr == 1);
	assert_true(client->vse_private_nr >= 24);
	assert_int_equal(client->vse_private[23], 0xac);
}

/* A request that the user ignores is rejected without bytes of ours. */
static void request_without_answer_is_rejected(void **state)
{
	(void)state;
	the_rig.vsr_server.vse_answer = IGNORE;
	client_connect(PORT, &qp_cfg);
	run_until(the_rig.vsr_client.vse_refused_nr == 1);
}

/* Nobody listens at this service. */
static void connection_to_nobody_fails(void **state)
{
	(void)state;
	client_connect(PORT_OF_NOBODY, &qp_cfg);
	run_until(the_rig.vsr_client.vse_failed != 0);
	assert_int_equal(the_rig.vsr_client.vse_failed, -EHOSTUNREACH);
}

/* A connection that is being made ends by odu_over when it is broken. */
static void break_before_up_ends_the_connection(void **state)
{
	struct end *client = &the_rig.vsr_client;

	(void)state;
	client_connect(PORT, &qp_cfg);
	client->vse_dev->odv_ops->odo_break(client->vse_qp);
	run_until(client->vse_overs_nr == 1);
	assert_int_equal(client->vse_ups_nr, 0);
	assert_int_equal(client->vse_broken, NOTHING);
}

static void pings(bool sleeps)
{
	struct end *client = &the_rig.vsr_client;
	uint8_t     msg[MSG_BYTES];
	m0_time_t   begin;
	uint64_t    calls = client->vse_dev->odv_counts.odc_calls_nr;
	unsigned    i;

	the_rig.vsr_server.vse_echoes = true;
	both_up(&qp_cfg);
	the_rig.vsr_sleeps = sleeps;
	begin = m0_time_now();
	for (i = 1; i <= PINGS_NR; ++i) {
		memset(msg, (int)i, sizeof msg);
		assert_int_equal(chain_send(client, msg, sizeof msg, 1), 0);
		run_until(client->vse_received_nr == i);
		assert_int_equal(client->vse_nr, MSG_BYTES);
		assert_memory_equal(client->vse_bytes, msg, sizeof msg);
	}
	printf("%u round trips of %u bytes, %s: %llu us each\n", PINGS_NR,
	       MSG_BYTES, sleeps ? "asleep" : "polled",
	       (unsigned long long)((m0_time_now() - begin) / PINGS_NR / 1000));
	run_until(client->vse_sent_nr == PINGS_NR);
	if (!sleeps)
		assert_int_equal(client->vse_dev->odv_counts.odc_calls_nr,
				 calls);
}

/* No system call of ours is made for data while nobody sleeps. */
static void messages_arrive_when_polled(void **state)
{
	(void)state;
	pings(false);
}

/* The descriptor wakes who sleeps, each time. */
static void messages_wake_who_sleeps(void **state)
{
	(void)state;
	pings(true);
}

/* A chain takes one doorbell, and one completion stands for all of it. */
static void chain_takes_one_doorbell(void **state)
{
	struct end                      *client = &the_rig.vsr_client;
	const struct m0_o2ib_dev_counts *counts = &client->vse_dev->odv_counts;
	uint8_t                          msg[MSG_BYTES] = { 1 };
	unsigned                         i;

	(void)state;
	both_up(&qp_cfg);
	for (i = 1; i <= 20; ++i) {
		assert_int_equal(chain_send(client, msg, sizeof msg, DEPTH), 0);
		run_until(client->vse_sent_nr == i &&
			  the_rig.vsr_server.vse_received_nr == i * DEPTH);
		assert_int_equal(client->vse_sent_id, 1000 + DEPTH - 1);
	}
	assert_int_equal(counts->odc_sends_nr, 20 * DEPTH);
	assert_int_equal(counts->odc_send_bells_nr, 20);
	assert_int_equal(counts->odc_signalled_nr, 20);
	assert_true(the_rig.vsr_server.vse_dev->odv_counts.odc_recv_bells_nr <=
		    1 + 20 * DEPTH);
}

/* A write of `bytes` to the sink of the server, and a message behind it. */
static int bulk_post(uint32_t bytes, uint32_t beyond)
{
	struct end        *client = &the_rig.vsr_client;
	struct end        *server = &the_rig.vsr_server;
	struct m0_o2ib_seg source = { .osg_addr = the_rig.vsr_source.ome_addr,
				      .osg_bytes = bytes };
	struct m0_o2ib_seg sink = { .osg_addr = the_rig.vsr_sink.ome_addr,
				    .osg_bytes = bytes };
	struct m0_o2ib_map source_map;
	struct m0_o2ib_map sink_map;
	uint8_t            done[60] = { 0xd0 };
	struct m0_o2ib_seg seg = { .osg_addr = done, .osg_bytes = sizeof done };
	struct m0_o2ib_wr  wrs[2] = {
		 { .owr_op = M0_O2IB_OP_WRITE, .owr_segs_nr = 1 },
		 { .owr_op = M0_O2IB_OP_SEND,
		   .owr_is_signalled = true,
		   .owr_is_inline = true,
		   .owr_segs_nr = 1,
		   .owr_segs = &seg,
		   .owr_id = 7 },
	};

	assert_int_equal(client->vse_dev->odv_ops->odo_map(
				 &client->vse_port, &source, 1,
				 M0_O2IB_MAP_SOURCE, &source_map),
			 0);
	assert_int_equal(
		server->vse_dev->odv_ops->odo_map(&server->vse_port, &sink, 1,
						  M0_O2IB_MAP_SINK, &sink_map),
		0);
	wrs[0].owr_segs = &source;
	wrs[0].owr_raddr = (uintptr_t)sink.osg_addr + sink_map.omp_shift +
			   beyond;
	wrs[0].owr_rkey = sink_map.omp_rkey;
	return client->vse_dev->odv_ops->odo_post(client->vse_qp, wrs, 2);
}

/* 1 MiB is written in order, before the message behind it, by one doorbell. */
static void write_arrives_before_the_message_behind_it(void **state)
{
	struct end                      *client = &the_rig.vsr_client;
	const struct m0_o2ib_dev_counts *counts = &client->vse_dev->odv_counts;
	m0_time_t                        begin;

	(void)state;
	both_up(&qp_cfg);
	begin = m0_time_now();
	assert_int_equal(bulk_post(BULK_BYTES, 0), 0);
	run_until(the_rig.vsr_server.vse_received_nr == 1);
	assert_memory_equal(the_rig.vsr_sink.ome_addr,
			    the_rig.vsr_source.ome_addr, BULK_BYTES);
	printf("1 MiB written in %llu us\n",
	       (unsigned long long)((m0_time_now() - begin) / 1000));
	run_until(client->vse_sent_nr == 1);
	assert_int_equal(client->vse_sent_id, 7);
	assert_int_equal(counts->odc_writes_nr, 1);
	assert_int_equal(counts->odc_write_bytes, BULK_BYTES);
	assert_int_equal(counts->odc_send_bells_nr, 1);
	assert_int_equal(counts->odc_signalled_nr, 1);
	assert_int_equal(counts->odc_regs_nr, 0);
}

/* The device refuses a write behind the sink; both ends are told, and end. */
static void write_beyond_the_sink_is_refused(void **state)
{
	struct end *client = &the_rig.vsr_client;

	(void)state;
	both_up(&qp_cfg);
	assert_int_equal(bulk_post(4096, BULK_BYTES - 2048), 0);
	run_until(client->vse_overs_nr == 1);
	assert_int_equal(client->vse_broken, -EREMOTEIO);
	assert_int_equal(client->vse_sent_nr, 0);
	run_until(the_rig.vsr_server.vse_overs_nr == 1);
	assert_true(the_rig.vsr_server.vse_broken != NOTHING);
	assert_int_equal(the_rig.vsr_server.vse_received_nr, 0);
}

/* A peer that posts no receives is found after the retries. */
static void peer_without_receives_ends_the_connection(void **state)
{
	struct m0_o2ib_qp_cfg cfg = qp_cfg;
	struct end           *client = &the_rig.vsr_client;
	uint8_t               msg[MSG_BYTES] = { 1 };
	unsigned              i;

	(void)state;
	cfg.oqc_rnr_retry_nr = 1;
	the_rig.vsr_server.vse_keeps = true;
	both_up(&cfg);
	for (i = 0; i <= RECVS_NR; ++i)
		assert_int_equal(chain_send(client, msg, sizeof msg, 1), 0);
	run_until(client->vse_overs_nr == 1);
	assert_int_equal(client->vse_broken, -ENOBUFS);
	assert_int_equal(client->vse_sent_status, -ENOBUFS);
	assert_int_equal(client->vse_sent_nr, RECVS_NR + 1);
	assert_int_equal(the_rig.vsr_server.vse_received_nr, RECVS_NR);
}

/* The side that disconnects hears odu_over alone; the peer hears of it after the message
 * that was sent before. */
static void break_is_told_to_the_peer(void **state)
{
	struct end *client = &the_rig.vsr_client;
	struct end *server = &the_rig.vsr_server;
	uint8_t     msg[MSG_BYTES] = { 1 };

	(void)state;
	the_rig.vsr_sleeps = true;
	both_up(&qp_cfg);
	assert_int_equal(chain_send(client, msg, sizeof msg, 1), 0);
	run_until(client->vse_sent_nr == 1);
	client->vse_dev->odv_ops->odo_break(client->vse_qp);
	run_until(client->vse_overs_nr == 1 && server->vse_overs_nr == 1);
	assert_int_equal(client->vse_broken, NOTHING);
	assert_int_equal(server->vse_broken, 0);
	assert_int_equal(server->vse_received_nr, 1);
}

/* Memory of no region gets a registration of its own, if it is in one piece. */
static void foreign_memory_is_registered_for_one_transfer(void **state)
{
	struct end                   *end = &the_rig.vsr_server;
	const struct m0_o2ib_dev_ops *ops = end->vse_dev->odv_ops;
	uint8_t                      *memory = m0_alloc(3 * 4096);
	struct m0_o2ib_seg            segs[2] = {
			   { .osg_addr = memory, .osg_bytes = 4096 },
			   { .osg_addr = memory + 4096, .osg_bytes = 4096 },
	};
	struct m0_o2ib_map map;

	(void)state;
	assert_int_equal(ops->odo_map(&end->vse_port, segs, 2, M0_O2IB_MAP_SINK,
				      &map),
			 0);
	assert_int_equal(segs[0].osg_lkey, segs[1].osg_lkey);
	assert_int_equal(end->vse_dev->odv_counts.odc_regs_nr, 1);
	ops->odo_unmap(&end->vse_port, &map);
	segs[1].osg_addr = memory + 2 * 4096;
	assert_int_equal(ops->odo_map(&end->vse_port, segs, 2, M0_O2IB_MAP_SINK,
				      &map),
			 -EXDEV);
	segs[1].osg_addr = the_rig.vsr_sink.ome_addr;
	assert_int_equal(ops->odo_map(&end->vse_port, segs, 2, M0_O2IB_MAP_SINK,
				      &map),
			 -EXDEV);
	m0_free(memory);
}

/* The text names what is wrong with an address. */
static void address_that_cannot_be_used_is_explained(void **state)
{
	struct m0_o2ib_dev *dev = the_rig.vsr_client.vse_dev;
	struct m0_o2ib_port port = { .ort_listens = true };
	char                why[M0_LND_WHY_BYTES] = "";

	(void)state;
	port.ort_addr = the_rig.vsr_client.vse_port.ort_addr;
	port.ort_addr.sa_port = PORT;
	port.ort_addr.sa_bytes[0] = 203;
	assert_int_equal(dev->odv_ops->odo_port_open(dev, &port, why),
			 -EADDRNOTAVAIL);
	assert_non_null(strstr(why, "no interface has this IPv4 address"));
	addr_set(&port.ort_addr, "VERBS_SERVER", PORT);
	assert_int_equal(dev->odv_ops->odo_port_open(dev, &port, why),
			 -EADDRINUSE);
	assert_non_null(strstr(why, "another node of this host"));
}

static void link_set(const char *how)
{
	char command[64];

	(void)snprintf(command, sizeof command, "ip link set %s %s",
		       getenv("VERBS_NETDEV"), how);
	assert_int_equal(system(command), 0);
}

/* Both nodes of this process hear of the link, whoever takes the event. */
static void link_that_goes_down_is_told(void **state)
{
	struct end *client = &the_rig.vsr_client;
	struct end *server = &the_rig.vsr_server;

	(void)state;
	the_rig.vsr_sleeps = true;
	link_set("down");
	run_until(client->vse_port_events_nr == 1 &&
		  server->vse_port_events_nr == 1);
	assert_false(client->vse_port.ort_is_up);
	link_set("up");
	run_until(client->vse_port_events_nr == 2 &&
		  server->vse_port_events_nr == 2);
	assert_true(server->vse_port.ort_is_up);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* T29: this kernel copies pinned pages when a process forks, so that no memory has to be kept from
 * the child. */
static void fork_needs_no_preparation(void **state)
{
	(void)state;
	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(connection_carries_private_data),
		CASE(rejection_is_told_with_its_bytes),
		CASE(request_without_answer_is_rejected),
		CASE(connection_to_nobody_fails),
		CASE(break_before_up_ends_the_connection),
		CASE(messages_arrive_when_polled),
		CASE(messages_wake_who_sleeps),
		CASE(chain_takes_one_doorbell),
		CASE(write_arrives_before_the_message_behind_it),
		CASE(write_beyond_the_sink_is_refused),
		CASE(peer_without_receives_ends_the_connection),
		CASE(break_is_told_to_the_peer),
		CASE(foreign_memory_is_registered_for_one_transfer),
		CASE(address_that_cannot_be_used_is_explained),
		cmocka_unit_test(fork_needs_no_preparation),
		CASE(link_that_goes_down_is_told),
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
