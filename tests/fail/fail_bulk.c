/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Requests with bulk: the client offers memory, the server moves it. */
#include "fail/fail.h"
#include "fail/fail_bulk.h"

#include "m0/rpc_bulk.h"

enum {
	BYTES = 50000,
	TIMEOUT_S = 5,
	BODY_BYTES = 4096
};

static uint8_t theirs[BYTES];
static uint8_t ours[BYTES];
static bool    serving;

/* Memory as a vector of one. */
struct flat {
	void            *fla_addr;
	m0_bcount_t      fla_count;
	struct m0_bufvec fla_vec;
};

static const struct m0_bufvec *flat_of(struct flat *flat, uint8_t *bytes)
{
	flat->fla_addr = bytes;
	flat->fla_count = BYTES;
	flat->fla_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&flat->fla_addr,
							     &flat->fla_count);
	return &flat->fla_vec;
}

/* -- server ---------------------------------------------------------------- */

static struct m0_rpc_bulk  job;
static struct m0_rpc_item *job_item;

static void job_end(struct m0_rpc_bulk *rb, int rc)
{
	m0_rpc_reply_rc(job_item, rc);
	m0_rpc_item_put(job_item);
	m0_rpc_bulk_fini(rb);
	serving = false;
}

static void job_done(struct m0_rpc_bulk *rb)
{
	job_end(rb, rb->rb_rc);
}

static int job_begin(struct m0_rpc_machine   *machine,
		     const struct m0_rpc_raw *raw)
{
	struct m0_net_buf_desc_data desc;
	struct flat                 flat;
	int64_t                     used;
	int                         rc;

	used = m0_rpc_bulk_desc_get(raw->rr_data, raw->rr_nr, &desc);
	if (used < 0)
		return (int)used;
	rc = m0_rpc_bulk_add_as(&job, flat_of(&flat, theirs),
				machine->rm_tm.ntm_dom, &desc, 1);
	if (rc != 0)
		return rc;
	m0_rpc_bulk_qtype(&job, M0_NET_QT_ACTIVE_BULK_RECV);
	return m0_rpc_bulk_load_for(&job, job_item, &desc);
}

void fail_bulk_deliver(struct m0_rpc_machine *machine, struct m0_rpc_item *item)
{
	int rc;

	/* One at a time: an earlier one may still wait for its peer. */
	if (serving) {
		m0_rpc_reply_rc(item, -EBUSY);
		return;
	}
	serving = true;
	m0_rpc_item_get(item);
	job_item = item;
	m0_rpc_bulk_init(&job);
	job.rb_done = job_done;
	job.rb_timeout_ns = TIMEOUT_S * M0_TIME_ONE_SECOND;
	rc = job_begin(machine, m0_rpc_raw_of(item));
	if (rc != 0)
		job_end(&job, rc);
}

/* -- client ---------------------------------------------------------------- */

static uint8_t body[BODY_BYTES];

static void request_init(struct m0_rpc_raw       *request,
			 struct m0_rpc_item_type *type,
			 struct m0_rpc_session   *session)
{
	M0_SET0(request);
	m0_rpc_raw_init(request, type, body, 0, NULL);
	request->rr_item.ri_session = session;
	request->rr_item.ri_expires = m0_time_from_now(4 * TIMEOUT_S, 0);
}

/* For the request itself, or for a caller that uses that connection. */
static int offer(struct m0_rpc_bulk *rb, const struct m0_rpc_raw *request,
		 bool bound, struct m0_net_buf_desc_data *desc)
{
	const struct m0_rpc_conn *conn = request->rr_item.ri_session->s_conn;
	struct flat               flat;
	int                       rc;

	rc = m0_rpc_bulk_add(rb, flat_of(&flat, ours),
			     conn->c_rpc_machine->rm_tm.ntm_dom);
	if (rc < 0)
		return rc;
	assert_int_equal(rc, 1);
	m0_rpc_bulk_qtype(rb, M0_NET_QT_PASSIVE_BULK_SEND);
	return bound ? m0_rpc_bulk_store_for(rb, &request->rr_item, desc)
		     : m0_rpc_bulk_store(rb, conn, desc);
}

int fail_bulk_send(struct m0_rpc_session   *session,
		   struct m0_rpc_item_type *type, bool bound)
{
	struct m0_net_buf_desc_data desc = { .bdd_used = 0 };
	struct m0_rpc_raw           request;
	struct m0_rpc_bulk          rb;
	int                         rc;

	memset(theirs, 0, sizeof theirs);
	memset(ours, 0x3c, sizeof ours);
	request_init(&request, type, session);
	m0_rpc_bulk_init(&rb);
	rb.rb_timeout_ns = TIMEOUT_S * M0_TIME_ONE_SECOND;
	rc = offer(&rb, &request, bound, &desc);
	if (rc == 0) {
		request.rr_nr = m0_rpc_bulk_desc_put(body, &desc);
		rc = m0_rpc_post_sync(&request.rr_item);
		if (rc != 0)
			m0_rpc_bulk_store_del(&rb);
		m0_net_desc_free(&desc.bdd_desc);
	}
	m0_rpc_item_fini(&request.rr_item);
	(void)m0_rpc_bulk_wait(&rb);
	m0_rpc_bulk_fini(&rb);
	if (rc == 0)
		assert_memory_equal(theirs, ours, sizeof ours);
	return rc;
}
