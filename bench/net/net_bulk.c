/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bulk between two sides. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "net_m0.h"

enum {
	DESC_MAX = 192,
	FLIGHT_MAX = 64
};

/** Memory that both sides see: descriptors in flight, in a ring. */
struct bulk_seen {
	_Alignas(128) _Atomic uint64_t bs_published;
	_Alignas(128) _Atomic uint64_t bs_moved;
	_Alignas(128) _Atomic uint64_t bs_want;
	/** For an active side 1: number of transfers that it may have
	 * started, and that have ended. */
	_Alignas(128) _Atomic uint64_t bs_allowed;
	_Alignas(128) _Atomic uint64_t bs_done;
	/** Side 0 sleeps until there is a descriptor, or all is over. */
	_Atomic bool bs_starving;
	sem_t        bs_wake;
	uint32_t     bs_len[FLIGHT_MAX];
	uint8_t      bs_desc[FLIGHT_MAX][DESC_MAX];
};

struct net_bulk {
	struct net_m0           *k_m;
	const struct world_play *k_play;
	size_t                   k_bytes;
	unsigned                 k_flight;
	/** Buffers of each side: a passive one is ready before it is needed. */
	unsigned k_bufs_nr;
	bool     k_is_put;
	/** The side that begins; the other's buffers are passive. */
	int               k_active;
	struct bulk_seen *k_seen;
	char             *k_mem[2];
	struct bench_buf *k_bufs[2];
	/* The active side; with threads of the library under the mutex. */
	pthread_mutex_t k_mutex;
	uint64_t        k_taken;
	uint64_t        k_left;
	uint64_t        k_done;
	uint64_t        k_want;
	uint64_t        k_allowed;
	/** Buffers at rest, a ring: all are used in turns. */
	uint64_t k_rested;
	uint64_t k_begun;
	unsigned k_idle[FLIGHT_MAX];
	uint8_t (*k_desc)[DESC_MAX];
};

/* --------------------------------------------------------------- passive -- */

/** A passive buffer waits, and the active side may know. */
static void publish(struct net_bulk *k, struct bench_buf *b)
{
	struct bulk_seen     *s = k->k_seen;
	struct m0_net_buffer *nb = &b->b_nb;
	uint64_t              at =
		atomic_load_explicit(&s->bs_published, memory_order_relaxed);
	unsigned slot = (unsigned)(at % k->k_bufs_nr);

	bench_add(nb, k->k_m->m_side[1 - k->k_active],
		  k->k_is_put ? M0_NET_QT_PASSIVE_BULK_RECV
			      : M0_NET_QT_PASSIVE_BULK_SEND);
	s->bs_len[slot] = nb->nb_desc.nbd_len;
	memcpy(s->bs_desc[slot], nb->nb_desc.nbd_data, nb->nb_desc.nbd_len);
	atomic_store(&s->bs_published, at + 1);
	if (!k->k_m->m_polled && atomic_load(&s->bs_starving) &&
	    atomic_exchange(&s->bs_starving, false))
		sem_post(&s->bs_wake);
}

static void passive_over(const struct m0_net_buffer_event *ev)
{
	struct bench_buf *b =
		container_of(ev->nbe_buffer, struct bench_buf, b_nb);
	struct net_bulk  *k = b->b_nb.nb_app_private;
	struct bulk_seen *s = k->k_seen;

	if (!bench_ok(ev))
		return;
	if (k->k_is_put && ev->nbe_length != k->k_bytes)
		bench_die("%llu bytes", (unsigned long long)ev->nbe_length);
	m0_net_desc_free(&b->b_nb.nb_desc);
	publish(k, b);
	if (atomic_fetch_add(&s->bs_moved, 1) + 1 == atomic_load(&s->bs_want) &&
	    !k->k_m->m_polled)
		sem_post(&s->bs_wake);
}

/* ---------------------------------------------------------------- active -- */

static void rest(struct net_bulk *k, unsigned at)
{
	k->k_idle[k->k_rested++ % k->k_bufs_nr] = at;
}

static void begin(struct net_bulk *k)
{
	struct bulk_seen     *s = k->k_seen;
	unsigned              slot = (unsigned)(k->k_taken++ % k->k_bufs_nr);
	unsigned              at = k->k_idle[k->k_begun++ % k->k_bufs_nr];
	struct m0_net_buffer *nb = &k->k_bufs[k->k_active][at].b_nb;

	k->k_left--;
	/* as out of a message: into memory of the application's own */
	nb->nb_desc.nbd_len = s->bs_len[slot];
	nb->nb_desc.nbd_data = k->k_desc[at];
	memcpy(k->k_desc[at], s->bs_desc[slot], s->bs_len[slot]);
	bench_add(nb, k->k_m->m_side[k->k_active],
		  k->k_is_put ? M0_NET_QT_ACTIVE_BULK_SEND
			      : M0_NET_QT_ACTIVE_BULK_RECV);
}

static bool has_room(const struct net_bulk *k)
{
	return k->k_rested - k->k_begun > k->k_bufs_nr - k->k_flight;
}

/** Begins all that can be; with threads, asks to be woken for more. */
static void feed(struct net_bulk *k)
{
	struct bulk_seen *s = k->k_seen;

	for (;;) {
		while (k->k_left > 0 && has_room(k) &&
		       atomic_load_explicit(&s->bs_published,
					    memory_order_acquire) > k->k_taken)
			begin(k);
		if (k->k_m->m_polled || k->k_left == 0 || !has_room(k))
			return;
		atomic_store(&s->bs_starving, true);
		if (atomic_load(&s->bs_published) == k->k_taken)
			return;
	}
}

static void active_over(const struct m0_net_buffer_event *ev)
{
	struct bench_buf *b =
		container_of(ev->nbe_buffer, struct bench_buf, b_nb);
	struct net_bulk *k = b->b_nb.nb_app_private;
	bool             lock = !k->k_m->m_polled;

	if (!bench_ok(ev))
		return;
	if (!k->k_is_put && ev->nbe_length != k->k_bytes)
		bench_die("%llu bytes", (unsigned long long)ev->nbe_length);
	if (lock)
		pthread_mutex_lock(&k->k_mutex);
	rest(k, (unsigned)(b - k->k_bufs[k->k_active]));
	feed(k);
	k->k_done++;
	if (k->k_active == 1)
		atomic_fetch_add(&k->k_seen->bs_done, 1);
	if (lock && k->k_done == k->k_want)
		sem_post(&k->k_seen->bs_wake);
	if (lock)
		pthread_mutex_unlock(&k->k_mutex);
}

static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb = { [M0_NET_QT_PASSIVE_BULK_RECV] = &passive_over,
		    [M0_NET_QT_PASSIVE_BULK_SEND] = &passive_over,
		    [M0_NET_QT_ACTIVE_BULK_RECV] = &active_over,
		    [M0_NET_QT_ACTIVE_BULK_SEND] = &active_over }
};

static uint64_t done_nr(const struct net_bulk *k)
{
	return k->k_active == 0 ? k->k_done : atomic_load(&k->k_seen->bs_done);
}

static bool is_over(struct net_bulk *k)
{
	return done_nr(k) == k->k_want &&
	       atomic_load_explicit(&k->k_seen->bs_moved,
				    memory_order_acquire) == k->k_want;
}

static void wait_polled(struct net_bulk *k)
{
	while (!is_over(k)) {
		net_m0_poll(k->k_m, 0);
		world_turn(k->k_m->m_kind, k->k_play);
		if (k->k_active == 0)
			feed(k);
	}
}

static void wait_asleep(struct net_bulk *k)
{
	for (;;) {
		bool over;

		pthread_mutex_lock(&k->k_mutex);
		feed(k);
		over = is_over(k);
		pthread_mutex_unlock(&k->k_mutex);
		if (over)
			return;
		world_sem_take(&k->k_seen->bs_wake);
	}
}

static uint64_t bulk_run(void *arg, uint64_t nr)
{
	struct net_bulk  *k = arg;
	struct bulk_seen *s = k->k_seen;

	nr = (nr + k->k_bufs_nr - 1) / k->k_bufs_nr * k->k_bufs_nr;
	while (sem_trywait(&s->bs_wake) == 0)
		;
	atomic_store(&s->bs_moved, 0);
	atomic_store(&s->bs_want, nr);
	k->k_want = nr;
	if (k->k_active == 0) {
		k->k_done = 0;
		k->k_left = nr;
	} else {
		atomic_store(&s->bs_done, 0);
		atomic_fetch_add(&s->bs_allowed, nr);
	}
	if (k->k_m->m_polled)
		wait_polled(k);
	else
		wait_asleep(k);
	return nr;
}

/* ------------------------------------------------------------ open, close -- */

static void bulk_prepare(void *arg)
{
	struct net_bulk *k = arg;

	k->k_seen = world_shared(sizeof(*k->k_seen));
	world_sem_init(&k->k_seen->bs_wake);
}

static void bulk_open(void *arg, int side)
{
	struct net_bulk   *k = arg;
	struct bench_side *s = k->k_m->m_side[side];
	size_t             all = k->k_bytes * k->k_bufs_nr;
	bool               sends = (side == k->k_active) == k->k_is_put;

	k->k_mem[side] = net_m0_memory(k->k_m, side, all);
	memset(k->k_mem[side], sends ? 's' : 'r', all);
	k->k_bufs[side] = bench_bufs_make(s, (int)k->k_bufs_nr, k->k_mem[side],
					  k->k_bytes, k->k_bytes, &callbacks,
					  k);
	if (m0_net_domain_get_max_buffer_desc_size(&s->s_dom) > DESC_MAX)
		bench_die("a descriptor may be longer than %d", DESC_MAX);
	for (unsigned i = 0; i < k->k_bufs_nr; i++) {
		if (side != k->k_active)
			publish(k, &k->k_bufs[side][i]);
		else
			rest(k, i);
	}
	if (side == k->k_active)
		k->k_desc = bench_huge(k->k_bufs_nr * DESC_MAX);
}

static void bulk_close(void *arg, int side)
{
	struct net_bulk *k = arg;
	size_t           all = k->k_bytes * k->k_bufs_nr;

	/* every buffer was used, for all went round and round */
	if ((side == k->k_active) != k->k_is_put)
		for (size_t i = 0; i < all; i++)
			if (k->k_mem[side][i] != 's')
				bench_die(
					"the bytes that came are not those that were sent");
	net_m0_stop(k->k_m, side);
	for (unsigned i = 0; side != k->k_active && i < k->k_bufs_nr; i++)
		m0_net_desc_free(&k->k_bufs[side][i].b_nb.nb_desc);
	bench_bufs_free(k->k_m->m_side[side], k->k_bufs[side],
			(int)k->k_bufs_nr);
}

static void bulk_serve(void *arg)
{
	struct net_bulk *k = arg;
	uint64_t         allowed;

	net_m0_poll(k->k_m, 1);
	if (k->k_active == 0)
		return;
	allowed = atomic_load_explicit(&k->k_seen->bs_allowed,
				       memory_order_acquire);
	k->k_left += allowed - k->k_allowed;
	k->k_allowed = allowed;
	feed(k);
}

struct net_bulk *net_bulk_make(struct net_m0 *m, size_t bytes, unsigned flight,
			       bool is_put, int active, struct world_play *play)
{
	struct net_bulk *k = bench_huge(sizeof(*k));

	if (flight > FLIGHT_MAX)
		bench_die("%u in flight", flight);
	if (active == 1 && !m->m_polled)
		bench_die("side 1 can only be active if it is polled");
	memset(k, 0, sizeof(*k));
	k->k_m = m;
	k->k_play = play;
	k->k_bytes = bytes;
	k->k_flight = flight;
	k->k_bufs_nr = flight == 1 ? 2 : flight;
	k->k_is_put = is_put;
	k->k_active = active;
	pthread_mutex_init(&k->k_mutex, NULL);
	*play = (struct world_play){
		.wp_prepare = &bulk_prepare,
		.wp_open = &bulk_open,
		.wp_close = &bulk_close,
		.wp_serve = m->m_polled ? &bulk_serve : NULL,
		.wp_arg = k,
	};
	return k;
}

static void bulk_enter(void *arg)
{
	struct net_bulk *k = arg;

	world_enter(k->k_play);
}

static void bulk_leave(void *arg)
{
	struct net_bulk *k = arg;

	world_leave(k->k_play);
}

struct bench_case net_bulk_case(struct net_bulk *k, const char *name)
{
	return (struct bench_case){ .c_name = name,
				    .c_run = &bulk_run,
				    .c_arg = k,
				    .c_enter = &bulk_enter,
				    .c_leave = &bulk_leave };
}
