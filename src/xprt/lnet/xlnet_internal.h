/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The LNet transport: what its files share.
 *
 * Files, each of which calls only those before it:
 *   xlnet_addr.c     addresses
 *   xlnet_md.c       MDs and entries of a TM
 *   catch.c          messages that no receive buffer takes
 *   xlnet_msg.c      messages
 *   passive.c        the passive side of bulk
 *   active.c         the active side of bulk
 *   xlnet_visit.c    events of MDs
 *   xlnet_mem.c      memory of buffers
 *   xlnet_node.c     nodes, which xlnet_mem.c goes through
 *   xlnet_default.c  the default node
 *   xlnet_place.c    places of TMs on nodes, start and stop
 *   xlnet_run.c      threads of TMs, polls
 *   xlnet.c          the table
 *
 * Each MD of ours names in mda_user what it is for (struct xlnet_md). Events
 * come on the node's thread, which takes the machine's lock for them
 * (m0_net_kit_enter); everything of a machine and its buffers here is under
 * that lock. An MD's last event releases its memory, and only then the transport
 * reports the end of a buffer to the kit.
 *
 * Match bits: a machine's number in the upper 12, in the lower 52 bits 0 for
 * messages and an identity for a passive buffer (xlnet_bits).
 */
#ifndef M0_SRC_XPRT_LNET_XLNET_INTERNAL_H
#define M0_SRC_XPRT_LNET_XLNET_INTERNAL_H

#include "m0/lnet_run.h"
#include "m0/net_xprt.h"
#include "m0/xlnet.h"

enum {
	XLNET_TMID_SHIFT = 52,
	XLNET_PORTALS_NR = 64,
	/** Any number will do; of addresses for start alone. */
	XLNET_TMID_ANY = 0xffff,
	/** Most of a message, and of a piece of bulk. */
	XLNET_PIECE = M0_LNET_MTU,
	/** Pieces of one operation that are moving. */
	XLNET_WINDOW = 2,
	/** How often pieces that a lost path took with it are moved again. */
	XLNET_AGAIN_MAX = 2,
	/** Shortest buffer of one piece whose transfer is confirmed. */
	XLNET_CONFIRM_MIN = 64 << 10,
	XLNET_STAGES_NR = 2
};
#define XLNET_BITS_MASK ((UINT64_C(1) << XLNET_TMID_SHIFT) - 1)
/** In the identity of a passive buffer: its node has several NIs. */
#define XLNET_HAS_RAILS (UINT64_C(1) << (XLNET_TMID_SHIFT - 1))
/** In hdr_data of a PUT: a last one will confirm the transfer. */
#define XLNET_WILL_CONFIRM UINT32_C(0x80000000)

/* -- xlnet_addr.c ---------------------------------------------------------- */

struct xlnet_addr {
	struct m0_lnet_nid xa_nid;
	uint32_t           xa_portal;
	uint32_t           xa_tmid;
};

int  m0_xlnet__addr_parse(const char *text, struct m0_net_kit_addr *ret);
int  m0_xlnet__wanted_parse(const char *text, struct m0_net_kit_addr *ret);
void m0_xlnet__addr_print(const struct m0_net_kit_addr *addr, char *ret);
void m0_xlnet__addr_pack(const struct xlnet_addr *addr,
			 struct m0_net_kit_addr  *ret);
/** The bytes may come from a peer. @retval -EINVAL */
int m0_xlnet__addr_unpack(const struct m0_net_kit_addr *addr,
			  struct xlnet_addr            *ret);

/* -- MDs ------------------------------------------------------------------- */

enum xlnet_kind {
	XLNET_NONE,
	XLNET_CATCH,
	XLNET_STAGE,
	XLNET_RECV,
	XLNET_SEND,
	XLNET_PASSIVE,
	XLNET_ACTIVE
};

/** mda_user of an MD. */
struct xlnet_md {
	enum xlnet_kind            xd_kind;
	struct m0_lnet_handle      xd_md;
	struct m0_net_kit_machine *xd_machine;
	/** NULL: the machine's own. */
	struct m0_net_kit_buf *xd_kb;
};

struct xlnet_stage;

/** The transport's part of an end point: its identity in messages to and from it. */
struct xlnet_ep {
	/** How to send to it; lo_portal 0: not made yet. */
	struct m0_lnet_op xe_op;
	/** hdr_data of what it sends. */
	uint64_t xe_hdr_data;
};

/** A machine's part. */
struct xlnet_machine {
	struct m0_net_kit_machine *xm_machine;
	/** NULL: the TM is on no node. */
	struct xlnet_node     *xm_node;
	struct m0_list_link    xm_link;
	struct m0_lnet_runner  xm_runner;
	bool                   xm_has_runner;
	struct xlnet_addr      xm_addr;
	struct m0_net_kit_addr xm_kit_addr;
	/** The entry of all receive buffers. */
	struct m0_lnet_handle xm_queue;
	/** Takes what no receive buffer does. */
	struct xlnet_md xm_catch;
	/** NULL: the TM has no pool. */
	struct xlnet_stage *xm_stages[XLNET_STAGES_NR];
	bool                xm_stopping;
	/** Atomic: the daemon of its node has ended, and all its entries with it. */
	bool xm_has_lost;
};

/** A buffer's part. */
/** A range of memory that is registered with the nodes. */
struct xlnet_span {
	void  *xsp_addr;
	size_t xsp_bytes;
};

struct xlnet_buf {
	struct xlnet_md xb_md;
	/** Ranges of the segments at the time of the registration. */
	struct xlnet_span *xb_spans;
	uint32_t           xb_spans_nr;
	/** Status with which the buffer is to end. */
	int32_t xb_status;
	/** The MD is being unlinked. */
	bool xb_ends;
	/** Active: the add that was cancelled before it had begun; it may have
	 * ended without. */
	uint64_t xb_cancelled;
	/** Passive: what it waits for; active: what it moves. */
	uint64_t          xb_bits;
	struct xlnet_addr xb_peer;
	bool              xb_is_get;
	/** MSG_RECV: bytes that were used before the MD. */
	m0_bcount_t xb_next;
	/** Active: bytes to be moved, and that have been. Passive: of the xb_total of
	 * transfer xb_transfer, pieces that have come or were fetched. */
	m0_bcount_t xb_total;
	m0_bcount_t xb_moved;
	uint32_t    xb_transfer;
	uint32_t    xb_pieces;
	/** A confirmation ends the transfer. */
	bool xb_confirms;
	/** Passive: a piece was lost: only the first begins anew. */
	bool xb_broken;
	/** Passive: all pieces are there. */
	bool xb_all;
	/** Active: the confirmation is still to be sent. */
	bool xb_end_due;
	/** The confirmation is sent again. */
	bool xb_end_again;
	/** Active: the MD is being unlinked, another one follows. */
	bool xb_rests;
	/** Active: how many MDs have followed the first. */
	uint8_t xb_tries_nr;
	/** Active: bytes of the first piece. */
	uint32_t xb_first;
	/** Active: bits of pieces that are to be moved, that are moving, and that are
	 * to be moved again. */
	uint32_t xb_todo;
	uint32_t xb_moving;
	uint32_t xb_again;
	uint32_t xb_moving_nr;
};

static inline struct xlnet_machine *xlnet_machine(
	struct m0_net_kit_machine *machine)
{
	return m0_net_kit_machine_pvt(machine);
}

static inline struct xlnet_buf *xlnet_buf(struct m0_net_kit_buf *kb)
{
	return m0_net_kit_buf_pvt(kb);
}

/** For preconditions: the calling thread holds the lock of the TM. */
static inline bool xlnet_is_locked(const struct m0_net_kit_machine *machine)
{
	return m0_mutex_is_locked(&m0_net_kit_machine_tm(machine)->ntm_mutex);
}

/** Return the node of a TM, and of the TM of a buffer. */
struct m0_lnet *m0_xlnet__machine_lnet(const struct xlnet_machine *xm);
struct m0_lnet *m0_xlnet__lnet(const struct m0_net_kit_buf *kb);
/** Ends the MD of a buffer, with `status` unless it ends already. */
void m0_xlnet__end(struct xlnet_buf *xb, int32_t status);
/** Attaches an entry for messages, and an MD to it. */
int m0_xlnet__attach(struct xlnet_machine *xm, const struct m0_lnet_me_attr *me,
		     struct m0_lnet_md_attr *attr, struct xlnet_md *xd);
/** Attach and unlink the entry of a TM's receive buffers; add an MD to it. */
int  m0_xlnet__queue_begin(struct xlnet_machine *xm);
void m0_xlnet__queue_end(struct xlnet_machine *xm);
int  m0_xlnet__queue_add(struct xlnet_machine *xm, struct m0_lnet_md_attr *attr,
			 struct xlnet_md *xd);
/** Fills the attributes of an entry for messages from any sender. */
void m0_xlnet__me_any(const struct xlnet_machine *xm,
		      struct m0_lnet_me_attr     *ret);
/** Binds an MD and starts its first PUT or GET. */
int m0_xlnet__bind(struct xlnet_machine *xm, struct m0_lnet_md_attr *attr,
		   const struct m0_lnet_op *op, bool is_get,
		   struct xlnet_md *xd);
/** Fills the parts of an operation from the TM to `to` that are the same. */
void m0_xlnet__op(const struct xlnet_machine *xm, const struct xlnet_addr *to,
		  uint64_t bits, struct m0_lnet_op *ret);
static inline uint64_t xlnet_msg_bits(uint32_t tmid)
{
	return (uint64_t)tmid << XLNET_TMID_SHIFT;
}
/**
 * Match bits of a passive buffer: what its descriptor says of it, in short, so
 * that one of another life of the process, or for another initiator, finds
 * nothing.
 */
uint64_t m0_xlnet__bits(const struct m0_net_kit_desc *desc);
/** Does the node of the TM have several NIs? */
bool m0_xlnet__has_rails(const struct xlnet_machine *xm);
/**
 * Does the passive buffer wait for a confirmation, whatever the other side is? With
 * several NIs a message may be lost that its sender has reported as sent.
 */
static inline bool xlnet_desc_confirms(const struct m0_net_kit_desc *desc)
{
	return (desc->nks_id & XLNET_HAS_RAILS) != 0 &&
	       desc->nks_size >= XLNET_CONFIRM_MIN;
}

/* -- xlnet_node.c ---------------------------------------------------------- */

struct xlnet_node {
	struct m0_list_link xn_link;
	struct m0_lnet     *xn_lnet;
	struct m0_lnet_eq   xn_eq;
	/** Attached: ends the TMs when the daemon has ended the attachment. */
	struct m0_lnet_runner xn_runner;
	/** TMs that have a place on it. */
	struct m0_list xn_machines;
	/** TMs that refer to it. */
	uint32_t xn_users_nr;
	/** The transport opened it. */
	bool xn_is_default;
	/** Its daemon has ended for good, so memory is neither registered nor deregistered; closing
	 * the node deregisters what is left. Under m0_xlnet__lock. */
	bool xn_has_no_memory;
	/** For the node's thread: the TM that it visits; NULL: none. */
	struct m0_net_kit_machine *xn_visited;
	struct m0_net_kit_visit    xn_visit;
	unsigned                   xn_visit_nr;
};

/** Guards the list of nodes and their places; the innermost of all locks. */
extern struct m0_mutex m0_xlnet__lock;

struct xlnet_node *m0_xlnet__node_make(struct m0_lnet *lnet);
/** @retval -EEXIST  the list has a node of this m0_lnet. */
int m0_xlnet__node_add(struct xlnet_node *node);
/** Returns the node after this one, the first for NULL. m0_xlnet__lock held. */
struct xlnet_node *m0_xlnet__node_next(const struct xlnet_node *node);
/** Is one of them attached to a daemon's? Takes m0_xlnet__lock. */
bool m0_xlnet__node_is_attached(void);
/** Pre: the node is not on the list any more. */
void m0_xlnet__node_free(struct xlnet_node *node);
/** m0_xlnet__lock is held. */
bool m0_xlnet__nodes_are_empty(void);
/**
 * Takes the default node off the list; NULL: there is none. m0_xlnet__lock is
 * held.
 */
struct xlnet_node *m0_xlnet__node_take_default(void);
/** Finds the node of a TM and refers to it. */
int m0_xlnet__node_get(struct xlnet_machine         *xm,
		       const struct m0_net_kit_addr *wanted);
/**
 * Drops the reference of a TM. The node may go then; polls of the TM, which may
 * still come, find none.
 */
void m0_xlnet__node_put(struct xlnet_machine *xm);

/* -- xlnet_mem.c ----------------------------------------------------------- */

/** Registers the memory of a buffer with all nodes. */
int  m0_xlnet__mem_register(struct m0_net_kit_buf *kb);
void m0_xlnet__mem_deregister(struct m0_net_kit_buf *kb);
/** Registers the memory of all buffers with a new node. m0_xlnet__lock held. */
int  m0_xlnet__mem_node_enter(struct m0_lnet *lnet);
void m0_xlnet__mem_node_leave(struct m0_lnet *lnet);

/* -- xlnet_visit.c: callbacks of a node's event queue ---------------------- */

void m0_xlnet__event(struct m0_lnet_eq *eq, const struct m0_lnet_event *ev);
/** Leaves the TM that the thread visits. */
void m0_xlnet__events_end(struct m0_lnet_eq *eq);

/* -- xlnet_default.c ------------------------------------------------------- */

int  m0_xlnet__nodes_get(void);
void m0_xlnet__nodes_put(void);

/* -- xlnet_place.c --------------------------------------------------------- */

int  m0_xlnet__start(struct m0_net_kit_machine    *machine,
		     const struct m0_net_kit_addr *wanted,
		     struct m0_net_kit_addr       *ret_own);
void m0_xlnet__stop(struct m0_net_kit_machine *machine);
void m0_xlnet__leave(struct m0_net_kit_machine *machine);

/* -- xlnet_run.c ----------------------------------------------------------- */

const struct m0_net_kit_runner *m0_xlnet__runner(
	struct m0_net_kit_machine    *machine,
	const struct m0_net_kit_addr *wanted);
bool m0_xlnet__poll(struct m0_net_kit_machine *machine, bool unattended);
void m0_xlnet__push(struct m0_net_kit_machine *machine);
int  m0_xlnet__poll_fd(struct m0_net_kit_machine *machine);

/* -- catch.c: ntm_mutex is held -------------------------------------------- */

/** Pins the machine until all of it has ended. */
int m0_xlnet__catch_begin(struct xlnet_machine *xm);
/** Before it: makes what needs no lock, and may wait. m0_xlnet__catch_free() undoes it. */
int  m0_xlnet__catch_make(struct xlnet_machine *xm);
void m0_xlnet__catch_end(struct xlnet_machine *xm);
/** Without ntm_mutex. */
void m0_xlnet__catch_free(struct xlnet_machine *xm);
void m0_xlnet__catch_event(struct xlnet_machine       *xm,
			   const struct m0_lnet_event *ev);
void m0_xlnet__stage_event(struct xlnet_machine *xm, struct xlnet_md *xd,
			   const struct m0_lnet_event *ev);

/* -- xlnet_msg.c, passive.c, active.c: ntm_mutex is held, but for m0_xlnet__bulk  */

void m0_xlnet__send(struct m0_net_kit_buf *kb);
int  m0_xlnet__recv(struct m0_net_kit_buf *kb);
void m0_xlnet__recv_cancel(struct m0_net_kit_buf *kb);
void m0_xlnet__send_event(struct xlnet_buf *xb, const struct m0_lnet_event *ev);
void m0_xlnet__recv_event(struct xlnet_buf *xb, const struct m0_lnet_event *ev);
/** Finds the sender of a message. @retval -EPROTO  none is named. */
int      m0_xlnet__sender(const struct m0_lnet_event *ev,
			  struct m0_net_kit_addr     *ret);
uint64_t m0_xlnet__passive_id(struct m0_net_kit_buf *kb);
int      m0_xlnet__passive(struct m0_net_kit_buf        *kb,
			   const struct m0_net_kit_desc *desc);
void     m0_xlnet__passive_event(struct xlnet_buf           *xb,
				 const struct m0_lnet_event *ev);
void     m0_xlnet__bulk(struct m0_net_kit_buf        *kb,
			const struct m0_net_kit_desc *desc);
void     m0_xlnet__active_event(struct xlnet_buf           *xb,
				const struct m0_lnet_event *ev);

#endif /* M0_SRC_XPRT_LNET_XLNET_INTERNAL_H */
