/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * The client's half of an update stream: numbers, window, resends,
 * acknowledgements. A state machine without time and without I/O; its owner,
 * the RPC machine, calls it from one thread and passes `now`.
 *
 * A number (xid) is given when a request goes into a packet for the first time,
 * from 1 and without gaps, so what was cancelled before never had one. What
 * was cancelled or gave up after that leaves its number behind, which must be
 * filled: a SKIP of that number is sent until the server has answered it,
 * whichever of the two it finds.
 *
 * Use. After every call below that has `now`, ask m0_rpc_cstream_step() until
 * it says NONE, then arm the stream's timer at m0_rpc_cstream_due() if that is
 * earlier than it is armed; when it fires, step again.
 *  - an item goes into a packet: m0_rpc_cstream_take(), its numbers go into
 *    the item's header;
 *  - CONTROL: put the stream's one header-only item into the formation, urgent;
 *    when it goes into a packet, m0_rpc_cstream_control() says what it is;
 *  - the time of an item is up, or it is cancelled: m0_rpc_cstream_drop();
 *  - the server is gone (another incarnation, or it asks for an establish):
 *    m0_rpc_cstream_suspend(); formation of this stream's items is held; what
 *    is in it stays there. Then, with the answer of the session's establish,
 *    m0_rpc_cstream_resume(), or _reset() if the session is unknown there.
 *
 * A reset begins the numbers again at 1. So that nothing of before can be
 * taken for something of after, the session must have a number of its own
 * then, never used before by this incarnation of the client.
 *
 * Seed 002, "Sessions".
 */
#ifndef M0_SRC_RPC_CORE_CSTREAM_H
#define M0_SRC_RPC_CORE_CSTREAM_H

#include "m0/base.h"

enum {
	/** An acknowledgement with nothing to ride on is sent so often, with
	 * back-off: nobody answers it, and what is lost costs the server only
	 * the memory of a window. */
	M0_RPC_CSTREAM_ACKS = 3
};

/** State of an item that belongs to the stream; embedded in the item. The owner
 * sets the first three fields before the post. */
struct m0_rpc_citem {
	/** First resend after this. */
	m0_time_t rci_resend_ns;
	/** Times it may be sent; at least 1. */
	uint64_t rci_sent_max;
	/** The owner's. */
	void               *rci_owner;
	uint64_t            rci_xid;
	uint32_t            rci_state;
	struct m0_list_link rci_link;
};

/** State of a number that is not yet below the window. */
struct m0_rpc_cslot {
	/** NULL: it ended without this; the number is to be filled. */
	struct m0_rpc_citem *csl_item;
	m0_time_t            csl_due;
	m0_time_t            csl_wait_ns;
	uint64_t             csl_sent_nr;
	uint32_t             csl_state;
};

struct m0_rpc_cstream_cfg {
	/** Slots reserved: the window that is asked for. */
	uint32_t scc_window_max;
	/** Bound of the doubled resend interval. */
	m0_time_t scc_resend_max_ns;
	/** Interval of a SKIP's resends, first; the bound is the same. */
	m0_time_t scc_skip_ns;
	/** An acknowledgement waits so long for a request to ride on. */
	m0_time_t scc_ack_ns;
};

struct m0_rpc_cstream {
	struct m0_rpc_cstream_cfg rcs_cfg;
	/** Granted; 0: not established yet. */
	uint32_t rcs_window;
	bool     rcs_active;
	/** CONTROL was said, control() not yet called. */
	bool rcs_control;
	/** All below it are answered: what is sent as the ack. */
	uint64_t rcs_low;
	/** The next number. */
	uint64_t rcs_next;
	/** Said FORM, without a number yet. */
	uint32_t rcs_open;
	/** The ack alone: how often yet, when, and the wait before. */
	uint32_t  rcs_acks_left;
	m0_time_t rcs_ack_due;
	m0_time_t rcs_ack_wait_ns;
	/** No slot is due before. */
	m0_time_t rcs_slots_due;
	/** Numbers to be filled whose SKIP has to leave now. */
	uint32_t rcs_skips_due;
	/** Beyond the window, as posted; said FORM, without a number yet; and
	 * those that ended -ESTALE. */
	struct m0_list       rcs_queue;
	struct m0_list       rcs_formed;
	struct m0_list       rcs_stale;
	struct m0_rpc_cslot *rcs_slot;
};

/** Action for an item or (CONTROL) for the stream. */
enum m0_rpc_ctodo {
	M0_RPC_CT_NONE = 0,
	/** The item is within the window: put it into the formation, in this
	 * order, because items are numbered as they are taken. */
	M0_RPC_CT_FORM,
	/** No answer came: put it into the formation again, urgent. */
	M0_RPC_CT_RESEND,
	/** The item was sent as often as it may be: it ends with -ETIMEDOUT and
	 * leaves the stream. */
	M0_RPC_CT_GIVE_UP,
	/** A server that has forgotten the item may have executed it: it ends
	 * with -ESTALE, also if it is in the formation, and leaves the
	 * stream. */
	M0_RPC_CT_STALE,
	/** The stream's own item has to go. */
	M0_RPC_CT_CONTROL,
	/** Take it out of the formation: a reset has left a smaller window.
	 * FORM follows when there is room. */
	M0_RPC_CT_UNFORM
};

/** Fields of an item's header. */
struct m0_rpc_cmark {
	uint64_t rck_xid;
	uint64_t rck_ack;
	/** Sent before. */
	bool rck_dup;
	/** Only by m0_rpc_cstream_control(): fill rck_xid. If not, rck_xid is 0
	 * and it carries the ack alone. */
	bool rck_skip;
};

/** Meaning of a reply for the client. */
enum m0_rpc_creply {
	/** The reply of this item: it ends with the reply, leaves the stream,
	 * and leaves the formation if it is there. */
	M0_RPC_CR_ITEM = 0,
	/** Fills a number that nobody waits for. */
	M0_RPC_CR_SKIP,
	/** A number never sent or answered already. */
	M0_RPC_CR_STRAY
};

/** Outcome of a drop. */
enum m0_rpc_cdrop {
	/** Never had a number: it was not executed. */
	M0_RPC_CD_UNSENT = 0,
	/** Has been sent: it may be executed or have been, at most once. */
	M0_RPC_CD_SENT
};

/** Not active; items may be posted. @retval -ENOMEM */
int m0_rpc_cstream_init(struct m0_rpc_cstream           *stream,
			const struct m0_rpc_cstream_cfg *cfg);
/** Pre: no items, see m0_rpc_cstream_pop(). */
void m0_rpc_cstream_fini(struct m0_rpc_cstream *stream);

void m0_rpc_citem_init(struct m0_rpc_citem *item);

/** Last in the stream. Pre: in none. */
void              m0_rpc_cstream_post(struct m0_rpc_cstream *stream,
				      struct m0_rpc_citem *item, m0_time_t now);
enum m0_rpc_ctodo m0_rpc_cstream_step(struct m0_rpc_cstream *stream,
				      m0_time_t              now,
				      struct m0_rpc_citem  **ret_item);
/** When to step though nothing happens; M0_TIME_NEVER. May be too early. */
m0_time_t m0_rpc_cstream_due(const struct m0_rpc_cstream *stream);

/** The item goes into a packet now. Pre: active; step said FORM or RESEND of
 * it since it was taken last. */
void m0_rpc_cstream_take(struct m0_rpc_cstream *stream,
			 struct m0_rpc_citem *item, m0_time_t now,
			 struct m0_rpc_cmark *ret);
/** The stream's own item goes into a packet now: a number to fill, or if there
 * is none (any more) the ack. More may follow by step. Pre: active. */
void m0_rpc_cstream_control(struct m0_rpc_cstream *stream, m0_time_t now,
			    struct m0_rpc_cmark *ret);

/** A reply came, of any outcome. @param ret_item  for CR_ITEM. */
enum m0_rpc_creply m0_rpc_cstream_replied(struct m0_rpc_cstream *stream,
					  uint64_t xid, m0_time_t now,
					  struct m0_rpc_citem **ret_item);
/** Cancelled, or its time is up; the stream knows it no more. Pre: it is in
 * the stream. */
enum m0_rpc_cdrop m0_rpc_cstream_drop(struct m0_rpc_cstream *stream,
				      struct m0_rpc_citem *item, m0_time_t now);

/** The way on which it was sent last is gone: step says RESEND of it now,
 * unless it may not be sent again. No-op if it was not sent. */
void m0_rpc_cstream_hasten(struct m0_rpc_cstream *stream,
			   struct m0_rpc_citem *item, m0_time_t now);

/** Does `next` directly follow `item`, and has neither a number yet? Then `next`
 * may be dropped and travel in `item`: nothing stands between them. */
bool m0_rpc_cstream_follows(const struct m0_rpc_cstream *stream,
			    const struct m0_rpc_citem   *item,
			    const struct m0_rpc_citem   *next);

/** Nothing of it leaves until resume or reset. */
void m0_rpc_cstream_suspend(struct m0_rpc_cstream *stream);
/**
 * The server has the session, also for the first time.
 * @param last    the last number it has finished.
 * @param window  granted; what is above cfg's is not used. Once it is set it
 *                stays.
 * @retval -ESTALE  it has finished numbers that were never sent: this is not
 *                  the stream it was. Nothing has changed: reset.
 * @retval -EPROTO  no window. Nothing has changed.
 */
int m0_rpc_cstream_resume(struct m0_rpc_cstream *stream, uint64_t last,
			  uint32_t window, m0_time_t now);
/** The server has forgotten: what had a number is stale, what had none goes
 * on, in a session with another number. @retval -EPROTO  no window. */
int m0_rpc_cstream_reset(struct m0_rpc_cstream *stream, uint32_t window,
			 m0_time_t now);
/** Takes an item out, to end the stream: in the order of posts, numbered ones
 * first; NULL: there is none. */
struct m0_rpc_citem *m0_rpc_cstream_pop(struct m0_rpc_cstream *stream);

/** No item is in it and no number open: it can be terminated. */
bool m0_rpc_cstream_is_idle(const struct m0_rpc_cstream *stream);

#endif /* M0_SRC_RPC_CORE_CSTREAM_H */
