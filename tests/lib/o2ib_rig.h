/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The driver for net o2ib between two fakes: a provider of RDMA whose peer the case
 * plays by hand, and an engine that records its notifications. The case sets the time.
 * No assertion of the rig is about what the peer sends.
 */
#ifndef M0_TESTS_LIB_O2IB_RIG_H
#define M0_TESTS_LIB_O2IB_RIG_H

#include "lnd/o2ib/o2ib.h"
#include "lnd/o2ib/o2ib_wire.h"

enum {
	RIG_QPS_MAX = 8,
	RIG_POSTS_MAX = 1024,
	RIG_TXS_MAX = 64,
	RIG_RXS_MAX = 64,
	RIG_PAYLOAD_MAX = 1 << 20,
	RIG_DEPTH = 8,
	RIG_DEPTH_MAX = 64,
	/** Connections that are being accepted at once. */
	RIG_ACCEPTING_MAX = 4,
	RIG_KEY = 0x4321
};

/** A work request that was posted. */
struct rig_post {
	struct m0_o2ib_wr rgp_wr;
	uint32_t          rgp_nr;
	/** A message. */
	uint8_t rgp_bytes[M0_O2IB_MSG_BYTES_MAX];
};

struct rig_rbuf {
	struct m0_o2ib_rbuf rgb_rbuf;
	bool                rgb_is_lent;
	uint8_t             rgb_bytes[M0_O2IB_RBUF_BYTES];
};

struct rig_qp {
	struct m0_o2ib_qp rgq_qp;
	bool              rgq_is_used;
	bool              rgq_is_broken;
	/** How it was to be made. */
	struct m0_o2ib_qp_cfg rgq_cfg;
	struct rig_rbuf       rgq_rbufs[2 * RIG_DEPTH_MAX + 2];
	/** Private data that it was made with. */
	uint8_t rgq_private[64];
	size_t  rgq_private_nr;
	/** Next post that the case looks at. */
	struct rig_post *rgq_posts;
	unsigned         rgq_posts_nr;
	unsigned         rgq_seen;
	unsigned         rgq_chains_nr;
};

struct rig_tx {
	struct m0_lnd_tx rgt_tx;
	uint8_t          rgt_hdr[M0_O2IB_LNET_HDR_BYTES];
	struct m0_bufvec rgt_vec;
	void            *rgt_buf;
	m0_bcount_t      rgt_count;
	/** A GET: memory for its REPLY. */
	struct m0_lnd_payload rgt_sink;
	bool                  rgt_is_used;
	bool                  rgt_is_done;
	int                   rgt_status;
	enum m0_lnd_health    rgt_health;
};

struct rig_rx {
	struct m0_lnd_rx *rgr_rx;
	uint8_t           rgr_hdr[M0_O2IB_LNET_HDR_BYTES];
	struct m0_bufvec  rgr_vec;
	void             *rgr_buf;
	m0_bcount_t       rgr_count;
	bool              rgr_is_done;
	bool              rgr_is_kept;
	/** For the case. */
	bool rgr_is_answered;
	int  rgr_status;
};

struct rig {
	struct m0_reactor    rg_reactor;
	struct m0_o2ib_dev   rg_dev;
	struct m0_lnd       *rg_lnd;
	struct m0_lnd_ni     rg_ni;
	struct m0_o2ib_port *rg_port;
	struct rig_qp        rg_qps[RIG_QPS_MAX];
	struct rig_tx        rg_txs[RIG_TXS_MAX];
	struct rig_rx        rg_rxs[RIG_RXS_MAX];
	unsigned             rg_rxs_nr;
	/** Answer of lu_rx_begin; memory that the engine wants to be filled. */
	int rg_begin_rc;
	/** A REPLY goes to the memory of this GET; NULL: as other messages. */
	const struct rig_tx *rg_get;
	/** lu_rx_begin sends the REPLY of a GET with so many bytes; 0: it does not. */
	m0_bcount_t rg_begin_reply;
	/** lu_rx_begin drops all connections before. */
	bool        rg_begin_drops;
	m0_bcount_t rg_wanted;
	bool        rg_is_stopped;
	unsigned    rg_downs_nr;
	int         rg_down_status;
	/** The answer to the latest request of the case. */
	struct rig_qp          *rg_accepted;
	uint8_t                 rg_reject[64];
	size_t                  rg_reject_nr;
	struct m0_o2ib_request *rg_request;
	int                     rg_map_rc;
	unsigned                rg_maps_nr;
	/** Memory that is registered, of the driver and of the application. */
	unsigned rg_mems_nr;
	/** Changes of the NI's state that the driver has reported. */
	unsigned rg_statuses_nr;
	uint8_t  rg_source[RIG_PAYLOAD_MAX];
	uint8_t  rg_sink[RIG_PAYLOAD_MAX];
};

/** @param nid4, stamp  ours. */
void rig_init(struct rig *rig, uint64_t nid4, uint64_t stamp);
/** As rig_init(), with another depth than RIG_DEPTH. */
void rig_init_deep(struct rig *rig, uint64_t nid4, uint64_t stamp,
		   unsigned depth);
/** As rig_init_deep(), with options of the network. */
void rig_init_options(struct rig *rig, uint64_t nid4, uint64_t stamp,
		      unsigned depth, const char *options);
/** As rig_init_options(), with a bound of connections in all. */
void rig_init_bounded(struct rig *rig, uint64_t nid4, uint64_t stamp,
		      unsigned depth, const char *options, unsigned conns_max);
/** Stops the NI, and plays the ends of all QPs. */
void rig_fini(struct rig *rig);
/** Steps of the driver until it has nothing to do at once. */
void rig_step(struct rig *rig);
void rig_wait(struct rig *rig, m0_time_t ns);
/** A request of a peer. @return its QP if it was accepted. */
struct rig_qp *rig_request(struct rig *rig, const void *bytes, size_t nr);
/** The QP that the driver asks for; NULL: it does not. */
struct rig_qp *rig_asking(struct rig *rig);
void rig_up(struct rig *rig, struct rig_qp *qp, const void *bytes, size_t nr);
/** A message of the peer. @return false: no receive is posted. */
bool rig_say(struct rig *rig, struct rig_qp *qp, const void *bytes, size_t nr);
/** The next work request that was posted; NULL: there is none. */
struct rig_post *rig_next(struct rig_qp *qp);
/** Completes all that was posted. */
void rig_complete(struct rig *rig, struct rig_qp *qp);
/** The oldest signalled request that was posted, if there is one, and the connection fail. */
void rig_fail(struct rig *rig, struct rig_qp *qp, int status);
void rig_over(struct rig *rig, struct rig_qp *qp);
/** The port, or its device, changes. */
void rig_port(struct rig *rig, bool is_up, bool is_gone);
/** Makes a message of the engine; NULL: too many are on their way. */
struct rig_tx *rig_tx_make(struct rig *rig, uint64_t nid4, const void *lnet_hdr,
			   m0_bcount_t bytes);
/** Makes a GET of so many bytes, which come to the first ones of rg_sink. */
struct rig_tx *rig_get_make(struct rig *rig, uint64_t nid4,
			    const void *lnet_hdr, m0_bcount_t bytes);
void           rig_xmit(struct rig *rig, struct rig_tx *rt);
/** The engine is done with a GET that it kept. */
void rig_release(struct rig *rig, struct rig_rx *rr);
/** The latest message that the engine was offered. */
struct rig_rx *rig_last(struct rig *rig);

#endif /* M0_TESTS_LIB_O2IB_RIG_H */
