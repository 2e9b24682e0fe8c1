/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Numbers of transfer machines of an attached front: the daemon gives each to one process.
 */
#include "front/front_internal.h"
#include "m0/log.h"

enum {
	/** Not a status of the daemon. */
	NO_ANSWER = 1
};

/** Time for the daemon to answer. */
#define ANSWER_NS (5 * M0_TIME_ONE_SECOND)

static struct m0_front_tm *tm_of(struct m0_list_link *link)
{
	return container_of(link, struct m0_front_tm, ftm_link);
}

static void tm_do(struct m0_lnet *lnet, struct m0_front_call *call)
{
	lnet->fro_embed.emb_apart->fao_tm_do(
		lnet->fro_pump,
		container_of(call, struct m0_front_tm, ftm_call));
}

static struct m0_front_tm *tm_find(struct m0_lnet *lnet, uint32_t portal,
				   uint32_t nr)
{
	struct m0_front_tm *tm;

	m0_list_for_each_entry(&lnet->fro_embed.emb_tms, tm, struct m0_front_tm,
			       ftm_link) {
		if (tm->ftm_portal == portal && tm->ftm_nr == nr)
			return tm;
	}
	return NULL;
}

/* A number that a new attachment was asked for. `tm` is the request. */
static void again_result(struct m0_lnet *lnet, struct m0_front_tm *tm,
			 int status)
{
	struct m0_front_tm *own;

	M0_PRE(tm->ftm_is_claim);
	m0_front__lock(lnet);
	own = tm_find(lnet, tm->ftm_portal, tm->ftm_nr);
	/* The number was released meanwhile. */
	if (status == 0 && own == NULL) {
		tm->ftm_renews = false;
		tm->ftm_is_claim = false;
		m0_front__call_unlock(lnet, &tm->ftm_call);
		return;
	}
	if (status != 0 && status != -ESHUTDOWN && own != NULL) {
		m0_list_del(&own->ftm_link);
		m0_log(M0_LOG_WARN,
		       "the number %u of a transfer machine on portal %u is "
		       "lost, since the node's daemon has been started again: "
		       "%s",
		       tm->ftm_nr, tm->ftm_portal, m0_errname(status));
		m0_free(own);
	}
	m0_mutex_unlock(&lnet->fro_lock);
	m0_free(tm);
}

int m0_front__tm_again(struct m0_lnet *lnet, struct m0_front_tm **ret)
{
	struct m0_front_tm *request;
	struct m0_front_tm *tm;

	M0_PRE(lnet->fro_pump != NULL);
	M0_ALLOC_PTR(request);
	if (request == NULL)
		return -ENOMEM;
	m0_front__lock(lnet);
	m0_list_for_each_entry(&lnet->fro_embed.emb_tms, tm, struct m0_front_tm,
			       ftm_link) {
		if (tm->ftm_epoch == lnet->fro_embed.emb_epoch)
			continue;
		tm->ftm_epoch = lnet->fro_embed.emb_epoch;
		*request = (struct m0_front_tm){
			.ftm_call = { .ca_do = tm_do },
			.ftm_portal = tm->ftm_portal,
			.ftm_nr = tm->ftm_nr,
			.ftm_is_claim = true,
			.ftm_renews = true,
		};
		m0_list_link_init(&request->ftm_link);
		m0_mutex_unlock(&lnet->fro_lock);
		*ret = request;
		return 1;
	}
	m0_mutex_unlock(&lnet->fro_lock);
	m0_free(request);
	return 0;
}

void m0_front__tm_result(struct m0_lnet *lnet, struct m0_front_tm *tm,
			 int status, uint32_t nr)
{
	bool waits;

	M0_PRE(!m0_list_link_is_in(&tm->ftm_link) && status <= 0);
	if (tm->ftm_renews) {
		again_result(lnet, tm, status);
		return;
	}
	m0_mutex_lock(&lnet->fro_lock);
	waits = tm->ftm_is_claim && tm->ftm_sem != NULL;
	if (waits) {
		tm->ftm_status = status;
		if (status == 0)
			tm->ftm_nr = nr;
		m0_semaphore_up(tm->ftm_sem);
	}
	m0_mutex_unlock(&lnet->fro_lock);
	/* Its number, if the claimer has given up, stays the process's until the end. */
	if (!waits)
		m0_free(tm);
}

/*
 * Waits for the daemon's answer, or its end. A strand must not sleep. It takes the answer
 * itself, since it may be the front's own, or nobody may make steps of an inline front. The
 * next step delivers events that come before the answer; if they fill the front's queue,
 * the answer does not come.
 */
static bool tm_wait(struct m0_lnet *lnet, struct m0_semaphore *sem)
{
	m0_time_t until = m0_time_add(m0_time_now(), ANSWER_NS);
	bool      done;

	M0_PRE(lnet->fro_pump != NULL);
	if (m0_strand_current() == NULL)
		return m0_front__wait(lnet, sem, until);
	while (!(done = m0_semaphore_trydown(sem)) && m0_time_now() < until) {
		lnet->fro_embed.emb_apart->fao_turn(lnet->fro_pump);
		m0_os_yield();
	}
	return done;
}

/* Asks the daemon, and waits for its answer. `tm` is the answer's after NO_ANSWER. */
static int tm_ask(struct m0_lnet *lnet, struct m0_front_tm *tm)
{
	struct m0_semaphore sem;
	int                 rc;

	M0_PRE(tm->ftm_is_claim && lnet->fro_pump != NULL);
	m0_front__lock(lnet);
	if (lnet->fro_shut) {
		m0_mutex_unlock(&lnet->fro_lock);
		return -ESHUTDOWN;
	}
	(void)m0_semaphore_init(&sem, 0);
	tm->ftm_sem = &sem;
	m0_front__call_unlock(lnet, &tm->ftm_call);
	(void)tm_wait(lnet, &sem);
	/* The answer may come just now. */
	m0_front__lock(lnet);
	rc = tm->ftm_status;
	tm->ftm_sem = NULL;
	m0_mutex_unlock(&lnet->fro_lock);
	m0_semaphore_fini(&sem);
	return rc;
}

int m0_lnet_tm_claim(struct m0_lnet *lnet, uint32_t portal, uint32_t wanted,
		     uint32_t *ret)
{
	struct m0_front_tm *tm;
	uint32_t            epoch;
	int                 rc;

	*ret = wanted;
	if (lnet->fro_pump == NULL)
		return 0;
	m0_front__lock(lnet);
	epoch = lnet->fro_embed.emb_epoch;
	m0_mutex_unlock(&lnet->fro_lock);
	M0_ALLOC_PTR(tm);
	if (tm == NULL)
		return -ENOMEM;
	tm->ftm_call.ca_do = tm_do;
	tm->ftm_portal = portal;
	tm->ftm_nr = wanted;
	tm->ftm_is_claim = true;
	tm->ftm_status = NO_ANSWER;
	m0_list_link_init(&tm->ftm_link);
	rc = tm_ask(lnet, tm);
	if (rc == NO_ANSWER)
		return -ETIMEDOUT;
	if (rc == -EACCES)
		m0_log(M0_LOG_WARN,
		       "the policy of the node's daemon does not admit a "
		       "transfer machine on portal %u with number %u "
		       "(4096: any number)",
		       portal, wanted);
	if (rc != 0) {
		m0_free(tm);
		return rc;
	}
	*ret = tm->ftm_nr;
	m0_front__lock(lnet);
	tm->ftm_epoch = epoch;
	m0_list_add_tail(&lnet->fro_embed.emb_tms, &tm->ftm_link);
	m0_mutex_unlock(&lnet->fro_lock);
	return 0;
}

void m0_lnet_tm_release(struct m0_lnet *lnet, uint32_t portal, uint32_t nr)
{
	struct m0_front_tm *tm;

	if (lnet->fro_pump == NULL)
		return;
	m0_front__lock(lnet);
	tm = tm_find(lnet, portal, nr);
	if (tm != NULL) {
		m0_list_del(&tm->ftm_link);
		tm->ftm_is_claim = false;
		/* An end of the attachment releases all. */
		if (!lnet->fro_shut) {
			m0_front__call_unlock(lnet, &tm->ftm_call);
			return;
		}
		m0_free(tm);
	}
	m0_mutex_unlock(&lnet->fro_lock);
}

void m0_front__tms_fini(struct m0_lnet *lnet)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&lnet->fro_embed.emb_tms)) != NULL) {
		m0_list_del(link);
		m0_free(tm_of(link));
	}
}
