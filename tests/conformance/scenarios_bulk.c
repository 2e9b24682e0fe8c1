/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bulk: file system client, server, and the handshake between both. */
#include "scenarios.h"

static int client_gone;

/* The operation is over: the pages go back to whom they belong. */
static void client_done(struct cf_buf *b, const struct m0_net_buffer_event *ev)
{
	CF_EQ(ev->nbe_status, 0, "the server's transfer");
	cf_buf_free(b);
	cf_inc(&client_gone);
}

/*
 * A client's buffer is made of the pages of a system call: registered for one
 * operation, passive, deregistered in its callback.
 * [r.rpccore.efficient.bulk]
 */
static void client_passive_bulk(void)
{
	static const m0_bcount_t pages[] = { 4096, 4096, 4096, 4096, 1000 };
	struct cf_tm            *client = cf_up(0);
	struct cf_tm            *server = cf_up(1);
	int                      i;

	client_gone = 0;
	for (i = 1; i <= 10; ++i) {
		struct cf_buf *p = cf_buf_segs(0, ARRAY_SIZE(pages), pages);
		struct m0_net_end_point *ep = cf_ep(client, server);
		struct cf_buf           *a;

		cf_fill(p, 0, p->cb_size, 5);
		p->cb_nb.nb_length = p->cb_size;
		p->cb_nb.nb_ep = ep;
		p->cb_hook = client_done;
		cf_add_ok(p, client, M0_NET_QT_PASSIVE_BULK_SEND);
		CF_EQ(m0_net_end_point_put(ep), 0, "put");
		a = cf_active(server, M0_NET_QT_ACTIVE_BULK_RECV, 17384,
			      &p->cb_nb.nb_desc);
		cf_done_is(a, 0, "the server reads");
		cf_check(a, 0, 17384, 5);
		cf_wait_count(&client_gone, i, "client buffers given back");
	}
}

/* ---------------------------------------------------------------- server -- */

static struct {
	struct m0_net_buffer_pool *pool;
	int                        done;
} server_bulk;

static void server_active_done(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;

	cf_cb_enter(nb->nb_tm, true);
	CF_EQ(ev->nbe_status, 0, "active send");
	m0_net_desc_free(&nb->nb_desc);
	m0_net_buffer_pool_lock(server_bulk.pool);
	m0_net_buffer_pool_put(server_bulk.pool, nb, M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_unlock(server_bulk.pool);
	cf_inc(&server_bulk.done);
	cf_wake();
}

static const struct m0_net_buffer_callbacks server_cbs = {
	.nbc_cb = { [M0_NET_QT_ACTIVE_BULK_SEND] = server_active_done }
};

static bool pool_get(void *arg)
{
	struct m0_net_buffer **ret = arg;

	m0_net_buffer_pool_lock(server_bulk.pool);
	*ret = m0_net_buffer_pool_get(server_bulk.pool, M0_BUFFER_ANY_COLOUR);
	m0_net_buffer_pool_unlock(server_bulk.pool);
	return *ret != NULL;
}

/* A server's buffers come from a pool and go back to it. */
static void server_active_bulk(void)
{
	enum {
		NR = 20
	};
	struct cf_pool *p = cf_pool(1, 3, 8192, 0);
	struct cf_tm   *client = cf_up(0);
	struct cf_tm   *server = cf_up(1);
	struct cf_buf  *r[NR];
	int             i;

	server->ct_stats_off = true;
	server_bulk.pool = &p->cp_pool;
	server_bulk.done = 0;
	for (i = 0; i < NR; ++i) {
		struct m0_net_buffer *nb = NULL;

		r[i] = cf_passive(client, M0_NET_QT_PASSIVE_BULK_RECV, 8192,
				  server);
		cf_wait(pool_get, &nb, "a free buffer in the server's pool");
		memset(nb->nb_buffer.ov_buf[0], 'a' + i, 8192);
		nb->nb_qtype = M0_NET_QT_ACTIVE_BULK_SEND;
		nb->nb_callbacks = &server_cbs;
		nb->nb_length = 8192;
		nb->nb_offset = 0;
		CF_EQ(m0_net_desc_copy(&r[i]->cb_nb.nb_desc, &nb->nb_desc), 0,
		      "descriptor");
		CF_EQ(m0_net_buffer_add(nb, &server->ct_tm), 0, "add");
	}
	cf_wait_count(&server_bulk.done, NR, "transfers");
	for (i = 0; i < NR; ++i) {
		const uint8_t *data;

		cf_done_is(r[i], 0, "the client's buffer");
		data = r[i]->cb_nb.nb_buffer.ov_buf[0];
		CF_EQ(data[0], 'a' + i, "first byte");
		CF_EQ(data[8191], 'a' + i, "last byte");
	}
}

/* ------------------------------------------------------------- handshake -- */

enum {
	DATA_NR = 100000,
	REPLY_OK = 0x600d
};

/* The write request: how many bytes, and a descriptor of them. */
struct request {
	uint64_t rq_nr;
	uint32_t rq_desc_len;
	uint8_t  rq_desc[512];
};

struct server {
	struct cf_tm            *sv_tm;
	struct m0_net_end_point *sv_client;
	struct cf_buf           *sv_data;
	struct cf_buf           *sv_reply;
	int                      sv_replied;
};

/* 3. The data has come: the reply leaves. */
static void server_pulled(struct cf_buf                    *b,
			  const struct m0_net_buffer_event *ev)
{
	struct server *sv = b->cb_arg;
	uint32_t       status = ev->nbe_status == 0 ? REPLY_OK : 0;

	m0_net_desc_free(&b->cb_nb.nb_desc);
	CF_EQ(ev->nbe_length, DATA_NR, "bytes pulled");
	memcpy(sv->sv_reply->cb_nb.nb_buffer.ov_buf[0], &status, sizeof status);
	sv->sv_reply->cb_nb.nb_length = sizeof status;
	sv->sv_reply->cb_nb.nb_ep = sv->sv_client;
	cf_add_ok(sv->sv_reply, sv->sv_tm, M0_NET_QT_MSG_SEND);
	CF_EQ(m0_net_end_point_put(sv->sv_client), 0, "put");
	cf_inc(&sv->sv_replied);
}

/* 2. A request: the buffer goes back at once, and the pull begins. */
static void server_request(struct cf_buf                    *b,
			   const struct m0_net_buffer_event *ev)
{
	struct server         *sv = b->cb_arg;
	struct request         rq;
	struct m0_net_buf_desc desc;

	if (ev->nbe_status != 0)
		return;
	memcpy(&rq, b->cb_nb.nb_buffer.ov_buf[0], sizeof rq);
	CF_EQ(m0_net_end_point_get(ev->nbe_ep), 0, "remember the client");
	sv->sv_client = ev->nbe_ep;
	cf_add_ok(b, sv->sv_tm, M0_NET_QT_MSG_RECV);
	desc.nbd_len = rq.rq_desc_len;
	desc.nbd_data = rq.rq_desc;
	CF_EQ(m0_net_desc_copy(&desc, &sv->sv_data->cb_nb.nb_desc), 0,
	      "descriptor from the message");
	cf_add_ok(sv->sv_data, sv->sv_tm, M0_NET_QT_ACTIVE_BULK_RECV);
}

/* 1. The client: its data is passive, the request carries the descriptor. */
static struct cf_buf *client_write(struct cf_tm *client, struct cf_tm *server,
				   struct cf_buf *data)
{
	struct cf_buf *msg = cf_msg(client, server, sizeof(struct request), 0);
	struct request rq = { .rq_nr = DATA_NR };

	data->cb_nb.nb_length = DATA_NR;
	data->cb_nb.nb_ep = msg->cb_nb.nb_ep;
	cf_add_ok(data, client, M0_NET_QT_PASSIVE_BULK_SEND);
	rq.rq_desc_len = data->cb_nb.nb_desc.nbd_len;
	CF_TRUE(rq.rq_desc_len <= sizeof rq.rq_desc, "the descriptor fits");
	memcpy(rq.rq_desc, data->cb_nb.nb_desc.nbd_data, rq.rq_desc_len);
	memcpy(msg->cb_nb.nb_buffer.ov_buf[0], &rq, sizeof rq);
	cf_add_ok(msg, client, M0_NET_QT_MSG_SEND);
	CF_EQ(m0_net_end_point_put(msg->cb_nb.nb_ep), 0, "put");
	return msg;
}

/* [r.rpccore.flexible] [r.messaging.oneway] [r.rpccore.efficient.bulk] */
static void write_handshake(void)
{
	struct cf_tm *client = cf_up(0);
	/* A hook may return after what it sent was seen. */
	static struct server sv;
	struct cf_buf       *request = cf_buf(1, sizeof(struct request));
	int                  round;

	sv = (struct server){ .sv_tm = cf_up(1) };
	sv.sv_data = cf_buf(1, DATA_NR);
	sv.sv_reply = cf_buf(1, 64);
	sv.sv_data->cb_arg = &sv;
	sv.sv_data->cb_hook = server_pulled;
	request->cb_arg = &sv;
	request->cb_hook = server_request;
	cf_add_ok(request, sv.sv_tm, M0_NET_QT_MSG_RECV);
	for (round = 1; round <= 5; ++round) {
		struct cf_buf *reply = cf_recv(client, 64);
		struct cf_buf *data = cf_buf(0, DATA_NR);
		uint32_t       status;

		cf_fill(data, 0, DATA_NR, (uint64_t)round);
		cf_done_is(client_write(client, sv.sv_tm, data), 0, "request");
		cf_done_is(reply, 0, "the reply");
		memcpy(&status, reply->cb_nb.nb_buffer.ov_buf[0],
		       sizeof status);
		CF_EQ(status, REPLY_OK, "what it says");
		cf_done_is(data, 0, "the client's data");
		cf_check(sv.sv_data, 0, DATA_NR, (uint64_t)round);
		cf_wait_buf(sv.sv_reply);
		cf_buf_free(data);
	}
	CF_EQ(sv.sv_replied, 5, "replies");
}

const struct cf_case scenarios_bulk[] = {
	{ "client, passive bulk", client_passive_bulk },
	{ "server, active bulk with a pool", server_active_bulk },
	{ "write handshake", write_handshake },
	{ NULL, NULL }
};
