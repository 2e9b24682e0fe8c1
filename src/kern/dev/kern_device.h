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

struct net;
struct kern_device_node;

/** Starts what nodes and sessions need. Processes see nothing of it yet. */
int kern_device_start(const struct kern_device_cfg *cfg);
/** Makes the file, which processes may open at once: nothing that can fail may follow. Pre: it
 * has started. */
int kern_device_show(void);
/** Pre: there is no node, and nobody has it open. */
void kern_device_stop(void);
/**
 * Processes of a network namespace that open the device have this node from now on.
 * NULL: no memory. Pre: the namespace has no other one.
 */
struct kern_device_node *kern_device_node_add(struct m0_lnet *lnet,
					      struct net     *net);
/** Ends the sessions of all processes that have it, and waits until everything of them is
 * released but their memory. NULL: nothing. */
void kern_device_node_del(struct kern_device_node *node);

#endif /* M0_SRC_KERN_DEV_KERN_DEVICE_H */
