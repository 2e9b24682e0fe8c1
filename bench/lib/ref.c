/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Costs of the bare host, without any library. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

static uint64_t clock_run(void *arg, uint64_t nr)
{
	struct timespec ts;

	(void)arg;
	for (uint64_t i = 0; i < nr; i++)
		clock_gettime(CLOCK_MONOTONIC, &ts);
	return nr;
}

struct bench_case bench_ref_clock(void)
{
	return (struct bench_case){ .c_name = "clock_gettime",
				    .c_run = &clock_run };
}

struct copy {
	char       *cp_dst;
	const char *cp_src;
	size_t      cp_bytes;
	size_t      cp_area;
	size_t     *cp_cursor;
	/** Copies that are made together, and where the last one was made. */
	unsigned cp_batch;
	size_t   cp_last;
};

static size_t cursor_next(struct copy *cp)
{
	size_t at = *cp->cp_cursor;

	*cp->cp_cursor += cp->cp_bytes;
	if (*cp->cp_cursor + cp->cp_bytes > cp->cp_area)
		*cp->cp_cursor = 0;
	return at;
}

static void copy_one(struct copy *cp, size_t at)
{
	memcpy(cp->cp_dst + at, cp->cp_src + at, cp->cp_bytes);
	__asm__ volatile("" ::: "memory");
	cp->cp_last = at;
}

/**
 * The library begins a batch at the end whose memory it copied last, because that
 * memory is still in the cache. The reference does the same.
 */
static void copy_batch(struct copy *cp, unsigned nr)
{
	size_t   at[BENCH_BATCH_MAX];
	unsigned i;

	for (i = 0; i < nr; i++)
		at[i] = cursor_next(cp);
	if (at[nr - 1] == cp->cp_last)
		while (i-- > 0)
			copy_one(cp, at[i]);
	else
		for (i = 0; i < nr; i++)
			copy_one(cp, at[i]);
}

static uint64_t copy_run(void *arg, uint64_t nr)
{
	struct copy *cp = arg;
	uint64_t     left;

	for (left = nr; left > cp->cp_batch; left -= cp->cp_batch)
		copy_batch(cp, cp->cp_batch);
	copy_batch(cp, (unsigned)left);
	return nr;
}

struct bench_case bench_ref_copy(char *dst, const char *src, size_t bytes,
				 size_t area, size_t *cursor, unsigned batch)
{
	static struct copy cp;

	if (batch < 1 || batch > BENCH_BATCH_MAX)
		bench_die("%u copies together", batch);
	cp = (struct copy){ .cp_dst = dst,
			    .cp_src = src,
			    .cp_bytes = bytes,
			    .cp_area = area,
			    .cp_cursor = cursor,
			    .cp_batch = batch,
			    .cp_last = SIZE_MAX };
	return (struct bench_case){ .c_name = "memcpy",
				    .c_run = &copy_run,
				    .c_arg = &cp };
}

struct line {
	_Alignas(128) uint32_t l_ping;
	_Alignas(128) uint32_t l_pong;
	_Alignas(128) struct bench_worker *l_worker;
};

/** A plain spin without pause, which would lengthen the limit. */
static void line_echo(void *arg)
{
	struct line *l = arg;
	uint32_t     seen = l->l_pong;

	for (int i = 0; i < 256; i++) {
		uint32_t n = __atomic_load_n(&l->l_ping, __ATOMIC_ACQUIRE);

		if (n != seen) {
			seen = n;
			__atomic_store_n(&l->l_pong, n, __ATOMIC_RELEASE);
		}
	}
}

static void line_enter(void *arg)
{
	struct line *l = arg;

	bench_worker_run(l->l_worker, &line_echo, l);
}

static void line_leave(void *arg)
{
	struct line *l = arg;

	bench_worker_park(l->l_worker);
}

/** One operation is one way: half a round trip. */
static uint64_t line_run(void *arg, uint64_t nr)
{
	struct line *l = arg;
	uint32_t     n = l->l_ping;

	for (uint64_t i = 0; i < nr; i += 2) {
		__atomic_store_n(&l->l_ping, ++n, __ATOMIC_RELEASE);
		while (__atomic_load_n(&l->l_pong, __ATOMIC_ACQUIRE) != n)
			;
	}
	return (nr + 1) / 2 * 2;
}

struct bench_case bench_ref_line(struct bench_worker *w)
{
	static struct line l;

	l.l_worker = w;
	return (struct bench_case){ .c_name = "cacheline",
				    .c_run = &line_run,
				    .c_arg = &l,
				    .c_enter = &line_enter,
				    .c_leave = &line_leave };
}
