/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A server stops while a peer goes on asking: stop waits for what is being
 * executed, so it begins none when its time is over. */
#include "hostile.h"

enum {
	/** Answered when the next one begins, so that there is always one. */
	FOE_LATE = 220,
	/** Requests that leave at a time. */
	FLOOD_NR = 8,
	/** Requests that leave when none is begun any more. */
	LATE_NR = 40
};

/* The next one leaves when one has left. */
static struct flood {
	struct m0_net_end_point *fld_to;
	uint64_t                 fld_xid;
	struct m0_rpc_item      *fld_late;
	int                      fld_begun;
	/** A request of the server itself, which ends when its time is over. */
	const struct rt_item *fld_sign;
	/** Begun before that, sent since. */
	int fld_before;
	int fld_since;
} flood;

static void late_answer(struct m0_rpc_item *next)
{
	struct m0_rpc_item *item =
		__atomic_exchange_n(&flood.fld_late, next, __ATOMIC_ACQ_REL);

	if (item != NULL)
		m0_rpc_reply_rc(item, 0);
}

static void late_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	(void)machine;
	cf_inc(&flood.fld_begun);
	late_answer(item);
}

static struct m0_rpc_item_type_ops late_ops;
static struct m0_rpc_item_type     late_type = { .rit_opcode = FOE_LATE,
						 .rit_ops = &late_ops,
						 .rit_name = "late",
						 .rit_flags =
							 M0_RPC_ITEM_TYPE_REQUEST };

/* A request outside streams, in a packet of its own. */
static void flood_say(struct foe *f)
{
	struct m0_rpc_wire_item w = foe_request(
		f, FOE_LATE, 0,
		__atomic_add_fetch(&flood.fld_xid, 1, __ATOMIC_RELAXED));
	struct pkt p;

	pk_begin(&p, f);
	pk_item(&p, &w, NULL, 24);
	pk_seal(&p);
	foe_answer(f, flood.fld_to, p.pk_bytes, p.pk_nr);
}

/* Until enough have left after the server's time was over. */
static void flood_sent(struct foe *f)
{
	if (flood.fld_since == LATE_NR)
		return;
	if (cf_get(&flood.fld_sign->rti_ended) == 1) {
		if (flood.fld_since == 0)
			flood.fld_before = cf_get(&flood.fld_begun);
		if (++flood.fld_since == LATE_NR) {
			late_answer(NULL);
			return;
		}
	}
	flood_say(f);
}

static void flood_begin(void)
{
	unsigned i;

	CF_EQ(m0_net_end_point_create(&flood.fld_to, &foe->foe_tm->ct_tm,
				      foe->foe_to),
	      0, "end point");
	__atomic_store_n(&foe->foe_sent, flood_sent, __ATOMIC_RELEASE);
	for (i = 0; i < FLOOD_NR; ++i)
		flood_say(foe);
	rt_wait_count(&flood.fld_begun, FLOOD_NR, "it is under way");
}

static bool all_have_left(void *arg)
{
	struct foe *f = arg;
	unsigned    i;

	for (i = 0; i < FOE_SENDS; ++i)
		if (cf_get(&f->foe_send[i].fsd_busy) != 0)
			return false;
	return true;
}

static void flood_end(void)
{
	__atomic_store_n(&foe->foe_sent, NULL, __ATOMIC_RELEASE);
	rt_wait(all_have_left, foe, "the last of it has left");
	(void)m0_net_end_point_put(flood.fld_to);
}

/* Requests without end keep no stop waiting for longer than it drains. */
FOE_CASE(asked_without_end)
{
	struct m0_rpc_cfg cfg;
	uint64_t          dropped;

	/* Nobody moves the others while it stops. */
	if (cf.c_mode == CF_INLINE)
		return;
	M0_SET0(&flood);
	late_ops = m0_rpc_raw_ops;
	late_ops.rito_deliver = late_deliver;
	CF_EQ(m0_rpc_item_type_register(&late_type), 0, "register");
	rt_cfg(&cfg);
	cfg.rc_drain_ns = 30 * M0_TIME_ONE_MSEC;
	foe_world(&cfg);
	foe_join(foe, 1, 2, 8);
	flood.fld_sign = rt_ask(rt_client(s, m), RT_HOLD, 0, 1);
	rt_held_wait(1, "what the server asks has come");
	rt_client_end(good);
	dropped = rt_stats(s).rs_nr_dropped_items;
	flood_begin();
	m0_rpc_machine_stop(&s->rtm_machine, false);
	flood_end();
	CF_EQ(flood.fld_sign->rti_error, -ESHUTDOWN, "its time was over");
	CF_EQ(flood.fld_since, LATE_NR, "they went on");
	CF_EQ(cf_get(&flood.fld_begun), flood.fld_before,
	      "none is begun when there is no more time");
	CF_TRUE(rt_stats(s).rs_nr_dropped_items > dropped, "they are counted");
	m0_rpc_item_type_deregister(&late_type);
}

const struct cf_case hostile_stop[] = {
	{ "requests without end", asked_without_end }, { NULL, NULL }
};
