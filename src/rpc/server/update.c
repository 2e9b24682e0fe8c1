/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Updates: what a handler changes, and what it answers, in one transaction of
 * the store. To a store that outlives the machine the answer is added as a
 * record, so that it is found when the request comes again after a restart.
 */
#include "rpc/rpc_internal.h"
#include "rpc/core/record.h"

/* The opcode, before the reply's body in the record. */
enum {
	REPLY_HEAD = 8
};

struct m0_rpc__job {
	struct m0_rpc_store_job job_store;
	struct m0_rpc__call     job_call;
	struct m0_rpc__machine *job_machine;
	struct m0_rpc_item     *job_request;
	/** NULL: the answer is there already. */
	void (*job_update)(struct m0_rpc_item *request, struct m0_rpc_tx *tx);
	int32_t job_rc;
};

static int record_put(struct m0_rpc__job *job, struct m0_rpc_tx *tx)
{
	const struct m0_rpc__item    *il = m0_rpc__il(job->job_request);
	const struct m0_rpc__sstream *stream = il->ril_sstream;
	struct m0_rpc_item           *reply = il->ril_answer;
	m0_bcount_t                   nr = m0_rpc__il(reply)->ril_payload;
	struct m0_rpc_record_reply    rec = {
		   .rrr_session = il->ril_in_session,
		   .rrr_stream = il->ril_in_stream,
		   .rrr_window = stream->rsq_session->rsw_window,
		   .rrr_xid = il->ril_xid,
		   .rrr_ack = il->ril_in_ack,
		   .rrr_rc = m0_rpc__il(reply)->ril_re.rre_status,
	};
	m0_bcount_t bytes = M0_RPC_RECORD_HEAD + REPLY_HEAD + nr;
	uint8_t    *value = m0_alloc(bytes);
	int         rc = 0;

	M0_PRE(stream != NULL && reply != NULL);
	if (value == NULL)
		return -ENOMEM;
	(void)m0_rpc__number_put(value + M0_RPC_RECORD_HEAD,
				 reply->ri_type->rit_opcode);
	if (nr > 0)
		rc = reply->ri_type->rit_ops->rito_encode(
			reply, value + M0_RPC_RECORD_HEAD + REPLY_HEAD, nr);
	if (rc >= 0)
		rc = m0_rpc_record_reply_put(
			tx, stream->rsq_session->rsw_client->rct_uuid, &rec,
			value, bytes);
	m0_free(value);
	return rc;
}

static int job_run(struct m0_rpc_store_job *store_job, struct m0_rpc_tx *tx)
{
	struct m0_rpc__job *job =
		container_of(store_job, struct m0_rpc__job, job_store);
	const struct m0_rpc__sstream *stream =
		m0_rpc__il(job->job_request)->ril_sstream;

	M0_PRE(stream != NULL);
	/* Fenced meanwhile: what the younger one does comes after it. */
	if (__atomic_load_n(&stream->rsq_session->rsw_gone, __ATOMIC_RELAXED))
		return -ESTALE;
	if (job->job_update != NULL)
		job->job_update(job->job_request, tx);
	M0_ASSERT_INFO(
		(__atomic_load_n(&m0_rpc__il(job->job_request)->ril_flags,
				 __ATOMIC_RELAXED) &
		 M0_RPC__IF_ANSWERED) != 0 ||
			m0_rpc__il(job->job_request)->ril_answer != NULL,
		"an update answers its request");
	/* Without memory, or if the answer is too large, nothing is to
	 * change. */
	if (m0_rpc__il(job->job_request)->ril_answer == NULL)
		return m0_rpc__il(job->job_request)->ril_status;
	return job->job_machine->rml_jobs.rjb_store_is_own
		       ? 0
		       : record_put(job, tx);
}

static void job_finish(struct m0_rpc__machine *m, struct m0_rpc__call *call)
{
	struct m0_rpc__job *job =
		container_of(call, struct m0_rpc__job, job_call);
	struct m0_rpc_item *request = job->job_request;
	struct m0_rpc_item *answer = m0_rpc__il(request)->ril_answer;
	int                 rc = job->job_rc;

	M0_PRE(m0_rpc__is_here(m));
	M0_PRE(m0_rpc__il(request)->ril_job == job);
	m0_rpc__il(request)->ril_answer = NULL;
	m0_rpc__il(request)->ril_job = NULL;
	m0_free(job);
	if (rc == -ENOSPC)
		m0_rpc__sweep_need(m);
	if (rc != 0 && answer != NULL) {
		m0_rpc__item_end(answer, rc, NULL);
		answer = NULL;
	}
	m0_rpc__request_finish(m, request, answer, rc);
}

static void job_done(struct m0_rpc_store_job *store_job, int rc)
{
	struct m0_rpc__job *job =
		container_of(store_job, struct m0_rpc__job, job_store);
	int pushed;

	job->job_rc = rc;
	job->job_call.rcl_run = job_finish;
	pushed = m0_rpc__call_push(job->job_machine, &job->job_call);
	M0_ASSERT_INFO(pushed == 0, "requests are waited for by stop");
}

static int job_begin(struct m0_rpc__machine *m, struct m0_rpc_item *request,
		     void (*update)(struct m0_rpc_item *request,
				    struct m0_rpc_tx   *tx))
{
	struct m0_rpc__job *job;

	M0_PRE(m0_rpc__il(request)->ril_job == NULL);
	M0_PRE(m0_rpc__il(request)->ril_sstream != NULL);
	M0_ALLOC_PTR(job);
	if (job == NULL)
		return -ENOMEM;
	job->job_store.sj_run = job_run;
	job->job_store.sj_done = job_done;
	job->job_machine = m;
	job->job_request = request;
	job->job_update = update;
	m0_rpc__il(request)->ril_job = job;
	m0_rpc__store_exec(m, &job->job_store);
	return 0;
}

void m0_rpc_update_post(struct m0_rpc_item *request,
			void (*update)(struct m0_rpc_item *request,
				       struct m0_rpc_tx   *tx))
{
	struct m0_rpc__machine *m = request->ri_rmachine->rm_lib;

	M0_PRE(request->ri_state == M0_RPC_ITEM_ACCEPTED);
	M0_PRE(request->ri_stream != 0);
	if (job_begin(m, request, update) != 0)
		m0_rpc_reply_rc(request, -ENOMEM);
}

void m0_rpc__request_answered(struct m0_rpc__machine *m,
			      struct m0_rpc_item     *request,
			      struct m0_rpc_item     *reply)
{
	/* Its outcome is in the store before the reply leaves. */
	if (m0_rpc__il(request)->ril_sstream != NULL &&
	    !m->rml_jobs.rjb_store_is_own) {
		m0_rpc__il(request)->ril_answer = reply;
		if (job_begin(m, request, NULL) == 0)
			return;
		m0_rpc__il(request)->ril_answer = NULL;
	}
	m0_rpc__request_finish(m, request, reply, 0);
}
