/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Pools of threads for handlers that block.
 *
 * Items wait in one queue, linked by themselves, so that handing one over takes
 * no memory; machines bound how many (rc_executing_max). A handler may wait for
 * anything, which a strand may not, so workers are threads; in a simulation,
 * which has none, they are strands, and handlers there do not wait.
 */
#include "rpc/rpc_internal.h"

enum {
	POOL_THREADS_MAX = 256
};

struct pool_worker {
	struct m0_rpc_pool *pw_pool;
	struct m0_thread    pw_thread;
	struct m0_strand    pw_strand;
};

struct m0_rpc_pool {
	struct m0_mutex     pol_lock;
	struct m0_rpc_item *pol_head;
	struct m0_rpc_item *pol_tail;
	/** Items in the queue, and at the end one for each thread. */
	struct m0_semaphore pol_items;
	bool                pol_ends;
	/** Workers are strands. */
	bool     pol_is_simulated;
	uint32_t pol_turn;
	uint32_t pol_nr;
	/** Name for debuggers. */
	char               pol_name[M0_THREAD_NAME_LEN + 1];
	struct pool_worker pol_worker[];
};

/* The oldest item; NULL: none. */
static struct m0_rpc_item *pop(struct m0_rpc_pool *pool, bool *ret_more)
{
	struct m0_rpc_item *item;

	m0_mutex_lock(&pool->pol_lock);
	item = pool->pol_head;
	if (item != NULL)
		pool->pol_head = m0_rpc__il(item)->ril_pool_next;
	*ret_more = pool->pol_head != NULL;
	m0_mutex_unlock(&pool->pol_lock);
	return item;
}

static void work(struct m0_rpc_item *item)
{
	struct m0_rpc_machine *machine = item->ri_rmachine;

	if (m0_rpc__begins(machine, item))
		item->ri_type->rit_ops->rito_deliver(machine, item);
	m0_rpc__handed_back(machine, item);
}

static void worker_thread(struct pool_worker *worker)
{
	struct m0_rpc_pool *pool = worker->pw_pool;
	struct m0_rpc_item *item;
	bool                more;

	for (;;) {
		m0_semaphore_down(&pool->pol_items);
		item = pop(pool, &more);
		if (item == NULL)
			return;
		work(item);
	}
}

/* One item a step, so that others move in between. */
static m0_time_t worker_step(struct m0_strand *strand, m0_time_t now)
{
	struct pool_worker *worker =
		container_of(strand, struct pool_worker, pw_strand);
	struct m0_rpc_item *item;
	bool                more;

	(void)now;
	item = pop(worker->pw_pool, &more);
	if (item != NULL)
		work(item);
	return more ? M0_TIME_IMMEDIATELY : M0_TIME_NEVER;
}

static const struct m0_strand_ops worker_strand_ops = { .so_step =
								worker_step };

static int worker_start(struct pool_worker *worker)
{
	struct m0_rpc_pool *pool = worker->pw_pool;

	if (!pool->pol_is_simulated)
		return M0_THREAD_INIT(&worker->pw_thread, struct pool_worker *,
				      NULL, &worker_thread, worker, "%s",
				      pool->pol_name);
	m0_strand_init(&worker->pw_strand, &worker_strand_ops, pool->pol_name);
	return m0_strand_start(&worker->pw_strand, NULL);
}

static void worker_end(struct pool_worker *worker)
{
	if (worker->pw_pool->pol_is_simulated) {
		m0_strand_stop(&worker->pw_strand);
		m0_strand_fini(&worker->pw_strand);
	} else {
		(void)m0_thread_join(&worker->pw_thread);
		m0_thread_fini(&worker->pw_thread);
	}
}

/* Ends the workers that were started, which is all but in a failed create. */
static void pool_end(struct m0_rpc_pool *pool)
{
	uint32_t i;

	m0_mutex_lock(&pool->pol_lock);
	M0_PRE(pool->pol_head == NULL);
	pool->pol_ends = true;
	m0_mutex_unlock(&pool->pol_lock);
	for (i = 0; i < pool->pol_nr; ++i)
		m0_semaphore_up(&pool->pol_items);
	for (i = 0; i < pool->pol_nr; ++i)
		worker_end(&pool->pol_worker[i]);
	m0_semaphore_fini(&pool->pol_items);
	m0_mutex_fini(&pool->pol_lock);
	m0_free(pool);
}

int m0_rpc_pool_create(struct m0_rpc_pool **ret_pool, uint32_t threads_nr,
		       const char *name)
{
	struct m0_rpc_pool *pool;
	struct pool_worker *worker;
	int                 rc = 0;

	if (threads_nr == 0 || threads_nr > POOL_THREADS_MAX)
		return -EINVAL;
	pool = m0_alloc(sizeof *pool + threads_nr * sizeof *worker);
	if (pool == NULL)
		return -ENOMEM;
	m0_mutex_init(&pool->pol_lock);
	(void)m0_semaphore_init(&pool->pol_items, 0);
	pool->pol_is_simulated = m0_os_get() != &m0_os_real;
	strncpy(pool->pol_name, name, sizeof pool->pol_name - 1);
	while (rc == 0 && pool->pol_nr < threads_nr) {
		worker = &pool->pol_worker[pool->pol_nr];
		worker->pw_pool = pool;
		rc = worker_start(worker);
		if (rc == 0)
			++pool->pol_nr;
	}
	if (rc != 0)
		pool_end(pool);
	else
		*ret_pool = pool;
	return rc;
}

void m0_rpc_pool_destroy(struct m0_rpc_pool *pool)
{
	pool_end(pool);
}

/* Wake one worker. A worker that has work looks for more before it sleeps. */
static void rouse(struct m0_rpc_pool *pool, uint32_t turn)
{
	if (pool->pol_is_simulated)
		m0_strand_wake(
			&pool->pol_worker[turn % pool->pol_nr].pw_strand);
	else
		m0_semaphore_up(&pool->pol_items);
}

int m0_rpc__pool_hand(struct m0_rpc_pool *pool, struct m0_rpc_machine *machine,
		      struct m0_rpc_item *item)
{
	uint32_t turn;

	M0_PRE(item->ri_type->rit_ops->rito_deliver != NULL);
	M0_PRE(item->ri_rmachine == machine);
	m0_mutex_lock(&pool->pol_lock);
	if (pool->pol_ends) {
		m0_mutex_unlock(&pool->pol_lock);
		return -ESHUTDOWN;
	}
	m0_rpc__il(item)->ril_pool_next = NULL;
	if (pool->pol_head == NULL)
		pool->pol_head = item;
	else
		m0_rpc__il(pool->pol_tail)->ril_pool_next = item;
	pool->pol_tail = item;
	turn = pool->pol_turn++;
	m0_mutex_unlock(&pool->pol_lock);
	rouse(pool, turn);
	return 0;
}
