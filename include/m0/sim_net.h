/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * A network of simulated hosts. LNet nodes use streams of the simulator instead
 * of sockets, with addresses, ports and faults.
 *
 * One network at a time, in one simulation. A node opened after m0_sim_host_use
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

#ifdef __cplusplus
extern "C" {
#endif

struct m0_sim_host;

/** @param cfg  for all streams; kept by value. */
void m0_sim_net_init(struct m0_sim *sim, const struct m0_sim_stream_cfg *cfg);
/**
 * Drops hosts, streams and raw ends, and restores the previous table of io
 * functions. Fails the case if a node has left an io, a listener or a stream
 * open.
 */
void m0_sim_net_fini(void);
/** Sets the configuration of streams that begin from now on. */
void m0_sim_net_cfg_set(const struct m0_sim_stream_cfg *cfg);
/**
 * Records the bytes written from now on to new streams, in a pcap file.
 * $M0_SIM_PCAP does the same from the beginning; each network of a program
 * overwrites it.
 */
void m0_sim_net_pcap(const char *path);
/**
 * Sets how many bytes per second a strand moves between streams and memory: that of a node,
 * which does nothing else meanwhile, and each of its lanes (lc_lanes). 0, the default:
 * this takes no time.
 */
void m0_sim_net_copy_rate(uint64_t bytes_per_s);
/** Number of streams of which at least one end is open. */
unsigned m0_sim_net_streams_nr(void);

/* -- hosts and their faults ------------------------------------------------ */

/**
 * Adds a host. `addrs` has at most 8 addresses as text, separated by blanks.
 * @param name  kept by pointer.
 */
struct m0_sim_host *m0_sim_host_add(const char *name, const char *addrs);
/**
 * From now on the application runs on this host: the nodes it opens have the
 * interfaces of the host, strands it starts belong to the host, and it has the
 * wall clock of the host. NULL: on no host; nodes have the interfaces of all.
 */
void m0_sim_host_use(struct m0_sim_host *host);
/** Cuts or restores one direction: bytes and SYNs from one host to the other
 * vanish, or arrive again. */
void m0_sim_host_cut_way(struct m0_sim_host *from, struct m0_sim_host *to,
			 bool cut);
/** Cuts or restores both directions to all other hosts: connections die
 * half-open, without a notification. */
void m0_sim_host_cut(struct m0_sim_host *host, bool cut);
/**
 * The host loses power: from now on nothing from it reaches another host and
 * nothing reaches it; no peer is notified. A peer that connects to it gets no
 * answer.
 *
 * The state of the host is in the memory of the test, which must still finalise
 * it, by the calls that a program makes when it exits: RPC machines, domains,
 * nodes. Other hosts cannot observe these calls. They complete as documented,
 * with errors and time-outs, and virtual time passes meanwhile. Treat their
 * results and callbacks as lost with the host; use m0_sim_host_is_down() for
 * that. The disk of the service has what it had written before the crash.
 * Either keep a copy of that, or let the store commit afterwards what was in
 * progress, which is as if it had done so just before the crash.
 *
 * Messages of m0/sim_link.h do not depend on hosts: cut their links.
 * Pre: the host is up.
 */
void m0_sim_host_crash(struct m0_sim_host *host);
/**
 * m0_sim_host_crash() of the program only (SIGKILL): the operating system of
 * the host continues, resets its streams now, and refuses new connections.
 */
void m0_sim_host_kill(struct m0_sim_host *host);
/**
 * Restarts a host that is down. Everything that it had open must be finalised.
 * Nodes opened from now on have a new incarnation. If a peer still has a stream
 * to the former incarnation, that is reset when the peer sends something,
 * unless a cut prevents that.
 */
void m0_sim_host_restart(struct m0_sim_host *host);
bool m0_sim_host_is_down(const struct m0_sim_host *host);
/** Moves the wall clock of the host ahead by `skew_ns` from now on; back if
 * negative. */
void m0_sim_host_skew(struct m0_sim_host *host, int64_t skew_ns);
/** Makes the strands of the host run up to `late_ns_max` late; 0: on time. */
void m0_sim_host_late(struct m0_sim_host *host, m0_time_t late_ns_max);

/** Resets all streams of the host at both ends, now. */
void m0_sim_host_reset(struct m0_sim_host *host);
/** m0_sim_host_reset() for the streams to `other` only. */
void m0_sim_host_reset_way(struct m0_sim_host *host, struct m0_sim_host *other);
/**
 * Makes the host ignore resets of its present and later streams until it writes
 * to them. The LNet of a kernel does so: it keeps such a connection and its
 * incarnation, and answers the next HELLO of another incarnation with type
 * NONE.
 */
void m0_sim_host_ignore_resets(struct m0_sim_host *host, bool ignores);
/** Makes connecting to the host fail with -EHOSTUNREACH. */
void m0_sim_host_unreachable(struct m0_sim_host *host, bool unreachable);
/** Makes the host read at most `bytes_per_s` on each stream; 0: no limit. */
void m0_sim_host_slow(struct m0_sim_host *host, uint64_t bytes_per_s);
/** Makes listening fail with this error from now on; 0: succeed. */
void m0_sim_host_listen_fails(struct m0_sim_host *host, int rc);
/**
 * Sets the device that has the address up (the default) or down: what is sent from
 * or to the address vanishes while it is down, and the nodes of the host report the
 * interface down.
 */
void m0_sim_link_up(const char *addr, bool up);
/** m0_sim_link_up() for all addresses of the host. */
void m0_sim_host_iface_up(struct m0_sim_host *host, bool up);
/** Number of connections that the host has ever started, raw ones included. */
unsigned m0_sim_host_dials_nr(const struct m0_sim_host *host);
/**
 * Number of streams that have an end on the host, and at least one end open.
 */
unsigned m0_sim_host_streams_nr(const struct m0_sim_host *host);

#ifdef __cplusplus
}
#endif
#endif /* M0_SIM_NET_H */
