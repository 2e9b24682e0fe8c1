/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Numbers of event queues. */
#include "unit/base/panics.h"

#include "front/front_internal.h"

static struct m0_lnet   *lnet;
static struct m0_lnet_eq late;
static struct m0_lnet_eq queues[M0_FRONT_CHUNK_NR];
static unsigned          ends_nr;

static void nothing(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	(void)eq;
	(void)ev;
}

static void late_init(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	(void)eq;
	assert_true(ev->ev_unlinked);
	++ends_nr;
	m0_lnet_eq_init(&late, lnet, nothing, 0);
}

/* All records of queues are in use, and a node that closes makes no more: a queue that
 * a callback initialises then has no number, and the callback returns. */
static void queue_of_closing_node_has_no_number(void **state)
{
	static struct m0_lnet_cfg cfg;
	struct m0_lnet_md_attr    attr = { .mda_threshold = 1,
					   .mda_eq = &queues[0] };
	struct m0_lnet_handle     md;
	char                      why[M0_LNET_WHY_BYTES];
	unsigned                  i;

	(void)state;
	m0_lnet_cfg_default(&cfg);
	cfg.lc_inline = true;
	cfg.lc_accept = M0_LNET_ACCEPT_NONE;
	assert_int_equal(m0_lnet_cfg_networks(&cfg, "tcp(127.0.0.1)", why), 0);
	assert_int_equal(m0_lnet_open(&lnet, &cfg, why), 0);
	for (i = 0; i < ARRAY_SIZE(queues); ++i) {
		m0_lnet_eq_init(&queues[i], lnet, late_init, 0);
		assert_int_equal(queues[i].eq_number, i + 1);
	}
	assert_int_equal(m0_lnet_md_bind(lnet, &attr, &md), 0);
	m0_lnet_close(lnet);
	assert_int_equal(ends_nr, 1);
	assert_int_equal(late.eq_number, 0);
	m0_lnet_eq_fini(&late);
	for (i = 0; i < ARRAY_SIZE(queues); ++i)
		m0_lnet_eq_fini(&queues[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue_of_closing_node_has_no_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
