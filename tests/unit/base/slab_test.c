/* SPDX-License-Identifier: Apache-2.0 */
#include "panics.h"

#include <stdlib.h>

#include "base/slab.h"

struct source {
	int  so_nr;
	bool so_failing;
};

static void *source_alloc(void *arg, size_t size)
{
	struct source *source = arg;

	if (source->so_failing)
		return NULL;
	++source->so_nr;
	return aligned_alloc(64, m0_align(size, 64));
}

static void source_free(void *arg, void *chunk, size_t size)
{
	struct source *source = arg;

	(void)size;
	--source->so_nr;
	free(chunk);
}

static const struct m0_slab_ops source_ops = {
	.so_alloc = source_alloc,
	.so_free = source_free,
};

/* Objects are distinct, aligned, of full size, and no more than grown. */
static void slab_objects_are_apart(void **state)
{
	enum {
		NR = 10,
		SIZE = 40
	};
	struct source  source = { 0 };
	struct m0_slab slab;
	char          *obj[NR];
	int            i;
	int            j;

	(void)state;
	m0_slab_init(&slab, SIZE, &source_ops, &source);
	assert_null(m0_slab_get(&slab));
	assert_int_equal(m0_slab_grow(&slab, NR - 3), 0);
	assert_int_equal(m0_slab_grow(&slab, 3), 0);
	assert_int_equal(source.so_nr, 2);
	for (i = 0; i < NR; ++i) {
		obj[i] = m0_slab_get(&slab);
		assert_non_null(obj[i]);
		assert_true(m0_is_aligned((uintptr_t)obj[i], 16));
		memset(obj[i], i, SIZE);
	}
	assert_null(m0_slab_get(&slab));
	assert_int_equal(slab.sl_free_nr, 0);
	for (i = 0; i < NR; ++i) {
		for (j = 0; j < SIZE; ++j)
			assert_int_equal(obj[i][j], i);
		m0_slab_put(&slab, obj[i]);
	}
	assert_int_equal(slab.sl_free_nr, NR);
	m0_slab_fini(&slab);
	assert_int_equal(source.so_nr, 0);
}

/* The object given back last is warm: it is the next taken. */
static void slab_last_put_is_first_got(void **state)
{
	struct m0_slab slab;
	void          *a;
	void          *b;

	(void)state;
	m0_slab_init(&slab, 8, NULL, NULL);
	assert_int_equal(m0_slab_grow(&slab, 4), 0);
	a = m0_slab_get(&slab);
	b = m0_slab_get(&slab);
	m0_slab_put(&slab, a);
	assert_ptr_equal(m0_slab_get(&slab), a);
	m0_slab_put(&slab, b);
	m0_slab_put(&slab, a);
	m0_slab_fini(&slab);
}

/* No memory: an error and nothing changed; absurd sizes too. */
static void slab_grow_failure_changes_nothing(void **state)
{
	struct source  source = { .so_failing = true };
	struct m0_slab slab;

	(void)state;
	m0_slab_init(&slab, 64, &source_ops, &source);
	assert_int_equal(m0_slab_grow(&slab, 4), -ENOMEM);
	assert_int_equal(slab.sl_nr, 0);
	source.so_failing = false;
	assert_int_equal(m0_slab_grow(&slab, SIZE_MAX / 32), -ENOMEM);
	assert_int_equal(m0_slab_grow(&slab, 0), 0);
	assert_int_equal(source.so_nr, 0);
	m0_slab_fini(&slab);
}

/* Objects still out, or put once too often, are programmer's errors. */
static void slab_misuse_panics(void **state)
{
	struct m0_slab slab;
	void          *obj;

	(void)state;
	m0_slab_init(&slab, 16, NULL, NULL);
	assert_int_equal(m0_slab_grow(&slab, 1), 0);
	obj = m0_slab_get(&slab);
	assert_panics(m0_slab_fini(&slab));
	m0_slab_put(&slab, obj);
	assert_panics(m0_slab_put(&slab, obj));
	m0_slab_fini(&slab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slab_objects_are_apart),
		cmocka_unit_test(slab_last_put_is_first_got),
		cmocka_unit_test(slab_grow_failure_changes_nothing),
		cmocka_unit_test(slab_misuse_panics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
