/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "unit/base/panics.h"

#include "front/front_internal.h"

struct thing {
	struct m0_front_slot th_slot;
	uint64_t             th_data[5];
};

enum {
	MAX = 3 * M0_FRONT_CHUNK_NR + 7
};

static struct m0_front_slots slots;

static int setup(void **state)
{
	(void)state;
	return m0_front__slots_init(&slots, sizeof(struct thing),
				    sizeof(struct thing), MAX);
}

static int teardown(void **state)
{
	(void)state;
	m0_front__slots_fini(&slots);
	return 0;
}

static bool chunk_add(void)
{
	void *chunk;

	if (slots.fss_nr == slots.fss_max)
		return false;
	chunk = m0_front__slots_chunk(&slots);
	assert_non_null(chunk);
	m0_front__slots_grow(&slots, chunk);
	return true;
}

static struct thing *thing_get(void)
{
	if (slots.fss_free == NULL && !chunk_add())
		return NULL;
	return container_of(m0_front__slot_get(&slots), struct thing, th_slot);
}

/* A table grows to its limit, not beyond, and its slots do not move. */
static void table_grows_to_limit(void **state)
{
	static struct thing *things[MAX];
	unsigned             i;

	(void)state;
	assert_null(m0_front__slot_get(&slots));
	for (i = 0; i < MAX; ++i) {
		assert_false(m0_front__slots_are_full(&slots));
		things[i] = thing_get();
		assert_non_null(things[i]);
		assert_int_equal(things[i]->th_slot.fsl_index, i);
		things[i]->th_data[4] = i + 1;
	}
	assert_true(m0_front__slots_are_full(&slots));
	assert_null(thing_get());
	for (i = 0; i < MAX; ++i) {
		assert_ptr_equal(m0_front__slot_find(
					 &slots,
					 m0_front__handle(&things[i]->th_slot)),
				 &things[i]->th_slot);
		assert_int_equal(things[i]->th_data[4], i + 1);
	}
}

/* A handle is void once its slot is put, also when that is in use again. */
static void handle_is_void_after_put(void **state)
{
	struct thing         *thing = thing_get();
	struct m0_lnet_handle old = m0_front__handle(&thing->th_slot);
	struct thing         *again;

	(void)state;
	assert_false(m0_lnet_handle_is_none(old));
	thing->th_data[0] = 77;
	thing->th_data[4] = 77;
	m0_front__slot_put(&slots, &thing->th_slot);
	assert_null(m0_front__slot_find(&slots, old));
	again = thing_get();
	/* The warm one; debug builds spoil what it was. */
	assert_ptr_equal(again, thing);
#ifdef M0_DEBUG_CHECKS
	assert_int_not_equal(again->th_data[0], 77);
	assert_int_not_equal(again->th_data[4], 77);
#endif
	assert_null(m0_front__slot_find(&slots, old));
	assert_non_null(
		m0_front__slot_find(&slots, m0_front__handle(&again->th_slot)));
}

/* A handle that was never given out finds no slot. */
static void handle_made_up_is_void(void **state)
{
	struct thing         *thing = thing_get();
	struct m0_lnet_handle made;

	(void)state;
	assert_null(m0_front__slot_find(&slots, m0_lnet_handle_none));
	made = m0_front__handle(&thing->th_slot);
	++made.lh_gen;
	assert_null(m0_front__slot_find(&slots, made));
	made = m0_front__handle(&thing->th_slot);
	made.lh_slot = MAX - 1;
	assert_null(m0_front__slot_find(&slots, made));
	made.lh_slot = UINT32_MAX;
	assert_null(m0_front__slot_find(&slots, made));
	/* Free slots have a generation, too. */
	made.lh_slot = 1;
	made.lh_gen = 0;
	assert_null(m0_front__slot_find(&slots, made));
}

/* A slot that has been everything a handle can say is not used any more. */
static void slot_worn_out_is_retired(void **state)
{
	struct thing *thing = thing_get();
	uint32_t      index = thing->th_slot.fsl_index;

	(void)state;
	thing->th_slot.fsl_gen = UINT32_MAX;
	m0_front__slot_put(&slots, &thing->th_slot);
	assert_int_not_equal(thing_get()->th_slot.fsl_index, index);
}

/* Giving back twice is a mistake that is caught. */
static void put_twice_panics(void **state)
{
	struct thing *thing = thing_get();

	(void)state;
	m0_front__slot_put(&slots, &thing->th_slot);
	assert_panics(m0_front__slot_put(&slots, &thing->th_slot));
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
