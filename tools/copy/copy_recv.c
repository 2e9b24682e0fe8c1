/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "copy_role.h"
#include "../base/text.h"

enum recv_state {
	SLOT_FREE,
	SLOT_PULLING,
	/** The block is there; the role's thread writes it when its turn is. */
	SLOT_ARRIVED
};

struct recv_slot {
	struct m0_net_buffer  rcv_nb;
	struct copy_receiver *rcv_receiver;
	/** Under the port's lock. */
	enum recv_state rcv_state;
	/** The sender's name of the block, and where it belongs. */
	uint32_t rcv_id;
	uint64_t rcv_offset;
	uint64_t rcv_length;
};

static void block_pulled(const struct m0_net_buffer_event *ev)
{
	struct recv_slot *slot =
		container_of(ev->nbe_buffer, struct recv_slot, rcv_nb);
	struct tool_port *port = &slot->rcv_receiver->cr_port;
	int               rc = ev->nbe_status;

	m0_net_desc_free(&slot->rcv_nb.nb_desc);
	if (rc == 0 && ev->nbe_length != slot->rcv_length)
		rc = -EPROTO;
	m0_mutex_lock(&port->tpo_lock);
	if (rc == 0) {
		slot->rcv_state = SLOT_ARRIVED;
		port->tpo_received = m0_time_now();
		tool_port_moved(port);
	} else if (rc != -ECANCELED)
		tool_port_fail(port, rc,
			       "receiver: the block at byte %" PRIu64
			       " was not pulled: %s",
			       slot->rcv_offset, tool_errtext(rc));
	m0_cond_broadcast(&port->tpo_cond);
	m0_mutex_unlock(&port->tpo_lock);
}

static const struct m0_net_buffer_callbacks pull_callbacks = {
	.nbc_cb = { [M0_NET_QT_ACTIVE_BULK_RECV] = block_pulled }
};

static struct copy_msg block_reply(uint32_t id, uint64_t off, uint64_t length)
{
	return (struct copy_msg){ .cm_type = COPY_BLOCK_REPLY,
				  .cm_id = id,
				  .cm_offset = off,
				  .cm_length = length };
}

/* Asked again after our last word: what is that. Locked. */
static bool last_again(struct copy_receiver *receiver, struct copy_msg *ret)
{
	if (!receiver->cr_last_said)
		return false;
	receiver->cr_last_asked = m0_time_now();
	*ret = receiver->cr_last;
	return true;
}

/* Was the block written, and only the reply is missing there? */
static bool block_is_written(const struct copy_receiver *receiver,
			     const struct copy_msg      *msg)
{
	return msg->cm_offset + msg->cm_length <= receiver->cr_offset;
}

/* Is it here, and not yet written? */
static bool block_is_here(const struct copy_receiver *receiver,
			  const struct copy_msg      *msg)
{
	uint32_t i;

	for (i = 0; i < receiver->cr_slots_nr; ++i) {
		const struct recv_slot *slot = &receiver->cr_slots[i];

		if (slot->rcv_state != SLOT_FREE &&
		    slot->rcv_id == msg->cm_id &&
		    slot->rcv_offset == msg->cm_offset &&
		    slot->rcv_length == msg->cm_length)
			return true;
	}
	return false;
}

/*
 * Is there an answer to the block already, or will there be one? `ret` is it, if
 * there is. Locked.
 */
static bool block_known(struct copy_receiver  *receiver,
			const struct copy_msg *msg, struct copy_msg *ret)
{
	if (last_again(receiver, ret))
		return true;
	if (!block_is_written(receiver, msg))
		return block_is_here(receiver, msg);
	*ret = block_reply(msg->cm_id, msg->cm_offset, msg->cm_length);
	return true;
}

/* A slot for the block; NULL if the sender keeps no promise of the protocol. */
static struct recv_slot *slot_claim(struct copy_receiver  *receiver,
				    const struct copy_msg *msg)
{
	uint32_t i;

	if (msg->cm_length > receiver->cr_plan->cpl_block ||
	    msg->cm_offset + msg->cm_length > receiver->cr_plan->cpl_size ||
	    msg->cm_offset < receiver->cr_offset || receiver->cr_ended)
		return NULL;
	for (i = 0; i < receiver->cr_slots_nr; ++i) {
		struct recv_slot *slot = &receiver->cr_slots[i];

		if (slot->rcv_state != SLOT_FREE)
			continue;
		slot->rcv_state = SLOT_PULLING;
		slot->rcv_id = msg->cm_id;
		slot->rcv_offset = msg->cm_offset;
		slot->rcv_length = msg->cm_length;
		tool_port_moved(&receiver->cr_port);
		return slot;
	}
	return NULL;
}

static void block_offered(struct copy_receiver  *receiver,
			  const struct copy_msg *msg)
{
	struct tool_port      *port = &receiver->cr_port;
	struct m0_net_buf_desc desc = msg->cm_desc;
	struct copy_msg        reply = { .cm_type = COPY_BLOCK };
	struct recv_slot      *slot = NULL;
	bool                   known;
	int                    rc = -EPROTO;

	m0_mutex_lock(&port->tpo_lock);
	known = block_known(receiver, msg, &reply);
	if (!known)
		slot = slot_claim(receiver, msg);
	m0_mutex_unlock(&port->tpo_lock);
	if (reply.cm_type != COPY_BLOCK)
		copy_reply(port, receiver->cr_from, &reply);
	if (slot != NULL) {
		slot->rcv_nb.nb_desc = desc;
		rc = m0_net_buffer_add(&slot->rcv_nb, &port->tpo_node.tn_tm);
		if (rc != 0)
			M0_SET0(&slot->rcv_nb.nb_desc);
	}
	if (rc == 0)
		return;
	m0_net_desc_free(&desc);
	if (!known && rc != -EPERM) /* -EPERM: the machine is being stopped. */
		tool_port_fail_lock(port, rc,
				    "receiver: the block at byte "
				    "%" PRIu64 " is refused: %s",
				    msg->cm_offset, tool_errtext(rc));
}

/* The first one counts; others want to know what came of it. */
static void end_received(struct copy_receiver  *receiver,
			 const struct copy_msg *msg)
{
	struct tool_port *port = &receiver->cr_port;
	struct copy_msg   reply;
	bool              again;

	m0_mutex_lock(&port->tpo_lock);
	again = last_again(receiver, &reply);
	if (!receiver->cr_ended) {
		receiver->cr_end = *msg;
		receiver->cr_ended = true;
		tool_port_moved(port);
		if (msg->cm_status != 0)
			tool_port_fail(port, msg->cm_status,
				       "the sender gave up: %s",
				       tool_errtext(msg->cm_status));
	}
	m0_cond_broadcast(&port->tpo_cond);
	m0_mutex_unlock(&port->tpo_lock);
	if (again)
		copy_reply(port, receiver->cr_from, &reply);
}

static void alive_received(struct copy_receiver  *receiver,
			   const struct copy_msg *msg)
{
	struct tool_port *port = &receiver->cr_port;

	if (!(msg->cm_flags & COPY_FLAG_BUSY))
		return;
	m0_mutex_lock(&port->tpo_lock);
	tool_port_moved(port);
	m0_mutex_unlock(&port->tpo_lock);
}

/* Is it of this copy? The first message says who the peer is. */
static bool peer_check(struct copy_receiver    *receiver,
		       struct m0_net_end_point *from,
		       const struct copy_msg   *msg)
{
	struct tool_port *port = &receiver->cr_port;
	bool              known;

	if (msg->cm_conv != port->tpo_conv ||
	    (receiver->cr_addr != NULL &&
	     strcmp(from->nep_addr, receiver->cr_addr) != 0))
		return false;
	m0_mutex_lock(&port->tpo_lock);
	if (receiver->cr_from == NULL) {
		(void)m0_net_end_point_get(from);
		receiver->cr_from = from;
	}
	known = receiver->cr_from == from;
	m0_mutex_unlock(&port->tpo_lock);
	return known;
}

static void bye_received(struct copy_receiver *receiver)
{
	struct tool_port *port = &receiver->cr_port;

	m0_mutex_lock(&port->tpo_lock);
	receiver->cr_bye = true;
	m0_cond_broadcast(&port->tpo_cond);
	m0_mutex_unlock(&port->tpo_lock);
}

static bool receiver_msg(struct tool_port *port, struct m0_net_end_point *from,
			 const struct copy_msg *msg)
{
	struct copy_receiver *receiver =
		container_of(port, struct copy_receiver, cr_port);
	struct m0_net_buf_desc desc = msg->cm_desc;

	if (!peer_check(receiver, from, msg)) {
		m0_net_desc_free(&desc);
		return false;
	}
	switch (msg->cm_type) {
	case COPY_BLOCK:
		block_offered(receiver, msg);
		break;
	case COPY_END:
		end_received(receiver, msg);
		break;
	case COPY_BYE:
		bye_received(receiver);
		break;
	case COPY_ALIVE:
		alive_received(receiver, msg);
		break;
	default:
		tool_port_fail_lock(port, -EPROTO,
				    "receiver: a message of "
				    "type %d is out of place",
				    (int)msg->cm_type);
	}
	return true;
}

static bool receiver_take(struct tool_port *port, struct m0_net_end_point *from,
			  void *bytes, size_t nr)
{
	static const struct copy_ears ears = { .cea_msg = receiver_msg };

	return copy_take(&ears, port, from, bytes, nr);
}

/* The slot whose block is the next of the file, if it has arrived. */
static struct recv_slot *slot_next(struct copy_receiver *receiver)
{
	uint32_t i;

	for (i = 0; i < receiver->cr_slots_nr; ++i) {
		struct recv_slot *slot = &receiver->cr_slots[i];

		if (slot->rcv_state == SLOT_ARRIVED &&
		    slot->rcv_offset == receiver->cr_offset)
			return slot;
	}
	return NULL;
}

/* Waits for the next block; NULL at the end, or when the copy has failed. */
static struct recv_slot *slot_wait(struct copy_receiver *receiver)
{
	struct tool_port *port = &receiver->cr_port;
	struct recv_slot *slot = NULL;

	m0_mutex_lock(&port->tpo_lock);
	while (port->tpo_rc == 0) {
		slot = slot_next(receiver);
		if (slot != NULL || receiver->cr_ended)
			break;
		tool_port_wait(port);
	}
	m0_mutex_unlock(&port->tpo_lock);
	return slot;
}

static int block_write(struct copy_receiver *receiver, struct recv_slot *slot)
{
	const struct m0_bufvec *bv = &slot->rcv_nb.nb_buffer;
	uint64_t                left = slot->rcv_length;
	uint32_t                i;
	int                     rc;

	rc = dst_file_write(receiver->cr_dst, bv, slot->rcv_offset, left);
	if (rc != 0) {
		tool_port_fail_lock(&receiver->cr_port, rc,
				    "DST '%s' could "
				    "not be written at byte %" PRIu64 ": %s%s",
				    receiver->cr_dst->df_path, slot->rcv_offset,
				    tool_errtext(rc),
				    rc == -ENOSPC ? "; free some space, or "
						    "choose another place"
						  : "");
		return rc;
	}
	for (i = 0; left > 0; ++i) {
		uint64_t nr = min64u(left, bv->ov_vec.v_count[i]);

		hash_update(receiver->cr_hash, bv->ov_buf[i], nr);
		left -= nr;
	}
	return 0;
}

static int receive_blocks(struct copy_receiver *receiver)
{
	struct tool_port *port = &receiver->cr_port;
	struct recv_slot *slot;
	int               rc = 0;

	while (rc == 0 && (slot = slot_wait(receiver)) != NULL) {
		struct copy_msg msg = block_reply(
			slot->rcv_id, slot->rcv_offset, slot->rcv_length);

		rc = block_write(receiver, slot);
		if (rc != 0)
			break;
		/* Free first: the reply lets the sender offer the next one. */
		m0_mutex_lock(&port->tpo_lock);
		receiver->cr_offset += slot->rcv_length;
		slot->rcv_state = SLOT_FREE;
		tool_port_moved(port);
		m0_mutex_unlock(&port->tpo_lock);
		rc = copy_send(port, receiver->cr_from, &msg);
	}
	return tool_port_rc(port);
}

static int sums_compare(struct copy_receiver *receiver, const uint8_t *sum,
			const char *what)
{
	char was[2 * HASH_BYTES + 1];
	char is[2 * HASH_BYTES + 1];

	if (memcmp(sum, receiver->cr_end.cm_sum, HASH_BYTES) == 0)
		return 0;
	tool_port_fail_lock(&receiver->cr_port, -EIO,
			    "DST '%s' is not "
			    "written: %s gives " HASH_NAME " %s, the source "
			    "gave %s",
			    receiver->cr_dst->df_path, what,
			    text_hex(is, sum, HASH_BYTES),
			    text_hex(was, receiver->cr_end.cm_sum, HASH_BYTES));
	return -EIO;
}

static int read_back(struct copy_receiver *receiver)
{
	struct tool_port *port = &receiver->cr_port;
	m0_time_t         start = m0_time_now();
	int               rc;

	rc = dst_file_hash(receiver->cr_dst, receiver->cr_offset,
			   &receiver->cr_cancelled, receiver->cr_sum_back);
	receiver->cr_phases.cph_verify_ns = m0_time_sub(m0_time_now(), start);
	if (rc == 0)
		return sums_compare(receiver, receiver->cr_sum_back,
				    "the file, read back,");
	tool_port_fail_lock(port, rc, "DST '%s' could not be read back: %s",
			    receiver->cr_dst->df_path, tool_errtext(rc));
	return rc;
}

/* Is what arrived what was sent? */
static int receiver_verify(struct copy_receiver *receiver)
{
	int rc = 0;

	hash_value(receiver->cr_hash, receiver->cr_sum);
	if (receiver->cr_offset != receiver->cr_end.cm_length) {
		rc = -EPROTO;
		tool_port_fail_lock(&receiver->cr_port, rc,
				    "receiver: %" PRIu64
				    " bytes came, the sender counts %" PRIu64,
				    receiver->cr_offset,
				    receiver->cr_end.cm_length);
	}
	if (rc == 0)
		rc = sums_compare(receiver, receiver->cr_sum,
				  "the data that arrived");
	if (rc == 0 && receiver->cr_plan->cpl_verify)
		rc = read_back(receiver);
	return rc;
}

/* From here on it is too late to call the copy off. */
static int commit_begin(struct copy_receiver *receiver)
{
	struct tool_port *port = &receiver->cr_port;
	int               rc;

	m0_mutex_lock(&port->tpo_lock);
	rc = port->tpo_rc;
	receiver->cr_committing = rc == 0;
	m0_mutex_unlock(&port->tpo_lock);
	return rc;
}

/* To the disk, and to its name unless the copy was called off meanwhile. */
static int receiver_commit(struct copy_receiver *receiver)
{
	struct tool_port *port = &receiver->cr_port;
	struct dst_file  *dst = receiver->cr_dst;
	m0_time_t         start = m0_time_now();
	int               rc;

	rc = dst_file_sync(dst, (mode_t)receiver->cr_end.cm_mode);
	if (rc == 0)
		rc = commit_begin(receiver);
	if (rc == 0) {
		rc = dst_file_commit(dst);
		receiver->cr_committed = rc == 0;
	}
	receiver->cr_phases.cph_sync_ns = m0_time_sub(m0_time_now(), start);
	if (rc != 0)
		tool_port_fail_lock(port, rc, "DST '%s' could not be %s: %s",
				    dst->df_path,
				    dst->df_committed
					    ? "synced with its directory"
					    : "finished",
				    tool_errtext(rc));
	return rc;
}

static void send_end_reply(struct copy_receiver *receiver, int status)
{
	struct tool_port        *port = &receiver->cr_port;
	struct m0_net_end_point *to;
	struct copy_msg          msg = {
			 .cm_type = COPY_END_REPLY,
			 .cm_status = status,
			 .cm_length = receiver->cr_offset,
	};

	if (receiver->cr_plan->cpl_verify)
		msg.cm_flags = COPY_FLAG_VERIFIED;
	if (status != 0) {
		/* The text belongs to the first failure and does not change
		 * any more. */
		msg.cm_text = port->tpo_fail.tf_text;
		msg.cm_text_nr = (uint32_t)strnlen(msg.cm_text, COPY_TEXT_MAX);
	}
	memcpy(msg.cm_sum, receiver->cr_sum, HASH_BYTES);
	m0_mutex_lock(&port->tpo_lock);
	receiver->cr_last = msg;
	receiver->cr_last_said = true;
	receiver->cr_last_asked = m0_time_now();
	to = receiver->cr_from;
	m0_mutex_unlock(&port->tpo_lock);
	if (to != NULL)
		(void)copy_send(port, to, &msg);
}

/*
 * Waits for BYE of a sender in another process, so that END_REPLY reaches it; longer if
 * END comes again.
 */
static void bye_wait(struct copy_receiver *receiver)
{
	struct tool_port *port = &receiver->cr_port;
	m0_time_t         last = m0_time_add(m0_time_now(), port->tpo_idle_ns);
	m0_time_t         limit;

	m0_mutex_lock(&port->tpo_lock);
	while (port->tpo_timeout_ns != 0 && !receiver->cr_bye &&
	       receiver->cr_from != NULL && port->tpo_rc != -ETIMEDOUT) {
		limit = min64u(last, m0_time_add(receiver->cr_last_asked,
						 COPY_BYE_NS));
		if (m0_time_now() >= limit)
			break;
		(void)m0_cond_timedwait(&port->tpo_cond, limit);
	}
	m0_mutex_unlock(&port->tpo_lock);
}

static void receiver_thread(struct tool_port *port)
{
	struct copy_receiver *receiver =
		container_of(port, struct copy_receiver, cr_port);
	int rc = receive_blocks(receiver);

	if (rc == 0)
		rc = receiver_verify(receiver);
	if (rc == 0)
		rc = receiver_commit(receiver);
	send_end_reply(receiver, rc);
	bye_wait(receiver);
	tool_port_finish(port);
}

/* At work: writes, verifies, syncs, or has a block on its way. Locked. */
static bool receiver_is_busy(const struct copy_receiver *receiver)
{
	uint32_t i;

	if (!receiver->cr_port.tpo_waits)
		return true;
	for (i = 0; i < receiver->cr_slots_nr; ++i) {
		if (receiver->cr_slots[i].rcv_state == SLOT_PULLING)
			return true;
	}
	return false;
}

void copy_receiver_tick(struct copy_receiver *receiver)
{
	struct tool_port        *port = &receiver->cr_port;
	struct m0_net_end_point *to;
	bool                     busy;

	m0_mutex_lock(&port->tpo_lock);
	to = receiver->cr_from;
	busy = receiver_is_busy(receiver);
	/* A block may take long on its way, no longer than the transport lets. */
	if (busy)
		tool_port_moved(port);
	m0_mutex_unlock(&port->tpo_lock);
	(void)copy_alive(port, to, busy);
}

static int slot_init(struct copy_receiver *receiver, struct recv_slot *slot)
{
	int rc = tool_buffer_init(&slot->rcv_nb,
				  &receiver->cr_port.tpo_node.tn_dom,
				  receiver->cr_plan->cpl_block);

	slot->rcv_nb.nb_qtype = M0_NET_QT_ACTIVE_BULK_RECV;
	slot->rcv_nb.nb_callbacks = &pull_callbacks;
	slot->rcv_receiver = receiver;
	return rc;
}

/* A block may be offered before its slot is made: until then there is none. */
static int receiver_slots_init(struct copy_receiver *receiver)
{
	struct tool_port *port = &receiver->cr_port;
	uint32_t          max = receiver->cr_plan->cpl_inflight;
	uint32_t          nr;
	int               rc = 0;

	receiver->cr_hash = hash_alloc();
	M0_ALLOC_ARR(receiver->cr_slots, max);
	if (receiver->cr_hash == NULL || receiver->cr_slots == NULL)
		return -ENOMEM;
	for (nr = 0; nr < max && rc == 0; nr += rc == 0)
		rc = slot_init(receiver, &receiver->cr_slots[nr]);
	m0_mutex_lock(&port->tpo_lock);
	receiver->cr_slots_nr = nr;
	m0_mutex_unlock(&port->tpo_lock);
	return rc;
}

int copy_receiver_open(struct copy_receiver   *receiver,
		       const struct copy_plan *plan, struct dst_file *dst,
		       const char *from, int done_fd)
{
	struct tool_port *port = &receiver->cr_port;
	int               rc;

	M0_SET0(receiver);
	receiver->cr_plan = plan;
	receiver->cr_dst = dst;
	receiver->cr_addr = from;
	port->tpo_to = from;
	port->tpo_take = receiver_take;
	port->tpo_conv = plan->cpl_conv;
	port->tpo_timeout_ns = plan->cpl_timeout_ns;
	rc = copy_open(port, "receiver", plan->cpl_xprt, NULL,
		       plan->cpl_inflight + COPY_MSGS_SPARE, done_fd);
	if (rc != 0)
		return rc;
	rc = receiver_slots_init(receiver);
	if (rc != 0)
		tool_port_fail_lock(port, rc, "receiver: buffers: %s",
				    tool_errtext(rc));
	return port->tpo_fail.tf_exit;
}

int copy_receiver_run(struct copy_receiver *receiver)
{
	return tool_port_run(&receiver->cr_port, receiver_thread);
}

void copy_receiver_cancel(struct copy_receiver *receiver)
{
	struct tool_port *port = &receiver->cr_port;

	__atomic_store_n(&receiver->cr_cancelled, true, __ATOMIC_RELAXED);
	m0_mutex_lock(&port->tpo_lock);
	if (!receiver->cr_committing)
		tool_port_fail(port, -ECANCELED, "called off");
	m0_mutex_unlock(&port->tpo_lock);
}

void copy_receiver_stop(struct copy_receiver *receiver)
{
	tool_port_stop(&receiver->cr_port);
	if (receiver->cr_from != NULL)
		(void)m0_net_end_point_put(receiver->cr_from);
	receiver->cr_from = NULL;
}

void copy_receiver_close(struct copy_receiver *receiver)
{
	uint32_t i;

	for (i = 0; i < receiver->cr_slots_nr; ++i)
		tool_buffer_fini(&receiver->cr_slots[i].rcv_nb);
	m0_free(receiver->cr_slots);
	hash_free(receiver->cr_hash);
	tool_port_close(&receiver->cr_port);
}
