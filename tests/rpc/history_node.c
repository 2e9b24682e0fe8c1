/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Clients and servers of the history checker, and their crashes. */
#include "history.h"

/* ----------------------------------------------------------------- types -- */

static struct m0_rpc_item_type_ops ops[4];
static struct m0_rpc_item_type     types[4] = {
	    { .rit_opcode = HI_APPEND,
	      .rit_ops = &ops[0],
	      .rit_name = "append",
	      .rit_flags = M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO },
	    { .rit_opcode = HI_ECHO,
	      .rit_ops = &ops[1],
	      .rit_name = "echo",
	      .rit_flags = M0_RPC_ITEM_TYPE_REQUEST },
	    { .rit_opcode = HI_REPLY,
	      .rit_ops = &ops[2],
	      .rit_name = "reply",
	      .rit_flags = M0_RPC_ITEM_TYPE_REPLY },
	    { .rit_opcode = HI_BULK,
	      .rit_ops = &ops[3],
	      .rit_name = "bulk",
	      .rit_flags = M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO },
};

/* Records in a body. One with bulk has descriptors behind it. */
static unsigned records_nr(struct m0_rpc_item *item)
{
	m0_bcount_t nr = m0_rpc_raw_of(item)->rr_nr;

	if (item->ri_type == hi_type(HI_BULK)) {
		CF_TRUE(nr >= HI_RECORD, "size of what came");
		return 1;
	}
	CF_TRUE(nr > 0 && nr % HI_RECORD == 0 && nr <= HI_MERGED * HI_RECORD,
		"size of what came");
	return (unsigned)(nr / HI_RECORD);
}

static unsigned number_at(struct m0_rpc_item *item, unsigned i)
{
	uint64_t number;

	memcpy(&number,
	       (const uint8_t *)m0_rpc_raw_of(item)->rr_data +
		       (size_t)i * HI_RECORD,
	       sizeof number);
	CF_TRUE(number < hi.hw_ops_nr, "a number that was posted");
	return (unsigned)number;
}

static unsigned number_of(struct m0_rpc_item *item)
{
	CF_EQ(records_nr(item), 1, "one record");
	return number_at(item, 0);
}

static struct hi_op *op_of(struct m0_rpc_item *item)
{
	return container_of(item, struct hi_op, ho_raw.rr_item);
}

/* A request of a stream, like others; one with an answer of its own is not. */
static bool append_coalesce(struct m0_rpc_item *item, struct m0_rpc_item *next)
{
	struct hi_op *o = op_of(item);
	struct hi_op *n = op_of(next);
	m0_bcount_t   nr = o->ho_raw.rr_nr;

	CF_TRUE(item->ri_stream != 0 && item->ri_stream == next->ri_stream,
		"of one stream");
	if (nr + n->ho_raw.rr_nr > sizeof o->ho_body ||
	    hi_is_odd((unsigned)o->ho_body[0]) ||
	    hi_is_odd((unsigned)n->ho_body[0]))
		return false;
	memcpy((uint8_t *)o->ho_body + nr, n->ho_body, n->ho_raw.rr_nr);
	o->ho_raw.rr_nr += n->ho_raw.rr_nr;
	item->ri_key.rk_nr += next->ri_key.rk_nr;
	n->ho_merged = true;
	return true;
}

/* A part's answer is what the whole was answered with, of it. */
static int append_split(struct m0_rpc_item *item, struct m0_rpc_item *part)
{
	const struct hi_op *n = op_of(part);
	struct m0_rpc_raw  *reply =
		m0_rpc_raw_new(hi_type(HI_REPLY), n->ho_body, HI_RECORD);
	int      rc = m0_rpc_item_error(item);
	unsigned i = 0;

	if (rc == 0)
		while (number_at(item->ri_reply, i) != n->ho_body[0])
			CF_TRUE(++i < records_nr(item->ri_reply),
				"it is in the answer");
	reply->rr_item.ri_error = rc;
	part->ri_reply = &reply->rr_item;
	return 0;
}

static struct hi_server *server_of(const struct m0_rpc_item *item)
{
	return container_of(item->ri_rmachine, struct hi_server, hs_machine);
}

static void echo(struct m0_rpc_item *item)
{
	struct m0_rpc_raw *raw = m0_rpc_raw_of(item);
	struct m0_rpc_raw *reply =
		m0_rpc_raw_new(&types[2], raw->rr_data,
			       (m0_bcount_t)records_nr(item) * HI_RECORD);

	m0_rpc_reply_post(item, &reply->rr_item);
}

void hi_update(struct m0_rpc_item *item, struct m0_rpc_tx *tx)
{
	unsigned nr = records_nr(item);
	unsigned i;
	int      rc = 0;

	for (i = 0; i < nr && rc == 0; ++i)
		rc = hi_append(server_of(item), tx, number_at(item, i));
	/* The store takes it all back, or the reply would be wrong. */
	CF_EQ(rc, 0, "append");
	if (nr == 1 && hi_is_odd(number_of(item)))
		m0_rpc_reply_rc(item, HI_ODD_RC);
	else
		echo(item);
}

static void append_deliver(struct m0_rpc_machine *machine,
			   struct m0_rpc_item    *item)
{
	(void)machine;
	m0_rpc_update_post(item, hi_update);
}

static void echo_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *item)
{
	(void)machine;
	++hi.hw_op[number_of(item)].ho_runs;
	echo(item);
}

void hi_types_up(void)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(types); ++i) {
		ops[i] = m0_rpc_raw_ops;
		CF_EQ(m0_rpc_item_type_register(&types[i]), 0, "register");
	}
	ops[0].rito_deliver = append_deliver;
	ops[0].rito_io_coalesce = append_coalesce;
	ops[0].rito_split = append_split;
	ops[1].rito_deliver = echo_deliver;
	ops[3].rito_deliver = hi_bulk_deliver;
}

void hi_types_down(void)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(types); ++i)
		m0_rpc_item_type_deregister(&types[i]);
}

const struct m0_rpc_item_type *hi_type(unsigned op)
{
	return &types[op - HI_APPEND];
}

/* ----------------------------------------------- the store of one life -- */

/* Jobs of a life that has ended are told that they failed: the machine, which
 * is cut off, must end; the truth is in the store. */
struct job {
	struct m0_rpc_store_job  hj_job;
	struct m0_rpc_store_job *hj_outer;
	struct hi_life          *hj_life;
	struct m0_list_link      hj_link;
};

static struct hi_life *life_of(struct m0_rpc_store *store)
{
	return container_of(store, struct hi_life, hl_store);
}

static int job_run(struct m0_rpc_store_job *job, struct m0_rpc_tx *tx)
{
	struct job *j = container_of(job, struct job, hj_job);

	return j->hj_outer->sj_run(j->hj_outer, tx);
}

static void job_done(struct m0_rpc_store_job *job, int rc)
{
	struct job              *j = container_of(job, struct job, hj_job);
	struct m0_rpc_store_job *outer = j->hj_outer;

	m0_list_del(&j->hj_link);
	free(j);
	outer->sj_done(outer, rc);
}

static void life_exec(struct m0_rpc_store *store, struct m0_rpc_store_job *job)
{
	struct hi_life *life = life_of(store);
	struct job     *j = calloc(1, sizeof *j);

	j->hj_outer = job;
	j->hj_life = life;
	j->hj_job.sj_run = job_run;
	j->hj_job.sj_done = job_done;
	m0_list_link_init(&j->hj_link);
	m0_list_add_tail(&life->hl_jobs, &j->hj_link);
	if (!life->hl_dead)
		life->hl_under->stc_store.rst_ops->rso_exec(
			&life->hl_under->stc_store, &j->hj_job);
}

/* Operations that start while a dead machine ends complete as well. */
static void life_end_jobs(struct hi_life *life)
{
	struct m0_list_link *link;

	while ((link = m0_list_first(&life->hl_jobs)) != NULL)
		job_done(&container_of(link, struct job, hj_link)->hj_job,
			 -EIO);
}

static void life_step(struct m0_rpc_store *store)
{
	struct hi_life *life = life_of(store);

	if (life->hl_dead)
		life_end_jobs(life);
	else if (!hi.hw_store_thread)
		life->hl_under->stc_store.rst_ops->rso_step(
			&life->hl_under->stc_store);
}

static int life_begin(struct m0_rpc_store *store, struct m0_rpc_tx *tx)
{
	struct hi_life *life = life_of(store);

	if (life->hl_dead)
		return -EIO;
	return life->hl_under->stc_store.rst_ops->rso_begin(
		&life->hl_under->stc_store, tx);
}

/* Transactions are the store's below: the rest is called there. */
static const struct m0_rpc_store_ops life_ops = {
	.rso_name = "life",
	.rso_durable = true,
	.rso_begin = life_begin,
	.rso_exec = life_exec,
	.rso_step = life_step,
};

/* --------------------------------------------------------------- servers -- */

static void cfg_fill(struct m0_rpc_cfg *cfg)
{
	m0_rpc_cfg_init(cfg);
	cfg->rc_inline = cf.c_mode == CF_INLINE;
	cfg->rc_resend_ns = HI_RESEND_MS * M0_TIME_ONE_MSEC;
	cfg->rc_resend_max_ns = HI_RESEND_MAX_MS * M0_TIME_ONE_MSEC;
	cfg->rc_timeout_ns = HI_TIMEOUT_MS * M0_TIME_ONE_MSEC;
	cfg->rc_slack_ns = HI_SLACK_MS * M0_TIME_ONE_MSEC;
	cfg->rc_link_idle_ns = HI_LINK_IDLE_MS * M0_TIME_ONE_MSEC;
	cfg->rc_window_max = 1 + (uint32_t)cf_rand(16);
}

static void machine_up(struct m0_rpc_machine *machine, unsigned dom,
		       const struct m0_rpc_cfg *cfg, const char *addr)
{
	CF_EQ(m0_rpc_machine_init(machine, cf_dom(dom), cfg, addr, NULL,
				  M0_BUFFER_ANY_COLOUR, 8192, 8),
	      0, "a machine at %s", addr);
}

void hi_server_up(struct hi_server *s)
{
	struct m0_rpc_cfg cfg;

	cfg_fill(&cfg);
	cfg.rc_incarnation = 1000 + ++s->hs_lives;
	cfg.rc_uuid = M0_UINT128(7, s->hs_nr);
	if (hi.hw_durable) {
		s->hs_life = (struct hi_life){
			.hl_store = { .rst_ops = &life_ops },
			.hl_under = &s->hs_store,
		};
		m0_list_init(&s->hs_life.hl_jobs);
		cfg.rc_store = &s->hs_life.hl_store;
		if (hi.hw_dies_max > 0)
			s->hs_dies_at = 1 + (unsigned)cf_rand(hi.hw_dies_max);
	}
	hi.hw_cut &= ~hi_bits(s->hs_nr);
	machine_up(&s->hs_machine, 0, &cfg, s->hs_addr);
	if (hi.hw_linked)
		CF_EQ(m0_rpc_machine_link_add(&s->hs_machine, s->hs_addr2), 0,
		      "one more address");
	s->hs_up = true;
}

static void server_down(struct hi_server *s, bool abort)
{
	m0_rpc_machine_stop(&s->hs_machine, abort);
	m0_rpc_machine_fini(&s->hs_machine);
	s->hs_up = false;
	if (hi.hw_durable)
		m0_list_fini(&s->hs_life.hl_jobs);
}

void hi_server_crash(struct hi_server *s)
{
	hi.hw_cut |= hi_bits(s->hs_nr);
	if (hi.hw_durable) {
		s->hs_life.hl_dead = true;
		store_crash_crash(&s->hs_store);
		life_end_jobs(&s->hs_life);
	}
	server_down(s, true);
}

void hi_server_end(struct hi_server *s)
{
	server_down(s, true);
}

/* --------------------------------------------------------------- clients -- */

void hi_client_up(struct hi_client *c)
{
	struct m0_rpc_cfg cfg;

	cfg_fill(&cfg);
	cfg.rc_uuid = M0_UINT128(8, c->hc_nr);
	cfg.rc_incarnation = 100 + ++c->hc_lives;
	cfg.rc_policy = hi.hw_merges ? &m0_rpc_frm_data : NULL;
	hi.hw_cut &= ~(UINT64_C(1) << c->hc_nr);
	machine_up(&c->hc_machine, 1, &cfg, c->hc_addr);
	c->hc_up = true;
}

static bool link_is_over(void *arg)
{
	struct hi_link *k = arg;

	if (k->hk_has_session)
		return hi_is_one_of(k->hk_session.s_state,
				    1 << M0_RPC_SESSION_INITIALISED |
					    1 << M0_RPC_SESSION_FAILED |
					    1 << M0_RPC_SESSION_TERMINATED);
	return hi_is_one_of(k->hk_conn.c_state,
			    1 << M0_RPC_CONN_INITIALISED |
				    1 << M0_RPC_CONN_FAILED |
				    1 << M0_RPC_CONN_TERMINATED);
}

static bool items_are_over(void *arg)
{
	struct hi_link *k = arg;

	return __atomic_load_n(&k->hk_session.s_hold_cnt, __ATOMIC_ACQUIRE) ==
	       0;
}

/* Pre: it is over, or the machine has stopped. */
static void session_end(struct hi_link *k)
{
	if (!k->hk_has_session)
		return;
	if (!link_is_over(k))
		(void)m0_rpc_session_terminate(&k->hk_session, M0_TIME_NEVER);
	hi_wait(link_is_over, k, "a session's end");
	hi_wait(items_are_over, k, "the end of a session's items");
	m0_rpc_session_fini(&k->hk_session);
	k->hk_has_session = false;
}

static void conn_end(struct hi_link *k)
{
	if (!k->hk_has_conn)
		return;
	if (!link_is_over(k))
		(void)m0_rpc_conn_terminate(&k->hk_conn, M0_TIME_NEVER);
	hi_wait(link_is_over, k, "a connection's end");
	m0_rpc_conn_fini(&k->hk_conn);
	k->hk_has_conn = false;
}

static bool bulks_are_over(void *arg)
{
	const struct hi_client *c = arg;
	unsigned                i;

	for (i = 0; i < hi.hw_ops_nr; ++i)
		if (&hi.hw_client[hi.hw_op[i].ho_client] == c &&
		    !hi_bulk_is_over(&hi.hw_op[i]))
			return false;
	return true;
}

static void client_down(struct hi_client *c)
{
	unsigned i;

	for (i = 0; i < hi.hw_servers_nr; ++i) {
		session_end(&c->hc_link[i]);
		conn_end(&c->hc_link[i]);
	}
	hi_wait(bulks_are_over, c, "the end of a client's bulk");
	hi_reap();
	c->hc_up = false;
	m0_rpc_machine_fini(&c->hc_machine);
}

void hi_client_crash(struct hi_client *c)
{
	hi.hw_cut |= UINT64_C(1) << c->hc_nr;
	c->hc_up = false;
	m0_rpc_machine_stop(&c->hc_machine, true);
	client_down(c);
}

static bool is_settled(void *arg)
{
	struct hi_client *c = arg;
	unsigned          i;

	for (i = 0; i < hi.hw_servers_nr; ++i)
		if (c->hc_link[i].hk_has_conn &&
		    (c->hc_link[i].hk_conn.c_state == M0_RPC_CONN_CONNECTING ||
		     (c->hc_link[i].hk_has_session &&
		      c->hc_link[i].hk_session.s_state ==
			      M0_RPC_SESSION_ESTABLISHING)))
			return false;
	return true;
}

void hi_client_end(struct hi_client *c)
{
	hi_wait(is_settled, c, "the end of handshakes");
	client_down(c);
}

static void conn_begin(struct hi_client *c, struct hi_server *s,
		       struct hi_link *k)
{
	const char       *addrs[] = { s->hs_addr, s->hs_addr2 };
	struct m0_uint128 service = M0_UINT128(9, s->hs_nr);

	CF_EQ(m0_rpc_machine_map_links(&c->hc_machine, service, addrs,
				       hi.hw_linked ? 2 : 1),
	      0, "the map");
	CF_EQ(m0_rpc_conn_init(&k->hk_conn, service, NULL, &c->hc_machine,
			       1 + cf_rand(4)),
	      0, "conn init");
	k->hk_has_conn = true;
	CF_EQ(m0_rpc_conn_establish(&k->hk_conn, M0_TIME_NEVER), 0,
	      "conn establish");
}

static void session_begin(struct hi_link *k)
{
	CF_EQ(m0_rpc_session_init(&k->hk_session, &k->hk_conn), 0,
	      "session init");
	k->hk_has_session = true;
	++k->hk_sessions;
	k->hk_session.s_streams_nr = HI_STREAMS;
	k->hk_session.s_window = 1 + (uint32_t)cf_rand(8);
	CF_EQ(m0_rpc_session_establish(&k->hk_session, M0_TIME_NEVER), 0,
	      "session establish");
}

static m0_time_t bury_by(void)
{
	return m0_time_now() + HI_TIMEOUT_MS / 4 * M0_TIME_ONE_MSEC;
}

/* One that has failed is still the server's. */
static void session_bury(struct hi_link *k)
{
	if (k->hk_session.s_state == M0_RPC_SESSION_FAILED)
		(void)m0_rpc_session_terminate(&k->hk_session, bury_by());
	else if (k->hk_session.s_state == M0_RPC_SESSION_TERMINATED)
		session_end(k);
}

static bool link_tend(struct hi_client *c, struct hi_server *s,
		      struct hi_link *k)
{
	uint32_t conn;

	if (k->hk_has_session)
		session_bury(k);
	conn = k->hk_has_conn ? k->hk_conn.c_state : M0_RPC_CONN_TERMINATED;
	if (conn == M0_RPC_CONN_FAILED && !k->hk_has_session)
		(void)m0_rpc_conn_terminate(&k->hk_conn, bury_by());
	if (conn == M0_RPC_CONN_TERMINATED && !k->hk_has_session) {
		conn_end(k);
		conn_begin(c, s, k);
		return false;
	}
	if (conn != M0_RPC_CONN_ACTIVE)
		return false;
	if (!k->hk_has_session)
		session_begin(k);
	return hi_is_one_of(k->hk_session.s_state,
			    1 << M0_RPC_SESSION_IDLE |
				    1 << M0_RPC_SESSION_BUSY);
}

bool hi_client_tend(struct hi_client *c)
{
	bool     all = c->hc_up;
	unsigned i;

	for (i = 0; c->hc_up && i < hi.hw_servers_nr; ++i)
		all = link_tend(c, &hi.hw_server[i], &c->hc_link[i]) && all;
	return all;
}
