/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Lustre's driver for InfiniBand and RoCE, without verbs: who connects to whom,
 * which message takes which connection, credits, the life of each message, memory
 * that peers may write, and when a peer is lost.
 *
 * Pure. Below it is a provider of RDMA (o2ib_dev.h). All calls are on the node's
 * strand.
 */
#ifndef M0_SRC_LND_O2IB_O2IB_H
#define M0_SRC_LND_O2IB_O2IB_H

#include "lnd/o2ib/o2ib_dev.h"

enum {
	M0_O2IB_TOS_SYSTEM = 256,
	/** Most connections that are made to a peer. */
	M0_O2IB_CONNS_PER_PEER_MAX = 127
};

/** Tunables of a network. */
struct m0_o2ib_net_cfg {
	/** Port of every node of the network: M0_O2IB_PORT. */
	unsigned obn_service;
	/** 1: connect from ports below 1024. */
	unsigned obn_use_privileged_port;
	/** A message, or an answer, that takes longer ends its connection. */
	m0_time_t obn_timeout_ns;
	/** A NOOP after so long without a message; 0: none. */
	m0_time_t obn_keepalive_ns;
	/** Address and route, each; the rest of a connection. */
	m0_time_t obn_resolve_ns;
	m0_time_t obn_connect_ns;
	/** Back-off after an attempt that failed. */
	m0_time_t obn_reconnect_min_ns;
	m0_time_t obn_reconnect_max_ns;
	/** How long a message that was cancelled may go on, when a peer has its
	 * memory, before its connection ends. */
	m0_time_t obn_cancel_grace_ns;
	/** Deepest queue that we accept; 0: LNet's credits for a peer. */
	unsigned obn_peer_credits;
	/** Retries of the transport. */
	unsigned obn_retry_nr;
	unsigned obn_rnr_retry_nr;
	unsigned obn_rnr_timer;
	unsigned obn_ack_timeout;
	/** Type of service; M0_O2IB_TOS_SYSTEM: that of the system. */
	unsigned obn_tos;
	/** Bytes of memory through which payload is copied that the device cannot
	 * register. */
	uint64_t obn_bounce_bytes;
	/** 1: a GET for a large buffer names its memory (GET_REQ). A kernel whose
	 * reply is shorter than that may lose its last bytes. */
	unsigned obn_get_req;
	/** Connections to make to a peer: 1. Each carries any message. */
	unsigned obn_conns_per_peer;
	/** Values of options of Lustre's driver that mean nothing here. */
	unsigned obn_ignored;
};

struct m0_o2ib_cfg {
	bool obc_listens;
	/** Bounds: connections in all, and those that are being accepted. */
	unsigned obc_conns_max;
	unsigned obc_accepting_max;
	/** Tunables of networks without options. */
	struct m0_o2ib_net_cfg obc_net;
};

void m0_o2ib_cfg_default(struct m0_o2ib_cfg *cfg);
/** Makes a driver over `dev`, which ldo_fini frees, too. */
int m0_o2ib_create(struct m0_lnd **ret, const struct m0_o2ib_cfg *cfg,
		   struct m0_o2ib_dev *dev);
/** Reads the options of a network, as m0_sock_options() does. */
int m0_o2ib_options(struct m0_o2ib_net_cfg *cfg, const char *text, char *why);

struct m0_lnd_row;
/** The row of net o2ib; in no table by itself. */
extern const struct m0_lnd_row m0_o2ib_row;

#endif /* M0_SRC_LND_O2IB_O2IB_H */
