/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/**
 * Entries of the two queues of a shared area: operations of a client, events of its
 * server. docs/ring.md has the tables.
 *
 * An entry consists of a tag and a body of fixed width, without pointers. Memory is
 * named by region and offset; MEs, MDs, operations, event queues and control records by
 * the numbers and generations that the client has given them. An operation that
 * needs more than one entry is a group: the tag of the first says how many follow.
 *
 * A request or report is the decoded form. It uses the records of ring/ring.h, so that
 * both ends speak to front and node as they speak to each other.
 */
#ifndef M0_SRC_RING_SHARED_ENTRY_H
#define M0_SRC_RING_SHARED_ENTRY_H

#include "ring/ring.h"
#include "ring/shared.h"

/** Operations. Up to CONTROL they have the numbers of enum m0_ring_opcode. */
enum m0_shared_opcode {
	M0_SHARED_ME_ATTACH = 1,
	M0_SHARED_ME_UNLINK = 2,
	M0_SHARED_MD_ATTACH = 3,
	M0_SHARED_MD_UNLINK = 4,
	M0_SHARED_QUEUE_ATTACH = 5,
	M0_SHARED_ENTRY_ATTACH = 6,
	M0_SHARED_PUT = 7,
	M0_SHARED_GET = 8,
	M0_SHARED_BIND_PUT = 9,
	M0_SHARED_BIND_GET = 10,
	M0_SHARED_LAZY = 11,
	M0_SHARED_STATS_RESET = 12,
	M0_SHARED_CLOSE = 13,
	M0_SHARED_BARRIER = 14,
	M0_SHARED_CONTROL = 15,
	/** An event queue begins, or ends. */
	M0_SHARED_EQ_ADD = 16,
	M0_SHARED_EQ_DEL = 17,
	/** A region, of which the host has got the memory, begins, or ends. */
	M0_SHARED_REGION_ADD = 18,
	M0_SHARED_REGION_DEL = 19,
	/** Lower limits than those of the area. */
	M0_SHARED_LIMITS_SET = 20,
	/** Transfer machine numbers of a portal. */
	M0_SHARED_TM_CLAIM = 21,
	M0_SHARED_TM_RELEASE = 22,
	/** Answers COPY. */
	M0_SHARED_COPY_DONE = 23,
	/** The client takes messages for a queue from other clients, at a name; 0: no more. */
	M0_SHARED_QUEUE_NAME = 24,
	/** The name of the queue for a portal and a transfer machine number. */
	M0_SHARED_TM_FIND = 25,
	M0_SHARED_OPCODES_NR,
	/** Continuation entries: the MD of ENTRY_ATTACH and BIND_*; segments. */
	M0_SHARED_MORE_MD = 32,
	M0_SHARED_MORE_SEGS = 33
};

/** Events. Up to ANSWER they have the numbers of enum m0_ring_kind. */
enum m0_shared_kind {
	M0_SHARED_EV_SEND = 1,
	M0_SHARED_EV_RESPONSE = 2,
	M0_SHARED_EV_INCOMING = 3,
	M0_SHARED_EV_UNLINK = 4,
	M0_SHARED_DONE = 5,
	M0_SHARED_ME_GONE = 6,
	M0_SHARED_PASSED = 7,
	M0_SHARED_ANSWER = 8,
	/** The outcome of EQ_*, REGION_*, LIMITS_SET and TM_*. */
	M0_SHARED_RESULT = 9,
	/** The client is to copy a payload from another client's memory to its own. */
	M0_SHARED_COPY = 10,
	M0_SHARED_KINDS_NR
};

/** Bits of LAZY. */
enum m0_shared_lazy {
	/** Drop the messages that wait, first. */
	M0_SHARED_LAZY_CLEARED = 1,
	M0_SHARED_LAZY_WANTED = 2
};

enum {
	M0_SHARED_BODY_BYTES = M0_SHARED_DOWN_BYTES - 16,
	/** Segments in an MD's entry, and in a continuation entry. */
	M0_SHARED_MD_SEGS_NR = 2,
	M0_SHARED_MORE_SEGS_NR = 4,
	/** Most entries of a group. */
	M0_SHARED_GROUP_MAX = 2 + (M0_LNET_MD_SEGS_MAX - M0_SHARED_MD_SEGS_NR +
				   M0_SHARED_MORE_SEGS_NR - 1) /
					  M0_SHARED_MORE_SEGS_NR,
	/** Any transfer machine number: the server chooses. */
	M0_SHARED_TMID_MAX = 4095,
	M0_SHARED_TMID_ANY = 4096,
	/** Position of the number in the match bits of a message. */
	M0_SHARED_TMID_SHIFT = 52,
	/** Portals whose messages may be for transfer machines. */
	M0_SHARED_TM_PORTALS_MAX = 64,
	/** Portals that a peer may have, whatever ours are. */
	M0_SHARED_PORTALS_MIN = 64,
	M0_SHARED_STATUS_MIN = -4095,
	/** Most copies of a client without an answer, and most pieces of a copy. */
	M0_SHARED_COPIES_MAX = 32,
	M0_SHARED_PIECES_MAX = 6
};

/* -- entries downwards ----------------------------------------------------- */

/** The first bytes of an entry. */
struct m0_shared_tag {
	/** enum m0_shared_opcode, or enum m0_shared_kind. */
	uint16_t stg_opcode;
	/** Entries of the group that follow this one. */
	uint16_t stg_more_nr;
	/** Number of what it is about, and its generation. */
	uint32_t stg_nr;
	uint32_t stg_gen;
	uint32_t stg_reserved;
};

struct m0_shared_me {
	struct m0_lnet_process_id sma_id;
	uint32_t                  sma_portal;
	uint32_t                  sma_flags;
	uint64_t                  sma_match_bits;
	uint64_t                  sma_ignore_bits;
};

struct m0_shared_md {
	uint64_t           smd_length;
	uint64_t           smd_vec_offset;
	uint64_t           smd_max_size;
	int32_t            smd_threshold;
	uint32_t           smd_options;
	uint32_t           smd_eq;
	uint32_t           smd_me;
	uint32_t           smd_me_gen;
	uint32_t           smd_segs_nr;
	uint8_t            smd_auto_unlink;
	uint8_t            smd_reserved[7];
	struct m0_ring_seg smd_segs[M0_SHARED_MD_SEGS_NR];
};

struct m0_shared_op {
	struct m0_lnet_nid        sop_self;
	struct m0_lnet_process_id sop_target;
	uint32_t                  sop_portal;
	uint64_t                  sop_match_bits;
	uint64_t                  sop_hdr_data;
	uint64_t                  sop_md_offset;
	uint64_t                  sop_bytes;
	uint32_t                  sop_offset;
	uint32_t                  sop_md;
	uint32_t                  sop_md_gen;
	uint8_t                   sop_ack;
	uint8_t                   sop_reserved[3];
};

struct m0_shared_segs {
	struct m0_ring_seg ssg_segs[M0_SHARED_MORE_SEGS_NR];
};

/** Bodies of a few numbers. */
struct m0_shared_eq_add {
	uint32_t sqa_max;
	uint8_t  sqa_is_polled;
	uint8_t  sqa_reserved[3];
};
struct m0_shared_limits {
	uint64_t sli_bytes;
	uint32_t sli_mes;
	uint32_t sli_mds;
	uint32_t sli_ops;
	uint32_t sli_eqs;
	uint32_t sli_regions;
	uint32_t sli_reserved;
};
struct m0_shared_tm {
	uint32_t stn_portal;
	uint32_t stn_tmid;
};

struct m0_shared_down {
	struct m0_shared_tag sdn_tag;
	union {
		uint64_t sdn_words[M0_SHARED_BODY_BYTES / sizeof(uint64_t)];
		struct m0_shared_me     sdn_me;
		struct m0_shared_md     sdn_md;
		struct m0_shared_op     sdn_op;
		struct m0_shared_segs   sdn_segs;
		struct m0_shared_eq_add sdn_eq_add;
		struct m0_shared_limits sdn_limits;
		struct m0_shared_tm     sdn_tm;
		/** REGION_ADD: bytes; LAZY: bits; CONTROL: enum m0_ring_verb; COPY_DONE: 0
		 * or an errno; QUEUE_NAME: the name. */
		uint64_t sdn_number;
	};
};

/* -- entries upwards ------------------------------------------------------- */

struct m0_shared_event {
	uint32_t                  sev_type;
	int32_t                   sev_status;
	struct m0_lnet_process_id sev_target;
	struct m0_lnet_process_id sev_initiator;
	struct m0_lnet_process_id sev_source;
	struct m0_lnet_nid        sev_sender;
	uint32_t                  sev_portal;
	uint64_t                  sev_match_bits;
	uint64_t                  sev_hdr_data;
	uint64_t                  sev_rlength;
	uint64_t                  sev_mlength;
	uint64_t                  sev_offset;
	uint32_t                  sev_md;
	uint32_t                  sev_md_gen;
	uint8_t                   sev_unlinked;
	uint8_t                   sev_is_get;
	/** The operation of the tag has no more events. */
	uint8_t sev_is_last;
	uint8_t sev_reserved[5];
};

struct m0_shared_result {
	int32_t  srt_status;
	uint32_t srt_opcode;
	/** TM_CLAIM: the transfer machine number; TM_FIND: the name. */
	uint64_t srt_value;
};

/** Bytes that lie in one piece at both ends. */
struct m0_shared_piece {
	/** Address in the process that has them. */
	uint64_t spe_from;
	/** Their place in a region of the client. */
	uint64_t spe_offset;
	uint32_t spe_region;
	uint32_t spe_bytes;
};

struct m0_shared_copy {
	/** The process that has the bytes. */
	uint32_t scp_pid;
	uint32_t scp_pieces_nr;
	/** Address of a cookie in that process, and the cookie. */
	uint64_t               scp_cookie_at;
	uint64_t               scp_cookie[2];
	struct m0_shared_piece scp_pieces[M0_SHARED_PIECES_MAX];
};

struct m0_shared_up {
	struct m0_shared_tag sup_tag;
	union {
		uint64_t
			sup_words[(M0_SHARED_UP_BYTES - 16) / sizeof(uint64_t)];
		struct m0_shared_event  sup_event;
		struct m0_shared_result sup_result;
		struct m0_shared_copy   sup_copy;
	};
};

/* -- requests -------------------------------------------------------------- */

/** An operation, decoded. Fields that its opcode does not use are undefined. */
struct m0_shared_request {
	enum m0_shared_opcode srq_opcode;
	/** Number and generation of what it is about. */
	uint32_t srq_nr;
	uint32_t srq_gen;
	/** Number and generation of the MD; with MD_ATTACH and QUEUE_ATTACH a
	 * copy of the two above. */
	uint32_t          srq_md_nr;
	uint32_t          srq_md_gen;
	struct m0_ring_me srq_me;
	struct m0_ring_md srq_md;
	struct m0_ring_op srq_op;
	/** Memory of the MD: srq_md.rmd_segs_nr segments, in an array of
	 * M0_LNET_MD_SEGS_MAX of the caller. rmd_segs and rmd_long are not used. */
	struct m0_ring_seg *srq_segs;
	union {
		struct m0_shared_eq_add srq_eq_add;
		struct m0_shared_limits srq_limits;
		struct m0_shared_tm     srq_tm;
		uint64_t                srq_number;
	};
};

/** Most events of an operation: entries that it reserves in the queue upwards. */
uint32_t m0_shared_events_nr(const struct m0_shared_request *req);
/** Entries of an operation. */
uint32_t m0_shared_request_entries(const struct m0_shared_request *req);
/** Client: writes an operation to the first of the entries that were reserved.
 * @return their number, to be committed. */
uint32_t m0_shared_request_put(const struct m0_shared_side    *side,
			       const struct m0_shared_request *req);
/**
 * Server: copies the next operation, and checks every field of it against the
 * configuration of the area. Whether a number is in use, and whose it is, is not
 * looked at.
 * @return its number of entries, to be released; 0: there is none.
 * @retval -EPROTO  it breaks the rules. Nothing is known of what follows, so the
 *                  attachment ends.
 */
int m0_shared_request_get(struct m0_shared_side    *side,
			  struct m0_shared_request *req,
			  struct m0_shared_why     *why);

/* -- reports --------------------------------------------------------------- */

/** An event, decoded. */
struct m0_shared_report {
	enum m0_shared_kind shp_kind;
	uint32_t            shp_nr;
	uint32_t            shp_gen;
	bool                shp_is_last;
	union {
		/** EV_*: without rev_md_user and rev_op_user, which the client knows. */
		struct m0_ring_event  shp_event;
		struct m0_shared_copy shp_copy;
	};
	struct m0_shared_result shp_result;
};

/** Server: writes an event to slot 0. */
void m0_shared_report_put(const struct m0_shared_side   *side,
			  const struct m0_shared_report *rep);
/** Client: as m0_shared_request_get(). @return 1; 0: there is none. */
int m0_shared_report_get(struct m0_shared_side   *side,
			 struct m0_shared_report *rep,
			 struct m0_shared_why    *why);

/* -- control records ------------------------------------------------------- */

/** Rights that a verb needs. */
enum m0_shared_right {
	/** The verb is not for clients. */
	M0_SHARED_RIGHT_NONE,
	/** The verb asks, or fetches a piece of an answer. */
	M0_SHARED_RIGHT_QUERY,
	/** The verb sends messages of its own. */
	M0_SHARED_RIGHT_PROBE,
	/** The verb changes the node for all its clients. */
	M0_SHARED_RIGHT_ADMIN
};

enum m0_shared_right m0_shared_verb_right(uint32_t verb);
/**
 * Server: copies control record `nr`, and checks the request in it. The answer is
 * written to the record, of which the server reads nothing again.
 * @param verb  as of the entry.
 * @retval -EPROTO
 */
int m0_shared_control_get(const struct m0_shared_side *side, uint32_t nr,
			  uint64_t verb, struct m0_ring_control *ret,
			  struct m0_shared_why *why);

/* -- what the files of the codec share ------------------------------------- */

/** Kinds of bodies. */
enum m0_shared__body {
	M0_SHARED__BODY_UNKNOWN,
	M0_SHARED__BODY_NONE,
	M0_SHARED__BODY_ME,
	M0_SHARED__BODY_MD,
	M0_SHARED__BODY_ENTRY,
	M0_SHARED__BODY_OP,
	M0_SHARED__BODY_BIND,
	M0_SHARED__BODY_EQ_ADD,
	M0_SHARED__BODY_LIMITS,
	M0_SHARED__BODY_TM,
	M0_SHARED__BODY_NUMBER
};

/** The kind of object that the number of the tag names. */
enum m0_shared__about {
	M0_SHARED__ABOUT_NONE,
	M0_SHARED__ABOUT_ME,
	M0_SHARED__ABOUT_MD,
	M0_SHARED__ABOUT_OP,
	M0_SHARED__ABOUT_EQ,
	M0_SHARED__ABOUT_REGION,
	M0_SHARED__ABOUT_CONTROL,
	M0_SHARED__ABOUT_PORTAL,
	M0_SHARED__ABOUT_COPY
};

/** An opcode: its body, what its number counts, and whether that has a
 * generation; most events. */
struct m0_shared__row {
	uint8_t shr_body;
	uint8_t shr_about;
	bool    shr_has_gen;
	uint8_t shr_events_nr;
};

const struct m0_shared__row *m0_shared__row_of(
	const struct m0_shared_request *req);

static inline bool m0_shared__is_put(const struct m0_shared_request *req)
{
	return req->srq_opcode == M0_SHARED_PUT ||
	       req->srq_opcode == M0_SHARED_BIND_PUT;
}

/* Entries of the body, and those for segments. */
static inline uint32_t m0_shared__body_entries(uint8_t body)
{
	return body == M0_SHARED__BODY_ENTRY || body == M0_SHARED__BODY_BIND
		       ? 2
		       : 1;
}

static inline bool m0_shared__has_md(uint8_t body)
{
	return body == M0_SHARED__BODY_MD || body == M0_SHARED__BODY_ENTRY ||
	       body == M0_SHARED__BODY_BIND;
}

static inline uint32_t m0_shared__segs_entries(uint32_t segs_nr)
{
	return segs_nr <= M0_SHARED_MD_SEGS_NR
		       ? 0
		       : (segs_nr - M0_SHARED_MD_SEGS_NR +
			  M0_SHARED_MORE_SEGS_NR - 1) /
				 M0_SHARED_MORE_SEGS_NR;
}

static inline int m0_shared__range(struct m0_shared_why *why, const char *field,
				   uint64_t value, uint64_t min, uint64_t max)
{
	if (M0_LIKELY(value >= min && value <= max))
		return 0;
	return m0_shared_refuse(why, -EPROTO, field, value, min, max);
}
int m0_shared__bits(struct m0_shared_why *why, const char *field,
		    uint64_t value, uint64_t mask);
int m0_shared__nid(struct m0_shared_why *why, const char *field,
		   const struct m0_lnet_nid *nid);
/** The words of an entry from byte `from` of its body on are 0. */
int m0_shared__zero(struct m0_shared_why *why, const uint64_t *words,
		    size_t from, size_t bytes);

#endif /* M0_SRC_RING_SHARED_ENTRY_H */
