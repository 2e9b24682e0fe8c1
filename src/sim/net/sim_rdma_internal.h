/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Shared by the files of the simulator's RDMA. */
#ifndef M0_SRC_SIM_RDMA_INTERNAL_H
#define M0_SRC_SIM_RDMA_INTERNAL_H

#include "sim/net/sim_net_internal.h"
#include "sim/net/sim_rdma.h"
#include "lnd/o2ib/o2ib_dev.h"

enum {
	RDM_SGES_MAX = 16,
	RDM_RNR_DEFAULT = 0,
	RDM_PRIVATE_MAX = 56
};

/** A registration: of a region, or for one map. */
struct rdm_key {
	/** The user's region. NULL: keys of one transfer, which are no
	 * other's, though its memory may be within. */
	const struct m0_o2ib_mem *rdk_mem;
	struct rdm_key           *rdk_next;
	uint32_t                  rdk_key;
	char                     *rdk_addr;
	uint64_t                  rdk_bytes;
	uint64_t                  rdk_shift;
	/** Uses of a region's key. When the region has left, the last one frees it. */
	unsigned rdk_maps_nr;
	bool     rdk_is_gone;
};

struct rdm_dev {
	struct m0_o2ib_dev       rdd_dev;
	struct m0_reactor_source rdd_source;
	struct sim_reactor      *rdd_reactor;
	struct m0_sim_host      *rdd_host;
	struct m0_list           rdd_events;
	struct m0_list           rdd_qps;
	struct m0_list           rdd_ports;
	struct rdm_key          *rdd_keys;
	uint32_t                 rdd_key;
	uint16_t                 rdd_inline_max;
	uint16_t                 rdd_sges_max;
	bool                     rdd_foreign;
	bool                     rdd_is_gone;
	struct m0_list_link      rdd_link;
};

struct rdm_port {
	struct m0_o2ib_port *rdo_port;
	struct rdm_dev      *rdo_dev;
	bool                 rdo_listens;
	struct m0_list_link  rdo_link;
};

enum rdm_state {
	RDM_CONNECTING,
	RDM_ACCEPTED,
	RDM_UP,
	/** Flushing; RDM_OVER is on its way to the user. */
	RDM_ERROR,
	RDM_ENDED
};

struct rdm_qp {
	struct m0_o2ib_qp     rdq_qp;
	struct rdm_dev       *rdq_dev;
	struct rdm_qp        *rdq_peer;
	enum rdm_state        rdq_state;
	struct m0_o2ib_qp_cfg rdq_cfg;
	struct m0_host_addr   rdq_from;
	struct m0_host_addr   rdq_to;
	/** Receives: all of them; posted; given back and not yet posted. */
	struct rdm_rbuf *rdq_rbufs;
	struct m0_list   rdq_posted;
	struct m0_list   rdq_given;
	/** Packets that have arrived and wait, by RNR. */
	struct m0_list      rdq_inbox;
	struct m0_sim_timer rdq_rnr_timer;
	unsigned            rdq_rnr_nr;
	/** Latest arrival of what was sent. */
	m0_time_t rdq_arrival;
	/** Work requests posted, and known to be completed by the user. */
	uint64_t            rdq_posted_nr;
	uint64_t            rdq_completed_nr;
	bool                rdq_is_reported;
	struct m0_sim_timer rdq_over_timer;
	struct m0_list_link rdq_link;
};

struct rdm_rbuf {
	struct m0_o2ib_rbuf rdr_rbuf;
	struct m0_list_link rdr_link;
	uint8_t             rdr_bytes[M0_O2IB_RBUF_BYTES];
};

enum rdm_kind {
	RDM_REQ,
	RDM_REP,
	RDM_REJ,
	RDM_RTU,
	RDM_DREQ,
	RDM_SEND,
	RDM_WRITE,
	RDM_ACK
};
/** Something on its way. */
struct rdm_packet {
	enum rdm_kind       rdt_kind;
	struct m0_sim_timer rdt_timer;
	struct m0_list_link rdt_link;
	/** In the inbox of the receiver. */
	struct m0_list_link rdt_inbox;
	/** NULL: it was destroyed. */
	struct rdm_qp *rdt_src;
	struct rdm_qp *rdt_dst;
	m0_time_t      rdt_since;
	/** Packets of set-up: private data; an error if there is none. */
	uint8_t             rdt_private[RDM_PRIVATE_MAX];
	size_t              rdt_private_nr;
	int                 rdt_status;
	struct m0_host_addr rdt_from;
	/** Packets of work requests; an acknowledgement has the first three. */
	bool               rdt_is_signalled;
	uint64_t           rdt_id;
	uint64_t           rdt_nr;
	bool               rdt_is_inline;
	unsigned           rdt_segs_nr;
	struct m0_o2ib_seg rdt_segs[RDM_SGES_MAX];
	uint64_t           rdt_raddr;
	uint32_t           rdt_rkey;
	size_t             rdt_bytes_nr;
	uint8_t            rdt_bytes[];
};

enum rdm_event_kind {
	RDM_EV_REQUEST,
	RDM_EV_UP,
	RDM_EV_REFUSED,
	RDM_EV_FAILED,
	RDM_EV_RECEIVED,
	RDM_EV_SENT,
	RDM_EV_BROKEN,
	RDM_EV_OVER,
	RDM_EV_PORT
};
/** A call up that waits for a pass. */
struct rdm_event {
	enum rdm_event_kind rde_kind;
	struct m0_list_link rde_link;
	struct rdm_qp      *rde_qp;
	struct rdm_port    *rde_port;
	struct rdm_rbuf    *rde_rbuf;
	uint64_t            rde_id;
	uint64_t            rde_nr;
	int                 rde_status;
	/** RDM_EV_REQUEST: the QP that asks; NULL: it is gone. */
	struct rdm_qp *rde_asker;
	uint8_t        rde_private[RDM_PRIVATE_MAX];
	size_t         rde_private_nr;
};

struct m0_o2ib_request {
	struct rdm_event *rdn_event;
	bool              rdn_is_answered;
};

struct rdm {
	struct m0_sim         *rdm_sim;
	struct m0_sim_rdma_cfg rdm_cfg;
	struct m0_sim_rand     rdm_rand;
	/** The provider of nodes before this one. */
	const struct m0_o2ib_provider *rdm_former;
	struct m0_list                 rdm_devs;
	struct m0_list                 rdm_packets;
	unsigned                       rdm_rnr_nr;
};
extern struct rdm *rdm_it;

/** Queues a call up; wakes the node. */
struct rdm_event *rdm_event_add(struct rdm_dev *dev, enum rdm_event_kind kind,
				struct rdm_qp *qp);
/** Drops the calls about a QP. */
void rdm_events_drop(struct rdm_qp *qp);
/** Sends a packet. @param bytes_nr  of payload, for its time on the way. */
struct rdm_packet *rdm_packet_make(enum rdm_kind kind, struct rdm_qp *src,
				   struct rdm_qp *dst, size_t room);
void               rdm_packet_go(struct rdm_packet *packet, size_t bytes_nr);
void rdm_private_set(struct rdm_packet *packet, const void *bytes, size_t nr);
/** A QP fails: it is flushed. */
void rdm_qp_error(struct rdm_qp *qp, int status, bool notify);
/** Takes a QP off the network. */
void rdm_qp_forget(struct rdm_qp *qp);
/** Receives were posted: what waits may go on. */
void            rdm_inbox_go(struct rdm_qp *qp);
struct rdm_key *rdm_key_find(struct rdm_dev *dev, const void *addr,
			     uint64_t bytes);

#endif /* M0_SRC_SIM_RDMA_INTERNAL_H */
