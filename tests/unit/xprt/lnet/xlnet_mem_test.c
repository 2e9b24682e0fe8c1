/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Which memory of buffers is registered with which nodes; on stubs of both. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "os/os.h"
#include "xprt/lnet/xlnet_internal.h"

enum {
	NODES_NR = 2,
	MEMS_MAX = 16,
	PAGE = 4096
};

struct m0_mutex m0_xlnet__lock = M0_MUTEX_SINIT(&m0_xlnet__lock);

/* ------------------------------------------------------------------- stubs -- */

struct mem {
	const struct m0_lnet *m_lnet;
	const void           *m_addr;
	size_t                m_bytes;
};

static struct xlnet_node nodes[NODES_NR];
/** Number of these that the list has. */
static unsigned   nodes_nr;
static struct mem mems[MEMS_MAX];
static unsigned   mems_nr;
/** Registrations that still succeed. */
static unsigned allowed_nr;
/** The node whose daemon has ended; NULL: none. */
static const struct m0_lnet *ended;

struct xlnet_node *m0_xlnet__node_next(const struct xlnet_node *node)
{
	size_t next = node == NULL ? 0 : (size_t)(node - nodes) + 1;

	return next < nodes_nr ? &nodes[next] : NULL;
}

/* Stands for a node, which nobody looks into. */
static struct m0_lnet *lnet_of(unsigned i)
{
	return (struct m0_lnet *)(void *)&nodes[i];
}

static unsigned mem_find(const struct m0_lnet *lnet, const void *addr,
			 size_t bytes)
{
	unsigned i;

	for (i = 0; i < mems_nr; ++i) {
		if (mems[i].m_lnet == lnet && mems[i].m_addr == addr &&
		    mems[i].m_bytes == bytes)
			break;
	}
	return i;
}

bool m0_lnet_is_attached(const struct m0_lnet *lnet)
{
	return lnet == ended;
}

int m0_lnet_mem_register(struct m0_lnet *lnet, void *addr, size_t bytes)
{
	if (lnet == ended)
		return -ESHUTDOWN;
	if (allowed_nr == 0)
		return -ENOSPC;
	--allowed_nr;
	/* Once only. */
	assert_int_equal(mem_find(lnet, addr, bytes), mems_nr);
	assert_true(mems_nr < MEMS_MAX);
	mems[mems_nr++] = (struct mem){ lnet, addr, bytes };
	return 0;
}

void m0_lnet_mem_deregister(struct m0_lnet *lnet, void *addr, size_t bytes)
{
	unsigned i = mem_find(lnet, addr, bytes);

	assert_true(i < mems_nr);
	mems[i] = mems[--mems_nr];
}

/* ------------------------------------------------------------------- cases -- */

struct buf {
	struct m0_net_buffer  b_buf;
	struct m0_net_kit_buf b_kb;
	struct xlnet_buf      b_xb;
	void                 *b_seg[2];
	m0_bcount_t           b_count[2];
};

void *m0_net_kit_buf_pvt(struct m0_net_kit_buf *kb)
{
	return &container_of(kb, struct buf, b_kb)->b_xb;
}

static void buf_make(struct buf *b, void *first, size_t first_nr, void *second,
		     size_t second_nr)
{
	memset(b, 0, sizeof *b);
	b->b_seg[0] = first;
	b->b_seg[1] = second;
	b->b_count[0] = first_nr;
	b->b_count[1] = second_nr;
	b->b_buf.nb_buffer.ov_buf = b->b_seg;
	b->b_buf.nb_buffer.ov_vec.v_count = b->b_count;
	b->b_buf.nb_buffer.ov_vec.v_nr = 2;
	b->b_kb.nkb_buffer = &b->b_buf;
}

static int up(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < NODES_NR; ++i) {
		nodes[i].xn_lnet = lnet_of(i);
		nodes[i].xn_has_no_memory = false;
	}
	ended = NULL;
	nodes_nr = NODES_NR;
	mems_nr = 0;
	allowed_nr = 1000;
	return 0;
}

/* A region is registered with each node, once, however many buffers use it. */
static void region_is_registered_once_and_goes_with_the_last_buffer(
	void **state)
{
	char      *a = m0_alloc_aligned(PAGE, 12);
	char      *b = m0_alloc_aligned(2 * (size_t)PAGE, 12);
	void      *base = NULL;
	size_t     bytes = 0;
	struct buf buf[2];

	(void)state;
	buf_make(&buf[0], a, PAGE, b, PAGE);
	buf_make(&buf[1], b + PAGE, PAGE, a, 100);
	if (m0_os_region_of(a, &base, &bytes)) {
		assert_int_equal(m0_xlnet__mem_register(&buf[0].b_kb), 0);
		assert_int_equal(m0_xlnet__mem_register(&buf[1].b_kb), 0);
		assert_int_equal(mems_nr, NODES_NR);
		assert_true(mem_find(lnet_of(0), base, bytes) < mems_nr);
		assert_true(mem_find(lnet_of(1), base, bytes) < mems_nr);
		m0_xlnet__mem_deregister(&buf[0].b_kb);
		assert_int_equal(mems_nr, NODES_NR);
		m0_xlnet__mem_deregister(&buf[1].b_kb);
		assert_int_equal(mems_nr, 0);
	}
	m0_free_aligned(a, PAGE, 12);
	m0_free_aligned(b, 2 * (size_t)PAGE, 12);
	/* A sanitizer's build has no regions. */
	if (base == NULL)
		skip();
}

/* Foreign memory is registered by the segment. */
static void foreign_memory_is_registered_by_segment(void **state)
{
	static char bytes[3 * PAGE];
	struct buf  buf[2];

	(void)state;
	buf_make(&buf[0], bytes, PAGE, bytes + PAGE, 100);
	buf_make(&buf[1], bytes, PAGE, bytes + PAGE, 0);
	assert_int_equal(m0_xlnet__mem_register(&buf[0].b_kb), 0);
	assert_int_equal(mems_nr, 2 * NODES_NR);
	assert_true(mem_find(lnet_of(1), bytes + PAGE, 100) < mems_nr);
	assert_int_equal(m0_xlnet__mem_register(&buf[1].b_kb), 0);
	assert_int_equal(mems_nr, 2 * NODES_NR);
	m0_xlnet__mem_deregister(&buf[0].b_kb);
	assert_int_equal(mems_nr, NODES_NR);
	m0_xlnet__mem_deregister(&buf[1].b_kb);
	assert_int_equal(mems_nr, 0);
}

/* If one node refuses one segment, nothing of the buffer stays registered. */
/* An application may use fewer segments, and others, while its buffer is registered. */
static void exchanged_segments_leave_with_the_buffer(void **state)
{
	static char first[64];
	static char second[64];
	static char other[64];
	struct buf  b;

	(void)state;
	buf_make(&b, first, sizeof first, second, sizeof second);
	assert_int_equal(m0_xlnet__mem_register(&b.b_kb), 0);
	assert_int_equal(mems_nr, 2 * NODES_NR);
	b.b_seg[0] = other;
	b.b_count[0] = 1;
	b.b_buf.nb_buffer.ov_vec.v_nr = 1;
	m0_xlnet__mem_deregister(&b.b_kb);
	assert_int_equal(mems_nr, 0);
}

static void refused_buffer_leaves_nothing_registered(void **state)
{
	static char bytes[2 * PAGE];
	struct buf  buf;
	unsigned    nr;

	(void)state;
	buf_make(&buf, bytes, PAGE, bytes + PAGE, PAGE);
	for (nr = 0; nr < 2 * NODES_NR; ++nr) {
		allowed_nr = nr;
		assert_int_equal(m0_xlnet__mem_register(&buf.b_kb), -ENOSPC);
		assert_int_equal(mems_nr, 0);
	}
	allowed_nr = nr;
	assert_int_equal(m0_xlnet__mem_register(&buf.b_kb), 0);
	m0_xlnet__mem_deregister(&buf.b_kb);
}

/* A node that comes later gets what is registered, and gives it back. */
static void node_that_comes_later_has_all_memory(void **state)
{
	static char bytes[2 * PAGE];
	struct buf  buf;

	(void)state;
	nodes_nr = 1;
	buf_make(&buf, bytes, PAGE, bytes + PAGE, PAGE);
	assert_int_equal(m0_xlnet__mem_register(&buf.b_kb), 0);
	assert_int_equal(mems_nr, 2);
	m0_mutex_lock(&m0_xlnet__lock);
	allowed_nr = 1;
	assert_int_equal(m0_xlnet__mem_node_enter(lnet_of(1)), -ENOSPC);
	assert_int_equal(mems_nr, 2);
	allowed_nr = 2;
	assert_int_equal(m0_xlnet__mem_node_enter(lnet_of(1)), 0);
	assert_int_equal(mems_nr, 4);
	m0_xlnet__mem_node_leave(lnet_of(1));
	m0_mutex_unlock(&m0_xlnet__lock);
	assert_int_equal(mems_nr, 2);
	m0_xlnet__mem_deregister(&buf.b_kb);
	assert_int_equal(mems_nr, 0);
}

/* A node whose daemon has ended has what it had, and neither takes nor gives. */
static void node_that_has_ended_is_passed_over(void **state)
{
	static char bytes[4 * PAGE];
	struct buf  old;
	struct buf  buf;

	(void)state;
	buf_make(&old, bytes, PAGE, bytes + PAGE, PAGE);
	assert_int_equal(m0_xlnet__mem_register(&old.b_kb), 0);
	ended = lnet_of(0);
	buf_make(&buf, bytes + 2 * PAGE, PAGE, bytes + 3 * PAGE, PAGE);
	assert_int_equal(m0_xlnet__mem_register(&buf.b_kb), 0);
	assert_int_equal(mems_nr, 2 * NODES_NR + 2 * (NODES_NR - 1));
	m0_xlnet__mem_deregister(&old.b_kb);
	m0_xlnet__mem_deregister(&buf.b_kb);
	assert_int_equal(mems_nr, 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			region_is_registered_once_and_goes_with_the_last_buffer,
			up),
		cmocka_unit_test_setup(foreign_memory_is_registered_by_segment,
				       up),
		cmocka_unit_test_setup(exchanged_segments_leave_with_the_buffer,
				       up),
		cmocka_unit_test_setup(refused_buffer_leaves_nothing_registered,
				       up),
		cmocka_unit_test_setup(node_that_has_ended_is_passed_over, up),
		cmocka_unit_test_setup(node_that_comes_later_has_all_memory,
				       up),
	};

	return cmocka_run_group_tests_name("xprt/lnet/mem", tests, NULL, NULL);
}
