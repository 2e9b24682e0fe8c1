/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Messages between a node's thread, which puts them, and a thread that writes them to a
 * client. If the client is slow, messages are lost and counted; the node never waits.
 */
#ifndef M0_TOOLS_CAPTURE_QUEUE_H
#define M0_TOOLS_CAPTURE_QUEUE_H

#include "m0/lnet_tap.h"

enum {
	CAPTURE_QUEUE_BYTES = 8 << 20,
	CAPTURE_WHY_BYTES = 80,
	/** Bytes of the payload of a message that can be kept: all of it. */
	CAPTURE_SNAP_MAX = 1 << 20,
	CAPTURE_NIDS_MAX = 64
};

/** Selects messages. */
struct capture_filter {
	/** Source, destination or next hop; one of these, or a network as m0/lnet_fault.h
	 * names it. None: any. */
	struct m0_lnet_nid cpf_nids[CAPTURE_NIDS_MAX];
	unsigned           cpf_nids_nr;
	/** ANY: any. */
	struct m0_lnet_nid cpf_src;
	struct m0_lnet_nid cpf_dst;
	struct m0_lnet_nid cpf_local;
	/** enum m0_lnet_fault_msgs; 0: all. */
	unsigned cpf_msgs;
	/** If not 0, PUT and GET to these portals alone. */
	uint64_t cpf_portals;
	bool     cpf_in;
	bool     cpf_out;
	/** Bytes of the payload that are kept. */
	uint32_t cpf_snap;
};

/** A message in the queue; cqm_bytes of header and payload follow. */
struct capture_msg {
	/** With what follows, and up to the next one. */
	uint32_t cqm_whole;
	uint32_t cqm_bytes;
	uint32_t cqm_head_bytes;
	uint32_t cqm_payload_bytes;
	/** Since 1970. */
	uint64_t           cqm_time_ns;
	struct m0_lnet_nid cqm_local;
	struct m0_lnet_nid cqm_hop;
	int32_t            cqm_status;
	/** Messages lost since the one before. */
	uint32_t cqm_lost_nr;
	bool     cqm_leaves;
	/** Nothing is here; go on at the beginning. */
	bool cqm_wraps;
	/** Why it was dropped; "": it was not. */
	char cqm_why[CAPTURE_WHY_BYTES];
};

struct capture_queue {
	struct m0_lnet_tap    cqu_tap;
	struct capture_filter cqu_filter;
	char                 *cqu_buf;
	/** Atomic: bytes that were put, and taken, ever. */
	uint64_t cqu_put;
	uint64_t cqu_taken;
	/** Atomic: messages that the filter let in, and those of them that were lost. */
	uint64_t cqu_seen_nr;
	uint64_t cqu_lost_nr;
	/** The node's: lost since the last one that was not. */
	uint32_t cqu_lost_now;
};

void capture_filter_init(struct capture_filter *filter);
bool capture_filter_fits(const struct capture_filter  *filter,
			 const struct m0_lnet_tap_msg *msg);
/** @retval -ENOMEM */
int  capture_queue_init(struct capture_queue        *queue,
			const struct capture_filter *filter);
void capture_queue_fini(struct capture_queue *queue);
/** The oldest message; NULL: there is none. Valid until capture_queue_next(). */
const struct capture_msg *capture_queue_first(struct capture_queue *queue);
void                      capture_queue_next(struct capture_queue *queue);

#endif /* M0_TOOLS_CAPTURE_QUEUE_H */
