/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Packets of all kinds, changed at random, the sum right in most: 100,000 of
 * them through the receive path of a machine that serves. */
#include "hostile.h"

enum {
	THREADS_NR = 100000,
	/** Rounds for each seed in the simulator. */
	SIM_NR = 5000
};

static struct pkt p;

static void item_random(void)
{
	static const uint32_t ops[] = { FOE_ECHO, FOE_HOLD, RT_APPEND,
					FOE_POOL, RT_BAD,   RT_UNKNOWN,
					RT_REPLY, FOE_BULK };
	static const uint16_t kinds[] = {
		M0_RPC_WIRE_REQUEST, M0_RPC_WIRE_REQUEST, M0_RPC_WIRE_REQUEST,
		M0_RPC_WIRE_ONEWAY, M0_RPC_WIRE_REPLY
	};
	static const uint64_t   far[] = { 0, 1, ~0ULL, 1ULL << 63, 1ULL << 32 };
	struct m0_rpc_wire_item w;
	uint8_t                 body[128];
	unsigned                i;

	w = foe_request(foe,
			cf_rand(3) == 0 ? 1 + (uint32_t)cf_rand(20)
					: ops[cf_rand(ARRAY_SIZE(ops))],
			(uint32_t)cf_rand(4), cf_rand(40));
	w.rwi_flags = kinds[cf_rand(ARRAY_SIZE(kinds))];
	if (cf_rand(3) == 0)
		w.rwi_flags |= (uint16_t)(8 << cf_rand(4));
	w.rwi_ack = cf_rand(30);
	if (cf_rand(8) == 0)
		w.rwi_xid = far[cf_rand(ARRAY_SIZE(far))];
	if (cf_rand(8) == 0)
		w.rwi_ack = far[cf_rand(ARRAY_SIZE(far))];
	if (cf_rand(8) == 0)
		w.rwi_session = cf_rand(5);
	w.rwi_remaining_ms = cf_rand(4) == 0 ? (uint32_t)cf_rand(3) : 0;
	if (w.rwi_flags & M0_RPC_WIRE_REPLY)
		w.rwi_status = -(int32_t)cf_rand(4096);
	for (i = 0; i < sizeof body; ++i)
		body[i] = (uint8_t)(cf_rand(3) == 0 ? cf_rand(256) : 0);
	pk_item(&p, &w, body, (uint32_t)cf_rand(sizeof body));
}

/* Up to four bytes of it, and its end. */
static void change(void)
{
	unsigned k = (unsigned)cf_rand(5);

	while (k-- > 0)
		p.pk_bytes[cf_rand(p.pk_nr)] ^= (uint8_t)(1 << cf_rand(8));
	if (cf_rand(16) == 0) {
		p.pk_nr = 16 + 8 * (uint32_t)cf_rand(p.pk_nr / 8 - 2);
		memcpy(p.pk_bytes + 12, &p.pk_nr, sizeof p.pk_nr);
	}
	if (cf_rand(8) != 0)
		pk_sum(&p);
}

static void lets_go(void)
{
	foe_forget(foe);
	foe_release();
	rt_release(rt.rt_held_nr);
}

/* The server lives, keeps within its limits, and serves the good client all the
 * time. */
FOE_CASE(mutated)
{
	int      nr = cf.c_sim ? SIM_NR : THREADS_NR;
	int64_t  heap = 0;
	int64_t  most = 0;
	uint64_t seen;
	unsigned k;
	int      i;

	foe_world(NULL);
	foe_join(foe, 1, 3, 32);
	for (i = 0; i < nr; ++i) {
		pk_begin(&p, foe);
		for (k = 0; k <= cf_rand(4); ++k)
			item_random();
		pk_seal(&p);
		change();
		foe_say_pk(foe, &p);
		if (i % 8 == 7)
			lets_go();
		if (i % 1000 == 999) {
			good_check();
			/* A new one: the old has used up its numbers. */
			++foe->foe_incarnation;
			foe_join(foe, 1, 3, 32);
			lets_go();
			if (heap == 0)
				heap = foe_heap();
			if (foe_heap() > most)
				most = foe_heap();
		}
	}
	lets_go();
	seen = rt_stats(s).rs_nr_bad_packets + rt_stats(s).rs_nr_rcvd_packets;
	CF_TRUE(seen >= (uint64_t)nr, "each is seen");
	CF_TRUE(most - heap < 3000, "%d blocks more", (int)(most - heap));
	good_check();
}

const struct cf_case hostile_fuzz[] = { { "mutated packets", mutated },
					{ NULL, NULL } };
