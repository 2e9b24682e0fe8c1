/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The two ends of a queue. */
#include <pthread.h>

#include "unit/base/panics.h"

#include "ring/ring.h"

enum {
	MORE = 10,
	THREAD_NR = 200000
};

static struct m0_ring_queue queue;
static struct m0_ring_out   out;
static struct m0_ring_in    in;
static struct m0_ring_place places[MORE];

static int setup(void **state)
{
	(void)state;
	memset(&queue, 0, sizeof queue);
	memset(places, 0, sizeof places);
	m0_ring_out_init(&out, &queue);
	m0_ring_in_init(&in, &queue);
	return 0;
}

static void post(uint32_t nr, struct m0_ring_place *place)
{
	struct m0_ring_entry entry = { .rqe_opcode = M0_RING_PUT,
				       .rqe_nr = nr };

	m0_ring_post(&out, &entry, place);
}

static void expect(uint32_t nr)
{
	assert_int_not_equal(m0_ring_put_nr(&in), in.rie_taken_nr);
	assert_int_equal(m0_ring_at(&in, in.rie_taken_nr)->rqe_nr, nr);
	m0_ring_take(&in, in.rie_taken_nr + 1);
}

/* Entries come in the order in which they were posted. */
static void entries_keep_their_order(void **state)
{
	uint32_t i;

	(void)state;
	assert_true(m0_ring_is_empty(&in));
	for (i = 0; i < 3 * M0_RING_ENTRIES_NR; ++i) {
		post(i, NULL);
		assert_false(m0_ring_is_empty(&in));
		expect(i);
		assert_true(m0_ring_is_empty(&in));
	}
}

static void fill(void)
{
	uint32_t i;

	for (i = 0; i < M0_RING_ENTRIES_NR; ++i)
		post(i, NULL);
}

/* Entries that find no room wait, and none overtakes them. */
static void entries_without_room_wait(void **state)
{
	uint32_t i;

	(void)state;
	fill();
	for (i = 0; i < MORE - 1; ++i)
		post(M0_RING_ENTRIES_NR + i, &places[i]);
	assert_false(m0_ring_refill(&out));
	for (i = 0; i < MORE / 2; ++i)
		expect(i);
	/* There is room now; the ones that wait come first. */
	post(M0_RING_ENTRIES_NR + MORE - 1, &places[MORE - 1]);
	assert_true(places[MORE - 1].rgp_waits);
	assert_true(m0_ring_refill(&out));
	assert_false(places[0].rgp_waits);
	assert_true(places[MORE - 1].rgp_waits);
	for (i = MORE / 2; i < M0_RING_ENTRIES_NR + MORE / 2; ++i)
		expect(i);
	/* The queue itself is empty, but not all was taken. */
	assert_int_equal(m0_ring_put_nr(&in), in.rie_taken_nr);
	assert_false(m0_ring_is_empty(&in));
	assert_true(m0_ring_refill(&out));
	for (; i < M0_RING_ENTRIES_NR + MORE; ++i)
		expect(i);
	assert_true(m0_ring_is_empty(&in));
}

static void place_is_used_once(void **state)
{
	(void)state;
	fill();
	post(M0_RING_ENTRIES_NR, &places[0]);
	assert_panics(post(M0_RING_ENTRIES_NR + 1, &places[0]));
}

/* Numbers of entries wrap at 2^32. */
static void numbers_wrap(void **state)
{
	uint32_t i;

	(void)state;
	out.rou_put_nr = UINT32_MAX - 5;
	queue.rqu_put_nr = out.rou_put_nr;
	m0_ring_take(&in, out.rou_put_nr);
	fill();
	assert_false(m0_ring_has_room(&out));
	for (i = 0; i < M0_RING_ENTRIES_NR; ++i)
		expect(i);
	assert_true(m0_ring_has_room(&out));
}

static void *consume(void *arg)
{
	uint32_t next = 0;

	(void)arg;
	while (next < THREAD_NR) {
		if (m0_ring_put_nr(&in) == in.rie_taken_nr)
			continue;
		M0_ASSERT(m0_ring_at(&in, in.rie_taken_nr)->rqe_nr == next);
		++next;
		m0_ring_take(&in, in.rie_taken_nr + 1);
	}
	return NULL;
}

/* One thread posts, another takes. */
static void threads_share_a_queue(void **state)
{
	pthread_t thread;
	uint32_t  i;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, consume, NULL), 0);
	for (i = 0; i < THREAD_NR; ++i) {
		while (!m0_ring_has_room(&out))
			;
		post(i, NULL);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(m0_ring_is_empty(&in));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		CASE(entries_keep_their_order), CASE(entries_without_room_wait),
		CASE(place_is_used_once),       CASE(numbers_wrap),
		CASE(threads_share_a_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
