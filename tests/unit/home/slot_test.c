/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/base/panics.h"

#include "home/home_internal.h"

struct thing {
	struct m0_home_slot th_slot;
	uint64_t            th_data[5];
};

enum {
	MAX = 3 * M0_HOME_CHUNK_NR + 7
};

static struct m0_home_slots slots;

static int setup(void **state)
{
	(void)state;
	return m0_home__slots_init(&slots, sizeof(struct thing), MAX);
}

static int teardown(void **state)
{
	(void)state;
	m0_home__slots_fini(&slots);
	return 0;
}

static struct thing *thing_get(void)
{
	struct m0_home_slot *slot = m0_home__slot_get(&slots);

	if (slot == NULL) {
		void *chunk = m0_home__slots_chunk(&slots);

		assert_non_null(chunk);
		if (!m0_home__slots_grow(&slots, chunk))
			return NULL;
		slot = m0_home__slot_get(&slots);
	}
	return container_of(slot, struct thing, th_slot);
}

/* A table grows to its limit, not beyond, and its slots do not move. */
static void table_grows_to_limit(void **state)
{
	static struct thing *things[MAX];
	unsigned             i;

	(void)state;
	assert_null(m0_home__slot_get(&slots));
	for (i = 0; i < MAX; ++i) {
		assert_false(m0_home__slots_are_full(&slots));
		things[i] = thing_get();
		assert_non_null(things[i]);
		assert_int_equal(things[i]->th_slot.hsl_index, i);
		things[i]->th_data[4] = i + 1;
	}
	assert_true(m0_home__slots_are_full(&slots));
	assert_null(thing_get());
	for (i = 0; i < MAX; ++i) {
		assert_ptr_equal(m0_home__slot_find(
					 &slots,
					 m0_home__handle(&things[i]->th_slot)),
				 &things[i]->th_slot);
		assert_int_equal(things[i]->th_data[4], i + 1);
	}
}

/* A handle is void once its slot is put, also when that is in use again. */
static void handle_is_void_after_put(void **state)
{
	struct thing         *thing = thing_get();
	struct m0_lnet_handle old = m0_home__handle(&thing->th_slot);
	struct thing         *again;

	(void)state;
	assert_false(m0_lnet_handle_is_none(old));
	thing->th_data[0] = 77;
	thing->th_data[4] = 77;
	m0_home__slot_put(&slots, &thing->th_slot);
	assert_null(m0_home__slot_find(&slots, old));
	again = thing_get();
	/* The warm one; debug builds spoil what it was. */
	assert_ptr_equal(again, thing);
#ifdef M0_DEBUG_CHECKS
	assert_int_not_equal(again->th_data[0], 77);
	assert_int_not_equal(again->th_data[4], 77);
#endif
	assert_null(m0_home__slot_find(&slots, old));
	assert_non_null(
		m0_home__slot_find(&slots, m0_home__handle(&again->th_slot)));
}

/* What never was a handle is none. */
static void handle_made_up_is_void(void **state)
{
	struct thing         *thing = thing_get();
	struct m0_lnet_handle made;

	(void)state;
	assert_null(m0_home__slot_find(&slots, m0_lnet_handle_none));
	made = m0_home__handle(&thing->th_slot);
	++made.lh_gen;
	assert_null(m0_home__slot_find(&slots, made));
	made = m0_home__handle(&thing->th_slot);
	made.lh_slot = MAX - 1;
	assert_null(m0_home__slot_find(&slots, made));
	made.lh_slot = UINT32_MAX;
	assert_null(m0_home__slot_find(&slots, made));
	/* Free slots have a generation, too. */
	made.lh_slot = 1;
	made.lh_gen = 0;
	assert_null(m0_home__slot_find(&slots, made));
}

/* A slot that has been everything a handle can say is not used any more. */
static void slot_worn_out_is_retired(void **state)
{
	struct thing *thing = thing_get();
	uint32_t      index = thing->th_slot.hsl_index;

	(void)state;
	thing->th_slot.hsl_gen = UINT32_MAX;
	m0_home__slot_put(&slots, &thing->th_slot);
	assert_int_not_equal(thing_get()->th_slot.hsl_index, index);
}

/* Giving back twice is a mistake that is caught. */
static void put_twice_panics(void **state)
{
	struct thing *thing = thing_get();

	(void)state;
	m0_home__slot_put(&slots, &thing->th_slot);
	assert_panics(m0_home__slot_put(&slots, &thing->th_slot));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(table_grows_to_limit),   CASE(handle_is_void_after_put),
		CASE(handle_made_up_is_void), CASE(slot_worn_out_is_retired),
		CASE(put_twice_panics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
