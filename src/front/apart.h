/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Interface between a front whose node is in another process and the pump, which takes
 * the place of the node. The pump calls the front; the front calls the pump by a table.
 */
#ifndef M0_SRC_FRONT_APART_H
#define M0_SRC_FRONT_APART_H

#include "m0/lnet_run.h"
#include "os/os.h"

struct m0_pump;

struct m0_front_apart_ops {
	/** The step, with the delivery of events. */
	m0_time_t (*fao_step)(struct m0_pump *pump, m0_time_t now);
	bool (*fao_is_ready)(struct m0_pump *pump);
	/** Waits for the other side, a thread that rouses, or the deadline. */
	void (*fao_sleep)(struct m0_pump *pump, m0_time_t deadline);
	void (*fao_rouse)(struct m0_pump *pump);
	/** May the front have a thread? */
	bool (*fao_may_have_thread)(const struct m0_pump *pump);
	/** m0_lnet_close(). */
	void (*fao_close)(struct m0_lnet *lnet);
	/** Gives a region a number; 0: there is none. hm_lock is held. */
	uint32_t (*fao_region_take)(struct m0_pump *pump, void *mem);
	/** Its number is free. */
	void (*fao_region_put)(struct m0_pump *pump, uint32_t nr);
	/** Hands its memory over. @return 0 or a negative errno */
	int (*fao_region_share)(struct m0_pump *pump, uint32_t nr, void *addr,
				uint64_t bytes);
	/** Strand, in a call that was posted: asks for it, or for its end;
	 * m0_front__mem_result() follows. */
	void (*fao_region_do)(struct m0_pump *pump, bool is_add, uint32_t nr,
			      uint64_t bytes);
};

/** The other side's answer about a region, to which fao_region_take() gave `mem`.
 * front_mem.c. */
void m0_front__mem_result(struct m0_lnet *lnet, void *mem, uint32_t nr,
			  bool is_add, int status);
/** Asks the node for its NIDs. front_nets.c. */
int m0_front__nids_renew(struct m0_lnet *lnet);
/** attach.c. */
extern const struct m0_strand_ops m0_front__attached_ops;
/** front_open.c. */
int m0_front__ring_make(struct m0_lnet *lnet);

#endif /* M0_SRC_FRONT_APART_H */
