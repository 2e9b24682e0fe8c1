/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * An index of the other side only moves forward, and not beyond what this side has put
 * or has space for. It is read once, checked, and kept. The bytes of the ring are
 * copied before anybody looks at them, so it does not matter whether they change.
 */
#include <stdio.h>

#include "ring/two_maps.h"
#include "ring/pipe.h"

#define RING_MASK ((uint64_t)M0_PIPE_RING_BYTES - 1)

_Static_assert(__atomic_always_lock_free(sizeof(uint64_t), 0),
	       "two processes share no lock");
_Static_assert((M0_PIPE_RING_BYTES & (M0_PIPE_RING_BYTES - 1)) == 0 &&
		       (M0_PIPE_OFFERS_MAX & (M0_PIPE_OFFERS_MAX - 1)) == 0,
	       "counts are reduced by a mask");
_Static_assert(offsetof(struct m0_pipe_mem, pim_taken) == 64 &&
		       offsetof(struct m0_pipe_mem, pim_sleeps) == 128 &&
		       offsetof(struct m0_pipe_mem, pim_offers) == 192 &&
		       offsetof(struct m0_pipe_mem, pim_regions) == 960 &&
		       offsetof(struct m0_pipe_mem, pim_ring) == 9152 &&
		       sizeof(struct m0_pipe_offer) == 24,
	       "the layout is that of docs/ring.md");

static uint64_t look(const uint64_t *word)
{
	uint64_t value = __atomic_load_n(word, __ATOMIC_SEQ_CST);

	m0_ring_order_seen();
	return value;
}

static void show(uint64_t *word, uint64_t value)
{
	m0_ring_order_put();
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/* Between accesses to memory that is shared without atomics, and a word about it. The
 * thread sanitizer does not know it, and the memory of an offer has another address on
 * each side. */
static void fence(void)
{
#if !M0_RING_HAS_TSAN
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

static int flaw(struct m0_pipe *pipe, const char *field, uint64_t value,
		uint64_t max)
{
	if (pipe->pip_flaw == NULL) {
		pipe->pip_flaw = field;
		pipe->pip_flaw_value = value;
		pipe->pip_flaw_max = max;
	}
	return -EPROTO;
}

char *m0_pipe_why(const struct m0_pipe *pipe, char buf[M0_PIPE_WHY_BYTES])
{
	if (pipe->pip_flaw == NULL)
		snprintf(buf, M0_PIPE_WHY_BYTES, "no violation");
	else
		snprintf(buf, M0_PIPE_WHY_BYTES,
			 "%s is %llu: at most %llu is accepted", pipe->pip_flaw,
			 (unsigned long long)pipe->pip_flaw_value,
			 (unsigned long long)pipe->pip_flaw_max);
	return buf;
}

/*
 * Moves `seen` to an index of the other side. `limit` is the value that it can have at
 * most; all counts may wrap.
 */
static int index_look(struct m0_pipe *pipe, const uint64_t *word,
		      uint64_t *seen, uint64_t limit, const char *field)
{
	uint64_t now = look(word);

	if (M0_UNLIKELY(now - *seen > limit - *seen))
		return flaw(pipe, field, now, limit);
	*seen = now;
	return 0;
}

void m0_pipe_init(struct m0_pipe *pipe, struct m0_pipe_mem *own,
		  const struct m0_pipe_mem *other)
{
	M0_SET0(pipe);
	pipe->pip_own = own;
	pipe->pip_other = other;
}

/* -- outwards -------------------------------------------------------------- */

static int taken_look(struct m0_pipe *pipe)
{
	return index_look(pipe, &pipe->pip_other->pim_taken,
			  &pipe->pip_out_taken, pipe->pip_put, "taken");
}

static size_t space(const struct m0_pipe *pipe)
{
	return (size_t)(M0_PIPE_RING_BYTES -
			(pipe->pip_put - pipe->pip_out_taken));
}

int64_t m0_pipe_put(struct m0_pipe *pipe, const void *bytes, size_t nr)
{
	uint64_t at = pipe->pip_put & RING_MASK;
	size_t   part;

	if (pipe->pip_flaw != NULL)
		return -EPROTO;
	if (space(pipe) < nr && taken_look(pipe) != 0)
		return -EPROTO;
	nr = min64u(nr, space(pipe));
	part = min64u(nr, M0_PIPE_RING_BYTES - at);
	memcpy(pipe->pip_own->pim_ring + at, bytes, part);
	memcpy(pipe->pip_own->pim_ring, (const uint8_t *)bytes + part,
	       nr - part);
	pipe->pip_put += nr;
	return (int64_t)nr;
}

bool m0_pipe_has_space(struct m0_pipe *pipe, size_t nr)
{
	/* As m0_pipe_put(), which puts nothing after a violation. */
	return pipe->pip_flaw == NULL &&
	       (space(pipe) >= nr ||
		(taken_look(pipe) == 0 && space(pipe) >= nr));
}

int m0_pipe_offers_nr(struct m0_pipe *pipe)
{
	if (pipe->pip_flaw != NULL)
		return -EPROTO;
	if (pipe->pip_offers_put != pipe->pip_out_offers_taken &&
	    index_look(pipe, &pipe->pip_other->pim_offers_taken,
		       &pipe->pip_out_offers_taken, pipe->pip_offers_put,
		       "offers_taken") != 0)
		return -EPROTO;
	return (int)(pipe->pip_offers_put - pipe->pip_out_offers_taken);
}

int m0_pipe_offer_put(struct m0_pipe *pipe, uint32_t region, uint64_t place,
		      uint32_t bytes)
{
	int                   nr = m0_pipe_offers_nr(pipe);
	struct m0_pipe_offer *offer =
		&pipe->pip_own->pim_offers[pipe->pip_offers_put &
					   (M0_PIPE_OFFERS_MAX - 1)];

	M0_PRE(bytes > 0 && bytes <= M0_PIPE_OFFER_BYTES_MAX);
	if (nr < 0 || nr == M0_PIPE_OFFERS_MAX)
		return nr < 0 ? nr : -EAGAIN;
	*offer = (struct m0_pipe_offer){ .pof_at = pipe->pip_put,
					 .pof_place = place,
					 .pof_bytes = bytes,
					 .pof_region = region };
	++pipe->pip_offers_put;
	return 0;
}

/* Offers first: a side that sees bytes behind an offer also sees the offer. */
void m0_pipe_commit(struct m0_pipe *pipe)
{
	struct m0_pipe_mem *own = pipe->pip_own;

	if (pipe->pip_offers_put !=
	    __atomic_load_n(&own->pim_offers_put, __ATOMIC_RELAXED))
		show(&own->pim_offers_put, pipe->pip_offers_put);
	show(&own->pim_put, pipe->pip_put);
	pipe->pip_news |= M0_PIPE_INPUT;
}

int64_t m0_pipe_unsent(struct m0_pipe *pipe)
{
	if (pipe->pip_flaw != NULL || taken_look(pipe) != 0)
		return -EPROTO;
	return (int64_t)(pipe->pip_put - pipe->pip_out_taken);
}

void m0_pipe_end(struct m0_pipe *pipe, enum m0_pipe_state state)
{
	M0_PRE(state != M0_PIPE_OPEN);
	show(&pipe->pip_own->pim_state, state);
	fence();
	pipe->pip_news |= M0_PIPE_INPUT;
}

/* -- inwards --------------------------------------------------------------- */

/* Bytes first: see m0_pipe_commit(). */
static int put_look(struct m0_pipe *pipe)
{
	int rc = index_look(pipe, &pipe->pip_other->pim_put, &pipe->pip_in_put,
			    pipe->pip_taken + M0_PIPE_RING_BYTES, "put");

	if (rc != 0)
		return rc;
	return index_look(pipe, &pipe->pip_other->pim_offers_put,
			  &pipe->pip_in_offers_put,
			  pipe->pip_offers_taken + M0_PIPE_OFFERS_MAX,
			  "offers_put");
}

/* Copies the next offer and checks it, if there is one. */
static int offer_look(struct m0_pipe *pipe)
{
	const struct m0_pipe_offer *from =
		&pipe->pip_other->pim_offers[pipe->pip_offers_taken &
					     (M0_PIPE_OFFERS_MAX - 1)];
	struct m0_pipe_offer *offer = &pipe->pip_offer;

	if (offer->pof_bytes > 0 ||
	    pipe->pip_offers_taken == pipe->pip_in_offers_put)
		return 0;
	offer->pof_at = __atomic_load_n(&from->pof_at, __ATOMIC_RELAXED);
	offer->pof_place = __atomic_load_n(&from->pof_place, __ATOMIC_RELAXED);
	offer->pof_region =
		__atomic_load_n(&from->pof_region, __ATOMIC_RELAXED);
	offer->pof_bytes = __atomic_load_n(&from->pof_bytes, __ATOMIC_RELAXED);
	pipe->pip_offer_done = 0;
	if (offer->pof_bytes == 0 ||
	    offer->pof_bytes > M0_PIPE_OFFER_BYTES_MAX) {
		uint32_t bytes = offer->pof_bytes;

		offer->pof_bytes = 0;
		return flaw(pipe, "length of an offer", bytes,
			    M0_PIPE_OFFER_BYTES_MAX);
	}
	if (offer->pof_at - pipe->pip_taken > M0_PIPE_RING_BYTES) {
		offer->pof_bytes = 0;
		return flaw(pipe, "position of an offer", offer->pof_at,
			    pipe->pip_taken + M0_PIPE_RING_BYTES);
	}
	return 0;
}

static uint64_t state_of(const struct m0_pipe *pipe)
{
	return look(&pipe->pip_other->pim_state);
}

bool m0_pipe_is_ended(const struct m0_pipe *pipe)
{
	return state_of(pipe) != M0_PIPE_OPEN;
}

/* Finds what comes next by the counts that were seen last. */
static enum m0_pipe_next seen_next(const struct m0_pipe *pipe, size_t *ret)
{
	const struct m0_pipe_offer *offer = &pipe->pip_offer;
	uint64_t                    nr = pipe->pip_in_put - pipe->pip_taken;

	if (offer->pof_bytes > 0)
		nr = min64u(nr, offer->pof_at - pipe->pip_taken);
	*ret = (size_t)nr;
	if (nr > 0)
		return M0_PIPE_BYTES;
	if (offer->pof_bytes == 0 || offer->pof_at != pipe->pip_taken)
		return M0_PIPE_NOTHING;
	*ret = offer->pof_bytes - pipe->pip_offer_done;
	return M0_PIPE_OFFER;
}

int m0_pipe_next(struct m0_pipe *pipe, size_t *ret)
{
	enum m0_pipe_next next;
	uint64_t          state;

	if (M0_UNLIKELY(pipe->pip_flaw != NULL))
		return -EPROTO;
	/* Offers among the bytes that were seen were seen with them. */
	if (M0_UNLIKELY(offer_look(pipe) != 0))
		return -EPROTO;
	next = seen_next(pipe, ret);
	if (next == M0_PIPE_BYTES)
		return (int)next;
	/* The state first: what was put before the end is found. */
	state = state_of(pipe);
	if (put_look(pipe) != 0 || offer_look(pipe) != 0)
		return -EPROTO;
	next = seen_next(pipe, ret);
	if (M0_LIKELY(state == M0_PIPE_OPEN) || next == M0_PIPE_BYTES)
		return (int)next;
	if (state > M0_PIPE_RESET)
		return flaw(pipe, "state", state, M0_PIPE_RESET);
	return state == M0_PIPE_RESET ? -ECONNRESET : M0_PIPE_END;
}

void m0_pipe_get(struct m0_pipe *pipe, void *bytes, size_t nr)
{
	uint64_t at = pipe->pip_taken & RING_MASK;
	size_t   part = min64u(nr, M0_PIPE_RING_BYTES - at);

	M0_PRE(nr <= pipe->pip_in_put - pipe->pip_taken);
	memcpy(bytes, pipe->pip_other->pim_ring + at, part);
	memcpy((uint8_t *)bytes + part, pipe->pip_other->pim_ring, nr - part);
	pipe->pip_taken += nr;
}

void m0_pipe_offer_get(const struct m0_pipe *pipe, uint32_t *ret_region,
		       uint64_t *ret_place)
{
	M0_PRE(pipe->pip_offer.pof_bytes > 0);
	*ret_region = pipe->pip_offer.pof_region;
	*ret_place = pipe->pip_offer.pof_place + pipe->pip_offer_done;
}

int m0_pipe_offer_took(struct m0_pipe *pipe, size_t nr)
{
	M0_PRE(nr <= pipe->pip_offer.pof_bytes - pipe->pip_offer_done);
	fence();
	if (state_of(pipe) != M0_PIPE_OPEN)
		return -ECONNRESET;
	pipe->pip_offer_done += (uint32_t)nr;
	if (pipe->pip_offer_done == pipe->pip_offer.pof_bytes) {
		pipe->pip_offer.pof_bytes = 0;
		++pipe->pip_offers_taken;
	}
	return 0;
}

void m0_pipe_release(struct m0_pipe *pipe)
{
	struct m0_pipe_mem *own = pipe->pip_own;

	if (pipe->pip_offers_taken !=
	    __atomic_load_n(&own->pim_offers_taken, __ATOMIC_RELAXED)) {
		show(&own->pim_offers_taken, pipe->pip_offers_taken);
		pipe->pip_news |= M0_PIPE_TAKEN;
	}
	show(&own->pim_taken, pipe->pip_taken);
	pipe->pip_news |= M0_PIPE_SPACE;
}

static uint64_t region_word(uint32_t region, enum m0_pipe_region state)
{
	return (uint64_t)region << M0_PIPE_REGION_BITS | state;
}

void m0_pipe_region_set(struct m0_pipe *pipe, uint32_t region,
			enum m0_pipe_region state)
{
	show(&pipe->pip_own->pim_regions[region % M0_PIPE_REGIONS_MAX],
	     region_word(region, state));
}

enum m0_pipe_region m0_pipe_region_get(const struct m0_pipe *pipe,
				       uint32_t              region)
{
	uint64_t word = look(
		&pipe->pip_other->pim_regions[region % M0_PIPE_REGIONS_MAX]);
	uint64_t state = word & ((1U << M0_PIPE_REGION_BITS) - 1);

	return word >> M0_PIPE_REGION_BITS == region
		       ? (enum m0_pipe_region)state
		       : M0_PIPE_REGION_UNKNOWN;
}

void m0_pipe_copies_set(struct m0_pipe *pipe, bool copies)
{
	show(&pipe->pip_own->pim_copies, copies);
}

bool m0_pipe_copies(const struct m0_pipe *pipe)
{
	return look(&pipe->pip_other->pim_copies) == 1;
}

/* -- sleep ----------------------------------------------------------------- */

bool m0_pipe_has(const struct m0_pipe *pipe, unsigned wants)
{
	const struct m0_pipe_mem *other = pipe->pip_other;

	if ((wants & M0_PIPE_INPUT) != 0 &&
	    (look(&other->pim_put) != pipe->pip_taken ||
	     look(&other->pim_offers_put) != pipe->pip_offers_taken ||
	     look(&other->pim_state) != M0_PIPE_OPEN))
		return true;
	if ((wants & M0_PIPE_SPACE) != 0 &&
	    look(&other->pim_taken) != pipe->pip_out_taken)
		return true;
	return (wants & M0_PIPE_TAKEN) != 0 &&
	       look(&other->pim_offers_taken) != pipe->pip_out_offers_taken;
}

bool m0_pipe_sleep(struct m0_pipe *pipe, unsigned wants)
{
	M0_PRE(wants > 0 && wants < (1U << M0_PIPE_WANTS_BITS));
	pipe->pip_sleeps += 1U << M0_PIPE_WANTS_BITS;
	show(&pipe->pip_own->pim_sleeps, pipe->pip_sleeps | wants);
	if (!m0_pipe_has(pipe, wants))
		return true;
	m0_pipe_wake(pipe);
	return false;
}

void m0_pipe_wake(struct m0_pipe *pipe)
{
	show(&pipe->pip_own->pim_sleeps, pipe->pip_sleeps);
}

bool m0_pipe_bell(struct m0_pipe *pipe)
{
	unsigned news = pipe->pip_news;
	uint64_t word;

	if (news == 0)
		return false;
	pipe->pip_news = 0;
	word = look(&pipe->pip_other->pim_sleeps);
	if (M0_LIKELY((word & news) == 0) || word == pipe->pip_woken)
		return false;
	pipe->pip_woken = word;
	return true;
}
