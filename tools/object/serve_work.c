/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Workers, and the operations that wait for them. */
#include "serve.h"
#include "serve_metrics.h"

struct server *serve_server;

static struct serve_op *op_take(struct m0_list *list)
{
	struct m0_list_link *at = m0_list_first(list);

	if (at == NULL)
		return NULL;
	m0_list_del(at);
	return container_of(at, struct serve_op, op_link);
}

/* ------------------------------------------------------------- workers -- */

static void worker(struct server *sv)
{
	struct serve_op *op;

	m0_mutex_lock(&sv->sv_lock);
	while (true) {
		op = op_take(&sv->sv_work);
		if (op != NULL) {
			m0_mutex_unlock(&sv->sv_lock);
			op->op_next(op);
			m0_mutex_lock(&sv->sv_lock);
		} else if (sv->sv_stopping) {
			break;
		} else {
			m0_cond_wait(&sv->sv_work_cond);
		}
	}
	m0_mutex_unlock(&sv->sv_lock);
}

void serve_work(struct serve_op *op, void (*next)(struct serve_op *op))
{
	struct server *sv = op->op_server;

	op->op_next = next;
	m0_mutex_lock(&sv->sv_lock);
	m0_list_add_tail(&sv->sv_work, &op->op_link);
	m0_cond_signal(&sv->sv_work_cond);
	m0_mutex_unlock(&sv->sv_lock);
}

int serve_work_start(struct server *sv, uint32_t threads_nr)
{
	int rc = 0;

	M0_ALLOC_ARR(sv->sv_threads, threads_nr);
	if (sv->sv_threads == NULL)
		return -ENOMEM;
	while (rc == 0 && sv->sv_threads_nr < threads_nr) {
		rc = M0_THREAD_INIT(&sv->sv_threads[sv->sv_threads_nr],
				    struct server *, NULL, &worker, sv,
				    "serve");
		sv->sv_threads_nr += rc == 0;
	}
	return rc;
}

void serve_work_stop(struct server *sv)
{
	uint32_t i;

	m0_mutex_lock(&sv->sv_lock);
	sv->sv_stopping = true;
	m0_cond_broadcast(&sv->sv_work_cond);
	m0_cond_signal(&sv->sv_look_cond);
	m0_mutex_unlock(&sv->sv_lock);
	for (i = 0; i < sv->sv_threads_nr; ++i) {
		(void)m0_thread_join(&sv->sv_threads[i]);
		m0_thread_fini(&sv->sv_threads[i]);
	}
	m0_free(sv->sv_threads);
}

/* ---------------------------------------------------------- operations -- */

struct serve_op *serve_op_new(struct m0_rpc_item *item)
{
	const struct m0_rpc_raw *raw = m0_rpc_raw_of(item);
	struct serve_op         *op;
	int                      rc;

	M0_ALLOC_PTR(op);
	if (op == NULL) {
		m0_rpc_reply_rc(item, -ENOMEM);
		return NULL;
	}
	rc = obj_req_decode(&op->op_req, raw->rr_data, raw->rr_nr);
	if (rc != 0) {
		m0_rpc_reply_rc(item, rc);
		m0_free(op);
		return NULL;
	}
	m0_mutex_lock(&serve_server->sv_lock);
	++serve_server->sv_ops_nr;
	m0_mutex_unlock(&serve_server->sv_lock);
	m0_rpc_item_get(item);
	op->op_server = serve_server;
	op->op_item = item;
	op->op_came = serve_server->sv_metrics != NULL ? m0_time_now() : 0;
	m0_list_link_init(&op->op_link);
	m0_list_link_init(&op->op_moving);
	return op;
}

void serve_op_free(struct serve_op *op)
{
	struct server       *sv = op->op_server;
	struct serve_upload *upload = op->op_upload;

	if (op->op_nb != NULL) {
		m0_mutex_lock(&sv->sv_lock);
		serve_buffer_put(op);
		m0_mutex_unlock(&sv->sv_lock);
	}
	if (sv->sv_metrics != NULL)
		serve_metrics_operation(sv->sv_metrics, op->op_item,
					m0_time_sub(op->op_answered != 0
							    ? op->op_answered
							    : m0_time_now(),
						    op->op_came));
	m0_rpc_item_put(op->op_item);
	m0_free(op);
	m0_mutex_lock(&sv->sv_lock);
	if (upload != NULL)
		serve_upload_put(sv, upload);
	/* Last: the machine may go now. */
	if (--sv->sv_ops_nr == 0)
		m0_cond_signal(&sv->sv_ops_cond);
	m0_mutex_unlock(&sv->sv_lock);
}

void serve_ops_wait(struct server *sv)
{
	m0_mutex_lock(&sv->sv_lock);
	while (sv->sv_ops_nr > 0)
		m0_cond_wait(&sv->sv_ops_cond);
	m0_mutex_unlock(&sv->sv_lock);
}

void serve_reply(struct m0_rpc_item *item, const struct obj_rep *rep)
{
	uint8_t           *body;
	struct m0_rpc_raw *raw =
		obj_raw_new(OBJ_REPLY, obj_rep_size(rep), &body);

	if (raw == NULL) {
		m0_rpc_reply_rc(item, -ENOMEM);
		return;
	}
	(void)obj_rep_encode(rep, body);
	m0_rpc_reply_post(item, &raw->rr_item);
}

void serve_op_end(struct serve_op *op, int rc)
{
	if (rc != 0)
		m0_rpc_reply_rc(op->op_item, rc);
	else
		serve_reply(op->op_item, &op->op_rep);
	serve_op_free(op);
}
