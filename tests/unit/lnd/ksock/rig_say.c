/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Encoders of the peer's bytes, and readers of those it receives. */
#include "rig.h"
#include "lnd/ksock/sock_internal.h"

size_t rig_put_request(uint8_t *buf, const struct m0_lnet_nid *nid)
{
	struct m0_sock_request req = { .sr_nid = *nid };

	return m0_sock__request_encode(&req, buf);
}

size_t rig_put_hello(uint8_t *buf, uint32_t version,
		     const struct m0_lnet_nid *src, uint64_t incarnation,
		     uint32_t ctype)
{
	struct m0_sock_hello hello = { .sh_version = version,
				       .sh_src_nid = *src,
				       .sh_dst_nid = *src,
				       .sh_src_pid = 12345,
				       .sh_src_incarnation = incarnation,
				       .sh_ctype = ctype };

	return m0_sock__hello_encode(&hello, buf);
}

size_t rig_put_frame(uint8_t *buf, uint32_t type, uint64_t cookie0,
		     uint64_t cookie1)
{
	struct m0_sock_frame frame = { .sfr_type = type,
				       .sfr_cookie = { cookie0, cookie1 } };

	m0_sock__frame_encode(&frame, buf);
	return M0_SOCK_FRAME_BYTES;
}

size_t rig_put_message(uint8_t *buf, bool large, uint64_t cookie,
		       uint32_t payload_bytes)
{
	size_t nr = large ? 96 : 72;

	(void)rig_put_frame(buf, M0_SOCK_FRAME_LNET, cookie, 0);
	memset(buf + M0_SOCK_FRAME_BYTES, 0x5a, nr);
	memcpy(buf + M0_SOCK_FRAME_BYTES + (large ? 52 : 28), &payload_bytes,
	       sizeof payload_bytes);
	return M0_SOCK_FRAME_BYTES + nr;
}

void rig_payload_fill(uint8_t *bytes, size_t nr, unsigned seed)
{
	size_t i;

	for (i = 0; i < nr; ++i)
		bytes[i] = (uint8_t)(i * 7 + i / 251 + seed);
}

uint8_t rig_said[RIG_SAID_MAX];
size_t  rig_said_at[RIG_MSGS_MAX];

const struct rig_msg *rig_msg_at(const struct rig *rig, unsigned i)
{
	assert_true(i < rig->rg_msgs_nr);
	return &rig->rg_msgs[i % RIG_MSGS_MAX];
}

void rig_payload_check(struct rig *rig)
{
	unsigned              i = rig->rg_msgs_nr - 1;
	const struct rig_msg *got = rig_msg_at(rig, i);

	assert_true(i < RIG_MSGS_MAX);
	assert_int_equal(got->rm_status, 0);
	assert_memory_equal(rig->rg_memory + rig->rg_offset,
			    rig_said + rig_said_at[i], got->rm_bytes);
	memset(rig->rg_memory, 0, RIG_PAYLOAD_MAX);
}

struct m0_sock_hello rig_see_hello(struct rig *rig, struct rig_stream *stream)
{
	struct m0_sock_hello hello;
	const uint8_t       *head = rig_see(rig, stream, 8);
	int                  nr = m0_sock__hello_bytes(head);

	assert_true(nr > 0);
	(void)rig_see(rig, stream, (size_t)nr - 8);
	assert_int_equal(m0_sock__hello_decode(&hello, head), 0);
	return hello;
}

struct m0_sock_frame rig_see_frame(struct rig *rig, struct rig_stream *stream)
{
	struct m0_sock_frame frame;

	assert_int_equal(m0_sock__frame_decode(&frame, false,
					       rig_see(rig, stream, 24)),
			 0);
	return frame;
}

/* -- our messages ---------------------------------------------------------- */

void rig_tx_init(struct rig_tx *tx, void *payload, size_t nr, uint8_t mark)
{
	memset(tx, 0, sizeof *tx);
	tx->rt_count[0] = nr;
	tx->rt_buf[0] = payload;
	tx->rt_vec.ov_vec.v_nr = 1;
	tx->rt_vec.ov_vec.v_count = tx->rt_count;
	tx->rt_vec.ov_buf = tx->rt_buf;
	tx->rt_mark = mark;
	tx->rt_tx.ltx_nid = rig_b;
	tx->rt_tx.ltx_pid = 12345;
	tx->rt_tx.ltx_deadline = M0_TIME_NEVER;
	tx->rt_tx.ltx_payload.lpy_vec = &tx->rt_vec;
	tx->rt_tx.ltx_payload.lpy_bytes = nr;
}

void rig_xmit(struct rig *rig, struct rig_tx *tx)
{
	rig->rg_reactor.rtr_now = rig->rg_now;
	tx->rt_tx.ltx_there = tx->rt_tx.ltx_payload.lpy_bytes;
	rig->rg_lnd->ld_ops->ldo_xmit(&rig->rg_ni, &tx->rt_tx);
	assert_int_equal(tx->rt_done, 0);
}

void rig_net_spoil(struct rig *rig)
{
	/* Tests of options start a second interface. */
	if (rig->rg_ni.ldn_options != NULL)
		return;
	rig->rg_sock->sk_cfg.soc_net = (struct m0_sock_net_cfg){
		.son_conns_per_peer = 77,
		.son_timeout_ns = RIG_SECONDS(86400),
		.son_keepalive_ns = RIG_SECONDS(86400),
		.son_reconnect_min_ns = RIG_SECONDS(86400),
		.son_reconnect_max_ns = RIG_SECONDS(86400),
	};
}

void rig_init(struct rig *rig)
{
	rig_cfg(rig);
	rig_start(rig, &rig_a);
}
