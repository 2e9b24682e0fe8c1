/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Provisioning: receive queues filled from pools.
 *
 * A buffer that leaves the queue is replaced by the thread that delivers its
 * event (net_event.c). What the pool could not give is the machine's deficit. When
 * the pool is no longer empty, its callback, which holds the pool's lock and
 * perhaps runs on another processor's thread, only notes the pool and wakes the
 * domain's provisioner: a strand of the domain, which takes the locks in their
 * order (pool, domain, machine) and fills the deficits. Seed 001, "Concurrency
 * control". [r.M0.net.xprt.support-for-auto-provisioned-receive-queue]
 */
#include "net/net_internal.h"
#include "base/probes.h"
#include "os/os.h"

/** Between tries to add what a transport had no memory for. */
#define RETRY_NS 10000000

struct m0_net_provisioner {
	struct m0_strand      npr_strand;
	struct m0_net_domain *npr_dom;
	/** Guards both lists; no other lock is taken under it. */
	struct m0_mutex npr_lock;
	/** Pools that have buffers again, by nbp_prov_linkage. */
	struct m0_list npr_pools;
	/** Pools that the current step still has to serve. */
	struct m0_list npr_round;
	/** Held during a step's work on a pool. */
	struct m0_mutex npr_busy;
};

/* ------------------------------------------------- filling one machine -- */

void m0_net__deficit_set(struct m0_net_transfer_mc *tm, uint32_t deficit)
{
	uint32_t old = (uint32_t)m0_atomic64_get(&tm->ntm_recv_queue_deficit);

	if (deficit > old)
		tm->ntm_qstats[M0_NET_QT_MSG_RECV].nqs_num_f_events += deficit -
								       old;
	if (deficit != old)
		m0_atomic64_set(&tm->ntm_recv_queue_deficit, deficit);
}

static int buffer_provide(struct m0_net_transfer_mc *tm,
			  struct m0_net_buffer      *buf)
{
	m0_bcount_t size = m0_vec_count(&buf->nb_buffer.ov_vec);

	buf->nb_qtype = M0_NET_QT_MSG_RECV;
	buf->nb_callbacks = tm->ntm_recv_pool_callbacks;
	buf->nb_ep = NULL;
	buf->nb_timeout = M0_TIME_NEVER;
	if (tm->ntm_recv_queue_min_recv_size != 0)
		buf->nb_min_receive_size =
			min64u(tm->ntm_recv_queue_min_recv_size, size);
	else if (buf->nb_min_receive_size == 0)
		buf->nb_min_receive_size = size;
	if (tm->ntm_recv_queue_max_recv_msgs != 0)
		buf->nb_max_receive_msgs = tm->ntm_recv_queue_max_recv_msgs;
	else if (buf->nb_max_receive_msgs == 0)
		buf->nb_max_receive_msgs = 1;
	return m0_net__buffer_add(buf, tm);
}

/* Queued buffers that can still take a message. */
static uint32_t recv_queue_length(const struct m0_net_transfer_mc *tm)
{
	return (uint32_t)net_q_tlist_length(&tm->ntm_q[M0_NET_QT_MSG_RECV]) -
	       tm->ntm_recv_spent_nr;
}

/* Buffers to be added, 0 unless the machine is STARTED. ntm_mutex held. */
static uint32_t provision_need(const struct m0_net_transfer_mc *tm)
{
	uint32_t length = recv_queue_length(tm);

	return tm->ntm_state == M0_NET_TM_STARTED &&
			       length < tm->ntm_recv_queue_min_length
		       ? tm->ntm_recv_queue_min_length - length
		       : 0;
}

/* The deficit, plus buffers for messages that have arrived already. */
static uint32_t provision_wanted(const struct m0_net_transfer_mc *tm)
{
	uint32_t wanted = tm->ntm_recv_queue_min_length +
			  tm->ntm_recv_waiting_nr;
	uint32_t length = recv_queue_length(tm);

	return tm->ntm_state == M0_NET_TM_STARTED && length < wanted
		       ? wanted - length
		       : 0;
}

/*
 * Adds one buffer, unless that is no longer wanted. If the transport has no
 * memory for it, the provisioner tries again.
 */
static bool provision_one(struct m0_net_transfer_mc *tm,
			  struct m0_net_buffer      *buf)
{
	bool wanted;
	int  rc = 0;

	m0_mutex_lock(&tm->ntm_mutex);
	wanted = provision_wanted(tm) > 0;
	if (wanted)
		rc = buffer_provide(tm, buf);
	m0_mutex_unlock(&tm->ntm_mutex);
	if (wanted && rc == 0)
		return true;
	m0_net_buffer_pool_put(tm->ntm_recv_pool, buf, tm->ntm_pool_colour);
	if (rc != 0)
		m0_net_domain_buffer_pool_not_empty(tm->ntm_recv_pool);
	return false;
}

uint32_t m0_net__provision(struct m0_net_transfer_mc *tm)
{
	struct m0_net_buffer_pool *pool = tm->ntm_recv_pool;
	struct m0_net_buffer      *buf;
	uint32_t                   need;
	uint32_t                   nr = 0;

	M0_PRE(m0_mutex_is_locked(&pool->nbp_mutex));
	M0_PRE(m0_mutex_is_not_locked(&tm->ntm_mutex));

	m0_mutex_lock(&tm->ntm_mutex);
	need = provision_wanted(tm);
	m0_mutex_unlock(&tm->ntm_mutex);
	/* No lock but the pool's around get: it may make buffers. */
	while (nr < need) {
		buf = m0_net_buffer_pool_get(pool, tm->ntm_pool_colour);
		if (buf == NULL || !provision_one(tm, buf))
			break;
		++nr;
	}
	if (need > 0 || m0_atomic64_get(&tm->ntm_recv_queue_deficit) > 0) {
		m0_mutex_lock(&tm->ntm_mutex);
		m0_net__deficit_set(tm, provision_need(tm));
		m0_probe_provision(
			m0_net__tm_name(tm), nr,
			(uint64_t)m0_atomic64_get(&tm->ntm_recv_queue_deficit));
		m0_chan_broadcast(&tm->ntm_chan);
		m0_mutex_unlock(&tm->ntm_mutex);
	}
	return nr;
}

void m0_net__provision_unlocked(struct m0_net_transfer_mc *tm)
{
	struct m0_net_buffer_pool *pool = tm->ntm_recv_pool;

	if (pool == NULL)
		return;
	m0_net_buffer_pool_lock(pool);
	m0_net__provision(tm);
	m0_net_buffer_pool_unlock(pool);
}

void m0_net__pool_returns(struct m0_net_transfer_mc *tm)
{
	struct m0_net_buffer_pool *pool = tm->ntm_recv_pool;
	struct m0_list_link       *link;
	struct m0_net_buffer      *buf;

	m0_net_buffer_pool_lock(pool);
	while ((link = m0_list_first(&tm->ntm_pool_returns)) != NULL) {
		buf = container_of(link, struct m0_net_buffer,
				   nb_return_linkage);
		m0_list_del(link);
		buf->nb_ep = NULL;
		if (buf->nb_flags == M0_NET_BUF_REGISTERED)
			m0_net_buffer_pool_put(pool, buf, tm->ntm_pool_colour);
	}
	m0_net_buffer_pool_unlock(pool);
}

int m0_net_tm_pool_attach(struct m0_net_transfer_mc            *tm,
			  struct m0_net_buffer_pool            *bufpool,
			  const struct m0_net_buffer_callbacks *callbacks,
			  m0_bcount_t min_recv_size, uint32_t max_recv_msgs,
			  uint32_t min_recv_queue_len)
{
	int rc = -EINVAL;

	M0_PRE(bufpool != NULL && callbacks != NULL &&
	       callbacks->nbc_cb[M0_NET_QT_MSG_RECV] != NULL);

	m0_mutex_lock(&tm->ntm_mutex);
	M0_PRE(tm->ntm_state == M0_NET_TM_INITIALIZED);
	if (bufpool->nbp_ndom == tm->ntm_dom) {
		tm->ntm_recv_pool = bufpool;
		tm->ntm_recv_pool_callbacks = callbacks;
		tm->ntm_recv_queue_min_recv_size = min_recv_size;
		tm->ntm_recv_queue_max_recv_msgs = max_recv_msgs;
		if (min_recv_queue_len != 0)
			tm->ntm_recv_queue_min_length = min_recv_queue_len;
		rc = 0;
	}
	m0_mutex_unlock(&tm->ntm_mutex);
	return rc;
}

int m0_net_tm_pool_length_set(struct m0_net_transfer_mc *tm, uint32_t len)
{
	M0_PRE(tm->ntm_recv_pool != NULL);
	if (len == 0)
		return -EINVAL;
	m0_mutex_lock(&tm->ntm_mutex);
	M0_PRE(M0_IN(tm->ntm_state, (M0_NET_TM_INITIALIZED, M0_NET_TM_STARTING,
				     M0_NET_TM_STARTED)) ||
	       m0_net__tm_has_failed(tm));
	tm->ntm_recv_queue_min_length = len;
	m0_mutex_unlock(&tm->ntm_mutex);
	m0_net__provision_unlocked(tm);
	return 0;
}

/* ------------------------------------------------ the domain's strand -- */

static void round_begin(struct m0_net_provisioner *prov)
{
	m0_mutex_lock(&prov->npr_lock);
	m0_list_splice_tail(&prov->npr_round, &prov->npr_pools);
	m0_mutex_unlock(&prov->npr_lock);
}

static struct m0_net_buffer_pool *round_next(struct m0_net_provisioner *prov)
{
	struct m0_net_buffer_pool *pool = NULL;
	struct m0_list_link       *link;

	m0_mutex_lock(&prov->npr_lock);
	link = m0_list_first(&prov->npr_round);
	if (link != NULL) {
		m0_list_del(link);
		pool = container_of(link, struct m0_net_buffer_pool,
				    nbp_prov_linkage);
	}
	m0_mutex_unlock(&prov->npr_lock);
	return pool;
}

static bool has_pools(struct m0_net_provisioner *prov)
{
	bool has;

	m0_mutex_lock(&prov->npr_lock);
	has = !m0_list_is_empty(&prov->npr_pools);
	m0_mutex_unlock(&prov->npr_lock);
	return has;
}

/*
 * A machine that lacks buffers of the pool, behind so many others; kept from its
 * fini; NULL: none. The locks of machines that lack nothing are left alone.
 */
static struct m0_net_transfer_mc *needy_get(struct m0_net_domain      *dom,
					    struct m0_net_buffer_pool *pool,
					    uint32_t                   behind)
{
	struct m0_net_transfer_mc *tm = NULL;
	struct m0_list_link       *link;

	m0_mutex_lock(&dom->nd_mutex);
	for (link = m0_list_first(&dom->nd_tms); link != NULL;
	     link = m0_list_next(&dom->nd_tms, link)) {
		tm = container_of(link, struct m0_net_transfer_mc,
				  ntm_dom_linkage);
		if (m0_atomic64_get(&tm->ntm_recv_queue_deficit) > 0 &&
		    tm->ntm_recv_pool == pool && behind-- == 0)
			break;
	}
	if (link == NULL) {
		tm = NULL;
	} else {
		m0_mutex_lock(&tm->ntm_mutex);
		++tm->ntm_pin_counter;
		m0_mutex_unlock(&tm->ntm_mutex);
	}
	m0_mutex_unlock(&dom->nd_mutex);
	return tm;
}

/*
 * Machines whose transport takes no buffer now, for want of memory, keep it from
 * no other.
 */
static void deficits_fill(struct m0_net_domain      *dom,
			  struct m0_net_buffer_pool *pool)
{
	struct m0_net_transfer_mc *tm;
	uint32_t                   refused_nr = 0;

	m0_net_buffer_pool_lock(pool);
	while (pool->nbp_free > 0 &&
	       (tm = needy_get(dom, pool, refused_nr)) != NULL) {
		if (m0_net__provision(tm) == 0 &&
		    m0_atomic64_get(&tm->ntm_recv_queue_deficit) > 0)
			++refused_nr;
		m0_mutex_lock(&tm->ntm_mutex);
		--tm->ntm_pin_counter;
		m0_chan_broadcast(&tm->ntm_chan);
		m0_mutex_unlock(&tm->ntm_mutex);
	}
	m0_net_buffer_pool_unlock(pool);
}

/* Each pool once. In one that is there again is what nobody could take: later. */
static m0_time_t provisioner_step(struct m0_strand *strand, m0_time_t now)
{
	struct m0_net_provisioner *prov =
		container_of(strand, struct m0_net_provisioner, npr_strand);
	struct m0_net_buffer_pool *pool;

	round_begin(prov);
	do {
		/* Before the pool leaves the list: see _forget(). */
		m0_mutex_lock(&prov->npr_busy);
		pool = round_next(prov);
		if (pool != NULL)
			deficits_fill(prov->npr_dom, pool);
		m0_mutex_unlock(&prov->npr_busy);
	} while (pool != NULL);
	return has_pools(prov) ? m0_time_add(now, RETRY_NS) : M0_TIME_NEVER;
}

static const struct m0_strand_ops provisioner_ops = {
	.so_step = provisioner_step
};

/* NULL: no memory or no thread; deficits then wait for the machine's own. */
static struct m0_net_provisioner *provisioner_make(struct m0_net_domain *dom)
{
	struct m0_net_provisioner *prov;

	M0_ALLOC_PTR(prov);
	if (prov == NULL)
		return NULL;
	prov->npr_dom = dom;
	m0_mutex_init(&prov->npr_lock);
	m0_mutex_init(&prov->npr_busy);
	m0_list_init(&prov->npr_pools);
	m0_list_init(&prov->npr_round);
	m0_strand_init(&prov->npr_strand, &provisioner_ops, "net-provision");
	prov->npr_strand.st_spin_ns = 0;
	if (m0_strand_start(&prov->npr_strand, NULL) != 0) {
		m0_strand_fini(&prov->npr_strand);
		m0_free(prov);
		return NULL;
	}
	return prov;
}

int m0_net__provisioner_get(struct m0_net_domain *dom)
{
	int rc = 0;

	m0_mutex_lock(&dom->nd_mutex);
	if (dom->nd_provisioner == NULL)
		dom->nd_provisioner = provisioner_make(dom);
	if (dom->nd_provisioner == NULL)
		rc = -ENOMEM;
	m0_mutex_unlock(&dom->nd_mutex);
	return rc;
}

void m0_net__provisioner_fini(struct m0_net_domain *dom)
{
	struct m0_net_provisioner *prov = dom->nd_provisioner;

	if (prov == NULL)
		return;
	m0_strand_stop(&prov->npr_strand);
	m0_strand_fini(&prov->npr_strand);
	m0_list_fini(&prov->npr_round);
	m0_list_fini(&prov->npr_pools);
	m0_mutex_fini(&prov->npr_busy);
	m0_mutex_fini(&prov->npr_lock);
	m0_free(prov);
	dom->nd_provisioner = NULL;
}

void m0_net_domain_buffer_pool_not_empty(struct m0_net_buffer_pool *pool)
{
	struct m0_net_provisioner *prov = pool->nbp_ndom->nd_provisioner;

	M0_PRE(m0_mutex_is_locked(&pool->nbp_mutex));
	m0_mutex_lock(&prov->npr_lock);
	if (!m0_list_link_is_in(&pool->nbp_prov_linkage))
		m0_list_add_tail(&prov->npr_pools, &pool->nbp_prov_linkage);
	m0_mutex_unlock(&prov->npr_lock);
	/* Buffers that its own step puts back wait. */
	if (m0_strand_current() != &prov->npr_strand)
		m0_strand_wake(&prov->npr_strand);
}

void m0_net__provisioner_forget(struct m0_net_buffer_pool *pool)
{
	struct m0_net_provisioner *prov = pool->nbp_ndom->nd_provisioner;

	/* A step that has it in hand may note it again: it ends first. */
	m0_mutex_lock(&prov->npr_busy);
	m0_mutex_lock(&prov->npr_lock);
	if (m0_list_link_is_in(&pool->nbp_prov_linkage))
		m0_list_del(&pool->nbp_prov_linkage);
	m0_mutex_unlock(&prov->npr_lock);
	m0_mutex_unlock(&prov->npr_busy);
}
