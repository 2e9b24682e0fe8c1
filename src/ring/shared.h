/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The memory that an attached process shares with the server of its node, and the
 * two queues in it. docs/ring.md is the specification.
 * [r.M0.net.xprt.lnet.efficient-user-to-kernel-comm]
 *
 * The *client* is the process; the *server* is the node daemon, or a driver in a
 * kernel. Neither trusts the other: each side keeps its indices in memory of its
 * own, copies an index or an entry of the other side once, and checks the copy. A
 * violation is an error with a reason, never an assertion.
 *
 * A queue has one producer and one consumer. Operations go down from client to
 * server, events go up. Nothing here makes a system call: wake-ups, waits, mapped
 * memory, the death of the other side and its credentials are the five functions
 * of struct m0_shared_host, of which daemon and kernel have one table each.
 *
 * A call that takes a struct m0_shared_side belongs to one thread at a time.
 */
#ifndef M0_SRC_RING_SHARED_H
#define M0_SRC_RING_SHARED_H

#include "m0/base.h"

/** "colibri1" on a host with the lowest byte first. */
#define M0_SHARED_MAGIC UINT64_C(0x31697262696c6f63)

enum {
	/** Raised whenever a size, an offset, a field or its meaning changes. */
	M0_SHARED_VERSION = 3,
	/** Bytes of an entry of each queue. */
	M0_SHARED_DOWN_BYTES = 128,
	M0_SHARED_UP_BYTES = 192,
	/** Entries of a queue: a power of two between these. */
	M0_SHARED_ENTRIES_MIN = 128,
	M0_SHARED_ENTRIES_MAX = 1 << 16,
	/** Bounds of the numbers in struct m0_shared_cfg. */
	M0_SHARED_PORTALS_MAX = 1 << 16,
	M0_SHARED_OBJECTS_MAX = 1 << 20,
	M0_SHARED_EQS_MAX = 1 << 16,
	M0_SHARED_CONTROLS_MAX = 1 << 10,
	M0_SHARED_CONTROL_BYTES_MAX = 1 << 16,
	M0_SHARED_LINE_BYTES = 64
};

/** Sizes of an area, and most objects of its client. */
struct m0_shared_cfg {
	/** Entries of the queues. */
	uint32_t shc_down_nr;
	uint32_t shc_up_nr;
	/** Entries of the queue upwards that are kept for events of operations of
	 * the client, and for incoming messages. Their sum is at most
	 * shc_up_nr. */
	uint32_t shc_reserved_nr;
	uint32_t shc_incoming_nr;
	uint32_t shc_portals_nr;
	uint32_t shc_mes_max;
	uint32_t shc_mds_max;
	uint32_t shc_ops_max;
	uint32_t shc_eqs_max;
	uint32_t shc_regions_max;
	/** Control records, and bytes of each, a multiple of 64. */
	uint32_t shc_controls_nr;
	uint32_t shc_control_bytes;
};

/** The first bytes of an area. The server writes them before the client sees the
 * area; neither side relies on them later. */
struct m0_shared_head {
	uint64_t             shd_magic;
	uint32_t             shd_version;
	uint32_t             shd_head_bytes;
	uint64_t             shd_bytes;
	uint32_t             shd_down_bytes;
	uint32_t             shd_up_bytes;
	struct m0_shared_cfg shd_cfg;
	/** Offsets in the area. */
	uint64_t shd_down_at;
	uint64_t shd_up_at;
	uint64_t shd_eqs_at;
	uint64_t shd_controls_at;
};

/** A word of the area on a cache line of its own, or more of one writer. */
struct m0_shared_line {
	uint32_t shl_word;
	/** In the line up_taken: incoming messages among the entries taken. In the line
	 * client_holds: recalls that were answered. */
	uint32_t shl_incoming;
	/** In the line client_holds: MDs that the client holds. In the line state: recalls
	 * of them. */
	uint32_t shl_held;
	uint32_t shl_unused;
	/** Client, in the line client_holds: messages that it has sent to, and taken from
	 * its neighbours. */
	uint64_t shl_sent_nr;
	uint64_t shl_taken_nr;
	/** In the line down_put: bytes that the client has copied to and from shadows of
	 * memory that it could not hand over. For people only. */
	uint64_t shl_shadow_bytes;
	uint8_t  shl_reserved[M0_SHARED_LINE_BYTES - 40];
} __attribute__((__aligned__(64)));

/** Bits of a word "I sleep". */
enum m0_shared_sleep {
	/** Wake me when there is an entry for me. */
	M0_SHARED_ENTRIES = 1,
	/** Wake me when there is room for an entry of mine. */
	M0_SHARED_ROOM = 2
};

/** Where the server stands, for the client. */
enum m0_shared_state {
	M0_SHARED_OPEN,
	/** The server accepts no further operation; what is queued completes. */
	M0_SHARED_DRAINING,
	M0_SHARED_CLOSED
};

/** The words of an area, at offset M0_SHARED_WORDS_AT. */
struct m0_shared_words {
	/** Written by the client: entries put down, entries taken from above, and
	 * its word "I sleep", which the server takes by an exchange. */
	struct m0_shared_line shw_down_put;
	struct m0_shared_line shw_up_taken;
	struct m0_shared_line shw_client_sleeps;
	/** Written by the server: the same of its side. */
	struct m0_shared_line shw_down_taken;
	struct m0_shared_line shw_up_put;
	struct m0_shared_line shw_server_sleeps;
	/** Written by the server: enum m0_shared_state, and in shl_incoming the
	 * number of changes of the node's NIDs. */
	struct m0_shared_line shw_state;
	/** Written by the client: what it does without the server. */
	struct m0_shared_line shw_client_holds;
};

enum {
	M0_SHARED_WORDS_AT = 256
};

/** The words of an event queue, a line for each side. */
struct m0_shared_eq {
	/** Written by the client: incoming messages that the application took. */
	uint32_t seq_taken_nr;
	uint8_t  seq_reserved[M0_SHARED_LINE_BYTES - 4];
	/** Written by the server: those accepted, and those dropped for want of
	 * room in the event queue. */
	uint32_t seq_accepted_nr;
	uint32_t seq_reserved_nr;
	uint64_t seq_dropped_nr;
	uint8_t  seq_reserved_server[M0_SHARED_LINE_BYTES - 16];
} __attribute__((__aligned__(64)));

/* -- errors ---------------------------------------------------------------- */

/** A reason: the field, its value, and what is accepted. It becomes text only if
 * somebody reads it. */
struct m0_shared_why {
	/** NULL: nothing is wrong. */
	const char *shy_field;
	uint64_t    shy_value;
	/** Accepted range. */
	uint64_t shy_min;
	uint64_t shy_max;
	/** The numbers are signed. */
	bool shy_is_signed;
	/** Text in place of a range, or NULL. */
	const char *shy_words;
};

/** Text of a reason: `op_portal 99: 0 to 63 is accepted`. @return buf. */
char *m0_shared_why_print(const struct m0_shared_why *why, char *buf,
			  size_t size);
/** Fills in a reason; why may be NULL. @return rc. */
int m0_shared_refuse(struct m0_shared_why *why, int rc, const char *field,
		     uint64_t value, uint64_t min, uint64_t max);
/** As m0_shared_refuse(), with signed numbers; with words in place of a range. */
int m0_shared_refuse_signed(struct m0_shared_why *why, int rc,
			    const char *field, int64_t value, int64_t min,
			    int64_t max);
int m0_shared_refuse_as(struct m0_shared_why *why, int rc, const char *field,
			uint64_t value, const char *words);

/* -- the host -------------------------------------------------------------- */

/** The other side, as the host knows it. Daemon: SO_PEERCRED. */
struct m0_shared_creds {
	uint32_t scr_pid;
	uint32_t scr_uid;
	uint32_t scr_gid;
};

/** The five functions in which a daemon, a kernel, a client and a test differ. */
struct m0_shared_host {
	/** Makes the present or the next wait of the other side end. */
	void (*shh_wake)(void *host);
	/**
	 * Waits until the other side wakes this one, or dies.
	 * @retval -ETIMEDOUT
	 */
	int (*shh_wait)(void *host, m0_time_t deadline);
	/**
	 * Maps region `nr` of the client, or unmaps it if `bytes` is 0.
	 * @retval -EINVAL  there is no such memory, or less than `bytes`; it
	 *                  could shrink while it is mapped.
	 * @retval -ENOMEM, -EPERM
	 */
	int (*shh_map)(void *host, uint32_t nr, uint64_t bytes, void **ret);
	/** Returns true once the other side is gone. */
	bool (*shh_is_dead)(void *host);
	/** Credentials of the other side. */
	int (*shh_creds)(void *host, struct m0_shared_creds *ret);
};

/* -- ends of a queue ------------------------------------------------------- */

/** The producer's end. */
struct m0_shared_out {
	char     *sot_entries;
	uint32_t *sot_put;
	uint32_t *sot_taken;
	uint32_t  sot_nr;
	uint32_t  sot_bytes;
	/** Entries put so far; entries taken as of the last look. */
	uint32_t sot_put_nr;
	uint32_t sot_taken_nr;
};

/** The consumer's end. */
struct m0_shared_in {
	const char *shi_entries;
	uint32_t   *shi_put;
	uint32_t   *shi_taken;
	uint32_t    shi_nr;
	uint32_t    shi_bytes;
	/** Entries taken so far; entries put as of the last look. */
	uint32_t shi_taken_nr;
	uint32_t shi_put_nr;
};

enum m0_shared_role {
	M0_SHARED_CLIENT,
	M0_SHARED_SERVER
};

/** One side of an area. */
struct m0_shared_side {
	enum m0_shared_role          shs_role;
	struct m0_shared_out         shs_out;
	struct m0_shared_in          shs_in;
	uint32_t                    *shs_sleeps;
	uint32_t                    *shs_other_sleeps;
	const struct m0_shared_host *shs_host;
	void                        *shs_host_arg;
	struct m0_shared_cfg         shs_cfg;
	/** Start of the area, and parts of it. */
	char                   *shs_area;
	struct m0_shared_words *shs_words;
	struct m0_shared_eq    *shs_eqs;
	char                   *shs_controls;
	/**
	 * Client: reserved events of operations that have not ended. Server: those
	 * of them that it has not put yet.
	 */
	uint32_t shs_reserved_nr;
	/** Server: events of incoming messages put so far. Client: taken. */
	uint32_t shs_incoming_nr;
	/** Bits of enum m0_shared_sleep: reasons to ring the bell. */
	uint32_t shs_bell_bits;
	/** Entries for which there was no room; what M0_SHARED_ROOM waits for. */
	uint32_t shs_wanted_nr;
	/** Wake-ups of the other side, and waits of this one. */
	uint64_t shs_wakes_nr;
	uint64_t shs_waits_nr;
};

/* -- area ------------------------------------------------------------------ */

/** Checks the numbers of a configuration. @retval -EINVAL */
int m0_shared_cfg_check(const struct m0_shared_cfg *cfg,
			struct m0_shared_why       *why);
/** Bytes of the area of a configuration that was checked. */
uint64_t m0_shared_bytes(const struct m0_shared_cfg *cfg);
/**
 * Server: makes an area of memory that is all zeroes, and its side of it.
 * @retval -EINVAL  as m0_shared_cfg_check(), or `bytes` are too few.
 */
int m0_shared_make(struct m0_shared_side *side, void *area, uint64_t bytes,
		   const struct m0_shared_cfg  *cfg,
		   const struct m0_shared_host *host, void *arg,
		   struct m0_shared_why *why);
/**
 * Client: takes part in an area that a server has made. The head is copied once,
 * then checked.
 * @retval -EPROTO  it is no area of this version, or its numbers are wrong.
 */
int m0_shared_join(struct m0_shared_side *side, void *area, uint64_t bytes,
		   const struct m0_shared_host *host, void *arg,
		   struct m0_shared_why *why);

/** Control record `nr`. Pre: nr < shc_controls_nr. */
static inline void *m0_shared_control(const struct m0_shared_side *side,
				      uint32_t                     nr)
{
	return side->shs_controls +
	       (uint64_t)nr * side->shs_cfg.shc_control_bytes;
}

/** Copies bytes of the area that the other side may change meanwhile: each is read
 * once. Both are aligned to 8 bytes, and `bytes` is a multiple of 8. */
void m0_shared_copy(void *to, const void *from, size_t bytes);

/* -- producer -------------------------------------------------------------- */

/**
 * Looks whether there is room for `nr` entries.
 * @retval -EAGAIN  not now.
 * @retval -EPROTO  the other side's index is out of range.
 */
int m0_shared_reserve(struct m0_shared_side *side, uint32_t nr,
		      struct m0_shared_why *why);
/** Entry `i` of those that were reserved, to be written. */
void *m0_shared_slot(const struct m0_shared_side *side, uint32_t i);
/** Lets the consumer see the first `nr` entries that were reserved.
 * m0_shared_bell() is due. */
void m0_shared_commit(struct m0_shared_side *side, uint32_t nr);

/* -- consumer -------------------------------------------------------------- */

/**
 * Number of entries to take.
 * @retval -EPROTO  the other side's index is out of range.
 */
int m0_shared_ready(struct m0_shared_side *side, struct m0_shared_why *why);
/** Copies entry `i` of those that are ready. */
void m0_shared_peek(const struct m0_shared_side *side, uint32_t i, void *copy);
/** Gives the first `nr` entries back to the producer. Client: `incoming_nr` of them
 * are events of incoming messages. m0_shared_bell() is due. */
void m0_shared_release(struct m0_shared_side *side, uint32_t nr,
		       uint32_t incoming_nr);

/* -- sleep ----------------------------------------------------------------- */

/**
 * Wakes the other side if it sleeps and waits for what this side has committed or
 * released since the last call. One call serves many commits, so a client that lies
 * about its sleep costs its server one wake-up for each pass.
 */
void m0_shared_bell(struct m0_shared_side *side);
/**
 * Rings the bell, and says "I sleep", unless there is something to do. For a side
 * that waits for other things, too; it ends with m0_shared_sleep_end().
 * @param bits  of enum m0_shared_sleep.
 * @return true: the side may wait, until it is woken.
 */
bool m0_shared_sleep_begin(struct m0_shared_side *side, uint32_t bits);
void m0_shared_sleep_end(struct m0_shared_side *side);
/**
 * Waits until there is something to do.
 * @retval 0  there is, or may be.
 * @retval -EPIPE  the other side is dead. All that it has put can still be taken.
 * @retval -ETIMEDOUT
 */
int m0_shared_sleep(struct m0_shared_side *side, uint32_t bits,
		    m0_time_t deadline);

/* -- reserved events ------------------------------------------------------- */

/**
 * Client, before it queues an operation: reserves `nr` entries for its events.
 * Their number is m0_shared_events_nr(). They stay reserved until the operation has
 * had its last event.
 * @return false: too many operations are outstanding.
 */
bool m0_shared_claim(struct m0_shared_side *side, uint32_t nr);
/** Client: the operation has had its last event, which was released before. */
void m0_shared_unclaim(struct m0_shared_side *side, uint32_t nr);
/**
 * Server, when it takes an operation: the same.
 * @retval -EPROTO  the client has not reserved them, or an index is out of range.
 */
int m0_shared_owe(struct m0_shared_side *side, uint32_t nr,
		  struct m0_shared_why *why);
/** Server: `nr` of them will not be used, since the operation has ended. */
void m0_shared_forgive(struct m0_shared_side *side, uint32_t nr);
/**
 * Server: an entry for one of the reserved events, in slot 0. It is committed before
 * the next one is asked for.
 * @retval -EPROTO  the client's indices leave no room for what was reserved.
 */
int m0_shared_owed(struct m0_shared_side *side, struct m0_shared_why *why);
/**
 * Server: an entry for the event of an incoming message, or for nothing.
 * @retval -EAGAIN  the client has too many that it has not taken: the message is
 *                  to be dropped, and counted.
 * @retval -EPROTO
 */
int m0_shared_incoming(struct m0_shared_side *side, struct m0_shared_why *why);
/** Server: the entry of m0_shared_incoming() was written to slot 0. */
void m0_shared_incoming_commit(struct m0_shared_side *side);

/* -- regions --------------------------------------------------------------- */

/** Regions of a client that the server has mapped. */
struct m0_shared_regions {
	struct m0_shared_region *srs_regions;
	uint32_t                 srs_max;
	/** Bytes mapped, and the most that may be. */
	uint64_t srs_bytes;
	uint64_t srs_bytes_max;
};

struct m0_shared_region {
	/** NULL: none has the number. */
	void    *srg_addr;
	uint64_t srg_bytes;
	uint32_t srg_gen;
};

/** @param regions_max  from shc_regions_max. @retval -ENOMEM */
int m0_shared_regions_init(struct m0_shared_regions *regions,
			   uint32_t regions_max, uint64_t bytes_max);
/** Unmaps all. */
void m0_shared_regions_fini(struct m0_shared_regions    *regions,
			    const struct m0_shared_side *side);
/**
 * Maps region `nr`, which counts from 1.
 * @retval -EEXIST  the number is in use.
 * @retval -EDQUOT  too many bytes.
 * @return else that of shh_map.
 */
int m0_shared_region_add(struct m0_shared_regions    *regions,
			 const struct m0_shared_side *side, uint32_t nr,
			 uint32_t gen, uint64_t bytes);
/** @retval -ENOENT  there is none of this number and generation. */
int m0_shared_region_del(struct m0_shared_regions    *regions,
			 const struct m0_shared_side *side, uint32_t nr,
			 uint32_t gen);
/** Address of bytes of a region; NULL: it does not have them. */
void *m0_shared_region_at(const struct m0_shared_regions *regions, uint32_t nr,
			  uint64_t offset, uint64_t bytes);

#endif /* M0_SRC_RING_SHARED_H */
