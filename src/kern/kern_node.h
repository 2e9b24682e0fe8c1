/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Nodes of the module: one of each network namespace, or none. */
#ifndef M0_SRC_KERN_KERN_NODE_H
#define M0_SRC_KERN_KERN_NODE_H

#include "kern/dev/kern_device.h"
#include "m0/lnet.h"

struct net;
struct m0_st;

/** All zeroes: it is not open. */
struct kern_node {
	struct m0_lnet          *knk_lnet;
	struct m0_st            *knk_selftest;
	struct kern_device_node *knk_device;
};

/**
 * Opens the node of a namespace, from texts and the parameters of the module. The calling
 * thread is inside the library.
 * @param why  of M0_LNET_WHY_BYTES; empty on failure: the error alone tells.
 */
int kern_node_open(struct kern_node *node, struct net *net,
		   const char *networks, const char *routes, char *why);
/**
 * Checks texts as kern_node_open() does, without looking for interfaces. The calling thread is
 * inside the library.
 */
int kern_node_check(const char *networks, const char *routes, char *why);
/**
 * Ends it if it is open: sessions of processes, messages, connections. In a namespace
 * that ends, too. Pre: no machine of another module uses it.
 */
void kern_node_close(struct kern_node *node);

/** Other namespaces than the first may have nodes from now on: kern_net.c. */
int kern_net_start(void);
/** Ends their nodes. */
void kern_net_stop(void);

#endif /* M0_SRC_KERN_KERN_NODE_H */
