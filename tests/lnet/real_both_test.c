/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Real nodes: an entry with its MD, an MD with its operation, in one call. */
#include <string.h>

#include "lnet/real_case.h"
#include "m0/lnet_run.h"

enum {
	BYTES = 5000,
	MDS_MAX = 8,
	MSGS_MAX = 16
};

static unsigned char   here[BYTES];
static unsigned char   there[BYTES];
static struct real_vec vec_here;
static struct real_vec vec_there;

static void few(struct m0_lnet_cfg *cfg)
{
	cfg->lc_mes_max = MDS_MAX;
	cfg->lc_mds_max = MDS_MAX;
	cfg->lc_msgs_max = MSGS_MAX;
}

static int setup(void **state)
{
	real_open(&re, real_mode_of(state), few);
	real_vec_init(&vec_here, here, BYTES, BYTES);
	real_vec_init(&vec_there, there, BYTES, BYTES);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	real_close(&re);
	real_vec_fini(&vec_here);
	real_vec_fini(&vec_there);
	return 0;
}

/* Attaches at re_b what takes one operation. */
static int entry(unsigned options, struct m0_lnet_handle *ret)
{
	struct m0_lnet_me_attr me = real_me(77);
	struct m0_lnet_md_attr md =
		real_md(&vec_there, BYTES, options, &re.re_b.rn_eq);

	me.mea_flags = M0_LNET_ME_UNLINK;
	md.mda_threshold = 1;
	md.mda_auto_unlink = true;
	return m0_lnet_entry_attach(re.re_b.rn_lnet, &me, &md, ret);
}

/* Starts a PUT or GET of re_a that yields both events. */
static int move(bool is_get, size_t bytes, struct m0_lnet_handle *ret)
{
	struct m0_lnet_md_attr md =
		real_md(&vec_here, BYTES, 0, &re.re_a.rn_eq);
	struct m0_lnet_op op = real_op(&re.re_b, 77);

	md.mda_threshold = 2;
	md.mda_auto_unlink = true;
	op.lo_bytes = bytes;
	op.lo_ack = true;
	return is_get ? m0_lnet_bind_get(re.re_a.rn_lnet, &md, &op, ret)
		      : m0_lnet_bind_put(re.re_a.rn_lnet, &md, &op, ret);
}

/* Data goes the way that it goes by four calls, and so do the last events. */
static void both_at_once_move_data(void **state)
{
	struct m0_lnet_handle target;
	struct m0_lnet_handle md;
	struct m0_lnet_event  ev;
	int                   get;

	(void)state;
	for (get = 0; get < 2; ++get) {
		real_fill(get ? there : here, BYTES, 3 + (unsigned)get);
		memset(get ? here : there, 0, BYTES);
		assert_int_equal(entry(get ? M0_LNET_MD_OP_GET
					   : M0_LNET_MD_OP_PUT,
				       &target),
				 0);
		assert_int_equal(move(get, 0, &md), 0);
		real_expect(&re, &re.re_b,
			    get ? M0_LNET_EV_GET : M0_LNET_EV_PUT, 0, &ev);
		assert_true(ev.ev_unlinked);
		assert_memory_equal(&ev.ev_md, &target, sizeof target);
		real_expect(&re, &re.re_a, M0_LNET_EV_SEND, 0, &ev);
		assert_memory_equal(&ev.ev_md, &md, sizeof md);
		real_expect(&re, &re.re_a,
			    get ? M0_LNET_EV_REPLY : M0_LNET_EV_ACK, 0, &ev);
		assert_true(ev.ev_unlinked);
		assert_true(real_is(here, BYTES, 3 + (unsigned)get));
		assert_true(real_is(there, BYTES, 3 + (unsigned)get));
	}
}

/* Refused: nothing is attached or bound, and no place is lost. */
static void both_refused_leave_nothing(void **state)
{
	struct m0_lnet_handle mds[MDS_MAX];
	struct m0_lnet_handle none;
	struct m0_lnet_event  ev;
	unsigned              i;

	(void)state;
	for (i = 0; i < 4 * MSGS_MAX; ++i) {
		assert_int_equal(entry(0, &none), -EINVAL);
		assert_int_equal(move(false, BYTES + 1, &none), -EINVAL);
	}
	for (i = 0; i < MDS_MAX; ++i)
		assert_int_equal(entry(M0_LNET_MD_OP_PUT, &mds[i]), 0);
	assert_int_equal(entry(M0_LNET_MD_OP_PUT, &none), -ENOSPC);
	for (i = 0; i < MDS_MAX; ++i) {
		assert_int_equal(m0_lnet_md_unlink(re.re_b.rn_lnet, mds[i]), 0);
		real_expect(&re, &re.re_b, M0_LNET_EV_UNLINK, 0, &ev);
	}
	assert_int_equal(entry(M0_LNET_MD_OP_PUT, &mds[0]), 0);
}

/* More MDs than there are: the message goes back with the refusal. */
static void bind_without_md_gives_message_back(void **state)
{
	struct m0_lnet_md_attr attr = real_md(NULL, 0, 0, &re.re_a.rn_eq);
	struct m0_lnet_handle  mds[MDS_MAX];
	struct m0_lnet_handle  none;
	struct m0_lnet_event   ev;
	unsigned               i;

	(void)state;
	for (i = 0; i < MDS_MAX; ++i)
		mds[i] = real_bind(&re.re_a, &attr);
	for (i = 0; i < 4 * MSGS_MAX; ++i)
		assert_int_equal(move(false, 0, &none), -ENOSPC);
	for (i = 0; i < MDS_MAX; ++i) {
		assert_int_equal(m0_lnet_md_unlink(re.re_a.rn_lnet, mds[i]), 0);
		real_expect(&re, &re.re_a, M0_LNET_EV_UNLINK, 0, &ev);
	}
	assert_int_equal(entry(M0_LNET_MD_OP_PUT, &none), 0);
	assert_int_equal(move(false, 0, &none), 0);
	real_expect(&re, &re.re_b, M0_LNET_EV_PUT, 0, &ev);
}

static struct m0_lnet_eq again_eq;
static int               again_left;
static int               again_refused_nr;
static int               again_told_nr;

static int again_attach(void)
{
	struct m0_lnet_me_attr me = real_me(78);
	struct m0_lnet_md_attr md =
		real_md(NULL, 0, M0_LNET_MD_OP_PUT, &again_eq);
	struct m0_lnet_handle none;

	me.mea_flags = M0_LNET_ME_UNLINK;
	md.mda_threshold = 1;
	md.mda_auto_unlink = true;
	return m0_lnet_entry_attach(re.re_b.rn_lnet, &me, &md, &none);
}

static void again(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	(void)eq;
	(void)ev;
	if (again_left-- > 0 && again_attach() != 0)
		++again_refused_nr;
	__atomic_add_fetch(&again_told_nr, 1, __ATOMIC_RELEASE);
}

static bool again_told(void *arg)
{
	return __atomic_load_n(&again_told_nr, __ATOMIC_ACQUIRE) == *(int *)arg;
}

/* The places of what was told are there for the callbacks that follow, also of
 * events of one pass, and also if there are no others. */
static void told_events_leave_their_places(void **state)
{
	struct m0_lnet_md_attr md = real_md(NULL, 0, 0, &re.re_a.rn_cb);
	struct m0_lnet_op      op = real_op(&re.re_b, 78);
	struct m0_lnet_handle  none;
	int                    want = MDS_MAX;
	int                    i;

	(void)state;
	again_left = MDS_MAX;
	again_refused_nr = 0;
	again_told_nr = 0;
	m0_lnet_eq_init(&again_eq, re.re_b.rn_lnet, again, 0);
	for (i = 0; i < MDS_MAX; ++i)
		assert_int_equal(again_attach(), 0);
	md.mda_threshold = 1;
	md.mda_auto_unlink = true;
	for (i = 0; i < MDS_MAX; ++i)
		assert_int_equal(
			m0_lnet_bind_put(re.re_a.rn_lnet, &md, &op, &none), 0);
	real_until(&re, again_told, &want);
	/* The first one's own place only was still his. */
	assert_int_equal(again_refused_nr, 1);
	real_close(&re);
	m0_lnet_eq_fini(&again_eq);
}

int main(void)
{
#define CASE(name) REAL_TWO(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(both_at_once_move_data),
		CASE(both_refused_leave_nothing),
		CASE(bind_without_md_gives_message_back),
		CASE(told_events_leave_their_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
