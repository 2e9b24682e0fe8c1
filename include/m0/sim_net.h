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

#ifdef __cplusplus
extern "C" {
#endif

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
/**
 * The application speaks for this host from now on: nodes opened are on it and
 * have its interfaces, strands started are its own, the wall clock is its own.
 * NULL: for nobody; nodes opened have the interfaces of all.
 */
void m0_sim_host_use(struct m0_sim_host *host);
/** Bytes and SYNs from one host to the other vanish (or come again). */
void m0_sim_host_cut_way(struct m0_sim_host *from, struct m0_sim_host *to,
			 bool cut);
/** Both ways, to and from all others: half-open death, without a notice. */
void m0_sim_host_cut(struct m0_sim_host *host, bool cut);
/**
 * The host dies as of a loss of power: from now on nothing of it reaches
 * anybody and nothing reaches it; nobody is told. Who dials it gets no answer.
 *
 * What it leaves is in the same memory as everything else, so it is still to be
 * finalised, by the calls that a program makes which ends: machines, domains,
 * nodes. Nothing of that can be seen from outside. Those calls end as they
 * promise, with errors and time-outs, and virtual time passes meanwhile; take
 * what they tell (callbacks, too) for what nobody has lived to see: ask
 * m0_sim_host_is_down(). What the service kept on disk is what it had written
 * before the crash: either keep a copy of that, or let a store commit after it
 * what was begun, which is as if it had been done just before.
 *
 * Messages of m0/sim_link.h know no hosts: cut the links.
 * Pre: it is up.
 */
void m0_sim_host_crash(struct m0_sim_host *host);
/**
 * The same, but only the program dies (SIGKILL): the system of the host lives,
 * resets its streams now and refuses who dials it.
 */
void m0_sim_host_kill(struct m0_sim_host *host);
/**
 * It comes back. Its former life must be finalised, what is opened from now on
 * is a new one with a new incarnation. Who still holds a stream to the former
 * life has it reset when he says something, cuts permitting.
 */
void m0_sim_host_restart(struct m0_sim_host *host);
bool m0_sim_host_is_down(const struct m0_sim_host *host);
/** Its wall clock is ahead by so much, from now on; behind if negative. */
void m0_sim_host_skew(struct m0_sim_host *host, int64_t skew_ns);
/** Its strands run up to so much later than they would; 0: on time. */
void m0_sim_host_late(struct m0_sim_host *host, m0_time_t late_ns_max);

/** All its streams are reset at both ends, now. */
void m0_sim_host_reset(struct m0_sim_host *host);
/** Only those to `other`. */
void m0_sim_host_reset_way(struct m0_sim_host *host, struct m0_sim_host *other);
/**
 * Streams that it holds or gets are reset without its notice, until it writes:
 * as the LNet of a kernel, which keeps such a connection and its incarnation,
 * and answers the next HELLO of another incarnation with type NONE.
 */
void m0_sim_host_ignore_resets(struct m0_sim_host *host, bool ignores);
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

#ifdef __cplusplus
}
#endif
#endif /* M0_SIM_NET_H */
