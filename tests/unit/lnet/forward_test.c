/* SPDX-License-Identifier: Apache-2.0 */
/* What a router does to single messages: deadlines. */
#include "unit/lnet/routed.h"

static enum pair_act router_holds(struct pair *p, struct pair_frame *frame)
{
	(void)p;
	return frame->pfr_node == 1 ? PAIR_HOLD : PAIR_PASS;
}

static void line_plain_open(unsigned peer_credits)
{
	struct m0_lnet_engine_cfg cfg = cfg_plain();

	if (peer_credits != 0)
		cfg.lec_peer_credits = peer_credits;
	line_open(&cfg);
	sink_post(node(2));
}

static void release(void)
{
	pair->pai_hook = NULL;
	pair_release(pair);
	pair_settle(pair);
}

/* The time-out of the driver there, not of the node. */
static void forwarded_message_has_the_deadline_of_its_network(void **state)
{
	unsigned i;

	(void)state;
	line_plain_open(4);
	two->pno_ni[1]->ldn_timeout_ns = 9 * M0_TIME_ONE_SECOND;
	two->pno_ni[2]->ldn_timeout_ns = 7 * M0_TIME_ONE_SECOND;
	m0_lnet_engine_ni_buffer_credits(two->pno_ni[1], 8);
	pair->pai_hook = router_holds;
	for (i = 0; i < 6; ++i)
		put_to(one, "10.1.0.3@tcp1", 100);
	pair_settle(pair);
	/* Four are with the driver, which has the time-out itself. */
	pair_run(pair, 6900);
	assert_int_equal(routing_info(1).lgi_late_nr, 0);
	pair_run(pair, 200);
	assert_int_equal(routing_info(1).lgi_late_nr, 2);
	release();
	assert_int_equal(events_nr(node(2), M0_LNET_EV_PUT), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORY_BARE(forwarded_message_has_the_deadline_of_its_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
