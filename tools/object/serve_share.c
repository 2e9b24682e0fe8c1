/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The data buffers, shared among the clients so that one that does not read
 * costs the others nothing.
 *
 * A client may hold as many buffers as its window says. The window opens by one
 * with each transfer that completes, up to the client's share: all buffers
 * divided by the clients that use them now and one that may come. A client whose
 * transfer fails for want of an answer is stalled until one of its transfers
 * completes: its waiting requests are refused, it may hold one buffer, and all
 * stalled clients together a quarter. A client that has no buffer although its
 * share says so gets those that another holds beyond its own share for longer
 * than a second.
 *
 * A transfer lasts no longer than its request is of use, and no longer than the
 * service's --timeout; a request that waits is answered when it is of no use any
 * more. LNet returns a buffer only after the message that is being written has
 * left or the peer is given up: one buffer of a client is late by that.
 */
#include "serve.h"

enum {
	/** Buffers of a client none of whose transfers has completed. */
	WINDOW_FIRST = 2,
	/** Clients that are remembered while they use nothing. */
	IDLE_MAX = 1024
};

/** A transfer that takes longer may be revoked, or says that its client has
 * stalled. */
#define SLOW_NS M0_TIME_ONE_SECOND
/** How often requests that wait are looked at. */
#define LOOK_NS (M0_TIME_ONE_SECOND / 4)

struct serve_client {
	/** In its bucket. */
	struct m0_list_link scl_link;
	/** In sv_turns while requests wait, in sv_idle while it uses nothing. */
	struct m0_list_link scl_turn;
	struct m0_uint128   scl_uuid;
	uint32_t            scl_held_nr;
	uint32_t            scl_waiting_nr;
	uint32_t            scl_window;
	bool                scl_stalled;
	/** Operations, by op_link and op_moving, oldest first. */
	struct m0_list scl_waiting;
	struct m0_list scl_moving;
};

/* ------------------------------------------------------------- clients -- */

static struct m0_list *bucket_of(struct server           *sv,
				 const struct m0_uint128 *uuid)
{
	return &sv->sv_clients[(uuid->u_hi ^ uuid->u_lo) % UPLOAD_BUCKETS];
}

static void client_free(struct server *sv, struct serve_client *client)
{
	m0_list_del(&client->scl_link);
	m0_list_del(&client->scl_turn);
	m0_list_fini(&client->scl_waiting);
	m0_list_fini(&client->scl_moving);
	m0_free(client);
	--sv->sv_idle_nr;
}

static struct serve_client *client_new(struct server           *sv,
				       const struct m0_uint128 *uuid)
{
	struct serve_client *client;

	M0_ALLOC_PTR(client);
	if (client == NULL)
		return NULL;
	client->scl_uuid = *uuid;
	client->scl_window = WINDOW_FIRST;
	m0_list_init(&client->scl_waiting);
	m0_list_init(&client->scl_moving);
	m0_list_link_init(&client->scl_link);
	m0_list_link_init(&client->scl_turn);
	m0_list_add_tail(bucket_of(sv, uuid), &client->scl_link);
	m0_list_add_tail(&sv->sv_idle, &client->scl_turn);
	if (++sv->sv_idle_nr > IDLE_MAX)
		client_free(sv, container_of(m0_list_first(&sv->sv_idle),
					     struct serve_client, scl_turn));
	return client;
}

/* The client of a request. NULL: no memory. */
static struct serve_client *client_of(struct server            *sv,
				      const struct m0_rpc_item *item)
{
	struct m0_uint128    uuid = m0_rpc_request_client(item);
	struct m0_list      *bucket = bucket_of(sv, &uuid);
	struct m0_list_link *at;

	for (at = m0_list_first(bucket); at != NULL;
	     at = m0_list_next(bucket, at)) {
		struct serve_client *client =
			container_of(at, struct serve_client, scl_link);

		if (client->scl_uuid.u_hi == uuid.u_hi &&
		    client->scl_uuid.u_lo == uuid.u_lo)
			return client;
	}
	return client_new(sv, &uuid);
}

static bool is_active(const struct serve_client *client)
{
	return client->scl_held_nr > 0 || client->scl_waiting_nr > 0;
}

/* Call after a change: `was` says whether the client was active before it. */
static void client_settle(struct server *sv, struct serve_client *client,
			  bool was)
{
	bool is = is_active(client);

	if (is != was) {
		sv->sv_active_nr += is ? 1 : -1U;
		sv->sv_idle_nr += is ? -1U : 1;
		m0_list_del(&client->scl_turn);
	}
	if (!is && was) {
		m0_list_add_tail(&sv->sv_idle, &client->scl_turn);
	} else if (client->scl_waiting_nr == 0) {
		m0_list_del(&client->scl_turn);
	} else if (!m0_list_link_is_in(&client->scl_turn)) {
		m0_list_add_tail(&sv->sv_turns, &client->scl_turn);
	}
}

/* -------------------------------------------------------------- shares -- */

static uint32_t share_of(const struct server *sv)
{
	return (uint32_t)max64u(sv->sv_bufs_nr / (sv->sv_active_nr + 1), 1);
}

static bool may_have(const struct server *sv, const struct serve_client *client)
{
	if (client->scl_stalled)
		return client->scl_held_nr == 0 &&
		       sv->sv_stalled_held_nr < max64u(sv->sv_bufs_nr / 4, 1);
	return client->scl_held_nr < min64u(client->scl_window, share_of(sv));
}

static void buffer_give(struct server *sv, struct serve_client *client,
			struct serve_op *op)
{
	op->op_nb = sv->sv_free[--sv->sv_free_nr];
	++client->scl_held_nr;
	sv->sv_stalled_held_nr += client->scl_stalled;
}

/* Takes an operation off its client's queue: a worker calls its op_next. */
static void wait_end(struct server *sv, struct serve_client *client,
		     struct serve_op *op)
{
	m0_list_move_tail(&sv->sv_work, &op->op_link);
	--client->scl_waiting_nr;
	m0_cond_signal(&sv->sv_work_cond);
}

static struct serve_op *first_waiting(const struct serve_client *client)
{
	return container_of(m0_list_first(&client->scl_waiting),
			    struct serve_op, op_link);
}

/* The next client that waits for a buffer and may have it. */
static struct serve_client *next_entitled(const struct server *sv)
{
	struct m0_list_link *at;

	for (at = m0_list_first(&sv->sv_turns); at != NULL;
	     at = m0_list_next(&sv->sv_turns, at)) {
		struct serve_client *client =
			container_of(at, struct serve_client, scl_turn);

		if (may_have(sv, client))
			return client;
	}
	return NULL;
}

/* Gives the free buffers to those that wait, one to each client in turn. */
static void buffers_share(struct server *sv)
{
	struct serve_client *client;
	struct serve_op     *op;

	while (sv->sv_free_nr > 0 && (client = next_entitled(sv)) != NULL) {
		op = first_waiting(client);
		buffer_give(sv, client, op);
		wait_end(sv, client, op);
		m0_list_del(&client->scl_turn);
		client_settle(sv, client, true);
	}
}

static void op_refuse(struct serve_op *op)
{
	serve_op_end(op, op->op_rc);
}

/* The first operation that waits is answered with an error. */
static void wait_refuse(struct server *sv, struct serve_client *client, int rc)
{
	struct serve_op *op = first_waiting(client);

	op->op_rc = rc;
	op->op_next = &op_refuse;
	wait_end(sv, client, op);
	client_settle(sv, client, true);
}

/* Did the way to the client fail, and not the memory that the client named? */
static bool is_of_client(int rc)
{
	return !M0_IN(rc, (-ECANCELED, -EINVAL, -EPERM, -EACCES, -EFBIG,
			   -EPROTO, -EMSGSIZE, -ENOMEM));
}

static void client_stalls(struct server *sv, struct serve_client *client)
{
	if (!client->scl_stalled)
		sv->sv_stalled_held_nr += client->scl_held_nr;
	client->scl_stalled = true;
	client->scl_window = 1;
	while (client->scl_waiting_nr > 0)
		wait_refuse(sv, client, -EAGAIN);
}

static void client_moves(struct server *sv, struct serve_client *client)
{
	if (client->scl_stalled)
		sv->sv_stalled_held_nr -= client->scl_held_nr;
	client->scl_stalled = false;
	if (client->scl_window < sv->sv_bufs_nr)
		++client->scl_window;
}

/* ----------------------------------------------------------- operations -- */

/* With a buffer, 0; to be refused, <0; or the operation waits, 1. */
static int buffer_ask(struct server *sv, struct serve_op *op)
{
	struct serve_client *client = client_of(sv, op->op_item);
	bool                 was;

	if (client == NULL)
		return -ENOMEM;
	if (sv->sv_closed)
		return -ESHUTDOWN;
	if (client->scl_waiting_nr >= SERVE_WAITING_MAX)
		return -EAGAIN;
	was = is_active(client);
	op->op_client = client;
	if (client->scl_waiting_nr == 0 && sv->sv_free_nr > 0 &&
	    may_have(sv, client)) {
		buffer_give(sv, client, op);
		client_settle(sv, client, was);
		return 0;
	}
	m0_list_add_tail(&client->scl_waiting, &op->op_link);
	++client->scl_waiting_nr;
	client_settle(sv, client, was);
	m0_cond_signal(&sv->sv_look_cond);
	return 1;
}

void serve_buffer(struct serve_op *op, void (*next)(struct serve_op *op))
{
	struct server *sv = op->op_server;
	int            rc;

	op->op_next = next;
	m0_mutex_lock(&sv->sv_lock);
	rc = buffer_ask(sv, op);
	m0_mutex_unlock(&sv->sv_lock);
	if (rc < 0)
		serve_op_end(op, rc);
	else if (rc == 0)
		next(op);
}

void serve_buffer_put(struct serve_op *op)
{
	struct server       *sv = op->op_server;
	struct serve_client *client = op->op_client;

	sv->sv_free[sv->sv_free_nr++] = op->op_nb;
	op->op_nb = NULL;
	--client->scl_held_nr;
	sv->sv_stalled_held_nr -= client->scl_stalled;
	client_settle(sv, client, true);
	buffers_share(sv);
}

m0_time_t serve_move_ns(const struct serve_op *op)
{
	const struct server *sv = op->op_server;
	m0_time_t            now = m0_time_now();
	m0_time_t            end = op->op_item->ri_remote_expires;

	if (__atomic_load_n(&sv->sv_closed, __ATOMIC_RELAXED) || end <= now)
		return 0;
	return end == M0_TIME_NEVER ? sv->sv_timeout_ns
				    : min64u(end - now, sv->sv_timeout_ns);
}

void serve_move_begin(struct serve_op *op)
{
	op->op_began = m0_time_now();
	m0_list_add_tail(&op->op_client->scl_moving, &op->op_moving);
}

int serve_move_end(struct serve_op *op, int rc)
{
	struct server *sv = op->op_server;
	bool           slow = m0_time_now() >= op->op_began + SLOW_NS;

	m0_list_del(&op->op_moving);
	if (rc == 0)
		client_moves(sv, op->op_client);
	else if (op->op_revoked)
		rc = -EAGAIN;
	else if (is_of_client(rc) && (slow || rc != -ETIMEDOUT))
		client_stalls(sv, op->op_client);
	return rc;
}

/* -------------------------------------------------------------- looking -- */

static void op_revoke(struct serve_op *op)
{
	op->op_revoked = true;
	m0_rpc_bulk_store_del(&op->op_rb);
}

/* The oldest transfer of a client that was not revoked. */
static struct serve_op *first_moving(const struct serve_client *client)
{
	struct m0_list_link *at;

	for (at = m0_list_first(&client->scl_moving); at != NULL;
	     at = m0_list_next(&client->scl_moving, at)) {
		struct serve_op *op =
			container_of(at, struct serve_op, op_moving);

		if (!op->op_revoked)
			return op;
	}
	return NULL;
}

/* A client that holds more than its share loses the oldest, if that is slow and
 * one that has a right to a buffer is lacking it. */
static void client_look(struct server *sv, struct serve_client *client,
			bool lacking, m0_time_t now)
{
	struct serve_op *op = first_moving(client);

	if (op == NULL)
		return;
	if (sv->sv_closed) {
		for (; op != NULL; op = first_moving(client))
			op_revoke(op);
	} else if (lacking && client->scl_held_nr > share_of(sv) &&
		   now >= op->op_began + SLOW_NS) {
		client->scl_window = 1;
		op_revoke(op);
	}
}

static void clients_look(struct server *sv, m0_time_t now)
{
	bool lacking = sv->sv_free_nr == 0 && next_entitled(sv) != NULL;
	int  i;

	for (i = 0; i < UPLOAD_BUCKETS; ++i) {
		struct m0_list_link *at;

		for (at = m0_list_first(&sv->sv_clients[i]); at != NULL;
		     at = m0_list_next(&sv->sv_clients[i], at))
			client_look(sv,
				    container_of(at, struct serve_client,
						 scl_link),
				    lacking, now);
	}
}

/* Requests that are of no use any more are answered. */
static void waiting_look(struct server *sv, m0_time_t now)
{
	struct m0_list_link *at = m0_list_first(&sv->sv_turns);
	struct m0_list_link *next;

	for (; at != NULL; at = next) {
		struct serve_client *client =
			container_of(at, struct serve_client, scl_turn);

		next = m0_list_next(&sv->sv_turns, at);
		while (client->scl_waiting_nr > 0 &&
		       (sv->sv_closed ||
			first_waiting(client)->op_item->ri_remote_expires <=
				now))
			wait_refuse(sv, client,
				    sv->sv_closed ? -ESHUTDOWN : -ETIMEDOUT);
	}
}

void serve_share_look(struct server *sv, m0_time_t now)
{
	__atomic_store_n(&sv->sv_closed, now >= sv->sv_close_at,
			 __ATOMIC_RELAXED);
	waiting_look(sv, now);
	clients_look(sv, now);
	buffers_share(sv);
}

static void look_run(struct server *sv)
{
	m0_mutex_lock(&sv->sv_lock);
	while (!sv->sv_stopping) {
		if (m0_list_is_empty(&sv->sv_turns) &&
		    sv->sv_close_at == M0_TIME_NEVER) {
			m0_cond_wait(&sv->sv_look_cond);
			continue;
		}
		(void)m0_cond_timedwait(&sv->sv_look_cond,
					m0_time_add(m0_time_now(), LOOK_NS));
		serve_share_look(sv, m0_time_now());
	}
	m0_mutex_unlock(&sv->sv_lock);
}

void serve_share_close(struct server *sv, m0_time_t at)
{
	m0_mutex_lock(&sv->sv_lock);
	sv->sv_close_at = at;
	m0_cond_signal(&sv->sv_look_cond);
	m0_mutex_unlock(&sv->sv_lock);
}

/* ------------------------------------------------------- start and stop -- */

static int bufs_make(struct server *sv, uint32_t nr)
{
	int rc = 0;

	M0_ALLOC_ARR(sv->sv_bufs, nr);
	M0_ALLOC_ARR(sv->sv_free, nr);
	if (sv->sv_bufs == NULL || sv->sv_free == NULL)
		return -ENOMEM;
	while (rc == 0 && sv->sv_bufs_nr < nr) {
		rc = tool_buffer_init(&sv->sv_bufs[sv->sv_bufs_nr], &sv->sv_dom,
				      OBJ_BLOCK);
		if (rc == 0)
			sv->sv_free[sv->sv_free_nr++] =
				&sv->sv_bufs[sv->sv_bufs_nr++];
	}
	return rc;
}

void serve_share_init(struct server *sv)
{
	int i;

	for (i = 0; i < UPLOAD_BUCKETS; ++i)
		m0_list_init(&sv->sv_clients[i]);
	m0_list_init(&sv->sv_turns);
	m0_list_init(&sv->sv_idle);
	m0_cond_init(&sv->sv_look_cond, &sv->sv_lock);
	sv->sv_close_at = M0_TIME_NEVER;
}

int serve_share_start(struct server *sv, uint32_t bufs_nr)
{
	int rc = bufs_make(sv, bufs_nr);

	if (rc == 0)
		rc = M0_THREAD_INIT(&sv->sv_look_thread, struct server *, NULL,
				    &look_run, sv, "serve-look");
	sv->sv_look_on = rc == 0;
	return rc;
}

void serve_share_stop(struct server *sv)
{
	struct m0_list_link *at;
	uint32_t             i;

	if (sv->sv_look_on) {
		(void)m0_thread_join(&sv->sv_look_thread);
		m0_thread_fini(&sv->sv_look_thread);
	}
	while ((at = m0_list_first(&sv->sv_idle)) != NULL)
		client_free(sv,
			    container_of(at, struct serve_client, scl_turn));
	for (i = 0; i < sv->sv_bufs_nr; ++i)
		tool_buffer_fini(&sv->sv_bufs[i]);
	m0_free(sv->sv_bufs);
	m0_free(sv->sv_free);
	m0_cond_fini(&sv->sv_look_cond);
}
