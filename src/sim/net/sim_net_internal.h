/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Shared by the files of the simulated network. A wire is a connection, from
 * the SYN on: a stream, and at each end an owner: the io of a node, a raw end,
 * or nobody. A wire without an owner is taken off the network at once and freed
 * at the next turn, since its stream may be in the middle of a notice.
 */
#ifndef M0_SRC_SIM_NET_INTERNAL_H
#define M0_SRC_SIM_NET_INTERNAL_H

#include <sys/queue.h>

#include "sim/sched/sim_internal.h"
#include "sim/net/sim_raw.h"
#include "m0/lnd.h"
#include "m0/lnet_cfg.h"
#include "stream/stream.h"
#include "os/os.h"

enum {
	SIM_HOSTS_MAX = 256,
	SIM_ADDRS_MAX = 8,
	SIM_BACKLOG_MAX = 127,
	/** Least rest of a payload for a lane; less than on real sockets, since payloads of
	 * tests are small. */
	SIM_LANE_BYTES = 4096
};

enum sim_down {
	SIM_UP,
	SIM_POWERLESS,
	SIM_KILLED
};

struct m0_sim_host {
	struct sim_place smh_place;
	enum sim_down    smh_down;
	/** The io of the nodes on this host. */
	unsigned            smh_ios_nr;
	const char         *smh_name;
	unsigned            smh_index;
	struct m0_host_addr smh_addrs[SIM_ADDRS_MAX];
	unsigned            smh_addrs_nr;
	bool                smh_unreachable;
	/** By address: its device is down. */
	bool     smh_iface_down[SIM_ADDRS_MAX];
	bool     smh_ignores_resets;
	uint64_t smh_slow_bytes;
	int      smh_listen_rc;
	unsigned smh_dials_nr;
	/** NIDs of a host of a topology; a router also has a node while it is up. */
	struct m0_lnet_nid smh_nids[SIM_ADDRS_MAX];
	unsigned           smh_nids_nr;
	bool               smh_is_router;
	uint32_t           smh_priority;
	struct m0_lnet    *smh_lnet;
};

enum sim_owner {
	SIM_OWNER_NONE,
	/** The system has accepted the connection, the node has not yet. */
	SIM_OWNER_BACKLOG,
	SIM_OWNER_NODE,
	SIM_OWNER_RAW
};

struct sim_io;
struct sim_lane;
struct sim_job;
struct sim_wire;
TAILQ_HEAD(sim_jobs, sim_job);

struct sim_end {
	struct sim_wire    *sie_wire;
	int                 sie_nr;
	enum sim_owner      sie_owner;
	struct m0_sim_host *sie_host;
	struct m0_host_addr sie_addr;
	struct m0_sim_raw  *sie_raw;

	struct m0_stream sie_stream;
	struct sim_io   *sie_io;
	/** At the end that dials: the dial has ended (0 or errno), and the
	 * node was notified. At the other end both are true. */
	bool sie_is_dialled;
	bool sie_is_notified;
	int  sie_dial_rc;
	/** The driver wants nothing more just now. */
	bool sie_is_paused;
	/** The stream takes nothing more just now. */
	bool sie_is_blocked;
	bool sie_is_ready;
	bool sie_is_out;
	/** Jobs of lanes: the one that reads, the one that writes; NULL: none. */
	struct sim_job *sie_job[2];
	/** Read ahead, and not yet taken. */
	uint8_t *sie_held;
	size_t   sie_held_nr;
	size_t   sie_held_at;
	TAILQ_ENTRY(sim_end) sie_ready_link;
	TAILQ_ENTRY(sim_end) sie_out_link;
	TAILQ_ENTRY(sim_end) sie_backlog_link;
};
TAILQ_HEAD(sim_ends, sim_end);

struct sim_wire {
	struct m0_sim_stream siw_stream;
	struct sim_end       siw_end[2];
	char                 siw_name[SIM_NAME_LEN + 1];
	/** A SYN or its answer is on its way. */
	struct m0_sim_timer siw_syn_timer;
	m0_time_t           siw_syn_wait;
	m0_time_t           siw_syn_since;
	bool                siw_is_up;
	/** Next sequence numbers of the record. */
	uint32_t siw_seq[2];
	TAILQ_ENTRY(sim_wire) siw_link;
};
TAILQ_HEAD(sim_wires, sim_wire);

struct sim_listener {
	struct m0_host_addr        sil_addr;
	struct sim_io             *sil_io;
	struct m0_stream_listener *sil_listener;
	struct sim_ends            sil_backlog;
	unsigned                   sil_backlog_nr;
	void (*sil_accepted)(struct m0_sim_raw *raw, void *arg);
	void *sil_arg;
	TAILQ_ENTRY(sim_listener) sil_link;
};
TAILQ_HEAD(sim_listeners, sim_listener);

/** The reactor of a node. */
struct sim_reactor {
	struct m0_reactor sra_reactor;
	/** The first source: its pass clears the wake-up of the node. */
	struct m0_reactor_source sra_source;
	struct m0_strand        *sra_strand;
	struct m0_os_fd          sra_fd;
	bool                     sra_fd_is_open;
	/** A callback ran during a flush, so the driver needs another step. */
	bool sra_has_called;
};

/** The streams of a node. */
struct sim_io {
	struct m0_streams        sno_streams;
	struct m0_reactor_source sno_source;
	struct sim_reactor      *sno_reactor;
	struct m0_sim_host      *sno_host;
	struct sim_ends          sno_ready;
	unsigned                 sno_ready_nr;
	struct sim_ends          sno_outs;
	unsigned                 sno_ends_nr;
	unsigned                 sno_listeners_nr;
	struct m0_list           sno_watches;
	struct m0_list_link      sno_link;
	/** End whose up-call runs; NULL once it has hung up. */
	struct sim_end *sno_serving;
	/** None, or 2 and more; jobs that they have given back. */
	struct sim_lane *sno_lanes;
	unsigned         sno_lanes_nr;
	struct sim_jobs  sno_back;
	/** The node's strand moves bytes until then. */
	m0_time_t           sno_busy_until;
	struct m0_sim_timer sno_busy_timer;
};

struct sim_net {
	struct m0_sim            *sin_sim;
	struct m0_sim_stream_cfg  sin_cfg;
	const struct m0_host_ops *sin_ops_before;
	struct m0_sim_host       *sin_hosts[SIM_HOSTS_MAX];
	unsigned                  sin_hosts_nr;
	struct m0_sim_host       *sin_host_used;
	bool                      sin_cut[SIM_HOSTS_MAX][SIM_HOSTS_MAX];
	struct sim_wires          sin_wires;
	struct sim_wires          sin_grave;
	struct m0_sim_timer       sin_grave_timer;
	struct sim_listeners      sin_listeners;
	struct m0_sim_raw        *sin_raws;
	struct m0_rand            sin_rand;
	uint16_t                  sin_port;
	/** m0_sim_net_copy_rate(). */
	uint64_t       sin_copy_bytes;
	struct m0_list sin_ios;
	unsigned       sin_ios_nr;
	unsigned       sin_wires_nr;
	unsigned       sin_left_nr;
	FILE          *sin_pcap;
	/** Configuration of every router, without its networks; NULL: none was
	 * opened. */
	struct m0_lnet_cfg *sin_router_cfg;
};

/** The one network; asserts that it is there. */
struct sim_net *m0_sim__net(void);

bool                m0_sim__addr_eq(const struct m0_host_addr *left,
				    const struct m0_host_addr *right, bool ports);
struct m0_sim_host *m0_sim__host_at(const struct m0_host_addr *addr);
/** Does what one host sends to the other vanish? */
bool m0_sim__is_cut(const struct m0_sim_host *from,
		    const struct m0_sim_host *to);
/** Returns true if the device that has the address is up. */
bool                 m0_sim__link_is_up(const struct m0_host_addr *addr);
struct sim_listener *m0_sim__listener_at(const struct m0_host_addr *addr);
/** @retval -EADDRINUSE, -EADDRNOTAVAIL */
int  m0_sim__listener_add(struct sim_listener       *listener,
			  const struct m0_host_addr *addr);
void m0_sim__listener_del(struct sim_listener *listener);

/**
 * Begins a connection; the caller sets the owner of *ret.
 * @retval -EADDRINUSE  no port is left.  @retval -EADDRNOTAVAIL  `from`.
 */
int m0_sim__dial(const struct m0_host_addr *from, uint16_t port_min,
		 uint16_t port_max, const struct m0_host_addr *to,
		 struct sim_end **ret);
/** Detach the owner of an end: with a reset, or as close() does. */
void m0_sim__end_leave(struct sim_end *end, bool reset);

int                 m0_sim__reactor_create(struct m0_reactor **ret);
struct sim_reactor *m0_sim__reactor_of(struct m0_reactor *reactor);
void                m0_sim__reactor_wake(struct sim_reactor *reactor);

struct m0_sim_stream *m0_sim__stream(struct sim_end *end);

/** Fills segments, as readv() does. sim_io.c. */
ssize_t m0_sim__end_readv(struct sim_end *end, const struct iovec *iov,
			  unsigned nr);

/* -- sim_lane.c ------------------------------------------------------------ */

/** The result of a job of a lane. */
struct sim_back {
	bool   sba_is_out;
	size_t sba_moved;
	/** 1; 0: the end of the stream; a negative errno. */
	ssize_t sba_rc;
};

/** The time that it takes to move bytes between a stream and memory. */
m0_time_t m0_sim__copy_ns(size_t bytes);
/** Starts them if there are to be at least 2. */
void m0_sim__lanes_start(struct sim_io *io, unsigned nr);
/** Pre: they have no jobs. */
void m0_sim__lanes_stop(struct sim_io *io);
/** Is so much for a lane? */
bool m0_sim__lane_takes(const struct sim_io *io, size_t bytes);
void m0_sim__lane_give(struct sim_end *end, bool is_out,
		       const struct iovec *iov, unsigned nr);
/** Something has changed for an end: its lanes look. */
void m0_sim__lane_notice(struct sim_end *end);
/** Has what reads come back, with what was moved. */
void m0_sim__lane_recall(struct sim_end *end);
/** Ends and forgets what lanes have of an end. */
void m0_sim__lane_drop(struct sim_end *end);
/** Takes something that came back, and says whose it is; NULL: there is nothing. */
struct sim_end *m0_sim__lane_back(struct sim_io *io, struct sim_back *ret);

/** Notifications from the network to the owners. */
void m0_sim__node_notice(struct sim_end *end);
void m0_sim__node_backlog(struct sim_listener *listener);
void m0_sim__raw_notice(struct sim_end *end);
void m0_sim__raw_accepted(struct sim_listener *listener, struct sim_end *end);
void m0_sim__raws_free(struct sim_net *net);
/** A connection comes to be; the record ends. */
void m0_sim__pcap_wire(struct sim_wire *wire);
void m0_sim__pcap_fini(struct sim_net *net);

#endif /* M0_SRC_SIM_NET_INTERNAL_H */
