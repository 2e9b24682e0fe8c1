/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The client: calls, from begin to end.
 *
 * A call is attempted until it has an outcome. An attempt is a request, with
 * the offer of its data if that is large; its parts (the request, the offer, and
 * the function that begins them) end in any order, and the last one goes on: it
 * takes the result, or fetches it, or tries again later. What is found outside
 * of the RPC machine's thread goes on in the strand, so that no callback is made
 * on the stack of the caller.
 */
#include "easy/easy_internal.h"

enum {
	/** Pause before the next attempt: the first, doubled up to the last. */
	PAUSE_MS = 5,
	PAUSE_MAX_MS = 500,
	/** Time that a transfer gets, beside another address, and for each byte. */
	FETCH_MS = 2000,
	FETCH_BYTE_NS = 50
};

enum call_state {
	/** Its attempt's parts are outstanding. */
	CALL_ASKS,
	CALL_FETCHES,
	/** In eas_waits. */
	CALL_WAITS,
	CALL_ENDED
};

/** The request of an attempt; the RPC machine may hold it a little longer than
 * the call. */
struct easy_ask {
	struct m0_rpc_raw     eak_raw;
	struct m0_easy__call *eak_call;
	void                 *eak_body;
};

struct m0_easy__call {
	struct m0_easy      *ecl_easy;
	struct m0_easy_call *ecl_call;
	uint64_t             ecl_nr;
	uint64_t             ecl_attempts_nr;
	/** In eas_calls, later in eas_ended. */
	struct m0_list_link ecl_link;
	struct m0_list_link ecl_wait_link;
	/** The next five: under eas_lock. */
	enum call_state ecl_state;
	bool            ecl_cancelled;
	/** The request was given to the RPC machine. */
	bool ecl_posted;
	/** In eas_waits: its attempt has ended, and not its pause. */
	bool      ecl_steps;
	m0_time_t ecl_at;
	/** Parts of the attempt that have not ended. Atomic. */
	uint32_t           ecl_parts;
	bool               ecl_offers;
	struct easy_ask   *ecl_ask;
	struct m0_rpc_bulk ecl_offer;
	struct m0_rpc_bulk ecl_fetch;
	/** Outcome of the attempt. */
	int32_t   ecl_rc;
	m0_time_t ecl_deadline;
	m0_time_t ecl_pause_ns;
	/** Transfers of the result that were begun. */
	uint32_t ecl_fetches_nr;
	/** Result that the library has allocated. */
	void               *ecl_memory;
	struct m0_semaphore ecl_sem;
};

static void call_step(struct m0_easy__call *ecl);

/* -------------------------------------------------------------------- end -- */

static void ecl_free(struct m0_easy__call *ecl)
{
	m0_semaphore_fini(&ecl->ecl_sem);
	m0_list_link_fini(&ecl->ecl_link);
	m0_list_link_fini(&ecl->ecl_wait_link);
	m0_free(ecl);
}

static void result_give(struct m0_easy__call *ecl, int rc)
{
	struct m0_easy_call *call = ecl->ecl_call;

	call->ec_rc = rc;
	if (rc == 0 && ecl->ecl_memory != NULL)
		call->ec_out = ecl->ecl_memory;
	else
		m0_free(ecl->ecl_memory);
	if (rc != 0 && rc != -EMSGSIZE)
		call->ec_out_nr = 0;
	ecl->ecl_memory = NULL;
}

/* Tells the end; the caller may free the call, and use it again, at once. */
static void call_end(struct m0_easy__call *ecl, int rc)
{
	struct m0_easy      *easy = ecl->ecl_easy;
	struct m0_easy_call *call = ecl->ecl_call;
	void (*done)(struct m0_easy_call *) = call->ec_done;

	m0_mutex_lock(&easy->eas_lock);
	m0_list_del(&ecl->ecl_link);
	ecl->ecl_state = CALL_ENDED;
	result_give(ecl, rc);
	if (done != NULL) {
		call->ec_lib = NULL;
		ecl_free(ecl);
	} else if (call->ec_queued) {
		m0_list_add_tail(&easy->eas_ended, &ecl->ecl_link);
		if (easy->eas_has_fd)
			m0_os_fd_signal(&easy->eas_fd);
	} else {
		m0_semaphore_up(&ecl->ecl_sem);
	}
	if (easy->eas_closing)
		m0_semaphore_up(&easy->eas_idle);
	m0_mutex_unlock(&easy->eas_lock);
	if (done != NULL)
		done(call);
}

/* ------------------------------------------------------------------ later -- */

/* The strand goes on with it, at `at`: with its outcome, or with an attempt. */
static void later(struct m0_easy__call *ecl, m0_time_t at, bool steps)
{
	struct m0_easy *easy = ecl->ecl_easy;

	m0_mutex_lock(&easy->eas_lock);
	ecl->ecl_state = CALL_WAITS;
	ecl->ecl_steps = steps;
	ecl->ecl_at = ecl->ecl_cancelled ? 0 : at;
	m0_list_add_tail(&easy->eas_waits, &ecl->ecl_wait_link);
	m0_mutex_unlock(&easy->eas_lock);
	m0_strand_wake(&easy->eas_strand);
}

/* Another attempt, if there is time for it; or the end, with `rc`. */
static void again(struct m0_easy__call *ecl, int rc)
{
	m0_time_t at = m0_time_add(m0_time_now(), ecl->ecl_pause_ns);

	if (at >= ecl->ecl_deadline) {
		call_end(ecl, rc == -ENOBUFS ? -ETIMEDOUT : rc);
		return;
	}
	ecl->ecl_pause_ns =
		min64u(2 * ecl->ecl_pause_ns, PAUSE_MAX_MS * M0_TIME_ONE_MSEC);
	later(ecl, at, false);
}

/* A part has ended. @param here  on the RPC machine's thread. */
static void part_ended(struct m0_easy__call *ecl, bool here)
{
	if (__atomic_sub_fetch(&ecl->ecl_parts, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	if (here)
		call_step(ecl);
	else
		later(ecl, 0, true);
}

/* ---------------------------------------------------------------- attempt -- */

static void replied(struct m0_rpc_item *item)
{
	struct m0_easy__call *ecl =
		container_of(item, struct easy_ask, eak_raw.rr_item)->eak_call;

	ecl->ecl_rc = m0_rpc_item_error(item);
	if (ecl->ecl_offers)
		m0_rpc_bulk_store_del(&ecl->ecl_offer);
	part_ended(ecl, true);
}

static const struct m0_rpc_item_ops request_ops = { .rio_replied = replied };

static void offer_ended(struct m0_rpc_bulk *rb)
{
	part_ended(container_of(rb, struct m0_easy__call, ecl_offer), true);
}

static m0_time_t left_ns(const struct m0_easy__call *ecl)
{
	m0_time_t now = m0_time_now();

	return ecl->ecl_deadline > now ? ecl->ecl_deadline - now : 1;
}

static struct m0_rpc_item *ask_item(const struct m0_easy__call *ecl)
{
	return &ecl->ecl_ask->eak_raw.rr_item;
}

/*
 * With one address a transfer ends when the network has given it up, or the call's
 * time-out has come. With several it may be the address that is dead, and nothing
 * else tells: so it gets a time in which a slow network would have moved it, which
 * doubles.
 */
static m0_time_t fetch_ns(struct m0_easy__call *ecl, m0_bcount_t nr)
{
	m0_time_t ns;

	if (ecl->ecl_easy->eas_place.epl_service.ead_nr == 1)
		return left_ns(ecl);
	ns = (FETCH_MS * M0_TIME_ONE_MSEC + nr * FETCH_BYTE_NS)
	     << ecl->ecl_fetches_nr;
	ecl->ecl_fetches_nr = (uint32_t)min64u(ecl->ecl_fetches_nr + 1, 8);
	return min64u(ns, left_ns(ecl));
}

static int offer_begin(struct m0_easy__call *ecl, struct easy_body *body)
{
	struct m0_rpc_slice data = ecl->ecl_call->ec_data;
	void               *at = (void *)(uintptr_t)data.sl_data;
	m0_bcount_t         nr = data.sl_nr;
	struct m0_bufvec    memory = M0_BUFVEC_INIT_BUF(&at, &nr);
	int                 bufs_nr = m0_rpc_bulk_add(&ecl->ecl_offer, &memory,
						      &ecl->ecl_easy->eas_dom);
	int                 rc;

	if (bufs_nr < 0)
		return bufs_nr;
	m0_rpc_bulk_qtype(&ecl->ecl_offer, M0_NET_QT_PASSIVE_BULK_SEND);
	rc = m0_easy__descs_alloc(body, (uint32_t)bufs_nr);
	if (rc != 0) {
		m0_rpc_bulk_buflist_empty(&ecl->ecl_offer);
		return rc;
	}
	ecl->ecl_offer.rb_done = offer_ended;
	ecl->ecl_offer.rb_timeout_ns = left_ns(ecl);
	rc = m0_rpc_bulk_store_for(&ecl->ecl_offer, ask_item(ecl),
				   body->eb_descs);
	if (rc != 0) {
		(void)m0_rpc_bulk_wait(&ecl->ecl_offer);
		body->eb_descs_nr = 0;
		return rc;
	}
	ecl->ecl_offers = true;
	(void)__atomic_add_fetch(&ecl->ecl_parts, 1, __ATOMIC_RELAXED);
	return 0;
}

/* The request's body, with the offer of its data if that is large. */
static int body_make(struct m0_easy__call *ecl)
{
	const struct m0_easy_call *call = ecl->ecl_call;
	struct easy_ask           *ask = ecl->ecl_ask;
	struct easy_body           body = { .eb_opcode = call->ec_opcode,
					    .eb_call = ecl->ecl_nr,
					    .eb_attempt = ecl->ecl_attempts_nr,
					    .eb_args = call->ec_args,
					    .eb_data = call->ec_data,
					    .eb_data_nr = call->ec_data.sl_nr };
	m0_bcount_t                max = m0_easy__body_max(ecl->ecl_easy);
	m0_bcount_t                nr;
	int                        rc = 0;

	if (m0_easy__body_size(&body) > max)
		rc = offer_begin(ecl, &body);
	nr = rc == 0 ? m0_easy__body_size(&body) : 0;
	if (nr > max)
		rc = -EMSGSIZE;
	if (rc == 0) {
		ask->eak_body = m0_alloc(nr);
		if (ask->eak_body == NULL)
			rc = -ENOMEM;
		else
			m0_easy__body_put(ask->eak_body, &body);
	}
	ask->eak_raw.rr_data = ask->eak_body;
	ask->eak_raw.rr_nr = nr;
	m0_easy__descs_free(&body);
	return rc;
}

static void ask_free(struct m0_rpc_raw *raw)
{
	struct easy_ask *ask = container_of(raw, struct easy_ask, eak_raw);

	m0_free(ask->eak_body);
	m0_free(ask);
}

static int ask_new(struct m0_easy__call *ecl)
{
	struct m0_easy     *easy = ecl->ecl_easy;
	struct easy_ask    *ask;
	struct m0_rpc_item *item;
	uint32_t            turn =
		__atomic_fetch_add(&easy->eas_turn, 1, __ATOMIC_RELAXED);
	bool update = ecl->ecl_call->ec_kind == M0_EASY_UPDATE;

	ecl->ecl_ask = M0_ALLOC_PTR(ask);
	if (ask == NULL)
		return -ENOMEM;
	ask->eak_call = ecl;
	m0_rpc_raw_init(&ask->eak_raw,
			update ? &m0_easy__update : &m0_easy__query, NULL, 0,
			ask_free);
	item = ask_item(ecl);
	item->ri_session = &easy->eas_session;
	item->ri_ops = &request_ops;
	item->ri_expires = ecl->ecl_deadline;
	if (update)
		item->ri_stream = 1 + turn % easy->eas_session.s_streams_nr;
	return 0;
}

static void ask_put(struct m0_easy__call *ecl)
{
	if (ecl->ecl_ask != NULL)
		m0_rpc_item_put(ask_item(ecl));
	ecl->ecl_ask = NULL;
}

/* The item stays until the attempt's function has ended, so that it can be
 * cancelled here. */
static int request_post(struct m0_easy__call *ecl)
{
	struct m0_rpc_item *item = ask_item(ecl);
	int                 rc = m0_rpc_post(item);

	if (rc != 0)
		return rc == -EAGAIN ? -ENOBUFS : rc;
	m0_mutex_lock(&ecl->ecl_easy->eas_lock);
	ecl->ecl_posted = true;
	if (ecl->ecl_cancelled)
		m0_rpc_item_cancel(item);
	m0_mutex_unlock(&ecl->ecl_easy->eas_lock);
	return 0;
}

/* Begins an attempt, on any thread but the RPC machine's, or there. */
static void attempt(struct m0_easy__call *ecl)
{
	int rc;

	/* This function, and the request. */
	ecl->ecl_parts = 2;
	++ecl->ecl_attempts_nr;
	ecl->ecl_rc = 0;
	ecl->ecl_offers = false;
	m0_rpc_bulk_init(&ecl->ecl_offer);
	rc = ask_new(ecl) ?: body_make(ecl) ?: request_post(ecl);
	if (rc != 0) {
		ecl->ecl_rc = rc;
		if (ecl->ecl_offers)
			m0_rpc_bulk_store_del(&ecl->ecl_offer);
		part_ended(ecl, false);
	}
	part_ended(ecl, false);
}

/* ----------------------------------------------------------------- result -- */

/* Memory for `nr` bytes; NULL: -EMSGSIZE or -ENOMEM. */
static void *out_place(struct m0_easy__call *ecl, m0_bcount_t nr, int *rc)
{
	struct m0_easy_call *call = ecl->ecl_call;

	*rc = 0;
	call->ec_out_nr = nr;
	if (call->ec_out != NULL) {
		if (nr > call->ec_out_max)
			*rc = -EMSGSIZE;
		return *rc == 0 ? call->ec_out : NULL;
	}
	m0_free(ecl->ecl_memory);
	/* Allocate for an empty result, too: the caller frees it. */
	ecl->ecl_memory = m0_alloc(max64u(nr, 1));
	if (ecl->ecl_memory == NULL)
		*rc = -ENOMEM;
	return ecl->ecl_memory;
}

static void fetched(struct m0_rpc_bulk *rb)
{
	struct m0_easy__call *ecl =
		container_of(rb, struct m0_easy__call, ecl_fetch);
	int rc = rb->rb_rc;

	/* From now on a cancel leaves the rbulk alone. */
	m0_mutex_lock(&ecl->ecl_easy->eas_lock);
	ecl->ecl_state = CALL_ASKS;
	m0_mutex_unlock(&ecl->ecl_easy->eas_lock);
	m0_rpc_bulk_fini(rb);
	ask_put(ecl);
	if (rc == 0 || ecl->ecl_cancelled)
		call_end(ecl, rc);
	else
		again(ecl, rc);
}

/* 0: fetched() goes on. */
static int fetch_begin(struct m0_easy__call *ecl, const struct easy_body *body)
{
	struct m0_easy  *easy = ecl->ecl_easy;
	m0_bcount_t      nr = body->eb_data_nr;
	int              rc;
	void            *at = out_place(ecl, nr, &rc);
	struct m0_bufvec memory = M0_BUFVEC_INIT_BUF(&at, &nr);

	if (rc != 0)
		return rc;
	m0_rpc_bulk_init(&ecl->ecl_fetch);
	rc = m0_rpc_bulk_add_as(&ecl->ecl_fetch, &memory, &easy->eas_dom,
				body->eb_descs, body->eb_descs_nr);
	if (rc == 0) {
		m0_rpc_bulk_qtype(&ecl->ecl_fetch, M0_NET_QT_ACTIVE_BULK_RECV);
		ecl->ecl_fetch.rb_done = fetched;
		ecl->ecl_fetch.rb_timeout_ns = fetch_ns(ecl, nr);
		m0_mutex_lock(&easy->eas_lock);
		rc = ecl->ecl_cancelled
			     ? -ECANCELED
			     : m0_rpc_bulk_load_reply(&ecl->ecl_fetch,
						      ask_item(ecl)->ri_reply,
						      body->eb_descs);
		if (rc == 0)
			ecl->ecl_state = CALL_FETCHES;
		m0_mutex_unlock(&easy->eas_lock);
		if (rc == -ECANCELED)
			m0_rpc_bulk_buflist_empty(&ecl->ecl_fetch);
	}
	if (rc != 0)
		m0_rpc_bulk_fini(&ecl->ecl_fetch);
	return rc;
}

/* @retval 1  it is being fetched. */
static int result_take(struct m0_easy__call *ecl)
{
	struct m0_rpc_item *reply = ask_item(ecl)->ri_reply;
	struct m0_rpc_raw  *raw;
	struct easy_body    body;
	void               *at;
	int                 rc;

	if (reply == NULL || reply->ri_type != &m0_easy__result)
		return -EPROTO;
	raw = m0_rpc_raw_of(reply);
	rc = m0_easy__body_get(&body, raw->rr_data, raw->rr_nr);
	if (rc != 0)
		return rc;
	if (body.eb_descs_nr > 0) {
		rc = fetch_begin(ecl, &body) ?: 1;
		m0_free(body.eb_descs);
		return rc;
	}
	at = out_place(ecl, body.eb_data_nr, &rc);
	if (rc == 0 && body.eb_data_nr > 0)
		memcpy(at, body.eb_data.sl_data, body.eb_data_nr);
	return rc;
}

/* All parts of the attempt have ended. */
static void call_step(struct m0_easy__call *ecl)
{
	int rc = ecl->ecl_rc;

	m0_mutex_lock(&ecl->ecl_easy->eas_lock);
	ecl->ecl_posted = false;
	m0_mutex_unlock(&ecl->ecl_easy->eas_lock);
	m0_rpc_bulk_fini(&ecl->ecl_offer);
	if (rc == 0)
		rc = result_take(ecl);
	if (rc == 1)
		return;
	ask_put(ecl);
	if (rc != -ENOBUFS)
		call_end(ecl, rc);
	else if (ecl->ecl_cancelled)
		call_end(ecl, -ECANCELED);
	else
		again(ecl, rc);
}

/* ----------------------------------------------------------------- strand -- */

/* The next call that is due, taken off the list; NULL: none until *next. */
static struct m0_easy__call *due_take(struct m0_easy *easy, m0_time_t now,
				      m0_time_t *next)
{
	struct m0_easy__call *ecl;
	struct m0_easy__call *ret = NULL;

	*next = M0_TIME_NEVER;
	m0_mutex_lock(&easy->eas_lock);
	m0_list_for_each_entry(&easy->eas_waits, ecl, struct m0_easy__call,
			       ecl_wait_link) {
		if (ecl->ecl_at <= now) {
			ret = ecl;
			break;
		}
		*next = min64u(*next, ecl->ecl_at);
	}
	if (ret != NULL) {
		m0_list_del(&ret->ecl_wait_link);
		ret->ecl_state = CALL_ASKS;
	}
	m0_mutex_unlock(&easy->eas_lock);
	return ret;
}

m0_time_t m0_easy__again_step(struct m0_strand *strand, m0_time_t now)
{
	struct m0_easy *easy = container_of(strand, struct m0_easy, eas_strand);
	struct m0_easy__call *ecl;
	m0_time_t             next;

	while ((ecl = due_take(easy, now, &next)) != NULL) {
		if (ecl->ecl_steps)
			call_step(ecl);
		else if (ecl->ecl_cancelled)
			call_end(ecl, -ECANCELED);
		else
			attempt(ecl);
	}
	return next;
}

/* Under eas_lock. */
static void cancel(struct m0_easy__call *ecl)
{
	ecl->ecl_cancelled = true;
	if (ecl->ecl_state == CALL_FETCHES) {
		m0_rpc_bulk_store_del(&ecl->ecl_fetch);
	} else if (ecl->ecl_state == CALL_WAITS) {
		ecl->ecl_at = 0;
		m0_strand_wake(&ecl->ecl_easy->eas_strand);
	} else if (ecl->ecl_posted) {
		m0_rpc_item_cancel(ask_item(ecl));
	}
}

void m0_easy__calls_end(struct m0_easy *easy)
{
	struct m0_easy__call *ecl;

	m0_mutex_lock(&easy->eas_lock);
	easy->eas_closing = true;
	m0_list_for_each_entry(&easy->eas_calls, ecl, struct m0_easy__call,
			       ecl_link)
		cancel(ecl);
	m0_mutex_unlock(&easy->eas_lock);
	m0_easy__drain(easy, &easy->eas_calls);
}

/* -------------------------------------------------------------------- API -- */

static int call_check(const struct m0_easy      *client,
		      const struct m0_easy_call *call)
{
	struct easy_body body = { .eb_args = call->ec_args,
				  .eb_data_nr = call->ec_data.sl_nr };

	M0_PRE(client->eas_cfg.en_ops == NULL);
	M0_PRE(call->ec_lib == NULL);
	if (call->ec_args.sl_nr > M0_EASY_ARGS_MAX ||
	    call->ec_data.sl_nr > M0_EASY_DATA_MAX ||
	    (call->ec_kind == M0_EASY_QUERY &&
	     m0_easy__body_size(&body) > m0_easy__body_max(client)))
		return -EMSGSIZE;
	return m0_rpc_session_validate(&client->eas_session);
}

static int ecl_new(struct m0_easy *client, struct m0_easy_call *call)
{
	struct m0_easy__call *ecl;
	m0_time_t             ns = call->ec_timeout_ns;
	int                   rc = 0;

	if (M0_ALLOC_PTR(ecl) == NULL)
		return -ENOMEM;
	if (ns == 0)
		ns = client->eas_cfg.en_timeout_ns;
	ecl->ecl_easy = client;
	ecl->ecl_call = call;
	ecl->ecl_nr =
		__atomic_add_fetch(&client->eas_calls_nr, 1, __ATOMIC_RELAXED);
	ecl->ecl_deadline = m0_time_add(m0_time_now(), ns);
	ecl->ecl_pause_ns = PAUSE_MS * M0_TIME_ONE_MSEC;
	(void)m0_semaphore_init(&ecl->ecl_sem, 0);
	m0_list_link_init(&ecl->ecl_link);
	m0_list_link_init(&ecl->ecl_wait_link);
	call->ec_rc = 0;
	call->ec_out_nr = 0;
	m0_mutex_lock(&client->eas_lock);
	if (client->eas_closing) {
		rc = -ESHUTDOWN;
	} else {
		m0_list_add_tail(&client->eas_calls, &ecl->ecl_link);
		call->ec_lib = ecl;
	}
	m0_mutex_unlock(&client->eas_lock);
	if (rc != 0)
		ecl_free(ecl);
	return rc;
}

int m0_easy_begin(struct m0_easy *client, struct m0_easy_call *call)
{
	int rc = call_check(client, call) ?: ecl_new(client, call);

	if (rc != 0) {
		call->ec_rc = rc;
		return rc;
	}
	/* In a callback the attempt might wait for what only this thread does. */
	if (m0_strand_current() != NULL)
		later(call->ec_lib, 0, false);
	else
		attempt(call->ec_lib);
	return 0;
}

int m0_easy_wait(struct m0_easy_call *call, m0_time_t deadline)
{
	struct m0_easy__call *ecl = call->ec_lib;

	M0_PRE(call->ec_done == NULL && !call->ec_queued && ecl != NULL);
	if (!m0_semaphore_timeddown(&ecl->ecl_sem, deadline))
		return -ETIMEDOUT;
	/* The thread that raised the semaphore has left the call when the lock
	 * is free. */
	m0_mutex_lock(&ecl->ecl_easy->eas_lock);
	m0_mutex_unlock(&ecl->ecl_easy->eas_lock);
	call->ec_lib = NULL;
	ecl_free(ecl);
	return call->ec_rc;
}

int m0_easy_call(struct m0_easy *client, struct m0_easy_call *call)
{
	return m0_easy_begin(client, call) ?: m0_easy_wait(call, M0_TIME_NEVER);
}

void m0_easy_cancel(struct m0_easy *client, struct m0_easy_call *call)
{
	m0_mutex_lock(&client->eas_lock);
	if (call->ec_lib != NULL)
		cancel(call->ec_lib);
	m0_mutex_unlock(&client->eas_lock);
}

int m0_easy_fd(struct m0_easy *client)
{
	int rc = 0;

	m0_mutex_lock(&client->eas_lock);
	if (!client->eas_has_fd) {
		rc = m0_os_fd_open(&client->eas_fd);
		client->eas_has_fd = rc == 0;
		if (rc == 0 && !m0_list_is_empty(&client->eas_ended))
			m0_os_fd_signal(&client->eas_fd);
	}
	m0_mutex_unlock(&client->eas_lock);
	return rc == 0 ? client->eas_fd.of_fd : rc;
}

struct m0_easy_call *m0_easy_next(struct m0_easy *client)
{
	struct m0_easy__call *ecl = NULL;
	struct m0_easy_call  *call = NULL;
	struct m0_list_link  *link;

	m0_mutex_lock(&client->eas_lock);
	link = m0_list_first(&client->eas_ended);
	if (link != NULL) {
		ecl = container_of(link, struct m0_easy__call, ecl_link);
		m0_list_del(link);
		call = ecl->ecl_call;
		call->ec_lib = NULL;
	}
	if (client->eas_has_fd && m0_list_is_empty(&client->eas_ended))
		m0_os_fd_clear(&client->eas_fd);
	m0_mutex_unlock(&client->eas_lock);
	if (ecl != NULL)
		ecl_free(ecl);
	return call;
}
