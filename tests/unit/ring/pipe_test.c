/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Pipes: bytes and offers in order, sleep, the end, and a hostile other side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <pthread.h>

#include <cmocka.h>

#include "base/rand.h"
#include "ring/pipe.h"

enum {
	RING = M0_PIPE_RING_BYTES,
	OFFERS = M0_PIPE_OFFERS_MAX,
	STREAM_BYTES = 8 << 20
};

static struct m0_pipe_mem *mems;
static struct m0_pipe      a;
static struct m0_pipe      b;
static uint8_t             buf[RING + 1];

static int pipe_open(void **state)
{
	(void)state;
	mems = aligned_alloc(M0_PIPE_LINE_BYTES, 2 * sizeof *mems);
	memset(mems, 0, 2 * sizeof *mems);
	m0_pipe_init(&a, &mems[0], &mems[1]);
	m0_pipe_init(&b, &mems[1], &mems[0]);
	return 0;
}

static int pipe_close(void **state)
{
	(void)state;
	free(mems);
	return 0;
}

static void put(const char *text)
{
	assert_int_equal(m0_pipe_put(&a, text, strlen(text)), strlen(text));
	m0_pipe_commit(&a);
}

static void get(const char *text)
{
	size_t nr = 0;

	assert_int_equal(m0_pipe_next(&b, &nr), M0_PIPE_BYTES);
	assert_int_equal(nr, strlen(text));
	m0_pipe_get(&b, buf, nr);
	assert_memory_equal(buf, text, nr);
	m0_pipe_release(&b);
}

static void next_is(int next)
{
	size_t nr;

	assert_int_equal(m0_pipe_next(&b, &nr), next);
}

static void why_is(const struct m0_pipe *pipe, const char *text)
{
	char why[M0_PIPE_WHY_BYTES];

	assert_non_null(strstr(m0_pipe_why(pipe, why), text));
}

static void bytes_arrive_in_order(void **state)
{
	(void)state;
	next_is(M0_PIPE_NOTHING);
	put("one");
	put("two");
	get("onetwo");
	next_is(M0_PIPE_NOTHING);
	/* Nothing is seen before the commit. */
	assert_int_equal(m0_pipe_put(&a, "x", 1), 1);
	next_is(M0_PIPE_NOTHING);
	m0_pipe_commit(&a);
	get("x");
}

static void full_ring_takes_what_fits(void **state)
{
	size_t nr;

	(void)state;
	put("abc");
	get("abc");
	memset(buf, 'y', sizeof buf);
	assert_int_equal(m0_pipe_put(&a, buf, RING + 1), RING);
	assert_int_equal(m0_pipe_put(&a, buf, 1), 0);
	m0_pipe_commit(&a);
	assert_int_equal(m0_pipe_unsent(&a), RING);
	assert_int_equal(m0_pipe_next(&b, &nr), M0_PIPE_BYTES);
	assert_int_equal(nr, RING);
	memset(buf, 0, sizeof buf);
	m0_pipe_get(&b, buf, RING);
	assert_true(buf[0] == 'y' && buf[RING - 1] == 'y');
	/* The space is the sender's when it is released, not before. */
	assert_int_equal(m0_pipe_put(&a, "z", 1), 0);
	m0_pipe_release(&b);
	put("z");
	get("z");
	assert_int_equal(m0_pipe_unsent(&a), 0);
}

static void offer_take(uint64_t place, size_t bytes, size_t part)
{
	uint32_t region;
	uint64_t at;
	size_t   nr;

	assert_int_equal(m0_pipe_next(&b, &nr), M0_PIPE_OFFER);
	assert_int_equal(nr, bytes);
	m0_pipe_offer_get(&b, &region, &at);
	assert_int_equal(at, place);
	assert_int_equal(region, 3);
	assert_int_equal(m0_pipe_offer_took(&b, part), 0);
	m0_pipe_release(&b);
}

static void offers_keep_their_place(void **state)
{
	(void)state;
	assert_int_equal(m0_pipe_put(&a, "head", 4), 4);
	assert_int_equal(m0_pipe_offer_put(&a, 3, 1000, 500), 0);
	assert_int_equal(m0_pipe_offer_put(&a, 3, 7000, 10), 0);
	assert_int_equal(m0_pipe_put(&a, "tail", 4), 4);
	m0_pipe_commit(&a);
	get("head");
	assert_int_equal(m0_pipe_offers_nr(&a), 2);
	offer_take(1000, 500, 200);
	assert_int_equal(m0_pipe_offers_nr(&a), 2);
	offer_take(1200, 300, 300);
	assert_int_equal(m0_pipe_offers_nr(&a), 1);
	offer_take(7000, 10, 10);
	assert_int_equal(m0_pipe_offers_nr(&a), 0);
	get("tail");
}

static void offers_are_bounded(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < OFFERS; ++i)
		assert_int_equal(m0_pipe_offer_put(&a, 3, 64, 1), 0);
	assert_int_equal(m0_pipe_offer_put(&a, 3, 64, 1), -EAGAIN);
	m0_pipe_commit(&a);
	offer_take(64, 1, 1);
	assert_int_equal(m0_pipe_offer_put(&a, 3, 64, 1), 0);
}

static void end_comes_after_the_bytes(void **state)
{
	(void)state;
	put("last");
	m0_pipe_end(&a, M0_PIPE_CLOSED);
	get("last");
	next_is(M0_PIPE_END);
}

/* Memory of a sender that has ended the stream may belong to somebody else. */
static void withdrawn_offer_is_not_accepted(void **state)
{
	size_t nr;

	(void)state;
	put("head");
	assert_int_equal(m0_pipe_offer_put(&a, 3, 64, 100), 0);
	m0_pipe_commit(&a);
	get("head");
	assert_int_equal(m0_pipe_next(&b, &nr), M0_PIPE_OFFER);
	m0_pipe_end(&a, M0_PIPE_CLOSED);
	assert_int_equal(m0_pipe_offer_took(&b, 100), -ECONNRESET);
	next_is(M0_PIPE_END);
}

static void reset_is_an_error(void **state)
{
	(void)state;
	m0_pipe_end(&a, M0_PIPE_RESET);
	next_is(-ECONNRESET);
}

static void sleeper_is_woken_once(void **state)
{
	(void)state;
	put("awake");
	assert_false(m0_pipe_bell(&a));
	/* Bytes that came before the sleep end it. */
	assert_false(m0_pipe_sleep(&b, M0_PIPE_INPUT));
	get("awake");
	assert_true(m0_pipe_sleep(&b, M0_PIPE_INPUT));
	put("1");
	assert_true(m0_pipe_bell(&a));
	put("2");
	assert_false(m0_pipe_bell(&a));
	m0_pipe_wake(&b);
	put("3");
	assert_false(m0_pipe_bell(&a));
	get("123");
	assert_true(m0_pipe_sleep(&b, M0_PIPE_INPUT));
	assert_false(m0_pipe_bell(&a));
	put("4");
	assert_true(m0_pipe_bell(&a));
}

static void sleeper_is_woken_for_what_it_wants(void **state)
{
	(void)state;
	put("x");
	(void)m0_pipe_bell(&a);
	assert_true(m0_pipe_sleep(&a, M0_PIPE_SPACE));
	assert_int_equal(m0_pipe_put(&b, "y", 1), 1);
	m0_pipe_commit(&b);
	assert_false(m0_pipe_bell(&b));
	get("x");
	assert_true(m0_pipe_bell(&b));
	assert_false(m0_pipe_sleep(&a, M0_PIPE_SPACE | M0_PIPE_INPUT));
}

/* -- a hostile other side -------------------------------------------------- */

/* A side that waits for an offer is not woken for bytes that were taken. */
static void offer_taken_wakes(void **state)
{
	(void)state;
	put("header");
	assert_int_equal(m0_pipe_offer_put(&a, 3, 0, 10), 0);
	m0_pipe_commit(&a);
	assert_true(m0_pipe_sleep(&a, M0_PIPE_TAKEN));
	get("header");
	assert_false(m0_pipe_bell(&b));
	assert_false(m0_pipe_has(&a, M0_PIPE_TAKEN));
	offer_take(0, 10, 10);
	assert_true(m0_pipe_bell(&b));
	assert_true(m0_pipe_has(&a, M0_PIPE_TAKEN));
	assert_int_equal(m0_pipe_offers_nr(&a), 0);
	assert_false(m0_pipe_has(&a, M0_PIPE_TAKEN));
}

/* The state of a region is that of its number, not of its place. */
static void region_has_a_state(void **state)
{
	const uint32_t nr = 5;
	const uint32_t next = nr + M0_PIPE_REGIONS_MAX;

	(void)state;
	assert_int_equal(m0_pipe_region_get(&a, nr), M0_PIPE_REGION_UNKNOWN);
	m0_pipe_region_set(&b, nr, M0_PIPE_REGION_MAPPED);
	assert_int_equal(m0_pipe_region_get(&a, nr), M0_PIPE_REGION_MAPPED);
	assert_int_equal(m0_pipe_region_get(&a, next), M0_PIPE_REGION_UNKNOWN);
	assert_int_equal(m0_pipe_region_get(&b, nr), M0_PIPE_REGION_UNKNOWN);
	m0_pipe_region_set(&b, nr, M0_PIPE_REGION_DROPPED);
	assert_int_equal(m0_pipe_region_get(&a, nr), M0_PIPE_REGION_DROPPED);
	m0_pipe_region_set(&b, UINT32_MAX, M0_PIPE_REGION_REFUSED);
	assert_int_equal(m0_pipe_region_get(&a, UINT32_MAX),
			 M0_PIPE_REGION_REFUSED);
}

static void wrong_put_is_refused(void **state)
{
	(void)state;
	mems[0].pim_put = RING + 1;
	next_is(-EPROTO);
	why_is(&b, "put is 262145: at most 262144 is accepted");
	/* The pipe is of no use any more. */
	mems[0].pim_put = 1;
	next_is(-EPROTO);
	assert_int_equal(m0_pipe_put(&b, "x", 1), -EPROTO);
}

static void put_that_moves_back_is_refused(void **state)
{
	(void)state;
	put("abc");
	get("abc");
	mems[0].pim_put = 2;
	next_is(-EPROTO);
}

static void wrong_taken_is_refused(void **state)
{
	(void)state;
	put("abc");
	mems[1].pim_taken = 4;
	assert_int_equal(m0_pipe_unsent(&a), -EPROTO);
	why_is(&a, "taken is 4: at most 3 is accepted");
	assert_int_equal(m0_pipe_offer_put(&a, 1, 1, 1), -EPROTO);
}

static void wrong_counts_of_offers_are_refused(void **state)
{
	(void)state;
	mems[0].pim_offers_put = OFFERS + 1;
	next_is(-EPROTO);
	why_is(&b, "offers_put is 33");
	assert_int_equal(m0_pipe_offer_put(&a, 1, 1, 1), 0);
	mems[1].pim_offers_taken = 2;
	assert_int_equal(m0_pipe_offers_nr(&a), -EPROTO);
	why_is(&a, "offers_taken is 2: at most 1");
}

static void offer_is(uint64_t at, uint32_t bytes)
{
	mems[0].pim_offers[0] =
		(struct m0_pipe_offer){ .pof_at = at, .pof_bytes = bytes };
	mems[0].pim_offers_put = 1;
	next_is(-EPROTO);
	assert_int_equal(b.pip_offer.pof_bytes, 0);
}

static void empty_offer_is_refused(void **state)
{
	(void)state;
	offer_is(0, 0);
	why_is(&b, "length of an offer is 0");
}

static void long_offer_is_refused(void **state)
{
	(void)state;
	offer_is(0, M0_PIPE_OFFER_BYTES_MAX + 1);
	why_is(&b, "length of an offer");
}

static void far_offer_is_refused(void **state)
{
	(void)state;
	offer_is(RING + 1, 1);
	why_is(&b, "position of an offer");
}

static void offer_behind_is_refused(void **state)
{
	(void)state;
	put("abc");
	get("abc");
	offer_is(2, 1);
}

/* An offer is copied before it is checked. */
static void changed_offer_does_not_matter(void **state)
{
	(void)state;
	assert_int_equal(m0_pipe_offer_put(&a, 3, 64, 100), 0);
	m0_pipe_commit(&a);
	next_is(M0_PIPE_OFFER);
	mems[0].pim_offers[0].pof_bytes = UINT32_MAX;
	mems[0].pim_offers[0].pof_place = 1;
	offer_take(64, 100, 100);
}

static void wrong_state_is_refused(void **state)
{
	(void)state;
	mems[0].pim_state = 7;
	next_is(-EPROTO);
	why_is(&b, "state is 7");
}

/* Sleep words that change cost one wake-up for each bell. */
static void wrong_sleep_words_are_harmless(void **state)
{
	(void)state;
	put("x");
	mems[1].pim_sleeps = UINT64_MAX;
	assert_true(m0_pipe_bell(&a));
	mems[1].pim_sleeps = 3;
	assert_false(m0_pipe_bell(&a));
	put("y");
	assert_true(m0_pipe_bell(&a));
	get("xy");
}

/* Random words never let the other side read outside of the rings. */
static void random_memory_is_harmless(void **state)
{
	uint64_t      *words = (uint64_t *)&mems[0];
	struct m0_rand rand;
	unsigned       round;
	size_t         nr;

	(void)state;
	m0_rand_init(&rand, 1);
	for (round = 0; round < 20000; ++round) {
		uint64_t i = m0_rand_below(&rand, 30);
		int      left = 40;

		words[i] = m0_rand_chance(&rand, 500) ? m0_rand_below(&rand, 70)
						      : m0_rand_next(&rand);
		while (left-- > 0) {
			int next = m0_pipe_next(&b, &nr);

			if (next == M0_PIPE_BYTES) {
				assert_true(nr <= RING);
				m0_pipe_get(&b, buf, nr);
			} else if (next != M0_PIPE_OFFER ||
				   m0_pipe_offer_took(&b, nr) != 0) {
				break;
			}
		}
		(void)m0_pipe_put(&b, buf, 100);
		(void)m0_pipe_offers_nr(&b);
		(void)m0_pipe_bell(&b);
		if (b.pip_flaw != NULL) {
			memset(mems, 0,
			       2 * offsetof(struct m0_pipe_mem, pim_ring));
			memset(&mems[1], 0, 1024);
			m0_pipe_init(&b, &mems[1], &mems[0]);
		}
	}
}

/* -- two threads ----------------------------------------------------------- */

static void *sender(void *arg)
{
	uint8_t  from[777];
	uint64_t sent = 0;
	size_t   i;
	ssize_t  nr;

	while (sent < STREAM_BYTES) {
		size_t want =
			min64u(1 + sent % sizeof from, STREAM_BYTES - sent);

		for (i = 0; i < want; ++i)
			from[i] = (uint8_t)((sent + i) % 251);
		nr = m0_pipe_put(&a, from, want);
		if (nr < 0)
			return arg;
		sent += (size_t)nr;
		m0_pipe_commit(&a);
		if (nr == 0)
			sched_yield();
	}
	m0_pipe_end(&a, M0_PIPE_CLOSED);
	return NULL;
}

static void stream_arrives_whole(void **state)
{
	uint64_t  got = 0;
	pthread_t thread;
	void     *ret;
	size_t    nr;
	size_t    i;
	int       next;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, sender, &a), 0);
	while ((next = m0_pipe_next(&b, &nr)) != M0_PIPE_END) {
		assert_true(next >= 0);
		if (next == M0_PIPE_NOTHING) {
			sched_yield();
			continue;
		}
		nr = min64u(nr, 1000);
		m0_pipe_get(&b, buf, nr);
		for (i = 0; i < nr; ++i)
			assert_int_equal(buf[i], (got + i) % 251);
		got += nr;
		m0_pipe_release(&b);
	}
	assert_int_equal(got, STREAM_BYTES);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_null(ret);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, pipe_open, pipe_close)
	const struct CMUnitTest tests[] = {
		CASE(bytes_arrive_in_order),
		CASE(full_ring_takes_what_fits),
		CASE(offers_keep_their_place),
		CASE(offers_are_bounded),
		CASE(end_comes_after_the_bytes),
		CASE(withdrawn_offer_is_not_accepted),
		CASE(reset_is_an_error),
		CASE(sleeper_is_woken_once),
		CASE(sleeper_is_woken_for_what_it_wants),
		CASE(offer_taken_wakes),
		CASE(region_has_a_state),
		CASE(wrong_put_is_refused),
		CASE(put_that_moves_back_is_refused),
		CASE(wrong_taken_is_refused),
		CASE(wrong_counts_of_offers_are_refused),
		CASE(empty_offer_is_refused),
		CASE(long_offer_is_refused),
		CASE(far_offer_is_refused),
		CASE(offer_behind_is_refused),
		CASE(changed_offer_does_not_matter),
		CASE(wrong_state_is_refused),
		CASE(wrong_sleep_words_are_harmless),
		CASE(random_memory_is_harmless),
		CASE(stream_arrives_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
