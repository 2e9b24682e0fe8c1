/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnet/lnd_suite.h"

const struct kind        *kind;
struct side               sides[2];
struct msg                msgs[MSGS_MAX];
unsigned                  msgs_nr;
static struct m0_sim      sim;
static struct m0_lnet_cfg cfg;

/* -- memory ---------------------------------------------------------------- */

uint8_t pattern(const struct msg *msg, size_t at)
{
	return (uint8_t)((at + (msg->ms_as != 0 ? msg->ms_as - 1
						: (size_t)(msg - msgs)) *
				       7) %
			 251);
}

/* -- the engine ------------------------------------------------------------ */

static size_t tx_header(struct m0_lnd_tx *tx, bool large,
			uint8_t buf[M0_LND_HDR_BYTES_MAX])
{
	unsigned id = (unsigned)(container_of(tx, struct msg, ms_tx) - msgs);

	memset(buf, 0, M0_LND_HDR_BYTES_MAX);
	memcpy(buf, &id, sizeof id);
	return large ? 96 : 72;
}

static void tx_done(struct m0_lnd_tx *tx, int status, enum m0_lnd_health health)
{
	struct msg *msg = container_of(tx, struct msg, ms_tx);

	assert_true((status == 0) == (health == M0_LND_OK));
	++msg->ms_done_nr;
	msg->ms_status = status;
}

static int rx_begin(struct m0_lnd_ni *ni, struct m0_lnd_rx *rx,
		    const void *bytes, bool large)
{
	struct msg *msg;
	unsigned    id;

	(void)ni;
	(void)large;
	memcpy(&id, bytes, sizeof id);
	assert_true(id < msgs_nr);
	msg = &msgs[id];
	/* The words are 0 at first, and ours while the header waits. */
	assert_int_equal(rx->lr_words[0], msg->ms_offers_nr);
	assert_true(m0_lnet_nid_eq(&rx->lr_nid, &sides[0].sd_ni.ldn_nid));
	if (msg->ms_offers_nr < msg->ms_puts_off_nr) {
		rx->lr_words[0] = ++msg->ms_offers_nr;
		return -EAGAIN;
	}
	rx->lr_words[0] = 0;
	rx->lr_kept = false;
	if (msg->ms_rc != 0)
		return msg->ms_rc;
	++msg->ms_begun_nr;
	msg->ms_rx = rx;
	rx->lr_priv = msg;
	rx->lr_payload.lpy_bytes = min64u(msg->ms_bytes, msg->ms_want);
	rx->lr_payload.lpy_offset = 0;
	rx->lr_payload.lpy_vec = NULL;
	if (rx->lr_payload.lpy_bytes > 0) {
		vec_make(&msg->ms_sink, rx->lr_payload.lpy_bytes);
		rx->lr_payload.lpy_vec = &msg->ms_sink;
	}
	rx->lr_discard_bytes = msg->ms_bytes - rx->lr_payload.lpy_bytes;
	rx->lr_cancelled = msg->ms_cancels;
	rx->lr_reports = msg->ms_reports;
	if (msg->ms_pipe != NULL)
		rx->lr_pipe = msg->ms_pipe;
	return 0;
}

/* Each report is of more bytes than the last one, which are there. */
static void rx_more(struct m0_lnd_rx *rx, m0_bcount_t bytes)
{
	struct msg *msg = rx->lr_priv;
	m0_bcount_t i;

	assert_true(msg->ms_reports);
	assert_int_equal(msg->ms_ended_nr, 0);
	assert_true(bytes > msg->ms_reported);
	assert_true(bytes < rx->lr_payload.lpy_bytes);
	for (i = msg->ms_reported; i < bytes && msg->ms_pipe == NULL; ++i)
		if (*byte_at(&msg->ms_sink, i) != pattern(msg, i))
			fail_msg("byte %zu was reported", (size_t)i);
	++msg->ms_reports_nr;
	msg->ms_reported = bytes;
}

static void rx_done(struct m0_lnd_rx *rx, int status, enum m0_lnd_health health)
{
	struct msg *msg = rx->lr_priv;

	assert_ptr_equal(msg->ms_rx, rx);
	assert_true((status == 0) == (health == M0_LND_OK));
	++msg->ms_ended_nr;
	msg->ms_rx_status = status;
}

static void peer_down(struct m0_lnd_ni *ni, const struct m0_lnet_nid *nid,
		      uint32_t pid, int status)
{
	(void)ni;
	(void)nid;
	(void)pid;
	(void)status;
}

static void ni_status(struct m0_lnd_ni *ni)
{
	(void)ni;
}

static void ni_stopped(struct m0_lnd_ni *ni)
{
	++container_of(ni, struct side, sd_ni)->sd_stopped_nr;
}

static const struct m0_lnd_up_ops up_ops = {
	.lu_tx_header = tx_header,
	.lu_tx_done = tx_done,
	.lu_rx_begin = rx_begin,
	.lu_rx_more = rx_more,
	.lu_rx_done = rx_done,
	.lu_peer_down = peer_down,
	.lu_ni_status = ni_status,
	.lu_ni_stopped = ni_stopped,
};

/* -- sides ----------------------------------------------------------------- */

static m0_time_t side_step(struct m0_strand *strand, m0_time_t now)
{
	struct side *side = container_of(strand, struct side, sd_strand);
	m0_time_t    next;
	bool         more;

	more = m0_reactor_pass(side->sd_reactor, now);
	side->sd_reactor->rtr_called = false;
	next = side->sd_lnd->ld_ops->ldo_step(side->sd_lnd, now);
	m0_reactor_flush(side->sd_reactor);
	return more || next <= now ? now : next;
}

static const struct m0_strand_ops side_ops = { .so_step = side_step };

/* The receiver. */
struct side *other(void)
{
	return kind->kd_row == &m0_lo_row ? &sides[0] : &sides[1];
}

static void side_open(struct side *side, unsigned i)
{
	const struct m0_host_ops *host = m0_host_ops_get();
	struct m0_lnd_env         env = { .lev_cfg = &cfg, .lev_seed = 5 + i };
	char                      why[M0_LND_WHY_BYTES] = "";
	int                       rc;

	M0_SET0(side);
	assert_int_equal(host->hso_reactor_create(&side->sd_reactor), 0);
	env.lev_now = m0_time_now();
	env.lev_reactor = side->sd_reactor;
	side->sd_reactor->rtr_now = env.lev_now;
	assert_int_equal(kind->kd_row->lrw_create(&side->sd_lnd, &env, why), 0);
	assert_int_equal(
		m0_lnet_nid_parse(&side->sd_ni.ldn_nid, kind->kd_nid[i]), 0);
	side->sd_ni.ldn_incarnation = 100 + i;
	side->sd_ni.ldn_ops = &up_ops;
	side->sd_ni.ldn_lnd = side->sd_lnd;
	side->sd_ni.ldn_peer_credits = 8;
	side->sd_ni.ldn_credits = 256;
	rc = side->sd_lnd->ld_ops->ldo_ni_start(side->sd_lnd, &side->sd_ni,
						why);
	if (rc != 0)
		print_message("%s: %s\n", kind->kd_name, why);
	assert_int_equal(rc, 0);
	assert_true(side->sd_ni.ldn_up);
	m0_strand_init(&side->sd_strand, &side_ops, kind->kd_nid[i]);
	if (!kind->kd_is_sim)
		return;
	side->sd_reactor->rtr_ops->rtro_strand_set(side->sd_reactor,
						   &side->sd_strand);
	assert_int_equal(m0_strand_start(&side->sd_strand, NULL), 0);
}

static void side_close(struct side *side)
{
	if (kind->kd_is_sim) {
		side->sd_reactor->rtr_ops->rtro_strand_set(side->sd_reactor,
							   NULL);
		m0_strand_stop(&side->sd_strand);
	}
	m0_strand_fini(&side->sd_strand);
	side->sd_lnd->ld_ops->ldo_fini(side->sd_lnd);
	side->sd_reactor->rtr_ops->rtro_destroy(side->sd_reactor);
}

void turn(void)
{
	struct side *side;

	if (kind->kd_is_sim) {
		m0_strand_wake(&sides[0].sd_strand);
		m0_strand_wake(&sides[1].sd_strand);
		m0_sim_run_ms(&sim, 1);
		return;
	}
	for (side = sides; side <= other(); ++side)
		(void)side_step(&side->sd_strand, m0_time_now());
}

void stop(struct side *side)
{
	side->sd_is_stopping = true;
	side->sd_lnd->ld_ops->ldo_ni_stop(&side->sd_ni);
}

int case_open(void **state)
{
	kind = *state;
	memset(msgs, 0, sizeof msgs);
	msgs_nr = 0;
	m0_lnet_cfg_default(&cfg);
	cfg.lc_accept = M0_LNET_ACCEPT_ALL;
	cfg.lc_src_port_min = 0;
	cfg.lc_src_port_max = 0;
	cfg.lc_port = (uint16_t)(20000 + (unsigned)getpid() % 20000);
	cfg.lc_reconnect_min_ms = 10;
	cfg.lc_timeout_ms = 3000;
	cfg.lc_same_host = kind->kd_is_near;
	if (kind->kd_is_sim) {
		static const struct m0_sim_stream_cfg streams = {
			.ssc_latency_ns = 100000
		};

		m0_sim_init_cfg(&sim, 7, &m0_sim_cfg_calm);
		m0_sim_net_init(&sim, &streams);
		m0_sim_host_add("a", "10.0.0.1");
		m0_sim_host_add("b", "10.0.0.2");
	}
	side_open(&sides[0], 0);
	if (other() != &sides[0])
		side_open(&sides[1], 1);
	return 0;
}

/* The connections are of the kind that the row names. */
static void way_check(struct side *side)
{
	struct m0_lnd_ni_info info = lnd_info(&side->sd_ni);

	assert_int_equal(info.ldi_near_nr,
			 kind->kd_is_near ? info.ldi_connections_nr : 0);
	/* A peer that is not there is looked for over the network. */
	if (info.ldi_connections_nr > 0)
		assert_int_equal(info.ldi_fell_back_nr, 0);
}

int case_close(void **state)
{
	struct side *side;
	unsigned     i;

	(void)state;
	for (side = sides; side <= other(); ++side)
		if (!side->sd_is_stopping) {
			way_check(side);
			stop(side);
		}
	UNTIL(sides[0].sd_stopped_nr == 1 && other()->sd_stopped_nr == 1);
	for (side = sides; side <= other(); ++side) {
		assert_false(side->sd_ni.ldn_up);
		side_close(side);
	}
	for (i = 0; i < msgs_nr; ++i) {
		/* Exactly once, whatever became of it. */
		assert_int_equal(msgs[i].ms_done_nr, 1);
		assert_int_equal(msgs[i].ms_begun_nr, msgs[i].ms_ended_nr);
		vec_free(&msgs[i].ms_vec);
		vec_free(&msgs[i].ms_sink);
	}
	if (kind->kd_is_sim) {
		m0_sim_net_fini();
		m0_sim_fini(&sim);
	}
	return 0;
}

/* A message from the first side to the other; not sent yet. */
struct msg *msg_make(size_t bytes)
{
	struct msg *msg = &msgs[msgs_nr++];
	size_t      i;

	assert_true(msgs_nr <= MSGS_MAX);
	msg->ms_bytes = bytes;
	msg->ms_want = SIZE_MAX;
	vec_make(&msg->ms_vec, bytes);
	for (i = 0; i < bytes; ++i)
		*byte_at(&msg->ms_vec, i) = pattern(msg, i);
	msg->ms_tx.ltx_nid = other()->sd_ni.ldn_nid;
	msg->ms_tx.ltx_pid = M0_LNET_PID_LUSTRE;
	msg->ms_tx.ltx_payload.lpy_vec = bytes > 0 ? &msg->ms_vec : NULL;
	msg->ms_tx.ltx_payload.lpy_bytes = bytes;
	msg->ms_tx.ltx_there = bytes;
	msg->ms_tx.ltx_deadline = m0_time_from_now(LIMIT_S, 0);
	return msg;
}

struct msg *send_(struct msg *msg)
{
	sides[0].sd_lnd->ld_ops->ldo_xmit(&sides[0].sd_ni, &msg->ms_tx);
	return msg;
}

bool has_arrived(const struct msg *msg)
{
	return msg->ms_done_nr == 1 && msg->ms_ended_nr == 1;
}

void check(struct msg *msg)
{
	size_t i;

	assert_int_equal(msg->ms_status, 0);
	assert_int_equal(msg->ms_rx_status, 0);
	for (i = 0; i < min64u(msg->ms_bytes, msg->ms_want); ++i)
		if (*byte_at(&msg->ms_sink, i) != pattern(msg, i))
			fail_msg("byte %zu of message %u", i,
				 (unsigned)(msg - msgs));
}

/* Does the driver take them? */
bool grows(void)
{
	const struct m0_lnd_ops *ops = sides[0].sd_lnd->ld_ops;

	assert_true(!sides[0].sd_ni.ldn_grows || ops->ldo_tx_more != NULL);
	assert_true((ops->ldo_tx_more == NULL) == (ops->ldo_tx_abort == NULL));
	return sides[0].sd_ni.ldn_grows;
}

uint64_t conns_nr(struct side *side)
{
	return lnd_info(&side->sd_ni).ldi_connections_nr;
}

/* A connection of each type is open, if the driver has connections. */
void warm_up(void)
{
	unsigned i;

	send_(msg_make(64));
	send_(msg_make(64 << 10));
	UNTIL(has_arrived(&msgs[0]) && has_arrived(&msgs[1]));
	for (i = 0; i < 20; ++i)
		turn();
	if (kind->kd_row == &m0_ksock_row)
		UNTIL(conns_nr(&sides[0]) == CONNS_NR &&
		      conns_nr(&sides[1]) == CONNS_NR);
}
