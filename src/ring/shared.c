/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Queues of shared memory: ends, sleep, reserved events.
 *
 * An index of the other side is read once, checked against this side's own index, and
 * kept as a shadow, so that most calls read no line that the other side writes. A copy
 * of an entry is read word by word, each once; the checks see only the copy.
 * [r.M0.lib.atomic.interoperable-kernel-user-support]
 */
#include "ring/two_maps.h"
#include "ring/shared.h"

#if M0_RING_HAS_TSAN
char m0_ring__order;
#endif

_Static_assert(__atomic_always_lock_free(sizeof(uint32_t), 0),
	       "two processes, or a process and a kernel, share no lock");
_Static_assert(__atomic_always_lock_free(sizeof(uint64_t), 0),
	       "an entry is copied by words");
_Static_assert(sizeof(struct m0_shared_line) == M0_SHARED_LINE_BYTES,
	       "indices lie on lines of their own");
_Static_assert(M0_SHARED_DOWN_BYTES % M0_SHARED_LINE_BYTES == 0 &&
		       M0_SHARED_UP_BYTES % M0_SHARED_LINE_BYTES == 0,
	       "no two entries share a line");

void m0_shared_copy(void *to, const void *from, size_t bytes)
{
	const uint64_t *source = from;
	uint64_t       *target = to;
	size_t          i;

	M0_PRE_EX(bytes % sizeof(uint64_t) == 0);
#pragma GCC unroll 8
	for (i = 0; i < bytes / sizeof(uint64_t); ++i)
		target[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

/* -------------------------------------------------------------- producer -- */

/* Looks at the consumer's index. */
static int taken_look(struct m0_shared_out *out, struct m0_shared_why *why)
{
	uint32_t taken_nr = __atomic_load_n(out->sot_taken, __ATOMIC_SEQ_CST);
	uint32_t used_nr = out->sot_put_nr - out->sot_taken_nr;

	m0_ring_order_seen();
	/* The index only moves from its last value towards the entries put. */
	if (M0_UNLIKELY(taken_nr - out->sot_taken_nr > used_nr))
		return m0_shared_refuse(why, -EPROTO, "taken", taken_nr,
					out->sot_taken_nr, out->sot_put_nr);
	out->sot_taken_nr = taken_nr;
	return 0;
}

static uint32_t room(const struct m0_shared_out *out)
{
	return out->sot_nr - (out->sot_put_nr - out->sot_taken_nr);
}

int m0_shared_reserve(struct m0_shared_side *side, uint32_t nr,
		      struct m0_shared_why *why)
{
	struct m0_shared_out *out = &side->shs_out;
	int                   rc;

	M0_PRE(nr <= out->sot_nr);
	if (M0_LIKELY(room(out) >= nr))
		return 0;
	rc = taken_look(out, why);
	if (rc != 0 || room(out) >= nr)
		return rc;
	side->shs_wanted_nr = nr;
	return -EAGAIN;
}

void *m0_shared_slot(const struct m0_shared_side *side, uint32_t i)
{
	const struct m0_shared_out *out = &side->shs_out;

	M0_PRE_EX(i < room(out));
	return out->sot_entries +
	       (uint64_t)((out->sot_put_nr + i) & (out->sot_nr - 1)) *
		       out->sot_bytes;
}

/* The store and the load of the other side's sleep word are in one order with that
 * side's store of the word and its load of the index: one of the two sees the other. */
void m0_shared_commit(struct m0_shared_side *side, uint32_t nr)
{
	struct m0_shared_out *out = &side->shs_out;

	M0_PRE(nr <= room(out));
	out->sot_put_nr += nr;
	m0_ring_order_put();
	__atomic_store_n(out->sot_put, out->sot_put_nr, __ATOMIC_SEQ_CST);
	side->shs_bell_bits |= M0_SHARED_ENTRIES;
}

/* -------------------------------------------------------------- consumer -- */

int m0_shared_ready(struct m0_shared_side *side, struct m0_shared_why *why)
{
	struct m0_shared_in *in = &side->shs_in;
	uint32_t             put_nr;

	if (M0_LIKELY(in->shi_put_nr != in->shi_taken_nr))
		return (int)(in->shi_put_nr - in->shi_taken_nr);
	put_nr = __atomic_load_n(in->shi_put, __ATOMIC_SEQ_CST);
	m0_ring_order_seen();
	if (M0_UNLIKELY(put_nr - in->shi_taken_nr > in->shi_nr))
		return m0_shared_refuse(why, -EPROTO, "put", put_nr,
					in->shi_taken_nr,
					in->shi_taken_nr + in->shi_nr);
	in->shi_put_nr = put_nr;
	return (int)(put_nr - in->shi_taken_nr);
}

void m0_shared_peek(const struct m0_shared_side *side, uint32_t i, void *copy)
{
	const struct m0_shared_in *in = &side->shs_in;

	M0_PRE(i < in->shi_put_nr - in->shi_taken_nr);
	m0_shared_copy(copy,
		       in->shi_entries + (uint64_t)((in->shi_taken_nr + i) &
						    (in->shi_nr - 1)) *
						 in->shi_bytes,
		       in->shi_bytes);
}

void m0_shared_release(struct m0_shared_side *side, uint32_t nr,
		       uint32_t incoming_nr)
{
	struct m0_shared_in *in = &side->shs_in;

	M0_PRE(nr <= in->shi_put_nr - in->shi_taken_nr && incoming_nr <= nr);
	in->shi_taken_nr += nr;
	m0_ring_order_put();
	__atomic_store_n(in->shi_taken, in->shi_taken_nr, __ATOMIC_SEQ_CST);
	if (incoming_nr > 0) {
		/* Behind the index, which the server reads last: otherwise it would
		 * put one more while these seem to be in the queue. */
		side->shs_incoming_nr += incoming_nr;
		__atomic_store_n(&side->shs_words->shw_up_taken.shl_incoming,
				 side->shs_incoming_nr, __ATOMIC_SEQ_CST);
	}
	side->shs_bell_bits |= M0_SHARED_ROOM;
}

/* ----------------------------------------------------------------- sleep -- */

void m0_shared_bell(struct m0_shared_side *side)
{
	uint32_t bits = side->shs_bell_bits;

	side->shs_bell_bits = 0;
	if (bits == 0 || M0_LIKELY((__atomic_load_n(side->shs_other_sleeps,
						    __ATOMIC_SEQ_CST) &
				    bits) == 0))
		return;
	/* The exchange decides who of several wakes it: with a load alone it would
	 * be woken for each entry until it runs. */
	if (__atomic_exchange_n(side->shs_other_sleeps, 0, __ATOMIC_SEQ_CST) ==
	    0)
		return;
	++side->shs_wakes_nr;
	side->shs_host->shh_wake(side->shs_host_arg);
}

/* Is there something to do? An error is: the caller meets it then. */
static bool has_work(struct m0_shared_side *side, uint32_t bits)
{
	if ((bits & M0_SHARED_ENTRIES) != 0 && m0_shared_ready(side, NULL) != 0)
		return true;
	return (bits & M0_SHARED_ROOM) != 0 &&
	       m0_shared_reserve(side, side->shs_wanted_nr, NULL) != -EAGAIN;
}

bool m0_shared_sleep_begin(struct m0_shared_side *side, uint32_t bits)
{
	M0_PRE(bits != 0);
	m0_shared_bell(side);
	if (has_work(side, bits))
		return false;
	__atomic_store_n(side->shs_sleeps, bits, __ATOMIC_SEQ_CST);
	if (!has_work(side, bits))
		return true;
	m0_shared_sleep_end(side);
	return false;
}

void m0_shared_sleep_end(struct m0_shared_side *side)
{
	__atomic_store_n(side->shs_sleeps, 0, __ATOMIC_SEQ_CST);
}

int m0_shared_sleep(struct m0_shared_side *side, uint32_t bits,
		    m0_time_t deadline)
{
	int rc = 0;

	if (!m0_shared_sleep_begin(side, bits))
		return 0;
	if (!side->shs_host->shh_is_dead(side->shs_host_arg)) {
		++side->shs_waits_nr;
		rc = side->shs_host->shh_wait(side->shs_host_arg, deadline);
	}
	m0_shared_sleep_end(side);
	if (has_work(side, bits))
		return 0;
	if (!side->shs_host->shh_is_dead(side->shs_host_arg))
		return rc;
	/* Its last entries were put before it died, and perhaps after the look. */
	return has_work(side, bits) ? 0 : -EPIPE;
}

/* ------------------------------------------------------- reserved events -- */

bool m0_shared_claim(struct m0_shared_side *side, uint32_t nr)
{
	M0_PRE(side->shs_role == M0_SHARED_CLIENT);
	if (nr > side->shs_cfg.shc_reserved_nr - side->shs_reserved_nr)
		return false;
	side->shs_reserved_nr += nr;
	return true;
}

void m0_shared_unclaim(struct m0_shared_side *side, uint32_t nr)
{
	M0_PRE(side->shs_role == M0_SHARED_CLIENT &&
	       nr <= side->shs_reserved_nr);
	side->shs_reserved_nr -= nr;
}

/*
 * Looks at the client's index, and finds the number of events of incoming messages in
 * the queue. The client writes their number last, and it is read first here: so it is
 * not newer than the index, and at most too many are counted as incoming ones. That
 * accuses no client that keeps the rules, and never gives away a reserved entry.
 */
static int incoming_look(struct m0_shared_side *side, uint32_t *ret,
			 struct m0_shared_why *why)
{
	uint32_t taken_nr = __atomic_load_n(
		&side->shs_words->shw_up_taken.shl_incoming, __ATOMIC_SEQ_CST);

	*ret = side->shs_incoming_nr - taken_nr;
	if (M0_LIKELY(*ret <= side->shs_cfg.shc_incoming_nr))
		return taken_look(&side->shs_out, why);
	return m0_shared_refuse(why, -EPROTO, "taken_incoming", taken_nr,
				side->shs_incoming_nr -
					side->shs_cfg.shc_incoming_nr,
				side->shs_incoming_nr);
}

int m0_shared_owe(struct m0_shared_side *side, uint32_t nr,
		  struct m0_shared_why *why)
{
	struct m0_shared_out *out = &side->shs_out;
	uint32_t              incoming_nr;
	uint32_t              queued_nr;
	int                   rc;

	M0_PRE(side->shs_role == M0_SHARED_SERVER);
	rc = incoming_look(side, &incoming_nr, why);
	if (rc != 0)
		return rc;
	queued_nr = out->sot_put_nr - out->sot_taken_nr;
	queued_nr -= min_check(queued_nr, incoming_nr);
	if (nr > side->shs_cfg.shc_reserved_nr ||
	    side->shs_reserved_nr + queued_nr >
		    side->shs_cfg.shc_reserved_nr - nr)
		return m0_shared_refuse(why, -EPROTO, "reserved",
					(uint64_t)side->shs_reserved_nr +
						queued_nr + nr,
					0, side->shs_cfg.shc_reserved_nr);
	side->shs_reserved_nr += nr;
	return 0;
}

void m0_shared_forgive(struct m0_shared_side *side, uint32_t nr)
{
	M0_PRE(side->shs_role == M0_SHARED_SERVER &&
	       nr <= side->shs_reserved_nr);
	side->shs_reserved_nr -= nr;
}

int m0_shared_owed(struct m0_shared_side *side, struct m0_shared_why *why)
{
	int rc;

	M0_PRE(side->shs_role == M0_SHARED_SERVER && side->shs_reserved_nr > 0);
	rc = m0_shared_reserve(side, 1, why);
	if (rc == -EAGAIN)
		return m0_shared_refuse(why, -EPROTO, "taken",
					side->shs_out.sot_taken_nr,
					side->shs_out.sot_taken_nr + 1,
					side->shs_out.sot_put_nr);
	if (rc == 0)
		--side->shs_reserved_nr;
	return rc;
}

int m0_shared_incoming(struct m0_shared_side *side, struct m0_shared_why *why)
{
	uint32_t incoming_nr;
	int      rc;

	M0_PRE(side->shs_role == M0_SHARED_SERVER);
	rc = incoming_look(side, &incoming_nr, why);
	if (rc != 0)
		return rc;
	if (incoming_nr == side->shs_cfg.shc_incoming_nr ||
	    room(&side->shs_out) == 0)
		return -EAGAIN;
	return 0;
}

void m0_shared_incoming_commit(struct m0_shared_side *side)
{
	++side->shs_incoming_nr;
	m0_shared_commit(side, 1);
}
