/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/hooks.h"
#include "sim/sched/heap.h"

/* There if the sanitizer is. */
extern void __asan_poison_memory_region(const volatile void *addr, size_t size)
	__attribute__((weak));
extern void __asan_unpoison_memory_region(const volatile void *addr,
					  size_t size) __attribute__((weak));

enum {
	/* Behind each allocation: see heap.h. */
	GAP_BYTES = 1
};

static struct m0_heap            *innermost;
static const struct m0_alloc_ops *below;

static void count(uint64_t *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

static uint64_t get(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

/* Does the countdown end with this allocation? */
static bool heap_is_due(struct m0_heap *heap)
{
	uint64_t left = get(&heap->hp_countdown);

	while (left > 0 && !__atomic_compare_exchange_n(
				   &heap->hp_countdown, &left, left - 1, false,
				   __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return left == 1;
}

static const struct m0_alloc_ops *ops(void)
{
	return below != NULL ? below : m0_base__hooks()->bh_alloc;
}

/* A size that overflowed size_t fails here, too. */
static void *gap_alloc(size_t size, unsigned shift)
{
	char *data;

	if (size > SIZE_MAX - GAP_BYTES)
		return NULL;
	data = ops()->ao_alloc(size + GAP_BYTES, shift);
	/* The poison makes ASan find a write to the gap, as it would without
	 * the gap. */
	if (data != NULL && __asan_poison_memory_region != NULL)
		__asan_poison_memory_region(data + size, GAP_BYTES);
	return data;
}

static void *heap_alloc(size_t size, unsigned shift)
{
	struct m0_heap *heap;
	void           *data;
	bool            fail = false;

	for (heap = innermost; heap != NULL; heap = heap->hp_outer) {
		if (heap_is_due(heap)) {
			count(&heap->hp_failed_nr);
			fail = true;
		}
	}
	data = fail ? NULL : gap_alloc(size, shift);
	for (heap = innermost; heap != NULL && data != NULL;
	     heap = heap->hp_outer)
		count(&heap->hp_allocs_nr);
	return data;
}

static void heap_free(void *data, size_t size, unsigned shift)
{
	struct m0_heap *heap;

	for (heap = innermost; heap != NULL; heap = heap->hp_outer)
		count(&heap->hp_frees_nr);
	/* Memory of regions is used again as it is. */
	if (size > 0 && data != NULL && __asan_unpoison_memory_region != NULL)
		__asan_unpoison_memory_region((char *)data + size, GAP_BYTES);
	ops()->ao_free(data, size == 0 ? 0 : size + GAP_BYTES, shift);
}

static const struct m0_alloc_ops heap_ops = {
	.ao_alloc = heap_alloc,
	.ao_free = heap_free,
};

void m0_heap_init(struct m0_heap *heap)
{
	const struct m0_alloc_ops *before;

	M0_SET0(heap);
	heap->hp_outer = innermost;
	innermost = heap;
	before = m0_alloc_hook_set(&heap_ops);
	if (before != &heap_ops)
		below = before;
}

void m0_heap_fini(struct m0_heap *heap)
{
	M0_PRE(innermost == heap);
	innermost = heap->hp_outer;
	if (innermost == NULL) {
		(void)m0_alloc_hook_set(below);
		below = NULL;
	}
}

void m0_heap_forget(void)
{
	if (innermost != NULL)
		(void)m0_alloc_hook_set(below);
	innermost = NULL;
	below = NULL;
}

uint64_t m0_heap_allocs_nr(const struct m0_heap *heap)
{
	return get(&heap->hp_allocs_nr);
}

int64_t m0_heap_live_nr(const struct m0_heap *heap)
{
	return (int64_t)(get(&heap->hp_allocs_nr) - get(&heap->hp_frees_nr));
}

void m0_heap_fail_at(struct m0_heap *heap, uint64_t nth)
{
	__atomic_store_n(&heap->hp_countdown, nth, __ATOMIC_RELAXED);
}

uint64_t m0_heap_failed_nr(const struct m0_heap *heap)
{
	return get(&heap->hp_failed_nr);
}

/* Run fn once with its allocation `nth` failing, if it gets that far. */
static int heap_fail_one(int (*fn)(void *arg), void *arg, uint64_t nth,
			 bool *ret_failed)
{
	struct m0_heap heap;
	int            rc;

	m0_heap_init(&heap);
	m0_heap_fail_at(&heap, nth);
	rc = fn(arg);
	*ret_failed = m0_heap_failed_nr(&heap) > 0;
	if (*ret_failed && rc == -ENOMEM)
		rc = 0;
	if (rc == 0 && m0_heap_live_nr(&heap) != 0)
		rc = -EBADF;
	m0_heap_fini(&heap);
	return rc;
}

int m0_heap_fail_each(int (*fn)(void *arg), void *arg)
{
	bool failed = true;
	int  nth;
	int  rc = 0;

	for (nth = 1; rc == 0 && failed; ++nth)
		rc = heap_fail_one(fn, arg, (uint64_t)nth, &failed);
	return rc != 0 ? rc : nth - 2;
}
