/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Places that do not take what they are sent: others are served meanwhile. */
#include "rt.h"

enum {
	/** With EACH, more than there are send buffers. */
	STUCK = 36,
	/** As many packets as are in flight to one place. */
	EACH = 8
};

static struct rt_machine *s;
static struct rt_machine *m;
static struct rt_client  *c;
static struct rt_client  *stuck[STUCK];
static struct rt_item    *asked[STUCK][EACH];

/* A client that moves only when it is told to. */
static void stuck_up(unsigned k)
{
	struct m0_rpc_cfg  cfg;
	struct rt_machine *own;
	unsigned           i;

	rt_cfg(&cfg);
	cfg.rc_inline = true;
	own = rt_up(2, &cfg);
	stuck[k] = rt_client(own, s);
	for (i = 0; i < EACH; ++i)
		asked[k][i] = rt_ask(stuck[k], RT_HOLD, 0, k * EACH + i);
	m0_rpc_machine_progress(&own->rtm_machine);
	rt_held_wait((int)(EACH * (k + 1)), "all came");
}

static void progress(void)
{
	unsigned k;

	for (k = 0; k < STUCK; ++k)
		m0_rpc_machine_progress(&stuck[k]->rtc_machine->rtm_machine);
}

static bool is_answered(void *arg)
{
	const struct rt_item *i = arg;

	progress();
	return cf_get(&i->rti_ended) > 0;
}

/* Each has as many answers on their way as may be. */
RT_CASE(clients_stuck)
{
	struct rt_item *i;
	unsigned        k;

	s = rt_up(0, NULL);
	m = rt_up(1, NULL);
	c = rt_client(m, s);
	if (cf.c_mode == CF_INLINE) /* all move together */
		return;
	for (k = 0; k < STUCK; ++k)
		stuck_up(k);
	for (k = 0; k < STUCK * EACH; ++k) {
		rt_release(1);
		rt_run_ms(1);
	}
	for (k = 0; k < 4; ++k) {
		i = rt_item(c, RT_ECHO, k % 2, k);
		i->rti_raw.rr_item.ri_expires = m0_time_from_now(5, 0);
		CF_EQ(rt_post(i), 0, "post");
		rt_ends(i, 0, "others are served");
	}
	for (k = 0; k < STUCK * EACH; ++k)
		rt_wait(is_answered, asked[k / EACH][k % EACH], "an answer");
	for (k = 0; k < STUCK; ++k)
		rt_client_end(stuck[k]);
}

const struct cf_case rpc_suite_stuck[] = { { "clients stuck", clients_stuck },
					   { NULL, NULL } };
