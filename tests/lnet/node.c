/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdlib.h>

#include "lnet/node.h"

enum {
	SEGS_NR = 4
};

/* -- life ------------------------------------------------------------------ */

static void event_come(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev);

static void nids_set(struct node *node, const char *addrs, const uint16_t *nums)
{
	struct m0_lnet_nid *nid;
	char                text[256];
	char               *at = text;
	char               *word;

	(void)snprintf(text, sizeof text, "%s", addrs);
	while ((word = strsep(&at, " ")) != NULL) {
		nid = &node->n_nids[node->n_nids_nr];
		assert_int_equal(m0_lnet_nid_parse(nid, word), 0);
		if (nums != NULL)
			nid->ln_num = nums[node->n_nids_nr];
		++node->n_nids_nr;
	}
	node->n_nid = node->n_nids[0];
}

void node_init_nids(struct node *node, struct m0_sim *sim, const char *name,
		    const char *nets, const char *addrs, const uint16_t *nums,
		    void (*tune)(struct m0_lnet_cfg *cfg))
{
	char why[M0_LNET_WHY_BYTES];

	*node = (struct node){ .n_sim = sim, .n_name = name };
	node->n_host = m0_sim_host_add(name, addrs);
	nids_set(node, addrs, nums);
	m0_lnet_cfg_default(&node->n_cfg);
	assert_int_equal(m0_lnet_cfg_networks(&node->n_cfg, nets, why), 0);
	if (tune != NULL)
		tune(&node->n_cfg);
	node_open(node);
}

void node_init(struct node *node, struct m0_sim *sim, const char *name,
	       const char *addr, void (*tune)(struct m0_lnet_cfg *cfg))
{
	char net[128];

	(void)snprintf(net, sizeof net, "tcp(%s)", addr);
	node_init_nids(node, sim, name, net, addr, NULL, tune);
}

void node_init_host(struct node *node, struct m0_sim *sim, const char *name,
		    struct m0_sim_host *host, const char *nid,
		    void (*tune)(struct m0_lnet_cfg *cfg))
{
	*node = (struct node){ .n_sim = sim, .n_name = name, .n_host = host };
	assert_int_equal(m0_lnet_nid_parse(&node->n_nid, nid), 0);
	node->n_nids[node->n_nids_nr++] = node->n_nid;
	m0_lnet_cfg_default(&node->n_cfg);
	m0_sim_host_lnet_cfg(host, &node->n_cfg);
	if (tune != NULL)
		tune(&node->n_cfg);
	node_open(node);
}

void node_open(struct node *node)
{
	char why[M0_LNET_WHY_BYTES] = "";
	int  rc;

	M0_PRE(node->n_lnet == NULL);
	m0_sim_host_use(node->n_host);
	rc = m0_lnet_open(&node->n_lnet, &node->n_cfg, why);
	m0_sim_host_use(NULL);
	if (rc != 0)
		m0_sim_fail(node->n_sim, "open %s: %d: %s", node->n_name, rc,
			    why);
	m0_lnet_eq_init(&node->n_eq, node->n_lnet, event_come, 0);
	node->n_eq.eq_user = node;
}

void node_close(struct node *node)
{
	M0_PRE(node->n_lnet != NULL);
	m0_lnet_close(node->n_lnet);
	node->n_lnet = NULL;
	if (node->n_windows_nr + node->n_ops_nr > 0)
		m0_sim_fail(node->n_sim,
			    "%s is closed: %u windows and %u operations have "
			    "not ended",
			    node->n_name, node->n_windows_nr, node->n_ops_nr);
	m0_lnet_eq_fini(&node->n_eq);
}

void node_die(struct node *node)
{
	m0_sim_host_cut(node->n_host, true);
	node_close(node);
}

void node_fini(struct node *node)
{
	if (node->n_lnet != NULL)
		node_close(node);
}

unsigned node_conns_nr(const struct node *node)
{
	return m0_sim_host_streams_nr(node->n_host);
}

/* -- memory ---------------------------------------------------------------- */

uint8_t node_byte(uint8_t fill, size_t at)
{
	return (uint8_t)(fill + at * 13 + (at >> 8) * 7 + (at >> 16));
}

bool node_bytes_are(const uint8_t *bytes, size_t nr, uint8_t fill)
{
	size_t i;

	for (i = 0; i < nr; ++i)
		if (bytes[i] != node_byte(fill, i))
			return false;
	return true;
}

/* One piece of memory, in a few segments. */
static uint8_t *vec_make(struct m0_bufvec *vec, size_t nr)
{
	uint8_t *bytes = calloc(1, nr + 1);
	size_t   part;
	size_t   at = 0;
	uint32_t i;

	assert_non_null(bytes);
	/* Not by the library's heap: what that allocates is counted. */
	vec->ov_vec.v_nr = SEGS_NR;
	vec->ov_vec.v_count = calloc(SEGS_NR, sizeof vec->ov_vec.v_count[0]);
	vec->ov_buf = calloc(SEGS_NR, sizeof vec->ov_buf[0]);
	assert_true(vec->ov_vec.v_count != NULL && vec->ov_buf != NULL);
	for (i = 0; i < SEGS_NR; ++i) {
		part = i + 1 == SEGS_NR ? nr - at : nr / (SEGS_NR + 1 + i);
		vec->ov_vec.v_count[i] = part;
		vec->ov_buf[i] = bytes + at;
		at += part;
	}
	return bytes;
}

static void vec_drop(struct m0_bufvec *vec, uint8_t *bytes)
{
	free(vec->ov_vec.v_count);
	free(vec->ov_buf);
	free(bytes);
}

/* -- events ---------------------------------------------------------------- */

static void window_event(struct node_window         *window,
			 const struct m0_lnet_event *ev)
{
	assert_int_equal(window->nw_unlinked_nr, 0);
	window->nw_last = *ev;
	window->nw_puts_nr += ev->ev_type == M0_LNET_EV_PUT;
	window->nw_gets_nr += ev->ev_type == M0_LNET_EV_GET;
	window->nw_failed_nr += ev->ev_status != 0;
	if (window->nw_is_checked && ev->ev_type == M0_LNET_EV_PUT &&
	    ev->ev_status == 0)
		assert_true(node_bytes_are(window->nw_bytes + ev->ev_offset,
					   ev->ev_mlength,
					   (uint8_t)(ev->ev_hdr_data >> 32)));
	if (ev->ev_unlinked) {
		++window->nw_unlinked_nr;
		--window->nw_node->n_windows_nr;
	}
}

static void op_event(struct node_op *op, const struct m0_lnet_event *ev)
{
	assert_int_equal(op->no_unlinked_nr, 0);
	switch (ev->ev_type) {
	case M0_LNET_EV_SEND:
		++op->no_sends_nr;
		op->no_send_status = ev->ev_status;
		assert_true(ev->ev_is_get == op->no_is_get);
		break;
	case M0_LNET_EV_ACK:
		++op->no_acks_nr;
		op->no_status = ev->ev_status;
		op->no_mlength = ev->ev_mlength;
		break;
	case M0_LNET_EV_REPLY:
		++op->no_replies_nr;
		op->no_status = ev->ev_status;
		op->no_mlength = ev->ev_mlength;
		break;
	case M0_LNET_EV_UNLINK:
		++op->no_unlinks_nr;
		break;
	default:
		fail_msg("event %d of an operation", ev->ev_type);
	}
	op->no_end = m0_sim_now(op->no_node->n_sim);
	if (ev->ev_unlinked) {
		++op->no_unlinked_nr;
		--op->no_node->n_ops_nr;
		return;
	}
	/* A response that never came leaves the MD; so does a failed send. */
	if ((ev->ev_type == M0_LNET_EV_SEND && ev->ev_status != 0) ||
	    (ev->ev_type != M0_LNET_EV_SEND && ev->ev_status != 0))
		node_op_unlink(op);
}

/* MDs of windows carry their owner's mark, operations theirs. */
static void event_come(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev)
{
	struct node        *node = eq->eq_user;
	struct node_window *window = ev->ev_md_user;

	++node->n_events_nr;
	if ((uintptr_t)window & 1)
		op_event((void *)((uintptr_t)window & ~(uintptr_t)1), ev);
	else
		window_event(window, ev);
}

/* -- windows --------------------------------------------------------------- */

void node_window_init(struct node_window *window, struct node *node,
		      uint64_t bits, size_t nr, int32_t threshold)
{
	struct m0_lnet_me_attr me = {
		.mea_portal = NODE_PORTAL,
		.mea_id = { .lp_nid = m0_lnet_nid_any,
			    .lp_pid = M0_LNET_PID_ANY },
		.mea_match_bits = bits,
		.mea_flags = M0_LNET_ME_UNLINK,
	};
	struct m0_lnet_md_attr md = {
		.mda_vec = &window->nw_vec,
		.mda_length = nr,
		.mda_threshold = threshold,
		.mda_options = M0_LNET_MD_OP_PUT | M0_LNET_MD_OP_GET |
			       M0_LNET_MD_MANAGE_REMOTE | M0_LNET_MD_TRUNCATE,
		.mda_auto_unlink = true,
		.mda_eq = &node->n_eq,
		.mda_user = window,
	};

	*window = (struct node_window){ .nw_node = node, .nw_nr = nr };
	window->nw_bytes = vec_make(&window->nw_vec, nr);
	assert_int_equal(m0_lnet_me_attach(node->n_lnet, &me, &window->nw_me),
			 0);
	assert_int_equal(m0_lnet_md_attach(node->n_lnet, window->nw_me, &md,
					   &window->nw_md),
			 0);
	++node->n_windows_nr;
}

void node_window_unlink(struct node_window *window)
{
	int rc = m0_lnet_md_unlink(window->nw_node->n_lnet, window->nw_md);

	assert_true(rc == 0 || rc == -ENOENT);
}

void node_window_fini(struct node_window *window)
{
	assert_int_equal(window->nw_unlinked_nr, 1);
	vec_drop(&window->nw_vec, window->nw_bytes);
}

/* -- operations ------------------------------------------------------------ */

static void op_begin(struct node_op *op, const struct m0_lnet_nid *dst,
		     uint64_t bits, uint32_t offset)
{
	struct node           *node = op->no_node;
	struct m0_lnet_md_attr md = {
		.mda_vec = &op->no_vec,
		.mda_length = op->no_nr,
		.mda_threshold = op->no_is_get || op->no_ack ? 2 : 1,
		.mda_auto_unlink = true,
		.mda_eq = &node->n_eq,
		.mda_user = (void *)((uintptr_t)op | 1),
	};
	struct m0_lnet_op lo = {
		.lo_self = m0_lnet_nid_any,
		.lo_target = { .lp_nid = *dst, .lp_pid = M0_LNET_PID_LUSTRE },
		.lo_portal = NODE_PORTAL,
		.lo_match_bits = bits,
		.lo_offset = offset,
		.lo_hdr_data = op->no_nr | (uint64_t)op->no_fill << 32,
		.lo_ack = op->no_ack,
		.lo_user = op,
	};

	op->no_begin = m0_sim_now(node->n_sim);
	++node->n_ops_nr;
	assert_int_equal(m0_lnet_md_bind(node->n_lnet, &md, &op->no_md), 0);
	assert_int_equal(op->no_is_get
				 ? m0_lnet_get(node->n_lnet, op->no_md, &lo)
				 : m0_lnet_put(node->n_lnet, op->no_md, &lo),
			 0);
}

void node_put(struct node_op *op, struct node *node,
	      const struct m0_lnet_nid *dst, uint64_t bits, uint32_t offset,
	      size_t nr, uint8_t fill, bool ack)
{
	size_t i;

	*op = (struct node_op){ .no_node = node, .no_nr = nr, .no_ack = ack };
	op->no_fill = fill;
	op->no_bytes = vec_make(&op->no_vec, nr);
	for (i = 0; i < nr; ++i)
		op->no_bytes[i] = node_byte(fill, i);
	op_begin(op, dst, bits, offset);
}

void node_get(struct node_op *op, struct node *node,
	      const struct m0_lnet_nid *dst, uint64_t bits, uint32_t offset,
	      size_t nr)
{
	*op = (struct node_op){ .no_node = node,
				.no_nr = nr,
				.no_is_get = true };
	op->no_bytes = vec_make(&op->no_vec, nr);
	op_begin(op, dst, bits, offset);
}

void node_op_unlink(struct node_op *op)
{
	int rc = m0_lnet_md_unlink(op->no_node->n_lnet, op->no_md);

	assert_true(rc == 0 || rc == -ENOENT || rc == -ESHUTDOWN);
	op->no_is_unlinked = true;
}

bool node_op_is_over(const struct node_op *op)
{
	return op->no_unlinked_nr > 0;
}

static bool op_is_over(void *arg)
{
	return node_op_is_over(arg);
}

void node_op_wait(struct node_op *op, uint64_t ms)
{
	struct m0_sim *sim = op->no_node->n_sim;

	if (!m0_sim_run_until(sim, op_is_over, op, ms * M0_TIME_ONE_MSEC))
		m0_sim_fail(sim,
			    "%s: a %s is not over after %" PRIu64
			    " ms: %u SEND (%d), %u ACK, %u REPLY (%d)",
			    op->no_node->n_name, op->no_is_get ? "GET" : "PUT",
			    ms, op->no_sends_nr, op->no_send_status,
			    op->no_acks_nr, op->no_replies_nr, op->no_status);
}

int node_op_result(const struct node_op *op)
{
	if (op->no_send_status != 0)
		return op->no_send_status;
	if (op->no_status != 0)
		return op->no_status;
	return op->no_is_unlinked ? -ECANCELED : 0;
}

void node_op_check(const struct node_op *op)
{
	unsigned answers_nr = op->no_acks_nr + op->no_replies_nr;

	assert_int_equal(op->no_unlinked_nr, 1);
	assert_true(op->no_sends_nr <= 1);
	assert_true(op->no_unlinks_nr <= 1);
	assert_int_equal(op->no_is_get ? op->no_acks_nr : op->no_replies_nr, 0);
	assert_true(answers_nr <= (op->no_is_get || op->no_ack));
	/* Each operation that was accepted has its SEND. */
	assert_int_equal(op->no_sends_nr, 1);
	if (op->no_send_status != 0)
		assert_int_equal(answers_nr, 0);
	else if ((op->no_is_get || op->no_ack) && !op->no_is_unlinked)
		assert_int_equal(answers_nr, 1);
}

void node_op_fini(struct node_op *op)
{
	node_op_check(op);
	vec_drop(&op->no_vec, op->no_bytes);
}

/* -- probes ---------------------------------------------------------------- */

static int probe(struct node *node, enum m0_lnet_probe_kind kind,
		 const struct m0_lnet_nid *nid, uint64_t ms,
		 struct m0_lnet_probe *ret)
{
	*ret = (struct m0_lnet_probe){ .pr_kind = kind,
				       .pr_nid = *nid,
				       .pr_self = m0_lnet_nid_any,
				       .pr_timeout_ms = ms,
				       .pr_force = true };
	return m0_lnet_probe_sync(node->n_lnet, ret);
}

int node_ping(struct node *node, const struct m0_lnet_nid *nid, uint64_t ms)
{
	struct m0_lnet_probe ret;

	return probe(node, M0_LNET_PING, nid, ms, &ret);
}

int node_discover(struct node *node, const struct m0_lnet_nid *nid, uint64_t ms,
		  struct m0_lnet_probe *ret)
{
	struct m0_lnet_probe own;

	return probe(node, M0_LNET_DISCOVER, nid, ms, ret == NULL ? &own : ret);
}

struct m0_lnet_stats node_stats(const struct node *node)
{
	struct m0_lnet_stats stats;

	m0_lnet_stats_get(node->n_lnet, &stats);
	return stats;
}
