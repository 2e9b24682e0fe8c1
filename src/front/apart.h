/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Interface between a front whose node is in another process and the pump, which takes
 * the place of the node. The pump calls the front; the front calls the pump by a table.
 */
#ifndef M0_SRC_FRONT_APART_H
#define M0_SRC_FRONT_APART_H

#include "m0/lnet_run.h"
#include "os/os.h"

struct m0_pump;
struct m0_front_tm;

/** Kinds of registered memory that the other side takes. */
enum m0_front_takes {
	/** The other side has all memory: only the name is told. */
	M0_FRONT_TAKES_NAMES,
	/** Only memory that another process can map. */
	M0_FRONT_TAKES_SHARED,
	/** Any. */
	M0_FRONT_TAKES_ANY
};

struct m0_front_apart_ops {
	/** The step, with the delivery of events. */
	m0_time_t (*fao_step)(struct m0_pump *pump, m0_time_t now);
	bool (*fao_is_ready)(struct m0_pump *pump);
	/** Called by a thread that waits for an answer: puts what was posted, and takes
	 * what has come, which the next step delivers. Any thread. */
	void (*fao_turn)(struct m0_pump *pump);
	/** Something was posted: puts what there is, on the thread that has posted. */
	void (*fao_post)(struct m0_pump *pump);
	/** Waits for the other side, a thread that rouses, or the deadline. */
	void (*fao_sleep)(struct m0_pump *pump, m0_time_t deadline);
	void (*fao_rouse)(struct m0_pump *pump);
	/** As m0_lnet_fd(). */
	int (*fao_fd)(struct m0_pump *pump);
	/** Before a step of a front whose descriptor is polled, and after it: it is
	 * readable when there is something to do, or at `next`. */
	void (*fao_disarm)(struct m0_pump *pump);
	void (*fao_arm)(struct m0_pump *pump, m0_time_t next);
	/** May the front have a thread? */
	bool (*fao_may_have_thread)(const struct m0_pump *pump);
	/** m0_lnet_close(). */
	void (*fao_close)(struct m0_lnet *lnet);
	/** Gives a region a number; 0: there is none. fro_lock is held. */
	uint32_t (*fao_region_take)(struct m0_pump *pump, void *mem);
	/** Its number is free. */
	void (*fao_region_put)(struct m0_pump *pump, uint32_t nr);
	/** Hands its memory over. @return 0 or a negative errno */
	int (*fao_region_share)(struct m0_pump *pump, uint32_t nr, void *addr,
				uint64_t bytes);
	/** Returns the `mem` of fao_region_take(). */
	void *(*fao_region_of)(const struct m0_pump *pump, uint32_t nr);
	/** When the attachment ends, or has ended, is another one looked for? Any thread. */
	bool (*fao_comes_again)(const struct m0_pump *pump);
	/** Memory that can be handed over. */
	enum m0_front_takes (*fao_takes)(const struct m0_pump *pump);
	/** Strand, in a call that was posted: asks for it, or for its end;
	 * m0_front__mem_result() follows. */
	void (*fao_region_do)(struct m0_pump *pump, bool is_add, uint32_t nr,
			      uint64_t bytes);
	/** In a call that was posted: asks for a number, or gives it back;
	 * m0_front__tm_result() follows. */
	void (*fao_tm_do)(struct m0_pump *pump, struct m0_front_tm *tm);
};

/**
 * Opens a front that is attached to the daemon at `path`; "": the usual one. The front has no
 * thread yet. As m0_lnet_open().
 */
typedef int (*m0_front_attach_open_t)(struct m0_lnet          **ret,
				      const struct m0_lnet_cfg *cfg,
				      const char *path, char *why);
/**
 * Sets what m0_lnet_open() calls for lc_attach. A program does it before main(), the
 * simulator while it has daemons. front_open.c.
 * @return what was set before
 */
m0_front_attach_open_t m0_front_attach_open_set(m0_front_attach_open_t open);

/** The other side's answer about a region, to which fao_region_take() gave `mem`.
 * front_mem.c. */
void m0_front__mem_result(struct m0_lnet *lnet, void *mem, uint32_t nr,
			  bool is_add, int status);
/**
 * Copies bytes [offset, offset + bytes) of an MD, as far as it has them, from memory of
 * the process to shadows of it (`out`), or back. Strand, while the MD has not ended.
 * front_mem.c.
 * @return the bytes that were copied
 */
uint64_t m0_front__shadow_copy(struct m0_lnet *lnet, uint32_t md,
			       uint64_t offset, uint64_t bytes, bool out);
/** The daemon's answer about a number, or the end. tm_number.c. */
void m0_front__tm_result(struct m0_lnet *lnet, struct m0_front_tm *tm,
			 int status, uint32_t nr);
/** Requests for a number that a new attachment does not have. tm_number.c.
 * @return 1; 0: it has all. @retval -ENOMEM */
int m0_front__tm_again(struct m0_lnet *lnet, struct m0_front_tm **ret);
/** A region that the attachment has not been given, which it is from now on; 0: none.
 * front_mem.c. */
uint32_t m0_front__mem_next(struct m0_lnet *lnet, void **addr, uint64_t *bytes);
/** Is there one? fro_lock is held. */
bool m0_front__mem_is_owed(const struct m0_lnet *lnet);
/** The attachment does not take the region. @return 0: it goes on without the region, and
 * warns, as no attachment had it; or nobody uses it any more; or the error. front_mem.c. */
int m0_front__mem_refused(struct m0_lnet *lnet, uint32_t nr, int rc);
/** Is there memory that was deregistered while the front was shut? fro_lock is held. */
bool m0_front__mem_is_left(const struct m0_lnet *lnet);
/** Lets go of memory that was deregistered while the front was shut. front_mem.c. */
void m0_front__mems_left(struct m0_lnet *lnet);
/** Asks the node for its NIDs. front_nets.c. */
int m0_front__nids_renew(struct m0_lnet *lnet);
/** Networks have changed: asks for the NIDs and notifies runners. front_nets.c.
 * @param why  as for m0_lnet_net_add(). */
int m0_front__net_changed(struct m0_lnet *lnet, char *why);
/** Takes NIDs that are newer. front_nets.c. @retval -EPROTO  they are no NIDs. */
int m0_front__nids_set(struct m0_lnet *lnet, const void *nids, size_t bytes,
		       uint32_t version);
/** attach.c. */
extern const struct m0_strand_ops m0_front__attached_ops;
/** front_open.c. */
int m0_front__ring_make(struct m0_lnet *lnet);

#endif /* M0_SRC_FRONT_APART_H */
