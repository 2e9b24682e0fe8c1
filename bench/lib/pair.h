/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Two machines of the in-memory transport, each in a domain of its own, and
 * buffers for them. Public calls of the library only.
 */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include <stdatomic.h>

#include "m0/mem.h"
#include "bench.h"

enum bench_mode {
	/** The thread that polls delivers. */
	BENCH_INLINE,
	/** The library's threads deliver, side i on processor o_cpu[i]. */
	BENCH_ASYNC
};

struct bench_side {
	struct m0_net_domain      s_dom;
	struct m0_net_transfer_mc s_tm;
	/** Last state delivered, an enum m0_net_tm_state. */
	_Atomic int s_state;
	/** The other side. */
	struct m0_net_end_point *s_peer;
	enum bench_mode          s_mode;
} __attribute__((aligned(128)));

/** Starts a machine, and its domain, at an address. */
void bench_side_start(struct bench_side *side, const struct m0_net_xprt *xprt,
		      const char *text, int cpu, enum bench_mode mode);
/** The other side's address. */
void bench_side_meet(struct bench_side *side, const char *text);
/** Cancels what is queued, and ends the machine; the domain remains. */
void bench_side_stop(struct bench_side *side);

/** Starts both sides; each knows the other by s_peer. */
struct bench_side *bench_pair_start(enum bench_mode mode);
/** Cancels what is queued, and ends both. Buffers remain registered. */
void bench_pair_stop(struct bench_side *pair);
/** After the stop, and after the buffers were freed. */
void bench_pair_free(struct bench_side *pair);

/** Inline mode: delivers what there is. */
static inline void bench_poll(struct bench_side *side)
{
	m0_net_buffer_event_deliver_all(&side->s_tm);
}

struct bench_buf {
	struct m0_net_buffer b_nb;
	m0_bcount_t          b_count[M0_NET_BULK_MEM_SEGMENTS_MAX];
	void                *b_addr[M0_NET_BULK_MEM_SEGMENTS_MAX];
} __attribute__((aligned(128)));

/** `nr` registered buffers of `bytes` each, at every `stride` of `mem`. */
struct bench_buf *bench_bufs_make(struct bench_side *side, int nr, char *mem,
				  size_t bytes, size_t stride,
				  const struct m0_net_buffer_callbacks *cb,
				  void                                 *app);
struct bench_buf *bench_bufs_make_dom(struct m0_net_domain *dom, int nr,
				      char *mem, size_t bytes, size_t stride,
				      const struct m0_net_buffer_callbacks *cb,
				      void *app);
void bench_bufs_free(struct bench_side *side, struct bench_buf *bufs, int nr);

/** Queues a buffer; ends the program if that fails. */
static inline void bench_add(struct m0_net_buffer *nb, struct bench_side *side,
			     enum m0_net_queue_type qtype)
{
	int rc;

	nb->nb_qtype = qtype;
	rc = m0_net_buffer_add(nb, &side->s_tm);
	if (M0_UNLIKELY(rc != 0))
		bench_die("add to queue %d: %d", (int)qtype, rc);
}

/** True: go on; false: the machine is stopping. Anything else is fatal. */
static inline bool bench_ok(const struct m0_net_buffer_event *ev)
{
	if (M0_LIKELY(ev->nbe_status == 0))
		return true;
	if (ev->nbe_status != -ECANCELED)
		bench_die("event of queue %d: %d",
			  (int)ev->nbe_buffer->nb_qtype, (int)ev->nbe_status);
	return false;
}

#endif /* BENCH_PAIR_H */
