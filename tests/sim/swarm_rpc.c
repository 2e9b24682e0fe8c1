/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Services and their clients: update streams, and requests outside of them. */
#include "swarm.h"

enum {
	OP_APPEND = 100,
	OP_ECHO,
	OP_REPLY,
	OP_BULK,
	DISK_BYTES = 1 << 20,
	MSG_BYTES = 4096,
	QUEUE_LEN = 4,
	MEET_MS = 90 * 1000,
	JUDGE_MS = 2000,
	EXPIRES_MS = 20 * 1000
};

static struct m0_rpc_item_type_ops ops[4];
static struct m0_rpc_item_type     types[4] = {
	    { .rit_opcode = OP_APPEND,
	      .rit_ops = &ops[0],
	      .rit_flags = M0_RPC_ITEM_TYPE_REQUEST | M0_RPC_ITEM_TYPE_MUTABO,
	      .rit_name = "append" },
	    { .rit_opcode = OP_ECHO,
	      .rit_ops = &ops[1],
	      .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	      .rit_name = "echo" },
	    { .rit_opcode = OP_REPLY,
	      .rit_ops = &ops[2],
	      .rit_flags = M0_RPC_ITEM_TYPE_REPLY,
	      .rit_name = "reply" },
	    { .rit_opcode = OP_BULK,
	      .rit_ops = &ops[3],
	      .rit_flags = M0_RPC_ITEM_TYPE_REQUEST,
	      .rit_name = "bulk" },
};

/* -- the service --------------------------------------------------------------- */

static struct sw_item *item_of(struct m0_rpc_item *request)
{
	struct m0_rpc_raw *raw = m0_rpc_raw_of(request);
	struct sw_item    *item;
	uint32_t           nr;

	SW_TRUE(raw->rr_nr >= sizeof item->i_body, "a request of %lu bytes",
		(unsigned long)raw->rr_nr);
	memcpy(&nr, raw->rr_data, sizeof nr);
	SW_TRUE(nr < sw.w_items_nr, "a request %u", nr);
	item = &sw.w_item[nr];
	SW_TRUE(memcmp(raw->rr_data, &item->i_body, sizeof item->i_body) == 0,
		"request %u is not as sent", nr);
	SW_TRUE(&item->i_server->n_rpc == request->ri_rmachine,
		"request %u at the wrong service", nr);
	return item;
}

static void echo(struct m0_rpc_item *request)
{
	struct m0_rpc_raw *raw = m0_rpc_raw_of(request);
	struct m0_rpc_raw *reply =
		m0_rpc_raw_new(&types[2], raw->rr_data, raw->rr_nr);

	SW_TRUE(reply != NULL, "memory");
	m0_rpc_reply_post(request, &reply->rr_item);
}

static struct m0_rpc_slice item_key(const struct sw_item *item, char *text,
				    size_t bytes)
{
	int nr = snprintf(text, bytes, "i%u", item->i_body.b_nr);

	return (struct m0_rpc_slice){ text, (m0_bcount_t)nr };
}

static struct m0_rpc_slice stream_key(const struct sw_item *item, char *text,
				      size_t bytes)
{
	int nr = snprintf(text, bytes, "s%u.%u.%u.%u.%u", item->i_body.b_node,
			  item->i_body.b_life, item->i_body.b_link,
			  item->i_body.b_session, item->i_body.b_stream);

	return (struct m0_rpc_slice){ text, (m0_bcount_t)nr };
}

/* Once, and in the order of the stream. */
static void append(struct m0_rpc_item *request, struct m0_rpc_tx *tx)
{
	struct sw_item     *item = item_of(request);
	struct m0_rpc_slice kept;
	struct m0_rpc_slice key;
	uint64_t            last;
	char                text[80];

	key = item_key(item, text, sizeof text);
	SW_TRUE(m0_rpc_tx_get(tx, key, &kept) == -ENOENT,
		"request %u is executed twice", item->i_body.b_nr);
	SW_TRUE(m0_rpc_tx_put(tx, key, (struct m0_rpc_slice){ "x", 1 }) == 0,
		"put");
	key = stream_key(item, text, sizeof text);
	if (m0_rpc_tx_get(tx, key, &kept) == 0) {
		memcpy(&last, kept.sl_data, sizeof last);
		SW_TRUE(last < item->i_body.b_seq,
			"request %u, number %lu of its stream, comes after %lu",
			item->i_body.b_nr, (unsigned long)item->i_body.b_seq,
			(unsigned long)last);
	}
	SW_TRUE(m0_rpc_tx_put(tx, key,
			      (struct m0_rpc_slice){
				      &item->i_body.b_seq,
				      sizeof item->i_body.b_seq }) == 0,
		"put");
	echo(request);
}

static void append_deliver(struct m0_rpc_machine *machine,
			   struct m0_rpc_item    *request)
{
	(void)machine;
	m0_rpc_update_post(request, append);
}

static void echo_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *request)
{
	(void)machine;
	(void)item_of(request);
	echo(request);
}

static void bulk_deliver(struct m0_rpc_machine *machine,
			 struct m0_rpc_item    *request)
{
	struct sw_item *item = item_of(request);

	sw_bulk_serve(machine, request, item->i_body.b_nr, sizeof item->i_body);
}

int sw_types_up(void)
{
	unsigned i;
	int      rc = 0;

	for (i = 0; i < ARRAY_SIZE(types) && rc == 0; ++i) {
		ops[i] = m0_rpc_raw_ops;
		rc = m0_rpc_item_type_register(&types[i]);
	}
	ops[0].rito_deliver = append_deliver;
	ops[1].rito_deliver = echo_deliver;
	ops[3].rito_deliver = bulk_deliver;
	return rc;
}

void sw_types_down(void)
{
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(types); ++i)
		m0_rpc_item_type_deregister(&types[i]);
}

/* The disk outlives its server. */
void sw_disk_make(struct sw_node *node)
{
	SW_TRUE(m0_rpc_store_volatile_init(&node->n_disk, DISK_BYTES) == 0,
		"a store");
	node->n_disk_ops = *node->n_disk.rst_ops;
	node->n_disk_ops.rso_durable = true;
	node->n_disk.rst_ops = &node->n_disk_ops;
}

void sw_disk_free(struct sw_node *node)
{
	m0_rpc_store_volatile_fini(&node->n_disk);
}

/* -- clients ------------------------------------------------------------------- */

static bool state_in(uint32_t state, uint32_t states)
{
	return states & 1u << state;
}

static m0_time_t soon(uint64_t ms)
{
	return m0_sim_now(sw.w_sim) + ms * M0_TIME_ONE_MSEC;
}

static bool link_is_usable(const struct sw_link *l)
{
	return l->l_has_session &&
	       state_in(l->l_session.s_state,
			1 << M0_RPC_SESSION_IDLE | 1 << M0_RPC_SESSION_BUSY);
}

static bool session_is_over(void *arg)
{
	const struct sw_link *l = arg;

	return state_in(l->l_session.s_state,
			1 << M0_RPC_SESSION_INITIALISED |
				1 << M0_RPC_SESSION_FAILED |
				1 << M0_RPC_SESSION_TERMINATED) &&
	       l->l_session.s_hold_cnt == 0;
}

static bool conn_is_over(void *arg)
{
	const struct sw_link *l = arg;

	return state_in(l->l_conn.c_state, 1 << M0_RPC_CONN_INITIALISED |
						   1 << M0_RPC_CONN_FAILED |
						   1 << M0_RPC_CONN_TERMINATED);
}

static void session_end(struct sw_link *l)
{
	if (!l->l_has_session)
		return;
	if (state_in(l->l_session.s_state, 1 << M0_RPC_SESSION_IDLE))
		(void)m0_rpc_session_terminate(&l->l_session, soon(2000));
	sw_must_ms(session_is_over, l, 30 * 1000, "a session ends");
	m0_rpc_session_fini(&l->l_session);
	l->l_has_session = false;
}

static void conn_end(struct sw_link *l)
{
	if (!l->l_has_conn)
		return;
	if (state_in(l->l_conn.c_state, 1 << M0_RPC_CONN_ACTIVE))
		(void)m0_rpc_conn_terminate(&l->l_conn, soon(2000));
	sw_must_ms(conn_is_over, l, 30 * 1000, "a connection ends");
	m0_rpc_conn_fini(&l->l_conn);
	l->l_has_conn = false;
}

static void conn_begin(struct sw_link *l)
{
	const char       *addrs[] = { l->l_server->n_rpc_addr,
				      l->l_server->n_rail_addr };
	struct m0_uint128 service = { 0 };

	memset(&l->l_conn, 0, sizeof l->l_conn);
	if (sw.w_has_rails) {
		service = (struct m0_uint128){ 7, 1 + l->l_server->n_nr };
		SW_TRUE(m0_rpc_machine_map_links(&l->l_node->n_rpc, service,
						 addrs, 2) == 0,
			"the map");
	}
	SW_TRUE(m0_rpc_conn_init(&l->l_conn, service,
				 sw.w_has_rails ? NULL : addrs[0],
				 &l->l_node->n_rpc, 1 + sw_rand(4)) == 0,
		"conn init");
	l->l_has_conn = true;
	SW_TRUE(m0_rpc_conn_establish(&l->l_conn, soon(10 * 1000)) == 0,
		"conn establish");
}

static void session_begin(struct sw_link *l)
{
	memset(&l->l_session, 0, sizeof l->l_session);
	SW_TRUE(m0_rpc_session_init(&l->l_session, &l->l_conn) == 0,
		"session init");
	l->l_has_session = true;
	++l->l_sessions_nr;
	memset(l->l_seq, 0, sizeof l->l_seq);
	l->l_session.s_streams_nr = SW_STREAMS;
	l->l_session.s_window = 1 + (uint32_t)sw_rand(8);
	SW_TRUE(m0_rpc_session_establish(&l->l_session, soon(10 * 1000)) == 0,
		"session establish");
}

static void link_tend(struct sw_link *l)
{
	uint32_t state;

	if (l->l_has_session) {
		state = l->l_session.s_state;
		if (state == M0_RPC_SESSION_FAILED)
			(void)m0_rpc_session_terminate(&l->l_session,
						       soon(2000));
		else if (state == M0_RPC_SESSION_TERMINATED)
			session_end(l);
		return;
	}
	state = l->l_has_conn ? l->l_conn.c_state : M0_RPC_CONN_TERMINATED;
	if (state == M0_RPC_CONN_FAILED)
		(void)m0_rpc_conn_terminate(&l->l_conn, soon(2000));
	if (state == M0_RPC_CONN_TERMINATED) {
		conn_end(l);
		conn_begin(l);
	}
	if (state == M0_RPC_CONN_ACTIVE)
		session_begin(l);
}

void sw_rpc_tend(struct sw_node *node)
{
	unsigned i;

	for (i = 0; node->n_up && i < node->n_links_nr; ++i)
		link_tend(&node->n_link[i]);
}

/* -- items --------------------------------------------------------------------- */

/* Is its bulk the request's own, and begun anew? */
static bool is_for_request(void)
{
	return m0_sim_seed(sw.w_sim) & 2;
}

/* A connection that was reset is no answer to a request in a stream that had time
 * left. */
static void bulk_judge(const struct sw_item *item, m0_time_t now)
{
	/* Nothing is begun anew by a service that stops. */
	if (item->i_body.b_stream == 0 || !is_for_request() ||
	    !item->i_server->n_up ||
	    item->i_server_life != item->i_server->n_lives ||
	    now + JUDGE_MS * M0_TIME_ONE_MSEC > item->i_expires)
		return;
	SW_TRUE(!M0_IN(item->i_rc,
		       (-ECONNRESET, -ECONNABORTED, -EPIPE, -EHOSTUNREACH,
			-ENETUNREACH, -ECONNREFUSED, -ETIMEDOUT)),
		"bulk of item %u ends with %d", item->i_body.b_nr, item->i_rc);
}

static void replied(struct m0_rpc_item *ri)
{
	struct sw_item *item = container_of(ri, struct sw_item, i_raw.rr_item);
	m0_time_t       now = m0_sim_now(sw.w_sim);
	/* The machine's rc_slack_ns is a second. */
	m0_time_t slack = (1000 + SW_SLACK_MS) * M0_TIME_ONE_MSEC +
			  sw.w_late_ns_max;

	SW_TRUE(++item->i_ended_nr == 1, "item %u ends twice",
		item->i_body.b_nr);
	SW_TRUE(now <= item->i_expires + slack, "item %u ends %lu ms late",
		item->i_body.b_nr,
		(unsigned long)((now - item->i_expires) / M0_TIME_ONE_MSEC));
	item->i_error = ri->ri_error;
	item->i_rc = ri->ri_error != 0 ? 0 : m0_rpc_item_error(ri);
	if (item->i_bulk != NULL) {
		bulk_judge(item, now);
		if (item->i_error == 0 && item->i_rc == 0)
			sw_bulk_look(item->i_bulk);
		sw_bulk_end(item->i_bulk);
	} else if (item->i_error == 0 && item->i_rc == 0) {
		SW_TRUE(memcmp(m0_rpc_raw_of(ri->ri_reply)->rr_data,
			       &item->i_body, sizeof item->i_body) == 0,
			"the reply to item %u is another's", item->i_body.b_nr);
		++sw_sums.s_items_good_nr;
	}
}

static const struct m0_rpc_item_ops item_ops = { .rio_replied = replied };

/* Initialises bulk for the request of the item alone, or for any of the
 * connection. */
static bool bulk_init(struct sw_item *item, struct sw_link *l)
{
	struct m0_rpc_raw *raw = &item->i_raw;

	m0_rpc_raw_init(raw, &types[3], &item->i_body, sizeof item->i_body,
			NULL);
	raw->rr_item.ri_session = &l->l_session;
	item->i_bulk = sw_bulk_new(l->l_node, &l->l_conn,
				   is_for_request() ? &raw->rr_item : NULL,
				   &item->i_body, sizeof item->i_body,
				   item->i_body.b_nr);
	if (item->i_bulk != NULL)
		raw->rr_data = sw_bulk_body(item->i_bulk, &raw->rr_nr);
	return item->i_bulk != NULL;
}

static void item_init(struct sw_item *item, struct sw_link *l, bool bulk)
{
	if (!bulk || !bulk_init(item, l))
		m0_rpc_raw_init(&item->i_raw,
				&types[item->i_body.b_stream == 0],
				&item->i_body, sizeof item->i_body, NULL);
}

static struct sw_item *post(struct sw_link *l, unsigned stream,
			    uint64_t expires_ms, bool bulk)
{
	struct sw_item     *item;
	struct m0_rpc_item *ri;

	if (!link_is_usable(l) ||
	    sw.w_items_nr == SW_ITEMS - (sw.w_is_healed ? 0 : SW_ITEMS_KEPT))
		return NULL;
	if (stream > l->l_session.s_streams_nr)
		stream = 1;
	item = &sw.w_item[sw.w_items_nr];
	memset(item, 0, sizeof *item);
	item->i_body.b_nr = sw.w_items_nr++;
	item->i_body.b_node = l->l_node->n_nr;
	item->i_body.b_life = l->l_node->n_lives;
	item->i_body.b_link = (uint32_t)(l - l->l_node->n_link);
	item->i_body.b_session = l->l_sessions_nr;
	item->i_body.b_stream = stream;
	item->i_body.b_seq = ++l->l_seq[stream];
	item->i_server = l->l_server;
	item->i_server_life = l->l_server->n_lives;
	item_init(item, l, bulk);
	item->i_has_bulk = item->i_bulk != NULL;
	ri = &item->i_raw.rr_item;
	ri->ri_session = &l->l_session;
	ri->ri_stream = stream;
	ri->ri_ops = &item_ops;
	ri->ri_expires = item->i_expires = soon(expires_ms);
	++sw_sums.s_items_nr;
	item->i_is_posted = m0_rpc_post(ri) == 0;
	if (item->i_bulk != NULL && !item->i_is_posted)
		sw_bulk_end(item->i_bulk);
	return item;
}

void sw_post(struct sw_node *node)
{
	uint64_t nr = 1 + sw_rand(6);
	uint64_t expires_ms;
	unsigned link;
	unsigned stream;

	if (node->n_links_nr == 0)
		return;
	link = (unsigned)sw_rand(node->n_links_nr);
	while (nr-- > 0) {
		expires_ms = sw_one_in(8) ? 5 + sw_rand(200) : EXPIRES_MS;
		stream = (unsigned)sw_rand(SW_STREAMS + 1);
		(void)post(&node->n_link[link], stream, expires_ms,
			   sw.w_is_odd && sw_one_in(stream == 0 ? 2 : 4));
	}
}

void sw_item_cancel(void)
{
	struct sw_item *item;

	if (sw.w_items_nr == 0)
		return;
	item = &sw.w_item[sw.w_items_nr - 1 -
			  sw_rand(min64u(sw.w_items_nr, 10))];
	if (item->i_is_posted && item->i_ended_nr == 0)
		m0_rpc_item_cancel(&item->i_raw.rr_item);
}

bool sw_items_are_over(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < sw.w_items_nr; ++i)
		if (sw.w_item[i].i_is_posted && sw.w_item[i].i_ended_nr == 0)
			return false;
	return true;
}

bool sw_bulks_are_over(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < sw.w_items_nr; ++i)
		if (sw.w_item[i].i_bulk != NULL &&
		    !sw_bulk_is_over(sw.w_item[i].i_bulk))
			return false;
	return true;
}

/* Checks the items of a client that goes. */
static void items_reap(const struct sw_node *node)
{
	struct sw_item *item;
	unsigned        i;

	for (i = 0; i < sw.w_items_nr; ++i) {
		item = &sw.w_item[i];
		if (item->i_body.b_node != node->n_nr || item->i_is_reaped)
			continue;
		SW_TRUE(item->i_ended_nr == item->i_is_posted,
			"item %u has ended %u times", i, item->i_ended_nr);
		item->i_is_reaped = true;
		m0_rpc_item_put(&item->i_raw.rr_item);
		if (item->i_bulk == NULL)
			continue;
		SW_TRUE(sw_bulk_is_over(item->i_bulk),
			"the memory of item %u is not free", i);
		sw_bulk_free(item->i_bulk);
		item->i_bulk = NULL;
	}
}

static bool link_is_usable_cb(void *arg)
{
	struct sw_link *l = arg;

	if (!link_is_usable(l))
		link_tend(l);
	return link_is_usable(l);
}

static bool item_is_over(void *arg)
{
	const struct sw_item *item = arg;

	return item->i_ended_nr > 0;
}

void sw_rpc_meet(struct sw_node *node)
{
	struct sw_link *l;
	struct sw_item *item;
	unsigned        i;
	unsigned        stream;

	for (i = 0; i < node->n_links_nr; ++i) {
		l = &node->n_link[i];
		sw_must_ms(link_is_usable_cb, l, MEET_MS,
			   "a session after faults");
		for (stream = 1; stream <= l->l_session.s_streams_nr;
		     ++stream) {
			item = post(l, stream, EXPIRES_MS, false);
			if (item == NULL)
				continue;
			SW_TRUE(item->i_is_posted, "a post after faults");
			sw_must_ms(item_is_over, item, EXPIRES_MS + 2000,
				   "an answer after faults");
			SW_TRUE(item->i_error == 0 && item->i_rc == 0,
				"after faults, %s: request %u of stream %u "
				"ends with %d, %d",
				node->n_name, item->i_body.b_nr, stream,
				item->i_error, item->i_rc);
		}
	}
}

/* Every answered item was executed, and is on the disk. */
void sw_items_check(void)
{
	struct m0_rpc_slice kept;
	struct m0_rpc_tx    tx;
	struct sw_item     *item;
	unsigned            i;
	char                text[80];

	for (i = 0; i < sw.w_items_nr; ++i) {
		item = &sw.w_item[i];
		if (item->i_body.b_stream == 0 || !item->i_is_posted ||
		    item->i_has_bulk || item->i_error != 0 || item->i_rc != 0)
			continue;
		SW_TRUE(item->i_server->n_disk_ops.rso_begin(
				&item->i_server->n_disk, &tx) == 0,
			"a transaction");
		SW_TRUE(m0_rpc_tx_get(&tx, item_key(item, text, sizeof text),
				      &kept) == 0,
			"request %u was answered and not done", i);
		item->i_server->n_disk_ops.rso_abort(&tx);
	}
}

/* -- life ---------------------------------------------------------------------- */

void sw_rpc_up(struct sw_node *node)
{
	struct m0_rpc_cfg cfg;
	unsigned          i;

	node->n_has_rpc = node->n_serves || node->n_links_nr > 0;
	if (!node->n_has_rpc)
		return;
	m0_rpc_cfg_init(&cfg);
	cfg.rc_uuid = (struct m0_uint128){ 9, node->n_nr };
	cfg.rc_incarnation = 1 + node->n_lives;
	cfg.rc_resend_ns = 200 * M0_TIME_ONE_MSEC;
	cfg.rc_resend_max_ns = M0_TIME_ONE_SECOND;
	cfg.rc_window_max = 1 + (uint32_t)sw_rand(16);
	cfg.rc_drain_ns = M0_TIME_ONE_SECOND;
	if (node->n_serves)
		cfg.rc_store = &node->n_disk;
	SW_TRUE(m0_rpc_machine_init(
			&node->n_rpc, &node->n_dom, &cfg, node->n_rpc_addr,
			NULL, M0_BUFFER_ANY_COLOUR, MSG_BYTES, QUEUE_LEN) == 0,
		"a machine");
	if (sw.w_has_rails)
		SW_TRUE(m0_rpc_machine_link_add(&node->n_rpc,
						node->n_rail_addr) == 0,
			"a second address");
	for (i = 0; i < node->n_links_nr; ++i) {
		node->n_link[i].l_node = node;
		node->n_link[i].l_sessions_nr = 0;
	}
}

void sw_rpc_down(struct sw_node *node, bool abort)
{
	unsigned i;

	if (!node->n_has_rpc)
		return;
	m0_rpc_machine_stop(&node->n_rpc, abort);
	for (i = 0; i < node->n_links_nr; ++i) {
		session_end(&node->n_link[i]);
		conn_end(&node->n_link[i]);
	}
	items_reap(node);
	m0_rpc_machine_fini(&node->n_rpc);
}
