/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The two roles of a copy. They share the receiver's address and the contents of
 * messages (copy_wire.h), nothing else.
 *
 * The sender's thread reads block by block, in order, into free slots, and offers
 * each as a passive buffer by a message. A slot is free again when
 * its block was read by the peer and the reply has come. The receiver's
 * callbacks pull each block that is offered into a slot of its own; its thread
 * writes the blocks, in the order of their offsets, and replies. So reading,
 * moving and writing overlap, with at most `inflight` blocks in memory on
 * either side.
 *
 * Within a process no operation has a time-out: a copy that is suspended goes
 * on later, and one that is stuck ends by a signal. Between processes each side
 * gives up when it has received nothing for so long (cpl_timeout_ns), or the other
 * side sends messages but makes no progress (tpo_idle_ns). There messages may be
 * lost, too: copy_sender_tick() resends those without an answer (copy_wire.h).
 */
#ifndef M0_TOOLS_COPY_ROLE_H
#define M0_TOOLS_COPY_ROLE_H

#include "../net/call.h"
#include "copy_file.h"
#include "copy_port.h"

/** Parameters of both roles. */
struct copy_plan {
	const struct tool_xprt *cpl_xprt;
	/** Bytes of a block, the last one may be shorter; and blocks in flight. */
	uint64_t cpl_block;
	uint32_t cpl_inflight;
	bool     cpl_verify;
	/** Most that a receiver takes. */
	uint64_t cpl_size;
	/** The number of the copy; 0: both are in this process. */
	uint64_t  cpl_conv;
	m0_time_t cpl_timeout_ns;
	/** Address that the sender shall have; NULL: any. */
	const char *cpl_addr;
};

struct send_slot;

/** Describes a receiver in another process to the sender. */
struct copy_target {
	/** Its address, and the name there; may be empty, or a directory. */
	char cta_addr[COPY_TEXT_MAX];
	char cta_name[COPY_TEXT_MAX];
	/** Name of the source. */
	const char *cta_base;
};

struct copy_sender {
	struct tool_port         cs_port;
	struct copy_plan         cs_plan;
	struct src_file         *cs_src;
	struct m0_net_end_point *cs_to;
	/** A receiver in another process; its transfer machine that accepts
	 * new copies. */
	const struct copy_target *cs_target;
	struct m0_net_end_point  *cs_door;
	/** Its answer to OPEN, and the address in it. */
	struct copy_msg  cs_open;
	struct tool_call cs_call;
	char             cs_addr[COPY_TEXT_MAX + 1];
	/** END was sent: the copy may be done, whatever is received. Locked. */
	bool cs_ending;
	/** END of either kind, and when it was sent last; 0: not yet. Locked. */
	struct copy_msg   cs_last;
	m0_time_t         cs_last_at;
	struct send_slot *cs_slots;
	uint32_t          cs_slots_nr;
	/** The slot that was looked at last, whether it is due; main's. */
	uint32_t cs_again;
	/** Slots in use; bytes that were offered, and that are written. */
	uint32_t     cs_busy_nr;
	uint64_t     cs_offered;
	uint64_t     cs_bytes;
	struct hash *cs_hash;
	/** Checksum of the bytes that were read. */
	uint8_t cs_sum[HASH_BYTES];
	/** The receiver's last word. */
	struct copy_msg cs_end;
	bool            cs_ended;
	/** The receiver has failed, and its message says more. */
	bool cs_peer_failed;
	/** The file is on disk at the receiver. */
	bool cs_committed;
};

/** All return 0, or an exit code, with cs_port.tpo_fail set. */
int copy_sender_open(struct copy_sender *sender, const struct copy_plan *plan,
		     struct src_file *src, int done_fd);
/** Begins to send to the receiver at `addr`; cs_port.tpo_done follows. */
int copy_sender_run(struct copy_sender *sender, const char *addr);
/** Starts a sender for a receiver in another process, which is asked first. */
int copy_sender_call(struct copy_sender       *sender,
		     const struct copy_target *target);
/** Part of that, by the sender's thread: sets cs_to and the plan. */
int copy_sender_meet(struct copy_sender *sender);
/**
 * To a receiver elsewhere says that we are there, and again what it has not
 * answered. To be called each tool_port_alive_ns(); never waits.
 */
void copy_sender_tick(struct copy_sender *sender);
void copy_sender_stop(struct copy_sender *sender);
/** Pre: stopped. */
void copy_sender_close(struct copy_sender *sender);

/** Nanoseconds that the last steps took. */
struct copy_phases {
	m0_time_t cph_verify_ns;
	m0_time_t cph_sync_ns;
};

struct recv_slot;

struct copy_receiver {
	struct tool_port        cr_port;
	const struct copy_plan *cr_plan;
	struct dst_file        *cr_dst;
	/** The peer, from its first message; and the peer that it must be. */
	struct m0_net_end_point *cr_from;
	const char              *cr_addr;
	struct recv_slot        *cr_slots;
	uint32_t                 cr_slots_nr;
	/** All before it is written. */
	uint64_t     cr_offset;
	struct hash *cr_hash;
	/** Checksums of the bytes that arrived, and of those read back. */
	uint8_t cr_sum[HASH_BYTES];
	uint8_t cr_sum_back[HASH_BYTES];
	/** The sender's last word. */
	struct copy_msg cr_end;
	bool            cr_ended;
	/** The file is being renamed, so the copy cannot be cancelled any
	 * more. Locked. */
	bool cr_committing;
	/** The file has its name, and that is on disk. */
	bool cr_committed;
	/** Ends a long reading back. */
	bool cr_cancelled;
	/** Our END_REPLY, whether it was sent, and when END came last. */
	struct copy_msg cr_last;
	bool            cr_last_said;
	m0_time_t       cr_last_asked;
	/** BYE was received: the sender has END_REPLY. */
	bool               cr_bye;
	struct copy_phases cr_phases;
};

/**
 * @param from  address of the sender; NULL: any.
 */
int copy_receiver_open(struct copy_receiver   *receiver,
		       const struct copy_plan *plan, struct dst_file *dst,
		       const char *from, int done_fd);
int copy_receiver_run(struct copy_receiver *receiver);
/** Sends ALIVE to a sender in another process if it is due, as copy_sender_tick(). */
void copy_receiver_tick(struct copy_receiver *receiver);
/** Calls the copy off, unless it is past that. Any thread. */
void copy_receiver_cancel(struct copy_receiver *receiver);
void copy_receiver_stop(struct copy_receiver *receiver);
/** Pre: stopped. */
void copy_receiver_close(struct copy_receiver *receiver);

#endif /* M0_TOOLS_COPY_ROLE_H */
