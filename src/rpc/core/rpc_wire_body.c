/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Bodies of the library's own items. */
#include "base/cursor.h"
#include "rpc/core/rpc_wire.h"

/** A decoder's last word: nothing missing, nothing left. */
static int ended(const struct m0_cursor *cur, bool right)
{
	return m0_cursor_is_ok(cur) && m0_cursor_left(cur) == 0 && right
		       ? 0
		       : -EPROTO;
}

static size_t put(const struct m0_cursor *cur)
{
	M0_ASSERT(m0_cursor_is_ok(cur));
	return m0_cursor_pos(cur);
}

size_t m0_rpc__conn_est_put(void *at, const struct m0_rpc_conn_est *body)
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, at, M0_RPC_WIRE_BODY_MAX);
	m0_cursor_put_le64(&cur, body->rce_service.u_hi);
	m0_cursor_put_le64(&cur, body->rce_service.u_lo);
	m0_cursor_put_le64(&cur, body->rce_conn);
	m0_cursor_put_le32(&cur, body->rce_packet_max);
	m0_cursor_put_le32(&cur, 0);
	return put(&cur);
}

int m0_rpc__conn_est_get(struct m0_rpc_conn_est *body, const void *at,
			 size_t nr)
{
	struct m0_cursor cur;

	m0_cursor_init_const(&cur, at, nr);
	body->rce_service.u_hi = m0_cursor_get_le64(&cur);
	body->rce_service.u_lo = m0_cursor_get_le64(&cur);
	body->rce_conn = m0_cursor_get_le64(&cur);
	body->rce_packet_max = m0_cursor_get_le32(&cur);
	return ended(&cur, m0_cursor_get_le32(&cur) == 0);
}

size_t m0_rpc__conn_rep_put(void *at, const struct m0_rpc_conn_rep *body)
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, at, M0_RPC_WIRE_BODY_MAX);
	m0_cursor_put_le64(&cur, body->rcr_incarnation);
	m0_cursor_put_le64(&cur, body->rcr_life);
	m0_cursor_put_le32(&cur, body->rcr_packet_max);
	m0_cursor_put_le32(&cur, body->rcr_durable);
	return put(&cur);
}

int m0_rpc__conn_rep_get(struct m0_rpc_conn_rep *body, const void *at,
			 size_t nr)
{
	struct m0_cursor cur;
	uint32_t         flags;

	m0_cursor_init_const(&cur, at, nr);
	body->rcr_incarnation = m0_cursor_get_le64(&cur);
	body->rcr_life = m0_cursor_get_le64(&cur);
	body->rcr_packet_max = m0_cursor_get_le32(&cur);
	flags = m0_cursor_get_le32(&cur);
	body->rcr_durable = flags & 1;
	return ended(&cur, flags <= 1);
}

size_t m0_rpc__number_put(void *at, uint64_t number)
{
	struct m0_cursor cur;

	m0_cursor_init(&cur, at, sizeof number);
	m0_cursor_put_le64(&cur, number);
	return put(&cur);
}

int m0_rpc__number_get(uint64_t *ret_number, const void *at, size_t nr)
{
	struct m0_cursor cur;

	m0_cursor_init_const(&cur, at, nr);
	*ret_number = m0_cursor_get_le64(&cur);
	return ended(&cur, true);
}

static bool streams_are_right(uint32_t streams_nr, uint32_t window)
{
	return streams_nr > 0 && streams_nr <= M0_RPC_WIRE_STREAMS_MAX &&
	       window > 0;
}

static void xids_put(struct m0_cursor *cur, const uint64_t *xid, uint32_t nr)
{
	uint32_t i;

	m0_cursor_put_le32(cur, nr);
	for (i = 0; i < nr; ++i)
		m0_cursor_put_le64(cur, xid[i]);
}

/** @return how many; more than can be named makes the cursor bad. */
static uint32_t xids_get(struct m0_cursor *cur, uint64_t *xid)
{
	uint32_t nr = m0_cursor_get_le32(cur);
	uint32_t i;

	if (nr > M0_RPC_WIRE_STREAMS_MAX) {
		m0_cursor_fail(cur);
		return 0;
	}
	for (i = 0; i < nr; ++i)
		xid[i] = m0_cursor_get_le64(cur);
	return nr;
}

size_t m0_rpc__session_est_put(void *at, const struct m0_rpc_session_est *body)
{
	struct m0_cursor cur;

	M0_PRE(streams_are_right(body->rse_streams_nr, body->rse_window));
	m0_cursor_init(&cur, at, M0_RPC_WIRE_BODY_MAX);
	m0_cursor_put_le64(&cur, body->rse_conn);
	m0_cursor_put_le32(&cur, body->rse_streams_nr);
	m0_cursor_put_le32(&cur, body->rse_window);
	m0_cursor_put_le32(&cur, body->rse_again);
	xids_put(&cur, body->rse_xid,
		 body->rse_has_xid ? body->rse_streams_nr : 0);
	return put(&cur);
}

int m0_rpc__session_est_get(struct m0_rpc_session_est *body, const void *at,
			    size_t nr)
{
	struct m0_cursor cur;
	uint32_t         flags;
	uint32_t         xids;

	m0_cursor_init_const(&cur, at, nr);
	body->rse_conn = m0_cursor_get_le64(&cur);
	body->rse_streams_nr = m0_cursor_get_le32(&cur);
	body->rse_window = m0_cursor_get_le32(&cur);
	flags = m0_cursor_get_le32(&cur);
	body->rse_again = flags & 1;
	xids = xids_get(&cur, body->rse_xid);
	body->rse_has_xid = xids != 0;
	return ended(&cur,
		     flags <= 1 &&
			     (xids == 0 || xids == body->rse_streams_nr) &&
			     streams_are_right(body->rse_streams_nr,
					       body->rse_window));
}

size_t m0_rpc__session_rep_put(void *at, const struct m0_rpc_session_rep *body)
{
	struct m0_cursor cur;

	M0_PRE(streams_are_right(body->rsr_streams_nr, body->rsr_window));
	m0_cursor_init(&cur, at, M0_RPC_WIRE_BODY_MAX);
	m0_cursor_put_le32(&cur, body->rsr_streams_nr);
	m0_cursor_put_le32(&cur, body->rsr_window);
	m0_cursor_put_le32(&cur, body->rsr_unknown);
	xids_put(&cur, body->rsr_xid, body->rsr_streams_nr);
	return put(&cur);
}

int m0_rpc__session_rep_get(struct m0_rpc_session_rep *body, const void *at,
			    size_t nr)
{
	struct m0_cursor cur;
	uint32_t         flags;
	uint32_t         xids;

	m0_cursor_init_const(&cur, at, nr);
	body->rsr_streams_nr = m0_cursor_get_le32(&cur);
	body->rsr_window = m0_cursor_get_le32(&cur);
	flags = m0_cursor_get_le32(&cur);
	body->rsr_unknown = flags & 1;
	xids = xids_get(&cur, body->rsr_xid);
	return ended(&cur, flags <= 1 && xids == body->rsr_streams_nr &&
				   streams_are_right(body->rsr_streams_nr,
						     body->rsr_window));
}
