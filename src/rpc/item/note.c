/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Items of the library's own: handshakes, statuses, words of streams. */
#include "rpc/rpc_internal.h"

enum {
	/** Kept by a machine, to be used again. */
	NOTES_MAX = 256
};

static m0_bcount_t note_size(const struct m0_rpc_item *item)
{
	return m0_rpc__note_of(item)->rno_nr;
}

static int note_encode(const struct m0_rpc_item *item, void *bytes,
		       m0_bcount_t nr)
{
	memcpy(bytes, m0_rpc__note_of(item)->rno_body, nr);
	return 0;
}

static void note_get(struct m0_rpc_item *item)
{
	m0_ref_get(&m0_rpc__note_of(item)->rno_ref);
}

static void note_put(struct m0_rpc_item *item)
{
	m0_ref_put(&m0_rpc__note_of(item)->rno_ref);
}

const struct m0_rpc_item_type_ops m0_rpc__note_ops = {
	.rito_payload_size = note_size,
	.rito_encode = note_encode,
	.rito_item_get = note_get,
	.rito_item_put = note_put,
};

#define LIB_TYPE(op, kind)                                 \
	[M0_RPC_OP_##op] = { .rit_opcode = M0_RPC_OP_##op, \
			     .rit_ops = &m0_rpc__note_ops, \
			     .rit_name = #op,              \
			     .rit_flags = M0_RPC_ITEM_TYPE_##kind }

static const struct m0_rpc_item_type lib_types[] = {
	LIB_TYPE(CONN_ESTABLISH, REQUEST),
	LIB_TYPE(CONN_ESTABLISH_REPLY, REPLY),
	LIB_TYPE(CONN_TERMINATE, REQUEST),
	LIB_TYPE(CONN_TERMINATE_REPLY, REPLY),
	LIB_TYPE(SESSION_ESTABLISH, REQUEST),
	LIB_TYPE(SESSION_ESTABLISH_REPLY, REPLY),
	LIB_TYPE(SESSION_TERMINATE, REQUEST),
	LIB_TYPE(SESSION_TERMINATE_REPLY, REPLY),
	LIB_TYPE(CANCEL, ONEWAY),
	LIB_TYPE(ACK, ONEWAY),
	/* Items of streams; no request of a session's list. */
	LIB_TYPE(SKIP, ONEWAY),
	LIB_TYPE(STATUS, REPLY),
	LIB_TYPE(PING, REQUEST),
	LIB_TYPE(PING_REPLY, REPLY),
	LIB_TYPE(REFUSED, REPLY),
};

/* One without a body; NULL: none is kept. What is cleared of the item is what is
 * looked at before it is prepared, or comes. */
static struct m0_rpc__note *note_take(void)
{
	struct m0_rpc__machine *m = *m0_rpc__here();
	struct m0_rpc__note    *note = m == NULL ? NULL : m->rml_kept.rkp_notes;

	if (note == NULL)
		return NULL;
	m->rml_kept.rkp_notes = note->rno_arg;
	--m->rml_kept.rkp_notes_nr;
	memset((char *)note + offsetof(struct m0_rpc__note, rno_ref), 0,
	       sizeof *note - offsetof(struct m0_rpc__note, rno_ref));
	m0_rpc__il(&note->rno_item)->ril_flags = 0;
	m0_rpc__il(&note->rno_item)->ril_gate = 0;
	m0_rpc__il(&note->rno_item)->ril_tm = NULL;
	m0_rpc__il(&note->rno_item)->ril_re = (struct m0_rpc__re){ 0 };
	return note;
}

static void note_keep(struct m0_rpc__note *note)
{
	struct m0_rpc__machine *m = *m0_rpc__here();

	M0_PRE_EX(note->rno_stream == NULL);
	if (m == NULL || !note->rno_is_plain ||
	    m->rml_kept.rkp_notes_nr == NOTES_MAX) {
		m0_free(note);
		return;
	}
	note->rno_arg = m->rml_kept.rkp_notes;
	m->rml_kept.rkp_notes = note;
	++m->rml_kept.rkp_notes_nr;
}

void m0_rpc__notes_free(struct m0_rpc__machine *m)
{
	struct m0_rpc__note *note;

	while ((note = m->rml_kept.rkp_notes) != NULL) {
		m->rml_kept.rkp_notes = note->rno_arg;
		m0_free(note);
	}
}

static void note_release(struct m0_ref *ref)
{
	struct m0_rpc__note *note =
		container_of(ref, struct m0_rpc__note, rno_ref);

	if (note->rno_counted != NULL) {
		--note->rno_machine->rml_sender.rsn_notices_nr;
		--note->rno_counted->trg_notices_nr;
		m0_rpc__target_put(note->rno_counted);
	}
	m0_rpc_item_fini(&note->rno_item);
	note_keep(note);
}

struct m0_rpc__note *m0_rpc__note_new(struct m0_rpc__machine *m,
				      enum m0_rpc_wire_op op, size_t nr_max)
{
	struct m0_rpc__note *note = nr_max == 0 ? note_take() : NULL;

	M0_PRE_EX(op < ARRAY_SIZE(lib_types) && lib_types[op].rit_ops != NULL);
	M0_PRE_EX(nr_max <= M0_RPC_WIRE_BODY_MAX);
	if (note == NULL)
		note = m0_alloc(sizeof *note + nr_max);
	if (note == NULL)
		return NULL;
	note->rno_machine = m;
	note->rno_is_plain = nr_max == 0;
	m0_ref_init(&note->rno_ref, 1, note_release);
	m0_rpc_item_init(&note->rno_item, &lib_types[op]);
	note->rno_item.ri_prio = M0_RPC_ITEM_PRIO_MAX;
	return note;
}

void m0_rpc__note_drop(struct m0_rpc__note *note)
{
	M0_PRE(m0_rpc__is_note(&note->rno_item));
	note->rno_done = NULL;
	if (!(m0_rpc__il(&note->rno_item)->ril_flags &
	      (M0_RPC__IF_ENDED | M0_RPC__IF_ENDS)))
		m0_rpc__item_end(&note->rno_item, -ECANCELED, NULL);
}

void m0_rpc__note_send(struct m0_rpc__note *note, struct m0_rpc__target *target)
{
	struct m0_rpc_item  *item = &note->rno_item;
	struct m0_rpc__item *il = m0_rpc__il(item);
	struct m0_rpc__re    re = il->ril_re;

	M0_PRE_EX(m0_rpc__is_here(note->rno_machine));
	M0_PRE_EX(target != NULL);
	il->ril_payload = note->rno_nr;
	m0_rpc__item_prepare(note->rno_machine, item);
	il->ril_re = re;
	il->ril_target = target;
	m0_rpc__item_form(note->rno_machine, item);
}

void m0_rpc__note_reply(struct m0_rpc__note           *note,
			struct m0_rpc__target         *target,
			const struct m0_rpc_wire_item *to, int32_t status)
{
	M0_PRE(target->trg_machine == note->rno_machine);
	m0_rpc__il(&note->rno_item)->ril_re = (struct m0_rpc__re){
		.rre_session = to->rwi_session,
		.rre_stream = to->rwi_stream,
		.rre_xid = to->rwi_xid,
		.rre_status = m0_rpc__status(status),
	};
	m0_rpc__note_send(note, target);
}

struct m0_rpc__note *m0_rpc__notice_new(struct m0_rpc__target *target,
					enum m0_rpc_wire_op op, size_t nr_max)
{
	struct m0_rpc__machine *m;
	struct m0_rpc__note    *note;

	M0_PRE(target == NULL || m0_rpc__is_here(target->trg_machine));
	if (target == NULL ||
	    target->trg_notices_nr >= M0_RPC__NOTICES_EACH_MAX)
		return NULL;
	m = target->trg_machine;
	if (m->rml_sender.rsn_notices_nr >= M0_RPC__NOTICES_MAX)
		return NULL;
	note = m0_rpc__note_new(m, op, nr_max);
	if (note == NULL)
		return NULL;
	note->rno_counted = target;
	m0_rpc__target_ref(target);
	++target->trg_notices_nr;
	++m->rml_sender.rsn_notices_nr;
	return note;
}

void m0_rpc__refuse(struct m0_rpc__machine *m, struct m0_rpc__target *target,
		    const struct m0_rpc_wire_item *to, enum m0_rpc_wire_op op,
		    int32_t status)
{
	struct m0_rpc__note *note = m0_rpc__notice_new(target, op, 0);

	(void)m;
	if (note != NULL)
		m0_rpc__note_reply(note, target, to, status);
}
