/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <stdio.h>
#include <stdlib.h>

#include "../../tools/net/place.h"
#include "hostile.h"

static struct tool_port port;
/* Where we were let in; empty: nowhere. Under the port's lock. */
static char session[HOSTILE_ADDR_MAX];

static bool take(struct tool_port *at, struct m0_net_end_point *from,
		 void *bytes, size_t nr)
{
	char to[HOSTILE_ADDR_MAX];

	(void)from;
	if (!hostile.hst_leads(bytes, nr, to))
		return false;
	m0_mutex_lock(&at->tpo_lock);
	memcpy(session, to, sizeof session);
	m0_mutex_unlock(&at->tpo_lock);
	return true;
}

static void sent(const struct m0_net_buffer_event *ev)
{
	struct m0_semaphore *done = ev->nbe_buffer->nb_app_private;

	ev->nbe_buffer->nb_ep = NULL;
	m0_semaphore_up(done);
}

static const struct m0_net_buffer_callbacks callbacks = {
	.nbc_cb = { [M0_NET_QT_MSG_SEND] = sent }
};

static m0_bcount_t bytes_make(uint8_t *bytes, size_t size, uint64_t *seed)
{
	unsigned kind = (unsigned)m0_rnd(3, seed);
	int nr = hostile.hst_make(bytes, size, tool_node_addr(&port.tpo_node),
				  seed);
	size_t i;

	for (i = kind == 0 ? m0_rnd(4, seed) : 0; i > 0; --i)
		bytes[m0_rnd((size_t)nr, seed)] = (uint8_t)m0_rnd64(seed);
	if (kind == 1) {
		nr = (int)(1 + m0_rnd(size, seed));
		for (i = 4 * m0_rnd(2, seed); i < (size_t)nr; ++i)
			bytes[i] = (uint8_t)m0_rnd64(seed);
	}
	return (m0_bcount_t)nr;
}

static int one_send(struct m0_net_buffer *nb, const char *to,
		    struct m0_semaphore *done, uint64_t *seed)
{
	struct m0_net_end_point *ep;
	int                      rc;

	rc = m0_net_end_point_create(&ep, &port.tpo_node.tn_tm, to);
	if (rc != 0)
		return rc;
	nb->nb_length = bytes_make(nb->nb_buffer.ov_buf[0],
				   nb->nb_buffer.ov_vec.v_count[0], seed);
	nb->nb_ep = ep;
	rc = m0_net_buffer_add(nb, &port.tpo_node.tn_tm);
	if (rc == 0)
		m0_semaphore_down(done);
	(void)m0_net_end_point_put(ep);
	return rc;
}

static int all_send(const char *door, uint64_t seed, int nr)
{
	struct m0_net_buffer nb;
	struct m0_semaphore  done;
	char                 to[HOSTILE_ADDR_MAX];
	int                  rc;

	rc = tool_buffer_init(&nb, &port.tpo_node.tn_dom, 2000);
	if (rc != 0)
		return rc;
	(void)m0_semaphore_init(&done, 0);
	nb.nb_qtype = M0_NET_QT_MSG_SEND;
	nb.nb_callbacks = &callbacks;
	nb.nb_app_private = &done;
	for (; nr > 0 && rc == 0; --nr) {
		m0_mutex_lock(&port.tpo_lock);
		memcpy(to, session, sizeof to);
		m0_mutex_unlock(&port.tpo_lock);
		rc = one_send(&nb,
			      to[0] == '\0' || m0_rnd(2, &seed) ? door : to,
			      &done, &seed);
	}
	tool_buffer_fini(&nb);
	m0_semaphore_fini(&done);
	return rc;
}

int main(int argc, char **argv)
{
	struct tool_fail  fail = { .tf_exit = TOOL_OK };
	struct lnet_opts  opts;
	struct tool_place place;
	int               rc;

	if (argc != 6)
		return 2;
	lnet_opts_init(&opts, &fail);
	opts.nop_cfg.lc_port = (uint16_t)atoi(argv[2]);
	opts.nop_cfg.lc_src_port_min = 0;
	opts.nop_cfg.lc_src_port_max = 0;
	rc = m0_lnet_cfg_networks(&opts.nop_cfg, argv[1], NULL);
	if (rc == 0)
		rc = m0_net_init();
	if (rc == 0)
		rc = tool_place_open(&place, tool_xprt_find("lnet", &fail),
				     &opts, false, false);
	if (rc == 0) {
		port.tpo_take = take;
		port.tpo_is_door = true;
		/* Without a time-out, a message of another kind would fail the
		 * port. */
		port.tpo_timeout_ns = M0_TIME_ONE_SECOND;
		port.tpo_msg_bytes = hostile.hst_msg_bytes;
		rc = tool_port_open(&port, "stranger", place.tpl_xprt, NULL, 64,
				    -1);
		if (rc == 0)
			rc = all_send(argv[3], strtoull(argv[4], NULL, 10),
				      atoi(argv[5]));
		tool_port_stop(&port);
		tool_port_close(&port);
		tool_place_close(&place);
		(void)m0_net_fini();
	}
	if (rc != 0)
		fprintf(stderr, "hostile: %d %s\n", rc, fail.tf_text);
	return rc != 0;
}
