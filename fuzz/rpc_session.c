/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A live RPC machine that serves a good client, and a peer that sends whatever
 * the input has it send: packets of items of all kinds, right and wrong,
 * changed, or any bytes; it joins, comes back as another, lets time pass. On
 * the transport of memory, in the simulator.
 *
 * Whatever it sends, the good client is served, every item ends once, and
 * nothing is left.
 */
#include "conformance/cf_internal.h"
#include "lib/fuzz.h"
#include "m0/rpc_bulk.h"
#include "rpc/hostile.h"

enum {
	STEPS_MAX = 60
};

static struct fuzz_in *in;
static struct pkt      p;

static unsigned below(unsigned bound)
{
	return fuzz_byte(in) % bound;
}

static uint32_t some_op(void)
{
	static const uint32_t ops[] = { FOE_ECHO, FOE_HOLD,  FOE_BULK,
					FOE_POOL, RT_ECHO,   RT_APPEND,
					RT_BAD,   RT_STATUS, RT_ONEWAY };
	unsigned              i = below(32);

	return i < ARRAY_SIZE(ops) ? ops[i] : i - (uint32_t)ARRAY_SIZE(ops);
}

static uint64_t some_number(void)
{
	uint8_t b = fuzz_byte(in);

	return b < 0xf0 ? b % 48 : ~(uint64_t)0 >> (b & 15) * 4;
}

/* A body of the layer's own items, or of the handlers here. */
static uint32_t body_put(uint32_t op, uint8_t *body)
{
	struct m0_rpc_conn_est           est = { .rce_conn = below(4) };
	static struct m0_rpc_session_est ses;
	uint32_t                         nr = below(100);
	uint32_t                         i;

	est.rce_packet_max = below(2) ? FOE_PACKET_MAX : below(256);
	ses.rse_conn = below(4);
	ses.rse_streams_nr = 1 + below(8);
	ses.rse_window = 1 + below(64);
	switch (op) {
	case M0_RPC_OP_CONN_ESTABLISH:
		return (uint32_t)m0_rpc__conn_est_put(body, &est);
	case M0_RPC_OP_SESSION_ESTABLISH:
		ses.rse_again = below(2);
		return (uint32_t)m0_rpc__session_est_put(body, &ses);
	case M0_RPC_OP_CONN_TERMINATE:
	case M0_RPC_OP_PING:
		return (uint32_t)m0_rpc__number_put(body, below(4));
	default:
		for (i = 0; i < nr; ++i)
			body[i] = fuzz_byte(in);
		return nr;
	}
}

static void item_put(void)
{
	static const uint16_t   kinds[] = { M0_RPC_WIRE_REQUEST,
					    M0_RPC_WIRE_REQUEST,
					    M0_RPC_WIRE_ONEWAY,
					    M0_RPC_WIRE_REPLY };
	static uint8_t          body[M0_RPC_WIRE_BODY_MAX];
	uint32_t                op = some_op();
	struct m0_rpc_wire_item w = foe_request(foe, op, 0, 0);
	uint8_t                 how = fuzz_byte(in);

	w.rwi_opcode = op > 0 ? op : 1;
	w.rwi_flags = kinds[how & 3];
	if ((how & 0xc) == 0xc)
		w.rwi_flags |= (uint16_t)(8 << (how >> 6));
	w.rwi_stream = below(6);
	w.rwi_xid = some_number();
	w.rwi_ack = some_number();
	if (how & 0x10)
		w.rwi_session = some_number();
	w.rwi_remaining_ms = (how & 0x20) ? below(256) : 0;
	if (w.rwi_flags & M0_RPC_WIRE_REPLY)
		w.rwi_status = -(int32_t)below(256);
	pk_item(&p, &w, body, body_put(op, body));
}

static void packet_say(void)
{
	unsigned nr = 1 + below(4);
	unsigned changes;

	pk_begin(&p, foe);
	while (nr-- > 0)
		item_put();
	pk_seal(&p);
	for (changes = below(8); changes > 5; --changes) {
		size_t at = fuzz_number(in, 2) % p.pk_nr;

		p.pk_bytes[at] ^= fuzz_byte(in);
	}
	if (below(8) != 7)
		pk_sum(&p);
	foe_say_pk(foe, &p);
}

static void bytes_say(void)
{
	uint8_t buf[256];
	size_t  nr = fuzz_byte(in);

	nr = min64u(nr, in->fi_left);
	memcpy(buf, in->fi_at, nr);
	in->fi_at += nr;
	in->fi_left -= nr;
	if (nr > 0)
		foe_say(foe, buf, nr);
}

static void release(void)
{
	foe_ping(foe);
	foe_release();
	rt_release(rt.rt_held_nr);
}

static void joins(void)
{
	unsigned streams = 1 + below(4);

	/* A new one: nothing of the old is in its way. */
	++foe->foe_incarnation;
	foe->foe_uuid.u_lo += below(2);
	foe_join(foe, 1, streams, 1 + below(32));
}

static void pass(void)
{
	static const unsigned ms[] = { 1, 10, 100, 1000 };

	rt_run_ms(ms[below(ARRAY_SIZE(ms))]);
}

static void (*const steps[])(void) = { packet_say, packet_say, packet_say,
				       bytes_say,  release,    joins,
				       pass,       good_check };

static void life(void)
{
	unsigned nr = 0;

	rt_begin();
	foe_begin();
	foe_world(NULL);
	if (below(4) != 3)
		foe_join(foe, 1, 3, 32);
	while (in->fi_left > 0 && nr++ < STEPS_MAX) {
		steps[below(ARRAY_SIZE(steps))]();
		/* As many as a case may keep. */
		if (nr % 8 == 7 || foe_held_nr > RT_HELD / 2)
			release();
		cf_set(&foe->foe_came_nr, 0);
	}
	release();
	good_check();
	foe_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in input = { data, size };

	m0_log_level_set(M0_LOG_ERROR);
	in = &input;
	cf.c_row = cf_rows;
	cf.c_mode = CF_INLINE;
	cf.c_workers = 1;
	cf.c_seed = 1;
	cf.c_sim = true;
	cf.c_case = "rpc_session";
	cf__env_begin();
	cf_begin();
	life();
	cf_end();
	cf__env_end();
	return 0;
}
