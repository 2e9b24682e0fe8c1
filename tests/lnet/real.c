/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "lnet/real.h"

static const m0_time_t limit_ns = 20 * M0_TIME_ONE_SECOND;

uint16_t real_port(void)
{
	return (uint16_t)(20000 + (unsigned)getpid() % 12000);
}

void real_cfg(struct m0_lnet_cfg *cfg, unsigned last)
{
	char why[M0_LNET_WHY_BYTES];
	char text[64];

	m0_lnet_cfg_default(cfg);
	snprintf(text, sizeof text, "tcp(127.0.0.%u)", last);
	assert_int_equal(m0_lnet_cfg_networks(cfg, text, why), 0);
	cfg->lc_port = real_port();
	cfg->lc_accept = M0_LNET_ACCEPT_ALL;
	cfg->lc_src_port_max = 0;
	cfg->lc_src_port_min = 0;
	cfg->lc_transaction_timeout_ms = 3000;
	cfg->lc_timeout_ms = 3000;
	cfg->lc_reconnect_min_ms = 10;
	cfg->lc_reconnect_max_ms = 100;
}

static void log_event(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	struct real_node *node = container_of(eq, struct real_node, rn_cb);
	struct real_log  *log = &node->rn_log;

	m0_mutex_lock(&log->rl_lock);
	if (log->rl_nr < REAL_LOG_MAX)
		log->rl_events[log->rl_nr++] = *ev;
	m0_mutex_unlock(&log->rl_lock);
}

void real_node_open(struct real_node *node, const struct m0_lnet_cfg *cfg)
{
	struct m0_lnet_process_id id;
	char                      why[M0_LNET_WHY_BYTES] = "";
	int                       rc;

	M0_SET0(node);
	rc = m0_lnet_open(&node->rn_lnet, cfg, why);
	if (rc != 0)
		print_message("open: %d: %s\n", rc, why);
	assert_int_equal(rc, 0);
	node->rn_inline = cfg->lc_inline;
	assert_int_equal(m0_lnet_get_id(node->rn_lnet, 1, &id), 0);
	node->rn_nid = id.lp_nid;
	m0_mutex_init(&node->rn_log.rl_lock);
	node->rn_log.rl_events =
		calloc(REAL_LOG_MAX, sizeof *node->rn_log.rl_events);
	assert_non_null(node->rn_log.rl_events);
	m0_lnet_eq_init(&node->rn_eq, node->rn_lnet, NULL, 0);
	m0_lnet_eq_init(&node->rn_cb, node->rn_lnet, log_event, 0);
}

void real_node_close(struct real_node *node)
{
	struct m0_lnet_event ev;

	if (node->rn_lnet == NULL)
		return;
	m0_lnet_close(node->rn_lnet);
	while (m0_lnet_eq_get(&node->rn_eq, &ev) == 0)
		;
	m0_lnet_eq_fini(&node->rn_eq);
	m0_lnet_eq_fini(&node->rn_cb);
	m0_mutex_fini(&node->rn_log.rl_lock);
	free(node->rn_log.rl_events);
	node->rn_lnet = NULL;
}

void real_open(struct real *re, enum real_mode mode,
	       void (*tune)(struct m0_lnet_cfg *cfg))
{
	struct m0_lnet_cfg cfg;

	M0_SET0(re);
	re->re_mode = mode;
	real_cfg(&cfg, 1);
	cfg.lc_inline = mode == REAL_INLINE;
	if (tune != NULL)
		tune(&cfg);
	real_node_open(&re->re_a, &cfg);
	real_cfg(&cfg, 2);
	cfg.lc_inline = mode != REAL_THREADS;
	if (tune != NULL)
		tune(&cfg);
	real_node_open(&re->re_b, &cfg);
}

void real_close(struct real *re)
{
	real_node_close(&re->re_a);
	real_node_close(&re->re_b);
}

/* -- waiting --------------------------------------------------------------- */

void real_turn(struct real *re)
{
	bool did = false;

	if (re->re_a.rn_lnet != NULL && re->re_a.rn_inline)
		did = m0_lnet_progress(re->re_a.rn_lnet) || did;
	if (re->re_b.rn_lnet != NULL && re->re_b.rn_inline)
		did = m0_lnet_progress(re->re_b.rn_lnet) || did;
	if (!did)
		(void)sched_yield();
}

void real_until(struct real *re, bool (*cond)(void *arg), void *arg)
{
	m0_time_t end = m0_time_add(m0_time_now(), limit_ns);

	while (!cond(arg)) {
		assert_true(m0_time_now() < end);
		real_turn(re);
	}
}

static void probe_done(struct m0_lnet_probe *probe)
{
	__atomic_store_n((bool *)probe->pr_user, true, __ATOMIC_RELEASE);
}

static bool probe_is_done(void *done)
{
	return __atomic_load_n((bool *)done, __ATOMIC_ACQUIRE);
}

int real_probe(struct real *re, struct real_node *node,
	       struct m0_lnet_probe *probe)
{
	bool done = false;

	probe->pr_done = probe_done;
	probe->pr_user = &done;
	assert_int_equal(m0_lnet_probe(node->rn_lnet, probe), 0);
	real_until(re, probe_is_done, &done);
	return probe->pr_status;
}

void real_event(struct real *re, struct real_node *node,
		struct m0_lnet_event *ev)
{
	m0_time_t end = m0_time_add(m0_time_now(), limit_ns);

	if (re->re_mode == REAL_THREADS) {
		assert_int_equal(m0_lnet_eq_wait(&node->rn_eq, ev, end), 0);
		return;
	}
	while (m0_lnet_eq_get(&node->rn_eq, ev) != 0) {
		assert_true(m0_time_now() < end);
		real_turn(re);
	}
}

void real_expect(struct real *re, struct real_node *node,
		 enum m0_lnet_event_type type, int status,
		 struct m0_lnet_event *ev)
{
	real_event(re, node, ev);
	if (ev->ev_type != type || ev->ev_status != status)
		print_message("event %d, status %d (%s)\n", (int)ev->ev_type,
			      ev->ev_status, m0_errname(ev->ev_status));
	assert_int_equal(ev->ev_type, type);
	assert_int_equal(ev->ev_status, status);
}

void real_none(struct real_node *node)
{
	struct m0_lnet_event ev;

	assert_int_equal(m0_lnet_eq_get(&node->rn_eq, &ev), -EAGAIN);
}

unsigned real_log_count(struct real_node *node, int type)
{
	struct real_log *log = &node->rn_log;
	unsigned         nr = 0;
	unsigned         i;

	m0_mutex_lock(&log->rl_lock);
	if (type == -1)
		nr = log->rl_nr;
	for (i = 0; type != -1 && i < log->rl_nr; ++i)
		nr += (int)log->rl_events[i].ev_type == type;
	m0_mutex_unlock(&log->rl_lock);
	return nr;
}

void real_log_until(struct real *re, struct real_node *node, int type,
		    unsigned nr)
{
	m0_time_t end = m0_time_add(m0_time_now(), limit_ns);

	while (real_log_count(node, type) < nr) {
		assert_true(m0_time_now() < end);
		real_turn(re);
	}
}

/* -- memory ---------------------------------------------------------------- */

void real_vec_init(struct real_vec *vec, void *data, size_t bytes, size_t seg)
{
	uint32_t nr = (uint32_t)((bytes + seg - 1) / seg);
	uint32_t i;

	vec->rv_counts = calloc(nr + 1, sizeof *vec->rv_counts);
	vec->rv_bufs = calloc(nr + 1, sizeof *vec->rv_bufs);
	assert_true(vec->rv_counts != NULL && vec->rv_bufs != NULL);
	for (i = 0; i < nr; ++i) {
		vec->rv_bufs[i] = (char *)data + i * seg;
		vec->rv_counts[i] = min64u(seg, bytes - i * seg);
	}
	vec->rv_vec.ov_vec.v_nr = nr;
	vec->rv_vec.ov_vec.v_count = vec->rv_counts;
	vec->rv_vec.ov_buf = vec->rv_bufs;
}

void real_vec_fini(struct real_vec *vec)
{
	free(vec->rv_counts);
	free(vec->rv_bufs);
}

void real_fill(void *data, size_t bytes, uint64_t seed)
{
	uint8_t *at = data;
	size_t   i;

	for (i = 0; i < bytes; ++i)
		at[i] = (uint8_t)(m0_rnd64(&seed) >> 24);
}

bool real_is(const void *data, size_t bytes, uint64_t seed)
{
	const uint8_t *at = data;
	size_t         i;

	for (i = 0; i < bytes; ++i) {
		if (at[i] != (uint8_t)(m0_rnd64(&seed) >> 24))
			return false;
	}
	return true;
}

struct m0_lnet_me_attr real_me(uint64_t match_bits)
{
	return (struct m0_lnet_me_attr){
		.mea_portal = REAL_PORTAL,
		.mea_id = { .lp_nid = m0_lnet_nid_any,
			    .lp_pid = M0_LNET_PID_ANY },
		.mea_match_bits = match_bits,
	};
}

struct m0_lnet_md_attr real_md(const struct real_vec *vec, size_t bytes,
			       unsigned options, struct m0_lnet_eq *eq)
{
	return (struct m0_lnet_md_attr){
		.mda_vec = vec == NULL ? NULL : &vec->rv_vec,
		.mda_length = bytes,
		.mda_threshold = M0_LNET_MD_THRESHOLD_INF,
		.mda_options = options,
		.mda_eq = eq,
	};
}

struct m0_lnet_op real_op(const struct real_node *to, uint64_t match_bits)
{
	return (struct m0_lnet_op){
		.lo_self = m0_lnet_nid_any,
		.lo_target = { .lp_nid = to->rn_nid,
			       .lp_pid = M0_LNET_PID_LUSTRE },
		.lo_portal = REAL_PORTAL,
		.lo_match_bits = match_bits,
	};
}

struct m0_lnet_handle real_attach(struct real_node             *node,
				  const struct m0_lnet_me_attr *me,
				  const struct m0_lnet_md_attr *md,
				  struct m0_lnet_handle        *ret_me)
{
	struct m0_lnet_handle handle;
	struct m0_lnet_handle ret;

	assert_int_equal(m0_lnet_me_attach(node->rn_lnet, me, &handle), 0);
	assert_int_equal(m0_lnet_md_attach(node->rn_lnet, handle, md, &ret), 0);
	if (ret_me != NULL)
		*ret_me = handle;
	return ret;
}

struct m0_lnet_handle real_bind(struct real_node             *node,
				const struct m0_lnet_md_attr *md)
{
	struct m0_lnet_handle ret;

	assert_int_equal(m0_lnet_md_bind(node->rn_lnet, md, &ret), 0);
	return ret;
}
