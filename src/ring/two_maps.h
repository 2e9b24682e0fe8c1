/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Order between the two sides of shared memory, for ThreadSanitizer.
 *
 * In a test both sides may be threads of one process, which has the memory mapped twice.
 * ThreadSanitizer knows atomics by their addresses, and sees no order between a store to
 * one mapping and a load of the other. So each side tells it: one after it has put
 * something there, the other when it has seen it. Without ThreadSanitizer this is nothing.
 */
#ifndef M0_SRC_RING_TWO_MAPS_H
#define M0_SRC_RING_TWO_MAPS_H

#ifndef __has_feature
#define __has_feature(name) 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define M0_RING_HAS_TSAN 1
/* Functions of the runtime of ThreadSanitizer. */
extern void __tsan_acquire(void *addr);
extern void __tsan_release(void *addr);
extern char m0_ring__order;
#else
#define M0_RING_HAS_TSAN 0
#endif

/** Before a store that shows something to the other side. */
static inline void m0_ring_order_put(void)
{
#if M0_RING_HAS_TSAN
	__tsan_release(&m0_ring__order);
#endif
}

/** After a load that may have seen what the other side shows. */
static inline void m0_ring_order_seen(void)
{
#if M0_RING_HAS_TSAN
	__tsan_acquire(&m0_ring__order);
#endif
}

#endif /* M0_SRC_RING_TWO_MAPS_H */
