/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Raw ends let a test connect, listen, and send and receive bytes on the
 * simulated network itself, as a peer that keeps to the protocol or violates it.
 *
 *     raw = m0_sim_raw_dial("10.0.0.9", 1023, "10.0.0.1", 988);
 */
#ifndef M0_SRC_SIM_RAW_H
#define M0_SRC_SIM_RAW_H

#include "m0/sim_net.h"
#include "reactor/host_ops.h"

struct m0_sim_raw;

/** Table that m0_sim_net_init installs. */
extern const struct m0_host_ops m0_sim_host_ops;

/* -- raw ends -------------------------------------------------------------- */

enum m0_sim_raw_state {
	M0_SIM_RAW_DIALLING,
	M0_SIM_RAW_CONNECTED,
	/** The peer has sent end of file; bytes that we write may still
	 * arrive. */
	M0_SIM_RAW_EOF,
	/** smr_status says how: -ECONNREFUSED, -ECONNRESET, ... */
	M0_SIM_RAW_BROKEN
};

struct m0_sim_raw {
	enum m0_sim_raw_state smr_state;
	int                   smr_status;
	/** All that came, in order; not what waits while smr_is_mute. */
	uint8_t *smr_in;
	size_t   smr_in_nr;
	/** Bytes of these that the test has processed; the test sets it. */
	size_t smr_done;
	/** Reads nothing while set: see m0_sim_raw_mute. */
	bool smr_is_mute;
	/** When the last bytes came and when it ended. */
	m0_time_t smr_in_at;
	m0_time_t smr_ended_at;
	/** The address of the other side. */
	struct m0_host_addr smr_remote;
	/** Optional: called when bytes, end of file or an end have come, and
	 * when it was connected. May send and close. */
	void (*smr_input)(struct m0_sim_raw *raw);
	/** The owner's. */
	void *smr_data;

	/** Private. */
	void              *smr_end;
	uint8_t           *smr_out;
	size_t             smr_out_nr;
	size_t             smr_in_max;
	size_t             smr_out_max;
	bool               smr_close_after;
	struct m0_sim_raw *smr_next;
};

/** Parses an address; the test fails if it is none. */
struct m0_host_addr m0_sim_addr(const char *text, uint16_t port);
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
/** Return true if bytes of a send still wait for space. */
size_t m0_sim_raw_pending(const struct m0_sim_raw *raw);
/** Stops reading, or reads on. */
void m0_sim_raw_mute(struct m0_sim_raw *raw, bool mute);
/** End of file after what was sent; reads on. */
void m0_sim_raw_shut(struct m0_sim_raw *raw);
/**
 * Close as close() does: nothing more is read. The raw end can still be read by
 * the test.
 */
void m0_sim_raw_close(struct m0_sim_raw *raw);
void m0_sim_raw_reset(struct m0_sim_raw *raw);
/** Closes it and frees it; else m0_sim_net_fini does. Not from smr_input. */
void m0_sim_raw_free(struct m0_sim_raw *raw);

#endif /* M0_SRC_SIM_RAW_H */
