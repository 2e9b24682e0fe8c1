/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "panics.h"

struct item {
	int                 i_nr;
	struct m0_list_link i_link;
};

static struct m0_list list;
static struct item    items[6];

static int setup(void **state)
{
	size_t i;

	(void)state;
	m0_list_init(&list);
	for (i = 0; i < ARRAY_SIZE(items); ++i) {
		items[i].i_nr = (int)i;
		m0_list_link_init(&items[i].i_link);
	}
	return 0;
}

/* The list's numbers as text, forward; and that it is sound. */
static const char *numbers(const struct m0_list *of)
{
	static char  text[16];
	size_t       at = 0;
	struct item *item;

	assert_true(m0_list_invariant(of));
	m0_list_for_each_entry(of, item, struct item, i_link)
		text[at++] = (char)('0' + item->i_nr);
	text[at] = 0;
	assert_int_equal(m0_list_length(of), at);
	return text;
}

/* Order of the ends, and of the neighbours. */
static void list_add_keeps_order(void **state)
{
	(void)state;
	assert_true(m0_list_is_empty(&list));
	assert_null(m0_list_first(&list));
	assert_null(m0_list_last(&list));
	m0_list_add(&list, &items[1].i_link);
	m0_list_add(&list, &items[0].i_link);
	m0_list_add_tail(&list, &items[4].i_link);
	assert_string_equal(numbers(&list), "014");
	m0_list_add_after(&items[1].i_link, &items[2].i_link);
	m0_list_add_before(&items[4].i_link, &items[3].i_link);
	assert_string_equal(numbers(&list), "01234");
	assert_ptr_equal(m0_list_first(&list), &items[0].i_link);
	assert_ptr_equal(m0_list_last(&list), &items[4].i_link);
	assert_true(m0_list_link_is_last(&items[4].i_link, &list));
	assert_false(m0_list_link_is_last(&items[0].i_link, &list));
	assert_true(m0_list_contains(&list, &items[3].i_link));
	assert_false(m0_list_contains(&list, &items[5].i_link));
}

/* Deleted links are out and may go in again. */
static void list_del_takes_out(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 4; ++i)
		m0_list_add_tail(&list, &items[i].i_link);
	m0_list_del(&items[1].i_link);
	assert_false(m0_list_link_is_in(&items[1].i_link));
	assert_string_equal(numbers(&list), "023");
	m0_list_del(&items[1].i_link);
	m0_list_move(&list, &items[3].i_link);
	assert_string_equal(numbers(&list), "302");
	m0_list_move_tail(&list, &items[3].i_link);
	assert_string_equal(numbers(&list), "023");
	m0_list_link_fini(&items[1].i_link);
}

/* The safe loops allow the visited object to go away. */
static void list_safe_loops_allow_deletion(void **state)
{
	struct m0_list_link *pos;
	struct m0_list_link *next;
	struct item         *item;
	struct item         *after;
	int                  i;

	(void)state;
	for (i = 0; i < 6; ++i)
		m0_list_add_tail(&list, &items[i].i_link);
	m0_list_for_each_entry_safe(&list, item, after, struct item, i_link) {
		if (item->i_nr % 2 == 0)
			m0_list_del(&item->i_link);
	}
	assert_string_equal(numbers(&list), "135");
	m0_list_for_each_safe(&list, pos, next)
		m0_list_del(pos);
	assert_true(m0_list_is_empty(&list));
	m0_list_fini(&list);
}

/* A splice moves everything behind what is there. */
static void list_splice_appends_all(void **state)
{
	struct m0_list other;

	(void)state;
	m0_list_init(&other);
	m0_list_splice_tail(&list, &other);
	assert_true(m0_list_is_empty(&list));
	m0_list_add_tail(&list, &items[0].i_link);
	m0_list_add_tail(&other, &items[1].i_link);
	m0_list_add_tail(&other, &items[2].i_link);
	m0_list_splice_tail(&list, &other);
	assert_string_equal(numbers(&list), "012");
	assert_true(m0_list_is_empty(&other));
}

/* A link need not be initialised to be added: clients of the reference do not. */
static void list_add_takes_any_link(void **state)
{
#ifdef M0_DEBUG_CHECKS
	/* Builds that look for links added twice want them initialised. */
	(void)state;
	skip();
#else
	static void (*const add[])(struct m0_list *, struct m0_list_link *) = {
		m0_list_add, m0_list_add_tail
	};
	struct m0_list_link link;
	struct m0_list_link other;
	size_t              i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(add); ++i) {
		memset(&link, i == 0 ? 0 : 0xa5, sizeof link);
		memset(&other, 0xa5, sizeof other);
		add[i](&list, &link);
		m0_list_add_before(&link, &other);
		assert_ptr_equal(m0_list_first(&list), &other);
		assert_ptr_equal(m0_list_last(&list), &link);
		assert_true(m0_list_invariant(&list));
		m0_list_del(&link);
		m0_list_del(&other);
	}
#endif
}

/* Adding twice, or finalising what is in use, is caught. */
static void list_misuse_panics(void **state)
{
	(void)state;
	m0_list_add(&list, &items[0].i_link);
	m0_list_add(&list, &items[1].i_link);
#ifdef M0_DEBUG_CHECKS
	assert_panics(m0_list_add(&list, &items[0].i_link));
#endif
	assert_panics(m0_list_link_fini(&items[0].i_link));
	assert_panics(m0_list_fini(&list));
}

/* The invariant sees a link that points astray. */
static void list_invariant_sees_damage(void **state)
{
	(void)state;
	m0_list_add_tail(&list, &items[0].i_link);
	m0_list_add_tail(&list, &items[1].i_link);
	items[1].i_link.ll_prev = &items[2].i_link;
	assert_false(m0_list_invariant(&list));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(list_add_keeps_order, setup),
		cmocka_unit_test_setup(list_del_takes_out, setup),
		cmocka_unit_test_setup(list_safe_loops_allow_deletion, setup),
		cmocka_unit_test_setup(list_splice_appends_all, setup),
		cmocka_unit_test_setup(list_add_takes_any_link, setup),
		cmocka_unit_test_setup(list_misuse_panics, setup),
		cmocka_unit_test_setup(list_invariant_sees_damage, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
