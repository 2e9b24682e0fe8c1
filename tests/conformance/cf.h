/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The conformance fixture: what a case of the transport suite is written with.
 *
 * A case is a function. It makes machines (cf_up), buffers (cf_buf), adds them
 * (cf_add) and waits (cf_wait_buf); it never asks which transport, mode or
 * environment it runs on, except where the expected outcome is a trait of the
 * transport's row. Every callback of every case passes through the fixture,
 * which checks what must always hold: the right thread for the mode, no lock
 * held, not on the stack of a call, flags, one final event for each add.
 *
 * After the case cf_end() stops what still runs and checks promise 1 for each
 * machine and queue: added == completed (none is queued), successes + failures
 * == events, no end point left, memory around the buffers untouched, buffers
 * deregister, machines and domains finalise.
 *
 * One case at a time runs in a process (the runner forks for each), so the
 * fixture is one global object, and a failed check ends the process.
 */
#ifndef M0_TESTS_CONFORMANCE_CF_H
#define M0_TESTS_CONFORMANCE_CF_H

#include <stdio.h>
#include <stdlib.h>

#include "m0/net.h"
#include "m0/net_pool.h"
#include "m0/net_xprt.h"

enum cf_mode {
	CF_ASYNC,
	CF_SYNC,
	CF_INLINE
};

/** Side that learns of an outcome. */
enum cf_who {
	CF_BOTH,
	CF_RECEIVER,
	CF_SILENT
};

enum {
	CF_ADDR_MAX = 96,
	CF_GUARD = 64,
	CF_EVS = 128,
	CF_DOMS = 8,
	CF_TMS = 128
};

/** A transport, and the seven traits in which transports may differ. */
struct cf_row {
	const char               *r_name;
	const struct m0_net_xprt *r_xprt;
	/** An address of machine `nr` (1, 2, ...), not used before. */
	void (*r_addr)(char *ret, unsigned nr);
	/** Another spelling of r_addr(nr), the same text if there is none. */
	void (*r_spelling)(char *ret, unsigned nr);
	/** Texts that are no address, NULL at the end. */
	const char *const *r_bad;
	/** Does start(NULL) find an address? */
	bool r_dynamic;
	/** NULL: always one. */
	void (*r_workers_set)(struct m0_net_transfer_mc *tm, size_t nr);

	/** Optional: before and after a case. */
	void (*r_begin)(void);
	void (*r_end)(void);
	/** Optional: what else the application has to do in a poll. */
	void (*r_turn)(void);

	/** Message to nobody: status of the send, 0 if it gets lost. */
	int r_nobody;
	/** Message, and no receive buffer is free. */
	enum cf_who r_nobuf;
	/** Message larger than the receive buffer. */
	enum cf_who r_toobig;
	/** Is a bad descriptor refused by the add? */
	bool r_desc_at_add;
	/** Does -EFBIG of an active buffer leave the passive one queued? */
	bool r_efbig_alone;
	/** Passive buffer that is gone: -ENOENT or -ETIMEDOUT. */
	int r_stale;
	/** An active buffer that is cancelled ends so soon, while the peer works. */
	m0_time_t   r_cancel_ns;
	m0_bcount_t r_seg_max;
	int32_t     r_segs_max;
	m0_bcount_t r_buf_max;
	/** Longest message. */
	m0_bcount_t r_msg_max;
};

extern const struct cf_row cf_rows[];

struct cf_buf;
struct cf_tm;

/** Record of an event. */
struct cf_ev {
	int32_t     ce_status;
	m0_bcount_t ce_length;
	m0_bindex_t ce_offset;
	m0_time_t   ce_time;
	bool        ce_final;
	char        ce_ep[CF_ADDR_MAX];
};

struct cf_buf {
	struct m0_net_buffer cb_nb;
	/** Machine of the last add. */
	struct cf_tm *cb_tm;
	/** Called in each event, after it was recorded; may free the buffer. */
	void (*cb_hook)(struct cf_buf *b, const struct m0_net_buffer_event *ev);
	void *cb_arg;
	/** Since the buffer was made. */
	int cb_adds;
	int cb_finals;
	/** Events since the last cf_add. */
	int          cb_events;
	int          cb_done;
	struct cf_ev cb_ev[CF_EVS];
	/** Record of the final event. */
	struct cf_ev cb_last;
	m0_bcount_t  cb_size;
	/** Memory of the whole, guards included. */
	uint8_t *cb_mem;
	size_t   cb_mem_nr;
	bool     cb_is_of_library;
	/** A pool owns the buffer and deregisters it. */
	bool cb_in_pool;
	/** Its next adds are m0_net_buffer_add_again(). */
	bool           cb_again;
	struct cf_buf *cb_next;
};

/** The fixture's own counts for one queue of a TM. */
struct cf_ledger {
	int64_t cl_adds;
	int64_t cl_finals;
	int64_t cl_retained;
	int64_t cl_s;
	int64_t cl_f;
};

struct cf_tm {
	struct m0_net_transfer_mc ct_tm;
	unsigned                  ct_dom;
	char                      ct_addr[CF_ADDR_MAX];
	/** STATE_CHANGE events by state. */
	int     ct_states[M0_NET_TM_FAILED + 1];
	int32_t ct_failed_status;
	/** ERROR events. */
	int     ct_errors;
	int32_t ct_error_status;
	int     ct_order_bad;
	void (*ct_hook)(struct cf_tm *t, const struct m0_net_tm_event *ev);
	void            *ct_arg;
	struct cf_ledger ct_ledger[M0_NET_QT_NR];
	/** Thread is inside deliver_all of it. */
	bool ct_delivering;
	bool ct_inited;
	/** Not to be pumped: the case delivers by itself. */
	bool ct_manual;
	/** The case has reset its statistics, or provisions from a pool. */
	bool            ct_stats_off;
	struct m0_mutex ct_lock;
	struct m0_chan  ct_chan;
	struct m0_clink ct_clink;
	bool            ct_clink_on;
};

struct cf_env;

struct cf {
	const struct cf_row *c_row;
	enum cf_mode         c_mode;
	size_t               c_workers;
	bool                 c_sim;
	uint64_t             c_seed;
	uint64_t             c_rnd;
	struct m0_net_domain c_dom[CF_DOMS];
	struct cf_tm        *c_tm[CF_TMS];
	unsigned             c_tm_nr;
	unsigned             c_addr_nr;
	struct cf_buf       *c_bufs;
	/** Raised by every callback. */
	struct m0_semaphore c_sem;
	/** How long a fruitless look waits. */
	m0_time_t c_pause_ns;
	/** Buffer callbacks that run: a hook may use the case's stack. */
	int         c_inside;
	const char *c_case;
	const char *c_waiting;
	int         c_main_tid;
};
extern struct cf cf;

/** State of the fixture for each thread. */
struct cf_thread {
	/** Mutexes that the case holds itself, also in callbacks. */
	uint32_t cth_own_held_nr;
	/** Inside a call of the application: no callback may come. */
	int cth_in_call;
};

/** The calling thread's. */
struct cf_thread *cf_here(void);
/** The number of the calling thread. */
int cf_tid(void);

/* ------------------------------------------------------------- checks -- */

void cf_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn)) M0_PRINTF(3, 4);
void cf_eq(long long got, long long want, const char *expr, const char *file,
	   int line, const char *fmt, ...) M0_PRINTF(6, 7);

/** Fails unless `got` == `want`; the rest says what was expected, and why. */
#define CF_EQ(got, want, ...)                                                \
	cf_eq((long long)(got), (long long)(want), #got, __FILE__, __LINE__, \
	      __VA_ARGS__)
#define CF_TRUE(cond, ...)                                        \
	({                                                        \
		if (!(cond))                                      \
			cf_fail(__FILE__, __LINE__, __VA_ARGS__); \
		(void)0;                                          \
	})

/* ----------------------------------------------------------- case life -- */

struct cf_case {
	const char *cc_name;
	void (*cc_fn)(void);
};

struct cf_suite {
	const char           *cs_name;
	const struct cf_case *cs_cases;
};

/** Runs what the command line asks for; the program's exit status. */
int cf_main(int argc, char **argv, const struct cf_suite *suites);

/** Before and after a case; in between `cf` is ready. */
void cf_begin(void);
void cf_end(void);
/** The last part of cf_end() for one machine: stop, checks, fini. */
void cf_tm_end(struct cf_tm *t);

/* ---------------------------------------------------- time and waiting -- */

uint64_t cf_rand(uint64_t below);
/** Lets others run for a moment; may return at once. */
void cf_yield(void);
/** Delivers what machines in synchronous and inline mode have; any? */
bool cf_pump(void);
/** Pumps and waits until cond(arg); false after `limit_ns`. */
bool cf_wait_ns(bool (*cond)(void *arg), void *arg, m0_time_t limit_ns);
/** Waits as cf_wait_ns() does, and fails the case at the limit. */
void cf_wait(bool (*cond)(void *arg), void *arg, const char *what);
/** Pumps for this long, whatever happens. */
void cf_run_ms(unsigned ms);
/** Lets time pass without any call of the library. */
void cf_sleep_ms(unsigned ms);
/** Steps of the simulator so far; on threads, how often threads other than the
 * caller have gone to sleep. */
uint64_t cf_activity(void);
/** Allocations of the library so far. */
uint64_t cf_allocs(void);
/** Allocations of the library that are not freed. */
int64_t cf_live(void);
/**
 * Fails the nth allocation from now; 0: none. Was the one before not reached?
 */
bool cf_alloc_fail_at(uint64_t nth);
/** Waits until the final event of the last add. */
void cf_wait_buf(struct cf_buf *b);
/** Waits until `nr` events since the last add have come. */
void cf_wait_events(struct cf_buf *b, int nr);
void cf_wait_state(struct cf_tm *t, enum m0_net_tm_state state);
/** Waits until *counter >= want (read atomically). */
void cf_wait_count(const int *counter, int want, const char *what);
/**
 * Are there no descriptors here? Then a machine without one has answered so to
 * m0_net_tm_fd().
 */
bool cf_fd_none(void);
/** Is the descriptor readable, now? */
bool cf_fd_ready(int fd);
/** Waits until it is, without any call of the library. */
void cf_fd_wait(int fd, const char *what);

static inline int cf_get(const int *counter)
{
	return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

static inline void cf_set(int *counter, int value)
{
	__atomic_store_n(counter, value, __ATOMIC_RELEASE);
}

static inline void cf_inc(int *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_ACQ_REL);
}

/* ------------------------------------------------------------ machines -- */

/** The domain `nr` of the case, initialised on first use. */
struct m0_net_domain *cf_dom(unsigned nr);
/** A machine, initialised in domain `dom`, in the mode of the run. */
struct cf_tm *cf_tm_new(unsigned dom);
/** Initialises a TM as cf_tm_new() does, in the given mode. */
struct cf_tm *cf_tm_new_mode(unsigned dom, enum cf_mode mode);
/** Begins to start it at the address that is kept in ct_addr. */
void cf_tm_begin_start(struct cf_tm *t);
/** A machine that is STARTED. */
struct cf_tm *cf_up(unsigned dom);
int           cf_stop(struct cf_tm *t, bool abort_now);
/** Stops, and waits for STOPPED. */
void                 cf_stop_wait(struct cf_tm *t, bool abort_now);
enum m0_net_tm_state cf_state(struct cf_tm *t);
enum cf_mode         cf_mode_of(const struct cf_tm *t);
/** End point of machine `to`, as `from` sees it; the caller's reference. */
struct m0_net_end_point *cf_ep(struct cf_tm *from, struct cf_tm *to);
size_t               cf_queue_len(struct cf_tm *t, enum m0_net_queue_type qt);
struct m0_net_qstats cf_stats(struct cf_tm *t, enum m0_net_queue_type qt);
/** One delivery by hand, with the marks that the checks need. */
void cf_deliver(struct cf_tm *t);

/* ------------------------------------------------------------- buffers -- */

/** A registered buffer of `size` bytes in as few segments as allowed. */
struct cf_buf *cf_buf(unsigned dom, m0_bcount_t size);
/** A registered buffer in segments of random lengths, some of them 0. */
struct cf_buf *cf_buf_random(unsigned dom, m0_bcount_t size);
struct cf_buf *cf_buf_segs(unsigned dom, uint32_t nr, const m0_bcount_t *len);
/** Memory and callbacks, but not registered. */
/** Large buffers that are made from now on have memory of the library's allocator. */
extern bool    cf_library_memory;
struct cf_buf *cf_buf_raw(uint32_t nr, const m0_bcount_t *len);
/** Deregisters and frees; also from a callback. */
void cf_buf_free(struct cf_buf *b);
/** Fills `nr` bytes from `off` with the pattern `key`; the rest with 0xEE. */
void cf_fill(struct cf_buf *b, m0_bindex_t off, m0_bcount_t nr, uint64_t key);
/** Is the pattern there, `nr` bytes of it from `off`? Fails if not. */
void cf_check(struct cf_buf *b, m0_bindex_t off, m0_bcount_t nr, uint64_t key);
/** Have `nr` bytes from `off` the value 0xEE? Fails if not. */
void cf_check_blank(struct cf_buf *b, m0_bindex_t off, m0_bcount_t nr);

/** m0_net_buffer_add() with callbacks, marks and counts. */
int cf_add(struct cf_buf *b, struct cf_tm *t, enum m0_net_queue_type qt);
/** Adds as cf_add() does, and fails the case on an error. */
void cf_add_ok(struct cf_buf *b, struct cf_tm *t, enum m0_net_queue_type qt);
/**
 * Adds with a time-out `ns` from now, and tries again as often as a busy host
 * lets the time pass before the call. @return when it is due.
 */
m0_time_t cf_add_within(struct cf_buf *b, struct cf_tm *t,
			enum m0_net_queue_type qt, m0_time_t ns);
bool      cf_del(struct cf_buf *b);

/** A buffer of `size` bytes on the MSG_RECV queue. */
struct cf_buf *cf_recv(struct cf_tm *t, m0_bcount_t size);
/** A message of `nr` bytes with pattern `key`, made for `to`, not yet added. */
struct cf_buf *cf_msg(struct cf_tm *from, struct cf_tm *to, m0_bcount_t nr,
		      uint64_t key);
/** Makes a message with cf_msg() and adds it. The end point reference is
 * dropped. */
struct cf_buf *cf_send(struct cf_tm *from, struct cf_tm *to, m0_bcount_t nr,
		       uint64_t key);
/** A passive buffer, added; `only`: the permitted initiator or NULL. */
struct cf_buf *cf_passive(struct cf_tm *t, enum m0_net_queue_type qt,
			  m0_bcount_t size, struct cf_tm *only);
/** An active buffer with a copy of `peer`'s descriptor, added. */
struct cf_buf *cf_active(struct cf_tm *t, enum m0_net_queue_type qt,
			 m0_bcount_t size, const struct m0_net_buf_desc *desc);
/** Is the status of the final event `want`? */
void cf_done_is(struct cf_buf *b, int want, const char *why);
/** A message gets from one machine to the other: both work. */
void cf_exchange(struct cf_tm *from, struct cf_tm *to);

extern const struct m0_net_buffer_callbacks cf_buf_cbs;
extern const struct m0_net_tm_callbacks     cf_tm_cbs;
/** The callbacks' common part, for buffers that are not a cf_buf. */
void cf_cb_enter(struct m0_net_transfer_mc *tm, bool buffer_event);
void cf_wake(void);

/* --------------------------------------------------------------- pools -- */

struct cf_pool {
	struct m0_net_buffer_pool cp_pool;
	unsigned                  cp_dom;
	int                       cp_not_empty;
	int                       cp_below;
	/** Messages that came in pool buffers. */
	int cp_msgs;
	int cp_cancelled;
	/** Leave buffers out, in cp_held, instead of putting them back. */
	bool                  cp_hold;
	struct m0_net_buffer *cp_held[64];
	int                   cp_held_nr;
	/** Length of the receive queue seen in the last message's callback. */
	int cp_queue_seen;
};

/** A pool of `nr` buffers of `size` bytes in domain `dom`. */
struct cf_pool *cf_pool(unsigned dom, uint32_t nr, m0_bcount_t size,
			uint32_t colours);
/** Callbacks for pool buffers: count, put back with the machine's colour. */
extern const struct m0_net_buffer_callbacks cf_pool_cbs;
void cf_pool_put(struct cf_pool *p, struct m0_net_buffer *nb, uint32_t colour);
/** Puts back what cp_held holds. */
void     cf_pool_release(struct cf_pool *p);
uint32_t cf_pool_free_nr(struct cf_pool *p);
/** Waits until that many are free. */
void cf_pool_wait_free(struct cf_pool *p, uint32_t nr);

#endif /* M0_TESTS_CONFORMANCE_CF_H */
