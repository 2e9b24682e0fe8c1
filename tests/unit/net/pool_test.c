/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Pools: counts, callbacks, colours, their lapse, prune. */
#include "dummy.h"
#include "sim/sched/heap.h"
#include "unit/base/panics.h"

enum {
	BUFS = 6,
	COLOURS = 3,
	ANY = -1
};

static struct m0_net_buffer_pool pool;
static int                       not_empty_nr;
static int                       below_nr;
static int                       below_makes;

static void not_empty(struct m0_net_buffer_pool *p)
{
	assert_true(m0_net_buffer_pool_is_locked(p));
	++not_empty_nr;
}

static void below(struct m0_net_buffer_pool *p)
{
	assert_true(m0_net_buffer_pool_is_locked(p));
	++below_nr;
	if (below_makes > 0)
		assert_int_equal(
			m0_net_buffer_pool_provision(p, (uint32_t)below_makes),
			below_makes);
	below_makes = 0;
}

static const struct m0_net_buffer_pool_ops ops = {
	.nbpo_not_empty = not_empty, .nbpo_below_threshold = below
};

static int pool_up(void **state)
{
	if (scene_up(state) != 0)
		return -1;
	memset(&pool, 0, sizeof pool);
	if (m0_net_buffer_pool_init(&pool, &scene.dom, 2, 2, 100, COLOURS, 6,
				    false) != 0)
		return -1;
	pool.nbp_ops = &ops;
	not_empty_nr = below_nr = below_makes = 0;
	m0_net_buffer_pool_lock(&pool);
	return m0_net_buffer_pool_provision(&pool, BUFS) == BUFS ? 0 : -1;
}

static int pool_down(void **state)
{
	assert_true(m0_net_buffer_pool_invariant(&pool));
	m0_net_buffer_pool_unlock(&pool);
	assert_int_equal(m0_net_buffer_pool_fini(&pool), 0);
	return scene_down(state);
}

static struct m0_net_buffer *get(int colour)
{
	return m0_net_buffer_pool_get(&pool, (uint32_t)colour);
}

static void put(struct m0_net_buffer *buf, int colour)
{
	m0_net_buffer_pool_put(&pool, buf, (uint32_t)colour);
	assert_true(m0_net_buffer_pool_invariant(&pool));
}

/* All of a pool that is full, in the order in which they are got. */
static void get_all(struct m0_net_buffer *ret[BUFS])
{
	int i;

	for (i = 0; i < BUFS; ++i) {
		ret[i] = get(ANY);
		assert_non_null(ret[i]);
	}
}

static void put_from(struct m0_net_buffer *const bufs[BUFS], int first)
{
	int i;

	for (i = first; i < BUFS; ++i)
		put(bufs[i], ANY);
}

/* Shape, registration and counts of what provision makes. */
static void provision_makes_registered(void **state)
{
	struct m0_net_buffer *buf = get(ANY);

	(void)state;
	assert_int_equal(pool.nbp_buf_nr, BUFS);
	assert_int_equal(pool.nbp_free, BUFS - 1);
	assert_int_equal(buf->nb_flags, M0_NET_BUF_REGISTERED);
	assert_ptr_equal(buf->nb_pool, &pool);
	assert_ptr_equal(buf->nb_dom, &scene.dom);
	assert_int_equal(buf->nb_buffer.ov_vec.v_nr, 2);
	assert_int_equal(buf->nb_buffer.ov_vec.v_count[1], 100);
	assert_int_equal((uintptr_t)buf->nb_buffer.ov_buf[0] % 64, 0);
	assert_int_equal((uintptr_t)buf->nb_buffer.ov_buf[1] % 64, 0);
	put(buf, ANY);
	assert_int_equal(m0_net_buffer_pool_provision(&pool, 10), 10);
	assert_int_equal(pool.nbp_buf_nr, BUFS + 10);
	assert_int_equal(pool.nbp_free, BUFS + 10);
}

/* Fewer than asked for, if registration fails. */
static void provision_register_fails_fewer(void **state)
{
	(void)state;
	dummy.rc[BUF_REGISTER] = -ENOMEM;
	assert_int_equal(m0_net_buffer_pool_provision(&pool, 3), 0);
	assert_int_equal(pool.nbp_buf_nr, BUFS);
	dummy.rc[BUF_REGISTER] = 0;
}

/* not_empty at 0 to 1, below_threshold at each get below it. */
static void callbacks_called_at_edges(void **state)
{
	struct m0_net_buffer *b[BUFS];

	(void)state;
	not_empty_nr = 0;
	get_all(b);
	assert_int_equal(below_nr, 2);
	assert_null(get(ANY));
	put(b[0], ANY);
	assert_int_equal(not_empty_nr, 1);
	put(b[1], ANY);
	assert_int_equal(not_empty_nr, 1);
	put_from(b, 2);
}

/* below_threshold may provision, under the lock it was called with. */
static void below_threshold_may_provision(void **state)
{
	struct m0_net_buffer *b[BUFS];
	int                   i;

	(void)state;
	for (i = 0; i < BUFS - 2; ++i)
		b[i] = get(ANY);
	below_makes = 4;
	b[i] = get(ANY);
	assert_int_equal(pool.nbp_buf_nr, BUFS + 4);
	assert_int_equal(pool.nbp_free, 1 + 4);
	do
		put(b[i], ANY);
	while (i-- > 0);
}

/* Own colour's most recent, then no colour, then another's least recent. */
static void get_prefers_by_colour(void **state)
{
	struct m0_net_buffer *b[BUFS];

	(void)state;
	get_all(b);
	put(b[0], 1);
	put(b[1], 1);
	put(b[2], 2);
	put(b[3], ANY);
	put(b[4], ANY);
	put(b[5], 1);
	assert_ptr_equal(get(1), b[5]);
	assert_ptr_equal(get(1), b[1]);
	assert_ptr_equal(get(0), b[3]);
	assert_ptr_equal(get(1), b[0]);
	assert_ptr_equal(get(0), b[4]);
	assert_ptr_equal(get(0), b[2]);
	put_from(b, 0);
}

/* A colour's list is read as the queues of a transfer machine are. */
static void colours_are_lists_of_tm(void **state)
{
	struct m0_net_buffer *b;
	struct m0_tl         *list;
	struct m0_net_buffer *one;
	struct m0_net_buffer *two;
	int                   nr = 0;

	(void)state;
	assert_int_equal(m0_net_buffer_pool_provision(&pool, 2), 2);
	one = get(0);
	two = get(0);
	list = &pool.nbp_colours[1];
	assert_true(m0_net_tm_tlist_is_empty(list));
	put(one, 1);
	put(two, 1);
	assert_int_equal(m0_net_tm_tlist_length(list), 2);
	assert_int_equal(m0_net_pool_tlist_length(list), 2);
	assert_true(m0_net_tm_tlist_contains(list, one));
	assert_ptr_equal(m0_net_tm_tlist_head(list), two);
	assert_ptr_equal(m0_net_tm_tlist_next(list, two), one);
	m0_tl_for(m0_net_tm, list, b) {
		nr += b == one || b == two;
	}
	m0_tl_endfor;
	assert_int_equal(nr, 2);
	assert_ptr_equal(get(1), two);
	assert_int_equal(m0_net_tm_tlist_length(list), 1);
	put(two, 0);
	assert_true(m0_net_tm_tlist_contains(&pool.nbp_colours[0], two));
}

/* Without uncoloured ones: the least recently put of another colour. */
static void get_steals_least_recent(void **state)
{
	struct m0_net_buffer *b[BUFS];
	int                   i;

	(void)state;
	get_all(b);
	for (i = 0; i < BUFS; ++i)
		put(b[i], 1 + i % 2);
	for (i = 0; i < BUFS; ++i)
		assert_ptr_equal(get(0), b[i]);
	put_from(b, 0);
}

/* A colour lapses: the buffer is then of no colour, for anybody. */
static void colour_lapses_with_time(void **state)
{
	struct m0_net_buffer *b[BUFS];

	(void)state;
	get_all(b);
	pool.nbp_colour_lapse = M0_TIME_NEVER;
	put(b[0], 1);
	put(b[1], 2);
	assert_ptr_equal(get(2), b[1]);
	put(b[1], 2);
	/* From here on every colour has lapsed at the next get. */
	pool.nbp_colour_lapse = 0;
	assert_ptr_equal(get(2), b[0]);
	assert_ptr_equal(get(2), b[1]);
	put_from(b, 0);
}

/* One that was taken meanwhile keeps its colour and stays with who took it. */
static void colour_of_taken_does_not_lapse(void **state)
{
	struct m0_net_buffer *b[BUFS];

	(void)state;
	get_all(b);
	pool.nbp_colour_lapse = M0_TIME_NEVER;
	put(b[0], 1);
	put(b[1], 2);
	assert_ptr_equal(get(1), b[0]);
	pool.nbp_colour_lapse = 0;
	put(b[2], ANY);
	assert_int_equal(pool.nbp_free, 2);
	assert_ptr_equal(get(ANY), b[1]);
	assert_ptr_equal(get(ANY), b[2]);
	assert_null(get(ANY));
	put_from(b, 0);
}

/* prune frees the least recently put while more than the threshold are. */
static void prune_down_to_threshold(void **state)
{
	int i;

	(void)state;
	for (i = BUFS; i > 2; --i) {
		assert_true(m0_net_buffer_pool_prune(&pool));
		assert_int_equal(pool.nbp_buf_nr, i - 1);
		assert_int_equal(pool.nbp_free, i - 1);
	}
	assert_false(m0_net_buffer_pool_prune(&pool));
	assert_int_equal(dummy.calls[BUF_DEREGISTER], BUFS - 2);
}

/* A buffer that is out keeps the pool. */
static void fini_buffer_out_busy(void **state)
{
	struct m0_net_buffer *buf = get(ANY);

	(void)state;
	m0_net_buffer_pool_unlock(&pool);
	assert_int_equal(m0_net_buffer_pool_fini(&pool), -EBUSY);
	m0_net_buffer_pool_lock(&pool);
	assert_int_equal(pool.nbp_buf_nr, BUFS);
	put(buf, 0);
}

/* A call that breaks a precondition of put or get fails an assertion. */
static void misuse_aborts(void **state)
{
	struct m0_net_buffer   *buf = get(ANY);
	struct m0_net_end_point ep;

	(void)state;
	assert_panics(get(COLOURS));
	assert_panics((put(buf, COLOURS), 0));
	buf->nb_ep = &ep;
	assert_panics((put(buf, ANY), 0));
	buf->nb_ep = NULL;
	buf->nb_flags |= M0_NET_BUF_QUEUED;
	assert_panics((put(buf, ANY), 0));
	buf->nb_flags = M0_NET_BUF_REGISTERED;
	m0_net_buffer_pool_unlock(&pool);
	assert_true(m0_net_buffer_pool_is_not_locked(&pool));
	assert_panics((put(buf, ANY), 0));
	m0_net_buffer_pool_lock(&pool);
	put(buf, ANY);
}

/* get and put allocate nothing, with and without colours. */
static void get_put_no_allocation(void **state)
{
	struct m0_heap heap;
	int            i;

	(void)state;
	m0_heap_init(&heap);
	for (i = 0; i < 1000; ++i)
		put(get(i % COLOURS), i % 7 % COLOURS);
	assert_int_equal(m0_heap_allocs_nr(&heap), 0);
	m0_heap_fini(&heap);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, pool_up, pool_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(provision_makes_registered),
		CASE(provision_register_fails_fewer),
		CASE(callbacks_called_at_edges),
		CASE(below_threshold_may_provision),
		CASE(get_prefers_by_colour),
		CASE(get_steals_least_recent),
		CASE(colours_are_lists_of_tm),
		CASE(colour_lapses_with_time),
		CASE(colour_of_taken_does_not_lapse),
		CASE(prune_down_to_threshold),
		CASE(fini_buffer_out_busy),
		CASE(misuse_aborts),
		CASE(get_put_no_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
