/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Pipes of a router: which messages have one, what becomes of it after them, and when a
 * payload becomes memory again. The case plays the driver's part of a pipe.
 */
#include "unit/lnet/routed.h"
#include "lnet/flow/forward.h"

enum {
	BYTES = M0_LNET_MTU,
	LEAST = 64 << 10,
	PIPES_MAX = 64
};

static uint8_t sink_bytes[M0_LNET_MTU];

/** The driver's pipes: made, freed, flushed; the last one. */
static unsigned            made_nr;
static unsigned            freed_nr;
static unsigned            flushed_nr;
static int                 flush_rc;
static bool                has_none;
static struct m0_lnd_pipe *last;

static int fake_flush(struct m0_lnd_pipe          *pipe,
		      const struct m0_lnd_payload *payload)
{
	assert_int_equal(payload->lpy_bytes, BYTES);
	++flushed_nr;
	pipe->lnp_closed = true;
	if (flush_rc == 0)
		pipe->lnp_bytes = 0;
	return flush_rc;
}

static void fake_free(struct m0_lnd_pipe *pipe)
{
	++freed_nr;
	if (last == pipe)
		last = NULL;
	m0_free(pipe);
}

static const struct m0_lnd_pipe_ops pipe_ops = { .lpx_flush = fake_flush,
						 .lpx_free = fake_free };

static struct m0_lnd_pipe *fake_pipe_new(struct m0_lnd *lnd, m0_bcount_t bytes)
{
	struct m0_lnd_pipe *pipe;

	(void)lnd;
	assert_int_equal(bytes, M0_LNET_PAYLOAD_MAX);
	++made_nr;
	if (has_none)
		return NULL;
	M0_ALLOC_PTR(pipe);
	assert_non_null(pipe);
	pipe->lnp_ops = &pipe_ops;
	last = pipe;
	return pipe;
}

static void splice_open(bool on)
{
	static struct m0_lnd_ops  ops;
	struct m0_lnet_engine_cfg cfg = pair_cfg();
	unsigned                  i;

	cfg.lec_route.lrc_splice = on;
	line_open(&cfg);
	pair_run(pair, 10);
	ops = *two->pno_lnd.ld_ops;
	ops.ldo_pipe_new = fake_pipe_new;
	two->pno_lnd.ld_ops = &ops;
	for (i = 0; i < two->pno_nis_nr; ++i)
		two->pno_ni[i]->ldn_splices = true;
	made_nr = 0;
	freed_nr = 0;
	flushed_nr = 0;
	flush_rc = 0;
	has_none = false;
	last = NULL;
	(void)pair_md_attach(node(2), pair_me(node(2), PORTAL, BITS, 0, 0),
			     sink_bytes, sizeof sink_bytes,
			     M0_LNET_MD_THRESHOLD_INF,
			     M0_LNET_MD_OP_PUT | M0_LNET_MD_MANAGE_REMOTE,
			     false);
	put_to(one, "10.1.0.3@tcp1", 8);
	pair_settle(pair);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 1);
	assert_int_equal(made_nr, 0);
}

/** The client sends; what comes of it to the router stops behind the header. */
static void put(m0_bcount_t nr)
{
	two->pno_rx_hold = true;
	put_to(one, "10.1.0.3@tcp1", nr);
	pair_settle(pair);
}

/** So many bytes went through the pipe: came, and left. */
static void through(m0_bcount_t came, m0_bcount_t left)
{
	assert_non_null(last);
	last->lnp_bytes = came;
	last->lnp_gone = left;
}

static void rest(void)
{
	two->pno_rx_hold = false;
	pair_settle(pair);
}

/** A message of which these bytes go through a pipe. */
static void pass(m0_bcount_t came, m0_bcount_t left)
{
	uint64_t before = forwarded(1);

	put(BYTES);
	through(came, left);
	rest();
	assert_int_equal(forwarded(1), before + 1);
}

static void splice_is_off_by_default(void **state)
{
	struct m0_lnet_engine_cfg cfg = pair_cfg();

	(void)state;
	assert_false(cfg.lec_route.lrc_splice);
	splice_open(false);
	put(BYTES);
	rest();
	assert_int_equal(made_nr, 0);
	assert_false(routing_info(1).lgi_splice);
	/* The switch takes effect with the next message. */
	assert_int_equal(m0_lnet_engine_tune(two->pno_engine,
					     M0_LNET_TUNE_SPLICE, 1),
			 0);
	assert_true(routing_info(1).lgi_splice);
	pass(1000, 1000);
	assert_int_equal(made_nr, 1);
}

static void small_payload_has_no_pipe(void **state)
{
	(void)state;
	splice_open(true);
	put(LEAST - 1);
	rest();
	assert_int_equal(made_nr, 0);
	put(LEAST);
	rest();
	assert_int_equal(made_nr, 1);
}

static void pipe_serves_one_message_after_another(void **state)
{
	(void)state;
	splice_open(true);
	pass(BYTES, BYTES);
	pass(BYTES - 1000, BYTES - 1000);
	/* All of it came to memory. */
	pass(0, 0);
	assert_int_equal(made_nr, 1);
	assert_int_equal(freed_nr, 0);
	assert_int_equal(last->lnp_bytes, 0);
	assert_int_equal(last->lnp_gone, 0);
	assert_false(last->lnp_closed);
	assert_int_equal(routing_info(1).lgi_pipes_nr, 1);
	assert_int_equal(routing_info(1).lgi_spliced_nr, 2);
	assert_int_equal(routing_info(1).lgi_spliced_bytes, 2 * BYTES - 1000);
	/* A buffer is taken as without a pipe. */
	assert_int_equal(routing_info(1).lgi_pools[M0_LNET_POOL_LARGE].lbi_nr,
			 1);
}

/* The bytes of a message that has failed come to no other one. */
static void pipe_that_is_not_empty_is_freed(void **state)
{
	(void)state;
	splice_open(true);
	pass(1000, 999);
	assert_int_equal(freed_nr, 1);
	assert_int_equal(routing_info(1).lgi_pipes_nr, 0);
	pass(1000, 1000);
	assert_int_equal(made_nr, 2);
}

static void way_on_without_pipes_has_none(void **state)
{
	(void)state;
	splice_open(true);
	two->pno_ni[2]->ldn_splices = false;
	put(BYTES);
	rest();
	assert_int_equal(made_nr, 0);
	two->pno_ni[2]->ldn_splices = true;
	two->pno_ni[1]->ldn_splices = false;
	put(BYTES);
	rest();
	assert_int_equal(made_nr, 0);
}

/* The way has changed since the message began to arrive. */
static void payload_is_flushed_for_another_driver(void **state)
{
	(void)state;
	splice_open(true);
	put(BYTES);
	through(1000, 0);
	two->pno_ni[2]->ldn_splices = false;
	rest();
	assert_int_equal(flushed_nr, 1);
	assert_int_equal(freed_nr, 0);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 2);
	assert_int_equal(routing_info(1).lgi_spliced_nr, 0);
	/* If that fails, the message does. */
	two->pno_ni[2]->ldn_splices = true;
	put(BYTES);
	through(1000, 0);
	two->pno_ni[2]->ldn_splices = false;
	flush_rc = -EIO;
	rest();
	assert_int_equal(flushed_nr, 2);
	assert_int_equal(freed_nr, 1);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 2);
	assert_int_equal(
		routing_info(1).lgi_pools[M0_LNET_POOL_LARGE].lbi_used_nr, 0);
}

static void fault_rules_need_memory(void **state)
{
	struct m0_lnet_fault_attr attr = {
		.lfa_kind = M0_LNET_FAULT_DROP,
		.lfa_src = pair_nid("10.9.9.9@tcp"),
		.lfa_dst = pair_nid("10.9.9.9@tcp"),
		.lfa_rate = 1000,
	};

	(void)state;
	splice_open(true);
	assert_int_equal(m0_lnet_engine_fault_add(two->pno_engine, &attr), 0);
	put(BYTES);
	rest();
	assert_int_equal(made_nr, 0);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 2);
}

/* Messages pass by memory while the system has no pipes, which is not asked for each. */
static void messages_pass_without_pipes(void **state)
{
	(void)state;
	splice_open(true);
	has_none = true;
	put(BYTES);
	rest();
	put(BYTES);
	rest();
	assert_int_equal(made_nr, 1);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 3);
	assert_int_equal(routing_info(1).lgi_pipes_nr, 0);
	has_none = false;
	pair_run(pair, 1000);
	pass(1000, 1000);
	assert_int_equal(made_nr, 2);
}

static void pipes_have_a_bound(void **state)
{
	struct m0_lnet_fwd *fwds[PIPES_MAX + 1];
	unsigned            i;

	(void)state;
	splice_open(true);
	for (i = 0; i < ARRAY_SIZE(fwds); ++i) {
		fwds[i] = m0_lnet__fwd_get(two->pno_engine, M0_LNET_POOL_LARGE,
					   false);
		assert_non_null(fwds[i]);
		assert_true((m0_lnet__fwd_pipe(two->pno_engine, fwds[i],
					       two->pno_ni[1]) != NULL) ==
			    (i < PIPES_MAX));
	}
	assert_int_equal(routing_info(1).lgi_pipes_nr, PIPES_MAX);
	for (i = 0; i < ARRAY_SIZE(fwds); ++i)
		m0_lnet__fwd_put(two->pno_engine, fwds[i]);
	assert_int_equal(freed_nr, 0);
}

static void routing_that_ends_frees_pipes(void **state)
{
	(void)state;
	splice_open(true);
	pass(1000, 1000);
	routing(1, false);
	pair_run(pair, 20000);
	assert_int_equal(routing_info(1).lgi_state, M0_LNET_ROUTING_OFF);
	assert_int_equal(freed_nr, 1);
	assert_int_equal(routing_info(1).lgi_pipes_nr, 0);
}

/* The sender breaks within a message: what has come of it is not sent, and not kept. */
static void broken_sender_frees_the_pipe(void **state)
{
	(void)state;
	splice_open(true);
	put(BYTES);
	through(1000, 0);
	m0_lnet__forwards_end(two->pno_engine, -ECONNRESET);
	rest();
	assert_int_equal(freed_nr, 1);
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 1);
	assert_int_equal(
		routing_info(1).lgi_pools[M0_LNET_POOL_LARGE].lbi_used_nr, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		STORY_BARE(splice_is_off_by_default),
		STORY_BARE(small_payload_has_no_pipe),
		STORY_BARE(pipe_serves_one_message_after_another),
		STORY_BARE(pipe_that_is_not_empty_is_freed),
		STORY_BARE(way_on_without_pipes_has_none),
		STORY_BARE(payload_is_flushed_for_another_driver),
		STORY_BARE(fault_rules_need_memory),
		STORY_BARE(messages_pass_without_pipes),
		STORY_BARE(pipes_have_a_bound),
		STORY_BARE(routing_that_ends_frees_pipes),
		STORY_BARE(broken_sender_frees_the_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
