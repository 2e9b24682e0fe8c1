/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Requests of 64 B that are answered by 64 B. */
#include <stdlib.h>
#include <string.h>

#include "rpc_m0.h"

struct lane {
	struct m0_rpc_raw la_raw;
	struct rpc_echo  *la_echo;
	uint64_t          la_body[RPC_REQ_BYTES / sizeof(uint64_t)];
};

struct answer {
	struct m0_rpc_raw an_raw;
	struct answer    *an_next;
	char              an_body[RPC_REQ_BYTES];
};

struct rpc_echo {
	struct rpc_m0           *e_rpc;
	const struct world_play *e_play;
	unsigned                 e_flight;
	uint64_t                 e_left;
	uint64_t                 e_done;
	struct lane              e_lane[RPC_FLIGHT_MAX];
};

/* Side 1's answers that are not on the way. */
static struct answer *answers;

static struct m0_rpc_item_type_ops ask_ops;
static struct m0_rpc_item_type     ask_type = {
	    .rit_opcode = RPC_OP_ECHO,
	    .rit_ops = &ask_ops,
	    .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	    .rit_name = "bench ask",
};
static struct m0_rpc_item_type answer_type = {
	.rit_opcode = RPC_OP_ECHO_REP,
	.rit_ops = &m0_rpc_raw_ops,
	.rit_flags = M0_RPC_ITEM_TYPE_REPLY,
	.rit_name = "bench answer",
};

static void answer_free(struct m0_rpc_raw *raw)
{
	struct answer *a = container_of(raw, struct answer, an_raw);

	a->an_next = answers;
	answers = a;
}

static struct answer *answer_new(void)
{
	struct answer *a = answers;

	if (a != NULL)
		answers = a->an_next;
	else
		a = calloc(1, sizeof(*a));
	if (a == NULL)
		bench_die("no memory");
	return a;
}

static void ask_deliver(struct m0_rpc_machine *machine,
			struct m0_rpc_item    *item)
{
	struct m0_rpc_raw *raw = m0_rpc_raw_of(item);
	struct answer     *a = answer_new();

	(void)machine;
	if (raw->rr_nr != RPC_REQ_BYTES)
		bench_die("a request of %zu bytes", (size_t)raw->rr_nr);
	memcpy(a->an_body, raw->rr_data, RPC_REQ_BYTES);
	m0_rpc_raw_init(&a->an_raw, &answer_type, a->an_body, RPC_REQ_BYTES,
			&answer_free);
	m0_rpc_reply_post(item, &a->an_raw.rr_item);
}

static void replied(struct m0_rpc_item *item);

static const struct m0_rpc_item_ops item_ops = { .rio_replied = &replied };

static void ask(struct lane *lane)
{
	struct rpc_echo    *e = lane->la_echo;
	struct m0_rpc_item *item = &lane->la_raw.rr_item;

	e->e_left--;
	lane->la_body[0]++;
	if (lane->la_raw.rr_nr == 0)
		m0_rpc_raw_init(&lane->la_raw, &ask_type, lane->la_body,
				RPC_REQ_BYTES, NULL);
	item->ri_session = &e->e_rpc->r_side[0]->rs_session;
	item->ri_ops = &item_ops;
	rpc_m0_must(m0_rpc_post(item), "post");
}

static void replied(struct m0_rpc_item *item)
{
	struct lane *lane = container_of(item, struct lane, la_raw.rr_item);
	struct m0_rpc_raw *back;

	rpc_m0_must(m0_rpc_item_error(item), "request");
	back = m0_rpc_raw_of(item->ri_reply);
	if (back->rr_nr != RPC_REQ_BYTES ||
	    memcmp(back->rr_data, lane->la_body, RPC_REQ_BYTES) != 0)
		bench_die("another answer");
	lane->la_echo->e_done++;
	if (lane->la_echo->e_left > 0)
		ask(lane);
}

static uint64_t echo_run(void *arg, uint64_t nr)
{
	struct rpc_echo *e = arg;

	nr = nr < e->e_flight ? e->e_flight : nr;
	e->e_left = nr;
	e->e_done = 0;
	for (unsigned i = 0; i < e->e_flight; i++)
		ask(&e->e_lane[i]);
	while (e->e_done < nr)
		rpc_m0_turn(e->e_rpc);
	return nr;
}

static void echo_prepare(void *arg)
{
	(void)arg;
	ask_ops = m0_rpc_raw_ops;
	ask_ops.rito_deliver = &ask_deliver;
	rpc_m0_must(m0_rpc_item_type_register(&ask_type), "type");
	rpc_m0_must(m0_rpc_item_type_register(&answer_type), "type");
}

static void echo_open(void *arg, int side)
{
	struct rpc_echo *e = arg;

	for (unsigned i = 0; side == 0 && i < e->e_flight; i++)
		e->e_lane[i].la_echo = e;
}

/* The last answers go, and the receive buffers they lie in with them. */
static void echo_close(void *arg, int side)
{
	struct rpc_echo *e = arg;

	for (unsigned i = 0; side == 0 && i < e->e_flight; i++)
		if (e->e_lane[i].la_raw.rr_nr > 0)
			m0_rpc_item_fini(&e->e_lane[i].la_raw.rr_item);
}

static void echo_serve(void *arg)
{
	struct rpc_echo *e = arg;

	rpc_m0_poll(e->e_rpc, 1);
}

static void echo_enter(void *arg)
{
	struct rpc_echo *e = arg;

	world_enter(e->e_play);
	rpc_m0_meet(e->e_rpc);
}

static void echo_leave(void *arg)
{
	struct rpc_echo *e = arg;

	world_leave(e->e_play);
}

struct rpc_echo *rpc_echo_make(struct rpc_m0 *r, unsigned flight,
			       struct world_play *play)
{
	struct rpc_echo *e = bench_huge(sizeof(*e));

	memset(e, 0, sizeof(*e));
	e->e_rpc = r;
	e->e_play = play;
	e->e_flight = flight;
	*play = (struct world_play){
		.wp_prepare = &echo_prepare,
		.wp_open = &echo_open,
		.wp_close = &echo_close,
		.wp_serve = &echo_serve,
		.wp_arg = e,
	};
	return e;
}

struct bench_case rpc_echo_case(struct rpc_echo *e, const char *name)
{
	return (struct bench_case){ .c_name = name,
				    .c_run = &echo_run,
				    .c_arg = e,
				    .c_enter = &echo_enter,
				    .c_leave = &echo_leave };
}
