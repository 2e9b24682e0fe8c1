/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A peer numbers what it wants acknowledged one after the other, so that what
 * is owed is one range most of the time, or a few.
 */
#include "lnd/ksock/sock_internal.h"

static uint64_t (*ranges_of(struct m0_sock__acks *acks))[2]
{
	return acks->ack_max == 0 ? acks->ack_embedded : acks->ack_more;
}

static unsigned room_of(const struct m0_sock__acks *acks)
{
	return acks->ack_max == 0 ? (unsigned)M0_SOCK__ACKS_EMBEDDED
				  : acks->ack_max;
}

static int grow(struct m0_sock__acks *acks, unsigned max)
{
	unsigned room = room_of(acks) * 2;
	uint64_t(*more)[2];

	if (acks->ack_nr >= max)
		return -ENOBUFS;
	more = m0_alloc_arr(room, sizeof *more);
	if (more == NULL)
		return -ENOMEM;
	memcpy(more, ranges_of(acks), acks->ack_nr * sizeof *more);
	m0_free(acks->ack_more);
	acks->ack_more = more;
	acks->ack_max = room;
	return 0;
}

/** True if the cookie is, or can be made, part of the range. */
static bool range_joins(uint64_t range[2], uint64_t cookie)
{
	if (cookie >= range[0] && cookie <= range[1])
		return true;
	if (cookie > range[1] && cookie - range[1] == 1) {
		range[1] = cookie;
		return true;
	}
	if (cookie < range[0] && range[0] - cookie == 1) {
		range[0] = cookie;
		return true;
	}
	return false;
}

int m0_sock__acks_add(struct m0_sock__acks *acks, uint64_t cookie, unsigned max)
{
	uint64_t(*ranges)[2] = ranges_of(acks);
	unsigned i;
	int      rc;

	for (i = acks->ack_nr; i > 0; --i)
		if (range_joins(ranges[i - 1], cookie))
			return 0;
	if (acks->ack_nr == room_of(acks) || acks->ack_nr >= max) {
		rc = grow(acks, max);
		if (rc != 0)
			return rc;
		ranges = ranges_of(acks);
	}
	ranges[acks->ack_nr][0] = cookie;
	ranges[acks->ack_nr][1] = cookie;
	++acks->ack_nr;
	return 0;
}

uint64_t m0_sock__acks_take(struct m0_sock__acks *acks)
{
	uint64_t *last;

	M0_PRE(acks->ack_nr > 0);
	last = ranges_of(acks)[acks->ack_nr - 1];
	if (last[0] == last[1])
		--acks->ack_nr;
	return last[0]++;
}

void m0_sock__acks_take_noop(struct m0_sock__acks *acks, bool ranges,
			     uint64_t cookie[2])
{
	const uint64_t *last = ranges_of(acks)[acks->ack_nr - 1];
	uint64_t        other;
	uint64_t        low;

	cookie[0] = 0;
	if (!ranges) {
		cookie[1] = m0_sock__acks_take(acks);
		return;
	}
	if (last[0] < last[1]) {
		cookie[0] = last[0];
		cookie[1] = last[1];
		--acks->ack_nr;
		return;
	}
	cookie[1] = m0_sock__acks_take(acks);
	if (acks->ack_nr == 0)
		return;
	/* Two that are no range: the higher one first. */
	other = m0_sock__acks_take(acks);
	low = min64u(cookie[1], other);
	cookie[0] = max64u(cookie[1], other);
	cookie[1] = low;
}

void m0_sock__acks_fini(struct m0_sock__acks *acks)
{
	m0_free(acks->ack_more);
	M0_SET0(acks);
}

int m0_sock__peer_owe(struct m0_sock__peer *peer, uint64_t cookie)
{
	struct m0_sock *sock = peer->sp_ni->sni_sock;
	int             rc;

	rc = m0_sock__acks_add(&peer->sp_acks, cookie,
			       sock->sk_cfg.soc_acks_max);
	if (rc != 0)
		return rc;
	if (!m0_list_link_is_in(&peer->sp_acks_link))
		m0_list_add_tail(&sock->sk_acks, &peer->sp_acks_link);
	sock->sk_pending = true;
	return 0;
}
