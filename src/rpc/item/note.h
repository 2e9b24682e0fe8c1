/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Items of the library's own, and decoded items kept for reuse. Part of
 * rpc_internal.h.
 */
#ifndef M0_SRC_RPC_NOTE_H
#define M0_SRC_RPC_NOTE_H

/** Items that are kept for reuse. The machine's thread takes and puts. */
struct m0_rpc__kept {
	/** Decoded raw items, linked by rr_data. */
	struct m0_rpc_raw *rkp_raws;
	uint32_t           rkp_raws_nr;
	/** Notes without a body, linked by rno_arg. */
	struct m0_rpc__note *rkp_notes;
	uint32_t             rkp_notes_nr;
};

void m0_rpc__raws_free(struct m0_rpc__machine *m);

/** An item of the library's own. Handshakes have rno_done. */
struct m0_rpc__note {
	struct m0_rpc_item rno_item;
	struct m0_ref      rno_ref;
	/** The answer: its opcode, status and body. Or rc < 0 and no body. */
	void (*rno_done)(struct m0_rpc__note *note, int rc, const void *body,
			 m0_bcount_t nr);
	void                   *rno_arg;
	struct m0_rpc__machine *rno_machine;
	/** Stream whose acknowledgement or skip this note carries. */
	struct m0_rpc__stream *rno_stream;
	/** Counted in rml_sender.rsn_notices_nr, and there, with a reference; NULL. */
	struct m0_rpc__target *rno_counted;
	/** Asks over this one alone. */
	struct m0_rpc__link *rno_link;
	uint16_t             rno_flags;
	/** The note has no room for a body. */
	bool     rno_is_plain;
	uint32_t rno_nr;
	_Alignas(8) uint8_t rno_body[];
};

extern const struct m0_rpc_item_type_ops m0_rpc__note_ops;
/** Free the notes that are kept; no thread runs the machine any more. */
void m0_rpc__notes_free(struct m0_rpc__machine *m);
/** One reference; NULL: no memory. */
struct m0_rpc__note *m0_rpc__note_new(struct m0_rpc__machine *m,
				      enum m0_rpc_wire_op op, size_t nr_max);
static inline bool   m0_rpc__is_note(const struct m0_rpc_item *item)
{
	return item->ri_type->rit_opcode < M0_RPC_OP_USER;
}
static inline struct m0_rpc__note *m0_rpc__note_of(
	const struct m0_rpc_item *item)
{
	return container_of(item, struct m0_rpc__note, rno_item);
}
/** Make an answer to any peer. NULL: no memory, or too many answers are on
 * their way, to this peer or to all. */
struct m0_rpc__note *m0_rpc__notice_new(struct m0_rpc__target *target,
					enum m0_rpc_wire_op op, size_t nr_max);
/** Drops the note: nobody needs its answer any more. The note may have ended already,
 * with its callback still to come. */
void m0_rpc__note_drop(struct m0_rpc__note *note);
/** Sends a one-way note and forgets it. */
void m0_rpc__note_send(struct m0_rpc__note   *note,
		       struct m0_rpc__target *target);
/** Return a status that a packet can carry: with another one, the peer would
 * reject the whole packet. */
static inline int32_t m0_rpc__status(int rc)
{
	return rc > 0 || rc < -4095 ? -EPROTO : rc;
}
/** Answers a request with a note. Takes the reference. */
void m0_rpc__note_reply(struct m0_rpc__note           *note,
			struct m0_rpc__target         *target,
			const struct m0_rpc_wire_item *to, int32_t status);
/** Answer with a status alone; drop the answer if too many are on their way. */
void m0_rpc__refuse(struct m0_rpc__machine *m, struct m0_rpc__target *target,
		    const struct m0_rpc_wire_item *to, enum m0_rpc_wire_op op,
		    int32_t status);

static inline bool m0_rpc__kept_invariant(const struct m0_rpc__kept *kept)
{
	return _0C((kept->rkp_raws == NULL) == (kept->rkp_raws_nr == 0)) &&
	       _0C((kept->rkp_notes == NULL) == (kept->rkp_notes_nr == 0));
}

#endif /* M0_SRC_RPC_NOTE_H */
