/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Shared by the files of this room. */
#ifndef M0_SRC_OS_OS_INTERNAL_H
#define M0_SRC_OS_OS_INTERNAL_H

#include "os/os.h"
#include "os/pass.h"

/**
 * Sleeps while `*word == value`, until woken or `deadline` (monotonic; NEVER:
 * none) has passed. May return without reason.
 * @return false if the deadline has passed.
 */
bool m0_os__futex_wait(uint32_t *word, uint32_t value, m0_time_t deadline);
/** Wakes up to `nr` threads. It does not read the word, which may be freed. */
void m0_os__futex_wake(uint32_t *word, uint32_t nr);

/** Pauses a spinning processor between two looks. */
static inline void m0_os__pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/** Sets the count to 0. Waiting threads keep waiting. */
void m0_os__semaphore_zero(struct m0_semaphore *semaphore);

/**
 * Prepares the calling thread to run a strand.
 * @param cpus  processors that the thread moves to; NULL: it stays.
 * @retval -EINVAL  it may run on none of them.
 */
int m0_os__runner_init(const struct m0_bitmap *cpus);
/**
 * Returns the processors of a strand that has no set: those of the thread that starts
 * it. If that thread is itself a strand, which may be confined, those of the first thread
 * of the process. Empty if the system does not report them.
 */
void m0_os__cpus_inherited(struct m0_bitmap *ret_map);

/* Slots of m0_os_real, by file. */
m0_time_t m0_os__now(void);
uint64_t  m0_os__wall(void);
void      m0_os__sleep(m0_time_t deadline);
int m0_os__strand_start(struct m0_strand *strand, const struct m0_bitmap *cpus);
int m0_os__strand_confine(struct m0_strand       *strand,
			  const struct m0_bitmap *cpus);
void m0_os__strand_wake(struct m0_strand *strand);
void m0_os__strand_stop(struct m0_strand *strand);
bool m0_os__strand_sleeps(const struct m0_strand *strand);
bool m0_os__wait(struct m0_semaphore *semaphore, m0_time_t deadline);
void m0_os__post(struct m0_semaphore *semaphore);
int  m0_os__fd_open(struct m0_os_fd *fd);
void m0_os__fd_close(struct m0_os_fd *fd);
void m0_os__fd_arm(struct m0_os_fd *fd, m0_time_t deadline);
void m0_os__random(void *ret_bytes, size_t nr);
void m0_os__yield(void);

/** A strand is about to make a step. The kernel takes its processor back from a thread only
 * where the thread allows that; steps that follow each other without a sleep may not. */
#ifdef __KERNEL__
void m0_os__give_way(void);
#else
static inline void m0_os__give_way(void)
{
}
#endif

extern const struct m0_alloc_ops m0_os__alloc_ops;
/** Gives the calls of this room to base. A program does it before main(). */
void m0_os__hooks_install(void);

/** m0_os_region_alloc(), of memory that another process can map. */
void *m0_os__region_alloc_shared(size_t bytes, bool writable, int *ret_fd);
/** Zeroed memory out of regions; `shift` is at least that of a page. */
void *m0_os__arena_alloc(size_t size, unsigned shift);
/** Returns the most rights that m0_os_regions_share() was called with. */
enum m0_os_share m0_os__regions_share(void);
/** Returns false if the memory does not belong to the arena. */
bool m0_os__arena_free(void *data);

/**
 * Asserts that the calling thread may block: that it runs no strand. The mutexes
 * that an application's thread holds are the application's affair.
 */
void m0_os__may_block(void);

#endif /* M0_SRC_OS_OS_INTERNAL_H */
