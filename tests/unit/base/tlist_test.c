/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

struct obj {
	uint64_t        o_magic;
	int             o_nr;
	struct m0_tlink o_link;
	struct m0_tlink o_other_link;
};

M0_TL_DESCR_DECLARE(obj, static);
M0_TL_DECLARE(obj, static, struct obj);
M0_TL_DESCR_DEFINE(obj, "objects", static, struct obj, o_link, o_magic,
		   0x6f626a31, 0x6f626a68);
M0_TL_DEFINE(obj, static, struct obj);
/* A second list of the same objects. */
M0_TL_DESCR_DEFINE(two, "others", static, struct obj, o_other_link, o_magic,
		   0x6f626a31, 0x6f626a69);
M0_TL_DEFINE(two, static, struct obj);

static struct m0_tl head;
static struct obj   objs[6];

static int setup(void **state)
{
	size_t i;

	(void)state;
	M0_SET_ARR0(objs);
	obj_tlist_init(&head);
	for (i = 0; i < ARRAY_SIZE(objs); ++i) {
		objs[i].o_nr = (int)i;
		obj_tlink_init(&objs[i]);
	}
	return 0;
}

static const char *numbers(void)
{
	static char text[16];
	size_t      at = 0;
	struct obj *obj;

	assert_true(obj_tlist_invariant(&head));
	m0_tl_for(obj, &head, obj) {
		text[at++] = (char)('0' + obj->o_nr);
	}
	m0_tl_endfor;
	text[at] = 0;
	assert_int_equal(obj_tlist_length(&head), at);
	return text;
}

/* Ends, neighbours and walks both ways. */
static void tlist_add_keeps_order(void **state)
{
	(void)state;
	assert_true(obj_tlist_is_empty(&head));
	assert_null(obj_tlist_head(&head));
	assert_null(obj_tlist_tail(&head));
	assert_null(obj_tlist_pop(&head));
	obj_tlist_add(&head, &objs[1]);
	obj_tlist_add(&head, &objs[0]);
	obj_tlist_add_tail(&head, &objs[4]);
	obj_tlist_add_after(&objs[1], &objs[2]);
	obj_tlist_add_before(&objs[4], &objs[3]);
	assert_string_equal(numbers(), "01234");
	assert_ptr_equal(obj_tlist_head(&head), &objs[0]);
	assert_ptr_equal(obj_tlist_tail(&head), &objs[4]);
	assert_ptr_equal(obj_tlist_next(&head, &objs[1]), &objs[2]);
	assert_ptr_equal(obj_tlist_prev(&head, &objs[1]), &objs[0]);
	assert_null(obj_tlist_next(&head, &objs[4]));
	assert_null(obj_tlist_prev(&head, &objs[0]));
	assert_true(obj_tlist_contains(&head, &objs[3]));
	assert_false(obj_tlist_contains(&head, &objs[5]));
}

/* Pop, del, remove and the moves. */
static void tlist_del_takes_out(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 5; ++i)
		obj_tlist_add_tail(&head, &objs[i]);
	assert_ptr_equal(obj_tlist_pop(&head), &objs[0]);
	assert_false(obj_tlink_is_in(&objs[0]));
	obj_tlist_del(&objs[2]);
	obj_tlist_remove(&objs[2]);
	assert_string_equal(numbers(), "134");
	obj_tlist_move(&head, &objs[4]);
	assert_string_equal(numbers(), "413");
	obj_tlist_move_tail(&head, &objs[4]);
	assert_string_equal(numbers(), "134");
	obj_tlist_move_tail(&head, &objs[0]);
	obj_tlink_del_fini(&objs[1]);
	assert_string_equal(numbers(), "340");
}

/* Both forms of the loop allow the visited object to be deleted. */
static void tlist_loops_allow_deletion(void **state)
{
	struct obj *obj;
	int         i;

	(void)state;
	for (i = 0; i < 6; ++i)
		obj_tlist_add_tail(&head, &objs[i]);
	m0_tl_for(obj, &head, obj) {
		if (obj->o_nr == 1)
			continue;
		if (obj->o_nr == 4)
			break;
		obj_tlist_del(obj);
	}
	m0_tl_endfor;
	assert_string_equal(numbers(), "145");
	m0_tl_foreach(obj, &head, obj) obj_tlist_del(obj);
	assert_null(obj);
	assert_true(obj_tlist_is_empty(&head));
}

/* Search and quantifiers. */
static void tlist_find_returns_first(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 5; ++i)
		obj_tlist_add_tail(&head, &objs[i]);
	assert_ptr_equal(m0_tl_find(obj, o, &head, o->o_nr > 2), &objs[3]);
	assert_null(m0_tl_find(obj, o, &head, o->o_nr > 9));
	assert_true(m0_tl_forall(obj, o, &head, o->o_nr < 5));
	assert_false(m0_tl_forall(obj, o, &head, o->o_nr < 4));
	assert_true(m0_tl_exists(obj, o, &head, o->o_nr == 4));
	assert_false(m0_tl_exists(obj, o, &head, o->o_nr == 5));
}

/* Teardown leaves an empty list that can be finalised. */
static void tlist_teardown_empties(void **state)
{
	struct obj *obj;
	int         nr = 0;

	(void)state;
	obj_tlink_init_at(&objs[0], &head);
	obj_tlink_init_at_tail(&objs[1], &head);
	m0_tl_teardown(obj, &head, obj)
	{
		obj_tlink_fini(obj);
		++nr;
	}
	assert_int_equal(nr, 2);
	obj_tlist_fini(&head);
	assert_panics(obj_tlist_is_empty(&head));
}

/* Links of one object are independent. */
static void tlist_object_in_two_lists(void **state)
{
	struct m0_tl second;

	(void)state;
	two_tlist_init(&second);
	two_tlink_init(&objs[0]);
	obj_tlist_add(&head, &objs[0]);
	two_tlist_add(&second, &objs[0]);
	obj_tlist_del(&objs[0]);
	assert_true(two_tlink_is_in(&objs[0]));
	two_tlist_del(&objs[0]);
	assert_true(two_tlist_is_empty(&second));
}

/* Wrong heads and objects, double adds and double deletes are caught. */
static void tlist_misuse_panics(void **state)
{
	struct m0_tl second;

	(void)state;
	two_tlist_init(&second);
	assert_panics(obj_tlist_add(&second, &objs[0]));
	obj_tlist_add(&head, &objs[0]);
	assert_panics(obj_tlist_add_tail(&head, &objs[0]));
	assert_panics(obj_tlink_fini(&objs[0]));
	assert_panics(obj_tlist_fini(&head));
	obj_tlist_del(&objs[0]);
	assert_panics(obj_tlist_del(&objs[0]));
	objs[1].o_magic = 1;
	assert_panics(obj_tlist_add(&head, &objs[1]));
	obj_tlist_add(&head, &objs[2]);
	objs[2].o_magic = 1;
	assert_false(obj_tlist_invariant(&head));
	assert_panics(obj_tlist_pop(&head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(tlist_add_keeps_order, setup),
		cmocka_unit_test_setup(tlist_del_takes_out, setup),
		cmocka_unit_test_setup(tlist_loops_allow_deletion, setup),
		cmocka_unit_test_setup(tlist_find_returns_first, setup),
		cmocka_unit_test_setup(tlist_teardown_empties, setup),
		cmocka_unit_test_setup(tlist_object_in_two_lists, setup),
		cmocka_unit_test_setup(tlist_misuse_panics, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
