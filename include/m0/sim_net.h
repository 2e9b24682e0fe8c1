/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A network of simulated hosts: LNet nodes speak over streams of the simulator
 * instead of sockets, with addresses, ports and faults.
 *
 * One network at a time, on one simulation. A node opened after m0_sim_host_use
 * has the interfaces of that host.
 *
 *     m0_sim_net_init(&sim, &cfg);
 *     a = m0_sim_host_add("a", "10.0.0.1");
 *     m0_sim_host_use(a);
 *     m0_lnet_open(&lnet, ...);
 *     ...
 *     m0_sim_net_fini();
 */
#ifndef M0_SIM_NET_H
#define M0_SIM_NET_H

#include "m0/sim_stream.h"

struct m0_sim_host;

/** @param cfg  of all streams; kept by value. */
void m0_sim_net_init(struct m0_sim *sim, const struct m0_sim_stream_cfg *cfg);
/**
 * Drops hosts, streams and raw ends, and puts the table of before back. Fails
 * the case if a node has left an io, a listener or a stream behind.
 */
void m0_sim_net_fini(void);
/** Of streams that begin from now on. */
void m0_sim_net_cfg_set(const struct m0_sim_stream_cfg *cfg);
/**
 * Records what is written from now on to new streams, in a pcap file. So does
 * $M0_SIM_PCAP from the beginning; each network of a program begins it anew.
 */
void m0_sim_net_pcap(const char *path);
/** Streams that somebody still holds an end of. */
unsigned m0_sim_net_streams_nr(void);

/* -- hosts and their faults ------------------------------------------------ */

/**
 * Adds a host; addresses as text with blanks between, at most 8.
 * @param name  kept by pointer.
 */
struct m0_sim_host *m0_sim_host_add(const char *name, const char *addrs);
/** Nodes opened from now on are on this host; NULL: on all of them. */
void m0_sim_host_use(struct m0_sim_host *host);
/** Bytes and SYNs from one host to the other vanish (or come again). */
void m0_sim_host_cut_way(struct m0_sim_host *from, struct m0_sim_host *to,
			 bool cut);
/** Both ways, to and from all others: half-open death, without a notice. */
void m0_sim_host_cut(struct m0_sim_host *host, bool cut);
/** All its streams are reset at both ends, now. */
void m0_sim_host_reset(struct m0_sim_host *host);
/** Only those to `other`. */
void m0_sim_host_reset_way(struct m0_sim_host *host, struct m0_sim_host *other);
/** Who dials it is told -EHOSTUNREACH. */
void m0_sim_host_unreachable(struct m0_sim_host *host, bool unreachable);
/** It reads so many bytes a second on each stream; 0: no limit. */
void m0_sim_host_slow(struct m0_sim_host *host, uint64_t bytes_per_s);
/** Listening fails with this from now on; 0: no. */
void m0_sim_host_listen_fails(struct m0_sim_host *host, int rc);
/** Its devices are up (as at first) or down: only what sio_ifaces tells. */
void m0_sim_host_iface_up(struct m0_sim_host *host, bool up);
/** Connections that it has begun ever, raw ones included. */
unsigned m0_sim_host_dials_nr(const struct m0_sim_host *host);
/** Streams of the host that it holds, or that others hold to it. */
unsigned m0_sim_host_streams_nr(const struct m0_sim_host *host);

#endif /* M0_SIM_NET_H */
