/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The hostile neighbour of a pipe. The input is a program: the neighbour writes anywhere
 * into its memory, at any time; between its writes this side puts, offers, takes and
 * sleeps. Nothing may be read or written outside of the two memories, no assertion may
 * fail, and what this side is told to take lies within the bounds of the protocol.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/fuzz.h"
#include "ring/pipe.h"

enum {
	STEPS_MAX = 400,
	PIECE_MAX = 1 << 16
};

/** Actions of the neighbour, and of this side. */
enum action {
	/** A number goes to an offset of the indices and offers. */
	ACT_WRITE,
	/** A word moves by a little. */
	ACT_MOVE,
	/** An offer where this side expects the next one. */
	ACT_OFFER,
	ACT_TAKE,
	ACT_PUT,
	ACT_PUT_OFFER,
	ACT_SLEEP,
	ACT_REGION,
	ACTIONS_NR
};

struct story {
	struct m0_pipe      sto_pipe;
	struct m0_pipe_mem *sto_own;
	struct m0_pipe_mem *sto_other;
	bool                sto_is_over;
};

static uint8_t piece[PIECE_MAX];

/* On a heap, so that whoever leaves it is seen; the same for all inputs, since the bytes
 * of the ring decide nothing. */
static struct m0_pipe_mem *mem_of(struct m0_pipe_mem **kept)
{
	if (*kept == NULL)
		*kept = aligned_alloc(M0_PIPE_LINE_BYTES, sizeof **kept);
	M0_ASSERT(*kept != NULL);
	memset(*kept, 0, offsetof(struct m0_pipe_mem, pim_ring));
	return *kept;
}

/* The end of a pipe has a reason, and is final. */
static void rc_check(struct story *sto, ssize_t rc)
{
	char   why[M0_PIPE_WHY_BYTES];
	size_t nr;

	if (rc != -EPROTO)
		return;
	M0_ASSERT(sto->sto_pipe.pip_flaw != NULL);
	M0_ASSERT(strlen(m0_pipe_why(&sto->sto_pipe, why)) > 0);
	M0_ASSERT(m0_pipe_next(&sto->sto_pipe, &nr) == -EPROTO);
	M0_ASSERT(m0_pipe_put(&sto->sto_pipe, "", 1) == -EPROTO);
	sto->sto_is_over = true;
}

/* ---------------------------------------------------------- the neighbour -- */

static void act_write(struct story *sto, struct fuzz_in *in)
{
	size_t at = fuzz_number(in, 2) %
		    (offsetof(struct m0_pipe_mem, pim_ring) - 8);
	uint64_t number = fuzz_number(in, 8);

	memcpy((char *)sto->sto_other + at, &number, sizeof number);
}

static void act_move(struct story *sto, struct fuzz_in *in)
{
	struct m0_pipe_mem *other = sto->sto_other;
	uint64_t *words[] = { &other->pim_put,    &other->pim_offers_put,
			      &other->pim_taken,  &other->pim_offers_taken,
			      &other->pim_sleeps, &other->pim_state,
			      &other->pim_copies };

	*words[fuzz_byte(in) % ARRAY_SIZE(words)] += fuzz_number(in, 3) -
						     (1U << 8);
}

static void act_offer(struct story *sto, struct fuzz_in *in)
{
	struct m0_pipe_mem *other = sto->sto_other;

	other->pim_offers[other->pim_offers_put % M0_PIPE_OFFERS_MAX] =
		(struct m0_pipe_offer){
			.pof_at = other->pim_put + fuzz_byte(in) - 1U,
			.pof_place = fuzz_number(in, 8),
			.pof_bytes = (uint32_t)fuzz_number(in, 4),
			.pof_region = fuzz_byte(in)
		};
	++other->pim_offers_put;
}

/* --------------------------------------------------------------- this side -- */

static void act_take(struct story *sto, struct fuzz_in *in)
{
	struct m0_pipe *pipe = &sto->sto_pipe;
	uint64_t        place;
	uint32_t        region;
	size_t          has = 0;
	size_t          part;
	int             rc = m0_pipe_next(pipe, &has);

	M0_ASSERT(rc >= 0 || rc == -EPROTO || rc == -ECONNRESET);
	part = 1 + fuzz_number(in, 3);
	if (rc == M0_PIPE_BYTES) {
		M0_ASSERT(has > 0 && has <= M0_PIPE_RING_BYTES);
		m0_pipe_get(pipe, piece, min64u(min64u(has, part), PIECE_MAX));
	} else if (rc == M0_PIPE_OFFER) {
		M0_ASSERT(has > 0 && has <= M0_PIPE_OFFER_BYTES_MAX);
		m0_pipe_offer_get(pipe, &region, &place);
		(void)m0_pipe_offer_took(pipe, min64u(has, part));
	}
	if (rc >= 0)
		m0_pipe_release(pipe);
	rc_check(sto, rc);
	sto->sto_is_over |= rc == -ECONNRESET || rc == M0_PIPE_END;
}

static void act_put(struct story *sto, struct fuzz_in *in)
{
	size_t  nr = fuzz_number(in, 2);
	ssize_t rc = m0_pipe_put(&sto->sto_pipe, piece, nr);

	M0_ASSERT(rc == -EPROTO || (rc >= 0 && (size_t)rc <= nr));
	rc_check(sto, rc);
	if (rc < 0)
		return;
	m0_pipe_commit(&sto->sto_pipe);
	rc = m0_pipe_unsent(&sto->sto_pipe);
	M0_ASSERT(rc == -EPROTO || (rc >= 0 && rc <= M0_PIPE_RING_BYTES));
	rc_check(sto, rc);
}

static void act_put_offer(struct story *sto, struct fuzz_in *in)
{
	int rc = m0_pipe_offer_put(&sto->sto_pipe, 0, 0,
				   1 + (uint32_t)fuzz_byte(in));

	M0_ASSERT(M0_IN(rc, (0, -EAGAIN, -EPROTO)));
	rc_check(sto, rc);
	if (rc != 0)
		return;
	m0_pipe_commit(&sto->sto_pipe);
	rc = m0_pipe_offers_nr(&sto->sto_pipe);
	M0_ASSERT(rc == -EPROTO || (rc >= 0 && rc <= M0_PIPE_OFFERS_MAX));
	rc_check(sto, rc);
}

static void act_sleep(struct story *sto)
{
	if (m0_pipe_sleep(&sto->sto_pipe, M0_PIPE_INPUT | M0_PIPE_SPACE))
		m0_pipe_wake(&sto->sto_pipe);
	/* One wake-up for each value of the neighbour's word. */
	(void)m0_pipe_bell(&sto->sto_pipe);
	M0_ASSERT(!m0_pipe_bell(&sto->sto_pipe));
	(void)m0_pipe_copies(&sto->sto_pipe);
}

/* Any word of the neighbour about a region is one of the states. */
static void act_region(struct story *sto, struct fuzz_in *in)
{
	uint32_t region = (uint32_t)fuzz_number(in, 4);

	m0_pipe_region_set(&sto->sto_pipe, region, M0_PIPE_REGION_MAPPED);
	M0_ASSERT(m0_pipe_region_get(&sto->sto_pipe, region) <=
		  M0_PIPE_REGION_DROPPED);
}

static void act(struct story *sto, struct fuzz_in *in)
{
	switch ((enum action)(fuzz_byte(in) % ACTIONS_NR)) {
	case ACT_WRITE:
		act_write(sto, in);
		break;
	case ACT_MOVE:
		act_move(sto, in);
		break;
	case ACT_OFFER:
		act_offer(sto, in);
		break;
	case ACT_TAKE:
		act_take(sto, in);
		break;
	case ACT_PUT:
		act_put(sto, in);
		break;
	case ACT_PUT_OFFER:
		act_put_offer(sto, in);
		break;
	case ACT_REGION:
		act_region(sto, in);
		break;
	case ACT_SLEEP:
	default:
		act_sleep(sto);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct m0_pipe_mem *mems[2];
	struct story               sto = { .sto_own = mem_of(&mems[0]),
					   .sto_other = mem_of(&mems[1]) };
	struct fuzz_in             in = { data, size };
	unsigned                   i;

	m0_pipe_init(&sto.sto_pipe, sto.sto_own, sto.sto_other);
	for (i = 0; i < STEPS_MAX && in.fi_left > 0 && !sto.sto_is_over; ++i)
		act(&sto, &in);
	m0_pipe_end(&sto.sto_pipe, M0_PIPE_CLOSED);
	return 0;
}
