/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The small helpers and forms that code for the reference takes for granted, used
 * as such code uses them, through its names of headers.
 */
#include <stdio.h>

#include "unit/base/panics.h"

#define M0_TRACE_SUBSYSTEM M0_TRACE_SUBSYS_NET
#include <lib/arith.h>
#include <lib/buf.h>
#include <lib/cond.h>
#include <lib/errno.h>
#include <lib/finject.h>
#include <lib/rwlock.h>
#include <lib/string.h>
#include <lib/trace.h>
#include <lib/vec.h>
#include <net/bulk_mem.h>
#include <net/bulk_sunrpc.h>
#include <net/lnet.h>
#include <net/lnet/lnet.h>
#include <net/net_internal.h>
#include <sm/sm.h>

struct foo {
	uint64_t        f_magic;
	struct m0_tlink f_link;
	int             f_val;
};

M0_TL_DESCR_DEFINE(foo, "foos", static, struct foo, f_link, f_magic, 0xf00,
		   0xf00f);
M0_TL_DEFINE(foo, static, struct foo);

M0_BASSERT(M0_SEG_SIZE == 1 << M0_SEG_SHIFT);

static void arithmetic(void **state)
{
	uint32_t a = 3;
	uint32_t b = 4;
	uint8_t  small = 254;

	(void)state;
	M0_CASSERT(sizeof(int) == 4);
	assert_int_equal(min32u(a, b), 3);
	assert_int_equal(max32u(a, b), 4);
	assert_int_equal(min32(-1, 1), -1);
	assert_int_equal(max32(-1, 1), 1);
	assert_int_equal(clip32u(5, 10, 12), 10);
	assert_int_equal(max_type(long, a, b), 4);
	M0_SWAP(a, b);
	assert_true(a == 4 && b == 3);
	M0_CNT_INC(small);
	assert_int_equal(small, 255);
	M0_CNT_DEC(small);
	assert_int_equal(small, 254);
	assert_int_equal(M0_3WAY(a, b), 1);
	assert_int_equal(M0_3WAY(b, a), -1);
	assert_int_equal(m0_round_up(13, 5), 15);
	assert_int_equal(m0_round_down(13, 5), 10);
	assert_false(M0_FI_ENABLED("fake_error"));
}

static uint8_t full = UINT8_MAX;
static uint8_t empty;

/* A counter that would overflow, or fall below 0, keeps its value. */
static void counters_are_bounded(void **state)
{
	(void)state;
	assert_panics(M0_CNT_INC(full));
	assert_int_equal(full, UINT8_MAX);
	assert_panics(M0_CNT_DEC(empty));
	assert_int_equal(empty, 0);
}

static void strings(void **state)
{
	char *copy = m0_strdup("net");

	(void)state;
	assert_true(m0_streq(copy, "net"));
	assert_false(m0_streq(copy, "ne"));
	m0_free(copy);
}

static void words(void **state)
{
	struct m0_bitmap map;
	int64_t          word = 5;
	void            *ptr = &word;

	(void)state;
	assert_true(m0_atomic64_cas(&word, 5, 6));
	assert_false(m0_atomic64_cas(&word, 5, 7));
	assert_int_equal(word, 6);
	assert_true(m0_atomic64_cas_ptr(&ptr, &word, NULL));
	assert_null(ptr);
	assert_int_equal(m0_bitmap_init(&map, 66), 0);
	assert_int_equal(m0_bitmap_ffz(&map), 0);
	for (word = 0; word < 66; ++word)
		m0_bitmap_set(&map, (size_t)word, true);
	assert_int_equal(m0_bitmap_ffz(&map), -1);
	m0_bitmap_set(&map, 65, false);
	assert_int_equal(m0_bitmap_ffz(&map), 65);
	m0_bitmap_fini(&map);
}

static void vectors(void **state)
{
	struct m0_bufvec from;
	struct m0_bufvec to;

	(void)state;
	assert_int_equal(m0_bufvec_alloc(&from, 2, 8), 0);
	assert_int_equal(m0_bufvec_alloc(&to, 4, 3), 0);
	memcpy(from.ov_buf[0], "abcdefgh", 8);
	memcpy(from.ov_buf[1], "ijklmnop", 8);
	assert_int_equal(m0_bufvec_copy(&to, &from, 10), 10);
	assert_memory_equal(to.ov_buf[2], "ghi", 3);
	assert_memory_equal(to.ov_buf[3], "j\0", 2);
	/* No more than there is room for. */
	assert_int_equal(m0_bufvec_copy(&to, &from, 16), 12);
	m0_bufvec_free(&from);
	m0_bufvec_free(&to);
}

static void lists(void **state)
{
	struct foo foos[3] = { { .f_val = 1 }, { .f_val = 2 }, { .f_val = 4 } };
	struct m0_list      plain;
	struct m0_list_link link;
	struct foo         *foo;
	struct m0_tl        head;
	size_t              i;

	(void)state;
	foo_tlist_init(&head);
	for (i = 0; i < ARRAY_SIZE(foos); ++i)
		foo_tlink_init_at_tail(&foos[i], &head);
	assert_int_equal(m0_tl_fold(foo, f, &head, sum, 0, sum + f->f_val), 7);
	m0_tl_for(foo, &head, foo) {
		foo_tlist_del(foo);
		foo_tlink_fini(foo);
	}
	m0_tl_endfor;
	foo_tlist_fini(&head);
#ifndef M0_DEBUG_CHECKS
	/* Not initialised, as is usual there. */
	memset(&link, 0x55, sizeof link);
#else
	m0_list_link_init(&link);
#endif
	m0_list_init(&plain);
	m0_list_add(&plain, &link);
	m0_list_del(&link);
	m0_list_fini(&plain);
}

static unsigned lines_nr;
static char     last[256];

static void sink(void *arg, enum m0_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	++lines_nr;
	(void)snprintf(last, sizeof last, "%s", text);
}

static int fails(int rc)
{
	M0_ENTRY("rc=%d", rc);
	if (rc == 0)
		return M0_RC(0);
	M0_LEAVE();
	return rc == -ENOENT ? M0_ERR(rc) : M0_ERR_INFO(rc, "number %d", 7);
}

/* Trace statements are lines of the library's log, by their level. */
static void traces(void **state)
{
	(void)state;
	m0_log_set(sink, NULL);
	M0_ENTRY();
	M0_LOG(M0_ERROR, "plain");
	assert_string_equal(last, "plain");
	M0_LOG(M0_WARN, "%s %d", "with", 2);
	assert_string_equal(last, "with 2");
	M0_LOG(M0_DEBUG, "below the level");
	M0_LOG(M0_CALL, "nowhere");
	assert_int_equal(lines_nr, 2);
	assert_int_equal(fails(0), 0);
	assert_int_equal(fails(-ENOENT), -ENOENT);
	assert_non_null(strstr(last, "fails: ENOENT"));
	assert_int_equal(fails(-EIO), -EIO);
	assert_non_null(strstr(last, "EIO, number 7"));
	assert_int_equal(M0_RC_INFO(3, "of %d", 4), 3);
	assert_int_equal(lines_nr, 4);
	m0_log_set(NULL, NULL);
	M0_LEAVE("lines=%u", lines_nr);
}

static void tm_event(const struct m0_net_tm_event *ev)
{
	M0_ASSERT(m0_net__tm_event_invariant(ev));
	M0_ASSERT(m0_mutex_is_not_locked(&m0_net_mutex));
	M0_ASSERT(ergo(ev->nte_next_state == M0_NET_TM_STARTED,
		       m0_net__ep_invariant(ev->nte_ep, ev->nte_tm, false)));
}

static void buf_event(const struct m0_net_buffer_event *ev)
{
	M0_ASSERT(m0_net__buffer_event_invariant(ev));
}

/* A wait of the reference: the clink is added anew for each state. */
static void state_wait(struct m0_net_transfer_mc *tm, struct m0_clink *clink,
		       enum m0_net_tm_state state)
{
	while (tm->ntm_state != state)
		m0_chan_wait(clink);
	m0_clink_del_lock(clink);
}

/* Our structures satisfy the invariants that the reference asserts. */
static void invariants(void **state)
{
	static const struct m0_net_tm_callbacks     cb = { .ntc_event_cb =
								   tm_event };
	static const struct m0_net_buffer_callbacks bcb = {
		.nbc_cb = { [M0_NET_QT_MSG_RECV] = buf_event }
	};
	struct m0_net_transfer_mc tm = { .ntm_callbacks = &cb };
	struct m0_net_buffer      nb = { .nb_callbacks = &bcb,
					 .nb_min_receive_size = 64,
					 .nb_max_receive_msgs = 1 };
	struct m0_net_domain      dom;
	struct m0_clink           clink;

	(void)state;
	M0_SET0(&dom);
	assert_int_equal(m0_net_init(), 0);
	assert_int_equal(m0_net_domain_init(&dom, &m0_net_bulk_mem_xprt), 0);
	assert_true(m0_net__domain_invariant(&dom));
	assert_int_equal(m0_net_tm_init(&tm, &dom), 0);
	assert_true(m0_net__tm_invariant(&tm));
	assert_int_equal(m0_bufvec_alloc(&nb.nb_buffer, 1, 64), 0);
	assert_int_equal(m0_net_buffer_register(&nb, &dom), 0);
	m0_clink_init(&clink, NULL);
	m0_clink_add_lock(&tm.ntm_chan, &clink);
	assert_int_equal(m0_net_tm_start(&tm, "127.0.0.1:31"), 0);
	state_wait(&tm, &clink, M0_NET_TM_STARTED);
	nb.nb_qtype = M0_NET_QT_MSG_RECV;
	assert_true(m0_net__qtype_is_valid(nb.nb_qtype));
	assert_false(m0_net__qtype_is_valid(M0_NET_QT_NR));
	assert_int_equal(m0_net_buffer_add(&nb, &tm), 0);
	m0_mutex_lock(&tm.ntm_mutex);
	assert_true(m0_net__tm_invariant(&tm));
	assert_true(m0_net__buffer_invariant(&nb));
	assert_true(m0_net__ep_invariant(tm.ntm_ep, &tm, true));
	m0_mutex_unlock(&tm.ntm_mutex);
	m0_clink_add_lock(&tm.ntm_chan, &clink);
	assert_int_equal(m0_net_tm_stop(&tm, true), 0);
	state_wait(&tm, &clink, M0_NET_TM_STOPPED);
	m0_clink_fini(&clink);
	m0_net_buffer_deregister(&nb, &dom);
	m0_bufvec_free(&nb.nb_buffer);
	m0_net_tm_fini(&tm);
	m0_net_domain_fini(&dom);
	m0_net_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arithmetic),
		cmocka_unit_test(counters_are_bounded),
		cmocka_unit_test(strings),
		cmocka_unit_test(words),
		cmocka_unit_test(vectors),
		cmocka_unit_test(lists),
		cmocka_unit_test(traces),
		cmocka_unit_test(invariants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
