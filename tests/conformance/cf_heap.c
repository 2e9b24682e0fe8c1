/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Memory of the library during a case, in user space and in the kernel. */
#include "sim/sched/heap.h"

#include "cf.h"
#include "cf_internal.h"

static struct m0_heap heap;

void cf__heap_begin(void)
{
	m0_heap_init(&heap);
}

void cf__heap_end(void)
{
	CF_EQ(m0_heap_live_nr(&heap), 0, "memory of the library that is left");
	m0_heap_fini(&heap);
}

uint64_t cf_allocs(void)
{
	return m0_heap_allocs_nr(&heap);
}

int64_t cf_live(void)
{
	return m0_heap_live_nr(&heap);
}

bool cf_alloc_fail_at(uint64_t nth)
{
	static uint64_t failed;
	uint64_t        before = failed;

	failed = m0_heap_failed_nr(&heap);
	m0_heap_fail_at(&heap, nth);
	return failed == before;
}
