/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Acts of fault rules in the engine. Without a rule nothing here is called. */
#include "lnet/fault/fault.h"
#include "lnet/lnet_internal.h"

enum {
	BITS = 8,
	/** Layout of M0_LNET__RX_FAULTS: acts, then the epoch, then 32 random
	 * bits. */
	ACTS_MASK = 0xff,
	EPOCH_SHIFT = 8,
	EPOCH_MASK = 0xffffff,
	CHOICE_SHIFT = 32
};

/* ------------------------------------------------------------------- rules -- */

int m0_lnet_engine_fault_add(struct m0_lnet_engine           *eng,
			     const struct m0_lnet_fault_attr *attr)
{
	if (eng->le_faults == NULL)
		eng->le_faults = m0_lnet__faults_create(eng->le_cfg.lec_cookie);
	return eng->le_faults == NULL
		       ? -ENOMEM
		       : m0_lnet__faults_add(eng->le_faults, attr, eng->le_now);
}

/** Releases delayed messages at the next step, after rules were deleted. */
static void delayed_go(struct m0_lnet_engine *eng)
{
	struct m0_lnet_msg *msg;

	m0_list_for_each_entry(&eng->le_delayed, msg, struct m0_lnet_msg,
			       msg_tx.mtx_link)
		m0_lnet__timer_arm(eng, &msg->msg_tx.mtx_timer, eng->le_now);
}

int m0_lnet_engine_fault_del(struct m0_lnet_engine    *eng,
			     enum m0_lnet_fault_kind   kind,
			     const struct m0_lnet_nid *src,
			     const struct m0_lnet_nid *dst)
{
	int nr = 0;

	if (eng->le_faults == NULL)
		return 0;
	nr = m0_lnet__faults_del(eng->le_faults, kind, src, dst);
	if (nr > 0) {
		delayed_go(eng);
		eng->le_fault_epoch = (eng->le_fault_epoch + 1) & EPOCH_MASK;
	}
	if (m0_lnet__faults_is_empty(eng->le_faults))
		m0_lnet__faults_off(eng);
	return nr;
}

void m0_lnet__faults_off(struct m0_lnet_engine *eng)
{
	m0_lnet__faults_destroy(eng->le_faults);
	eng->le_faults = NULL;
	m0_lnet__timer_cancel(eng, &eng->le_held_timer);
	eng->le_held_at = M0_TIME_NEVER;
	M0_POST(eng->le_held_at == M0_TIME_NEVER);
}

int m0_lnet_engine_fault_reset(struct m0_lnet_engine  *eng,
			       enum m0_lnet_fault_kind kind)
{
	return eng->le_faults == NULL
		       ? 0
		       : m0_lnet__faults_reset(eng->le_faults, kind,
					       eng->le_now);
}

int m0_lnet_engine_fault_get(const struct m0_lnet_engine *eng,
			     enum m0_lnet_fault_kind      kind,
			     struct m0_lnet_fault *ret, unsigned max)
{
	return eng->le_faults == NULL
		       ? 0
		       : m0_lnet__faults_get(eng->le_faults, kind, ret, max);
}

static void judge(const struct m0_lnet_ni *ni, const struct m0_lnet_hdr *hdr,
		  bool leaves, struct m0_lnet__fault_verdict *ret)
{
	struct m0_lnet__fault_look look = {
		.flo_hdr = hdr,
		.flo_local = &ni->lni_lnd.ldn_nid,
		.flo_leaves = leaves,
		.flo_now = ni->lni_engine->le_now,
	};

	M0_PRE(ni->lni_engine->le_faults != NULL);
	m0_lnet__faults_judge(ni->lni_engine->le_faults, &look, ret);
}

static void cut(struct m0_lnet_ni *ni, const struct m0_lnet_nid *nid)
{
	struct m0_lnd_ni *lnd_ni = &ni->lni_lnd;

	if (lnd_ni->ldn_lnd != NULL)
		lnd_ni->ldn_lnd->ld_ops->ldo_peer_drop(lnd_ni, nid);
}

/* ----------------------------------------------------------- what comes in -- */

/* Firing is enough: the step has the drivers offer their messages again. */
static void held_go(struct m0_lnet_engine *eng, struct m0_lnet_timer *timer,
		    m0_time_t now)
{
	(void)timer;
	(void)now;
	eng->le_held_at = M0_TIME_NEVER;
}

static void held_await(struct m0_lnet_engine *eng, m0_time_t until)
{
	M0_PRE(until > eng->le_now);
	/* A time that is due was not used by its message: replace it. */
	if (until >= eng->le_held_at && eng->le_held_at > eng->le_now)
		return;
	eng->le_held_at = until;
	eng->le_held_timer.ltm_fire = held_go;
	m0_lnet__timer_arm(eng, &eng->le_held_timer, until);
}

/*
 * The verdict is kept in `rx` while the message is put off. It holds until a
 * rule is deleted; a verdict of an earlier epoch is ignored.
 */
unsigned m0_lnet__fault_in(struct m0_lnet_ni *ni, struct m0_lnd_rx *rx,
			   const struct m0_lnet_hdr *hdr)
{
	struct m0_lnet_engine        *eng = ni->lni_engine;
	struct m0_lnet__fault_verdict verdict;
	unsigned acts = rx->lr_words[M0_LNET__RX_FAULTS] & ACTS_MASK;
	uint64_t epoch = rx->lr_words[M0_LNET__RX_FAULTS] >> EPOCH_SHIFT &
			 EPOCH_MASK;

	if (acts == 0 || epoch != eng->le_fault_epoch) {
		judge(ni, hdr, false, &verdict);
		acts = verdict.fav_acts | M0_LNET__FAULT_JUDGED;
		if ((acts & M0_LNET__FAULT_CUT) != 0)
			cut(ni, &rx->lr_nid);
		rx->lr_words[M0_LNET__RX_HELD] = verdict.fav_until;
		rx->lr_words[M0_LNET__RX_FAULTS] =
			(uint64_t)verdict.fav_bit << CHOICE_SHIFT |
			(uint64_t)eng->le_fault_epoch << EPOCH_SHIFT | acts;
	}
	if (eng->le_now >= rx->lr_words[M0_LNET__RX_HELD])
		acts &= ~(unsigned)M0_LNET__FAULT_DELAY;
	if ((acts & M0_LNET__FAULT_DELAY) != 0)
		held_await(eng, rx->lr_words[M0_LNET__RX_HELD]);
	return acts;
}

void m0_lnet__fault_header(const struct m0_lnd_rx *rx, uint8_t *bytes,
			   size_t nr)
{
	size_t bit =
		(size_t)(rx->lr_words[M0_LNET__RX_FAULTS] >> CHOICE_SHIFT) %
		(nr * BITS);

	M0_PRE(nr > 0 && nr <= M0_LNET_HDR_LARGE_BYTES);
	bytes[bit / BITS] ^= (uint8_t)(1U << bit % BITS);
}

/*
 * Notes the bit; m0_lnet__fault_payload() inverts it when the payload is there.
 */
void m0_lnet__fault_payload_mark(struct m0_lnd_rx *rx)
{
	struct m0_lnet_msg *msg = rx->lr_priv;
	m0_bcount_t         bits = rx->lr_payload.lpy_bytes * BITS;

	if (msg == NULL || bits == 0)
		return;
	M0_ASSERT(msg->msg_rx.mrx_lnd == rx);
	msg->msg_faults |= M0_LNET__FAULT_PAYLOAD;
	msg->msg_rx.mrx_fault_bit =
		(uint32_t)((rx->lr_words[M0_LNET__RX_FAULTS] >> CHOICE_SHIFT) %
			   bits);
}

void m0_lnet__fault_payload(struct m0_lnet_msg *msg)
{
	const struct m0_lnd_payload *payload = &msg->msg_payload;
	m0_bcount_t at = payload->lpy_offset + msg->msg_rx.mrx_fault_bit / BITS;
	struct m0_bufvec_cursor cur;
	uint8_t                *byte;

	if ((msg->msg_faults & M0_LNET__FAULT_PAYLOAD) == 0)
		return;
	M0_ASSERT(msg->msg_rx.mrx_fault_bit / BITS < payload->lpy_bytes);
	msg->msg_faults &= (uint8_t)~M0_LNET__FAULT_PAYLOAD;
	m0_bufvec_cursor_init(&cur, payload->lpy_vec);
	if (m0_bufvec_cursor_move(&cur, at))
		return;
	byte = m0_bufvec_cursor_addr(&cur);
	*byte ^= (uint8_t)(1U << msg->msg_rx.mrx_fault_bit % BITS);
}

/* -------------------------------------------------------------- what leaves -- */

void m0_lnet__fault_out(struct m0_lnet_msg            *msg,
			struct m0_lnet__fault_verdict *ret)
{
	M0_PRE(msg->msg_tx.mtx_ni != NULL);
	judge(msg->msg_tx.mtx_ni, &msg->msg_hdr, true, ret);
	if ((ret->fav_acts & M0_LNET__FAULT_DROP) != 0)
		return;
	if ((ret->fav_acts & M0_LNET__FAULT_DUPLICATE) != 0)
		msg->msg_faults |= M0_LNET__FAULT_DUPLICATE;
	if ((ret->fav_acts & M0_LNET__FAULT_CUT) != 0)
		cut(msg->msg_tx.mtx_ni, &msg->msg_tx.mtx_lnd.ltx_nid);
}

/* The first copy has been sent: the status of the second does not count. */
bool m0_lnet__fault_again(struct m0_lnet_msg *msg, int *status)
{
	M0_PRE(msg->msg_state == M0_LNET_MSG_LEAVING);
	if ((msg->msg_faults & M0_LNET__FAULT_AGAIN) != 0) {
		msg->msg_faults &= (uint8_t)~M0_LNET__FAULT_AGAIN;
		*status = 0;
		return false;
	}
	if ((msg->msg_faults & M0_LNET__FAULT_DUPLICATE) == 0)
		return false;
	msg->msg_faults &= (uint8_t)~M0_LNET__FAULT_DUPLICATE;
	if (*status != 0 || msg->msg_tx.mtx_cancelled)
		return false;
	msg->msg_faults |= M0_LNET__FAULT_AGAIN;
	return true;
}
