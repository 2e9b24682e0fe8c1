/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A network of simulated hosts: the table m0_sock_io_ops over streams of the
 * simulator, with addresses, ports and faults; and raw ends, by which a test
 * itself connects, listens and speaks bytes, as a peer with good manners or bad
 * ones.
 *
 * One network at a time, on one simulation. A node opened after m0_sim_host_use
 * has the interfaces of that host.
 *
 *     net = m0_sim_net_init(&sim, &cfg);
 *     a = m0_sim_host_add("a", "10.0.0.1");
 *     m0_sim_host_use(a);
 *     m0_lnet_open(&lnet, ...);
 *     raw = m0_sim_raw_dial("10.0.0.9", 1023, "10.0.0.1", 988);
 *     ...
 *     m0_sim_net_fini();
 */
#ifndef M0_TESTS_LIB_SIM_IO_H
#define M0_TESTS_LIB_SIM_IO_H

#include "lib/sim_stream.h"
#include "lnd/sock/io.h"

struct m0_sim_host;
struct m0_sim_raw;

extern const struct m0_sock_io_ops m0_sim_io_ops;

/** Installs m0_sim_io_ops. @param cfg  of all streams; kept by value. */
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

/* -- raw ends -------------------------------------------------------------- */

enum m0_sim_raw_state {
	M0_SIM_RAW_DIALLING,
	M0_SIM_RAW_CONNECTED,
	/** It ended with end of file; what we write may still arrive. */
	M0_SIM_RAW_EOF,
	/** sr_status says how: -ECONNREFUSED, -ECONNRESET, ... */
	M0_SIM_RAW_BROKEN
};

struct m0_sim_raw {
	enum m0_sim_raw_state sr_state;
	int                   sr_status;
	/** All that came, in order; not what waits while sr_is_mute. */
	uint8_t *sr_in;
	size_t   sr_in_nr;
	/** Of it, bytes that the test has dealt with: the test's own. */
	size_t sr_done;
	/** Reads nothing while set: see m0_sim_raw_mute. */
	bool sr_is_mute;
	/** When the last bytes came and when it ended. */
	m0_time_t sr_in_at;
	m0_time_t sr_ended_at;
	/** The address of the other side. */
	struct m0_sock_addr sr_remote;
	/** Optional: called when bytes, end of file or an end have come, and
	 * when it was connected. May send and close. */
	void (*sr_input)(struct m0_sim_raw *raw);
	/** The owner's. */
	void *sr_data;

	/** Private. */
	void              *sr_end;
	uint8_t           *sr_out;
	size_t             sr_out_nr;
	size_t             sr_in_max;
	size_t             sr_out_max;
	bool               sr_close_after;
	struct m0_sim_raw *sr_next;
};

/** Parses an address; the test fails if it is none. */
struct m0_sock_addr m0_sim_addr(const char *text, uint16_t port);
/** Could one connect from there? */
bool m0_sim_port_is_free(const char *at, uint16_t port);
/** Begins to connect from an address of some host. @param port  0: any. */
struct m0_sim_raw *m0_sim_raw_dial(const char *from, uint16_t from_port,
				   const char *to, uint16_t to_port);
/**
 * Listens at an address of some host; `accepted` is called with each new raw
 * end, connected. NULL closes the listener.
 */
void m0_sim_raw_listen(const char *at, uint16_t port,
		       void (*accepted)(struct m0_sim_raw *raw, void *arg),
		       void *arg);
/** Sends bytes, now or when there is room; dropped if it is broken. */
void m0_sim_raw_send(struct m0_sim_raw *raw, const void *bytes, size_t nr);
/** Has bytes of a send not found room? */
size_t m0_sim_raw_pending(const struct m0_sim_raw *raw);
/** Stops reading, or reads on. */
void m0_sim_raw_mute(struct m0_sim_raw *raw, bool mute);
/** End of file after what was sent; reads on. */
void m0_sim_raw_shut(struct m0_sim_raw *raw);
/** As close(): nothing more is read. The raw end can still be looked at. */
void m0_sim_raw_close(struct m0_sim_raw *raw);
void m0_sim_raw_reset(struct m0_sim_raw *raw);
/** Closes it and frees it; else m0_sim_net_fini does. Not from sr_input. */
void m0_sim_raw_free(struct m0_sim_raw *raw);

#endif /* M0_TESTS_LIB_SIM_IO_H */
