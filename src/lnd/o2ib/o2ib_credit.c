/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "lnd/o2ib/o2ib_credit.h"

/** The credits that the peer knows of and those it will be told of never exceed
 * the buffers that it may fill. */
static bool credits_invariant(const struct m0_o2ib_credits *cr)
{
	return _0C(cr->ibc_depth > 0) &&
	       _0C(cr->ibc_depth <= M0_O2IB_DEPTH_MAX) &&
	       _0C(cr->ibc_ours <= cr->ibc_depth) &&
	       _0C(cr->ibc_reserved + cr->ibc_asked <= cr->ibc_depth) &&
	       _0C(cr->ibc_theirs + cr->ibc_outstanding + cr->ibc_puts <=
		   cr->ibc_depth) &&
	       _0C(cr->ibc_noops <= M0_O2IB_NOOPS_MAX);
}

static bool takes_credit(uint8_t type)
{
	return type == M0_O2IB_IMMEDIATE || type == M0_O2IB_PUT_REQ ||
	       type == M0_O2IB_GET_REQ;
}

static bool is_request(uint8_t type)
{
	return type == M0_O2IB_PUT_REQ || type == M0_O2IB_GET_REQ;
}

static bool is_answer(uint8_t type)
{
	return type == M0_O2IB_PUT_ACK || type == M0_O2IB_PUT_NAK ||
	       type == M0_O2IB_GET_DONE;
}

void m0_o2ib__credits_init(struct m0_o2ib_credits *cr, uint16_t depth)
{
	*cr = (struct m0_o2ib_credits){ .ibc_depth = depth,
					.ibc_ours = depth,
					.ibc_reserved = depth,
					.ibc_theirs = depth };
	M0_POST(credits_invariant(cr));
}

uint16_t m0_o2ib__credits_bufs(const struct m0_o2ib_credits *cr)
{
	return (uint16_t)(2 * cr->ibc_depth + M0_O2IB_NOOPS_MAX);
}

bool m0_o2ib__credits_reserve(struct m0_o2ib_credits *cr)
{
	M0_PRE(credits_invariant(cr));
	if (cr->ibc_reserved == 0)
		return false;
	--cr->ibc_reserved;
	return true;
}

void m0_o2ib__credits_unreserve(struct m0_o2ib_credits *cr)
{
	++cr->ibc_reserved;
	M0_POST(credits_invariant(cr));
}

bool m0_o2ib__credits_may_send(const struct m0_o2ib_credits *cr, uint8_t type)
{
	if (type == M0_O2IB_NOOP)
		return cr->ibc_noops < M0_O2IB_NOOPS_MAX;
	return !takes_credit(type) || cr->ibc_ours > 0;
}

uint8_t m0_o2ib__credits_send(struct m0_o2ib_credits *cr, uint8_t type)
{
	uint16_t returned = cr->ibc_outstanding;

	M0_PRE(credits_invariant(cr));
	M0_PRE(m0_o2ib__credits_may_send(cr, type));
	M0_PRE(ergo(is_request(type),
		    cr->ibc_reserved + cr->ibc_asked < cr->ibc_depth));
	if (takes_credit(type))
		--cr->ibc_ours;
	if (is_request(type))
		++cr->ibc_asked;
	if (type == M0_O2IB_NOOP)
		++cr->ibc_noops;
	cr->ibc_outstanding = 0;
	cr->ibc_theirs = (uint16_t)(cr->ibc_theirs + returned);
	M0_POST(credits_invariant(cr));
	return (uint8_t)returned;
}

void m0_o2ib__credits_unsend(struct m0_o2ib_credits *cr, uint8_t type,
			     uint8_t returned)
{
	M0_PRE(cr->ibc_theirs >= returned);
	if (takes_credit(type))
		++cr->ibc_ours;
	if (is_request(type))
		--cr->ibc_asked;
	if (type == M0_O2IB_NOOP)
		--cr->ibc_noops;
	cr->ibc_outstanding = (uint16_t)(cr->ibc_outstanding + returned);
	cr->ibc_theirs = (uint16_t)(cr->ibc_theirs - returned);
	M0_POST(credits_invariant(cr));
}

void m0_o2ib__credits_noop_sent(struct m0_o2ib_credits *cr)
{
	M0_PRE(cr->ibc_noops > 0);
	--cr->ibc_noops;
}

int m0_o2ib__credits_receive(struct m0_o2ib_credits   *cr,
			     const struct m0_o2ib_hdr *hdr,
			     struct m0_o2ib_why       *why)
{
	M0_PRE_EX(credits_invariant(cr));
	/* Most messages. */
	if (hdr->ibh_type == M0_O2IB_IMMEDIATE && hdr->ibh_credits == 0 &&
	    cr->ibc_theirs > 0) {
		--cr->ibc_theirs;
		return 0;
	}
	if (cr->ibc_ours + hdr->ibh_credits > cr->ibc_depth)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_CREDITS,
				       "%s: %u credits returned, %u of %u here",
				       m0_o2ib__type_name(hdr->ibh_type),
				       hdr->ibh_credits, cr->ibc_ours,
				       cr->ibc_depth);
	if (takes_credit(hdr->ibh_type) && cr->ibc_theirs == 0)
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_CREDITS,
				       "%s: sent without a credit",
				       m0_o2ib__type_name(hdr->ibh_type));
	if ((is_answer(hdr->ibh_type) && cr->ibc_asked == 0) ||
	    (hdr->ibh_type == M0_O2IB_PUT_DONE && cr->ibc_puts == 0))
		return m0_o2ib__refuse(why, M0_O2IB_FIELD_TYPE,
				       "%s: answers nothing",
				       m0_o2ib__type_name(hdr->ibh_type));
	cr->ibc_ours = (uint16_t)(cr->ibc_ours + hdr->ibh_credits);
	if (takes_credit(hdr->ibh_type))
		--cr->ibc_theirs;
	if (is_answer(hdr->ibh_type))
		--cr->ibc_asked;
	if (hdr->ibh_type == M0_O2IB_PUT_DONE)
		--cr->ibc_puts;
	return 0;
}

void m0_o2ib__credits_repost(struct m0_o2ib_credits *cr, uint8_t type,
			     bool acked)
{
	if (M0_LIKELY(type == M0_O2IB_IMMEDIATE && !acked)) {
		++cr->ibc_outstanding;
		M0_POST(cr->ibc_theirs + cr->ibc_outstanding + cr->ibc_puts <=
			cr->ibc_depth);
		return;
	}
	M0_PRE(ergo(acked, type == M0_O2IB_PUT_REQ));
	if (is_answer(type))
		++cr->ibc_reserved;
	else if (acked)
		/* The buffer is for the PUT_DONE. */
		++cr->ibc_puts;
	else if (type != M0_O2IB_NOOP)
		++cr->ibc_outstanding;
	M0_POST(credits_invariant(cr));
}

bool m0_o2ib__credits_needs_noop(const struct m0_o2ib_credits *cr,
				 const struct m0_o2ib_waiting *waiting)
{
	uint16_t high = cr->ibc_depth > 1 ? cr->ibc_depth / 2 : 1;

	return (cr->ibc_outstanding >= high || waiting->ibx_silent) &&
	       !waiting->ibx_free &&
	       (!waiting->ibx_credit || cr->ibc_ours == 0) &&
	       m0_o2ib__credits_may_send(cr, M0_O2IB_NOOP);
}
