/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Services of the host for the simulable rooms: time, waiting, strands, random
 * bytes, a pollable descriptor, memory for buffers. One table stands behind all
 * of it. The real one (`m0_os_real`) is made of threads, futexes and the
 * monotonic clock; the simulator installs its own, and then one thread runs
 * every strand in an order drawn from a seed, on a clock that moves only when
 * nothing can run. The rooms above see no difference. Mutexes are not in the
 * table: in the simulator they are real and never contended, because nothing
 * switches while one is held (asserted in waits).
 */
#ifndef M0_SRC_OS_OS_H
#define M0_SRC_OS_OS_H

#include "m0/base.h"
#include "m0/sync.h"

#include "base/exports.h"

/**
 * A strand: something that moves. The thread that runs it calls `so_step`.
 *
 * Life: m0_strand_init, m0_strand_start, any number of wakes, m0_strand_stop,
 * m0_strand_fini. Between start and stop its runner (a thread of its own, or
 * the simulator) calls so_step
 *  - once soon after start,
 *  - at least once after every m0_strand_wake (a wake during a step causes
 *    another step; several wakes may be served by one),
 *  - when the deadline that the last step returned has come.
 * Steps of one strand never overlap each other.
 */
struct m0_strand;

struct m0_strand_ops {
	/**
	 * Does what is pending and returns the next deadline, M0_TIME_NEVER for
	 * none. `now` is the clock as read for this step. Holds no lock of the
	 * library when called and when it returns. Must not block.
	 *
	 * A step that leaves work for another one returns M0_TIME_IMMEDIATELY or
	 * `now`; what was due at `now` is done. So the same deadline, passed
	 * already, returned by two steps in a row is a step in vain: see struct
	 * m0_vain.
	 */
	m0_time_t (*so_step)(struct m0_strand *strand, m0_time_t now);
	/**
	 * Optional. Called by a runner that is about to sleep, as often as it
	 * spins: true if a step would find work. Cheap, lock free, no clock.
	 * Lets work be left to a spinning runner without any wake.
	 */
	bool (*so_ready)(const struct m0_strand *strand);
	/**
	 * Optional, with so_rouse: sleeps in the strand's own thread, for a
	 * strand that waits for more than wakes, such as sockets. The runner
	 * calls it after the spin and the last check. It returns at the latest
	 * when so_rouse has been called or `deadline` (M0_TIME_NEVER: none) has
	 * come; it may return earlier. A step follows. Only runners with a
	 * thread for the strand call it; the simulator does not.
	 */
	void (*so_sleep)(struct m0_strand *strand, m0_time_t deadline);
	/**
	 * Ends a so_sleep in progress or, if there is none, the next. A waker
	 * calls it on its own thread, now and then without need. It is lock
	 * free and never blocks. The memory it uses must stay until
	 * m0_strand_wake has returned.
	 */
	void (*so_rouse)(struct m0_strand *strand);
};

/**
 * Steps in vain: steps that return the deadline which caused them. A strand
 * that makes them would occupy a processor, and in the simulator time would
 * stand still. The library counts them and logs the first M0_VAIN_ROW_MAX in a
 * row; debug builds abort there.
 */
struct m0_vain {
	/** Deadline of the last step. */
	m0_time_t va_deadline;
	uint32_t  va_row_nr;
	/** Total number. Atomic. */
	uint64_t va_nr;
};

enum {
	M0_VAIN_ROW_MAX = 64
};

/** Part of m0_vain_note(). */
void m0_vain_count(struct m0_vain *vain, const char *name);
/** A step at `now` has returned `deadline`. One thread at a time. */
static inline void m0_vain_note(struct m0_vain *vain, const char *name,
				m0_time_t now, m0_time_t deadline)
{
	if (M0_LIKELY(deadline > now || deadline == M0_TIME_IMMEDIATELY ||
		      deadline != vain->va_deadline))
		vain->va_row_nr = 0;
	else
		m0_vain_count(vain, name);
	vain->va_deadline = deadline;
}

struct m0_strand {
	const struct m0_strand_ops *st_ops;
	const char                 *st_name;
	/** Runner's state word; a futex in the real runner. */
	uint32_t st_word;
	/** Nanoseconds to spin for work before sleeping, while work flows: at
	 * least once in four times as long; 0: sleep at once. */
	m0_time_t        st_spin_ns;
	struct m0_thread st_thread;
	/** Runner's private data (the simulator's entry). */
	void *st_runner;
	bool  st_started;
	/** Steps made and wake-ups from sleep: read without a lock, for tests. */
	uint64_t       st_steps_nr;
	uint64_t       st_wakeups_nr;
	struct m0_vain st_vain;
};

/**
 * @param name  shown by debuggers and the simulator; kept by pointer; threads
 *              show its first 15 bytes.
 */
M0_SHARED void m0_strand_init(struct m0_strand           *strand,
			      const struct m0_strand_ops *ops,
			      const char                 *name);
M0_SHARED void m0_strand_fini(struct m0_strand *strand);
/**
 * Starts running the strand.
 * @param cpus  processors it is confined to; NULL: any.
 * @retval -EINVAL  `cpus` names no processor of this machine.
 * @retval -EAGAIN, -ENOMEM  no thread to be had.
 */
int m0_strand_start(struct m0_strand *strand, const struct m0_bitmap *cpus);
/**
 * Causes a step. Any thread, also from a step, never blocks; lock free; a
 * system call only if the runner sleeps. A no-op before start and after stop.
 */
M0_SHARED void m0_strand_wake(struct m0_strand *strand);
/**
 * Moves a strand that is started to other processors. Any thread.
 * @retval -EINVAL  `cpus` names no processor that it may run on.
 */
int m0_strand_confine(struct m0_strand *strand, const struct m0_bitmap *cpus);
/** True if the runner has gone to sleep, so that a wake costs a system call. */
bool m0_strand_sleeps(const struct m0_strand *strand);
/** Waits for a step in progress, then ends the runner. Not from a step of it. */
void m0_strand_stop(struct m0_strand *strand);
/** The strand whose step runs on this thread, NULL outside of any. */
struct m0_strand *m0_strand_current(void);
/**
 * For runners: makes one step, as m0_strand_current() and inside a pass at
 * `now`, counts it, and asserts that it has released each lock it took.
 * @return the next deadline.
 */
m0_time_t m0_strand_step(struct m0_strand *strand, m0_time_t now);
/**
 * For runners of tests: this thread has left its steps by a jump of a failed
 * test, so it is in no step and holds no lock.
 */
void m0_strand_forget(void);

/** Returns the default of st_spin_ns: $M0_SPIN_NS, or else 50 us, 0 with one
 * processor. */
m0_time_t m0_os_spin_ns_default(void);

/**
 * A pollable descriptor that is readable while signalled or once an armed
 * deadline has passed: an epoll descriptor over an eventfd and a timerfd.
 *
 * Any thread signals; the other calls are made under a lock of the owner.
 * Another table may leave of_fd and of_event -1: then nothing can be polled, and the
 * state is in of_signalled and of_deadline.
 */
struct m0_os_fd {
	int  of_fd; /**< Descriptor for poll(); -1 if not open. */
	int  of_event;
	int  of_timer;
	bool of_armed;
	/** Bit 0: readable by signal; above: what the eventfd has counted. */
	uint32_t  of_signalled;
	m0_time_t of_deadline;
	void     *of_runner;
};

/** @retval <0  negative errno of the descriptor calls; nothing is left open. */
int  m0_os_fd_open(struct m0_os_fd *fd);
void m0_os_fd_close(struct m0_os_fd *fd);
/** Readable also whenever `other` is, until that is closed. @retval <0 */
int m0_os_fd_join(struct m0_os_fd *fd, int other);
/** No longer so. */
void m0_os_fd_leave(struct m0_os_fd *fd, int other);
/** Makes it readable. Idempotent and cheap when it already is. Any thread. */
void m0_os_fd_signal(struct m0_os_fd *fd);
/** True if signalled, or the armed deadline has passed. No system call. */
bool m0_os_fd_is_readable(const struct m0_os_fd *fd);
/**
 * Neither signalled nor about to be readable by the late write of a signal that
 * was cleared. Any thread. No system call.
 */
static inline bool m0_os_fd_is_clear(const struct m0_os_fd *fd)
{
	return __atomic_load_n(&fd->of_signalled, __ATOMIC_SEQ_CST) == 0;
}
/**
 * Makes it unreadable again; a deadline that has passed is disarmed. Clear
 * first, then look for work: a signal meanwhile may be lost in the clear.
 */
void m0_os_fd_clear(struct m0_os_fd *fd);
/** Readable from `deadline` on; M0_TIME_NEVER disarms. No call if unchanged. */
void m0_os_fd_arm(struct m0_os_fd *fd, m0_time_t deadline);

/** The table. Every member is always set. */
struct m0_os_ops {
	m0_time_t (*oo_now)(void);
	/** Wall clock, nanoseconds since 1970: incarnations and humans only. */
	uint64_t (*oo_wall)(void);
	int (*oo_strand_start)(struct m0_strand       *strand,
			       const struct m0_bitmap *cpus);
	int (*oo_strand_confine)(struct m0_strand       *strand,
				 const struct m0_bitmap *cpus);
	void (*oo_strand_wake)(struct m0_strand *strand);
	void (*oo_strand_stop)(struct m0_strand *strand);
	bool (*oo_strand_sleeps)(const struct m0_strand *strand);
	/**
	 * Blocks the calling application thread until the semaphore was taken
	 * (true) or `deadline` has passed (false). m0_semaphore_down and
	 * _timeddown, and through them every m0_chan wait, end here when
	 * the count is 0.
	 */
	bool (*oo_wait)(struct m0_semaphore *semaphore, m0_time_t deadline);
	/**
	 * After m0_semaphore_up raised a count that a thread waits for. The
	 * thread may have gone on and ended the semaphore: only its address is used.
	 */
	void (*oo_post)(struct m0_semaphore *semaphore);
	/** Blocks the calling application thread until `deadline`. */
	void (*oo_sleep)(m0_time_t deadline);
	int (*oo_fd_open)(struct m0_os_fd *fd);
	void (*oo_fd_close)(struct m0_os_fd *fd);
	void (*oo_fd_arm)(struct m0_os_fd *fd, m0_time_t deadline);
	void (*oo_random)(void *ret_bytes, size_t nr);
	/** As m0_os_yield(). The simulator runs something else meanwhile. */
	void (*oo_yield)(void);
	/** As m0_os_process(). */
	const void *(*oo_process)(void);
};

extern const struct m0_os_ops m0_os_real;

/**
 * Installs a table; NULL: `m0_os_real`. Only while no strand is started and no
 * other thread is in the library: tests and tools, at their start and end.
 */
void                    m0_os_set(const struct m0_os_ops *ops);
const struct m0_os_ops *m0_os_get(void);
/**
 * Rises with each m0_os_set(): what was drawn once for all, under another
 * table, is to be drawn again, or a run would not repeat.
 */
uint32_t m0_os_epoch(void);

/**
 * Returns a name of the process: what processes have once, such as a node that its
 * users share, is kept for each value of it. NULL but in the simulator, where each
 * host is a process of its own.
 */
const void *m0_os_process(void);

M0_SHARED void m0_os_random(void *ret_bytes, size_t nr);
uint64_t       m0_os_wall_ns(void);
/** A variable of the environment; NULL: not set. */
M0_SHARED const char *m0_os_env(const char *name);
/** Number of processors this process may run on, at least 1. */
unsigned m0_os_cpus_nr(void);

/** Lets other threads have the processor. It does not block: strands may call it, with no
 * lock held. */
void m0_os_yield(void);
/**
 * Until *nr is 0: of threads that are on their way out of something that does not
 * block. Spins, then lets others run.
 */
M0_SHARED void m0_os_zero_wait(const uint32_t *nr);

/** Does the set name a processor of this machine? */
bool m0_os_cpus_valid(const struct m0_bitmap *cpus);

enum {
	/** Number of processors that a set may name. */
	M0_OS_CPUS_MAX = 1024
};

/**
 * The processors of a strand: a set that was asked for, and a hint that counts
 * while there is none. Zeroed memory has neither. Both may change at any time and
 * outlive the strand.
 */
struct m0_os_cpus {
	struct m0_mutex oc_lock;
	/** NULL: not started. */
	struct m0_strand *oc_strand;
	struct m0_bitmap  oc_own;
	struct m0_bitmap  oc_hint;
	/** Where its thread may run without either. */
	uint64_t oc_inherited[M0_OS_CPUS_MAX / 64];
};

/** m0_strand_start() on the processors that count. */
M0_SHARED int m0_os_cpus_start(struct m0_os_cpus *cpus,
			       struct m0_strand  *strand);
/** m0_strand_stop() of what m0_os_cpus_start() has started. */
M0_SHARED void m0_os_cpus_stop(struct m0_os_cpus *cpus);
/**
 * Sets the hint, or the set; the strand moves at once. Any thread.
 * @param set  copied; NULL: none.
 * @retval -EINVAL  it names no processor that the strand may run on.
 * @retval -ENOMEM
 */
M0_SHARED int m0_os_cpus_set(struct m0_os_cpus *cpus, bool hint,
			     const struct m0_bitmap *set);
/** Was a set asked for? */
M0_SHARED bool m0_os_cpus_is_set(struct m0_os_cpus *cpus);
/** Frees both. Pre: not started. */
void m0_os_cpus_fini(struct m0_os_cpus *cpus);

/**
 * Buffer memory: whole 2 MiB-aligned regions, huge pages where the system
 * gives them, touched once so that the data path never faults.
 * @retval NULL  no memory.
 */
void *m0_os_region_alloc(size_t bytes);
/** `bytes` as given to the allocation. NULL is allowed. */
void m0_os_region_free(void *region, size_t bytes);

/**
 * Finds the region in which the library's allocator has placed some memory.
 * Memory aligned to a page or more (m0_alloc_aligned()) comes out of regions,
 * and all users share them.
 * @return false if it is other memory.
 */
bool m0_os_region_of(const void *addr, void **ret_base, size_t *ret_bytes);

/** Rights of other processes to the regions of the allocator. */
enum m0_os_share {
	M0_OS_SHARE_NONE,
	/** A process that gets the descriptor of a region can only read it. */
	M0_OS_SHARE_READ,
	/** Such a process can write, too. */
	M0_OS_SHARE_WRITE
};

/**
 * From now on the allocator makes its regions of memory that another process can map, too,
 * with the most rights that anybody has asked for. A child process then shares them with
 * its parent. There is no way back.
 */
void m0_os_regions_share(enum m0_os_share share);
/**
 * The descriptor of a region that another process can map and write: sealed against
 * shrinking, and closed with the region.
 * @param base  of m0_os_region_of().
 * @return -1: the region was made before m0_os_regions_share(M0_OS_SHARE_WRITE).
 */
int m0_os_region_fd(const void *base);

/** Bytes of regions of the allocator that other processes can map, for which huge pages
 * were asked for ($M0_HUGE_PAGES is 1), and that have them. */
struct m0_os_huge {
	uint64_t ohu_asked;
	uint64_t ohu_got;
};

void m0_os_huge_get(struct m0_os_huge *ret);

/** A region that other processes can read, and not write. */
struct m0_os_region {
	char  *org_base;
	size_t org_bytes;
	/** Number that no other region has or had. */
	uint64_t org_id;
	/** Closed with the region. */
	int org_fd;
};

/**
 * Finds the region of some memory that is in use.
 * @return false if other processes cannot map it, or could write it.
 */
bool m0_os_region_read(const void *addr, struct m0_os_region *ret);
/** Is the region still there? */
bool m0_os_region_is(const struct m0_os_region *region);
/** Returns how many regions have gone back to the system, ever. A thread that has got
 * memory sees the count of all regions that were there before. */
uint64_t m0_os_regions_gone(void);

/** An object that waits for regions to go back to the system. */
struct m0_os_region_watch {
	/** Called by the thread that frees the memory, under a lock: it neither blocks nor
	 * allocates. */
	void (*orw_gone)(struct m0_os_region_watch *watch);
	struct m0_list_link orw_link;
};

void m0_os_regions_watch(struct m0_os_region_watch *watch);
/** Any number of times. No call comes after it. */
void m0_os_regions_unwatch(struct m0_os_region_watch *watch);
/** Keeps the whole pages in a range out of core dumps, or lets them in. */
void m0_os_dump_set(void *addr, size_t bytes, bool dump);

/** CRC-32C (Castagnoli) of `nr` bytes, continuing `crc`; start with 0. */
uint32_t m0_os_crc32c(uint32_t crc, const void *bytes, size_t nr);

#endif /* M0_SRC_OS_OS_H */
