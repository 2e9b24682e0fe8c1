/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Data that moves between real nodes: every size, shape, way and
 * mode; from callbacks, and polled by descriptor. */
#include <poll.h>
#include <string.h>

#include "lnet/real_case.h"

enum {
	MIB = 1 << 20
};

static unsigned char source[MIB];
static unsigned char sink[4 * MIB];

static const size_t sizes[] = { 0, 1, 4095, 4096, 65536, MIB };

static int setup(void **state)
{
	(void)real_setup(state);
	memset(sink, 0, sizeof sink);
	return 0;
}

/* One PUT with ACK, of all events of both sides. */
static void put_one(struct real_node *from, struct real_node *to,
		    const struct m0_lnet_nid *nid, size_t bytes, size_t seg)
{
	struct real_vec        svec;
	struct real_vec        tvec;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_me_attr me = real_me(bytes + 1);
	struct m0_lnet_op      op = real_op(to, bytes + 1);
	struct m0_lnet_handle  target;
	struct m0_lnet_handle  md;
	struct m0_lnet_event   ev;

	real_fill(source, bytes, bytes);
	memset(sink, 0xee, bytes + 1);
	real_vec_init(&svec, source, bytes, seg);
	real_vec_init(&tvec, sink, bytes, seg == 1 ? 1 : seg - 1);
	attr = real_md(&tvec, bytes, M0_LNET_MD_OP_PUT, &to->rn_eq);
	attr.mda_threshold = 1;
	attr.mda_auto_unlink = true;
	attr.mda_user = &tvec;
	me.mea_flags = M0_LNET_ME_UNLINK;
	target = real_attach(to, &me, &attr, NULL);
	attr = real_md(&svec, bytes, 0, &from->rn_cb);
	attr.mda_threshold = 2;
	attr.mda_auto_unlink = true;
	attr.mda_user = &svec;
	md = real_bind(from, &attr);
	op.lo_target.lp_nid = *nid;
	op.lo_ack = true;
	op.lo_hdr_data = 0x1234567890abcdef;
	op.lo_user = &op;
	from->rn_log.rl_nr = 0;
	assert_int_equal(m0_lnet_put(from->rn_lnet, md, &op), 0);

	real_expect(&re, to, M0_LNET_EV_PUT, 0, &ev);
	assert_true(ev.ev_unlinked);
	assert_int_equal(ev.ev_mlength, bytes);
	assert_int_equal(ev.ev_rlength, bytes);
	assert_int_equal(ev.ev_offset, 0);
	assert_int_equal(ev.ev_portal, REAL_PORTAL);
	assert_int_equal(ev.ev_match_bits, bytes + 1);
	assert_int_equal(ev.ev_hdr_data, 0x1234567890abcdef);
	assert_ptr_equal(ev.ev_md_user, &tvec);
	assert_memory_equal(&ev.ev_md, &target, sizeof target);
	assert_true(m0_lnet_nid_eq(&ev.ev_target.lp_nid, nid));
	assert_int_equal(ev.ev_source.lp_pid & 0xffff, M0_LNET_PID_LUSTRE);
	assert_true(real_is(sink, bytes, bytes));
	assert_int_equal(sink[bytes], 0xee);

	real_log_until(&re, from, -1, 2);
	assert_int_equal(real_log_count(from, M0_LNET_EV_SEND), 1);
	assert_int_equal(real_log_count(from, M0_LNET_EV_ACK), 1);
	ev = from->rn_log.rl_events[1];
	assert_true(ev.ev_unlinked && !from->rn_log.rl_events[0].ev_unlinked);
	assert_int_equal(ev.ev_status, 0);
	assert_int_equal(ev.ev_mlength, bytes);
	assert_ptr_equal(ev.ev_op_user, &op);
	assert_int_equal(m0_lnet_md_unlink(from->rn_lnet, md), -ENOENT);
	assert_int_equal(m0_lnet_md_unlink(to->rn_lnet, target), -ENOENT);
	real_vec_fini(&svec);
	real_vec_fini(&tvec);
}

/* PUT and ACK of every size, to the other, to an own NID, to 0@lo; there and
 * back. */
static void put_with_ack_arrives(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); ++i) {
		put_one(&re.re_a, &re.re_b, &re.re_b.rn_nid, sizes[i], MIB);
		put_one(&re.re_b, &re.re_a, &re.re_a.rn_nid, sizes[i], MIB);
		put_one(&re.re_a, &re.re_a, &re.re_a.rn_nid, sizes[i], MIB);
		put_one(&re.re_b, &re.re_b, &m0_lnet_nid_lo, sizes[i], MIB);
	}
}

/* Both sides use many segments, cut differently. */
static void put_scattered_arrives(void **state)
{
	(void)state;
	put_one(&re.re_a, &re.re_b, &re.re_b.rn_nid, 200, 1);
	put_one(&re.re_a, &re.re_b, &re.re_b.rn_nid, 65536, 257);
	put_one(&re.re_b, &re.re_a, &re.re_a.rn_nid, MIB, 4099);
	put_one(&re.re_b, &re.re_b, &re.re_b.rn_nid, 70001, 300);
}

static void get_one(struct real_node *from, struct real_node *to,
		    const struct m0_lnet_nid *nid, size_t bytes, size_t seg)
{
	struct real_vec        svec;
	struct real_vec        tvec;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_me_attr me = real_me(bytes + 1);
	struct m0_lnet_op      op = real_op(to, bytes + 1);
	struct m0_lnet_handle  md;
	struct m0_lnet_event   ev;

	real_fill(source, bytes, bytes + 5);
	memset(sink, 0xee, bytes + 1);
	real_vec_init(&svec, sink, bytes, seg);
	real_vec_init(&tvec, source, bytes, seg == 1 ? 1 : seg - 1);
	attr = real_md(&tvec, bytes, M0_LNET_MD_OP_GET, &to->rn_cb);
	attr.mda_threshold = 1;
	attr.mda_auto_unlink = true;
	me.mea_flags = M0_LNET_ME_UNLINK;
	(void)real_attach(to, &me, &attr, NULL);
	attr = real_md(&svec, bytes, 0, &from->rn_eq);
	attr.mda_threshold = 2;
	attr.mda_auto_unlink = true;
	md = real_bind(from, &attr);
	op.lo_target.lp_nid = *nid;
	to->rn_log.rl_nr = 0;
	assert_int_equal(m0_lnet_get(from->rn_lnet, md, &op), 0);

	/* SEND and REPLY come in either order. */
	real_event(&re, from, &ev);
	assert_true(M0_IN(ev.ev_type, (M0_LNET_EV_SEND, M0_LNET_EV_REPLY)));
	assert_int_equal(ev.ev_status, 0);
	assert_false(ev.ev_unlinked);
	real_event(&re, from, &ev);
	assert_int_equal(ev.ev_status, 0);
	assert_true(ev.ev_unlinked);
	assert_int_equal(ev.ev_mlength, bytes);
	assert_true(real_is(sink, bytes, bytes + 5));
	assert_int_equal(sink[bytes], 0xee);
	real_log_until(&re, to, M0_LNET_EV_GET, 1);
	assert_int_equal(to->rn_log.rl_events[0].ev_mlength, bytes);
	assert_true(to->rn_log.rl_events[0].ev_unlinked);
	real_vec_fini(&svec);
	real_vec_fini(&tvec);
}

/* GET of every size, every way. */
static void get_brings_data(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(sizes); ++i) {
		get_one(&re.re_a, &re.re_b, &re.re_b.rn_nid, sizes[i], MIB);
		get_one(&re.re_b, &re.re_a, &re.re_a.rn_nid, sizes[i], 5000);
		get_one(&re.re_b, &re.re_b, &re.re_b.rn_nid, sizes[i], MIB);
		get_one(&re.re_a, &re.re_a, &m0_lnet_nid_lo, sizes[i], 7777);
	}
}

/* Several messages in one MD, until less than max_size is left; then the next
 * one. */
static void max_size_md_takes_many_messages(void **state)
{
	enum {
		MSG = 1000,
		NR = 40,
		LEN = 20 * MSG,
		MAX = 2 * MSG
	};
	struct real_vec        svec;
	struct real_vec        tvec[3];
	struct m0_lnet_md_attr attr;
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_op      op = real_op(&re.re_b, 1);
	struct m0_lnet_handle  md;
	struct m0_lnet_event   ev;
	unsigned               per_md = 0;
	unsigned               i;

	(void)state;
	me.mea_flags = M0_LNET_ME_UNLINK;
	for (i = 0; i < ARRAY_SIZE(tvec); ++i) {
		real_vec_init(&tvec[i], sink + i * LEN, LEN, 4096);
		attr = real_md(&tvec[i], LEN,
			       M0_LNET_MD_OP_PUT | M0_LNET_MD_MAX_SIZE,
			       &re.re_b.rn_eq);
		attr.mda_max_size = MAX;
		attr.mda_auto_unlink = true;
		attr.mda_user = (void *)(uintptr_t)i;
		(void)real_attach(&re.re_b, &me, &attr, NULL);
	}
	real_vec_init(&svec, source, NR * MSG, MIB);
	real_fill(source, NR * MSG, 3);
	attr = real_md(&svec, NR * MSG, 0, &re.re_a.rn_cb);
	md = real_bind(&re.re_a, &attr);
	op.lo_bytes = MSG;
	for (i = 0; i < NR; ++i) {
		op.lo_md_offset = i * MSG;
		op.lo_hdr_data = i;
		assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op), 0);
	}
	for (i = 0; i < NR; ++i) {
		real_expect(&re, &re.re_b, M0_LNET_EV_PUT, 0, &ev);
		assert_int_equal(ev.ev_hdr_data, i);
		assert_int_equal(ev.ev_offset, per_md * MSG);
		assert_memory_equal(sink + (uintptr_t)ev.ev_md_user * LEN +
					    ev.ev_offset,
				    source + i * MSG, MSG);
		++per_md;
		assert_int_equal(ev.ev_unlinked, LEN - per_md * MSG < MAX);
		if (ev.ev_unlinked)
			per_md = 0;
	}
	assert_int_equal(m0_lnet_md_unlink(re.re_a.rn_lnet, md), 0);
	real_log_until(&re, &re.re_a, -1, NR + 1);
	real_vec_fini(&svec);
	for (i = 0; i < ARRAY_SIZE(tvec); ++i)
		real_vec_fini(&tvec[i]);
}

static void tune_short(struct m0_lnet_cfg *cfg)
{
	cfg->lc_transaction_timeout_ms = 1000;
}

/* TRUNCATE cuts, the sender's offset counts if it may, ACK_DISABLE is heeded. */
static void options_of_target_count(void **state)
{
	struct real_vec        svec;
	struct real_vec        tvec;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_op      op;
	struct m0_lnet_handle  md;
	struct m0_lnet_event   ev;

	real_close(&re);
	real_open(&re, real_mode_of(state), tune_short);
	op = real_op(&re.re_b, 1);
	real_vec_init(&svec, source, 1000, MIB);
	real_vec_init(&tvec, sink, 500, MIB);
	real_fill(source, 1000, 1);
	attr = real_md(&tvec, 500,
		       M0_LNET_MD_OP_PUT | M0_LNET_MD_TRUNCATE |
			       M0_LNET_MD_MANAGE_REMOTE,
		       &re.re_b.rn_eq);
	(void)real_attach(&re.re_b, &me, &attr, NULL);
	attr = real_md(&svec, 1000, 0, &re.re_a.rn_cb);
	md = real_bind(&re.re_a, &attr);
	op.lo_offset = 100;
	op.lo_ack = true;
	assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op), 0);
	real_expect(&re, &re.re_b, M0_LNET_EV_PUT, 0, &ev);
	assert_int_equal(ev.ev_offset, 100);
	assert_int_equal(ev.ev_rlength, 1000);
	assert_int_equal(ev.ev_mlength, 400);
	assert_true(real_is(sink + 100, 400, 1));
	assert_int_equal(sink[99], 0);
	real_log_until(&re, &re.re_a, M0_LNET_EV_ACK, 1);

	me = real_me(2);
	attr = real_md(&tvec, 500, M0_LNET_MD_OP_PUT | M0_LNET_MD_ACK_DISABLE,
		       &re.re_b.rn_eq);
	(void)real_attach(&re.re_b, &me, &attr, NULL);
	op.lo_match_bits = 2;
	op.lo_bytes = 10;
	assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op), 0);
	real_expect(&re, &re.re_b, M0_LNET_EV_PUT, 0, &ev);
	assert_int_equal(ev.ev_offset, 0);
	/* The ACK that does not come is waited for, and then not any more. */
	real_log_until(&re, &re.re_a, M0_LNET_EV_ACK, 2);
	assert_int_equal(re.re_a.rn_log.rl_events[3].ev_status, -ETIMEDOUT);
	assert_false(re.re_a.rn_log.rl_events[3].ev_unlinked);
	real_vec_fini(&svec);
	real_vec_fini(&tvec);
}

/* A lazy portal keeps what matches nothing until something does. */
static void lazy_portal_keeps_message(void **state)
{
	struct real_vec        vec;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_op      op = real_op(&re.re_b, 1);
	struct m0_lnet_handle  md;
	struct m0_lnet_event   ev;
	unsigned               i;

	(void)state;
	real_vec_init(&vec, source, 100, MIB);
	assert_int_equal(m0_lnet_lazy_set(re.re_b.rn_lnet, REAL_PORTAL, true),
			 0);
	assert_int_equal(m0_lnet_lazy_set(re.re_b.rn_lnet, 0, true), -EINVAL);
	assert_int_equal(m0_lnet_lazy_set(re.re_b.rn_lnet, 64, true), -EINVAL);
	attr = real_md(&vec, 100, 0, &re.re_a.rn_cb);
	md = real_bind(&re.re_a, &attr);
	for (i = 0; i < 3; ++i)
		assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op), 0);
	op.lo_target.lp_nid = re.re_b.rn_nid;
	real_log_until(&re, &re.re_a, M0_LNET_EV_SEND, 1);
	real_none(&re.re_b);
	attr = real_md(&vec, 0, M0_LNET_MD_OP_PUT | M0_LNET_MD_TRUNCATE,
		       &re.re_b.rn_eq);
	(void)real_attach(&re.re_b, &me, &attr, NULL);
	for (i = 0; i < 3; ++i)
		real_expect(&re, &re.re_b, M0_LNET_EV_PUT, 0, &ev);
	real_vec_fini(&vec);
}

/* 10,000 entries; each finds what is for it. */
static void many_entries_match(void **state)
{
	enum {
		NR = 10000
	};
	static struct m0_lnet_handle mes[NR];
	struct m0_lnet_md_attr       attr;
	struct m0_lnet_op            op = real_op(&re.re_b, 0);
	struct m0_lnet_handle        md;
	struct m0_lnet_event         ev;
	unsigned                     i;

	(void)state;
	for (i = 0; i < NR; ++i) {
		struct m0_lnet_me_attr me = real_me(i);

		attr = real_md(NULL, 0, M0_LNET_MD_OP_PUT, &re.re_b.rn_eq);
		attr.mda_user = (void *)(uintptr_t)i;
		(void)real_attach(&re.re_b, &me, &attr, &mes[i]);
	}
	attr = real_md(NULL, 0, 0, &re.re_a.rn_cb);
	md = real_bind(&re.re_a, &attr);
	for (i = 0; i < NR; i += 97) {
		op.lo_match_bits = i;
		assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op), 0);
		real_expect(&re, &re.re_b, M0_LNET_EV_PUT, 0, &ev);
		assert_int_equal((uintptr_t)ev.ev_md_user, i);
	}
	for (i = 0; i < NR; ++i)
		assert_int_equal(m0_lnet_me_unlink(re.re_b.rn_lnet, mes[i]), 0);
	for (i = 0; i < NR; ++i) {
		real_expect(&re, &re.re_b, M0_LNET_EV_UNLINK, 0, &ev);
		assert_int_equal(ev.ev_unlinked, true);
	}
	assert_int_equal(m0_lnet_me_unlink(re.re_b.rn_lnet, mes[0]), -ENOENT);
}

/* A thousand PUTs at once, from one side or both: each arrives once. */
static void many_messages_arrive(void **state)
{
	enum {
		NR = 1000
	};
	struct real_vec        vec;
	struct real_vec        avec;
	struct real_vec        bvec;
	struct m0_lnet_md_attr attr;
	struct m0_lnet_me_attr me = real_me(1);
	struct m0_lnet_op      op = real_op(&re.re_b, 1);
	struct m0_lnet_op      back = real_op(&re.re_a, 1);
	struct m0_lnet_handle  md;
	struct m0_lnet_handle  md_b;
	unsigned               i;

	(void)state;
	real_vec_init(&vec, source, 3000, MIB);
	real_vec_init(&avec, sink, 3000, MIB);
	real_vec_init(&bvec, sink + MIB, 3000, MIB);
	attr = real_md(&bvec, 3000,
		       M0_LNET_MD_OP_PUT | M0_LNET_MD_MANAGE_REMOTE,
		       &re.re_b.rn_cb);
	(void)real_attach(&re.re_b, &me, &attr, NULL);
	attr.mda_vec = &avec.rv_vec;
	attr.mda_eq = &re.re_a.rn_cb;
	(void)real_attach(&re.re_a, &me, &attr, NULL);
	attr = real_md(&vec, 3000, 0, &re.re_a.rn_cb);
	md = real_bind(&re.re_a, &attr);
	attr.mda_eq = &re.re_b.rn_cb;
	md_b = real_bind(&re.re_b, &attr);
	for (i = 0; i < NR; ++i) {
		op.lo_bytes = back.lo_bytes = i % 10 == 0 ? 3000 : 64;
		op.lo_ack = back.lo_ack = i % 3 == 0;
		assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, md, &op), 0);
		assert_int_equal(m0_lnet_put(re.re_b.rn_lnet, md_b, &back), 0);
	}
	real_log_until(&re, &re.re_a, M0_LNET_EV_PUT, NR);
	real_log_until(&re, &re.re_b, M0_LNET_EV_PUT, NR);
	real_log_until(&re, &re.re_a, -1, 2 * NR + NR / 3 + 1);
	real_log_until(&re, &re.re_b, -1, 2 * NR + NR / 3 + 1);
	assert_int_equal(real_log_count(&re.re_a, M0_LNET_EV_ACK), NR / 3 + 1);
	real_vec_fini(&vec);
	real_vec_fini(&avec);
	real_vec_fini(&bvec);
}

static struct m0_lnet_eq     pong_eq[2];
static struct m0_lnet_handle pong_md[2];
static unsigned              pongs_nr;
static bool                  pong_progressed;

/* Sends a message back, from the callback. */
static void pong(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	unsigned          me = eq == &pong_eq[1];
	struct m0_lnet_op op = real_op(me == 0 ? &re.re_b : &re.re_a, 5);

	if (ev->ev_type != M0_LNET_EV_PUT)
		return;
	if (m0_lnet_progress(eq->eq_lnet))
		pong_progressed = true;
	if (__atomic_add_fetch(&pongs_nr, 1, __ATOMIC_RELEASE) < 500)
		(void)m0_lnet_put(eq->eq_lnet, pong_md[me], &op);
}

static bool pongs_are_enough(void *arg)
{
	(void)arg;
	return __atomic_load_n(&pongs_nr, __ATOMIC_ACQUIRE) == 500;
}

static void callbacks_may_send(void **state)
{
	struct real_node      *nodes[] = { &re.re_a, &re.re_b };
	struct m0_lnet_me_attr me = real_me(5);
	struct m0_lnet_md_attr attr;
	struct m0_lnet_op      op = real_op(&re.re_b, 5);
	int                    i;

	(void)state;
	pongs_nr = 0;
	pong_progressed = false;
	for (i = 0; i < 2; ++i) {
		m0_lnet_eq_init(&pong_eq[i], nodes[i]->rn_lnet, pong, 0);
		attr = real_md(NULL, 0, M0_LNET_MD_OP_PUT, &pong_eq[i]);
		(void)real_attach(nodes[i], &me, &attr, NULL);
		attr.mda_options = 0;
		pong_md[i] = real_bind(nodes[i], &attr);
	}
	assert_int_equal(m0_lnet_put(re.re_a.rn_lnet, pong_md[0], &op), 0);
	real_until(&re, pongs_are_enough, NULL);
	assert_false(pong_progressed);
	/* Their queues are let go by the close. */
	real_close(&re);
	m0_lnet_eq_fini(&pong_eq[0]);
	m0_lnet_eq_fini(&pong_eq[1]);
}

static bool fd_is_readable(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, timeout_ms) == 1;
}

static void put_from_other(struct real_node *node)
{
	struct m0_lnet_md_attr attr = real_md(NULL, 0, 0, &node->rn_cb);
	struct m0_lnet_op      op = real_op(&re.re_b, 6);
	struct m0_lnet_handle  md;

	if (m0_lnet_md_bind(node->rn_lnet, &attr, &md) == 0)
		(void)m0_lnet_put(node->rn_lnet, md, &op);
}

/* An event loop that knows only the descriptor misses nothing. */
static void descriptor_tells_of_work(void **state)
{
	struct m0_lnet_me_attr me = real_me(6);
	struct m0_lnet_md_attr attr;
	struct m0_thread       thread = { 0 };
	struct m0_lnet_event   ev;
	int                    fd = m0_lnet_fd(re.re_b.rn_lnet);
	int                    i;

	if (real_mode_of(state) == REAL_THREADS) {
		assert_int_equal(fd, -ENOSYS);
		assert_false(m0_lnet_progress(re.re_b.rn_lnet));
		return;
	}
	if (real_mode_of(state) == REAL_INLINE)
		return;
	assert_true(fd >= 0);
	assert_int_equal(m0_lnet_fd(re.re_b.rn_lnet), fd);
	attr = real_md(NULL, 0, M0_LNET_MD_OP_PUT, &re.re_b.rn_eq);
	(void)real_attach(&re.re_b, &me, &attr, NULL);
	for (i = 0; i < 3; ++i) {
		/* By a message of another node; by another thread's call. */
		assert_int_equal(M0_THREAD_INIT(&thread, struct real_node *,
						NULL, put_from_other,
						i == 1 ? &re.re_b : &re.re_a,
						"other"),
				 0);
		do {
			assert_true(fd_is_readable(fd, 10000));
			(void)m0_lnet_progress(re.re_b.rn_lnet);
		} while (m0_lnet_eq_get(&re.re_b.rn_eq, &ev) != 0);
		assert_int_equal(ev.ev_type, M0_LNET_EV_PUT);
		assert_int_equal(m0_thread_join(&thread), 0);
		m0_thread_fini(&thread);
	}
	/* Quiet, it does not stay readable. */
	for (i = 0; i < 1000 && fd_is_readable(fd, 0); ++i)
		(void)m0_lnet_progress(re.re_b.rn_lnet);
	assert_true(i < 1000);
}

int main(void)
{
#define CASE(name) REAL_ALL(name, setup, real_teardown)
	const struct CMUnitTest tests[] = {
		CASE(put_with_ack_arrives),
		CASE(put_scattered_arrives),
		CASE(get_brings_data),
		CASE(max_size_md_takes_many_messages),
		CASE(options_of_target_count),
		CASE(lazy_portal_keeps_message),
		CASE(many_entries_match),
		CASE(many_messages_arrive),
		CASE(callbacks_may_send),
		CASE(descriptor_tells_of_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
