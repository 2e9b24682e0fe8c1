/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Between rpc_recv.c, which queues receive buffers, and rbuf.c, which counts the
 * items that refer to them.
 *
 * While a buffer is queued no other reference is the last, and the machine's
 * thread, which gets them all and puts most, counts for itself alone. When the
 * queue gives it up, the count of the machine's thread is added to that of all
 * threads.
 */
#ifndef M0_SRC_RPC_RBUF_H
#define M0_SRC_RPC_RBUF_H

#include "rpc/rpc_internal.h"

enum {
	/** Bit 0 of ril_rbuf: the memory is a struct m0_rpc__copy. */
	M0_RPC__RBUF_ON_HEAP = 1
};

/** The queue's count: more than items have. */
#define M0_RPC__RBUF_QUEUED (UINT32_C(1) << 31)
/** In rbc_own: the queue has none. */
#define M0_RPC__RBUF_GIVEN_UP UINT32_MAX

/** References to a buffer. All 0: there are none. */
struct m0_rpc__rbuf_count {
	/** The queue, less what other threads have put; later all. Atomic. */
	uint32_t rbc_all;
	/** References that the machine's thread has taken and not put. */
	uint32_t rbc_own;
};

/** A copy of a packet. */
struct m0_rpc__copy {
	struct m0_rpc__rbuf_count cpy_count;
	m0_bcount_t               cpy_nr;
	_Alignas(8) uint8_t cpy_bytes[];
};

static inline struct m0_rpc__rbuf_count *m0_rpc__rbuf_count_of(uintptr_t rbuf)
{
	struct m0_net_buffer *nb = (struct m0_net_buffer *)rbuf;

	_Static_assert(sizeof nb->nb_app_private ==
			       sizeof(struct m0_rpc__rbuf_count),
		       "the count takes the pointer's place");
	return rbuf & M0_RPC__RBUF_ON_HEAP
		       ? &((struct m0_rpc__copy
				    *)(rbuf & ~(uintptr_t)M0_RPC__RBUF_ON_HEAP))
				  ->cpy_count
		       : (struct m0_rpc__rbuf_count *)(void *)&nb
				 ->nb_app_private;
}

/* The machine's thread, as all that follow but m0_rpc__rbuf_put(). */
static inline void m0_rpc__rbuf_begin(uintptr_t rbuf)
{
	struct m0_rpc__rbuf_count *count = m0_rpc__rbuf_count_of(rbuf);

	/* Others put what they have of a queued one, too. */
	if (__atomic_load_n(&count->rbc_all, __ATOMIC_RELAXED) != 0)
		return;
	__atomic_store_n(&count->rbc_all, M0_RPC__RBUF_QUEUED,
			 __ATOMIC_RELAXED);
	count->rbc_own = 0;
}

/* For the items of a packet, all at once. */
static inline void m0_rpc__rbuf_get(uintptr_t rbuf, uint32_t nr)
{
	m0_rpc__rbuf_count_of(rbuf)->rbc_own += nr;
}

/* Return the references that no item has taken. */
static inline void m0_rpc__rbuf_unget(uintptr_t rbuf, uint32_t nr)
{
	m0_rpc__rbuf_count_of(rbuf)->rbc_own -= nr;
}

/** Takes `nr` off the count of all threads, and frees the memory with the last. */
void m0_rpc__rbuf_less(struct m0_rpc__machine *m, uintptr_t rbuf, uint32_t nr);

#endif /* M0_SRC_RPC_RBUF_H */
