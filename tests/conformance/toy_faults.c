/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The toy with its faults on: packets are dropped, doubled, late and out of
 * order, as the seed says. Promise 1 holds, and what arrives is what was sent.
 */
#include "cf.h"
#include "toy.h"

enum {
	MACHINES = 4,
	ROUNDS = 120
};

static void faults(unsigned drop, unsigned twice, unsigned delay)
{
	struct toy_faults f = { .tf_drop_pct = drop,
				.tf_duplicate_pct = twice,
				.tf_delay_pct = delay,
				.tf_delay_ns = 20 * M0_TIME_ONE_MSEC,
				.tf_seed = cf.c_seed };

	toy_faults_set(&f);
	toy_timeout_set(60 * M0_TIME_ONE_MSEC);
}

/* The pattern's key is the length: a mix of two messages is seen. */
static void received(struct cf_buf *r, const struct m0_net_buffer_event *ev)
{
	if (ev->nbe_status == 0)
		cf_check(r, ev->nbe_offset, ev->nbe_length, ev->nbe_length);
}

static struct cf_buf *recv_any(struct cf_tm *t)
{
	struct cf_buf *r = cf_buf_random(t->ct_dom, 4000);

	r->cb_hook = received;
	r->cb_nb.nb_min_receive_size = 500;
	r->cb_nb.nb_max_receive_msgs = 1 + (uint32_t)cf_rand(5);
	if (cf_rand(3) == 0)
		(void)cf_add_within(r, t, M0_NET_QT_MSG_RECV,
				    M0_TIME_ONE_MSEC +
					    cf_rand(50 * M0_TIME_ONE_MSEC));
	else
		cf_add_ok(r, t, M0_NET_QT_MSG_RECV);
	return r;
}

/* A send may be said to be done and be lost; a failure is a failure. */
static void messages(struct cf_tm **t, int nr)
{
	int i;

	for (i = 0; i < nr; ++i) {
		unsigned    from = (unsigned)cf_rand(MACHINES);
		m0_bcount_t len = 1 + cf_rand(500);

		recv_any(t[cf_rand(MACHINES)]);
		cf_send(t[from], t[(from + 1) % MACHINES], len, len);
		if (cf_rand(3) == 0)
			cf_yield();
		if (cf_rand(20) == 0)
			cf_run_ms(1);
	}
}

struct pair {
	struct cf_buf *p;
	struct cf_buf *a;
	m0_bcount_t    nr;
	bool           put;
};

static void pair_begin(struct pair *pair, struct cf_tm **t)
{
	unsigned from = (unsigned)cf_rand(MACHINES);

	pair->nr = 1 + cf_rand(3000);
	pair->put = cf_rand(2);
	pair->p = cf_passive(t[from],
			     pair->put ? M0_NET_QT_PASSIVE_BULK_RECV
				       : M0_NET_QT_PASSIVE_BULK_SEND,
			     pair->nr, NULL);
	pair->a = cf_active(t[(from + 1) % MACHINES],
			    pair->put ? M0_NET_QT_ACTIVE_BULK_SEND
				      : M0_NET_QT_ACTIVE_BULK_RECV,
			    pair->nr, &pair->p->cb_nb.nb_desc);
	if (cf_rand(8) == 0)
		cf_del(cf_rand(2) ? pair->p : pair->a);
}

static void pair_check(struct pair *pair)
{
	struct cf_buf *to = pair->put ? pair->p : pair->a;
	int32_t        st = pair->a->cb_last.ce_status;

	CF_TRUE(st == 0 || st == -ETIMEDOUT || st == -ECANCELED,
		"active side: %s, expected 0, ETIMEDOUT or ECANCELED",
		m0_errname(st));
	if (to->cb_last.ce_status == 0)
		cf_check(to, 0, pair->nr, pair->nr);
	else
		cf_check(pair->put ? pair->a : pair->p, 0, pair->nr, pair->nr);
	if (st == 0)
		CF_EQ(pair->p->cb_last.ce_status, 0,
		      "the passive side of a transfer that succeeded");
}

static void transfers(struct cf_tm **t, int nr)
{
	struct pair *pair = calloc((size_t)nr, sizeof *pair);
	int          i;

	for (i = 0; i < nr; ++i) {
		pair_begin(&pair[i], t);
		if (cf_rand(4) == 0)
			cf_run_ms(1);
	}
	for (i = 0; i < nr; ++i)
		cf_wait_buf(pair[i].a);
	for (i = 0; i < nr; ++i)
		cf_del(pair[i].p);
	for (i = 0; i < nr; ++i) {
		cf_wait_buf(pair[i].p);
		pair_check(&pair[i]);
	}
	free(pair);
}

static void run(unsigned drop, unsigned twice, unsigned delay)
{
	struct cf_tm *t[MACHINES];
	unsigned      i;

	faults(drop, twice, delay);
	for (i = 0; i < MACHINES; ++i)
		t[i] = cf_up(i % 2);
	messages(t, ROUNDS / 2);
	transfers(t, ROUNDS);
	messages(t, ROUNDS / 2);
	for (i = 0; i < MACHINES; ++i)
		if (cf_rand(2) == 0)
			CF_EQ(m0_net_tm_stop(&t[i]->ct_tm, true), 0, "stop");
}

static void all_faults(void)
{
	run(15, 15, 30);
}

static void drops(void)
{
	run(40, 0, 0);
}

static void duplicates(void)
{
	run(0, 60, 10);
}

static void delays(void)
{
	run(0, 0, 90);
}

/* Everything is lost: everything completes all the same. */
static void blackout(void)
{
	run(100, 0, 0);
}

static const struct cf_case cases[] = {
	{ "all faults", all_faults }, { "drops", drops },
	{ "duplicates", duplicates }, { "delays and disorder", delays },
	{ "blackout", blackout },     { NULL, NULL }
};

static const struct cf_suite suites[] = { { "faults", cases }, { NULL, NULL } };

int main(int argc, char **argv)
{
	return cf_main(argc, argv, suites);
}
