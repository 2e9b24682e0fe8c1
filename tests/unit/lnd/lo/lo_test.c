/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The loopback driver under an engine that only records its notifications. */
#include "unit/base/panics.h"

#include "lnd/lo/lo.h"

enum {
	MSGS = 300,
	/** More than a step looks at. */
	COPIES = 40,
	BIG = 3 << 20
};

/* One message of the test: the driver's part, and what became of it. */
struct msg {
	struct m0_lnd_tx mg_tx;
	int              mg_status;
	unsigned         mg_done_nr;
	unsigned         mg_order;
};

static struct m0_lnd   *lnd;
static struct m0_lnd_ni ni;
static struct msg       msgs[MSGS];

/* State of the fake engine: its answers, and the calls it got. */
static int               begin_rc;
static struct m0_lnd_rx *begun_rx;
static unsigned          begun_nr;
static unsigned          rx_done_nr;
static int               rx_done_status;
static unsigned          done_nr;
static unsigned          stopped_nr;
static size_t            header_bytes;
static unsigned          stall_id;
/** Words of the engine that a message keeps while it is stalled. */
static uint64_t         stall_lazy;
static uint64_t         begun_lazy;
static uint64_t         begun_faults;
static bool             cancel_at_begin;
static char             sink[BIG];
static char             source[BIG];
static void            *sink_ptr = sink;
static void            *source_ptr = source;
static m0_bcount_t      sink_len = BIG;
static m0_bcount_t      source_len = BIG;
static struct m0_bufvec sink_vec;
static struct m0_bufvec source_vec;
static m0_bcount_t      accept_max;

/* A copier: what it was asked for, and what it does. */
static struct m0_copier_job job;
static unsigned             jobs_nr;
static unsigned             revoked_nr;
static bool                 takes;

static uint64_t job_begin(struct m0_copier           *copier,
			  const struct m0_copier_job *what)
{
	(void)copier;
	if (!takes)
		return 0;
	job = *what;
	return ++jobs_nr;
}

static void job_revoke(struct m0_copier *copier, uint64_t copy)
{
	(void)copier;
	assert_int_equal(copy, jobs_nr);
	++revoked_nr;
}

static struct m0_copier  copier = { .cpr_bytes_min = 1000,
				    .cpr_begin = job_begin,
				    .cpr_cancel = job_revoke };
static struct m0_copier *copier_place;

static size_t tx_header(struct m0_lnd_tx *tx, bool large,
			uint8_t buf[M0_LND_HDR_BYTES_MAX])
{
	struct msg *msg = container_of(tx, struct msg, mg_tx);
	unsigned    id = (unsigned)(msg - msgs);

	assert_true(large);
	memcpy(buf, &id, sizeof id);
	memcpy(buf + sizeof id, &tx->ltx_payload.lpy_bytes, 8);
	return header_bytes;
}

static void tx_done(struct m0_lnd_tx *tx, int status, enum m0_lnd_health health)
{
	struct msg *msg = container_of(tx, struct msg, mg_tx);

	assert_int_equal(status == 0, health == M0_LND_OK);
	msg->mg_status = status;
	++msg->mg_done_nr;
	msg->mg_order = ++done_nr;
	/* The memory is the engine's again: it may be anything. */
	memset(tx, 0x5a, sizeof *tx);
}

static int rx_begin(struct m0_lnd_ni *at, struct m0_lnd_rx *rx,
		    const void *bytes, bool large)
{
	m0_bcount_t nr;
	unsigned    id;

	assert_true(large && at == &ni);
	assert_true(m0_lnet_nid_eq(&rx->lr_nid, &m0_lnet_nid_lo));
	memcpy(&id, bytes, sizeof id);
	memcpy(&nr, (const char *)bytes + sizeof id, 8);
	begun_lazy = rx->lr_words[1];
	begun_faults = rx->lr_words[2];
	if (begin_rc != 0 && (stall_id == MSGS || stall_id == id)) {
		rx->lr_words[1] = stall_lazy;
		rx->lr_words[2] = stall_lazy + 1;
		return begin_rc;
	}
	++begun_nr;
	begun_rx = rx;
	rx->lr_payload.lpy_vec = &sink_vec;
	rx->lr_payload.lpy_bytes = min64u(nr, accept_max);
	rx->lr_discard_bytes = nr - rx->lr_payload.lpy_bytes;
	rx->lr_cancelled = cancel_at_begin;
	return 0;
}

static void rx_done(struct m0_lnd_rx *rx, int status, enum m0_lnd_health health)
{
	(void)health;
	assert_ptr_equal(rx, begun_rx);
	++rx_done_nr;
	rx_done_status = status;
}

static void ni_stopped(struct m0_lnd_ni *at)
{
	assert_ptr_equal(at, &ni);
	++stopped_nr;
}

static const struct m0_lnd_up_ops up_ops = { .lu_tx_header = tx_header,
					     .lu_tx_done = tx_done,
					     .lu_rx_begin = rx_begin,
					     .lu_rx_done = rx_done,
					     .lu_ni_stopped = ni_stopped };

static int setup(void **state)
{
	char why[M0_LND_WHY_BYTES];
	int  i;

	(void)state;
	M0_SET_ARR0(msgs);
	M0_SET0(&ni);
	begin_rc = 0;
	begun_nr = rx_done_nr = done_nr = stopped_nr = 0;
	header_bytes = 96;
	stall_id = MSGS;
	cancel_at_begin = false;
	accept_max = BIG;
	copier_place = &copier;
	takes = false;
	jobs_nr = revoked_nr = 0;
	memset(sink, 0, sizeof sink);
	for (i = 0; i < BIG; ++i)
		source[i] = (char)(i * 7 + i / 251);
	sink_vec = (struct m0_bufvec)M0_BUFVEC_INIT_BUF(&sink_ptr, &sink_len);
	source_vec =
		(struct m0_bufvec)M0_BUFVEC_INIT_BUF(&source_ptr, &source_len);
	if (m0_lo_create(&lnd, &copier_place) != 0)
		return -1;
	ni.ldn_nid = m0_lnet_nid_lo;
	ni.ldn_ops = &up_ops;
	ni.ldn_lnd = lnd;
	return lnd->ld_ops->ldo_ni_start(lnd, &ni, why);
}

static int teardown(void **state)
{
	(void)state;
	lnd->ld_ops->ldo_ni_stop(&ni);
	while (stopped_nr == 0)
		(void)lnd->ld_ops->ldo_step(lnd, 1);
	assert_int_equal(lnd->ld_ops->ldo_step(lnd, 1), M0_TIME_NEVER);
	lnd->ld_ops->ldo_fini(lnd);
	return 0;
}

static void send(unsigned i, m0_bcount_t bytes)
{
	struct m0_lnd_tx *tx = &msgs[i].mg_tx;

	tx->ltx_payload.lpy_vec = bytes == 0 ? NULL : &source_vec;
	tx->ltx_payload.lpy_bytes = bytes;
	tx->ltx_deadline = 1000;
	lnd->ld_ops->ldo_xmit(&ni, tx);
}

static m0_time_t step(m0_time_t now)
{
	return lnd->ld_ops->ldo_step(lnd, now);
}

/* A message is not told on the stack of ldo_xmit, but in the step, with its
 * bytes. */
static void message_is_copied_in_step(void **state)
{
	(void)state;
	send(0, 5000);
	assert_int_equal(begun_nr, 0);
	/* The step called the engine, so it asks for another step. */
	assert_int_equal(step(1), 0);
	assert_int_equal(rx_done_nr, 1);
	assert_int_equal(rx_done_status, 0);
	assert_int_equal(msgs[0].mg_done_nr, 1);
	assert_int_equal(msgs[0].mg_status, 0);
	assert_memory_equal(sink, source, 5000);
	assert_int_equal(sink[5000], 0);
	assert_int_equal(step(1), M0_TIME_NEVER);
}

/* Payload beyond what the engine wants is thrown away; none is needed at all. */
static void message_cut_and_empty_complete(void **state)
{
	(void)state;
	accept_max = 10;
	send(0, 5000);
	send(1, 0);
	(void)step(1);
	assert_int_equal(done_nr, 2);
	assert_memory_equal(sink, source, 10);
	assert_int_equal(sink[10], 0);
}

/* One step copies a bounded number of bytes; the next goes on where it ended. */
static void message_large_takes_several_steps(void **state)
{
	unsigned steps = 0;

	(void)state;
	send(0, BIG);
	send(1, 100);
	while (done_nr < 2) {
		assert_int_equal(step(1), 0);
		++steps;
	}
	assert_true(steps >= 3 && steps <= 5);
	assert_memory_equal(sink + 100, source + 100, BIG - 100);
	assert_int_equal(msgs[0].mg_order, 1);
}

/* One step takes a bounded number of messages, in order. */
static void messages_many_take_several_steps(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < MSGS; ++i)
		send(i, 8);
	assert_int_equal(step(1), 0);
	assert_true(done_nr > 0 && done_nr < MSGS);
	while (done_nr < MSGS)
		assert_int_equal(step(1), 0);
	for (i = 0; i < MSGS; ++i)
		assert_int_equal(msgs[i].mg_order, i + 1);
}

/* A message that the engine cannot place waits for its next try; others pass
 * it. */
static void message_stalled_is_asked_again(void **state)
{
	(void)state;
	begin_rc = -EAGAIN;
	stall_id = 0;
	stall_lazy = 77;
	send(0, 8);
	send(1, 8);
	(void)step(1);
	assert_int_equal(done_nr, 1);
	assert_int_equal(msgs[1].mg_done_nr, 1);
	/* Nothing but its deadline is to be waited for. */
	assert_int_equal(step(2), 1000);
	assert_int_equal(done_nr, 1);
	begin_rc = 0;
	assert_int_equal(step(3), 0);
	/* With what the engine has noted of it. */
	assert_int_equal(begun_lazy, 77);
	assert_int_equal(begun_faults, 78);
	assert_int_equal(msgs[0].mg_done_nr, 1);
	assert_int_equal(msgs[0].mg_status, 0);
}

/* A stalled message that takes several steps keeps the places of those behind it. */
static void message_stalled_and_large_keeps_the_others(void **state)
{
	unsigned i;

	(void)state;
	begin_rc = -EAGAIN;
	send(0, BIG);
	send(1, 8);
	send(2, 8);
	(void)step(1);
	begin_rc = 0;
	(void)step(2);
	assert_int_equal(begun_nr, 1);
	for (i = 0; i < 8; ++i)
		(void)step(3);
	assert_int_equal(done_nr, 3);
	for (i = 0; i < 3; ++i) {
		assert_int_equal(msgs[i].mg_status, 0);
		assert_int_equal(msgs[i].mg_order, i + 1);
	}
}

/* A stalled message whose time is over fails. */
static void message_stalled_times_out(void **state)
{
	(void)state;
	begin_rc = -EAGAIN;
	send(0, 8);
	(void)step(1);
	assert_int_equal(step(999), 1000);
	assert_int_equal(done_nr, 0);
	(void)step(1000);
	assert_int_equal(msgs[0].mg_status, -ETIMEDOUT);
}

/* A cancel ends what has not begun, in the step, and leaves alone what has. */
static void cancel_ends_what_has_not_begun(void **state)
{
	(void)state;
	send(0, BIG);
	send(1, 8);
	(void)step(1);
	lnd->ld_ops->ldo_tx_cancel(&ni, &msgs[0].mg_tx);
	lnd->ld_ops->ldo_tx_cancel(&ni, &msgs[1].mg_tx);
	assert_int_equal(done_nr, 0);
	while (done_nr < 2)
		(void)step(1);
	assert_int_equal(msgs[0].mg_status, 0);
	assert_int_equal(msgs[1].mg_status, -ECANCELED);
	assert_int_equal(begun_nr, 1);
}

/* The receiver may lose interest at any time: no byte comes after that. */
static void receive_cancelled_copies_no_more(void **state)
{
	(void)state;
	send(0, BIG);
	(void)step(1);
	assert_int_equal(rx_done_nr, 0);
	begun_rx->lr_cancelled = true;
	memset(sink, 0, sizeof sink);
	(void)step(1);
	assert_int_equal(rx_done_nr, 1);
	assert_int_equal(msgs[0].mg_status, 0);
	assert_int_equal(sink[BIG - 1] | sink[1 << 20] | sink[0], 0);
	cancel_at_begin = true;
	send(1, 100);
	(void)step(1);
	assert_int_equal(rx_done_nr, 2);
	assert_int_equal(sink[1], 0);
}

/* Refusals of the engine end the message, and only that. */
static void refusal_of_engine_ends_message(void **state)
{
	(void)state;
	begin_rc = -EPROTO;
	stall_id = 0;
	send(0, 8);
	send(1, 8);
	(void)step(1);
	assert_int_equal(msgs[0].mg_status, -EPROTO);
	assert_int_equal(msgs[1].mg_status, 0);
	header_bytes = 0;
	send(2, 8);
	(void)step(1);
	assert_int_equal(msgs[2].mg_status, -EAFNOSUPPORT);
	assert_int_equal(rx_done_nr, 1);
}

/* A stop ends what is under way, what is stalled and what waits, once each. */
static void stop_ends_all(void **state)
{
	unsigned i;

	(void)state;
	begin_rc = -EAGAIN;
	stall_id = 0;
	send(0, 8);
	send(1, BIG);
	for (i = 2; i < MSGS; ++i)
		send(i, 8);
	(void)step(1);
	lnd->ld_ops->ldo_ni_stop(&ni);
	assert_int_equal(done_nr, 0);
	while (stopped_nr == 0)
		assert_int_equal(step(1), 0);
	assert_int_equal(done_nr, MSGS);
	for (i = 0; i < MSGS; ++i)
		assert_int_equal(msgs[i].mg_done_nr, 1);
	assert_int_equal(msgs[1].mg_status, -ECANCELED);
	assert_int_equal(msgs[0].mg_status, -ENETDOWN);
	assert_int_equal(rx_done_nr, 1);
	assert_int_equal(rx_done_status, -ECANCELED);
	/* Once more, for the teardown. */
	stopped_nr = 0;
	assert_int_equal(lnd->ld_ops->ldo_ni_start(lnd, &ni, NULL), 0);
}

/* The payload is with the copier; others pass the message. */
static void away_begin(void)
{
	takes = true;
	send(0, 5000);
	(void)step(1);
	takes = false;
	assert_int_equal(jobs_nr, 1);
	assert_int_equal(job.cjo_bytes, 5000);
	assert_ptr_equal(job.cjo_to, &sink_vec);
	assert_ptr_equal(job.cjo_from, &source_vec);
	assert_true(begun_rx->lr_offered);
	assert_int_equal(step(2), 1000);
	assert_int_equal(done_nr, 0);
}

static void copier_copies(void **state)
{
	struct m0_lnd_rx *rx;

	(void)state;
	takes = true;
	send(1, 999);
	(void)step(1);
	assert_int_equal(jobs_nr, 0);
	assert_int_equal(msgs[1].mg_done_nr, 1);
	copier_place = NULL;
	send(2, 5000);
	(void)step(1);
	assert_int_equal(jobs_nr, 0);
	copier_place = &copier;
	memset(sink, 0, sizeof sink);
	done_nr = rx_done_nr = 0;
	away_begin();
	rx = begun_rx;
	send(3, 10);
	(void)step(2);
	assert_int_equal(msgs[3].mg_done_nr, 1);
	begun_rx = rx;
	job.cjo_done(job.cjo_user, 0);
	assert_int_equal(step(3), 0);
	assert_int_equal(msgs[0].mg_done_nr, 1);
	assert_int_equal(msgs[0].mg_status, 0);
	assert_int_equal(rx_done_status, 0);
	/* Nothing was copied here. */
	assert_int_equal(sink[4999], 0);
	assert_int_equal(revoked_nr, 0);
}

static void failed_copier_is_replaced(void **state)
{
	(void)state;
	away_begin();
	job.cjo_done(job.cjo_user, -EPERM);
	(void)step(3);
	assert_int_equal(msgs[0].mg_status, 0);
	assert_int_equal(msgs[0].mg_done_nr, 1);
	assert_memory_equal(sink, source, 5000);
}

/* An end that does not want the copy any more waits for it, but not for long. */
static void copy_that_is_not_wanted_ends_soon(void **state)
{
	const m0_time_t wait = 450 * M0_TIME_ONE_MSEC;
	unsigned        i;

	(void)state;
	for (i = 0; i < 2; ++i) {
		takes = true;
		jobs_nr = revoked_nr = 0;
		send(i, 5000);
		msgs[i].mg_tx.ltx_deadline = M0_TIME_NEVER;
		(void)step(1);
		if (i == 0)
			lnd->ld_ops->ldo_tx_cancel(&ni, &msgs[i].mg_tx);
		else
			begun_rx->lr_cancelled = true;
		assert_int_equal(step(2), 2 + wait);
		assert_int_equal(step(1 + wait), 2 + wait);
		assert_int_equal(revoked_nr, 0);
		(void)step(2 + wait);
		assert_int_equal(revoked_nr, 1);
		assert_int_equal(msgs[i].mg_done_nr, 1);
		assert_int_equal(msgs[i].mg_status, -ECANCELED);
		assert_int_equal(rx_done_status, -ECANCELED);
	}
}

static void copy_times_out(void **state)
{
	(void)state;
	away_begin();
	(void)step(999);
	assert_int_equal(done_nr, 0);
	(void)step(1000);
	assert_int_equal(revoked_nr, 1);
	assert_int_equal(msgs[0].mg_status, -ETIMEDOUT);
}

/* A step does not look at all copies, but none is forgotten. */
static void many_copies_are_looked_after(void **state)
{
	const m0_time_t look = 50 * M0_TIME_ONE_MSEC;
	const m0_time_t wait = 450 * M0_TIME_ONE_MSEC;
	m0_time_t       now = 1;
	unsigned        i;

	(void)state;
	takes = true;
	for (i = 0; i < COPIES; ++i) {
		send(i, 5000);
		msgs[i].mg_tx.ltx_deadline = M0_TIME_NEVER;
	}
	assert_int_equal(step(now), now + look);
	assert_int_equal(jobs_nr, COPIES);
	/* The last one is not wanted any more. */
	msgs[COPIES - 1].mg_tx.ltx_rx.lr_cancelled = true;
	assert_int_equal(step(now + 1), now + look);
	now += look;
	assert_int_equal(step(now), now + look);
	/* One in the middle was copied. */
	job.cjo_done(&msgs[20].mg_tx, 0);
	begun_rx = &msgs[20].mg_tx.ltx_rx;
	assert_int_equal(step(now + 1), 0);
	assert_int_equal(msgs[20].mg_done_nr, 1);
	begun_rx = &msgs[COPIES - 1].mg_tx.ltx_rx;
	for (i = 0; msgs[COPIES - 1].mg_done_nr == 0; ++i)
		(void)step(now + i * look);
	assert_int_equal(i - 1, wait / look);
	assert_int_equal(revoked_nr, 1);
	assert_int_equal(msgs[COPIES - 1].mg_status, -ECANCELED);
	for (i = 0; i < COPIES - 1; ++i) {
		if (i == 20)
			continue;
		job.cjo_done(&msgs[i].mg_tx, 0);
		begun_rx = &msgs[i].mg_tx.ltx_rx;
		(void)step(now);
		assert_int_equal(msgs[i].mg_done_nr, 1);
	}
}

/* An interface that stops does not wait for a copy for ever. */
static void stop_ends_copies(void **state)
{
	m0_time_t now = 2;

	(void)state;
	away_begin();
	send(1, 8);
	lnd->ld_ops->ldo_ni_stop(&ni);
	while (stopped_nr == 0)
		now = max64u(now, step(now));
	assert_int_equal(msgs[0].mg_done_nr, 1);
	assert_int_equal(msgs[0].mg_status, -ECANCELED);
	assert_int_equal(msgs[1].mg_status, -ENETDOWN);
	assert_int_equal(revoked_nr, 1);
	stopped_nr = 0;
	assert_int_equal(lnd->ld_ops->ldo_ni_start(lnd, &ni, NULL), 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(message_is_copied_in_step),
		CASE(message_cut_and_empty_complete),
		CASE(message_large_takes_several_steps),
		CASE(messages_many_take_several_steps),
		CASE(message_stalled_is_asked_again),
		CASE(message_stalled_and_large_keeps_the_others),
		CASE(message_stalled_times_out),
		CASE(cancel_ends_what_has_not_begun),
		CASE(receive_cancelled_copies_no_more),
		CASE(refusal_of_engine_ends_message),
		CASE(stop_ends_all),
		CASE(copier_copies),
		CASE(failed_copier_is_replaced),
		CASE(copy_that_is_not_wanted_ends_soon),
		CASE(copy_times_out),
		CASE(many_copies_are_looked_after),
		CASE(stop_ends_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
