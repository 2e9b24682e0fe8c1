/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The history checker: what happens in a run. See history.h. */
#include "history.h"
#include "conformance/cf_internal.h"
#include "m0/sim.h"

struct hi_world hi;

enum {
	/** When faults are over, so long until all works. */
	HEALED_MS = 3000
};

bool hi_is_one_of(uint32_t state, uint32_t states)
{
	return states & 1u << state;
}

/* ----------------------------------------------------------------- waits -- */

static bool machine_moves(struct m0_rpc_machine *machine)
{
	if (cf.c_mode != CF_INLINE ||
	    !m0_net_buffer_event_pending(&machine->rm_tm))
		return false;
	m0_rpc_machine_progress(machine);
	return true;
}

/* The thread that a store has. */
static bool store_moves(struct hi_server *s)
{
	if (!hi.hw_durable || !hi.hw_store_thread || !s->hs_up ||
	    store_crash_due(&s->hs_store) > m0_time_now())
		return false;
	s->hs_store.stc_store.rst_ops->rso_step(&s->hs_store.stc_store);
	return true;
}

bool hi_pump(void)
{
	bool     did = cf_pump();
	unsigned i;

	for (i = 0; i < hi.hw_servers_nr; ++i) {
		struct hi_server *s = &hi.hw_server[i];

		did = store_moves(s) || did;
		did = (s->hs_up && machine_moves(&s->hs_machine)) || did;
	}
	for (i = 0; i < hi.hw_clients_nr; ++i) {
		struct hi_client *c = &hi.hw_client[i];

		did = (c->hc_up && machine_moves(&c->hc_machine)) || did;
	}
	return did;
}

static bool wait_ns(bool (*cond)(void *arg), void *arg, m0_time_t limit_ns)
{
	m0_time_t end = m0_time_add(m0_time_now(), limit_ns);
	m0_time_t now;

	while (!cond(arg)) {
		if (hi_pump())
			continue;
		now = m0_time_now();
		if (now >= end)
			return cond(arg);
		(void)m0_semaphore_timeddown(&cf.c_sem,
					     min64u(end, now + 500000));
	}
	return true;
}

static void wait_ms(bool (*cond)(void *arg), void *arg, unsigned ms,
		    const char *what)
{
	cf.c_waiting = what;
	if (!wait_ns(cond, arg, ms * M0_TIME_ONE_MSEC))
		cf_fail(__FILE__, __LINE__, "did not happen in %u ms: %s", ms,
			what);
	cf.c_waiting = NULL;
}

void hi_wait(bool (*cond)(void *arg), void *arg, const char *what)
{
	wait_ms(cond, arg, 2 * HI_TIMEOUT_MS, what);
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

void hi_run_ms(unsigned ms)
{
	(void)wait_ns(never, NULL, ms * M0_TIME_ONE_MSEC);
}

/* ------------------------------------------------------------------- ops -- */

static void replied(struct m0_rpc_item *item)
{
	struct hi_op *o = container_of(item, struct hi_op, ho_raw.rr_item);

	++o->ho_ended;
	o->ho_end = m0_time_now();
	o->ho_error = item->ri_error;
	o->ho_rc = item->ri_error != 0 ? 0 : m0_rpc_item_error(item);
	o->ho_sent = item->ri_nr_sent + o->ho_merged;
	if (o->ho_error == 0 && o->ho_rc == 0)
		CF_EQ(memcmp(m0_rpc_raw_of(item->ri_reply)->rr_data, o->ho_body,
			     o->ho_is_bulk ? HI_RECORD : o->ho_raw.rr_nr),
		      0, "the reply is that of %u", (unsigned)o->ho_body[0]);
	hi_bulk_end(o);
	cf_wake();
}

static const struct m0_rpc_item_ops item_ops = { .rio_replied = replied };

static struct hi_op *post(unsigned client, unsigned server, unsigned stream,
			  unsigned expires_ms)
{
	struct hi_client   *c = &hi.hw_client[client];
	struct hi_link     *k = &c->hc_link[server];
	struct hi_op       *o;
	struct m0_rpc_item *item;

	if (!c->hc_up || !k->hk_has_session || hi.hw_ops_nr == HI_OPS ||
	    !hi_is_one_of(k->hk_session.s_state,
			  1 << M0_RPC_SESSION_IDLE | 1 << M0_RPC_SESSION_BUSY))
		return NULL;
	o = &hi.hw_op[hi.hw_ops_nr];
	o->ho_body[0] = hi.hw_ops_nr;
	o->ho_body[1] = ~o->ho_body[0];
	o->ho_client = client;
	o->ho_server = server;
	o->ho_life = c->hc_lives;
	o->ho_session = k->hk_sessions;
	o->ho_stream = 1 + (stream - 1) % k->hk_session.s_streams_nr;
	if (stream == 0)
		o->ho_stream = 0;
	m0_rpc_raw_init(&o->ho_raw, hi_type(stream == 0 ? HI_ECHO : HI_APPEND),
			o->ho_body, HI_RECORD, NULL);
	item = &o->ho_raw.rr_item;
	item->ri_key = (struct m0_rpc_item_key){
		.rk_fid = M0_UINT128(1 + o->ho_session, o->ho_stream),
		.rk_offset = hi.hw_next[client][server][o->ho_stream]++,
		.rk_nr = 1,
	};
	item->ri_session = &k->hk_session;
	if (stream != 0 && cf_rand(5) == 0 && hi_bulk_offer(o, hi.hw_ops_nr)) {
		o->ho_is_bulk = true;
		item->ri_type = hi_type(HI_BULK);
	}
	item->ri_stream = o->ho_stream;
	item->ri_ops = &item_ops;
	o->ho_by = m0_time_add(m0_time_now(), expires_ms * M0_TIME_ONE_MSEC);
	item->ri_expires = o->ho_by;
	++hi.hw_ops_nr;
	o->ho_posted = m0_rpc_post(item) == 0;
	if (!o->ho_posted)
		hi_bulk_end(o);
	return o;
}

static void post_some(void)
{
	unsigned client = (unsigned)cf_rand(hi.hw_clients_nr);
	unsigned server = (unsigned)cf_rand(hi.hw_servers_nr);
	unsigned nr = 1 + (unsigned)cf_rand(8);

	while (nr-- > 0)
		(void)post(client, server, (unsigned)cf_rand(HI_STREAMS + 1),
			   cf_rand(10) == 0 ? 5 + (unsigned)cf_rand(100)
					    : HI_TIMEOUT_MS);
}

static void cancel_one(void)
{
	struct hi_op *o;

	if (hi.hw_ops_nr == 0)
		return;
	o = &hi.hw_op[hi.hw_ops_nr - 1 - cf_rand(min64u(hi.hw_ops_nr, 20))];
	if (o->ho_posted && o->ho_ended == 0)
		m0_rpc_item_cancel(&o->ho_raw.rr_item);
}

void hi_reap(void)
{
	unsigned i;

	for (i = 0; i < hi.hw_ops_nr; ++i) {
		struct hi_op *o = &hi.hw_op[i];

		if (o->ho_reaped || (o->ho_posted && o->ho_ended == 0) ||
		    !hi_bulk_is_over(o))
			continue;
		o->ho_reaped = true;
		hi_bulk_free(o);
		m0_rpc_item_put(&o->ho_raw.rr_item);
	}
}

static bool are_ended(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < hi.hw_ops_nr; ++i)
		if (hi.hw_op[i].ho_posted && cf_get(&hi.hw_op[i].ho_ended) == 0)
			return false;
	return true;
}

/* ---------------------------------------------------------------- faults -- */

static bool gate(unsigned from, unsigned to)
{
	return !(hi.hw_cut & (UINT64_C(1) << from | UINT64_C(1) << to));
}

static int store_fault(struct store_crash *store, enum store_crash_point point)
{
	struct hi_server *s = container_of(store, struct hi_server, hs_store);

	if (hi.hw_calm)
		return 0;
	++s->hs_points;
	if (s->hs_dies_at > 0 && --s->hs_dies_at == 0)
		return STORE_CRASH_DIES;
	return (point == STORE_CRASH_BEGIN || point == STORE_CRASH_COMMIT) &&
			       cf_rand(100) < hi.hw_fault_pct
		       ? -EIO
		       : 0;
}

static m0_time_t store_clock(struct store_crash *store)
{
	(void)store;
	return m0_time_now();
}

static m0_time_t soon(unsigned ms)
{
	return m0_time_now() + cf_rand(ms) * M0_TIME_ONE_MSEC;
}

static void server_crash(void)
{
	struct hi_server *s = &hi.hw_server[cf_rand(hi.hw_servers_nr)];

	if (!s->hs_up)
		return;
	hi_server_crash(s);
	s->hs_back_at = soon(150);
}

static void client_crash(void)
{
	struct hi_client *c = &hi.hw_client[cf_rand(hi.hw_clients_nr)];

	if (!c->hc_up)
		return;
	hi_client_crash(c);
	c->hc_back_at = soon(100);
}

/* A store has died at one of its points: so does its server. */
static void die(void)
{
	unsigned i;

	for (i = 0; hi.hw_durable && i < hi.hw_servers_nr; ++i) {
		struct hi_server *s = &hi.hw_server[i];

		if (!s->hs_up || !s->hs_store.stc_dead)
			continue;
		hi_server_crash(s);
		s->hs_back_at = soon(20);
	}
}

/* A service that is down and whose time has come starts again. */
static void come_back(m0_time_t now)
{
	unsigned i;

	die();
	for (i = 0; i < hi.hw_servers_nr; ++i)
		if (!hi.hw_server[i].hs_up && hi.hw_server[i].hs_back_at <= now)
			hi_server_up(&hi.hw_server[i]);
	for (i = 0; i < hi.hw_clients_nr; ++i) {
		if (!hi.hw_client[i].hc_up && hi.hw_client[i].hc_back_at <= now)
			hi_client_up(&hi.hw_client[i]);
		(void)hi_client_tend(&hi.hw_client[i]);
	}
}

/* Cuts a machine off, or none any more. */
static void cut_one(void)
{
	unsigned nr = 1 +
		      (unsigned)cf_rand(hi.hw_servers_nr + hi.hw_clients_nr);
	unsigned i;

	/* One of a server's two ways, perhaps. */
	if (hi.hw_linked && nr <= hi.hw_servers_nr && cf_rand(2))
		nr += HI_SECOND;
	hi.hw_cut = cf_rand(2) ? 0 : UINT64_C(1) << nr;
	for (i = 0; i < hi.hw_servers_nr; ++i)
		if (!hi.hw_server[i].hs_up)
			hi.hw_cut |= hi_bits(hi.hw_server[i].hs_nr);
}

static void act(void)
{
	uint64_t what = cf_rand(100);

	if (what < 78)
		post_some();
	else if (what < 82)
		cancel_one();
	else if (what < 88)
		cut_one();
	else if (what < 97)
		server_crash();
	else
		client_crash();
}

/* ------------------------------------------------------------------ runs -- */

static void faults_draw(void)
{
	struct toy_faults faults = {
		.tf_drop_pct = (unsigned)cf_rand(20),
		.tf_duplicate_pct = (unsigned)cf_rand(23),
		.tf_delay_pct = (unsigned)cf_rand(41),
		.tf_delay_ns = 1 + cf_rand(400) * M0_TIME_ONE_MSEC,
		.tf_delay_on_the_way = true,
		.tf_seed = cf.c_seed,
	};

	hi.hw_linked = cf_rand(2);
	hi.hw_merges = cf_rand(2);
	hi.hw_store_thread = cf_rand(2);
	hi.hw_fault_pct = cf_rand(2) ? 0 : 4;
	hi.hw_dies_max = cf_rand(2) ? 0 : 20 + (unsigned)cf_rand(500);
	m0_sim_say(cf__sim(),
		   "%u servers, %u clients, drop %u%%, twice %u%%, late %u%%, "
		   "%s%sstore %s, fails %u%%, dies within %u",
		   hi.hw_servers_nr, hi.hw_clients_nr, faults.tf_drop_pct,
		   faults.tf_duplicate_pct, faults.tf_delay_pct,
		   hi.hw_linked ? "two ways, " : "",
		   hi.hw_merges ? "merges, " : "",
		   hi.hw_store_thread ? "apart" : "within", hi.hw_fault_pct,
		   hi.hw_dies_max);
	toy_faults_set(&faults);
	toy_gate_set(gate);
}

static void store_draw(struct store_crash *store)
{
	store_crash_init(store, 1 << 24);
	store->stc_fault = store_fault;
	store->stc_group_max = 1 + (unsigned)cf_rand(4);
	if (!hi.hw_store_thread)
		return;
	store->stc_clock = store_clock;
	store->stc_commit_ns = cf_rand(8) * M0_TIME_ONE_MSEC;
	store->stc_done_late = cf_rand(2);
}

static void world_up(void)
{
	unsigned i;

	hi.hw_op = calloc(HI_OPS, sizeof *hi.hw_op);
	hi_types_up();
	hi.hw_servers_nr = hi.hw_small ? 1 : 1 + (unsigned)cf_rand(HI_SERVERS);
	hi.hw_clients_nr = hi.hw_small ? 1 : 1 + (unsigned)cf_rand(HI_CLIENTS);
	faults_draw();
	for (i = 0; i < hi.hw_servers_nr; ++i) {
		struct hi_server *s = &hi.hw_server[i];

		s->hs_nr = ++cf.c_addr_nr;
		cf.c_row->r_addr(s->hs_addr, s->hs_nr);
		cf.c_row->r_addr(s->hs_addr2, s->hs_nr + HI_SECOND);
		if (hi.hw_durable)
			store_draw(&s->hs_store);
		hi_server_up(s);
	}
	for (i = 0; i < hi.hw_clients_nr; ++i) {
		struct hi_client *c = &hi.hw_client[i];

		c->hc_nr = ++cf.c_addr_nr;
		cf.c_row->r_addr(c->hc_addr, c->hc_nr);
		hi_client_up(c);
	}
}

static bool all_are_joined(void *arg)
{
	bool     all = true;
	unsigned i;

	(void)arg;
	for (i = 0; i < hi.hw_clients_nr; ++i)
		all = hi_client_tend(&hi.hw_client[i]) && all;
	return all;
}

/* One of each. */
static void post_round(void)
{
	unsigned stream;
	unsigned i;

	for (i = 0; i < hi.hw_clients_nr * hi.hw_servers_nr; ++i)
		for (stream = 0; stream <= HI_STREAMS; ++stream)
			(void)post(i % hi.hw_clients_nr, i / hi.hw_clients_nr,
				   stream, HEALED_MS);
}

static int well_rc(unsigned op)
{
	return hi_is_odd(op) && hi.hw_op[op].ho_stream != 0 ? HI_ODD_RC : 0;
}

/* Faults are over: everything works, and soon. */
static void heal(void)
{
	static const struct toy_faults none;
	unsigned                       first;
	unsigned                       i;

	toy_faults_set(&none);
	hi.hw_calm = true;
	hi.hw_cut = 0;
	come_back(M0_TIME_NEVER);
	wait_ms(all_are_joined, NULL, HEALED_MS, "everybody is joined again");
	/* A volatile server may have forgotten what the client did not. */
	if (!hi.hw_durable)
		post_round();
	wait_ms(are_ended, NULL, 2 * HI_TIMEOUT_MS, "the end of all requests");
	first = hi.hw_ops_nr;
	post_round();
	wait_ms(are_ended, NULL, 2 * HI_TIMEOUT_MS, "the end of all requests");
	for (i = first; i < hi.hw_ops_nr; ++i) {
		CF_EQ(hi.hw_op[i].ho_error, 0, "%u, when all was well", i);
		CF_EQ(hi.hw_op[i].ho_rc, well_rc(i), "%u, when all was well",
		      i);
	}
}

static void server_check(struct hi_server *s)
{
	struct m0_rpc_stats stats;

	m0_rpc_machine_get_stats(&s->hs_machine, &stats, false);
	CF_EQ(stats.rs_executing, 0, "requests being executed");
	CF_EQ(stats.rs_replies_bytes, 0, "replies kept, nobody is left");
}

static void world_down(void)
{
	unsigned i;

	for (i = 0; i < hi.hw_clients_nr; ++i)
		hi_client_end(&hi.hw_client[i]);
	/* Late messages have arrived. */
	hi_run_ms(500);
	for (i = 0; i < hi.hw_servers_nr; ++i) {
		server_check(&hi.hw_server[i]);
		hi_server_end(&hi.hw_server[i]);
	}
	hi_check();
	for (i = 0; hi.hw_durable && i < hi.hw_servers_nr; ++i)
		store_crash_fini(&hi.hw_server[i].hs_store);
	free(hi.hw_op);
	hi_types_down();
	toy_gate_set(NULL);
}

static void run(bool durable)
{
	unsigned steps = 100 + (unsigned)cf_rand(500);

	M0_SET0(&hi);
	hi.hw_durable = durable;
	world_up();
	while (steps-- > 0) {
		hi_run_ms((unsigned)cf_rand(8));
		hi_reap();
		come_back(m0_time_now());
		act();
	}
	heal();
	world_down();
}

static void durable(void)
{
	run(true);
}

/* A few requests in each stream, of one client to one server; nothing is lost.
 * @return points of the store that were passed. */
static unsigned run_small(unsigned dies_at)
{
	static const struct toy_faults none;
	unsigned                       rounds = 0;
	unsigned                       points;
	unsigned                       i;

	M0_SET0(&hi);
	hi.hw_durable = true;
	hi.hw_small = true;
	world_up();
	toy_faults_set(&none);
	hi.hw_fault_pct = 0;
	hi.hw_dies_max = 0;
	hi.hw_server[0].hs_dies_at = dies_at;
	for (i = 0; i < 40; ++i) {
		hi_run_ms(3);
		hi_reap();
		come_back(m0_time_now());
		if (rounds < 4 && all_are_joined(NULL)) {
			post_round();
			++rounds;
		}
	}
	points = hi.hw_server[0].hs_points;
	CF_TRUE(hi.hw_server[0].hs_lives == 1 + (dies_at != 0) ||
			points < dies_at,
		"it died when it was to, at %u of %u", dies_at, points);
	heal();
	world_down();
	return points;
}

enum {
	/** Bound in tests/rpc/meson.build: more than there are points. */
	SEEDS_ALL = 200
};

/* Each seed another point: so many of them pass all; fewer, as M0_SEEDS_NR has
 * it for the slower builds, the first ones. */
static void every_write(void)
{
	unsigned points = run_small(0);

	CF_TRUE(points > 20 && points <= SEEDS_ALL, "points: %u", points);
	(void)run_small(1 + (unsigned)(cf.c_seed % points));
}

static void volatile_one(void)
{
	run(false);
}

static const struct cf_case cases[] = { { "a store that stays", durable },
					{ "a volatile store", volatile_one },
					{ "a store that dies at every write",
					  every_write },
					{ NULL, NULL } };

static const struct cf_suite suites[] = { { "history", cases },
					  { NULL, NULL } };

int main(int argc, char **argv)
{
	const char *seeds = getenv("M0_SEEDS_NR");
	static char seeds_option[] = "--seeds";
	char       *args[32];
	int         i;

	for (i = 0; i < argc && i < 28; ++i)
		args[i] = argv[i];
	if (seeds != NULL) {
		args[i++] = seeds_option;
		args[i++] = (char *)(uintptr_t)seeds;
	}
	args[i] = NULL;
	return cf_main(i, args, suites);
}
