/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The service: requests that come, their data, and results.
 *
 * An update is taken on the RPC machine's thread; when its data is here it runs
 * in a transaction. A query runs on a thread of the pool, in a snapshot, which
 * stays open until a large result was fetched from it.
 */
#include "easy/easy_internal.h"

enum {
	/** Results of one client that are offered at once. */
	OFFERS_MAX = 64
};

#define TRANSFER_NS (60 * M0_TIME_ONE_SECOND)

/** An update, until its last reference is put. */
struct easy_update {
	struct m0_rpc_bulk       eup_bulk;
	struct m0_easy          *eup_easy;
	struct m0_rpc_item      *eup_item;
	const struct m0_easy_op *eup_op;
	struct easy_body         eup_body;
	/** Memory that its data has come to. */
	void *eup_memory;
	void (*eup_free)(struct m0_rpc_raw *raw);
};

/** A query, until its result was fetched. */
struct easy_query {
	struct m0_rpc_bulk  eqy_bulk;
	struct m0_list_link eqy_link;
	struct m0_easy     *eqy_easy;
	struct m0_uint128   eqy_client;
	uint64_t            eqy_call;
	uint64_t            eqy_attempt;
	/** A later attempt has come. Under eas_lock. */
	bool                 eqy_withdrawn;
	struct m0_easy_reply eqy_reply;
	/** Bytes of a handler's memory, counted in eas_memory. */
	m0_bcount_t eqy_counted_nr;
	/** Body of its reply, once it is offered, for copies of the request;
	 * NULL: there was no memory for it. */
	void       *eqy_body;
	m0_bcount_t eqy_body_nr;
	/** Such a reply, if this query is a copy. */
	struct m0_rpc_item *eqy_again;
	struct m0_rpc_tx    eqy_tx;
	bool                eqy_in_tx;
	/** A copy of the result, from a store without snapshots. */
	void *eqy_copy;
};

/* NULL: an RPC machine that the application made itself, to which a peer has sent
 * a request of this room. Its rm_app_private may point to anything, so what it
 * points to is read only if that may be a service. */
static struct m0_easy *easy_of(struct m0_rpc_machine *machine)
{
	struct m0_easy *easy =
		container_of(machine, struct m0_easy, eas_machine);

	return machine->rm_app_private == easy && easy->eas_magic == EASY_MAGIC
		       ? easy
		       : NULL;
}

static const struct m0_easy_op *op_find(const struct m0_easy *easy,
					uint32_t              opcode)
{
	uint32_t i;

	for (i = 0; i < easy->eas_cfg.en_ops_nr; ++i)
		if (easy->eas_cfg.en_ops[i].eo_opcode == opcode)
			return &easy->eas_cfg.en_ops[i];
	return NULL;
}

/** Decodes a request and finds its operation. */
static int request_open(struct m0_easy *easy, struct m0_rpc_item *item,
			enum m0_easy_kind kind, struct easy_body *body,
			const struct m0_easy_op **op)
{
	const struct m0_rpc_raw *raw = m0_rpc_raw_of(item);
	int rc = m0_easy__body_get(body, raw->rr_data, raw->rr_nr);

	if (rc != 0)
		return rc;
	*op = op_find(easy, body->eb_opcode);
	if (*op == NULL)
		rc = -ENOSYS;
	else if ((*op)->eo_kind != kind)
		rc = -EPROTO;
	if (rc != 0)
		m0_free0(&body->eb_descs);
	return rc;
}

static void memory_uncount(struct m0_easy *easy, m0_bcount_t nr)
{
	(void)__atomic_sub_fetch(&easy->eas_memory, nr, __ATOMIC_RELAXED);
}

static int memory_count(struct m0_easy *easy, m0_bcount_t nr)
{
	if (nr > easy->eas_cfg.en_memory_max)
		return -EMSGSIZE;
	if (__atomic_add_fetch(&easy->eas_memory, nr, __ATOMIC_RELAXED) <=
	    easy->eas_cfg.en_memory_max)
		return 0;
	memory_uncount(easy, nr);
	return -ENOBUFS;
}

static int memory_take(struct m0_easy *easy, void **ret, m0_bcount_t nr)
{
	int rc = memory_count(easy, nr);

	if (rc != 0)
		return rc;
	*ret = m0_alloc(nr);
	if (*ret != NULL)
		return 0;
	memory_uncount(easy, nr);
	return -ENOBUFS;
}

static void memory_free(struct m0_easy *easy, void *memory, m0_bcount_t nr)
{
	if (memory == NULL)
		return;
	m0_free(memory);
	memory_uncount(easy, nr);
}

/* A handler's error, in the range that a reply has. */
static int handle(struct m0_easy *easy, const struct m0_easy_op *op,
		  const struct easy_body *body, struct m0_rpc_item *item,
		  struct m0_rpc_tx *tx, struct m0_easy_reply *reply)
{
	struct m0_easy_request request = {
		.erq_opcode = body->eb_opcode,
		.erq_args = body->eb_args,
		.erq_data = body->eb_data,
		.erq_tx = tx,
		.erq_client = m0_rpc_request_client(item),
	};
	int rc;

	*reply = (struct m0_easy_reply){ .ep_free = NULL };
	rc = op->eo_handler(easy->eas_cfg.en_ctx, &request, reply);
	if (rc == 0 && reply->ep_data.sl_nr > M0_EASY_DATA_MAX)
		return -EMSGSIZE;
	return rc > 0 || rc < -4095 ? -EPROTO : rc;
}

static void reply_release(struct m0_easy_reply *reply)
{
	if (reply->ep_free != NULL)
		reply->ep_free(reply->ep_data.sl_data);
	reply->ep_free = NULL;
}

static void *body_encode(const struct easy_body *body, m0_bcount_t *nr)
{
	void *bytes;

	*nr = m0_easy__body_size(body);
	bytes = m0_alloc(*nr);
	if (bytes != NULL)
		m0_easy__body_put(bytes, body);
	return bytes;
}

/* NULL: no memory. */
static struct m0_rpc_item *result_of(const void *bytes, m0_bcount_t nr)
{
	struct m0_rpc_raw *raw = NULL;

	if (bytes != NULL)
		raw = m0_rpc_raw_new(&m0_easy__result, bytes, nr);
	return raw == NULL ? NULL : &raw->rr_item;
}

/* A result item; NULL: no memory. */
static struct m0_rpc_item *result_make(const struct easy_body *body)
{
	m0_bcount_t         nr;
	void               *bytes = body_encode(body, &nr);
	struct m0_rpc_item *result = result_of(bytes, nr);

	m0_free(bytes);
	return result;
}

static struct m0_rpc_item *result_inline(struct m0_rpc_slice data)
{
	struct easy_body body = { .eb_data = data, .eb_data_nr = data.sl_nr };

	return result_make(&body);
}

/* ---------------------------------------------------------------- updates -- */

static void update_free(struct m0_rpc_raw *raw)
{
	struct easy_update *up = raw->rr_item.ri_app_private;

	raw->rr_free = up->eup_free;
	m0_rpc_bulk_fini(&up->eup_bulk);
	memory_free(up->eup_easy, up->eup_memory, up->eup_body.eb_data_nr);
	m0_free(up->eup_body.eb_descs);
	m0_free(up);
	raw->rr_free(raw);
}

static void update_run(struct m0_rpc_item *item, struct m0_rpc_tx *tx)
{
	struct easy_update  *up = item->ri_app_private;
	struct m0_easy_reply reply;
	struct m0_rpc_item  *result = NULL;
	int rc = handle(up->eup_easy, up->eup_op, &up->eup_body, item, tx,
			&reply);

	if (rc == 0) {
		result = result_inline(reply.ep_data);
		rc = result == NULL ? -ENOMEM : 0;
	}
	reply_release(&reply);
	if (rc == 0)
		m0_rpc_reply_post(item, result);
	else
		m0_rpc_reply_undo(item, rc);
}

/* Without its data an update was not executed: if the network, or the end of
 * this service, is why, the client calls again. */
static int moved_rc(int rc)
{
	return M0_IN(rc, (-EINVAL, -EPERM, -EPROTO, -EMSGSIZE)) ? rc : -ENOBUFS;
}

/* The data is here, or will not come. */
static void update_moved(struct m0_rpc_bulk *rb)
{
	struct easy_update *up = container_of(rb, struct easy_update, eup_bulk);
	struct m0_rpc_item *item = up->eup_item;

	if (rb->rb_rc == 0)
		m0_rpc_update_post(item, update_run);
	else
		m0_rpc_reply_rc(item, moved_rc(rb->rb_rc));
	m0_rpc_item_put(item);
}

/* How long a transfer for the request may take: the peer says until when it waits,
 * which may be for ever. It calls again if it still does then. */
static m0_time_t left_ns(const struct m0_rpc_item *item)
{
	m0_time_t now = m0_time_now();

	return item->ri_remote_expires > now
		       ? min64u(item->ri_remote_expires - now, TRANSFER_NS)
		       : 1;
}

/* The reference that the move has is put by update_moved(). */
static int update_move(struct easy_update *up)
{
	struct easy_body *body = &up->eup_body;
	m0_bcount_t       nr = body->eb_data_nr;
	struct m0_bufvec  memory;
	int               rc;

	rc = memory_take(up->eup_easy, &up->eup_memory, nr);
	if (rc != 0)
		return rc;
	body->eb_data = (struct m0_rpc_slice){ up->eup_memory, nr };
	memory = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&up->eup_memory, &nr);
	rc = m0_rpc_bulk_add_as(&up->eup_bulk, &memory, &up->eup_easy->eas_dom,
				body->eb_descs, body->eb_descs_nr);
	if (rc != 0)
		return rc;
	m0_rpc_bulk_qtype(&up->eup_bulk, M0_NET_QT_ACTIVE_BULK_RECV);
	up->eup_bulk.rb_done = update_moved;
	up->eup_bulk.rb_timeout_ns = left_ns(up->eup_item);
	m0_rpc_item_get(up->eup_item);
	rc = m0_rpc_bulk_load_for(&up->eup_bulk, up->eup_item, body->eb_descs);
	if (rc != 0)
		m0_rpc_item_put(up->eup_item);
	return rc;
}

void m0_easy__update_deliver(struct m0_rpc_machine *machine,
			     struct m0_rpc_item    *item)
{
	struct m0_rpc_raw  *raw = m0_rpc_raw_of(item);
	struct m0_easy     *easy = easy_of(machine);
	struct easy_update *up = NULL;
	int                 rc;

	if (easy != NULL)
		M0_ALLOC_PTR(up);
	if (up == NULL) {
		m0_rpc_reply_rc(item, easy == NULL ? -EOPNOTSUPP : -ENOBUFS);
		return;
	}
	m0_rpc_bulk_init(&up->eup_bulk);
	up->eup_easy = easy;
	up->eup_item = item;
	up->eup_free = raw->rr_free;
	raw->rr_free = update_free;
	item->ri_app_private = up;
	rc = request_open(up->eup_easy, item, M0_EASY_UPDATE, &up->eup_body,
			  &up->eup_op);
	if (rc != 0)
		m0_rpc_reply_rc(item, rc);
	else if (up->eup_body.eb_descs_nr == 0)
		m0_rpc_update_post(item, update_run);
	else if ((rc = update_move(up)) != 0)
		m0_rpc_reply_rc(item, moved_rc(rc));
}

/* ---------------------------------------------------------------- queries -- */

static void query_leave_tx(struct easy_query *query)
{
	if (query->eqy_in_tx)
		m0_rpc_snapshot_end(&query->eqy_tx);
	query->eqy_in_tx = false;
}

static void query_free(struct easy_query *query)
{
	reply_release(&query->eqy_reply);
	query_leave_tx(query);
	memory_free(query->eqy_easy, query->eqy_copy,
		    query->eqy_reply.ep_data.sl_nr);
	memory_uncount(query->eqy_easy, query->eqy_counted_nr);
	m0_free(query->eqy_body);
	m0_rpc_bulk_fini(&query->eqy_bulk);
	m0_list_link_fini(&query->eqy_link);
	m0_free(query);
}

/* The result was fetched, or is offered no more. */
static void query_fetched(struct m0_rpc_bulk *rb)
{
	struct easy_query *query =
		container_of(rb, struct easy_query, eqy_bulk);
	struct m0_easy *easy = query->eqy_easy;

	m0_mutex_lock(&easy->eas_lock);
	m0_list_del(&query->eqy_link);
	query_free(query);
	if (easy->eas_closing)
		m0_semaphore_up(&easy->eas_idle);
	m0_mutex_unlock(&easy->eas_lock);
}

/* A store without snapshots would have everybody wait until it is fetched. */
static int query_copy(struct easy_query *query)
{
	struct m0_rpc_slice data = query->eqy_reply.ep_data;
	int                 rc;

	/* The memory belongs to the handler, not to the store. */
	if (query->eqy_reply.ep_free != NULL) {
		query_leave_tx(query);
		rc = memory_count(query->eqy_easy, data.sl_nr);
		if (rc == 0)
			query->eqy_counted_nr = data.sl_nr;
		return rc;
	}
	if (query->eqy_easy->eas_store->rst_ops->rso_snapshot_begin != NULL)
		return 0;
	rc = memory_take(query->eqy_easy, &query->eqy_copy, data.sl_nr);
	if (rc != 0)
		return rc;
	memcpy(query->eqy_copy, data.sl_data, data.sl_nr);
	query->eqy_reply.ep_data.sl_data = query->eqy_copy;
	query_leave_tx(query);
	return 0;
}

static int query_bufs_add(struct easy_query *query, struct easy_body *body)
{
	struct m0_rpc_slice data = query->eqy_reply.ep_data;
	void               *at = (void *)(uintptr_t)data.sl_data;
	m0_bcount_t         nr = data.sl_nr;
	struct m0_bufvec    memory = M0_BUFVEC_INIT_BUF(&at, &nr);
	int                 bufs_nr = m0_rpc_bulk_add(&query->eqy_bulk, &memory,
						      &query->eqy_easy->eas_dom);
	int                 rc;

	if (bufs_nr < 0)
		return bufs_nr;
	m0_rpc_bulk_qtype(&query->eqy_bulk, M0_NET_QT_PASSIVE_BULK_SEND);
	body->eb_data_nr = data.sl_nr;
	rc = m0_easy__descs_alloc(body, (uint32_t)bufs_nr);
	if (rc != 0)
		m0_rpc_bulk_buflist_empty(&query->eqy_bulk);
	return rc;
}

/*
 * Withdraws what was offered to earlier attempts at the same call, which the client has
 * given up: their address may have died. Under eas_lock.
 * @return false  this attempt, or a later one, has an offer, which the client may be
 *                fetching. A copy of this attempt gets the same offer, since the first
 *                reply may have been lost; the client ignores what a late request gets.
 */
static bool earlier_end(struct easy_query *query)
{
	struct easy_query *other;
	bool               ret = true;

	m0_list_for_each_entry(&query->eqy_easy->eas_offers, other,
			       struct easy_query, eqy_link) {
		if (other->eqy_call != query->eqy_call ||
		    !m0_uint128_eq(&other->eqy_client, &query->eqy_client))
			continue;
		if (other->eqy_attempt >= query->eqy_attempt) {
			ret = false;
			if (other->eqy_attempt == query->eqy_attempt)
				query->eqy_again = result_of(
					other->eqy_body, other->eqy_body_nr);
		} else if (!other->eqy_withdrawn) {
			other->eqy_withdrawn = true;
			m0_rpc_bulk_store_del(&other->eqy_bulk);
		}
	}
	return ret;
}

/*
 * A withdrawn offer may last until the network ends a transfer, so their number is
 * bounded, too. Under eas_lock.
 */
static bool may_offer(struct easy_query *query)
{
	struct easy_query *other;
	unsigned           nr = 0;
	unsigned           withdrawn_nr = 0;

	if (query->eqy_easy->eas_closing || !earlier_end(query))
		return false;
	m0_list_for_each_entry(&query->eqy_easy->eas_offers, other,
			       struct easy_query, eqy_link) {
		if (!m0_uint128_eq(&other->eqy_client, &query->eqy_client))
			continue;
		if (other->eqy_withdrawn)
			++withdrawn_nr;
		else
			++nr;
	}
	return nr < OFFERS_MAX && withdrawn_nr <= OFFERS_MAX;
}

/*
 * Stores it under the lock, so that a close finds it either not at all, or as
 * something to withdraw.
 */
static int offer_store(struct easy_query *query, const struct m0_rpc_item *item,
		       struct easy_body *body)
{
	struct m0_easy *easy = query->eqy_easy;
	int             rc = -ENOBUFS;

	m0_mutex_lock(&easy->eas_lock);
	if (may_offer(query))
		rc = m0_rpc_bulk_store_reply(&query->eqy_bulk, item,
					     body->eb_descs);
	else
		m0_rpc_bulk_buflist_empty(&query->eqy_bulk);
	if (rc == 0) {
		query->eqy_body = body_encode(body, &query->eqy_body_nr);
		m0_list_add_tail(&easy->eas_offers, &query->eqy_link);
	}
	m0_mutex_unlock(&easy->eas_lock);
	if (rc != 0)
		(void)m0_rpc_bulk_wait(&query->eqy_bulk);
	return rc;
}

/*
 * Offers the result. After 0 the query is query_fetched()'s, which may have
 * freed it already: the descriptors are the caller's.
 */
static int query_offer(struct easy_query *query, struct m0_rpc_item *item,
		       struct easy_body *body)
{
	int rc = query_copy(query) ?: query_bufs_add(query, body);

	if (rc != 0)
		return rc;
	query->eqy_bulk.rb_done = query_fetched;
	query->eqy_bulk.rb_timeout_ns = left_ns(item);
	return offer_store(query, item, body);
}

/* Answers with the result. @return true  the query is not ours any more. */
static bool query_answer(struct easy_query *query, struct m0_rpc_item *item)
{
	struct m0_rpc_slice data = query->eqy_reply.ep_data;
	struct easy_body body = { .eb_data = data, .eb_data_nr = data.sl_nr };
	struct m0_rpc_item *result = NULL;
	bool                offered = false;
	int                 rc = 0;

	if (data.sl_nr > 0 &&
	    m0_easy__body_size(&body) > m0_easy__body_max(query->eqy_easy)) {
		rc = query_offer(query, item, &body);
		offered = rc == 0;
	}
	if (rc == 0) {
		result = result_make(&body);
		rc = result == NULL ? -ENOBUFS : 0;
	}
	if (!offered)
		body.eb_descs_nr = 0;
	m0_easy__descs_free(&body);
	/* After an offer the query may be gone. */
	if (!offered && query->eqy_again != NULL)
		result = query->eqy_again;
	if (result != NULL)
		m0_rpc_reply_post(item, result);
	else
		m0_rpc_reply_rc(item, rc);
	return offered;
}

/* Before the query takes memory or a snapshot, which earlier attempts may hold. */
static int query_begin(struct easy_query *query)
{
	struct m0_easy *easy = query->eqy_easy;
	int             rc;

	m0_mutex_lock(&easy->eas_lock);
	rc = earlier_end(query) ? 0 : -ENOBUFS;
	m0_mutex_unlock(&easy->eas_lock);
	if (rc == 0)
		rc = m0_rpc_snapshot_begin(easy->eas_store, &query->eqy_tx);
	return rc == -EAGAIN || rc == -ENOMEM ? -ENOBUFS : rc;
}

static int query_run(struct easy_query *query, struct m0_rpc_item *item)
{
	struct m0_easy          *easy = query->eqy_easy;
	const struct m0_easy_op *op;
	struct easy_body         body;
	int rc = request_open(easy, item, M0_EASY_QUERY, &body, &op);

	if (rc != 0)
		return rc;
	/* The data of a query is in its item. */
	if (body.eb_descs_nr > 0) {
		m0_free(body.eb_descs);
		return -EPROTO;
	}
	query->eqy_call = body.eb_call;
	query->eqy_attempt = body.eb_attempt;
	rc = query_begin(query);
	if (rc != 0)
		return rc;
	query->eqy_in_tx = true;
	return handle(easy, op, &body, item, &query->eqy_tx, &query->eqy_reply);
}

void m0_easy__query_deliver(struct m0_rpc_machine *machine,
			    struct m0_rpc_item    *item)
{
	struct m0_easy    *easy = easy_of(machine);
	struct easy_query *query = NULL;
	int                rc;

	if (easy != NULL)
		M0_ALLOC_PTR(query);
	if (query == NULL) {
		m0_rpc_reply_rc(item, easy == NULL ? -EOPNOTSUPP : -ENOBUFS);
		return;
	}
	m0_rpc_bulk_init(&query->eqy_bulk);
	m0_list_link_init(&query->eqy_link);
	query->eqy_easy = easy;
	query->eqy_client = m0_rpc_request_client(item);
	rc = query_run(query, item);
	if (query->eqy_again != NULL)
		m0_rpc_reply_post(item, query->eqy_again);
	else if (rc != 0)
		m0_rpc_reply_rc(item, rc);
	else if (query_answer(query, item))
		return;
	query_free(query);
}

void m0_easy__offers_end(struct m0_easy *easy)
{
	struct easy_query *query;

	m0_mutex_lock(&easy->eas_lock);
	easy->eas_closing = true;
	m0_list_for_each_entry(&easy->eas_offers, query, struct easy_query,
			       eqy_link)
		m0_rpc_bulk_store_del(&query->eqy_bulk);
	m0_mutex_unlock(&easy->eas_lock);
	m0_easy__drain(easy, &easy->eas_offers);
}
