/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Shared by the files of this room.
 *
 * verbs.c the table, and the passes; verbs_cm.c connection events; verbs_hca.c
 * devices, their completions and events; verbs_mem.c registrations; verbs_port.c
 * addresses of ours; verbs_qp.c connections, verbs_post.c what they carry; verbs_way.c
 * why there is none.
 *
 * A connection ends in steps. Its QP is destroyed, so that the device uses none of
 * our memory through it; then all completions that were in the queue at that time
 * are taken, since they point to the connection. Then odu_over tells the user.
 */
#ifndef M0_SRC_LND_VERBS_VERBS_INTERNAL_H
#define M0_SRC_LND_VERBS_VERBS_INTERNAL_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "lnd/verbs/verbs.h"
#include "loop/loop_reactor.h"

enum {
	M0_VERBS_HCAS_MAX = 8,
	/** Completions taken by one call. */
	M0_VERBS_WCS_MAX = 32,
	M0_VERBS_SGES_MAX = 16,
	/** Enough for each message of net o2ib that is not an IMMEDIATE with
	 * payload or a descriptor of many fragments. */
	M0_VERBS_INLINE_BYTES = 256,
	M0_VERBS_CQ_MIN = 1024,
	M0_VERBS_BACKLOG = 256
};
/** The peer has so long to hear of our disconnection before its id is freed. */
#define M0_VERBS_LINGER_NS (1 * M0_TIME_ONE_SECOND)

/** A point in the stream of a device's completions. */
struct m0_verbs_mark {
	uint64_t vmk_empties_nr;
	uint64_t vmk_taken_nr;
};

/** A device. */
struct m0_verbs_hca {
	struct m0_verbs_dev     *vhc_dev;
	struct ibv_context      *vhc_context;
	struct ibv_device_attr   vhc_attr;
	struct ibv_pd           *vhc_pd;
	struct ibv_comp_channel *vhc_channel;
	struct ibv_cq           *vhc_cq;
	/** Place in vdv_hcas, and in vbm_mrs. */
	unsigned vhc_index;
	/** Completions that connections may have in the queue at once. */
	unsigned          vhc_used_nr;
	unsigned          vhc_qps_nr;
	struct m0_loop_fd vhc_comp_fd;
	struct m0_loop_fd vhc_async_fd;
	/** The next completion makes vhc_comp_fd readable. */
	bool vhc_is_armed;
	/** A descriptor was readable. */
	bool vhc_comp_due;
	bool vhc_async_due;
	/** Events of ports in this process that were heeded. */
	uint64_t vhc_port_events_nr;
	/** Completions that were taken from the queue: [at, nr) is left. */
	struct ibv_wc vhc_wcs[M0_VERBS_WCS_MAX];
	unsigned      vhc_wcs_at;
	unsigned      vhc_wcs_nr;
	/** Completions processed; times the queue was found empty then. */
	struct m0_verbs_mark vhc_mark;
};

struct m0_verbs_dev {
	struct m0_o2ib_dev         vdv_dev;
	struct m0_o2ib_dev_cfg     vdv_cfg;
	struct m0_reactor_source   vdv_source;
	struct m0_loop_reactor    *vdv_reactor;
	struct rdma_event_channel *vdv_channel;
	struct m0_loop_fd          vdv_cm_fd;
	bool                       vdv_cm_due;
	struct m0_verbs_hca       *vdv_hcas[M0_VERBS_HCAS_MAX];
	unsigned                   vdv_hcas_nr;
	/** Regions, by address. */
	struct m0_verbs_mem **vdv_mems;
	unsigned              vdv_mems_nr;
	unsigned              vdv_mems_max;
	struct m0_list        vdv_ports;
	/** All connections. */
	struct m0_list vdv_qps;
	unsigned       vdv_qps_nr;
	/** Connections that wait for completions to be taken. */
	struct m0_list vdv_ending;
	/** Connections that the user has destroyed, and that linger. */
	struct m0_list vdv_lingering;
	/** Connections with receive buffers to be posted. */
	struct m0_list vdv_reposts;
	/** Value of lre_asks_nr at the last pass, and when the loop was asked. */
	unsigned  vdv_asks_nr;
	m0_time_t vdv_asked_at;
	/** A chain of requests in the form of verbs. */
	struct ibv_send_wr vdv_wrs[M0_O2IB_CHAIN_MAX];
	struct ibv_sge     vdv_sges[M0_O2IB_CHAIN_MAX][M0_VERBS_SGES_MAX];
};

/** A region with its registration on each device; NULL where it failed. */
struct m0_verbs_mem {
	struct m0_o2ib_mem *vbm_mem;
	struct ibv_mr      *vbm_mrs[M0_VERBS_HCAS_MAX];
};

struct m0_verbs_port {
	struct m0_o2ib_port *vbp_port;
	struct m0_verbs_dev *vbp_dev;
	struct m0_verbs_hca *vbp_hca;
	/** NULL: the port is deaf. */
	struct rdma_cm_id  *vbp_id;
	uint8_t             vbp_port_nr;
	struct m0_list_link vbp_link;
};

/** A request for a connection, during odu_request. */
struct m0_verbs_request {
	struct m0_verbs_port *vrq_port;
	struct rdma_cm_id    *vrq_id;
	bool                  vrq_is_answered;
};

struct m0_verbs_rbuf {
	struct m0_o2ib_rbuf vrb_rbuf;
	struct m0_verbs_qp *vrb_qp;
	struct ibv_recv_wr  vrb_wr;
	struct ibv_sge      vrb_sge;
};

enum m0_verbs_state {
	M0_VERBS_ADDR,
	M0_VERBS_ROUTE,
	M0_VERBS_ASKED,
	M0_VERBS_ACCEPTED,
	M0_VERBS_UP,
	/** The connection has ended; odu_broken comes when earlier completions
	 * are taken. */
	M0_VERBS_PARTING,
	/** There is no QP any more; odu_over comes likewise. */
	M0_VERBS_ENDING,
	/** The user knows. */
	M0_VERBS_ENDED
};

struct m0_verbs_qp {
	struct m0_o2ib_qp     vqp_qp;
	struct m0_verbs_dev  *vqp_dev;
	struct m0_verbs_hca  *vqp_hca;
	struct rdma_cm_id    *vqp_id;
	enum m0_verbs_state   vqp_state;
	struct m0_o2ib_qp_cfg vqp_cfg;
	/** For the request. */
	uint8_t vqp_private[M0_O2IB_PRIVATE_BYTES_MAX];
	uint8_t vqp_private_nr;
	/** For odu_broken. */
	int vqp_status;
	/** The connection was not up yet: odu_failed instead. */
	bool vqp_fails;
	/** The user has called odo_destroy. */
	bool vqp_is_destroyed;
	/** The peer knows that it has ended. */
	bool                 vqp_is_parted;
	m0_time_t            vqp_linger_until;
	struct m0_verbs_mark vqp_mark;
	/** Slots in the completion queue. */
	unsigned              vqp_cqes_nr;
	struct m0_verbs_rbuf *vqp_rbufs;
	void                 *vqp_slab;
	struct ibv_mr        *vqp_slab_mr;
	/** Receive buffers to be posted. */
	struct ibv_recv_wr  *vqp_first;
	struct ibv_recv_wr **vqp_last;
	/** Ids of signalled requests, the oldest at [vqp_id_at]; a ring. */
	uint64_t           *vqp_ids;
	unsigned            vqp_id_at;
	unsigned            vqp_ids_nr;
	struct m0_list_link vqp_all;
	/** The list is vdv_ending or vdv_lingering. */
	struct m0_list_link vqp_link;
	struct m0_list_link vqp_repost;
};

static inline struct m0_verbs_dev *m0_verbs__dev(struct m0_o2ib_dev *dev)
{
	return container_of(dev, struct m0_verbs_dev, vdv_dev);
}

static inline struct m0_verbs_qp *m0_verbs__qp(struct m0_o2ib_qp *qp)
{
	return container_of(qp, struct m0_verbs_qp, vqp_qp);
}

/** The user's calls; the node has to make a step afterwards. */
static inline const struct m0_o2ib_dev_up *m0_verbs__up(
	struct m0_verbs_dev *dev)
{
	dev->vdv_reactor->lre_reactor.rtr_called = true;
	return dev->vdv_dev.odv_up;
}

/* -- verbs.c ---------------------------------------------------------------- */

/** Says why there is no connection manager; `rc` is a negative errno. */
int m0_verbs__channel_why(char *why, int rc);

/* -- verbs_cm.c ------------------------------------------------------------- */

/** Takes connection events, at most M0_O2IB_EVENTS_MAX. */
void m0_verbs__cm_turn(struct m0_verbs_dev *dev);

/* -- verbs_hca.c ------------------------------------------------------------ */

/** The device of an id, which is opened if need be; NULL: `why` says why. */
struct m0_verbs_hca *m0_verbs__hca_get(struct m0_verbs_dev *dev,
				       struct ibv_context *context, char *why);
void                 m0_verbs__hca_free(struct m0_verbs_hca *hca);
/** Room in the completion queue for `nr` more. */
int m0_verbs__hca_reserve(struct m0_verbs_hca *hca, unsigned nr);
/** Takes completions, at most M0_O2IB_EVENTS_MAX, and calls up. */
void m0_verbs__hca_turn(struct m0_verbs_hca *hca);
/** Takes completions from the device if none is left. @return some are left. */
bool m0_verbs__hca_look(struct m0_verbs_hca *hca);
/** A new completion makes the descriptor readable from now on. */
void m0_verbs__hca_arm(struct m0_verbs_hca *hca);
/** Takes the device's own events. */
void                 m0_verbs__hca_async(struct m0_verbs_hca *hca);
struct m0_verbs_mark m0_verbs__mark(const struct m0_verbs_hca *hca);
/** All completions that were there at m0_verbs__mark() are taken. */
bool m0_verbs__mark_is_past(const struct m0_verbs_hca  *hca,
			    const struct m0_verbs_mark *mark);

/* -- verbs_mem.c ------------------------------------------------------------ */

int  m0_verbs__mem_add(struct m0_o2ib_dev *dev, struct m0_o2ib_mem *mem);
void m0_verbs__mem_del(struct m0_o2ib_dev *dev, struct m0_o2ib_mem *mem);
/** Registers all regions with a device that is new. */
void m0_verbs__mem_hca_add(struct m0_verbs_hca *hca);
void m0_verbs__mem_hca_del(struct m0_verbs_hca *hca);
int  m0_verbs__map(struct m0_o2ib_port *port, struct m0_o2ib_seg *segs,
		   unsigned nr, enum m0_o2ib_map_kind kind,
		   struct m0_o2ib_map *ret);
void m0_verbs__unmap(struct m0_o2ib_port *port, struct m0_o2ib_map *map);

/* -- verbs_port.c ----------------------------------------------------------- */

int  m0_verbs__port_open(struct m0_o2ib_dev *dev, struct m0_o2ib_port *port,
			 char *why);
void m0_verbs__port_close(struct m0_o2ib_dev *dev, struct m0_o2ib_port *port);
void m0_verbs__port_deaf(struct m0_o2ib_dev *dev, struct m0_o2ib_port *port);
/** The state of the device's port is to be looked at again. */
void m0_verbs__ports_look(struct m0_verbs_hca *hca);
/** The device was removed. */
void m0_verbs__ports_gone(struct m0_verbs_hca *hca);
void m0_verbs__sockaddr(const struct m0_host_addr *addr, uint16_t port,
			struct sockaddr_in *ret);
/** Says why an address cannot be used. @return rc, a negative errno. */
int m0_verbs__port_why(const struct m0_o2ib_port *port, char *why, int rc);
/** The address of a port has no GID. @return -EADDRNOTAVAIL */
int m0_verbs__gid_why(const char *device, char *why);
/** Says why something could not be made; `rc` is a negative errno. */
void m0_verbs__why(char *why, const char *what, size_t bytes, int rc);

/* -- verbs_qp.c ------------------------------------------------------------- */

int  m0_verbs__connect(struct m0_o2ib_port *port, void *user,
		       const struct m0_host_addr *to, uint16_t src_port,
		       const struct m0_o2ib_qp_cfg *cfg, const void *bytes,
		       size_t nr, struct m0_o2ib_qp **ret);
int  m0_verbs__accept(struct m0_o2ib_request *request, void *user,
		      const struct m0_o2ib_qp_cfg *cfg, const void *bytes,
		      size_t nr, struct m0_o2ib_qp **ret);
void m0_verbs__reject(struct m0_o2ib_request *request, const void *bytes,
		      size_t nr);
void m0_verbs__break(struct m0_o2ib_qp *qp);
void m0_verbs__destroy(struct m0_o2ib_qp *qp);
/** The way to the peer is known: makes the QP and asks. */
int m0_verbs__qp_ask(struct m0_verbs_qp *qp);
/** There is no QP any more: nothing touches memory through it. */
void m0_verbs__qp_kill(struct m0_verbs_qp *qp);
/** Ends it with odu_broken and odu_over. */
void m0_verbs__qp_part(struct m0_verbs_qp *qp, int status);
/** Calls up for connections all of whose completions are taken. */
void m0_verbs__qps_end(struct m0_verbs_dev *dev, m0_time_t now);
/** Frees it at once. */
void m0_verbs__qp_free(struct m0_verbs_qp *qp);

/* -- verbs_way.c ------------------------------------------------------------ */

/** The way to a peer, when it turned out to be none. */
struct m0_verbs_way {
	union ibv_gid vwy_src;
	union ibv_gid vwy_dst;
	/** Codes of enum ibv_mtu; 0: unknown. */
	uint8_t vwy_path_mtu;
	uint8_t vwy_port_mtu;
	/** Reason of the peer's rejection, by the InfiniBand architecture; 0: nobody
	 * has answered. */
	int vwy_reason;
};
/** Says what does not fit, by value. @return false: it is another reason. */
bool m0_verbs__way_why(const struct m0_verbs_way *way, char *why);
/** Logs it. */
void m0_verbs__way_log(const struct m0_verbs_qp *qp, int reason);

/* -- verbs_post.c ----------------------------------------------------------- */

int  m0_verbs__post(struct m0_o2ib_qp *qp, const struct m0_o2ib_wr *wrs,
		    unsigned nr);
void m0_verbs__repost(struct m0_o2ib_qp *qp, struct m0_o2ib_rbuf *rbuf);
/** Posts what was given back. */
int m0_verbs__reposts_flush(struct m0_verbs_qp *qp);
/** A completion of a connection: calls up. */
void m0_verbs__wc(struct m0_verbs_hca *hca, const struct ibv_wc *wc);

#endif /* M0_SRC_LND_VERBS_VERBS_INTERNAL_H */
