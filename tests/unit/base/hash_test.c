/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

#include <stdlib.h>

#include "base/hash.h"

enum {
	MANY = 100000
};

struct thing {
	uint64_t            th_key;
	struct m0_hash_link th_link;
};

static struct m0_hash hash;
static struct thing  *things;
/* Allocations that still succeed; -1: all. */
static int      allocs_left;
static unsigned allocs_nr;

static void *scant_alloc(size_t size, unsigned shift)
{
	(void)shift;
	++allocs_nr;
	if (allocs_left == 0)
		return NULL;
	if (allocs_left > 0)
		--allocs_left;
	return calloc(1, size);
}

static void scant_free(void *data, size_t size, unsigned shift)
{
	(void)size;
	(void)shift;
	free(data);
}

static const struct m0_alloc_ops scant_ops = {
	.ao_alloc = scant_alloc,
	.ao_free = scant_free,
};

static int setup(void **state)
{
	(void)state;
	allocs_left = -1;
	allocs_nr = 0;
	m0_alloc_hook_set(&scant_ops);
	m0_hash_init(&hash);
	things = calloc(MANY, sizeof *things);
	return things == NULL;
}

static int teardown(void **state)
{
	(void)state;
	m0_hash_fini(&hash);
	m0_alloc_hook_set(NULL);
	free(things);
	return 0;
}

static int add(struct thing *th, uint64_t key)
{
	th->th_key = key;
	return m0_hash_add(&hash, &th->th_link, &th->th_key, sizeof th->th_key);
}

static struct thing *find(uint64_t key)
{
	struct m0_hash_link *link = m0_hash_find(&hash, &key, sizeof key);

	return link == NULL ? NULL : container_of(link, struct thing, th_link);
}

/* A lookup finds an entry from its addition to its deletion, and no other
 * key. */
static void entry_added_is_found_until_deleted(void **state)
{
	unsigned i;

	(void)state;
	assert_null(find(0));
	/* Keys that differ in their highest bits only. */
	for (i = 0; i < 1000; ++i)
		assert_int_equal(add(&things[i], (uint64_t)i << 52), 0);
	assert_int_equal(m0_hash_nr(&hash), 1000);
	for (i = 0; i < 1000; ++i)
		assert_ptr_equal(find((uint64_t)i << 52), &things[i]);
	assert_null(find(1));
	for (i = 0; i < 1000; i += 2)
		m0_hash_del(&hash, &things[i].th_link);
	for (i = 0; i < 1000; ++i)
		assert_ptr_equal(find((uint64_t)i << 52),
				 i % 2 == 0 ? NULL : &things[i]);
	for (i = 1; i < 1000; i += 2)
		m0_hash_del(&hash, &things[i].th_link);
	assert_int_equal(m0_hash_nr(&hash), 0);
}

/* Length belongs to a key: of 3, 8, 20 and 21 bytes of one string, each is an
 * entry of its own. */
static void keys_of_other_lengths_are_others(void **state)
{
	static const char     text[] = "abcdefghijklmnopqrstuvwxyz";
	static const unsigned nr[] = { 3, 8, 20, 21, 1 };
	unsigned              i;

	(void)state;
	for (i = 0; i < 5; ++i)
		assert_int_equal(
			m0_hash_add(&hash, &things[i].th_link, text, nr[i]), 0);
	for (i = 0; i < 5; ++i)
		assert_ptr_equal(m0_hash_find(&hash, text, nr[i]),
				 &things[i].th_link);
	assert_null(m0_hash_find(&hash, text, 4));
	for (i = 0; i < 5; ++i)
		m0_hash_del(&hash, &things[i].th_link);
}

/* m0_hash_find64() finds what m0_hash_find() finds: in a table that is empty, kept or
 * large, with keys that are there, were there, or differ from one in a bit. */
static void lookup_by_number_is_that_of_its_bytes(void **state)
{
	unsigned i;
	unsigned nr;

	(void)state;
	assert_null(m0_hash_find64(&hash, 0));
	assert_int_equal(m0_hash_keep(&hash), 0);
	assert_null(m0_hash_find64(&hash, 0));
	for (nr = 0; nr < 1000; ++nr)
		assert_int_equal(add(&things[nr],
				     (uint64_t)nr * 0x9e3779b97f4a7c15ULL),
				 0);
	for (i = 0; i < nr; ++i)
		assert_ptr_equal(m0_hash_find64(&hash, things[i].th_key),
				 &things[i].th_link);
	/* Keys that differ from one of the table in one bit each. */
	for (i = 0; i < 64; ++i)
		assert_ptr_equal(m0_hash_find64(&hash,
						UINT64_C(1) << i ^
							things[1].th_key),
				 find(UINT64_C(1) << i ^ things[1].th_key));
	for (i = 0; i < nr; ++i) {
		m0_hash_del(&hash, &things[i].th_link);
		assert_null(m0_hash_find64(&hash, things[i].th_key));
	}
}

/* Iteration goes in the order of adding; the keeper is not seen, wherever it
 * stands. */
static void iteration_is_in_order_of_adding(void **state)
{
	struct m0_hash_link *link;
	unsigned             i;

	(void)state;
	assert_null(m0_hash_first(&hash));
	for (i = 0; i < 10; ++i) {
		assert_int_equal(add(&things[i], i * 7919), 0);
		if (i == 4)
			assert_int_equal(m0_hash_keep(&hash), 0);
	}
	assert_int_equal(m0_hash_nr(&hash), 10);
	link = m0_hash_first(&hash);
	for (i = 0; i < 10; ++i, link = m0_hash_next(link))
		assert_ptr_equal(link, &things[i].th_link);
	assert_null(link);
	for (i = 0; i < 10; ++i)
		m0_hash_del(&hash, &things[i].th_link);
	assert_null(m0_hash_first(&hash));
}

/* A kept table that fills and empties does not come back for memory. */
static void kept_table_allocates_once(void **state)
{
	unsigned i;
	unsigned nr;

	(void)state;
	assert_int_equal(m0_hash_keep(&hash), 0);
	assert_int_equal(m0_hash_keep(&hash), 0);
	nr = allocs_nr;
	for (i = 0; i < 100; ++i) {
		assert_int_equal(add(&things[0], i), 0);
		m0_hash_del(&hash, &things[0].th_link);
	}
	assert_int_equal(allocs_nr, nr);
}

/* One that takes another's place is found in its stead, first, last or in the
 * middle, and needs no memory. */
static void entry_replaced_is_in_its_place(void **state)
{
	struct m0_hash_link *link;
	unsigned             i;

	(void)state;
	for (i = 0; i < 200; ++i)
		assert_int_equal(add(&things[i], i), 0);
	allocs_left = 0;
	for (i = 0; i < 200; ++i) {
		things[200 + i].th_key = i;
		m0_hash_replace(&hash, &things[i].th_link,
				&things[200 + i].th_link,
				&things[200 + i].th_key);
		M0_SET0(&things[i]);
	}
	assert_int_equal(m0_hash_nr(&hash), 200);
	link = m0_hash_first(&hash);
	for (i = 0; i < 200; ++i, link = m0_hash_next(link)) {
		assert_ptr_equal(link, &things[200 + i].th_link);
		assert_ptr_equal(find(i), &things[200 + i]);
	}
	/* An entry added after the deletions follows the last one. */
	assert_int_equal(add(&things[400], 400), 0);
	assert_ptr_equal(m0_hash_next(&things[399].th_link),
			 &things[400].th_link);
	assert_null(m0_hash_next(&things[400].th_link));
	for (i = 0; i <= 200; ++i)
		m0_hash_del(&hash, &things[200 + i].th_link);
	allocs_left = -1;
}

/* Without memory an add says so and the table is as it was: at the first entry
 * and wherever it wants to grow. */
static void add_without_memory_changes_nothing(void **state)
{
	unsigned failed_nr = 0;
	unsigned nr = 0;
	unsigned i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		allocs_left = (int)i;
		assert_int_equal(add(&things[0], 1), -ENOMEM);
		assert_null(find(1));
		assert_int_equal(m0_hash_keep(&hash), -ENOMEM);
	}
	allocs_left = -1;
	assert_int_equal(add(&things[0], 0), 0);
	allocs_left = 0;
	for (i = 1; i < 1000; ++i) {
		if (add(&things[i], i) == 0)
			continue;
		++failed_nr;
		assert_null(find(i));
		things[i].th_key = UINT64_MAX;
	}
	assert_true(failed_nr > 0);
	assert_int_equal(m0_hash_nr(&hash), 1000 - failed_nr);
	allocs_left = -1;
	for (i = 0; i < 1000; ++i) {
		if (things[i].th_key == UINT64_MAX)
			continue;
		assert_ptr_equal(find(i), &things[i]);
		m0_hash_del(&hash, &things[i].th_link);
		++nr;
	}
	assert_int_equal(nr, 1000 - failed_nr);
}

/* A hundred thousand, in and out. */
static void many_are_all_found(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < MANY; ++i)
		assert_int_equal(add(&things[i], i), 0);
	for (i = 0; i < MANY; ++i)
		assert_ptr_equal(find(i), &things[i]);
	for (i = 0; i < MANY; ++i)
		m0_hash_del(&hash, &things[i].th_link);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		CASE(entry_added_is_found_until_deleted),
		CASE(keys_of_other_lengths_are_others),
		CASE(lookup_by_number_is_that_of_its_bytes),
		CASE(iteration_is_in_order_of_adding),
		CASE(kept_table_allocates_once),
		CASE(entry_replaced_is_in_its_place),
		CASE(add_without_memory_changes_nothing),
		CASE(many_are_all_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
