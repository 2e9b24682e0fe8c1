/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "copy_role.h"
#include "../base/text.h"

enum {
	/**
	 * Blocks offered again at a time: they share the wire with the bytes of
	 * the blocks, which on a slow one take longer than an answer may.
	 */
	AGAIN_MAX = 8,
	/** Events for which a slot waits before it is free. */
	WAIT_READ = 1 << 0,
	WAIT_REPLY = 1 << 1
};

struct send_slot {
	struct m0_net_buffer ss_nb;
	struct copy_sender  *ss_sender;
	/** WAIT_*; 0: free. Under the port's lock. */
	unsigned ss_waits;
	/** When the block was offered last; 0: not yet. Locked. */
	m0_time_t ss_offered;
	uint64_t  ss_offset;
	uint64_t  ss_length;
};

/* One of the things that the slot waited for has come. */
static void slot_step(struct send_slot *slot, unsigned wait)
{
	struct copy_sender *sender = slot->ss_sender;

	if (slot->ss_waits == 0)
		return;
	tool_port_moved(&sender->cs_port);
	slot->ss_waits &= ~wait;
	if (slot->ss_waits != 0)
		return;
	sender->cs_bytes += slot->ss_length;
	--sender->cs_busy_nr;
	m0_cond_broadcast(&sender->cs_port.tpo_cond);
}

/* The peer has pulled the block, or never will. */
static void block_read(const struct m0_net_buffer_event *ev)
{
	struct send_slot *slot =
		container_of(ev->nbe_buffer, struct send_slot, ss_nb);
	struct tool_port *port = &slot->ss_sender->cs_port;
	int               rc = ev->nbe_status;

	slot->ss_nb.nb_ep = NULL;
	m0_mutex_lock(&port->tpo_lock);
	if (rc != 0 && rc != -ECANCELED)
		tool_port_fail(port, rc,
			       "sender: a block of %" PRIu64
			       " bytes was not moved: %s",
			       slot->ss_length, tool_errtext(rc));
	slot_step(slot, WAIT_READ);
	m0_mutex_unlock(&port->tpo_lock);
}

static const struct m0_net_buffer_callbacks block_callbacks = {
	.nbc_cb = { [M0_NET_QT_PASSIVE_BULK_SEND] = block_read }
};

/* A reply that comes again finds its slot free, or with a later block. */
static void block_replied(struct copy_sender    *sender,
			  const struct copy_msg *msg)
{
	struct send_slot *slot = NULL;

	if (msg->cm_id < sender->cs_slots_nr)
		slot = &sender->cs_slots[msg->cm_id];
	if (slot == NULL || msg->cm_offset >= sender->cs_offered)
		tool_port_fail(&sender->cs_port, -EPROTO,
			       "sender: a reply "
			       "came for block slot %u, which waits for none",
			       msg->cm_id);
	else if ((slot->ss_waits & WAIT_REPLY) &&
		 slot->ss_offset == msg->cm_offset)
		slot_step(slot, WAIT_REPLY);
}

/* A text of the other side, for people: nothing that moves a cursor. */
static void text_keep(char *ret, const struct copy_msg *msg)
{
	memcpy(ret, msg->cm_text, msg->cm_text_nr);
	ret[msg->cm_text_nr] = '\0';
	text_make_printable(ret);
}

static void end_replied(struct copy_sender *sender, const struct copy_msg *msg)
{
	struct tool_port *port = &sender->cs_port;
	char              text[COPY_TEXT_MAX + 1];

	if (sender->cs_ended)
		return;
	tool_port_moved(port);
	text_keep(text, msg);
	sender->cs_end = *msg;
	sender->cs_end.cm_text = NULL;
	sender->cs_ended = true;
	sender->cs_peer_failed = msg->cm_status != 0 && port->tpo_rc == 0;
	if (sender->cs_peer_failed)
		tool_port_fail(port, msg->cm_status, "the receiver gave up: %s",
			       text[0] != '\0' ? text
					       : tool_errtext(msg->cm_status));
}

/* The answer does not change any more, so it is read without the lock. */
static void open_replied(struct copy_sender *sender, const struct copy_msg *msg)
{
	if (sender->cs_call.tca_answered)
		return;
	tool_port_moved(&sender->cs_port);
	text_keep(sender->cs_addr, msg);
	sender->cs_open = *msg;
	sender->cs_call.tca_status = msg->cm_status;
	sender->cs_call.tca_answered = true;
}

/* Is it of this copy? */
static bool peer_check(const struct copy_sender      *sender,
		       const struct m0_net_end_point *from,
		       const struct copy_msg         *msg)
{
	if (msg->cm_conv != sender->cs_port.tpo_conv)
		return false;
	return sender->cs_target == NULL ||
	       from == (msg->cm_type == COPY_OPEN_REPLY ? sender->cs_door
							: sender->cs_to);
}

/* Locked. */
static void msg_dispatch(struct copy_sender *sender, const struct copy_msg *msg)
{
	if (msg->cm_type == COPY_BLOCK_REPLY)
		block_replied(sender, msg);
	else if (msg->cm_type == COPY_END_REPLY)
		end_replied(sender, msg);
	else if (msg->cm_type == COPY_OPEN_REPLY && sender->cs_target != NULL)
		open_replied(sender, msg);
	else if (msg->cm_type == COPY_ALIVE && (msg->cm_flags & COPY_FLAG_BUSY))
		tool_port_moved(&sender->cs_port);
	else if (msg->cm_type != COPY_ALIVE)
		tool_port_fail(&sender->cs_port, -EPROTO,
			       "sender: a message of type %d "
			       "is out of place",
			       (int)msg->cm_type);
}

static bool sender_msg(struct tool_port *port, struct m0_net_end_point *from,
		       const struct copy_msg *msg)
{
	struct copy_sender *sender =
		container_of(port, struct copy_sender, cs_port);
	struct m0_net_buf_desc desc = msg->cm_desc;
	bool                   ours;

	m0_mutex_lock(&port->tpo_lock);
	ours = peer_check(sender, from, msg);
	if (ours)
		msg_dispatch(sender, msg);
	m0_cond_broadcast(&port->tpo_cond);
	m0_mutex_unlock(&port->tpo_lock);
	m0_net_desc_free(&desc);
	return ours;
}

static void sender_alien(struct tool_port *port, struct m0_net_end_point *from,
			 const struct copy_msg *msg)
{
	struct copy_sender *sender =
		container_of(port, struct copy_sender, cs_port);

	m0_mutex_lock(&port->tpo_lock);
	if (sender->cs_target != NULL && from == sender->cs_door)
		tool_port_fail(port, -EPROTONOSUPPORT,
			       "the receiver speaks version %u of `colibri "
			       "copy', this side version %d; use the same "
			       "release on both",
			       msg->cm_id, COPY_VERSION);
	m0_mutex_unlock(&port->tpo_lock);
}

static bool sender_take(struct tool_port *port, struct m0_net_end_point *from,
			void *bytes, size_t nr)
{
	static const struct copy_ears ears = { .cea_msg = sender_msg,
					       .cea_alien = sender_alien };

	return copy_take(&ears, port, from, bytes, nr);
}

/* Waits for a free slot; NULL if the copy has failed. */
static struct send_slot *slot_get(struct copy_sender *sender)
{
	struct tool_port *port = &sender->cs_port;
	struct send_slot *slot = NULL;
	uint32_t          i;

	m0_mutex_lock(&port->tpo_lock);
	while (port->tpo_rc == 0 && sender->cs_busy_nr == sender->cs_slots_nr)
		tool_port_wait(port);
	for (i = 0; i < sender->cs_slots_nr && port->tpo_rc == 0; ++i) {
		slot = &sender->cs_slots[i];
		if (slot->ss_waits == 0)
			break;
	}
	m0_mutex_unlock(&port->tpo_lock);
	return slot;
}

/* Reads a block; what a short file means is said here. */
static int block_fill(struct copy_sender *sender, struct send_slot *slot,
		      uint64_t off)
{
	struct src_file        *src = sender->cs_src;
	const struct m0_bufvec *bv = &slot->ss_nb.nb_buffer;
	uint64_t                left = slot->ss_length;
	uint32_t                i;
	int                     rc = src_file_read(src, bv, off, left);

	if (rc == -ENODATA)
		tool_port_fail_lock(&sender->cs_port, rc,
				    "SRC '%s' shrank "
				    "while it was read, from %" PRIu64 " bytes;"
				    " copy it when no process writes to it",
				    src->sf_path,
				    (uint64_t)src->sf_stat.st_size);
	else if (rc != 0)
		tool_port_fail_lock(&sender->cs_port, rc,
				    "SRC '%s' could not "
				    "be read at byte %" PRIu64 ": %s",
				    src->sf_path, off, tool_errtext(rc));
	for (i = 0; rc == 0 && left > 0; ++i) {
		uint64_t nr = min64u(left, bv->ov_vec.v_count[i]);

		hash_update(sender->cs_hash, bv->ov_buf[i], nr);
		left -= nr;
	}
	return rc;
}

static struct copy_msg block_msg(const struct send_slot *slot)
{
	return (struct copy_msg){
		.cm_type = COPY_BLOCK,
		.cm_id = (uint32_t)(slot - slot->ss_sender->cs_slots),
		.cm_offset = slot->ss_offset,
		.cm_length = slot->ss_length,
		.cm_desc = slot->ss_nb.nb_desc,
	};
}

/* The slot is taken: later messages with its id are about this block. */
static void slot_take(struct send_slot *slot, uint64_t off)
{
	struct copy_sender *sender = slot->ss_sender;
	struct tool_port   *port = &sender->cs_port;

	m0_mutex_lock(&port->tpo_lock);
	m0_net_desc_free(&slot->ss_nb.nb_desc);
	slot->ss_waits = WAIT_READ | WAIT_REPLY;
	slot->ss_offset = off;
	slot->ss_offered = 0;
	sender->cs_offered = off + slot->ss_length;
	++sender->cs_busy_nr;
	tool_port_moved(port);
	m0_mutex_unlock(&port->tpo_lock);
}

/*
 * Offers a block that was read to the peer. The descriptor stays until the slot
 * is taken again: it may be offered again after it was used.
 */
static int block_offer(struct copy_sender *sender, struct send_slot *slot,
		       uint64_t off)
{
	struct tool_port     *port = &sender->cs_port;
	struct m0_net_buffer *nb = &slot->ss_nb;
	struct copy_msg       msg;
	int                   rc;

	slot_take(slot, off);
	nb->nb_length = slot->ss_length;
	nb->nb_ep = sender->cs_to;
	rc = m0_net_buffer_add(nb, &port->tpo_node.tn_tm);
	if (rc != 0) {
		tool_port_fail_lock(port, rc,
				    "sender: a block was not "
				    "offered: %s",
				    tool_errtext(rc));
		return rc;
	}
	m0_mutex_lock(&port->tpo_lock);
	slot->ss_offered = m0_time_now();
	msg = block_msg(slot);
	m0_mutex_unlock(&port->tpo_lock);
	return copy_send(port, sender->cs_to, &msg);
}

/* Waits until every block is written. */
static int blocks_wait(struct copy_sender *sender)
{
	struct tool_port *port = &sender->cs_port;
	int               rc;

	m0_mutex_lock(&port->tpo_lock);
	while (port->tpo_rc == 0 && sender->cs_busy_nr > 0)
		tool_port_wait(port);
	rc = port->tpo_rc;
	m0_mutex_unlock(&port->tpo_lock);
	return rc;
}

static int send_blocks(struct copy_sender *sender)
{
	uint64_t size = (uint64_t)sender->cs_src->sf_stat.st_size;
	uint64_t off = 0;

	while (off < size) {
		struct send_slot *slot = slot_get(sender);
		int               rc;

		if (slot == NULL)
			return tool_port_rc(&sender->cs_port);
		slot->ss_length = min64u(sender->cs_plan.cpl_block, size - off);
		rc = block_fill(sender, slot, off);
		if (rc == 0)
			rc = block_offer(sender, slot, off);
		if (rc != 0)
			return rc;
		off += slot->ss_length;
	}
	return blocks_wait(sender);
}

/* All was read: was it one state of the file? */
static int source_check(struct copy_sender *sender)
{
	struct src_file *src = sender->cs_src;
	int              rc = src_file_check(src);

	if (rc == -ESTALE)
		tool_port_fail_lock(
			&sender->cs_port, rc,
			"SRC '%s' changed "
			"while it was read; copy it when no process "
			"writes to it",
			src->sf_path);
	else if (rc != 0)
		tool_port_fail_lock(&sender->cs_port, rc, "SRC '%s': %s",
				    src->sf_path, tool_errtext(rc));
	return rc;
}

/* Sends END: all was sent, or (by its status) the copy is called off. */
static void send_end(struct copy_sender *sender, int status)
{
	struct tool_port *port = &sender->cs_port;
	struct copy_msg   msg = {
		  .cm_type = COPY_END,
		  .cm_status = status,
		  .cm_length = (uint64_t)sender->cs_src->sf_stat.st_size,
		  .cm_mode = sender->cs_src->sf_stat.st_mode & 0777,
	};

	memcpy(msg.cm_sum, sender->cs_sum, HASH_BYTES);
	m0_mutex_lock(&port->tpo_lock);
	if (status == 0)
		status = port->tpo_rc;
	msg.cm_status = status;
	sender->cs_ending = status == 0;
	sender->cs_last = msg;
	sender->cs_last_at = m0_time_now();
	tool_port_moved(port);
	m0_mutex_unlock(&port->tpo_lock);
	(void)copy_send(port, sender->cs_to, &msg);
}

/* Waits for the receiver's last word: a failure here does not end that. */
static void end_wait(struct copy_sender *sender)
{
	struct tool_port *port = &sender->cs_port;
	m0_time_t         limit = M0_TIME_NEVER;
	bool              wait = true;

	m0_mutex_lock(&port->tpo_lock);
	while (port->tpo_rc == 0 && !sender->cs_ended)
		tool_port_wait(port);
	if (port->tpo_timeout_ns != 0 && port->tpo_rc != -ETIMEDOUT)
		limit = m0_time_add(m0_time_now(), COPY_BYE_NS);
	else
		wait = false;
	while (wait && !sender->cs_ended)
		wait = m0_cond_timedwait(&port->tpo_cond, limit);
	sender->cs_committed = sender->cs_ended && sender->cs_ending &&
			       sender->cs_end.cm_status == 0;
	m0_mutex_unlock(&port->tpo_lock);
}

/* Compare the checksum of the written file with that of the source. */
static void sums_compare(struct copy_sender *sender)
{
	if (sender->cs_committed &&
	    memcmp(sender->cs_end.cm_sum, sender->cs_sum, HASH_BYTES) != 0) {
		sender->cs_committed = false;
		tool_port_fail_lock(&sender->cs_port, -EIO,
				    "the receiver confirms another checksum "
				    "than that of SRC '%s'; copy it again",
				    sender->cs_src->sf_path);
	}
}

static void send_all(struct copy_sender *sender)
{
	struct tool_port     *port = &sender->cs_port;
	const struct copy_msg bye = { .cm_type = COPY_BYE };
	int                   rc = send_blocks(sender);

	hash_value(sender->cs_hash, sender->cs_sum);
	if (rc == 0)
		rc = source_check(sender);
	send_end(sender, rc);
	end_wait(sender);
	sums_compare(sender);
	if (sender->cs_target != NULL && sender->cs_ended)
		(void)copy_send(port, sender->cs_to, &bye);
	if (sender->cs_target != NULL)
		tool_port_drain(port, COPY_BYE_NS);
}

/* Returns true if a message of this time is to be resent, having no answer. */
static bool is_due(const struct copy_sender *sender, m0_time_t said,
		   m0_time_t now)
{
	return said != 0 &&
	       now >= m0_time_add(said, tool_port_alive_ns(&sender->cs_port));
}

/* Without the lock the slot may become another block's: the copy will not. */
static bool block_again(struct copy_sender *sender, struct send_slot *slot)
{
	struct tool_port      *port = &sender->cs_port;
	m0_time_t              now = m0_time_now();
	struct m0_net_buf_desc desc = { .nbd_len = 0 };
	struct copy_msg        msg;
	bool                   due;

	m0_mutex_lock(&port->tpo_lock);
	due = port->tpo_rc == 0 && (slot->ss_waits & WAIT_REPLY) &&
	      is_due(sender, slot->ss_offered, now) &&
	      m0_net_desc_copy(&slot->ss_nb.nb_desc, &desc) == 0;
	if (due) {
		slot->ss_offered = now;
		msg = block_msg(slot);
		msg.cm_desc = desc;
	}
	m0_mutex_unlock(&port->tpo_lock);
	if (due)
		copy_reply(port, sender->cs_to, &msg);
	m0_net_desc_free(&desc);
	return due;
}

/* Each slot in its turn. */
static void blocks_again(struct copy_sender *sender, uint32_t slots_nr)
{
	uint32_t nr = 0;
	uint32_t i;

	for (i = 0; i < slots_nr && nr < AGAIN_MAX; ++i) {
		sender->cs_again = (sender->cs_again + 1) % slots_nr;
		nr += block_again(sender, &sender->cs_slots[sender->cs_again]);
	}
}

static void end_again(struct copy_sender *sender)
{
	struct tool_port *port = &sender->cs_port;
	m0_time_t         now = m0_time_now();
	struct copy_msg   msg;
	bool              due;

	m0_mutex_lock(&port->tpo_lock);
	due = !sender->cs_ended && is_due(sender, sender->cs_last_at, now);
	if (due) {
		sender->cs_last_at = now;
		msg = sender->cs_last;
	}
	m0_mutex_unlock(&port->tpo_lock);
	if (due)
		copy_reply(port, sender->cs_to, &msg);
}

void copy_sender_tick(struct copy_sender *sender)
{
	struct tool_port        *port = &sender->cs_port;
	struct m0_net_end_point *to;
	uint32_t                 slots_nr;
	bool                     busy;

	m0_mutex_lock(&port->tpo_lock);
	to = sender->cs_to;
	slots_nr = sender->cs_slots_nr;
	busy = !port->tpo_waits;
	m0_mutex_unlock(&port->tpo_lock);
	if (!copy_alive(port, to, busy))
		return;
	blocks_again(sender, slots_nr);
	end_again(sender);
}

static int slot_init(struct copy_sender *sender, struct send_slot *slot)
{
	int rc = tool_buffer_init(&slot->ss_nb,
				  &sender->cs_port.tpo_node.tn_dom,
				  sender->cs_plan.cpl_block);

	slot->ss_nb.nb_qtype = M0_NET_QT_PASSIVE_BULK_SEND;
	slot->ss_nb.nb_callbacks = &block_callbacks;
	slot->ss_sender = sender;
	return rc;
}

/* Callbacks, and main, may look for slots before they are made. */
static int sender_slots_init(struct copy_sender *sender)
{
	struct tool_port *port = &sender->cs_port;
	uint32_t          max = sender->cs_plan.cpl_inflight;
	uint32_t          nr;
	int               rc = 0;

	sender->cs_hash = hash_alloc();
	M0_ALLOC_ARR(sender->cs_slots, max);
	if (sender->cs_hash == NULL || sender->cs_slots == NULL)
		return -ENOMEM;
	for (nr = 0; nr < max && rc == 0; nr += rc == 0)
		rc = slot_init(sender, &sender->cs_slots[nr]);
	m0_mutex_lock(&port->tpo_lock);
	sender->cs_slots_nr = nr;
	m0_mutex_unlock(&port->tpo_lock);
	return rc;
}

static void sender_thread(struct tool_port *port)
{
	struct copy_sender *sender =
		container_of(port, struct copy_sender, cs_port);
	int rc = 0;

	if (sender->cs_target != NULL)
		rc = copy_sender_meet(sender);
	if (rc == 0) {
		rc = sender_slots_init(sender);
		if (rc != 0)
			tool_port_fail_lock(port, rc, "sender: buffers: %s",
					    tool_errtext(rc));
	}
	if (rc == 0 || sender->cs_to != NULL)
		send_all(sender);
	tool_port_finish(port);
}

int copy_sender_open(struct copy_sender *sender, const struct copy_plan *plan,
		     struct src_file *src, int done_fd)
{
	struct tool_port *port = &sender->cs_port;

	M0_SET0(sender);
	sender->cs_plan = *plan;
	sender->cs_src = src;
	port->tpo_take = sender_take;
	port->tpo_conv = plan->cpl_conv;
	port->tpo_timeout_ns = plan->cpl_timeout_ns;
	return copy_open(port, "sender", plan->cpl_xprt, plan->cpl_addr,
			 plan->cpl_inflight + COPY_MSGS_SPARE, done_fd);
}

static int end_point_of(struct copy_sender *sender, const char *addr,
			struct m0_net_end_point **ret)
{
	struct tool_port *port = &sender->cs_port;
	int rc = m0_net_end_point_create(ret, &port->tpo_node.tn_tm, addr);

	if (rc != 0)
		tool_port_fail_lock(port, rc, "sender: address '%s': %s", addr,
				    tool_errtext(rc));
	return rc;
}

int copy_sender_run(struct copy_sender *sender, const char *addr)
{
	struct tool_port *port = &sender->cs_port;

	if (end_point_of(sender, addr, &sender->cs_to) != 0)
		return port->tpo_fail.tf_exit;
	return tool_port_run(port, sender_thread);
}

int copy_sender_call(struct copy_sender       *sender,
		     const struct copy_target *target)
{
	struct tool_port *port = &sender->cs_port;

	sender->cs_target = target;
	port->tpo_to = target->cta_addr;
	if (end_point_of(sender, target->cta_addr, &sender->cs_door) != 0)
		return port->tpo_fail.tf_exit;
	return tool_port_run(port, sender_thread);
}

void copy_sender_stop(struct copy_sender *sender)
{
	tool_port_stop(&sender->cs_port);
	if (sender->cs_to != NULL)
		(void)m0_net_end_point_put(sender->cs_to);
	if (sender->cs_door != NULL)
		(void)m0_net_end_point_put(sender->cs_door);
	sender->cs_to = NULL;
	sender->cs_door = NULL;
}

void copy_sender_close(struct copy_sender *sender)
{
	uint32_t i;

	for (i = 0; i < sender->cs_slots_nr; ++i)
		tool_buffer_fini(&sender->cs_slots[i].ss_nb);
	m0_free(sender->cs_slots);
	hash_free(sender->cs_hash);
	tool_port_close(&sender->cs_port);
}
