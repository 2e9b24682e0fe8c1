/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** The device /dev/colibri: docs/kernel.md. */
#ifndef M0_SRC_KERN_DEV_KERN_DEVICE_H
#define M0_SRC_KERN_DEV_KERN_DEVICE_H

#include "m0/lnet.h"

struct kern_device_cfg {
	/** Mode and owner of its file. */
	unsigned kvc_mode;
	unsigned kvc_uid;
	unsigned kvc_gid;
	/** Most processes, and most of a user. */
	unsigned kvc_procs_max;
	unsigned kvc_procs_of_uid_max;
	/** Most bytes of memory of a process, and of all. */
	uint64_t kvc_bytes_max;
	uint64_t kvc_bytes_total;
};

/** Makes the device of a node. One at a time. */
int kern_device_start(struct m0_lnet *lnet, const struct kern_device_cfg *cfg);
/** Waits until everything of all processes is released. Pre: nobody has it open. */
void kern_device_stop(void);

#endif /* M0_SRC_KERN_DEV_KERN_DEVICE_H */
