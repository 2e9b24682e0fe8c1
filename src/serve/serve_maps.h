/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The parts that servers of a socket and of a device share besides the server itself
 * (serve.h): the sizes that a process gets, and the memory that it has handed over.
 */
#ifndef M0_SRC_SERVE_SERVE_MAPS_H
#define M0_SRC_SERVE_SERVE_MAPS_H

#include "m0/sync.h"
#include "ring/attach_msg.h"
#include "serve/serve.h"

/**
 * The answer to the sizes that a process wants.
 * @param own  the most that it may have.
 * @retval -EINVAL  with a reason.
 */
int m0_serve_grant(const struct m0_serve_cfg  *own,
		   const struct m0_shared_cfg *want, struct m0_serve_cfg *ret,
		   char why[M0_ATTACH_WHY_BYTES]);

/** Memory of a process, mapped; the owner's structure has it first. */
struct m0_serve_map {
	void                *vmp_addr;
	uint64_t             vmp_bytes;
	struct m0_serve_map *vmp_next;
	/** Where it is in the process; vhm_addr is 0 if other processes do not copy from it, or
	 * to it. vhm_pid is not used. */
	struct m0_serve_home vmp_home;
};

/**
 * Memory of a process by number. It comes from the process, and waits until the node's
 * thread takes REGION_ADD from the ring. What the node's thread gives up is unmapped by
 * another thread, since that takes long.
 */
struct m0_serve_maps {
	/** Most regions, and most bytes. */
	uint32_t vms_max;
	uint64_t vms_bytes_max;
	/** Bytes of all processes, atomic, and the most. */
	uint64_t *vms_total;
	uint64_t  vms_total_max;
	/** Guards what follows. */
	struct m0_mutex       vms_lock;
	struct m0_serve_map **vms_maps;
	/** Memory that is to be unmapped. */
	struct m0_serve_map *vms_dropped;
	/** Nothing is taken any more. */
	bool vms_is_closed;
	/** Regions, and their bytes, with those that are reserved. */
	uint32_t vms_nr;
	uint64_t vms_bytes;
};

/** @retval -ENOMEM  m0_serve_maps_fini() may follow. */
int m0_serve_maps_init(struct m0_serve_maps *maps, uint32_t max,
		       uint64_t bytes_max, uint64_t *total, uint64_t total_max);
/**
 * Reserves bytes for region `nr`, which counts from 1. One thread at a time;
 * m0_serve_maps_put() follows, or m0_serve_maps_unreserve().
 * @retval -EINVAL, -EEXIST, -EDQUOT  with a reason.
 */
int  m0_serve_maps_reserve(struct m0_serve_maps *maps, uint32_t nr,
			   uint64_t bytes, char why[M0_ATTACH_WHY_BYTES]);
void m0_serve_maps_unreserve(struct m0_serve_maps *maps, uint64_t bytes);
/** The region has memory of as many bytes as were reserved.
 * @return false: m0_serve_maps_close() was called. */
bool m0_serve_maps_put(struct m0_serve_maps *maps, uint32_t nr,
		       struct m0_serve_map *map);
/** As shh_map. With 0 bytes the memory is dropped. Any thread. */
int m0_serve_maps_map(struct m0_serve_maps *maps, uint32_t nr, uint64_t bytes,
		      void **ret);
/** Where region `nr` is in the process. @return false: other processes do not copy from it,
 * or to it. */
bool m0_serve_maps_home(struct m0_serve_maps *maps, uint32_t nr,
			struct m0_serve_home *ret);
/** Returns what is to be unmapped. */
struct m0_serve_map *m0_serve_maps_dropped(struct m0_serve_maps *maps);
/** Drops all. */
void m0_serve_maps_close(struct m0_serve_maps *maps);
/** Pre: everything was dropped, and taken. */
void m0_serve_maps_fini(struct m0_serve_maps *maps);

#endif /* M0_SRC_SERVE_SERVE_MAPS_H */
