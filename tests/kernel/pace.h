/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Measures how long messages and transfers take between two nodes, in a kernel (pace.c) and
 * in a process (pace_user.c). Each message is answered by one before the next leaves.
 *
 * Before it is included: PACE_PRINT(format, ...), and PACE_CHECK(condition).
 */
#ifndef COLIBRI_KERNEL_PACE_H
#define COLIBRI_KERNEL_PACE_H

#include "m0/hist.h"
#include "m0/lnet.h"
#include "m0/net.h"
#include "m0/xlnet.h"

enum {
	SIDES = 2,
	PORT = 20988,
	BYTES = 64,
	BULK_BYTES = 1 << 20
};

struct side {
	struct m0_lnet           *sd_lnet;
	struct m0_net_transfer_mc sd_tm;
	struct m0_net_end_point  *sd_peer;
	struct m0_net_buffer      sd_in;
	struct m0_net_buffer      sd_out;
	/** 1 MiB: active on the first side, passive on the other. */
	struct m0_net_buffer sd_bulk;
	struct m0_semaphore  sd_started;
	struct m0_semaphore  sd_sent;
	struct m0_semaphore  sd_came;
	struct m0_semaphore  sd_moved;
	bool                 sd_answers;
};

static struct side          sides[SIDES];
static struct m0_net_domain dom;
static struct m0_hist       hist;
/* Exchanges; 1 MiB goes a tenth of it. */
static unsigned pace_nr = 2000;
/* Time that the machines and their nodes spin before they sleep; negative: as they do. */
static int pace_spin_ns = -1;

static void tm_event(const struct m0_net_tm_event *ev)
{
	struct side *side = container_of(ev->nte_tm, struct side, sd_tm);

	if (ev->nte_type == M0_NET_TEV_STATE_CHANGE)
		m0_semaphore_up(&side->sd_started);
}

static void buf_event(const struct m0_net_buffer_event *ev)
{
	struct m0_net_buffer *nb = ev->nbe_buffer;
	struct side *side = container_of(nb->nb_tm, struct side, sd_tm);

	if (nb == &side->sd_bulk) {
		m0_semaphore_up(&side->sd_moved);
	} else if (ev->nbe_status != 0) {
		return;
	} else if (nb == &side->sd_out) {
		m0_semaphore_up(&side->sd_sent);
	} else {
		PACE_CHECK(m0_net_buffer_add(nb, &side->sd_tm) == 0);
		if (side->sd_answers)
			PACE_CHECK(m0_net_buffer_add(&side->sd_out,
						     &side->sd_tm) == 0);
		m0_semaphore_up(&side->sd_came);
	}
}

static const struct m0_net_tm_callbacks tm_calls = { .ntc_event_cb = tm_event };
static const struct m0_net_buffer_callbacks buf_calls = {
	.nbc_cb = { [M0_NET_QT_MSG_RECV] = buf_event,
		    [M0_NET_QT_MSG_SEND] = buf_event,
		    [M0_NET_QT_PASSIVE_BULK_RECV] = buf_event,
		    [M0_NET_QT_ACTIVE_BULK_SEND] = buf_event },
};

static int node_open(struct side *side, unsigned i)
{
	static char         why[M0_LNET_WHY_BYTES];
	struct m0_lnet_cfg *cfg;
	int                 rc;

	M0_ALLOC_PTR(cfg);
	if (cfg == NULL)
		return -ENOMEM;
	m0_lnet_cfg_default(cfg);
	rc = m0_lnet_cfg_networks(
		cfg, i == 0 ? "tcp(127.0.0.1)" : "tcp(127.0.0.2)", why);
	cfg->lc_port = PORT;
	cfg->lc_accept = M0_LNET_ACCEPT_ALL;
	if (pace_spin_ns >= 0)
		cfg->lc_spin_ns = pace_spin_ns;
	if (rc == 0)
		rc = m0_lnet_open(&side->sd_lnet, cfg, why);
	if (rc != 0)
		PACE_PRINT("%s\n", why);
	m0_free(cfg);
	return rc ?: m0_net_lnet_use(side->sd_lnet);
}

static int buf_make(struct m0_net_buffer *nb, enum m0_net_queue_type qt,
		    unsigned bytes)
{
	int rc = m0_bufvec_alloc(&nb->nb_buffer, 1, bytes);

	nb->nb_callbacks = &buf_calls;
	nb->nb_qtype = qt;
	nb->nb_length = bytes;
	nb->nb_min_receive_size = bytes;
	nb->nb_max_receive_msgs = 1;
	return rc ?: m0_net_buffer_register(nb, &dom);
}

static int side_open(struct side *side, unsigned i)
{
	static const char *const addr[] = { "127.0.0.1@tcp:12345:40:1",
					    "127.0.0.2@tcp:12345:40:2" };
	int                      rc;

	(void)m0_semaphore_init(&side->sd_started, 0);
	(void)m0_semaphore_init(&side->sd_sent, 0);
	(void)m0_semaphore_init(&side->sd_came, 0);
	(void)m0_semaphore_init(&side->sd_moved, 0);
	side->sd_answers = i == 1;
	side->sd_tm.ntm_callbacks = &tm_calls;
	rc = m0_net_tm_init(&side->sd_tm, &dom)
		     ?: m0_net_tm_start(&side->sd_tm, addr[i]);
	if (rc != 0)
		return rc;
	m0_semaphore_down(&side->sd_started);
	rc = m0_net_end_point_create(&side->sd_peer, &side->sd_tm, addr[!i]) ?:
	     buf_make(&side->sd_in, M0_NET_QT_MSG_RECV, BYTES) ?:
	     buf_make(&side->sd_out, M0_NET_QT_MSG_SEND, BYTES) ?:
	     buf_make(&side->sd_bulk,
		      i == 0 ? M0_NET_QT_ACTIVE_BULK_SEND
			     : M0_NET_QT_PASSIVE_BULK_RECV,
		      BULK_BYTES);
	side->sd_out.nb_ep = side->sd_peer;
	return rc ?: m0_net_buffer_add(&side->sd_in, &side->sd_tm);
}

static void side_close(struct side *side)
{
	m0_net_end_point_put(side->sd_peer);
	(void)m0_net_tm_stop(&side->sd_tm, true);
	m0_semaphore_down(&side->sd_started);
	m0_net_buffer_deregister(&side->sd_in, &dom);
	m0_net_buffer_deregister(&side->sd_out, &dom);
	m0_net_buffer_deregister(&side->sd_bulk, &dom);
	m0_bufvec_free(&side->sd_in.nb_buffer);
	m0_bufvec_free(&side->sd_out.nb_buffer);
	m0_bufvec_free(&side->sd_bulk.nb_buffer);
	m0_net_desc_free(&side->sd_bulk.nb_desc);
	while (m0_net_tm_fini(&side->sd_tm) == -EBUSY)
		(void)m0_nanosleep(M0_TIME_ONE_MSEC, NULL);
}

static int exchange(void)
{
	m0_time_t begin = m0_time_now();
	m0_time_t took;
	int       rc = m0_net_buffer_add(&sides[0].sd_out, &sides[0].sd_tm);

	if (rc != 0)
		return rc;
	m0_semaphore_down(&sides[0].sd_sent);
	if (!m0_semaphore_timeddown(&sides[0].sd_came, m0_time_from_now(10, 0)))
		return -ETIMEDOUT;
	took = m0_time_sub(m0_time_now(), begin);
	m0_semaphore_down(&sides[1].sd_sent);
	m0_hist_record(&hist, took);
	return 0;
}

/* 1 MiB by a PUT, until both sides have its event. */
static int transfer(void)
{
	struct side *from = &sides[0];
	struct side *to = &sides[1];
	m0_time_t    begin;
	int          rc;

	m0_net_desc_free(&to->sd_bulk.nb_desc);
	m0_net_desc_free(&from->sd_bulk.nb_desc);
	to->sd_bulk.nb_ep = to->sd_peer;
	to->sd_bulk.nb_length = 0;
	rc = m0_net_buffer_add(&to->sd_bulk, &to->sd_tm)
		     ?: m0_net_desc_copy(&to->sd_bulk.nb_desc,
					 &from->sd_bulk.nb_desc);
	if (rc != 0)
		return rc;
	from->sd_bulk.nb_length = BULK_BYTES;
	begin = m0_time_now();
	rc = m0_net_buffer_add(&from->sd_bulk, &from->sd_tm);
	if (rc != 0)
		return rc;
	m0_semaphore_down(&to->sd_moved);
	m0_semaphore_down(&from->sd_moved);
	m0_hist_record(&hist, m0_time_sub(m0_time_now(), begin));
	return 0;
}

/* The median comes first, and is what the story compares. */
static int measure(const char *what, unsigned all, int (*once)(void))
{
	unsigned i;
	int      rc = 0;

	m0_hist_init(&hist);
	for (i = 0; i < all && rc == 0; ++i)
		rc = once();
	PACE_PRINT("%s: 50%% %llu us, least %llu, 90%% %llu, 99%% %llu, most "
		   "%llu, of %u\n",
		   what,
		   (unsigned long long)m0_hist_percentile(&hist, 5000) / 1000,
		   (unsigned long long)m0_hist_min(&hist) / 1000,
		   (unsigned long long)m0_hist_percentile(&hist, 9000) / 1000,
		   (unsigned long long)m0_hist_percentile(&hist, 9900) / 1000,
		   (unsigned long long)m0_hist_max(&hist) / 1000, i);
	return rc;
}

static int pace(void)
{
	return measure("64 B and back", pace_nr, exchange)
		       ?: measure("1 MiB PUT", pace_nr / 10, transfer);
}

static int run(void)
{
	int rc;

	rc = m0_net_init() ?: node_open(&sides[0], 0) ?:
	     node_open(&sides[1], 1) ?:
	     m0_net_domain_init(&dom, &m0_lnet_xprt) ?:
	     side_open(&sides[0], 0) ?: side_open(&sides[1], 1);
	if (rc != 0)
		return rc;
	rc = pace();
	side_close(&sides[0]);
	side_close(&sides[1]);
	(void)m0_net_domain_fini(&dom);
	(void)m0_net_lnet_unuse(sides[0].sd_lnet);
	(void)m0_net_lnet_unuse(sides[1].sd_lnet);
	m0_lnet_close(sides[0].sd_lnet);
	m0_lnet_close(sides[1].sd_lnet);
	(void)m0_net_fini();
	return rc;
}

#endif /* COLIBRI_KERNEL_PACE_H */
