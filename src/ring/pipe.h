/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A pipe: a stream of bytes each way between two processes of one host that do not trust
 * each other. docs/ring.md, section 12, is the specification.
 *
 * Each side has memory that it alone writes and that the other side can only read: a
 * ring of bytes, a list of offers, and the indices of both directions that are this
 * side's. Small pieces are copied into the ring. For a large piece the sender offers
 * the memory in which it lies, and the receiver copies it from there.
 *
 * Nothing of the other side is trusted: its words are read once, into a copy, and
 * checked against what this side knows. A violation is -EPROTO with a reason, after
 * which the pipe is of no use.
 *
 * This room is pure. The user wakes the other side when m0_pipe_bell() says so, and
 * copies offered memory. One thread at a time uses a side.
 */
#ifndef M0_SRC_RING_PIPE_H
#define M0_SRC_RING_PIPE_H

#include "m0/base.h"

enum {
	/** Raised whenever the layout or a meaning changes. */
	M0_PIPE_VERSION = 2,
	M0_PIPE_LINE_BYTES = 64,
	/** A power of two, as all sizes here. */
	M0_PIPE_RING_BYTES = 256 << 10,
	M0_PIPE_OFFERS_MAX = 32,
	M0_PIPE_OFFER_BYTES_MAX = 1 << 30,
	/** Regions of one side that the other side may have at a time. */
	M0_PIPE_REGIONS_MAX = 1024,
	M0_PIPE_WHY_BYTES = 128
};

/** Reasons to wake a side that sleeps. */
enum m0_pipe_want {
	/** Bytes, an offer, or the end. */
	M0_PIPE_INPUT = 1,
	/** Space in the ring. */
	M0_PIPE_SPACE = 2,
	/** The other side has taken an offer. */
	M0_PIPE_TAKEN = 4,
	M0_PIPE_WANTS_BITS = 3
};

/** State of a region of one side at the other side. */
enum m0_pipe_region {
	/** The other side has not looked at the region yet. */
	M0_PIPE_REGION_UNKNOWN,
	/** Mapped: offers can lie in the region. */
	M0_PIPE_REGION_MAPPED,
	M0_PIPE_REGION_REFUSED,
	/** Unmapped after a recall. */
	M0_PIPE_REGION_DROPPED,
	M0_PIPE_REGION_BITS = 2
};

enum m0_pipe_state {
	M0_PIPE_OPEN,
	/** The side has ended the stream: what is in its ring is still valid, what it
	 * offered is not. */
	M0_PIPE_CLOSED,
	/** The side has ended the stream because of a violation. */
	M0_PIPE_RESET
};

/** Memory of the sender, which the receiver copies. */
struct m0_pipe_offer {
	/** The offer follows so many bytes of the ring. */
	uint64_t pof_at;
	/** Address, or offset in a region. */
	uint64_t pof_place;
	uint32_t pof_bytes;
	/** 0: the address space of the sender. */
	uint32_t pof_region;
};

/** Memory of one side. Words that change together share a line. */
struct m0_pipe_mem {
	/** Bytes and offers put, ever. */
	uint64_t pim_put __attribute__((__aligned__(M0_PIPE_LINE_BYTES)));
	uint64_t pim_offers_put;
	/** Bytes and offers of the other side taken, ever. */
	uint64_t pim_taken __attribute__((__aligned__(M0_PIPE_LINE_BYTES)));
	uint64_t pim_offers_taken;
	/** A count, and in the low bits what the side waits for: 0, it is awake.
	 * The other side wakes it once for each value. */
	uint64_t pim_sleeps __attribute__((__aligned__(M0_PIPE_LINE_BYTES)));
	uint64_t pim_state;
	/** This side can copy offers of the other side from its address space. */
	uint64_t             pim_copies;
	struct m0_pipe_offer pim_offers[M0_PIPE_OFFERS_MAX]
		__attribute__((__aligned__(M0_PIPE_LINE_BYTES)));
	/** State of the other side's regions at this side: the number of the region, and in
	 * the low bits enum m0_pipe_region; by the number modulo M0_PIPE_REGIONS_MAX. */
	uint64_t pim_regions[M0_PIPE_REGIONS_MAX]
		__attribute__((__aligned__(M0_PIPE_LINE_BYTES)));
	uint8_t pim_ring[M0_PIPE_RING_BYTES]
		__attribute__((__aligned__(M0_PIPE_LINE_BYTES)));
};

/** One side. */
struct m0_pipe {
	struct m0_pipe_mem       *pip_own;
	const struct m0_pipe_mem *pip_other;
	/** Outwards: own counts, and what the other side has taken as last seen. */
	uint64_t pip_put;
	uint64_t pip_offers_put;
	uint64_t pip_out_taken;
	uint64_t pip_out_offers_taken;
	/** Inwards. */
	uint64_t pip_taken;
	uint64_t pip_offers_taken;
	uint64_t pip_in_put;
	uint64_t pip_in_offers_put;
	/** The next offer, a copy that was checked, and how much of it is taken.
	 * pof_bytes 0: none. */
	struct m0_pipe_offer pip_offer;
	uint32_t             pip_offer_done;
	/** Own sleep word; the last one of the other side that it was woken for. */
	uint64_t pip_sleeps;
	uint64_t pip_woken;
	/** Changes that the other side may wait for: enum m0_pipe_want. */
	unsigned pip_news;
	/** A violation: the field, its value and the most that is accepted. */
	const char *pip_flaw;
	uint64_t    pip_flaw_value;
	uint64_t    pip_flaw_max;
};

/** Kind of what comes next. */
enum m0_pipe_next {
	M0_PIPE_NOTHING,
	M0_PIPE_BYTES,
	M0_PIPE_OFFER,
	/** Nothing more will come; an offer may have been withdrawn. */
	M0_PIPE_END
};

/**
 * Joins two memories. Both are zeroed before the first side uses them.
 * @param other  mapped to be read.
 */
void m0_pipe_init(struct m0_pipe *pipe, struct m0_pipe_mem *own,
		  const struct m0_pipe_mem *other);

/* -- outwards -------------------------------------------------------------- */

/**
 * Copies bytes into the ring, as many as fit. The other side sees them after
 * m0_pipe_commit().
 * @return how many; -EPROTO.
 */
int64_t m0_pipe_put(struct m0_pipe *pipe, const void *bytes, size_t nr);
/**
 * Offers memory, which must not change until the offer is taken or the pipe has ended.
 * Seen as above.
 * @retval -EAGAIN  too many are outstanding.
 */
int m0_pipe_offer_put(struct m0_pipe *pipe, uint32_t region, uint64_t place,
		      uint32_t bytes);
/** Has the ring space for so many bytes? m0_pipe_put() then takes all of them. */
bool m0_pipe_has_space(struct m0_pipe *pipe, size_t nr);
/** Shows what was put. */
void m0_pipe_commit(struct m0_pipe *pipe);
/** @return offers that the other side has not taken; -EPROTO. */
int m0_pipe_offers_nr(struct m0_pipe *pipe);
/** @return bytes of the ring that the other side has not taken; -EPROTO. */
int64_t m0_pipe_unsent(struct m0_pipe *pipe);
/**
 * Ends this direction and withdraws the offers: when it returns, what the other side
 * still copies of them is no longer accepted there.
 */
void m0_pipe_end(struct m0_pipe *pipe, enum m0_pipe_state state);

/* -- inwards --------------------------------------------------------------- */

/**
 * Looks at what comes next.
 * @param ret  bytes of the ring, or those of the offer that are not taken.
 * @return enum m0_pipe_next; -EPROTO, and -ECONNRESET: the other side has ended the
 *         stream because of a violation.
 */
int m0_pipe_next(struct m0_pipe *pipe, size_t *ret);
/** Has the other side ended its direction? What it had taken before is found after this. */
bool m0_pipe_is_ended(const struct m0_pipe *pipe);
/** Takes `nr` of the bytes that m0_pipe_next() has found. */
void m0_pipe_get(struct m0_pipe *pipe, void *bytes, size_t nr);
/** Finds where the rest of the offer lies. Pre: m0_pipe_next() has found one. */
void m0_pipe_offer_get(const struct m0_pipe *pipe, uint32_t *ret_region,
		       uint64_t *ret_place);
/**
 * `nr` bytes of the offer were copied.
 * @retval -ECONNRESET  it was withdrawn meanwhile: what was copied is not valid.
 */
int m0_pipe_offer_took(struct m0_pipe *pipe, size_t nr);
/** Shows what was taken. */
void m0_pipe_release(struct m0_pipe *pipe);
/** Shows the state of a region of the other side. */
void m0_pipe_region_set(struct m0_pipe *pipe, uint32_t region,
			enum m0_pipe_region state);
/** @return the state of a region of this side at the other side, as that has shown it. */
enum m0_pipe_region m0_pipe_region_get(const struct m0_pipe *pipe,
				       uint32_t              region);
/** Says whether this side can copy from the address space of the other side. */
void m0_pipe_copies_set(struct m0_pipe *pipe, bool copies);
/** The other side can copy from the address space of this side. */
bool m0_pipe_copies(const struct m0_pipe *pipe);

/* -- sleep ----------------------------------------------------------------- */

/** Is there something that a side waits for? Reads at most two lines. */
bool m0_pipe_has(const struct m0_pipe *pipe, unsigned wants);
/**
 * Says that this side sleeps, and looks again.
 * @param wants  of enum m0_pipe_want.
 * @retval false  there is something: it is awake.
 */
bool m0_pipe_sleep(struct m0_pipe *pipe, unsigned wants);
/** This side is awake. */
void m0_pipe_wake(struct m0_pipe *pipe);
/** @retval true  wake the other side: it waits for something that was shown. */
bool m0_pipe_bell(struct m0_pipe *pipe);

/** Prints why a call has returned -EPROTO. @return buf */
char *m0_pipe_why(const struct m0_pipe *pipe, char buf[M0_PIPE_WHY_BYTES]);

#endif /* M0_SRC_RING_PIPE_H */
